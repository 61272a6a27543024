//! `faceoff selftest`: measures a server with known timings, to check faceoff and this machine.
//!
//! `experiments` describes the forms of the server and what is measured. `truths` compares the
//! records with the known values. docs/guide/selftest.md has the reasons. Start at [`run`].

mod experiments;
mod output;
mod truths;

use super::{VERSION, cache, lock};
use crate::exit::{BREACHED, Error, UNSOUND};
use crate::output::{Format, json, message, print, width};
use crate::progress::Show;
use clap::Args;
use experiments::{CONFIDENCE, Scale};
use lab::stopping::{Decisions, Observer, run_to_end};
use lab::{Lab, Place, Progress};
use record::selftest::{SCHEMA, SelfTest, Truth, TruthOutcome};
use record::{Record, log_lines};
use runner::needs::Tools;
use spec::catalog::Catalog;
use spec::experiment::Experiment;
use spec::system::System;
use spec::units::{show_duration, show_number};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// Options of `faceoff selftest`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 all truths hold, 1 the server cannot be built or started, 2 \
                  usage, 3 a truth is missed, 4 one could not be measured and none is missed, \
                  130 and 143 interrupted."
)]
pub struct Options {
    /// Twice the blocks, each twice as long: narrower intervals, in about ten minutes instead of
    /// three
    #[arg(long)]
    full: bool,
    /// Approximate duration in seconds; a short test leaves every value undecided
    #[arg(long, value_name = "N", hide = true, conflicts_with = "full")]
    seconds: Option<u32>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let scale = match options.seconds {
        Some(seconds) => Scale::within(seconds),
        None if options.full => Scale::FULL,
        None => Scale::USUAL,
    };
    let control = experiments::control(catalog)?;
    let cache = cache(catalog);
    let folder = cache.join("selftest");
    let _lock = lock(&stop)?;
    build_server(&Place { catalog, cache: &cache, version: VERSION, stop: &stop }, &control)?;
    write_forms(&folder, &control)?;
    let forms = Catalog::open(&folder)?;
    let place = Place { catalog: &forms, cache: &folder, version: VERSION, stop: &stop };
    let began = Instant::now();
    let records = measure_all(&place, scale, &folder)?;
    let found = self_test(&records, options.full, began.elapsed());
    let kept = lab::instrument::keep(&cache, &found).map_err(|e| cannot_write(&folder, &e))?;
    match options.format {
        Format::Json => json(&found),
        Format::Text => print(&output::text(&found, width())),
    }
    print_end(&found, &records, &kept, &folder);
    Ok(match found.outcome {
        TruthOutcome::Holds => ExitCode::SUCCESS,
        TruthOutcome::Missed => ExitCode::from(BREACHED),
        TruthOutcome::Unsound => ExitCode::from(UNSOUND),
    })
}

/// The records of the four experiments, with their faults.
struct Records {
    cpu: Record,
    delay: Record,
    stall: Record,
    held: Record,
}

fn cannot_write(folder: &Path, error: &std::io::Error) -> Error {
    Error::Failed(format!(
        "{} cannot be written: {error}\nhint: free some disk space",
        folder.display()
    ))
}

/// Builds the server as its manifest in the catalog says.
fn build_server(place: &Place<'_>, control: &System) -> Result<(), Error> {
    let mut show = Show::default();
    let contender = control.with_variants(&[])?;
    let built = lab::gather(place, &Tools::default(), contender, "selftest", &mut |p| {
        // A skipped server is reported below.
        if !matches!(p, Progress::Skipped(_)) {
            show.take(p);
        }
    })?;
    show.done();
    let failed = |reason: String| {
        Error::Failed(format!(
            "{} cannot be measured: {reason}\nhint: `faceoff doctor` shows what is missing",
            experiments::SYSTEM
        ))
    };
    built.map(drop).map_err(|skipped| failed(skipped.reason))
}

/// Writes a catalog with every form of the server, in place of an earlier one.
fn write_forms(folder: &Path, control: &System) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(cannot_write(folder, &e)),
        _ => experiments::write_catalog(folder, control).map_err(|e| cannot_write(folder, &e)),
    }
}

/// Runs the four experiments.
fn measure_all(place: &Place<'_>, scale: Scale, folder: &Path) -> Result<Records, Error> {
    let experiments = experiments::all(scale);
    let mut clock = Clock::new(&experiments);
    message(&format!(
        "measuring a server with known timings: about {}",
        show_duration(clock.left())
    ));
    let [cpu, delay, stall, held] = experiments;
    let mut measure = |experiment| -> Result<Record, Error> {
        let record = measure(place, experiment, folder, &mut clock)?;
        Ok(judge::with_faults(&record).into_owned())
    };
    Ok(Records {
        cpu: measure(cpu)?,
        delay: measure(delay)?,
        stall: measure(stall)?,
        held: measure(held)?,
    })
}

/// Compares the records with the known values.
fn self_test(records: &Records, full: bool, took: Duration) -> SelfTest {
    let Records { cpu, delay, stall, held } = records;
    let ceiling = truths::ceiling(held);
    let mut all = truths::of_cpu(cpu);
    all.extend(truths::of_delay(delay));
    all.extend(truths::of_stall(stall, ceiling.as_ref()));
    all.extend(truths::of_held(held));
    SelfTest {
        schema: SCHEMA.into(),
        faceoff: VERSION.into(),
        at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        machine: held.header.machine.clone(),
        cpus: held.header.cpus.clone(),
        full,
        took,
        confidence: CONFIDENCE,
        outcome: SelfTest::outcome_of(&all),
        truths: all,
        ceiling,
    }
}

