//! What the server does, as values: which answer goes wrong and how, and when everything stands still.

use std::num::{NonZeroU64, NonZeroUsize};

use crate::answer::{Body, Framing};

/// Everything that is known about the server beforehand.
#[derive(Debug)]
pub struct Truth {
    /// The body of an ordinary answer.
    pub body: Body,
    /// Its `content-type`.
    pub content_type: String,
    /// Its status.
    pub status: u16,
    /// Header lines more.
    pub padding: Vec<u8>,
    /// How its end is told.
    pub framing: Framing,
    /// From a request read whole to its answer, in nanoseconds.
    pub delay: u64,
    /// A path that is a number is the delay instead, in milliseconds.
    pub delay_from_path: bool,
    /// Most delays that run at once.
    pub pool: Option<NonZeroUsize>,
    /// CPU time burnt for a request, in nanoseconds, before `cpu_factor`.
    pub cpu: u64,
    /// What all CPU times are multiplied by.
    pub cpu_factor: f64,
    /// How CPU times come to their truth.
    pub warming: Option<Warming>,
    /// From one byte of the body to the next, in nanoseconds.
    pub drip: Option<u64>,
    /// When everything stands still.
    pub stall: Option<Stall>,
    /// Which answers go wrong.
    pub faults: Faults,
    /// Connections are refused after so many requests.
    pub refuse_after: Option<NonZeroU64>,
    /// The process ends once a thread has more connections.
    pub exit_above: Option<NonZeroUsize>,
    /// Connections are never accepted.
    pub never_accept: bool,
    /// From one connection that a thread accepts to its next, in nanoseconds.
    pub accept_every: Option<u64>,
    /// Head and body are sent apart, the body when the kernel lets it go.
    pub split_writes: bool,
    /// A line is written for each answer.
    pub log: bool,
    /// Requests are read, not answered.
    pub never_answer: bool,
    /// Deadlines are spun for, at the cost of a core.
    pub exact: bool,
}

/// CPU times that begin at a multiple of their truth and come to it, evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warming {
    /// From the first request until the truth is reached, in nanoseconds.
    pub over: u64,
    /// The multiple at the first request.
    pub factor: f64,
}

impl Warming {
    /// What CPU times are multiplied by, `elapsed` nanoseconds after the first request.
    pub fn at(&self, elapsed: u64) -> f64 {
        let left = self.over.saturating_sub(elapsed) as f64 / self.over as f64;
        1.0 + (self.factor - 1.0) * left
    }
}

/// A schedule on which the whole server stands still: one `every` after the first request for the first time, then each `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// From the start of a stall to the start of the next, in nanoseconds.
    pub every: u64,
    /// How long it lasts, in nanoseconds; less than `every`.
    pub lasts: u64,
}

impl Stall {
    /// If the server stands still `elapsed` after the first request: when that ends, counted likewise.
    pub fn ends(&self, elapsed: u64) -> Option<u64> {
        let begun = self.begun(elapsed) * self.every;
        (begun > 0 && elapsed < begun + self.lasts).then(|| begun + self.lasts)
    }

    /// How many stalls have begun `elapsed` after the first request.
    pub fn begun(&self, elapsed: u64) -> u64 {
        elapsed / self.every
    }
}

/// Which answers of the process go wrong, by their number.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// One byte of the body of each Nth is wrong.
    pub wrong: Option<NonZeroU64>,
    /// Each Nth has this status.
    pub status: Option<(NonZeroU64, u16)>,
    /// Instead of each Nth, the connection is reset.
    pub reset: Option<NonZeroU64>,
    /// After each Nth the connection is closed, unannounced.
    pub close: Option<NonZeroU64>,
    /// Each Nth breaks off in the middle of its body.
    pub cut: Option<NonZeroU64>,
    /// Instead of each Nth come bytes that are not HTTP.
    pub garbage: Option<NonZeroU64>,
    /// So many at the start have status 503.
    pub warm_after: u64,
    /// The process ends after so many.
    pub exit_after: Option<NonZeroU64>,
}

/// What happens in place of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The main thing.
    pub kind: Kind,
    /// The how manyth wrong answer this is, from 1.
    pub wrong: Option<u64>,
    /// The status, in place of any other.
    pub status: Option<u16>,
    /// The server is still warming up: the status says so.
    pub warming: bool,
    /// The connection is closed afterwards, unannounced.
    pub close: bool,
    /// The process ends afterwards.
    pub last: bool,
}

/// The main thing that happens at a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A whole answer.
    #[default]
    Answer,
    /// Half an answer.
    Cut,
    /// Bytes that are not HTTP.
    Garbage,
    /// A reset connection.
    Reset,
}

