//! What the processes of a contender did besides using a CPU, per correct response.
//!
//! System calls were counted during another, shorter load. They are divided by its responses.
//! Start with [`waits_per_request`].

use record::judgement::{PausesPerBlock, SystemCallsPerRequest, WaitsPerRequest};
use record::{Pauses, Profile, SampledLoad, SystemCall, TracedLoad, Waits};
use std::collections::BTreeMap;

/// A smaller slow-down cannot be told from chance.
const SLOW_DOWN_MIN: f64 = 1.05;

/// Adds up the waits of all profiles and divides them by their correct responses. Profiles without
/// a correct response do not count.
pub(super) fn waits_per_request(profiles: &[&Profile]) -> WaitsPerRequest {
    let used: Vec<&Profile> = profiles.iter().copied().filter(|p| p.correct > 0).collect();
    let correct: f64 = used.iter().map(|profile| profile.correct as f64).sum();
    if used.is_empty() {
        return WaitsPerRequest::default();
    }
    let per_request = |count: fn(&Waits) -> u64| {
        used.iter().map(|p| count(&p.waits) as f64).sum::<f64>() / correct
    };
    let run_queue: Option<Vec<f64>> =
        used.iter().map(|p| p.waits.run_queue_ns.map(|ns| ns as f64)).collect();
    WaitsPerRequest {
        run_queue_us: run_queue.map(|all| all.iter().sum::<f64>() / 1e3 / correct),
        voluntary_switches: per_request(|waits| waits.voluntary_switches),
        involuntary_switches: per_request(|waits| waits.involuntary_switches),
        minor_faults: per_request(|waits| waits.minor_faults),
        major_faults: per_request(|waits| waits.major_faults),
        system_calls: system_calls(&used),
        slow_down: slow_down(&used),
        pauses: pauses(&used),
    }
}

/// Returns the calls of each name, and the time within them if every profile has it.
fn system_calls(profiles: &[&Profile]) -> Vec<SystemCallsPerRequest> {
    let counted: Vec<(&[SystemCall], u64)> =
        profiles.iter().filter_map(|profile| counted_calls(profile)).collect();
    let correct: f64 = counted.iter().map(|(_, correct)| *correct as f64).sum();
    let mut calls: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
    for call in counted.iter().flat_map(|(calls, _)| *calls) {
        let (count, spent) = calls.entry(&call.name).or_insert((0.0, Some(0.0)));
        *count += call.calls as f64;
        *spent = spent.zip(call.spent_ns).map(|(sum, ns)| sum + ns as f64);
    }
    let mut system_calls: Vec<SystemCallsPerRequest> = calls
        .into_iter()
        .map(|(name, (count, spent))| SystemCallsPerRequest {
            name: name.to_owned(),
            calls: count / correct,
            spent_us: spent.map(|ns| ns / 1e3 / correct),
        })
        .collect();
    system_calls.sort_by(|a, b| b.calls.total_cmp(&a.calls));
    system_calls
}

/// Returns the system calls of a profile, and the number of responses during which they were made;
/// `None` if they were not counted.
pub(super) fn counted_calls(profile: &Profile) -> Option<(&[SystemCall], u64)> {
    let calls = profile.waits.system_calls.as_slice();
    let correct = profile.waits.traced.map_or(profile.correct, |traced| traced.correct);
    (!calls.is_empty() && correct > 0).then_some((calls, correct))
}

/// Returns by which factor fewer responses per second arrived while system calls were counted.
fn slow_down(profiles: &[&Profile]) -> Option<f64> {
    let both: Vec<(u64, SampledLoad, TracedLoad)> = profiles
        .iter()
        .filter_map(|profile| Some((profile.correct, profile.load?, profile.waits.traced?)))
        .collect();
    let sum = |value: &dyn Fn(&(u64, SampledLoad, TracedLoad)) -> u64| {
        both.iter().map(|of| value(of) as f64).sum::<f64>()
    };
    let rate = sum(&|(correct, ..)| *correct) / sum(&|(_, load, _)| load.duration_ns);
    let traced = sum(&|(.., traced)| traced.correct) / sum(&|(.., traced)| traced.duration_ns);
    Some(rate / traced).filter(|factor| factor.is_finite() && *factor > 0.0)
}

/// Words what it cost to count system calls.
pub(super) fn cost_of_tracing(slow_down: f64) -> String {
    match slow_down {
        factor if factor < SLOW_DOWN_MIN => {
            "Counting its system calls did not slow it down measurably.".into()
        }
        factor => format!(
            "Counting its system calls made it {factor:.*}× slower meanwhile, so most of the time \
             in short calls is that of counting.",
            usize::from(factor < 10.0)
        ),
    }
}

/// Returns the pauses of the garbage collector, if every profile has them.
fn pauses(profiles: &[&Profile]) -> Option<PausesPerBlock> {
    let both: Option<Vec<(Pauses, SampledLoad)>> =
        profiles.iter().map(|profile| profile.waits.pauses.zip(profile.load)).collect();
    let both = both?;
    let sum = |value: fn(&(Pauses, SampledLoad)) -> u64| {
        both.iter().map(|of| value(of) as f64).sum::<f64>()
    };
    let longest = both.iter().map(|(pauses, _)| pauses.longest_ns).max()?;
    let share = sum(|(pauses, _)| pauses.total_ns) / sum(|(_, load)| load.duration_ns);
    share.is_finite().then(|| PausesPerBlock {
        count: sum(|(pauses, _)| pauses.count) / both.len() as f64,
        share,
        longest_us: longest as f64 / 1e3,
    })
}
