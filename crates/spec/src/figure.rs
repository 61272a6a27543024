//! Numbers as they were printed, together with the rounding that their digits allow.
//!
//! An audit compares figures of a table with each other. A printed `1.63ms` may have been 1.62 or
//! 1.64 ms, so a comparison of the printed values alone would report contradictions that are only
//! rounding. A [`Figure`] keeps its text, its value in a base unit, and one unit of its last digit.
//!
//! Start with [`Figure::time`] and [`Figure::count`].

use serde::{Deserialize, Serialize};

/// A number as it was printed. It represents every value within one unit of its last digit, since
/// it may be rounded or cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    text: String,
    value: f64,
    unit: f64,
}

const COUNTS: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
const TIMES: &[(&[&str], f64)] = &[
    (&["ns", "nsec", "nanoseconds"], 1e-9),
    (&["us", "µs", "μs", "usec", "microseconds"], 1e-6),
    (&["ms", "msec", "msecs", "millis", "milliseconds"], 1e-3),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["10 sec"], 10.0),
    (&["m", "min", "mins", "minute", "minutes"], 60.0),
    (&["10 min"], 600.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0),
];
/// Prefixes of powers of 1000 or 1024.
const PREFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// Returns how many bytes a unit has. `k` and `KB` are `kilo` bytes; units with an i are always
/// powers of 1024.
fn bytes_of(unit: &str, kilo: f64) -> Option<f64> {
    let prefix = match unit {
        "B" | "byte" | "bytes" | "Bytes" => return Some(1.0),
        "kB" | "kb" => return Some(1e3),
        _ => unit.strip_suffix("ytes").unwrap_or(unit),
    };
    let prefix = prefix.strip_suffix(['B', 'b']).unwrap_or(prefix);
    let (prefix, kilo) = prefix.strip_suffix('i').map_or((prefix, kilo), |prefix| (prefix, 1024.0));
    let power = PREFIXES
        .iter()
        .position(|known| known.eq_ignore_ascii_case(prefix) && !prefix.is_empty())?;
    Some(kilo.powi(power as i32))
}

impl Figure {
    /// Reads a number of things, such as `82,426` or `1.4M`.
    ///
    /// # Errors
    /// If the text is not such a number; the message quotes it.
    pub fn count(text: &str) -> Result<Figure, String> {
        Figure::read_with_units(text, COUNTS, "a number, such as 82,426 or 1.4M")
    }

