//! The programs that are compared: the command line of each for the same load, and how its output
//! is read. Start with [`Tool::command`] and [`Tool::read_output`].

use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The body of every response here, with which faceoff compares each body.
pub const BODY: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv";

/// wrk2 calibrates for 10 s and reports only what follows.
const WRK2_SECONDS: u64 = 13;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// Ours.
    Faceoff,
    /// The physical limit, see `bin/bare.rs`.
    Bare,
    /// The truth about latency, see `bin/spin.rs`.
    Spin,
    /// <https://github.com/wg/wrk>
    Wrk,
    /// <https://github.com/giltene/wrk2>
    Wrk2,
    /// <https://nghttp2.org>
    H2load,
    /// <https://github.com/hatoo/oha>
    Oha,
    /// <https://k6.io>
    K6,
    /// <https://httpd.apache.org>
    Ab,
}

/// The load that a tool makes.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The server.
    pub address: SocketAddr,
    /// For how long.
    pub seconds: u64,
    /// How requests are made.
    pub kind: Kind,
}

/// How requests are made.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// HTTP/1.1, as fast as the server answers.
    Closed {
        /// Connections, kept.
        connections: u32,
        /// Requests in flight on each.
        depth: u32,
    },
    /// HTTP/2, as fast as the server answers.
    Http2 {
        /// Connections.
        connections: u32,
        /// Streams open on each.
        streams: u32,
    },
    /// HTTP/1.1 at a rate.
    Rate {
        /// Requests per second.
        per_s: u32,
    },
}

/// Connections at a rate, for peers that cannot open one when they need it.
const RATE_CONNECTIONS: u32 = 16;

/// The files that tools are given.
#[derive(Debug)]
pub struct Files {
    /// For faceoff: the request and its complete correct response.
    pub workload: PathBuf,
    /// For wrk: a pipeline of [`DEPTH`].
    pub pipeline: PathBuf,
    /// For k6, which takes its load from environment variables.
    pub k6: PathBuf,
}

/// Requests in flight on each connection of a pipeline.
pub const DEPTH: u32 = 16;

/// Returns faceoff's workload. Its name is that of its file.
pub fn workload() -> String {
    format!(
        "name = \"answer\"\nsummary = \"GET 74 bytes\"\n\n[[step]]\npath = \"/\"\n[step.answer]\nstatus = 200\nheaders = {{ content-type = \"text/plain\" }}\nbody = \"{BODY}\"\n"
    )
}

/// Returns wrk's script for a pipeline.
pub fn pipeline_script() -> String {
    format!(
        "init = function()\n  local one = {{}}\n  for i = 1, {DEPTH} do one[i] = wrk.format() end\n  all = table.concat(one)\nend\nrequest = function() return all end\n"
    )
}

/// k6's script.
pub const K6_SCRIPT: &str = r#"import http from "k6/http";
const rate = Number(__ENV.RATE), vus = Number(__ENV.VUS), duration = __ENV.DURATION;
const scenario = rate > 0
  ? { executor: "constant-arrival-rate", rate, timeUnit: "1s", duration, preAllocatedVUs: vus, maxVUs: vus }
  : { executor: "constant-vus", vus, duration };
export const options = { scenarios: { load: scenario }, summaryTrendStats: ["med"] };
export default function () { http.get(__ENV.URL); }
export function handleSummary(data) { return { stdout: JSON.stringify(data.metrics || data) }; }
"#;

/// What a tool reports about its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Requests that were answered.
    pub requests: u64,
    /// Requests that failed, as far as it notices.
    pub failed: u64,
    /// The median latency that it reports, in microseconds.
    pub p50_us: Option<f64>,
}

