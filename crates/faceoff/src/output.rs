//! Data to standard output, messages to standard error, text without secrets. A reader that has gone is no error.

use model::secret::hidden;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// Prints data.
pub fn print(text: &str) {
    let text = hidden(text);
    // Programs get it as it is.
    if std::io::stdout().is_terminal() { bytes(harmless(&text).as_bytes()) } else { bytes(text.as_bytes()) }
}

/// A text without what moves a terminal's cursor or says what it is called: a record, a service's log, a name of a file may hold anything.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let commands = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(commands) { Cow::Owned(text.replace(commands, "\u{fffd}")) } else { Cow::Borrowed(text) }
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
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(&hidden(text)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_commands_a_terminal() {
        assert_eq!(harmless("a\x1b]0;owned\x07\r\u{9b}2J\tb\n"), "a\u{fffd}]0;owned\u{fffd}\u{fffd}\u{fffd}2J\tb\n");
        assert!(matches!(harmless("ä ▁█ … \n"), Cow::Borrowed(_)));
    }
}
