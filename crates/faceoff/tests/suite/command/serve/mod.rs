//! `faceoff serve` from outside: the real command and real sockets.

mod live;

use crate::folder::{Folder, Ran, alive_in, nothing_is_left};
use crate::machine::share;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A running site with a folder's records.
struct Site {
    process: Child,
    address: String,
}

/// A response.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Site {
    fn of(folder: &Folder, records: &str) -> Site {
        Site::start(folder, &["serve", records, "--listen", "127.0.0.1:0", "--name", "lab.example"])
    }

    fn start(folder: &Folder, arguments: &[&str]) -> Site {
        let mut process = Command::new(env!("CARGO_BIN_EXE_faceoff"))
            .current_dir(folder.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let address = said
            .trim()
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix('/'))
            .expect("where it is")
            .to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{said}");
        Site { process, address }
    }

    /// Sends these bytes and reads until the connection is closed.
    fn say(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        // If the server closes before it has read everything, the connection ends with a reset
        // after the response.
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn get_with(&self, path: &str, headers: &str) -> Answer {
        self.say(format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.get_with(path, &format!("Host: {}\r\n", self.address))
    }

    fn cpu(&self) -> Duration {
        cpu(&std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap())
    }
}

/// Parses the CPU time of a `stat` file of /proc.
fn cpu(stat: &str) -> Duration {
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let ticks: u64 =
        after_name.split(' ').skip(11).take(2).map(|n| n.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

/// Returns the CPU time of one thread in nanoseconds. Its ticks of 10 ms would not show a
/// millisecond per second.
fn on_cpu(thread: &Path) -> Option<Duration> {
    let schedstat = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    Some(Duration::from_nanos(schedstat.split(' ').next()?.parse().ok()?))
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

impl Answer {
    #[track_caller]
    fn ok(self) -> Answer {
        assert_eq!(self.status, 200, "{}\n{}", self.head, self.body);
        self
    }

    #[track_caller]
    fn holds(self, text: &str) -> Answer {
        assert!(self.body.contains(text), "not there: {text}\n{}", self.body);
        self
    }

    #[track_caller]
    fn lacks(self, text: &str) -> Answer {
        assert!(!self.body.contains(text), "there: {text}\n{}", self.body);
        self
    }
}

/// Creates a folder with two services and an experiment.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.system("near", &[]);
    folder.system("far", &["--delay", "20ms"]);
    folder.experiment(&["near", "far"], "");
    folder
}

fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    let ran = folder.run(&[&["run", "x"], arguments].concat());
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    ran
}

/// Returns every file below a folder, with its length and modification time.
fn files(folder: &Path) -> Vec<(String, u64, SystemTime)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        if metadata.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.display().to_string(), metadata.len(), metadata.modified().unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn site_shows_records_of_folder() {
    let folder = folder();
    run(&folder, &["--blocks", "1", "--out", "records/first"]);
    run(&folder, &["--blocks", "1", "--seed", "77", "--out", "records/group/second"]);
    // A record of a killed run, and an invalid one.
    let lines = std::fs::read_to_string(folder.path().join("records/first/record.jsonl")).unwrap();
    folder.write(
        "records/killed/record.jsonl",
        &lines.lines().take(4).map(|line| format!("{line}\n")).collect::<String>(),
    );
    let killed = std::fs::File::options()
        .write(true)
        .open(folder.path().join("records/killed/record.jsonl"))
        .unwrap();
    killed.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    folder.write("records/nonsense/record.jsonl", "{}\n");
    let before = files(&folder.path().join("records"));
    let site = Site::of(&folder, "records");

    let list = site
        .get("/")
        .ok()
        .holds("4 records in")
        .holds("/records/group%2Fsecond")
        .holds("nonsense is not a record");
    list.holds("<td>").holds("Which?").lacks("<script");
    site.get("/?q=GROUP+far")
        .ok()
        .holds("1 of 4 records")
        .holds("group%2Fsecond")
        .lacks("/records/first");
    site.get("/?q=%3Cb%3E").ok().holds("0 of 4 records").holds("value=\"&lt;b&gt;\"");

    let page = site.get("/records/first").ok();
    assert_eq!(
        page.body,
        std::fs::read_to_string(folder.path().join("records/first/page.html")).unwrap(),
        "the page of `report`"
    );
    site.get("/records/killed").ok();
    let refused = site.get("/records/nonsense");
    assert_eq!(refused.status, 500, "{refused:?}");
    refused.holds("not a header");

    let both = site.get("/compare?a=first&b=group%2Fsecond").ok();
    let (machine, rest) = both.body.split_once("<h3>Versions</h3>").unwrap();
    let (versions, rest) = rest.split_once("<h3>Settings</h3>").unwrap();
    let (settings, verdicts) = rest.split_once("<h2>Verdicts").unwrap();
    assert!(
        machine.contains("Nothing changed.") && versions.contains("Nothing changed."),
        "{machine}\n{versions}"
    );
    let changed: Vec<&str> =
        settings.split("<details").next().unwrap().matches("<tr><th scope").collect();
    assert_eq!(changed.len(), 1, "the seed alone: {settings}");
    assert!(
        settings.contains("<bdi>seed of the order</bdi>") && settings.contains("<bdi>77</bdi>"),
        "{settings}"
    );
    assert!(
        verdicts.contains("far against near") && verdicts.contains("median latency"),
        "{verdicts}"
    );
    assert_eq!(site.get("/compare?a=first&b=third").status, 404);

    assert_eq!(files(&folder.path().join("records")), before, "nothing was written");
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn foreign_requests_are_refused() {
    let folder = folder();
    run(&folder, &["--blocks", "1", "--out", "records/r"]);
    folder.write("secret/record.jsonl", "{}\n");
    std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("records/linked"))
        .unwrap();
    let site = Site::of(&folder, "records");
    let own = format!("Host: {}\r\n", site.address);
    let port = site.address.rsplit(':').next().unwrap();
    let status = |headers: &str| site.get_with("/", headers).status;

    for host in [format!("localhost:{port}"), "lab.example".into(), format!("LAB.example:{port}")] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in
        ["evil.example", "127.0.0.1.evil.example", "192.0.2.1", "localhost.evil.example", ""]
    {
        assert_eq!(status(&format!("Host: {host}\r\n")), 421, "{host}");
    }
    assert_eq!(status(""), 400, "no host");
    assert_eq!(status(&format!("{own}Host: evil.example\r\n")), 400, "two hosts");
    assert_eq!(
        site.get_with("http://evil.example/", &own).status,
        400,
        "another place in the first line"
    );

    assert_eq!(status(&format!("{own}Origin: http://{}\r\n", site.address)), 200);
    for origin in
        ["http://evil.example", "null", "http://127.0.0.1:1", &format!("https://{}", site.address)]
    {
        assert_eq!(status(&format!("{own}Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(
        status(&format!("{own}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n")),
        200,
        "a link"
    );
    assert_eq!(
        status(&format!("{own}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n")),
        403,
        "a picture, a script"
    );

    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"] {
        let refused = site.say(
            format!("{method} / HTTP/1.1\r\n{own}Content-Length: 0\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        );
        assert!([400, 405].contains(&refused.status), "{method}: {refused:?}");
    }
    let head = site
        .say(format!("HEAD /records/r HTTP/1.1\r\n{own}Connection: close\r\n\r\n").as_bytes())
        .ok();
    assert!(head.body.is_empty() && head.head.contains("content-length: "), "{head:?}");

    check_paths(&site);
    let long = site.get_with("/", &format!("{own}X: {}\r\n", "x".repeat(100_000)));
    assert!([0, 431].contains(&long.status), "{}", long.head);
    site.get("/").ok().holds("1 record in");
}

/// Checks that no path leads out of the folder.
fn check_paths(site: &Site) {
    for path in [
        "/records/..%2Fsecret",
        "/records/../secret",
        "/records/%2e%2e/%2e%2e/etc/passwd",
        "/records/..%2F..%2F..%2F..%2Fetc%2Fpasswd",
        "/records/linked",
        "/records/r%2Frecord.jsonl",
        "/records/r%00",
        "/records/r%2F..%2Fr",
        "/records//r",
        "/systems/near/system.toml",
    ] {
        let refused = site.get(path);
        assert_eq!(refused.status, 404, "{path}: {refused:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn non_loopback_address_prints_warning() {
    let folder = folder();
    let mut site = Site::start(&folder, &["serve", ".", "--listen", "0.0.0.0:0"]);
    let mut said = String::new();
    BufReader::new(site.process.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(
        said.starts_with("warning: everyone who can reach this address can read the records"),
        "{said}"
    );
    site.get("/").ok();
    assert_eq!(site.get_with("/", "Host: evil.example\r\n").status, 421);
}

#[test]
#[cfg_attr(feature = "serve", ignore = "long: ten seconds")]
#[cfg_attr(not(feature = "serve"), ignore = "long, needs feature serve: ten seconds")]
fn incomplete_requests_block_others_only_briefly() {
    let folder = folder();
    let site = Site::of(&folder, ".");
    let halves: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(&site.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    while site.get("/").status != 0 {
        assert!(begun.elapsed() < Duration::from_secs(5), "not all of them are in yet");
    }
    while site.get("/").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(30), "they keep others out");
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(halves);
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn hostile_record_is_escaped() {
    let folder = folder();
    run(&folder, &["--blocks", "1", "--out", "r"]);
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    let script = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\\\" onload=\\\"alert(3)";
    let hostile = lines.replace("Which?", script).replace("\"GET /\"", &format!("\"{script}\""));
    assert_ne!(lines, hostile);
    let id = "\"><script>alert(4)<\u{2215}script>";
    folder.write(&format!("records/{id}/record.jsonl"), &hostile);
    folder.write(&format!("records/{id}/page.html"), "<script>alert(5)</script>");
    folder.write(
        &format!("records/{id}/judgement.json"),
        "{\"schema\": \"faceoff.judgement.v1\", \"verdicts\": 7}",
    );
    // Unexpected values: numbers at their limits.
    let odd = lines
        .replace("\"blocks\":1,", "\"blocks\":4294967295,")
        .replace("\"measure\":150000000", "\"measure\":18446744073709551615");
    assert_eq!(odd.matches("18446744073709551615").count(), 1);
    folder.write("records/odd/record.jsonl", &odd);
    let site = Site::of(&folder, "records");
    let name: String = id.bytes().map(|b| format!("%{b:02X}")).collect();
    let paths = ["/", "/experiments/x"].map(str::to_owned);
    for path in paths.into_iter().chain([
        format!("/records/{name}/live"),
        format!("/compare?a={name}&b=odd"),
        format!("/?q={name}"),
    ]) {
        let page = site.get(&path).ok();
        for (header, value) in [
            (
                "content-security-policy",
                "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert!(page.head.contains(&format!("{header}: {value}")), "{path}: {}", page.head);
        }
        page.lacks("<script").lacks("<img").lacks("javascript:").lacks("\" onload");
    }
    let page = site
        .get(&format!("/records/{name}"))
        .ok()
        .lacks("<script>alert")
        .lacks("<img src=x")
        .lacks("alert(5)");
    let policy = page
        .head
        .lines()
        .find(|line| line.starts_with("content-security-policy: "))
        .expect("a policy");
    assert!(
        policy.contains("default-src 'none'")
            && policy.contains("script-src 'sha256-")
            && policy.ends_with("frame-ancestors 'none'"),
        "{policy}"
    );
    assert!(
        [200, 500].contains(&site.get("/records/odd").status),
        "it is shown or refused, and the site still runs"
    );
    site.get("/").ok();
    assert_eq!(site.get("/style.css").ok().head.matches("text/css").count(), 1);
}

fn nothing_is_left_but(folder: &Folder, site: Site) {
    drop(site);
    nothing_is_left(folder);
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn metric_over_records_shows_where_it_changed() {
    let folder = folder();
    run(&folder, &["--blocks", "1", "--out", "r"]);
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    let (header, rest) = lines.split_once('\n').unwrap();
    let judged: Value = serde_json::from_str(
        &std::fs::read_to_string(folder.path().join("r/judgement.json")).unwrap(),
    )
    .unwrap();
    for day in 0..14 {
        let mut header: Value = serde_json::from_str(header).unwrap();
        header["header"]["recorded_at"] = format!("2026-01-{:02}T00:00:00Z", day + 1).into();
        folder.write(&format!("records/day{day:02}/record.jsonl"), &format!("{header}\n{rest}"));
        let mut judgement = judged.clone();
        judgement["unsound"] = false.into();
        for verdict in judgement["verdicts"].as_array_mut().unwrap() {
            // The median latency of one cell takes twice as long from the eighth day on, that of
            // the other stays.
            let is_slower =
                verdict["metric"] == "latency_p50" && verdict["cell"] == "open" && day >= 7;
            let noise = 1.0 + 0.001 * f64::from(day * 5 % 7);
            verdict["ratio"] = (if is_slower { 2.0 * noise } else { noise }).into();
            verdict["value"] = (if is_slower { 40.0 * noise } else { 20.0 * noise }).into();
            verdict["baseline_value"] = 20.0.into();
        }
        folder.write(&format!("records/day{day:02}/judgement.json"), &judgement.to_string());
    }
    let site = Site::of(&folder, "records");
    let page = site
        .get("/experiments/x")
        .ok()
        .holds("median latency of far in open, against near")
        .holds(">changed</text>");
    let page = page
        .holds(
            "The contender changed against the baseline with <a href=\"/records/day07\">day07</a>",
        )
        .lacks("The baseline's values changed");
    assert_eq!(
        page.body.matches("changed with day07").count(),
        2,
        "its ratio and its values, and nothing else\n{}",
        page.body
    );
    let other = site.get("/experiments/x?of=latency_p50%2Fclosed%2Ffar%2Fnear").ok();
    other.holds("median latency of far in closed, against near").holds("No change was found.");
    site.get("/experiments/x?form=quick")
        .ok()
        .holds("No record of it has a metric yet")
        .holds("The records of the full form");
    assert_eq!(site.get("/experiments/y").status, 404);
    site.get("/?q=day03").ok().holds("1 of 14 records").holds("/experiments/x");
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn refused_serve_says_why() {
    let folder = folder();
    folder.run(&["serve", "nothing"]).expect(2).says("nothing is not a folder").says("hint: ");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    folder
        .run(&["serve", ".", "--listen", &address])
        .expect(1)
        .says("cannot listen on")
        .says("hint: ");
    folder.run(&["serve", ".", "--listen", "7670"]).expect(2).says("--listen");
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = folder.faceoff(&["serve"]);
    Ran::from(command.current_dir(elsewhere.path()).output().unwrap())
        .expect(2)
        .says("no folder with records is named");
}

/// An async runtime below the crates that measure would be part of what is measured.
#[test]
fn only_the_command_depends_on_an_async_runtime() {
    let _machine = share();
    for name in [
        "stats", "spec", "record", "interop", "load", "runner", "lab", "judge", "report", "faceoff",
    ] {
        let tree = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "-e", "normal,build", "--prefix", "none", "-p", name])
            .args(if name == "faceoff" { &["--features", "full"][..] } else { &[] })
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let text = String::from_utf8(tree.stdout).unwrap();
        assert!(
            tree.status.success() && text.starts_with(name),
            "{name}: {}",
            String::from_utf8_lossy(&tree.stderr)
        );
        let has = ["tokio", "hyper"]
            .map(|runtime| text.lines().any(|line| line.starts_with(&format!("{runtime} "))));
        assert_eq!(has, [name == "faceoff"; 2], "{name}:\n{text}");
    }
}
