//! `faceoff vs` against known truth: how often the verdict is right, and after how long.
//!
//! It runs on a quiet machine and next to a program that uses the same CPU in bursts. Each run is
//! kept, so that an interrupted proof continues where it stopped.
//!
//! Two control servers on one CPU burn a known CPU time per request. The burst generator uses the
//! same CPU for 0.2 to 3 s at a time, about half of the time.

use clap::{Parser, ValueEnum};
use record::judgement::{Judgement, Outcome, Verdict};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::json;
use spec::metric::Metric;
use stats::{Random, median};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Verdicts of `faceoff vs` against known truth
#[derive(Parser)]
#[command(name = "alternation", max_term_width = 100)]
struct Options {
    /// Which truths [default: all]
    #[arg(long, value_enum)]
    truth: Vec<Truth>,
    /// How many runs of each
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// Only next to bursts, or only without
    #[arg(long)]
    bursts: Option<bool>,
    /// The folder of the records
    #[arg(long, default_value = "records/alternation")]
    out: PathBuf,
    /// The command
    #[arg(long, default_value = "target/release/faceoff")]
    faceoff: PathBuf,
    /// The test server
    #[arg(long, default_value = "target/release/control")]
    control: PathBuf,
    /// Be the burst generator on this CPU
    #[arg(long, hide = true)]
    burst: Option<usize>,
}

/// The true difference between two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Truth {
    /// The second needs three times the CPU time per request
    Threefold,
    /// 10 % more
    TenPercent,
    /// 5 % more
    FivePercent,
    /// No difference
    Equal,
}

/// CPU time of the first server per request, in microseconds.
const BASE_US: f64 = 200.0;

impl Truth {
    const ALL: [Truth; 4] = [Truth::Threefold, Truth::TenPercent, Truth::FivePercent, Truth::Equal];

