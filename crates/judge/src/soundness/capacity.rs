//! Whether what broke the levels of a search was the contender. Probes that say nothing are left out one by one; here is what is left.

use super::fault;
use super::surroundings::END_OTHERS;
use model::capacity::{Ended, Searched, Unfit};
use model::record::Fault;
use model::units::show_share;

/// Of the probes that are not kept, so many may say nothing.
const UNFIT_SHARE_MAX: f64 = 0.5;

/// Share of the probes that were unfit for that reason, of those that might have been.
fn share(searched: &Searched, unfit: Unfit) -> f64 {
    let might = searched.probes.iter().filter(|probe| unfit != Unfit::Generator || probe.kept == Some(false)).count();
    searched.probes.iter().filter(|probe| probe.unfit() == Some(unfit)).count() as f64 / might.max(1) as f64
}

pub(super) fn generator(searched: &Searched) -> Option<Fault> {
    let share = share(searched, Unfit::Generator);
    let is_bound = searched.ended == Ended::Unfit(Unfit::Generator);
    if !is_bound && share <= UNFIT_SHARE_MAX {
        return None;
    }
    let evidence = match is_bound {
        true => "the generator came to its limit before the contender did".to_owned(),
        false => format!("{} of the probes that broke the level had the generator at its limit", show_share(share)),
    };
    fault("generator-cpu", evidence, "give the generator a CPU of its own, or look for the capacity of something slower")
}

pub(super) fn descriptors(searched: &Searched) -> Option<Fault> {
    if searched.ended != Ended::Unfit(Unfit::Descriptors) {
        return None;
    }
    let evidence = "the generator came to its limit of descriptors before the contender came to its own".to_owned();
    fault("descriptors", evidence, "raise the limit (`ulimit -n`, the hard one included), or end the search lower (`at_most`)")
}

pub(super) fn steal(searched: &Searched) -> Option<Fault> {
    let share = share(searched, Unfit::Robbed);
    if searched.ended != Ended::Unfit(Unfit::Robbed) && share <= UNFIT_SHARE_MAX {
        return None;
    }
    let evidence = format!("the hypervisor took too much in {} of the probes", show_share(share));
    fault("steal", evidence, "measure when the host is quieter, or on a machine of your own")
}

pub(super) fn other_cpu(searched: &Searched) -> Option<Fault> {
    let share = share(searched, Unfit::Disturbed);
    if searched.ended != Ended::Unfit(Unfit::Disturbed) && share <= UNFIT_SHARE_MAX {
        return None;
    }
    fault("other-cpu", format!("other processes used too much of the CPUs in {} of the probes", show_share(share)), END_OTHERS)
}
