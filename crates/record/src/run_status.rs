//! The trial in progress, in a small file next to a record while its run continues.
//!
//! `faceoff serve` reads it to show a run live. The file is not part of the record, and the judge
//! never reads it. A reader trusts nothing in it. Start with [`RunStatus`].

use crate::{Record, Second};
use serde::{Deserialize, Serialize};
use spec::name::ContenderName;
use spec::secret;
use std::fs::File;
use std::io::Read;

/// The name of the layout of the file.
pub const SCHEMA: &str = "faceoff.run-status.v1";
/// The name of the file, in the record's folder.
pub const FILE_NAME: &str = "run-status.json";
/// The most seconds of a measurement in it: the latest ones.
pub const MOST_SECONDS: usize = 300;
/// The longest file that is read.
const LONGEST: u64 = 128 << 10;
/// The longest text in it; a file with a longer one is not read.
const LONGEST_TEXT: usize = 500;

/// What a run is doing now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunStatus {
    /// [`SCHEMA`].
    pub schema: String,
    /// The `id` in the record's header.
    pub run: String,
    /// The process that measures.
    pub process: Process,
    /// The contender of the trial.
    pub contender: ContenderName,
    /// The block, from 1.
    pub block: u32,
    /// The current step, in words: `starts`, `warms up, 7 s, 812/s`, or the cell's name.
    pub doing: String,
    /// The cell that it measures; `None` before the first.
    pub cell: Option<String>,
    /// Seconds of this measurement before those below, which are left out.
    pub left_out: u32,
    /// The complete seconds of the measurement.
    pub seconds: Vec<Second>,
}

/// A process of this machine. The id alone is not enough, because it is used again when its process
/// has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// When it began, in kernel ticks since the machine started.
    pub began_ticks: u64,
}

impl RunStatus {
    /// Returns the file's bytes, without secrets.
    ///
    /// # Errors
    /// None are known, because it is plain data.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut value = serde_json::to_value(self)?;
        secret::hide(&mut value);
        serde_json::to_vec(&value)
    }

    /// Adds a second. Beyond [`MOST_SECONDS`] the first one is dropped.
    pub fn hear(&mut self, second: Second) {
        if self.seconds.len() >= MOST_SECONDS {
            self.seconds.remove(0);
            self.left_out = self.left_out.saturating_add(1);
        }
        self.seconds.push(second);
    }

    /// Reads the file next to a record, if it has this layout, belongs to this run, and is about a
    /// trial that may be in progress. It does not check whether the process still exists.
    pub fn of_record(record: &Record) -> Option<RunStatus> {
        let path = record.folder.join(FILE_NAME);
        // A link, a pipe or a folder is refused.
        std::fs::symlink_metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > LONGEST {
            return None;
        }
        serde_json::from_slice::<RunStatus>(&bytes).ok().filter(|status| status.may_be_of(record))
    }

    fn may_be_of(&self, record: &Record) -> bool {
        let order = (self.block as usize).checked_sub(1).and_then(|at| record.header.plan.get(at));
        let is_planned = order.is_some_and(|order| order.contains(&self.contender));
        let has_ended = record.has_trial(self.block, &self.contender);
        let is_short =
            self.doing.len().max(self.cell.as_ref().map_or(0, String::len)) <= LONGEST_TEXT;
        let is_of_run =
            self.schema == SCHEMA && self.run == record.header.id && record.ended().is_none();
        is_of_run && is_planned && !has_ended && is_short && self.seconds.len() <= MOST_SECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_seconds_and_the_number_before_are_kept() {
        let mut status = RunStatus {
            schema: SCHEMA.into(),
            run: "r".into(),
            process: Process { id: 1, began_ticks: 2 },
            contender: "a:b".parse().unwrap(),
            block: 1,
            doing: "open".into(),
            cell: Some("open".into()),
            left_out: 0,
            seconds: Vec::new(),
        };
        let most = Some(u64::MAX);
        let second = |correct| Second {
            correct,
            not_correct: u64::MAX,
            p50_ns: most,
            p99_ns: most,
            max_ns: most,
            max_at_ns: most,
        };
        (0..2 + MOST_SECONDS as u64).for_each(|n| status.hear(second(n)));
        assert_eq!(
            (status.left_out, status.seconds.len(), status.seconds[0].correct),
            (2, MOST_SECONDS, 2)
        );
        let bytes = status.bytes().unwrap();
        assert!(
            (bytes.len() as u64) < LONGEST,
            "the longest that is written is read: {}",
            bytes.len()
        );
        assert_eq!(serde_json::from_slice::<RunStatus>(&bytes).unwrap(), status);
    }
}
