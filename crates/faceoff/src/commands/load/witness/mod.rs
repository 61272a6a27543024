//! `faceoff load --driver`: the same load by another generator, as a witness of what ours says, and what that one costs.

mod jmeter;
mod plans;

pub use plans::{Driver, Task};

use super::{FAILED, Format, Run};
use crate::commands::audit;
use crate::exit::Error;
use crate::output::{json, message, print};
use load::{Address, Target, ask};
use model::article::{Figure, Row};
use model::experiment::Load;
use model::problem::Problems;
use model::record::Usage;
use model::system::StopSignal;
use model::units::{show_bytes, show_duration, show_number};
use model::workload::Workload;
use plans::{Translated, find, translate};
use runner::process::{Process, Spec};
use runner::usage::Sampler;
use serde_json::{Map, Value, json as value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SCHEMA: &str = "faceoff.witness.v1";
/// A tool may take so much longer than its load: to begin, and to sum up.
const BESIDES: Duration = Duration::from_secs(60);
/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

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
    let program = find(name, &std::env::var_os("PATH").unwrap_or_default())
        .ok_or_else(|| Error::Failed(format!("{name} is not on the PATH\nhint: {}", driver.hint())))?;
    prove(&run.target, &run.workload, run.timeout)?;
    let folder = Folder::new()?;
    let witnessed = witness(&program, driver, task, &translated, &folder.0)?;
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
        std::fs::create_dir(&path).map_err(failed)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn witness(program: &Path, driver: Driver, task: &Task<'_>, translated: &Translated, folder: &Path) -> Result<Witnessed, Error> {
    for (file, text) in &translated.files {
        std::fs::write(folder.join(file), text)
            .map_err(|e| Error::Failed(format!("{} cannot be written: {e}\nhint: is the disk full?", folder.join(file).display())))?;
    }
    let name = driver.name();
    let command: Vec<String> = std::iter::once(program.display().to_string()).chain(translated.arguments.iter().cloned()).collect();
    let log = folder.join("output.txt");
    let spec = Spec { command: &command, folder, env: &BTreeMap::new(), cpus: &[], descriptors: None, log: &log, user: None, run: "load" };
    message(&format!("{} by {name}, for {}", task.load.describe(), show_duration(task.duration)));
    let stop = crate::signals::stop_flag();
    let mut process = Process::start(&spec).map_err(|why| Error::Failed(format!("{why}\nhint: {}", driver.hint())))?;
    let sampler = Sampler::start(process.pid, &runner::cpus::usable());
    let begun = Instant::now();
    let at_most = task.duration + task.timeout + BESIDES;
    while process.await_end(LOOK).is_none() && begun.elapsed() < at_most && !stop.load(Ordering::Relaxed) {}
    let usage = sampler.stop();
    let ended = process.ended().cloned();
    let last = process.last_lines(8).join("\n  | ");
    process.stop(StopSignal::Term, Duration::from_secs(2));
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted(crate::signals::code()));
    }
    match ended {
        Some(ended) if ended.status == "exit 0" => {}
        Some(ended) => return Err(Error::Failed(format!("{name} ended with {}\n  | {last}\nhint: what it says is above", ended.status))),
        None => return Err(Error::Failed(format!("{name} did not end within {}\nhint: measure for less", show_duration(at_most)))),
    }
    let results = translated.results.map_or(log, |file| folder.join(file));
    let mut row = read(&results).ok_or_else(|| {
        Error::Failed(format!("the results of {name} are not understood\n  | {last}\nhint: another version may print otherwise"))
    })?;
    if driver.is_silent_about_none() {
        row.errors.get_or_insert_with(|| Figure::exact(0.0, "0"));
    }
    Ok(Witnessed { row, usage })
}

fn read(results: &Path) -> Option<Row> {
    let results = std::fs::File::open(results).ok()?;
    audit::read("results", results).ok()?.into_rows().into_iter().next()
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
