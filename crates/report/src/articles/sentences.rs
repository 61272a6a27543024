//! Sentences about the result of a claim, made from its verdicts. No sentence about a result is
//! written by hand, so none can become outdated. Start with [`paragraph`].

use super::names::{contender, place, shown};
use super::printed::{ALIKE, Printed, SHORT, direction, printed};
use super::prose::{Prose, capital, plain};
use super::tried::{Found, Tested, command, is_of_article, text};
use crate::chart::scales::round_number;
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

/// Returns each figure that an article printed for a claim, once, with its cell. A figure of another
/// load is the same for all cells, and is left out if there is one of the claim's load.
fn each_printed<'a>(found: Found<'a>, article: &Article) -> Vec<(&'a ClaimCell, Printed)> {
    let of_cells = found.claim.cells.iter().zip(all_printed(found, article));
    let all = of_cells.filter_map(|(cell, printed)| Some((cell, printed?)));
    let (of_other_load, mut here): (Vec<_>, Vec<_>) =
        all.partition(|(_, printed)| printed.is_of_other_load);
    if here.is_empty() {
        here.extend(of_other_load.into_iter().next());
    }
    here
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
    for (cell, printed) in each_printed(found, article) {
        let place = place(&found.tried.experiment, cell.verdict.cell.as_deref()).text();
        let place = (claim.cells.len() > 1).then(|| capital(place.trim_start()));
        sentences.push(plain(printed.sentence(&cell.verdict, place.as_deref())));
    }
    if claim.outcome == ClaimOutcome::Undecided {
        sentences.push(plain(why_undecided(found)));
    }
    sentences.extend(tested.others.iter().map(|other| {
        let outcome = other.claim.outcome.name();
        let cells = other.claim.cells.iter().map(|cell| in_cell(*other, cell));
        let with = plain("Also tested with ").put(command(other.tried, other.run.quick));
        with.plain(format_args!(": {outcome}, ")).put(Prose::join(cells, "; ")).plain(".")
    }));
    Prose::join(sentences, " ")
}

/// `Why it is undecided at 200 requests per second: higher, but perhaps by less than 5 %.` Names
/// cells only if there are several and the reason is that of a cell. Each cell has its own reason.
fn why_undecided(found: Found<'_>) -> String {
    let claim = found.claim;
    let mut of_cells: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in claim.cells.iter().filter(|cell| cell.outcome == ClaimOutcome::Undecided) {
        let place = place(&found.tried.experiment, cell.verdict.cell.as_deref()).text();
        let place = place.trim_start().to_owned();
        let reason = cell.verdict.reason.trim_end_matches('.');
        match of_cells.iter_mut().find(|(of, _)| *of == reason) {
            Some((_, places)) => places.push(place),
            None => of_cells.push((reason, vec![place])),
        }
    }
    let reason = claim.reason.trim_end_matches('.');
    let is_of_cell = |(of, _): &(&str, _)| !of.is_empty() && reason.ends_with(of);
    if !of_cells.first().is_some_and(is_of_cell) {
        return format!("Why it is undecided: {reason}.");
    }
    if let ([(reason, _)], 1) = (of_cells.as_slice(), claim.cells.len()) {
        return format!("Why it is undecided: {reason}.");
    }
    let reasons = of_cells
        .iter()
        .filter_map(|(reason, places)| Some(format!("{}: {reason}", sentence_list(places)?)));
    let reasons: Vec<String> = reasons.collect();
    let (first, others) = reasons.split_first().map_or(("", &[][..]), |(one, all)| (one, all));
    let others: String = others.iter().map(|reason| format!(" {}.", capital(reason))).collect();
    format!("Why it is undecided {first}.{others}")
}

/// Writes how often the article's figures agree with ours; `None` if it printed none for our
/// comparisons.
pub(super) fn agreements(claims: &[Tested<'_>], article: &Article) -> Option<String> {
    let compared = claims.iter().flat_map(|tested| {
        let printed = each_printed(tested.best, article).into_iter();
        printed.filter_map(|(cell, printed)| printed.agreement(&cell.verdict)?.short())
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
    // The last sentence tells why a comparison has no result.
    let is_open = |cell: &&ClaimCell| {
        cell.outcome == ClaimOutcome::Undecided
            && cell.verdict.difference.is_none()
            && !claim.claim.expects.is_absolute()
    };
    let others: Vec<&ClaimCell> = others.into_iter().filter(|cell| !is_open(cell)).collect();
    let of_others = (!others.is_empty()).then(|| who().plain(": ").put(each(&others)));
    let sentences = of_compared.into_iter().chain(of_others);
    sentences.map(|sentence| sentence.capital().plain(".")).collect()
}

/// `7 % more (8 % less to 24 % more) at 1,000 users`
fn in_cell(found: Found<'_>, cell: &ClaimCell) -> Prose {
    let v = &cell.verdict;
    // Older judgements compared two contenders here, although the claim is about one.
    let alone = v.value.filter(|_| {
        matches!(found.claim.claim.expects, Expectation::Zero | Expectation::AboveZero)
            && v.difference.is_some()
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
    contender(article, &found.claim.claim.contender)
        .plain(" ")
        .put(difference(v, other))
        .put(place(&found.tried.experiment, v.cell.as_deref()))
        .plain(values(found, v).unwrap_or_default())
}

/// `: 232 users against 2767 users`
pub(super) fn values(found: Found<'_>, v: &Verdict) -> Option<String> {
    let show = |value| shown(&found.tried.experiment, v, value);
    let (value, baseline) = v.value.zip(v.baseline_value)?;
    Some(format!(": {} against {}", show(value), show(baseline)))
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
    if claim.claim.metric.describe().by_difference {
        let is_small = |cell: &ClaimCell| cell.verdict.outcome == Outcome::Equivalent;
        let margin = claim.cells.first()?.verdict.margin;
        let points = round_number(100.0 * margin);
        return refuted
            .clone()
            .all(is_small)
            .then(|| format!("The difference is less than {points} percentage points."));
    }
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
