//! Runs an experiment into a record, then judges it and writes the report.
//!
//! `faceoff run` and `faceoff vs` both end here. `lab` measures and decides when to stop, `judge`
//! answers its statistical questions, `report` writes the page. Start at [`begin`] for a new record
//! and [`resume`] for one that was interrupted.

use super::values::PriceOption;
use super::why::NO_PROFILES;
use super::{VERSION, lock};
use crate::exit::{Error, judgement_code};
use crate::output::{message, print, summary};
use crate::progress::{How, Show};
use crate::signals;
use clap::Args;
use lab::record_files::{judgement_text, must_hold_no_record, write_file};
use lab::stopping::{Decisions, run_to_end};
use lab::{Lab, LabError, Place};
use record::judgement::{ClaimOutcome, Judgement};
use record::{Event, Record};
use runner::lock::Lock;
use spec::catalog::Catalog;
use spec::experiment::{Experiment, Profiling};
use spec::price::Price;
use spec::units::show_duration;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;

/// Options that `faceoff run` and `faceoff vs` share: what they report, and how.
#[derive(Args)]
pub struct Reporting {
    /// After the judged blocks, sample stacks in a few more, to show where CPU time goes
    #[arg(long)]
    profile: bool,
    /// Same as --profile, and print where CPU time goes
    #[arg(long)]
    why: bool,
    /// Print the judgement as JSON
    #[arg(long)]
    json: bool,
    /// Open the report in the browser
    #[arg(long)]
    open: bool,
    /// Print only what goes wrong: same as --progress none
    #[arg(short, long, conflicts_with = "progress")]
    quiet: bool,
    /// How to report progress [default: live on a terminal, else plain]
    #[arg(long, value_enum, value_name = "HOW")]
    progress: Option<How>,
    #[command(flatten)]
    price: PriceOption,
}

impl Reporting {
    /// How progress is reported; `None` if the terminal decides.
    pub fn progress(&self) -> Option<How> {
        if self.quiet { Some(How::None) } else { self.progress }
    }

    /// Applies `--profile` and `--why`. In CI, only they ask for a profile, because it costs time.
    pub fn apply_to(&self, mut experiment: Experiment) -> Experiment {
        let asked = self.profile || self.why;
        if asked {
            let usual = Profiling::usual_for(&experiment);
            experiment.profile.get_or_insert(usual);
        } else if std::env::var_os("CI").is_some() {
            experiment.profile = None;
        }
        experiment
    }

    /// The ending that these options ask for, without what only `faceoff run` offers.
    pub fn ending(&self) -> Ending {
        let price = self.price.price().cloned();
        Ending { json: self.json, why: self.why, open: self.open, price, ..Ending::default() }
    }
}

/// What happens with a record at its end.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Whether a refuted claim has its own exit code.
    pub strict: bool,
    /// A file to which the summary of a comparison with another revision is added.
    pub summary: Option<PathBuf>,
    /// Whether the judgement is printed as JSON instead of tables and a summary.
    pub json: bool,
    /// Whether it is printed where CPU time goes.
    pub why: bool,
    /// Whether the report is opened in the browser.
    pub open: bool,
    /// What CPU and memory cost, if the costs of requests are asked for.
    pub price: Option<Price>,
}

/// Answers the stopping rule from the judgement of the record so far.
struct Judge;

impl Decisions for Judge {
    fn are_metrics_settled(&self, record: &Record) -> bool {
        judge::is_settled(record)
    }

    fn are_claims_settled(&self, record: &Record) -> bool {
        let claims = judge::judge(record).claims;
        let mut tried = claims.iter().filter(|c| record.untried(&c.claim).is_none()).peekable();
        tried.peek().is_some() && tried.all(|c| c.outcome != ClaimOutcome::Undecided)
    }

    fn needs_spare_blocks(&self, record: &Record) -> bool {
        judge::judge(record).needs_spare_blocks()
    }
}

/// An experiment that is ready to run, and what the command line changed in it.
pub struct Planned {
    /// The experiment as it will run.
    pub experiment: Experiment,
    /// Whether it is the quick form.
    pub is_quick: bool,
    /// The changes, as words of the command line.
    pub changes: Vec<String>,
}

/// Returns the place of a run: catalog, cache, version and the flag that stops it.
pub fn place<'a>(catalog: &'a Catalog, cache: &'a Path, stop: &'a AtomicBool) -> Place<'a> {
    Place { catalog, cache, version: VERSION, stop }
}

/// Runs an experiment into a new folder, judges the record and writes the report.
pub fn begin(
    place: &Place<'_>,
    planned: Planned,
    folder: &Path,
    mut show: Show,
    ending: &Ending,
) -> Result<ExitCode, Error> {
    must_hold_no_record(folder)?;
    let lock = lock(place.stop)?;
    let Planned { experiment, is_quick, changes } = planned;
    let lab = Lab::open(place, experiment, is_quick, changes, folder, &mut |p| show.take(p))?;
    message(&format!("record: {}", folder.display()));
    if lab.record().header.experiment.against.is_some() && is_same_build(lab.record()) {
        message("both revisions were built into identical files, so any difference is noise");
    }
    finish(lab, lock, show, ending)
}

