//! A workload: the requests, in order, and their correct responses (`workloads/<name>.toml`).
//!
//! A [`Workload`] has steps; each [`Step`] is a request with the checks of its response
//! (`answer.rs`) and the values captured from it. `parse.rs` reads the file. Start with [`Step`].

mod answer;
pub mod database;
mod parse;
mod request_spec;

pub use answer::{Answer, BodyCheck, Statuses, Wanted, pointer_token};
pub use parse::{is_header_name, is_header_value, is_method, is_written_by_generator};

use self::database::Stored;
use crate::data::Data;
use crate::problem::Problems;
use crate::reader::read_file;
use crate::secret;
use crate::template::Template;
use crate::variable;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Values that every user has: its number, and the number of passes it has begun. Both count from
/// 0.
pub const BUILT_IN: [&str; 2] = ["user", "round"];

/// Requests, and how correct responses to them are recognized.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    /// The name of the file, without its ending.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Values that are drawn anew for each pass over the steps.
    pub data: Vec<Data>,
    /// The steps, which are sent one after the other, then again from the first.
    pub steps: Vec<Step>,
    /// The stored rows, if the experiment has a database.
    pub stored: Option<Stored>,
}

/// One request with the checks of its response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Headers in order; a name may occur several times. The load generator adds `Content-Length`,
    /// and `Host` if it is absent.
    pub headers: Vec<(String, Template)>,
    /// The body of the request.
    pub body: Body,
    /// Values that are taken from a correct response, for later requests.
    pub captures: Vec<Capture>,
    /// The checks of the response.
    pub answer: Answer,
    /// A status that means "not now". It is counted as declined, not as wrong.
    pub declined: Option<u16>,
    /// By table, the number of rows that each correct response reports as stored.
    pub stores: BTreeMap<String, u64>,
}

/// The body of a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// A text that may have placeholders.
    Text(Template),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A value taken from a response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// The name that later steps use.
    pub name: String,
    /// Where the value is.
    pub from: Source,
    /// Which part of it is taken: the first group of the first match, or the whole match without a
    /// group.
    #[serde(with = "crate::workload::request_spec::pattern")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub regex: Option<regex_lite::Regex>,
}

/// Where a captured value is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Source {
    /// In a JSON body, at this pointer (RFC 6901).
    Json(String),
    /// In a header.
    Header(String),
    /// Anywhere in the body.
    Body,
}

impl Default for Step {
    fn default() -> Self {
        Step {
            method: "GET".into(),
            path: Template::fixed("/"),
            headers: Vec::new(),
            body: Body::None,
            captures: Vec::new(),
            answer: Answer::default(),
            declined: None,
            stores: BTreeMap::new(),
        }
    }
}

impl Workload {
    /// Reads a workload and the files next to it that it names. Parameters have the values of the
    /// file.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Workload, Problems> {
        Workload::read_with(path, &BTreeMap::new())
    }

    /// Reads a workload like [`Workload::read`], with other values for some of its parameters.
    ///
    /// # Errors
    /// Every problem of the file, with its place; an unknown parameter, with the nearest name.
    pub fn read_with(path: &Path, given: &BTreeMap<String, String>) -> Result<Workload, Problems> {
        read_file(path, |table| parse::parse_workload(table, path, given))
    }

    /// Checks that every environment variable that it names has a value.
    ///
    /// # Errors
    /// A variable without a value.
    pub fn must_have_secrets(&self) -> Result<(), Problems> {
        self.variables()
            .into_iter()
            .try_for_each(|variable| secret::value(&variable).map(drop).map_err(Problems::from))
    }

    fn variables(&self) -> BTreeSet<String> {
        self.steps
            .iter()
            .flat_map(Step::templates)
            .flat_map(Template::variables)
            .map(str::to_owned)
            .collect()
    }

    /// Returns the workload with every request sent to one path.
    pub fn with_path(&self, path: &str) -> Workload {
        let steps =
            self.steps.iter().map(|step| Step { path: path.into(), ..step.clone() }).collect();
        Workload { steps, ..self.clone() }
    }

    /// Fills in the values of the environment variables that it names. A variable without a value
    /// becomes empty.
    pub fn with_secrets(&self) -> Cow<'_, Workload> {
        let values = self.variables().into_iter().map(|variable| {
            let value = secret::value(&variable).unwrap_or_default();
            (format!("{}{variable}", variable::PREFIX), value)
        });
        let values: BTreeMap<String, String> = values.collect();
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        let in_path =
            values.iter().map(|(name, value)| (name.clone(), secret::in_path(value))).collect();
        let mut workload = self.clone();
        for step in &mut workload.steps {
            step.path = step.path.with(&in_path);
            let answer = &mut step.answer;
            for (_, value) in step.headers.iter_mut().chain(&mut answer.headers) {
                *value = value.with(&values);
            }
            if let Body::Text(text) = &mut step.body {
                *text = text.with(&values);
            }
            if let BodyCheck::Text(text) = &mut answer.body {
                *text = text.with(&values);
            }
            for (_, wanted) in &mut answer.pointers {
                if let Wanted::Spelling(text) = wanted {
                    *text = text.with(&values);
                }
            }
        }
        Cow::Owned(workload)
    }

    /// Describes what is checked in the responses, and on which share of them.
    pub fn checks(&self) -> String {
        let all: BTreeSet<String> = self.steps.iter().map(|step| step.answer.checks()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    }
}

