//! Warm-up as the report shows it: each contender over its starts, and each start in windows.

use crate::number::{ms, round};
use record::judgement as judged;
use record::judgement::Judgement;
use record::{WarmUpClass, WarmUpWindow, Warmup};
use serde::Serialize;

/// How the starts of a contender warmed up.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct WarmUp {
    contender: String,
    classes: Vec<ClassCount>,
    /// Seconds of load until the steady state; median over starts.
    steady_after_s: Option<f64>,
    /// CPU time per request in the first second of load; median over starts.
    cold_cpu_us: Option<f64>,
    /// The same in the steady state.
    steady_cpu_us: Option<f64>,
    /// The maximum latency in the first second of load; median over starts.
    cold_max_ms: Option<f64>,
}

/// The number of starts of one class.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ClassCount {
    #[cfg_attr(test, ts(type = "WarmUpClass"))]
    class: WarmUpClass,
    count: usize,
}

/// The warm-up of one start in columns, with one entry for each window.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Windows {
    #[cfg_attr(test, ts(type = "WarmUpClass"))]
    class: WarmUpClass,
    steady_after_s: Option<f64>,
    t_s: Vec<f64>,
    /// Correct responses per second of load.
    rate_per_s: Vec<f64>,
    cpu_us: Vec<Option<f64>>,
    p50_ms: Vec<Option<f64>>,
    max_ms: Vec<Option<f64>>,
}

/// The warm-up of every contender.
pub(super) fn warm_ups(judgement: &Judgement) -> Vec<WarmUp> {
    let one = |w: &judged::WarmUp| WarmUp {
        contender: w.contender.to_string(),
        classes: w
            .classes
            .iter()
            .map(|(class, count)| ClassCount { class: *class, count: *count })
            .collect(),
        steady_after_s: w.steady_after_s,
        cold_cpu_us: w.cold_cpu_us,
        steady_cpu_us: w.steady_cpu_us,
        cold_max_ms: w.cold_max_ms,
    };
    judgement.warmups.iter().map(one).collect()
}

/// The windows of one start.
pub(super) fn windows(warmup: &Warmup) -> Windows {
    // The CPU time of a process that faceoff did not start is unknown, and is then zero.
    let per = |time_ns: u64, count: u64| {
        (count > 0 && time_ns > 0).then(|| round(time_ns as f64 / 1e3 / count as f64))
    };
    let rate = |w: &WarmUpWindow| round(w.correct as f64 * 1e9 / w.load_ns.max(1) as f64);
    let all = &warmup.windows;
    Windows {
        class: warmup.class,
        steady_after_s: warmup.steady_after_ns.map(|ns| round(ns as f64 / 1e9)),
        t_s: all.iter().map(|w| round(w.at_ns as f64 / 1e9)).collect(),
        rate_per_s: all.iter().map(rate).collect(),
        cpu_us: all.iter().map(|w| per(w.cpu_ns, w.correct)).collect(),
        p50_ms: all.iter().map(|w| w.p50_ns.map(ms)).collect(),
        max_ms: all.iter().map(|w| w.max_ns.map(ms)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn windows_without_responses_have_null_in_their_columns() {
        let window = |at_ns, correct| WarmUpWindow {
            at_ns,
            load_ns: 500_000_000,
            connections: 2,
            correct,
            cpu_ns: 3_000_000,
            pause_ns: 300_000_000,
            pause_cpu_ns: 0,
            p50_ns: None,
            max_ns: Some(2_000_000),
        };
        let start = Warmup {
            class: WarmUpClass::NeverSteady,
            steady_after_ns: None,
            windows: vec![window(0, 0), window(1_000_000_000, 100)],
        };
        let expected = json!({
            "class": "never_steady", "steady_after_s": null, "t_s": [0.0, 1.0],
            "rate_per_s": [0.0, 200.0], "cpu_us": [null, 30.0],
            "p50_ms": [null, null], "max_ms": [2.0, 2.0],
        });
        assert_eq!(serde_json::to_value(windows(&start)).unwrap(), expected);
    }
}
