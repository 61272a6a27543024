//! Removes decoration from the lines of a paste: encodings, colours, quotes, borders and
//! timestamps.
//!
//! People copy output from terminals, CI logs, mails and chats, which add something to each line.
//! Start with [`lines`].

/// A line of the input, trimmed.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its number, counted from 1 as editors do.
    pub number: usize,
    /// Its text, without decoration and indentation.
    pub text: String,
}

/// Decodes UTF-8, and the UTF-16 that PowerShell writes.
pub fn decode(bytes: &[u8]) -> String {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Splits a text into lines and removes their decoration.
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = text
        .split('\n')
        .enumerate()
        .map(|(at, line)| Line { number: at + 1, text: undecorated(&plain(line)).to_owned() })
        .collect();
    while let Some(prefix) = common_prefix(&lines) {
        for line in &mut lines {
            let rest = line.text.get(prefix..).unwrap_or_default();
            line.text = undecorated(rest).to_owned();
        }
    }
    lines
}

/// Removes colours, control characters, and what a terminal has overwritten.
fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = escape(rest) {
            rest = after;
            continue;
        }
        match first {
            '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}' => {}
            '\u{a0}' | '\u{202f}' | '\u{2009}' => plain.push(' '),
            '\t' => plain.push('\t'),
            c if c.is_control() => {}
            c => plain.push(c),
        }
        rest = &rest[first.len_utf8()..];
    }
    plain
}

/// Returns the text after an escape sequence, if it begins with one. Some logs write it as
/// `^[[32m`, or lose its first byte.
fn escape(text: &str) -> Option<&str> {
    let escaped = text
        .strip_prefix('\u{1b}')
        .or_else(|| text.strip_prefix("^["))
        .or_else(|| text.strip_prefix('\u{241b}'));
    if let Some(osc) = escaped.and_then(|after| after.strip_prefix(']')) {
        let end = osc.find(['\u{7}', '\u{1b}'])?;
        return Some(osc[end..].trim_start_matches(['\u{7}', '\u{1b}', '\\']));
    }
    let control = escaped.unwrap_or(text).strip_prefix('[')?;
    let end = control.find(|c: char| !c.is_ascii_digit() && c != ';' && c != '?')?;
    let last = control[end..].chars().next().filter(char::is_ascii_alphabetic)?;
    // Without its first byte, only a colour is recognized.
    (escaped.is_some() || last == 'm' && end > 0).then(|| &control[end + 1..])
}

/// Removes quotes, borders, bullets and timestamps around a line.
fn undecorated(line: &str) -> &str {
    let mut line = line.trim();
    for _ in 0..8 {
        let before = line;
        if let Some(rest) =
            line.strip_prefix('>').filter(|rest| rest.is_empty() || rest.starts_with([' ', '>']))
        {
            line = rest.trim_start();
        }
        const BORDERS: [char; 4] = ['|', '│', '║', '┃'];
        line = line.strip_prefix(BORDERS).map_or(line, str::trim_start);
        line = line.strip_suffix(BORDERS).map_or(line, str::trim_end);
        line = after_timestamp(line).unwrap_or(line).trim_start();
        if line == before {
            break;
        }
    }
    line
}

/// Returns the text after a timestamp: `2024-05-01T12:00:00.1234567Z `, `[12:00:00] `,
/// `May 01 12:00:00 host unit[1]: `, or one of GitHub's logs, which write job and step before it.
fn after_timestamp(line: &str) -> Option<&str> {
    let mut named = line.splitn(3, '\t');
    if let (Some(_), Some(_), Some(rest)) = (named.next(), named.next(), named.next())
        && let Some(rest) = after_timestamp(rest)
    {
        return Some(rest);
    }
    let (open, text) = line.strip_prefix('[').map_or((false, line), |rest| (true, rest));
    let date = ["dddd-dd-dd", "dddd/dd/dd"].iter().find_map(|pattern| shaped(text, pattern));
    let syslog =
        || shaped(text, "Mmm dd ").or_else(|| shaped(text, "Mmm  d ")).map(|rest| (rest, true));
    let (time, is_syslog) = match date {
        Some(rest) => (rest.strip_prefix(['T', 't', ' '])?, false),
        None => syslog().unwrap_or((text, false)),
    };
    let rest = shaped(time, "dd:dd:dd")?;
    let rest = rest
        .strip_prefix(['.', ','])
        .map_or(rest, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    let zone = ["Z", " UTC", "+dd:dd", "-dd:dd", "+dddd", "-dddd"]
        .iter()
        .find_map(|pattern| shaped(rest, pattern));
    let rest = zone.unwrap_or(rest);
    let rest = if open { rest.strip_prefix(']')? } else { rest };
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let rest = rest.trim_start();
    if is_syslog {
        // The host and the unit.
        return rest.split_once(": ").map(|(_, text)| text);
    }
    // The stream of GitLab: `00O `.
    Some(
        ["ddO ", "ddE ", "ddO+", "ddE+"]
            .iter()
            .find_map(|pattern| shaped(rest, pattern))
            .unwrap_or(rest),
    )
}

/// Returns the text after a shape, in which `d` is a digit and `Mmm` a month.
fn shaped<'t>(text: &'t str, pattern: &str) -> Option<&'t str> {
    let mut rest = text;
    if let Some(after) = pattern.strip_prefix("Mmm") {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        rest = MONTHS.iter().find_map(|month| text.strip_prefix(month))?;
        return shaped(rest, after);
    }
    for wanted in pattern.chars() {
        let found = rest.chars().next()?;
        if !(if wanted == 'd' { found.is_ascii_digit() } else { found == wanted }) {
            return None;
        }
        rest = &rest[found.len_utf8()..];
    }
    Some(rest)
}

