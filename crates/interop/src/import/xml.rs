//! Reads an XML document as a tree.
//!
//! The crate quick-xml reads the events; this file only builds nodes of them and limits their
//! depth.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use spec::problem::Problems;

/// The maximum depth of elements.
const DEEPEST: usize = 200;

/// An element.
#[derive(Debug, Default)]
pub struct Node {
    /// Its name.
    pub tag: String,
    /// Names and values, in the order of the document.
    pub attributes: Vec<(String, String)>,
    /// All text directly in it.
    pub text: String,
    /// Its elements.
    pub children: Vec<Node>,
}

impl Node {
    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a document; its root is the first element.
///
/// # Errors
/// Where it is not XML, or is nested too deeply.
pub fn parse_xml(text: &str) -> Result<Node, Problems> {
    let wrong = |at: u64, why: String| {
        let line = 1 + text.as_bytes().iter().take(at as usize).filter(|b| **b == b'\n').count();
        Problems::plain(
            format!("the file is not XML: {why}, at line {line}"),
            "save it again with the tool that made it",
        )
    };
    let mut reader = Reader::from_str(text);
    // The node around the whole document.
    let mut open = vec![Node::default()];
    loop {
        let event =
            reader.read_event().map_err(|e| wrong(reader.error_position(), e.to_string()))?;
        let at = reader.buffer_position();
        match event {
            Event::Start(start) => {
                if open.len() > DEEPEST {
                    return Err(wrong(at, format!("elements lie more than {DEEPEST} deep")));
                }
                open.push(element(&start));
            }
            Event::Empty(start) => {
                if let Some(parent) = open.last_mut() {
                    parent.children.push(element(&start));
                }
            }
            Event::End(_) => {
                let closed = open.pop().filter(|_| !open.is_empty());
                match (open.last_mut(), closed) {
                    (Some(parent), Some(closed)) => parent.children.push(closed),
                    _ => return Err(wrong(at, "an element ends that did not begin".into())),
                }
            }
            Event::Text(text) => append(&mut open, &text.xml10_content()),
            Event::CData(text) => append(&mut open, &text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(c)) => append(&mut open, c.encode_utf8(&mut [0; 4])),
                Ok(None) => match resolve_predefined_entity(&reference.xml10_content()) {
                    Some(text) => append(&mut open, text),
                    None => {
                        return Err(wrong(
                            at,
                            format!("`&{};` is not defined", reference.xml10_content()),
                        ));
                    }
                },
                Err(e) => return Err(wrong(at, e.to_string())),
            },
            Event::DocType(_) => {
                return Err(wrong(at, "it has a document type, which is not read".into()));
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
    let at = reader.buffer_position();
    match (open.len(), open.pop().and_then(|around| around.children.into_iter().next())) {
        (1, Some(root)) => Ok(root),
        _ => Err(wrong(at, "an element is missing, or does not end".into())),
    }
}

fn append(open: &mut [Node], text: &str) {
    if let Some(node) = open.last_mut() {
        node.text.push_str(text);
    }
}

fn element(start: &BytesStart<'_>) -> Node {
    let mut attributes = start.attributes();
    let attributes = attributes.with_checks(false).filter_map(Result::ok).map(|a| {
        (
            a.key.0.to_owned(),
            a.normalized_value(XmlVersion::Implicit1_0)
                .map_or_else(|_| a.value.to_string(), |v| v.to_string()),
        )
    });
    Node { tag: start.name().0.to_owned(), attributes: attributes.collect(), ..Node::default() }
}

#[cfg(test)]
mod tests {
    use super::parse_xml;

    #[test]
    fn elements_texts_and_entities_are_read() {
        let root = parse_xml("<?xml version=\"1.0\"?>\n<!-- a --><a b=\"&quot;1&quot;\"><c>x &lt;&#65;<![CDATA[<&]]></c><d/></a>\n").unwrap();
        assert_eq!(
            (root.tag.as_str(), root.attribute("b"), root.children.len()),
            ("a", Some("\"1\""), 2)
        );
        assert_eq!(root.children[0].text, "x <A<&");
    }

    #[test]
    fn a_text_that_is_not_xml_is_refused() {
        let deep = "<a>".repeat(100_000);
        for bad in [
            "",
            "x",
            "<a>",
            "<a></b>",
            "</a>",
            "<a>&nothing;</a>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "<a",
            &deep,
        ] {
            assert!(parse_xml(bad).unwrap_err().to_string().contains("hint: "), "{bad}");
        }
    }
}
