//! Sentences about the result of a claim, made from its verdicts. No sentence about a result is
//! written by hand, so none can become outdated. Start with [`paragraph`].

use super::printed::{ALIKE, Agreement, Printed, SHORT, direction, printed};
use super::tried::{Tried, command};
use crate::export::markdown_text as plain;
use crate::wording::list::sentence_list;
use record::judgement::{
    ClaimCell, ClaimOutcome, ClaimVerdict, Evidence, Outcome, Phrase, Verdict,
};
use spec::article::Article;
use spec::experiment::self_comparison::SelfComparison;
use spec::experiment::{Claim, Expectation};
use spec::metric::Metric;

/// The prefix of claims that are not in the article.
const OURS: &str = "Not in the article: ";
/// The most cells that a sentence reports one by one; of more it reports the two extremes.
const EACH: usize = 3;

/// Returns whether the article claims it.
pub(super) fn is_of_article(claim: &Claim) -> bool {
    !claim.text.starts_with(OURS)
}

/// The mark of our own claims; empty for a claim of the article.
pub(super) fn whose(claim: &Claim) -> &'static str {
    if is_of_article(claim) { "" } else { ", not in the article" }
}

/// The text of a claim, without the prefix of our own claims and without a full stop.
pub(super) fn text(claim: &Claim) -> String {
    let text = claim.text.strip_prefix(OURS).unwrap_or(&claim.text).trim_end_matches('.');
    plain(&capital(text))
}

/// Returns what an article printed for each cell of a claim.
pub(super) fn all_printed(
    claim: &ClaimVerdict,
    tried: &Tried,
    article: &Article,
) -> Vec<Option<Printed>> {
    // No table has a contender compared with itself.
    let of = |cell: &ClaimCell| {
        printed(&tried.experiment, article, &cell.verdict)
            .filter(|_| claim.claim.compared_with.is_none())
    };
    claim.cells.iter().map(of).collect()
}

/// Writes a paragraph about a claim: its outcome, the result here, the article's figures and, if it
/// is undecided, what to do.
pub(super) fn paragraph(
    claim: &ClaimVerdict,
    tried: &Tried,
    run: &Evidence,
    article: &Article,
) -> String {
    let (outcome, of) = (claim.outcome.name(), &claim.claim);
    let whose = whose(of);
    let mut sentences = vec![format!("**{}{whose}:** {}.", capital(outcome), text(of))];
    sentences.extend(found(claim, run));
    sentences.extend(lesson(claim));
    for (cell, printed) in claim.cells.iter().zip(all_printed(claim, tried, article)) {
        let place = (claim.cells.len() > 1).then(|| plain(&cell.cell));
        sentences.extend(printed.map(|printed| printed.sentence(&cell.verdict, place.as_deref())));
    }
    if claim.outcome == ClaimOutcome::Undecided {
        let reason = plain(claim.reason.trim_end_matches('.'));
        let open = if reason.starts_with("open in ") { "It is" } else { "It is open:" };
        sentences.push(format!("{open} {reason}. To try again: {}.", command(tried, run.quick)));
    }
    sentences.join(" ")
}

/// Writes the largest settled difference, and whether the article was right about it. Without a
/// settled ratio it reports that nothing is settled, or nothing.
pub(super) fn headline(run: &Evidence, tried: &Tried, article: &Article) -> Option<String> {
    let is_open = |claim: &ClaimVerdict| claim.outcome == ClaimOutcome::Undecided;
    let settled =
        run.claims.iter().filter(|claim| !is_open(claim) && claim.claim.compared_with.is_none());
    let cells = settled.flat_map(|claim| (0..claim.cells.len()).map(move |at| (claim, at)));
    let sizes = cells.filter_map(|(claim, at)| {
        let Verdict { ratio, interval, .. } = &claim.cells[at].verdict;
        direction((*interval)?).and(*ratio).map(|ratio| (ratio.ln().abs(), claim, at))
    });
    // The first of equals.
    let Some((_, claim, at)) =
        sizes.reduce(|most, other| if other.0 > most.0 { other } else { most })
    else {
        let is_all_open = !run.claims.is_empty() && run.claims.iter().all(is_open);
        return is_all_open.then(|| "Nothing is settled yet.".into());
    };
    let cell = &claim.cells[at];
    let agreement = all_printed(claim, tried, article)
        .swap_remove(at)
        .and_then(|printed| printed.agreement(&cell.verdict));
    let article = agreement
        .and_then(Agreement::short)
        .map(|short| format!(" The article was {short}."))
        .unwrap_or_default();
    Some(format!("{}.{article}", of_cell(claim, cell)))
}

