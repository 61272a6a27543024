//! Contenders and loads as a reader names them: `the Go proxy`, `at 300 requests per second`. The
//! names of contenders are in the article's file. Start with [`contender`] and [`place`].

use super::prose::{Prose, code, plain};
use record::judgement::Verdict;
use spec::article::Article;
use spec::experiment::{Experiment, Load};
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::units::show_number;

/// Returns what the article's page calls a contender; without a name there, the contender's own.
pub(super) fn contender(article: &Article, name: &ContenderName) -> Prose {
    let named = article.summary.as_ref().and_then(|summary| summary.names.get(&name.to_string()));
    named.map_or_else(|| code(name), plain)
}

/// Returns where something was measured, with a space before: ` at 6,000 users`. Empty for a
/// metric of the start.
pub(super) fn load(experiment: &Experiment, cell: Option<&str>) -> Prose {
    let words = |name: &str| in_words(&experiment.cell(name)?.load);
    match cell.map(|name| (name, words(name))) {
        None => Prose::default(),
        Some((_, Some(words))) => plain(" ").plain(words),
        Some((name, None)) => plain(" in ").code(name),
    }
}

/// Returns where something was measured like [`load`], with the name of the cell if others have the
/// same load.
pub(super) fn place(experiment: &Experiment, cell: Option<&str>) -> Prose {
    let here = load(experiment, cell);
    let is_alike = |name: &str| cell != Some(name) && load(experiment, Some(name)) == here;
    match cell.filter(|_| experiment.cells.iter().any(|other| is_alike(&other.name))) {
        Some(name) => here.plain(" (").code(name).plain(")"),
        None => here,
    }
}

/// Shows a value with its unit. The unit of a capacity depends on the load: users, or requests per
/// second.
pub(super) fn shown(experiment: &Experiment, v: &Verdict, value: f64) -> String {
    match v.cell.as_deref().and_then(|cell| experiment.cell(cell)).map(|cell| &cell.load) {
        Some(Load::Capacity(capacity)) if v.metric == Metric::Capacity => capacity.of.show(value),
        _ => v.metric.show(value),
    }
}

/// Describes a load; `None` if it takes more than a few words.
fn in_words(load: &Load) -> Option<String> {
    match load {
        Load::Arrivals { rate_per_s, stages, .. } if stages.is_empty() => {
            Some(format!("at {} requests per second", number(*rate_per_s)))
        }
        Load::Arrivals { .. } => None,
        Load::Closed { connections: 1, depth: 1 } => Some("over 1 connection".to_owned()),
        Load::Closed { connections, depth: 1 } => {
            Some(format!("over {} connections", number(f64::from(*connections))))
        }
        Load::Closed { connections, depth } => Some(format!(
            "over {} connections with {depth} requests each",
            number(f64::from(*connections))
        )),
        Load::Users { users: 1, .. } => Some("at 1 user".to_owned()),
        Load::Users { users, .. } => Some(format!("at {} users", number(f64::from(*users)))),
        Load::Capacity(capacity) => Some(format!("with {}", capacity.service_level.describe())),
    }
}

/// Shows a number, if it is whole with commas between thousands.
fn number(value: f64) -> String {
    if value.fract() != 0.0 {
        return show_number(value);
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_commas_between_thousands() {
        assert_eq!(
            [1.0, 999.0, 1000.0, 12_345_678.0, 0.5].map(number),
            ["1", "999", "1,000", "12,345,678", "0.500"]
        );
    }

    #[test]
    fn loads_are_named_in_a_few_words() {
        let load = |connections, depth| in_words(&Load::Closed { connections, depth }).unwrap();
        assert_eq!(load(1, 1), "over 1 connection");
        assert_eq!(load(64, 1), "over 64 connections");
        assert_eq!(load(128, 16), "over 128 connections with 16 requests each");
    }
}
