//! Other load generators as witnesses: a workload and a load in their words.

mod cells;
mod gatling;
mod jmeter;
mod plans;

pub use cells::Truth;
pub(crate) use cells::{check, walk_driver, walk_truth};

use crate::article::Row;
use crate::experiment::{Load, Stage};
use crate::record::{Circumstances, Usage};
use crate::secret;
use crate::template::Template;
use crate::workload::{Body, BodyCheck, Statuses, Step, Workload};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Another load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
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
    /// <https://jmeter.apache.org>
    Jmeter,
    /// <https://gatling.io>
    Gatling,
}

impl Driver {
    /// All of them.
    pub const ALL: [Driver; 7] = [Driver::Wrk, Driver::Wrk2, Driver::H2load, Driver::Oha, Driver::K6, Driver::Jmeter, Driver::Gatling];

    /// The one of a name.
    pub fn named(name: &str) -> Option<Driver> {
        Driver::ALL.into_iter().find(|driver| driver.name() == name)
    }

    /// The program.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Wrk => "wrk",
            Driver::Wrk2 => "wrk2",
            Driver::H2load => "h2load",
            Driver::Oha => "oha",
            Driver::K6 => "k6",
            Driver::Jmeter => "jmeter",
            Driver::Gatling => "gatling",
        }
    }

    /// Whether it prints errors only where there are any.
    pub fn is_silent_about_none(self) -> bool {
        matches!(self, Driver::Wrk | Driver::Wrk2)
    }

    /// Whether its requests, but for their bodies, stand on its command line, which every user of the machine can read.
    fn asks_in_the_open(self) -> bool {
        matches!(self, Driver::H2load | Driver::Oha)
    }

    /// How to get it.
    pub fn hint(self) -> &'static str {
        match self {
            Driver::Wrk => "on Debian: apt-get install wrk",
            Driver::Wrk2 => "build github.com/giltene/wrk2 and put its `wrk` on the PATH as `wrk2`",
            Driver::H2load => "on Debian: apt-get install nghttp2-client",
            Driver::Oha => "cargo install oha --locked",
            Driver::K6 => "go install go.k6.io/k6/v2@latest, and put its folder on the PATH",
            Driver::Jmeter => "`mvn -q package` in witnesses/jmeter and put that folder on the PATH, or install JMeter 5.6",
            Driver::Gatling => "`mvn -q package` in witnesses/gatling and put that folder on the PATH",
        }
    }
}

/// What is to be done.
pub struct Task<'a> {
    /// `http://host:port`
    pub server: String,
    /// What is asked.
    pub workload: &'a Workload,
    /// How requests arrive.
    pub load: &'a Load,
    /// For how long.
    pub duration: Duration,
    /// A request without an answer after this long has failed.
    pub timeout: Duration,
    /// Of a tool that does not choose them itself.
    pub threads: u32,
    /// Whether it speaks HTTP/2.
    pub is_http2: bool,
    /// Whether each request gets a connection of its own.
    pub closes: bool,
    /// Whether any certificate is trusted.
    pub is_insecure: bool,
}

/// The same for another tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translated {
    /// Files in its folder: names and texts.
    pub files: Vec<(String, String)>,
    /// Added to the environment of each call.
    pub env: Vec<(&'static str, &'static str)>,
    /// Of a call before the load, which makes the plan ready: nothing of it is sampled.
    pub prepare: Option<Vec<String>>,
    /// Of the call that makes the load.
    pub arguments: Vec<String>,
    /// Of a call after it, which sums up: nothing of it is sampled.
    pub sum_up: Option<Vec<String>>,
    /// The file with its results; what it prints, where there is none.
    pub results: Option<&'static str>,
    /// What it does otherwise.
    pub differs: Vec<String>,
}

/// What another generator said of a cell's load, and what that cost it. Nothing in it was measured by us but the cost, so no verdict
/// speaks of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Witnessed {
    /// The cell's name.
    pub cell: String,
    /// Its place within the trial, from 1.
    pub position: u32,
    /// Which.
    pub driver: Driver,
    /// What it was called with.
    pub arguments: Vec<String>,
    /// What it does otherwise than ours, though the load is the same.
    pub differs: Vec<String>,
    /// What it printed, in its own units and with its own errors.
    pub reported: Row,
    /// Its own process tree, from its start to its end.
    pub usage: Usage,
    /// What the machine did meanwhile.
    pub circumstances: Option<Circumstances>,
}

