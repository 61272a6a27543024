//! How requests come: as fast as they are answered, at a rate, or from users.

use crate::capacity::{self, Capacity};
use crate::name::did_you_mean;
use crate::reader::{Levels, Table};
use crate::sweep::Axis;
use crate::units::{nanoseconds, parse_duration, show_duration, show_number};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Load {
    /// On a schedule, whatever the answers do.
    Arrivals {
        /// Requests per second, at the start and as long as no stage says otherwise.
        rate_per_s: f64,
        /// How the rate goes on, one stage after the other; the last rate holds to the end.
        #[serde(default)]
        stages: Vec<Stage>,
        /// How arrivals lie in time.
        #[serde(default)]
        spacing: Spacing,
        /// Most requests under way at once.
        in_flight_max: u32,
        /// What becomes of those that come when so many are under way.
        #[serde(default)]
        overflow: Overflow,
    },
    /// As fast as answered.
    Closed {
        /// Connections.
        connections: u32,
        /// Requests under way on each: HTTP/1.1 pipelines them, HTTP/2 has a stream for each.
        #[serde(default = "one")]
        depth: u32,
    },
    /// People, or what behaves like them: each makes the workload's requests in order, with pauses.
    Users {
        /// How many.
        users: u32,
        /// They begin one after the other, evenly over this time.
        #[serde(with = "nanoseconds")]
        ramp: Duration,
        /// Before every request but a user's first, from the answer before.
        pause: Pause,
        /// How often each makes all requests; `None`: until the time is over.
        rounds: Option<u64>,
        /// Connections that all share; `None`: each user has one of its own.
        pooled: Option<u32>,
    },
    /// The most of one of these at which a service level holds: many short loads, one after the other.
    Capacity(Capacity),
}

fn one() -> u32 {
    1
}

/// A linear change of the rate; a level where the rate stays, a jump where it takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second at its end.
    pub to_per_s: f64,
    /// How long it takes.
    #[serde(with = "nanoseconds")]
    pub over: Duration,
}

/// How arrivals lie in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Evenly.
    #[default]
    Even,
    /// As those of many who know nothing of each other: exponential intervals.
    Poisson,
}

/// What becomes of requests that come when the most are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// They wait, and waiting counts as latency.
    #[default]
    Queue,
    /// They are not sent, and counted as unsent.
    Shed,
}

