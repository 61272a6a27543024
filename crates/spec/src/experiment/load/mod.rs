//! How requests arrive: at a rate, as fast as responses come, or from users.
//!
//! The kind of load decides what a measurement can show. Arrivals keep to a schedule, so a slow
//! response delays no later request. A closed load waits for each response, so throughput and
//! latency are two sides of one figure. Users pause between requests. A capacity is a search over
//! many short loads.
//!
//! Start with [`Load`].

pub mod capacity;

use self::capacity::Capacity;
use super::sweep::Axis;
use crate::name::did_you_mean;
use crate::reader::{Levels, Table};
use crate::units::{nanoseconds, parse_duration, show_duration, show_number};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Load {
    /// On a schedule, independent of responses.
    Arrivals {
        /// Requests per second at the start, and until a stage changes it.
        rate_per_s: f64,
        /// How the rate changes, one stage after the other. The last rate continues to the end.
        #[serde(default)]
        stages: Vec<Stage>,
        /// How arrivals are spaced.
        #[serde(default)]
        spacing: Spacing,
        /// The most requests in flight.
        in_flight_max: u32,
        /// What happens to requests that are due when the limit is reached.
        #[serde(default)]
        overflow: Overflow,
    },
    /// Each connection sends its next request when it has a response.
    Closed {
        /// Connections.
        connections: u32,
        /// Requests in flight on each connection. HTTP/1.1 pipelines them, HTTP/2 uses one stream
        /// for each.
        #[serde(default = "one")]
        depth: u32,
    },
    /// Users, each of whom sends the workload's requests in order, with pauses.
    Users {
        /// The number of users.
        users: u32,
        /// The time over which they begin, one after the other and evenly.
        #[serde(with = "nanoseconds")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        ramp: Duration,
        /// The pause between a response and the user's next request. There is none before the first
        /// request.
        pause: Pause,
        /// How often each user sends all requests; `None` means until the time is over.
        rounds: Option<u64>,
        /// The number of connections that all users share; `None` gives each user its own.
        pooled: Option<u32>,
    },
    /// The highest level at which a service level holds, found by many short loads.
    Capacity(Capacity),
}

fn one() -> u32 {
    1
}

/// A linear change of the rate. The rate may stay the same, or jump if the stage takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Requests per second at its end.
    pub to_per_s: f64,
    /// How long the stage takes.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub over: Duration,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Evenly.
    #[default]
    Even,
    /// At exponential intervals, like independent clients.
    Poisson,
}

/// What happens to requests that are due when the limit in flight is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// They wait, and the waiting time counts as latency.
    #[default]
    Queue,
    /// They are dropped, and counted as unsent.
    Shed,
}

/// How long a user waits between a response and the next request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Always this long.
    Constant(
        #[serde(with = "nanoseconds")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        Duration,
    ),
    /// Uniformly distributed between two times.
    Uniform {
        /// The shortest pause.
        #[serde(with = "nanoseconds")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        from: Duration,
        /// The longest pause.
        #[serde(with = "nanoseconds")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        to: Duration,
    },
    /// Exponentially distributed with this mean.
    Exponential(
        #[serde(with = "nanoseconds")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        Duration,
    ),
}

impl Load {
    /// Makes evenly spaced arrivals at one rate, queued beyond `in_flight_max`.
    pub fn arrivals(rate_per_s: f64, in_flight_max: u32) -> Load {
        Load::Arrivals {
            rate_per_s,
            stages: Vec::new(),
            spacing: Spacing::Even,
            in_flight_max,
            overflow: Overflow::Queue,
        }
    }

    /// Makes a closed load with one request at a time on each connection.
    pub fn closed(connections: u32) -> Load {
        Load::Closed { connections, depth: 1 }
    }

    /// Changes the level of a parameter.
    pub(crate) fn set(&mut self, parameter: &str, level: f64) {
        match (self, parameter) {
            (Load::Arrivals { rate_per_s, .. }, "rate") => *rate_per_s = level,
            (Load::Closed { connections, .. }, "connections") => *connections = level as u32,
            (Load::Closed { depth, .. }, "depth") => *depth = level as u32,
            (Load::Users { users, .. }, "users") => *users = level as u32,
            // No other parameter is read as a level.
            _ => {}
        }
    }

