//! What a run says while it goes on: a line that moves on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress;
use model::units::show_duration;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows progress on standard error.
pub struct Show {
    bar: ProgressBar,
    is_terminal: bool,
    trial_began: Instant,
    trials_took: Vec<Duration>,
    left: usize,
    current: String,
}

impl Default for Show {
    fn default() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Show { bar, is_terminal, trial_began: Instant::now(), trials_took: Vec::new(), left: 0, current: String::new() }
    }
}

impl Show {
    /// A line that stays.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| crate::output::message(text));
    }

    fn now(&mut self, text: String) {
        if self.is_terminal {
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
        match progress {
            Progress::Building(name) => self.now(format!("building {name}")),
            Progress::Built { name, was_built: true } => self.say(&format!("built {name}")),
            Progress::Built { .. } => {}
            Progress::Skipped(skipped) => {
                let word = if skipped.failed { "failed" } else { "skipped" };
                self.say(&format!("{word}: {}: {}", skipped.contender, skipped.reason));
            }
            Progress::SkippedCell(skipped) => self.say(&format!("skipped: cell {}: {}", skipped.cell, skipped.reason)),
            Progress::Warming(name) => {
                self.now(format!("starting and warming the upstream {name}"));
                if !self.is_terminal {
                    self.say(&format!("starting and warming the upstream {name}"));
                }
            }
            Progress::Proving(name) => self.now(format!("proving the answers of {name}")),
            Progress::Proved(answers) => match &answers.failure {
                None => {
                    let after = answers.ready_after_ns.map(|ns| format!(" (first after {})", show_duration(Duration::from_nanos(ns))));
                    self.say(&format!("answers rightly: {}{}", answers.contender, after.unwrap_or_default()));
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
                let how = match (&trial.failure, judge::soundness::of_trial(trial).first(), trial.robbed.len()) {
                    (Some(failure), ..) => format!("FAILED ({}): {}", failure.stage, failure.cause),
                    (None, Some(fault), _) => format!("fault: {}: {}", fault.kind, fault.evidence),
                    (None, None, 0) => "done".into(),
                    (None, None, again) => format!("done, {again} measurement{} made again for steal,", if again == 1 { "" } else { "s" }),
                };
                self.say(&format!("{} · {how} in {}{}", self.current, show_duration(took), self.time_left()));
            }
            Progress::UpstreamLost(status) => self.say(&format!("the upstream ended with {status}; starting it again")),
        }
    }

    /// Ends the moving line.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
