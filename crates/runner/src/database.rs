//! A database for each trial: a system of kind `database`, on a fresh data folder, or a schema of ours in the user's own server.

use crate::build::values;
use crate::guard::User;
use crate::needs::Tools;
use crate::notes::{Left, Note};
use crate::ports;
use crate::postgres::{self, Client, Server, quoted};
use crate::process::{self, NotDone, Process, Spec};
use crate::sha256::hex_digest;
use model::placeholder::Values;
use model::record::{Artifact, Failure};
use model::secret;
use model::system::Contender;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Names the user's own server, as `postgres://user:password@host:port/name`.
pub const OWN_SERVER: &str = "FACEOFF_DATABASE";

/// Where folders of databases stand when root runs faceoff: homes of users are often closed to others.
const HOME_OF_ROOT: &str = "/var/cache/faceoff";
/// Who owns a database; its tables belong to [`CONTENDER`].
const OWNER: &str = "faceoff";
/// The role, the database and the password's owner that contenders get: no superuser, so that a connection is kept for the referee.
const CONTENDER: &str = "contender";
/// How long a statement of ours may take.
const WITHIN: Duration = Duration::from_secs(30);
/// How long a server may take to remove what a killed run left.
const REMOVED_WITHIN: Duration = Duration::from_secs(10);
/// What schemas in the user's own server are called, before the process that made them.
const PREFIX: &str = "faceoff_";
/// How long making the first data folder may take.
const MAKE_WITHIN: Duration = Duration::from_secs(120);
/// Tries for a port that nobody takes meanwhile.
const TRIES: usize = 3;
const LOG_LINES: usize = 20;
/// Settings that decide how fast and how safe a server is, besides those that somebody set.
const TELLING: [&str; 9] = [
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

/// What every start needs, whichever database it is.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The tools of this machine.
    pub tools: &'a Tools,
    /// The run's id.
    pub run: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

/// Where trials get their databases from.
pub struct Databases {
    source: Source,
}

enum Source {
    Fresh(Box<Fresh>),
    Own(Server),
}

struct Fresh {
    contender: Contender,
    home: PathBuf,
    /// The first output of the build, where whoever runs it can read it.
    programs: PathBuf,
    /// A data folder that nobody uses, to be copied.
    template: PathBuf,
    password: String,
    user: Option<User>,
    /// As long as it is held, nobody removes the folder.
    _held: File,
}

/// A database that answers. Dropping it ends it and removes what it held.
pub struct Database {
    client: Option<Client>,
    server: Server,
    schema: String,
    /// Of the schema, where nothing else takes it along.
    note: Option<Note>,
    process: Option<Process>,
    /// The data folder, which is ours.
    data: Option<PathBuf>,
    stop: Option<model::system::Stop>,
    /// From its start to the first right answer; `None` where it ran already.
    pub ready_after_ns: Option<u64>,
    /// What it says it is.
    pub version: String,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
}

fn fail(stage: &str, cause: String) -> Failure {
    Failure { stage: stage.into(), cause, log: vec![] }
}

/// The user's own server, where the environment names one.
///
/// # Errors
/// In words, when what it names is no URL.
pub fn own_server() -> Result<Option<Server>, String> {
    match std::env::var(OWN_SERVER) {
        Ok(url) if !url.is_empty() => {
            let server = Server::parse(&url).map_err(|why| format!("{OWN_SERVER} is no URL of a database: {why}"))?;
            server.password.iter().for_each(|password| secret::learn(password, &format!("{{env.{OWN_SERVER}}}")));
            Ok(Some(server))
        }
        _ => Ok(None),
    }
}

impl Databases {
    /// The user's own server; whether it lets us in, and make a schema, shows now.
    ///
    /// # Errors
    /// What it says against it.
    pub fn own(server: Server) -> Result<Databases, Failure> {
        let databases = Databases { source: Source::Own(server) };
        databases.own_schema().map(drop)?;
        Ok(databases)
    }

    /// A built system of kind `database`: makes its first data folder, unless that is there. `cache` is used where root does not run faceoff.
    ///
    /// # Errors
    /// The failure, with the last lines of the log.
    pub fn fresh(contender: &Contender, built: &[Artifact], cache: &Path, means: Means<'_>) -> Result<Databases, Failure> {
        let user = ordinary_user().map_err(|cause| fail("start", cause))?;
        let home = home(cache);
        let io_failed = |what: &str, error: io::Error| fail("start", format!("{what} in {} cannot be made: {error}", home.display()));
        let held = lock_file(&home).and_then(|file| file.lock_shared().map(|()| file)).map_err(|e| io_failed("the lock", e))?;
        std::fs::create_dir_all(&home).map_err(|e| io_failed("the folder of databases", e))?;
        if user.is_some() {
            open_to_others(&home).map_err(|e| io_failed("the folder of databases", e))?;
        }
        remove_leftovers(&home);
        // By what was built, wherever it stands.
        let version = hex_digest(format!("{:?}{built:?}{user:?}", contender.system.make))[..12].to_owned();
        let programs = programs(contender, &home, &version, user).map_err(|e| io_failed("the copy of its programs", e))?;
        let template = home.join(format!("{}-{version}", contender.system.name));
        let mut fresh =
            Fresh { contender: contender.clone(), home: home.clone(), programs, template, password: String::new(), user, _held: held };
        let secret = fresh.template.join("password");
        if let Ok(password) = std::fs::read_to_string(&secret) {
            fresh.password = password;
        } else {
            fresh.make(means)?;
        }
        Ok(Databases { source: Source::Fresh(Box::new(fresh)) })
    }

    /// A database for one trial, empty, with a schema for the contender. `work` is for its log.
    ///
    /// # Errors
    /// The failure, with the last lines of the log.
    pub fn start(&self, cpus: &[usize], work: &Path, means: Means<'_>) -> Result<Database, Failure> {
        match &self.source {
            Source::Own(_) => self.own_schema(),
            Source::Fresh(fresh) => fresh.start(cpus, work, means),
        }
    }

    /// Whether it is the user's own server.
    pub fn is_own(&self) -> bool {
        matches!(self.source, Source::Own(_))
    }

    fn own_schema(&self) -> Result<Database, Failure> {
        let Source::Own(server) = &self.source else { return Err(fail("start", "there is no server of the user's own".into())) };
        let failed = |error: postgres::Error| fail("start", format!("{server:?}: {error}"));
        let client = Client::connect(server, WITHIN).map_err(failed)?;
        let (version, settings) = (String::new(), BTreeMap::new());
        let mut database = Database {
            client: Some(client),
            server: server.clone(),
            schema: String::new(),
            note: None,
            process: None,
            data: None,
            stop: None,
            ready_after_ns: None,
            version,
            settings,
        };
        database.open(None).map_err(failed)?;
        Ok(database)
    }
}

/// Where databases stand: beside stamps and logs or, where root runs faceoff, in a place that others can reach.
pub fn home(cache: &Path) -> PathBuf {
    if rustix::process::geteuid().is_root() { PathBuf::from(HOME_OF_ROOT) } else { cache.join("databases") }
}

/// Beside the folder, which may be removed: whoever uses it shares the lock, whoever removes it holds it alone.
fn lock_file(home: &Path) -> io::Result<File> {
    std::fs::create_dir_all(home.parent().unwrap_or(home))?;
    File::options().read(true).write(true).create(true).truncate(false).open(home.with_extension("lock"))
}

/// What became of the folder of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// There was none.
    Nothing,
    /// It is gone.
    Removed,
    /// Another faceoff has databases there.
    InUse,
}

