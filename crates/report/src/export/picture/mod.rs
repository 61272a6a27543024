//! Pictures of a record as SVG: each in one file without fonts or scripts of its own, readable without colour, and bounded whatever a record holds.

mod canvas;
mod curves;
mod heat;
mod over_time;
mod panel;
mod verdicts;

use super::Source;
use canvas::{Canvas, EDGE, INK, LINE, MUTED};
use model::problem::Problems;
use over_time::Reading;
use panel::{Looks, Panel};

/// The most panels of a picture.
const PANELS: usize = 24;

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// Contender against baseline: an interval for each claim and cell, or for each verdict.
    Verdicts,
    /// Every metric over the levels of what was swept.
    Sweeps,
    /// How often each level was kept where a capacity was looked for.
    Capacities,
    /// Latency by quantile.
    Quantiles,
    /// What each factor adds, where factors are crossed.
    Effects,
    /// From the start of each process to its first right answer.
    Starts,
    /// How each start warmed up.
    WarmUp,
    /// Each trial from the start of its process to its end.
    Trials,
    /// Right answers by second.
    Rate,
    /// Median latency by second.
    LatencyP50,
    /// 99th percentile of latency by second.
    LatencyP99,
    /// Longest latency by second.
    LatencyMax,
    /// Latency by second and trial, as steps from light to dark.
    Heat,
    /// CPU time over time.
    Cpu,
    /// Memory over time.
    Memory,
    /// Threads over time.
    Threads,
    /// Open descriptors over time.
    Descriptors,
    /// What shows the causes that were found.
    Symptoms,
}

impl Chart {
    /// All of them.
    pub const ALL: [Chart; 18] = [
        Chart::Verdicts,
        Chart::Sweeps,
        Chart::Capacities,
        Chart::Quantiles,
        Chart::Effects,
        Chart::Starts,
        Chart::WarmUp,
        Chart::Trials,
        Chart::Rate,
        Chart::LatencyP50,
        Chart::LatencyP99,
        Chart::LatencyMax,
        Chart::Heat,
        Chart::Cpu,
        Chart::Memory,
        Chart::Threads,
        Chart::Descriptors,
        Chart::Symptoms,
    ];

