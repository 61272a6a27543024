//! Made-up records: whole, and with nothing in them to complain of. A test says what is different in its own.

use model::experiment::{Cell, Claim, CpuSets, Design, Expectation, Experiment, Load, Place};
use model::metric::Metric;
use model::name::ContenderName;
use model::record::{Counts, Event, Generator, Header, Host, Machine, Measurement, Participant, Record, Session, Trial, Usage};
use stats::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

pub fn name(text: &str) -> ContenderName {
    text.parse().unwrap()
}

pub fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|value| histogram.record(value));
    histogram
}

/// A finished record of one cell, whose blocks are those of `trials`; the first of `names` is the baseline.
pub fn record(names: &[&str], load: Load, trials: Vec<Trial>) -> Record {
    let names: Vec<ContenderName> = names.iter().map(|n| name(n)).collect();
    let blocks = trials.iter().map(|t| t.block).max().unwrap();
    let experiment = Experiment {
        name: "x".into(),
        question: "Which?".into(),
        source: None,
        baseline: names[0].clone(),
        contenders: names[1..].to_vec(),
        factors: vec![],
        aa: false,
        against: None,
        upstream: None,
        database: None,
        cells: vec![Cell {
            name: "c".into(),
            workload: "w".into(),
            with: BTreeMap::new(),
            load,
            driver: None,
            truth: None,
            timeout: Duration::from_secs(1),
            warmup: Duration::ZERO,
            after: None,
            sweep: None,
        }],
        design: Design {
            blocks,
            spare_blocks: 0,
            looks: vec![],
            margin: 0.05,
            confidence: 0.95,
            seed: 1,
            warmup: Duration::ZERO,
            warmup_least: Duration::ZERO,
            warmup_workloads: vec![],
            measure: Duration::from_secs(10),
            budget: Duration::from_secs(60),
        },
        place: Place::default(),
        claims: vec![],
        quick: None,
        published: None,
        analysis: None,
    };
    let participant = |name: &ContenderName| Participant {
        name: name.clone(),
        summary: String::new(),
        facts: BTreeMap::new(),
        versions: BTreeMap::new(),
        artifacts: vec![],
        image: None,
        reached: None,
    };
    Record {
        folder: "r".into(),
        header: Header {
            checks: BTreeMap::new(),
            instrument: None,
            article: None,
            schema: model::record::SCHEMA.into(),
            id: "r".into(),
            recorded_at: "2026-01-01T00:00:00Z".into(),
            faceoff: "0".into(),
            contenders: names.iter().map(participant).collect(),
            plan: vec![names; blocks as usize],
            upstream: None,
            database: None,
            skipped: vec![],
            skipped_cells: vec![],
            machine: Machine::default(),
            cpus: CpuSets { contender: vec![1], generator: vec![0], upstream: vec![0] },
            kept_awake: false,
            experiment,
            quick: false,
            changes: vec![],
        },
        answers: vec![],
        upstreams: vec![],
        trials,
        sessions: vec![Session { event: Event::Finished, at: String::new() }],
        torn_lines: 0,
    }
}

/// About the CPU time that `b` takes for a request.
pub fn claim(expects: Expectation) -> Claim {
    Claim {
        text: "t".into(),
        contender: name("b"),
        metric: Metric::CpuPerRequest,
        expects,
        margin: None,
        value: None,
        cells: vec![],
        contender_cpus: None,
        beside: None,
    }
}

pub fn trial(contender: &str, block: u32, measurement: Measurement) -> Trial {
    Trial {
        pauses: vec![],
        database: None,
        contender: name(contender),
        block,
        position: 1,
        started_at: String::new(),
        command: vec![],
        artifact_sha256: vec![],
        ready_after_ns: Some(500 * MS),
        scaled_out_after_ns: None,
        warmed_with: 1,
        warmup: None,
        measurements: vec![measurement],
        robbed: vec![],
        capacities: vec![],
        witnessed: vec![],
        stop: None,
        failure: None,
        faults: vec![],
        host: Host::default(),
    }
}

/// So many seconds in which every request was answered, in these times, for 1 s of CPU time.
pub fn measurement(seconds: u64, service: Histogram) -> Measurement {
    Measurement {
        circumstances: None,
        cell: "c".into(),
        position: 1,
        began_after_ns: 0,
        duration_ns: seconds * SECOND,
        latency: None,
        counts: Counts { scheduled: service.len(), correct: service.len(), ..Counts::default() },
        statuses: BTreeMap::new(),
        received_bytes: 900 * service.len(),
        service,
        examples: vec![],
        seconds: vec![],
        usage: Usage { cpu_ns: SECOND, wall_ns: seconds * SECOND, rss_max_bytes: 50_000_000, threads_max: 7, ..Usage::default() },
        upstream_cpu_ns: None,
        database: None,
        generator: Generator {
            lag: None,
            cpu_ns: 1,
            spun_ns: 0,
            in_flight_max: 1,
            connections_opened: 1,
            connect: None,
            sent_in_time: None,
            in_flight_mean: None,
            sent_at_us: vec![],
            correct_per_tenth: vec![],
            agents: vec![],
        },
        faults: vec![],
    }
}
