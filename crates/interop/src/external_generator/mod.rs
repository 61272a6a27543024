//! Writes a workload and a load as the command line or plan of another load generator.
//!
//! [`translate`] is the way in. `plans.rs` has wrk, wrk2, h2load, oha and k6; JMeter and Gatling,
//! whose plans are longer, have files of their own. What a tool does differently is listed in
//! [`Translated::differs`]; what it cannot do is an error.

mod gatling;
mod jmeter;
mod plans;

use spec::experiment::Stage;
use spec::experiment::external_generator::{Driver, Task};
use spec::secret;
use spec::template::Template;
use spec::workload::{Body, BodyCheck, Statuses, Step};
use std::time::Duration;

/// A task, translated for a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translated {
    /// Files in its folder: names with texts.
    pub files: Vec<(String, String)>,
    /// Variables that are added to the environment of each call.
    pub env: Vec<(&'static str, &'static str)>,
    /// Arguments of a call before the load, which prepares the plan. Its process is not sampled.
    pub prepare: Option<Vec<String>>,
    /// Arguments of the call that makes the load.
    pub arguments: Vec<String>,
    /// Arguments of a call after the load, which sums up. Its process is not sampled.
    pub sum_up: Option<Vec<String>>,
    /// The file with its results; `None` if it prints them.
    pub results: Option<&'static str>,
    /// What the tool does differently.
    pub differs: Vec<String>,
}

/// A request without placeholders.
struct Fixed<'a> {
    method: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: Option<&'a str>,
    status: Statuses,
}

/// Decides whether a generator can make a load, for [`Catalog`](spec::catalog::Catalog).
///
/// # Errors
/// What the tool cannot express.
pub fn can_make(driver: Driver, task: &Task<'_>) -> Result<(), String> {
    translate(driver, task).map(drop)
}

/// Translates a task.
///
/// # Errors
/// What the tool cannot express.
pub fn translate(driver: Driver, task: &Task<'_>) -> Result<Translated, String> {
    let workload = task.workload.with_secrets();
    let requests = workload.steps.iter().map(fixed).collect::<Result<Vec<_>, _>>()?;
    if task.duration.subsec_nanos() != 0 {
        return Err("it lasts for whole seconds".into());
    }
    if let Some(step) =
        task.workload.steps.iter().find(|step| shows_requests(driver) && holds_a_secret(step))
    {
        let request = format!("{} {}", step.method, step.path);
        return Err(format!(
            "{request}: it takes paths and headers on its command line, where every user of this machine reads the secret in them"
        ));
    }
    if !matches!(driver, Driver::H2load | Driver::Jmeter)
        && let Some((request, name)) =
            requests.iter().find_map(|request| Some((request, repeated(request)?)))
    {
        return Err(format!(
            "{} {}: it sends one header of a name, and `{name}` has several",
            request.method, request.path
        ));
    }
    let mut translated = match driver {
        Driver::Wrk | Driver::Wrk2 => plans::wrk(driver, task, &requests)?,
        Driver::H2load => plans::h2load(task, &requests)?,
        Driver::Oha => plans::oha(task, &requests)?,
        Driver::K6 => plans::k6(task, &requests)?,
        Driver::Jmeter => jmeter::translate(task, &requests)?,
        Driver::Gatling => gatling::translate(task, &requests)?,
    };
    let looks_into = task.workload.steps.iter().any(|step| {
        let answer = &step.answer;
        answer.body != BodyCheck::Any
            || !answer.headers.is_empty()
            || !answer.pointers.is_empty()
            || answer.regex.is_some()
    });
    if looks_into {
        translated
            .differs
            .push("it checks only statuses, not headers and bodies of responses".into());
    }
    Ok(translated)
}

/// Returns whether a generator has paths and headers on its command line, which every user of the
/// machine can read.
fn shows_requests(driver: Driver) -> bool {
    matches!(driver, Driver::H2load | Driver::Oha)
}

/// Returns whether a request's path or headers contain a secret, even one that is not known yet.
fn holds_a_secret(step: &Step) -> bool {
    let mut texts = std::iter::once(&step.path).chain(step.headers.iter().map(|(_, value)| value));
    texts.any(|text| {
        text.variables().next().is_some() || text.texts().any(|text| secret::hidden(text) != text)
    })
}

/// A part of a load in which the rate changes linearly.
struct Stretch {
    from_per_s: f64,
    to_per_s: f64,
    over: Duration,
}

/// Returns the parts of the arrivals, which fill the duration exactly. Stages that would last
/// longer are cut.
fn stretches(mut rate_per_s: f64, stages: &[Stage], duration: Duration) -> Vec<Stretch> {
    let (mut stretches, mut left) = (Vec::new(), duration);
    for stage in stages {
        let over = stage.over.min(left);
        if over.is_zero() {
            // The stage is a step, or begins after the end.
            rate_per_s = stage.to_per_s;
            continue;
        }
        let to_per_s =
            rate_per_s + (stage.to_per_s - rate_per_s) * over.div_duration_f64(stage.over);
        stretches.push(Stretch { from_per_s: rate_per_s, to_per_s, over });
        (rate_per_s, left) = (to_per_s, left - over);
    }
    if !left.is_zero() {
        stretches.push(Stretch { from_per_s: rate_per_s, to_per_s: rate_per_s, over: left });
    }
    stretches
}

/// Returns the first header name that a request has several times.
fn repeated<'a>(request: &Fixed<'a>) -> Option<&'a str> {
    let names = request.headers.iter().map(|(name, _)| *name).enumerate();
    let is_known = |(at, name): &(usize, &str)| {
        request.headers[..*at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    names.into_iter().find(is_known).map(|(_, name)| name)
}

fn fixed(step: &Step) -> Result<Fixed<'_>, String> {
    let varies = || {
        format!(
            "{} {}: values that differ from pass to pass are not carried over",
            step.method, step.path
        )
    };
    if !step.captures.is_empty() {
        return Err(format!(
            "{} {}: values taken from responses are not carried over",
            step.method, step.path
        ));
    }
    let text = |template: &'_ Template| template.as_fixed().is_some();
    if !text(&step.path) || !step.headers.iter().all(|(_, value)| text(value)) {
        return Err(varies());
    }
    Ok(Fixed {
        method: &step.method,
        path: step.path.as_fixed().unwrap_or("/"),
        headers: step
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_fixed().unwrap_or_default()))
            .collect(),
        body: match &step.body {
            Body::None => None,
            Body::Text(text) => Some(text.as_fixed().ok_or_else(varies)?),
            Body::Bytes(bytes) => Some(
                std::str::from_utf8(bytes)
                    .map_err(|_| format!("{} {}: its body is not text", step.method, step.path))?,
            ),
        },
        status: step.answer.status,
    })
}

#[cfg(test)]
mod tests;
