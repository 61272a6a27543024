//! What a run leaves on disk: one JSON line after the other, never changed again.
//!
//! The first line is the [`Header`]; then comes a line for everything that
//! happened, as it ended. A line that a crash cut short is left out when read,
//! and counted.

use crate::agents::OfAgent;
use crate::article::Article;
use crate::capacity::Searched;
pub use crate::circumstances::{Circumstances, CpuTime, Memory, Ports, STEAL_SHARE_MAX, TICK_NS, Tcp};
use crate::database::{Kept, Used};
use crate::experiment::{Claim, CpuSets, Design, Experiment};
use crate::image::Image;
use crate::name::ContenderName;
use crate::problem::Problems;
use crate::selftest::SelfTest;
use crate::units::show_duration;
use crate::witness::Witnessed;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Names the form of the lines. A change that an older reader would
/// misunderstand gets a new number.
pub const SCHEMA: &str = "faceoff.record.v1";

/// The file of a record's folder that holds its lines.
pub const FILE_NAME: &str = "record.jsonl";

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first.
    Header(Box<Header>),
    /// A contender answered the workloads rightly before anything was timed, or did not and is out.
    Answers(Answers),
    /// The upstream of this session, once it is warm.
    Upstream(Upstream),
    /// One trial, as it ended.
    Trial(Box<Trial>),
    /// The run began, went on, was interrupted or came to its end.
    Session(Session),
}

/// What a run set out to do, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Names the run.
    pub id: String,
    /// When it began, RFC 3339, UTC.
    pub recorded_at: String,
    /// The version of faceoff.
    pub faceoff: String,
    /// The experiment as it was then, already in its quick form where that was asked.
    pub experiment: Experiment,
    /// Whether it was the quick form.
    pub quick: bool,
    /// The order: for each block, the spare ones last, contenders in the order of their trials.
    pub plan: Vec<Vec<ContenderName>>,
    /// Who takes part, baseline first.
    pub contenders: Vec<Participant>,
    /// What the proxies stand before.
    pub upstream: Option<Participant>,
    /// Where contenders keep their data; the version and the settings stand in each trial.
    #[serde(default)]
    pub database: Option<Participant>,
    /// Who does not, and why.
    pub skipped: Vec<Skipped>,
    /// Cells that are not measured, as their driver is not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_cells: Vec<SkippedCell>,
    /// Where.
    pub machine: Machine,
    /// Who ran on which CPUs.
    pub cpus: CpuSets,
    /// Whether they were kept from sleeping.
    #[serde(default)]
    pub kept_awake: bool,
    /// By workload: what was looked at in the answers, and in how many of them.
    #[serde(default)]
    pub checks: BTreeMap<String, String>,
    /// The tables of the article that the question comes from.
    #[serde(default)]
    pub article: Option<Article>,
    /// The last self-test on this machine, where there is one that is not too old.
    #[serde(default)]
    pub instrument: Option<SelfTest>,
    /// What the command line changed of the experiment, as its words: `--blocks`, `3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

impl Header {
    /// Reads the first line of a record.
    pub(crate) fn of_line(line: &[u8]) -> Result<Header, String> {
        let header = match serde_json::from_slice(line) {
            Ok(Line::Header(header)) if header.schema == SCHEMA => *header,
            Ok(Line::Header(header)) => return Err(format!("its schema is {}, this faceoff reads {SCHEMA}", header.schema)),
            Ok(_) => return Err("its first line is no header".into()),
            Err(e) => return Err(format!("its first line is no header ({e})")),
        };
        // Written by hand, or by another program: whatever is not a probability would end in arithmetic that has no answer.
        let Design { confidence, margin, .. } = header.experiment.design;
        if !(0.5..1.0).contains(&confidence) || !(0.0..f64::INFINITY).contains(&margin) {
            return Err(format!("no verdict has confidence {confidence} and margin {margin}"));
        }
        Ok(header)
    }
}

/// A system that takes part, as it was built.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Participant {
    /// System and variants.
    pub name: ContenderName,
    /// Its summary.
    pub summary: String,
    /// Its facts.
    pub facts: BTreeMap<String, String>,
    /// Versions of the tools it needs, as found.
    pub versions: BTreeMap<String, String>,
    /// What its build made.
    pub artifacts: Vec<Artifact>,
    /// What it starts from, where it starts in containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Where it was, when it ran already and was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
}

