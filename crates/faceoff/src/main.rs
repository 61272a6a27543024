//! The `faceoff` command: its arguments, and which module runs each subcommand.
//!
//! Start with [`Command`] for the list of subcommands. Each one is a module in `commands`. What
//! another program could use lives in the crates below: `lab` runs experiments, `judge` decides
//! verdicts, `report` writes pages.

mod commands;
#[cfg(test)]
#[path = "../tests/suite/documents.rs"]
mod documents;
mod exit;
mod kernel;
mod output;
mod progress;
#[cfg(test)]
mod reference;
mod signals;
mod tone;

use clap::{CommandFactory, Parser, Subcommand};
use exit::Error;
use interop::external_generator::can_make;
use output::{Format, FormatOption};
use spec::catalog::Catalog;
use spec::problem::Problems;
use std::path::PathBuf;
use std::process::ExitCode;

/// Settles which of several HTTP services, proxies or builds is better, and by
/// how much, on this machine.
#[derive(Parser)]
#[command(
    name = "faceoff",
    version,
    max_term_width = 100,
    after_help = "Begin with:\n  faceoff vs URL URL                        compare two running services\n  faceoff init                              create an experiment for two services of yours\n  faceoff run reverse-proxy --quick         test the claim of an article again, in a clone of faceoff\n\nEach command's help ends with its exit codes."
)]
struct Cli {
    /// The folder with systems/, workloads/ and experiments/, or with a catalog/ that has them
    /// [default: this folder or the nearest above it]
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// When to use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    color: output::Colour,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run an experiment: build, check responses, measure, judge and write a report
    Run(commands::run::Options),
    /// Build and start systems, check their responses, and stop them
    Check(commands::check::Options),
    /// Build systems whose sources have changed
    Build(commands::build::Options),
    /// List the systems, workloads and experiments in this folder
    #[command(after_help = "Exit codes: 0 listed, 2 usage or a problem in a file.")]
    List(FormatOption),
    /// Show examples
    #[command(after_help = commands::examples::EXAMPLES)]
    Examples,
    /// Show the tools that systems need: version found, needed by, how to install
    #[command(
        after_help = "Exit codes: 0 shown, also if a tool is missing, 2 usage or a problem in a \
                      file."
    )]
    Doctor(FormatOption),
    /// Judge a record again: verdicts and claims
    Judge(commands::judge::Options),
    /// Explain the verdicts of a profiled record: where CPU time goes
    Why(commands::why::Options),
    /// Write a record's report again
    Report(commands::report::Options),
    /// Export a record: tables, histograms, test reports, charts, profiles
    Export(commands::export::Options),
    /// Send a load to one URL and show what was measured
    Load(Box<commands::load::Options>),
    /// Generate load on this machine for `faceoff load --agents` and `faceoff run --agents`
    Agent(commands::agent::Options),
    /// Measure with the options of wrk and wrk2, and print their output format
    Wrk(commands::load::wrk::Options),
    /// Show which claims of articles records confirm or refute, as one page per article
    Articles(commands::articles::Options),
    /// Compare two or more services: URLs, commands or container images
    Vs(commands::vs::Options),
    /// Find impossible numbers in benchmark tables and load-generator output
    Audit(commands::audit::Options),
    /// Convert a JMeter plan, wrk script, HAR file, curl command line or OpenAPI description
    Import(commands::import::Options),
    /// Create an experiment for two services of yours, and check that both respond alike
    Init(commands::init::Options),
    /// Measure a server with known timings, to check faceoff and this machine
    Selftest(commands::selftest::Options),
    /// Serve the records of a folder as a local web site
    Serve(commands::serve::Options),
    /// Remove build stamps, logs, and processes that a killed run left behind
    Clean(commands::clean::Options),
    /// Write shell completions and manual pages into a folder
    Generate(commands::generate::Options),
}

impl Command {
    /// Whether the subcommand sends requests, and so needs a kernel that can wait to the
    /// nanosecond.
    fn sends_requests(&self) -> bool {
        matches!(
            self,
            Command::Run(_)
                | Command::Check(_)
                | Command::Load(_)
                | Command::Agent(_)
                | Command::Wrk(_)
                | Command::Vs(_)
                | Command::Init(_)
                | Command::Selftest(_)
        )
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    if arguments.get(1).is_some_and(|a| a == runner::guard::ARGUMENT) {
        return runner::guard::main(&arguments[2..]);
    }
    if arguments.get(1).is_some_and(|a| a == runner::awake::ARGUMENT) {
        return runner::awake::main(&arguments[2..]);
    }
    // Read before anything raises the limit: systems get the one that faceoff was started with.
    runner::start::usual_descriptors();
    let cli = Cli::parse();
    output::use_colour(cli.color);
    let Some(command) = &cli.command else {
        output::print(commands::examples::START);
        return ExitCode::SUCCESS;
    };
    let checked = if command.sends_requests() { kernel::check() } else { Ok(()) };
    checked.and_then(|()| run(&cli, command)).unwrap_or_else(|error| {
        output::message(&error.to_string());
        error.code()
    })
}

/// Runs a subcommand.
fn run(cli: &Cli, command: &Command) -> Result<ExitCode, Error> {
    let catalog = || open_catalog(cli.dir.clone());
    match command {
        Command::Run(options) => commands::run::run(&catalog()?, options),
        Command::Check(options) => commands::check::run(&catalog()?, options),
        Command::Build(options) => commands::build::run(&catalog()?, options),
        Command::List(options) => commands::list::run(&catalog()?, options.format),
        Command::Doctor(options) => match catalog() {
            Err(_) if cli.dir.is_none() => Ok(commands::doctor::elsewhere(options.format)),
            found => commands::doctor::run(&found?, options.format),
        },
        Command::Judge(options) => commands::judge::run(options),
        Command::Why(options) => commands::why::run(options),
        Command::Report(options) => commands::report::run(options),
        Command::Export(options) => commands::export::run(options),
        Command::Load(options) => commands::load::run(options),
        Command::Agent(options) => commands::agent::run(options),
        Command::Wrk(options) => commands::load::wrk::run(options),
        Command::Articles(options) => commands::articles::run(&catalog()?, options),
        Command::Vs(options) => {
            commands::vs::run(cli.dir.as_deref(), catalog().ok().as_ref(), options)
        }
        Command::Audit(options) => commands::audit::run(&catalog, options),
        Command::Import(options) => commands::import::run(options),
        Command::Init(options) => commands::init::run(cli.dir.as_deref(), options),
        Command::Selftest(options) => commands::selftest::run(&catalog()?, options),
        Command::Serve(options) => commands::serve::run(catalog().ok().as_ref(), options),
        Command::Clean(options) => commands::clean::run(&catalog()?, options),
        Command::Examples => {
            output::line(commands::examples::EXAMPLES);
            Ok(ExitCode::SUCCESS)
        }
        Command::Generate(options) => commands::generate::run(options, &Cli::command()),
    }
}

/// Opens the project that was named, or the nearest one.
fn open_catalog(dir: Option<PathBuf>) -> Result<Catalog, Problems> {
    if let Some(dir) = dir {
        return Ok(Catalog::open(&dir)?.with_generators(can_make));
    }
    let here = std::env::current_dir().unwrap_or_else(|_| ".".into());
    let found = Catalog::find(&here).map(|catalog| catalog.with_generators(can_make));
    found.ok_or_else(|| {
        Problems::plain(
            format!("neither {} nor a folder above it holds systems/, workloads/ or experiments/", here.display()),
            "`faceoff vs URL URL` needs no such folder, and `faceoff init` makes one; name one that is there with --dir",
        )
    })
}
