//! Reads the output of `faceoff export` with parsers of other projects.

mod charts;
mod formats;
mod hostile;
#[path = "../../../../judge/tests/judge/made_up.rs"]
mod made_up;
mod metrics;
mod text;

use interop::import::xml;
use made_up::{MS, histogram, measurement, name, trial};
use record::{Measurement, Record, Second};
use spec::experiment::{Claim, Expectation, Load};
use spec::metric::Metric;
use stats::smallest_sample;

/// Response times of two seconds, in nanoseconds: the second is slower, and both have a tail.
fn answers(typical_ms: u64) -> [Vec<u64>; 2] {
    [0, 3].map(|more| {
        (0..700)
            .map(|i| (typical_ms + more) * MS + i * 1_000 + if i > 690 { 40 * MS } else { 0 })
            .collect()
    })
}

fn second(of: &[u64]) -> Second {
    let times = histogram(of.iter().copied());
    let quantile = |q: f64| (times.len() >= smallest_sample(q)).then(|| times.quantile_ns(q));
    Second {
        correct: times.len(),
        not_correct: 0,
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        max_ns: of.iter().copied().max(),
        max_at_ns: None,
    }
}

/// Two seconds at 700 requests per second, all with correct responses.
fn arrivals(typical_ms: u64) -> Measurement {
    let seconds = answers(typical_ms);
    let all = || seconds.iter().flatten().copied();
    let mut m = measurement(2, histogram(all().map(|ns| ns - MS / 2)));
    m.latency = Some(histogram(all()));
    m.generator.lag = Some(histogram(all().map(|_| MS / 2)));
    m.generator.in_flight_max = 17;
    m.seconds = seconds.iter().map(|of| second(of)).collect();
    m.statuses = [(200, 1_000), (201, 400)].into();
    m.began_after_ns = 1_500 * MS;
    m
}

/// Six blocks of `a`, and of `b`, which takes about twice as long. The cell and the claim have the
/// given texts.
fn record(cell: &str, claim: &str) -> Record {
    let trials = (1..=6).flat_map(|block| {
        [("a", 20), ("b", 40)].map(|(who, typical_ms)| {
            let mut trial = trial(who, block, arrivals(typical_ms + u64::from(block) / 2));
            trial.measurements[0].cell = cell.to_owned();
            trial.started_at =
                format!("2026-01-01T00:{block:02}:{:02}Z", if who == "a" { 0 } else { 30 });
            trial
        })
    });
    let mut record = made_up::record(&["a", "b"], Load::arrivals(700.0, 1024), trials.collect());
    record.header.experiment.cells[0].name = cell.to_owned();
    record.header.experiment.claims = vec![
        Claim {
            text: claim.to_owned(),
            metric: Metric::LatencyP50,
            ..made_up::claim(Expectation::Higher)
        },
        Claim {
            text: "b is as quick".to_owned(),
            metric: Metric::LatencyMean,
            ..made_up::claim(Expectation::Same)
        },
    ];
    record
}
