//! Whether a series of windows has come to its steady state, and how. No clock, no I/O.
//! Thresholds and their reasons stand in METHOD.md.

use model::record::{WarmUpClass, WarmUpWindow};
use stats::{Cost, change_points, mean, median, noise_variance};

/// No steady state is seen in fewer.
pub(crate) const FEWEST_WINDOWS: usize = 5;
/// One part in so many of all windows must be steady: whoever changed for long is watched for long.
const STEADY_PART: usize = 3;
/// Levels within this of each other are one (log-ratio); within twice the noise, too.
const TOLERANCE: f64 = 0.05;
/// Noise is never taken for less (log-ratio).
const NOISE_FLOOR: f64 = 0.02;
/// The shortest stretch between two changes, in windows.
const SHORTEST: usize = 3;
/// A change must pay for itself by so many times ln n.
const PENALTY: f64 = 3.0;
/// A window so many deviations off its neighbours' median is an outlier.
const OUTLIER: f64 = 3.0;
/// A steady state may have drifted so far from its first to its last window, two standard errors included (log-ratio).
const DRIFT_MAX: f64 = 0.2;

/// CPUs that a steady system may use in the pauses, without being asked.
pub(crate) const UNASKED_MAX: f64 = 0.2;

/// Which series must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// CPU time per right answer.
    Cpu,
    /// Time under load per right answer as well.
    CpuAndThroughput,
    /// Time under load per right answer alone: of a service that ran already no CPU time is known.
    Throughput,
}

/// A steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steady {
    /// How it was come to.
    pub class: WarmUpClass,
    /// The window with which it begins.
    pub since: usize,
}

/// The steady state that the windows have come to; `None` as long as there is none.
pub(crate) fn find(windows: &[WarmUpWindow], decides: Decides) -> Option<Steady> {
    let per_answer = |of: &dyn Fn(&WarmUpWindow) -> u64| -> Vec<f64> {
        windows.iter().map(|w| (of(w).max(1) as f64 / w.correct.max(1) as f64).ln()).collect()
    };
    let answers: Vec<f64> = windows.iter().map(|w| w.correct as f64).collect();
    if median(&answers)? == 0.0 || works_unasked(windows)? {
        return None;
    }
    let cpu = match decides {
        Decides::Throughput => None,
        _ => Some(steady(&per_answer(&|w| w.cpu_ns))?),
    };
    // More connections alone may make it faster or slower.
    let alike = windows.windows(2).rposition(|pair| pair[0].connections != pair[1].connections).map_or(0, |at| at + 1);
    let throughput = steady(&per_answer(&|w| w.load_ns)[alike..]).map(|found| Steady { since: found.since + alike, ..found });
    let (first, second) = match (decides, cpu) {
        (Decides::Cpu, Some(cpu)) => (cpu, throughput),
        _ => (throughput?, cpu),
    };
    let class = match (first.class, second) {
        (WarmUpClass::Flat, Some(second)) => second.class,
        (class, _) => class,
    };
    let since = if decides == Decides::Cpu { first.since } else { first.since.max(cpu.map_or(0, |cpu| cpu.since)) };
    Some(Steady { class, since })
}

/// Whether the last windows' pauses were filled with work: most often a compiler's, which has yet to make things faster. What
/// a single one shows may be a collection.
fn works_unasked(windows: &[WarmUpWindow]) -> Option<bool> {
    let latest = &windows[windows.len().checked_sub(FEWEST_WINDOWS)?..];
    let shares: Vec<f64> = latest.iter().map(WarmUpWindow::unasked).collect();
    Some(median(&shares)? > UNASKED_MAX)
}

