//! Checks what people paste: several runs, and what terminals, logs and mails add to the lines.

use super::*;

const WRK: &str = include_str!("../../../../../bench/samples/wrk.txt");
const WRK2: &str = include_str!("../../../../../bench/samples/wrk2.txt");
const AB: &str = include_str!("../../../samples/outputs/ab.txt");
const HEY: &str = include_str!("../../../samples/outputs/hey.txt");
const OHA: &str = include_str!("../../../samples/outputs/oha.txt");
const OHA_JSON: &str = include_str!("../../../samples/outputs/oha.json");
const H2LOAD_1_70: &str = include_str!("../../../samples/outputs/h2load-1.70.txt");
const GATLING: &str = include_str!("../../../samples/outputs/gatling.txt");

/// Runs, each with a figure and another to replace it with.
const RUNS: [(&str, &str, &str); 18] = [
    (WRK, "40.08us", "41.08us"),
    (WRK2, "6.46ms", "6.47ms"),
    (AB, "44126.65", "44226.65"),
    (HEY, "16819.5097", "16820.5097"),
    (OHA, "24349.7036", "24350.7036"),
    (H2LOAD_1_70, "30240.25", "30250.25"),
    (K6, "avg=4.2ms", "avg=4.3ms"),
    (GATLING, "       632 |       632", "       633 |       633"),
    (include_str!("../../../samples/outputs/vegeta.txt"), "9.713ms", "9.813ms"),
    (include_str!("../../../samples/outputs/vegeta.json"), "9713000", "9813000"),
    (include_str!("../../../samples/outputs/bombardier.txt"), "31204.55", "31205.55"),
    (include_str!("../../../samples/outputs/bombardier.json"), "2050.31", "2051.31"),
    (include_str!("../../../samples/outputs/autocannon.txt"), "1.12 ms", "1.13 ms"),
    (include_str!("../../../samples/outputs/autocannon.json"), "25131.2", "25141.2"),
    (include_str!("../../../samples/outputs/zrk.txt"), "59998", "59999"),
    (include_str!("../../../samples/outputs/zrk.json"), "422.0", "423.0"),
    (include_str!("../../../samples/outputs/fortio.txt"), "199.49", "199.50"),
    (include_str!("../../../samples/outputs/fortio.json"), "0.0048587641", "0.0048597641"),
];

fn rows_of(text: &str) -> Vec<Row> {
    read_outputs("run", text.as_bytes())
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
        .into_iter()
        .flat_map(|output| output.rows)
        .collect()
}

/// Returns a row without its name.
fn figures(row: &Row) -> Row {
    Row { name: String::new(), ..row.clone() }
}

#[test]
fn several_runs_of_any_tool_are_several_rows() {
    for (text, figure, other) in RUNS {
        assert!(text.contains(figure), "{figure}");
        let second = text.replace(figure, other);
        let rows = rows_of(&format!("{text}\n\n{second}"));
        assert_eq!(rows.len(), 2, "{text}");
        assert_eq!(
            (figures(&rows[0]), figures(&rows[1])),
            (figures(&row(text)), figures(&row(&second))),
            "mixed: {text}"
        );
        assert_ne!(rows[0].name, rows[1].name);
    }
}

#[test]
fn runs_of_several_tools_are_several_tables() {
    let outputs = read_outputs(
        "run",
        format!(
            "{WRK}\n{OHA}\n{H2LOAD_1_70}\n{}",
            include_str!("../../../samples/outputs/vegeta.json")
        )
        .as_bytes(),
    )
    .unwrap();
    let tools: Vec<Tool> = outputs.iter().map(|output| output.tool).collect();
    assert_eq!(tools, [Tool::Vegeta, Tool::Wrk, Tool::Oha, Tool::H2load]);
}

#[test]
fn rows_of_different_tables_have_different_names() {
    let http1 = include_str!("../../../samples/outputs/h2load-http1.txt");
    let outputs = read_outputs("run", format!("{H2LOAD_1_70}\n{http1}").as_bytes()).unwrap();
    let names: Vec<&str> =
        outputs.iter().flat_map(|output| &output.rows).map(|row| row.name.as_str()).collect();
    assert_eq!((outputs.len(), names), (2, vec!["h2load", "h2load (2)"]));
}

