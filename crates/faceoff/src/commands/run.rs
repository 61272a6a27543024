use super::against::{is_same_build, question, with_revision};
use super::{VERSION, cache, lock};
use crate::exit::{BREACHED, Error, FAILED, UNSOUND};
use crate::output::{message, print};
use crate::progress::{How, Show};
use crate::signals;
use clap::Args;
use lab::{Lab, LabError, Place};
use model::catalog::Catalog;
use model::experiment::{Experiment, FEWEST_BLOCKS, RunnerKind};
use model::judgement::{ClaimOutcome, Judgement};
use model::metric::Metric;
use model::name::{ContenderName, did_you_mean};
use model::problem::Problems;
use model::record::{Event, Record};
use model::units::show_duration;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What `faceoff run` is asked.
#[derive(Args)]
pub struct Options {
    /// The experiment's name, as `faceoff list` shows it
    #[arg(required_unless_present = "resume")]
    experiment: Option<String>,
    /// The smaller form: fewer contenders and cells, less time to warm up; a first answer within minutes
    #[arg(long)]
    quick: bool,
    /// How many blocks, instead of the experiment's (6 are needed for a verdict)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// Another contender beside the experiment's: `system` or `system:variant`; may be given several times
    #[arg(long, value_name = "CONTENDER")]
    add: Vec<ContenderName>,
    /// The seed of the order, instead of the experiment's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The folder for the record; must not hold one yet [default: records/<experiment>-<time>]
    // The text of --help, not HTML.
    #[allow(rustdoc::invalid_html_tags)]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Go on where an interrupted run stopped
    #[arg(long, value_name = "RECORD",
          conflicts_with_all = ["experiment", "quick", "blocks", "add", "seed", "out", "runner", "agents", "against"])]
    resume: Option<PathBuf>,
    /// What systems run as, instead of what the experiment says: process, docker for containers of the engine that is here, or kubernetes for pods of the cluster that kubectl speaks to
    #[arg(long, value_name = "RUNNER", value_parser = super::runner_kind)]
    runner: Option<RunnerKind>,
    /// Agents that make the loads, instead of those of the experiment: host:port with commas between, or how many in pods of the cluster; see docs/agents.md
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    agents: Vec<String>,
    /// Compare one contender with itself at another revision of its sources, a branch, tag or commit; exit with 3 when it is worse now
    #[arg(long, value_name = "REVISION", conflicts_with = "add")]
    against: Option<String>,
    /// With --against: which contender [default: the baseline]
    #[arg(long, value_name = "CONTENDER", requires = "against")]
    of: Option<ContenderName>,
    /// With --against: a metric by which it must not be worse; may be given several times [default: the usual ones]
    #[arg(long, value_name = "METRIC", requires = "against", value_parser = metric)]
    by: Vec<Metric>,
    /// With --against: add a summary in Markdown to a file, such as "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Exit with 3 when a claim is refuted
    #[arg(long)]
    strict: bool,
    /// How to say how far it is [default: live on a terminal, else plain]
    #[arg(long, value_enum, value_name = "HOW")]
    progress: Option<How>,
    /// Show the plan and how long it takes, and do nothing
    #[arg(long)]
    plan: bool,
}

impl Options {
    /// What they change of the experiment, as words of the command line; a revision to compare with stands in the experiment itself.
    fn changes(&self) -> Vec<String> {
        let said = |option: &str, value: String| [option.to_owned(), value];
        let runner = self.runner.and_then(|kind| RunnerKind::WORDS.into_iter().find(|(_, other)| *other == kind));
        let added = self.add.iter().map(|name| said("--add", name.to_string()));
        let blocks = self.blocks.map(|n| said("--blocks", n.to_string()));
        let seed = self.seed.map(|n| said("--seed", n.to_string()));
        let runner = runner.map(|(word, _)| said("--runner", word.into()));
        let agents = (!self.agents.is_empty()).then(|| said("--agents", self.agents.join(",")));
        added.chain([blocks, seed, runner, agents].into_iter().flatten()).flatten().collect()
    }
}

