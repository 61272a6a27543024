//! Capacity: the most users, or the highest rate, at which a written service level holds.

use crate::experiment::{Load, Overflow, Pause, RATE_MAX, RATE_MIN, Spacing, in_flight_for};
use crate::judgement::show_confidence;
use crate::reader::Table;
use crate::record::{Counts, Fault, STEAL_SHARE_MAX};
use crate::threshold::ServiceLevel;
use crate::units::{nanoseconds, show_duration, show_number};
use serde::{Deserialize, Serialize};
use stats::{Edge, Held, Interval};
use std::time::Duration;

/// What is looked for, and how: `load = { kind = "capacity", ... }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// What rises until the level breaks.
    pub of: Of,
    /// What must hold.
    pub service_level: ServiceLevel,
    /// Where the search begins: so many users, or so many requests per second.
    pub from: f64,
    /// Where it ends.
    pub at_most: f64,
    /// How long a probe takes, or longer where its level makes too few requests to tell.
    #[serde(with = "nanoseconds")]
    pub probe: Duration,
    /// Probes around the edge, in random order, once it is found.
    pub probes: u32,
}

/// What rises until the level breaks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// The number of users.
    Users {
        /// Before every request but a user's first.
        pause: Pause,
        /// Connections that all share; `None`: each user has one of its own.
        pooled: Option<u32>,
    },
    /// The rate of arrivals.
    Rate {
        /// How they lie in time.
        spacing: Spacing,
        /// Most requests under way; `None`: those of a tenth of a second, 1,024 at least.
        in_flight_max: Option<u32>,
    },
}

/// The usual length of a probe.
pub const USUAL_PROBE: Duration = Duration::from_secs(3);
/// The usual number of probes around the edge.
pub const USUAL_PROBES: u32 = 24;
/// The most users or, where nothing is said, the most that is tried.
pub const USERS_MAX: f64 = 1_000_000.0;
/// Where nothing is said, the search begins with so many users, or so many requests per second.
pub const USUAL_FROM: f64 = 10.0;
/// Of a probe, users begin one after the other within this share at most.
const RAMP_SHARE: u32 = 4;
/// A generator that was busier than this may itself be what broke a level.
const GENERATOR_BUSY_MAX: f64 = 0.90;
/// Resamples of an interval.
const RESAMPLES: usize = 2_000;

impl Of {
    /// Whether only whole levels make sense.
    pub fn is_whole(self) -> bool {
        matches!(self, Of::Users { .. })
    }

    /// The least level that can be tried.
    pub fn least(self) -> f64 {
        if self.is_whole() { 1.0 } else { RATE_MIN }
    }

    /// The highest level that can be tried.
    pub fn most(self) -> f64 {
        if self.is_whole() { USERS_MAX } else { RATE_MAX }
    }

    /// For people: `80 users`, `801/s`.
    pub fn show(self, level: f64) -> String {
        match self {
            Of::Users { .. } if level.round() == 1.0 => "1 user".to_owned(),
            Of::Users { .. } if level < 100.0 && level.fract() != 0.0 => format!("{level:.1} users"),
            Of::Users { .. } => format!("{level:.0} users"),
            Of::Rate { .. } => format!("{}/s", show_number(level)),
        }
    }
}

impl Capacity {
    /// The load of a level.
    pub fn load_at(&self, level: f64, duration: Duration) -> Load {
        match self.of {
            Of::Users { pause, pooled } => {
                let ramp = pause.mean().min(duration / RAMP_SHARE);
                Load::Users { users: level as u32, ramp, pause, rounds: None, pooled }
            }
            Of::Rate { spacing, in_flight_max } => Load::Arrivals {
                rate_per_s: level,
                stages: Vec::new(),
                spacing,
                in_flight_max: in_flight_max.unwrap_or_else(|| in_flight_for(level)),
                overflow: Overflow::Queue,
            },
        }
    }

    /// For people: `most users, pausing 1.0 s, with p95<100ms`.
    pub fn describe(&self) -> String {
        let of = match self.of {
            Of::Users { pause: Pause::Constant(pause), .. } if pause.is_zero() => "most users, no pause,".to_owned(),
            Of::Users { pause, .. } => format!("most users, pausing {},", pause.describe()),
            Of::Rate { spacing: Spacing::Even, .. } => "highest rate, evenly spaced,".to_owned(),
            Of::Rate { spacing: Spacing::Poisson, .. } => "highest rate, Poisson,".to_owned(),
        };
        format!("{of} with {}", self.service_level)
    }

