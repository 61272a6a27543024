//! The `{placeholders}` in commands, environment and rendered files of a system.
//!
//! The set is closed, so a misspelled placeholder is an error with a hint. `{env.NAME}` is the
//! value of any environment variable. Other braces remain, because configuration languages have
//! blocks.
//!
//! `check` validates a template when a manifest is read, and [`Values::expand`] fills it in when
//! a system starts.

use crate::name::did_you_mean;
use crate::secret;
use crate::variable;
use std::collections::BTreeMap;

/// Placeholders for one text, in addition to `{port.NAME}`.
const TEXTS: [&str; 21] = [
    "java",
    "java.home",
    "work",
    "listen",
    "cores",
    "descriptors",
    "upstream.http",
    "upstream.https",
    "upstream.address",
    "upstream.host",
    "upstream.port",
    "database.host",
    "database.port",
    "database.name",
    "database.user",
    "database.password",
    "database.schema",
    "database.url",
    "data",
    "programs",
    "password.file",
];

/// Placeholders for zero or more arguments. Each must be a whole argument.
const LISTS: [&str; 2] = ["variant.args", "variant.jvm"];

/// Returns whether a template names something of a database.
pub(crate) fn names_database(template: &str) -> bool {
    parts(template)
        .iter()
        .any(|part| matches!(part, Part::Placeholder(name) if name.starts_with("database.")))
}

/// Returns the environment variables that a template names.
pub(crate) fn variables(template: &str) -> Vec<String> {
    let names = parts(template).into_iter().filter_map(|part| match part {
        Part::Placeholder(name) => name.strip_prefix(variable::PREFIX),
        Part::Literal(_) => None,
    });
    names.map(str::to_owned).collect()
}

/// The values of placeholders at one start of a system.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Texts by name, without braces.
    pub texts: BTreeMap<String, String>,
    /// Lists by name, without braces.
    pub lists: BTreeMap<String, Vec<String>>,
}

/// A part of a template.
enum Part<'t> {
    Literal(&'t str),
    Placeholder(&'t str),
}

/// Splits at `{word}` and `{word.word}`. Any other brace is literal, so that configuration
/// languages with blocks can be rendered.
fn parts(template: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut from) = (template, 0);
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let inside = &rest[open + 1..];
        let name_end = inside
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')))
            .unwrap_or(inside.len());
        if name_end > 0
            && inside[name_end..].starts_with('}')
            && inside.starts_with(|c: char| c.is_ascii_lowercase())
        {
            found.push(Part::Literal(&rest[..open]));
            found.push(Part::Placeholder(&inside[..name_end]));
            rest = &inside[name_end + 1..];
            from = 0;
        } else {
            from = open + 1;
        }
    }
    found.push(Part::Literal(rest));
    found
}

/// Returns what is wrong with the placeholders of an argument, given the system's ports.
pub(crate) fn check(template: &str, ports: &[String], may_be_list: bool) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    for part in parts(template) {
        let Part::Placeholder(name) = part else { continue };
        if LISTS.contains(&name) {
            if !may_be_list || template.len() != name.len() + 2 {
                wrong.push((
                    format!("`{{{name}}}` is a list"),
                    "give it an argument of its own".into(),
                ));
            }
        } else if let Some(port) = name.strip_prefix("port.") {
            if !ports.iter().any(|p| p == port) {
                wrong.push((
                    format!("`{{{name}}}` names a port that is not in `ports`"),
                    did_you_mean(port, ports.iter().map(String::as_str)),
                ));
            }
        } else if let Some(variable) = name.strip_prefix(variable::PREFIX) {
            if !variable::is_variable(variable) {
                wrong.push((
                    format!("`{{{name}}}` names no environment variable"),
                    "use letters, digits and `_`".into(),
                ));
            }
        } else if !TEXTS.contains(&name) {
            wrong.push((
                format!("unknown placeholder `{{{name}}}`"),
                did_you_mean(name, TEXTS.into_iter().chain(LISTS).chain(["port.http"])),
            ));
        }
    }
    wrong
}

impl Values {
    /// Replaces the text placeholders of a template.
    ///
    /// # Errors
    /// The name of a placeholder that has no value here.
    pub fn expand(&self, template: &str) -> Result<String, String> {
        let mut text = String::with_capacity(template.len());
        for part in parts(template) {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Placeholder(name) => {
                    let of_environment = name
                        .strip_prefix(variable::PREFIX)
                        .and_then(|variable| secret::value(variable).ok());
                    text.push_str(
                        of_environment
                            .as_ref()
                            .or_else(|| self.texts.get(name))
                            .ok_or_else(|| name.to_owned())?,
                    );
                }
            }
        }
        Ok(text)
    }

    /// Replaces the placeholders of a command; a list becomes zero or more arguments.
    ///
    /// # Errors
    /// The name of a placeholder that has no value here.
    pub fn expand_command(&self, command: &[String]) -> Result<Vec<String>, String> {
        let mut arguments = Vec::with_capacity(command.len());
        for argument in command {
            let list = argument
                .strip_prefix('{')
                .and_then(|a| a.strip_suffix('}'))
                .filter(|name| LISTS.contains(name));
            match list {
                Some(name) => arguments.extend(self.lists.get(name).into_iter().flatten().cloned()),
                None => arguments.push(self.expand(argument)?),
            }
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values {
            texts: [("port.http", "8080"), ("work", "/w")]
                .map(|(k, v)| (k.into(), v.into()))
                .into(),
            lists: [("variant.args", vec!["--a", "--b"])]
                .map(|(k, v)| (k.into(), v.into_iter().map(String::from).collect()))
                .into(),
        }
    }

    #[test]
    fn texts_and_lists_are_replaced_and_other_braces_stay() {
        let command =
            ["x", "--port={port.http}", "{variant.args}", "{variant.jvm}"].map(String::from);
        assert_eq!(values().expand_command(&command).unwrap(), ["x", "--port=8080", "--a", "--b"]);
        assert_eq!(
            values().expand("http { listen {port.http}; } ${x {}").unwrap(),
            "http { listen 8080; } ${x {}"
        );
        assert_eq!(values().expand("{nowhere}"), Err("nowhere".into()));
    }

    #[test]
    fn unknown_and_misplaced_placeholders_are_reported() {
        let ports = vec!["http".to_owned()];
        assert!(check("{port.http} {work}", &ports, false).is_empty());
        assert!(check("{variant.args}", &ports, true).is_empty());
        assert_eq!(check("-x{variant.args}", &ports, true).len(), 1);
        assert_eq!(check("{port.admin}", &ports, true).len(), 1);
        assert!(check("{env.TOKEN}", &ports, false).is_empty());
        assert_eq!(check("{env.a-b}", &ports, false).len(), 1);
        assert_eq!(variables("x{env.TOKEN}{work}"), ["TOKEN"]);
        assert_eq!(
            Values::default().expand("{env.FACEOFF_TEST_NOT_SET}"),
            Err("env.FACEOFF_TEST_NOT_SET".into())
        );
        assert_eq!(check("{upstraem.http}", &ports, true)[0].1, "did you mean `upstream.http`?");
    }
}
