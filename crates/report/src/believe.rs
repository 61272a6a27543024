//! Whether the answer is to be believed: what was checked, and what is known of the instrument and of this machine's noise.

use crate::answer::made_again;
use crate::text;
use model::experiment::FEWEST_BLOCKS;
use model::judgement::{Excluded, Judgement, Noise, RatioUnit};
use model::record::Record;
use model::selftest::{SelfTest, TruthOutcome};
use model::soundness::{Check, Standing};
use model::units::show_share;
use serde::Serialize;
use serde_json::{Value, json};

/// Reasons that are shown at once; the others are counted.
const MOST_SHOWN: usize = 5;

/// One thing to look at before believing.
#[derive(Debug, PartialEq, Serialize)]
pub struct Ground {
    /// What it is about.
    subject: &'static str,
    /// `good`, `bad`, or `open` where it is not known or not whole.
    standing: &'static str,
    /// In one sentence.
    sentence: String,
    /// What belongs to it.
    more: Vec<String>,
    /// The section of the page that shows it.
    section: &'static str,
}

fn ground(subject: &'static str, standing: &'static str, section: &'static str, sentence: String) -> Ground {
    Ground { subject, standing, sentence, more: Vec::new(), section }
}

/// What to look at, in the order in which one would ask.
pub fn grounds(record: &Record, judgement: &Judgement) -> Vec<Ground> {
    let header = &record.header;
    let dropped: Vec<String> =
        record.dropped().map(|(name, failure)| format!("{name} is out: {} ({})", failure.cause, failure.stage)).collect();
    let checked = header.checks.iter().map(|(workload, checks)| format!("{workload}: {checks}"));
    let asked = record.answers.iter().map(|a| &a.contender).collect::<std::collections::BTreeSet<_>>().len();
    let answers = of_answers(asked, dropped, checked.collect());
    let ratios: Vec<usize> = judgement.verdicts.iter().filter(|v| v.ratio.is_some()).map(|v| v.used).collect();
    let run = Run {
        planned: header.experiment.design.blocks,
        begun: judgement.blocks,
        settled: record.is_settled(),
        missing: record.missing().len(),
    };
    let blocks = of_blocks(&run, judgement.effects.is_empty().then_some(ratios.as_slice()));
    let trials = of_trials(record.trials.len(), &judgement.excluded, made_again(judgement));
    let checks = of_checks(&judgement.checks, judgement.unsound);
    let noise = of_noise(&judgement.noise, &judgement.checks, header.experiment.design.margin);
    let parts = [answers, checks, Some(blocks), Some(trials), Some(noise), Some(of_instrument(header.instrument.as_ref()))];
    parts.into_iter().flatten().collect()
}

/// The checks with what they came to.
pub fn checks(checks: &[Check]) -> Vec<Value> {
    let one = |check: &Check| {
        let standing = match check.standing() {
            Standing::Held => "held",
            Standing::Found => "found",
            Standing::NotMade => "not_made",
        };
        let mut value = json!(check);
        value["standing"] = json!(standing);
        value
    };
    checks.iter().map(one).collect()
}

fn of_answers(asked: usize, dropped: Vec<String>, checked: Vec<String>) -> Option<Ground> {
    if asked == 0 {
        return None;
    }
    let alike = asked - dropped.len().min(asked);
    let (standing, sentence) = match dropped.is_empty() {
        true => ("good", format!("Before anything was timed, all {asked} contenders gave the right answers.")),
        false => ("open", format!("Before anything was timed, {alike} of {asked} contenders gave the right answers; the others are out.")),
    };
    Some(Ground { more: dropped.into_iter().chain(checked).collect(), ..ground("answers", standing, "method", sentence) })
}

