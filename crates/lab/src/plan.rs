//! The order of trials and cells: random within each block, and fixed by the seed.

use spec::experiment::Cell;
use spec::name::ContenderName;

/// Streams of the seed from here on shuffle cells; lower ones shuffle blocks.
const CELL_STREAMS: u64 = 1 << 32;

/// Plans blocks, each of which has every contender once in random order.
pub fn blocks(contenders: &[ContenderName], blocks: u32, seed: u64) -> Vec<Vec<ContenderName>> {
    (0..u64::from(blocks))
        .map(|block| {
            let mut order = contenders.to_vec();
            stats::shuffle(&mut order, seed, block);
            order
        })
        .collect()
}

/// Orders the cells of a trial, given its block and position, both from 1. Repetitions of a cell
/// follow each other.
pub fn cells(cells: &[Cell], seed: u64, block: u32, position: u32) -> Vec<&Cell> {
    let mut firsts: Vec<&Cell> = cells.iter().filter(|cell| cell.after.is_none()).collect();
    stats::shuffle(
        &mut firsts,
        seed,
        CELL_STREAMS + u64::from(block) * 1_000 + u64::from(position),
    );
    let next = |before: &&Cell| {
        cells.iter().find(|cell| cell.after.as_deref() == Some(before.name.as_str()))
    };
    firsts.into_iter().flat_map(|first| std::iter::successors(Some(first), next)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::experiment::Load;

    fn names(all: &[&str]) -> Vec<ContenderName> {
        all.iter().map(|n| n.parse().unwrap()).collect()
    }

    #[test]
    fn every_block_has_each_contender_once_as_the_seed_orders() {
        let contenders = names(&["a", "b", "c:x"]);
        let plan = blocks(&contenders, 20, 7);
        assert_eq!(plan, blocks(&contenders, 20, 7));
        assert_ne!(plan, blocks(&contenders, 20, 8));
        for block in &plan {
            let mut sorted = block.clone();
            sorted.sort();
            assert_eq!(sorted, contenders);
        }
        assert!(
            contenders.iter().all(|n| plan.iter().any(|b| b[0] == *n)),
            "every contender comes first in some block"
        );
    }

    #[test]
    fn repetitions_of_a_cell_follow_each_other() {
        let cell = |name: &str, after: Option<&str>| Cell {
            name: name.into(),
            workload: "w".into(),
            with: Default::default(),
            driver: None,
            truth: None,
            load: Load::closed(1),
            timeout: std::time::Duration::from_secs(1),
            warmup: std::time::Duration::ZERO,
            after: after.map(str::to_owned),
            sweep: None,
        };
        let all = [
            cell("a", None),
            cell("c-3", Some("c-2")),
            cell("c-1", None),
            cell("c-2", Some("c-1")),
            cell("b", None),
        ];
        let mut places = std::collections::BTreeSet::new();
        for block in 1..=30 {
            let order: Vec<&str> =
                cells(&all, 7, block, 1).iter().map(|cell| cell.name.as_str()).collect();
            let at = order.iter().position(|name| *name == "c-1").unwrap();
            assert_eq!((order.len(), &order[at..at + 3]), (5, &["c-1", "c-2", "c-3"][..]));
            places.insert(at);
        }
        assert_eq!(places.len(), 3, "first, second and last");
    }

    #[test]
    fn a_longer_plan_begins_like_a_shorter_one() {
        let contenders = names(&["a", "b", "c", "d"]);
        assert_eq!(blocks(&contenders, 12, 1)[..6], blocks(&contenders, 6, 1)[..]);
    }
}
