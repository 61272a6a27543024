//! The content of a page about an article, apart from its format: `markdown.rs` and `html.rs` write
//! the same blocks. Texts of articles, experiments and judgements may contain anything. They are
//! kept as they are, and each format escapes them.
//!
//! Start with [`Block`] and [`Prose`].

use std::fmt::Display;

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    /// A heading below that of the page: of a section, or of a part of it.
    Heading(Level, Prose),
    /// A paragraph.
    Paragraph(Prose),
    /// The answer to the article's question.
    Answer(Prose),
    /// Secondary text, in small letters.
    Small(Prose),
    /// A list of points.
    List(Vec<Prose>),
    /// A picture of the folder of pictures, with a text for readers who cannot see it.
    Picture { file: String, text: String },
    /// A table with its headings.
    Table { head: Vec<String>, rows: Vec<Vec<Prose>> },
    /// A part that the reader opens.
    Fold { title: String, blocks: Vec<Block> },
}

/// The level of a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// A section of a page.
    Section,
    /// A part of a section.
    Part,
}

/// A whole page.
pub(super) struct Page {
    /// Its file, without the ending.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Everything below the heading.
    pub blocks: Vec<Block>,
}

/// A piece of text with one mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Plain(String),
    /// A name or a command.
    Code(String),
    Strong(String),
    /// A link to another page of the folder.
    Page {
        name: String,
        text: String,
    },
}

/// Running text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prose(Vec<Piece>);

impl Prose {
    /// Adds text without a mark.
    pub(super) fn plain(mut self, text: impl Display) -> Prose {
        let text = text.to_string();
        match self.0.last_mut() {
            Some(Piece::Plain(last)) => *last += &text,
            _ if text.is_empty() => {}
            _ => self.0.push(Piece::Plain(text)),
        }
        self
    }

    /// Adds a name or a command.
    pub(super) fn code(self, text: impl Display) -> Prose {
        self.with(Piece::Code(text.to_string()))
    }

    /// Adds text in bold.
    pub(super) fn strong(self, text: impl Display) -> Prose {
        self.with(Piece::Strong(text.to_string()))
    }

    /// Adds a link to another page.
    pub(super) fn page(self, name: &str, text: impl Display) -> Prose {
        self.with(Piece::Page { name: name.to_owned(), text: text.to_string() })
    }

    fn with(mut self, piece: Piece) -> Prose {
        self.0.push(piece);
        self
    }

    /// Adds other text.
    pub(super) fn put(self, other: Prose) -> Prose {
        other.0.into_iter().fold(self, |prose, piece| match piece {
            Piece::Plain(text) => prose.plain(text),
            piece => prose.with(piece),
        })
    }

    /// Joins texts with something between them.
    pub(super) fn join(parts: impl IntoIterator<Item = Prose>, between: &str) -> Prose {
        let joined = |all: Prose, part| match all.0.is_empty() {
            true => part,
            false => all.plain(between).put(part),
        };
        parts.into_iter().fold(Prose::default(), joined)
    }

    /// Joins texts as in a sentence: `a, b and c`.
    pub(super) fn list(mut parts: Vec<Prose>) -> Prose {
        match parts.pop() {
            Some(last) if !parts.is_empty() => Prose::join(parts, ", ").plain(" and ").put(last),
            last => last.unwrap_or_default(),
        }
    }

    /// Begins the text with a capital letter, unless it begins with a name.
    pub(super) fn capital(mut self) -> Prose {
        if let Some(Piece::Plain(text)) = self.0.first_mut() {
            *text = capital(text);
        }
        self
    }

    /// Returns the pieces, in order.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns the text without marks.
    pub(super) fn text(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Plain(text) | Piece::Code(text) | Piece::Strong(text) => text.clone(),
            Piece::Page { text, .. } => text.clone(),
        };
        self.0.iter().map(text).collect()
    }
}

/// Begins a text with a capital letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default()
        + letters.as_str()
}

/// Returns plain text.
pub(super) fn plain(text: impl Display) -> Prose {
    Prose::default().plain(text)
}

/// Returns a text of this program, in which names are between backticks.
pub(super) fn with_names(text: &str) -> Prose {
    if text.matches('`').count() % 2 == 1 {
        return plain(text);
    }
    let parts = text.split('`').enumerate();
    parts.fold(Prose::default(), |prose, (at, part)| match at % 2 {
        0 => prose.plain(part),
        _ => prose.code(part),
    })
}

/// Returns a name or a command.
pub(super) fn code(text: impl Display) -> Prose {
    Prose::default().code(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_as_in_a_sentence() {
        let list = |parts: &[&str]| Prose::list(parts.iter().map(plain).collect()).text();
        assert_eq!(list(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        let mixed = Prose::join([plain("a"), code("b"), plain("c")], "; ");
        assert_eq!(mixed.pieces().len(), 3, "neighbours without a mark become one piece");
        assert_eq!(mixed.capital().text(), "A; b; c");
        assert_eq!(code("b").capital().text(), "b", "a name stays as it is");
    }

    #[test]
    fn names_between_backticks_become_code() {
        assert_eq!(with_names("a `b` c"), plain("a ").code("b").plain(" c"));
        assert_eq!(with_names("a ` b"), plain("a ` b"));
    }
}
