//! A control server that a test starts itself, and that ends with the test.
//!
//! `folder.rs` builds the program; its flags are in `catalog/systems/control`. A run of faceoff
//! starts its own servers from a system's folder instead.

use crate::folder::control;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A control server at a free port.
pub struct ControlServer {
    process: Child,
    /// Its port.
    pub port: u16,
    /// `http://127.0.0.1:8080`
    pub url: String,
}

impl ControlServer {
    /// Starts one with these flags.
    pub fn start(flags: &[&str]) -> ControlServer {
        let mut command = Command::new(control());
        command.args(["--port", "0"]).args(flags).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        ControlServer { process, port, url: format!("http://127.0.0.1:{port}") }
    }

    /// Returns whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}
