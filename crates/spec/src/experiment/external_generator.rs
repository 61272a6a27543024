//! Cells whose load another generator makes: which generator, and the known results.
//!
//! A cell names its generator with `driver`. Its `truth` is how a server that was made for the
//! purpose is known to behave. How a load is written for each generator is in the crate `interop`,
//! which a [`Catalog`](crate::catalog::Catalog) calls through [`CanMake`].

use super::{Cell, Experiment, Load, Quick, RATE_MAX};
use crate::reader::Table;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Decides whether a generator can make a load; the error is the reason why not.
pub type CanMake = fn(Driver, &Task<'_>) -> Result<(), String>;

/// Another load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// <https://github.com/wg/wrk>
    Wrk,
    /// <https://github.com/giltene/wrk2>
    Wrk2,
    /// <https://nghttp2.org>
    H2load,
    /// <https://github.com/hatoo/oha>
    Oha,
    /// <https://k6.io>
    K6,
    /// <https://jmeter.apache.org>
    Jmeter,
    /// <https://gatling.io>
    Gatling,
}

impl Driver {
    /// All generators.
    pub const ALL: [Driver; 7] = [
        Driver::Wrk,
        Driver::Wrk2,
        Driver::H2load,
        Driver::Oha,
        Driver::K6,
        Driver::Jmeter,
        Driver::Gatling,
    ];

    /// Returns the generator of a name.
    pub fn named(name: &str) -> Option<Driver> {
        Driver::ALL.into_iter().find(|driver| driver.name() == name)
    }

    /// Returns the name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Wrk => "wrk",
            Driver::Wrk2 => "wrk2",
            Driver::H2load => "h2load",
            Driver::Oha => "oha",
            Driver::K6 => "k6",
            Driver::Jmeter => "jmeter",
            Driver::Gatling => "gatling",
        }
    }

    /// Returns whether it prints errors only if there are any.
    pub fn is_silent_about_none(self) -> bool {
        matches!(self, Driver::Wrk | Driver::Wrk2)
    }

    /// Returns how to install it.
    pub fn hint(self) -> &'static str {
        match self {
            Driver::Wrk => "on Debian: apt-get install wrk",
            Driver::Wrk2 => "build github.com/giltene/wrk2 and put its `wrk` on the PATH as `wrk2`",
            Driver::H2load => "on Debian: apt-get install nghttp2-client",
            Driver::Oha => "cargo install oha --locked",
            Driver::K6 => "go install go.k6.io/k6/v2@latest, and put its folder on the PATH",
            Driver::Jmeter => {
                "`mvn -q package` in catalog/generators/jmeter and put that folder on the PATH, or install JMeter 5.6"
            }
            Driver::Gatling => {
                "`mvn -q package` in catalog/generators/gatling and put that folder on the PATH"
            }
        }
    }
}

/// A load that another generator is to make.
pub struct Task<'a> {
    /// `http://host:port`
    pub server: String,
    /// The requests.
    pub workload: &'a Workload,
    /// How requests arrive.
    pub load: &'a Load,
    /// How long it lasts.
    pub duration: Duration,
    /// A request without a response after this time has failed.
    pub timeout: Duration,
    /// The number of threads, for a tool that does not choose it itself.
    pub threads: u32,
    /// Whether it uses HTTP/2.
    pub is_http2: bool,
    /// Whether each request gets a new connection.
    pub closes: bool,
    /// Whether any certificate is accepted.
    pub is_insecure: bool,
}

/// What is known about a cell before it is measured, because its server was made that way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KnownOfCell"))]
pub struct Truth {
    /// The rate that this load reaches.
    pub rate_per_s: Option<f64>,
    /// The median latency.
    pub p50_ms: Option<f64>,
    /// The 99th percentile of latency.
    pub p99_ms: Option<f64>,
}

/// Reads which generator makes a load, from the load's table.
pub(crate) fn parse_driver(load: &Table<'_>) -> Option<Driver> {
    load.choice("driver", &Driver::ALL.map(|driver| (driver.name(), driver)))
}

/// Reads what is known about a cell.
pub(crate) fn parse_truth(cell: &Table<'_>) -> Option<Truth> {
    cell.table("truth", |table| {
        let ms =
            |key: &'static str| table.duration(key).map(|duration| duration.as_secs_f64() * 1e3);
        Truth {
            rate_per_s: table.number("rate", 0.0, RATE_MAX),
            p50_ms: ms("p50"),
            p99_ms: ms("p99"),
        }
    })
}

/// Checks whether each driver can make its load, at every length that the experiment has.
pub(crate) fn check(
    table: &Table<'_>,
    experiment: &Experiment,
    workload_of: &dyn Fn(&Cell) -> Option<Workload>,
    can_make: CanMake,
) {
    let problem = |cell: &Cell, key: &str, message: String, hint: &str| {
        table.problem_of(("cell", cell.written_name()), key, message, hint)
    };
    let lengths = |cell: &Cell| {
        let is_in = |quick: &&Quick| quick.cells.is_empty() || quick.cells.contains(&cell.name);
        [
            Some(experiment.design.measure),
            experiment.quick.as_ref().filter(is_in).map(|quick| quick.measure),
        ]
        .into_iter()
        .flatten()
    };
    for (cell, driver) in experiment
        .cells
        .iter()
        .filter(|cell| cell.sweep.is_none())
        .filter_map(|cell| Some((cell, cell.driver?)))
    {
        let name = driver.name();
        if experiment.database.is_some() {
            let message = format!(
                "what {name} writes to a database is not known, so its data cannot be checked"
            );
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
        if let Some(why) =
            lengths(cell).find_map(|duration| can_make(driver, &task(duration)).err())
        {
            let hint = "change what it names, or give the cell another driver (docs/guide/external-generators.md)";
            problem(
                cell,
                "load",
                format!("{name} cannot make the load of `{}`: {why}", cell.name),
                hint,
            );
        }
    }
    let is_alone = experiment.contenders.iter().all(|name| name.is_twin());
    if let (Some(cell), false) =
        (experiment.cells.iter().find(|cell| cell.truth.is_some()), is_alone)
    {
        let hint = "compare generators with the baseline alone, without `contenders`";
        problem(
            cell,
            "truth",
            "known results are about one system, and this experiment has several".into(),
            hint,
        );
    }
}
