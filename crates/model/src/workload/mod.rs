//! A workload: the requests, in order, and the right answers to them (`workloads/<name>.toml`).

mod answer;
mod walk;

pub use answer::{Answer, BodyCheck, Statuses, Wanted};
pub use walk::{is_header_name, is_header_value, is_method, is_written_by_generator};

use crate::data::Data;
use crate::database::Stored;
use crate::problem::Problems;
use crate::reader::read_file;
use crate::secret;
use crate::template::Template;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Values that every user has: its number, and how many passes it has begun, both from 0.
pub const BUILT_IN: [&str; 2] = ["user", "round"];

/// The requests that are made, and what a right answer to each is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Workload {
    /// The file's name.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Values that are drawn anew for each pass over the steps.
    pub data: Vec<Data>,
    /// Made one after the other, then again from the first.
    pub steps: Vec<Step>,
    /// What they leave in a database, where the experiment has one.
    pub stored: Option<Stored>,
}

/// One request and its right answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// `Host` and `Content-Length` are added.
    pub headers: Vec<(String, Template)>,
    /// What is sent after the head.
    pub body: Body,
    /// What is taken from a right answer, for later requests.
    pub captures: Vec<Capture>,
    /// What a right answer is.
    pub answer: Answer,
    /// A status that says "not now": counted as declined, not as wrong.
    pub declined: Option<u16>,
    /// By table, how many rows each right answer says were stored.
    pub stores: BTreeMap<String, u64>,
}

/// What a request sends after its head.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// A text that may vary.
    Text(Template),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A value taken from an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Capture {
    /// How later steps name it.
    pub name: String,
    /// Where it stands.
    pub from: Source,
    /// Which part of that: the first group of the first match, or the whole match where it has no group.
    #[serde(with = "crate::sent::pattern")]
    pub regex: Option<regex_lite::Regex>,
}

/// Where a captured value stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// In a body that is JSON, at this pointer (RFC 6901).
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
    /// Reads a workload and the files it names, which stand beside it; its parameters are what the file says.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Workload, Problems> {
        Workload::read_with(path, &BTreeMap::new())
    }

    /// As [`Workload::read`], with other values for some of its parameters.
    ///
    /// # Errors
    /// Every problem of the file, with its place; a parameter that it does not have, with the nearest.
    pub fn read_with(path: &Path, given: &BTreeMap<String, String>) -> Result<Workload, Problems> {
        read_file(path, |table| walk::walk(table, path, given))
    }

    /// That every environment variable has a value that it names.
    ///
    /// # Errors
    /// One that has none.
    pub fn must_have_secrets(&self) -> Result<(), Problems> {
        self.variables().into_iter().try_for_each(|variable| secret::value(&variable).map(drop).map_err(Problems::from))
    }

    fn variables(&self) -> BTreeSet<String> {
        self.steps.iter().flat_map(Step::templates).flat_map(Template::variables).map(str::to_owned).collect()
    }

    /// With the values of the environment variables that it names; nothing stands for one that has none.
    pub fn with_secrets(&self) -> Cow<'_, Workload> {
        let values = self.variables().into_iter().map(|variable| {
            let value = secret::value(&variable).unwrap_or_default();
            (format!("{}{variable}", secret::PREFIX), value)
        });
        let values: BTreeMap<String, String> = values.collect();
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        let in_path = values.iter().map(|(name, value)| (name.clone(), secret::in_path(value))).collect();
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

    /// What is looked at in the answers, in words: what is not looked at in every answer says so.
    pub fn checks(&self) -> String {
        let all: BTreeSet<String> = self.steps.iter().map(|step| step.answer.checks()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    }
}

