//! The four experiments of the self-test, and the forms of the server that they measure.
//!
//! Each form adds a known amount of CPU time, delay, stalls, memory or threads.

use interop::import::quoted;
use spec::catalog::Catalog;
use spec::experiment::{Cell, Design, Experiment, Load, Place};
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::system::System;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Confidence of every interval here. About 20 values are checked: if all are right, one is missed
/// by chance in about 50 self-tests.
pub const CONFIDENCE: f64 = 0.999;

/// The system of the catalog that is measured.
pub const SYSTEM: &str = "control";

/// The workload's name.
const WORKLOAD: &str = "hello";
/// The body of every response.
const BODY: &str = "the same seventy-four bytes in each and every answer of a known truth...\r\n";

/// The cell with a closed load.
pub const CLOSED: &str = "closed";
/// The cell with an open load.
pub const OPEN: &str = "open";

/// The CPU time per request of the baseline.
pub const BURN: Duration = Duration::from_micros(200);
/// The delay per request of the baseline.
pub const DELAY: Duration = Duration::from_millis(10);
/// How much more the contenders add, in percent.
pub const MORE: [u32; 4] = [2, 5, 10, 50];
/// Time between the stalls of the stalling servers.
pub const STALL_EVERY: Duration = Duration::from_millis(500);
/// How long each stall lasts.
pub const STALLS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(200)];
/// Memory that one form holds in addition.
pub const MEMORY_BYTES: u64 = 64 << 20;
/// Threads that one form has in addition.
pub const THREADS: u32 = 16;
/// A moderate request rate.
pub const RATE: f64 = 1_000.0;
/// Connections of the closed load that finds the generator's maximum rate.
pub const CONNECTIONS: u32 = 8;

/// Request rate of the delayed servers. None of their responses arrives when a request is due, so
/// that neither waits for the other.
const DELAY_RATE: f64 = 410.0;

/// The size of the self-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Blocks of each experiment.
    pub blocks: u32,
    /// Length of measurements, relative to the usual.
    pub stretch: f64,
}

impl Scale {
    /// Takes about three minutes.
    pub const USUAL: Scale = Scale { blocks: 6, stretch: 1.0 };
    /// Takes about ten minutes.
    pub const FULL: Scale = Scale { blocks: 12, stretch: 2.0 };

    /// Fits the self-test into a number of seconds. Below 120 there are too few blocks for a
    /// result.
    pub fn within(seconds: u32) -> Scale {
        Scale { blocks: (seconds / 20).clamp(1, 6), stretch: f64::from(seconds) / 180.0 }
    }
}

/// Names the server without additions.
pub fn plain() -> String {
    "plain".into()
}
/// Names the same server a second time.
pub fn again() -> String {
    "plain-again".into()
}
/// Names the server with more memory.
pub fn memory() -> String {
    "memory".into()
}
/// Names the server with more threads.
pub fn threads() -> String {
    "threads".into()
}
/// Names a server that burns CPU time per request.
pub fn burns(cpu: Duration) -> String {
    format!("cpu-{}us", cpu.as_micros())
}
/// Names a server that delays each response.
pub fn delays(delay: Duration) -> String {
    format!("delay-{}us", delay.as_micros())
}
/// Names a server that stalls regularly.
pub fn frozen(stall: Duration) -> String {
    format!("frozen-{}ms", stall.as_millis())
}

/// Returns a duration that is longer by a percentage.
pub fn more(of: Duration, percent: u32) -> Duration {
    of * (100 + percent) / 100
}

/// Returns the name of a form as a contender.
pub fn contender(variant: &str) -> ContenderName {
    ContenderName { system: SYSTEM.into(), variants: vec![variant.to_owned()] }
}

