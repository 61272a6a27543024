//! Asks questions on standard error and reads the answers from standard input.

use crate::exit::Error;
use spec::problem::Problems;
use std::io::{BufRead, IsTerminal, Write};

/// Asks questions and reads answers.
pub struct Questions<'a> {
    answers: Box<dyn BufRead + 'a>,
    is_terminal: bool,
}

impl Questions<'_> {
    /// Reads answers from standard input.
    pub fn of_stdin() -> Questions<'static> {
        let stdin = std::io::stdin();
        Questions { is_terminal: stdin.is_terminal(), answers: Box::new(stdin.lock()) }
    }

    /// Asks a question, and returns the answer or the default if the answer is empty.
    ///
    /// # Errors
    /// There is no answer and no default; the error names the option to use instead.
    pub fn ask(
        &mut self,
        question: &str,
        usual: Option<&str>,
        flag: &str,
    ) -> Result<String, Error> {
        let shown = usual
            .filter(|usual| !usual.is_empty())
            .map(|usual| format!(" [{usual}]"))
            .unwrap_or_default();
        if self.is_terminal {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "{question}{shown}: ").and_then(|()| err.flush());
        }
        let mut line = String::new();
        let unreadable = |e| {
            Error::from(Problems::plain(
                format!("standard input cannot be read: {e}"),
                format!("use {flag}"),
            ))
        };
        self.answers.read_line(&mut line).map_err(unreadable)?;
        let given = line.trim();
        match usual {
            _ if !given.is_empty() => Ok(given.to_owned()),
            Some(usual) => Ok(usual.to_owned()),
            None => Err(Problems::plain(
                format!("no answer to: {question}"),
                format!("use {flag}, or answer the question"),
            )
            .into()),
        }
    }

    /// Asks a question whose answer must be parsed. At a terminal, an invalid reply is explained and
    /// the question is repeated.
    ///
    /// # Errors
    /// As [`Questions::ask`], or the error of `read` if there is no terminal.
    pub fn ask_for<T>(
        &mut self,
        question: &str,
        usual: Option<&str>,
        flag: &str,
        read: impl Fn(&str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            match read(&self.ask(question, usual, flag)?) {
                Err(error) if self.is_terminal => crate::output::message(&error.to_string()),
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_answer_gives_default_or_names_option() {
        let mut questions = Questions { answers: Box::new(&b" mine \n\n"[..]), is_terminal: false };
        assert_eq!(questions.ask("Name", Some("one"), "--service").unwrap(), "mine");
        assert_eq!(questions.ask("Name", Some("one"), "--service").unwrap(), "one");
        assert_eq!(questions.ask("Name", Some("one"), "--service").unwrap(), "one");
        let said = questions.ask("The command", None, "--service").unwrap_err().to_string();
        assert!(
            said.contains("no answer to: The command") && said.contains("hint: use --service"),
            "{said}"
        );
    }
}
