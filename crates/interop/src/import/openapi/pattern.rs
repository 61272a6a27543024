//! Makes texts that a regular expression matches, from the expression itself.
//!
//! JSON Schema restricts texts with patterns, and a request needs one that fits. Repetitions are as
//! short as possible. Lookaround and other constructs are not supported, and the result is always
//! checked against the pattern. Start with [`text`].

/// The most repetitions of a piece.
const MOST: usize = 1_000;
const DEEPEST: usize = 20;

/// A piece of an expression.
enum Piece {
    /// One of these characters.
    One(Vec<char>),
    /// Alternatives, of which the first is used.
    Group(Vec<Piece>),
    Repeated(Box<Piece>, usize, usize),
}

/// Returns a text that a pattern of JSON Schema matches, with a length within bounds; `None` if
/// none is found.
pub fn text(pattern: &str, least: usize, most: usize) -> Option<String> {
    let regex = regex_lite::Regex::new(pattern).ok()?;
    let mut reader = Reader { chars: pattern.chars().collect(), at: 0 };
    let pieces = reader.branches(0)?;
    if reader.at != reader.chars.len() {
        return None;
    }
    let fits =
        |text: &String| (least..=most).contains(&text.chars().count()) && regex.is_match(text);
    // Each repetition is first as short as possible, then longer until the text is long enough.
    let lengths = (0..=least.min(MOST)).chain([most.min(MOST)]);
    let found = lengths
        .map(|more| pieces.iter().map(|piece| piece.text(more)).collect::<String>())
        .find(fits);
    found.or_else(|| {
        // An expression without anchors also matches within a longer text.
        let short: String = pieces.iter().map(|piece| piece.text(0)).collect();
        let missing =
            least.checked_sub(short.chars().count()).filter(|missing| *missing <= 1 << 16)?;
        ["a", "0"].into_iter().map(|fill| format!("{short}{}", fill.repeat(missing))).find(fits)
    })
}

impl Piece {
    fn text(&self, more: usize) -> String {
        match self {
            Piece::One(chars) => chars.first().copied().map(String::from).unwrap_or_default(),
            Piece::Group(pieces) => pieces.iter().map(|piece| piece.text(more)).collect(),
            Piece::Repeated(piece, least, most) => {
                // Nested repetitions stay as short as possible.
                (0..(*least + more).min(*most)).map(|_| piece.text(0)).collect()
            }
        }
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads alternatives between `|`, and returns the first.
    fn branches(&mut self, depth: usize) -> Option<Vec<Piece>> {
        let first = self.sequence(depth)?;
        while self.take('|') {
            self.sequence(depth)?;
        }
        Some(first)
    }

    fn sequence(&mut self, depth: usize) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(c) = self.peek().filter(|c| !"|)".contains(*c)) {
            self.at += 1;
            let piece = match c {
                '^' | '$' => continue,
                '(' => self.group(depth)?,
                '[' => Piece::One(self.class()?),
                '.' => Piece::One(vec!['a']),
                '\\' => match self.peek()? {
                    'b' | 'B' => {
                        self.at += 1;
                        continue;
                    }
                    _ => Piece::One(self.escape()?),
                },
                c => Piece::One(vec![c]),
            };
            let (least, most) = self.repeats()?;
            pieces.push(if (least, most) == (1, 1) {
                piece
            } else {
                Piece::Repeated(Box::new(piece), least, most)
            });
        }
        Some(pieces)
    }

    fn group(&mut self, depth: usize) -> Option<Piece> {
        if depth > DEEPEST {
            return None;
        }
        if self.take('?') {
            let is_named = self.take('<') || (self.take('P') && self.take('<'));
            match is_named {
                true if self.peek().is_some_and(char::is_alphabetic) => {
                    while !self.take('>') {
                        self.peek()?;
                        self.at += 1
                    }
                }
                false if self.take(':') => {}
                // Lookaround is not supported.
                _ => return None,
            }
        }
        let inside = self.branches(depth + 1)?;
        self.take(')').then_some(Piece::Group(inside))
    }

