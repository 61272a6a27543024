//! Durations, sizes and numbers, as people write and read them.
//!
//! `parse_…` functions read what a file or a command line has. `show_…` functions write for people,
//! with three significant digits. [`nanoseconds`] is how records store durations.

use std::time::Duration;

/// Reads `500ms`, `30s`, `2m`, `1h`, `1m30s`, `250us`, `100ns`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration: write it like 500ms, 30s, 2m, 1h or 1m30s");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit_end =
            rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let scale = match &rest[digits..unit_end] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "" if digits == text.trim().len() => 1.0,
            _ => return Err(wrong()),
        };
        seconds += number * scale;
        rest = &rest[unit_end..];
    }
    if !(0.0..=1e9).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// Splits a number from its suffix. The second value is how often the suffix multiplies by 1000 or
/// 1024.
fn split_suffix(text: &str) -> (&str, usize) {
    let text = text.trim();
    match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1),
        Some((at, 'M')) => (&text[..at], 2),
        Some((at, 'G')) => (&text[..at], 3),
        _ => (text, 0),
    }
}

/// Reads `1k`, `2.5M`, `300`: a number with an SI suffix.
pub fn parse_number(text: &str) -> Result<f64, String> {
    let (digits, thousands) = split_suffix(text);
    digits
        .parse::<f64>()
        .ok()
        .filter(|n| n.is_finite())
        .map(|n| n * [1.0, 1e3, 1e6, 1e9][thousands])
        .ok_or_else(|| format!("`{text}` is not a number: write it like 300, 1k or 2.5M"))
}

/// Reads `74`, `16K`, `64M`, `1G`: bytes, where K is 1024.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, thousands) = split_suffix(text);
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << (10 * thousands)));
    bytes.ok_or_else(|| {
        format!("`{text}` is not a size: write it like 74, 16K or 1M, where K is 1024")
    })
}

/// Shows a duration for people: `350 ms`, `12 s`, `4 min 10 s`, `1 h 05 min`.
pub fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.0005 => format!("{:.0} µs", s * 1e6),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 59.5 => format!("{s:.0} s"),
        s if s < 3599.5 => {
            let whole = s.round() as u64;
            if whole.is_multiple_of(60) {
                format!("{} min", whole / 60)
            } else {
                format!("{} min {:02} s", whole / 60, whole % 60)
            }
        }
        s => {
            let minutes = (s / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// Shows bytes with a binary unit: `892 B`, `7.9 MiB`.
pub fn show_bytes(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1024.0 => format!("{b:.0} B"),
        b if b < 1024.0 * 1024.0 => format!("{:.1} KiB", b / 1024.0),
        b if b < 1024.0 * 1024.0 * 1024.0 => format!("{:.1} MiB", b / 1024.0 / 1024.0),
        b => format!("{:.2} GiB", b / 1024.0 / 1024.0 / 1024.0),
    }
}

/// Shows a number with three significant digits. Only extreme values have an exponent.
pub fn show_number(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".into(),
        s if s >= 99.95 => format!("{value:.0}"),
        s if s >= 9.995 => format!("{value:.1}"),
        s if s >= 0.9995 => format!("{value:.2}"),
        s if s >= 0.001 => {
            let decimals = (2.0 - s.log10().floor()) as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.2e}"),
    }
}

/// Shows a number with three significant digits and never with an exponent: `0.0000123`.
pub fn show_decimal(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && size < 0.001 => {
            let decimals = (2.0 - size.log10().floor()).min(30.0) as usize;
            format!("{value:.decimals$}")
        }
        _ => show_number(value),
    }
}

/// Shows a time in a narrow form, for columns: `55.2us`, `1.34ms`, `2.05s`.
pub fn show_short(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{}us", show_number(ns / 1e3)),
        ns if ns < 1e9 => format!("{}ms", show_number(ns / 1e6)),
        ns => format!("{}s", show_number(ns / 1e9)),
    }
}

/// Shows a share in percent, with three significant digits.
pub fn show_share(share: f64) -> String {
    let number = show_number(share * 100.0);
    let shown = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => &number,
    };
    format!("{shown} %")
}

/// Stores a duration as whole nanoseconds, as records do.
pub mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    /// Writes nanoseconds.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(duration.as_nanos() as u64)
    }

    /// Reads nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, ms) in [
            ("500ms", 500.0),
            ("30s", 30e3),
            ("2m", 120e3),
            ("1h", 3.6e6),
            ("1m30s", 90e3),
            ("7", 7e3),
            ("0.5s", 500.0),
            ("250us", 0.25),
        ] {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_secs_f64(ms / 1e3), "{text}");
        }
        for bad in ["", "s", "5x", "-3s", "1s5", "1..2s", "1e99h", "5 s"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_and_durations_are_shown_for_people() {
        assert_eq!(
            [0.0, 0.031234, 0.31234, 1.2345, 12.345, 12345.6].map(show_number),
            ["0", "0.0312", "0.312", "1.23", "12.3", "12346"]
        );
        assert_eq!(
            [0.0, 0.000_944_4, 0.000_000_123_4, 12.345].map(show_decimal),
            ["0", "0.000944", "0.000000123", "12.3"]
        );
        let shown: Vec<String> = [0.35, 4.0, 12.0, 250.0, 3900.0]
            .into_iter()
            .map(|s| show_duration(Duration::from_secs_f64(s)))
            .collect();
        assert_eq!(shown, ["350 ms", "4.0 s", "12 s", "4 min 10 s", "1 h 05 min"]);
        assert_eq!(
            [parse_number("1k"), parse_number("2.5M"), parse_number("300")].map(Result::unwrap),
            [1e3, 2.5e6, 300.0]
        );
        assert!(parse_number("k").is_err() && parse_number("NaN").is_err());
        assert_eq!(
            ["74", "16K", " 64M ", "1G"].map(|t| parse_bytes(t).unwrap()),
            [74, 16 << 10, 64 << 20, 1 << 30]
        );
        assert!(
            ["", "K", "1.5K", "1m", "99999999999G"]
                .into_iter()
                .all(|bad| parse_bytes(bad).is_err())
        );
    }
}
