//! `faceoff load` from outside, with the control server as a correct, slow, silent or broken
//! service.
//!
//! Counts must add up, and every kind of failure has its own count.

use crate::control_server::ControlServer;
use crate::folder::Folder;
use crate::machine::{Shared, share};
use serde_json::Value;
use std::process::{Command, Stdio};

/// A control server that ends with the test, and the part of the machine that the test has.
pub struct Server(
    #[expect(dead_code, reason = "held until it ends")] ControlServer,
    pub u16,
    #[expect(dead_code, reason = "held until it ends")] Shared,
);

impl Server {
    pub fn start(flags: &[&str]) -> Server {
        let machine = share();
        let server = ControlServer::start(flags);
        let port = server.port;
        Server(server, port, machine)
    }

    pub fn load(&self, arguments: &[&str]) -> Value {
        let url = format!("http://127.0.0.1:{}/", self.1);
        let all: Vec<&str> = ["load", &url, "--format", "json"]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        let ran = Folder::new().run(&all);
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err))
    }
}

fn sum_of(counts: &Value) -> u64 {
    counts
        .as_object()
        .unwrap()
        .iter()
        .filter(|(k, _)| *k != "scheduled")
        .map(|(_, v)| v.as_u64().unwrap())
        .sum()
}

#[test]
fn every_kind_of_failure_is_counted_and_counts_add_up() {
    for (flags, kind) in [
        (&["--status-every", "10:500"][..], "wrong"),
        (&["--reset-every", "10"], "broken"),
        (&["--garbage-every", "10"], "broken"),
        (&["--cut-every", "10"], "broken"),
    ] {
        let server = Server::start(flags);
        let result = server.load(&["-c", "4", "-n", "200", "-d", "20s"]);
        let counts = &result["counts"];
        assert_eq!(counts[kind], 20, "{flags:?}: {result}");
        assert_eq!(counts["scheduled"], sum_of(counts), "{flags:?}: {result}");
        assert_eq!(counts["scheduled"], 200, "{flags:?}: {result}");
    }
}

#[test]
fn silently_closed_connections_are_reopened() {
    let server = Server::start(&["--close-every", "7"]);
    let result = server.load(&["-R", "500", "-d", "1s"]);
    assert_eq!(result["counts"]["scheduled"], 500, "{result}");
    assert_eq!(result["counts"]["scheduled"], sum_of(&result["counts"]));
    assert!(result["generator"]["connections_opened"].as_u64().unwrap() > 20, "{result}");
}

#[test]
fn silent_server_times_out_and_run_ends() {
    let server = Server::start(&["--never-answer"]);
    let result = server.load(&["-c", "3", "-d", "700ms", "--timeout", "200ms"]);
    assert!(result["counts"]["timed_out"].as_u64().unwrap() >= 3, "{result}");
    assert_eq!(result["counts"]["correct"], 0);
}

#[test]
fn port_without_listener_is_refused_at_once() {
    let began = std::time::Instant::now();
    let ran = Folder::new()
        .run(&["load", "http://127.0.0.1:1/", "-d", "60s", "-c", "2", "--format", "json"])
        .expect(1);
    assert!(
        ran.out.is_empty() && began.elapsed().as_secs() < 30,
        "it is refused before the load begins"
    );
    ran.says("nothing listens at 127.0.0.1:1").says("hint: check that the service is running");
}

#[test]
fn latency_of_stalled_server_counts_from_schedule() {
    // Responses take 100 ms, one request at a time: the queue grows by 100 ms per request.
    let server = Server::start(&["--delay", "100ms"]);
    let result = server.load(&["-R", "20", "-d", "1s", "-c", "1"]);
    let (latency, service) = (&result["latency_us"], &result["service_us"]);
    assert!(service["min"].as_f64().unwrap() >= 100_000.0, "{result}");
    assert!(latency["max"].as_f64().unwrap() >= 900_000.0, "waiting counts: {result}");
}

#[test]
fn every_framing_is_read_through_real_sockets() {
    for flags in [
        &["--chunked"][..],
        &["--no-length"],
        &["--drip", "1ms", "--body-size", "5"],
        &["--headers-size", "20000"],
        &["--body-size", "300000"],
    ] {
        let server = Server::start(flags);
        let result = server.load(&["-n", "40", "-c", "2", "-d", "20s"]);
        assert_eq!(result["counts"]["correct"], 40, "{flags:?}: {result}");
    }
}

