use super::contenders;
use crate::Format;
use crate::exit::Error;
use crate::output::{json, line, print, width};
use comfy_table::{ContentArrangement, Table, presets};
use model::catalog::Catalog;
use model::experiment::Experiment;
use model::witness::Driver;
use runner::needs::{Found, Tools};
use serde_json::json as value;
use std::process::ExitCode;

/// The other generators that experiments name, with where they stand.
fn drivers(catalog: &Catalog) -> Vec<(Found, Vec<String>)> {
    // What is wrong in an experiment's file is said by whoever runs it.
    let experiments: Vec<Experiment> = catalog.experiment_names().iter().filter_map(|name| catalog.experiment(name).ok()).collect();
    let by = |driver: Driver| -> Vec<String> {
        let needing = experiments.iter().filter(|experiment| experiment.cells.iter().any(|cell| cell.driver == Some(driver)));
        needing.map(|experiment| experiment.name.clone()).collect()
    };
    let found = |driver: Driver| Found {
        tool: driver.name().to_owned(),
        version: lab::witness::program(driver).map(|path| path.display().to_string()),
        hint: driver.hint().to_owned(),
    };
    Driver::ALL.into_iter().map(|driver| (found(driver), by(driver))).filter(|(_, by)| !by.is_empty()).collect()
}

pub fn run(catalog: &Catalog, format: Format) -> Result<ExitCode, Error> {
    let tools = Tools::default();
    let mut rows: Vec<(Found, Vec<String>)> = Vec::new();
    for contender in contenders(catalog, &[], true)? {
        for found in tools.of(&contender) {
            match rows.iter_mut().find(|(f, _)| f.tool == found.tool && f.version == found.version) {
                Some((_, by)) => by.push(contender.name.to_string()),
                None => rows.push((found, vec![contender.name.to_string()])),
            }
        }
    }
    rows.extend(drivers(catalog));
    rows.sort_by(|a, b| (a.0.version.is_some(), &a.0.tool).cmp(&(b.0.version.is_some(), &b.0.tool)));
    match format {
        Format::Json => json(
            &rows.iter().map(|(f, by)| value!({"tool": f.tool, "version": f.version, "needed_by": by, "hint": f.hint})).collect::<Vec<_>>(),
        ),
        Format::Text => {
            let mut table = Table::new();
            table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic).set_width(width());
            table.set_header(["tool", "found", "needed by", "hint"]);
            for (found, by) in &rows {
                let hint = if found.version.is_some() { "" } else { &found.hint };
                table.add_row([&found.tool, found.version.as_deref().unwrap_or("MISSING"), &by.join(", "), hint]);
            }
            print(&format!("{table}\n"));
            let missing = rows.iter().filter(|(f, _)| f.version.is_none()).count();
            line(&match missing {
                0 => "nothing is missing".to_owned(),
                n => format!("{n} missing: what needs them is skipped, everything else runs"),
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}