/// Continues a record where its run stopped.
pub fn resume(
    place: &Place<'_>,
    record: Record,
    mut show: Show,
    ending: &Ending,
) -> Result<ExitCode, Error> {
    let lock = lock(place.stop)?;
    let lab = Lab::resume(place, record, &mut |p| show.take(p))?;
    finish(lab, lock, show, ending)
}

/// Runs the missing trials, judges the record and writes the report.
fn finish(
    mut lab: Lab<'_>,
    lock: Lock,
    mut show: Show,
    ending: &Ending,
) -> Result<ExitCode, Error> {
    let outcome = run_to_end(&mut lab, &Judge, &mut show);
    show.done();
    let event = match &outcome {
        Ok(event) => *event,
        Err(LabError::Interrupted) => Event::Interrupted,
        // The record keeps what was measured before the error.
        Err(error) => {
            let text = error.to_string();
            drop(lab);
            return Err(Error::Failed(text.trim_start_matches("error: ").to_owned()));
        }
    };
    let folder = lab.finish(event)?.folder;
    drop(lock);
    // Read back from disk, so that `faceoff judge` gives the same verdicts later.
    let record = Record::read(&folder)?;
    let code = conclude(&record, ending)?;
    if event == Event::Interrupted {
        message(&format!(
            "interrupted: {} trials are recorded\nhint: `faceoff run --resume {}` continues",
            record.trials.len(),
            record.folder.display()
        ));
        return Ok(ExitCode::from(signals::code()));
    }
    if event == Event::BudgetSpent {
        message(&budget_spent(&record));
    }
    Ok(code)
}

/// Says after how many blocks the time budget ended a run, and how to continue it.
fn budget_spent(record: &Record) -> String {
    let design = &record.header.experiment.design;
    let (after, with) = if record.missing().is_empty() {
        let all = "all planned blocks, before a spare one for those without a valid value";
        (all.to_owned(), "with the spare block")
    } else {
        let some = format!("{} of {} blocks", record.complete_blocks(), design.blocks);
        (some, "with the budget of the missing blocks")
    };
    format!(
        "the time budget of {} is spent after {after}\nhint: `faceoff run --resume {}` continues {with}",
        show_duration(design.budget),
        record.folder.display()
    )
}

/// Judges a record, writes the report and prints the result.
pub fn conclude(record: &Record, ending: &Ending) -> Result<ExitCode, Error> {
    let judgement = judge::judge_with_price(record, ending.price.as_ref());
    let page = write_results(record, &judgement)?;
    let code = judgement_code(&judgement, ending.strict);
    if ending.open {
        open_in_browser(&page);
    }
    if ending.json {
        print(&judgement_text(&judgement));
        return Ok(code);
    }
    crate::output::table(&report::verdict_table(record, &judgement, crate::output::width()));
    summary(&report::summary(record, &judgement));
    match (ending.why, judgement.causes.is_empty()) {
        (true, false) => print(&format!("\n{}", report::why(&judgement.causes))),
        (true, true) => message(NO_PROFILES),
        (false, _) => {}
    }
    if let Some(gate) = report::gate(record, &judgement) {
        print(&format!("\n{}\n", gate.sentence));
        if let Some(file) = &ending.summary {
            append(file, &gate.markdown)?;
        }
    }
    print(&format!("\nreport: {}\n", page.display()));
    Ok(code)
}

/// Writes the judgement and the report into the record's folder, and returns the report's path.
fn write_results(record: &Record, judgement: &Judgement) -> Result<PathBuf, Error> {
    write_file(&record.folder.join("judgement.json"), judgement_text(judgement))?;
    let page = record.folder.join("page.html");
    write_file(&page, report::html(record, judgement))?;
    Ok(page)
}

/// Appends a summary to a file, such as the one of a CI job.
fn append(file: &Path, markdown: &str) -> Result<(), Error> {
    let opened = std::fs::File::options().create(true).append(true).open(file);
    opened.and_then(|mut file| file.write_all(markdown.as_bytes())).map_err(|e| {
        Error::Failed(format!("the summary cannot be added to {}: {e}", file.display()))
    })
}

/// Opens a file with the desktop's default program.
fn open_in_browser(file: &Path) {
    let opened = Command::new("xdg-open")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        message(&format!(
            "the report cannot be opened: xdg-open: {error}\nhint: open {} in a browser",
            file.display()
        ));
    }
}

/// Whether a contender and its other revision were built into identical files.
fn is_same_build(record: &Record) -> bool {
    match record.header.contenders.as_slice() {
        [then, now, ..] => !then.artifacts.is_empty() && then.artifacts == now.artifacts,
        _ => false,
    }
}
