//! Whether to rely on the answer: which checks held, and what is known about the machine's noise and
//! the instrument's error. Start with [`grounds`].

use super::findings::{noise_phrase, noise_sentence};
use super::notes::measured_again;
use record::Record;
use record::judgement::{Excluded, Judgement, Noise};
use record::selftest::{SelfTest, TruthOutcome};
use record::soundness::{self, CheckResult};
use serde::Serialize;
use spec::experiment::FEWEST_BLOCKS;
use spec::name::ContenderName;
use spec::units::show_share;
use std::collections::BTreeSet;

/// The number of reasons that are listed; the others are counted.
const MOST_SHOWN: usize = 5;

/// One piece of evidence for or against the answer.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Ground {
    /// `noise`
    subject: &'static str,
    /// `open` if it is unknown or incomplete.
    #[cfg_attr(test, ts(type = "\"good\" | \"bad\" | \"open\""))]
    standing: &'static str,
    sentence: String,
    /// Details.
    more: Vec<String>,
    /// The section of the report that shows it.
    section: &'static str,
}

/// A check of the measurement, with its result.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Check {
    /// The kind of the faults that it finds: `generator-lag`.
    kind: String,
    /// What holds if it finds none.
    what: String,
    #[cfg_attr(test, ts(type = "\"held\" | \"found\" | \"not_made\""))]
    standing: &'static str,
    /// `measurements`
    of: String,
    all: usize,
    looked_at: usize,
    found: usize,
}

fn ground(
    subject: &'static str,
    standing: &'static str,
    section: &'static str,
    sentence: String,
) -> Ground {
    Ground { subject, standing, sentence, more: Vec::new(), section }
}

