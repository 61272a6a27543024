//! Whether what broke the levels of a search was the contender. Probes that say nothing are left out one by one; here is what is left.

use super::surroundings::END_OTHERS;
use super::{binding, fault};
use model::capacity::{Ended, Searched, Unfit};
use model::record::{Fault, Header};
use model::units::show_share;

/// Of the probes that are not kept, so many may say nothing.
const UNFIT_SHARE_MAX: f64 = 0.5;

/// A check of a search: of the kind that measurements know.
pub(super) struct OfSearch {
    /// The kind of the faults that it finds.
    pub kind: &'static str,
    /// Whether the search has what it looks at.
    pub can: fn(&Searched) -> bool,
    /// The fault, if there is one.
    pub find: fn(&Searched, &Header) -> Option<Fault>,
}

/// Every check of a search, in reading order.
pub(super) const OF_SEARCH: [OfSearch; 6] = [
    OfSearch { kind: "generator-cpu", can: |_| true, find: |searched, _| generator(searched) },
    OfSearch { kind: "upstream-binds", can: knows_both, find: binding::upstream_of_search },
    OfSearch { kind: "steal", can: |_| true, find: |searched, _| steal(searched) },
    OfSearch { kind: "other-cpu", can: |_| true, find: |searched, _| other_cpu(searched) },
    OfSearch { kind: "descriptors", can: |_| true, find: |searched, _| descriptors(searched) },
    OfSearch { kind: "ports", can: |_| true, find: |searched, _| ports(searched) },
];

/// Whether CPU time of the contender and of what stands behind it is known.
fn knows_both(searched: &Searched) -> bool {
    searched.probes.iter().any(|probe| probe.behind_cpu_ns.is_some() && probe.contender_cpu_ns.is_some())
}

/// Share of the probes that were unfit for that reason, of those that might have been; `None` where neither most were nor the search ended at one.
fn spoilt(searched: &Searched, unfit: Unfit) -> Option<f64> {
    let might = searched.probes.iter().filter(|probe| !unfit.is_out_of_reach() || probe.kept == Some(false)).count();
    let share = searched.probes.iter().filter(|probe| probe.unfit() == Some(unfit)).count() as f64 / might.max(1) as f64;
    (searched.ended == Ended::Unfit(unfit) || share > UNFIT_SHARE_MAX).then_some(share)
}

fn generator(searched: &Searched) -> Option<Fault> {
    let share = spoilt(searched, Unfit::Generator)?;
    let evidence = match searched.ended == Ended::Unfit(Unfit::Generator) {
        true => "the generator came to its limit before the contender did".to_owned(),
        false => format!("{} of the probes that broke the level had the generator at its limit", show_share(share)),
    };
    fault("generator-cpu", evidence, "give the generator a CPU of its own, or look for the capacity of something slower")
}

/// What there was not enough of for the generator's connections: where it bounds the search, or broke most of the levels that were not kept.
fn lacked(searched: &Searched, unfit: Unfit, what: &str) -> Option<String> {
    let share = spoilt(searched, unfit)?;
    Some(match searched.ended == Ended::Unfit(unfit) {
        true => format!("the generator was out of {what} before the contender came to its limit"),
        false => format!("{} of the probes that broke the level had the generator out of {what}", show_share(share)),
    })
}

fn descriptors(searched: &Searched) -> Option<Fault> {
    let evidence = lacked(searched, Unfit::Descriptors, "descriptors")?;
    fault("descriptors", evidence, "raise the limit (`ulimit -n`, the hard one included), or end the search lower (`at_most`)")
}

fn ports(searched: &Searched) -> Option<Fault> {
    let evidence = lacked(searched, Unfit::Ports, "ports to connect from")?;
    fault(
        "ports",
        evidence,
        "widen net.ipv4.ip_local_port_range, have users share connections (`pooled`), or end the search lower (`at_most`)",
    )
}

fn steal(searched: &Searched) -> Option<Fault> {
    let share = spoilt(searched, Unfit::Robbed)?;
    let evidence = format!("the hypervisor took too much in {} of the probes", show_share(share));
    fault("steal", evidence, "measure when the host is quieter, or on a machine of your own")
}

fn other_cpu(searched: &Searched) -> Option<Fault> {
    let share = spoilt(searched, Unfit::Disturbed)?;
    fault("other-cpu", format!("other processes used too much of the CPUs in {} of the probes", show_share(share)), END_OTHERS)
}
