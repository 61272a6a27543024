//! An experiment: a question, contenders, loads, a design and claims (`experiments/<name>.toml`).

mod claim;
mod design;
mod load;
mod place;

pub use claim::{Claim, Expectation};
pub(crate) use design::default_looks;
pub use design::{Design, FEWEST_BLOCKS};
pub use load::{DEFAULT_IN_FLIGHT, Load, Overflow, Pause, RATE_MAX, RATE_MIN, Spacing, Stage, in_flight_for};
pub use place::{CpuSets, Network, Place, RunnerKind};

use crate::against::Against;
use crate::beside;
use crate::capacity::Capacity;
use crate::data::is_value_name;
use crate::factorial::{self, Factor, walk_factors};
use crate::name::{ContenderName, did_you_mean, is_name};
use crate::problem::Problems;
use crate::reader::{Levels, Table, read_file};
use crate::sweep::{Axis, MOST_CELLS, Swept, TURN, expand};
use crate::units::{nanoseconds, show_duration, show_number};
use crate::witness::{self, Driver, Truth};
use crate::workload::Workload;
use claim::walk_claim;
use design::{default_design, describe_looks, walk_design, warm_up_in_words};
use load::walk_load;
use place::walk_place;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A question, and how it is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The file's name.
    pub name: String,
    /// What is asked, as a sentence.
    pub question: String,
    /// Where the question and the claims come from.
    pub source: Option<Source>,
    /// The contender that the others are compared with.
    pub baseline: ContenderName,
    /// The others.
    pub contenders: Vec<ContenderName>,
    /// What is crossed: the baseline takes part in every combination of these.
    #[serde(default)]
    pub factors: Vec<Factor>,
    /// Whether the baseline takes part a second time, as the last of the contenders (see [`ContenderName::twin`]).
    #[serde(default)]
    pub aa: bool,
    /// The revision that the contender is compared with, which the baseline is of then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// What proxies stand before.
    pub upstream: Option<ContenderName>,
    /// Where contenders keep their data: fresh for each trial.
    #[serde(default)]
    pub database: Option<ContenderName>,
    /// Workloads at load levels.
    pub cells: Vec<Cell>,
    /// How often, how long, in which order, and when a difference counts.
    pub design: Design,
    /// Where contenders run.
    pub place: Place,
    /// What is tested.
    pub claims: Vec<Claim>,
    /// A smaller form, for a first answer within minutes.
    pub quick: Option<Quick>,
    /// The source's own figures.
    pub published: Option<Published>,
    /// What was expected, what was found, and when.
    pub analysis: Option<String>,
}

/// Where a question comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Title.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// Where it stands.
    pub url: Option<String>,
    /// When it appeared.
    pub published: Option<String>,
    /// Its tables, by the name of their file in `articles/`: the page shows their audit.
    #[serde(default)]
    pub article: Option<String>,
    /// What of ours was measured as a row of these tables was, by the name of the row: the page shows both, one below the other.
    #[serde(default)]
    pub ours: BTreeMap<String, Ours>,
}

/// What was measured here as a row of an article's tables was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ours {
    /// Who stands for what the row is of.
    pub contender: String,
    /// The load that stands for the row's.
    pub cell: String,
}

/// One workload at one load level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Names it within the experiment.
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// What the workload's parameters are here, where not what the workload says.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// How requests arrive.
    pub load: Load,
    /// The other generator that makes them; `None`: ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// What is known of it before anything is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<Truth>,
    /// A request without an answer after this long is counted as timed out.
    #[serde(with = "nanoseconds")]
    pub timeout: Duration,
    /// How long its load is put on each fresh start before it is measured, beside the warm-up that all cells share.
    #[serde(default, with = "nanoseconds", skip_serializing_if = "Duration::is_zero")]
    pub warmup: Duration,
    /// The cell of the turn before, on whose data it is measured right after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Where it stands in a sweep, if it is of one.
    #[serde(default)]
    pub sweep: Option<Swept>,
}

impl Cell {
    /// The workload with its parameters: `uppercase`, `uppercase, size 128`. Cells that ask the same have the same.
    pub fn asks(&self) -> String {
        self.with.iter().fold(self.workload.clone(), |asks, (name, value)| format!("{asks}, {name} {value}"))
    }

