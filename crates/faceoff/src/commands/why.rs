//! `faceoff why`: prints where the CPU time of a profiled record went, and what explains the
//! difference between contenders. Runs nothing and writes nothing.
//!
//! `judge::causes` computes it, `report::why` words it (docs/guide/why.md).

use crate::exit::Error;
use crate::output;
use clap::Args;
use judge::causes::{Categories, all_causes};
use record::Record;
use spec::categories::read_categories;
use std::path::PathBuf;
use std::process::ExitCode;

/// What a record without profiles lacks.
pub const NO_PROFILES: &str = "no profiles, so nothing shows where CPU time goes";

/// Options of `faceoff why`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 explained, 1 the record has no profiles, 2 usage or no record."
)]
pub struct Options {
    /// The record's folder
    record: PathBuf,
    /// A file with categories of your own, which come before those of the experiment and those that
    /// ship with faceoff
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
    /// Print the causes as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    let own = options.categories.as_deref().map_or(Ok(Vec::new()), read_categories)?;
    let causes = all_causes(&record, &Categories::of_record(&record, own));
    if causes.is_empty() {
        return Err(Error::Failed(format!(
            "{} has {NO_PROFILES}\n\
             hint: run it again with --profile, which adds profiled blocks after the judged ones",
            options.record.display()
        )));
    }
    match options.json {
        true => output::json(&causes),
        false => output::print(&report::why(&causes)),
    }
    Ok(ExitCode::SUCCESS)
}
