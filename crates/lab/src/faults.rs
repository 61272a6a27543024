//! What makes a measurement unfit to judge from, as far as the lab sees it.
//! Thresholds and their reasons stand in METHOD.md.

use model::experiment::{CpuSets, Load};
use model::record::{Fault, Host, Measurement};
use model::units::{show_duration, show_number};
use std::time::Duration;

/// The generator may use this share of one CPU.
const GENERATOR_SHARE_MAX: f64 = 0.90;
/// CPUs that are busier than this are taken as fully used.
const BUSY_SHARE: f64 = 0.95;
/// The median lag may be this share of the median latency.
const LAG_SHARE_MAX: f64 = 0.10;
/// Lag below this is never a fault: the clock and a wake-up cost that much.
const LAG_FLOOR_NS: u64 = 50_000;
/// CPU time that the hypervisor may take.
const STEAL_SHARE_MAX: f64 = 0.05;

fn fault(kind: &str, evidence: String, hint: &str) -> Fault {
    Fault { kind: kind.into(), evidence, hint: hint.into() }
}

/// What is wrong with one measurement.
pub(crate) fn of_measurement(measurement: &Measurement, load: &Load, cpus: &CpuSets) -> Vec<Fault> {
    let mut faults = Vec::new();
    let percent = |share: f64| format!("{} %", show_number(share * 100.0));
    let duration = measurement.duration_ns as f64;
    let generator_share = measurement.generator.busy_ns() as f64 / duration;
    if !measurement.counts.add_up() {
        faults.push(fault("counts", format!("{:?} do not add up", measurement.counts), "this is a defect of faceoff: please report it"));
    }
    if generator_share > GENERATOR_SHARE_MAX {
        faults.push(fault(
            "generator-cpu",
            format!("the generator used {} of its CPU", percent(generator_share)),
            "give the generator a CPU of its own, or offer less load",
        ));
    }
    if let (Some(lag), Some(latency)) = (&measurement.generator.lag, &measurement.latency)
        && !latency.is_empty()
    {
        let (lag, latency) = (lag.quantile_ns(0.5), latency.quantile_ns(0.5));
        if lag > LAG_FLOOR_NS && lag as f64 > LAG_SHARE_MAX * latency as f64 && !is_at_limit(measurement, load) {
            let show = |ns| show_duration(Duration::from_nanos(ns));
            faults.push(fault(
                "generator-lag",
                format!("requests left {} late (median), of a latency of {}", show(lag), show(latency)),
                "give the generator a CPU of its own, or close what else runs",
            ));
        }
    }
    if let (Some(upstream), true) = (measurement.upstream_cpu_ns, cpus.contender != cpus.upstream) {
        let shares_with_generator = cpus.upstream.iter().any(|c| cpus.generator.contains(c));
        let used = upstream as f64 + if shares_with_generator { measurement.generator.busy_ns() as f64 } else { 0.0 };
        let behind = used / duration / cpus.upstream.len() as f64;
        let own = measurement.usage.cpu_ns as f64 / measurement.usage.wall_ns.max(1) as f64 / cpus.contender.len() as f64;
        if behind > BUSY_SHARE && own < BUSY_SHARE {
            let who = if shares_with_generator { "upstream and generator together" } else { "the upstream" };
            faults.push(fault(
                "upstream-binds",
                format!("{who} used {} of their CPUs, the contender {} of its own", percent(behind), percent(own)),
                "what was measured here is the upstream: give it more CPUs, or take a faster one",
            ));
        }
    }
    faults
}

/// Waiting for a free place is the contender's doing, not the generator's.
fn is_at_limit(measurement: &Measurement, load: &Load) -> bool {
    matches!(load, Load::Arrivals { .. }) && measurement.generator.in_flight_max >= load.in_flight_max()
}

/// What the host did to a trial.
pub(crate) fn of_host(host: &Host) -> Vec<Fault> {
    if host.steal_share <= STEAL_SHARE_MAX {
        return Vec::new();
    }
    vec![fault(
        "steal",
        format!("the hypervisor took {} % of the CPU time", show_number(host.steal_share * 100.0)),
        "measure when the host is quieter, or on a machine of your own",
    )]
}

/// The upstream went away during a trial.
pub(crate) fn upstream_lost(status: &str) -> Fault {
    fault("upstream-lost", format!("the upstream ended with {status} during the trial"), "see its log in the record's folder under starts/")
}
