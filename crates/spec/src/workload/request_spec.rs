//! A workload as it is sent to an agent on another machine.
//!
//! The agent has no files, so the workload is sent complete, with the values of environment
//! variables. The agent does not trust it: [`Workload::could_be_read`] checks what the reader of a
//! file would have checked.

use super::{
    Statuses, Step, Workload, is_header_name, is_header_value, is_method, is_written_by_generator,
};
use crate::data::{SIZE_MAX, Values};
use crate::template::{Part, Template};

/// The most steps of a workload that is sent.
const STEPS_MAX: usize = 10_000;

impl Workload {
    /// Returns the workload as it is sent. It has the values of this machine's environment
    /// variables, and nothing that concerns only a database.
    pub fn to_send(&self) -> Workload {
        Workload { stored: None, ..self.with_secrets().into_owned() }
    }

    /// Checks that a received workload is one that a file could have described.
    ///
    /// # Errors
    /// The first thing that no file could describe.
    pub fn could_be_read(&self) -> Result<(), String> {
        if self.steps.is_empty() || self.steps.len() > STEPS_MAX {
            return Err(format!("a workload of {} steps", self.steps.len()));
        }
        if let Some(variable) =
            self.steps.iter().flat_map(Step::templates).flat_map(Template::variables).next()
        {
            return Err(format!(
                "the environment variable {variable} cannot be read on another machine"
            ));
        }
        self.data.iter().try_for_each(|data| {
            could_be_drawn(&data.values)
                .map_err(|what| format!("{what} for the value `{}`", data.name))
        })?;
        self.steps.iter().try_for_each(|step| {
            could_be_made(step).map_err(|what| format!("{what} in the request to `{}`", step.path))
        })
    }
}

fn could_be_drawn(values: &Values) -> Result<(), &'static str> {
    match values {
        Values::Number { from, to } if from > to => Err("numbers that end before they begin"),
        Values::Text(size) if *size > SIZE_MAX as usize => Err("a text that is too long"),
        Values::Choice(texts) if texts.is_empty() => Err("nothing to choose from"),
        Values::Rows { columns, rows, .. }
            if rows.is_empty() || rows.iter().any(|row| row.len() != columns.len()) =>
        {
            Err("rows that are not as long as the row of names")
        }
        _ => Ok(()),
    }
}

fn could_be_made(step: &Step) -> Result<(), &'static str> {
    let is_plain = |template: &Template, allowed: fn(&str) -> bool| {
        template
            .parts
            .iter()
            .all(|part| if let Part::Text(text) = part { allowed(text) } else { true })
    };
    let in_path = |text: &str| text.bytes().all(|b| b > b' ' && b != 0x7f);
    let are_headers = |headers: &[(String, Template)]| {
        headers.iter().all(|(name, value)| is_header_name(name) && is_plain(value, is_header_value))
    };
    let is_status = |status: Statuses| {
        status.from <= status.to && (200..=599).contains(&status.from) && status.to <= 599
    };
    let answer = &step.answer;
    let frames = step.headers.iter().any(|(name, _)| is_written_by_generator(name));
    match () {
        () if !is_method(&step.method) => Err("a method that cannot be sent"),
        () if !is_plain(&step.path, in_path) => Err("a path that cannot be sent"),
        () if frames || !are_headers(&step.headers) || !are_headers(&answer.headers) => {
            Err("a header that cannot be sent")
        }
        () if !is_status(answer.status) => Err("a status that no response has"),
        () if !(0.0..=1.0).contains(&answer.sample) => Err("a share that is not from 0 to 1"),
        () => Ok(()),
    }
}

/// Stores a regular expression as its text.
pub(crate) mod pattern {
    use regex_lite::Regex;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        pattern: &Option<Regex>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        pattern.as_ref().map(Regex::as_str).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Regex>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| Regex::new(&text).map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::workload::{Answer, Body, BodyCheck, Capture, Source, Wanted};

