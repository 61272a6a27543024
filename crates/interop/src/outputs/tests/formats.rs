//! Checks that the figures of each tool are read to their places.

use super::*;

/// Compares rate, samples, mean in ms, share of errors, connections or users, and quantiles in
/// microseconds.
#[track_caller]
fn reads(text: &str, tool: Tool, figures: [f64; 4], places: Option<u64>, quantiles: &[(f64, u64)]) {
    let output = output(text);
    assert_eq!(output.tool, tool);
    let row = &output.rows[0];
    let [rate, samples, mean_ms, failed] = figures;
    about(&row.throughput, rate);
    about(&row.samples, samples);
    about(&row.latency.mean, mean_ms * 1e-3);
    let share = value(&row.error_share)
        .or_else(|| Some(value(&row.errors)? / value(&row.samples)?))
        .unwrap_or(0.0);
    assert!((share - failed).abs() < 1e-4, "{share} instead of {failed}");
    assert_eq!(
        (row.load.connections.or(row.load.users), quantiles_us(row)),
        (places, quantiles.to_vec())
    );
}

#[test]
fn the_output_of_vegeta_is_read() {
    let quantiles = [(50.0, 7_900), (90.0, 18_410), (95.0, 24_020), (99.0, 61_200)];
    for text in [
        include_str!("../../../samples/outputs/vegeta.txt"),
        include_str!("../../../samples/outputs/vegeta.json"),
    ] {
        let rate = if text.starts_with('{') { 100.03334444814938 } else { 100.03 };
        reads(text, Tool::Vegeta, [rate, 3000.0, 9.713, 40.0 / 3000.0], None, &quantiles);
        let row = row(text);
        assert!(row.load.scheduled && (value(&row.duration).unwrap() - 29.99).abs() < 1e-9);
        about(&row.latency.max, 0.1407);
        about(&row.bytes_per_answer, 74.0);
    }
    // A text with other percentiles than the default.
    let other = include_str!("../../../samples/outputs/vegeta.txt")
        .replace("50, 90, 95, 99, max]", "50, 95, 99.9, max]")
        .replace(" 18.41ms,", "");
    assert_eq!(quantiles_us(&row(&other)), [(50.0, 7_900), (95.0, 24_020), (99.9, 61_200)]);
}

#[test]
fn the_output_of_bombardier_is_read() {
    let quantiles = [(50.0, 1_850), (75.0, 2_310), (90.0, 3_020), (95.0, 3_610), (99.0, 6_400)];
    reads(
        include_str!("../../../samples/outputs/bombardier.txt"),
        Tool::Bombardier,
        [31_204.55, 312_027.0, 2.05, 17.0 / 312_027.0],
        Some(64),
        &quantiles,
    );
    reads(
        include_str!("../../../samples/outputs/bombardier.json"),
        Tool::Bombardier,
        [31_204.55, 312_027.0, 2.05031, 17.0 / 312_027.0],
        Some(64),
        &quantiles,
    );
}

#[test]
fn the_output_of_autocannon_is_read() {
    let text = include_str!("../../../samples/outputs/autocannon.txt");
    let quantiles = [(2.5, 0), (50.0, 1_000), (97.5, 3_000), (99.0, 4_000)];
    reads(
        text,
        Tool::Autocannon,
        [25_131.2, 251_000.0, 1.12, 332.0 / 251_000.0],
        Some(10),
        &quantiles,
    );
    let row = row(text);
    assert_eq!((row.load.depth, row.name.as_str()), (Some(4), "http://localhost:3000"));
    about(&row.received, 27.9e6);
    about(&row.transfer, 2.79e6);
    let quantiles = [(0.001, 0), (2.5, 0), (50.0, 0), (97.5, 2_000), (99.0, 2_000), (99.9, 6_000)];
    reads(
        include_str!("../../../samples/outputs/autocannon.json"),
        Tool::Autocannon,
        [25_131.2, 251_300.0, 0.31, 320.0 / 251_300.0],
        Some(10),
        &quantiles,
    );
}

#[test]
fn the_output_of_zrk_is_read() {
    let text = include_str!("../../../samples/outputs/zrk.txt");
    let first = row(text);
    assert!(first.load.scheduled && first.latency.mean.is_none());
    about(&first.throughput, 2000.0);
    about(&first.samples, 59_998.0);
    about(&first.latency.max, 13.99e-3);
    assert!((value(&first.error_share).unwrap() - 724.0 / 60_002.0).abs() < 1e-6);
    assert_eq!(
        quantiles_us(&first),
        [(50.0, 251), (75.0, 337), (90.0, 471), (99.0, 1_910), (99.9, 13_360)]
    );
    let json = include_str!("../../../samples/outputs/zrk.json");
    let quantiles =
        [(50.0, 251), (75.0, 337), (90.0, 471), (99.0, 1_913), (99.9, 13_364), (99.99, 13_988)];
    reads(json, Tool::Zrk, [99_980.0, 1_999_800.0, 0.422, 0.0], Some(50), &quantiles);
    assert!(!row(json).load.scheduled);
    let open = row(&json.replace("\"closed\": true", "\"closed\": false"));
    // Its rates are then those of the end of a ramp.
    assert!(open.load.scheduled && open.throughput.is_none());
}

