//! What a search for a capacity recorded: its probes, why it ended, and the resulting level.
//!
//! A probe loads a contender at one level for a short time and tells whether the service level
//! held. Some probes tell nothing: too few requests, CPU steal, or an overloaded generator
//! ([`Unfit`]). Some are out of date, because later ones contradict them ([`told`]). From the others
//! [`estimate`] computes the level that half of the probes hold, with an interval.
//!
//! Start with [`Probe`] and [`CapacitySearch`].

use crate::judgement::show_confidence;
use crate::{Counts, Fault, STEAL_SHARE_MAX};
use serde::{Deserialize, Serialize};
use spec::experiment::capacity::Quantity;
use stats::{Edge, Held, Interval};

/// A generator that was busier than this may have broken the level itself.
const GENERATOR_BUSY_MAX: f64 = 0.90;
/// The number of resamples for an interval.
const RESAMPLES: usize = 2_000;
/// The number of probes in a round around the edge.
pub const ROUND: usize = 6;

/// One probe: one level, for a short time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probe {
    /// The level: users, or requests per second.
    pub level: f64,
    /// Whether it was one of the probes around the edge, in random order. Otherwise it belonged to
    /// the search.
    pub at_edge: bool,
    /// Whether the service level held; `None` if that could not be decided.
    pub kept: Option<bool>,
    /// The measured values: `p95=98.2ms, errors=0%`.
    pub found: String,
    /// How long it took.
    pub duration_ns: u64,
    /// The outcomes of its requests.
    pub counts: Counts,
    /// Correct responses per second.
    pub rate_per_s: f64,
    /// Median latency, if there were enough correct responses.
    pub p50_ns: Option<u64>,
    /// 95th percentile of latency, likewise.
    pub p95_ns: Option<u64>,
    /// 99th percentile of latency, likewise.
    pub p99_ns: Option<u64>,
    /// CPU time of the generator, as a share of the time of its threads.
    pub generator_busy: f64,
    /// Whether the generator fell behind its schedule although more requests in flight were
    /// allowed.
    pub generator_late: bool,
    /// The resource that the generator ran out of, so that connections failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_lacked: Option<Lacked>,
    /// CPU time of the contender; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contender_cpu_ns: Option<u64>,
    /// CPU time of upstream and database; `None` if there is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_cpu_ns: Option<u64>,
    /// CPU steal, as a share; `None` if it was not read.
    pub steal_share: Option<f64>,
    /// CPU time that other programs used of the contender's or the generator's CPUs, as a share.
    /// `None` if it was not read, or was too small to be certain.
    #[serde(default)]
    pub others_share: Option<f64>,
    /// How the system ended during the probe (`exit 3`). Such a level does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// How the system recovered from a level that did not hold.
    pub recovery: Option<Recovery>,
}

/// A resource that a generator needs for its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lacked {
    /// Local ports.
    Ports,
    /// Open descriptors.
    Descriptors,
}

/// How a system recovered from a level that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recovery {
    /// The time until single requests were as fast as at the beginning.
    pub after_ns: u64,
    /// The kind of recovery.
    pub how: Recovered,
    /// What was wrong with its end, if it was restarted: it had ended by itself, was killed, or ran
    /// out of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Recovery {
    /// Returns whether it recovered without a restart.
    pub fn is_by_itself(&self) -> bool {
        self.how == Recovered::ByItself
    }
}

/// The kind of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Recovered {
    /// By itself.
    ByItself,
    /// It was restarted.
    Restarted,
    /// Not at all.
    Not,
}

/// Why a probe tells nothing about the contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// There were too few requests.
    TooFew,
    /// CPU steal was too high.
    Stolen,
    /// Other programs used too much of the CPUs.
    Disturbed,
    /// The generator may have broken the level itself.
    Generator,
    /// The generator may not have enough descriptors for the level.
    Descriptors,
    /// The machine does not have enough ports for the generator's connections.
    Ports,
}

impl Unfit {
    /// Returns whether the generator cannot reach the level.
    pub fn is_out_of_reach(self) -> bool {
        matches!(self, Unfit::Generator | Unfit::Descriptors | Unfit::Ports)
    }
}

