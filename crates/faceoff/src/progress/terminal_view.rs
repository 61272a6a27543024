//! Draws the live view of a run as lines of text.
//!
//! The view shows progress and time left, the strip of trials, the current measurement with its
//! rate and latency, and the verdicts so far. Start at [`TerminalView::lines`].

use super::activity::word_activity;
use super::styled_line::Line;
use super::trial_strip::{Mark, TrialStrip};
use super::verdict_table::Verdicts;
use crate::output::bars;
use crate::tone::Tone;
use lab::{Activity, Progress};
use record::judgement::Judgement;
use record::{Alternation, Record, Second};
use spec::units::{show_duration, show_number, show_short};
use std::time::{Duration, Instant};

/// Maximum number of lines of the strip.
const STRIP: usize = 4;
/// Maximum number of lines of the table.
const TABLE: usize = 12;
/// Seconds of the current measurement that are drawn.
const DRAWN: usize = 40;

/// The state of a run, as far as the view shows it.
#[derive(Debug)]
pub struct TerminalView {
    strip: TrialStrip,
    baseline: String,
    /// Planned blocks.
    blocks: u32,
    /// Whether contenders share each block, in slices.
    is_shared: bool,
    /// Begin and time limit of a run that ends when it is settled, not after a number of blocks.
    until_settled: Option<(Instant, Duration)>,
    /// Whether an interim analysis may end the run early.
    may_end_early: bool,
    /// Cells that report each second of their measurement.
    measured: Vec<String>,
    /// How long each cell is measured.
    measure: Duration,
    /// The instant after which no further block begins.
    budget_ends: Option<Instant>,
    trial: Option<RunningTrial>,
    doing: String,
    /// Whether a cell is measured for the first time in this trial, by our own generator.
    is_measuring: bool,
    doing_since: Instant,
    seconds: Vec<Second>,
    /// Durations of past trials, or of past blocks if contenders share them.
    took: Vec<Duration>,
    verdicts: Option<Verdicts>,
}

#[derive(Debug)]
struct RunningTrial {
    contender: String,
    block: u32,
    since: Instant,
}

impl TerminalView {
    /// Creates the view of a run that begins or continues.
    pub fn new(record: &Record, now: Instant) -> TerminalView {
        let experiment = &record.header.experiment;
        let reports_seconds = |cell: &&spec::experiment::Cell| {
            cell.driver.is_none() && cell.load.capacity().is_none()
        };
        TerminalView {
            strip: TrialStrip::new(record),
            baseline: experiment.baseline.to_string(),
            blocks: experiment.design.blocks,
            is_shared: record.header.alternation == Alternation::Slices,
            until_settled: experiment.design.time_bound().map(|most| (now, most)),
            may_end_early: may_end_early(record),
            measured: experiment
                .cells
                .iter()
                .filter(reports_seconds)
                .map(|cell| cell.name.clone())
                .collect(),
            measure: experiment.design.measure,
            budget_ends: now.checked_add(experiment.design.budget),
            trial: None,
            doing: String::new(),
            is_measuring: false,
            doing_since: now,
            seconds: Vec::new(),
            took: Vec::new(),
            verdicts: None,
        }
    }

    /// Takes one piece of progress.
    pub fn take(&mut self, progress: &Progress<'_>, now: Instant) {
        match progress {
            Progress::Begins { name, block, .. } => {
                if self.is_shared {
                    self.strip.begin(*block);
                } else {
                    self.strip.mark(*block, name, Mark::Running);
                }
                self.trial =
                    Some(RunningTrial { contender: name.to_string(), block: *block, since: now });
                self.set_doing("", now);
            }
            Progress::Doing(activity) => {
                self.set_doing(&word_activity(activity), now);
                self.is_measuring = matches!(activity, Activity::Measuring { cell }
                    if self.measured.iter().any(|measured| measured == cell));
            }
            Progress::Ended(trial) => {
                self.strip.mark(trial.block, &trial.contender, Mark::of_trial(trial));
                self.took.extend(self.trial.take().map(|trial| now - trial.since));
                self.set_doing("", now);
            }
            Progress::Warming(name) => {
                self.set_doing(&format!("starting and warming the upstream {name}"), now)
            }
            Progress::Profiling { block, of } => {
                self.set_doing(&format!("sampling stacks, block {block} of {of}"), now)
            }
            // These come before the first trial, or are printed as separate lines.
            Progress::Building(_)
            | Progress::Built { .. }
            | Progress::Skipped(_)
            | Progress::SkippedCell(_)
            | Progress::Proving(_)
            | Progress::Proved(_)
            | Progress::NotProfiled(_)
            | Progress::UpstreamLost(_)
            | Progress::AgentAbsent { .. }
            | Progress::EngineLost(_) => {}
        }
    }

