//! Divides a load among agents.

use crate::parts::{LOOPS_MAX, Part};
use crate::plan::Protocol;
use crate::sizing::event_loops;
use spec::experiment::Load;
use spec::experiment::agents::AGENTS_MAX;

/// Returns the part of each agent, given how many event loops each would run.
///
/// Each agent gets at least one event loop. If the load has too few connections for all of them,
/// the agents with the most event loops get fewer.
///
/// # Errors
/// If there is no agent, there are too many, or the load has fewer connections or users than
/// agents.
pub fn partition_load(
    load: &Load,
    protocol: Protocol,
    requested: &[u32],
) -> Result<Vec<Part>, String> {
    if requested.is_empty() || requested.len() > AGENTS_MAX {
        return Err(format!(
            "{} agents cannot make a load\nhint: name from 1 to {AGENTS_MAX} of them",
            requested.len()
        ));
    }
    let requested: Vec<u32> = requested.iter().map(|loops| (*loops).clamp(1, LOOPS_MAX)).collect();
    let of = event_loops(load, protocol, requested.iter().sum());
    let agents = requested.len() as u32;
    let mut left = of.checked_sub(agents).ok_or_else(|| {
        format!(
            "{agents} agents cannot share {}\nhint: name at most {of}, or make the load larger",
            load.describe()
        )
    })?;
    let mut loops = vec![1; requested.len()];
    while left > 0 {
        for (has, requested) in loops.iter_mut().zip(&requested) {
            if left > 0 && *has < *requested {
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
    use proptest::prelude::*;
    use spec::experiment::{Overflow, Spacing, Stage};
    use std::time::Duration;

    const HTTP1: Protocol = Protocol::Http1 { keep_alive: true };

    #[test]
    fn event_loops_are_limited_by_connections() {
        let loops = |load: &Load, requested: &[u32]| {
            partition_load(load, HTTP1, requested)
                .map(|parts| parts.iter().map(|p| p.loops).collect::<Vec<_>>())
        };
        assert_eq!(loops(&Load::closed(64), &[2, 1, 4]), Ok(vec![2, 1, 4]));
        assert_eq!(loops(&Load::closed(5), &[2, 1, 4]), Ok(vec![2, 1, 2]));
        assert_eq!(loops(&Load::closed(3), &[2, 1, 4]), Ok(vec![1, 1, 1]));
        assert_eq!(loops(&Load::closed(64), &[0, u32::MAX]).unwrap()[0], 1);
        let error = loops(&Load::closed(2), &[2, 1, 4]).unwrap_err();
        assert!(error.starts_with("3 agents") && error.contains("hint: name at most 2"), "{error}");
        assert!(loops(&Load::closed(2), &[]).is_err());
    }

    proptest! {
        /// The arrivals of all parts are exactly those of one schedule.
        #[test]
        fn arrivals_of_all_parts_equal_the_schedule(
            rate_per_s in 1.0f64..5_000.0, to_per_s in 0.0f64..5_000.0, over_ms in 0u64..400, poisson in any::<bool>(),
            requested in prop::collection::vec(1u32..6, 1..6), most in prop::option::of(0u64..2_000), seed in any::<u64>(),
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
            let parts = partition_load(&load, HTTP1, &requested).unwrap();
            prop_assert!(parts.iter().all(|part| part.check(&load, HTTP1).is_ok()));
            let mut dealt: Vec<u64> = parts.iter().flat_map(|part| part.shares()).flat_map(|share| all(whole().share(share))).collect();
            dealt.sort_unstable();
            prop_assert_eq!(dealt, all(whole()));
        }

        /// Connections and users are divided into whole numbers, and none is lost.
        #[test]
        fn connections_are_divided_without_remainder(whole in 30u32..5_000, requested in prop::collection::vec(1u32..6, 1..6)) {
            let parts = partition_load(&Load::closed(whole), HTTP1, &requested).unwrap();
            let shares: Vec<u64> = parts.iter().flat_map(|part| part.shares()).map(|share| share.part(whole.into())).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), u64::from(whole));
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}
