//! Reads thread groups: those of JMeter and of its plugins become users or arrivals.
//!
//! Each kind of group describes its load in its own way: with a ramp, in steps, as rows, or as a
//! schedule (`schedule.rs`). Start with [`Plan::load_of_group`].

use super::super::shortened;
use super::super::xml::Node;
use super::Plan;
use super::schedule::{self, Arrivals};
use spec::experiment::{
    DEFAULT_IN_FLIGHT, Load, Overflow, Pause, RATE_MAX, RATE_MIN, Spacing, Stage,
};
use std::time::Duration;

/// The limit of requests in flight, if the plan has none.
const IN_FLIGHT: u32 = DEFAULT_IN_FLIGHT as u32;

/// The load of a thread group.
pub struct GroupLoad {
    pub load: Load,
    pub duration: Option<Duration>,
}

enum Kind {
    Plain,
    OpenModel,
    Ultimate,
    Concurrency,
    Stepping,
    Arrivals,
    FreeForm,
    Unknown,
}

fn kind(tag: &str) -> Kind {
    match tag.rsplit('.').next().unwrap_or(tag) {
        "ThreadGroup" => Kind::Plain,
        "OpenModelThreadGroup" => Kind::OpenModel,
        "UltimateThreadGroup" => Kind::Ultimate,
        "ConcurrencyThreadGroup" => Kind::Concurrency,
        "SteppingThreadGroup" => Kind::Stepping,
        "ArrivalsThreadGroup" => Kind::Arrivals,
        "FreeFormArrivalsThreadGroup" => Kind::FreeForm,
        _ => Kind::Unknown,
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_millis((seconds * 1e3).round() as u64)
}

fn users(users: f64, ramp: f64, pause: Pause) -> Load {
    Load::Users { users: users as u32, ramp: seconds(ramp), pause, rounds: None, pooled: None }
}

impl<'x> Plan<'x> {
    /// Returns the load of a thread group with these pauses and this number of requests.
    pub fn load_of_group(&mut self, node: &'x Node, pause: Pause, requests: usize) -> GroupLoad {
        if let "stopthread" | "stoptest" | "stoptestnow" | "startnextloop" =
            node.value_of("ThreadGroup.on_sample_error")
        {
            let what = if node.value_of("ThreadGroup.on_sample_error") == "startnextloop" {
                "that an error begins a new round"
            } else {
                "that an error ends users"
            };
            self.imported.lost.add(format!("{what} of {}", node.title()), "users go on");
        }
        match kind(&node.tag) {
            Kind::Plain => self.plain(node, pause),
            Kind::Ultimate => self.ultimate(node, pause),
            Kind::Concurrency => self.concurrency(node, pause),
            Kind::Stepping => self.stepping(node, pause),
            Kind::OpenModel => {
                let text = self
                    .texts
                    .fixed(node.value_of("OpenModelThreadGroup.schedule"), &mut self.imported)
                    .unwrap_or_default();
                match schedule::read_schedule(&text) {
                    Ok(arrivals) => self.arrivals(node, &arrivals, IN_FLIGHT, pause, requests),
                    Err(why) => self.unknown_load(
                        node,
                        pause,
                        &format!("its schedule `{}` cannot be read: {why}", shortened(&text)),
                    ),
                }
            }
            Kind::Arrivals => self.ramped_arrivals(node, pause, requests),
            Kind::FreeForm => self.free_arrivals(node, pause, requests),
            Kind::Unknown => {
                self.unknown_load(node, pause, "this kind of thread group is not supported")
            }
        }
    }

    fn unknown_load(&mut self, node: &Node, pause: Pause, why: &str) -> GroupLoad {
        self.imported.lost.add(
            format!("the load of {}", node.title()),
            format!("{why}: its requests are sent by one user"),
        );
        GroupLoad { load: users(1.0, 0.0, pause), duration: None }
    }

    fn plain(&mut self, node: &Node, pause: Pause) -> GroupLoad {
        let (threads, ramp) = (
            self.figure(node, "ThreadGroup.num_threads", 1.0..=1e6),
            self.figure(node, "ThreadGroup.ramp_time", 0.0..=1e6),
        );
        let load = Load::Users {
            users: threads.unwrap_or(1.0) as u32,
            ramp: seconds(ramp.unwrap_or(0.0)),
            pause,
            rounds: self.rounds(node),
            pooled: None,
        };
        let mut duration = None;
        if node.flag("ThreadGroup.scheduler") {
            duration = self.figure(node, "ThreadGroup.duration", 0.001..=1e6).map(seconds);
            self.delayed(node, "ThreadGroup.delay");
        }
        GroupLoad { load, duration }
    }

    /// Returns how often users go through the requests; `None` if they never stop.
    fn rounds(&mut self, node: &Node) -> Option<u64> {
        let inner = node.property("ThreadGroup.main_controller");
        let loops =
            inner.map_or("1", |inner| inner.value_of("LoopController.loops")).trim().to_owned();
        let forever = inner.is_some_and(|inner| inner.flag("LoopController.continue_forever"))
            && loops.is_empty();
        if loops == "-1" || forever {
            return None;
        }
        Some(
            self.texts
                .number(&loops, "the number of loops", 1.0..=1e15, &mut self.imported)
                .unwrap_or(1.0) as u64,
        )
    }

    /// Reads a number of a thread group. Messages name it with its group.
    fn figure(
        &mut self,
        node: &Node,
        property: &str,
        bounds: std::ops::RangeInclusive<f64>,
    ) -> Option<f64> {
        let what = format!("{property} of {}", node.title());
        self.texts.number(node.value_of(property), &what, bounds, &mut self.imported)
    }

    fn delayed(&mut self, node: &Node, property: &str) {
        if self.figure(node, property, 0.0..=1e9).is_some_and(|delay| delay > 0.0) {
            self.imported
                .lost
                .add(format!("the start-up delay of {}", node.title()), "a load begins at once");
        }
    }

    /// Reads rows of users: their number, delay, and the times to start, stay and stop.
    fn ultimate(&mut self, node: &Node, pause: Pause) -> GroupLoad {
        let rows = self.rows(node, "ultimatethreadgroupdata");
        let all: Vec<[f64; 5]> =
            rows.iter().filter_map(|row| <[f64; 5]>::try_from(row.as_slice()).ok()).collect();
        let most = all.iter().map(|row| row[0]).sum::<f64>();
        if all.is_empty() || all.len() != rows.len() || !(1.0..=1e6).contains(&most) {
            return self.unknown_load(node, pause, "its rows cannot be read");
        }
        let begin = all.iter().map(|row| row[1]).fold(f64::INFINITY, f64::min);
        let ramped = all.iter().map(|row| row[1] + row[2]).fold(0.0, f64::max) - begin;
        let ended = all.iter().map(|row| row[1] + row[2] + row[3]).fold(0.0, f64::max) - begin;
        if all.len() > 1 {
            let why = "users of all rows start within one ramp, and stay to the end";
            self.imported.lost.add(format!("the {} rows of {}", all.len(), node.title()), why);
        }
        if begin > 0.0 {
            self.imported
                .lost
                .add(format!("the start-up delay of {}", node.title()), "a load begins at once");
        }
        if all.iter().any(|row| row[4] > 0.0) {
            self.imported
                .lost
                .add(format!("the shutdown time of {}", node.title()), "all users end together");
        }
        GroupLoad {
            load: users(most, ramped, pause),
            duration: Some(seconds(ended)).filter(|duration| !duration.is_zero()),
        }
    }

    fn rows(&mut self, node: &Node, property: &str) -> Vec<Vec<f64>> {
        let what = format!("a row of {}", node.title());
        let mut all = Vec::new();
        for row in node.property(property).into_iter().flat_map(|rows| &rows.children) {
            let cells = row.children.iter().map_while(|cell| {
                self.texts.number(&cell.text, &what, 0.0..=1e9, &mut self.imported)
            });
            all.push(cells.collect());
        }
        all
    }

    /// Returns how many seconds the time unit of a BlazeMeter thread group has.
    fn unit(&self, node: &Node) -> f64 {
        if node.value_of("Unit").trim() == "S" { 1.0 } else { 60.0 }
    }

    fn concurrency(&mut self, node: &Node, pause: Pause) -> GroupLoad {
        let unit = self.unit(node);
        let Some(target) = self.figure(node, "TargetLevel", 1.0..=1e6) else {
            return self.unknown_load(node, pause, "its target is not a number");
        };
        let ramp = self.figure(node, "RampUp", 0.0..=1e6).unwrap_or(0.0) * unit;
        let hold = self.figure(node, "Hold", 0.0..=1e6).unwrap_or(0.0) * unit;
        self.stepped(node, "Steps");
        let rounds = self.figure(node, "Iterations", 1.0..=1e15).map(|rounds| rounds as u64);
        let load =
            Load::Users { users: target as u32, ramp: seconds(ramp), pause, rounds, pooled: None };
        GroupLoad {
            load,
            duration: Some(seconds(ramp + hold)).filter(|duration| !duration.is_zero()),
        }
    }

    fn stepped(&mut self, node: &Node, property: &str) {
        if self.figure(node, property, 0.0..=1e9).is_some_and(|steps| steps > 0.0) {
            self.imported
                .lost
                .add(format!("the steps of {}", node.title()), "the load rises evenly");
        }
    }

    /// Reads users that start in steps, all stay for a time, and stop in steps.
    fn stepping(&mut self, node: &Node, pause: Pause) -> GroupLoad {
        let Some(most) = self.figure(node, "ThreadGroup.num_threads", 1.0..=1e6) else {
            return self.unknown_load(node, pause, "its number of threads is not a number above 0");
        };
        let burst = self.figure(node, "Start users count burst", 0.0..=1e6).unwrap_or(0.0);
        let each = self.figure(node, "Start users count", 0.0..=1e6).unwrap_or(0.0);
        let period = self.figure(node, "Start users period", 0.0..=1e6).unwrap_or(0.0);
        let rises = self.figure(node, "rampUp", 0.0..=1e6).unwrap_or(0.0);
        let hold = self.figure(node, "flighttime", 0.0..=1e6).unwrap_or(0.0);
        // The first users start at once: those of the burst, or those of the first step.
        let first = if burst > 0.0 { burst } else { each };
        let steps = if each > 0.0 { ((most - first) / each).ceil().max(0.0) } else { 0.0 };
        let ramp = steps * period + rises;
        if steps > 0.0 {
            self.imported
                .lost
                .add(format!("the steps of {}", node.title()), "the load rises evenly");
        }
        self.delayed(node, "Threads initial delay");
        if self.figure(node, "Stop users period", 0.0..=1e6).is_some_and(|period| period > 0.0) {
            self.imported
                .lost
                .add(format!("the shutdown time of {}", node.title()), "all users end together");
        }
        GroupLoad {
            load: users(most, ramp, pause),
            duration: Some(seconds(ramp + hold)).filter(|duration| !duration.is_zero()),
        }
    }

    fn ramped_arrivals(&mut self, node: &Node, pause: Pause, requests: usize) -> GroupLoad {
        let unit = self.unit(node);
        let Some(target) = self.figure(node, "TargetLevel", 0.0..=1e9) else {
            return self.unknown_load(node, pause, "its target is not a number");
        };
        let ramp = self.figure(node, "RampUp", 0.0..=1e6).unwrap_or(0.0) * unit;
        let hold = self.figure(node, "Hold", 0.0..=1e6).unwrap_or(0.0) * unit;
        self.stepped(node, "Steps");
        if self.figure(node, "Iterations", 1.0..=1e15).is_some() {
            self.imported
                .lost
                .add(format!("`Iterations` of {}", node.title()), "arrivals end with the duration");
        }
        let rate = target / unit;
        let arrivals = match ramp > 0.0 {
            true => {
                Arrivals { first: 0.0, stages: vec![(rate, ramp), (rate, hold)], is_random: true }
            }
            false => Arrivals { first: rate, stages: vec![(rate, hold)], is_random: true },
        };
        let most =
            self.figure(node, "ConcurrencyLimit", 1.0..=1e6).map_or(IN_FLIGHT, |most| most as u32);
        self.arrivals(node, &arrivals, most, pause, requests)
    }

    /// Reads rows of arrivals: from one rate to another, and how long.
    fn free_arrivals(&mut self, node: &Node, pause: Pause, requests: usize) -> GroupLoad {
        let unit = self.unit(node);
        let rows = self.rows(node, "Schedule");
        let all: Vec<[f64; 3]> =
            rows.iter().filter_map(|row| <[f64; 3]>::try_from(row.as_slice()).ok()).collect();
        if all.is_empty() || all.len() != rows.len() {
            return self.unknown_load(node, pause, "its rows cannot be read");
        }
        let stages = all
            .iter()
            .flat_map(|[from, to, long]| [(from / unit, 0.0), (to / unit, long * unit)])
            .skip(1);
        let arrivals =
            Arrivals { first: all[0][0] / unit, stages: stages.collect(), is_random: true };
        let most =
            self.figure(node, "ConcurrencyLimit", 1.0..=1e6).map_or(IN_FLIGHT, |most| most as u32);
        self.arrivals(node, &arrivals, most, pause, requests)
    }

    /// Converts arrivals of rounds to arrivals of requests.
    fn arrivals(
        &mut self,
        node: &Node,
        arrivals: &Arrivals,
        in_flight_max: u32,
        pause: Pause,
        requests: usize,
    ) -> GroupLoad {
        let title = node.title();
        let times = requests.max(1) as f64;
        if requests > 1 {
            let why = format!(
                "a round has {requests} requests, which come one at a time: the rates are {requests} times those of the plan"
            );
            self.imported.taken.add(format!("the rates of {title}"), why);
        }
        if pause.mean() > Duration::ZERO {
            self.imported.lost.add(
                format!("the timers of {title}"),
                "requests of arrivals come at a rate, without pauses",
            );
        }
        let total: f64 = arrivals.stages.iter().map(|(_, over)| over).sum();
        let mut first = arrivals.first * times;
        let most = arrivals.stages.iter().map(|(rate, _)| rate * times).fold(first, f64::max);
        if !(RATE_MIN..=RATE_MAX).contains(&most) || total <= 0.0 {
            let why = format!(
                "its highest rate is not between {RATE_MIN} and {RATE_MAX} per second, or it has no duration"
            );
            return self.unknown_load(node, pause, &why);
        }
        let mut stages: Vec<Stage> = Vec::new();
        for (rate, over) in &arrivals.stages {
            let last = stages.last().map_or(first, |stage| stage.to_per_s);
            if *over > 0.0 || rate * times != last {
                stages.push(Stage { to_per_s: rate * times, over: seconds(*over) });
            }
        }
        if stages.iter().all(|stage| stage.to_per_s == first) {
            stages.clear();
        }
        if first == 0.0 {
            // A load begins above zero.
            first = RATE_MIN;
            self.imported.taken.add(
                format!("the first rate of {title}"),
                format!("{first} per second: a load begins above 0"),
            );
        }
        let spacing = if arrivals.is_random { Spacing::Poisson } else { Spacing::Even };
        let load = Load::Arrivals {
            rate_per_s: first,
            stages,
            spacing,
            in_flight_max,
            overflow: Overflow::Queue,
        };
        GroupLoad { load, duration: Some(seconds(total)) }
    }
}
