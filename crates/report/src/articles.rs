//! What the claims of articles came to: one Markdown table.

use model::article::Article;
use model::experiment::{Claim, Expectation, Experiment};
use model::judgement::{ClaimOutcome, ClaimVerdict, Effects, Evidence};
use model::metric::Metric;
use model::units::show_number;

/// An experiment that tries claims of an article, and what its run came to, where there was one.
pub struct Tried {
    /// As it stands in `experiments/`.
    pub experiment: Experiment,
    /// Its run.
    pub run: Option<Evidence>,
}

/// What is told of a factor.
const OF_FACTORS: [Metric; 3] = [Metric::CpuPerRequest, Metric::LatencyP50, Metric::LatencyP99];

/// One table: article, claim, outcome, figures, the run behind it, and the command that tries it again. Where there was a run its claims stand
/// there, and beside them what the experiment claims and the run did not try. An experiment that crosses factors asks what each costs.
pub fn articles(articles: &[(Article, Vec<Tried>)]) -> String {
    let mut text = String::from(
        "# The articles' claims, tried again\n\nMade by `faceoff articles` from records; figures are of the machine that made them. A ratio is the \
         contender's figure over the\nbaseline's, with the interval that the verdict rests on.\n\n\
         | article | claim | outcome here | ratio, with its interval | run | command |\n|---|---|---|---|---|---|\n",
    );
    for (article, tried) in articles {
        let name = format!("{} ({})", article.title, article.source);
        let mut told: Vec<Row> = tried.iter().flat_map(rows).collect();
        if told.is_empty() {
            told.push(["no experiment tries its claims", "", "", "", ""].map(str::to_owned));
        }
        for row in told {
            let cells: Vec<String> = std::iter::once(&name).chain(&row).map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text
}

/// Claim, outcome, figures, run, command.
type Row = [String; 5];

fn rows(tried: &Tried) -> Vec<Row> {
    let experiment = &tried.experiment;
    let full = format!("`faceoff run {}`", experiment.name);
    let untried = |text: &str| [text, "not tried yet", "", "", &full].map(str::to_owned);
    let factors: Vec<&str> = experiment.factors.iter().map(|factor| factor.name.as_str()).collect();
    let Some(run) = &tried.run else {
        let claims = experiment.claims.iter().map(|claim| untried(&claim.text));
        return claims.chain(factors.iter().map(|factor| untried(&question(factor)))).collect();
    };
    let date = run.recorded_at.split('T').next().unwrap_or_default();
    let quick = if run.quick { ", quick" } else { "" };
    let made = format!("{date}, {} block{}{quick}", run.blocks, if run.blocks == 1 { "" } else { "s" });
    let command = if run.quick { format!("`faceoff run {} --quick`", experiment.name) } else { full.clone() };
    let row = |text: &str, outcome: &str, figures: &str| [text, outcome, figures, &made, &command].map(str::to_owned);
    let is_of_run = |claim: &Claim| run.claims.iter().any(|c| c.claim.text == claim.text && c.claim.contender == claim.contender);
    let told = told_factors(run);
    let mut rows: Vec<Row> = run.claims.iter().map(|claim| row(&claim.claim.text, claim.outcome.name(), &figures(claim, run))).collect();
    rows.extend(experiment.claims.iter().filter(|claim| !is_of_run(claim)).map(|claim| untried(&claim.text)));
    // Where nothing could be told of any, each says why.
    let is_open = told.is_empty() && !run.effects.is_empty();
    let others = factors.iter().copied().filter(|factor| !told.contains(factor));
    let (open, not_crossed): (Vec<&str>, Vec<&str>) = others.partition(|_| is_open);
    for factor in told.iter().copied().chain(open) {
        let (outcome, figures) = effects(factor, run);
        rows.push(row(&question(factor), outcome, &figures));
    }
    rows.extend(not_crossed.into_iter().map(|factor| untried(&question(factor))));
    rows
}

fn question(factor: &str) -> String {
    format!("What does `{factor}` cost?")
}

/// ` in closed-64`; of a metric of the start nothing.
fn place(cell: Option<&str>) -> String {
    cell.map(|cell| format!(" in {cell}")).unwrap_or_default()
}

/// Cell by cell what it rests on; why, where that is undecided.
fn figures(claim: &ClaimVerdict, run: &Evidence) -> String {
    let (of, about) = (&claim.claim, claim.claim.metric.describe().label);
    let cells = claim.cells.iter().map(|cell| format!("{about}{}: {}", place(cell.verdict.cell.as_deref()), cell.verdict.phrase()));
    let who = match (of.expects, of.beside) {
        (Expectation::AtMost, _) => format!("`{}`, expected {}", of.contender, of.expected()),
        (_, Some(beside)) => format!("`{}`, {}", of.contender, beside.describe()),
        _ => format!("`{}` against `{}`", of.contender, run.baseline),
    };
    let mut parts: Vec<String> = vec![who];
    parts.extend(cells);
    if claim.outcome == ClaimOutcome::Undecided {
        parts.push(claim.reason.clone());
    }
    parts.join("; ")
}

/// The factors that the run tells of, each once.
fn told_factors(run: &Evidence) -> Vec<&str> {
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

/// What a factor adds to each metric in each cell, or why that cannot be told.
fn effects(factor: &str, run: &Evidence) -> (&'static str, String) {
    let adds = |of: &Effects| {
        let about = of.metric.describe();
        let place = place(of.cell.as_deref());
        match of.effects.iter().find(|effect| effect.factors == [factor]) {
            Some(effect) => {
                let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, show_number(value));
                let (value, low, high) = (signed(effect.value), signed(effect.interval.low), signed(effect.interval.high));
                (true, format!("{}{place}: {value} {} ({low} to {high})", about.label, about.unit))
            }
            None => (false, format!("{}{place}: {}", about.label, of.reason)),
        }
    };
    let shown = OF_FACTORS.into_iter().flat_map(|metric| run.effects.iter().filter(move |of| of.metric == metric));
    let told: Vec<(bool, String)> = shown.map(adds).collect();
    let outcome = if told.iter().any(|(is_told, _)| *is_told) { "measured" } else { "undecided" };
    (outcome, told.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; "))
}
