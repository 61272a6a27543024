//! Plans an experiment and runs its trials.
//!
//! [`Lab::open`] resolves, builds and writes the record's header;
//! [`Lab::begin`] warms the upstream and proves that contenders answer alike;
//! [`Lab::run_trial`] runs what is missing, one trial at a time, so that whoever
//! calls may judge in between and stop.

mod agents;
mod capacity;
mod clock;
mod engine;
pub mod instrument;
mod keeping;
mod participants;
mod pauses;
pub mod plan;
mod steady;
mod trial;
mod warmup;
pub mod witness;
mod writer;

pub use keeping::Source;
pub use participants::{Ready, gather, prove, provide, provide_database};

use agents::Agents;
use model::catalog::Catalog;
use model::experiment::{CpuSets, Experiment};
use model::name::ContenderName;
use model::problem::Problems;
use model::record::{self, Answers, Event, Fault, Header, Line, Participant, Record, Session, Skipped, SkippedCell, Trial, Upstream};
use model::workload::Workload;
use participants::Gathered;
use runner::awake::Awake;
use runner::database::Means;
use runner::needs::Tools;
use runner::place::{Limits, Runner};
use runner::start::{Running, Surroundings};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use writer::Writer;

/// How often a lost upstream is started again in one session.
const UPSTREAM_RESTARTS: u32 = 3;

