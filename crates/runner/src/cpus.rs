//! Chooses the CPUs of the contender, the generator and the upstream, and pins threads to them.
//!
//! Start with [`choose`].

use crate::procfs;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use spec::experiment::{CpuSets, Place};
use spec::problem::Problems;

/// The CPUs that this process may use.
pub fn usable() -> Vec<usize> {
    allowed(None).unwrap_or_else(|| vec![0])
}

/// The CPUs that a thread may use, the calling one by default; `None` if it has ended.
pub(crate) fn allowed(thread: Option<u32>) -> Option<Vec<usize>> {
    let thread = thread.map(|id| Pid::from_raw(id as i32));
    let set = if thread == Some(None) { None } else { sched_getaffinity(thread.flatten()).ok() }?;
    Some((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Splits the available CPUs so that the contender does not share any with generator and upstream.
/// One CPU is shared by all. Of two, generator and upstream share the first. Of three, each gets
/// one. Of more, the contender gets half, the generator a quarter, and the upstream the rest.
pub fn automatic(usable: &[usize]) -> CpuSets {
    let (generator, upstream, contender) = match usable.len() {
        0 | 1 => (usable, usable, usable),
        2 => (&usable[..1], &usable[..1], &usable[1..]),
        3 => (&usable[..1], &usable[1..2], &usable[2..]),
        n => (&usable[..n / 4], &usable[n / 4..n / 2], &usable[n / 2..]),
    };
    CpuSets {
        contender: contender.to_vec(),
        generator: generator.to_vec(),
        upstream: upstream.to_vec(),
    }
}

/// The same CPUs for the generator, and all other CPUs for contender and upstream together. One CPU
/// is shared by all.
fn shared(usable: &[usize]) -> CpuSets {
    let generator = automatic(usable).generator;
    let both =
        if usable.len() > 1 { usable[generator.len()..].to_vec() } else { generator.clone() };
    CpuSets { contender: both.clone(), generator, upstream: both }
}

/// The sets that an experiment asks for, or the automatic ones.
///
/// # Errors
/// A CPU that does not exist, or that this process may not use.
pub fn choose(place: &Place) -> Result<CpuSets, Problems> {
    let usable = usable();
    let Some(sets) = &place.cpus else {
        return Ok(if place.share_cpus { shared(&usable) } else { automatic(&usable) });
    };
    match sets
        .contender
        .iter()
        .chain(&sets.generator)
        .chain(&sets.upstream)
        .find(|cpu| !usable.contains(cpu))
    {
        Some(cpu) => Err(Problems::plain(
            format!("CPU {cpu} of [place] cannot be used here"),
            format!("this process may use {}; leave `cpus` out to have them chosen", show(&usable)),
        )),
        None => Ok(sets.clone()),
    }
}

/// Formats CPUs for people: `0, 2-5`.
pub fn show(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let shown: Vec<String> = ranges
        .into_iter()
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    format!("CPU {}", shown.join(", "))
}

/// Pins the calling thread to these CPUs.
pub fn pin_this_thread(cpus: &[usize]) -> rustix::io::Result<()> {
    sched_setaffinity(None, &set_of(cpus))
}

/// Pins all threads of processes, and their future threads, to these CPUs, as far as the kernel
/// permits. Does nothing without CPUs.
pub(crate) fn keep_on(cpus: &[usize], pids: &[u32]) {
    let set = set_of(cpus);
    let threads = pids.iter().filter(|_| !cpus.is_empty()).flat_map(|pid| procfs::threads(*pid));
    for thread in threads.filter_map(|thread| Pid::from_raw(thread as i32)) {
        let _ = sched_setaffinity(Some(thread), &set);
    }
}

pub(crate) fn set_of(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contender_has_its_own_cpus_if_there_are_two_or_more() {
        for n in 2..=64 {
            let all: Vec<usize> = (0..n).collect();
            let sets = automatic(&all);
            assert!(
                sets.contender
                    .iter()
                    .all(|c| !sets.generator.contains(c) && !sets.upstream.contains(c)),
                "{n}: {sets:?}"
            );
            assert!(!sets.generator.is_empty() && !sets.upstream.is_empty());
            let everybody = [sets.generator, sets.upstream, sets.contender].concat();
            assert!(all.iter().all(|c| everybody.contains(c)), "{n} CPUs, all of use");
        }
    }

    #[test]
    fn contender_and_upstream_can_share_the_remaining_cpus() {
        for n in 1..=64 {
            let all: Vec<usize> = (0..n).collect();
            let sets = shared(&all);
            assert_eq!(sets.contender, sets.upstream);
            assert_eq!(sets.generator, automatic(&all).generator);
            assert_eq!(sets.all_cpus(), all, "{n} CPUs, all of use");
            assert!(
                n == 1 || sets.contender.iter().all(|cpu| !sets.generator.contains(cpu)),
                "{n}: {sets:?}"
            );
        }
    }

    #[test]
    fn cpus_are_shown_as_ranges() {
        assert_eq!(show(&[0, 2, 3, 4, 7]), "CPU 0, 2-4, 7");
    }

    #[test]
    fn missing_cpu_is_refused() {
        let sets = CpuSets { contender: vec![4000], generator: vec![0], upstream: vec![0] };
        let place = Place { cpus: Some(sets), ..Place::default() };
        assert!(choose(&place).unwrap_err().to_string().contains("CPU 4000"));
    }
}
