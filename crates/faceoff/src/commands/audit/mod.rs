//! `faceoff audit`: finds impossible or inconsistent figures in published tables and in the output
//! of load generators.
//!
//! `interop::outputs` reads the tools' output, `judge::audit` checks it. Start at [`run`].

mod output;

use crate::exit::{BREACHED, Error};
use crate::output::{Format, json as print_json, message, print};
use clap::Args;
use interop::outputs::{READABLE, read_outputs};
use judge::audit::{Audit, Note, audit};
use record::audit::Audits;
use spec::article::{Article, Table};
use spec::catalog::Catalog;
use spec::problem::Problems;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

/// Options of `faceoff audit`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 nothing is flagged, 2 an input cannot be read, or a run has \
                  neither a rate nor a latency, 3 at least one row is flagged (in either \
                  wording)."
)]
pub struct Options {
    #[arg(
        required = true,
        value_name = "FILE",
        help = format!(
            "Output of {READABLE}, or a table in TOML; `-` reads standard input, `articles` checks \
             the articles of this project"
        )
    )]
    inputs: Vec<String>,
    /// Number of connections (or users), if the output lacks it or to override it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    connections: Option<u64>,
    /// Requests in flight on each connection (pipelining, streams), which few outputs contain
    #[arg(long, visible_alias = "streams", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pipeline: Option<u64>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Runs the subcommand.
pub fn run(
    catalog: &dyn Fn() -> Result<Catalog, Problems>,
    options: &Options,
) -> Result<ExitCode, Error> {
    let mut audits = Vec::new();
    for input in &options.inputs {
        match input.as_str() {
            "articles" => {
                let catalog = catalog()?;
                let names = catalog.article_names();
                if names.is_empty() {
                    return Err(Problems::plain(
                        format!("{} has no articles", catalog.content_dir().display()),
                        "write a table as docs/guide/audit.md shows, or name a file",
                    )
                    .into());
                }
                for name in names {
                    audits.push(audit(&catalog.article(&name)?));
                }
            }
            path if path.ends_with(".toml") => audits.push(audit(&Article::read(Path::new(path))?)),
            "-" => audits.push(options.audit("standard input", io::stdin().lock())?),
            path => {
                let file = File::open(path).map_err(|e| {
                    Problems::plain(
                        format!("{path} cannot be read: {e}"),
                        "check that it exists and that you may read it",
                    )
                })?;
                audits.push(options.audit(path, file)?);
            }
        }
    }
    let flagged: usize = audits.iter().map(Audit::flagged).sum();
    match options.format {
        Format::Text => print(&output::text(&audits)),
        Format::Json => print_json(&Audits::from(audits)),
    }
    Ok(if flagged > 0 { ExitCode::from(BREACHED) } else { ExitCode::SUCCESS })
}

impl Options {
    /// Checks the output of load generators.
    fn audit(&self, name: &str, input: impl Read) -> Result<Audit, Problems> {
        let printed = self.printed(name, input)?;
        for hint in &printed.hints {
            message(&format!(
                "{name}: Little's law is not checked, because the output lacks what it needs\nhint: {hint}"
            ));
        }
        let mut audit = audit(&printed.article);
        for (table, notes) in audit.tables.iter_mut().zip(printed.notes) {
            table.notes.splice(0..0, notes);
        }
        Ok(audit)
    }

    /// Reads the output of load generators, as one table for each.
    fn printed(&self, name: &str, input: impl Read) -> Result<Printed, Problems> {
        let mut printed = Printed {
            article: Article {
                name: name.to_owned(),
                title: name.to_owned(),
                ..Article::default()
            },
            notes: Vec::new(),
            hints: Vec::new(),
        };
        for mut output in read_outputs(name, input)? {
            let mut is_incomplete = false;
            for row in &mut output.rows {
                row.load.connections = self.connections.or(row.load.connections);
                row.load.depth = self.pipeline.or(row.load.depth);
                if output.depth_unsaid && row.load.depth.is_none() {
                    row.load.connections = None;
                }
                is_incomplete |= row.load.connections.is_none()
                    && row.load.users.is_none()
                    && !row.load.scheduled;
            }
            printed.hints.extend(output.hint.filter(|_| is_incomplete));
            let notes = output.notes.into_iter();
            printed.notes.push(notes.map(|note| Note { row: note.row, what: note.what }).collect());
            let table = Table {
                title: output.tool.name().to_owned(),
                tool: Some(output.tool),
                rows: output.rows,
                quotients: Vec::new(),
            };
            printed.article.tables.push(table);
        }
        Ok(printed)
    }
}

/// The output of load generators, ready for the audit.
struct Printed {
    article: Article,
    /// Notes on what could not be read, for each table.
    notes: Vec<Vec<Note>>,
    /// Hints on how to supply what Little's law needs and the outputs lack.
    hints: Vec<&'static str>,
}

#[cfg(test)]
mod tests;
