//! What a million requests cost each contender, from CPU time, memory and throughput.
//!
//! In each block, a request costs its CPU time, and the contender's memory for the time that a
//! request takes at the measured throughput. The interval over blocks is the t interval of the
//! logarithm, as for metrics. Values that faults invalidate are not used. Start with [`all_costs`].

use crate::readings::{Missing, values};
use record::Record;
use record::judgement::{Costs, RequestCost};
use spec::experiment::Cell;
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::price::Price;
use stats::{Interval, geometric_mean, mean, mean_interval, paired_ratio};
use std::collections::BTreeMap;

const REQUESTS: f64 = 1e6;
const SECONDS_PER_HOUR: f64 = 3600.0;
const GIB: f64 = (1u64 << 30) as f64;

/// Returns the costs of each contender in each cell that has requests.
pub(crate) fn all_costs(record: &Record, price: &Price) -> Costs {
    let experiment = &record.header.experiment;
    let confidence = experiment.design.confidence;
    let has_requests = |cell: &&Cell| Metric::CpuPerRequest.is_of(cell);
    let lines = experiment.cells.iter().filter(has_requests).flat_map(|cell| {
        let costs = |name: &ContenderName| costs_by_block(record, name, &cell.name, price);
        let of_baseline = costs(&experiment.baseline);
        record
            .header
            .contenders
            .iter()
            .map(move |participant| {
                let baseline =
                    (participant.name != experiment.baseline).then_some(&of_baseline.blocks);
                line(
                    (&cell.name, &participant.name),
                    costs(&participant.name),
                    baseline,
                    confidence,
                )
            })
            .collect::<Vec<_>>()
    });
    Costs { price: price.clone(), confidence, lines: lines.collect() }
}

/// The cost of a million requests in a block.
#[derive(Clone, Copy)]
struct InBlock {
    cpu: Option<f64>,
    memory: Option<f64>,
}

impl InBlock {
    fn total(&self) -> f64 {
        self.cpu.unwrap_or(0.0) + self.memory.unwrap_or(0.0)
    }
}

/// The costs of a contender in a cell, by block.
struct ByBlock {
    blocks: BTreeMap<u32, InBlock>,
    /// Whether a fault invalidated a value of a block that is missing.
    is_invalidated: bool,
}

fn costs_by_block(record: &Record, name: &ContenderName, cell: &str, price: &Price) -> ByBlock {
    let mut is_invalidated = false;
    let mut of_metric = |metric: Metric| -> BTreeMap<u32, f64> {
        let all = values(record, name, metric, Some(cell));
        is_invalidated |= all.iter().any(|(_, side)| matches!(side, Err(Missing::Invalidated)));
        all.into_iter().filter_map(|(block, side)| Some((block, side.ok()?.value))).collect()
    };
    let cpu_us = of_metric(Metric::CpuPerRequest);
    let (memory_mb, per_second) = match price.gib_hour {
        Some(_) => (of_metric(Metric::Memory), of_metric(Metric::Throughput)),
        None => Default::default(),
    };
    let in_block = |(block, cpu_us): (u32, f64)| {
        let cpu = price.cpu_hour.map(|price| REQUESTS * cpu_us / 1e6 / SECONDS_PER_HOUR * price);
        let memory = match price.gib_hour {
            Some(price) => {
                let gib = memory_mb.get(&block)? * 1e6 / GIB;
                let per_second = per_second.get(&block).filter(|rate| **rate > 0.0)?;
                Some(REQUESTS / per_second / SECONDS_PER_HOUR * gib * price)
            }
            None => None,
        };
        Some((block, InBlock { cpu, memory }))
    };
    let blocks = cpu_us.into_iter().filter_map(in_block).collect();
    ByBlock { blocks, is_invalidated }
}

/// Returns the line of a contender. `baseline` has the costs of the baseline; `None` for itself.
fn line(
    (cell, contender): (&str, &ContenderName),
    ByBlock { blocks, is_invalidated }: ByBlock,
    baseline: Option<&BTreeMap<u32, InBlock>>,
    confidence: f64,
) -> RequestCost {
    let totals: Vec<f64> = blocks.values().map(InBlock::total).collect();
    let logs: Vec<f64> = totals.iter().map(|total| total.ln()).collect();
    let part = |pick: fn(&InBlock) -> Option<f64>| {
        let parts: Option<Vec<f64>> = blocks.values().map(pick).collect();
        parts.and_then(|parts| geometric_mean(&parts).or_else(|| mean(&parts)))
    };
    let pairs: Vec<(f64, f64)> = baseline.map_or_else(Vec::new, |baseline| {
        let both =
            |(block, cost): (&u32, &InBlock)| Some((cost.total(), baseline.get(block)?.total()));
        blocks.iter().filter_map(both).collect()
    });
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).filter(|r| r.is_finite()).collect();
    let total = geometric_mean(&totals);
    let reason = match total {
        Some(_) => "",
        None if is_invalidated => "faults invalidated CPU per request, memory or throughput",
        None if !blocks.is_empty() => "the price is zero, or no CPU time was used",
        None => "CPU per request is not known",
    };
    RequestCost {
        cell: cell.to_owned(),
        contender: contender.clone(),
        total,
        interval: mean_interval(&logs, confidence)
            .map(|(_, i)| Interval { low: i.low.exp(), high: i.high.exp() })
            .filter(|i| total.is_some() && i.low.is_finite() && i.high.is_finite()),
        cpu: part(|cost| cost.cpu),
        memory: part(|cost| cost.memory),
        ratio: geometric_mean(&ratios).filter(|_| ratios.len() == pairs.len()),
        ratio_interval: paired_ratio(&pairs, confidence).map(|found| found.interval),
        blocks: blocks.len(),
        reason: reason.to_owned(),
    }
}