impl Probe {
    /// Returns why the probe tells nothing; `None` if it is usable.
    pub fn unfit(&self) -> Option<Unfit> {
        match self.kept {
            None => Some(Unfit::TooFew),
            _ if self.steal_share.is_some_and(|share| share > STEAL_SHARE_MAX) => {
                Some(Unfit::Stolen)
            }
            _ if self.others_share.is_some() => Some(Unfit::Disturbed),
            // A contender that ended broke the level, however busy the generator was.
            Some(false) if self.ended.is_some() => None,
            Some(false) if self.generator_lacked == Some(Lacked::Ports) => Some(Unfit::Ports),
            Some(false) if self.generator_lacked == Some(Lacked::Descriptors) => {
                Some(Unfit::Descriptors)
            }
            Some(false) if self.generator_busy > GENERATOR_BUSY_MAX || self.generator_late => {
                Some(Unfit::Generator)
            }
            Some(_) => None,
        }
    }

    /// Returns whether the level held, if the probe tells that.
    pub fn says(&self) -> Option<Held> {
        self.kept.filter(|_| self.unfit().is_none()).map(|held| Held { level: self.level, held })
    }
}

/// Returns the probes that tell whether their level holds, with what they tell. It leaves out those
/// that are unfit, and those that later ones contradict: the system has changed since (a JVM became
/// warm, say).
pub fn told(probes: &[Probe]) -> Vec<(&Probe, Held)> {
    let mut told: Vec<(&Probe, Held)> = Vec::new();
    let leave_out = |told: &mut Vec<(&Probe, Held)>, later: Held| {
        told.retain(|(_, earlier)| !contradicts(later, *earlier));
    };
    let last_round = |told: &[(&Probe, Held)]| -> Option<Held> {
        let at_edge = told.iter().rev().take_while(|(before, _)| before.at_edge);
        agreed(&at_edge.take(ROUND).map(|(_, result)| *result).collect::<Vec<_>>())
    };
    for probe in probes {
        // The search for the edge begins anew after a round that shows none.
        if !probe.at_edge
            && let Some(round) = last_round(&told)
        {
            leave_out(&mut told, round);
        }
        let Some(result) = probe.says() else { continue };
        if !probe.at_edge {
            leave_out(&mut told, result);
        }
        told.push((probe, result));
    }
    if let Some(round) = last_round(&told) {
        leave_out(&mut told, round);
    }
    told
}

/// Returns the results of the probes that tell whether their level holds.
pub fn results(probes: &[Probe]) -> Vec<Held> {
    told(probes).into_iter().map(|(_, result)| result).collect()
}

/// Returns the highest result of a whole round around the edge if every level was kept, the lowest
/// if none was. `None` if they disagree, so that the edge is among them.
pub fn agreed(round: &[Held]) -> Option<Held> {
    let first = round.first().filter(|_| round.len() >= ROUND)?;
    let farther = |a: Held, b: Held| if (a.level > b.level) == first.held { a } else { b };
    let all_agree = round.iter().all(|result| result.held == first.held);
    round.iter().copied().reduce(farther).filter(|_| all_agree)
}

/// Returns whether a result contradicts an earlier one. Levels below one that is kept are kept, and
/// those above one that is broken are broken.
pub fn contradicts(later: Held, earlier: Held) -> bool {
    let is_beyond = match later.held {
        true => earlier.level <= later.level,
        false => earlier.level >= later.level,
    };
    later.held != earlier.held && is_beyond
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Everything was probed, or a bound was reached.
    Done,
    /// The system gave no correct response even without other load.
    NeverQuiet,
    /// The system did not recover from a level that did not hold.
    NotRecovered,
    /// Several probes of a needed level were unusable.
    Unfit(Unfit),
    /// The run was stopped.
    Stopped,
}

