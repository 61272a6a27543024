//! Reports the progress of a run: a live view on a terminal, plain lines elsewhere.
//!
//! [`Show`] takes each piece of progress and decides what to print. `live` draws on its own thread,
//! `terminal_view` puts the drawing together, and `status_file` tells `faceoff serve`.

mod activity;
mod live;
mod screen;
mod status_file;
mod styled_line;
mod terminal_view;
mod trial_strip;
mod verdict_table;

use activity::word_activity;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress;
use lab::stopping::Observer;
use live::Live;
use record::{Alternation, Answers, CellFault, Record, Trial};
use spec::problem::Problems;
use spec::units::show_duration;
use std::io::IsTerminal;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How a run reports its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// A view of the whole run, redrawn twice a second: needs a terminal
    Live,
    /// A line for each step
    Plain,
    /// Only what goes wrong
    None,
}

/// Shows progress on standard error.
pub struct Show {
    how: How,
    bar: ProgressBar,
    /// Exists from the first trial on. It draws only in a live view.
    live: Option<Live>,
    trial_began: Instant,
    trials_took: Vec<Duration>,
    left: usize,
    current: String,
    /// Set in a run whose contenders share blocks in slices.
    shared: Option<SharedBlocks>,
}

/// Progress of a run whose contenders share blocks in slices.
struct SharedBlocks {
    began: Instant,
    /// Number of blocks that were complete when this run began or continued.
    already: u32,
    /// The time limit of a run that ends when it is settled.
    until_settled: Option<Duration>,
}

impl SharedBlocks {
    /// `block 3 of 6 · about 1 min 06 s left`, or `block 7 · 12 s of at most 2 min`.
    fn progress(&self, record: &Record) -> String {
        let (complete, took) = (record.complete_blocks(), self.began.elapsed());
        if let Some(limit) = self.until_settled {
            let (took, limit) = (show_duration(took), show_duration(limit));
            return format!("block {complete} · {took} of at most {limit}");
        }
        let design = &record.header.experiment.design;
        let blocks = design.blocks.max(complete);
        let about = if design.look_always { "at most" } else { "about" };
        let left = took / (complete - self.already).max(1) * (blocks - complete);
        let left = if left.is_zero() {
            String::new()
        } else {
            format!(" · {about} {} left", show_duration(left))
        };
        format!("block {complete} of {blocks}{left}")
    }
}

impl Default for Show {
    fn default() -> Self {
        Show::new(if std::io::stderr().is_terminal() { How::Live } else { How::Plain })
    }
}

impl Show {
    /// Shows progress as requested. Without a request: live on a capable terminal, else plain.
    ///
    /// # Errors
    /// A live view was requested without a terminal.
    pub fn on_request(how: Option<How>) -> Result<Show, Problems> {
        let can_draw = std::io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        match how {
            Some(How::Live) if !can_draw => Err(Problems::plain(
                "the live view needs a terminal, and standard error is not one",
                "leave out --progress, or use --progress plain",
            )),
            Some(how) => Ok(Show::new(how)),
            None => Ok(Show::new(if can_draw { How::Live } else { How::Plain })),
        }
    }

