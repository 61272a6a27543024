//! The figures, each a separate comparison. Start with [`measure`].

use crate::machine::Finished;
use crate::report::{Absent, Figure, Row};
use crate::runs::{Bench, Effort, Run, progress};
use crate::stall::Stalling;
use crate::tools::{DEPTH, Kind, Load, Tool, failures, wrk_quantile_us};
use clap::ValueEnum;
use client::get;
use serde_json::{Value, json};
use stats::{Histogram, median};
use std::fs;
use std::time::Duration;

/// Unit of CPU time per request.
const CPU: &str = "us of CPU time per request";
const MEGABYTE: f64 = 1e6;

/// The figures that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// CPU time per request, 64 connections
    Closed,
    /// One wrong response in 10,000
    Corrupt,
    /// CPU time per request, 16 in flight on each connection
    Pipeline,
    /// CPU time per request, HTTP/2
    Http2,
    /// CPU time per request, TLS 1.3
    Tls,
    /// Median latency at a rate
    Latency,
    /// How late requests leave
    Lag,
    /// Latency of a server that stalls at times
    Stall,
    /// Memory of 10,000 users
    Users,
    /// Memory over time
    Memory,
}

/// Measures one of them.
///
/// # Errors
/// If a server or an installed program cannot be run, or fails requests.
pub fn measure(bench: &Bench, name: Name) -> Result<Vec<Figure>, String> {
    match name {
        Name::Closed => closed(bench),
        Name::Corrupt => corrupt(bench),
        Name::Pipeline => pipeline(bench),
        Name::Http2 => http2(bench),
        Name::Tls => tls(bench),
        Name::Latency => latency(bench),
        Name::Lag => lag(bench),
        Name::Stall => stall(bench),
        Name::Users => users(bench),
        Name::Memory => memory(bench),
    }
}

fn closed(bench: &Bench) -> Result<Vec<Figure>, String> {
    let server = bench.control(&[])?;
    let tools = [Tool::Faceoff, Tool::Bare, Tool::Wrk, Tool::H2load, Tool::Ab, Tool::Oha, Tool::K6];
    let kind = Kind::Closed { connections: 64, depth: 1 };
    let compared = bench.compare(
        "closed",
        &tools,
        &Load { scheme: "http", address: server.address, seconds: bench.effort.closed_s, kind },
    )?;
    let about = "HTTP/1.1, 64 connections kept; faceoff compares every byte of every response, the others do not".to_owned();
    Ok(vec![Figure {
        name: "closed",
        about,
        rows: compared.rows(CPU, &[(Tool::Bare, 1.10), (Tool::Wrk, 0.92)], Run::cpu_us),
    }])
}

fn pipeline(bench: &Bench) -> Result<Vec<Figure>, String> {
    let server = bench.control(&[])?;
    let tools = [Tool::Faceoff, Tool::Bare, Tool::Wrk, Tool::H2load];
    let kind = Kind::Closed { connections: 64, depth: DEPTH };
    let compared = bench.compare(
        "pipeline",
        &tools,
        &Load { scheme: "http", address: server.address, seconds: bench.effort.closed_s, kind },
    )?;
    let about = format!("HTTP/1.1, 64 connections with {DEPTH} requests in flight on each");
    Ok(vec![Figure {
        name: "pipeline",
        about,
        rows: compared.rows(CPU, &[(Tool::Wrk, 0.70)], Run::cpu_us),
    }])
}

fn http2(bench: &Bench) -> Result<Vec<Figure>, String> {
    let server = bench.nginx("http2")?;
    let tools = [Tool::Faceoff, Tool::H2load, Tool::Oha];
    let kind = Kind::Http2 { connections: 16, streams: 32 };
    let compared = bench.compare(
        "http2",
        &tools,
        &Load { scheme: "http", address: server.address, seconds: bench.effort.closed_s, kind },
    )?;
    // The bound is to the better peer.
    let middle = |tool| median(&compared.values(tool, Run::cpu_us)).unwrap_or(f64::INFINITY);
    let better = if middle(Tool::Oha) < middle(Tool::H2load) { Tool::Oha } else { Tool::H2load };
    let about =
        "HTTP/2 by prior knowledge, 16 connections with 32 streams each, from nginx; the bound is to the better peer".to_owned();
    Ok(vec![Figure {
        name: "http2",
        about,
        rows: compared.rows(CPU, &[(better, 0.80)], Run::cpu_us),
    }])
}

