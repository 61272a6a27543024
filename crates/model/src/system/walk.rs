//! Reads `system.toml`, and says every problem of it.

use super::{Build, Kind, Need, Protocol, Reached, Start, Stop, StopSignal, System, Variant};
use crate::image;
use crate::name::{AA, did_you_mean, is_name, is_reserved};
use crate::placeholder;
use crate::reader::Table;
use crate::reset::{self, Reset, ResetStep};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A system as its manifest describes it.
pub(super) fn walk(table: &Table<'_>, folder: &Path) -> System {
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
