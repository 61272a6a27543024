//! Values with units, in flags and query strings.

use std::num::NonZeroU64;

/// Reads a duration in nanoseconds: `200us`, `1.5ms`, `2s`. A number without a unit is refused,
/// because it is ambiguous.
pub fn duration(text: &str) -> Result<u64, String> {
    const HINT: &str = "write a number and ns, us, ms, s or m, as in 10ms";
    let (number, unit) = split(text);
    let nanoseconds = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "" => return Err(format!("the duration has no unit; hint: {HINT}")),
        _ => return Err(format!("unknown unit `{unit}`; hint: {HINT}")),
    };
    let number: f64 = number.parse().map_err(|_| format!("not a duration; hint: {HINT}"))?;
    // A day is far beyond any use, and an f64 represents it exactly.
    if number * nanoseconds > 86_400e9 {
        return Err("longer than a day; hint: the longest duration is 1440m".to_owned());
    }
    Ok((number * nanoseconds).round() as u64)
}

/// Reads a duration in nanoseconds that is not zero.
pub fn period(text: &str) -> Result<u64, String> {
    match duration(text)? {
        0 => Err("the duration is zero; hint: leave the flag out to have none".to_owned()),
        period => Ok(period),
    }
}

/// Reads a number of bytes: `74`, `16K`, `64M`, `1G`, where K is 1024.
pub fn size(text: &str) -> Result<u64, String> {
    const HINT: &str = "write a whole number of bytes, or one followed by K, M or G, as in 16K";
    let (number, unit) = split(text);
    let scale: u64 = match unit {
        "" | "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(format!("unknown unit `{unit}`; hint: {HINT}")),
    };
    let number: u64 = number.parse().map_err(|_| format!("not a size; hint: {HINT}"))?;
    match number.checked_mul(scale) {
        Some(bytes) if bytes <= 1 << 40 => Ok(bytes),
        _ => Err("larger than 1024G; hint: ask for less".to_owned()),
    }
}

/// Reads a final status code, 200 to 599.
pub fn status(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(status @ 200..=599) => Ok(status),
        _ => Err("not a final status; hint: write a number from 200 to 599".to_owned()),
    }
}

/// Reads `N:STATUS`: every Nth response has this status.
pub fn status_every(text: &str) -> Result<(NonZeroU64, u16), String> {
    let (every, code) =
        text.split_once(':').ok_or("no colon; hint: write N:STATUS, as in 100:503")?;
    let every = every
        .parse()
        .map_err(|_| "N is not a whole number above 0; hint: write N:STATUS, as in 100:503")?;
    Ok((every, status(code)?))
}

/// Reads a factor above zero.
pub fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1000.0 => Ok(factor),
        _ => {
            Err("not a factor; hint: write a number above 0 and up to 1000, as in 1.05".to_owned())
        }
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!(duration("7ns"), Ok(7));
        assert_eq!(duration("200us"), Ok(200_000));
        assert_eq!(duration("1.5ms"), Ok(1_500_000));
        assert_eq!(duration("2s"), Ok(2_000_000_000));
        assert_eq!(duration("2m"), Ok(120_000_000_000));
        assert_eq!(duration("0s"), Ok(0));
        for bad in ["", "10", "ms", "-1s", "1h", "1 s", "1.2.3s", "1441m"] {
            assert!(duration(bad).unwrap_err().contains("hint: "), "{bad}");
        }
        assert!(period("0ms").is_err());
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(size("74"), Ok(74));
        assert_eq!(size("74B"), Ok(74));
        assert_eq!(size("16K"), Ok(16_384));
        assert_eq!(size("64M"), Ok(67_108_864));
        for bad in ["", "K", "1.5M", "1KB", "1025G", "99999999999999999999"] {
            assert!(size(bad).unwrap_err().contains("hint: "), "{bad}");
        }
    }

    #[test]
    fn statuses_are_final() {
        assert_eq!(status("503"), Ok(503));
        assert!(status("199").is_err() && status("600").is_err() && status("ok").is_err());
        assert_eq!(status_every("100:503"), Ok((NonZeroU64::new(100).unwrap(), 503)));
        assert!(
            status_every("0:503").is_err()
                && status_every("100").is_err()
                && status_every("5:99").is_err()
        );
    }
}
