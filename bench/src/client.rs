//! The parts that the two plain clients, `bare` and `spin`, share: a request, and a response that
//! is known by its length alone.

use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest head.
const HEAD_LIMIT: usize = 64 * 1024;

/// Makes a GET request for `path`.
pub fn request(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").into_bytes()
}

/// Opens a connection that sends without delay.
///
/// # Errors
/// If the connection is refused or not made within 5 s.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends the request once and returns the length of the response in bytes, head included.
///
/// # Errors
/// If the connection fails, or the response is not a 200 with its length.
pub fn learn_length(address: SocketAddr, request: &[u8]) -> Result<usize, String> {
    let failed = |error: io::Error| format!("{address}: {error}; hint: is the server up?");
    let mut stream = connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    stream.write_all(request).map_err(failed)?;
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    while received.len() < HEAD_LIMIT {
        match stream.read(&mut piece).map_err(failed)? {
            0 => break,
            length => received.extend_from_slice(&piece[..length]),
        }
        if let Some(length) = response_length(&received)? {
            return Ok(length);
        }
    }
    Err(format!("{address}: no complete head received; hint: is it an HTTP/1.1 server?"))
}

/// Returns the body of the response to a GET request, on a new connection.
///
/// # Errors
/// If the connection fails, or the response is not a 200.
pub fn get(address: SocketAddr, path: &str) -> Result<String, String> {
    let failed = |error: io::Error| format!("{address}: {error}; hint: is the server up?");
    let mut stream = connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    stream
        .write_all(
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
        .map_err(failed)?;
    let mut response = String::new();
    stream.take(HEAD_LIMIT as u64 * 2).read_to_string(&mut response).map_err(failed)?;
    match response.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => Err(format!(
            "{address}: {path} has no response with status 200; hint: is it the right server?"
        )),
    }
}

/// Returns the length of the response whose first bytes are given. Returns `None` while its head is
/// not complete.
///
/// # Errors
/// If it is not a 200 with a `content-length`.
pub fn response_length(received: &[u8]) -> Result<Option<usize>, String> {
    let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&received[..end]);
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!(
            "the response begins with `{}`; hint: give a path whose response is a 200",
            head.lines().next().unwrap_or("")
        ));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<u32>().ok())?
    });
    match length {
        Some(length) => Ok(Some(end + 4 + length as usize)),
        None => {
            Err("the response has no length; hint: give a path whose response has a content-length"
                .to_owned())
        }
    }
}

/// Returns the monotonic instant in nanoseconds.
pub fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Returns the CPU time of this process in seconds.
pub fn cpu_s() -> f64 {
    nanoseconds(ClockId::ProcessCPUTime) as f64 / 1e9
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_length_includes_head_and_body() {
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(response_length(response), Ok(Some(response.len())));
        assert_eq!(response_length(&response[..response.len() - 3]), Ok(Some(response.len())));
        assert_eq!(response_length(&response[..20]), Ok(None));
    }

    #[test]
    fn response_without_a_length_is_an_error() {
        assert!(
            response_length(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                .unwrap_err()
                .contains("hint: ")
        );
        assert!(response_length(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n").is_err());
        assert!(
            response_length(b"HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\n")
                .unwrap_err()
                .contains("404")
        );
    }
}
