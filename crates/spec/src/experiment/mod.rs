//! An experiment: a question, contenders, loads, a design and claims (`experiments/<name>.toml`).
//!
//! This file has the types and reads the file as a whole. Its parts are next to it: `cells.rs` and
//! `sweep.rs` for cells, `load/` for how requests arrive, `design.rs`, `place.rs` and `claim.rs`.
//! Start with [`Experiment`].

pub mod against;
pub mod agents;
mod cell_metrics;
mod cells;
mod claim;
mod contenders;
mod design;
pub mod external_generator;
pub mod factorial;
#[cfg(test)]
mod keys;
mod load;
mod place;
mod profiling;
mod rules;
pub mod self_comparison;
pub mod sweep;

pub use crate::runner_kind::{Network, RunnerKind};
pub use claim::{Claim, Expectation};
pub(crate) use design::default_looks;
pub use design::{Design, FEWEST_BLOCKS};
#[cfg(test)]
pub(crate) use keys::KEYS;
pub use load::capacity;
pub use load::{
    DEFAULT_IN_FLIGHT, Load, Overflow, Pause, RATE_MAX, RATE_MIN, Spacing, Stage, in_flight_for,
};
pub use place::{CpuSets, Place};
pub use profiling::Profiling;

use self::against::Against;
use self::capacity::Capacity;
use self::external_generator::{CanMake, Driver, Truth};
use self::factorial::{Factor, parse_factors};
use self::sweep::Swept;
use crate::name::ContenderName;
use crate::problem::Problems;
use crate::reader::{Table, read_file};
use crate::units::{nanoseconds, show_duration, show_number};
use crate::workload::Workload;
use cells::{named_cells, parse_cells};
use claim::parse_claim;
use contenders::parse_contenders;
use design::{default_design, describe_looks, parse_design, warm_up_in_words};
use place::parse_place;
use profiling::parse_profiling;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A question, and the plan that settles it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiment {
    /// The name of the file, without its ending.
    pub name: String,
    /// The question as a sentence.
    pub question: String,
    /// Where the question and the claims come from.
    pub source: Option<Source>,
    /// The contender that the others are compared with.
    pub baseline: ContenderName,
    /// The other contenders.
    pub contenders: Vec<ContenderName>,
    /// The factors that are crossed: the baseline takes part in every combination of them.
    #[serde(default)]
    pub factors: Vec<Factor>,
    /// Whether the baseline takes part a second time, as the last of the contenders (see
    /// [`ContenderName::twin`]).
    #[serde(default)]
    pub aa: bool,
    /// The other revision that the contender is compared with. The baseline is then of that
    /// revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// The system that proxies forward to.
    pub upstream: Option<ContenderName>,
    /// The database that contenders use, empty for each trial.
    #[serde(default)]
    pub database: Option<ContenderName>,
    /// Workloads at load levels.
    pub cells: Vec<Cell>,
    /// How often, how long and in which order contenders are measured, and which difference
    /// matters.
    pub design: Design,
    /// Where contenders run.
    pub place: Place,
    /// Blocks in which stacks are sampled, after the others; `None` if the run is not profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiling>,
    /// The claims that are tested.
    pub claims: Vec<Claim>,
    /// A smaller form, for a first answer within minutes.
    pub quick: Option<Quick>,
    /// The figures that the source published.
    pub published: Option<Published>,
    /// What was expected, what was found, and when.
    pub analysis: Option<String>,
}

/// Where a question comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The title.
    pub title: String,
    /// The author.
    pub author: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// When it was published.
    pub published: Option<String>,
    /// The name of its tables, a file in `articles/`. The report shows their audit.
    #[serde(default)]
    pub article: Option<String>,
    /// Our measurements that correspond to rows of these tables, by the name of the row. The report
    /// shows both, one below the other.
    #[serde(default)]
    pub ours: BTreeMap<String, Ours>,
}

/// A measurement of ours that corresponds to a row of an article's tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ours {
    /// The contender that corresponds to the row.
    pub contender: String,
    /// The cell that corresponds to the row's load.
    pub cell: String,
}

/// One workload at one load level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The name within the experiment.
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// Parameters of the workload that this cell changes.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// How requests arrive.
    pub load: Load,
    /// The other generator that makes the load; `None` for faceoff's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// The results that are known before anything is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<Truth>,
    /// A request without a response after this time is counted as timed out.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub timeout: Duration,
    /// How long each fresh start gets this load before the measurement, in addition to the warm-up
    /// that all cells share.
    #[serde(default, with = "nanoseconds", skip_serializing_if = "Duration::is_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub warmup: Duration,
    /// The cell of the previous repetition. This cell is measured right after it, on its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The position in a sweep, if it belongs to one.
    #[serde(default)]
    pub sweep: Option<Swept>,
}