/// A metric as it is named on a command line.
pub fn metric(text: &str) -> Result<Metric, String> {
    Metric::named(text).ok_or_else(|| did_you_mean(text, Metric::ALL.map(|m| m.describe().name)))
}

/// What is made of a record at its end.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Whether a refuted claim has an exit code of its own.
    pub strict: bool,
    /// A file that the summary of a run against another revision is added to.
    pub summary: Option<PathBuf>,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = signals::stop_flag();
    let cache = cache(catalog);
    let ending = Ending { strict: options.strict || options.against.is_some(), summary: options.summary.clone() };
    let resumed = options.resume.as_ref().map(|path| Record::read(path).map(|record| (path, record))).transpose()?;
    let is_gate = options.against.is_some() || resumed.as_ref().is_some_and(|(_, record)| record.header.experiment.against.is_some());
    if options.summary.is_some() && !is_gate {
        return Err(Problems::plain("--summary is of a run against another revision", "name that with --against").into());
    }
    let mut show = Show::asked(options.progress)?;
    if let Some((path, record)) = resumed {
        let ending = Ending { strict: options.strict || record.header.experiment.against.is_some(), ..ending };
        if record.is_settled() && record.missing().is_empty() {
            message(&format!("{}: every claim is settled, nothing is missing", path.display()));
            return conclude(&record, &ending);
        }
        let with_past = record.header.experiment.against.as_ref().map(|against| with_revision(catalog, &against.commit)).transpose()?;
        let catalog = with_past.as_ref().map_or(catalog, |(catalog, _)| catalog);
        let place = Place { catalog, cache: &cache, version: VERSION, stop: &stop };
        message(&format!("{}: {} trials are recorded, {} are missing", path.display(), record.trials.len(), record.missing().len()));
        let lock = lock(&stop)?;
        let lab = Lab::resume(&place, record, &mut |p| show.take(p))?;
        return go_on(lab, lock, show, &ending);
    }
    let name = options.experiment.as_deref().expect("clap asks for it");
    let mut experiment = catalog.experiment(name)?;
    let is_quick = options.quick && experiment.quick.is_some();
    if is_quick {
        let quick = experiment.clone().quickened();
        if let Some(text) = left_out(&experiment, &quick, options.against.is_some()) {
            message(&text);
        }
        experiment = quick;
    } else if options.quick {
        message(&format!("{name} has no quick form: this is the whole of it"));
    }
    if let Some(blocks) = options.blocks {
        experiment = experiment.with_blocks(blocks);
    }
    experiment = experiment.with_contenders(&options.add);
    experiment.design.seed = options.seed.unwrap_or(experiment.design.seed);
    if let Some(kind) = options.runner {
        experiment.place.run_as(kind);
        if let Some((message, hint)) = experiment.place.contradiction() {
            return Err(Problems::plain(message, hint).into());
        }
    }
    if !options.agents.is_empty() {
        experiment.place.ask_agents(&options.agents).map_err(|(message, hint)| Problems::plain(message, hint))?;
    }
    let with_past = options.against.as_ref().map(|revision| with_revision(catalog, revision)).transpose()?;
    let catalog = match &with_past {
        Some((with_past, against)) => {
            experiment = question(experiment, options.of.as_ref(), against.clone(), &options.by)?;
            with_past
        }
        None => catalog,
    };
    if let Some(beyond) = experiment.beyond_agents().into_iter().next() {
        return Err(Problems::plain(beyond.message, beyond.hint).into());
    }
    let place = Place { catalog, cache: &cache, version: VERSION, stop: &stop };
    message(&plan(catalog, &experiment)?);
    if options.plan {
        return Ok(ExitCode::SUCCESS);
    }
    let folder = options.out.clone().unwrap_or_else(|| default_folder(catalog.dir(), name));
    begin(&place, experiment, is_quick, options.changes(), &folder, show, &ending)
}

