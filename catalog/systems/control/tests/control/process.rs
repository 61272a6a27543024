//! The process: its start, its resources, its end, and its children.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{Control, command, get};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

fn status(id: u32, field: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .expect("the field");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_given_port_is_not_shared() {
    let first = Control::start("--port 0");
    let second = command(&["--port", &first.port.to_string()]).output().unwrap();
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(error.contains("cannot bind 127.0.0.1:") && error.contains("hint: "), "{error}");
}

#[test]
fn threads_share_a_port() {
    let mut control = Control::start("--threads 4");
    assert_eq!(status(control.id(), "Threads"), 4);
    for _ in 0..50 {
        assert_eq!(control.get("/").status, 200);
    }
    assert_eq!(control.stat("answers"), 50);
    control.signal(Signal::TERM);
    assert_eq!(control.ended().code(), Some(0));
}

#[test]
fn term_ends_the_process_at_once() {
    let mut control = Control::start("--delay 1m");
    control.connect().send(get("/"));
    control.until("requests", 1);
    control.signal(Signal::TERM);
    assert_eq!(control.ended().code(), Some(0));
    assert_eq!(
        control.try_connect().err().map(|error| error.kind()),
        Some(ErrorKind::ConnectionRefused)
    );

    // Also during a stall.
    let mut control = Control::start("--stall-every 10ms --stall-for 9999us");
    let mut client = control.connect();
    client.get("/");
    control.signal(Signal::TERM);
    assert_eq!(control.ended().code(), Some(0));
}

#[test]
fn term_can_be_ignored() {
    let mut control = Control::start("--ignore-term --delay 5ms");
    let mut client = control.connect();
    for _ in 0..3 {
        control.signal(Signal::TERM);
        assert_eq!(client.get("/").status, 200);
    }
    assert!(control.runs());
    control.signal(Signal::KILL);
    assert_eq!(control.ended().code(), None);
}

#[test]
fn it_exits_after_n_responses() {
    let mut control = Control::start("--exit-after 5");
    let mut client = control.connect();
    client.get("/");
    client.send(get("/").repeat(10));
    for _ in 0..4 {
        assert_eq!(client.answer().status, 200);
    }
    assert!(client.try_answer().is_err());
    assert_eq!(control.ended().code(), Some(3));
}

#[test]
fn it_exits_above_n_connections() {
    let mut control = Control::start("--exit-above 2");
    let mut clients = [control.connect(), control.connect()];
    assert!(clients.iter_mut().all(|client| client.get("/").status == 200) && control.runs());
    let _third = control.connect();
    assert_eq!(control.ended().code(), Some(3));
}

#[test]
fn it_refuses_after_n_requests() {
    for flags in ["--refuse-after 3", "--refuse-after 3 --threads 2"] {
        let control = Control::start(flags);
        let mut client = control.connect();
        client.get("/");
        assert_eq!(control.get("/").status, 200, "not yet");
        client.get("/");
        assert_eq!(
            control.try_connect().err().map(|error| error.kind()),
            Some(ErrorKind::ConnectionRefused),
            "{flags}"
        );
        assert_eq!(client.get("/").status, 200, "those that are connected stay");
    }
}

#[test]
fn it_never_accepts() {
    let control = Control::start("--never-accept");
    let mut client = control.connect();
    client.send(get("/__control/stats"));
    assert!(client.is_silent());
}

#[test]
fn it_accepts_one_connection_at_a_time() {
    let control = Control::start("--accept-every 150ms");
    let start = Instant::now();
    let mut clients = [control.connect(), control.connect(), control.connect()];
    for client in &mut clients {
        assert_eq!(client.get("/").status, 200);
    }
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
}

#[test]
fn a_short_backlog_holds_one_more_connection() {
    let control = Control::start("--never-accept --backlog 1");
    let address = SocketAddr::from(([127, 0, 0, 1], control.port));
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(200));
    let _waiting = [connect().unwrap(), connect().unwrap()];
    assert_eq!(connect().map_err(|e| e.kind()).unwrap_err(), ErrorKind::TimedOut);
}

#[test]
fn it_never_responds() {
    let control = Control::start("--never-answer");
    let mut client = control.connect();
    client.send(get("/").repeat(3));
    control.until("requests", 3);
    client.send(get("/__control/stats"));
    assert!(client.is_silent(), "nothing overtakes what is not answered");
    assert_eq!(control.stat("answers"), 0);
    drop(client);
    control.until("left", 3);
}

#[test]
fn it_holds_the_memory() {
    let small = status(Control::start("").id(), "VmRSS");
    let large = status(Control::start("--memory 64M").id(), "VmRSS");
    // Exact to the page, except for differences between any two starts.
    assert!(large.abs_diff(small + 64 * 1024) < 1024, "{small} kB and {large} kB");
}

#[test]
fn it_has_the_extra_threads() {
    assert_eq!(status(Control::start("--extra-threads 7").id(), "Threads"), 8);
}

#[test]
fn it_works_in_the_background() {
    let control = Control::start("--background 2ms");
    let cpu_ns = || -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", control.id()));
        let of_main: u64 = text.unwrap().split(' ').next().unwrap().parse().unwrap();
        let threads = std::fs::read_dir(format!("/proc/{}/task", control.id())).unwrap();
        let of_thread = |entry: std::fs::DirEntry| -> u64 {
            let text = std::fs::read_to_string(entry.path().join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse().unwrap()
        };
        threads.map(|entry| of_thread(entry.unwrap())).sum::<u64>() - of_main
    };
    let (began, before) = (Instant::now(), cpu_ns());
    while cpu_ns() < before + 20_000_000 {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not work");
        std::thread::sleep(Duration::from_millis(10));
    }
    // At most 2 ms in each 10 ms that have begun.
    let periods = began.elapsed().as_millis() / 10 + 2;
    assert!(u128::from(cpu_ns() - before) <= periods * 2_500_000, "{periods} periods");
}

#[test]
fn its_children_outlive_it() {
    let mut control = Control::start("--children 2");
    let stats = control.get("/__control/stats").text();
    let (_, list) = stats.split_once("\"children\":[").unwrap();
    let children: Vec<u32> =
        list.trim_end_matches("]}").split(", ").map(|id| id.parse().unwrap()).collect();
    assert_eq!(children.len(), 2);
    let parents: Vec<u64> = children.iter().map(|&child| status(child, "PPid")).collect();
    assert_eq!(parents, [u64::from(control.id()); 2]);
    control.signal(Signal::KILL);
    control.ended();
    for child in children {
        let child = Pid::from_raw(child as i32).unwrap();
        test_kill_process(child).expect("it lives");
        kill_process(child, Signal::TERM).expect("the test ends it");
    }
}

#[test]
fn it_writes_a_line_for_each_response() {
    let path = std::env::temp_dir().join(format!("control-log-{}", std::process::id()));
    let mut child = command(&["--log", "--reset-every", "4"])
        .stdout(std::fs::File::create(&path).unwrap())
        .spawn()
        .unwrap();
    let lines =
        || std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    while lines().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let port: u16 = lines()[0].parse().unwrap();
    for _ in 0..3 {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        std::io::Write::write_all(
            &mut stream,
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        )
        .unwrap();
        std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
    }
    let written = lines();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(written.len(), 4, "{written:?}");
    assert!(
        written[1..].iter().all(|line| line.ends_with(" answered with status 200 and 74 bytes")),
        "{written:?}"
    );
}
