//! What the rule is given: pairs of values, one for each block, and what to decide about them.

use crate::looks::Looks;

/// How often blocks and seconds are resampled.
pub const RESAMPLES: usize = 4_000;

/// A part of a trial that can be resampled. Its value is `amount` over `weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// For example CPU time, in any unit.
    pub amount: f64,
    /// For example correct responses; 1 if the amount is the value.
    pub weight: f64,
}

impl From<f64> for Second {
    fn from(amount: f64) -> Second {
        Second { amount, weight: 1.0 }
    }
}

/// One trial: its value, and its seconds if there are any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// The trial's value, in the metric's unit.
    pub value: f64,
    /// Its seconds. The value varies like the sum of their amounts over the sum of their weights.
    pub seconds: Vec<Second>,
}

/// The trials of a block that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// The contender's trial.
    pub contender: Side,
    /// The baseline's trial.
    pub baseline: Side,
}

/// What to decide about pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Confidence of better and worse at this look. With 1 nothing can be decided.
    pub confidence: f64,
    /// Confidence of equivalent at this look.
    pub confidence_equivalence: f64,
    /// Confidence as written in the design. P-values are scaled to `1 - design_confidence`.
    pub design_confidence: f64,
    /// Confidence at the last look, for the number of blocks still needed.
    pub last_confidence: f64,
    /// The same for equivalent.
    pub last_confidence_equivalence: f64,
    /// A ratio within `[1/(1+margin), 1+margin]` makes no difference that matters.
    pub margin: f64,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// Seed of the resamples.
    pub seed: u64,
    /// How many resamples: [`RESAMPLES`], or fewer if thousands of experiments are simulated.
    /// Without any, the t interval decides alone and there is no sign-flip test. The t interval is
    /// never wider.
    pub resamples: usize,
}

impl Question {
    /// Takes the confidences from a look.
    pub fn at_look(
        looks: &Looks,
        design_confidence: f64,
        margin: f64,
        lower_is_better: bool,
        seed: u64,
    ) -> Question {
        Question {
            confidence: looks.now.confidence,
            confidence_equivalence: looks.now.confidence_equivalence,
            design_confidence,
            last_confidence: looks.last.confidence,
            last_confidence_equivalence: looks.last.confidence_equivalence,
            margin,
            lower_is_better,
            seed,
            resamples: RESAMPLES,
        }
    }
}
