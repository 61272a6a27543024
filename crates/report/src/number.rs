//! Numbers as the report's data carries them: milliseconds, and four significant digits. More
//! digits cannot be seen in a chart and would only make the file larger.

/// Nanoseconds as milliseconds.
pub(crate) fn ms(ns: u64) -> f64 {
    round(ns as f64 / 1e6)
}

/// Rounds to four significant digits; a value that is not a number becomes 0.
pub(crate) fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_four_significant_digits() {
        assert_eq!(
            [1234567.0, 12.34567, 0.00123456, 0.0].map(round),
            [1_235_000.0, 12.35, 0.001235, 0.0]
        );
    }
}
