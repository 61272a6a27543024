//! `faceoff export`: writes a record as files for other tools (docs/guide/export.md).
//!
//! `report::export` converts the record; this module checks the options and writes the files.

use super::values::metric;
use crate::exit::Error;
use crate::output::{line, message};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use lab::record_files::{create_folder, write_file};
use record::Record;
use report::export::{self, Chart, File, Of, Source};
use spec::metric::Metric;
use spec::name::{ContenderName, did_you_mean};
use spec::problem::Problems;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `faceoff export`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 written, 1 cannot be written, 2 usage, no record, or nothing for \
                  this format in it."
)]
pub struct Options {
    /// The record's folder
    record: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: To,
    /// The file, or for hgrm the folder, to write [default: standard output, if the format is text]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// The table to export, for csv and parquet [default: verdicts]
    #[arg(long, value_enum, value_name = "TABLE")]
    table: Option<TableName>,
    /// The chart to export, for svg and png [default: verdicts]
    #[arg(long, value_name = "CHART", value_parser = charts())]
    chart: Option<Chart>,
    /// Only this metric, in charts that show several; repeatable
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    metric: Vec<Metric>,
    /// Only this cell; repeatable
    #[arg(long, value_name = "CELL")]
    cell: Vec<String>,
    /// Only this contender; repeatable
    #[arg(long, value_name = "CONTENDER")]
    contender: Vec<ContenderName>,
}

/// The formats that a record can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// A table as CSV; see --table
    Csv,
    /// Stacks of profiled blocks for the Firefox Profiler
    Firefox,
    /// Stacks of profiled blocks, folded, for flamegraph.pl and inferno
    Folded,
    /// An HdrHistogram interval log of every measurement
    Hdr,
    /// HdrHistogram percentile distributions, one file per measurement
    Hgrm,
    /// JUnit XML with a test for each claim
    Junit,
    /// The answer, claims and verdicts, for a pull request
    Markdown,
    /// OpenMetrics text
    Openmetrics,
    /// A table as Parquet; see --table
    Parquet,
    /// A chart as PNG; see --chart. Needs a build with the feature `png`
    Png,
    /// Stacks of profiled blocks for pprof, gzipped
    Pprof,
    /// Stacks of profiled blocks for speedscope
    Speedscope,
    /// A chart as SVG; see --chart
    Svg,
}

fn charts() -> impl TypedValueParser<Value = Chart> {
    PossibleValuesParser::new(Chart::ALL.map(Chart::name))
        .try_map(|name| Chart::named(&name).ok_or("no such chart"))
}

/// The tables that a record can be exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// Each contender compared with the baseline, by cell and metric
    Verdicts,
    /// The claims and their outcomes
    Claims,
    /// Each cell of each trial
    Measurements,
    /// Each second of each measurement
    Seconds,
    /// Latency quantiles
    Quantiles,
    /// Each start of each contender
    Starts,
}

