//! A system: a program under test, or before or behind one (`systems/<name>/system.toml`).

use crate::image::{self, Recipe};
use crate::name::{AA, ContenderName, did_you_mean, is_name, is_reserved};
use crate::placeholder;
use crate::problem::Problems;
use crate::reader::{Table, read_file};
use crate::reset::{self, Reset, ResetStep};
use crate::secret;
use crate::settings;
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

/// A system with its variants applied: all that a runner needs to start it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// System and variants.
    pub name: ContenderName,
    /// The system's summary, and the variants'.
    pub summary: String,
    /// The system, with needs, build, jdk, environment and limits of the variants.
    pub system: System,
    /// What `{variant.args}` stands for.
    pub args: Vec<String>,
    /// What `{variant.jvm}` stands for.
    pub jvm: Vec<String>,
}

impl Contender {
    /// Whether it can only be started where there is a database.
    pub fn needs_database(&self) -> bool {
        let start = &self.system.start;
        self.system.kind != Kind::Database
            && start.run.iter().chain(start.env.values()).chain(&self.args).any(|t| placeholder::names_database(t))
    }
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
        read_file(&folder.join("system.toml"), |table| walk(table, folder))
    }

    /// The system with the named variants, applied in order: arguments follow each other, and of least JDK versions the highest holds.
    ///
    /// # Errors
    /// A variant that the manifest does not have, with the nearest; one named twice; two that set the same thing differently; arguments that
    /// the start command has no place for.
    pub fn with_variants(&self, variants: &[String]) -> Result<Contender, Problems> {
        let mut contender = Contender {
            name: ContenderName { system: self.name.clone(), variants: variants.to_vec() },
            summary: self.summary.clone(),
            system: self.clone(),
            args: Vec::new(),
            jvm: Vec::new(),
        };
        let mut wrong = Vec::new();
        let mut known: BTreeMap<String, (&str, Vec<String>)> = BTreeMap::new();
        for (at, name) in variants.iter().enumerate() {
            let Some(variant) = self.variants.get(name) else {
                wrong.push((
                    format!("system `{}` has no variant `{name}`", self.name),
                    did_you_mean(name, self.variants.keys().map(String::as_str)),
                ));
                continue;
            };
            if variants[..at].contains(name) {
                wrong.push((format!("`{}` names the variant `{name}` twice", contender.name), "name it once".into()));
                continue;
            }
            for (what, values) in settings::of(variant) {
                match known.get(&what) {
                    Some((other, before)) if *before != values => wrong.push((
                        contradiction(&self.name, (*other, before), (name, &values), &what),
                        "keep one of the two, or write a variant that is what both shall be together".into(),
                    )),
                    _ => drop(known.insert(what, (name, values))),
                }
            }
            let system = &mut contender.system;
            if let Some(summary) = &variant.summary {
                contender.summary = format!("{}; {summary}", contender.summary);
            }
            contender.args.extend(variant.args.iter().cloned());
            contender.jvm.extend(variant.jvm.iter().cloned());
            if !variant.run.is_empty() {
                system.start.run.clone_from(&variant.run);
            }
            system.start.env.extend(variant.env.clone());
            system.jdk = system.jdk.max(variant.jdk);
            system.jdk_at_most = variant.jdk_at_most.or(system.jdk_at_most);
            system.needs.extend(variant.needs.iter().cloned());
            if let Some(build) = &variant.build {
                system.build = Some(build.clone());
            }
            system.start.descriptors = variant.descriptors.or(system.start.descriptors);
            system.start.protocol = variant.protocol.unwrap_or(system.start.protocol);
            if !variant.answers.is_empty() {
                system.answers.clone_from(&variant.answers);
            }
        }
        if wrong.is_empty() {
            wrong = contender.dropped();
        }
        if wrong.is_empty() { Ok(contender) } else { Err(Problems::several(wrong)) }
    }
}

impl Contender {
    /// What its variants set and its start command, which may be one variant's own, has no place for.
    fn dropped(&self) -> Vec<(String, String)> {
        [("variant.args", &self.args), ("variant.jvm", &self.jvm)]
            .into_iter()
            .filter(|(list, values)| !values.is_empty() && !self.system.start.run.contains(&format!("{{{list}}}")))
            .map(|(list, values)| {
                (
                    format!("the start command of `{}` drops `{}`, as it has no `{{{list}}}`", self.name, values.join(" ")),
                    format!("add \"{{{list}}}\" to its `run` in system.toml"),
                )
            })
            .collect()
    }
}

