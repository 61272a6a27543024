//! What the terminal says of a record.

use crate::arrivals;
use crate::made_up::{self, trial};
use model::experiment::Load;

#[test]
fn everybody_who_was_compared_has_a_sentence_with_its_interval() {
    let of = |contenders: &[(&str, u64)]| {
        let trials = (1..=6).flat_map(|block| {
            contenders.iter().map(move |(who, cpu)| {
                let mut trial = trial(who, block, arrivals(20));
                trial.measurements[0].usage.cpu_ns = cpu * 1_000_000 + u64::from(block) * cpu * cpu;
                trial
            })
        });
        let names: Vec<&str> = contenders.iter().map(|(who, _)| *who).collect();
        let record = made_up::record(&names, Load::arrivals(700.0, 1024), trials.collect());
        report::summary(&record, &judge::judge(&record))
    };
    let three = of(&[("a", 100), ("b", 200), ("c", 400)]);
    let besides = three.split("\nBesides\n").nth(1).unwrap_or_else(|| panic!("{three}")).lines().next().unwrap();
    assert!(besides.starts_with("  c needs 4.") && besides.contains(" × a's CPU per request (95 % interval "), "{besides}");
    assert!(three.contains("\nb needs 2."), "the answer is of b\n{three}");
    assert!(!of(&[("a", 100), ("b", 200)]).contains("Besides"), "nobody is left");
}
