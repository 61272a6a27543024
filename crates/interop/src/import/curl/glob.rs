//! Expands the globs of curl: a URL with `{a,b}`, `[1-10]` or `[a-z:2]` is several URLs.
//!
//! `{env.NAME}` is not a glob but an environment variable. Start with [`expanded`].

use super::super::shortened;
use spec::problem::Problems;
use spec::variable;

/// A piece of a URL.
enum Piece {
    Text(String),
    /// One of these. The last piece changes first.
    Choice(Vec<String>),
}

/// Expands the globs of a URL, in curl's order, to no more than `most` URLs.
///
/// # Errors
/// A brace or bracket that curl refuses.
pub fn expanded(url: &str, most: usize) -> Result<Vec<String>, Problems> {
    let pieces = pieces(url, most)?;
    let count = pieces.iter().try_fold(1usize, |count, piece| match piece {
        Piece::Text(_) => Some(count),
        Piece::Choice(texts) => count.checked_mul(texts.len()),
    });
    let count = count.unwrap_or(usize::MAX).min(most);
    let nth = |mut n: usize| {
        let mut made = Vec::new();
        for piece in pieces.iter().rev() {
            match piece {
                Piece::Text(text) => made.push(text.as_str()),
                Piece::Choice(texts) => {
                    made.push(texts[n % texts.len()].as_str());
                    n /= texts.len();
                }
            }
        }
        made.into_iter().rev().collect()
    };
    Ok((0..count).map(nth).collect())
}

fn pieces(url: &str, most: usize) -> Result<Vec<Piece>, Problems> {
    let wrong = |what: &str| {
        let message = format!("{what} in the URL `{}`", shortened(url));
        Err(Problems::plain(
            message,
            "curl refuses it too; with -g, braces and brackets are literal",
        ))
    };
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = url;
    while let Some(c) = rest.chars().next() {
        let inside = &rest[c.len_utf8()..];
        match c {
            '\\' if inside.starts_with(['{', '}', '[', ']']) => {
                text.push_str(&inside[..1]);
                rest = &inside[1..];
            }
            '{' => {
                let Some((body, after)) = closed(inside, '}') else {
                    return wrong("a `{` that is not closed");
                };
                if variable::of_placeholder(body).is_some() {
                    // `{env.NAME}` is an environment variable.
                    text.push_str(&rest[..body.len() + 2]);
                } else {
                    if body.contains(['{', '[', ']']) && !body.contains('\\') {
                        return wrong("braces within braces");
                    }
                    if body.is_empty() {
                        return wrong("nothing between `{` and `}`");
                    }
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(Piece::Choice(choices(body)));
                }
                rest = after;
            }
            '[' => {
                let Some((body, after)) = closed(inside, ']') else {
                    return wrong("a `[` that is not closed");
                };
                if body.is_empty() || is_address(body) {
                    text.push_str(&rest[..body.len() + 2]);
                } else {
                    let Some(texts) = range(body, most) else {
                        return wrong(&format!("`[{body}]`, which is not a range,"));
                    };
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(Piece::Choice(texts));
                }
                rest = after;
            }
            '}' | ']' => return wrong(&format!("a `{c}` that closes nothing")),
            c => {
                text.push(c);
                rest = inside;
            }
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// Splits at the closing character.
fn closed(text: &str, close: char) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let end = text.char_indices().find(|(_, c)| {
        let ends = *c == close && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map(|(at, _)| (&text[..at], &text[at + 1..]))
}

/// Returns whether a text is an IPv6 address, such as `::1`.
fn is_address(text: &str) -> bool {
    let address = text.split('%').next().unwrap_or(text);
    address.parse::<std::net::Ipv6Addr>().is_ok()
}

fn choices(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            ',' => {
                all.push(String::new());
                continue;
            }
            '\\' => chars.next().unwrap_or('\\'),
            c => c,
        };
        all.iter_mut().last().into_iter().for_each(|last| last.push(c));
    }
    all
}

/// Reads a range: `a-z`, `1-10`, `001-100:10`.
fn range(text: &str, most: usize) -> Option<Vec<String>> {
    let (range, step) = text
        .split_once(':')
        .map_or(Some((text, 1)), |(range, step)| Some((range, step.parse::<usize>().ok()?)))?;
    let (from, to) = range.split_once('-')?;
    let step = Some(step).filter(|step| *step > 0)?;
    let letter =
        |text: &str| text.chars().next().filter(|c| text.len() == 1 && c.is_ascii_alphabetic());
    if let (Some(from), Some(to)) = (letter(from), letter(to)) {
        return (from <= to).then(|| (from..=to).step_by(step).map(String::from).collect());
    }
    let number =
        |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let (first, last) = (number(from)?, number(to)?);
    let width = if from.starts_with('0') { from.len() } else { 0 };
    (first <= last)
        .then(|| (first..=last).step_by(step).take(most).map(|n| format!("{n:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::expanded;

    #[test]
    fn globs_become_urls_in_the_order_of_curl() {
        let of =
            |url: &str| expanded(url, 100).map(|urls| urls.join(" ")).map_err(|e| e.to_string());
        assert_eq!(of("h/{a,b}/[1-3]").unwrap(), "h/a/1 h/a/2 h/a/3 h/b/1 h/b/2 h/b/3");
        assert_eq!(
            of("h/[08-10]?x=[a-e:2]").unwrap(),
            "h/08?x=a h/08?x=c h/08?x=e h/09?x=a h/09?x=c h/09?x=e h/10?x=a h/10?x=c h/10?x=e"
        );
        assert_eq!(of("h/{one}{,-x}").unwrap(), "h/one h/one-x");
        assert_eq!(of("h/\\{a\\}\\[1-2\\]").unwrap(), "h/{a}[1-2]");
        assert_eq!(
            of("http://[::1]:80/?a[]=1&t={env.TOKEN}").unwrap(),
            "http://[::1]:80/?a[]=1&t={env.TOKEN}"
        );
        assert_eq!(
            expanded("h/[1-18446744073709551615][0-9]", 3).unwrap(),
            ["h/10", "h/11", "h/12"]
        );
        for bad in [
            "h/{",
            "h/}",
            "h/[",
            "h/[1]",
            "h/[9-1]",
            "h/[1-2:0]",
            "h/{}",
            "h/{a,{b}}",
            "h/]",
            "h/[a-9]",
        ] {
            assert!(
                of(bad).is_err_and(|e| e.contains("hint: ") && e.contains("-g")),
                "{bad}: {:?}",
                of(bad)
            );
        }
    }
}