impl Ended {
    /// Returns what a reader must know if the search ended early.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Ended::Done => None,
            Ended::NeverQuiet => Some("it gave no correct response even without other load"),
            Ended::NotRecovered => Some(
                "it did not recover from a level that did not hold: this is what was known until then",
            ),
            Ended::Unfit(Unfit::TooFew) => Some(
                "a level makes too few requests for its quantiles: begin higher, or pause less",
            ),
            Ended::Unfit(Unfit::Stolen) => {
                Some("CPU steal was too high, repeatedly: try again when the host is quieter")
            }
            Ended::Unfit(Unfit::Disturbed) => {
                Some("other programs used the CPUs, repeatedly: stop them")
            }
            Ended::Unfit(Unfit::Generator) => Some(
                "the generator is the limit, not the system: give it more threads, or a CPU of its own",
            ),
            Ended::Unfit(Unfit::Descriptors) => Some(
                "the generator may have run out of descriptors: raise the limit (`ulimit -n`, the hard one included), or end the search lower",
            ),
            Ended::Unfit(Unfit::Ports) => Some(
                "no local ports are left for connections: widen net.ipv4.ip_local_port_range, have users share connections, or end the search lower",
            ),
            Ended::Stopped => Some("it was interrupted"),
        }
    }
}

/// One search for the capacity of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacitySearch {
    /// The cell's name.
    pub cell: String,
    /// The position within the trial, from 1.
    pub position: u32,
    /// All probes, in order.
    pub probes: Vec<Probe>,
    /// Why it ended.
    pub ended: Ended,
    /// Faults, which are found when the record is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl CapacitySearch {
    /// Returns the level of the edge; `None` if there is none, or if the search ended before it
    /// probed around the edge. Between a level that held and twice as much, which did not, every
    /// level is equally likely.
    pub fn level(&self) -> Option<f64> {
        let told = told(&self.probes);
        if !told.iter().any(|(probe, _)| probe.at_edge) {
            return None;
        }
        let usable: Vec<Held> = told.into_iter().map(|(_, result)| result).collect();
        // Only the edge is used. Blocks do not need its interval.
        stats::edge(&usable, 0.95, 1, 0).map(|edge| edge.level)
    }
}

/// The capacity according to the probes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// The level that half of the probes hold, with its interval.
    Edge {
        /// Users, or requests per second.
        level: f64,
        /// The interval, from a bootstrap over probes.
        interval: Interval,
    },
    /// The highest level that was tried held.
    AtLeast(f64),
    /// The lowest level that was tried did not hold.
    Below(f64),
    /// No probe was usable.
    Unknown,
}

/// Estimates the capacity from probes, at a confidence.
pub fn estimate(probes: &[Probe], confidence: f64, seed: u64) -> Estimate {
    let usable = results(probes);
    if let Some(Edge { level, interval }) = stats::edge(&usable, confidence, RESAMPLES, seed) {
        return Estimate::Edge { level, interval };
    }
    let highest_kept =
        usable.iter().filter(|held| held.held).map(|held| held.level).reduce(f64::max);
    let lowest_broken =
        usable.iter().filter(|held| !held.held).map(|held| held.level).reduce(f64::min);
    match (highest_kept, lowest_broken) {
        (None, None) => Estimate::Unknown,
        (None, Some(level)) => Estimate::Below(level),
        (Some(level), None) => Estimate::AtLeast(level),
        // Fewer than half of the probes hold at the lowest level, or fewer than half break at the
        // highest.
        (Some(_), Some(_)) => {
            let shares = stats::held_shares(&usable);
            match (shares.first(), shares.last()) {
                (Some((lowest, share)), _) if *share < 0.5 => Estimate::Below(*lowest),
                (_, Some((highest, _))) => Estimate::AtLeast(*highest),
                _ => Estimate::Unknown,
            }
        }
    }
}

impl Estimate {
    /// Returns the level, if there is an edge.
    pub fn level(&self) -> Option<f64> {
        if let Estimate::Edge { level, .. } = self { Some(*level) } else { None }
    }

