//! Which categories and functions explain the difference between a contender and the baseline.
//!
//! Each line is a paired difference over profiled blocks, tested and corrected together with all
//! other lines of the pair (Benjamini-Hochberg). Nothing may be named that does not hold. Functions
//! are compared only between contenders that share them. Start with [`compare`].

use super::classify::{Categories, UNSAMPLED};
use super::costs::{BLOCKS_MIN, Block, Blocks, CONFIDENCE, FunctionId, Spent};
use record::judgement::{CauseLine, CpuDifference};
use spec::name::ContenderName;
use stats::{Counted, benjamini_hochberg, counted_differences, mean};
use std::collections::{BTreeMap, BTreeSet};

/// The largest corrected probability of a line that may be named.
pub(super) const Q_MAX: f64 = 0.05;
/// The fewest samples of a line, of both contenders together, for a test: a number, and a share of
/// all samples. Smaller lines explain little and would weaken the correction. The choice uses the
/// sum of both sides and not their difference, so it does not bias the test (Bourgon, Gentleman and
/// Huber 2010).
const SAMPLES_MIN: u64 = 20;
const SHARE_MIN: f64 = 0.005;
/// The most functions that are listed.
const LINES_MAX: usize = 100;
/// The least share of the CPU time outside the kernel that must be in functions that both
/// contenders have.
const SHARED_MIN: f64 = 0.5;

/// A block of both contenders: the contender's first.
type Pair<'a> = (&'a Block, &'a Block);

/// Compares the CPU time of a contender with that of the baseline. `None` without a block that both
/// have. Waits and the sentence are left for the caller.
pub(super) fn compare(
    (contender, of): (&ContenderName, &Blocks),
    (baseline, with): (&ContenderName, &Blocks),
    categories: &Categories,
) -> Option<CpuDifference> {
    let both = |(number, block)| Some((block, with.blocks.get(number)?));
    let pairs: Vec<Pair<'_>> = of.blocks.iter().filter_map(both).collect();
    if pairs.is_empty() {
        return None;
    }
    let mut total = Line::of_pairs(&pairs, "", "", |block| block.total);
    test(std::slice::from_mut(&mut total), SAMPLES_MIN);
    let Line { shown: total, samples: all_samples, .. } = total;
    let samples_min = SAMPLES_MIN.max((SHARE_MIN * all_samples as f64) as u64);
    let category = |(at, name): (usize, &String)| {
        let line = Line::of_pairs(&pairs, name, "", move |block: &Block| block.categories[at]);
        match name == UNSAMPLED && line.has_cost() {
            // It is known from all samples.
            true => Line { samples: all_samples, ..line },
            false => line,
        }
    };
    let all = categories.names().iter().enumerate().map(category);
    let mut lines: Vec<Line> = all.filter(|line| line.samples > 0).collect();
    let functions_compared = are_alike(&pairs);
    if functions_compared {
        let named = all_functions(&pairs).into_iter().filter_map(|id| {
            let category = &categories.names()[id.category];
            let spent = move |block: &Block| block.functions.get(id).copied().unwrap_or_default();
            Some(Line::of_pairs(&pairs, id.function.as_deref()?, category, spent))
        });
        lines.extend(named.filter(|line| line.samples >= samples_min));
    }
    test(&mut lines, samples_min);
    correct(&mut lines, pairs.len());
    let all = lines.into_iter().map(|line| line.shown);
    let (mut of_categories, mut of_functions): (Vec<CauseLine>, Vec<CauseLine>) =
        all.partition(|line| line.category.is_empty());
    let total = CauseLine {
        holds: pairs.len() >= BLOCKS_MIN && total.p.is_some_and(|p| p <= 1.0 - CONFIDENCE),
        ..total
    };
    largest_first(&mut of_categories);
    largest_first(&mut of_functions);
    of_functions.truncate(LINES_MAX);
    Some(CpuDifference {
        contender: contender.clone(),
        baseline: baseline.clone(),
        blocks: pairs.len() as u32,
        total,
        categories: of_categories,
        functions: of_functions,
        functions_compared,
        waits: None,
        sentence: String::new(),
    })
}