#[test]
fn the_output_of_fortio_is_read() {
    let quantiles = [(50.0, 20_556), (99.0, 29_804), (99.9, 29_889)];
    reads(
        include_str!("../../../samples/outputs/fortio.txt"),
        Tool::Fortio,
        [199.49, 1000.0, 4.8587641, 0.02],
        Some(4),
        &quantiles,
    );
    let quantiles = [(50.0, 20_556), (99.0, 29_900)];
    reads(
        include_str!("../../../samples/outputs/fortio.json"),
        Tool::Fortio,
        [199.49363612172, 1000.0, 4.8587641, 0.02],
        Some(4),
        &quantiles,
    );
}

#[test]
fn tables_of_parts_are_read_by_their_headings() {
    let names = |text: &str| output(text).rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
    let locust = include_str!("../../../samples/outputs/locust.csv");
    assert_eq!(names(locust), ["GET /api/users", "POST /api/users, new", "Aggregated"]);
    let first = row(locust);
    about(&first.throughput, 10.5);
    about(&first.latency.mean, 57.52e-3);
    assert_eq!((value(&first.errors), first.latency.quantiles.len()), (Some(5.0), 10));
    let other = locust.replace("\"/api/users, new\"", "new").replace(',', ";");
    assert_eq!(names(&other), ["GET /api/users", "POST new", "Aggregated"]);
    let goose = include_str!("../../../samples/outputs/goose.txt");
    assert_eq!(names(goose), ["GET anon /", "GET static asset", "Aggregated"]);
    let last = output(goose).rows.remove(2);
    about(&last.throughput, 56.14);
    about(&last.latency.mean, 5.31e-3);
    assert_eq!(
        (value(&last.samples), value(&last.errors), last.load.users),
        (Some(3_537.0), Some(62.0), Some(9))
    );
    assert_eq!(last.latency.quantiles.len(), 6);
}

#[test]
fn percentiles_of_jmeter_are_those_of_its_headings() {
    let heading = "Label,# Samples,Average,Median,75% Line,99.9% Line,Min,Maximum,Error %,Throughput,Received KB/sec,Std. Dev.\n";
    let row = row(&format!("{heading}a,2000,10,9,15,30,1,40,2.50%,30.0/min,9.4,3.0\n"));
    assert_eq!(quantiles_us(&row), [(50.0, 9_000), (75.0, 15_000), (99.9, 30_000)]);
    about(&row.throughput, 0.5);
    about(&row.latency.max, 0.04);
    let plugin = "sampler_label,aggregate_report_count,average,aggregate_report_median,aggregate_report_90%_line,aggregate_report_min,aggregate_report_max,aggregate_report_error%,aggregate_report_rate,aggregate_report_bandwidth,aggregate_report_stddev\nx,300,10,9,15,1,40,0.00%,30.5,9.4,3.0\n";
    assert_eq!(quantiles_us(&self::row(plugin)), [(50.0, 9_000), (90.0, 15_000)]);
}

#[test]
fn percentiles_without_a_name_are_uncertain_and_noted() {
    let gatling = output(include_str!("../../../samples/outputs/gatling-stats.json"));
    assert!(
        gatling.rows.len() == 1
            && gatling.rows[0].has_loose_quantiles
            && gatling.rows[0].name == "All Requests"
    );
    about(&gatling.rows[0].throughput, 13.074);
    let notes: Vec<&str> = gatling.notes.iter().map(|note| note.what.as_str()).collect();
    assert!(
        notes.iter().any(|note| note.contains("percentages"))
            && notes.iter().any(|note| note.contains("parts of this run")),
        "{notes:?}"
    );
}

#[test]
fn runs_of_httparena_are_read() {
    let text = include_str!("../../../samples/outputs/httparena.json");
    let of = |name: &str, text: &str| {
        read_outputs(name, text.as_bytes()).unwrap_or_else(|e| panic!("{e}")).remove(0)
    };
    let output = of("baseline-512.json", text);
    assert_eq!(
        (output.tool, output.rows.len(), output.depth_unsaid, output.rows[0].load.connections),
        (Tool::HttpArena, 2, false, Some(512))
    );
    about(&output.rows[0].latency.mean, 173e-6);
    about(&output.rows[1].samples, 6_061_827.0);
    assert_eq!(quantiles_us(&output.rows[1]), [(99.0, 6_200)]);
    assert!(of("baseline-h2-256.json", text).depth_unsaid, "streams are not written");
    let rounds = format!(
        "{{\"baseline-512\": {text}, \"json-512\": {}}}",
        text.replace("\"rps\":2942559", "\"rps\":1942559")
    );
    let names: Vec<String> = of("1.json", &rounds).rows.into_iter().map(|row| row.name).collect();
    assert_eq!(
        names,
        ["actix, baseline-512", "aleph, baseline-512", "actix, json-512", "aleph, json-512"]
    );
    assert_eq!(
        of("x", &text.replace("\"pipeline\":1", "\"pipeline\":16")).rows[0].load.depth,
        Some(16)
    );
}