impl Faults {
    /// Whether anything depends on the number of an answer; if not, none need be numbered.
    pub fn are_possible(&self) -> bool {
        let every = [self.wrong, self.status.map(|(every, _)| every), self.reset, self.close, self.cut, self.garbage, self.exit_after];
        self.warm_after > 0 || every.iter().any(Option::is_some)
    }

    /// What happens at turn `number`, counted from 1 over the whole process; `None` after the last. Of several faults that fall
    /// on one turn, reset goes before garbage before cut; wrong, status and close go together, and with none of those three.
    pub fn turn(&self, number: u64) -> Option<Turn> {
        let falls = |every: Option<NonZeroU64>| every.is_some_and(|every| number.is_multiple_of(every.get()));
        let last = self.exit_after.map(NonZeroU64::get);
        if last.is_some_and(|last| number > last) {
            return None;
        }
        let kind = if falls(self.reset) {
            Kind::Reset
        } else if falls(self.garbage) {
            Kind::Garbage
        } else if falls(self.cut) {
            Kind::Cut
        } else {
            Kind::Answer
        };
        let mut turn = Turn { kind, last: last == Some(number), ..Turn::default() };
        if kind == Kind::Answer {
            turn.wrong = self.wrong.filter(|_| falls(self.wrong)).map(|every| number / every);
            turn.warming = number <= self.warm_after;
            turn.status =
                if turn.warming { Some(503) } else { self.status.and_then(|(every, status)| falls(Some(every)).then_some(status)) };
            turn.close = falls(self.close);
        }
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(number: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(number)
    }

    #[test]
    fn each_nth_and_no_other() {
        let faults = Faults { wrong: n(10), status: Some((n(7).unwrap(), 503)), close: n(5), ..Faults::default() };
        let turns: Vec<Turn> = (1..=700).map(|number| faults.turn(number).unwrap()).collect();
        assert_eq!(turns.iter().filter(|turn| turn.wrong.is_some()).count(), 70);
        assert_eq!(turns.iter().filter(|turn| turn.status == Some(503)).count(), 100);
        assert_eq!(turns.iter().filter(|turn| turn.close).count(), 140);
        assert_eq!((turns[8].wrong, turns[9].wrong, turns[19].wrong), (None, Some(1), Some(2)));
    }

    #[test]
    fn one_main_thing_at_a_turn() {
        let faults = Faults { reset: n(4), garbage: n(3), cut: n(2), wrong: n(1), ..Faults::default() };
        let kinds: Vec<Kind> = (1..=12).map(|number| faults.turn(number).unwrap().kind).collect();
        use Kind::{Answer, Cut, Garbage, Reset};
        assert_eq!(kinds, [Answer, Cut, Garbage, Reset, Answer, Garbage, Answer, Reset, Garbage, Cut, Answer, Reset]);
        assert_eq!(faults.turn(2).unwrap().wrong, None);
        assert_eq!(faults.turn(5).unwrap().wrong, Some(5));
    }

    #[test]
    fn a_start_and_an_end() {
        let faults = Faults { warm_after: 2, exit_after: n(4), ..Faults::default() };
        let statuses: Vec<Option<u16>> = (1..=4).map(|number| faults.turn(number).unwrap().status).collect();
        assert_eq!(statuses, [Some(503), Some(503), None, None]);
        assert!(!faults.turn(3).unwrap().last && faults.turn(4).unwrap().last);
        assert_eq!(faults.turn(5), None);
    }

    #[test]
    fn nothing_set_nothing_numbered() {
        assert!(!Faults::default().are_possible());
        assert_eq!(Faults::default().turn(7), Some(Turn::default()));
        assert!(Faults { warm_after: 1, ..Faults::default() }.are_possible());
        assert!(Faults { exit_after: n(1), ..Faults::default() }.are_possible());
    }

    #[test]
    fn warming_is_even_and_ends() {
        let warming = Warming { over: 8, factor: 5.0 };
        assert_eq!([0, 2, 4, 8, 9, u64::MAX].map(|elapsed| warming.at(elapsed)), [5.0, 4.0, 3.0, 1.0, 1.0, 1.0]);
        assert_eq!(Warming { over: 8, factor: 0.5 }.at(4), 0.75);
    }

    #[test]
    fn stalls_come_on_schedule() {
        let stall = Stall { every: 8, lasts: 1 };
        let still: Vec<u64> = (0..30).filter(|&elapsed| stall.ends(elapsed).is_some()).collect();
        assert_eq!(still, [8, 16, 24]);
        assert_eq!(stall.ends(16), Some(17));
        assert_eq!((stall.begun(7), stall.begun(8), stall.begun(17)), (0, 1, 2));
    }
}
