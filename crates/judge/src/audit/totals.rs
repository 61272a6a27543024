//! Totals of a row against rates and time: bytes received, and requests.

use super::figures::{EDGE, NEAR, Range, finding, rate};
use super::text::{bytes, count};
use record::audit::{Check, Finding};
use spec::article::{Figure, Row, Table};

/// Two figures whose product is not the third.
struct Mismatch<'r> {
    what: String,
    factor: f64,
    possible: String,
    /// The figure that does not match.
    wrong: &'r Figure,
}

/// Finds bytes that do not match throughput x size of a response, or transfer x time.
pub(super) fn wrong_bytes(row: &Row, table: &Table) -> Option<Finding> {
    let Mismatch { what, factor, possible, wrong } = transfer_by_rate(row)
        .or_else(|| received_by_time(row))
        .or_else(|| received_by_count(row))?;
    let mut explanations = Vec::new();
    let has_same = |other: &&Row| {
        other.name != row.name
            && [&other.transfer, &other.received].into_iter().flatten().any(|f| f == wrong)
    };
    if let Some(other) = table.rows.iter().find(has_same) {
        explanations.push(format!(
            "{} is the figure of `{}` and may be copied from there",
            wrong.text(),
            other.name
        ));
    }
    if factor < 1.085 {
        explanations
            .push("kilobytes of 1,000 bytes in one figure and of 1,024 in the other".into());
    }
    explanations.push("whole responses counted in one figure, bodies in the other".into());
    Some(finding(row, Check::Transfer, what, Some(factor), Some(possible), explanations))
}

fn transfer_by_rate(row: &Row) -> Option<Mismatch<'_>> {
    let ((rate, text), size, transfer) =
        (rate(row)?, row.bytes_per_answer.as_ref()?, row.transfer.as_ref()?);
    let product = rate.times(Range::of_figure(size));
    Some(Mismatch {
        factor: product.apart(Range::of_figure(transfer), NEAR)?,
        what: format!(
            "{text} x {} = {}/s, not {}/s",
            size.text(),
            bytes(product.value),
            transfer.text()
        ),
        possible: format!("the transfer is {}/s", bytes(product.value)),
        wrong: transfer,
    })
}

fn received_by_time(row: &Row) -> Option<Mismatch<'_>> {
    let (transfer, duration) = (row.transfer.as_ref()?, row.duration.as_ref()?);
    let text = format!("{}/s x {}", transfer.text(), duration.text());
    received(row, Range::of_figure(transfer).times(Range::of_figure(duration)), &text)
}

fn received_by_count(row: &Row) -> Option<Mismatch<'_>> {
    let (samples, size) = (row.samples.as_ref()?, row.bytes_per_answer.as_ref()?);
    let text = format!("{} x {}", samples.text(), size.text());
    received(row, Range::of_figure(samples).times(Range::of_figure(size)), &text)
}

fn received<'r>(row: &'r Row, product: Range, text: &str) -> Option<Mismatch<'r>> {
    let received = row.received.as_ref()?;
    Some(Mismatch {
        factor: product.apart(Range::of_figure(received), NEAR)?,
        what: format!("{text} = {}, not {}", bytes(product.value), received.text()),
        possible: format!("{} are received", bytes(product.value)),
        wrong: received,
    })
}

/// Finds requests that do not match throughput x time.
pub(super) fn wrong_count(row: &Row) -> Option<Finding> {
    let (samples, duration, rate) =
        (row.samples.as_ref()?, row.duration.as_ref()?, row.throughput.as_ref()?);
    let product = Range::of_figure(rate).times(Range::of_figure(duration));
    let factor = product.apart(Range::of_figure(samples), EDGE)?;
    let what = format!(
        "{}/s x {} = {} requests, not {}",
        rate.text(),
        duration.text(),
        count(product.value),
        samples.text()
    );
    let possible = format!(
        "the throughput is {}/s",
        count(samples.value() / duration.value().max(f64::MIN_POSITIVE))
    );
    let why =
        vec!["a warm-up, or failed requests, counted in one figure and not in the other".into()];
    Some(finding(row, Check::Count, what, Some(factor), Some(possible), why))
}
