//! The formats of `faceoff export`, read by other libraries or by the tests' own parsers.
//!
//! What is read must equal the record: every sample, row and claim, and no excluded trial.

use super::{arrivals, made_up, record, xml};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use made_up::{name, trial};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field as Read, Row};
use record::Failure;
use record::judgement::Outcome;
use report::export::{self, Chart, Field, Kind, Of, Source};
use spec::experiment::Load;
use spec::metric::Metric;
use std::time::Duration;

#[test]
fn hdrhistogram_reads_interval_log() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    let log = export::hdr(&Source::whole(&record, &judgement)).unwrap();
    let mut base = None;
    let mut tags = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.unwrap() {
            LogEntry::StartTime(at) => assert_eq!(
                at,
                Duration::from_millis(1_767_225_661_500),
                "when the first measurement began"
            ),
            LogEntry::BaseTime(at) => base = Some(at),
            LogEntry::Interval(interval) => {
                let bytes = BASE64.decode(interval.encoded_histogram()).unwrap();
                let read: hdrhistogram::Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                let tag = interval.tag().unwrap().as_str().to_owned();
                let parts: Vec<&str> = tag.split('/').collect();
                let block: u32 = parts[2].parse().unwrap();
                let trial = record
                    .trials
                    .iter()
                    .find(|t| t.contender == name(parts[0]) && t.block == block)
                    .unwrap();
                let m = &trial.measurements[0];
                let times = match parts[3] {
                    "latency" => m.latency.as_ref(),
                    "service" => Some(&m.service),
                    "lag" => m.generator.lag.as_ref(),
                    _ => None,
                };
                let times = times.unwrap();
                assert_eq!((read.len(), parts[1]), (times.len(), "c"));
                assert!(
                    read.value_at_quantile(0.99).abs_diff(times.quantile_ns(0.99))
                        <= times.quantile_ns(0.99) / 1000,
                    "{tag}"
                );
                assert!((interval.max() - times.max_ns() as f64 / 1e6).abs() < 0.001);
                assert_eq!(interval.duration(), Duration::from_secs(2));
                let behind = u64::from(block - 1) * 60 + if parts[0] == "b" { 30 } else { 0 };
                assert_eq!(interval.start_timestamp(), Duration::from_secs(behind));
                tags.push(tag);
            }
        }
    }
    assert_eq!(base, Some(Duration::from_millis(1_767_225_661_500)));
    assert_eq!(
        (tags.len(), tags[0].as_str(), tags[35].as_str()),
        (36, "a/c/1/latency", "b/c/6/lag")
    );
}

#[test]
fn percentile_distributions_end_with_every_sample() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    let files: Vec<export::File> =
        export::hgrm(&Source::whole(&record, &judgement)).unwrap().collect();
    assert_eq!((files.len(), files[0].name.as_str()), (36, "c.a.block-1.latency.hgrm"));
    for file in &files {
        let rows = file.text.lines().skip(2).take_while(|line| !line.starts_with('#'));
        let rows: Vec<Vec<f64>> = rows
            .map(|line| line.split_whitespace().map(|n| n.parse().unwrap()).collect())
            .collect();
        assert!(
            rows.iter().all(|row| row.len() == 4)
                && rows.windows(2).all(|w| w[0][0] <= w[1][0] && w[0][2] <= w[1][2]),
            "{}",
            file.text
        );
        let last = rows.last().unwrap();
        assert_eq!((last[1], last[2]), (1.0, 1_400.0), "{}", file.text);
        // Milliseconds here, nanoseconds in the record.
        let parts: Vec<&str> = file.name.split('.').collect();
        let block: u32 = parts[2].trim_start_matches("block-").parse().unwrap();
        let trial = record
            .trials
            .iter()
            .find(|t| t.contender == name(parts[1]) && t.block == block)
            .unwrap();
        let m = &trial.measurements[0];
        let times = match parts[3] {
            "latency" => m.latency.as_ref(),
            "service" => Some(&m.service),
            _ => m.generator.lag.as_ref(),
        };
        let times = times.unwrap();
        let median = rows.iter().find(|row| row[1] >= 0.5).unwrap()[0];
        assert!(
            (median / (times.quantile_ns(0.5) as f64 / 1e6) - 1.0).abs() < 0.002,
            "{median}: {}",
            file.text
        );
        assert!((last[0] - times.max_ns() as f64 / 1e6).abs() < 0.001, "{}", file.text);
        assert!(
            file.text.contains(&format!("#[Mean    = {:>12.3},", times.mean_ns() / 1e6)),
            "{}",
            file.text
        );
        let end: Vec<&str> = file.text.lines().rev().take(2).collect();
        assert_eq!(
            end[0], "#[Buckets =           32, SubBuckets     =         2048]",
            "{}",
            file.text
        );
        assert!(end[1].ends_with("Total count    =         1400]"), "{}", file.text);
    }
}

