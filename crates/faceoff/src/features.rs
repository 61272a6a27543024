//! Optional features of the build: what a command answers that was compiled without one.

use model::problem::Problems;

/// A refusal that names the feature that this build lacks, and how to get it.
///
/// `ability` completes "this build of faceoff cannot", such as "write Parquet".
#[cfg_attr(feature = "full", allow(dead_code))]
pub fn missing(feature: &str, ability: &str) -> Problems {
    Problems::plain(
        format!("this build of faceoff cannot {ability}: it was compiled without the feature `{feature}`"),
        format!(
            "install a released faceoff, which has every feature, or compile it with \
             `cargo build --release --locked -p faceoff --features {feature}`"
        ),
    )
}
