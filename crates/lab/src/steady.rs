//! Finds the steady state in the windows of a warm-up.
//!
//! A change-point analysis splits the cost per response into levels. The last level is the steady
//! state if it is long enough and hardly drifts. There is no clock and no I/O in this module.
//! docs/method/warm-up.md gives the reasons for the thresholds. Start with [`find_steady`].

use record::{WarmUpClass, WarmUpWindow};
use stats::{Cost, change_points, mean, median, noise_variance};

/// Fewest windows in which a steady state can be found.
pub(crate) const FEWEST_WINDOWS: usize = 5;
/// A steady state must last for 1/3 of all windows. After long changes it must last longer.
const STEADY_PART: usize = 3;
/// Levels that differ by less are the same (log-ratio), and so are levels within twice the noise.
const TOLERANCE: f64 = 0.05;
/// Least noise that is assumed (log-ratio).
const NOISE_FLOOR: f64 = 0.02;
/// The shortest stretch between two changes, in windows.
const SHORTEST: usize = 3;
/// Penalty of a change point, in units of ln n.
const PENALTY: f64 = 3.0;
/// Distance of an outlier from the median of its neighbours, in standard deviations.
const OUTLIER: f64 = 3.0;
/// Greatest drift of a steady state from its first to its last window, including two standard
/// errors (log-ratio).
const DRIFT_MAX: f64 = 0.2;
/// A drift of more standard errors than this is not noise.
const DRIFT_ERRORS: f64 = 2.0;

/// CPUs that a steady system may use in the pauses, in which it gets no requests.
pub(crate) const UNASKED_MAX: f64 = 0.2;

/// Which series must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// CPU time per correct response.
    Cpu,
    /// CPU time and time under load per correct response.
    CpuAndThroughput,
    /// Time under load per correct response. The CPU time of a service that already ran is unknown.
    Throughput,
}

/// A steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steady {
    /// How costs changed until then.
    pub class: WarmUpClass,
    /// The first window of the steady state.
    pub since: usize,
}

/// Finds the steady state that the last windows have reached; `None` if there is none yet.
pub(crate) fn find_steady(windows: &[WarmUpWindow], decides: Decides) -> Option<Steady> {
    let per_response = |of: &dyn Fn(&WarmUpWindow) -> u64| -> Vec<f64> {
        windows.iter().map(|w| (of(w).max(1) as f64 / w.correct.max(1) as f64).ln()).collect()
    };
    let correct: Vec<f64> = windows.iter().map(|w| w.correct as f64).collect();
    if median(&correct)? == 0.0 || works_unasked(windows)? {
        return None;
    }
    let cpu = match decides {
        Decides::Throughput => None,
        _ => Some(steady_level(&per_response(&|w| w.cpu_ns))?),
    };
    // A change in the number of connections changes throughput as well.
    let alike = windows
        .windows(2)
        .rposition(|pair| pair[0].connections != pair[1].connections)
        .map_or(0, |at| at + 1);
    let throughput = steady_level(&per_response(&|w| w.load_ns)[alike..])
        .map(|found| Steady { since: found.since + alike, ..found });
    let (first, second) = match (decides, cpu) {
        (Decides::Cpu, Some(cpu)) => (cpu, throughput),
        _ => (throughput?, cpu),
    };
    let class = match (first.class, second) {
        (WarmUpClass::Flat, Some(second)) => second.class,
        (class, _) => class,
    };
    let since = if decides == Decides::Cpu {
        first.since
    } else {
        first.since.max(cpu.map_or(0, |cpu| cpu.since))
    };
    Some(Steady { class, since })
}

/// Whether a system without a steady state demonstrably still changes, as opposed to too short a
/// series. It does if a compiler is at work, or if the last half of the series drifts by more than
/// noise and tolerance.
pub(crate) fn still_changes(windows: &[WarmUpWindow], decides: Decides) -> bool {
    if works_unasked(windows) == Some(true) {
        return true;
    }
    let latest = &windows[windows.len() / 2..];
    let cost = |window: &WarmUpWindow| match decides {
        Decides::Throughput => window.load_ns,
        _ => window.cpu_ns,
    };
    let costs: Vec<f64> =
        latest.iter().map(|w| (cost(w).max(1) as f64 / w.correct.max(1) as f64).ln()).collect();
    costs.len() >= FEWEST_WINDOWS
        && drift(&costs).is_some_and(|(drift, error)| drift > TOLERANCE.max(DRIFT_ERRORS * error))
}

