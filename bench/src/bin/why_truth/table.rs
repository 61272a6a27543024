//! The table at the end of the proof: each run, then each goal with what was found.
//!
//! Start with [`Report::of_runs`].

use crate::findings::Findings;
use crate::plan::{Change, Language, Planned};
use crate::services::FunctionCost;
use stats::{mean_interval, median};
use std::fmt::Write;

/// Runs in which the changed function must be named first, of 20.
const NAMED_LEAST: f64 = 18.0 / 20.0;
/// Runs without a change in which something may be named, of 20.
const FALSE_MOST: f64 = 1.0 / 20.0;
/// The largest slow-down of a profiled contender.
const SLOW_DOWN_MOST: f64 = 1.02;

/// The text of the table, and whether every goal is met.
pub struct Report {
    pub text: String,
    pub holds: bool,
}

impl Report {
    /// Compares the findings of all runs, and the slow-downs of each language's service while it is
    /// sampled, with the goals.
    pub fn of_runs(runs: &[(Planned, Findings)], slow_downs: &[(Language, Vec<f64>)]) -> Report {
        let (mut text, mut all) = (String::new(), Vec::new());
        if !runs.is_empty() {
            text += "| run | named first | us more | also named | sums agree |\n";
            text += "|---|---|---|---|---|\n";
            runs.iter().for_each(|(run, found)| text += &row(run, found));
            text += "\n";
            all = goals(runs);
        }
        all.extend(slow_downs.iter().map(|(language, ratios)| slow_down(*language, ratios)));
        text += "| goal | found | of | at least or at most | met |\n|---|---|---|---|---|\n";
        for Goal { name, found, of, bound, is_met } in &all {
            let met = if *is_met { "yes" } else { "no" };
            let _ = writeln!(text, "| {name} | {found} | {of} | {bound} | {met} |");
        }
        Report { text, holds: !all.is_empty() && all.iter().all(|goal| goal.is_met) }
    }
}

fn row(run: &Planned, found: &Findings) -> String {
    let first = found.functions.first().or(found.categories.first());
    let (name, us) =
        first.map_or(("-", "-".into()), |named| (named.name.as_str(), format!("{:.1}", named.us)));
    let also = (found.functions.len() + found.categories.len()).saturating_sub(1);
    let agree = if found.sums_agree { "yes" } else { "no" };
    format!("| {} | {name} | {us} | {also} | {agree} |\n", run.describe())
}

/// A goal, and what was found.
struct Goal {
    name: String,
    found: String,
    of: String,
    bound: String,
    is_met: bool,
}

impl Goal {
    /// A number of runs that must be large enough.
    fn at_least(name: &str, found: usize, of: usize, share: f64) -> Goal {
        let least = (share * of as f64).ceil() as usize;
        Goal::counted(name, (found, of), format!(">= {least}"), of > 0 && found >= least)
    }

    /// A number of runs that must be small enough.
    fn at_most(name: &str, found: usize, of: usize, share: f64) -> Goal {
        let most = (share * of as f64).floor() as usize;
        Goal::counted(name, (found, of), format!("<= {most}"), of > 0 && found <= most)
    }

    fn counted(name: &str, (found, of): (usize, usize), bound: String, is_met: bool) -> Goal {
        Goal { name: name.to_owned(), found: found.to_string(), of: of.to_string(), bound, is_met }
    }
}

fn goals(runs: &[(Planned, Findings)]) -> Vec<Goal> {
    let changed: Vec<(&Change, &Findings)> =
        runs.iter().filter_map(|(run, found)| Some((run.change.as_ref()?, found))).collect();
    let same: Vec<&Findings> =
        runs.iter().filter(|(run, _)| run.change.is_none()).map(|(_, found)| found).collect();
    let named = changed.iter().filter(|(change, found)| found.names_first(change.function)).count();
    let falsely = same.iter().filter(|found| found.names_anything()).count();
    let agree = changed.iter().filter(|(_, found)| found.sums_agree).count();
    let mut goals = vec![
        Goal::at_least("the changed function is named first", named, changed.len(), NAMED_LEAST),
        Goal::at_most("something is named without a change", falsely, same.len(), FALSE_MOST),
        Goal::at_least("samples agree with CPU per request", agree, changed.len(), 1.0),
    ];
    goals.extend(Language::ALL.into_iter().filter_map(|language| symbolised(runs, language)));
    goals
}

/// The slow-down of a service: the geometric mean over pairs of slices, with its interval.
fn slow_down(language: Language, ratios: &[f64]) -> Goal {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let found = mean_interval(&logs, 0.95).map(|(mean, i)| (mean.exp(), i.low.exp(), i.high.exp()));
    let percent = |ratio: f64| format!("{:+.2} %", 100.0 * (ratio - 1.0));
    Goal {
        name: format!("CPU per request while sampled, {}", language.name()),
        found: found.map_or_else(
            || "-".into(),
            |(mean, low, high)| {
                format!("{} ({} to {})", percent(mean), percent(low), percent(high))
            },
        ),
        of: logs.len().to_string(),
        bound: format!("< {}", percent(SLOW_DOWN_MOST)),
        is_met: found.is_some_and(|(mean, ..)| mean < SLOW_DOWN_MOST),
    }
}

