//! A database server that faceoff starts for each trial, on a copy of one first data folder.
//!
//! Making a data folder takes seconds, and copying it does not. [`Fresh::prepare`] makes it once
//! per build; [`Fresh::start`] copies it and starts the server.

use super::folders::{
    DATA, copy_tree, home, lock_file, open_to_others, ordinary_user, programs, remove_leftovers,
};
use super::live::{Database, WITHIN, fail};
use crate::build::values;
use crate::guard::User;
use crate::means::Means;
use crate::needs::Tools;
use crate::ports;
use crate::postgres::{self, Client, Server};
use crate::process::{self, LOG_LINES, NotDone, Process, Spec, last_lines};
use crate::sha256::hex_digest;
use record::{Artifact, Failure};
use spec::placeholder::Values;
use spec::system::Contender;
use spec::units::show_duration;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The user of the server that owns everything but the tables, which belong to [`CONTENDER`].
const OWNER: &str = "faceoff";
/// The role and the database of contenders. It is no superuser, so that PostgreSQL reserves a
/// connection for our checks.
const CONTENDER: &str = "contender";
/// How long making the first data folder may take.
const MAKE_WITHIN: Duration = Duration::from_secs(120);
/// Attempts to find a port that no other program takes meanwhile.
const TRIES: usize = 3;

/// A built database system, and a first data folder that each trial gets a copy of.
pub(super) struct Fresh {
    contender: Contender,
    home: PathBuf,
    /// The first output of the build, or a copy that the user who runs it can read.
    programs: PathBuf,
    /// A data folder that no server uses, to be copied.
    template: PathBuf,
    password: String,
    user: Option<User>,
    /// While this lock is held, no run removes the folder.
    _held: File,
}

