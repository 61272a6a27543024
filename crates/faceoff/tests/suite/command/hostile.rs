//! Hostile servers: each failure is counted by its kind, in bounded memory and time.

use crate::folder::Folder;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Handles each connection on its own thread until the test is over.
pub fn serve(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let behave = std::sync::Arc::new(behave);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let behave = behave.clone();
            std::thread::spawn(move || behave(stream));
        }
    });
    url
}

/// Reads the head of a request; false at the end.
pub fn asked(stream: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Loads the server for half a second. The run must end in time and bounded memory, and its counts
/// must add up.
fn load(url: &str, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["load", url, "--format", "json", "-d", "500ms", "--timeout", "300ms"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let begun = Instant::now();
    let ran = Folder::new().run(&all);
    assert!(begun.elapsed() < Duration::from_secs(10), "{url}: {:?}", begun.elapsed());
    let result: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err));
    let counts = result["counts"].as_object().unwrap();
    let parts: u64 =
        counts.iter().filter(|(k, _)| *k != "scheduled").map(|(_, n)| n.as_u64().unwrap()).sum();
    assert_eq!(counts["scheduled"], parts, "{result}");
    assert!(
        result["generator"]["peak_rss_bytes"].as_u64().unwrap() < 64 << 20,
        "{}",
        result["generator"]
    );
    result
}

/// Checks that every request fails in this way only, and that the output says so.
fn fails(url: &str, kind: &str, says: &str) {
    for arguments in [
        &["-c", "3"][..],
        &["-R", "20"],
        &["-c", "2", "--pipeline", "4"],
        &["--users", "3", "--pause", "10ms"],
    ] {
        let result = load(url, arguments);
        let counts = result["counts"].as_object().unwrap();
        assert!(counts[kind].as_u64().unwrap() > 0, "{arguments:?}: {result}");
        for (other, n) in counts {
            let may_be = [kind, "scheduled", "unfinished", "unsent"].contains(&other.as_str());
            assert!(may_be || n == 0, "{arguments:?}: {other} in {result}");
        }
        assert!(result["examples"][0].as_str().unwrap().contains(says), "{arguments:?}: {result}");
    }
}

#[test]
fn closes_at_once() {
    // If the request is unread, the kernel may send a reset.
    fails(&serve(drop), "broken", "");
}

#[test]
fn never_accepts() {
    // The listener's queue is full, so further handshakes get no answer.
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    rustix::net::bind(&socket, &"127.0.0.1:0".parse::<std::net::SocketAddrV4>().unwrap()).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let full: Vec<_> =
        (0..8).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100))).collect();
    fails(&format!("http://{address}/"), "timed_out", "no connection within");
    drop(full);
}

#[test]
fn never_answers() {
    fails(
        &serve(|stream| (std::thread::sleep(Duration::from_secs(60)), drop(stream)).0),
        "timed_out",
        "no answer within",
    );
}

#[test]
fn sends_one_byte_at_a_time() {
    let url = serve(|mut stream| {
        while asked(&mut stream) {
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    });
    fails(&url, "timed_out", "no answer within");
}

#[test]
fn closes_its_half_and_keeps_reading() {
    let url = serve(|mut stream| {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        while asked(&mut stream) {}
    });
    fails(&url, "broken", "clos");
}

#[test]
fn resets_in_the_middle_of_a_body() {
    let url = serve(|mut stream| {
        asked(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf");
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        // Closed with a reset.
    });
    fails(&url, "broken", "");
}

#[test]
fn sends_garbage() {
    let url = serve(|mut stream| {
        asked(&mut stream);
        let _ = stream.write_all(&[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3].repeat(10));
        asked(&mut stream);
    });
    fails(&url, "broken", "not an HTTP answer");
}

#[test]
fn sends_headers_without_end() {
    let url = serve(|mut stream| {
        asked(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        let line = b"X-Padding: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(1_000);
        for _ in 0..2_000 {
            if stream.write_all(&line).is_err() {
                return;
            }
        }
    });
    fails(&url, "broken", "head");
}

#[test]
fn sends_a_body_without_end() {
    let endless = |head: &'static [u8], piece: &'static [u8]| {
        serve(move |mut stream| {
            asked(&mut stream);
            let _ = stream.write_all(head);
            let pieces = piece.repeat((1 << 20) / piece.len());
            while stream.write_all(&pieces).is_ok() {}
        })
    };
    fails(&endless(b"HTTP/1.1 200 OK\r\n\r\n", b"never ends"), "timed_out", "no answer within");
    fails(
        &endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"a\r\nnever ends\r\n"),
        "timed_out",
        "no answer within",
    );
    fails(
        &endless(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", b"never ends"),
        "timed_out",
        "no answer within",
    );
}

#[test]
fn announces_wrong_content_length() {
    let wrong = |answer: &'static [u8]| {
        serve(move |mut stream| {
            while asked(&mut stream) {
                let _ = stream.write_all(answer);
            }
        })
    };
    // Too long: the bytes after the body are no response. Too short: the rest never arrives.
    let result = load(&wrong(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello"), &["-c", "2"]);
    assert!(
        result["counts"]["broken"].as_u64().unwrap() > 0 && result["counts"]["correct"] == 0,
        "{result}"
    );
    fails(
        &wrong(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello"),
        "timed_out",
        "no answer within",
    );
    fails(
        &wrong(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        "broken",
        "Content-Length",
    );
}
