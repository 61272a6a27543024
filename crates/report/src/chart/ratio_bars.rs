//! Intervals of ratios around 1, with the mark and the colour of their outcome. Each mark differs
//! without colour as well; marks and colours are those of the report
//! (`web/src/charts/interval.tsx`). Start with [`Bars`].

use super::canvas::{BAND, Canvas, MUTED};
use super::scales::{Ratios, band};
use record::judgement::{Verdict, show_confidence};

/// An outcome with its word, its colour and its mark.
pub(crate) struct Finding {
    /// Its name in a judgement.
    pub word: &'static str,
    /// The colour of its mark and interval.
    pub colour: &'static str,
    /// The path of its mark.
    pub mark: &'static str,
}

const FINDINGS: [Finding; 6] = [
    Finding { word: "better", colour: "#1a4fb5", mark: "M0,-6L6,5H-6z" },
    Finding { word: "confirmed", colour: "#1a4fb5", mark: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z" },
    Finding { word: "worse", colour: "#a83a06", mark: "M0,6L6,-5H-6z" },
    Finding {
        word: "refuted",
        colour: "#a83a06",
        mark: "M-6,-4L-4,-6L0,-2L4,-6L6,-4L2,0L6,4L4,6L0,2L-4,6L-6,4L-2,0z",
    },
    Finding { word: "equivalent", colour: "#1d1c1a", mark: "M-5,-5H5V-1H-5zM-5,1H5V5H-5z" },
    Finding {
        word: "undecided",
        colour: "#5c5952",
        mark: "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
    },
];

/// Returns the finding of a word; of an unknown word that of `undecided`.
pub(crate) fn finding(word: &str) -> &'static Finding {
    FINDINGS.iter().find(|finding| finding.word == word).unwrap_or(&FINDINGS[5])
}

/// The place where intervals of ratios are drawn.
pub(crate) struct Bars {
    /// The axis.
    pub ratios: Ratios,
    /// Its two ends, from the left edge.
    pub ends: (f64, f64),
}

impl Bars {
    /// Returns an axis that contains ratios, intervals and margins of verdicts, and more ratios.
    pub(crate) fn around<'v>(
        verdicts: impl Iterator<Item = &'v Verdict>,
        more: impl Iterator<Item = f64>,
        ends: (f64, f64),
    ) -> Bars {
        let of_verdicts = verdicts.flat_map(|v| {
            let interval = v.interval.map_or([None, None], |i| [Some(i.low), Some(i.high)]);
            interval.into_iter().flatten().chain(v.ratio).chain(band(v.margin)).collect::<Vec<_>>()
        });
        Bars { ratios: Ratios::around(of_verdicts.chain(more)), ends }
    }

    /// Returns the position of a ratio, from the left edge.
    pub(crate) fn place(&self, ratio: f64) -> f64 {
        self.ends.0 + (self.ends.1 - self.ends.0) * self.ratios.share(ratio)
    }
}

/// Elements of intervals.
impl Canvas {
    /// Adds the mark of an outcome.
    pub(crate) fn finding(&mut self, x: f64, y: f64, of: &Finding) {
        let Finding { mark, colour, .. } = of;
        // The mark of an undecided outcome is hollow.
        let fill = if of.word == "undecided" { "#fff" } else { *colour };
        self.add(&format!(
            "<path d=\"{mark}\" transform=\"translate({x:.1},{y:.1})\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.2\"/>\n"
        ));
    }

    /// Adds the texts at the ticks of an axis.
    pub(crate) fn ratios(&mut self, bars: &Bars) {
        for tick in &bars.ratios.ticks {
            let style = format!("text-anchor=\"middle\" font-size=\"12\" fill=\"{MUTED}\"");
            self.text(bars.place(*tick), self.y, &style, &format!("{tick}×"));
        }
        self.y += 10.0;
    }

    /// Adds an interval with the band of its margin and the line of the baseline.
    pub(crate) fn bar(&mut self, bars: &Bars, height: f64, v: &Verdict, of: &Finding) {
        let x = |ratio: f64| bars.place(ratio);
        let middle = self.y + height / 2.0;
        let [low, high] = band(v.margin).map(x);
        self.add(&format!(
            "<rect x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height}\" fill=\"{BAND}\"/>\n",
            self.y,
            (high - low).max(0.0)
        ));
        self.line((x(1.0), self.y), (x(1.0), self.y + height), &format!("stroke=\"{MUTED}\""));
        if let Some(interval) = v.interval {
            let style = format!("stroke=\"{}\" stroke-width=\"3\"", of.colour);
            self.line((x(interval.low), middle), (x(interval.high), middle), &style);
            // An end beyond the axis becomes an arrow.
            for (end, way) in [(interval.low, 6.0), (interval.high, -6.0)] {
                if !bars.ratios.holds(end) {
                    let x = x(end);
                    self.add(&format!(
                        "<path d=\"M{:.1},{:.1}L{x:.1},{middle:.1}L{:.1},{:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                        x + way,
                        middle - 5.0,
                        x + way,
                        middle + 5.0,
                        of.colour
                    ));
                }
            }
        }
        if let Some(ratio) = v.ratio {
            self.finding(x(ratio), middle, of);
        }
    }
}

/// Explains how intervals are drawn, with their confidence; empty if there is none.
pub(crate) fn interval_key<'v>(drawn: &str, verdicts: impl Iterator<Item = &'v Verdict>) -> String {
    let mut known: Vec<f64> =
        verdicts.filter(|v| v.interval.is_some()).map(|v| v.confidence).collect();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let confidences: Vec<String> = known.into_iter().map(show_confidence).collect();
    if confidences.is_empty() {
        String::new()
    } else {
        format!("{drawn}: {} interval. ", confidences.join(" or "))
    }
}
