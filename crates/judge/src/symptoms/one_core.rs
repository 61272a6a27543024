//! One thread does all the work, and the other CPUs are idle.

use super::finding::{Detector, Finding, Seen, by_block, typical};
use record::judgement::Picture;
use spec::units::show_share;

/// The smallest share of the time in which the busiest thread ran or waited for its CPU.
const BUSY_MIN: f64 = 0.95;
/// The largest share of the other CPUs that all other threads together used or waited for.
const OTHERS_MAX: f64 = 0.25;

pub(super) static DETECTOR: Detector = Detector {
    kind: "one-core",
    sign: "one thread is busy, the other CPUs idle",
    threshold: "two or more CPUs are allowed. The busiest thread ran or waited for a CPU 95 % of \
        the time. All others used at most 25 % of the other CPUs",
    cause: "one event loop, a lock, too few workers",
    hint: "start more workers or threads, or give it one CPU and compare it with others on one CPU",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let others_cpus = seen.cpus() - 1;
    let showing = seen.in_half(|(_, m)| {
        let signs = &m.usage.signs;
        let share = |ns: u64| ns as f64 / signs.wall_ns.max(1) as f64;
        let busy = share(signs.busiest_thread_ns?) + share(signs.busiest_thread_waited_ns?);
        let others = share(signs.other_threads_wanted_ns?);
        let is_shown =
            others_cpus > 0 && busy >= BUSY_MIN && others <= OTHERS_MAX * others_cpus as f64;
        is_shown.then_some((busy, others))
    })?;
    Some(Finding {
        sentence: format!(
            "it may use {} CPUs, but one thread was busy for {} of the time while all others together needed {} of one CPU: one core limits it",
            seen.cpus(),
            show_share(typical(&showing, |found| found.0).min(1.0)),
            show_share(typical(&showing, |found| found.1)),
        ),
        picture: Picture {
            title: "CPUs needed".into(),
            x: "block".into(),
            y: "CPUs".into(),
            bars: false,
            series: vec![
                ("busiest thread".into(), by_block(&showing, |found| found.0.min(1.0))),
                ("all others".into(), by_block(&showing, |found| found.1)),
            ],
            marks: vec![],
        },
    })
}
