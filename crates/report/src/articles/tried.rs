//! Which claims of an article were tested, and by which run. Several experiments may test the same
//! claim: it then counts once, with the newest full run. Start with [`tested`] and [`untested`].

use super::prose::{Prose, capital, code};
use record::audit::Audit;
use record::judgement::{ClaimVerdict, Evidence};
use spec::article::Article;
use spec::experiment::{Claim, Experiment};

/// An article with its audit and the experiments that test its claims.
pub struct Study {
    /// The article.
    pub article: Article,
    /// The impossible or inconsistent figures of its tables.
    pub audit: Audit,
    /// The experiments.
    pub tried: Vec<Tried>,
}

/// An experiment that tests claims of an article, with its run if there was one.
pub struct Tried {
    /// The experiment.
    pub experiment: Experiment,
    /// Its run and the results.
    pub run: Option<Evidence>,
}

/// A result of a claim, with where it comes from.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub claim: &'a ClaimVerdict,
    pub tried: &'a Tried,
    pub run: &'a Evidence,
}

/// A claim that was tested, once.
pub(super) struct Tested<'a> {
    /// The result that counts.
    pub best: Found<'a>,
    /// The results of other experiments that test the same.
    pub others: Vec<Found<'a>>,
}

/// A claim without a result.
pub(super) struct Untested<'a> {
    pub claim: &'a Claim,
    pub tried: &'a Tried,
    /// Why it has none.
    pub reason: String,
}

impl Untested<'_> {
    /// Returns whether another claim of the same experiment has no result for the same reason.
    pub(super) fn is_like(&self, other: &Untested<'_>) -> bool {
        std::ptr::eq(self.tried, other.tried) && self.reason == other.reason
    }
}

/// The prefix of claims that are not in the article.
const OURS: &str = "Not in the article: ";

/// Returns whether the article claims it.
pub(super) fn is_of_article(claim: &Claim) -> bool {
    !claim.text.starts_with(OURS)
}

/// Returns the text of a claim, without the prefix of our own claims and without a full stop.
pub(super) fn own_text(claim: &Claim) -> &str {
    claim.text.strip_prefix(OURS).unwrap_or(&claim.text).trim_end_matches('.')
}

/// Returns the text of a claim like [`own_text`], as a sentence of its own.
pub(super) fn text(claim: &Claim) -> String {
    capital(own_text(claim))
}

/// Returns every claim that was tested, once, in the order of the experiments.
pub(super) fn tested(all: &[Tried]) -> Vec<Tested<'_>> {
    let mut claims: Vec<Tested<'_>> = Vec::new();
    for found in results(all).filter(|found| !found.claim.cells.is_empty()) {
        let text = &found.claim.claim.text;
        match claims.iter_mut().find(|tested| tested.best.claim.claim.text == *text) {
            Some(tested) if rank(&tested.best) < rank(&found) => {
                tested.others.push(tested.best);
                tested.best = found;
            }
            Some(tested) => tested.others.push(found),
            None => claims.push(Tested { best: found, others: Vec::new() }),
        }
    }
    claims
}

/// Returns every claim that no run tested, once, with the reason.
pub(super) fn untested(all: &[Tried]) -> Vec<Untested<'_>> {
    let tested = tested(all);
    let of_runs = results(all).filter(|found| found.claim.cells.is_empty()).map(|found| Untested {
        claim: &found.claim.claim,
        tried: found.tried,
        reason: found.claim.reason.trim_end_matches('.').to_owned(),
    });
    let of_files = all.iter().flat_map(|tried| {
        untried(tried).map(|claim| Untested { claim, tried, reason: why_untried(tried) })
    });
    let mut claims: Vec<Untested<'_>> = Vec::new();
    for untested in of_runs.chain(of_files) {
        let text = &untested.claim.text;
        let is_tested = tested.iter().any(|tested| tested.best.claim.claim.text == *text);
        if !is_tested && claims.iter().all(|other| other.claim.text != *text) {
            claims.push(untested);
        }
    }
    claims
}

fn results(all: &[Tried]) -> impl Iterator<Item = Found<'_>> {
    all.iter()
        .filter_map(|tried| Some((tried, tried.run.as_ref()?)))
        .flat_map(|(tried, run)| run.claims.iter().map(move |claim| Found { claim, tried, run }))
}

/// Ranks results of one claim: full runs above quick ones, then newer above older.
fn rank<'a>(found: &Found<'a>) -> (bool, &'a str) {
    (!found.run.quick, &found.run.recorded_at)
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

fn why_untried(tried: &Tried) -> String {
    let reason = match &tried.run {
        None => "its experiment has not been run",
        Some(run) if run.quick => "only the quick form of its experiment has been run",
        Some(_) => "it was added after the experiment was run",
    };
    reason.to_owned()
}

/// Returns the command that tries an experiment.
pub(super) fn command(tried: &Tried, quick: bool) -> Prose {
    code(format_args!(
        "faceoff run {}{}",
        tried.experiment.name,
        if quick { " --quick" } else { "" }
    ))
}