#[test]
fn unreadable_timestamps_are_reported() {
    let mut record = record("c", "b is slower");
    record.trials[3].started_at = "yesterday".into();
    let judgement = judge::judge(&record);
    let whole = Source::whole(&record, &judgement);
    assert!(
        export::hdr(&whole)
            .unwrap_err()
            .to_string()
            .contains("block 2, b: the record has \"yesterday\" as its time, which cannot be read")
    );
    assert!(
        export::openmetrics(&whole)
            .lines()
            .any(|line| line.starts_with("faceoff_measurement_threads{") && line.ends_with(" 7"))
    );
}

#[test]
fn excluded_trials_are_left_out_and_named() {
    let mut record = record("c", "b is slower");
    record.trials[0].failure =
        Some(Failure { stage: "measure".into(), cause: "it ended".into(), log: vec![] });
    let judgement = judge::judge(&record);
    let whole = Source::whole(&record, &judgement);
    assert_eq!(whole.left_out().collect::<Vec<_>>(), ["block 1, a: it ended (measure)"]);
    assert!(!export::hdr(&whole).unwrap().contains("Tag=a/c/1/"));
    let table = export::table(&whole, Of::Measurements);
    let used = table.columns.iter().position(|(name, _)| *name == "used").unwrap();
    assert_eq!(table.rows.iter().filter(|row| row[used] == Field::Flag(false)).count(), 1);
    // Only the contender without values is named.
    record.trials.retain(|t| t.block == 1 && t.contender == name("a"));
    let judgement = judge::judge(&record);
    assert!(
        export::hdr(&Source::whole(&record, &judgement))
            .unwrap_err()
            .to_string()
            .contains("no measurement that verdicts use")
    );
}

#[test]
fn only_chosen_cells_and_contenders_are_written() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    let (cells, unknown, only) = (["c".to_owned()], ["d".to_owned()], [name("b")]);
    let chosen = Source { cells: &cells, contenders: &only, ..Source::whole(&record, &judgement) };
    let log = export::hdr(&chosen).unwrap();
    assert!(log.contains("Tag=b/c/1/") && !log.contains("Tag=a/"));
    assert_eq!(export::table(&chosen, Of::Measurements).rows.len(), 6);
    assert!(
        export::table(&chosen, Of::Verdicts)
            .rows
            .iter()
            .all(|row| row[2] == Field::Text("c".into()))
    );
    let none = Source { cells: &unknown, ..chosen };
    assert!(export::hdr(&none).is_err() && export::table(&none, Of::Verdicts).rows.is_empty());
    assert!(export::table(&none, Of::Claims).rows.is_empty());
    let marks = |source: &Source<'_>| {
        export::svg(source, Chart::Verdicts).unwrap().matches("<path").count()
    };
    assert!(
        marks(&none) < marks(&Source { cells: &cells, ..none }),
        "nothing is drawn of what was not chosen"
    );
}