/// A file that a build made, or a folder with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its path, counted from the system's folder.
    pub path: String,
    /// Its SHA-256, in hex; of a folder, over the names and digests of what is in it.
    pub sha256: String,
    /// Its size, in bytes.
    pub bytes: u64,
}

/// A contender that does not take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Who.
    pub contender: ContenderName,
    /// Why, with what to do.
    pub reason: String,
    /// Whether something failed; otherwise a need was unmet.
    pub failed: bool,
}

/// A cell of the experiment that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCell {
    /// Its name.
    pub cell: String,
    /// Why, with what to do.
    pub reason: String,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// CPUs that this process may use.
    pub cores: usize,
    /// Memory.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// The distribution.
    pub os: String,
    /// The frequency governor; `None` where it cannot be seen.
    pub governor: Option<String>,
    /// Whether it says that it is a virtual machine.
    pub is_virtual: bool,
}

/// Proof that a contender answers, or why it is out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answers {
    /// Who.
    pub contender: ContenderName,
    /// From start to the first right answer.
    pub ready_after_ns: Option<u64>,
    /// What went wrong; `None` when every answer was right.
    pub failure: Option<Failure>,
}

/// The upstream of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Upstream {
    /// Who.
    pub name: ContenderName,
    /// From start to the first right answer.
    pub ready_after_ns: u64,
    /// How many requests warmed it.
    pub warmed_with: u64,
    /// How its warm-up went; `None` in older records.
    #[serde(default)]
    pub warmup: Option<Warmup>,
}

/// What happened to the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// What.
    pub event: Event,
    /// When, RFC 3339, UTC.
    pub at: String,
}

/// What can happen to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It went on where an earlier session stopped.
    Resumed,
    /// It was asked to stop.
    Interrupted,
    /// The upstream was lost.
    UpstreamLost,
    /// The engine that systems run in was lost; the trial that was under way is not recorded.
    EngineLost,
    /// The budget was used up.
    BudgetSpent,
    /// A planned look found every claim settled: the blocks not begun are not needed.
    Settled,
    /// Every planned trial was run.
    Finished,
}

/// One fresh start of one contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Who.
    pub contender: ContenderName,
    /// Its block, from 1.
    pub block: u32,
    /// Its place within the block, from 1.
    pub position: u32,
    /// When, RFC 3339, UTC.
    pub started_at: String,
    /// The command, as it was run.
    pub command: Vec<String>,
    /// SHA-256 of each artefact, as it was when this trial began.
    pub artifact_sha256: Vec<String>,
    /// From start to the first right answer; `None` when it never came, and where nothing was started.
    pub ready_after_ns: Option<u64>,
    /// From when further replicas were asked for until all had answered rightly; `None` where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_out_after_ns: Option<u64>,
    /// Requests answered rightly during warm-up.
    pub warmed_with: u64,
    /// How the warm-up went; `None` in older records.
    #[serde(default)]
    pub warmup: Option<Warmup>,
    /// The cells, in the order they were measured.
    pub measurements: Vec<Measurement>,
    /// Measurements of which the hypervisor took more than [`STEAL_SHARE_MAX`], in the order they were made; each was made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub robbed: Vec<Measurement>,
    /// Cells whose capacity was looked for, in the order they were; they have no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<Searched>,
    /// Cells whose load another generator made, in the order they were; they have no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnessed: Vec<Witnessed>,
    /// How it stopped.
    pub stop: Option<Stopped>,
    /// The contender's own failure, if any: a result.
    pub failure: Option<Failure>,
    /// What only the lab saw that makes this trial unfit to judge from; the judge finds the rest in the readings.
    pub faults: Vec<Fault>,
    /// Host readings over the trial.
    pub host: Host,
    /// The database, fresh for this trial, and what was found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Kept>,
    /// Pauses of a garbage collector, as the contender's own log tells them; in order of their beginning.
    #[serde(default)]
    pub pauses: Vec<Pause>,
}

/// A stretch in which a garbage collector held requests up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When it began, from the start of the process.
    pub at_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// What the log calls it.
    pub kind: String,
}

/// How a fresh start came to its steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warmup {
    /// What it was like.
    pub class: WarmUpClass,
    /// When the last level began, from the start of the load; `None` where none was reached.
    pub steady_after_ns: Option<u64>,
    /// Second by second.
    pub windows: Vec<WarmUpWindow>,
}

