//! The figures that an article printed for a comparison of ours: two figures of one table, their
//! ratio, and whether it agrees with ours. Start with [`printed`].

use crate::chart::scales::{band, round_number};
use record::judgement::{Outcome, Verdict};
use spec::article::{Article, Figure, Row};
use spec::experiment::{Experiment, Ours};
use spec::metric::Metric;
use stats::Interval;

/// How right an article can be if a direction is sure, the best first.
pub(super) const SHORT: [&str; 3] = [
    "right about the direction and the size",
    "right about the direction, not about the size",
    "wrong about the direction",
];

/// Ratios within this factor have the same size: an article's machine is not ours.
const NEAR: f64 = 1.25;
/// The widest margin within which two contenders are called equal. A claim may have a wider one.
pub(super) const ALIKE: f64 = 0.25;

/// The figures of a contender and of the baseline, as an article printed them.
pub(super) struct Printed {
    /// The contender's and the baseline's; several if the article has several rows of one load.
    figures: Vec<[Figure; 2]>,
    /// Whether they are of another load than the claim's.
    pub is_of_other_load: bool,
}

/// Looks up a comparison in the first table of the article that prints both figures. CPU time and
/// memory are also taken from a table of another load, as articles print them once.
pub(super) fn printed(
    experiment: &Experiment,
    article: &Article,
    verdict: &Verdict,
) -> Option<Printed> {
    let ours = &experiment.source.as_ref()?.ours;
    let is_here = |of: &Ours| Some(of.cell.as_str()) == verdict.cell.as_deref();
    let any = |_: &Ours| true;
    let of = |is_of_load: &dyn Fn(&Ours) -> bool| {
        article.tables.iter().find_map(|table| {
            let of = |who: &str| -> Vec<Figure> {
                let is_of = |row: &&Row| {
                    ours.get(&row.name).is_some_and(|of| of.contender == who && is_of_load(of))
                };
                table
                    .rows
                    .iter()
                    .filter(is_of)
                    .filter_map(|row| figure(row, verdict.metric))
                    .collect()
            };
            let (contender, baseline) =
                (of(&verdict.contender.to_string()), of(&verdict.baseline.to_string()));
            // Rows are paired by their order, so their numbers must be equal.
            let is_paired = !contender.is_empty() && contender.len() == baseline.len();
            is_paired.then(|| {
                contender.into_iter().zip(baseline).map(|(one, other)| [one, other]).collect()
            })
        })
    };
    if let Some(figures) = of(&is_here) {
        return Some(Printed { figures, is_of_other_load: false });
    }
    let is_printed_once =
        matches!(verdict.metric, Metric::CpuPerRequest | Metric::Memory | Metric::Threads);
    let figures = of(&any).filter(|_| is_printed_once)?;
    Some(Printed { figures, is_of_other_load: true })
}

/// The figure of a metric, if the row prints it. At one rate, CPU use is proportional to CPU per
/// request.
fn figure(row: &Row, metric: Metric) -> Option<Figure> {
    let other = |name: &str, read: fn(&str) -> Result<Figure, String>| {
        row.other.iter().find(|(of, _)| of == name).and_then(|(_, text)| read(text).ok())
    };
    match metric {
        Metric::Throughput => row.throughput.clone(),
        Metric::LatencyMean => row.latency.mean.clone(),
        Metric::LatencyDeviation => row.latency.deviation.clone(),
        Metric::LatencyMax => row.latency.max.clone(),
        Metric::FailedShare => row.error_share.clone(),
        Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99 => {
            let percent = 100.0 * metric.quantile()?;
            row.latency
                .quantiles
                .iter()
                .find(|(of, _)| (of - percent).abs() < 1e-9)
                .map(|(_, figure)| figure.clone())
        }
        Metric::CpuPerRequest => other("CPU", Figure::share),
        Metric::Memory => other("memory", Figure::bytes),
        Metric::Threads => other("OS threads", Figure::count),
        // Rows of articles print no other metric.
        _ => None,
    }
}

impl Printed {
    /// The ratio of the figures: the geometric mean of the first and the last; `None` if one of
    /// them is zero.
    pub fn ratio(&self) -> Option<f64> {
        let ratios: Vec<f64> =
            self.figures.iter().map(|[one, other]| one.value() / other.value()).collect();
        if ratios.iter().any(|ratio| !ratio.is_finite() || *ratio <= 0.0) {
            return None;
        }
        let (low, high) = ends(&ratios);
        Some((low * high).sqrt())
    }

    /// All ratios that the printed digits allow.
    fn range(&self) -> Interval {
        let low = self.figures.iter().map(|[one, other]| one.low() / other.high());
        let high = self.figures.iter().map(|[one, other]| one.high() / other.low());
        Interval { low: low.fold(f64::INFINITY, f64::min), high: high.fold(0.0, f64::max) }
    }