    /// Returns the level with its interval; `None` if no probe was usable.
    pub fn found(&self) -> Option<FoundCapacity> {
        let (level, low, high) = match self {
            Estimate::Edge { level, interval } => {
                (Some(*level), Some(interval.low), Some(interval.high))
            }
            Estimate::AtLeast(level) => (None, Some(*level), None),
            Estimate::Below(level) => (None, None, Some(*level)),
            Estimate::Unknown => return None,
        };
        Some(FoundCapacity { level, low, high })
    }

    /// Describes the capacity: `801/s (95 % interval 798/s to 803/s)`.
    pub fn describe(&self, of: Quantity, confidence: f64) -> String {
        match self {
            Estimate::Edge { level, interval } => format!(
                "{} ({} interval {} to {})",
                of.show(*level),
                show_confidence(confidence),
                of.show(interval.low),
                of.show(interval.high)
            ),
            Estimate::AtLeast(level) => {
                format!("at least {}: the highest level that was tried held", of.show(*level))
            }
            Estimate::Below(level) => {
                format!("below {}: the lowest level that was tried did not hold", of.show(*level))
            }
            Estimate::Unknown => "unknown: no probe was usable".to_owned(),
        }
    }
}

/// Names the form of [`CapacityReport`].
pub const SCHEMA: &str = "faceoff.capacity.v1";

/// What `faceoff load --capacity --format json` prints.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityReport<'a> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What was searched for, in words.
    pub load: String,
    /// What a level counts.
    pub of: Counted,
    /// What must hold.
    pub service_level: String,
    /// The level that was found; null if no probe was usable.
    pub capacity: Option<FoundCapacity>,
    /// The confidence of the interval.
    pub confidence: f64,
    /// Why the search ended early; null if it did not.
    pub warning: Option<&'static str>,
    /// How long the search took.
    pub took_s: f64,
    /// Levels with the share of probes that hold there, fitted so that it never rises.
    pub curve: Vec<(f64, f64)>,
    /// The probes, in the order they were made.
    pub probes: &'a [Probe],
}

/// What a level counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Users at once.
    Users,
    /// Requests per second.
    Rate,
}

