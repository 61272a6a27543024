//! `faceoff run --against`: the systems of another revision beside those of now.

use crate::exit::Error;
use crate::output::message;
use model::against::Against;
use model::catalog::{Catalog, Past};
use model::experiment::Experiment;
use model::metric::Metric;
use model::name::{ContenderName, did_you_mean};
use model::problem::Problems;
use model::record::Record;
use runner::revision::{CheckedOut, check_out};

/// The folder with the systems of a revision beside its own.
///
/// # Errors
/// No such revision, or what git says.
pub fn with_revision(catalog: &Catalog, revision: &str) -> Result<(Catalog, Against), Error> {
    let CheckedOut { commit, tree, dir, then, now, is_same } = check_out(catalog.dir(), revision)?;
    if is_same {
        message("what git keeps is the same now as then: what differs is noise, or was never committed");
    }
    let against = Against { asked: revision.to_owned(), commit: commit.clone() };
    let past = Past { variant: against.variant(), commit, tree, dir, then, now };
    Ok((catalog.clone().with_past(past), against))
}

/// The experiment turned into that question about one of its contenders, the baseline where none is named.
///
/// # Errors
/// A contender that is not in it; metrics that none of its cells has.
pub fn question(experiment: Experiment, of: Option<&ContenderName>, against: Against, metrics: &[Metric]) -> Result<Experiment, Error> {
    let of = of.unwrap_or(&experiment.baseline).clone();
    if !experiment.everybody().any(|name| *name == of) {
        let all: Vec<String> = experiment.everybody().map(ToString::to_string).collect();
        let hint = did_you_mean(&of.to_string(), all.iter().map(String::as_str));
        return Err(Problems::plain(format!("`{of}` is not in this experiment"), hint).into());
    }
    let asked = experiment.against(&of, against, metrics);
    if asked.claims.is_empty() {
        let hint = "leave --by out, or name a metric that a cell has";
        return Err(Problems::plain("no cell of the experiment has what is compared", hint).into());
    }
    Ok(asked)
}

/// Whether both were built into the very same files.
pub fn is_same_build(record: &Record) -> bool {
    match record.header.contenders.as_slice() {
        [then, now, ..] => !then.artifacts.is_empty() && then.artifacts == now.artifacts,
        _ => false,
    }
}
