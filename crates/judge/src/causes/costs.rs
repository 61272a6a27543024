//! CPU time per request of one contender in one cell: by category, function and module.
//!
//! Samples are added up per block, as whole nanoseconds, so that categories sum to the total
//! exactly. CPU time by the clock that no sample stands for is a category too (`UNSAMPLED`), and
//! samples that exceed the clock are scaled down to it. So the total always agrees with the clock,
//! and what is checked is how much of it the samples stand for. Means and intervals are over
//! blocks. Start with [`Blocks::of_profiles`].

use super::classify::{Categories, Classifier, UNSAMPLED};
use record::judgement::{Cost, CpuCauses, FunctionCost, NamedCost};
use record::{FrameKind, Profile, Stack};
use spec::name::ContenderName;
use spec::units::show_share;
use stats::{Counted, mean, mean_interval};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

/// The confidence of every interval here.
pub(super) const CONFIDENCE: f64 = 0.95;
/// The fewest blocks from which a cause may be named.
pub(super) const BLOCKS_MIN: usize = 4;
/// Functions and modules with a smaller share of a contender's CPU time are left out.
const SHARE_MIN: f64 = 0.001;
/// The most functions that are listed.
const FUNCTIONS_MAX: usize = 200;
/// The share of the CPU time by the clocks that samples must stand for. Threads that are woken
/// often explain up to 20 % less or more (`events.rs` in `runner::profile`). Beyond that, threads
/// were not sampled, or samples dropped.
const SAMPLED_SHARE: RangeInclusive<f64> = 0.7..=1.3;

/// Samples, and the CPU time that they stand for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub samples: u64,
    ns: u128,
}

impl Spent {
    fn add(&mut self, other: Spent) {
        self.samples = self.samples.saturating_add(other.samples);
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// What identifies a function: two of the same name in one category are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FunctionId {
    /// Its name; `None` if no frame of the stack has one.
    pub function: Option<String>,
    /// Whether it is of the kernel.
    pub in_kernel: bool,
    /// The category, as an index of [`Categories::names`].
    pub category: usize,
}

/// One profiled block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub correct: u64,
    /// Samples times period, which may exceed the clock.
    sampled_ns: u128,
    clock_ns: u128,
    pub total: Spent,
    pub categories: Vec<Spent>,
    pub functions: BTreeMap<FunctionId, Spent>,
    modules: BTreeMap<String, Spent>,
}

impl Block {
    /// Returns microseconds per correct response.
    fn us(&self, spent: Spent) -> f64 {
        spent.ns as f64 / 1e3 / self.correct as f64
    }

    /// Returns the cost of samples together with its error from counting. Time without samples is
    /// what the clock counts beyond all of them, so it is as uncertain as their number.
    pub fn counted(&self, spent: Spent) -> Counted {
        if spent.samples == 0 && spent.ns > 0 {
            let sampled = Spent { ns: self.total.ns.saturating_sub(spent.ns), ..spent };
            let of_one = self.us(sampled) / self.total.samples.max(1) as f64;
            let variance = self.total.samples as f64 * of_one * of_one;
            return Counted { value: self.us(spent), variance };
        }
        let weight = match spent.samples {
            0 => 0.0,
            samples => self.us(spent) / samples as f64,
        };
        Counted::of_samples(spent.samples, self.total.samples, weight)
    }
}

/// All profiled blocks of a contender in a cell.
pub(super) struct Blocks {
    pub blocks: BTreeMap<u32, Block>,
    /// For each function, the module in which most of its samples were.
    modules: BTreeMap<FunctionId, BTreeMap<String, u64>>,
    lost: u64,
    notes: BTreeSet<String>,
}

