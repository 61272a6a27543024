//! A record and its judgement as files for other tools. Every number is in one of the two. If a
//! format needs what a record lacks, the command reports it or refuses the file with the reason
//! (docs/guide/export.md).
//!
//! `source.rs` selects what is exported; every other file writes one format. `picture/` draws SVG,
//! and `stacks/` writes profiles.

#[cfg(feature = "parquet")]
mod columns;
mod hdr;
mod junit;
mod markdown;
mod metrics;
mod openmetrics;
mod picture;
#[cfg(feature = "png")]
mod png;
mod source;
mod stacks;
mod tables;

#[cfg(feature = "parquet")]
pub use columns::parquet;
pub use hdr::{LogInterval, hdr, hdr_log, hgrm, spectrum};
pub use junit::junit;
pub use markdown::markdown;
pub(crate) use markdown::plain as markdown_text;
pub use openmetrics::openmetrics;
pub(crate) use picture::{Bar, claims_svg, factors_svg};
pub use picture::{Chart, svg};
#[cfg(feature = "png")]
pub use png::png;
pub use source::{File, Source};
pub use stacks::{firefox, folded, pprof, speedscope};
pub use tables::{Field, Kind, Of, Table, csv, table};
