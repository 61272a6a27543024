//! What a record comes to, for a pull request: Markdown as GitHub and GitLab show it.

use super::one_line;
use crate::answer::{answer, notes};
use crate::judged::fault_counts;
use model::judgement::{ClaimOutcome, Judgement, Outcome, Verdict, show_confidence};
use model::record::Record;
use model::units::{show_number, show_share};

/// The answer and the claims, and behind folds the verdicts and what a reader must know before believing them.
pub fn markdown(record: &Record, judgement: &Judgement) -> String {
    let said = answer(record, judgement);
    let mut text = format!("### {}\n\n**{}**\n", plain(&record.header.experiment.question), plain(&said.sentence));
    if !said.details.is_empty() {
        text += "\n";
    }
    for detail in &said.details {
        text += &format!("- {}\n", plain(detail));
    }
    text += &claims(judgement);
    let cells = record.header.experiment.cells.iter().map(|c| (Some(c.name.as_str()), format!("{} ({})", c.name, c.load.describe())));
    for (cell, title) in cells.chain([(None, "start".to_owned())]) {
        let here: Vec<&Verdict> = judgement.verdicts.iter().filter(|v| v.cell.as_deref() == cell).collect();
        if !here.is_empty() {
            text += &folded(&format!("Verdicts: {title}, against {}", judgement.baseline), &verdicts(&here));
        }
    }
    let mut doubts: String = notes(record, judgement).iter().map(|note| format!("- {}\n", plain(note))).collect();
    for (kind, count) in fault_counts(&judgement.faults) {
        doubts += &format!("- fault {}: {count}\n", plain(kind));
    }
    for excluded in &judgement.excluded {
        doubts +=
            &format!("- left out: block {}, {}: {}\n", excluded.block, plain(&excluded.contender.to_string()), plain(&excluded.reason));
    }
    if !doubts.is_empty() {
        text += &folded("Before you believe it", &doubts);
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
    let confidence = here.iter().filter(|v| v.interval.is_some()).map(|v| v.confidence).reduce(f64::min);
    let interval = confidence.map_or("interval".into(), |c| format!("{} interval", show_confidence(c)));
    let rows = here.iter().map(|v| {
        let about = v.metric.describe();
        let show =
            |value: Option<f64>| value.map_or("-".into(), |value| format!("{} {}", show_number(value), about.unit).trim().to_owned());
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
            v.interval.map_or("-".into(), |i| format!("{} to {}", show_number(i.low), show_number(i.high))),
            plain(&found),
        ]
    });
    table(["metric", "contender", "value", "baseline", "ratio", &interval, "verdict"], rows)
}

/// Cells are Markdown already.
fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut text = format!("\n| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

/// A part that is opened to be read. The empty line lets Markdown stand within HTML.
fn folded(title: &str, part: &str) -> String {
    format!("\n<details><summary>{}</summary>\n\n{}\n</details>\n", html(title), part.trim_start_matches('\n'))
}

/// A text as HTML, on one line, that names nobody.
fn html(text: &str) -> String {
    let mut safe = String::new();
    for c in one_line(text).chars() {
        match c {
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '&' => safe += "&amp;",
            // Or whoever is called so would be told of it.
            '@' => safe += "@<!-- -->",
            c => safe.push(c),
        }
    }
    safe
}

/// A text as Markdown that shows it as it is, also within a cell of a table.
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
        assert_eq!(plain("a | b\n*c* <img src=x> @d [e](f) `g`"), "a \\| b \\*c\\* &lt;img src=x&gt; @<!-- -->d \\[e\\](f) \\`g\\`");
        assert_eq!(html("</summary>"), "&lt;/summary&gt;");
    }
}
