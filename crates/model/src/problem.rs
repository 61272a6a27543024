//! What is wrong with what a person wrote: subject, cause, and what to do.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where in the file, in bytes; `None` when it concerns the whole of it.
    pub span: Option<Range<usize>>,
    /// Subject and cause in one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Everything that is wrong with one file, or with one request that names no file.
#[derive(Clone, Debug)]
pub struct Problems {
    path: PathBuf,
    text: String,
    list: Vec<Problem>,
}

impl Problems {
    /// Problems found in a file's text.
    pub(crate) fn in_file(path: &Path, text: &str, list: Vec<Problem>) -> Self {
        Problems { path: path.to_owned(), text: text.to_owned(), list }
    }

    /// A single problem that lies in no file's text.
    pub fn plain(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Problems::several(vec![(message.into(), hint.into())])
    }

    /// Messages with their hints, none of which lies in a file's text.
    pub(crate) fn several(all: Vec<(String, String)>) -> Self {
        let list = all.into_iter().map(|(message, hint)| Problem { span: None, message, hint: Some(hint) }).collect();
        Problems { path: PathBuf::new(), text: String::new(), list }
    }

    /// All of them, in the order of the file.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display().to_string();
        for (i, problem) in self.list.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            let Some(span) = &problem.span else {
                let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
                write!(f, "error: {place}{}", problem.message)?;
                if let Some(hint) = &problem.hint {
                    write!(f, "\nhint: {hint}")?;
                }
                continue;
            };
            let span = span.start.min(self.text.len())..span.end.min(self.text.len());
            let snippet = Snippet::source(&self.text).path(&path).annotation(AnnotationKind::Primary.span(span));
            let mut group = Level::ERROR.primary_title(&problem.message).element(snippet);
            if let Some(hint) = &problem.hint {
                group = group.element(Level::HELP.with_name("hint").message(hint));
            }
            write!(f, "{}", Renderer::plain().render(&[group]))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
