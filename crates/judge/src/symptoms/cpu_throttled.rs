//! A CPU quota that is used up: the kernel stops the whole group until its next period. A period is
//! usually 100 ms long.

use super::finding::{Detector, Finding, Seen, by_block, duration, typical};
use record::judgement::Picture;
use spec::units::show_share;

/// The smallest share of the quota's periods.
const SHARE_MIN: f64 = 0.05;

pub(super) static DETECTOR: Detector = Detector {
    kind: "cpu-throttled",
    sign: "`nr_throttled` of its cgroup, or of one above, grew",
    threshold: "at least 5 % of the periods",
    cause: "a CPU quota",
    hint: "raise or remove the quota of its cgroup (cpu.max, cpu.cfs_quota_us), or measure with \
        the quota that it has in production",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(|(_, m)| {
        let quota = m.usage.signs.quota?;
        let share = quota.throttled_periods as f64 / quota.periods.max(1) as f64;
        (quota.throttled_periods > 0 && share >= SHARE_MIN)
            .then_some((share, quota.throttled_ns as f64))
    })?;
    Some(Finding {
        sentence: format!(
            "its CPU quota was used up in {} of the periods, and the kernel stopped it for {} per measurement (summed over CPUs)",
            show_share(typical(&showing, |found| found.0)),
            duration(typical(&showing, |found| found.1))
        ),
        picture: Picture {
            title: "Periods in which the quota was used up".into(),
            x: "block".into(),
            y: "share of periods, %".into(),
            bars: false,
            series: vec![(seen.contender.to_string(), by_block(&showing, |found| found.0 * 100.0))],
            marks: vec![],
        },
    })
}
