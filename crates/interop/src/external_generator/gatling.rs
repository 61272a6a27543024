//! Writes a plan for Gatling: a simulation in its Java DSL.
//!
//! Java's limits decide what is possible: a text in a class file has at most 65,535 bytes. Start
//! with [`translate`].

use super::plans::trusts_anybody;
use super::{Fixed, Stretch, Task, Translated, stretches};
use spec::experiment::{Load, Overflow, Pause, Spacing, Stage};
use std::time::Duration;

/// The longest text in a class file of Java, in bytes.
const LONGEST_TEXT: usize = 65_535;

/// Writes the plan of a task, to be called like `catalog/generators/gatling/gatling`.
///
/// # Errors
/// What Gatling cannot express.
pub(super) fn translate(task: &Task<'_>, requests: &[Fixed<'_>]) -> Result<Translated, String> {
    if task.is_http2 && task.server.starts_with("http://") {
        return Err("it supports HTTP/2 only over TLS".into());
    }
    if requests.is_empty() {
        return Err("there is no request".into());
    }
    for text in requests.iter().flat_map(texts) {
        if text.contains("#{") || text.contains("${") {
            return Err("it would take `#{` or `${` for a variable".into());
        }
        if text.len() > LONGEST_TEXT {
            return Err(format!(
                "its plans cannot contain a text of more than {LONGEST_TEXT} bytes"
            ));
        }
    }
    let mut differs = vec!["its times count from the instant of sending, in whole milliseconds; requests in flight at the end are left out".to_owned()];
    let plan = match task.load {
        Load::Closed { depth, .. } if *depth > 1 => {
            return Err("each of its users has one request in flight".into());
        }
        Load::Closed { connections, .. } => {
            of_users(task, requests, (*connections, Duration::ZERO), None, None)
        }
        Load::Users { pooled: Some(_), .. } => {
            return Err("its users do not share connections".into());
        }
        Load::Users { users, ramp, pause, rounds, pooled: None } => {
            if rounds.is_some_and(|rounds| rounds > i32::MAX as u64) {
                return Err("it counts rounds up to 2,147,483,647".into());
            }
            of_users(task, requests, (*users, *ramp), Some(pause), *rounds)
        }
        Load::Arrivals { rate_per_s, stages, spacing, overflow, .. } => {
            if requests.len() > 1 {
                return Err(
                    "at a rate it starts passes, not requests: give it a workload of one step"
                        .into(),
                );
            }
            if *overflow == Overflow::Shed {
                return Err("it has no limit in flight beyond which it drops requests".into());
            }
            differs
                .push("it opens a connection for each request in flight, without a limit".into());
            of_arrivals(task, requests, (*rate_per_s, stages), *spacing)
        }
        Load::Capacity(_) => return Err("it has no such load".into()),
    };
    differs.extend(trusts_anybody(task));
    Ok(Translated {
        files: vec![("Load.java".into(), plan)],
        env: Vec::new(),
        prepare: Some(vec!["compile".into()]),
        arguments: vec!["run".into()],
        sum_up: Some(vec!["report".into()]),
        // It prints the results in the call that sums up.
        results: None,
        differs,
    })
}

fn texts<'a>(request: &Fixed<'a>) -> impl Iterator<Item = &'a str> {
    let headers: Vec<&str> =
        request.headers.iter().flat_map(|(name, value)| [*name, *value]).collect();
    [request.method, request.path, request.body.unwrap_or_default()].into_iter().chain(headers)
}