    /// The name it is written with, which all cells of a sweep share.
    pub(crate) fn written_name(&self) -> &str {
        self.sweep.as_ref().map_or(&self.name, |sweep| &sweep.of)
    }
}

/// A smaller form of the same experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quick {
    /// Which of the contenders take part; all when empty. The baseline always does.
    pub contenders: Vec<ContenderName>,
    /// Which of the factors are crossed; all when empty. The others stay as the baseline has them.
    #[serde(default)]
    pub factors: Vec<String>,
    /// Which cells are measured; all when empty.
    pub cells: Vec<String>,
    /// Blocks.
    pub blocks: u32,
    /// Further blocks, as in [`Design::spare_blocks`].
    pub spare_blocks: u32,
    /// The most warm-up per trial.
    #[serde(with = "nanoseconds")]
    pub warmup: Duration,
    /// Length of a measurement.
    #[serde(with = "nanoseconds")]
    pub measure: Duration,
    /// Length of a capacity's probes, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_ns: Option<u64>,
    /// How many probes there are around its edge, where there are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
}

/// A table as its author published it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What it shows.
    pub title: String,
    /// Heads of its columns.
    pub columns: Vec<String>,
    /// Its rows, as printed.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know of it.
    pub note: Option<String>,
}

impl Experiment {
    /// Reads an experiment. That the named systems and workloads exist is
    /// checked by [`crate::catalog::Catalog`].
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Experiment, Problems> {
        Experiment::read_with(path, &|_| None)
    }

    /// As [`Experiment::read`], with the workloads of cells: whether another generator can make a load depends on what is asked.
    pub(crate) fn read_with(path: &Path, workload_of: &dyn Fn(&Cell) -> Option<Workload>) -> Result<Experiment, Problems> {
        read_file(path, |table| {
            let experiment = walk(table, path);
            witness::check(table, &experiment, workload_of);
            experiment
        })
    }

    /// The name of the article whose claims it tries.
    pub fn article(&self) -> Option<&str> {
        self.source.as_ref()?.article.as_deref()
    }

    /// The baseline, then the others.
    pub fn everybody(&self) -> impl Iterator<Item = &ContenderName> {
        std::iter::once(&self.baseline).chain(&self.contenders)
    }

    /// The contenders that the question is about: without the baseline's twin, where there are others.
    pub fn compared(&self) -> impl Iterator<Item = &ContenderName> {
        let only_twin = self.contenders.iter().all(ContenderName::is_twin);
        self.contenders.iter().filter(move |name| only_twin || !name.is_twin())
    }

