//! Symptoms, which are causes visible in the shape of the data, as the report shows them.

use crate::number::round;
use record::judgement as judged;
use record::judgement::Judgement;
use serde::Serialize;

/// A cause that is visible in the shape of the data.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Symptom {
    /// `delayed-ack`
    kind: String,
    contender: String,
    cell: Option<String>,
    sentence: String,
    hint: String,
    picture: Picture,
}

/// A small chart: lines or bars over one axis.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Picture {
    title: String,
    /// The horizontal axis, with its unit.
    x: String,
    /// The vertical axis, with its unit.
    y: String,
    /// Whether points are bars, each from its x to the next, or a line.
    bars: bool,
    series: Vec<PictureSeries>,
    /// Places on the horizontal axis to point at.
    marks: Vec<PictureMark>,
}

/// A named line or row of bars.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct PictureSeries {
    name: String,
    points: Vec<[f64; 2]>,
}

/// A place on the horizontal axis with its text.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct PictureMark {
    at: f64,
    text: String,
}

/// The symptoms in the order of the judgement.
pub(super) fn symptoms(judgement: &Judgement) -> Vec<Symptom> {
    let symptom = |s: &judged::Symptom| Symptom {
        kind: s.kind.clone(),
        contender: s.contender.to_string(),
        cell: s.cell.clone(),
        sentence: s.sentence.clone(),
        hint: s.hint.clone(),
        picture: picture(&s.picture),
    };
    judgement.symptoms.iter().map(symptom).collect()
}

fn picture(p: &judged::Picture) -> Picture {
    let series = p.series.iter().map(|(name, points)| PictureSeries {
        name: name.clone(),
        points: points.iter().map(|(x, y)| [round(*x), round(*y)]).collect(),
    });
    let marks = p.marks.iter().map(|(at, text)| PictureMark { at: round(*at), text: text.clone() });
    Picture {
        title: p.title.clone(),
        x: p.x.clone(),
        y: p.y.clone(),
        bars: p.bars,
        series: series.collect(),
        marks: marks.collect(),
    }
}
