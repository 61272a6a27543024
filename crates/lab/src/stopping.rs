//! Runs the trials of an experiment until there is a reason to stop.
//!
//! A run ends when every planned trial is recorded, when an interim analysis settles it, when the
//! time budget is spent, or when it is interrupted. Whether something is settled is a statistical
//! question. `lab` does not judge: the caller answers through [`Decisions`]. Start at
//! [`run_to_end`].

use crate::error::LabError;
use crate::progress::Progress;
use crate::run::Lab;
use record::{Event, Record};
use spec::experiment::{Design, FEWEST_BLOCKS};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// Answers the statistical questions that decide when a run stops.
pub trait Decisions {
    /// Whether every primary metric is settled.
    fn are_metrics_settled(&self, record: &Record) -> bool;

    /// Whether more blocks could settle no further claim. Needs at least one claim that was tried.
    fn are_claims_settled(&self, record: &Record) -> bool;

    /// Whether spare blocks should replace measurements that faults invalidated.
    fn needs_spare_blocks(&self, record: &Record) -> bool;
}

/// Follows a run, for example to draw its progress.
pub trait Observer {
    /// Takes one piece of progress.
    fn progress(&mut self, progress: Progress<'_>);

    /// Learns that trials begin. The returned sender receives each second of each measurement.
    fn trials_begin(&mut self, record: &Record) -> Option<SyncSender<load::Progress>>;

    /// Learns that a further block is complete.
    fn block_complete(&mut self, record: &Record);
}

/// The interim analysis that is due after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Analysis {
    /// None: a block is incomplete, or the design plans no analysis after it.
    None,
    /// Of the primary metrics, in a run that is analysed after every block.
    Metrics,
    /// Of the claims, at a planned number of blocks.
    Claims,
}

/// Runs the missing trials, then the profiled blocks, and returns the reason for stopping.
///
/// # Errors
/// As [`Lab::begin`] and [`Lab::run_trial`].
pub fn run_to_end(
    lab: &mut Lab<'_>,
    decisions: &dyn Decisions,
    observer: &mut dyn Observer,
) -> Result<Event, LabError> {
    let design = &lab.record().header.experiment.design;
    let budget = budget_of_missing(design, lab.record().complete_blocks());
    lab.begin(&mut |progress| observer.progress(progress))?;
    // The budget is for blocks, so it begins with the first of them.
    let began = Instant::now();
    if let Some(sender) = observer.trials_begin(lab.record()) {
        lab.tell_seconds(sender);
    }
    let (mut last_block, mut reported, mut block_began) = (0, 0, Instant::now());
    loop {
        let (record, complete) = (lab.record(), lab.record().complete_blocks());
        if complete > reported {
            observer.block_complete(record);
        }
        reported = complete;
        let design = &record.header.experiment.design;
        let is_settled = complete < design.blocks && is_settled(record, decisions);
        let next = next_block(record, decisions).filter(|_| !is_settled);
        let Some(block) = next else {
            lab.profile(&mut |progress| observer.progress(progress))?;
            return Ok(if is_settled { Event::Settled } else { Event::Finished });
        };
        if block != last_block {
            // The budget ends a run between blocks: an incomplete block decides nothing.
            let last_took = block_began.elapsed();
            if last_block != 0 && is_spent(budget, began.elapsed(), last_took, design.start_once) {
                lab.profile(&mut |progress| observer.progress(progress))?;
                return Ok(Event::BudgetSpent);
            }
            (last_block, block_began) = (block, Instant::now());
        }
        lab.run_trial(&mut |progress| observer.progress(progress))?;
    }
}

/// Returns the time for the missing blocks of a run: their share of the budget, so that all sessions
/// of a run together keep to it.
fn budget_of_missing(design: &Design, complete: u32) -> Duration {
    let missing = design.blocks.saturating_sub(complete).max(1);
    design.budget.mul_f64(f64::from(missing) / f64::from(design.blocks))
}

