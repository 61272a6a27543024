//! The gateway that `faceoff build` built, as a process, with servers behind it and loads on it.

use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Time limit for waiting.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Prints a line past the tests' capture, which `scripts/test` lists at its end.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "\n{line}");
}

/// Returns the folder of optimised builds of `faceoff` and `control`. Unoptimised, they would be
/// slower than the gateway.
pub fn release() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_BIN_EXE_faceoff")).ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.env_remove("RUSTC_BOOTSTRAP");
        build
            .args([
                "build",
                "--release",
                "--locked",
                "-p",
                "faceoff",
                "-p",
                "control",
                "--target-dir",
            ])
            .arg(target);
        assert!(
            build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success(),
            "faceoff and control build"
        );
        target.join("release")
    })
}

/// The gateway's program.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let temporary = tempfile::tempdir().unwrap();
        let mut build = Command::new(release().join("faceoff"));
        let built = build
            .current_dir(repository())
            .env("TMPDIR", temporary.path())
            .args(["build", "gateway"])
            .output()
            .unwrap();
        let program = repository().join("gateway/bin/gateway");
        assert!(
            built.status.success() && program.is_file(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        program
    })
}

/// Returns a program with a descriptor limit, or with that of its parent.
fn limited(program: &Path, descriptors: Option<u64>) -> Command {
    let Some(most) = descriptors else { return Command::new(program) };
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {most} && exec \"$@\""), "sh"]).arg(program);
    command
}

/// Sets the descriptor limit of this process and of those that it starts.
pub fn have(descriptors: u64) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        rustix::process::Rlimit {
            current: Some(descriptors.max(limit.current.unwrap_or(u64::MAX))),
            ..limit
        },
    )
    .unwrap();
}

/// Returns a port below the ephemeral ones, so that it is free when a server restarts.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (std::process::id() % 7_000) as u16;
    let mut ports = (0..1_000).map(|_| first + NEXT.fetch_add(1, Ordering::Relaxed) % 1_000);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port is free")
}

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        sleep(Duration::from_millis(10));
    }
}

/// `control`, as a server behind the gateway.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    pub fn start(flags: &[&str]) -> Server {
        Server::start_at(port(), flags)
    }

    pub fn start_at(port: u16, flags: &[&str]) -> Server {
        let mut command = Command::new(release().join("control"));
        let mut child = command
            .args(["--port", &port.to_string()])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), port.to_string(), "it tells its port once it is bound");
        Server { child, port }
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway with one upstream, `hello`, for all paths.
pub struct Gateway {
    child: Child,
    listen: u16,
    admin: u16,
    file: PathBuf,
    said: Arc<Mutex<String>>,
    _folder: tempfile::TempDir,
}

impl Gateway {
    /// Starts a gateway in front of servers. `settings` are further lines of the upstream.
    pub fn start(servers: &[u16], settings: &str, descriptors: Option<u64>) -> Gateway {
        let folder = tempfile::tempdir().unwrap();
        let (listen, admin, file) = (port(), port(), folder.path().join("gateway.yaml"));
        std::fs::write(&file, written(listen, admin, servers, settings)).unwrap();
        let mut command = limited(program(), descriptors);
        let mut child = command
            .arg("-config")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, heard) = (BufReader::new(child.stderr.take().unwrap()).lines(), said.clone());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *heard.lock().unwrap() += &format!("{line}\n");
            }
        });
        let gateway = Gateway { child, listen, admin, file, said, _folder: folder };
        let began = Instant::now();
        while gateway.has_said("listening on") == 0
            || TcpStream::connect(("127.0.0.1", admin)).is_err()
        {
            assert!(
                began.elapsed() < PATIENCE,
                "it does not listen: {}",
                gateway.said.lock().unwrap()
            );
            sleep(Duration::from_millis(10));
        }
        gateway
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.listen)
    }

    /// Replaces its configuration file atomically, and has it read.
    pub fn reload(&self, servers: &[u16], settings: &str) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, written(self.listen, self.admin, servers, settings)).unwrap();
        std::fs::rename(&new, &self.file).unwrap();
        kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    /// Counts how often it logged a text.
    pub fn has_said(&self, text: &str) -> usize {
        self.said.lock().unwrap().matches(text).count()
    }

    /// Reads its metrics from the admin endpoint.
    pub fn counts(&self) -> Counts {
        let mut stream = TcpStream::connect(("127.0.0.1", self.admin)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let lines = body.lines().filter(|line| !line.starts_with('#'));
        let count = |line: &str| {
            line.rsplit_once(' ')
                .map(|(name, value)| (name.to_owned(), value.parse::<u64>().unwrap()))
        };
        Counts(lines.filter_map(count).collect())
    }

    /// Returns its resident memory in bytes: now (`VmRSS`), or the peak (`VmHWM`).
    pub fn memory(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let value =
            status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
        1024 * value.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn written(listen: u16, admin: u16, servers: &[u16], settings: &str) -> String {
    let servers: Vec<String> = servers.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    format!(
        "listen: 127.0.0.1:{listen}\nadmin: 127.0.0.1:{admin}\nworkers: 1\n\
         upstreams:\n  hello:\n    servers: [{}]\n{settings}\n\
         routes:\n  - {{path: /, upstream: hello}}\n",
        servers.join(", ")
    )
}

/// The gateway's metrics, by name and labels.
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    #[track_caller]
    pub fn of(&self, name: &str) -> u64 {
        *self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("the gateway does not count {name}: {:?}", self.0.keys()))
    }

    /// Returns the increase of a metric since before.
    #[track_caller]
    pub fn since(&self, before: &Counts, name: &str) -> u64 {
        self.of(name) - before.of(name)
    }
}

