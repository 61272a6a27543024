//! Numbers in sentences.

use model::units::show_number;

/// Seconds, with the unit that suits them.
pub fn time(seconds: f64) -> String {
    let (scale, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "µs"),
    };
    format!("{} {unit}", show_number(seconds * scale))
}

/// A number of things, rounded, with thousands apart; as a share of one where it is less than ten.
pub fn count(value: f64) -> String {
    if value < 10.0 {
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

/// Bytes, with the unit that suits them; 1024 to a kilobyte.
pub fn bytes(value: f64) -> String {
    let (scale, unit) = match value {
        v if v >= 1073741824.0 => (1073741824.0, "GB"),
        v if v >= 1048576.0 => (1048576.0, "MB"),
        v if v >= 1024.0 => (1024.0, "KB"),
        _ => (1.0, "B"),
    };
    format!("{} {unit}", show_number(value / scale))
}

/// A share, in percent.
pub fn percent(share: f64) -> String {
    format!("{} %", show_number(share * 100.0))
}
