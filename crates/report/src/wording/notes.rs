//! What a reader must know before relying on the answer: what limited the measurement, and what
//! could not be known. Start with [`notes`].

use super::list::sentence_list;
use record::judgement::{Judgement, WarmUp};
use record::{Alternation, Event, Header, Record, STEAL_SHARE_MAX, WarmUpClass};
use spec::experiment::{Experiment, FEWEST_BLOCKS};
use spec::units::{show_duration, show_number, show_share};

/// Returns a sentence for everything that a reader must know before relying on the answer.
pub(crate) fn notes(record: &Record, judgement: &Judgement) -> Vec<String> {
    let header = &record.header;
    let mut notes: Vec<String> =
        not_known(record).into_iter().chain(unsteady(record, judgement)).collect();
    notes.extend(judgement.offered.iter().cloned());
    notes.extend(of_form(header));
    notes.extend(of_cpus(header));
    notes.extend(settled(record));
    notes.extend(measured_again(judgement));
    notes.extend(missing_trials(record));
    notes.extend(too_few_blocks(&header.experiment));
    if record.torn_lines > 0 {
        notes.push(format!(
            "Lines of the record that a crash cut short were ignored: {}.",
            record.torn_lines
        ));
    }
    notes.extend(several_claims(record, judgement));
    notes
}

/// The quick form, and contenders that do not alternate within a block.
fn of_form(header: &Header) -> Vec<String> {
    let mut notes = Vec::new();
    if header.quick {
        notes.push(format!(
            "This was the quick form: fewer contenders and cells, and at most {} to warm up. Run it without --quick for the full answer.",
            show_duration(header.experiment.design.warmup)
        ));
    }
    if let Alternation::Trials { reason } = &header.alternation
        && !reason.is_empty()
    {
        notes.push(format!(
            "Contenders were measured one after the other, and not in slices of the same moments: {reason}."
        ));
    }
    notes
}

/// Which CPUs the load had, and which the contender.
fn of_cpus(header: &Header) -> Vec<String> {
    let (cpus, place) = (&header.cpus, &header.experiment.place);
    let mut notes: Vec<&str> = Vec::new();
    if cpus.contender.len() == 1 {
        notes.push("Each contender had one CPU. There a JVM takes its serial collector and Go runs one processor: with more CPUs the answer may differ.");
    }
    if place.agent_pods.is_some() {
        notes.push("Agents in pods made the load from inside the cluster; the node of each is recorded. On a cluster of one node they had the CPUs of the load generator, and no network is part of a latency. On several nodes the network between them is, equally for every contender.");
    } else if !place.agents.is_empty() {
        let is_here = place.address.is_some_and(|address| address.is_loopback());
        notes.push(match is_here {
            true => "Agents on this machine made the load. The kernel chose their CPUs, which include the contender's.",
            false => "Agents on other machines made the load: the network between is part of every latency, equally for every contender.",
        });
    } else if cpus.contender == cpus.generator {
        notes.push("Contender and load generator shared one CPU: the load generator's own work is part of what was measured.");
    } else if cpus.generator == cpus.upstream && header.upstream.is_some() {
        notes.push("Load generator and upstream shared a CPU that the contender did not use. Latency includes the time in which they wait for each other, equally for every contender.");
    }
    if header.machine.is_virtual {
        notes.push("This is a virtual machine: its speed may change from minute to minute. Therefore only ratios within blocks are compared.");
    }
    notes.into_iter().map(str::to_owned).collect()
}

fn settled(record: &Record) -> Option<String> {
    record.is_settled().then(|| {
        format!(
            "The run ended after {} of at most {} blocks: a planned interim analysis found every claim settled. Each analysis spends a part of the allowed error, so early ones do not make chance findings more likely.",
            record.complete_blocks(),
            record.header.experiment.design.blocks
        )
    })
}

fn missing_trials(record: &Record) -> Option<String> {
    let missing = record.missing().len();
    let how = match record.ended() {
        Some(Event::Interrupted) => "the run was interrupted",
        Some(Event::UpstreamLost) => "the upstream was lost",
        Some(Event::EngineLost) => "the engine that systems run in was lost",
        Some(Event::BudgetSpent) => "the time budget was used up",
        _ => "the run has not ended",
    };
    (missing > 0).then(|| {
        format!(
            "{missing} of the planned trials are missing: {how}. `faceoff run --resume` continues the run."
        )
    })
}

