//! Whether contenders may be ranked at all.
//!
//! The baseline can take part twice. Where it differs from itself, something other than the program
//! makes a difference, and verdicts there are withdrawn. A run is unsound if faults or such
//! differences leave nothing of what it was planned for.

use crate::judged::Judged;
use crate::planning::best_seconds;
use crate::readings::invalidating_verdict;
use crate::soundness::FaultKind;
use record::Record;
use record::judgement::{FaultAt, Noise, Outcome, Verdict};
use spec::experiment::FEWEST_BLOCKS;
use spec::name::ContenderName;
use spec::units::show_number;
use std::collections::{BTreeMap, BTreeSet};

/// Rounding of a p-value that lies on its threshold.
pub(crate) const ROUNDING: f64 = 1e-9;

/// Lists how far the baseline is from itself, wherever that has a ratio.
pub(crate) fn noise(record: &Record, judged: &[Judged]) -> Vec<Noise> {
    let of_twin = judged.iter().filter(|j| j.verdict.contender.is_twin());
    of_twin
        .filter_map(|j| {
            let Verdict { cell, metric, ratio, interval, .. } = &j.verdict;
            let best_seconds =
                best_seconds(record, &record.header.experiment.baseline, *metric, cell.as_deref());
            let (ratio, interval, log_deviation) = ((*ratio)?, (*interval)?, j.log_deviation?);
            Some(Noise {
                cell: cell.clone(),
                metric: *metric,
                ratio,
                interval,
                log_deviation,
                best_seconds,
            })
        })
        .collect()
}

/// Withdraws differences of the baseline from itself that chance explains: Holm's correction (1979)
/// over all comparisons with itself, as for claims.
pub(crate) fn correct_twins(judged: &mut [Judged], confidence: f64) {
    let mut twins: Vec<&mut Judged> =
        judged.iter_mut().filter(|j| j.verdict.contender.is_twin() && j.p.is_some()).collect();
    let differs =
        |judged: &Judged| matches!(judged.verdict.outcome, Outcome::Better | Outcome::Worse);
    // Otherwise p may be that of equivalent.
    let adjusted = stats::holm(
        &twins.iter().map(|j| j.p.filter(|_| differs(j)).unwrap_or(1.0)).collect::<Vec<_>>(),
    );
    let family = twins.len();
    for (twin, p) in twins.iter_mut().zip(adjusted) {
        if differs(twin) && p > 1.0 - confidence + ROUNDING {
            let reason = format!(
                "alone this would be a difference, but it is one of {family} comparisons of the baseline with itself: corrected by Holm, p = {}",
                show_number(p)
            );
            twin.withdraw(reason);
        }
    }
}

/// Lists where the baseline differs from itself by more than the margin, with a description.
pub(crate) fn differing(judged: &[Judged]) -> Vec<(Verdict, String)> {
    let of_twin = judged.iter().map(|j| &j.verdict).filter(|v| v.contender.is_twin());
    of_twin
        .filter(|v| matches!(v.outcome, Outcome::Better | Outcome::Worse))
        .map(|v| (v.clone(), v.phrase()))
        .collect()
}

/// Returns the differing places as [`crate::verdict::Judge::differs`] has them.
pub(crate) fn places(
    differing: &[(Verdict, String)],
) -> BTreeMap<(Option<String>, &'static str), String> {
    differing
        .iter()
        .map(|(v, how)| ((v.cell.clone(), v.metric.describe().name), how.clone()))
        .collect()
}

/// Returns the fault of a differing place.
pub(crate) fn aa_differs((verdict, how): &(Verdict, String)) -> FaultAt {
    let about = verdict.metric.describe();
    let place = match &verdict.cell {
        Some(cell) => format!("the whole run, cell {cell}"),
        None => "the whole run".to_owned(),
    };
    FaultAt {
        place,
        kind: FaultKind::AaDiffers.row().name.into(),
        evidence: format!("{} of {}: {how}, and both are the same program", about.label, verdict.contender),
        hint: "something other than the contenders makes a difference here: end other programs, measure longer, or plan more blocks".into(),
    }
}

/// Returns whether the experiment rests on a verdict: one that a claim is about or, without claims,
/// any by ratio. The baseline's twin counts for every contender.
fn rests_on(record: &Record, verdict: &Verdict) -> bool {
    let claims = &record.header.experiment.claims;
    let covers = |cells: &[String]| {
        cells.is_empty() || verdict.cell.as_ref().is_none_or(|cell| cells.contains(cell))
    };
    let is_about = |name: &ContenderName| *name == verdict.contender || verdict.contender.is_twin();
    match claims.is_empty() {
        true => !verdict.metric.describe().by_difference,
        false => claims
            .iter()
            .any(|c| c.metric == verdict.metric && covers(&c.cells) && is_about(&c.contender)),
    }
}

/// Returns the kinds of faults because of which nothing could be judged that the experiment rests
/// on. Returns `None` if something could be.
pub(crate) fn unsound(
    record: &Record,
    judged: &[Judged],
    differing: &[(Verdict, String)],
) -> Option<String> {
    let by_ratio =
        || judged.iter().map(|j| &j.verdict).filter(|v| !v.metric.describe().by_difference);
    let only_twins = by_ratio().all(|v| v.contender.is_twin());
    let relevant: Vec<&Verdict> = by_ratio()
        .filter(|v| rests_on(record, v) && (only_twins || !v.contender.is_twin()))
        .collect();
    let differs = |v: &Verdict| {
        differing.iter().any(|(twin, _)| (&twin.cell, twin.metric) == (&v.cell, v.metric))
    };
    let fewest = FEWEST_BLOCKS as usize;
    // A run that was planned too short for any verdict is unsound only if faults left nothing of
    // it.
    let is_short = |v: &Verdict| {
        v.invalidated > 0 && v.used < fewest && (v.used + v.invalidated >= fewest || v.used == 0)
    };
    if relevant.is_empty() || !relevant.iter().all(|v| is_short(v) || differs(v)) {
        return None;
    }
    let mut kinds: BTreeSet<&str> = relevant
        .iter()
        .flat_map(|v| invalidating_verdict(record, v).flat_map(|(_, kinds)| kinds))
        .collect();
    if relevant.iter().any(|v| differs(v)) {
        kinds.insert(FaultKind::AaDiffers.row().name);
    }
    Some(kinds.into_iter().collect::<Vec<_>>().join(", "))
}