/// Returns whether a budget leaves no time for another block that takes as long as the last one.
/// Where contenders are started once, the first block is longer than all others, so only the time
/// that has passed counts.
fn is_spent(budget: Duration, passed: Duration, last_took: Duration, start_once: bool) -> bool {
    passed + if start_once { Duration::ZERO } else { last_took } >= budget
}

/// Returns the block of the next trial: a planned one, or a spare one if faults cost too many.
fn next_block(record: &Record, decisions: &dyn Decisions) -> Option<u32> {
    if let Some((block, ..)) = record.missing().first() {
        return Some(*block);
    }
    let (spare, ..) = *record.missing_or_spare().first()?;
    let can_have_verdicts = record.header.experiment.design.blocks >= FEWEST_BLOCKS;
    (can_have_verdicts && decisions.needs_spare_blocks(record)).then_some(spare)
}

/// Whether the interim analysis that is due, if any, settles the run.
fn is_settled(record: &Record, decisions: &dyn Decisions) -> bool {
    let begun = record.last_block();
    let design = &record.header.experiment.design;
    match analysis_due(design, begun, record.complete_blocks()) {
        Analysis::None => false,
        Analysis::Metrics => decisions.are_metrics_settled(record),
        Analysis::Claims => decisions.are_claims_settled(record),
    }
}

/// Returns the analysis that is due when `complete` of the `begun` blocks are complete.
fn analysis_due(design: &Design, begun: u32, complete: u32) -> Analysis {
    if begun > complete {
        Analysis::None
    } else if design.look_always {
        if complete >= FEWEST_BLOCKS { Analysis::Metrics } else { Analysis::None }
    } else if design.looks.contains(&complete) {
        Analysis::Claims
    } else {
        Analysis::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(looks: &[u32], look_always: bool) -> Design {
        Design {
            blocks: 12,
            spare_blocks: 6,
            looks: looks.to_vec(),
            look_always,
            slices: false,
            start_once: false,
            margin: 0.05,
            confidence: 0.95,
            seed: 1,
            warmup: Duration::ZERO,
            warmup_least: Duration::ZERO,
            warmup_workloads: vec![],
            measure: Duration::from_secs(1),
            budget: Duration::from_secs(60),
        }
    }

    #[test]
    fn claims_are_analysed_at_planned_blocks_only() {
        let design = design(&[6, 9], false);
        let due = |complete| analysis_due(&design, complete, complete);
        assert_eq!(
            [5, 6, 7, 9].map(due),
            [Analysis::None, Analysis::Claims, Analysis::None, Analysis::Claims]
        );
    }

    #[test]
    fn metrics_are_analysed_after_every_block_from_the_sixth() {
        let design = design(&[], true);
        let due = |complete| analysis_due(&design, complete, complete);
        assert_eq!(
            [0, 5, 6, 7].map(due),
            [Analysis::None, Analysis::None, Analysis::Metrics, Analysis::Metrics]
        );
    }

    #[test]
    fn budget_is_shared_by_missing_blocks() {
        let design = design(&[], false);
        let seconds = |complete| budget_of_missing(&design, complete).as_secs();
        assert_eq!([0, 6, 11, 12, 14].map(seconds), [60, 30, 5, 5, 5]);
    }

    #[test]
    fn block_begins_only_if_it_would_end_in_time() {
        let s = Duration::from_secs;
        let spent = |passed, took, once| is_spent(s(60), s(passed), s(took), once);
        assert!(!spent(39, 20, false) && spent(41, 20, false), "20 s are left for 20 s");
        assert!(!spent(41, 20, true) && spent(60, 20, true), "later blocks are shorter");
    }

    #[test]
    fn incomplete_block_is_not_analysed() {
        assert_eq!(analysis_due(&design(&[6], false), 7, 6), Analysis::None);
        assert_eq!(analysis_due(&design(&[], true), 7, 6), Analysis::None);
    }
}
