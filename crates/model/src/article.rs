//! Published tables, as they were printed (`articles/<name>.toml`), for `faceoff audit`.

use crate::problem::Problems;
use crate::reader::{Table as Fields, read_file};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An article's tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Article {
    /// The file's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where and when it was published.
    pub source: String,
    /// In the order of the article.
    pub tables: Vec<Table>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// What printed its figures, where that is known.
    pub tool: Option<Tool>,
    /// In the order of the table. Rows of one name in several tables are of the same run.
    pub rows: Vec<Row>,
    /// Rows that divide one row by another.
    pub quotients: Vec<Quotient>,
}

/// A load generator, by what its figures mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Closed; adds samples to its histogram after the run.
    Wrk,
    /// A schedule; latency counts from it.
    Wrk2,
    /// Closed, or a rate.
    Oha,
    /// Users, or arrivals.
    K6,
    /// Closed.
    H2load,
    /// Closed, or a rate for each worker.
    Hey,
    /// Users.
    Jmeter,
    /// Users, or arrivals.
    Gatling,
    /// Closed.
    Ab,
}

impl Tool {
    /// All, by name.
    pub const ALL: [(&str, Tool); 9] = [
        ("wrk", Tool::Wrk),
        ("wrk2", Tool::Wrk2),
        ("oha", Tool::Oha),
        ("k6", Tool::K6),
        ("h2load", Tool::H2load),
        ("hey", Tool::Hey),
        ("jmeter", Tool::Jmeter),
        ("gatling", Tool::Gatling),
        ("ab", Tool::Ab),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Tool::ALL.iter().find(|(_, tool)| *tool == self).map_or("", |(name, _)| name)
    }
}

/// What one run was printed as. Absent is what was not printed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// How the requests were made.
    pub load: Load,
    /// Requests.
    pub samples: Option<Figure>,
    /// Seconds measured.
    pub duration: Option<Figure>,
    /// Requests per second.
    pub throughput: Option<Figure>,
    /// Requests that failed.
    pub errors: Option<Figure>,
    /// Their share of all, from 0 to 1.
    pub error_share: Option<Figure>,
    /// Bytes received per second.
    pub transfer: Option<Figure>,
    /// Bytes received in all.
    pub received: Option<Figure>,
    /// Mean bytes of an answer, counted as `transfer` and `received` are.
    pub bytes_per_answer: Option<Figure>,
    /// How long requests took.
    pub latency: Latency,
    /// Figures that nothing here can be checked against: name and text.
    pub other: Vec<(String, String)>,
}

/// How the requests of a row were made, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Connections in all.
    pub connections: Option<u64>,
    /// Requests at once on a connection: pipelining, or streams.
    pub depth: Option<u64>,
    /// Users; each has one request under way.
    pub users: Option<u64>,
    /// Requests of each user.
    pub loops: Option<u64>,
    /// Seconds over which users start.
    pub ramp_up: Option<Figure>,
    /// Mean seconds that a user waits after an answer.
    pub pause_mean: Option<Figure>,
    /// Whether latency counts from a schedule, and so from before the sending.
    pub scheduled: bool,
}

/// How long requests took, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: Option<Figure>,
    /// Standard deviation.
    pub deviation: Option<Figure>,
    /// Least.
    pub min: Option<Figure>,
    /// Greatest.
    pub max: Option<Figure>,
    /// Quantiles, ascending: percent, value. Some may have been printed as zero.
    pub quantiles: Vec<(f64, Figure)>,
}

/// A row that divides one row by another: how many times faster, for latencies how many times lower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quotient {
    /// The row that is divided.
    pub of: String,
    /// The row that it is divided by.
    pub to: String,
    /// Of throughputs.
    pub throughput: Option<Figure>,
    /// Of means, either way round.
    pub mean: Option<Figure>,
    /// Of bytes per second.
    pub transfer: Option<Figure>,
}