    /// Writes what the article printed and how it agrees with a verdict. The sentence begins with
    /// the place, such as `At 4,000 users`, if there is one and the figures are of that load.
    pub fn sentence(&self, verdict: &Verdict, place: Option<&str>) -> String {
        let pairs: Vec<String> = self
            .figures
            .iter()
            .map(|[one, other]| format!("{} against {}", one.text(), other.text()))
            .collect();
        let load = if self.is_of_other_load { ", at another load" } else { "" };
        let place = place.filter(|_| !self.is_of_other_load);
        let place = place.map_or("The".to_owned(), |place| format!("{place} the"));
        let figures = format!("{place} article printed {}{load}", pairs.join(", "));
        if verdict.metric.describe().by_difference {
            return format!("{figures}.");
        }
        let Some(ratio) = self.ratio() else {
            return format!("{figures}: too coarse for a ratio.");
        };
        let phrase = Verdict { ratio: Some(ratio), interval: None, ..verdict.clone() }.phrase();
        let about = if pairs.len() > 1 { "about " } else { "" };
        match self.agreement(verdict) {
            Some(agreement) => {
                format!("{figures}: {about}{phrase}. {}", agreement.sentence(verdict))
            }
            None => format!("{figures}: {about}{phrase}."),
        }
    }

    /// How the article's ratio agrees with that of a verdict; `None` if one of them is missing.
    pub fn agreement(&self, verdict: &Verdict) -> Option<Agreement> {
        let (found, interval, printed) = (verdict.ratio?, verdict.interval?, self.ratio()?);
        let (here, there) = (direction(interval), direction(self.range()));
        let range = self.range();
        let [least, most] = band(verdict.margin);
        let is_equal = verdict.outcome == Outcome::Equivalent && verdict.margin <= ALIKE;
        let overlap = range.low <= interval.high && interval.low <= range.high;
        let is_near = overlap || (printed / found).ln().abs() < NEAR.ln();
        Some(match (here, there) {
            _ if is_equal && (least..=most).contains(&printed) => Agreement::Alike,
            _ if is_equal => Agreement::TooSmallHere,
            (Some(here), Some(there)) if here != there => Agreement::Wrong,
            (Some(_), Some(_)) if is_near => Agreement::Right,
            (Some(_), Some(_)) if printed.ln().abs() > found.ln().abs() => Agreement::Overstated,
            (Some(_), Some(_)) => Agreement::Understated,
            _ if overlap => Agreement::Compatible,
            (None, _) => Agreement::OpenHere,
            (Some(_), None) => Agreement::NoneThere,
        })
    }
}

/// How the figures of an article agree with ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Same direction, about the same size.
    Right,
    /// Same direction, larger difference than here.
    Overstated,
    /// Same direction, smaller difference than here.
    Understated,
    /// Opposite direction.
    Wrong,
    /// Equal here, and in the article.
    Alike,
    /// No sure direction here or in the article, and the result here allows the article's figures.
    Compatible,
    /// A difference in the article; here it is within the margin.
    TooSmallHere,
    /// A difference in the article; here none is sure.
    OpenHere,
    /// No difference in the article; here there is one.
    NoneThere,
}

impl Agreement {
    fn sentence(self, verdict: &Verdict) -> String {
        let sentence = match self {
            Agreement::Right => "It was right about the direction and the size.",
            Agreement::Overstated => {
                "It was right about the direction, not about the size: it overstates the difference."
            }
            Agreement::Understated => {
                "It was right about the direction, not about the size: it understates the difference."
            }
            Agreement::Wrong => "It was wrong about the direction.",
            Agreement::Alike => "That agrees with what was found here.",
            Agreement::Compatible => "The interval here does not contradict it.",
            Agreement::TooSmallHere => {
                return format!(
                    "Here the difference is within {} %.",
                    round_number(100.0 * verdict.margin)
                );
            }
            Agreement::OpenHere => {
                "Here the direction is open, but the interval excludes this size."
            }
            Agreement::NoneThere => "It shows no sure difference, and here there is one.",
        };
        sentence.to_owned()
    }

    /// `right about the direction, not about the size`; `None` if no direction is sure.
    pub fn short(self) -> Option<&'static str> {
        match self {
            Agreement::Right => Some(SHORT[0]),
            Agreement::Overstated | Agreement::Understated => Some(SHORT[1]),
            Agreement::Wrong => Some(SHORT[2]),
            _ => None,
        }
    }
}