impl Cell {
    /// Returns the workload with its parameters: `uppercase`, `uppercase, size 128`. Cells that
    /// send the same requests have the same text.
    pub fn workload_label(&self) -> String {
        self.with
            .iter()
            .fold(self.workload.clone(), |asks, (name, value)| format!("{asks}, {name} {value}"))
    }

    /// Returns the name as it is written, which all cells of a sweep share.
    pub(crate) fn written_name(&self) -> &str {
        self.sweep.as_ref().map_or(&self.name, |sweep| &sweep.of)
    }
}

/// A smaller form of the same experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quick {
    /// The contenders that take part; all if empty. The baseline always does.
    pub contenders: Vec<ContenderName>,
    /// The factors that are crossed; all if empty. The others stay as the baseline has them.
    #[serde(default)]
    pub factors: Vec<String>,
    /// The cells that are measured; all if empty.
    pub cells: Vec<String>,
    /// The number of blocks.
    pub blocks: u32,
    /// Further blocks, as in [`Design::spare_blocks`].
    pub spare_blocks: u32,
    /// The longest warm-up per trial.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub warmup: Duration,
    /// The length of a measurement.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub measure: Duration,
    /// The length of a capacity's probes, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_ns: Option<u64>,
    /// The number of probes around the edge of a capacity, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
}

/// A table as its author published it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// Its title.
    pub title: String,
    /// The headings of its columns.
    pub columns: Vec<String>,
    /// Its rows, as printed.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know about it.
    pub note: Option<String>,
}

