//! Secrets come from the environment, reach the service, and are never written to a file.

use crate::folder::{Folder, Ran, control};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

const TOKEN: &str = "tok-5f0c9a41d7e2b836";
const KEY: &str = "key/with+odd=1 ä";
/// The same secret, encoded for a path.
const SENT: &str = "key/with+odd=1%20%C3%A4";

/// A server that responds with 200 and `ok`, and keeps the requests.
struct Server {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                std::thread::spawn(move || answer(stream, &kept));
            }
        });
        Server { url, heads }
    }

    /// Whether there were requests, and every head contained a text.
    fn always_got(&self, text: &str) -> bool {
        let heads = self.heads.lock().unwrap();
        !heads.is_empty() && heads.iter().all(|head| head.contains(text))
    }
}

fn answer(mut stream: TcpStream, kept: &Mutex<Vec<String>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            kept.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
            head.clear();
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    Ran::from(
        folder.faceoff(arguments).env("SHOP_TOKEN", TOKEN).env("SHOP_KEY", KEY).output().unwrap(),
    )
}

/// Returns every form in which a secret could be written.
const FORMS: [&str; 4] = [TOKEN, KEY, SENT, "key%2Fwith%2Bodd%3D1%20%C3%A4"];

#[track_caller]
fn tells_nothing(ran: &Ran) {
    for secret in FORMS {
        assert!(
            !ran.out.contains(secret) && !ran.err.contains(secret),
            "{secret}:\n{}\n{}",
            ran.out,
            ran.err
        );
    }
}

/// Checks that no file of a folder contains a secret, and returns the number of files.
#[track_caller]
fn holds_nothing(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            files += holds_nothing(&entry.path());
            continue;
        }
        files += 1;
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        for secret in FORMS {
            assert!(!text.contains(secret), "{secret} is in {}", entry.path().display());
        }
    }
    files
}

/// Writes a workload that sends both, and checks the echo.
const WORKLOAD: &str = r#"
name = "guarded"
summary = "asks with a token"
[[step]]
path = "/echo?key=${env.SHOP_KEY}"
headers = { authorization = "Bearer ${env.SHOP_TOKEN}" }
[step.answer]
regex = '/echo\?key=key/with\+odd=1%20%C3%A4 [^\n]*\n(?s:.*)Bearer tok-[0-9a-f]{16}\r'
"#;

/// Writes a system that prints its arguments to its log and to a rendered file.
const MANIFEST: &str = r#"
name = "NAME"
summary = "s"
kind = "service"
answers = ["guarded"]
[start]
run = ["sh", "-c", 'echo "env $TOLD"; cat $1/told.conf; exec CONTROL --port $2', "{env.SHOP_TOKEN}", "{work}", "{port.http}"]
ports = ["http"]
render = ["told.conf"]
env = { TOLD = "{env.SHOP_TOKEN}" }
[ready]
within = "2s"
"#;

