//! `faceoff audit` from outside: files and standard input, tables and articles, exit codes.
//!
//! Arithmetic is tested in `crates/judge/tests/judge/audit.rs`, the formats of tools in
//! `crates/interop/src/outputs`.

use crate::folder::Folder;
use serde_json::Value;

const WRK: &str = "Running 1s test @ http://127.0.0.1:80/\n  1 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency    40.08us   59.86us   2.25ms   99.08%\n  165877 requests in 1.10s, 21.99MB read\nRequests/sec: 150845.54\nTransfer/sec:     20.00MB\n";

const TABLE: &str = "name = \"mine\"\ntitle = \"Mine\"\nsource = \"here\"\n[[table]]\ntitle = \"T\"\nevery = { connections = 8 }\nrow = [\n  { name = \"a\", throughput = \"1000\", mean = \"6.00ms\" },\n  { name = \"b\", throughput = \"1000\", mean = \"60.0ms\" },\n]\n";

#[test]
fn sound_output_passes_and_impossible_one_exits_with_3() {
    let folder = Folder::new();
    let audit = |arguments: &[&str], input: &str| {
        let output = folder.faceoff(arguments).write_stdin(input).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, _) = audit(&["audit", "-"], WRK);
    assert_eq!(code, Some(0), "{out}");
    let (code, out, _) = audit(&["audit", "-", "--connections", "2"], WRK);
    assert!(code == Some(3) && out.contains("inconsistent as a service time"), "{out}");
    let (_, out, _) = audit(&["audit", "-", "--connections", "2", "--format", "json"], WRK);
    crate::by_schema::keeps_to("audit", &serde_json::from_str(&out).unwrap());
    let (code, _, err) = audit(&["audit", "-"], "nonsense");
    assert!(
        code == Some(2) && err.contains("hint: the output of these tools can be read: wrk, wrk2"),
        "{err}"
    );
}

#[test]
fn tables_are_audited_by_file_and_as_articles() {
    let folder = Folder::new();
    folder.write("articles/mine.toml", TABLE);
    for input in ["articles/mine.toml", "articles"] {
        let ran = folder.run(&["audit", input, "--format", "json"]).expect(3);
        let audit: Value = serde_json::from_str(&ran.out).unwrap();
        crate::by_schema::keeps_to("audit", &audit);
        assert_eq!(
            (&audit["schema"], &audit["rows"], &audit["flagged"]),
            (&"faceoff.audit.v1".into(), &2.into(), &1.into())
        );
        let finding = &audit["audits"][0]["tables"][0]["findings"][0];
        assert_eq!(
            (&finding["row"], &finding["check"], &finding["wording"]),
            (&"b".into(), &"little".into(), &"inconsistent-as-service-time".into())
        );
        assert!((finding["factor"].as_f64().unwrap() - 7.5).abs() < 1e-9);
    }
    folder.write(
        "articles/mine.toml",
        &TABLE.replace("connections", "conections").replace("60.0ms", "60.0"),
    );
    folder.run(&["audit", "articles"]).expect(2).says("conections").says("60.0");
}

#[test]
fn unreadable_input_is_refused() {
    let folder = Folder::new();
    folder.run(&["audit", "nowhere.txt"]).expect(2).says("nowhere.txt cannot be read");
    folder.run(&["audit", "articles"]).expect(2).says("has no articles");
    folder.run(&["audit"]).expect(2);
}

const H2LOAD: &str = "finished in 4.00s, 30240.25 req/s, 4.61MB/s
requests: 120961 total, 121153 started, 120961 done, 120961 succeeded, 0 failed, 0 errored, 0 timeout
traffic: 18.46MB (19353760) total, 3.46MB (3628830) headers (space savings 88.10%), 11.54MB (12096100) data
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :      180us     42.70ms      5.90ms     10.80ms     17.30ms      6.31ms      2.95ms    74.20%
TTFB        :     1.90ms     11.20ms      6.40ms     10.60ms     11.10ms      6.52ms      2.60ms    58.33%
";

