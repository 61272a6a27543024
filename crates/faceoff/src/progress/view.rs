//! What the live view shows: the plan as a strip of trials, what is under way with its rate and latency, the verdicts so far, the time
//! left.

use super::line::{Line, Tone};
use super::strip::{Mark, Strip};
use super::table::Verdicts;
use crate::output::bars;
use lab::Progress;
use model::judgement::Judgement;
use model::record::{Record, Second};
use model::units::{show_duration, show_number, show_short};
use std::time::{Duration, Instant};

/// Lines of the strip at most, and of the table.
const STRIP: usize = 4;
const TABLE: usize = 12;
/// Seconds of the measurement under way that are drawn.
const DRAWN: usize = 40;

/// A run, as far as it has come.
#[derive(Debug)]
pub struct View {
    strip: Strip,
    baseline: String,
    /// Blocks of the plan.
    blocks: u32,
    /// Whether a planned look may end the run before.
    may_end_early: bool,
    /// Cells whose seconds are told, and how long each is measured.
    measured: Vec<String>,
    measure: Duration,
    /// When no further block begins.
    budget_ends: Option<Instant>,
    trial: Option<UnderWay>,
    doing: String,
    doing_since: Instant,
    seconds: Vec<Second>,
    took: Vec<Duration>,
    verdicts: Option<Verdicts>,
}

#[derive(Debug)]
struct UnderWay {
    contender: String,
    block: u32,
    since: Instant,
}