/// Prints where the results are, and a hint if the machine was busy.
fn print_end(found: &SelfTest, records: &Records, kept: &Path, folder: &Path) {
    message(&format!(
        "kept in {}, the records in {}; records of runs will contain it for 30 days",
        kept.display(),
        folder.display()
    ));
    if found.outcome == TruthOutcome::Holds {
        return;
    }
    let all = [&records.cpu, &records.delay, &records.stall, &records.held];
    let loads = all.iter().flat_map(|record| &record.trials).map(|trial| trial.host.load_average);
    let load = stats::median(&loads.collect::<Vec<_>>());
    message(&format!(
        "hint: the machine's load average was {} on {} CPUs; close other programs and repeat",
        show_number(load.unwrap_or(0.0)),
        found.machine.cores
    ));
}

/// Runs an experiment to its end, with spare blocks if faults leave a value with too few.
fn measure(
    place: &Place<'_>,
    experiment: Experiment,
    folder: &Path,
    clock: &mut Clock,
) -> Result<Record, Error> {
    let name = experiment.name.clone();
    let records = folder.join("records").join(&name);
    let mut lab = Lab::open(place, experiment, false, vec![], &records, &mut |_| {})?;
    let experiment = &lab.record().header.experiment;
    let mut report = Report {
        lasts: trial_estimate(experiment),
        planned: experiment.design.blocks,
        name,
        block: 0,
        clock,
    };
    let event = run_to_end(&mut lab, &Enough, &mut report)?;
    Ok(lab.finish(event)?)
}

/// Runs every planned block, and spare ones while a known value has too few.
struct Enough;

impl Decisions for Enough {
    fn are_metrics_settled(&self, _: &Record) -> bool {
        false
    }

    fn are_claims_settled(&self, _: &Record) -> bool {
        false
    }

    fn needs_spare_blocks(&self, record: &Record) -> bool {
        is_short(record)
    }
}

/// Prints a line for each block, and failures.
struct Report<'c> {
    name: String,
    planned: u32,
    /// How long one trial lasts.
    lasts: Duration,
    /// The block that was announced last.
    block: u32,
    clock: &'c mut Clock,
}

impl Observer for Report<'_> {
    fn progress(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Proved(answers) => {
                if let Some(failure) = &answers.failure {
                    message(&format!(
                        "excluded: {} ({}): {}{}",
                        answers.contender,
                        failure.stage,
                        failure.cause,
                        log_lines(&failure.log)
                    ));
                }
            }
            Progress::Begins { block, .. } if block != self.block => {
                let is_spare = block > self.planned;
                let spare = if is_spare { ", to replace invalidated ones" } else { "" };
                message(&format!(
                    "{}: block {block} of {}{spare}, about {} left",
                    self.name,
                    self.planned.max(block),
                    show_duration(self.clock.left())
                ));
                self.block = block;
            }
            Progress::Ended(trial) => {
                if let Some(failure) = &trial.failure {
                    message(&format!(
                        "FAILED: {} ({}): {}{}",
                        trial.contender,
                        failure.stage,
                        failure.cause,
                        log_lines(&failure.log)
                    ));
                }
                if trial.block <= self.planned {
                    self.clock.done(self.lasts);
                }
            }
            _ => {}
        }
    }

    fn trials_begin(&mut self, _: &Record) -> Option<SyncSender<load::Progress>> {
        None
    }

    fn block_complete(&mut self, _: &Record) {}
}

/// Whether faults leave a known value with too few blocks, although enough were run.
fn is_short(record: &Record) -> bool {
    let record = &*judge::with_faults(record);
    let of_record: Vec<Truth> = match record.header.experiment.name.as_str() {
        "cpu" => truths::of_cpu(record),
        "delay" => truths::of_delay(record),
        "stall" => truths::of_stall(record, None),
        _ => truths::of_held(record),
    };
    let could_be_enough = record.header.experiment.design.blocks >= spec::experiment::FEWEST_BLOCKS;
    could_be_enough && of_record.iter().any(|truth| truth.outcome == TruthOutcome::Unsound)
}

/// Estimates how long one trial lasts. This server needs less than other systems.
fn trial_estimate(experiment: &Experiment) -> Duration {
    let at_most = |cell: &_| experiment.measured_at_most(cell);
    experiment
        .trial_estimate(Duration::ZERO, experiment.design.warmup, at_most)
        .saturating_sub(Duration::from_millis(500))
}

/// Estimates the time left, from the plan and the pace so far.
struct Clock {
    began: Instant,
    done: Duration,
    total: Duration,
}

impl Clock {
    fn new(experiments: &[Experiment]) -> Clock {
        let total = experiments
            .iter()
            .map(|e| trial_estimate(e) * e.all_contenders().count() as u32 * e.design.blocks)
            .sum();
        Clock { began: Instant::now(), done: Duration::ZERO, total }
    }

    fn done(&mut self, estimate: Duration) {
        self.done += estimate;
    }

    fn left(&self) -> Duration {
        let pace = if self.done.is_zero() {
            1.0
        } else {
            self.began.elapsed().as_secs_f64() / self.done.as_secs_f64()
        };
        self.total.saturating_sub(self.done).mul_f64(pace)
    }
}
