//! A run under way: finished trials from its record, and the current one from the status file next
//! to the record. Start with [`live`].

use super::brief::run_state;
use super::chart::{Line, class, intervals, plot};
use super::html::{Html, Link, Page};
use record::judgement::{Verdict, show_confidence};
use record::run_status::RunStatus;
use record::{Measurement, Record, Second, Trial};
use spec::units::{show_duration, show_number, show_short};
use std::time::Duration;

/// Seconds until the browser loads the page again.
const AGAIN_S: u32 = 5;
/// The most verdicts that have a row.
const MOST: usize = 60;
/// The most blocks whose intervals are drawn below each other.
const MOST_BLOCKS: usize = 6;

/// The state of a run.
pub struct Live<'a> {
    /// Its name within the site.
    pub id: &'a str,
    /// The record so far.
    pub record: &'a Record,
    /// Numbers of complete blocks, rising, with the verdicts after them.
    pub judged: &'a [(u32, Vec<Verdict>)],
    /// The trial under way, if the process that measures it reports one.
    pub status: Option<&'a RunStatus>,
    /// The time since the last write to the record.
    pub silent: Duration,
    /// Whether that is so long that the run has probably been aborted.
    pub is_given_up: bool,
    /// CPU time that this site has used since the first request for the run.
    pub cpu: Duration,
    /// The time since that request.
    pub watched: Duration,
    /// Whether the reader has paused the page.
    pub is_still: bool,
}

/// Shows a run under way.
pub fn live(live: &Live<'_>) -> Page {
    let record = live.record;
    let has_ended = record.ended().is_some();
    let body = Html::default()
        .put(standing(live, has_ended))
        .put(live.status.map_or_else(Html::default, current_trial))
        .raw("<h2>Verdicts so far</h2>\n")
        .put(verdicts(live))
        .raw("<h2>Trials</h2>\n")
        .put(strip(record, has_ended))
        .put(record.trials.last().map_or_else(Html::default, last_trial))
        .element("<p class=\"small\">", cost(live), "</p>\n");
    let mut page = Page::new(record.header.experiment.question.clone(), body);
    page.above =
        Html::default().raw(" ").link(&Link::to("/records/", live.id), "The report of this record");
    page.again_s = (!has_ended && !live.is_still && !live.is_given_up).then_some(AGAIN_S);
    page
}

/// How far the run has come, and which trial is under way.
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
    let left = || {
        time_left(&record.trials, missing.len())
            .map_or(String::new(), |left| format!(" About {} left at most.", show_duration(left)))
    };
    let now = match (live.status.filter(|_| !has_ended), missing.first()) {
        _ if has_ended => format!("The run has ended: {}.", run_state(record)),
        (Some(trial), _) => {
            format!("Under way since {ago}: {}, block {}.{}", trial.contender, trial.block, left())
        }
        _ if live.is_given_up => {
            format!(
                "Nothing was written for {ago}, longer than a trial takes: the run has probably been aborted. `faceoff run --resume` continues it."
            )
        }
        (None, Some(_)) if done == 0 => format!(
            "Responses are being checked, then the first trial begins. Last write {ago} ago."
        ),
        (None, Some((block, position, who))) => {
            format!(
                "Under way since {ago}: {who}, block {block}, position {position}. It is shown here when it has ended.{}",
                left()
            )
        }
        (None, None) => format!("The last trial ended {ago} ago."),
    };
    let still = Link::to("/records/", live.id).then("/live");
    let switch = match (has_ended || live.is_given_up, live.is_still) {
        (true, _) => Html::default(),
        (false, true) => Html::default()
            .raw("<p class=\"small\">This page is paused. ")
            .link(&still, "Follow the run again")
            .raw("</p>\n"),
        (false, false) => Html::default()
            .element("<p class=\"small\">This page reloads every ", AGAIN_S, " seconds. ")
            .link(&still.with("still", "1"), "Pause it")
            .raw("</p>\n"),
    };
    Html::default()
        .element("<p class=\"lead\">", first, "</p>\n")
        .element("<p class=\"lead\">", now, "</p>\n")
        .put(switch)
}