/// Runs an experiment into a new folder, judges, and leaves the page.
pub fn begin(
    place: &Place<'_>,
    experiment: Experiment,
    quick: bool,
    changes: Vec<String>,
    folder: &Path,
    mut show: Show,
    ending: &Ending,
) -> Result<ExitCode, Error> {
    if folder.join(model::record::FILE_NAME).exists() {
        return Err(Error::Failed(format!(
            "{} holds a record already\nhint: name another folder, or go on with --resume",
            folder.display()
        )));
    }
    let lock = lock(place.stop)?;
    let lab = Lab::open(place, experiment, quick, changes, folder, &mut |p| show.take(p))?;
    message(&format!("record: {}", folder.display()));
    if is_same_build(lab.record()) && lab.record().header.experiment.against.is_some() {
        message("both revisions were built into the very same files: what differs is noise");
    }
    go_on(lab, lock, show, ending)
}

/// Where a record goes that is given no folder.
pub fn default_folder(dir: &Path, name: &str) -> PathBuf {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    dir.join("records").join(format!("{name}-{stamp}"))
}

/// What the quick form has not of the whole: the names, or how many there are where nobody would read them. Against another revision contenders and claims
/// are others anyway.
fn left_out(whole: &Experiment, quick: &Experiment, is_of_revision: bool) -> Option<String> {
    let part = |what: &str, all: Vec<String>, kept: Vec<String>| {
        let count = all.len();
        let without: Vec<String> = all.into_iter().filter(|name| !kept.contains(name)).collect();
        match without.len() {
            0 => None,
            1 => Some(format!("the {what} {}", without[0])),
            2..=6 => Some(format!("the {what}s {}", without.join(", "))),
            many => Some(format!("{many} of {count} {what}s")),
        }
    };
    let contenders = |of: &Experiment| of.contenders.iter().map(ToString::to_string).collect::<Vec<_>>();
    let factors = |of: &Experiment| of.factors.iter().map(|factor| factor.name.clone()).collect::<Vec<_>>();
    let cells = |of: &Experiment| of.cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>();
    // Crossed factors make the contenders, so these say nothing more.
    let compared = match (is_of_revision, whole.factors.is_empty()) {
        (true, _) => None,
        (false, true) => part("contender", contenders(whole), contenders(quick)),
        (false, false) => part("factor", factors(whole), factors(quick)),
    };
    let untried = match (whole.claims.len(), quick.claims.len()) {
        (all, tried) if is_of_revision || tried == all => None,
        (_, 0) => Some("every claim".to_owned()),
        (all, tried) => Some(format!("{} of {all} claims", all - tried)),
    };
    let parts: Vec<String> = [compared, part("cell", cells(whole), cells(quick)), untried].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("the quick form leaves out {}", parts.join("; ")))
}

