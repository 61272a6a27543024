//! Draws the verdicts so far as a table that fits the terminal.
//!
//! Narrow terminals lose columns in order of importance; wide ones get a picture of the intervals.
//! Start at [`Verdicts::lines`].

use super::styled_line::{Line, shortened};
use crate::tone::Tone;
use record::judgement::{ClaimOutcome, Judgement, Outcome, Verdict};
use spec::experiment::FEWEST_BLOCKS;
use spec::metric::Metric;
use stats::Interval;
use std::collections::BTreeSet;

/// Metrics that are shown in addition to those of the claims.
const USUAL: [Metric; 6] = [
    Metric::Capacity,
    Metric::CpuPerRequest,
    Metric::LatencyMean,
    Metric::Throughput,
    Metric::Memory,
    Metric::StartUp,
];
/// An interval is not shown if its ends differ by more than this factor.
const WIDE: f64 = 1e4;
/// Minimum and maximum width of the interval picture, in columns.
const PICTURE: (usize, usize) = (15, 41);
/// Maximum width of contender names.
const NAME: usize = 24;
/// Maximum width of metric and cell names.
const WHAT: usize = 28;
/// The gap between two columns.
const GAP: &str = "  ";

/// The verdicts so far.
#[derive(Debug)]
pub struct Verdicts {
    /// Number of complete blocks.
    blocks: u32,
    /// Number of claims that are confirmed, refuted and undecided.
    claims: [usize; 3],
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    contender: String,
    metric: String,
    ratio: String,
    interval: String,
    /// Ratio, interval and margin, if a picture can show them.
    drawn: Option<(f64, Interval, f64)>,
    outcome: String,
    tone: Tone,
}

impl Verdicts {
    /// Selects and orders the verdicts of a judgement.
    ///
    /// Metrics of claims come first, in the order of the claims.
    pub fn from_judgement(judgement: &Judgement, blocks: u32) -> Verdicts {
        let rank = |verdict: &Verdict| {
            let is_of = |claim: &spec::experiment::Claim| {
                claim.contender == verdict.contender && claim.metric == verdict.metric
            };
            let claimed = judgement.claims.iter().position(|c| is_of(&c.claim));
            let usual = USUAL.iter().position(|metric| *metric == verdict.metric);
            let place = claimed.map(|at| (0, at)).or_else(|| usual.map(|at| (1, at)));
            place.filter(|_| !verdict.contender.is_twin())
        };
        let mut found: Vec<(_, &Verdict)> =
            judgement.verdicts.iter().filter_map(|v| Some((rank(v)?, v))).collect();
        found.sort_by_key(|(rank, _)| *rank);
        let cells: BTreeSet<&str> =
            found.iter().filter_map(|(_, verdict)| verdict.cell.as_deref()).collect();
        let count = |outcome| judgement.claims.iter().filter(|c| c.outcome == outcome).count();
        Verdicts {
            blocks,
            claims: [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Undecided]
                .map(count),
            rows: found
                .iter()
                .map(|(_, verdict)| Row::of_verdict(verdict, cells.len() > 1))
                .collect(),
        }
    }

    /// `after 2 of 6 blocks; claims: 2 confirmed, 5 undecided`, if a number of blocks is planned.
    pub fn title(&self, planned: Option<u32>) -> String {
        let words = ["confirmed", "refuted", "undecided"];
        let claims = self
            .claims
            .iter()
            .zip(words)
            .filter(|(count, _)| **count > 0)
            .map(|(count, word)| format!("{count} {word}"));
        let claims: Vec<String> = claims.collect();
        let claims = if claims.is_empty() {
            String::new()
        } else {
            format!("; claims: {}", claims.join(", "))
        };
        let of =
            planned.map_or(String::new(), |planned| format!(" of {}", planned.max(self.blocks)));
        format!("after {}{of} blocks{claims}", self.blocks)
    }

    /// Draws the rows within a number of columns and lines.
    pub fn lines(&self, columns: usize, height: usize) -> Vec<Line> {
        let shown =
            if self.rows.len() > height { height.saturating_sub(1) } else { self.rows.len() };
        let rows = &self.rows[..shown];
        let (widths, reach) = (Widths::fitting(rows, columns), reach(rows));
        let mut lines: Vec<Line> =
            rows.iter().map(|row| row.line(&widths, reach).fit(columns)).collect();
        if shown < self.rows.len() && height > 0 {
            let more = format!("and {} more", self.rows.len() - shown);
            lines.push(Line::default().with(Tone::Dim, more).fit(columns));
        }
        lines
    }
}

/// Widths of the table's columns; a column of width 0 is left out.
struct Widths {
    contender: usize,
    metric: usize,
    ratio: usize,
    interval: usize,
    picture: usize,
}

