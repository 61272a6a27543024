//! Mean and standard deviation against quantiles, minimum and maximum.
//!
//! Quantiles and extremes bound how many samples lie in which range. So the mean has a least and a
//! greatest possible value. For a given mean, so has the standard deviation. It is least if all
//! samples are as close to one value as their bounds allow, and greatest if each is at a bound. A
//! figure outside these limits belongs to no set of samples. This includes the inequalities of
//! Cantelli, Bhatia and Davis, and Samuelson, each of which uses some of the figures. Start with
//! [`impossible_moments`].

use super::figures::finding;
use super::text::time;
use record::audit::{Check, Finding};
use spec::article::{Figure, Row, Tool};

/// With fewer samples than this, a quantile bounds too little.
const SAMPLES_FOR_QUANTILES: f64 = 1_000.0;
/// Relative width of a histogram's buckets, and tolerance of a result.
const SLACK: f64 = 0.005;

/// Samples between two bounds, in seconds; the shares add up to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin {
    share: f64,
    low: f64,
    high: f64,
}

/// Returns the bins of a row. Returns `None` if its figures are out of order.
pub(super) fn bins(row: &Row) -> Option<Vec<Bin>> {
    let latency = &row.latency;
    let samples = row.samples.as_ref().map(|s| s.low());
    let few = samples.is_some_and(|n| n < SAMPLES_FOR_QUANTILES);
    let (least, greatest) = (latency.min.as_ref(), latency.max.as_ref());
    let low = |figure: &Figure| figure.low() * (1.0 - SLACK);
    let high = |figure: &Figure| figure.high() * (1.0 + SLACK);
    let mut bins = Vec::new();
    let mut from = (0.0, least.map_or(0.0, low));
    let is_usable = !few && !row.has_loose_quantiles;
    let usable = latency.quantiles.iter().filter(|(_, figure)| is_usable && figure.value() > 0.0);
    for (percent, figure) in usable {
        let share = percent / 100.0;
        bins.push(Bin { share: share - from.0, low: from.1, high: high(figure) });
        from = (share, low(figure));
    }
    bins.push(Bin { share: 1.0 - from.0, low: from.1, high: greatest.map_or(f64::INFINITY, high) });
    if let Some(n) = samples.filter(|n| *n >= 2.0) {
        // One sample is the maximum, and one the minimum.
        let one = 1.0 / n;
        if let (Some(figure), Some(last)) = (greatest, bins.last_mut())
            && last.share > one
        {
            last.share -= one;
            bins.push(Bin { share: one, low: low(figure), high: high(figure) });
        }
        if let (Some(figure), Some(first)) = (least, bins.first_mut())
            && first.share > one
        {
            first.share -= one;
            bins.push(Bin { share: one, low: low(figure), high: high(figure) });
        }
    }
    bins.iter().all(|bin| bin.low <= bin.high && bin.share >= 0.0).then_some(bins)
}

/// Returns the least mean that samples in these bins can have.
pub(super) fn least_mean(bins: &[Bin]) -> f64 {
    bins.iter().map(|bin| bin.share * bin.low).sum()
}

fn greatest_mean(bins: &[Bin]) -> f64 {
    bins.iter().filter(|bin| bin.share > 0.0).map(|bin| bin.share * bin.high).sum()
}

/// Returns the least standard deviation of samples with this mean: as many as possible at one
/// value, the others as close to it as their bins allow.
fn least_deviation(bins: &[Bin], mean: f64) -> f64 {
    let near = |value: f64| bins.iter().map(move |bin| (bin.share, value.clamp(bin.low, bin.high)));
    let mean_near = |value: f64| near(value).map(|(share, at)| share * at).sum::<f64>();
    let finite = bins.iter().flat_map(|bin| [bin.low, bin.high]).filter(|bound| bound.is_finite());
    let (mut low, mut high) = (0.0, finite.fold(mean, f64::max));
    while mean_near(high) < mean && high.is_finite() && bins.iter().any(|bin| bin.high > high) {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if mean_near(middle) < mean { low = middle } else { high = middle }
    }
    near(high).map(|(share, at)| share * (at - mean).powi(2)).sum::<f64>().sqrt()
}