    /// The cell of a name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.name == name)
    }

    /// With another number of blocks: looks as they are by default are so for these as well; written ones beyond the
    /// blocks fall away.
    pub fn with_blocks(mut self, blocks: u32) -> Experiment {
        let has_claims = !self.claims.is_empty();
        if self.design.looks == default_looks(self.design.blocks, has_claims) {
            self.design.looks = default_looks(blocks, has_claims);
        }
        self.design.looks.retain(|look| *look <= blocks);
        self.design.blocks = blocks;
        self
    }

    /// The experiment in its quick form, where it has one.
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
            self.contenders.extend(crossed.into_iter().skip(1).map(|combination| combination.contender));
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
        self.design.warmup_workloads.retain(|name| self.cells.iter().any(|cell| cell.workload == *name));
        self.design.measure = quick.measure;
        let cells: Vec<String> = self.cells.iter().map(|c| c.name.clone()).collect();
        self.claims.retain_mut(|claim| {
            let spoke_of_all = claim.cells.is_empty();
            claim.cells.retain(|c| cells.contains(c));
            (spoke_of_all || !claim.cells.is_empty()) && (claim.contender == self.baseline || self.contenders.contains(&claim.contender))
        });
        // Nothing is settled early where no claim is left.
        if self.claims.is_empty() {
            self.design.looks.clear();
        }
        self
    }

    /// The experiment with others beside its contenders, last; whoever takes part already does not do so twice.
    pub fn with_contenders(mut self, others: &[ContenderName]) -> Experiment {
        for other in others {
            if !self.everybody().any(|name| name == other) {
                self.contenders.push(other.clone());
            }
        }
        self
    }

    /// About how long one trial takes, from what is written, a start-up time, when such a system is usually found steady, and how long each cell is measured.
    pub fn trial_estimate(&self, start_up: Duration, steady: Duration, measured: impl Fn(&Cell) -> Duration) -> Duration {
        let settling = Duration::from_millis(700);
        let besides = |cell: &Cell| if cell.driver.is_some() { Duration::from_secs(3) } else { Duration::from_millis(300) };
        // Agents are greeted, told the start and waited for; before, they warm the contender up as well.
        let agreeing = if self.place.agents_asked() == 0 { Duration::ZERO } else { Duration::from_secs(3) };
        let warmed = |cell: &Cell| if cell.warmup.is_zero() { Duration::ZERO } else { cell.warmup + besides(cell) + agreeing };
        let long = |cell: &Cell| warmed(cell) + measured(cell) + besides(cell) + agreeing;
        start_up + steady.min(self.design.warmup).max(self.design.warmup_least) + self.cells.iter().map(long).sum::<Duration>() + settling
    }

    /// How long a cell is measured at most.
    pub fn measured_at_most(&self, cell: &Cell) -> Duration {
        cell.load.capacity().map_or(self.design.measure, Capacity::estimate)
    }

    /// About how long a cell is measured whose workload has so many requests: users who make their rounds are done before the time is over.
    pub fn measured_about(&self, cell: &Cell, requests: usize) -> Duration {
        let at_most = self.measured_at_most(cell);
        cell.load.rounds_take(requests).map_or(at_most, |rounds| rounds.min(at_most))
    }

    /// What the design says, for people.
    pub fn describe_design(&self) -> Vec<(&'static str, String)> {
        let d = &self.design;
        let place = self.place.describe().map(|place| ("runs", place));
        let agents = self.place.describe_agents().map(|agents| ("load by", agents));
        let design = vec![
            (
                "blocks",
                format!(
                    "{}, each one trial of every contender in random order; {} more where faults spoil too many",
                    d.blocks, d.spare_blocks
                ),
            ),
            ("looks", describe_looks(d)),
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
        place.into_iter().chain(agents).chain(design).collect()
    }

    /// How long a cell is measured; a search for the most has probes instead.
    fn describe_measurement(&self) -> String {
        let probe = |cell: &Cell| cell.load.capacity().map(|capacity| format!("probes of {}", show_duration(capacity.probe)));
        let written = |cell: &Cell| probe(cell).unwrap_or_else(|| format!("{} per cell", show_duration(self.design.measure)));
        let mut ways: Vec<String> = self.cells.iter().map(written).collect();
        ways.sort();
        ways.dedup();
        ways.join("; ")
    }
}