fn too_few_blocks(experiment: &Experiment) -> Option<String> {
    let is_judged = experiment.cells.iter().any(|cell| cell.driver.is_none())
        && !experiment.contenders.is_empty();
    let is_small =
        experiment.design.blocks < FEWEST_BLOCKS && experiment.factors.is_empty() && is_judged;
    is_small.then(|| {
        format!("Fewer than {FEWEST_BLOCKS} blocks were planned, too few for any verdict.")
    })
}

fn several_claims(record: &Record, judgement: &Judgement) -> Option<String> {
    let tested = judgement.claims.iter().filter(|c| c.p_adjusted.is_some()).count();
    let error = 1.0 - record.header.experiment.design.confidence;
    (tested > 1).then(|| {
        format!(
            "{tested} claims are tested here, corrected for their number (Holm): the chance that any of them is decided wrongly is at most {} %.",
            show_number(error * 100.0)
        )
    })
}

/// Returns which contenders were measured before they reached a steady state.
pub(crate) fn unsteady(record: &Record, judgement: &Judgement) -> Vec<String> {
    const MOST_NAMED: usize = 6;
    let at_most = show_duration(record.header.experiment.design.warmup);
    let unsteady: Vec<(String, usize, usize)> = judgement
        .warmups
        .iter()
        .map(|warmup| {
            let never = warmup.count(WarmUpClass::NeverSteady);
            (warmup.contender.to_string(), never, warmup.starts())
        })
        .filter(|(_, never, _)| *never > 0)
        .collect();
    let named = match unsteady.as_slice() {
        several if several.len() > MOST_NAMED => {
            let sum = |part: fn(&(String, usize, usize)) -> usize| several.iter().map(part).sum();
            vec![(
                format!("{} contenders", several.len()),
                sum(|(_, never, _)| *never),
                sum(|(_, _, starts)| *starts),
            )]
        }
        few => few.to_vec(),
    };
    let mut notes: Vec<String> = named
        .iter()
        .map(|(name, never, starts)| {
            format!(
                "{name} was still changing after {at_most} of warm-up in {never} of {starts} starts. Give it more time (`warmup`) to see how fast it is when warm."
            )
        })
        .collect();
    let is_too_short = |warmup: &WarmUp| warmup.count(WarmUpClass::TooShort) > 0;
    if judgement.warmups.iter().any(is_too_short) {
        notes.push(format!(
            "In some starts the warm-up ({at_most} at most) was too short to tell whether the contender was steady."
        ));
    }
    notes
}

/// Returns how many measurements were made again because of CPU steal or other programs.
pub(crate) fn measured_again(judgement: &Judgement) -> Option<String> {
    let why = format!(
        "the hypervisor or other programs took more than {} of the CPU time",
        show_share(STEAL_SHARE_MAX)
    );
    (judgement.made_again > 0)
        .then(|| format!("Measured again, as {why}: {}.", judgement.made_again))
}

/// Returns what cannot be known about services that were already running, or were started once.
pub(crate) fn not_known(record: &Record) -> Option<String> {
    let all = || record.header.contenders.iter();
    let reached: Vec<String> =
        all().filter(|p| p.reached.is_some()).map(|p| p.name.to_string()).collect();
    let once = record.header.experiment.design.start_once;
    let about = "The verdict is about these processes: no interval includes the differences between one start of a program and the next.";
    let Some(names) = sentence_list(&reached) else {
        return once.then(|| format!("Each contender was started once. {about}"));
    };
    let unwatched: Vec<String> = all()
        .filter(|p| p.reached.is_some() && !record.is_watched(&p.name))
        .map(|p| p.name.to_string())
        .collect();
    let unknown = sentence_list(&unwatched).map(|names| {
        format!(" CPU time and memory of {names} are not known: no process on this machine that faceoff may watch listens at their address.")
    });
    let were = if reached.len() == 1 { "was" } else { "were" };
    Some(format!(
        "{names} {were} already running, so start-up time is not known.{} {about}",
        unknown.unwrap_or_default()
    ))
}
