//! The keys of a system's manifest, for `docs/reference/system.md`.
//!
//! Each table has the keys that one `parse_…` function of `parse.rs` reads. The tests of
//! `crate::reference` check names, ranges and defaults against these functions. Start with [`KEYS`].

use super::parse::parse_system;
use crate::keys::{Key, KeyTable, Page, either, optional, required, usual};
use crate::problem::Problem;
use crate::reader::read_text;
use std::path::Path;

pub(crate) const KEYS: Page = Page {
    name: "system",
    head: "# The keys of a system\n\nAll keys of `systems/NAME/system.toml`.\n\
           [CONTRIBUTING](../../CONTRIBUTING.md#add-a-contender) shows how to write one and lists \
           the\nplaceholders of commands. The [glossary](../glossary.md) explains the terms.",
    tables: TABLES,
    read,
};

fn read(text: &str) -> Result<String, Vec<Problem>> {
    match read_text(Path::new("system.toml"), text, |t| parse_system(t, Path::new("/none/s"))) {
        Ok(system) => Ok(format!("{system:?}")),
        Err(problems) => Err(problems.list().to_vec()),
    }
}

/// A valid system, and one more table with the keys.
macro_rules! with_table {
    ($table:literal) => {
        concat!(
            "name = \"s\"\nsummary = \"s\"\nkind = \"service\"\n",
            "start = { run = [\"s\"], ports = [\"http\"] }\n",
            $table
        )
    };
}

const TABLES: &[KeyTable] = &[
    KeyTable { title: "The file", path: "", file: "@", keys: FILE },
    KeyTable {
        title: "`[start]`",
        path: "start",
        file: "name = \"s\"\nsummary = \"s\"\nkind = \"service\"\nstart = { @ }",
        keys: START,
    },
    KeyTable {
        title: "`[start.limits]`, `[variants.NAME.limits]`",
        path: "start.limits",
        file: concat!(
            "name = \"s\"\nsummary = \"s\"\nkind = \"service\"\n",
            "start = { run = [\"s\"], ports = [\"http\"], limits = { @ } }"
        ),
        keys: &[optional(
            "descriptors",
            "those of faceoff",
            "the most descriptors; `[place]` of an experiment overrides it",
        )],
    },
    KeyTable {
        title: "`[ready]`",
        path: "ready",
        file: with_table!("ready = { @ }"),
        keys: &[usual(
            "within",
            "\"60s\"",
            "the time limit for the first correct response; `\"5s\"` with `[reached]`",
        )],
    },
    KeyTable {
        title: "`[stop]`",
        path: "stop",
        file: with_table!("stop = { @ }"),
        keys: &[
            usual("signal", "\"TERM\"", "`TERM`, `INT`, `QUIT` or `USR1`"),
            usual("within", "\"10s\"", "the time limit, after which `KILL` ends it"),
        ],
    },
    KeyTable { title: "`[build]`", path: "build", file: with_table!("build = { @ }"), keys: BUILD },
    KeyTable {
        title: "`[[needs]]`",
        path: "needs",
        file: with_table!("needs = [{ @ }]"),
        keys: NEEDS,
    },
    KeyTable { title: "`[reset]`", path: "reset", file: with_table!("reset = { @ }"), keys: RESET },
    KeyTable {
        title: "`[variants.NAME]`",
        path: "variants.v",
        file: with_table!("variants = { v = { @ } }"),
        keys: VARIANT,
    },
    KeyTable {
        title: "`[reached]`",
        path: "reached",
        file: "name = \"s\"\nsummary = \"s\"\nkind = \"service\"\nreached = { @ }",
        keys: &[
            required(
                "url",
                "\"http://h:8\"",
                "the address of a service that already runs, without a path",
            ),
            usual("remote", "false", "whether it may be on another machine"),
            optional("path", "that of the workload", "path and query of its requests"),
        ],
    },
    KeyTable {
        title: "`[image]`",
        path: "image",
        file: with_table!("image = { @ }"),
        keys: &[
            optional(
                "dockerfile",
                "the image is derived",
                "a file from which an engine builds the image",
            ),
            optional("files", "none", "globs of further files in the image"),
            optional("modules", "those of a usual server", "modules of the Java runtime"),
        ],
    },
    KeyTable {
        title: "`[data]` of a database",
        path: "data",
        file: concat!(
            "name = \"s\"\nsummary = \"s\"\nkind = \"database\"\n",
            "start = { run = [\"s\"], ports = [\"sql\"] }\ndata = { @ }"
        ),
        keys: &[required(
            "make",
            "[\"init\", \"{data}\"]",
            "the command that makes an empty `{data}` folder",
        )],
    },
];

