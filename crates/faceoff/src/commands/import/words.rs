//! Words of a command line, as a shell splits them.

use std::iter::Peekable;
use std::str::Chars;

/// Splits text into command lines and these into words: quotes, escapes, `$'...'`, comments, and lines that go on behind a backslash.
pub fn lines(text: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let mut line: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | ';' => {
                line.extend(word.take());
                if !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
            }
            c if c.is_whitespace() => line.extend(word.take()),
            '#' if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '\\' => {
                if chars.peek() == Some(&'\r') {
                    chars.next();
                }
                match chars.next() {
                    Some('\n') | None => {}
                    Some(c) => word.get_or_insert_default().push(c),
                }
            }
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '$' if chars.peek() == Some(&'\'') => {
                chars.next();
                ansi(&mut chars, word.get_or_insert_default());
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some(c) if "\"\\$`".contains(c) => word.push(c),
                            Some('\n') | None => {}
                            Some(c) => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    line.extend(word);
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// What follows `$'`, up to its end.
fn ansi(chars: &mut Peekable<Chars<'_>>, word: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            '\'' => return,
            '\\' => match chars.next() {
                Some('n') => word.push('\n'),
                Some('r') => word.push('\r'),
                Some('t') => word.push('\t'),
                Some('x') => word.extend(code(chars, 2)),
                Some('u') => word.extend(code(chars, 4)),
                Some('U') => word.extend(code(chars, 8)),
                Some(c) => word.push(c),
                None => return,
            },
            c => word.push(c),
        }
    }
}

fn code(chars: &mut Peekable<Chars<'_>>, most: usize) -> Option<char> {
    let digits: String = std::iter::from_fn(|| chars.next_if(char::is_ascii_hexdigit)).take(most).collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn words_are_split_as_shells_do() {
        let split = |text: &str| lines(text).into_iter().map(|line| line.join("|")).collect::<Vec<_>>();
        assert_eq!(split("curl -H 'A: b' \\\n  --data \"x \\\"y\\\" $z\" u\\ v''w"), ["curl|-H|A: b|--data|x \"y\" $z|u vw"]);
        assert_eq!(split("# said\ncurl $'a\\n\\u0041\\'' ''; b # c"), ["curl|a\nA'|", "b"]);
        assert_eq!(split("'open"), ["open"]);
        assert!(split(" \n ; ").is_empty());
    }
}