/// What will be done, and about how long it takes.
pub fn plan(catalog: &Catalog, experiment: &Experiment) -> Result<String, Error> {
    let cpus = runner::cpus::choose(&experiment.place)?;
    let mut text = format!("{}\n", experiment.question);
    let mut lasts = BTreeMap::new();
    for cell in &experiment.cells {
        lasts.insert(&cell.name, experiment.measured_about(cell, catalog.workload_of(cell)?.steps.len()));
    }
    let mut block = Duration::ZERO;
    let mut proofs = Duration::ZERO;
    for name in experiment.everybody() {
        let contender = catalog.contender(name)?;
        // A JVM needs seconds, more where it has one CPU; anything else hardly any time.
        let (start_up, steady) = match contender.system.jdk {
            Some(_) if cpus.contender.len() == 1 => (Duration::from_secs(9), Duration::from_secs(70)),
            Some(_) => (Duration::from_secs(4), Duration::from_secs(20)),
            None => (Duration::from_millis(300), Duration::from_secs(9)),
        };
        block += experiment.trial_estimate(start_up, steady, |cell| lasts[&cell.name]);
        proofs += start_up + Duration::from_millis(500);
        let mark = if *name == experiment.baseline { "baseline" } else { "contender" };
        let note = if name.is_twin() { ", the baseline again: how far it stands from itself" } else { "" };
        text += &format!("  {mark:<10} {name}{note}\n");
    }
    if let Some(upstream) = &experiment.upstream {
        text += &format!("  {:<10} {upstream}\n", "upstream");
        proofs += lab::upstream_warmup(experiment) + Duration::from_secs(7);
    }
    if let Some(database) = &experiment.database {
        text += &format!("  {:<10} {database}, fresh for each trial\n", "database");
        let fresh = Duration::from_secs(1);
        (block, proofs) = (block + fresh * experiment.everybody().count() as u32, proofs + fresh * experiment.everybody().count() as u32);
    }
    for cell in &experiment.cells {
        let by = cell.driver.map_or(String::new(), |driver| format!(", by {}", driver.name()));
        let about = lasts[&cell.name];
        let done = if about < experiment.measured_at_most(cell) {
            format!(", done after an estimated {} where answers are short", show_duration(about))
        } else {
            String::new()
        };
        let warmed = if cell.warmup.is_zero() { String::new() } else { format!(", after {} of the same", show_duration(cell.warmup)) };
        text += &format!("  {:<10} {}: {}{by}, workload {}{warmed}{done}\n", "cell", cell.name, cell.load.describe(), cell.asks());
    }
    for (name, value) in experiment.describe_design() {
        text += &format!("  {name}: {value}\n");
    }
    let show = runner::cpus::show;
    text += &format!(
        "  contender on {}, generator on {}, upstream on {}\n",
        show(&cpus.contender),
        show(&cpus.generator),
        show(&cpus.upstream)
    );
    let (whole, budget) = (block * experiment.design.blocks, experiment.design.budget);
    if whole > budget {
        text += &format!("  its blocks may take {}: the budget of {} may end it before\n", show_duration(whole), show_duration(budget));
    }
    let total = proofs + whole.min(budget);
    let at_most = if experiment.design.looks.iter().any(|look| *look < experiment.design.blocks) { "at most " } else { "" };
    text += &format!("  {at_most}about {} once everything is built", show_duration(total));
    Ok(text)
}

/// Runs what is missing, judges, and leaves the page.
fn go_on(mut lab: Lab<'_>, lock: runner::lock::Lock, mut show: Show, ending: &Ending) -> Result<ExitCode, Error> {
    let outcome = trials(&mut lab, &mut show);
    show.done();
    let event = match &outcome {
        Ok(event) => *event,
        Err(LabError::Interrupted) => Event::Interrupted,
        // What was measured is there; the error is said.
        Err(error) => {
            let text = error.to_string();
            drop(lab);
            return Err(Error::Failed(text.trim_start_matches("error: ").to_owned()));
        }
    };
    let folder = lab.finish(event)?.folder;
    drop(lock);
    // From the disk, as anybody else would: the same record gives the same verdicts.
    let record = Record::read(&folder)?;
    let code = conclude(&record, ending)?;
    if event == Event::Interrupted {
        message(&format!(
            "interrupted: {} trials are recorded\nhint: `faceoff run --resume {}` goes on",
            record.trials.len(),
            record.folder.display()
        ));
        return Ok(ExitCode::from(signals::code()));
    }
    if event == Event::BudgetSpent {
        let design = &record.header.experiment.design;
        message(&format!(
            "the budget of {} is spent after {} of {} blocks\nhint: `faceoff run --resume {}` goes on, with as much time again",
            show_duration(design.budget),
            record.complete_blocks(),
            design.blocks,
            record.folder.display()
        ));
    }
    Ok(code)
}

