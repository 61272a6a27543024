//! Reads the cells of an experiment: workloads at load levels.
//!
//! A cell with lists of levels, or with `repetitions`, becomes one cell for each combination;
//! `sweep.rs` makes these. Start with [`parse_cells`].

use super::load::parse_load;
use super::sweep::{Axis, MOST_CELLS, REPETITION, expand};
use super::{Cell, Load, external_generator};
use crate::data::is_value_name;
use crate::name::{NAME_HINT, is_name};
use crate::reader::{Levels, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The most repetitions of a cell.
const REPETITIONS_MAX: u64 = 20;

pub(super) fn parse_cells(table: &Table<'_>) -> Vec<Cell> {
    let written = table.tables("cell", parse_cell);
    if written.is_empty() {
        table.problem(
            "cell",
            "the experiment measures nothing",
            "write one [[cell]] or more, each with `name`, `workload` and `load`",
        );
    }
    let mut names = BTreeSet::new();
    for cells in &written {
        let name = cells.first().map_or("", Cell::written_name);
        let of_sweep =
            cells.iter().filter(|cell| cell.sweep.is_some()).map(|cell| cell.name.as_str());
        // If the written name is taken, the names made from it need no check.
        let taken =
            std::iter::once(name).chain(of_sweep).find(|name| !names.insert((*name).to_owned()));
        if let Some(name) = taken {
            table.problem(
                "cell",
                format!("two cells are named `{name}`"),
                "give each its own name",
            );
        }
    }
    written.into_iter().flatten().collect()
}

/// Reads one written cell. Where levels are lists, it becomes one cell for each combination.
fn parse_cell(table: &Table<'_>) -> Vec<Cell> {
    let name = table.required_string("name");
    if !is_name(&name) && table.has("name") {
        table.problem("name", format!("`{name}` cannot name a cell"), NAME_HINT);
    }
    let (mut axes, mut driver) = (Vec::new(), None);
    let parse_load = |t: &Table<'_>| {
        driver = external_generator::parse_driver(t);
        parse_load(t, &mut axes)
    };
    let load = table.table("load", parse_load).unwrap_or_else(|| {
        table.problem(
            "load",
            format!("the cell `{name}` does not say how requests arrive"),
            "write `load = { kind = \"arrivals\", rate = 100 }` or `{ kind = \"closed\", connections = 64 }`",
        );
        Load::closed(1)
    });
    let cell = Cell {
        name,
        workload: table.required_string("workload"),
        with: parse_with(table, &mut axes),
        load,
        driver,
        truth: external_generator::parse_truth(table),
        timeout: table.duration("timeout").unwrap_or(Duration::from_secs(10)),
        warmup: table.duration("warmup").unwrap_or_default(),
        after: None,
        sweep: None,
    };
    check_warm_up(table, &cell);
    axes.extend(parse_repetitions(table, &cell, &axes));
    expand_axes(table, cell, &axes)
}

/// Reports a warm-up that the cell's load cannot have.
fn check_warm_up(table: &Table<'_>, cell: &Cell) {
    if cell.warmup.is_zero() {
        return;
    }
    let alone = "leave it out; `warmup` in [design] applies to all cells";
    if cell.load.capacity().is_some() {
        table.problem("warmup", "a capacity has no warm-up of its own", alone);
    } else if cell.driver.is_some() {
        table.problem("warmup", "another generator makes no warm-up", alone);
    } else if table.has("repetitions") {
        table.problem(
            "warmup",
            "repetitions have no warm-up of their own, as each is measured on what was there before",
            alone,
        );
    }
}

/// Reads `repetitions`: the cell is then swept over the number of the repetition.
fn parse_repetitions(table: &Table<'_>, cell: &Cell, axes: &[Axis]) -> Option<Axis> {
    let repetitions = table.integer("repetitions", 2, REPETITIONS_MAX)?;
    if cell.load.capacity().is_some() {
        table.problem(
            "repetitions",
            "`repetitions` cannot be used with `kind = \"capacity\"`",
            "remove `repetitions`, or use another kind of load",
        );
    }
    if axes.iter().any(|axis| axis.parameter == REPETITION) {
        table.problem(
            "repetitions",
            "`repetition` is swept as well",
            "give the workload's parameter another name",
        );
    }
    let levels = (1..=repetitions).map(|repetition| repetition as f64).collect();
    Some(Axis { parameter: REPETITION.to_owned(), levels, of_load: true })
}

/// Makes the cells of a sweep, and reports a sweep that is not possible.
fn expand_axes(table: &Table<'_>, cell: Cell, axes: &[Axis]) -> Vec<Cell> {
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.levels.len()));
    if count.is_none_or(|count| count > MOST_CELLS) {
        table.problem(
            "",
            format!("the levels of `{}` make more than {MOST_CELLS} cells", cell.name),
            "leave some out",
        );
        return vec![cell];
    }
    if let (Some(driver), false) = (cell.driver, axes.is_empty()) {
        let message = format!(
            "the cell `{}` has a list of levels, which `driver = \"{}\"` does not support",
            cell.name,
            driver.name()
        );
        table.problem("load", message, "write a cell for each level");
    }
    let cells = expand(cell, axes);
    if let Some(long) =
        cells.iter().find(|cell| !is_name(&cell.name) && is_name(cell.written_name()))
    {
        table.problem(
            "name",
            format!("`{}` is too long to name a cell", long.name),
            "give the cell a shorter name",
        );
    }
    cells
}

/// Reads the parameters that a cell sets for its workload. Those with several levels are swept.
fn parse_with(table: &Table<'_>, axes: &mut Vec<Axis>) -> BTreeMap<String, String> {
    let mut with = BTreeMap::new();
    for (parameter, given) in table.texts_or_levels("with") {
        if !is_value_name(&parameter) {
            table.problem(
                "with",
                format!("`{parameter}` cannot name a parameter"),
                "use letters, digits, `-` and `_`",
            );
        }
        if axes.iter().any(|axis| axis.parameter == parameter) {
            table.problem(
                "with",
                format!("`{parameter}` is swept in the load as well"),
                "give the workload's parameter another name",
            );
        }
        match given {
            Levels::One(value) => drop(with.insert(parameter, value)),
            Levels::Several(levels) => axes.push(Axis { parameter, levels, of_load: false }),
        }
    }
    with
}

/// Returns the cells that the field `cells` names. The written name of a sweep means all its cells.
pub(super) fn named_cells(table: &Table<'_>, cells: &[Cell]) -> Vec<String> {
    let of_sweep = |name: &str| -> Vec<String> {
        let swept =
            cells.iter().filter(|cell| cell.sweep.as_ref().is_some_and(|sweep| sweep.of == name));
        swept.map(|cell| cell.name.clone()).collect()
    };
    let mut named = Vec::new();
    for name in table.strings("cells") {
        match of_sweep(&name) {
            all if all.is_empty() => named.push(name),
            all => named.extend(all),
        }
    }
    named
}
