//! What a million requests cost each contender, for a price of CPU and memory.
//!
//! Costs follow from CPU per request, memory and throughput; they decide nothing. The price is no
//! part of a record, because it is known better later. Start with [`Costs`].

use super::ratio_text::Phrase;
use serde::{Deserialize, Serialize};
use spec::metric::AMOUNT;
use spec::name::ContenderName;
use spec::price::Price;
use stats::Interval;

/// The costs of all contenders in all cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Costs {
    /// The price.
    pub price: Price,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// One line for each cell and contender, the baseline first.
    pub lines: Vec<RequestCost>,
}

/// What a million requests cost a contender in a cell: geometric means over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestCost {
    /// The cell.
    pub cell: String,
    /// The contender.
    pub contender: ContenderName,
    /// The cost; `None` if it is not known, or zero.
    pub total: Option<f64>,
    /// Its interval; `None` from fewer than two blocks.
    pub interval: Option<Interval>,
    /// The part that CPU time costs; `None` without a price of it.
    pub cpu: Option<f64>,
    /// The part that memory costs at the measured throughput; `None` without a price of it.
    pub memory: Option<f64>,
    /// Contender over baseline, over the blocks that both have; `None` for the baseline.
    pub ratio: Option<f64>,
    /// Its interval; `None` from fewer than two blocks.
    pub ratio_interval: Option<Interval>,
    /// The number of blocks.
    pub blocks: usize,
    /// Why the cost is not known; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl RequestCost {
    /// Returns how it compares with the baseline: `48 % more than gateway (45 % to 51 %)`. `None`
    /// for the baseline, and without a ratio.
    pub fn phrase(&self, baseline: &ContenderName) -> Option<String> {
        let Phrase { size, interval } = Phrase::of_ratio(self.ratio?, self.ratio_interval, AMOUNT);
        // `no difference from`, but `48 % more than`.
        let joint = if size.starts_with("no ") { "from" } else { "than" };
        Some(Phrase { size: format!("{size} {joint} {baseline}"), interval }.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_compared_with_the_baseline_in_words() {
        let shown = |ratio: f64, interval: Option<(f64, f64)>| {
            let cost = RequestCost {
                cell: "c".into(),
                contender: "b".parse().unwrap(),
                total: Some(1.0),
                interval: None,
                cpu: Some(1.0),
                memory: None,
                ratio: Some(ratio),
                ratio_interval: interval.map(|(low, high)| Interval { low, high }),
                blocks: 6,
                reason: String::new(),
            };
            cost.phrase(&"a".parse().unwrap()).unwrap()
        };
        assert_eq!(shown(1.48, Some((1.45, 1.51))), "48 % more than a (45 % to 51 %)");
        assert_eq!(shown(0.25, None), "4.0× less than a");
        assert_eq!(shown(1.0, Some((1.0, 1.0))), "no difference from a");
        assert_eq!(shown(1.0, Some((0.98, 1.02))), "no difference from a (2 % less to 2 % more)");
    }
}
