//! Describes an experiment before it runs: what will be measured, where, and for how long.

use crate::exit::Error;
use lab::estimate::Estimate;
use record::Alternation;
use spec::catalog::Catalog;
use spec::experiment::{Cell, Experiment};
use spec::units::show_duration;

/// Describes the plan of an experiment on this machine.
pub fn plan_text(catalog: &Catalog, experiment: &Experiment) -> Result<String, Error> {
    let cpus = runner::cpus::choose(&experiment.place)?;
    let estimate = Estimate::of_experiment(catalog, experiment, &cpus)?;
    let mut text = format!("{}\n", experiment.question);
    for name in experiment.all_contenders() {
        let role = if *name == experiment.baseline { "baseline" } else { "contender" };
        let note = if name.is_twin() {
            ", the baseline a second time: measures how much a system differs from itself"
        } else {
            ""
        };
        text += &format!("  {role:<10} {name}{note}\n");
    }
    if let Some(upstream) = &experiment.upstream {
        text += &format!("  {:<10} {upstream}\n", "upstream");
    }
    if let Some(database) = &experiment.database {
        text += &format!("  {:<10} {database}, fresh for each trial\n", "database");
    }
    for cell in &experiment.cells {
        text += &format!("  {:<10} {}\n", "cell", cell_text(experiment, cell, &estimate));
    }
    text += &format!("  alternation: {}\n", alternation(experiment).describe());
    for (name, value) in experiment.describe_design() {
        text += &format!("  {name}: {value}\n");
    }
    let show = runner::cpus::show;
    text += &format!(
        "  contender on {}, generator on {}, upstream on {}\n",
        show(&cpus.contender),
        show(&cpus.generator),
        show(&cpus.upstream)
    );
    Ok(text + &duration_text(experiment, &estimate))
}

/// How contenders will alternate, if all of them can be built.
fn alternation(experiment: &Experiment) -> Alternation {
    let is_by_agents = experiment.place.agents_asked() > 0;
    let contenders = experiment.all_contenders().count();
    lab::alternation(experiment, is_by_agents, contenders, &runner::machine::describe())
}

/// `arrivals-300: 300/s, workload api, after 2 s of the same`.
fn cell_text(experiment: &Experiment, cell: &Cell, estimate: &Estimate) -> String {
    let by = cell.driver.map_or(String::new(), |driver| format!(", by {}", driver.name()));
    let warmed = if cell.warmup.is_zero() {
        String::new()
    } else {
        format!(", after {} of the same", show_duration(cell.warmup))
    };
    let about = estimate.cells[&cell.name];
    let done = if about < experiment.measured_at_most(cell) {
        format!(", done after an estimated {} if responses are fast", show_duration(about))
    } else {
        String::new()
    };
    format!(
        "{}: {}{by}, workload {}{warmed}{done}",
        cell.name,
        cell.load.describe(),
        cell.workload_label()
    )
}

/// `at most about 4 min once everything is built`, and a warning if the time budget is too short.
fn duration_text(experiment: &Experiment, estimate: &Estimate) -> String {
    let design = &experiment.design;
    let (all_blocks, mut text) = (estimate.all_blocks(experiment), String::new());
    if all_blocks > design.budget {
        text += &format!(
            "  all blocks would take {}: the time budget of {} may end the run earlier\n",
            show_duration(all_blocks),
            show_duration(design.budget)
        );
    }
    let may_end_early = design.looks.iter().any(|look| *look < design.blocks);
    let at_most = if may_end_early { "at most " } else { "" };
    let total = show_duration(estimate.total(experiment));
    text + &format!("  {at_most}about {total} once everything is built")
}

/// Names what the quick form of an experiment leaves out. Returns `None` if it leaves out nothing.
///
/// Long lists are counted, not named. A comparison with another revision replaces contenders and
/// claims, so `is_of_revision` leaves these unmentioned.
pub fn left_out_by_quick_form(
    whole: &Experiment,
    quick: &Experiment,
    is_of_revision: bool,
) -> Option<String> {
    let part = |what: &str, all: Vec<String>, kept: Vec<String>| {
        let count = all.len();
        let without: Vec<String> = all.into_iter().filter(|name| !kept.contains(name)).collect();
        match without.len() {
            0 => None,
            1 => Some(format!("the {what} {}", without[0])),
            2..=6 => Some(format!("the {what}s {}", without.join(", "))),
            many => Some(format!("{many} of {count} {what}s")),
        }
    };
    let contenders =
        |of: &Experiment| of.contenders.iter().map(ToString::to_string).collect::<Vec<_>>();
    let factors =
        |of: &Experiment| of.factors.iter().map(|factor| factor.name.clone()).collect::<Vec<_>>();
    let cells = |of: &Experiment| of.cells.iter().map(|cell| cell.name.clone()).collect::<Vec<_>>();
    // Factors determine the contenders, so only one of the two is listed.
    let compared = match (is_of_revision, whole.factors.is_empty()) {
        (true, _) => None,
        (false, true) => part("contender", contenders(whole), contenders(quick)),
        (false, false) => part("factor", factors(whole), factors(quick)),
    };
    let untried = match (whole.claims.len(), quick.claims.len()) {
        (all, tried) if is_of_revision || tried == all => None,
        (_, 0) => Some("every claim".to_owned()),
        (all, tried) => Some(format!("{} of {all} claims", all - tried)),
    };
    let parts: Vec<String> = [compared, part("cell", cells(whole), cells(quick)), untried]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| format!("the quick form leaves out {}", parts.join("; ")))
}
