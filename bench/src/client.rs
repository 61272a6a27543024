//! What the two plain clients, `bare` and `spin`, share: a request, and an answer known by its length alone.

use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Heads beyond this are refused.
const HEAD_LIMIT: usize = 64 * 1024;

/// A GET request for `path`.
pub fn request(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").into_bytes()
}

/// A connection that sends at once what it is given.
///
/// # Errors
/// When the connection is refused or does not come about within 5 s.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Makes the request once and returns the length of the answer in bytes, head included.
///
/// # Errors
/// When the connection fails, or the answer is not a 200 that tells its length.
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
        if let Some(length) = answer_length(&received)? {
            return Ok(length);
        }
    }
    Err(format!("{address}: no whole head came; hint: is it an HTTP/1.1 server?"))
}

/// The body of the answer to a GET request, on a connection of its own.
///
/// # Errors
/// When the connection fails, or the answer is not a 200.
pub fn get(address: SocketAddr, path: &str) -> Result<String, String> {
    let failed = |error: io::Error| format!("{address}: {error}; hint: is the server up?");
    let mut stream = connect(address).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream.take(HEAD_LIMIT as u64 * 2).read_to_string(&mut answer).map_err(failed)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => Err(format!("{address}: {path} was not answered with 200; hint: is it the right server?")),
    }
}

/// The length of the answer whose first bytes are given; `None` while its head is not whole.
///
/// # Errors
/// When it is not a 200 with a `content-length`.
pub fn answer_length(received: &[u8]) -> Result<Option<usize>, String> {
    let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&received[..end]);
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("the answer begins with `{}`; hint: give a path that is answered with 200", head.lines().next().unwrap_or("")));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<u32>().ok())?
    });
    match length {
        Some(length) => Ok(Some(end + 4 + length as usize)),
        None => Err("the answer does not tell its length; hint: give a path whose answer has a content-length".to_owned()),
    }
}

/// The monotonic instant in nanoseconds.
pub fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// The CPU time of this process in seconds.
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
    fn an_answer_is_as_long_as_its_head_and_body() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(answer_length(answer), Ok(Some(answer.len())));
        assert_eq!(answer_length(&answer[..answer.len() - 3]), Ok(Some(answer.len())));
        assert_eq!(answer_length(&answer[..20]), Ok(None));
    }

    #[test]
    fn an_answer_without_a_length_is_refused() {
        assert!(answer_length(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap_err().contains("hint: "));
        assert!(answer_length(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n").is_err());
        assert!(answer_length(b"HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\n").unwrap_err().contains("404"));
    }
}
