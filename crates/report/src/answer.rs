//! The answer in a sentence, and what qualifies it.

use model::experiment::FEWEST_BLOCKS;
use model::judgement::{ClaimOutcome, Judgement, Outcome, RatioUnit, Verdict, WarmUp, show_confidence};
use model::metric::Metric;
use model::name::ContenderName;
use model::record::{Event, Record, STEAL_SHARE_MAX, WarmUpClass};
use model::sweep::Level;
use model::units::{show_duration, show_number, show_share};
use serde::Serialize;

/// The answer to the experiment's question.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// `answered`, `undecided` or `unsound`.
    pub outcome: &'static str,
    /// In one sentence.
    pub sentence: String,
    /// What qualifies it.
    pub details: Vec<String>,
    /// Whom it speaks of, where it is one contender.
    pub subject: Option<ContenderName>,
    /// By which metrics.
    pub metrics: Vec<&'static str>,
}

/// Puts the judgement into words; who lost data comes before who is fast.
pub fn answer(record: &Record, judgement: &Judgement) -> Answer {
    let answer = ranked(record, judgement);
    let mut said = judgement.disqualified.iter().map(|d| format!("{} is disqualified: {}.", d.contender, d.reason));
    let Some(sentence) = said.next() else { return answer };
    Answer { sentence, details: said.chain([answer.sentence]).chain(answer.details).collect(), ..answer }
}

fn ranked(record: &Record, judgement: &Judgement) -> Answer {
    let details = details(judgement);
    if judgement.unsound {
        let kinds = judgement.faults.iter().map(|f| f.kind.as_str()).collect::<std::collections::BTreeSet<_>>();
        let sentence = format!("Nobody is ranked: the measurement is unsound ({}).", kinds.into_iter().collect::<Vec<_>>().join(", "));
        return Answer { outcome: "unsound", sentence, details, ..Answer::default() };
    }
    if let Some(sentence) = crate::effects::sentence(judgement) {
        return Answer { outcome: "answered", sentence, details, ..Answer::default() };
    }
    let claimed = judgement.claims.first().map(|c| &c.claim.contender);
    let others = || record.header.contenders.iter().map(|p| &p.name).filter(|n| **n != judgement.baseline && !n.is_twin());
    let subject = claimed.filter(|c| others().any(|n| n == *c)).or_else(|| others().next());
    let Some(subject) = subject else {
        if record.header.experiment.aa && !judgement.noise.is_empty() {
            let sentence = format!("{} was compared with itself: what differs is the noise of this machine.", judgement.baseline);
            return Answer { outcome: "answered", sentence, details, ..Answer::default() };
        }
        if let Some(sentence) = crate::witnesses::sentence(judgement) {
            return Answer { outcome: "answered", sentence, details, ..Answer::default() };
        }
        return Answer { outcome: "undecided", sentence: "Nobody is left to compare.".into(), details, ..Answer::default() };
    };
    let (metrics, parts): (Vec<_>, Vec<Part>) = parts(record, judgement, subject).into_iter().unzip();
    let metrics = metrics.into_iter().flatten().collect();
    if parts.is_empty() {
        let reason = judgement.verdicts.iter().find(|v| v.contender == *subject && !v.reason.is_empty()).map_or("", |v| v.reason.as_str());
        let sentence = match judgement.blocks {
            0 => "Nothing has been measured yet.".to_owned(),
            _ => format!("Whether {subject} beats {} is undecided: {reason}.", judgement.baseline),
        };
        return Answer { outcome: "undecided", sentence, details, subject: Some(subject.clone()), metrics: Vec::new() };
    }
    // One thing can be seen in three seconds; the others stand below it.
    let (first, rest) = parts.split_first().expect("not empty");
    let sentence = format!("{subject} {} {}.", first.verb, first.text);
    let more = rest.iter().map(|part| format!("It {} {}.", part.verb, part.text));
    Answer { outcome: "answered", sentence, details: more.chain(details).collect(), subject: Some(subject.clone()), metrics }
}

/// What can be said of a contender, with the metric where that is named; whoever fails requests has that said first.
fn parts(record: &Record, judgement: &Judgement, subject: &ContenderName) -> Vec<(Option<&'static str>, Part)> {
    let of = |metric: Metric| -> Vec<&Verdict> {
        judgement.verdicts.iter().filter(|v| v.contender == *subject && v.metric == metric && v.cell.is_some()).collect()
    };
    let part = |metric| {
        let verdicts = of(metric);
        let cells = record.header.experiment.cells.iter().filter(|cell| metric.is_of(cell)).count();
        let differing = || crossing(judgement, subject, metric).or_else(|| by_cells(metric, &verdicts, cells));
        across_cells(metric, &verdicts, cells).or_else(differing)
    };
    let spoken = [Metric::Capacity, Metric::CpuPerRequest, Metric::Memory, Metric::LatencyMean, Metric::Throughput];
    let failed = failures(&of(Metric::FailedShare)).map(|failed| (None, failed));
    failed.into_iter().chain(spoken.into_iter().filter_map(|metric| Some((Some(metric.describe().name), part(metric)?)))).collect()
}

