//! What prepares or cleans a system between cells: `[reset]` of its manifest.
//!
//! A step is a command or a request. Start with [`Reset`].

use crate::reader::Table;
use crate::template::Template;
use crate::units::show_duration;
use crate::workload::{Answer, Body, Statuses, Step, Workload, is_method};
use std::time::Duration;

/// What is done before each cell, and how long it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Reset {
    /// The command or request.
    pub step: ResetStep,
    /// The time limit; a step that takes longer has failed.
    pub within: Duration,
}

/// A command, or a request to the system.
#[derive(Clone, Debug, PartialEq)]
pub enum ResetStep {
    /// A command in the system's folder, with the placeholders of its start. It must end with exit
    /// code 0.
    Command(Vec<String>),
    /// A request whose response must have a status from 200 to 299.
    Request {
        /// `POST`.
        method: String,
        /// `/reset`.
        path: String,
        /// The body of the request.
        body: Option<String>,
    },
}

impl Reset {
    /// Describes it: `POST /reset`, or the command.
    pub fn describe(&self) -> String {
        let what = match &self.step {
            ResetStep::Command(command) => command.join(" "),
            ResetStep::Request { method, path, .. } => format!("{method} {path}"),
        };
        format!("before each cell: {what}, within {}", show_duration(self.within))
    }
}

impl ResetStep {
    /// Returns the request as a workload; `None` for a command.
    pub fn workload(&self) -> Option<Workload> {
        let ResetStep::Request { method, path, body } = self else { return None };
        let step = Step {
            method: method.clone(),
            path: Template::fixed(path),
            body: body.as_ref().map_or(Body::None, |body| Body::Bytes(body.clone().into_bytes())),
            answer: Answer { status: Statuses { from: 200, to: 299 }, ..Answer::default() },
            ..Step::default()
        };
        Some(Workload {
            name: "reset".into(),
            summary: "reset".into(),
            steps: vec![step],
            ..Workload::default()
        })
    }
}

/// Reads `[reset]`; `None` if it has neither a command nor a request.
pub(crate) fn parse_reset(table: &Table<'_>) -> Option<Reset> {
    let command = table.strings("run");
    let request = table.parsed("request", parse_request);
    let body = table.string("body");
    let within = table.duration("within").unwrap_or(Duration::from_secs(10));
    let step = match (command.is_empty(), request) {
        (false, None) if !table.has("request") => ResetStep::Command(command),
        (true, Some((method, path))) => ResetStep::Request { method, path, body: body.clone() },
        (is_empty, _) => {
            if is_empty != table.has("request") {
                let hint = "write `run = [\"program\", ...]` or `request = \"POST /reset\"`";
                table.problem("run", "[reset] needs either a command or a request", hint);
            }
            return None;
        }
    };
    if body.is_some() && matches!(step, ResetStep::Command(_)) {
        table.problem(
            "body",
            "a command has no body",
            "leave it out, or write `request = \"POST /reset\"`",
        );
    }
    Some(Reset { step, within })
}

/// Reads `POST /reset`.
fn parse_request(text: &str) -> Result<(String, String), String> {
    match text.split_once(' ') {
        Some((method, path))
            if is_method(method)
                && path.starts_with('/')
                && !path.contains(|c: char| !c.is_ascii_graphic()) =>
        {
            Ok((method.to_owned(), path.to_owned()))
        }
        _ => Err(format!("`{text}` is not a request: write it like POST /reset")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    fn read(reset: &str) -> Result<Option<Reset>, String> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a");
        std::fs::create_dir(&folder).unwrap();
        let manifest = "name = \"a\"\nsummary = \"s\"\nkind = \"service\"\n[start]\nrun = [\"a\"]\nports = [\"http\"]\n";
        std::fs::write(folder.join("system.toml"), format!("{manifest}{reset}")).unwrap();
        System::read(&folder).map(|system| system.reset).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_reset_is_a_command_or_a_request() {
        assert_eq!(read(""), Ok(None));
        let command =
            read("[reset]\nrun = [\"sh\", \"clean\", \"{port.http}\"]\nwithin = \"3s\"\n")
                .unwrap()
                .unwrap();
        assert_eq!(command.describe(), "before each cell: sh clean {port.http}, within 3.0 s");
        assert!(command.step.workload().is_none());
        let request =
            read("[reset]\nrequest = \"POST /reset\"\nbody = \"all\"\n").unwrap().unwrap();
        assert_eq!(request.describe(), "before each cell: POST /reset, within 10 s");
        let workload = request.step.workload().unwrap();
        assert!(
            workload.steps[0].method == "POST"
                && matches!(&workload.steps[0].body, Body::Bytes(sent) if sent == b"all")
        );
    }

    #[test]
    fn problems_of_a_reset_are_reported() {
        for (reset, message) in [
            ("[reset]\n", "[reset] needs either a command or a request"),
            (
                "[reset]\nrun = [\"a\"]\nrequest = \"POST /\"\n",
                "[reset] needs either a command or a request",
            ),
            ("[reset]\nrequest = \"reset\"\n", "`reset` is not a request"),
            ("[reset]\nrun = [\"{port.htpp}\"]\n", "port.htpp"),
            ("[reset]\nrun = [\"a\"]\nbody = \"b\"\n", "a command has no body"),
            ("[reset]\nrum = [\"a\"]\n", "did you mean `run`?"),
        ] {
            let problems = read(reset).unwrap_err();
            assert!(problems.contains(message), "{reset}: {problems}");
        }
    }
}
