//! `bench simulate`: how often the rule errs, covers the truth and decides, over simulated
//! experiments with a known truth.
//!
//! `world` simulates sessions, `bursts` a machine with another busy program, `naive` the usual
//! designs. `experiments` judges with the real rule. Start with [`run`].

mod bursts;
mod drawing;
mod experiments;
mod naive;
mod world;

#[cfg(test)]
mod tests;

use drawing::{Drawing, Line};
use experiments::{CONFIDENCE, Plan, Tally, on_all_cpus};
use naive::Naive;
use stats::Random;
use std::path::PathBuf;
use std::process::ExitCode;
use world::{DRIFTING, Parts, USUAL, World};

/// How experiments are simulated.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Simulate a tenth of the experiments
    #[arg(long)]
    quick: bool,
    /// Simulate only blocks in slices
    #[arg(long, conflicts_with = "out")]
    slices: bool,
    /// Experiments in each row; each point of the drawing has a tenth of them [default: 10000, with
    /// --quick 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    experiments: Option<u32>,
    /// Resamples of each bootstrap; a real verdict takes 4,000
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    resamples: u32,
    /// Standard deviation of a block's log-ratio
    #[arg(long, value_name = "S", default_value_t = 0.03)]
    spread: f64,
    /// Draw the power curves into this file, as SVG
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Blocks of every experiment.
const BLOCKS: u32 = 12;

/// The looks of early stopping.
const LOOKS: [&[u32]; 2] = [&[], &[6, 9, 12]];

/// The limits of a share.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Between(f64, f64),
}

impl Bound {
    /// Returns whether a share is within the limits, up to three standard deviations of chance.
    fn is_met(self, share: f64, experiments: u32) -> bool {
        let chance = |bound: f64| 3.0 * (bound * (1.0 - bound) / f64::from(experiments)).sqrt();
        match self {
            Bound::AtMost(most) => share <= most + chance(most),
            Bound::AtLeast(least) => share >= least - chance(least),
            Bound::Between(least, most) => {
                Bound::AtLeast(least).is_met(share, experiments)
                    && Bound::AtMost(most).is_met(share, experiments)
            }
        }
    }
}

/// Experiments that differ only in their looks.
struct Row {
    name: &'static str,
    parts: Parts,
    ratio: f64,
    margin: f64,
    /// The smallest share of correct decisions.
    power: Option<f64>,
}

impl Row {
    const ALL: [Row; 8] = [
        Row { name: "usual", parts: USUAL, ratio: 1.0, margin: 0.0, power: None },
        Row { name: "usual", parts: USUAL, ratio: 1.05, margin: 0.05, power: None },
        Row { name: "usual", parts: USUAL, ratio: 1.0 / 1.05, margin: 0.05, power: None },
        Row { name: "drifting", parts: DRIFTING, ratio: 1.0, margin: 0.0, power: None },
        Row { name: "drifting", parts: DRIFTING, ratio: 1.05, margin: 0.05, power: None },
        Row { name: "usual", parts: USUAL, ratio: 1.0, margin: 0.05, power: None },
        Row { name: "usual", parts: USUAL, ratio: 1.1, margin: 0.05, power: Some(0.8) },
        Row { name: "usual", parts: USUAL, ratio: 1.1, margin: 0.0, power: Some(0.8) },
    ];

    fn plan(&self, looks: &'static [u32], options: &Options) -> Plan {
        let world = World { spread: options.spread, parts: self.parts };
        Plan {
            world,
            ratio: self.ratio,
            margin: self.margin,
            blocks: BLOCKS,
            looks,
            resamples: options.resamples as usize,
        }
    }

