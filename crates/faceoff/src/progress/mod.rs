//! What a run says while it goes on: a live view or a line that moves on a terminal, plain lines elsewhere.

mod line;
mod live;
mod screen;
mod strip;
mod table;
mod told;
mod view;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress;
use live::Live;
use model::problem::Problems;
use model::record::Record;
use model::units::show_duration;
use std::io::IsTerminal;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// How a run says how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// A view of the whole run, drawn anew twice a second: needs a terminal
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
    /// From the first trial on. It draws only where that was asked for.
    live: Option<Live>,
    trial_began: Instant,
    trials_took: Vec<Duration>,
    left: usize,
    current: String,
}

impl Default for Show {
    fn default() -> Self {
        Show::of(if std::io::stderr().is_terminal() { How::Live } else { How::Plain })
    }
}

impl Show {
    /// As it was asked; else live on a terminal that can, plain elsewhere.
    ///
    /// # Errors
    /// A live view without a terminal.
    pub fn asked(how: Option<How>) -> Result<Show, Problems> {
        let can = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        match how {
            Some(How::Live) if !can => {
                Err(Problems::plain("the live view needs a terminal, and standard error is none", "leave --progress out, or write plain"))
            }
            Some(how) => Ok(Show::of(how)),
            None => Ok(Show::of(if can { How::Live } else { How::Plain })),
        }
    }

    fn of(how: How) -> Show {
        let target = if how == How::Live { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Show { how, bar, live: None, trial_began: Instant::now(), trials_took: Vec::new(), left: 0, current: String::new() }
    }

    /// Trials begin: from here on a file tells what is under way, and there is a live view where that was asked for. The sender wants the seconds
    /// of each measurement.
    pub fn begins(&mut self, record: &Record) -> Option<SyncSender<load::Progress>> {
        self.bar.finish_and_clear();
        // Without a thread to draw, lines are said.
        let (live, sender) = Live::start(record, self.how == How::Live).ok()?;
        self.live = Some(live);
        Some(sender)
    }

    /// The live view, where there is one.
    fn drawn(&self) -> Option<&Live> {
        self.live.as_ref().filter(|_| self.how == How::Live)
    }

    /// A further block is whole: shows what those so far come to.
    pub fn judge(&mut self, record: &Record) {
        if let Some(live) = self.live.as_mut().filter(|_| self.how == How::Live) {
            live.judge(record);
        }
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        match self.drawn() {
            Some(live) => live.say(text),
            None => self.bar.suspend(|| crate::output::message(text)),
        }
    }

    /// As [`Show::say`], of what goes as it should.
    fn say_usual(&self, text: &str) {
        if self.how != How::None {
            self.say(text);
        }
    }

    fn now(&mut self, text: String) {
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
            Progress::Building(name) => self.now(format!("building {name}")),
            Progress::Built { name, was_built: true } => self.say_usual(&format!("built {name}")),
            Progress::Built { .. } => {}
            Progress::Skipped(skipped) => {
                let word = if skipped.failed { "failed" } else { "skipped" };
                self.say(&format!("{word}: {}: {}", skipped.contender, skipped.reason));
            }
            Progress::SkippedCell(skipped) => self.say(&format!("skipped: cell {}: {}", skipped.cell, skipped.reason)),
            Progress::Warming(name) => {
                self.now(format!("starting and warming the upstream {name}"));
                if self.how == How::Plain {
                    self.say(&format!("starting and warming the upstream {name}"));
                }
            }
            Progress::Proving(name) => self.now(format!("proving the answers of {name}")),
            Progress::Proved(answers) => match &answers.failure {
                None => {
                    let after = answers.ready_after_ns.map(|ns| format!(" (first after {})", show_duration(Duration::from_nanos(ns))));
                    self.say_usual(&format!("answers rightly: {}{}", answers.contender, after.unwrap_or_default()));
                }
                Some(failure) => self.say(&format!("out: {} ({}): {}", answers.contender, failure.stage, failure.cause)),
            },
            Progress::Begins { name, block, done, total } => {
                self.trial_began = Instant::now();
                self.left = total - done;
                self.current = format!("trial {}/{total} · block {block} · {name}", done + 1);
            }
            Progress::Doing(what) => {
                let text = format!("{} · {what}{}", self.current, self.time_left());
                self.now(text);
            }
            Progress::Ended(trial) => {
                let took = self.trial_began.elapsed();
                self.trials_took.push(took);
                self.left -= 1;
                let wrong = match (&trial.failure, judge::soundness::of_trial(trial).first()) {
                    (Some(failure), _) => Some(format!("FAILED ({}): {}", failure.stage, failure.cause)),
                    (None, Some(fault)) => Some(format!("fault: {}: {}", fault.kind, fault.evidence)),
                    (None, None) => None,
                };
                // The live view's strip tells of what went as it should.
                let is_told = wrong.is_some() || self.how == How::Plain || (self.how == How::Live && self.live.is_none());
                let how = wrong.unwrap_or_else(|| match trial.robbed.len() {
                    0 => "done".into(),
                    again => format!("done, {again} measurement{} made again for steal,", if again == 1 { "" } else { "s" }),
                });
                if is_told {
                    self.say(&format!("{} · {how} in {}{}", self.current, show_duration(took), self.time_left()));
                }
            }
            Progress::UpstreamLost(status) => self.say(&format!("the upstream ended with {status}; starting it again")),
            Progress::AgentAbsent { why, made_anew } => {
                let then = if made_anew { "all agents were made anew" } else { "the other agents make the load" };
                self.say(&format!("{}; {then}", why.lines().next().unwrap_or_default()));
            }
            Progress::EngineLost(why) => self.say(&format!("the engine was lost, and what was under way is repeated: {why}")),
        }
    }

    /// Ends what moves.
    pub fn done(&mut self) {
        self.live = None;
        self.bar.finish_and_clear();
    }
}