/// Judges a record, leaves the page and says what it comes to.
fn conclude(record: &Record, ending: &Ending) -> Result<ExitCode, Error> {
    let judgement = judge::judge(record);
    let page = write(record, &judgement)?;
    print(&report::verdict_table(record, &judgement, crate::output::width()));
    print(&report::summary(record, &judgement));
    if let Some(gate) = report::gate(record, &judgement) {
        print(&format!("\n{}\n", gate.sentence));
        if let Some(file) = &ending.summary {
            let added =
                std::fs::File::options().create(true).append(true).open(file).and_then(|mut file| file.write_all(gate.markdown.as_bytes()));
            added.map_err(|e| Error::Failed(format!("the summary cannot be added to {}: {e}", file.display())))?;
        }
    }
    print(&format!("\npage: {}\n", page.display()));
    Ok(code(&judgement, ending.strict))
}

/// The exit code of a judgement.
pub fn code(judgement: &Judgement, strict: bool) -> ExitCode {
    let refuted = judgement.claims.iter().any(|c| c.outcome == ClaimOutcome::Refuted);
    match () {
        () if judgement.incomplete => ExitCode::from(FAILED),
        () if judgement.unsound => ExitCode::from(UNSOUND),
        () if strict && refuted => ExitCode::from(BREACHED),
        () => ExitCode::SUCCESS,
    }
}

/// Whether the run may stop here: a planned look, and no claim left that more blocks could settle.
fn is_settled(record: &Record) -> bool {
    let complete = record.complete_blocks();
    let is_look = record.header.experiment.design.looks.contains(&complete);
    let begun = record.trials.iter().map(|t| t.block).max().unwrap_or(0);
    if !is_look || begun > complete {
        return false;
    }
    let claims = judge::judge(record).claims;
    let mut open_to_settle = claims.iter().filter(|c| record.untried(&c.claim).is_none()).peekable();
    open_to_settle.peek().is_some() && open_to_settle.all(|c| c.outcome != ClaimOutcome::Undecided)
}

fn trials(lab: &mut Lab<'_>, show: &mut Show) -> Result<Event, LabError> {
    let began = Instant::now();
    lab.begin(&mut |p| show.take(p))?;
    if let Some(sender) = show.begins(lab.record()) {
        lab.tell_seconds(sender);
    }
    let (mut block, mut judged) = (0, 0);
    loop {
        let complete = lab.record().complete_blocks();
        if complete > std::mem::replace(&mut judged, complete) {
            show.judge(lab.record());
        }
        let blocks = lab.record().header.experiment.design.blocks;
        if lab.record().complete_blocks() < blocks && is_settled(lab.record()) {
            return Ok(Event::Settled);
        }
        let next = lab.record().missing().first().map(|m| m.0);
        let next = next.or_else(|| {
            let record = lab.record();
            let spare = record.missing_or_spare().first()?.0;
            let could_win = record.header.experiment.design.blocks >= FEWEST_BLOCKS;
            (could_win && judge::judge(record).needs_spare_blocks()).then_some(spare)
        });
        let Some(next) = next else { return Ok(Event::Finished) };
        if next != block && block != 0 && began.elapsed() >= lab.record().header.experiment.design.budget {
            return Ok(Event::BudgetSpent);
        }
        block = next;
        lab.run_trial(&mut |p| show.take(p))?;
    }
}

/// Writes the judgement and the page beside the record; returns the page's path.
pub fn write(record: &Record, judgement: &Judgement) -> Result<PathBuf, Error> {
    write_file(&record.folder.join("judgement.json"), &judgement_text(judgement))?;
    let page = record.folder.join("page.html");
    write_file(&page, &report::html(record, judgement))?;
    Ok(page)
}

/// The judgement as it is written and printed: the same record gives the same bytes.
pub fn judgement_text(judgement: &Judgement) -> String {
    serde_json::to_string_pretty(judgement).expect("plain data") + "\n"
}

/// Writes a file.
pub fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    write_bytes(path, text.as_bytes())
}

/// Writes a file that is no text.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes)
        .map_err(|e| Error::Failed(format!("{} cannot be written: {e}\nhint: make room, or name another place with --out", path.display())))
}
