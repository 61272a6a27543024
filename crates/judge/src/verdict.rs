//! The verdict on one metric of one contender in one cell.

use crate::looks::{Looks, looks};
use crate::rule::{Edges, Finding, Pair, Question, Second, Side, by_difference, by_ratio};
use crate::{exclusion, keeping, measurement, spoils};
use model::capacity::Searched;
use model::judgement::{Disqualified, Outcome, Verdict};
use model::metric::Metric;
use model::name::ContenderName;
use model::record::{Fault, Measurement, Record, Trial};
use stats::{Interval, smallest_sample};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A metric's value in its unit; `None` where the measurement does not support it.
pub fn value(metric: Metric, trial: &Trial, measurement: Option<&Measurement>) -> Option<f64> {
    if metric == Metric::StartUp {
        return trial.ready_after_ns.map(|ns| ns as f64 / 1e6);
    }
    if metric == Metric::ScaleOut {
        return trial.scaled_out_after_ns.map(|ns| ns as f64 / 1e6);
    }
    let m = measurement?;
    let times = m.times();
    let with_samples = |value: f64| (!times.is_empty()).then_some(value);
    // What was due and never answered took longest of all: quantiles count it there, and what lies among it is not known.
    let unanswered = m.unanswered();
    let quantile = |q: f64| {
        let among_answered = q * (1.0 + unanswered as f64 / times.len().max(1) as f64);
        (times.len() >= smallest_sample(q) && among_answered <= 1.0).then(|| times.quantile_ns(among_answered) as f64 / 1e6)
    };
    let with_all = |value: f64| with_samples(value).filter(|_| unanswered == 0);
    match metric {
        Metric::Throughput => with_samples(m.throughput_per_s()),
        Metric::LatencyMean => with_all(times.mean_ns() / 1e6),
        Metric::LatencyDeviation => with_all(times.deviation_ns() / 1e6),
        Metric::LatencyP50 => quantile(0.5),
        Metric::LatencyP95 => quantile(0.95),
        Metric::LatencyP99 => quantile(0.99),
        Metric::LatencyMax => with_all(times.max_ns() as f64 / 1e6),
        Metric::CpuPerRequest if !m.usage.is_known() => None,
        Metric::CpuPerRequest => with_samples(m.usage.cpu_ns as f64 / 1e3 / m.counts.correct as f64),
        Metric::Memory => Some(m.usage.rss_max_bytes as f64 / 1e6).filter(|v| *v > 0.0),
        Metric::Threads => Some(m.usage.threads_max as f64).filter(|v| *v > 0.0),
        Metric::StartUp | Metric::ScaleOut | Metric::Capacity => None,
        Metric::FailedShare => Some(100.0 * m.counts.failed() as f64 / m.counts.settled().max(1) as f64),
    }
}

/// A metric's whole seconds, where it has a value a second; none or too few of them leave the trial's value as it is.
fn seconds(metric: Metric, measurement: Option<&Measurement>) -> Vec<Second> {
    let Some(m) = measurement else { return Vec::new() };
    let whole = m.seconds.iter().take((m.duration_ns / 1_000_000_000) as usize);
    let all_have = |pick: fn(&model::record::Second) -> Option<u64>| -> Vec<Second> {
        whole.clone().map(|s| pick(s).map(|ns| Second::from(ns as f64))).collect::<Option<_>>().unwrap_or_default()
    };
    match metric {
        Metric::Throughput => whole.map(|s| Second::from(s.correct as f64)).collect(),
        Metric::CpuPerRequest => {
            let used = m.usage.cpu_of_windows(1_000_000_000, whole.len());
            whole.zip(used).map(|(s, cpu_ns)| Second { amount: cpu_ns, weight: s.correct as f64 }).collect()
        }
        Metric::LatencyP50 => all_have(|s| s.p50_ns),
        Metric::LatencyP99 => all_have(|s| s.p99_ns),
        _ => Vec::new(),
    }
}

/// The search for the capacity of a cell in a trial.
fn search<'t>(trial: &'t Trial, cell: Option<&str>) -> Option<&'t Searched> {
    trial.capacities.iter().find(|searched| Some(searched.cell.as_str()) == cell)
}

