//! Decides which category a sample of CPU time belongs to.
//!
//! A table of patterns decides (`categories.toml`, read by `spec::categories`): the first row that
//! matches the thread, the innermost function or the whole stack. Patterns are compared with each
//! frame of a profile once, not once for each stack. Start with [`Categories`].

use record::{FrameKind, Profile, Record, Stack};
use spec::categories::{CategoryRow, matches, parse_categories};
use std::collections::BTreeMap;
use std::path::Path;

/// The table that ships with faceoff.
const SHIPPED: &str = include_str!("categories.toml");

/// The category of samples in the kernel that no row matches.
pub const OTHER_KERNEL: &str = "other kernel";
/// The category of named functions that no row matches.
pub const APPLICATION: &str = "application";
/// The category of code without a symbol.
pub const UNKNOWN: &str = "unknown";
/// The category of CPU time by the clock that no sample stands for.
pub const UNSAMPLED: &str = "unsampled time";

/// The rows of the table, and the names of its categories.
#[derive(Clone, Debug)]
pub struct Categories {
    rows: Vec<CategoryRow>,
    /// For each row, its category as an index of `names`.
    category_of_row: Vec<usize>,
    names: Vec<String>,
}

impl Categories {
    /// Returns the table that ships with faceoff.
    pub fn shipped() -> Categories {
        Categories::with_rows(Vec::new())
    }

    /// Returns the table that ships with faceoff, after that of a record's experiment and, first
    /// of all, rows of one's own.
    pub fn of_record(record: &Record, own: Vec<CategoryRow>) -> Categories {
        let profiling = record.header.experiment.profile.as_ref();
        let of_experiment = profiling.map_or(&[][..], |profiling| &profiling.categories);
        Categories::with_rows([own, of_experiment.to_vec()].concat())
    }

    /// Returns the table that ships with faceoff, after rows of one's own.
    pub fn with_rows(own: Vec<CategoryRow>) -> Categories {
        let shipped = parse_categories(Path::new("categories.toml"), SHIPPED)
            .expect("a test reads the table that is compiled in");
        let rows = [own, shipped].concat();
        let mut names: Vec<String> = Vec::new();
        let fixed = [OTHER_KERNEL, APPLICATION, UNKNOWN, UNSAMPLED];
        for row in &rows {
            if !names.contains(&row.name) && !fixed.contains(&row.name.as_str()) {
                names.push(row.name.clone());
            }
        }
        // The kernel's rest comes right after the kernel, the three others at the end.
        let kernel = names.iter().rposition(|name| name.starts_with("kernel "));
        names.insert(kernel.map_or(0, |at| at + 1), OTHER_KERNEL.into());
        names.extend([APPLICATION, UNKNOWN, UNSAMPLED].map(str::to_owned));
        let at = |name: &str| names.iter().position(|known| known == name).unwrap_or(0);
        let category_of_row = rows.iter().map(|row| at(&row.name)).collect();
        Categories { rows, category_of_row, names }
    }

    /// Returns the names of all categories, in the order in which they are shown.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the place of a category in [`Categories::names`].
    pub(super) fn index_of(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or(0)
    }
}

/// The first rows that match a frame, by the place of the pattern in the row.
#[derive(Clone, Copy)]
struct FrameRows {
    kernel: usize,
    called_by: usize,
    functions: usize,
    innermost: usize,
}

/// The categories of the stacks of one profile.
pub(super) struct Classifier<'a> {
    categories: &'a Categories,
    profile: &'a Profile,
    rows_of_frames: Vec<FrameRows>,
    rows_of_threads: BTreeMap<&'a str, usize>,
}

impl<'a> Classifier<'a> {
    /// Compares every frame and thread of a profile with every pattern.
    pub fn new(categories: &'a Categories, profile: &'a Profile) -> Classifier<'a> {
        let rows = &categories.rows;
        let first = |patterns: fn(&CategoryRow) -> &Vec<String>, text: &str| {
            let matched =
                |row: &CategoryRow| patterns(row).iter().any(|pattern| matches(pattern, text));
            rows.iter().position(matched).unwrap_or(rows.len())
        };
        let none = rows.len();
        let rows_of_frame = |frame: &record::Frame| {
            let is_kernel = frame.kind == FrameKind::Kernel;
            let named = |patterns| frame.function.as_deref().map_or(none, |f| first(patterns, f));
            FrameRows {
                kernel: if is_kernel { named(|row| &row.kernel) } else { none },
                called_by: if is_kernel { none } else { named(|row| &row.called_by) },
                functions: if is_kernel { none } else { named(|row| &row.functions) },
                innermost: if is_kernel {
                    none
                } else {
                    named(|row| &row.innermost).min(first(|row| &row.modules, &frame.module))
                },
            }
        };
        let mut rows_of_threads = BTreeMap::new();
        for stack in &profile.stacks {
            let thread = stack.thread.as_str();
            rows_of_threads.entry(thread).or_insert_with(|| first(|row| &row.threads, thread));
        }
        Classifier {
            categories,
            profile,
            rows_of_frames: profile.frames.iter().map(rows_of_frame).collect(),
            rows_of_threads,
        }
    }

    /// Returns the category of a stack, as an index of [`Categories::names`]. Frames that the
    /// profile lacks count as code without a symbol.
    pub fn category(&self, stack: &Stack) -> usize {
        let innermost = stack.frames.first().and_then(|at| self.profile.frames.get(*at as usize));
        let is_in_kernel = innermost.is_some_and(|frame| frame.kind == FrameKind::Kernel);
        let none = self.categories.rows.len();
        let thread = self.rows_of_threads.get(stack.thread.as_str()).copied().unwrap_or(none);
        let known = stack.frames.iter().filter_map(|at| self.rows_of_frames.get(*at as usize));
        let of_frames = known.enumerate().map(|(depth, rows)| match is_in_kernel {
            true => rows.kernel.min(rows.called_by),
            false if depth == 0 => rows.functions.min(rows.innermost),
            false => rows.functions,
        });
        let row = of_frames.min().unwrap_or(none).min(thread);
        match self.categories.category_of_row.get(row) {
            Some(category) => *category,
            None if is_in_kernel => self.categories.index_of(OTHER_KERNEL),
            None if innermost.is_some_and(|frame| frame.function.is_some()) => {
                self.categories.index_of(APPLICATION)
            }
            None => self.categories.index_of(UNKNOWN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_categories_are_read_and_in_reading_order() {
        let rows = parse_categories(Path::new("categories.toml"), SHIPPED);
        assert!(rows.is_ok(), "{}", rows.unwrap_err());
        assert_eq!(
            Categories::shipped().names(),
            [
                "garbage collection",
                "JIT compilation",
                "kernel TCP/IP",
                "kernel epoll",
                "kernel files",
                "kernel scheduler",
                "kernel memory",
                "other kernel",
                "allocation",
                "runtime scheduling",
                "TLS",
                "HTTP parsing",
                "serialization",
                "logging",
                "application",
                "unknown",
                "unsampled time",
            ]
        );
    }
}
