//! Requests and their responses, over HTTP.

use std::io::Write;
use std::net::Shutdown;

use crate::support::{Control, command, filler, get};

#[test]
fn every_path_gets_the_same_response() {
    let control = Control::start("");
    let mut client = control.connect();
    for path in ["/", "/products", "/a/b?c=d", "/__control", "*"] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.body), (200, filler(74)), "{path}");
    }
    assert_eq!(
        client.get("/").head,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 74\r\n\r\n"
    );
    assert_eq!(client.get("http://elsewhere/products").status, 200);
}

#[test]
fn flags_set_the_response() {
    let answer = Control::start(
        "--body-size 1K --content-type application/json --status 201 --headers-size 100",
    )
    .get("/");
    assert_eq!((answer.status, answer.body), (201, filler(1024)));
    let plain =
        "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 1024\r\n\r\n";
    assert_eq!(answer.head.len(), plain.len() + 100);
    assert!(answer.head.contains("\r\nx-padding: xxx"));

    let file = std::env::temp_dir().join(format!("control-body-{}", std::process::id()));
    std::fs::write(&file, b"[1,\0\xff]").unwrap();
    let control = Control::with(&[
        "--body-file",
        file.to_str().unwrap(),
        "--content-type",
        "application/json",
    ]);
    std::fs::remove_file(&file).unwrap();
    let answer = control.get("/");
    assert_eq!(
        (answer.header("content-type"), &*answer.body),
        (Some("application/json"), b"[1,\0\xff]".as_slice())
    );
}

#[test]
fn a_chunked_body_has_chunks_of_the_size() {
    let control = Control::start("--body-size 600 --chunked");
    let mut client = control.connect();
    for _ in 0..2 {
        let answer = client.get("/");
        assert_eq!((answer.chunks, answer.body), (vec![256, 256, 88, 0], filler(600)));
    }
    let answer = Control::start("--body-size 5 --chunked=2").get("/");
    assert_eq!((answer.chunks, answer.body), (vec![2, 2, 1, 0], filler(5)));

    // HTTP/1.0 has no chunks.
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let answer = client.answer();
    assert_eq!(
        (answer.header("transfer-encoding"), answer.header("connection")),
        (None, Some("close"))
    );
    assert_eq!((answer.body, client.rest()), (filler(600), (vec![], false)));
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let control = Control::start("--no-length");
    let mut client = control.connect();
    let answer = client.get("/");
    assert_eq!(
        (answer.header("content-length"), answer.header("connection")),
        (None, Some("close"))
    );
    assert_eq!((answer.body, client.rest()), (filler(74), (vec![], false)));
}

#[test]
fn head_and_statuses_without_a_body() {
    let control = Control::start("--body-size 10");
    let mut client = control.connect();
    let answer = client.head("/");
    assert_eq!((answer.header("content-length"), answer.status), (Some("10"), 200));
    for status in [204, 304] {
        let answer = client.get(&format!("/?status={status}"));
        assert_eq!((answer.header("content-length"), answer.status), (None, status));
    }
    assert_eq!(client.get("/").body, filler(10), "nothing was left over");
}

#[test]
fn keep_alive_and_close() {
    let control = Control::start("");
    let mut client = control.connect();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("keep-alive"));
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("close"));
    assert_eq!(client.rest(), (vec![], false));

    let mut client = control.connect();
    assert_eq!(client.get("/").header("connection"), None);
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("close"));
    assert_eq!(client.rest(), (vec![], false));
}

#[test]
fn bodies_are_read_and_discarded() {
    let control = Control::start("");
    let mut client = control.connect();
    let mut body = vec![b'x'; 3 << 20];
    client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()));
    client.send(&body);
    assert_eq!(client.answer().status, 200);

    body.truncate(100_000);
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..20 {
        client.send(format!("{:x}\r\n", body.len()));
        client.send(&body);
        client.send("\r\n");
    }
    client.send("0\r\nA-Trailer: 1\r\n\r\n");
    assert_eq!(client.answer().status, 200);
    assert_eq!(control.stat("requests"), 2);
}

