//! The behaviour of the server, as values: which response is faulty and how, and when everything
//! stalls. Pure functions; start with [`Faults::turn`].

use std::num::{NonZeroU64, NonZeroUsize};

use crate::answer::{Body, Framing};

/// Everything that is known about the server in advance.
#[derive(Debug)]
pub struct Truth {
    /// The body of an ordinary response.
    pub body: Body,
    /// Its `content-type`.
    pub content_type: String,
    /// Its status.
    pub status: u16,
    /// Additional header lines.
    pub padding: Vec<u8>,
    /// How its end is marked.
    pub framing: Framing,
    /// From a request read whole to its response, in nanoseconds.
    pub delay: u64,
    /// A path that is a number is the delay instead, in milliseconds.
    pub delay_from_path: bool,
    /// Maximum number of concurrent delays.
    pub pool: Option<NonZeroUsize>,
    /// CPU time for a request, in nanoseconds, before `cpu_factor`.
    pub cpu: u64,
    /// Factor for all CPU times.
    pub cpu_factor: f64,
    /// How CPU times approach their value.
    pub warming: Option<Warming>,
    /// From one byte of the body to the next, in nanoseconds.
    pub drip: Option<u64>,
    /// When everything stalls.
    pub stall: Option<Stall>,
    /// Which responses are faulty.
    pub faults: Faults,
    /// Connections are refused after this number of requests.
    pub refuse_after: Option<NonZeroU64>,
    /// The process exits when a thread has more connections.
    pub exit_above: Option<NonZeroUsize>,
    /// Connections are never accepted.
    pub never_accept: bool,
    /// From one connection that a thread accepts to its next, in nanoseconds.
    pub accept_every: Option<u64>,
    /// Head and body are sent in two writes; the kernel may delay the second.
    pub split_writes: bool,
    /// A line is written for each response.
    pub log: bool,
    /// Requests are read, but get no response.
    pub never_answer: bool,
    /// The clock is polled before deadlines, at the cost of a core.
    pub exact: bool,
}

/// CPU times that begin at a multiple of their value and approach it linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warming {
    /// From the first request until the value is reached, in nanoseconds.
    pub over: u64,
    /// The multiple at the first request.
    pub factor: f64,
}

impl Warming {
    /// Returns the factor for CPU times, `elapsed` nanoseconds after the first request.
    pub fn at(&self, elapsed: u64) -> f64 {
        let left = self.over.saturating_sub(elapsed) as f64 / self.over as f64;
        1.0 + (self.factor - 1.0) * left
    }
}

/// A schedule of stalls of the whole server: the first begins one `every` after the first request,
/// and then one per `every`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// From the start of a stall to the start of the next, in nanoseconds.
    pub every: u64,
    /// How long it lasts, in nanoseconds; less than `every`.
    pub lasts: u64,
}

impl Stall {
    /// If the server stalls at `elapsed` after the first request, returns the end of that stall,
    /// counted from the same request.
    pub fn ends(&self, elapsed: u64) -> Option<u64> {
        let begun = self.begun(elapsed) * self.every;
        (begun > 0 && elapsed < begun + self.lasts).then(|| begun + self.lasts)
    }

    /// Returns how many stalls have begun `elapsed` after the first request.
    pub fn begun(&self, elapsed: u64) -> u64 {
        elapsed / self.every
    }
}

/// Which responses of the process are faulty, by their number.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// One byte of the body of every Nth is wrong.
    pub wrong: Option<NonZeroU64>,
    /// Every Nth has this status.
    pub status: Option<(NonZeroU64, u16)>,
    /// The connection is reset instead of every Nth.
    pub reset: Option<NonZeroU64>,
    /// The connection is closed after every Nth, without an announcement.
    pub close: Option<NonZeroU64>,
    /// Every Nth ends in the middle of its body.
    pub cut: Option<NonZeroU64>,
    /// Bytes that are not HTTP are sent instead of every Nth.
    pub garbage: Option<NonZeroU64>,
    /// This number of first responses have status 503.
    pub warm_after: u64,
    /// The process exits after this number.
    pub exit_after: Option<NonZeroU64>,
}

