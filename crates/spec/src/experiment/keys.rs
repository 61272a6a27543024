//! The keys of an experiment's file, for `docs/reference/experiment.md`.
//!
//! Each table has the keys that one `parse_…` function of this folder reads. The tests of
//! `crate::reference` check names, ranges and defaults against these functions. Start with [`KEYS`].

use super::parse_experiment;
use crate::keys::{Key, KeyTable, Page, either, optional, required, usual};
use crate::problem::Problem;
use crate::reader::read_text;
use std::path::Path;

pub(crate) const KEYS: Page = Page {
    name: "experiment",
    head: "# The keys of an experiment\n\nAll keys of `experiments/NAME.toml`.\n\
           [CONTRIBUTING](../../CONTRIBUTING.md#add-a-claim-or-an-experiment) shows how to\nwrite \
           one, and the [glossary](../glossary.md) explains the terms.",
    tables: TABLES,
    read,
};

fn read(text: &str) -> Result<String, Vec<Problem>> {
    let path = Path::new("x.toml");
    match read_text(path, text, |table| parse_experiment(table, path)) {
        Ok(experiment) => Ok(format!("{experiment:?}")),
        Err(problems) => Err(problems.list().to_vec()),
    }
}

/// An experiment without cells and other tables.
macro_rules! head {
    () => {
        "name = \"x\"\nquestion = \"q\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n"
    };
}

/// A valid experiment, and one more table with the keys.
macro_rules! with_table {
    ($table:literal) => {
        concat!(
            head!(),
            "cell = [{ name = \"c\", workload = \"w\", ",
            "load = { kind = \"closed\", connections = 1 } }]\n",
            $table
        )
    };
}

/// An experiment with one cell, whose load has the keys.
macro_rules! with_load {
    ($load:literal) => {
        concat!(head!(), "cell = [{ name = \"c\", workload = \"w\", load = { ", $load, " } }]")
    };
}

const DRIVER: Key = optional("driver", "faceoff itself", "the other generator that makes the load");
const POOLED: Key =
    optional("pooled", "each user has one", "the number of connections that all users share");

