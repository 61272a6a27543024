//! The upper part of every exported picture: the question and a title.

use crate::chart::canvas::{Canvas, EDGE, INK, MUTED};
use crate::export::source::Source;

/// The most panels of a picture.
pub(super) const PANELS: usize = 24;

/// Begins a picture with the question of the experiment and a title.
pub(super) fn heading(source: &Source<'_>, title: &str) -> Canvas {
    let mut canvas = Canvas::new();
    canvas.paragraph(
        EDGE,
        110,
        &format!("font-size=\"14\" fill=\"{MUTED}\""),
        &source.record.header.experiment.question,
    );
    canvas.y += 4.0;
    canvas.paragraph(
        EDGE,
        100,
        &format!("font-size=\"16\" font-weight=\"600\" fill=\"{INK}\""),
        title,
    );
    canvas.y += 8.0;
    canvas
}