/// A sentence a contender besides the one that the answer is of: `nginx needs 2.1 % of proxy-spring-mvc's CPU per request (95 %
/// interval 2.0 % to 2.2 %).` Of whom nothing is decided, the table tells.
pub(crate) fn besides(record: &Record, judgement: &Judgement) -> Vec<String> {
    let said = answer(record, judgement);
    let Some(subject) = said.subject.filter(|_| !judgement.unsound) else { return Vec::new() };
    let others = record.header.contenders.iter().map(|p| &p.name);
    let others = others.filter(|name| **name != subject && **name != judgement.baseline && !name.is_twin());
    let first = |name| parts(record, judgement, name).into_iter().next();
    others.filter_map(|name| first(name).map(|(_, part)| format!("{name} {} {}.", part.verb, part.text))).collect()
}

/// `fails 98 % of its requests, nginx 0 %`, where that was judged and anybody failed any.
fn failures(verdicts: &[&Verdict]) -> Option<Part> {
    let failing = |v: &&&Verdict| v.outcome != Outcome::Undecided && v.value.zip(v.baseline_value).is_some_and(|(a, b)| a > 0.0 || b > 0.0);
    let verdict = verdicts.iter().find(failing)?;
    let (value, baseline) = verdict.value.zip(verdict.baseline_value)?;
    let show = show_number;
    let cell = verdict.cell.as_deref().unwrap_or_default();
    Some(Part { verb: "fails", text: format!("{} % of its requests, {} {} % ({cell})", show(value), verdict.baseline, show(baseline)) })
}

struct Part {
    verb: &'static str,
    text: String,
}

/// `is better by CPU per request up to about 17 connections, nginx above (uppercase)`, where cells differ as a swept level does.
fn crossing(judgement: &Judgement, subject: &ContenderName, metric: Metric) -> Option<Part> {
    let pair = [subject, &judgement.baseline];
    let of_metric = judgement.sweeps.iter().filter(|sweep| sweep.metric == metric);
    let mut all = of_metric.flat_map(|sweep| sweep.crossings.iter().map(move |crossing| (sweep, crossing)));
    let (sweep, crossing) = all.find(|(_, crossing)| pair.contains(&&crossing.below) && pair.contains(&&crossing.above))?;
    let label = metric.describe().label;
    let (where_better, where_worse) = if crossing.below == *subject { ("up to", "above") } else { ("above", "up to it") };
    let about = Level { parameter: sweep.parameter.clone(), value: crossing.about };
    Some(Part {
        verb: "is",
        text: format!("better by {label} {where_better} about {about}, {} {where_worse} ({})", judgement.baseline, sweep.of),
    })
}

/// `better than nginx by CPU per request in 3, worse in 2 of 6 cells`, where cells differ.
fn by_cells(metric: Metric, verdicts: &[&Verdict], cells: usize) -> Option<Part> {
    let baseline = &verdicts.first()?.baseline;
    let words = [(Outcome::Better, "better"), (Outcome::Worse, "worse"), (Outcome::Equivalent, "the same within the margin")];
    let counted = words.map(|(outcome, word)| (verdicts.iter().filter(|v| v.outcome == outcome).count(), word));
    let mut said = counted.iter().filter(|(count, _)| *count > 0);
    let (count, word) = said.next()?;
    let rest: String = said.map(|(count, word)| format!(", {word} in {count}")).collect();
    let than = if *word == "better" { "than" } else { "against" };
    Some(Part { verb: "is", text: format!("{word} {than} {baseline} by {} in {count}{rest} of {cells} cells", metric.describe().label) })
}

