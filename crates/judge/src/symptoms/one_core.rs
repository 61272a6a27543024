//! One thread does all the work, and the other CPUs stand idle.

use super::{Finding, Seen, by_block, percent, typical};
use model::judgement::Picture;
use model::units::show_number;

/// The busiest thread ran, or could have run, for so much of the time.
const BUSY_MIN: f64 = 0.95;
/// It ran for so much of it: else it was others that held it back.
const RAN_MIN: f64 = 0.5;
/// All others together used at most so much of the other CPUs.
const OTHERS_MAX: f64 = 0.25;

pub(super) fn find(seen: &Seen<'_>) -> Option<Finding> {
    let others_cpus = seen.cpus() - 1;
    let showing = seen.in_half(|(_, m)| {
        let signs = &m.usage.signs;
        let wall = signs.wall_ns.max(1) as f64;
        let ran = signs.busiest_thread_ns? as f64 / wall;
        let busy = ran + signs.busiest_thread_waited_ns? as f64 / wall;
        let all = m.usage.cpu_ns as f64 / m.usage.wall_ns.max(1) as f64;
        let others = (all - ran).max(0.0);
        let is_shown = others_cpus > 0 && busy >= BUSY_MIN && ran >= RAN_MIN && others <= OTHERS_MAX * others_cpus as f64;
        is_shown.then_some((busy, others))
    })?;
    Some(Finding {
        kind: "one-core",
        sentence: format!(
            "it may use {} CPUs, but one thread was busy for {} of the time while all others together used {} of a CPU: it is held back by one core",
            seen.cpus(),
            percent(typical(&showing, |found| found.0).min(1.0)),
            show_number(typical(&showing, |found| found.1)),
        ),
        hint: "start more workers or threads, or give it one CPU and compare it with others on one CPU",
        picture: Picture {
            title: "CPUs that were used".into(),
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
