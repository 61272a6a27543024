//! What a million requests cost, as the report shows it.

use record::judgement as judged;
use record::judgement::Judgement;
use serde::Serialize;
use spec::units::show_decimal;

/// What a million requests cost each contender, for a price.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Costs {
    /// `0.034 USD per CPU-hour and 0.004 USD per GiB-hour`
    price: String,
    /// The currency; empty if it was not given.
    currency: String,
    /// The confidence of the intervals.
    confidence: f64,
    lines: Vec<CostLine>,
}

/// What a million requests cost a contender in a cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CostLine {
    cell: String,
    contender: String,
    /// Null if the cost is not known.
    total: Option<f64>,
    /// Its interval over blocks; null from fewer than two.
    low: Option<f64>,
    high: Option<f64>,
    /// The parts of it; null without a price of them.
    cpu: Option<f64>,
    memory: Option<f64>,
    /// Contender over baseline, with its interval; null for the baseline.
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    blocks: usize,
    /// The cost with its interval, or why it is not known.
    text: String,
    /// `48 % more than gateway (45 % to 51 %)`; null for the baseline.
    compared: Option<String>,
}

/// The costs, if the command was given a price.
pub(super) fn costs(judgement: &Judgement) -> Option<Costs> {
    let costs = judgement.costs.as_ref()?;
    let line = |cost: &judged::RequestCost| CostLine {
        cell: cost.cell.clone(),
        contender: cost.contender.to_string(),
        total: cost.total,
        low: cost.interval.map(|i| i.low),
        high: cost.interval.map(|i| i.high),
        cpu: cost.cpu,
        memory: cost.memory,
        ratio: cost.ratio,
        ratio_low: cost.ratio_interval.map(|i| i.low),
        ratio_high: cost.ratio_interval.map(|i| i.high),
        blocks: cost.blocks,
        text: text(cost),
        compared: cost.phrase(&judgement.baseline),
    };
    Some(Costs {
        price: costs.price.describe(),
        currency: costs.price.currency.clone(),
        confidence: costs.confidence,
        lines: costs.lines.iter().map(line).collect(),
    })
}

/// Shows a cost with its interval, or why it is not known.
fn text(cost: &judged::RequestCost) -> String {
    match (cost.total, cost.interval) {
        (None, _) => format!("not known: {}", cost.reason),
        (Some(total), None) => show_decimal(total),
        (Some(total), Some(interval)) => {
            let (low, high) = (show_decimal(interval.low), show_decimal(interval.high));
            format!("{} ({low} to {high})", show_decimal(total))
        }
    }
}
