//! Where values stand on axes, and the ticks of these, as on the page (`web/src/charts/scales.ts`).

use model::units::show_number;

/// The most characters of what is written at a tick.
const TICK: usize = 24;

/// A log axis around 1 that holds all ratios, up to a thousandfold; what lies beyond is held at the edge.
pub struct Ratios {
    reach: f64,
    /// The ratios that are written at it.
    pub ticks: Vec<f64>,
}

impl Ratios {
    /// Around these.
    pub fn of(values: impl Iterator<Item = f64>) -> Ratios {
        let farthest = values.filter(|v| v.is_finite() && *v > 0.0).map(|v| v.ln().abs()).fold(0.0, f64::max);
        let reach = (farthest * 1.06).exp().clamp(1.3, 1100.0);
        const TICKS: [(f64, &[f64]); 7] = [
            (100.0, &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]),
            (20.0, &[0.05, 0.2, 1.0, 5.0, 20.0]),
            (10.0, &[0.1, 0.3, 1.0, 3.0, 10.0]),
            (4.0, &[0.25, 0.5, 1.0, 2.0, 4.0]),
            (2.0, &[0.5, 0.7, 1.0, 1.4, 2.0]),
            (1.5, &[0.7, 0.8, 1.0, 1.25, 1.5]),
            (0.0, &[0.8, 0.9, 1.0, 1.1, 1.25]),
        ];
        let all = TICKS.iter().find(|(least, _)| reach >= *least).map_or(&[][..], |(_, ticks)| *ticks);
        Ratios { reach, ticks: all.iter().copied().filter(|t| *t <= reach && *t >= 1.0 / reach).collect() }
    }

    /// Where a ratio stands, from 0 to 1.
    pub fn share(&self, ratio: f64) -> f64 {
        if ratio > 0.0 { (0.5 + ratio.ln() / (2.0 * self.reach.ln())).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether it stands where it belongs.
    pub fn holds(&self, ratio: f64) -> bool {
        (1.0 / self.reach..=self.reach).contains(&ratio)
    }
}

/// The band within which a difference is too small to matter.
pub fn band(margin: f64) -> [f64; 2] {
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

/// An axis from one value to another; what lies beyond is held at its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    even: Even,
    low: f64,
    high: f64,
    /// Values, and what is written at them.
    pub ticks: Vec<(f64, String)>,
}

impl Scale {
    fn new(even: Even, (low, high): (f64, f64), ticks: impl IntoIterator<Item = f64>) -> Scale {
        let ticks = ticks.into_iter().filter(|tick| tick.is_finite());
        let ticks = ticks.map(|tick| (tick, round_number(tick).chars().take(TICK).collect())).collect();
        Scale { even, low: even.place(low), high: even.place(high), ticks }
    }

    /// Even, with zero on it and room beyond the farthest.
    pub fn with_zero(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = values.filter(|v| v.is_finite()).fold((0.0, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        // Halves, so that no difference is beyond what a number can be.
        let room = 0.12 * (high / 2.0 - low / 2.0);
        let low = if low < 0.0 { (low - room).max(f64::MIN) } else { 0.0 };
        let high = if high > 0.0 { (high + room).min(f64::MAX) } else { 0.0 };
        let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
        Scale::new(Even::Values, (low, high), ticks(low, high, 5))
    }

    /// Even from the first to the last of these.
    pub fn between(low: f64, high: f64, ticks: &[f64]) -> Scale {
        Scale::new(Even::Values, (low, high), ticks.iter().copied())
    }

    /// Rows with names, the first on top: a row stands at [`Scale::row`].
    pub fn rows(names: &[String]) -> Scale {
        let ticks = names.iter().enumerate().map(|(at, name)| (Scale::row(at), name.clone())).collect();
        Scale { even: Even::Values, low: -(names.len() as f64), high: 0.0, ticks }
    }

    /// The value at which a row stands.
    pub fn row(at: usize) -> f64 {
        -(at as f64) - 0.5
    }

    /// Logarithms of values above zero, with some room around them.
    pub fn logarithmic(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = extremes(values).unwrap_or((1.0, 10.0));
        let room = if low * 1.5 > high { 1.5 } else { 1.12 };
        let ends = ((low / room).max(f64::MIN_POSITIVE), (high * room).min(f64::MAX));
        Scale::new(Even::Logarithms, ends, log_ticks(ends.0, ends.1))
    }

    /// Logarithms of levels that were chosen, with ticks at these as far as there is room.
    pub fn levels(levels: impl Iterator<Item = f64>) -> Scale {
        const APART: f64 = 0.05;
        let mut levels: Vec<f64> = levels.filter(|level| level.is_finite() && *level > 0.0).collect();
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

    /// Quantiles from 0 to the highest of these.
    pub fn quantiles(quantiles: impl Iterator<Item = f64>) -> Scale {
        const TICKS: [f64; 7] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];
        let highest = quantiles.fold(0.0, f64::max).clamp(0.9, 0.999_999);
        let written = |q: f64| format!("{} %", format!("{:.7}", q * 100.0).trim_end_matches('0').trim_end_matches('.'));
        let ticks = TICKS.into_iter().filter(|q| *q <= highest + 1e-9).map(|q| (q, written(q))).collect();
        Scale { ticks, ..Scale::new(Even::Nines, (0.0, highest), std::iter::empty()) }
    }

    /// Where a value stands, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let share = (self.even.place(value) / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }
}

/// The least and the greatest of those that a logarithm has.
fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite() && *v > 0.0).fold(None, |found, v| match found {
        None => Some((v, v)),
        Some((low, high)) => Some((v.min(low), v.max(high))),
    })
}

/// A tick, without the zeros that tell nothing.
pub fn round_number(tick: f64) -> String {
    let text = show_number(tick);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Round numbers between two, about so many.
pub fn ticks(low: f64, high: f64, about: u32) -> Vec<f64> {
    let raw = (high - low) / f64::from(about.max(1));
    if !raw.is_finite() || raw <= 0.0 {
        return Vec::new();
    }
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * decade).find(|step| *step >= raw * 0.999).unwrap_or(10.0 * decade);
    let first = (low / step).ceil();
    (0..=2 * about).map(|n| (first + f64::from(n)) * step).take_while(|tick| *tick <= high + step * 1e-9).collect()
}

/// Round numbers between two above zero: 1, 2, 5 a decade, or one a decade or fewer where there are many.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10(), high.log10());
    let decades = to - from;
    if decades < 0.7 {
        return ticks(low, high, 4);
    }
    let steps: &'static [f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / 8.0).ceil() as usize;
    let exponents = (from.floor() as i32..=to.floor() as i32).step_by(every.max(1));
    let all = exponents.flat_map(move |exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `web/test/unit/scales.test.ts` asks of the page's axis.
    #[test]
    fn the_axis_of_ratios_is_that_of_the_page() {
        let axis = Ratios::of([0.3, 2.4].into_iter());
        assert!((axis.share(1.0) - 0.5).abs() < 1e-12 && axis.share(0.3) > 0.0);
        assert!((axis.share(2.0) - 0.5 - (0.5 - axis.share(0.5))).abs() < 1e-12);
        let near = Ratios::of([1.001].into_iter());
        assert_eq!((near.reach, near.ticks.contains(&1.0), near.ticks.len() >= 3), (1.3, true, true));
        let far = Ratios::of([1e9, f64::NAN, 0.0, -1.0].into_iter());
        assert_eq!((far.reach, [1e9, 0.0, -1.0, 1e-12].map(|v| far.share(v))), (1100.0, [1.0, 0.0, 0.0, 0.0]));
        assert!(far.holds(1000.0) && !far.holds(1e9) && !far.holds(1e-4));
        for farthest in [1.2, 1.6, 2.5, 5.0, 12.0, 30.0, 500.0] {
            let Ratios { reach, ticks } = Ratios::of(std::iter::once(farthest));
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
        assert!((third(0.9) - 1.0).abs() < 1e-9 && (third(0.99) - 2.0).abs() < 1e-9 && scale.share(1.0) == 1.0);
        let written: Vec<&str> = scale.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(written, ["50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn levels_are_ticks_where_there_is_room() {
        let scale = Scale::levels([64.0, 1.0, 2.0, 2.01, 64.0, 0.0].into_iter());
        assert_eq!(scale.ticks.iter().map(|(tick, _)| *tick).collect::<Vec<_>>(), [1.0, 2.0, 64.0]);
        assert!((scale.share(8.0) - 0.5).abs() < 1e-12);
        assert!((Scale::levels(std::iter::once(5.0)).share(5.0) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::rows(&["a".into(), "b".into()]).share(Scale::row(0)), 0.75);
    }

    /// A record may hold anything.
    #[test]
    fn no_value_stands_beside_its_axis() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.0, -0.0, 1.0, -1e-9];
        for one in values {
            for other in values {
                let both = || [one, other].into_iter();
                let scales = [Scale::with_zero(both()), Scale::logarithmic(both()), Scale::levels(both()), Scale::quantiles(both())];
                for scale in scales {
                    assert!(scale.ticks.len() <= 12, "{scale:?}");
                    assert!(scale.ticks.iter().all(|(tick, text)| tick.is_finite() && text.chars().count() <= TICK), "{scale:?}");
                    assert!(values.iter().all(|value| (0.0..=1.0).contains(&scale.share(*value))), "{scale:?}");
                }
            }
        }
    }
}
