//! What a load says while it goes on: lines that move on a terminal, a plain one now and then elsewhere.

use crate::output::message;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::Progress;
use model::units::{show_duration, show_number};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Without a terminal, so often.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// So many seconds are drawn.
const DRAWN: usize = 40;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Shows what threads say, until they have all ended.
pub fn show(messages: &Receiver<Progress>, threads: u32, planned: Duration) {
    let is_terminal = std::io::stderr().is_terminal();
    let target = if is_terminal { ProgressDrawTarget::stderr_with_hz(2) } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    let (began, mut said) = (Instant::now(), Instant::now());
    let mut rates: Vec<f64> = Vec::new();
    let mut latest: Vec<Option<Progress>> = vec![None; threads as usize];
    loop {
        match messages.recv_timeout(Duration::from_millis(500)) {
            Ok(progress) => {
                if let Some(place) = latest.get_mut(progress.thread as usize) {
                    *place = Some(progress);
                }
                // One message a second from each; the last thread's closes the second.
                if progress.thread + 1 == threads {
                    rates.push(latest.iter().flatten().map(|p| p.second.correct as f64).sum());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let text = status(&latest, &rates, began.elapsed(), planned);
        if is_terminal {
            bar.set_message(text);
        } else if said.elapsed() >= PLAIN_EVERY {
            message(text.lines().next().unwrap_or_default());
            said = Instant::now();
        }
    }
    bar.finish_and_clear();
}

fn status(latest: &[Option<Progress>], rates: &[f64], passed: Duration, planned: Duration) -> String {
    let heard = || latest.iter().flatten();
    let longest = |of: fn(&Progress) -> Option<u64>| {
        heard().filter_map(of).max().map_or("-".to_owned(), |ns| super::output::show_short(ns as f64))
    };
    let failed: u64 = heard().map(|p| p.second.not_correct).sum();
    let left = planned.saturating_sub(passed);
    let mut text = format!(
        "{}/s right, {failed}/s not, p50 {}, p99 {}, max {}, {} under way, {} left",
        show_number(rates.last().copied().unwrap_or(0.0)),
        longest(|p| p.second.p50_ns),
        longest(|p| p.second.p99_ns),
        longest(|p| p.second.max_ns),
        heard().map(|p| p.in_flight).sum::<u64>(),
        show_duration(left),
    );
    let drawn = &rates[rates.len().saturating_sub(DRAWN)..];
    let top = drawn.iter().copied().fold(0.0, f64::max);
    if top > 0.0 {
        text.push('\n');
        text.extend(drawn.iter().map(|rate| BLOCKS[((rate / top * 7.0).round() as usize).min(7)]));
    }
    text
}