fn walk(table: &Table<'_>, path: &Path) -> Experiment {
    let name = table.required_string("name");
    if path.file_stem().is_some_and(|stem| *stem != *name) {
        table.problem("name", format!("the name `{name}` is not that of its file"), "name the file `<name>.toml`");
    }
    let baseline = if table.has("baseline") { contender(table, "baseline") } else { table.required_string("baseline").parse().ok() };
    let mut contenders = contenders(table, baseline.as_ref());
    for name in contenders.iter().chain(&baseline).filter(|name| name.is_twin()) {
        table.problem("contenders", format!("`{name}`: the variant `aa` is not to be named"), "write `aa = true`");
    }
    let factors = walk_factors(table);
    let crossed = baseline.as_ref().map(|baseline| factorial::combinations(baseline, &factors)).unwrap_or_default();
    contenders.extend(crossed.into_iter().skip(1).map(|combination| combination.contender));
    let aa = table.flag("aa").unwrap_or(false);
    if let (true, Some(baseline)) = (aa, &baseline) {
        contenders.push(baseline.twin());
    }
    let cells = walk_cells(table);
    let place = table.table("place", walk_place).unwrap_or_default();
    let claims = table.tables("claim", |t| walk_claim(t, &cells));
    let has_claims = !claims.is_empty();
    let design = table.table("design", |t| walk_design(t, &cells, has_claims)).unwrap_or_else(|| default_design(has_claims));
    let quick = table.table("quick", |t| Quick {
        contenders: self::contenders(t, baseline.as_ref()),
        factors: t.strings("factors"),
        cells: named_cells(t, &cells),
        blocks: t.integer("blocks", 1, 1000).unwrap_or(u64::from(FEWEST_BLOCKS)) as u32,
        spare_blocks: t.integer("spare_blocks", 0, 100).unwrap_or(1) as u32,
        warmup: t.duration("warmup").unwrap_or(design.warmup / 2),
        measure: t.duration("measure").unwrap_or(design.measure),
        probe_ns: t.duration("probe").map(|probe| probe.as_nanos() as u64),
        probes: t.integer("probes", 6, 1000).map(|n| n as u32),
    });
    let experiment = Experiment {
        name,
        question: table.required_string("question"),
        source: table.table("source", |t| Source {
            title: t.required_string("title"),
            author: t.string("author"),
            url: t.string("url"),
            published: t.string("published"),
            article: t.string("article"),
            ours: t.named_tables("ours", |_, t| Ours { contender: t.required_string("contender"), cell: t.required_string("cell") }),
        }),
        baseline: baseline.unwrap_or(ContenderName { system: "unknown".into(), variants: Vec::new() }),
        contenders,
        factors,
        aa,
        against: None,
        upstream: contender(table, "upstream"),
        database: contender(table, "database"),
        cells,
        design,
        place,
        claims,
        quick,
        published: table.table("published", |t| Published {
            title: t.required_string("title"),
            columns: t.strings("columns"),
            rows: t.lists("rows"),
            note: t.string("note"),
        }),
        analysis: table.string("analysis"),
    };
    check(table, &experiment);
    experiment
}

