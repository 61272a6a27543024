//! The pages of `faceoff serve`, as HTML without a script. Computes no statistic: what is shown stands in records and in judgements.

mod chart;
mod compare;
mod html;
mod list;
mod live;
mod over_time;

pub use compare::compare;
pub use html::{Html, Link, Page, refusal};
pub use list::{Choice, list};
pub use live::{Live, live};
pub use over_time::{OverTime, key, over_time};

use crate::answer::{Answer, answer};
use model::judgement::{ClaimOutcome, Judgement, Verdict};
use model::record::{Event, Record};

/// The style of all pages: that of a record's page, and what it has not.
pub fn style() -> String {
    [include_str!("../../../../web/src/style.css"), include_str!("style.css")].concat()
}

/// A record, as far as a list and what stands beside other records need it.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Names it within the site.
    pub id: String,
    /// The record without its trials.
    pub record: Record,
    /// What it comes to; `None` where it was not judged yet.
    pub told: Option<Told>,
}

/// What a record comes to.
#[derive(Clone, Debug)]
pub struct Told {
    /// In a sentence.
    pub answer: Answer,
    /// How many claims are confirmed, refuted and undecided.
    pub claims: [usize; 3],
    /// How many blocks were begun.
    pub blocks: u32,
    /// Contenders beside the baseline.
    pub verdicts: Vec<Verdict>,
}

impl Told {
    /// What of a judgement is kept.
    pub fn of(record: &Record, judgement: Judgement) -> Told {
        let count = |outcome| judgement.claims.iter().filter(|c| c.outcome == outcome).count();
        Told {
            answer: answer(record, &judgement),
            claims: [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Undecided].map(count),
            blocks: judgement.blocks,
            verdicts: judgement.verdicts,
        }
    }
}

/// How far the run came, in a word.
fn state(record: &Record) -> &'static str {
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

/// `2026-11-22 08:55`, of an instant as records write it; whatever else stands there as it is.
fn minute(at: &str) -> String {
    match (at.get(..10), at.get(11..16)) {
        (Some(day), Some(time)) if at.as_bytes()[10] == b'T' => format!("{day} {time}"),
        _ => at.to_owned(),
    }
}