/// How long a user waits between an answer and the next request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Always so long.
    Constant(#[serde(with = "nanoseconds")] Duration),
    /// Anything between, all alike likely.
    Uniform {
        /// At least.
        #[serde(with = "nanoseconds")]
        from: Duration,
        /// At most.
        #[serde(with = "nanoseconds")]
        to: Duration,
    },
    /// Exponential with this mean.
    Exponential(#[serde(with = "nanoseconds")] Duration),
}

impl Load {
    /// Evenly spaced arrivals at one rate, queued beyond `in_flight_max`.
    pub fn arrivals(rate_per_s: f64, in_flight_max: u32) -> Load {
        Load::Arrivals { rate_per_s, stages: Vec::new(), spacing: Spacing::Even, in_flight_max, overflow: Overflow::Queue }
    }

    /// As fast as answered, one request at a time on each connection.
    pub fn closed(connections: u32) -> Load {
        Load::Closed { connections, depth: 1 }
    }

    /// The same load at another level of a parameter.
    pub(crate) fn set(&mut self, parameter: &str, level: f64) {
        match (self, parameter) {
            (Load::Arrivals { rate_per_s, .. }, "rate") => *rate_per_s = level,
            (Load::Closed { connections, .. }, "connections") => *connections = level as u32,
            (Load::Closed { depth, .. }, "depth") => *depth = level as u32,
            (Load::Users { users, .. }, "users") => *users = level as u32,
            // It has no other that is read as a level.
            _ => {}
        }
    }

    /// What is looked for, where it is a capacity.
    pub fn capacity(&self) -> Option<&Capacity> {
        if let Load::Capacity(capacity) = self { Some(capacity) } else { None }
    }

    /// Whether requests have a scheduled instant.
    pub fn has_schedule(&self) -> bool {
        !matches!(self, Load::Closed { .. })
    }

    /// When the last request of a schedule is due, where it ends by itself: behind a last stage to a rate of 0.
    pub fn ends_after(&self) -> Option<Duration> {
        match self {
            Load::Arrivals { stages, .. } if stages.last().is_some_and(|last| last.to_per_s == 0.0) => {
                Some(stages.iter().map(|stage| stage.over).sum())
            }
            _ => None,
        }
    }

    /// About how long users need who make a number of rounds of so many requests, from the first user's beginning to the last one's end. How long answers
    /// take is known of no workload before it is measured: they are taken as short.
    pub fn rounds_take(&self, requests: usize) -> Option<Duration> {
        let Load::Users { ramp, pause, rounds: Some(rounds), .. } = self else { return None };
        let each = requests as f64 * *rounds as f64;
        let pauses = pause.mean().as_secs_f64() * (each - 1.0).max(0.0);
        Some(Duration::try_from_secs_f64(ramp.as_secs_f64() + pauses + each * SHORT_ANSWER.as_secs_f64()).unwrap_or(Duration::MAX))
    }

    /// Most requests that can be under way at once.
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Load::Arrivals { in_flight_max, .. } => u64::from(*in_flight_max),
            Load::Closed { connections, depth } => u64::from(*connections) * u64::from(*depth),
            Load::Users { users, .. } => u64::from(*users),
            Load::Capacity(capacity) => capacity.load_at(capacity.at_most, capacity.probe).in_flight_max(),
        }
    }

    /// How many users begin within the time measured; `None` where all do, or where there are none.
    pub fn users_cut(&self, measure: Duration) -> Option<u32> {
        let Load::Users { users, ramp, .. } = self else { return None };
        let share = measure.as_secs_f64() / ramp.as_secs_f64();
        (measure < *ramp).then(|| (f64::from(*users) * share).ceil() as u32)
    }

    /// How many arrivals are expected until an instant: the area under the rate. `None` for a load without a rate.
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

    /// For people: `arrivals at 200/s, evenly spaced`.
    pub fn describe(&self) -> String {
        match self {
            Load::Arrivals { rate_per_s, stages, spacing, .. } => {
                let mut text = format!("arrivals at {}/s", show_number(*rate_per_s));
                for stage in stages {
                    text += &format!(", to {}/s over {}", show_number(stage.to_per_s), show_duration(stage.over));
                }
                text + match spacing {
                    Spacing::Even => ", evenly spaced",
                    Spacing::Poisson => ", Poisson",
                }
            }
            Load::Closed { connections, depth } => {
                let connections = if *connections == 1 { "1 connection".to_owned() } else { format!("{connections} connections") };
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
                    text += &format!(", {rounds} round{} each", if *rounds == 1 { "" } else { "s" });
                }
                if let Some(pooled) = pooled {
                    text += &format!(", sharing {pooled} connection{}", if *pooled == 1 { "" } else { "s" });
                }
                text
            }
            Load::Capacity(capacity) => capacity.describe(),
        }
    }
}

/// A level of the load; of several the first, and all of them are swept.
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

pub(super) fn walk_load(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    let kind = table.required_string("kind");
    match kind.as_str() {
        "arrivals" => walk_arrivals(table, axes),
        "closed" => {
            if !table.has("connections") {
                table.problem("connections", "a closed load needs its connections", "write `connections = 64`");
            }
            Load::Closed {
                connections: level(table.integer_levels("connections", 1, 1_000_000), "connections", axes).unwrap_or(1.0) as u32,
                depth: level(table.integer_levels("depth", 1, 10_000), "depth", axes).unwrap_or(1.0) as u32,
            }
        }
        "users" => walk_users(table, axes),
        "capacity" => capacity::walk(table).map_or(Load::closed(1), Load::Capacity),
        other => {
            if table.has("kind") {
                table.problem("kind", format!("unknown load `{other}`"), did_you_mean(other, ["arrivals", "closed", "users", "capacity"]));
            }
            // Read whatever stands there, so that it is not called unknown as well.
            table.ignore_rest();
            Load::closed(1)
        }
    }
}

fn walk_arrivals(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    if !table.has("rate") {
        table.problem("rate", "arrivals need a rate", "write `rate = 100`, in requests per second");
    }
    Load::Arrivals {
        rate_per_s: level(table.number_levels("rate", RATE_MIN, RATE_MAX), "rate", axes).unwrap_or(1.0),
        stages: table.tables("stages", |stage| Stage {
            to_per_s: stage.number("to", 0.0, RATE_MAX).unwrap_or_else(|| {
                if !stage.has("to") {
                    stage.problem("to", "a stage needs the rate that it leads to", "write `{ to = 200, over = \"10s\" }`");
                }
                1.0
            }),
            over: stage.duration("over").unwrap_or(Duration::ZERO),
        }),
        spacing: table.choice("spacing", &[("even", Spacing::Even), ("poisson", Spacing::Poisson)]).unwrap_or_default(),
        in_flight_max: table.integer("in_flight_max", 1, 1_000_000).unwrap_or(DEFAULT_IN_FLIGHT) as u32,
        overflow: table.choice("overflow", &[("queue", Overflow::Queue), ("shed", Overflow::Shed)]).unwrap_or_default(),
    }
}

