//! Published benchmark tables as they were printed (`articles/<name>.toml`), for `faceoff audit`.
//!
//! An [`Article`] has tables, a table has rows, and a row has the figures that were printed.
//! Figures that were not printed are absent. The audit in the crate `judge` looks for impossible or
//! inconsistent figures. The readers of load-generator output in the crate `interop` fill the same
//! rows.
//!
//! Start with [`Row`]. [`Summary`] is what the article's page shows first.

mod summary;

pub use crate::figure::Figure;
pub use summary::{Answer, Summary};

use crate::problem::Problems;
use crate::reader::{Table as Fields, read_file};
use serde::{Deserialize, Serialize};
use std::path::Path;
use summary::parse_summary;

/// How wrk calls `Socket errors`, among [`Row::other`].
pub const SOCKET_ERRORS: &str = "socket errors";

/// An article with its tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Article {
    /// The name of the file.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where and when it was published.
    pub source: String,
    /// The tables, in the order of the article.
    pub tables: Vec<Table>,
    /// What its page shows first. A record, which shows its tables, does not keep it.
    #[serde(skip)]
    pub summary: Option<Summary>,
}

/// One table of an article.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Table {
    /// Its title.
    pub title: String,
    /// The tool that printed the figures, if known.
    pub tool: Option<Tool>,
    /// The rows, in the order of the table. Rows of the same name in several tables belong to the
    /// same run.
    pub rows: Vec<Row>,
    /// Rows that divide one row by another.
    pub quotients: Vec<Quotient>,
}

/// A load generator. Its figures mean something of their own, such as from when latency counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Closed load. Adds samples to its histogram after the run.
    Wrk,
    /// Load on a schedule. Latency counts from the scheduled instant.
    Wrk2,
    /// Closed load, or a rate.
    Oha,
    /// Users, or arrivals.
    K6,
    /// Closed.
    H2load,
    /// Closed load, or a rate for each worker.
    Hey,
    /// Users.
    Jmeter,
    /// Users, or arrivals.
    Gatling,
    /// Closed.
    Ab,
    /// Arrivals, on as many connections as they need.
    Vegeta,
    /// Closed load, or a rate.
    Bombardier,
    /// Closed load, or a rate.
    Autocannon,
    /// A schedule, or closed load.
    Zrk,
    /// Users.
    Locust,
    /// Users.
    Goose,
    /// Closed load, or a rate.
    Fortio,
    /// A collection of runs by several people.
    HttpArena,
}

impl Tool {
    /// All tools, by name.
    pub const ALL: [(&str, Tool); 17] = [
        ("wrk", Tool::Wrk),
        ("wrk2", Tool::Wrk2),
        ("oha", Tool::Oha),
        ("k6", Tool::K6),
        ("h2load", Tool::H2load),
        ("hey", Tool::Hey),
        ("jmeter", Tool::Jmeter),
        ("gatling", Tool::Gatling),
        ("ab", Tool::Ab),
        ("vegeta", Tool::Vegeta),
        ("bombardier", Tool::Bombardier),
        ("autocannon", Tool::Autocannon),
        ("zrk", Tool::Zrk),
        ("locust", Tool::Locust),
        ("goose", Tool::Goose),
        ("fortio", Tool::Fortio),
        ("httparena", Tool::HttpArena),
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Tool::ALL.iter().find(|(_, tool)| *tool == self).map_or("", |(name, _)| name)
    }

    /// Returns whether the rows of its tables are parts of one run.
    pub fn divides_runs(self) -> bool {
        matches!(self, Tool::Jmeter | Tool::Locust | Tool::Goose | Tool::Gatling)
    }
}

/// The printed figures of one run. A figure that was not printed is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PublishedRow"))]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// How the requests were made.
    pub load: Load,
    /// The number of requests.
    pub samples: Option<Figure>,
    /// Seconds measured.
    pub duration: Option<Figure>,
    /// Requests per second.
    pub throughput: Option<Figure>,
    /// The number of failed requests.
    pub errors: Option<Figure>,
    /// The failed requests as a share of all, from 0 to 1.
    pub error_share: Option<Figure>,
    /// The share of response checks that failed, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_checks: Option<Figure>,
    /// Errors of sockets, if the tool counts them apart from requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_errors: Option<Figure>,
    /// Bytes received per second.
    pub transfer: Option<Figure>,
    /// Bytes received in all.
    pub received: Option<Figure>,
    /// Mean bytes of a response, counted in the same way as `transfer` and `received`.
    pub bytes_per_answer: Option<Figure>,
    /// How long requests took.
    pub latency: Latency,
    /// Whether the percentages of the quantiles are uncertain. They are if they were interpolated,
    /// or if they are those of default settings that the output does not name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_loose_quantiles: bool,
    /// Figures that nothing here can be checked against: name and text.
    pub other: Vec<(String, String)>,
}

