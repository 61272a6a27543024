//! Runs the commands of the documents: a shell runs the shell blocks, with servers and a record for
//! them. Exceptions are in a list, each with its reason. `src/reference.rs` checks that faceoff can
//! parse every command.

use crate::control_server::ControlServer;
use crate::documents::{Said, commands, root};
use crate::folder::Folder;
use std::process::Command;

/// A document, the beginning of a line, and why it is not run here.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "README.md",
        "make demo",
        "builds every language and measures for minutes; make's targets are looked up below",
    ),
    ("README.md", "make build", "compiles for minutes; make's targets are looked up below"),
    ("README.md", "faceoff vs 'go=", "commands of the reader's; vs.rs starts some"),
    ("CONTRIBUTING.md", "cp ", "newcomer.rs follows this block to the letter"),
    ("CONTRIBUTING.md", "sed ", "newcomer.rs follows this block to the letter"),
    (
        "CONTRIBUTING.md",
        "faceoff check strings-mine",
        "newcomer.rs follows this block to the letter",
    ),
    (
        "CONTRIBUTING.md",
        "faceoff run java-as-fast-as-go",
        "newcomer.rs follows this block to the letter",
    ),
    ("docs/evidence/alternation.md", "", "takes a quarter of an hour; bench has tests of its own"),
    (
        "docs/evidence/simulation.md",
        "target/release/bench",
        "not the command: bench has tests of its own",
    ),
    (
        "docs/guide/audit.md",
        "wrk ",
        "needs wrk; what it prints is read in crates/judge/tests and audit.rs",
    ),
    (
        "docs/guide/audit.md",
        "faceoff audit --pipeline 16 wrk.txt",
        "a file of the reader's; audit.rs has such",
    ),
    (
        "docs/guide/audit.md",
        "faceoff audit --connections 50",
        "files of the reader's; audit.rs has such",
    ),
    (
        "docs/guide/audit.md",
        "faceoff audit results.jtl",
        "files of the reader's; audit.rs has such",
    ),
    (
        "docs/guide/audit.md",
        "faceoff audit table.toml",
        "a file of the reader's; audit.rs has such",
    ),
    (
        "docs/guide/capacity.md",
        "faceoff load --capacity",
        "a search takes minutes; capacity.rs has a short one",
    ),
    (
        "docs/guide/ci.md",
        "faceoff run api --against main",
        "a repository of the reader's; against.rs has one",
    ),
    (
        "docs/guide/containers.md",
        "faceoff build --images",
        "compiles Go and Java; images.rs makes others",
    ),
    ("docs/guide/containers.md", "docker load", "needs an engine"),
    ("docs/guide/containers.md", "", "needs an engine; tests/suite/docker starts systems in one"),
    (
        "docs/guide/databases.md",
        "faceoff check postgres",
        "fetches PostgreSQL; tests/suite/databases starts it",
    ),
    (
        "docs/guide/databases.md",
        "FACEOFF_DATABASE",
        "a server of the reader's; tests/suite/databases has one",
    ),
    ("docs/guide/cost.md", "sudo ", "changes the machine, which needs root"),
    ("docs/guide/export.md", "cargo build", "compiles everything for a release"),
    (
        "docs/guide/export.md",
        "faceoff export records/NAME --to png",
        "of a faceoff that was built with it",
    ),
    (
        "docs/guide/export.md",
        "HistogramLogProcessor",
        "HdrHistogram's own; tests/suite/export reads with its crate",
    ),
    (
        "docs/guide/export.md",
        "promtool ",
        "Prometheus's own; tests/suite/export reads with a parser of OpenMetrics",
    ),
    (
        "docs/guide/import.md",
        "faceoff import plan.jmx",
        "a file of the reader's; import.rs has such",
    ),
    (
        "docs/guide/import.md",
        "faceoff import pipeline.lua",
        "a file of the reader's; import.rs has such",
    ),
    (
        "docs/guide/import.md",
        "faceoff import recording.har",
        "a file of the reader's; import.rs has such",
    ),
    (
        "docs/guide/import.md",
        "faceoff import openapi.yaml",
        "a file of the reader's; import.rs has such",
    ),
    (
        "docs/guide/import.md",
        "faceoff import requests.txt",
        "a file of the reader's; import.rs has such",
    ),
    (
        "docs/guide/init.md",
        "faceoff --dir bench",
        "services of the reader's; tutorial.rs has two, init.rs more",
    ),
    (
        "docs/guide/install.md",
        "",
        "installs faceoff; scripts/release.d/test does so from every file of a release",
    ),
    (
        "docs/guide/kubernetes.md",
        "",
        "needs a cluster; tests/suite/kubernetes starts systems in one",
    ),
    (
        "docs/guide/load.md",
        "faceoff load --http2",
        "needs a certificate; crates/load/tests has one",
    ),
    (
        "docs/guide/load.md",
        "faceoff load --cacert",
        "needs certificates; crates/load/tests makes them",
    ),
    ("docs/guide/load.md", "faceoff load --unix", "needs a server on a socket; load.rs has one"),
    (
        "docs/guide/load.md",
        "faceoff load --capacity",
        "a search takes minutes; capacity.rs has a short one",
    ),
    ("docs/guide/platforms.md", "scripts/release", "compiles everything for a release"),
    ("docs/guide/serve.md", "faceoff serve", "goes on until it is ended; serve.rs asks it"),
    (
        "docs/guide/several-machines.md",
        "",
        "needs several machines; agents.rs has several agents on one",
    ),
    ("docs/guide/tutorial.md", "", "tutorial.rs follows the whole document to the letter"),
    (
        "docs/guide/vs.md",
        "faceoff vs image=",
        "needs an engine; tests/suite/docker starts images in one",
    ),
    ("docs/guide/vs.md", "faceoff vs 'go=", "commands of the reader's; vs.rs starts some"),
    (
        "docs/guide/why.md",
        "",
        "needs a profiled record; crates/report/tests/profiles makes up some",
    ),
    (
        "docs/guide/external-generators.md",
        "faceoff load -c 64 -d 10s --driver wrk",
        "needs wrk; external_generators.rs uses substitutes",
    ),
    (
        "docs/guide/external-generators.md",
        "faceoff load --workload FILE",
        "needs k6; external_generators.rs uses substitutes",
    ),
    (
        "docs/guide/external-generators.md",
        "PATH=",
        "needs all generators; its plan is shown by plans.rs",
    ),
    (
        "docs/guide/selftest.md",
        "faceoff selftest",
        "takes minutes; selftest.rs has a short form, and the whole as a longer proof",
    ),
];

