//! Secrets, which must not be written anywhere.
//!
//! Secrets are values of environment variables, and the content of known headers and query
//! parameters. `{env.NAME}` in a system's commands, environment and rendered files, and
//! `${env.NAME}` in a workload, name an environment variable. A value that was read once is known
//! from then on. [`hidden`] removes it from every text that leaves: the lines of a record,
//! messages, logs.
//!
//! Start with [`value`], [`learn`] and [`hidden`].

use crate::name::percent_encoded;
use crate::problem::Problems;
use crate::template::{Part, Template};
use crate::variable::PREFIX;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The fewest bytes of a secret. A shorter one would also be removed from words and figures that
/// only look like it.
pub const SHORTEST: usize = 8;
/// Headers whose values are always secrets.
const HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
    "apikey",
    "x-goog-api-key",
    "x-auth-token",
    "x-access-token",
    "private-token",
    "x-vault-token",
    "x-amz-security-token",
    "x-csrf-token",
    "x-xsrf-token",
];
/// Query parameters whose values are always secrets.
const PARAMETERS: &[&str] = &[
    "access_token",
    "refresh_token",
    "id_token",
    "auth_token",
    "api_key",
    "api-key",
    "apikey",
    "client_secret",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
    "x-amz-security-token",
    "x-amz-signature",
    "x-goog-signature",
];

/// The secrets that this process knows.
struct Known {
    /// Secret texts with their replacements, the longest first.
    texts: Vec<(String, String)>,
    /// Values that were set for environment variables in this process.
    given: BTreeMap<String, String>,
}

static KNOWN: RwLock<Known> = RwLock::new(Known { texts: Vec::new(), given: BTreeMap::new() });

fn known() -> RwLockReadGuard<'static, Known> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner)
}

fn known_mut() -> RwLockWriteGuard<'static, Known> {
    KNOWN.write().unwrap_or_else(PoisonError::into_inner)
}

/// Why an environment variable has no value here, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Subject and cause.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl From<Missing> for Problems {
    fn from(missing: Missing) -> Problems {
        Problems::plain(missing.message, missing.hint)
    }
}

/// Returns the value of an environment variable, which is a secret from now on.
///
/// # Errors
/// A variable that is not set, or whose value cannot be sent or kept secret.
pub fn value(variable: &str) -> Result<String, Missing> {
    if let Some(given) = known().given.get(variable) {
        return Ok(given.clone());
    }
    let missing = |why: &str, hint: String| Missing {
        message: format!("`{{env.{variable}}}` has no value: {variable} {why}"),
        hint,
    };
    let value = match std::env::var(variable) {
        Ok(value) if !value.is_empty() => value,
        Err(std::env::VarError::NotUnicode(_)) => {
            return Err(missing("is not UTF-8 text", "give it as text".into()));
        }
        _ => {
            return Err(missing(
                "is not set in the environment",
                format!("set it for this command: {variable}=... faceoff ..."),
            ));
        }
    };
    if value.contains(char::is_control) {
        return Err(missing(
            "holds a line break or another control character",
            "give it as one line".into(),
        ));
    }
    if value.len() < SHORTEST {
        let why = format!(
            "is shorter than {SHORTEST} characters, and could not be kept out of what is written"
        );
        return Err(missing(
            &why,
            "write a value that is not secret instead of the placeholder".into(),
        ));
    }
    learn(&value, &format!("{{env.{variable}}}"));
    Ok(value)
}

/// Replaces a text with `shown` in everything that is written from now on, in all its encodings. A
/// text that is too short is not replaced.
pub fn learn(secret: &str, shown: &str) {
    let json = Value::from(secret).to_string();
    let forms = [
        secret.to_owned(),
        percent_encoded(secret),
        in_path(secret),
        json[1..json.len() - 1].to_owned(),
    ];
    let mut known = known_mut();
    for form in forms {
        if form.len() >= SHORTEST && !known.texts.iter().any(|(text, _)| *text == form) {
            known.texts.push((form, shown.to_owned()));
        }
    }
    known.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
}

/// Sets a value for an environment variable in this process, and returns the variable. If it has
/// another value already, the name gets a number at its end.
fn give(variable: &str, value: &str) -> String {
    let mut names =
        std::iter::once(variable.to_owned()).chain((2..).map(|n| format!("{variable}_{n}")));
    let mut known = known_mut();
    let is_free = |name: &String| known.given.get(name).is_none_or(|other| other == value);
    let name = names.find(is_free).unwrap_or_else(|| variable.to_owned());
    known.given.insert(name.clone(), value.to_owned());
    drop(known);
    learn(value, &format!("{{env.{name}}}"));
    name
}

