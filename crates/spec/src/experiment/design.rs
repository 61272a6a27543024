//! The design of an experiment: blocks, looks and times.
//!
//! It decides how much is measured, when a run may stop early, and which difference matters. Looks
//! are the interim analyses of a sequential design. Start with [`Design`].

use super::Cell;
use crate::name::did_you_mean;
use crate::reader::Table;
use crate::units::{nanoseconds, parse_duration, show_duration};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How often, how long and in which order contenders are measured, and which difference matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Design {
    /// Blocks; each is one trial of every contender in random order.
    pub blocks: u32,
    /// Further blocks. They run only while faults, or blocks without a value, leave a claim open
    /// with fewer blocks than it needs. Without claims, any open verdict counts that faults left
    /// short.
    pub spare_blocks: u32,
    /// The numbers of blocks after which an interim analysis is made, rising. The run stops there
    /// if every claim is settled. The last analysis, after all blocks, need not be listed.
    #[serde(default)]
    pub looks: Vec<u32>,
    /// Whether an interim analysis follows every block instead. The run stops when every primary
    /// metric is settled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look_always: bool,
    /// Whether contenders share a block in slices, if they can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slices: bool,
    /// Whether a contender is started once for all blocks. Verdicts are then about these processes,
    /// not about their programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_once: bool,
    /// A ratio within `[1/(1+margin), 1+margin]` is no difference that matters.
    pub margin: f64,
    /// The confidence of the intervals that make a contender better or worse.
    pub confidence: f64,
    /// Fixes the order of trials and cells.
    pub seed: u64,
    /// The longest warm-up before the first measurement of a trial. It ends when the steady state
    /// is found.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub warmup: Duration,
    /// The shortest warm-up, even if a steady state is found earlier.
    #[serde(default, with = "nanoseconds", skip_serializing_if = "Duration::is_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub warmup_least: Duration,
    /// The workloads that the warm-up uses. All are used if this is empty or if no cell uses one of
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warmup_workloads: Vec<String>,
    /// The length of each cell's measurement.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub measure: Duration,
    /// The time for all blocks, counted from the first block. No block begins that would end later,
    /// if it takes as long as the one before. The first always begins.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub budget: Duration,
}

impl Design {
    /// Returns the time limit of a run that only a settled question ends earlier; `None` if the
    /// number of blocks ends it.
    pub fn time_bound(&self) -> Option<Duration> {
        (self.look_always && self.start_once).then_some(self.budget)
    }
}

/// The fewest blocks that can make a contender win. With fewer, the exact sign-flip test cannot
/// reach 5 % (2/2⁵ = 0.0625).
pub const FEWEST_BLOCKS: u32 = 6;

pub(super) fn describe_looks(design: &Design) -> String {
    if design.look_always {
        return "after every block; the run ends when every primary metric is settled".to_owned();
    }
    let early: Vec<String> = design
        .looks
        .iter()
        .filter(|look| **look < design.blocks)
        .map(ToString::to_string)
        .collect();
    match early.as_slice() {
        [] => "one, after the last block".to_owned(),
        early => format!(
            "after {} and {} blocks; the run ends when every claim is settled",
            early.join(", "),
            design.blocks
        ),
    }
}

/// Returns the default looks: after half, three quarters and all of the blocks. None is before the
/// fewest blocks that can settle anything. Without claims only the last remains.
pub(crate) fn default_looks(blocks: u32, has_claims: bool) -> Vec<u32> {
    let mut looks: Vec<u32> = [blocks.div_ceil(2), (3 * blocks).div_ceil(4), blocks]
        .into_iter()
        .filter(|n| *n >= FEWEST_BLOCKS)
        .collect();
    looks.dedup();
    if has_claims { looks } else { Vec::new() }
}

pub(super) fn warm_up_in_words(design: &Design) -> String {
    if design.warmup.is_zero() {
        return "none".into();
    }
    let most = show_duration(design.warmup);
    let long = match design.warmup_least {
        Duration::ZERO => format!("until the steady state is found, {most} at most"),
        least if least == design.warmup => most,
        least => format!(
            "until the steady state is found, {} at least and {most} at most",
            show_duration(least)
        ),
    };
    let by = if design.warmup_workloads.is_empty() {
        String::new()
    } else {
        format!(", by {}", design.warmup_workloads.join(", "))
    };
    format!("per trial {long}{by}")
}

