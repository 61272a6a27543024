//! The figures, each a comparison of its own.

use crate::machine::{Cpus, Finished, Scratch, Server, find, free_port, run};
use crate::report::{Absent, Figure, Row};
use crate::stall::Stalling;
use crate::tools::{self, BODY, Counted, DEPTH, Files, Kind, Load, Tool, failures, wrk_quantile_us};
use clap::ValueEnum;
use client::get;
use serde_json::{Value, json};
use stats::{Histogram, median, shuffle};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const CPU: &str = "us of CPU time a request";
const MEGABYTE: f64 = 1e6;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// CPU time per request, 64 connections
    Closed,
    /// One wrong answer in 10,000
    Corrupt,
    /// CPU time per request, 16 under way on each connection
    Pipeline,
    /// CPU time per request, HTTP/2
    Http2,
    /// CPU time per request, TLS 1.3
    Tls,
    /// Median latency at a rate
    Latency,
    /// How late requests leave
    Lag,
    /// Latency of a server that stands still at times
    Stall,
    /// Memory of 10,000 users
    Users,
    /// Memory over time
    Memory,
}

/// How long and how often things are measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repeats of each comparison.
    pub repeats: u32,
    /// Length of a closed load, in seconds.
    pub closed_s: u64,
    /// Length of a load at a rate, in seconds.
    pub rate_s: u64,
    /// Requests of which one in 10,000 is answered wrongly: a multiple of that.
    pub corrupt_requests: u64,
    /// Periods of the server that stands still.
    pub stall_periods: u64,
    /// Repeats of these.
    pub stall_repeats: u32,
    /// How long 10,000 users are there, in seconds.
    pub users_s: u64,
    /// After which memory is looked at first, in seconds.
    pub short_s: u64,
    /// And again, in seconds.
    pub long_s: u64,
}

/// Everything that figures need.
#[derive(Debug)]
pub struct Bench {
    cpus: Cpus,
    scratch: Scratch,
    files: Files,
    /// Where the programs of this repository are.
    folder: PathBuf,
    effort: Effort,
    seed: u64,
}

/// One run of one tool.
struct Run {
    finished: Finished,
    counted: Counted,
}

impl Run {
    fn cpu_us(&self) -> f64 {
        self.finished.cpu_s * 1e6 / self.counted.requests as f64
    }
}

/// What each tool made of one load.
struct Compared {
    runs: Vec<(Tool, Result<Vec<Run>, Absent>)>,
}

impl Compared {
    fn values(&self, tool: Tool, value: fn(&Run) -> f64) -> Vec<f64> {
        let runs = self.runs.iter().find(|(of, _)| *of == tool).and_then(|(_, runs)| runs.as_ref().ok());
        runs.map(|runs| runs.iter().map(value).collect()).unwrap_or_default()
    }

