//! The page of an article, and the index of all pages: the question and its answer first, then what
//! the article claims and what was found here, tables last. Start with [`page`].

use super::answers::Answered;
use super::names::contender;
use super::numbers::impossible_figures;
use super::prose::{Block, Level, Page, Prose, plain};
use super::sentences::{agreements, paragraph, tally};
use super::table::{effect_sentences, largest_effect, made, table};
use super::tried::{
    Study, Tested, Tried, Untested, command, is_of_article, own_text, tested, untested,
};
use crate::export::File;
use record::judgement::{ClaimOutcome, Evidence};
use spec::article::Article;
use spec::experiment::Published;

const MADE: &str = "Made by faceoff from stored judgements; do not edit. Figures are of the \
                    machine that made them.";

/// The words of a result that a reader may not know.
const TERMS: &str = "Each block measures all contenders. The true difference lies within the \
                     interval with a confidence of 95 % (90 % where contenders are called equal). \
                     A claim is undecided if its interval allows both outcomes, or if too few \
                     blocks are sound.";

/// An article with what its page shows.
pub(super) struct Entry<'a> {
    pub study: &'a Study,
    pub claims: Vec<Tested<'a>>,
    pub answered: Option<Answered<'a>>,
    /// The pictures: of the answer, then of experiments.
    pub pictures: Vec<File>,
}

impl<'a> Entry<'a> {
    /// Finds the results of an article, without pictures.
    pub(super) fn new(study: &'a Study) -> Entry<'a> {
        let claims = tested(&study.tried);
        let answered = Answered::new(study, &claims);
        Entry { study, claims, answered, pictures: Vec::new() }
    }

    /// The file of the answer's picture.
    pub(super) fn answer_picture(&self) -> String {
        format!("answer-{}.svg", self.study.article.name)
    }

    fn picture(&self, file: String, text: &str) -> Option<Block> {
        let is_drawn = self.pictures.iter().any(|picture| picture.name == file);
        is_drawn.then(|| Block::Picture { file, text: text.to_owned() })
    }

    /// The answer and its picture.
    fn answer(&self) -> Vec<Block> {
        let Some(answered) = &self.answered else { return Vec::new() };
        let picture = self.picture(self.answer_picture(), &answered.summary.question);
        std::iter::once(Block::Answer(answered.sentences())).chain(picture).collect()
    }

    /// How many claims have which outcome, the article's and ours apart. A claim counts once.
    fn counts(&self) -> Vec<String> {
        let whose = [(true, " of the article"), (false, " not in the article")];
        let outcomes = whose.iter().filter_map(|(is_of, whose)| {
            let claims = self.claims.iter().map(|tested| tested.best.claim);
            let outcomes: Vec<ClaimOutcome> = claims
                .filter(|claim| is_of_article(&claim.claim) == *is_of)
                .map(|claim| claim.outcome)
                .collect();
            tally(whose, &outcomes)
        });
        let waiting = whose.iter().filter_map(|(is_of, whose)| {
            let claims = untested(&self.study.tried);
            match claims.iter().filter(|open| is_of_article(open.claim) == *is_of).count() {
                0 => None,
                1 => Some(format!("1 claim{whose} has no result yet.")),
                n => Some(format!("{n} claims{whose} have no result yet.")),
            }
        });
        outcomes.chain(waiting).collect()
    }

    /// The experiments: those that answer the question first, then those with most claims of the
    /// article.
    fn experiments(&self) -> Vec<&'a Tried> {
        let answers = self.study.article.summary.iter().flat_map(|summary| &summary.answers);
        let names: Vec<&str> = answers.map(|answer| answer.experiment.as_str()).collect();
        let mut all: Vec<&Tried> = self.study.tried.iter().collect();
        all.sort_by_key(|tried| {
            let claims = &tried.experiment.claims;
            let at = names.iter().position(|name| *name == tried.experiment.name);
            let of_article = claims.iter().filter(|claim| is_of_article(claim)).count();
            (at.unwrap_or(names.len()), std::cmp::Reverse(of_article))
        });
        all
    }
}

