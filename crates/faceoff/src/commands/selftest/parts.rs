//! What is measured: the server of known truth in many forms, in four experiments.

use model::experiment::{Cell, Design, Experiment, Load, Place};
use model::metric::Metric;
use model::name::ContenderName;
use model::problem::Problems;
use model::system::System;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The system of the catalog that everything is measured on.
pub const SYSTEM: &str = "control";

/// What is asked.
const WORKLOAD: &str = "hello";
const BODY: &str = "the same seventy-four bytes in each and every answer of a known truth...\r\n";

/// Loads.
pub const CLOSED: &str = "closed";
pub const OPEN: &str = "open";

/// What more burning is compared with.
pub const BURN: Duration = Duration::from_micros(200);
/// What a longer delay is compared with.
pub const DELAY: Duration = Duration::from_millis(10);
/// More of it, in percent.
pub const MORE: [u32; 4] = [2, 5, 10, 50];
/// How often the frozen servers stand still, and how long each.
pub const STALL_EVERY: Duration = Duration::from_millis(500);
pub const STALLS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(200)];
/// What the held truths are.
pub const MEMORY_BYTES: u64 = 64 << 20;
pub const THREADS: u32 = 16;
/// A modest rate of arrivals.
pub const RATE: f64 = 1_000.0;
/// Connections of the closed loop that finds the ceiling.
pub const CONNECTIONS: u32 = 8;

/// At this rate no answer of any of the delays comes when a request is due, which would make one wait for the other.
const DELAY_RATE: f64 = 410.0;

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Blocks of each experiment.
    pub blocks: u32,
    /// Length of measurements, against the usual.
    pub stretch: f64,
}

impl Scale {
    /// About three minutes.
    pub const USUAL: Scale = Scale { blocks: 6, stretch: 1.0 };
    /// About ten.
    pub const FULL: Scale = Scale { blocks: 12, stretch: 2.0 };

    /// As much as fits into about so many seconds: fewer than 120 give too few blocks for any outcome.
    pub fn within(seconds: u32) -> Scale {
        Scale { blocks: (seconds / 20).clamp(1, 6), stretch: f64::from(seconds) / 180.0 }
    }
}

pub fn plain() -> String {
    "plain".into()
}
pub fn again() -> String {
    "plain-again".into()
}
pub fn memory() -> String {
    "memory".into()
}
pub fn threads() -> String {
    "threads".into()
}
pub fn burns(cpu: Duration) -> String {
    format!("cpu-{}us", cpu.as_micros())
}
pub fn delays(delay: Duration) -> String {
    format!("delay-{}us", delay.as_micros())
}
pub fn frozen(stall: Duration) -> String {
    format!("frozen-{}ms", stall.as_millis())
}

/// So many percent more of it.
pub fn more(of: Duration, percent: u32) -> Duration {
    of * (100 + percent) / 100
}

/// Its name as a contender.
pub fn contender(variant: &str) -> ContenderName {
    ContenderName { system: SYSTEM.into(), variants: vec![variant.to_owned()] }
}

/// Every form of the server with its flags.
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
        all.insert(frozen(stall), flags(&["--stall-every", &micros(STALL_EVERY), "--stall-for", &micros(stall)]));
    }
    all
}

