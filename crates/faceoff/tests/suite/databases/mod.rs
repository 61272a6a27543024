//! Real databases: PostgreSQL's own programs, and banks whose data must be complete.

mod kills;

use crate::machine::{Alone, alone};
use crate::needs::need_all;
use record::Record;
use record::judgement::Outcome;
use runner::postgres::{Client, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

struct Folder {
    dir: tempfile::TempDir,
    _alone: Alone,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

impl Folder {
    /// Uses the systems and workloads of this repository, with an experiment of two banks.
    fn new(blocks: u32) -> Folder {
        Folder::of(blocks, "bank-fair", &["bank-go:connection-per-call"])
    }

    /// Uses an experiment of `bank-go` and others.
    fn of(blocks: u32, workload: &str, contenders: &[&str]) -> Folder {
        let folder = Folder { dir: tempfile::tempdir().unwrap(), _alone: alone() };
        // PostgreSQL and the banks' dependencies come from Maven and Go's module proxy.
        need_all(&["go", "java", "maven"]);
        let real = |name: &str| match name {
            ".faceoff" => repository().join(name),
            _ => repository().join("catalog").join(name),
        };
        for name in ["systems", "workloads", "articles", ".faceoff"] {
            std::fs::create_dir_all(real(name)).unwrap();
            symlink(real(name), folder.path(name)).unwrap();
        }
        std::fs::create_dir(folder.path("experiments")).unwrap();
        let experiment = format!(
            r#"
name = "chaos"
question = "Do acknowledged writes survive kills at any time?"
baseline = "bank-go"
contenders = {contenders:?}
database = "postgres"
[[cell]]
name = "fair"
workload = "{workload}"
load = {{ kind = "closed", connections = 8 }}
timeout = "2s"
[design]
blocks = {blocks}
spare_blocks = 0
looks = []
warmup = "300ms"
measure = "900ms"
"#
        );
        std::fs::write(folder.path("experiments/chaos.toml"), experiment).unwrap();
        folder
    }

    /// Adds a lying bank, with a variant for each lie: `bank-go` with another store. It is honest
    /// at first, so that it passes the response check, except for `liar:always`.
    fn add_liar(&self) {
        let (real, systems) = (repository().join("catalog/systems"), self.path("systems"));
        std::fs::remove_file(&systems).unwrap();
        std::fs::create_dir_all(systems.join("liar")).unwrap();
        for name in ["bank-go", "postgres"] {
            symlink(real.join(name), systems.join(name)).unwrap();
        }
        let read = |file: &str| std::fs::read_to_string(real.join("bank-go").join(file)).unwrap();
        let write = |file: &str, text: String| {
            std::fs::write(systems.join("liar").join(file), text).unwrap()
        };
        for file in ["go.mod", "go.sum", "bank.go", "store.go"] {
            write(file, read(file));
        }
        let (honest, main) = ("newBank(store)", read("main.go"));
        assert!(main.contains(honest), "the sources have changed");
        write("main.go", main.replace(honest, "newBank(lying(store))"));
        write("liar.go", include_str!("liar.go").to_owned());
        let manifest = read("system.toml").replace("\"bank-go\"", "\"liar\"");
        let answers =
            "answers = [\"bank-published\", \"bank-fair\", \"bank-contended\", \"bank-refused\"]";
        assert!(manifest.contains(answers), "the sources have changed");
        // In the other workloads a wrong amount causes a wrong response a little later.
        let manifest = manifest.replace(answers, "answers = [\"bank-published\"]");
        let mut manifest = manifest[..manifest.find("[variants.").unwrap()].to_owned();
        for (variant, lie, every) in [
            ("forgets", "forgets", 20),
            ("doubles", "doubles", 20),
            ("alters", "alters", 20),
            ("always", "alters", 1),
        ] {
            manifest += &format!(
                "[variants.{variant}]\nsummary = \"it lies\"\nenv = {{ LIE = \"{lie}\", LIE_EVERY = \"{every}\" }}\n"
            );
        }
        write("system.toml", manifest);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn faceoff(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
        command
            .current_dir(self.dir.path())
            .env("TMPDIR", self.dir.path())
            .env("XDG_STATE_HOME", self.path("state"));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Returns the outcome of `faceoff check` for each system, and its start-up in milliseconds.
    fn check(&self, systems: &[&str], server: Option<&str>) -> BTreeMap<String, (String, u64)> {
        let mut command = self.faceoff(&["check", "--format", "json"]);
        command.args(systems).envs(server.map(|url| ("FACEOFF_DATABASE", url)));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Vec<serde_json::Value> =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        let outcome = |v: &serde_json::Value| {
            let reason = v["reason"].as_str().map_or(String::new(), |reason| format!(": {reason}"));
            (
                format!("{}{reason}", v["outcome"].as_str().unwrap()),
                v["ready_after_ns"].as_u64().unwrap_or(0) / 1_000_000,
            )
        };
        said.iter().map(|v| (v["system"].as_str().unwrap().to_owned(), outcome(v))).collect()
    }
}

/// Returns every process with its parent and its command line.
fn processes() -> Vec<(u32, u32, String)> {
    let of = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some((pid, parent, String::from_utf8_lossy(&line).replace('\0', " ")))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// Returns the descendants of a process, with their command lines.
fn descendants(root: u32) -> Vec<(u32, String)> {
    let all = processes();
    let mut known = BTreeSet::from([root]);
    loop {
        let before = known.len();
        known.extend(
            all.iter()
                .filter(|(_, parent, _)| known.contains(parent))
                .map(|(pid, ..)| *pid)
                .collect::<Vec<_>>(),
        );
        if known.len() == before {
            return all
                .into_iter()
                .filter(|(pid, ..)| *pid != root && known.contains(pid))
                .map(|(pid, _, line)| (pid, line))
                .collect();
        }
    }
}

/// Returns what a faceoff process left: data folders, and servers on them.
fn left_by(pid: u32) -> Vec<String> {
    let mark = format!("/data-{pid}-");
    let servers =
        processes().into_iter().map(|(.., line)| line).filter(|line| line.contains(&mark));
    let homes = [PathBuf::from("/var/cache/faceoff"), repository().join(".faceoff/databases")];
    let folders = homes
        .iter()
        .flat_map(std::fs::read_dir)
        .flatten()
        .flatten()
        .map(|entry| entry.path().display().to_string());
    servers.chain(folders.filter(|path| path.contains(&mark))).collect()
}

/// Returns the port of a bank, if this is a bank's command line.
fn bank_of(line: &str) -> Option<u16> {
    let program = line.split(' ').next()?;
    let is_bank =
        program == "bin/bank-go" || program.ends_with("java") && line.contains(" target/app.jar ");
    is_bank.then(|| {
        line.split([' ', '=', ':']).filter_map(|word| word.parse().ok()).find(|port| *port > 1_024)
    })?
}

/// Returns the number of connections of a port.
fn connections(port: u16) -> usize {
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let (here, state) = (words.next(), words.nth(1));
        here.is_some_and(|here| here.ends_with(&format!(":{port:04X}"))) && state == Some("01")
    };
    let sockets = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|path| std::fs::read_to_string(path).unwrap_or_default());
    sockets.iter().flat_map(|sockets| sockets.lines()).filter(is_one).count()
}

fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
}

#[test]
#[ignore = "long, needs go and java and maven"]
fn banks_keep_acknowledged_writes_only() {
    let folder = Folder::new(6);
    folder.check(&["postgres"], None);
    let banks = [
        "bank-go",
        "bank-go:connection-per-call",
        "bank-go:pool-10",
        "bank-go:pgx",
        "bank-java",
        "bank-reactive",
    ];
    let refusing = [
        "bank-go:no-overdraft",
        "bank-go:pgx+no-overdraft",
        "bank-java:no-overdraft",
        "bank-reactive:no-overdraft",
    ];
    let systems: Vec<&str> = ["postgres"].into_iter().chain(banks).chain(refusing).collect();
    let said = folder.check(&systems, None);
    for system in &systems {
        assert_eq!(said[*system].0, "correct", "{system}: {said:?}");
    }
    assert!(said["postgres"].1 < 3_000, "a second start copies what the first one made: {said:?}");
}

#[test]
#[ignore = "long, needs go and java and maven"]
fn repetition_keeps_rows_and_probe_starts_empty() {
    let folder = Folder::new(1);
    folder.check(&["postgres", "bank-go"], None);
    let text = std::fs::read_to_string(folder.path("experiments/chaos.toml")).unwrap();
    let repetitions = text.replace("timeout = \"2s\"", "timeout = \"2s\"\nrepetitions = 2");
    let most = r#"
[[cell]]
name = "most"
workload = "bank-fair"
load = { kind = "capacity", of = "users", service_level = "p95<2s and errors<0.1%", from = 2, at_most = 4, probe = "500ms", probes = 6 }
"#;
    std::fs::write(folder.path("experiments/chaos.toml"), format!("{repetitions}{most}")).unwrap();
    let output = folder.faceoff(&["run", "chaos", "--out", "r"]).output().unwrap();
    let record = Record::read(&folder.path("r")).unwrap_or_else(|e| panic!("{e:?}: {output:?}"));
    assert_eq!(record.trials.len(), 2, "{output:?}");
    for trial in &record.trials {
        let kept = trial.database.as_ref().unwrap();
        assert!(
            trial.failure.is_none()
                && kept.checks.iter().all(|checked| checked.broken().is_empty()),
            "{trial:?}"
        );
        let rows = |after: &str| -> Vec<u64> {
            let of = kept.checks.iter().filter(|checked| checked.after == after);
            of.map(|checked| checked.tables.iter().map(|table| table.acknowledged).sum()).collect()
        };
        // A measurement that CPU steal invalidated is repeated from its beginning.
        let ([.., first], [.., both]) =
            (&rows("fair-repetition-1")[..], &rows("fair-repetition-2")[..])
        else {
            panic!("{:?}", kept.checks)
        };
        assert!(
            *first > 0 && both > first,
            "{first} rows after the first repetition, {both} after the second: {:?}",
            trial.measurements
        );
        let probes = &trial.capacities[0].probes;
        let after_probes = rows("most");
        // Once before the first probe, to make sure that it is idle; then once for each probe.
        assert_eq!(after_probes.len(), probes.len() + 1);
        // Each correct response leaves one or two rows. After a broken level, requests continue
        // until it is idle.
        for (probe, rows) in
            probes.iter().zip(&after_probes[1..]).filter(|(probe, _)| probe.kept == Some(true))
        {
            assert!(
                *rows > 0 && *rows <= 2 * probe.counts.correct,
                "{rows} rows of {:?}: {after_probes:?}",
                probe.counts
            );
        }
        for measured in &trial.measurements {
            let used = measured.database.as_ref().unwrap();
            assert!(
                used.cpu_ns > 0 && used.memory_max_bytes > 5_000_000 && used.processes_max >= 3,
                "{used:?}"
            );
        }
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("\nDatabase\n")
            && said.contains("of CPU a request")
            && said.contains("\nRepetitions\n"),
        "{said}"
    );
}

#[test]
#[ignore = "long, needs go and java and maven"]
fn lying_bank_is_disqualified_despite_correct_responses() {
    // In this workload nothing else reveals the lie: no request reads a transfer.
    let liars = [
        ("liar:forgets", "lost-write"),
        ("liar:doubles", "doubled-write"),
        ("liar:alters", "broken-data"),
    ];
    let folder = Folder::of(2, "bank-published", &liars.map(|(liar, _)| liar));
    folder.add_liar();
    let said = folder.check(&["postgres", "bank-go", "liar:always"], None);
    assert_eq!(said["bank-go"].0, "correct", "{said:?}");
    assert!(
        said["liar:always"].0.contains("`transaction` has rows that violate the condition"),
        "{said:?}"
    );
    let output = folder.faceoff(&["run", "chaos", "--out", "r"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let record = Record::read(&folder.path("r")).unwrap();
    assert_eq!(record.trials.len(), 2 * 4, "{output:?}");
    let wrong: u64 = record
        .trials
        .iter()
        .flat_map(|trial| &trial.measurements)
        .map(|measured| measured.counts.wrong)
        .sum();
    assert!(wrong == 0 && record.trials.iter().all(|trial| trial.failure.is_none()), "{output:?}");
    let judgement = judge::judge(&record);
    let disqualified: BTreeSet<String> =
        judgement.disqualified.iter().map(|d| d.contender.to_string()).collect();
    assert_eq!(
        disqualified,
        BTreeSet::from(liars.map(|(liar, _)| liar.to_owned())),
        "{:?}",
        judgement.faults
    );
    for (liar, kind) in liars {
        let of: BTreeSet<&str> = judgement
            .faults
            .iter()
            .filter(|fault| fault.place.contains(&format!(", {liar},")))
            .map(|fault| fault.kind.as_str())
            .collect();
        assert!(of.contains(kind), "{liar}: {:?}", judgement.faults);
        let mut verdicts =
            judgement.verdicts.iter().filter(|verdict| verdict.contender.to_string() == liar);
        assert!(verdicts.all(|verdict| verdict.outcome == Outcome::Undecided), "{liar}");
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        liars.iter().all(|(liar, _)| said.contains(liar)) && said.contains("disqualified"),
        "{said}"
    );
}

#[test]
#[ignore = "long, needs go and java and maven"]
fn transaction_is_complete_after_client_disconnects() {
    let banks = ["bank-go", "bank-java", "bank-reactive"];
    let folder = Folder::of(3, "bank-fair", &banks[1..]);
    folder.check(&[&["postgres"][..], &banks[..]].concat(), None);
    let mut impatient = std::fs::read_to_string(folder.path("experiments/chaos.toml")).unwrap();
    for (patient, now) in
        [("connections = 8", "connections = 64"), ("\"2s\"", "\"15ms\""), ("\"900ms\"", "\"10s\"")]
    {
        assert!(impatient.contains(patient), "the sources have changed");
        impatient = impatient.replace(patient, now);
    }
    std::fs::write(folder.path("experiments/chaos.toml"), impatient).unwrap();
    let output = folder.faceoff(&["run", "chaos", "--out", "r"]).output().unwrap();
    let record = Record::read(&folder.path("r")).unwrap_or_else(|e| panic!("{e:?}: {output:?}"));
    assert_eq!(record.trials.len(), 3 * banks.len(), "{output:?}");
    for bank in banks {
        let trials = || record.trials.iter().filter(|trial| trial.contender.to_string() == bank);
        let hung_up: u64 = trials()
            .flat_map(|trial| &trial.measurements)
            .map(|measured| measured.counts.timed_out)
            .sum();
        assert!(hung_up > 100, "{bank}: {output:?}");
        let checks: Vec<_> =
            trials().flat_map(|trial| &trial.database.as_ref().unwrap().checks).collect();
        assert!(
            checks.len() >= 3 && checks.iter().all(|checked| checked.broken().is_empty()),
            "{bank}: {checks:?}"
        );
        println!("{bank}: {hung_up} hung up");
    }
}

/// Starts a PostgreSQL server as a user would, and connects to it.
fn start_postgres(home: &Path) -> (Child, Client, u16) {
    let programs = repository().join("catalog/systems/postgres/target/pgsql/bin");
    let is_root = rustix::process::geteuid().is_root();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let data = home.join("data");
    if is_root {
        chown(home, Some(65_534), Some(65_534)).unwrap();
    }
    let program = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(programs.join(name));
        command.args(arguments).current_dir(home).stdout(Stdio::null()).stderr(Stdio::null());
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        command
    };
    let data = data.to_str().unwrap();
    assert!(
        program("initdb", &["-D", data, "-U", "ana", "-A", "trust", "-N"])
            .status()
            .unwrap()
            .success()
    );
    let port_text = port.to_string();
    let arguments = [
        "-D",
        data,
        "-p",
        &port_text,
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "unix_socket_directories=",
    ];
    let running = program("postgres", &arguments).spawn().unwrap();
    let server = Server {
        host: "127.0.0.1".into(),
        port,
        user: "ana".into(),
        password: None,
        name: "postgres".into(),
    };
    let mut client = None;
    for _ in 0..500 {
        std::thread::sleep(Duration::from_millis(20));
        client = Client::connect(&server, Duration::from_secs(10)).ok();
        if client.is_some() {
            break;
        }
    }
    (running, client.expect("the server responds"), port)
}

#[test]
#[ignore = "long, needs go and java and maven"]
fn database_server_of_the_user_is_unchanged() {
    let folder = Folder::new(6);
    folder.check(&["postgres"], None);
    // In a folder for other users, because PostgreSQL does not run as root.
    let home = tempfile::tempdir_in("/tmp").unwrap();
    let (mut running, mut client, port) = start_postgres(home.path());
    client.run("CREATE TABLE client (mine text); INSERT INTO client VALUES ('all')").unwrap();
    let url = format!("postgres://ana@127.0.0.1:{port}/postgres");
    let said = folder.check(&["bank-go", "bank-go:pgx"], Some(&url));
    let ours = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'faceoff%'";
    let schemas = client.run(ours).unwrap();
    // The next command removes what a killed run leaves behind.
    let mut run = folder.faceoff(&["run", "chaos", "--out", "r"]);
    let mut run = run
        .env("FACEOFF_DATABASE", &url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while client.run(ours).unwrap().is_empty() {
        assert!(
            began.elapsed() < Duration::from_secs(120) && run.try_wait().unwrap().is_none(),
            "no schema is made"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(run.id());
    run.wait().unwrap();
    let mine = client.run("SELECT mine FROM public.client").unwrap();
    let wrong = folder.check(&["bank-go"], Some("postgres://ana@127.0.0.1:1/postgres"));
    let after_kill = client.run(ours).unwrap();
    drop(client);
    kill(running.id());
    running.wait().unwrap();
    assert!(said.values().all(|(outcome, _)| outcome == "correct"), "{said:?}");
    assert!(schemas.is_empty(), "{schemas:?}");
    assert!(after_kill.is_empty(), "{after_kill:?}");
    assert_eq!(mine, [vec![Some("all".to_owned())]]);
    assert!(
        wrong["bank-go"].0.starts_with("failed: postgres://ana@127.0.0.1:1/postgres"),
        "{wrong:?}"
    );
}
