//! Redraws a block of lines at the bottom of the terminal, below messages that stay.
//!
//! The terminal's mode does not change, and the cursor rests on the line below the block. Whenever
//! the process ends, there is nothing to restore.

use std::fmt::Write;

/// The lines that the terminal shows at the moment.
#[derive(Debug, Default)]
pub struct Screen {
    drawn: Vec<String>,
}

impl Screen {
    /// Returns the text that prints `said` to stay and draws `frame` below it.
    ///
    /// The text is empty if nothing has changed. Lines of a frame must be narrower than the
    /// terminal.
    pub fn update(&mut self, said: &[String], frame: Vec<String>) -> String {
        let mut text = String::new();
        if said.is_empty() && frame == self.drawn {
            return text;
        }
        if !self.drawn.is_empty() {
            let _ = write!(text, "\x1b[{}A\r", self.drawn.len());
        }
        // Messages are rare and may wrap, so the space is cleared before they are printed.
        if !said.is_empty() {
            text += "\x1b[J";
        }
        said.iter().for_each(|line| text.extend([line.as_str(), "\n"]));
        // Clearing line by line avoids flicker.
        frame.iter().for_each(|line| text.extend([line.as_str(), "\x1b[K\n"]));
        text += "\x1b[J";
        self.drawn = frame;
        text
    }
}

/// Returns the columns and rows of the terminal that messages go to.
pub fn size() -> (usize, usize) {
    let known = rustix::termios::tcgetwinsize(std::io::stderr())
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&str]) -> Vec<String> {
        all.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn frame_replaces_previous_frame() {
        let mut screen = Screen::default();
        assert_eq!(screen.update(&[], lines(&["a", "b"])), "a\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(screen.update(&[], lines(&["a", "b"])), "", "unchanged");
        assert_eq!(screen.update(&[], lines(&["c"])), "\x1b[2A\rc\x1b[K\n\x1b[J");
        assert_eq!(
            screen.update(&lines(&["said"]), lines(&["c"])),
            "\x1b[1A\r\x1b[Jsaid\nc\x1b[K\n\x1b[J"
        );
        assert_eq!(screen.update(&[], vec![]), "\x1b[1A\r\x1b[J");
        assert_eq!(screen.update(&lines(&["said"]), vec![]), "\x1b[Jsaid\n\x1b[J");
    }
}