/// Whether an interval is entirely above 1, or below it.
pub(super) fn direction(interval: Interval) -> Option<bool> {
    match interval {
        Interval { low, .. } if low > 1.0 => Some(true),
        Interval { high, .. } if high < 1.0 => Some(false),
        _ => None,
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(metric: Metric, ratio: f64, low: f64, high: f64) -> Verdict {
        Verdict {
            ratio: Some(ratio),
            interval: Some(Interval { low, high }),
            outcome: Outcome::Better,
            ..Verdict::open("b".parse().unwrap(), "a".parse().unwrap(), metric)
        }
    }

    fn times(pairs: &[[&str; 2]]) -> Printed {
        let figures =
            pairs.iter().map(|pair| pair.map(|text| Figure::time(text).unwrap())).collect();
        Printed { figures, is_of_other_load: false }
    }

    fn sentence(pair: [&str; 2], (ratio, low, high): (f64, f64, f64)) -> String {
        times(&[pair]).sentence(&verdict(Metric::LatencyMean, ratio, low, high), None)
    }

    #[test]
    fn article_is_right_about_direction_size_or_both() {
        let far = sentence(["2.0ms", "40.0ms"], (0.5, 0.4, 0.6));
        assert_eq!(
            far,
            "The article printed 2.0ms against 40.0ms: 20× faster on average. It was right about the direction, not about the size: it overstates the difference."
        );
        assert!(
            sentence(["20.0ms", "40.0ms"], (0.1, 0.09, 0.11))
                .ends_with("not about the size: it understates the difference.")
        );
        assert!(
            sentence(["20.0ms", "40.0ms"], (0.5, 0.4, 0.6))
                .ends_with("It was right about the direction and the size.")
        );
        assert!(
            sentence(["80.0ms", "40.0ms"], (0.5, 0.4, 0.6))
                .ends_with("It was wrong about the direction.")
        );
    }

    #[test]
    fn undecided_difference_has_no_direction() {
        assert!(
            sentence(["80.0ms", "40.0ms"], (1.0, 0.9, 1.1))
                .ends_with("Here the direction is open, but the interval excludes this size.")
        );
        assert!(
            sentence(["0.02s", "0.02s"], (1.1, 0.9, 1.3))
                .ends_with("no difference on average. The interval here does not contradict it.")
        );
        assert!(
            sentence(["40.0ms", "40.0ms"], (2.0, 1.9, 2.1))
                .ends_with("It shows no sure difference, and here there is one.")
        );
        assert!(
            sentence(["20.0ms", "40.0ms"], (0.6, 0.59, 0.61))
                .ends_with("about the direction and the size."),
            "within a quarter"
        );
        let alike = Verdict {
            outcome: Outcome::Equivalent,
            margin: 0.05,
            ..verdict(Metric::LatencyMean, 1.01, 1.0, 1.02)
        };
        assert!(
            times(&[["80.0ms", "40.0ms"]])
                .sentence(&alike, None)
                .ends_with("Here the difference is within 5 %.")
        );
        assert!(
            times(&[["40.4ms", "40.0ms"]])
                .sentence(&alike, Some("In c"))
                .starts_with("In c the article printed")
        );
        assert!(
            times(&[["40.4ms", "40.0ms"]])
                .sentence(&alike, None)
                .ends_with("That agrees with what was found here.")
        );
    }

    #[test]
    fn wide_margin_does_not_make_a_sure_difference_small() {
        let within = Verdict {
            outcome: Outcome::Equivalent,
            margin: 19.0,
            ..verdict(Metric::LatencyMean, 0.25, 0.24, 0.26)
        };
        assert!(
            times(&[["2.0ms", "40.0ms"]])
                .sentence(&within, None)
                .ends_with("not about the size: it overstates the difference.")
        );
        assert!(
            times(&[["40.0ms", "40.0ms"]])
                .sentence(&within, None)
                .ends_with("It shows no sure difference, and here there is one.")
        );
    }

    #[test]
    fn figures_without_a_ratio_are_shown_as_printed() {
        assert_eq!(
            sentence(["0ms", "3ms"], (0.5, 0.4, 0.6)),
            "The article printed 0ms against 3ms: too coarse for a ratio."
        );
        let none =
            Verdict { ratio: None, interval: None, ..verdict(Metric::LatencyMean, 1.0, 1.0, 1.0) };
        assert_eq!(
            times(&[["2ms", "4ms"]]).sentence(&none, None),
            "The article printed 2ms against 4ms: 2.0× faster on average."
        );
        let several = times(&[["1ms", "2ms"], ["1ms", "8ms"]]);
        assert_eq!(several.ratio(), Some(0.25));
        assert!(
            several
                .sentence(&none, None)
                .contains("1ms against 2ms, 1ms against 8ms: about 4.0× faster")
        );
    }
}
