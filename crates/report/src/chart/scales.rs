//! Axes: the position of a value, and round numbers as ticks. [`Ratios`] is the axis of ratios
//! around 1, [`Scale`] any other. [`Ticks`] are the tables of ticks that the report's own charts
//! choose from, which readers can zoom into.

use serde::Serialize;
use spec::units::show_number;

/// The most characters of the text at a tick.
const TICK: usize = 24;

/// Ticks of an axis of ratios around 1, by the smallest reach that they suit. Only the report zooms
/// in as far as the last ones.
const RATIO_TICKS: [(f64, &[f64]); 10] = [
    (100.0, &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]),
    (20.0, &[0.05, 0.2, 1.0, 5.0, 20.0]),
    (10.0, &[0.1, 0.3, 1.0, 3.0, 10.0]),
    (4.0, &[0.25, 0.5, 1.0, 2.0, 4.0]),
    (2.0, &[0.5, 0.7, 1.0, 1.4, 2.0]),
    (1.5, &[0.7, 0.8, 1.0, 1.25, 1.5]),
    (1.2, &[0.8, 0.9, 1.0, 1.1, 1.25]),
    (1.04, &[0.9, 0.95, 1.0, 1.05, 1.1]),
    (1.012, &[0.98, 0.99, 1.0, 1.01, 1.02]),
    (0.0, &[0.996, 0.998, 1.0, 1.002, 1.004]),
];

/// Ticks of an axis of quantiles.
const QUANTILE_TICKS: [f64; 7] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];

/// Finer ticks of an axis of quantiles, for a stretch that is too short for two of the others.
const FINE_QUANTILE_TICKS: [f64; 19] = [
    0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995,
    0.99998, 0.99999, 0.999995, 0.999998, 0.999999,
];

/// The ticks that charts of the report choose from.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Ticks {
    /// Ticks around 1, widest reach first.
    ratios: Vec<RatioTicks>,
    quantiles: Vec<f64>,
    /// For a stretch that is too short for two of `quantiles`.
    fine_quantiles: Vec<f64>,
}

/// Ticks of an axis of ratios.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct RatioTicks {
    /// The smallest reach of an axis that has these ticks.
    reach: f64,
    ticks: Vec<f64>,
}

impl Ticks {
    /// Returns all of them.
    pub(crate) fn of_all_axes() -> Ticks {
        let ratios = RATIO_TICKS.iter();
        Ticks {
            ratios: ratios
                .map(|(reach, ticks)| RatioTicks { reach: *reach, ticks: ticks.to_vec() })
                .collect(),
            quantiles: QUANTILE_TICKS.to_vec(),
            fine_quantiles: FINE_QUANTILE_TICKS.to_vec(),
        }
    }
}

/// A logarithmic axis around 1 that contains all given ratios, up to a thousandfold. Values beyond
/// it are drawn at its ends.
pub(crate) struct Ratios {
    reach: f64,
    /// The ratios that have a tick.
    pub ticks: Vec<f64>,
}

impl Ratios {
    /// Returns an axis that contains these ratios.
    pub(crate) fn around(values: impl Iterator<Item = f64>) -> Ratios {
        let farthest =
            values.filter(|v| v.is_finite() && *v > 0.0).map(|v| v.ln().abs()).fold(0.0, f64::max);
        let reach = (farthest * 1.06).exp().clamp(1.3, 1100.0);
        let all = RATIO_TICKS
            .iter()
            .find(|(least, _)| reach >= *least)
            .map_or(&[][..], |(_, ticks)| *ticks);
        Ratios {
            reach,
            ticks: all.iter().copied().filter(|t| *t <= reach && *t >= 1.0 / reach).collect(),
        }
    }

    /// Returns the position of a ratio, from 0 to 1.
    pub(crate) fn share(&self, ratio: f64) -> f64 {
        if ratio > 0.0 { (0.5 + ratio.ln() / (2.0 * self.reach.ln())).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns whether the axis contains a ratio.
    pub(crate) fn holds(&self, ratio: f64) -> bool {
        (1.0 / self.reach..=self.reach).contains(&ratio)
    }
}

/// Returns the band of ratios that are too close to 1 to matter.
pub(crate) fn band(margin: f64) -> [f64; 2] {
    let most = 1.0 + margin.max(0.0);
    [1.0 / most, most]
}

/// What is evenly spaced on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Even {
    Values,
    Logarithms,
    /// Quantiles, each nine as wide as the next.
    Nines,
}

impl Even {
    fn place(self, value: f64) -> f64 {
        match self {
            Even::Values => value,
            Even::Logarithms => value.ln(),
            Even::Nines => -(1.0 - value).ln(),
        }
    }
}

/// Returns whether a logarithmic axis has a position for a value.
pub(crate) fn is_drawable(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// An axis from one value to another. Values beyond it are drawn at its ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    even: Even,
    low: f64,
    high: f64,
    /// Values with the text at them.
    pub ticks: Vec<(f64, String)>,
}

impl Scale {
    fn new(even: Even, (low, high): (f64, f64), ticks: impl IntoIterator<Item = f64>) -> Scale {
        let ticks = ticks.into_iter().filter(|tick| tick.is_finite());
        let ticks =
            ticks.map(|tick| (tick, round_number(tick).chars().take(TICK).collect())).collect();
        Scale { even, low: even.place(low), high: even.place(high), ticks }
    }

