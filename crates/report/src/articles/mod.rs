//! Pages about the claims of articles: one page for each article, with a picture for each question,
//! and an index. They are made from the articles' files, the experiments and the judgements of
//! runs.
//!
//! Start with [`articles`]. `sentences.rs` writes the sentences, `printed.rs` looks up figures that
//! an article printed, and `table.rs` writes the table at the end of a page.

mod printed;
mod sentences;
mod table;
mod tried;

pub use tried::Tried;

use crate::export::{Bar, File, claims_svg, factors_svg, markdown_text as plain};
use record::judgement::{ClaimOutcome, Evidence};
use spec::article::Article;
use spec::experiment::Experiment;
use tried::{command, untried};

/// The folder of pictures, next to the pages.
pub const PICTURES: &str = "pictures";

const MADE: &str =
    "Made by `faceoff articles`; do not edit. Figures are of the machine that made them.";

/// The pages and pictures about articles.
pub struct Results {
    /// One line for each article.
    pub index: File,
    /// One page for each article.
    pub pages: Vec<File>,
    /// The pictures of the folder [`PICTURES`].
    pub pictures: Vec<File>,
}

/// Writes the pages about articles and the experiments that try their claims. Pages show pictures
/// only if these are written as well.
pub fn articles(articles: &[(Article, Vec<Tried>)], with_pictures: bool) -> Results {
    let mut pictures = Vec::new();
    let mut pages = Vec::new();
    let mut index = format!("# Results for the articles' claims\n\n{MADE}\n\n");
    for (article, tried) in articles {
        let drawn: Vec<File> = if with_pictures {
            tried.iter().filter_map(|of| picture(of, article)).collect()
        } else {
            Vec::new()
        };
        pages.push(File {
            name: format!("{}.md", article.name),
            text: page(article, tried, &drawn),
        });
        pictures.extend(drawn);
        let title = format!("[{}]({}.md)", plain(&article.title), article.name);
        let counts = match counts(tried) {
            counts if counts.is_empty() => vec!["No experiment tries its claims.".to_owned()],
            counts => counts,
        };
        index += &format!("- {title} ({}): {}\n", plain(&article.source), counts.join(" "));
    }
    Results { index: File { name: "README.md".into(), text: index }, pages, pictures }
}

/// The picture of an experiment, if its run has something to draw.
fn picture(tried: &Tried, article: &Article) -> Option<File> {
    let run = tried.run.as_ref()?;
    let mut bars = Vec::new();
    for claim in &run.claims {
        let printed = sentences::all_printed(claim, tried, article);
        let ratios =
            printed.iter().map(|printed| printed.as_ref().and_then(printed::Printed::ratio));
        bars.extend(ratios.enumerate().map(|(at, printed)| Bar { claim, at, printed }));
    }
    let question = &tried.experiment.question;
    let text = claims_svg(question, run, &bars)
        .or_else(|| factors_svg(question, table::shown_effects(run)))?;
    Some(File { name: format!("{}.svg", tried.experiment.name), text })
}

fn page(article: &Article, all: &[Tried], pictures: &[File]) -> String {
    let mut text =
        format!("# {}\n\nPublished: {}. {MADE}\n\n", plain(&article.title), plain(&article.source));
    if all.is_empty() {
        return text + "No experiment tries its claims.\n";
    }
    text += &summary(all, article);
    let mut all: Vec<&Tried> = all.iter().collect();
    all.sort_by_key(|tried| {
        std::cmp::Reverse(
            tried.experiment.claims.iter().filter(|claim| sentences::is_of_article(claim)).count(),
        )
    });
    for (tried, run) in
        all.iter().copied().filter_map(|tried| tried.run.as_ref().map(|run| (tried, run)))
    {
        text += &question(tried, run, article, pictures);
    }
    let waiting: Vec<&Tried> = all.iter().copied().filter(|tried| tried.run.is_none()).collect();
    if !waiting.is_empty() {
        text += "\n## Not tried yet\n\n";
    }
    for tried in waiting {
        let claims = match tried.experiment.claims.len() {
            0 => "no claim".to_owned(),
            1 => "1 claim".to_owned(),
            n => format!("{n} claims"),
        };
        text += &format!(
            "- {} ({claims}): {}\n",
            command(tried, false),
            plain(&tried.experiment.question)
        );
    }
    text + "\n## All claims\n\nA ratio is the contender's figure over the baseline's, with the interval that the verdict rests on.\n\n"
        + &table::table(&all)
}

