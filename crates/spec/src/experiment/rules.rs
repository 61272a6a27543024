//! Rules that only show when the parts of an experiment are seen together.
//!
//! Each rule is one function, which adds a problem for every place that breaks it. Start with
//! [`check`].

use super::capacity::Capacity;
use super::self_comparison;
use super::{Cell, Claim, Expectation, Experiment, Network, Profiling, Quick};
use crate::name::did_you_mean;
use crate::reader::Table;

/// Checks every rule.
pub(super) fn check(table: &Table<'_>, experiment: &Experiment) {
    let rules = Rules {
        table,
        experiment,
        contenders: experiment.all_contenders().map(ToString::to_string).collect(),
    };
    rules.contenders_take_part_once();
    rules.names_fit_the_runner();
    rules.upstream_has_one_pod();
    rules.upstream_is_not_behind_an_ingress();
    for claim in &experiment.claims {
        rules.claim_is_about_a_contender(claim);
        rules.claim_compares_with_another(claim);
        rules.claim_has_no_contradiction(claim);
        rules.claim_expects_what_its_metric_can_be(claim);
        rules.claim_names_known_cells(claim);
        rules.claim_is_measured_in_its_cells(claim);
    }
    if let Some(quick) = &experiment.quick {
        rules.quick_names_known_cells(quick);
        rules.quick_probes_a_capacity(quick);
        rules.quick_keeps_repetitions_together(quick);
        rules.quick_names_known_factors(quick);
        rules.quick_names_known_contenders(quick);
    }
    if let Some(profiling) = &experiment.profile {
        rules.profile_names_known_cells(profiling);
    }
    rules.rows_of_the_article_name_known_parts();
    rules.agents_can_make_the_loads();
    rules.published_rows_have_all_columns();
}

/// An experiment that is checked, and where its problems go.
struct Rules<'a, 't> {
    table: &'a Table<'t>,
    experiment: &'a Experiment,
    /// The names of the baseline and the other contenders.
    contenders: Vec<String>,
}

