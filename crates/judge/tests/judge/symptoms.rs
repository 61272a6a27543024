//! Symptoms on made-up records with known answers: what shows them, and what only looks similar.

use crate::made_up::{self, MS, SECOND, histogram, measurement, trial};
use proptest::prelude::*;
use record::judgement::Symptom;
use record::{Counts, Generator, Measurement, Pause, Quota, Record, Second, Signs, Trial, Usage};
use spec::experiment;
use spec::experiment::Load;
use stats::Histogram;
use std::time::Duration;

/// Makes a measurement without symptoms: 4,000 requests in 4 s over 8 connections, 2 ms each or a
/// little more.
fn healthy() -> Measurement {
    let plain = measurement(4, histogram((0..4_000).map(|i| 2 * MS + i * 200)));
    let second = |at: u64| Second {
        correct: 1_000,
        not_correct: 0,
        p50_ns: Some(2 * MS),
        p99_ns: Some(3 * MS),
        max_ns: Some(3 * MS),
        max_at_ns: Some(at * SECOND + 500 * MS),
    };
    Measurement {
        began_after_ns: 5 * SECOND,
        seconds: (0..4).map(second).collect(),
        usage: Usage {
            signs: Signs {
                wall_ns: 4 * SECOND,
                busiest_thread_ns: Some(SECOND / 2),
                busiest_thread_waited_ns: Some(10 * MS),
                other_threads_wanted_ns: Some(SECOND / 2),
                output_bytes: Some(300),
                disk_bytes: Some(40_960),
                quota: Some(Quota { periods: 40, throttled_periods: 1, throttled_ns: MS }),
                group: None,
            },
            ..plain.usage
        },
        generator: Generator {
            in_flight_max: 8,
            connections_opened: 8,
            connect: Some(histogram([100_000; 8])),
            ..plain.generator
        },
        ..plain
    }
}

/// Makes a record of one contender on two CPUs, with a trial for each measurement.
fn record(load: &Load, measurements: Vec<Measurement>, pauses: &[Pause]) -> Record {
    let trials = (1..)
        .zip(measurements)
        .map(|(block, m)| Trial { pauses: pauses.to_vec(), ..trial("a", block, m) })
        .collect();
    let mut record = made_up::record(&["a"], load.clone(), trials);
    record.header.experiment.design.measure = Duration::from_secs(4);
    record.header.cpus.contender = vec![1, 2];
    record
}

fn symptoms_with(load: &Load, measurements: Vec<Measurement>, pauses: &[Pause]) -> Vec<Symptom> {
    judge::judge(&record(load, measurements, pauses)).symptoms
}

/// Lists the symptoms of six equal trials under a closed load.
fn symptoms(change: impl Fn(&mut Measurement)) -> Vec<Symptom> {
    let mut m = healthy();
    change(&mut m);
    symptoms_with(&Load::closed(8), vec![m; 6], &[])
}

#[track_caller]
fn shows(found: &[Symptom], kind: &str, words: &[&str]) {
    assert_eq!(found.iter().map(|s| s.kind.as_str()).collect::<Vec<_>>(), [kind], "{found:#?}");
    assert!(words.iter().all(|word| found[0].sentence.contains(word)), "{found:#?}");
}

#[test]
fn healthy_and_old_records_show_no_symptom() {
    assert!(symptoms(|_| {}).is_empty());
    assert!(
        symptoms(|m| (m.usage.signs, m.generator.connect, m.began_after_ns) =
            (Signs::default(), None, 0))
        .is_empty()
    );
    assert!(
        symptoms(
            |m| (m.service, m.counts, m.seconds) = (Histogram::new(), Counts::default(), vec![])
        )
        .is_empty()
    );
}

#[test]
fn floor_of_40_ms_counts_if_other_times_are_short() {
    let with = |slow: u64, between: u64| {
        let times = histogram((0..4_000u64).map(|i| {
            if i < slow {
                40 * MS + i * 500
            } else if i < slow + between {
                25 * MS
            } else {
                MS
            }
        }));
        symptoms(|m| m.service = times.clone())
    };
    shows(&with(1_200, 100), "delayed-ack", &["30 %", "40 ms"]);
    assert!(with(1_200, 100)[0].hint.contains("TCP_NODELAY"));
    assert!(with(300, 0).is_empty(), "too few");
    assert!(with(1_200, 600).is_empty(), "no gap");
    assert!(
        symptoms(|m| m.service = histogram([40 * MS; 4_000])).is_empty(),
        "slow without short times"
    );
}

