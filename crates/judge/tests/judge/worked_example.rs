//! The worked example in `docs/method/verdict.md`: the page prints what the rule computes.

use judge::looks::looks;
use judge::rule::{Finding, Pair, Question, Side, by_ratio};
use record::judgement::Outcome;
use stats::{Interval, mean, sample_deviation};

/// CPU time per request in µs, of the baseline and the contender, in six blocks.
const BLOCKS: [(f64, f64); 6] = [
    (212.0, 171.0),
    (208.0, 174.0),
    (221.0, 180.0),
    (230.0, 185.0),
    (215.0, 169.0),
    (210.0, 172.0),
];

fn judged(margin: f64) -> Finding {
    let side = |value: f64| Side { value, seconds: vec![] };
    let pairs: Vec<Pair> = BLOCKS
        .iter()
        .map(|(baseline, b)| Pair { contender: side(*b), baseline: side(*baseline) })
        .collect();
    by_ratio(&pairs, &Question::at_look(&looks(&[], 6, 6, 0.95), 0.95, margin, true, 1))
}

#[track_caller]
fn page_has(text: &str) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/method/verdict.md");
    let page =
        std::fs::read_to_string(page).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(text), "docs/method/verdict.md does not have {text:?}");
}

fn range(interval: Option<Interval>, digits: usize) -> String {
    let Interval { low, high } = interval.unwrap();
    format!("{low:.digits$} to {high:.digits$}")
}

#[test]
fn the_page_prints_each_block_as_computed() {
    for (block, (baseline, contender)) in (1..).zip(BLOCKS) {
        let ratio: f64 = contender / baseline;
        page_has(&format!(
            "| {block} | {baseline} | {contender} | {ratio:.3} | {:.4} |",
            ratio.ln()
        ));
    }
}

#[test]
fn the_page_prints_the_steps_to_better_as_computed() {
    let logs: Vec<f64> =
        BLOCKS.iter().map(|(baseline, contender)| (contender / baseline).ln()).collect();
    let found = judged(0.05);
    assert_eq!(found.outcome, Outcome::Better);
    page_has(&format!("mean of the six logarithms is {:.4}", mean(&logs).unwrap()));
    page_has(&format!("standard deviation is {:.4}", sample_deviation(&logs).unwrap()));
    page_has(&format!("ratio is {:.3}", found.ratio.unwrap()));
    page_has(&format!("t interval is {}", range(found.interval_t, 4)));
    page_has(&format!("bootstrap interval is {}", range(found.interval_bootstrap, 4)));
    page_has(&format!("interval that decides is {}", range(found.interval, 3)));
    let Interval { low, high } = found.interval.unwrap();
    page_has(&format!(
        "{:.0} % to {:.0} % less CPU time",
        100.0 * (1.0 - high),
        100.0 * (1.0 - low)
    ));
    page_has(&format!("margin of 5 % reaches from {:.3} to 1.050", 1.0 / 1.05));
    page_has(&format!("sign-flip test gives p = {:.3}", found.sign_flip_p.unwrap()));
}

#[test]
fn the_page_prints_what_a_wide_margin_gives_as_computed() {
    let found = judged(0.25);
    assert_eq!(found.outcome, Outcome::Undecided, "{found:?}");
    page_has(&format!("margin of 25 % reaches from {:.3} to 1.250", 1.0 / 1.25));
    page_has(&format!("about {} blocks", found.blocks_needed.unwrap()));
}
