//! The audit of published tables: against a list worked out by hand, against tables with one
//! contradiction each, and against simulated runs, which it must not flag.

use judge::audit::{Audit, Check, Wording, audit};
use proptest::prelude::*;
use spec::article::{Article, Figure, Latency, Load, Row, Table, Tool};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn articles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/articles")
}

fn all() -> Vec<Audit> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(articles()).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths.iter().map(|path| audit(&Article::read(path).unwrap_or_else(|e| panic!("{e}")))).collect()
}

/// Article, table, row, check, and factor with two decimals.
type Entry = (String, String, String, String, String);

/// Reads the rows of a table of the list.
fn list(heading: &str, of: impl Fn(&[&str]) -> Option<Entry>) -> BTreeSet<Entry> {
    let text = std::fs::read_to_string(articles().join("contradictions.md")).unwrap();
    let section = text.split(heading).nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows =
        section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| article"));
    rows.filter_map(|line| {
        of(&line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>())
    })
    .collect()
}

fn entry(cells: [&str; 4], factor: &str) -> Option<Entry> {
    let digits = factor.parse::<f64>().map_or("-".to_owned(), |f| format!("{f:.2}"));
    Some((cells[0].into(), cells[1].into(), cells[2].into(), cells[3].into(), digits))
}

fn found(wording: Wording) -> BTreeSet<Entry> {
    let mut entries = BTreeSet::new();
    for article in all() {
        for table in &article.tables {
            for f in table.findings.iter().filter(|f| f.wording == wording) {
                let factor = f.factor.map_or("-".into(), |factor| format!("{factor:.2}"));
                entries.insert((
                    article.name.clone(),
                    table.title.clone(),
                    f.row.clone(),
                    f.check.name().to_owned(),
                    factor,
                ));
            }
        }
    }
    entries
}

#[test]
fn five_articles_have_exactly_the_listed_findings() {
    let contradictions = list("## Contradictions", |c| entry([c[0], c[1], c[2], c[3]], c[5]));
    assert_eq!(contradictions.len(), 11);
    assert_eq!(found(Wording::ContradictsItself), contradictions);
    let service_times =
        list("## Inconsistent as a service time", |c| entry([c[0], c[1], c[2], "little"], c[4]));
    assert_eq!(service_times.len(), 5);
    assert_eq!(found(Wording::InconsistentAsServiceTime), service_times);
    assert_eq!(all().len(), 5);
}

fn time(text: &str) -> Option<Figure> {
    Some(Figure::time(text).unwrap())
}

fn count(text: &str) -> Option<Figure> {
    Some(Figure::count(text).unwrap())
}

fn bytes(text: &str) -> Option<Figure> {
    Some(Figure::bytes(text).unwrap())
}

fn checked(rows: Vec<Row>, tool: Option<Tool>) -> Audit {
    let rows =
        rows.into_iter().enumerate().map(|(i, row)| Row { name: format!("{i}"), ..row }).collect();
    let table = Table { title: "t".into(), tool, rows, quotients: Vec::new() };
    audit(&Article { name: "a".into(), tables: vec![table], ..Article::default() })
}

fn checks(row: Row) -> Vec<Check> {
    checked(vec![row], None).tables[0].findings.iter().map(|f| f.check).collect()
}

fn on(connections: u64) -> Load {
    Load { connections: Some(connections), ..Load::default() }
}

#[test]
fn little_finds_too_many_requests_in_flight() {
    let mean = |text| Latency { mean: time(text), ..Latency::default() };
    let little =
        Row { load: on(64), throughput: count("10000"), latency: mean("7.0ms"), ..Row::default() };
    assert_eq!(checks(little), [Check::Little]);
    let quantiles = Latency {
        quantiles: vec![(50.0, time("10ms").unwrap()), (99.0, time("20ms").unwrap())],
        ..Latency::default()
    };
    let from_quantiles =
        Row { load: on(64), throughput: count("20000"), latency: quantiles, ..Row::default() };
    assert_eq!(checks(from_quantiles), [Check::Little]);
    let pauses = Load { users: Some(100), pause_mean: time("1.0s"), ..Load::default() };
    let paused =
        Row { load: pauses, throughput: count("150"), latency: mean("0.1s"), ..Row::default() };
    assert_eq!(checks(paused), [Check::Little]);
}

