//! Makes a Java virtual machine write a perf map, as `jcmd PID Compiler.perfmap` does.
//!
//! The protocol of HotSpot (`attachListener_posix.cpp`) needs no JDK on this machine, and works in
//! containers: create `.attach_pidPID` in the folder for temporary files, send SIGQUIT, and the
//! virtual machine listens on the socket `.java_pidPID` there. It accepts its own user and root.
//! A signal is sent only to a process that handles it, because others would end.

use super::modules::mappings;
use super::perf_map::path_of;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest time that the virtual machine may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Protocol version, command, and its arguments, of which there are always three.
const WRITE_MAP: &[u8] = b"1\0jcmd\0Compiler.perfmap\0\0\0";
const LIST_FLAGS: &[u8] = b"1\0jcmd\0VM.flags\0\0\0";
/// More of an answer is not read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A perf map that was written for us. It is removed when this is dropped, unless there was one
/// before.
pub(super) struct WrittenMap {
    new: Option<PathBuf>,
    /// Whether compiled code keeps frame pointers.
    pub keeps_frame_pointers: bool,
}

impl Drop for WrittenMap {
    fn drop(&mut self) {
        if let Some(map) = &self.new {
            let _ = fs::remove_file(map);
        }
    }
}

/// Whether the process is a Java virtual machine that this module can ask.
pub(super) fn is_hotspot(pid: u32) -> bool {
    let mappings = mappings(pid);
    let has = |prefix: &str| mappings.iter().any(|m| m.file_name().starts_with(prefix));
    // OpenJ9 has a file of the same name, and writes a dump when it gets the signal.
    has("libjvm.so") && !has("libj9vm")
}

/// Has the virtual machine write its perf map.
///
/// # Errors
/// A sentence says why it did not.
pub(super) fn write_perf_map(pid: u32) -> Result<WrittenMap, String> {
    let deadline = Instant::now() + PATIENCE;
    let (map, own) = path_of(pid);
    let folder = map.parent().unwrap_or(Path::new("/tmp"));
    let socket = folder.join(format!(".java_pid{own}"));
    let new = (!map.exists()).then(|| map.clone());
    let mut written = WrittenMap { new, keeps_frame_pointers: true };
    let stream = match UnixStream::connect(&socket) {
        Ok(stream) => stream,
        Err(_) => {
            make_it_listen(pid, &folder.join(format!(".attach_pid{own}")), &socket, deadline)?
        }
    };
    let answer = ask(stream, WRITE_MAP, deadline)
        .map_err(|error| format!("the Java virtual machine did not answer ({error})"))?;
    // The first line is a code, the rest is for people.
    let (code, text) = answer.split_once('\n').unwrap_or((&answer, ""));
    match code.trim() {
        "0" => {
            let flags = UnixStream::connect(&socket).and_then(|s| ask(s, LIST_FLAGS, deadline));
            // It lists flags that differ from their default, which is to keep none.
            written.keeps_frame_pointers =
                flags.map_or(true, |flags| flags.contains("-XX:+PreserveFramePointer"));
            Ok(written)
        }
        _ if text.contains("Unknown diagnostic command") => {
            Err("this Java version cannot list its code; use Java 17 or later".to_owned())
        }
        _ => Err(format!(
            "the Java virtual machine refused to list its code: {}",
            text.lines().next().unwrap_or("no reason given").trim()
        )),
    }
}

fn make_it_listen(
    pid: u32,
    request: &Path,
    socket: &Path,
    deadline: Instant,
) -> Result<UnixStream, String> {
    if !handles_quit(pid) {
        return Err("the Java virtual machine accepts no requests (-Xrs, or it has ended)".into());
    }
    let created = OpenOptions::new().write(true).create_new(true).open(request);
    created.map_err(|error| format!("{} cannot be created: {error}", request.display()))?;
    let id = Pid::from_raw(pid as i32);
    let mut stream = None;
    if id.is_some_and(|id| kill_process(id, Signal::QUIT).is_ok()) {
        while stream.is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
            stream = UnixStream::connect(socket).ok();
        }
    }
    let _ = fs::remove_file(request);
    stream.ok_or_else(|| {
        "the Java virtual machine accepts no requests of this user; run faceoff as its user".into()
    })
}

/// Whether a process handles SIGQUIT itself.
fn handles_quit(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (libc::SIGQUIT - 1) & 1 == 1)
}

fn ask(mut stream: UnixStream, request: &[u8], deadline: Instant) -> std::io::Result<String> {
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left).ok_or(std::io::ErrorKind::TimedOut)
    };
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(request)?;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    while answer.len() < ANSWER_BYTES_MAX {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut part)? {
            0 => break,
            count => answer.extend_from_slice(&part[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_do_not_handle_the_signal_never_get_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (request, socket) = (folder.path().join("request"), folder.path().join("socket"));
        let deadline = Instant::now() + PATIENCE;
        let refused = make_it_listen(child.id(), &request, &socket, deadline).unwrap_err();
        assert!(refused.contains("accepts no requests"), "{refused}");
        assert!(!is_hotspot(child.id()) && child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