    /// Reads a time, such as `1.63ms`, `0.5 min` or `1m12s`, in seconds.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn time(text: &str) -> Result<Figure, String> {
        let scale = |unit: &str| {
            TIMES.iter().find(|(names, _)| names.contains(&unit)).map(|(_, scale)| *scale)
        };
        let single = Figure::scaled(text, scale, "a time with its unit, such as 1.63ms or 30s");
        single.or_else(|wrong| Figure::composed(text.trim(), scale).ok_or(wrong))
    }

    /// Reads bytes, such as `445.86MB`. K, M and G are powers of 1024, as in load generators; `kB`
    /// is 1000.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn bytes(text: &str) -> Result<Figure, String> {
        Figure::scaled(
            text,
            |unit| bytes_of(unit, 1024.0),
            "bytes with their unit, such as 445.86MB",
        )
    }

    /// Reads bytes, such as `445.86 MB`. K, M and G are powers of 1000, as in k6 and autocannon.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn decimal_bytes(text: &str) -> Result<Figure, String> {
        Figure::scaled(text, |unit| bytes_of(unit, 1e3), "bytes with their unit, such as 445.86 MB")
    }

    /// Reads a share, such as `16.03%`, as a number from 0 to 1.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn share(text: &str) -> Result<Figure, String> {
        Figure::read_with_units(text, &[("%", 0.01)], "a share, such as 16.03%")
    }

    /// Makes a figure of a number that a program printed with all its digits, shown as `text`.
    pub fn exact(value: f64, text: impl Into<String>) -> Figure {
        Figure { text: text.into(), value, unit: value.abs() * 1e-9 }
    }

    /// Makes a figure of a number of things that a program counted.
    pub fn whole(count: f64) -> Figure {
        Figure::exact(count, format!("{count}"))
    }

    /// Makes a figure of a number in JSON, times a scale, shown as `text`. The program may have
    /// rounded it to the digits that are there.
    pub fn number(value: f64, scale: f64, text: impl Into<String>) -> Figure {
        let digits = format!("{value:e}");
        let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
        let last = exponent.parse::<i32>().unwrap_or(0).saturating_sub(decimals).clamp(-300, 0);
        let exact = Figure::exact(value * scale, text);
        Figure { unit: exact.unit.max(10f64.powi(last) * scale.abs()), ..exact }
    }

    /// Returns the rest of a share: 1 minus it.
    #[must_use]
    pub fn complement(self) -> Figure {
        let value = (1.0 - self.value).max(0.0);
        Figure { text: format!("{:.2}%", value * 100.0), value, unit: self.unit }
    }

    /// Returns the figure times a factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Figure {
        Figure { value: self.value * factor, unit: self.unit * factor.abs(), ..self }
    }

    /// Returns the figure with a tolerance of at least this share of its value.
    #[must_use]
    pub fn within(self, share: f64) -> Figure {
        Figure { unit: self.unit.max(self.value.abs() * share), ..self }
    }

    fn read_with_units(text: &str, units: &[(&str, f64)], wanted: &str) -> Result<Figure, String> {
        Figure::scaled(
            text,
            |unit| units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale),
            wanted,
        )
    }

    fn scaled(
        text: &str,
        scale: impl Fn(&str) -> Option<f64>,
        wanted: &str,
    ) -> Result<Figure, String> {
        let text = text.trim();
        let wrong = || format!("`{text}` is not {wanted}");
        let (digits, unit) = text.split_at(number_end(text));
        let scale = scale(unit.trim()).ok_or_else(wrong)?;
        let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
        let exponent = exponent
            .parse::<i32>()
            .ok()
            .filter(|exponent| exponent.abs() <= 30)
            .ok_or_else(wrong)?;
        // 30 digits are more than any tool prints, and keep every product finite.
        if !is_grouped(mantissa) || mantissa.len() > 30 {
            return Err(wrong());
        }
        let value: f64 = digits.replace(',', "").parse().map_err(|_| wrong())?;
        let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        Ok(Figure {
            text: text.to_owned(),
            value: value * scale,
            unit: scale * 10f64.powi(exponent - decimals as i32),
        })
    }

    /// Reads `1m12s`: whole numbers of descending units. Only the last may have decimals.
    fn composed(text: &str, scale: impl Fn(&str) -> Option<f64>) -> Option<Figure> {
        let (mut value, mut unit, mut above, mut rest) = (0.0, 0.0, f64::INFINITY, text);
        while !rest.is_empty() {
            let (digits, after) = rest.split_at(number_end(rest));
            let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let scale = scale(after[..end].trim()).filter(|scale| *scale < above)?;
            let part = Figure::scaled(digits, |unit| unit.is_empty().then_some(scale), "").ok()?;
            if end < after.len() && digits.contains(['.', ',', 'e']) {
                return None;
            }
            (value, unit, above, rest) =
                (value + part.value, part.unit, scale, after[end..].trim_start());
        }
        (unit > 0.0).then(|| Figure { text: text.to_owned(), value, unit })
    }

    /// Returns the text as it was printed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the printed value, in the base unit.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Returns the smallest value that the text can represent.
    pub fn low(&self) -> f64 {
        (self.value - self.unit).max(0.0)
    }

    /// Returns the largest value that the text can represent.
    pub fn high(&self) -> f64 {
        self.value + self.unit
    }

    /// Returns one unit of the last digit.
    pub fn unit(&self) -> f64 {
        self.unit
    }
}