#[test]
fn a_paste_without_its_title_is_read() {
    let from = |text: &'static str, begins: &str| &text[text.find(begins).unwrap()..];
    for begins in
        ["1 threads and 8 connections", "Thread Stats", "Latency    40.08us", "165877 requests in"]
    {
        assert_eq!(value(&row(from(WRK, begins)).throughput), Some(150_845.54), "{begins}");
    }
    assert_eq!(value(&row(from(AB, "Concurrency Level")).throughput), Some(44_126.65));
    assert_eq!(value(&row(from(H2LOAD_1_70, "finished in")).throughput), Some(30_240.25));
    assert_eq!(value(&row(from(OHA, "Success rate")).throughput), Some(24349.7036));
    assert_eq!(value(&row(from(HEY, "Total:")).throughput), Some(16819.5097));
    assert_eq!(value(&row(from(GATLING, "> request count")).throughput), Some(632.0));
    assert_eq!(value(&row(from(K6, "checks_total")).throughput), Some(399.700225));
    assert_eq!(
        value(
            &row(from(include_str!("../../../samples/outputs/bombardier.txt"), "Statistics"))
                .throughput
        ),
        Some(31_204.55)
    );
    assert_eq!(
        value(
            &row(from(include_str!("../../../samples/outputs/fortio.txt"), "Ended after"))
                .throughput
        ),
        Some(199.49)
    );
}

#[test]
fn a_run_that_is_shown_again_counts_once() {
    for (text, ..) in RUNS {
        let outputs = read_outputs("run", format!("{text}\n{text}\n{text}").as_bytes()).unwrap();
        // Without a mean, it could be another run by chance.
        let expected = if outputs[0].rows[0].latency.mean.is_some() { 1 } else { 3 };
        assert_eq!(outputs[0].rows.len(), expected, "{text}");
        assert_eq!(
            outputs[0].notes.iter().any(|note| note.what.contains("shown again")),
            expected == 1
        );
    }
    let groups = format!("{K6}{K6_SCENARIO}{}", K6_SCENARIO.replace("SCENARIO: load", "GROUP: a"));
    assert_eq!(rows_of(&format!("{groups}\n{}", groups.replace("4.2ms", "4.3ms"))).len(), 2);
}

#[test]
fn sections_of_a_run_are_not_separate_runs() {
    let breakdown = OHA.replace(
        "\n\nDetails",
        "\n\nResponse time histogram (2xx only):\n   0.025 ms [1] |\n\nResponse time distribution (2xx only):\n  50.00% in 9.5 ms\n\nResponse time distribution (4xx + 5xx only):\n  50.00% in 8.5 ms\n\n\nDetails",
    );
    assert_ne!(breakdown, OHA);
    let rows = rows_of(&breakdown);
    assert_eq!((rows.len(), quantiles_us(&rows[0])), (1, quantiles_us(&row(OHA))));
}

/// Adds a text before and after each line.
fn decorated(text: &str, before: &str, after: &str) -> String {
    text.lines().map(|line| format!("{before}{line}{after}\n")).collect()
}