/// `the variants `a` and `b` of `x` both set `env.GOGC`: to `100` and to `off``
fn contradiction(system: &str, first: (&str, &[String]), second: (&str, &[String]), what: &str) -> String {
    let both = format!("the variants `{}` and `{}` of `{system}` both set", first.0, second.0);
    match what {
        "build" => format!("{both} how it is built"),
        _ => format!("{both} {what}: to `{}` and to `{}`", first.1.join(" "), second.1.join(" ")),
    }
}

fn walk(table: &Table<'_>, folder: &Path) -> System {
    let name = table.required_string("name");
    let folder_name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.is_empty() && name != folder_name {
        table.problem(
            "name",
            format!("the name `{name}` is not that of its folder, `{folder_name}`"),
            format!("write `name = \"{folder_name}\"`"),
        );
    }
    let kind = table.required_string("kind");
    let kind = match kind.as_str() {
        "service" | "" => Kind::Service,
        "proxy" => Kind::Proxy,
        "database" => Kind::Database,
        _ => {
            table.problem("kind", format!("unknown kind `{kind}`"), did_you_mean(&kind, ["service", "proxy", "database"]));
            Kind::Service
        }
    };
    let reached = table.table("reached", walk_reached);
    if let Some(key) =
        reached.as_ref().and_then(|_| ["start", "build", "data", "stop", "image", "variants"].into_iter().find(|key| table.has(key)))
    {
        table.problem(key, format!("[{key}] is of no use to a system that is only reached"), "leave it out, or leave [reached] out");
    }
    if reached.is_some() && kind == Kind::Database {
        table.problem(
            "reached",
            "a database is fresh for each trial, so it cannot only be reached",
            "FACEOFF_DATABASE names a server of your own",
        );
    }
    let start = table.table("start", walk_start).unwrap_or_else(|| {
        if reached.is_none() {
            table.problem("start", "the table [start] is missing", "say how the program starts: `[start]` with `run` and `ports`");
        }
        Start {
            run: Vec::new(),
            env: BTreeMap::new(),
            ports: Vec::new(),
            render: Vec::new(),
            descriptors: None,
            protocol: Protocol::default(),
        }
    });
    let ports = start.ports.clone();
    let make = table.table("data", |t| {
        let make = t.strings("make");
        check_placeholders(t, "make", &make, &[], false);
        make
    });
    match (kind, make.as_deref()) {
        (Kind::Database, None | Some([])) if reached.is_none() => {
            let hint = "write [data] with `make`, the command that makes an empty `{data}` folder";
            table.problem("data", "a database does not say how its data folder is made", hint);
        }
        (Kind::Service | Kind::Proxy, Some(_)) => table.problem("data", "only a database has a data folder", "leave [data] out"),
        _ => {}
    }
    let stop = table.table("stop", |t| {
        let signal = t.string("signal").unwrap_or_else(|| "TERM".into());
        let signal = match signal.as_str() {
            "TERM" => StopSignal::Term,
            "INT" => StopSignal::Int,
            "QUIT" => StopSignal::Quit,
            "USR1" => StopSignal::Usr1,
            _ => {
                t.problem("signal", format!("unknown signal `{signal}`"), "write TERM, INT, QUIT or USR1; after the deadline comes KILL");
                StopSignal::Term
            }
        };
        Stop { signal, within: t.duration("within").unwrap_or(DEFAULT_STOP) }
    });
    // Whoever runs already answers at once or not at all.
    let usual_s = if reached.is_some() { 5 } else { 60 };
    System {
        name,
        summary: table.required_string("summary"),
        kind,
        jdk: table.integer("jdk", 8, 99).map(|n| n as u32),
        jdk_at_most: None,
        answers: table.strings("answers"),
        facts: table.map("facts"),
        needs: table.tables("needs", walk_need),
        build: table.table("build", walk_build),
        make: make.unwrap_or_default(),
        start,
        reset: table.table("reset", reset::walk).flatten().inspect(|reset| check_reset(table, reset, &ports, reached.is_some())),
        ready_within: table.table("ready", |t| t.duration("within")).flatten().unwrap_or(Duration::from_secs(usual_s)),
        reached,
        stop: stop.unwrap_or(Stop { signal: StopSignal::Term, within: DEFAULT_STOP }),
        image: table.table("image", image::walk).unwrap_or_default(),
        variants: table.named_tables("variants", |name, t| {
            if !is_name(name) {
                t.problem("", format!("`{name}` cannot name a variant"), "use letters, digits, `-`, `_` and `.`");
            }
            if name == AA {
                t.problem("", "the variant `aa` is the baseline compared with itself", "give this variant another name");
            } else if is_reserved(name) {
                t.problem("", format!("the variant `{name}` says what a contender runs as"), "give this variant another name");
            }
            let run = t.strings("run");
            check_placeholders(t, "run", &run, &ports, true);
            Variant {
                summary: t.string("summary"),
                args: t.strings("args"),
                jvm: t.strings("jvm"),
                run,
                env: t.map("env"),
                jdk: t.integer("jdk", 8, 99).map(|n| n as u32),
                jdk_at_most: t.integer("jdk_at_most", 8, 99).map(|n| n as u32),
                needs: t.tables("needs", walk_need),
                build: t.table("build", walk_build),
                descriptors: walk_limits(t),
                protocol: t.choice("protocol", &Protocol::WORDS),
                answers: t.strings("answers"),
            }
        }),
        folder: folder.to_owned(),
        runs_in: table.string("folder").map_or_else(|| folder.to_owned(), |given| walk_folder(table, folder, &given)),
        revision: None,
    }
}