fn of_checks(checks: &[Check], unsound: bool) -> Option<Ground> {
    let of = |standing| checks.iter().filter(move |check| check.standing() == standing);
    let (held, found, not_made) = (of(Standing::Held).count(), of(Standing::Found).count(), of(Standing::NotMade).count());
    if checks.is_empty() {
        return None;
    }
    let silent = if not_made > 0 { format!("; {not_made} had nothing to look at here") } else { String::new() };
    let (standing, sentence) = match (found, unsound) {
        (0, _) => ("good", format!("All {held} checks of the measurement held{silent}.")),
        (_, false) => {
            ("open", format!("{held} checks of the measurement held, {found} found faults, which are left out of what they touch{silent}."))
        }
        (_, true) => {
            ("bad", format!("{held} checks of the measurement held, {found} found faults, and what is left is too little to rank{silent}."))
        }
    };
    let spoilt = |check: &Check| format!("{}: {} of {} {}", check.kind, check.found, check.all, check.of);
    let more = of(Standing::Found).map(spoilt).collect();
    Some(Ground { more, ..ground("checks", standing, "trials", sentence) })
}

/// How far a run came.
struct Run {
    planned: u32,
    begun: u32,
    settled: bool,
    missing: usize,
}

/// `ratios`: how many blocks each rests on; `None` where effects of factors are told instead.
fn of_blocks(run: &Run, ratios: Option<&[usize]>) -> Ground {
    let Run { planned, begun, settled, missing } = *run;
    let used = ratios.map(|used| (used.iter().min().copied().unwrap_or(0), used.iter().max().copied().unwrap_or(0)));
    let rest = match used {
        None => String::new(),
        Some((_, 0)) => "; no ratio rests on any of them".to_owned(),
        Some((least, most)) if least == most => format!("; every ratio rests on {most}"),
        Some((least, most)) => format!("; ratios rest on {least} to {most} of them"),
    };
    let spare = match begun.saturating_sub(planned) {
        0 => String::new(),
        n => format!(" and {n} spare"),
    };
    let said = match settled {
        true => format!("{begun} of at most {planned} blocks were run, as every claim was settled then"),
        false => format!("{} of {planned} planned blocks{spare} were begun", begun.min(planned)),
    };
    let standing = match (used.is_none_or(|(_, most)| most >= FEWEST_BLOCKS as usize), missing) {
        (false, _) => "bad",
        (true, 0) => "good",
        (true, _) => "open",
    };
    let missing = if missing > 0 { format!("; {missing} planned trials are missing") } else { String::new() };
    ground("blocks", standing, "decided", format!("{said}{rest}{missing}."))
}

fn of_trials(all: usize, excluded: &[Excluded], again: Option<String>) -> Ground {
    let place = |e: &Excluded| format!("block {}, {}: {}", e.block, e.contender, e.reason);
    let mut more: Vec<String> = excluded.iter().take(MOST_SHOWN).map(place).collect();
    if excluded.len() > MOST_SHOWN {
        more.push(format!("and {} more", excluded.len() - MOST_SHOWN));
    }
    more.extend(again);
    let (standing, sentence) = match excluded.len() {
        0 => ("good", format!("None of {all} trials is left out.")),
        n => ("open", format!("{n} of {all} trials {} left out of every verdict.", if n == 1 { "is" } else { "are" })),
    };
    Ground { more, ..ground("trials", standing, "trials", sentence) }
}

fn of_noise(noise: &[Noise], checks: &[Check], margin: f64) -> Ground {
    let Some(off) = text::noise(noise) else {
        return ground(
            "noise",
            "open",
            "decided",
            "Not known: the baseline was not measured beside itself (`aa = true` asks for it).".into(),
        );
    };
    let differs = checks.iter().any(|check| check.kind == "aa-differs" && check.found > 0);
    let wide = |n: &&Noise| n.interval.high / n.interval.low;
    let shown = |n: &Noise| {
        let cell = n.cell.as_deref().unwrap_or("start");
        let unit = RatioUnit::of(&[n.interval.high]);
        format!("{} in {cell}: {} to {}", n.metric.describe().label, unit.show(n.interval.low), unit.show(n.interval.high))
    };
    let narrowest = noise.iter().min_by(|a, b| wide(a).total_cmp(&wide(b))).map(|n| format!("told most exactly: {}", shown(n)));
    let widest = noise.iter().max_by(|a, b| wide(a).total_cmp(&wide(b))).map(|n| format!("told least exactly: {}", shown(n)));
    let sentence = match differs {
        true => {
            format!("{off} That is more than the margin of {}: something else than contenders makes differences here.", show_share(margin))
        }
        false => off,
    };
    Ground {
        more: narrowest.into_iter().chain(widest).collect(),
        ..ground("noise", if differs { "bad" } else { "good" }, "decided", sentence)
    }
}

