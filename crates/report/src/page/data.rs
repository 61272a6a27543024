//! The data of the report: everything that it shows, ready to be shown. The report draws it and
//! computes no statistic. Units are the last part of a field's name.
//!
//! [`Page`] is also the source of the report's TypeScript type (`web/src/page.d.ts`), so a doc
//! comment of a field is what a reader of the TypeScript sees. Start with [`page`], which fills it.

use super::audit::{Audit, audit};
use super::capacity::{Capacity, capacities};
use super::causes::{Causes, causes};
use super::contenders::{Contender, contenders, machine};
use super::costs::{Costs, costs};
use super::effects::{Effects, effects};
use super::fact::{Fact, fact};
use super::faults::{Fault, FaultCount, fault_counts, faults};
use super::generators::{GeneratorComparison, external_generators};
use super::self_test::self_test_facts;
use super::sweeps::{Sweep, sweeps};
use super::symptoms::{Symptom, symptoms};
use super::trials::{Trial, ran_already, trials};
use super::verdicts::{Claim, Noise, Stopping, Verdict, claims, noise, stopping, verdicts};
use super::warm_up::{WarmUp, warm_ups};
use crate::chart::scales::Ticks;
use crate::number::round;
use crate::wording::answer::{Answer, answer};
use crate::wording::believe::{self, Check, Ground};
use crate::wording::notes::notes;
use crate::wording::strip::{StripRow, strip};
use record::judgement::Judgement;
use record::{Header, Record};
use serde::Serialize;
use spec::experiment::Experiment;
use spec::metric::Metric;
use spec::name::shell_word;

/// Everything that the report of one record shows.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Page {
    #[cfg_attr(test, ts(type = "\"faceoff.page.v1\""))]
    schema: &'static str,
    experiment: String,
    question: String,
    source: Option<Source>,
    /// The answer in one sentence, and those that qualify it.
    answer: Answer,
    /// Absolute values of the answer's contender and of the baseline; empty if nothing was
    /// compared.
    strip: Vec<StripRow>,
    /// What a reader must know before relying on the answer: short warm-up, one core, and so on.
    notes: Vec<String>,
    /// Evidence for and against the answer, in the order in which a reader would ask for it.
    believe: Vec<Ground>,
    /// Every check of the measurement, those that found a fault first.
    checks: Vec<Check>,
    claims: Vec<Claim>,
    contenders: Vec<Contender>,
    cells: Vec<Cell>,
    /// One per cell, contender (never the baseline) and metric, in reading order.
    verdicts: Vec<Verdict>,
    /// Where CPU time went, by cell; empty unless the run was profiled.
    causes: Vec<Causes>,
    /// One per cell and contender: the columns of a load tester's summary table.
    table: Vec<Row>,
    /// Figures that the source published, to be shown next to ours.
    published: Option<Published>,
    /// One latency curve per cell and contender, pooled over its valid trials.
    curves: Vec<Curve>,
    /// Effects by metric and cell; empty unless factors were crossed.
    effects: Vec<Effects>,
    /// What requests cost; null unless the command was given a price.
    costs: Option<Costs>,
    /// The capacities that were searched for.
    capacities: Vec<Capacity>,
    /// What external generators report of a load, next to ours.
    external_generators: Vec<GeneratorComparison>,
    /// Every metric over the levels of every swept parameter.
    sweeps: Vec<Sweep>,
    trials: Vec<Trial>,
    faults: Vec<Fault>,
    /// The number of faults of each kind, most frequent first.
    fault_counts: Vec<FaultCount>,
    stopping: Stopping,
    /// The baseline against itself; empty unless the experiment asked for it.
    noise: Vec<Noise>,
    /// One per contender, over its starts; empty in older records.
    warmups: Vec<WarmUp>,
    symptoms: Vec<Symptom>,
    /// The article's tables, and the figures in them that are impossible or inconsistent.
    audit: Option<Audit>,
    /// Results of the last self-test on this machine; empty if there was none.
    instrument: Vec<Fact>,
    skipped: Vec<Skipped>,
    machine: Vec<Fact>,
    design: Vec<Fact>,
    /// Commands that repeat the run, its judgement and this report.
    repeat: Vec<String>,
    analysis: Option<String>,
    made: Made,
    /// Ticks of axes, so that charts of the report and of exports have the same.
    ticks: Ticks,
}

/// Where the question comes from.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Source {
    title: String,
    author: Option<String>,
    url: Option<String>,
    published: Option<String>,
}

