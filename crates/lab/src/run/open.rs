//! Begins a run with a new record, or continues one that stopped.
//!
//! [`Lab::open`] checks the files first, then builds, then writes the header of the record, so that
//! a problem is reported as early as possible. [`Lab::resume`] takes the experiment from the
//! record.

use super::Lab;
use crate::agents::Agents;
use crate::block;
use crate::clock;
use crate::error::LabError;
use crate::external_generator;
use crate::instrument;
use crate::participants::{Gathered, Ready, gather_all};
use crate::place::Place;
use crate::plan;
use crate::progress::{Progress, Watcher};
use crate::writer::Writer;
use record::{Event, Header, Machine, Participant, Record, Skipped};
use runner::awake::Awake;
use runner::energy::Packages;
use runner::means::Means;
use runner::needs::Tools;
use runner::place::Runner;
use spec::experiment::{Cell, CpuSets, Experiment};
use spec::name::ContenderName;
use spec::problem::Problems;
use std::collections::BTreeMap;
use std::path::Path;

/// The parts of a run that are ready before its record is.
struct Parts {
    tools: Tools,
    runner: Box<dyn Runner>,
    agents: Option<Agents>,
    gathered: Gathered,
}

/// What a run keeps of the machine while it measures.
struct Aids {
    awake: Option<Awake>,
    /// The counters of energy, or why they cannot be read.
    energy: Result<Packages, String>,
}

impl Aids {
    fn open(keep_awake: Option<bool>, machine: &Machine, cpus: &CpuSets) -> Result<Aids, Problems> {
        let awake = self::keep_awake(keep_awake, machine, cpus)?;
        Ok(Aids { awake, energy: Packages::open(Path::new("/sys")) })
    }

    /// Names the counters of energy, or says why they are not read.
    fn energy_in_words(&self) -> String {
        match &self.energy {
            Ok(packages) => packages.names(),
            Err(why) => format!("not read: {why}"),
        }
    }
}

impl<'a> Lab<'a> {
    /// Resolves and builds everything that takes part, and writes the header of a new record into
    /// the folder. `changes` lists what the command line changed in the experiment.
    ///
    /// # Errors
    /// A problem of the files; an agent that does not respond; nothing left to compare; a record
    /// that cannot be written.
    pub fn open(
        place: &'a Place<'a>,
        mut experiment: Experiment,
        quick: bool,
        changes: Vec<String>,
        folder: &Path,
        watch: &mut Watcher<'_>,
    ) -> Result<Lab<'a>, LabError> {
        let skipped_cells = external_generator::remove_missing(&mut experiment);
        skipped_cells.iter().for_each(|skipped| watch(Progress::SkippedCell(skipped)));
        if experiment.cells.is_empty() {
            return Err(LabError::NothingToCompare(
                "no cell can be measured: none of their drivers is on the PATH".into(),
            ));
        }
        let cpus = runner::cpus::choose(&experiment.place)?;
        let mut agents = Agents::named_in(&mut experiment.place)?;
        let lost = agents.iter_mut().flat_map(|agents| agents.find_present(place.stop)).next();
        if let Some(why) = lost {
            return Err(LabError::Agents(why));
        }
        let id = folder
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_else(|| experiment.name.clone());
        // Problems of the article are reported before the first build.
        let article = experiment.article();
        let article = article.map(|name| place.catalog.article(name)).transpose()?;
        let parts = gather_parts(place, &experiment, agents, (&id, &cpus), watch)?;
        agents_reach_all(&parts)?;
        let machine = runner::machine::describe();
        let aids = Aids::open(experiment.place.keep_awake, &machine, &cpus)?;
        let Gathered { ready, upstream, database, skipped, .. } = &parts.gathered;
        let header = Header {
            schema: record::SCHEMA.into(),
            id,
            recorded_at: clock::now(),
            faceoff: place.version.into(),
            plan: planned_blocks(&experiment, ready),
            contenders: ready.iter().map(|r| r.participant.clone()).collect(),
            upstream: upstream.as_ref().map(|r| r.participant.clone()),
            database: database.as_ref().map(|d| d.participant.clone()),
            skipped: skipped.clone(),
            skipped_cells,
            alternation: block::alternation(
                &experiment,
                parts.agents.is_some(),
                parts.gathered.ready.len(),
                &machine,
            ),
            instrument: instrument::read_recent(place.cache, &machine),
            checks: checks_of_cells(&experiment, &parts.gathered),
            machine,
            cpus,
            energy: aids.energy_in_words(),
            kept_awake: aids.awake.is_some(),
            article,
            experiment,
            quick,
            changes,
        };
        let writer =
            Writer::create(folder, &header).map_err(|e| LabError::Record(folder.to_owned(), e))?;
        Ok(Lab::assemble(place, parts, aids, writer, Record::of_header(folder.to_owned(), header)))
    }

    /// Continues a record where it stopped, with the experiment that it contains.
    ///
    /// # Errors
    /// As [`Lab::open`]; another machine, kernel or version of faceoff; and a contender, upstream
    /// or database that was built anew since the record began.
    pub fn resume(
        place: &'a Place<'a>,
        record: Record,
        watch: &mut Watcher<'_>,
    ) -> Result<Lab<'a>, LabError> {
        let header = &record.header;
        let now = (place.version, &runner::machine::describe());
        must_be_same_setting((&header.faceoff, &header.machine), now)?;
        let mut experiment = header.experiment.clone();
        experiment.contenders = header
            .contenders
            .iter()
            .map(|p| p.name.clone())
            .filter(|n| *n != experiment.baseline)
            .collect();
        let agents = Agents::named_in(&mut experiment.place)?;
        let run = (header.id.as_str(), &header.cpus);
        let parts = gather_parts(place, &experiment, agents, run, watch)?;
        takes_part_again(header, &parts.gathered)?;
        has_same_builds(header, &parts.gathered)?;
        // A run that was killed could not remove its files.
        runner::scrub::folder(&record.folder.join("starts"));
        let aids = Aids::open(Some(header.kept_awake), &header.machine, &header.cpus)?;
        let writer = Writer::append(&record.folder)
            .map_err(|e| LabError::Record(record.folder.clone(), e))?;
        let mut lab = Lab::assemble(place, parts, aids, writer, record);
        lab.note(Event::Resumed)?;
        Ok(lab)
    }

    fn assemble(
        place: &'a Place<'a>,
        parts: Parts,
        aids: Aids,
        writer: Writer,
        record: Record,
    ) -> Lab<'a> {
        let Parts { tools, runner, agents, gathered } = parts;
        let Aids { awake, energy } = aids;
        let Gathered { workloads, ready, upstream, database, .. } = gathered;
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
            energy: energy.ok(),
            running_upstream: None,
            upstream_restarts: 0,
            engine_losses: 0,
            seconds: None,
            kept: block::Kept::default(),
            writer,
            record,
        }
    }
}

