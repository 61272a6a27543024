//! The surface that pictures are drawn on: elements of an SVG, from top to bottom. A record may
//! hold any text, so every text is escaped and cut to a length that can be read. Start with
//! [`Canvas`].

use crate::escape::xml;

/// Width of a picture in a file of its own.
pub(crate) const WIDTH: f64 = 960.0;
/// Width of a picture within a document: its letters can be read on a phone, which shows it about
/// 330 pixels wide.
const WIDTH_IN_DOCUMENT: f64 = 420.0;
/// The free space at both sides.
pub(crate) const EDGE: f64 = 24.0;
/// Distance from one line of text to the next.
pub(crate) const LINE: f64 = 18.0;
/// The colour of important text ...
pub(crate) const INK: &str = "#1d1c1a";
/// ... and of secondary text.
pub(crate) const MUTED: &str = "#5c5952";
/// The colour of the band within which a difference is too small to matter.
pub(crate) const BAND: &str = "#e2ddcf";
/// The colour of lines at ticks.
pub(crate) const GRID: &str = "#ddd8cb";
/// Height of an axis with numbers.
const PLOT_HEIGHT: f64 = 280.0;

/// The colours of a picture within a document, and the colours that replace them on a dark screen.
/// They are those of the report (`web/src/style/base.css`).
const DARK: [(&str, &str); 8] = [
    ("#fff", "#16171a"),
    (INK, "#eceae5"),
    (MUTED, "#a9a69f"),
    ("#1a4fb5", "#86b4ff"),
    ("#a83a06", "#ff9d63"),
    ("#2660d8", "#3d97ff"),
    (BAND, "#34363c"),
    (GRID, "#3a3b40"),
];

/// The further colours of lines, which charts of the site have as well.
const DARK_LINES: [(&str, &str); 6] = [
    ("#e0713a", "#f5822e"),
    ("#04604c", "#3f8a60"),
    ("#b5348b", "#c98fb8"),
    ("#756708", "#f4c430"),
    ("#2495d4", "#8fd0e8"),
    ("#5b0382", "#9a63bb"),
];

/// The most lines of a paragraph.
const LINES: usize = 8;
/// The most characters of any other text.
const CHARACTERS: usize = 160;

/// Where a picture is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Medium {
    /// In a file of its own, always light.
    File,
    /// In a document, light or dark like the reader's screen.
    Document,
    /// In a page of the site, whose style sheet has [`dark_rules_of_site`].
    Site,
}

/// The elements so far, and the position of the next line.
pub(crate) struct Canvas {
    elements: String,
    /// Distance from the top.
    pub y: f64,
    /// Width of the whole picture.
    pub width: f64,
    /// Height of an axis with numbers.
    pub plot_height: f64,
    medium: Medium,
    has_links: bool,
}

impl Canvas {
    /// Returns an empty canvas for a file of its own.
    pub(crate) fn new() -> Canvas {
        Canvas {
            elements: String::new(),
            y: EDGE + 10.0,
            width: WIDTH,
            plot_height: PLOT_HEIGHT,
            medium: Medium::File,
            has_links: false,
        }
    }

    /// Returns an empty canvas for a picture within a document: as narrow as a phone, and light or
    /// dark like the reader's screen.
    pub(crate) fn in_document() -> Canvas {
        Canvas { width: WIDTH_IN_DOCUMENT, medium: Medium::Document, ..Canvas::new() }
    }

    /// Returns an empty canvas for a chart within a page of the site.
    pub(crate) fn in_site(width: f64, plot_height: f64) -> Canvas {
        Canvas { y: LINE, width, plot_height, medium: Medium::Site, ..Canvas::new() }
    }

    /// Returns how many characters of a size fit between a position and the right edge.
    pub(crate) fn characters(&self, from: f64, size: f64) -> usize {
        // A letter is a little more than half as wide as it is high.
        ((self.width - EDGE / 2.0 - from) / (0.56 * size)) as usize
    }

    /// Adds an element.
    pub(crate) fn add(&mut self, element: &str) {
        self.elements += element;
    }

