//! Has another generator make a load: runs it, samples it, and reads what it reports.

use crate::trial::{SETTLE, Setup};
use load::Protocol;
use model::article::{Figure, Row};
use model::experiment::{Cell, Experiment};
use model::outputs::{self, SOCKET_ERRORS};
use model::record::{Fault, SkippedCell, Usage};
use model::system::StopSignal;
use model::units::show_duration;
use model::witness::{Driver, Task, Translated, Witnessed, translate};
use runner::circumstances;
use runner::process::{Process, Spec, last_lines};
use runner::start::{Running, Surroundings};
use runner::usage::Sampler;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A tool may take so much longer than its load: to begin, and to sum up.
const BESIDES: Duration = Duration::from_secs(60);
/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How many of its last lines are told.
const LOG_LINES: usize = 8;

/// What a tool runs with.
pub struct Means<'a> {
    /// Its program.
    pub program: &'a Path,
    /// A folder for its plan and its results.
    pub folder: &'a Path,
    /// Where what it prints goes.
    pub log: &'a Path,
    /// The CPUs that it may use, and its sampler; empty for all.
    pub cpus: &'a [usize],
    /// The run's id.
    pub run: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

/// Why a tool has nothing to report.
#[derive(Debug)]
pub enum Trouble {
    /// It was asked to stop.
    Interrupted,
    /// It failed, or says what nobody understands.
    Failed {
        /// What happened.
        cause: String,
        /// The last lines that it wrote.
        log: Vec<String>,
        /// What to do.
        hint: String,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trouble::Failed { cause, log, hint } = self else { return f.write_str("interrupted") };
        f.write_str(cause)?;
        log.iter().try_for_each(|line| write!(f, "\n  | {line}"))?;
        write!(f, "\nhint: {hint}")
    }
}

/// Where a program stands on the PATH.
pub fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |file: &Path| std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_absolute() && runs(file))
}

/// Where the program of a driver stands.
pub fn program(driver: Driver) -> Option<PathBuf> {
    find(driver.name(), &std::env::var_os("PATH").unwrap_or_default())
}

/// Has a tool make a load: what it says of it, and what it used.
///
/// # Errors
/// A tool that fails, or that is not understood.
pub fn run(driver: Driver, task: &Task<'_>, translated: &Translated, means: &Means<'_>) -> Result<(Row, Usage), Trouble> {
    let failed = |cause: String, hint: &str| Trouble::Failed { cause, log: last_lines(means.log, LOG_LINES), hint: hint.to_owned() };
    for (file, text) in &translated.files {
        let path = means.folder.join(file);
        std::fs::write(&path, text).map_err(|e| failed(format!("{} cannot be written: {e}", path.display()), "is the disk full?"))?;
    }
    let at_most = task.duration + task.timeout + BESIDES;
    let env = translated.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let call = |arguments: &[String]| call(driver, arguments, &env, at_most, means);
    translated.prepare.iter().try_for_each(|arguments| call(arguments).map(drop))?;
    let usage = call(&translated.arguments)?;
    translated.sum_up.iter().try_for_each(|arguments| call(arguments).map(drop))?;
    let results = translated.results.map_or_else(|| means.log.to_owned(), |file| means.folder.join(file));
    let mut row = read(&results)
        .ok_or_else(|| failed(format!("the results of {} are not understood", driver.name()), "another version may print otherwise"))?;
    if driver.is_silent_about_none() {
        let errors = socket_errors(&row);
        row.errors.get_or_insert_with(|| Figure::exact(errors as f64, errors.to_string()));
    }
    Ok((row, usage))
}

/// Calls it and waits for its end; what it uses is sampled.
fn call(
    driver: Driver,
    arguments: &[String],
    env: &BTreeMap<String, String>,
    at_most: Duration,
    means: &Means<'_>,
) -> Result<Usage, Trouble> {
    let name = driver.name();
    let failed = |cause: String, hint: &str| Trouble::Failed { cause, log: last_lines(means.log, LOG_LINES), hint: hint.to_owned() };
    let command: Vec<String> = std::iter::once(means.program.display().to_string()).chain(arguments.iter().cloned()).collect();
    let spec = Spec {
        command: &command,
        folder: means.folder,
        env,
        cpus: means.cpus,
        descriptors: None,
        log: means.log,
        user: None,
        run: means.run,
    };
    let mut process = Process::start(&spec).map_err(|why| failed(why, driver.hint()))?;
    let usable = runner::cpus::usable();
    let sampler = Sampler::start(&[process.pid], &[], if means.cpus.is_empty() { &usable } else { means.cpus });
    let begun = Instant::now();
    while process.await_end(LOOK).is_none() && begun.elapsed() < at_most && !means.stop.load(Ordering::Relaxed) {}
    let usage = sampler.stop();
    let ended = process.ended().map(|ended| ended.status.clone());
    process.stop(StopSignal::Term, Duration::from_secs(2));
    if means.stop.load(Ordering::Relaxed) {
        return Err(Trouble::Interrupted);
    }
    match ended.as_deref() {
        Some("exit 0") => Ok(usage),
        Some(status) => Err(failed(format!("{name} ended with {status}"), "what it says is above")),
        None => Err(failed(format!("{name} did not end within {}", show_duration(at_most)), "measure for less")),
    }
}