/// Reads a CSV table back, and compares it value by value.
#[track_caller]
pub fn is_read_again(table: &export::Table) {
    let text = export::csv(table);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), names);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), table.rows.len());
    for (read, row) in rows.iter().zip(&table.rows) {
        assert_eq!((row.len(), read.len()), (names.len(), names.len()));
        for ((field, (column, kind)), read) in row.iter().zip(&table.columns).zip(read) {
            let fits = match (field, kind) {
                (Field::Text(text), Kind::Text) => text == read,
                (Field::Whole(n), Kind::Whole) => read.parse() == Ok(*n),
                (Field::Number(n), Kind::Number) => read.parse() == Ok(*n),
                (Field::Flag(flag), Kind::Flag) => read.parse() == Ok(*flag),
                (Field::Nothing, _) => read.is_empty(),
                _ => false,
            };
            assert!(fits, "{column}: {field:?} {read:?}");
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(table: &export::Table) -> Vec<u8> {
    export::parquet(table).unwrap()
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &export::Table) -> Vec<u8> {
    crate::needs::need("feature parquet");
    Vec::new()
}

/// Reads a Parquet table back, and compares it value by value.
#[track_caller]
pub fn is_read_again_from_columns(table: &export::Table) {
    let reader = SerializedFileReader::new(bytes::Bytes::from(parquet(table))).unwrap();
    let rows: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), table.rows.len());
    for (read, row) in rows.iter().zip(&table.rows) {
        let columns: Vec<(&String, &Read)> = read.get_column_iter().collect();
        assert_eq!(columns.len(), row.len());
        for (((name, read), field), (column, _)) in columns.into_iter().zip(row).zip(&table.columns)
        {
            let fits = match (read, field) {
                (Read::Str(read), Field::Text(text)) => read == text,
                (Read::ULong(read), Field::Whole(n)) => read == n,
                (Read::Double(read), Field::Number(n)) => read == n,
                (Read::Bool(read), Field::Flag(flag)) => read == flag,
                (Read::Null, Field::Nothing) => true,
                _ => false,
            };
            assert!(fits && name == column, "{column}: {field:?} {read:?}");
        }
    }
}

#[test]
fn csv_tables_survive_a_round_trip() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    for of in Of::ALL {
        let table = export::table(&Source::whole(&record, &judgement), of);
        assert!(!table.rows.is_empty(), "{of:?}");
        is_read_again(&table);
    }
    let verdicts = export::table(&Source::whole(&record, &judgement), Of::Verdicts);
    assert_eq!(verdicts.rows.len(), judgement.verdicts.len());
    let measurements = export::table(&Source::whole(&record, &judgement), Of::Measurements);
    let column =
        measurements.columns.iter().position(|(name, _)| *name == "latency_p50_ms").unwrap();
    let p50 = record.trials[0].measurements[0].times().quantile_ns(0.5) as f64 / 1e6;
    assert_eq!(measurements.rows[0][column], Field::Number(p50));
}

#[test]
#[cfg_attr(not(feature = "parquet"), ignore = "needs feature parquet")]
fn parquet_columns_survive_a_round_trip() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    for of in Of::ALL {
        let table = export::table(&Source::whole(&record, &judgement), of);
        assert!(!table.rows.is_empty(), "{of:?}");
        is_read_again_from_columns(&table);
    }
}