/// Joins notes of several blocks that differ in their first number: `3 to 6 % of the samples`. A
/// number within a word, such as the name of a file, joins nothing.
fn merged(notes: &BTreeSet<String>) -> BTreeSet<String> {
    let mut alike: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for note in notes {
        let begin = note.find(|c: char| c.is_ascii_digit()).unwrap_or(note.len());
        let (before, rest) = note.split_at(begin);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let is_word = (before.is_empty() || before.ends_with(' '))
            && (after.is_empty() || after == "." || after.starts_with(' '));
        match number.parse::<u64>() {
            Ok(number) if is_word => {
                let (least, most) = alike.entry((before, after)).or_insert((number, number));
                (*least, *most) = (number.min(*least), number.max(*most));
            }
            _ => {
                all.insert(note.clone());
            }
        }
    }
    all.extend(alike.into_iter().map(|((before, after), (least, most))| match least == most {
        true => format!("{before}{least}{after}"),
        false => format!("{before}{least} to {most}{after}"),
    }));
    all
}

impl Blocks {
    /// Adds up the profiles of a contender in a cell. Two of the same block count as one.
    pub fn of_profiles(categories: &Categories, profiles: &[&Profile]) -> Blocks {
        let mut all = Blocks {
            blocks: BTreeMap::new(),
            modules: BTreeMap::new(),
            lost: 0,
            notes: BTreeSet::new(),
        };
        for profile in profiles {
            all.add(categories, profile);
        }
        all.notes = merged(&all.notes);
        for (number, block) in &all.blocks {
            if block.correct == 0 {
                let note = format!("profiled block {number} has no correct response, so no cost");
                all.notes.insert(note);
            }
        }
        all.blocks.retain(|_, block| block.correct > 0);
        all
    }

    fn add(&mut self, categories: &Categories, profile: &Profile) {
        self.lost = self.lost.saturating_add(profile.lost);
        self.notes.extend(profile.notes.iter().cloned());
        let classifier = Classifier::new(categories, profile);
        let block = self.blocks.entry(profile.block).or_default();
        block.correct = block.correct.saturating_add(profile.correct);
        let sampled_ns = u128::from(profile.samples()) * u128::from(profile.period_ns);
        block.sampled_ns = block.sampled_ns.saturating_add(sampled_ns);
        block.clock_ns = block.clock_ns.saturating_add(u128::from(profile.cpu_ns));
        let sample_ns = profile.sample_ns();
        block.categories.resize(categories.names().len(), Spent::default());
        let mut of_functions: HashMap<(Option<u32>, usize), Spent> = HashMap::new();
        let mut of_modules: HashMap<Option<u32>, Spent> = HashMap::new();
        let unsampled = Spent { samples: 0, ns: u128::from(profile.unsampled_ns()) };
        block.total.add(unsampled);
        block.categories[categories.index_of(UNSAMPLED)].add(unsampled);
        for stack in &profile.stacks {
            let spent = Spent {
                samples: stack.samples,
                ns: u128::from(stack.samples) * u128::from(sample_ns),
            };
            let category = classifier.category(stack);
            block.total.add(spent);
            block.categories[category].add(spent);
            let function = innermost_named(profile, stack);
            of_functions.entry((function, category)).or_default().add(spent);
            of_modules.entry(stack.frames.first().copied()).or_default().add(spent);
        }
        for (frame, spent) in of_modules {
            let frame = frame.and_then(|at| profile.frames.get(at as usize));
            let module = frame.map_or(String::new(), |frame| frame.module.clone());
            block.modules.entry(module).or_default().add(spent);
        }
        for ((frame, category), spent) in of_functions {
            let frame = frame.and_then(|at| profile.frames.get(at as usize));
            let id = FunctionId {
                function: frame.and_then(|frame| frame.function.clone()),
                in_kernel: frame.is_some_and(|frame| frame.kind == FrameKind::Kernel),
                category,
            };
            block.functions.entry(id.clone()).or_default().add(spent);
            let module = frame.map_or(String::new(), |frame| frame.module.clone());
            let samples = self.modules.entry(id).or_default().entry(module).or_default();
            *samples = samples.saturating_add(spent.samples);
        }
    }

    /// Returns the values of every block, in order.
    fn per_block(&self, value: impl Fn(&Block) -> f64) -> Cost {
        let values: Vec<f64> = self.blocks.values().map(value).collect();
        match mean_interval(&values, CONFIDENCE) {
            Some((us, interval)) => Cost { us, interval: Some(interval) },
            None => Cost { us: mean(&values).unwrap_or(0.0), interval: None },
        }
    }