    fn new(how: How) -> Show {
        let target = if how == How::Live {
            ProgressDrawTarget::stderr_with_hz(4)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Show {
            how,
            bar,
            live: None,
            trial_began: Instant::now(),
            trials_took: Vec::new(),
            left: 0,
            current: String::new(),
            shared: None,
        }
    }

    /// Returns the live view if it is drawn.
    fn drawn(&self) -> Option<&Live> {
        self.live.as_ref().filter(|_| self.how == How::Live)
    }

    /// Prints a line that stays.
    pub fn say(&self, text: &str) {
        match self.drawn() {
            Some(live) => live.say(text),
            None => self.bar.suspend(|| crate::output::message(text)),
        }
    }

    /// Prints a line about normal progress, unless only problems are reported.
    fn say_usual(&self, text: &str) {
        if self.how != How::None {
            self.say(text);
        }
    }

    /// Shows the current step on the moving line, before the live view exists.
    fn set_step(&mut self, text: String) {
        if self.how == How::Live && self.live.is_none() {
            self.bar.set_message(text);
            self.bar.tick();
        }
    }

    fn time_left(&self) -> String {
        if self.trials_took.is_empty() || self.left == 0 {
            return String::new();
        }
        let mean = self.trials_took.iter().sum::<Duration>() / self.trials_took.len() as u32;
        format!(", about {} left", show_duration(mean * self.left as u32))
    }

    /// Takes one piece of progress.
    pub fn take(&mut self, progress: Progress<'_>) {
        if let Some(live) = &self.live {
            live.take(&progress);
        }
        match progress {
            Progress::Building(name) => self.set_step(format!("building {name}")),
            Progress::Built { name, was_built: true } => self.say_usual(&format!("built {name}")),
            Progress::Built { .. } => {}
            Progress::Skipped(skipped) => {
                let word = if skipped.failed { "failed" } else { "skipped" };
                self.say(&format!("{word}: {}: {}", skipped.contender, skipped.reason));
            }
            Progress::SkippedCell(skipped) => {
                self.say(&format!("skipped: cell {}: {}", skipped.cell, skipped.reason))
            }
            Progress::Warming(name) => {
                self.step(format!("starting and warming the upstream {name}"))
            }
            Progress::Proving(name) => self.set_step(format!("checking the responses of {name}")),
            Progress::Proved(answers) => self.responses_checked(answers),
            Progress::Begins { name, block, done, total } => {
                self.trial_began = Instant::now();
                self.left = total - done;
                self.current = format!("trial {}/{total} · block {block} · {name}", done + 1);
            }
            Progress::Doing(activity) => {
                let doing = word_activity(&activity);
                let text = format!("{} · {doing}{}", self.current, self.time_left());
                self.set_step(text);
            }
            Progress::Ended(trial) => self.trial_ended(trial),
            Progress::UpstreamLost(status) => {
                self.say(&format!("the upstream ended with {status}; starting it again"))
            }
            Progress::AgentAbsent { why, made_anew } => {
                let then = if made_anew {
                    "all agents were started again"
                } else {
                    "the other agents generate the load"
                };
                self.say(&format!("{}; {then}", why.lines().next().unwrap_or_default()));
            }
            Progress::Profiling { block, of } => {
                self.step(format!("sampling stacks, block {block} of {of}"))
            }
            Progress::NotProfiled(why) => self.say(&format!("not profiled: {why}")),
            Progress::EngineLost(why) => {
                self.say(&format!("the engine was lost, so the current trial is repeated: {why}"))
            }
        }
    }

    /// Reports a step of the run that belongs to no trial.
    fn step(&mut self, text: String) {
        if self.how == How::Plain {
            self.say(&text);
        }
        self.set_step(text);
    }

    fn responses_checked(&mut self, answers: &Answers) {
        let name = &answers.contender;
        if let Some(failure) = &answers.failure {
            self.say(&format!("excluded: {name} ({}): {}", failure.stage, failure.cause));
            return;
        }
        let after = answers.ready_after_ns.map_or(String::new(), |ns| {
            format!(" (first response after {})", show_duration(Duration::from_nanos(ns)))
        });
        self.say_usual(&format!("responds correctly: {name}{after}"));
    }

    fn trial_ended(&mut self, trial: &Trial) {
        let took = self.trial_began.elapsed();
        self.trials_took.push(took);
        self.left -= 1;
        let wrong = what_went_wrong(trial);
        // Contenders that share a block are reported together, when the block is complete.
        if self.shared.is_some() {
            if let Some(wrong) = &wrong {
                self.say(&format!("block {} · {} · {wrong}", trial.block, trial.contender));
            }
            return;
        }
        // In the live view, the strip shows trials that went well.
        let is_reported = wrong.is_some()
            || self.how == How::Plain
            || (self.how == How::Live && self.live.is_none());
        if is_reported {
            let outcome = wrong.unwrap_or_else(|| match trial.stolen.len() {
                0 => "done".into(),
                1 => "done, 1 disturbed measurement repeated,".into(),
                n => format!("done, {n} disturbed measurements repeated,"),
            });
            let (took, left) = (show_duration(took), self.time_left());
            self.say(&format!("{} · {outcome} in {took}{left}", self.current));
        }
    }

    /// Ends the live view and the moving line.
    pub fn done(&mut self) {
        self.live = None;
        self.bar.finish_and_clear();
    }
}

impl Observer for Show {
    fn progress(&mut self, progress: Progress<'_>) {
        self.take(progress);
    }

    /// Starts the status file, and the live view if it was requested.
    fn trials_begin(&mut self, record: &Record) -> Option<SyncSender<load::Progress>> {
        self.bar.finish_and_clear();
        let header = &record.header;
        let shares = header.alternation == Alternation::Slices;
        self.shared = shares.then(|| SharedBlocks {
            began: Instant::now(),
            already: record.complete_blocks(),
            until_settled: header.experiment.design.time_bound(),
        });
        // If the thread cannot be started, lines are printed instead.
        let (live, sender) = Live::start(record, self.how == How::Live).ok()?;
        self.live = Some(live);
        Some(sender)
    }

    /// Shows the verdicts after a complete block.
    fn block_complete(&mut self, record: &Record) {
        if let Some(live) = self.live.as_mut().filter(|_| self.how == How::Live) {
            live.judge(record);
        } else if let Some(shared) = self.shared.as_ref().filter(|_| self.how == How::Plain) {
            let so_far = report::so_far(record, &judge::judge(record))
                .map_or(String::new(), |text| format!(" · {text}"));
            self.say(&format!("{}{so_far}", shared.progress(record)));
        }
    }
}

/// Says what went wrong in a trial, if anything did.
fn what_went_wrong(trial: &Trial) -> Option<String> {
    if let Some(failure) = &trial.failure {
        return Some(format!("FAILED ({}): {}", failure.stage, failure.cause));
    }
    if let Some(fault) = judge::soundness::faults_of_trial(trial).first() {
        return Some(format!("fault: {}: {}", fault.kind, fault.evidence));
    }
    let CellFault { cell, fault } = trial.cell_faults.first()?;
    Some(format!("fault in cell {cell}: {}: {}", fault.kind, fault.evidence))
}
