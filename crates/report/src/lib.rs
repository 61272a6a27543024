//! From a record and its judgement to a page and to text. Computes no statistic:
//! every number comes from one of the two.

mod answer;
mod articles;
mod believe;
mod effects;
pub mod export;
mod gate;
mod judged;
mod page;
mod scales;
pub mod site;
mod text;
mod witnesses;

pub use answer::{Answer, answer};
pub use articles::{Tried, articles};
pub use gate::{Gate, gate};
pub use page::{html, policy};
pub use text::{summary, verdict_table};
