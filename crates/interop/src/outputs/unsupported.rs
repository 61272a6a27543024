//! Recognizes tools whose output is not supported, to refuse it with their name.

/// Texts that must all occur, the tool, and what to do.
const UNSUPPORTED: &[(&[&str], &str, &str)] = &[
    (
        &["finished in", " millisec and "],
        "weighttp",
        "it prints no latency: measure with wrk or h2load",
    ),
    (
        &["Summary:", "Count:", "Slowest:", "Status code distribution:"],
        "ghz",
        "its calls are gRPC: write a table as in docs/guide/audit.md",
    ),
    (
        &["\"latencyDistribution\"", "\"statusCodeDistribution\"", "\"count\""],
        "ghz",
        "its calls are gRPC: write a table as in docs/guide/audit.md",
    ),
    (
        &["# reqs", "# fails", "failures/s"],
        "Locust's console",
        "save its table with --csv NAME and give NAME_stats.csv",
    ),
    (
        &["Timestamp", "User Count", "Total Request Count"],
        "Locust's history",
        "give the file that ends in _stats.csv",
    ),
    (
        &["Method,Name,Error,Occurrences"],
        "Locust's failures",
        "give the file that ends in _stats.csv",
    ),
    (&["All VUs finished"], "Artillery", TABLE),
    (&["Summary report @"], "Artillery", TABLE),
    (&["\"aggregate\"", "\"http.requests\""], "Artillery", TABLE),
    (&["Transactions:", "Availability:", "Transaction rate:"], "siege", TABLE),
    (&["\"transactions\"", "\"availability\"", "\"transaction_rate\""], "siege", TABLE),
    (&["Elapsed", "Count", "RPS", "Statistics", "StdDev"], "plow", TABLE),
    (&["Beginning round", "Latencies:"], "rewrk", TABLE),
    (&["Total requests", "Median time per request", "Successful requests"], "drill", TABLE),
    (&["Completed requests:", "Mean latency:", "Requests per second:"], "loadtest", TABLE),
    (&["Starting Load Test with", "TCP Connect"], "cassowary", TABLE),
    (&["Total: connections", "Connection rate:"], "httperf", TABLE),
    (&["nbomber"], "NBomber", TABLE),
    (&["NBomber"], "NBomber", TABLE),
    (
        &["Bucket", "Histogram", "#  "],
        "vegeta's histogram",
        "give what `vegeta report` or `vegeta report -type=json` prints",
    ),
    (
        &["\"attack\"", "\"seq\"", "\"code\"", "\"latency\""],
        "vegeta's list of results",
        "give what `vegeta report` prints",
    ),
    (
        &["response-time,DNS+dialup,DNS,Request-write"],
        "hey's list of responses",
        "give the summary that hey prints without -o csv",
    ),
    (
        &["metric_name,timestamp,metric_value"],
        "k6's list of samples",
        "give its summary, or the file of --summary-export",
    ),
    (
        &["\"type\":\"Metric\""],
        "k6's list of samples",
        "give its summary, or the file of --summary-export",
    ),
    (
        &["\"type\":\"Point\"", "\"metric\""],
        "k6's list of samples",
        "give its summary, or the file of --summary-export",
    ),
    (
        &["Percentage served,Time in ms"],
        "ab's file of percentages",
        "give the summary that ab prints",
    ),
    (
        &["starttime", "ctime", "dtime", "ttime"],
        "ab's list of requests",
        "give the summary that ab prints",
    ),
    (
        &["var stats = {"],
        "Gatling's stats.js",
        "give js/stats.json or js/global_stats.json, or the text that Gatling prints",
    ),
    (
        &["\"t\":", "\"achieved_rate\"", "\"errors_by_kind\""],
        "zrk's series of intervals",
        "give the report of --format json",
    ),
    (
        &["\"raw_metrics\"", "\"co_metrics\""],
        "goose's JSON report",
        "give the tables that goose prints",
    ),
    (&["Hyperfoil"], "Hyperfoil", TABLE),
    (&["ddosify"], "Ddosify", TABLE),
    (&["Anteon"], "Ddosify", TABLE),
    (&["tsung"], "Tsung", TABLE),
    (&["Yandex.Tank"], "Yandex.Tank", TABLE),
    (&["Benchmark 1:", "Time (mean"], "hyperfine", "it times commands, not requests"),
    (&["JMH version"], "JMH", "it times methods, not requests"),
    (
        &["<testResults"],
        "JMeter's samples as XML",
        "save the samples as CSV (jmeter.save.saveservice.output_format=csv)",
    ),
];

const TABLE: &str = "write its figures as a table, as in docs/guide/audit.md";

/// Tools whose output could be read as that of another tool.
const ALIKE: [&str; 2] = ["weighttp", "ghz"];

/// Returns the unsupported tool that wrote a text, and what to do.
pub fn unsupported_tool(text: &str) -> Option<(&'static str, &'static str)> {
    found(text, |_| true)
}

/// Returns the same, but only for tools that would be read as another.
pub fn unsupported_lookalike(text: &str) -> Option<(&'static str, &'static str)> {
    found(text, |tool| ALIKE.contains(&tool))
}

fn found(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    let mut wanted = UNSUPPORTED.iter().filter(|(_, tool, _)| is_wanted(tool));
    let found = wanted.find(|(texts, _, _)| texts.iter().all(|known| text.contains(known)));
    found.map(|(_, tool, hint)| (*tool, *hint))
}
