//! Notes about failed requests: how many there are, and whether the figures of a row describe
//! errors instead of the service.

use super::text::count;
use spec::article::{Figure, Row};
use spec::units::show_share;

/// The share of failures from which on a note is written.
const WORTH_A_NOTE: f64 = 0.01;
/// The share beyond which the figures of a row describe errors.
const MOST: f64 = 0.5;

/// A note about failures.
pub(super) struct Failure {
    pub what: String,
    /// Whether most requests failed.
    pub is_most: bool,
}

/// Writes the notes about failures of a row.
pub(super) fn note_failures(row: &Row) -> Vec<Failure> {
    let shares = [failed_requests(row), failed_checks(row), socket_errors(row)];
    let all = shares.into_iter().flatten().filter(|(share, _)| *share > WORTH_A_NOTE);
    all.map(|(share, what)| {
        let is_most = share > MOST;
        let about =
            if is_most { ": rate and latency describe errors, not the service" } else { "" };
        Failure { what: what + about, is_most }
    })
    .collect()
}

fn requests(row: &Row) -> Option<f64> {
    row.samples.as_ref().map(Figure::value).filter(|n| *n > 0.0)
}

/// Returns the share of failed requests, with a sentence: the higher one, if two figures differ.
fn failed_requests(row: &Row) -> Option<(f64, String)> {
    let counted = row.errors.as_ref().zip(requests(row)).map(|(errors, n)| {
        let share = errors.value() / n;
        let what = format!(
            "{} of {} requests failed ({})",
            count(errors.value()),
            count(n),
            show_share(share)
        );
        (share, what)
    });
    let printed = row.error_share.as_ref().map(Figure::value);
    let printed =
        printed.map(|share| (share, format!("{} of the requests failed", show_share(share))));
    [counted, printed].into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
}

fn failed_checks(row: &Row) -> Option<(f64, String)> {
    let share = row.failed_checks.as_ref()?.value();
    Some((share, format!("{} of the checks failed", show_share(share))))
}

/// Returns the share of socket errors, which no response belongs to.
fn socket_errors(row: &Row) -> Option<(f64, String)> {
    let errors = row.socket_errors.as_ref()?.value();
    let n = requests(row)?;
    let what = format!("{} socket errors for {} responses", count(errors), count(n));
    Some((errors / (n + errors), what))
}
