//! What `faceoff load` reports about servers that respond early, close, or send too much or
//! nothing: docs/guide/protocol.md.

use super::hostile::{asked, serve};
use crate::folder::{Folder, Ran};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// A server that responds to every request with these bytes.
fn saying(answer: Vec<u8>) -> String {
    serve(move |mut stream| while asked(&mut stream) && stream.write_all(&answer).is_ok() {})
}

fn load(url: &str, more: &[&str]) -> Ran {
    Folder::new().run(&[&["load", url, "-c", "1", "-d", "60s", "--timeout", "30s"], more].concat())
}

fn json(url: &str, more: &[&str]) -> Value {
    let ran = load(url, &[&["--format", "json"], more].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err))
}

#[test]
fn early_413_is_wrong_response_not_broken_connection() {
    let folder = Folder::new();
    let body = folder.path().join("body");
    std::fs::write(&body, vec![b'x'; 8 << 20]).unwrap();
    let body = format!("@{}", body.display());
    for is_hard in [false, true] {
        let url = serve(move |mut stream| {
            if !asked(&mut stream) {
                return;
            }
            let _ =
                stream.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
            if !is_hard {
                let _ = stream.shutdown(Shutdown::Write);
                while stream.read(&mut [0; 65_536]).is_ok_and(|length| length > 0) {}
            }
        });
        let ran = load(&url, &["-X", "POST", "--body", &body, "-n", "10"]).expect(1);
        assert!(
            ran.out.contains("requests   10: 10 wrong\n")
                && ran.out.contains("e.g. status 413 instead of 2xx"),
            "{}",
            ran.out
        );
        assert!(ran.out.contains("10 connections opened"), "{}", ran.out);
    }
}

#[test]
fn body_is_echoed_while_it_is_still_sent() {
    let folder = Folder::new();
    let body = folder.path().join("body");
    std::fs::write(&body, vec![b'x'; 16 << 20]).unwrap();
    let url = serve(|mut stream: TcpStream| {
        if !asked(&mut stream) {
            return;
        }
        let mut left = 16 << 20;
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n");
        let mut piece = [0; 65_536];
        while left > 0
            && let Ok(length @ 1..) = stream.read(&mut piece)
            && stream.write_all(&piece[..length]).is_ok()
        {
            left -= length;
        }
    });
    let counts =
        &json(&url, &["-n", "3", "--close", "--body", &format!("@{}", body.display())])["counts"];
    assert_eq!((&counts["correct"], &counts["scheduled"]), (&3.into(), &3.into()), "{counts}");
}

#[test]
fn server_text_cannot_control_terminal_in_any_format() {
    let folder = Folder::new();
    folder.write(
        "quoting.toml",
        "name = \"quoting\"\nsummary = \"a header that is checked\"\n[[step]]\npath = \"/\"\n[step.answer]\nheaders = { x-a = \"right\" }\n",
    );
    let workload = folder.path().join("quoting.toml");
    for (value, shown) in
        [("a\u{9b}2J", "a\\u{9b}2J"), ("a\u{202e}b", "a\\u{202e}b"), ("ä ✓", "ä ✓")]
    {
        let url = saying(
            format!("HTTP/1.1 200 OK\r\nX-A: {value}\r\nContent-Length: 0\r\n\r\n").into_bytes(),
        );
        for format in ["text", "json"] {
            let ran = folder.run(&[
                "load",
                &url,
                "-n",
                "2",
                "-c",
                "1",
                "--format",
                format,
                "--workload",
                workload.to_str().unwrap(),
            ]);
            let quoted = format!(
                "header `x-a` is `{}` instead of",
                if format == "json" { shown.replace('\\', "\\\\") } else { shown.into() }
            );
            assert!(
                ran.out.contains(&quoted) && !ran.out.contains(['\u{9b}', '\u{202e}']),
                "{quoted}: {}",
                ran.out
            );
        }
    }
    // The same for a value in a JSON body.
    folder.write(
        "quoting.toml",
        "name = \"quoting\"\nsummary = \"a value that is checked\"\n[[step]]\npath = \"/\"\n[step.answer]\npointers = { \"/a\" = \"right\" }\n",
    );
    let url = saying("HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{\"a\":\"x\u{9b}2J\"}\n".into());
    let ran =
        folder.run(&["load", &url, "-n", "2", "-c", "1", "--workload", workload.to_str().unwrap()]);
    assert!(
        ran.out.contains("`/a` is \"x\\u{9b}2J\" instead of") && !ran.out.contains('\u{9b}'),
        "{}",
        ran.out
    );
}

#[test]
fn limits_are_named_and_responses_within_are_read() {
    let headers = |count: usize| {
        saying(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n",
                "Set-Cookie: a=b\r\n".repeat(count - 1)
            )
            .into(),
        )
    };
    let head = |bytes: usize| {
        saying(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {}\r\n\r\n",
                "a".repeat(bytes - 43)
            )
            .into(),
        )
    };
    for (within, beyond, said) in [
        (headers(1_000), headers(1_001), "more than 1000 headers, the most that faceoff reads"),
        (
            head(128 << 10),
            head((128 << 10) + 1),
            "of more than 128 KiB, the most that faceoff reads",
        ),
    ] {
        assert_eq!(json(&within, &["-n", "5"])["counts"]["correct"], 5, "{said}");
        let result = json(&beyond, &["-n", "5"]);
        assert_eq!(result["counts"]["broken"], 5, "{result}");
        assert!(result["examples"][0].as_str().unwrap().contains(said), "{result}");
    }
    // The document has the same limits.
    let document = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/guide/protocol.md"
    ))
    .unwrap();
    for limit in ["1,000 headers", "128 KiB", "100 interim responses", "4,096 bytes"] {
        assert!(document.contains(limit), "{limit}");
    }
}

#[test]
fn few_requests_are_not_busy_and_retries_are_shown() {
    // Responds to one request per connection, and closes when it has read the next.
    let url = serve(|mut stream| {
        asked(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        asked(&mut stream);
    });
    let once = load(&url, &["-n", "1"]).expect(0);
    assert!(!once.out.contains("warning") && !once.out.contains("retries"), "{}", once.out);
    let often = load(&url, &["-n", "4"]).expect(0);
    assert!(
        often.out.contains("4 connections opened, 3 retries\n")
            && often.out.contains("requests   4: 4 correct"),
        "{}",
        often.out
    );
    assert_eq!(json(&url, &["-n", "4"])["generator"]["retried"], 3);
    let posted = load(&url, &["-n", "4", "-X", "POST"]).expect(0);
    assert!(posted.out.contains("requests   4: 2 correct, 2 broken"), "{}", posted.out);
    assert!(
        posted.out.contains("a POST is not idempotent, so it is not retried"),
        "{}",
        posted.out
    );
}
