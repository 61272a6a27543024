//! Where CPU time went, as the report shows it: categories side by side, what explains a
//! difference, and the stacks for flame graphs.
//!
//! Numbers come from the judgement. Stacks come from the record, because there are many: [`flame`]
//! adds up equal ones and leaves out those that are too thin to be seen. Start with [`causes`].

use crate::number::round;
use crate::stacks::{Merged, merge_profiles};
use record::judgement as judged;
use record::judgement::{Cost, Judgement};
use record::{FrameKind, Record};
use serde::Serialize;
use std::collections::HashMap;

/// Functions of a flame graph below this share of a contender's CPU time are left out.
const SHARE_MIN: f64 = 0.001;
/// The most functions of a flame graph.
const NODES_MAX: usize = 3_000;
/// The most functions that explain a difference.
const LINES_MAX: usize = 30;
/// The most system calls: those that take the most time.
const CALLS_MAX: usize = 12;

/// Where the CPU time of one cell went.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Causes {
    cell: String,
    /// The baseline first.
    contenders: Vec<CausesContender>,
    /// Those in which any contender spends time.
    categories: Vec<CausesCategory>,
    differences: Vec<CausesDifference>,
    waits: Vec<CausesWait>,
    flame: Flame,
}

/// A contender that was profiled.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CausesContender {
    name: String,
    blocks: u32,
    samples: u64,
    total: CausesCost,
    notes: Vec<String>,
}

/// Microseconds of CPU time per request, with the interval at 95 %.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CausesCost {
    us: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// A category.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CausesCategory {
    name: String,
    /// One for each contender, in their order.
    costs: Vec<CausesCost>,
}

/// A contender compared with the baseline.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CausesDifference {
    contender: String,
    baseline: String,
    sentence: String,
    /// Whether functions were compared: contenders in one language.
    functions_compared: bool,
    /// Categories and functions that differ beyond chance, the largest difference first. Then waits
    /// that do, if responses take longer or shorter by more than CPU time explains.
    lines: Vec<CausesLine>,
}

/// A category, function or wait that differs beyond chance.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CausesLine {
    name: String,
    /// The category of a function; empty otherwise.
    category: String,
    us: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// The corrected probability.
    q: Option<f64>,
}

/// Something that processes did besides using a CPU, per request.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CausesWait {
    name: String,
    /// One for each contender; null if it could not be read.
    values: Vec<Option<f64>>,
}

/// The stacks of all contenders as one tree.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Flame {
    frames: Vec<FlameFrame>,
    /// For each node its parent, which comes before it. The first node is the whole, and its own
    /// parent.
    parents: Vec<u32>,
    /// For each node its frame.
    of: Vec<u32>,
    /// For each contender, microseconds per request of each node with everything it calls.
    us: Vec<Vec<f64>>,
}

/// A function or thread.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct FlameFrame {
    name: String,
    module: String,
    kernel: bool,
}

/// The causes of every cell that was profiled.
pub(super) fn causes(record: &Record, judgement: &Judgement) -> Vec<Causes> {
    judgement.causes.iter().map(|of| causes_of_cell(record, of)).collect()
}

fn causes_of_cell(record: &Record, of: &judged::Causes) -> Causes {
    let names = of.contenders.first().map(|first| first.categories.as_slice()).unwrap_or_default();
    let category = |(at, named): (usize, &judged::NamedCost)| CausesCategory {
        name: named.name.clone(),
        costs: of
            .contenders
            .iter()
            .filter_map(|c| Some(cost(&c.categories.get(at)?.cost)))
            .collect(),
    };
    let categories = names.iter().enumerate().map(category);
    let merged = merge_profiles(record.profiles.iter().filter(|p| p.cell == of.cell));
    // In the order of the judgement; a contender without stacks has an empty column.
    let stacks: Vec<Option<&Merged<'_>>> = of
        .contenders
        .iter()
        .map(|contender| merged.iter().find(|m| *m.contender == contender.contender))
        .collect();
    Causes {
        cell: of.cell.clone(),
        contenders: of.contenders.iter().map(contender).collect(),
        categories: categories.filter(|c| c.costs.iter().any(|cost| cost.us > 0.0)).collect(),
        differences: of.differences.iter().map(difference).collect(),
        waits: waits(of),
        flame: flame(&stacks),
    }
}

fn cost(of: &Cost) -> CausesCost {
    CausesCost {
        us: round(of.us),
        // A cost is not below zero, although the interval of a small one may be.
        low: of.interval.map(|interval| round(interval.low.max(0.0))),
        high: of.interval.map(|interval| round(interval.high)),
    }
}

fn contender(of: &judged::CpuCauses) -> CausesContender {
    let mut notes = of.notes.clone();
    if of.lost > 0 {
        notes.push(format!("the kernel dropped {} samples", of.lost));
    }
    CausesContender {
        name: of.contender.to_string(),
        blocks: of.blocks,
        samples: of.samples,
        total: cost(&of.total),
        notes,
    }
}

fn difference(of: &judged::CpuDifference) -> CausesDifference {
    let line = |name: String, line: &judged::CauseLine| CausesLine {
        name,
        category: line.category.clone(),
        us: round(line.us),
        low: line.interval.map(|interval| round(interval.low)),
        high: line.interval.map(|interval| round(interval.high)),
        q: line.q.map(round),
    };
    let holding = of.categories.iter().chain(&of.functions).filter(|line| line.holds);
    let cpu = holding.take(LINES_MAX).map(|cause| line(cause.name.clone(), cause));
    let beyond_cpu = of.waits.iter().filter(|waits| waits.beyond_cpu);
    let waits = beyond_cpu.flat_map(|waits| &waits.lines).filter(|wait| wait.holds);
    let waits = waits.map(|wait| line(format!("waiting {}", wait.name), wait));
    CausesDifference {
        contender: of.contender.to_string(),
        baseline: of.baseline.to_string(),
        sentence: of.sentence.clone(),
        functions_compared: of.functions_compared,
        lines: cpu.chain(waits).collect(),
    }
}