impl Widths {
    /// Fits the columns into the terminal: shortens and drops the least important ones first.
    fn fitting(rows: &[Row], columns: usize) -> Widths {
        let widest = |of: &dyn Fn(&Row) -> &str| {
            rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0)
        };
        let outcome = widest(&|row| &row.outcome);
        let mut widths = Widths {
            contender: widest(&|row| &row.contender).min(NAME),
            metric: widest(&|row| &row.metric).min(WHAT),
            ratio: widest(&|row| &row.ratio),
            interval: widest(&|row| &row.interval),
            picture: 0,
        };
        let needed = |w: &Widths| {
            let parts = [w.contender, w.metric, w.ratio, w.interval, outcome];
            let whole: usize =
                parts.iter().filter(|part| **part > 0).map(|part| part + GAP.len()).sum();
            whole.saturating_sub(GAP.len())
        };
        let over = |w: &Widths| needed(w).saturating_sub(columns);
        widths.contender -= over(&widths).min(widths.contender.saturating_sub(16));
        widths.metric -= over(&widths).min(widths.metric.saturating_sub(12));
        widths.interval = if over(&widths) > 0 { 0 } else { widths.interval };
        widths.contender -= over(&widths).min(widths.contender.saturating_sub(8));
        widths.metric = if over(&widths) > 0 { 0 } else { widths.metric };
        widths.ratio = if over(&widths) > 0 { 0 } else { widths.ratio };
        let free = columns.saturating_sub(needed(&widths) + GAP.len());
        widths.picture = if free >= PICTURE.0 { free.min(PICTURE.1) } else { 0 };
        widths
    }
}

impl Row {
    /// Creates the row of a verdict. `with_cell` adds the cell's name.
    fn of_verdict(verdict: &Verdict, with_cell: bool) -> Row {
        let label = verdict.metric.describe().label;
        let is_wide =
            |interval: &Interval| interval.low > 0.0 && interval.high / interval.low > WIDE;
        let interval = verdict.interval.filter(|interval| !is_wide(interval));
        let phrase = Verdict { interval, ..verdict.clone() }.short_phrase();
        let (outcome, tone) = match verdict.outcome {
            Outcome::Better => ("better".to_owned(), Tone::Good),
            Outcome::Worse => ("worse".to_owned(), Tone::Bad),
            Outcome::Equivalent => ("equivalent".to_owned(), Tone::Equal),
            Outcome::Undecided if verdict.used < FEWEST_BLOCKS as usize => {
                (format!("{} of {FEWEST_BLOCKS} blocks", verdict.used), Tone::Dim)
            }
            Outcome::Undecided => ("undecided".to_owned(), Tone::Dim),
        };
        Row {
            contender: verdict.contender.to_string(),
            metric: verdict
                .cell
                .as_ref()
                .filter(|_| with_cell)
                .map_or(label.to_owned(), |cell| format!("{label}, {cell}")),
            ratio: phrase.size,
            interval: phrase.interval.unwrap_or_else(|| "-".into()),
            drawn: verdict
                .ratio
                .zip(interval)
                .map(|(ratio, interval)| (ratio, interval, verdict.margin)),
            outcome,
            tone,
        }
    }

    fn line(&self, widths: &Widths, reach: f64) -> Line {
        let Widths { contender, metric, ratio, interval, picture } = *widths;
        let mut cells = vec![format!("{:<contender$}", shortened(&self.contender, contender))];
        if metric > 0 {
            cells.push(format!("{:<metric$}", shortened(&self.metric, metric)));
        }
        if ratio > 0 {
            cells.push(format!("{:>ratio$}", self.ratio));
        }
        if interval > 0 {
            cells.push(format!("{:<interval$}", self.interval));
        }
        if picture > 0 {
            cells.push(self.picture(reach, picture));
        }
        Line::default()
            .with(Tone::Plain, cells.join(GAP) + GAP)
            .with(self.tone, self.outcome.clone())
    }

    /// `  ├──●──┤ ░│░      `: interval, baseline and margin on a logarithmic scale.
    fn picture(&self, reach: f64, columns: usize) -> String {
        let last = columns - 1;
        let place = |ratio: f64| ((ratio.ln() / reach + 1.0) / 2.0 * last as f64).round();
        let column = |ratio: f64| place(ratio).clamp(0.0, last as f64) as usize;
        let mut drawn = vec![' '; columns];
        if let Some((_, _, margin)) = self.drawn {
            drawn[column(1.0 / (1.0 + margin))..=column(1.0 + margin)].fill('░');
        }
        drawn[column(1.0)] = '│';
        if let Some((ratio, Interval { low, high }, _)) = self.drawn {
            drawn[column(low)..=column(high)].fill('─');
            drawn[column(low)] = if place(low) < 0.0 { '<' } else { '├' };
            drawn[column(high)] = if place(high) > last as f64 { '>' } else { '┤' };
            drawn[column(ratio)] = '●';
        }
        drawn.into_iter().collect()
    }
}