/// Where commands run, without `..`: counted from the manifest's folder.
fn walk_folder(table: &Table<'_>, own: &Path, given: &str) -> PathBuf {
    let found = own.join(given).canonicalize().ok().filter(|path| path.is_dir());
    found.unwrap_or_else(|| {
        table.problem("folder", format!("`{given}` is no folder"), "write it as seen from system.toml, or leave it out");
        own.to_owned()
    })
}

fn check_reset(table: &Table<'_>, reset: &Reset, ports: &[String], is_reached: bool) {
    if let ResetStep::Command(command) = &reset.step {
        if is_reached {
            table.problem("reset", "a system that is only reached is reset by a request", "write `request = \"POST /reset\"`");
        }
        check_placeholders(table, "reset", command, ports, true);
    }
}

const DEFAULT_STOP: Duration = Duration::from_secs(10);

fn walk_limits(table: &Table<'_>) -> Option<u64> {
    table.table("limits", |t| t.integer("descriptors", 16, 1 << 30)).flatten()
}

fn walk_start(table: &Table<'_>) -> Start {
    let start = Start {
        run: table.strings("run"),
        env: table.map("env"),
        ports: table.strings("ports"),
        render: table.strings("render"),
        descriptors: walk_limits(table),
        protocol: table.choice("protocol", &Protocol::WORDS).unwrap_or_default(),
    };
    if start.run.is_empty() {
        table.problem("run", "`start.run` names no command", "write `run = [\"program\", \"--port={port.http}\"]`");
    }
    if start.ports.is_empty() {
        table.problem("ports", "`start.ports` names no port", "write `ports = [\"http\"]`");
    }
    check_placeholders(table, "run", &start.run, &start.ports, true);
    check_placeholders(table, "env", start.env.values(), &start.ports, false);
    for file in &start.render {
        if Path::new(file).components().count() != 1 {
            table.problem("render", format!("`{file}` is not a file of the system's folder"), "name a file that stands beside system.toml");
        }
    }
    start
}

fn walk_reached(table: &Table<'_>) -> Reached {
    let url = table.required_string("url");
    let authority = ["http://", "https://"].into_iter().find_map(|scheme| url.strip_prefix(scheme)).map(|rest| rest.trim_end_matches('/'));
    if table.has("url") && authority.is_none_or(|authority| authority.is_empty() || authority.contains(['/', '?', '#', '@'])) {
        table.problem(
            "url",
            format!("`{url}` is no place of a service"),
            "write it like http://127.0.0.1:8080; the path stands in the workload",
        );
    }
    Reached { url, remote: table.flag("remote").unwrap_or(false) }
}