impl Step {
    /// Every text in which a value may stand.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let answer = &self.answer;
        let sent = if let Body::Text(text) = &self.body { Some(text) } else { None };
        let expected = if let BodyCheck::Text(text) = &answer.body { Some(text) } else { None };
        let pointers = answer.pointers.iter().filter_map(|(_, wanted)| if let Wanted::Spelling(text) = wanted { Some(text) } else { None });
        let headers = self.headers.iter().chain(&answer.headers).map(|(_, value)| value);
        std::iter::once(&self.path).chain(headers).chain(sent).chain(expected).chain(pointers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("people.csv"), "name,age\n\"Ann, B.\",7\nBob,8\n").unwrap();
        std::fs::write(folder.path().join("bad.csv"), "name,age\nAnn\n").unwrap();
        std::fs::write(folder.path().join("w.toml"), text).unwrap();
        Workload::read(&folder.path().join("w.toml")).map_err(|problems| {
            let text = problems.to_string();
            text.replace(&folder.path().display().to_string(), "")
        })
    }

    #[test]
    fn a_workload_with_everything() {
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
            "status of every answer, JSON pointers, a regular expression of 25 %; status, headers, every byte of the body of every answer"
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
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Workload::read_with(&folder.path().join("w.toml"), &given).map_err(|problems| problems.to_string())
    }

    #[test]
    fn parameters_stand_wherever_a_value_does() {
        for (given, size, word) in [(&[][..], 8, "hello"), (&[("size", "128"), ("word", "people")][..], 128, "people")] {
            let workload = read_with(SIZED, given).unwrap_or_else(|e| panic!("{e}"));
            let [first, second] = &workload.steps[..] else { panic!("two steps") };
            assert_eq!(first.path.to_string(), format!("/{word}/{size}?${{round}}"));
            assert_eq!(first.headers[0].1.as_fixed(), Some(&*size.to_string()));
            assert_eq!(workload.data[0].values, crate::data::Values::Text(size));
            assert_eq!(first.answer.body, BodyCheck::Length(size as u64));
            assert_eq!(first.answer.pointers[0].1, Wanted::Spelling(Template::fixed(size.to_string())));
            assert!(first.answer.regex.as_ref().unwrap().is_match(&"x".repeat(size)));
            assert_eq!(second.answer.body, BodyCheck::Bytes(word.into()));
            assert!(matches!(&second.body, Body::Bytes(bytes) if bytes.len() == size));
        }
    }

    #[test]
    fn environment_variables_stand_for_their_values_when_it_is_asked() {
        let text = "name = \"w\"\nsummary = \"s\"\n[[step]]\npath = \"/a?k=${env.FACEOFF_TEST_KEY}\"\nheaders = { x = \"<${env.FACEOFF_TEST_KEY}>\" }\n[step.answer]\nbody = \"${env.FACEOFF_TEST_KEY}\"\n";
        let workload = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.steps[0].path.to_string(), "/a?k=${env.FACEOFF_TEST_KEY}");
        let said = workload.must_have_secrets().unwrap_err().to_string();
        assert!(said.contains("FACEOFF_TEST_KEY is not set") && said.contains("\nhint: "), "{said}");
        let filled = workload.with_secrets();
        assert_eq!((filled.steps[0].path.as_fixed(), filled.steps[0].headers[0].1.as_fixed()), (Some("/a?k="), Some("<>")));
        assert_eq!(filled.steps[0].answer.body, BodyCheck::Text(Template::default()));
        let wrong = read(&text.replace("FACEOFF_TEST_KEY", "1")).unwrap_err();
        assert!(wrong.contains("`${env.1}` names no environment variable"), "{wrong}");
        let taken = read(&format!("{text}[[data]]\nname = \"env\"\nchoice = [\"a\"]\n")).unwrap_err();
        assert!(taken.contains("`env` cannot name a value"), "{taken}");
    }

    #[test]
    fn what_is_wrong_with_parameters_is_said() {
        let wrong = SIZED.replace("word = \"hello\"", "word = [1, 2], blob = 1, user = 1, none = 0");
        let said = read_with(&wrong, &[("sise", "1")]).unwrap_err();
        for part in [
            "`word` has several values",
            "`with = { word = [...] }`",
            "the value `blob` is defined twice",
            "`user` cannot name a parameter",
            "`parameters.none` must be from",
            "a cell sets `sise`, which is no parameter of this workload",
            "did you mean `size`?",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }

    #[test]
    fn statuses_are_read_as_they_are_shown() {
        for text in ["200", "2xx", "200..399", "404"] {
            assert_eq!(Statuses::parse(text).unwrap().to_string(), text);
        }
        assert!(Statuses::parse("2xx").unwrap().has(204) && !Statuses::parse("2xx").unwrap().has(300));
        for bad in ["", "xx", "1xx", "6xx", "99", "300..200", "abc", "2x"] {
            assert!(Statuses::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_problem_is_said_with_its_place() {
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
