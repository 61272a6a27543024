//! Tests of `faceoff audit`: outputs of real tools in `crates/interop/samples`, sound and changed.
//!
//! A sound output has no finding, and a changed one has the finding that its change causes.
//! Arbitrary text causes no panic.

use super::*;
use interop::outputs::LONGEST_SUMMARY;
use judge::audit::{Check, Wording};
use proptest::prelude::*;
use spec::article::Row;

const OPTIONS: Options =
    Options { inputs: Vec::new(), connections: None, pipeline: None, format: Format::Text };

fn audited(options: &Options, text: &str) -> Audit {
    options.audit("run", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn row(text: &str) -> Row {
    read_outputs("run", text.as_bytes()).unwrap_or_else(|e| panic!("{e}")).remove(0).rows.remove(0)
}

#[test]
fn empty_samples_are_refused_and_byte_order_mark_is_skipped() {
    const HEADER: &str = "timeStamp,elapsed,label,responseCode,success,bytes,allThreads\n";
    let refused = |text: &str| match read_outputs("run", text.as_bytes()) {
        Ok(_) => panic!("{text:?} was read"),
        Err(problems) => problems.to_string(),
    };
    assert!(refused(HEADER).contains("holds no samples"), "{}", refused(HEADER));
    let semicolons = HEADER.replace(',', ";") + "1000;10;a;200;true;50;1\n";
    assert!(refused(&semicolons).contains("default_delimiter"), "{}", refused(&semicolons));
    let marked = format!("\u{feff}{HEADER}1000,10,a,200,true,50,1\n2000,12,a,200,true,50,1\n");
    assert_eq!(
        read_outputs("run", marked.as_bytes()).unwrap_or_else(|e| panic!("{e}"))[0].rows.len(),
        1
    );
}

/// Sound outputs, with connections and depth if the output lacks them.
///
/// The tools measured `control` and, over HTTP/2, nginx. The responses to wrk take 2 ms: at full
/// speed on a busy machine, its correction alone raises the mean above what its connections allow.
/// Outputs of h2load since 1.69 are written by hand, in the format of its source.
const SOUND: [(&str, Option<u64>, Option<u64>); 16] = [
    (include_str!("../../../../interop/samples/outputs/wrk-closed.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/wrk-many.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/faceoff-wrk.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/faceoff-wrk2.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/ab.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/h2load-http1.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/h2load-http2.txt"), None, Some(8)),
    (include_str!("../../../../interop/samples/outputs/h2load-1.69.txt"), None, Some(8)),
    (include_str!("../../../../interop/samples/outputs/h2load-1.70.txt"), None, Some(8)),
    (include_str!("../../../../interop/samples/outputs/h2load-1.70.json"), Some(24), Some(8)),
    (include_str!("../../../../interop/samples/outputs/oha.txt"), Some(8), None),
    (include_str!("../../../../interop/samples/outputs/oha.json"), Some(8), None),
    (include_str!("../../../../interop/samples/outputs/k6.txt"), None, None),
    (include_str!("../../../../interop/samples/outputs/k6.json"), None, None),
    (include_str!("../../../../interop/samples/outputs/hey.txt"), Some(8), None),
    (include_str!("../../../../interop/samples/outputs/gatling.txt"), Some(8), None),
];

#[test]
fn sound_outputs_are_not_flagged() {
    for (text, connections, pipeline) in SOUND {
        let options = Options { connections, pipeline, ..OPTIONS };
        let Printed { article, hints, .. } =
            options.printed("run", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(hints, Vec::<&str>::new(), "{text}");
        let row = &article.tables[0].rows[0];
        assert!(
            row.throughput.is_some() && row.latency.mean.is_some() && row.samples.is_some(),
            "{row:#?}\n{text}"
        );
        assert!(
            row.load.scheduled || row.load.connections.is_some() || row.load.users.is_some(),
            "{row:#?}"
        );
        let audit = audit(&article);
        assert_eq!(audit.flagged(), 0, "{:#?}\n{text}", audit.tables[0].findings);
    }
}

#[test]
fn figures_are_read_from_outputs_of_all_tools() {
    let about = |figure: &Option<spec::article::Figure>, value: f64| {
        let found = figure.as_ref().map_or(f64::NAN, |f| f.value());
        assert!((found / value - 1.0).abs() < 1e-4, "{found} instead of {value}");
    };
    let wrk = row(include_str!("../../../../../bench/samples/wrk.txt"));
    about(&wrk.throughput, 150_845.54);
    about(&wrk.latency.mean, 40.08e-6);
    about(&wrk.received, 21.99 * 1048576.0);
    assert_eq!(
        (wrk.load.connections, wrk.latency.quantiles.len(), wrk.load.scheduled),
        (Some(8), 4, false)
    );
    let wrk2 = row(include_str!("../../../../../bench/samples/wrk2.txt"));
    about(&wrk2.latency.deviation, 1.93e-3);
    assert_eq!((wrk2.load.scheduled, wrk2.latency.quantiles.len()), (true, 6));
    let h2load = row(include_str!("../../../../../bench/samples/h2load.txt"));
    about(&h2load.transfer, 15.79 * 1048576.0);
    about(&h2load.latency.deviation, 32e-6);
    assert_eq!(h2load.load.connections, Some(8));
    let ab = row(include_str!("../../../../../bench/samples/ab.txt"));
    about(&ab.received, 27_234_366.0);
    assert_eq!(ab.load.connections, Some(8));
    let oha = row(include_str!("../../../../../bench/samples/oha.json"));
    about(&oha.samples, 36_824.0);
    about(&oha.errors, 73.0);
    assert_eq!(oha.latency.quantiles.len(), 9);
    let oha = row(include_str!("../../../../interop/samples/outputs/oha.txt"));
    assert_eq!(oha.latency.quantiles.len(), 9);
    assert!(oha.latency.max.as_ref().unwrap().value() > oha.latency.min.as_ref().unwrap().value());
    let k6 = row(include_str!("../../../../../bench/samples/k6.json"));
    about(&k6.throughput, 500.134);
    assert_eq!(k6.load.users, Some(16));
    let [text, json] = [
        include_str!("../../../../interop/samples/outputs/k6.txt"),
        include_str!("../../../../interop/samples/outputs/k6.json"),
    ]
    .map(row);
    assert_eq!((text.latency.quantiles.len(), json.latency.quantiles.len()), (3, 3));
    assert_eq!(text.load.users, json.load.users);
}

#[test]
fn corrected_mean_of_wrk_is_inconsistent_service_time() {
    let audit = audited(&OPTIONS, include_str!("../../../../../bench/samples/wrk-errors.txt"));
    let finding = &audit.tables[0].findings[0];
    assert_eq!(
        (finding.check, finding.wording),
        (Check::Little, Wording::InconsistentAsServiceTime)
    );
    let deep = Options { pipeline: Some(16), ..OPTIONS };
    assert_eq!(
        audited(&deep, include_str!("../../../../../bench/samples/wrk-errors.txt")).flagged(),
        0
    );
}

#[test]
fn missing_figures_are_not_guessed() {
    let streams = include_str!("../../../../interop/samples/outputs/h2load-http2.txt");
    assert!(hint_of(&OPTIONS, streams).is_some_and(|h| h.contains("--pipeline")));
    assert_eq!(audited(&OPTIONS, streams).flagged(), 0);
    assert!(
        hint_of(&OPTIONS, include_str!("../../../../interop/samples/outputs/hey.txt"))
            .is_some_and(|h| h.contains("--connections"))
    );
    let two = Options { connections: Some(2), ..OPTIONS };
    assert_eq!(
        audited(&two, include_str!("../../../../interop/samples/outputs/hey.txt")).tables[0]
            .findings[0]
            .check,
        Check::Little
    );
}

#[test]
fn mean_above_what_h2load_streams_allow_is_flagged() {
    let deep = Options { pipeline: Some(8), ..OPTIONS };
    for (sound, mean, wrong) in [
        (include_str!("../../../../interop/samples/outputs/h2load-1.69.txt"), " 6.31ms", "16.31ms"),
        (include_str!("../../../../interop/samples/outputs/h2load-1.70.txt"), " 6.31ms", "16.31ms"),
        (
            include_str!("../../../../interop/samples/outputs/h2load-1.70.json"),
            "0.00631002117",
            "0.01631002117",
        ),
    ] {
        assert!(sound.contains(mean));
        let deep = Options { connections: Some(24), pipeline: Some(8), ..OPTIONS };
        let audit = audited(&deep, &sound.replace(mean, wrong));
        let found: Vec<Check> =
            audit.tables[0].findings.iter().map(|finding| finding.check).collect();
        // 30,240.25/s x 16.31 ms = 493 of 192; with these quantiles the mean is 9.3 ms at most.
        assert_eq!(found, [Check::Little, Check::Moments], "{:#?}", audit.tables[0].findings);
        assert!(
            audit.tables[0].findings[0].factor.is_some_and(|factor| (factor - 2.57).abs() < 0.01),
            "{:#?}",
            audit.tables[0].findings
        );
    }
    let json = include_str!("../../../../interop/samples/outputs/h2load-1.70.json");
    assert!(hint_of(&deep, json).is_some_and(|hint| hint.contains("--connections")));
    let shallow = Options { connections: Some(24), ..OPTIONS };
    assert!(hint_of(&shallow, json).is_some_and(|hint| hint.contains("--pipeline")));
    assert_eq!(audited(&shallow, json).flagged(), 0, "without --pipeline the streams are unknown");
}

#[test]
fn several_runs_in_one_output_are_several_rows() {
    let one = include_str!("../../../../../bench/samples/wrk.txt");
    let other = one.replace("40.08us", "41.08us");
    let rows = read_outputs("run", format!("$ wrk\n{one}\nand again\n{other}").as_bytes())
        .unwrap()
        .remove(0)
        .rows;
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["http://127.0.0.1:19191/", "http://127.0.0.1:19191/ (2)"]);
}

const JTL: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,Latency,IdleTime,Connect\n";

#[test]
fn jmeter_samples_are_summarised() {
    let mut text = JTL.to_owned();
    for i in 0..2_000u64 {
        let (label, took, success) =
            if i % 4 == 0 { ("slow, and late", 40, i % 8 == 0) } else { ("fast", 3, true) };
        text += &format!(
            "{},{took},\"{label}\",200,\"two\nlines\",t 1-1,text,{success},,193,120,5,5,2,0,1\n",
            1_600_000_000_000 + i * 10
        );
    }
    let rows = read_outputs("run", text.as_bytes()).unwrap().remove(0).rows;
    assert_eq!(
        rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(),
        ["fast", "slow, and late"]
    );
    let slow = &rows[1];
    let value = |figure: &Option<spec::article::Figure>| figure.as_ref().unwrap().value();
    assert_eq!(
        (value(&slow.samples), value(&slow.errors), slow.load.users),
        (500.0, 250.0, Some(5))
    );
    assert!(
        (value(&slow.latency.mean) - 0.04).abs() < 1e-9
            && (value(&slow.throughput) - 500.0 / 20.0).abs() < 0.1
    );
    assert_eq!(audited(&OPTIONS, &text).flagged(), 0);
}

#[test]
fn jmeter_tables_are_read() {
    let saved = "Label,# Samples,Average,Min,Max,Std. Dev.,Error %,Throughput,Received KB/sec,Sent KB/sec,Avg. Bytes\nproducts,30000,5,0,125,3.19,0.000%,150.38348,88.50,20.1,902.0\nTOTAL,30000,5,0,125,3.19,0.000%,150.38348,132.47,20.1,902.0\n";
    let audit = audited(&OPTIONS, saved);
    let findings = &audit.tables[0].findings;
    assert_eq!(
        findings.iter().map(|f| (f.row.as_str(), f.check)).collect::<Vec<_>>(),
        [("products", Check::Transfer)]
    );
    let aggregate = "Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput,Received KB/sec,Std. Dev.\na,2000,10,9,15,12,30,1,40,0.00%,50.0/sec,9.4,3.0\n";
    assert_eq!(audited(&OPTIONS, aggregate).tables[0].findings[0].check, Check::Order);
    let printed = "Creating summariser <summary>\nsummary +   5000 in 00:00:20 =  250.0/s Avg:     3 Min:     0 Max:   110 Err:     0 (0.00%) Active: 1 Started: 5000 Finished: 4999\nsummary =  30000 in 00:01:40 =  300.0/s Avg:     3 Min:     0 Max:   275 Err:    30 (0.10%)\n";
    let row = row(printed);
    assert_eq!(
        (
            row.samples.unwrap().value(),
            row.duration.unwrap().value(),
            row.throughput.unwrap().value()
        ),
        (30_000.0, 100.0, 300.0)
    );
    assert_eq!(audited(&OPTIONS, printed).flagged(), 0);
    assert_eq!(
        audited(&OPTIONS, &printed.replace("300.0/s", "600.0/s")).tables[0].findings[0].check,
        Check::Count
    );
    let dashboard = r#"{"Total": {"transaction": "Total", "sampleCount": 100, "errorCount": 3, "errorPct": 30.0, "meanResTime": 5.0, "minResTime": 1.0, "maxResTime": 9.0, "pct1ResTime": 8.0, "throughput": 10.0}}"#;
    assert_eq!(audited(&OPTIONS, dashboard).tables[0].findings[0].check, Check::Errors);
}

#[test]
fn gatling_summaries_are_read() {
    let table = include_str!("../../../../interop/samples/outputs/gatling.txt");
    let lines = "---- Global Information ----\n> request count                                       2000 (OK=1998   KO=2     )\n\
        > min response time                                      1 (OK=1      KO=-     )\n\
        > mean response time                                    24 (OK=24     KO=-     )\n\
        > std deviation                                         43 (OK=43     KO=-     )\n\
        > response time 50th percentile                          2 (OK=2      KO=-     )\n\
        > response time 99th percentile                        188 (OK=188    KO=-     )\n\
        > mean requests/sec                                400.123 (OK=400.123 KO=-     )\n";
    let json = r#"{"name": "All Requests", "numberOfRequests": {"total": 2000, "ok": 1990, "ko": 10}, "minResponseTime": {"total": 1},
        "meanResponseTime": {"total": 24}, "percentiles1": {"total": 2}, "percentiles4": {"total": 188}, "meanNumberOfRequestsPerSecond": {"total": 400.123}}"#;
    for (text, samples, errors, mean, rate, p99) in [
        (table, 1896.0, 0.0, 0.012, 632.0, 0.022),
        (lines, 2000.0, 2.0, 0.024, 400.123, 0.188),
        (json, 2000.0, 10.0, 0.024, 400.123, 0.188),
    ] {
        let row = row(text);
        let value = |figure: &Option<spec::article::Figure>| figure.as_ref().map(|f| f.value());
        assert_eq!(
            (value(&row.samples), value(&row.errors), value(&row.throughput)),
            (Some(samples), Some(errors), Some(rate)),
            "{text}"
        );
        let near = |figure: f64, known: f64| (figure / known - 1.0).abs() < 1e-9;
        assert!(
            value(&row.latency.mean).is_some_and(|found| near(found, mean))
                && row.latency.quantiles.len() >= 2,
            "{row:?}"
        );
        let (percent, last) = row.latency.quantiles.last().unwrap();
        assert!(*percent == 99.0 && near(last.value(), p99), "{row:?}");
        let users = Options { connections: Some(8), ..OPTIONS };
        assert_eq!(
            (
                hint_of(&OPTIONS, text).is_some_and(|hint| hint.contains("Gatling")),
                hint_of(&users, text)
            ),
            (true, None)
        );
    }
}

fn hint_of(options: &Options, text: &str) -> Option<&'static str> {
    options.printed("run", text.as_bytes()).unwrap().hints.first().copied()
}