/// Writes users who send all requests again and again. Those of a closed load do not pause.
fn of_users(
    task: &Task<'_>,
    requests: &[Fixed<'_>],
    (users, ramp): (u32, Duration),
    pause: Option<&Pause>,
    rounds: Option<u64>,
) -> String {
    let waits = match pause {
        None => String::new(),
        Some(Pause::Constant(pause)) if pause.is_zero() => String::new(),
        Some(Pause::Constant(pause) | Pause::Exponential(pause)) => {
            format!(".pause({})", duration(*pause))
        }
        Some(Pause::Uniform { from, to }) => {
            format!(".pause({}, {})", duration(*from), duration(*to))
        }
    };
    let pass: String = requests
        .iter()
        .map(|request| format!("\n      .exec({}){waits}", made(task, request)))
        .collect();
    // The first call of a chain has no object before it.
    let pass = pass.trim_start().trim_start_matches('.').to_owned();
    let again = rounds.map_or("forever()".to_owned(), |rounds| format!("repeat({rounds})"));
    let begin = match ramp.is_zero() {
        true => format!("atOnceUsers({users})"),
        false => format!("rampUsers({users}).during({})", duration(ramp)),
    };
    simulation(task, &format!("{again}.on(\n      {pass})"), &begin, "")
}

/// Writes a user for each request. All of them share connections.
fn of_arrivals(
    task: &Task<'_>,
    requests: &[Fixed<'_>],
    (rate, stages): (f64, &[Stage]),
    spacing: Spacing,
) -> String {
    let random = if spacing == Spacing::Poisson { ".randomized()" } else { "" };
    let injected = |Stretch { from_per_s: from, to_per_s: to, over }: Stretch| match from == to {
        true if from > 0.0 => {
            format!("constantUsersPerSec({}).during({}){random}", double(from), duration(over))
        }
        true => format!("nothingFor({})", duration(over)),
        false => format!(
            "rampUsersPerSec({}).to({}).during({}){random}",
            double(from),
            double(to),
            duration(over)
        ),
    };
    let steps: Vec<String> =
        stretches(rate, stages, task.duration).into_iter().map(injected).collect();
    let passes: String =
        requests.iter().map(|request| format!("exec({})", made(task, request))).collect();
    simulation(task, &passes, &steps.join(",\n      "), ".shareConnections()")
}

fn simulation(task: &Task<'_>, does: &str, inject: &str, more: &str) -> String {
    let closing = if task.closes { ".connectionHeader(\"close\")" } else { "" };
    let http2 = if task.is_http2 { ".enableHttp2()" } else { "" };
    // The pauses of the plan are then the means.
    let pauses = if let Load::Users { pause: Pause::Exponential(_), .. } = task.load {
        ".exponentialPauses()"
    } else {
        ""
    };
    // Responses may still arrive after a schedule has ended. Users continue until they are stopped.
    let at_most = match task.load {
        Load::Arrivals { .. } => task.duration + task.timeout,
        _ => task.duration,
    };
    format!(
        "import static io.gatling.javaapi.core.CoreDsl.*;\n\
         import static io.gatling.javaapi.http.HttpDsl.*;\n\
         import io.gatling.javaapi.core.Simulation;\n\
         import java.time.Duration;\n\n\
         public class Load extends Simulation {{\n  {{\n    \
         var protocol = http.baseUrl({}).disableWarmUp().disableCaching().disableFollowRedirect().disableAutoReferer()\n      \
         .disableAutoOrigin().disableUrlEncoding(){closing}{http2}{more};\n    \
         var load = scenario(\"load\").exec(\n      {does});\n    \
         setUp(load.injectOpen(\n      {inject}).protocols(protocol)).maxDuration({}){pauses};\n  }}\n}}\n",
        java(&task.server),
        duration(at_most)
    )
}

fn made(task: &Task<'_>, request: &Fixed<'_>) -> String {
    let headers: String = request
        .headers
        .iter()
        .map(|(name, value)| format!(".header({}, {})", java(name), java(value)))
        .collect();
    let body =
        request.body.map_or(String::new(), |body| format!(".body(StringBody({}))", java(body)));
    let right = match request.status {
        status if status.from == status.to => format!("status().is({})", status.from),
        status => {
            format!("status().transform(s -> s >= {} && s <= {}).is(true)", status.from, status.to)
        }
    };
    format!(
        "http(\"request\").httpRequest({}, {}){headers}{body}.requestTimeout({}).check({right})",
        java(request.method),
        java(request.path),
        duration(task.timeout)
    )
}

fn duration(duration: Duration) -> String {
    format!("Duration.ofNanos({}L)", duration.as_nanos())
}

/// Writes a number that Java reads as one with a fraction.
fn double(number: f64) -> String {
    format!("{number:?}")
}

/// Writes a text as a Java literal.
fn java(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => out += &format!("\\{:03o}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}