impl Tool {
    /// Returns the name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Faceoff => "faceoff",
            Tool::Bare => "bare",
            Tool::Spin => "spin",
            Tool::Wrk => "wrk",
            Tool::Wrk2 => "wrk2",
            Tool::H2load => "h2load",
            Tool::Oha => "oha",
            Tool::K6 => "k6",
            Tool::Ab => "ab",
        }
    }

    /// Says how to install it.
    pub fn hint(self) -> &'static str {
        match self {
            Tool::Faceoff => "cargo build --release -p faceoff",
            Tool::Bare | Tool::Spin => "cargo build --release -p bench",
            Tool::Wrk => "apt-get install wrk",
            Tool::Wrk2 => "build github.com/giltene/wrk2 and put its `wrk` on the PATH as `wrk2`",
            Tool::H2load => "apt-get install nghttp2-client",
            Tool::Oha => "cargo install oha --locked",
            Tool::K6 => "go install go.k6.io/k6/v2@latest",
            Tool::Ab => "apt-get install apache2-utils",
        }
    }

    /// Returns whether it is built from this repository, into the folder of this program.
    pub fn is_ours(self) -> bool {
        matches!(self, Tool::Faceoff | Tool::Bare | Tool::Spin)
    }

    /// Returns how long it takes for a load, in seconds.
    pub fn seconds(self, load: &Load<'_>) -> u64 {
        if self == Tool::Wrk2 { load.seconds.max(WRK2_SECONDS) } else { load.seconds }
    }

    /// Returns the command line for a load. Returns `None` if the tool cannot make that load.
    pub fn command(self, program: &Path, load: &Load<'_>, files: &Files) -> Option<Command> {
        let Load { scheme, address, kind, .. } = load;
        let url = format!("{scheme}://{address}/");
        let seconds = self.seconds(load);
        let mut command = Command::new(program);
        let words = match (self, *kind) {
            (Tool::Faceoff, kind) => {
                command
                    .args(["load", "--format", "json", "--insecure", "--workload"])
                    .arg(&files.workload);
                format!("-d {seconds}s {} {url}", faceoff_options(kind))
            }
            (Tool::Bare, Kind::Closed { connections, depth }) => {
                format!("-d {seconds} -c {connections} --depth {depth} {address}")
            }
            (Tool::Spin, Kind::Rate { per_s }) => format!("-d {seconds} -R {per_s} {address}"),
            (Tool::Wrk, Kind::Closed { connections, depth }) => {
                if depth > 1 {
                    command.arg("-s").arg(&files.pipeline);
                }
                format!("--latency -t1 -c{connections} -d{seconds}s {url}")
            }
            (Tool::Wrk2, Kind::Rate { per_s }) => {
                format!("--latency -t1 -c{RATE_CONNECTIONS} -d{seconds}s -R{per_s} {url}")
            }
            (Tool::H2load, Kind::Closed { connections, depth }) => {
                format!("--h1 -t1 -c{connections} -m{depth} -D{seconds} {url}")
            }
            (Tool::H2load, Kind::Http2 { connections, streams }) => {
                format!("-t1 -c{connections} -m{streams} -D{seconds} {url}")
            }
            (Tool::Ab, Kind::Closed { connections, depth: 1 }) => {
                format!("-q -k -c{connections} -t{seconds} -n10000000 {url}")
            }
            (Tool::Oha, kind) => {
                let options = oha_options(kind)?;
                format!("--no-tui --insecure --output-format json -z {seconds}s {options} {url}")
            }
            (Tool::K6, kind) => {
                command.envs(k6_environment(kind, &url, seconds)?);
                command.args(["run", "--quiet", "--no-usage-report"]).arg(&files.k6);
                String::new()
            }
            // At a rate, h2load sends bursts.
            (Tool::Bare | Tool::Spin | Tool::Wrk | Tool::Wrk2 | Tool::H2load | Tool::Ab, _) => {
                return None;
            }
        };
        command.args(words.split_whitespace());
        Some(command)
    }

    /// Reads its output.
    ///
    /// # Errors
    /// If the output is not understood.
    pub fn read_output(self, output: &str) -> Result<Counted, String> {
        let counted = match self {
            Tool::Faceoff => read_faceoff(output),
            Tool::Bare | Tool::Spin => read_plain(output),
            Tool::Wrk | Tool::Wrk2 => read_wrk(output),
            Tool::H2load => read_h2load(output),
            Tool::Oha => read_oha(output),
            Tool::K6 => read_k6(output),
            Tool::Ab => read_ab(output),
        };
        counted.ok_or_else(|| {
            format!("the output of {} is not understood\nhint: another version may print another format:\n{output}", self.name())
        })
    }
}

