//! Pictures of a record as SVG. Each is one file without fonts or scripts of its own, readable
//! without colour, and bounded in size whatever a record holds.
//!
//! `kind.rs` lists the charts. `curves.rs` and `over_time.rs` fill the panels of most;
//! `verdicts.rs` and `heat.rs` draw two of another form. `claims.rs` draws pictures for pages about
//! articles. The engine is `crate::chart`. Start with [`svg`].

mod claims;
mod curves;
mod heat;
mod kind;
mod over_time;
mod sheet;
mod verdicts;

pub(crate) use claims::{Bar, claims_svg, factors_svg};
pub use kind::Chart;

use super::source::Source;
use crate::chart::canvas::{EDGE, LINE, MUTED};
use crate::chart::look::Looks;
use crate::chart::panel::{Panel, draw_panels};
use over_time::Reading;
use sheet::{PANELS, heading};
use spec::problem::Problems;

/// The panels of a chart; empty if the record has nothing for it.
fn panels(source: &Source<'_>, chart: Chart) -> Vec<Panel> {
    let reading = |reading| over_time::readings(source, reading);
    match chart {
        Chart::Verdicts | Chart::Heat => Vec::new(),
        Chart::Sweeps => curves::sweeps(source),
        Chart::Capacities => curves::capacities(source),
        Chart::Quantiles => curves::quantiles(source),
        Chart::Effects => curves::effects(source),
        Chart::Starts => over_time::starts(source),
        Chart::WarmUp => over_time::warm_ups(source),
        Chart::Trials => over_time::trials(source),
        Chart::Rate => reading(Reading::Rate),
        Chart::LatencyP50 => reading(Reading::P50),
        Chart::LatencyP99 => reading(Reading::P99),
        Chart::LatencyMax => reading(Reading::Max),
        Chart::Cpu => reading(Reading::Cpu),
        Chart::Memory => reading(Reading::Memory),
        Chart::Threads => reading(Reading::Threads),
        Chart::Descriptors => reading(Reading::Descriptors),
        Chart::Symptoms => curves::symptoms(source),
    }
}

/// Draws a picture of a record, in one file.
///
/// # Errors
/// The record has nothing for this chart. The hint lists the charts that it has something for.
pub fn svg(source: &Source<'_>, chart: Chart) -> Result<String, Problems> {
    drawn(source, chart).ok_or_else(|| {
        let others: Vec<&str> = Chart::ALL
            .into_iter()
            .filter(|other| drawn(source, *other).is_some())
            .map(Chart::name)
            .collect();
        let hint = format!(
            "your selection has {}; a longer run, or another experiment, has more",
            others.join(", ")
        );
        Problems::plain(format!("there is nothing to draw: no {}", chart.name()), hint)
    })
}

fn drawn(source: &Source<'_>, chart: Chart) -> Option<String> {
    match chart {
        Chart::Verdicts => Some(verdicts::verdicts_svg(source)),
        Chart::Heat => heat::heat_svg(source),
        _ => {
            let panels = panels(source, chart);
            (!panels.is_empty()).then(|| of_panels(source, chart, &panels))
        }
    }
}

fn of_panels(source: &Source<'_>, chart: Chart, all: &[Panel]) -> String {
    let panels = &all[..all.len().min(PANELS)];
    // Lines of some charts are not named after contenders.
    let names = panels.iter().flat_map(|panel| &panel.series).map(|series| series.who.clone());
    let contenders = source.record.header.contenders.iter().map(|p| p.name.to_string());
    let baseline = source.judgement.baseline.to_string();
    let looks = match chart {
        Chart::Symptoms | Chart::Effects | Chart::Trials => Looks::of_names(names, None),
        _ => Looks::of_names(contenders.chain(names), Some(&baseline)),
    };
    let mut canvas = heading(source, chart.title());
    let is_cut = draw_panels(&mut canvas, panels, &looks);
    canvas.y += LINE;
    let cut = if is_cut {
        "Long lines are drawn by their peaks, and of too many lines only the first. "
    } else {
        ""
    };
    let more = if all.len() > PANELS {
        format!("{} more panels are not drawn.", all.len() - PANELS)
    } else {
        String::new()
    };
    let key = format!("{}{cut}{more}", chart.note());
    if !key.is_empty() {
        canvas.paragraph(EDGE, 130, &format!("font-size=\"12\" fill=\"{MUTED}\""), key.trim_end());
    }
    canvas.document(&format!("{}: {}", chart.title(), source.record.header.experiment.question))
}