/// A `faceoff load` that runs while other things happen, for at most half an hour.
pub struct Load(Option<Child>);

impl Load {
    pub fn start(url: &str, arguments: &[&str], descriptors: Option<u64>) -> Load {
        let mut command = limited(&release().join("faceoff"), descriptors);
        command
            .args(["load", url, "--format", "json", "--wait", "asleep", "-d", "30m"])
            .args(arguments);
        Load(Some(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        ))
    }

    /// Ends it as Ctrl-C does, and returns its results.
    pub fn end(mut self) -> Value {
        let child = self.0.take().unwrap();
        // If it has ended already, its output says why.
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Clients that are as slow as allowed, with one connection each. A third of them sends its head
/// byte by byte, a third sends a body at some hundred bytes per second, a third reads so slowly.
pub struct SlowClients {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl SlowClients {
    /// Starts the clients, and returns when all have connected and begun.
    pub fn start(gateway: &Gateway, clients: usize) -> SlowClients {
        let mut streams: Vec<TcpStream> =
            (0..clients).map(|n| slow_client(gateway.listen, n)).collect();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = std::thread::spawn(move || {
            let mut connected = vec![true; streams.len()];
            while !is_over.load(Ordering::Relaxed) {
                for (n, (stream, connected)) in streams.iter_mut().zip(&mut connected).enumerate() {
                    let moved = match n % 3 {
                        0 => stream.write(b"x"),
                        1 => stream.write(&[b'x'; SLOWLY]),
                        _ => stream.read(&mut [0; SLOWLY]).and_then(|read| {
                            if read == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(read) }
                        }),
                    };
                    *connected &=
                        moved.is_ok() || moved.is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
                    if n % 100 == 99 {
                        sleep(Duration::from_secs(100) / clients as u32); // spread over a second
                    }
                }
            }
            connected.iter().filter(|connected| **connected).count()
        });
        SlowClients { over, thread: Some(thread) }
    }

    /// Ends them, and returns how many were still served.
    pub fn end(mut self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for SlowClients {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Bytes per second: above the gateway's minimum, `limits.pace`.
const SLOWLY: usize = 400;

fn slow_client(port: u16, n: usize) -> TcpStream {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    // A large buffer would let the kernel take the whole response.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 2_048).unwrap();
    rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut stream = TcpStream::from(socket);
    let began = match n % 3 {
        0 => "GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: ",
        1 => "POST / HTTP/1.1\r\nHost: slow\r\nContent-Length: 1000000\r\n\r\n",
        _ => "GET /?size=256K HTTP/1.1\r\nHost: slow\r\n\r\n",
    };
    stream.write_all(began.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Returns one of a load's counts.
#[track_caller]
pub fn count(result: &Value, kind: &str) -> u64 {
    result["counts"][kind].as_u64().unwrap_or_else(|| panic!("no count of {kind}: {result}"))
}