/// What a warm-up was like (after Barrett et al., OOPSLA 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpClass {
    /// As fast from the first second on.
    Flat,
    /// It became faster, then kept a level.
    WarmUp,
    /// Its last level is slower than one before.
    Slowdown,
    /// It kept no level within the time it was given.
    NeverSteady,
    /// It was given too few seconds to tell.
    TooShort,
}

impl WarmUpClass {
    /// As it stands in a record.
    pub fn name(self) -> &'static str {
        match self {
            WarmUpClass::Flat => "flat",
            WarmUpClass::WarmUp => "warm_up",
            WarmUpClass::Slowdown => "slowdown",
            WarmUpClass::NeverSteady => "never_steady",
            WarmUpClass::TooShort => "too_short",
        }
    }
}

/// What records hold in which the number of connections was not yet written.
fn connections_once() -> u32 {
    8
}

/// A second of warm-up: load for its first part, then a pause in which compilers catch up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmUpWindow {
    /// When it began, from the start of the load.
    pub at_ns: u64,
    /// How long there was load in it.
    pub load_ns: u64,
    /// Connections of the load.
    #[serde(default = "connections_once")]
    pub connections: u32,
    /// Right answers.
    pub correct: u64,
    /// CPU time of the process tree over the whole window, its pause included.
    pub cpu_ns: u64,
    /// How long its pause was; zero in records from before this was kept.
    #[serde(default)]
    pub pause_ns: u64,
    /// CPU time in the pause alone: what the system does without being asked.
    #[serde(default)]
    pub pause_cpu_ns: u64,
    /// Median service time; `None` from too few samples.
    pub p50_ns: Option<u64>,
    /// The longest; `None` without samples.
    pub max_ns: Option<u64>,
}

impl WarmUpWindow {
    /// CPUs used in the pause, without being asked.
    pub fn unasked(&self) -> f64 {
        self.pause_cpu_ns as f64 / self.pause_ns.max(1) as f64
    }
}

/// How a process ended when it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// How long it took.
    pub after_ns: u64,
    /// `exit 0`, `exit 143`, `signal 9`.
    pub status: String,
    /// Whether it ended within its deadline, without being killed.
    pub clean: bool,
}

/// A system that failed to build, start, answer rightly, live or stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// When: `start`, `reach`, `ready`, `scale-out`, `answers`, `warm-up`, `reset`, `measure`, `stop`.
    pub stage: String,
    /// What happened.
    pub cause: String,
    /// The last lines it wrote.
    pub log: Vec<String>,
}

/// Something of the instrument or its surroundings that makes a measurement unfit to judge from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Its kind, a fixed word.
    pub kind: String,
    /// What was seen.
    pub evidence: String,
    /// What to do.
    pub hint: String,
}

/// What the host did meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Share of all CPU time that the hypervisor took away, over the whole trial.
    pub steal_share: f64,
    /// The same, from the start to the first right answer; `None` in older records, and where that never came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_steal_share: Option<f64>,
    /// Load average of the last minute when the trial began.
    pub load_average: f64,
}

/// One cell, measured once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// The cell's name.
    pub cell: String,
    /// Its place within the trial, from 1.
    pub position: u32,
    /// When it began, from the start of the process; 0 in older records.
    #[serde(default)]
    pub began_after_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// From the scheduled instant to the whole answer; `None` for a load without a schedule.
    pub latency: Option<Histogram>,
    /// From the instant of sending to the whole answer.
    pub service: Histogram,
    /// What became of the requests.
    pub counts: Counts,
    /// How often each status came.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the right answers, heads and bodies.
    pub received_bytes: u64,
    /// The first few answers that were not right, in words.
    pub examples: Vec<String>,
    /// One entry per second.
    pub seconds: Vec<Second>,
    /// The contender's process tree.
    pub usage: Usage,
    /// CPU time of the upstream's process tree.
    pub upstream_cpu_ns: Option<u64>,
    /// What the database used, where there is one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Used>,
    /// The instrument's own.
    pub generator: Generator,
    /// What the machine did meanwhile; `None` in older records.
    #[serde(default)]
    pub circumstances: Option<Circumstances>,
    /// What only the lab saw that makes this measurement unfit to judge from.
    pub faults: Vec<Fault>,
}

