//! A system: a program under test, or one in front of or behind it (`systems/<name>/system.toml`).
//!
//! This file has the types. `parse.rs` reads the manifest, `contender.rs` applies variants, and
//! `settings.rs` finds variants that contradict each other. Start with [`System`].

mod contender;
#[cfg(test)]
mod keys;
mod parse;
mod settings;

pub use contender::Contender;
#[cfg(test)]
pub(crate) use keys::KEYS;

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

/// The role of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Responds to requests itself.
    Service,
    /// Forwards requests to an upstream.
    Proxy,
    /// Keeps data; it is empty at the start of each trial.
    Database,
}

/// The protocol that a system uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Protocol {
    /// HTTP/1.1 without TLS.
    #[default]
    Http1,
    /// HTTP/1.1 over TLS.
    Http1Tls,
    /// HTTP/2 over TLS.
    Http2Tls,
}

impl Protocol {
    /// The protocols, as manifests write them.
    const WORDS: [(&'static str, Protocol); 3] = [
        ("http1", Protocol::Http1),
        ("http1+tls", Protocol::Http1Tls),
        ("http2+tls", Protocol::Http2Tls),
    ];
}

/// A tool that must be installed, which is checked before anything is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Need {
    /// Its name for people.
    pub tool: String,
    /// The command that shows whether it is installed.
    pub run: Vec<String>,
    /// A regular expression that its output must match; the first group is the version.
    pub pattern: Option<String>,
    /// How to install it.
    pub hint: String,
}

/// How a system is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Build {
    /// Commands, which run one after the other in the system's folder.
    pub run: Vec<Vec<String>>,
    /// Variables that are added to the environment.
    pub env: BTreeMap<String, String>,
    /// Globs of the files that the result depends on. If they are unchanged, nothing is rebuilt.
    pub inputs: Vec<String>,
    /// Files that must exist afterwards. Their digests are stored in every trial.
    pub outputs: Vec<String>,
    /// The time limit for all commands together.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub within: Duration,
}

/// How the program starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Start {
    /// The command, with placeholders. If it is empty, the command of the existing image is used.
    pub run: Vec<String>,
    /// Variables that are added to the environment, with placeholders.
    pub env: BTreeMap<String, String>,
    /// Names of the ports that the runner picks. Requests go to the first.
    pub ports: Vec<String>,
    /// Files of the folder, copied into `{work}` with placeholders replaced.
    pub render: Vec<String>,
    /// The most descriptors that the process may have open. The experiment's `place` overrides it.
    pub descriptors: Option<u64>,
    /// The protocol at its first port.
    #[serde(default)]
    pub protocol: Protocol,
    /// The port on which the program of an existing image listens in its container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_port: Option<u16>,
}

impl Start {
    /// Returns whether its command or its environment contains its first port.
    pub fn names_port(&self) -> bool {
        self.templates().any(|template| template.contains("{port."))
    }

    fn templates(&self) -> impl Iterator<Item = &String> {
        self.run.iter().chain(self.env.values())
    }

    /// Returns whether it gets an environment variable that must remain secret.
    pub fn has_secrets(&self) -> bool {
        self.templates().any(|template| !placeholder::variables(template).is_empty())
    }
}

/// A service that is already running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reached {
    /// `http://host:port`
    pub url: String,
    /// Whether it may be on another machine.
    pub remote: bool,
    /// Path and query of its requests, instead of those of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// How it is stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// `TERM`, `INT`, `QUIT` or `USR1`.
    pub signal: StopSignal,
    /// How long it may take until it is killed, which is then recorded.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub within: Duration,
}

/// A signal that requests a process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// What a variant changes. Only differences are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variant {
    /// The difference, in a sentence.
    pub summary: Option<String>,
    /// The value of `{variant.args}`.
    pub args: Vec<String>,
    /// The value of `{variant.jvm}`.
    pub jvm: Vec<String>,
    /// A start command instead of the system's, such as that of a native image. If it is empty, the
    /// system's applies.
    #[serde(default)]
    pub run: Vec<String>,
    /// Added to the environment of the start.
    pub env: BTreeMap<String, String>,
    /// The minimum JDK version, if it is higher than the system's.
    pub jdk: Option<u32>,
    /// The highest JDK version to start with. The newest still builds it.
    #[serde(default)]
    pub jdk_at_most: Option<u32>,
    /// Tools that are needed in addition to those of the system.
    pub needs: Vec<Need>,
    /// A build instead of the system's.
    pub build: Option<Build>,
    /// The most descriptors, instead of the system's.
    pub descriptors: Option<u64>,
    /// The protocol, instead of the system's.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// Workloads to which it must give correct responses, instead of those of the system. If it is
    /// empty, the system's apply.
    #[serde(default)]
    pub answers: Vec<String>,
}

