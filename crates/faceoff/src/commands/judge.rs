use super::run::{code, judgement_text};
use crate::Format;
use crate::exit::Error;
use crate::output::print;
use clap::Args;
use model::record::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `faceoff judge` is asked.
#[derive(Args)]
pub struct Options {
    /// The record's folder
    record: PathBuf,
    /// Exit with 3 when a claim is refuted
    #[arg(long)]
    strict: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    let judgement = judge::judge(&record);
    match options.format {
        Format::Json => print(&judgement_text(&judgement)),
        Format::Text => {
            print(&report::verdict_table(&record, &judgement, crate::output::width()));
            print(&report::summary(&record, &judgement));
        }
    }
    Ok(code(&judgement, options.strict))
}