#[test]
fn totals_that_do_not_match_rates_are_found() {
    let sizes = Row {
        throughput: count("100"),
        bytes_per_answer: bytes("1000B"),
        transfer: bytes("50.0KB"),
        ..Row::default()
    };
    assert_eq!(checks(sizes), [Check::Transfer]);
    let received = Row {
        transfer: bytes("1.00MB"),
        duration: time("30s"),
        received: bytes("60.0MB"),
        ..Row::default()
    };
    assert_eq!(checks(received), [Check::Transfer]);
    let counted = Row {
        throughput: count("100"),
        duration: time("30.0s"),
        samples: count("6000"),
        ..Row::default()
    };
    assert_eq!(checks(counted), [Check::Count]);
    let fast = Load { users: Some(100), loops: Some(100), ramp_up: time("60s"), ..Load::default() };
    let ramp_up = Row { load: fast, throughput: count("500"), ..Row::default() };
    assert_eq!(checks(ramp_up), [Check::RampUp]);
}

#[test]
fn latencies_out_of_order_or_without_a_mean_are_found() {
    let upside_down = Latency {
        quantiles: vec![(50.0, time("9.0ms").unwrap()), (99.0, time("5.0ms").unwrap())],
        ..Latency::default()
    };
    assert_eq!(checks(Row { latency: upside_down, ..Row::default() }), [Check::Order]);
    let outside = Latency { mean: time("9.0ms"), max: time("5.0ms"), ..Latency::default() };
    assert!(checks(Row { latency: outside, ..Row::default() }).contains(&Check::Order));
    let zero = Latency {
        quantiles: vec![(50.0, time("9.0ms").unwrap()), (99.0, time("0.0us").unwrap())],
        ..Latency::default()
    };
    assert_eq!(checks(Row { latency: zero, ..Row::default() }), [Check::Zero]);
    let too_low = Latency {
        mean: time("1.0ms"),
        quantiles: vec![(50.0, time("9.0ms").unwrap())],
        ..Latency::default()
    };
    assert_eq!(checks(Row { latency: too_low, ..Row::default() }), [Check::Moments]);
}

#[test]
fn errors_that_do_not_match_requests_are_found() {
    let share = |text| Some(Figure::share(text).unwrap());
    let too_many = Row { samples: count("100"), errors: count("200"), ..Row::default() };
    assert_eq!(checks(too_many), [Check::Errors]);
    let other_share = Row {
        samples: count("100"),
        errors: count("20"),
        error_share: share("2.0%"),
        ..Row::default()
    };
    assert_eq!(checks(other_share), [Check::Errors]);
    let no_whole = Row { samples: count("10"), error_share: share("14.7%"), ..Row::default() };
    assert_eq!(checks(no_whole), [Check::Errors]);
}

#[test]
fn missing_figures_cause_no_finding() {
    let scheduled = Load { scheduled: true, ..on(4) };
    let latency = || Latency { mean: time("7ms"), ..Latency::default() };
    assert_eq!(
        checks(Row {
            load: scheduled,
            throughput: count("10000"),
            latency: latency(),
            ..Row::default()
        }),
        []
    );
    assert_eq!(
        checks(Row { throughput: count("10000"), latency: latency(), ..Row::default() }),
        []
    );
    // A ramp-up is not a duration, unless the table shows that it is.
    let ramp = |rate: &str| Row {
        samples: count("1000"),
        load: Load { ramp_up: time("10s"), ..Load::default() },
        throughput: count(rate),
        latency: Latency { max: time("0.10s"), ..Latency::default() },
        ..Row::default()
    };
    assert_eq!(checked(vec![ramp("20.0"), ramp("30.0"), ramp("100.0")], None).flagged(), 0);
    assert_eq!(
        checked(vec![ramp("20.0"), ramp("99.9"), ramp("100.0"), ramp("99.5")], None).flagged(),
        1
    );
    // A slow contender takes longer than the ramp-up.
    let slow = Row { latency: Latency { max: time("45s"), ..Latency::default() }, ..ramp("20.0") };
    assert_eq!(checked(vec![slow, ramp("99.9"), ramp("100.0"), ramp("99.5")], None).flagged(), 0);
}