/// The steady state of a series of costs: logarithms, high is slow.
fn steady(values: &[f64]) -> Option<Steady> {
    let n = values.len();
    if n < FEWEST_WINDOWS {
        return None;
    }
    let variance = noise_variance(values)?.max(NOISE_FLOOR * NOISE_FLOOR);
    let tolerance = TOLERANCE.max(2.0 * variance.sqrt());
    let outlier = OUTLIER * variance.sqrt();
    let cleaned = without_outliers(values, outlier)?;
    // What looks like an outlier may be the first of a new level: the next window tells.
    if cleaned.last() != values.last() {
        return None;
    }
    let changes = change_points(&cleaned, Cost::Mean { variance }, PENALTY * (n as f64).ln(), SHORTEST)?;
    let begins: Vec<usize> = std::iter::once(0).chain(changes.iter().copied()).collect();
    let ends = changes.iter().copied().chain([n]);
    let means: Vec<f64> = begins.iter().zip(ends).filter_map(|(begin, end)| mean(&cleaned[*begin..end])).collect();
    // Stretches at the end that differ by less than matters are one.
    let newest = *means.last()?;
    let before = means.iter().rposition(|m| (m - newest).abs() > tolerance).map_or(0, |at| at + 1);
    let latest = n - FEWEST_WINDOWS.max(n.div_ceil(STEADY_PART));
    let mut since = (begins[before]..=latest).find(|since| is_level(&cleaned[*since..]))?;
    let level = mean(&cleaned[since..])?;
    let is_faster = |v: f64| v < level - tolerance;
    let head = mean(&cleaned[begins[before]..since]).unwrap_or(level);
    let class = match () {
        () if means[..before].iter().any(|m| is_faster(*m)) || is_faster(head) => WarmUpClass::Slowdown,
        () if before > 0 || head > level + tolerance => WarmUpClass::WarmUp,
        () => {
            // The first seconds of a fresh process are no outliers.
            let cold = values.iter().take_while(|v| **v > level + tolerance + outlier).count();
            if cold > latest {
                return None;
            }
            since = since.max(cold);
            if cold > 0 { WarmUpClass::WarmUp } else { WarmUpClass::Flat }
        }
    };
    Some(Steady { class, since })
}

/// The series with every outlier replaced by the median of itself and two neighbours on either side.
fn without_outliers(values: &[f64], distance: f64) -> Option<Vec<f64>> {
    let clean = |at: usize| {
        let centre = median(&values[at.saturating_sub(2)..values.len().min(at + 3)])?;
        Some(if (values[at] - centre).abs() > distance { centre } else { values[at] })
    };
    (0..values.len()).map(clean).collect()
}