    fn repeats(&mut self) -> Option<(usize, usize)> {
        let bounds = match self.peek() {
            Some('*') => (0, MOST),
            Some('+') => (1, MOST),
            Some('?') => (0, 1),
            Some('{') => {
                let end = self.chars[self.at..].iter().position(|c| *c == '}')? + self.at;
                let inside: String = self.chars[self.at + 1..end].iter().collect();
                self.at = end;
                let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n <= MOST);
                match inside.split_once(',') {
                    None => (number(&inside)?, number(&inside)?),
                    Some((least, "")) => (number(least)?, MOST),
                    Some((least, most)) => (number(least)?, number(most)?),
                }
            }
            _ => return Some((1, 1)),
        };
        self.at += 1;
        self.take('?');
        Some(bounds)
    }

    /// Reads what follows `\`.
    fn escape(&mut self) -> Option<Vec<char>> {
        let c = self.peek()?;
        self.at += 1;
        Some(match c {
            'd' => ('0'..='9').collect(),
            'w' => ('a'..='z').chain('0'..='9').collect(),
            's' => vec![' '],
            'D' | 'W' => vec!['-'],
            'S' => vec!['a'],
            'n' => vec!['\n'],
            't' => vec!['\t'],
            'r' => vec!['\r'],
            c if c.is_ascii_alphanumeric() => return None,
            c => vec![c],
        })
    }

    /// Reads the characters between `[` and `]`.
    fn class(&mut self) -> Option<Vec<char>> {
        let is_negated = self.take('^');
        let mut chars: Vec<char> = Vec::new();
        let mut is_first = true;
        loop {
            let c = self.peek()?;
            self.at += 1;
            let from = match c {
                ']' if !is_first => break,
                '\\' => self.escape()?,
                c => vec![c],
            };
            is_first = false;
            let goes_on =
                self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
            if let (true, [from]) = (goes_on, from.as_slice()) {
                self.at += 1;
                let to = self.peek()?;
                self.at += 1;
                let to = if to == '\\' { *self.escape()?.first()? } else { to };
                chars.extend((*from..=to).take(256));
            } else {
                chars.extend(from);
            }
        }
        if is_negated {
            chars = ('a'..='z')
                .chain('0'..='9')
                .chain(['-', ' ', '~'])
                .filter(|c| !chars.contains(c))
                .collect();
        }
        (!chars.is_empty()).then_some(chars)
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use proptest::prelude::*;

    #[test]
    fn texts_are_made_of_patterns() {
        for (pattern, right) in [
            ("^[A-Z]{3}-\\d{4}$", Some("AAA-0000")),
            ("^(red|green)$", Some("red")),
            ("^\\+?[1-9][0-9]{7,14}$", Some("10000000")),
            ("^[^@]+@[^@]+\\.[a-z]{2,}$", Some("a@a.aa")),
            ("[0-9]", Some("0")),
            ("^(?:a|b)?c$", Some("c")),
            ("^(?=a)b$", None),
            ("^[a", None),
            ("^a$|", Some("a")),
        ] {
            assert_eq!(text(pattern, 0, 100).as_deref(), right, "{pattern}");
        }
        assert_eq!(text("^[a-z]+$", 5, 8).as_deref(), Some("aaaaa"));
        assert_eq!(text("[0-9]", 4, 4).as_deref(), Some("0aaa"));
        assert_eq!(text("^a$", 2, 3), None);
        assert_eq!(text("^\\d{3}$", 0, 2), None);
    }

    proptest! {
        #[test]
        fn a_text_matches_the_pattern_it_is_made_from(pattern in "\\^?([a-c.]|\\[[a-c]-?[d-f]\\]|\\\\d|\\(a\\|b\\)){1,5}[*+?]?\\$?", least in 0usize..5) {
            if let Some(made) = text(&pattern, least, 20) {
                prop_assert!(regex_lite::Regex::new(&pattern).unwrap().is_match(&made) && made.chars().count() >= least, "{pattern}: {made}");
            }
        }

        #[test]
        fn no_pattern_causes_a_panic(pattern in "[ -~]{0,20}") {
            let _ = text(&pattern, 0, 10);
        }
    }
}
