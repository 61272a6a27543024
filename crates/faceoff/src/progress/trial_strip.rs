//! Draws the trials of a run as a strip of marks, block by block: `1 ■✗□■ ▣···`.
//!
//! If the strip is longer than its place, it shows the lines around the running trial. The view
//! marks a trial when it begins and ends. Start with `TrialStrip::lines`.

use super::styled_line::Line;
use crate::tone::Tone;
use record::{Record, Trial};
use spec::name::ContenderName;

/// The state of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It has not begun.
    Planned,
    /// It is running.
    Running,
    /// It was measured.
    Done,
    /// A fault invalidated it, or the contender failed: no verdict uses it.
    Excluded,
    /// A fault invalidated some of its metrics.
    Faulty,
}

impl Mark {
    /// Returns the mark of a trial that has ended.
    pub fn of_trial(trial: &Trial) -> Mark {
        match () {
            () if judge::exclusion(trial).is_some() => Mark::Excluded,
            () if !trial.cell_faults.is_empty()
                || !judge::soundness::faults_of_trial(trial).is_empty() =>
            {
                Mark::Faulty
            }
            () => Mark::Done,
        }
    }

    fn is_open(self) -> bool {
        matches!(self, Mark::Running | Mark::Planned)
    }

    fn drawn(self) -> (Tone, char) {
        match self {
            Mark::Planned => (Tone::Dim, '·'),
            Mark::Running => (Tone::Strong, '▣'),
            Mark::Done => (Tone::Good, '■'),
            Mark::Excluded => (Tone::Bad, '✗'),
            Mark::Faulty => (Tone::Bad, '□'),
        }
    }
}

/// The trials of the run, in the order of the plan.
#[derive(Debug)]
pub struct TrialStrip {
    blocks: Vec<Vec<(ContenderName, Mark)>>,
    /// Spare blocks that have not begun.
    spare: Vec<Vec<ContenderName>>,
}

impl TrialStrip {
    /// Creates the strip of a record so far.
    pub fn new(record: &Record) -> TrialStrip {
        let out: Vec<&ContenderName> = record.dropped().map(|(name, _)| name).collect();
        let due = |order: &Vec<ContenderName>| {
            order.iter().filter(|name| !out.contains(name)).cloned().collect()
        };
        let mut spare: Vec<Vec<ContenderName>> = record.header.plan.iter().map(due).collect();
        let planned = record.header.experiment.design.blocks as usize;
        let mut strip =
            TrialStrip { blocks: Vec::new(), spare: spare.split_off(planned.min(spare.len())) };
        spare.into_iter().for_each(|block| strip.plan(block));
        record
            .trials
            .iter()
            .for_each(|trial| strip.mark(trial.block, &trial.contender, Mark::of_trial(trial)));
        strip
    }

    fn plan(&mut self, block: Vec<ContenderName>) {
        self.blocks.push(block.into_iter().map(|name| (name, Mark::Planned)).collect());
    }

    /// Returns the trials of a block. A spare block joins the strip with its first trial.
    fn trials_of_block(&mut self, block: u32) -> impl Iterator<Item = &mut (ContenderName, Mark)> {
        while self.blocks.len() < block as usize && !self.spare.is_empty() {
            let next = self.spare.remove(0);
            self.plan(next);
        }
        (block as usize).checked_sub(1).and_then(|at| self.blocks.get_mut(at)).into_iter().flatten()
    }

    /// Sets the mark of a trial.
    pub fn mark(&mut self, block: u32, name: &ContenderName, mark: Mark) {
        if let Some((_, marked)) = self.trials_of_block(block).find(|(of, _)| of == name) {
            *marked = mark;
        }
    }

    /// Marks all planned trials of a block as running: its contenders share the block in slices.
    pub fn begin(&mut self, block: u32) {
        self.trials_of_block(block)
            .filter(|(_, mark)| *mark == Mark::Planned)
            .for_each(|(_, mark)| *mark = Mark::Running);
    }

    /// Number of trials that have not ended.
    pub fn open(&self) -> usize {
        self.count(Mark::Planned) + self.count(Mark::Running)
    }

    /// Number of blocks with trials that have not ended.
    pub fn open_blocks(&self) -> usize {
        self.blocks.iter().filter(|block| block.iter().any(|(_, mark)| mark.is_open())).count()
    }

    /// Number of trials with a mark.
    pub fn count(&self, mark: Mark) -> usize {
        self.blocks.iter().flatten().filter(|(_, marked)| *marked == mark).count()
    }