/// Whether a stretch keeps its level: the line through it, by least squares, hardly rises or falls.
fn is_level(stretch: &[f64]) -> bool {
    let n = stretch.len() as f64;
    let centre = stretch.iter().sum::<f64>() / n;
    let points = || (0..).zip(stretch).map(|(at, v)| (f64::from(at) - (n - 1.0) / 2.0, v - centre));
    let spread: f64 = points().map(|(t, _)| t * t).sum();
    let slope = points().map(|(t, v)| t * v).sum::<f64>() / spread;
    let about_line: f64 = points().map(|(t, v)| (v - slope * t).powi(2)).sum();
    let (drift, error) = (slope.abs() * (n - 1.0), (about_line / (n - 2.0) / spread).sqrt() * (n - 1.0));
    let is_drift = drift > TOLERANCE && drift > 2.0 * error;
    !is_drift && drift + 2.0 * error <= DRIFT_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use WarmUpClass::{Flat, Slowdown, WarmUp};
    use proptest::prelude::*;

    /// Windows whose cost of an answer, in CPU time and in time, follows a curve over their number.
    fn windows(count: usize, deviation: f64, seed: u64, curve: impl Fn(f64) -> f64) -> Vec<WarmUpWindow> {
        let mut random = stats::Random::new(seed, 0);
        let mut window = |at: usize| {
            let cost = curve(at as f64) * (deviation * random.normal()).exp();
            WarmUpWindow {
                at_ns: at as u64 * 1_000_000_000,
                load_ns: (cost * 700e6) as u64,
                connections: 2,
                correct: 1_000,
                cpu_ns: (cost * 100e6) as u64,
                pause_ns: 300_000_000,
                pause_cpu_ns: 0,
                p50_ns: None,
                max_ns: None,
            }
        };
        (0..count).map(&mut window).collect()
    }

    /// What is found when they come one after the other, and after how many.
    fn find_first(windows: &[WarmUpWindow]) -> Option<(usize, Steady)> {
        (1..=windows.len()).find_map(|n| Some((n, find(&windows[..n], Decides::Cpu)?)))
    }

    #[test]
    fn flat_is_seen_as_soon_as_may_be() {
        let found = |deviation| (0..200).filter_map(move |seed| find_first(&windows(30, deviation, seed, |_| 1.0)));
        assert!(found(0.0).all(|(n, steady)| n == FEWEST_WINDOWS && steady == Steady { class: Flat, since: 0 }));
        for (deviation, at_most, enough) in [(0.01, 6, 195), (0.03, 12, 190), (0.06, 20, 175)] {
            let right = found(deviation).filter(|(n, steady)| *n <= at_most && steady.class == Flat).count();
            assert!(right >= enough, "{right} of 200 with noise of {deviation}");
        }
    }

    #[test]
    fn a_compiler_at_work_is_waited_for() {
        for deviation in [0.0, 0.01, 0.03, 0.06] {
            for seed in 0..25 {
                for (first, over) in [(1.0, 3.0), (7.0, 3.0), (7.0, 6.0), (30.0, 5.0)] {
                    let curve = |at: f64| 1.0 + first * (-at / over).exp();
                    let Some((n, steady)) = find_first(&windows(90, deviation, seed, curve)) else {
                        panic!("never: {first} {over} {seed}")
                    };
                    let left = curve(n as f64);
                    assert!(left < 1.15, "steady after {n} at {left} of 1: noise {deviation}, {first} over {over}, seed {seed}");
                    assert!(steady.class == WarmUp || deviation > 0.03, "{steady:?}, {first} over {over}, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn stairs_are_walked_down() {
        for seed in 0..50 {
            // Interpreted, compiled, compiled better.
            let curve = |at: f64| {
                if at < 4.0 {
                    8.0
                } else if at < 8.0 {
                    3.0
                } else {
                    1.0
                }
            };
            let (n, steady) = find_first(&windows(60, 0.01, seed, curve)).unwrap();
            assert!(n > 12 && steady == Steady { class: WarmUp, since: 8 }, "{steady:?} after {n}, seed {seed}");
        }
    }

    #[test]
    fn slower_in_the_end_is_a_slowdown() {
        for seed in 0..100 {
            let curve = |at: f64| if at < 4.0 { 1.0 + at / 2.0 } else { 3.0 };
            let (_, steady) = find_first(&windows(60, 0.02, seed, curve)).unwrap();
            assert_eq!(steady.class, Slowdown, "{steady:?}, seed {seed}");
            assert!((3..=6).contains(&steady.since), "{steady:?}, seed {seed}");
        }
    }

    #[test]
    fn what_keeps_changing_is_never_steady() {
        for seed in 0..100 {
            for rate in [0.05f64, -0.05] {
                assert_eq!(find_first(&windows(60, 0.01, seed, |at| (rate * at).exp())), None, "{rate}, seed {seed}");
            }
        }
    }

    #[test]
    fn collections_are_no_changes() {
        for seed in 0..100 {
            let curve = |at: f64| if at as usize % 4 == 2 { 1.6 } else { 1.0 };
            let (_, steady) = find_first(&windows(60, 0.01, seed, curve)).unwrap();
            assert_eq!(steady, Steady { class: Flat, since: 0 }, "seed {seed}");
        }
    }

    #[test]
    fn a_slow_first_second_is_a_warm_up() {
        let (n, steady) = find_first(&windows(20, 0.0, 0, |at| if at < 1.0 { 2.0 } else { 1.0 })).unwrap();
        assert_eq!((n, steady), (6, Steady { class: WarmUp, since: 1 }));
    }

    #[test]
    fn cpu_time_decides_throughput_too_where_asked_and_either_gives_the_class() {
        let mut both = windows(30, 0.0, 0, |_| 1.0);
        for window in &mut both[..10] {
            window.load_ns *= 3;
        }
        assert_eq!(find(&both, Decides::Cpu), Some(Steady { class: WarmUp, since: 0 }));
        assert_eq!(find(&both, Decides::CpuAndThroughput), Some(Steady { class: WarmUp, since: 10 }));
        assert_eq!(find(&both[..12], Decides::Cpu), Some(Steady { class: Flat, since: 0 }));
        assert_eq!(find(&both[..12], Decides::CpuAndThroughput), None);
        both.iter_mut().zip(1..).for_each(|(w, at)| w.cpu_ns *= at);
        assert_eq!(find(&both, Decides::CpuAndThroughput), None);
        both.iter_mut().for_each(|w| w.cpu_ns = 0);
        assert_eq!(find(&both, Decides::Throughput), Some(Steady { class: WarmUp, since: 10 }), "nothing is known of its process");
    }

    #[test]
    fn a_level_is_not_steady_while_a_compiler_fills_the_pauses() {
        let mut level = windows(30, 0.0, 0, |_| 1.0);
        level[..20].iter_mut().for_each(|w| w.pause_cpu_ns = 290_000_000);
        let (n, _) = find_first(&level).unwrap();
        assert_eq!(n, 23, "most of the last five pauses are quiet");
        level.iter_mut().for_each(|w| w.pause_cpu_ns = 0);
        level[4].pause_cpu_ns = 290_000_000;
        assert_eq!(find_first(&level).unwrap().0, FEWEST_WINDOWS, "one collection is none");
    }

    #[test]
    fn throughput_is_compared_where_there_are_as_many_connections() {
        let mut waiting = windows(11, 0.0, 0, |_| 1.0);
        for (window, connections) in waiting.iter_mut().zip([2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64]) {
            window.connections = connections;
            window.correct = 500 * u64::from(connections);
            window.cpu_ns = 50_000_000 * u64::from(connections);
        }
        assert_eq!(find(&waiting, Decides::CpuAndThroughput), Some(Steady { class: Flat, since: 5 }));
        assert_eq!(find(&waiting[..9], Decides::CpuAndThroughput), None);
    }

    #[test]
    fn no_answers_no_steady_state() {
        let mut silent = windows(30, 0.0, 0, |_| 1.0);
        silent.iter_mut().for_each(|w| w.correct = 0);
        assert_eq!(find(&silent, Decides::Cpu), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken(
            values in prop::collection::vec((any::<u64>(), any::<u64>(), prop_oneof![Just(0), 1u64..100, any::<u64>()]), 0..40),
            by_cpu in any::<bool>(),
        ) {
            let windows: Vec<WarmUpWindow> = (0..).zip(&values)
                .map(|(at_ns, (load_ns, cpu_ns, correct))| WarmUpWindow {
                    at_ns, load_ns: *load_ns, connections: *correct as u32 % 9, correct: *correct, cpu_ns: *cpu_ns, pause_ns: 300, pause_cpu_ns: cpu_ns % 100, p50_ns: None, max_ns: None,
                })
                .collect();
            if let Some(steady) = find(&windows, if by_cpu { Decides::Cpu } else { Decides::CpuAndThroughput }) {
                prop_assert!(steady.since + FEWEST_WINDOWS <= windows.len());
                prop_assert!(steady.since == 0 || steady.class != Flat);
                prop_assert!([Flat, WarmUp, Slowdown].contains(&steady.class));
            }
        }

        /// Twice as fast a machine has the same course.
        #[test]
        fn only_ratios_matter(seed in any::<u64>(), first in 0.0f64..10.0, over in 1.0f64..10.0, count in 5usize..40) {
            let slow = windows(count, 0.02, seed, |at| 1.0 + first * (-at / over).exp());
            let fast: Vec<WarmUpWindow> = slow.iter().map(|w| WarmUpWindow { correct: w.correct * 2, ..*w }).collect();
            prop_assert_eq!(find(&slow, Decides::Cpu), find(&fast, Decides::Cpu));
        }
    }
}