fn tls(bench: &Bench) -> Result<Vec<Figure>, String> {
    let server = bench.nginx("ssl")?;
    let tools = [Tool::Faceoff, Tool::Wrk, Tool::H2load, Tool::Oha];
    let kind = Kind::Closed { connections: 64, depth: 1 };
    let compared = bench.compare(
        "tls",
        &tools,
        &Load { scheme: "https", address: server.address, seconds: bench.effort.closed_s, kind },
    )?;
    let about =
        "HTTP/1.1 over TLS 1.3 with AES-128-GCM, 64 connections kept, from nginx".to_owned();
    Ok(vec![Figure {
        name: "tls",
        about,
        rows: compared.rows(CPU, &[(Tool::Wrk, 1.00)], Run::cpu_us),
    }])
}

fn latency(bench: &Bench) -> Result<Vec<Figure>, String> {
    let server = bench.control(&[])?;
    let tools = [Tool::Faceoff, Tool::Spin, Tool::Wrk2, Tool::Oha, Tool::K6];
    let figure = |per_s| {
        let load = Load {
            scheme: "http",
            address: server.address,
            seconds: bench.effort.rate_s,
            kind: Kind::Rate { per_s },
        };
        let compared = bench.compare("latency", &tools, &load)?;
        let rows = compared
            .rows("us", &[(Tool::Spin, 1.15)], |run| run.counted.p50_us.unwrap_or(f64::NAN));
        Ok(Figure {
            name: "latency",
            about: format!("median at {per_s} requests/s, from the scheduled instant"),
            rows,
        })
    };
    [500, 2_000, 10_000].into_iter().map(figure).collect()
}

fn lag(bench: &Bench) -> Result<Vec<Figure>, String> {
    let server = bench.control(&[])?;
    let load = Load {
        scheme: "http",
        address: server.address,
        seconds: bench.effort.rate_s,
        kind: Kind::Rate { per_s: 20_000 },
    };
    let (mut p99, mut shares) = (Vec::new(), Vec::new());
    for repeat in 1..=bench.effort.repeats {
        progress("lag", repeat, bench.effort.repeats);
        let output = parsed(&bench.run(Tool::Faceoff, &load)?.finished)?;
        p99.push(number(&output, "/lag_us/p99")?);
        shares.push(100.0 * number(&output, "/rate_per_s/achieved")? / 20_000.0);
    }
    let rows = vec![
        Row::bounded("99th percentile", p99, "us", 50.0),
        Row::shown("of the rate", shares, "%"),
    ];
    Ok(vec![Figure {
        name: "lag",
        about: "from the scheduled instant to the send time, at 20,000 requests/s".into(),
        rows,
    }])
}

fn corrupt(bench: &Bench) -> Result<Vec<Figure>, String> {
    const EVERY: u64 = 10_000;
    let requests = bench.effort.corrupt_requests;
    let (mut missed, mut rates) = (Vec::new(), Vec::new());
    for repeat in 1..=bench.effort.repeats {
        progress("corrupt", repeat, bench.effort.repeats);
        // It counts its responses from its start, so each repeat needs a new one.
        let server = bench.control(&["--wrong-every", &EVERY.to_string()])?;
        let output =
            parsed(&bench.faceoff(&server, &format!("-c 64 -d 300s -n {requests}"), 300)?)?;
        let (served, wrong) = (server.counter("requests")?, server.counter("wrong")?);
        if served != requests || wrong != requests / EVERY {
            return Err(format!(
                "of {requests} requests control got {served} and sent {wrong} wrong responses\nhint: check its --wrong-every"
            ));
        }
        missed.push(wrong.abs_diff(number(&output, "/counts/wrong")? as u64) as f64);
        rates.push(number(&output, "/counts/scheduled")? / number(&output, "/duration_s")?);
    }
    let about = format!(
        "control flips one bit of one response in {EVERY}; {} of {requests}, 64 connections at full speed",
        requests / EVERY
    );
    let rows = vec![
        Row::bounded("counted too few or too many", missed, "", 0.0),
        Row::shown("speed", rates, "requests/s"),
    ];
    Ok(vec![Figure { name: "corrupt", about, rows }])
}

