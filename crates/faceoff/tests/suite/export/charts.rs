//! Every chart, drawn from records that have data for each.

use super::made_up::{MS, SECOND, name};
use super::{record, xml};
use record::judgement::{
    CapacityCurves, CapacityLine, CapacityProbe, Crossing, Effect, Effects, Judgement, Picture,
    SweepCurves, SweepLine, SweepPoint, Symptom,
};
use record::{Record, WarmUpClass, WarmUpWindow, Warmup};
use report::export::{self, Chart, Source};
use spec::experiment::Load;
use spec::metric::Metric;
use stats::Interval;

fn around(value: f64) -> Option<Interval> {
    Some(Interval { low: value * 0.9, high: value * 1.1 })
}

fn sweep(of: &str, metric: Metric, value: fn(f64) -> f64) -> SweepCurves {
    let line = |who: &str, times: f64| SweepLine {
        contender: name(who),
        points: [1.0, 8.0, 64.0]
            .map(|level| {
                let value = times * value(level);
                SweepPoint { cell: of.to_owned(), level, value, interval: around(value), used: 6 }
            })
            .into(),
    };
    SweepCurves {
        of: of.to_owned(),
        parameter: "connections".into(),
        metric,
        confidence: 0.95,
        lines: vec![line("a", 1.0), line("b", 1.5)],
        crossings: vec![Crossing {
            below: name("a"),
            above: name("b"),
            level: 20.0,
            about: 20.0,
            between: (8.0, 64.0),
            sentence: "they cross".into(),
        }],
        repetitions: vec![],
    }
}

fn capacities(of: &str) -> CapacityCurves {
    let line = |who: &str, value: f64| CapacityLine {
        contender: name(who),
        value: Some(value),
        interval: around(value),
        used: 6,
        searched: 6,
        curve: vec![(value / 2.0, 1.0), (value, 0.5), (value * 2.0, 0.0)],
        probes: [0.5, 0.9, 1.1, 2.0]
            .map(|times| CapacityProbe { block: 1, level: value * times, kept: times < 1.0 })
            .into(),
        left_out: 0,
        restarts: 0,
        warnings: vec![],
    };
    CapacityCurves {
        cell: of.to_owned(),
        unit: "users".into(),
        service_level: "p95<100ms".into(),
        confidence: 0.95,
        lines: vec![line("a", 40.0), line("b", 80.0)],
    }
}

fn effects(of: &str) -> Effects {
    let effect = |factors: &[&str], value: f64| Effect {
        factors: factors.iter().map(|factor| (*factor).to_owned()).collect(),
        value,
        interval: Interval { low: value - 2.0, high: value + 2.0 },
        p_adjusted: None,
    };
    Effects {
        cell: Some(of.to_owned()),
        metric: Metric::CpuPerRequest,
        mean: 100.0,
        confidence: 0.95,
        effects: vec![effect(&["line"], 12.0), effect(&["line", "token"], -1.0)],
        reason: String::new(),
        used: 8,
        excluded: 0,
    }
}

/// Adds what a real cell also has: windows of warm-up, samples of the process, and further findings
/// of the judge.
pub fn with_everything(record: &mut Record, of: &str) -> Judgement {
    let window = |second: u64| WarmUpWindow {
        at_ns: second * SECOND,
        load_ns: SECOND,
        connections: 4,
        correct: 500,
        cpu_ns: (200 - 30 * second) * MS,
        pause_ns: 0,
        pause_cpu_ns: 0,
        p50_ns: Some(20 * MS),
        max_ns: Some((90 - 20 * second) * MS),
    };
    for trial in &mut record.trials {
        trial.warmup = Some(Warmup {
            class: WarmUpClass::WarmUp,
            steady_after_ns: Some(2 * SECOND),
            windows: (0..3).map(window).collect(),
        });
        let usage = &mut trial.measurements[0].usage;
        usage.t_ns = vec![0, SECOND, 2 * SECOND];
        usage.cpu_ns_at = vec![0, 400 * MS, SECOND];
        usage.rss_bytes_at = vec![40_000_000, 45_000_000, 50_000_000];
        usage.threads_at = vec![7, 7, 7];
        usage.descriptors_at = vec![20, 24, 24];
    }
    let mut judgement = judge::judge(record);
    judgement.sweeps = vec![
        sweep(of, Metric::Throughput, |level| 900.0 * level.sqrt()),
        sweep(of, Metric::FailedShare, |level| level - 1.0),
    ];
    judgement.capacities = vec![capacities(of)];
    judgement.effects = vec![effects(of)];
    judgement.symptoms = vec![Symptom {
        kind: "delayed-ack".into(),
        contender: name("b"),
        cell: Some(of.to_owned()),
        sentence: "a heap at 40 ms".into(),
        hint: "h".into(),
        picture: Picture {
            title: "how long answers take".into(),
            x: "ms".into(),
            y: "answers".into(),
            bars: true,
            series: vec![("answers".into(), vec![(0.0, 9.0), (20.0, 1.0), (40.0, 7.0)])],
            marks: vec![(40.0, "40 ms".into())],
        },
    }];
    judgement
}