    /// Lists the bounds that are missed.
    fn missed(&self, plan: &Plan, tally: &Tally) -> Vec<&'static str> {
        let n = tally.experiments;
        let t_covers =
            if plan.looks.is_empty() { Bound::Between(0.94, 0.96) } else { Bound::AtLeast(0.94) };
        let checks = [
            ("false better or worse", Bound::AtMost(1.0 - CONFIDENCE), plan.false_verdicts(tally)),
            ("t interval", t_covers, tally.share(tally.t_covered)),
            ("printed interval", Bound::AtLeast(0.94), tally.share(tally.covered)),
            ("power", Bound::AtLeast(self.power.unwrap_or(0.0)), tally.share(tally.above)),
        ];
        checks
            .into_iter()
            .filter(|(_, bound, share)| !bound.is_met(*share, n))
            .map(|(name, ..)| name)
            .collect()
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Runs everything and prints it as Markdown.
pub fn run(options: &Options) -> ExitCode {
    if !(options.spread > 0.0 && options.spread <= 1.0) {
        eprintln!(
            "bench: --spread is {}: it must lie above 0 and not above 1\nhint: 0.03 is 3 %",
            options.spread
        );
        return ExitCode::FAILURE;
    }
    let experiments = options.experiments.unwrap_or(if options.quick { 1_000 } else { 10_000 });
    if options.slices {
        return if in_slices(options, experiments) { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let is_missed = rules(options, experiments) | in_slices(options, experiments);
    naive_designs(options, experiments);
    if let Some(file) = &options.out {
        let drawing = power(options, (experiments / 10).max(1));
        if let Err(error) = std::fs::write(file, drawing.to_svg()) {
            eprintln!("bench: {} cannot be written: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    if is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Judges every row, with and without early stopping. Returns whether a bound was missed.
fn rules(options: &Options, experiments: u32) -> bool {
    println!(
        "{experiments} experiments a row, {BLOCKS} blocks, spread {}, {} resamples:\n",
        percent(options.spread),
        options.resamples
    );
    println!(
        "| world | true ratio | margin | looks | false better or worse | lower | higher | equivalent | t interval holds the truth | printed interval holds it | blocks | bounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut is_missed = false;
    for row in &Row::ALL {
        for looks in LOOKS {
            let plan = row.plan(looks, options);
            let tally = plan.many(experiments, options.seed);
            let missed = row.missed(&plan, &tally);
            is_missed |= !missed.is_empty();
            println!(
                "| {} | {:.3} | {:.0} % | {} | {} | {} | {} | {} | {} | {} | {:.1} | {} |",
                row.name,
                row.ratio,
                100.0 * row.margin,
                if looks.is_empty() { "12" } else { "6, 9, 12" },
                percent(plan.false_verdicts(&tally)),
                percent(tally.share(tally.below)),
                percent(tally.share(tally.above)),
                percent(tally.share(tally.equivalent)),
                percent(tally.share(tally.t_covered)),
                percent(tally.share(tally.covered)),
                tally.share(tally.blocks),
                if missed.is_empty() {
                    "kept".to_owned()
                } else {
                    format!("missed: {}", missed.join(", "))
                },
            );
        }
    }
    is_missed
}

/// Judges blocks in slices, quiet and next to bursts, once and after every block. Returns whether a
/// bound was missed.
fn in_slices(options: &Options, experiments: u32) -> bool {
    const MOST: u32 = 60;
    println!(
        "\nIn slices of 40 ms, a second and a half per block. With a look after every block: the t interval alone, which is never wider:\n"
    );
    println!(
        "| bursts | true ratio | margin | looks | false verdicts | decided | interval holds the truth | blocks | bounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut is_missed = false;
    for (ratio, margin) in [(1.0, 0.0), (1.0, 0.05), (1.05, 0.01), (1.1, 0.02), (3.0, 0.05)] {
        for (bursts, always) in [(false, false), (false, true), (true, false), (true, true)] {
            let blocks = if always { MOST } else { BLOCKS };
            // Sixty looks with a bootstrap each would take hours. Without it the interval is never
            // wider, so there are at least as many errors.
            let resamples = if always { 0 } else { options.resamples as usize };
            let plan = bursts::Plan { ratio, margin, blocks, bursts, always, resamples };
            let tally = plan.many(experiments, options.seed);
            let covers = if always { Bound::AtLeast(0.95) } else { Bound::Between(0.94, 0.97) };
            let checks = [
                ("false verdicts", Bound::AtMost(1.0 - CONFIDENCE), plan.false_verdicts(&tally)),
                ("interval", covers, tally.share(tally.covered)),
            ];
            let missed: Vec<&str> = checks
                .into_iter()
                .filter(|(_, bound, share)| !bound.is_met(*share, experiments))
                .map(|(name, ..)| name)
                .collect();
            is_missed |= !missed.is_empty();
            println!(
                "| {} | {ratio} | {:.0} % | {} | {} | {} | {} | {:.1} | {} |",
                if bursts { "yes" } else { "no" },
                100.0 * margin,
                if always { "after each from 6 to 60".to_owned() } else { format!("{BLOCKS}") },
                percent(plan.false_verdicts(&tally)),
                percent(tally.share(tally.above + tally.below + tally.equivalent)),
                percent(tally.share(tally.covered)),
                tally.share(tally.blocks),
                if missed.is_empty() {
                    "kept".to_owned()
                } else {
                    format!("missed: {}", missed.join(", "))
                },
            );
        }
    }
    is_missed
}

/// Shows how often naive designs find that equal systems differ.
fn naive_designs(options: &Options, experiments: u32) {
    println!("\n| design | world | equal systems found to differ |\n|---|---|---|");
    for (name, parts) in [("usual", USUAL), ("drifting", DRIFTING)] {
        let world = World { spread: options.spread, parts };
        for naive in Naive::ALL {
            let found = |number| {
                u32::from(naive.finds_difference(
                    world,
                    1.0,
                    BLOCKS as usize,
                    &mut Random::new(options.seed, number),
                ))
            };
            println!(
                "| {} | {name} | {} |",
                naive.name(),
                percent(f64::from(on_all_cpus(experiments, found)) / f64::from(experiments))
            );
        }
    }
}

/// Draws how often a true difference is found, over the spread.
fn power(options: &Options, experiments: u32) -> Drawing {
    const SPREADS: [f64; 13] =
        [0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.12, 0.15, 0.20];
    println!(
        "\nFound to be higher, {BLOCKS} blocks, one look, {experiments} experiments a point:\n"
    );
    println!("| spread | 2 % | 5 % | 10 % | 10 %, margin 5 % |\n|---|---|---|---|---|");
    let curves = [(1.02, 0.0), (1.05, 0.0), (1.1, 0.0), (1.1, 0.05)];
    let mut lines: Vec<Line> = curves
        .iter()
        .map(|(ratio, margin)| Line {
            name: format!(
                "{:.0} %{}",
                100.0 * (ratio - 1.0),
                if *margin > 0.0 { ", margin 5 %" } else { ", margin 0" }
            ),
            is_dashed: *margin > 0.0,
            points: Vec::new(),
        })
        .collect();
    for spread in SPREADS {
        let world = World { spread, parts: USUAL };
        let mut shown = format!("| {} |", percent(spread));
        for ((ratio, margin), line) in curves.into_iter().zip(&mut lines) {
            let plan = Plan {
                world,
                ratio,
                margin,
                blocks: BLOCKS,
                looks: &[],
                resamples: options.resamples as usize,
            };
            let tally = plan.many(experiments, options.seed);
            let found = tally.share(tally.above);
            line.points.push((spread, found));
            shown += &format!(" {:.1} % |", 100.0 * found);
        }
        println!("{shown}");
    }
    Drawing {
        title: format!(
            "Power after {BLOCKS} blocks for true differences of 2, 5 and 10 % over the spread of blocks"
        ),
        x: "spread: standard deviation of a block's log-ratio".into(),
        y: "found to differ".into(),
        ticks: vec![0.0, 0.05, 0.10, 0.15, 0.20],
        mark: 0.8,
        lines,
    }
}
