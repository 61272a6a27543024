//! Has another tool, such as wrk or k6, make the load of a cell.

use super::setup::{SETTLE, Setup};
use crate::external_generator::{GeneratorError, Means, driver_program, run};
use interop::external_generator::translate;
use load::Protocol;
use record::ExternalReport;
use record::Fault;
use runner::circumstances;
use runner::place::Surroundings;
use runner::start::Running;
use spec::experiment::Cell;
use spec::experiment::external_generator::{Driver, Task};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Has the driver of a cell make its load, on the CPUs of our own generator.
///
/// # Errors
/// A fault, if the tool is missing, cannot make this load, or fails.
pub(super) fn measure(
    setup: &Setup<'_>,
    (cell, driver): (&Cell, Driver),
    position: u32,
    running: &Running,
    around: &Surroundings<'_>,
) -> Result<ExternalReport, Fault> {
    let fault = |cause: &str, hint: &str| fault_of_driver(cell, driver, cause, hint);
    let program = driver_program(driver)
        .ok_or_else(|| fault("it is no longer on the PATH", driver.hint()))?;
    let written = setup.workload(cell);
    let moved = running.target.path.as_ref().map(|path| written.with_path(path));
    let has_tls = running.target.tls.is_some();
    let task = Task {
        server: format!("{}://{}", if has_tls { "https" } else { "http" }, running.address),
        workload: moved.as_ref().unwrap_or(written),
        load: &cell.load,
        duration: setup.experiment.design.measure,
        timeout: cell.timeout,
        threads: setup.cpus.generator.len().max(1) as u32,
        is_http2: running.target.protocol == Protocol::Http2,
        closes: running.target.protocol == Protocol::Http1 { keep_alive: false },
        // The certificates of systems are self-signed.
        is_insecure: has_tls,
    };
    let translated = translate(driver, &task)
        .map_err(|why| fault(&format!("it cannot make this load: {why}"), "remove the cell"))?;
    let folder = private_folder(around.work, cell)
        .map_err(|e| fault(&format!("its folder cannot be made: {e}"), "free some disk space"))?;
    let means = Means {
        program: &program,
        folder: &folder,
        log: &folder.with_file_name(format!("external-{}.log", cell.name)),
        cpus: &setup.cpus.generator,
        run: around.run,
        stop: around.stop,
    };
    std::thread::sleep(SETTLE);
    let before = circumstances::Reading::now(&setup.cpus.all_cpus(), setup.awake);
    let ran = run(driver, &task, &translated, &means);
    let circumstances = before.until_now();
    let _ = std::fs::remove_dir_all(&folder);
    let (reported, usage) = ran.map_err(|why| match why {
        GeneratorError::Interrupted => fault("it was asked to stop", "continue with --resume"),
        GeneratorError::Failed { cause, log, hint } => {
            fault(&[cause].into_iter().chain(log).collect::<Vec<_>>().join("\n  | "), &hint)
        }
    })?;
    Ok(ExternalReport {
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

/// Makes a folder for the files of the tool. They hold the secrets of the requests, so no other
/// user may read them. The path is absolute because the tool runs in another folder.
fn private_folder(work: &Path, cell: &Cell) -> std::io::Result<PathBuf> {
    let folder = std::path::absolute(work.join(format!("external-{}", cell.name)))?;
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(folder)
}

/// The fault of another generator that did not make its load. It invalidates nothing that ours
/// measured.
fn fault_of_driver(cell: &Cell, driver: Driver, cause: &str, hint: &str) -> Fault {
    Fault {
        kind: "external-generator".into(),
        evidence: format!("cell {}, {}: {cause}", cell.name, driver.name()),
        hint: hint.into(),
    }
}
