//! A line of the live view: pieces of text, each with a tone.

use crate::tone::Tone;

/// A line of text pieces, from left to right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pieces: Vec<(Tone, String)>,
}

impl Line {
    /// Returns the line with one more piece.
    pub fn with(mut self, tone: Tone, text: impl Into<String>) -> Line {
        self.pieces.push((tone, text.into()));
        self
    }

    /// The line's width in columns. Names and numbers, which it shows, take one per character.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Returns the line, cut to a number of columns.
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

    /// Returns the text to write to a terminal.
    pub fn text(&self, in_colour: bool) -> String {
        let piece =
            |(tone, text): &(Tone, String)| if in_colour { tone.paint(text) } else { text.clone() };
        self.pieces.iter().map(piece).collect::<String>()
    }
}

/// Returns the text, shortened to a number of columns.
pub fn shortened(text: &str, columns: usize) -> String {
    Line::default().with(Tone::Plain, text).fit(columns).text(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_line_is_cut_and_coloured_on_request() {
        let line = Line::default().with(Tone::Plain, "ab").with(Tone::Good, "cdé");
        assert_eq!(
            (line.width(), line.text(false).as_str(), line.text(true).as_str()),
            (5, "abcdé", "ab\x1b[32mcdé\x1b[0m")
        );
        let cut = |columns: usize| line.clone().fit(columns).text(false);
        assert_eq!([5, 4, 3, 1, 0].map(cut), ["abcdé", "abc…", "ab…", "…", ""]);
        assert_eq!(shortened("proxy-gin", 6), "proxy…");
    }
}
