//! `bare` and `spin` against a server that counts requests.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serves a response to each request, on a thread for each connection. Returns the address and the
/// count of served requests.
fn serve(response: &'static [u8]) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&served);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || serve_one(stream, response, &count));
        }
    });
    (address, served)
}

fn serve_one(mut stream: TcpStream, response: &[u8], served: &AtomicU64) {
    let (mut ends, mut piece) = (0, [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        // A request ends with an empty line, which may come in pieces.
        for byte in &piece[..length] {
            ends = if matches!((ends, byte), (0 | 2, b'\r') | (1 | 3, b'\n')) {
                ends + 1
            } else {
                u32::from(*byte == b'\r')
            };
            if ends == 4 {
                ends = 0;
                served.fetch_add(1, Ordering::Relaxed);
                if stream.write_all(response).is_err() {
                    return;
                }
            }
        }
    }
}

fn run(program: &str, address: SocketAddr, options: &[&str]) -> Output {
    Command::new(program).arg(address.to_string()).args(options).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

#[test]
fn bare_counts_the_served_requests() {
    let (address, served) = serve(RESPONSE);
    let output =
        json(&run(env!("CARGO_BIN_EXE_bare"), address, &["-c", "3", "--depth", "4", "-d", "1"]));
    let (counted, served) = (output["requests"].as_u64().unwrap(), served.load(Ordering::Relaxed));
    // One more to learn the length. Requests in flight at the end are served but not counted.
    assert!(
        counted > 0 && counted < served && served <= counted + 1 + 3 * 4,
        "{counted} of {served}"
    );
    assert!(output["cpu_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn spin_sends_the_planned_number_of_requests() {
    let (address, served) = serve(RESPONSE);
    let output = json(&run(env!("CARGO_BIN_EXE_spin"), address, &["-R", "50", "-d", "1"]));
    assert_eq!((output["requests"].as_u64(), served.load(Ordering::Relaxed)), (Some(50), 51));
    let us = |name: &str| output["latency_us"][name].as_f64().unwrap();
    assert!(us("p50") > 0.0 && us("p50") <= us("p90") && us("p90") <= us("max"), "{output}");
}

#[test]
fn response_without_length_or_200_is_refused() {
    for response in [
        &b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ] {
        let (address, _) = serve(response);
        for (program, options) in [
            (env!("CARGO_BIN_EXE_bare"), &["-d", "1"][..]),
            (env!("CARGO_BIN_EXE_spin"), &["-R", "1", "-d", "1"]),
        ] {
            let output = run(program, address, options);
            assert!(
                !output.status.success()
                    && String::from_utf8_lossy(&output.stderr).contains("hint: "),
                "{output:?}"
            );
        }
    }
}
