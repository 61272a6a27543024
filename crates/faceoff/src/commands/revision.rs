//! `faceoff run --against`: compares systems with another revision of their sources.

use crate::exit::Error;
use crate::output::message;
use runner::revision::{CheckedOut, check_out};
use spec::catalog::{Catalog, Past};
use spec::experiment::Experiment;
use spec::experiment::against::Against;
use spec::metric::Metric;
use spec::name::{ContenderName, did_you_mean};
use spec::problem::Problems;

/// Returns the catalog with the systems of another revision added to it.
///
/// # Errors
/// The revision does not exist, or git fails.
pub fn with_revision(catalog: &Catalog, revision: &str) -> Result<(Catalog, Against), Error> {
    let CheckedOut { commit, tree, dir, then, now, is_same } = check_out(catalog.dir(), revision)?;
    if is_same {
        message(
            "both revisions have the same committed files, so any difference is noise or was never committed",
        );
    }
    let against = Against { asked: revision.to_owned(), commit: commit.clone() };
    let past = Past { variant: against.variant(), commit, tree, dir, then, now };
    Ok((catalog.clone().with_past(past), against))
}

/// Returns the experiment that compares one of its contenders with another revision.
///
/// Without a name, that contender is the baseline.
///
/// # Errors
/// The contender is not in the experiment, or no cell has the metrics.
pub fn question(
    experiment: Experiment,
    of: Option<&ContenderName>,
    against: Against,
    metrics: &[Metric],
) -> Result<Experiment, Error> {
    let of = of.unwrap_or(&experiment.baseline).clone();
    if !experiment.all_contenders().any(|name| *name == of) {
        let all: Vec<String> = experiment.all_contenders().map(ToString::to_string).collect();
        let hint = did_you_mean(&of.to_string(), all.iter().map(String::as_str));
        return Err(Problems::plain(format!("`{of}` is not in this experiment"), hint).into());
    }
    let asked = experiment.against(&of, against, metrics);
    if asked.claims.is_empty() {
        let hint = "leave out --by, or name a metric that a cell has";
        return Err(
            Problems::plain("no cell of the experiment has a metric to compare", hint).into()
        );
    }
    Ok(asked)
}