/// Whether the system worked in the pauses of the last windows. That is usually a compiler, which
/// will make the system faster. Work in a single pause may be a garbage collection.
fn works_unasked(windows: &[WarmUpWindow]) -> Option<bool> {
    let latest = &windows[windows.len().checked_sub(FEWEST_WINDOWS)?..];
    let shares: Vec<f64> = latest.iter().map(WarmUpWindow::unasked).collect();
    Some(median(&shares)? > UNASKED_MAX)
}

/// Finds the steady state in a series of costs, which are logarithms.
fn steady_level(values: &[f64]) -> Option<Steady> {
    let n = values.len();
    if n < FEWEST_WINDOWS {
        return None;
    }
    let variance = noise_variance(values)?.max(NOISE_FLOOR * NOISE_FLOOR);
    let tolerance = TOLERANCE.max(2.0 * variance.sqrt());
    let outlier = OUTLIER * variance.sqrt();
    let cleaned = without_outliers(values, outlier)?;
    // An outlier at the end may be the first window of a new level. The next window will show it.
    if cleaned.last() != values.last() {
        return None;
    }
    let changes =
        change_points(&cleaned, Cost::Mean { variance }, PENALTY * (n as f64).ln(), SHORTEST)?;
    let begins: Vec<usize> = std::iter::once(0).chain(changes.iter().copied()).collect();
    let ends = changes.iter().copied().chain([n]);
    let means: Vec<f64> =
        begins.iter().zip(ends).filter_map(|(begin, end)| mean(&cleaned[*begin..end])).collect();
    // Levels at the end that differ by less than the tolerance are one.
    let newest = *means.last()?;
    let before = means.iter().rposition(|m| (m - newest).abs() > tolerance).map_or(0, |at| at + 1);
    let latest = n - FEWEST_WINDOWS.max(n.div_ceil(STEADY_PART));
    let mut since = (begins[before]..=latest).find(|since| is_level(&cleaned[*since..]))?;
    let level = mean(&cleaned[since..])?;
    let is_faster = |v: f64| v < level - tolerance;
    let head = mean(&cleaned[begins[before]..since]).unwrap_or(level);
    let class = match () {
        () if means[..before].iter().any(|m| is_faster(*m)) || is_faster(head) => {
            WarmUpClass::Slowdown
        }
        () if before > 0 || head > level + tolerance => WarmUpClass::WarmUp,
        () => {
            // Slow first windows of a fresh process are a warm-up, not outliers.
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

/// Replaces every outlier by the median of itself and two neighbours on either side.
fn without_outliers(values: &[f64], distance: f64) -> Option<Vec<f64>> {
    let clean = |at: usize| {
        let centre = median(&values[at.saturating_sub(2)..values.len().min(at + 3)])?;
        Some(if (values[at] - centre).abs() > distance { centre } else { values[at] })
    };
    (0..values.len()).map(clean).collect()
}

/// Whether the least-squares line through a stretch is nearly level.
fn is_level(stretch: &[f64]) -> bool {
    drift(stretch).is_some_and(|(drift, error)| {
        let is_drift = drift > TOLERANCE && drift > DRIFT_ERRORS * error;
        !is_drift && drift + DRIFT_ERRORS * error <= DRIFT_MAX
    })
}

/// How far the least-squares line through a stretch rises or falls from its first to its last
/// value, and the standard error of that. `None` if there are too few values.
fn drift(stretch: &[f64]) -> Option<(f64, f64)> {
    if stretch.len() < 3 {
        return None;
    }
    let n = stretch.len() as f64;
    let centre = stretch.iter().sum::<f64>() / n;
    let points = || (0..).zip(stretch).map(|(at, v)| (f64::from(at) - (n - 1.0) / 2.0, v - centre));
    let spread: f64 = points().map(|(t, _)| t * t).sum();
    let slope = points().map(|(t, v)| t * v).sum::<f64>() / spread;
    let about_line: f64 = points().map(|(t, v)| (v - slope * t).powi(2)).sum();
    Some((slope.abs() * (n - 1.0), (about_line / (n - 2.0) / spread).sqrt() * (n - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use WarmUpClass::{Flat, Slowdown, WarmUp};
    use proptest::prelude::*;

    /// Windows whose cost per response, in CPU time and in time, follows a curve.
    fn windows(
        count: usize,
        noise: f64,
        seed: u64,
        curve: impl Fn(f64) -> f64,
    ) -> Vec<WarmUpWindow> {
        let mut random = stats::Random::new(seed, 0);
        let mut window = |at: usize| {
            let cost = curve(at as f64) * (noise * random.normal()).exp();
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

    /// The first steady state that is found as windows arrive, and the number of windows by then.
    fn find_first(windows: &[WarmUpWindow]) -> Option<(usize, Steady)> {
        (1..=windows.len()).find_map(|n| Some((n, find_steady(&windows[..n], Decides::Cpu)?)))
    }

    #[test]
    fn flat_series_is_found_with_the_fewest_windows() {
        let found =
            |noise| (0..200).filter_map(move |seed| find_first(&windows(30, noise, seed, |_| 1.0)));
        assert!(
            found(0.0).all(
                |(n, steady)| n == FEWEST_WINDOWS && steady == Steady { class: Flat, since: 0 }
            )
        );
        for (noise, at_most, enough) in [(0.01, 6, 195), (0.03, 12, 190), (0.06, 20, 175)] {
            let right =
                found(noise).filter(|(n, steady)| *n <= at_most && steady.class == Flat).count();
            assert!(right >= enough, "{right} of 200 with noise of {noise}");
        }
    }

    #[test]
    fn series_that_still_falls_is_not_steady() {
        for noise in [0.0, 0.01, 0.03, 0.06] {
            for seed in 0..25 {
                for (first, over) in [(1.0, 3.0), (7.0, 3.0), (7.0, 6.0), (30.0, 5.0)] {
                    let curve = |at: f64| 1.0 + first * (-at / over).exp();
                    let Some((n, steady)) = find_first(&windows(90, noise, seed, curve)) else {
                        panic!("never: {first} {over} {seed}")
                    };
                    let left = curve(n as f64);
                    assert!(
                        left < 1.15,
                        "steady after {n} at {left} of 1: noise {noise}, {first} over {over}, seed {seed}"
                    );
                    assert!(
                        steady.class == WarmUp || noise > 0.03,
                        "{steady:?}, {first} over {over}, seed {seed}"
                    );
                }
            }
        }
    }

    #[test]
    fn steady_state_after_two_steps_is_the_last_level() {
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
            assert!(
                n > 12 && steady == Steady { class: WarmUp, since: 8 },
                "{steady:?} after {n}, seed {seed}"
            );
        }
    }

    #[test]
    fn last_level_above_the_first_is_a_slowdown() {
        for seed in 0..100 {
            let curve = |at: f64| if at < 4.0 { 1.0 + at / 2.0 } else { 3.0 };
            let (_, steady) = find_first(&windows(60, 0.02, seed, curve)).unwrap();
            assert_eq!(steady.class, Slowdown, "{steady:?}, seed {seed}");
            assert!((3..=6).contains(&steady.since), "{steady:?}, seed {seed}");
        }
    }

    #[test]
    fn series_that_keeps_changing_is_never_steady() {
        for seed in 0..100 {
            for rate in [0.05f64, -0.05] {
                assert_eq!(
                    find_first(&windows(60, 0.01, seed, |at| (rate * at).exp())),
                    None,
                    "{rate}, seed {seed}"
                );
            }
        }
    }

    #[test]
    fn single_slow_windows_are_no_change() {
        for seed in 0..100 {
            let curve = |at: f64| if at as usize % 4 == 2 { 1.6 } else { 1.0 };
            let (_, steady) = find_first(&windows(60, 0.01, seed, curve)).unwrap();
            assert_eq!(steady, Steady { class: Flat, since: 0 }, "seed {seed}");
        }
    }

    #[test]
    fn slow_first_window_is_a_warm_up() {
        let (n, steady) =
            find_first(&windows(20, 0.0, 0, |at| if at < 1.0 { 2.0 } else { 1.0 })).unwrap();
        assert_eq!((n, steady), (6, Steady { class: WarmUp, since: 1 }));
    }

    #[test]
    fn throughput_must_be_steady_only_if_it_decides() {
        let mut both = windows(30, 0.0, 0, |_| 1.0);
        for window in &mut both[..10] {
            window.load_ns *= 3;
        }
        assert_eq!(find_steady(&both, Decides::Cpu), Some(Steady { class: WarmUp, since: 0 }));
        assert_eq!(
            find_steady(&both, Decides::CpuAndThroughput),
            Some(Steady { class: WarmUp, since: 10 })
        );
        assert_eq!(find_steady(&both[..12], Decides::Cpu), Some(Steady { class: Flat, since: 0 }));
        assert_eq!(find_steady(&both[..12], Decides::CpuAndThroughput), None);
        both.iter_mut().zip(1..).for_each(|(w, at)| w.cpu_ns *= at);
        assert_eq!(find_steady(&both, Decides::CpuAndThroughput), None);
        both.iter_mut().for_each(|w| w.cpu_ns = 0);
        assert_eq!(
            find_steady(&both, Decides::Throughput),
            Some(Steady { class: WarmUp, since: 10 }),
            "its process is unknown"
        );
    }

    #[test]
    fn level_with_busy_pauses_is_not_steady() {
        let mut level = windows(30, 0.0, 0, |_| 1.0);
        level[..20].iter_mut().for_each(|w| w.pause_cpu_ns = 290_000_000);
        let (n, _) = find_first(&level).unwrap();
        assert_eq!(n, 23, "most of the last five pauses are quiet");
        level.iter_mut().for_each(|w| w.pause_cpu_ns = 0);
        level[4].pause_cpu_ns = 290_000_000;
        assert_eq!(find_first(&level).unwrap().0, FEWEST_WINDOWS, "one busy pause is ignored");
    }

    #[test]
    fn throughput_needs_windows_with_equal_connections() {
        let mut waiting = windows(11, 0.0, 0, |_| 1.0);
        for (window, connections) in
            waiting.iter_mut().zip([2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64])
        {
            window.connections = connections;
            window.correct = 500 * u64::from(connections);
            window.cpu_ns = 50_000_000 * u64::from(connections);
        }
        assert_eq!(
            find_steady(&waiting, Decides::CpuAndThroughput),
            Some(Steady { class: Flat, since: 5 })
        );
        assert_eq!(find_steady(&waiting[..9], Decides::CpuAndThroughput), None);
    }

    #[test]
    fn windows_without_responses_are_not_steady() {
        let mut silent = windows(30, 0.0, 0, |_| 1.0);
        silent.iter_mut().for_each(|w| w.correct = 0);
        assert_eq!(find_steady(&silent, Decides::Cpu), None);
    }

    proptest! {
        #[test]
        fn any_windows_give_a_valid_result(
            values in prop::collection::vec((any::<u64>(), any::<u64>(), prop_oneof![Just(0), 1u64..100, any::<u64>()]), 0..40),
            by_cpu in any::<bool>(),
        ) {
            let windows: Vec<WarmUpWindow> = (0..).zip(&values)
                .map(|(at_ns, (load_ns, cpu_ns, correct))| WarmUpWindow {
                    at_ns, load_ns: *load_ns, connections: *correct as u32 % 9, correct: *correct, cpu_ns: *cpu_ns, pause_ns: 300, pause_cpu_ns: cpu_ns % 100, p50_ns: None, max_ns: None,
                })
                .collect();
            if let Some(steady) = find_steady(&windows, if by_cpu { Decides::Cpu } else { Decides::CpuAndThroughput }) {
                prop_assert!(steady.since + FEWEST_WINDOWS <= windows.len());
                prop_assert!(steady.since == 0 || steady.class != Flat);
                prop_assert!([Flat, WarmUp, Slowdown].contains(&steady.class));
            }
        }

        /// A machine that is twice as fast has the same warm-up.
        #[test]
        fn steady_state_depends_on_ratios_only(seed in any::<u64>(), first in 0.0f64..10.0, over in 1.0f64..10.0, count in 5usize..40) {
            let slow = windows(count, 0.02, seed, |at| 1.0 + first * (-at / over).exp());
            let fast: Vec<WarmUpWindow> = slow.iter().map(|w| WarmUpWindow { correct: w.correct * 2, ..*w }).collect();
            prop_assert_eq!(find_steady(&slow, Decides::Cpu), find_steady(&fast, Decides::Cpu));
        }
    }
}
