//! `faceoff judge`: prints the verdicts of a record. Runs nothing and writes nothing.

use super::values::PriceOption;
use crate::exit::{Error, judgement_code};
use crate::output::{self, Format, print, summary};
use clap::Args;
use lab::record_files::judgement_text;
use record::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `faceoff judge`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 judged, 1 a trial failed or is missing, 2 usage or no record, 3 \
                  a claim was refuted (with --strict), 4 nothing could be judged."
)]
pub struct Options {
    /// The record's folder, or a compressed record
    record: PathBuf,
    /// Exit with 3 if a claim is refuted
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    price: PriceOption,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    let judgement = judge::judge_with_price(&record, options.price.price());
    match options.format {
        Format::Json => print(&judgement_text(&judgement)),
        Format::Text => {
            output::table(&report::verdict_table(&record, &judgement, output::width()));
            summary(&report::summary(&record, &judgement));
        }
    }
    Ok(judgement_code(&judgement, options.strict))
}
