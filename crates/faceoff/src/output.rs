//! Prints data to standard output and messages to standard error.
//!
//! All text passes through here, so that secrets are hidden and control characters are removed
//! before a terminal sees them. A reader that closed the pipe is no error.

use crate::tone::Tone;
use clap::{Args, ValueEnum};
use spec::secret::hidden;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

/// How data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The option that chooses a [`Format`].
#[derive(Args)]
pub struct FormatOption {
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// When colour is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal that supports it, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The choice on the command line.
static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Sets the choice that was made on the command line.
pub fn use_colour(when: Colour) {
    // The command line is parsed once, so the lock is empty.
    let _ = COLOUR.set(when);
}

/// Whether text for a stream is coloured.
pub fn in_colour(stream: &impl IsTerminal) -> bool {
    let when = COLOUR.get().copied().unwrap_or(Colour::Auto);
    is_coloured(
        when,
        stream.is_terminal(),
        std::env::var_os("NO_COLOR").as_deref(),
        std::env::var_os("TERM").as_deref(),
    )
}

/// Whether text is coloured, by <https://no-color.org>: `NO_COLOR` counts if it is set and not
/// empty. The command line takes precedence.
fn is_coloured(
    when: Colour,
    is_terminal: bool,
    no_color: Option<&OsStr>,
    term: Option<&OsStr>,
) -> bool {
    match when {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            is_terminal
                && no_color.is_none_or(OsStr::is_empty)
                && term.is_none_or(|term| term != "dumb")
        }
    }
}

/// Prints a summary. With colour, the answer is bold: it is the line after the question.
pub fn summary(text: &str) {
    let text = harmless(&hidden(text)).into_owned();
    let parts = text
        .split_once("\n\n")
        .and_then(|(question, rest)| Some((question, rest.split_once('\n')?)));
    match parts.filter(|_| in_colour(&std::io::stdout())) {
        Some((question, (answer, rest))) => {
            bytes(format!("{question}\n\n{}\n{rest}", Tone::Strong.paint(answer)).as_bytes())
        }
        None => print(&text),
    }
}

/// Prints tables of verdicts. With colour, the verdict is coloured: it is a row's last word.
pub fn table(text: &str) {
    let text = harmless(&hidden(text)).into_owned();
    match in_colour(&std::io::stdout()) {
        true => bytes(with_verdicts_in_colour(&text).as_bytes()),
        false => print(&text),
    }
}

fn with_verdicts_in_colour(text: &str) -> String {
    const TONES: [(&str, Tone); 3] =
        [("better", Tone::Good), ("worse", Tone::Bad), ("equivalent", Tone::Equal)];
    let line = |line: &str| {
        let row = line.trim_end_matches('\n');
        let found = TONES.iter().find_map(|(word, tone)| {
            Some((row.strip_suffix(word).filter(|rest| rest.ends_with("  "))?, word, tone))
        });
        match found {
            Some((rest, word, tone)) => format!("{rest}{}{}", tone.paint(word), &line[row.len()..]),
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Prints data.
pub fn print(text: &str) {
    let text = hidden(text);
    // Programs get the data unchanged.
    if std::io::stdout().is_terminal() {
        bytes(harmless(&text).as_bytes())
    } else {
        bytes(text.as_bytes())
    }
}

/// Replaces control characters, which could move a terminal's cursor or change its title.
///
/// Records, logs and file names come from outside and may contain any of them.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(is_control) {
        Cow::Owned(text.replace(is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Prints binary data.
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

/// Prints a message to standard error.
pub fn message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(&hidden(text)));
}

/// The width of tables, in columns.
pub fn width() -> u16 {
    if !std::io::stdout().is_terminal() {
        return 140;
    }
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(120, |size| size.ws_col.max(60))
}

/// Draws values as bars, the highest as high as a line. Empty if all are zero.
pub fn bars(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = values.iter().copied().max().unwrap_or(0);
    values
        .iter()
        .filter(|_| top > 0)
        .map(|value| BARS[(u128::from(*value) * 7 / u128::from(top)) as usize])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_at_end_of_row_is_coloured_and_nothing_else() {
        let text = "  memory  2 MB  1 MB  2× more  worse\n  p50  1 ms  1 ms  -  undecided 1\n  1: no contender is better\n  x  equivalent";
        let coloured = "  memory  2 MB  1 MB  2× more  \x1b[31mworse\x1b[0m\n  p50  1 ms  1 ms  -  undecided 1\n  1: no contender is better\n  x  \x1b[36mequivalent\x1b[0m";
        assert_eq!(with_verdicts_in_colour(text), coloured);
    }

    #[test]
    fn colour_follows_option_then_terminal_and_environment() {
        use Colour::{Always, Auto, Never};
        let (set, empty, dumb) =
            (Some(OsStr::new("1")), Some(OsStr::new("")), Some(OsStr::new("dumb")));
        let auto = [
            (true, None, None),
            (true, empty, None),
            (false, None, None),
            (true, set, None),
            (true, None, dumb),
        ];
        assert_eq!(
            auto.map(|(terminal, no_color, term)| is_coloured(Auto, terminal, no_color, term)),
            [true, true, false, false, false]
        );
        assert!(is_coloured(Always, false, set, dumb) && !is_coloured(Never, true, None, None));
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            harmless("a\x1b]0;owned\x07\r\u{9b}2J\tb\n"),
            "a\u{fffd}]0;owned\u{fffd}\u{fffd}\u{fffd}2J\tb\n"
        );
        assert!(matches!(harmless("ä ▁█ … \n"), Cow::Borrowed(_)));
    }
}