    fn name(self) -> &'static str {
        match self {
            Truth::Threefold => "threefold",
            Truth::TenPercent => "ten-percent",
            Truth::FivePercent => "five-percent",
            Truth::Equal => "equal",
        }
    }

    fn factor(self) -> f64 {
        match self {
            Truth::Threefold => 3.0,
            Truth::TenPercent => 1.10,
            Truth::FivePercent => 1.05,
            Truth::Equal => 1.0,
        }
    }

    /// Returns the margin: a difference is found if it is certainly beyond.
    fn margin(self) -> &'static str {
        match self {
            Truth::Threefold | Truth::Equal => "5%",
            Truth::TenPercent => "2%",
            Truth::FivePercent => "1%",
        }
    }

    /// Returns the time limit, quiet and next to bursts, in seconds.
    fn within_s(self, bursts: bool) -> f64 {
        match (self, bursts) {
            (Truth::Threefold, _) => 15.0,
            (Truth::TenPercent, false) => 60.0,
            _ => 120.0,
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(cpu) = options.burst {
        burst(cpu);
    }
    match prove(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("alternation: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Uses a CPU for 0.2 to 3 s, then pauses for a time drawn the same way, until standard input ends.
fn burst(cpu: usize) -> ! {
    pin(cpu);
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let mut random = Random::new(u64::from(std::process::id()), 0);
    loop {
        let mut length = || Duration::from_secs_f64(0.2 * 15f64.powf(random.uniform()));
        let (busy, idle) = (length(), length());
        let begin = Instant::now();
        while begin.elapsed() < busy {
            std::hint::black_box((0..1000u64).sum::<u64>());
        }
        std::thread::sleep(idle);
    }
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// A process that is ended on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Starts a control server on a CPU that uses this CPU time per request. Returns it and its URL.
fn server(control: &Path, cpu: usize, burns_us: f64) -> Result<(Running, String), String> {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(control).args([
        "--port",
        "0",
        "--cpu",
        &format!("{burns_us:.0}us"),
    ]);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", control.display()))?;
    let mut port = String::new();
    let out = child.stdout.take().ok_or("no standard output")?;
    BufReader::new(out).read_line(&mut port).map_err(|e| e.to_string())?;
    Ok((Running(child), format!("http://127.0.0.1:{}/", port.trim())))
}

/// The file with the duration of a run.
const TIMES: &str = "run.json";

/// The result of a run.
struct Run {
    took_s: f64,
    outcome: Outcome,
    ratio: Option<f64>,
    blocks: u32,
    /// Verdicts of any metric that the truth forbids.
    false_verdicts: Vec<String>,
}

fn prove(options: &Options) -> Result<(), String> {
    let cpu = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    let truths = if options.truth.is_empty() { Truth::ALL.to_vec() } else { options.truth.clone() };
    println!(
        "| truth | bursts | right | of | within | time, median | time, longest | blocks, median | ratio, median | wrong |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for truth in truths {
        for bursts in [false, true]
            .into_iter()
            .filter(|bursts| options.bursts.is_none_or(|only| only == *bursts))
        {
            let mut runs = Vec::new();
            for number in 1..=options.runs {
                let folder = options.out.join(format!(
                    "{}-{}-{number}",
                    truth.name(),
                    if bursts { "bursts" } else { "quiet" }
                ));
                eprintln!("{}, run {number} of {}", folder.display(), options.runs);
                runs.push(one(options, truth, bursts, cpu, &folder)?);
            }
            println!("{}", row(truth, bursts, &runs));
        }
    }
    Ok(())
}

fn row(truth: Truth, bursts: bool, runs: &[Run]) -> String {
    let within = truth.within_s(bursts);
    let wanted = if truth == Truth::Equal { Outcome::Equivalent } else { Outcome::Worse };
    let is_right = |run: &&Run| run.outcome == wanted && run.took_s <= within;
    let right = runs.iter().filter(is_right).count();
    let times: Vec<f64> = runs.iter().map(|run| run.took_s).collect();
    let blocks: Vec<f64> = runs.iter().map(|run| f64::from(run.blocks)).collect();
    let ratios: Vec<f64> = runs.iter().filter_map(|run| run.ratio).collect();
    let wrong = runs.iter().filter(|run| !run.false_verdicts.is_empty()).count();
    let mut text = format!(
        "| {} | {} | {right} | {} | {within:.0} s | {:.1} s | {:.1} s | {:.0} | {:.3} | {wrong} |",
        truth.name(),
        if bursts { "yes" } else { "no" },
        runs.len(),
        median(&times).unwrap_or(0.0),
        times.iter().copied().fold(0.0, f64::max),
        median(&blocks).unwrap_or(0.0),
        median(&ratios).unwrap_or(0.0),
    );
    for run in runs.iter().filter(|run| !run.false_verdicts.is_empty()) {
        text += &format!("\n<!-- wrong: {} -->", run.false_verdicts.join("; "));
    }
    text
}

/// Reads a run, after making it if it is not there yet.
fn one(
    options: &Options,
    truth: Truth,
    bursts: bool,
    cpu: usize,
    folder: &Path,
) -> Result<Run, String> {
    if !folder.join(TIMES).exists() {
        make(options, truth, bursts, cpu, folder)?;
    }
    let read = |file: &str| {
        std::fs::read_to_string(folder.join(file))
            .map_err(|e| format!("{}/{file}: {e}", folder.display()))
    };
    let times: serde_json::Value =
        serde_json::from_str(&read(TIMES)?).map_err(|e| e.to_string())?;
    let judgement: Judgement =
        serde_json::from_str(&read("judgement.json")?).map_err(|e| e.to_string())?;
    let of_cpu: Vec<&Verdict> =
        judgement.verdicts.iter().filter(|v| v.metric == Metric::CpuPerRequest).collect();
    let busiest = of_cpu.iter().find(|v| is_closed(v)).or(of_cpu.first());
    let wrong = judgement.verdicts.iter().filter(|v| is_false(v, truth));
    let false_verdicts = wrong.map(|v| {
        format!(
            "{} in {}: {}",
            v.metric.describe().name,
            v.cell.as_deref().unwrap_or("start"),
            v.phrase()
        )
    });
    Ok(Run {
        took_s: times["took_s"].as_f64().unwrap_or(f64::INFINITY),
        outcome: busiest.map_or(Outcome::Undecided, |v| v.outcome),
        ratio: busiest.and_then(|v| v.ratio),
        blocks: judgement.blocks,
        false_verdicts: false_verdicts.collect(),
    })
}

/// Runs `faceoff vs` on two servers, and keeps how long it took in [`TIMES`].
fn make(
    options: &Options,
    truth: Truth,
    bursts: bool,
    cpu: usize,
    folder: &Path,
) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder);
    let (_a, first) = server(&options.control, cpu, BASE_US)?;
    let (_b, second) = server(&options.control, cpu, BASE_US * truth.factor())?;
    let _bursting = bursts.then(|| bursting(cpu)).transpose()?;
    let begin = Instant::now();
    let output = Command::new(&options.faceoff)
        .args(["vs", &format!("a={first}"), &format!("b={second}")])
        .args(["--margin", truth.margin(), "--progress", "none", "--out"])
        .arg(folder)
        .output()
        .map_err(|e| format!("{}: {e}\nhint: make build", options.faceoff.display()))?;
    let took_s = begin.elapsed().as_secs_f64();
    if !matches!(output.status.code(), Some(0 | 4)) {
        return Err(format!(
            "it ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    std::fs::write(folder.join(TIMES), json!({ "took_s": took_s }).to_string())
        .map_err(|e| e.to_string())
}

fn is_closed(verdict: &Verdict) -> bool {
    verdict.cell.as_deref().is_some_and(|cell| cell.starts_with("closed"))
}

/// Returns whether the truth forbids a verdict.
fn is_false(verdict: &Verdict, truth: Truth) -> bool {
    if verdict.metric.describe().by_difference {
        return false;
    }
    let differs = truth != Truth::Equal;
    let is_allowed = match (verdict.metric, verdict.outcome) {
        (_, Outcome::Undecided) => true,
        // An allocator's memory differs from start to start, and these are single starts.
        (Metric::Memory, _) => true,
        (Metric::Threads, outcome) => outcome == Outcome::Equivalent,
        // A schedule dictates it.
        (Metric::Throughput, outcome) if !is_closed(verdict) => outcome == Outcome::Equivalent,
        (Metric::Throughput | Metric::CpuPerRequest, Outcome::Equivalent) => !differs,
        (_, Outcome::Equivalent) => true,
        (_, Outcome::Worse) => differs,
        (_, Outcome::Better) => false,
    };
    !is_allowed
}

fn bursting(cpu: usize) -> Result<Running, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(own);
    command.args(["--burst", &cpu.to_string()]).stdin(Stdio::piped());
    command.spawn().map(Running).map_err(|e| e.to_string())
}
