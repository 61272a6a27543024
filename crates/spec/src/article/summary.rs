//! What a reader of an article's page wants to know first: the question, what the article claims,
//! how it measured, and which claims of our experiments answer the question (`[summary]` in
//! `articles/<name>.toml`). The sentences about results are made from judgements, not written here.
//!
//! Start with [`Summary`].

use crate::experiment::Claim;
use crate::metric::Metric;
use crate::name::{ContenderName, did_you_mean};
use crate::reader::Table;
use std::collections::BTreeMap;

/// An article's question, and where its answer comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The question, which is answered with yes or no.
    pub question: String,
    /// What the article claims.
    pub claimed: String,
    /// How it measured.
    pub method: String,
    /// Whether the answer is yes if the first of the answers is confirmed. Otherwise it is yes if
    /// that claim is refuted.
    pub is_yes_if_confirmed: bool,
    /// What contenders are called in sentences, by their names.
    pub names: BTreeMap<String, String>,
    /// The claims that answer the question, the most important first.
    pub answers: Vec<Answer>,
}

/// A claim of an experiment that answers an article's question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The experiment that tests the claim.
    pub experiment: String,
    /// The contender that the claim is about.
    pub contender: ContenderName,
    /// The metric that it compares.
    pub metric: Metric,
    /// The cell whose result is reported; the last of the claim if absent.
    pub cell: Option<String>,
    /// The claim's margin, if claims differ in it.
    pub margin: Option<f64>,
    /// The claim's value, if claims differ in it.
    pub value: Option<f64>,
    /// The CPUs that the claim needs.
    pub contender_cpus: Option<u32>,
}

impl Answer {
    /// Returns whether a claim of its experiment is the one that it names.
    pub fn is(&self, claim: &Claim) -> bool {
        let is_of_cell = |cell: &String| claim.cells.is_empty() || claim.cells.contains(cell);
        claim.contender == self.contender
            && claim.metric == self.metric
            && self.cell.as_ref().is_none_or(is_of_cell)
            && claim.contender_cpus == self.contender_cpus
            && (self.margin.is_none() || claim.margin == self.margin)
            && (self.value.is_none() || claim.value == self.value)
    }
}

pub(super) fn parse_summary(fields: &Table<'_>) -> Summary {
    let answers: Vec<Option<Answer>> = fields.tables("answer", parse_answer);
    if answers.is_empty() {
        fields.problem(
            "answer",
            "no claim answers the question",
            "write `answer = [{ experiment = \"...\", contender = \"...\", metric = \"...\" }]`",
        );
    }
    let text = |key| fields.required_string(key).split_whitespace().collect::<Vec<_>>().join(" ");
    Summary {
        question: text("question"),
        claimed: text("claimed"),
        method: text("method"),
        is_yes_if_confirmed: fields
            .choice("yes_if", &[("confirmed", true), ("refuted", false)])
            .unwrap_or(true),
        names: fields.map("names").into_iter().collect(),
        answers: answers.into_iter().flatten().collect(),
    }
}

/// Reads an answer; `None` if its contender or metric is wrong, which is reported.
fn parse_answer(fields: &Table<'_>) -> Option<Answer> {
    const MOST_CPUS: u64 = 1024;
    let experiment = fields.required_string("experiment");
    let contender = match fields.has("contender") {
        true => fields.parsed("contender", |text| text.parse::<ContenderName>()),
        false => fields.required_string("contender").parse().ok(),
    };
    let word = fields.required_string("metric");
    let metric = Metric::named(&word);
    if metric.is_none() && fields.is_text("metric") {
        let names = Metric::ALL.iter().map(|metric| metric.describe().name);
        fields.problem("metric", format!("unknown metric `{word}`"), did_you_mean(&word, names));
    }
    let cell = fields.string("cell");
    let (margin, value) =
        (fields.number("margin", 0.0, f64::MAX), fields.number("value", 0.0, f64::MAX));
    let cpus = fields.integer("contender_cpus", 1, MOST_CPUS);
    Some(Answer {
        experiment,
        contender: contender?,
        metric: metric?,
        cell,
        margin,
        value,
        contender_cpus: cpus.and_then(|cpus| u32::try_from(cpus).ok()),
    })
}
