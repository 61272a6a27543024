//! The plan as a strip of trials, block by block.

use super::line::{Line, Tone};
use model::name::ContenderName;
use model::record::{Record, Trial};

/// What became of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It has not begun.
    Planned,
    /// It is under way.
    UnderWay,
    /// It was measured.
    Done,
    /// A fault spoilt it, or the contender failed: no verdict uses it.
    Excluded,
    /// A fault spoilt some of it.
    Faulty,
}

impl Mark {
    /// Of a trial that has ended.
    pub fn of(trial: &Trial) -> Mark {
        match () {
            () if judge::exclusion(trial).is_some() => Mark::Excluded,
            () if !judge::soundness::of_trial(trial).is_empty() => Mark::Faulty,
            () => Mark::Done,
        }
    }

    fn drawn(self) -> (Tone, char) {
        match self {
            Mark::Planned => (Tone::Dim, '·'),
            Mark::UnderWay => (Tone::Strong, '▣'),
            Mark::Done => (Tone::Good, '■'),
            Mark::Excluded => (Tone::Bad, '✗'),
            Mark::Faulty => (Tone::Bad, '□'),
        }
    }
}

/// The trials of the run, in the order of the plan.
#[derive(Debug)]
pub struct Strip {
    blocks: Vec<Vec<(ContenderName, Mark)>>,
    /// Spare blocks that have not begun.
    spare: Vec<Vec<ContenderName>>,
}

impl Strip {
    /// Of a record so far.
    pub fn new(record: &Record) -> Strip {
        let out: Vec<&ContenderName> = record.dropped().map(|(name, _)| name).collect();
        let due = |order: &Vec<ContenderName>| order.iter().filter(|name| !out.contains(name)).cloned().collect();
        let mut spare: Vec<Vec<ContenderName>> = record.header.plan.iter().map(due).collect();
        let planned = record.header.experiment.design.blocks as usize;
        let mut strip = Strip { blocks: Vec::new(), spare: spare.split_off(planned.min(spare.len())) };
        spare.into_iter().for_each(|block| strip.plan(block));
        record.trials.iter().for_each(|trial| strip.mark(trial.block, &trial.contender, Mark::of(trial)));
        strip
    }

    fn plan(&mut self, block: Vec<ContenderName>) {
        self.blocks.push(block.into_iter().map(|name| (name, Mark::Planned)).collect());
    }

    /// Marks a trial; a spare block is there from its first one on.
    pub fn mark(&mut self, block: u32, name: &ContenderName, mark: Mark) {
        while self.blocks.len() < block as usize && !self.spare.is_empty() {
            let next = self.spare.remove(0);
            self.plan(next);
        }
        let trials = (block as usize).checked_sub(1).and_then(|at| self.blocks.get_mut(at));
        if let Some((_, marked)) = trials.into_iter().flatten().find(|(of, _)| of == name) {
            *marked = mark;
        }
    }

    /// How many trials are marked so.
    pub fn count(&self, mark: Mark) -> usize {
        self.blocks.iter().flatten().filter(|(_, marked)| *marked == mark).count()
    }

    /// How many trials there are.
    pub fn trials(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// How many blocks there are, with the spare ones that began.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// In at most so many columns and lines, each beginning with the number of its first block; those around what is under way.
    pub fn lines(&self, columns: usize, height: usize) -> Vec<Line> {
        let numbers = self.blocks.len().to_string().len();
        let room = columns.saturating_sub(numbers + 1).max(1);
        let (mut rows, mut free) = (Vec::<Row<'_>>::new(), 0);
        for (number, block) in (1..).zip(&self.blocks) {
            // A block that is wider than the terminal goes on in the next line.
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
        let first = (current + 1).saturating_sub(height.div_ceil(2)).min(rows.len().saturating_sub(height));
        rows.iter().skip(first).take(height).map(|row| row.line(numbers).fit(columns)).collect()
    }
}

/// A line of the strip.
struct Row<'s> {
    /// Of its first block; `None` where that began in the line before.
    number: Option<usize>,
    parts: Vec<&'s [(ContenderName, Mark)]>,
}

impl Row<'_> {
    fn is_open(&self) -> bool {
        self.parts.iter().copied().flatten().any(|(_, mark)| matches!(mark, Mark::UnderWay | Mark::Planned))
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

    /// The plan of a run that has not begun: contenders `c0`, `c1` and so on in each block.
    pub fn strip(blocks: usize, contenders: usize, spare: usize) -> Strip {
        let block = || (0..contenders).map(name).collect::<Vec<_>>();
        let mut strip = Strip { blocks: Vec::new(), spare: (0..spare).map(|_| block()).collect() };
        (0..blocks).for_each(|_| strip.plan(block()));
        strip
    }

    fn text(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.text(false)).collect()
    }

    #[test]
    fn each_trial_has_its_mark() {
        let mut strip = strip(3, 4, 1);
        for (block, contender, mark) in
            [(1, 0, Mark::Done), (1, 1, Mark::Excluded), (1, 2, Mark::Faulty), (1, 3, Mark::Done), (2, 0, Mark::UnderWay)]
        {
            strip.mark(block, &name(contender), mark);
        }
        assert_eq!(text(&strip.lines(40, 3)), ["1 ■✗□■ ▣··· ····"]);
        assert_eq!(text(&strip.lines(12, 3)), ["1 ■✗□■ ▣···", "3 ····"]);
        assert_eq!((strip.trials(), strip.count(Mark::Planned), strip.count(Mark::Done)), (12, 7, 2));
        strip.mark(4, &name(3), Mark::UnderWay);
        assert_eq!(text(&strip.lines(40, 3)), ["1 ■✗□■ ▣··· ···· ···▣"], "a spare block that began");
        strip.mark(9, &name(0), Mark::Done);
        strip.mark(0, &name(0), Mark::Done);
        strip.mark(1, &name(9), Mark::Done);
        assert_eq!((strip.blocks(), strip.count(Mark::Done)), (4, 2), "what no plan has");
    }

    #[test]
    fn of_many_lines_those_around_the_trial_under_way() {
        let mut strip = strip(100, 3, 0);
        for block in 1..=50 {
            (0..3).for_each(|contender| strip.mark(block, &name(contender), Mark::Done));
        }
        strip.mark(51, &name(0), Mark::UnderWay);
        let shown = text(&strip.lines(15, 3));
        assert_eq!(shown, [" 46 ■■■ ■■■ ■■■", " 49 ■■■ ■■■ ▣··", " 52 ··· ··· ···"]);
        assert_eq!(text(&strip.lines(15, 1)), [" 49 ■■■ ■■■ ▣··"]);
    }

    #[test]
    fn a_block_wider_than_the_terminal_goes_on_below() {
        let strip = strip(2, 12, 0);
        assert_eq!(text(&strip.lines(9, 9)), ["1 ·······", "  ·····", "2 ·······", "  ·····"]);
        for (columns, height) in [(0, 0), (1, 1), (2, 3), (3, 9)] {
            let lines = strip.lines(columns, height);
            assert!(lines.len() <= height && lines.iter().all(|line| line.width() <= columns), "{lines:?}");
        }
    }
}
