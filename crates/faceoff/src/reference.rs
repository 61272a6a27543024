//! `docs/reference`, written from the code: `make reference`, or `FACEOFF_WRITE_REFERENCE=1 cargo test -p faceoff reference`. And the
//! documents' commands, held against the command line.

use crate::Cli;
use crate::commands::import::words;
use crate::documents::{Said, commands, is_faceoff, root};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use judge::soundness;
use model::metric::Metric;

/// Writes a page where that is asked, and fails where it is not what the code says.
#[track_caller]
fn hold(name: &str, text: &str) {
    let path = root().join("docs/reference").join(name);
    if std::env::var_os("FACEOFF_WRITE_REFERENCE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "docs/reference/{name} is not what the code says: write it again with `make reference`");
}

/// What `--help` prints, of all commands in the order in which `faceoff --help` has them.
fn helps() -> Vec<(String, String)> {
    let mut faceoff = Cli::command().term_width(100);
    faceoff.build();
    let mut all = vec![("faceoff".to_owned(), faceoff.clone().render_help().to_string())];
    for command in faceoff.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let name = format!("faceoff {}", command.get_name());
        let help = command.clone().term_width(100).render_help().to_string();
        all.push((name, help));
    }
    all
}

#[test]
fn command_line() {
    let mut text =
        "# Command line\n\nWhat `--help` says of every command. The guides say what each is for: [README](../../README.md).\n".to_owned();
    for (name, help) in helps() {
        text += &format!("\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    }
    hold("command-line.md", &text);
}

#[test]
fn exit_codes() {
    let mut text = "# Exit codes\n\n| command | exit codes |\n|---|---|\n".to_owned();
    let said = |help: &str| help.split_once("Exit codes: ").map(|(_, codes)| codes.split_whitespace().collect::<Vec<_>>().join(" "));
    for (name, help) in helps() {
        let name = if name == "faceoff" { "every command".to_owned() } else { format!("`{name}`") };
        text.extend(said(&help).map(|codes| format!("| {name} | {codes} |\n")));
    }
    text += "\nA command that is not named has those of the first line that concern it. Data go to standard output, everything else to standard error.\n";
    assert!(text.lines().count() > 7, "{text}");
    hold("exit-codes.md", &text);
}

#[test]
fn metrics() {
    let mut text = "# Metrics\n\nWhat claims name as `metric`, `--by` takes, and verdicts are about. Ratios and their intervals: [METHOD.md](../../METHOD.md).\n\n\
                    | metric | is | unit | better is | of | compared by |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for metric in Metric::ALL {
        let about = metric.describe();
        text += &format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            about.name,
            if metric == Metric::Capacity { "the most users, or the highest rate, at which the service level holds" } else { about.label },
            if about.unit.is_empty() { "-" } else { about.unit },
            if about.lower_is_better { "less" } else { "more" },
            match (about.of_trial, metric) {
                (true, _) => "each start",
                (false, Metric::Capacity) => "each cell whose capacity is looked for",
                (false, _) => "each cell",
            },
            if about.by_difference { "difference" } else { "ratio" }
        );
    }
    text += &format!(
        "\n{} are of the contender's process tree, and so unknown of a service that ran already. Latency counts from the scheduled instant; of a closed load, which has none, it is the service time.\n",
        names(Metric::is_of_process)
    );
    hold("metrics.md", &text);
}

/// The metrics of which something holds, as few words as say it.
fn names(holds: impl Fn(Metric) -> bool) -> String {
    if Metric::ALL.into_iter().all(&holds) {
        return "everything".to_owned();
    }
    let all_latencies = Metric::ALL.into_iter().filter(|metric| metric.is_latency()).all(&holds);
    let mut names: Vec<&str> = Metric::ALL.into_iter().filter(|metric| holds(*metric)).map(|metric| metric.describe().name).collect();
    if all_latencies {
        names.retain(|name| !name.starts_with("latency_"));
        names.push("latency_*");
    }
    if names.is_empty() { "nothing".to_owned() } else { format!("`{}`", names.join("`, `")) }
}

/// The rows of METHOD.md that begin with a kind, without their first column.
fn row_of_method<'m>(method: &'m str, kind: &str) -> Option<Vec<&'m str>> {
    let is_of = |line: &&str| line.split('|').nth(1).is_some_and(|names| names.split(',').any(|name| name.trim() == format!("`{kind}`")));
    let row = method.lines().find(is_of)?;
    Some(row.trim_matches('|').split('|').skip(1).map(str::trim).collect())
}

#[test]
fn faults() {
    let method = std::fs::read_to_string(root().join("METHOD.md")).unwrap();
    let mut text = "# Faults\n\nWhat is checked of each record, and which metrics a fault leaves out of verdicts. Why each threshold stands where it does: [METHOD.md](../../METHOD.md), \"Faults\".\n\n\
                    | fault | without it | found when | leaves out |\n|---|---|---|---|\n"
        .to_owned();
    for (kind, holds) in soundness::known() {
        let row = row_of_method(&method, kind).unwrap_or_else(|| panic!("METHOD.md has no row for the fault `{kind}`"));
        let spoilt = names(|metric| soundness::spoils(kind, metric));
        text += &format!("| `{kind}` | {holds} | {} | {spoilt} |\n", row[0]);
    }
    hold("faults.md", &text);
}

/// What stands for a word in capitals.
fn filled(word: &str) -> Option<String> {
    let text = match word.trim_start_matches('[').trim_end_matches([']', '.', '…']) {
        "" => return None,
        "URL" => "http://127.0.0.1:8080/",
        "LEVEL" => "p95<100ms",
        "FORMAT" => "csv",
        _ if word.starts_with('[') => return None,
        other => other,
    };
    Some(text.to_owned())
}

/// The words that faceoff would be given: behind variables that are set for it, and between pipes.
fn words_of(said: &Said) -> Option<Vec<String>> {
    let lines = words::lines(&said.text);
    let calls = lines.iter().flat_map(|line| line.split(|word| word == "|" || word == "||"));
    let mut calls = calls.map(|call| call.iter().skip_while(|word| word.contains('=')).collect::<Vec<_>>());
    let call = calls.find(|call| call.first().is_some_and(|word| is_faceoff(word)))?;
    Some(call.into_iter().filter_map(|word| filled(word)).collect())
}

#[test]
fn every_command_of_the_documents_is_understood() {
    let mut understood = 0;
    for said in commands() {
        let Some(words) = words_of(&said) else { continue };
        understood += 1;
        match Cli::try_parse_from(&words) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {}
            // A sentence may name a command, or an option, without all that it needs.
            Err(error) if said.in_sentence && error.kind() == ErrorKind::MissingRequiredArgument => {}
            Err(error) if said.in_sentence && error.to_string().contains("a value is required for") => {}
            Err(error) => panic!("{}\n{error}", said.place()),
        }
    }
    assert!(understood > 60, "{understood}");
}
