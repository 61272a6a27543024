//! What people read of an audit.

use judge::audit::{Audit, Finding};
use model::units::show_number;

pub fn text(audits: &[Audit]) -> String {
    let mut text = String::new();
    for audit in audits {
        let published = if audit.source.is_empty() { String::new() } else { format!(" ({})", audit.source) };
        text += &format!("{}{published}\n", printable(&audit.title));
        for table in &audit.tables {
            let repeated = match table.repeated {
                0 => String::new(),
                n => format!("; {n} repeat what is said above"),
            };
            text += &format!("  {}: {}{repeated}\n", printable(&table.title), of_rows(table.flagged(), table.rows));
            table.findings.iter().for_each(|finding| text += &said(finding));
            for note in &table.notes {
                text += &format!("    {}\n      note: {}\n", printable(&note.row), printable(&note.what));
            }
        }
        text += "\n";
    }
    let (flagged, rows) = audits.iter().fold((0, 0), |sum, audit| (sum.0 + audit.flagged(), sum.1 + audit.rows()));
    let why = if flagged > 0 { ": figures that do not fit each other, whatever the reason" } else { "" };
    text + &format!("{}{why}\n", of_rows(flagged, rows))
}

fn of_rows(flagged: usize, rows: usize) -> String {
    let flagged = if flagged == 0 { "none".to_owned() } else { flagged.to_string() };
    format!("{flagged} of {rows} row{} flagged", if rows == 1 { "" } else { "s" })
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
