//! Texts with `${name}` placeholders: paths, headers and bodies of a workload.
//!
//! A [`Template`] is read once, when a workload is loaded, and filled in for every request.

use crate::variable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Template {
    /// Its pieces, in order.
    pub parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Part {
    /// A literal text.
    Text(String),
    /// The value of this name.
    Value(String),
}

impl Template {
    /// Reads a text. `${name}` is a placeholder, and `$${` means a literal `${`.
    ///
    /// # Errors
    /// A placeholder that is not closed, or has no name.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                plain.push_str(&rest[..at]);
                plain.push('{');
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(&rest[..at]);
            let (name, after) = rest[at + 2..]
                .split_once('}')
                .ok_or_else(|| format!("`{}` has no closing `}}`", &rest[at..]))?;
            if name.is_empty()
                || name.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))
            {
                return Err(format!("`${{{name}}}` names no value"));
            }
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Value(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template { parts })
    }

    /// Makes a template of a literal text, without reading placeholders.
    pub fn fixed(text: impl Into<String>) -> Template {
        let text = text.into();
        Template { parts: if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] } }
    }

    /// Reads a text of a command line. Only `{env.NAME}` and `${env.NAME}`, for environment
    /// variables, are placeholders there.
    pub fn of_words(text: &str) -> Template {
        let mut template = Template::default();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("{env.") {
            let name = &rest[at + 1..];
            let name = &name[..name.find('}').unwrap_or(0)];
            if variable::of_placeholder(name).is_some() {
                plain.push_str(rest[..at].strip_suffix('$').unwrap_or(&rest[..at]));
                template
                    .parts
                    .extend((!plain.is_empty()).then(|| Part::Text(std::mem::take(&mut plain))));
                template.parts.push(Part::Value(name.to_owned()));
                rest = &rest[at + name.len() + 2..];
            } else {
                plain.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
        plain.push_str(rest);
        template.parts.extend((!plain.is_empty()).then_some(Part::Text(plain)));
        template
    }

    /// Returns the environment variables that it names.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.names().filter_map(variable::of_placeholder)
    }

    /// Replaces some names with texts.
    pub(crate) fn with(&self, texts: &BTreeMap<String, String>) -> Template {
        let mut parts: Vec<Part> = Vec::new();
        for part in &self.parts {
            let text = match part {
                Part::Text(text) => Some(text),
                Part::Value(name) => texts.get(name),
            };
            match (text, parts.last_mut()) {
                (Some(text), Some(Part::Text(before))) => before.push_str(text),
                (Some(text), _) if text.is_empty() => {}
                (Some(text), _) => parts.push(Part::Text(text.clone())),
                (None, _) => parts.push(part.clone()),
            }
        }
        Template { parts }
    }

    /// Returns the text, if it has no placeholder.
    pub fn as_fixed(&self) -> Option<&str> {
        match &self.parts[..] {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the names of its placeholders.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Returns its literal pieces.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Value(_) => None,
        })
    }
}

/// Makes a template without placeholders.
impl From<&str> for Template {
    fn from(text: &str) -> Template {
        Template::fixed(text)
    }
}

/// Writes the template as a file has it.
impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(&text.replace("${", "$${"))?,
                Part::Value(name) => write!(f, "${{{name}}}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn placeholders_and_plain_text_are_separated() {
        let text = |t: &str| Part::Text(t.into());
        let value = |n: &str| Part::Value(n.into());
        let parts = |t: &str| Template::parse(t).map(|t| t.parts);
        assert_eq!(
            parts("/orders/${id}?n=${row.name}"),
            Ok(vec![text("/orders/"), value("id"), text("?n="), value("row.name")])
        );
        assert_eq!(parts("{\"cost\": \"5$\"} $${id}"), Ok(vec![text("{\"cost\": \"5$\"} ${id}")]));
        assert_eq!(parts(""), Ok(vec![]));
        for bad in ["/${id", "${}", "${a b}", "x ${", "${a${b}}"] {
            assert!(parts(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_are_replaced_with_texts() {
        let texts = [("size", "128"), ("none", "")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into();
        let with = |text: &str| Template::parse(text).unwrap().with(&texts);
        assert_eq!(with("/a/${size}b${none}").as_fixed(), Some("/a/128b"));
        assert_eq!(with("${none}"), Template::fixed(""));
        assert_eq!(with("$${size} ${id} ${size}").to_string(), "$${size} ${id} 128");
    }

    #[test]
    fn a_command_line_names_environment_variables_only() {
        let of = |text: &str| Template::of_words(text).to_string();
        assert_eq!(of("Bearer {env.TOKEN}"), "Bearer ${env.TOKEN}");
        assert_eq!(of("{env.A}${env.B_2}"), "${env.A}${env.B_2}");
        assert_eq!(
            of(r#"{"a": {}, ${env} {env.} {env.a-b} {env.A"#),
            r#"{"a": {}, $${env} {env.} {env.a-b} {env.A"#
        );
        let variables: Vec<String> =
            Template::of_words("x{env.A}y").variables().map(str::to_owned).collect();
        assert_eq!(variables, ["A"]);
    }

    proptest! {
        #[test]
        fn a_shown_template_is_read_again(text in "[a$ {}]{0,12}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.to_string()), Ok(template));
            }
        }
    }
}
