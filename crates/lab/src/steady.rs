//! Whether a series of windows has come to its steady state, and how. No clock, no I/O.
//! Thresholds and their reasons stand in METHOD.md.

use model::record::{WarmUpClass, WarmUpWindow};
use stats::{Cost, change_points, mean, median, noise_variance};

/// No steady state is seen in fewer.
pub(crate) const FEWEST_WINDOWS: usize = 5;
/// The steady state must fill this part of all windows: whoever changed for long is watched for long.
const STEADY_PART: usize = 3;
/// Levels within this of each other are one (log-ratio).
const TOLERANCE: f64 = 0.05;
/// Noise is never taken for less (log-ratio).
const NOISE_FLOOR: f64 = 0.02;
/// Shortest stretch between two changes, in windows.
const SHORTEST: usize = 3;
/// A change must pay for itself by so many times ln n.
const PENALTY: f64 = 3.0;
/// Distance from the neighbours' median at which a window is an outlier, in deviations.
const OUTLIER: f64 = 3.0;

/// Which series says that the steady state is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// Time under load per right answer: where every cell asks as fast as it is answered.
    Throughput,
    /// CPU time per right answer.
    Cpu,
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
    None
}