/// A healthy contender and one with a symptom, in a cell of many requests and one of single ones.
#[test]
fn symptom_names_the_contender_and_cell_that_show_it() {
    let mut both =
        made_up::record(&["well", "sick"], Load::closed(400), vec![trial("well", 1, healthy())]);
    let alone = || {
        let mut m = healthy();
        (m.cell, m.service) = ("alone".into(), histogram((0..2_000).map(|i| 500 * MS + i * 200)));
        (m.counts, m.generator.in_flight_max, m.generator.connections_opened) =
            (Counts { scheduled: 2_000, correct: 2_000, ..Counts::default() }, 1, 1);
        m
    };
    both.header.cpus.contender = vec![1, 2];
    let single = experiment::Cell {
        name: "alone".into(),
        load: Load::closed(1),
        ..both.header.experiment.cells[0].clone()
    };
    both.header.experiment.cells.push(single);
    both.trials = (1..=2)
        .flat_map(|block| {
            [("well", healthy()), ("sick", tomcat())].map(|(who, m)| Trial {
                measurements: vec![m.clone(), alone()],
                ..trial(who, block, m)
            })
        })
        .collect();
    let found = judge::judge(&both).symptoms;
    shows(&found, "pool-exhausted", &["about 200 requests"]);
    assert_eq!(
        (found[0].contender.to_string(), found[0].cell.as_deref()),
        ("sick".into(), Some("c"))
    );
}

#[test]
fn symptom_needs_half_of_the_trials() {
    let sick = |n: usize| {
        let mut all = vec![healthy(); 6];
        all[..n].iter_mut().for_each(|m| {
            m.service = histogram((0..4_000u64).map(|i| if i < 2_000 { 40 * MS } else { MS }))
        });
        symptoms_with(&Load::closed(8), all, &[])
    };
    assert_eq!((sick(2).len(), sick(3).len()), (0, 1));
}

/// Makes a measurement with 400 requests in flight and 200 served at once, 500 ms each: 400
/// responses per second, each after 1 s.
fn tomcat() -> Measurement {
    let mut m = healthy();
    m.duration_ns = 20 * SECOND;
    m.service =
        histogram((0..8_000u64).map(|i| if i < 200 { 500 * MS + i } else { SECOND + i * 1_000 }));
    m.counts = Counts { scheduled: 8_400, correct: 8_000, unfinished: 400, ..Counts::default() };
    (m.generator.in_flight_max, m.generator.connections_opened) = (400, 400);
    m
}

#[test]
fn exhausted_pool_is_reported_with_its_size() {
    let closed = Load::closed(400);
    shows(
        &symptoms_with(&closed, vec![tomcat(); 6], &[]),
        "pool-exhausted",
        &["about 200 requests", "397 are in flight", "500 ms"],
    );
    shows(
        &symptoms_with(&Load::arrivals(800.0, 400), vec![tomcat(); 6], &[]),
        "pool-exhausted",
        &["about 200 requests"],
    );
    let without = |change: &dyn Fn(&mut Measurement)| {
        let mut m = tomcat();
        change(&mut m);
        symptoms_with(&closed, vec![m; 6], &[])
    };
    assert!(
        without(&|m| m.usage.cpu_ns = m.usage.wall_ns * 2 * 9 / 10).is_empty(),
        "its CPUs are the limit"
    );
    assert!(
        without(&|m| m.service = histogram((0..8_000u64).map(|i| 500 * MS + i * 150_000)))
            .is_empty(),
        "times that vary show no queue"
    );
    let fault = || record::Fault {
        kind: "upstream-binds".into(),
        evidence: String::new(),
        hint: String::new(),
    };
    assert!(without(&|m| m.faults = vec![fault()]).is_empty(), "the upstream is the limit");
}