/// Estimates the time left from the trials so far, from the beginning of the first to that of the
/// last.
fn time_left(trials: &[Trial], missing: usize) -> Option<Duration> {
    let at = |trial: &Trial| trial.started_at.parse::<jiff::Timestamp>().ok();
    let took = at(trials.last()?)?.duration_since(at(trials.first()?)?);
    let each = u32::try_from(trials.len()).ok()?.checked_sub(1).filter(|n| *n > 0)?;
    (Duration::try_from(took).ok()? / each).checked_mul(u32::try_from(missing).ok()?)
}

fn verdicts(live: &Live<'_>) -> Html {
    let Some((blocks, newest)) = live.judged.last() else {
        return Html::default().raw(
            "<p class=\"empty\">None yet: the first come with the first complete block.</p>\n",
        );
    };
    let is_shown = |v: &&Verdict| !v.is_without_failures();
    let earlier: Vec<&(u32, Vec<Verdict>)> =
        live.judged.iter().rev().take(MOST_BLOCKS).rev().collect();
    let rows = newest.iter().filter(is_shown).take(MOST).map(|v| {
        let is_same =
            |w: &&Verdict| w.cell == v.cell && w.contender == v.contender && w.metric == v.metric;
        let narrowing: Vec<&Verdict> =
            earlier.iter().filter_map(|(_, verdicts)| verdicts.iter().find(is_same)).collect();
        let confidence =
            v.interval.map_or(String::new(), |_| format!(" at {}", show_confidence(v.confidence)));
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
    let shown: Vec<String> = earlier.iter().map(|(blocks, _)| blocks.to_string()).collect();
    let baseline = &live.record.header.experiment.baseline;
    let more = newest.iter().filter(is_shown).count().saturating_sub(MOST);
    let body = Html::default()
        .element(
            "<p class=\"lead\">",
            format_args!(
                "After {blocks} complete block{}, against {baseline}. A run that is looked at early may end early. Each interval is as wide as an interim analysis requires.",
                if *blocks == 1 { "" } else { "s" }
            ),
            "</p>\n",
        )
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"verdicts\"><thead><tr><th>Metric</th><th>Cell</th><th>Contender</th><th>Verdict</th><th>")
        .text(format_args!("Ratio after {} blocks, the newest at the bottom; the band is the margin", shown.join(", ")))
        .raw("</th></tr></thead><tbody>\n")
        .put_all(rows)
        .raw("</tbody></table></div>\n");
    if more > 0 {
        body.element(
            "<p class=\"note\">",
            format_args!("{more} more are in the report of this record."),
            "</p>\n",
        )
    } else {
        body
    }
}

/// One row for each block: the contenders in their order, and how their trials went.
fn strip(record: &Record, has_ended: bool) -> Html {
    let missing = record.missing();
    let next = missing.first().filter(|_| !has_ended);
    let begun = record.last_block().max(1);
    let rows = (1..)
        .zip(&record.header.plan)
        .take_while(|(block, _)| *block <= begun.max(next.map_or(0, |n| n.0)))
        .map(|(block, order)| {
            let cells = (1..).zip(order).map(|(position, who)| {
                let trial = record.trials.iter().find(|t| t.block == block && t.contender == *who);
                let (kind, text) = match trial {
                    Some(trial) => ended(trial),
                    None if next.is_some_and(|n| (n.0, n.1) == (block, position)) => {
                        ("now", "under way".to_owned())
                    }
                    None if missing.iter().any(|m| (m.0, m.1) == (block, position)) => {
                        ("to-come", "to come".to_owned())
                    }
                    None => ("to-come", "not measured".to_owned()),
                };
                Html::default()
                    .raw("<td class=\"")
                    .raw(kind)
                    .element(
                        "\"><span class=\"who\"><bdi>",
                        who,
                        "</bdi></span> <span class=\"small\">",
                    )
                    .text(text)
                    .raw("</span></td>")
            });
            Html::default()
                .element("<tr><th scope=\"row\">block ", block, "</th>")
                .put_all(cells)
                .raw("</tr>\n")
        });
    Html::default()
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"strip\"><tbody>\n")
        .put_all(rows)
        .raw("</tbody></table></div>\n")
}