/// How the requests of a row were sent, as far as this is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PublishedLoad"))]
pub struct Load {
    /// Connections in all.
    pub connections: Option<u64>,
    /// Requests at once on a connection: pipelining, or streams.
    pub depth: Option<u64>,
    /// Users; each has one request in flight.
    pub users: Option<u64>,
    /// Requests of each user.
    pub loops: Option<u64>,
    /// Seconds over which users start.
    pub ramp_up: Option<Figure>,
    /// Mean seconds that a user waits after a response.
    pub pause_mean: Option<Figure>,
    /// Whether latency counts from a schedule, and so from before the request was sent.
    pub scheduled: bool,
}

/// How long requests took, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: Option<Figure>,
    /// Standard deviation.
    pub deviation: Option<Figure>,
    /// Minimum.
    pub min: Option<Figure>,
    /// Maximum.
    pub max: Option<Figure>,
    /// Quantiles, ascending: percent, value. Some may have been printed as zero.
    pub quantiles: Vec<(f64, Figure)>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A row that divides one row by another: how many times faster it is, or for latencies how many
/// times lower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quotient {
    /// The row that is divided.
    pub of: String,
    /// The row that it is divided by.
    pub to: String,
    /// The quotient of the throughputs.
    pub throughput: Option<Figure>,
    /// The quotient of the means, in either direction.
    pub mean: Option<Figure>,
    /// The quotient of bytes per second.
    pub transfer: Option<Figure>,
}

impl Article {
    /// Reads an article from its file.
    ///
    /// # Errors
    /// Every problem of the file, with its line.
    pub fn read(path: &Path) -> Result<Article, Problems> {
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        read_file(path, |fields| {
            let name = fields.required_string("name");
            if fields.has("name") && name != stem {
                fields.problem(
                    "name",
                    format!("the name is `{name}`, but the file's is `{stem}`"),
                    format!("write `name = \"{stem}\"`"),
                );
            }
            let tables = fields.tables("table", parse_table);
            if !fields.has("table") {
                fields.problem(
                    "table",
                    "the article has no table",
                    "write `[[table]]` with a title and rows",
                );
            }
            Article {
                name,
                title: fields.required_string("title"),
                source: fields.required_string("source"),
                tables,
                summary: fields.table("summary", parse_summary),
            }
        })
    }
}

fn parse_table(fields: &Fields<'_>) -> Table {
    let every = fields.table("every", parse_row).unwrap_or_default();
    let rows: Vec<Row> = fields
        .tables("row", |row| {
            let name = row.required_string("name");
            Row { name, ..parse_row(row) }
        })
        .into_iter()
        .map(|row| row.or(&every))
        .collect();
    if rows.is_empty() {
        fields.problem(
            "row",
            "the table has no rows",
            "write `row = [{ name = \"...\", throughput = \"...\" }]`",
        );
    }
    if let Some((_, twice)) = rows
        .iter()
        .enumerate()
        .find(|(i, row)| rows[..*i].iter().any(|other| other.name == row.name))
    {
        fields.problem(
            "row",
            format!("two rows are named `{}`", twice.name),
            "name each by what was measured",
        );
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
    Table {
        title: fields.required_string("title"),
        tool: fields.choice("tool", &Tool::ALL),
        rows,
        quotients,
    }
}

/// Reads a row without its name.
fn parse_row(row: &Fields<'_>) -> Row {
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
            scheduled: row
                .choice("latency_from", &[("schedule", true), ("sending", false)])
                .unwrap_or(false),
        },
        samples: row.parsed("samples", Figure::count),
        duration: row.parsed("duration", Figure::time),
        throughput: row.parsed("throughput", Figure::count),
        errors: row.parsed("errors", Figure::count),
        error_share: row.parsed("error_share", Figure::share),
        failed_checks: row.parsed("failed_checks", Figure::share),
        socket_errors: None,
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
        has_loose_quantiles: false,
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
            (_, Err(message)) => {
                row.problem("quantiles", message, "write `quantiles = { 99 = \"13.56ms\" }`")
            }
        }
    }
    read.sort_by(|a, b| a.0.total_cmp(&b.0));
    read
}