    fn set_doing(&mut self, what: &str, now: Instant) {
        // A warm-up reports every second, with the same text until it changes.
        if self.doing != what {
            (self.doing, self.doing_since) = (what.to_owned(), now);
        }
        self.is_measuring = false;
        self.seconds.clear();
    }

    /// Takes one second of the current measurement.
    pub fn take_second(&mut self, second: Second) {
        self.seconds.push(second);
    }

    /// Takes the judgement of the complete blocks.
    pub fn judged(&mut self, record: &Record, judgement: &Judgement) {
        self.may_end_early = may_end_early(record);
        self.verdicts = Some(Verdicts::from_judgement(judgement, record.complete_blocks()));
    }

    /// Draws the view within a number of columns and rows.
    pub fn lines(&self, now: Instant, columns: usize, rows: usize) -> Vec<Line> {
        let mut lines = vec![self.whole(now)];
        // The short parts come first, and the table takes the remaining rows. A run that ends when
        // it is settled has no fixed number of blocks to draw.
        if self.until_settled.is_none() {
            lines.extend(self.strip.lines(columns, STRIP.min(rows.saturating_sub(5).max(1))));
        }
        lines.push(self.current_trial(now));
        if !self.is_shared {
            lines.push(self.second());
        }
        let against = format!("against {}", self.baseline);
        match &self.verdicts {
            Some(verdicts) => {
                lines.push(Line::default().with(
                    Tone::Strong,
                    format!(
                        "{against}, {}",
                        verdicts.title(self.until_settled.is_none().then_some(self.blocks))
                    ),
                ));
                lines.extend(verdicts.lines(columns, TABLE.min(rows.saturating_sub(lines.len()))));
            }
            None => lines.push(
                Line::default().with(Tone::Dim, format!("{against}: no block is complete yet")),
            ),
        }
        lines.truncate(rows);
        lines.into_iter().map(|line| line.fit(columns)).collect()
    }

    /// `block 3 of 6, trial 14 of 36, at most 4 min 10 s left, 1 failed or left out`
    fn whole(&self, now: Instant) -> Line {
        let total = self.strip.trials();
        let trial = (total - self.strip.open() + 1).min(total);
        let mut parts = Vec::new();
        if let Some(running) = &self.trial {
            let of = if self.until_settled.is_some() {
                String::new()
            } else {
                format!(" of {}", self.strip.blocks())
            };
            parts.push(format!("block {}{of}", running.block));
        }
        if !self.is_shared {
            parts.push(format!("trial {trial} of {total}"));
        }
        if let Some((began, budget)) = self.until_settled {
            let passed = Duration::from_secs((now - began).as_secs());
            parts.push(format!(
                "until it is settled: {} of at most {}",
                show_duration(passed),
                show_duration(budget)
            ));
        }
        let mut line = Line::default().with(Tone::Strong, parts.join(", "));
        if let Some(left) = self.left(now).filter(|_| self.until_settled.is_none()) {
            let about = if self.may_end_early { "at most" } else { "about" };
            // Rounded to a second below a minute, else to ten seconds.
            let step = if left < Duration::from_secs(60) { 1 } else { 10 };
            let left = Duration::from_secs(left.as_secs().div_ceil(step) * step);
            line = line.with(Tone::Plain, format!(", {about} {} left", show_duration(left)));
        }
        let counted = [(Mark::Excluded, "✗ excluded"), (Mark::Faulty, "□ with faults")]
            .map(|(mark, word)| (self.strip.count(mark), word));
        for (count, word) in counted.into_iter().filter(|(count, _)| *count > 0) {
            line = line.with(Tone::Bad, format!(", {count} {word}"));
        }
        line
    }

