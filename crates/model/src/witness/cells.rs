//! Cells whose load another generator makes, and what is known beforehand of what they should find.

use super::{Driver, Task, translate};
use crate::experiment::{Cell, Experiment, Quick, RATE_MAX};
use crate::reader::Table;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// What is known of a cell before anything is measured: of a server that was made so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The rate that this load comes to.
    pub rate_per_s: Option<f64>,
    /// The median latency.
    pub p50_ms: Option<f64>,
    /// The 99th percentile of latency.
    pub p99_ms: Option<f64>,
}

/// Reads who makes a load, from its table.
pub(crate) fn walk_driver(load: &Table<'_>) -> Option<Driver> {
    load.choice("driver", &Driver::ALL.map(|driver| (driver.name(), driver)))
}

/// Reads what is known of a cell.
pub(crate) fn walk_truth(cell: &Table<'_>) -> Option<Truth> {
    cell.table("truth", |table| {
        let ms = |key: &'static str| table.duration(key).map(|duration| duration.as_secs_f64() * 1e3);
        Truth { rate_per_s: table.number("rate", 0.0, RATE_MAX), p50_ms: ms("p50"), p99_ms: ms("p99") }
    })
}

/// What only shows when the parts are seen together: whether a driver can make its load, at every length that is written.
pub(crate) fn check(table: &Table<'_>, experiment: &Experiment, workload_of: &dyn Fn(&Cell) -> Option<Workload>) {
    let problem = |cell: &Cell, key: &str, message: String, hint: &str| table.problem_of(("cell", cell.written_name()), key, message, hint);
    let lengths = |cell: &Cell| {
        let is_in = |quick: &&Quick| quick.cells.is_empty() || quick.cells.contains(&cell.name);
        [Some(experiment.design.measure), experiment.quick.as_ref().filter(is_in).map(|quick| quick.measure)].into_iter().flatten()
    };
    for (cell, driver) in experiment.cells.iter().filter(|cell| cell.sweep.is_none()).filter_map(|cell| Some((cell, cell.driver?))) {
        let name = driver.name();
        if experiment.database.is_some() {
            let message = format!("what {name} writes to a database is not known, so nothing can be looked for in it");
            problem(cell, "load", message, "leave `driver` out where there is a database");
        }
        let Some(workload) = workload_of(cell) else { continue };
        let task = |duration| Task {
            server: "http://127.0.0.1:1".into(),
            workload: &workload,
            load: &cell.load,
            duration,
            timeout: cell.timeout,
            threads: 1,
            is_http2: false,
            closes: false,
            is_insecure: false,
        };
        if let Some(why) = lengths(cell).find_map(|duration| translate(driver, &task(duration)).err()) {
            let hint = "change what it names, or give the cell another driver (docs/witnesses.md)";
            problem(cell, "load", format!("{name} cannot make the load of `{}`: {why}", cell.name), hint);
        }
    }
    let is_alone = experiment.contenders.iter().all(|name| name.is_twin());
    if let (Some(cell), false) = (experiment.cells.iter().find(|cell| cell.truth.is_some()), is_alone) {
        let hint = "compare generators before the baseline alone, without `contenders`";
        problem(cell, "truth", "what is known is known of one system, and this experiment has several".into(), hint);
    }
}