    /// Number of trials.
    pub fn trials(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Number of blocks, including the spare ones that have begun.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Draws the strip within a number of columns and lines, around the running trial.
    ///
    /// Each line begins with the number of its first block.
    pub fn lines(&self, columns: usize, height: usize) -> Vec<Line> {
        let numbers = self.blocks.len().to_string().len();
        let room = columns.saturating_sub(numbers + 1).max(1);
        let (mut rows, mut free) = (Vec::<Row<'_>>::new(), 0);
        for (number, block) in (1..).zip(&self.blocks) {
            // A block that is wider than the terminal continues on the next line.
            for (at, part) in block.chunks(room).enumerate() {
                match rows.last_mut().filter(|_| part.len() < free) {
                    Some(row) => {
                        row.parts.push(part);
                        free -= part.len() + 1;
                    }
                    None => {
                        rows.push(Row { number: (at == 0).then_some(number), parts: vec![part] });
                        free = room - part.len();
                    }
                }
            }
        }
        let current = rows.iter().position(Row::is_open).unwrap_or(rows.len().saturating_sub(1));
        let first =
            (current + 1).saturating_sub(height.div_ceil(2)).min(rows.len().saturating_sub(height));
        rows.iter().skip(first).take(height).map(|row| row.line(numbers).fit(columns)).collect()
    }
}

/// A line of the strip.
struct Row<'s> {
    /// The number of its first block; `None` if that block began on the line before.
    number: Option<usize>,
    parts: Vec<&'s [(ContenderName, Mark)]>,
}

impl Row<'_> {
    fn is_open(&self) -> bool {
        self.parts.iter().copied().flatten().any(|(_, mark)| mark.is_open())
    }

    fn line(&self, numbers: usize) -> Line {
        let number = self.number.map_or(String::new(), |number| number.to_string());
        let mut line = Line::default().with(Tone::Dim, format!("{number:>numbers$}"));
        for part in &self.parts {
            line = line.with(Tone::Plain, " ");
            for alike in part.chunk_by(|(_, a), (_, b)| a == b) {
                let (tone, drawn) = alike[0].1.drawn();
                line = line.with(tone, drawn.to_string().repeat(alike.len()));
            }
        }
        line
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn name(number: usize) -> ContenderName {
        format!("c{number}").parse().unwrap()
    }

    /// Returns the strip of a run that has not begun, with contenders `c0`, `c1` and so on.
    pub fn strip(blocks: usize, contenders: usize, spare: usize) -> TrialStrip {
        let block = || (0..contenders).map(name).collect::<Vec<_>>();
        let mut strip =
            TrialStrip { blocks: Vec::new(), spare: (0..spare).map(|_| block()).collect() };
        (0..blocks).for_each(|_| strip.plan(block()));
        strip
    }

    fn text(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.text(false)).collect()
    }

    #[test]
    fn strip_shows_mark_of_each_trial() {
        let mut strip = strip(3, 4, 1);
        for (block, contender, mark) in [
            (1, 0, Mark::Done),
            (1, 1, Mark::Excluded),
            (1, 2, Mark::Faulty),
            (1, 3, Mark::Done),
            (2, 0, Mark::Running),
        ] {
            strip.mark(block, &name(contender), mark);
        }
        assert_eq!(text(&strip.lines(40, 3)), ["1 ■✗□■ ▣··· ····"]);
        assert_eq!(text(&strip.lines(12, 3)), ["1 ■✗□■ ▣···", "3 ····"]);
        assert_eq!(
            (strip.trials(), strip.count(Mark::Planned), strip.count(Mark::Done)),
            (12, 7, 2)
        );
        strip.mark(4, &name(3), Mark::Running);
        assert_eq!(
            text(&strip.lines(40, 3)),
            ["1 ■✗□■ ▣··· ···· ···▣"],
            "spare block that has begun"
        );
        strip.mark(9, &name(0), Mark::Done);
        strip.mark(0, &name(0), Mark::Done);
        strip.mark(1, &name(9), Mark::Done);
        assert_eq!(
            (strip.blocks(), strip.count(Mark::Done)),
            (4, 2),
            "marks outside the plan are ignored"
        );
    }

    #[test]
    fn long_strip_shows_lines_around_running_trial() {
        let mut strip = strip(100, 3, 0);
        for block in 1..=50 {
            (0..3).for_each(|contender| strip.mark(block, &name(contender), Mark::Done));
        }
        strip.mark(51, &name(0), Mark::Running);
        let shown = text(&strip.lines(15, 3));
        assert_eq!(shown, [" 46 ■■■ ■■■ ■■■", " 49 ■■■ ■■■ ▣··", " 52 ··· ··· ···"]);
        assert_eq!(text(&strip.lines(15, 1)), [" 49 ■■■ ■■■ ▣··"]);
    }

    #[test]
    fn block_wider_than_terminal_continues_on_next_line() {
        let strip = strip(2, 12, 0);
        assert_eq!(text(&strip.lines(9, 9)), ["1 ·······", "  ·····", "2 ·······", "  ·····"]);
        for (columns, height) in [(0, 0), (1, 1), (2, 3), (3, 9)] {
            let lines = strip.lines(columns, height);
            assert!(
                lines.len() <= height && lines.iter().all(|line| line.width() <= columns),
                "{lines:?}"
            );
        }
    }
}
