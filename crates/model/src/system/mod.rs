//! A system: a program under test, or before or behind one (`systems/<name>/system.toml`).

mod contender;
mod walk;

pub use contender::Contender;

use crate::image::Recipe;
use crate::placeholder;
use crate::problem::Problems;
use crate::reader::read_file;
use crate::reset::{Reset, ResetStep};
use crate::secret;
use crate::units::nanoseconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a system is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Answers requests itself.
    Service,
    /// Answers by asking an upstream.
    Proxy,
    /// Keeps data; fresh for each trial.
    Database,
}

/// How a system is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.1 in the clear.
    #[default]
    Http1,
    /// HTTP/1.1 over TLS.
    Http1Tls,
    /// HTTP/2 over TLS.
    Http2Tls,
}

impl Protocol {
    /// As manifests write them.
    const WORDS: [(&'static str, Protocol); 3] =
        [("http1", Protocol::Http1), ("http1+tls", Protocol::Http1Tls), ("http2+tls", Protocol::Http2Tls)];
}

/// A tool that must be there, tried before anything is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// What it is called, for people.
    pub tool: String,
    /// The command that shows it is there.
    pub run: Vec<String>,
    /// A regular expression that its output must match; the first group is the version.
    pub pattern: Option<String>,
    /// How to get it.
    pub hint: String,
}

/// How artefacts are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Commands, run one after the other in the system's folder.
    pub run: Vec<Vec<String>>,
    /// Added to the environment.
    pub env: BTreeMap<String, String>,
    /// Globs of the files that decide what comes out; unchanged means not rebuilt.
    pub inputs: Vec<String>,
    /// Files that must exist afterwards; their digests go into every trial.
    pub outputs: Vec<String>,
    /// Deadline for all commands together.
    #[serde(with = "nanoseconds")]
    pub within: Duration,
}

/// How the program starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The command, with placeholders.
    pub run: Vec<String>,
    /// Added to the environment, with placeholders.
    pub env: BTreeMap<String, String>,
    /// Names of the ports that the runner picks; the first is where requests go.
    pub ports: Vec<String>,
    /// Files of the folder, copied into `{work}` with placeholders replaced.
    pub render: Vec<String>,
    /// Most descriptors the process may hold; the experiment's `place` goes before it.
    pub descriptors: Option<u64>,
    /// How it is spoken to at its first port.
    #[serde(default)]
    pub protocol: Protocol,
}

impl Start {
    fn templates(&self) -> impl Iterator<Item = &String> {
        self.run.iter().chain(self.env.values())
    }

    /// Whether it is told something of the environment that nobody else may learn.
    pub fn has_secrets(&self) -> bool {
        self.templates().any(|template| !placeholder::variables(template).is_empty())
    }
}

/// A service that runs already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// `http://host:port`
    pub url: String,
    /// Whether it may be on another machine.
    pub remote: bool,
}

/// How it is ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// `TERM`, `INT`, `QUIT` or `USR1`.
    pub signal: StopSignal,
    /// How long it may take before it is killed, which is then recorded.
    #[serde(with = "nanoseconds")]
    pub within: Duration,
}

/// A signal that asks a process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// SIGTERM
    Term,
    /// SIGINT
    Int,
    /// SIGQUIT
    Quit,
    /// SIGUSR1
    Usr1,
}

/// What a variant changes. Only what differs is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// What is different, in a sentence.
    pub summary: Option<String>,
    /// Fills `{variant.args}`.
    pub args: Vec<String>,
    /// Fills `{variant.jvm}`.
    pub jvm: Vec<String>,
    /// A start command instead of the system's, such as that of a native image; empty: the system's.
    #[serde(default)]
    pub run: Vec<String>,
    /// Added to the environment of the start.
    pub env: BTreeMap<String, String>,
    /// Least JDK version, where it is higher than the system's.
    pub jdk: Option<u32>,
    /// Highest JDK version to start with; it is built with the newest all the same.
    #[serde(default)]
    pub jdk_at_most: Option<u32>,
    /// Needs beyond the system's.
    pub needs: Vec<Need>,
    /// A build instead of the system's.
    pub build: Option<Build>,
    /// Most descriptors, instead of the system's.
    pub descriptors: Option<u64>,
    /// How it is spoken to, instead of the system's.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// Workloads whose right answers it must give, instead of the system's; none: those.
    #[serde(default)]
    pub answers: Vec<String>,
}

