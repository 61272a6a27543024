//! `faceoff audit`: published tables and outputs of load generators, checked for what cannot be.

mod output;

use crate::Format;
use crate::exit::{BREACHED, Error};
use crate::output::{json as print_json, message, print};
use clap::Args;
use judge::audit::{Audit, SCHEMA, audit};
use model::article::{Article, Table};
use model::catalog::Catalog;
use model::outputs::read;
use model::problem::Problems;
use serde_json::json as value;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

/// What `faceoff audit` is asked.
#[derive(Args)]
pub struct Options {
    /// Output of wrk, wrk2, oha, k6, h2load, hey, ab, JMeter (JTL, summary) or Gatling, or a table as in articles/; `-` is
    /// standard input, `articles` are those of this folder
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<String>,
    /// Connections (or users), where the output does not say, or instead of what it says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    connections: Option<u64>,
    /// Requests at once on each connection (pipelining, streams), which few outputs say
    #[arg(long, visible_alias = "streams", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pipeline: Option<u64>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub fn run(catalog: &dyn Fn() -> Result<Catalog, Problems>, options: &Options) -> Result<ExitCode, Error> {
    let mut audits = Vec::new();
    for input in &options.inputs {
        match input.as_str() {
            "articles" => {
                let catalog = catalog()?;
                let names = catalog.article_names();
                if names.is_empty() {
                    return Err(Problems::plain(
                        format!("{} holds no articles/", catalog.dir().display()),
                        "write a table as in docs/audit.md, or name a file",
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
                let file = File::open(path)
                    .map_err(|e| Problems::plain(format!("{path} cannot be read: {e}"), "is it there, and yours to read?"))?;
                audits.push(options.audit(path, file)?);
            }
        }
    }
    let flagged: usize = audits.iter().map(Audit::flagged).sum();
    match options.format {
        Format::Text => print(&output::text(&audits)),
        Format::Json => print_json(&value!({
            "schema": SCHEMA,
            "rows": audits.iter().map(Audit::rows).sum::<usize>(),
            "flagged": flagged,
            "audits": audits,
        })),
    }
    Ok(if flagged > 0 { ExitCode::from(BREACHED) } else { ExitCode::SUCCESS })
}

impl Options {
    /// Checks the output of a load generator.
    fn audit(&self, name: &str, input: impl Read) -> Result<Audit, Problems> {
        let (article, hint) = self.article(name, input)?;
        if let Some(hint) = hint {
            message(&format!("{name}: Little's law is not checked, for want of what it needs\nhint: {hint}"));
        }
        Ok(audit(&article))
    }

    /// The output of a load generator as a table, and how to say what it leaves unsaid.
    fn article(&self, name: &str, input: impl Read) -> Result<(Article, Option<&'static str>), Problems> {
        let mut output = read(name, input)?;
        let mut unsaid = false;
        for row in &mut output.rows {
            row.load.connections = self.connections.or(row.load.connections);
            row.load.depth = self.pipeline.or(row.load.depth);
            if output.depth_unsaid && row.load.depth.is_none() {
                row.load.connections = None;
            }
            unsaid |= row.load.connections.is_none() && row.load.users.is_none() && !row.load.scheduled;
        }
        let table = Table { title: output.tool.name().to_owned(), tool: Some(output.tool), rows: output.rows, quotients: Vec::new() };
        let article = Article { name: name.to_owned(), title: name.to_owned(), source: String::new(), tables: vec![table] };
        Ok((article, output.hint.filter(|_| unsaid)))
    }
}

#[cfg(test)]
mod tests;
