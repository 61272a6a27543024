//! Runs the programs that are compared, each against the same server, on one CPU each.
//!
//! [`Bench::compare`] runs every tool once per repeat, in random order, and collects what each
//! printed and used.

use crate::machine::{Cpus, Finished, Scratch, Server, find, free_port, run};
use crate::report::{Absent, Row};
use crate::tools::{self, BODY, Counted, Files, Kind, Load, Tool};
use stats::shuffle;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How long and how often each figure is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repeats of each comparison.
    pub repeats: u32,
    /// Length of a closed load, in seconds.
    pub closed_s: u64,
    /// Length of a load at a rate, in seconds.
    pub rate_s: u64,
    /// Requests, one in 10,000 of which gets a wrong response: a multiple of 10,000.
    pub corrupt_requests: u64,
    /// Periods of the server that stalls.
    pub stall_periods: u64,
    /// Repeats of the stall figure.
    pub stall_repeats: u32,
    /// How long 10,000 users run, in seconds.
    pub users_s: u64,
    /// When memory is first measured, in seconds.
    pub short_s: u64,
    /// When it is measured again, in seconds.
    pub long_s: u64,
}

/// The CPUs, files and programs that figures need.
#[derive(Debug)]
pub struct Bench {
    cpus: Cpus,
    pub scratch: Scratch,
    files: Files,
    /// The folder with the programs of this repository.
    folder: PathBuf,
    /// How long and how often each figure is measured.
    pub effort: Effort,
    seed: u64,
}

/// One run of one tool.
pub struct Run {
    /// What the program printed and used.
    pub finished: Finished,
    /// What it reports about the load.
    pub counted: Counted,
}

impl Run {
    /// CPU time per request, in microseconds.
    pub fn cpu_us(&self) -> f64 {
        self.finished.cpu_s * 1e6 / self.counted.requests as f64
    }
}

/// The runs of each tool under one load.
pub struct Compared {
    runs: Vec<(Tool, Result<Vec<Run>, Absent>)>,
}

impl Compared {
    /// A value of each run of a tool.
    pub fn values(&self, tool: Tool, value: fn(&Run) -> f64) -> Vec<f64> {
        let runs =
            self.runs.iter().find(|(of, _)| *of == tool).and_then(|(_, runs)| runs.as_ref().ok());
        runs.map(|runs| runs.iter().map(value).collect()).unwrap_or_default()
    }

    /// A row for each tool, ours first. `bounds` limit our ratio to a tool.
    pub fn rows(
        &self,
        unit: &'static str,
        bounds: &[(Tool, f64)],
        value: fn(&Run) -> f64,
    ) -> Vec<Row> {
        let ours = self.values(Tool::Faceoff, value);
        let row = |(tool, runs): &(Tool, Result<Vec<Run>, Absent>)| {
            let bound = bounds.iter().find(|(of, _)| of == tool).map(|(_, bound)| *bound);
            match runs {
                Ok(_) if *tool == Tool::Faceoff => Row::shown(tool.name(), ours.clone(), unit),
                Ok(_) => Row::against(tool.name(), &ours, self.values(*tool, value), unit, bound),
                Err(why) => Row::absent(tool.name(), why.clone(), bound),
            }
        };
        self.runs.iter().map(row).collect()
    }
}

impl Bench {
    /// Prepares what every figure needs.
    ///
    /// # Errors
    /// If the machine has too few CPUs, or a file cannot be written.
    pub fn new(effort: Effort, seed: u64) -> Result<Bench, String> {
        let scratch = Scratch::new()?;
        let files = Files {
            workload: scratch.write("answer.toml", &tools::workload())?,
            pipeline: scratch.write("pipeline.lua", &tools::pipeline_script())?,
            k6: scratch.write("load.js", tools::K6_SCRIPT)?,
        };
        let own = std::env::current_exe()
            .map_err(|error| format!("the path of this program is unknown: {error}"))?;
        let folder = own.parent().map(PathBuf::from).unwrap_or_default();
        Ok(Bench { cpus: Cpus::choose()?, scratch, files, folder, effort, seed })
    }

    /// Returns the CPUs in use.
    pub fn cpus(&self) -> Cpus {
        self.cpus
    }