/// Returns whether any secret is known.
pub fn is_any() -> bool {
    !known().texts.is_empty()
}

/// Returns a text without secrets.
pub fn hidden(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for (secret, shown) in &known().texts {
        if text.contains(secret.as_str()) {
            text = Cow::Owned(text.replace(secret.as_str(), shown));
        }
    }
    text
}

/// Returns bytes without secrets; `None` if they have none.
pub fn hidden_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut changed: Option<Vec<u8>> = None;
    for (secret, shown) in &known().texts {
        let from = changed.as_deref().unwrap_or(bytes);
        if let Some(without) = replaced(from, secret.as_bytes(), shown.as_bytes()) {
            changed = Some(without);
        }
    }
    changed
}

fn replaced(bytes: &[u8], secret: &[u8], shown: &[u8]) -> Option<Vec<u8>> {
    let find = |bytes: &[u8]| bytes.windows(secret.len()).position(|window| window == secret);
    let (mut at, mut rest, mut out) = (find(bytes)?, bytes, Vec::new());
    loop {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(shown);
        rest = &rest[at + secret.len()..];
        match find(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Removes secrets from every text of a JSON value. Names of fields and numbers stay.
pub fn hide(value: &mut Value) {
    match value {
        Value::String(text) => *text = hidden(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(hide),
        Value::Object(fields) => fields.values_mut().for_each(hide),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Fills in the `{env.NAME}` of a text from the command line.
///
/// # Errors
/// A variable without a value.
pub fn filled(text: &str) -> Result<String, Missing> {
    let parts = Template::of_words(text).parts;
    let texts = parts.into_iter().map(|part| match part {
        Part::Text(text) => Ok(text),
        Part::Value(name) => value(&name[PREFIX.len()..]),
    });
    texts.collect()
}

/// Returns whether a header contains a secret.
pub fn is_header(name: &str) -> bool {
    HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn is_parameter(name: &str) -> bool {
    PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns where the secret of a header's value begins: after the scheme (`Bearer`, `Basic`).
fn secret_of(header: &str, value: &str) -> usize {
    let has_scheme = header.to_ascii_lowercase().ends_with("authorization");
    value.find(' ').filter(|_| has_scheme).map_or(0, |at| at + 1)
}

/// Learns the secrets that a request's headers and query contain as literal texts.
pub fn notice(path: &Template, headers: &[(String, Template)]) {
    for (name, value) in headers.iter().filter(|(name, _)| is_header(name)) {
        if let Some(value) = value.as_fixed() {
            learn(&value[secret_of(name, value)..], &format!("[{}]", name.to_ascii_lowercase()));
        }
    }
    path.texts().for_each(notice_query);
}

/// Learns the secrets in the query of a URL.
pub fn notice_query(url: &str) {
    for (name, range) in parameters(url) {
        learn(&url[range], &format!("[{name}]"));
    }
}

/// Returns the secret parameters of a query, or of a part of one: their names, and where their
/// values are.
fn parameters(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(['?', '&']) {
        let pair = &text[at + 1..];
        let pair = &pair[..pair.find(['&', '#']).unwrap_or(pair.len())];
        if let Some((name, value)) = pair.split_once('=')
            && is_parameter(name)
            && value.len() >= SHORTEST
        {
            let from = at + 1 + name.len() + 1;
            found.push((name, from..from + value.len()));
        }
    }
    found
}

/// Replaces the secrets in a request's headers and query with environment variables, and sets these
/// variables in this process. The request can then be written without its secrets. Returns the
/// variables.
pub fn lift(path: &mut Template, headers: &mut [(String, Template)]) -> Vec<String> {
    let mut lifted = Vec::new();
    let mut variable_for = |name: &str, secret: &str| {
        let wish: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        let variable = give(&wish, secret);
        lifted.push(variable.clone());
        Part::Value(format!("{PREFIX}{variable}"))
    };
    for (name, value) in headers.iter_mut().filter(|(name, _)| is_header(name)) {
        let Some(text) = value.as_fixed() else { continue };
        let (scheme, secret) = text.split_at(secret_of(name, text));
        if secret.len() >= SHORTEST {
            let mut parts = Template::fixed(scheme).parts;
            parts.push(variable_for(name, secret));
            *value = Template { parts };
        }
    }
    let mut parts = Vec::new();
    for part in std::mem::take(&mut path.parts) {
        let Part::Text(text) = &part else {
            parts.push(part);
            continue;
        };
        let mut from = 0;
        for (name, range) in parameters(text) {
            parts.push(Part::Text(text[from..range.start].to_owned()));
            from = range.end;
            parts.push(variable_for(name, &text[range]));
        }
        if from < text.len() {
            parts.push(Part::Text(text[from..].to_owned()));
        }
    }
    path.parts = parts;
    lifted
}

/// Encodes a value for a path, but only the characters that could not be sent.
pub(crate) fn in_path(text: &str) -> String {
    const UNSENDABLE: &AsciiSet = &CONTROLS.add(b' ');
    utf8_percent_encode(text, UNSENDABLE).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Step;
    use proptest::prelude::*;

    #[test]
    fn a_learnt_secret_is_removed_in_every_encoding() {
        learn("pa ss/wörd-1", "{env.P}");
        learn("pa ss/wörd-1-and-more", "{env.LONGER}");
        assert_eq!(
            hidden("a pa ss/wörd-1 b pa%20ss%2Fw%C3%B6rd-1-and-more"),
            "a {env.P} b {env.LONGER}"
        );
        assert_eq!(hidden("?k=pa%20ss/w%C3%B6rd-1"), "?k={env.P}");
        let mut value =
            serde_json::json!({"a": ["x pa ss/wörd-1", 12345678], "pa ss/wörd-1": null});
        hide(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["x {env.P}", 12345678], "pa ss/wörd-1": null}));
        learn("short", "{env.S}");
        assert_eq!(hidden("short"), "short");
        let bytes = [b"\xff".as_slice(), "pa ss/wörd-1".as_bytes(), b"\xfe\n"].concat();
        assert_eq!(hidden_bytes(&bytes), Some(b"\xff{env.P}\xfe\n".to_vec()));
        assert_eq!(hidden_bytes(b"nothing"), None);
    }

    #[test]
    fn a_missing_variable_is_reported_with_what_to_do() {
        let missing = value("FACEOFF_TEST_NOT_SET").unwrap_err();
        assert_eq!(
            missing.message,
            "`{env.FACEOFF_TEST_NOT_SET}` has no value: FACEOFF_TEST_NOT_SET is not set in the environment"
        );
        assert!(missing.hint.starts_with("set it for this command: "));
        assert_eq!(filled("no {place} $here {}"), Ok("no {place} $here {}".into()));
        assert!(filled("x {env.FACEOFF_TEST_NOT_SET}").is_err());
    }

    #[test]
    fn known_headers_and_parameters_become_variables() {
        let fixed = |text: &str| Template::fixed(text);
        let mut step = Step {
            path: fixed("/a?x=1&token=abcdefghij&y=2"),
            headers: vec![
                ("Authorization".into(), fixed("Bearer 0123456789")),
                ("cookie".into(), fixed("a=b")),
                ("accept".into(), fixed("text/html; long enough")),
            ],
            ..Step::default()
        };
        let mut again = Step {
            headers: vec![("authorization".into(), fixed("Bearer 9876543210"))],
            ..Step::default()
        };
        assert_eq!(lift(&mut step.path, &mut step.headers), ["AUTHORIZATION", "TOKEN"]);
        assert_eq!(step.path.to_string(), "/a?x=1&token=${env.TOKEN}&y=2");
        let shown: Vec<String> = step.headers.iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(shown, ["Bearer ${env.AUTHORIZATION}", "a=b", "text/html; long enough"]);
        assert_eq!(value("AUTHORIZATION"), Ok("0123456789".into()));
        assert_eq!(lift(&mut again.path, &mut again.headers), ["AUTHORIZATION_2"]);
        assert_eq!(
            hidden("0123456789, 9876543210, abcdefghij"),
            "{env.AUTHORIZATION}, {env.AUTHORIZATION_2}, {env.TOKEN}"
        );
        assert!(lift(&mut step.path, &mut step.headers).is_empty(), "once");
        assert!(
            is_header("Private-Token")
                && !is_header("accept")
                && is_parameter("X-Amz-Signature")
                && !is_parameter("key")
        );
    }

    #[test]
    fn every_secret_header_and_parameter_is_documented() {
        let guide = include_str!("../../../docs/guide/secrets.md").to_ascii_lowercase();
        for name in HEADERS.iter().chain(PARAMETERS) {
            assert!(
                guide.contains(&format!("`{name}`")),
                "docs/guide/secrets.md does not name `{name}`"
            );
        }
    }

    proptest! {
        #[test]
        fn bytes_and_texts_lose_the_same_secrets(before in "[abz]{0,6}", after in "[abz]{0,6}", times in 0usize..3) {
            learn("zzzz-abab-zzzz", "{env.Z}");
            let text = format!("{before}{}{after}", "zzzz-abab-zzzz".repeat(times));
            let bytes = hidden_bytes(text.as_bytes()).unwrap_or_else(|| text.clone().into_bytes());
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), hidden(&text));
        }
    }
}
