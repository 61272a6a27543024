//! Shows the progress of a load: a moving status on a terminal, a plain line every few seconds
//! elsewhere.

use crate::output::{bars, message};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::Progress;
use record::Second;
use spec::units::{show_duration, show_number, show_short};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Seconds between plain lines.
const PLAIN_EVERY: usize = 5;
/// Number of seconds that are drawn.
const DRAWN: usize = 40;

/// One second of the load, summed over threads.
#[derive(Clone, Copy, Default)]
struct Passed {
    threads: u32,
    correct: u64,
    not_correct: u64,
    /// The quantiles of the worst thread.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    in_flight: u64,
}

impl Passed {
    fn add(&mut self, second: &Second, in_flight: u64) {
        self.threads += 1;
        self.correct += second.correct;
        self.not_correct += second.not_correct;
        self.p50_ns = self.p50_ns.max(second.p50_ns);
        self.p99_ns = self.p99_ns.max(second.p99_ns);
        self.max_ns = self.max_ns.max(second.max_ns);
        self.in_flight += in_flight;
    }
}

/// Shows the progress of all threads until they have ended.
///
/// Returns the number of requests in flight at the end of each second.
pub fn show(messages: &Receiver<Progress>, threads: u32, planned: Duration) -> Vec<u64> {
    let is_terminal = std::io::stderr().is_terminal();
    let target = if is_terminal {
        ProgressDrawTarget::stderr_with_hz(2)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(
        ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let began = Instant::now();
    let mut passed: Vec<Passed> = Vec::new();
    let mut printed = 0;
    loop {
        match messages.recv_timeout(Duration::from_millis(500)) {
            Ok(progress) => {
                // Messages may be missing, because late ones are dropped.
                while passed.len() <= progress.number {
                    passed.push(Passed::default());
                }
                passed[progress.number].add(&progress.second, progress.in_flight);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let whole = passed.iter().rposition(|p| p.threads == threads).map_or(0, |last| last + 1);
        let left = planned.saturating_sub(began.elapsed());
        if is_terminal {
            bar.set_message(status(&passed[..whole], left));
        } else if whole >= printed + PLAIN_EVERY {
            printed = whole;
            message(status(&passed[..whole], left).lines().next().unwrap_or_default());
        }
    }
    bar.finish_and_clear();
    passed.iter().map(|p| p.in_flight).collect()
}

fn status(passed: &[Passed], left: Duration) -> String {
    let left = show_duration(Duration::from_secs(left.as_secs_f64().round() as u64));
    let Some(last) = passed.last() else { return format!("{left} left") };
    let show = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| show_short(ns as f64));
    let mut text = format!(
        "{}/s ok, {} failed, p50 {}, p99 {}, max {}, {} in flight, {left} left",
        show_number(last.correct as f64),
        last.not_correct,
        show(last.p50_ns),
        show(last.p99_ns),
        show(last.max_ns),
        last.in_flight,
    );
    let rates: Vec<u64> =
        passed[passed.len().saturating_sub(DRAWN)..].iter().map(|p| p.correct).collect();
    let drawn = bars(&rates);
    if !drawn.is_empty() {
        text.extend(["\n", &drawn]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_threads_are_summed() {
        let (sender, receiver) = std::sync::mpsc::sync_channel(16);
        let second = Second {
            correct: 50,
            not_correct: 1,
            p50_ns: Some(1_000),
            p99_ns: None,
            max_ns: Some(9_000),
            max_at_ns: None,
        };
        for number in [0, 1, 0, 2] {
            sender.send(Progress { number, second, in_flight: 3 }).unwrap();
        }
        drop(sender);
        assert_eq!(show(&receiver, 2, Duration::from_secs(2)), [6, 3, 3]);
    }

    #[test]
    fn status_shows_figures_and_draws_rate() {
        let mut passed = vec![Passed::default(); 2];
        for (p, correct) in passed.iter_mut().zip([35, 70]) {
            p.add(
                &Second {
                    correct,
                    not_correct: 2,
                    p50_ns: Some(55_200),
                    p99_ns: None,
                    max_ns: Some(2_000_000),
                    max_at_ns: None,
                },
                4,
            );
        }
        let text = status(&passed, Duration::from_secs(8));
        assert_eq!(
            text,
            "70.0/s ok, 2 failed, p50 55.2us, p99 -, max 2.00ms, 4 in flight, 8.0 s left\n▄█"
        );
        assert_eq!(status(&[], Duration::from_secs(8)), "8.0 s left");
    }
}
