//! Builds, starts and stops the servers.

use super::cases::{Endpoint, LENGTHS, pattern};
use super::tool;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// All servers.
pub const NAMES: &[&str] =
    &["nginx", "haproxy", "caddy", "go", "tomcat", "netty", "undertow", "node"];

const CADDY: &str = "github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9";

/// Earlier versions use another framing in some cases: 2.6 in four of them.
const LEAST_CADDY: &[u32] = &[2, 11];

/// Time limit for the start of a server.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The files of one test: certificates, files to serve, workloads, logs.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path().join("files/length")).unwrap();
        for length in LENGTHS {
            fs::write(place.path().join(format!("files/length/{length}")), pattern(*length))
                .unwrap();
        }
        place.certify();
        place
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates an authority for this test, and its certificate for 127.0.0.1.
    fn certify(&self) {
        let openssl = |arguments: &str| {
            tool(Command::new("openssl").current_dir(self.path()).args(arguments.split(' ')))
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        fs::write(
            self.path().join("extensions"),
            "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n",
        )
        .unwrap();
        openssl(&format!(
            "req -x509 {key} -days 2 -subj /CN=conformance -keyout ca-key.pem -out ca.pem"
        ));
        openssl(&format!("req {key} -subj /CN=127.0.0.1 -keyout key.pem -out request.pem"));
        openssl(
            "x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile extensions -out cert.pem",
        );
        let read = |name: &str| fs::read(self.path().join(name)).unwrap();
        fs::write(self.path().join("both.pem"), [read("cert.pem"), read("key.pem")].concat())
            .unwrap();
    }
}

/// A running server, and the one behind it if it is a proxy.
pub struct Server {
    running: Running,
    ports: [u16; 3],
    upstream: Option<Box<Server>>,
}

impl Server {
    /// Builds it, starts it and waits until it listens.
    pub fn start(name: &str, place: &Place) -> Server {
        let ports = free_ports();
        let work = place.path().display().to_string();
        let is_proxy = ["nginx", "haproxy", "caddy"].contains(&name);
        let upstream = is_proxy.then(|| Box::new(Server::start("go", place)));
        let render = |file: &str| {
            let mut text = fs::read_to_string(folder(name).join(file)).unwrap();
            let upstream = upstream.as_ref().map_or(0, |server| server.ports[0]);
            for (word, port) in ["{port}", "{tls_port}", "{h2c_port}", "{upstream}"]
                .into_iter()
                .zip(ports.into_iter().chain([upstream]))
            {
                text = text.replace(word, &port.to_string());
            }
            let rendered = place.path().join(file);
            fs::write(&rendered, text.replace("{work}", &work)).unwrap();
            rendered.display().to_string()
        };
        let mut command: Vec<String> = match name {
            "nginx" => {
                vec![
                    "nginx".into(),
                    "-e".into(),
                    "stderr".into(),
                    "-p".into(),
                    format!("{work}/"),
                    "-c".into(),
                    render("nginx.conf"),
                ]
            }
            "haproxy" => vec!["haproxy".into(), "-db".into(), "-f".into(), render("haproxy.cfg")],
            "caddy" => {
                vec![
                    build_caddy(),
                    "run".into(),
                    "--adapter".into(),
                    "caddyfile".into(),
                    "--config".into(),
                    render("Caddyfile"),
                ]
            }
            "go" => vec![build_go()],
            "node" => vec!["node".into(), folder("node").join("server.js").display().to_string()],
            "tomcat" => java("TomcatServer"),
            "netty" => java("NettyServer"),
            "undertow" => java("UndertowServer"),
            _ => panic!("no server `{name}`"),
        };
        if !is_proxy {
            for (flag, port) in ["--port", "--tls-port", "--h2c-port"].into_iter().zip(ports) {
                command.extend([flag.into(), port.to_string()]);
            }
            command.extend([
                "--cert".into(),
                format!("{work}/cert.pem"),
                "--key".into(),
                format!("{work}/key.pem"),
            ]);
        }
        let mut server =
            Server { running: Running::start(name, &command, place.path()), ports, upstream };
        server.await_ready(name);
        server
    }

    /// Returns its address.
    pub fn port(&self, endpoint: Endpoint) -> u16 {
        self.ports[endpoint as usize]
    }

    /// Returns the last log lines of it and of the one behind it.
    pub fn last_words(&self) -> String {
        let behind =
            self.upstream.as_ref().map(|upstream| upstream.last_words()).unwrap_or_default();
        runner::process::last_lines(&self.running.log, 20).join("\n") + &behind
    }

    fn await_ready(&mut self, name: &str) {
        let begun = Instant::now();
        for port in self.ports {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
                let ended = self.running.guard.try_wait().unwrap().is_some();
                assert!(
                    !ended && begun.elapsed() < READY_WITHIN,
                    "{name} does not listen on {port}:\n{}",
                    self.last_words()
                );
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// A process under faceoff's guard, which ends it when this is dropped or the test is killed.
struct Running {
    guard: Child,
    log: PathBuf,
}

impl Running {
    fn start(name: &str, command: &[String], place: &Path) -> Running {
        let log = place.join(format!("{name}.log"));
        let guard = Command::new(env!("CARGO_BIN_EXE_faceoff"))
            .args([runner::guard::ARGUMENT, "", "", ""])
            .arg(&log)
            .args(command)
            .current_dir(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Running { guard, log }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Picks three ports at once, so that they differ.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(name)
}

/// The folder for builds, which is kept between runs.
fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance")
}

fn build_go() -> String {
    let program = built().join("go-server");
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        tool(
            Command::new("go")
                .args(["build", "-o"])
                .arg(&program)
                .arg(".")
                .current_dir(folder("go")),
        )
    });
    program.display().to_string()
}

/// Returns the one on PATH if it is new enough, else builds one once, which takes minutes.
fn build_caddy() -> String {
    let said = Command::new("caddy")
        .arg("version")
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let version: Vec<u32> = String::from_utf8_lossy(&said)
        .trim_start_matches('v')
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    if version[..] >= *LEAST_CADDY {
        return "caddy".into();
    }
    let program = built().join("caddy");
    if !program.is_file() {
        tool(Command::new("go").args(["install", CADDY]).env("GOBIN", built()));
    }
    program.display().to_string()
}

fn java(main: &str) -> Vec<String> {
    let folder = folder("java");
    static BUILT: Once = Once::new();
    BUILT
        .call_once(|| tool(Command::new("mvn").args(["-q", "-B", "package"]).current_dir(&folder)));
    let classes = folder.join("target/classes").display().to_string();
    let libraries = folder.join("target/lib/*").display().to_string();
    ["java", "-Xmx256m", "-cp", &format!("{classes}:{libraries}"), main].map(Into::into).into()
}