#[test]
fn text_that_is_no_output_is_refused() {
    let why = |text: &str| {
        read_outputs("x.txt", text.as_bytes()).err().map(|p| p.to_string()).unwrap_or_default()
    };
    for text in ["", "hello", "{}", "[1,2]", "Requests/sec: 5"] {
        assert!(
            why(text).contains("x.txt is not the output of a load generator"),
            "{text}: {}",
            why(text)
        );
    }
    assert!(why("<?xml?><testResults version=\"1.2\">").contains("save the samples as CSV"));
    assert!(why(&format!("{JTL}abc,1,a\n")).contains("line 2"));
    assert!(
        why(&format!("{JTL}1000,10,a,200,OK,t,text,perhaps,,193,120,5,5,2,0,1\n"))
            .contains("line 2 has `perhaps` as success")
    );
    assert!(
        why(&format!("{JTL}1000,10,a,200,OK,t,text,true,,1.9e2,120,5,5,2,0,1\n"))
            .contains("line 2 has `1.9e2` as bytes")
    );
    assert!(why(&format!("{JTL}1,99999999999999,a\n")).contains("a time that cannot be"));
    assert!(why(&format!("{JTL}1,1,\"{}", "x".repeat(3 << 20))).contains("longer than a megabyte"));
    assert!(why(&"x".repeat((LONGEST_SUMMARY + 1) as usize)).contains("longer than any summary"));
}