/// Starts a server that responds as `catalog/workloads/products.toml` expects.
fn product_server() -> ControlServer {
    let products = root().join("catalog/workloads/products.json");
    let products = products.to_str().unwrap();
    ControlServer::start(&["--content-type", "application/json", "--body-file", products])
}

/// Adapts a line to the test: our servers, short times, and only the plan of long measurements.
fn as_run(said: &Said, [one, other]: [&str; 2], record: &str) -> String {
    let text = said.text.split(" #").next().unwrap_or_default();
    let text = text
        .replace("http://127.0.0.1:8080", one)
        .replace("http://127.0.0.1:8081", other)
        .replace("records/NAME", record);
    let mut words: Vec<String> =
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let is = |words: &[String], command: &str| {
        words.iter().any(|word| word == "faceoff") && words.iter().any(|word| word == command)
    };
    if is(&words, "load") || is(&words, "wrk") {
        for at in 0..words.len() {
            match words[at].as_str() {
                "URL" => words[at] = format!("{one}/"),
                "-d" => words[at + 1] = "300ms".into(),
                "--stages" => {
                    words[at + 1] = words[at + 1].replace("30s:", "100ms:").replace("1m:", "100ms:")
                }
                _ => {}
            }
        }
        if !words.iter().any(|word| word == "-d" || word == "--stages") {
            words.push("-d 300ms".into());
        }
    }
    if (is(&words, "run") || is(&words, "vs")) && !text.contains("--plan") {
        words.push("--plan".into());
    }
    words.join(" ")
}