const TABLES: &[KeyTable] = &[
    KeyTable { title: "The file", path: "", file: "@", keys: FILE },
    KeyTable {
        title: "A table in `contenders`",
        path: "contenders",
        file: concat!(
            "name = \"x\"\nquestion = \"q\"\nbaseline = \"a\"\ncell = [{ name = \"c\", workload = ",
            "\"w\", load = { kind = \"closed\", connections = 1 } }]\ncontenders = [{ @ }]\n"
        ),
        keys: &[
            required("system", "\"s\"", "the system of which every combination takes part"),
            required(
                "variants",
                "[[\"x\"], [\"\"]]",
                "lists of variants: one of each is combined, and \"\" is none",
            ),
        ],
    },
    KeyTable {
        title: "`[[cell]]`",
        path: "cell",
        file: concat!(head!(), "cell = [{ @ }]"),
        keys: CELL,
    },
    KeyTable {
        title: "`load` with `kind = \"arrivals\"`",
        path: "cell.load",
        file: with_load!("@"),
        keys: ARRIVALS,
    },
    KeyTable {
        title: "A table in `stages`",
        path: "cell.load.stages",
        file: with_load!("kind = \"arrivals\", rate = 1, stages = [{ @ }]"),
        keys: &[
            required("to", "200", "requests per second at its end"),
            usual("over", "\"0s\"", "how long the rate takes to get there"),
        ],
    },
    KeyTable {
        title: "`load` with `kind = \"closed\"`",
        path: "cell.load",
        file: with_load!("@"),
        keys: CLOSED,
    },
    KeyTable {
        title: "`load` with `kind = \"users\"`",
        path: "cell.load",
        file: with_load!("@"),
        keys: USERS,
    },
    KeyTable {
        title: "`load` with `kind = \"capacity\"`",
        path: "cell.load",
        file: with_load!("@"),
        keys: CAPACITY,
    },
    KeyTable {
        title: "`truth` of a cell",
        path: "cell.truth",
        file: concat!(
            head!(),
            "cell = [{ name = \"c\", workload = \"w\", load = { kind = \"closed\", connections = 1 }, ",
            "truth = { @ } }]"
        ),
        keys: &[
            optional("rate", "unknown", "responses per second"),
            optional("p50", "unknown", "median latency"),
            optional("p99", "unknown", "99th percentile of latency"),
        ],
    },
    KeyTable {
        title: "`[[claim]]`",
        path: "claim",
        file: with_table!("claim = [{ @ }]"),
        keys: CLAIM,
    },
    KeyTable {
        title: "`[design]`",
        path: "design",
        file: with_table!("design = { @ }"),
        keys: DESIGN,
    },
    KeyTable { title: "`[quick]`", path: "quick", file: with_table!("quick = { @ }"), keys: QUICK },
    KeyTable { title: "`[place]`", path: "place", file: with_table!("place = { @ }"), keys: PLACE },
    KeyTable {
        title: "`cpus` of `[place]`",
        path: "place.cpus",
        file: with_table!("place = { cpus = { @ } }"),
        keys: &[
            required("contender", "[1]", "CPUs of the contender that is measured"),
            required("generator", "[0]", "CPUs of the load generator"),
            required("upstream", "[0]", "CPUs of the upstream and the database"),
        ],
    },
    KeyTable {
        title: "`[[factor]]`",
        path: "factor",
        file: with_table!("factor = [{ name = \"one\", off = [\"x\"] }, { @ }]"),
        keys: &[
            required("name", "\"two\"", "its name in the report"),
            either(
                "off",
                "[\"y\"]",
                "the baseline lacks the factor",
                "variants that switch it off; give either `off` or `on`",
            ),
            optional("on", "the baseline has the factor", "variants that switch it on"),
        ],
    },
    KeyTable {
        title: "`[profile]`",
        path: "profile",
        file: with_table!("profile = { @ }"),
        keys: &[
            usual("blocks", "6", "profiled blocks, after the judged ones"),
            usual("measure", "\"6s\"", "how long each cell is sampled in each of them"),
            optional(
                "cells",
                "the closed loads, or all cells if there is none",
                "cells that are sampled",
            ),
            optional("categories", "none", "a file of your own categories, relative to this one"),
            usual("runtime_options", "false", "whether runtimes start with options for sampling"),
        ],
    },
    KeyTable {
        title: "`[source]`",
        path: "source",
        file: with_table!("source = { @ }"),
        keys: SOURCE,
    },
    KeyTable {
        title: "`[source.ours.ROW]`",
        path: "source.ours.row",
        file: with_table!("source = { title = \"t\", article = \"z\", ours = { row = { @ } } }"),
        keys: &[
            required("contender", "\"b\"", "our contender for this row of the article's tables"),
            required("cell", "\"c\"", "our cell for the load of this row"),
        ],
    },
    KeyTable {
        title: "`[published]`",
        path: "published",
        file: with_table!("published = { @ }"),
        keys: &[
            required("title", "\"t\"", "the title of the table"),
            optional("columns", "none", "the headings of its columns"),
            optional("rows", "none", "its rows as they were printed, one text per column"),
            optional("note", "none", "what a reader must know about it"),
        ],
    },
];

const FILE: &[Key] = &[
    required("name", "\"x\"", "the name of the file without `.toml`"),
    required("question", "\"q\"", "the question, as a sentence"),
    required(
        "baseline",
        "\"a\"",
        "the contender that the others are compared with: `system`, `system:variant` or `system:one+another`",
    ),
    optional("contenders", "none", "the other contenders, or tables of combinations"),
    usual("aa", "false", "also compares the baseline with itself"),
    optional("upstream", "none", "the system that proxies forward to"),
    optional("database", "none", "the database that contenders use, empty for each trial"),
    required(
        "cell",
        "[{ name = \"c\", workload = \"w\", load = { kind = \"closed\", connections = 1 } }]",
        "workloads at load levels",
    ),
    optional("claim", "none: the run is judged by its primary metrics", "what you expect"),
    optional("design", "all defaults", "how much is measured, and which difference matters"),
    optional("quick", "none: `--quick` changes nothing", "the smaller form that `--quick` runs"),
    optional("place", "processes on CPUs that faceoff picks", "where contenders and the load run"),
    optional(
        "factor",
        "none",
        "parts that are switched on and off in every combination; two to seven",
    ),
    optional("profile", "not profiled", "blocks in which stacks are sampled"),
    optional("source", "none", "where the question comes from"),
    optional("published", "none", "a table as its author published it"),
    optional("analysis", "none", "what you expected, what you found, and when"),
];

