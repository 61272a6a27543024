//! Statistics for measurements: intervals, tests, histograms. Numbers in, numbers out.
//!
//! This crate does no I/O, reads no clock and uses no unseeded randomness. Every figure can
//! therefore be computed again from the same record. Each file names the source of its method and
//! tests it against published figures. The README lists which file answers which question.

pub mod anderson_darling;
mod anytime;
mod benjamini_hochberg;
mod bootstrap;
mod buckets;
mod change_points;
mod counted;
mod e_divisive;
mod histogram;
mod holm;
mod interval;
mod isotonic;
mod kpss;
mod least_squares;
mod logistic;
mod moderated;
mod one_sided;
mod quantile;
mod random;
mod repetitions;
mod sign_flip;
#[cfg(test)]
mod simulation;
mod spending;

pub use anytime::anytime_confidence;
pub use benjamini_hochberg::benjamini_hochberg;
pub use bootstrap::{Block, Bootstrap, Resample, hierarchical_bootstrap};
pub use change_points::{Cost, change_points, noise_variance};
pub use counted::{Counted, CountedDifference, counted_differences};
pub use e_divisive::{Change, e_divisive};
pub use histogram::{Histogram, HistogramError};
pub use holm::holm;
pub use interval::{
    Interval, PairedRatio, geometric_mean, mean, mean_interval, median, paired_difference,
    paired_ratio, pairs_needed, sample_deviation, student_t,
};
pub use isotonic::{Edge, Held, edge, held_shares, isotonic};
pub use kpss::{Kpss, kpss, kpss_lags};
pub use least_squares::{Fit, least_squares};
pub use logistic::{Logistic, logistic};
pub use one_sided::{p_above, p_below};
pub use quantile::{quantile_ranks, smallest_sample, supported_quantiles};
pub use random::{Random, shuffle};
pub use repetitions::{Variances, variances};
pub use sign_flip::{SignFlip, sign_flip};
pub use spending::{Look, error_spending};