#[test]
fn a_client_may_wait_for_100_continue() {
    let control = Control::start("");
    let mut client = control.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer().status, 100);
    assert_eq!(control.stat("requests"), 0, "not read whole yet");
    client.send("hello");
    assert_eq!(client.answer().status, 200);

    // After another request, 100 Continue follows the response to that one.
    client.send(
        get("/first?delay=20ms")
            + "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!((client.answer().status, client.answer().status), (200, 100));
    client.send("hello");
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_pipeline_of_any_depth_is_answered_in_order() {
    let control = Control::start("--body-size 500");
    let mut client = control.connect();
    let mut writing = client.socket().try_clone().unwrap();
    // Deeper than any buffer in between: only read responses make room for requests.
    const DEEP: usize = 30_000;
    let writer = std::thread::spawn(move || {
        for number in 0..DEEP {
            writing.write_all(get(&format!("/echo/{number}")).as_bytes()).unwrap();
            if number % 100 == 0 {
                writing.write_all(get("/?delay=100us").as_bytes()).unwrap();
            }
        }
        writing.shutdown(Shutdown::Write).unwrap();
    });
    for number in 0..DEEP {
        assert_eq!(client.answer().text(), get(&format!("/echo/{number}")));
        if number % 100 == 0 {
            assert_eq!(client.answer().body.len(), 500);
        }
    }
    writer.join().unwrap();
    assert_eq!(client.rest(), (vec![], false));
    assert_eq!(control.stat("answers"), DEEP as u64 + DEEP as u64 / 100);
}

#[test]
fn one_write_answers_a_whole_pipeline() {
    // The client reads only after everything was written: responses must wait in the server, but
    // not without bound.
    let control = Control::start("--body-size 100K");
    let mut client = control.connect();
    client.send(get("/").repeat(500));
    for _ in 0..500 {
        assert_eq!(client.answer().body.len(), 102_400);
    }
    let bytes = std::fs::read_to_string(format!("/proc/{}/status", control.id())).unwrap();
    let peak = bytes
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap()
        .trim()
        .trim_end_matches(" kB");
    assert!(
        peak.parse::<u64>().unwrap() < 32 * 1024,
        "50 MB of answers never stood in memory at once: {peak} kB"
    );
}

#[test]
fn a_large_response_follows_the_pace_of_its_reader() {
    let control = Control::start("");
    let answer = control.get("/?size=20M");
    assert_eq!(answer.body, filler(20 << 20));
}

#[test]
fn requests_may_come_a_byte_at_a_time() {
    let control = Control::start("");
    let mut client = control.connect();
    for byte in get("/").bytes() {
        client.send([byte]);
    }
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_half_closed_client_still_gets_its_response() {
    let control = Control::start("--delay 30ms");
    let mut client = control.connect();
    client.send(get("/") + &get("/?delay=0ms"));
    client.socket().shutdown(Shutdown::Write).unwrap();
    assert_eq!((client.answer().status, client.answer().status), (200, 200));
    assert_eq!(client.rest(), (vec![], false));
    assert_eq!(control.stat("left"), 2);
}

#[test]
fn a_query_overrides_the_flags() {
    let control = Control::start("");
    let mut client = control.connect();
    let answer = client.get("/any?size=1K&status=404");
    assert_eq!((answer.status, answer.body), (404, filler(1024)));
    let answer = client.get("/any?cpu=50us&delay=1ms");
    assert_eq!((answer.status, answer.body), (200, filler(74)));
    assert!(control.stat("cpu_ns") >= 50_000);
    assert_eq!(
        client.get("/any?size=huge").status,
        400,
        "a wish that cannot be understood is not ignored"
    );
}

#[test]
fn echo_returns_the_head_of_the_request() {
    let control = Control::start("--status 202 --body-size 3");
    let request = "GET /echo/x?y=z HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: b\r\n\r\n";
    let mut client = control.connect();
    client.send(request);
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("content-type")), (202, Some("text/plain")));
    assert_eq!(answer.text(), request);
}

#[test]
fn malformed_requests_are_refused_and_closed() {
    let control = Control::start("");
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(65_536));
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        (&*long, 431),
        ("PRI * HTTP/2.0\r\n\r\n", 505),
    ] {
        let mut client = control.connect();
        // The good request before it gets a response; later ones do not.
        client.send(get("/") + request + &get("/"));
        assert_eq!(client.answer().status, 200);
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")));
        assert_eq!(client.rest(), (vec![], false));
    }
    assert_eq!((control.stat("malformed"), control.stat("requests")), (4, 4));
}

#[test]
fn requests_for_the_counters_are_not_counted() {
    let control = Control::start("--status 500 --chunked --delay 1ms");
    let mut client = control.connect();
    for _ in 0..3 {
        client.get("/");
    }
    let answer = client.get("/__control/stats");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let json = "{\"connections\":1,\"closed\":0,\"requests\":3,\"answers\":3,\"wrong\":0,";
    assert!(answer.text().starts_with(json), "{}", answer.text());
}

#[test]
fn bad_flags_exit_with_a_hint() {
    for (flags, message) in [
        ("--dely 10ms", "--delay"),
        ("--delay 10", "no unit; hint: "),
        ("--delay soon", "hint: "),
        ("--body-size 1X", "hint: "),
        ("--status 99", "hint: "),
        ("--status-every 5", "hint: "),
        ("--wrong-every 0", "--wrong-every"),
        ("--stall-every 1s", "--stall-for"),
        ("--stall-every 1s --stall-for 1s", "hint: "),
        ("--body-size 0 --cut-every 1", "hint: "),
        ("--headers-size 3", "hint: "),
        ("--chunked=0", "hint: "),
        ("--chunked --no-length", "cannot be used with"),
        ("--body-file /does/not/exist", "hint: "),
        ("--scale-cpu 0", "hint: "),
        ("--threads 0", "--threads"),
    ] {
        let output = command(&flags.split(' ').collect::<Vec<_>>()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags}: {error}");
        assert!(error.starts_with("error: ") && error.contains(message), "{flags}: {error}");
        assert!(output.stdout.is_empty(), "{flags}");
    }
}

#[test]
fn help_names_the_units() {
    let help = String::from_utf8(command(&["--help"]).output().unwrap().stdout).unwrap();
    assert!(
        help.contains("ns, us, ms, s or m") && help.contains("K, M, G") && !help.contains("--idle"),
        "{help}"
    );
}
