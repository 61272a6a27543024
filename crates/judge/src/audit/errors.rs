//! Errors against requests: no more errors than requests, and a share that matches both.

use super::figures::{NEAR, Range, finding};
use super::text::count;
use record::audit::{Check, Finding};
use spec::article::{Figure, Row};
use spec::units::show_share;

/// Finds errors that do not match the requests.
pub(super) fn wrong_errors(row: &Row) -> Option<Finding> {
    if let Some(share) = row.error_share.as_ref().filter(|share| share.low() > 1.0) {
        let what = format!("{} of the requests failed", share.text());
        return found(row, what, Some(share.value()), "at most 100 %".into());
    }
    let samples = row.samples.as_ref()?;
    match (&row.errors, &row.error_share) {
        (Some(errors), share) => counted(row, errors, samples, share.as_ref()),
        (None, Some(share)) => no_whole_number(row, samples, share),
        (None, None) => None,
    }
}

fn found(row: &Row, what: String, factor: Option<f64>, possible: String) -> Option<Finding> {
    let why = vec!["errors of connections counted as requests".into()];
    Some(finding(row, Check::Errors, what, factor, Some(possible), why))
}

fn counted(
    row: &Row,
    errors: &Figure,
    samples: &Figure,
    share: Option<&Figure>,
) -> Option<Finding> {
    let samples = Range::of_figure(samples);
    if errors.low() > samples.high {
        let what = format!("{} errors in {} requests", errors.text(), count(samples.value));
        let possible = format!("at most {}", count(samples.value));
        return found(row, what, Some(errors.value() / samples.value), possible);
    }
    let share = share?;
    let ratio = Range::of_figure(errors).over(samples);
    if ratio.low * (1.0 - NEAR) <= share.high() && ratio.high * (1.0 + NEAR) >= share.low() {
        return None;
    }
    let what = format!(
        "{} errors in {} requests are {}, not {}",
        errors.text(),
        count(samples.value),
        show_share(ratio.value),
        share.text()
    );
    let (small, great) = if ratio.value < share.value() {
        (ratio.value, share.value())
    } else {
        (share.value(), ratio.value)
    };
    found(row, what, Some(great / small), show_share(ratio.value))
}

/// Errors are whole numbers, so a few requests allow a few shares only.
fn no_whole_number(row: &Row, samples: &Figure, share: &Figure) -> Option<Finding> {
    let all = samples.value();
    if samples.unit() > 1.0 || (share.high() * all).floor() >= (share.low() * all).ceil() {
        return None;
    }
    let what = format!("no whole number of errors in {} requests is {}", count(all), share.text());
    let nearest = (share.value() * all).round() / all;
    found(row, what, None, format!("the nearest is {}", show_share(nearest)))
}