    /// Adds a line of text.
    pub(crate) fn text(&mut self, x: f64, y: f64, style: &str, text: &str) {
        self.elements += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>\n",
            xml(&short(text, CHARACTERS))
        );
    }

    /// Adds text over as many lines as it needs, up to a limit.
    pub(crate) fn paragraph(&mut self, x: f64, characters: usize, style: &str, text: &str) {
        for line in lines(text, characters) {
            self.text(x, self.y, style, &line);
            self.y += LINE;
        }
    }

    /// Adds a straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        self.elements += &format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>\n",
            from.0, from.1, to.0, to.1
        );
    }

    /// Begins a link around the elements that follow; the address must be one of the site.
    pub(crate) fn begin_link(&mut self, address: &str) {
        self.has_links = true;
        self.elements += &format!("<a href=\"{}\">", xml(address));
    }

    /// Ends the link.
    pub(crate) fn end_link(&mut self) {
        self.elements += "</a>\n";
    }

    /// Returns the whole picture, with a title for readers who cannot see it.
    pub(crate) fn document(&self, title: &str) -> String {
        let Canvas { elements, y, width, .. } = self;
        if self.medium == Medium::Site {
            // With links in it, it is more than an image.
            let role = if self.has_links { "group" } else { "img" };
            return format!(
                "<svg class=\"drawn\" viewBox=\"0 0 {width} {y:.0}\" role=\"{role}\">\n<title>{}</title>\n{elements}</svg>\n",
                xml(&short(title, LINES * CHARACTERS))
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y:.0}\" viewBox=\"0 0 {width} {y:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\">\n<title>{}</title>\n{}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{elements}</svg>\n",
            xml(&short(title, LINES * CHARACTERS)),
            if self.medium == Medium::Document { dark_style() } else { String::new() },
        )
    }
}

/// A style that replaces the colours of elements on a dark screen.
fn dark_style() -> String {
    let rules = DARK.map(|(light, dark)| {
        format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}\n")
    });
    format!("<style>@media (prefers-color-scheme: dark) {{\n{}}}</style>\n", rules.concat())
}

/// Returns the rules by which charts of the site follow light and dark.
pub(crate) fn dark_rules_of_site() -> String {
    let rules = DARK.iter().chain(&DARK_LINES).map(|(light, dark)| {
        format!(
            ".drawn [fill=\"{light}\"]{{fill:{dark}}}.drawn [stroke=\"{light}\"]{{stroke:{dark}}}\n"
        )
    });
    format!("@media (prefers-color-scheme: dark) {{\n{}}}\n", rules.collect::<String>())
}

/// Cuts a text to a number of characters.
pub(crate) fn short(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Breaks a text into lines of a number of characters. A longer word is broken as well.
pub(crate) fn lines(text: &str, characters: usize) -> Vec<String> {
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
    fn lines_break_between_words_and_long_words_anywhere() {
        assert_eq!(lines("one two  three", 7), ["one two", "three"]);
        assert_eq!(lines("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(lines("", 3), [""]);
    }

    #[test]
    fn text_is_cut_to_its_room() {
        let long = lines(&"word ".repeat(10_000), 9);
        assert_eq!((long.len(), long[LINES - 1].as_str()), (LINES, "word word…"));
        assert_eq!(lines(&"x".repeat(100_000), 9).len(), LINES);
        assert_eq!([short("äöü", 3), short("äöüß", 3), short("", 0)], ["äöü", "äö…", ""]);
        let mut canvas = Canvas::new();
        canvas.text(0.0, 0.0, "", &"<".repeat(100_000));
        let drawn = canvas.document(&"<".repeat(100_000));
        assert!(drawn.len() < 8_000, "{}", drawn.len());
    }

    #[test]
    fn picture_in_a_document_is_narrow_and_follows_dark_screens() {
        let canvas = Canvas::in_document();
        let drawn = canvas.document("t");
        assert!(
            drawn.contains("viewBox=\"0 0 420 ") && drawn.contains("prefers-color-scheme: dark"),
            "{drawn}"
        );
        assert!(drawn.contains(&format!("[fill=\"{INK}\"]{{fill:#eceae5}}")), "{drawn}");
        assert!(!Canvas::new().document("t").contains("<style"));
        assert_eq!(canvas.characters(12.0, 13.0), 54);
    }

    #[test]
    fn chart_of_the_site_has_no_style_and_escapes_links() {
        let mut canvas = Canvas::in_site(560.0, 130.0);
        assert!(canvas.document("<t>").contains("role=\"img\">\n<title>&lt;t&gt;</title>"));
        canvas.begin_link("/records/\"><script>");
        canvas.end_link();
        let drawn = canvas.document("t");
        assert!(drawn.contains("role=\"group\"") && !drawn.contains("<style"), "{drawn}");
        assert!(drawn.contains("<a href=\"/records/&quot;&gt;&lt;script&gt;\"></a>"), "{drawn}");
        assert!(dark_rules_of_site().contains(".drawn [stroke=\"#04604c\"]{stroke:#3f8a60}"));
    }
}
