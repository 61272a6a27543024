//! One measurement of a cell: times, counts, and what the generator itself needed.
//!
//! A measurement has the outcome of every request ([`Counts`], which must add up), histograms of
//! times, values by second, and the resources that the contender used. Start with [`Measurement`].

use crate::AgentReport;
use crate::circumstances::Circumstances;
use crate::database::DatabaseUsage;
use crate::fault::Fault;
use crate::usage::Usage;
use serde::{Deserialize, Serialize};
use spec::threshold::Readings;
use stats::Histogram;
use std::collections::BTreeMap;

/// One measurement of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// The cell's name.
    pub cell: String,
    /// The position within the trial, from 1.
    pub position: u32,
    /// When it began, counted from the start of the process; 0 in older records.
    #[serde(default)]
    pub began_after_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// From the scheduled instant to the complete response; `None` for a load without a schedule.
    pub latency: Option<Histogram>,
    /// From the instant of sending to the complete response.
    pub service: Histogram,
    /// The outcomes of the requests.
    pub counts: Counts,
    /// How often each status was received.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the correct responses, heads and bodies.
    pub received_bytes: u64,
    /// The first few incorrect responses, in words.
    pub examples: Vec<String>,
    /// One entry for each second.
    pub seconds: Vec<Second>,
    /// What the contender's process tree used.
    pub usage: Usage,
    /// CPU time of the upstream's process tree.
    pub upstream_cpu_ns: Option<u64>,
    /// Energy of the processor packages meanwhile, in microjoules, of the whole machine. In slices,
    /// only within the slices of the contender. `None` where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_uj: Option<u64>,
    /// What the database used, if the trial started one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseUsage>,
    /// What the generator did.
    pub generator: Generator,
    /// What the machine did during the measurement; `None` in older records.
    #[serde(default)]
    pub circumstances: Option<Circumstances>,
    /// How it alternated with those of the other contenders; `None` if it was made in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// Faults that only the lab could see. The judge finds the others.
    pub faults: Vec<Fault>,
}

/// A measurement in slices, in columns.
///
/// The load alternates between the contenders of a block, and each measures only while it has the
/// load. [`Measurement::duration_ns`] is the sum of the measured parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slices {
    /// The intended length of a slice.
    pub length_ns: u64,
    /// When each slice began, counted from the first slice of any contender.
    pub at_ns: Vec<u64>,
    /// The length of its measured part.
    pub measured_ns: Vec<u64>,
    /// Correct responses in that part. In a closed load, one at the edge counts with the share of
    /// its service time that lies within.
    pub correct: Vec<f64>,
    /// CPU time of the contender in the slice, including its lead and its drain.
    pub cpu_ns: Vec<u64>,
    /// CPU time of the contender between its previous slice and this one, while others had the
    /// load. 0 if it was paused: what it uses to be paused and resumed is not counted.
    pub idle_cpu_ns: Vec<u64>,
    /// Whether it was paused while others had the load.
    #[serde(default)]
    pub paused: bool,
    /// The sum of the lengths of the slices, including leads and drains.
    pub whole_ns: u64,
    /// CPU time on the contender's CPUs that is not in its usage: of the other contenders over the
    /// whole measurement, and its own outside its slices if it was paused.
    pub neighbours_cpu_ns: u64,
    /// CPU time of the other contenders within the slices of this one; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours_within_ns: Option<u64>,
    /// CPU time of the upstream that is not in [`Measurement::upstream_cpu_ns`], such as for other
    /// contenders; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_outside_ns: Option<u64>,
}

impl Slices {
    /// Returns the share of the contender's CPU time that it used while others had the load:
    /// garbage collection, compilers, timers.
    pub fn spill_over(&self) -> f64 {
        let idle: u64 = self.idle_cpu_ns.iter().sum();
        let all: u64 = idle + self.cpu_ns.iter().sum::<u64>();
        idle as f64 / all.max(1) as f64
    }
}

impl Measurement {
    /// Returns the latencies if there is a schedule, otherwise the service times.
    pub fn times(&self) -> &Histogram {
        self.latency.as_ref().unwrap_or(&self.service)
    }

    /// Returns how many scheduled requests were due but had no response when the measurement ended.
    /// These took longest. A closed load has none.
    pub fn unanswered(&self) -> u64 {
        if self.latency.is_some() {
            self.counts.unfinished.saturating_add(self.counts.unsent)
        } else {
            0
        }
    }

