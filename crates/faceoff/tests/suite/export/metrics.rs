//! Metrics, read by a parser of OpenMetrics and, as they are sent to Prometheus, by prost.

use super::{name, record};
use model::judgement::Judgement;
use model::metric::Metric;
use model::record::Record;
use nom_openmetrics::parser::openmetrics;
use nom_openmetrics::{Family, Sample};
use prost::Message as _;
use report::export::{self, Source};

/// A name, a value, labels and a time in seconds.
pub type Told = (String, f64, Vec<(String, String)>, f64);

/// What stands in OpenMetrics text, each sample with its time: the parser knows of none, and so it is cut off first.
fn read(text: &str) -> Vec<Told> {
    let (mut times, mut without) = (Vec::new(), String::new());
    for line in text.lines() {
        let sample = (!line.starts_with('#')).then(|| line.rsplit_once(' ').unwrap());
        without += sample.map_or(line, |(sample, time)| {
            times.push(time.parse::<f64>().unwrap());
            sample
        });
        without.push('\n');
    }
    let (rest, families): (&str, Vec<Family<'_>>) = openmetrics(&without).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(rest, "");
    let all: Vec<&Sample<'_>> = families.iter().flat_map(|family| &family.samples).collect();
    assert_eq!(all.len(), times.len());
    let labels = |sample: &Sample<'_>| sample.labels().iter().map(|label| (label.name.to_owned(), label.value.clone())).collect();
    all.iter().zip(times).map(|(sample, time)| (sample.name().to_owned(), sample.number(), labels(sample), time)).collect()
}

#[derive(Clone, PartialEq, prost::Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<Series>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Series {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Point>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Point {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    at_ms: i64,
}

/// Checks that Prometheus is sent the content of the OpenMetrics text, and returns that text as read.
#[track_caller]
pub fn is_sent_alike(source: &Source<'_>) -> Vec<Told> {
    let body = snap::raw::Decoder::new().decompress_vec(&export::remote_write(source).unwrap()).unwrap();
    let sent = WriteRequest::decode(body.as_slice()).unwrap().series;
    let told = read(&export::openmetrics(source));
    assert_eq!(sent.len(), told.len());
    for (sent, (name, value, labels, at)) in sent.iter().zip(&told) {
        assert!(sent.labels.windows(2).all(|pair| pair[0].name < pair[1].name), "{sent:?}");
        let mut expected: Vec<(String, String)> = labels.iter().filter(|(_, value)| !value.is_empty()).cloned().collect();
        expected.push(("__name__".into(), name.clone()));
        expected.sort();
        let labels: Vec<(String, String)> = sent.labels.iter().map(|label| (label.name.clone(), label.value.clone())).collect();
        assert_eq!(labels, expected);
        assert_eq!(sent.samples, [Point { value: *value, at_ms: (at * 1e3).round() as i64 }]);
    }
    told
}

fn judged() -> (Record, Judgement) {
    let record = record("c", "b is \"slower\",\\ or\nnot");
    let judgement = judge::judge(&record);
    (record, judgement)
}

#[test]
fn open_metrics_text_tells_what_was_judged_and_measured() {
    let (record, judgement) = judged();
    let text = export::openmetrics(&Source::whole(&record, &judgement));
    let all = read(&text);
    let of = |wanted: &str, labels: &[(&str, &str)]| -> Vec<(f64, f64)> {
        let has = |of: &[(String, String)]| labels.iter().all(|(name, value)| of.iter().any(|(n, v)| n == name && v == value));
        all.iter().filter(|(name, _, of, _)| name == wanted && has(of)).map(|(_, value, _, at)| (*value, *at)).collect()
    };
    // The last measurement began at 00:06:31.5 and lasted two seconds.
    let last = 1_767_225_993.5;
    let p50 = judgement.verdicts.iter().find(|v| v.metric == Metric::LatencyP50).unwrap();
    assert_eq!(of("faceoff_verdict_ratio", &[("cell", "c"), ("metric", "latency_p50")]), [(p50.ratio.unwrap(), last)]);
    let outcome = |state| of("faceoff_verdict_outcome", &[("metric", "latency_p50"), ("faceoff_verdict_outcome", state)]);
    assert_eq!((outcome("worse"), outcome("better")), (vec![(1.0, last)], vec![(0.0, last)]));
    assert_eq!(of("faceoff_claim_outcome", &[("claim", "b is \"slower\",\\ or\nnot"), ("faceoff_claim_outcome", "confirmed")]).len(), 1);
    assert_eq!(of("faceoff_run_info", &[("baseline", "a"), ("experiment", "x")]).len(), 1);
    let trial = record.trials.iter().find(|t| t.contender == name("b") && t.block == 3).unwrap();
    let m = &trial.measurements[0];
    let here = [("contender", "b"), ("block", "3"), ("cell", "c")];
    let buckets = of("faceoff_latency_seconds_bucket", &here);
    assert!(buckets.windows(2).all(|pair| pair[0].0 <= pair[1].0) && buckets.len() == 23, "{buckets:?}");
    let below = |bound| of("faceoff_latency_seconds_bucket", &[&here[..], &[("le", bound)]].concat())[0].0;
    assert_eq!((below("0.02"), below("0.05"), below("+Inf")), (0.0, 1_382.0, 1_400.0));
    assert_eq!(of("faceoff_latency_seconds_count", &here)[0].0, 1_400.0);
    let sum = of("faceoff_latency_seconds_sum", &here)[0].0;
    assert!((sum - m.times().mean_ns() * 1_400.0 / 1e9).abs() < 1e-9, "{sum}");
    let right = of("faceoff_measurement_requests", &[&here[..], &[("outcome", "correct")]].concat());
    assert_eq!(right, [(1_400.0, 1_767_225_600.0 + 3.0 * 60.0 + 30.0 + 3.5)]);
}

#[test]
fn prometheus_is_sent_what_stands_in_the_text() {
    let (mut record, judgement) = judged();
    is_sent_alike(&Source::whole(&record, &judgement));
    record.trials[0].started_at.clear();
    let refused = export::remote_write(&Source::whole(&record, &judgement)).unwrap_err().to_string();
    assert!(refused.contains("a trial of the record has no time that can be read"), "{refused}");
}

#[test]
fn families_are_declared_once_and_units_end_their_names() {
    let (record, judgement) = judged();
    let text = export::openmetrics(&Source::whole(&record, &judgement));
    assert!(text.ends_with("\n# EOF\n"));
    let mut declared: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let families = declared.len();
    assert!(families > 15, "{declared:?}");
    declared.sort_unstable();
    declared.dedup();
    assert_eq!(declared.len(), families);
    for (family, unit) in text.lines().filter_map(|line| line.strip_prefix("# UNIT ")?.split_once(' ')) {
        assert!(family.ends_with(&format!("_{unit}")), "{family} {unit}");
    }
}