impl Measurement {
    /// Latency where there is a schedule, else service time.
    pub fn times(&self) -> &Histogram {
        self.latency.as_ref().unwrap_or(&self.service)
    }

    /// Requests of a schedule that were due and had no answer when waiting ended: those that took longest. A closed load has none,
    /// as it ends with its time.
    pub fn unanswered(&self) -> u64 {
        if self.latency.is_some() { self.counts.unfinished.saturating_add(self.counts.unsent) } else { 0 }
    }

    /// Right answers a second.
    pub fn throughput_per_s(&self) -> f64 {
        self.counts.correct as f64 / (self.duration_ns.max(1) as f64 / 1e9)
    }
}

/// What became of the requests. [`Counts::scheduled`] is the sum of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All that were to be made.
    pub scheduled: u64,
    /// Never sent: the measurement ended while they waited for a connection.
    pub unsent: u64,
    /// Answered rightly.
    pub correct: u64,
    /// Answered, but not rightly.
    pub wrong: u64,
    /// Shed, as the workload allows.
    pub declined: u64,
    /// The connection could not be made.
    pub refused: u64,
    /// Reset, closed early or malformed.
    pub broken: u64,
    /// No answer within the timeout.
    pub timed_out: u64,
    /// Still under way when the measurement ended.
    pub unfinished: u64,
}

impl Counts {
    /// The parts with their names.
    pub fn parts(&self) -> [(&'static str, u64); 8] {
        [
            ("unsent", self.unsent),
            ("correct", self.correct),
            ("wrong", self.wrong),
            ("declined", self.declined),
            ("refused", self.refused),
            ("broken", self.broken),
            ("timed_out", self.timed_out),
            ("unfinished", self.unfinished),
        ]
    }

    /// Part by part, the sum of two.
    pub fn plus(&self, other: &Counts) -> Counts {
        Counts {
            scheduled: self.scheduled.saturating_add(other.scheduled),
            unsent: self.unsent.saturating_add(other.unsent),
            correct: self.correct.saturating_add(other.correct),
            wrong: self.wrong.saturating_add(other.wrong),
            declined: self.declined.saturating_add(other.declined),
            refused: self.refused.saturating_add(other.refused),
            broken: self.broken.saturating_add(other.broken),
            timed_out: self.timed_out.saturating_add(other.timed_out),
            unfinished: self.unfinished.saturating_add(other.unfinished),
        }
    }

    /// Whether the parts make up the whole.
    pub fn add_up(&self) -> bool {
        self.parts().iter().try_fold(0u64, |sum, (_, n)| sum.checked_add(*n)) == Some(self.scheduled)
    }

    /// Requests that failed by the contender's doing: wrong, refused, broken, timed out.
    pub fn failed(&self) -> u64 {
        [self.refused, self.broken, self.timed_out].into_iter().fold(self.wrong, u64::saturating_add)
    }

    /// Requests with an outcome: failed, declined or answered rightly.
    pub fn settled(&self) -> u64 {
        self.failed().saturating_add(self.declined).saturating_add(self.correct)
    }
}

/// One second of a measurement, by the instant of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Right answers.
    pub correct: u64,
    /// Failed and declined requests.
    pub not_correct: u64,
    /// Median latency; `None` from too few samples.
    pub p50_ns: Option<u64>,
    /// 99th percentile; `None` from too few samples.
    pub p99_ns: Option<u64>,
    /// The longest; `None` without samples.
    pub max_ns: Option<u64>,
    /// When the answer of the longest was whole, from the start of the measurement.
    #[serde(default)]
    pub max_at_ns: Option<u64>,
}