    /// Returns a linear axis that contains zero, with room beyond the farthest value.
    pub(crate) fn with_zero(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = values
            .filter(|v| v.is_finite())
            .fold((0.0, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        // Halved, so that the difference of two huge values does not overflow.
        let room = 0.12 * (high / 2.0 - low / 2.0);
        let low = if low < 0.0 { (low - room).max(f64::MIN) } else { 0.0 };
        let high = if high > 0.0 { (high + room).min(f64::MAX) } else { 0.0 };
        let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
        Scale::new(Even::Values, (low, high), ticks(low, high, 5))
    }

    /// Returns a linear axis from the lowest to the highest value.
    pub(crate) fn spanning(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = match ends(values) {
            Some((low, high)) if low < high => (low, high),
            Some((low, high)) => (low - 1.0, high + 1.0),
            None => (0.0, 1.0),
        };
        Scale::new(Even::Values, (low, high), ticks(low, high, 8))
    }

    /// Returns a linear axis around values with some room; it contains zero if they are nearly the
    /// same.
    pub(crate) fn around(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = ends(values).unwrap_or((0.0, 1.0));
        let room = 0.08 * (high - low);
        let low = if room <= 1e-6 * high.abs() { low.min(0.0) } else { low - room };
        let high = if high > low { high + room } else { low + 1.0 };
        Scale::new(Even::Values, (low, high), ticks(low, high, 5))
    }

    /// Returns a linear axis from one value to another, with given ticks.
    pub(crate) fn between(low: f64, high: f64, ticks: &[f64]) -> Scale {
        Scale::new(Even::Values, (low, high), ticks.iter().copied())
    }

    /// Returns an axis of named rows, the first on top; [`Scale::row`] is the value of a row.
    pub(crate) fn rows(names: &[String]) -> Scale {
        let ticks =
            names.iter().enumerate().map(|(at, name)| (Scale::row(at), name.clone())).collect();
        Scale { even: Even::Values, low: -(names.len() as f64), high: 0.0, ticks }
    }

    /// Returns the value of a row.
    pub(crate) fn row(at: usize) -> f64 {
        -(at as f64) - 0.5
    }

    /// Returns a logarithmic axis of values above zero, with some room around them.
    pub(crate) fn logarithmic(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = ends(values.filter(|v| is_drawable(*v))).unwrap_or((1.0, 10.0));
        let room = if low * 1.5 > high { 1.5 } else { 1.12 };
        let ends = ((low / room).max(f64::MIN_POSITIVE), (high * room).min(f64::MAX));
        Scale::new(Even::Logarithms, ends, log_ticks(ends.0, ends.1))
    }

    /// Returns a logarithmic axis of levels, with a tick at each level for which there is room.
    pub(crate) fn levels(levels: impl Iterator<Item = f64>) -> Scale {
        const APART: f64 = 0.05;
        let mut levels: Vec<f64> =
            levels.filter(|level| level.is_finite() && *level > 0.0).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let ends = match (levels.first(), levels.last()) {
            (Some(low), Some(high)) if low < high => (*low, *high),
            (Some(level), _) => (level / 2.0, level * 2.0),
            _ => (1.0, 10.0),
        };
        let bare = Scale::new(Even::Logarithms, ends, std::iter::empty());
        let mut ticks: Vec<f64> = Vec::new();
        for level in levels {
            if ticks.last().is_none_or(|last| bare.share(level) - bare.share(*last) >= APART) {
                ticks.push(level);
            }
        }
        Scale::new(Even::Logarithms, ends, ticks)
    }

    /// Returns an axis of quantiles from 0 to the highest of these.
    pub(crate) fn quantiles(quantiles: impl Iterator<Item = f64>) -> Scale {
        let highest = quantiles.fold(0.0, f64::max).clamp(0.9, 0.999_999);
        let written = |q: f64| {
            format!("{} %", format!("{:.7}", q * 100.0).trim_end_matches('0').trim_end_matches('.'))
        };
        let ticks =
            QUANTILE_TICKS.into_iter().filter(|q| *q <= highest + 1e-9).map(|q| (q, written(q)));
        Scale {
            ticks: ticks.collect(),
            ..Scale::new(Even::Nines, (0.0, highest), std::iter::empty())
        }
    }

    /// Returns the position of a value, from 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let share =
            (self.even.place(value) / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }
}

/// The smallest and the largest value.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |found, v| match found {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}

/// Writes a tick without trailing zeros.
pub(crate) fn round_number(tick: f64) -> String {
    let text = show_number(tick);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns about as many round numbers between two values.
pub(crate) fn ticks(low: f64, high: f64, about: u32) -> Vec<f64> {
    let raw = (high - low) / f64::from(about.max(1));
    if !raw.is_finite() || raw <= 0.0 {
        return Vec::new();
    }
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * decade)
        .find(|step| *step >= raw * 0.999)
        .unwrap_or(10.0 * decade);
    let first = (low / step).ceil();
    (0..=2 * about)
        .map(|n| (first + f64::from(n)) * step)
        .take_while(|tick| *tick <= high + step * 1e-9)
        .collect()
}

/// Round numbers between two values above zero: 1, 2 and 5 in each decade; over many decades, one
/// for each or fewer.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10(), high.log10());
    let decades = to - from;
    if decades < 0.7 {
        return ticks(low, high, 4);
    }
    let steps: &'static [f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / 8.0).ceil() as usize;
    let exponents = (from.floor() as i32..=to.floor() as i32).step_by(every.max(1));
    let all = exponents
        .flat_map(move |exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as in `web/test/unit/scales.test.ts`.
    #[test]
    fn axis_of_ratios_is_the_one_of_the_report() {
        let axis = Ratios::around([0.3, 2.4].into_iter());
        assert!((axis.share(1.0) - 0.5).abs() < 1e-12 && axis.share(0.3) > 0.0);
        assert!((axis.share(2.0) - 0.5 - (0.5 - axis.share(0.5))).abs() < 1e-12);
        let near = Ratios::around([1.001].into_iter());
        assert_eq!(
            (near.reach, near.ticks.contains(&1.0), near.ticks.len() >= 3),
            (1.3, true, true)
        );
        let far = Ratios::around([1e9, f64::NAN, 0.0, -1.0].into_iter());
        assert_eq!(
            (far.reach, [1e9, 0.0, -1.0, 1e-12].map(|v| far.share(v))),
            (1100.0, [1.0, 0.0, 0.0, 0.0])
        );
        assert!(far.holds(1000.0) && !far.holds(1e9) && !far.holds(1e-4));
        for farthest in [1.2, 1.6, 2.5, 5.0, 12.0, 30.0, 500.0] {
            let Ratios { reach, ticks } = Ratios::around(std::iter::once(farthest));
            assert!(ticks.len() <= 7 && ticks.iter().all(|t| *t <= reach && *t >= 1.0 / reach));
        }
        assert_eq!((band(0.25), band(-3.0)), ([0.8, 1.25], [1.0, 1.0]));
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.0, 0.9, 5).len(), 5);
        assert_eq!(ticks(-3.0, 3.0, 3), [-2.0, 0.0, 2.0]);
        assert_eq!([0.0, 2.0, 0.25, 1500.0].map(round_number), ["0", "2", "0.25", "1500"]);
        assert!(ticks(1.0, 1.0, 5).is_empty() && ticks(0.0, f64::NAN, 5).is_empty());
        assert_eq!(log_ticks(1.0, 100.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(9.0, 2e4), [10.0, 100.0, 1_000.0, 10_000.0]);
        assert!(log_ticks(f64::MIN_POSITIVE, f64::MAX).len() <= 9);
    }

    #[test]
    fn quantiles_take_the_same_width_for_each_nine() {
        let scale = Scale::quantiles([0.5, f64::NAN, 0.999].into_iter());
        let third = |q: f64| scale.share(q) * 3.0;
        assert!(
            (third(0.9) - 1.0).abs() < 1e-9
                && (third(0.99) - 2.0).abs() < 1e-9
                && scale.share(1.0) == 1.0
        );
        let written: Vec<&str> = scale.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(written, ["50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn levels_have_ticks_if_there_is_room() {
        let scale = Scale::levels([64.0, 1.0, 2.0, 2.01, 64.0, 0.0].into_iter());
        assert_eq!(scale.ticks.iter().map(|(tick, _)| *tick).collect::<Vec<_>>(), [1.0, 2.0, 64.0]);
        assert!((scale.share(8.0) - 0.5).abs() < 1e-12);
        assert!((Scale::levels(std::iter::once(5.0)).share(5.0) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::rows(&["a".into(), "b".into()]).share(Scale::row(0)), 0.75);
    }

    /// A record may hold any value.
    #[test]
    fn no_value_is_drawn_beyond_its_axis() {
        let values = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            0.0,
            -0.0,
            1.0,
            -1e-9,
        ];
        for one in values {
            for other in values {
                let both = || [one, other].into_iter();
                let scales = [
                    Scale::with_zero(both()),
                    Scale::logarithmic(both()),
                    Scale::levels(both()),
                    Scale::quantiles(both()),
                    Scale::spanning(both()),
                    Scale::around(both()),
                ];
                for scale in scales {
                    assert!(scale.ticks.len() <= 12, "{scale:?}");
                    assert!(
                        scale
                            .ticks
                            .iter()
                            .all(|(tick, text)| tick.is_finite() && text.chars().count() <= TICK),
                        "{scale:?}"
                    );
                    assert!(
                        values.iter().all(|value| (0.0..=1.0).contains(&scale.share(*value))),
                        "{scale:?}"
                    );
                }
            }
        }
    }
}