/// Returns the texts of a chart, and checks that it contains only known elements.
#[track_caller]
pub fn texts(drawn: &str) -> Vec<String> {
    let root = xml::parse_xml(drawn).unwrap();
    assert_eq!(
        (root.tag.as_str(), root.attribute("xmlns")),
        ("svg", Some("http://www.w3.org/2000/svg"))
    );
    assert!(
        root.children
            .iter()
            .all(|node| ["title", "rect", "text", "line", "path"].contains(&node.tag.as_str()))
    );
    assert!(
        !drawn.contains("NaN") && !drawn.contains("=\"inf") && !drawn.contains(",inf"),
        "a place that is none"
    );
    root.children.iter().filter(|node| node.tag == "text").map(|node| node.text.clone()).collect()
}

/// Axis labels and a legend or title of each chart.
const LABELS: [(Chart, [&str; 3]); 17] = [
    (
        Chart::Sweeps,
        ["correct responses per second, /s, log scale", "connections, log scale", "they cross"],
    ),
    (
        Chart::Capacities,
        ["probes that keep it, %", "users, log scale", "c: how often p95<100ms holds"],
    ),
    (Chart::Quantiles, ["latency, ms, log scale", "99 %", "Latency by quantile: c"]),
    (Chart::Effects, ["CPU per request, µs", "line and token", "effect, with its interval"]),
    (Chart::Starts, ["ms, log scale", "Starts", "500"]),
    (
        Chart::WarmUp,
        [
            "CPU per correct response, µs, log scale",
            "maximum service time, ms, log scale",
            "Warm-up",
        ],
    ),
    (Chart::Trials, ["median, ms, log scale", "first correct response", "b, block 6"]),
    (Chart::Rate, ["correct responses, /s", "s from the start of the measurement", "c"]),
    (
        Chart::LatencyP50,
        ["median latency, ms, log scale", "s from the start of the measurement", "Which?"],
    ),
    (
        Chart::LatencyP99,
        ["99th percentile of latency, ms, log scale", "s from the start of the measurement", "c"],
    ),
    (
        Chart::LatencyMax,
        ["maximum latency, ms, log scale", "s from the start of the measurement", "c"],
    ),
    (
        Chart::Heat,
        [
            "99th percentile of latency, ms, log scale",
            "s from the start of the measurement",
            "Latency by second and trial",
        ],
    ),
    (Chart::Cpu, ["CPU, % of one", "s from the start of the measurement", "60"]),
    (Chart::Memory, ["resident memory, MB", "s from the start of the measurement", "40"]),
    (Chart::Threads, ["threads", "s from the start of the measurement", "c"]),
    (Chart::Descriptors, ["open descriptors", "s from the start of the measurement", "20"]),
    (Chart::Symptoms, ["answers", "ms", "b: how long answers take"]),
];

#[test]
fn every_chart_has_axes_units_and_legend() {
    let mut record = record("c", "b is slower");
    let judgement = with_everything(&mut record, "c");
    let whole = Source::whole(&record, &judgement);
    for (chart, said) in LABELS {
        let drawn = export::svg(&whole, chart).unwrap_or_else(|e| panic!("{}: {e}", chart.name()));
        let texts = texts(&drawn);
        let is_of_all = !matches!(chart, Chart::Effects | Chart::Symptoms | Chart::Trials);
        let who: &[&str] = if is_of_all { &["a", "b"] } else { &[] };
        for text in said.iter().chain(who) {
            assert!(
                texts.iter().any(|there| there == text),
                "{}: {text} in {texts:?}",
                chart.name()
            );
        }
        assert!(drawn.contains("<path d=\"M"), "{}: what is drawn", chart.name());
        assert!(
            chart == Chart::Heat || drawn.contains("transform=\"translate("),
            "{}: marks",
            chart.name()
        );
    }
}

