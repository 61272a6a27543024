//! `faceoff export`: a record as files for other tools (docs/export.md).

use super::run::{write_bytes, write_file};
use crate::exit::Error;
use crate::output::{line, message};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use model::metric::Metric;
use model::name::{ContenderName, did_you_mean};
use model::problem::Problems;
use model::record::Record;
use report::export::{self, Chart, File, Of, Source};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `faceoff export` is asked.
#[derive(Args)]
pub struct Options {
    /// The record's folder
    record: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: To,
    /// Where it goes: a file, or the folder for hgrm and jtl [default: standard output, where the format is text]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Which table, for csv and parquet [default: verdicts]
    #[arg(long, value_enum, value_name = "TABLE")]
    table: Option<TableName>,
    /// Which picture, for svg and png [default: verdicts]
    #[arg(long, value_name = "CHART", value_parser = charts())]
    chart: Option<Chart>,
    /// Only this metric, in pictures that show several; may be given several times
    #[arg(long, value_name = "METRIC", value_parser = super::run::metric)]
    metric: Vec<Metric>,
    /// Only this cell; may be given several times
    #[arg(long, value_name = "CELL")]
    cell: Vec<String>,
    /// Only this contender; may be given several times
    #[arg(long, value_name = "CONTENDER")]
    contender: Vec<ContenderName>,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// A table as CSV, see --table
    Csv,
    /// An HdrHistogram interval log of every measurement
    Hdr,
    /// HdrHistogram's percentile distributions, a file each
    Hgrm,
    /// JMeter's samples as CSV, a file for each measurement
    Jtl,
    /// A test for each claim
    Junit,
    /// The answer, claims and verdicts, for a pull request
    Markdown,
    /// OpenMetrics text
    Openmetrics,
    /// A table as Parquet, see --table
    Parquet,
    /// The body of a request to Prometheus's remote write
    RemoteWrite,
    /// A picture as svg, in pixels, see --chart; of a faceoff that was built with it
    Png,
    /// A picture, see --chart
    Svg,
}

fn charts() -> impl TypedValueParser<Value = Chart> {
    PossibleValuesParser::new(Chart::ALL.map(Chart::name)).try_map(|name| Chart::named(&name).ok_or("no such chart"))
}

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// Contender against baseline, by cell and metric
    Verdicts,
    /// The claims
    Claims,
    /// Each cell of each trial
    Measurements,
    /// Each second of each measurement
    Seconds,
    /// Latency by quantile
    Quantiles,
    /// Each start of each contender
    Starts,
}

