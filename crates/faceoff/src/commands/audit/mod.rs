//! `faceoff audit`: published tables and outputs of load generators, checked for what cannot be.

mod jmeter;
mod json;
mod output;
mod text;

use crate::Format;
use crate::exit::{BREACHED, Error};
use crate::output::{json as print_json, message, print};
use clap::Args;
use judge::audit::{Audit, SCHEMA, audit};
use model::article::{Article, Row, Table, Tool};
use model::catalog::Catalog;
use model::problem::Problems;
use serde_json::json as value;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

/// The most that a summary may hold. Lists of samples are read as they come.
const LONGEST_SUMMARY: u64 = 16 << 20;
/// How much of an input shows what it is.
const HEAD: u64 = 64 << 10;
/// What some editors and spreadsheets put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What `faceoff audit` is asked.
#[derive(Args)]
pub struct Options {
    /// Output of wrk, wrk2, oha, k6, h2load, hey, ab or JMeter (JTL, summary), or a table as in articles/; `-` is
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

/// What a load generator printed.
pub struct Output {
    tool: Tool,
    rows: Vec<Row>,
    /// How to say what it leaves unsaid and Little's law needs.
    hint: Option<&'static str>,
    /// Whether connections hold several requests, and it does not say how many.
    depth_unsaid: bool,
}

impl Output {
    /// What it says, one run a row.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }
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

/// Reads what a load generator wrote, whichever it was.
///
/// # Errors
/// When it cannot be read, or nothing known wrote it.
pub fn read(name: &str, mut input: impl Read) -> Result<Output, Problems> {
    let failed = |e: io::Error| Problems::plain(format!("{name} cannot be read: {e}"), "is it there, and yours to read?");
    let mut bytes = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if jmeter::is_samples(&bytes) {
        let rows = jmeter::samples(io::Cursor::new(bytes).chain(input)).map_err(|e| {
            Problems::plain(format!("{name} cannot be read as samples: {e}"), "save them as CSV with JMeter's usual columns")
        })?;
        if rows.is_empty() {
            return Err(Problems::plain(
                format!("{name} holds no samples, only the names of columns"),
                "was the test ended before its first answer?",
            ));
        }
        return Ok(Output { tool: Tool::Jmeter, rows, hint: None, depth_unsaid: false });
    }
    input.take(LONGEST_SUMMARY - HEAD + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST_SUMMARY {
        return Err(Problems::plain(
            format!("{name} is longer than any summary"),
            "give the summary that the tool prints, or JMeter's samples as CSV",
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    let output = find(&text).filter(|output| !output.rows.is_empty());
    output.ok_or_else(|| {
        let hint = match text.lines().next().unwrap_or_default() {
            _ if text.contains("<testResults") => "save the samples as CSV (jmeter.save.saveservice.output_format=csv)",
            first if first.contains("timeStamp") && first.contains("elapsed") => {
                "save the samples with commas between them (jmeter.save.saveservice.default_delimiter=,)"
            }
            _ => "known are the summaries of wrk, wrk2, oha, k6, h2load, hey, ab and JMeter, and JMeter's samples as CSV; tables are written as in docs/audit.md",
        };
        Problems::plain(format!("{name} is not the output of a load generator that is known"), hint)
    })
}

fn find(text: &str) -> Option<Output> {
    if let Ok(document) = serde_json::from_str::<serde_json::Value>(text) {
        return json::read(&document);
    }
    jmeter::summary(text).or_else(|| text::read(text))
}

#[cfg(test)]
mod tests;