const CELL: &[Key] = &[
    required("name", "\"c\"", "its name in the report and in `cells`"),
    required("workload", "\"w\"", "the workload whose requests are sent"),
    required("load", "{ kind = \"closed\", connections = 1 }", "how requests arrive"),
    optional(
        "with",
        "those of the workload",
        "parameters of the workload, as texts or numbers; a list of numbers is a sweep",
    ),
    usual(
        "timeout",
        "\"10s\"",
        "a request without a response after this time is counted as timed out",
    ),
    usual(
        "warmup",
        "\"0s\"",
        "how long the cell's own load warms the contender up before the measurement, pauses included",
    ),
    optional(
        "repetitions",
        "measured once",
        "how often it is measured in a row, each time on the data of the last one",
    ),
    optional(
        "truth",
        "nothing is known",
        "results that are known beforehand, to compare generators with",
    ),
];

const ARRIVALS: &[Key] = &[
    required("kind", "\"arrivals\"", "how requests arrive"),
    required("rate", "100", "requests per second; a list is a sweep"),
    optional("stages", "the rate stays", "how the rate changes, one stage after the other"),
    usual("spacing", "\"even\"", "how arrivals are spaced"),
    usual("in_flight_max", "1024", "the most requests in flight"),
    usual(
        "overflow",
        "\"queue\"",
        "whether further requests wait, or are dropped and counted as unsent",
    ),
    DRIVER,
];

const CLOSED: &[Key] = &[
    required("kind", "\"closed\"", "how requests arrive"),
    required(
        "connections",
        "64",
        "connections, each of which sends its next request after a response; a list is a sweep",
    ),
    usual("depth", "1", "requests in flight on each connection; a list is a sweep"),
    DRIVER,
];

const USERS: &[Key] = &[
    required("kind", "\"users\"", "how requests arrive"),
    required("users", "100", "the number of users; a list is a sweep"),
    usual("ramp", "\"0s\"", "the time over which they begin, one after the other"),
    usual(
        "pause",
        "\"0s\"",
        "the pause between a response and the next request: `1s`, `1s..2s`, or `~1s` for exponential pauses with that mean",
    ),
    optional("rounds", "until the time is over", "how often each user sends all requests"),
    POOLED,
    DRIVER,
];

const CAPACITY: &[Key] = &[
    required("kind", "\"capacity\"", "how requests arrive"),
    required("of", "\"users\"", "what rises until the service level breaks"),
    required(
        "service_level",
        "\"p95<100ms\"",
        "what must hold, such as `p95<100ms and errors<0.1%`",
    ),
    usual(
        "from",
        "10",
        "the level at which the search begins; a rate may be from 0.001 to 10000000",
    ),
    optional(
        "at_most",
        "1,000,000 users, or 10,000,000 requests per second",
        "the highest level that is tried; a rate as for `from`",
    ),
    usual("probe", "\"3s\"", "how long each level is tried, at least 200 ms"),
    usual("probes", "24", "probes around the edge"),
    usual("pause", "\"0s\"", "users: as in a load of users"),
    POOLED,
    optional("spacing", "`even`", "a rate: how arrivals are spaced"),
    optional(
        "in_flight_max",
        "those of a tenth of a second, at least 1,024",
        "a rate: the most requests in flight",
    ),
    DRIVER,
];