/// Writes how many claims have which outcome, and whether the article's figures agree with ours.
fn summary(all: &[Tried], article: &Article) -> String {
    let mut lines = counts(all);
    lines.extend(sentences::agreements(all, article));
    lines.join("\n") + "\n"
}

/// Writes how many claims have which outcome and how many are not tried yet, the article's and ours
/// apart.
fn counts(all: &[Tried]) -> Vec<String> {
    let whose = [(true, " of the article"), (false, " not in the article")];
    let claims = || all.iter().filter_map(|tried| tried.run.as_ref()).flat_map(|run| &run.claims);
    let outcomes = whose.iter().filter_map(|(is_of_article, whose)| {
        let outcomes: Vec<ClaimOutcome> = claims()
            .filter(|claim| sentences::is_of_article(&claim.claim) == *is_of_article)
            .map(|claim| claim.outcome)
            .collect();
        sentences::tally(whose, &outcomes)
    });
    let waiting = whose.iter().filter_map(|(is_of_article, whose)| {
        let claims = all.iter().flat_map(untried);
        match claims.filter(|claim| sentences::is_of_article(claim) == *is_of_article).count() {
            0 => None,
            1 => Some(format!("1 claim{whose} has no result yet.")),
            n => Some(format!("{n} claims{whose} have no result yet.")),
        }
    });
    let mut texts: Vec<&str> = claims().map(|claim| claim.claim.text.as_str()).collect();
    texts.sort_unstable();
    let is_repeated = texts.windows(2).any(|pair| pair[0] == pair[1]);
    let repeated =
        is_repeated.then(|| "A claim counts once for each experiment that tries it.".to_owned());
    outcomes.chain(waiting).chain(repeated).collect()
}

/// A question with its answer, its picture, its claims and the article's table.
fn question(tried: &Tried, run: &Evidence, article: &Article, pictures: &[File]) -> String {
    let experiment = &tried.experiment;
    let mut text = format!("\n## {}\n\n", plain(&experiment.question));
    let outcomes: Vec<ClaimOutcome> = run.claims.iter().map(|claim| claim.outcome).collect();
    let effect = || {
        table::largest_effect(run)
            .map_or("Nothing is settled yet.".to_owned(), |effect| format!("{effect}."))
    };
    let headline =
        sentences::headline(run, tried, article).or_else(|| run.claims.is_empty().then(effect));
    let sentences =
        [headline.map(|headline| format!("**{headline}**")), sentences::tally("", &outcomes)];
    text += &format!("{}\n\n", sentences.into_iter().flatten().collect::<Vec<_>>().join(" "));
    let machine = if run.machine.is_empty() {
        String::new()
    } else {
        format!(", on {}", plain(&run.machine))
    };
    text += &format!("Measured {}{machine}: {}.", table::made(run), command(tried, run.quick));
    if run.quick {
        text += &format!(" That is the quick form; for the whole one: {}.", command(tried, false));
    }
    text += "\n";
    if let Some(picture) =
        pictures.iter().find(|file| file.name == format!("{}.svg", experiment.name))
    {
        text += &format!("\n![{}]({PICTURES}/{})\n", plain(&experiment.question), picture.name);
    }
    let claims = run.claims.iter().map(|claim| sentences::paragraph(claim, tried, run, article));
    let open = untried(tried).map(|claim| {
        format!(
            "**Not tried yet{}:** {}. To try it: {}.",
            sentences::whose(claim),
            sentences::text(claim),
            command(tried, false)
        )
    });
    let points: Vec<String> = claims
        .chain(open)
        .chain(table::effect_sentences(tried, run))
        .map(|point| format!("- {point}\n"))
        .collect();
    if !points.is_empty() {
        text += &format!("\n{}", points.concat());
    }
    text + &published(experiment)
}

/// The article's own table, below a fold.
fn published(experiment: &Experiment) -> String {
    let Some(published) = &experiment.published else { return String::new() };
    let line = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|cell| plain(cell)).collect::<Vec<_>>().join(" | "))
    };
    let rows: String = published.rows.iter().map(|row| line(row)).collect();
    let (head, rule) = (line(&published.columns), "---|".repeat(published.columns.len()));
    let note =
        published.note.as_ref().map(|note| format!("\n{}\n", plain(note))).unwrap_or_default();
    format!(
        "\n<details><summary>What the article printed</summary>\n\n{}\n\n{head}|{rule}\n{rows}{note}\n</details>\n",
        plain(&published.title)
    )
}
