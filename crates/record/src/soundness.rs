//! The checks that decide whether measurements can be trusted, and how many each could cover.
//!
//! A report without faults means little if a check could read nothing. So a [`Check`] counts where
//! it was able to look.

use serde::{Deserialize, Serialize};

/// A check of the instrument or its surroundings, over a whole record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SoundnessCheck"))]
pub struct Check {
    /// The kind of the faults that it finds.
    pub kind: String,
    /// What is true if it finds none, in a few words.
    pub what: String,
    /// What it covers: `measurements`, `trials`, `starts`, `cells` or `comparisons`.
    pub of: String,
    /// How many of these there are.
    pub all: usize,
    /// How many of them it could check. Others have no such reading, or the check does not apply to
    /// them.
    pub looked_at: usize,
    /// How many faults it found.
    pub found: usize,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// It found nothing wherever it could look.
    Held,
    /// It found faults.
    Found,
    /// It could not look anywhere.
    NotMade,
}

impl Check {
    /// Returns the result of the check.
    pub fn standing(&self) -> CheckResult {
        match (self.found, self.looked_at) {
            (0, 0) => CheckResult::NotMade,
            (0, _) => CheckResult::Held,
            _ => CheckResult::Found,
        }
    }
}