/// What only shows when the parts are seen together.
fn check(table: &Table<'_>, experiment: &Experiment) {
    let cell_names: Vec<&str> = experiment.cells.iter().map(|c| c.name.as_str()).collect();
    let everybody: Vec<String> = experiment.everybody().map(ToString::to_string).collect();
    for (i, name) in everybody.iter().enumerate() {
        if everybody[..i].contains(name) {
            table.problem(
                "contenders",
                format!("`{name}` takes part twice"),
                "the baseline stands in `baseline` alone; each other contender once",
            );
        }
    }
    for name in experiment.everybody().chain(&experiment.upstream) {
        if let Some((message, hint)) = name.contradiction(experiment.place.runner) {
            table.problem("contenders", message, hint);
        }
    }
    if let Some(upstream) = experiment.upstream.as_ref().filter(|upstream| upstream.share().replicas.is_some()) {
        table.problem("upstream", format!("the upstream `{upstream}` has several pods"), "only contenders have; leave `replicas-` out");
    }
    if let (Network::Ingress, Some(upstream)) = (experiment.place.network, &experiment.upstream) {
        let hint = "leave `network` out, and name contenders such as `proxy-gin:in-kubernetes-ingress`";
        table.problem("place", format!("the upstream `{upstream}` would be behind an Ingress as well"), hint);
    }
    let known = |name: &ContenderName| everybody.contains(&name.to_string());
    let unknown = |key: &str, what: &str, name: &str, all: &mut dyn Iterator<Item = &str>| {
        let all: Vec<&str> = all.collect();
        table.problem(key, format!("{what} `{name}`, which is not in this experiment"), did_you_mean(name, all));
    };
    for claim in &experiment.claims {
        if !known(&claim.contender) {
            unknown(
                "claim",
                &format!("the claim \"{}\" is about", claim.text),
                &claim.contender.to_string(),
                &mut everybody.iter().map(String::as_str),
            );
        }
        if claim.contender == experiment.baseline && !claim.expects.is_absolute() && claim.beside.is_none() {
            table.problem("claim", format!("the claim \"{}\" compares the baseline with itself", claim.text), "name another contender");
        }
        if let Some((message, hint)) = beside::contradiction(claim, experiment) {
            table.problem("claim", message, hint);
        }
        let is_of_zero = matches!(claim.expects, Expectation::Zero | Expectation::AboveZero);
        if claim.expects == Expectation::Times && claim.metric.describe().by_difference {
            table.problem(
                "claim",
                format!("the claim \"{}\" expects so many times of a metric that can be zero", claim.text),
                "expect `lower`, `higher` or `same` of it",
            );
        }
        if is_of_zero && !claim.metric.describe().by_difference {
            table.problem(
                "claim",
                format!("the claim \"{}\" expects zero of a metric that never is", claim.text),
                "use it with `failed_share`",
            );
        }
        for cell in claim.cells.iter().filter(|c| !cell_names.contains(&c.as_str())) {
            unknown("claim", &format!("the claim \"{}\" speaks of cell", claim.text), cell, &mut cell_names.iter().copied());
        }
        let metric = claim.metric.describe();
        let has_it = |cell: &Cell| metric.of_trial || claim.metric.is_of(cell);
        let mut spoken_of = experiment.cells.iter().filter(|cell| claim.speaks_of(cell)).peekable();
        let (is_named, is_anywhere) = (!claim.cells.is_empty(), spoken_of.peek().is_none() || spoken_of.clone().any(has_it));
        if !is_anywhere || (is_named && !spoken_of.all(has_it)) {
            table.problem(
                "claim",
                format!("the claim \"{}\" speaks of {} where it is not measured", claim.text, metric.label),
                "a cell with `kind = \"capacity\"` has a capacity and nothing else, one with a `driver` nothing that we measure; others have \
                 everything but a capacity",
            );
        }
    }
    if let Some(quick) = &experiment.quick {
        for cell in quick.cells.iter().filter(|c| !cell_names.contains(&c.as_str())) {
            unknown("quick", "[quick] speaks of cell", cell, &mut cell_names.iter().copied());
        }
        let quickened = experiment.clone().quickened();
        let capacities: Vec<&Capacity> = quickened.cells.iter().filter_map(|cell| cell.load.capacity()).collect();
        if (quick.probe_ns, quick.probes) != (None, None) && capacities.is_empty() {
            table.problem("quick", "[quick] speaks of probes, and looks for no capacity", "leave out `probe` and `probes`");
        }
        if let Some((what, hint)) = capacities.iter().find_map(|capacity| capacity.contradiction()).filter(|_| quick.probe_ns.is_some()) {
            table.problem("quick", what, hint);
        }
        let is_kept = |name: &str| quick.cells.iter().any(|cell| cell == name);
        for cell in experiment.cells.iter().filter(|cell| is_kept(&cell.name)) {
            if let Some(before) = cell.after.as_deref().filter(|before| !is_kept(before)) {
                table.problem("quick", format!("`{}` comes after `{before}`, which is not in [quick]", cell.name), "name that as well");
            }
        }
        let factor_names: Vec<&str> = experiment.factors.iter().map(|f| f.name.as_str()).collect();
        for factor in quick.factors.iter().filter(|f| !factor_names.contains(&f.as_str())) {
            unknown("quick", "[quick] speaks of factor", factor, &mut factor_names.iter().copied());
        }
        for name in quick.contenders.iter().filter(|c| !known(c)) {
            unknown("quick", "[quick] speaks of contender", &name.to_string(), &mut everybody.iter().map(String::as_str));
        }
    }
    for (row, ours) in experiment.source.iter().flat_map(|source| &source.ours) {
        let speaks = |of: &str| format!("what stands beside the article's row \"{row}\" speaks of {of}");
        if experiment.article().is_none() {
            table.problem("source", format!("\"{row}\" is a row of no article"), "name the file of its tables in `article`");
        }
        if !everybody.contains(&ours.contender) {
            unknown("source", &speaks("contender"), &ours.contender, &mut everybody.iter().map(String::as_str));
        }
        if !cell_names.contains(&ours.cell.as_str()) {
            unknown("source", &speaks("cell"), &ours.cell, &mut cell_names.iter().copied());
        }
    }
    for beyond in experiment.beyond_agents() {
        match &beyond.cell {
            Some(cell) => table.problem_of(("cell", cell), "load", beyond.message, beyond.hint),
            None => table.problem("place", beyond.message, beyond.hint),
        }
    }
    if let Some(published) = &experiment.published
        && let Some(row) = published.rows.iter().find(|r| r.len() != published.columns.len())
    {
        table.problem(
            "published",
            format!("a published row has {} values for {} columns", row.len(), published.columns.len()),
            "one value a column",
        );
    }
}

