//! The table of patterns that sorts samples of CPU time into categories.
//!
//! faceoff ships one (`crates/judge/src/causes/categories.toml`), and a file of the same form adds
//! rows to it. [`read_categories`] reads such a file, [`matches()`] compares a text with a pattern.
//! Which row a sample belongs to is decided by the crate `judge`.

use crate::problem::Problems;
use crate::reader::{Table, read_file, read_text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One row: a category, and the patterns that put a sample into it. Any of them suffices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryRow {
    /// The category. Several rows may have the same one.
    pub name: String,
    /// The name of the thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
    /// A function of the kernel, anywhere on a stack that ends in the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<String>,
    /// A function outside the kernel, anywhere on a stack that ends in the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called_by: Vec<String>,
    /// A function anywhere on a stack that ends outside the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// The innermost function, outside the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub innermost: Vec<String>,
    /// The executable or library of the innermost function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
}

/// Reads a file of categories.
///
/// # Errors
/// A file that cannot be read, or every mistake of it with its line.
pub fn read_categories(path: &Path) -> Result<Vec<CategoryRow>, Problems> {
    read_file(path, parse_rows)
}

/// Reads a table of categories, with `path` as its name in messages.
///
/// # Errors
/// Every mistake of the file, with its line.
pub fn parse_categories(path: &Path, text: &str) -> Result<Vec<CategoryRow>, Problems> {
    read_text(path, text, parse_rows)
}

fn parse_rows(file: &Table<'_>) -> Vec<CategoryRow> {
    file.tables("category", parse_row)
}

/// Reads one `[[category]]`.
fn parse_row(table: &Table<'_>) -> CategoryRow {
    let row = CategoryRow {
        name: table.required_string("name"),
        threads: table.strings("threads"),
        kernel: table.strings("kernel"),
        called_by: table.strings("called_by"),
        functions: table.strings("functions"),
        innermost: table.strings("innermost"),
        modules: table.strings("modules"),
    };
    if table.has("name") && (row.name.is_empty() || row.name.contains(char::is_control)) {
        table.problem("name", "a category needs a name of one line", "such as `name = \"cache\"`");
    }
    let patterns =
        [&row.threads, &row.kernel, &row.called_by, &row.functions, &row.innermost, &row.modules];
    if patterns.iter().all(|list| list.is_empty()) {
        table.problem(
            "name",
            "this category has no pattern, so nothing could belong to it",
            "add one, such as `functions = [\"myapp.cache.*\"]`",
        );
    }
    row
}

/// Returns whether a text matches a pattern, in which `*` is any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where to continue if the text after the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                (p, t) = (after, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text) in [
            ("tcp_*", "tcp_sendmsg"),
            ("*", ""),
            ("a*", "a"),
            ("*gc*", "runtime.gcDrain"),
            ("a*b*c", "axxbxxbyc"),
            ("net.(*conn).*", "net.(*conn).Write"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("tcp_*", "udp_sendmsg"),
            ("tcp", "tcp_"),
            ("a*b", "axc"),
            ("", "x"),
            ("TCP*", "tcp_x"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn rows_are_read_and_mistakes_are_reported_with_their_place() {
        let path = Path::new("mine.toml");
        let rows = parse_categories(
            path,
            "[[category]]\nname = \"cache\"\nfunctions = [\"cache.*\"]\nthreads = [\"evict*\"]\n",
        )
        .unwrap();
        assert_eq!((rows.len(), rows[0].name.as_str()), (1, "cache"));
        assert_eq!(rows[0].threads, ["evict*"]);
        for (text, expected) in [
            ("[[category]]\nfunctions = [\"a\"]\n", "name"),
            ("[[category]]\nname = \"a\"\n", "no pattern"),
            ("[[category]]\nname = \"a\"\nfunction = [\"a\"]\n", "function"),
            ("[[category]]\nname = \"\"\nkernel = [\"a\"]\n", "one line"),
            ("[[category]\n", "mine.toml"),
        ] {
            let problems = parse_categories(path, text).unwrap_err().to_string();
            assert!(problems.contains(expected), "{text}\n{problems}");
        }
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_and_any_part_between_stars(text in "[a-z.()]{0,20}", from in 0usize..20, to in 0usize..20) {
            prop_assert!(matches(&text, &text));
            let (from, to) = (from.min(to).min(text.len()), from.max(to).min(text.len()));
            let pattern = format!("*{}*", &text[from..to]);
            prop_assert!(matches(&pattern, &text));
        }
    }
}
