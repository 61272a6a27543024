//! `faceoff check`: builds and starts systems, checks their responses, and stops them.
//!
//! `plan` finds what each check needs before the first build, `job` does one check after another,
//! and `checking` runs several jobs and prints their outcomes. Start there.

mod checking;
mod job;
mod outcome;
mod plan;

pub use checking::{Wanted, check_all};

use super::{contenders, lock};
use crate::exit::Error;
use crate::output::Format;
use clap::Args;
use spec::catalog::Catalog;
use spec::experiment::RunnerKind;
use spec::name::ContenderName;
use std::process::ExitCode;

/// Options of `faceoff check`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 all respond correctly (anything skipped is listed), 1 one does \
                  not, 2 usage or a problem in a file, 130 and 143 interrupted."
)]
pub struct Options {
    /// Systems to check; variants as `system:variant` or `system:one+another`
    #[arg(required_unless_present = "all")]
    systems: Vec<String>,
    /// Check every system here, with each of its variants
    #[arg(long)]
    all: bool,
    /// The system that proxies forward to [default: the upstream of an experiment with the proxy,
    /// or with a workload that it serves]
    #[arg(long, value_name = "SYSTEM")]
    upstream: Option<ContenderName>,
    /// How systems run: process, docker for containers of this machine's engine, or kubernetes for
    /// pods of kubectl's cluster [default: process]
    #[arg(long, value_name = "RUNNER", value_parser = super::values::runner_kind)]
    runner: Option<RunnerKind>,
    /// Number of systems to build and check at a time. Variants of one system, and systems that
    /// build into the same folder, are still handled one after another. Starts that share the
    /// machine take longer
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let contenders = contenders(catalog, &options.systems, options.all)?;
    let _lock = lock(&stop)?;
    let wanted = Wanted {
        upstream: options.upstream.as_ref(),
        kind: options.runner.unwrap_or_default(),
        jobs: options.jobs.into(),
        format: options.format,
    };
    check_all(catalog, contenders, &wanted, &stop)
}