/// The share of user samples with a named function, over all runs of a language. `None` without
/// runs.
fn symbolised(runs: &[(Planned, Findings)], language: Language) -> Option<Goal> {
    let of_language: Vec<&Findings> =
        runs.iter().filter(|(run, _)| run.language == language).map(|(_, found)| found).collect();
    if of_language.is_empty() {
        return None;
    }
    let least = if language == Language::Java { 0.90 } else { 0.95 };
    let all: u64 = of_language.iter().map(|found| found.user_samples).sum();
    let named: u64 = of_language.iter().map(|found| found.symbolised).sum();
    let share = named as f64 / all.max(1) as f64;
    Some(Goal {
        name: format!("user samples with a name, {}", language.name()),
        found: format!("{:.1} %", 100.0 * share),
        of: all.to_string(),
        bound: format!(">= {:.0} %", 100.0 * least),
        is_met: all > 0 && share >= least,
    })
}

/// Lists what each function of a service costs, and its share.
pub fn costs(language: Language, costs: &[FunctionCost]) -> String {
    let all: f64 = costs.iter().map(|cost| cost.ns).sum();
    let mut text = format!(
        "{}: {:.0} us, median function {:.0} us\n",
        language.name(),
        all / 1e3,
        median(&costs.iter().map(|cost| cost.ns).collect::<Vec<_>>()).unwrap_or(0.0) / 1e3
    );
    for FunctionCost { name, rounds, ns } in costs {
        let share = 100.0 * ns / all;
        let _ =
            writeln!(text, "  {name:<16} {rounds:>5} rounds {:>6.1} us {share:>5.1} %", ns / 1e3);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Named;
    use crate::plan::runs;

    /// Findings that meet every goal in every run.
    fn perfect() -> Vec<(Planned, Findings)> {
        let found = |run: &Planned| {
            let named = |change: &Change| Named { name: change.function.to_owned(), us: 5.0 };
            Findings {
                functions: run.change.iter().map(named).collect(),
                categories: vec![],
                sums_agree: true,
                user_samples: 1_000,
                symbolised: 970,
            }
        };
        runs(48, 20, &Language::ALL).into_iter().map(|run| (run.clone(), found(&run))).collect()
    }

    fn slow_downs() -> Vec<(Language, Vec<f64>)> {
        vec![(Language::Go, [1.004, 1.006].repeat(40))]
    }

    /// Returns whether the goals are met after a change of the first runs of one kind.
    fn holds(count: usize, is_changed: bool, change: impl Fn(&mut Findings)) -> bool {
        let mut runs = perfect();
        let chosen = runs.iter_mut().filter(|(run, _)| run.change.is_some() == is_changed);
        chosen.take(count).for_each(|(_, found)| change(found));
        Report::of_runs(&runs, &slow_downs()).holds
    }

    #[test]
    fn each_goal_has_its_bound() {
        assert!(holds(0, true, |_| ()));
        let unnamed = |found: &mut Findings| found.functions.clear();
        assert!(holds(2, true, unnamed) && !holds(3, true, unnamed));
        let second = |found: &mut Findings| {
            found.functions.insert(0, Named { name: "other".into(), us: 9.0 });
        };
        assert!(holds(2, true, second) && !holds(3, true, second));
        let falsely = |found: &mut Findings| {
            found.categories.push(Named { name: "TCP".into(), us: -0.1 });
        };
        assert!(holds(1, false, falsely) && !holds(2, false, falsely));
        assert!(!holds(1, true, |found| found.sums_agree = false));
        assert!(!holds(20, true, |found| found.symbolised = 800));
    }

    #[test]
    fn slow_down_is_a_goal_even_without_runs() {
        assert!(!Report::of_runs(&[], &[]).holds);
        assert!(Report::of_runs(&[], &slow_downs()).holds);
        for ratios in [vec![1.05, 1.06], vec![]] {
            let slow_downs = [slow_downs(), vec![(Language::Java, ratios)]].concat();
            assert!(!Report::of_runs(&[], &slow_downs).holds);
            assert!(!Report::of_runs(&perfect(), &slow_downs).holds);
        }
    }

    #[test]
    fn table_has_a_row_for_each_run_and_each_goal() {
        let text = Report::of_runs(&perfect(), &slow_downs()).text;
        assert_eq!(text.lines().filter(|line| line.contains(", no change |")).count(), 20);
        assert!(text.contains("| the changed function is named first | 20 | 20 | >= 18 | yes |"));
        assert!(text.contains("| something is named without a change | 0 | 20 | <= 1 | yes |"));
        let slow_down = "| CPU per request while sampled, go | +0.50 % (+0.48 % to +0.52 %)";
        assert!(text.contains(slow_down), "{text}");
        assert!(text.contains("| user samples with a name, java | 97.0 % |"), "{text}");
    }
}