impl Step {
    /// Returns every text that may have placeholders.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let answer = &self.answer;
        let sent = if let Body::Text(text) = &self.body { Some(text) } else { None };
        let expected = if let BodyCheck::Text(text) = &answer.body { Some(text) } else { None };
        let pointers = answer.pointers.iter().filter_map(|(_, wanted)| {
            if let Wanted::Spelling(text) = wanted { Some(text) } else { None }
        });
        let headers = self.headers.iter().chain(&answer.headers).map(|(_, value)| value);
        std::iter::once(&self.path).chain(headers).chain(sent).chain(expected).chain(pointers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Values;

    fn read(text: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("people.csv"), "name,age\n\"Ann, B.\",7\nBob,8\n")
            .unwrap();
        std::fs::write(folder.path().join("bad.csv"), "name,age\nAnn\n").unwrap();
        std::fs::write(folder.path().join("w.toml"), text).unwrap();
        Workload::read(&folder.path().join("w.toml")).map_err(|problems| {
            let text = problems.to_string();
            text.replace(&folder.path().display().to_string(), "")
        })
    }

    #[test]
    fn a_workload_with_every_field_is_read() {
        let workload = read(
            r#"
name = "w"
summary = "an order, and a look at it"
[[data]]
name = "n"
counter = { from = 10, step = 2 }
[[data]]
name = "amount"
random = { from = 1, to = 100 }
[[data]]
name = "blob"
text = { size = "1K" }
[[data]]
name = "colour"
choice = ["red", "green"]
[[data]]
name = "person"
csv = "people.csv"
order = "random"
[[step]]
method = "POST"
path = "/orders/${n}?by=${person.name}"
headers = { x-user = "${user}-${round}" }
body = '{"amount": ${amount}, "colour": "${colour}", "text": "$${x} ${blob}"}'
capture.id = { json = "/id" }
capture.place = { header = "Location", regex = "/(\\d+)" }
[step.answer]
status = 201
regex = "ok"
sample = 0.25
present = ["/id"]
[step.answer.pointers]
"/amount" = "${amount}"
"/list/0" = 5
[[step]]
path = "${place}"
[step.answer]
headers = { etag = "${id}" }
body = "hello ${id}"
"#,
        )
        .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.data.len(), 5);
        assert_eq!(workload.steps[0].captures.len(), 2);
        assert_eq!(workload.steps[0].answer.pointers.len(), 3);
        assert_eq!(workload.steps[0].answer.pointers[2], ("/id".into(), Wanted::Present));
        assert_eq!(
            workload.checks(),
            "status of every response, JSON pointers, a regular expression of 25 %; status, headers, every byte of the body of every response"
        );
    }

    const SIZED: &str = r#"