/// A number as it was printed. It stands for everything within one unit of its last digit, rounded or cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    text: String,
    value: f64,
    unit: f64,
}

const COUNTS: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
const TIMES: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const BYTES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1024.0),
    ("K", 1024.0),
    ("KiB", 1024.0),
    ("MB", 1048576.0),
    ("M", 1048576.0),
    ("MiB", 1048576.0),
    ("GB", 1073741824.0),
    ("G", 1073741824.0),
    ("GiB", 1073741824.0),
    ("TB", 1099511627776.0),
    ("TiB", 1099511627776.0),
];

impl Figure {
    /// Reads `82,426`, `1.4M`: a number of things.
    ///
    /// # Errors
    /// Says what is not understood; so do the others.
    pub fn count(text: &str) -> Result<Figure, String> {
        Figure::read(text, COUNTS, "a number, such as 82,426 or 1.4M")
    }

    /// Reads `1.63ms`, in seconds.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn time(text: &str) -> Result<Figure, String> {
        Figure::read(text, TIMES, "a time with its unit, such as 1.63ms or 30s")
    }

    /// Reads `445.86MB`, where K, M and G are 1024, as load generators have it; `kB` is 1000.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn bytes(text: &str) -> Result<Figure, String> {
        Figure::read(text, BYTES, "bytes with their unit, such as 445.86MB")
    }

    /// Reads `16.03%`, from 0 to 1.
    ///
    /// # Errors
    /// See [`Figure::count`].
    pub fn share(text: &str) -> Result<Figure, String> {
        Figure::read(text, &[("%", 0.01)], "a share, such as 16.03%")
    }

    /// A number that a program wrote out in full, shown as `text`.
    pub fn exact(value: f64, text: impl Into<String>) -> Figure {
        Figure { text: text.into(), value, unit: value.abs() * 1e-9 }
    }

    fn read(text: &str, units: &[(&str, f64)], wanted: &str) -> Result<Figure, String> {
        let text = text.trim();
        let wrong = || format!("`{text}` is not {wanted}");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
        let (digits, unit) = (text[..end].replace(',', ""), text[end..].trim());
        let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| scale).ok_or_else(wrong)?;
        let value: f64 = digits.parse().map_err(|_| wrong())?;
        let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        // 30 digits are more than any tool prints, and keep every product finite.
        if digits.len() > 30 {
            return Err(wrong());
        }
        Ok(Figure { text: text.to_owned(), value: value * scale, unit: scale * 10f64.powi(-(decimals as i32)) })
    }

    /// As it was printed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What was printed, in the base unit.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The least that it can stand for.
    pub fn low(&self) -> f64 {
        (self.value - self.unit).max(0.0)
    }

    /// The greatest that it can stand for.
    pub fn high(&self) -> f64 {
        self.value + self.unit
    }

    /// One unit of its last digit.
    pub fn unit(&self) -> f64 {
        self.unit
    }
}

impl Article {
    /// Reads a file.
    ///
    /// # Errors
    /// Every problem of the file, with its line.
    pub fn read(path: &Path) -> Result<Article, Problems> {
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        read_file(path, |fields| {
            let name = fields.required_string("name");
            if fields.has("name") && name != stem {
                fields.problem("name", format!("the name is `{name}`, but the file's is `{stem}`"), format!("write `name = \"{stem}\"`"));
            }
            let tables = fields.tables("table", walk_table);
            if !fields.has("table") {
                fields.problem("table", "the article has no table", "write `[[table]]` with a title and rows");
            }
            Article { name, title: fields.required_string("title"), source: fields.required_string("source"), tables }
        })
    }
}

