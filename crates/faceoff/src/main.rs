//! The command.

mod commands;
#[cfg(test)]
#[path = "../tests/suite/documents.rs"]
mod documents;
mod exit;
mod features;
mod kernel;
mod output;
mod progress;
#[cfg(test)]
mod reference;
mod signals;

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::catalog::Catalog;
use model::problem::Problems;
use std::path::PathBuf;
use std::process::ExitCode;

/// Settles which of several HTTP services, proxies or builds is better, and by
/// how much, on this machine.
#[derive(Parser)]
#[command(
    name = "faceoff",
    version,
    max_term_width = 100,
    after_help = "Begin with:\n  faceoff list                              what is here\n  faceoff doctor                            which tools are missing, and how to get them\n  faceoff run reverse-proxy --quick         a first answer within minutes\n\nExit codes: 0 done (what is skipped is said), 1 a tool or a trial failed, 2 usage, 3 a claim refuted\n(with --strict) or worse than at a revision (--against), a table flagged by audit or a truth missed by selftest, 4 the measurement is unsound, 130 and 143 interrupted."
)]
struct Cli {
    /// The folder with systems/, workloads/ and experiments/ [default: this folder or the nearest above it]
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an experiment: build, prove the answers, measure in interleaved trials, judge, leave a page
    Run(commands::run::Options),
    /// Build and start systems, prove that they answer rightly, and stop them
    Check(commands::check::Options),
    /// Build systems; what has not changed is not built again
    Build(commands::build::Options),
    /// Show the systems, workloads and experiments that are here
    List(FormatOption),
    /// Show the tools that systems need: found version, needed by, how to get them
    Doctor(FormatOption),
    /// Judge a record again: verdicts and claims
    Judge(commands::judge::Options),
    /// Make a record's page again
    Report(commands::report::Options),
    /// Write a record for other tools: CSV, Parquet, HdrHistogram, JMeter, JUnit, Markdown, OpenMetrics, a picture
    Export(commands::export::Options),
    /// Put a load on one URL and show what it measured
    Load(Box<commands::load::Options>),
    /// Make parts of loads for `faceoff load --agents` on other machines, for whoever knows the token
    Agent(commands::agent::Options),
    /// As wrk and wrk2 are called, and in their words
    Wrk(commands::load::wrk::Options),
    /// Show what the claims of the articles came to, from records, as a Markdown document
    Articles(commands::articles::Options),
    /// Compare two services that already run, interleaved, by the same rule
    Vs(commands::vs::Options),
    /// Check published tables and outputs of load generators for what cannot be
    Audit(commands::audit::Options),
    /// Make a workload and a load of a JMeter plan, a wrk script, a recording, a curl command line or an OpenAPI description
    Import(commands::import::Options),
    /// Write the files for two services of your own, and prove that both answer alike
    Init(commands::init::Options),
    /// Measure a server whose truth is known, and say whether this machine and faceoff find it
    Selftest(commands::selftest::Options),
    /// Show the records of a folder as a site: a list, each page, two side by side, a run that goes on
    Serve(commands::serve::Options),
    /// Remove what faceoff keeps: build stamps and logs, processes that a killed run left
    Clean(commands::clean::Options),
    /// Write shell completions and manual pages into a folder
    Generate(commands::generate::Options),
}

impl Command {
    /// Whether it sends requests to a service, and so needs a kernel that can wait to the nanosecond.
    fn sends(&self) -> bool {
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

/// How data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Args)]
struct FormatOption {
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    if arguments.get(1).is_some_and(|a| a == runner::guard::ARGUMENT) {
        return runner::guard::main(&arguments[2..]);
    }
    if arguments.get(1).is_some_and(|a| a == runner::awake::ARGUMENT) {
        return runner::awake::main(&arguments[2..]);
    }
    // Read before anything raises it: systems get the limit that faceoff was given.
    runner::start::usual_descriptors();
    let cli = Cli::parse();
    if cli.command.sends()
        && let Err(error) = kernel::check()
    {
        output::error(&error.to_string());
        return error.code();
    }
    let catalog = || open_catalog(cli.dir.clone());
    let result = match &cli.command {
        Command::Run(options) => catalog().map_err(Into::into).and_then(|c| commands::run::run(&c, options)),
        Command::Check(options) => catalog().map_err(Into::into).and_then(|c| commands::check::run(&c, options)),
        Command::Build(options) => catalog().map_err(Into::into).and_then(|c| commands::build::run(&c, options)),
        Command::List(options) => catalog().map_err(Into::into).and_then(|c| commands::list::run(&c, options.format)),
        Command::Doctor(options) => catalog().map_err(Into::into).and_then(|c| commands::doctor::run(&c, options.format)),
        Command::Judge(options) => commands::judge::run(options),
        Command::Report(options) => commands::report::run(options),
        Command::Export(options) => commands::export::run(options),
        Command::Load(options) => commands::load::run(options),
        Command::Agent(options) => commands::agent::run(options),
        Command::Wrk(options) => commands::load::wrk::run(options),
        Command::Articles(options) => catalog().map_err(Into::into).and_then(|c| commands::articles::run(&c, options)),
        Command::Vs(options) => commands::vs::run(cli.dir.as_deref(), catalog().ok().as_ref(), options),
        Command::Audit(options) => commands::audit::run(&catalog, options),
        Command::Import(options) => commands::import::run(options),
        Command::Init(options) => commands::init::run(cli.dir.as_deref(), options),
        Command::Selftest(options) => catalog().map_err(Into::into).and_then(|c| commands::selftest::run(&c, options)),
        Command::Serve(options) => commands::serve::run(catalog().ok().as_ref(), options),
        Command::Clean(options) => catalog().map_err(Into::into).and_then(|c| commands::clean::run(&c, options)),
        Command::Generate(options) => commands::generate::run(options),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            output::error(&error.to_string());
            error.code()
        }
    }
}

/// The folder that was named, or the nearest that looks like one.
fn open_catalog(dir: Option<PathBuf>) -> Result<Catalog, Problems> {
    if let Some(dir) = dir {
        return Catalog::open(&dir);
    }
    let here = std::env::current_dir().unwrap_or_else(|_| ".".into());
    here.ancestors().find_map(|folder| Catalog::open(folder).ok()).ok_or_else(|| {
        Problems::plain(
            format!("neither {} nor a folder above it holds systems/, workloads/ or experiments/", here.display()),
            "name the folder with --dir, or run faceoff inside it",
        )
    })
}
