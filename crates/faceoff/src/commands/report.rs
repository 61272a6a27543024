//! `faceoff report`: writes the report page of a record again.

use super::values::PriceOption;
use crate::exit::Error;
use crate::output::line;
use clap::Args;
use lab::record_files::write_file;
use record::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `faceoff report`.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 written, 1 cannot be written, 2 usage or no record.")]
pub struct Options {
    /// The record's folder
    record: PathBuf,
    /// The report's file [default: page.html in the record's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    price: PriceOption,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    let page = options.out.clone().unwrap_or_else(|| record.folder.join("page.html"));
    let judgement = judge::judge_with_price(&record, options.price.price());
    write_file(&page, report::html(&record, &judgement))?;
    line(&page.display().to_string());
    Ok(ExitCode::SUCCESS)
}
