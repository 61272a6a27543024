//! `faceoff selftest`: the instrument against known truth.

mod output;
mod parts;
mod truths;

use super::{VERSION, cache, lock};
use crate::Format;
use crate::exit::{BREACHED, Error, UNSOUND};
use crate::output::{json, message, print, width};
use crate::progress::Show;
use clap::Args;
use lab::{Lab, Place, Progress};
use model::catalog::Catalog;
use model::experiment::Experiment;
use model::record::{Event, Failure, Record};
use model::selftest::{SCHEMA, SelfTest, Truth, TruthOutcome};
use model::units::{show_duration, show_number};
use parts::Scale;
use runner::needs::Tools;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Of every interval here: of some 20 truths that all hold, one is missed by chance in about 50 self-tests.
const CONFIDENCE: f64 = 0.999;

/// What `faceoff selftest` is asked.
#[derive(Args)]
pub struct Options {
    /// Twice the blocks, and twice as long each: narrower intervals, in about ten minutes instead of three
    #[arg(long)]
    full: bool,
    /// About how long, in seconds; too few leave every truth open
    #[arg(long, value_name = "N", hide = true, conflicts_with = "full")]
    seconds: Option<u32>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let scale = match options.seconds {
        Some(seconds) => Scale::within(seconds),
        None if options.full => Scale::FULL,
        None => Scale::USUAL,
    };
    let control = parts::control(catalog)?;
    let cache = cache(catalog);
    let folder = cache.join("selftest");
    let _lock = lock(&stop)?;
    let place = Place { catalog, cache: &cache, version: VERSION, stop: &stop };
    build(&place, &control)?;
    let written = |e| Error::Failed(format!("{} cannot be written: {e}\nhint: make room", folder.display()));
    match std::fs::remove_dir_all(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(written(e)),
        _ => parts::write_catalog(&folder, &control).map_err(written)?,
    }
    let forms = Catalog::open(&folder)?;
    let place = Place { catalog: &forms, cache: &folder, version: VERSION, stop: &stop };
    let began = Instant::now();
    let experiments = parts::all(scale);
    let mut clock = Clock::new(&experiments);
    message(&format!("the instrument against known truth: about {}", show_duration(clock.left())));
    let mut records = Vec::new();
    for experiment in experiments {
        let record = measure(&place, experiment, &folder, &mut clock)?;
        records.push(judge::with_faults(&record).into_owned());
    }
    let [cpu, delay, stall, held] = records.as_slice() else { unreachable!("one record an experiment") };
    let ceiling = truths::ceiling(held);
    let mut all = truths::of_cpu(cpu);
    all.extend(truths::of_delay(delay));
    all.extend(truths::of_stall(stall, ceiling.as_ref()));
    all.extend(truths::of_held(held));
    let found = SelfTest {
        schema: SCHEMA.into(),
        faceoff: VERSION.into(),
        at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        machine: held.header.machine.clone(),
        cpus: held.header.cpus.clone(),
        full: options.full,
        took: began.elapsed(),
        confidence: CONFIDENCE,
        outcome: SelfTest::outcome_of(&all),
        truths: all,
        ceiling,
    };
    let kept = lab::instrument::keep(&cache, &found).map_err(written)?;
    match options.format {
        Format::Json => json(&found),
        Format::Text => print(&output::text(&found, width())),
    }
    message(&format!("kept in {}, the records in {}; records of runs will carry it for 30 days", kept.display(), folder.display()));
    if found.outcome != TruthOutcome::Holds {
        let load = stats::median(&records.iter().flat_map(|r| &r.trials).map(|t| t.host.load_average).collect::<Vec<_>>());
        message(&format!(
            "hint: the machine's load average was {} on {} CPUs; close what else runs, and repeat",
            show_number(load.unwrap_or(0.0)),
            found.machine.cores
        ));
    }
    Ok(match found.outcome {
        TruthOutcome::Holds => ExitCode::SUCCESS,
        TruthOutcome::Missed => ExitCode::from(BREACHED),
        TruthOutcome::Unsound => ExitCode::from(UNSOUND),
    })
}