fn walk_table(fields: &Fields<'_>) -> Table {
    let every = fields.table("every", walk_row).unwrap_or_default();
    let rows: Vec<Row> = fields
        .tables("row", |row| {
            let name = row.required_string("name");
            Row { name, ..walk_row(row) }
        })
        .into_iter()
        .map(|row| row.or(&every))
        .collect();
    if rows.is_empty() {
        fields.problem("row", "the table has no rows", "write `row = [{ name = \"...\", throughput = \"...\" }]`");
    }
    if let Some((_, twice)) = rows.iter().enumerate().find(|(i, row)| rows[..*i].iter().any(|other| other.name == row.name)) {
        fields.problem("row", format!("two rows are named `{}`", twice.name), "name each by what was measured");
    }
    let quotients = fields.tables("quotient", |quotient| {
        let side = |key| {
            let name = quotient.required_string(key);
            if !name.is_empty() && !rows.iter().any(|row| row.name == name) {
                quotient.problem(
                    key,
                    format!("no row of this table is named `{name}`"),
                    crate::name::did_you_mean(&name, rows.iter().map(|r| r.name.as_str())),
                );
            }
            name
        };
        Quotient {
            of: side("of"),
            to: side("to"),
            throughput: quotient.parsed("throughput", Figure::count),
            mean: quotient.parsed("mean", Figure::count),
            transfer: quotient.parsed("transfer", Figure::count),
        }
    });
    Table { title: fields.required_string("title"), tool: fields.choice("tool", &Tool::ALL), rows, quotients }
}

/// All but the name.
fn walk_row(row: &Fields<'_>) -> Row {
    const MOST: u64 = 1_000_000_000;
    Row {
        name: String::new(),
        load: Load {
            connections: row.integer("connections", 1, MOST),
            depth: row.integer("depth", 1, MOST),
            users: row.integer("users", 1, MOST),
            loops: row.integer("loops", 1, MOST),
            ramp_up: row.parsed("ramp_up", Figure::time),
            pause_mean: row.parsed("pause_mean", Figure::time),
            scheduled: row.choice("latency_from", &[("schedule", true), ("sending", false)]).unwrap_or(false),
        },
        samples: row.parsed("samples", Figure::count),
        duration: row.parsed("duration", Figure::time),
        throughput: row.parsed("throughput", Figure::count),
        errors: row.parsed("errors", Figure::count),
        error_share: row.parsed("error_share", Figure::share),
        transfer: row.parsed("transfer", Figure::bytes),
        received: row.parsed("received", Figure::bytes),
        bytes_per_answer: row.parsed("bytes_per_answer", Figure::bytes),
        latency: Latency {
            mean: row.parsed("mean", Figure::time),
            deviation: row.parsed("deviation", Figure::time),
            min: row.parsed("min", Figure::time),
            max: row.parsed("max", Figure::time),
            quantiles: quantiles(row),
        },
        other: row.map("other").into_iter().collect(),
    }
}

fn quantiles(row: &Fields<'_>) -> Vec<(f64, Figure)> {
    let mut read: Vec<(f64, Figure)> = Vec::new();
    for (percent, text) in row.map("quantiles") {
        let of = percent.parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
        match (of, Figure::time(&text)) {
            (Some(percent), Ok(figure)) => read.push((percent, figure)),
            (None, _) => row.problem(
                "quantiles",
                format!("`{percent}` is not a percentage between 0 and 100"),
                "write `quantiles = { 99 = \"13.56ms\" }`",
            ),
            (_, Err(message)) => row.problem("quantiles", message, "write `quantiles = { 99 = \"13.56ms\" }`"),
        }
    }
    read.sort_by(|a, b| a.0.total_cmp(&b.0));
    read
}

