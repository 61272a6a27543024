//! An experiment that tries claims of an article, with the run that was kept of it.

use record::judgement::Evidence;
use spec::experiment::{Claim, Experiment};

/// An experiment that tries claims of an article, with its run if there was one.
pub struct Tried {
    /// The experiment.
    pub experiment: Experiment,
    /// Its run and the results.
    pub run: Option<Evidence>,
}

/// Returns the claims of an experiment that its run did not try; without a run, all of them.
pub(super) fn untried(tried: &Tried) -> impl Iterator<Item = &Claim> {
    let is_of_run = |claim: &Claim| {
        let of_run = tried.run.iter().flat_map(|run| &run.claims);
        of_run
            .into_iter()
            .any(|of| of.claim.text == claim.text && of.claim.contender == claim.contender)
    };
    tried.experiment.claims.iter().filter(move |claim| !is_of_run(claim))
}

/// Returns the command that tries an experiment.
pub(super) fn command(tried: &Tried, quick: bool) -> String {
    format!("`faceoff run {}{}`", tried.experiment.name, if quick { " --quick" } else { "" })
}