/// What happens instead of one response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The main event.
    pub kind: Kind,
    /// The number of this wrong body among all wrong ones, from 1.
    pub wrong: Option<u64>,
    /// The status, instead of any other.
    pub status: Option<u16>,
    /// The server is still warming up, and the status reports it.
    pub warming: bool,
    /// The connection is closed afterwards, without an announcement.
    pub close: bool,
    /// The process exits afterwards.
    pub last: bool,
}

/// The main event of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A whole response.
    #[default]
    Answer,
    /// Half a response.
    Cut,
    /// Bytes that are not HTTP.
    Garbage,
    /// A reset connection.
    Reset,
}

impl Faults {
    /// Returns whether anything depends on the number of a response; if not, none needs a number.
    pub fn are_possible(&self) -> bool {
        let every = [
            self.wrong,
            self.status.map(|(every, _)| every),
            self.reset,
            self.close,
            self.cut,
            self.garbage,
            self.exit_after,
        ];
        self.warm_after > 0 || every.iter().any(Option::is_some)
    }

    /// Returns what happens at turn `number`, counted from 1 over the whole process; `None` after
    /// the last. If several faults fall on one turn, reset precedes garbage, and garbage precedes
    /// cut. Wrong, status and close combine, but not with those three.
    pub fn turn(&self, number: u64) -> Option<Turn> {
        let falls = |every: Option<NonZeroU64>| {
            every.is_some_and(|every| number.is_multiple_of(every.get()))
        };
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
            turn.status = if turn.warming {
                Some(503)
            } else {
                self.status.and_then(|(every, status)| falls(Some(every)).then_some(status))
            };
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
    fn faults_fall_on_every_nth_turn_only() {
        let faults = Faults {
            wrong: n(10),
            status: Some((n(7).unwrap(), 503)),
            close: n(5),
            ..Faults::default()
        };
        let turns: Vec<Turn> = (1..=700).map(|number| faults.turn(number).unwrap()).collect();
        assert_eq!(turns.iter().filter(|turn| turn.wrong.is_some()).count(), 70);
        assert_eq!(turns.iter().filter(|turn| turn.status == Some(503)).count(), 100);
        assert_eq!(turns.iter().filter(|turn| turn.close).count(), 140);
        assert_eq!((turns[8].wrong, turns[9].wrong, turns[19].wrong), (None, Some(1), Some(2)));
    }

    #[test]
    fn a_turn_has_one_main_event() {
        let faults =
            Faults { reset: n(4), garbage: n(3), cut: n(2), wrong: n(1), ..Faults::default() };
        let kinds: Vec<Kind> = (1..=12).map(|number| faults.turn(number).unwrap().kind).collect();
        use Kind::{Answer, Cut, Garbage, Reset};
        assert_eq!(
            kinds,
            [
                Answer, Cut, Garbage, Reset, Answer, Garbage, Answer, Reset, Garbage, Cut, Answer,
                Reset
            ]
        );
        assert_eq!(faults.turn(2).unwrap().wrong, None);
        assert_eq!(faults.turn(5).unwrap().wrong, Some(5));
    }

    #[test]
    fn warm_up_and_exit_are_counted() {
        let faults = Faults { warm_after: 2, exit_after: n(4), ..Faults::default() };
        let statuses: Vec<Option<u16>> =
            (1..=4).map(|number| faults.turn(number).unwrap().status).collect();
        assert_eq!(statuses, [Some(503), Some(503), None, None]);
        assert!(!faults.turn(3).unwrap().last && faults.turn(4).unwrap().last);
        assert_eq!(faults.turn(5), None);
    }

    #[test]
    fn no_fault_needs_no_number() {
        assert!(!Faults::default().are_possible());
        assert_eq!(Faults::default().turn(7), Some(Turn::default()));
        assert!(Faults { warm_after: 1, ..Faults::default() }.are_possible());
        assert!(Faults { exit_after: n(1), ..Faults::default() }.are_possible());
    }

    #[test]
    fn warming_is_linear_and_ends() {
        let warming = Warming { over: 8, factor: 5.0 };
        assert_eq!(
            [0, 2, 4, 8, 9, u64::MAX].map(|elapsed| warming.at(elapsed)),
            [5.0, 4.0, 3.0, 1.0, 1.0, 1.0]
        );
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