#[test]
fn junit_has_one_test_per_claim() {
    let mut record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    assert!(!judgement.unsound && !judgement.incomplete, "{:?}", judgement.faults);
    let root = xml::parse_xml(&export::junit(&record, &judgement)).unwrap();
    assert_eq!(
        ["tests", "failures", "errors", "skipped"].map(|name| root.attribute(name).unwrap()),
        ["4", "1", "0", "0"]
    );
    let (run, claims) = (&root.children[0], &root.children[1]);
    assert_eq!(
        (run.attribute("name"), claims.attribute("timestamp")),
        (Some("x: run"), Some("2026-01-01T00:00:00"))
    );
    let cases: Vec<&xml::Node> =
        claims.children.iter().filter(|node| node.tag == "testcase").collect();
    assert_eq!(
        cases.iter().map(|case| case.attribute("name").unwrap()).collect::<Vec<_>>(),
        ["b is slower", "b is as quick"]
    );
    assert!(cases[0].children.is_empty());
    let failure = &cases[1].children[0];
    assert_eq!((failure.tag.as_str(), failure.attribute("type")), ("failure", Some("refuted")));
    assert!(failure.text.contains("c: refuted: "), "{}", failure.text);
    // A failed contender makes the run incomplete: too few blocks remain, and the claim is
    // undecided.
    record.trials[0].failure =
        Some(Failure { stage: "measure".into(), cause: "it ended".into(), log: vec![] });
    let judgement = judge::judge(&record);
    let root = xml::parse_xml(&export::junit(&record, &judgement)).unwrap();
    assert_eq!((root.attribute("errors"), root.attribute("skipped")), (Some("1"), Some("2")));
}

#[test]
fn markdown_has_one_row_per_claim_and_verdict() {
    let record = record("c", "b is slower");
    let judgement = judge::judge(&record);
    let text = export::markdown(&record, &judgement);
    assert!(
        text.starts_with("### Which?\n\n**b is 1.8× slower on average (1.8× to 1.9×) than a."),
        "{text}"
    );
    assert!(
        text.contains("| ✅ confirmed | b is slower |")
            && text.contains("| ❌ refuted | b is as quick |"),
        "{text}"
    );
    let rows = text.lines().filter(|line| line.starts_with("| ")).count();
    // Two claims, and a header for each of three tables.
    assert_eq!(rows, 3 + 2 + judgement.verdicts.len(), "{text}");
    let open = text.matches("<details>").count();
    assert!(open >= 2 && text.matches("</details>").count() == open);
}

#[test]
fn chart_has_one_interval_per_claim() {
    let mut record = record("c", "b is slower");
    let marks = |record: &record::Record| {
        let judgement = judge::judge(record);
        let drawn = export::svg(&Source::whole(record, &judgement), Chart::Verdicts).unwrap();
        let root = xml::parse_xml(&drawn).unwrap();
        assert_eq!(
            (root.tag.as_str(), root.attribute("xmlns")),
            ("svg", Some("http://www.w3.org/2000/svg"))
        );
        let texts: Vec<String> = root
            .children
            .iter()
            .filter(|node| node.tag == "text")
            .map(|node| node.text.clone())
            .collect();
        let ratio = judgement
            .verdicts
            .iter()
            .find(|v| v.metric == Metric::LatencyP50)
            .and_then(|v| v.ratio)
            .unwrap();
        let shown = spec::units::show_number(ratio);
        assert!(texts.iter().any(|text| text.contains(&shown)), "{shown}: {texts:?}");
        (root.children.iter().filter(|node| node.tag == "path").count(), judgement)
    };
    // One mark per claim and per cell of a claim.
    assert_eq!(marks(&record).0, 4);
    record.header.experiment.claims.clear();
    let (drawn, judgement) = marks(&record);
    assert_eq!(drawn, judgement.verdicts.iter().filter(|v| v.ratio.is_some()).count());
    assert!(judgement.verdicts.iter().any(|v| v.outcome == Outcome::Worse));
}

#[test]
fn closed_load_exports_service_times_only() {
    let trials = (1..=6).flat_map(|block| {
        ["a", "b"].map(|who| {
            let mut trial = trial(who, block, arrivals(20));
            trial.started_at = "2026-01-01T00:00:00Z".into();
            (trial.measurements[0].latency, trial.measurements[0].generator.lag) = (None, None);
            trial
        })
    });
    let record = made_up::record(&["a", "b"], Load::closed(4), trials.collect());
    let judgement = judge::judge(&record);
    let whole = Source::whole(&record, &judgement);
    let log = export::hdr(&whole).unwrap();
    assert!(log.contains("/service,") && !log.contains("/latency,"));
}
