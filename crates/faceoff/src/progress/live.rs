//! Draws the live view, twice a second, and tells the file beside the record what is under way, both on a thread of its own: whoever tells of
//! progress takes a lock that is held for as long as lines are put together, and never waits for the terminal or the disk.

use super::screen::{self, Screen};
use super::told::Told;
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
/// Between one writing of the file and the next, at least.
const WRITTEN_EVERY: Duration = Duration::from_secs(1);
/// Seconds of a load that may wait to be drawn; what finds no room is dropped.
const WAITING: usize = 64;
/// The least of all.
const NICE: i32 = 19;
/// Judging on the way, between trials, may take one part of so many of the time since it was done last.
const JUDGING_SHARE: u32 = 50;
/// What is judged so quickly is judged always.
const MOMENT: Duration = Duration::from_millis(500);

/// The thread, and the view where one is drawn.
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
    view: Option<View>,
    told: Told,
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
    /// Begins to tell, and to draw where that is asked, on the generator's CPUs; the sender is for the seconds of each measurement.
    pub fn start(record: &Record, is_drawn: bool) -> std::io::Result<(Live, SyncSender<load::Progress>)> {
        let (sender, seconds) = sync_channel(WAITING);
        let view = is_drawn.then(|| View::new(record, Instant::now()));
        let state = State { view, told: Told::new(record), said: Vec::new(), seconds, has_ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), ended: Condvar::new() });
        let (drawn, cpus) = (Arc::clone(&shared), record.header.cpus.generator.clone());
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            // Where either cannot be, it is drawn all the same.
            let _ = runner::cpus::pin_this_thread(&cpus);
            // Of this thread alone: the generator goes first.
            let _ = rustix::process::setpriority_process(None, NICE);
            follow(&drawn);
        })?;
        Ok((Live { shared, thread: Some(thread), judged: (Instant::now(), Duration::ZERO) }, sender))
    }

    /// Takes one piece of progress.
    pub fn take(&self, progress: &Progress<'_>) {
        let mut state = self.shared.state();
        // What has not been drawn is of a measurement that is over.
        state.hear();
        state.told.take(progress);
        if let Some(view) = &mut state.view {
            view.take(progress, Instant::now());
        }
    }

    /// A line that stays, without secrets.
    pub fn say(&self, text: &str) {
        self.shared.state().said.push(crate::output::harmless(&secret::hidden(text)).into_owned());
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
        if let Some(view) = &mut self.shared.state().view {
            view.judged(record, &judgement);
        }
    }
}

impl Drop for Live {
    /// Clears what is drawn, and takes the file away; what was said stays.
    fn drop(&mut self) {
        self.shared.state().has_ended = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let state = self.shared.state();
        state.told.remove();
        // Nothing is left, unless drawing went wrong.
        state.said.iter().for_each(|line| crate::output::message(line));
    }
}

impl State {
    fn hear(&mut self) {
        while let Ok(progress) = self.seconds.try_recv() {
            self.told.hear(progress.second);
            if let Some(view) = &mut self.view {
                view.hear(progress.second);
            }
        }
    }
}

fn follow(shared: &Shared) {
    let in_colour = has_colour(std::env::var_os("NO_COLOR").as_deref());
    let mut screen = Screen::default();
    let mut written: Option<Instant> = None;
    loop {
        let (now, (columns, rows)) = (Instant::now(), screen::size());
        let mut state = shared.state();
        state.hear();
        let (said, has_ended) = (std::mem::take(&mut state.said), state.has_ended);
        let view = state.view.as_ref().filter(|_| !has_ended);
        let lines = view.map_or_else(Vec::new, |view| view.lines(now, columns - 1, rows - 1));
        let is_due = !has_ended && written.is_none_or(|at| now.duration_since(at) >= WRITTEN_EVERY);
        let telling = if is_due { state.told.news() } else { None };
        drop(state);
        let text = screen.update(&said, lines.iter().map(|line| line.text(in_colour)).collect());
        // A terminal that has gone is no error.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        if let Some(telling) = telling {
            telling.write();
            written = Some(now);
        }
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
