//! Verdicts against known truth, on this machine.
//!
//! It runs the experiment `known-differences` many times with different seeds. It exits with 1 if
//! the truth is missed too often. Runs that exist are kept, so an interrupted proof continues where
//! it stopped.

use clap::Parser;
use record::Record;
use record::judgement::{Judgement, Verdict};
use spec::metric::Metric;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const EXPERIMENT: &str = "known-differences";
/// CPU time per request, in microseconds, by contender.
const BURNT: [(&str, f64); 3] =
    [("control:cpu-210us", 210.0), ("control:cpu-220us", 220.0), ("control:cpu-300us", 300.0)];
const BASE_US: f64 = 200.0;

/// Verdicts against known truth: the experiment `known-differences`, run with many seeds
#[derive(Parser)]
#[command(name = "reality", max_term_width = 100)]
struct Options {
    /// How many runs
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// The folder of their records
    #[arg(long, default_value = "records/reality")]
    out: PathBuf,
    /// The command
    #[arg(long, default_value = "target/release/faceoff")]
    faceoff: PathBuf,
}

/// The results of the runs.
#[derive(Default)]
struct Tally {
    /// Verdicts by ratio on the baseline against itself, at the experiment's margin. The next field
    /// lists those that are better or worse.
    twins: u32,
    false_verdicts: Vec<String>,
    /// For each of [`BURNT`]: runs in which every cell's interval contained the truth and excluded
    /// 1.
    found: [u32; BURNT.len()],
    /// The same for sound runs.
    found_in_sound: [u32; BURNT.len()],
    /// Relative errors of the ratios, for each run, contender and cell.
    errors: Vec<f64>,
    /// Kinds of faults, with the number of runs that had them.
    faults: std::collections::BTreeMap<String, u32>,
    unsound: u32,
    /// Runs in which the baseline was compared with itself.
    compared: u32,
    runs: u32,
}

fn main() -> ExitCode {
    match prove(&Options::parse()) {
        Ok(tally) => {
            print!("{}", tally.to_text());
            if tally.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("reality: {error}");
            ExitCode::FAILURE
        }
    }
}

fn prove(options: &Options) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for seed in 1..=options.runs {
        let folder = options.out.join(format!("seed-{seed}"));
        if !folder.join("judgement.json").exists() {
            run(options, seed, &folder)?;
        }
        let record = Record::read(&folder).map_err(|e| e.to_string())?;
        let judgement = judge::judge(&record);
        tally.add(&judgement);
        tally.add_twins(seed, &judgement);
    }
    Ok(tally)
}

fn run(options: &Options, seed: u32, folder: &Path) -> Result<(), String> {
    let mut command = Command::new(&options.faceoff);
    command.arg("run");
    if folder.join("record.jsonl").exists() {
        command.arg("--resume").arg(folder);
    } else {
        command.args([EXPERIMENT, "--seed", &seed.to_string(), "--out"]).arg(folder);
    }
    eprintln!("run {seed} of {}", options.runs);
    let output = command
        .output()
        .map_err(|e| format!("{}: {e}\nhint: make build", options.faceoff.display()))?;
    match output.status.code() {
        Some(0 | 4) => Ok(()),
        _ => Err(format!(
            "run {seed} ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

impl Tally {
    fn add_twins(&mut self, seed: u32, judgement: &Judgement) {
        let twins: Vec<&Verdict> = judgement
            .verdicts
            .iter()
            .filter(|v| v.contender.is_twin() && v.interval.is_some())
            .collect();
        self.twins += twins.len() as u32;
        let differs = judgement.faults.iter().filter(|f| f.kind == "aa-differs");
        self.false_verdicts
            .extend(differs.map(|f| format!("seed {seed}, {}: {}", f.place, f.evidence)));
    }

    fn add(&mut self, judgement: &Judgement) {
        self.runs += 1;
        self.unsound += u32::from(judgement.unsound);
        let kinds: std::collections::BTreeSet<&String> =
            judgement.faults.iter().map(|f| &f.kind).collect();
        kinds.into_iter().for_each(|kind| *self.faults.entry(kind.clone()).or_default() += 1);
        let named = |name: &str| {
            judgement
                .verdicts
                .iter()
                .filter(move |v| v.contender.to_string() == name)
                .collect::<Vec<&Verdict>>()
        };
        self.compared += u32::from(
            judgement.verdicts.iter().any(|v| v.contender.is_twin() && v.ratio.is_some()),
        );
        let cpu = |name: &str| {
            named(name)
                .into_iter()
                .filter(|v| v.metric == Metric::CpuPerRequest)
                .collect::<Vec<_>>()
        };
        for (at, (name, burnt)) in BURNT.iter().enumerate() {
            let verdicts = cpu(name);
            let is_found = |v: &&Verdict| {
                let (Some(interval), Some(ratio), Some(base)) =
                    (v.interval, v.ratio, v.baseline_value)
                else {
                    return (false, None);
                };
                // Both servers need the same additional CPU time (docs/guide/selftest.md).
                let truth = (base + burnt - BASE_US) / base;
                (
                    interval.low <= truth && truth <= interval.high && interval.low > 1.0,
                    Some(ratio / truth - 1.0),
                )
            };
            let seen: Vec<_> = verdicts.iter().map(is_found).collect();
            self.errors.extend(seen.iter().filter_map(|(_, error)| *error));
            let is_found = !seen.is_empty() && seen.iter().all(|(is_found, _)| *is_found);
            self.found[at] += u32::from(is_found);
            self.found_in_sound[at] += u32::from(is_found && !judgement.unsound);
        }
    }

    /// Returns whether at most one run in twenty has a false verdict, and each difference is found
    /// in 17 of 20.
    fn holds(&self) -> bool {
        let found_enough = self.found.iter().all(|found| 20 * found >= 17 * self.runs);
        20 * self.false_verdicts.len() as u32 <= self.runs.max(20)
            && self.compared == self.runs
            && found_enough
    }

    fn to_text(&self) -> String {
        let mut text = format!("{} runs, {} of them unsound\n", self.runs, self.unsound);
        text += &format!(
            "A/A: {} of {} verdicts, of all metrics and cells of {} runs, are better or worse (at most 1 in 20 runs is allowed)\n",
            self.false_verdicts.len(),
            self.twins,
            self.compared,
        );
        self.false_verdicts.iter().for_each(|line| text += &format!("  {line}\n"));
        for (((name, burnt), found), in_sound) in
            BURNT.iter().zip(self.found).zip(self.found_in_sound)
        {
            let more = 100.0 * (burnt / BASE_US - 1.0);
            text += &format!(
                "{name} ({more:.0} % more CPU time): found in {found} of {}, {in_sound} of the {} sound ones (at least 17 of 20 are required)\n",
                self.runs,
                self.runs - self.unsound
            );
        }
        if let (Some(middle), Some(worst)) = (
            stats::median(&self.errors),
            self.errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())),
        ) {
            text += &format!(
                "error of the ratios: median {:+.2} %, greatest {:+.2} %\n",
                100.0 * middle,
                100.0 * worst
            );
        }
        for (kind, runs) in &self.faults {
            text += &format!("fault {kind}: in {runs} of {} runs\n", self.runs);
        }
        text
    }
}