/// A system as its manifest describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// The folder's name.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// What it is to the others.
    pub kind: Kind,
    /// Least version of the JDK, where a JVM is needed.
    pub jdk: Option<u32>,
    /// Highest version of the JDK to start with, where a variant says so.
    pub jdk_at_most: Option<u32>,
    /// Workloads whose right answers it must give.
    pub answers: Vec<String>,
    /// Described, never acted on.
    pub facts: BTreeMap<String, String>,
    /// Tools that must be there.
    pub needs: Vec<Need>,
    /// How it is built; `None` when it comes as it is.
    pub build: Option<Build>,
    /// How an empty `{data}` folder is made, of a database: once, then it is copied for each start. Empty for others.
    pub make: Vec<String>,
    /// How it starts.
    pub start: Start,
    /// Where it is, when it runs already and is not started: [`System::start`] is empty then.
    pub reached: Option<Reached>,
    /// Deadline for the first right answer.
    pub ready_within: Duration,
    /// What prepares or cleans it before each cell.
    pub reset: Option<Reset>,
    /// How it stops.
    pub stop: Stop,
    /// What an image of it has besides what follows from its build and its start.
    pub image: Recipe,
    /// What may be different.
    pub variants: BTreeMap<String, Variant>,
    /// Where its manifest lies, and the files that are rendered.
    pub folder: PathBuf,
    /// Where its commands run, and what they read and make lies: the same folder, unless the manifest names another.
    pub runs_in: PathBuf,
    /// The commit whose files these are, where they are not those of now.
    pub revision: Option<String>,
}

impl System {
    /// That every environment variable has a value that its commands and its environment name.
    ///
    /// # Errors
    /// One that has none.
    pub fn must_have_secrets(&self) -> Result<(), Problems> {
        let build = self.build.iter().flat_map(|build| build.run.iter().flatten().chain(build.env.values()));
        let reset = self.reset.iter().filter_map(|reset| if let ResetStep::Command(command) = &reset.step { Some(command) } else { None });
        let mut templates = build.chain(self.start.templates()).chain(&self.make).chain(reset.flatten());
        templates.try_for_each(|template| {
            let mut variables = placeholder::variables(template).into_iter();
            variables.try_for_each(|variable| secret::value(&variable).map(drop).map_err(Problems::from))
        })
    }

    /// Reads `system.toml` in a folder.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(folder: &Path) -> Result<System, Problems> {
        read_file(&folder.join("system.toml"), |table| walk::walk(table, folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_says_how_its_data_folder_is_made_and_nobody_else_does() {
        let read = |kind: &str, more: &str| {
            let folder = tempfile::tempdir().unwrap();
            let own = folder.path().join("d");
            std::fs::create_dir(&own).unwrap();
            let text = format!(
                "name = \"d\"\nsummary = \"s\"\nkind = \"{kind}\"\n[start]\nrun = [\"d\", \"{{database.url}}\"]\nports = [\"sql\"]\n{more}"
            );
            std::fs::write(own.join("system.toml"), text).unwrap();
            System::read(&own).and_then(|system| system.with_variants(&[])).map_err(|problems| problems.to_string())
        };
        let database = read("database", "[data]\nmake = [\"init\", \"{data}\"]").unwrap();
        assert_eq!((database.system.make.clone(), database.needs_database()), (vec!["init".to_owned(), "{data}".to_owned()], false));
        assert!(read("service", "").unwrap().needs_database());
        assert!(read("database", "").unwrap_err().contains("does not say how its data folder is made"));
        assert!(read("service", "[data]\nmake = [\"init\"]").unwrap_err().contains("only a database has a data folder"));
    }

    #[test]
    fn commands_run_beside_the_manifest_or_in_the_folder_that_it_names() {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("systems/s");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir(top.path().join("program")).unwrap();
        let read = |line: &str| {
            let text = format!("name = \"s\"\nsummary = \"s\"\nkind = \"service\"\n{line}\n[start]\nrun = [\"s\"]\nports = [\"http\"]\n");
            std::fs::write(own.join("system.toml"), text).unwrap();
            System::read(&own).map(|system| (system.folder, system.runs_in)).map_err(|problems| problems.to_string())
        };
        assert_eq!(read(""), Ok((own.clone(), own.clone())));
        let program = top.path().join("program").canonicalize().unwrap();
        assert_eq!(read("folder = \"../../program\""), Ok((own.clone(), program)));
        assert!(read("folder = \"../program\"").unwrap_err().contains("`../program` is no folder"));
    }

    #[test]
    fn a_system_that_runs_already_is_only_reached() {
        let read = |more: &str| {
            let folder = tempfile::tempdir().unwrap();
            let own = folder.path().join("r");
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("system.toml"), format!("name = \"r\"\nsummary = \"s\"\nkind = \"service\"\n{more}")).unwrap();
            System::read(&own).map(|system| system.reached).map_err(|problems| problems.to_string())
        };
        let found = read("[reached]\nurl = \"https://h:8\"\nremote = true").unwrap();
        assert_eq!(found, Some(Reached { url: "https://h:8".into(), remote: true }));
        for (more, said) in [
            ("[reached]\nurl = \"http://h/x\"", "`http://h/x` is no place of a service"),
            ("[reached]\nurl = \"h:80\"", "`h:80` is no place of a service"),
            ("[reached]\nurl = \"http://h\"\n[stop]\nwithin = \"1s\"", "[stop] is of no use"),
            ("[reached]\nurl = \"http://h\"\n[reset]\nrun = [\"x\"]", "is reset by a request"),
            ("", "the table [start] is missing"),
        ] {
            let problems = read(more).unwrap_err();
            assert!(problems.contains(said), "{said}\n{problems}");
        }
    }
}
