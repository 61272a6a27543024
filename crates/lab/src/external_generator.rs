//! Runs another load generator, such as wrk or k6, and reads its results.
//!
//! The crate `interop` translates a load into the arguments and files of the tool, and parses what
//! the tool prints. This module writes the files, runs the process, and samples its CPU time and
//! memory. Start with [`run`].

use interop::external_generator::Translated;
use interop::outputs;
use record::{SkippedCell, Usage, log_lines};
use runner::process::{Process, Spec, last_lines};
use runner::usage::Sampler;
use spec::article::SOCKET_ERRORS;
use spec::article::{Figure, Row};
use spec::experiment::external_generator::{Driver, Task};
use spec::experiment::{Cell, Experiment};
use spec::system::StopSignal;
use spec::units::show_duration;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time that a tool may take in addition to its load: to start, and to write its summary.
const OVERHEAD: Duration = Duration::from_secs(60);
/// How often to check whether a tool has ended.
const POLL: Duration = Duration::from_millis(50);
/// Number of last lines of its output in an error.
const LOG_LINES: usize = 8;

/// The environment that a tool runs in.
pub struct Means<'a> {
    /// The program of the tool.
    pub program: &'a Path,
    /// A folder for its plan and its results.
    pub folder: &'a Path,
    /// File for its output.
    pub log: &'a Path,
    /// CPUs that the tool and its sampler may use; empty for all.
    pub cpus: &'a [usize],
    /// The run's id.
    pub run: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

/// Why a tool has no result.
#[derive(Debug)]
pub enum GeneratorError {
    /// The run was asked to stop.
    Interrupted,
    /// The tool failed, or its output cannot be parsed.
    Failed {
        /// The cause.
        cause: String,
        /// The last lines that the tool wrote.
        log: Vec<String>,
        /// A way to fix it.
        hint: String,
    },
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GeneratorError::Failed { cause, log, hint } = self else {
            return f.write_str("interrupted");
        };
        write!(f, "{cause}{}\nhint: {hint}", log_lines(log))
    }
}

/// Finds a program in the folders of a PATH.
pub fn find_program(program: &str, path: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |file: &Path| {
        std::fs::metadata(file)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_absolute() && runs(file))
}

/// Finds the program of a driver on the PATH.
pub fn driver_program(driver: Driver) -> Option<PathBuf> {
    find_program(driver.name(), &std::env::var_os("PATH").unwrap_or_default())
}

/// Has a tool make a load. Returns what the tool reported, and the resources that it used.
///
/// # Errors
/// A tool that fails, or whose output cannot be parsed.
pub fn run(
    driver: Driver,
    task: &Task<'_>,
    translated: &Translated,
    means: &Means<'_>,
) -> Result<(Row, Usage), GeneratorError> {
    let failed = |cause: String, hint: &str| failed(means, cause, hint);
    for (file, text) in &translated.files {
        let path = means.folder.join(file);
        std::fs::write(&path, text).map_err(|e| {
            failed(format!("{} cannot be written: {e}", path.display()), "is the disk full?")
        })?;
    }
    let at_most = task.duration + task.timeout + OVERHEAD;
    let env = translated
        .env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let call = |arguments: &[String]| call(driver, arguments, &env, at_most, means);
    translated.prepare.iter().try_for_each(|arguments| call(arguments).map(drop))?;
    let usage = call(&translated.arguments)?;
    translated.sum_up.iter().try_for_each(|arguments| call(arguments).map(drop))?;
    let results =
        translated.results.map_or_else(|| means.log.to_owned(), |file| means.folder.join(file));
    let mut row = read_results(&results).ok_or_else(|| {
        failed(
            format!("the results of {} are not understood", driver.name()),
            "another version of it may print another format",
        )
    })?;
    if driver.is_silent_about_none() {
        let errors = socket_errors(&row);
        row.errors.get_or_insert_with(|| Figure::exact(errors as f64, errors.to_string()));
    }
    Ok((row, usage))
}

fn failed(means: &Means<'_>, cause: String, hint: &str) -> GeneratorError {
    let log = last_lines(means.log, LOG_LINES);
    GeneratorError::Failed { cause, log, hint: hint.to_owned() }
}

/// Runs the tool until it ends, and samples the resources that it uses.
fn call(
    driver: Driver,
    arguments: &[String],
    env: &BTreeMap<String, String>,
    at_most: Duration,
    means: &Means<'_>,
) -> Result<Usage, GeneratorError> {
    let name = driver.name();
    let failed = |cause: String, hint: &str| failed(means, cause, hint);
    let command: Vec<String> = std::iter::once(means.program.display().to_string())
        .chain(arguments.iter().cloned())
        .collect();
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
    let sampler = Sampler::start(
        &[process.pid],
        &[],
        if means.cpus.is_empty() { &usable } else { means.cpus },
    );
    let begun = Instant::now();
    while process.await_end(POLL).is_none()
        && begun.elapsed() < at_most
        && !means.stop.load(Ordering::Relaxed)
    {}
    let usage = sampler.stop();
    let ended = process.ended().map(|ended| ended.status.clone());
    process.stop(StopSignal::Term, Duration::from_secs(2));
    if means.stop.load(Ordering::Relaxed) {
        return Err(GeneratorError::Interrupted);
    }
    match ended.as_deref() {
        Some("exit 0") => Ok(usage),
        Some(status) => Err(failed(format!("{name} ended with {status}"), "see its output above")),
        None => Err(failed(
            format!("{name} did not end within {}", show_duration(at_most)),
            "measure for less",
        )),
    }
}

/// Adds up the socket errors that wrk reports separately: `connect 0, read 12, write 0, timeout 3`.
fn socket_errors(row: &Row) -> u64 {
    let reported = row.other.iter().filter(|(name, _)| name == SOCKET_ERRORS);
    reported
        .flat_map(|(_, text)| text.split([' ', ',']))
        .filter_map(|word| word.parse::<u64>().ok())
        .sum()
}

fn read_results(results: &Path) -> Option<Row> {
    let results = std::fs::File::open(results).ok()?;
    outputs::read_outputs("results", results).ok()?.into_iter().next()?.rows.into_iter().next()
}

/// Removes the cells whose driver is not installed, and returns them.
pub(crate) fn remove_missing(experiment: &mut Experiment) -> Vec<SkippedCell> {
    let reason =
        |driver: Driver| format!("needs {} on the PATH ({})", driver.name(), driver.hint());
    let missing = |cell: &Cell| cell.driver.filter(|driver| driver_program(*driver).is_none());
    let skipped = experiment.cells.iter().filter_map(|cell| {
        Some(SkippedCell { cell: cell.name.clone(), reason: reason(missing(cell)?) })
    });
    let skipped: Vec<SkippedCell> = skipped.collect();
    experiment.cells.retain(|cell| missing(cell).is_none());
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_errors_of_wrk_are_added_up() {
        let row =
            |text: &str| Row { other: vec![(SOCKET_ERRORS.into(), text.into())], ..Row::default() };
        assert_eq!(socket_errors(&row("connect 1, read 12, write 0, timeout 3")), 16);
        assert_eq!(socket_errors(&Row::default()), 0);
    }

    #[test]
    fn only_an_executable_file_is_found_as_a_program() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wrk");
        std::fs::write(&file, "").unwrap();
        assert_eq!(find_program("wrk", folder.path().as_os_str()), None, "not executable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_program("wrk", folder.path().as_os_str()), Some(file));
    }
}