#[test]
fn remote_target_needs_explicit_permission() {
    Folder::new().run(&["load", "http://192.0.2.1/", "-d", "1s"]).expect(2).says("--allow-remote");
    Folder::new().run(&["load", "ftp://x/"]).expect(2).says("http://");
    Folder::new().run(&["load", "http://127.0.0.1:1/", "-R", "0"]).expect(2).says("rate");
    Folder::new().run(&["load", "http://127.0.0.1:1/", "-H", "nonsense"]).expect(2).says("-H");
}

/// A server that stores orders under numbers.
fn shop() -> (String, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let orders = seen.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let orders = orders.clone();
            std::thread::spawn(move || {
                let (mut text, mut piece) = (String::new(), [0; 4096]);
                while let Ok(length @ 1..) = stream.read(&mut piece) {
                    text.push_str(std::str::from_utf8(&piece[..length]).unwrap());
                    while let Some((head, rest)) = text.split_once("\r\n\r\n") {
                        let length: usize = head
                            .lines()
                            .find_map(|l| l.strip_prefix("Content-Length: "))
                            .map_or(0, |n| n.parse().unwrap());
                        if rest.len() < length {
                            break;
                        }
                        let (body, path) =
                            (rest[..length].to_owned(), head.split(' ').nth(1).unwrap().to_owned());
                        text = rest[length..].to_owned();
                        let mut orders = orders.lock().unwrap();
                        let (status, headers, answer) = match path
                            .strip_prefix("/orders/")
                            .and_then(|n| n.parse::<usize>().ok())
                        {
                            None => {
                                orders.push(body);
                                let number = orders.len() - 1;
                                (
                                    "201 Created",
                                    format!("Location: /orders/{number}\r\n"),
                                    format!(r#"{{"order": {{"id": {number}}}}}"#),
                                )
                            }
                            Some(number) => ("200 OK", String::new(), orders[number].clone()),
                        };
                        let head = format!(
                            "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
                            answer.len()
                        );
                        stream.write_all((head + &answer).as_bytes()).unwrap();
                    }
                }
            });
        }
    });
    (url, seen)
}

const ORDERS: &str = r#"
name = "orders"
summary = "place an order, look at it"
[[data]]
name = "number"
counter = { from = 100 }
[[data]]
name = "guest"
csv = "guests.csv"
[[step]]
method = "POST"
path = "/orders?by=${user}"
body = '{"number": ${number}, "guest": "${guest.name}"}'
capture.id = { json = "/order/id" }
capture.place = { header = "Location" }
answer.status = 201
[[step]]
path = "${place}"
headers = { x-id = "${id}" }
[step.answer]
pointers = { "/number" = "${number}", "/guest" = "${guest.name}" }
regex = "guest"
"#;

#[test]
fn captured_values_are_checked_in_later_responses() {
    let (url, seen) = shop();
    let folder = Folder::new();
    folder.write("orders.toml", ORDERS);
    folder.write("guests.csv", "name\nAnn\nBob\n\"Cy, jr.\"\n");
    let workload = folder.path().join("orders.toml");
    let workload = workload.to_str().unwrap();
    for load in [
        &["-c", "3", "-n", "60", "-t", "2"][..],
        &["--users", "5", "--rounds", "4"],
        &["-R", "200", "-n", "60"],
    ] {
        seen.lock().unwrap().clear();
        let ran = folder
            .run(
                &[&["load", &url, "--workload", workload, "--format", "json", "-d", "10s"], load]
                    .concat(),
            )
            .expect(0);
        let result: Value = serde_json::from_str(&ran.out).unwrap();
        let scheduled = result["counts"]["scheduled"].as_u64().unwrap();
        assert_eq!(result["counts"]["correct"], scheduled, "{load:?}: {result}");
        assert!((40..=60).contains(&scheduled), "{load:?}: {result}");
        let mut orders = seen.lock().unwrap().clone();
        let all = orders.len();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), all, "{load:?}: every order has its own number");
        assert!(orders.iter().any(|order| order.contains("\"Cy, jr.\"")), "{orders:?}");
        assert!(result["checks"].as_str().unwrap().contains("JSON pointers"), "{result}");
    }
}

#[test]
fn response_contradicting_capture_is_wrong_with_reason() {
    let (url, _) = shop();
    let folder = Folder::new();
    folder.write(
        "orders.toml",
        &ORDERS.replace("\"/number\" = \"${number}\"", "\"/number\" = \"${id}\""),
    );
    folder.write("guests.csv", "name\nAnn\n");
    let workload = folder.path().join("orders.toml");
    let ran = folder.run(&[
        "load",
        &url,
        "--workload",
        workload.to_str().unwrap(),
        "--format",
        "json",
        "-n",
        "20",
        "-c",
        "1",
    ]);
    let result: Value = serde_json::from_str(&ran.expect(0).out).unwrap();
    assert_eq!(
        (&result["counts"]["correct"], &result["counts"]["wrong"]),
        (&10.into(), &10.into()),
        "{result}"
    );
    assert_eq!(result["examples"][0], "`/number` is 100 instead of 0");
}