impl Row {
    /// Fills absent figures from those that apply to every row.
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
            failed_checks: or(self.failed_checks, &every.failed_checks),
            socket_errors: or(self.socket_errors, &every.socket_errors),
            transfer: or(self.transfer, &every.transfer),
            received: or(self.received, &every.received),
            bytes_per_answer: or(self.bytes_per_answer, &every.bytes_per_answer),
            latency: Latency {
                mean: or(self.latency.mean, &every.latency.mean),
                deviation: or(self.latency.deviation, &every.latency.deviation),
                min: or(self.latency.min, &every.latency.min),
                max: or(self.latency.max, &every.latency.max),
                quantiles: if self.latency.quantiles.is_empty() {
                    every.latency.quantiles.clone()
                } else {
                    self.latency.quantiles
                },
            },
            has_loose_quantiles: self.has_loose_quantiles || every.has_loose_quantiles,
            name: self.name,
            other: if self.other.is_empty() { every.other.clone() } else { self.other },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_an_article_is_reported_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let text = "name = \"y\"\ntitle = \"t\"\nsource = \"s\"\n[[table]]\ntitle = \"a\"\ntool = \"wkr\"\nrow = [\n  { name = \"r\", mean = \"1.6\", quantiles = { 199 = \"1ms\" } },\n  { name = \"r\", thruput = \"3\" },\n]\nquotient = [{ of = \"r\", to = \"q\" }]\n";
        std::fs::write(&path, text).unwrap();
        let message = Article::read(&path)
            .unwrap_err()
            .to_string()
            .replace(&*folder.path().to_string_lossy(), ".");
        for problem in [
            "the file's is `x`",
            "did you mean `wrk`?",
            "`1.6` is not a time",
            "`199` is not a percentage",
            "thruput",
            "two rows",
            "named `q`",
        ] {
            assert!(message.contains(problem), "{problem}\n{message}");
        }
    }

    #[test]
    fn summary_names_the_claims_that_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let read = |answer: &str| {
            let text = format!(
                "name = \"x\"\ntitle = \"t\"\nsource = \"s\"\n[[table]]\ntitle = \"a\"\nrow = [{{ name = \"r\" }}]\n\
                 [summary]\nquestion = \"q\"\nclaimed = \"c\"\nmethod = \"m\"\nyes_if = \"refuted\"\n\
                 names = {{ \"b:one+two\" = \"B\" }}\nanswer = [{answer}]\n"
            );
            std::fs::write(&path, text).unwrap();
            Article::read(&path)
        };
        let known =
            "{ experiment = \"e\", contender = \"b:one+two\", metric = \"memory\", margin = 1 }";
        let summary = read(known).unwrap().summary.unwrap();
        assert!(!summary.is_yes_if_confirmed);
        assert_eq!(summary.names["b:one+two"], "B");
        let [answer] = summary.answers.as_slice() else { panic!("{summary:?}") };
        assert_eq!((answer.experiment.as_str(), answer.margin), ("e", Some(1.0)));
        for (wrong, problem) in [
            ("", "no claim answers the question"),
            (
                "{ experiment = \"e\", contender = \"b\", metric = \"memroy\" }",
                "did you mean `memory`?",
            ),
            (
                "{ experiment = \"e\", contender = \"b:\", metric = \"memory\" }",
                "summary.answer.contender",
            ),
            ("{ contender = \"b\", metric = \"memory\" }", "`experiment`"),
        ] {
            let message = read(wrong).unwrap_err().to_string();
            assert!(message.contains(problem), "{problem}\n{message}");
        }
    }

    #[test]
    fn figures_for_every_row_apply_to_each_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let text = "name = \"x\"\ntitle = \"t\"\nsource = \"s\"\n[[table]]\ntitle = \"a\"\nevery = { connections = 128, depth = 16 }\nrow = [{ name = \"r\", depth = 2, quantiles = { \"99.9\" = \"3ms\", 50 = \"1ms\" } }]\n";
        std::fs::write(&path, text).unwrap();
        let row = &Article::read(&path).unwrap().tables[0].rows[0];
        assert_eq!((row.load.connections, row.load.depth), (Some(128), Some(2)));
        assert_eq!(row.latency.quantiles.iter().map(|q| q.0).collect::<Vec<_>>(), [50.0, 99.9]);
    }
}
