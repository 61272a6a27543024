//! What an experiment expects to see.

use super::{Cell, contender, named_cells};
use crate::beside::{Beside, is_last_turn};
use crate::metric::Metric;
use crate::name::{ContenderName, did_you_mean};
use crate::reader::Table;
use crate::units::show_number;
use serde::{Deserialize, Serialize};

/// A sentence that can be confirmed or refuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// Whom it is about, compared with the baseline.
    pub contender: ContenderName,
    /// What is compared.
    pub metric: Metric,
    /// What must be seen.
    pub expects: Expectation,
    /// The margin, where it is not the design's.
    pub margin: Option<f64>,
    /// The most that may be seen, in the metric's unit; of [`Expectation::Times`] how many times the baseline. Of these two alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The cells it speaks of; all when empty.
    pub cells: Vec<String>,
    /// It speaks of machines on which a contender has so many CPUs, and stays open on smaller ones.
    #[serde(default)]
    pub contender_cpus: Option<u32>,
    /// What of the same contender it compares with, where that is not the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

impl Claim {
    /// Whether it speaks of a cell.
    pub(crate) fn speaks_of(&self, cell: &Cell) -> bool {
        self.cells.is_empty() || self.cells.contains(&cell.name)
    }

    /// The cells that it is judged in; `None` where it is of whole starts, or of their warm-up.
    pub fn judged_in<'c>(&self, cells: &'c [Cell]) -> Option<Vec<&'c Cell>> {
        if self.metric.describe().of_trial || self.beside == Some(Beside::Cold) {
            return None;
        }
        let is_beside = |cell: &Cell| self.beside.is_none() || is_last_turn(cells, cell);
        Some(cells.iter().filter(|cell| self.speaks_of(cell) && self.metric.is_of(cell) && is_beside(cell)).collect())
    }
}

/// What a claim says will be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Not worse than the baseline by more than the margin: better, within the margin, or one of the two.
    NotWorse,
    /// Zero in every trial.
    Zero,
    /// Above zero in every trial.
    AboveZero,
    /// At most the claim's value in every trial.
    AtMost,
}

impl Expectation {
    /// All of them, as files spell them.
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

    /// Whether it speaks of what is seen in each trial, and compares nobody.
    pub fn is_absolute(self) -> bool {
        matches!(self, Expectation::Zero | Expectation::AboveZero | Expectation::AtMost)
    }
}

impl Claim {
    /// What must be seen, for people: `lower`, `above zero`, `0.5 times the baseline`, `at most 360 ms`.
    pub fn expected(&self) -> String {
        match self.value {
            Some(value) if self.expects == Expectation::Times => format!("{value} times the baseline"),
            Some(value) => format!("at most {} {}", show_number(value), self.metric.describe().unit).trim_end().to_owned(),
            None => {
                let word = Expectation::WORDS.iter().find(|(_, expects)| *expects == self.expects).map_or("", |(word, _)| *word);
                word.replace('_', " ")
            }
        }
    }
}

/// The greatest margin of a claim: a thousand times as much.
const CLAIM_MARGIN_MAX: f64 = 1000.0;

pub(super) fn walk_claim(table: &Table<'_>, cells: &[Cell]) -> Claim {
    let metric = table.required_string("metric");
    let expects = walk_expectation(table);
    Claim {
        text: table.required_string("text"),
        contender: if table.has("contender") { contender(table, "contender") } else { table.required_string("contender").parse().ok() }
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
        beside: table.choice("beside", &Beside::WORDS),
    }
}

/// What is expected, and whether the value stands there that it needs.
fn walk_expectation(table: &Table<'_>) -> Expectation {
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
        table.problem("expects", "a claim that expects `at_most` does not say how much", "write `value = 360`, in the metric's unit");
    }
    if expects == Expectation::Times && table.number("value", 1e-6, 1e6).is_none() && !table.has("value") {
        table.problem("expects", "a claim that expects `times` does not say how many", "write `value = 0.5` for half of the baseline");
    }
    if expects == Expectation::AtMost && table.has("margin") {
        table.problem("margin", "a claim that expects `at_most` compares nobody, so it has no margin", "put what is allowed into `value`");
    }
    if !is_of_value && known.is_some() && table.has("value") {
        let hint = "leave it out, or write `expects = \"at_most\"` or `expects = \"times\"`";
        table.problem("value", format!("a claim that expects `{word}` has no value"), hint);
    }
    expects
}
