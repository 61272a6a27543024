//! What must not be written down: values of environment variables, and what known headers and parameters of queries carry.
//!
//! `{env.NAME}` in a system's commands, environment and rendered files, and `${env.NAME}` in a workload, stand for an environment
//! variable. What was asked for once is known from then on, and [`hidden`] keeps it out of every text that leaves: the lines of a
//! record, messages, logs.

use crate::name::percent_encoded;
use crate::problem::Problems;
use crate::template::{Part, Template};
use crate::workload::Step;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What the name of a placeholder begins with that stands for an environment variable.
pub const PREFIX: &str = "env.";
/// The fewest bytes of a secret: what is shorter would be taken out of words and figures that only look like it.
pub const SHORTEST: usize = 8;
/// Headers whose values are secrets wherever they come from.
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
/// Parameters of a query whose values are.
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

/// What is known in this process.
struct Known {
    /// Texts that are secret with what stands in their place, the longest first.
    texts: Vec<(String, String)>,
    /// Values that were given in the place of environment variables.
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

/// Whether this can name an environment variable.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The value of an environment variable, which is a secret from now on.
///
/// # Errors
/// One that is not set, or that cannot be sent or kept out of what is written.
pub fn value(variable: &str) -> Result<String, Missing> {
    if let Some(given) = known().given.get(variable) {
        return Ok(given.clone());
    }
    let missing = |why: &str, hint: String| Missing { message: format!("`{{env.{variable}}}` has no value: {variable} {why}"), hint };
    let value = match std::env::var(variable) {
        Ok(value) if !value.is_empty() => value,
        Err(std::env::VarError::NotUnicode(_)) => return Err(missing("is no UTF-8 text", "give it as text".into())),
        _ => return Err(missing("is not set in the environment", format!("set it for this command: {variable}=... faceoff ..."))),
    };
    if value.contains(char::is_control) {
        return Err(missing("holds a line break or another control character", "give it as one line".into()));
    }
    if value.len() < SHORTEST {
        let why = format!("is shorter than {SHORTEST} characters, and could not be kept out of what is written");
        return Err(missing(&why, "write what is no secret where the placeholder stands".into()));
    }
    learn(&value, &format!("{{env.{variable}}}"));
    Ok(value)
}

/// Keeps a text out of what is written from now on, also where it is encoded; `shown` stands in its place. What is too short is left.
pub fn learn(secret: &str, shown: &str) {
    let json = Value::from(secret).to_string();
    let forms = [secret.to_owned(), percent_encoded(secret), in_path(secret), json[1..json.len() - 1].to_owned()];
    let mut known = known_mut();
    for form in forms {
        if form.len() >= SHORTEST && !known.texts.iter().any(|(text, _)| *text == form) {
            known.texts.push((form, shown.to_owned()));
        }
    }
    known.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
}

/// Has a value stand for an environment variable in this process; returns the variable, whose name ends with a number where
/// another value has it.
fn give(variable: &str, value: &str) -> String {
    let mut names = std::iter::once(variable.to_owned()).chain((2..).map(|n| format!("{variable}_{n}")));
    let mut known = known_mut();
    let is_free = |name: &String| known.given.get(name).is_none_or(|other| other == value);
    let name = names.find(is_free).unwrap_or_else(|| variable.to_owned());
    known.given.insert(name.clone(), value.to_owned());
    drop(known);
    learn(value, &format!("{{env.{name}}}"));
    name
}

/// Whether anything is to be kept out.
pub fn is_any() -> bool {
    !known().texts.is_empty()
}

/// A text without secrets.
pub fn hidden(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for (secret, shown) in &known().texts {
        if text.contains(secret.as_str()) {
            text = Cow::Owned(text.replace(secret.as_str(), shown));
        }
    }
    text
}

/// Bytes without secrets; `None` where there is none in them.
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

/// Takes secrets out of every text of a JSON value; names of fields and numbers stay.
pub fn hide(value: &mut Value) {
    match value {
        Value::String(text) => *text = hidden(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(hide),
        Value::Object(fields) => fields.values_mut().for_each(hide),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of the command line with the values that its `{env.NAME}` stand for.
///
/// # Errors
/// A variable that has none.
pub fn filled(text: &str) -> Result<String, Missing> {
    let parts = Template::of_words(text).parts;
    let texts = parts.into_iter().map(|part| match part {
        Part::Text(text) => Ok(text),
        Part::Value(name) => value(&name[PREFIX.len()..]),
    });
    texts.collect()
}

/// Whether a header carries a secret.
pub fn is_header(name: &str) -> bool {
    HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn is_parameter(name: &str) -> bool {
    PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// What of a header's value is secret: all but the scheme (`Bearer`, `Basic`).
fn secret_of(header: &str, value: &str) -> usize {
    let has_scheme = header.to_ascii_lowercase().ends_with("authorization");
    value.find(' ').filter(|_| has_scheme).map_or(0, |at| at + 1)
}

/// Learns what a request's headers and query carry that is written there as it stands.
pub fn notice(step: &Step) {
    for (name, value) in step.headers.iter().filter(|(name, _)| is_header(name)) {
        if let Some(value) = value.as_fixed() {
            learn(&value[secret_of(name, value)..], &format!("[{}]", name.to_ascii_lowercase()));
        }
    }
    step.path.texts().for_each(notice_query);
}

/// Learns what the query of a URL carries.
pub fn notice_query(url: &str) {
    for (name, range) in parameters(url) {
        learn(&url[range], &format!("[{name}]"));
    }
}

/// The parameters of a query, or of a part of one, that are secrets: their names, and where their values stand.
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

/// Puts variables of the environment into the place of what a request's headers and query carry, and gives them these values in this
/// process: what is written down of the request holds them no more. Returns the variables.
pub fn lift(step: &mut Step) -> Vec<String> {
    let mut lifted = Vec::new();
    let mut variable_for = |name: &str, secret: &str| {
        let wish: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
        let variable = give(&wish, secret);
        lifted.push(variable.clone());
        Part::Value(format!("{PREFIX}{variable}"))
    };
    for (name, value) in step.headers.iter_mut().filter(|(name, _)| is_header(name)) {
        let Some(text) = value.as_fixed() else { continue };
        let (scheme, secret) = text.split_at(secret_of(name, text));
        if secret.len() >= SHORTEST {
            let mut parts = Template::fixed(scheme).parts;
            parts.push(variable_for(name, secret));
            *value = Template { parts };
        }
    }
    let mut parts = Vec::new();
    for part in std::mem::take(&mut step.path.parts) {
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
    step.path.parts = parts;
    lifted
}

/// As a value stands in a path: encoded only where it could not be sent.
pub(crate) fn in_path(text: &str) -> String {
    text.bytes().map(|b| if b.is_ascii_graphic() { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_learnt_leaves_no_text_however_it_is_encoded() {
        learn("pa ss/wörd-1", "{env.P}");
        learn("pa ss/wörd-1-and-more", "{env.LONGER}");
        assert_eq!(hidden("a pa ss/wörd-1 b pa%20ss%2Fw%C3%B6rd-1-and-more"), "a {env.P} b {env.LONGER}");
        assert_eq!(hidden("?k=pa%20ss/w%C3%B6rd-1"), "?k={env.P}");
        let mut value = serde_json::json!({"a": ["x pa ss/wörd-1", 12345678], "pa ss/wörd-1": null});
        hide(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["x {env.P}", 12345678], "pa ss/wörd-1": null}));
        learn("short", "{env.S}");
        assert_eq!(hidden("short"), "short");
        let bytes = [b"\xff".as_slice(), "pa ss/wörd-1".as_bytes(), b"\xfe\n"].concat();
        assert_eq!(hidden_bytes(&bytes), Some(b"\xff{env.P}\xfe\n".to_vec()));
        assert_eq!(hidden_bytes(b"nothing"), None);
    }

    #[test]
    fn a_variable_that_is_not_there_is_said_and_what_to_do() {
        let missing = value("FACEOFF_TEST_NOT_SET").unwrap_err();
        assert_eq!(missing.message, "`{env.FACEOFF_TEST_NOT_SET}` has no value: FACEOFF_TEST_NOT_SET is not set in the environment");
        assert!(missing.hint.starts_with("set it for this command: "));
        assert!(is_variable("A_1") && !is_variable("1A") && !is_variable("a-b") && !is_variable(""));
        assert_eq!(filled("no {place} $here {}"), Ok("no {place} $here {}".into()));
        assert!(filled("x {env.FACEOFF_TEST_NOT_SET}").is_err());
    }

    #[test]
    fn known_headers_and_parameters_are_lifted_out() {
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
        let mut again = Step { headers: vec![("authorization".into(), fixed("Bearer 9876543210"))], ..Step::default() };
        assert_eq!(lift(&mut step), ["AUTHORIZATION", "TOKEN"]);
        assert_eq!(step.path.to_string(), "/a?x=1&token=${env.TOKEN}&y=2");
        let shown: Vec<String> = step.headers.iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(shown, ["Bearer ${env.AUTHORIZATION}", "a=b", "text/html; long enough"]);
        assert_eq!(value("AUTHORIZATION"), Ok("0123456789".into()));
        assert_eq!(lift(&mut again), ["AUTHORIZATION_2"]);
        assert_eq!(hidden("0123456789, 9876543210, abcdefghij"), "{env.AUTHORIZATION}, {env.AUTHORIZATION_2}, {env.TOKEN}");
        assert!(lift(&mut step).is_empty(), "once");
        assert!(is_header("Private-Token") && !is_header("accept") && is_parameter("X-Amz-Signature") && !is_parameter("key"));
    }

    #[test]
    fn every_known_name_is_told_to_readers() {
        let told = include_str!("../../../docs/secrets.md").to_ascii_lowercase();
        for name in HEADERS.iter().chain(PARAMETERS) {
            assert!(told.contains(&format!("`{name}`")), "docs/secrets.md does not name `{name}`");
        }
    }

    proptest! {
        #[test]
        fn bytes_and_texts_are_cleared_alike(before in "[abz]{0,6}", after in "[abz]{0,6}", times in 0usize..3) {
            learn("zzzz-abab-zzzz", "{env.Z}");
            let text = format!("{before}{}{after}", "zzzz-abab-zzzz".repeat(times));
            let bytes = hidden_bytes(text.as_bytes()).unwrap_or_else(|| text.clone().into_bytes());
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), hidden(&text));
        }
    }
}