const CLAIM: &[Key] = &[
    required("text", "\"t\"", "the claim, as a sentence"),
    required("contender", "\"b\"", "the contender that it is about"),
    required("metric", "\"memory\"", "the [metric](metrics.md)"),
    required("expects", "\"lower\"", "what the run must show; see [claims](../method/claims.md)"),
    optional(
        "margin",
        "that of the design",
        "the difference that does not matter: 0.05 is 5 %, and 19 claims more than 20 times",
    ),
    optional(
        "value",
        "none",
        "`times`: the factor; `at_most`: the largest value, in the metric's unit",
    ),
    optional("cells", "all", "the cells that it is about"),
    optional(
        "contender_cpus",
        "any number",
        "it is about machines with that many CPUs for the contender",
    ),
    optional(
        "compared_with",
        "the baseline",
        "an earlier state of the same contender, with which it is compared instead",
    ),
];

const DESIGN: &[Key] = &[
    usual("blocks", "12", "the most blocks; a verdict needs six"),
    usual("spare_blocks", "2", "further blocks, if too few have a valid value to settle a claim"),
    optional(
        "looks",
        "with claims after half, three quarters and all blocks, but never before six; without, after every block from the sixth",
        "blocks after which an interim analysis is made; `[]` is one at the end",
    ),
    usual("margin", "0.05", "the difference that does not matter; 0.05 is 5 %"),
    usual("confidence", "0.95", "the confidence of better and worse"),
    usual("warmup", "\"30s\"", "the most time for the warm-up; `60s..90s` also gives the least"),
    optional("warmup_workloads", "all", "the workloads that warm up"),
    usual("measure", "\"10s\"", "how long each cell is measured"),
    usual("budget", "\"2h\"", "no block begins after this time"),
    usual(
        "alternate",
        "\"slices\"",
        "whether contenders share a block in slices, if they can, or have trials of their own",
    ),
    usual(
        "start_once",
        "false",
        "whether contenders start once for all blocks; verdicts are then about these processes",
    ),
    usual("seed", "1", "fixes the random order"),
];

const QUICK: &[Key] = &[
    optional("contenders", "all", "the contenders that take part; the baseline always does"),
    optional("factors", "all", "the factors that are crossed"),
    optional("cells", "all", "the cells that are measured"),
    usual("blocks", "6", "the most blocks"),
    usual("spare_blocks", "1", "further blocks"),
    optional("warmup", "half of the design's", "the most time for the warm-up"),
    optional("measure", "that of the design", "how long each cell is measured"),
    optional("probe", "that of the cell", "how long each level of a capacity is tried"),
    optional("probes", "that of the cell", "probes around the edge of a capacity"),
];

const PLACE: &[Key] = &[
    usual("runner", "\"process\"", "how contenders and upstream run"),
    optional("network", "`host`; in a cluster `cluster_ip`", "how containers and pods are reached"),
    optional("cpus", "picked from the available ones", "CPUs of each part"),
    usual("share_cpus", "false", "whether upstream and database use the contender's CPUs"),
    optional("descriptors", "those of the system", "the most descriptors of each contender"),
    optional(
        "keep_awake",
        "on a virtual machine that allows it",
        "whether CPUs are kept from sleeping",
    ),
    optional(
        "cpu_limit",
        "none",
        "CPU seconds per second of each contender, in containers and pods",
    ),
    optional(
        "memory_limit",
        "none",
        "memory of each contender in containers and pods, such as `256M`; at least 6M",
    ),
    optional(
        "agents",
        "this machine makes the load",
        "`host:port` of each agent, or their number in pods",
    ),
    optional("address", "found", "the address of this machine at which agents reach contenders"),
];

const SOURCE: &[Key] = &[
    required("title", "\"t\"", "its title"),
    optional("author", "none", "its author"),
    optional("url", "none", "its address"),
    optional("published", "none", "when it was published"),
    optional("article", "none", "the file of its tables, `articles/NAME.toml`"),
    optional("ours", "none", "which of our measurements correspond to rows of these tables"),
];
