//! Prepares texts of servers for messages.

use std::borrow::Cow;

/// Returns bytes as text. Invalid UTF-8 is replaced.
pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Escapes the characters of a server's text that could move a terminal's cursor, rename its window
/// or change the direction of writing: `\u{1b}`.
pub(crate) fn harmless(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || turns(c) { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}

/// Returns the first 60 characters.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}
