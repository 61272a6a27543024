//! `faceoff list`: lists the systems, workloads, experiments and articles of a folder.

use crate::exit::{Error, USAGE};
use crate::output::{Format, json, message, print};
use serde_json::{Value, json as value};
use spec::catalog::Catalog;
use spec::experiment::Experiment;
use spec::problem::Problems;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// Runs the subcommand.
pub fn run(catalog: &Catalog, format: Format) -> Result<ExitCode, Error> {
    let mut problems = Vec::new();
    let systems = read_all(&mut problems, catalog.system_names(), |name| catalog.system(name));
    let workloads =
        read_all(&mut problems, catalog.workload_names(), |name| catalog.workload(name));
    let experiments =
        read_all(&mut problems, catalog.experiment_names(), |name| catalog.experiment(name));
    let articles = read_all(&mut problems, catalog.article_names(), |name| catalog.article(name));

    let systems = systems.iter().map(|s| {
        let variants: Vec<Value> = s
            .variants
            .iter()
            .map(|(name, v)| value!({"name": name, "summary": v.summary}))
            .collect();
        value!({
            "name": s.name, "summary": s.summary, "kind": s.kind, "answers": s.answers,
            "variants": variants,
        })
    });
    let workloads = workloads
        .iter()
        .map(|w| value!({"name": w.name, "summary": w.summary, "steps": w.steps.len()}));
    let articles = articles.iter().map(|a| {
        let tried: Vec<&Experiment> =
            experiments.iter().filter(|e| e.article() == Some(&a.name)).collect();
        let systems: BTreeSet<&str> = tried.iter().flat_map(|e| systems_of(e)).collect();
        let names: Vec<&str> = tried.iter().map(|e| e.name.as_str()).collect();
        value!({"name": a.name, "summary": a.title, "experiments": names, "systems": systems})
    });
    let experiments = experiments.iter().map(|e| {
        let contenders: Vec<String> = e.all_contenders().map(ToString::to_string).collect();
        value!({
            "name": e.name, "summary": e.question, "contenders": contenders, "article": e.article(),
        })
    });
    let all = value!({
        "articles": articles.collect::<Vec<_>>(),
        "experiments": experiments.collect::<Vec<_>>(),
        "systems": systems.collect::<Vec<_>>(),
        "workloads": workloads.collect::<Vec<_>>(),
    });
    match format {
        Format::Json => json(&all),
        Format::Text => print(&text(&all)),
    }
    problems.iter().for_each(|p| message(&p.to_string()));
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(USAGE) })
}

/// Reads all that can be read, and collects the problems of the others.
fn read_all<T>(
    problems: &mut Vec<Problems>,
    names: Vec<String>,
    read: impl Fn(&str) -> Result<T, Problems>,
) -> Vec<T> {
    names.iter().filter_map(|name| read(name).map_err(|p| problems.push(p)).ok()).collect()
}

/// Returns every system of an experiment: contenders, upstream and database.
fn systems_of(experiment: &Experiment) -> impl Iterator<Item = &str> {
    experiment
        .all_contenders()
        .chain(&experiment.upstream)
        .chain(&experiment.database)
        .map(|name| name.system.as_str())
}

fn text(all: &Value) -> String {
    let entries = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let mut text = String::new();
    for (title, key) in [
        ("Articles", "articles"),
        ("Experiments", "experiments"),
        ("Systems", "systems"),
        ("Workloads", "workloads"),
    ] {
        text += &format!("{title}\n");
        for entry in entries(&all[key]) {
            text += &format!("  {:<24} {}\n", word(&entry, "name"), word(&entry, "summary"));
            for list in ["experiments", "systems"] {
                let names: Vec<String> = entries(&entry[list])
                    .iter()
                    .filter_map(|n| Some(n.as_str()?.to_owned()))
                    .collect();
                if !names.is_empty() {
                    text += &format!("    {:<22} {}\n", format!("{list}:"), names.join(", "));
                }
            }
            for variant in entries(&entry["variants"]) {
                text +=
                    &format!("    :{:<21} {}\n", word(&variant, "name"), word(&variant, "summary"));
            }
        }
        text += "\n";
    }
    text
}
