//! The answer to an article's question in two sentences, made from the claims that the article's
//! file names (`[summary]`). The first sentence has yes or no, and every settled result of the same
//! two contenders; the second has the others. Start with [`Answered`].

use super::names::{contender, load, shown};
use super::prose::{Prose, plain};
use super::sentences::{all_printed, predicate, values};
use super::table::{at_most, made};
use super::tried::{Found, Study, Tested, command, text};
use record::judgement::{ClaimCell, ClaimOutcome, Outcome};
use spec::article::{Answer, Article, Summary};
use spec::experiment::{Claim, Expectation};

/// An article's question with the results that answer it.
pub(super) struct Answered<'a> {
    pub summary: &'a Summary,
    article: &'a Article,
    /// The results in the order of importance.
    pub results: Vec<Part<'a>>,
}

/// One of the results.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// A claim in one of its cells.
    Found(Found<'a>, &'a ClaimCell),
    /// A claim that was not tested.
    Open(&'a Claim),
}

impl<'a> Answered<'a> {
    /// Finds the results; `None` if the article has no question. A claim that several experiments
    /// test has one result on the whole page, so the answer has that one, too.
    pub(super) fn new(study: &'a Study, claims: &[Tested<'a>]) -> Option<Answered<'a>> {
        let summary = study.article.summary.as_ref()?;
        let find = |answer: &Answer| {
            let mut experiments = study.tried.iter();
            let tried = experiments.find(|tried| tried.experiment.name == answer.experiment)?;
            // The run may be of an older text of the same claim.
            let of_run = tried.run.iter().flat_map(|run| &run.claims).map(|of| &of.claim);
            let claim = of_run.chain(&tried.experiment.claims).find(|claim| answer.is(claim))?;
            let is_same = |tested: &&Tested<'_>| tested.best.claim.claim.text == claim.text;
            let found = claims.iter().find(is_same).map(|tested| tested.best);
            let of_cell = |found: Found<'a>| {
                let named = |cell: &&ClaimCell| Some(&cell.cell) == answer.cell.as_ref();
                let cells = &found.claim.cells;
                Some(Part::Found(found, cells.iter().find(named).or(cells.last())?))
            };
            Some(found.and_then(of_cell).unwrap_or(Part::Open(claim)))
        };
        let results = summary.answers.iter().filter_map(find).collect();
        Some(Answered { summary, article: &study.article, results })
    }

    /// Writes the answer.
    pub(super) fn sentences(&self) -> Prose {
        let Some((first, rest)) = self.results.split_first() else {
            return plain("No experiment tests its claims.");
        };
        let Part::Found(found, cell) = *first else {
            return Prose::default().strong("Not tested yet.");
        };
        let (mut together, others): (Vec<Part<'_>>, Vec<Part<'_>>) =
            rest.iter().copied().partition(|part| part.belongs_to(first));
        together.insert(0, *first);
        let lead = Prose::default().strong(format_args!("{}:", self.lead(found, cell)));
        let one = lead.plain(" ").put(self.together(found, cell, &together)).plain(".");
        let said = load(&found.tried.experiment, cell.verdict.cell.as_deref());
        let others: Vec<Prose> = others.iter().map(|part| self.clause(part, Some(&said))).collect();
        match (others.is_empty(), self.of_article(found, cell)) {
            (false, _) => one.plain(" ").put(Prose::join(others, "; ").capital()).plain("."),
            (true, Some(sentence)) => one.plain(" ").plain(sentence),
            (true, None) => one,
        }
    }

    /// Writes when and how the first result was measured.
    pub(super) fn measured(&self) -> Option<Prose> {
        self.results.iter().find_map(|part| match part {
            Part::Found(found, _) => Some(
                plain(format_args!("Measured {}: ", made(found.run)))
                    .put(command(found.tried, found.run.quick))
                    .plain("."),
            ),
            Part::Open(_) => None,
        })
    }

    /// The word for the outcome of the first result. A claim may be undecided as a whole although
    /// each cell by itself is not.
    fn lead(&self, found: Found<'_>, cell: &ClaimCell) -> &'static str {
        let outcome = match found.claim.outcome {
            ClaimOutcome::Undecided => ClaimOutcome::Undecided,
            ClaimOutcome::Confirmed | ClaimOutcome::Refuted => cell.outcome,
        };
        match (outcome, self.summary.is_yes_if_confirmed) {
            (ClaimOutcome::Undecided, _) => "Undecided",
            (ClaimOutcome::Confirmed, true) | (ClaimOutcome::Refuted, false) => "Yes",
            (ClaimOutcome::Confirmed, false) | (ClaimOutcome::Refuted, true) => "No",
        }
    }

    /// Writes results of two contenders: `a uses 2.0× less memory (...) and is ... than b`.
    fn together(&self, first: Found<'_>, cell: &ClaimCell, parts: &[Part<'_>]) -> Prose {
        let predicates: Vec<(String, &str)> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Found(_, cell) if cell.verdict.ratio.is_some() => {
                    Some(predicate(&cell.verdict))
                }
                _ => None,
            })
            .collect();
        let Some((_, word)) = predicates.last() else {
            return self.clause(&Part::Found(first, cell), None);
        };
        let (word, is_one) = (*word, predicates.len() == 1);
        let all = predicates.iter().map(|(predicate, _)| plain(predicate)).collect();
        contender(self.article, &first.claim.claim.contender)
            .plain(" ")
            .put(Prose::list(all))
            .plain(format_args!(" {word} "))
            .put(contender(self.article, &cell.verdict.baseline))
            .put(load(&first.tried.experiment, cell.verdict.cell.as_deref()))
            .plain(values(first, &cell.verdict).filter(|_| is_one).unwrap_or_default())
    }

    /// Writes one result. It names the load only if that differs from the one named before.
    fn clause(&self, part: &Part<'_>, said: Option<&Prose>) -> Prose {
        let (found, cell) = match part {
            Part::Found(found, cell) => (found, cell),
            Part::Open(claim) => {
                return plain(format_args!("not tested here: \"{}\"", text(claim)));
            }
        };
        let (v, claim) = (&cell.verdict, &found.claim.claim);
        let load = load(&found.tried.experiment, v.cell.as_deref());
        let load = if said == Some(&load) { Prose::default() } else { load };
        let who = contender(self.article, &claim.contender);
        let show = |value: Option<f64>| {
            value.map_or("unknown".into(), |value| shown(&found.tried.experiment, v, value))
        };
        let label = v.metric.describe().label;
        match (v.ratio, claim.expects) {
            (Some(_), _) => {
                let (predicate, word) = predicate(v);
                let open = match cell.outcome {
                    ClaimOutcome::Undecided => ", which is undecided",
                    ClaimOutcome::Confirmed | ClaimOutcome::Refuted => "",
                };
                who.plain(format_args!(" {predicate} {word} "))
                    .put(contender(self.article, &v.baseline))
                    .put(load)
                    .plain(open)
            }
            (None, Expectation::AtMost) => plain(format_args!("the {label} of "))
                .put(who)
                .put(load)
                .plain(format_args!(" is {}, expected {}", show(v.value), at_most(claim))),
            (None, _) => {
                let of = plain(label).put(load).plain(": ").put(who);
                let of = of.plain(format_args!(" {}", show(v.value)));
                match v.baseline_value {
                    Some(_) => of
                        .plain(", ")
                        .put(contender(self.article, &v.baseline))
                        .plain(format_args!(" {}", show(v.baseline_value))),
                    None => of,
                }
            }
        }
    }

    /// Writes how the article's figures agree with the first result.
    fn of_article(&self, found: Found<'_>, cell: &ClaimCell) -> Option<String> {
        let at = found.claim.cells.iter().position(|other| other.cell == cell.cell)?;
        let printed = all_printed(found, self.article).into_iter().nth(at)??;
        Some(printed.sentence(&cell.verdict, None))
    }
}

impl Part<'_> {
    /// Whether it is in the same sentence as the first result: about the same two contenders, and
    /// decided like that.
    fn belongs_to(&self, first: &Part<'_>) -> bool {
        let (Part::Found(one, cell), Part::Found(other, other_cell)) = (self, first) else {
            return false;
        };
        let (v, first) = (&cell.verdict, &other_cell.verdict);
        let is_open = |outcome| outcome == Outcome::Undecided;
        one.claim.claim.contender == other.claim.claim.contender
            && (&v.baseline, &v.cell) == (&first.baseline, &first.cell)
            && v.ratio.is_some()
            && is_open(v.outcome) == is_open(first.outcome)
            && predicate(v).1 == predicate(first).1
    }
}