fn walk_users(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    if !table.has("users") {
        table.problem("users", "the load does not say how many users", "write `users = 1000`");
    }
    let pause = table.string("pause").map(|text| Pause::parse(&text));
    if let Some(Err(why)) = &pause {
        table.problem("pause", why.clone(), "write `1s`, `1s..2s`, or `~1s` for exponential pauses with that mean");
    }
    Load::Users {
        users: level(table.integer_levels("users", 1, 1_000_000), "users", axes).unwrap_or(1.0) as u32,
        ramp: table.duration("ramp").unwrap_or(Duration::ZERO),
        pause: pause.and_then(Result::ok).unwrap_or(Pause::Constant(Duration::ZERO)),
        rounds: table.integer("rounds", 1, u64::MAX),
        pooled: table.integer("pooled", 1, 1_000_000).map(|n| n as u32),
    }
}

impl Pause {
    /// How long it is on average.
    pub fn mean(&self) -> Duration {
        match self {
            Pause::Constant(pause) | Pause::Exponential(pause) => *pause,
            Pause::Uniform { from, to } => (*from + *to) / 2,
        }
    }

    /// For people: `1.0 s`, `1.0 s to 2.0 s`, `1.0 s on average (exponential)`.
    pub fn describe(&self) -> String {
        match self {
            Pause::Constant(pause) => show_duration(*pause),
            Pause::Uniform { from, to } => format!("{} to {}", show_duration(*from), show_duration(*to)),
            Pause::Exponential(mean) => format!("{} on average (exponential)", show_duration(*mean)),
        }
    }

    /// Reads `1s`, `1s..2s` or `~1s`, the last for exponential pauses with that mean.
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
                    return Err(format!("a pause from {} to {} ends before it begins", show_duration(from), show_duration(to)));
                }
                Ok(Pause::Uniform { from, to })
            }
        }
    }
}

/// What an answer is taken to need where a plan says how long users' rounds take.
const SHORT_ANSWER: Duration = Duration::from_millis(1);

/// How many requests may be under way where a load with a schedule does not say.
pub const DEFAULT_IN_FLIGHT: u64 = 1024;

/// Most requests under way by default: those of so many seconds, if none were answered, but within bounds.
const IN_FLIGHT_S: f64 = 0.1;

const IN_FLIGHT_MOST: f64 = 16_384.0;

/// The most requests under way of arrivals at a rate, where a command line or a capacity does not say.
pub fn in_flight_for(rate_per_s: f64) -> u32 {
    (rate_per_s * IN_FLIGHT_S).clamp(DEFAULT_IN_FLIGHT as f64, IN_FLIGHT_MOST) as u32
}

/// The least rate of arrivals, per second; a stage may lead to 0.
pub const RATE_MIN: f64 = 0.001;

/// The greatest rate of arrivals, per second.
pub const RATE_MAX: f64 = 10_000_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_take_the_ramp_the_pauses_between_requests_and_short_answers() {
        const S: Duration = Duration::from_secs(1);
        let users = |ramp, pause, rounds| Load::Users { users: 100, ramp, pause, rounds, pooled: None };
        assert_eq!(users(30 * S, Pause::Uniform { from: S, to: 2 * S }, Some(30)).rounds_take(1), Some(Duration::from_millis(73_530)));
        assert_eq!(users(S, Pause::Exponential(2 * S), Some(2)).rounds_take(3), Some(Duration::from_millis(11_006)));
        assert_eq!(
            users(60 * S, Pause::Constant(9 * S), Some(1)).rounds_take(1),
            Some(Duration::from_millis(60_001)),
            "nobody pauses before a first request"
        );
        assert_eq!(users(S, Pause::Constant(S), Some(u64::MAX)).rounds_take(1), Some(Duration::MAX));
        assert_eq!(users(S, Pause::Constant(S), None).rounds_take(1), None);
        assert_eq!(Load::closed(1).rounds_take(1), None);
    }
}