impl Experiment {
    /// Reads an experiment from its file. [`crate::catalog::Catalog`] checks that its systems and
    /// workloads exist.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Experiment, Problems> {
        Experiment::read_with(path, &|_| None, |_, _| Ok(()))
    }

    /// Reads an experiment like [`Experiment::read`], given the workloads of its cells and a check
    /// whether another generator can make a load.
    pub(crate) fn read_with(
        path: &Path,
        workload_of: &dyn Fn(&Cell) -> Option<Workload>,
        can_make: CanMake,
    ) -> Result<Experiment, Problems> {
        read_file(path, |table| {
            let experiment = parse_experiment(table, path);
            external_generator::check(table, &experiment, workload_of, can_make);
            experiment
        })
    }

    /// Returns the name of the article whose claims it tests.
    pub fn article(&self) -> Option<&str> {
        self.source.as_ref()?.article.as_deref()
    }

    /// Returns the baseline, then the others.
    pub fn all_contenders(&self) -> impl Iterator<Item = &ContenderName> {
        std::iter::once(&self.baseline).chain(&self.contenders)
    }

    /// Returns the contenders that the question is about. The baseline's twin is one only if there
    /// are no others.
    pub fn compared(&self) -> impl Iterator<Item = &ContenderName> {
        let only_twin = self.contenders.iter().all(ContenderName::is_twin);
        self.contenders.iter().filter(move |name| only_twin || !name.is_twin())
    }

    /// Returns the cell with a name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.name == name)
    }

    /// Returns the experiment with another number of blocks. Default looks are computed again;
    /// written ones beyond the last block are dropped.
    pub fn with_blocks(mut self, blocks: u32) -> Experiment {
        let has_claims = !self.claims.is_empty();
        if self.design.looks == default_looks(self.design.blocks, has_claims) {
            self.design.looks = default_looks(blocks, has_claims);
        }
        self.design.looks.retain(|look| *look <= blocks);
        self.design.blocks = blocks;
        self
    }

    /// Returns the experiment in its quick form, if it has one.
    pub fn quickened(mut self) -> Experiment {
        let Some(quick) = self.quick.clone() else { return self };
        if !quick.contenders.is_empty() {
            self.contenders.retain(|c| quick.contenders.contains(c) || c.is_twin());
        }
        if !quick.factors.is_empty() {
            let crossed = self.combinations();
            self.contenders.retain(|name| !crossed.iter().any(|c| c.contender == *name));
            self.factors.retain(|factor| quick.factors.contains(&factor.name));
            let crossed = factorial::combinations(&self.baseline, &self.factors);
            self.contenders
                .extend(crossed.into_iter().skip(1).map(|combination| combination.contender));
        }
        if !quick.cells.is_empty() {
            self.cells.retain(|c| quick.cells.contains(&c.name));
        }
        for cell in &mut self.cells {
            cell.warmup = cell.warmup.min(quick.warmup);
            if let Load::Capacity(capacity) = &mut cell.load {
                capacity.probe = quick.probe_ns.map_or(capacity.probe, Duration::from_nanos);
                capacity.probes = quick.probes.unwrap_or(capacity.probes);
            }
        }
        self = self.with_blocks(quick.blocks);
        self.design.spare_blocks = quick.spare_blocks;
        self.design.warmup = quick.warmup;
        self.design.warmup_least = self.design.warmup_least.min(quick.warmup);
        self.design
            .warmup_workloads
            .retain(|name| self.cells.iter().any(|cell| cell.workload == *name));
        self.design.measure = quick.measure;
        let cells: Vec<String> = self.cells.iter().map(|c| c.name.clone()).collect();
        self.claims.retain_mut(|claim| {
            let spoke_of_all = claim.cells.is_empty();
            claim.cells.retain(|c| cells.contains(c));
            (spoke_of_all || !claim.cells.is_empty())
                && (claim.contender == self.baseline || self.contenders.contains(&claim.contender))
        });
        // Without a claim left, a run ends when its primary metrics are settled.
        if self.claims.is_empty() && !self.design.looks.is_empty() {
            self.design.looks.clear();
            self.design.look_always = true;
        }
        self
    }

    /// Returns the experiment with further contenders, which come last. A contender that takes part
    /// already is not added again.
    pub fn with_contenders(mut self, others: &[ContenderName]) -> Experiment {
        for other in others {
            if !self.all_contenders().any(|name| name == other) {
                self.contenders.push(other.clone());
            }
        }
        self
    }

    /// Estimates how long one trial takes. Given are a start-up time, the usual time until such a
    /// system is steady, and the length of each cell's measurement.
    pub fn trial_estimate(
        &self,
        start_up: Duration,
        steady: Duration,
        measured: impl Fn(&Cell) -> Duration,
    ) -> Duration {
        let settling = Duration::from_millis(700);
        let overhead = |cell: &Cell| {
            if cell.driver.is_some() { Duration::from_secs(3) } else { Duration::from_millis(300) }
        };
        // Agents must be contacted, synchronized and waited for. They also warm up the contender.
        let agreeing =
            if self.place.agents_asked() == 0 { Duration::ZERO } else { Duration::from_secs(3) };
        let warmed = |cell: &Cell| {
            if cell.warmup.is_zero() {
                Duration::ZERO
            } else {
                cell.warmup + overhead(cell) + agreeing
            }
        };
        let long = |cell: &Cell| warmed(cell) + measured(cell) + overhead(cell) + agreeing;
        start_up
            + steady.min(self.design.warmup).max(self.design.warmup_least)
            + self.cells.iter().map(long).sum::<Duration>()
            + settling
    }

    /// Returns the longest time that a cell is measured.
    pub fn measured_at_most(&self, cell: &Cell) -> Duration {
        cell.load.capacity().map_or(self.design.measure, Capacity::estimate)
    }

    /// Estimates how long a cell is measured whose workload has this number of requests. Users with
    /// a number of rounds may finish early.
    pub fn measured_about(&self, cell: &Cell, requests: usize) -> Duration {
        let at_most = self.measured_at_most(cell);
        cell.load.rounds_take(requests).map_or(at_most, |rounds| rounds.min(at_most))
    }

    /// Describes the design, as labels with texts.
    pub fn describe_design(&self) -> Vec<(&'static str, String)> {
        let d = &self.design;
        let place = self.place.describe().map(|place| ("runs", place));
        let agents = self.place.describe_agents().map(|agents| ("load by", agents));
        let design = vec![
            (
                "blocks",
                format!(
                    "{}, each with every contender in random order; {} more if too few are valid",
                    d.blocks, d.spare_blocks
                ),
            ),
            ("interim analyses", describe_looks(d)),
            ("seed of the order", d.seed.to_string()),
            ("warm-up", warm_up_in_words(d)),
            ("measurement", format!("{}, cells in random order", self.describe_measurement())),
            (
                "margin",
                format!(
                    "a ratio within {}..{} makes no difference that matters",
                    show_number(1.0 / (1.0 + d.margin)),
                    show_number(1.0 + d.margin)
                ),
            ),
            (
                "confidence",
                format!(
                    "{} % for better and worse, {} % for equivalent",
                    show_number(d.confidence * 100.0),
                    show_number((2.0 * d.confidence - 1.0) * 100.0)
                ),
            ),
        ];
        let profile = self.profile.as_ref().map(|profile| ("profile", profile.describe()));
        place.into_iter().chain(agents).chain(design).chain(profile).collect()
    }

    /// Describes how long cells are measured. A search for a capacity has probes instead.
    fn describe_measurement(&self) -> String {
        let probe = |cell: &Cell| {
            cell.load
                .capacity()
                .map(|capacity| format!("probes of {}", show_duration(capacity.probe)))
        };
        let written = |cell: &Cell| {
            probe(cell)
                .unwrap_or_else(|| format!("{} per cell", show_duration(self.design.measure)))
        };
        let mut ways: Vec<String> = self.cells.iter().map(written).collect();
        ways.sort();
        ways.dedup();
        ways.join("; ")
    }
}