/// A category or function, with what it costs both contenders in each block.
struct Line {
    shown: CauseLine,
    costs: Vec<(Counted, Counted)>,
    /// Of both contenders in all blocks.
    samples: u64,
}

impl Line {
    fn has_cost(&self) -> bool {
        self.costs.iter().any(|(a, b)| a.value > 0.0 || b.value > 0.0)
    }

    /// Makes a line that is not tested yet.
    fn of_pairs(
        pairs: &[Pair<'_>],
        name: &str,
        category: &str,
        spent: impl Fn(&Block) -> Spent,
    ) -> Line {
        let cost = |block: &Block| block.counted(spent(block));
        let costs: Vec<(Counted, Counted)> =
            pairs.iter().map(|(a, b)| (cost(a), cost(b))).collect();
        let differences: Vec<f64> = costs.iter().map(|(a, b)| a.value - b.value).collect();
        let blocks = pairs.iter().flat_map(|(a, b)| [a, b]);
        Line {
            shown: CauseLine {
                name: name.to_owned(),
                category: category.to_owned(),
                us: mean(&differences).unwrap_or(0.0),
                interval: None,
                p: None,
                q: None,
                holds: false,
            },
            costs,
            samples: blocks.fold(0, |sum, block| sum.saturating_add(spent(block).samples)),
        }
    }
}

/// Tests all lines together, uncorrected. Lines with too few samples get an interval only.
fn test(lines: &mut [Line], samples_min: u64) {
    let costs: Vec<_> = lines.iter().map(|line| line.costs.clone()).collect();
    for (line, found) in lines.iter_mut().zip(counted_differences(&costs, CONFIDENCE)) {
        line.shown.interval = found.map(|found| found.interval);
        line.shown.p = found.map(|found| found.p).filter(|_| line.samples >= samples_min);
    }
}

/// Corrects the probabilities of all lines together, and decides which lines hold.
fn correct(lines: &mut [Line], blocks: usize) {
    let mut tested: Vec<&mut CauseLine> =
        lines.iter_mut().map(|line| &mut line.shown).filter(|line| line.p.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|line| line.p).collect();
    for (line, q) in tested.iter_mut().zip(benjamini_hochberg(&p_values)) {
        line.q = Some(q);
        line.holds = blocks >= BLOCKS_MIN && q <= Q_MAX;
    }
}

/// Sorts lines by the size of their difference; those that hold come first.
fn largest_first(lines: &mut [CauseLine]) {
    lines.sort_by(|a, b| b.holds.cmp(&a.holds).then_with(|| b.us.abs().total_cmp(&a.us.abs())));
}

/// Returns the functions of both contenders, each once.
fn all_functions<'a>(pairs: &[Pair<'a>]) -> BTreeSet<&'a FunctionId> {
    pairs.iter().flat_map(|(a, b)| a.functions.keys().chain(b.functions.keys())).collect()
}

/// Returns whether contenders can be compared by functions: of each one's samples outside the
/// kernel, at least half are in functions that the other has as well. Programs in the same language
/// share its runtime and libraries; programs in different languages share next to nothing.
fn are_alike(pairs: &[Pair<'_>]) -> bool {
    let side = |blocks: Vec<&'_ Block>| -> BTreeMap<String, u64> {
        let mut names = BTreeMap::new();
        for (id, spent) in blocks.iter().flat_map(|block| &block.functions) {
            if let Some(name) = id.function.as_ref().filter(|_| !id.in_kernel) {
                let sum: &mut u64 = names.entry(name.clone()).or_default();
                *sum = sum.saturating_add(spent.samples);
            }
        }
        names
    };
    let a = side(pairs.iter().map(|(a, _)| *a).collect());
    let b = side(pairs.iter().map(|(_, b)| *b).collect());
    let names: BTreeSet<&String> = a.keys().filter(|name| b.contains_key(*name)).collect();
    let is_shared = |of: &BTreeMap<String, u64>| {
        let all: f64 = of.values().map(|n| *n as f64).sum();
        let shared: f64 = names.iter().filter_map(|name| of.get(*name)).map(|n| *n as f64).sum();
        all > 0.0 && shared >= SHARED_MIN * all
    };
    is_shared(&a) && is_shared(&b)
}