/// One workload at one load level.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Cell {
    name: String,
    /// `arrivals at 200/s, evenly spaced` or `closed loop, 64 connections`
    load: String,
    workload: String,
    /// Whether latency counts from the scheduled instant; without a schedule it is service time.
    scheduled: bool,
}

/// A row of a load tester's summary table.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Row {
    cell: String,
    contender: String,
    samples: u64,
    standard_deviation_ms: f64,
    throughput_per_s: f64,
    average_ms: f64,
    min_ms: f64,
    /// Null if there are too few samples for that quantile.
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: f64,
    received_kb_per_s: f64,
    average_bytes: f64,
    /// Null, like threads and memory, if the service was already running: its process is unknown.
    cpu_percent: Option<f64>,
    cpu_us_per_request: Option<f64>,
    threads: Option<u64>,
    memory_mb: Option<f64>,
    /// Requests without a correct response, by kind; kinds without any are left out.
    errors: Vec<ErrorCount>,
}

/// The number of errors of one kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ErrorCount {
    kind: String,
    count: u64,
}

/// A table as its author published it.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Published {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    note: Option<String>,
}

/// A latency curve.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Curve {
    cell: String,
    contender: String,
    samples: u64,
    /// Quantiles (0 to 1, ascending, none beyond what the sample supports) with latencies in
    /// milliseconds.
    points: Vec<[f64; 2]>,
}

/// A contender or a cell that was not measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Skipped {
    contender: String,
    reason: String,
}

/// What wrote the record, and when.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Made {
    version: String,
    recorded_at: String,
    record: String,
}

/// Fills the report's data from a record and its judgement.
pub(super) fn page(record: &Record, judgement: &Judgement) -> Page {
    let answer = answer(record, judgement);
    let header = &record.header;
    let experiment = &header.experiment;
    Page {
        schema: "faceoff.page.v1",
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        source: experiment.source.as_ref().map(source),
        strip: strip(record, judgement, &answer),
        answer,
        notes: notes(record, judgement),
        believe: believe::grounds(record, judgement),
        checks: believe::checks(&judgement.checks),
        claims: claims(judgement),
        contenders: contenders(record, judgement),
        cells: cells(experiment),
        verdicts: verdicts(judgement),
        causes: causes(record, judgement),
        table: judgement.rows.iter().map(|of| row(header, of)).collect(),
        published: experiment.published.as_ref().map(published),
        curves: judgement.curves.iter().map(curve).collect(),
        effects: effects(judgement),
        costs: costs(judgement),
        capacities: capacities(judgement),
        external_generators: external_generators(judgement),
        sweeps: sweeps(judgement),
        trials: trials(record, judgement),
        faults: faults(judgement),
        fault_counts: fault_counts(judgement),
        stopping: stopping(record, judgement),
        noise: noise(judgement, experiment.design.margin),
        warmups: warm_ups(judgement),
        symptoms: symptoms(judgement),
        audit: audit(header, judgement),
        instrument: header.instrument.as_ref().map_or_else(Vec::new, self_test_facts),
        skipped: skipped(record),
        machine: machine(record, judgement),
        design: design(header),
        repeat: vec![
            command_to_run(record),
            format!("faceoff judge {}{}", folder(header), price_option(judgement)),
            format!("faceoff report {}{}", folder(header), price_option(judgement)),
        ],
        analysis: experiment.analysis.clone(),
        made: Made {
            version: header.faceoff.clone(),
            recorded_at: header.recorded_at.clone(),
            record: header.id.clone(),
        },
        ticks: Ticks::of_all_axes(),
    }
}

fn source(source: &spec::experiment::Source) -> Source {
    Source {
        title: source.title.clone(),
        author: source.author.clone(),
        url: source.url.clone(),
        published: source.published.clone(),
    }
}

/// The cells that faceoff itself loaded, and the start as one more.
fn cells(experiment: &Experiment) -> Vec<Cell> {
    let measured = experiment.cells.iter().filter(|cell| cell.driver.is_none());
    let measured = measured.map(|cell| Cell {
        name: cell.name.clone(),
        load: cell.load.describe(),
        workload: cell.workload_label(),
        scheduled: cell.load.has_schedule(),
    });
    let start = Cell {
        name: "start".into(),
        load: "from the start of the process to its first correct response".into(),
        workload: experiment.cells.first().map_or_else(String::new, |cell| cell.workload.clone()),
        scheduled: false,
    };
    measured.chain([start]).collect()
}

