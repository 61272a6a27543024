//! Hostile names and texts in a record of unknown origin: every format stays valid and keeps them
//! unchanged.

use super::charts::{texts, with_everything};
use super::formats::{is_read_again, is_read_again_from_columns};
use super::{record, xml};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;
use record::{Failure, Record};
use report::export::{self, Chart, Of, Source};
use spec::name::percent_encoded;

fn hostile() -> impl Strategy<Value = String> {
    let known = [
        "",
        "a,b \"c\"\r\n'd';e",
        "Tag=x,1.0,1.0,1.0,AAAA\n#[BaseTime: 9.0 (seconds since epoch)]",
        "</text></svg><script>alert(1)</script>",
        "\"/><failure/>]]>&amp;&#10;",
        "| a | b |\n\n# c <img src=x onerror=alert(1)> @everyone [d](http://e) `f` \\",
        "\\\"} 1\n# EOF\nfaceoff_run_info{a=\"",
        "=HYPERLINK(\"http://a\")",
        "../../etc/passwd",
        "\u{0}\u{1}\u{7f}\u{85}\u{2028}\u{fffe}\u{ffff}\u{202e}\u{1f600}",
    ];
    prop_oneof![
        proptest::sample::select(known.map(str::to_owned).to_vec()),
        any::<String>(),
        "[ -~]{0,40}",
        Just("long ".repeat(2_000))
    ]
}

/// Returns a text as XML can contain it, on one line.
fn in_xml(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            '\u{2028}' | '\u{2029}' => ' ',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

/// Returns a record with these names.
fn called(cell: &str, claim: &str, other: &str) -> Record {
    let mut record = record(cell, claim);
    for text in [
        &mut record.header.id,
        &mut record.header.faceoff,
        &mut record.header.machine.cpu,
        &mut record.header.experiment.name,
        &mut record.header.experiment.question,
    ] {
        other.clone_into(text);
    }
    record.trials[11].failure =
        Some(Failure { stage: other.to_owned(), cause: other.to_owned(), log: vec![] });
    record
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn hostile_names_are_escaped_in_text_formats(cell in hostile(), claim in hostile(), other in hostile()) {
        let _machine = crate::machine::share();
        let record = called(&cell, &claim, &other);
        let judgement = judge::judge(&record);
        let whole = Source::whole(&record, &judgement);

        for of in Of::ALL {
            is_read_again(&export::table(&whole, of));
        }

        let log = export::hdr(&whole).unwrap();
        let entries: Vec<LogEntry<'_>> = IntervalLogIterator::new(log.as_bytes()).map(Result::unwrap).collect();
        let bases = entries.iter().filter(|entry| matches!(entry, LogEntry::BaseTime(_))).count();
        let tags = entries.iter().filter_map(|entry| if let LogEntry::Interval(interval) = entry { interval.tag() } else { None });
        let cells: Vec<&str> = tags.map(|tag| tag.as_str().split('/').nth(1).unwrap()).collect();
        prop_assert_eq!((bases, cells.len()), (1, if other == "stop" { 36 } else { 33 }));
        prop_assert!(cells.iter().all(|part| *part == percent_encoded(&cell)));

        let metrics = super::metrics::read(&export::openmetrics(&whole));
        let is_told = |name: &str, value: &str| metrics.iter().any(|(_, _, labels, _)| labels.iter().any(|(n, v)| n == name && v == value));
        prop_assert!(is_told("cell", &cell) && is_told("claim", &claim) && is_told("experiment", &other));

        let files = export::hgrm(&whole).unwrap().map(|file| file.name);
        for name in files {
            prop_assert!(name.chars().all(|c| c.is_ascii_graphic() && c != '/' && c != '\\'), "{}", name);
        }

        let root = xml::parse_xml(&export::junit(&record, &judgement)).unwrap();
        let cases = root.children.iter().flat_map(|suite| &suite.children).filter(|node| node.tag == "testcase");
        let names: Vec<&str> = cases.map(|case| case.attribute("name").unwrap()).collect();
        let claimed = in_xml(&claim);
        prop_assert_eq!(names, ["the measurement is sound", "the run is complete", claimed.as_str(), "b is as quick"]);

        let mut charted = record.clone();
        let everything = with_everything(&mut charted, &cell);
        for chart in Chart::ALL {
            let drawn = export::svg(&Source::whole(&charted, &everything), chart).unwrap();
            let shown = texts(&drawn);
            prop_assert!(drawn.len() < 200_000 && shown.iter().all(|text| text.chars().count() <= 160), "{}: {}", chart.name(), drawn.len());
        }

        let mut text = export::markdown(&record, &judgement);
        let rows = text.lines().filter(|line| line.starts_with("| ")).count();
        prop_assert_eq!(rows, 3 + 2 + judgement.verdicts.len());
        for tag in ["details", "summary", "sub"] {
            text = text.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "");
        }
        text = text.replace("<!-- -->", "");
        prop_assert!(!text.contains('<'), "{}", text);
    }

    #[test]
    #[cfg_attr(not(feature = "parquet"), ignore = "needs feature parquet")]
    fn parquet_columns_hold_hostile_names(cell in hostile(), claim in hostile(), other in hostile()) {
        let _machine = crate::machine::share();
        let record = called(&cell, &claim, &other);
        let judgement = judge::judge(&record);
        for of in Of::ALL {
            is_read_again_from_columns(&export::table(&Source::whole(&record, &judgement), of));
        }
    }
}

#[test]
fn report_survives_inconsistent_columns() {
    let mut record = record("c", "b is slower");
    record.header.id = "r; echo $HOME".into();
    record.header.experiment.name = "x && y".into();
    for trial in &mut record.trials {
        let usage = &mut trial.measurements[0].usage;
        usage.t_ns = vec![0, 1_000_000_000, 2_000_000_000];
        usage.cpu_ns_at = vec![0, 500_000_000, 400_000_000];
    }
    record.trials[0].measurements[0].usage.cpu_ns_at.truncate(1);
    let page = report::html(&record, &judge::judge(&record));
    assert!(page.contains("\"cpu_percent\":[]") && page.contains("\"cpu_percent\":[50.0,0.0]"));
    for command in [
        "faceoff run 'x && y'",
        "faceoff judge 'records/r; echo $HOME'",
        "faceoff report 'records/r; echo $HOME'",
    ] {
        assert!(page.contains(&format!("\"{command}\"")), "{command}");
    }
}
