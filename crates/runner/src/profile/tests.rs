//! Samples real programs: this one, shells (`bad_input`), and programs in Go, Java, Node and Python
//! (`runtimes`).
//!
//! No test depends on the machine's speed: CPU time by samples is compared with CPU time by the
//! clock of the same thread or process. Start with [`burn`], which is the function to find.

mod bad_input;
mod runtimes;

use super::events::{PERIOD_NS, Request, Scope};
use super::*;
use record::{Frame, FrameKind, Stack};
use std::process::{Child, Command, Stdio};

/// CPU time that is enough for a ratio within 20 %: some 250 samples.
const ENOUGH_NS: u64 = 500_000_000;

#[inline(never)]
fn burn(until_ns: u64) -> u64 {
    let begin = load::clock::thread_cpu_ns();
    let mut sum = 0u64;
    // Plain operations only: without optimization, an iterator would be calls of its own.
    while load::clock::thread_cpu_ns() - begin < until_ns {
        let mut number = 0;
        while number < 100_000 {
            sum ^= number + (sum >> 1);
            number += 1;
        }
    }
    sum
}

fn target(pid: u32) -> [Target; 1] {
    [Target { roots: vec![pid], others: Vec::new() }]
}

/// Samples a thread of this process that burns CPU time.
fn sample_burner(scope: Option<Scope>, name: &str) -> Sampled {
    sample_thread(scope, name, || burn(ENOUGH_NS))
}

/// Samples a thread of this process with some work.
fn sample_thread(scope: Option<Scope>, name: &str, work: impl FnOnce() -> u64 + Send) -> Sampled {
    let (ready, begin) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|threads| {
        let worker = || {
            ready.wait();
            begin.wait();
            std::hint::black_box(work());
        };
        let named = std::thread::Builder::new().name(name.to_owned());
        let worker = named.spawn_scoped(threads, worker).unwrap();
        ready.wait();
        let profiler = Profiler::start_with(&target(std::process::id()), &crate::cpus::usable(), {
            |cpus, threads, frame_pointers| match scope {
                Some(scope) => Events::open_as(Request { scope, frame_pointers }, cpus, threads)
                    .map_err(|error| error.to_string()),
                None => Events::open(cpus, threads, frame_pointers),
            }
        });
        begin.wait();
        let profiler = profiler.unwrap();
        worker.join().unwrap();
        let [sampled] = <[Sampled; 1]>::try_from(profiler.stop()).unwrap();
        sampled
    })
}

fn of_thread<'a>(sampled: &'a Sampled, name: &str) -> Vec<&'a Stack> {
    sampled.stacks.iter().filter(|stack| stack.thread == name).collect()
}

fn innermost<'a>(sampled: &'a Sampled, stack: &Stack) -> Option<&'a Frame> {
    stack.frames.first().map(|frame| &sampled.frames[*frame as usize])
}

fn is_called(frame: &Frame, name: &str) -> bool {
    frame.function.as_deref().is_some_and(|function| function.ends_with(name))
}

fn samples(stacks: &[&Stack]) -> u64 {
    stacks.iter().map(|stack| stack.samples).sum()
}

/// Asserts that samples and clock agree within 20 %, and that `burn` has most of them.
fn assert_burned(sampled: &Sampled, thread: &str) {
    let stacks = of_thread(sampled, thread);
    let ratio = (samples(&stacks) * PERIOD_NS) as f64 / ENOUGH_NS as f64;
    assert!((0.8..1.2).contains(&ratio), "{ratio}: {:?}", sampled.notes);
    let in_burn: Vec<&Stack> = stacks
        .iter()
        .copied()
        .filter(|s| innermost(sampled, s).is_some_and(|frame| is_called(frame, "tests::burn")))
        .collect();
    assert!(samples(&in_burn) * 10 > samples(&stacks) * 8, "{:?}", sampled.frames);
    // Its callers are known, although it has no frame pointer.
    let callers = |stack: &&&Stack| {
        let functions = stack.frames.iter().map(|frame| &sampled.frames[*frame as usize]);
        functions.filter_map(|frame| frame.function.as_deref()).any(|f| f.contains("sample_burner"))
    };
    let with_caller: Vec<&Stack> = in_burn.iter().filter(callers).copied().collect();
    assert!(samples(&with_caller) * 10 > samples(&in_burn) * 9, "{:?}", sampled.frames);
}

#[test]
#[ignore = "needs sampling"]
fn busy_function_has_its_cpu_time_and_its_callers() {
    let sampled = sample_burner(None, "burner-7");
    assert_burned(&sampled, "burner");
    assert!(sampled.waits.run_queue_ns.is_some() && sampled.period_ns == PERIOD_NS);
}

#[test]
#[ignore = "needs sampling"]
fn single_threads_are_sampled_without_the_right_to_see_all() {
    let sampled = sample_burner(Some(Scope::Threads { with_kernel: false }), "lonely");
    assert_burned(&sampled, "lonely");
    let notes = sampled.notes.join(" ");
    assert!(notes.contains("Time in the kernel is missing"), "{notes}");
    assert!(sampled.frames.iter().all(|frame| frame.kind != FrameKind::Kernel));
}

/// A process that is ended when the test ends, also if it fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ended {
    fn start(command: &mut Command) -> Ended {
        Ended(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Waits until the process and its children have used this much CPU time since now.
    fn wait_for_cpu(&self, ns: u64) {
        let first = crate::usage::tree_cpu_ns(self.0.id());
        while crate::usage::tree_cpu_ns(self.0.id()) < first + ns {
            assert!(crate::procfs::is_alive(self.0.id()), "the process has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn sample(&self, ns: u64) -> Sampled {
        let profiler = Profiler::start(&target(self.0.id()), &crate::cpus::usable()).unwrap();
        self.wait_for_cpu(ns);
        profiler.stop().remove(0)
    }
}

#[test]
#[ignore = "needs sampling"]
fn children_that_begin_and_end_meanwhile_belong_to_the_target() {
    let script = "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done";
    let shell = Ended::start(Command::new("sh").args(["-c", script]));
    let sampled = shell.sample(ENOUGH_NS);
    let all: Vec<&Stack> = sampled.stacks.iter().collect();
    let ratio = (samples(&all) * PERIOD_NS) as f64 / sampled.cpu_ns as f64;
    assert!((0.8..1.2).contains(&ratio), "{ratio}: {sampled:?}");
    let known =
        |stack: &&Stack| innermost(&sampled, stack).is_some_and(|frame| frame.module != "unknown");
    let known: Vec<&Stack> = all.iter().copied().filter(known).collect();
    assert!(samples(&known) * 10 > samples(&all) * 9, "{sampled:?}");
    assert!(sampled.frames.iter().any(|frame| frame.kind == FrameKind::Kernel), "{sampled:?}");
}

#[test]
#[ignore = "needs sampling"]
fn target_without_processes_has_no_samples() {
    let targets = [target(u32::MAX >> 4)[0].clone(), target(std::process::id())[0].clone()];
    let profiler = Profiler::start(&targets, &[]).unwrap();
    let [gone, _] = <[Sampled; 2]>::try_from(profiler.stop()).unwrap();
    assert_eq!((gone.stacks, gone.cpu_ns), (Vec::new(), 0));
}