impl Rules<'_, '_> {
    fn cell_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.experiment.cells.iter().map(|cell| cell.name.as_str())
    }

    fn is_cell(&self, name: &str) -> bool {
        self.cell_names().any(|cell| cell == name)
    }

    /// Reports a name that the experiment does not have.
    fn unknown<'n>(&self, key: &str, what: &str, name: &str, all: impl Iterator<Item = &'n str>) {
        let all: Vec<&str> = all.collect();
        self.table.problem(
            key,
            format!("{what} `{name}`, which is not in this experiment"),
            did_you_mean(name, all),
        );
    }

    fn unknown_contender(&self, key: &str, what: &str, name: &str) {
        self.unknown(key, what, name, self.contenders.iter().map(String::as_str));
    }

    fn unknown_cell(&self, key: &str, what: &str, name: &str) {
        self.unknown(key, what, name, self.cell_names());
    }

    fn contenders_take_part_once(&self) {
        for (i, name) in self.contenders.iter().enumerate() {
            if self.contenders[..i].contains(name) {
                self.table.problem(
                    "contenders",
                    format!("`{name}` takes part twice"),
                    "name the baseline in `baseline` only, and each other contender once",
                );
            }
        }
    }

    fn names_fit_the_runner(&self) {
        for name in self.experiment.all_contenders().chain(&self.experiment.upstream) {
            if let Some((message, hint)) = name.contradiction(self.experiment.place.runner) {
                self.table.problem("contenders", message, hint);
            }
        }
    }

    fn upstream_has_one_pod(&self) {
        let upstream = self.experiment.upstream.as_ref();
        if let Some(upstream) = upstream.filter(|upstream| upstream.share().replicas.is_some()) {
            self.table.problem(
                "upstream",
                format!("the upstream `{upstream}` has several pods"),
                "only contenders may have several; remove `replicas-`",
            );
        }
    }

    fn upstream_is_not_behind_an_ingress(&self) {
        let experiment = self.experiment;
        if let (Network::Ingress, Some(upstream)) = (experiment.place.network, &experiment.upstream)
        {
            self.table.problem(
                "place",
                format!("the upstream `{upstream}` would be behind an Ingress as well"),
                "remove `network`, and name contenders such as \
                 `proxy-gin:in-kubernetes-ingress`",
            );
        }
    }

    fn claim_is_about_a_contender(&self, claim: &Claim) {
        let name = claim.contender.to_string();
        if !self.contenders.contains(&name) {
            let what = format!("the claim \"{}\" is about", claim.text);
            self.unknown_contender("claim", &what, &name);
        }
    }

    fn claim_compares_with_another(&self, claim: &Claim) {
        let is_of_baseline = claim.contender == self.experiment.baseline;
        if is_of_baseline && !claim.expects.is_absolute() && claim.compared_with.is_none() {
            self.table.problem(
                "claim",
                format!("the claim \"{}\" compares the baseline with itself", claim.text),
                "name another contender",
            );
        }
    }

    fn claim_has_no_contradiction(&self, claim: &Claim) {
        if let Some((message, hint)) = self_comparison::contradiction(claim, self.experiment) {
            self.table.problem("claim", message, hint);
        }
    }

    fn claim_expects_what_its_metric_can_be(&self, claim: &Claim) {
        let can_be_zero = claim.metric.describe().by_difference;
        if claim.expects == Expectation::Times && can_be_zero {
            self.table.problem(
                "claim",
                format!(
                    "the claim \"{}\" expects a factor of a metric that can be zero",
                    claim.text
                ),
                "expect `lower`, `higher` or `same` of it",
            );
        }
        let is_of_zero = matches!(claim.expects, Expectation::Zero | Expectation::AboveZero);
        if is_of_zero && !can_be_zero {
            self.table.problem(
                "claim",
                format!("the claim \"{}\" expects zero of a metric that never is", claim.text),
                "use it with `failed_share`",
            );
        }
    }

    fn claim_names_known_cells(&self, claim: &Claim) {
        for cell in claim.cells.iter().filter(|cell| !self.is_cell(cell)) {
            let what = format!("the claim \"{}\" speaks of cell", claim.text);
            self.unknown_cell("claim", &what, cell);
        }
    }

    /// A claim that names cells must be measured in all of them; any other claim, in one at least.
    fn claim_is_measured_in_its_cells(&self, claim: &Claim) {
        let has_it = |cell: &Cell| claim.metric.is_of_trial() || claim.metric.is_of(cell);
        let mut cells =
            self.experiment.cells.iter().filter(|cell| claim.speaks_of(cell)).peekable();
        let is_named = !claim.cells.is_empty();
        let is_anywhere = cells.peek().is_none() || cells.clone().any(has_it);
        if !is_anywhere || (is_named && !cells.all(has_it)) {
            self.table.problem(
                "claim",
                format!(
                    "the claim \"{}\" uses {}, which its cells do not measure",
                    claim.text,
                    claim.metric.describe().label
                ),
                "cells with `kind = \"capacity\"` measure only capacity; cells with `driver` get no \
                 verdicts; all other cells measure everything but capacity",
            );
        }
    }

    fn quick_names_known_cells(&self, quick: &Quick) {
        for cell in quick.cells.iter().filter(|cell| !self.is_cell(cell)) {
            self.unknown_cell("quick", "[quick] speaks of cell", cell);
        }
    }

    fn profile_names_known_cells(&self, profiling: &Profiling) {
        for cell in profiling.cells.iter().filter(|cell| !self.is_cell(cell)) {
            self.unknown_cell("profile", "[profile] speaks of cell", cell);
        }
    }

    fn quick_probes_a_capacity(&self, quick: &Quick) {
        let quickened = self.experiment.clone().quickened();
        let capacities: Vec<&Capacity> =
            quickened.cells.iter().filter_map(|cell| cell.load.capacity()).collect();
        if (quick.probe_ns, quick.probes) != (None, None) && capacities.is_empty() {
            self.table.problem(
                "quick",
                "[quick] speaks of probes, and looks for no capacity",
                "remove `probe` and `probes`",
            );
        }
        let contradiction = capacities.iter().find_map(|capacity| capacity.contradiction());
        if let Some((what, hint)) = contradiction.filter(|_| quick.probe_ns.is_some()) {
            self.table.problem("quick", what, hint);
        }
    }

    fn quick_keeps_repetitions_together(&self, quick: &Quick) {
        let is_kept = |name: &str| quick.cells.iter().any(|cell| cell == name);
        for cell in self.experiment.cells.iter().filter(|cell| is_kept(&cell.name)) {
            if let Some(before) = cell.after.as_deref().filter(|before| !is_kept(before)) {
                self.table.problem(
                    "quick",
                    format!("`{}` comes after `{before}`, which is not in [quick]", cell.name),
                    "name that cell as well",
                );
            }
        }
    }

    fn quick_names_known_factors(&self, quick: &Quick) {
        let names = || self.experiment.factors.iter().map(|factor| factor.name.as_str());
        for factor in quick.factors.iter().filter(|factor| !names().any(|name| name == **factor)) {
            self.unknown("quick", "[quick] speaks of factor", factor, names());
        }
    }

    fn quick_names_known_contenders(&self, quick: &Quick) {
        for name in quick.contenders.iter().map(ToString::to_string) {
            if !self.contenders.contains(&name) {
                self.unknown_contender("quick", "[quick] speaks of contender", &name);
            }
        }
    }

    fn rows_of_the_article_name_known_parts(&self) {
        for (row, ours) in self.experiment.source.iter().flat_map(|source| &source.ours) {
            let speaks = |of: &str| format!("the row \"{row}\" of [source.ours] speaks of {of}");
            if self.experiment.article().is_none() {
                self.table.problem(
                    "source",
                    format!("\"{row}\" is a row of no article"),
                    "name the file of its tables in `article`",
                );
            }
            if !self.contenders.contains(&ours.contender) {
                self.unknown_contender("source", &speaks("contender"), &ours.contender);
            }
            if !self.is_cell(&ours.cell) {
                self.unknown_cell("source", &speaks("cell"), &ours.cell);
            }
        }
    }

    fn agents_can_make_the_loads(&self) {
        for beyond in self.experiment.beyond_agents() {
            let (message, hint) = (beyond.message, beyond.hint);
            match &beyond.cell {
                Some(cell) => self.table.problem_of(("cell", cell), "load", message, hint),
                None => self.table.problem("place", message, hint),
            }
        }
    }

    fn published_rows_have_all_columns(&self) {
        let Some(published) = &self.experiment.published else { return };
        let columns = published.columns.len();
        if let Some(row) = published.rows.iter().find(|row| row.len() != columns) {
            self.table.problem(
                "published",
                format!("a published row has {} values for {columns} columns", row.len()),
                "write one value per column",
            );
        }
    }
}
