//! Two records side by side: what changed in machine, versions and settings, and the verdicts of
//! each on the metrics that both have. Start with [`compare`].

use super::brief::{Brief, minute};
use super::chart::{class, intervals};
use super::html::{Html, Link, Page};
use crate::machine::machine_facts;
use record::judgement::{Verdict, show_confidence};
use record::{Header, Participant};
use spec::units::{show_bytes, show_duration};

/// A fact about a run.
struct Known {
    subject: String,
    value: String,
}

fn known(subject: impl Into<String>, value: impl Into<String>) -> Known {
    Known { subject: subject.into(), value: value.into() }
}

/// Compares two records.
pub fn compare(a: &Brief, b: &Brief) -> Page {
    let (left, right) = (&a.record.header, &b.record.header);
    let head = |brief: &Brief, name: &'static str| {
        let header = &brief.record.header;
        let answer = brief
            .result
            .as_ref()
            .map_or("not judged yet", |result| result.answer.sentence.as_str());
        Html::default()
            .raw("<article><p class=\"side\">")
            .raw(name)
            .raw(": ")
            .link(&Link::to("/records/", &brief.id), &brief.id)
            .element(
                "</p><p class=\"small\">",
                format_args!("{}, {}", header.experiment.name, minute(&header.recorded_at)),
                "</p>",
            )
            .element("<p>", answer, "</p></article>\n")
    };
    let other = left.experiment.name != right.experiment.name;
    let body = Html::default()
        .raw("<div class=\"cards\">")
        .put(head(a, "left"))
        .put(head(b, "right"))
        .raw("</div>\n<p class=\"small\">")
        .link(&Link::to("/compare", "").with("a", &b.id).with("b", &a.id), "Change sides")
        .raw("</p>\n")
        .raw("<p class=\"lead\">The two were not measured alternately, so a difference between them may come from the machine. Compare the ratio to the baseline that each found within its own blocks.</p>\n")
        .put(if other { Html::default().raw("<p class=\"notes\">These are records of different experiments.</p>\n") } else { Html::default() })
        .raw("<h2>What changed</h2>\n")
        .put(changes("Machine", &machine(left), &machine(right)))
        .put(changes("Versions", &versions(left), &versions(right)))
        .put(changes("Settings", &settings(left), &settings(right)))
        .raw("<h2>Verdicts on what both measured</h2>\n")
        .put(verdicts(a, b));
    Page::new(format!("{} and {}", a.id, b.id), body)
}

fn machine(header: &Header) -> Vec<Known> {
    machine_facts(header).into_iter().map(|(name, value)| known(name, value)).collect()
}

/// The role and the version of every system.
fn versions(header: &Header) -> Vec<Known> {
    let mut all = vec![known("faceoff", &header.faceoff)];
    let baseline = &header.experiment.baseline;
    let role = |p: &Participant| if p.name == *baseline { "baseline" } else { "contender" };
    let participants = header.contenders.iter().map(|p| (p, role(p)));
    let behind = header
        .upstream
        .iter()
        .map(|p| (p, "upstream"))
        .chain(header.database.iter().map(|p| (p, "database")));
    for (p, role) in participants.chain(behind) {
        all.push(known(p.name.to_string(), role));
        all.extend(p.reached.iter().map(|url| known(format!("{}, address", p.name), url)));
        all.extend(p.facts.iter().map(|(name, value)| known(format!("{}, {name}", p.name), value)));
        all.extend(
            p.versions
                .iter()
                .map(|(tool, version)| known(format!("{}, version of {tool}", p.name), version)),
        );
        all.extend(p.artifacts.iter().map(|artifact| {
            let digest: String = artifact.sha256.chars().take(12).collect();
            known(
                format!("{}, {}", p.name, artifact.path),
                format!("{digest}, {}", show_bytes(artifact.bytes)),
            )
        }));
    }
    all.extend(
        header
            .skipped
            .iter()
            .map(|s| known(s.contender.to_string(), format!("skipped: {}", s.reason))),
    );
    all
}

fn settings(header: &Header) -> Vec<Known> {
    let experiment = &header.experiment;
    let mut all = vec![
        known("form", if header.quick { "quick" } else { "full" }),
        known("question", &experiment.question),
        known("alternation", header.alternation.describe()),
    ];
    all.extend(experiment.describe_design().into_iter().map(|(name, value)| known(name, value)));
    for cell in &experiment.cells {
        let by = cell.driver.map_or(String::new(), |driver| format!(", by {}", driver.name()));
        let value = format!(
            "{}{by}, {}, timeout {}",
            cell.load.describe(),
            cell.workload_label(),
            show_duration(cell.timeout)
        );
        all.push(known(format!("cell {}", cell.name), value));
    }
    all.extend(
        header
            .checks
            .iter()
            .map(|(workload, checks)| known(format!("checked in {workload}"), checks)),
    );
    all.extend(
        experiment
            .place
            .descriptors
            .map(|n| known("descriptor limit of a contender", n.to_string())),
    );
    all.extend(
        experiment
            .claims
            .iter()
            .map(|claim| known(format!("claim: {}", claim.text), claim.expected())),
    );
    all
}

