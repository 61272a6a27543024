//! A database that runs: its schema, its settings, and how it is stopped.
//!
//! [`Database`] holds a connection that contenders cannot use, by which `lab` checks their writes.
//! Dropping it stops the server, or removes the schema from the user's own server.

use super::own_server::{PREFIX, removal};
use crate::notes::{Left, Note};
use crate::postgres::{self, Client, Server, quoted};
use crate::process::Process;
use record::Failure;
use spec::system::Stop;
use spec::units::show_duration;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a statement of ours may take.
pub(super) const WITHIN: Duration = Duration::from_secs(30);
/// Settings that decide how fast and how safe a server is. They are recorded in addition to those
/// that differ from their default.
const SETTINGS: [&str; 9] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "max_connections",
    "shared_buffers",
    "work_mem",
    "wal_level",
    "max_wal_size",
    "default_transaction_isolation",
];

/// A database that runs. Dropping it stops it and removes its data.
pub struct Database {
    pub(super) client: Option<Client>,
    pub(super) server: Server,
    schema: String,
    /// The note of the schema, if it is in the user's own server.
    note: Option<Note>,
    process: Option<Process>,
    /// The data folder, if it is ours.
    pub(super) data: Option<PathBuf>,
    stop: Option<Stop>,
    /// Time from its start to the first correct response; `None` if it already ran.
    pub ready_after_ns: Option<u64>,
    /// The version that it reports.
    pub version: String,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
}

/// A failure without a log.
pub(super) fn fail(stage: &str, cause: String) -> Failure {
    Failure { stage: stage.into(), cause, log: vec![] }
}

impl Database {
    /// A connection to the user's own server.
    pub(super) fn of_server(server: Server, client: Client) -> Database {
        Database {
            client: Some(client),
            server,
            schema: String::new(),
            note: None,
            process: None,
            data: None,
            stop: None,
            ready_after_ns: None,
            version: String::new(),
            settings: BTreeMap::new(),
        }
    }

    /// A server that was started on a data folder of ours.
    pub(super) fn of_process(
        process: Process,
        data: PathBuf,
        stop: &Stop,
        (server, client): (Server, Client),
    ) -> Database {
        let ready_after_ns = load::clock::now_ns() - process.started_ns;
        let mut database = Database::of_server(server, client);
        database.ready_after_ns = Some(ready_after_ns);
        database.process = Some(process);
        database.data = Some(data);
        database.stop = Some(stop.clone());
        database
    }

    /// Reads version and settings, and makes a new schema.
    pub(super) fn open(&mut self, role: Option<&str>) -> Result<(), postgres::Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let client =
            self.client.as_mut().ok_or(postgres::Error::Lost("it is not connected".into()))?;
        self.version = client.value("SHOW server_version")?;
        let names: Vec<String> = SETTINGS.iter().map(|name| postgres::literal(name)).collect();
        let set = "source NOT IN ('default', 'override', 'client', 'session') AND context <> \
            'internal' AND category !~ 'File Loc|Locale|Log'";
        let rows = client.run(&format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}) OR ({set} \
             AND name NOT IN ('port')) ORDER BY name",
            names.join(", ")
        ))?;
        let pair = |row: postgres::Row| Some((row.first()?.clone()?, row.get(1)?.clone()?));
        self.settings = rows.into_iter().filter_map(pair).collect();
        if let Some(role) = role {
            client.run(&format!("SET ROLE {}", quoted(role)))?;
        }
        let unique = postgres::nonce().map_err(postgres::Error::from)?;
        let schema = format!(
            "{PREFIX}{}_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            &unique[..8]
        );
        let made = format!("CREATE SCHEMA {0}; SET search_path = {0}", quoted(&schema));
        if role.is_none() {
            let left = Left::Schema {
                name: schema.clone(),
                server: self.server.clone(),
                password: self.server.password.is_some(),
            };
            self.note = Some(Note::write(&left).map_err(postgres::Error::Lost)?);
        }
        self.schema = schema;
        client.run(&made).map(drop)
    }

    /// The values of `{database.*}`.
    pub fn values(&self) -> BTreeMap<String, String> {
        let Server { host, port, user, password, name } = &self.server;
        let texts = [
            ("host", host.clone()),
            ("port", port.to_string()),
            ("name", name.clone()),
            ("user", user.clone()),
            ("password", password.clone().unwrap_or_default()),
            ("schema", self.schema.clone()),
            ("url", self.server.url(&self.schema)),
        ];
        texts.into_iter().map(|(name, value)| (format!("database.{name}"), value)).collect()
    }

    /// The connection for checks, which contenders cannot use.
    ///
    /// # Errors
    /// A connection that was lost.
    pub fn client(&mut self) -> Result<&mut Client, postgres::Error> {
        self.client.as_mut().ok_or(postgres::Error::Lost("it is not connected".into()))
    }

    /// Empties every table of the schema, and restarts their sequences.
    ///
    /// # Errors
    /// An error of the database.
    pub fn empty(&mut self) -> Result<(), postgres::Error> {
        let (own, schema) = (quoted(&self.schema), postgres::literal(&self.schema));
        let client = self.client()?;
        let tables =
            client.run(&format!("SELECT tablename FROM pg_tables WHERE schemaname ={schema}"))?;
        let tables: Vec<String> = tables
            .into_iter()
            .filter_map(|row| row.into_iter().next()?)
            .map(|name| format!("{own}.{}", quoted(&name)))
            .collect();
        if tables.is_empty() {
            return Ok(());
        }
        client.run(&format!("TRUNCATE {} RESTART IDENTITY CASCADE", tables.join(", "))).map(drop)
    }

    /// Its process id, if faceoff started it.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.pid)
    }

    /// How it ended, if faceoff started it and it has.
    pub fn ended(&mut self) -> Option<String> {
        self.process.as_mut()?.ended().map(|ended| ended.status.clone())
    }

    /// Stops it and removes its data. Returns what went wrong, if anything.
    pub fn end(mut self) -> Option<String> {
        self.close()
    }

    fn close(&mut self) -> Option<String> {
        let mut wrong = None;
        let (client, schema) = (self.client.take(), std::mem::take(&mut self.schema));
        if self.process.is_none() && !schema.is_empty() {
            let drop = removal(&schema);
            let kept = client.map(|mut client| client.run(&drop).map(|_| ()));
            // The connection may be lost while the server still runs.
            let dropped = match kept {
                Some(Ok(())) => Ok(()),
                _ => Client::connect(&self.server, WITHIN)
                    .and_then(|mut client| client.run(&drop).map(|_| ())),
            };
            match (dropped, self.note.take()) {
                (Ok(()), note) => note.iter().for_each(Note::forget),
                // Its note remains for a later run.
                (Err(e), _) => {
                    wrong = Some(format!("the schema {schema} stays in {}: {e}", self.server.name))
                }
            }
        }
        if let (Some(process), Some(rule)) = (self.process.take(), &self.stop) {
            let stopped = process.stop(rule.signal, rule.within);
            let within = show_duration(rule.within);
            wrong = match (stopped.killed, stopped.ended.status.as_str()) {
                (true, _) => Some(format!("it did not end within {within} and was killed")),
                (false, "exit 0") => None,
                (false, status) => Some(format!("it ended with {status}")),
            };
        }
        if let Some(Err(error)) = self.data.take().map(std::fs::remove_dir_all) {
            wrong = Some(format!("its data folder cannot be removed: {error}"));
        }
        wrong
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