/// Opens the runner, builds everything, and starts agents in pods.
fn gather_parts(
    place: &Place<'_>,
    experiment: &Experiment,
    agents: Option<Agents>,
    (run, cpus): (&str, &CpuSets),
    watch: &mut Watcher<'_>,
) -> Result<Parts, LabError> {
    let tools = Tools::default();
    let names = experiment.all_contenders().chain(&experiment.upstream);
    let runner = runner::open::open_runner(&experiment.place, names)?;
    let gathered = gather_all(place, (&tools, &*runner), experiment, run, watch)?;
    let means = Means { tools: &tools, run, stop: place.stop };
    let agents =
        Agents::or_start_pods(agents, experiment, &*runner, &cpus.generator, place.cache, means)?;
    Ok(Parts { tools, runner, agents, gathered })
}

/// Fails if agents cannot reach a contender that already runs.
fn agents_reach_all(parts: &Parts) -> Result<(), Problems> {
    let Some(agents) = &parts.agents else { return Ok(()) };
    let problem = parts.gathered.ready.iter().find_map(|r| agents.cannot_reach(&r.contender));
    problem.map_or(Ok(()), Err)
}

/// The order of contenders in each block, including spare blocks.
fn planned_blocks(experiment: &Experiment, ready: &[Ready]) -> Vec<Vec<ContenderName>> {
    let names: Vec<ContenderName> = ready.iter().map(|r| r.contender.name.clone()).collect();
    let design = &experiment.design;
    plan::blocks(&names, design.blocks + design.spare_blocks, design.seed)
}

/// By workload, a description of how responses are checked.
fn checks_of_cells(experiment: &Experiment, gathered: &Gathered) -> BTreeMap<String, String> {
    let of_cell =
        |cell: &Cell| (cell.workload.clone(), gathered.workloads[&cell.workload_label()].checks());
    experiment.cells.iter().map(of_cell).collect()
}