impl View {
    /// Of a run that begins or goes on.
    pub fn new(record: &Record, now: Instant) -> View {
        let experiment = &record.header.experiment;
        let is_told = |cell: &&model::experiment::Cell| cell.driver.is_none() && cell.load.capacity().is_none();
        View {
            strip: Strip::new(record),
            baseline: experiment.baseline.to_string(),
            blocks: experiment.design.blocks,
            may_end_early: may_end_early(record),
            measured: experiment.cells.iter().filter(is_told).map(|cell| cell.name.clone()).collect(),
            measure: experiment.design.measure,
            budget_ends: now.checked_add(experiment.design.budget),
            trial: None,
            doing: String::new(),
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
                self.strip.mark(*block, name, Mark::UnderWay);
                self.trial = Some(UnderWay { contender: name.to_string(), block: *block, since: now });
                self.does("", now);
            }
            Progress::Doing(what) => self.does(what, now),
            Progress::Ended(trial) => {
                self.strip.mark(trial.block, &trial.contender, Mark::of(trial));
                self.took.extend(self.trial.take().map(|under_way| now - under_way.since));
                self.does("", now);
            }
            Progress::Warming(name) => self.does(&format!("starting and warming the upstream {name}"), now),
            // What comes before the first trial, and what is said in a line of its own.
            Progress::Building(_)
            | Progress::Built { .. }
            | Progress::Skipped(_)
            | Progress::SkippedCell(_)
            | Progress::Proving(_)
            | Progress::Proved(_)
            | Progress::UpstreamLost(_)
            | Progress::AgentAbsent { .. }
            | Progress::EngineLost(_) => {}
        }
    }

    fn does(&mut self, what: &str, now: Instant) {
        // A warm-up tells every second that it goes on.
        if self.doing != what {
            (self.doing, self.doing_since) = (what.to_owned(), now);
        }
        self.seconds.clear();
    }

    /// Takes a second of the measurement under way.
    pub fn hear(&mut self, second: Second) {
        self.seconds.push(second);
    }

    /// Takes what the whole blocks come to.
    pub fn judged(&mut self, record: &Record, judgement: &Judgement) {
        self.may_end_early = may_end_early(record);
        self.verdicts = Some(Verdicts::of(judgement, record.complete_blocks()));
    }

    /// As lines of at most so many columns, and at most so many of them.
    pub fn lines(&self, now: Instant, columns: usize, rows: usize) -> Vec<Line> {
        let mut lines = vec![self.whole(now)];
        // What is narrow goes first: the table has what is left.
        lines.extend(self.strip.lines(columns, STRIP.min(rows.saturating_sub(5).max(1))));
        lines.push(self.under_way(now));
        lines.push(self.second());
        let against = format!("against {}", self.baseline);
        match &self.verdicts {
            Some(verdicts) => {
                lines.push(Line::default().with(Tone::Strong, format!("{against}, {}", verdicts.title(self.blocks))));
                lines.extend(verdicts.lines(columns, TABLE.min(rows.saturating_sub(lines.len()))));
            }
            None => lines.push(Line::default().with(Tone::Dim, format!("{against}: no block is whole yet"))),
        }
        lines.truncate(rows);
        lines.into_iter().map(|line| line.fit(columns)).collect()
    }

    /// `block 3 of 6, trial 14 of 36, at most 4 min 10 s left, 1 failed or left out`
    fn whole(&self, now: Instant) -> Line {
        let total = self.strip.trials();
        let open = self.strip.count(Mark::Planned) + self.strip.count(Mark::UnderWay);
        let trial = (total - open + 1).min(total);
        let mut line = Line::default();
        if let Some(under_way) = &self.trial {
            line = line.with(Tone::Strong, format!("block {} of {}, ", under_way.block, self.strip.blocks()));
        }
        line = line.with(Tone::Strong, format!("trial {trial} of {total}"));
        if let Some(left) = self.left(now) {
            let about = if self.may_end_early { "at most" } else { "about" };
            // To the second below a minute, else to ten.
            let step = if left < Duration::from_secs(60) { 1 } else { 10 };
            let left = Duration::from_secs(left.as_secs().div_ceil(step) * step);
            line = line.with(Tone::Plain, format!(", {about} {} left", show_duration(left)));
        }
        let counted = [(Mark::Excluded, "✗ excluded"), (Mark::Faulty, "□ with faults")].map(|(mark, word)| (self.strip.count(mark), word));
        for (count, word) in counted.into_iter().filter(|(count, _)| *count > 0) {
            line = line.with(Tone::Bad, format!(", {count} {word}"));
        }
        line
    }

    /// `proxy-gin · published · 4 of 10 s`
    fn under_way(&self, now: Instant) -> Line {
        let mut parts: Vec<String> = self.trial.iter().map(|under_way| under_way.contender.clone()).collect();
        parts.extend(Some(self.doing.clone()).filter(|doing| !doing.is_empty()));
        if self.measured.contains(&self.doing) {
            let passed = (now - self.doing_since).min(self.measure);
            let whole = show_duration(self.measure);
            parts.push(if self.measure < Duration::from_secs(2) { whole } else { format!("{} of {whole}", passed.as_secs()) });
        }
        Line::default().with(Tone::Plain, parts.join(" · "))
    }

    /// `  300/s right, 0 not, p50 1.20ms, p99 3.40ms, max 8.10ms  ▁▂▃▅▇`
    fn second(&self) -> Line {
        let Some(last) = self.seconds.last() else { return Line::default() };
        let show = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| show_short(ns as f64));
        let tone = if last.not_correct > 0 { Tone::Bad } else { Tone::Plain };
        let drawn: Vec<u64> = self.seconds[self.seconds.len().saturating_sub(DRAWN)..].iter().map(|second| second.correct).collect();
        Line::default()
            .with(Tone::Plain, format!("  {}/s right, ", show_number(last.correct as f64)))
            .with(tone, format!("{} not", last.not_correct))
            .with(Tone::Plain, format!(", p50 {}, p99 {}, max {}  ", show(last.p50_ns), show(last.p99_ns), show(last.max_ns)))
            .with(Tone::Dim, bars(&drawn))
    }

    /// By what trials took so far; `None` before the first has ended.
    fn left(&self, now: Instant) -> Option<Duration> {
        let mean = self.took.iter().sum::<Duration>().checked_div(self.took.len() as u32)?;
        let under_way = self.trial.as_ref().map_or(Duration::ZERO, |trial| (now - trial.since).min(mean));
        let open = self.strip.count(Mark::Planned) + self.strip.count(Mark::UnderWay);
        let planned = (mean * open as u32).saturating_sub(under_way);
        // The last block that may begin is ended.
        let block = mean * (self.strip.trials() / self.strip.blocks().max(1)) as u32;
        let budget = self.budget_ends.map_or(Duration::MAX, |ends| ends.saturating_duration_since(now).saturating_add(block));
        Some(planned.min(budget))
    }
}

