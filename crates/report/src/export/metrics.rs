//! A record and its judgement as metrics with labels, for systems that read time series. Start with
//! [`families`].

use super::source::{Made, Source, instant_ms};
use record::judgement::Verdict;
use stats::Histogram;

/// The type of a family of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A value.
    Gauge,
    /// Facts, in labels.
    Info,
    /// Several states, of which one is true.
    StateSet,
    /// Counts below bounds of buckets.
    Histogram,
}

/// Metrics of one name.
pub struct Family {
    /// Its name, which ends with its unit if it has one.
    pub name: &'static str,
    pub of: Type,
    pub unit: &'static str,
    pub help: &'static str,
    pub points: Vec<Point>,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Appended to the family's name: `_bucket`, `_info`.
    pub suffix: &'static str,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
    /// Its time in milliseconds since 1970; `None` if the record's time cannot be read.
    pub at_ms: Option<i64>,
}

/// Bounds of buckets in nanoseconds: 1, 2 and 5 in each decade from 10 µs to 100 s.
fn bounds_ns() -> impl Iterator<Item = u64> {
    (4..=10)
        .flat_map(|decade| [1, 2, 5].map(|step| step * 10u64.pow(decade)))
        .chain([100_000_000_000])
}

impl Family {
    fn new(name: &'static str, of: Type, unit: &'static str, help: &'static str) -> Family {
        Family { name, of, unit, help, points: Vec::new() }
    }

    fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
        Family::new(name, Type::Gauge, unit, help)
    }

    fn add(&mut self, labels: &Labels, value: impl Into<Option<f64>>, at_ms: Option<i64>) {
        let value: Option<f64> = value.into();
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.points.push(Point { suffix: "", labels: labels.clone(), value, at_ms });
        }
    }

    /// Adds one point for each state, whose label has the family's name.
    fn add_state(&mut self, labels: &Labels, states: &[&str], holds: &str, at_ms: Option<i64>) {
        for state in states {
            let labels = labels.iter().cloned().chain([(self.name, (*state).to_owned())]).collect();
            self.points.push(Point {
                suffix: "",
                labels,
                value: f64::from(u8::from(*state == holds)),
                at_ms,
            });
        }
    }

    /// Adds the counts of a histogram, which are exact to three digits of the times.
    fn add_histogram(&mut self, labels: &Labels, times: &Histogram, at_ms: Option<i64>) {
        let mut point = |suffix, bound: Option<String>, value| {
            let labels = labels.iter().cloned().chain(bound.map(|bound| ("le", bound))).collect();
            self.points.push(Point { suffix, labels, value, at_ms });
        };
        for bound in bounds_ns() {
            let seconds = (bound as f64 / 1e9).to_string();
            // Whole seconds get a decimal point: bounds are labels, and other tools write them so.
            let bound_s = if seconds.contains('.') { seconds } else { seconds + ".0" };
            point("_bucket", Some(bound_s), times.count_between(0, bound) as f64);
        }
        point("_bucket", Some("+Inf".into()), times.len() as f64);
        point("_count", None, times.len() as f64);
        point("_sum", None, times.sum_ns() as f64 / 1e9);
    }
}

