//! Reads `system.toml`, and reports every problem in it.
//!
//! Each `parse_…` function reads one table, and each `check_…` function reports one rule. Start
//! with [`parse_system`].

use super::{Build, Kind, Need, Protocol, Reached, Start, Stop, StopSignal, System, Variant};
use crate::image::{self, Recipe};
use crate::name::{AA, NAME_HINT, did_you_mean, is_name, is_reserved};
use crate::placeholder;
use crate::reader::Table;
use crate::reset::{self, Reset, ResetStep};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads a system from its manifest.
pub(super) fn parse_system(table: &Table<'_>, folder: &Path) -> System {
    let name = parse_name(table, folder);
    let kind = parse_kind(table);
    let reached = table.table("reached", parse_reached);
    if reached.is_some() {
        check_reached(table, kind);
    }
    let ready_made = parse_ready_made(table);
    let from_image = ready_made.is_some();
    let start = table.table("start", |t| parse_start(t, from_image)).unwrap_or_else(|| {
        if reached.is_none() && !from_image {
            table.problem(
                "start",
                "the table [start] is missing",
                "say how the program starts: `[start]` with `run` and `ports`",
            );
        }
        default_start(from_image)
    });
    if from_image {
        check_from_image(table, kind);
    }
    let ports = start.ports.clone();
    let make = parse_make(table, kind, reached.is_some());
    let stop = table.table("stop", parse_stop);
    // A system that runs already responds at once or not at all.
    let usual_s = if reached.is_some() { 5 } else { 60 };
    System {
        name,
        summary: table.required_string("summary"),
        kind,
        jdk: table.integer("jdk", 8, 99).map(|n| n as u32),
        jdk_at_most: None,
        answers: table.strings("answers"),
        facts: table.map("facts"),
        needs: table.tables("needs", parse_need),
        build: table.table("build", parse_build),
        make,
        start,
        reset: table
            .table("reset", reset::parse_reset)
            .flatten()
            .inspect(|reset| check_reset(table, reset, &ports, reached.is_some())),
        ready_within: table
            .table("ready", |t| t.duration("within"))
            .flatten()
            .unwrap_or(Duration::from_secs(usual_s)),
        reached,
        stop: stop.unwrap_or(Stop { signal: StopSignal::Term, within: DEFAULT_STOP }),
        image: match ready_made {
            Some(reference) => Recipe { ready_made: Some(reference), ..Recipe::default() },
            None if table.is_text("image") => Recipe::default(),
            None => table.table("image", image::parse_recipe).unwrap_or_default(),
        },
        variants: table
            .named_tables("variants", |name, t| parse_variant(t, name, &ports, from_image)),
        folder: folder.to_owned(),
        runs_in: table
            .string("folder")
            .map_or_else(|| folder.to_owned(), |given| parse_folder(table, folder, &given)),
        revision: None,
    }
}

/// Reads the name, which must be that of the folder.
fn parse_name(table: &Table<'_>, folder: &Path) -> String {
    let name = table.required_string("name");
    let folder_name =
        folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.is_empty() && name != folder_name {
        table.problem(
            "name",
            format!("the name `{name}` is not that of its folder, `{folder_name}`"),
            format!("write `name = \"{folder_name}\"`"),
        );
    }
    name
}

fn parse_kind(table: &Table<'_>) -> Kind {
    let kind = table.required_string("kind");
    match kind.as_str() {
        "service" | "" => Kind::Service,
        "proxy" => Kind::Proxy,
        "database" => Kind::Database,
        _ => {
            table.problem(
                "kind",
                format!("unknown kind `{kind}`"),
                did_you_mean(&kind, ["service", "proxy", "database"]),
            );
            Kind::Service
        }
    }
}

/// Reports keys that a system with [reached] cannot have, because faceoff does not start it.
fn check_reached(table: &Table<'_>, kind: Kind) {
    let keys = ["start", "build", "data", "stop", "image", "variants"];
    if let Some(key) = keys.into_iter().find(|key| table.has(key)) {
        table.problem(
            key,
            format!("[{key}] has no effect on a system that already runs ([reached])"),
            "leave it out, or leave [reached] out",
        );
    }
    if kind == Kind::Database {
        table.problem(
            "reached",
            "a database is created for each trial, so it cannot have [reached]",
            "FACEOFF_DATABASE names a server of your own",
        );
    }
}