/// A system, as its manifest describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// The name of its folder.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Its role.
    pub kind: Kind,
    /// The minimum version of the JDK, if it needs a JVM.
    pub jdk: Option<u32>,
    /// The highest version of the JDK to start with, if a variant sets one.
    pub jdk_at_most: Option<u32>,
    /// Workloads to which it must give correct responses.
    pub answers: Vec<String>,
    /// Facts for readers, which change nothing.
    pub facts: BTreeMap<String, String>,
    /// Tools that must be installed.
    pub needs: Vec<Need>,
    /// How it is built; `None` if there is nothing to build.
    pub build: Option<Build>,
    /// The command that makes a database's empty `{data}` folder, which is copied for each start.
    /// Empty for other systems.
    pub make: Vec<String>,
    /// How it starts.
    pub start: Start,
    /// Where it is, if it already runs and is not started. [`System::start`] is empty then.
    pub reached: Option<Reached>,
    /// The time limit for the first correct response.
    pub ready_within: Duration,
    /// What prepares or cleans it before each cell.
    pub reset: Option<Reset>,
    /// How it stops.
    pub stop: Stop,
    /// What its image has in addition to its build and its start.
    pub image: Recipe,
    /// Its variants.
    pub variants: BTreeMap<String, Variant>,
    /// The folder of its manifest, and of the files that are rendered.
    pub folder: PathBuf,
    /// The folder in which its commands run. It is the same, unless the manifest names another.
    pub runs_in: PathBuf,
    /// The commit of these files, if they are not the current ones.
    pub revision: Option<String>,
}

impl System {
    /// Checks that every environment variable that its commands and its environment name has a
    /// value.
    ///
    /// # Errors
    /// A variable without a value.
    pub fn must_have_secrets(&self) -> Result<(), Problems> {
        let build = self
            .build
            .iter()
            .flat_map(|build| build.run.iter().flatten().chain(build.env.values()));
        let reset = self.reset.iter().filter_map(|reset| {
            if let ResetStep::Command(command) = &reset.step { Some(command) } else { None }
        });
        let mut templates =
            build.chain(self.start.templates()).chain(&self.make).chain(reset.flatten());
        templates.try_for_each(|template| {
            let mut variables = placeholder::variables(template).into_iter();
            variables
                .try_for_each(|variable| secret::value(&variable).map(drop).map_err(Problems::from))
        })
    }