    /// About how long it takes to find it: a search of ten levels, then the probes, each followed by a short rest.
    pub fn estimate(&self) -> Duration {
        (self.probe + Duration::from_millis(500)) * (self.probes + 10)
    }

    /// What contradicts itself, with what to do.
    pub fn contradiction(&self) -> Option<(String, &'static str)> {
        let (least, most) = (self.of.least(), self.of.most());
        let beyond = |level: f64| !(least..=most).contains(&level) || (self.of.is_whole() && level.fract() != 0.0);
        if beyond(self.from) || beyond(self.at_most) {
            let what = if self.of.is_whole() { "users are whole numbers from 1 to 1M" } else { "rates go from 0.001 to 10M" };
            return Some((format!("from {} to {}: {what}", self.from, self.at_most), "give other bounds"));
        }
        if self.from > self.at_most {
            return Some((format!("the search begins at {} and ends at {}", self.from, self.at_most), "begin lower, or allow more"));
        }
        if self.probe < Duration::from_millis(200) {
            return Some((format!("probes of {} are too short to tell anything", show_duration(self.probe)), "give them 3s or so"));
        }
        None
    }
}

/// Reads the rest of a load of the kind `capacity`.
pub(crate) fn walk(table: &Table<'_>) -> Option<Capacity> {
    let of_users = table.choice("of", &[("users", true), ("rate", false)]);
    if !table.has("of") {
        table.problem("of", "a capacity of what?", "write `of = \"users\"` or `of = \"rate\"`");
    }
    let pause = table.parsed("pause", Pause::parse).unwrap_or(Pause::Constant(Duration::ZERO));
    let pooled = table.integer("pooled", 1, 1_000_000).map(|n| n as u32);
    let spacing = table.choice("spacing", &[("even", Spacing::Even), ("poisson", Spacing::Poisson)]).unwrap_or_default();
    let in_flight_max = table.integer("in_flight_max", 1, 1_000_000).map(|n| n as u32);
    let strangers: &[&str] = match of_users {
        Some(true) => &["spacing", "in_flight_max"],
        Some(false) => &["pause", "pooled"],
        None => &[],
    };
    for key in strangers.iter().filter(|key| table.has(key)) {
        table.problem(
            key,
            format!("`{key}` makes no sense here"),
            "users have `pause` and `pooled`, a rate has `spacing` and `in_flight_max`",
        );
    }
    if !table.has("service_level") {
        table.problem(
            "service_level",
            "a capacity needs the level that must hold",
            "write `service_level = \"p95<100ms and errors<0.1%\"`",
        );
    }
    let service_level = table.parsed("service_level", ServiceLevel::parse);
    let of = if of_users.unwrap_or(true) { Of::Users { pause, pooled } } else { Of::Rate { spacing, in_flight_max } };
    let capacity = Capacity {
        of,
        from: table.number("from", of.least(), of.most()).unwrap_or(USUAL_FROM),
        at_most: table.number("at_most", of.least(), of.most()).unwrap_or(of.most()),
        probe: table.duration("probe").unwrap_or(USUAL_PROBE),
        probes: table.integer("probes", 6, 1000).map_or(USUAL_PROBES, |n| n as u32),
        service_level: service_level?,
    };
    if let Some((what, hint)) = capacity.contradiction() {
        table.problem("from", what, hint);
    }
    of_users.map(|_| capacity)
}

/// One probe: one level, for a short time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// So many users, or requests per second.
    pub level: f64,
    /// Whether it was one of those around the edge, in random order; else it was of the search.
    pub at_edge: bool,
    /// Whether the service level was kept; `None` where that could not be told.
    pub kept: Option<bool>,
    /// What was found: `p95=98.2ms, errors=0%`.
    pub found: String,
    /// How long it took.
    pub duration_ns: u64,
    /// What became of the requests.
    pub counts: Counts,
    /// Right answers per second.
    pub rate_per_s: f64,
    /// Latency, where there were enough right answers.
    pub p50_ns: Option<u64>,
    /// The same.
    pub p95_ns: Option<u64>,
    /// The same.
    pub p99_ns: Option<u64>,
    /// CPU that the generator needed, of the threads that it had.
    pub generator_busy: f64,
    /// Whether it fell behind its own schedule, though it was allowed more requests under way.
    pub generator_late: bool,
    /// What it had none left of, so that connecting failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_lacked: Option<Lacked>,
    /// CPU time of the contender; `None` where nobody knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contender_cpu_ns: Option<u64>,
    /// CPU time of what stands behind it, upstream and database; `None` where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_cpu_ns: Option<u64>,
    /// CPU time that the hypervisor took; `None` where that was not read.
    pub steal_share: Option<f64>,
    /// CPU time that other programs used, of the contender's CPUs or of the generator's; `None` where that was not read, or was too little to be told.
    #[serde(default)]
    pub others_share: Option<f64>,
    /// How the system ended while it was probed (`exit 3`): such a level is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// How the system came back from a level that it did not keep.
    pub recovery: Option<Recovery>,
}