/// Returns the greatest standard deviation of samples with this mean. All are at a bound; the bins
/// with the highest bounds are raised to the upper one first.
fn greatest_deviation(bins: &[Bin], mean: f64) -> f64 {
    let mut sorted = bins.to_vec();
    sorted.sort_by(|a, b| (b.low + b.high).total_cmp(&(a.low + a.high)));
    let mut missing = (mean - least_mean(bins)).max(0.0);
    let mut second: f64 = bins.iter().map(|bin| bin.share * (bin.low - mean).powi(2)).sum();
    for bin in sorted {
        if bin.high.is_infinite() {
            return f64::INFINITY;
        }
        let raised = missing.min(bin.share * (bin.high - bin.low));
        second += raised * (bin.low + bin.high - 2.0 * mean);
        missing -= raised;
    }
    second.max(0.0).sqrt()
}

/// Finds a mean or a standard deviation that no samples with these quantiles and extremes have.
pub(super) fn impossible_moments(row: &Row, tool: Option<Tool>) -> Option<Finding> {
    let mean = row.latency.mean.as_ref()?;
    let bins = bins(row)?;
    let slack = Slack::of_row(row);
    let means =
        ((mean.low() - slack.mean) * (1.0 - SLACK), (mean.high() + slack.mean) * (1.0 + SLACK));
    impossible_mean(row, tool, mean, &bins, means)
        .or_else(|| impossible_deviation(row, tool, mean, &bins, means, slack.deviation))
}

/// What the rounding of quantiles to a sample leaves open, in seconds.
struct Slack {
    mean: f64,
    deviation: f64,
}

impl Slack {
    /// A quantile of n samples may be the sample before or after, which changes the share below it.
    fn of_row(row: &Row) -> Slack {
        let bounds = row.latency.quantiles.len() as f64;
        let greatest = row.latency.max.as_ref().map_or(f64::INFINITY, Figure::high);
        let samples = row.samples.as_ref().filter(|_| bounds > 0.0);
        match samples.map_or(0.0, |n| bounds / n.low().max(1.0)) {
            off if off > 0.0 => Slack { mean: greatest * off, deviation: greatest * off.sqrt() },
            _ => Slack { mean: 0.0, deviation: 0.0 },
        }
    }
}

fn impossible_mean(
    row: &Row,
    tool: Option<Tool>,
    mean: &Figure,
    bins: &[Bin],
    (mean_low, mean_high): (f64, f64),
) -> Option<Finding> {
    let (low, high) = (least_mean(bins), greatest_mean(bins));
    let (bound, word, factor) = if mean_high < low {
        (low, "least", low / mean.value())
    } else if mean_low > high {
        (high, "greatest", mean.value() / high)
    } else {
        return None;
    };
    let around = shown(row);
    let what = format!("with {around} the {word} mean is {}, not {}", time(bound), mean.text());
    let possible = format!("the mean is {} to {}", time(low), time_or_any(high));
    Some(finding(row, Check::Moments, what, Some(factor), Some(possible), explanations(tool)))
}

