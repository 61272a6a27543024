//! Reads `record.jsonl`: one JSON line after the other, never changed again.
//!
//! The first line is the [`Header`]. A line for each event follows when it is over. A crash may cut
//! the last line short; such a line is skipped and counted. A [`Record`] is everything that was
//! read, with questions about it, such as which trials are missing.

use crate::compression::open_lines;
use crate::header::{Header, SCHEMA};
use crate::profile::Profile;
use crate::trial::{Answers, Failure, Trial, Upstream};
use serde::{Deserialize, Serialize};
use spec::experiment::{Claim, Design, Experiment};
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::units::show_duration;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// The file in a record's folder that has its lines.
pub const FILE_NAME: &str = "record.jsonl";

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A contender gave correct responses before anything was timed, or did not and is excluded.
    Answers(Answers),
    /// The upstream of this session, after its warm-up.
    Upstream(Upstream),
    /// A trial that has ended.
    Trial(Box<Trial>),
    /// The samples of a contender in a cell of a profiled block.
    Profile(Box<Profile>),
    /// The run was resumed or interrupted, or it ended.
    Session(Session),
}

/// What happened to the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// The event.
    pub event: Event,
    /// When, RFC 3339, UTC.
    pub at: String,
}

/// What can happen to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It continued where an earlier session stopped.
    Resumed,
    /// It was requested to stop.
    Interrupted,
    /// The upstream was lost.
    UpstreamLost,
    /// The engine that systems run in was lost. The trial in progress is not recorded.
    EngineLost,
    /// The time budget was used up.
    BudgetSpent,
    /// An interim analysis found every claim settled, so further blocks are not needed.
    Settled,
    /// Every planned trial ran.
    Finished,
}

impl Header {
    /// Reads the first line of a record.
    pub(crate) fn of_line(line: &[u8]) -> Result<Header, String> {
        let header = match serde_json::from_slice(line) {
            Ok(Line::Header(header)) if header.schema == SCHEMA => *header,
            Ok(Line::Header(header)) => {
                return Err(format!(
                    "its schema is {}, this faceoff reads {SCHEMA}",
                    header.schema
                ));
            }
            Ok(_) => return Err("its first line is not a header".into()),
            Err(e) => return Err(format!("its first line is not a header ({e})")),
        };
        // Another program may have written it. A value that is not a probability would break the
        // arithmetic.
        let Design { confidence, margin, .. } = header.experiment.design;
        if !(0.5..1.0).contains(&confidence) || !(0.0..f64::INFINITY).contains(&margin) {
            return Err(format!("no verdict has confidence {confidence} and margin {margin}"));
        }
        Ok(header)
    }
}

/// A record, as it was read.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its folder.
    pub folder: PathBuf,
    /// The first line: what the run intended to do.
    pub header: Header,
    /// The checks of each contender's responses before anything was timed.
    pub answers: Vec<Answers>,
    /// The upstreams, one for each session.
    pub upstreams: Vec<Upstream>,
    /// The trials, in the order in which they ended.
    pub trials: Vec<Trial>,
    /// Where the CPU time of contenders went, if the run was profiled.
    pub profiles: Vec<Profile>,
    /// What happened to the run.
    pub sessions: Vec<Session>,
    /// The number of lines that a crash cut short, which were skipped.
    pub torn_lines: usize,
}

impl Record {
    /// A record that has its first line only.
    pub fn of_header(folder: PathBuf, header: Header) -> Record {
        Record {
            folder,
            header,
            answers: Vec::new(),
            upstreams: Vec::new(),
            trials: Vec::new(),
            profiles: Vec::new(),
            sessions: Vec::new(),
            torn_lines: 0,
        }
    }