const FILE: &[Key] = &[
    required("name", "\"s\"", "the name of its folder"),
    required("summary", "\"s\"", "one line for lists"),
    required("kind", "\"service\"", "its role"),
    either(
        "start",
        "{ run = [\"s\"], ports = [\"http\"] }",
        "required, unless it is `reached` or starts from an `image`",
        "how it starts",
    ),
    optional("build", "nothing to build", "how it is built"),
    optional("needs", "none", "tools that must be installed"),
    optional("ready", "60 s", "how long it may take to be ready"),
    optional("stop", "`TERM`, 10 s", "how it stops"),
    optional(
        "reset",
        "none",
        "what prepares or cleans it before each cell, and before each probe of a capacity",
    ),
    optional("answers", "none", "workloads to which `faceoff check` must get correct responses"),
    optional("variants", "none", "what each variant changes"),
    optional("jdk", "no JVM", "the oldest version of the JDK that fits"),
    optional(
        "folder",
        "that of `system.toml`",
        "the folder in which its commands run, relative to `system.toml`",
    ),
    optional("facts", "none", "facts for readers, which change nothing"),
    optional(
        "image",
        "derived",
        "a text names an image that exists already; a table has what a derived one needs in addition",
    ),
    optional("reached", "faceoff starts it", "where it is, if it already runs"),
    optional("data", "none", "how a database makes its data folder"),
];

const START: &[Key] = &[
    required("run", "[\"s\"]", "the command, with placeholders; an image may have its own"),
    required("ports", "[\"http\"]", "names of ports that faceoff picks; requests go to the first"),
    optional("env", "none", "variables that are added to the environment"),
    optional(
        "render",
        "none",
        "files next to `system.toml` that are copied into `{work}`, with placeholders replaced",
    ),
    usual("protocol", "\"http1\"", "the protocol at its first port"),
    optional(
        "container_port",
        "`{port.NAME}`",
        "the port on which the program of an existing image listens",
    ),
    optional("limits", "none", "limits of its process"),
];

const BUILD: &[Key] = &[
    required("run", "[[\"make\"]]", "commands, which run one after the other"),
    required(
        "inputs",
        "[\"*.c\"]",
        "globs of the files that the result depends on; if they are unchanged, nothing is rebuilt",
    ),
    required("outputs", "[\"s\"]", "files that must exist afterwards"),
    optional("env", "none", "variables that are added to the environment"),
    usual("within", "\"10m\"", "the time limit for all commands together"),
];

const NEEDS: &[Key] = &[
    required("tool", "\"make\"", "its name for people"),
    required("run", "[\"make\", \"-v\"]", "the command that shows whether it is installed"),
    optional(
        "match",
        "any output",
        "a regular expression that its output must match; the first group is the version",
    ),
    required("hint", "\"h\"", "how to install it"),
];

const RESET: &[Key] = &[
    either(
        "run",
        "[\"s\"]",
        "a request",
        "a command, which must exit with 0; give either `run` or `request`",
    ),
    optional(
        "request",
        "a command",
        "a request such as `POST /reset`, whose response must have a status from 200 to 299",
    ),
    optional("body", "none", "the body of the request"),
    usual("within", "\"10s\"", "the time limit"),
];

const VARIANT: &[Key] = &[
    optional("summary", "none", "the difference, in a sentence"),
    optional("args", "none", "the value of `{variant.args}`"),
    optional("jvm", "none", "the value of `{variant.jvm}`"),
    optional("run", "that of the system", "another start command"),
    optional("env", "none", "variables that are added to the environment"),
    optional("jdk", "that of the system", "the oldest version of the JDK that fits"),
    optional("jdk_at_most", "any", "the newest version of the JDK that fits"),
    optional("needs", "none", "further tools that must be installed"),
    optional("build", "that of the system", "another build"),
    optional("limits", "those of the system", "other limits"),
    optional("protocol", "that of the system", "another protocol"),
    optional("answers", "those of the system", "other workloads that it must answer"),
];