#[test]
fn units_that_tools_print_are_read() {
    let oha = |mean: &str| {
        format!(
            "Summary:\n  Success rate:\t100.00%\n  Total:\t3.0012 min\n  Slowest:\t1.2 min\n  Fastest:\t0.0 min\n  Average:\t{mean}\n  Requests/sec:\t180.0\n"
        )
    };
    for (mean, seconds) in [
        ("0.0417 min", 2.502),
        ("0.2502 10 sec", 2.502),
        ("0.004 10 min", 2.4),
        ("0.0007 hr", 2.52),
        ("2.5 sec", 2.5),
        ("2502 ms", 2.502),
        ("2502000 us", 2.502),
    ] {
        about(&row(&oha(mean)).latency.mean, seconds);
    }
    let wrong = output(&oha("0.0417 fortnights"));
    assert!(wrong.rows[0].latency.mean.is_none());
    let note = &wrong.notes[0].what;
    assert!(
        note.contains("line 6") && note.contains("fortnights") && note.contains("not a time"),
        "{note}"
    );
    for empty in ["", "NaN", "-", "inf sec"] {
        let note = &output(&oha(empty)).notes[0].what;
        assert!(note.contains("line 6 is not read"), "{empty}: {note}");
    }
    let k6 = K6.replace("avg=4.2ms", "avg=1m12s").replace("max=61.02ms", "max=1h2m3.5s");
    let row = row(&k6);
    about(&row.latency.mean, 72.0);
    about(&row.latency.max, 3723.5);
    about(&row.received, 560e3);
}

#[test]
fn overlapping_requests_of_a_k6_user_are_counted() {
    let batch = |mean: &str, iteration: &str| {
        row(&K6
            .replace("avg=4.2ms", &format!("avg={mean}"))
            .replace("avg=4.31ms", &format!("avg={iteration}"))
            .replace(
                "iterations.....................: 4000",
                "iterations.....................: 1000",
            ))
        .load
        .depth
    };
    // Four requests in an iteration that takes little longer than one of them.
    assert_eq!(batch("4.2ms", "4.31ms"), Some(4));
    assert_eq!(batch("4.2ms", "8.5ms"), Some(2));
    assert_eq!(batch("4.2ms", "17ms"), None);
    // At most as many as an iteration sends.
    assert_eq!(batch("400ms", "4.31ms"), Some(4));
    assert_eq!(
        row(&K6.replace("avg=4.2ms", "avg=400ms")).load.depth,
        None,
        "one request an iteration"
    );
}

#[test]
fn the_mean_of_hey_is_corrected_beyond_a_million() {
    let hey = "Summary:\n  Total:\t10.0 secs\n  Slowest:\t0.05 secs\n  Fastest:\t0.0001 secs\n  Average:\t0.0030 secs\n  Requests/sec:\t200000.0\n\nLatency distribution:\n  50%% in 0.0014 secs\n\nStatus code distribution:\n  [200]\t1000000 responses\n";
    let output = output(hey);
    about(&output.rows[0].latency.mean, 0.0015);
    assert!(
        output.rows[0].latency.quantiles.is_empty() && output.notes[0].what.contains("million"),
        "{:?}",
        output.notes
    );
    let cut_off = row(hey.split("\nStatus code").next().unwrap());
    about(&cut_off.latency.mean, 0.0015);
    let fewer = row(&hey.replace("1000000 responses", "999999 responses"));
    about(&fewer.latency.mean, 0.003);
}

#[test]
fn failed_responses_count_as_errors() {
    let statuses = "Summary:\n  Total:\t10.0 secs\n  Average:\t0.0030 secs\n  Requests/sec:\t200.0\n\nStatus code distribution:\n  [200]\t1500 responses\n  [503]\t400 responses\n\nError distribution:\n  [100]\tGet http://a: timeout\n";
    let first = row(statuses);
    assert_eq!((value(&first.samples), value(&first.errors)), (Some(2_000.0), Some(500.0)));
    let ab = include_str!("../../../../../bench/samples/ab.txt");
    let length = row(&ab.replace(
        "Failed requests:        0\n",
        "Failed requests:        30\n   (Connect: 0, Receive: 0, Length: 28, Exceptions: 2)\n",
    ));
    assert_eq!(value(&length.errors), Some(2.0));
    let refused = row(&ab.replace(
        "Failed requests:        0\n",
        "Failed requests:        0\nNon-2xx responses:      5000\n",
    ));
    assert_eq!(value(&refused.errors), Some(5_000.0));
    about(
        &row(&K6.replace("checks_failed......: 0.00%", "checks_failed......: 7.50%")).failed_checks,
        0.075,
    );
    about(&row("checks.........: 92.50% ✓ 3700 ✗ 300\nhttp_req_duration..: avg=4ms\nhttp_reqs......: 4000 400/s\n").failed_checks, 0.075);
}