    /// Reads a record from its folder, or from its file, which may be compressed.
    ///
    /// # Errors
    /// No such record; a first line that is not a header of this schema.
    pub fn read(path: &Path) -> Result<Record, Problems> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let file = if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() };
        let unreadable = |e: &dyn std::fmt::Display| {
            Problems::plain(
                format!("{} is not a record: {e}", path.display()),
                format!("name the folder of a run, with its {FILE_NAME}, or a compressed record"),
            )
        };
        let reader = open_lines(&file).map_err(|e| unreadable(&e))?;
        let (mut header, mut torn_lines) = (None, 0);
        let (mut answers, mut upstreams, mut trials, mut profiles, mut sessions) =
            (Vec::new(), Vec::new(), Vec::<Trial>::new(), Vec::new(), Vec::new());
        for (number, line) in reader.split(b'\n').enumerate() {
            let line = line.map_err(|e| unreadable(&e))?;
            if line.is_empty() {
                continue;
            }
            if number == 0 {
                header = Some(Header::of_line(&line).map_err(|e| unreadable(&e))?);
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(Line::Answers(a)) => answers.push(a),
                Ok(Line::Upstream(u)) => upstreams.push(u),
                Ok(Line::Trial(t)) => trials.push(*t),
                Ok(Line::Profile(p)) => profiles.push(*p),
                Ok(Line::Session(s)) => sessions.push(s),
                // A line that is not even JSON was cut short. A line of JSON that is not understood
                // is an error.
                Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_err() => {
                    torn_lines += 1
                }
                Ok(Line::Header(_)) => {
                    return Err(unreadable(&format!("line {} is a second header", number + 1)));
                }
                Err(e) => {
                    return Err(unreadable(&format!(
                        "line {} is not understood ({e})",
                        number + 1
                    )));
                }
            }
        }
        let header: Header = header.ok_or_else(|| unreadable(&"it is empty"))?;
        Ok(Record {
            folder: folder.to_owned(),
            header,
            answers,
            upstreams,
            trials,
            profiles,
            sessions,
            torn_lines,
        })
    }

    /// Returns whether faceoff could watch the processes of a contender in any measurement.
    pub fn is_watched(&self, name: &ContenderName) -> bool {
        let mut trials = self.trials.iter().filter(|trial| trial.contender == *name);
        trials
            .any(|trial| trial.measurements.iter().any(|measurement| measurement.usage.is_known()))
    }

    /// Returns whether energy was read in any measurement of a contender.
    pub fn has_energy(&self, name: &ContenderName) -> bool {
        let mut trials = self.trials.iter().filter(|trial| trial.contender == *name);
        trials.any(|trial| trial.measurements.iter().any(|m| m.energy_uj.is_some()))
    }

    /// Returns the contenders that failed before anything was timed.
    pub fn dropped(&self) -> impl Iterator<Item = (&ContenderName, &Failure)> {
        self.answers.iter().filter_map(|a| a.failure.as_ref().map(|f| (&a.contender, f)))
    }

    /// Returns why a contender of the experiment did not take part; `None` if it did.
    pub fn absence(&self, name: &ContenderName) -> Option<&str> {
        let skipped =
            self.header.skipped.iter().find(|s| s.contender == *name).map(|s| s.reason.as_str());
        skipped.or_else(|| {
            self.answers
                .iter()
                .find(|a| a.contender == *name)?
                .failure
                .as_ref()
                .map(|f| f.cause.as_str())
        })
    }

    /// Returns why a claim cannot be tested with this record, however many blocks it has; `None` if
    /// it can.
    pub fn untried(&self, claim: &Claim) -> Option<String> {
        if let Some(why) = self.absence(&claim.contender) {
            return Some(format!(
                "{} did not take part: {}",
                claim.contender,
                why.lines().next().unwrap_or_default()
            ));
        }
        let has = self.header.cpus.contender.len();
        if let Some(needs) = claim.contender_cpus.filter(|needed| *needed as usize > has) {
            return Some(format!(
                "it is about {needs} CPUs or more for the contender, which had {has} here"
            ));
        }
        let Experiment { cells, design, .. } = &self.header.experiment;
        let (cell, began) = claim
            .judged_in(cells)?
            .into_iter()
            .find_map(|cell| Some((cell, cell.load.users_cut(design.measure)?)))?;
        let (wanted, took) = (cell.load.describe(), show_duration(design.measure));
        Some(format!(
            "{} asks for {wanted}, and was measured for {took}, in which only {began} began",
            cell.name
        ))
    }

    /// Returns whether an interim analysis found every claim settled, so that no further block is
    /// needed.
    pub fn is_settled(&self) -> bool {
        self.sessions.iter().any(|s| s.event == Event::Settled)
    }

    /// Returns whether a contender has a trial in a block.
    pub(crate) fn has_trial(&self, block: u32, name: &ContenderName) -> bool {
        self.trials.iter().any(|t| t.block == block && t.contender == *name)
    }

    /// Returns the number of the last block that has a trial; 0 without trials.
    pub fn last_block(&self) -> u32 {
        self.trials.iter().map(|t| t.block).max().unwrap_or(0)
    }

    /// Returns how many blocks have a trial of each contender that was not dropped.
    pub fn complete_blocks(&self) -> u32 {
        let out: Vec<&ContenderName> = self.dropped().map(|(name, _)| name).collect();
        let is_complete = |(block, order): &(u32, &Vec<ContenderName>)| {
            let mut due = order.iter().filter(|name| !out.contains(name)).peekable();
            due.peek().is_some() && due.all(|name| self.has_trial(*block, name))
        };
        (1..).zip(&self.header.plan).filter(is_complete).count() as u32
    }

    /// Returns the missing trials as block from 1, position from 1, and contender. They belong to
    /// planned blocks and to spare ones that were begun; in a settled run, only to blocks that were
    /// begun.
    pub fn missing(&self) -> Vec<(u32, u32, ContenderName)> {
        let planned = if self.is_settled() { 0 } else { self.header.experiment.design.blocks };
        self.missing_until(self.last_block().max(planned))
    }

    /// Returns the missing trials like [`Record::missing`]. If none is missing, it returns the next
    /// spare block.
    pub fn missing_or_spare(&self) -> Vec<(u32, u32, ContenderName)> {
        let missing = self.missing();
        if !missing.is_empty() || self.is_settled() {
            return missing;
        }
        self.missing_until(self.last_block() + 1)
    }

    fn missing_until(&self, last: u32) -> Vec<(u32, u32, ContenderName)> {
        let out: Vec<&ContenderName> = self.dropped().map(|(name, _)| name).collect();
        let mut missing = Vec::new();
        for (block, order) in (1..=last).zip(&self.header.plan) {
            for (position, contender) in (1..).zip(order) {
                if !self.has_trial(block, contender) && !out.contains(&contender) {
                    missing.push((block, position, contender.clone()));
                }
            }
        }
        missing
    }

    /// Returns how the run ended, if it did.
    pub fn ended(&self) -> Option<Event> {
        self.sessions.last().map(|s| s.event).filter(|e| *e != Event::Resumed)
    }
}
