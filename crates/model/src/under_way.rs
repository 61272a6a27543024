//! The trial under way, told in a small file beside a record while its run goes on, for whoever watches. It is no part of the record, and judged
//! by nobody; what reads it trusts nothing in it.

use crate::name::ContenderName;
use crate::record::{Record, Second};
use crate::secret;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;

/// Names the form of the file.
pub const SCHEMA: &str = "faceoff.under-way.v1";
/// The file, in the record's folder.
pub const FILE_NAME: &str = "under-way.json";
/// So many seconds of a measurement stand in it: the last ones.
pub const MOST_SECONDS: usize = 300;
/// A longer file is not read.
const LONGEST: u64 = 128 << 10;
/// Nor is one with a longer text in it.
const LONGEST_TEXT: usize = 500;

/// What a run does now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderWay {
    /// [`SCHEMA`].
    pub schema: String,
    /// The `id` of the record's header.
    pub run: String,
    /// Who measures.
    pub process: Process,
    /// Whose trial it is.
    pub contender: ContenderName,
    /// Its block, from 1.
    pub block: u32,
    /// What it does, in words: `starts`, `warms up, 7 s, 812/s`, the cell's name.
    pub doing: String,
    /// The cell that it measures; `None` before the first.
    pub cell: Option<String>,
    /// Seconds of this measurement that came before those below, and are left out.
    pub left_out: u32,
    /// The whole seconds of the measurement so far.
    pub seconds: Vec<Second>,
}

/// A process of this machine: an id alone is given again once its process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// When it began, in ticks of the kernel since the machine did.
    pub began_ticks: u64,
}

impl UnderWay {
    /// As it is written, without secrets.
    ///
    /// # Errors
    /// None that are known: it is plain data.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut value = serde_json::to_value(self)?;
        secret::hide(&mut value);
        serde_json::to_vec(&value)
    }

    /// Takes a further second; beyond [`MOST_SECONDS`] the first is left out.
    pub fn hear(&mut self, second: Second) {
        if self.seconds.len() >= MOST_SECONDS {
            self.seconds.remove(0);
            self.left_out = self.left_out.saturating_add(1);
        }
        self.seconds.push(second);
    }

    /// What stands beside a record, where that is by its form, of this very run, and of a trial that may be under way. Whether its process is there
    /// still is another question.
    pub fn beside(record: &Record) -> Option<UnderWay> {
        let path = record.folder.join(FILE_NAME);
        // A link, a pipe or a folder is none.
        std::fs::symlink_metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > LONGEST {
            return None;
        }
        serde_json::from_slice::<UnderWay>(&bytes).ok().filter(|told| told.may_be_of(record))
    }

    fn may_be_of(&self, record: &Record) -> bool {
        let order = (self.block as usize).checked_sub(1).and_then(|at| record.header.plan.get(at));
        let is_planned = order.is_some_and(|order| order.contains(&self.contender));
        let has_ended = record.trials.iter().any(|t| t.block == self.block && t.contender == self.contender);
        let is_short = self.doing.len().max(self.cell.as_ref().map_or(0, String::len)) <= LONGEST_TEXT;
        let is_of_run = self.schema == SCHEMA && self.run == record.header.id && record.ended().is_none();
        is_of_run && is_planned && !has_ended && is_short && self.seconds.len() <= MOST_SECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_seconds_are_kept_and_how_many_came_before() {
        let mut told = UnderWay {
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
        let second = |correct| Second { correct, not_correct: u64::MAX, p50_ns: most, p99_ns: most, max_ns: most, max_at_ns: most };
        (0..2 + MOST_SECONDS as u64).for_each(|n| told.hear(second(n)));
        assert_eq!((told.left_out, told.seconds.len(), told.seconds[0].correct), (2, MOST_SECONDS, 2));
        let bytes = told.bytes().unwrap();
        assert!((bytes.len() as u64) < LONGEST, "the longest that is written is read: {}", bytes.len());
        assert_eq!(serde_json::from_slice::<UnderWay>(&bytes).unwrap(), told);
    }
}