#[test]
fn text_of_an_audit() {
    let of_wrk = audited(
        &Options { pipeline: Some(2), ..OPTIONS },
        include_str!("../../../../../bench/samples/wrk-errors.txt"),
    );
    let zero = "Running 30s test @ http://127.0.0.1:8000\n  4 threads and 128 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency    11.51ms    7.36ms 116.40ms   68.34%\n  Latency Distribution\n     50%   12.43ms\n     75%   19.25ms\n     90%    0.00us\n     99%    0.00us\n  3228224 requests in 30.05s, 594.18MB read\nRequests/sec: 107411.98\nTransfer/sec:     19.77MB\n";
    let zero = audited(&Options { pipeline: Some(16), ..OPTIONS }, zero);
    let sound = audited(&OPTIONS, include_str!("../../../../../bench/samples/wrk.txt"));
    insta::assert_snapshot!(output::text(&[of_wrk, zero, sound]));
}

proptest! {
    #[test]
    fn no_output_causes_a_panic(text in "\\PC{0,200}", cut in 0usize..2_000, at in 0usize..2_000) {
        let _ = read_outputs("x", text.as_bytes());
        for (sample, _, _) in SOUND {
            // Truncated, and with random text in the middle.
            let (cut, at) = (cut.min(sample.len()), at.min(sample.len()));
            let mut bytes = sample.as_bytes()[..cut].to_vec();
            let _ = read_outputs("x", bytes.as_slice()).map(|outputs| outputs.len());
            bytes = sample.as_bytes().to_vec();
            bytes.splice(at..at, text.bytes());
            if let Ok(audit) = OPTIONS.audit("x", bytes.as_slice()) {
                let _ = output::text(&[audit]);
            }
        }
    }

    #[test]
    fn no_list_of_samples_causes_a_panic(lines in proptest::collection::vec("[0-9]{0,20},[0-9]{0,12},[a-z\",]{0,9},,,,,(true|false),,[0-9]{0,20}", 0..20)) {
        let _ = read_outputs("x", format!("{JTL}{}", lines.join("\n")).as_bytes()).map(|outputs| outputs.len());
    }
}
