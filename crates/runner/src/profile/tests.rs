//! Samples real programs: this one, a shell, and programs in Go and Java.
//!
//! No test depends on the machine's speed: CPU time by samples is compared with CPU time by the
//! clock of the same thread or process. Start with [`burn`], which is the function to find.

use super::events::{PERIOD_NS, Request, Scope};
use super::*;
use record::{Frame, FrameKind, Stack};
use std::path::Path;
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
    let (ready, begin) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|threads| {
        let burner = || {
            ready.wait();
            begin.wait();
            std::hint::black_box(burn(ENOUGH_NS));
        };
        let named = std::thread::Builder::new().name(name.to_owned());
        let burner = named.spawn_scoped(threads, burner).unwrap();
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
        burner.join().unwrap();
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
    assert!(sampled.cpu_ns >= ENOUGH_NS, "{}", sampled.cpu_ns);
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
    let of_program: Vec<&Stack> = sampled
        .stacks
        .iter()
        .filter(|s| innermost(&sampled, s).is_some_and(|frame| frame.module == "deleted-program"))
        .collect();
    assert!(samples(&of_program) * PERIOD_NS * 10 > ENOUGH_NS * 5, "{sampled:?}");
}

#[test]
#[ignore = "needs sampling"]
fn target_without_processes_has_no_samples() {
    let targets = [target(u32::MAX >> 4)[0].clone(), target(std::process::id())[0].clone()];
    let profiler = Profiler::start(&targets, &[]).unwrap();
    let [gone, _] = <[Sampled; 2]>::try_from(profiler.stop()).unwrap();
    assert_eq!((gone.stacks, gone.cpu_ns), (Vec::new(), 0));
}

/// The share of user samples in functions with a name, and that of the named function.
fn shares(sampled: &Sampled, function: &str) -> (f64, f64) {
    let share = |is_in: &dyn Fn(&Frame) -> bool| {
        let user = |stack: &&Stack| {
            innermost(sampled, stack).is_some_and(|frame| frame.kind != FrameKind::Kernel)
        };
        let user: Vec<&Stack> = sampled.stacks.iter().filter(user).collect();
        let counted = |stack: &&Stack| innermost(sampled, stack).is_some_and(is_in);
        let counted: Vec<&Stack> = user.iter().copied().filter(counted).collect();
        samples(&counted) as f64 / samples(&user).max(1) as f64
    };
    (share(&|frame| frame.function.is_some()), share(&|frame| is_called(frame, function)))
}

#[test]
#[ignore = "needs java and sampling"]
fn compiled_java_methods_are_named_and_no_map_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("Hot.java");
    let source = "public class Hot {
        static long spin(long n) { long s = 0; for (long i = 0; i < n; i++) s = s * 31 + (i ^ s); return s; }
        public static void main(String[] a) { long s = 0; while (true) s += spin(1000000); }
    }";
    std::fs::write(&program, source).unwrap();
    let java = Ended::start(Command::new("java").arg(&program));
    java.wait_for_cpu(8 * ENOUGH_NS);
    let sampled = java.sample(2 * ENOUGH_NS);
    let (named, hot) = shares(&sampled, "Hot.spin");
    assert!(named > 0.9 && hot > 0.8, "{named} {hot} {:?} {:?}", sampled.notes, sampled.frames);
    let method = sampled.frames.iter().find(|frame| is_called(frame, "Hot.spin")).unwrap();
    assert_eq!((method.kind, method.module.as_str()), (FrameKind::Compiled, "jit"));
    let map = format!("/tmp/perf-{}.map", java.0.id());
    assert!(!Path::new(&map).exists(), "{map} is left");
}

#[test]
#[ignore = "needs go and sampling"]
fn go_functions_are_named_with_and_without_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let source = "package main\nvar sink uint64\n//go:noinline\nfunc spin(n uint64) (s uint64) { \
                  for i := uint64(0); i < n; i++ { s = s*31 + (i ^ s) }; return }\n\
                  func main() { for { sink += spin(1000000) } }\n";
    std::fs::write(folder.path().join("hot.go"), source).unwrap();
    for flags in ["", "-s -w"] {
        let build = ["build", "-o", "hot", "-ldflags", flags, "hot.go"];
        let built = Command::new("go").args(build).current_dir(folder.path()).status().unwrap();
        assert!(built.success());
        let program = Ended::start(&mut Command::new(folder.path().join("hot")));
        let sampled = program.sample(ENOUGH_NS);
        let (named, hot) = shares(&sampled, "main.spin");
        assert!(named > 0.95 && hot > 0.8, "{flags}: {named} {hot} {:?}", sampled.notes);
        // It calls a function that sets up no frame pointer.
        let main = sampled.frames.iter().any(|frame| is_called(frame, "main.main"));
        assert!(main, "{:?}", sampled.frames);
    }
}