/// Fails if a contender of the record can no longer take part.
fn takes_part_again(header: &Header, gathered: &Gathered) -> Result<(), LabError> {
    let is_missing = |p: &&Participant| !gathered.ready.iter().any(|r| r.contender.name == p.name);
    let Some(lost) = header.contenders.iter().find(is_missing) else { return Ok(()) };
    let is_it = |skipped: &&Skipped| skipped.contender == lost.name;
    let why = gathered.skipped.iter().find(is_it).map_or("", |s| s.reason.as_str());
    Err(LabError::NothingToCompare(format!(
        "{} is in this record but is not available now: {why}",
        lost.name
    )))
}

/// Fails if blocks would be measured by another faceoff or on another machine than those before.
/// The judge pairs all blocks under one header.
fn must_be_same_setting(
    (version_before, before): (&str, &Machine),
    (version, now): (&str, &Machine),
) -> Result<(), Problems> {
    // The kernel reserves a different share of the memory at each start.
    let gib = |machine: &Machine| format!("{} GiB", machine.memory_bytes.div_ceil(1 << 30));
    let parts = [
        ("version of faceoff", version_before.to_owned(), version.to_owned()),
        ("processor", before.cpu.clone(), now.cpu.clone()),
        ("number of CPUs", before.cores.to_string(), now.cores.to_string()),
        ("memory", gib(before), gib(now)),
        ("kernel", before.kernel.clone(), now.kernel.clone()),
    ];
    let Some((what, before, now)) = parts.into_iter().find(|(_, before, now)| before != now) else {
        return Ok(());
    };
    Err(Problems::plain(
        format!("this record cannot be continued: its {what} was {before}, and is {now} now"),
        "continue it with the same faceoff, machine and kernel, or begin a new record",
    ))
}

/// Fails if a contender, the upstream or the database differs from the one that the record has.
fn has_same_builds(header: &Header, gathered: &Gathered) -> Result<(), Problems> {
    let systems = gathered.ready.iter().chain(&gathered.upstream).map(|ready| &ready.participant);
    for now in systems.chain(gathered.database.iter().map(|database| &database.participant)) {
        let recorded = header.contenders.iter().chain(&header.upstream).chain(&header.database);
        let before = recorded.into_iter().find(|participant| participant.name == now.name);
        if before.is_some_and(|p| p.artifacts != now.artifacts || image_of(p) != image_of(now)) {
            return Err(Problems::plain(
                format!("{} was rebuilt since this record began: its artefacts differ", now.name),
                "restore its earlier sources, or begin a new record",
            ));
        }
    }
    Ok(())
}

/// The digest of a participant's image, if it has one.
fn image_of(participant: &Participant) -> Option<&str> {
    participant.image.as_ref().map(|image| image.digest.as_str())
}

/// Keeps CPUs from sleeping if the experiment asks for it. If it does not say, does so on a virtual
/// machine that allows it.
fn keep_awake(
    asked: Option<bool>,
    machine: &Machine,
    cpus: &CpuSets,
) -> Result<Option<Awake>, Problems> {
    match asked {
        Some(false) => Ok(None),
        None if !machine.is_virtual => Ok(None),
        None => Ok(Awake::start(&cpus.all_cpus()).ok()),
        Some(true) => Awake::start(&cpus.all_cpus()).map(Some).map_err(|error| {
            Problems::plain(
                format!("the CPUs cannot be kept awake: {error}"),
                "remove `keep_awake` from [place], or begin a new record",
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_continues_in_the_same_setting_only() {
        let machine = Machine {
            cpu: "x".into(),
            cores: 4,
            memory_bytes: 16_300_000_000,
            kernel: "6.1.0".into(),
            ..Machine::default()
        };
        let why = |version: &str, now: &Machine| {
            must_be_same_setting(("1.0.0", &machine), (version, now)).err().map(|e| e.to_string())
        };
        let less = Machine { memory_bytes: 16_200_000_000, ..machine.clone() };
        assert_eq!((why("1.0.0", &machine), why("1.0.0", &less)), (None, None));
        for (version, now, cause) in [
            ("1.0.1", machine.clone(), "its version of faceoff was 1.0.0, and is 1.0.1 now"),
            ("1.0.0", Machine { cpu: "y".into(), ..machine.clone() }, "its processor was x,"),
            (
                "1.0.0",
                Machine { cores: 2, ..machine.clone() },
                "its number of CPUs was 4, and is 2",
            ),
            (
                "1.0.0",
                Machine { kernel: "6.2.0".into(), ..machine.clone() },
                "its kernel was 6.1.0",
            ),
            ("1.0.0", Machine { memory_bytes: 8 << 30, ..machine.clone() }, "memory was 16 GiB"),
        ] {
            let why = why(version, &now).unwrap();
            assert!(why.contains(cause) && why.contains("hint: "), "{why}");
        }
    }
}