fn waits(of: &judged::Causes) -> Vec<CausesWait> {
    let row = |name: &str, value: &dyn Fn(&judged::WaitsPerRequest) -> Option<f64>| CausesWait {
        name: name.to_owned(),
        values: of.contenders.iter().map(|c| value(&c.waits).map(round)).collect(),
    };
    let mut rows = vec![
        row("Ready and waiting for a CPU, µs", &|waits| waits.run_queue_us),
        row("Context switches of waiting threads", &|waits| Some(waits.voluntary_switches)),
        row("Context switches of running threads", &|waits| Some(waits.involuntary_switches)),
        row("Page faults without the disk", &|waits| Some(waits.minor_faults)),
        row("Page faults with the disk", &|waits| Some(waits.major_faults)),
    ];
    let paused = |waits: &judged::WaitsPerRequest| waits.pauses;
    if of.contenders.iter().any(|c| c.waits.pauses.is_some()) {
        rows.extend([
            row("Paused by the garbage collector, % of the time", &|waits| {
                paused(waits).map(|pauses| 100.0 * pauses.share)
            }),
            row("Pauses of the garbage collector in a block", &|waits| {
                paused(waits).map(|pauses| pauses.count)
            }),
            row("Longest of these pauses, µs", &|waits| {
                paused(waits).map(|pauses| pauses.longest_us)
            }),
        ]);
    }
    for name in judged::slowest_calls(of.contenders.iter()).into_iter().take(CALLS_MAX) {
        let call = |waits: &judged::WaitsPerRequest| waits.call(name).cloned();
        rows.push(row(&format!("Calls of {name}"), &|waits| call(waits).map(|call| call.calls)));
        rows.push(row(&format!("Time in {name}, µs"), &|waits| call(waits)?.spent_us));
    }
    rows
}

/// A node of the tree while it grows.
struct Node {
    parent: usize,
    frame: usize,
    us: Vec<f64>,
}

/// Adds up the stacks of contenders in one tree. The first level are the threads.
fn flame(contenders: &[Option<&Merged<'_>>]) -> Flame {
    let mut frames = Frames::default();
    let whole =
        frames.index(FlameFrame { name: "all".into(), module: String::new(), kernel: false });
    let node = |parent, frame| Node { parent, frame, us: vec![0.0; contenders.len()] };
    let mut nodes = vec![node(0, whole)];
    let mut children: HashMap<(usize, usize), usize> = HashMap::new();
    for (column, merged) in contenders.iter().enumerate() {
        let Some(merged) = merged.filter(|merged| merged.correct > 0) else { continue };
        let of_frames: Vec<usize> = merged
            .frames
            .iter()
            .map(|frame| {
                frames.index(FlameFrame {
                    name: frame.name.clone(),
                    module: frame.module.clone(),
                    kernel: frame.kind == FrameKind::Kernel,
                })
            })
            .collect();
        for stack in &merged.stacks {
            let us = stack.ns as f64 / 1e3 / merged.correct as f64;
            let thread = frames.index(FlameFrame {
                name: stack.thread.clone(),
                module: "thread".into(),
                kernel: false,
            });
            let path = stack.frames.iter().map(|at| of_frames[*at as usize]);
            let mut at = 0;
            nodes[at].us[column] += us;
            for frame in std::iter::once(thread).chain(path) {
                at = *children.entry((at, frame)).or_insert_with(|| {
                    nodes.push(node(at, frame));
                    nodes.len() - 1
                });
                nodes[at].us[column] += us;
            }
        }
    }
    pruned(&nodes, frames.list, contenders.len())
}

/// Keeps the nodes that are wide enough to be seen. A node is never wider than its parent, so what
/// is kept is a tree.
fn pruned(nodes: &[Node], frames: Vec<FlameFrame>, columns: usize) -> Flame {
    let wholes = &nodes[0].us;
    let share = |node: &Node| {
        let shares = node.us.iter().zip(wholes).filter(|(_, whole)| **whole > 0.0);
        shares.map(|(us, whole)| us / whole).fold(0.0, f64::max)
    };
    let mut widest: Vec<(usize, f64)> = nodes.iter().map(share).enumerate().collect();
    widest.retain(|(at, share)| *at == 0 || *share >= SHARE_MIN);
    widest.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    widest.truncate(NODES_MAX);
    let mut kept: Vec<usize> = widest.into_iter().map(|(at, _)| at).collect();
    kept.sort_unstable();
    let mut used = Frames::default();
    let places: HashMap<usize, u32> = kept.iter().copied().zip(0..).collect();
    let of = kept.iter().map(|at| used.index(frames[nodes[*at].frame].clone()) as u32).collect();
    Flame {
        parents: kept.iter().map(|at| places[&nodes[*at].parent]).collect(),
        of,
        us: (0..columns)
            .map(|column| kept.iter().map(|at| round(nodes[*at].us[column])).collect())
            .collect(),
        frames: used.list,
    }
}

/// Frames, each once.
#[derive(Default)]
struct Frames {
    list: Vec<FlameFrame>,
    places: HashMap<FlameFrame, usize>,
}

impl Frames {
    fn index(&mut self, frame: FlameFrame) -> usize {
        *self.places.entry(frame).or_insert_with_key(|frame| {
            self.list.push(frame.clone());
            self.list.len() - 1
        })
    }
}