    /// Returns all notes, with one on samples that do not agree with the clocks.
    fn notes(&self, agrees: Option<bool>) -> Vec<String> {
        let share = self.sampled_share().filter(|_| agrees == Some(false)).map(|share| {
            let why = match share < 1.0 {
                true => "not all threads were sampled, or samples are missing",
                false => "part of it was charged to other programs",
            };
            format!("samples stand for {} of the CPU time by the clock: {why}", show_share(share))
        });
        self.notes.iter().cloned().chain(share).collect()
    }

    /// Returns the share of the CPU time by the clocks that samples stood for.
    fn sampled_share(&self) -> Option<f64> {
        let sum = |ns: fn(&Block) -> u128| self.blocks.values().map(|b| ns(b) as f64).sum::<f64>();
        let clock = sum(|block| block.clock_ns);
        (clock > 0.0).then(|| sum(|block| block.sampled_ns) / clock)
    }

    /// Returns the costs by category, function and module.
    pub fn causes(&self, contender: &ContenderName, categories: &Categories) -> CpuCauses {
        let total = self.per_block(|block| block.us(block.total));
        let sampled_share = self.sampled_share();
        let agrees = sampled_share.map(|share| SAMPLED_SHARE.contains(&share));
        let is_large = |cost: &Cost| cost.us > 0.0 && cost.us >= SHARE_MIN * total.us;
        let category = |(at, name): (usize, &String)| NamedCost {
            name: name.clone(),
            cost: self.per_block(|block| block.us(block.categories[at])),
        };
        let ids: BTreeSet<&FunctionId> =
            self.blocks.values().flat_map(|block| block.functions.keys()).collect();
        let function = |id: &FunctionId| FunctionCost {
            function: id.function.clone(),
            module: self.module_of(id),
            category: categories.names()[id.category].clone(),
            cost: self.per_block(|b| b.us(b.functions.get(id).copied().unwrap_or_default())),
        };
        let mut functions: Vec<FunctionCost> =
            ids.into_iter().map(function).filter(|f| is_large(&f.cost)).collect();
        functions.sort_by(|a, b| b.cost.us.total_cmp(&a.cost.us));
        functions.truncate(FUNCTIONS_MAX);
        let names: BTreeSet<&String> =
            self.blocks.values().flat_map(|block| block.modules.keys()).collect();
        let module = |name: &String| NamedCost {
            name: name.clone(),
            cost: self.per_block(|b| b.us(b.modules.get(name).copied().unwrap_or_default())),
        };
        let mut modules: Vec<NamedCost> =
            names.into_iter().map(module).filter(|m| is_large(&m.cost)).collect();
        modules.sort_by(|a, b| b.cost.us.total_cmp(&a.cost.us));
        CpuCauses {
            contender: contender.clone(),
            blocks: self.blocks.len() as u32,
            samples: self.blocks.values().fold(0, |sum, b| sum.saturating_add(b.total.samples)),
            lost: self.lost,
            total,
            sampled_share,
            agrees,
            categories: categories.names().iter().enumerate().map(category).collect(),
            functions,
            modules,
            waits: Default::default(),
            notes: self.notes(agrees),
        }
    }

    /// Returns the module in which most samples of a function were.
    fn module_of(&self, id: &FunctionId) -> String {
        let modules = self.modules.get(id).into_iter().flatten();
        let most = modules.max_by_key(|(_, samples)| **samples);
        most.map_or(String::new(), |(module, _)| module.clone())
    }
}

/// Returns the innermost frame that has a name; the innermost one if none has; `None` for a stack
/// without frames that the profile knows.
fn innermost_named(profile: &Profile, stack: &Stack) -> Option<u32> {
    let frame = |at: &u32| profile.frames.get(*at as usize);
    let mut known = stack.frames.iter().filter(|at| frame(at).is_some());
    let named = known.clone().find(|at| frame(at).is_some_and(|frame| frame.function.is_some()));
    named.or_else(|| known.next()).copied()
}
