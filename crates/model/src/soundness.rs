//! What was looked at to tell whether a measurement can be believed.

use serde::{Deserialize, Serialize};

/// A check of the instrument or its surroundings, over a whole record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The kind of the faults that it finds.
    pub kind: String,
    /// What is so where it finds none, in a few words.
    pub what: String,
    /// What it looks at: `measurements`, `trials`, `starts`, `cells`, `comparisons`.
    pub of: String,
    /// How many of these there are.
    pub all: usize,
    /// At how many of them it could look: others have no such reading, or it does not speak of them.
    pub looked_at: usize,
    /// How many faults it found.
    pub found: usize,
}

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It found nothing wherever it could look.
    Held,
    /// It found faults.
    Found,
    /// It could look nowhere.
    NotMade,
}

impl Check {
    /// What it comes to.
    pub fn standing(&self) -> Standing {
        match (self.found, self.looked_at) {
            (0, 0) => Standing::NotMade,
            (0, _) => Standing::Held,
            _ => Standing::Found,
        }
    }
}
