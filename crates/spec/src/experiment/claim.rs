//! Claims: what an experiment expects, as something that a run can confirm or refute.
//!
//! A claim names a contender, a metric and a direction or value. Start with [`Claim`] and
//! [`Expectation`]; the crate `judge` decides what each claim comes to.

use super::cells::named_cells;
use super::self_comparison::{SelfComparison, is_last_repetition};
use super::{Cell, parse_contender};
use crate::metric::Metric;
use crate::name::{ContenderName, did_you_mean};
use crate::reader::Table;
use crate::units::show_number;
use serde::{Deserialize, Serialize};

/// A sentence that can be confirmed or refuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The sentence that the report shows.
    pub text: String,
    /// The contender that it is about, compared with the baseline.
    pub contender: ContenderName,
    /// The metric that is compared.
    pub metric: Metric,
    /// What a run must show to confirm it.
    pub expects: Expectation,
    /// The margin, if it is not that of the design.
    pub margin: Option<f64>,
    /// For [`Expectation::AtMost`] the largest value, in the metric's unit; for
    /// [`Expectation::Times`] the factor of the baseline. Other expectations have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The cells it is about; all if empty.
    pub cells: Vec<String>,
    /// The claim is about machines on which a contender has at least this number of CPUs. It stays
    /// undecided on smaller ones.
    #[serde(default)]
    pub contender_cpus: Option<u32>,
    /// Which state of the same contender it is compared with, if not with the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<SelfComparison>,
}

impl Claim {
    /// Returns whether the claim is about a cell.
    pub(crate) fn speaks_of(&self, cell: &Cell) -> bool {
        self.cells.is_empty() || self.cells.contains(&cell.name)
    }

    /// Returns the cells in which it is judged; `None` if it is about whole starts or their
    /// warm-up.
    pub fn judged_in<'c>(&self, cells: &'c [Cell]) -> Option<Vec<&'c Cell>> {
        if self.metric.is_of_trial() || self.compared_with == Some(SelfComparison::Cold) {
            return None;
        }
        let is_compared =
            |cell: &Cell| self.compared_with.is_none() || is_last_repetition(cells, cell);
        Some(
            cells
                .iter()
                .filter(|cell| self.speaks_of(cell) && self.metric.is_of(cell) && is_compared(cell))
                .collect(),
        )
    }
}

/// What a claim expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// Below the baseline by more than the margin.
    Lower,
    /// Above the baseline by more than the margin.
    Higher,
    /// Within the margin of the baseline.
    Same,
    /// Within the margin of the claim's value times the baseline.
    Times,
    /// Not worse than the baseline by more than the margin. It may be better, or the result may lie
    /// between both.
    NotWorse,
    /// Zero in every trial.
    Zero,
    /// Above zero in every trial.
    AboveZero,
    /// At most the claim's value in every trial.
    AtMost,
}

impl Expectation {
    /// All expectations, as files spell them.
    pub const WORDS: [(&'static str, Expectation); 8] = [
        ("lower", Expectation::Lower),
        ("higher", Expectation::Higher),
        ("same", Expectation::Same),
        ("times", Expectation::Times),
        ("not_worse", Expectation::NotWorse),
        ("zero", Expectation::Zero),
        ("above_zero", Expectation::AboveZero),
        ("at_most", Expectation::AtMost),
    ];

    /// Returns whether it is about what each trial shows, without a comparison.
    pub fn is_absolute(self) -> bool {
        matches!(self, Expectation::Zero | Expectation::AboveZero | Expectation::AtMost)
    }
}

impl Claim {
    /// Describes the expectation: `lower`, `above zero`, `0.5 times the baseline`,
    /// `at most 360 ms`.
    pub fn expected(&self) -> String {
        match self.value {
            Some(value) if self.expects == Expectation::Times => {
                format!("{value} times the baseline")
            }
            Some(value) => {
                format!("at most {} {}", show_number(value), self.metric.describe().unit)
                    .trim_end()
                    .to_owned()
            }
            None => {
                let word = Expectation::WORDS
                    .iter()
                    .find(|(_, expects)| *expects == self.expects)
                    .map_or("", |(word, _)| *word);
                word.replace('_', " ")
            }
        }
    }
}

/// The largest margin of a claim: a factor of a thousand.
const CLAIM_MARGIN_MAX: f64 = 1000.0;

pub(super) fn parse_claim(table: &Table<'_>, cells: &[Cell]) -> Claim {
    let metric = table.required_string("metric");
    let expects = parse_expectation(table);
    Claim {
        text: table.required_string("text"),
        contender: if table.has("contender") {
            parse_contender(table, "contender")
        } else {
            table.required_string("contender").parse().ok()
        }
        .unwrap_or(ContenderName { system: "unknown".into(), variants: Vec::new() }),
        metric: Metric::named(&metric).unwrap_or_else(|| {
            if table.has("metric") {
                table.problem(
                    "metric",
                    format!("unknown metric `{metric}`"),
                    did_you_mean(&metric, Metric::ALL.map(|m| m.describe().name)),
                );
            }
            Metric::Throughput
        }),
        expects,
        margin: table.number("margin", 0.0, CLAIM_MARGIN_MAX),
        value: table.number("value", 0.0, 1e12),
        cells: named_cells(table, cells),
        contender_cpus: table.integer("contender_cpus", 1, 4096).map(|n| n as u32),
        compared_with: table.choice("compared_with", &SelfComparison::WORDS),
    }
}

/// Reads the expectation, and checks that the value it needs is present.
fn parse_expectation(table: &Table<'_>) -> Expectation {
    let word = table.required_string("expects");
    let known = Expectation::WORDS.iter().find(|(known, _)| *known == word);
    if known.is_none() && table.has("expects") {
        table.problem(
            "expects",
            format!("unknown expectation `{word}`"),
            did_you_mean(&word, Expectation::WORDS.iter().map(|(known, _)| *known)),
        );
    }
    let expects = known.map_or(Expectation::Same, |(_, expects)| *expects);
    let is_of_value = matches!(expects, Expectation::AtMost | Expectation::Times);
    if expects == Expectation::AtMost && !table.has("value") {
        table.problem(
            "expects",
            "a claim that expects `at_most` does not say how much",
            "write `value = 360`, in the metric's unit",
        );
    }
    if expects == Expectation::Times
        && table.number("value", 1e-6, 1e6).is_none()
        && !table.has("value")
    {
        table.problem(
            "expects",
            "a claim that expects `times` does not say how many",
            "write `value = 0.5` for half of the baseline",
        );
    }
    if expects == Expectation::AtMost && table.has("margin") {
        table.problem(
            "margin",
            "a claim that expects `at_most` compares nothing, so it has no margin",
            "put what is allowed into `value`",
        );
    }
    if !is_of_value && known.is_some() && table.has("value") {
        let hint = "leave it out, or write `expects = \"at_most\"` or `expects = \"times\"`";
        table.problem("value", format!("a claim that expects `{word}` has no value"), hint);
    }
    expects
}