impl Row {
    /// What is absent here taken from what holds for every row.
    fn or(self, every: &Row) -> Row {
        let or = |own: Option<Figure>, other: &Option<Figure>| own.or_else(|| other.clone());
        Row {
            load: Load {
                connections: self.load.connections.or(every.load.connections),
                depth: self.load.depth.or(every.load.depth),
                users: self.load.users.or(every.load.users),
                loops: self.load.loops.or(every.load.loops),
                ramp_up: or(self.load.ramp_up, &every.load.ramp_up),
                pause_mean: or(self.load.pause_mean, &every.load.pause_mean),
                scheduled: self.load.scheduled || every.load.scheduled,
            },
            samples: or(self.samples, &every.samples),
            duration: or(self.duration, &every.duration),
            throughput: or(self.throughput, &every.throughput),
            errors: or(self.errors, &every.errors),
            error_share: or(self.error_share, &every.error_share),
            transfer: or(self.transfer, &every.transfer),
            received: or(self.received, &every.received),
            bytes_per_answer: or(self.bytes_per_answer, &every.bytes_per_answer),
            latency: Latency {
                mean: or(self.latency.mean, &every.latency.mean),
                deviation: or(self.latency.deviation, &every.latency.deviation),
                min: or(self.latency.min, &every.latency.min),
                max: or(self.latency.max, &every.latency.max),
                quantiles: if self.latency.quantiles.is_empty() { every.latency.quantiles.clone() } else { self.latency.quantiles },
            },
            name: self.name,
            other: if self.other.is_empty() { every.other.clone() } else { self.other },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_stand_for_what_their_digits_leave_open() {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        let time = Figure::time("1.63ms").unwrap();
        assert!(close(time.low(), 1.62e-3) && close(time.value(), 1.63e-3) && close(time.high(), 1.64e-3));
        assert!(close(Figure::time("564.00us").unwrap().value(), 564e-6));
        assert!(close(Figure::count("2,422,353").unwrap().value(), 2_422_353.0));
        let short = Figure::count("9.3k").unwrap();
        assert!(close(short.low(), 9_200.0) && close(short.high(), 9_400.0));
        assert!(close(Figure::bytes("445.86MB").unwrap().value(), 445.86 * 1048576.0));
        assert!(close(Figure::share("16.03%").unwrap().value(), 0.1603));
        assert_eq!(Figure::time("0.00us").unwrap().low(), 0.0);
        for bad in ["", "ms", "1.6.3ms", "1.63", "-1ms", "1e9ms", "1.63 parsecs", "9999999999999999999999999999999999s"] {
            assert!(Figure::time(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}") {
            for read in [Figure::count, Figure::time, Figure::bytes, Figure::share] {
                if let Ok(figure) = read(&text) {
                    prop_assert!(figure.low() <= figure.value() && figure.value() <= figure.high() && figure.high().is_finite());
                }
            }
        }
    }

    #[test]
    fn every_problem_is_said_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let text = "name = \"y\"\ntitle = \"t\"\nsource = \"s\"\n[[table]]\ntitle = \"a\"\ntool = \"wkr\"\nrow = [\n  { name = \"r\", mean = \"1.6\", quantiles = { 199 = \"1ms\" } },\n  { name = \"r\", thruput = \"3\" },\n]\nquotient = [{ of = \"r\", to = \"q\" }]\n";
        std::fs::write(&path, text).unwrap();
        let said = Article::read(&path).unwrap_err().to_string().replace(&*folder.path().to_string_lossy(), ".");
        for problem in [
            "the file's is `x`",
            "did you mean `wrk`?",
            "`1.6` is not a time",
            "`199` is not a percentage",
            "thruput",
            "two rows",
            "named `q`",
        ] {
            assert!(said.contains(problem), "{problem}\n{said}");
        }
    }

    #[test]
    fn what_holds_for_every_row_holds_for_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let text = "name = \"x\"\ntitle = \"t\"\nsource = \"s\"\n[[table]]\ntitle = \"a\"\nevery = { connections = 128, depth = 16 }\nrow = [{ name = \"r\", depth = 2, quantiles = { \"99.9\" = \"3ms\", 50 = \"1ms\" } }]\n";
        std::fs::write(&path, text).unwrap();
        let row = &Article::read(&path).unwrap().tables[0].rows[0];
        assert_eq!((row.load.connections, row.load.depth), (Some(128), Some(2)));
        assert_eq!(row.latency.quantiles.iter().map(|q| q.0).collect::<Vec<_>>(), [50.0, 99.9]);
    }
}
