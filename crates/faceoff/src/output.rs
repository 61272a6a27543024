//! Data to standard output, messages to standard error, text without secrets. A reader that has gone is no error.

use model::secret::hidden;
use std::io::{IsTerminal, Write};

/// Prints data.
pub fn print(text: &str) {
    bytes(hidden(text).as_bytes());
}

/// Prints data that is no text.
pub fn bytes(data: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(data).and_then(|()| out.flush());
}

/// Prints a line of data.
pub fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// Prints a value as JSON.
pub fn json(value: &impl serde::Serialize) {
    line(&serde_json::to_string_pretty(value).expect("plain data"));
}

/// Says something that is not data.
pub fn message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", hidden(text));
}

/// Says what went wrong.
pub fn error(text: &str) {
    message(text);
}

/// How wide tables may be.
pub fn width() -> u16 {
    if !std::io::stdout().is_terminal() {
        return 140;
    }
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(120, |size| size.ws_col.max(60))
}

/// Values as bars, the highest as high as a line; empty where all are zero.
pub fn bars(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = values.iter().copied().max().unwrap_or(0);
    values.iter().filter(|_| top > 0).map(|value| BARS[(u128::from(*value) * 7 / u128::from(top)) as usize]).collect()
}
