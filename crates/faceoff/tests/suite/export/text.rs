//! The text that the terminal shows for a record.

use super::arrivals;
use super::made_up::{self, trial};
use super::record;
use record::judgement::Judgement;
use record::{Event, Session};
use spec::experiment::Load;
use spec::experiment::against::Against;

#[test]
fn every_contender_has_a_sentence_with_interval() {
    let of = |contenders: &[(&str, u64)]| {
        let trials = (1..=6).flat_map(|block| {
            contenders.iter().map(move |(who, cpu)| {
                let mut trial = trial(who, block, arrivals(20));
                trial.measurements[0].usage.cpu_ns =
                    cpu * 1_000_000 + 100 * u64::from(block) * cpu * cpu;
                trial
            })
        });
        let names: Vec<&str> = contenders.iter().map(|(who, _)| *who).collect();
        let record = made_up::record(&names, Load::arrivals(700.0, 1024), trials.collect());
        report::summary(&record, &judge::judge(&record))
    };
    let three = of(&[("a", 100), ("b", 200), ("c", 400)]);
    let others = three
        .split("\nOther contenders\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{three}"))
        .lines()
        .next()
        .unwrap();
    assert!(others.starts_with("  c uses 4.4× more CPU per request (4."), "{others}");
    assert!(three.contains("\nb uses 2.1× more CPU per request ("), "the answer is of b\n{three}");
    assert!(!of(&[("a", 100), ("b", 200)]).contains("Other contenders"), "no contender remains");
}

#[test]
fn gate_text_matches_exit_code_without_mentions() {
    let mut record = record("c|<b> @all", "b is slower");
    let mut judgement = judge::judge(&record);
    record.header.experiment.against =
        Some(Against { asked: "main".into(), commit: "0123456789abcdef".into() });
    record.header.id = "r`[x](http://e)".into();
    let said = |judgement: &Judgement| report::gate(&record, judgement).unwrap();
    let worse = said(&judgement);
    assert!(
        worse.markdown.starts_with("### b is worse than at 0123456789ab by mean latency: ")
            && worse.markdown.contains("**worse**")
    );
    assert!(
        worse.sentence.starts_with("b is worse than at 0123456789ab by mean latency: ")
            && worse.sentence.ends_with(" in c|<b> @all."),
        "{worse:?}"
    );
    for shown in ["| c\\|&lt;b&gt; @<!-- -->all |", "Record: r\\`\\[x\\](http://e)."] {
        assert!(worse.markdown.contains(shown), "{shown}: {worse:?}");
    }
    assert!(!worse.markdown.contains("<b>") && !worse.markdown.contains("@all"), "{worse:?}");
    judgement.incomplete = true;
    assert!(said(&judgement).sentence.ends_with("; trials failed or are missing as well."));
    judgement.unsound = true;
    assert!(said(&judgement).sentence.ends_with(
        "is not known: the measurement is unsound; trials failed or are missing as well."
    ));
    judgement.incomplete = false;
    assert!(said(&judgement).sentence.ends_with("is not known: the measurement is unsound."));
}

#[test]
fn crossing_curves_appear_in_answer_and_paragraph() {
    let record = made_up::crossing();
    let said = report::summary(&record, &judge::judge(&record));
    for text in [
        "Crossings",
        "By mean latency, working is better up to about cpu ",
        "It is better by mean latency up to about cpu ",
    ] {
        assert!(said.contains(text), "{text}\n{said}");
    }
}

#[test]
fn answer_names_the_largest_factor() {
    let record = made_up::work_and_lines();
    let said = report::summary(&record, &judge::judge(&record));
    assert!(
        said.contains("work adds most: ")
            && said.contains("What each adds to CPU per request in c ("),
        "{said}"
    );
}

#[test]
fn run_ended_by_a_look_says_so() {
    let mut record = record("c", "b is slower");
    let design = &mut record.header.experiment.design;
    (design.blocks, design.looks) = (12, vec![6, 9, 12]);
    record.sessions = vec![Session { event: Event::Settled, at: String::new() }];
    let judgement = judge::judge(&record);
    let page = report::html(&record, &judgement);
    assert!(
        page.contains("a planned interim analysis found every claim settled")
            && !page.contains("trials are missing")
    );
    let said = report::summary(&record, &judgement);
    assert!(said.contains("Stopped after 6 of 12 blocks"), "{said}");
}