fn ended(trial: &Trial) -> (&'static str, String) {
    match (&trial.failure, trial.faults.first(), trial.cell_faults.first()) {
        (Some(failure), ..) => {
            ("excluded", format!("failed ({}): {}", failure.stage, failure.cause))
        }
        (None, Some(fault), _) => ("excluded", format!("fault: {}", fault.kind)),
        (None, None, Some(of)) => ("", format!("fault in cell {}: {}", of.cell, of.fault.kind)),
        (None, None, None) => ("", "done".to_owned()),
    }
}

/// The trial under way, with the curves of its measurement so far.
fn current_trial(trial: &RunStatus) -> Html {
    let title = format!("The trial under way: {}, block {}", trial.contender, trial.block);
    let doing = if trial.doing.is_empty() { "begins" } else { trial.doing.as_str() };
    let body = Html::default()
        .element("<h2>", title, "</h2>\n<p class=\"lead\"><bdi>")
        .text(doing)
        .raw("</bdi></p>\n");
    let Some(last) = trial.seconds.last() else { return body };
    let show = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| show_short(ns as f64));
    let words = format!(
        "Second {} of this measurement: {} correct responses, {} others; median {}, 99th percentile {}, maximum {}.",
        u64::from(trial.left_out) + trial.seconds.len() as u64,
        show_number(last.correct as f64),
        show_number(last.not_correct as f64),
        show(last.p50_ns),
        show(last.p99_ns),
        show(last.max_ns)
    );
    let cell = trial.cell.as_deref().unwrap_or(doing);
    body.element("<p>", words, "</p>\n<div class=\"charts\"><div>\n")
        .put(curves(cell, trial.left_out, &trial.seconds))
        .raw("</div></div>\n")
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
    Html::default()
        .element("<h2>", title, "</h2>\n<div class=\"charts\">\n")
        .put_all(charts)
        .raw("</div>\n")
}

/// Rate and latency over the seconds of a measurement, of which `after` came before.
fn curves(cell: &str, after: u32, seconds: &[Second]) -> Html {
    let column = |of: &dyn Fn(&Second) -> Option<f64>| -> Vec<(f64, Option<f64>)> {
        (1u32..)
            .zip(seconds)
            .map(|(second, s)| (f64::from(after) + f64::from(second), of(s)))
            .collect()
    };
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let line = |name: &str, points| Line { name: name.to_owned(), points };
    let rate = plot(
        &format!("Correct responses per second in {cell}"),
        ["seconds of the measurement", "correct responses per second"],
        None,
        &[line("correct responses", column(&|s| Some(s.correct as f64)))],
    );
    let latency = plot(
        &format!("Latency in {cell}"),
        ["seconds of the measurement", "ms"],
        Some("median"),
        &[
            line("median", column(&|s| ms(s.p50_ns))),
            line("99th percentile", column(&|s| ms(s.p99_ns))),
            line("maximum", column(&|s| ms(s.max_ns))),
        ],
    );
    rate.put(latency)
}

/// `4,812 correct responses in 4.0 s, 0 failed`
fn in_words(m: &Measurement) -> String {
    let lasted = show_duration(Duration::from_nanos(m.duration_ns));
    format!("{} correct responses in {lasted}, {} failed", m.counts.correct, m.counts.failed())
}

fn cost(live: &Live<'_>) -> String {
    let share = 100.0 * live.cpu.as_secs_f64() / live.watched.as_secs_f64().max(1e-3);
    format!(
        "This page has used {} of CPU time in {} ({} % of one CPU). Records are read and judged only while no other program wants the CPU, and are never changed.",
        show_duration(live.cpu),
        show_duration(live.watched),
        show_number(share)
    )
}
