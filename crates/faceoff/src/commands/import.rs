//! `faceoff import`: writes the plan of another tool as a workload and a load, and lists what could
//! not be carried over. The crate `interop` reads the plans.

use crate::Format;
use crate::exit::{BREACHED, Error};
use crate::output::{json as print_json, print};
use clap::{Args, Subcommand};
use interop::import::{ImportReport, SCHEMA, Written, name_for, read_curl, read_plan};
use spec::name::{NAME_HINT, is_name};
use spec::problem::Problems;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `faceoff import`.
#[derive(Args)]
#[command(
    subcommand_negates_reqs = true,
    after_help = "Exit codes: 0 done (with a list of what could not be carried over), 2 not understood, 3 something could not be carried over (with --strict)."
)]
pub struct Options {
    /// A JMeter plan (.jmx), a script of wrk (.lua), a recording (.har), an OpenAPI description
    /// (.yaml, .json), or a file with a command line of curl; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    input: Option<String>,
    #[command(subcommand)]
    line: Option<Line>,
    /// Name of the workload [default: the file's name]
    #[arg(long)]
    name: Option<String>,
    /// Output folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    to: PathBuf,
    /// A property of the plan, as JMeter's -J; may be given several times
    #[arg(long = "define", short = 'J', value_name = "NAME=VALUE", value_parser = definition)]
    defined: Vec<(String, String)>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Exit with 3 if something could not be carried over
    #[arg(long)]
    strict: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Subcommand)]
enum Line {
    /// Import a curl command line as it is
    #[command(disable_help_flag = true)]
    Curl {
        /// What follows `curl`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            required = true,
            value_name = "ARGUMENT"
        )]
        words: Vec<String>,
    },
}

fn definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` defines nothing: write NAME=VALUE"))?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let (source, imported) = match (&options.line, &options.input) {
        (Some(Line::Curl { words }), _) => ("curl".to_owned(), read_curl(words)?),
        (None, Some(path)) => {
            (path.clone(), read_plan(path, &options.defined.iter().cloned().collect())?)
        }
        // clap requires one of them.
        (None, None) => {
            return Err(Problems::plain("nothing is to be imported", "name a file").into());
        }
    };
    let name = match &options.name {
        Some(name) if is_name(name) => name.clone(),
        Some(name) => {
            return Err(
                Problems::plain(format!("`{name}` cannot name a workload"), NAME_HINT).into()
            );
        }
        None => name_for(&source),
    };
    let written = imported.write(&name, &source, &options.to, options.force)?;
    match options.format {
        Format::Text => {
            let parts: Vec<String> = written.iter().map(Written::text).collect();
            let lost = match imported.lost.is_empty() {
                true => "\nEverything was carried over.\n".to_owned(),
                false => imported.lost.text("Not carried over"),
            };
            print(&(parts.join("\n") + &lost + &imported.taken.text("Decided")));
        }
        Format::Json => print_json(&ImportReport {
            schema: SCHEMA,
            source: &source,
            workloads: &written,
            lost: &imported.lost,
            taken: &imported.taken,
        }),
    }
    Ok(ExitCode::from(if options.strict && !imported.lost.is_empty() { BREACHED } else { 0 }))
}