    fn workload() -> Workload {
        let answer = Answer {
            status: Statuses { from: 200, to: 299 },
            headers: vec![("X-Id".into(), Template::parse("${id}").unwrap())],
            body: BodyCheck::Json(serde_json::json!({ "a": [1, 2.5, null] })),
            pointers: vec![("/a/0".into(), Wanted::Spelling(Template::fixed("1")))],
            regex: Some(regex_lite::Regex::new("a+").unwrap()),
            sample: 0.25,
        };
        let capture = Capture {
            name: "token".into(),
            from: Source::Json("/t".into()),
            regex: Some(regex_lite::Regex::new("(x)y").unwrap()),
        };
        let step = Step {
            method: "POST".into(),
            path: Template::parse("/things/${id}?q=$${").unwrap(),
            headers: vec![("Accept".into(), Template::fixed("*/*"))],
            body: Body::Bytes(vec![0, 255, 7]),
            captures: vec![capture],
            answer,
            declined: Some(503),
            ..Step::default()
        };
        let data = vec![
            Data { name: "id".into(), values: Values::Number { from: 1, to: 9 } },
            Data {
                name: "row".into(),
                values: Values::Rows {
                    columns: vec!["a".into()],
                    rows: vec![vec!["1".into()]],
                    at_random: true,
                },
            },
        ];
        Workload {
            name: "sent".into(),
            summary: "All of it".into(),
            data,
            steps: vec![step],
            stored: None,
        }
    }

    #[test]
    fn a_received_workload_equals_the_sent_one() {
        let sent = workload().to_send();
        sent.could_be_read().unwrap();
        let arrived: Workload =
            serde_json::from_str(&serde_json::to_string(&sent).unwrap()).unwrap();
        // Regular expressions cannot be compared, but their debug output has the text.
        assert_eq!(format!("{arrived:?}"), format!("{sent:?}"));
        assert_eq!(arrived.steps[0].captures[0].regex.as_ref().unwrap().as_str(), "(x)y");
        let broken = serde_json::to_string(&sent).unwrap().replace("(x)y", "(xy");
        assert!(serde_json::from_str::<Workload>(&broken).is_err(), "a pattern that is none");
    }

    #[test]
    fn a_workload_that_no_file_can_describe_is_refused() {
        let refused = |change: fn(&mut Workload)| {
            let mut changed = workload();
            change(&mut changed);
            changed.could_be_read().unwrap_err()
        };
        assert_eq!(refused(|w| w.steps.clear()), "a workload of 0 steps");
        assert!(
            refused(|w| w.steps[0].method = "GET / HTTP/1.1\r\nX:".into()).starts_with("a method")
        );
        assert!(refused(|w| w.steps[0].path = Template::fixed("/a b")).starts_with("a path"));
        assert!(
            refused(|w| w.steps[0].headers[0].1 = Template::fixed("a\r\nb: c"))
                .starts_with("a header")
        );
        assert!(
            refused(|w| w.steps[0].headers[0].0 = "content-length".into()).starts_with("a header")
        );
        assert!(
            refused(|w| w.steps[0].headers[0].1 = Template::of_words("{env.HOME}"))
                .contains("HOME")
        );
        assert!(
            refused(|w| w.steps[0].answer.status = Statuses { from: 300, to: 200 })
                .starts_with("a status")
        );
        assert!(refused(|w| w.steps[0].answer.sample = f64::NAN).starts_with("a share"));
        assert!(refused(|w| w.data[0].values = Values::Number { from: 2, to: 1 }).contains("`id`"));
        assert!(refused(|w| w.data[0].values = Values::Text(usize::MAX)).contains("too long"));
        assert!(
            refused(|w| w.data[0].values = Values::Choice(vec![])).contains("nothing to choose")
        );
        assert!(
            refused(|w| w.data[1].values =
                Values::Rows { columns: vec![], rows: vec![], at_random: true })
            .contains("rows")
        );
    }
}