fn contender(table: &Table<'_>, key: &'static str) -> Option<ContenderName> {
    table.parsed(key, |text| text.parse::<ContenderName>())
}

/// Names, and tables of which each stands for every combination of variants but the baseline.
fn contenders(table: &Table<'_>, baseline: Option<&ContenderName>) -> Vec<ContenderName> {
    let named = |text: &str| -> Vec<ContenderName> {
        let say = |message: String| table.problem("contenders", message, "write `system`, `system:variant` or `system:one+another`");
        text.parse().map_err(say).into_iter().collect()
    };
    let combined = |t: &Table<'_>| -> Vec<ContenderName> { combinations(t).into_iter().filter(|name| Some(name) != baseline).collect() };
    table.texts_or_tables("contenders", named, combined).into_iter().flatten().collect()
}

/// Most contenders that one table may stand for.
const MOST_COMBINATIONS: usize = 100;

/// A system with one variant of each list, in every combination; the empty text stands for none.
fn combinations(table: &Table<'_>) -> Vec<ContenderName> {
    let (system, lists) = (table.required_string("system"), table.lists("variants"));
    if lists.is_empty() || lists.iter().any(Vec::is_empty) {
        let hint = "write `variants = [[\"g1\", \"zgc\"], [\"\", \"quiet\"]]`: one of each list, \"\" for none";
        table.problem("variants", "`contenders.variants` needs one list or more, each with a variant or more", hint);
        return Vec::new();
    }
    for (key, name) in [("system", &system)].into_iter().chain(lists.iter().flatten().map(|variant| ("variants", variant))) {
        if !name.is_empty() && !is_name(name) {
            table.problem(key, format!("`{name}` is not a name"), "use letters, digits, `-`, `_` and `.`");
        }
    }
    let count = lists.iter().try_fold(1usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > MOST_COMBINATIONS) {
        table.problem("variants", format!("these are more than {MOST_COMBINATIONS} combinations"), "leave some out");
        return Vec::new();
    }
    let with = |name: &ContenderName, variant: &String| {
        let mut name = name.clone();
        name.variants.extend(Some(variant).filter(|variant| !variant.is_empty()).cloned());
        name
    };
    let alone = vec![ContenderName { system, variants: Vec::new() }];
    lists.iter().fold(alone, |names, list| names.iter().flat_map(|name| list.iter().map(move |variant| with(name, variant))).collect())
}

fn walk_cells(table: &Table<'_>) -> Vec<Cell> {
    let written = table.tables("cell", walk_cell);
    if written.is_empty() {
        table.problem("cell", "the experiment measures nothing", "write one [[cell]] or more, each with `name`, `workload` and `load`");
    }
    let mut names = BTreeSet::new();
    for cells in &written {
        let name = cells.first().map_or("", Cell::written_name);
        let of_sweep = cells.iter().filter(|cell| cell.sweep.is_some()).map(|cell| cell.name.as_str());
        // Where the written name is taken, those made from it need not be looked at.
        let taken = std::iter::once(name).chain(of_sweep).find(|name| !names.insert((*name).to_owned()));
        if let Some(name) = taken {
            table.problem("cell", format!("two cells are named `{name}`"), "give each its own name");
        }
    }
    written.into_iter().flatten().collect()
}

