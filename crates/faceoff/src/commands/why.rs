//! `faceoff why`: prints where the CPU time of a profiled record went, and what explains the
//! difference between contenders. Runs nothing and writes nothing.
//!
//! `judge::causes` computes it, `report::why` words it (docs/guide/why.md).

use crate::exit::Error;
use crate::output;
use clap::Args;
use judge::causes::{Categories, all_causes};
use record::Record;
use spec::categories::parse_categories;
use spec::problem::Problems;
use std::path::{Path, PathBuf};
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
    /// A file with categories of your own, which come before those that ship with faceoff
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
    /// Print the causes as JSON
    #[arg(long)]
    json: bool,
}

/// Returns the categories that ship with faceoff, after those of a file.
fn categories(file: Option<&Path>) -> Result<Categories, Problems> {
    let Some(file) = file else { return Ok(Categories::shipped()) };
    let text = std::fs::read_to_string(file).map_err(|e| {
        Problems::plain(
            format!("{} cannot be read: {e}", file.display()),
            "name a file with [[category]] tables (docs/guide/why.md)",
        )
    })?;
    parse_categories(file, &text).map(Categories::with_rows)
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let record = Record::read(&options.record)?;
    let causes = all_causes(&record, &categories(options.categories.as_deref())?);
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