    /// Returns the settings of the search, if the load is a capacity.
    pub fn capacity(&self) -> Option<&Capacity> {
        if let Load::Capacity(capacity) = self { Some(capacity) } else { None }
    }

    /// Returns whether requests have a scheduled instant.
    pub fn has_schedule(&self) -> bool {
        !matches!(self, Load::Closed { .. })
    }

    /// Returns when the last request of a schedule is due, if the schedule ends at a rate of 0.
    pub fn ends_after(&self) -> Option<Duration> {
        match self {
            Load::Arrivals { stages, .. }
                if stages.last().is_some_and(|last| last.to_per_s == 0.0) =>
            {
                Some(stages.iter().map(|stage| stage.over).sum())
            }
            _ => None,
        }
    }

    /// Estimates how long users with a number of rounds need, from the first user's start to the
    /// last one's end. Response times are not known before the measurement, so they are assumed to
    /// be short.
    pub fn rounds_take(&self, requests: usize) -> Option<Duration> {
        let Load::Users { ramp, pause, rounds: Some(rounds), .. } = self else { return None };
        let each = requests as f64 * *rounds as f64;
        let pauses = pause.mean().as_secs_f64() * (each - 1.0).max(0.0);
        Some(
            Duration::try_from_secs_f64(
                ramp.as_secs_f64() + pauses + each * SHORT_ANSWER.as_secs_f64(),
            )
            .unwrap_or(Duration::MAX),
        )
    }

    /// Returns the most requests that can be in flight.
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Load::Arrivals { in_flight_max, .. } => u64::from(*in_flight_max),
            Load::Closed { connections, depth } => u64::from(*connections) * u64::from(*depth),
            Load::Users { users, .. } => u64::from(*users),
            Load::Capacity(capacity) => {
                capacity.load_at(capacity.at_most, capacity.probe).in_flight_max()
            }
        }
    }

    /// Returns how many users begin within the measured time; `None` if all do, or if the load has
    /// no users.
    pub fn users_cut(&self, measure: Duration) -> Option<u32> {
        let Load::Users { users, ramp, .. } = self else { return None };
        let share = measure.as_secs_f64() / ramp.as_secs_f64();
        (measure < *ramp).then(|| (f64::from(*users) * share).ceil() as u32)
    }

    /// Returns how many arrivals are expected until an instant: the area under the rate. `None` for
    /// a load without a rate.
    pub fn expected_until(&self, seconds: f64) -> Option<f64> {
        let Load::Arrivals { rate_per_s, stages, .. } = self else { return None };
        let (mut expected, mut rate, mut left) = (0.0, *rate_per_s, seconds.max(0.0));
        for stage in stages {
            let long = stage.over.as_secs_f64();
            let within = left.min(long);
            if long > 0.0 {
                let reached = rate + (stage.to_per_s - rate) * within / long;
                expected += (rate + reached) / 2.0 * within;
            }
            (rate, left) = (stage.to_per_s, left - within);
            if left <= 0.0 {
                return Some(expected);
            }
        }
        Some(expected + rate * left)
    }

    /// Describes the load: `arrivals at 200/s, evenly spaced`.
    pub fn describe(&self) -> String {
        match self {
            Load::Arrivals { rate_per_s, stages, spacing, .. } => {
                let mut text = format!("arrivals at {}/s", show_number(*rate_per_s));
                for stage in stages {
                    text += &format!(
                        ", to {}/s over {}",
                        show_number(stage.to_per_s),
                        show_duration(stage.over)
                    );
                }
                text + match spacing {
                    Spacing::Even => ", evenly spaced",
                    Spacing::Poisson => ", Poisson",
                }
            }
            Load::Closed { connections, depth } => {
                let connections = if *connections == 1 {
                    "1 connection".to_owned()
                } else {
                    format!("{connections} connections")
                };
                match depth {
                    1 => format!("closed loop, {connections}"),
                    _ => format!("closed loop, {connections} with {depth} requests each"),
                }
            }
            Load::Users { users, ramp, pause, rounds, pooled } => {
                let mut text = format!("{users} user{}", if *users == 1 { "" } else { "s" });
                if !ramp.is_zero() {
                    text += &format!(" over {}", show_duration(*ramp));
                }
                text += &match pause {
                    Pause::Constant(pause) if pause.is_zero() => ", no pause".to_owned(),
                    pause => format!(", pausing {}", pause.describe()),
                };
                if let Some(rounds) = rounds {
                    text +=
                        &format!(", {rounds} round{} each", if *rounds == 1 { "" } else { "s" });
                }
                if let Some(pooled) = pooled {
                    text += &format!(
                        ", sharing {pooled} connection{}",
                        if *pooled == 1 { "" } else { "s" }
                    );
                }
                text
            }
            Load::Capacity(capacity) => capacity.describe(),
        }
    }
}