fn row(header: &Header, row: &record::judgement::Row) -> Row {
    let is_unknown = row.cpu_us_per_request.is_none() && ran_already(header, &row.contender);
    Row {
        cell: row.cell.clone(),
        contender: row.contender.to_string(),
        samples: row.samples,
        standard_deviation_ms: row.standard_deviation_ms,
        throughput_per_s: row.throughput_per_s,
        average_ms: row.average_ms,
        min_ms: row.min_ms,
        p50_ms: row.p50_ms,
        p95_ms: row.p95_ms,
        p99_ms: row.p99_ms,
        max_ms: row.max_ms,
        received_kb_per_s: row.received_kb_per_s,
        average_bytes: row.average_bytes,
        cpu_percent: (!is_unknown).then_some(row.cpu_percent),
        cpu_us_per_request: row.cpu_us_per_request,
        threads: (!is_unknown).then_some(row.threads),
        memory_mb: (!is_unknown).then_some(row.memory_mb),
        errors: row
            .errors
            .iter()
            .map(|(kind, count)| ErrorCount { kind: kind.clone(), count: *count })
            .collect(),
    }
}

fn published(published: &spec::experiment::Published) -> Published {
    Published {
        title: published.title.clone(),
        columns: published.columns.clone(),
        rows: published.rows.clone(),
        note: published.note.clone(),
    }
}

fn curve(curve: &record::judgement::Curve) -> Curve {
    Curve {
        cell: curve.cell.clone(),
        contender: curve.contender.to_string(),
        samples: curve.samples,
        points: curve.points.iter().map(|(quantile, ms)| [*quantile, round(*ms)]).collect(),
    }
}

/// Contenders and cells that were not measured, and contenders that failed before the first trial.
fn skipped(record: &Record) -> Vec<Skipped> {
    let header = &record.header;
    let contenders = header
        .skipped
        .iter()
        .map(|s| Skipped { contender: s.contender.to_string(), reason: s.reason.clone() });
    let cells = header
        .skipped_cells
        .iter()
        .map(|s| Skipped { contender: format!("cell {}", s.cell), reason: s.reason.clone() });
    let dropped = record.dropped().map(|(name, f)| Skipped {
        contender: name.to_string(),
        reason: format!("{}: {}", f.stage, f.cause),
    });
    contenders.chain(cells).chain(dropped).collect()
}

fn design(header: &Header) -> Vec<Fact> {
    let design = header.experiment.describe_design();
    let design = design.into_iter().map(|(name, value)| fact(name, value));
    let alternation = fact("alternation", header.alternation.describe());
    let checked = header
        .checks
        .iter()
        .map(|(workload, checks)| fact("checked", format!("{workload}: {checks}")));
    std::iter::once(alternation).chain(design).chain(checked).collect()
}

/// The path of a record in a command. A record may have any name, and readers copy commands.
fn folder(header: &Header) -> String {
    shell_word(&format!("records/{}", header.id))
}

/// The option that gives a command the price of this judgement.
fn price_option(judgement: &Judgement) -> String {
    let price = judgement.costs.as_ref().map(|costs| shell_word(&costs.price.as_option()));
    price.map_or_else(String::new, |price| format!(" --price {price}"))
}

/// The command that makes such a run again.
fn command_to_run(record: &Record) -> String {
    let (header, experiment) = (&record.header, &record.header.experiment);
    let quick = if header.quick { " --quick" } else { "" };
    let revision = experiment.against.as_ref().zip(experiment.contenders.first());
    let revision = revision.map_or(String::new(), |(against, of)| {
        let metrics =
            |of: &Experiment| of.claims.iter().map(|claim| claim.metric).collect::<Vec<Metric>>();
        let (named, usual) =
            (metrics(experiment), metrics(&experiment.clone().against(of, against.clone(), &[])));
        let by = named
            .iter()
            .filter(|_| named != usual)
            .map(|metric| format!(" --by {}", metric.describe().name));
        format!(" --against {} --of {of}{}", shell_word(against.short()), by.collect::<String>())
    });
    // `faceoff vs` leaves its experiment in the record's folder only.
    let is_vs = experiment.name == "vs" && experiment.design.start_once;
    let place = if is_vs { format!(" --dir {}", folder(header)) } else { String::new() };
    let changes: String =
        header.changes.iter().map(|word| format!(" {}", shell_word(word))).collect();
    format!("faceoff{place} run {}{quick}{revision}{changes}", shell_word(&experiment.name))
}