#[test]
fn documented_commands_are_run_or_exempted() {
    let folder = Folder::new();
    folder.system("nginx", &["--delay", "60ms"]);
    folder.system("other", &["--delay", "90ms"]);
    folder.experiment(&["other", "nginx"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let servers = [product_server(), product_server()];
    let urls = servers.each_ref().map(|server| server.url.as_str());
    let record = folder.path().join("r");
    let commands_here = std::path::Path::new(env!("CARGO_BIN_EXE_faceoff")).parent().unwrap();
    let path = format!("{}:{}", commands_here.display(), std::env::var("PATH").unwrap());
    let reason = |said: &Said| {
        ELSEWHERE
            .iter()
            .position(|(file, begins, _)| *file == said.file && said.text.starts_with(begins))
    };
    let (mut used, mut ran) = (vec![false; ELSEWHERE.len()], 0);
    // Commands within sentences, if they are complete.
    let whole = ["faceoff list", "target/release/faceoff doctor"];
    for said in
        commands().iter().filter(|said| !said.in_sentence || whole.contains(&said.text.as_str()))
    {
        if let Some(at) = reason(said) {
            used[at] = true;
            continue;
        }
        let line = as_run(said, urls, &record.display().to_string())
            .replace("target/release/faceoff", "faceoff");
        // Some read the repository, others write into the current folder.
        let writes = ["faceoff import", "faceoff export", "faceoff vs"]
            .iter()
            .any(|begins| line.starts_with(begins));
        let place = if writes { folder.path().to_owned() } else { root() };
        // A command that never ends would never fail.
        let mut shell = Command::new("timeout");
        shell
            .args(["60", "sh", "-c", &line])
            .current_dir(&place)
            .env("PATH", &path)
            .env("TMPDIR", folder.path());
        shell.env("SHOP_TOKEN", "a-token-of-tests").env("TOKEN", "a-token-of-tests");
        let done = shell.output().unwrap();
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        // 3: findings in the articles' tables, or a threshold that this machine breaches.
        let may_breach = line.contains("audit articles") || line.contains("--threshold");
        let is_done = done.status.success() || (may_breach && done.status.code() == Some(3));
        assert!(
            is_done,
            "{}\nran as: {line}\n{} (124: not done within a minute): {text}",
            said.place(),
            done.status
        );
        ran += 1;
    }
    assert!(ran >= 25, "{ran} were run");
    let stale: Vec<_> = ELSEWHERE
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|((file, begins, _), _)| (file, begins))
        .collect();
    assert!(stale.is_empty(), "no such line exists any more: {stale:?}");
}

#[test]
fn documented_make_targets_exist() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    for said in commands().iter().filter(|said| said.text.starts_with("make ")) {
        let target = said.text.split_whitespace().nth(1).unwrap();
        assert!(
            makefile.lines().any(|line| line.starts_with(&format!("{target}:"))),
            "{}",
            said.place()
        );
    }
}

#[test]
fn reference_names_all_files_of_a_run() {
    let folder = Folder::new();
    folder.system("one", &[]);
    folder.system("other", &[]);
    folder.experiment(&["one", "other"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let files = std::fs::read_to_string(root().join("docs/reference/files.md")).unwrap();
    for place in ["r", ".faceoff"] {
        for entry in std::fs::read_dir(folder.path().join(place)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(
                files.contains(&format!("`{name}")),
                "docs/reference/files.md does not name `{name}` of {place}/"
            );
        }
    }
}
