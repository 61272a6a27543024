//! Events that a run reports while it is in progress.
//!
//! Events carry data, not sentences. The command words them for a terminal, a log or a status file,
//! so no reader has to take a text apart again. Start with [`Progress`].

use record::{Answers, Skipped, SkippedCell, Trial, WarmUpWindow};
use spec::experiment::capacity::Quantity;
use spec::name::ContenderName;
use std::time::Duration;

/// What a run reports.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A build of a contender begins.
    Building(&'a ContenderName),
    /// A contender is built.
    Built {
        /// The contender.
        name: &'a ContenderName,
        /// Whether the build did anything; `false` if it was up to date.
        was_built: bool,
    },
    /// A contender does not take part.
    Skipped(&'a Skipped),
    /// A cell is not measured.
    SkippedCell(&'a SkippedCell),
    /// The upstream starts and is warmed up.
    Warming(&'a ContenderName),
    /// A check of a contender's responses begins.
    Proving(&'a ContenderName),
    /// A contender's responses have been checked; the result includes failures.
    Proved(&'a Answers),
    /// A trial begins.
    Begins {
        /// The contender.
        name: &'a ContenderName,
        /// Its block, from 1.
        block: u32,
        /// Number of recorded trials.
        done: usize,
        /// Number of recorded and planned trials.
        total: usize,
    },
    /// The current trial moves on to another activity.
    Doing(Activity<'a>),
    /// A trial has ended.
    Ended(&'a Trial),
    /// A block begins in which stacks are sampled, and which is not judged.
    Profiling {
        /// Its number, from 1.
        block: u32,
        /// The number of profiled blocks.
        of: u32,
    },
    /// The run, or a trial of a profiled block, is not profiled, for this reason.
    NotProfiled(&'a str),
    /// The upstream ended with this status and starts again.
    UpstreamLost(&'a str),
    /// An agent does not respond.
    AgentAbsent {
        /// The cause, with a hint in further lines.
        why: &'a str,
        /// Whether all agents were replaced; if not, the remaining agents make the load.
        made_anew: bool,
    },
    /// The container engine or cluster was lost. The trial is repeated when it is back.
    EngineLost(&'a str),
}

/// Activity of the current trial.
#[derive(Clone, Copy, Debug)]
pub enum Activity<'a> {
    /// The contender starts.
    Starting,
    /// The contender warms up.
    WarmingUp {
        /// Time since the warm-up began.
        elapsed: Duration,
        /// The last complete window.
        last: Option<&'a WarmUpWindow>,
    },
    /// Agents warm the contender up.
    WarmingUpByAgents,
    /// The contender warms up with the load of one cell.
    WarmingUpForCell {
        /// The contender, if several are running.
        contender: Option<&'a ContenderName>,
        /// The cell.
        cell: &'a str,
    },
    /// A cell is measured.
    Measuring {
        /// The cell.
        cell: &'a str,
    },
    /// A cell is measured once more because other programs or the hypervisor took CPU time.
    Repeating {
        /// The cell.
        cell: &'a str,
        /// Number of the repetition, from 1.
        attempt: u32,
    },
    /// A search for the capacity of a cell has finished a probe.
    Probed {
        /// The cell.
        cell: &'a str,
        /// Number of the probe, from 1.
        number: usize,
        /// Quantity whose limit is searched for.
        quantity: Quantity,
        /// Level of this quantity.
        level: f64,
        /// Whether the contender met the objective at this level.
        kept: bool,
    },
}

impl<'a> Activity<'a> {
    /// The cell that is being measured; `None` while the contender starts or warms up.
    pub fn cell(&self) -> Option<&'a str> {
        match *self {
            Activity::Measuring { cell }
            | Activity::Repeating { cell, .. }
            | Activity::Probed { cell, .. } => Some(cell),
            Activity::Starting
            | Activity::WarmingUp { .. }
            | Activity::WarmingUpByAgents
            | Activity::WarmingUpForCell { .. } => None,
        }
    }
}

/// Receives progress.
pub type Watcher<'w> = dyn FnMut(Progress<'_>) + 'w;
