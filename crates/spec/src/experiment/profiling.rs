//! Profiled blocks: blocks after the judged ones, in which the stacks of contenders are sampled
//! (`[profile]` of an experiment, or `--profile`).
//!
//! Sampling costs time, so these blocks are never judged. Start with [`Profiling`].

use super::cells::named_cells;
use super::design::positive;
use super::{Cell, Experiment, Load};
use crate::categories::{CategoryRow, read_categories};
use crate::reader::Table;
use crate::units::{nanoseconds, show_duration};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// How many blocks are profiled where nothing starts again, and how long a cell is sampled in each.
const ONCE_BLOCKS: u32 = 12;
const ONCE_MEASURE_MIN: Duration = Duration::from_millis(500);
const ONCE_MEASURE_MAX: Duration = Duration::from_secs(4);

/// How many blocks are profiled, which cells, and how contenders start in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profiling {
    /// The number of blocks. Each is one start of every contender, like a judged block.
    pub blocks: u32,
    /// How long each cell is sampled in each block.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub measure: Duration,
    /// The cells that are sampled. If empty, these are the closed loads, in which a contender is
    /// busy; without one, all cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// Whether contenders start with the options with which Java, Node, Python and .NET show a
    /// sampler the names and callers of their code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runtime_options: bool,
    /// Categories of the experiment's own, which come before those that ship with faceoff. They
    /// are stored here, so that the record can be judged without their file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<CategoryRow>,
}

impl Default for Profiling {
    fn default() -> Profiling {
        Profiling {
            blocks: 6,
            measure: Duration::from_secs(6),
            cells: Vec::new(),
            runtime_options: false,
            categories: Vec::new(),
        }
    }
}

impl Profiling {
    /// What is usual for an experiment. Where nothing starts again, a block costs little: more and
    /// shorter ones then find smaller differences. They are shortened to fit the time budget, but to
    /// no less than half a second. The rest of a block takes time as well, so fewer may run.
    pub fn usual_for(experiment: &Experiment) -> Profiling {
        let usual = Profiling::default();
        if !experiment.design.start_once {
            return usual;
        }
        let profiled = usual.experiment_of(experiment);
        let loads = profiled.cells.len() * profiled.all_contenders().count();
        let share = experiment.design.budget / (ONCE_BLOCKS * loads.max(1) as u32);
        let measure = share.clamp(ONCE_MEASURE_MIN, ONCE_MEASURE_MAX);
        Profiling { blocks: ONCE_BLOCKS, measure, ..usual }
    }

    /// Returns the experiment of the profiled blocks: the same contenders, with the sampled cells
    /// only, each measured as long as it is sampled.
    pub fn experiment_of(&self, whole: &Experiment) -> Experiment {
        let mut experiment = whole.clone();
        experiment.cells.retain(|cell| cell.after.is_none() && can_be_sampled(cell));
        let has_closed = experiment.cells.iter().any(is_closed);
        experiment.cells.retain(|cell| match self.cells.as_slice() {
            [] => !has_closed || is_closed(cell),
            named => named.contains(&cell.name),
        });
        experiment.design.measure = self.measure;
        experiment.profile = None;
        experiment.contenders.retain(|name| !name.is_twin());
        experiment
    }

    /// Describes it in words.
    pub(super) fn describe(&self) -> String {
        let options = if self.runtime_options { " and start with options of runtimes" } else { "" };
        format!(
            "{} more blocks, {} per cell, which are not judged{options}",
            self.blocks,
            show_duration(self.measure)
        )
    }
}

/// Whether our own generator makes the load of a cell, at one level.
fn can_be_sampled(cell: &Cell) -> bool {
    cell.driver.is_none() && cell.load.capacity().is_none()
}

fn is_closed(cell: &Cell) -> bool {
    matches!(cell.load, Load::Closed { .. })
}

/// Reads `[profile]` of an experiment in a folder.
pub(super) fn parse_profiling(table: &Table<'_>, cells: &[Cell], folder: &Path) -> Profiling {
    let usual = Profiling::default();
    Profiling {
        blocks: table.integer("blocks", 1, 100).map_or(usual.blocks, |n| n as u32),
        measure: positive(table, "measure").unwrap_or(usual.measure),
        cells: named_cells(table, cells),
        runtime_options: table.flag("runtime_options").unwrap_or(false),
        categories: read_own_categories(table, folder),
    }
}