/// One cell, or where levels stand in lists one for each combination of them.
fn walk_cell(table: &Table<'_>) -> Vec<Cell> {
    let name = table.required_string("name");
    if !is_name(&name) && table.has("name") {
        table.problem("name", format!("`{name}` cannot name a cell"), "use letters, digits, `-`, `_` and `.`");
    }
    let (mut axes, mut driver) = (Vec::new(), None);
    let walk_load = |t: &Table<'_>| {
        driver = witness::walk_driver(t);
        walk_load(t, &mut axes)
    };
    let load = table.table("load", walk_load).unwrap_or_else(|| {
        table.problem(
            "load",
            format!("the cell `{name}` says not how requests arrive"),
            "write `load = { kind = \"arrivals\", rate = 100 }` or `{ kind = \"closed\", connections = 64 }`",
        );
        Load::closed(1)
    });
    let cell = Cell {
        name,
        workload: table.required_string("workload"),
        with: walk_with(table, &mut axes),
        load,
        driver,
        truth: witness::walk_truth(table),
        timeout: table.duration("timeout").unwrap_or(Duration::from_secs(10)),
        warmup: table.duration("warmup").unwrap_or_default(),
        after: None,
        sweep: None,
    };
    if !cell.warmup.is_zero() {
        let alone = "leave it out; `warmup` in [design] is that of all cells";
        if cell.load.capacity().is_some() {
            table.problem("warmup", "a capacity has no warm-up of its own", alone);
        } else if cell.driver.is_some() {
            table.problem("warmup", "another generator makes no warm-up", alone);
        } else if table.has("turns") {
            table.problem("warmup", "turns have no warm-up of their own, as each is measured on what was there before", alone);
        }
    }
    if let Some(turns) = table.integer("turns", 2, TURNS_MAX) {
        if cell.load.capacity().is_some() {
            table.problem("turns", "a capacity is not looked for in turns", "each of its probes begins alike; give the turns another load");
        }
        if axes.iter().any(|axis| axis.parameter == TURN) {
            table.problem("turns", "`turn` is swept as well", "give the workload's parameter another name");
        }
        axes.push(Axis { parameter: TURN.to_owned(), levels: (1..=turns).map(|turn| turn as f64).collect(), of_load: true });
    }
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.levels.len()));
    if count.is_none_or(|count| count > MOST_CELLS) {
        table.problem("", format!("the levels of `{}` make more than {MOST_CELLS} cells", cell.name), "leave some out");
        return vec![cell];
    }
    if let (Some(driver), false) = (cell.driver, axes.is_empty()) {
        let message = format!("the cell `{}` is swept, and {} makes its load", cell.name, driver.name());
        table.problem("load", message, "write a cell for each level");
    }
    let cells = expand(cell, &axes);
    if let Some(long) = cells.iter().find(|cell| !is_name(&cell.name) && is_name(cell.written_name())) {
        table.problem("name", format!("`{}` is too long to name a cell", long.name), "give the cell a shorter name");
    }
    cells
}

/// What a cell sets of its workload's parameters; those with several levels are swept.
fn walk_with(table: &Table<'_>, axes: &mut Vec<Axis>) -> BTreeMap<String, String> {
    let mut with = BTreeMap::new();
    for (parameter, given) in table.texts_or_levels("with") {
        if !is_value_name(&parameter) {
            table.problem("with", format!("`{parameter}` cannot name a parameter"), "use letters, digits, `-` and `_`");
        }
        if axes.iter().any(|axis| axis.parameter == parameter) {
            table.problem("with", format!("`{parameter}` is swept in the load as well"), "give the workload's parameter another name");
        }
        match given {
            Levels::One(value) => drop(with.insert(parameter, value)),
            Levels::Several(levels) => axes.push(Axis { parameter, levels, of_load: false }),
        }
    }
    with
}

/// The cells that the field `cells` names: each by itself, or all of a sweep by the name that it is written with.
fn named_cells(table: &Table<'_>, cells: &[Cell]) -> Vec<String> {
    let of_sweep = |name: &str| -> Vec<String> {
        let swept = cells.iter().filter(|cell| cell.sweep.as_ref().is_some_and(|sweep| sweep.of == name));
        swept.map(|cell| cell.name.clone()).collect()
    };
    let mut named = Vec::new();
    for name in table.strings("cells") {
        match of_sweep(&name) {
            all if all.is_empty() => named.push(name),
            all => named.extend(all),
        }
    }
    named
}

/// Most turns of a cell.
const TURNS_MAX: u64 = 20;
