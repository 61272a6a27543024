//! `faceoff load --driver`: generates the same load with another tool, and shows its results and
//! its cost.

use super::options::Format;
use super::planned_load::PlannedLoad;
use crate::exit::{Error, FAILED};
use crate::output::{json, message, print};
use interop::external_generator::{Translated, translate};
use lab::external_generator::{GeneratorError, Means, driver_program};
use load::{Address, Target, ask};
use record::Usage;
use record::load_report::{
    EXTERNAL_LOAD_SCHEMA, ExternalLoadReport, GeneratorCost, ReportedFigures, ReportedTimes,
};
use spec::article::{Figure, Row};
use spec::experiment::Load;
use spec::experiment::external_generator::{Driver, Task};
use spec::problem::Problems;
use spec::units::{show_bytes, show_duration, show_number};
use spec::workload::Workload;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What the other generator reported and used.
struct Report {
    row: Row,
    usage: Usage,
}

/// Generates the load with another generator, and prints its results with its cost.
pub fn run(
    run: &PlannedLoad,
    driver: Driver,
    task: &Task<'_>,
    format: Format,
) -> Result<ExitCode, Error> {
    let name = driver.name();
    let translated = translate(driver, task).map_err(|why| {
        Problems::plain(
            format!("{name} cannot generate this load: {why}"),
            "change the options that it names, or leave out --driver",
        )
    })?;
    let program = driver_program(driver).ok_or_else(|| {
        Error::Failed(format!("{name} is not on the PATH\nhint: {}", driver.hint()))
    })?;
    check_response(&run.target, &run.workload, run.timeout)?;
    let folder = Folder::new()?;
    message(&format!("{} by {name}, for {}", task.load.describe(), show_duration(task.duration)));
    let (log, stop) = (folder.0.join("output.txt"), crate::signals::stop_flag());
    let means = Means {
        program: &program,
        folder: &folder.0,
        log: &log,
        cpus: &[],
        run: "load",
        stop: &stop,
    };
    let (row, usage) = lab::external_generator::run(driver, task, &translated, &means).map_err(
        |why| match why {
            GeneratorError::Interrupted => Error::Interrupted(crate::signals::code()),
            failed @ GeneratorError::Failed { .. } => Error::Failed(failed.to_string()),
        },
    )?;
    let report = Report { row, usage };
    let answers = report.row.samples.as_ref().map_or(0.0, Figure::value);
    match format {
        Format::Json => json(&json_report(driver, task.load, &translated, &report)),
        Format::Text | Format::Csv => print(&to_text(driver, &translated, &report)),
    }
    Ok(ExitCode::from(if answers > 0.0 { 0 } else { FAILED }))
}

/// Checks one response before the load, because other tools do not check whole responses.
fn check_response(target: &Target, workload: &Workload, timeout: Duration) -> Result<(), Error> {
    let address = target.addresses.iter().find_map(|address| {
        if let Address::Tcp(address) = address { Some(*address) } else { None }
    });
    let Some(address) = address else {
        return Err(Problems::plain(
            "other generators do not connect to Unix sockets",
            "give a port",
        )
        .into());
    };
    ask(address, target, workload, timeout).map(drop).map_err(|wrong| {
        Error::Failed(format!("the server does not respond correctly: {wrong}\nhint: `faceoff load -n 1` shows its response"))
    })
}

/// A temporary folder, which is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, Error> {
        let path = std::env::temp_dir().join(format!("faceoff-generator-{}", std::process::id()));
        let failed = |e: std::io::Error| {
            Error::Failed(format!(
                "{} cannot be created: {e}\nhint: check that the folder is writable",
                path.display()
            ))
        };
        let _ = std::fs::remove_dir_all(&path);
        // The generator's input files contain the secrets of the requests.
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn us(figure: &Option<Figure>) -> Option<f64> {
    figure.as_ref().map(|figure| figure.value() * 1e6)
}

fn number(figure: &Option<Figure>) -> Option<f64> {
    figure.as_ref().map(Figure::value)
}

/// CPU time per request of the other generator, in microseconds.
fn cpu_us(report: &Report) -> Option<f64> {
    number(&report.row.samples).filter(|n| *n > 0.0).map(|n| report.usage.cpu_ns as f64 / 1e3 / n)
}

fn json_report<'a>(
    driver: Driver,
    load: &Load,
    translated: &'a Translated,
    report: &Report,
) -> ExternalLoadReport<'a> {
    let Report { row, usage } = report;
    let quantiles = row.latency.quantiles.iter();
    let other = row.other.iter().map(|(what, text)| (what.clone(), text.as_str().into()));
    ExternalLoadReport {
        schema: EXTERNAL_LOAD_SCHEMA,
        driver,
        arguments: &translated.arguments,
        load: load.describe(),
        reported: ReportedFigures {
            requests: number(&row.samples),
            rate_per_s: number(&row.throughput),
            errors: number(&row.errors),
            error_share: number(&row.error_share),
            other: other.collect(),
            latency_us: ReportedTimes {
                min: us(&row.latency.min),
                mean: us(&row.latency.mean),
                max: us(&row.latency.max),
                quantiles: quantiles
                    .map(|(percent, figure)| (format!("p{percent}"), (figure.value() * 1e6).into()))
                    .collect(),
            },
        },
        cost: GeneratorCost {
            cpu_s: usage.cpu_ns as f64 / 1e9,
            cpu_us_per_request: cpu_us(report),
            rss_max_bytes: usage.rss_max_bytes,
            threads_max: usage.threads_max,
        },
        differs: &translated.differs,
    }
}

fn to_text(driver: Driver, translated: &Translated, report: &Report) -> String {
    let Report { row, usage } = report;
    let shown = |figure: &Option<Figure>| {
        figure.as_ref().map_or("-".to_owned(), |figure| figure.text().to_owned())
    };
    let mut text = format!("by         {} {}\n", driver.name(), translated.arguments.join(" "));
    text += &format!(
        "reached    {}/s, {} requests\n",
        number(&row.throughput).map_or("-".into(), show_number),
        shown(&row.samples)
    );
    let errors = if row.errors.is_some() { shown(&row.errors) } else { shown(&row.error_share) };
    let others: String =
        row.other.iter().map(|(what, other)| format!(", {what}: {other}")).collect();
    text += &format!("errors     {errors}{others}\n");
    let quantiles: Vec<String> = row
        .latency
        .quantiles
        .iter()
        .map(|(percent, figure)| format!("p{percent} {}", figure.text()))
        .collect();
    text += &format!(
        "latency    mean {}, max {}, {}\n",
        shown(&row.latency.mean),
        shown(&row.latency.max),
        if quantiles.is_empty() { "no quantiles".into() } else { quantiles.join(", ") }
    );
    let each =
        cpu_us(report).map_or(String::new(), |us| format!(", {} µs per request", show_number(us)));
    text += &format!(
        "cost       {} of CPU{each}, {}\n",
        show_duration(Duration::from_nanos(usage.cpu_ns)),
        show_bytes(usage.rss_max_bytes)
    );
    for differs in &translated.differs {
        text += &format!("differs    {differs}\n");
    }
    text
}
