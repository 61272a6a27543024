//! Draws the live view twice a second, and keeps the status file next to the record up to date.
//!
//! Both happen on one thread. Reporting progress takes a lock that is held only while lines are put
//! together, so a run never waits for the terminal or the disk.

use super::screen::{self, Screen};
use super::status_file::StatusFile;
use super::terminal_view::TerminalView;
use lab::Progress;
use record::Record;
use spec::secret;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two drawings.
const EVERY: Duration = Duration::from_millis(500);
/// Minimum time between two versions of the status file.
const WRITTEN_EVERY: Duration = Duration::from_secs(1);
/// Seconds of a load that may wait to be drawn; further ones are dropped.
const WAITING: usize = 64;
/// The lowest priority.
const NICE: i32 = 19;
/// Judging between trials may take 1/50 of the time since the last time.
const JUDGING_SHARE: u32 = 50;
/// A record that is judged within this time is judged after every block.
const MOMENT: Duration = Duration::from_millis(500);

/// The thread that draws, and the state it shares with the run.
pub struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// When the run was last judged, and how long that took.
    judged: (Instant, Duration),
}

struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    view: Option<TerminalView>,
    status: StatusFile,
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
    /// Starts the thread, on the generator's CPUs. It draws only if `is_drawn` is set.
    ///
    /// The returned sender takes the seconds of each measurement.
    pub fn start(
        record: &Record,
        is_drawn: bool,
    ) -> std::io::Result<(Live, SyncSender<load::Progress>)> {
        let (sender, seconds) = sync_channel(WAITING);
        let view = is_drawn.then(|| TerminalView::new(record, Instant::now()));
        let state = State {
            view,
            status: StatusFile::new(record),
            said: Vec::new(),
            seconds,
            has_ended: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), ended: Condvar::new() });
        let (drawn, cpus) = (Arc::clone(&shared), record.header.cpus.generator.clone());
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            // Both are improvements only, so errors are ignored.
            let _ = runner::cpus::pin_this_thread(&cpus);
            // The priority of this thread only: the generator goes first.
            let _ = rustix::process::setpriority_process(None, NICE);
            follow(&drawn);
        })?;
        Ok((
            Live { shared, thread: Some(thread), judged: (Instant::now(), Duration::ZERO) },
            sender,
        ))
    }

    /// Takes one piece of progress.
    pub fn take(&self, progress: &Progress<'_>) {
        let mut state = self.shared.state();
        // Seconds that were not drawn yet belong to a measurement that is over.
        state.take_seconds();
        state.status.take(progress);
        if let Some(view) = &mut state.view {
            view.take(progress, Instant::now());
        }
    }

    /// Prints a line that stays, without secrets.
    pub fn say(&self, text: &str) {
        self.shared.state().said.push(crate::output::harmless(&secret::hidden(text)).into_owned());
    }

    /// Judges the run so far, unless that would cost too much time.
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
    /// Clears the drawing and removes the status file. Printed lines stay.
    fn drop(&mut self) {
        self.shared.state().has_ended = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let state = self.shared.state();
        state.status.remove();
        // Lines remain only if the drawing thread failed.
        state.said.iter().for_each(|line| crate::output::message(line));
    }
}

impl State {
    fn take_seconds(&mut self) {
        while let Ok(progress) = self.seconds.try_recv() {
            self.status.take_second(progress.second);
            if let Some(view) = &mut self.view {
                view.take_second(progress.second);
            }
        }
    }
}

fn follow(shared: &Shared) {
    let in_colour = crate::output::in_colour(&std::io::stderr());
    let mut screen = Screen::default();
    let mut written: Option<Instant> = None;
    loop {
        let (now, (columns, rows)) = (Instant::now(), screen::size());
        let mut state = shared.state();
        state.take_seconds();
        let (said, has_ended) = (std::mem::take(&mut state.said), state.has_ended);
        let view = state.view.as_ref().filter(|_| !has_ended);
        let lines = view.map_or_else(Vec::new, |view| view.lines(now, columns - 1, rows - 1));
        let is_due = !has_ended && written.is_none_or(|at| now.duration_since(at) >= WRITTEN_EVERY);
        let update = if is_due { state.status.update() } else { None };
        drop(state);
        let text = screen.update(&said, lines.iter().map(|line| line.text(in_colour)).collect());
        // A closed terminal is no error.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        if let Some(update) = update {
            update.write();
            written = Some(now);
        }
        if has_ended {
            return;
        }
        drop(shared.ended.wait_timeout_while(shared.state(), EVERY, |state| !state.has_ended));
    }
}