fn faceoff_options(kind: Kind) -> String {
    match kind {
        Kind::Closed { connections, depth: 1 } => format!("-c {connections}"),
        Kind::Closed { connections, depth } => format!("-c {connections} --pipeline {depth}"),
        Kind::Http2 { connections, streams } => {
            format!("--http2 -c {connections} --streams {streams}")
        }
        Kind::Rate { per_s } => format!("-R {per_s}"),
    }
}

fn oha_options(kind: Kind) -> Option<String> {
    Some(match kind {
        Kind::Closed { connections, depth: 1 } => format!("-c {connections}"),
        Kind::Closed { .. } => return None,
        Kind::Http2 { connections, streams } => format!("--http2 -c {connections} -p {streams}"),
        Kind::Rate { per_s } => format!("-c {RATE_CONNECTIONS} -q {per_s} --latency-correction"),
    })
}

/// Returns the environment variables from which k6's script takes its load.
fn k6_environment(kind: Kind, url: &str, seconds: u64) -> Option<[(&'static str, String); 4]> {
    let (rate, users) = match kind {
        Kind::Closed { connections, depth: 1 } => (0, connections),
        Kind::Rate { per_s } => (per_s, RATE_CONNECTIONS),
        _ => return None,
    };
    Some([
        ("URL", url.to_owned()),
        ("RATE", rate.to_string()),
        ("VUS", users.to_string()),
        ("DURATION", format!("{seconds}s")),
    ])
}

/// Counts the failed requests in faceoff's JSON. Requests in flight at the end are no failures.
pub fn failures(output: &Value) -> Option<u64> {
    ["unsent", "wrong", "declined", "refused", "broken", "timed_out"]
        .iter()
        .map(|kind| output["counts"][kind].as_u64())
        .sum()
}

fn read_faceoff(output: &str) -> Option<Counted> {
    let output: Value = serde_json::from_str(output).ok()?;
    Some(Counted {
        requests: output["counts"]["correct"].as_u64()?,
        failed: failures(&output)?,
        p50_us: output["latency_us"]["p50"].as_f64(),
    })
}

fn read_plain(output: &str) -> Option<Counted> {
    let output: Value = serde_json::from_str(output).ok()?;
    Some(Counted {
        requests: output["requests"].as_u64()?,
        failed: 0,
        p50_us: output["latency_us"]["p50"].as_f64(),
    })
}

fn read_wrk(output: &str) -> Option<Counted> {
    let line = |has: &str| output.lines().map(str::trim).find(|line| line.contains(has));
    let requests = line(" requests in ")?.split(' ').next()?.parse().ok()?;
    let statuses = match line("Non-2xx or 3xx responses: ") {
        Some(line) => line.rsplit(' ').next()?.parse().ok()?,
        None => 0,
    };
    // connect 0, read 0, write 0, timeout 0
    let errors = match line("Socket errors: ") {
        Some(line) => line.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok()).sum(),
        None => 0,
    };
    Some(Counted { requests, failed: statuses + errors, p50_us: wrk_quantile_us(output, "50") })
}

/// Reads a quantile of the table that wrk and wrk2 print with `--latency`, in microseconds: `50%
/// 34.00us`, `50.000%  1.02ms`.
pub fn wrk_quantile_us(output: &str, percent: &str) -> Option<f64> {
    output.lines().find_map(|line| {
        let (name, value) = line.trim().split_once('%')?;
        let is_it =
            name.strip_prefix(percent).is_some_and(|rest| rest.is_empty() || rest == ".000");
        is_it.then(|| wrk_time_us(value.trim()))?
    })
}

fn wrk_time_us(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 60e6), ("h", 3600e6)];
    let (number, scale) =
        units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    Some(number.parse::<f64>().ok()? * scale)
}

fn read_h2load(output: &str) -> Option<Counted> {
    let line = output.lines().find_map(|line| line.strip_prefix("requests: "))?;
    let count = |kind: &str| {
        line.split(", ").find_map(|part| part.strip_suffix(kind)?.trim().parse::<u64>().ok())
    };
    // Versions before 1.69 print no median.
    let row = interop::outputs::read_outputs("h2load", output.as_bytes())
        .ok()?
        .into_iter()
        .next()?
        .rows
        .into_iter()
        .next()?;
    let median = row.latency.quantiles.iter().find(|(percent, _)| *percent == 50.0);
    Some(Counted {
        requests: count("succeeded")?,
        failed: count("failed")?,
        p50_us: median.map(|(_, figure)| figure.value() * 1e6),
    })
}