/// Removes the folder of databases, unless it is in use.
///
/// # Errors
/// When it cannot be removed.
pub fn forget(home: &Path) -> io::Result<Forgotten> {
    if !home.exists() {
        return Ok(Forgotten::Nothing);
    }
    let lock = lock_file(home)?;
    match lock.try_lock() {
        Ok(()) => std::fs::remove_dir_all(home).map(|()| Forgotten::Removed),
        Err(TryLockError::WouldBlock) => Ok(Forgotten::InUse),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// `nobody`, where root runs faceoff: PostgreSQL refuses to run as root.
fn ordinary_user() -> Result<Option<User>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user, group, ..] = fields[..] else { return None };
        (name == "nobody").then_some(User { user: user.parse().ok()?, group: group.parse().ok()? })
    };
    let nobody = users.lines().find_map(of).filter(|nobody| nobody.user != 0);
    nobody.map(Some).ok_or("root must not run a database, and there is no user `nobody`: run faceoff as an ordinary user".into())
}

fn removal(schema: &str) -> String {
    format!("DROP SCHEMA IF EXISTS {} CASCADE", quoted(schema))
}

/// Removes a schema of ours from the user's own server; what was removed, or why it is left. The password is known where the environment names
/// that server.
pub(crate) fn remove_schema(schema: &str, server: &Server, password: bool) -> Result<String, String> {
    let left = |why: String| format!("the schema {schema} is left in {server:?}: {why}");
    if !schema.starts_with(PREFIX) {
        return Err(left("its name is none of ours".into()));
    }
    let is_it = |own: &Server| Server { password: None, ..own.clone() } == *server;
    let server = match own_server().ok().flatten().filter(is_it) {
        Some(own) => own,
        None if password => return Err(left(format!("its password is noted nowhere, and {OWN_SERVER} does not name that server"))),
        None => server.clone(),
    };
    let dropped = Client::connect(&server, REMOVED_WITHIN).and_then(|mut client| client.run(&removal(schema)));
    dropped.map(|_| format!("the schema {schema}")).map_err(|error| left(error.to_string()))
}