pub(super) fn default_design(has_claims: bool) -> Design {
    Design {
        blocks: 12,
        spare_blocks: 2,
        looks: default_looks(12, has_claims),
        look_always: !has_claims,
        slices: true,
        start_once: false,
        margin: 0.05,
        confidence: 0.95,
        seed: 1,
        warmup: Duration::from_secs(30),
        warmup_least: Duration::ZERO,
        warmup_workloads: Vec::new(),
        measure: Duration::from_secs(10),
        budget: Duration::from_secs(2 * 3600),
    }
}

pub(super) fn parse_design(table: &Table<'_>, cells: &[Cell], has_claims: bool) -> Design {
    let usual = default_design(has_claims);
    let blocks = table.integer("blocks", 1, 1000).map_or(usual.blocks, |n| n as u32);
    let looks = parse_looks(table, blocks);
    let (warmup_least, warmup) = parse_warmup(table).unwrap_or((usual.warmup_least, usual.warmup));
    Design {
        blocks,
        looks: if table.has("looks") { looks } else { default_looks(blocks, has_claims) },
        look_always: usual.look_always && !table.has("looks"),
        slices: table
            .choice("alternate", &[("slices", true), ("trials", false)])
            .unwrap_or(usual.slices),
        start_once: table.flag("start_once").unwrap_or(usual.start_once),
        spare_blocks: table
            .integer("spare_blocks", 0, 100)
            .map_or(usual.spare_blocks, |n| n as u32),
        margin: table.number("margin", 0.0, 10.0).unwrap_or(usual.margin),
        confidence: table.number("confidence", 0.8, 0.999).unwrap_or(usual.confidence),
        seed: table.integer("seed", 0, u64::MAX).unwrap_or(usual.seed),
        warmup,
        warmup_least,
        warmup_workloads: parse_warmup_workloads(table, cells),
        measure: positive(table, "measure").unwrap_or(usual.measure),
        budget: positive(table, "budget").unwrap_or(usual.budget),
    }
}

/// Reads the shortest and longest warm-up: `30s`, or `30s..60s`.
fn parse_warmup(table: &Table<'_>) -> Option<(Duration, Duration)> {
    table.parsed("warmup", |text| match text.split_once("..") {
        None => Ok((Duration::ZERO, parse_duration(text)?)),
        Some((least, most)) => {
            let (least, most) = (parse_duration(least)?, parse_duration(most)?);
            if least > most {
                return Err(format!(
                    "a warm-up of at least {} and at most {} is impossible",
                    show_duration(least),
                    show_duration(most)
                ));
            }
            Ok((least, most))
        }
    })
}

fn parse_warmup_workloads(table: &Table<'_>, cells: &[Cell]) -> Vec<String> {
    let named = table.strings("warmup_workloads");
    let known = cells.iter().map(|cell| cell.workload.as_str());
    for name in &named {
        if !known.clone().any(|workload| workload == name) {
            table.problem(
                "warmup_workloads",
                format!("no cell has the workload `{name}`"),
                did_you_mean(name, known.clone()),
            );
        }
    }
    named
}

fn parse_looks(table: &Table<'_>, blocks: u32) -> Vec<u32> {
    let looks = table.integers("looks");
    if let Some(pair) = looks.windows(2).find(|pair| pair[0] >= pair[1]) {
        table.problem(
            "looks",
            format!("looks must rise: {} comes before {}", pair[0], pair[1]),
            "write them as [6, 9, 12]",
        );
    }
    for look in &looks {
        if *look > u64::from(blocks) {
            table.problem(
                "looks",
                format!("an interim analysis after {look} blocks comes after the last of {blocks}"),
                "leave it out, or plan more blocks",
            );
        } else if *look < u64::from(FEWEST_BLOCKS) {
            table.problem(
                "looks",
                format!(
                    "an interim analysis after {look} blocks can settle nothing: a verdict needs \
                     {FEWEST_BLOCKS}"
                ),
                "leave it out; `looks = []` is one analysis at the end",
            );
        }
    }
    looks.into_iter().map(|look| look.min(u64::from(blocks)) as u32).collect()
}

pub(super) fn positive(table: &Table<'_>, key: &'static str) -> Option<Duration> {
    let duration = table.duration(key)?;
    if duration.is_zero() {
        table.problem(key, format!("`{key}` is zero"), "write how long, such as 10s");
        return None;
    }
    Some(duration)
}
