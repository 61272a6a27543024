//! Whether the contender was the limit of a search for its capacity. The search excludes single
//! unfit probes itself; the checks here look at how many those were.

use super::seen::{Found, found};
use super::surroundings::END_OTHERS;
use record::capacity::{CapacitySearch, Ended, Unfit};
use spec::units::show_share;

/// The largest share of the probes without a held level that may be unfit.
const UNFIT_SHARE_MAX: f64 = 0.5;

/// Returns whether the CPU time of the contender and of its upstream or database is known.
pub(super) fn knows_both(searched: &CapacitySearch) -> bool {
    searched
        .probes
        .iter()
        .any(|probe| probe.behind_cpu_ns.is_some() && probe.contender_cpu_ns.is_some())
}

/// Returns the share of the probes that were unfit for a reason, among those that could have been.
/// Returns `None` if that was a minority and did not end the search.
fn unfit_share(searched: &CapacitySearch, unfit: Unfit) -> Option<f64> {
    let candidates = searched
        .probes
        .iter()
        .filter(|probe| !unfit.is_out_of_reach() || probe.kept == Some(false))
        .count();
    let share = searched.probes.iter().filter(|probe| probe.unfit() == Some(unfit)).count() as f64
        / candidates.max(1) as f64;
    (searched.ended == Ended::Unfit(unfit) || share > UNFIT_SHARE_MAX).then_some(share)
}

pub(super) fn generator(searched: &CapacitySearch) -> Option<Found> {
    let share = unfit_share(searched, Unfit::Generator)?;
    let evidence = match searched.ended == Ended::Unfit(Unfit::Generator) {
        true => "the generator reached its limit before the contender did".to_owned(),
        false => format!(
            "the generator was at its limit in {} of the probes that broke the level",
            show_share(share)
        ),
    };
    found(evidence, "give the generator its own CPU, or search the capacity of a slower contender")
}

/// Says what the generator's connections ran out of, if that ended the search or broke most of the
/// levels that did not hold.
fn lacked(searched: &CapacitySearch, unfit: Unfit, what: &str) -> Option<String> {
    let share = unfit_share(searched, unfit)?;
    Some(match searched.ended == Ended::Unfit(unfit) {
        true => format!("the generator ran out of {what} before the contender reached its limit"),
        false => format!(
            "the generator ran out of {what} in {} of the probes that broke the level",
            show_share(share)
        ),
    })
}

pub(super) fn descriptors(searched: &CapacitySearch) -> Option<Found> {
    found(
        lacked(searched, Unfit::Descriptors, "descriptors")?,
        "raise the limit (`ulimit -n`, also the hard one), or end the search lower (`at_most`)",
    )
}

pub(super) fn ports(searched: &CapacitySearch) -> Option<Found> {
    found(
        lacked(searched, Unfit::Ports, "ports to connect from")?,
        "widen net.ipv4.ip_local_port_range, let users share connections (`pooled`), or end the search lower (`at_most`)",
    )
}

pub(super) fn steal(searched: &CapacitySearch) -> Option<Found> {
    let share = unfit_share(searched, Unfit::Stolen)?;
    found(
        format!("CPU steal was too high in {} of the probes", show_share(share)),
        "measure when the host is quieter, or on your own machine",
    )
}

pub(super) fn other_cpu(searched: &CapacitySearch) -> Option<Found> {
    let share = unfit_share(searched, Unfit::Disturbed)?;
    found(
        format!("other processes used too much of the CPUs in {} of the probes", show_share(share)),
        END_OTHERS,
    )
}