/// The kinds of faults that spoil a metric in a cell of a trial.
fn spoiling<'t>(trial: &'t Trial, metric: Metric, cell: Option<&str>) -> impl Iterator<Item = &'t str> {
    let of_cell = cell.and_then(|c| measurement(trial, c)).into_iter().flat_map(|m| &m.faults);
    let of_search = search(trial, cell).filter(|_| metric == Metric::Capacity).into_iter().flat_map(|searched| &searched.faults);
    trial.faults.iter().chain(of_cell).chain(of_search).map(|fault| fault.kind.as_str()).filter(move |kind| spoils(kind, metric))
}

/// What one contender's trials give for a metric in a cell: block, value with its seconds, and
/// whether a fault spoilt it.
pub(crate) fn values(record: &Record, name: &ContenderName, metric: Metric, cell: Option<&str>) -> Vec<(u32, Result<Side, bool>)> {
    let trials = record.trials.iter().filter(|t| t.contender == *name);
    trials
        .map(|trial| {
            let measured = cell.and_then(|c| measurement(trial, c));
            let value = match metric {
                Metric::Capacity => search(trial, cell).and_then(Searched::level),
                _ => value(metric, trial, measured),
            };
            let found = match (exclusion(trial).is_some(), spoiling(trial, metric, cell).next().is_some()) {
                (_, true) => Err(true),
                (true, _) => Err(false),
                _ => value.map(|value| Side { value, seconds: seconds(metric, measured) }).ok_or(false),
            };
            (trial.block, found)
        })
        .collect()
}

/// A verdict, with what claims and the noise floor need of its numbers.
#[derive(Clone)]
pub(crate) struct Judged {
    pub verdict: Verdict,
    /// See [`Finding::p`]; `None` once somebody is barred or nothing is ranked.
    pub p: Option<f64>,
    /// See [`Finding::edges`]; nothing holds once somebody is barred or nothing is ranked.
    pub edges: Edges,
    pub log_deviation: Option<f64>,
}

impl Judged {
    /// Who is ahead of whom, where that is decided.
    fn winner_and_loser(&self) -> Option<(&ContenderName, &ContenderName)> {
        let Verdict { contender, baseline, outcome, .. } = &self.verdict;
        match outcome {
            Outcome::Better => Some((contender, baseline)),
            Outcome::Worse => Some((baseline, contender)),
            _ => None,
        }
    }

    /// Takes back what was decided.
    pub fn withdraw(&mut self, reason: String) {
        self.verdict.outcome = Outcome::Undecided;
        self.verdict.reason = reason;
        self.verdict.blocks_needed = None;
        self.p = None;
        self.edges = Edges::default();
    }

    /// Takes back what was decided; of what is open, that it lies surely beside an edge of the margin.
    fn unsettle(&mut self, reason: String) {
        match self.verdict.outcome {
            Outcome::Undecided => self.edges = Edges::default(),
            _ => self.withdraw(reason),
        }
    }
}

/// A record with what all its verdicts share.
pub(crate) struct Judge<'r> {
    pub record: &'r Record,
    pub looks: Looks,
    /// Where the baseline differs from itself, in words.
    pub differs: BTreeMap<(Option<String>, &'static str), String>,
    /// Why nobody is ranked; empty when the run is sound.
    pub unsound: String,
    /// Who did not keep what it acknowledged.
    pub disqualified: Vec<Disqualified>,
}

