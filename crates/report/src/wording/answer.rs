//! The answer to the experiment's question, in one sentence, with the sentences that qualify it.
//! Start with [`answer`].

use super::effects::effect_sentence;
use super::generators::generators_sentence;
use super::leads::{SPOKEN, crossing, leads, other_cells, verdict_sentence};
use super::list::sentence_list;
use record::Record;
use record::judgement::{ClaimOutcome, Judgement, Outcome, Verdict, WarmUp};
use serde::Serialize;
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::units::show_number;

/// The answer to the experiment's question.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Answer {
    /// `answered`, `undecided` or `unsound`.
    #[cfg_attr(test, ts(type = "\"answered\" | \"undecided\" | \"unsound\""))]
    pub outcome: &'static str,
    /// The answer in one sentence.
    pub sentence: String,
    /// Sentences that qualify it.
    pub details: Vec<String>,
    /// The contender that it is about, if it is about one.
    #[cfg_attr(test, ts(type = "string | null"))]
    pub subject: Option<ContenderName>,
    /// The metrics that it speaks of.
    pub metrics: Vec<&'static str>,
}

/// Puts the judgement into words. A contender that lost data is reported before any that is fast.
pub fn answer(record: &Record, judgement: &Judgement) -> Answer {
    let answer = ranked(record, judgement);
    let mut disqualified = judgement
        .disqualified
        .iter()
        .map(|d| format!("{} is disqualified: {}.", d.contender, d.reason));
    let Some(sentence) = disqualified.next() else { return answer };
    Answer {
        sentence,
        details: disqualified.chain([answer.sentence]).chain(answer.details).collect(),
        ..answer
    }
}

fn ranked(record: &Record, judgement: &Judgement) -> Answer {
    let details = details(judgement);
    if let Some(sentence) = effect_sentence(judgement) {
        return Answer { outcome: "answered", sentence, details, ..Answer::default() };
    }
    match subject(record, judgement) {
        Some(subject) => about_contender(record, judgement, subject, details),
        None => without_contender(record, judgement, details),
    }
}

/// The contender that the answer is about: that of the first claim, else the first that is not the
/// baseline.
fn subject<'a>(record: &'a Record, judgement: &'a Judgement) -> Option<&'a ContenderName> {
    let claimed = judgement.claims.first().map(|c| &c.claim.contender);
    let others = || {
        let names = record.header.contenders.iter().map(|p| &p.name);
        names.filter(|n| **n != judgement.baseline && !n.is_twin())
    };
    claimed.filter(|c| others().any(|n| n == *c)).or_else(|| others().next())
}

/// The answer of an experiment without contenders other than the baseline.
fn without_contender(record: &Record, judgement: &Judgement, details: Vec<String>) -> Answer {
    if record.header.experiment.aa && !judgement.noise.is_empty() {
        let sentence = format!(
            "{} was compared with itself: any difference is the noise of this machine.",
            judgement.baseline
        );
        return Answer { outcome: "answered", sentence, details, ..Answer::default() };
    }
    if let Some(sentence) = generators_sentence(judgement) {
        return Answer { outcome: "answered", sentence, details, ..Answer::default() };
    }
    Answer {
        outcome: "undecided",
        sentence: "No contender is left to compare.".into(),
        details,
        ..Answer::default()
    }
}

/// The answer of an experiment about one contender.
fn about_contender(
    record: &Record,
    judgement: &Judgement,
    subject: &ContenderName,
    details: Vec<String>,
) -> Answer {
    let leads = leads(record, judgement, subject);
    let (outcome, first) = verdict_sentence(record, judgement, subject, &leads)
        .unwrap_or_else(|| ("undecided", nothing_compared(judgement, subject)));
    let outcome = if judgement.unsound { "unsound" } else { outcome };
    let first = match provisional(judgement, [subject, &judgement.baseline]) {
        Some(why) if outcome == "answered" => format!("Provisional: {why}. {first}"),
        _ => first,
    };
    let (sentence, second) = match failures(judgement, subject) {
        Some(failed) => (failed, Some(first)),
        None => (first, None),
    };
    let metrics = leads
        .iter()
        .filter(|v| v.outcome != Outcome::Undecided)
        .map(|v| v.metric.describe().name)
        .collect();
    let others = leads.iter().filter_map(|lead| other_cells(judgement, lead));
    let crossings = SPOKEN.into_iter().filter_map(|metric| crossing(judgement, subject, metric));
    let details = second.into_iter().chain(others).chain(crossings).chain(details).collect();
    Answer { outcome, sentence, details, subject: Some(subject.clone()), metrics }
}