/// Data folders of processes of ours that are gone.
fn remove_leftovers(home: &Path) {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(DATA).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path()).or_else(|_| std::fs::remove_file(entry.path()));
        }
    }
}

/// What data folders are called, before the process that made them.
const DATA: &str = "data-";

/// The programs that the build made, or a copy of them where the user who runs them can read it.
fn programs(contender: &Contender, home: &Path, version: &str, user: Option<User>) -> io::Result<PathBuf> {
    let system = &contender.system;
    let built = system.build.as_ref().and_then(|build| build.outputs.first());
    let built = system.runs_in.join(built.map_or(".", String::as_str));
    if user.is_none() {
        return Ok(built);
    }
    let copy = home.join(format!("{}-programs-{version}", system.name));
    if !copy.exists() {
        let fresh = home.join(format!("{DATA}{}-programs", std::process::id()));
        copy_tree(&built, &fresh, None)?;
        std::fs::rename(&fresh, &copy)?;
    }
    Ok(copy)
}

/// Lets everybody look into a folder, whatever mask it was made under.
fn open_to_others(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

/// Copies a folder with all that is in it: for one user, whose it then is, or for all to read.
fn copy_tree(from: &Path, to: &Path, user: Option<User>) -> io::Result<()> {
    let state = std::fs::symlink_metadata(from)?;
    if state.is_symlink() {
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    if state.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_tree(&from.join(&name), &to.join(&name), user)?;
        }
        std::fs::set_permissions(to, state.permissions())?;
        if user.is_none() {
            open_to_others(to)?;
        }
    } else {
        std::fs::copy(from, to)?;
    }
    match user {
        Some(User { user, group }) => chown(to, Some(user), Some(group)),
        None => Ok(()),
    }
}

impl Fresh {
    fn values(&self, tools: &Tools, data: &Path) -> Values {
        let mut values = values(&self.contender, tools.jvm(&self.contender.system));
        let mut set = |name: &str, path: &Path| values.texts.insert(name.into(), path.to_string_lossy().into_owned());
        set("data", data);
        set("programs", &self.programs);
        set("password.file", &data.with_extension("password"));
        values.texts.insert("database.user".into(), OWNER.into());
        values
    }