/// What a generator has for its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lacked {
    /// Ports that connections are made from.
    Ports,
    /// Descriptors.
    Descriptors,
}

/// How a system came back from a level that it did not keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// How long it took until single requests were answered as quickly as at first.
    pub after_ns: u64,
    /// How.
    pub how: Recovered,
    /// What was wrong with its end, where it was started again: that it had ended by itself, was killed, or had run out of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Recovery {
    /// Whether nobody had to start it again.
    pub fn is_by_itself(&self) -> bool {
        self.how == Recovered::ByItself
    }
}

/// How a system came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovered {
    /// By itself.
    ByItself,
    /// It was started again.
    Restarted,
    /// Not at all.
    Not,
}

/// Why a probe says nothing about what was probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// There were too few requests.
    TooFew,
    /// The hypervisor took too much.
    Robbed,
    /// Other programs used too much of the CPUs.
    Disturbed,
    /// The generator may be what broke the level.
    Generator,
    /// The generator may not have descriptors enough for the level.
    Descriptors,
    /// The machine has not ports enough for the generator's connections.
    Ports,
}

impl Unfit {
    /// Whether it is the generator that cannot make the level.
    pub fn is_out_of_reach(self) -> bool {
        matches!(self, Unfit::Generator | Unfit::Descriptors | Unfit::Ports)
    }
}

impl Probe {
    /// Why it says nothing; `None` where it does.
    pub fn unfit(&self) -> Option<Unfit> {
        match self.kept {
            None => Some(Unfit::TooFew),
            _ if self.steal_share.is_some_and(|share| share > STEAL_SHARE_MAX) => Some(Unfit::Robbed),
            _ if self.others_share.is_some() => Some(Unfit::Disturbed),
            // Whoever is gone broke the level, however hard the generator tried to reach it.
            Some(false) if self.ended.is_some() => None,
            Some(false) if self.generator_lacked == Some(Lacked::Ports) => Some(Unfit::Ports),
            Some(false) if self.generator_lacked == Some(Lacked::Descriptors) => Some(Unfit::Descriptors),
            Some(false) if self.generator_busy > GENERATOR_BUSY_MAX || self.generator_late => Some(Unfit::Generator),
            Some(_) => None,
        }
    }

    /// What it says, if anything.
    pub fn says(&self) -> Option<Held> {
        self.kept.filter(|_| self.unfit().is_none()).map(|held| Held { level: self.level, held })
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Everything was probed, or a bound was reached.
    Done,
    /// The system did not answer rightly when it was asked nothing else.
    NeverQuiet,
    /// It did not come back from a level that it did not keep.
    NotRecovered,
    /// Probes of a level that the search needs said nothing, several times over.
    Unfit(Unfit),
    /// It was asked to stop.
    Stopped,
}

impl Ended {
    /// What a reader must know, where it ended before its time.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Ended::Done => None,
            Ended::NeverQuiet => Some("it did not answer rightly when nothing else was asked of it"),
            Ended::NotRecovered => Some("it did not come back from a level that it did not keep: this is what was known until then"),
            Ended::Unfit(Unfit::TooFew) => Some("a level makes too few requests for its quantiles: begin higher, or pause less"),
            Ended::Unfit(Unfit::Robbed) => Some("the hypervisor took too much, time and again: try when the host is quieter"),
            Ended::Unfit(Unfit::Disturbed) => Some("other programs used the CPUs, time and again: end what else runs"),
            Ended::Unfit(Unfit::Generator) => Some("the generator is the limit, not the system: give it more threads, or a CPU of its own"),
            Ended::Unfit(Unfit::Descriptors) => Some(
                "the generator may have no more descriptors: raise the limit (`ulimit -n`, the hard one included), or end the search lower",
            ),
            Ended::Unfit(Unfit::Ports) => Some(
                "there are no more ports to connect from: widen net.ipv4.ip_local_port_range, have users share connections, or end the search lower",
            ),
            Ended::Stopped => Some("it was interrupted"),
        }
    }
}

