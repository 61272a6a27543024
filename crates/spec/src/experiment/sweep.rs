//! Sweeps: a cell with several levels becomes one cell for each, and these become curves.
//!
//! `expand` makes the cells of all combinations. [`slices`] groups them again for curves: the
//! cells of a slice differ in one parameter alone.

use super::Cell;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most cells that one written cell may become.
pub(crate) const MOST_CELLS: usize = 500;

/// The swept parameter of a cell that is measured several times in a row, each time on the data of
/// the previous one.
pub const REPETITION: &str = "repetition";

/// The position of a cell in a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Swept {
    /// The name of the cell as it is written, which all cells of the sweep share.
    pub of: String,
    /// The cell's level of each swept parameter. Those of the load come first.
    pub levels: Vec<Level>,
}

/// A level of a swept parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// `connections`, `rate`, or a parameter of the workload.
    pub parameter: String,
    /// Its value, above zero.
    pub value: f64,
}

/// Shows a level for people: `6 connections`, `300/s`, `size 128`.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Level { parameter, value } = self;
        match parameter.as_str() {
            "connections" | "users" if *value == 1.0 => {
                write!(f, "1 {}", parameter.trim_end_matches('s'))
            }
            "connections" | "users" => write!(f, "{value} {parameter}"),
            "rate" => write!(f, "{value}/s"),
            _ => write!(f, "{parameter} {value}"),
        }
    }
}

/// The levels of one parameter.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub parameter: String,
    pub levels: Vec<f64>,
    /// Whether the parameter belongs to the load; otherwise to the workload.
    pub of_load: bool,
}

/// Makes a cell for every combination of levels. The last parameter changes first. Without an axis
/// the cell stays as it is.
pub(crate) fn expand(written: Cell, axes: &[Axis]) -> Vec<Cell> {
    axes.iter().fold(vec![written], |cells, axis| {
        cells
            .iter()
            .flat_map(|cell| axis.levels.iter().map(move |level| at_level(cell, axis, *level)))
            .collect()
    })
}

fn at_level(cell: &Cell, axis: &Axis, value: f64) -> Cell {
    let parameter = &axis.parameter;
    let mut at = cell.clone();
    if axis.of_load {
        at.load.set(parameter, value);
    } else {
        at.with.insert(parameter.clone(), value.to_string());
    }
    at.name = format!("{}-{parameter}-{value}", cell.name);
    if parameter == REPETITION && value > 1.0 {
        at.after = Some(format!("{}-{parameter}-{}", cell.name, value - 1.0));
    }
    let swept = at.sweep.get_or_insert_with(|| Swept { of: cell.name.clone(), levels: Vec::new() });
    swept.levels.push(Level { parameter: parameter.clone(), value });
    at
}

/// Cells of a sweep that differ in one parameter alone. A curve shows one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<'c> {
    /// The name that the cells share.
    pub of: &'c str,
    /// The parameter that differs.
    pub parameter: &'c str,
    /// Levels of the other swept parameters.
    pub held: Vec<&'c Level>,
    /// Two or more cells with their levels, rising.
    pub cells: Vec<(f64, &'c Cell)>,
}

impl Slice<'_> {
    /// Returns what its cells have in common: `uppercase, size 128`.
    pub fn title(&self) -> String {
        self.held.iter().fold(self.of.to_owned(), |title, level| format!("{title}, {level}"))
    }

    /// Returns whether the first of the swept parameters differs in it. Each cell belongs to at
    /// most one such slice.
    pub fn is_along_first(&self) -> bool {
        let first = self.cells.first().and_then(|(_, cell)| cell.sweep.as_ref()?.levels.first());
        first.is_some_and(|level| level.parameter == self.parameter)
    }
}