    /// `proxy-gin · published · 4 of 10 s`
    fn current_trial(&self, now: Instant) -> Line {
        let alone = self.trial.as_ref().filter(|_| !self.is_shared);
        let mut parts: Vec<String> =
            alone.map(|trial| trial.contender.clone()).into_iter().collect();
        parts.extend(Some(self.doing.clone()).filter(|doing| !doing.is_empty()));
        if self.is_measuring && !self.is_shared {
            let passed = (now - self.doing_since).min(self.measure);
            let whole = show_duration(self.measure);
            parts.push(if self.measure < Duration::from_secs(2) {
                whole
            } else {
                format!("{} of {whole}", passed.as_secs())
            });
        }
        Line::default().with(Tone::Plain, parts.join(" · "))
    }

    /// `  300/s ok, 0 failed, p50 1.20ms, p99 3.40ms, max 8.10ms  ▁▂▃▅▇`
    fn second(&self) -> Line {
        let Some(last) = self.seconds.last() else { return Line::default() };
        let show = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| show_short(ns as f64));
        let tone = if last.not_correct > 0 { Tone::Bad } else { Tone::Plain };
        let drawn: Vec<u64> = self.seconds[self.seconds.len().saturating_sub(DRAWN)..]
            .iter()
            .map(|second| second.correct)
            .collect();
        Line::default()
            .with(Tone::Plain, format!("  {}/s ok, ", show_number(last.correct as f64)))
            .with(tone, format!("{} failed", last.not_correct))
            .with(
                Tone::Plain,
                format!(
                    ", p50 {}, p99 {}, max {}  ",
                    show(last.p50_ns),
                    show(last.p99_ns),
                    show(last.max_ns)
                ),
            )
            .with(Tone::Dim, bars(&drawn))
    }

    /// Estimates the time left from past trials or shared blocks; `None` before the first has
    /// ended.
    fn left(&self, now: Instant) -> Option<Duration> {
        let mean = self.took.iter().sum::<Duration>().checked_div(self.took.len() as u32)?;
        let running_for =
            self.trial.as_ref().map_or(Duration::ZERO, |trial| (now - trial.since).min(mean));
        let (open, in_block) = match self.is_shared {
            true => (self.strip.open_blocks(), 1),
            false => (self.strip.open(), self.strip.trials() / self.strip.blocks().max(1)),
        };
        let planned = (mean * open as u32).saturating_sub(running_for);
        // A block that begins within the budget is also completed.
        let block = mean * in_block as u32;
        let budget = self.budget_ends.map_or(Duration::MAX, |ends| {
            ends.saturating_duration_since(now).saturating_add(block)
        });
        Some(planned.min(budget))
    }
}

