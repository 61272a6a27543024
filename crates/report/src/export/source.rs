//! The part of a record that is exported: cells, contenders and metrics that were chosen, and
//! trials with the reason why no verdict uses them. Start with [`Source`].

use record::judgement::Judgement;
use record::{Measurement, Record, Trial};
use spec::metric::Metric;
use spec::name::{ContenderName, percent_encoded};
use spec::problem::Problems;
use stats::Histogram;

/// A record with its judgement, and the part of it that is exported.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The record.
    pub record: &'a Record,
    /// Its judgement.
    pub judgement: &'a Judgement,
    /// The cells that are exported; all if empty.
    pub cells: &'a [String],
    /// The contenders that are exported; all if empty.
    pub contenders: &'a [ContenderName],
    /// The metrics that pictures show; all if empty.
    pub metrics: &'a [Metric],
}

/// One file of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

impl<'a> Source<'a> {
    /// Returns all of a record.
    pub fn whole(record: &'a Record, judgement: &'a Judgement) -> Source<'a> {
        Source { record, judgement, cells: &[], contenders: &[], metrics: &[] }
    }

    /// Returns the trials that no verdict uses, with the reason. Formats of measurements leave them
    /// out as well.
    pub fn left_out(&self) -> impl Iterator<Item = String> + use<'a> {
        let chosen = *self;
        let excluded =
            self.judgement.excluded.iter().filter(move |e| chosen.has_contender(&e.contender));
        excluded.map(|e| format!("block {}, {}: {}", e.block, e.contender, e.reason))
    }

    /// Returns whether a contender is exported.
    pub(super) fn has_contender(&self, name: &ContenderName) -> bool {
        self.contenders.is_empty() || self.contenders.contains(name)
    }

    /// Returns whether a cell is exported; metrics of the start have no cell.
    pub(super) fn has_cell(&self, name: Option<&str>) -> bool {
        self.cells.is_empty() || name.is_some_and(|name| self.cells.iter().any(|cell| cell == name))
    }

    /// Returns whether pictures show a metric.
    pub(super) fn has_metric(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }

    /// Returns whether a cell and a contender are exported.
    pub(super) fn has(&self, cell: Option<&str>, contender: &ContenderName) -> bool {
        self.has_cell(cell) && self.has_contender(contender)
    }

    /// Returns what the times of a cell are: a load without a schedule has no latency.
    pub(super) fn times_of(&self, cell: &str) -> &'static str {
        let cells = &self.record.header.experiment.cells;
        let is_scheduled =
            cells.iter().find(|of| of.name == cell).is_some_and(|of| of.load.has_schedule());
        if is_scheduled { "latency" } else { "service time" }
    }

    /// Returns every trial, with the reason if no verdict uses it, in the order of the run.
    pub(super) fn trials(&self) -> impl Iterator<Item = (&'a Trial, Option<&'a str>)> + use<'a> {
        let chosen = *self;
        let trials = self.record.trials.iter().filter(move |t| chosen.has_contender(&t.contender));
        trials.map(move |trial| {
            let excluded = chosen
                .judgement
                .excluded
                .iter()
                .find(|e| e.contender == trial.contender && e.block == trial.block);
            (trial, excluded.map(|e| e.reason.as_str()))
        })
    }

    /// Returns every measurement, with the reason if no verdict uses its trial.
    pub(super) fn all_measurements(
        &self,
    ) -> impl Iterator<Item = (Made<'a>, Option<&'a str>)> + use<'a> {
        let chosen = *self;
        self.trials().flat_map(move |(trial, excluded)| {
            let measurements =
                trial.measurements.iter().filter(move |m| chosen.has_cell(Some(&m.cell)));
            measurements.map(move |measurement| (Made { trial, measurement }, excluded))
        })
    }

    /// Returns every measurement of a trial that verdicts use.
    ///
    /// # Errors
    /// There is no such measurement.
    pub(super) fn measurements(&self) -> Result<Vec<Made<'a>>, Problems> {
        let made: Vec<Made<'a>> = self
            .all_measurements()
            .filter(|(_, excluded)| excluded.is_none())
            .map(|(made, _)| made)
            .collect();
        if made.is_empty() {
            return Err(Problems::plain(
                "nothing can be written: there is no measurement that verdicts use",
                "a search for a capacity has none, and trials that failed or are unsound are left out",
            ));
        }
        Ok(made)
    }
}

/// A measurement and its trial.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// One of its measurements.
    pub measurement: &'a Measurement,
}

impl<'a> Made<'a> {
    /// Returns the beginning of a file name: `closed-64.proxy-gin.block-3`.
    pub(super) fn stem(&self) -> String {
        format!(
            "{}.{}.block-{}",
            percent_encoded(&self.measurement.cell),
            self.trial.contender,
            self.trial.block
        )
    }

    /// Returns when it began, in milliseconds since 1970. The record has the beginning of its trial
    /// to a second.
    pub(super) fn began_ms(&self) -> Result<i64, Problems> {
        let after_ms =
            i64::try_from(self.measurement.began_after_ns / 1_000_000).unwrap_or(i64::MAX);
        instant_ms(&self.trial.started_at).map(|ms| ms.saturating_add(after_ms)).ok_or_else(|| {
            let (block, contender, at) = (self.trial.block, &self.trial.contender, &self.trial.started_at);
            Problems::plain(
                format!("block {block}, {contender}: the record has {at:?} as its time, which cannot be read"),
                "formats without instants, such as csv, can be written of it",
            )
        })
    }

    /// Returns everything that was timed, by name.
    pub(super) fn distributions(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'a Histogram)> + use<'a> {
        let m = self.measurement;
        let all = [
            ("latency", m.latency.as_ref()),
            ("service", Some(&m.service)),
            ("lag", m.generator.lag.as_ref()),
            ("connect", m.generator.connect.as_ref()),
        ];
        all.into_iter()
            .filter_map(|(name, times)| Some((name, times.filter(|times| !times.is_empty())?)))
    }
}

/// Reads an instant of a record, in milliseconds since 1970.
pub(super) fn instant_ms(text: &str) -> Option<i64> {
    text.parse().ok().map(jiff::Timestamp::as_millisecond)
}
