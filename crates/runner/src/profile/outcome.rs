//! What was sampled of each target: named stacks, and notes on what is missing.
//!
//! [`of`] names all places once, then gives each target its own list of frames and stacks. Places
//! that have the same name become one frame, and stacks with the same frames are added up.

use super::events::PERIOD_NS;
use super::naming::Named;
use super::processes::Processes;
use record::{Frame, Stack, Waits};
use std::collections::{BTreeMap, HashMap};

/// Functions without a name are noted if they have at least this share of a target's samples.
const NOTED_SHARE: f64 = 0.01;

/// What an interpreter of Python hides without an option.
const NO_PYTHON_FUNCTIONS: &str = "Functions in Python are not told apart: they count as those of the interpreter. Use Python \
     3.12 or later, and set `runtime_options = true` in [profile].";

/// What was sampled of one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// The CPU time that one sample stands for.
    pub period_ns: u64,
    /// CPU time of the target's processes meanwhile, by their clocks. It differs from samples times
    /// period by what `events.rs` explains.
    pub cpu_ns: u64,
    /// Records that the kernel dropped, of all targets together.
    pub lost: u64,
    /// Every frame that a stack has, each once.
    pub frames: Vec<Frame>,
    /// Every stack that was seen, most frequent first.
    pub stacks: Vec<Stack>,
    /// What the processes did besides using a CPU.
    pub waits: Waits,
    /// What could not be read, in sentences.
    pub notes: Vec<String>,
}

/// Names and sorts the stacks of each target. CPU time and waits are left for the caller.
pub(super) fn of(processes: &Processes, targets: usize, notes: &[String]) -> Vec<Sampled> {
    let named = Named::of(&processes.stacks.places, &processes.modules);
    let target = |target: usize| {
        let mut sampled = Sampled {
            period_ns: PERIOD_NS,
            lost: processes.lost,
            notes: notes.to_vec(),
            ..Sampled::default()
        };
        add_stacks(&mut sampled, target, processes, &named);
        sampled.notes.extend(notes_of_target(target, processes, &named));
        sampled
    };
    (0..targets).map(target).collect()
}

fn add_stacks(sampled: &mut Sampled, target: usize, processes: &Processes, named: &Named) {
    let mut numbers: HashMap<&Frame, u32> = HashMap::new();
    let mut counts: HashMap<(u32, Vec<u32>), u64> = HashMap::new();
    for (key, samples) in &processes.stacks.counts {
        if key.target as usize != target {
            continue;
        }
        let frames = key.places.iter().map(|place| {
            let frame = &named.frames[*place as usize];
            *numbers.entry(frame).or_insert_with(|| {
                sampled.frames.push(frame.clone());
                sampled.frames.len() as u32 - 1
            })
        });
        *counts.entry((key.thread, frames.collect())).or_default() += samples;
    }
    let stack = |((thread, frames), samples): ((u32, Vec<u32>), u64)| {
        let thread = processes.stacks.threads[thread as usize].clone();
        Stack { thread, frames, samples }
    };
    sampled.stacks = counts.into_iter().map(stack).collect();
    sampled.stacks.sort_by(|a, b| {
        b.samples.cmp(&a.samples).then_with(|| (&a.thread, &a.frames).cmp(&(&b.thread, &b.frames)))
    });
}

fn notes_of_target(target: usize, processes: &Processes, named: &Named) -> Vec<String> {
    let mut notes = Vec::new();
    let (mut all, mut nameless) = (0, BTreeMap::<u32, u64>::new());
    let mut modules = std::collections::BTreeSet::new();
    for (key, samples) in &processes.stacks.counts {
        if key.target as usize != target {
            continue;
        }
        all += samples;
        modules.extend(key.places.iter().map(|p| processes.stacks.places[*p as usize].0));
        if let Some(innermost) = key.places.first()
            && named.frames[*innermost as usize].function.is_none()
        {
            *nameless.entry(processes.stacks.places[*innermost as usize].0).or_default() += samples;
        }
    }
    let share = |samples: u64| samples as f64 / all.max(1) as f64;
    let percent = |samples: u64| format!("{:.0} %", 100.0 * share(samples));
    for (module, samples) in nameless {
        if share(samples) >= NOTED_SHARE {
            let name = &processes.modules.get(module).name;
            let reason = named.reasons.get(&module).map_or("", |reason| reason);
            let share = percent(samples);
            notes.push(format!(
                "{share} of the samples are in functions of {name} without a name: {reason}."
            ));
        }
    }
    let problems = named.problems.iter().filter(|(module, _)| modules.contains(module));
    notes.extend(problems.map(|(_, problem)| problem.clone()));
    let has = |prefix: &str| {
        modules.iter().any(|module| processes.modules.get(*module).name.starts_with(prefix))
    };
    if (has("python3") || has("libpython3")) && !has("jit") {
        notes.push(NO_PYTHON_FUNCTIONS.to_owned());
    }
    let cut = processes.cut[target];
    if share(cut) >= NOTED_SHARE {
        let share = percent(cut);
        notes.push(format!(
            "{share} of the stacks are larger than what is copied of them: their outermost functions are missing."
        ));
    }
    if processes.stacks.without_room > 0 {
        let samples = processes.stacks.without_room;
        notes.push(format!("{samples} samples of all contenders have no functions: there were too many different stacks."));
    }
    if processes.unfollowed > 0 {
        let number = processes.unfollowed;
        notes.push(format!("{number} processes were not sampled, because too many ran at a time."));
    }
    notes
}
