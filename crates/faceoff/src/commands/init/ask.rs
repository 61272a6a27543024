//! Questions on standard error, answers from standard input.

use crate::exit::Error;
use model::problem::Problems;
use std::io::{BufRead, IsTerminal, Write};

/// Whoever asks.
pub struct Questions<'a> {
    answers: Box<dyn BufRead + 'a>,
    is_terminal: bool,
}

impl Questions<'_> {
    /// Asks whoever sits before it.
    pub fn of_stdin() -> Questions<'static> {
        let stdin = std::io::stdin();
        Questions { is_terminal: stdin.is_terminal(), answers: Box::new(stdin.lock()) }
    }

    /// One line, or what is usual where it is empty or nobody answers.
    ///
    /// # Errors
    /// Nobody says what has no usual answer; the flag that would is named.
    pub fn ask(&mut self, question: &str, usual: Option<&str>, flag: &str) -> Result<String, Error> {
        let shown = usual.filter(|usual| !usual.is_empty()).map(|usual| format!(" [{usual}]")).unwrap_or_default();
        if self.is_terminal {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "{question}{shown}: ").and_then(|()| err.flush());
        }
        let mut line = String::new();
        let unreadable = |e| Error::from(Problems::plain(format!("standard input cannot be read: {e}"), format!("say it with {flag}")));
        self.answers.read_line(&mut line).map_err(unreadable)?;
        let given = line.trim();
        match usual {
            _ if !given.is_empty() => Ok(given.to_owned()),
            Some(usual) => Ok(usual.to_owned()),
            None => Err(Problems::plain(format!("nobody answers: {question}"), format!("say it with {flag}, or answer")).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_or_what_is_usual_or_the_flag_is_named() {
        let mut questions = Questions { answers: Box::new(&b" mine \n\n"[..]), is_terminal: false };
        assert_eq!(questions.ask("Name", Some("one"), "--service").unwrap(), "mine");
        assert_eq!(questions.ask("Name", Some("one"), "--service").unwrap(), "one");
        assert_eq!(questions.ask("Name", Some("one"), "--service").unwrap(), "one");
        let said = questions.ask("The command", None, "--service").unwrap_err().to_string();
        assert!(said.contains("nobody answers: The command") && said.contains("hint: say it with --service"), "{said}");
    }
}
