//! Made-up profiles for made-up records: stacks as text, with the number of their samples.
//!
//! Start with [`profile`] and [`profiled`].

use crate::made_up::{self, measurement, name};
use record::{Frame, FrameKind, Profile, Record, Stack, Waits};
use spec::experiment::Load;
use stats::{Histogram, Random};

/// CPU time of a sample.
pub const PERIOD_NS: u64 = 2_000_000;
/// Correct responses in a block.
pub const CORRECT: u64 = 100_000;

/// Reads a frame: `k:` in front marks the kernel, `?MODULE` code without a symbol, and
/// `MODULE!FUNCTION` a function of a library.
fn frame(text: &str) -> Frame {
    let (kind, text) = match text.strip_prefix("k:") {
        Some(text) => (FrameKind::Kernel, text),
        None => (FrameKind::Native, text),
    };
    let usual = if kind == FrameKind::Kernel { "kernel" } else { "server" };
    let (module, function) = match text.split_once('!') {
        Some((module, function)) => (module, Some(function)),
        None => match text.strip_prefix('?') {
            Some("") => (usual, None),
            Some(module) => (module, None),
            None => (usual, Some(text)),
        },
    };
    Frame { function: function.map(str::to_owned), module: module.into(), kind }
}

/// Makes the profile of a block. A stack is written from the innermost function outwards, with `;`
/// between functions, and after the name of its thread and `|` if that matters.
pub fn profile(contender: &str, block: u32, stacks: &[(&str, u64)]) -> Profile {
    let mut frames: Vec<Frame> = Vec::new();
    let mut stack = |(text, samples): &(&str, u64)| {
        let (thread, text) = text.split_once('|').unwrap_or(("server", text));
        let indices = text.split(';').filter(|text| !text.is_empty()).map(|text| {
            let frame = frame(text);
            let at = frames.iter().position(|known| *known == frame).unwrap_or_else(|| {
                frames.push(frame);
                frames.len() - 1
            });
            at as u32
        });
        Stack { thread: thread.into(), frames: indices.collect(), samples: *samples }
    };
    let stacks: Vec<Stack> = stacks.iter().map(&mut stack).collect();
    let samples: u64 = stacks.iter().map(|stack| stack.samples).sum();
    Profile {
        contender: name(contender),
        block,
        cell: "c".into(),
        period_ns: PERIOD_NS,
        cpu_ns: samples * PERIOD_NS,
        correct: CORRECT,
        load: None,
        lost: 0,
        frames,
        stacks,
        waits: Waits::default(),
        notes: vec![],
    }
}

/// Makes a record of contenders `a` (the baseline) and `b` with these profiles.
pub fn profiled(profiles: Vec<Profile>) -> Record {
    let load = Load::closed(8);
    let histogram: fn() -> Histogram = || made_up::histogram((0..1_000).map(|i| 2_000_000 + i));
    let trials = (1..=6).flat_map(|block| {
        ["a", "b"].map(|who| made_up::trial(who, block, measurement(10, histogram())))
    });
    Record { profiles, ..made_up::record(&["a", "b"], load, trials.collect()) }
}

/// Draws how many of a block's samples fall on each stack, given the mean numbers. A block as a
/// whole varies by 1 %.
pub fn drawn(random: &mut Random, means: &[(&'static str, f64)]) -> Vec<(&'static str, u64)> {
    let of_block = 1.0 + 0.01 * random.normal();
    let mut draw = |mean: f64| {
        let mean = mean * of_block;
        (mean + mean.sqrt() * random.normal()).round().max(0.0) as u64
    };
    means.iter().map(|(stack, mean)| (*stack, draw(*mean))).collect()
}