/// Samples of a whole process tree, in columns, and the sums over the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time between the first and the last reading, to the nanosecond.
    pub cpu_ns: u64,
    /// The kernel's share of it, in its 10 ms ticks.
    pub system_ns: u64,
    /// Time between the first and the last reading.
    pub wall_ns: u64,
    /// Greatest sum of resident memory that was sampled. Pages shared by processes count in each.
    pub rss_max_bytes: u64,
    /// Greatest resident memory since the start, as the kernel kept it (sum of VmHWM).
    pub rss_peak_bytes: u64,
    /// Most threads.
    pub threads_max: u64,
    /// Most open descriptors.
    pub descriptors_max: u64,
    /// Voluntary context switches of living threads over the measurement.
    pub switches_voluntary: u64,
    /// Involuntary ones.
    pub switches_involuntary: u64,
    /// Instants of the samples, from the start of the measurement.
    pub t_ns: Vec<u64>,
    /// CPU time since the first sample.
    pub cpu_ns_at: Vec<u64>,
    /// Resident memory.
    pub rss_bytes_at: Vec<u64>,
    /// Threads.
    pub threads_at: Vec<u64>,
    /// Open descriptors.
    pub descriptors_at: Vec<u64>,
    /// Context switches of both kinds since the first sample.
    pub switches_at: Vec<u64>,
    /// What hints at causes; read before and after the measurement.
    #[serde(default)]
    pub signs: Signs,
    /// The process that came nearest to its limit of descriptors.
    #[serde(default)]
    pub descriptors: Option<Descriptors>,
    /// Faceoff itself, which makes the requests.
    #[serde(default)]
    pub generator_descriptors: Option<Descriptors>,
    /// Every CPU that a process or thread of the tree was allowed to run on, as seen about once a second.
    #[serde(default)]
    pub allowed_cpus: Vec<usize>,
    /// Mean frequency of these CPUs in MHz, about once a second; empty where it cannot be seen.
    #[serde(default)]
    pub mhz_at: Vec<f64>,
}

impl Usage {
    /// Whether there was a process to watch: of a service that ran already nothing is known.
    pub fn is_known(&self) -> bool {
        self.wall_ns > 0
    }

    /// How many CPUs were used, on average.
    pub fn cpus_used(&self) -> f64 {
        self.cpu_ns as f64 / self.wall_ns.max(1) as f64
    }

    /// CPU time in nanoseconds of each of the first `most` windows of so many nanoseconds, as far as there are samples;
    /// between two of them as if used evenly.
    pub fn cpu_of_windows(&self, window_ns: u64, most: usize) -> Vec<f64> {
        let (times, values) = (&self.t_ns, &self.cpu_ns_at);
        let until = |ns: u64| {
            let next = times.partition_point(|t| *t < ns);
            let (after, cpu) = (*times.get(next)?, *values.get(next)? as f64);
            let (before, cpu_before) = (times[next.saturating_sub(1)], values[next.saturating_sub(1)] as f64);
            let share = ns.saturating_sub(before) as f64 / after.saturating_sub(before).max(1) as f64;
            Some(if after > before { cpu_before + (cpu - cpu_before) * share } else { cpu })
        };
        let marks: Vec<f64> = (0..=most as u64).map_while(|mark| until(mark.saturating_mul(window_ns))).collect();
        marks.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect()
    }
}

/// What changed from right before a measurement to right after it; `None` where it cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signs {
    /// Time between the two readings.
    pub wall_ns: u64,
    /// CPU time of the thread that wanted the most: it ran, or could have run.
    pub busiest_thread_ns: Option<u64>,
    /// How long that thread could have run and waited for a CPU.
    pub busiest_thread_waited_ns: Option<u64>,
    /// How long all other threads ran or waited for a CPU, added up.
    pub other_threads_wanted_ns: Option<u64>,
    /// Bytes that it wrote to its standard output and error.
    pub output_bytes: Option<u64>,
    /// Bytes that it wrote to files on disks (as the kernel accounts them, in pages).
    pub disk_bytes: Option<u64>,
    /// What its CPU quota did.
    pub quota: Option<Quota>,
    /// What its control group counted, where it has one of its own, as containers have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupUsage>,
}

/// What a control group counts, of all of its processes and also of those that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupUsage {
    /// CPU time; the kernel brings it up to date at its ticks.
    pub cpu_ns: u64,
    /// Most memory since its start, files that it has the kernel keep included: what a limit limits.
    pub memory_max_bytes: Option<u64>,
    /// How many of its processes were killed for want of memory.
    pub memory_kills: u64,
}

/// A CPU quota at work: that of the process's cgroup, or of the one above it that held it up the longest; of several pods, all of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Periods of the quota in which it ran.
    pub periods: u64,
    /// Those in which it was stopped for the rest of the period.
    pub throttled_periods: u64,
    /// How long it was stopped, summed over CPUs.
    pub throttled_ns: u64,
}

/// Descriptors of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptors {
    /// Open ones, at their most.
    pub open: u64,
    /// How many it may open.
    pub limit: u64,
}