/// Returns a level of the load. Several levels become an axis of the sweep, and the first is
/// returned.
fn level(found: Option<Levels<f64>>, parameter: &str, axes: &mut Vec<Axis>) -> Option<f64> {
    match found? {
        Levels::One(level) => Some(level),
        Levels::Several(levels) => {
            let first = levels.first().copied();
            axes.push(Axis { parameter: parameter.to_owned(), levels, of_load: true });
            first
        }
    }
}

pub(super) fn parse_load(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    let kind = table.required_string("kind");
    match kind.as_str() {
        "arrivals" => parse_arrivals(table, axes),
        "closed" => {
            if !table.has("connections") {
                table.problem(
                    "connections",
                    "a closed load needs its connections",
                    "write `connections = 64`",
                );
            }
            Load::Closed {
                connections: level(
                    table.integer_levels("connections", 1, 1_000_000),
                    "connections",
                    axes,
                )
                .unwrap_or(1.0) as u32,
                depth: level(table.integer_levels("depth", 1, 10_000), "depth", axes).unwrap_or(1.0)
                    as u32,
            }
        }
        "users" => parse_users(table, axes),
        "capacity" => capacity::parse_capacity(table).map_or(Load::closed(1), Load::Capacity),
        other => {
            if table.has("kind") {
                table.problem(
                    "kind",
                    format!("unknown load `{other}`"),
                    did_you_mean(other, ["arrivals", "closed", "users", "capacity"]),
                );
            }
            // Accepts any other field, so that it is not reported as unknown as well.
            table.ignore_rest();
            Load::closed(1)
        }
    }
}

fn parse_arrivals(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    if !table.has("rate") {
        table.problem("rate", "arrivals need a rate", "write `rate = 100`, in requests per second");
    }
    Load::Arrivals {
        rate_per_s: level(table.number_levels("rate", RATE_MIN, RATE_MAX), "rate", axes)
            .unwrap_or(1.0),
        stages: table.tables("stages", |stage| Stage {
            to_per_s: stage.number("to", 0.0, RATE_MAX).unwrap_or_else(|| {
                if !stage.has("to") {
                    stage.problem(
                        "to",
                        "a stage needs the rate that it leads to",
                        "write `{ to = 200, over = \"10s\" }`",
                    );
                }
                1.0
            }),
            over: stage.duration("over").unwrap_or(Duration::ZERO),
        }),
        spacing: table
            .choice("spacing", &[("even", Spacing::Even), ("poisson", Spacing::Poisson)])
            .unwrap_or_default(),
        in_flight_max: table.integer("in_flight_max", 1, 1_000_000).unwrap_or(DEFAULT_IN_FLIGHT)
            as u32,
        overflow: table
            .choice("overflow", &[("queue", Overflow::Queue), ("shed", Overflow::Shed)])
            .unwrap_or_default(),
    }
}

