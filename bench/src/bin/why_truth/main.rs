//! `faceoff why` against known truth: whether it names the function that costs more, and nothing
//! else.
//!
//! Each run compares two processes of one test service (`bench/samples/why`). In half of the runs,
//! one function of the second process does its work 1.05 to 2 times as often, and must be named
//! first. In the other half both are the same, and nothing may be named. Each run is kept, so that
//! an interrupted proof continues where it stopped. At the end, each service is sampled every other
//! half second of a load: `slow_down.rs`. `plan.rs` draws the runs, `services.rs` builds and starts
//! the services, `findings.rs` reads what faceoff found. Start with [`prove`].

mod findings;
mod plan;
mod services;
mod slow_down;
mod table;

use clap::Parser;
use findings::Findings;
use plan::{Language, Planned};
use serde_json::json;
use services::{Services, Started};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What `faceoff why` names, against known truth
#[derive(Parser)]
#[command(name = "why_truth", max_term_width = 100)]
struct Options {
    /// How many runs with a changed function, and how many without
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// Only these languages [default: all]
    #[arg(long, value_enum)]
    language: Vec<Language>,
    /// Seed of the changed functions and their factors
    #[arg(long, default_value_t = 48)]
    seed: u64,
    /// The folder of the records and of the built services
    #[arg(long, default_value = "records/why-truth")]
    out: PathBuf,
    /// The command
    #[arg(long, default_value = "target/release/faceoff")]
    faceoff: PathBuf,
    /// The folder with the sources of the services
    #[arg(long, default_value = "bench/samples/why")]
    samples: PathBuf,
    /// Build the services, print what each function costs, and measure nothing else
    #[arg(long)]
    costs: bool,
    /// Measure only the slow-down of a sampled service
    #[arg(long, conflicts_with = "costs")]
    slow_down: bool,
    /// More arguments of `faceoff vs`
    #[arg(last = true, value_name = "ARGUMENT")]
    more: Vec<String>,
}

/// How `faceoff vs` loads the services. They use one CPU in full, so that samples are many.
const LOAD: [&str; 9] = ["--profile", "-c", "8", "-d", "500ms", "--blocks", "6", "--warmup", "30s"];
/// The file that a complete run leaves.
const DONE: &str = "run.json";

fn main() -> ExitCode {
    match prove(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("why_truth: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes all runs that are missing, prints the table, and returns whether every goal is met.
fn prove(options: &Options) -> Result<bool, String> {
    let languages = match options.language.as_slice() {
        [] => Language::ALL.to_vec(),
        chosen => chosen.to_vec(),
    };
    let services = Services::build(&options.samples, &options.out.join("services"), &languages)?;
    if options.costs {
        for language in languages {
            print!("{}", table::costs(language, &services.costs(language)?));
        }
        return Ok(true);
    }
    let runs = if options.slow_down { 0 } else { options.runs };
    let planned = plan::runs(options.seed, runs, &languages);
    let mut done = Vec::new();
    for (number, run) in (1..).zip(&planned) {
        let folder = options.out.join(run.folder());
        eprintln!("{} of {}: {}", number, planned.len(), run.describe());
        if !folder.join(DONE).exists() {
            make(options, &services, run, &folder)?;
        }
        done.push((run.clone(), Findings::read(&folder)?));
    }
    let mut slow_downs = Vec::new();
    for language in languages {
        eprintln!("slow-down of {}", language.name());
        slow_downs.push((language, slow_down::measure(&services, language, &options.out)?));
    }
    let report = table::Report::of_runs(&done, &slow_downs);
    print!("{}", report.text);
    Ok(report.holds)
}

/// Compares two processes of a service.
fn make(
    options: &Options,
    services: &Services,
    run: &Planned,
    folder: &Path,
) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder);
    let plain = services.start(run.language, None)?;
    let second = services.start(run.language, run.change.as_ref())?;
    let url = |name: &str, started: &Started| format!("{name}={}", started.url());
    let begin = Instant::now();
    let output = Command::new(&options.faceoff)
        .args(["vs", &url("plain", &plain), &url("second", &second)])
        .args(LOAD)
        .args(["--for", "10m", "--progress", "none", "--out"])
        .arg(folder)
        .args(&options.more)
        .output()
        .map_err(|e| format!("{}: {e}\nhint: make build", options.faceoff.display()))?;
    if !matches!(output.status.code(), Some(0 | 4)) {
        return Err(format!(
            "faceoff ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    // Only a record that can be read is done.
    Findings::read(folder)?;
    let took_s = begin.elapsed().as_secs_f64();
    let done = json!({ "took_s": took_s, "run": run.describe() });
    let file = folder.join(DONE);
    std::fs::write(&file, done.to_string()).map_err(|e| format!("{}: {e}", file.display()))
}
