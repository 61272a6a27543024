//! The table of all claims of an article, and sentences about factors, which have no claims. Start
//! with [`table`].

use super::prose::{Block, Prose, code, plain};
use super::tried::{Tried, command, untried};
use crate::chart::scales::round_number;
use record::judgement::{ClaimOutcome, ClaimVerdict, Effect, Effects, Evidence, Verdict};
use spec::experiment::{Claim, Expectation};
use spec::metric::Metric;
use spec::units::show_number;

/// The metrics that a page reports for a factor.
const OF_FACTORS: [Metric; 3] = [Metric::CpuPerRequest, Metric::LatencyP50, Metric::LatencyP99];

const HEAD: [&str; 5] = ["claim", "outcome here", "ratio, with its interval", "run", "command"];

/// Writes one row for each claim of each experiment: outcome, figures, run, and the command that
/// tries it again. After the claims of a run come those that it did not try. An experiment that
/// crosses factors has one row for each factor.
pub(super) fn table(all: &[&Tried]) -> Block {
    Block::Table {
        head: HEAD.map(str::to_owned).to_vec(),
        rows: all.iter().flat_map(|tried| rows(tried)).map(Vec::from).collect(),
    }
}

/// Writes date and size of a run: `2026-11-25, 7 blocks`.
pub(super) fn made(run: &Evidence) -> String {
    let date = run.recorded_at.split('T').next().unwrap_or_default();
    let quick = if run.quick { ", quick" } else { "" };
    format!("{date}, {} block{}{quick}", run.blocks, if run.blocks == 1 { "" } else { "s" })
}

/// Claim, outcome, figures, run and command.
type Row = [Prose; 5];

fn rows(tried: &Tried) -> Vec<Row> {
    let untried_row = |text: Prose| {
        let nothing = Prose::default;
        [text, plain("not tried yet"), nothing(), nothing(), command(tried, false)]
    };
    let untried_claims = untried(tried).map(|claim| untried_row(plain(&claim.text)));
    let mut rows: Vec<Row> = Vec::new();
    if let Some(run) = &tried.run {
        let row = |text: Prose, outcome: &str, figures: Prose| {
            [text, plain(outcome), figures, plain(made(run)), command(tried, run.quick)]
        };
        rows.extend(
            run.claims.iter().map(|claim| {
                row(plain(&claim.claim.text), claim.outcome.name(), figures(claim, run))
            }),
        );
        rows.extend(untried_claims);
        for factor in factors_of_run(tried, run) {
            let (outcome, figures) = effects(factor, run);
            rows.push(row(question(factor), outcome, plain(figures)));
        }
    } else {
        rows.extend(untried_claims);
    }
    rows.extend(untried_factors(tried).map(|factor| untried_row(question(factor))));
    rows
}

/// The factors that a run reports. If no effect is known, all crossed factors, each with the
/// reason.
fn factors_of_run<'a>(tried: &'a Tried, run: &'a Evidence) -> Vec<&'a str> {
    let known = reported_factors(run);
    if !known.is_empty() || run.effects.is_empty() {
        return known;
    }
    tried.experiment.factors.iter().map(|factor| factor.name.as_str()).collect()
}

fn untried_factors(tried: &Tried) -> impl Iterator<Item = &str> {
    let of_run = tried.run.as_ref().map(|run| factors_of_run(tried, run)).unwrap_or_default();
    tried
        .experiment
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .filter(move |factor| !of_run.contains(factor))
}

/// Writes a sentence for each factor: its effect on the drawn metric, or why it is unknown.
pub(super) fn effect_sentences(tried: &Tried, run: &Evidence) -> Vec<Prose> {
    let of_run = factors_of_run(tried, run).into_iter().map(|factor| {
        let cells = shown_effects(run).filter_map(|of| {
            let effect = of.effects.iter().find(|effect| effect.factors == [factor])?;
            Some((of.metric, format!("{}{}", signed(of, effect), place(of.cell.as_deref()))))
        });
        let cells: Vec<(Metric, String)> = cells.collect();
        let known = match cells.first() {
            Some((metric, _)) => {
                let each: Vec<&str> = cells.iter().map(|(_, text)| text.as_str()).collect();
                format!("{}: {}", metric.describe().label, each.join("; "))
            }
            None => effects(factor, run).1,
        };
        code(factor).plain(format_args!(", {known}."))
    });
    of_run
        .chain(untried_factors(tried).map(|factor| {
            code(factor).plain(": not tried yet. To try it: ").put(command(tried, false)).plain(".")
        }))
        .collect()
}

