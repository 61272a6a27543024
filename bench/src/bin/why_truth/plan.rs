//! The runs of the proof: for each a language and, in half of them, a function that costs more.
//!
//! They follow from the seed alone. Only hot functions are changed, because a twentieth of a
//! function with 3 % of the CPU time is 0.15 % of a request. Start with [`runs`].

use clap::ValueEnum;
use stats::Random;

/// The language of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Language {
    /// Go, as `go build` makes it
    Go,
    /// Rust, as `rustc -O` makes it, with symbols
    Rust,
    /// Java, compiled by the virtual machine
    Java,
}

impl Language {
    pub const ALL: [Language; 3] = [Language::Go, Language::Rust, Language::Java];

    pub fn name(self) -> &'static str {
        match self {
            Language::Go => "go",
            Language::Rust => "rust",
            Language::Java => "java",
        }
    }
}

/// The hot functions of every service; the samples have their code.
pub const HOT: [&str; 5] =
    ["hash_bytes", "check_sum", "sort_numbers", "parse_digits", "encode_base64"];

/// The smallest and the largest factor.
const FACTORS: (f64, f64) = (1.05, 2.0);

/// A function that does its work more often.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub function: &'static str,
    pub factor: f64,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// From 1, separately for runs with and without a change.
    pub number: u32,
    pub language: Language,
    /// `None` if both processes do the same.
    pub change: Option<Change>,
}

impl Planned {
    /// Describes it: `rust, hash_bytes x 1.30`.
    pub fn describe(&self) -> String {
        match &self.change {
            Some(Change { function, factor }) => {
                format!("{}, {function} x {factor:.2}", self.language.name())
            }
            None => format!("{}, no change", self.language.name()),
        }
    }

    /// Names its folder after everything that it depends on, so that another seed repeats no run
    /// under a wrong name.
    pub fn folder(&self) -> String {
        let number = self.number;
        match &self.change {
            Some(Change { function, factor }) => {
                format!("changed-{number:02}-{}-{function}-{factor:.2}", self.language.name())
            }
            None => format!("same-{number:02}-{}", self.language.name()),
        }
    }
}

/// Draws the runs: `count` with a changed function, then as many without. Languages take turns, so
/// that each has its share; factors are spread evenly on a logarithmic scale.
pub fn runs(seed: u64, count: u32, languages: &[Language]) -> Vec<Planned> {
    let language = |number: u32| languages[number as usize % languages.len()];
    let changed = (1..=count).map(|number| {
        let mut random = Random::new(seed, u64::from(number));
        let function = HOT[(random.uniform() * HOT.len() as f64) as usize % HOT.len()];
        let (least, most) = FACTORS;
        let factor = least * (most / least).powf(random.uniform());
        // As it is written on command lines.
        let factor = (factor * 100.0).round() / 100.0;
        Planned { number, language: language(number), change: Some(Change { function, factor }) }
    });
    let same =
        (1..=count).map(|number| Planned { number, language: language(number), change: None });
    changed.chain(same).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_follow_from_seed_and_cover_all_kinds_of_causes() {
        let planned = runs(48, 20, &Language::ALL);
        assert_eq!(planned, runs(48, 20, &Language::ALL));
        assert_ne!(planned, runs(49, 20, &Language::ALL));
        assert_eq!(planned.len(), 40);
        let changes: Vec<&Change> = planned.iter().filter_map(|run| run.change.as_ref()).collect();
        assert_eq!(changes.len(), 20);
        assert!(changes.iter().all(|c| (1.05..=2.0).contains(&c.factor)), "{changes:?}");
        let below = changes.iter().filter(|change| change.factor < 1.45).count();
        assert!((5..=15).contains(&below), "{below} of 20 below the middle");
        let functions: BTreeSet<&str> = changes.iter().map(|change| change.function).collect();
        assert!(functions.len() >= 4, "{functions:?}");
        for language in Language::ALL {
            let count = planned.iter().filter(|run| run.language == language).count();
            assert!((12..=14).contains(&count), "{count} runs in {language:?}");
        }
        let folders: BTreeSet<String> = planned.iter().map(Planned::folder).collect();
        assert_eq!(folders.len(), 40);
    }
}
