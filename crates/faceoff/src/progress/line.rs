//! A line of the live view: pieces of text, each in a tone. Nothing is told by its tone alone.

/// How a piece of text looks where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Dim,
    Strong,
    Good,
    Bad,
    Equal,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Dim => Some("2"),
            Tone::Strong => Some("1"),
            Tone::Good => Some("32"),
            Tone::Bad => Some("31"),
            Tone::Equal => Some("36"),
        }
    }
}

/// Pieces, from left to right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pieces: Vec<(Tone, String)>,
}

impl Line {
    /// With a further piece.
    pub fn with(mut self, tone: Tone, text: impl Into<String>) -> Line {
        self.pieces.push((tone, text.into()));
        self
    }

    /// Its columns. What is shown here, names and numbers, takes one a character.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Cut to so many columns.
    pub fn fit(mut self, columns: usize) -> Line {
        if self.width() > columns {
            let mut left = columns.saturating_sub(1);
            for (_, text) in &mut self.pieces {
                *text = text.chars().take(left).collect();
                left -= text.chars().count();
            }
            self.pieces.retain(|(_, text)| !text.is_empty());
            self = self.with(Tone::Plain, if columns > 0 { "…" } else { "" });
        }
        self
    }

    /// As a terminal takes it.
    pub fn text(&self, in_colour: bool) -> String {
        let piece = |(tone, text): &(Tone, String)| match tone.code().filter(|_| in_colour) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.clone(),
        };
        self.pieces.iter().map(piece).collect::<String>()
    }
}

/// A text, shortened to so many columns.
pub fn shortened(text: &str, columns: usize) -> String {
    Line::default().with(Tone::Plain, text).fit(columns).text(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_is_too_long_and_coloured_where_that_is_asked() {
        let line = Line::default().with(Tone::Plain, "ab").with(Tone::Good, "cdé");
        assert_eq!((line.width(), line.text(false).as_str(), line.text(true).as_str()), (5, "abcdé", "ab\x1b[32mcdé\x1b[0m"));
        let cut = |columns: usize| line.clone().fit(columns).text(false);
        assert_eq!([5, 4, 3, 1, 0].map(cut), ["abcdé", "abc…", "ab…", "…", ""]);
        assert_eq!(shortened("proxy-gin", 6), "proxy…");
    }
}
