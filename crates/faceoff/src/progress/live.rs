//! Draws the live view, twice a second and on a thread of its own: whoever tells of progress takes a lock that is held for as long as lines
//! are put together, and never waits for the terminal.

use super::screen::{self, Screen};
use super::view::View;
use lab::Progress;
use model::record::Record;
use model::secret;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between one drawing and the next.
const EVERY: Duration = Duration::from_millis(500);
/// Seconds of a load that may wait to be drawn; what finds no room is dropped.
const WAITING: usize = 64;
/// The least of all.
const NICE: i32 = 19;
/// Judging on the way, between trials, may take one part of so many of the time since it was done last.
const JUDGING_SHARE: u32 = 50;
/// What is judged so quickly is judged always.
const MOMENT: Duration = Duration::from_millis(500);

/// The view, while it is drawn.
pub struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// When the run was judged last, and how long that took.
    judged: (Instant, Duration),
}

struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    view: View,
    said: Vec<String>,
    seconds: Receiver<load::Progress>,
    has_ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Begins to draw, on the generator's CPUs; the sender is for the seconds of each measurement.
    pub fn start(record: &Record) -> std::io::Result<(Live, SyncSender<load::Progress>)> {
        let (sender, seconds) = sync_channel(WAITING);
        let state = State { view: View::new(record, Instant::now()), said: Vec::new(), seconds, has_ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), ended: Condvar::new() });
        let (drawn, cpus) = (Arc::clone(&shared), record.header.cpus.generator.clone());
        let thread = std::thread::Builder::new().name("live view".into()).spawn(move || {
            // Where either cannot be, it is drawn all the same.
            let _ = runner::cpus::pin_this_thread(&cpus);
            // Of this thread alone: the generator goes first.
            let _ = rustix::process::setpriority_process(None, NICE);
            draw(&drawn);
        })?;
        Ok((Live { shared, thread: Some(thread), judged: (Instant::now(), Duration::ZERO) }, sender))
    }

    /// Takes one piece of progress.
    pub fn take(&self, progress: &Progress<'_>) {
        let mut state = self.shared.state();
        // What has not been drawn is of a measurement that is over.
        state.hear();
        state.view.take(progress, Instant::now());
    }

    /// A line that stays, without secrets.
    pub fn say(&self, text: &str) {
        self.shared.state().said.push(secret::hidden(text).into_owned());
    }

    /// Judges the run so far, where that costs little of it.
    pub fn judge(&mut self, record: &Record) {
        let (at, took) = self.judged;
        if took > MOMENT && took * JUDGING_SHARE > at.elapsed() {
            return;
        }
        let began = Instant::now();
        let judgement = judge::judge(record);
        self.judged = (Instant::now(), began.elapsed());
        self.shared.state().view.judged(record, &judgement);
    }
}

impl Drop for Live {
    /// Clears what is drawn; what was said stays.
    fn drop(&mut self) {
        self.shared.state().has_ended = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // Nothing is left, unless drawing went wrong.
        self.shared.state().said.iter().for_each(|line| crate::output::message(line));
    }
}

impl State {
    fn hear(&mut self) {
        while let Ok(progress) = self.seconds.try_recv() {
            self.view.hear(progress.second);
        }
    }
}

fn draw(shared: &Shared) {
    let in_colour = has_colour(std::env::var_os("NO_COLOR").as_deref());
    let mut screen = Screen::default();
    loop {
        let (columns, rows) = screen::size();
        let mut state = shared.state();
        state.hear();
        let lines = if state.has_ended { Vec::new() } else { state.view.lines(Instant::now(), columns - 1, rows - 1) };
        let (said, has_ended) = (std::mem::take(&mut state.said), state.has_ended);
        drop(state);
        let text = screen.update(&said, lines.iter().map(|line| line.text(in_colour)).collect());
        // A terminal that has gone is no error.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        if has_ended {
            return;
        }
        drop(shared.ended.wait_timeout_while(shared.state(), EVERY, |state| !state.has_ended));
    }
}

/// By <https://no-color.org>: set and not empty.
fn has_colour(no_color: Option<&std::ffi::OsStr>) -> bool {
    no_color.is_none_or(std::ffi::OsStr::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_counts_where_it_is_not_empty() {
        assert_eq!([None, Some("".as_ref()), Some("1".as_ref())].map(has_colour), [true, true, false]);
    }
}
