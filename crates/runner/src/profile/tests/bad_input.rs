//! Programs that are hard to sample: deleted or stripped, in namespaces of their own, with deep
//! stacks, or with many context switches.
//!
//! None may fail, and what is missing must be noted. Perf maps that lie are tested in
//! `perf_map.rs`, too many stacks and threads in `stacks.rs` and `events.rs`. Start with
//! [`of_module`].

use super::*;
use crate::profile::perf_map;
use load::clock::thread_cpu_ns;
use std::io::{Read, Write};

/// The CPU time in stacks with a function of a module.
fn of_module(sampled: &Sampled, module: &str) -> u64 {
    let is_there = |stack: &&Stack| {
        stack.frames.iter().any(|frame| sampled.frames[*frame as usize].module == module)
    };
    let stacks: Vec<&Stack> = sampled.stacks.iter().filter(is_there).collect();
    samples(&stacks) * PERIOD_NS
}

#[test]
#[ignore = "needs sampling"]
fn deleted_executable_is_named_and_its_end_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("deleted-program");
    std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &program).unwrap();
    let mut shell = Ended::start(Command::new(&program).args(["-c", "while :; do :; done"]));
    std::fs::remove_file(&program).unwrap();
    let profiler = Profiler::start(&target(shell.0.id()), &crate::cpus::usable()).unwrap();
    shell.wait_for_cpu(ENOUGH_NS);
    shell.0.kill().unwrap();
    shell.0.wait().unwrap();
    let sampled = profiler.stop().remove(0);
    assert!(of_module(&sampled, "deleted-program") * 10 > ENOUGH_NS * 5, "{sampled:?}");
}

/// A container has namespaces like these: its processes have other ids in it, and its files are not
/// those of this machine.
#[test]
#[ignore = "needs sampling and user namespaces"]
fn process_in_namespaces_of_its_own_is_sampled() {
    let script = "mount -t tmpfs none /tmp && cp /bin/sh /tmp/inner-program &&
                  exec /tmp/inner-program -c 'while :; do :; done'";
    let flags = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"];
    let outer = Ended::start(Command::new("unshare").args(flags).args(["sh", "-c", script]));
    let sampled = outer.sample(ENOUGH_NS);
    assert!(of_module(&sampled, "inner-program") * 10 > ENOUGH_NS * 5, "{sampled:?}");
    let inner = crate::procfs::trees(&[outer.0.id()])[1];
    let map = (format!("/proc/{inner}/root/tmp/perf-1.map").into(), 1);
    assert_eq!(perf_map::path_of(inner), map);
}

#[test]
#[ignore = "needs sampling"]
fn stripped_program_has_samples_without_names() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("stripped-program");
    std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &program).unwrap();
    strip(&program);
    let shell = Ended::start(Command::new(&program).args(["-c", "while :; do :; done"]));
    let sampled = shell.sample(ENOUGH_NS);
    assert!(sampled.cpu_ns >= ENOUGH_NS, "{}", sampled.cpu_ns);
    assert!(of_module(&sampled, "stripped-program") * 10 > ENOUGH_NS * 5, "{sampled:?}");
    let notes = sampled.notes.join(" ");
    assert!(notes.contains("stripped-program without a name: it has no symbols"), "{notes}");
}

/// Removes the sections of a program, which it does not need to run.
fn strip(program: &Path) {
    let mut bytes = std::fs::read(program).unwrap();
    // The position of the table of sections, and their number.
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    std::fs::write(program, bytes).unwrap();
}

/// Calls itself, then burns.
#[inline(never)]
fn dive(depth: u64) -> u64 {
    match depth {
        0 => burn(ENOUGH_NS),
        _ => std::hint::black_box(dive(depth - 1)).wrapping_add(depth),
    }
}

#[test]
#[ignore = "needs sampling"]
fn deep_stacks_are_cut_at_their_outer_end() {
    let sampled = sample_thread(None, "diver", || dive(512));
    let stacks = of_thread(&sampled, "diver");
    let is_cut = |stack: &&Stack| {
        let mut functions = stack.frames.iter().map(|frame| &sampled.frames[*frame as usize]);
        let begins = functions.next().is_some_and(|frame| is_called(frame, "tests::burn"));
        begins && functions.any(|frame| is_called(frame, "bad_input::dive"))
    };
    let cut: Vec<&Stack> = stacks.iter().copied().filter(is_cut).collect();
    assert!(samples(&cut) * 10 > samples(&stacks) * 8, "{sampled:?}");
    assert!(stacks.iter().all(|stack| stack.frames.len() < 512), "{sampled:?}");
    let notes = sampled.notes.join(" ");
    assert!(notes.contains("their outermost functions are missing"), "{notes}");
}

/// Passes a byte back and forth between two threads, of which one counts a little each time.
///
/// Returns the number of times that this thread went to sleep, and the CPU time of both threads.
fn pass_a_byte(times: usize) -> (u64, u64) {
    let ((mut here, mut to_there), (mut there, mut to_here)) =
        (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let other = std::thread::spawn(move || {
        let mut byte = [0];
        while here.read(&mut byte).unwrap() == 1 {
            std::hint::black_box((0..2_000u64).fold(0, |sum, number| sum ^ number));
            to_here.write_all(&byte).unwrap();
        }
        thread_cpu_ns()
    });
    let switches = || {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        crate::procfs::Reader::default().thread_switches(std::process::id(), thread).0
    };
    let (before, cpu_before) = (switches(), thread_cpu_ns());
    let mut byte = [7];
    for _ in 0..times {
        to_there.write_all(&byte).unwrap();
        there.read_exact(&mut byte).unwrap();
    }
    drop(to_there);
    let cpu_of_other = other.join().unwrap();
    (switches() - before, thread_cpu_ns() - cpu_before + cpu_of_other)
}

/// A clock counts from when a thread is woken, and samples from when it runs. Both threads belong to
/// the target and share a CPU, so only wake-ups that preempt other programs make a difference.
#[test]
#[ignore = "needs sampling"]
fn threads_that_switch_often_have_most_of_their_samples() {
    let one_cpu = [crate::cpus::usable()[0]];
    let (mut switches, mut cpu_ns) = (0, 0);
    let sampled = sample_thread(None, "passer", || {
        pin_this_thread(&one_cpu).unwrap();
        (switches, cpu_ns) = pass_a_byte(20_000);
        switches
    });
    assert!(switches > 10_000, "{switches}");
    // The second thread has the name of the one that started it.
    let share = (samples(&of_thread(&sampled, "passer")) * PERIOD_NS) as f64 / cpu_ns as f64;
    assert!((0.5..1.2).contains(&share), "{share}");
    // The kernel no longer has the counts of threads that ended.
    let notes = sampled.notes.join(" ");
    assert!(notes.contains("threads that ended meanwhile"), "{notes}");
}

#[test]
#[ignore = "needs sampling"]
fn switches_of_processes_that_go_on_are_counted() {
    // The shell waits for each child, and outlives them all.
    let shell = Ended::start(Command::new("sh").args(["-c", "while :; do sleep 0; done"]));
    let sampled = shell.sample(ENOUGH_NS);
    assert!(sampled.waits.voluntary_switches > 100, "{:?}", sampled.waits);
}