#[test]
fn table_of_newer_h2load_is_audited() {
    let folder = Folder::new();
    let audit = |input: &str| {
        let arguments = ["audit", "-", "--connections", "24", "--streams", "8", "--format", "json"];
        let output = folder.faceoff(&arguments).write_stdin(input).output().unwrap();
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (code, report) = audit(H2LOAD);
    assert_eq!(
        (code, &report["rows"], &report["audits"][0]["tables"][0]["title"]),
        (Some(0), &1.into(), &"h2load".into()),
        "{report}"
    );
    let (code, report) = audit(&H2LOAD.replace(" 6.31ms", "16.31ms"));
    let findings = report["audits"][0]["tables"][0]["findings"].as_array().unwrap();
    let checks: Vec<&str> =
        findings.iter().filter_map(|finding| finding["check"].as_str()).collect();
    assert_eq!((code, checks), (Some(3), vec!["little", "moments"]), "{report}");
}

/// Returns the exit code, the JSON and the text of the command for an input.
fn audited(arguments: &[&str], input: &str) -> (i32, Value, String) {
    let folder = Folder::new();
    let run = |format: &str| {
        let all: Vec<&str> = ["audit", "-", "--format", format]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        let output = folder.faceoff(&all).write_stdin(input).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, json, said) = run("json");
    let (_, text, _) = run("text");
    let json: Value = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{said}"));
    crate::by_schema::keeps_to("audit", &json);
    (code, json, text)
}

fn checks_of(report: &Value) -> Vec<(String, f64)> {
    let tables = report["audits"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|audit| audit["tables"].as_array().into_iter().flatten());
    let findings = tables.flat_map(|table| table["findings"].as_array().into_iter().flatten());
    findings
        .map(|f| (f["check"].as_str().unwrap().to_owned(), f["factor"].as_f64().unwrap_or(0.0)))
        .collect()
}

fn notes_of(report: &Value) -> String {
    let tables = report["audits"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|audit| audit["tables"].as_array().into_iter().flatten());
    tables
        .flat_map(|table| table["notes"].as_array().into_iter().flatten())
        .filter_map(|note| note["what"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns an output of oha with minutes, which it prints if a request took longer than one.
fn oha(mean: &str) -> String {
    format!(
        "Summary:\n  Success rate:\t100.00%\n  Total:\t2.0010 min\n  Slowest:\t1.1020 min\n  Fastest:\t0.0000 min\n  Average:\t{mean}\n  \
         Requests/sec:\t240.0000\n\nResponse time distribution:\n  50.00% in 0.0010 min\n  99.00% in 0.4000 min\n\nStatus code distribution:\n  [200] 28814 responses\n"
    )
}

#[test]
fn times_in_minutes_and_tens_of_seconds_are_read() {
    for mean in ["0.0069 min", "0.0414 10 sec", "0.0007 10 min", "0.4140 sec"] {
        let (code, report, text) = audited(&["--connections", "120"], &oha(mean));
        assert_eq!((code, checks_of(&report)), (0, vec![]), "{mean}: {text}");
    }
    for mean in ["0.0345 min", "0.2070 10 sec", "2.0700 sec"] {
        let (code, report, text) = audited(&["--connections", "120"], &oha(mean));
        let checks = checks_of(&report);
        assert!(
            code == 3
                && checks.len() == 1
                && checks[0].0 == "little"
                && (checks[0].1 - 4.14).abs() < 0.01,
            "{mean}: {text}"
        );
    }
    let (code, report, text) = audited(&["--connections", "120"], &oha("0.0345 weeks"));
    assert!(
        code == 0 && notes_of(&report).contains("line 6 is not read") && text.contains("weeks"),
        "{text}"
    );
}

#[test]
fn two_runs_in_one_paste_are_two_rows() {
    let hey = |url: &str, rate: &str, mean: &str, answers: u32| {
        format!(
            "$ hey -z 20s -c 40 {url}\n\nSummary:\n  Total:\t20.0040 secs\n  Slowest:\t0.0402 secs\n  Fastest:\t0.0006 secs\n  Average:\t{mean} secs\n  \
             Requests/sec:\t{rate}\n\nStatus code distribution:\n  [200]\t{answers} responses\n\n"
        )
    };
    let both = hey("http://127.0.0.1:1/", "7998.4003", "0.0050", 160_000)
        + &hey("http://127.0.0.1:2/", "9498.1004", "0.0042", 190_000);
    let quoted: String = both.lines().map(|line| format!("> {line}\r\n")).collect();
    let logged: String = both
        .lines()
        .map(|line| format!("2024-05-01T12:00:00.1234567Z \u{1b}[32m{line}\u{1b}[0m\n"))
        .collect();
    for text in [&both, &quoted, &logged, &format!("\u{feff}{both}")] {
        let (code, report, shown) = audited(&["--connections", "40"], text);
        assert_eq!((code, &report["rows"], checks_of(&report)), (0, &2.into(), vec![]), "{shown}");
    }
    // The second run contradicts itself, and the first does not hide that.
    let (code, report, _) = audited(&["--connections", "40"], &both.replace("0.0042", "0.0142"));
    assert_eq!((code, checks_of(&report).len(), &report["flagged"]), (3, 1, &1.into()));
    let h2load = H2LOAD.replace(
        "finished",
        "spawning thread #0: 24 total client(s). x\nApplication protocol: h2c\nfinished",
    );
    let (code, report, shown) =
        audited(&["--pipeline", "8"], &format!("{h2load}{}", h2load.replace(" 6.31ms", "16.31ms")));
    assert_eq!(
        (code, &report["rows"], &report["flagged"]),
        (3, &2.into(), &1.into()),
        "the clients are not summed up: {shown}"
    );
}

#[test]
fn failed_requests_are_reported_first() {
    let with = |errors: u32| {
        WRK.replace(
            "Requests/sec:",
            &format!("  Non-2xx or 3xx responses: {errors}\nRequests/sec:"),
        )
    };
    let (code, report, text) = audited(&[], &with(165_877));
    assert_eq!((code, &report["failed"], &report["flagged"]), (0, &1.into(), &0.into()));
    assert!(
        text.lines().last().unwrap().starts_with("1 of 1 row is about errors")
            && notes_of(&report).contains("(100 %)"),
        "{text}"
    );
    let (_, report, text) = audited(&[], &with(9_000));
    assert!(
        report["failed"] == 0
            && notes_of(&report).contains("9,000 of 165,877 requests failed (5.43 %)"),
        "{text}"
    );
    let (_, report, _) = audited(&[], &with(100));
    assert_eq!(notes_of(&report), "");
    let timeouts = WRK.replace(
        "Requests/sec:",
        "  Socket errors: connect 0, read 0, write 0, timeout 4000\nRequests/sec:",
    );
    assert!(notes_of(&audited(&[], &timeouts).1).contains("4,000 socket errors"));
    let checks = "checks_failed...: 62.00%  620 out of 1000\nhttp_req_duration...: avg=5ms\nhttp_reqs...: 1000 10/s\nvus_max....: 1 min=1 max=1\n";
    let (_, report, text) = audited(&[], checks);
    assert!(
        report["failed"] == 1 && notes_of(&report).contains("62 % of the checks failed"),
        "{text}"
    );
}

#[test]
fn overlapping_requests_of_a_user_are_explained() {
    let k6 = |mean: &str, iteration: &str| {
        format!(
            "  █ TOTAL RESULTS\n\n    http_req_duration..............: avg={mean} min=60ms med=78ms max=900ms\n    http_req_failed................: 0.00%  0 out of 40000\n    \
             http_reqs......................: 40000  400/s\n    iteration_duration.............: avg={iteration} min=62ms\n    iterations.....................: 10000  100/s\n    \
             vus_max........................: 10     min=10 max=10\n"
        )
    };
    // 400/s x 80 ms = 32 in flight, for 10 users with four at once.
    let (code, report, text) = audited(&[], &k6("80ms", "95ms"));
    assert_eq!((code, checks_of(&report)), (0, vec![]), "{text}");
    // With the same iterations, a mean of 300 ms needs more than four at once.
    let (code, report, text) = audited(&[], &k6("300ms", "95ms"));
    assert!(code == 3 && checks_of(&report)[0].0 == "little", "{text}");
    assert!(
        text.contains("users of k6 that have several requests in flight (http.batch"),
        "{text}"
    );
    assert_eq!(audited(&["--pipeline", "13"], &k6("300ms", "95ms")).0, 0);
    let shares = r#"{"metrics":{"http_req_duration":{"avg":4.0,"max":9.0},"http_reqs":{"count":29876,"rate":498.0},"http_req_failed":{"passes":12,"fails":29864,"value":0.0004}}}"#;
    let (code, report, text) = audited(&["--connections", "8"], shares);
    assert_eq!((code, checks_of(&report)), (0, vec![]), "the last digit of a share: {text}");
}

#[test]
fn unsupported_output_is_refused_by_name() {
    let folder = Folder::new();
    let refused = |input: &str| {
        let output = folder.faceoff(&["audit", "-"]).write_stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (input, said) in [
        (
            "Transactions: 100 hits\nAvailability: 100.00 %\nTransaction rate: 9.9 trans/sec\n",
            "siege",
        ),
        (
            "Running 30s test @ http://127.0.0.1:1/\n  4 threads and 64 connections\n",
            "neither a rate nor a latency",
        ),
        ("Summary:\n  Total:\t3 parsecs\n  Requests/sec:\tmany\n", "line 3 is not read"),
        (
            "{\"type\":\"Metric\"}\n{\"type\":\"Point\",\"metric\":\"a\",\"data\":{\"value\":1}}\n",
            "k6's list of samples",
        ),
    ] {
        let (code, err) = refused(input);
        assert!(code == Some(2) && err.contains(said) && err.contains("hint: "), "{input}: {err}");
    }
}

#[test]
fn tied_rows_have_no_order() {
    let run = |port: u32, rate: &str| {
        WRK.replace(":80/", &format!(":{port}/"))
            .replace("150845.54", rate)
            .replace("165877", "165870")
    };
    let near = run(1, "150845.54") + &run(2, "151200.10") + &run(3, "149990.00");
    let (code, report, text) = audited(&[], &near);
    assert!(
        code == 0 && report["rows"] == 3 && notes_of(&report).contains("all throughputs tie"),
        "{text}"
    );
    let far = run(1, "150845.54")
        + &run(2, "75422.77").replace("1.10s", "2.20s").replace("20.00MB", "10.00MB");
    assert!(!notes_of(&audited(&[], &far).1).contains("tie"));
}