/// Writes how often the article's figures agree with ours; `None` if it printed none for our
/// comparisons.
pub(super) fn agreements(all: &[Tried], article: &Article) -> Option<String> {
    let claims = all.iter().filter_map(|tried| tried.run.as_ref().map(|run| (tried, run)));
    let claims = claims.flat_map(|(tried, run)| run.claims.iter().map(move |claim| (tried, claim)));
    let compared = claims.flat_map(|(tried, claim)| {
        let printed = all_printed(claim, tried, article);
        printed
            .into_iter()
            .zip(&claim.cells)
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
    let comparisons = match compared.len() {
        0 => return None,
        1 => "1 comparison".to_owned(),
        n => format!("{n} comparisons"),
    };
    Some(format!(
        "{comparisons} of its figures with ours {} a sure direction on both sides: {}.",
        have(compared.len()),
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
fn found(claim: &ClaimVerdict, run: &Evidence) -> Vec<String> {
    let (compared, others): (Vec<&ClaimCell>, Vec<&ClaimCell>) =
        claim.cells.iter().partition(|cell| cell.verdict.ratio.is_some());
    let each = |cells: &[&ClaimCell]| {
        cells.iter().map(|cell| in_cell(claim, cell)).collect::<Vec<_>>().join("; ")
    };
    let who = who(claim, run);
    let of_compared = match compared.as_slice() {
        [] => None,
        [cell] => Some(format!("{}.", of_cell(claim, cell))),
        cells if cells.len() <= EACH => Some(format!("{who}: {}.", each(cells))),
        cells => {
            let by_ratio = |a: &&&ClaimCell, b: &&&ClaimCell| {
                a.verdict.ratio.partial_cmp(&b.verdict.ratio).unwrap_or(std::cmp::Ordering::Equal)
            };
            let ends = cells.iter().min_by(by_ratio).zip(cells.iter().max_by(by_ratio));
            ends.map(|(low, high)| {
                format!(
                    "{who} in {} cells: from {} to {}.",
                    cells.len(),
                    in_cell(claim, low),
                    in_cell(claim, high)
                )
            })
        }
    };
    let of_others = (!others.is_empty()).then(|| format!("{who}: {}.", each(&others)));
    of_compared.into_iter().chain(of_others).collect()
}

/// `7 % more (8 % less to 24 % more) in users-1000`
fn in_cell(claim: &ClaimVerdict, cell: &ClaimCell) -> String {
    let v = &cell.verdict;
    let place = v.cell.as_deref().map(|cell| format!(" in {}", plain(cell))).unwrap_or_default();
    // An expectation about each trial of one contender compares no two contenders.
    let alone = v
        .value
        .filter(|_| matches!(claim.claim.expects, Expectation::Zero | Expectation::AboveZero));
    format!("{}{place}", alone.map_or_else(|| super::table::found(v), |value| v.metric.show(value)))
}

/// Writes the result of one cell: contender, difference, baseline, place and the two values.
fn of_cell(claim: &ClaimVerdict, cell: &ClaimCell) -> String {
    let v = &cell.verdict;
    let other = match claim.claim.compared_with {
        Some(SelfComparison::Cold) => "in its first second of load".to_owned(),
        Some(SelfComparison::FirstRepetition) => "in its first repetition".to_owned(),
        None => format!("`{}`", v.baseline),
    };
    let place = v.cell.as_deref().map(|cell| format!(" in {}", plain(cell))).unwrap_or_default();
    let values = v.value.zip(v.baseline_value);
    let values = values.map(|(value, baseline)| {
        format!("{} against {}", v.metric.show(value), v.metric.show(baseline))
    });
    // A claim's margin may be wide: a sure difference within it is not called equal.
    let shown = match v.outcome {
        Outcome::Equivalent if v.interval.and_then(direction).is_some() => Outcome::Better,
        Outcome::Equivalent if v.margin > ALIKE => Outcome::Undecided,
        outcome => outcome,
    };
    let predicate = Verdict { outcome: shown, ..v.clone() }.predicate();
    let difference = match predicate {
        Some(Phrase { size, interval: Some(within) }) if shown == Outcome::Equivalent => {
            format!("{size} as {other}{place} ({within}): {}", v.short_phrase())
        }
        Some(predicate) => format!("{predicate} than {other}{place}"),
        None => format!("was not compared with {other}{place}"),
    };
    let mark = if shown == Outcome::Equivalent { ", " } else { ": " };
    format!(
        "`{}` {difference}{}",
        claim.claim.contender,
        values.map(|values| format!("{mark}{values}")).unwrap_or_default()
    )
}

/// Writes the two contenders and the metric.
fn who(claim: &ClaimVerdict, run: &Evidence) -> String {
    let of = &claim.claim;
    let label = if of.metric == Metric::FailedShare {
        of.metric.describe().label
    } else {
        of.metric.short_label()
    };
    match (of.expects, of.compared_with) {
        (Expectation::AtMost, _) => {
            format!("`{}`, {label}, expected {}", of.contender, super::table::at_most(of))
        }
        (Expectation::Zero | Expectation::AboveZero, _) => format!("`{}`, {label}", of.contender),
        (_, Some(compared_with)) => {
            format!("`{}`, {}, {label}", of.contender, compared_with.describe())
        }
        _ => format!("`{}` against `{}`, {label}", of.contender, run.baseline),
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

/// Begins a text with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default()
        + letters.as_str()
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
