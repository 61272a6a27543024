//! Compares faceoff's load generator with others, on one machine and in one run. See
//! bench/README.md.
//!
//! `figures.rs` has a function for each figure, `tools.rs` the programs that are compared, and
//! `simulation/` the rule of verdicts against known truth.

mod figures;
mod machine;
mod report;
mod runs;
mod simulation;
mod stall;
mod tools;

use clap::{Parser, Subcommand, ValueEnum};
use figures::{Name, measure};
use machine::Machine;
use report::{Figure, summary};
use runs::{Bench, Effort};
use serde_json::json;
use std::process::ExitCode;

/// Compares faceoff's load generator with others, interleaved, as ratios with 95 % intervals
#[derive(Parser)]
#[command(name = "bench", max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    /// What to measure [default: all]
    figures: Vec<Name>,
    /// Measure briefly and repeat less: shows that everything runs, with rough figures
    #[arg(long)]
    quick: bool,
    /// Repeats of each comparison [default: 5, with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
    /// When memory is measured again, in seconds [default: 60, with --quick 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    long: Option<u64>,
    /// Seed of the order in which programs run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print every value as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Check the rule of verdicts on simulated experiments with a known truth
    Simulate(simulation::Options),
}

impl Options {
    fn effort(&self) -> Effort {
        let full = Effort {
            repeats: 5,
            closed_s: 3,
            rate_s: 3,
            corrupt_requests: 500_000,
            stall_periods: 2,
            stall_repeats: 3,
            users_s: 15,
            short_s: 10,
            long_s: 60,
        };
        let quick = Effort {
            repeats: 3,
            closed_s: 1,
            rate_s: 1,
            corrupt_requests: 100_000,
            stall_periods: 1,
            stall_repeats: 1,
            users_s: 6,
            short_s: 3,
            long_s: 10,
        };
        let effort = if self.quick { quick } else { full };
        Effort {
            repeats: self.repeats.unwrap_or(effort.repeats),
            long_s: self.long.unwrap_or(effort.long_s),
            ..effort
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(Command::Simulate(options)) = options.command {
        return simulation::run(&options);
    }
    machine::raise_descriptors();
    let bench = match Bench::new(options.effort(), options.seed) {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("bench: {error}");
            return ExitCode::FAILURE;
        }
    };
    let machine = Machine::describe(bench.cpus());
    if let Some(warning) = machine.warning() {
        eprintln!("bench: {warning}");
    }
    let names = if options.figures.is_empty() { Name::value_variants() } else { &options.figures };
    let mut measured: Vec<Figure> = Vec::new();
    let mut failed = Vec::new();
    for name in names {
        match measure(&bench, *name) {
            Ok(figures) => {
                if !options.json {
                    figures.iter().for_each(|figure| print!("{}", figure.to_text()));
                }
                measured.extend(figures);
            }
            Err(error) => {
                eprintln!("bench: {error}");
                failed.push(json!({ "figure": format!("{name:?}").to_lowercase(), "why": error }));
            }
        }
    }
    if options.json {
        let figures: Vec<_> = measured.iter().map(Figure::to_json).collect();
        println!(
            "{:#}",
            json!({ "schema": "faceoff.bench.v1", "machine": machine.to_json(), "quick": options.quick, "figures": figures, "failed": failed })
        );
    } else {
        println!("{}\n{}", summary(&measured), machine.to_text());
    }
    if failed.is_empty() && !measured.iter().any(Figure::failed) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
