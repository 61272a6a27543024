//! Claims of one contender alone: what it is compared with is not the baseline, but itself at another time.

use crate::experiment::{Cell, Claim, Experiment};
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// What of the same contender a claim compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Its first turn in a cell, which its last stands against.
    FirstTurn,
    /// Its first second of load, which the steady state of its warm-up stands against.
    Cold,
}

impl Beside {
    /// All of them, as files spell them.
    pub const WORDS: [(&'static str, Beside); 2] = [("first_turn", Beside::FirstTurn), ("cold", Beside::Cold)];

    /// What stands against what, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Beside::FirstTurn => "its last turn against its first",
            Beside::Cold => "its steady state against its first second of load",
        }
    }
}

/// Whether a cell is the last turn of several.
pub fn is_last_turn(cells: &[Cell], cell: &Cell) -> bool {
    cell.after.is_some() && cells.iter().all(|other| other.after.as_ref() != Some(&cell.name))
}

/// The name of the first turn of a cell; its own where there is none before it.
pub fn first_turn<'c>(cells: &'c [Cell], name: &'c str) -> &'c str {
    let before = |name: &str| -> Option<&'c str> { cells.iter().find(|cell| cell.name == name)?.after.as_deref() };
    let mut first = name;
    // No more often than there are cells: a record may say anything.
    for _ in cells {
        let Some(earlier) = before(first) else { break };
        first = earlier;
    }
    first
}

/// What is wrong with such a claim, and what to do about it.
pub(crate) fn contradiction(claim: &Claim, experiment: &Experiment) -> Option<(String, &'static str)> {
    let said = |what: &str| format!("the claim \"{}\" {what}", claim.text);
    let mut cells = experiment.cells.iter().filter(|cell| claim.speaks_of(cell));
    match claim.beside? {
        _ if claim.expects.is_absolute() => Some((said("compares nobody, so nobody stands beside it"), "leave out `beside`")),
        Beside::FirstTurn if !cells.any(|cell| is_last_turn(&experiment.cells, cell)) => {
            Some((said("speaks of turns where there are none"), "write `turns = 2` in a cell that it speaks of"))
        }
        Beside::FirstTurn => None,
        Beside::Cold if claim.metric != Metric::CpuPerRequest => Some((
            said("speaks of a start's first second by something else than CPU per request"),
            "write `metric = \"cpu_per_request\"`: the load grows while a contender warms up, and other metrics with it",
        )),
        Beside::Cold if !claim.cells.is_empty() => Some((said("speaks of a warm-up and of cells"), "leave out `cells`")),
        Beside::Cold if experiment.design.warmup.is_zero() => {
            Some((said("speaks of a warm-up, and there is none"), "write `warmup = \"30s\"` in [design]"))
        }
        Beside::Cold => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(claim: &str, turns: &str, warmup: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let head = "name = \"x\"\nquestion = \"q\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n";
        let cells = format!("[[cell]]\nname = \"c\"\nworkload = \"w\"\n{turns}\nload = {{ kind = \"closed\", connections = 1 }}\n");
        let design = format!("[design]\nwarmup = \"{warmup}\"\n");
        let claim = format!("[[claim]]\ntext = \"t\"\nmetric = \"cpu_per_request\"\nexpects = \"lower\"\n{claim}\n");
        std::fs::write(&file, format!("{head}{cells}{design}{claim}")).unwrap();
        Experiment::read(&file).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_claim_may_be_of_a_contender_alone_also_of_the_baseline() {
        let cold = read("contender = \"a\"\nbeside = \"cold\"", "", "5s").unwrap();
        assert_eq!(cold.claims[0].beside, Some(Beside::Cold));
        let text = serde_json::to_string(&cold).unwrap();
        assert!(text.contains("\"beside\":\"cold\"") && serde_json::from_str::<Experiment>(&text).unwrap() == cold);
        let turns = read("contender = \"b\"\nbeside = \"first_turn\"\ncells = [\"c\"]", "turns = 3", "5s").unwrap();
        let cells = &turns.cells;
        let last: Vec<&str> = cells.iter().filter(|cell| is_last_turn(cells, cell)).map(|cell| cell.name.as_str()).collect();
        assert_eq!((last.as_slice(), first_turn(cells, "c-turn-3"), first_turn(cells, "d")), (["c-turn-3"].as_slice(), "c-turn-1", "d"));
    }

    #[test]
    fn what_cannot_stand_beside_a_contender_is_said() {
        for (claim, turns, warmup, said) in [
            ("contender = \"a\"", "", "5s", "compares the baseline with itself"),
            ("contender = \"b\"\nbeside = \"cold\"", "", "0s", "speaks of a warm-up, and there is none"),
            ("contender = \"b\"\nbeside = \"cold\"\ncells = [\"c\"]", "", "5s", "speaks of a warm-up and of cells"),
            ("contender = \"b\"\nbeside = \"first_turn\"", "", "5s", "speaks of turns where there are none"),
            ("contender = \"b\"\nbeside = \"coldd\"", "", "5s", "did you mean `cold`?"),
        ] {
            let problems = read(claim, turns, warmup).unwrap_err();
            assert!(problems.contains(said), "{said}\n{problems}");
        }
    }
}
