//! From a record and its judgement to the report, text, a site and files for other tools. This
//! crate computes no statistic: every number is in the record or in the judgement.
//!
//! - `wording/`: the sentences about a judgement, used by everything below.
//! - `page/`: the report, one HTML file, and the type of its data.
//! - `terminal/`: the end of a run in the terminal. `gate.rs`: the result of a gate in CI.
//! - `chart/`: the engine that draws every SVG. `export/`: files for other tools.
//! - `site/`: the pages of `faceoff serve`. `articles/`: the pages about articles.
//!
//! Start with `page/data.rs` and `wording/answer.rs`.

mod articles;
mod chart;
mod escape;
pub mod export;
mod gate;
mod machine;
mod number;
mod page;
pub mod site;
mod stacks;
mod terminal;
mod wording;

pub use articles::{PICTURES, Results, Study, Tried, article_site, results};
pub use gate::{Gate, gate};
pub use page::{html, policy};
pub use terminal::{summary, verdict_table, why};
pub use wording::answer::{Answer, answer, so_far};