/// Builds the server as the user's catalog says.
fn build(place: &Place<'_>, control: &model::system::System) -> Result<(), Error> {
    let mut show = Show::default();
    let contender = control.with_variants(&[])?;
    let built = lab::gather(place, &Tools::default(), contender, "selftest", &mut |p| {
        // What is skipped is said below.
        if !matches!(p, Progress::Skipped(_)) {
            show.take(p);
        }
    })?;
    show.done();
    let failed = |reason: String| {
        Error::Failed(format!("{} cannot be measured: {reason}\nhint: `faceoff doctor` shows what is missing", parts::SYSTEM))
    };
    built.map(drop).map_err(|skipped| failed(skipped.reason))
}

/// Runs an experiment to its end, with spare blocks where faults leave a truth with too few.
fn measure(place: &Place<'_>, experiment: Experiment, folder: &Path, clock: &mut Clock) -> Result<Record, Error> {
    let name = experiment.name.clone();
    let planned = experiment.design.blocks;
    let mut lab = Lab::open(place, experiment, false, vec![], &folder.join("records").join(&name), &mut |_| {})?;
    lab.begin(&mut |progress| {
        if let Progress::Proved(answers) = progress
            && let Some(failure) = &answers.failure
        {
            message(&format!("out: {} ({}): {}{}", answers.contender, failure.stage, failure.cause, log_of(failure)));
        }
    })?;
    let mut said = 0;
    loop {
        let record = lab.record();
        let next = match record.missing().first() {
            Some(missing) => missing.0,
            None if is_short(record) => match record.missing_or_spare().first() {
                Some(spare) => spare.0,
                None => break,
            },
            None => break,
        };
        if next != said {
            let spare = if next > planned { ", for what faults spoilt" } else { "" };
            message(&format!("{name}: block {next} of {}{spare}, about {} left", planned.max(next), show_duration(clock.left())));
            said = next;
        }
        let lasts = trial_estimate(&record.header.experiment);
        lab.run_trial(&mut |progress| {
            if let Progress::Ended(trial) = progress
                && let Some(failure) = &trial.failure
            {
                message(&format!("FAILED: {} ({}): {}{}", trial.contender, failure.stage, failure.cause, log_of(failure)));
            }
        })?;
        if next <= planned {
            clock.done(lasts);
        }
    }
    Ok(lab.finish(Event::Finished)?)
}

fn log_of(failure: &Failure) -> String {
    failure.log.iter().map(|line| format!("\n  | {line}")).collect()
}

/// Whether faults leave a truth with too few blocks, though enough were run.
fn is_short(record: &Record) -> bool {
    let record = &*judge::with_faults(record);
    let of_record: Vec<Truth> = match record.header.experiment.name.as_str() {
        "cpu" => truths::of_cpu(record),
        "delay" => truths::of_delay(record),
        "stall" => truths::of_stall(record, None),
        _ => truths::of_held(record),
    };
    let could_be_enough = record.header.experiment.design.blocks >= model::experiment::FEWEST_BLOCKS;
    could_be_enough && of_record.iter().any(|truth| truth.outcome == TruthOutcome::Unsound)
}

fn trial_estimate(experiment: &Experiment) -> Duration {
    // Of what it allows for, this server needs hardly any.
    let at_most = |cell: &_| experiment.measured_at_most(cell);
    experiment.trial_estimate(Duration::ZERO, experiment.design.warmup, at_most).saturating_sub(Duration::from_millis(500))
}

/// How much is left, by the estimates and by the pace so far.
struct Clock {
    began: Instant,
    done: Duration,
    total: Duration,
}

impl Clock {
    fn new(experiments: &[Experiment]) -> Clock {
        let total = experiments.iter().map(|e| trial_estimate(e) * e.everybody().count() as u32 * e.design.blocks).sum();
        Clock { began: Instant::now(), done: Duration::ZERO, total }
    }

    fn done(&mut self, estimate: Duration) {
        self.done += estimate;
    }

    fn left(&self) -> Duration {
        let pace = if self.done.is_zero() { 1.0 } else { self.began.elapsed().as_secs_f64() / self.done.as_secs_f64() };
        self.total.saturating_sub(self.done).mul_f64(pace)
    }
}