/// A table of the differences, with everything else below a fold.
fn changes(title: &'static str, left: &[Known], right: &[Known]) -> Html {
    let value = |of: &[Known], subject: &str| {
        of.iter().find(|k| k.subject == subject).map(|k| k.value.clone())
    };
    let only_right = right.iter().filter(|k| value(left, &k.subject).is_none());
    let subjects = left.iter().chain(only_right).map(|k| k.subject.as_str());
    let all: Vec<_> =
        subjects.map(|subject| (subject, value(left, subject), value(right, subject))).collect();
    let (same, differing): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, left, right)| left == right);
    let row = |(subject, left, right): &(&str, Option<String>, Option<String>)| {
        let cell = |value: &Option<String>| match value {
            Some(value) => Html::default().element("<td><bdi>", value, "</bdi></td>"),
            None => Html::default().raw("<td class=\"note\">none</td>"),
        };
        Html::default()
            .element("<tr><th scope=\"row\"><bdi>", subject, "</bdi></th>")
            .put(cell(left))
            .put(cell(right))
            .raw("</tr>\n")
    };
    let head = Html::default().raw("<h3>").raw(title).raw("</h3>\n");
    let table = match differing.is_empty() {
        true => head.raw("<p>Nothing changed.</p>\n"),
        false => head
            .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"changes\"><thead><tr><th>What</th><th>Left</th><th>Right</th></tr></thead><tbody>\n")
            .put_all(differing.iter().map(row))
            .raw("</tbody></table></div>\n"),
    };
    let unchanged = same.iter().map(|(subject, value, _)| {
        Html::default().element("<div><dt>", subject, "</dt>").element(
            "<dd>",
            value.as_deref().unwrap_or_default(),
            "</dd></div>\n",
        )
    });
    table
        .element(
            "<details class=\"more\"><summary>",
            format_args!("{} the same", same.len()),
            "</summary><dl class=\"facts\">\n",
        )
        .put_all(unchanged)
        .raw("</dl></details>\n")
}

/// The change from one verdict to the other.
fn change(left: &Verdict, right: &Verdict) -> &'static str {
    let apart =
        left.interval.zip(right.interval).is_some_and(|(a, b)| a.high < b.low || b.high < a.low);
    match (left.outcome == right.outcome, apart) {
        (false, true) => "another outcome, and the intervals are apart",
        (false, false) => "another outcome; the intervals overlap",
        (true, true) => "the same outcome; the intervals are apart",
        (true, false) => "",
    }
}

fn verdicts(a: &Brief, b: &Brief) -> Html {
    let of = |brief: &Brief| {
        brief.result.as_ref().map(|result| result.verdicts.clone()).unwrap_or_default()
    };
    let (left, right) = (of(a), of(b));
    let matching = |v: &Verdict| {
        right.iter().find(|w| {
            w.cell == v.cell
                && w.contender == v.contender
                && w.baseline == v.baseline
                && w.metric == v.metric
        })
    };
    let pairs: Vec<(&Verdict, &Verdict)> =
        left.iter().filter_map(|v| Some((v, matching(v)?))).collect();
    // Without failures in either record there is nothing to compare.
    let is_shown = |v: &Verdict| !v.is_without_failures();
    let pairs: Vec<_> = pairs.into_iter().filter(|(v, w)| is_shown(v) || is_shown(w)).collect();
    if pairs.is_empty() {
        return Html::default().raw("<p class=\"empty\">There are none: no contender was compared with the same baseline in both records.</p>\n");
    }
    let cell = |v: &Verdict| {
        let confidence =
            v.interval.map_or(String::new(), |_| format!(" at {}", show_confidence(v.confidence)));
        Html::default()
            .raw("<td><span class=\"outcome ")
            .raw(class(v.outcome))
            .element("\">", v.outcome.name(), "</span> ")
            .text(format_args!("{}{confidence}", v.phrase()))
            .raw("</td>")
    };
    let rows = pairs.iter().map(|&(v, w)| {
        let title = format!("left {}, right {}", v.phrase(), w.phrase());
        Html::default()
            .element("<tr><th scope=\"row\">", v.metric.describe().label, "</th>")
            .element("<td><bdi>", v.cell.as_deref().unwrap_or("start"), "</bdi></td>")
            .element(
                "<td><bdi>",
                format_args!("{} against {}", v.contender, v.baseline),
                "</bdi></td>",
            )
            .put(cell(v))
            .put(cell(w))
            .raw("<td>")
            .put(intervals(&title, &[v, w]))
            .element("</td><td>", change(v, w), "</td></tr>\n")
    });
    Html::default()
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"verdicts\"><thead><tr><th>Metric</th><th>Cell</th><th>Contender</th><th>Left</th><th>Right</th><th>Ratio to the baseline, left above right; the band is the margin</th><th>What changed</th></tr></thead><tbody>\n")
        .put_all(rows)
        .raw("</tbody></table></div>\n")
}