/// What is told while a run goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A contender's artefacts are being made.
    Building(&'a ContenderName),
    /// They were made, or were there.
    Built {
        /// Whose.
        name: &'a ContenderName,
        /// Whether anything had to be done.
        was_built: bool,
    },
    /// A contender does not take part.
    Skipped(&'a Skipped),
    /// A cell is not measured.
    SkippedCell(&'a SkippedCell),
    /// The upstream starts and is warmed.
    Warming(&'a ContenderName),
    /// A contender's answers are being proved.
    Proving(&'a ContenderName),
    /// A contender's answers have been proved, or not.
    Proved(&'a Answers),
    /// A trial begins.
    Begins {
        /// Who.
        name: &'a ContenderName,
        /// Its block, from 1.
        block: u32,
        /// How many trials are recorded.
        done: usize,
        /// How many there will be.
        total: usize,
    },
    /// What the trial under way does: `starts`, `warms up, 7 s, 812/s, p50 2.10ms, 310us CPU a request`, the cell's name.
    Doing(&'a str),
    /// A trial has ended.
    Ended(&'a Trial),
    /// The upstream was lost and is started again.
    UpstreamLost(&'a str),
    /// An agent is not there.
    AgentAbsent {
        /// Why, with what to do.
        why: &'a str,
        /// Whether all were made anew; otherwise the others make the load.
        made_anew: bool,
    },
    /// The engine that systems run in was lost, and what was under way with it: it is repeated once the engine is there again.
    EngineLost(&'a str),
}

/// Is told of progress.
pub type Watcher<'w> = dyn FnMut(Progress<'_>) + 'w;

/// Why a run cannot begin or go on.
#[derive(Debug)]
pub enum LabError {
    /// Something that was written is wrong.
    Problems(Problems),
    /// The record cannot be written.
    Record(PathBuf, std::io::Error),
    /// Nobody is left to compare, or nothing to compare with.
    NobodyLeft(String),
    /// The upstream does not start or does not stay.
    Upstream(ContenderName, record::Failure),
    /// The database cannot be started for a trial.
    Database(ContenderName, Box<record::Failure>),
    /// An agent is not there before anything is measured, or none is any more: why, with what to do.
    Agents(String),
    /// The engine that systems run in was lost and is not there again.
    Engine(String),
    /// It was asked to stop.
    Interrupted,
}

impl From<Problems> for LabError {
    fn from(problems: Problems) -> Self {
        LabError::Problems(problems)
    }
}

impl std::fmt::Display for LabError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LabError::Problems(problems) => problems.fmt(f),
            LabError::Record(path, error) => {
                write!(
                    f,
                    "error: the record {} cannot be written: {error}\nhint: what was measured before is there; make room or name another folder with --out",
                    path.display()
                )
            }
            LabError::NobodyLeft(why) => {
                write!(f, "error: {why}\nhint: `faceoff doctor` shows what is missing, `faceoff check` what does not answer")
            }
            LabError::Upstream(name, failure) => write_failure(f, "upstream", name, failure),
            LabError::Database(name, failure) => write_failure(f, "database", name, failure),
            LabError::Agents(why) => write!(f, "error: {why}"),
            LabError::Engine(why) => {
                let hint = "hint: start it; what was measured is recorded, and `faceoff run --resume` goes on";
                write!(f, "error: the engine that systems run in was lost: {why}\n{hint}")
            }
            LabError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for LabError {}

fn write_failure(f: &mut std::fmt::Formatter<'_>, what: &str, name: &ContenderName, failure: &record::Failure) -> std::fmt::Result {
    write!(f, "error: the {what} {name} failed ({}): {}", failure.stage, failure.cause)?;
    failure.log.iter().try_for_each(|line| write!(f, "\n  | {line}"))
}

/// Where a run happens.
pub struct Place<'a> {
    /// Systems, workloads, experiments.
    pub catalog: &'a Catalog,
    /// Where build logs and stamps are kept.
    pub cache: &'a Path,
    /// The version of faceoff, for the record.
    pub version: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

/// A run under way.
pub struct Lab<'a> {
    place: &'a Place<'a>,
    tools: Tools,
    runner: Box<dyn Runner>,
    agents: Option<Agents>,
    /// By what cells ask.
    workloads: BTreeMap<String, Workload>,
    ready: Vec<Ready>,
    upstream: Option<Ready>,
    database: Option<keeping::Source>,
    awake: Option<Awake>,
    running_upstream: Option<Running>,
    upstream_restarts: u32,
    engine_losses: u32,
    seconds: Option<SyncSender<load::Progress>>,
    writer: Writer,
    record: Record,
}

impl<'a> Lab<'a> {
    /// Resolves and builds everybody, and writes the header into a new folder, with what the command line changed.
    ///
    /// # Errors
    /// Problems of the files; an agent that is not there; nobody left to compare; a record that cannot be written.
    pub fn open(
        place: &'a Place<'a>,
        mut experiment: Experiment,
        quick: bool,
        changes: Vec<String>,
        folder: &Path,
        watch: &mut Watcher<'_>,
    ) -> Result<Lab<'a>, LabError> {
        let skipped_cells = witness::leave_out(&mut experiment);
        skipped_cells.iter().for_each(|skipped| watch(Progress::SkippedCell(skipped)));
        if experiment.cells.is_empty() {
            return Err(LabError::NobodyLeft("no cell can be measured: none of their drivers is on the PATH".into()));
        }
        let cpus = runner::cpus::choose(&experiment.place)?;
        let mut agents = Agents::of(&mut experiment.place)?;
        if let Some(why) = agents.iter_mut().flat_map(|agents| agents.look(place.stop)).next() {
            return Err(LabError::Agents(why));
        }
        let id = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_else(|| experiment.name.clone());
        let tools = Tools::default();
        let article = experiment.article();
        let article = article.map(|name| place.catalog.article(name)).transpose()?;
        let runner = runner::place::runner(&experiment.place, experiment.everybody().chain(&experiment.upstream))?;
        let gathered = participants::gather_all(place, (&tools, &*runner), &experiment, &id, watch)?;
        let means = Means { tools: &tools, run: &id, stop: place.stop };
        let agents = Agents::or_in_pods(agents, &experiment, &*runner, &cpus.generator, place.cache, means)?;
        let out_of_reach = |ready: &Ready| agents.as_ref().and_then(|agents| agents.cannot_reach(&ready.contender));
        if let Some(problems) = gathered.ready.iter().find_map(out_of_reach) {
            return Err(problems.into());
        }
        let names: Vec<ContenderName> = gathered.ready.iter().map(|r| r.contender.name.clone()).collect();
        let checks = experiment.cells.iter().map(|c| (c.workload.clone(), gathered.workloads[&c.asks()].checks())).collect();
        let machine = runner::machine::describe();
        let awake = keep_awake(experiment.place.keep_awake, &machine, &cpus)?;
        let header = Header {
            instrument: instrument::read(place.cache, &machine),
            schema: record::SCHEMA.into(),
            id,
            recorded_at: clock::now(),
            faceoff: place.version.into(),
            plan: plan::blocks(&names, experiment.design.blocks + experiment.design.spare_blocks, experiment.design.seed),
            contenders: gathered.ready.iter().map(|r| r.participant.clone()).collect(),
            upstream: gathered.upstream.as_ref().map(|r| r.participant.clone()),
            database: gathered.database.as_ref().map(|d| d.participant.clone()),
            skipped: gathered.skipped.clone(),
            skipped_cells,
            machine,
            cpus,
            kept_awake: awake.is_some(),
            checks,
            article,
            experiment,
            quick,
            changes,
        };
        let writer = Writer::create(folder, &header).map_err(|e| LabError::Record(folder.to_owned(), e))?;
        let record = Record {
            folder: folder.to_owned(),
            header,
            answers: vec![],
            upstreams: vec![],
            trials: vec![],
            sessions: vec![],
            torn_lines: 0,
        };
        Ok(Lab::assemble(place, (tools, runner, agents), gathered, awake, writer, record))
    }

    /// Takes up a record where it stopped, by the experiment that stands in it.
    ///
    /// # Errors
    /// As [`Lab::open`]; and when what was built since is not what was measured.
    pub fn resume(place: &'a Place<'a>, record: Record, watch: &mut Watcher<'_>) -> Result<Lab<'a>, LabError> {
        let header = &record.header;
        let tools = Tools::default();
        let mut experiment = header.experiment.clone();
        experiment.contenders = header.contenders.iter().map(|p| p.name.clone()).filter(|n| *n != experiment.baseline).collect();
        let agents = Agents::of(&mut experiment.place)?;
        let runner = runner::place::runner(&experiment.place, experiment.everybody().chain(&experiment.upstream))?;
        let gathered = participants::gather_all(place, (&tools, &*runner), &experiment, &header.id, watch)?;
        let means = Means { tools: &tools, run: &header.id, stop: place.stop };
        let agents = Agents::or_in_pods(agents, &experiment, &*runner, &header.cpus.generator, place.cache, means)?;
        let is_missing = |p: &Participant| !gathered.ready.iter().any(|r| r.contender.name == p.name);
        if let Some(lost) = header.contenders.iter().find(|p| is_missing(p)) {
            let why = gathered.skipped.iter().find(|s| s.contender == lost.name).map_or("", |s| s.reason.as_str());
            return Err(LabError::NobodyLeft(format!("{} took part in this record and cannot now: {why}", lost.name)));
        }
        let all_now = gathered.ready.iter().chain(&gathered.upstream);
        for ready in all_now {
            let before = header.contenders.iter().chain(&header.upstream).find(|p| p.name == ready.contender.name);
            if before.is_some_and(|p| p.artifacts != ready.participant.artifacts || image_of(p) != image_of(&ready.participant)) {
                return Err(Problems::plain(
                    format!("{} was built anew since this record began: its artefacts differ", ready.contender.name),
                    "bring back the sources as they were, or begin a new record",
                )
                .into());
            }
        }
        // What was killed could not clear up behind itself.
        runner::scrub::folder(&record.folder.join("starts"));
        let awake = keep_awake(Some(header.kept_awake), &header.machine, &header.cpus)?;
        let writer = Writer::append(&record.folder).map_err(|e| LabError::Record(record.folder.clone(), e))?;
        let mut lab = Lab::assemble(place, (tools, runner, agents), gathered, awake, writer, record);
        lab.note(Event::Resumed)?;
        Ok(lab)
    }

    fn assemble(
        place: &'a Place<'a>,
        (tools, runner, agents): (Tools, Box<dyn Runner>, Option<Agents>),
        gathered: Gathered,
        awake: Option<Awake>,
        writer: Writer,
        record: Record,
    ) -> Lab<'a> {
        let Gathered { workloads, ready, upstream, database, .. } = gathered;
        let (running_upstream, upstream_restarts, engine_losses, seconds) = (None, 0, 0, None);
        Lab {
            place,
            tools,
            runner,
            agents,
            workloads,
            ready,
            upstream,
            database,
            awake,
            running_upstream,
            upstream_restarts,
            engine_losses,
            seconds,
            writer,
            record,
        }
    }

    /// Whom to tell of each second of a measurement while it goes on; what finds no room there is dropped.
    pub fn tell_seconds(&mut self, listener: SyncSender<load::Progress>) {
        self.seconds = Some(listener);
    }

    /// The record as it is so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    fn experiment(&self) -> &Experiment {
        &self.record.header.experiment
    }

    fn cpus(&self) -> &CpuSets {
        &self.record.header.cpus
    }

    fn is_stopped(&self) -> bool {
        self.place.stop.load(Ordering::Relaxed)
    }

    fn write(&mut self, line: &Line) -> Result<(), LabError> {
        self.writer.write(line).map_err(|e| LabError::Record(self.record.folder.clone(), e))
    }

    fn note(&mut self, event: Event) -> Result<(), LabError> {
        let session = Session { event, at: clock::now() };
        self.write(&Line::Session(session.clone()))?;
        self.record.sessions.push(session);
        Ok(())
    }

    /// Starts and warms the upstream, then proves every contender that has not
    /// been proved: started once, asked every workload, stopped.
    ///
    /// # Errors
    /// An upstream that fails; nobody left to compare.
    pub fn begin(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        self.start_upstream(watch)?;
        for at in 0..self.ready.len() {
            let name = self.ready[at].contender.name.clone();
            if self.record.answers.iter().any(|a| a.contender == name) {
                continue;
            }
            let answers = loop {
                watch(Progress::Proving(&name));
                self.look_at_engine(watch)?;
                let answers = {
                    let workloads = trial::distinct(self.experiment(), &self.workloads);
                    let work = self.work_folder(&format!("proof-{name}"));
                    let around = self.around(&work, &self.cpus().contender);
                    prove(&self.ready[at].contender, &workloads, &around, self.database.as_ref(), &self.cpus().upstream)?
                };
                if self.is_stopped() {
                    return Err(LabError::Interrupted);
                }
                // Whoever stands before an upstream that the engine took with it has not failed.
                let _upstream = self.running_upstream.as_mut().and_then(Running::ended);
                match answers.failure.as_ref().and_then(|_| self.runner.lost()) {
                    None => break answers,
                    Some(why) => self.await_engine(&why, watch)?,
                }
            };
            self.write(&Line::Answers(answers.clone()))?;
            watch(Progress::Proved(&answers));
            self.record.answers.push(answers);
        }
        let out: Vec<ContenderName> = self.record.dropped().map(|(n, _)| n.clone()).collect();
        let baseline = &self.experiment().baseline;
        if out.contains(baseline) {
            return Err(LabError::NobodyLeft(format!(
                "the baseline {baseline} does not answer rightly, so there is nothing to compare with"
            )));
        }
        let is_there = |name: &ContenderName| !out.contains(name) && self.ready.iter().any(|r| r.contender.name == *name);
        // Generators are compared before one system.
        let header = &self.record.header;
        let is_of_generators = !header.skipped_cells.is_empty() || header.experiment.cells.iter().any(|cell| cell.driver.is_some());
        let may_be_alone = is_of_generators && header.experiment.contenders.is_empty();
        if !may_be_alone && !self.experiment().compared().any(is_there) {
            return Err(LabError::NobodyLeft("no contender answers rightly, so there is nobody to compare".into()));
        }
        Ok(())
    }

    fn work_folder(&self, name: &str) -> PathBuf {
        self.record.folder.join("starts").join(name.replace(':', "_"))
    }

    fn around<'s>(&'s self, work: &'s Path, cpus: &'s [usize]) -> Surroundings<'s> {
        Surroundings {
            tools: &self.tools,
            runner: &*self.runner,
            limits: Limits::of(&self.experiment().place),
            upstream: self.running_upstream.as_ref().map(Running::seen_by_others),
            database: None,
            cpus,
            descriptors: self.experiment().place.descriptors,
            work,
            run: &self.record.header.id,
            stop: self.place.stop,
        }
    }

    fn means(&self) -> Means<'_> {
        Means { tools: &self.tools, run: &self.record.header.id, stop: self.place.stop }
    }

    fn start_upstream(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        let Some(upstream) = &self.upstream else { return Ok(()) };
        let name = upstream.contender.name.clone();
        watch(Progress::Warming(&name));
        let workload = &self.workloads[&upstream.contender.system.answers[0]];
        let work = self.work_folder(&format!("upstream-{}", self.record.upstreams.len() + 1));
        let mut around = self.around(&work, &self.cpus().upstream);
        // The limit of [place] is the contender's.
        (around.upstream, around.descriptors, around.limits) = (None, None, Limits::default());
        let failed = |failure| match self.runner.lost() {
            Some(why) => LabError::Engine(why),
            None => LabError::Upstream(name.clone(), failure),
        };
        let mut running = runner::start::start(&upstream.contender, workload, &around)
            .map_err(|(failure, _)| if self.is_stopped() { LabError::Interrupted } else { failed(failure) })?;
        let given = warmup::Given {
            workloads: &[workload],
            decides: steady::Decides::Cpu,
            at_least: self.experiment().design.warmup_least,
            at_most: upstream_warmup(self.experiment()),
            cpus: &self.cpus().generator,
            stop: self.place.stop,
            heard: &|_, _| (),
        };
        let warmup = warmup::run(&mut running, &given, &mut |_, _| ());
        let warmed_with = warmup.iter().flat_map(|w| &w.windows).map(|w| w.correct).sum();
        let line = Upstream { name: name.clone(), ready_after_ns: running.ready_after_ns.unwrap_or(0), warmed_with, warmup };
        self.running_upstream = Some(running);
        self.write(&Line::Upstream(line.clone()))?;
        self.record.upstreams.push(line);
        if self.is_stopped() { Err(LabError::Interrupted) } else { Ok(()) }
    }

    /// Runs the next missing trial, or the first of the next spare block. `Ok(false)` when there is none. One that the engine took with it
    /// is not recorded, and so is missing still.
    ///
    /// # Errors
    /// Interrupted; a record that cannot be written; an upstream or an engine that does not stay; no agent left.
    pub fn run_trial(&mut self, watch: &mut Watcher<'_>) -> Result<bool, LabError> {
        let missing = self.record.missing_or_spare();
        let Some((block, position, name)) = missing.first().cloned() else { return Ok(false) };
        if !self.look_at_agents(watch)? {
            return Ok(true);
        }
        let done = self.record.trials.len();
        watch(Progress::Begins { name: &name, block, done, total: done + missing.len() });
        let at = self.ready.iter().position(|r| r.contender.name == name).expect("the plan names those who are ready");
        let work = self.work_folder(&format!("block-{block:03}-{name}"));
        self.look_at_engine(watch)?;
        let trial = {
            let workloads = trial::distinct(self.experiment(), &self.workloads);
            let keeping = self.database.as_ref().map(|source| source.start(&workloads, &self.cpus().upstream, &work, self.means()));
            let keeping = keeping.transpose()?;
            let around = self.around(&work, &self.cpus().contender);
            let upstream = self.running_upstream.as_ref().and_then(Running::pid);
            let setup = trial::Setup {
                ready: &self.ready[at],
                experiment: self.experiment(),
                workloads: &self.workloads,
                cpus: self.cpus(),
                awake: self.awake.as_ref(),
                agents: self.agents.as_ref(),
                seconds: self.seconds.as_ref(),
                upstream,
                block,
                position,
            };
            trial::run(&setup, &around, keeping, watch)
        };
        if self.is_stopped() {
            return Err(LabError::Interrupted);
        }
        let mut trial = trial;
        let lost = self.running_upstream.as_mut().and_then(Running::ended);
        let has_failed = trial.failure.is_some() || lost.is_some();
        if let Some(why) = has_failed.then(|| self.runner.lost()).flatten() {
            // Nothing of it is in the log of the one that repeats it.
            let _ = std::fs::remove_dir_all(&work);
            self.await_engine(&why, watch)?;
            return Ok(true);
        }
        if let Some(status) = &lost {
            trial.faults.push(upstream_lost(status));
        }
        self.write(&Line::Trial(Box::new(trial.clone())))?;
        tidy(&work, trial.failure.is_none());
        watch(Progress::Ended(&trial));
        self.record.trials.push(trial);
        if let Some(status) = lost {
            watch(Progress::UpstreamLost(&status));
            self.running_upstream = None;
            self.upstream_restarts += 1;
            if self.upstream_restarts > UPSTREAM_RESTARTS {
                self.note(Event::UpstreamLost)?;
                let name = self.upstream.as_ref().expect("it was lost").contender.name.clone();
                let cause = format!("lost {} times, last with {status}", self.upstream_restarts);
                return Err(LabError::Upstream(name, record::Failure { stage: "measure".into(), cause, log: vec![] }));
            }
            self.start_upstream(watch)?;
        }
        Ok(true)
    }

    /// Ends the session, stops the upstream, and returns the record.
    ///
    /// # Errors
    /// When the last line cannot be written.
    pub fn finish(mut self, event: Event) -> Result<Record, LabError> {
        if let (Some(running), Some(upstream)) = (self.running_upstream.take(), &self.upstream) {
            let _ = running.stop(&upstream.contender);
        }
        let _ = std::fs::remove_dir(self.record.folder.join("starts"));
        self.note(event)?;
        Ok(self.record)
    }
}

/// What names its image, where it has one.
fn image_of(participant: &Participant) -> Option<&str> {
    participant.image.as_ref().map(|image| image.digest.as_str())
}

/// Keeps CPUs awake where that is asked for or, where nothing is said, on a virtual machine that allows it.
fn keep_awake(asked: Option<bool>, machine: &record::Machine, cpus: &CpuSets) -> Result<Option<Awake>, Problems> {
    match asked {
        Some(false) => Ok(None),
        None if !machine.is_virtual => Ok(None),
        None => Ok(Awake::start(&cpus.all()).ok()),
        Some(true) => Awake::start(&cpus.all()).map(Some).map_err(|error| {
            Problems::plain(format!("the CPUs cannot be kept awake: {error}"), "leave `keep_awake` of [place] out, or begin a new record")
        }),
    }
}

/// How long an upstream may be warmed: longer than any contender, for it serves them all.
pub fn upstream_warmup(experiment: &Experiment) -> Duration {
    (experiment.design.warmup * 2).clamp(Duration::from_secs(2), Duration::from_secs(60))
}

/// The upstream went away during a trial.
fn upstream_lost(status: &str) -> Fault {
    Fault {
        kind: "upstream-lost".into(),
        evidence: format!("the upstream ended with {status} during the trial"),
        hint: "see its log in the record's folder under starts/".into(),
    }
}

/// Keeps of a start's folder what may be asked for later: the log, of a clean trial only when it says something.
fn tidy(work: &Path, is_clean: bool) {
    let is_log = |path: &Path| path.extension().is_some_and(|extension| extension == "log");
    for entry in std::fs::read_dir(work).into_iter().flatten().flatten() {
        let path = entry.path();
        let keep = is_log(&path) && (!is_clean || entry.metadata().is_ok_and(|m| m.len() > 0));
        if !keep {
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
    }
    let _ = std::fs::remove_dir(work);
}
