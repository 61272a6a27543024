//! The pages of `faceoff serve`, as HTML without a script. They compute no statistic: every number
//! is in a record or in a judgement.
//!
//! One file for each page: `list.rs`, `compare.rs`, `over_time.rs` and `live.rs`. `html.rs` escapes
//! everything that a record holds, and `chart.rs` draws with the engine of `crate::chart`.

mod brief;
mod chart;
mod compare;
mod html;
mod list;
mod live;
mod over_time;

pub use brief::{Brief, BriefResult};
pub use compare::compare;
pub(crate) use html::EXPORTED;
pub use html::{Frame, Html, Link, Page, refusal};
pub use list::{Choice, list};
pub use live::{Live, live};
pub use over_time::{OverTime, key, over_time};

use crate::chart::canvas::dark_rules_of_site;

/// The style of the report, in the order of `web/src/style.css`.
const STYLE_OF_REPORT: [&str; 4] = [
    include_str!("../../../../web/src/style/base.css"),
    include_str!("../../../../web/src/style/sections.css"),
    include_str!("../../../../web/src/style/charts.css"),
    include_str!("../../../../web/src/style/trials.css"),
];

/// Returns the style of all pages: that of the report, and additions of the site.
pub fn style() -> String {
    [&STYLE_OF_REPORT.concat(), include_str!("style.css"), &dark_rules_of_site()].concat()
}