fn stall(bench: &Bench) -> Result<Vec<Figure>, String> {
    const RATE: u64 = 1_000;
    const PERIOD_S: u64 = 8;
    const QUANTILES: [(&str, f64); 5] =
        [("p50", 0.5), ("p80", 0.8), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)];
    let truth = Stalling { delay: 10.0, lasts: 1_000.0, period: 1_000.0 * PERIOD_S as f64 };
    let seconds = PERIOD_S * bench.effort.stall_periods;
    let log = bench.scratch.path().join("latency.hdr");
    let mut found = QUANTILES.map(|_| Vec::new());
    let mut wrk = Vec::new();
    for repeat in 1..=bench.effort.stall_repeats {
        progress("stall", repeat, bench.effort.stall_repeats);
        let server =
            bench.control(&["--delay", "10ms", "--stall-every", "8s", "--stall-for", "1s"])?;
        // This is the server's first request, from which it counts its stalls; none begins in the
        // first period. So the load begins outside a stall and lasts whole periods, and requests
        // arrive equally often in every phase.
        get(server.address, "/")?;
        std::thread::sleep(Duration::from_secs(2));
        let options = format!("-R {RATE} -c 4096 -d {seconds}s --hdr {}", log.display());
        let output = parsed(&bench.faceoff(&server, &options, seconds)?)?;
        let latencies = interval_log(
            &fs::read_to_string(&log)
                .map_err(|error| format!("{} cannot be read: {error}", log.display()))?,
            "latency",
        )?;
        for ((name, quantile), values) in QUANTILES.iter().zip(&mut found) {
            let max_ms = number(&output, "/latency_us/max")? / 1e3;
            values.push(if *name == "max" {
                max_ms
            } else {
                latencies.quantile_ns(*quantile) as f64 / 1e6
            });
        }
        if bench.program(Tool::Wrk).is_some() {
            let kind = Kind::Closed { connections: 10, depth: 1 };
            let run = bench.run(
                Tool::Wrk,
                &Load { scheme: "http", address: server.address, seconds: PERIOD_S, kind },
            )?;
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
    rows.push(if wrk.is_empty() {
        Row::absent(of, Absent::Missing(Tool::Wrk.hint()), None)
    } else {
        Row::shown(of, wrk, "ms")
    });
    let about = format!(
        "a response after 10 ms, and a stall of 1 s in every {PERIOD_S}; {RATE} arrivals/s, latency against the formula"
    );
    Ok(vec![Figure { name: "stall", about, rows }])
}

fn users(bench: &Bench) -> Result<Vec<Figure>, String> {
    const USERS: u64 = 10_000;
    let (mut memory, mut failed, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    let (repeats, seconds) = (bench.effort.repeats.min(3), bench.effort.users_s);
    for repeat in 1..=repeats {
        progress("users", repeat, repeats);
        let server = bench.control(&[])?;
        let options =
            format!("--users {USERS} --ramp {}s --pause 1s..2s -d {seconds}s", seconds / 3);
        let finished = bench.faceoff(&server, &options, seconds)?;
        let output = parsed(&finished)?;
        if number(&output, "/generator/connections_opened")? < USERS as f64 {
            return Err(format!(
                "not all of {USERS} users connected\nhint: check `ulimit -Hn` and net.ipv4.ip_local_port_range"
            ));
        }
        memory.push(finished.peak_rss_bytes as f64 / MEGABYTE);
        failed.push(failures(&output).ok_or("faceoff's JSON lacks counts")? as f64);
        rates.push(number(&output, "/rate_per_s/achieved")?);
    }
    let rows = vec![
        Row::bounded("memory of the whole process", memory, "MB", 96.0),
        Row::bounded("failures", failed, "", 0.0),
        Row::shown("responses", rates, "requests/s"),
    ];
    Ok(vec![Figure {
        name: "users",
        about: "10,000 users, each with a connection, pausing 1 to 2 s".into(),
        rows,
    }])
}

fn memory(bench: &Bench) -> Result<Vec<Figure>, String> {
    let Effort { short_s, long_s, .. } = bench.effort;
    let server = bench.control(&[])?;
    let kind = Kind::Closed { connections: 64, depth: 1 };
    let load = |seconds| Load { scheme: "http", address: server.address, seconds, kind };
    let megabytes = |run: &Run| run.finished.peak_rss_bytes as f64 / MEGABYTE;
    progress("memory", 1, 2);
    let short = megabytes(&bench.run(Tool::Faceoff, &load(short_s))?);
    progress("memory", 2, 2);
    let long = megabytes(&bench.run(Tool::Faceoff, &load(long_s))?);
    let mut rows = vec![
        Row::bounded(format!("faceoff after {short_s} s"), vec![short], "MB", 12.0),
        Row::bounded(format!("faceoff after {long_s} s"), vec![long], "MB", 12.0),
        // Pages are touched in no fixed order, so a few more or less are no growth.
        Row::bounded("growth", vec![100.0 * (long / short - 1.0)], "%", 2.0),
    ];
    for tool in [Tool::Wrk, Tool::H2load, Tool::Ab, Tool::Oha, Tool::K6] {
        let subject = format!("{} after {short_s} s", tool.name());
        rows.push(match bench.program(tool) {
            Some(_) => {
                Row::shown(subject, vec![megabytes(&bench.run(tool, &load(short_s))?)], "MB")
            }
            None => Row::absent(subject, Absent::Missing(tool.hint()), None),
        });
    }
    Ok(vec![Figure {
        name: "memory",
        about: "peak resident memory, 64 connections at full speed".into(),
        rows,
    }])
}

fn parsed(finished: &Finished) -> Result<Value, String> {
    serde_json::from_str(&finished.stdout)
        .map_err(|error| format!("faceoff printed no JSON: {error}\nhint: rebuild it"))
}

fn number(output: &Value, place: &str) -> Result<f64, String> {
    output
        .pointer(place)
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("faceoff's JSON has no number at {place}\nhint: rebuild it"))
}

/// Reads the histogram of a tag in an HdrHistogram interval log.
fn interval_log(log: &str, tag: &str) -> Result<Histogram, String> {
    let wanted = format!("Tag={tag},");
    let encoded = log.lines().find_map(|line| line.strip_prefix(&wanted)?.rsplit(',').next());
    let encoded = encoded.ok_or_else(|| {
        format!("the interval log has no histogram `{tag}`\nhint: rebuild faceoff")
    })?;
    // The log has no exact extremes; these leave the quantiles of the buckets unchanged.
    let stored = json!({ "hdr": encoded, "min_ns": 0, "max_ns": u64::MAX, "sum_ns": "0", "sum_of_squares": "0", "beyond": 0 });
    serde_json::from_value(stored)
        .map_err(|error| format!("the interval log cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_log_keeps_its_quantiles() {
        let mut histogram = Histogram::new();
        (1..=1_000).for_each(|us| histogram.record(us * 1_000));
        let log = format!(
            "#[Histogram log]\nTag=lag,0.000,1.000,0.1,HIST\nTag=latency,0.000,1.000,1.0,{}\n",
            histogram.to_hdr_base64()
        );
        let read = interval_log(&log, "latency").unwrap();
        assert_eq!(
            (read.quantile_ns(0.5), read.quantile_ns(0.99)),
            (histogram.quantile_ns(0.5), histogram.quantile_ns(0.99))
        );
        assert!(interval_log(&log, "service").unwrap_err().contains("hint: "));
        assert!(interval_log(&log, "lag").is_err());
    }
}
