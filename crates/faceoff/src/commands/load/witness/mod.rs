//! `faceoff load --driver`: the same load by another generator, as a witness of what ours says, and what that one costs.

use super::{FAILED, Format, Run};
use crate::exit::Error;
use crate::output::{json, message, print};
use lab::witness::{Means, Trouble, program};
use load::{Address, Target, ask};
use model::article::{Figure, Row};
use model::experiment::Load;
use model::problem::Problems;
use model::record::Usage;
use model::units::{show_bytes, show_duration, show_number};
use model::witness::{Driver, Task, Translated, translate};
use model::workload::Workload;
use serde_json::{Map, Value, json as value};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const SCHEMA: &str = "faceoff.witness.v1";

/// What it said and what it used.
struct Witnessed {
    row: Row,
    usage: Usage,
}

/// Has another generator make the load, reads its results, and shows them with its cost.
pub fn run(run: &Run, driver: Driver, task: &Task<'_>, format: Format) -> Result<ExitCode, Error> {
    let name = driver.name();
    let translated = translate(driver, task)
        .map_err(|why| Problems::plain(format!("{name} cannot make this load: {why}"), "change what it names, or leave out --driver"))?;
    let program = program(driver).ok_or_else(|| Error::Failed(format!("{name} is not on the PATH\nhint: {}", driver.hint())))?;
    prove(&run.target, &run.workload, run.timeout)?;
    let folder = Folder::new()?;
    message(&format!("{} by {name}, for {}", task.load.describe(), show_duration(task.duration)));
    let (log, stop) = (folder.0.join("output.txt"), crate::signals::stop_flag());
    let means = Means { program: &program, folder: &folder.0, log: &log, cpus: &[], run: "load", stop: &stop };
    let (row, usage) = lab::witness::run(driver, task, &translated, &means).map_err(|why| match why {
        Trouble::Interrupted => Error::Interrupted(crate::signals::code()),
        failed @ Trouble::Failed { .. } => Error::Failed(failed.to_string()),
    })?;
    let witnessed = Witnessed { row, usage };
    let answers = witnessed.row.samples.as_ref().map_or(0.0, Figure::value);
    match format {
        Format::Json => json(&to_json(driver, task.load, &translated, &witnessed)),
        Format::Text | Format::Csv => print(&to_text(driver, &translated, &witnessed)),
    }
    Ok(ExitCode::from(if answers > 0.0 { 0 } else { FAILED }))
}

/// No other tool checks whole answers: they are proved before.
fn prove(target: &Target, workload: &Workload, timeout: Duration) -> Result<(), Error> {
    let address = target.addresses.iter().find_map(|address| if let Address::Tcp(address) = address { Some(*address) } else { None });
    let Some(address) = address else {
        return Err(Problems::plain("other generators do not connect to Unix sockets", "give a port").into());
    };
    ask(address, target, workload, timeout).map(drop).map_err(|wrong| {
        Error::Failed(format!("the server does not answer rightly: {wrong}\nhint: see what it answers with `faceoff load -n 1`"))
    })
}

/// A folder of its own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, Error> {
        let path = std::env::temp_dir().join(format!("faceoff-witness-{}", std::process::id()));
        let failed = |e: std::io::Error| Error::Failed(format!("{} cannot be made: {e}\nhint: is the folder writable?", path.display()));
        let _ = std::fs::remove_dir_all(&path);
        // What another generator is told holds the secrets of the requests.
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

/// What it used for each request, in microseconds of CPU.
fn cpu_us(witnessed: &Witnessed) -> Option<f64> {
    number(&witnessed.row.samples).filter(|n| *n > 0.0).map(|n| witnessed.usage.cpu_ns as f64 / 1e3 / n)
}

fn to_json(driver: Driver, load: &Load, translated: &Translated, witnessed: &Witnessed) -> Value {
    let Witnessed { row, usage } = witnessed;
    let quantiles: Map<String, Value> =
        row.latency.quantiles.iter().map(|(percent, figure)| (format!("p{percent}"), value!(figure.value() * 1e6))).collect();
    value!({
        "schema": SCHEMA,
        "driver": driver.name(),
        "arguments": translated.arguments,
        "load": load.describe(),
        "reported": {
            "requests": number(&row.samples),
            "rate_per_s": number(&row.throughput),
            "errors": number(&row.errors),
            "error_share": number(&row.error_share),
            "other": row.other.iter().map(|(what, text)| (what.clone(), value!(text))).collect::<Map<_, _>>(),
            "latency_us": {"min": us(&row.latency.min), "mean": us(&row.latency.mean), "max": us(&row.latency.max), "quantiles": quantiles},
        },
        "cost": {
            "cpu_s": usage.cpu_ns as f64 / 1e9,
            "cpu_us_per_request": cpu_us(witnessed),
            "rss_max_bytes": usage.rss_max_bytes,
            "threads_max": usage.threads_max,
        },
        "differs": translated.differs,
    })
}

fn to_text(driver: Driver, translated: &Translated, witnessed: &Witnessed) -> String {
    let Witnessed { row, usage } = witnessed;
    let shown = |figure: &Option<Figure>| figure.as_ref().map_or("-".to_owned(), |figure| figure.text().to_owned());
    let mut text = format!("by         {} {}\n", driver.name(), translated.arguments.join(" "));
    text += &format!("reached    {}/s, {} requests\n", number(&row.throughput).map_or("-".into(), show_number), shown(&row.samples));
    let errors = if row.errors.is_some() { shown(&row.errors) } else { shown(&row.error_share) };
    let others: String = row.other.iter().map(|(what, other)| format!(", {what}: {other}")).collect();
    text += &format!("errors     {errors}{others}\n");
    let quantiles: Vec<String> = row.latency.quantiles.iter().map(|(percent, figure)| format!("p{percent} {}", figure.text())).collect();
    text += &format!(
        "latency    mean {}, max {}, {}\n",
        shown(&row.latency.mean),
        shown(&row.latency.max),
        if quantiles.is_empty() { "no quantiles".into() } else { quantiles.join(", ") }
    );
    let each = cpu_us(witnessed).map_or(String::new(), |us| format!(", {} µs a request", show_number(us)));
    text +=
        &format!("cost       {} of CPU{each}, {}\n", show_duration(Duration::from_nanos(usage.cpu_ns)), show_bytes(usage.rss_max_bytes));
    for differs in &translated.differs {
        text += &format!("differs    {differs}\n");
    }
    text
}

#[cfg(test)]
mod tests;