#[test]
fn breached_threshold_exits_with_3() {
    let server = Server::start(&["--delay", "20ms"]);
    let url = format!("http://127.0.0.1:{}/", server.1);
    let folder = Folder::new();
    let run = |threshold: &str| {
        folder.run(&["load", &url, "-n", "100", "-c", "10", "--threshold", threshold])
    };
    run("med<5s,errors<0.1%").expect(0).says("✓ errors<0.1%  errors=0%");
    run("med<5ms").expect(3).says("✗ med<5ms  med=");
    run("p(99)<5s")
        .expect(3)
        .says("p(99) is unknown: it needs 563 correct responses, there were 100");
    run("erors<1%").expect(2).says("did you mean `errors`?");
}

#[test]
fn results_are_written_to_files_in_each_format() {
    let server = Server::start(&[]);
    let url = format!("http://127.0.0.1:{}/", server.1);
    let folder = Folder::new();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (format, begins) in [
        ("text", "achieved"),
        ("json", "{\n  \"schema\": \"faceoff.load.v1\""),
        ("csv", "second,correct,"),
    ] {
        let (out, hdr) = (file(format), file("log.hdr"));
        let ran = folder
            .run(&["load", &url, "-n", "50", "--format", format, "-o", &out, "--hdr", &hdr])
            .expect(0);
        assert_eq!(ran.out, "", "nothing is printed twice");
        let written = std::fs::read_to_string(&out).unwrap();
        assert!(written.starts_with(begins), "{written}");
        assert!(std::fs::read_to_string(&hdr).unwrap().contains("\nTag=service,0.000,"));
    }
    folder.run(&["load", &url, "-n", "5", "-o", "/nowhere/x"]).expect(1).says("name another file");
}

#[test]
fn wrk_command_line_gives_wrk_output() {
    let server = Server::start(&[]);
    let url = format!("http://127.0.0.1:{}/", server.1);
    let ran = Folder::new()
        .run(&["wrk", "-t2", "-c4", "-d1s", "--latency", "-H", "X-A: b", &url])
        .expect(0);
    for line in [
        "Running 1s test @ http",
        "  2 threads and 4 connections",
        "  Thread Stats   Avg",
        "     99%  ",
        "Requests/sec: ",
        "Transfer/sec: ",
    ] {
        assert!(ran.out.contains(line), "{line} in\n{}", ran.out);
    }
    assert!(!ran.out.contains("Socket errors"), "{}", ran.out);
    let ran = Folder::new().run(&["wrk", "-t1", "-c4", "-d1s", "-R500", "-L", &url]).expect(0);
    assert!(
        ran.out.contains("Detailed Percentile spectrum:")
            && ran.out.contains("500 requests in 1.0"),
        "{}",
        ran.out
    );
}

#[test]
fn interrupted_load_prints_measurements() {
    let server = Server::start(&[]);
    let url = format!("http://127.0.0.1:{}/", server.1);
    let child = Command::new(env!("CARGO_BIN_EXE_faceoff"))
        .args(["load", &url, "-c", "2", "-R", "200", "-d", "60s", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["counts"]["scheduled"], sum_of(&result["counts"]), "{result}");
    assert!(result["counts"]["correct"].as_u64().unwrap() > 20, "{result}");
}

/// Runs a load with these descriptor limits, soft and hard.
fn limited(soft: u32, hard: u32, connections: u32, url: &str) -> std::process::Output {
    let script = format!(
        "ulimit -Sn {soft} && ulimit -Hn {hard} && exec {} load {url} -n 300 -c {connections} --format json",
        env!("CARGO_BIN_EXE_faceoff")
    );
    Command::new("sh").args(["-c", &script]).output().unwrap()
}

#[test]
fn descriptor_limit_is_raised_or_needed_number_is_named() {
    let server = Server::start(&[]);
    let url = format!("http://127.0.0.1:{}/", server.1);
    let raised = limited(100, 400, 200, &url);
    let result: Value = serde_json::from_slice(&raised.stdout).unwrap();
    assert_eq!(result["counts"]["correct"], 300, "{result}");
    let refused = limited(100, 100, 200, &url);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("needs 265 descriptors")
            && said.contains("may have 100")
            && said.contains("hint: raise"),
        "{said}"
    );
}