fn of_instrument(test: Option<&SelfTest>) -> Ground {
    let Some(test) = test else {
        return ground(
            "instrument",
            "open",
            "decided",
            "Not known: the record carries no self-test of this machine (`faceoff selftest` makes one).".into(),
        );
    };
    let count = |outcome| test.truths.iter().filter(|t| t.outcome == outcome).count();
    let (holds, missed, open) = (count(TruthOutcome::Holds), count(TruthOutcome::Missed), count(TruthOutcome::Unsound));
    let standing = match (missed, open) {
        (0, 0) => "good",
        (0, _) => "open",
        _ => "bad",
    };
    let mut sentence = format!("Of {} known truths the self-test of {} found {holds}", test.truths.len(), test.at);
    for (count, what) in [(missed, "missed"), (open, "could not be told")] {
        if count > 0 {
            sentence += &format!(", {count} {what}");
        }
    }
    let errors = test.truths.iter().filter_map(|t| Some((t, t.error()?.abs())));
    let worst = errors.max_by(|a, b| a.1.total_cmp(&b.1));
    let worst =
        worst.map(|(truth, error)| format!("farthest from what is known: {} of {}, by {}", truth.quantity, truth.what, show_share(error)));
    Ground { more: worst.into_iter().collect(), ..ground("instrument", standing, "decided", format!("{sentence}.")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::experiment::CpuSets;
    use model::metric::Metric;
    use model::record::Machine;
    use model::selftest::Truth;
    use stats::Interval;
    use std::time::Duration;

    fn check(kind: &str, looked_at: usize, found: usize) -> Check {
        Check { kind: kind.into(), what: "w".into(), of: "measurements".into(), all: 12, looked_at, found }
    }

    #[test]
    fn a_check_that_could_not_look_has_not_held() {
        let said = of_checks(&[check("a", 12, 0), check("b", 3, 0), check("c", 0, 0)], false).unwrap();
        assert_eq!(
            (said.standing, said.sentence.as_str()),
            ("good", "All 2 checks of the measurement held; 1 had nothing to look at here.")
        );
        let said = of_checks(&[check("steal", 12, 2), check("b", 3, 0)], false).unwrap();
        assert_eq!((said.standing, said.more), ("open", vec!["steal: 2 of 12 measurements".to_owned()]));
        assert_eq!(of_checks(&[check("steal", 12, 2)], true).unwrap().standing, "bad");
        assert_eq!(of_checks(&[], true), None);
        let standings: Vec<Value> =
            checks(&[check("a", 12, 1), check("b", 12, 0), check("c", 0, 0)]).iter().map(|c| c["standing"].clone()).collect();
        assert_eq!(standings, ["found", "held", "not_made"]);
    }

    #[test]
    fn blocks_are_told_with_what_rests_on_them() {
        let run = |begun, settled, missing| Run { planned: 12, begun, settled, missing };
        let said = |run: Run, used: &[usize]| of_blocks(&run, Some(used)).sentence;
        assert_eq!(said(run(12, false, 0), &[11, 12]), "12 of 12 planned blocks were begun; ratios rest on 11 to 12 of them.");
        assert_eq!(said(run(14, false, 0), &[12]), "12 of 12 planned blocks and 2 spare were begun; every ratio rests on 12.");
        assert_eq!(
            said(run(9, true, 0), &[9]),
            "9 of at most 12 blocks were run, as every claim was settled then; every ratio rests on 9."
        );
        assert_eq!(
            said(run(2, false, 40), &[]),
            "2 of 12 planned blocks were begun; no ratio rests on any of them; 40 planned trials are missing."
        );
        let standing = |used: usize, missing| of_blocks(&run(12, false, missing), Some(&[used])).standing;
        assert_eq!([standing(12, 0), standing(6, 1), standing(5, 0)], ["good", "open", "bad"]);
        assert_eq!(of_blocks(&run(12, false, 0), None).sentence, "12 of 12 planned blocks were begun.", "effects rest on starts");
    }

    #[test]
    fn what_is_left_out_is_told_with_its_reason_and_a_long_list_is_cut() {
        let excluded = |block| Excluded { contender: "b".parse().unwrap(), block, reason: "upstream-lost: it ended".into() };
        let said = of_trials(60, &[excluded(3)], Some("Measured again: 2.".into()));
        assert_eq!((said.standing, said.sentence.as_str()), ("open", "1 of 60 trials is left out of every verdict."));
        assert_eq!(said.more, ["block 3, b: upstream-lost: it ended", "Measured again: 2."]);
        let many: Vec<Excluded> = (1..=9).map(excluded).collect();
        assert_eq!(of_trials(60, &many, None).more.last().unwrap(), "and 4 more");
        assert_eq!(of_trials(60, &[], None).standing, "good");
    }

    #[test]
    fn noise_is_told_by_its_widest_and_narrowest_interval() {
        let noise = |metric, low: f64, high: f64| Noise {
            cell: Some("c".into()),
            metric,
            ratio: (low * high).sqrt(),
            interval: Interval { low, high },
            log_deviation: 0.01,
            best_seconds: None,
        };
        let all = [noise(Metric::LatencyP99, 0.9, 1.2), noise(Metric::Memory, 0.99, 1.01)];
        let said = of_noise(&all, &[], 0.05);
        assert_eq!(said.standing, "good");
        assert!(said.more[0].starts_with("told most exactly") && said.more[0].ends_with("in c: 99.0 % to 101 %"), "{said:?}");
        assert!(said.more[1].ends_with("in c: 90.0 % to 120 %"), "{said:?}");
        let differs = of_noise(&all, &[check("aa-differs", 12, 1)], 0.05);
        assert!(differs.standing == "bad" && differs.sentence.contains("margin of 5.00 %"), "{differs:?}");
        assert_eq!(of_noise(&[], &[], 0.05).standing, "open");
    }

    #[test]
    fn the_instrument_is_as_good_as_its_worst_truth() {
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
        let good = of_instrument(Some(&test(vec![truth(1.05, TruthOutcome::Holds), truth(1.0, TruthOutcome::Holds)])));
        assert_eq!((good.standing, good.sentence.as_str()), ("good", "Of 2 known truths the self-test of 2026-01-01T00:00:00Z found 2."));
        assert_eq!(good.more, ["farthest from what is known: CPU of 5 % more, by 5.00 %"]);
        let bad = of_instrument(Some(&test(vec![truth(1.0, TruthOutcome::Missed), truth(1.0, TruthOutcome::Unsound)])));
        assert!(bad.standing == "bad" && bad.sentence.ends_with("found 0, 1 missed, 1 could not be told."), "{bad:?}");
        assert_eq!(of_instrument(None).standing, "open");
    }

    #[test]
    fn who_did_not_answer_alike_is_out_and_said() {
        let said = of_answers(3, vec!["b is out: 500 instead of 200 (answers)".into()], vec!["products: status".into()]).unwrap();
        assert_eq!((said.standing, said.more.len()), ("open", 2));
        assert!(said.sentence.contains("2 of 3 contenders"));
        assert_eq!(of_answers(0, vec![], vec![]), None);
        assert_eq!(of_answers(2, vec![], vec![]).unwrap().standing, "good");
    }
}