impl<'r> Judge<'r> {
    pub fn new(record: &'r Record) -> Judge<'r> {
        let design = &record.header.experiment.design;
        let looks = looks(&design.looks, design.blocks, record.complete_blocks(), design.confidence);
        Judge { record, looks, differs: BTreeMap::new(), unsound: String::new(), disqualified: keeping::disqualified(record) }
    }

    /// Every verdict of a record, in reading order.
    pub fn all(&self) -> Vec<Judged> {
        let experiment = &self.record.header.experiment;
        // Crossed factors are judged all together, not combination by combination.
        let crossed = experiment.combinations();
        let is_compared = |name: &&ContenderName| **name != experiment.baseline && !crossed.iter().any(|c| c.contender == **name);
        let others: Vec<&ContenderName> = self.record.header.contenders.iter().map(|p| &p.name).filter(is_compared).collect();
        let mut verdicts = Vec::new();
        let of_trial = Metric::ALL.into_iter().filter(|m| m.describe().of_trial);
        let places = experiment
            .cells
            .iter()
            .flat_map(|c| Metric::ALL.into_iter().filter(move |m| m.is_of(c)).map(move |m| (Some(c.name.as_str()), m)))
            .chain(of_trial.map(|m| (None, m)));
        for (cell, metric) in places {
            for contender in others.iter().filter(|name| !(metric.is_of_process() && self.is_reached(name)) && self.has(metric, name)) {
                verdicts.push(self.one(contender, metric, cell, experiment.design.margin));
            }
        }
        verdicts
    }

    /// Whether a contender or the baseline ran already, so that nothing is known of its process.
    fn is_reached(&self, contender: &ContenderName) -> bool {
        let header = &self.record.header;
        header.contenders.iter().any(|p| p.reached.is_some() && (p.name == *contender || p.name == header.experiment.baseline))
    }

    /// Whether a contender and the baseline have a metric that not everybody has.
    fn has(&self, metric: Metric, contender: &ContenderName) -> bool {
        let mut both = [contender, &self.record.header.experiment.baseline].into_iter();
        let has_several = |name: &ContenderName| name.share().replicas.is_some_and(|replicas| replicas > 1);
        metric != Metric::ScaleOut || both.all(has_several)
    }

    /// Compares one contender with the baseline.
    pub fn one(&self, contender: &ContenderName, metric: Metric, cell: Option<&str>, margin: f64) -> Judged {
        self.between(contender, &self.record.header.experiment.baseline, metric, cell, margin)
    }

    /// Compares one contender with another, as if that were the baseline.
    pub fn between(&self, contender: &ContenderName, baseline: &ContenderName, metric: Metric, cell: Option<&str>, margin: f64) -> Judged {
        let mut judged = self.compare(contender, baseline, metric, cell, margin);
        self.restrain(&mut judged);
        judged
    }

    /// Whether a contender did not keep what it acknowledged.
    pub fn is_disqualified(&self, contender: &ContenderName) -> bool {
        self.disqualified.iter().any(|d| d.contender == *contender)
    }

    /// What the run as a whole forbids to say.
    pub fn restrain(&self, judged: &mut Judged) {
        let verdict = &judged.verdict;
        let is_about = |d: &&Disqualified| d.contender == verdict.contender || d.contender == verdict.baseline;
        if let Some(Disqualified { contender, reason }) = self.disqualified.iter().find(is_about) {
            judged.withdraw(format!("{contender} is disqualified: {reason}"));
        } else if let Some(how) = self.differs.get(&(verdict.cell.clone(), verdict.metric.describe().name)) {
            judged.unsettle(format!("the baseline differs from itself here: {how}"));
        } else if !self.unsound.is_empty() && verdict.outcome != Outcome::Equivalent {
            judged.unsettle(format!("the run is unsound: {}", self.unsound));
        }
    }

    /// Compares one contender with so many times the baseline; the ratio is that to the baseline itself.
    pub fn times(&self, contender: &ContenderName, metric: Metric, cell: Option<&str>, margin: f64, factor: f64) -> Judged {
        let baseline = &self.record.header.experiment.baseline;
        let mut judged = self.weigh((contender, cell), (baseline, cell), metric, margin, factor);
        self.restrain(&mut judged);
        judged
    }

    /// Compares a contender in one cell with itself in another.
    pub fn within(&self, name: &ContenderName, metric: Metric, cell: &str, first: &str, margin: f64) -> Judged {
        let mut judged = self.weigh((name, Some(cell)), (name, Some(first)), metric, margin, 1.0);
        self.restrain(&mut judged);
        judged
    }

    fn compare(&self, contender: &ContenderName, baseline: &ContenderName, metric: Metric, cell: Option<&str>, margin: f64) -> Judged {
        let mut judged = self.weigh((contender, cell), (baseline, cell), metric, margin, 1.0);
        if !metric.describe().by_difference {
            bar(&mut judged, self.record, cell);
            cell.iter().for_each(|cell| doubt(&mut judged, self.record, cell));
        }
        judged
    }

    /// What the numbers alone come to: of one contender in a cell against so many times another, or itself, in the same or another.
    fn weigh(
        &self,
        (contender, cell): (&ContenderName, Option<&str>),
        (baseline, its_cell): (&ContenderName, Option<&str>),
        metric: Metric,
        margin: f64,
        factor: f64,
    ) -> Judged {
        let design = &self.record.header.experiment.design;
        let mut theirs: BTreeMap<u32, Result<Side, bool>> = values(self.record, contender, metric, cell).into_iter().collect();
        let mut of_baseline: BTreeMap<u32, Result<Side, bool>> = values(self.record, baseline, metric, its_cell).into_iter().collect();
        let mut pairs = Vec::new();
        let (mut excluded, mut spoilt) = (0, 0);
        for block in 1..=self.record.header.plan.len() as u32 {
            match (theirs.remove(&block), of_baseline.remove(&block)) {
                (Some(Ok(contender)), Some(Ok(baseline))) => pairs.push(Pair { contender: over(contender, factor), baseline }),
                (None, None) => {}
                (a, b) => {
                    excluded += 1;
                    spoilt += usize::from(a == Some(Err(true)) || b == Some(Err(true)));
                }
            }
        }
        let about = metric.describe();
        // Whoever is called the baseline, the same resamples are drawn.
        let mut names = [contender.to_string(), baseline.to_string()];
        names.sort();
        let seed = design.seed.wrapping_add(hash(&[cell.unwrap_or_default(), about.name, &names[0], &names[1]]));
        let question = Question::at(&self.looks, design.confidence, margin, about.lower_is_better, seed);
        let side = |pick: fn(&Pair) -> f64| pairs.iter().map(pick).collect::<Vec<f64>>();
        let values = (side(|p| p.contender.value), side(|p| p.baseline.value));
        let typical = |values: &[f64]| stats::geometric_mean(values).or_else(|| stats::mean(values));
        let found = if about.by_difference {
            by_difference(&values.0.iter().copied().zip(values.1.iter().copied()).collect::<Vec<_>>(), &question)
        } else {
            by_ratio(&pairs, &question)
        };
        let difference = stats::mean(&values.0).zip(stats::mean(&values.1)).map(|(a, b)| a - b);
        let of_ratio = |interval: Option<Interval>| {
            let of_baseline = |Interval { low, high }| Interval { low: low * factor, high: high * factor };
            interval.filter(|_| !about.by_difference).map(of_baseline)
        };
        let Finding { interval, interval_t, interval_bootstrap, interval_equivalence, .. } = found;
        let verdict = Verdict {
            cell: cell.map(str::to_owned),
            contender: contender.clone(),
            baseline: baseline.clone(),
            metric,
            outcome: found.outcome,
            reason: found.reason,
            ratio: found.ratio.map(|ratio| ratio * factor),
            interval: of_ratio(interval),
            interval_t: of_ratio(interval_t),
            interval_bootstrap: of_ratio(interval_bootstrap),
            confidence: self.looks.now.confidence,
            sign_flip_p: found.sign_flip_p,
            blocks_needed: found.blocks_needed,
            interval_equivalence: of_ratio(interval_equivalence),
            difference: difference.filter(|_| about.by_difference && pairs.len() > 1),
            value: typical(&values.0).map(|value| value * factor),
            baseline_value: typical(&values.1),
            margin,
            used: pairs.len(),
            excluded,
            spoilt,
        };
        let mut judged = Judged { verdict, p: found.p, edges: found.edges, log_deviation: found.log_deviation };
        let is_short = judged.verdict.used < model::experiment::FEWEST_BLOCKS as usize;
        if is_short && spoilt > 0 {
            judged.verdict.reason += &format!(": faults spoilt {spoilt}");
        }
        judged
    }
}

/// A value in a unit that is so many times as large.
fn over(side: Side, factor: f64) -> Side {
    let seconds = side.seconds.into_iter().map(|second| Second { amount: second.amount / factor, ..second }).collect();
    Side { value: side.value / factor, seconds }
}

/// A number of texts that is the same on every machine and release (FNV-1a, 64 bits).
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Faults that whoever is asked for more than it carries makes itself.
const OF_OVERLOAD: [&str; 3] = ["in-flight-limit", "backlog", "retransmits"];

/// Whether a contender's own worst measurements are left out for such a fault.
fn is_of_its_own_making(kind: &str) -> bool {
    OF_OVERLOAD.contains(&kind) || kind == "not-stationary"
}

/// The kinds of faults that spoil a verdict, of its contender or of the baseline, by block.
pub(crate) fn spoiling_of<'r>(record: &'r Record, verdict: &Verdict) -> impl Iterator<Item = (u32, Vec<&'r str>)> {
    let mut kinds: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for trial in record.trials.iter().filter(|t| t.contender == verdict.contender || t.contender == verdict.baseline) {
        kinds.entry(trial.block).or_default().extend(spoiling(trial, verdict.metric, verdict.cell.as_deref()));
    }
    kinds.into_iter().filter(|(_, kinds)| !kinds.is_empty())
}

