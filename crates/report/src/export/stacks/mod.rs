//! The stacks of profiled blocks in the formats of other profilers. Each file writes one format.
//!
//! Blocks of a contender in a cell are added up. Start with [`chosen`], which selects them.

mod firefox;
mod folded;
mod pprof;
mod protobuf;
mod speedscope;

pub use firefox::firefox;
pub use folded::folded;
pub use pprof::pprof;
pub use speedscope::speedscope;

use super::source::Source;
use crate::stacks::{Merged, merge_profiles};
use spec::problem::Problems;

/// Returns the samples of the chosen contenders and cells.
///
/// # Errors
/// The record has no profile of any of them.
fn chosen<'a>(source: &Source<'a>) -> Result<Vec<Merged<'a>>, Problems> {
    let is_chosen =
        |profile: &&record::Profile| source.has(Some(&profile.cell), &profile.contender);
    let merged = merge_profiles(source.record.profiles.iter().filter(is_chosen));
    if !merged.is_empty() {
        return Ok(merged);
    }
    Err(match source.record.profiles.is_empty() {
        true => Problems::plain(
            "nothing can be written: the record has no profiles",
            "run the experiment with --profile",
        ),
        false => Problems::plain(
            "nothing can be written: no profile is of these cells and contenders",
            "leave out --cell and --contender to see all",
        ),
    })
}
