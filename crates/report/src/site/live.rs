//! A run that goes on, told from its record, where what has ended stands, and from the file beside it that says what is under way.

use super::chart::{Line, class, intervals, plot};
use super::{Html, Link, Page, state};
use model::judgement::{Verdict, show_confidence};
use model::record::{Measurement, Record, Second, Trial};
use model::under_way::UnderWay;
use model::units::{show_duration, show_number, show_short};
use std::time::Duration;

/// Between two readings of the page.
const AGAIN_S: u32 = 5;
/// The most verdicts with a line of their own.
const MOST: usize = 60;
/// The most blocks whose intervals stand one below the other.
const MOST_BLOCKS: usize = 6;

/// A run as it stands.
pub struct Live<'a> {
    /// Names it within the site.
    pub id: &'a str,
    /// The record so far.
    pub record: &'a Record,
    /// After so many complete blocks, what they came to; rising.
    pub judged: &'a [(u32, Vec<Verdict>)],
    /// The trial under way, where the process that measures it says so.
    pub under_way: Option<&'a UnderWay>,
    /// How long ago something was last written into it.
    pub silent: Duration,
    /// Whether that is so long that nobody may be at it any more.
    pub is_given_up: bool,
    /// CPU time that this site used since it was first asked for the run.
    pub cpu: Duration,
    /// How long ago that was.
    pub watched: Duration,
    /// Whether the reader wants the page to stand still.
    pub is_still: bool,
}

/// The page of a run that goes on.
pub fn live(live: &Live<'_>) -> Page {
    let record = live.record;
    let has_ended = record.ended().is_some();
    let body = Html::default()
        .put(standing(live, has_ended))
        .put(live.under_way.map_or_else(Html::default, under_way))
        .raw("<h2>Verdicts so far</h2>\n")
        .put(verdicts(live))
        .raw("<h2>Trials</h2>\n")
        .put(strip(record, has_ended))
        .put(record.trials.last().map_or_else(Html::default, last_trial))
        .element("<p class=\"small\">", cost(live), "</p>\n");
    let mut page = Page::new(record.header.experiment.question.clone(), body);
    page.above = Html::default().raw(" ").link(&Link::of("/records/", live.id), "The page of this record");
    page.again_s = (!has_ended && !live.is_still && !live.is_given_up).then_some(AGAIN_S);
    page
}

/// How far it is, and what is under way.
fn standing(live: &Live<'_>, has_ended: bool) -> Html {
    let record = live.record;
    let planned = record.header.experiment.design.blocks;
    let (done, missing) = (record.trials.len(), record.missing());
    let first = format!(
        "{} of at most {planned} blocks are complete; {done} trials have ended, {} may follow.",
        record.complete_blocks(),
        missing.len()
    );
    let ago = show_duration(live.silent);
    let left =
        || time_left(&record.trials, missing.len()).map_or(String::new(), |left| format!(" About {} left at most.", show_duration(left)));
    let now = match (live.under_way.filter(|_| !has_ended), missing.first()) {
        _ if has_ended => format!("The run has ended: {}.", state(record)),
        (Some(told), _) => format!("Under way since {ago}: {}, block {}.{}", told.contender, told.block, left()),
        _ if live.is_given_up => {
            format!(
                "Nothing was written for {ago}, longer than a trial takes: the run seems to have broken off. `faceoff run --resume` goes on with it."
            )
        }
        (None, Some(_)) if done == 0 => format!("Answers are being proved, then the first trial begins. Last written {ago} ago."),
        (None, Some((block, position, who))) => {
            format!("Under way since {ago}: {who}, block {block}, position {position}. It is read here once it has ended.{}", left())
        }
        (None, None) => format!("The last trial has ended {ago} ago."),
    };
    let still = Link::of("/records/", live.id).then("/live");
    let switch = match (has_ended || live.is_given_up, live.is_still) {
        (true, _) => Html::default(),
        (false, true) => {
            Html::default().raw("<p class=\"small\">This page stands still. ").link(&still, "Follow the run again").raw("</p>\n")
        }
        (false, false) => Html::default()
            .element("<p class=\"small\">This page is read again every ", AGAIN_S, " seconds. ")
            .link(&still.with("still", "1"), "Have it stand still")
            .raw("</p>\n"),
    };
    Html::default().element("<p class=\"lead\">", first, "</p>\n").element("<p class=\"lead\">", now, "</p>\n").put(switch)
}

