//! Writes forms of several parts (RFC 7578) as a body.
//!
//! Each part has a name, headers and a content, which is text with placeholders or bytes. [`body`]
//! joins them with a boundary that occurs in none.

use spec::template::{self, Template};
use spec::workload::Body;

/// One part of a form.
#[derive(Clone, Debug, Default)]
pub struct Field {
    pub name: String,
    pub file_name: Option<String>,
    /// Its `Content-Type`.
    pub kind: Option<String>,
    /// Further headers, as lines.
    pub headers: Vec<String>,
    pub content: Content,
}

/// The content of a part.
#[derive(Clone, Debug)]
pub enum Content {
    Text(Template),
    Bytes(Vec<u8>),
}

impl Default for Content {
    fn default() -> Self {
        Content::Text(Template::default())
    }
}

impl Content {
    /// Makes the content of a file: a text, if it is UTF-8.
    pub fn of_bytes(bytes: Vec<u8>) -> Content {
        String::from_utf8(bytes).map_or_else(
            |e| Content::Bytes(e.into_bytes()),
            |text| Content::Text(Template::fixed(text)),
        )
    }
}

impl From<Content> for Body {
    fn from(content: Content) -> Body {
        match content {
            Content::Text(text) => Body::Text(text),
            Content::Bytes(bytes) => Body::Bytes(bytes),
        }
    }
}

/// Returns the boundary in a `Content-Type`, if it names one.
pub fn boundary_of(kind: &str) -> Option<&str> {
    let parameter = kind
        .split(';')
        .skip(1)
        .map(str::trim)
        .find(|parameter| parameter.to_ascii_lowercase().starts_with("boundary="))?;
    Some(parameter["boundary=".len()..].trim_matches('"')).filter(|boundary| !boundary.is_empty())
}

/// Returns a boundary that occurs in no part.
pub fn new_boundary(fields: &[Field]) -> String {
    let is_in = |boundary: &str, content: &Content| match content {
        Content::Text(text) => text.texts().any(|text| text.contains(boundary)),
        Content::Bytes(bytes) => {
            bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes())
        }
    };
    let mut n = 0usize;
    loop {
        let boundary = format!("------------------------faceoff{n:08}");
        if !fields.iter().any(|field| is_in(&boundary, &field.content)) {
            return boundary;
        }
        n += 1;
    }
}

/// Writes the parts of a form as a body; `None` if there are both variables and bytes that are not
/// text.
pub fn body(fields: &[Field], boundary: &str) -> Option<Body> {
    let mut parts: Vec<Content> = Vec::new();
    for field in fields {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            escaped(&field.name)
        );
        if let Some(file) = &field.file_name {
            head += &format!("; filename=\"{}\"", escaped(file));
        }
        head += "\r\n";
        if let Some(kind) = &field.kind {
            head += &format!("Content-Type: {kind}\r\n");
        }
        for header in &field.headers {
            head += &format!("{header}\r\n");
        }
        parts.push(Content::Text(Template::fixed(head + "\r\n")));
        parts.push(field.content.clone());
        parts.push(Content::Text(Template::fixed("\r\n")));
    }
    parts.push(Content::Text(Template::fixed(format!("--{boundary}--\r\n"))));
    whole(parts)
}

/// Joins contents to a body; `None` if there are both variables and bytes that are not text.
pub fn whole(parts: Vec<Content>) -> Option<Body> {
    if parts.iter().all(|part| matches!(part, Content::Text(_))) {
        let texts = parts
            .into_iter()
            .flat_map(|part| if let Content::Text(text) = part { text.parts } else { Vec::new() });
        return Some(Body::Text(joined(texts)));
    }
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Content::Text(text) => bytes.extend_from_slice(text.as_fixed()?.as_bytes()),
            Content::Bytes(more) => bytes.extend(more),
        }
    }
    Some(Body::Bytes(bytes))
}

/// Escapes a name in the head of a part, as browsers and curl do.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Makes a template of pieces, and merges adjacent texts.
pub fn joined(pieces: impl IntoIterator<Item = template::Part>) -> Template {
    use template::Part::Text;
    let mut parts: Vec<template::Part> = Vec::new();
    for piece in pieces {
        match (piece, parts.last_mut()) {
            (Text(text), Some(Text(before))) => before.push_str(&text),
            (piece, _) => parts.push(piece),
        }
    }
    parts.retain(|part| !matches!(part, Text(text) if text.is_empty()));
    Template { parts }
}

/// Returns the type that curl derives from the name of a file.
pub fn kind_of(file: &str) -> &'static str {
    let extension = file
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default();
    match extension.as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, content: Content) -> Field {
        Field { name: name.into(), content, ..Field::default() }
    }

    #[test]
    fn parts_are_separated_by_boundaries() {
        let file = Field {
            file_name: Some("a\"b.png".into()),
            kind: Some("image/png".into()),
            headers: vec!["X-A: b".into()],
            ..field("f", Content::of_bytes(b"xy".into()))
        };
        let fields = [field("kind", Content::Text(Template::parse("${n}").unwrap())), file];
        let Some(Body::Text(text)) = body(&fields, "xx") else { panic!("a text") };
        let right = "--xx\r\nContent-Disposition: form-data; name=\"kind\"\r\n\r\n${n}\r\n--xx\r\nContent-Disposition: form-data; \
                     name=\"f\"; filename=\"a%22b.png\"\r\nContent-Type: image/png\r\nX-A: b\r\n\r\nxy\r\n--xx--\r\n";
        assert_eq!(text.to_string(), right);
        assert!(
            matches!(body(&[field("f", Content::of_bytes(vec![255, 0]))], "b"), Some(Body::Bytes(bytes)) if bytes.ends_with(b"\xff\0\r\n--b--\r\n"))
        );
        let mixed = [fields[0].clone(), field("f", Content::Bytes(vec![255]))];
        assert!(body(&mixed, "b").is_none());
        let own = new_boundary(&[]);
        assert_ne!(own, new_boundary(&[field("f", Content::Bytes(own.as_bytes().into()))]));
        assert_eq!(boundary_of("multipart/form-data; Boundary=\"a b\""), Some("a b"));
        assert_eq!(boundary_of("multipart/form-data"), None);
    }
}
