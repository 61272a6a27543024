//! What lists and comparisons need of a record, without its trials.

use crate::wording::answer::{Answer, answer};
use record::judgement::{ClaimOutcome, Judgement, Verdict};
use record::{Event, Record};

/// A record as far as a list, or a comparison with other records, needs it.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Its name within the site.
    pub id: String,
    /// The record without its trials.
    pub record: Record,
    /// The result; `None` if it was not judged yet.
    pub result: Option<BriefResult>,
}

/// The result of a record.
#[derive(Clone, Debug)]
pub struct BriefResult {
    /// The answer in a sentence.
    pub answer: Answer,
    /// The number of claims confirmed, refuted and undecided.
    pub claims: [usize; 3],
    /// The number of blocks begun.
    pub blocks: u32,
    /// Contenders compared with the baseline.
    pub verdicts: Vec<Verdict>,
}

impl BriefResult {
    /// Keeps the part of a judgement that the site shows.
    pub fn from_judgement(record: &Record, judgement: Judgement) -> BriefResult {
        let count = |outcome| judgement.claims.iter().filter(|c| c.outcome == outcome).count();
        BriefResult {
            answer: answer(record, &judgement),
            claims: [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Undecided]
                .map(count),
            blocks: judgement.blocks,
            verdicts: judgement.verdicts,
        }
    }
}

/// Returns how the run ended, in a word or two.
pub(super) fn run_state(record: &Record) -> &'static str {
    match record.ended() {
        Some(Event::Finished) => "finished",
        Some(Event::Settled) => "settled early",
        Some(Event::BudgetSpent) => "out of time",
        Some(Event::Interrupted) => "interrupted",
        Some(Event::UpstreamLost) => "lost its upstream",
        Some(Event::EngineLost) => "lost its engine",
        Some(Event::Resumed) | None => "not ended",
    }
}

/// Writes an instant of a record as `2026-11-22 08:55`; any other text stays as it is.
pub(super) fn minute(at: &str) -> String {
    match (at.get(..10), at.get(11..16)) {
        (Some(day), Some(time)) if at.as_bytes()[10] == b'T' => format!("{day} {time}"),
        _ => at.to_owned(),
    }
}