    /// Returns the correct responses per second. In slices, only their measured parts count.
    pub fn throughput_per_s(&self) -> f64 {
        let correct = self
            .slices
            .as_ref()
            .map_or(self.counts.correct as f64, |slices| slices.correct.iter().sum());
        correct / (self.duration_ns.max(1) as f64 / 1e9)
    }
}

/// The outcomes of requests. [`Counts::scheduled`] is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// All requests that were scheduled.
    pub scheduled: u64,
    /// Never sent: the measurement ended while they waited for a connection.
    pub unsent: u64,
    /// Correct responses.
    pub correct: u64,
    /// Responses that failed a check.
    pub wrong: u64,
    /// Declined by the contender, as the workload allows.
    pub declined: u64,
    /// The connection could not be made.
    pub refused: u64,
    /// Reset, closed early or malformed.
    pub broken: u64,
    /// No response within the timeout.
    pub timed_out: u64,
    /// Still in flight when the measurement ended.
    pub unfinished: u64,
}

impl Counts {
    /// Returns what thresholds are compared with.
    pub fn readings<'a>(&self, times: &'a Histogram, duration_ns: u64) -> Readings<'a> {
        Readings {
            times,
            scheduled: self.scheduled,
            correct: self.correct,
            failed: self.failed() + self.declined + self.unsent,
            duration_ns,
        }
    }

    /// Returns each outcome with its name.
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

    /// Adds two counts, outcome by outcome.
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

    /// Returns whether the outcomes add up to the scheduled requests.
    pub fn add_up(&self) -> bool {
        self.parts().iter().try_fold(0u64, |sum, (_, n)| sum.checked_add(*n))
            == Some(self.scheduled)
    }

    /// Returns the requests that the contender made fail: wrong, refused, broken or timed out.
    pub fn failed(&self) -> u64 {
        [self.refused, self.broken, self.timed_out]
            .into_iter()
            .fold(self.wrong, u64::saturating_add)
    }

    /// Returns the requests with an outcome: failed, declined or correct.
    pub fn settled(&self) -> u64 {
        self.failed().saturating_add(self.declined).saturating_add(self.correct)
    }
}

/// One second of a measurement, by the instant of the response.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Second {
    /// Correct responses.
    pub correct: u64,
    /// Failed and declined requests.
    pub not_correct: u64,
    /// Median latency; `None` from too few samples.
    pub p50_ns: Option<u64>,
    /// 99th percentile; `None` from too few samples.
    pub p99_ns: Option<u64>,
    /// Maximum latency; `None` without samples.
    pub max_ns: Option<u64>,
    /// When that response was complete, from the start of the measurement.
    #[serde(default)]
    pub max_at_ns: Option<u64>,
}

/// What the generator did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Generator {
    /// From the scheduled instant to the instant of sending; `None` for a load without a schedule.
    pub lag: Option<Histogram>,
    /// CPU time of the generator's thread, or of those of all agents.
    pub cpu_ns: u64,
    /// The part of it that was spent polling, in order not to oversleep.
    #[serde(default)]
    pub spun_ns: u64,
    /// The most requests in flight.
    pub in_flight_max: u64,
    /// Connections opened during the measurement.
    pub connections_opened: u64,
    /// How long each successful connection took to open; `None` in older records.
    #[serde(default)]
    pub connect: Option<Histogram>,
    /// Requests sent before the end of the planned time; `None` in older records.
    #[serde(default)]
    pub sent_in_time: Option<u64>,
    /// The mean number of requests in flight; `None` in older records.
    #[serde(default)]
    pub in_flight_mean: Option<f64>,
    /// When requests were sent, in microseconds from the start: a random sample of a thousand. Only
    /// for arrivals.
    #[serde(default)]
    pub sent_at_us: Vec<u64>,
    /// Correct responses in each tenth of a second, for the first minutes.
    #[serde(default)]
    pub correct_per_tenth: Vec<u32>,
    /// What each agent did, if agents made the load. The figures above are then the sums over all
    /// agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentReport>,
}

impl Generator {
    /// Returns the CPU time that the load itself needed.
    pub fn busy_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spun_ns)
    }

    /// Returns the number of event loops, each of which uses at most one CPU. A local load has one.
    pub fn loops(&self) -> u32 {
        self.agents.first().map_or(1, |agent| agent.loops_of_all.max(1))
    }
}