/// Returns the evidence in the order in which a reader would ask for it.
pub(crate) fn grounds(record: &Record, judgement: &Judgement) -> Vec<Ground> {
    let header = &record.header;
    let ratios: Vec<usize> =
        judgement.verdicts.iter().filter(|v| v.ratio.is_some()).map(|v| v.used).collect();
    let run = Run {
        planned: header.experiment.design.blocks,
        begun: judgement.blocks,
        settled: record.is_settled(),
        missing: record.missing().len(),
    };
    let parts = [
        responses(record),
        checks_ground(&judgement.checks, judgement.unsound),
        Some(blocks_ground(&run, judgement.effects.is_empty().then_some(ratios.as_slice()))),
        Some(trials_ground(record.trials.len(), &judgement.excluded, measured_again(judgement))),
        Some(noise_ground(&judgement.noise, &judgement.checks, header.experiment.design.margin)),
        Some(instrument_ground(header.instrument.as_ref())),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns the checks with their results.
pub(crate) fn checks(checks: &[soundness::Check]) -> Vec<Check> {
    let one = |check: &soundness::Check| Check {
        kind: check.kind.clone(),
        what: check.what.clone(),
        standing: match check.standing() {
            CheckResult::Held => "held",
            CheckResult::Found => "found",
            CheckResult::NotMade => "not_made",
        },
        of: check.of.clone(),
        all: check.all,
        looked_at: check.looked_at,
        found: check.found,
    };
    checks.iter().map(one).collect()
}

/// Whether contenders gave the same responses before the first trial.
fn responses(record: &Record) -> Option<Ground> {
    let dropped: Vec<String> = record
        .dropped()
        .map(|(name, failure)| format!("{name} is out: {} ({})", failure.cause, failure.stage))
        .collect();
    let checks = &record.header.checks;
    let checked = checks.iter().map(|(workload, checks)| format!("{workload}: {checks}"));
    let asked: BTreeSet<&ContenderName> = record.answers.iter().map(|a| &a.contender).collect();
    responses_ground(asked.len(), dropped, checked.collect())
}

fn responses_ground(asked: usize, dropped: Vec<String>, checked: Vec<String>) -> Option<Ground> {
    if asked == 0 {
        return None;
    }
    let alike = asked - dropped.len().min(asked);
    let (standing, sentence) = match dropped.is_empty() {
        true => (
            "good",
            format!("Before anything was timed, {} gave correct responses.", all_contenders(asked)),
        ),
        false => (
            "open",
            format!(
                "Before anything was timed, {alike} of {asked} contenders gave correct responses; the others are out."
            ),
        ),
    };
    Some(Ground {
        more: dropped.into_iter().chain(checked).collect(),
        ..ground("answers", standing, "method", sentence)
    })
}

/// `both contenders`, `all 3 contenders`.
fn all_contenders(count: usize) -> String {
    match count {
        1 => "the contender".into(),
        2 => "both contenders".into(),
        n => format!("all {n} contenders"),
    }
}

fn checks_ground(checks: &[soundness::Check], unsound: bool) -> Option<Ground> {
    let of = |standing| checks.iter().filter(move |check| check.standing() == standing);
    let (held, found, not_made) = (
        of(CheckResult::Held).count(),
        of(CheckResult::Found).count(),
        of(CheckResult::NotMade).count(),
    );
    if checks.is_empty() {
        return None;
    }
    let not_possible =
        if not_made > 0 { format!("; {not_made} did not apply here") } else { String::new() };
    let (standing, sentence) = match (found, unsound) {
        (0, _) => ("good", format!("All {held} checks of the measurement held{not_possible}.")),
        (_, false) => (
            "open",
            format!(
                "{held} checks of the measurement held, {found} found faults. The measurements they affected were excluded{not_possible}."
            ),
        ),
        (_, true) => (
            "bad",
            format!(
                "{held} checks of the measurement held, {found} found faults, and the remaining measurements are too few to rank{not_possible}."
            ),
        ),
    };
    let affected = |check: &soundness::Check| {
        format!("{}: {} of {} {}", check.kind, check.found, check.all, check.of)
    };
    let more = of(CheckResult::Found).map(affected).collect();
    Some(Ground { more, ..ground("checks", standing, "trials", sentence) })
}

/// How far a run came.
struct Run {
    planned: u32,
    begun: u32,
    settled: bool,
    missing: usize,
}

/// `ratios` holds the number of blocks behind each ratio; `None` if the experiment has effects of
/// factors instead of ratios.
fn blocks_ground(run: &Run, ratios: Option<&[usize]>) -> Ground {
    let Run { planned, begun, settled, missing } = *run;
    let used = ratios.map(|used| {
        (used.iter().min().copied().unwrap_or(0), used.iter().max().copied().unwrap_or(0))
    });
    let rest = match used {
        None => String::new(),
        Some((_, 0)) => "; no ratio uses any of them".to_owned(),
        Some((least, most)) if least == most => format!("; every ratio uses {most}"),
        Some((least, most)) => format!("; ratios use {least} to {most} of them"),
    };
    let spare = match begun.saturating_sub(planned) {
        0 => String::new(),
        n => format!(" and {n} spare"),
    };
    let begun = match settled {
        true => {
            format!("{begun} of at most {planned} blocks were run, as every claim was settled then")
        }
        false => format!("{} of {planned} planned blocks{spare} were begun", begun.min(planned)),
    };
    let standing = match (used.is_none_or(|(_, most)| most >= FEWEST_BLOCKS as usize), missing) {
        (false, _) => "bad",
        (true, 0) => "good",
        (true, _) => "open",
    };
    let missing =
        if missing > 0 { format!("; {missing} planned trials are missing") } else { String::new() };
    ground("blocks", standing, "decided", format!("{begun}{rest}{missing}."))
}

fn trials_ground(all: usize, excluded: &[Excluded], again: Option<String>) -> Ground {
    let place = |e: &Excluded| format!("block {}, {}: {}", e.block, e.contender, e.reason);
    let mut more: Vec<String> = excluded.iter().take(MOST_SHOWN).map(place).collect();
    if excluded.len() > MOST_SHOWN {
        more.push(format!("and {} more", excluded.len() - MOST_SHOWN));
    }
    more.extend(again);
    let (standing, sentence) = match excluded.len() {
        0 => ("good", format!("None of {all} trials is excluded.")),
        n => (
            "open",
            format!(
                "{n} of {all} trials {} excluded from every verdict.",
                if n == 1 { "is" } else { "are" }
            ),
        ),
    };
    Ground { more, ..ground("trials", standing, "trials", sentence) }
}

fn noise_ground(noise: &[Noise], checks: &[soundness::Check], margin: f64) -> Ground {
    let Some(off) = noise_sentence(noise) else {
        return ground(
            "noise",
            "open",
            "decided",
            "Not known: the baseline was not compared with itself (`aa = true` does that).".into(),
        );
    };
    let differs = checks.iter().any(|check| check.kind == "aa-differs" && check.found > 0);
    let width = |n: &&Noise| n.interval.high / n.interval.low;
    let shown = |n: &Noise| {
        let cell = n.cell.as_deref().unwrap_or("start");
        format!("{} in {cell}: {}", n.metric.describe().label, noise_phrase(n))
    };
    let narrowest = noise
        .iter()
        .min_by(|a, b| width(a).total_cmp(&width(b)))
        .map(|n| format!("narrowest interval: {}", shown(n)));
    let widest = noise
        .iter()
        .max_by(|a, b| width(a).total_cmp(&width(b)))
        .map(|n| format!("widest interval: {}", shown(n)));
    let sentence = match differs {
        true => {
            format!(
                "{off} That is more than the margin of {}: something other than contenders makes differences here.",
                show_share(margin)
            )
        }
        false => off,
    };
    Ground {
        more: narrowest.into_iter().chain(widest).collect(),
        ..ground("noise", if differs { "bad" } else { "good" }, "decided", sentence)
    }
}

fn instrument_ground(test: Option<&SelfTest>) -> Ground {
    let Some(test) = test else {
        return ground(
            "instrument",
            "open",
            "decided",
            "Not known: the record has no self-test of this machine (`faceoff selftest` makes one).".into(),
        );
    };
    let count = |outcome| test.truths.iter().filter(|t| t.outcome == outcome).count();
    let (holds, missed, open) =
        (count(TruthOutcome::Holds), count(TruthOutcome::Missed), count(TruthOutcome::Unsound));
    let standing = match (missed, open) {
        (0, 0) => "good",
        (0, _) => "open",
        _ => "bad",
    };
    let mut sentence =
        format!("Of {} known truths the self-test of {} found {holds}", test.truths.len(), test.at);
    for (count, what) in [(missed, "missed"), (open, "could not be measured")] {
        if count > 0 {
            sentence += &format!(", {count} {what}");
        }
    }
    let errors = test.truths.iter().filter_map(|t| Some((t, t.error()?.abs())));
    let worst = errors.max_by(|a, b| a.1.total_cmp(&b.1));
    let worst = worst.map(|(truth, error)| {
        format!("largest error: {} of {}, by {}", truth.quantity, truth.what, show_share(error))
    });
    Ground {
        more: worst.into_iter().collect(),
        ..ground("instrument", standing, "decided", format!("{sentence}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Machine;
    use record::selftest::Truth;
    use spec::experiment::CpuSets;
    use spec::metric::Metric;
    use stats::Interval;
    use std::time::Duration;

    fn check(kind: &str, looked_at: usize, found: usize) -> soundness::Check {
        soundness::Check {
            kind: kind.into(),
            what: "w".into(),
            of: "measurements".into(),
            all: 12,
            looked_at,
            found,
        }
    }

    #[test]
    fn check_that_did_not_apply_has_not_held() {
        let shown =
            checks_ground(&[check("a", 12, 0), check("b", 3, 0), check("c", 0, 0)], false).unwrap();
        assert_eq!(
            (shown.standing, shown.sentence.as_str()),
            ("good", "All 2 checks of the measurement held; 1 did not apply here.")
        );
        let shown = checks_ground(&[check("steal", 12, 2), check("b", 3, 0)], false).unwrap();
        assert_eq!(
            (shown.standing, shown.more),
            ("open", vec!["steal: 2 of 12 measurements".to_owned()])
        );
        assert_eq!(checks_ground(&[check("steal", 12, 2)], true).unwrap().standing, "bad");
        assert_eq!(checks_ground(&[], true), None);
        let standings: Vec<&str> =
            checks(&[check("a", 12, 1), check("b", 12, 0), check("c", 0, 0)])
                .iter()
                .map(|c| c.standing)
                .collect();
        assert_eq!(standings, ["found", "held", "not_made"]);
    }

    #[test]
    fn blocks_are_reported_with_the_ratios_that_use_them() {
        let run = |begun, settled, missing| Run { planned: 12, begun, settled, missing };
        let shown = |run: Run, used: &[usize]| blocks_ground(&run, Some(used)).sentence;
        assert_eq!(
            shown(run(12, false, 0), &[11, 12]),
            "12 of 12 planned blocks were begun; ratios use 11 to 12 of them."
        );
        assert_eq!(
            shown(run(14, false, 0), &[12]),
            "12 of 12 planned blocks and 2 spare were begun; every ratio uses 12."
        );
        assert_eq!(
            shown(run(9, true, 0), &[9]),
            "9 of at most 12 blocks were run, as every claim was settled then; every ratio uses 9."
        );
        assert_eq!(
            shown(run(2, false, 40), &[]),
            "2 of 12 planned blocks were begun; no ratio uses any of them; 40 planned trials are missing."
        );
        let standing =
            |used: usize, missing| blocks_ground(&run(12, false, missing), Some(&[used])).standing;
        assert_eq!([standing(12, 0), standing(6, 1), standing(5, 0)], ["good", "open", "bad"]);
        assert_eq!(
            blocks_ground(&run(12, false, 0), None).sentence,
            "12 of 12 planned blocks were begun.",
            "effects use starts"
        );
    }

    #[test]
    fn excluded_trials_have_reasons_and_a_long_list_is_cut() {
        let excluded = |block| Excluded {
            contender: "b".parse().unwrap(),
            block,
            reason: "upstream-lost: it ended".into(),
        };
        let shown = trials_ground(60, &[excluded(3)], Some("Measured again: 2.".into()));
        assert_eq!(
            (shown.standing, shown.sentence.as_str()),
            ("open", "1 of 60 trials is excluded from every verdict.")
        );
        assert_eq!(shown.more, ["block 3, b: upstream-lost: it ended", "Measured again: 2."]);
        let many: Vec<Excluded> = (1..=9).map(excluded).collect();
        assert_eq!(trials_ground(60, &many, None).more.last().unwrap(), "and 4 more");
        assert_eq!(trials_ground(60, &[], None).standing, "good");
    }

    #[test]
    fn noise_is_reported_by_widest_and_narrowest_interval() {
        let noise = |metric, low: f64, high: f64| Noise {
            cell: Some("c".into()),
            metric,
            ratio: (low * high).sqrt(),
            interval: Interval { low, high },
            log_deviation: 0.01,
            best_seconds: None,
        };
        let all = [noise(Metric::LatencyP99, 0.9, 1.2), noise(Metric::Memory, 0.99, 1.01)];
        let shown = noise_ground(&all, &[], 0.05);
        assert_eq!(shown.standing, "good");
        assert!(
            shown.more[0].starts_with("narrowest interval")
                && shown.more[0].ends_with("in c: no difference (1.0 % more to 1.0 % less)"),
            "{shown:?}"
        );
        assert!(
            shown.more[1].ends_with("in c: 4 % slower (10 % faster to 20 % slower)"),
            "{shown:?}"
        );
        let differs = noise_ground(&all, &[check("aa-differs", 12, 1)], 0.05);
        assert!(
            differs.standing == "bad" && differs.sentence.contains("margin of 5 %"),
            "{differs:?}"
        );
        assert_eq!(noise_ground(&[], &[], 0.05).standing, "open");
    }

    #[test]
    fn instrument_is_as_good_as_its_worst_truth() {
        let truth = |known: f64, outcome| Truth {
            what: "5 % more".into(),
            cell: "closed".into(),
            quantity: "CPU".into(),
            unit: String::new(),
            known: Some(Interval { low: known, high: known }),
            measured: Some(1.05),
            interval: None,
            told_apart: None,
            blocks: 6,
            outcome,
            note: String::new(),
        };
        let test = |truths: Vec<Truth>| SelfTest {
            schema: String::new(),
            faceoff: "0".into(),
            at: "2026-01-01T00:00:00Z".into(),
            machine: Machine::default(),
            cpus: CpuSets { contender: vec![1], generator: vec![0], upstream: vec![0] },
            full: false,
            took: Duration::ZERO,
            confidence: 0.999,
            outcome: SelfTest::outcome_of(&truths),
            truths,
            ceiling: None,
        };
        let good = instrument_ground(Some(&test(vec![
            truth(1.05, TruthOutcome::Holds),
            truth(1.0, TruthOutcome::Holds),
        ])));
        assert_eq!(
            (good.standing, good.sentence.as_str()),
            ("good", "Of 2 known truths the self-test of 2026-01-01T00:00:00Z found 2.")
        );
        assert_eq!(good.more, ["largest error: CPU of 5 % more, by 5 %"]);
        let bad = instrument_ground(Some(&test(vec![
            truth(1.0, TruthOutcome::Missed),
            truth(1.0, TruthOutcome::Unsound),
        ])));
        assert!(
            bad.standing == "bad"
                && bad.sentence.ends_with("found 0, 1 missed, 1 could not be measured."),
            "{bad:?}"
        );
        assert_eq!(instrument_ground(None).standing, "open");
    }

    #[test]
    fn contender_with_wrong_responses_is_out() {
        let shown = responses_ground(
            3,
            vec!["b is out: 500 instead of 200 (answers)".into()],
            vec!["products: status".into()],
        )
        .unwrap();
        assert_eq!((shown.standing, shown.more.len()), ("open", 2));
        assert!(shown.sentence.contains("2 of 3 contenders"));
        assert_eq!(responses_ground(0, vec![], vec![]), None);
        assert_eq!(responses_ground(2, vec![], vec![]).unwrap().standing, "good");
    }
}
