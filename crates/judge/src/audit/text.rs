//! Numbers as sentences show them.

use spec::units::show_number;

/// Shows seconds in a suitable unit.
pub(super) fn time(seconds: f64) -> String {
    let (scale, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "µs"),
    };
    format!("{} {unit}", show_number(seconds * scale))
}

/// Shows a count: as a whole number if it is whole or large, with commas between thousands.
pub(super) fn count(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        return show_number(value);
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Shows bytes in a suitable unit, with 1024 bytes to a kilobyte.
pub(super) fn bytes(value: f64) -> String {
    let (scale, unit) = match value {
        v if v >= 1073741824.0 => (1073741824.0, "GB"),
        v if v >= 1048576.0 => (1048576.0, "MB"),
        v if v >= 1024.0 => (1024.0, "KB"),
        _ => (1.0, "B"),
    };
    format!("{} {unit}", show_number(value / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_commas() {
        assert_eq!(
            [4.0, 15.34, 150.4, 2_048.0, 2_422_353.5].map(count),
            ["4", "15.3", "150", "2,048", "2,422,354"]
        );
        assert_eq!(
            [845e-9, 845e-6, 14.6e-3, 2.5].map(time),
            ["0.845 µs", "845 µs", "14.6 ms", "2.50 s"]
        );
        assert_eq!([512.0, 135_680.0].map(bytes), ["512 B", "132 KB"]);
    }
}
