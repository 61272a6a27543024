//! Sentences about the result of a claim, made from its verdicts. No sentence about a result is
//! written by hand, so none can become outdated. Start with [`paragraph`].

use super::names::{contender, place, shown};
use super::printed::{ALIKE, Printed, SHORT, direction, printed};
use super::prose::{Prose, capital, plain};
use super::tried::{Found, Tested, command, is_of_article, text};
use crate::wording::list::sentence_list;
use record::judgement::{ClaimCell, ClaimOutcome, ClaimVerdict, Outcome, Phrase, Verdict};
use spec::article::Article;
use spec::experiment::self_comparison::SelfComparison;
use spec::experiment::{Claim, Expectation};
use spec::metric::Metric;

/// The most cells that a sentence reports one by one; of more it reports the two extremes.
const EACH: usize = 3;

/// The mark of our own claims; empty for a claim of the article.
fn whose(claim: &Claim) -> &'static str {
    if is_of_article(claim) { "" } else { ", not in the article" }
}

/// Returns what an article printed for each cell of a claim.
pub(super) fn all_printed(found: Found<'_>, article: &Article) -> Vec<Option<Printed>> {
    let claim = found.claim;
    // No table has a contender compared with itself.
    let of = |cell: &ClaimCell| {
        printed(&found.tried.experiment, article, &cell.verdict)
            .filter(|_| claim.claim.compared_with.is_none())
    };
    claim.cells.iter().map(of).collect()
}

/// Writes a paragraph about a claim: its outcome, the result here, the article's figures and, if it
/// is undecided, why. Results of other experiments follow in a few words.
pub(super) fn paragraph(tested: &Tested<'_>, article: &Article) -> Prose {
    let found = tested.best;
    let (claim, of) = (found.claim, &found.claim.claim);
    let head = format!("{}{}:", capital(claim.outcome.name()), whose(of));
    let mut sentences = vec![Prose::default().strong(head).plain(format_args!(" {}.", text(of)))];
    sentences.extend(results(found, article));
    sentences.extend(lesson(claim).map(plain));
    for (cell, printed) in claim.cells.iter().zip(all_printed(found, article)) {
        let place = place(&found.tried.experiment, cell.verdict.cell.as_deref()).text();
        let place = (claim.cells.len() > 1).then(|| capital(place.trim_start()));
        let printed = printed.map(|printed| printed.sentence(&cell.verdict, place.as_deref()));
        sentences.extend(printed.map(plain));
    }
    if claim.outcome == ClaimOutcome::Undecided {
        sentences.push(plain(why_undecided(found)));
    }
    sentences.extend(tested.others.iter().map(|other| {
        let outcome = other.claim.outcome.name();
        let shown: Vec<String> =
            other.claim.cells.iter().map(|cell| super::table::found(&cell.verdict)).collect();
        let with = plain("Also tested with ").put(command(other.tried, other.run.quick));
        with.plain(format_args!(": {outcome}, {}.", shown.join("; ")))
    }));
    Prose::join(sentences, " ")
}

/// `Why it is undecided at 200 requests per second: higher, but perhaps by less than 5 %.` Names
/// cells only if there are several and the reason is that of a cell.
fn why_undecided(found: Found<'_>) -> String {
    let claim = found.claim;
    let undecided: Vec<&ClaimCell> =
        claim.cells.iter().filter(|cell| cell.outcome == ClaimOutcome::Undecided).collect();
    let reason = claim.reason.trim_end_matches('.');
    let of_cell = undecided
        .first()
        .map(|cell| cell.verdict.reason.trim_end_matches('.'))
        .filter(|of_cell| !of_cell.is_empty() && reason.ends_with(of_cell));
    let places: Vec<String> = match of_cell {
        Some(_) if claim.cells.len() > 1 => undecided
            .iter()
            .map(|cell| place(&found.tried.experiment, cell.verdict.cell.as_deref()).text())
            .map(|place| place.trim_start().to_owned())
            .collect(),
        _ => Vec::new(),
    };
    let places = sentence_list(&places).map(|list| format!(" {list}")).unwrap_or_default();
    format!("Why it is undecided{places}: {}.", of_cell.unwrap_or(reason))
}

