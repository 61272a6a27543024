//! Samples processes and prints where their CPU time goes, to compare with `perf report` by hand.
//!
//! ```text
//! cargo run --release -p runner --example profile -- SECONDS PID...
//! perf record -F 499 -g -p PID -- sleep SECONDS && perf report --no-children
//! ```
//!
//! It prints the share of samples with a function's name, the functions with the most samples, and
//! the notes.

use record::FrameKind;
use runner::profile::{Profiler, Sampled, Target};
use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let [seconds, pids @ ..] = &numbers[..] else {
        eprintln!("usage: profile SECONDS PID...");
        return ExitCode::from(2);
    };
    let targets: Vec<Target> =
        pids.iter().map(|pid| Target { roots: vec![*pid], others: Vec::new() }).collect();
    let profiler = match Profiler::start(&targets, &runner::cpus::usable()) {
        Ok(profiler) => profiler,
        Err(reason) => {
            eprintln!("error: {reason}");
            return ExitCode::FAILURE;
        }
    };
    std::thread::sleep(Duration::from_secs(u64::from(*seconds)));
    for sampled in profiler.stop() {
        print(&sampled);
    }
    ExitCode::SUCCESS
}

fn print(sampled: &Sampled) {
    let samples: u64 = sampled.stacks.iter().map(|stack| stack.samples).sum();
    let by_samples = (samples * sampled.period_ns) as f64 / sampled.cpu_ns.max(1) as f64;
    let (mut user, mut named) = (0, 0);
    let mut functions: HashMap<String, u64> = HashMap::new();
    let mut depth = 0;
    for stack in &sampled.stacks {
        depth += stack.frames.len() as u64 * stack.samples;
        let Some(frame) = stack.frames.first().map(|f| &sampled.frames[*f as usize]) else {
            continue;
        };
        if frame.kind != FrameKind::Kernel {
            user += stack.samples;
            named += if frame.function.is_some() { stack.samples } else { 0 };
        }
        let function = frame.function.as_deref().unwrap_or("?");
        let key = format!("{:<20} {function} [{:?}]", frame.module, frame.kind);
        *functions.entry(key).or_default() += stack.samples;
    }
    println!("samples {samples}, lost {}, samples/clock {by_samples:.3}", sampled.lost);
    println!("user samples {user}, named {:.1} %", 100.0 * named as f64 / user.max(1) as f64);
    println!("mean depth {:.1}, stacks {}", depth as f64 / samples as f64, sampled.stacks.len());
    println!("{:?}", sampled.waits);
    let mut functions: Vec<_> = functions.into_iter().collect();
    functions.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    for (function, count) in functions.iter().take(25) {
        println!("{:6.2} % {function}", 100.0 * *count as f64 / samples as f64);
    }
    sampled.notes.iter().for_each(|note| println!("note: {note}"));
    if std::env::var_os("STACKS").is_some() {
        for stack in sampled.stacks.iter().take(5) {
            println!("{} × {}", stack.samples, stack.thread);
            for frame in &stack.frames {
                let frame = &sampled.frames[*frame as usize];
                println!("    {} ({})", frame.function.as_deref().unwrap_or("?"), frame.module);
            }
        }
    }
}