/// A cell whose capacity was looked for, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// The cell's name.
    pub cell: String,
    /// Its place within the trial, from 1.
    pub position: u32,
    /// In the order they were made.
    pub probes: Vec<Probe>,
    /// Why it ended.
    pub ended: Ended,
    /// Found when the record is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Searched {
    /// The edge; `None` where there is none, and where the search ended before it was looked for nearby: between a level that was kept and twice as
    /// much, which was not, everything is as likely.
    pub fn level(&self) -> Option<f64> {
        if !self.probes.iter().any(|probe| probe.at_edge && probe.says().is_some()) {
            return None;
        }
        let said: Vec<Held> = self.probes.iter().filter_map(Probe::says).collect();
        // Of the edge alone: what interval it has by itself, blocks do not ask.
        stats::edge(&said, 0.95, 1, 0).map(|edge| edge.level)
    }
}

/// The capacity that probes come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// Where half of the probes keep the level, with its interval.
    Edge {
        /// Users, or requests per second.
        level: f64,
        /// Bootstrap over probes.
        interval: Interval,
    },
    /// The highest level that was tried was kept.
    AtLeast(f64),
    /// The lowest level that was tried was not.
    Below(f64),
    /// No probe could be made use of.
    Unknown,
}

/// What probes come to, at a confidence.
pub fn estimate(probes: &[Probe], confidence: f64, seed: u64) -> Estimate {
    let said: Vec<Held> = probes.iter().filter_map(Probe::says).collect();
    if let Some(Edge { level, interval }) = stats::edge(&said, confidence, RESAMPLES, seed) {
        return Estimate::Edge { level, interval };
    }
    let highest_kept = said.iter().filter(|held| held.held).map(|held| held.level).reduce(f64::max);
    let lowest_broken = said.iter().filter(|held| !held.held).map(|held| held.level).reduce(f64::min);
    match (highest_kept, lowest_broken) {
        (None, None) => Estimate::Unknown,
        (None, Some(level)) => Estimate::Below(level),
        (Some(level), None) => Estimate::AtLeast(level),
        // Not half of them hold at the lowest, or not half of them break at the highest.
        (Some(_), Some(_)) => {
            let shares = stats::held_shares(&said);
            match (shares.first(), shares.last()) {
                (Some((lowest, share)), _) if *share < 0.5 => Estimate::Below(*lowest),
                (_, Some((highest, _))) => Estimate::AtLeast(*highest),
                _ => Estimate::Unknown,
            }
        }
    }
}

impl Estimate {
    /// The level, where there is an edge.
    pub fn level(&self) -> Option<f64> {
        if let Estimate::Edge { level, .. } = self { Some(*level) } else { None }
    }

