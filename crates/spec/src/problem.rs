//! Problems in what a person wrote: subject, cause, and what to do.
//!
//! A [`Problem`] may have a place in a file. [`Problems`] has all of one file and prints them with
//! the lines that they concern.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The place in the file, in bytes; `None` if the problem concerns the whole file.
    pub span: Option<Range<usize>>,
    /// Subject and cause, in one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// All problems of one file, or of one request that names no file.
#[derive(Clone, Debug)]
pub struct Problems {
    path: PathBuf,
    text: String,
    list: Vec<Problem>,
}

impl Problems {
    /// Makes the problems of a file's text.
    pub(crate) fn in_file(path: &Path, text: &str, list: Vec<Problem>) -> Self {
        Problems { path: path.to_owned(), text: text.to_owned(), list }
    }

    /// Makes a single problem without a place in a file.
    pub fn plain(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Problems::several(vec![(message.into(), hint.into())])
    }

    /// Makes the problem that this build lacks a cargo feature.
    ///
    /// `ability` completes "this build of faceoff cannot", such as "write Parquet".
    pub fn missing_feature(feature: &str, ability: &str) -> Self {
        Problems::plain(
            format!(
                "this build of faceoff cannot {ability}: it was compiled without the feature \
                 `{feature}`"
            ),
            format!(
                "install a released faceoff, which has every feature, or compile it with \
                 `cargo build --release --locked -p faceoff --features {feature}`"
            ),
        )
    }

    /// Makes problems from messages with their hints, without places in a file.
    pub(crate) fn several(all: Vec<(String, String)>) -> Self {
        let list = all
            .into_iter()
            .map(|(message, hint)| Problem { span: None, message, hint: Some(hint) })
            .collect();
        Problems { path: PathBuf::new(), text: String::new(), list }
    }

    /// Returns all problems, in the order of the file.
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
            let snippet = Snippet::source(&self.text)
                .path(&path)
                .annotation(AnnotationKind::Primary.span(span));
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
