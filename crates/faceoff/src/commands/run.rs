//! `faceoff run`: runs an experiment of the catalog, or continues one that was interrupted.
//!
//! The options change the experiment; `measuring` then runs it. Start at [`run`].

use super::cache;
use super::measuring::{self, Ending, Planned, Reporting, place};
use super::plan_text::{left_out_by_quick_form, plan_text};
use super::revision::{question, with_revision};
use super::values::metric;
use crate::exit::Error;
use crate::output::message;
use crate::progress::{How, Show};
use crate::signals;
use clap::Args;
use lab::record_files::{default_folder, must_hold_no_record};
use record::Record;
use spec::catalog::Catalog;
use spec::experiment::{Experiment, RunnerKind};
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::units::parse_duration;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Options of `faceoff run`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done (anything skipped is listed), 1 a tool or a trial failed, \
                  or the time was too short for all blocks, 2 usage or a problem in a file, 3 a \
                  claim was refuted (with --strict) or the revision is worse (--against), 4 nothing \
                  could be judged, 130 and 143 interrupted."
)]
pub struct Options {
    /// The experiment's name, as `faceoff list` shows it
    #[arg(required_unless_present = "resume")]
    experiment: Option<String>,
    /// Run the quick form: fewer contenders and cells and a shorter warm-up, for a first answer
    /// within minutes
    #[arg(long)]
    quick: bool,
    /// Number of blocks, instead of the experiment's (a verdict needs 6)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// Time budget, instead of the experiment's: no block begins that would end later
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    at_most: Option<Duration>,
    /// Add a contender to the experiment: `system` or `system:variant`; repeatable
    #[arg(long, value_name = "CONTENDER")]
    add: Vec<ContenderName>,
    /// Seed of the random order, instead of the experiment's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The folder for the record; must not hold one yet [default: records/<experiment>-<time>]
    // The text of --help, not HTML.
    #[allow(rustdoc::invalid_html_tags)]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Continue an interrupted run
    #[arg(long, value_name = "RECORD",
          conflicts_with_all = ["experiment", "quick", "blocks", "at_most", "add", "seed", "out", "runner", "agents", "against", "profile", "why"])]
    resume: Option<PathBuf>,
    /// How systems run, instead of the experiment's choice: process, docker for containers of this
    /// machine's engine, or kubernetes for pods of kubectl's cluster
    #[arg(long, value_name = "RUNNER", value_parser = super::values::runner_kind)]
    runner: Option<RunnerKind>,
    /// Agents that generate the load, instead of the experiment's: host:port separated by commas,
    /// or a number of pods in the cluster; see docs/guide/several-machines.md
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    agents: Vec<String>,
    /// Compare one contender with another revision of its sources: a branch, tag or commit. Exits
    /// with 3 if it is worse now
    #[arg(long, value_name = "REVISION", conflicts_with = "add")]
    against: Option<String>,
    /// With --against: the contender to compare [default: the baseline]
    #[arg(long, value_name = "CONTENDER", requires = "against")]
    of: Option<ContenderName>,
    /// With --against: a metric that must not be worse; repeatable [default: throughput,
    /// capacity, p50 and p99 latency, CPU per request, memory, start-up time, failed requests]
    #[arg(long, value_name = "METRIC", requires = "against", value_parser = metric)]
    by: Vec<Metric>,
    /// With --against: append a summary in Markdown to a file, such as "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Exit with 3 if a claim is refuted
    #[arg(long)]
    strict: bool,
    /// Show the plan and how long it takes, and run nothing
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    reporting: Reporting,
}

impl Options {
    /// What these options change in the experiment, as words of the command line.
    ///
    /// A revision to compare with is recorded in the experiment itself.
    fn changes(&self) -> Vec<String> {
        let words = |option: &str, value: String| [option.to_owned(), value];
        let runner = self
            .runner
            .and_then(|kind| RunnerKind::WORDS.into_iter().find(|(_, other)| *other == kind));
        let added = self.add.iter().map(|name| words("--add", name.to_string()));
        let blocks = self.blocks.map(|n| words("--blocks", n.to_string()));
        let at_most = self.at_most.map(|time| words("--for", format!("{}s", time.as_secs_f64())));
        let seed = self.seed.map(|n| words("--seed", n.to_string()));
        let runner = runner.map(|(word, _)| words("--runner", word.into()));
        let agents = (!self.agents.is_empty()).then(|| words("--agents", self.agents.join(",")));
        added
            .chain([blocks, at_most, seed, runner, agents].into_iter().flatten())
            .flatten()
            .collect()
    }

    /// Returns the experiment's quick form if it was asked for, and whether it is that form.
    fn form(&self, whole: Experiment) -> (Experiment, bool) {
        if !self.quick {
            return (whole, false);
        }
        if whole.quick.is_none() {
            message(&format!("{} has no quick form: running all of it", whole.name));
            return (whole, false);
        }
        let quick = whole.clone().quickened();
        if let Some(text) = left_out_by_quick_form(&whole, &quick, self.against.is_some()) {
            message(&text);
        }
        (quick, true)
    }