impl TableName {
    fn of(self) -> Of {
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

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    options.check(&record)?;
    let judgement = judge::judge(&record);
    let (cells, contenders, metrics) = (&options.cell, &options.contender, &options.metric);
    let source = Source { record: &record, judgement: &judgement, cells, contenders, metrics };
    if matches!(options.to, To::Hdr | To::Hgrm | To::Jtl | To::Openmetrics | To::RemoteWrite) {
        source.left_out().for_each(|who| message(&format!("left out: {who}")));
    }
    let table = || export::table(&source, options.table.map_or(Of::Verdicts, TableName::of));
    let chart = options.chart.unwrap_or(Chart::Verdicts);
    match options.to {
        To::Csv => options.put(&export::csv(&table())),
        To::Hdr => options.put(&export::hdr(&source)?),
        To::Hgrm => {
            let folder = options.folder()?;
            export::hgrm(&source)?.try_for_each(|file| put_into(folder, &file))?;
            line(&folder.display().to_string());
            Ok(())
        }
        To::Jtl => options.put_samples(&source),
        To::Junit => options.put(&export::junit(&record, &judgement)),
        To::Markdown => options.put(&export::markdown(&record, &judgement)),
        To::Openmetrics => options.put(&export::openmetrics(&source)),
        To::Parquet => options.put_bytes(&columns(&table())?),
        To::RemoteWrite => options.put_bytes(&export::remote_write(&source)?),
        To::Png => options.put_bytes(&pixels(&source, chart)?),
        To::Svg => options.put(&export::svg(&source, chart)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

impl Options {
    /// What the record does not have, or what does not go together.
    fn check(&self, record: &Record) -> Result<(), Problems> {
        let is_whole = matches!(self.to, To::Junit | To::Markdown);
        if is_whole && !(self.cell.is_empty() && self.contender.is_empty()) {
            return Err(Problems::plain("this format tells of the whole record", "leave --cell and --contender out"));
        }
        if self.table.is_some() && !matches!(self.to, To::Csv | To::Parquet) {
            return Err(Problems::plain(
                "--table chooses what stands in a table, and this format is none",
                "leave it out, or write --to csv",
            ));
        }
        let is_picture = matches!(self.to, To::Svg | To::Png);
        if self.chart.is_some() && !is_picture {
            return Err(Problems::plain("--chart chooses a picture, and this format is none", "leave it out, or write --to svg"));
        }
        let shows_metrics = is_picture && self.chart.is_none_or(Chart::has_metrics);
        if !self.metric.is_empty() && !shows_metrics {
            let all: Vec<&str> = Chart::ALL.into_iter().filter(|chart| chart.has_metrics()).map(Chart::name).collect();
            let hint = format!("leave it out, or write --to svg --chart with one of {}", all.join(", "));
            return Err(Problems::plain("--metric chooses among metrics, and this shows none to choose from", hint));
        }
        let is_text = !matches!(self.to, To::Parquet | To::RemoteWrite | To::Png);
        if !is_text && self.out.is_none() && std::io::stdout().is_terminal() {
            return Err(Problems::plain("this format is nothing that a terminal shows", "name a file for it with --out"));
        }
        let cells = || record.header.experiment.cells.iter().map(|c| c.name.as_str());
        if let Some(unknown) = self.cell.iter().find(|name| !cells().any(|cell| cell == *name)) {
            let all: Vec<&str> = cells().collect();
            return Err(Problems::plain(format!("the record has no cell `{unknown}`"), did_you_mean(unknown, all)));
        }
        let contenders = || record.header.contenders.iter().map(|p| &p.name);
        if let Some(unknown) = self.contender.iter().find(|name| !contenders().any(|known| known == *name)) {
            let all: Vec<String> = contenders().map(ToString::to_string).collect();
            let all = all.iter().map(String::as_str);
            return Err(Problems::plain(format!("the record has no contender `{unknown}`"), did_you_mean(&unknown.to_string(), all)));
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
                write_bytes(path, bytes)?;
                line(&path.display().to_string());
            }
            None => crate::output::bytes(bytes),
        }
        Ok(())
    }

    /// Made where it is not there.
    fn folder(&self) -> Result<&Path, Error> {
        let Some(folder) = self.out.as_deref() else {
            return Err(Problems::plain("this format is a file for each measurement", "name a folder for them with --out").into());
        };
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::Failed(format!("{} cannot be made: {e}\nhint: name another folder with --out", folder.display())))?;
        Ok(folder)
    }

    fn put_samples(&self, source: &Source<'_>) -> Result<(), Error> {
        let folder = self.folder()?;
        let (mut written, mut refused) = (0, Vec::new());
        for file in export::jtl(source)? {
            match file {
                Ok(file) => {
                    put_into(folder, &file)?;
                    written += 1;
                }
                Err(why) => refused.push(why),
            }
        }
        if written == 0 {
            return Err(Error::Failed(format!(
                "no measurement can be told as samples:\n  {}\nhint: hdr, hgrm and csv tell what a record has",
                refused.join("\n  ")
            )));
        }
        refused.iter().for_each(|why| message(&format!("not written: {why}")));
        message(
            "samples are made from histograms: sums are those of the record, no line is a request that was seen; first byte, connecting and bytes sent stand at 0, as a record has none of each",
        );
        line(&folder.display().to_string());
        Ok(())
    }
}

#[cfg(feature = "png")]
fn pixels(source: &Source<'_>, chart: Chart) -> Result<Vec<u8>, Problems> {
    export::png(source, chart)
}

#[cfg(not(feature = "png"))]
fn pixels(_: &Source<'_>, _: Chart) -> Result<Vec<u8>, Problems> {
    Err(crate::features::missing("png", "draw a PNG; --to svg works without it"))
}

#[cfg(feature = "parquet")]
fn columns(table: &export::Table) -> Result<Vec<u8>, Problems> {
    export::parquet(table)
}

#[cfg(not(feature = "parquet"))]
fn columns(_: &export::Table) -> Result<Vec<u8>, Problems> {
    Err(crate::features::missing("parquet", "write Parquet; --to csv works without it"))
}

fn put_into(folder: &Path, file: &File) -> Result<(), Error> {
    write_file(&folder.join(&file.name), &file.text)
}