#[test]
fn copied_latencies_with_another_throughput_are_found() {
    let row = |rate: &str, max: &str| Row {
        throughput: count(rate),
        latency: Latency {
            mean: time("1.63ms"),
            deviation: time("2.77ms"),
            max: time(max),
            quantiles: vec![(50.0, time("564.00us").unwrap()), (99.0, time("13.56ms").unwrap())],
            ..Latency::default()
        },
        ..Row::default()
    };
    let flagged =
        |rows| checked(rows, None).tables[0].findings.iter().map(|f| f.check).collect::<Vec<_>>();
    assert_eq!(flagged(vec![row("2422", "58.78ms"), row("1958", "58.78ms")]), [Check::Repeated]);
    assert_eq!(flagged(vec![row("2422", "58.78ms"), row("1958", "58.79ms")]), []);
    assert_eq!(flagged(vec![row("2422", "58.78ms"), row("2422", "58.78ms")]), []);
}

/// Simulates a closed run: each connection sends `depth` requests as soon as all responses to the
/// previous ones are there.
fn run(seed: u64, connections: u64, depth: u64, shape: u8, mean_us: f64) -> Row {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let mut service = || match shape {
        0 => mean_us,
        1 => -mean_us * uniform().ln(),
        2 => mean_us * (0.2 + 1.6 * uniform()),
        3 if uniform() < 0.98 => mean_us * (0.5 + uniform()),
        3 => mean_us * 40.0,
        _ => mean_us * uniform().powf(-0.4),
    };
    let end = mean_us * 400.0;
    let mut times = Vec::new();
    for connection in 0..connections {
        let mut now = connection as f64 * 0.01 * mean_us;
        while now < end {
            let mut longest: f64 = 0.0;
            for _ in 0..depth {
                let took = service().max(1.0);
                longest = longest.max(took);
                if now + took <= end {
                    times.push(took);
                }
            }
            now += longest;
        }
    }
    times.sort_by(f64::total_cmp);
    let n = times.len() as f64;
    let mean = times.iter().sum::<f64>() / n;
    let deviation = (times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n).sqrt();
    let printed =
        |us: f64| if us >= 1e3 { format!("{:.2}ms", us / 1e3) } else { format!("{us:.2}us") };
    let quantile = |percent: f64| {
        (
            percent,
            time(&printed(times[((percent / 100.0 * n) as usize).min(times.len() - 1)])).unwrap(),
        )
    };
    let seconds = end / 1e6;
    let size = 193.0;
    Row {
        load: Load { depth: Some(depth), ..on(connections) },
        samples: count(&format!("{n:.0}")),
        duration: time(&format!("{seconds:.3}s")).filter(|_| seconds > 1.0),
        throughput: count(&format!("{:.2}", n / seconds)),
        transfer: bytes(&format!("{:.2}KB", n * size / seconds / 1024.0)),
        received: bytes(&format!("{:.2}KB", n * size / 1024.0)),
        bytes_per_answer: bytes(&format!("{size}B")),
        errors: count("0"),
        latency: Latency {
            mean: time(&printed(mean)),
            deviation: time(&printed(deviation)),
            min: time(&printed(times[0])),
            max: time(&printed(times[times.len() - 1])),
            quantiles: [50.0, 75.0, 90.0, 99.0, 99.9].map(quantile).to_vec(),
        },
        ..Row::default()
    }
}