impl Fresh {
    /// Makes the first data folder, unless it exists.
    pub fn prepare(
        contender: &Contender,
        built: &[Artifact],
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Fresh, Failure> {
        let user = ordinary_user().map_err(|cause| fail("start", cause))?;
        let home = home(cache);
        let io_failed = |what: &str, error: io::Error| {
            fail("start", format!("{what} in {} cannot be made: {error}", home.display()))
        };
        let held = lock_file(&home)
            .and_then(|file| file.lock_shared().map(|()| file))
            .map_err(|e| io_failed("the lock", e))?;
        std::fs::create_dir_all(&home).map_err(|e| io_failed("the folder of databases", e))?;
        if user.is_some() {
            open_to_others(&home).map_err(|e| io_failed("the folder of databases", e))?;
        }
        remove_leftovers(&home);
        // Named by what was built, so another build gets another folder.
        let version =
            hex_digest(format!("{:?}{built:?}{user:?}", contender.system.make))[..12].to_owned();
        let programs = programs(contender, &home, &version, user)
            .map_err(|e| io_failed("the copy of its programs", e))?;
        let template = home.join(format!("{}-{version}", contender.system.name));
        let mut fresh = Fresh {
            contender: contender.clone(),
            home: home.clone(),
            programs,
            template,
            password: String::new(),
            user,
            _held: held,
        };
        let secret = fresh.template.join("password");
        if let Ok(password) = std::fs::read_to_string(&secret) {
            fresh.password = password;
        } else {
            fresh.make(means)?;
        }
        Ok(fresh)
    }

    fn values(&self, tools: &Tools, data: &Path) -> Values {
        let mut values = values(&self.contender, tools.jvm(&self.contender.system));
        let mut set = |name: &str, path: &Path| {
            values.texts.insert(name.into(), path.to_string_lossy().into_owned())
        };
        set("data", data);
        set("programs", &self.programs);
        set("password.file", &data.with_extension("password"));
        values.texts.insert("database.user".into(), OWNER.into());
        values
    }

    /// An unused name for a data folder.
    fn unused(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.home.join(format!(
            "{DATA}{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ))
    }

    /// Makes the data folder that is copied for each trial.
    fn make(&mut self, means: Means<'_>) -> Result<(), Failure> {
        let data = self.unused();
        let secret = data.with_extension("password");
        let log = self.home.join(format!("{}.log", self.contender.system.name));
        let _ = std::fs::remove_file(&log);
        let made = self.make_in(&data, &secret, &log, means);
        let _ = std::fs::remove_file(&secret);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&data);
        }
        made.map_err(|failure| Failure {
            log: if failure.log.is_empty() { last_lines(&log, LOG_LINES) } else { failure.log },
            ..failure
        })
    }

    fn make_in(
        &mut self,
        data: &Path,
        secret: &Path,
        log: &Path,
        means: Means<'_>,
    ) -> Result<(), Failure> {
        let failed =
            |what: &str, error: io::Error| fail("start", format!("{what} cannot be made: {error}"));
        self.password = postgres::nonce().map_err(|e| failed("a password", e))?;
        let written = |path: &Path, user: Option<User>| -> io::Result<()> {
            std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?
                .write_all(self.password.as_bytes())?;
            user.map_or(Ok(()), |User { user, group }| chown(path, Some(user), Some(group)))
        };
        written(secret, self.user).map_err(|e| failed("the file of the password", e))?;
        let folder = || -> io::Result<()> {
            std::fs::DirBuilder::new().mode(0o700).create(data)?;
            self.user.map_or(Ok(()), |User { user, group }| chown(data, Some(user), Some(group)))
        };
        folder().map_err(|e| failed("the data folder", e))?;
        let values = self.values(means.tools, data);
        let command = values.expand_command(&self.contender.system.make);
        let command = command.map_err(|name| {
            fail("start", format!("`{{{name}}}` has no value where a data folder is made"))
        })?;
        let spec = Spec {
            command: &command,
            folder: &self.home,
            env: &BTreeMap::new(),
            cpus: &[],
            descriptors: None,
            log,
            user: self.user,
            run: means.run,
        };
        let deadline = load::clock::now_ns() + MAKE_WITHIN.as_nanos() as u64;
        let shown = command.join(" ");
        process::run(&spec, deadline, means.stop).map_err(|why| match why {
            NotDone::NotStarted(cause) => fail("start", cause),
            NotDone::Ended(status) => fail("start", format!("`{shown}` ended with {status}")),
            NotDone::Interrupted => fail("start", "interrupted".into()),
            NotDone::Late => fail("start", format!("`{shown}` does not end")),
        })?;
        // The first start makes the role and the database of contenders, so that no trial has to.
        let mut database = self.start_in(data, &[], log, means)?;
        let password = postgres::literal(&self.password);
        let role = format!("CREATE ROLE {CONTENDER} LOGIN PASSWORD{password}");
        let prepared = [role, format!("CREATE DATABASE {CONTENDER} OWNER {CONTENDER}")];
        let prepared = prepared.iter().try_for_each(|sql| database.client()?.run(sql).map(drop));
        prepared.map_err(|error| {
            fail("start", format!("it cannot be prepared for contenders: {error}"))
        })?;
        database.data = None;
        database.end().map_or(Ok(()), |cause| Err(fail("stop", cause)))?;
        written(&data.join("password"), None).map_err(|e| failed("the password", e))?;
        std::fs::rename(data, &self.template).map_err(|e| failed("the first data folder", e))
    }

    /// Starts a server on a copy of the first data folder, with a schema for the contender.
    pub fn start(
        &self,
        cpus: &[usize],
        work: &Path,
        means: Means<'_>,
    ) -> Result<Database, Failure> {
        let data = self.unused();
        let failed = |error: io::Error| {
            fail("start", format!("the data folder {} cannot be made: {error}", data.display()))
        };
        // The server runs in another folder, so the path must be absolute.
        let log = std::fs::create_dir_all(work)
            .and_then(|()| work.canonicalize())
            .map_err(failed)?
            .join("database.log");
        let copied = copy_tree(&self.template, &data, self.user)
            .and_then(|()| std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)))
            .and_then(|()| std::fs::remove_file(data.join("password")));
        let started = copied.map_err(failed).and_then(|()| {
            let mut database = self.start_in(&data, cpus, &log, means)?;
            database.server.name = CONTENDER.into();
            database.client = None;
            let client = Client::connect(&database.server, WITHIN);
            database.client = Some(client.map_err(|e| fail("start", e.to_string()))?);
            database
                .open(Some(CONTENDER))
                .map_err(|e| fail("start", format!("its schema cannot be made: {e}")))?;
            database.server.user = CONTENDER.into();
            Ok(database)
        });
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&data);
        }
        started
    }

    /// Starts the server on a data folder, which the database then owns, on a free port.
    fn start_in(
        &self,
        data: &Path,
        cpus: &[usize],
        log: &Path,
        means: Means<'_>,
    ) -> Result<Database, Failure> {
        let mut failure = fail("start", "no port of 18000-29999 is free".into());
        for _ in 0..TRIES {
            let Some(port) = ports::pick() else { return Err(failure) };
            match self.start_at(port, data, cpus, log, means) {
                Ok(database) => return Ok(database),
                // Another program can take a port between the choice and the start.
                Err(failed) if !ports::is_free(port) => failure = failed,
                Err(failed) => return Err(failed),
            }
        }
        Err(failure)
    }

    fn start_at(
        &self,
        port: u16,
        data: &Path,
        cpus: &[usize],
        log: &Path,
        means: Means<'_>,
    ) -> Result<Database, Failure> {
        let system = &self.contender.system;
        let mut values = self.values(means.tools, data);
        for name in &system.start.ports {
            values.texts.insert(format!("port.{name}"), port.to_string());
        }
        values.texts.insert("cores".into(), cpus.len().to_string());
        let no_value = |name: String| {
            fail("start", format!("`{{{name}}}` has no value in the start of a database"))
        };
        let command = values.expand_command(&system.start.run).map_err(no_value)?;
        let mut env = BTreeMap::new();
        for (key, template) in &system.start.env {
            env.insert(key.clone(), values.expand(template).map_err(no_value)?);
        }
        let spec = Spec {
            command: &command,
            folder: &self.home,
            env: &env,
            cpus,
            descriptors: None,
            log,
            user: self.user,
            run: means.run,
        };
        let process = Process::start(&spec).map_err(|cause| fail("start", cause))?;
        let server = Server {
            host: "127.0.0.1".into(),
            port,
            user: OWNER.into(),
            password: Some(self.password.clone()),
            name: "postgres".into(),
        };
        let (process, client) = self.await_ready(process, &server, log, means)?;
        Ok(Database::of_process(process, data.to_owned(), &system.stop, (server, client)))
    }

    /// Waits until a started server gives its first correct response.
    fn await_ready(
        &self,
        mut process: Process,
        server: &Server,
        log: &Path,
        means: Means<'_>,
    ) -> Result<(Process, Client), Failure> {
        let ready_within = self.contender.system.ready_within;
        let deadline = process.started_ns + ready_within.as_nanos() as u64;
        let with_log =
            |cause: String| Failure { log: last_lines(log, LOG_LINES), ..fail("start", cause) };
        loop {
            let tried = Client::connect(server, WITHIN)
                .and_then(|mut client| client.value("SELECT 1").map(|one| (client, one)));
            let cause = match tried {
                Ok((client, one)) if one == "1" => return Ok((process, client)),
                Ok((_, other)) => format!("`SELECT 1` returns {other}"),
                Err(error) => error.to_string(),
            };
            if let Some(ended) = process.ended() {
                let status = &ended.status;
                return Err(with_log(format!("it ended with {status} before it was ready")));
            }
            if means.is_stopped() {
                return Err(fail("start", "interrupted".into()));
            }
            if load::clock::now_ns() > deadline {
                let within = show_duration(ready_within);
                return Err(with_log(format!(
                    "no correct response within {within}; the last attempt: {cause}"
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