    /// Runs every installed tool once per repeat, in random order. A peer that fails is left out
    /// from then on. A failure of our own tools is an error.
    pub fn compare(&self, name: &str, tools: &[Tool], load: &Load<'_>) -> Result<Compared, String> {
        let installed = |tool: Tool| {
            if self.program(tool).is_some() {
                Ok(Vec::new())
            } else {
                Err(Absent::Missing(tool.hint()))
            }
        };
        let mut runs: Vec<(Tool, Result<Vec<Run>, Absent>)> =
            tools.iter().map(|tool| (*tool, installed(*tool))).collect();
        let mut order: Vec<usize> = (0..runs.len()).collect();
        for repeat in 1..=self.effort.repeats {
            progress(name, repeat, self.effort.repeats);
            shuffle(&mut order, self.seed, repeat.into());
            for &index in &order {
                let (tool, runs) = &mut runs[index];
                let Ok(earlier) = runs else { continue };
                match self.run(*tool, load) {
                    Ok(run) => earlier.push(run),
                    Err(error) if tool.is_ours() => return Err(error),
                    Err(error) => {
                        eprintln!("bench: {error}");
                        *runs = Err(Absent::Failed(error));
                    }
                }
            }
        }
        Ok(Compared { runs })
    }

    /// Runs one tool once.
    pub fn run(&self, tool: Tool, load: &Load<'_>) -> Result<Run, String> {
        let program = self
            .program(tool)
            .ok_or_else(|| format!("{} is not installed\nhint: {}", tool.name(), tool.hint()))?;
        let command = tool
            .command(&program, load, &self.files)
            .ok_or_else(|| format!("{} cannot make {:?}", tool.name(), load.kind))?;
        let finished = self.finish(command, tool.seconds(load))?;
        let counted = tool.read_output(&finished.stdout)?;
        if counted.failed > 0 || counted.requests == 0 {
            return Err(format!(
                "{}: {} requests were answered and {} failed, which cannot be compared\nhint: run it by hand\n{}",
                tool.name(),
                counted.requests,
                counted.failed,
                finished.stdout
            ));
        }
        if matches!(load.kind, Kind::Rate { .. }) && counted.p50_us.is_none() {
            return Err(format!(
                "{} printed no median\nhint: did it make enough requests?\n{}",
                tool.name(),
                finished.stdout
            ));
        }
        Ok(Run { finished, counted })
    }

    /// Runs `faceoff load` with other options.
    pub fn faceoff(
        &self,
        server: &Server,
        options: &str,
        seconds: u64,
    ) -> Result<Finished, String> {
        let mut command = Command::new(self.folder.join(Tool::Faceoff.name()));
        command.args(["load", "--format", "json", "--workload"]).arg(&self.files.workload);
        command.args(options.split_whitespace()).arg(format!("http://{}/", server.address));
        self.finish(command, seconds)
    }

    /// Runs a client that should take `seconds`.
    fn finish(&self, command: Command, seconds: u64) -> Result<Finished, String> {
        run(command, self.cpus.client, Duration::from_secs(seconds + 30), &self.scratch)
    }

    /// Returns the path of a tool.
    pub fn program(&self, tool: Tool) -> Option<PathBuf> {
        if tool.is_ours() { Some(self.folder.join(tool.name())) } else { find(tool.name()) }
    }

    /// Starts `control` with some flags.
    pub fn control(&self, flags: &[&str]) -> Result<Server, String> {
        Server::control(&self.folder.join("control"), self.cpus.server, flags)
    }

    /// Starts nginx with the response of `control`. `what` is the parameter of its `listen`.
    pub fn nginx(&self, what: &str) -> Result<Server, String> {
        let program =
            find("nginx").ok_or("nginx is not installed\nhint: apt-get install nginx-light")?;
        if what == "ssl" {
            self.certificate()?;
        }
        let port = free_port()?;
        self.scratch.write("nginx.conf", &nginx_config(port, what))?;
        let mut command = Command::new(program);
        command.arg("-p").arg(self.scratch.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
        Server::start(command, self.cpus.server, port)
    }

    /// Makes a self-signed certificate, in `cert.pem` and `key.pem`.
    fn certificate(&self) -> Result<(), String> {
        let program =
            find("openssl").ok_or("openssl is not installed\nhint: apt-get install openssl")?;
        let mut command = Command::new(program);
        command.current_dir(self.scratch.path()).args(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
                .split(' '),
        );
        self.finish(command, 30).map(drop)
    }
}

fn nginx_config(port: u16, what: &str) -> String {
    format!(
        "daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type text/plain;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {{
    listen 127.0.0.1:{port} {what};
    {tls}
    location / {{ return 200 \"{BODY}\"; }}
  }}
}}
",
        tls = match what {
            // One cipher for all clients: which one they prefer is not the question.
            "ssl" =>
                "ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;",
            _ => "",
        }
    )
}

/// Shows on standard error how far a figure is.
pub fn progress(name: &str, repeat: u32, repeats: u32) {
    eprintln!("{name}: {repeat} of {repeats}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tls_has_a_certificate() {
        assert!(
            nginx_config(1, "ssl").contains("listen 127.0.0.1:1 ssl;")
                && nginx_config(1, "ssl").contains("TLSv1.3")
        );
        assert!(!nginx_config(1, "http2").contains("ssl"));
    }
}
