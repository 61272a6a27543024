//! Made-up records that are complete and sound. Each test changes what it is about.
//!
//! Start with [`record`], [`trial`] and [`measurement`].

use record::{
    Counts, Event, Generator, Header, Host, Machine, Measurement, Participant, Record, Session,
    Trial, Usage,
};
use spec::experiment::factorial;
use spec::experiment::factorial::Factor;
use spec::experiment::sweep::{Level, Swept};
use spec::experiment::{Cell, Claim, CpuSets, Design, Expectation, Experiment, Load, Place};
use spec::metric::Metric;
use spec::name::ContenderName;
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

/// Makes a finished record of one cell, whose blocks are those of `trials`. The first of `names` is
/// the baseline.
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
        cells: vec![cell(load)],
        design: design(blocks),
        place: Place::default(),
        profile: None,
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
            schema: record::SCHEMA.into(),
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
            energy: String::new(),
            kept_awake: false,
            alternation: Default::default(),
            experiment,
            quick: false,
            changes: vec![],
        },
        answers: vec![],
        upstreams: vec![],
        trials,
        sessions: vec![Session { event: Event::Finished, at: String::new() }],
        profiles: vec![],
        torn_lines: 0,
    }
}

/// The cell `c` with a load, without warm-up or sweep.
fn cell(load: Load) -> Cell {
    Cell {
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
    }
}

/// A design of this many blocks, without warm-up or spare blocks.
fn design(blocks: u32) -> Design {
    Design {
        blocks,
        spare_blocks: 0,
        looks: vec![],
        look_always: false,
        slices: false,
        start_once: false,
        margin: 0.05,
        confidence: 0.95,
        seed: 1,
        warmup: Duration::ZERO,
        warmup_least: Duration::ZERO,
        warmup_workloads: vec![],
        measure: Duration::from_secs(10),
        budget: Duration::from_secs(60),
    }
}

/// Makes a claim about the CPU time of `b` per request.
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
        compared_with: None,
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
        stolen: vec![],
        capacities: vec![],
        external_reports: vec![],
        stop: None,
        failure: None,
        faults: vec![],
        cell_faults: vec![],
        host: Host::default(),
    }
}

/// Makes a measurement in which every request has a correct response after these times, for 1 s of
/// CPU time.
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
        usage: Usage {
            cpu_ns: SECOND,
            wall_ns: seconds * SECOND,
            rss_max_bytes: 50_000_000,
            threads_max: 7,
            ..Usage::default()
        },
        upstream_cpu_ns: None,
        energy_uj: None,
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
        slices: None,
        faults: vec![],
    }
}

/// Factors by which six blocks differ by chance.
pub const NOISE: [f64; 6] = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01];

/// Makes a sweep of a parameter in a closed loop, with six blocks. `change` sets the measurement of
/// a contender at a level, given the factor by which the block differs by chance.
pub fn sweep(
    names: &[&str],
    parameter: &str,
    levels: &[f64],
    change: impl Fn(&mut Measurement, &str, f64, f64),
) -> Record {
    let cell_name = |level: f64| format!("c-{parameter}-{level}");
    let measured = |contender: &str, level: f64, noise: f64| {
        let mut measured = measurement(10, histogram((0..1_000).map(|i| 2 * MS + i)));
        measured.cell = cell_name(level);
        change(&mut measured, contender, level, noise);
        measured
    };
    let trials = (1..)
        .zip(NOISE)
        .flat_map(|(block, noise)| names.iter().map(move |contender| (block, *contender, noise)));
    let trials = trials.map(|(block, contender, noise)| Trial {
        measurements: levels.iter().map(|level| measured(contender, *level, noise)).collect(),
        ..trial(contender, block, measured(contender, levels[0], noise))
    });
    let mut record = record(names, Load::closed(1), trials.collect());
    let written = record.header.experiment.cells.remove(0);
    let cell = |level: &f64| Cell {
        name: cell_name(*level),
        sweep: Some(Swept {
            of: "c".into(),
            levels: vec![Level { parameter: parameter.into(), value: *level }],
        }),
        ..written.clone()
    };
    record.header.experiment.cells = levels.iter().map(cell).collect();
    record
}

/// Makes a sweep in which `waiting` takes 2 ms at any level, and `working` takes four times its
/// level. So they are equal at 500 µs.
pub fn crossing() -> Record {
    sweep(
        &["waiting", "working"],
        "cpu",
        &[100.0, 300.0, 1_000.0, 3_000.0],
        |measured, contender, us, noise| {
            let us = if contender == "working" { 4.0 * us } else { us.max(2_000.0) };
            measured.service = histogram((0..1_000).map(|i| (us * noise * 1e3) as u64 + i));
        },
    )
}

/// Makes every combination of factors of `a` once a block. `cost_us` gives the CPU time of a
/// request in microseconds, for a combination in a block.
pub fn crossed(
    factors: &[Factor],
    blocks: u32,
    mut cost_us: impl FnMut(&[bool], u32) -> f64,
) -> Record {
    let combinations = factorial::combinations(&name("a"), factors);
    let mut start = |block: u32, has: &[bool], contender: &str| -> Trial {
        let mut measured = measurement(4, histogram((0..4_000).map(|i| 2 * MS + i * 200)));
        measured.usage.cpu_ns = (cost_us(has, block) * 1e3 * 4_000.0) as u64;
        trial(contender, block, measured)
    };
    let trials = (1..=blocks).flat_map(|block| combinations.iter().map(move |c| (block, c)));
    let trials = trials.map(|(block, c)| start(block, &c.has, &c.contender.to_string())).collect();
    let all_names: Vec<String> = combinations.iter().map(|c| c.contender.to_string()).collect();
    let mut record =
        record(&all_names.iter().map(String::as_str).collect::<Vec<_>>(), Load::closed(8), trials);
    record.header.experiment.factors = factors.to_vec();
    record
}

/// Makes three blocks of two factors: `work`, which costs 300 µs of CPU time per request, and
/// `lines`, a log that costs 10.
pub fn work_and_lines() -> Record {
    let factor = |name: &str, variant: &str| Factor {
        name: name.into(),
        off: vec![],
        on: vec![variant.into()],
    };
    crossed(&[factor("work", "work"), factor("lines", "log")], 3, |has, block| {
        40.0 + 300.0 * f64::from(has[0]) + 10.0 * f64::from(has[1]) + NOISE[block as usize]
    })
}