/// One metric over all cells: `needs 31 % to 40 % of nginx's CPU per request`. `None` where no
/// cell is decided, or cells differ.
fn across_cells(metric: Metric, verdicts: &[&Verdict], cells: usize) -> Option<Part> {
    let decided: Vec<&&Verdict> = verdicts.iter().filter(|v| v.outcome != Outcome::Undecided).collect();
    let first = decided.first()?;
    if !decided.iter().all(|v| v.outcome == first.outcome) {
        return None;
    }
    let (verb, what) = match metric {
        Metric::CpuPerRequest => ("needs", "CPU per request"),
        Metric::Memory => ("needs", "memory"),
        Metric::LatencyMean => ("has", "mean latency"),
        Metric::Throughput => ("has", "throughput"),
        _ => ("has", metric.describe().label),
    };
    let baseline = &first.baseline;
    const MOST_NAMED: usize = 6;
    let scope = match decided.len() {
        n if n == cells => String::new(),
        n if n > MOST_NAMED => format!(" (in {n} of {cells} cells)"),
        _ => format!(" ({})", decided.iter().filter_map(|v| v.cell.as_deref()).collect::<Vec<_>>().join(", ")),
    };
    if first.outcome == Outcome::Equivalent {
        let within = show_number(first.margin * 100.0);
        return Some(Part { verb, text: format!("the same {what} as {baseline}, within {within} %{scope}") });
    }
    let ratios: Vec<f64> = decided.iter().filter_map(|v| v.ratio).collect();
    let (low, high) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
    // The widest reach of the intervals, so that several cells are not made to look surer than one.
    let lows = decided.iter().filter_map(|v| v.interval).map(|i| i.low).reduce(f64::min)?;
    let highs = decided.iter().filter_map(|v| v.interval).map(|i| i.high).reduce(f64::max)?;
    let unit = RatioUnit::of(&[high, highs]);
    let span = match [low, high].map(|r| unit.show(r)) {
        [low, high] if low == high => low,
        [low, high] => format!("{low} to {high}"),
    };
    let of = unit.preposition();
    let confidence = show_confidence(decided.iter().map(|v| v.confidence).fold(1.0, f64::min));
    let interval = if ratios.len() == 1 { format!("{confidence} interval") } else { format!("{confidence} intervals within") };
    Some(Part { verb, text: format!("{span} {of}{baseline}'s {what} ({interval} {} to {}){scope}", unit.show(lows), unit.show(highs)) })
}

fn details(judgement: &Judgement) -> Vec<String> {
    let count = |outcome| judgement.claims.iter().filter(|c| c.outcome == outcome).count();
    let mut details = Vec::new();
    if !judgement.claims.is_empty() {
        let (confirmed, refuted, open) = (count(ClaimOutcome::Confirmed), count(ClaimOutcome::Refuted), count(ClaimOutcome::Undecided));
        details.push(format!("Claims: {confirmed} confirmed, {refuted} refuted, {open} undecided."));
    }
    if !judgement.faults.is_empty() {
        let n = judgement.faults.len();
        details.push(format!("{n} fault{} spoilt what it touched; see below.", if n == 1 { "" } else { "s" }));
    }
    if !judgement.excluded.is_empty() {
        let n = judgement.excluded.len();
        details.push(format!("{n} trial{} left out, with the reason below.", if n == 1 { " is" } else { "s are" }));
    }
    details
}

/// Who was measured before any steady state was seen.
pub(crate) fn unsteady(record: &Record, judgement: &Judgement) -> Vec<String> {
    const MOST_NAMED: usize = 6;
    let at_most = show_duration(record.header.experiment.design.warmup);
    let count = |warmup: &WarmUp, class| warmup.classes.iter().find(|(c, _)| *c == class).map_or(0, |(_, n)| *n);
    let starts = |warmup: &WarmUp| warmup.classes.iter().map(|(_, n)| n).sum::<usize>();
    let unsteady: Vec<(String, usize, usize)> = judgement
        .warmups
        .iter()
        .map(|warmup| (warmup.contender.to_string(), count(warmup, WarmUpClass::NeverSteady), starts(warmup)))
        .filter(|(_, never, _)| *never > 0)
        .collect();
    let said = match unsteady.as_slice() {
        several if several.len() > MOST_NAMED => {
            let sum = |part: fn(&(String, usize, usize)) -> usize| several.iter().map(part).sum();
            vec![(format!("{} contenders", several.len()), sum(|(_, never, _)| *never), sum(|(_, _, starts)| *starts))]
        }
        few => few.to_vec(),
    };
    let mut notes: Vec<String> = said
        .iter()
        .map(|(who, never, starts)| {
            format!(
                "{who} reached no steady state in {never} of {starts} starts, within the {at_most} that it had: what was measured there is a process that was still changing."
            )
        })
        .collect();
    if judgement.warmups.iter().any(|w| w.classes.iter().any(|(class, _)| *class == WarmUpClass::TooShort)) {
        notes.push(format!(
            "The warm-up ({at_most} at most) was too short to tell whether anybody was steady: a JIT compiler would not have finished."
        ));
    }
    notes
}

