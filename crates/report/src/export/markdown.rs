//! The result of a record as a comment for a pull request: Markdown as GitHub and GitLab show it.
//! Text of a record may contain anything, and is escaped.

use crate::escape::one_line;
use crate::wording::answer::answer;
use crate::wording::findings::fault_counts;
use crate::wording::notes::notes;
use record::Record;
use record::judgement::{ClaimOutcome, Judgement, Outcome, Verdict, show_confidence};
use spec::units::{show_number, show_share};

/// Writes the answer and the claims, with verdicts and notes below folds.
pub fn markdown(record: &Record, judgement: &Judgement) -> String {
    let answer = answer(record, judgement);
    let mut text = format!(
        "### {}\n\n**{}**\n",
        plain(&record.header.experiment.question),
        plain(&answer.sentence)
    );
    if !answer.details.is_empty() {
        text += "\n";
    }
    for detail in &answer.details {
        text += &format!("- {}\n", plain(detail));
    }
    text += &claims(judgement);
    let cells = record
        .header
        .experiment
        .cells
        .iter()
        .map(|c| (Some(c.name.as_str()), format!("{} ({})", c.name, c.load.describe())));
    for (cell, title) in cells.chain([(None, "start".to_owned())]) {
        let here: Vec<&Verdict> =
            judgement.verdicts.iter().filter(|v| v.cell.as_deref() == cell).collect();
        if !here.is_empty() {
            text += &folded(
                &format!("Verdicts: {title}, against {}", judgement.baseline),
                &verdicts(&here),
            );
        }
    }
    let mut doubts: String =
        notes(record, judgement).iter().map(|note| format!("- {}\n", plain(note))).collect();
    for (kind, count) in fault_counts(&judgement.faults) {
        doubts += &format!("- fault {}: {count}\n", plain(kind));
    }
    for excluded in &judgement.excluded {
        doubts += &format!(
            "- excluded: block {}, {}: {}\n",
            excluded.block,
            plain(&excluded.contender.to_string()),
            plain(&excluded.reason)
        );
    }
    if !doubts.is_empty() {
        text += &folded("Before you rely on it", &doubts);
    }
    let (header, design) = (&record.header, &record.header.experiment.design);
    text + &format!(
        "\n<sub>{} blocks, margin {}, {} and {} CPUs, record {}, faceoff {}</sub>\n",
        judgement.blocks,
        show_share(design.margin),
        plain(&header.machine.cpu),
        header.machine.cores,
        plain(&header.id),
        plain(&header.faceoff)
    )
}

fn claims(judgement: &Judgement) -> String {
    if judgement.claims.is_empty() {
        return String::new();
    }
    let rows = judgement.claims.iter().map(|c| {
        let mark = match c.outcome {
            ClaimOutcome::Confirmed => "✅",
            ClaimOutcome::Refuted => "❌",
            ClaimOutcome::Undecided => "❔",
        };
        [format!("{mark} {}", c.outcome.name()), plain(&c.claim.text), plain(&c.reason)]
    });
    table(["", "claim", "why"], rows)
}

fn verdicts(here: &[&Verdict]) -> String {
    let confidence =
        here.iter().filter(|v| v.interval.is_some()).map(|v| v.confidence).reduce(f64::min);
    let interval =
        confidence.map_or("interval".into(), |c| format!("{} interval", show_confidence(c)));
    let rows = here.iter().map(|v| {
        let about = v.metric.describe();
        let show = |value: Option<f64>| {
            value.map_or("-".into(), |value| {
                format!("{} {}", show_number(value), about.unit).trim().to_owned()
            })
        };
        let found = match v.outcome {
            Outcome::Undecided => format!("undecided: {}", v.reason),
            decided => decided.name().to_owned(),
        };
        [
            about.label.to_owned(),
            plain(&v.contender.to_string()),
            show(v.value),
            show(v.baseline_value),
            v.ratio.map_or("-".into(), show_number),
            v.interval.map_or("-".into(), |i| {
                format!("{} to {}", show_number(i.low), show_number(i.high))
            }),
            plain(&found),
        ]
    });
    table(["metric", "contender", "value", "baseline", "ratio", &interval, "verdict"], rows)
}

/// Writes a table whose cells are already Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut text = format!("\n| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

/// Writes a part that the reader opens. The empty line allows Markdown within HTML.
fn folded(title: &str, part: &str) -> String {
    format!(
        "\n<details><summary>{}</summary>\n\n{}\n</details>\n",
        html(title),
        part.trim_start_matches('\n')
    )
}

/// Escapes a text for HTML, on one line. A comment after `@` keeps the host from notifying people.
fn html(text: &str) -> String {
    quick_xml::escape::partial_escape(one_line(text)).replace('@', "@<!-- -->")
}

/// Escapes a text for Markdown, also within a cell of a table.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::new();
    for c in html(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_text() {
        assert_eq!(
            plain("a | b\n*c* <img src=x> @d [e](f) `g`"),
            "a \\| b \\*c\\* &lt;img src=x&gt; @<!-- -->d \\[e\\](f) \\`g\\`"
        );
        assert_eq!(html("</summary>"), "&lt;/summary&gt;");
    }
}