impl TableName {
    fn exported(self) -> Of {
        match self {
            TableName::Verdicts => Of::Verdicts,
            TableName::Claims => Of::Claims,
            TableName::Measurements => Of::Measurements,
            TableName::Seconds => Of::Seconds,
            TableName::Quantiles => Of::Quantiles,
            TableName::Starts => Of::Starts,
        }
    }
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    options.check(&record)?;
    let judgement = judge::judge(&record);
    let (cells, contenders, metrics) = (&options.cell, &options.contender, &options.metric);
    let source = Source { record: &record, judgement: &judgement, cells, contenders, metrics };
    if matches!(options.to, To::Hdr | To::Hgrm | To::Openmetrics) {
        source.left_out().for_each(|who| message(&format!("excluded: {who}")));
    }
    let table = || export::table(&source, options.table.map_or(Of::Verdicts, TableName::exported));
    let chart = options.chart.unwrap_or(Chart::Verdicts);
    match options.to {
        To::Csv => options.put(&export::csv(&table())),
        To::Firefox => options.put(&export::firefox(&source)?),
        To::Folded => options.put(&export::folded(&source)?),
        To::Hdr => options.put(&export::hdr(&source)?),
        To::Hgrm => {
            let folder = options.folder()?;
            export::hgrm(&source)?.try_for_each(|file| put_into(folder, &file))?;
            line(&folder.display().to_string());
            Ok(())
        }
        To::Junit => options.put(&export::junit(&record, &judgement)),
        To::Markdown => options.put(&export::markdown(&record, &judgement)),
        To::Openmetrics => options.put(&export::openmetrics(&source)),
        To::Parquet => options.put_bytes(&columns(&table())?),
        To::Png => options.put_bytes(&pixels(&source, chart)?),
        To::Pprof => options.put_bytes(&export::pprof(&source)?),
        To::Speedscope => options.put(&export::speedscope(&source)?),
        To::Svg => options.put(&export::svg(&source, chart)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

impl Options {
    /// Refuses options that contradict each other, or that the record cannot satisfy.
    fn check(&self, record: &Record) -> Result<(), Problems> {
        let is_whole = matches!(self.to, To::Junit | To::Markdown);
        if is_whole && !(self.cell.is_empty() && self.contender.is_empty()) {
            return Err(Problems::plain(
                "this format covers the whole record",
                "leave out --cell and --contender",
            ));
        }
        if self.table.is_some() && !matches!(self.to, To::Csv | To::Parquet) {
            return Err(Problems::plain(
                "--table chooses a table, and this format has none",
                "leave it out, or use --to csv",
            ));
        }
        let is_picture = matches!(self.to, To::Svg | To::Png);
        if self.chart.is_some() && !is_picture {
            return Err(Problems::plain(
                "--chart chooses a chart, and this format has none",
                "leave it out, or use --to svg",
            ));
        }
        let shows_metrics = is_picture && self.chart.is_none_or(Chart::has_metrics);
        if !self.metric.is_empty() && !shows_metrics {
            let all: Vec<&str> = Chart::ALL
                .into_iter()
                .filter(|chart| chart.has_metrics())
                .map(Chart::name)
                .collect();
            let hint =
                format!("leave it out, or use --to svg --chart with one of {}", all.join(", "));
            return Err(Problems::plain(
                "--metric chooses among several metrics, and this format shows no choice of them",
                hint,
            ));
        }
        let is_text = !matches!(self.to, To::Parquet | To::Png | To::Pprof);
        if !is_text && self.out.is_none() && std::io::stdout().is_terminal() {
            return Err(Problems::plain(
                "this format is binary, and standard output is a terminal",
                "name a file with --out",
            ));
        }
        let cells = || record.header.experiment.cells.iter().map(|c| c.name.as_str());
        if let Some(unknown) = self.cell.iter().find(|name| !cells().any(|cell| cell == *name)) {
            let all: Vec<&str> = cells().collect();
            return Err(Problems::plain(
                format!("the record has no cell `{unknown}`"),
                did_you_mean(unknown, all),
            ));
        }
        let contenders = || record.header.contenders.iter().map(|p| &p.name);
        if let Some(unknown) =
            self.contender.iter().find(|name| !contenders().any(|known| known == *name))
        {
            let all: Vec<String> = contenders().map(ToString::to_string).collect();
            let all = all.iter().map(String::as_str);
            return Err(Problems::plain(
                format!("the record has no contender `{unknown}`"),
                did_you_mean(&unknown.to_string(), all),
            ));
        }
        Ok(())
    }

    fn put(&self, text: &str) -> Result<(), Error> {
        if self.out.is_none() {
            crate::output::print(text);
            return Ok(());
        }
        self.put_bytes(text.as_bytes())
    }

    fn put_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        match &self.out {
            Some(path) => {
                write_file(path, bytes)?;
                line(&path.display().to_string());
            }
            None if std::io::stdout().is_terminal() && std::str::from_utf8(bytes).is_err() => {
                return Err(Problems::plain(
                    "this format is binary, and standard output is a terminal",
                    "name a file with --out",
                )
                .into());
            }
            None => crate::output::bytes(bytes),
        }
        Ok(())
    }

    /// Returns the output folder, which is created if necessary.
    fn folder(&self) -> Result<&Path, Error> {
        let Some(folder) = self.out.as_deref() else {
            return Err(Problems::plain(
                "this format has one file per measurement",
                "name a folder with --out",
            )
            .into());
        };
        create_folder(folder, "--out")?;
        Ok(folder)
    }
}

#[cfg(feature = "png")]
fn pixels(source: &Source<'_>, chart: Chart) -> Result<Vec<u8>, Problems> {
    export::png(source, chart)
}

#[cfg(not(feature = "png"))]
fn pixels(_: &Source<'_>, _: Chart) -> Result<Vec<u8>, Problems> {
    Err(Problems::missing_feature("png", "draw a PNG; --to svg works without it"))
}

#[cfg(feature = "parquet")]
fn columns(table: &export::Table) -> Result<Vec<u8>, Problems> {
    export::parquet(table)
}

#[cfg(not(feature = "parquet"))]
fn columns(_: &export::Table) -> Result<Vec<u8>, Problems> {
    Err(Problems::missing_feature("parquet", "write Parquet; --to csv works without it"))
}

fn put_into(folder: &Path, file: &File) -> Result<(), Error> {
    Ok(write_file(&folder.join(&file.name), &file.text)?)
}