/// The instrument's own figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Generator {
    /// From the scheduled instant to the sending; `None` for a load without a schedule.
    pub lag: Option<Histogram>,
    /// CPU time of the generator's thread, or of those of all agents.
    pub cpu_ns: u64,
    /// Part of it that was spent looking for something to do, so as not to oversleep.
    #[serde(default)]
    pub spun_ns: u64,
    /// Most requests under way at once.
    pub in_flight_max: u64,
    /// Connections opened during the measurement.
    pub connections_opened: u64,
    /// How long connecting took, each connection that came to stand; `None` in older records.
    #[serde(default)]
    pub connect: Option<Histogram>,
    /// Requests sent before the end of the planned time; `None` in older records.
    #[serde(default)]
    pub sent_in_time: Option<u64>,
    /// Requests under way, on average over the measurement; `None` in older records.
    #[serde(default)]
    pub in_flight_mean: Option<f64>,
    /// When requests were sent, in microseconds from the start: a random thousand of them. Arrivals only.
    #[serde(default)]
    pub sent_at_us: Vec<u64>,
    /// Right answers in each tenth of a second, of the first minutes.
    #[serde(default)]
    pub correct_per_tenth: Vec<u32>,
    /// What each agent did, where agents made the load: the figures above are then those of all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<OfAgent>,
}

impl Generator {
    /// CPU time that the load itself needed.
    pub fn busy_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spun_ns)
    }

    /// Event loops, each with a CPU at most: one on this machine.
    pub fn loops(&self) -> u32 {
        self.agents.first().map_or(1, |agent| agent.loops_of_all.max(1))
    }
}

/// A record, read back.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its folder.
    pub folder: PathBuf,
    /// What it set out to do.
    pub header: Header,
    /// Proofs of right answers.
    pub answers: Vec<Answers>,
    /// Upstreams, one a session.
    pub upstreams: Vec<Upstream>,
    /// Trials, as they ended.
    pub trials: Vec<Trial>,
    /// What happened to the run.
    pub sessions: Vec<Session>,
    /// Lines that were cut short by a crash and left out.
    pub torn_lines: usize,
}

