//! From a record to faults and verdicts. It runs nothing, and reads nothing but the record.
//!
//! Start with [`judge`]. First `soundness` finds faults in the readings. Then `verdict` compares
//! contenders metric by metric with the `rule`, which docs/method/verdict.md explains. Claims,
//! sweeps, factors and symptoms build on the same values (`readings`). `audit` is separate: it
//! checks published tables for impossible or inconsistent figures.

pub mod audit;
mod capacities;
pub mod causes;
mod claims;
mod costs;
mod durability;
mod effects;
mod external_generators;
pub mod history;
mod judged;
mod load_shortfall;
pub mod looks;
mod planning;
mod ranking;
mod readings;
mod repetitions;
mod restraint;
pub mod rule;
mod self_comparison;
pub mod soundness;
mod summary;
mod sweeps;
pub mod symptoms;
mod verdict;

pub use readings::value;
pub use soundness::{exclusion, invalidates, measurement};

use causes::Categories;
use judged::Judged;
use record::judgement::{Excluded, Judgement, Outcome, SCHEMA, Verdict};
use record::{Event, Record};
use soundness::Faults;
use spec::experiment::FEWEST_BLOCKS;
use spec::price::Price;
use std::borrow::Cow;
use verdict::Judge;

/// If faults spoiled this many blocks before enough were left for a verdict, a run does not wait for
/// quieter ones: twice as many as a verdict needs.
const SPOILED_MAX: usize = 2 * FEWEST_BLOCKS as usize;

/// Returns the record with all its faults: recorded ones, and those that its readings show.
pub fn with_faults(record: &Record) -> Cow<'_, Record> {
    Faults::of_record(record).within(record)
}

/// Returns whether every primary metric of every contender is settled
/// ([`spec::metric::Metric::is_primary`]). A metric counts as settled, too, if more blocks would
/// give no verdict: the contender failed, nothing was measured, or faults spoiled most blocks so far.
/// If faults left too few blocks, the next ones replace them.
pub fn is_settled(record: &Record) -> bool {
    let record = &*with_faults(record);
    let verdicts = Judge::new(record).primary_verdicts();
    let is_settled = |judged: &Judged| {
        let Verdict { outcome, used, invalidated, .. } = judged.verdict;
        let is_hopeless = used >= FEWEST_BLOCKS as usize
            || (used == 0 && invalidated == 0)
            || invalidated >= SPOILED_MAX;
        outcome != Outcome::Undecided || (judged.p.is_none() && is_hopeless)
    };
    !verdicts.is_empty() && verdicts.iter().all(is_settled)
}

/// Judges a record.
pub fn judge(record: &Record) -> Judgement {
    let found = Faults::of_record(record);
    let mut faults = found.list(record);
    faults.extend(durability::durability_faults(record));
    // From here on the record holds every fault.
    let record = &*found.within(record);
    let experiment = &record.header.experiment;
    let mut judge = Judge::new(record);
    let mut judged = judge.all_verdicts();
    let noise = ranking::noise(record, &judged);
    ranking::correct_twins(&mut judged, experiment.design.confidence);
    let differing = ranking::differing(&judged);
    faults.extend(differing.iter().map(ranking::aa_differs));
    let effects = effects::all_effects(record);
    let unsound = ranking::unsound(record, &judged, &differing)
        .or_else(|| effects::unsound(record, &effects));
    judge.differs = ranking::places(&differing);
    judged.iter_mut().for_each(|j| judge.restrain(j));
    let claims = claims::judge_claims(&judge, &judged);
    let sweeps = sweeps::all_sweeps(&judge, &judged);
    let checks = soundness::list_checks(record, &faults, noise.len());
    Judgement {
        schema: SCHEMA.into(),
        record: record.header.id.clone(),
        experiment: experiment.name.clone(),
        recorded_at: record.header.recorded_at.clone(),
        blocks: record.last_block(),
        quick: record.header.quick,
        machine: record.header.machine_in_words(),
        baseline: experiment.baseline.clone(),
        verdicts: judged.into_iter().map(|j| j.verdict).collect(),
        claims,
        excluded: excluded_trials(record),
        disqualified: judge.disqualified.clone(),
        made_again: record.trials.iter().map(|t| t.stolen.len() as u32).sum(),
        faults,
        checks,
        rows: summary::rows(record),
        databases: summary::databases(record),
        offered: load_shortfall::list_shortfalls(record),
        curves: summary::curves(record),
        sweeps,
        capacities: capacities::all_capacities(record),
        external_generators: external_generators::compare_generators(record),
        effects,
        starts: summary::starts(record),
        warmups: summary::warmups(record),
        incomplete: is_incomplete(record, &judge),
        looks: judge.looks.all,
        noise,
        causes: causes::all_causes(record, &Categories::of_record(record, Vec::new())),
        symptoms: symptoms::find_symptoms(record),
        costs: None,
        audit: record.header.article.as_ref().map(audit::audit),
        unsound: unsound.is_some(),
    }
}

/// Judges a record, and computes what requests cost if there is a price.
pub fn judge_with_price(record: &Record, price: Option<&Price>) -> Judgement {
    let costs = price.map(|price| costs::all_costs(&with_faults(record), price));
    Judgement { costs, ..judge(record) }
}

/// Lists the trials that are excluded from every verdict, with the reason.
fn excluded_trials(record: &Record) -> Vec<Excluded> {
    let excluded = record.trials.iter().filter_map(|trial| {
        Some(Excluded {
            contender: trial.contender.clone(),
            block: trial.block,
            reason: exclusion(trial)?,
        })
    });
    excluded.collect()
}

/// Returns whether something that was planned is missing: a trial or a contender that failed, a
/// disqualified contender, or blocks that did not run. A run that is analysed after every block has
/// an upper limit of blocks and no plan: if its time is spent after enough of them, it is complete.
fn is_incomplete(record: &Record, judge: &Judge<'_>) -> bool {
    let is_out_of_time = record.header.experiment.design.look_always
        && record.ended() == Some(Event::BudgetSpent)
        && record.complete_blocks() >= FEWEST_BLOCKS;
    !judge.disqualified.is_empty()
        || record.trials.iter().any(|t| t.failure.is_some())
        || record.dropped().next().is_some()
        || record.header.skipped.iter().any(|s| s.failed)
        || (!is_out_of_time && !record.missing().is_empty())
}
