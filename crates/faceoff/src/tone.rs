//! The tones of text on a terminal, and the escape codes that draw them.

/// How a piece of text looks on a terminal with colour. A tone never carries meaning alone.
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

    /// Returns the text between the escape codes of this tone.
    pub fn paint(self, text: &str) -> String {
        self.code().map_or_else(|| text.to_owned(), |code| format!("\x1b[{code}m{text}\x1b[0m"))
    }
}