#[test]
fn run_sends_secrets_and_writes_none() {
    let folder = Folder::new();
    folder.write("workloads/guarded.toml", WORKLOAD);
    for name in ["a", "b"] {
        let manifest =
            MANIFEST.replace("NAME", name).replace("CONTROL", &control().display().to_string());
        folder.write(&format!("systems/{name}/system.toml"), &manifest);
        folder.write(&format!("systems/{name}/told.conf"), "secret = {env.SHOP_KEY};\n");
    }
    folder.experiment(&["a", "b"], "");
    let path = folder.path().join("experiments/x.toml");
    let experiment = std::fs::read_to_string(&path)
        .unwrap()
        .replace("workload = \"hello\"", "workload = \"guarded\"");
    std::fs::write(&path, experiment).unwrap();
    let ran = run(&folder, &["run", "x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    tells_nothing(&ran);
    assert!(holds_nothing(folder.path()) > 5);
    let record = folder.record("r");
    assert!(
        record.trials.iter().all(|trial| trial.failure.is_none()
            && trial.measurements.iter().all(|m| m.counts.correct > 0))
    );
    assert_eq!(record.trials[0].command[3], "{env.SHOP_TOKEN}", "the placeholder is recorded");
    let logs = std::fs::read_dir(folder.path().join("r/starts")).unwrap().flatten();
    let logs: Vec<String> = logs
        .filter_map(|start| std::fs::read_to_string(start.path().join("output.log")).ok())
        .collect();
    let expected = "env {env.SHOP_TOKEN}\nsecret = {env.SHOP_KEY};\n";
    assert!(!logs.is_empty() && logs.iter().all(|log| log.contains(expected)), "{logs:?}");
    for format in ["csv", "hdr", "junit", "markdown", "openmetrics", "svg"] {
        tells_nothing(&folder.run(&["export", "r", "--to", format]).expect(0));
    }
    // Without the variables nothing begins, and the error names them.
    let without = folder.run(&["run", "x", "--out", "r2"]).expect(2);
    without
        .says("`{env.SHOP_KEY}` has no value: SHOP_KEY is not set")
        .says("hint: set it for this command");
    assert!(!folder.path().join("r2").exists());
    folder.run(&["check", "a"]).expect(2).says("is not set in the environment");
    folder.run(&["list"]).expect(0).says("asks with a token");
    folder.run(&["run", "x", "--plan"]).expect(0).says("baseline   a");
    // What a killed run left behind is removed when it resumes.
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    let cut: Vec<&str> = lines.lines().take(12).collect();
    folder.write("r/record.jsonl", &(cut.join("\n") + "\n"));
    folder.write("r/starts/killed/told.conf", &format!("secret = {KEY};\n"));
    tells_nothing(&run(&folder, &["run", "--resume", "r"]).says("are missing"));
    assert_eq!(
        std::fs::read_to_string(folder.path().join("r/starts/killed/told.conf")).unwrap(),
        "secret = {env.SHOP_KEY};\n"
    );
    // A wrong response that repeats them is printed without them.
    folder.write(
        "workloads/guarded.toml",
        &WORKLOAD.replace("regex =", "headers = { x = \"${env.SHOP_TOKEN}\" }\nregex ="),
    );
    let ran =
        run(&folder, &["run", "x", "--out", "r3"]).expect(1).says("GET /echo?key=${env.SHOP_KEY}");
    tells_nothing(&ran);
    holds_nothing(folder.path());
}

#[test]
fn load_sends_secrets_and_prints_none() {
    let (folder, server) = (Folder::new(), Server::start());
    let url = format!("{}/a?token={TOKEN}", server.url);
    let header = "Authorization: Bearer {env.SHOP_TOKEN}";
    let ran = run(&folder, &["load", &url, "-n", "4", "-c", "1", "-H", header, "--format", "json"])
        .expect(0);
    tells_nothing(&ran);
    assert!(
        ran.err.contains("/a?token=[token]"),
        "secrets in the command line are hidden as well: {}",
        ran.err
    );
    assert!(
        server.always_got(&format!("Authorization: Bearer {TOKEN}\r\n"))
            && server.always_got(&format!("/a?token={TOKEN} "))
    );
    server.heads.lock().unwrap().clear();
    let workload = "name = \"w\"\nsummary = \"s\"\n[[step]]\nmethod = \"POST\"\npath = \"/b\"\nheaders = { x-api-key = \"${env.SHOP_TOKEN}\" }\nbody = \"b\"\n[step.answer]\nbody = \"${env.SHOP_TOKEN}\"\n";
    folder.write("w.toml", workload);
    // It responds with `ok`, which is not the expected body.
    let ran = run(&folder, &["load", &server.url, "--workload", "w.toml", "-n", "4", "-c", "1"])
        .expect(1);
    tells_nothing(&ran);
    // The expected body is printed, and written to a file.
    folder.write(
        "w.toml",
        &workload.replace(
            "\nbody = \"${env.SHOP_TOKEN}\"\n",
            "\nheaders = { x = \"${env.SHOP_TOKEN}\" }\n",
        ),
    );
    let ran = run(
        &folder,
        &[
            "load",
            &server.url,
            "--workload",
            "w.toml",
            "-n",
            "1",
            "--format",
            "json",
            "--output",
            "result.json",
        ],
    );
    tells_nothing(&ran.expect(1));
    holds_nothing(folder.path());
    let result = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
    assert!(result.contains("expected `{env.SHOP_TOKEN}`"), "{result}");
    assert!(server.always_got(&format!("x-api-key: {TOKEN}\r\n")));
}

#[test]
fn unprotectable_secret_is_refused_without_printing_it() {
    let folder = Folder::new();
    for (arguments, said) in [
        (
            ["load", "http://127.0.0.1:1/", "-H", "a: {env.NOT_SET_HERE}"],
            "NOT_SET_HERE is not set in the environment",
        ),
        (
            ["load", "http://me:pass-word-1@127.0.0.1/", "-n", "1"],
            "the URL contains a user name, which is not sent",
        ),
        (
            ["load", "http://127.0.0.1:1/", "-H", "Authorization pass-word-1"],
            "`Authorization` does not begin a header",
        ),
    ] {
        let ran = run(&folder, &arguments).expect(2).says(said).says("hint: ");
        assert!(!ran.err.contains("pass-word-1"), "{}", ran.err);
    }
    for (value, said) in
        [("1234", "is shorter than 8 characters"), ("12345678\r\nX: y", "holds a line break")]
    {
        let mut load = folder.faceoff(&["load", "http://127.0.0.1:1/", "-H", "a: {env.PIN}"]);
        Ran::from(load.env("PIN", value).output().unwrap()).expect(2).says(said);
    }
}

#[test]
fn vs_uses_a_secret_without_writing_it() {
    let (folder, one, other) = (Folder::new(), Server::start(), Server::start());
    let (a, b) = (format!("one={}", one.url), format!("other={}", other.url));
    let short = ["--blocks", "6", "-c", "1", "-d", "300ms", "--warmup", "100ms", "--out", "r"];
    // As browsers copy it, with a secret in it.
    let request =
        format!("curl -H 'Authorization: Bearer {TOKEN}' 'http://x/y?api_key={{env.SHOP_KEY}}'");
    let ran = run(&folder, &[&["vs", &a, &b, "--request", &request], &short[..]].concat());
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.err.contains("set AUTHORIZATION in the environment to do this again"),
        "{}",
        ran.err
    );
    tells_nothing(&ran);
    holds_nothing(folder.path());
    for server in [&one, &other] {
        assert!(
            server.always_got(&format!("authorization: Bearer {TOKEN}\r\n"))
                && server.always_got(&format!("/y?api_key={SENT} "))
        );
    }
    let workload = std::fs::read_to_string(folder.path().join("r/workloads/request.toml")).unwrap();
    assert!(
        workload.contains("Bearer ${env.AUTHORIZATION}")
            && workload.contains("api_key=${env.SHOP_KEY}"),
        "{workload}"
    );
    let again = folder
        .faceoff(&["--dir", "r", "check", "one"])
        .env("AUTHORIZATION", TOKEN)
        .env("SHOP_KEY", KEY)
        .output()
        .unwrap();
    Ran::from(again).expect(0).says("correct  one");
    folder.run(&["--dir", "r", "check", "one"]).expect(2).says("is not set in the environment");
}

#[test]
fn image_contains_no_secret() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let own = "systems/a/system.toml";
    let manifest = std::fs::read_to_string(folder.path().join(own)).unwrap();
    folder.write(
        own,
        &manifest.replace(
            "ports = [\"http\"]\n",
            "ports = [\"http\"]\nenv = { TOLD = \"{env.SHOP_TOKEN}\" }\n",
        ),
    );
    let ran = run(&folder, &["build", "a", "--images", "--save", "images"]).expect(0);
    tells_nothing(&ran);
    assert!(folder.path().join("images/a.tar").exists());
    holds_nothing(folder.path());
}