impl Witnessed {
    /// Whether the hypervisor took so much that times are not what they would be.
    pub fn is_robbed(&self) -> bool {
        self.circumstances.as_ref().is_some_and(Circumstances::is_robbed)
    }

    /// CPU time of its own for each request, in microseconds.
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        let requests = self.reported.samples.as_ref().map(|figure| figure.value()).filter(|n| *n > 0.0)?;
        Some(self.usage.cpu_ns as f64 / 1e3 / requests)
    }

    /// A quantile that it printed, in milliseconds.
    pub fn quantile_ms(&self, percent: f64) -> Option<f64> {
        let found = self.reported.latency.quantiles.iter().find(|(of, _)| *of == percent);
        found.map(|(_, figure)| figure.value() * 1e3)
    }
}

/// A request in which nothing varies.
struct Fixed<'a> {
    method: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: Option<&'a str>,
    status: Statuses,
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
    if let Some(step) = task.workload.steps.iter().find(|step| driver.asks_in_the_open() && holds_a_secret(step)) {
        let request = format!("{} {}", step.method, step.path);
        return Err(format!(
            "{request}: it takes paths and headers on its command line, where every user of this machine reads the secret in them"
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
        answer.body != BodyCheck::Any || !answer.headers.is_empty() || !answer.pointers.is_empty() || answer.regex.is_some()
    });
    if looks_into {
        translated.differs.push("it looks at statuses alone: headers and bodies of answers are not checked".into());
    }
    Ok(translated)
}

/// Whether a request's path or headers do, whether it is known here already or not.
fn holds_a_secret(step: &Step) -> bool {
    let mut told = std::iter::once(&step.path).chain(step.headers.iter().map(|(_, value)| value));
    told.any(|text| text.variables().next().is_some() || text.texts().any(|text| secret::hidden(text) != text))
}

/// A stretch of a load in which the rate goes evenly from one to another.
struct Stretch {
    from_per_s: f64,
    to_per_s: f64,
    over: Duration,
}

/// The stretches of arrivals, which fill a duration to its end, and no more: stages that would outlast it are cut.
fn stretches(mut rate_per_s: f64, stages: &[Stage], duration: Duration) -> Vec<Stretch> {
    let (mut stretches, mut left) = (Vec::new(), duration);
    for stage in stages {
        let over = stage.over.min(left);
        if over.is_zero() {
            // A step, or beyond the end.
            rate_per_s = stage.to_per_s;
            continue;
        }
        let to_per_s = rate_per_s + (stage.to_per_s - rate_per_s) * over.div_duration_f64(stage.over);
        stretches.push(Stretch { from_per_s: rate_per_s, to_per_s, over });
        (rate_per_s, left) = (to_per_s, left - over);
    }
    if !left.is_zero() {
        stretches.push(Stretch { from_per_s: rate_per_s, to_per_s: rate_per_s, over: left });
    }
    stretches
}

fn fixed(step: &Step) -> Result<Fixed<'_>, String> {
    let varies = || format!("{} {}: values that differ from pass to pass are not carried over", step.method, step.path);
    if !step.captures.is_empty() {
        return Err(format!("{} {}: values taken from answers are not carried over", step.method, step.path));
    }
    let text = |template: &'_ Template| template.as_fixed().is_some();
    if !text(&step.path) || !step.headers.iter().all(|(_, value)| text(value)) {
        return Err(varies());
    }
    Ok(Fixed {
        method: &step.method,
        path: step.path.as_fixed().unwrap_or("/"),
        headers: step.headers.iter().map(|(name, value)| (name.as_str(), value.as_fixed().unwrap_or_default())).collect(),
        body: match &step.body {
            Body::None => None,
            Body::Text(text) => Some(text.as_fixed().ok_or_else(varies)?),
            Body::Bytes(bytes) => {
                Some(std::str::from_utf8(bytes).map_err(|_| format!("{} {}: its body is no text", step.method, step.path))?)
            }
        },
        status: step.answer.status,
    })
}

#[cfg(test)]
mod tests;