    /// Reads `system.toml` in a folder.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(folder: &Path) -> Result<System, Problems> {
        read_file(&folder.join("system.toml"), |table| parse::parse_system(table, folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Network, RunnerKind};

    #[test]
    fn only_a_database_says_how_its_data_folder_is_made() {
        let read = |kind: &str, more: &str| {
            let folder = tempfile::tempdir().unwrap();
            let own = folder.path().join("d");
            std::fs::create_dir(&own).unwrap();
            let text = format!(
                "name = \"d\"\nsummary = \"s\"\nkind = \"{kind}\"\n[start]\nrun = [\"d\", \"{{database.url}}\"]\nports = [\"sql\"]\n{more}"
            );
            std::fs::write(own.join("system.toml"), text).unwrap();
            System::read(&own)
                .and_then(|system| system.with_variants(&[]))
                .map_err(|problems| problems.to_string())
        };
        let database = read("database", "[data]\nmake = [\"init\", \"{data}\"]").unwrap();
        assert_eq!(
            (database.system.make.clone(), database.needs_database()),
            (vec!["init".to_owned(), "{data}".to_owned()], false)
        );
        assert!(read("service", "").unwrap().needs_database());
        assert!(
            read("database", "").unwrap_err().contains("does not say how its data folder is made")
        );
        assert!(
            read("service", "[data]\nmake = [\"init\"]")
                .unwrap_err()
                .contains("only a database has a data folder")
        );
    }

    #[test]
    fn commands_run_in_the_folder_that_the_manifest_names() {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("systems/s");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir(top.path().join("program")).unwrap();
        let read = |line: &str| {
            let text = format!(
                "name = \"s\"\nsummary = \"s\"\nkind = \"service\"\n{line}\n[start]\nrun = [\"s\"]\nports = [\"http\"]\n"
            );
            std::fs::write(own.join("system.toml"), text).unwrap();
            System::read(&own)
                .map(|system| (system.folder, system.runs_in))
                .map_err(|problems| problems.to_string())
        };
        assert_eq!(read(""), Ok((own.clone(), own.clone())));
        let program = top.path().join("program").canonicalize().unwrap();
        assert_eq!(read("folder = \"../../program\""), Ok((own.clone(), program)));
        assert!(
            read("folder = \"../program\"").unwrap_err().contains("`../program` is not a folder")
        );
    }

    #[test]
    fn a_system_of_an_image_needs_no_start_and_no_build() {
        let read = |more: &str| {
            let folder = tempfile::tempdir().unwrap();
            let own = folder.path().join("i");
            std::fs::create_dir(&own).unwrap();
            std::fs::write(
                own.join("system.toml"),
                format!("name = \"i\"\nsummary = \"s\"\nkind = \"service\"\n{more}"),
            )
            .unwrap();
            System::read(&own).map_err(|problems| problems.to_string())
        };
        let found = read("image = \"shop/orders:1.2\"").unwrap();
        assert_eq!(found.image.ready_made.as_deref(), Some("shop/orders:1.2"));
        assert_eq!((found.start.run.len(), found.start.ports), (0, vec!["http".to_owned()]));
        let place = read("image = \"i:1\"")
            .unwrap()
            .with_variants(&[])
            .unwrap()
            .place((RunnerKind::Process, Network::Host));
        assert_eq!(place, Ok((RunnerKind::Docker, Network::Bridge)));
        let other =
            read("image = \"i:1\"\n[start]\ncontainer_port = 80\nenv = { A = \"b\" }").unwrap();
        assert_eq!(other.start.container_port, Some(80));
        let build = "[build]\nrun = [[\"x\"]]\ninputs = [\"a\"]\noutputs = [\"b\"]";
        for (more, expected) in [
            ("image = \"a b\"".to_owned(), "`a b` cannot name an image"),
            (
                format!("image = \"i:1\"\n{build}"),
                "`build` has no effect on a system that starts from an image",
            ),
            (format!("image = \"i:1\"\n[variants.v]\n{}", "jdk = 21"), "`jdk` has no effect"),
            (
                "[start]\nrun = [\"x\"]\nports = [\"http\"]\ncontainer_port = 80".to_owned(),
                "is only for an image that exists already",
            ),
            (
                "image = \"i:1\"\n[start]\ncontainer_port = 80\nrun = [\"{port.http}\"]".to_owned(),
                "both set the port",
            ),
        ] {
            let problems = read(&more).unwrap_err();
            assert!(problems.contains(expected), "{expected}\n{problems}");
        }
    }

    #[test]
    fn a_running_system_is_only_reached() {
        let read = |more: &str| {
            let folder = tempfile::tempdir().unwrap();
            let own = folder.path().join("r");
            std::fs::create_dir(&own).unwrap();
            std::fs::write(
                own.join("system.toml"),
                format!("name = \"r\"\nsummary = \"s\"\nkind = \"service\"\n{more}"),
            )
            .unwrap();
            System::read(&own).map(|system| system.reached).map_err(|problems| problems.to_string())
        };
        let found = read("[reached]\nurl = \"https://h:8\"\nremote = true").unwrap();
        assert_eq!(found, Some(Reached { url: "https://h:8".into(), remote: true, path: None }));
        for (more, message) in [
            ("[reached]\nurl = \"http://h/x\"", "`http://h/x` is not the address of a service"),
            ("[reached]\nurl = \"h:80\"", "`h:80` is not the address of a service"),
            ("[reached]\nurl = \"http://h\"\n[stop]\nwithin = \"1s\"", "[stop] has no effect"),
            ("[reached]\nurl = \"http://h\"\n[reset]\nrun = [\"x\"]", "is reset by a request"),
            ("", "the table [start] is missing"),
        ] {
            let problems = read(more).unwrap_err();
            assert!(problems.contains(message), "{message}\n{problems}");
        }
    }
}
