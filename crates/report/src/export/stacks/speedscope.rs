//! The file format of speedscope, by <https://www.speedscope.app/file-format-schema.json>: one
//! sampled profile for each contender and cell, with CPU time as weights.

use super::chosen;
use crate::export::source::Source;
use crate::stacks::Merged;
use serde::Serialize;
use spec::problem::Problems;
use std::collections::HashMap;

#[derive(Serialize)]
struct SpeedscopeFile<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared<'a>,
    profiles: Vec<SampledProfile>,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active_profile_index: u32,
    exporter: String,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<SpeedscopeFrame<'a>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct SpeedscopeFrame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampledProfile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    /// For each stack, its frames from the outermost inwards.
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

/// Writes the stacks as JSON for speedscope. Threads are the outermost frames.
///
/// # Errors
/// There is no profile.
pub fn speedscope(source: &Source<'_>) -> Result<String, Problems> {
    let all = chosen(source)?;
    let mut frames = Frames::default();
    let profiles = all.iter().map(|merged| sampled(merged, &mut frames)).collect();
    let header = &source.record.header;
    let file = SpeedscopeFile {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared: Shared { frames: frames.list },
        profiles,
        name: format!("{} ({})", header.experiment.name, header.id),
        active_profile_index: 0,
        exporter: format!("faceoff {}", header.faceoff),
    };
    Ok(serde_json::to_string(&file).expect("plain data") + "\n")
}

/// The frames of all profiles, each once.
#[derive(Default)]
struct Frames<'a> {
    list: Vec<SpeedscopeFrame<'a>>,
    places: HashMap<SpeedscopeFrame<'a>, u32>,
}

impl<'a> Frames<'a> {
    fn index(&mut self, name: &'a str, file: &'a str) -> u32 {
        let frame = SpeedscopeFrame { name, file };
        *self.places.entry(frame).or_insert_with_key(|frame| {
            self.list.push(frame.clone());
            self.list.len() as u32 - 1
        })
    }
}

fn sampled<'a>(merged: &'a Merged<'_>, frames: &mut Frames<'a>) -> SampledProfile {
    let mut path = |stack: &'a crate::stacks::MergedStack| -> Vec<u32> {
        let thread = frames.index(&stack.thread, "thread");
        let functions = stack.frames.iter().map(|at| {
            let frame = &merged.frames[*at as usize];
            frames.index(&frame.name, &frame.module)
        });
        std::iter::once(thread).chain(functions).collect()
    };
    let samples = merged.stacks.iter().map(&mut path).collect();
    let weights: Vec<u64> = merged.stacks.iter().map(|stack| stack.ns).collect();
    SampledProfile {
        kind: "sampled",
        name: merged.title(),
        unit: "nanoseconds",
        start_value: 0,
        end_value: weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight)),
        samples,
        weights,
    }
}