/// How many blocks of a verdict nothing spoilt but that its contender, or the baseline, was asked for more than it carries.
pub(crate) fn overloaded(record: &Record, verdict: &Verdict) -> usize {
    spoiling_of(record, verdict).filter(|(_, kinds)| kinds.iter().all(|kind| OF_OVERLOAD.contains(kind))).count()
}

/// Who has more than this share of its measurements left out for them, and more than the other, is flattered by the rest.
const LEFT_OUT_MAX: f64 = 0.25;

/// Whoever is flattered by what is left, once its own worst measurements are left out, is not said to win, to be alike or to be no worse.
fn doubt(judged: &mut Judged, record: &Record, cell: &str) {
    let Verdict { contender, baseline, metric, .. } = &judged.verdict;
    let left_out = |name: &ContenderName| {
        let of_cell = |t: &&Trial| t.contender == *name && measurement(t, cell).is_some();
        let all: Vec<&Trial> = record.trials.iter().filter(of_cell).collect();
        (all.iter().filter(|t| spoiling(t, *metric, Some(cell)).any(is_of_its_own_making)).count(), all.len())
    };
    let ((its, of_its), (theirs, of_theirs)) = (left_out(contender), left_out(baseline));
    let (flattered, left_out, all) = match (its * of_theirs).cmp(&(theirs * of_its)) {
        Ordering::Greater => (contender, its, of_its),
        Ordering::Less => (baseline, theirs, of_theirs),
        Ordering::Equal => return,
    };
    // Who loses even so has lost.
    if left_out as f64 <= LEFT_OUT_MAX * all as f64 || judged.winner_and_loser().is_some_and(|(_, loser)| loser == flattered) {
        return;
    }
    let reason = format!(
        "{left_out} of {all} measurements of {flattered} were left out for faults that its own slowness makes, so the rest is a choice"
    );
    judged.unsettle(reason);
}

