//! Splits Lua into tokens, as far as scripts of wrk need it.
//!
//! `wrk/` interprets the tokens; nothing here runs a script. A text with bytes that are not UTF-8
//! becomes an undefined name, so that a request made of it is refused. Escapes are those of Lua:
//! `\ddd` is decimal, and `\z` skips white space. So they differ from those of `words.rs`, which
//! are bash's.

use super::escapes;

/// A token of Lua.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Name(String),
    Text(String),
    Number(f64),
    Symbol(&'static str),
}

/// The longer ones come first.
const SYMBOLS: [&str; 33] = [
    "...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>", "+", "-", "*", "/", "%", "^", "#",
    "&", "~", "|", "<", ">", "=", "(", ")", "{", "}", "[", "]", ";", ":", ",", ".",
];

/// Splits a script into tokens. Comments, and characters that are not Lua, are left out.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = match long(comment) {
                Some((_, after)) => after,
                None => comment.find('\n').map_or("", |at| &comment[at..]),
            };
        } else if let Some((inside, after)) = long(rest) {
            // A line break directly after the bracket does not belong to the text.
            let inside =
                inside.strip_prefix("\r\n").or(inside.strip_prefix('\n')).unwrap_or(inside);
            tokens.push(Token::Text(inside.to_owned()));
            rest = after;
        } else if c == '"' || c == '\'' {
            let (text, after) = quoted(&rest[1..], c);
            // An undefined name, so that a request made of it is refused.
            tokens.push(
                text.map_or_else(|| Token::Name("bytes that are no text".into()), Token::Text),
            );
            rest = after;
        } else if c.is_ascii_digit() {
            let end =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
            // `1..2` is two numbers.
            let end = rest.find("..").filter(|at| *at < end).unwrap_or(end);
            tokens.extend(number(&rest[..end]).map(Token::Number));
            rest = &rest[end..];
        } else if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    tokens
}

fn number(text: &str) -> Option<f64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok().map(f64::from),
        None => text.parse().ok(),
    }
}

/// Splits off a long text, `[[...]]` or `[=[...]=]`. Returns its content and the rest.
fn long(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('[')?;
    let level = inside.bytes().take_while(|b| *b == b'=').count();
    let inside = inside[level..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(inside.split_once(end.as_str()).unwrap_or((inside, "")))
}

/// Splits off the text up to a quote. Returns it, or `None` if its bytes are not UTF-8, and the
/// rest.
fn quoted(text: &str, quote: char) -> (Option<String>, &str) {
    let mut out: Vec<u8> = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let mut plain = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        match c {
            c if c == quote => break,
            '\\' => match chars.next() {
                Some(letter) if let Some(c) = escapes::control(letter) => plain(c),
                Some('x') => out.extend(escaped(&mut chars, "", 2, 16)),
                Some(digit) if digit.is_ascii_digit() => {
                    out.extend(escaped(&mut chars, &digit.to_string(), 3, 10))
                }
                // Skips the white space that follows.
                Some('z') => chars = chars.as_str().trim_start().chars(),
                Some(c) => plain(c),
                None => {}
            },
            c => plain(c),
        }
    }
    (String::from_utf8(out).ok(), chars.as_str())
}

/// Reads the byte of a numeric escape.
fn escaped(chars: &mut std::str::Chars<'_>, begun: &str, most: usize, radix: u32) -> Option<u8> {
    escapes::number(chars, begun, most, radix).and_then(|number| u8::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::Token::{Name, Number, Symbol, Text};
    use super::tokens;

    #[test]
    fn escapes_are_bytes_of_utf8() {
        let text = |text: &str| Text(text.into());
        assert_eq!(tokens("'\\65\\x42\\195\\169\\z  \n\\\\\\9'"), [text("ABé\\\t")]);
        assert_eq!(tokens("'\\xff'"), [Name("bytes that are no text".into())]);
    }

    #[test]
    fn a_script_is_split() {
        let name = |text: &str| Name(text.into());
        let text = |text: &str| Text(text.into());
        assert_eq!(
            tokens(
                "wrk.body = \"a\\\"\\n\" .. [==[\nx]]]==] -- no\n--[[ no\n]] 0x10 1..2.5 'ü\\x41'"
            ),
            [
                name("wrk"),
                Symbol("."),
                name("body"),
                Symbol("="),
                text("a\"\n"),
                Symbol(".."),
                text("x]]"),
                Number(16.0),
                Number(1.0),
                Symbol(".."),
                Number(2.5),
                text("üA"),
            ]
        );
    }
}