impl Record {
    /// Reads a record from its folder, or from its file.
    ///
    /// # Errors
    /// No such record; a first line that is no header of this schema.
    pub fn read(path: &Path) -> Result<Record, Problems> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let file = if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() };
        let unreadable = |e: &dyn std::fmt::Display| {
            Problems::plain(format!("{} is not a record: {e}", path.display()), format!("name the folder of a run, with its {FILE_NAME}"))
        };
        let reader = BufReader::new(std::fs::File::open(&file).map_err(|e| unreadable(&e))?);
        let (mut header, mut torn_lines) = (None, 0);
        let (mut answers, mut upstreams, mut trials, mut sessions) = (Vec::new(), Vec::new(), Vec::<Trial>::new(), Vec::new());
        for (number, line) in reader.split(b'\n').enumerate() {
            let line = line.map_err(|e| unreadable(&e))?;
            if line.is_empty() {
                continue;
            }
            if number == 0 {
                header = Some(Header::of_line(&line).map_err(|e| unreadable(&e))?);
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(Line::Answers(a)) => answers.push(a),
                Ok(Line::Upstream(u)) => upstreams.push(u),
                Ok(Line::Trial(t)) => trials.push(*t),
                Ok(Line::Session(s)) => sessions.push(s),
                // What is not even JSON was cut short; what is JSON and not understood is an error, not a loss.
                Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_err() => torn_lines += 1,
                Ok(Line::Header(_)) => return Err(unreadable(&format!("line {} is a second header", number + 1))),
                Err(e) => return Err(unreadable(&format!("line {} is not understood ({e})", number + 1))),
            }
        }
        let header: Header = header.ok_or_else(|| unreadable(&"it is empty"))?;
        Ok(Record { folder: folder.to_owned(), header, answers, upstreams, trials, sessions, torn_lines })
    }

    /// Contenders that failed before anything was timed.
    pub fn dropped(&self) -> impl Iterator<Item = (&ContenderName, &Failure)> {
        self.answers.iter().filter_map(|a| a.failure.as_ref().map(|f| (&a.contender, f)))
    }

    /// Why a contender of the experiment took no part; `None` where it did.
    pub fn absence(&self, name: &ContenderName) -> Option<&str> {
        let skipped = self.header.skipped.iter().find(|s| s.contender == *name).map(|s| s.reason.as_str());
        skipped.or_else(|| self.answers.iter().find(|a| a.contender == *name)?.failure.as_ref().map(|f| f.cause.as_str()))
    }

    /// Why a claim cannot be tried with this record, however many blocks it has; `None` where it can.
    pub fn untried(&self, claim: &Claim) -> Option<String> {
        if let Some(why) = self.absence(&claim.contender) {
            return Some(format!("{} took no part: {}", claim.contender, why.lines().next().unwrap_or_default()));
        }
        let has = self.header.cpus.contender.len();
        if let Some(needs) = claim.contender_cpus.filter(|needed| *needed as usize > has) {
            return Some(format!("it speaks of {needs} CPUs or more for the contender, which had {has} here"));
        }
        let Experiment { cells, design, .. } = &self.header.experiment;
        let (cell, began) = claim.judged_in(cells)?.into_iter().find_map(|cell| Some((cell, cell.load.users_cut(design.measure)?)))?;
        let (asked, took) = (cell.load.describe(), show_duration(design.measure));
        Some(format!("{} asks for {asked}, and was measured for {took}, in which only {began} began", cell.name))
    }

    /// Whether a planned look found every claim settled, so that no further block is needed.
    pub fn is_settled(&self) -> bool {
        self.sessions.iter().any(|s| s.event == Event::Settled)
    }

    /// Blocks that have a trial of everybody who was not dropped.
    pub fn complete_blocks(&self) -> u32 {
        let out: Vec<&ContenderName> = self.dropped().map(|(name, _)| name).collect();
        let done = |block: u32, name: &ContenderName| self.trials.iter().any(|t| t.block == block && t.contender == *name);
        let is_complete = |(block, order): &(u32, &Vec<ContenderName>)| {
            let mut due = order.iter().filter(|name| !out.contains(name)).peekable();
            due.peek().is_some() && due.all(|name| done(*block, name))
        };
        (1..).zip(&self.header.plan).filter(is_complete).count() as u32
    }

    /// The trials that are not there yet, of the planned blocks and of the spare ones that were begun, and of a settled
    /// run those of blocks that were begun: block from 1, position from 1, contender.
    pub fn missing(&self) -> Vec<(u32, u32, ContenderName)> {
        let begun = self.trials.iter().map(|t| t.block).max().unwrap_or(0);
        let planned = if self.is_settled() { 0 } else { self.header.experiment.design.blocks };
        self.missing_until(begun.max(planned))
    }

    /// As [`Record::missing`], with the next spare block when nothing else is missing.
    pub fn missing_or_spare(&self) -> Vec<(u32, u32, ContenderName)> {
        let missing = self.missing();
        if !missing.is_empty() || self.is_settled() {
            return missing;
        }
        let begun = self.trials.iter().map(|t| t.block).max().unwrap_or(0);
        self.missing_until(begun + 1)
    }

    fn missing_until(&self, last: u32) -> Vec<(u32, u32, ContenderName)> {
        let out: Vec<&ContenderName> = self.dropped().map(|(name, _)| name).collect();
        let mut missing = Vec::new();
        for (block, order) in (1..=last).zip(&self.header.plan) {
            for (position, contender) in (1..).zip(order) {
                let done = self.trials.iter().any(|t| t.block == block && t.contender == *contender);
                if !done && !out.contains(&contender) {
                    missing.push((block, position, contender.clone()));
                }
            }
        }
        missing
    }

    /// How the run ended, if it did.
    pub fn ended(&self) -> Option<Event> {
        self.sessions.last().map(|s| s.event).filter(|e| *e != Event::Resumed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_windows_is_read_between_samples() {
        let usage = |t_ns: &[u64], cpu: &[u64]| Usage { t_ns: t_ns.into(), cpu_ns_at: cpu.into(), ..Usage::default() };
        let usual = usage(&[0, 50, 150, 210], &[0, 10, 30, 90]);
        assert_eq!(usual.cpu_of_windows(100, 9), [20.0, 60.0], "no window without a sample at or after its end");
        assert_eq!(usual.cpu_of_windows(100, 1), [20.0]);
        assert_eq!(usage(&[60, 100], &[7, 9]).cpu_of_windows(100, 1), [2.0], "nothing is known before the first");
        assert!(usage(&[], &[]).cpu_of_windows(100, 3).is_empty() && usage(&[0, 500], &[1]).cpu_of_windows(100, 3).is_empty());
    }
}