/// Returns the length of the number at the beginning of a text. An exponent has a sign, as Go
/// prints it.
fn number_end(text: &str) -> usize {
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let exponent =
        text[end..].strip_prefix(['e', 'E']).and_then(|rest| rest.strip_prefix(['+', '-']));
    let digits =
        exponent.map_or(0, |rest| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    if digits > 0 { end + 2 + digits } else { end }
}

/// Returns whether commas separate thousands. `150,383` is read as thousands; `150,38` can only be
/// a decimal.
fn is_grouped(digits: &str) -> bool {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let parted = whole.contains(',');
    !fraction.contains(',')
        && groups.all(|group| group.len() == 3)
        && (!parted || (1..=3).contains(&first.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_figure_covers_the_values_that_round_to_it() {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        let time = Figure::time("1.63ms").unwrap();
        assert!(
            close(time.low(), 1.62e-3)
                && close(time.value(), 1.63e-3)
                && close(time.high(), 1.64e-3)
        );
        assert!(close(Figure::time("564.00us").unwrap().value(), 564e-6));
        assert!(close(Figure::count("2,422,353").unwrap().value(), 2_422_353.0));
        let short = Figure::count("9.3k").unwrap();
        assert!(close(short.low(), 9_200.0) && close(short.high(), 9_400.0));
        assert!(close(Figure::bytes("445.86MB").unwrap().value(), 445.86 * 1048576.0));
        assert!(close(Figure::share("16.03%").unwrap().value(), 0.1603));
        assert_eq!(Figure::time("0.00us").unwrap().low(), 0.0);
        for bad in [
            "",
            "ms",
            "1.6.3ms",
            "1.63",
            "-1ms",
            "1e9ms",
            "1.63 parsecs",
            "9999999999999999999999999999999999s",
        ] {
            assert!(Figure::time(bad).is_err(), "{bad}");
        }
        for bad in ["1,5ms", "1,23,456ms", "12s1m", "1m1m", "1.5m12s", "1m12", "NaN s"] {
            assert!(Figure::time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_spelling_of_a_unit_is_read() {
        let close = |figure: Result<Figure, String>, known: f64| {
            let found = figure.map_or(f64::NAN, |f| f.value());
            assert!((found / known - 1.0).abs() < 1e-9, "{found} instead of {known}");
        };
        for (text, seconds) in [
            ("0.0417 min", 2.502),
            ("0.25 10 sec", 2.5),
            ("0.5 10 min", 300.0),
            ("0.5 hr", 1800.0),
            ("2.5 sec", 2.5),
            ("2.5 secs", 2.5),
            ("9747 usec", 9.747e-3),
            ("1m12s", 72.0),
            ("1m12.5s", 72.5),
            ("1h2m3s", 3723.0),
            ("1h 2m 3s", 3723.0),
            ("10.094965987s", 10.094965987),
            ("4.94e-05s", 4.94e-5),
            ("1,234.5ms", 1.2345),
        ] {
            close(Figure::time(text), seconds);
        }
        for (text, bytes) in [
            ("2491728 bytes", 2491728.0),
            ("1.98 MiB", 1.98 * 1048576.0),
            ("26596.06Kbytes", 26596.06 * 1024.0),
            ("2KB", 2048.0),
            ("2 kB", 2000.0),
        ] {
            close(Figure::bytes(text), bytes);
        }
        close(Figure::decimal_bytes("2.4 MB"), 2.4e6);
        close(Figure::decimal_bytes("2.4 MiB"), 2.4 * 1048576.0);
        let minutes = Figure::time("1m12s").unwrap();
        assert!((minutes.low() - 71.0).abs() < 1e-9 && (minutes.high() - 73.0).abs() < 1e-9);
        let rounded = Figure::number(0.0004, 1.0, "");
        assert!((rounded.low() - 0.0003).abs() < 1e-12 && (rounded.high() - 0.0005).abs() < 1e-12);
        assert_eq!(Figure::number(30_000.0, 1.0, "").unit(), 1.0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "\\PC{0,40}") {
            for read in [Figure::count, Figure::time, Figure::bytes, Figure::share] {
                if let Ok(figure) = read(&text) {
                    prop_assert!(figure.low() <= figure.value() && figure.value() <= figure.high() && figure.high().is_finite());
                }
            }
        }
    }
}