/// Returns the slices of all sweeps: by sweep, then by parameter, in the order of the file.
pub fn slices(cells: &[Cell]) -> Vec<Slice<'_>> {
    let swept = || cells.iter().filter_map(|cell| Some((cell, cell.sweep.as_ref()?)));
    let mut sweeps: Vec<&Swept> = Vec::new();
    for (_, sweep) in swept() {
        if !sweeps.iter().any(|known| known.of == sweep.of) {
            sweeps.push(sweep);
        }
    }
    let mut slices: Vec<Slice<'_>> = Vec::new();
    for Swept { of, levels } in sweeps {
        for axis in 0..levels.len() {
            for (cell, sweep) in swept().filter(|(_, sweep)| sweep.of == *of) {
                let Some(level) = sweep.levels.get(axis) else { continue };
                let held: Vec<&Level> = sweep
                    .levels
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != axis)
                    .map(|(_, level)| level)
                    .collect();
                match slices
                    .iter_mut()
                    .find(|s| s.of == of && s.parameter == level.parameter && s.held == held)
                {
                    Some(slice) => slice.cells.push((level.value, cell)),
                    None => slices.push(Slice {
                        of,
                        parameter: &level.parameter,
                        held,
                        cells: vec![(level.value, cell)],
                    }),
                }
            }
        }
    }
    slices.retain(|slice| slice.cells.len() > 1);
    slices.iter_mut().for_each(|slice| slice.cells.sort_by(|a, b| a.0.total_cmp(&b.0)));
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, Load};
    use crate::name::is_name;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    fn written() -> Cell {
        Cell {
            name: "c".into(),
            workload: "w".into(),
            with: BTreeMap::new(),
            load: Load::closed(1),
            driver: None,
            truth: None,
            timeout: Duration::from_secs(1),
            warmup: Duration::ZERO,
            after: None,
            sweep: None,
        }
    }

    fn axis(parameter: &str, levels: &[f64], of_load: bool) -> Axis {
        Axis { parameter: parameter.into(), levels: levels.into(), of_load }
    }

    #[test]
    fn each_combination_is_a_cell_and_keeps_its_levels() {
        let cells = expand(
            written(),
            &[axis("connections", &[1.0, 6.0], true), axis("size", &[7.0, 0.5], false)],
        );
        let names: Vec<&str> = cells.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "c-connections-1-size-7",
                "c-connections-1-size-0.5",
                "c-connections-6-size-7",
                "c-connections-6-size-0.5"
            ]
        );
        assert_eq!(
            (&cells[3].load, cells[3].workload_label().as_str()),
            (&Load::closed(6), "w, size 0.5")
        );
        assert_eq!(expand(written(), &[]), [written()]);
    }

    #[test]
    fn slices_hold_all_parameters_but_one() {
        let mut cells = expand(
            written(),
            &[axis("connections", &[6.0, 1.0], true), axis("size", &[7.0, 128.0], false)],
        );
        cells.insert(1, Cell { name: "alone".into(), ..written() });
        let titles: Vec<(String, &str, bool)> =
            slices(&cells).iter().map(|s| (s.title(), s.parameter, s.is_along_first())).collect();
        let along_first =
            [("c, size 7", "connections", true), ("c, size 128", "connections", true)];
        let along_second =
            [("c, 6 connections", "size", false), ("c, 1 connection", "size", false)];
        let expected: Vec<(String, &str, bool)> = along_first
            .into_iter()
            .chain(along_second)
            .map(|(title, parameter, first)| (title.to_owned(), parameter, first))
            .collect();
        assert_eq!(titles, expected);
        assert_eq!(
            slices(&cells)[0].cells.iter().map(|(level, _)| *level).collect::<Vec<_>>(),
            [1.0, 6.0]
        );
    }

    #[test]
    fn each_repetition_follows_the_previous_of_the_same_levels() {
        let with_repetitions = |quick: &str| {
            let text = EXPERIMENT
                .replace("workload = \"w\"\nwith", "workload = \"w\"\nrepetitions = 3\nwith")
                .replace("[1, 6]", "6");
            read(&text.replace("\"open\", \"sized-connections-6-size-128\"", quick))
        };
        let experiment = with_repetitions("\"open\"").unwrap_or_else(|e| panic!("{e}"));
        let (name, after) = (
            |at: usize| experiment.cells[at].name.as_str(),
            |at: usize| experiment.cells[at].after.as_deref(),
        );
        assert_eq!((name(3), after(3)), ("sized-size-128-repetition-1", None));
        assert_eq!(
            (name(5), after(5)),
            ("sized-size-128-repetition-3", Some("sized-size-128-repetition-2"))
        );
        assert_eq!(
            (experiment.cells.len(), experiment.cells[5].workload_label().as_str()),
            (7, "w, size 128, word hello")
        );
        let slices = slices(&experiment.cells);
        let repetitions: Vec<String> =
            slices.iter().filter(|s| s.parameter == REPETITION).map(Slice::title).collect();
        assert_eq!(repetitions, ["sized, size 7", "sized, size 128"]);
        // A repetition cannot be measured without the previous one.
        assert!(with_repetitions("\"sized-size-7-repetition-1\"").is_ok());
        let message = with_repetitions("\"sized-size-7-repetition-2\"").unwrap_err();
        assert!(
            message.contains("`sized-size-7-repetition-2` comes after `sized-size-7-repetition-1`"),
            "{message}"
        );
        let instead = |from: &str, to: &str| read(&EXPERIMENT.replace(from, to)).unwrap_err();
        assert!(
            instead("with = { size", "repetitions = 2\nwith = { repetition")
                .contains("`repetition` is swept as well")
        );
        let capacity = "repetitions = 2\nload = { kind = \"capacity\", of = \"rate\", service_level = \"p95<1s\" }";
        assert!(
            instead("load = { kind = \"arrivals\", rate = 100 }", capacity)
                .contains("`repetitions` cannot be used with `kind = \"capacity\"`")
        );
        assert!(
            instead("workload = \"w\"\nwith", "workload = \"w\"\nrepetitions = 1\nwith")
                .contains("must be from 2 to 20")
        );
    }

    #[test]
    fn a_cell_may_have_its_own_warm_up() {
        let instead = |from: &str, to: &str| read(&EXPERIMENT.replace(from, to));
        let workload = "name = \"open\"\nworkload = \"w\"";
        let with = |more: &str| instead(workload, &format!("{workload}\nwarmup = \"20s\"\n{more}"));
        let experiment = with("").unwrap_or_else(|e| panic!("{e}"));
        let own: Vec<Duration> = experiment.cells.iter().map(|cell| cell.warmup).collect();
        assert_eq!(own, [0, 0, 0, 0, 20].map(Duration::from_secs));
        let trial = |experiment: &Experiment| {
            experiment.trial_estimate(Duration::ZERO, Duration::ZERO, |_| Duration::from_secs(1))
        };
        let without = trial(&instead("", "").unwrap());
        assert!(
            (trial(&experiment) - without).abs_diff(Duration::from_secs(20))
                < Duration::from_secs(1)
        );
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(
            (
                text.matches("\"warmup\":20000000000").count(),
                serde_json::from_str::<Experiment>(&text).unwrap()
            ),
            (1, experiment.clone())
        );
        let quick = experiment.quickened();
        assert_eq!(quick.cell("open").unwrap().warmup, quick.design.warmup);
        for (refused, problem) in [
            (with("repetitions = 2"), "repetitions have no warm-up of their own"),
            (
                with("").and(instead(
                    "load = { kind = \"arrivals\", rate = 100 }",
                    "warmup = \"1s\"\nload = { kind = \"capacity\", of = \"rate\", service_level = \"p95<1s\" }",
                )),
                "a capacity has no warm-up of its own",
            ),
        ] {
            let refused = refused.unwrap_err();
            assert!(refused.contains(problem) && refused.contains("leave it out"), "{refused}");
        }
    }

    #[test]
    fn a_sweep_with_one_remaining_level_has_no_slice() {
        let cells = expand(
            written(),
            &[axis("connections", &[6.0], true), axis("size", &[7.0, 128.0], false)],
        );
        assert_eq!(slices(&cells).iter().map(|s| s.parameter).collect::<Vec<_>>(), ["size"]);
        assert!(slices(&cells[..1]).is_empty());
    }

    const EXPERIMENT: &str = r#"