fn impossible_deviation(
    row: &Row,
    tool: Option<Tool>,
    mean: &Figure,
    bins: &[Bin],
    (mean_low, mean_high): (f64, f64),
    slack: f64,
) -> Option<Finding> {
    let deviation = row.latency.deviation.as_ref()?;
    let (from, to) = (mean_low.max(least_mean(bins)), mean_high.min(greatest_mean(bins)));
    let means: Vec<f64> = (0..=32).map(|i| from + (to - from) * f64::from(i) / 32.0).collect();
    // A sample standard deviation divides by n - 1.
    let few = row.samples.as_ref().map_or(1.0, |n| (n.value() / (n.value() - 1.0).max(1.0)).sqrt());
    let least = means.iter().map(|m| least_deviation(bins, *m)).fold(f64::INFINITY, f64::min);
    let most = means.iter().map(|m| greatest_deviation(bins, *m)).fold(0.0, f64::max) * few;
    let (bound, word, factor) = if (deviation.high() + slack) * (1.0 + SLACK) < least {
        (least, "least", least / deviation.value())
    } else if (deviation.low() - slack) * (1.0 - SLACK) > most {
        (most, "greatest", deviation.value() / most)
    } else {
        return None;
    };
    let what = format!(
        "with {} and a mean of {} the {word} standard deviation is {}, not {}",
        shown(row),
        mean.text(),
        time(bound),
        deviation.text()
    );
    let possible = format!("the standard deviation is {} to {}", time(least), time_or_any(most));
    Some(finding(row, Check::Moments, what, Some(factor), Some(possible), explanations(tool)))
}

fn time_or_any(seconds: f64) -> String {
    if seconds.is_finite() { time(seconds) } else { "any".into() }
}

/// Lists the printed figures that bound the samples.
fn shown(row: &Row) -> String {
    let latency = &row.latency;
    let mut parts: Vec<String> = latency.min.iter().map(|f| format!("min {}", f.text())).collect();
    parts.extend(
        latency
            .quantiles
            .iter()
            .filter(|(_, f)| f.value() > 0.0)
            .map(|(p, f)| format!("{p} % {}", f.text())),
    );
    parts.extend(latency.max.iter().map(|f| format!("max {}", f.text())));
    parts.join(", ")
}

fn explanations(tool: Option<Tool>) -> Vec<String> {
    if tool == Some(Tool::Wrk) {
        return vec!["wrk adds samples to its histogram after the run; with pipelining some are below its minimum: it counts them, but leaves them out of its sum".into()];
    }
    vec![
        "a median printed as a mean, or figures of different runs".into(),
        "quantiles interpolated within one wide bucket of a histogram".into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(share: f64, low: f64, high: f64) -> Bin {
        Bin { share, low, high }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs().max(1e-9)
    }

    #[test]
    fn deviation_in_one_bin_is_that_of_bhatia_and_davis() {
        // All between 0 and 10 with a mean of 3: the variance is at most (10 - 3)(3 - 0).
        let bins = [bin(1.0, 0.0, 10.0)];
        assert!(near(greatest_deviation(&bins, 3.0), 21f64.sqrt()));
        assert!(least_deviation(&bins, 3.0) < 1e-6);
    }

    #[test]
    fn deviation_with_a_quantile_is_that_of_cantelli() {
        // A quarter lies at 4 or above, the mean is 1: the standard deviation is at least (4 - 1) /
        // sqrt(0.75 / 0.25).
        let bins = [bin(0.75, 0.0, 4.0), bin(0.25, 4.0, f64::INFINITY)];
        assert!(near(least_deviation(&bins, 1.0), 3.0 / 3f64.sqrt()));
        assert_eq!(greatest_deviation(&bins, 1.0), f64::INFINITY);
    }

    #[test]
    fn deviation_with_a_maximum_is_that_of_samuelson() {
        // One of a hundred lies 9 above the mean: the standard deviation is at least 9 / sqrt(99).
        let bins = [bin(0.99, 0.0, 10.0), bin(0.01, 10.0, 10.0)];
        assert!(near(least_deviation(&bins, 1.0), 9.0 / 99f64.sqrt()));
    }

    #[test]
    fn mean_beyond_all_bounds_gives_a_finite_deviation() {
        assert!(least_deviation(&[bin(1.0, 0.0, 1.0)], 5.0).is_finite());
        assert!(
            least_deviation(&[bin(0.5, 0.0, 1.0), bin(0.5, 1.0, f64::INFINITY)], 1e6).is_finite()
        );
    }
}
