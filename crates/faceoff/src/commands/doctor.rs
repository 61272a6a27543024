//! `faceoff doctor`: shows the tools that the systems here need, and which of them are missing.

use super::contenders;
use crate::exit::Error;
use crate::output::{Format, json, print};
use runner::needs::{Found, Tools};
use serde_json::json as value;
use spec::catalog::Catalog;
use spec::experiment::Experiment;
use spec::experiment::external_generator::Driver;
use std::process::ExitCode;

/// What to do first.
const NEXT: &str = "Next: faceoff vs URL URL compares two running services; faceoff init creates an experiment for two of yours.\n";
/// Maximum number of missing tools shown, with two lines each.
const MISSING: usize = 6;

/// Returns the load generators that experiments use, with the experiments that use them.
fn drivers(catalog: &Catalog) -> Vec<(Found, Vec<String>)> {
    // `faceoff run` reports the problems of an experiment's file.
    let experiments: Vec<Experiment> = catalog
        .experiment_names()
        .iter()
        .filter_map(|name| catalog.experiment(name).ok())
        .collect();
    let by = |driver: Driver| -> Vec<String> {
        let needing = experiments
            .iter()
            .filter(|experiment| experiment.cells.iter().any(|cell| cell.driver == Some(driver)));
        needing.map(|experiment| experiment.name.clone()).collect()
    };
    let found = |driver: Driver| Found {
        tool: driver.name().to_owned(),
        version: lab::external_generator::driver_program(driver)
            .map(|path| path.display().to_string()),
        hint: driver.hint().to_owned(),
    };
    Driver::ALL
        .into_iter()
        .map(|driver| (found(driver), by(driver)))
        .filter(|(_, by)| !by.is_empty())
        .collect()
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, format: Format) -> Result<ExitCode, Error> {
    let tools = Tools::default();
    let mut rows: Vec<(Found, Vec<String>)> = Vec::new();
    for contender in contenders(catalog, &[], true)? {
        for found in tools.check(&contender) {
            match rows.iter_mut().find(|(f, _)| f.tool == found.tool && f.version == found.version)
            {
                Some((_, by)) => by.push(contender.name.to_string()),
                None => rows.push((found, vec![contender.name.to_string()])),
            }
        }
    }
    rows.extend(drivers(catalog));
    rows.sort_by(|a, b| {
        (a.0.version.is_some(), &a.0.tool).cmp(&(b.0.version.is_some(), &b.0.tool))
    });
    match format {
        Format::Json => json(
            &rows.iter().map(|(f, by)| value!({"tool": f.tool, "version": f.version, "needed_by": by, "hint": f.hint})).collect::<Vec<_>>(),
        ),
        Format::Text => print(&text(&rows)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what works outside of a project, where no tools are needed.
pub fn elsewhere(format: Format) -> ExitCode {
    match format {
        Format::Json => json(&value!([])),
        Format::Text => print(&format!(
            "{NEXT}\nThis folder has no systems/, so there are no tools to check. vs, load and init need only faceoff.\n"
        )),
    }
    ExitCode::SUCCESS
}

/// Returns one screen of text: what to do first, missing tools with hints, and tools found.
fn text(rows: &[(Found, Vec<String>)]) -> String {
    let (found, missing): (Vec<_>, Vec<_>) =
        rows.iter().partition(|(tool, _)| tool.version.is_some());
    let mut text = format!("{NEXT}\n");
    for (tool, by) in missing.iter().take(MISSING) {
        text += &format!(
            "MISSING  {}, needed by {}\n         hint: {}\n",
            tool.tool,
            first_of(by),
            tool.hint
        );
    }
    if missing.len() > MISSING {
        text += &format!("MISSING  {} more: --format json lists all\n", missing.len() - MISSING);
    }
    text += &match missing.len() {
        0 => "Nothing is missing.\n".to_owned(),
        _ => "Systems that need a missing tool are skipped; everything else runs.\n".to_owned(),
    };
    if !found.is_empty() {
        let found: Vec<String> = found.iter().map(|(tool, _)| version(tool)).collect();
        text += &format!("\nFound: {}.\n", found.join(", "));
    }
    text
}

/// `go 1.26.1`, `JDK 25.0.3 (for JDK 17 and newer)`.
fn version(tool: &Found) -> String {
    let version = tool.version.as_deref().unwrap_or_default();
    match tool.tool.strip_suffix('+') {
        Some(least) => format!(
            "{} {version} (for {least} and newer)",
            least.split(' ').next().unwrap_or(least)
        ),
        None => format!("{} {version}", tool.tool),
    }
}

/// `gateway, proxy-gin and 12 more`.
fn first_of(names: &[String]) -> String {
    match names {
        [first, second, _, ..] => format!("{first}, {second} and {} more", names.len() - 2),
        few => few.join(" and "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_one_screen_for_any_number_of_tools() {
        let tool = |number: usize, version: Option<&str>| Found {
            tool: format!("tool-{number}"),
            version: version.map(Into::into),
            hint: "dig for it".into(),
        };
        let by = |count: usize| (0..count).map(|number| format!("s{number}")).collect::<Vec<_>>();
        let mut rows: Vec<_> = (0..30).map(|number| (tool(number, None), by(number + 1))).collect();
        rows.push((Found { tool: "JDK 17+".into(), ..tool(0, Some("25.0.3")) }, by(1)));
        let text = text(&rows);
        assert!(text.lines().count() <= 25, "{text}");
        assert!(text.starts_with("Next: faceoff vs"), "{text}");
        assert!(
            text.contains("tool-2, needed by s0, s1 and 1 more\n") && text.contains("24 more"),
            "{text}"
        );
        assert!(text.contains("JDK 25.0.3 (for JDK 17 and newer)"), "{text}");
    }
}