fn nothing_compared(judgement: &Judgement, subject: &ContenderName) -> String {
    if judgement.blocks == 0 {
        return "Nothing has been measured yet.".to_owned();
    }
    let of_subject = |v: &&Verdict| v.contender == *subject && !v.reason.is_empty();
    let reason = judgement.verdicts.iter().find(of_subject).map_or("", |v| v.reason.as_str());
    format!("Whether {subject} beats {} is undecided: {reason}.", judgement.baseline)
}

/// Returns the result so far of a run under way, in a few words, by the first leading metric.
pub fn so_far(record: &Record, judgement: &Judgement) -> Option<String> {
    let subject = record
        .header
        .contenders
        .iter()
        .map(|p| &p.name)
        .find(|name| **name != judgement.baseline && !name.is_twin())?;
    // From few blocks an interval can be too wide to be of use.
    let is_narrow = |v: &&&Verdict| v.interval.is_some_and(|i| i.low > 1e-3 && i.high < 1e3);
    let leads = leads(record, judgement, subject);
    let lead = leads.iter().find(is_narrow)?;
    let word = if lead.outcome == Outcome::Equivalent { "as" } else { "than" };
    Some(format!("{subject} {} {word} {}", lead.predicate()?, judgement.baseline))
}

/// Names those contenders that never became steady in most of their starts.
fn provisional(judgement: &Judgement, of: [&ContenderName; 2]) -> Option<String> {
    let mostly_changing =
        |warmup: &&WarmUp| of.contains(&&warmup.contender) && warmup.is_mostly_unsteady();
    let names: Vec<String> =
        judgement.warmups.iter().filter(mostly_changing).map(|w| w.contender.to_string()).collect();
    let were = if names.len() == 1 { "was" } else { "were" };
    sentence_list(&names).map(|names| format!("{names} {were} still warming up"))
}

/// Returns a sentence for each contender that the answer is not about. Undecided comparisons are
/// only in the table.
pub(crate) fn other_answers(
    record: &Record,
    judgement: &Judgement,
    answer: &Answer,
) -> Vec<String> {
    let Some(subject) = &answer.subject else { return Vec::new() };
    let others = record.header.contenders.iter().map(|p| &p.name);
    let others =
        others.filter(|name| *name != subject && **name != judgement.baseline && !name.is_twin());
    let sentence = |name: &ContenderName| {
        let decided = verdict_sentence(record, judgement, name, &leads(record, judgement, name))
            .filter(|(outcome, _)| *outcome == "answered");
        failures(judgement, name).or(decided.map(|(_, text)| text))
    };
    others.filter_map(sentence).collect()
}

/// `b fails 98 % of its requests, a 0 % (in c).`, if that was judged and any request failed.
fn failures(judgement: &Judgement, subject: &ContenderName) -> Option<String> {
    let failing = |v: &&Verdict| {
        let is_judged = v.contender == *subject
            && v.metric == Metric::FailedShare
            && v.outcome != Outcome::Undecided;
        is_judged && v.value.zip(v.baseline_value).is_some_and(|(a, b)| a > 0.0 || b > 0.0)
    };
    let verdict = judgement.verdicts.iter().find(failing)?;
    let (value, baseline) = verdict.value.zip(verdict.baseline_value)?;
    let cell = verdict.cell.as_deref().unwrap_or_default();
    Some(format!(
        "{subject} fails {} % of its requests, {} {} % (in {cell}).",
        show_number(value),
        verdict.baseline,
        show_number(baseline)
    ))
}

/// Counts claims, faults and excluded trials.
fn details(judgement: &Judgement) -> Vec<String> {
    let count = |outcome| judgement.claims.iter().filter(|c| c.outcome == outcome).count();
    let mut details = Vec::new();
    if !judgement.claims.is_empty() {
        let (confirmed, refuted, open) = (
            count(ClaimOutcome::Confirmed),
            count(ClaimOutcome::Refuted),
            count(ClaimOutcome::Undecided),
        );
        details
            .push(format!("Claims: {confirmed} confirmed, {refuted} refuted, {open} undecided."));
    }
    if !judgement.faults.is_empty() {
        let n = judgement.faults.len();
        let (s, they) = if n == 1 { ("", "it") } else { ("s", "they") };
        details.push(format!(
            "{n} fault{s} found. The measurements {they} affected were excluded; see below."
        ));
    }
    if !judgement.excluded.is_empty() {
        let n = judgement.excluded.len();
        details.push(format!(
            "{n} trial{} excluded, with the reason below.",
            if n == 1 { " was" } else { "s were" }
        ));
    }
    details
}