fn read_ab(output: &str) -> Option<Counted> {
    let count = |name: &str| {
        output.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    // Printed only if there are any.
    let statuses = count("Non-2xx responses:").unwrap_or(0);
    Some(Counted {
        requests: count("Complete requests:")?,
        failed: count("Failed requests:")? + statuses,
        p50_us: None,
    })
}

fn read_oha(output: &str) -> Option<Counted> {
    let output: Value = serde_json::from_str(output).ok()?;
    let statuses = output["statusCodeDistribution"].as_object()?;
    let requests = statuses.get("200").and_then(Value::as_u64).unwrap_or(0);
    let other: u64 = statuses
        .iter()
        .filter(|(status, _)| *status != "200")
        .filter_map(|(_, count)| count.as_u64())
        .sum();
    let errors = output["errorDistribution"].as_object()?;
    // Requests in flight at the end are no failures.
    let errors: u64 = errors
        .iter()
        .filter(|(kind, _)| !kind.contains("deadline"))
        .filter_map(|(_, count)| count.as_u64())
        .sum();
    Some(Counted {
        requests,
        failed: other + errors,
        p50_us: output["latencyPercentiles"]["p50"].as_f64().map(|seconds| seconds * 1e6),
    })
}

fn read_k6(output: &str) -> Option<Counted> {
    let summary: Value = serde_json::from_str(output).ok()?;
    // A list if K6_NEW_MACHINE_READABLE_SUMMARY is set, else by name.
    let list = summary["results"]["metrics"].as_array();
    let values = |name: &str| match list {
        Some(list) => list
            .iter()
            .find(|metric| metric["name"] == name)
            .map_or(&Value::Null, |metric| &metric["values"]),
        None => &summary[name]["values"],
    };
    let failed = values("http_req_failed");
    Some(Counted {
        // A float in the list.
        requests: values("http_reqs")["count"].as_f64()? as u64,
        // A rate of "failed": "passes" or "matches" counts the requests that did fail.
        failed: failed["passes"].as_u64().or_else(|| failed["matches"].as_u64())?,
        p50_us: values("http_req_duration")["med"].as_f64().map(|ms| ms * 1e3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_each_tool_is_read() {
        // Rounded to a tenth of a microsecond, because seconds and milliseconds were multiplied.
        let read = |tool: Tool, output| {
            let counted = tool.read_output(output).unwrap();
            (counted.requests, counted.failed, counted.p50_us.map(|us| (us * 10.0).round() / 10.0))
        };
        assert_eq!(read(Tool::Wrk, include_str!("../samples/wrk.txt")), (165_877, 0, Some(34.0)));
        assert_eq!(
            read(Tool::Wrk, include_str!("../samples/wrk-errors.txt")),
            (45_270, 45_270 + 45, Some(48.0))
        );
        assert_eq!(
            read(Tool::Wrk2, include_str!("../samples/wrk2.txt")),
            (60_017, 0, Some(6_670.0))
        );
        assert_eq!(read(Tool::H2load, include_str!("../samples/h2load.txt")), (119_107, 0, None));
        assert_eq!(read(Tool::Ab, include_str!("../samples/ab.txt")), (167_082, 0, None));
        assert_eq!(read(Tool::Oha, include_str!("../samples/oha.json")), (36_751, 73, Some(326.4)));
        assert_eq!(read(Tool::K6, include_str!("../samples/k6.json")), (1_003, 0, Some(121.5)));
        assert_eq!(read(Tool::Bare, r#"{"requests":7,"seconds":1.0,"cpu_s":0.5}"#), (7, 0, None));
        assert_eq!(
            read(Tool::Spin, r#"{"requests":7,"latency_us":{"p50":27.5}}"#),
            (7, 0, Some(27.5))
        );
    }

    const H2LOAD: &str = "finished in 5.00s, 40012.60 req/s, 6.11MB/s
requests: 200063 total, 200319 started, 200063 done, 200050 succeeded, 13 failed, 13 errored, 0 timeout
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :       95us     31.40ms      5.88ms     11.02ms     15.73ms      6.20ms      2.40ms    71.90%
TTFB        :     1.10ms      9.70ms      4.80ms      8.90ms      9.60ms      4.90ms      2.00ms    61.00%
";

    const K6: &str = r#"{"config":{"duration":10.0075,"execution":"local"},"metadata":{"k6_version":"2.2.0"},"results":{"metrics":[
        {"contains":"default","name":"http_reqs","type":"counter","values":{"count":4000}},
        {"contains":"time","name":"http_req_duration","type":"trend","values":{"avg":null,"max":null,"med":3.9,"min":null}},
        {"contains":"default","name":"http_req_failed","type":"rate","values":{"matches":10,"rate":0.0025,"total":4000}}]},
        "version":"1.0.0"}"#;

    #[test]
    fn output_of_newer_versions_is_read() {
        let counted = |requests, failed, us| Ok(Counted { requests, failed, p50_us: Some(us) });
        assert_eq!(Tool::H2load.read_output(H2LOAD), counted(200_050, 13, 5_880.0));
        assert_eq!(Tool::K6.read_output(K6), counted(4_000, 10, 3_900.0));
    }

    #[test]
    fn requests_of_faceoff_that_are_not_correct_are_failures() {
        let counts = r#"{"scheduled":20,"unsent":1,"correct":9,"wrong":2,"declined":0,"refused":3,"broken":0,"timed_out":1,"unfinished":4}"#;
        assert_eq!(
            Tool::Faceoff.read_output(&format!(r#"{{"counts":{counts},"latency_us":null}}"#)),
            Ok(Counted { requests: 9, failed: 7, p50_us: None })
        );
        assert!(Tool::Faceoff.read_output(r#"{"counts":{"correct":9}}"#).is_err());
    }

    #[test]
    fn unknown_output_is_an_error_with_a_hint() {
        for tool in [
            Tool::Faceoff,
            Tool::Bare,
            Tool::Wrk,
            Tool::Wrk2,
            Tool::H2load,
            Tool::Oha,
            Tool::K6,
            Tool::Ab,
        ] {
            for output in
                ["", "{}", "requests: , succeeded", " requests in ", "Complete requests: many"]
            {
                assert!(
                    tool.read_output(output).unwrap_err().contains("hint: "),
                    "{tool:?} {output}"
                );
            }
        }
    }

    #[test]
    fn times_of_wrk_are_read_with_their_units() {
        let table = "  Latency Distribution\n     50%  980.00us\n     90%    1.28ms\n     99%    2.00s \n  99.000%    1.00m\n";
        let us = |percent| wrk_quantile_us(table, percent);
        assert_eq!(
            (us("50"), us("90"), us("99"), us("9")),
            (Some(980.0), Some(1_280.0), Some(2e6), None)
        );
        assert_eq!(wrk_time_us("1.50m"), Some(90e6));
        assert_eq!(wrk_time_us("fast"), None);
    }

    #[test]
    fn tools_have_a_command_only_for_loads_they_can_make() {
        let files = Files {
            workload: "answer.toml".into(),
            pipeline: "pipeline.lua".into(),
            k6: "load.js".into(),
        };
        let kinds = [
            Kind::Closed { connections: 64, depth: 1 },
            Kind::Closed { connections: 64, depth: DEPTH },
            Kind::Http2 { connections: 16, streams: 32 },
            Kind::Rate { per_s: 2000 },
        ];
        let can = |tool: Tool| {
            kinds.map(|kind| {
                let load = Load {
                    scheme: "http",
                    address: "127.0.0.1:80".parse().unwrap(),
                    seconds: 3,
                    kind,
                };
                tool.command(Path::new("tool"), &load, &files).is_some()
            })
        };
        assert_eq!(can(Tool::Faceoff), [true; 4]);
        assert_eq!(
            (can(Tool::Bare), can(Tool::Wrk)),
            ([true, true, false, false], [true, true, false, false])
        );
        assert_eq!(
            (can(Tool::Spin), can(Tool::Wrk2)),
            ([false, false, false, true], [false, false, false, true])
        );
        assert_eq!(can(Tool::H2load), [true, true, true, false]);
        assert_eq!(
            (can(Tool::Oha), can(Tool::K6)),
            ([true, false, true, true], [true, false, false, true])
        );
        assert_eq!(can(Tool::Ab), [true, false, false, false]);
    }
}
