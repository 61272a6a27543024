//! What the claims of articles came to: one Markdown table an article.

use model::article::Article;
use model::experiment::{Claim, Experiment};
use model::judgement::{ClaimOutcome, ClaimVerdict, Judgement};
use model::record::Record;

/// An experiment that tries claims of an article, and what its run came to, where there was one.
pub struct Tried {
    /// As it stands in `experiments/`.
    pub experiment: Experiment,
    /// Its run.
    pub run: Option<(Record, Judgement)>,
}

/// A table for each article: claim, outcome, figures, the run behind it, and the command that tries it again. Claims are those of the run,
/// where there was one.
pub fn articles(articles: &[(Article, Vec<Tried>)]) -> String {
    let mut text = String::from(
        "# The articles' claims, tried again\n\nMade by `faceoff articles` from records; figures are of the machine that made them. A ratio is the \
         contender's figure over the\nbaseline's, with the interval that the verdict rests on.\n",
    );
    for (article, tried) in articles {
        text += &format!("\n## {}\n\n{}\n\n", article.title, article.source);
        if tried.is_empty() {
            text += "No experiment tries its claims.\n";
            continue;
        }
        text += "| claim | outcome | contender against baseline | run | command |\n|---|---|---|---|---|\n";
        tried.iter().for_each(|t| rows(&mut text, t));
    }
    text
}

fn rows(text: &mut String, tried: &Tried) {
    let command = |quick: bool| format!("`faceoff run {}{}`", tried.experiment.name, if quick { " --quick" } else { "" });
    let mut row = |claim: &Claim, outcome: &str, figures: &str, run: &str, quick| {
        let cells = [&claim.text, outcome, figures, run, &command(quick)].map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        *text += &format!("| {} |\n", cells.join(" | "));
    };
    let Some((record, judgement)) = &tried.run else {
        tried.experiment.claims.iter().for_each(|claim| row(claim, "not tried yet", "", "", false));
        return;
    };
    let header = &record.header;
    let date = header.recorded_at.split('T').next().unwrap_or_default();
    let blocks = record.trials.iter().map(|t| t.block).max().unwrap_or(0);
    let run = format!("{date}, {blocks} block{}{}", if blocks == 1 { "" } else { "s" }, if header.quick { ", quick" } else { "" });
    judgement.claims.iter().for_each(|claim| row(&claim.claim, outcome(claim), &figures(claim, judgement), &run, header.quick));
}

fn outcome(claim: &ClaimVerdict) -> &'static str {
    match claim.outcome {
        ClaimOutcome::Confirmed => "confirmed",
        ClaimOutcome::Refuted => "refuted",
        ClaimOutcome::Undecided => "undecided",
    }
}

/// Cell by cell what it rests on; why, where that is undecided.
fn figures(claim: &ClaimVerdict, judgement: &Judgement) -> String {
    let about = claim.claim.metric.describe().label;
    let cells = claim.cells.iter().map(|cell| {
        let of = if cell.cell == "start" { String::new() } else { format!(" in {}", cell.cell) };
        format!("{about}{of}: {}", cell.verdict.phrase())
    });
    let mut parts: Vec<String> = vec![format!("`{}` against `{}`", claim.claim.contender, judgement.baseline)];
    parts.extend(cells);
    if claim.outcome == ClaimOutcome::Undecided {
        parts.push(claim.reason.clone());
    }
    parts.join("; ")
}