/// Those that wrk tells apart, together: `connect 0, read 12, write 0, timeout 3`.
fn socket_errors(row: &Row) -> u64 {
    let said = row.other.iter().filter(|(name, _)| name == SOCKET_ERRORS);
    said.flat_map(|(_, text)| text.split([' ', ','])).filter_map(|word| word.parse::<u64>().ok()).sum()
}

fn read(results: &Path) -> Option<Row> {
    let results = std::fs::File::open(results).ok()?;
    outputs::read("results", results).ok()?.rows.into_iter().next()
}

/// Leaves out the cells whose driver is not there.
pub(crate) fn leave_out(experiment: &mut Experiment) -> Vec<SkippedCell> {
    let reason = |driver: Driver| format!("needs {} on the PATH ({})", driver.name(), driver.hint());
    let missing = |cell: &Cell| cell.driver.filter(|driver| program(*driver).is_none());
    let skipped = experiment.cells.iter().filter_map(|cell| Some(SkippedCell { cell: cell.name.clone(), reason: reason(missing(cell)?) }));
    let skipped: Vec<SkippedCell> = skipped.collect();
    experiment.cells.retain(|cell| missing(cell).is_none());
    skipped
}

/// Has the driver of a cell make its load on a contender, on the CPUs of our own generator.
pub(crate) fn of_cell(
    setup: &Setup<'_>,
    (cell, driver): (&Cell, Driver),
    position: u32,
    running: &Running,
    around: &Surroundings<'_>,
) -> Result<Witnessed, Fault> {
    let trouble = |cause: &str, hint: &str| not_witnessed(cell, driver, cause, hint);
    let program = program(driver).ok_or_else(|| trouble("it is not on the PATH any more", driver.hint()))?;
    let has_tls = running.target.tls.is_some();
    let cpus = &setup.cpus.generator;
    let task = Task {
        server: format!("{}://{}", if has_tls { "https" } else { "http" }, running.address),
        workload: &setup.workloads[&cell.asks()],
        load: &cell.load,
        duration: setup.experiment.design.measure,
        timeout: cell.timeout,
        threads: cpus.len().max(1) as u32,
        is_http2: running.target.protocol == Protocol::Http2,
        closes: running.target.protocol == Protocol::Http1 { keep_alive: false },
        // Systems sign for themselves.
        is_insecure: has_tls,
    };
    let translated = translate(driver, &task).map_err(|why| trouble(&format!("it cannot make this load: {why}"), "leave the cell out"))?;
    // It is not run where faceoff is.
    let folder = std::path::absolute(around.work.join(format!("witness-{}", cell.name)));
    // What it is told holds the secrets of the requests.
    let private = |folder: &PathBuf| DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let folder = folder.and_then(|folder| private(&folder).map(|()| folder));
    let folder = folder.map_err(|e| trouble(&format!("its folder cannot be made: {e}"), "make room"))?;
    let log = folder.with_file_name(format!("witness-{}.log", cell.name));
    let means = Means { program: &program, folder: &folder, log: &log, cpus, run: around.run, stop: around.stop };
    std::thread::sleep(SETTLE);
    let before = circumstances::Reading::now(&setup.cpus.all(), setup.awake);
    let ran = run(driver, &task, &translated, &means);
    let circumstances = before.until_now();
    let _ = std::fs::remove_dir_all(&folder);
    let (reported, usage) = ran.map_err(|why| match why {
        Trouble::Interrupted => trouble("it was asked to stop", "go on with --resume"),
        Trouble::Failed { cause, log, hint } => trouble(&[cause].into_iter().chain(log).collect::<Vec<_>>().join("\n  | "), &hint),
    })?;
    Ok(Witnessed {
        cell: cell.name.clone(),
        position,
        driver,
        arguments: translated.arguments,
        differs: translated.differs,
        reported,
        usage,
        circumstances: Some(circumstances),
    })
}

/// Another generator that did not make its load: of no concern to what ours measured.
fn not_witnessed(cell: &Cell, driver: Driver, cause: &str, hint: &str) -> Fault {
    Fault { kind: "witness".into(), evidence: format!("cell {}, {}: {cause}", cell.name, driver.name()), hint: hint.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_on_sockets_is_counted_together() {
        let row = |said: &str| Row { other: vec![(SOCKET_ERRORS.into(), said.into())], ..Row::default() };
        assert_eq!(socket_errors(&row("connect 1, read 12, write 0, timeout 3")), 16);
        assert_eq!(socket_errors(&Row::default()), 0);
    }

    #[test]
    fn a_program_is_found_where_it_may_be_run() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wrk");
        std::fs::write(&file, "").unwrap();
        assert_eq!(find("wrk", folder.path().as_os_str()), None, "it may not be run");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("wrk", folder.path().as_os_str()), Some(file));
    }
}