/// Writes a catalog of the server in all its forms.
///
/// # Errors
/// A folder that cannot be written.
pub fn write_catalog(folder: &Path, control: &System) -> io::Result<()> {
    // A path counts from the system's folder; a bare name is looked for on PATH.
    let program = control.start.run.first().cloned().unwrap_or_default();
    let program = if program.contains('/') { control.runs_in.join(&program).to_string_lossy().into_owned() } else { program };
    // What JSON writes as a string, TOML reads as one.
    let quoted = |text: &str| serde_json::to_string(text).expect("plain data");
    let mut system = format!(
        "name = \"{SYSTEM}\"\nsummary = \"the server of known truth\"\nkind = \"service\"\nanswers = [\"{WORKLOAD}\"]\n[start]\nrun = [{}, \"--port\", \"{{port.http}}\", \"--body-file\", \"../../workloads/{WORKLOAD}.txt\", \"{{variant.args}}\"]\nports = [\"http\"]\n[ready]\nwithin = \"10s\"\n[stop]\nsignal = \"TERM\"\nwithin = \"5s\"\n",
        quoted(&program)
    );
    for (name, flags) in variants() {
        let flags: Vec<String> = flags.iter().map(|flag| quoted(flag)).collect();
        system += &format!("[variants.{name}]\nsummary = \"{name}\"\nargs = [{}]\n", flags.join(", "));
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

/// Reads the manifest of the server in a user's catalog.
///
/// # Errors
/// There is none.
pub fn control(catalog: &model::catalog::Catalog) -> Result<System, Problems> {
    if !catalog.system_names().iter().any(|name| name == SYSTEM) {
        return Err(Problems::plain(
            format!("{} holds no system `{SYSTEM}`, the server of known truth that a self-test measures", catalog.dir().display()),
            "run it in the folder of faceoff's own sources, or name that with --dir",
        ));
    }
    catalog.system(SYSTEM)
}

/// The CPU time that a request burns.
pub fn cpu(scale: Scale) -> Experiment {
    let others = MORE.map(|percent| burns(more(BURN, percent)));
    let cells = vec![cell(CLOSED, Load::closed(4)), cell(OPEN, Load::arrivals(RATE, 1_000))];
    experiment("cpu", burns(BURN), others, cells, Duration::from_millis(800), scale)
}

/// The delay that an answer takes.
pub fn delay(scale: Scale) -> Experiment {
    let others = MORE.map(|percent| delays(more(DELAY, percent)));
    experiment("delay", delays(DELAY), others, vec![cell(OPEN, Load::arrivals(DELAY_RATE, 1_000))], Duration::from_millis(800), scale)
}

/// A server that stands still now and then.
pub fn stall(scale: Scale) -> Experiment {
    let cells = vec![cell(OPEN, Load::arrivals(RATE, 1_000))];
    // Whole periods: whenever it began, each instant of a period is met equally often.
    let periods = (4.0 * scale.stretch).round().max(2.0) as u32;
    let scale = Scale { stretch: 1.0, ..scale };
    experiment("stall", frozen(STALLS[0]), STALLS[1..].iter().map(|s| frozen(*s)), cells, STALL_EVERY * periods, scale)
}

/// What a process holds; the same server twice; and the generator's ceiling.
pub fn held(scale: Scale) -> Experiment {
    let cells = vec![cell(CLOSED, Load::closed(CONNECTIONS)), cell(OPEN, Load::arrivals(RATE, 1_000))];
    experiment("held", plain(), [again(), memory(), threads()], cells, Duration::from_millis(600), scale)
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
        question: "Does the instrument measure what is known?".into(),
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
            margin: 0.05,
            confidence: super::CONFIDENCE,
            seed: 1,
            warmup: Duration::from_millis(200),
            warmup_least: Duration::ZERO,
            warmup_workloads: vec![],
            measure: measure.mul_f64(scale.stretch).max(Duration::from_millis(100)),
            budget: Duration::from_secs(3_600),
        },
        place: Place::default(),
        claims: vec![],
        quick: None,
        published: None,
        analysis: None,
    }
}

/// Every experiment in turn.
pub fn all(scale: Scale) -> [Experiment; 4] {
    [cpu(scale), delay(scale), stall(scale), held(scale)]
}

/// What a truth compares.
pub fn label(metric: Metric) -> String {
    metric.describe().label.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::catalog::Catalog;

    #[test]
    fn the_written_catalog_holds_whoever_is_measured() {
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
            for name in experiment.everybody() {
                let found = catalog.contender(name).unwrap_or_else(|e| panic!("{e}"));
                assert!(found.system.start.run[0].ends_with("systems/control/bin/control"), "{:?}", found.system.start.run);
            }
            for cell in &experiment.cells {
                catalog.workload(&cell.workload).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }

    #[test]
    fn a_stall_is_measured_over_whole_periods() {
        for scale in [Scale::USUAL, Scale::FULL, Scale::within(10), Scale::within(100)] {
            assert_eq!(stall(scale).design.measure.as_nanos() % STALL_EVERY.as_nanos(), 0);
        }
        assert_eq!(Scale::within(120).blocks, 6);
        assert_eq!(Scale::within(0).blocks, 1);
    }
}