#[test]
fn charts_match_stored_pictures() {
    let mut record = record("c", "b is slower");
    let judgement = with_everything(&mut record, "c");
    let whole = Source::whole(&record, &judgement);
    for chart in [Chart::Sweeps, Chart::Capacities, Chart::Effects, Chart::LatencyP99, Chart::Heat]
    {
        insta::assert_snapshot!(chart.name(), export::svg(&whole, chart).unwrap());
    }
}

#[test]
fn unavailable_chart_names_available_ones() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    let whole = Source::whole(&record, &judgement);
    let said = export::svg(&whole, Chart::Sweeps).unwrap_err().to_string();
    assert!(
        said.contains("no sweeps")
            && said.contains("verdicts, quantiles, starts, trials, rate, latency-p50, latency-p99, latency-max, heat"),
        "{said}"
    );
    let unknown = ["d".to_owned()];
    assert!(export::svg(&Source { cells: &unknown, ..whole }, Chart::Quantiles).is_err());
}

#[test]
fn only_chosen_cells_and_contenders_are_drawn() {
    let mut record = record("c", "b is slower");
    let judgement = with_everything(&mut record, "c");
    let (only, metrics) = ([name("b")], [Metric::FailedShare]);
    let chosen =
        Source { contenders: &only, metrics: &metrics, ..Source::whole(&record, &judgement) };
    let drawn = texts(&export::svg(&chosen, Chart::Sweeps).unwrap());
    assert!(
        drawn.iter().any(|text| text == "failed requests, %")
            && drawn.iter().any(|text| text == "b"),
        "{drawn:?}"
    );
    assert!(
        !drawn.iter().any(|text| text == "a" || text.contains("correct responses")),
        "{drawn:?}"
    );
    assert!(!texts(&export::svg(&chosen, Chart::Starts).unwrap()).contains(&"a".to_owned()));
}

#[test]
fn closed_load_charts_show_service_times() {
    let mut record = record("c", "b is slower");
    record.header.experiment.cells[0].load = Load::closed(4);
    for trial in &mut record.trials {
        trial.measurements[0].latency = None;
    }
    record.trials[0].failure =
        Some(record::Failure { stage: "measure".into(), cause: "it ended".into(), log: vec![] });
    let judgement = judge::judge(&record);
    let drawn = export::svg(&Source::whole(&record, &judgement), Chart::LatencyP50).unwrap();
    assert!(texts(&drawn).contains(&"median service time, ms, log scale".to_owned()));
    // The failed trial is dotted, and its marks are hollow.
    assert!(
        drawn.matches("stroke-dasharray=\"1 3\"").count() == 1
            && drawn.contains("fill=\"#fff\" stroke="),
        "{drawn}"
    );
}

#[cfg(feature = "png")]
fn png(source: &Source<'_>, chart: Chart) -> Vec<u8> {
    export::png(source, chart).unwrap_or_else(|e| panic!("{}: {e}", chart.name()))
}

#[cfg(not(feature = "png"))]
fn png(_: &Source<'_>, _: Chart) -> Vec<u8> {
    crate::needs::need("feature png");
    Vec::new()
}

/// Letters are drawn as letters, unknown characters as a box, and long names are truncated.
#[test]
#[cfg_attr(not(feature = "png"), ignore = "needs feature png")]
fn png_charts_draw_hostile_names() {
    let hostile = format!(
        "</text><script>\u{0}\u{202e}\u{fffe}{}{}",
        "\u{301}".repeat(2_000),
        "漢 long ".repeat(2_000)
    );
    let mut record = record(&hostile, &hostile);
    record.header.experiment.question.clone_from(&hostile);
    let judgement = with_everything(&mut record, &hostile);
    let whole = Source::whole(&record, &judgement);
    for chart in Chart::ALL {
        let bytes = png(&whole, chart);
        assert_eq!(
            (&bytes[..8], &bytes[12..20]),
            (b"\x89PNG\r\n\x1a\n".as_slice(), b"IHDR\0\0\x07\x80".as_slice()),
            "twice 960 wide"
        );
    }
}