fn parse_users(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    if !table.has("users") {
        table.problem("users", "the load does not say how many users", "write `users = 1000`");
    }
    let pause = table.string("pause").map(|text| Pause::parse(&text));
    if let Some(Err(why)) = &pause {
        table.problem(
            "pause",
            why.clone(),
            "write `1s`, `1s..2s`, or `~1s` for exponential pauses with that mean",
        );
    }
    Load::Users {
        users: level(table.integer_levels("users", 1, 1_000_000), "users", axes).unwrap_or(1.0)
            as u32,
        ramp: table.duration("ramp").unwrap_or(Duration::ZERO),
        pause: pause.and_then(Result::ok).unwrap_or(Pause::Constant(Duration::ZERO)),
        rounds: table.integer("rounds", 1, u64::MAX),
        pooled: table.integer("pooled", 1, 1_000_000).map(|n| n as u32),
    }
}

impl Pause {
    /// Returns the mean pause.
    pub fn mean(&self) -> Duration {
        match self {
            Pause::Constant(pause) | Pause::Exponential(pause) => *pause,
            Pause::Uniform { from, to } => (*from + *to) / 2,
        }
    }

    /// Describes the pause: `1.0 s`, `1.0 s to 2.0 s`, `1.0 s on average (exponential)`.
    pub fn describe(&self) -> String {
        match self {
            Pause::Constant(pause) => show_duration(*pause),
            Pause::Uniform { from, to } => {
                format!("{} to {}", show_duration(*from), show_duration(*to))
            }
            Pause::Exponential(mean) => {
                format!("{} on average (exponential)", show_duration(*mean))
            }
        }
    }

    /// Reads `1s`, `1s..2s` or `~1s`. The last means exponential pauses with that mean.
    ///
    /// # Errors
    /// Why the text is none of these.
    pub fn parse(text: &str) -> Result<Pause, String> {
        if let Some(mean) = text.strip_prefix('~') {
            return Ok(Pause::Exponential(parse_duration(mean)?));
        }
        match text.split_once("..") {
            None => Ok(Pause::Constant(parse_duration(text)?)),
            Some((from, to)) => {
                let (from, to) = (parse_duration(from)?, parse_duration(to)?);
                if from > to {
                    return Err(format!(
                        "a pause from {} to {} ends before it begins",
                        show_duration(from),
                        show_duration(to)
                    ));
                }
                Ok(Pause::Uniform { from, to })
            }
        }
    }
}

/// The response time that the estimate of users' rounds assumes.
const SHORT_ANSWER: Duration = Duration::from_millis(1);

/// The default limit of requests in flight, for a load with a schedule.
pub const DEFAULT_IN_FLIGHT: u64 = 1024;

/// The default limit in flight is the number of requests that arrive in this time, within bounds.
const IN_FLIGHT_S: f64 = 0.1;

const IN_FLIGHT_MOST: f64 = 16_384.0;

/// Returns the default limit in flight for arrivals at a rate, for a command line or a capacity.
pub fn in_flight_for(rate_per_s: f64) -> u32 {
    (rate_per_s * IN_FLIGHT_S).clamp(DEFAULT_IN_FLIGHT as f64, IN_FLIGHT_MOST) as u32
}

/// The lowest rate of arrivals, per second. A stage may lead to 0.
pub const RATE_MIN: f64 = 0.001;

/// The highest rate of arrivals, per second.
pub const RATE_MAX: f64 = 10_000_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_take_ramp_pauses_and_short_responses() {
        const S: Duration = Duration::from_secs(1);
        let users =
            |ramp, pause, rounds| Load::Users { users: 100, ramp, pause, rounds, pooled: None };
        assert_eq!(
            users(30 * S, Pause::Uniform { from: S, to: 2 * S }, Some(30)).rounds_take(1),
            Some(Duration::from_millis(73_530))
        );
        assert_eq!(
            users(S, Pause::Exponential(2 * S), Some(2)).rounds_take(3),
            Some(Duration::from_millis(11_006))
        );
        assert_eq!(
            users(60 * S, Pause::Constant(9 * S), Some(1)).rounds_take(1),
            Some(Duration::from_millis(60_001)),
            "no user pauses before its first request"
        );
        assert_eq!(
            users(S, Pause::Constant(S), Some(u64::MAX)).rounds_take(1),
            Some(Duration::MAX)
        );
        assert_eq!(users(S, Pause::Constant(S), None).rounds_take(1), None);
        assert_eq!(Load::closed(1).rounds_take(1), None);
    }
}
