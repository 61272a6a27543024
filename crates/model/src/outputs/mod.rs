//! What load generators print, read back: each run a row of a table.

mod jmeter;
mod json;
mod text;

use crate::article::{Row, Tool};
use crate::problem::Problems;
use std::io::{self, Read};

/// The most that a summary may hold. Lists of samples are read as they come.
pub const LONGEST_SUMMARY: u64 = 16 << 20;
/// How much of an input shows what it is.
const HEAD: u64 = 64 << 10;
/// What oha calls requests that were under way when its time was over.
const OHA_CUT_OFF: &str = "aborted due to deadline";
/// What wrk calls `Socket errors`, among [`Row::other`].
pub const SOCKET_ERRORS: &str = "socket errors";
/// What some editors and spreadsheets put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a load generator printed.
pub struct Output {
    /// Which it was.
    pub tool: Tool,
    /// What it says, one run a row.
    pub rows: Vec<Row>,
    /// How to say what it leaves unsaid and Little's law needs.
    pub hint: Option<&'static str>,
    /// Whether connections hold several requests, and it does not say how many.
    pub depth_unsaid: bool,
}

/// Reads what a load generator wrote, whichever it was.
///
/// # Errors
/// When it cannot be read, or nothing known wrote it.
pub fn read(name: &str, mut input: impl Read) -> Result<Output, Problems> {
    let failed = |e: io::Error| Problems::plain(format!("{name} cannot be read: {e}"), "is it there, and yours to read?");
    let mut bytes = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if jmeter::is_samples(&bytes) {
        let rows = jmeter::samples(io::Cursor::new(bytes).chain(input)).map_err(|e| {
            Problems::plain(format!("{name} cannot be read as samples: {e}"), "save them as CSV with JMeter's usual columns")
        })?;
        if rows.is_empty() {
            return Err(Problems::plain(
                format!("{name} holds no samples, only the names of columns"),
                "was the test ended before its first answer?",
            ));
        }
        return Ok(Output { tool: Tool::Jmeter, rows, hint: None, depth_unsaid: false });
    }
    input.take(LONGEST_SUMMARY - HEAD + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST_SUMMARY {
        return Err(Problems::plain(
            format!("{name} is longer than any summary"),
            "give the summary that the tool prints, or JMeter's samples as CSV",
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    let output = find(&text).filter(|output| !output.rows.is_empty());
    output.ok_or_else(|| {
        let hint = match text.lines().next().unwrap_or_default() {
            _ if text.contains("<testResults") => "save the samples as CSV (jmeter.save.saveservice.output_format=csv)",
            first if first.contains("timeStamp") && first.contains("elapsed") => {
                "save the samples with commas between them (jmeter.save.saveservice.default_delimiter=,)"
            }
            _ => "known are the summaries of wrk, wrk2, oha, k6, h2load, hey, ab, JMeter and Gatling, and JMeter's samples as CSV; tables are written as in docs/audit.md",
        };
        Problems::plain(format!("{name} is not the output of a load generator that is known"), hint)
    })
}

fn find(text: &str) -> Option<Output> {
    if let Ok(document) = serde_json::from_str::<serde_json::Value>(text) {
        return json::read(&document);
    }
    jmeter::summary(text).or_else(|| text::read(text))
}

#[cfg(test)]
mod tests;