    /// For people: `801/s (95 % interval 798/s to 803/s)`.
    pub fn describe(&self, of: Of, confidence: f64) -> String {
        match self {
            Estimate::Edge { level, interval } => format!(
                "{} ({} interval {} to {})",
                of.show(*level),
                show_confidence(confidence),
                of.show(interval.low),
                of.show(interval.high)
            ),
            Estimate::AtLeast(level) => format!("at least {}: the highest that was tried was kept", of.show(*level)),
            Estimate::Below(level) => format!("below {}: the lowest that was tried was not kept", of.show(*level)),
            Estimate::Unknown => "unknown: no probe could be made use of".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    fn probe(level: f64, kept: Option<bool>) -> Probe {
        Probe {
            level,
            at_edge: true,
            kept,
            found: String::new(),
            duration_ns: 1,
            counts: Counts::default(),
            rate_per_s: 0.0,
            p50_ns: None,
            p95_ns: None,
            p99_ns: None,
            generator_busy: 0.1,
            generator_late: false,
            generator_lacked: None,
            contender_cpu_ns: None,
            behind_cpu_ns: None,
            steal_share: Some(0.0),
            others_share: None,
            ended: None,
            recovery: None,
        }
    }

    #[test]
    fn probes_that_say_nothing_are_left_out() {
        let robbed = Probe { steal_share: Some(0.2), ..probe(20.0, Some(false)) };
        let bound = Probe { generator_busy: 0.95, ..probe(20.0, Some(false)) };
        let late = Probe { generator_late: true, ..probe(20.0, Some(false)) };
        let disturbed = Probe { others_share: Some(0.3), ..probe(20.0, Some(false)) };
        let without = |lacked| Probe { generator_lacked: Some(lacked), ..probe(20.0, Some(false)) };
        let all = [robbed, bound, late, disturbed, without(Lacked::Ports), without(Lacked::Descriptors), probe(20.0, None)];
        assert_eq!(
            all.each_ref().map(Probe::unfit).map(Option::unwrap),
            [Unfit::Robbed, Unfit::Generator, Unfit::Generator, Unfit::Disturbed, Unfit::Ports, Unfit::Descriptors, Unfit::TooFew]
        );
        assert_eq!(estimate(&all, 0.95, 1), Estimate::Unknown);
        // What is kept in spite of others is left out as well: else only luck would be.
        assert_eq!(Probe { others_share: Some(0.3), ..probe(20.0, Some(true)) }.says(), None);
        // Who refuses connections because it is gone keeps the generator busy.
        let gone = Probe { generator_busy: 0.95, generator_late: true, ended: Some("exit 3".into()), ..probe(20.0, Some(false)) };
        assert!(gone.says().is_some());
        // A busy generator breaks levels; it does not keep any.
        assert!(Probe { generator_busy: 0.95, ..probe(20.0, Some(true)) }.says().is_some());
        let with = |more: &[Probe]| estimate(&[&all[..], more].concat(), 0.95, 1);
        assert_eq!(with(&[probe(10.0, Some(true))]), Estimate::AtLeast(10.0));
        assert_eq!(with(&[probe(10.0, Some(false))]), Estimate::Below(10.0));
        let Estimate::Edge { level, interval } = with(&[probe(10.0, Some(true)), probe(40.0, Some(false))]) else { panic!() };
        assert!((level - 20.0).abs() < 1e-9 && interval.low <= 10.0 + 1e-9 && interval.high >= 40.0 - 1e-9);
    }

    #[test]
    fn a_search_that_never_came_near_the_edge_has_no_level() {
        let far = |level: f64, kept: bool| Probe { at_edge: false, ..probe(level, Some(kept)) };
        let mut searched =
            Searched { cell: "c".into(), position: 1, probes: vec![far(40.0, true), far(80.0, false)], ended: Ended::Done, faults: vec![] };
        assert_eq!(searched.level(), None, "40 and 80 say nothing of 57");
        searched.probes.push(probe(70.0, None));
        assert_eq!(searched.level(), None);
        searched.probes.push(probe(70.0, Some(true)));
        assert!((searched.level().unwrap() - (70.0f64 * 80.0).sqrt()).abs() < 1e-9);
    }

    fn read(quick: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let head = "name = \"x\"\nquestion = \"q\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n";
        let most = "[[cell]]\nname = \"most\"\nworkload = \"w\"\nload = { kind = \"capacity\", of = \"rate\", service_level = \"p95<1s\", probe = \"5s\" }\n";
        let plain = "[[cell]]\nname = \"plain\"\nworkload = \"w\"\nload = { kind = \"closed\", connections = 1 }\n";
        std::fs::write(&file, format!("{head}{most}{plain}[quick]\n{quick}\n")).unwrap();
        Experiment::read(&file).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_quick_form_may_probe_otherwise() {
        let probed = |experiment: Experiment| experiment.cells[0].load.capacity().map(|c| (c.probe.as_secs_f64(), c.probes));
        let experiment = read("probe = \"2s\"\nprobes = 6").unwrap();
        assert_eq!(probed(experiment.clone()), Some((5.0, USUAL_PROBES)));
        let text = serde_json::to_string(&experiment).unwrap();
        let again: Experiment = serde_json::from_str(&text).unwrap();
        assert_eq!((probed(again.clone().quickened()), again == experiment), (Some((2.0, 6)), true));
        assert_eq!(probed(read("blocks = 2").unwrap().quickened()), Some((5.0, USUAL_PROBES)));
        let said = |quick: &str| read(quick).unwrap_err();
        assert!(said("probe = \"2s\"\ncells = [\"plain\"]").contains("[quick] speaks of probes, and looks for no capacity"));
        assert!(said("probe = \"2ms\"").contains("too short to tell anything") && said("probes = 5").contains("must be from 6"));
    }

    #[test]
    fn levels_are_shown_in_their_unit() {
        let users = Of::Users { pause: Pause::Constant(Duration::ZERO), pooled: None };
        let rate = Of::Rate { spacing: Spacing::Even, in_flight_max: None };
        assert_eq!([1.0, 79.5, 80.0, 12_345.6].map(|n| users.show(n)), ["1 user", "79.5 users", "80 users", "12346 users"]);
        assert_eq!(rate.show(801.3), "801/s");
        let found = Estimate::Edge { level: 801.3, interval: Interval { low: 798.0, high: 803.0 } };
        assert_eq!(found.describe(rate, 0.95), "801/s (95 % interval 798/s to 803/s)");
    }
}