#[test]
fn open_load_that_is_served_shows_no_pool() {
    let mut m = tomcat();
    (m.counts, m.duration_ns) =
        (Counts { scheduled: 1_600, correct: 1_600, ..Counts::default() }, 4 * SECOND);
    assert!(symptoms_with(&Load::arrivals(400.0, 1_000), vec![m.clone(); 6], &[]).is_empty());
    m.duration_ns = 8 * SECOND;
    shows(
        &symptoms_with(&Load::arrivals(400.0, 1_000), vec![m; 6], &[]),
        "pool-exhausted",
        &["about 100 requests"],
    );
}

#[test]
fn connect_times_at_the_kernels_steps_are_a_symptom() {
    let with = |ms: u64| {
        symptoms(|m| {
            m.generator.connect =
                Some(histogram((0..8u64).map(|i| if i == 0 { ms * MS } else { 50_000 })))
        })
    };
    for step in [1_030, 3_060, 7_100] {
        shows(&with(step), "connect-steps", &["12.5 %"]);
    }
    assert!(with(500).is_empty() && with(2_200).is_empty());
}

fn pause(at_ms: u64, ms: u64) -> Pause {
    Pause { at_ns: at_ms * MS, duration_ns: ms * MS, kind: "Pause Full".into() }
}

#[test]
fn pauses_explain_latencies_that_contain_them() {
    let mut m = healthy();
    // The maximum, 80 ms, ends 2.1 s after the start of the measurement, 7.1 s after that of the
    // process.
    (m.seconds[2].max_ns, m.seconds[2].max_at_ns) = (Some(80 * MS), Some(2_100 * MS));
    let with = |pauses: &[Pause]| symptoms_with(&Load::closed(8), vec![m.clone(); 6], pauses);
    shows(
        &with(&[pause(100, 500), pause(7_030, 65)]),
        "gc-pauses",
        &["6 of the 6", "80 ms", "Pause Full", "65 ms"],
    );
    shows(&with(&[pause(7_020, 30), pause(7_055, 30)]), "gc-pauses", &["80 ms"]);
    assert!(with(&[pause(7_200, 65)]).is_empty(), "another moment");
    assert!(with(&[pause(7_060, 20)]).is_empty(), "too short to explain it");
    assert!(with(&[pause(100, 500)]).is_empty(), "before the measurement");
    assert!(
        symptoms_with(&Load::closed(8), vec![healthy(); 6], &[pause(5_000, 4_000)]).is_empty(),
        "no latency is high"
    );
    let marking = Pause { kind: "concurrent mark".into(), ..pause(5_000, 3_900) };
    assert!(with(std::slice::from_ref(&marking)).is_empty(), "it covers all the time");
    shows(
        &with(&[Pause { at_ns: 7_000 * MS, duration_ns: 110 * MS, ..marking }]),
        "gc-pauses",
        &["concurrent mark"],
    );
}

#[test]
fn quota_counts_from_one_period_in_twenty() {
    let with = |throttled_periods| {
        symptoms(|m| {
            m.usage.signs.quota = Some(Quota {
                periods: 40,
                throttled_periods,
                throttled_ns: throttled_periods * 50 * MS,
            })
        })
    };
    shows(&with(20), "cpu-throttled", &["50 %", "1.0 s"]);
    assert_eq!((with(1).len(), with(2).len()), (0, 1));
}

#[test]
fn one_busy_thread_with_idle_cpus_is_a_symptom() {
    let with = |ran: u64, waited: u64, others: u64| {
        symptoms(|m| {
            (m.usage.signs.busiest_thread_ns, m.usage.signs.busiest_thread_waited_ns) =
                (Some(ran * 40 * MS), Some(waited * 40 * MS));
            m.usage.signs.other_threads_wanted_ns = Some(others * 40 * MS);
        })
    };
    shows(&with(97, 0, 8), "one-core", &["2 CPUs", "97 %", "8 %"]);
    shows(&with(70, 27, 5), "one-core", &["97 %"]);
    assert!(with(97, 0, 93).is_empty(), "the other threads work too");
    assert!(with(80, 5, 5).is_empty(), "the thread has time left");
}

