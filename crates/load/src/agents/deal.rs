//! Which part of a load each agent makes.

use crate::event_loops;
use crate::plan::Protocol;
use crate::schedule::Share;
use model::agents::AGENTS_MAX;
use model::experiment::Load;
use serde::{Deserialize, Serialize};

/// Most event loops of one agent.
pub const LOOPS_MAX: u32 = 256;

/// The event loops of a load that run in one place, of all there are: each has an equal share of the rate, and as good as equal ones of
/// connections and users, which are divided whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The number of its first event loop, from 0.
    pub first: u32,
    /// How many it has.
    pub loops: u32,
    /// How many there are in all parts.
    pub of: u32,
}

impl Part {
    /// All of a load.
    pub fn whole(loops: u32) -> Part {
        Part { first: 0, loops, of: loops }
    }

    /// The share of each of its event loops.
    pub fn shares(self) -> impl Iterator<Item = Share> {
        (self.first..self.first.saturating_add(self.loops)).map(move |thread| Share { thread, of: self.of })
    }

    /// That it is part of this load, with a connection for each event loop.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn check(self, load: &Load, protocol: Protocol) -> Result<(), String> {
        let Part { first, loops, of } = self;
        let is_within = loops > 0 && loops <= LOOPS_MAX && first.checked_add(loops).is_some_and(|end| end <= of);
        if !is_within {
            return Err(format!("event loops {first} and {loops} on, of {of}, are no part of a load"));
        }
        if event_loops(load, protocol, of) < of {
            return Err(format!("{of} event loops have no connection each in {}", load.describe()));
        }
        Ok(())
    }
}

/// The part of each agent, where they would run so many event loops. Each has one at least; where the load has too few connections for all
/// event loops, the agents with most of them go without first.
///
/// # Errors
/// No agent, too many, or fewer connections or users than agents.
pub fn deal(load: &Load, protocol: Protocol, asked: &[u32]) -> Result<Vec<Part>, String> {
    if asked.is_empty() || asked.len() > AGENTS_MAX {
        return Err(format!("{} agents cannot make a load\nhint: name from 1 to {AGENTS_MAX} of them", asked.len()));
    }
    let asked: Vec<u32> = asked.iter().map(|loops| (*loops).clamp(1, LOOPS_MAX)).collect();
    let of = event_loops(load, protocol, asked.iter().sum());
    let agents = asked.len() as u32;
    let mut left = of.checked_sub(agents).ok_or_else(|| {
        format!("{agents} agents are more than can share {}\nhint: name at most {of}, or make the load larger", load.describe())
    })?;
    let mut loops = vec![1; asked.len()];
    while left > 0 {
        for (has, asked) in loops.iter_mut().zip(&asked) {
            if left > 0 && *has < *asked {
                *has += 1;
                left -= 1;
            }
        }
    }
    let mut first = 0;
    let parts = loops.into_iter().map(|loops| {
        let part = Part { first, loops, of };
        first += loops;
        part
    });
    Ok(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use model::experiment::{Overflow, Spacing, Stage};
    use proptest::prelude::*;
    use std::time::Duration;

    const HTTP1: Protocol = Protocol::Http1 { keep_alive: true };

    #[test]
    fn each_has_what_it_asks_for_as_far_as_there_are_connections() {
        let loops = |load: &Load, asked: &[u32]| deal(load, HTTP1, asked).map(|parts| parts.iter().map(|p| p.loops).collect::<Vec<_>>());
        assert_eq!(loops(&Load::closed(64), &[2, 1, 4]), Ok(vec![2, 1, 4]));
        assert_eq!(loops(&Load::closed(5), &[2, 1, 4]), Ok(vec![2, 1, 2]));
        assert_eq!(loops(&Load::closed(3), &[2, 1, 4]), Ok(vec![1, 1, 1]));
        assert_eq!(loops(&Load::closed(64), &[0, u32::MAX]).unwrap()[0], 1);
        let error = loops(&Load::closed(2), &[2, 1, 4]).unwrap_err();
        assert!(error.starts_with("3 agents") && error.contains("hint: name at most 2"), "{error}");
        assert!(loops(&Load::closed(2), &[]).is_err());
    }

    #[test]
    fn a_part_that_cannot_be_is_refused() {
        let load = Load::closed(4);
        let check = |first, loops, of| Part { first, loops, of }.check(&load, HTTP1).is_ok();
        assert!(check(0, 4, 4) && check(2, 2, 4));
        assert!(!check(0, 0, 4) && !check(3, 2, 4) && !check(0, 8, 8) && !check(u32::MAX, 2, u32::MAX));
    }

    proptest! {
        /// The arrivals of all parts are exactly those of one schedule, whatever it is.
        #[test]
        fn the_arrivals_of_all_parts_are_the_schedule(
            rate_per_s in 1.0f64..5_000.0, to_per_s in 0.0f64..5_000.0, over_ms in 0u64..400, poisson in any::<bool>(),
            asked in prop::collection::vec(1u32..6, 1..6), most in prop::option::of(0u64..2_000), seed in any::<u64>(),
        ) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Even };
            let stages = vec![Stage { to_per_s, over: Duration::from_millis(over_ms) }];
            let load = Load::Arrivals { rate_per_s, stages: stages.clone(), spacing, in_flight_max: 1_024, overflow: Overflow::Queue };
            let whole = || Schedule::new(rate_per_s, &stages, spacing, 500_000_000, most.unwrap_or(u64::MAX), seed);
            let all = |mut schedule: Schedule| {
                let mut due = Vec::new();
                while let Some(next) = schedule.peek() {
                    due.push(next);
                    schedule.advance();
                }
                due
            };
            let parts = deal(&load, HTTP1, &asked).unwrap();
            prop_assert!(parts.iter().all(|part| part.check(&load, HTTP1).is_ok()));
            let mut dealt: Vec<u64> = parts.iter().flat_map(|part| part.shares()).flat_map(|share| all(whole().share(share))).collect();
            dealt.sort_unstable();
            prop_assert_eq!(dealt, all(whole()));
        }

        /// Connections and users are divided whole, and all of them.
        #[test]
        fn wholes_are_divided_whole(whole in 30u32..5_000, asked in prop::collection::vec(1u32..6, 1..6)) {
            let parts = deal(&Load::closed(whole), HTTP1, &asked).unwrap();
            let shares: Vec<u64> = parts.iter().flat_map(|part| part.shares()).map(|share| share.part(whole.into())).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), u64::from(whole));
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}
