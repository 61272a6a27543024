//! Tests of the outputs of h2load and k6, which changed from version to version.
//!
//! `tests/formats.rs` has the other tools. Samples of real outputs are in `crates/interop/samples`.

use super::*;
use spec::article::Figure;

fn output(text: &str) -> Output {
    read_outputs("run", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

fn row(text: &str) -> Row {
    output(text).rows.remove(0)
}

fn value(figure: &Option<Figure>) -> Option<f64> {
    figure.as_ref().map(Figure::value)
}

#[track_caller]
fn about(figure: &Option<Figure>, known: f64) {
    let found = value(figure).unwrap_or_else(|| panic!("nothing instead of {known}"));
    assert!((found / known - 1.0).abs() < 1e-6, "{found} instead of {known}");
}

/// Returns the quantiles in whole microseconds.
fn quantiles_us(row: &Row) -> Vec<(f64, u64)> {
    row.latency
        .quantiles
        .iter()
        .map(|(percent, figure)| (*percent, (figure.value() * 1e6).round() as u64))
        .collect()
}

/// The beginning of the output in every version of h2load.
const H2LOAD: &str = "starting benchmark...
spawning thread #0: 16 total client(s). Timing-based test with 0s of warm-up time and 5s of main duration for measurements.
spawning thread #1: 16 total client(s). Timing-based test with 0s of warm-up time and 5s of main duration for measurements.
Application protocol: h2c
Main benchmark duration is over for thread #0. Stopping all clients.

finished in 5.00s, 40012.60 req/s, 6.11MB/s
requests: 200063 total, 200319 started, 200063 done, 200050 succeeded, 13 failed, 13 errored, 0 timeout
status codes: 200050 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 30.53MB (32010080) total, 5.72MB (6001890) headers (space savings 88.00%), 19.08MB (20006300) data
";

/// The output of versions up to 1.68.
const BEFORE_1_69: &str =
    "                     min         max         mean         sd        +/- sd
time for request:       95us     31.40ms      6.20ms      2.40ms    71.90%
time for connect:      120us      1.90ms       640us       310us    58.00%
time to 1st byte:     1.10ms      9.70ms      4.90ms      2.00ms    61.00%
req/s           :    1190.20     1310.80     1250.39       30.20    66.00%
";

const AS_1_69: &str = "                 min         max         median     p95        p99        mean         sd        +/- sd
request     :       95us     31.40ms      5.88ms    11.02ms    15.73ms     6.20ms      2.40ms    71.90%
connect     :      120us      1.90ms       600us     1.20ms     1.80ms      640us       310us    58.00%
TTFB        :     1.10ms      9.70ms      4.80ms     8.90ms     9.60ms     4.90ms      2.00ms    61.00%
req/s       :     1190.2     1310.8      1250.1     1300.2     1309.9    1250.39       30.2    66.00%
";

const AS_1_70: &str = "                 min         max         median      p95         p99         mean        sd         +/- sd
request     :       95us     31.40ms      5.88ms     11.02ms     15.73ms      6.20ms      2.40ms    71.90%
      95us-     3.23ms [////////                                ]( 12.00/ 12.00%)
    3.23ms-     6.36ms [////////////////////////////////////////]( 60.00/ 72.00%)
connect     :      120us      1.90ms       600us      1.20ms      1.80ms       640us       310us    58.00%
TTFB        :     1.10ms      9.70ms      4.80ms      8.90ms      9.60ms      4.90ms      2.00ms    61.00%
req/s       :    1190.20     1310.80     1250.10     1300.20     1309.90     1250.39       30.20    66.00%
";

#[test]
fn every_summary_of_h2load_is_read() {
    let since_1_69 = vec![(50.0, 5_880), (95.0, 11_020), (99.0, 15_730)];
    for (table, quantiles) in
        [(BEFORE_1_69, vec![]), (AS_1_69, since_1_69.clone()), (AS_1_70, since_1_69)]
    {
        let output = output(&format!("{H2LOAD}{table}"));
        assert_eq!(
            (output.tool, output.depth_unsaid, output.hint.is_some()),
            (Tool::H2load, true, true)
        );
        let row = &output.rows[0];
        about(&row.throughput, 40_012.60);
        about(&row.duration, 5.0);
        about(&row.samples, 200_063.0);
        about(&row.errors, 13.0);
        about(&row.latency.min, 95e-6);
        about(&row.latency.max, 31.4e-3);
        about(&row.latency.mean, 6.2e-3);
        about(&row.latency.deviation, 2.4e-3);
        assert_eq!((row.load.connections, quantiles_us(row)), (Some(32), quantiles), "{table}");
    }
}

#[test]
fn columns_of_h2load_are_found_by_their_heading() {
    let with = |table: &str| row(&format!("{H2LOAD}{table}"));
    let moved = with(
        "   mean   p99.9   +/- sd   sd   a new one   min\nrequest : 1.05s 2.50s 70.00% 300.00ms 1 2 3 7us\n",
    );
    about(&moved.latency.mean, 1.05);
    about(&moved.latency.deviation, 0.3);
    about(&moved.latency.min, 7e-6);
    assert_eq!((value(&moved.latency.max), quantiles_us(&moved)), (None, vec![(99.9, 2_500_000)]));
    for unclear in [
        "min max mean\nrequest : 1ms 2ms\n",
        "request : 1ms 2ms 3ms\n",
        "req/s : 1 2 3\nmin max mean\n",
    ] {
        let latency = with(unclear).latency;
        assert!(
            latency.min.is_none() && latency.mean.is_none() && latency.quantiles.is_empty(),
            "{unclear}"
        );
    }
}

#[test]
fn the_file_that_h2load_writes_is_read() {
    let file = r#"{"version":"v1","metadata":{"generator":"h2load 1.70.0"},"measurements":{"duration":5.00012345,
        "request_per_second":40012.6,"bytes_per_second":6402016,"requests":{"total":200063,"started":200319,"done":200063,
        "succeeded":200050,"failed":13,"errored":13,"timeout":0},"status_codes":{"2xx":200050,"3xx":0,"4xx":0,"5xx":0},
        "traffic":{"total":32010080,"headers":6001890,"headers_decompressed":50000000,"data":20006300},"performance":{
        "request":{"min":9.5012e-05,"max":0.0314,"median":0.00588,"p95":0.01102,"p99":0.01573,"mean":0.0062,"sd":0.0024,
        "within_sd":71.9,"samples":[9.5012e-05,0.00588,0.0314]},
        "connect":{"min":0.00012,"max":0.0019,"median":0.0006,"p95":0.0012,"p99":0.0018,"mean":0.00064,"sd":0.00031,
        "within_sd":58,"samples":[0.00012,0.0019]}}}}"#;
    let output = output(file);
    assert_eq!((output.tool, output.depth_unsaid), (Tool::H2load, true));
    assert!(
        output.hint.is_some_and(|hint| hint.contains("--connections N and --pipeline N")),
        "{:?}",
        output.hint
    );
    let row = &output.rows[0];
    for (figure, known) in [
        (&row.throughput, 40_012.6),
        (&row.duration, 5.00012345),
        (&row.samples, 200_063.0),
        (&row.errors, 13.0),
        (&row.transfer, 6_402_016.0),
        (&row.received, 32_010_080.0),
        (&row.latency.min, 9.5012e-5),
        (&row.latency.max, 0.0314),
        (&row.latency.mean, 0.0062),
        (&row.latency.deviation, 0.0024),
    ] {
        about(figure, known);
    }
    assert_eq!(quantiles_us(row), [(50.0, 5_880), (95.0, 11_020), (99.0, 15_730)]);
}

/// The summary of k6 2, with thresholds; `--summary-mode=full` adds the scenario.
const K6: &str = "

  █ THRESHOLDS 

    http_req_duration
    ✓ 'p(95)<500' p(95)=9.1ms

    http_req_failed
    ✗ 'rate<0.001' rate=0.25%


  █ TOTAL RESULTS 

    checks_total.......: 4000    399.700225/s
    checks_succeeded...: 100.00% 4000 out of 4000
    checks_failed......: 0.00%   0 out of 4000

    HTTP
    http_req_duration..............: avg=4.2ms  min=310.5µs med=3.9ms  max=61.02ms p(90)=7.4ms  p(95)=9.1ms 
      { expected_response:true }...: avg=4.1ms  min=310.5µs med=3.9ms  max=61.02ms p(90)=7.4ms  p(95)=9.1ms 
    http_req_failed................: 0.25%  10 out of 4000
    http_reqs......................: 4000   399.700225/s

    EXECUTION
    iteration_duration.............: avg=4.31ms min=355.8µs med=4.01ms max=61.1ms  p(90)=7.52ms p(95)=9.22ms
    iterations.....................: 4000   399.700225/s
    vus............................: 8      min=8          max=8
    vus_max........................: 8      min=8          max=8

    NETWORK
    data_received..................: 560 kB 56 kB/s
    data_sent......................: 280 kB 28 kB/s
";

const K6_SCENARIO: &str = "

  █ SCENARIO: load 

    HTTP
    http_req_duration..............: avg=9s     min=9s      med=9s     max=9s      p(90)=9s     p(95)=9s    
    http_reqs......................: 1      0.1/s
    vus_max........................: 1      min=1          max=1
";

#[test]
fn the_text_of_k6_is_read_without_the_parts_that_follow() {
    for text in [
        K6.to_owned(),
        format!("{K6}{K6_SCENARIO}"),
        format!("{K6}{}", K6_SCENARIO.replace("SCENARIO: load", "GROUP: a")),
    ] {
        let row = row(&text);
        about(&row.throughput, 399.700225);
        about(&row.samples, 4_000.0);
        about(&row.error_share, 0.0025);
        about(&row.latency.mean, 4.2e-3);
        about(&row.latency.max, 61.02e-3);
        assert_eq!(
            (row.load.users, quantiles_us(&row)),
            (Some(8), vec![(50.0, 3_900), (90.0, 7_400), (95.0, 9_100)]),
            "{text}"
        );
    }
}

#[test]
fn a_metric_with_a_threshold_is_read_as_k6_1_printed_it() {
    let marked = "   ✓ http_req_duration..............: avg=4.2ms min=310.5µs med=3.9ms max=61.02ms p(90)=7.4ms p(95)=9.1ms
   ✗ http_req_failed................: 0.25% ✓ 10 ✗ 3990
     http_reqs......................: 4000 399.700225/s
";
    let row = row(marked);
    about(&row.latency.mean, 4.2e-3);
    about(&row.error_share, 0.0025);
}

/// These are the data of `handleSummary` in k6 1 and 2, and of `--summary-export`.
#[test]
fn the_metrics_of_k6_are_read_by_name() {
    let given = r#"{"root_group":{"name":"","groups":[],"checks":[]},"options":{"summaryTrendStats":["avg","med","p(99.9)"]},
        "state":{"isStdOutTTY":false,"testRunDurationMs":10007.5},"metrics":{
        "http_req_duration":{"type":"trend","contains":"time","values":{"avg":4.2,"min":0.3105,"med":3.9,"max":61.02,"p(99.9)":40.5}},
        "http_reqs":{"type":"counter","contains":"default","values":{"count":4000,"rate":399.700225}},
        "http_req_failed":{"type":"rate","contains":"default","values":{"rate":0.0025,"passes":10,"fails":3990}},
        "data_received":{"type":"counter","contains":"data","values":{"count":560000,"rate":55958.03}},
        "vus_max":{"type":"gauge","contains":"default","values":{"value":8,"min":8,"max":8}}}}"#;
    let exported = r#"{"metrics":{"http_req_duration":{"avg":4.2,"min":0.3105,"med":3.9,"max":61.02,"p(99.9)":40.5},
        "http_reqs":{"count":4000,"rate":399.700225},"http_req_failed":{"passes":10,"fails":3990,"value":0.0025},
        "data_received":{"count":560000,"rate":55958.03},"vus_max":{"value":8,"min":8,"max":8}}}"#;
    for text in [given, exported] {
        let row = row(text);
        about(&row.throughput, 399.700225);
        about(&row.error_share, 0.0025);
        about(&row.latency.min, 310.5e-6);
        assert_eq!(
            (row.load.users, quantiles_us(&row)),
            (Some(8), vec![(50.0, 3_900), (99.9, 40_500)]),
            "{text}"
        );
    }
}

