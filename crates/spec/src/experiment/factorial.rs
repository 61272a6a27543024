//! Factors that are switched on and off in every combination.
//!
//! The effect of each factor then shows separately from the effects of the others. A factor adds
//! variants to the baseline or removes them. [`combinations`] lists the contenders; the crate
//! `judge` estimates the effects.

use super::Experiment;
use crate::name::{ContenderName, NAME_HINT, is_name};
use crate::reader::Table;
use serde::{Deserialize, Serialize};

/// The most factors. With more, the effects of pairs could not be separated within [`MOST_STARTS`].
pub const MOST_FACTORS: usize = 7;
/// The most combinations. Each is one start in every block.
pub const MOST_STARTS: usize = 64;

/// A property that the baseline has and can lose, or does not have and can get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// The name of the factor.
    pub name: String,
    /// The variants that are removed to switch it off; empty if the baseline does not have it.
    pub off: Vec<String>,
    /// The variants that are added to switch it on; empty if the baseline has it.
    pub on: Vec<String>,
}

/// A contender that is the baseline with some factors changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The contender.
    pub contender: ContenderName,
    /// For each factor, whether it is on.
    pub has: Vec<bool>,
}

/// Returns the baseline with its factors in every combination, itself first; empty without factors.
///
/// With seven factors, only combinations that differ from the baseline in an even number of them
/// are used, which is half of all. No effect of a factor or of a pair is then mixed with another
/// one. This is a 2^(7−1) design of resolution VII (Box, Hunter and Hunter, Statistics for
/// Experimenters, 2005, chapter 6).
pub fn combinations(baseline: &ContenderName, factors: &[Factor]) -> Vec<Combination> {
    if factors.is_empty() || factors.len() > MOST_FACTORS {
        return Vec::new();
    }
    let is_half = 1 << factors.len() > MOST_STARTS;
    let masks =
        (0..1u32 << factors.len()).filter(|changed| !is_half || changed.count_ones() % 2 == 0);
    let combination = |changed: u32| {
        let mut contender = baseline.clone();
        let mut has = Vec::new();
        for (at, factor) in factors.iter().enumerate() {
            let is_changed = changed >> at & 1 == 1;
            if is_changed {
                contender.variants.extend(factor.off.iter().chain(&factor.on).cloned());
            }
            has.push(factor.off.is_empty() == is_changed);
        }
        Combination { contender, has }
    };
    masks.map(combination).collect()
}

impl Experiment {
    /// Returns the combinations of the factors that take part, the baseline first; empty without
    /// factors.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut all = combinations(&self.baseline, &self.factors);
        all.retain(|c| self.all_contenders().any(|name| *name == c.contender));
        all
    }
}

/// Reads the tables `[[factor]]`.
pub(crate) fn parse_factors(table: &Table<'_>) -> Vec<Factor> {
    let factors = table.tables("factor", |t| {
        let factor = Factor { name: t.required_string("name"), off: t.strings("off"), on: t.strings("on") };
        if factor.off.is_empty() == factor.on.is_empty() {
            let hint = "write `off = [\"no-audit\"]` for what the baseline has, or `on = [\"metrics\"]` for what it can be given";
            t.problem("name", format!("the factor `{}` needs either `off` or `on`", factor.name), hint);
        }
        for variant in factor.off.iter().chain(&factor.on).filter(|variant| !is_name(variant)) {
            t.problem("name", format!("`{variant}` is not the name of a variant"), NAME_HINT);
        }
        factor
    });
    if factors.len() == 1 || factors.len() > MOST_FACTORS {
        table.problem(
            "factor",
            format!("{} factors cannot be crossed", factors.len()),
            format!("write two to {MOST_FACTORS}, combining those that depend on each other: `off = [\"no-a\", \"no-b\"]`"),
        );
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(count: usize) -> Vec<Factor> {
        let factor = |i| Factor { name: format!("f{i}"), off: vec![format!("no-{i}")], on: vec![] };
        (0..count).map(factor).collect()
    }

    #[test]
    fn a_factor_is_on_in_half_of_the_starts_a_pair_in_a_quarter() {
        let baseline: ContenderName = "a:x".parse().unwrap();
        for (count, starts) in [(2, 4), (3, 8), (6, 64), (7, 64)] {
            let all = combinations(&baseline, &factors(count));
            assert_eq!(all.len(), starts);
            assert_eq!((&all[0].contender, all[0].has.iter().all(|has| *has)), (&baseline, true));
            for a in 0..count {
                assert_eq!(all.iter().filter(|c| c.has[a]).count(), starts / 2);
                for b in 0..a {
                    assert_eq!(all.iter().filter(|c| c.has[a] && c.has[b]).count(), starts / 4);
                }
            }
        }
        assert!(
            combinations(&baseline, &[]).is_empty()
                && combinations(&baseline, &factors(8)).is_empty()
        );
    }

    #[test]
    fn a_factor_removes_or_adds_variants_of_the_baseline() {
        let factors = [
            Factor { name: "audit".into(), off: vec!["no-audit".into()], on: vec![] },
            Factor { name: "more".into(), off: vec![], on: vec!["metrics".into(), "limit".into()] },
        ];
        let all = combinations(&"a".parse().unwrap(), &factors);
        let shown: Vec<(String, &[bool])> =
            all.iter().map(|c| (c.contender.to_string(), c.has.as_slice())).collect();
        assert_eq!(
            shown,
            [
                ("a".into(), &[true, false][..]),
                ("a:no-audit".into(), &[false, false]),
                ("a:metrics+limit".into(), &[true, true]),
                ("a:no-audit+metrics+limit".into(), &[false, true]),
            ]
        );
    }
}