/// Returns the length of a prefix that every line has, up to a border: `load-1  | `, `[pod/load] `.
fn common_prefix(lines: &[Line]) -> Option<usize> {
    let filled = || lines.iter().map(|line| line.text.as_str()).filter(|text| !text.is_empty());
    let first = filled().find(|text| text.contains(['|', ']']))?;
    let ends = first
        .match_indices(['|', ']'])
        .map(|(at, _)| at + 1)
        .filter(|end| first[*end..].starts_with(' '));
    // The rest may be empty, and its border may be removed already.
    let has = |text: &str, prefix: &str| {
        text.starts_with(prefix) || prefix.trim_end_matches([' ', '|']) == text
    };
    let common = ends.filter(|end| filled().all(|text| has(text, &first[..*end]))).max()?;
    (filled().count() > 2).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        lines(text).remove(0).text
    }

    #[test]
    fn decoration_of_lines_is_removed() {
        const SHOWN: &str = "Requests/sec: 150845.54";
        for around in [
            "  Requests/sec: 150845.54\r",
            "> > Requests/sec: 150845.54",
            "| Requests/sec: 150845.54 |",
            "│ Requests/sec: 150845.54 │",
            "\u{feff}Requests/sec: 150845.54",
            "\u{1b}[1m\u{1b}[32mRequests/sec:\u{1b}[0m 150845.54",
            "[32mRequests/sec:[0m 150845.54",
            "^[[32mRequests/sec:^[[0m 150845.54",
            "2024-05-01T12:00:00.1234567Z Requests/sec: 150845.54",
            "2024-05-01T12:00:00+02:00 Requests/sec: 150845.54",
            "2024-05-01T12:00:00.123456Z 01O Requests/sec: 150845.54",
            "[2024-05-01 12:00:00,123] Requests/sec: 150845.54",
            "2024/05/01 12:00:00 Requests/sec: 150845.54",
            "[12:00:00] Requests/sec: 150845.54",
            "12:00:00.123 > Requests/sec: 150845.54",
            "May  1 12:00:00 host load[12]: Requests/sec: 150845.54",
            "load\tRun wrk\t2024-05-01T12:00:00.1234567Z Requests/sec: 150845.54",
            "progress 10%\rprogress 20%\rRequests/sec: 150845.54",
        ] {
            assert_eq!(one(around), SHOWN, "{around:?}");
        }
    }

    #[test]
    fn a_prefix_of_every_line_is_removed() {
        let texts = |text: &str| lines(text).into_iter().map(|line| line.text).collect::<Vec<_>>();
        assert_eq!(
            texts("load-1  | a 1\nload-1  | b 2\n\nload-1  | 2024-05-01T12:00:00Z c 3"),
            ["a 1", "b 2", "", "c 3"]
        );
        assert_eq!(
            texts("GET /a | 1\nGET /b | 2\nGET /c | 3"),
            ["GET /a | 1", "GET /b | 2", "GET /c | 3"]
        );
    }

    #[test]
    fn text_that_resembles_decoration_stays() {
        for text in [
            ">= 0.05 < 0.06 , 0.055 , 47.50, 19",
            "[200] 72568 responses",
            "0.004 [33170] |■■■",
            "00:01:40",
            "12 requests",
        ] {
            let kept = one(text);
            assert!(
                text.starts_with(&kept) && kept.len() + 2 >= text.len() || kept.is_empty(),
                "{text}: {kept}"
            );
        }
        assert_eq!(one("[200] 72568 responses"), "[200] 72568 responses");
    }

    #[test]
    fn utf_16_is_read() {
        let text = "Requests/sec: 5\r\n";
        let little: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        let big: Vec<u8> = [0xfe, 0xff]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_be_bytes))
            .collect();
        assert_eq!((decode(&little), decode(&big)), (text.to_owned(), text.to_owned()));
    }
}