/// Simulates users that start over a ramp-up and send one request each, the first of them late.
/// Figures are as JMeter prints them.
fn sent_once(seed: u64, users: u64, ramp_s: u64, slowest_ms: u64, late_s: f64) -> Row {
    let mut state = seed | 1;
    let mut time_ms = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 33) % (slowest_ms + 1)) as f64
    };
    let calls: Vec<(f64, f64)> = (0..users)
        .map(|i| ((i as f64 * ramp_s as f64 / users as f64).max(late_s) * 1e3, time_ms()))
        .collect();
    let n = users as f64;
    let first = calls.iter().map(|c| c.0).fold(f64::INFINITY, f64::min);
    let last = calls.iter().map(|c| c.0 + c.1).fold(0.0, f64::max);
    let rate = n / ((last - first).max(1.0) / 1e3);
    let mean = calls.iter().map(|c| c.1).sum::<f64>() / n;
    let deviation = (calls.iter().map(|c| (c.1 - mean).powi(2)).sum::<f64>() / n).sqrt();
    let ms = |value: f64| time(&format!("{value:.0}ms"));
    Row {
        load: Load { ramp_up: time(&format!("{ramp_s}s")), ..Load::default() },
        samples: count(&users.to_string()),
        throughput: count(&format!("{rate:.5}")),
        transfer: bytes(&format!("{:.2}KB", rate * 902.0 / 1024.0)),
        bytes_per_answer: bytes("902.0B"),
        error_share: Some(Figure::share("0.00%").unwrap()),
        latency: Latency {
            mean: ms(mean.trunc()),
            deviation: time(&format!("{deviation:.2}ms")),
            min: ms(calls.iter().map(|c| c.1).fold(f64::INFINITY, f64::min)),
            max: ms(calls.iter().map(|c| c.1).fold(0.0, f64::max)),
            ..Latency::default()
        },
        ..Row::default()
    }
}

proptest! {
    #[test]
    fn simulated_run_is_never_flagged(seed: u64, connections in 1u64..40, depth in 1u64..6, shape in 0u8..5, mean_us in 20.0..200_000.0f64) {
        let audit = checked(vec![run(seed, connections, depth, shape, mean_us)], None);
        prop_assert!(audit.flagged() == 0, "{:#?}", audit.tables[0].findings);
    }

    #[test]
    fn users_with_one_request_are_never_flagged(seed: u64, rows in proptest::collection::vec((500u64..5_000, 5u64..200, 1u64..8_000, 0.0..1.5f64), 3..9)) {
        let rows = rows.into_iter().enumerate().map(|(i, (users, ramp_s, slowest_ms, late_s))| sent_once(seed ^ i as u64, users, ramp_s, slowest_ms, late_s));
        let audit = checked(rows.collect(), Some(Tool::Jmeter));
        prop_assert!(audit.flagged() == 0, "{:#?}", audit.tables[0].findings);
    }

    #[test]
    fn mean_too_high_for_the_connections_is_flagged(seed: u64, connections in 2u64..40, factor in 1.3..9.0f64) {
        let mut row = run(seed, connections, 1, 2, 3_000.0);
        let mean = row.latency.mean.as_ref().unwrap().value() * factor;
        row.latency = Latency { mean: time(&format!("{:.2}ms", mean * 1e3)), ..Latency::default() };
        let audit = checked(vec![row], None);
        let finding = &audit.tables[0].findings[0];
        prop_assert_eq!(finding.check, Check::Little);
        prop_assert!(finding.factor.unwrap() > 1.05 && finding.factor.unwrap() <= factor * 1.02);
    }

    #[test]
    fn any_figures_give_finite_factors(values in proptest::collection::vec("[0-9]{1,12}(\\.[0-9]{1,4})?", 12), places in proptest::option::of(1u64..1_000_000_000)) {
        let ms = |i: usize| time(&format!("{}ms", values[i]));
        let row = Row {
            load: Load { connections: places, users: places, loops: places, ramp_up: ms(0), pause_mean: ms(1), ..Load::default() },
            samples: count(&values[2]),
            duration: ms(3),
            throughput: count(&values[4]),
            errors: count(&values[5]),
            error_share: Some(Figure::share(&format!("{}%", values[6])).unwrap()),
            transfer: bytes(&format!("{}KB", values[7])),
            latency: Latency { mean: ms(8), deviation: ms(9), min: None, max: ms(10), quantiles: vec![(50.0, ms(11).unwrap())] },
            ..Row::default()
        };
        let audit = checked(vec![row.clone(), row], Some(Tool::Wrk));
        prop_assert!(audit.tables[0].findings.iter().all(|f| f.factor.is_none_or(|factor| factor.is_finite() && factor >= 1.0)), "{audit:#?}");
    }
}