#[test]
fn connections_beyond_the_needed_ones_are_churn() {
    let with = |opened, refused| {
        symptoms(|m| {
            m.generator.connections_opened = opened;
            m.counts.refused = refused;
        })
    };
    shows(&with(4_008, 0), "connection-churn", &["100 connections"]);
    assert!(with(400, 0).is_empty());
    assert!(with(3_000, 2_900).is_empty(), "refused ones are no churn");
}

#[test]
fn first_connection_of_each_user_is_no_churn() {
    let pause = experiment::Pause::Constant(Duration::ZERO);
    let load = |pooled| Load::Users {
        users: 3_000,
        ramp: Duration::from_secs(1),
        pause,
        rounds: None,
        pooled,
    };
    let with_pool = |opened, pooled| {
        let mut m = healthy();
        (m.generator.connections_opened, m.generator.in_flight_max) = (opened, 40);
        symptoms_with(&load(pooled), vec![m; 6], &[])
    };
    let with = |opened| with_pool(opened, None);
    assert!(with(3_000).is_empty());
    shows(&with(7_000), "connection-churn", &["100 connections"]);
    shows(&with_pool(4_100, Some(100)), "connection-churn", &["100 connections"]);
}

#[test]
fn log_counts_by_bytes_per_request() {
    let with = |output, disk| {
        symptoms(|m| {
            (m.usage.signs.output_bytes, m.usage.signs.disk_bytes) = (Some(output), Some(disk))
        })
    };
    shows(&with(60 * 4_000, 0), "log-on-hot-path", &["60 bytes", "its output"]);
    shows(&with(0, 500 * 4_000), "log-on-hot-path", &["500 bytes", "files"]);
    shows(&with(0, 1 << 20), "log-on-hot-path", &["262 bytes", "files"]);
    shows(&with(500 * 4_000, 501 * 4_000), "log-on-hot-path", &["501 bytes", "its output"]);
    assert!(with(10 * 4_000, 200 * 4_000).is_empty(), "a few pages and lines");
    let mut m = healthy();
    m.usage.signs.output_bytes = Some(60 * 4_000);
    assert!(
        symptoms_with(&Load::closed(8), vec![m; 6], &[pause(1, 1)]).is_empty(),
        "the collector's own log"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any record is judged without a panic, and its charts have finite numbers.
    #[test]
    fn any_readings_give_finite_charts(
        times in prop::collection::vec(0u64..20 * SECOND, 0..200),
        numbers in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX / 4), 0u64..10 * SECOND], 16),
        pauses in prop::collection::vec((0u64..20 * SECOND, 0u64..20 * SECOND), 0..20),
    ) {
        let mut m = healthy();
        m.service = histogram(times.iter().copied());
        m.generator.connect = Some(histogram(times));
        m.counts = Counts { scheduled: numbers[0] , correct: numbers[1].min(1 << 40), ..Counts::default() };
        m.usage.signs = Signs {
            wall_ns: numbers[2],
            busiest_thread_ns: Some(numbers[3]),
            busiest_thread_waited_ns: Some(numbers[4]),
            other_threads_wanted_ns: Some(numbers[15]),
            output_bytes: Some(numbers[5]),
            disk_bytes: Some(numbers[6]),
            quota: Some(Quota { periods: numbers[7], throttled_periods: numbers[8], throttled_ns: numbers[9] }),
            group: None,
        };
        (m.began_after_ns, m.generator.in_flight_max, m.generator.connections_opened) = (numbers[10], numbers[11], numbers[12]);
        (m.seconds[0].max_ns, m.seconds[0].max_at_ns) = (Some(numbers[13]), Some(numbers[14]));
        let mut pauses: Vec<Pause> = pauses.into_iter().map(|(at_ns, duration_ns)| Pause { at_ns, duration_ns, kind: "x".into() }).collect();
        pauses.sort_by_key(|p| p.at_ns);
        for symptom in symptoms_with(&Load::closed(8), vec![m; 2], &pauses) {
            prop_assert!(symptom.picture.series.iter().all(|(_, points)| points.iter().all(|(x, y)| x.is_finite() && y.is_finite())), "{:?}", symptom);
        }
    }
}