    /// A row for each tool, ours first. `bounds` are those of our ratio to a tool.
    fn rows(&self, unit: &'static str, bounds: &[(Tool, f64)], value: fn(&Run) -> f64) -> Vec<Row> {
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
    /// When the machine has too few CPUs, or a file cannot be written.
    pub fn new(effort: Effort, seed: u64) -> Result<Bench, String> {
        let scratch = Scratch::new()?;
        let files = Files {
            workload: scratch.write("answer.toml", &tools::workload())?,
            pipeline: scratch.write("pipeline.lua", &tools::pipeline_script())?,
            k6: scratch.write("load.js", tools::K6_SCRIPT)?,
        };
        let own = std::env::current_exe().map_err(|error| format!("the place of this program is not known: {error}"))?;
        let folder = own.parent().map(PathBuf::from).unwrap_or_default();
        Ok(Bench { cpus: Cpus::choose()?, scratch, files, folder, effort, seed })
    }

    /// The CPUs in use.
    pub fn cpus(&self) -> Cpus {
        self.cpus
    }

    /// Measures one of them.
    ///
    /// # Errors
    /// When a server or a program that is there cannot be run, or fails requests.
    pub fn measure(&self, name: Name) -> Result<Vec<Figure>, String> {
        match name {
            Name::Closed => self.closed(),
            Name::Corrupt => self.corrupt(),
            Name::Pipeline => self.pipeline(),
            Name::Http2 => self.http2(),
            Name::Tls => self.tls(),
            Name::Latency => self.latency(),
            Name::Lag => self.lag(),
            Name::Stall => self.stall(),
            Name::Users => self.users(),
            Name::Memory => self.memory(),
        }
    }

    fn closed(&self) -> Result<Vec<Figure>, String> {
        let server = self.control(&[])?;
        let tools = [Tool::Faceoff, Tool::Bare, Tool::Wrk, Tool::H2load, Tool::Ab, Tool::Oha, Tool::K6];
        let kind = Kind::Closed { connections: 64, depth: 1 };
        let compared =
            self.compare("closed", &tools, &Load { scheme: "http", address: server.address, seconds: self.effort.closed_s, kind })?;
        let about = "HTTP/1.1, 64 connections kept; faceoff compares every byte of every answer, the others do not".to_owned();
        Ok(vec![Figure { name: "closed", about, rows: compared.rows(CPU, &[(Tool::Bare, 1.10), (Tool::Wrk, 0.92)], Run::cpu_us) }])
    }

    fn pipeline(&self) -> Result<Vec<Figure>, String> {
        let server = self.control(&[])?;
        let tools = [Tool::Faceoff, Tool::Bare, Tool::Wrk, Tool::H2load];
        let kind = Kind::Closed { connections: 64, depth: DEPTH };
        let compared =
            self.compare("pipeline", &tools, &Load { scheme: "http", address: server.address, seconds: self.effort.closed_s, kind })?;
        let about = format!("HTTP/1.1, 64 connections with {DEPTH} requests under way on each");
        Ok(vec![Figure { name: "pipeline", about, rows: compared.rows(CPU, &[(Tool::Wrk, 0.70)], Run::cpu_us) }])
    }

    fn http2(&self) -> Result<Vec<Figure>, String> {
        let server = self.nginx("http2")?;
        let tools = [Tool::Faceoff, Tool::H2load, Tool::Oha];
        let kind = Kind::Http2 { connections: 16, streams: 32 };
        let compared =
            self.compare("http2", &tools, &Load { scheme: "http", address: server.address, seconds: self.effort.closed_s, kind })?;
        // The bound is that to the better peer.
        let middle = |tool| median(&compared.values(tool, Run::cpu_us)).unwrap_or(f64::INFINITY);
        let better = if middle(Tool::Oha) < middle(Tool::H2load) { Tool::Oha } else { Tool::H2load };
        let about =
            "HTTP/2 by prior knowledge, 16 connections with 32 streams each, from nginx; the bound is to the better peer".to_owned();
        Ok(vec![Figure { name: "http2", about, rows: compared.rows(CPU, &[(better, 0.80)], Run::cpu_us) }])
    }

    fn tls(&self) -> Result<Vec<Figure>, String> {
        let server = self.nginx("ssl")?;
        let tools = [Tool::Faceoff, Tool::Wrk, Tool::H2load, Tool::Oha];
        let kind = Kind::Closed { connections: 64, depth: 1 };
        let compared =
            self.compare("tls", &tools, &Load { scheme: "https", address: server.address, seconds: self.effort.closed_s, kind })?;
        let about = "HTTP/1.1 over TLS 1.3 with AES-128-GCM, 64 connections kept, from nginx".to_owned();
        Ok(vec![Figure { name: "tls", about, rows: compared.rows(CPU, &[(Tool::Wrk, 1.00)], Run::cpu_us) }])
    }

    fn latency(&self) -> Result<Vec<Figure>, String> {
        let server = self.control(&[])?;
        let tools = [Tool::Faceoff, Tool::Spin, Tool::Wrk2, Tool::Oha, Tool::K6];
        let figure = |per_s| {
            let load = Load { scheme: "http", address: server.address, seconds: self.effort.rate_s, kind: Kind::Rate { per_s } };
            let compared = self.compare("latency", &tools, &load)?;
            let rows = compared.rows("us", &[(Tool::Spin, 1.15)], |run| run.counted.p50_us.unwrap_or(f64::NAN));
            Ok(Figure { name: "latency", about: format!("median at {per_s} requests/s, from the scheduled instant"), rows })
        };
        [500, 2_000, 10_000].into_iter().map(figure).collect()
    }

    fn lag(&self) -> Result<Vec<Figure>, String> {
        let server = self.control(&[])?;
        let load = Load { scheme: "http", address: server.address, seconds: self.effort.rate_s, kind: Kind::Rate { per_s: 20_000 } };
        let (mut p99, mut shares) = (Vec::new(), Vec::new());
        for repeat in 1..=self.effort.repeats {
            progress("lag", repeat, self.effort.repeats);
            let output = parsed(&self.run(Tool::Faceoff, &load)?.finished)?;
            p99.push(number(&output, "/lag_us/p99")?);
            shares.push(100.0 * number(&output, "/rate_per_s/achieved")? / 20_000.0);
        }
        let rows = vec![Row::bounded("99th percentile", p99, "us", 50.0), Row::shown("of the rate", shares, "%")];
        Ok(vec![Figure { name: "lag", about: "from the scheduled instant to the sending, at 20,000 requests/s".into(), rows }])
    }

    fn corrupt(&self) -> Result<Vec<Figure>, String> {
        const EVERY: u64 = 10_000;
        let requests = self.effort.corrupt_requests;
        let (mut missed, mut rates) = (Vec::new(), Vec::new());
        for repeat in 1..=self.effort.repeats {
            progress("corrupt", repeat, self.effort.repeats);
            // Its answers are counted from its start: each repeat needs a new one.
            let server = self.control(&["--wrong-every", &EVERY.to_string()])?;
            let output = parsed(&self.faceoff(&server, &format!("-c 64 -d 300s -n {requests}"), 300)?)?;
            let (served, wrong) = (server.counter("requests")?, server.counter("wrong")?);
            if served != requests || wrong != requests / EVERY {
                return Err(format!(
                    "of {requests} requests control got {served} and answered {wrong} wrongly\nhint: is its --wrong-every at fault?"
                ));
            }
            missed.push(wrong.abs_diff(number(&output, "/counts/wrong")? as u64) as f64);
            rates.push(number(&output, "/counts/scheduled")? / number(&output, "/duration_s")?);
        }
        let about =
            format!("control flips one bit of one answer in {EVERY}; {} of {requests}, 64 connections at full speed", requests / EVERY);
        let rows = vec![Row::bounded("counted too few or too many", missed, "", 0.0), Row::shown("speed", rates, "requests/s")];
        Ok(vec![Figure { name: "corrupt", about, rows }])
    }

    fn stall(&self) -> Result<Vec<Figure>, String> {
        const RATE: u64 = 1_000;
        const PERIOD_S: u64 = 8;
        const QUANTILES: [(&str, f64); 5] = [("p50", 0.5), ("p80", 0.8), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)];
        let truth = Stalling { delay: 10.0, lasts: 1_000.0, period: 1_000.0 * PERIOD_S as f64 };
        let seconds = PERIOD_S * self.effort.stall_periods;
        let log = self.scratch.path().join("latency.hdr");
        let mut found = QUANTILES.map(|_| Vec::new());
        let mut wrk = Vec::new();
        for repeat in 1..=self.effort.stall_repeats {
            progress("stall", repeat, self.effort.stall_repeats);
            let server = self.control(&["--delay", "10ms", "--stall-every", "8s", "--stall-for", "1s"])?;
            // The server counts its stalls from its first request, which this is, and none begins in its first period. So the load
            // begins clear of a stall and lasts whole periods: then every phase is met as often as every other.
            get(server.address, "/")?;
            std::thread::sleep(Duration::from_secs(2));
            let options = format!("-R {RATE} -c 4096 -d {seconds}s --hdr {}", log.display());
            let output = parsed(&self.faceoff(&server, &options, seconds)?)?;
            let latencies =
                interval_log(&fs::read_to_string(&log).map_err(|error| format!("{} cannot be read: {error}", log.display()))?, "latency")?;
            for ((name, quantile), values) in QUANTILES.iter().zip(&mut found) {
                let max_ms = number(&output, "/latency_us/max")? / 1e3;
                values.push(if *name == "max" { max_ms } else { latencies.quantile_ns(*quantile) as f64 / 1e6 });
            }
            if self.program(Tool::Wrk).is_some() {
                let kind = Kind::Closed { connections: 10, depth: 1 };
                let run = self.run(Tool::Wrk, &Load { scheme: "http", address: server.address, seconds: PERIOD_S, kind })?;
                wrk.extend(wrk_quantile_us(&run.finished.stdout, "90").map(|us| us / 1e3));
            }
        }
        let row = |((name, quantile), values): (&(&str, f64), &Vec<f64>)| {
            let expected = truth.quantile(*quantile);
            let off = values.iter().map(|ms| 100.0 * (ms / expected - 1.0).abs()).collect();
            let middle = median(values).unwrap_or(f64::NAN);
            Row::bounded(format!("{name} {middle:.2} ms of {expected:.2} ms"), off, "% off", 2.0)
        };
        let mut rows: Vec<Row> = QUANTILES.iter().zip(&found).map(row).collect();
        let of = format!("p90 of wrk, of {:.0} ms", truth.quantile(0.9));
        rows.push(if wrk.is_empty() { Row::absent(of, Absent::Missing(Tool::Wrk.hint()), None) } else { Row::shown(of, wrk, "ms") });
        let about =
            format!("an answer after 10 ms, standing still 1 s in every {PERIOD_S}; {RATE} arrivals/s, latency against the formula");
        Ok(vec![Figure { name: "stall", about, rows }])
    }

