//! Capacity: the most users, or the highest rate, at which a service level holds.
//!
//! A cell with `load = { kind = "capacity", ... }` is not measured at a fixed level. The crate
//! `lab` searches for the edge with short loads (probes), then probes around the edge in random
//! order. This file has the settings of that search. Start with [`Capacity`].

use super::{Load, Overflow, Pause, RATE_MAX, RATE_MIN, Spacing, in_flight_for};
use crate::reader::Table;
use crate::threshold::ServiceLevel;
use crate::units::{nanoseconds, show_duration, show_number};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is searched for, and how: `load = { kind = "capacity", ... }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// The quantity that rises until the service level breaks.
    pub of: Quantity,
    /// The service level that must hold.
    pub service_level: ServiceLevel,
    /// The level at which the search begins: users, or requests per second.
    pub from: f64,
    /// The highest level that is tried.
    pub at_most: f64,
    /// The length of a probe. It is longer if its level makes too few requests to decide.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub probe: Duration,
    /// The number of probes around the edge, in random order, after the search.
    pub probes: u32,
}

/// The quantity that rises until the service level breaks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The number of users.
    Users {
        /// The pause before every request except a user's first.
        pause: Pause,
        /// The number of connections that all users share; `None` gives each user its own.
        pooled: Option<u32>,
    },
    /// The rate of arrivals.
    Rate {
        /// How arrivals are spaced.
        spacing: Spacing,
        /// The most requests in flight; `None` allows those of a tenth of a second, but at least
        /// 1,024.
        in_flight_max: Option<u32>,
    },
}

/// The default length of a probe.
pub const USUAL_PROBE: Duration = Duration::from_secs(3);
/// The default number of probes around the edge.
pub const USUAL_PROBES: u32 = 24;
/// The most users, and the default of the highest level that is tried.
pub const USERS_MAX: f64 = 1_000_000.0;
/// The default level at which the search begins: users, or requests per second.
pub const USUAL_FROM: f64 = 10.0;
/// The users of a probe begin one after the other within at most this share of it.
const RAMP_SHARE: u32 = 4;

impl Quantity {
    /// Returns whether levels are whole numbers.
    pub fn is_whole(self) -> bool {
        matches!(self, Quantity::Users { .. })
    }

    /// Returns the lowest level that can be tried.
    pub fn least(self) -> f64 {
        if self.is_whole() { 1.0 } else { RATE_MIN }
    }

    /// Returns the highest level that can be tried.
    pub fn most(self) -> f64 {
        if self.is_whole() { USERS_MAX } else { RATE_MAX }
    }

    /// Shows a level for people: `80 users`, `801/s`.
    pub fn show(self, level: f64) -> String {
        match self {
            Quantity::Users { .. } if level.round() == 1.0 => "1 user".to_owned(),
            Quantity::Users { .. } if level < 100.0 && level.fract() != 0.0 => {
                format!("{level:.1} users")
            }
            Quantity::Users { .. } => format!("{level:.0} users"),
            Quantity::Rate { .. } => format!("{}/s", show_number(level)),
        }
    }
}

impl Capacity {
    /// Returns the load of a level.
    pub fn load_at(&self, level: f64, duration: Duration) -> Load {
        match self.of {
            Quantity::Users { pause, pooled } => {
                let ramp = pause.mean().min(duration / RAMP_SHARE);
                Load::Users { users: level as u32, ramp, pause, rounds: None, pooled }
            }
            Quantity::Rate { spacing, in_flight_max } => Load::Arrivals {
                rate_per_s: level,
                stages: Vec::new(),
                spacing,
                in_flight_max: in_flight_max.unwrap_or_else(|| in_flight_for(level)),
                overflow: Overflow::Queue,
            },
        }
    }

    /// Describes the search: `most users, pausing 1.0 s, with p95<100ms`.
    pub fn describe(&self) -> String {
        let of = match self.of {
            Quantity::Users { pause: Pause::Constant(pause), .. } if pause.is_zero() => {
                "most users, no pause,".to_owned()
            }
            Quantity::Users { pause, .. } => format!("most users, pausing {},", pause.describe()),
            Quantity::Rate { spacing: Spacing::Even, .. } => {
                "highest rate, evenly spaced,".to_owned()
            }
            Quantity::Rate { spacing: Spacing::Poisson, .. } => "highest rate, Poisson,".to_owned(),
        };
        format!("{of} with {}", self.service_level)
    }

    /// Estimates how long the search takes: ten levels, then the probes, each followed by a short
    /// rest.
    pub fn estimate(&self) -> Duration {
        (self.probe + Duration::from_millis(500)) * (self.probes + 10)
    }

    /// Returns which settings contradict each other, with what to do.
    pub fn contradiction(&self) -> Option<(String, &'static str)> {
        let (least, most) = (self.of.least(), self.of.most());
        let beyond = |level: f64| {
            !(least..=most).contains(&level) || (self.of.is_whole() && level.fract() != 0.0)
        };
        if beyond(self.from) || beyond(self.at_most) {
            let what = if self.of.is_whole() {
                "users are whole numbers from 1 to 1M"
            } else {
                "rates go from 0.001 to 10M"
            };
            return Some((
                format!("from {} to {}: {what}", self.from, self.at_most),
                "give other bounds",
            ));
        }
        if self.from > self.at_most {
            return Some((
                format!("the search begins at {} and ends at {}", self.from, self.at_most),
                "begin lower, or allow more",
            ));
        }
        if self.probe < Duration::from_millis(200) {
            return Some((
                format!("probes of {} are too short", show_duration(self.probe)),
                "write about 3s",
            ));
        }
        None
    }
}

/// Reads the other fields of a load of the kind `capacity`.
pub(crate) fn parse_capacity(table: &Table<'_>) -> Option<Capacity> {
    let of_users = table.choice("of", &[("users", true), ("rate", false)]);
    if !table.has("of") {
        table.problem("of", "a capacity of what?", "write `of = \"users\"` or `of = \"rate\"`");
    }
    let pause = table.parsed("pause", Pause::parse).unwrap_or(Pause::Constant(Duration::ZERO));
    let pooled = table.integer("pooled", 1, 1_000_000).map(|n| n as u32);
    let spacing = table
        .choice("spacing", &[("even", Spacing::Even), ("poisson", Spacing::Poisson)])
        .unwrap_or_default();
    let in_flight_max = table.integer("in_flight_max", 1, 1_000_000).map(|n| n as u32);
    let strangers: &[&str] = match of_users {
        Some(true) => &["spacing", "in_flight_max"],
        Some(false) => &["pause", "pooled"],
        None => &[],
    };
    for key in strangers.iter().filter(|key| table.has(key)) {
        table.problem(
            key,
            format!("`{key}` does not apply here"),
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
    let of = if of_users.unwrap_or(true) {
        Quantity::Users { pause, pooled }
    } else {
        Quantity::Rate { spacing, in_flight_max }
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

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
    fn a_quick_form_may_change_the_probes() {
        let probed = |experiment: Experiment| {
            experiment.cells[0].load.capacity().map(|c| (c.probe.as_secs_f64(), c.probes))
        };
        let experiment = read("probe = \"2s\"\nprobes = 6").unwrap();
        assert_eq!(probed(experiment.clone()), Some((5.0, USUAL_PROBES)));
        let text = serde_json::to_string(&experiment).unwrap();
        let again: Experiment = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (probed(again.clone().quickened()), again == experiment),
            (Some((2.0, 6)), true)
        );
        assert_eq!(probed(read("blocks = 2").unwrap().quickened()), Some((5.0, USUAL_PROBES)));
        let refused = |quick: &str| read(quick).unwrap_err();
        assert!(
            refused("probe = \"2s\"\ncells = [\"plain\"]")
                .contains("[quick] speaks of probes, and looks for no capacity")
        );
        assert!(
            refused("probe = \"2ms\"").contains("too short")
                && refused("probes = 5").contains("must be from 6")
        );
    }

    #[test]
    fn levels_are_shown_in_their_unit() {
        let users = Quantity::Users { pause: Pause::Constant(Duration::ZERO), pooled: None };
        let rate = Quantity::Rate { spacing: Spacing::Even, in_flight_max: None };
        assert_eq!(
            [1.0, 79.5, 80.0, 12_345.6].map(|n| users.show(n)),
            ["1 user", "79.5 users", "80 users", "12346 users"]
        );
        assert_eq!(rate.show(801.3), "801/s");
    }
}