fn parse_source(table: &Table<'_>) -> Source {
    Source {
        title: table.required_string("title"),
        author: table.string("author"),
        url: table.string("url"),
        published: table.string("published"),
        article: table.string("article"),
        ours: table.named_tables("ours", |_, t| Ours {
            contender: t.required_string("contender"),
            cell: t.required_string("cell"),
        }),
    }
}

fn parse_published(table: &Table<'_>) -> Published {
    Published {
        title: table.required_string("title"),
        columns: table.strings("columns"),
        rows: table.lists("rows"),
        note: table.string("note"),
    }
}

fn parse_quick(
    table: &Table<'_>,
    cells: &[Cell],
    baseline: Option<&ContenderName>,
    design: &Design,
) -> Quick {
    Quick {
        contenders: parse_contenders(table, baseline),
        factors: table.strings("factors"),
        cells: named_cells(table, cells),
        blocks: table.integer("blocks", 1, 1000).unwrap_or(u64::from(FEWEST_BLOCKS)) as u32,
        spare_blocks: table.integer("spare_blocks", 0, 100).unwrap_or(1) as u32,
        warmup: table.duration("warmup").unwrap_or(design.warmup / 2),
        measure: table.duration("measure").unwrap_or(design.measure),
        probe_ns: table.duration("probe").map(|probe| probe.as_nanos() as u64),
        probes: table.integer("probes", 6, 1000).map(|n| n as u32),
    }
}

fn parse_experiment(table: &Table<'_>, path: &Path) -> Experiment {
    let name = table.required_string("name");
    if path.file_stem().is_some_and(|stem| *stem != *name) {
        table.problem(
            "name",
            format!("the name `{name}` is not that of its file"),
            "name the file `<name>.toml`",
        );
    }
    let baseline = if table.has("baseline") {
        parse_contender(table, "baseline")
    } else {
        table.required_string("baseline").parse().ok()
    };
    let mut contenders = parse_contenders(table, baseline.as_ref());
    for name in contenders.iter().chain(&baseline).filter(|name| name.is_twin()) {
        table.problem(
            "contenders",
            format!("`{name}`: the variant `aa` is not to be named"),
            "write `aa = true`",
        );
    }
    let factors = parse_factors(table);
    let crossed = baseline
        .as_ref()
        .map(|baseline| factorial::combinations(baseline, &factors))
        .unwrap_or_default();
    contenders.extend(crossed.into_iter().skip(1).map(|combination| combination.contender));
    let aa = table.flag("aa").unwrap_or(false);
    if let (true, Some(baseline)) = (aa, &baseline) {
        contenders.push(baseline.twin());
    }
    let cells = parse_cells(table);
    let place = table.table("place", parse_place).unwrap_or_default();
    let folder = path.parent().unwrap_or(Path::new(""));
    let profile = table.table("profile", |t| parse_profiling(t, &cells, folder));
    let claims = table.tables("claim", |t| parse_claim(t, &cells));
    let has_claims = !claims.is_empty();
    let design = table
        .table("design", |t| parse_design(t, &cells, has_claims))
        .unwrap_or_else(|| default_design(has_claims));
    let quick = table.table("quick", |t| parse_quick(t, &cells, baseline.as_ref(), &design));
    let experiment = Experiment {
        name,
        question: table.required_string("question"),
        source: table.table("source", parse_source),
        baseline: baseline
            .unwrap_or(ContenderName { system: "unknown".into(), variants: Vec::new() }),
        contenders,
        factors,
        aa,
        against: None,
        upstream: parse_contender(table, "upstream"),
        database: parse_contender(table, "database"),
        cells,
        design,
        place,
        profile,
        claims,
        quick,
        published: table.table("published", parse_published),
        analysis: table.string("analysis"),
    };
    rules::check(table, &experiment);
    experiment
}

fn parse_contender(table: &Table<'_>, key: &'static str) -> Option<ContenderName> {
    table.parsed(key, |text| text.parse::<ContenderName>())
}
