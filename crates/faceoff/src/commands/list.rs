use crate::Format;
use crate::exit::{Error, USAGE};
use crate::output::{error, json, print};
use model::catalog::Catalog;
use model::problem::Problems;
use serde_json::{Value, json as value};
use std::process::ExitCode;

pub fn run(catalog: &Catalog, format: Format) -> Result<ExitCode, Error> {
    let mut problems = Vec::new();
    let mut keep = |result: Result<Value, Problems>| result.map_err(|p| problems.push(p)).ok();
    let mut systems = Vec::new();
    for name in catalog.system_names() {
        systems.extend(keep(catalog.system(&name).map(|s| {
            let variants: Vec<Value> = s.variants.iter().map(|(name, v)| value!({"name": name, "summary": v.summary})).collect();
            value!({"name": s.name, "summary": s.summary, "kind": s.kind, "answers": s.answers, "variants": variants})
        })));
    }
    let mut workloads = Vec::new();
    for name in catalog.workload_names() {
        workloads.extend(keep(catalog.workload(&name).map(|w| value!({"name": w.name, "summary": w.summary, "steps": w.steps.len()}))));
    }
    let mut experiments = Vec::new();
    for name in catalog.experiment_names() {
        experiments.extend(keep(catalog.experiment(&name).map(|e| {
            let contenders: Vec<String> = e.everybody().map(ToString::to_string).collect();
            value!({"name": e.name, "summary": e.question, "contenders": contenders})
        })));
    }
    match format {
        Format::Json => json(&value!({"systems": systems, "workloads": workloads, "experiments": experiments})),
        Format::Text => {
            let mut text = String::new();
            for (title, entries) in [("Experiments", &experiments), ("Systems", &systems), ("Workloads", &workloads)] {
                text += &format!("{title}\n");
                for entry in entries {
                    let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                    text += &format!("  {:<24} {}\n", word("name"), word("summary"));
                    for variant in entry["variants"].as_array().into_iter().flatten() {
                        text += &format!(
                            "    :{:<21} {}\n",
                            variant["name"].as_str().unwrap_or_default(),
                            variant["summary"].as_str().unwrap_or_default()
                        );
                    }
                }
                text += "\n";
            }
            print(&text);
        }
    }
    problems.iter().for_each(|p| error(&p.to_string()));
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(USAGE) })
}
