//! What people read of an audit.

use judge::audit::{Audit, Finding};
use model::units::show_number;

pub fn text(audits: &[Audit]) -> String {
    let mut text = String::new();
    for audit in audits {
        let published = if audit.source.is_empty() { String::new() } else { format!(" ({})", audit.source) };
        text += &format!("{}{published}\n", printable(&audit.title));
        for table in &audit.tables {
            let flagged = match table.flagged() {
                0 => "nothing that cannot be".to_owned(),
                n => format!("{n} of {} rows flagged", table.rows),
            };
            let rows = if table.rows == 1 { "1 row".to_owned() } else { format!("{} rows", table.rows) };
            text += &format!("  {}: {rows}, {flagged}\n", printable(&table.title));
            table.findings.iter().for_each(|finding| text += &said(finding));
            for note in &table.notes {
                text += &format!("    {}\n      note: {}\n", printable(&note.row), printable(&note.what));
            }
        }
        text += "\n";
    }
    let (flagged, rows) = audits.iter().fold((0, 0), |sum, audit| (sum.0 + audit.flagged(), sum.1 + audit.rows()));
    text + &match flagged {
        0 => format!("none of {rows} rows flagged\n"),
        _ => format!("{flagged} of {rows} rows flagged: figures that do not fit each other, whatever the reason\n"),
    }
}

fn said(finding: &Finding) -> String {
    let factor = finding.factor.map_or(String::new(), |factor| format!(", {} times", show_number(factor)));
    let mut text = format!("    {}: {}{factor}\n      {}\n", printable(&finding.row), finding.wording, printable(&finding.what));
    if let Some(possible) = &finding.possible {
        text += &format!("      possible: {possible}\n");
    }
    for (i, explanation) in finding.explanations.iter().enumerate() {
        let word = if i == 0 { "explained by" } else { "or" };
        text += &format!("      {word}: {}\n", printable(explanation));
    }
    text
}

/// Without what would steer a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
