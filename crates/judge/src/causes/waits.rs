//! What the processes of a contender did besides using a CPU, per correct response.

use record::judgement::{SystemCallsPerRequest, WaitsPerRequest};
use record::{Profile, Waits};
use std::collections::BTreeMap;

/// Adds up the waits of all profiles and divides them by their correct responses. Profiles without
/// a correct response do not count.
pub(super) fn waits_per_request(profiles: &[&Profile]) -> WaitsPerRequest {
    let used: Vec<&Profile> = profiles.iter().copied().filter(|p| p.correct > 0).collect();
    let correct: f64 = used.iter().map(|profile| profile.correct as f64).sum();
    if used.is_empty() {
        return WaitsPerRequest::default();
    }
    let per_request = |count: fn(&Waits) -> u64| {
        used.iter().map(|p| count(&p.waits) as f64).sum::<f64>() / correct
    };
    let run_queue: Option<Vec<f64>> =
        used.iter().map(|p| p.waits.run_queue_ns.map(|ns| ns as f64)).collect();
    // Calls, and the time within them if every profile has it.
    let mut calls: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
    for call in used.iter().flat_map(|profile| &profile.waits.system_calls) {
        let (count, spent) = calls.entry(&call.name).or_insert((0.0, Some(0.0)));
        *count += call.calls as f64;
        *spent = spent.zip(call.spent_ns).map(|(sum, ns)| sum + ns as f64);
    }
    let mut system_calls: Vec<SystemCallsPerRequest> = calls
        .into_iter()
        .map(|(name, (count, spent))| SystemCallsPerRequest {
            name: name.to_owned(),
            calls: count / correct,
            spent_us: spent.map(|ns| ns / 1e3 / correct),
        })
        .collect();
    system_calls.sort_by(|a, b| b.calls.total_cmp(&a.calls));
    WaitsPerRequest {
        run_queue_us: run_queue.map(|all| all.iter().sum::<f64>() / 1e3 / correct),
        voluntary_switches: per_request(|waits| waits.voluntary_switches),
        involuntary_switches: per_request(|waits| waits.involuntary_switches),
        minor_faults: per_request(|waits| waits.minor_faults),
        major_faults: per_request(|waits| waits.major_faults),
        system_calls,
    }
}