    /// Applies the options that change an experiment: blocks, time, contenders, seed and place.
    fn apply_to(&self, mut experiment: Experiment) -> Result<Experiment, Error> {
        experiment.design.budget = self.at_most.unwrap_or(experiment.design.budget);
        if let Some(blocks) = self.blocks {
            experiment = experiment.with_blocks(blocks);
        }
        experiment = experiment.with_contenders(&self.add);
        experiment.design.seed = self.seed.unwrap_or(experiment.design.seed);
        if let Some(kind) = self.runner {
            experiment.place.run_as(kind);
            if let Some((message, hint)) = experiment.place.contradiction() {
                return Err(Problems::plain(message, hint).into());
            }
        }
        if !self.agents.is_empty() {
            experiment
                .place
                .ask_agents(&self.agents)
                .map_err(|(message, hint)| Problems::plain(message, hint))?;
        }
        Ok(experiment)
    }

    /// Refuses `--summary` in a run that compares no revisions.
    fn check_summary(&self, resumed: Option<&Record>) -> Result<(), Problems> {
        let is_gate = self.against.is_some()
            || resumed.is_some_and(|record| record.header.experiment.against.is_some());
        if self.summary.is_some() && !is_gate {
            return Err(Problems::plain(
                "--summary needs a comparison with another revision",
                "name the revision with --against",
            ));
        }
        Ok(())
    }
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = signals::stop_flag();
    let cache = cache(catalog);
    let resumed = options.resume.as_deref().map(record_to_continue).transpose()?;
    options.check_summary(resumed.as_ref())?;
    let progress = options.reporting.progress();
    let show = Show::on_request(progress)?;
    let is_gate = |experiment: &Experiment| options.strict || experiment.against.is_some();
    let mut ending = Ending { summary: options.summary.clone(), ..options.reporting.ending() };
    if let Some(record) = resumed {
        ending.strict = is_gate(&record.header.experiment);
        return resume(catalog, &cache, &stop, record, show, &ending);
    }
    let name = options.experiment.as_deref().expect("clap requires the experiment");
    let (experiment, is_quick) = options.form(catalog.experiment(name)?);
    let mut experiment = options.reporting.apply_to(options.apply_to(experiment)?);
    let with_past =
        options.against.as_ref().map(|revision| with_revision(catalog, revision)).transpose()?;
    let catalog = match &with_past {
        Some((with_past, against)) => {
            experiment = question(experiment, options.of.as_ref(), against.clone(), &options.by)?;
            with_past
        }
        None => catalog,
    };
    ending.strict = is_gate(&experiment);
    if let Some(beyond) = experiment.beyond_agents().into_iter().next() {
        return Err(Problems::plain(beyond.message, beyond.hint).into());
    }
    let folder = options
        .out
        .clone()
        .unwrap_or_else(|| default_folder(catalog.dir(), name, jiff::Timestamp::now()));
    if !options.plan {
        must_hold_no_record(&folder)?;
    }
    if options.plan || progress != Some(How::None) {
        message(&plan_text(catalog, &experiment)?);
    }
    if options.plan {
        return Ok(ExitCode::SUCCESS);
    }
    let planned = Planned { experiment, is_quick, changes: options.changes() };
    measuring::begin(&place(catalog, &cache, &stop), planned, &folder, show, &ending)
}

/// Reads a record that is to be continued. Lines can only be appended to the file of a run.
fn record_to_continue(path: &Path) -> Result<Record, Problems> {
    if path.is_file() && path.file_name().is_none_or(|name| name != record::FILE_NAME) {
        return Err(Problems::plain(
            format!("{} is a copy of a record, which cannot be continued", path.display()),
            "name the folder of the run",
        ));
    }
    Record::read(path)
}

/// Continues an interrupted run, or concludes it again if nothing is missing.
fn resume(
    catalog: &Catalog,
    cache: &Path,
    stop: &AtomicBool,
    record: Record,
    show: Show,
    ending: &Ending,
) -> Result<ExitCode, Error> {
    let folder = record.folder.display().to_string();
    if record.is_settled() && record.missing().is_empty() {
        message(&format!("{folder}: every claim is settled, nothing is missing"));
        return measuring::conclude(&record, ending);
    }
    let against = record.header.experiment.against.as_ref();
    let with_past = against.map(|against| with_revision(catalog, &against.commit)).transpose()?;
    let catalog = with_past.as_ref().map_or(catalog, |(catalog, _)| catalog);
    message(&format!(
        "{folder}: {} trials are recorded, {} are missing",
        record.trials.len(),
        record.missing().len()
    ));
    measuring::resume(&place(catalog, cache, stop), record, show, ending)
}