#[test]
fn decoration_does_not_change_the_result() {
    for (text, ..) in RUNS {
        let plain = rows_of(text);
        for (before, after) in [
            ("2024-05-01T12:00:00.1234567Z ", ""),
            ("[2024-05-01T12:00:00.123Z] ", ""),
            ("load\tRun\t2024-05-01T12:00:00.1234567Z ", ""),
            ("12:00:00 ", ""),
            ("> ", ""),
            ("> > ", "\r"),
            ("", "\r"),
            ("| ", " |"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("load-1  | ", ""),
            ("    ", "   "),
            ("\u{feff}", ""),
            ("2024-05-01T12:00:00Z \u{1b}[1m", "\u{1b}[0m\r"),
        ] {
            let rows = rows_of(&decorated(text, before, after));
            assert_eq!(rows, plain, "{before:?}{after:?}\n{text}");
        }
        let utf16: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(read_outputs("run", utf16.as_slice()).unwrap()[0].rows, plain);
    }
}

#[test]
fn unknown_lines_are_noted() {
    let output = output(&WRK.replace("Transfer/sec:", "Something new: 17 widgets\nTransfer/sec:"));
    let notes: Vec<&str> = output.notes.iter().map(|note| note.what.as_str()).collect();
    assert_eq!(
        notes,
        ["1 line with figures is not known and not read: line 13: `Something new: 17 widgets`"]
    );
    let twice = self::output(&WRK.replace("Transfer/sec:", "Requests/sec: 5.00\nTransfer/sec:"));
    assert!(
        twice.notes[0].what.contains("line 13")
            && twice.notes[0].what.contains("already has 150845.54"),
        "{:?}",
        twice.notes
    );
    let json = self::output(
        &include_str!("../../../samples/outputs/vegeta.json")
            .replace("\"rate\":", "\"a\":{\"new\":[7]},\"rate\":"),
    );
    assert!(json.notes.iter().any(|note| note.what.contains("`a.new.0: 7`")), "{:?}", json.notes);
    let bad = self::output(
        &include_str!("../../../samples/outputs/bombardier.json")
            .replace("2050.31", "\"2 parsecs\""),
    );
    assert!(
        bad.notes.iter().any(|note| note.what.contains("`result.latency.mean` is not read")),
        "{:?}",
        bad.notes
    );
}

#[test]
fn a_name_that_is_not_a_percentage_is_noted() {
    for (text, known) in [
        (include_str!("../../../samples/outputs/bombardier.json"), "\"99\":6400"),
        (OHA_JSON, "\"p99\": 0.007788676"),
    ] {
        let output = output(&text.replacen(known, &known.replace("99", "new"), 1));
        assert!(
            output.notes.iter().any(|note| note.what.contains("not known and not read")),
            "{known}: {:?}",
            output.notes
        );
    }
}

#[test]
fn a_run_keeps_its_figures_next_to_those_of_its_parts() {
    let goose = include_str!("../../../samples/outputs/goose.txt");
    let first = row(&goose.replace("| 99.99%", "|   100%"));
    let has = |wanted: &str| first.other.iter().any(|(name, _)| name.starts_with(wanted));
    assert!(has("100 %") && has("GET static asset failed"), "{:?}", first.other);
}

#[test]
fn a_run_without_rate_and_latency_is_refused() {
    let why = |text: &str| {
        read_outputs("x", text.as_bytes()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let cut = WRK.lines().take(2).collect::<Vec<_>>().join("\n");
    assert!(why(&cut).contains("neither a rate nor a latency"), "{}", why(&cut));
    let unreadable = "Summary:\n  Total:\t3 parsecs\n  Average:\t1 parsec\n  Requests/sec:\tfast\n";
    assert!(
        why(unreadable).contains("line 2") && why(unreadable).contains("parsecs"),
        "{}",
        why(unreadable)
    );
    assert!(
        why(&format!("{WRK}\n{cut}")).contains("(2)` has neither")
            || why(&format!("{WRK}\n{cut}")).contains("neither a rate")
    );
}

#[test]
fn other_tools_are_refused_by_name() {
    let why = |text: &str| {
        read_outputs("x", text.as_bytes()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    for (text, tool) in [
        (
            "Transactions:\t1000 hits\nAvailability:\t100.00 %\nTransaction rate:\t99 trans/sec\n",
            "siege",
        ),
        ("All VUs finished. Total time: 11 seconds\nhttp.request_rate: 10/sec\n", "Artillery"),
        (
            "starting benchmark...\nfinished in 1 sec, 234 millisec and 567 microsec, 8100 req/s, 1234 kbyte/s\nrequests: 10000 total, 10000 done, 0 failed, 0 errored\n",
            "weighttp",
        ),
        (
            "Summary:\n  Count:\t200\n  Total:\t181.57 ms\n  Slowest:\t69.60 ms\n  Requests/sec:\t1101.53\n\nStatus code distribution:\n  [OK]   200 responses\n",
            "ghz",
        ),
        (
            "Type     Name   # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\nGET  /  10  0(0.00%) | 12 3 40 11 | 2.00 0.00\n",
            "Locust",
        ),
        ("Beginning round 1...\n  Latencies:\n    Avg 1ms\n", "rewrk"),
        (
            "{\"type\":\"Metric\",\"data\":{},\"metric\":\"http_reqs\"}\n{\"type\":\"Point\",\"metric\":\"http_reqs\",\"data\":{\"value\":1}}\n",
            "k6",
        ),
        (
            "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.1,0.1,0,0,0.1,0,200,0.1\n",
            "hey",
        ),
        ("var stats = {\n type: \"GROUP\"\n}", "Gatling"),
    ] {
        let why = why(text);
        assert!(why.contains(tool) && why.contains("hint: "), "{tool}: {why}");
    }
}