/// A capacity with its interval. An end that is not known is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundCapacity {
    /// The level that half of the probes hold.
    pub level: Option<f64>,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::experiment::Spacing;

    fn probe(level: f64, kept: Option<bool>) -> Probe {
        Probe {
            level,
            at_edge: true,
            kept,
            duration_ns: 1,
            generator_busy: 0.1,
            steal_share: Some(0.0),
            ..Probe::default()
        }
    }

    #[test]
    fn unfit_probes_are_left_out() {
        let stolen = Probe { steal_share: Some(0.2), ..probe(20.0, Some(false)) };
        let bound = Probe { generator_busy: 0.95, ..probe(20.0, Some(false)) };
        let late = Probe { generator_late: true, ..probe(20.0, Some(false)) };
        let disturbed = Probe { others_share: Some(0.3), ..probe(20.0, Some(false)) };
        let without = |lacked| Probe { generator_lacked: Some(lacked), ..probe(20.0, Some(false)) };
        let all = [
            stolen,
            bound,
            late,
            disturbed,
            without(Lacked::Ports),
            without(Lacked::Descriptors),
            probe(20.0, None),
        ];
        assert_eq!(
            all.each_ref().map(Probe::unfit).map(Option::unwrap),
            [
                Unfit::Stolen,
                Unfit::Generator,
                Unfit::Generator,
                Unfit::Disturbed,
                Unfit::Ports,
                Unfit::Descriptors,
                Unfit::TooFew
            ]
        );
        assert_eq!(estimate(&all, 0.95, 1), Estimate::Unknown);
        // A disturbed probe that held is excluded as well. Otherwise only lucky ones would remain.
        assert_eq!(Probe { others_share: Some(0.3), ..probe(20.0, Some(true)) }.says(), None);
        // A contender that has ended refuses connections, which keeps the generator busy.
        let gone = Probe {
            generator_busy: 0.95,
            generator_late: true,
            ended: Some("exit 3".into()),
            ..probe(20.0, Some(false))
        };
        assert!(gone.says().is_some());
        // A busy generator can break a level, but cannot make it hold.
        assert!(Probe { generator_busy: 0.95, ..probe(20.0, Some(true)) }.says().is_some());
        let with = |more: &[Probe]| estimate(&[&all[..], more].concat(), 0.95, 1);
        assert_eq!(with(&[probe(10.0, Some(true))]), Estimate::AtLeast(10.0));
        assert_eq!(with(&[probe(10.0, Some(false))]), Estimate::Below(10.0));
        let Estimate::Edge { level, interval } =
            with(&[probe(10.0, Some(true)), probe(40.0, Some(false))])
        else {
            panic!()
        };
        assert!(
            (level - 20.0).abs() < 1e-9
                && interval.low <= 10.0 + 1e-9
                && interval.high >= 40.0 - 1e-9
        );
    }

    /// Levels of 400 and 800 broke while the system was cold. A round around 600 is kept up to 900,
    /// so 400 and 800 are out of date, and 1,600 is not.
    #[test]
    fn results_that_later_ones_contradict_are_out_of_date() {
        let search = |level, kept| Probe { at_edge: false, ..probe(level, Some(kept)) };
        let round =
            |kept| [500.0, 900.0, 450.0, 600.0, 800.0, 700.0].map(|level| probe(level, Some(kept)));
        let levels = |probes: &[Probe], held: bool| -> Vec<f64> {
            let told = told(probes).into_iter().filter(|(_, result)| result.held == held);
            told.map(|(probe, _)| probe.level).collect()
        };
        let cold = [400.0, 1_600.0, 800.0].map(|level| search(level, false));
        assert_eq!(levels(&cold, false).len(), 3);
        let stolen = Probe { steal_share: Some(0.2), ..search(1_500.0, true) };
        let warm = [search(1_600.0, false), search(1_200.0, true)];
        let mut probes = [&cold[..], &round(true), &[stolen], &warm].concat();
        assert_eq!(levels(&probes[..9], false), [1_600.0], "the round contradicts 400 and 800");
        assert_eq!(levels(&probes, false), [1_600.0, 1_600.0]);
        assert_eq!(levels(&probes, true).len(), 7);
        let Estimate::Edge { level, .. } = estimate(&probes, 0.95, 1) else { panic!() };
        assert!((level / (1_200.0f64 * 1_600.0).sqrt() - 1.0).abs() < 0.01, "{level}");
        // The new search may find the level kept that broke before.
        probes.push(search(1_700.0, true));
        assert!(levels(&probes, false).is_empty());
        // A round that does not agree contradicts nothing.
        probes[5].kept = Some(false);
        assert_eq!(levels(&probes[..9], false), [400.0, 1_600.0, 800.0, 450.0]);
        // A system that becomes slower.
        let fast = [search(400.0, true), search(800.0, true), search(1_600.0, false)];
        let probes = [&fast[..], &round(false), &[search(225.0, true)]].concat();
        assert_eq!(levels(&probes, true), [400.0, 225.0]);
    }

    #[test]
    fn a_search_that_never_came_near_the_edge_has_no_level() {
        let far = |level: f64, kept: bool| Probe { at_edge: false, ..probe(level, Some(kept)) };
        let mut searched = CapacitySearch {
            cell: "c".into(),
            position: 1,
            probes: vec![far(40.0, true), far(80.0, false)],
            ended: Ended::Done,
            faults: vec![],
        };
        assert_eq!(searched.level(), None, "40 and 80 say nothing of 57");
        searched.probes.push(probe(70.0, None));
        assert_eq!(searched.level(), None);
        searched.probes.push(probe(70.0, Some(true)));
        assert!((searched.level().unwrap() - (70.0f64 * 80.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn an_edge_is_shown_with_its_interval() {
        let rate = Quantity::Rate { spacing: Spacing::Even, in_flight_max: None };
        let found = Estimate::Edge { level: 801.3, interval: Interval { low: 798.0, high: 803.0 } };
        assert_eq!(found.describe(rate, 0.95), "801/s (95 % interval 798/s to 803/s)");
    }
}
