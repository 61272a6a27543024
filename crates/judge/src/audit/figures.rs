//! Arithmetic on printed figures, and the form of a finding.

use record::audit::{Check, Finding, Wording};
use spec::article::{Figure, Row};

/// Tools read their clocks at slightly different instants, so products may be off by this share.
pub(super) const NEAR: f64 = 0.01;
/// As [`NEAR`], for requests at the edges of the measured time.
pub(super) const EDGE: f64 = 0.02;

/// The values that a quantity can have, from its printed digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub low: f64,
    pub value: f64,
    pub high: f64,
}

impl Range {
    pub fn of_figure(figure: &Figure) -> Range {
        Range { low: figure.low(), value: figure.value(), high: figure.high() }
    }

    pub fn times(self, other: Range) -> Range {
        Range {
            low: self.low * other.low,
            value: self.value * other.value,
            high: self.high * other.high,
        }
    }

    pub fn over(self, other: Range) -> Range {
        let floor = |value: f64| value.max(f64::MIN_POSITIVE);
        Range {
            low: self.low / floor(other.high),
            value: self.value / floor(other.value),
            high: self.high / floor(other.low),
        }
    }

    /// Returns how many times the smaller value the greater one is. Returns `None` if some values
    /// of both are within `near` of each other.
    pub fn apart(self, other: Range, near: f64) -> Option<f64> {
        let (small, great) = if self.value < other.value { (self, other) } else { (other, self) };
        (small.high * (1.0 + near) < great.low).then(|| great.value / small.value)
    }
}

/// Returns the requests per second of a row, and how they were printed.
pub(super) fn rate(row: &Row) -> Option<(Range, String)> {
    match (&row.throughput, &row.samples, &row.duration) {
        (Some(rate), _, _) => Some((Range::of_figure(rate), format!("{}/s", rate.text()))),
        (None, Some(samples), Some(duration)) if duration.low() > 0.0 => Some((
            Range::of_figure(samples).over(Range::of_figure(duration)),
            format!("{} / {}", samples.text(), duration.text()),
        )),
        _ => None,
    }
}

/// Makes a finding of a row: the arithmetic, how far the figures are apart, what the other figures
/// allow, and what would explain it.
pub(super) fn finding(
    row: &Row,
    check: Check,
    what: String,
    factor: Option<f64>,
    possible: Option<String>,
    explanations: Vec<String>,
) -> Finding {
    // JSON has no infinity.
    let factor = factor.filter(|f| f.is_finite());
    // With this check only, each figure by itself can be what the tool printed.
    let wording = if check == Check::Little {
        Wording::InconsistentAsServiceTime
    } else {
        Wording::ContradictsItself
    };
    Finding { row: row.name.clone(), check, wording, what, factor, possible, explanations }
}