name = "w"
summary = "as many letters as a cell says"
parameters = { size = 8, word = "hello" }
[[data]]
name = "blob"
text = { size = "${size}" }
[[step]]
path = "/${word}/${size}?${round}"
headers = { x-size = "${size}" }
body = "${blob}"
[step.answer]
regex = '^.{${size}}$'
length = "${size}"
[step.answer.pointers]
"/size" = "${size}"
[[step]]
path = "/"
body_size = "${size}"
[step.answer]
body_file = "${word}.csv"
"#;

    fn read_with(text: &str, given: &[(&str, &str)]) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["hello", "people"] {
            std::fs::write(folder.path().join(name).with_extension("csv"), name).unwrap();
        }
        std::fs::write(folder.path().join("w.toml"), text).unwrap();
        let given =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Workload::read_with(&folder.path().join("w.toml"), &given)
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_header_may_have_several_values_and_a_request_one_host() {
        let text = |headers: &str| {
            format!(
                "name = \"w\"\nsummary = \"x\"\n[[step]]\npath = \"/\"\nheaders = {headers}\n[step.answer]\nstatus = 200\n"
            )
        };
        let workload = read_with(
            &text("{ x-tag = [\"b\", \"a${user}\"], host = \"shop.example\", accept = \"*/*\" }"),
            &[],
        )
        .unwrap();
        let headers: Vec<String> = workload.steps[0]
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        assert_eq!(headers, ["accept: */*", "host: shop.example", "x-tag: b", "x-tag: a${user}"]);
        for (headers, problem) in [
            ("{ x-tag = [] }", "has no value"),
            ("{ x-tag = [1] }", "a list of texts"),
            ("{ x-tag = 1 }", "text in quotes or a list of texts"),
            ("{ host = [\"a\", \"b\"] }", "a request has one `host`"),
            ("{ x-tag = [\"a\", \"b\\r\\nc: d\"] }", "is not a header"),
            ("{ connection = \"close\" }", "written by the load generator"),
        ] {
            let message = read_with(&text(headers), &[]).unwrap_err();
            assert!(message.contains(problem), "{headers}: {message}");
        }
    }

    #[test]
    fn parameters_are_replaced_wherever_values_are() {
        for (given, size, word) in
            [(&[][..], 8, "hello"), (&[("size", "128"), ("word", "people")][..], 128, "people")]
        {
            let workload = read_with(SIZED, given).unwrap_or_else(|e| panic!("{e}"));
            let [first, second] = &workload.steps[..] else { panic!("two steps") };
            assert_eq!(first.path.to_string(), format!("/{word}/{size}?${{round}}"));
            assert_eq!(first.headers[0].1.as_fixed(), Some(&*size.to_string()));
            assert_eq!(workload.data[0].values, Values::Text(size));
            assert_eq!(first.answer.body, BodyCheck::Length(size as u64));
            assert_eq!(
                first.answer.pointers[0].1,
                Wanted::Spelling(Template::fixed(size.to_string()))
            );
            assert!(first.answer.regex.as_ref().unwrap().is_match(&"x".repeat(size)));
            assert_eq!(second.answer.body, BodyCheck::Bytes(word.into()));
            assert!(matches!(&second.body, Body::Bytes(bytes) if bytes.len() == size));
        }
    }

    #[test]
    fn environment_variables_are_filled_in_on_request() {
        let text = "name = \"w\"\nsummary = \"s\"\n[[step]]\npath = \"/a?k=${env.FACEOFF_TEST_KEY}\"\nheaders = { x = \"<${env.FACEOFF_TEST_KEY}>\" }\n[step.answer]\nbody = \"${env.FACEOFF_TEST_KEY}\"\n";
        let workload = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.steps[0].path.to_string(), "/a?k=${env.FACEOFF_TEST_KEY}");
        let message = workload.must_have_secrets().unwrap_err().to_string();
        assert!(
            message.contains("FACEOFF_TEST_KEY is not set") && message.contains("\nhint: "),
            "{message}"
        );
        let filled = workload.with_secrets();
        assert_eq!(
            (filled.steps[0].path.as_fixed(), filled.steps[0].headers[0].1.as_fixed()),
            (Some("/a?k="), Some("<>"))
        );
        assert_eq!(filled.steps[0].answer.body, BodyCheck::Text(Template::default()));
        let wrong = read(&text.replace("FACEOFF_TEST_KEY", "1")).unwrap_err();
        assert!(wrong.contains("`${env.1}` names no environment variable"), "{wrong}");
        let taken =
            read(&format!("{text}[[data]]\nname = \"env\"\nchoice = [\"a\"]\n")).unwrap_err();
        assert!(taken.contains("`env` cannot name a value"), "{taken}");
    }

    #[test]
    fn problems_with_parameters_are_reported() {
        let wrong =
            SIZED.replace("word = \"hello\"", "word = [1, 2], blob = 1, user = 1, none = 0");
        let message = read_with(&wrong, &[("sise", "1")]).unwrap_err();
        for part in [
            "`word` has several values",
            "`with = { word = [...] }`",
            "the value `blob` is defined twice",
            "`user` cannot name a parameter",
            "`parameters.none` must be from",
            "a cell sets `sise`, which is not a parameter of this workload",
            "did you mean `size`?",
        ] {
            assert!(message.contains(part), "{part}\n{message}");
        }
    }

    #[test]
    fn statuses_are_read_as_they_are_shown() {
        for text in ["200", "2xx", "200..399", "404"] {
            assert_eq!(Statuses::parse(text).unwrap().to_string(), text);
        }
        assert!(
            Statuses::parse("2xx").unwrap().has(204) && !Statuses::parse("2xx").unwrap().has(300)
        );
        for bad in ["", "xx", "1xx", "6xx", "99", "300..200", "abc", "2x"] {
            assert!(Statuses::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_problem_is_reported_with_its_place() {
        let problems = read(
            r#"
name = "w"
summary = "wrong in every way"
[[data]]
name = "n"
counter = {}
choice = ["a"]
[[data]]
name = "user"
random = { from = 5, to = 1 }
[[data]]
name = "person"
csv = "bad.csv"
[[data]]
name = "nothing"
[[step]]
path = "orders/${m}"
headers = { x = "${id}" }
body = "${"
body_size = "12 parsecs"
capture.id = { json = "id" }
capture.other = {}
capture.third = { regex = "(" }
[step.answer]
sample = 2
[step.answer.pointers]
"/a" = "${idd}"
"#,
        )
        .unwrap_err();
        insta::assert_snapshot!(problems);
    }
}
