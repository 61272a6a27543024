//! Why a contender uses more CPU time than another, from the profiles of a record.
//!
//! `classify.rs` sorts samples into categories by a table of patterns. `costs.rs` turns them into
//! microseconds per request with intervals over profiled blocks. `differences.rs` tests what
//! differs from the baseline. `delays.rs` does the same for waits, and `sentence.rs` words both.
//! Nothing here decides a verdict. Start with [`all_causes`].

mod classify;
mod costs;
mod delays;
mod differences;
mod sentence;
mod waits;

pub use classify::{APPLICATION, Categories, OTHER_KERNEL, UNKNOWN, UNSAMPLED};

use costs::Blocks;
use record::judgement::Causes;
use record::{Profile, Record};
use spec::name::ContenderName;

/// Explains the CPU time of every cell that was profiled, in the order of the experiment.
pub fn all_causes(record: &Record, categories: &Categories) -> Vec<Causes> {
    let mut cells: Vec<&str> = Vec::new();
    let planned = record.header.experiment.cells.iter().map(|cell| cell.name.as_str());
    for cell in planned.chain(record.profiles.iter().map(|profile| profile.cell.as_str())) {
        let is_profiled = record.profiles.iter().any(|profile| profile.cell == cell);
        if is_profiled && !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.into_iter().map(|cell| causes_of_cell(record, cell, categories)).collect()
}

fn causes_of_cell(record: &Record, cell: &str, categories: &Categories) -> Causes {
    let baseline = &record.header.experiment.baseline;
    let mut contenders: Vec<(&ContenderName, Vec<&Profile>)> = Vec::new();
    let of_record = record.header.contenders.iter().map(|participant| &participant.name);
    let of_profiles = record.profiles.iter().map(|profile| &profile.contender);
    for name in std::iter::once(baseline).chain(of_record).chain(of_profiles) {
        if contenders.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let profiles =
            record.profiles.iter().filter(|p| p.cell == cell && p.contender == *name).collect();
        contenders.push((name, profiles));
    }
    contenders.retain(|(_, profiles)| !profiles.is_empty());
    let blocks: Vec<(&ContenderName, Blocks)> = contenders
        .iter()
        .map(|(name, profiles)| (*name, Blocks::of_profiles(categories, profiles)))
        .collect();
    let costs = blocks.iter().zip(&contenders).map(|((name, blocks), (_, profiles))| {
        let mut costs = blocks.causes(name, categories);
        costs.waits = waits::waits_per_request(profiles);
        costs.notes.extend(costs.waits.slow_down.map(waits::cost_of_tracing));
        costs
    });
    let mut all = blocks.iter().zip(&contenders).map(|(of, (_, profiles))| (of, profiles));
    let base = all.next().filter(|((name, _), _)| *name == baseline);
    let differences = base.map_or_else(Vec::new, |((_, base), of_base)| {
        all.filter_map(|((name, of), profiles)| {
            let mut found = differences::compare((name, of), (baseline, base), categories)?;
            found.waits = delays::compare(profiles, of_base);
            found.sentence = sentence::sentence(&found);
            Some(found)
        })
        .collect()
    });
    Causes { cell: cell.to_owned(), contenders: costs.collect(), differences }
}