/// Reads the file that `categories` names.
fn read_own_categories(table: &Table<'_>, folder: &Path) -> Vec<CategoryRow> {
    let Some(file) = table.string("categories") else { return Vec::new() };
    read_categories(&folder.join(&file)).unwrap_or_else(|problems| {
        let message = problems.list().first().map_or("", |problem| problem.message.as_str());
        table.problem(
            "categories",
            format!("`{file}` cannot be used: {message}"),
            "the path is relative to the experiment's folder; docs/guide/why.md explains the file",
        );
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(profile: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let head =
            "name = \"x\"\nquestion = \"q\"\nbaseline = \"a\"\ncontenders = [\"b\"]\naa = true\n";
        let cell = |name: &str, more: &str, load: &str| {
            format!("[[cell]]\nname = \"{name}\"\nworkload = \"w\"\n{more}\nload = {{ {load} }}\n")
        };
        let cells = [
            cell("open", "", "kind = \"arrivals\", rate = 10"),
            cell("busy", "", "kind = \"closed\", connections = 2"),
            cell("twice", "repetitions = 2", "kind = \"closed\", connections = 3"),
            cell("most", "", "kind = \"capacity\", of = \"rate\", service_level = \"p95<1s\""),
        ];
        std::fs::write(&file, format!("{head}{}{profile}", cells.concat())).unwrap();
        let own = "[[category]]\nname = \"cache\"\nfunctions = [\"main.cache*\"]\n";
        std::fs::write(folder.path().join("own.toml"), own).unwrap();
        std::fs::write(folder.path().join("bad.toml"), "[[category]]\nname = \"x\"\n").unwrap();
        Experiment::read(&file).map_err(|problems| problems.to_string())
    }

    fn sampled(profile: &str) -> Vec<String> {
        let whole = read(profile).unwrap();
        let profiled = whole.profile.as_ref().unwrap().experiment_of(&whole);
        assert_eq!((profiled.contenders.len(), profiled.profile.as_ref()), (1, None), "no twin");
        profiled.cells.into_iter().map(|cell| cell.name).collect()
    }

    #[test]
    fn closed_loads_are_sampled_unless_cells_are_named() {
        assert_eq!(sampled("[profile]\n"), ["busy", "twice-repetition-1"]);
        assert_eq!(sampled("[profile]\ncells = [\"open\", \"most\"]\n"), ["open"]);
    }

    #[test]
    fn categories_of_a_file_are_stored_with_the_experiment() {
        let whole = read("[profile]\ncategories = \"own.toml\"\n").unwrap();
        let stored = serde_json::to_string(&whole).unwrap();
        let again: Experiment = serde_json::from_str(&stored).unwrap();
        let [row] = &again.profile.as_ref().unwrap().categories[..] else { panic!("{stored}") };
        assert_eq!((row.name.as_str(), &row.functions[..]), ("cache", &["main.cache*".into()][..]));
        let wrong =
            |file: &str| read(&format!("[profile]\ncategories = \"{file}\"\n")).unwrap_err();
        assert!(wrong("bad.toml").contains("this category has no pattern"));
        assert!(wrong("none.toml").contains("none.toml cannot be read"));
    }

    #[test]
    fn mistakes_of_the_table_are_reported() {
        assert!(read("[profile]\ncells = [\"bsy\"]\n").unwrap_err().contains("busy"));
        assert!(read("[profile]\nmeasure = \"0s\"\n").unwrap_err().contains("`measure` is zero"));
        assert!(read("[profile]\nblocks = 0\n").unwrap_err().contains("blocks"));
    }

    #[test]
    fn more_blocks_are_usual_where_nothing_starts_again() {
        let mut whole = read("").unwrap();
        assert_eq!(Profiling::usual_for(&whole), Profiling::default());
        whole.design.start_once = true;
        let mut usual = |budget| {
            whole.design.budget = Duration::from_secs(budget);
            let once = Profiling::usual_for(&whole);
            (once.blocks, once.measure.as_millis())
        };
        // Two contenders and two cells.
        assert_eq!([600, 96, 1].map(&mut usual), [(12, 4_000), (12, 2_000), (12, 500)]);
    }
}
