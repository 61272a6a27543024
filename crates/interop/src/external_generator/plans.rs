//! Writes a load as options and scripts of wrk, wrk2, h2load, oha and k6.
//!
//! Each function takes a task and its requests, and returns the call with its files, or the reason
//! why the tool cannot make this load.

use super::{Driver, Fixed, Task, Translated, stretches};
use serde_json::{Value, json as value};
use spec::experiment::{Load, Overflow, Pause, Spacing};
use std::time::Duration;

/// The shortest load of wrk2, which measures nothing in its first seconds.
const WRK2_LEAST: Duration = Duration::from_secs(13);
/// Users that k6 prepares before the load. It adds more if it needs them.
const K6_USERS: u32 = 64;

/// Returns an even, constant rate in whole requests per second. Other arrivals are refused.
fn even_rate(load: &Load) -> Result<Option<(u64, u32)>, String> {
    let Load::Arrivals { rate_per_s, stages, spacing, in_flight_max, .. } = load else {
        return Ok(None);
    };
    if !stages.is_empty() {
        return Err("its rate is constant: it has no stages".into());
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

/// Returns the note for tools that always accept any certificate.
pub(super) fn trusts_anybody(task: &Task<'_>) -> Option<String> {
    (task.server.starts_with("https://") && !task.is_insecure)
        .then(|| "it accepts any certificate".to_owned())
}

fn url(task: &Task<'_>, path: &str) -> String {
    format!("{}{path}", task.server)
}

pub(super) fn wrk(
    driver: Driver,
    task: &Task<'_>,
    requests: &[Fixed<'_>],
) -> Result<Translated, String> {
    if task.is_http2 {
        return Err("it supports only HTTP/1.1".into());
    }
    let rate = even_rate(task.load)?;
    let (connections, depth) = match (task.load, rate) {
        (Load::Closed { connections, depth }, _) if driver == Driver::Wrk => (*connections, *depth),
        (_, Some((_, in_flight))) if driver == Driver::Wrk2 => (in_flight, 1),
        _ if driver == Driver::Wrk => {
            return Err("it sends as fast as responses arrive: give it a closed load".into());
        }
        _ => return Err("it sends at a rate: give it arrivals".into()),
    };
    if driver == Driver::Wrk2 && task.duration < WRK2_LEAST {
        return Err(
            "it calibrates for 10 s and measures after that: let it run for 13 s or longer".into(),
        );
    }
    // Every thread opens the same number of connections. If the threads do not divide them evenly,
    // some would never be opened.
    let threads = (1..=task.threads.min(connections))
        .rev()
        .find(|threads| connections.is_multiple_of(*threads))
        .unwrap_or(1);
    let mut arguments = vec![
        format!("-t{threads}"),
        format!("-c{connections}"),
        format!("-d{}s", task.duration.as_secs()),
    ];
    arguments.extend([
        format!("--timeout={}s", seconds_up(task.timeout)),
        "--latency".into(),
        "-s".into(),
        "requests.lua".into(),
    ]);
    arguments.extend(rate.map(|(rate, _)| format!("-R{rate}")));
    // Only the server. The requests are in the script, because they may contain secrets.
    arguments.push(url(task, "/"));
    let mut differs = vec![format!(
        "any status up to 399 is correct, and {} does not print which were received",
        driver.name()
    )];
    if driver == Driver::Wrk {
        differs.push(
            "it adds samples to its latencies for requests that it could not send while it waited"
                .into(),
        );
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

/// Writes a script that sends the requests one after the other, or with a depth several at once.
fn wrk_script(requests: &[Fixed<'_>], depth: usize, closes: bool) -> String {
    let mut script =
        "local made = {}\nlocal sent = {}\nlocal n = 0\n\ninit = function(args)\n".to_owned();
    for (n, request) in requests.iter().enumerate() {
        let closing = closes.then_some(("connection", "close"));
        let headers: Vec<String> = request
            .headers
            .iter()
            .copied()
            .chain(closing)
            .map(|(name, value)| format!("[{}] = {}", lua(name), lua(value)))
            .collect();
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

/// Writes a text as a Lua literal.
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
        return Err("at a rate it sends bursts: give it a closed load".into());
    };
    let Some(first) = requests.first() else { return Err("there is no request".into()) };
    let alike = |other: &Fixed<'_>| {
        other.method == first.method && other.headers == first.headers && other.body == first.body
    };
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
    arguments.extend([
        format!("-t{}", task.threads.min(*connections)),
        format!("-c{connections}"),
        format!("-m{depth}"),
    ]);
    arguments.push(format!("-D{}", task.duration.as_secs()));
    arguments.extend([
        format!("-N{}s", seconds_up(task.timeout)),
        "-H".into(),
        format!(":method: {}", first.method),
    ]);
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
        vec!["a status below 400 is correct; its times are service times, of which versions before 1.69 print no quantile".to_owned()];
    differs.extend(trusts_anybody(task));
    Ok(Translated { files, arguments, differs, ..Translated::default() })
}

pub(super) fn oha(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    let [only] = requests else { return Err("it repeats one request".into()) };
    let rate = even_rate(task.load)?;
    let mut arguments: Vec<String> =
        ["--no-tui", "--output-format", "json"].map(str::to_owned).into();
    arguments.extend([
        "-z".to_owned(),
        format!("{}s", task.duration.as_secs()),
        "-t".to_owned(),
        format!("{}s", seconds_up(task.timeout)),
    ]);
    // A redirect is a response, and is not followed.
    arguments.extend(["-r", "0"].map(str::to_owned));
    let mut differs =
        vec!["any status is correct; requests in flight at the end are left out".to_owned()];
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
                return Err("requests beyond the limit in flight wait".into());
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
    for (flag, is_set) in [
        ("--http2", task.is_http2),
        ("--insecure", task.is_insecure),
        ("--disable-keepalive", task.closes),
    ] {
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

/// The load of a k6 script: its scenario, and the pauses of its users as JavaScript expressions.
struct K6Load {
    scenario: Value,
    ramp: String,
    pause: String,
}

pub(super) fn k6(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    if task.is_http2 && task.server.starts_with("http://") {
        return Err("it supports HTTP/2 only over TLS".into());
    }
    let mut differs = Vec::new();
    let mut load = k6_load(task, requests.len(), &mut differs)?;
    // By default k6 would let users wake up and send for another 30 s.
    load.scenario["gracefulStop"] = match task.load {
        Load::Arrivals { .. } => value!(format!("{}ms", task.timeout.as_millis())),
        _ => {
            differs.push("requests in flight at the end are left out".into());
            value!("0s")
        }
    };
    let arguments = ["run", "--quiet", "--no-usage-report", "load.js"].map(str::to_owned).into();
    Ok(Translated {
        files: vec![("load.js".into(), k6_script(task, requests, &load))],
        // Another summary, which this variable can select, has no quantile above the 95th.
        env: vec![("K6_NEW_MACHINE_READABLE_SUMMARY", "false")],
        arguments,
        results: Some("results.json"),
        differs,
        ..Translated::default()
    })
}

fn k6_load(task: &Task<'_>, requests: usize, differs: &mut Vec<String>) -> Result<K6Load, String> {
    let seconds = format!("{}s", task.duration.as_secs());
    let steady = |scenario| K6Load { scenario, ramp: "0".into(), pause: "0".into() };
    match task.load {
        Load::Closed { depth, .. } if *depth > 1 => {
            Err("each of its users has one request in flight".into())
        }
        Load::Closed { connections, .. } => Ok(steady(
            value!({"executor": "constant-vus", "vus": connections, "duration": seconds}),
        )),
        Load::Arrivals { .. } => k6_arrivals(task, requests, &seconds, differs).map(steady),
        other => k6_users(other, &seconds),
    }
}

fn k6_arrivals(
    task: &Task<'_>,
    requests: usize,
    seconds: &str,
    differs: &mut Vec<String>,
) -> Result<Value, String> {
    let Load::Arrivals { rate_per_s, stages, spacing, in_flight_max, overflow } = task.load else {
        return Err("it has no such load".into());
    };
    if requests > 1 {
        return Err(
            "at a rate it starts passes, not requests: give it a workload of one step".into()
        );
    }
    if *spacing == Spacing::Poisson {
        return Err("its arrivals are not Poisson".into());
    }
    let stretches = stretches(*rate_per_s, stages, task.duration);
    let mut rates = stretches.iter().flat_map(|stretch| [stretch.from_per_s, stretch.to_per_s]);
    if let Some(rate) = rates.find(|rate| rate.fract() != 0.0) {
        return Err(format!(
            "its rates are whole numbers of requests per second, and this comes to {rate}"
        ));
    }
    if *overflow == Overflow::Queue {
        differs
            .push("a request without a free user is dropped, whereas faceoff queues it; its latencies count from the instant of sending".into());
    }
    let users = K6_USERS.min(*in_flight_max);
    Ok(match &stretches[..] {
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
    })
}

fn k6_users(load: &Load, seconds: &str) -> Result<K6Load, String> {
    let Load::Users { users, ramp, pause, rounds, pooled } = load else {
        return Err("it has no such load".into());
    };
    if pooled.is_some() {
        return Err("its users do not share connections".into());
    }
    let pause = match pause {
        Pause::Constant(pause) => pause.as_secs_f64().to_string(),
        Pause::Uniform { from, to } => {
            format!(
                "{} + Math.random() * {}",
                from.as_secs_f64(),
                to.saturating_sub(*from).as_secs_f64()
            )
        }
        Pause::Exponential(mean) => {
            format!("-Math.log(1 - Math.random()) * {}", mean.as_secs_f64())
        }
    };
    let scenario = match rounds {
        Some(rounds) => {
            value!({"executor": "per-vu-iterations", "vus": users, "iterations": rounds, "maxDuration": seconds})
        }
        None => value!({"executor": "constant-vus", "vus": users, "duration": seconds}),
    };
    let ramp = format!("{} * (exec.vu.idInTest - 1) / {users}", ramp.as_secs_f64());
    Ok(K6Load { scenario, ramp, pause })
}

fn k6_script(task: &Task<'_>, requests: &[Fixed<'_>], load: &K6Load) -> String {
    let K6Load { scenario, ramp, pause } = load;
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
    script
}
