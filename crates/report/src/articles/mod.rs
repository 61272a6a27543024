//! Pages about the claims of articles: an index with the answer to each article's question, one
//! page for each article, and charts. They are made from the articles' files, their audits, the
//! experiments and the judgements of runs.
//!
//! Start with [`results`], and with `page.rs` for what a page has. `tried.rs` finds the results of
//! claims, `answers.rs` and `sentences.rs` write the sentences, `printed.rs` looks up figures that
//! an article printed, `numbers.rs` has its audit and `table.rs` the table at the end.
//! `markdown.rs` and `html.rs` write the same pages.

mod answers;
mod chart;
mod html;
mod markdown;
mod names;
mod numbers;
mod page;
mod printed;
mod prose;
mod sentences;
mod table;
mod tried;

pub use tried::{Study, Tried};

use crate::export::{Bar, File, claims_svg, factors_svg};
use page::{Entry, index, page};
use tried::Found;

/// The folder of pictures, next to the pages.
pub const PICTURES: &str = "pictures";

/// The pages and pictures about articles.
pub struct Results {
    /// Every question with its answer.
    pub index: File,
    /// One page for each article.
    pub pages: Vec<File>,
    /// The pictures of the folder [`PICTURES`].
    pub pictures: Vec<File>,
}

/// Writes the pages about articles as Markdown. Pages show pictures only if these are written as
/// well.
pub fn results(studies: &[Study], with_pictures: bool) -> Results {
    let entries = entries(studies, with_pictures);
    let file =
        |page: prose::Page| File { name: format!("{}.md", page.name), text: markdown::page(&page) };
    Results {
        index: File { name: "README.md".into(), ..file(index(&entries)) },
        pages: entries.iter().map(page).map(file).collect(),
        pictures: pictures(entries),
    }
}

/// Writes the pages about articles as a site, whose style sheet is `style.css` ([`site_style`]).
///
/// [`site_style`]: crate::site::style
pub fn article_site(studies: &[Study]) -> Results {
    let entries = entries(studies, true);
    let file =
        |page: prose::Page| File { name: format!("{}.html", page.name), text: html::page(page) };
    Results {
        index: file(index(&entries)),
        pages: entries.iter().map(page).map(file).collect(),
        pictures: pictures(entries),
    }
}

fn entries(studies: &[Study], with_pictures: bool) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = studies.iter().map(Entry::new).collect();
    for entry in entries.iter_mut().filter(|_| with_pictures) {
        let answer = entry.answered.as_ref();
        let answer = answer.and_then(|of| chart::answer_svg(of, &entry.study.article));
        let answer = answer.map(|text| File { name: entry.answer_picture(), text });
        let experiments = entry.study.tried.iter().filter_map(|tried| picture(entry, tried));
        entry.pictures = answer.into_iter().chain(experiments).collect();
    }
    entries
}

fn pictures(entries: Vec<Entry<'_>>) -> Vec<File> {
    entries.into_iter().flat_map(|entry| entry.pictures).collect()
}

/// The picture of an experiment, if its run has something to draw.
fn picture(entry: &Entry<'_>, tried: &Tried) -> Option<File> {
    let run = tried.run.as_ref()?;
    let mut bars = Vec::new();
    for claim in &run.claims {
        let printed = sentences::all_printed(Found { claim, tried, run }, &entry.study.article);
        let ratios =
            printed.iter().map(|printed| printed.as_ref().and_then(printed::Printed::ratio));
        bars.extend(ratios.enumerate().map(|(at, printed)| Bar { claim, at, printed }));
    }
    let question = &tried.experiment.question;
    let text = claims_svg(question, run, &bars)
        .or_else(|| factors_svg(question, table::shown_effects(run)))?;
    Some(File { name: format!("{}.svg", tried.experiment.name), text })
}