/// Reports what a system that starts from an image cannot have.
fn check_from_image(table: &Table<'_>, kind: Kind) {
    for key in ["build", "jdk", "data", "folder"].into_iter().filter(|key| table.has(key)) {
        table.problem(
            key,
            format!("`{key}` has no effect on a system that starts from an image"),
            "leave it out, or leave `image` out",
        );
    }
    if kind == Kind::Database {
        table.problem(
            "image",
            "a database starts as a process, not from an image",
            "FACEOFF_DATABASE names a server of your own",
        );
    }
}

/// Returns the start of a system without [start].
fn default_start(from_image: bool) -> Start {
    Start {
        run: Vec::new(),
        env: BTreeMap::new(),
        ports: if from_image { vec![USUAL_PORT.to_owned()] } else { Vec::new() },
        render: Vec::new(),
        descriptors: None,
        protocol: Protocol::default(),
        container_port: None,
    }
}

/// Reads the command that makes a database's empty data folder.
fn parse_make(table: &Table<'_>, kind: Kind, is_reached: bool) -> Vec<String> {
    let make = table.table("data", |t| {
        let make = t.strings("make");
        check_placeholders(t, "make", &make, &[], false);
        make
    });
    match (kind, make.as_deref()) {
        (Kind::Database, None | Some([])) if !is_reached => {
            let hint = "write [data] with `make`, the command that makes an empty `{data}` folder";
            table.problem("data", "a database does not say how its data folder is made", hint);
        }
        (Kind::Service | Kind::Proxy, Some(_)) => {
            table.problem("data", "only a database has a data folder", "leave [data] out")
        }
        _ => {}
    }
    make.unwrap_or_default()
}

fn parse_stop(table: &Table<'_>) -> Stop {
    let signal = table.string("signal").unwrap_or_else(|| "TERM".into());
    let signal = match signal.as_str() {
        "TERM" => StopSignal::Term,
        "INT" => StopSignal::Int,
        "QUIT" => StopSignal::Quit,
        "USR1" => StopSignal::Usr1,
        _ => {
            table.problem(
                "signal",
                format!("unknown signal `{signal}`"),
                "write TERM, INT, QUIT or USR1; after the deadline comes KILL",
            );
            StopSignal::Term
        }
    };
    Stop { signal, within: table.duration("within").unwrap_or(DEFAULT_STOP) }
}

fn parse_variant(table: &Table<'_>, name: &str, ports: &[String], from_image: bool) -> Variant {
    if !is_name(name) {
        table.problem("", format!("`{name}` cannot name a variant"), NAME_HINT);
    }
    if name == AA {
        table.problem(
            "",
            "the variant `aa` is the baseline compared with itself",
            "give this variant another name",
        );
    } else if is_reserved(name) {
        table.problem(
            "",
            format!("the variant `{name}` is reserved: it sets how a contender runs"),
            "give this variant another name",
        );
    }
    let run = table.strings("run");
    check_placeholders(table, "run", &run, ports, true);
    for key in ["build", "jdk", "jdk_at_most"] {
        if from_image && table.has(key) {
            table.problem(
                key,
                format!("`{key}` has no effect on a system that starts from an image"),
                "leave it out",
            );
        }
    }
    Variant {
        summary: table.string("summary"),
        args: table.strings("args"),
        jvm: table.strings("jvm"),
        run,
        env: table.map("env"),
        jdk: table.integer("jdk", 8, 99).map(|n| n as u32),
        jdk_at_most: table.integer("jdk_at_most", 8, 99).map(|n| n as u32),
        needs: table.tables("needs", parse_need),
        build: table.table("build", parse_build),
        descriptors: parse_limits(table),
        protocol: table.choice("protocol", &Protocol::WORDS),
        answers: table.strings("answers"),
    }
}

/// Returns the folder in which commands run, relative to the manifest's folder and without `..`.
fn parse_folder(table: &Table<'_>, own: &Path, given: &str) -> PathBuf {
    let found = own.join(given).canonicalize().ok().filter(|path| path.is_dir());
    found.unwrap_or_else(|| {
        table.problem(
            "folder",
            format!("`{given}` is not a folder"),
            "write it relative to system.toml, or leave it out",
        );
        own.to_owned()
    })
}

fn check_reset(table: &Table<'_>, reset: &Reset, ports: &[String], is_reached: bool) {
    if let ResetStep::Command(command) = &reset.step {
        if is_reached {
            table.problem(
                "reset",
                "a system that already runs ([reached]) is reset by a request, not by a command",
                "write `request = \"POST /reset\"`",
            );
        }
        check_placeholders(table, "reset", command, ports, true);
    }
}