/// Returns the distance that the picture shows on each side of the baseline, as a logarithm.
///
/// It reaches as far as the intervals, unless they are still much wider than the differences.
fn reach(rows: &[Row]) -> f64 {
    let all = || rows.iter().filter_map(|row| row.drawn);
    let most = |of: &dyn Fn((f64, Interval, f64)) -> f64| all().map(of).fold(0.0, f64::max);
    let intervals = most(&|(_, interval, _)| interval.low.ln().abs().max(interval.high.ln().abs()));
    let ratios = most(&|(ratio, ..)| ratio.ln().abs());
    let margins = most(&|(.., margin)| (1.0 + margin).ln());
    intervals.min(2.0 * ratios.max(margins)).max(2.0 * margins).max(0.01) * 1.05
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Returns a verdict with a ratio and its interval.
    fn verdict(
        contender: &str,
        metric: Metric,
        (low, ratio, high): (f64, f64, f64),
        outcome: Outcome,
    ) -> Verdict {
        Verdict {
            cell: Some("published".into()),
            outcome,
            ratio: Some(ratio),
            interval: Some(Interval { low, high }),
            confidence: 0.95,
            margin: 0.05,
            used: 6,
            ..Verdict::open(contender.parse().unwrap(), "proxy-spring-mvc".parse().unwrap(), metric)
        }
    }

    /// Returns verdicts after six blocks, one of each kind.
    pub fn verdicts() -> Verdicts {
        let early = Verdict {
            used: 3,
            ..verdict("haproxy", Metric::CpuPerRequest, (1e-4, 0.07, 1e3), Outcome::Undecided)
        };
        let failed = Verdict {
            ratio: None,
            interval: Some(Interval { low: -0.5, high: 1.5 }),
            difference: Some(0.5),
            ..verdict("nginx", Metric::FailedShare, (0.0, 0.0, 0.0), Outcome::Equivalent)
        };
        let all = [
            verdict("proxy-gin", Metric::CpuPerRequest, (0.086, 0.0897, 0.0936), Outcome::Better),
            early,
            verdict(
                "proxy-spring-mvc:virtual-threads",
                Metric::LatencyMean,
                (0.98, 1.01, 1.04),
                Outcome::Equivalent,
            ),
            verdict("proxy-spring-webflux", Metric::Memory, (1.1, 1.4, 1.9), Outcome::Worse),
            failed,
        ];
        Verdicts {
            blocks: 6,
            claims: [2, 0, 1],
            rows: all.iter().map(|verdict| Row::of_verdict(verdict, true)).collect(),
        }
    }

    #[test]
    fn table_adapts_to_terminal_width() {
        let mut text = verdicts().title(Some(12)) + "\n";
        for (columns, height) in [(159, 9), (119, 9), (79, 9), (59, 4), (39, 9), (19, 9), (3, 2)] {
            text += &format!("\n{columns}\n");
            for line in verdicts().lines(columns, height) {
                assert!(line.width() <= columns, "{line:?}");
                text += line.text(false).trim_end();
                text += "\n";
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn table_fits_available_lines() {
        let counts = [0, 1, 2, 5, 9].map(|height| verdicts().lines(80, height).len());
        assert_eq!(counts, [0, 1, 2, 5, 5]);
        assert!(Verdicts { blocks: 0, claims: [0; 3], rows: vec![] }.lines(80, 9).is_empty());
    }

    #[test]
    fn claimed_metrics_come_first_and_twins_are_left_out() {
        let twin =
            verdict("proxy-gin:aa", Metric::CpuPerRequest, (0.9, 1.0, 1.1), Outcome::Equivalent);
        let rows = [
            twin,
            verdict("a", Metric::Memory, (0.5, 0.6, 0.7), Outcome::Better),
            verdict("a", Metric::Threads, (0.5, 0.6, 0.7), Outcome::Better),
        ];
        let judgement: Judgement = serde_json::from_value(serde_json::json!({
            "schema": "s", "record": "r", "experiment": "x", "baseline": "b", "verdicts": rows, "excluded": [], "faults": [], "rows": [],
            "curves": [], "starts": [], "warmups": [], "looks": [], "noise": [], "symptoms": [], "unsound": false, "incomplete": false,
            "claims": [{ "claim": { "text": "t", "contender": "a", "metric": "threads", "expects": "lower", "cells": [] },
                "outcome": "confirmed", "reason": "", "p": null, "p_adjusted": null, "cells": [] }],
        }))
        .unwrap();
        let found = Verdicts::from_judgement(&judgement, 6);
        let what: Vec<&str> = found.rows.iter().map(|row| row.metric.as_str()).collect();
        assert_eq!(what, ["OS threads", "memory"], "one cell, so it is not named");
        assert_eq!(found.title(Some(12)), "after 6 of 12 blocks; claims: 1 confirmed");
    }
}
