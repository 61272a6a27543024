//! Texts in which `${name}` stands for a value: paths, headers and bodies of a workload.

/// A text with places for values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// In order.
    pub parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Text(String),
    /// The value of this name.
    Value(String),
}

impl Template {
    /// Reads a text: `${name}` is a place, `$${` stands for `${` itself.
    ///
    /// # Errors
    /// A place that is not closed, or has no name.
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
            let (name, after) = rest[at + 2..].split_once('}').ok_or_else(|| format!("`{}` has no closing `}}`", &rest[at..]))?;
            if name.is_empty() || name.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)) {
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

    /// A text in which nothing varies, whatever it holds.
    pub fn fixed(text: impl Into<String>) -> Template {
        let text = text.into();
        Template { parts: if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] } }
    }

    /// The text, when nothing in it varies.
    pub fn as_fixed(&self) -> Option<&str> {
        match &self.parts[..] {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The name, when the template is one value and nothing else.
    pub fn as_value(&self) -> Option<&str> {
        match &self.parts[..] {
            [Part::Value(name)] => Some(name),
            _ => None,
        }
    }

    /// The names of the values in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The pieces in which nothing varies.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Value(_) => None,
        })
    }
}

/// A text in which nothing varies.
impl From<&str> for Template {
    fn from(text: &str) -> Template {
        Template::fixed(text)
    }
}

/// As it is written.
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
    fn places_and_plain_text() {
        let text = |t: &str| Part::Text(t.into());
        let value = |n: &str| Part::Value(n.into());
        let parts = |t: &str| Template::parse(t).map(|t| t.parts);
        assert_eq!(parts("/orders/${id}?n=${row.name}"), Ok(vec![text("/orders/"), value("id"), text("?n="), value("row.name")]));
        assert_eq!(parts("{\"cost\": \"5$\"} $${id}"), Ok(vec![text("{\"cost\": \"5$\"} ${id}")]));
        assert_eq!(parts(""), Ok(vec![]));
        for bad in ["/${id", "${}", "${a b}", "x ${", "${a${b}}"] {
            assert!(parts(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(text in "[a$ {}]{0,12}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.to_string()), Ok(template));
            }
        }
    }
}