    /// A name for a data folder that nobody has.
    fn unused(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.home.join(format!("{DATA}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Makes the data folder that all others are copies of.
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
        made.map_err(|failure| Failure { log: if failure.log.is_empty() { last(&log) } else { failure.log }, ..failure })
    }

    fn make_in(&mut self, data: &Path, secret: &Path, log: &Path, means: Means<'_>) -> Result<(), Failure> {
        let failed = |what: &str, error: io::Error| fail("start", format!("{what} cannot be made: {error}"));
        self.password = postgres::nonce().map_err(|e| failed("a password", e))?;
        let written = |path: &Path, user: Option<User>| -> io::Result<()> {
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(self.password.as_bytes())?;
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
        let command = command.map_err(|name| fail("start", format!("`{{{name}}}` has no value where a data folder is made")))?;
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
        // Its first start gives it the contenders' role and database, so that no trial has to.
        let mut database = self.start_in(data, &[], log, means)?;
        let password = postgres::literal(&self.password);
        let role = format!("CREATE ROLE {CONTENDER} LOGIN PASSWORD{password}");
        let prepared = [role, format!("CREATE DATABASE {CONTENDER} OWNER {CONTENDER}")];
        let prepared = prepared.iter().try_for_each(|sql| database.client()?.run(sql).map(drop));
        prepared.map_err(|error| fail("start", format!("it cannot be prepared for contenders: {error}")))?;
        database.data = None;
        database.end().map_or(Ok(()), |cause| Err(fail("stop", cause)))?;
        written(&data.join("password"), None).map_err(|e| failed("the password", e))?;
        std::fs::rename(data, &self.template).map_err(|e| failed("the first data folder", e))
    }

    fn start(&self, cpus: &[usize], work: &Path, means: Means<'_>) -> Result<Database, Failure> {
        let data = self.unused();
        let failed = |error: io::Error| fail("start", format!("the data folder {} cannot be made: {error}", data.display()));
        // It is not run where faceoff is.
        let log = std::fs::create_dir_all(work).and_then(|()| work.canonicalize()).map_err(failed)?.join("database.log");
        let copied = copy_tree(&self.template, &data, self.user)
            .and_then(|()| std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)))
            .and_then(|()| std::fs::remove_file(data.join("password")));
        let started = copied.map_err(failed).and_then(|()| {
            let mut database = self.start_in(&data, cpus, &log, means)?;
            database.server.name = CONTENDER.into();
            database.client = None;
            let client = Client::connect(&database.server, WITHIN);
            database.client = Some(client.map_err(|e| fail("start", e.to_string()))?);
            database.open(Some(CONTENDER)).map_err(|e| fail("start", format!("its schema cannot be made: {e}")))?;
            database.server.user = CONTENDER.into();
            Ok(database)
        });
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&data);
        }
        started
    }

    /// Starts the server on a data folder, which it then owns, and waits for the first right answer.
    fn start_in(&self, data: &Path, cpus: &[usize], log: &Path, means: Means<'_>) -> Result<Database, Failure> {
        let mut failure = fail("start", "no port of 18000-29999 is free".into());
        for _ in 0..TRIES {
            let Some(port) = ports::pick() else { return Err(failure) };
            match self.start_at(port, data, cpus, log, means) {
                Ok(database) => return Ok(database),
                // A port can be taken by somebody else between the choice and the start.
                Err(failed) if !ports::is_free(port) => failure = failed,
                Err(failed) => return Err(failed),
            }
        }
        Err(failure)
    }

    fn start_at(&self, port: u16, data: &Path, cpus: &[usize], log: &Path, means: Means<'_>) -> Result<Database, Failure> {
        let system = &self.contender.system;
        let mut values = self.values(means.tools, data);
        for name in &system.start.ports {
            values.texts.insert(format!("port.{name}"), port.to_string());
        }
        values.texts.insert("cores".into(), cpus.len().to_string());
        let no_value = |name: String| fail("start", format!("`{{{name}}}` has no value in the start of a database"));
        let command = values.expand_command(&system.start.run).map_err(no_value)?;
        let mut env = BTreeMap::new();
        for (key, template) in &system.start.env {
            env.insert(key.clone(), values.expand(template).map_err(no_value)?);
        }
        let spec = Spec { command: &command, folder: &self.home, env: &env, cpus, descriptors: None, log, user: self.user, run: means.run };
        let mut process = Process::start(&spec).map_err(|cause| fail("start", cause))?;
        let password = Some(self.password.clone());
        let server = Server { host: "127.0.0.1".into(), port, user: OWNER.into(), password, name: "postgres".into() };
        let deadline = process.started_ns + system.ready_within.as_nanos() as u64;
        let client = loop {
            let tried = Client::connect(&server, WITHIN).and_then(|mut client| client.value("SELECT 1").map(|one| (client, one)));
            let cause = match tried {
                Ok((client, one)) if one == "1" => break client,
                Ok((_, other)) => format!("it says that one is {other}"),
                Err(error) => error.to_string(),
            };
            let with_log = |cause: String| Failure { log: last(log), ..fail("start", cause) };
            if let Some(ended) = process.ended() {
                return Err(with_log(format!("it ended with {} before it was ready", ended.status)));
            }
            if means.stop.load(Ordering::Relaxed) {
                return Err(fail("start", "interrupted".into()));
            }
            if load::clock::now_ns() > deadline {
                let within = model::units::show_duration(system.ready_within);
                return Err(with_log(format!("no right answer within {within}; the last was: {cause}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let ready_after_ns = Some(load::clock::now_ns() - process.started_ns);
        Ok(Database {
            client: Some(client),
            server,
            schema: String::new(),
            note: None,
            process: Some(process),
            data: Some(data.to_owned()),
            stop: Some(system.stop.clone()),
            ready_after_ns,
            version: String::new(),
            settings: BTreeMap::new(),
        })
    }
}

fn last(log: &Path) -> Vec<String> {
    crate::process::last_lines(log, LOG_LINES)
}

impl Database {
    /// Reads what it is, and makes a schema in which nobody has written yet.
    fn open(&mut self, role: Option<&str>) -> Result<(), postgres::Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let client = self.client.as_mut().ok_or(postgres::Error::Lost("it is not connected".into()))?;
        self.version = client.value("SHOW server_version")?;
        let telling: Vec<String> = TELLING.iter().map(|name| postgres::literal(name)).collect();
        let set =
            "source NOT IN ('default', 'override', 'client', 'session') AND context <> 'internal' AND category !~ 'File Loc|Locale|Log'";
        let rows = client.run(&format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}) OR ({set} AND name NOT IN ('port')) ORDER BY name",
            telling.join(", ")
        ))?;
        let pair = |row: postgres::Row| Some((row.first()?.clone()?, row.get(1)?.clone()?));
        self.settings = rows.into_iter().filter_map(pair).collect();
        if let Some(role) = role {
            client.run(&format!("SET ROLE {}", quoted(role)))?;
        }
        let unique = postgres::nonce().map_err(postgres::Error::from)?;
        let schema = format!("{PREFIX}{}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed), &unique[..8]);
        let made = format!("CREATE SCHEMA {0}; SET search_path = {0}", quoted(&schema));
        if role.is_none() {
            let left = Left::Schema { name: schema.clone(), server: self.server.clone(), password: self.server.password.is_some() };
            self.note = Some(Note::write(&left).map_err(postgres::Error::Lost)?);
        }
        self.schema = schema;
        client.run(&made).map(drop)
    }

    /// What `{database.*}` stands for.
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

    /// The connection that is kept for the referee.
    ///
    /// # Errors
    /// When there is none any more.
    pub fn client(&mut self) -> Result<&mut Client, postgres::Error> {
        self.client.as_mut().ok_or(postgres::Error::Lost("it is not connected".into()))
    }

    /// Empties every table of the schema, and begins their numbers again.
    ///
    /// # Errors
    /// What the database says against it.
    pub fn empty(&mut self) -> Result<(), postgres::Error> {
        let (own, schema) = (quoted(&self.schema), postgres::literal(&self.schema));
        let client = self.client()?;
        let tables = client.run(&format!("SELECT tablename FROM pg_tables WHERE schemaname ={schema}"))?;
        let tables: Vec<String> =
            tables.into_iter().filter_map(|row| row.into_iter().next()?).map(|name| format!("{own}.{}", quoted(&name))).collect();
        if tables.is_empty() {
            return Ok(());
        }
        client.run(&format!("TRUNCATE {} RESTART IDENTITY CASCADE", tables.join(", "))).map(drop)
    }

    /// Its process, where it is one of ours.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.pid)
    }

    /// How it ended, where it was ours and has.
    pub fn ended(&mut self) -> Option<String> {
        self.process.as_mut()?.ended().map(|ended| ended.status.clone())
    }

    /// Ends it and removes what it held; says what went wrong, if anything.
    pub fn end(mut self) -> Option<String> {
        self.close()
    }

    fn close(&mut self) -> Option<String> {
        let mut wrong = None;
        let (client, schema) = (self.client.take(), std::mem::take(&mut self.schema));
        if self.process.is_none() && !schema.is_empty() {
            let drop = removal(&schema);
            let kept = client.map(|mut client| client.run(&drop).map(|_| ()));
            // A connection may be lost, and its server there.
            let dropped = match kept {
                Some(Ok(())) => Ok(()),
                _ => Client::connect(&self.server, WITHIN).and_then(|mut client| client.run(&drop).map(|_| ())),
            };
            match (dropped, self.note.take()) {
                (Ok(()), note) => note.iter().for_each(Note::forget),
                // It stays noted, for the next that holds the lock.
                (Err(e), _) => wrong = Some(format!("the schema {schema} stays in {}: {e}", self.server.name)),
            }
        }
        if let (Some(process), Some(rule)) = (self.process.take(), &self.stop) {
            let stopped = process.stop(rule.signal, rule.within);
            let within = model::units::show_duration(rule.within);
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