const DEFAULT_STOP: Duration = Duration::from_secs(10);

fn parse_limits(table: &Table<'_>) -> Option<u64> {
    table.table("limits", |t| t.integer("descriptors", 16, 1 << 30)).flatten()
}

/// The name of the only port of an image, if its manifest names none.
const USUAL_PORT: &str = "http";

/// Reads `image = "shop/orders:1.2"`: an image that exists already.
fn parse_ready_made(table: &Table<'_>) -> Option<String> {
    if !table.is_text("image") {
        return None;
    }
    table.parsed("image", |text| image::split_reference(text).map(|_| text.to_owned()))
}

/// Reads [start]. With `from_image` the image has a command of its own.
fn parse_start(table: &Table<'_>, from_image: bool) -> Start {
    let mut start = Start {
        run: table.strings("run"),
        env: table.map("env"),
        ports: table.strings("ports"),
        render: table.strings("render"),
        descriptors: parse_limits(table),
        protocol: table.choice("protocol", &Protocol::WORDS).unwrap_or_default(),
        container_port: table.integer("container_port", 1, 65_535).map(|port| port as u16),
    };
    if from_image && start.ports.is_empty() {
        start.ports.push(USUAL_PORT.to_owned());
    }
    if start.container_port.is_some() && !from_image {
        let hint = "faceoff picks the port, and `{port.http}` tells the program; leave `container_port` out";
        table.problem(
            "container_port",
            "`start.container_port` is only for an image that exists already",
            hint,
        );
    }
    if start.container_port.is_some() && start.names_port() {
        table.problem(
            "container_port",
            "`{port.http}` and `start.container_port` both set the port",
            "keep one of the two",
        );
    }
    if start.run.is_empty() && !from_image {
        table.problem(
            "run",
            "`start.run` names no command",
            "write `run = [\"program\", \"--port={port.http}\"]`",
        );
    }
    if start.ports.is_empty() {
        table.problem("ports", "`start.ports` names no port", "write `ports = [\"http\"]`");
    }
    check_placeholders(table, "run", &start.run, &start.ports, true);
    check_placeholders(table, "env", start.env.values(), &start.ports, false);
    for file in &start.render {
        if Path::new(file).components().count() != 1 {
            table.problem(
                "render",
                format!("`{file}` is not a file of the system's folder"),
                "name a file next to system.toml",
            );
        }
    }
    start
}

fn parse_reached(table: &Table<'_>) -> Reached {
    let url = table.required_string("url");
    let authority = ["http://", "https://"]
        .into_iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .map(|rest| rest.trim_end_matches('/'));
    if table.has("url")
        && authority.is_none_or(|authority| {
            authority.is_empty() || authority.contains(['/', '?', '#', '@'])
        })
    {
        table.problem(
            "url",
            format!("`{url}` is not the address of a service"),
            "write it like http://127.0.0.1:8080; the path is in the workload",
        );
    }
    let path = table.parsed("path", |text| {
        match text.starts_with('/') && !text.contains(char::is_whitespace) {
            true => Ok(text.to_owned()),
            false => Err(format!("`{text}` is not a path: write it like /v2/orders")),
        }
    });
    Reached { url, remote: table.flag("remote").unwrap_or(false), path }
}

fn parse_need(table: &Table<'_>) -> Need {
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
            "write the command that shows that the tool is installed, such as [\"go\", \"version\"]",
        );
    }
    if let Some(Err(error)) = need.pattern.as_deref().map(regex_lite::Regex::new) {
        table.problem(
            "match",
            format!("`needs.match` is not a regular expression: {error}"),
            "the first group captures the version",
        );
    }
    need
}

fn parse_build(table: &Table<'_>) -> Build {
    let build = Build {
        run: table.lists("run"),
        env: table.map("env"),
        inputs: table.strings("inputs"),
        outputs: table.strings("outputs"),
        within: table.duration("within").unwrap_or(Duration::from_secs(600)),
    };
    if build.run.is_empty() || build.run.iter().any(Vec::is_empty) {
        table.problem(
            "run",
            "`build.run` needs one command or more",
            "write a list of commands: `run = [[\"go\", \"build\"]]`",
        );
    }
    if build.inputs.is_empty() {
        table.problem(
            "inputs",
            "`build.inputs` is missing",
            "list the files that the result depends on, so that it is only rebuilt when they change",
        );
    }
    if build.outputs.is_empty() {
        table.problem(
            "outputs",
            "`build.outputs` is missing",
            "list the files that must exist after the build",
        );
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
