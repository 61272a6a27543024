//! A load in the words of wrk, wrk2, h2load, oha and k6: options and scripts.

use super::{Driver, Fixed, Task, Translated, stretches};
use crate::experiment::{Load, Overflow, Pause, Spacing};
use serde_json::json as value;
use std::time::Duration;

/// wrk2 measures nothing in its first seconds.
const WRK2_LEAST: Duration = Duration::from_secs(13);
/// Users that k6 makes before it begins; it makes more as it needs them.
const K6_USERS: u32 = 64;

/// An even rate that stays, in whole requests per second; what else arrivals can be is refused.
fn even_rate(load: &Load) -> Result<Option<(u64, u32)>, String> {
    let Load::Arrivals { rate_per_s, stages, spacing, in_flight_max, .. } = load else { return Ok(None) };
    if !stages.is_empty() {
        return Err("its rate stays as it is: no stages".into());
    }
    if *spacing == Spacing::Poisson {
        return Err("its arrivals are not Poisson".into());
    }
    if rate_per_s.fract() != 0.0 || *rate_per_s < 1.0 {
        return Err("its rate is a whole number of requests per second".into());
    }
    Ok(Some((*rate_per_s as u64, *in_flight_max)))
}

fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// What is said of those that cannot be told whom to trust.
pub(super) fn trusts_anybody(task: &Task<'_>) -> Option<String> {
    (task.server.starts_with("https://") && !task.is_insecure).then(|| "it trusts any certificate".to_owned())
}

fn url(task: &Task<'_>, path: &str) -> String {
    format!("{}{path}", task.server)
}

pub(super) fn wrk(driver: Driver, task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    if task.is_http2 {
        return Err("it speaks HTTP/1.1 alone".into());
    }
    let rate = even_rate(task.load)?;
    let (connections, depth) = match (task.load, rate) {
        (Load::Closed { connections, depth }, _) if driver == Driver::Wrk => (*connections, *depth),
        (_, Some((_, in_flight))) if driver == Driver::Wrk2 => (in_flight, 1),
        _ if driver == Driver::Wrk => return Err("it makes requests as fast as they are answered: give it a closed load".into()),
        _ => return Err("it makes requests at a rate: give it arrivals".into()),
    };
    if driver == Driver::Wrk2 && task.duration < WRK2_LEAST {
        return Err("it calibrates for 10 s and measures what comes after: let it run for 13 s or longer".into());
    }
    // Each thread opens as many as the others: of connections that they do not divide, some would never be opened.
    let threads = (1..=task.threads.min(connections)).rev().find(|threads| connections.is_multiple_of(*threads)).unwrap_or(1);
    let mut arguments = vec![format!("-t{threads}"), format!("-c{connections}"), format!("-d{}s", task.duration.as_secs())];
    arguments.extend([format!("--timeout={}s", seconds_up(task.timeout)), "--latency".into(), "-s".into(), "requests.lua".into()]);
    arguments.extend(rate.map(|(rate, _)| format!("-R{rate}")));
    // Where to; what is asked there stands in the script, as it may hold secrets.
    arguments.push(url(task, "/"));
    let mut differs = vec![format!("any status up to 399 is right, and {} does not say which came", driver.name())];
    if driver == Driver::Wrk {
        differs.push("it adds samples to its latencies for requests that it could not send while it waited".into());
    } else {
        differs.push("the first 10 s are not in its latencies".into());
    }
    differs.extend(trusts_anybody(task));
    Ok(Translated {
        files: vec![("requests.lua".into(), wrk_script(requests, depth as usize, task.closes))],
        arguments,
        differs,
        ..Translated::default()
    })
}