/// As long as the trials before took, from the beginning of the first to that of the last.
fn time_left(trials: &[Trial], missing: usize) -> Option<Duration> {
    let at = |trial: &Trial| trial.started_at.parse::<jiff::Timestamp>().ok();
    let took = at(trials.last()?)?.duration_since(at(trials.first()?)?);
    let each = u32::try_from(trials.len()).ok()?.checked_sub(1).filter(|n| *n > 0)?;
    (Duration::try_from(took).ok()? / each).checked_mul(u32::try_from(missing).ok()?)
}

fn verdicts(live: &Live<'_>) -> Html {
    let Some((blocks, newest)) = live.judged.last() else {
        return Html::default().raw("<p class=\"empty\">None yet: they come with the first complete block.</p>\n");
    };
    let is_told = |v: &&Verdict| !v.metric.describe().by_difference || v.value != Some(0.0) || v.baseline_value != Some(0.0);
    let earlier: Vec<&(u32, Vec<Verdict>)> = live.judged.iter().rev().take(MOST_BLOCKS).rev().collect();
    let rows = newest.iter().filter(is_told).take(MOST).map(|v| {
        let is_same = |w: &&Verdict| w.cell == v.cell && w.contender == v.contender && w.metric == v.metric;
        let narrowing: Vec<&Verdict> = earlier.iter().filter_map(|(_, verdicts)| verdicts.iter().find(is_same)).collect();
        let confidence = v.interval.map_or(String::new(), |_| format!(" at {}", show_confidence(v.confidence)));
        Html::default()
            .element("<tr><th scope=\"row\">", v.metric.describe().label, "</th>")
            .element("<td><bdi>", v.cell.as_deref().unwrap_or("start"), "</bdi></td>")
            .element("<td><bdi>", &v.contender, "</bdi></td><td><span class=\"outcome ")
            .raw(class(v.outcome))
            .element("\">", v.outcome.name(), "</span> ")
            .text(format_args!("{}{confidence}", v.phrase()))
            .raw("</td><td>")
            .put(intervals(&v.phrase(), &narrowing))
            .raw("</td></tr>\n")
    });
    let told: Vec<String> = earlier.iter().map(|(blocks, _)| blocks.to_string()).collect();
    let baseline = &live.record.header.experiment.baseline;
    let more = newest.iter().filter(is_told).count().saturating_sub(MOST);
    let body = Html::default()
        .element(
            "<p class=\"lead\">",
            format_args!(
                "After {blocks} complete block{}, against {baseline}. A run that is looked at early may end early, so each interval is as wide as such a look asks for.",
                if *blocks == 1 { "" } else { "s" }
            ),
            "</p>\n",
        )
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"verdicts\"><thead><tr><th>Metric</th><th>Cell</th><th>Contender</th><th>Verdict</th><th>")
        .text(format_args!("Ratio after {} blocks, the newest lowest; the band is the margin", told.join(", ")))
        .raw("</th></tr></thead><tbody>\n")
        .all(rows)
        .raw("</tbody></table></div>\n");
    if more > 0 {
        body.element("<p class=\"note\">", format_args!("{more} more stand on the page of this record."), "</p>\n")
    } else {
        body
    }
}

/// A row a block: who was measured in which order, and how it went.
fn strip(record: &Record, has_ended: bool) -> Html {
    let missing = record.missing();
    let next = missing.first().filter(|_| !has_ended);
    let begun = record.trials.iter().map(|t| t.block).max().unwrap_or(0).max(1);
    let rows =
        (1..).zip(&record.header.plan).take_while(|(block, _)| *block <= begun.max(next.map_or(0, |n| n.0))).map(|(block, order)| {
            let cells = (1..).zip(order).map(|(position, who)| {
                let trial = record.trials.iter().find(|t| t.block == block && t.contender == *who);
                let (kind, said) = match trial {
                    Some(trial) => ended(trial),
                    None if next.is_some_and(|n| (n.0, n.1) == (block, position)) => ("now", "under way".to_owned()),
                    None if missing.iter().any(|m| (m.0, m.1) == (block, position)) => ("to-come", "to come".to_owned()),
                    None => ("to-come", "not measured".to_owned()),
                };
                Html::default()
                    .raw("<td class=\"")
                    .raw(kind)
                    .element("\"><span class=\"who\"><bdi>", who, "</bdi></span> <span class=\"small\">")
                    .text(said)
                    .raw("</span></td>")
            });
            Html::default().element("<tr><th scope=\"row\">block ", block, "</th>").all(cells).raw("</tr>\n")
        });
    Html::default()
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"strip\"><tbody>\n")
        .all(rows)
        .raw("</tbody></table></div>\n")
}