/// Writes how often the article's figures agree with ours; `None` if it printed none for our
/// comparisons.
pub(super) fn agreements(claims: &[Tested<'_>], article: &Article) -> Option<String> {
    let compared = claims.iter().flat_map(|tested| {
        let printed = all_printed(tested.best, article);
        printed
            .into_iter()
            .zip(&tested.best.claim.cells)
            .filter_map(|(printed, cell)| printed?.agreement(&cell.verdict)?.short())
            .collect::<Vec<_>>()
    });
    let compared: Vec<&str> = compared.collect();
    let count = |short: &str| compared.iter().filter(|of| **of == short).count();
    let agree = |n: usize| if n == 1 { "agrees" } else { "agree" };
    let have = |n: usize| if n == 1 { "has" } else { "have" };
    let [size, direction, neither] = SHORT.map(count);
    let parts = [
        (size, format!("{size} {} in direction and size", agree(size))),
        (direction, format!("{direction} {} in direction only", agree(direction))),
        (neither, format!("{neither} {} the opposite direction", have(neither))),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect();
    let all = compared.len();
    if all == 0 {
        return None;
    }
    Some(format!(
        "{all} of its comparisons can be checked against ours in direction: {}.",
        sentence_list(&parts)?
    ))
}

/// `Of 7 claims of the article, 1 is confirmed, 3 are refuted and 3 are undecided.`
pub(super) fn tally(whose: &str, outcomes: &[ClaimOutcome]) -> Option<String> {
    let count = |outcome| outcomes.iter().filter(|of| **of == outcome).count();
    let all = [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Undecided]
        .map(|outcome| (count(outcome), outcome.name()));
    let known = all.iter().filter(|(n, _)| *n > 0);
    match outcomes {
        [] => None,
        [one] => Some(format!("The one claim{whose} is {}.", one.name())),
        _ => {
            let parts: Vec<String> = known
                .map(|(n, name)| format!("{n} {} {name}", if *n == 1 { "is" } else { "are" }))
                .collect();
            Some(format!("Of {} claims{whose}, {}.", outcomes.len(), sentence_list(&parts)?))
        }
    }
}

/// Writes the results: one sentence for cells with a ratio, one for those without. Empty if nothing
/// was compared.
fn results(found: Found<'_>, article: &Article) -> Vec<Prose> {
    let claim = found.claim;
    let (compared, others): (Vec<&ClaimCell>, Vec<&ClaimCell>) =
        claim.cells.iter().partition(|cell| cell.verdict.ratio.is_some());
    let each =
        |cells: &[&ClaimCell]| Prose::join(cells.iter().map(|cell| in_cell(found, cell)), "; ");
    let who = || who(found, article);
    let of_compared = match compared.as_slice() {
        [] => None,
        [cell] => Some(of_cell(found, cell, article)),
        cells if cells.len() <= EACH => Some(who().plain(": ").put(each(cells))),
        cells => {
            let by_ratio = |a: &&&ClaimCell, b: &&&ClaimCell| {
                a.verdict.ratio.partial_cmp(&b.verdict.ratio).unwrap_or(std::cmp::Ordering::Equal)
            };
            let ends = cells.iter().min_by(by_ratio).zip(cells.iter().max_by(by_ratio));
            ends.map(|(low, high)| {
                let of = who().plain(format_args!(" in {} cells: from ", cells.len()));
                of.put(in_cell(found, low)).plain(" to ").put(in_cell(found, high))
            })
        }
    };
    let of_others = (!others.is_empty()).then(|| who().plain(": ").put(each(&others)));
    let sentences = of_compared.into_iter().chain(of_others);
    sentences.map(|sentence| sentence.capital().plain(".")).collect()
}

/// `7 % more (8 % less to 24 % more) at 1,000 users`
fn in_cell(found: Found<'_>, cell: &ClaimCell) -> Prose {
    let v = &cell.verdict;
    // An expectation about each trial of one contender compares no two contenders.
    let alone = v.value.filter(|_| {
        matches!(found.claim.claim.expects, Expectation::Zero | Expectation::AboveZero)
    });
    let result = alone.map_or_else(|| super::table::found(v), |value| v.metric.show(value));
    plain(result).put(place(&found.tried.experiment, v.cell.as_deref()))
}

/// Writes the result of one cell: contender, difference, baseline, place and the two values.
pub(super) fn of_cell(found: Found<'_>, cell: &ClaimCell, article: &Article) -> Prose {
    let v = &cell.verdict;
    let other = match found.claim.claim.compared_with {
        Some(SelfComparison::Cold) => plain("in its first second of load"),
        Some(SelfComparison::FirstRepetition) => plain("in its first repetition"),
        None => contender(article, &v.baseline),
    };
    let show = |value| shown(&found.tried.experiment, v, value);
    let values = v.value.zip(v.baseline_value);
    let values =
        values.map(|(value, baseline)| format!(": {} against {}", show(value), show(baseline)));
    contender(article, &found.claim.claim.contender)
        .plain(" ")
        .put(difference(v, other))
        .put(place(&found.tried.experiment, v.cell.as_deref()))
        .plain(values.unwrap_or_default())
}

/// Writes a verdict with what it was compared with: `uses 2.0× less memory (1.9× to 2.1×) than b`.
pub(super) fn difference(v: &Verdict, other: Prose) -> Prose {
    let (predicate, word) = predicate(v);
    plain(predicate).plain(format_args!(" {word} ")).put(other)
}

/// Writes a verdict without what it was compared with, and the word between them.
pub(super) fn predicate(v: &Verdict) -> (String, &'static str) {
    let shown = shown_outcome(v);
    match (Verdict { outcome: shown, ..v.clone() }).predicate() {
        // Two contenders are equal within a margin, but the result has an interval as well.
        Some(Phrase { size, interval: Some(within) }) if shown == Outcome::Equivalent => {
            let Phrase { size: result, interval } = v.short_phrase();
            let interval = interval.map(|interval| format!(", {interval}")).unwrap_or_default();
            (format!("{size} ({within}: {result}{interval})"), "as")
        }
        Some(predicate) => (predicate.to_string(), "than"),
        None => ("was not compared".to_owned(), "with"),
    }
}

/// Returns the outcome that words a verdict. A claim's margin may be wide: a sure difference within
/// it is not called equal.
pub(super) fn shown_outcome(v: &Verdict) -> Outcome {
    match v.outcome {
        Outcome::Equivalent if v.interval.and_then(direction).is_some() => Outcome::Better,
        Outcome::Equivalent if v.margin > ALIKE => Outcome::Undecided,
        outcome => outcome,
    }
}

/// Writes the two contenders and the metric.
fn who(found: Found<'_>, article: &Article) -> Prose {
    let of = &found.claim.claim;
    let label = match of.metric {
        Metric::FailedShare => of.metric.describe().label,
        metric => metric.short_label(),
    };
    let who = contender(article, &of.contender);
    match (of.expects, of.compared_with) {
        (Expectation::AtMost, _) => {
            who.plain(format_args!(", {label}, expected {}", super::table::at_most(of)))
        }
        (Expectation::Zero | Expectation::AboveZero, _) => who.plain(format_args!(", {label}")),
        (_, Some(compared_with)) => {
            who.plain(format_args!(", {}, {label}", compared_with.describe()))
        }
        _ => {
            let baseline = contender(article, &found.run.baseline);
            who.plain(" against ").put(baseline).plain(format_args!(", {label}"))
        }
    }
}

/// Writes why a claim of a direction is refuted: the direction is the opposite, the difference is
/// smaller, or there is none.
fn lesson(claim: &ClaimVerdict) -> Option<String> {
    let expected = match claim.claim.expects {
        Expectation::Higher => true,
        Expectation::Lower => false,
        _ => return None,
    };
    if claim.outcome != ClaimOutcome::Refuted {
        return None;
    }
    let refuted = claim.cells.iter().filter(|cell| cell.outcome == ClaimOutcome::Refuted);
    let directions: Vec<Option<bool>> =
        refuted.map(|cell| cell.verdict.interval.map(direction)).collect::<Option<_>>()?;
    let (first, others) = directions.split_first()?;
    if others.iter().any(|other| other != first) {
        return None;
    }
    let why = match first {
        Some(way) if *way == expected => "the direction is right, the size is not",
        Some(_) => "it is the other way round",
        None => "there is no such difference",
    };
    let is_everywhere = directions.len() == claim.cells.len();
    Some(if is_everywhere {
        capital(why) + "."
    } else {
        format!("In {} of {} cells {why}.", directions.len(), claim.cells.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_in_a_sentence() {
        use ClaimOutcome::{Confirmed, Refuted, Undecided};
        let sentence = |outcomes: &[ClaimOutcome]| tally(" of the article", outcomes);
        assert_eq!(sentence(&[]), None);
        assert_eq!(sentence(&[Refuted]).unwrap(), "The one claim of the article is refuted.");
        assert_eq!(
            sentence(&[Confirmed; 2]).unwrap(),
            "Of 2 claims of the article, 2 are confirmed."
        );
        let all = [Undecided, Confirmed, Refuted, Refuted];
        assert_eq!(
            sentence(&all).unwrap(),
            "Of 4 claims of the article, 1 is confirmed, 2 are refuted and 1 is undecided."
        );
    }
}
