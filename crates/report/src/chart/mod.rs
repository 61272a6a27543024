//! The engine that draws every SVG of this crate: exported pictures, pictures of articles, and the
//! charts of `faceoff serve`.
//!
//! - `canvas.rs`: elements from top to bottom, colours, and text that is cut to its room.
//! - `scales.rs`: axes and their ticks, also those that the report's own charts use.
//! - `look.rs`: colour, mark and dash of each name.
//! - `panel.rs`: lines, marks and intervals over two axes.
//! - `ratio_bars.rs`: intervals of ratios around 1.

pub(crate) mod canvas;
pub(crate) mod look;
pub(crate) mod panel;
pub(crate) mod ratio_bars;
pub(crate) mod scales;
