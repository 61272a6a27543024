//! Whether anybody may be ranked: the baseline beside itself, and runs that fail a check.

use crate::claims::ROUNDING;
use crate::pilot;
use crate::verdict::{Judged, overloaded, spoiling_of};
use model::experiment::FEWEST_BLOCKS;
use model::judgement::{FaultAt, Noise, Outcome, Verdict};
use model::name::ContenderName;
use model::record::Record;
use model::units::show_number;
use std::collections::{BTreeMap, BTreeSet};

/// How far the baseline stands from itself, wherever that has a ratio.
pub(crate) fn noise(record: &Record, judged: &[Judged]) -> Vec<Noise> {
    let of_twin = judged.iter().filter(|j| j.verdict.contender.is_twin());
    of_twin
        .filter_map(|j| {
            let Verdict { cell, metric, ratio, interval, .. } = &j.verdict;
            let best_seconds = pilot::best_seconds(record, &record.header.experiment.baseline, *metric, cell.as_deref());
            let (ratio, interval, log_deviation) = ((*ratio)?, (*interval)?, j.log_deviation?);
            Some(Noise { cell: cell.clone(), metric: *metric, ratio, interval, log_deviation, best_seconds })
        })
        .collect()
}

/// Takes back where the baseline differs from itself no more often than chance would have it: among so many comparisons with
/// itself (Holm 1979), as among claims.
pub(crate) fn correct_twins(judged: &mut [Judged], confidence: f64) {
    let mut twins: Vec<&mut Judged> = judged.iter_mut().filter(|j| j.verdict.contender.is_twin() && j.p.is_some()).collect();
    let differs = |judged: &Judged| matches!(judged.verdict.outcome, Outcome::Better | Outcome::Worse);
    // Elsewhere p may be that of being equivalent.
    let adjusted = stats::holm(&twins.iter().map(|j| j.p.filter(|_| differs(j)).unwrap_or(1.0)).collect::<Vec<_>>());
    let family = twins.len();
    for (twin, p) in twins.iter_mut().zip(adjusted) {
        if differs(twin) && p > 1.0 - confidence + ROUNDING {
            let reason = format!(
                "alone it would differ from itself, but of {family} comparisons with itself one may: corrected by Holm, p = {}",
                show_number(p)
            );
            twin.withdraw(reason);
        }
    }
}

/// Where the baseline differs from itself by more than the margin: the place, in words, and the fault.
pub(crate) fn differing(judged: &[Judged]) -> Vec<(Verdict, String)> {
    let of_twin = judged.iter().map(|j| &j.verdict).filter(|v| v.contender.is_twin());
    of_twin.filter(|v| matches!(v.outcome, Outcome::Better | Outcome::Worse)).map(|v| (v.clone(), v.phrase())).collect()
}

/// Differing places as [`crate::verdict::Judge::differs`] has them.
pub(crate) fn places(differing: &[(Verdict, String)]) -> BTreeMap<(Option<String>, &'static str), String> {
    differing.iter().map(|(v, how)| ((v.cell.clone(), v.metric.describe().name), how.clone())).collect()
}

/// The fault that a differing place is.
pub(crate) fn aa_differs((verdict, how): &(Verdict, String)) -> FaultAt {
    let about = verdict.metric.describe();
    let place = match &verdict.cell {
        Some(cell) => format!("the whole run, cell {cell}"),
        None => "the whole run".to_owned(),
    };
    FaultAt {
        place,
        kind: "aa-differs".into(),
        evidence: format!("{} of {} is {how}, and both are the same program", about.label, verdict.contender),
        hint: "something else than the contenders makes differences here: close what else runs, measure longer, or plan more blocks".into(),
    }
}

/// Whether the experiment rests on a verdict: one that claims speak of or, without claims, any by ratio. The baseline's twin stands for everybody.
fn rests_on(record: &Record, verdict: &Verdict) -> bool {
    let claims = &record.header.experiment.claims;
    let speaks = |cells: &[String]| cells.is_empty() || verdict.cell.as_ref().is_none_or(|cell| cells.contains(cell));
    let is_about = |name: &ContenderName| *name == verdict.contender || verdict.contender.is_twin();
    match claims.is_empty() {
        true => !verdict.metric.describe().by_difference,
        false => claims.iter().any(|c| c.metric == verdict.metric && speaks(&c.cells) && is_about(&c.contender)),
    }
}

/// The kinds of faults for which nobody is ranked; `None` where the run is sound.
pub(crate) fn unsound(record: &Record, judged: &[Judged], differing: &[(Verdict, String)]) -> Option<String> {
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    if differing.iter().any(|(verdict, _)| rests_on(record, verdict)) {
        kinds.insert("aa-differs");
    }
    let fewest = FEWEST_BLOCKS as usize;
    let by_ratio: Vec<&Verdict> = judged.iter().map(|j| &j.verdict).filter(|v| !v.metric.describe().by_difference).collect();
    let counted: Vec<&Verdict> = by_ratio.iter().copied().filter(|v| rests_on(record, v)).collect();
    // Who is asked for more than it carries takes itself out, and nobody else. Where others, or the baseline, show the same, it may
    // have been their surroundings.
    let is_clear = |v: &Verdict| !v.contender.is_twin() && v.used >= fewest && overloaded(record, v) == 0;
    let is_excused = |v: &Verdict| {
        let is_clear_beside = |other: &&Verdict| other.cell == v.cell && other.metric == v.metric && is_clear(other);
        !v.contender.is_twin() && v.used + overloaded(record, v) >= fewest && counted.iter().any(is_clear_beside)
    };
    let is_short = |v: &&Verdict| v.spoilt > 0 && v.used < fewest && v.used + v.spoilt >= fewest && !is_excused(v);
    let mut short: Vec<&Verdict> = counted.iter().copied().filter(is_short).collect();
    // In a run that was too short for any verdict faults are to blame only where nothing was left.
    if by_ratio.iter().all(|v| v.used == 0 && v.spoilt > 0) {
        short.extend(by_ratio);
    }
    kinds.extend(short.into_iter().flat_map(|v| spoiling_of(record, v).flat_map(|(_, kinds)| kinds)));
    (!kinds.is_empty()).then(|| kinds.into_iter().collect::<Vec<_>>().join(", "))
}
