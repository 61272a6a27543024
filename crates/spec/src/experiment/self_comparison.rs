//! Claims that compare a contender with itself at another time, not with the baseline.
//!
//! Two comparisons are possible: the last repetition of a cell with its first, and the steady
//! state after a warm-up with the first second of load.

use super::{Cell, Claim, Experiment};
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// Which state of the same contender a claim compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SelfComparison {
    /// The first repetition of a cell, compared with its last.
    FirstRepetition,
    /// The first second of load, compared with the steady state of the same warm-up.
    Cold,
}

impl SelfComparison {
    /// All comparisons, as files spell them.
    pub const WORDS: [(&'static str, SelfComparison); 2] =
        [("first_repetition", SelfComparison::FirstRepetition), ("cold", SelfComparison::Cold)];

    /// Describes what is compared with what.
    pub fn describe(self) -> &'static str {
        match self {
            SelfComparison::FirstRepetition => "its last repetition compared with its first",
            SelfComparison::Cold => "its steady state compared with its first second of load",
        }
    }
}

/// Returns whether a cell is the last of several repetitions.
pub fn is_last_repetition(cells: &[Cell], cell: &Cell) -> bool {
    cell.after.is_some() && cells.iter().all(|other| other.after.as_ref() != Some(&cell.name))
}

/// Returns the name of a cell's first repetition, or its own name if it has no earlier one.
pub fn first_repetition<'c>(cells: &'c [Cell], name: &'c str) -> &'c str {
    let before = |name: &str| -> Option<&'c str> {
        cells.iter().find(|cell| cell.name == name)?.after.as_deref()
    };
    let mut first = name;
    // Stops after as many rounds as there are cells, because a record may contain a circle.
    for _ in cells {
        let Some(earlier) = before(first) else { break };
        first = earlier;
    }
    first
}

/// Returns what is wrong with such a claim, and what to do about it.
pub(crate) fn contradiction(
    claim: &Claim,
    experiment: &Experiment,
) -> Option<(String, &'static str)> {
    let problem = |what: &str| format!("the claim \"{}\" {what}", claim.text);
    let mut cells = experiment.cells.iter().filter(|cell| claim.speaks_of(cell));
    match claim.compared_with? {
        _ if claim.expects.is_absolute() => Some((
            problem("expects a fixed value, so `compared_with` has no effect"),
            "leave out `compared_with`",
        )),
        SelfComparison::FirstRepetition
            if !cells.any(|cell| is_last_repetition(&experiment.cells, cell)) =>
        {
            Some((
                problem("needs a cell with `repetitions = 2` or more"),
                "write `repetitions = 2` in one of its cells",
            ))
        }
        SelfComparison::FirstRepetition => None,
        SelfComparison::Cold if claim.metric != Metric::CpuPerRequest => Some((
            problem(
                "compares a start with its first second by another metric than CPU per request",
            ),
            "write `metric = \"cpu_per_request\"`: the load grows while a contender warms up, and other metrics with it",
        )),
        SelfComparison::Cold if !claim.cells.is_empty() => {
            Some((problem("is about a warm-up, and names cells"), "leave out `cells`"))
        }
        SelfComparison::Cold if experiment.design.warmup.is_zero() => Some((
            problem("is about a warm-up, and there is none"),
            "write `warmup = \"30s\"` in [design]",
        )),
        SelfComparison::Cold => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(claim: &str, repetitions: &str, warmup: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let head = "name = \"x\"\nquestion = \"q\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n";
        let cells = format!(
            "[[cell]]\nname = \"c\"\nworkload = \"w\"\n{repetitions}\nload = {{ kind = \"closed\", connections = 1 }}\n"
        );
        let design = format!("[design]\nwarmup = \"{warmup}\"\n");
        let claim = format!(
            "[[claim]]\ntext = \"t\"\nmetric = \"cpu_per_request\"\nexpects = \"lower\"\n{claim}\n"
        );
        std::fs::write(&file, format!("{head}{cells}{design}{claim}")).unwrap();
        Experiment::read(&file).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_claim_may_compare_the_baseline_with_itself() {
        let cold = read("contender = \"a\"\ncompared_with = \"cold\"", "", "5s").unwrap();
        assert_eq!(cold.claims[0].compared_with, Some(SelfComparison::Cold));
        let text = serde_json::to_string(&cold).unwrap();
        assert!(
            text.contains("\"compared_with\":\"cold\"")
                && serde_json::from_str::<Experiment>(&text).unwrap() == cold
        );
        let repetitions = read(
            "contender = \"b\"\ncompared_with = \"first_repetition\"\ncells = [\"c\"]",
            "repetitions = 3",
            "5s",
        )
        .unwrap();
        let cells = &repetitions.cells;
        let last: Vec<&str> = cells
            .iter()
            .filter(|cell| is_last_repetition(cells, cell))
            .map(|cell| cell.name.as_str())
            .collect();
        assert_eq!(
            (
                last.as_slice(),
                first_repetition(cells, "c-repetition-3"),
                first_repetition(cells, "d")
            ),
            (["c-repetition-3"].as_slice(), "c-repetition-1", "d")
        );
    }

    #[test]
    fn an_impossible_self_comparison_is_reported() {
        for (claim, repetitions, warmup, problem) in [
            ("contender = \"a\"", "", "5s", "compares the baseline with itself"),
            (
                "contender = \"b\"\ncompared_with = \"cold\"",
                "",
                "0s",
                "is about a warm-up, and there is none",
            ),
            (
                "contender = \"b\"\ncompared_with = \"cold\"\ncells = [\"c\"]",
                "",
                "5s",
                "is about a warm-up, and names cells",
            ),
            (
                "contender = \"b\"\ncompared_with = \"first_repetition\"",
                "",
                "5s",
                "needs a cell with `repetitions = 2` or more",
            ),
            ("contender = \"b\"\ncompared_with = \"coldd\"", "", "5s", "did you mean `cold`?"),
        ] {
            let problems = read(claim, repetitions, warmup).unwrap_err();
            assert!(problems.contains(problem), "{problem}\n{problems}");
        }
    }
}