    fn users(&self) -> Result<Vec<Figure>, String> {
        const USERS: u64 = 10_000;
        let (mut memory, mut failed, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        let (repeats, seconds) = (self.effort.repeats.min(3), self.effort.users_s);
        for repeat in 1..=repeats {
            progress("users", repeat, repeats);
            let server = self.control(&[])?;
            let options = format!("--users {USERS} --ramp {}s --pause 1s..2s -d {seconds}s", seconds / 3);
            let finished = self.faceoff(&server, &options, seconds)?;
            let output = parsed(&finished)?;
            if number(&output, "/generator/connections_opened")? < USERS as f64 {
                return Err(format!("not all of {USERS} users came\nhint: look at `ulimit -Hn` and at net.ipv4.ip_local_port_range"));
            }
            memory.push(finished.peak_rss_bytes as f64 / MEGABYTE);
            failed.push(failures(&output).ok_or("faceoff's JSON lacks counts")? as f64);
            rates.push(number(&output, "/rate_per_s/achieved")?);
        }
        let rows = vec![
            Row::bounded("memory of the whole process", memory, "MB", 96.0),
            Row::bounded("failures", failed, "", 0.0),
            Row::shown("answers", rates, "requests/s"),
        ];
        Ok(vec![Figure { name: "users", about: "10,000 users, each with a connection, pausing 1 to 2 s".into(), rows }])
    }

    fn memory(&self) -> Result<Vec<Figure>, String> {
        let Effort { short_s, long_s, .. } = self.effort;
        let server = self.control(&[])?;
        let kind = Kind::Closed { connections: 64, depth: 1 };
        let load = |seconds| Load { scheme: "http", address: server.address, seconds, kind };
        let megabytes = |run: &Run| run.finished.peak_rss_bytes as f64 / MEGABYTE;
        progress("memory", 1, 2);
        let short = megabytes(&self.run(Tool::Faceoff, &load(short_s))?);
        progress("memory", 2, 2);
        let long = megabytes(&self.run(Tool::Faceoff, &load(long_s))?);
        let mut rows = vec![
            Row::bounded(format!("faceoff after {short_s} s"), vec![short], "MB", 12.0),
            Row::bounded(format!("faceoff after {long_s} s"), vec![long], "MB", 12.0),
            // Pages are touched in no fixed order: a few more or less are no growth.
            Row::bounded("growth", vec![100.0 * (long / short - 1.0)], "%", 2.0),
        ];
        for tool in [Tool::Wrk, Tool::H2load, Tool::Ab, Tool::Oha, Tool::K6] {
            let subject = format!("{} after {short_s} s", tool.name());
            rows.push(match self.program(tool) {
                Some(_) => Row::shown(subject, vec![megabytes(&self.run(tool, &load(short_s))?)], "MB"),
                None => Row::absent(subject, Absent::Missing(tool.hint()), None),
            });
        }
        Ok(vec![Figure { name: "memory", about: "the most resident, 64 connections at full speed".into(), rows }])
    }

    /// Runs every tool that is there once a repeat, in random order. A peer that fails is left out from then on; ours must not.
    fn compare(&self, name: &str, tools: &[Tool], load: &Load<'_>) -> Result<Compared, String> {
        let is_there = |tool: Tool| if self.program(tool).is_some() { Ok(Vec::new()) } else { Err(Absent::Missing(tool.hint())) };
        let mut runs: Vec<(Tool, Result<Vec<Run>, Absent>)> = tools.iter().map(|tool| (*tool, is_there(*tool))).collect();
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

    fn run(&self, tool: Tool, load: &Load<'_>) -> Result<Run, String> {
        let program = self.program(tool).ok_or_else(|| format!("{} is not there\nhint: {}", tool.name(), tool.hint()))?;
        let command = tool.command(&program, load, &self.files).ok_or_else(|| format!("{} cannot make {:?}", tool.name(), load.kind))?;
        let finished = self.finish(command, tool.seconds(load))?;
        let counted = tool.read(&finished.stdout)?;
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
            return Err(format!("{} printed no median\nhint: did it make enough requests?\n{}", tool.name(), finished.stdout));
        }
        Ok(Run { finished, counted })
    }

    /// Runs `faceoff load` with options of its own.
    fn faceoff(&self, server: &Server, options: &str, seconds: u64) -> Result<Finished, String> {
        let mut command = Command::new(self.folder.join(Tool::Faceoff.name()));
        command.args(["load", "--format", "json", "--workload"]).arg(&self.files.workload);
        command.args(options.split_whitespace()).arg(format!("http://{}/", server.address));
        self.finish(command, seconds)
    }

    /// Runs a client that should take so many seconds.
    fn finish(&self, command: Command, seconds: u64) -> Result<Finished, String> {
        run(command, self.cpus.client, Duration::from_secs(seconds + 30), &self.scratch)
    }

    /// Where a tool is.
    fn program(&self, tool: Tool) -> Option<PathBuf> {
        if tool.is_ours() { Some(self.folder.join(tool.name())) } else { find(tool.name()) }
    }

    fn control(&self, flags: &[&str]) -> Result<Server, String> {
        Server::control(&self.folder.join("control"), self.cpus.server, flags)
    }

    /// nginx with the answer that `control` gives; `what` is what its `listen` says of the socket.
    fn nginx(&self, what: &str) -> Result<Server, String> {
        let program = find("nginx").ok_or("nginx is not there\nhint: apt-get install nginx-light")?;
        if what == "ssl" {
            self.certificate()?;
        }
        let port = free_port()?;
        self.scratch.write("nginx.conf", &nginx_config(port, what))?;
        let mut command = Command::new(program);
        command.arg("-p").arg(self.scratch.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
        Server::start(command, self.cpus.server, port)
    }

    /// A certificate that signs itself, in `cert.pem` and `key.pem`.
    fn certificate(&self) -> Result<(), String> {
        let program = find("openssl").ok_or("openssl is not there\nhint: apt-get install openssl")?;
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
            // One cipher for everybody: which one a client prefers is not the question.
            "ssl" =>
                "ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;",
            _ => "",
        }
    )
}

fn progress(name: &str, repeat: u32, repeats: u32) {
    eprintln!("{name}: {repeat} of {repeats}");
}

fn parsed(finished: &Finished) -> Result<Value, String> {
    serde_json::from_str(&finished.stdout).map_err(|error| format!("faceoff printed no JSON: {error}\nhint: build it anew"))
}

fn number(output: &Value, place: &str) -> Result<f64, String> {
    output.pointer(place).and_then(Value::as_f64).ok_or_else(|| format!("faceoff's JSON has no number at {place}\nhint: build it anew"))
}

/// The histogram of that tag in an HdrHistogram interval log.
fn interval_log(log: &str, tag: &str) -> Result<Histogram, String> {
    let wanted = format!("Tag={tag},");
    let encoded = log.lines().find_map(|line| line.strip_prefix(&wanted)?.rsplit(',').next());
    let encoded = encoded.ok_or_else(|| format!("the interval log has no histogram `{tag}`\nhint: build faceoff anew"))?;
    // The log knows no exact extremes; these leave quantiles as the buckets have them.
    let stored = json!({ "hdr": encoded, "min_ns": 0, "max_ns": u64::MAX, "sum_ns": "0", "sum_of_squares": "0", "beyond": 0 });
    serde_json::from_value(stored).map_err(|error| format!("the interval log cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_log_keeps_its_quantiles() {
        let mut histogram = Histogram::new();
        (1..=1_000).for_each(|us| histogram.record(us * 1_000));
        let log = format!("#[Histogram log]\nTag=lag,0.000,1.000,0.1,HIST\nTag=latency,0.000,1.000,1.0,{}\n", histogram.to_hdr_base64());
        let read = interval_log(&log, "latency").unwrap();
        assert_eq!((read.quantile_ns(0.5), read.quantile_ns(0.99)), (histogram.quantile_ns(0.5), histogram.quantile_ns(0.99)));
        assert!(interval_log(&log, "service").unwrap_err().contains("hint: "));
        assert!(interval_log(&log, "lag").is_err());
    }

    #[test]
    fn only_tls_has_a_certificate() {
        assert!(nginx_config(1, "ssl").contains("listen 127.0.0.1:1 ssl;") && nginx_config(1, "ssl").contains("TLSv1.3"));
        assert!(!nginx_config(1, "http2").contains("ssl"));
    }
}
