//! Profiled blocks: blocks after the judged ones, in which the stacks of contenders are sampled
//! (`[profile]` of an experiment, or `--profile`).
//!
//! Sampling costs time, so these blocks are never judged. Start with [`Profiling`].

use super::cells::named_cells;
use super::design::positive;
use super::{Cell, Experiment, Load};
use crate::reader::Table;
use crate::units::{nanoseconds, show_duration};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How many blocks are profiled, and which cells.
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
}

impl Default for Profiling {
    fn default() -> Profiling {
        Profiling { blocks: 6, measure: Duration::from_secs(3), cells: Vec::new() }
    }
}

impl Profiling {
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
        format!(
            "{} more blocks, {} per cell, which are not judged",
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

pub(super) fn parse_profiling(table: &Table<'_>, cells: &[Cell]) -> Profiling {
    let usual = Profiling::default();
    Profiling {
        blocks: table.integer("blocks", 1, 100).map_or(usual.blocks, |n| n as u32),
        measure: positive(table, "measure").unwrap_or(usual.measure),
        cells: named_cells(table, cells),
    }
}
