//! Reads the elements of a plan that draw values: CSV tables, counters and random numbers.
//!
//! Each becomes a [`Data`] of the workload. The texts of the plan then name it instead of the
//! variable. A table must be in the folder of the plan, or below it.

use super::super::xml::Node;
use super::super::{Names, text_of};
use super::Plan;
use spec::data::{Data, Values};
use spec::problem::Problems;
use std::path::{Path, PathBuf};

/// The most rows that a table is read with.
const MOST_ROWS: usize = 100_000;

/// The columns of a table, and its rows.
type Rows = (Vec<String>, Vec<Vec<String>>);

impl<'x> Plan<'x> {
    /// Returns the path of a file that a plan names. It must be in the folder of the plan or below.
    ///
    /// A plan may come from someone else. It must not copy other files of this machine into the
    /// workload.
    pub(super) fn in_folder(&self, name: &str) -> Result<PathBuf, String> {
        let (path, folder) = (self.folder.join(name).canonicalize(), self.folder.canonicalize());
        let (path, folder) =
            path.and_then(|path| Ok((path, folder?))).map_err(|e| e.to_string())?;
        path.starts_with(&folder)
            .then_some(path)
            .ok_or_else(|| "it is not in the folder of the plan, nor below".into())
    }

    /// Reads a table of values, from a file that the plan names.
    pub(super) fn table(&mut self, node: &'x Node) -> Result<(), Problems> {
        let name =
            self.texts.fixed(node.value_of("filename"), &mut self.imported).unwrap_or_default();
        let unreadable = |why: String| {
            Problems::plain(
                format!("the table `{name}` of the plan cannot be read: {why}"),
                "put it into the folder of the plan, as a CSV file in UTF-8",
            )
        };
        let path = self.in_folder(&name).map_err(unreadable)?;
        let text = text_of(&path).map_err(|e| unreadable(e.to_string()))?;
        let (columns, mut rows) = self.rows_of(node, &name, &text).map_err(unreadable)?;
        if node.value_of("recycle") == "false" {
            self.imported
                .lost
                .add(format!("that the rows of {name} end"), "rows start again from the first");
        }
        let stem = Path::new(&name)
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let value = self.names.new_name(&stem);
        let mut unique = Names::default();
        let safe: Vec<String> = columns.iter().map(|column| unique.new_name(column)).collect();
        for (column, safe) in columns.iter().zip(&safe) {
            self.texts.value(column.trim(), &format!("{value}.{safe}"));
        }
        for row in &mut rows {
            row.resize(safe.len(), String::new());
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        let wrote =
            std::iter::once(&safe).chain(&rows).try_for_each(|row| writer.write_record(row));
        let bytes = wrote
            .map_err(|e| unreadable(e.to_string()))
            .and_then(|()| writer.into_inner().map_err(|e| unreadable(e.to_string())))?;
        self.tables.insert(value.clone(), String::from_utf8_lossy(&bytes).into_owned());
        self.data.push(Data {
            name: value,
            values: Values::Rows { columns: safe, rows, at_random: false },
        });
        Ok(())
    }

    /// Reads the columns and the rows of a table, as its element describes the file.
    fn rows_of(&mut self, node: &'x Node, name: &str, text: &str) -> Result<Rows, String> {
        let delimiter =
            match self.texts.fixed(node.value_of("delimiter"), &mut self.imported).as_deref() {
                Some("\\t" | "\t") => b'\t',
                Some(text) if text.len() == 1 => text.as_bytes()[0],
                _ => b',',
            };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .quoting(node.flag("quotedData"))
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for row in reader.records().take(MOST_ROWS + 1) {
            let row = row.map_err(|e| e.to_string())?;
            rows.push(row.iter().map(str::to_owned).collect::<Vec<_>>());
        }
        let named = node.value_of("variableNames").trim();
        let columns: Vec<String> = match named {
            "" if rows.is_empty() => Vec::new(),
            "" => rows.remove(0),
            named => named.split(',').map(|column| column.trim().to_owned()).collect(),
        };
        if !named.is_empty() && node.flag("ignoreFirstLine") && !rows.is_empty() {
            rows.remove(0);
        }
        if rows.len() > MOST_ROWS {
            rows.truncate(MOST_ROWS);
            self.imported.lost.add(
                format!("what follows {MOST_ROWS} rows of {name}"),
                "a table has no more rows",
            );
        }
        if columns.is_empty() || rows.is_empty() {
            return Err("it has no rows".into());
        }
        Ok((columns, rows))
    }

    pub(super) fn counter(&mut self, node: &Node) {
        let wish = node.value_of("CounterConfig.name").trim().to_owned();
        let from = self
            .texts
            .number(
                node.value_of("CounterConfig.start"),
                "the start of a counter",
                0.0..=1e15,
                &mut self.imported,
            )
            .unwrap_or(0.0);
        let step = self
            .texts
            .number(
                node.value_of("CounterConfig.incr"),
                "the step of a counter",
                1.0..=1e9,
                &mut self.imported,
            )
            .unwrap_or(1.0);
        if !node.value_of("CounterConfig.end").trim().is_empty() {
            self.imported.lost.add(format!("the end of the counter {wish}"), "a counter continues");
        }
        if node.flag("CounterConfig.per_user") {
            self.imported.lost.add(
                format!("that each user has the counter {wish}"),
                "one counts for all; `${round}` counts for each",
            );
        }
        let values = Values::Counter { from: from as u64, step: step as u64 };
        self.drawn(&wish, values);
    }

    pub(super) fn random(&mut self, node: &Node) {
        let wish = node.value_of("variableName").trim().to_owned();
        let from = self
            .texts
            .number(
                node.value_of("minimumValue"),
                "the least of a random number",
                0.0..=1e15,
                &mut self.imported,
            )
            .unwrap_or(0.0);
        let to = self
            .texts
            .number(
                node.value_of("maximumValue"),
                "the greatest of a random number",
                from..=1e15,
                &mut self.imported,
            )
            .unwrap_or(from);
        if !node.value_of("outputFormat").trim().is_empty() {
            self.imported.lost.add(format!("the format of {wish}"), "a number is written plainly");
        }
        self.drawn(&wish, Values::Number { from: from as u64, to: to as u64 });
    }

    fn drawn(&mut self, wish: &str, values: Values) {
        let name = self.names.new_name(wish);
        self.texts.value(wish, &name);
        self.data.push(Data { name, values });
    }
}
