use crate::folder::{Folder, control};
use serde_json::Value;
use std::io::BufRead;
use std::process::{Child, Command, Stdio};

/// A control server of the test's own, which ends with it.
struct Server(Child, u16);

impl Server {
    fn start(flags: &[&str]) -> Server {
        let mut child = Command::new(control()).args(["--port", "0"]).args(flags).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Server(child, line.trim().parse().unwrap())
    }

    fn load(&self, arguments: &[&str]) -> Value {
        let url = format!("http://127.0.0.1:{}/", self.1);
        let all: Vec<&str> = ["load", &url, "--format", "json"].into_iter().chain(arguments.iter().copied()).collect();
        let ran = Folder::new().run(&all);
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn sum_of(counts: &Value) -> u64 {
    counts.as_object().unwrap().iter().filter(|(k, _)| *k != "scheduled").map(|(_, v)| v.as_u64().unwrap()).sum()
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
fn connections_that_are_closed_without_a_word_are_opened_again() {
    let server = Server::start(&["--close-every", "7"]);
    let result = server.load(&["-R", "500", "-d", "1s"]);
    assert_eq!(result["counts"]["scheduled"], 500, "{result}");
    assert_eq!(result["counts"]["scheduled"], sum_of(&result["counts"]));
    assert!(result["generator"]["connections_opened"].as_u64().unwrap() > 20, "{result}");
}

#[test]
fn a_server_that_never_answers_times_out_and_the_run_ends() {
    let server = Server::start(&["--never-answer"]);
    let result = server.load(&["-c", "3", "-d", "700ms", "--timeout", "200ms"]);
    assert!(result["counts"]["timed_out"].as_u64().unwrap() >= 3, "{result}");
    assert_eq!(result["counts"]["correct"], 0);
}

#[test]
fn nobody_there_is_refused_and_bounded() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let ran = Folder::new().run(&["load", &format!("http://127.0.0.1:{port}/"), "-d", "300ms", "-c", "2", "--format", "json"]).expect(1);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let refused = result["counts"]["refused"].as_u64().unwrap();
    assert!((2..1_000).contains(&refused), "backs off: {result}");
}

#[test]
fn latency_of_a_stalled_server_counts_from_the_schedule() {
    // 100 ms to answer, one request at a time allowed: the queue grows by 100 ms a request.
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
fn other_machines_are_not_loaded_by_accident() {
    Folder::new().run(&["load", "http://192.0.2.1/", "-d", "1s"]).expect(2).says("--allow-remote");
    Folder::new().run(&["load", "ftp://x/"]).expect(2).says("http://");
    Folder::new().run(&["load", "http://127.0.0.1:1/", "-R", "0"]).expect(2).says("rate");
    Folder::new().run(&["load", "http://127.0.0.1:1/", "-H", "nonsense"]).expect(2).says("-H");
}
