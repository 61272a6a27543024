//! Where a kind of fault can be found, and on which measurements its check is possible.
//!
//! Each row of `kinds.rs` has a [`Look`]. The short functions below are its vocabulary: whether a
//! check applies to a measurement, and whether the measurement has the readings that it needs.

use super::generator::{ARRIVALS_FEWEST, LITTLE_FEWEST};
use super::seen::{Found, Seen};
use super::series;
use record::capacity::CapacitySearch;
use record::{Circumstances, Header, Measurement, Record};
use spec::experiment::Load;

/// Where a fault can be found.
pub(super) enum Look {
    /// In the readings of a measurement.
    Measurement(OfMeasurement),
    /// In the readings of a measurement or in a search for a capacity.
    MeasurementOrSearch(OfMeasurement, OfSearch),
    /// In neither: what it is a fault of, and in how many of these it applies and could be found.
    Elsewhere { of: &'static str, reach: fn(&Record, usize) -> (usize, usize) },
    /// In a cell that no verdict uses.
    Apart,
}

/// How a measurement is checked.
pub(super) struct OfMeasurement {
    /// Whether the check applies to the measurement.
    pub applies: fn(&Seen<'_>) -> bool,
    /// Whether the measurement has the readings that the check needs.
    pub can: fn(&Seen<'_>) -> bool,
    /// The fault, if there is one.
    pub find: fn(&Seen<'_>) -> Option<Found>,
}

/// How a search for a capacity is checked.
pub(super) struct OfSearch {
    /// Whether the search has the readings that the check needs.
    pub can: fn(&CapacitySearch) -> bool,
    /// The fault, if there is one.
    pub find: fn(&CapacitySearch, &Header) -> Option<Found>,
}

impl Look {
    /// The check of a measurement.
    pub fn of_measurement(&self) -> Option<&OfMeasurement> {
        match self {
            Look::Measurement(check) | Look::MeasurementOrSearch(check, _) => Some(check),
            Look::Elsewhere { .. } | Look::Apart => None,
        }
    }

    /// The check of a search.
    pub fn of_search(&self) -> Option<&OfSearch> {
        match self {
            Look::MeasurementOrSearch(_, check) => Some(check),
            Look::Measurement(_) | Look::Elsewhere { .. } | Look::Apart => None,
        }
    }
}

pub(super) const fn measurement(
    can: fn(&Seen<'_>) -> bool,
    find: fn(&Seen<'_>) -> Option<Found>,
) -> Look {
    Look::Measurement(OfMeasurement { applies: always, can, find })
}

pub(super) const fn only(
    applies: fn(&Seen<'_>) -> bool,
    can: fn(&Seen<'_>) -> bool,
    find: fn(&Seen<'_>) -> Option<Found>,
) -> OfMeasurement {
    OfMeasurement { applies, can, find }
}

pub(super) const fn trials(reach: fn(&Record, usize) -> (usize, usize)) -> Look {
    Look::Elsewhere { of: "trials", reach }
}

pub(super) fn m<'a>(seen: &Seen<'a>) -> &'a Measurement {
    seen.measurement
}

pub(super) fn around<'a>(seen: &Seen<'a>) -> Option<&'a Circumstances> {
    seen.circumstances()
}

pub(super) fn always(_: &Seen<'_>) -> bool {
    true
}

pub(super) fn by_agents(seen: &Seen<'_>) -> bool {
    seen.is_by_agents()
}

pub(super) fn by_us(seen: &Seen<'_>) -> bool {
    !seen.is_by_agents()
}

pub(super) fn is_sliced(seen: &Seen<'_>) -> bool {
    seen.is_sliced()
}

pub(super) fn is_alone(seen: &Seen<'_>) -> bool {
    !seen.is_sliced()
}

pub(super) fn arrives(seen: &Seen<'_>) -> bool {
    matches!(seen.cell.load, Load::Arrivals { .. })
}

pub(super) fn has_lag(seen: &Seen<'_>) -> bool {
    m(seen).generator.lag.is_some()
        && m(seen).latency.as_ref().is_some_and(|times| !times.is_empty())
}

pub(super) fn has_arrivals(seen: &Seen<'_>) -> bool {
    arrives(seen) && m(seen).generator.sent_at_us.len() >= ARRIVALS_FEWEST
}

pub(super) fn has_in_flight(seen: &Seen<'_>) -> bool {
    m(seen).generator.in_flight_mean.is_some() && m(seen).counts.correct >= LITTLE_FEWEST
}

pub(super) fn has_tenths(seen: &Seen<'_>) -> bool {
    !series::changes_by_design(&seen.cell.load)
        && m(seen).generator.correct_per_tenth.len() >= series::WINDOWS_FEWEST
}

pub(super) fn has_steal(seen: &Seen<'_>) -> bool {
    around(seen).is_some_and(|c| c.steal_share().is_some())
}

pub(super) fn has_tcp(seen: &Seen<'_>) -> bool {
    around(seen).is_some_and(|c| c.tcp.is_some())
}
