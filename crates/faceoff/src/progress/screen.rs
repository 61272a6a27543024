//! Draws lines below what was said, in place of those that stood there.
//!
//! The terminal is put into no other mode, and its cursor rests on a line of its own below what is drawn: whatever ends the process, at
//! whatever moment, leaves nothing to restore.

use std::fmt::Write;

/// What stands on the terminal.
#[derive(Debug, Default)]
pub struct Screen {
    drawn: Vec<String>,
}

impl Screen {
    /// What is to be written so that `said` stays and `frame` stands below it; nothing where that is so already. No line of a frame may be
    /// as wide as the terminal.
    pub fn update(&mut self, said: &[String], frame: Vec<String>) -> String {
        let mut text = String::new();
        if said.is_empty() && frame == self.drawn {
            return text;
        }
        if !self.drawn.is_empty() {
            let _ = write!(text, "\x1b[{}A\r", self.drawn.len());
        }
        // What stays may be longer than a line, and is rare: where it goes is cleared before.
        if !said.is_empty() {
            text += "\x1b[J";
        }
        said.iter().for_each(|line| text.extend([line.as_str(), "\n"]));
        // Line by line, so that nothing flickers.
        frame.iter().for_each(|line| text.extend([line.as_str(), "\x1b[K\n"]));
        text += "\x1b[J";
        self.drawn = frame;
        text
    }
}

/// Columns and rows of the terminal that messages go to.
pub fn size() -> (usize, usize) {
    let known = rustix::termios::tcgetwinsize(std::io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    known.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&str]) -> Vec<String> {
        all.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn a_frame_takes_the_place_of_the_one_before() {
        let mut screen = Screen::default();
        assert_eq!(screen.update(&[], lines(&["a", "b"])), "a\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(screen.update(&[], lines(&["a", "b"])), "", "it stands there");
        assert_eq!(screen.update(&[], lines(&["c"])), "\x1b[2A\rc\x1b[K\n\x1b[J");
        assert_eq!(screen.update(&lines(&["said"]), lines(&["c"])), "\x1b[1A\r\x1b[Jsaid\nc\x1b[K\n\x1b[J");
        assert_eq!(screen.update(&[], vec![]), "\x1b[1A\r\x1b[J");
        assert_eq!(screen.update(&lines(&["said"]), vec![]), "\x1b[Jsaid\n\x1b[J");
    }
}
