//! Lua, as far as its words.

/// A word of Lua.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Name(String),
    Text(String),
    Number(f64),
    Symbol(&'static str),
}

/// Longer ones first.
const SYMBOLS: [&str; 33] = [
    "...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>", "+", "-", "*", "/", "%", "^", "#", "&", "~", "|", "<", ">", "=", "(", ")",
    "{", "}", "[", "]", ";", ":", ",", ".",
];

/// Splits a script into words; comments and what is no Lua are left out.
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
            // A line break right behind the bracket is none of the text.
            let inside = inside.strip_prefix("\r\n").or(inside.strip_prefix('\n')).unwrap_or(inside);
            tokens.push(Token::Text(inside.to_owned()));
            rest = after;
        } else if c == '"' || c == '\'' {
            let (text, after) = quoted(&rest[1..], c);
            tokens.push(Token::Text(text));
            rest = after;
        } else if c.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
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

/// `[[...]]` and `[=[...]=]`: what is in it, and what follows.
fn long(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('[')?;
    let level = inside.bytes().take_while(|b| *b == b'=').count();
    let inside = inside[level..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(inside.split_once(end.as_str()).unwrap_or((inside, "")))
}

/// The text up to a quote, and what follows.
fn quoted(text: &str, quote: char) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return (out, chars.as_str()),
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('x') => {
                    let digits: String = chars.as_str().chars().take(2).take_while(char::is_ascii_hexdigit).collect();
                    chars = chars.as_str()[digits.len()..].chars();
                    out.extend(u8::from_str_radix(&digits, 16).ok().map(char::from));
                }
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    (out, "")
}

#[cfg(test)]
mod tests {
    use super::Token::{Name, Number, Symbol, Text};
    use super::tokens;

    #[test]
    fn a_script_is_split() {
        let name = |text: &str| Name(text.into());
        let text = |text: &str| Text(text.into());
        assert_eq!(
            tokens("wrk.body = \"a\\\"\\n\" .. [==[\nx]]]==] -- no\n--[[ no\n]] 0x10 1..2.5 'ü\\x41'"),
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