/// How many measurements were made again.
pub(crate) fn made_again(judgement: &Judgement) -> Option<String> {
    let why = format!("the hypervisor took more than {} of the CPU time", show_share(STEAL_SHARE_MAX));
    (judgement.made_again > 0).then(|| format!("Measured again, as {why}: {}.", judgement.made_again))
}

/// What cannot be known of whoever ran already.
pub(crate) fn not_known(record: &Record) -> Option<String> {
    let reached: Vec<String> = record.header.contenders.iter().filter(|p| p.reached.is_some()).map(|p| p.name.to_string()).collect();
    let (who, it) = match reached.as_slice() {
        [] => return None,
        [one] => (one.clone(), "It"),
        several => (several.join(" and "), "They"),
    };
    Some(format!(
        "{who} ran already and {} only reached: start-up, CPU time, memory and threads are not known, nor on which CPUs {} worked, nor what else did there. \
         What changes from one start of a program to the next is in no interval: this speaks of these processes as they were, not of their programs.",
        if it == "It" { "was" } else { "were" },
        it.to_lowercase()
    ))
}

/// What a reader must know before believing.
pub(crate) fn notes(record: &Record, judgement: &Judgement) -> Vec<String> {
    let header = &record.header;
    let design = &header.experiment.design;
    let mut notes: Vec<String> = not_known(record).into_iter().chain(unsteady(record, judgement)).collect();
    notes.extend(judgement.offered.iter().cloned());
    if header.quick {
        notes.push(format!(
            "This was the quick form: fewer contenders and cells, and at most {} to warm up. Run it without --quick for the whole answer.",
            show_duration(design.warmup)
        ));
    }
    let cpus = &header.cpus;
    if cpus.contender.len() == 1 {
        notes.push("Each contender had one CPU. There a JVM takes its serial collector and Go runs one processor: with more CPUs the answer may differ.".into());
    }
    if header.experiment.place.agent_pods.is_some() {
        notes.push("Agents in pods made the load from inside the cluster; of each is said on which node it was. On a cluster of one node they had the CPUs of the load generator, and no network is part of a latency; on several, the network between nodes is, alike for every contender.".into());
    } else if !header.experiment.place.agents.is_empty() {
        let is_here = header.experiment.place.address.is_some_and(|address| address.is_loopback());
        notes.push(match is_here {
            true => "Agents on this machine made the load: they had its CPUs as the kernel gave them, the contender's as well.".into(),
            false => {
                "Agents on other machines made the load: the network between is part of every latency, alike for every contender.".into()
            }
        });
    } else if cpus.contender == cpus.generator {
        notes.push("Everybody shared one CPU: the load generator's own work is part of what was measured.".into());
    } else if cpus.generator == cpus.upstream && header.upstream.is_some() {
        notes.push("Load generator and upstream shared a CPU, apart from the contender: latency includes their waiting for each other, alike for every contender.".into());
    }
    if header.machine.is_virtual {
        notes.push(
            "This is a virtual machine: its speed may change from minute to minute, which is why only ratios within blocks are compared."
                .into(),
        );
    }
    if record.is_settled() {
        notes.push(format!(
            "The run ended after {} of at most {} blocks: a planned look found every claim settled. Each look spends a part of the allowed error, so that looking early does not make chance findings likelier.",
            record.complete_blocks(),
            design.blocks
        ));
    }
    notes.extend(made_again(judgement));
    let missing = record.missing().len();
    if missing > 0 {
        let how = match record.ended() {
            Some(Event::Interrupted) => "the run was interrupted",
            Some(Event::UpstreamLost) => "the upstream was lost",
            Some(Event::EngineLost) => "the engine that systems run in was lost",
            Some(Event::BudgetSpent) => "the time budget was used up",
            _ => "the run has not ended",
        };
        notes.push(format!("{missing} of the planned trials are missing: {how}. `faceoff run --resume` goes on with them."));
    }
    let is_judged = header.experiment.cells.iter().any(|cell| cell.driver.is_none()) && !header.experiment.contenders.is_empty();
    if design.blocks < FEWEST_BLOCKS && header.experiment.factors.is_empty() && is_judged {
        notes.push(format!("Fewer than {FEWEST_BLOCKS} blocks were planned: no verdict can come of it."));
    }
    if record.torn_lines > 0 {
        notes.push(format!("Lines of the record that a crash cut short, and that are left out: {}.", record.torn_lines));
    }
    let tested = judgement.claims.iter().filter(|c| c.p_adjusted.is_some()).count();
    if tested > 1 {
        notes.push(format!(
            "{tested} claims are tested here, corrected for their number (Holm): the chance that any of them is decided wrongly is at most {} %.",
            show_number((1.0 - design.confidence) * 100.0)
        ));
    }
    notes
}