/// The index: every question with its answer.
pub(super) fn index(entries: &[Entry<'_>]) -> Page {
    let mut blocks = vec![Block::Paragraph(plain(format_args!(
        "faceoff tests published comparisons again. It alternates the same load between the \
         contenders, and gives each difference with its interval in parentheses. {TERMS} {MADE}"
    )))];
    for entry in entries {
        let article = &entry.study.article;
        let question = entry.answered.as_ref().map(|answered| &answered.summary.question);
        let title = question.unwrap_or(&article.title);
        blocks.push(Block::Heading(Level::Section, Prose::default().page(&article.name, title)));
        blocks.extend(entry.answer());
        let mut notes = vec![plain(format_args!("{} ({}).", article.title, article.source))];
        notes.extend(entry.answered.as_ref().and_then(Answered::measured));
        notes.extend(entry.counts().into_iter().map(plain));
        notes.push(Prose::default().page(&article.name, "Every claim").plain("."));
        blocks.push(Block::Small(Prose::join(notes, " ")));
    }
    Page { name: "index".into(), title: "Published comparisons, tested again".into(), blocks }
}

/// The page of an article.
pub(super) fn page(entry: &Entry<'_>) -> Page {
    let article = &entry.study.article;
    let mut blocks = Vec::new();
    if let Some(answered) = &entry.answered {
        blocks.push(Block::Paragraph(Prose::default().strong(&answered.summary.question)));
    }
    blocks.extend(entry.answer());
    let mut notes = vec![plain(format_args!("Published: {}. {MADE}", article.source))];
    notes.extend(entry.answered.as_ref().and_then(Answered::measured));
    blocks.push(Block::Small(Prose::join(notes, " ")));
    if let Some(summary) = &article.summary {
        blocks.extend([
            section("What the article claims"),
            Block::Paragraph(plain(&summary.claimed)),
            Block::Paragraph(
                Prose::default().strong("How it measured:").plain(" ").plain(&summary.method),
            ),
        ]);
    }
    blocks.push(section("Impossible or inconsistent figures"));
    blocks.extend(impossible_figures(&entry.study.audit));
    blocks.push(section("What was found here"));
    blocks.extend(findings(entry));
    blocks.extend(not_tested(entry));
    blocks.extend(tables(entry));
    Page { name: article.name.clone(), title: article.title.clone(), blocks }
}

fn section(title: &str) -> Block {
    Block::Heading(Level::Section, plain(title))
}

/// Every experiment with its claims.
fn findings(entry: &Entry<'_>) -> Vec<Block> {
    if entry.study.tried.is_empty() {
        return vec![Block::Paragraph(plain("No experiment tests its claims."))];
    }
    let article = &entry.study.article;
    let mut sentences = vec![TERMS.to_owned()];
    sentences.extend(entry.counts());
    sentences.extend(agreements(&entry.claims, article));
    let mut blocks = vec![Block::Paragraph(plain(sentences.join(" ")))];
    for tried in entry.experiments() {
        if let Some(run) = &tried.run {
            blocks.extend(experiment(entry, tried, run));
        }
    }
    blocks
}

/// An experiment's question with the claims that it decides; empty if others decide all of them.
fn experiment(entry: &Entry<'_>, tried: &Tried, run: &Evidence) -> Vec<Block> {
    let article = &entry.study.article;
    let of_experiment = entry.claims.iter().filter(|tested| std::ptr::eq(tested.best.tried, tried));
    let claims = of_experiment.map(|tested| paragraph(tested, article));
    let points: Vec<Prose> = claims.chain(effect_sentences(tried, run)).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let question = &tried.experiment.question;
    let mut blocks = vec![Block::Heading(Level::Part, plain(question))];
    if run.claims.is_empty() {
        let effect = largest_effect(run).unwrap_or_else(|| plain("Nothing is settled yet"));
        blocks.push(Block::Paragraph(effect.plain(".")));
    }
    blocks.push(Block::List(points));
    blocks.extend(entry.picture(format!("{}.svg", tried.experiment.name), question));
    let machine = match run.machine.as_str() {
        "" => String::new(),
        machine => format!(", on {machine}"),
    };
    let measured = plain(format_args!("Measured {}{machine}: ", made(run)));
    let measured = measured.put(command(tried, run.quick)).plain(".");
    let measured = match run.quick {
        true => measured
            .plain(" That is the quick form; for the whole one: ")
            .put(command(tried, false))
            .plain("."),
        false => measured,
    };
    blocks.push(Block::Small(measured.put(still_cold(article, run))));
    blocks
}

/// Names the contenders that most starts left unsteady; empty if there is none.
fn still_cold(article: &Article, run: &Evidence) -> Prose {
    let unsteady = run.warmups.iter().filter(|warmup| warmup.is_mostly_unsteady());
    let names: Vec<Prose> = unsteady.map(|of| contender(article, &of.contender)).collect();
    if names.is_empty() {
        return Prose::default();
    }
    plain(" Not steady within the warm-up in most starts, so perhaps faster when warm: ")
        .put(Prose::list(names))
        .plain(".")
}

/// The claims without a result, and the experiments without claims that have not been run. Claims
/// of one experiment that lack a result for one reason are together, the article's first.
fn not_tested(entry: &Entry<'_>) -> Vec<Block> {
    let mut groups: Vec<Vec<Untested<'_>>> = Vec::new();
    for open in untested(&entry.study.tried) {
        let is_same = |group: &&mut Vec<Untested<'_>>| group[0].is_like(&open);
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(open),
            None => groups.push(vec![open]),
        }
    }
    groups.sort_by_key(|group| !group.iter().any(|open| is_of_article(open.claim)));
    let claims = groups.iter().map(|group| {
        let texts = group.iter().map(|open| {
            let whose = if is_of_article(open.claim) { "" } else { " (not in the article)" };
            plain(format_args!("{}{whose}", own_text(open.claim)))
        });
        Prose::join(texts, "; ")
            .capital()
            .plain(format_args!(". Why: {}. To try it: ", group[0].reason))
            .put(command(group[0].tried, false))
            .plain(".")
    });
    let is_waiting = |tried: &&&Tried| tried.run.is_none() && tried.experiment.claims.is_empty();
    let all = entry.experiments();
    let questions = all.iter().filter(is_waiting).map(|tried| {
        let question = plain(&tried.experiment.question).plain(" To try it: ");
        question.put(command(tried, false)).plain(".")
    });
    let points: Vec<Prose> = claims.chain(questions).collect();
    match points.is_empty() {
        true => Vec::new(),
        false => vec![section("What has no result yet, and why"), Block::List(points)],
    }
}

/// The tables, below folds.
fn tables(entry: &Entry<'_>) -> Vec<Block> {
    let all = entry.experiments();
    if all.is_empty() {
        return Vec::new();
    }
    let note = "A ratio is the contender's figure over the baseline's, with the interval that the \
                verdict rests on.";
    let claims = Block::Fold {
        title: "All claims in a table".into(),
        blocks: vec![Block::Paragraph(plain(note)), table(&all)],
    };
    let printed = all.iter().filter_map(|tried| tried.experiment.published.as_ref());
    let mut blocks = vec![section("Tables"), claims];
    blocks.extend(printed.map(published));
    blocks
}

/// A table of the article.
fn published(published: &Published) -> Block {
    let table = Block::Table {
        head: published.columns.clone(),
        rows: published.rows.iter().map(|row| row.iter().map(plain).collect()).collect(),
    };
    let note = published.note.as_ref().map(|note| Block::Paragraph(plain(note)));
    Block::Fold {
        title: format!("What the article printed: {}", published.title),
        blocks: std::iter::once(table).chain(note).collect(),
    }
}