/// Requests in turn; with a depth, so many at once.
fn wrk_script(requests: &[Fixed<'_>], depth: usize, closes: bool) -> String {
    let mut script = "local made = {}\nlocal sent = {}\nlocal n = 0\n\ninit = function(args)\n".to_owned();
    for (n, request) in requests.iter().enumerate() {
        let closing = closes.then_some(("connection", "close"));
        let headers: Vec<String> =
            request.headers.iter().copied().chain(closing).map(|(name, value)| format!("[{}] = {}", lua(name), lua(value))).collect();
        let body = request.body.map_or("nil".to_owned(), lua);
        script += &format!(
            "  made[{}] = wrk.format({}, {}, {{ {} }}, {body})\n",
            n + 1,
            lua(request.method),
            lua(request.path),
            headers.join(", ")
        );
    }
    script += &format!(
        "  for i = 1, #made do\n    local all = {{}}\n    for j = 0, {} do all[j + 1] = made[((i - 1) * {depth} + j) % #made + 1] end\n    sent[i] = table.concat(all)\n  end\nend\n\n",
        depth.max(1) - 1
    );
    script + "request = function()\n  n = n % #sent + 1\n  return sent[n]\nend\n"
}

/// A text as Lua has it.
fn lua(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => out += &format!("\\{:03}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

pub(super) fn h2load(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    let Load::Closed { connections, depth } = task.load else {
        return Err("what it keeps at a rate are bursts: give it a closed load".into());
    };
    let Some(first) = requests.first() else { return Err("there is no request".into()) };
    let alike = |other: &Fixed<'_>| other.method == first.method && other.headers == first.headers && other.body == first.body;
    if !requests.iter().all(alike) {
        return Err("its requests differ in their paths alone".into());
    }
    if task.closes {
        return Err("it keeps its connections".into());
    }
    let mut arguments = Vec::new();
    if !task.is_http2 {
        arguments.push("--h1".to_owned());
    }
    arguments.extend([format!("-t{}", task.threads.min(*connections)), format!("-c{connections}"), format!("-m{depth}")]);
    arguments.push(format!("-D{}", task.duration.as_secs()));
    arguments.extend([format!("-N{}s", seconds_up(task.timeout)), "-H".into(), format!(":method: {}", first.method)]);
    for (name, header) in &first.headers {
        arguments.extend(["-H".to_owned(), format!("{name}: {header}")]);
    }
    let mut files = Vec::new();
    if let Some(body) = first.body {
        files.push(("body".to_owned(), body.to_owned()));
        arguments.extend(["-d".to_owned(), "body".to_owned()]);
    }
    arguments.extend(requests.iter().map(|request| url(task, request.path)));
    let mut differs =
        vec!["a status below 400 is right; its times are service times, of which versions before 1.69 print no quantile".to_owned()];
    differs.extend(trusts_anybody(task));
    Ok(Translated { files, arguments, differs, ..Translated::default() })
}

pub(super) fn oha(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    let [only] = requests else { return Err("it makes one request, again and again".into()) };
    let rate = even_rate(task.load)?;
    let mut arguments: Vec<String> = ["--no-tui", "--output-format", "json"].map(str::to_owned).into();
    arguments.extend(["-z".to_owned(), format!("{}s", task.duration.as_secs()), "-t".to_owned(), format!("{}s", seconds_up(task.timeout))]);
    // A redirect is an answer.
    arguments.extend(["-r", "0"].map(str::to_owned));
    let mut differs = vec!["any status is an answer; those at the end are left out".to_owned()];
    match (task.load, rate) {
        (Load::Closed { connections, depth }, _) => {
            arguments.extend(["-c".to_owned(), connections.to_string()]);
            if task.is_http2 {
                arguments.extend(["-p".to_owned(), depth.to_string()]);
            } else if *depth > 1 {
                return Err("it has one request at a time on a connection of HTTP/1.1".into());
            }
        }
        (Load::Arrivals { overflow, .. }, Some((rate, in_flight))) => {
            if *overflow == Overflow::Shed {
                return Err("what finds no place waits".into());
            }
            arguments.extend([
                "-c".to_owned(),
                in_flight.to_string(),
                "-q".to_owned(),
                rate.to_string(),
                "--latency-correction".to_owned(),
            ]);
            differs.push("it opens all its connections".into());
        }
        _ => return Err("it has no users: give it a closed load or arrivals".into()),
    }
    for (flag, is_set) in [("--http2", task.is_http2), ("--insecure", task.is_insecure), ("--disable-keepalive", task.closes)] {
        arguments.extend(is_set.then(|| flag.to_owned()));
    }
    arguments.extend(["-m".to_owned(), only.method.to_owned()]);
    for (name, header) in &only.headers {
        arguments.extend(["-H".to_owned(), format!("{name}: {header}")]);
    }
    let mut files = Vec::new();
    if let Some(body) = only.body {
        files.push(("body".to_owned(), body.to_owned()));
        arguments.extend(["-D".to_owned(), "body".to_owned()]);
    }
    arguments.push(url(task, only.path));
    Ok(Translated { files, arguments, differs, ..Translated::default() })
}

pub(super) fn k6(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    if task.is_http2 && task.server.starts_with("http://") {
        return Err("it speaks HTTP/2 over TLS alone".into());
    }
    let seconds = format!("{}s", task.duration.as_secs());
    let mut differs = Vec::new();
    let (mut ramp, mut pause) = ("0".to_owned(), "0".to_owned());
    let mut scenario = match task.load {
        Load::Closed { depth, .. } if *depth > 1 => return Err("each of its users has one request under way".into()),
        Load::Closed { connections, .. } => value!({"executor": "constant-vus", "vus": connections, "duration": seconds}),
        Load::Arrivals { rate_per_s, stages, spacing, in_flight_max, overflow } => {
            if requests.len() > 1 {
                return Err("at a rate it begins passes, not requests: give it a workload of one step".into());
            }
            if *spacing == Spacing::Poisson {
                return Err("its arrivals are not Poisson".into());
            }
            let stretches = stretches(*rate_per_s, stages, task.duration);
            let mut rates = stretches.iter().flat_map(|stretch| [stretch.from_per_s, stretch.to_per_s]);
            if let Some(rate) = rates.find(|rate| rate.fract() != 0.0) {
                return Err(format!("its rates are whole numbers of requests per second, and this comes to {rate}"));
            }
            if *overflow == Overflow::Queue {
                differs
                    .push("what finds no free user is not sent, where faceoff lets it wait; its latencies count from the sending".into());
            }
            let users = K6_USERS.min(*in_flight_max);
            match &stretches[..] {
                [only] if only.from_per_s == only.to_per_s => value!({
                    "executor": "constant-arrival-rate", "rate": only.from_per_s as u64, "timeUnit": "1s", "duration": seconds,
                    "preAllocatedVUs": users, "maxVUs": in_flight_max,
                }),
                // A stage without a duration is a step.
                _ => value!({
                    "executor": "ramping-arrival-rate", "startRate": *rate_per_s as u64, "timeUnit": "1s",
                    "stages": stretches.iter().flat_map(|stretch| [
                        value!({"target": stretch.from_per_s as u64, "duration": "0s"}),
                        value!({"target": stretch.to_per_s as u64, "duration": format!("{}ms", stretch.over.as_millis())}),
                    ]).collect::<Vec<_>>(),
                    "preAllocatedVUs": users, "maxVUs": in_flight_max,
                }),
            }
        }
        other => {
            let Load::Users { users, ramp: over, pause: between, rounds, pooled } = other else { return Err("it has no such load".into()) };
            if pooled.is_some() {
                return Err("each of its users has connections of its own".into());
            }
            ramp = format!("{} * (exec.vu.idInTest - 1) / {users}", over.as_secs_f64());
            pause = match between {
                Pause::Constant(pause) => pause.as_secs_f64().to_string(),
                Pause::Uniform { from, to } => {
                    format!("{} + Math.random() * {}", from.as_secs_f64(), to.saturating_sub(*from).as_secs_f64())
                }
                Pause::Exponential(mean) => format!("-Math.log(1 - Math.random()) * {}", mean.as_secs_f64()),
            };
            match rounds {
                Some(rounds) => value!({"executor": "per-vu-iterations", "vus": users, "iterations": rounds, "maxDuration": seconds}),
                None => value!({"executor": "constant-vus", "vus": users, "duration": seconds}),
            }
        }
    };
    // For half a minute more it would let users wake and ask, where nothing is said.
    scenario["gracefulStop"] = match task.load {
        Load::Arrivals { .. } => value!(format!("{}ms", task.timeout.as_millis())),
        _ => {
            differs.push("what is under way at the end is left out".into());
            value!("0s")
        }
    };
    let options = value!({
        "scenarios": {"load": scenario},
        "summaryTrendStats": ["avg", "min", "med", "max", "p(90)", "p(95)", "p(99)", "p(99.9)"],
        "discardResponseBodies": true,
        "insecureSkipTLSVerify": task.is_insecure,
        "noConnectionReuse": task.closes,
        "maxRedirects": 0,
        "systemTags": ["status", "error_code"],
    });
    let mut script = "import http from \"k6/http\";\nimport exec from \"k6/execution\";\nimport { sleep } from \"k6\";\n\n".to_owned();
    script += &format!(
        "export const options = {options:#};\n\nlet first = true;\nfunction pause(seconds) {{ if (seconds > 0) sleep(seconds); }}\n\n"
    );
    script += &format!("export default function () {{\n  if (first) pause({ramp});\n");
    for request in requests {
        let parameters = value!({
            "headers": request.headers.iter().map(|(name, value)| ((*name).to_owned(), value!(value))).collect::<serde_json::Map<_, _>>(),
            "timeout": format!("{}ms", task.timeout.as_millis()),
        });
        script += &format!("  if (!first) pause({pause});\n  first = false;\n");
        script += &format!(
            "  http.request({}, {}, {}, Object.assign({parameters}, {{ responseCallback: http.expectedStatuses({{ min: {}, max: {} }}) }}));\n",
            value!(request.method),
            value!(url(task, request.path)),
            request.body.map_or("null".to_owned(), |body| value!(body).to_string()),
            request.status.from,
            request.status.to
        );
    }
    script += "}\n\nexport function handleSummary(data) { return { \"results.json\": JSON.stringify(data) }; }\n";
    let arguments = ["run", "--quiet", "--no-usage-report", "load.js"].map(str::to_owned).into();
    Ok(Translated {
        files: vec![("load.js".into(), script)],
        // Another summary, which some ask for by this variable, has no quantile above the 95th.
        env: vec![("K6_NEW_MACHINE_READABLE_SUMMARY", "false")],
        arguments,
        results: Some("results.json"),
        differs,
        ..Translated::default()
    })
}
