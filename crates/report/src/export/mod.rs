//! A record and its judgement as files for other tools. Every number stands in one of the two. What a format asks for and a record does
//! not have is said, or the file is refused with the reason (docs/export.md).

#[cfg(feature = "parquet")]
mod columns;
mod hdr;
mod jtl;
mod junit;
mod markdown;
mod metrics;
mod openmetrics;
mod picture;
#[cfg(feature = "png")]
mod png;
mod remote_write;
mod tables;

#[cfg(feature = "parquet")]
pub use columns::parquet;
pub use hdr::{LogInterval, hdr, hdr_log, hgrm, spectrum};
pub use jtl::jtl;
pub use junit::junit;
pub use markdown::markdown;
pub(crate) use markdown::plain as markdown_text;
pub use openmetrics::openmetrics;
pub use picture::{Chart, svg};
#[cfg(feature = "png")]
pub use png::png;
pub use remote_write::remote_write;
pub use tables::{Field, Kind, Of, Table, csv, table};

use model::judgement::Judgement;
use model::metric::Metric;
use model::name::{ContenderName, percent_encoded};
use model::problem::Problems;
use model::record::{Measurement, Record, Trial};
use stats::Histogram;

/// What is written of.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The record.
    pub record: &'a Record,
    /// What it comes to.
    pub judgement: &'a Judgement,
    /// The cells that are written of; all when empty.
    pub cells: &'a [String],
    /// The contenders that are written of; all when empty.
    pub contenders: &'a [ContenderName],
    /// The metrics that pictures show, where they are of any; all when empty.
    pub metrics: &'a [Metric],
}

/// One file of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

impl<'a> Source<'a> {
    /// All of a record.
    pub fn whole(record: &'a Record, judgement: &'a Judgement) -> Source<'a> {
        Source { record, judgement, cells: &[], contenders: &[], metrics: &[] }
    }

    /// Trials that no verdict uses, and that formats of measurements leave out as well: who, and why.
    pub fn left_out(&self) -> impl Iterator<Item = String> + use<'a> {
        let chosen = *self;
        let excluded = self.judgement.excluded.iter().filter(move |e| chosen.has_contender(&e.contender));
        excluded.map(|e| format!("block {}, {}: {}", e.block, e.contender, e.reason))
    }

    fn has_contender(&self, name: &ContenderName) -> bool {
        self.contenders.is_empty() || self.contenders.contains(name)
    }

    /// Metrics of the start have no cell.
    fn has_cell(&self, name: Option<&str>) -> bool {
        self.cells.is_empty() || name.is_some_and(|name| self.cells.iter().any(|cell| cell == name))
    }

    fn has_metric(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }

    fn has(&self, cell: Option<&str>, contender: &ContenderName) -> bool {
        self.has_cell(cell) && self.has_contender(contender)
    }

    /// Every trial with why no verdict uses it, in the order they were made.
    fn trials(&self) -> impl Iterator<Item = (&'a Trial, Option<&'a str>)> + use<'a> {
        let chosen = *self;
        let trials = self.record.trials.iter().filter(move |t| chosen.has_contender(&t.contender));
        trials.map(move |trial| {
            let excluded = chosen.judgement.excluded.iter().find(|e| e.contender == trial.contender && e.block == trial.block);
            (trial, excluded.map(|e| e.reason.as_str()))
        })
    }

    /// Every measurement with why no verdict uses its trial.
    fn all_measurements(&self) -> impl Iterator<Item = (Made<'a>, Option<&'a str>)> + use<'a> {
        let chosen = *self;
        self.trials().flat_map(move |(trial, excluded)| {
            let measurements = trial.measurements.iter().filter(move |m| chosen.has_cell(Some(&m.cell)));
            measurements.map(move |measurement| (Made { trial, measurement }, excluded))
        })
    }

    /// Every measurement of a trial that verdicts use.
    ///
    /// # Errors
    /// There is none.
    fn measurements(&self) -> Result<Vec<Made<'a>>, Problems> {
        let made: Vec<Made<'a>> = self.all_measurements().filter(|(_, excluded)| excluded.is_none()).map(|(made, _)| made).collect();
        if made.is_empty() {
            return Err(Problems::plain(
                "nothing can be written: there is no measurement that verdicts use",
                "a cell whose capacity is looked for has none; trials that failed or are unsound are left out",
            ));
        }
        Ok(made)
    }
}

/// A measurement and its trial.
#[derive(Clone, Copy)]
struct Made<'a> {
    trial: &'a Trial,
    measurement: &'a Measurement,
}

impl<'a> Made<'a> {
    /// For people: `block 3, proxy-gin, cell closed-64`.
    fn place(&self) -> String {
        format!("block {}, {}, cell {}", self.trial.block, self.trial.contender, self.measurement.cell)
    }

    /// For names of files: `closed-64.proxy-gin.block-3`.
    fn stem(&self) -> String {
        format!("{}.{}.block-{}", percent_encoded(&self.measurement.cell), self.trial.contender, self.trial.block)
    }

    /// When it began, in milliseconds since 1970, as exactly as the record has the beginning of its trial: to a second.
    fn began_ms(&self) -> Result<i64, Problems> {
        let after_ms = i64::try_from(self.measurement.began_after_ns / 1_000_000).unwrap_or(i64::MAX);
        instant_ms(&self.trial.started_at).map(|ms| ms.saturating_add(after_ms)).ok_or_else(|| {
            let (block, contender, at) = (self.trial.block, &self.trial.contender, &self.trial.started_at);
            Problems::plain(
                format!("block {block}, {contender}: the record has no time of it that can be read, but {at:?}"),
                "formats without instants, such as csv, can be written of it",
            )
        })
    }

    /// What was timed, by name.
    fn distributions(&self) -> impl Iterator<Item = (&'static str, &'a Histogram)> + use<'a> {
        let m = self.measurement;
        let all = [
            ("latency", m.latency.as_ref()),
            ("service", Some(&m.service)),
            ("lag", m.generator.lag.as_ref()),
            ("connect", m.generator.connect.as_ref()),
        ];
        all.into_iter().filter_map(|(name, times)| Some((name, times.filter(|times| !times.is_empty())?)))
    }
}

/// An instant of a record, in milliseconds since 1970.
fn instant_ms(text: &str) -> Option<i64> {
    text.parse().ok().map(jiff::Timestamp::as_millisecond)
}

/// A text on one line.
fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.chars().map(|c| if breaks(c) { ' ' } else { c }).collect()
}

/// A text as XML holds it, in an element or an attribute: on one line, escaped, and with a mark for what XML has no way to hold.
pub(crate) fn xml(text: &str) -> String {
    let text: String = one_line(text).chars().map(|c| if matches!(c, '\u{FFFE}' | '\u{FFFF}') { '\u{FFFD}' } else { c }).collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}
