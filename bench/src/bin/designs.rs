//! How much measuring time alternation in slices saves: the experiment `known-differences` in both
//! designs, once as it is and once with `alternate = "trials"`.
//!
//! Each block measures each contender for the same time in both designs. With a spread of s between
//! the log ratios of blocks, an interval of a given width needs a number of blocks proportional to
//! s². So the design with spread s₁ needs (s₂/s₁)² times less measuring time than that with s₂. The
//! spread comes from the t interval of each verdict. Runs that are there already are not repeated.

use clap::Parser;
use record::Record;
use spec::metric::Metric;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const EXPERIMENT: &str = "known-differences";

/// Measuring time in slices and in trials, for the same width of interval
#[derive(Parser)]
#[command(name = "designs", max_term_width = 100)]
struct Options {
    /// How many runs of each design
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Where their records are, and go
    #[arg(long, default_value = "records/designs")]
    out: PathBuf,
    /// The command
    #[arg(long, default_value = "target/release/faceoff")]
    faceoff: PathBuf,
    /// The folder with the systems, workloads and experiments
    #[arg(long, default_value = "catalog")]
    catalog: PathBuf,
}

/// Spreads of log ratios, by contender, cell and metric: one a run.
type Spreads = BTreeMap<(String, String, &'static str), Vec<f64>>;

fn main() -> ExitCode {
    match compare(&Options::parse()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("designs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: &Options) -> Result<String, String> {
    let mut spreads = BTreeMap::new();
    // The designs alternate, so that both meet the same hours of the machine.
    for seed in 1..=options.runs {
        for design in ["slices", "trials"] {
            let project = project(options, design)?;
            let folder = options.out.join(format!("{design}-{seed}"));
            if !folder.join("judgement.json").exists() {
                run(options, &project, seed, &folder)?;
            }
            let record = Record::read(&folder).map_err(|e| e.to_string())?;
            add(spreads.entry(design).or_default(), &record);
        }
    }
    Ok(table(&spreads["slices"], &spreads["trials"]))
}

/// A project with the experiment in a design; systems and workloads are those of the catalog.
fn project(options: &Options, design: &str) -> Result<PathBuf, String> {
    let project = options.out.join("projects").join(design);
    let experiments = project.join("experiments");
    std::fs::create_dir_all(&experiments).map_err(|e| e.to_string())?;
    let catalog = std::fs::canonicalize(&options.catalog).map_err(|e| e.to_string())?;
    for part in ["systems", "workloads"] {
        let link = project.join(part);
        if !link.exists() {
            std::os::unix::fs::symlink(catalog.join(part), link).map_err(|e| e.to_string())?;
        }
    }
    let file = catalog.join(format!("experiments/known-truth/{EXPERIMENT}.toml"));
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let text =
        text.replace("[design]\n", &format!("[design]\nlooks = []\nalternate = \"{design}\"\n"));
    let copy = experiments.join(format!("{EXPERIMENT}.toml"));
    std::fs::write(copy, text).map_err(|e| e.to_string())?;
    Ok(project)
}

fn run(options: &Options, project: &Path, seed: u32, folder: &Path) -> Result<(), String> {
    let mut command = Command::new(&options.faceoff);
    command.arg("--dir").arg(project).arg("run");
    if folder.join("record.jsonl").exists() {
        command.arg("--resume").arg(folder);
    } else {
        command.args([EXPERIMENT, "--seed", &seed.to_string(), "--out"]).arg(folder);
    }
    eprintln!("{}, run {seed} of {}", folder.display(), options.runs);
    let output = command.output().map_err(|e| format!("{}: {e}", options.faceoff.display()))?;
    match output.status.code() {
        Some(0 | 4) => Ok(()),
        _ => Err(format!(
            "it ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Adds the spread of each verdict by CPU time per request, throughput or median latency.
fn add(spreads: &mut Spreads, record: &Record) {
    for verdict in judge::judge(record).verdicts {
        let is_asked = matches!(
            verdict.metric,
            Metric::CpuPerRequest | Metric::Throughput | Metric::LatencyP50
        );
        let (Some(cell), Some(interval)) = (verdict.cell, verdict.interval_t) else { continue };
        if !is_asked || verdict.contender.is_twin() || verdict.used < 2 {
            continue;
        }
        let n = verdict.used;
        let half_width = (interval.high / interval.low).ln() / 2.0;
        let t = stats::student_t(verdict.confidence, n - 1);
        let spread = half_width * (n as f64).sqrt() / t;
        let key = (verdict.contender.to_string(), cell, verdict.metric.describe().name);
        spreads.entry(key).or_default().push(spread);
    }
}

fn table(slices: &Spreads, trials: &Spreads) -> String {
    let mut text = String::from(
        "| contender | cell | metric | spread in slices | in trials | times less measuring time |\n|---|---|---|---|---|---|\n",
    );
    let mut savings: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (key, in_slices) in slices {
        let Some(in_trials) = trials.get(key) else { continue };
        let (contender, cell, metric) = key;
        let (a, b) = (
            stats::median(in_slices).unwrap_or(f64::NAN),
            stats::median(in_trials).unwrap_or(f64::NAN),
        );
        let saved = (b / a).powi(2);
        savings.entry(metric).or_default().push(saved);
        text += &format!(
            "| {contender} | {cell} | {metric} | {:.2} % | {:.2} % | {saved:.1} |\n",
            100.0 * a,
            100.0 * b
        );
    }
    for (metric, all) in savings {
        text += &format!("median of {metric}: {:.1}\n", stats::median(&all).unwrap_or(f64::NAN));
    }
    text
}