#[test]
fn the_machine_readable_summary_of_k6_2_is_read() {
    let summary = r#"{"config":{"duration":10.0075,"execution":"local","script":"file:///load.js"},
        "metadata":{"generated_at":"2026-05-04T10:20:30.123456789Z","k6_version":"2.2.0"},
        "results":{"checks":{"metrics":[{"contains":"default","name":"checks_total","type":"counter","values":{"count":4000}}],"results":[]},
        "metrics":[
        {"contains":"default","name":"http_reqs","type":"counter","values":{"count":4000}},
        {"contains":"time","name":"http_req_duration{expected_response:true}","type":"trend","values":{"avg":1,"max":1,"med":1,"min":1}},
        {"contains":"time","name":"http_req_duration","type":"trend","values":{"avg":4.2,"max":61.02,"med":3.9,"min":0.3105,"p90":7.4,"p95":null}},
        {"contains":"default","name":"http_req_failed","type":"rate","values":{"matches":10,"rate":0.0025,"total":4000}},
        {"contains":"data","name":"data_received","type":"counter","values":{"count":560000}},
        {"contains":"default","name":"vus_max","type":"gauge","values":{"max":8,"min":8,"value":8}}]},"version":"1.0.0"}"#;
    let row = row(summary);
    about(&row.samples, 4_000.0);
    about(&row.duration, 10.0075);
    about(&row.throughput, 4_000.0 / 10.0075);
    about(&row.error_share, 0.0025);
    about(&row.received, 560_000.0);
    about(&row.latency.mean, 4.2e-3);
    assert_eq!((row.load.users, quantiles_us(&row)), (Some(8), vec![(50.0, 3_900), (90.0, 7_400)]));
    let without_time = self::row(&summary.replace("10.0075", "0"));
    assert_eq!(
        (value(&without_time.throughput), value(&without_time.samples)),
        (None, Some(4_000.0))
    );
}

mod formats;
mod nothing_is_lost;
mod pastes;
