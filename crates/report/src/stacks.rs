//! The samples of a contender in a cell, with equal stacks of all profiled blocks added up.
//!
//! Every export of stacks and the flame graph of the report start from here. Start with
//! [`merge_profiles`]. Frames are named as people read them: `[libfoo.so]` for code without a
//! symbol.

use record::{Frame, FrameKind, Profile};
use spec::name::ContenderName;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The samples of a contender in a cell.
pub(crate) struct Merged<'a> {
    pub contender: &'a ContenderName,
    pub cell: &'a str,
    /// Correct responses of all profiled blocks.
    pub correct: u64,
    /// The CPU time after which the kernel takes the next sample.
    pub period_ns: u64,
    /// Every frame that a stack has, each once.
    pub frames: Vec<NamedFrame>,
    /// Every stack, each once, in a fixed order.
    pub stacks: Vec<MergedStack>,
}

/// A frame with a name for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedFrame {
    pub name: String,
    pub module: String,
    pub kind: FrameKind,
}

/// A stack of all blocks.
pub(crate) struct MergedStack {
    pub thread: String,
    /// Indices into [`Merged::frames`], from the outermost function inwards.
    pub frames: Vec<u32>,
    pub samples: u64,
    pub ns: u64,
}

impl Merged<'_> {
    /// Returns `proxy-gin in closed-64`.
    pub fn title(&self) -> String {
        format!("{} in {}", self.contender, self.cell)
    }
}

/// Adds up the profiles of each contender in each cell, in the order of their first profile.
pub(crate) fn merge_profiles<'a>(
    profiles: impl IntoIterator<Item = &'a Profile>,
) -> Vec<Merged<'a>> {
    let mut groups: Vec<(&ContenderName, &str, Vec<&Profile>)> = Vec::new();
    for profile in profiles {
        let same = |(contender, cell, _): &&mut (&ContenderName, &str, Vec<&Profile>)| {
            **contender == profile.contender && *cell == profile.cell
        };
        match groups.iter_mut().find(same) {
            Some((_, _, list)) => list.push(profile),
            None => groups.push((&profile.contender, &profile.cell, vec![profile])),
        }
    }
    groups.into_iter().map(|(contender, cell, list)| merge(contender, cell, &list)).collect()
}

fn merge<'a>(contender: &'a ContenderName, cell: &'a str, profiles: &[&Profile]) -> Merged<'a> {
    let mut merged = Merged {
        contender,
        cell,
        correct: 0,
        period_ns: profiles.first().map_or(0, |profile| profile.period_ns),
        frames: Vec::new(),
        stacks: Vec::new(),
    };
    let mut indices: HashMap<NamedFrame, u32> = HashMap::new();
    let mut stacks: BTreeMap<(&str, Vec<u32>), (u64, u64)> = BTreeMap::new();
    for profile in profiles {
        merged.correct = merged.correct.saturating_add(profile.correct);
        let mut index = |frame: NamedFrame| {
            *indices.entry(frame).or_insert_with_key(|frame| {
                merged.frames.push(frame.clone());
                merged.frames.len() as u32 - 1
            })
        };
        let of_profile: Vec<u32> =
            profile.frames.iter().map(|frame| index(named_frame(Some(frame)))).collect();
        // A frame that the profile lacks still has samples.
        let missing = index(named_frame(None));
        let sample_ns = profile.sample_ns();
        for stack in &profile.stacks {
            let frame = |at: &u32| of_profile.get(*at as usize).copied().unwrap_or(missing);
            let path: Vec<u32> = stack.frames.iter().rev().map(frame).collect();
            let (samples, ns) = stacks.entry((&stack.thread, path)).or_default();
            *samples = samples.saturating_add(stack.samples);
            *ns = ns.saturating_add(stack.samples.saturating_mul(sample_ns));
        }
    }
    let stack = |((thread, frames), (samples, ns)): ((&str, Vec<u32>), (u64, u64))| MergedStack {
        thread: thread.to_owned(),
        frames,
        samples,
        ns,
    };
    merged.stacks = stacks.into_iter().map(stack).collect();
    drop_unused(&mut merged);
    merged
}

fn named_frame(frame: Option<&Frame>) -> NamedFrame {
    let Some(Frame { function, module, kind }) = frame else {
        return NamedFrame {
            name: "[unknown]".into(),
            module: String::new(),
            kind: FrameKind::Native,
        };
    };
    NamedFrame {
        name: function.clone().unwrap_or_else(|| format!("[{module}]")),
        module: module.clone(),
        kind: *kind,
    }
}

/// Removes frames that no stack has.
fn drop_unused(merged: &mut Merged<'_>) {
    let used: BTreeSet<u32> = merged.stacks.iter().flat_map(|s| s.frames.iter().copied()).collect();
    let places: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
    for frame in merged.stacks.iter_mut().flat_map(|stack| &mut stack.frames) {
        *frame = places[frame];
    }
    let frames = std::mem::take(&mut merged.frames);
    let is_used = |at: u32| used.contains(&at);
    merged.frames =
        frames.into_iter().zip(0..).filter(|(_, at)| is_used(*at)).map(|f| f.0).collect();
}
