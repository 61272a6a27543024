use super::run::write_file;
use crate::exit::Error;
use crate::output::line;
use clap::Args;
use model::record::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `faceoff report` is asked.
#[derive(Args)]
pub struct Options {
    /// The record's folder
    record: PathBuf,
    /// Where the page goes [default: page.html in the record's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    let page = options.out.clone().unwrap_or_else(|| record.folder.join("page.html"));
    write_file(&page, &report::html(&record, &judge::judge(&record)))?;
    line(&page.display().to_string());
    Ok(ExitCode::SUCCESS)
}
