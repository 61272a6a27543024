//! Reads what load generators print for people, line by line.

mod ab;
mod fortio;
mod gatling;
mod go;
mod h2load;
mod hey;
mod k6;
mod tables;
mod wrk;

use super::run::Format;

pub use gatling::HINT as GATLING_HINT;
pub use go::OF_SAMPLES;
pub use k6::{depth as depth_of_k6, slot as slot_of_k6};
pub use tables::{loosen_rates as loosen_rates_of_autocannon, rounded_ms};

/// All formats. If two recognize a line, the first one applies.
pub const FORMATS: [Format; 13] = [
    tables::AUTOCANNON,
    wrk::WRK,
    h2load::H2LOAD,
    ab::AB,
    k6::K6,
    gatling::GATLING,
    go::VEGETA,
    go::BOMBARDIER,
    go::ZRK,
    fortio::FORTIO,
    tables::GOOSE,
    super::jmeter::SUMMARY,
    hey::HEY,
];