    /// As it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Chart::Verdicts => "verdicts",
            Chart::Sweeps => "sweeps",
            Chart::Capacities => "capacities",
            Chart::Quantiles => "quantiles",
            Chart::Effects => "effects",
            Chart::Starts => "starts",
            Chart::WarmUp => "warm-up",
            Chart::Trials => "trials",
            Chart::Rate => "rate",
            Chart::LatencyP50 => "latency-p50",
            Chart::LatencyP99 => "latency-p99",
            Chart::LatencyMax => "latency-max",
            Chart::Heat => "heat",
            Chart::Cpu => "cpu",
            Chart::Memory => "memory",
            Chart::Threads => "threads",
            Chart::Descriptors => "descriptors",
            Chart::Symptoms => "symptoms",
        }
    }

    /// That of a name.
    pub fn named(name: &str) -> Option<Chart> {
        Chart::ALL.into_iter().find(|chart| chart.name() == name)
    }

    /// Whether it shows metrics, of which some can be chosen.
    pub fn has_metrics(self) -> bool {
        matches!(self, Chart::Verdicts | Chart::Sweeps | Chart::Effects)
    }

    fn title(self) -> &'static str {
        match self {
            Chart::Verdicts => "Contenders against the baseline",
            Chart::Sweeps => "What changes with what was swept",
            Chart::Capacities => "How much each carries",
            Chart::Quantiles => "Latency by quantile",
            Chart::Effects => "What each factor adds",
            Chart::Starts => "Starts",
            Chart::WarmUp => "Warm-up",
            Chart::Trials => "Each trial, from the start of its process",
            Chart::Rate => "Right answers over time",
            Chart::LatencyP50 => "Median latency over time",
            Chart::LatencyP99 => "99th percentile of latency over time",
            Chart::LatencyMax => "Longest latency over time",
            Chart::Heat => "Latency by second and trial",
            Chart::Cpu => "CPU over time",
            Chart::Memory => "Memory over time",
            Chart::Threads => "Threads over time",
            Chart::Descriptors => "Open descriptors over time",
            Chart::Symptoms => "What points to causes",
        }
    }

    /// How it is read.
    fn note(self) -> &'static str {
        match self {
            Chart::Verdicts | Chart::Symptoms | Chart::Heat => "",
            Chart::Trials => "Medians: of windows of the warm-up, then of each second of each cell. ",
            Chart::Sweeps => "Bars: intervals over blocks, each by itself. A dashed upright: lines cross there, and that is sure. ",
            Chart::Capacities => "At 50 %: capacities with their intervals over blocks. Small: probes, above where kept, below where not. ",
            Chart::Quantiles => "Over all trials that verdicts use. ",
            Chart::Effects => "An interval that holds 0 may be no effect at all. ",
            Chart::Starts => "Hollow: a start that no verdict uses. ",
            _ => "A line a trial; dotted with hollow marks: no verdict uses it. ",
        }
    }

    fn panels(self, source: &Source<'_>) -> Vec<Panel> {
        let reading = |reading| over_time::readings(source, reading);
        match self {
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
}

/// A picture of a record, in one file.
///
/// # Errors
/// The record has nothing of it; which pictures there are is said.
pub fn svg(source: &Source<'_>, chart: Chart) -> Result<String, Problems> {
    drawn(source, chart).ok_or_else(|| {
        let others: Vec<&str> = Chart::ALL.into_iter().filter(|other| drawn(source, *other).is_some()).map(Chart::name).collect();
        let hint = format!("of what was chosen there is {}; a longer run, or another experiment, has more", others.join(", "));
        Problems::plain(format!("there is nothing to draw: no {}", chart.name()), hint)
    })
}

fn drawn(source: &Source<'_>, chart: Chart) -> Option<String> {
    match chart {
        Chart::Verdicts => Some(verdicts::svg(source)),
        Chart::Heat => heat::svg(source),
        _ => {
            let panels = chart.panels(source);
            (!panels.is_empty()).then(|| of_panels(source, chart, &panels))
        }
    }
}

/// A picture that begins with what was asked, and what it shows.
fn head(source: &Source<'_>, title: &str) -> Canvas {
    let mut canvas = Canvas::new();
    canvas.paragraph(EDGE, 110, &format!("font-size=\"14\" fill=\"{MUTED}\""), &source.record.header.experiment.question);
    canvas.y += 4.0;
    canvas.paragraph(EDGE, 100, &format!("font-size=\"16\" font-weight=\"600\" fill=\"{INK}\""), title);
    canvas.y += 8.0;
    canvas
}

fn of_panels(source: &Source<'_>, chart: Chart, all: &[Panel]) -> String {
    let panels = &all[..all.len().min(PANELS)];
    // Lines of these are called otherwise than contenders.
    let names = panels.iter().flat_map(|panel| &panel.series).map(|series| series.who.clone());
    let contenders = source.record.header.contenders.iter().map(|p| p.name.to_string());
    let baseline = source.judgement.baseline.to_string();
    let looks = match chart {
        Chart::Symptoms | Chart::Effects | Chart::Trials => Looks::of(names, None),
        _ => Looks::of(contenders.chain(names), Some(&baseline)),
    };
    let mut canvas = head(source, chart.title());
    let is_cut = panel::draw(&mut canvas, panels, &looks);
    canvas.y += LINE;
    let cut = if is_cut { "Of what is too long or too much, the peaks and the first are drawn. " } else { "" };
    let more = if all.len() > PANELS { format!("{} more panels are not drawn.", all.len() - PANELS) } else { String::new() };
    let key = format!("{}{cut}{more}", chart.note());
    if !key.is_empty() {
        canvas.paragraph(EDGE, 130, &format!("font-size=\"12\" fill=\"{MUTED}\""), key.trim_end());
    }
    canvas.document(&format!("{}: {}", chart.title(), source.record.header.experiment.question))
}
