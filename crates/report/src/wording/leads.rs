//! The verdicts that an answer rests on, and sentences about them. For each metric that answers
//! speak of, one cell leads: the one in which the services were busiest. Start with [`leads`].

use super::list::sentence_list;
use record::Record;
use record::judgement::{Judgement, Outcome, Verdict};
use spec::experiment::sweep::Level;
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::units::show_duration;

/// The metrics that answers speak of, in this order.
pub(super) const SPOKEN: [Metric; 5] = [
    Metric::Capacity,
    Metric::Throughput,
    Metric::CpuPerRequest,
    Metric::LatencyMean,
    Metric::Memory,
];

/// Returns the leading verdict of each metric: the one of the cell in which the services were
/// busiest. There compilers have finished, and an idle process does not hide the cost of a request.
pub(super) fn leads<'j>(
    record: &Record,
    judgement: &'j Judgement,
    subject: &ContenderName,
) -> Vec<&'j Verdict> {
    let cells = &record.header.experiment.cells;
    let busy = |cell: &str| {
        let of = |name: &ContenderName| {
            judgement
                .rows
                .iter()
                .find(|r| r.cell == cell && r.contender == *name)
                .map_or(0.0, |r| r.cpu_percent)
        };
        of(subject).min(of(&judgement.baseline))
    };
    let lead = |metric: &Metric| {
        let can_lead = |v: &&Verdict| {
            let cell = v.cell.as_ref().and_then(|name| cells.iter().find(|c| c.name == *name));
            let is_open = cell.is_some_and(|cell| !metric.follows_from(cell));
            v.contender == *subject && v.metric == *metric && is_open && v.ratio.is_some()
        };
        let all = judgement.verdicts.iter().filter(can_lead);
        // The first of equals.
        all.rev().max_by(|a, b| {
            let of = |v: &Verdict| busy(v.cell.as_deref().unwrap_or_default());
            of(a).total_cmp(&of(b))
        })
    };
    SPOKEN.iter().filter_map(lead).collect()
}

/// Returns `answered` with the decided verdicts in a sentence; if there are none, `undecided` with
/// the best estimate. `None` if nothing was compared.
pub(super) fn verdict_sentence(
    record: &Record,
    judgement: &Judgement,
    subject: &ContenderName,
    leads: &[&Verdict],
) -> Option<(&'static str, String)> {
    let baseline = &judgement.baseline;
    let predicates = |outcome: Outcome| -> Vec<String> {
        let of = leads.iter().filter(|v| v.outcome == outcome);
        of.filter_map(|v| Some(v.predicate()?.to_string())).collect()
    };
    let (better, worse, same) =
        (predicates(Outcome::Better), predicates(Outcome::Worse), predicates(Outcome::Equivalent));
    let differs = match (sentence_list(&better), sentence_list(&worse)) {
        (Some(better), Some(worse)) => Some(format!("{better}, but {worse} than {baseline}")),
        (Some(one), None) | (None, Some(one)) => Some(format!("{one} than {baseline}")),
        (None, None) => None,
    };
    let alike = sentence_list(&same).map(|same| format!("{same} as {baseline}"));
    let decided = match (differs, alike) {
        (Some(differs), Some(alike)) => Some(format!("{subject} {differs}. It {alike}.")),
        (Some(one), None) | (None, Some(one)) => Some(format!("{subject} {one}.")),
        (None, None) => None,
    };
    if let Some(decided) = decided {
        return Some(("answered", decided));
    }
    let open = leads.iter().find(|v| v.outcome == Outcome::Undecided)?;
    let why = match open.unconfirmed.as_str() {
        "" => format!("not settled{}", what_would_settle(record, open)),
        disturbed => format!("not confirmed, as {disturbed}"),
    };
    Some(("undecided", format!("{subject} {} than {baseline}: {why}.", open.predicate()?)))
}

/// `; about 19 blocks would probably settle it`; as a duration if the services were already
/// running.
fn what_would_settle(record: &Record, open: &Verdict) -> String {
    let Some(blocks) = open.blocks_needed else { return String::new() };
    let experiment = &record.header.experiment;
    let all_ran_already = record.header.contenders.iter().all(|p| p.reached.is_some());
    if !all_ran_already {
        return format!("; about {blocks} blocks would probably settle it");
    }
    let measured = experiment.design.measure
        * (experiment.cells.len() * record.header.contenders.len()) as u32;
    // Load before and after a measurement and the time between cells come on top.
    let seconds = (measured.as_secs_f64() * 1.3 * blocks as f64 / 30.0).ceil() * 30.0;
    format!(
        "; `--for {}` would probably settle it",
        show_duration(std::time::Duration::from_secs_f64(seconds))
    )
}

/// Names the cells whose outcome differs from the leading one.
pub(super) fn other_cells(judgement: &Judgement, lead: &Verdict) -> Option<String> {
    const MOST_NAMED: usize = 4;
    let others = judgement.verdicts.iter().filter(|v| {
        v.contender == lead.contender && v.metric == lead.metric && v.cell != lead.cell
    });
    let is_dictated =
        |v: &&Verdict| lead.metric != Metric::Throughput || v.outcome != Outcome::Equivalent;
    let other = |v: &&Verdict| v.outcome != lead.outcome && v.outcome != Outcome::Undecided;
    let differing: Vec<&Verdict> = others.filter(other).filter(is_dictated).collect();
    let named: Vec<String> = differing
        .iter()
        .take(MOST_NAMED)
        .filter_map(|v| Some(format!("in {} it {}", v.cell.as_deref()?, v.predicate()?)))
        .collect();
    let rest = differing.len().saturating_sub(MOST_NAMED);
    let more =
        if rest > 0 { format!("; {rest} more loads differ, see the table") } else { String::new() };
    let mut text = format!("{}{more}.", sentence_list(&named)?);
    text[..1].make_ascii_uppercase();
    Some(match &lead.cell {
        Some(cell) => format!("That is from {cell}. {text}"),
        None => text,
    })
}

/// `It is better by CPU per request up to about 17 connections, nginx above (uppercase).`, if two
/// lines of a sweep cross.
pub(super) fn crossing(
    judgement: &Judgement,
    subject: &ContenderName,
    metric: Metric,
) -> Option<String> {
    let pair = [subject, &judgement.baseline];
    let of_metric = judgement.sweeps.iter().filter(|sweep| sweep.metric == metric);
    let mut all =
        of_metric.flat_map(|sweep| sweep.crossings.iter().map(move |crossing| (sweep, crossing)));
    let (sweep, crossing) = all
        .find(|(_, crossing)| pair.contains(&&crossing.below) && pair.contains(&&crossing.above))?;
    let (better, worse) =
        if crossing.below == *subject { ("up to", "above") } else { ("above", "up to it") };
    let about = Level { parameter: sweep.parameter.clone(), value: crossing.about };
    let label = metric.describe().label;
    Some(format!(
        "It is better by {label} {better} about {about}, {} {worse} ({}).",
        judgement.baseline, sweep.of
    ))
}