/// Whether an interim analysis before the last is still to come.
fn may_end_early(record: &Record) -> bool {
    let (design, complete) = (&record.header.experiment.design, record.complete_blocks());
    design.look_always
        || design.looks.iter().any(|look| (complete + 1..design.blocks).contains(look))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::trial_strip::tests::{name, strip};
    use crate::progress::verdict_table;

    /// Returns a run of six blocks after three and a half, four seconds into a measurement.
    fn half_way(began: Instant) -> (TerminalView, Instant) {
        let mut view = TerminalView {
            strip: strip(6, 4, 0),
            baseline: "proxy-spring-mvc".into(),
            blocks: 6,
            is_shared: false,
            until_settled: None,
            may_end_early: true,
            measured: vec!["published".into()],
            measure: Duration::from_secs(10),
            budget_ends: None,
            trial: None,
            doing: String::new(),
            is_measuring: false,
            doing_since: began,
            seconds: Vec::new(),
            took: vec![Duration::from_secs(20); 13],
            verdicts: Some(verdict_table::tests::verdicts()),
        };
        for trial in 0..13 {
            let mark = [Mark::Done, Mark::Excluded, Mark::Faulty]
                [if trial == 2 { 1 } else { 2 * usize::from(trial == 7) }];
            view.strip.mark(1 + trial as u32 / 4, &name(trial % 4), mark);
        }
        view.take(&Progress::Begins { name: &name(1), block: 4, done: 13, total: 24 }, began);
        let warming = Activity::WarmingUp { elapsed: Duration::from_secs(1), last: None };
        view.take(&Progress::Doing(warming), began + Duration::from_secs(2));
        view.take_second(Second {
            correct: 9,
            not_correct: 9,
            p50_ns: None,
            p99_ns: None,
            max_ns: None,
            max_at_ns: None,
        });
        view.take(
            &Progress::Doing(Activity::Measuring { cell: "published" }),
            began + Duration::from_secs(4),
        );
        for correct in [150, 300, 299, 301] {
            view.take_second(Second {
                correct,
                not_correct: 1,
                p50_ns: Some(1_204_000),
                p99_ns: None,
                max_ns: Some(81_000_000),
                max_at_ns: None,
            });
        }
        (view, began + Duration::from_millis(8_300))
    }

    #[test]
    fn half_finished_run_is_drawn_in_several_sizes() {
        let (view, now) = half_way(Instant::now());
        let mut text = String::new();
        for (columns, rows) in [(119, 40), (79, 23), (59, 10), (39, 23), (19, 8)] {
            text += &format!("{columns} x {rows}\n");
            let lines = view.lines(now, columns, rows);
            assert!(
                lines.len() <= rows && lines.iter().all(|line| line.width() <= columns),
                "{lines:?}"
            );
            lines.iter().for_each(|line| text.extend([line.text(false).trim_end(), "\n"]));
            text += "\n";
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn shared_block_is_drawn_as_a_whole() {
        let began = Instant::now();
        let shared = TerminalView {
            is_shared: true,
            strip: strip(6, 2, 0),
            took: Vec::new(),
            ..half_way(began).0
        };
        let mut view =
            TerminalView { may_end_early: false, trial: None, seconds: Vec::new(), ..shared };
        let show = |view: &TerminalView, title: &str, now| {
            let lines: Vec<String> = view
                .lines(now, 79, 23)
                .iter()
                .map(|line| line.text(false).trim_end().to_owned())
                .collect();
            format!("{title}\n{}\n\n", lines.join("\n"))
        };
        view.take(&Progress::Begins { name: &name(0), block: 1, done: 0, total: 12 }, began);
        view.take(&Progress::Doing(Activity::Measuring { cell: "published" }), began);
        let mut text = show(
            &view,
            "fixed number of blocks, in the first block",
            began + Duration::from_secs(1),
        );
        (0..2).for_each(|at| view.strip.mark(1, &name(at), Mark::Done));
        view.took = vec![Duration::from_secs(20)];
        view.take(&Progress::Begins { name: &name(0), block: 2, done: 2, total: 12 }, began);
        // Five blocks of 20 s are left, and 5 s of the first have passed.
        assert_eq!(view.left(began + Duration::from_secs(5)), Some(Duration::from_secs(95)));
        view.until_settled = Some((began, Duration::from_secs(120)));
        text += &show(&view, "until settled", began + Duration::from_secs(14));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn view_fits_terminals_of_any_size() {
        let (view, now) = half_way(Instant::now());
        for (columns, rows) in (0..30).flat_map(|columns| (0..9).map(move |rows| (columns, rows))) {
            let lines = view.lines(now, columns, rows);
            assert!(
                lines.len() <= rows && lines.iter().all(|line| line.width() <= columns),
                "{columns} x {rows}: {lines:?}"
            );
        }
    }

    #[test]
    fn time_left_follows_past_trials_and_budget() {
        let began = Instant::now();
        let (mut view, now) = half_way(began);
        // Eleven trials of 20 s are left, and 8.3 s of the first have passed.
        assert_eq!(view.left(now), Some(Duration::from_millis(220_000 - 8_300)));
        assert_eq!(
            view.left(began + Duration::from_secs(60)),
            Some(Duration::from_secs(200)),
            "trial that takes longer than others"
        );
        view.budget_ends = Some(now + Duration::from_secs(5));
        assert_eq!(
            view.left(now),
            Some(Duration::from_secs(85)),
            "block of four that began within the budget"
        );
        view.took.clear();
        assert_eq!(view.left(now), None);
    }
}
