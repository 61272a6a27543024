//! What pictures are drawn on: elements of an SVG from the top to the bottom. No text is longer than can be looked at, whatever a record holds.

use crate::export::xml;

/// Of every picture.
pub const WIDTH: f64 = 960.0;
/// What is left free at its sides.
pub const EDGE: f64 = 24.0;
/// From a line of text to the next.
pub const LINE: f64 = 18.0;
/// The colour of what is read first ...
pub const INK: &str = "#1d1c1a";
/// ... and of what is read beside it.
pub const MUTED: &str = "#5c5952";

/// The most lines of a paragraph.
const LINES: usize = 8;
/// The most characters of any other text.
const CHARACTERS: usize = 160;

/// The elements so far, and where the next line stands.
pub struct Canvas {
    elements: String,
    /// From the top.
    pub y: f64,
}

impl Canvas {
    /// Nothing yet.
    pub fn new() -> Canvas {
        Canvas { elements: String::new(), y: EDGE + 10.0 }
    }

    /// An element as it stands.
    pub fn add(&mut self, element: &str) {
        self.elements += element;
    }

    /// A line of text.
    pub fn text(&mut self, x: f64, y: f64, style: &str, text: &str) {
        self.elements += &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>\n", xml(&short(text, CHARACTERS)));
    }

    /// Text over as many lines as it needs, as far as there is room for them.
    pub fn paragraph(&mut self, x: f64, characters: usize, style: &str, text: &str) {
        for line in lines(text, characters) {
            self.text(x, self.y, style, &line);
            self.y += LINE;
        }
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        self.elements += &format!("<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>\n", from.0, from.1, to.0, to.1);
    }

    /// The whole file, with a title for whoever cannot see it.
    pub fn document(&self, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            xml(&short(title, LINES * CHARACTERS)),
            self.elements,
            height = self.y
        )
    }
}

/// A text of at most so many characters.
pub fn short(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A text broken into lines of about so many characters; a longer word is broken as well.
pub fn lines(text: &str, characters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut long = 0;
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(characters.max(1)) {
            let is_full = long > 0 && long + 1 + piece.len() > characters;
            if is_full && lines.len() == LINES {
                lines[LINES - 1].push('…');
                return lines;
            }
            if is_full {
                lines.push(String::new());
                long = 0;
            }
            let Some(line) = lines.last_mut() else { continue };
            if long > 0 {
                line.push(' ');
                long += 1;
            }
            line.extend(piece);
            long += piece.len();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_long_words_anywhere() {
        assert_eq!(lines("one two  three", 7), ["one two", "three"]);
        assert_eq!(lines("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(lines("", 3), [""]);
    }

    #[test]
    fn no_text_is_longer_than_there_is_room_for() {
        let long = lines(&"word ".repeat(10_000), 9);
        assert_eq!((long.len(), long[LINES - 1].as_str()), (LINES, "word word…"));
        assert_eq!(lines(&"x".repeat(100_000), 9).len(), LINES);
        assert_eq!([short("äöü", 3), short("äöüß", 3), short("", 0)], ["äöü", "äö…", ""]);
        let mut canvas = Canvas::new();
        canvas.text(0.0, 0.0, "", &"<".repeat(100_000));
        let drawn = canvas.document(&"<".repeat(100_000));
        assert!(drawn.len() < 8_000, "{}", drawn.len());
    }
}