/// The effects that are drawn: those of the first metric that has any.
pub(super) fn shown_effects(run: &Evidence) -> impl Iterator<Item = &Effects> {
    let known = |metric: &Metric| {
        run.effects.iter().any(|of| of.metric == *metric && !of.effects.is_empty())
    };
    let metric = OF_FACTORS.into_iter().find(known);
    run.effects.iter().filter(move |of| Some(of.metric) == metric)
}

/// Writes which factor surely changes most, without the full stop.
pub(super) fn largest_effect(run: &Evidence) -> Option<Prose> {
    let sure = |effect: &Effect| {
        effect.factors.len() == 1 && effect.interval.low * effect.interval.high > 0.0
    };
    let all = shown_effects(run).flat_map(|of| {
        of.effects.iter().filter(|effect| sure(effect)).map(move |effect| (of, effect))
    });
    let (of, effect) =
        all.reduce(
            |most, other| if other.1.value.abs() > most.1.value.abs() { other } else { most },
        )?;
    Some(code(&effect.factors[0]).plain(format_args!(
        " changes {} most{}: {}",
        of.metric.describe().label,
        place(of.cell.as_deref()),
        signed(of, effect)
    )))
}

/// Writes an effect with its sign: `+4.10 µs (+3.90 to +4.40)`.
fn signed(of: &Effects, effect: &Effect) -> String {
    let signed =
        |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, show_number(value));
    let (value, low, high) =
        (signed(effect.value), signed(effect.interval.low), signed(effect.interval.high));
    format!("{value} {} ({low} to {high})", of.metric.describe().unit)
}

fn question(factor: &str) -> Prose {
    plain("What does ").code(factor).plain(" cost?")
}

/// ` in closed-64`; empty for a metric of the start.
fn place(cell: Option<&str>) -> String {
    cell.map(|cell| format!(" in {cell}")).unwrap_or_default()
}

/// Writes a result next to the name of its metric: a ratio with its interval or, without one, the
/// values.
pub(super) fn found(verdict: &Verdict) -> String {
    match verdict.ratio {
        Some(_) => verdict.short_phrase().to_string(),
        None => verdict.phrase(),
    }
}

/// `at most 360 ms`. The value was chosen, so it is shown with the digits that were written.
pub(super) fn at_most(claim: &Claim) -> String {
    let value = claim.value.map(round_number).unwrap_or_default();
    format!("at most {value} {}", claim.metric.describe().unit).trim_end().to_owned()
}

/// Writes the figures of a claim cell by cell, with the reason if it is undecided.
fn figures(claim: &ClaimVerdict, run: &Evidence) -> Prose {
    let (of, about) = (&claim.claim, claim.claim.metric.describe().label);
    let cells = claim.cells.iter().map(|cell| {
        let place = place(cell.verdict.cell.as_deref());
        plain(format_args!("{about}{place}: {}", found(&cell.verdict)))
    });
    let who = code(&of.contender);
    let who = match (of.expects, of.compared_with) {
        (Expectation::AtMost, _) => who.plain(format_args!(", expected {}", at_most(of))),
        (Expectation::Zero | Expectation::AboveZero, _) => {
            who.plain(format_args!(", expected {}", of.expected()))
        }
        (_, Some(compared_with)) => who.plain(format_args!(", {}", compared_with.describe())),
        _ => who.plain(" against ").code(&run.baseline),
    };
    let mut parts = vec![who];
    parts.extend(cells);
    if claim.outcome == ClaimOutcome::Undecided {
        parts.push(plain(&claim.reason));
    }
    Prose::join(parts, "; ")
}

/// The factors of the run, each once.
fn reported_factors(run: &Evidence) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for effect in run.effects.iter().flat_map(|of| &of.effects) {
        if let [name] = effect.factors.as_slice()
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
}

/// Writes what a factor adds to each metric in each cell, or why that is unknown.
fn effects(factor: &str, run: &Evidence) -> (&'static str, String) {
    let adds = |of: &Effects| {
        let about = of.metric.describe();
        let place = place(of.cell.as_deref());
        match of.effects.iter().find(|effect| effect.factors == [factor]) {
            Some(effect) => (true, format!("{}{place}: {}", about.label, signed(of, effect))),
            None => (false, format!("{}{place}: {}", about.label, of.reason)),
        }
    };
    let shown = OF_FACTORS
        .into_iter()
        .flat_map(|metric| run.effects.iter().filter(move |of| of.metric == metric));
    let known: Vec<(bool, String)> = shown.map(adds).collect();
    let outcome =
        if known.iter().any(|(is_known, _)| *is_known) { "measured" } else { "undecided" };
    (outcome, known.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; "))
}
