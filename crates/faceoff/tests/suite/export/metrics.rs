//! OpenMetrics output, read by a parser of another project.

use super::{name, record};
use nom_openmetrics::parser::openmetrics;
use nom_openmetrics::{Family, Sample};
use record::Record;
use record::judgement::Judgement;
use report::export::{self, Source};
use spec::metric::Metric;

/// A sample: name, value, labels and a time in seconds.
pub type Told = (String, f64, Vec<(String, String)>, f64);

/// Reads OpenMetrics text. The parser does not support times, so they are cut off first.
pub fn read(text: &str) -> Vec<Told> {
    let (mut times, mut without) = (Vec::new(), String::new());
    for line in text.lines() {
        let sample = (!line.starts_with('#')).then(|| line.rsplit_once(' ').unwrap());
        without += sample.map_or(line, |(sample, time)| {
            times.push(time.parse::<f64>().unwrap());
            sample
        });
        without.push('\n');
    }
    let (rest, families): (&str, Vec<Family<'_>>) =
        openmetrics(&without).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(rest, "");
    let all: Vec<&Sample<'_>> = families.iter().flat_map(|family| &family.samples).collect();
    assert_eq!(all.len(), times.len());
    let labels = |sample: &Sample<'_>| {
        sample.labels().iter().map(|label| (label.name.to_owned(), label.value.clone())).collect()
    };
    all.iter()
        .zip(times)
        .map(|(sample, time)| (sample.name().to_owned(), sample.number(), labels(sample), time))
        .collect()
}

fn judged() -> (Record, Judgement) {
    let record = record("c", "b is \"slower\",\\ or\nnot");
    let judgement = judge::judge(&record);
    (record, judgement)
}

#[test]
fn openmetrics_contains_verdicts_and_measurements() {
    let (record, judgement) = judged();
    let text = export::openmetrics(&Source::whole(&record, &judgement));
    let all = read(&text);
    let of = |wanted: &str, labels: &[(&str, &str)]| -> Vec<(f64, f64)> {
        let has = |of: &[(String, String)]| {
            labels.iter().all(|(name, value)| of.iter().any(|(n, v)| n == name && v == value))
        };
        all.iter()
            .filter(|(name, _, of, _)| name == wanted && has(of))
            .map(|(_, value, _, at)| (*value, *at))
            .collect()
    };
    // The last measurement began at 00:06:31.5 and lasted two seconds.
    let last = 1_767_225_993.5;
    let p50 = judgement.verdicts.iter().find(|v| v.metric == Metric::LatencyP50).unwrap();
    assert_eq!(
        of("faceoff_verdict_ratio", &[("cell", "c"), ("metric", "latency_p50")]),
        [(p50.ratio.unwrap(), last)]
    );
    let outcome = |state| {
        of(
            "faceoff_verdict_outcome",
            &[("metric", "latency_p50"), ("faceoff_verdict_outcome", state)],
        )
    };
    assert_eq!((outcome("worse"), outcome("better")), (vec![(1.0, last)], vec![(0.0, last)]));
    assert_eq!(
        of(
            "faceoff_claim_outcome",
            &[("claim", "b is \"slower\",\\ or\nnot"), ("faceoff_claim_outcome", "confirmed")]
        )
        .len(),
        1
    );
    assert_eq!(of("faceoff_run_info", &[("baseline", "a"), ("experiment", "x")]).len(), 1);
    let trial = record.trials.iter().find(|t| t.contender == name("b") && t.block == 3).unwrap();
    let m = &trial.measurements[0];
    let here = [("contender", "b"), ("block", "3"), ("cell", "c")];
    let buckets = of("faceoff_latency_seconds_bucket", &here);
    assert!(
        buckets.windows(2).all(|pair| pair[0].0 <= pair[1].0) && buckets.len() == 23,
        "{buckets:?}"
    );
    let below =
        |bound| of("faceoff_latency_seconds_bucket", &[&here[..], &[("le", bound)]].concat())[0].0;
    assert_eq!((below("0.02"), below("0.05"), below("+Inf")), (0.0, 1_382.0, 1_400.0));
    assert_eq!(of("faceoff_latency_seconds_count", &here)[0].0, 1_400.0);
    let sum = of("faceoff_latency_seconds_sum", &here)[0].0;
    assert!((sum - m.times().mean_ns() * 1_400.0 / 1e9).abs() < 1e-9, "{sum}");
    let right =
        of("faceoff_measurement_requests", &[&here[..], &[("outcome", "correct")]].concat());
    assert_eq!(right, [(1_400.0, 1_767_225_600.0 + 3.0 * 60.0 + 30.0 + 3.5)]);
}

#[test]
fn metric_families_are_declared_once_with_unit_suffix() {
    let (record, judgement) = judged();
    let text = export::openmetrics(&Source::whole(&record, &judgement));
    assert!(text.ends_with("\n# EOF\n"));
    let mut declared: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let families = declared.len();
    assert!(families > 15, "{declared:?}");
    declared.sort_unstable();
    declared.dedup();
    assert_eq!(declared.len(), families);
    for (family, unit) in
        text.lines().filter_map(|line| line.strip_prefix("# UNIT ")?.split_once(' '))
    {
        assert!(family.ends_with(&format!("_{unit}")), "{family} {unit}");
    }
}