/// Whether a look before the last is still to come.
fn may_end_early(record: &Record) -> bool {
    let (design, complete) = (&record.header.experiment.design, record.complete_blocks());
    design.looks.iter().any(|look| (complete + 1..design.blocks).contains(look))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::strip::tests::{name, strip};
    use crate::progress::table;

    /// Three blocks and a half of a run of six, four seconds into a measurement.
    fn half_way(began: Instant) -> (View, Instant) {
        let mut view = View {
            strip: strip(6, 4, 0),
            baseline: "proxy-spring-mvc".into(),
            blocks: 6,
            may_end_early: true,
            measured: vec!["published".into()],
            measure: Duration::from_secs(10),
            budget_ends: None,
            trial: None,
            doing: String::new(),
            doing_since: began,
            seconds: Vec::new(),
            took: vec![Duration::from_secs(20); 13],
            verdicts: Some(table::tests::verdicts()),
        };
        for trial in 0..13 {
            let mark = [Mark::Done, Mark::Excluded, Mark::Faulty][if trial == 2 { 1 } else { 2 * usize::from(trial == 7) }];
            view.strip.mark(1 + trial as u32 / 4, &name(trial % 4), mark);
        }
        view.take(&Progress::Begins { name: &name(1), block: 4, done: 13, total: 24 }, began);
        view.take(&Progress::Doing("warms up, 1 s"), began + Duration::from_secs(2));
        view.hear(Second { correct: 9, not_correct: 9, p50_ns: None, p99_ns: None, max_ns: None, max_at_ns: None });
        view.take(&Progress::Doing("published"), began + Duration::from_secs(4));
        for correct in [150, 300, 299, 301] {
            view.hear(Second { correct, not_correct: 1, p50_ns: Some(1_204_000), p99_ns: None, max_ns: Some(81_000_000), max_at_ns: None });
        }
        (view, began + Duration::from_millis(8_300))
    }

    #[test]
    fn a_run_half_way_as_terminals_of_several_sizes_show_it() {
        let (view, now) = half_way(Instant::now());
        let mut text = String::new();
        for (columns, rows) in [(119, 40), (79, 23), (59, 10), (39, 23), (19, 8)] {
            text += &format!("{columns} x {rows}\n");
            let lines = view.lines(now, columns, rows);
            assert!(lines.len() <= rows && lines.iter().all(|line| line.width() <= columns), "{lines:?}");
            lines.iter().for_each(|line| text.extend([line.text(false).trim_end(), "\n"]));
            text += "\n";
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn no_terminal_is_too_small() {
        let (view, now) = half_way(Instant::now());
        for (columns, rows) in (0..30).flat_map(|columns| (0..9).map(move |rows| (columns, rows))) {
            let lines = view.lines(now, columns, rows);
            assert!(lines.len() <= rows && lines.iter().all(|line| line.width() <= columns), "{columns} x {rows}: {lines:?}");
        }
    }

    #[test]
    fn the_time_left_follows_the_trials_so_far_and_the_budget() {
        let began = Instant::now();
        let (mut view, now) = half_way(began);
        // Eleven trials of 20 s, of which 8.3 s have passed.
        assert_eq!(view.left(now), Some(Duration::from_millis(220_000 - 8_300)));
        assert_eq!(view.left(began + Duration::from_secs(60)), Some(Duration::from_secs(200)), "a trial that takes longer than others");
        view.budget_ends = Some(now + Duration::from_secs(5));
        assert_eq!(view.left(now), Some(Duration::from_secs(85)), "and a block of four that began within it");
        view.took.clear();
        assert_eq!(view.left(now), None);
    }
}
