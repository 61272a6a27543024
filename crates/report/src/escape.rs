//! Text of a record inside XML, HTML and line-based formats. A record may hold any text, so nothing
//! of it is written without passing through here. `quick-xml` does the escaping itself.

/// Replaces line breaks and control characters by spaces.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.chars().map(|c| if breaks(c) { ' ' } else { c }).collect()
}

/// Escapes a text for an element or an attribute of XML or HTML, on one line. Characters that XML
/// cannot hold become U+FFFD.
pub(crate) fn xml(text: &str) -> String {
    let text: String = one_line(text)
        .chars()
        .map(|c| if matches!(c, '\u{FFFE}' | '\u{FFFF}') { '\u{FFFD}' } else { c })
        .collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}