fn walk_need(table: &Table<'_>) -> Need {
    let need = Need {
        tool: table.required_string("tool"),
        run: table.strings("run"),
        pattern: table.string("match"),
        hint: table.required_string("hint"),
    };
    if need.run.is_empty() {
        table.problem(
            "run",
            "`needs.run` names no command",
            "write the command that shows that the tool is there, such as [\"go\", \"version\"]",
        );
    }
    if let Some(Err(error)) = need.pattern.as_deref().map(regex_lite::Regex::new) {
        table.problem("match", format!("`needs.match` is no regular expression: {error}"), "the first group captures the version");
    }
    need
}

fn walk_build(table: &Table<'_>) -> Build {
    let build = Build {
        run: table.lists("run"),
        env: table.map("env"),
        inputs: table.strings("inputs"),
        outputs: table.strings("outputs"),
        within: table.duration("within").unwrap_or(Duration::from_secs(600)),
    };
    if build.run.is_empty() || build.run.iter().any(Vec::is_empty) {
        table.problem("run", "`build.run` needs one command or more", "write a list of commands: `run = [[\"go\", \"build\"]]`");
    }
    if build.inputs.is_empty() {
        table.problem(
            "inputs",
            "`build.inputs` is missing",
            "list the files that decide what comes out, so that what has not changed is not rebuilt",
        );
    }
    if build.outputs.is_empty() {
        table.problem("outputs", "`build.outputs` is missing", "list the files that must exist after the build");
    }
    check_placeholders(table, "run", build.run.iter().flatten(), &[], false);
    check_placeholders(table, "env", build.env.values(), &[], false);
    build
}

fn check_placeholders<'t>(
    table: &Table<'_>,
    key: &str,
    templates: impl IntoIterator<Item = &'t String>,
    ports: &[String],
    may_be_list: bool,
) {
    for template in templates {
        for (message, hint) in placeholder::check(template, ports, may_be_list) {
            table.problem(key, message, hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
name = "strings"
summary = "s"
kind = "service"
jdk = 17
[start]
run = ["{java}", "{variant.jvm}", "{variant.args}"]
ports = ["http"]
[variants.quiet]
summary = "no log"
args = ["--log", "off"]
env = { LOG = "0" }
[variants.logged]
args = ["--log", "on"]
env = { LOG = "1" }
[variants.aot]
jdk = 25
jvm = ["-XX:AOTCache=app.aot"]
[variants.young]
jdk = 21
jvm = ["-Xmn8m"]
env = { LOG = "0" }
[variants.native]
run = ["target/app", "{variant.args}"]
"#;

    fn with(variants: &[&str]) -> Result<Contender, String> {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("strings");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("system.toml"), MANIFEST).unwrap();
        let variants: Vec<String> = variants.iter().map(|v| (*v).to_owned()).collect();
        System::read(&own).unwrap().with_variants(&variants).map_err(|problems| problems.to_string())
    }

    #[test]
    fn variants_combine_in_order() {
        let both = with(&["aot", "quiet", "young"]).unwrap();
        assert_eq!(both.name.to_string(), "strings:aot+quiet+young");
        assert_eq!(both.jvm, ["-XX:AOTCache=app.aot", "-Xmn8m"]);
        assert_eq!((both.args, both.system.jdk), (vec!["--log".to_owned(), "off".to_owned()], Some(25)));
        assert_eq!(both.system.start.env, BTreeMap::from([("LOG".to_owned(), "0".to_owned())]));
        assert_eq!(both.summary, "s; no log");
    }

    #[test]
    fn what_a_command_has_no_place_for_is_said() {
        assert_eq!(with(&["native", "quiet"]).unwrap().args, ["--log", "off"]);
        for variants in [["native", "aot"], ["aot", "native"]] {
            let said = with(&variants).unwrap_err();
            let name = variants.join("+");
            assert!(said.contains(&format!("the start command of `strings:{name}` drops `-XX:AOTCache=app.aot`")), "{said}");
            assert!(said.contains("hint: add \"{variant.jvm}\" to its `run`"), "{said}");
        }
    }

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

    #[test]
    fn every_contradiction_of_variants_is_said() {
        let said = with(&["quiet", "logged", "quiet", "qiet"]).unwrap_err();
        for part in [
            "the variants `quiet` and `logged` of `strings` both set --log: to `off` and to `on`",
            "both set env.LOG: to `0` and to `1`",
            "`strings:quiet+logged+quiet+qiet` names the variant `quiet` twice",
            "has no variant `qiet`",
            "did you mean `quiet`?",
            "hint: keep one of the two",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }
}