fn ended(trial: &Trial) -> (&'static str, String) {
    match (&trial.failure, trial.faults.first()) {
        (Some(failure), _) => ("excluded", format!("failed ({}): {}", failure.stage, failure.cause)),
        (None, Some(fault)) => ("excluded", format!("fault: {}", fault.kind)),
        (None, None) => ("", "done".to_owned()),
    }
}

/// What the trial under way does, and the curves of its measurement so far.
fn under_way(told: &UnderWay) -> Html {
    let title = format!("The trial under way: {}, block {}", told.contender, told.block);
    let doing = if told.doing.is_empty() { "begins" } else { told.doing.as_str() };
    let body = Html::default().element("<h2>", title, "</h2>\n<p class=\"lead\"><bdi>").text(doing).raw("</bdi></p>\n");
    let Some(last) = told.seconds.last() else { return body };
    let show = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| show_short(ns as f64));
    let words = format!(
        "Second {} of this measurement: {} right answers, {} others; median {}, 99th percentile {}, longest {}.",
        u64::from(told.left_out) + told.seconds.len() as u64,
        show_number(last.correct as f64),
        show_number(last.not_correct as f64),
        show(last.p50_ns),
        show(last.p99_ns),
        show(last.max_ns)
    );
    let cell = told.cell.as_deref().unwrap_or(doing);
    body.element("<p>", words, "</p>\n<div class=\"charts\"><div>\n").put(curves(cell, told.left_out, &told.seconds)).raw("</div></div>\n")
}

/// The curves of the trial that ended last.
fn last_trial(trial: &Trial) -> Html {
    let title = format!("The trial that ended last: {}, block {}", trial.contender, trial.block);
    let charts = trial.measurements.iter().map(|m| {
        Html::default()
            .element("<div><h3>", &m.cell, " <small>")
            .text(in_words(m))
            .raw("</small></h3>\n")
            .put(curves(&m.cell, 0, &m.seconds))
            .raw("</div>\n")
    });
    Html::default().element("<h2>", title, "</h2>\n<div class=\"charts\">\n").all(charts).raw("</div>\n")
}

/// Rate and latency over the seconds of a measurement that follow so many others.
fn curves(cell: &str, after: u32, seconds: &[Second]) -> Html {
    let column = |of: &dyn Fn(&Second) -> Option<f64>| -> Vec<(f64, Option<f64>)> {
        (1u32..).zip(seconds).map(|(second, s)| (f64::from(after) + f64::from(second), of(s))).collect()
    };
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let line = |name: &str, class, points| Line { name: name.to_owned(), class, points };
    let rate = plot(
        &format!("Right answers a second in {cell}"),
        "seconds of the measurement",
        "right answers a second",
        &[line("right answers", "c1", column(&|s| Some(s.correct as f64)))],
    );
    let latency = plot(
        &format!("Latency in {cell}"),
        "seconds of the measurement",
        "ms",
        &[
            line("median", "c0", column(&|s| ms(s.p50_ns))),
            line("99th percentile", "c2", column(&|s| ms(s.p99_ns))),
            line("longest", "c4", column(&|s| ms(s.max_ns))),
        ],
    );
    rate.put(latency)
}

/// `4,812 right answers in 4.0 s, 0 failed`
fn in_words(m: &Measurement) -> String {
    let lasted = show_duration(Duration::from_nanos(m.duration_ns));
    format!("{} right answers in {lasted}, {} failed", m.counts.correct, m.counts.failed())
}

fn cost(live: &Live<'_>) -> String {
    let share = 100.0 * live.cpu.as_secs_f64() / live.watched.as_secs_f64().max(1e-3);
    format!(
        "Watching has used {} of CPU time in {} ({} % of one CPU); records are read and judged where no other program wants the CPU. Nothing is written.",
        show_duration(live.cpu),
        show_duration(live.watched),
        show_number(share)
    )
}