type Labels = Vec<(&'static str, String)>;

/// Returns all metrics of a record. Verdicts and claims have the time of the last measurement.
pub fn families(source: &Source<'_>) -> Vec<Family> {
    let header = &source.record.header;
    let run: Labels =
        vec![("experiment", header.experiment.name.clone()), ("record", header.id.clone())];
    let ends = source.record.trials.iter().flat_map(|trial| {
        let end = move |measurement| ended_ms(&Made { trial, measurement });
        trial.measurements.iter().filter_map(end)
    });
    let judged_ms = ends.max().or_else(|| instant_ms(&header.recorded_at));
    let mut all = of_run(source, &run, judged_ms);
    all.extend(of_verdicts(source, &run, judged_ms));
    all.extend(of_claims(source, &run, judged_ms));
    all.extend(of_measurements(source, &run));
    all.retain(|family| !family.points.is_empty());
    all
}

/// The end of a measurement, in milliseconds since 1970.
fn ended_ms(made: &Made<'_>) -> Option<i64> {
    let long_ms = i64::try_from(made.measurement.duration_ns / 1_000_000).unwrap_or(i64::MAX);
    made.began_ms().ok().map(|ms| ms.saturating_add(long_ms))
}

fn with(labels: &Labels, more: &[(&'static str, &str)]) -> Labels {
    labels
        .iter()
        .cloned()
        .chain(more.iter().map(|(name, value)| (*name, (*value).to_owned())))
        .collect()
}

fn of_run(source: &Source<'_>, run: &Labels, at_ms: Option<i64>) -> Vec<Family> {
    let header = &source.record.header;
    let mut info = Family::new("faceoff_run", Type::Info, "", "The run and its machine.");
    let quick = if header.quick { "true" } else { "false" };
    let more = [
        ("baseline", source.judgement.baseline.to_string()),
        ("faceoff", header.faceoff.clone()),
        ("cpu", header.machine.cpu.clone()),
        ("kernel", header.machine.kernel.clone()),
        ("quick", quick.to_owned()),
    ];
    let labels = run.iter().cloned().chain(more).collect();
    info.points.push(Point { suffix: "_info", labels, value: 1.0, at_ms });
    let truth = |is: bool| f64::from(u8::from(is));
    let mut sound =
        Family::gauge("faceoff_run_sound", "", "1 if the measurement is sound, else 0.");
    sound.add(run, truth(!source.judgement.unsound), at_ms);
    let mut complete = Family::gauge(
        "faceoff_run_complete",
        "",
        "1 if no contender and no trial failed or is missing, else 0.",
    );
    complete.add(run, truth(!source.judgement.incomplete), at_ms);
    let mut blocks = Family::gauge("faceoff_run_blocks", "", "Blocks begun.");
    blocks.add(run, f64::from(source.judgement.blocks), at_ms);
    vec![info, sound, complete, blocks]
}

fn of_verdicts(source: &Source<'_>, run: &Labels, at_ms: Option<i64>) -> Vec<Family> {
    type Pick = fn(&Verdict) -> Option<f64>;
    let gauges: [(&'static str, &'static str, Pick); 6] = [
        ("faceoff_verdict_ratio", "Contender over baseline.", |v| v.ratio),
        ("faceoff_verdict_ratio_low", "Lower end of the interval that decides.", |v| {
            v.interval.map(|i| i.low)
        }),
        ("faceoff_verdict_ratio_high", "Upper end of the interval that decides.", |v| {
            v.interval.map(|i| i.high)
        }),
        (
            "faceoff_verdict_value",
            "Typical value of the contender, in the unit of its label.",
            |v| v.value,
        ),
        (
            "faceoff_verdict_baseline_value",
            "Typical value of the baseline, in the unit of its label.",
            |v| v.baseline_value,
        ),
        ("faceoff_verdict_blocks", "Blocks used.", |v| Some(v.used as f64)),
    ];
    let chosen: Vec<(Labels, &Verdict)> = source
        .judgement
        .verdicts
        .iter()
        .filter(|v| source.has(v.cell.as_deref(), &v.contender))
        .map(|v| {
            let about = v.metric.describe();
            let (contender, baseline) = (v.contender.to_string(), v.baseline.to_string());
            let cell = v.cell.as_deref().unwrap_or("start");
            let more = [
                ("cell", cell),
                ("contender", contender.as_str()),
                ("baseline", baseline.as_str()),
                ("metric", about.name),
                ("unit", about.unit),
            ];
            (with(run, &more), v)
        })
        .collect();
    let mut all: Vec<Family> = gauges
        .into_iter()
        .map(|(name, help, pick)| {
            let mut family = Family::gauge(name, "", help);
            chosen.iter().for_each(|(labels, v)| family.add(labels, pick(v), at_ms));
            family
        })
        .collect();
    let mut decided = Family::new(
        "faceoff_verdict_outcome",
        Type::StateSet,
        "",
        "The outcome of the comparison.",
    );
    for (labels, v) in &chosen {
        decided.add_state(
            labels,
            &["better", "worse", "equivalent", "undecided"],
            v.outcome.name(),
            at_ms,
        );
    }
    all.push(decided);
    all
}

fn of_claims(source: &Source<'_>, run: &Labels, at_ms: Option<i64>) -> Vec<Family> {
    let mut decided =
        Family::new("faceoff_claim_outcome", Type::StateSet, "", "The outcome of a claim.");
    // Numbered, as two claims may have the same text.
    for (number, claim) in (1..)
        .zip(&source.judgement.claims)
        .filter(|(_, c)| source.has_contender(&c.claim.contender))
    {
        let (number, contender) = (number.to_string(), claim.claim.contender.to_string());
        let more = [
            ("number", number.as_str()),
            ("claim", claim.claim.text.as_str()),
            ("contender", contender.as_str()),
        ];
        let labels = with(run, &more);
        decided.add_state(
            &labels,
            &["confirmed", "refuted", "undecided"],
            claim.outcome.name(),
            at_ms,
        );
    }
    vec![decided]
}

fn of_measurements(source: &Source<'_>, run: &Labels) -> Vec<Family> {
    let mut start = Family::gauge(
        "faceoff_start_seconds",
        "seconds",
        "From the start of the process to its first correct response.",
    );
    let mut requests =
        Family::gauge("faceoff_measurement_requests", "", "Requests of a measurement, by result.");
    let mut long =
        Family::gauge("faceoff_measurement_seconds", "seconds", "Duration of the measurement.");
    let mut cpu = Family::gauge(
        "faceoff_measurement_cpu_seconds",
        "seconds",
        "CPU time of the contender's process tree.",
    );
    let mut memory = Family::gauge(
        "faceoff_measurement_memory_bytes",
        "bytes",
        "Maximum resident memory of the process tree.",
    );
    let mut threads = Family::gauge(
        "faceoff_measurement_threads",
        "",
        "Maximum number of threads of the process tree.",
    );
    let latency_help =
        "From the scheduled instant to the end of the response, correct responses only.";
    let mut latency =
        Family::new("faceoff_latency_seconds", Type::Histogram, "seconds", latency_help);
    let service_help =
        "From the instant of sending to the end of the response, correct responses only.";
    let mut service =
        Family::new("faceoff_service_seconds", Type::Histogram, "seconds", service_help);
    for (trial, _) in source.trials().filter(|(_, excluded)| excluded.is_none()) {
        let (contender, block) = (trial.contender.to_string(), trial.block.to_string());
        let labels = with(run, &[("contender", contender.as_str()), ("block", block.as_str())]);
        start.add(
            &labels,
            trial.ready_after_ns.map(|ns| ns as f64 / 1e9),
            instant_ms(&trial.started_at),
        );
    }
    for (made, _) in source.all_measurements().filter(|(_, excluded)| excluded.is_none()) {
        let (Made { trial, measurement: m }, at_ms) = (made, ended_ms(&made));
        let (contender, block) = (trial.contender.to_string(), trial.block.to_string());
        let labels = with(
            run,
            &[
                ("cell", m.cell.as_str()),
                ("contender", contender.as_str()),
                ("block", block.as_str()),
            ],
        );
        for (kind, count) in m.counts.parts() {
            requests.add(&with(&labels, &[("outcome", kind)]), count as f64, at_ms);
        }
        long.add(&labels, m.duration_ns as f64 / 1e9, at_ms);
        cpu.add(&labels, m.usage.cpu_ns as f64 / 1e9, at_ms);
        memory.add(&labels, m.usage.rss_max_bytes as f64, at_ms);
        threads.add(&labels, m.usage.threads_max as f64, at_ms);
        if let Some(times) = &m.latency {
            latency.add_histogram(&labels, times, at_ms);
        }
        service.add_histogram(&labels, &m.service, at_ms);
    }
    vec![start, requests, long, cpu, memory, threads, latency, service]
}