/// Returns every form of the server with its flags.
fn variants() -> BTreeMap<String, Vec<String>> {
    let micros = |time: Duration| format!("{}us", time.as_micros());
    let flags = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
    let mut all = BTreeMap::from([
        (plain(), vec![]),
        (again(), vec![]),
        (memory(), flags(&["--memory", &MEMORY_BYTES.to_string()])),
        (threads(), flags(&["--extra-threads", &THREADS.to_string()])),
    ]);
    for cpu in std::iter::once(BURN).chain(MORE.map(|percent| more(BURN, percent))) {
        all.insert(burns(cpu), flags(&["--cpu", &micros(cpu)]));
    }
    for delay in std::iter::once(DELAY).chain(MORE.map(|percent| more(DELAY, percent))) {
        all.insert(delays(delay), flags(&["--delay", &micros(delay)]));
    }
    for stall in STALLS {
        all.insert(
            frozen(stall),
            flags(&["--stall-every", &micros(STALL_EVERY), "--stall-for", &micros(stall)]),
        );
    }
    all
}

/// Writes a catalog with every form of the server.
///
/// # Errors
/// The folder cannot be written.
pub fn write_catalog(folder: &Path, control: &System) -> io::Result<()> {
    // A path is relative to the system's folder; a bare name is searched on PATH.
    let program = control.start.run.first().cloned().unwrap_or_default();
    let program = if program.contains('/') {
        control.runs_in.join(&program).to_string_lossy().into_owned()
    } else {
        program
    };
    let mut system = format!(
        "name = \"{SYSTEM}\"\nsummary = \"the server with known timings\"\nkind = \"service\"\nanswers = [\"{WORKLOAD}\"]\n[start]\nrun = [{}, \"--port\", \"{{port.http}}\", \"--body-file\", \"../../workloads/{WORKLOAD}.txt\", \"{{variant.args}}\"]\nports = [\"http\"]\n[ready]\nwithin = \"10s\"\n[stop]\nsignal = \"TERM\"\nwithin = \"5s\"\n",
        quoted(&program)
    );
    for (name, flags) in variants() {
        let flags: Vec<String> = flags.iter().map(|flag| quoted(flag)).collect();
        system +=
            &format!("[variants.{name}]\nsummary = \"{name}\"\nargs = [{}]\n", flags.join(", "));
    }
    let workload = format!(
        "name = \"{WORKLOAD}\"\nsummary = \"GET /\"\n[[step]]\npath = \"/\"\n[step.answer]\nstatus = 200\nbody_file = \"{WORKLOAD}.txt\"\n"
    );
    for (path, text) in [
        (format!("systems/{SYSTEM}/system.toml"), system.as_str()),
        (format!("workloads/{WORKLOAD}.toml"), workload.as_str()),
        (format!("workloads/{WORKLOAD}.txt"), BODY),
    ] {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("it has a folder"))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Reads the server's manifest in the catalog.
///
/// # Errors
/// The catalog has no such system.
pub fn control(catalog: &Catalog) -> Result<System, Problems> {
    if !catalog.system_names().iter().any(|name| name == SYSTEM) {
        return Err(Problems::plain(
            format!(
                "{} has no system `{SYSTEM}`, the server with known timings that a self-test measures",
                catalog.dir().display()
            ),
            "run it in a clone of faceoff, or name one with --dir",
        ));
    }
    catalog.system(SYSTEM)
}

/// Returns the experiment on CPU time per request.
pub fn cpu(scale: Scale) -> Experiment {
    let others = MORE.map(|percent| burns(more(BURN, percent)));
    let cells = vec![cell(CLOSED, Load::closed(4)), cell(OPEN, Load::arrivals(RATE, 1_000))];
    experiment("cpu", burns(BURN), others, cells, Duration::from_millis(800), scale)
}

/// Returns the experiment on response delays.
pub fn delay(scale: Scale) -> Experiment {
    let others = MORE.map(|percent| delays(more(DELAY, percent)));
    experiment(
        "delay",
        delays(DELAY),
        others,
        vec![cell(OPEN, Load::arrivals(DELAY_RATE, 1_000))],
        Duration::from_millis(800),
        scale,
    )
}

/// Returns the experiment on a server that stalls.
pub fn stall(scale: Scale) -> Experiment {
    let cells = vec![cell(OPEN, Load::arrivals(RATE, 1_000))];
    // Whole periods, so that each instant of a period is measured equally often.
    let periods = (4.0 * scale.stretch).round().max(2.0) as u32;
    let scale = Scale { stretch: 1.0, ..scale };
    experiment(
        "stall",
        frozen(STALLS[0]),
        STALLS[1..].iter().map(|s| frozen(*s)),
        cells,
        STALL_EVERY * periods,
        scale,
    )
}

/// Returns the experiment on memory, threads, a self-comparison and the generator's maximum rate.
pub fn held(scale: Scale) -> Experiment {
    let cells =
        vec![cell(CLOSED, Load::closed(CONNECTIONS)), cell(OPEN, Load::arrivals(RATE, 1_000))];
    experiment(
        "held",
        plain(),
        [again(), memory(), threads()],
        cells,
        Duration::from_millis(600),
        scale,
    )
}

fn cell(name: &str, load: Load) -> Cell {
    Cell {
        name: name.into(),
        workload: WORKLOAD.into(),
        with: BTreeMap::new(),
        load,
        driver: None,
        truth: None,
        timeout: Duration::from_secs(5),
        warmup: Duration::ZERO,
        after: None,
        sweep: None,
    }
}

fn experiment(
    name: &str,
    baseline: String,
    others: impl IntoIterator<Item = String>,
    cells: Vec<Cell>,
    measure: Duration,
    scale: Scale,
) -> Experiment {
    Experiment {
        name: name.into(),
        question: "Does faceoff measure the known values?".into(),
        source: None,
        baseline: contender(&baseline),
        contenders: others.into_iter().map(|variant| contender(&variant)).collect(),
        factors: vec![],
        aa: false,
        against: None,
        upstream: None,
        database: None,
        cells,
        design: Design {
            blocks: scale.blocks,
            spare_blocks: scale.blocks / 2,
            looks: vec![],
            look_always: false,
            slices: false,
            start_once: false,
            margin: 0.05,
            confidence: CONFIDENCE,
            seed: 1,
            warmup: Duration::from_millis(200),
            warmup_least: Duration::ZERO,
            warmup_workloads: vec![],
            measure: measure.mul_f64(scale.stretch).max(Duration::from_millis(100)),
            budget: Duration::from_secs(3_600),
        },
        place: Place::default(),
        profile: None,
        claims: vec![],
        quick: None,
        published: None,
        analysis: None,
    }
}

/// Returns all experiments, in the order in which they run.
pub fn all(scale: Scale) -> [Experiment; 4] {
    [cpu(scale), delay(scale), stall(scale), held(scale)]
}

/// Returns the label of a metric.
pub fn label(metric: Metric) -> String {
    metric.describe().label.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_catalog_has_every_contender_and_workload() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("systems/control");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(
            own.join("system.toml"),
            "name = \"control\"\nsummary = \"s\"\nkind = \"service\"\nanswers = [\"x\"]\n[start]\nrun = [\"bin/control\", \"{port.http}\"]\nports = [\"http\"]\n[ready]\nwithin = \"1s\"\n",
        )
        .unwrap();
        let control = control(&Catalog::open(folder.path()).unwrap()).unwrap();
        let written = folder.path().join("written");
        write_catalog(&written, &control).unwrap();
        let catalog = Catalog::open(&written).unwrap();
        for experiment in all(Scale::USUAL) {
            for name in experiment.all_contenders() {
                let found = catalog.contender(name).unwrap_or_else(|e| panic!("{e}"));
                assert!(
                    found.system.start.run[0].ends_with("systems/control/bin/control"),
                    "{:?}",
                    found.system.start.run
                );
            }
            for cell in &experiment.cells {
                catalog.workload(&cell.workload).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }

    #[test]
    fn stall_is_measured_over_whole_periods() {
        for scale in [Scale::USUAL, Scale::FULL, Scale::within(10), Scale::within(100)] {
            assert_eq!(stall(scale).design.measure.as_nanos() % STALL_EVERY.as_nanos(), 0);
        }
        assert_eq!(Scale::within(120).blocks, 6);
        assert_eq!(Scale::within(0).blocks, 1);
    }
}