name = "x"
question = "q"
baseline = "a:g1"
contenders = ["b", { system = "a", variants = [["g1", "zgc"], ["", "quiet"]] }]
aa = true
[[cell]]
name = "sized"
workload = "w"
with = { size = [7, 128], word = "hello" }
load = { kind = "closed", connections = [1, 6] }
[[cell]]
name = "open"
workload = "w"
load = { kind = "arrivals", rate = 100 }
[[claim]]
text = "t"
contender = "b"
metric = "throughput"
expects = "higher"
cells = ["sized", "open"]
[quick]
contenders = [{ system = "a", variants = [["zgc"], ["quiet"]] }]
cells = ["open", "sized-connections-6-size-128"]
"#;

    fn read(text: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.toml"), text).unwrap();
        Experiment::read(&folder.path().join("x.toml")).map_err(|problems| {
            problems.to_string().replace(&folder.path().display().to_string(), ".")
        })
    }

    #[test]
    fn an_experiment_sweeps_levels_parameters_and_variants() {
        let names = |experiment: &Experiment| -> (Vec<String>, Vec<String>) {
            (
                experiment.contenders.iter().map(ToString::to_string).collect(),
                experiment.cells.iter().map(|c| c.name.clone()).collect(),
            )
        };
        let experiment = read(EXPERIMENT).unwrap_or_else(|e| panic!("{e}"));
        let (contenders, cells) = names(&experiment);
        assert_eq!(contenders, ["b", "a:g1+quiet", "a:zgc", "a:zgc+quiet", "a:g1+aa"]);
        let swept = [
            "connections-1-size-7",
            "connections-1-size-128",
            "connections-6-size-7",
            "connections-6-size-128",
        ];
        let mut expected: Vec<String> =
            swept.iter().map(|levels| format!("sized-{levels}")).collect();
        expected.push("open".into());
        assert_eq!(cells, expected);
        assert_eq!(experiment.cells[1].workload_label(), "w, size 128, word hello");
        assert_eq!(experiment.claims[0].cells, expected);
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
        let (contenders, cells) = names(&experiment.quickened());
        assert_eq!(
            (contenders, cells),
            (
                vec!["a:zgc+quiet".to_owned(), "a:g1+aa".into()],
                vec!["sized-connections-6-size-128".to_owned(), "open".into()]
            )
        );
    }

    #[test]
    fn every_problem_of_a_sweep_is_reported_with_its_place() {
        let problems = read(
            r#"
name = "x"
question = "q"
baseline = "a"
contenders = ["b", 5, { system = "a" }, { system = "c d", variants = [["g1", ":"], []] }, { system = "e", variants = [["f", "g/h"]], more = 1 }]
[[cell]]
name = "one"
workload = "w"
load = { kind = "closed", connections = [1, "six", 6, 1, 0], depth = [] }
with = { size = [7, -1], "a b" = 1, none = true }
[[cell]]
name = "two"
workload = "w"
load = { kind = "users", users = [1, 2], pooled = [1, 2] }
with = { users = [1, 2] }
[[cell]]
name = "many"
workload = "w"
load = { kind = "arrivals", rate = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }
with = { a = [1, 2, 3, 4, 5, 6, 7, 8], b = [1, 2, 3, 4, 5, 6, 7, 8] }
[[cell]]
name = "one-connections-6-size-7"
workload = "w"
load = { kind = "arrivals", rate = [1] }
[[cell]]
name = "one"
workload = "w"
load = { kind = "arrivals", rate = 1 }
"#,
        );
        insta::assert_snapshot!(problems.unwrap_err());
    }

    fn levels() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::btree_set(1u32..100_000, 1..6)
            .prop_map(|levels| levels.into_iter().map(f64::from).collect())
    }

    proptest! {
        #[test]
        fn each_combination_is_one_cell_and_in_a_slice_per_parameter(connections in levels(), size in levels(), work in levels()) {
            let axes = [axis("connections", &connections, true), axis("size", &size, false), axis("work", &work, false)];
            let cells = expand(written(), &axes);
            prop_assert_eq!(cells.len(), connections.len() * size.len() * work.len());
            let names: BTreeSet<&str> = cells.iter().map(|c| c.name.as_str()).collect();
            prop_assert!(names.len() == cells.len() && names.iter().all(|name| is_name(name)));
            let slices = slices(&cells);
            for (axis, others) in axes.iter().zip([size.len() * work.len(), connections.len() * work.len(), connections.len() * size.len()]) {
                let along: Vec<&Slice<'_>> = slices.iter().filter(|s| s.parameter == axis.parameter).collect();
                prop_assert_eq!(along.len(), if axis.levels.len() > 1 { others } else { 0 });
                for slice in along {
                    prop_assert_eq!(slice.cells.iter().map(|(level, _)| *level).collect::<Vec<_>>(), axis.levels.clone());
                }
            }
            for cell in &cells {
                let swept = cell.sweep.as_ref().unwrap();
                let Load::Closed { connections, .. } = cell.load else { unreachable!() };
                prop_assert_eq!(swept.levels[0].value, f64::from(connections));
                prop_assert_eq!(&cell.with["size"], &swept.levels[1].value.to_string());
            }
        }
    }
}
