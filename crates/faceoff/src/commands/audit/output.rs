//! Prints the findings of an audit as text.

use judge::audit::{Audit, Finding};
use spec::units::show_number;

/// Returns the findings of all audits as text.
pub fn text(audits: &[Audit]) -> String {
    let mut text = String::new();
    for audit in audits {
        let published =
            if audit.source.is_empty() { String::new() } else { format!(" ({})", audit.source) };
        text += &format!("{}{published}\n", printable(&audit.title));
        for table in &audit.tables {
            let repeated = match table.repeated {
                0 => String::new(),
                n => format!("; {n} repeat findings above"),
            };
            let failed = of_failed(table.failed, table.rows);
            text += &format!(
                "  {}: {failed}{}{repeated}\n",
                printable(&table.title),
                of_rows(table.flagged(), table.rows)
            );
            table.findings.iter().for_each(|finding| text += &finding_text(finding));
            for note in &table.notes {
                text += &format!(
                    "    {}\n      note: {}\n",
                    printable(&note.row),
                    printable(&note.what)
                );
            }
        }
        text += "\n";
    }
    let (flagged, rows) =
        audits.iter().fold((0, 0), |sum, audit| (sum.0 + audit.flagged(), sum.1 + audit.rows()));
    let why =
        if flagged > 0 { ": their figures do not fit together, whatever the reason" } else { "" };
    let failed = of_failed(audits.iter().map(Audit::failed).sum(), rows);
    text + &format!("{failed}{}{why}\n", of_rows(flagged, rows))
}

/// Names the rows in which most requests failed. This comes first, because it matters most.
fn of_failed(failed: usize, rows: usize) -> String {
    match failed {
        0 => String::new(),
        n if n == rows && n > 1 => format!("all {rows} rows are about errors; "),
        n => format!(
            "{n} of {rows} row{} {} about errors; ",
            if rows == 1 { "" } else { "s" },
            if n == 1 { "is" } else { "are" }
        ),
    }
}

fn of_rows(flagged: usize, rows: usize) -> String {
    let flagged = if flagged == 0 { "none".to_owned() } else { flagged.to_string() };
    format!("{flagged} of {rows} row{} flagged", if rows == 1 { "" } else { "s" })
}

/// Describes a finding in a few lines.
fn finding_text(finding: &Finding) -> String {
    let factor =
        finding.factor.map_or(String::new(), |factor| format!(", {} times", show_number(factor)));
    let mut text = format!(
        "    {}: {}{factor}\n      {}\n",
        printable(&finding.row),
        finding.wording,
        printable(&finding.what)
    );
    if let Some(possible) = &finding.possible {
        text += &format!("      possible: {possible}\n");
    }
    for (i, explanation) in finding.explanations.iter().enumerate() {
        let word = if i == 0 { "explained by" } else { "or" };
        text += &format!("      {word}: {}\n", printable(explanation));
    }
    text
}

/// Replaces control characters, which could affect a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