/// Whoever failed requests cannot win the cell.
fn bar(judged: &mut Judged, record: &Record, cell: Option<&str>) {
    let Some((winner, _)) = judged.winner_and_loser() else { return };
    let causes = failures(record, winner, cell);
    if !causes.is_empty() {
        let reason = format!("{winner} is barred from winning: {}", causes.join(", "));
        judged.withdraw(reason);
    }
}

/// What a contender failed of its own in a cell, or in all: `3 requests timed out`, `1 of its trials failed`.
pub(crate) fn failures(record: &Record, name: &ContenderName, cell: Option<&str>) -> Vec<String> {
    // What a fault made fail is not its own doing.
    let is_spoilt = |faults: &[Fault]| faults.iter().any(|f| spoils(&f.kind, Metric::FailedShare));
    let spoils_latency = |faults: &[Fault]| faults.iter().any(|f| spoils(&f.kind, Metric::LatencyP99));
    let mut failed: Vec<(&str, u64)> = Vec::new();
    let mut fell = 0;
    for trial in record.trials.iter().filter(|t| t.contender == *name && !is_spoilt(&t.faults)) {
        fell += usize::from(trial.failure.as_ref().is_some_and(|f| f.stage != "stop"));
        for measured in trial.measurements.iter().filter(|m| cell.is_none_or(|c| m.cell == c) && !is_spoilt(&m.faults)) {
            for (kind, count) in measured.counts.parts() {
                // What a closed load leaves unfinished is what was under way when its time was over.
                let bars = matches!(kind, "wrong" | "declined" | "refused" | "broken" | "timed_out")
                    || kind == "unfinished" && measured.latency.is_some() && !spoils_latency(&measured.faults);
                if bars && count > 0 {
                    match failed.iter_mut().find(|(k, _)| *k == kind) {
                        Some((_, sum)) => *sum += count,
                        None => failed.push((kind, count)),
                    }
                }
            }
        }
    }
    let mut causes: Vec<String> = failed.iter().map(|(kind, count)| format!("{count} requests {}", kind.replace('_', " "))).collect();
    if fell > 0 {
        causes.push(format!("{fell} of its trials failed"));
    }
    causes
}
