//! Learns what a correct response is from several responses of every service.
//!
//! A value is compared only if every response of every service has it. Values that change from one
//! response to the next, such as a time, a counter or a random id, are ignored. So are values that
//! differ between the services. Responses are sampled over more than a second, so that a time in
//! whole seconds changes. Start at [`learn`].

use crate::exit::Error;
use interop::import::quoted;
use load::Heard;
use load::http1::Kept;
use serde_json::Value;
use spec::problem::Problems;
use spec::secret;
use spec::workload::pointer_token;
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of responses sampled from each service.
pub const SAMPLES: usize = 6;
/// Time between two samples: all of them take more than a second.
pub const PAUSE: Duration = Duration::from_millis(220);
/// Maximum number of fields that are compared one by one.
const FIELDS_MAX: usize = 300;
/// Headers that describe how a response is sent, not its content.
const FRAMING: [&str; 7] = [
    "date",
    "server",
    "connection",
    "keep-alive",
    "content-length",
    "transfer-encoding",
    "content-encoding",
];
/// Maximum number of fields that a message lists.
const LISTED_MAX: usize = 8;

/// The sampled responses of one service.
pub struct Sampled {
    /// The service's name.
    pub service: String,
    /// The address it listens at, as its responses may contain it: `127.0.0.1:8080`.
    pub address: String,
    /// Its responses, in order.
    pub responses: Vec<Heard>,
}

/// The check of a correct response.
#[derive(Debug)]
pub struct Learned {
    /// The status of all responses.
    pub status: u16,
    /// A file next to the workload: its name and contents.
    pub file: Option<(String, Vec<u8>)>,
    /// The lines that follow the status in the workload.
    pub lines: String,
    /// A description of what is compared and what is ignored.
    pub description: String,
}

/// Learns what a correct response is. `workload` is the name of the workload's file.
///
/// # Errors
/// The services do not respond alike; the error names the difference.
pub fn learn(sampled: &[Sampled], workload: &str) -> Result<Learned, Error> {
    let status = one_status(sampled)?;
    let plain = sampled.iter().map(decoded).collect::<Result<Vec<_>, _>>()?;
    let mut learned = learn_decoded(&plain, status, workload)?;
    learned.description += &encodings(sampled).unwrap_or_default();
    learned.description += &headers(sampled).unwrap_or_default();
    Ok(learned)
}

/// Returns the samples of a service with decoded bodies.
fn decoded(sampled: &Sampled) -> Result<Sampled, Error> {
    let unreadable = |why| {
        Error::Failed(format!(
            "{}: {why}\nhint: configure it to send the body without that coding",
            sampled.service
        ))
    };
    let responses = sampled.responses.iter().map(|heard| {
        let body = heard.kept.text().map_err(unreadable)?;
        Ok(Heard { status: heard.status, kept: Kept { body, ..heard.kept.clone() } })
    });
    let responses = responses.collect::<Result<_, Error>>()?;
    Ok(Sampled { service: sampled.service.clone(), address: sampled.address.clone(), responses })
}

/// Describes each service's content coding and body size, if they differ.
///
/// Only decoded bodies are compared, so nothing else would show the difference.
fn encodings(sampled: &[Sampled]) -> Option<String> {
    let name = |heard: &Heard| {
        heard.kept.content_encoding.as_deref().unwrap_or_default().trim().to_ascii_lowercase()
    };
    let coding = |of: &Sampled| {
        let mut names: Vec<String> = of.responses.iter().map(name).collect();
        names.sort();
        names.dedup();
        let bytes = of.responses.first().map_or(0, |heard| heard.kept.body.len());
        (names, bytes)
    };
    let all: Vec<_> = sampled.iter().map(coding).collect();
    let is_coded = all.iter().any(|(names, _)| names.iter().any(|name| !name.is_empty()));
    if !is_coded || all.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let said = sampled.iter().zip(&all).map(|(of, (names, bytes))| {
        let names: Vec<&str> =
            names.iter().map(|name| if name.is_empty() { "no coding" } else { name }).collect();
        format!("{} sends {bytes} bytes ({})", of.service, names.join(" or "))
    });
    Some(format!(
        "; the bodies differ in their Content-Encoding or its level: {}",
        said.collect::<Vec<_>>().join(", ")
    ))
}

/// Names the headers that services send in different numbers.
///
/// Headers are not compared, but a server that sends more of them does more work.
fn headers(sampled: &[Sampled]) -> Option<String> {
    let count = |of: &Sampled, name: &String| {
        let names = of.responses.first().map_or(&[][..], |heard| &heard.kept.headers);
        names.iter().filter(|sent| *sent == name).count()
    };
    let first = |of: &Sampled| {
        of.responses.first().map(|heard| heard.kept.headers.clone()).unwrap_or_default()
    };
    let mut names: Vec<String> =
        sampled.iter().flat_map(first).filter(|name| !FRAMING.contains(&name.as_str())).collect();
    names.sort();
    names.dedup();
    let differing = names
        .iter()
        .map(|name| (name, sampled.iter().map(|of| count(of, name)).collect::<Vec<_>>()));
    let differing: Vec<_> =
        differing.filter(|(_, counts)| counts.windows(2).any(|pair| pair[0] != pair[1])).collect();
    let said = differing.iter().take(LISTED_MAX).map(|(name, counts)| {
        let by: Vec<String> = sampled
            .iter()
            .zip(counts)
            .map(|(of, count)| format!("{} {count}", of.service))
            .collect();
        format!("{name} ({})", by.join(", "))
    });
    let more = match differing.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!differing.is_empty()).then(|| {
        format!(
            "; ignored, headers that services send in different numbers: {}{more}",
            said.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Learns the check of decoded bodies.
fn learn_decoded(sampled: &[Sampled], status: u16, workload: &str) -> Result<Learned, Error> {
    let all = || sampled.iter().flat_map(|of| of.responses.iter().map(|heard| &heard.kept));
    let bodies: Vec<&[u8]> = all().map(|kept| kept.body.as_slice()).collect();
    let learned = |file, lines: String, said: &str| {
        Ok(Learned { status, file, lines, description: format!("status {status} and {said}") })
    };
    if bodies.iter().any(|body| secret::hidden_bytes(body).is_some()) {
        return learned(
            None,
            String::new(),
            "any body: it contains a secret, which must not be written to a file",
        );
    }
    if bodies.iter().all(|body| body.is_empty()) {
        return learned(None, "length = 0\n".into(), "no body");
    }
    let parsed: Option<Vec<Value>> =
        bodies.iter().map(|body| serde_json::from_slice(body).ok().filter(is_structured)).collect();
    if let Some(values) = parsed {
        return learn_json(sampled, &values, (status, workload), bodies[0]);
    }
    if bodies.windows(2).all(|pair| pair[0] == pair[1]) {
        // Text is compared without its content coding, bytes are compared as they arrive.
        let is_coded = all().any(|kept| kept.content_encoding.is_some());
        let text =
            std::str::from_utf8(bodies[0]).ok().filter(|text| is_coded && !text.contains("${"));
        if let Some(text) = text {
            return learned(
                None,
                format!("body = {}\n", quoted(text)),
                "all of the text, without its Content-Encoding",
            );
        }
        let name = format!("{workload}.body");
        let lines = format!("body_file = {}\n", quoted(&name));
        return learned(Some((name, bodies[0].to_vec())), lines, "every byte of the body");
    }
    let named: Vec<String> = sampled
        .iter()
        .flat_map(|of| {
            of.responses.iter().map(|heard| without_address(&heard.kept.body, &of.address))
        })
        .collect();
    if named.windows(2).all(|pair| pair[0] == pair[1]) {
        return learned(None, String::new(), "any body: it contains the service's own address");
    }
    let constant =
        |of: &Sampled| of.responses.windows(2).all(|pair| pair[0].kept.body == pair[1].kept.body);
    if sampled.len() > 1 && sampled.iter().all(constant) {
        return Err(unlike(sampled));
    }
    learned(None, String::new(), "any body: it changes between responses and is not JSON")
}

fn is_structured(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Returns a body with the address and the port of its service replaced by placeholders.
fn without_address(body: &[u8], address: &str) -> String {
    let text = String::from_utf8_lossy(body).replace(address, "ADDRESS");
    match address.rsplit_once(':') {
        Some((_, port)) if port.len() > 3 => text.replace(port, "PORT"),
        _ => text,
    }
}

fn one_status(sampled: &[Sampled]) -> Result<u16, Error> {
    let of = |sampled: &Sampled| sampled.responses.first().map(|heard| heard.status);
    let first = sampled.first().and_then(of).expect("every service has responded");
    for one in sampled {
        if let Some(other) = one.responses.iter().find(|heard| heard.status != first) {
            let (a, b) = (&sampled[0].service, &one.service);
            let message = match a == b {
                true => format!("{a} responds with status {first}, then with {}", other.status),
                false => format!("{a} responds with status {first} and {b} with {}", other.status),
            };
            return Err(Problems::plain(message, "compare services that respond alike").into());
        }
    }
    Ok(first)
}

/// Returns the error for services whose bodies never change and are not the same.
fn unlike(sampled: &[Sampled]) -> Error {
    let body = |of: &Sampled| {
        of.responses.first().map(|heard| heard.kept.body.clone()).unwrap_or_default()
    };
    let first = body(&sampled[0]);
    let other = sampled.iter().find(|of| body(of) != first).unwrap_or(&sampled[0]);
    let theirs = body(other);
    let (a, b) = (&sampled[0].service, &other.service);
    let how = match first.len() == theirs.len() {
        false => format!("a body of {} bytes and {b} one of {}", first.len(), theirs.len()),
        true => {
            let at = first.iter().zip(&theirs).position(|(x, y)| x != y).unwrap_or(0);
            format!("a different body than {b}: byte {} of {} differs", at + 1, first.len())
        }
    };
    Error::Failed(format!(
        "{a} and {b} do not respond alike: {a} sends {how}\nhint: `curl -i` shows both; compare services that respond alike"
    ))
}

/// Collects the leaves of a JSON value by their JSON pointers.
fn leaves<'v>(value: &'v Value, path: &str, found: &mut BTreeMap<String, &'v Value>) {
    let below = |key: &str| format!("{path}/{}", pointer_token(key));
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| leaves(value, &below(key), found))
        }
        Value::Array(values) if !values.is_empty() => (0..)
            .zip(values)
            .for_each(|(at, value): (usize, _)| leaves(value, &below(&at.to_string()), found)),
        leaf => drop(found.insert(path.to_owned(), leaf)),
    }
}

/// Leaves of all JSON responses, grouped by whether they are the same everywhere.
struct Fields<'v> {
    /// The leaves of each response, by their JSON pointers.
    all: Vec<BTreeMap<String, &'v Value>>,
    /// Paths with the same value in every response.
    compared: Vec<String>,
    /// Paths whose value varies between responses of one service.
    varying: Vec<String>,
    /// Paths whose value differs between services only.
    differing: Vec<String>,
    /// Paths that every response has, but that are not compared.
    present: Vec<String>,
}

impl<'v> Fields<'v> {
    /// Groups the leaves of responses; `values` has the responses of the first service first.
    fn group(sampled: &[Sampled], values: &'v [Value]) -> Fields<'v> {
        let now = jiff::Timestamp::now();
        let leaves_of = |value: &'v Value| {
            let mut found = BTreeMap::new();
            leaves(value, "", &mut found);
            found
        };
        let all: Vec<BTreeMap<String, &'v Value>> = values.iter().map(leaves_of).collect();
        let mut paths: Vec<String> = all.iter().flat_map(|of| of.keys().cloned()).collect();
        paths.sort();
        paths.dedup();
        let is_constant = |responses: &[BTreeMap<String, &Value>], path: &String| {
            responses.windows(2).all(|pair| pair[0].get(path) == pair[1].get(path))
        };
        let is_constant_in_each_service = |path: &String| {
            let mut rest = &all[..];
            sampled.iter().all(|of| {
                let (responses, others) = rest.split_at(of.responses.len());
                rest = others;
                is_constant(responses, path)
            })
        };
        let (mut compared, mut varying, mut differing, mut present) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for path in paths {
            if is_constant(&all, &path) && !looks_like_now(all[0][&path], now) {
                compared.push(path);
                continue;
            }
            if all.iter().all(|of| of.contains_key(&path)) {
                present.push(path.clone());
            }
            if is_constant_in_each_service(&path) && !is_constant(&all, &path) {
                differing.push(path)
            } else {
                varying.push(path)
            }
        }
        Fields { all, compared, varying, differing, present }
    }

    /// `; ignored, as it varies: /at`, or nothing if every field is compared.
    fn ignored(&self) -> String {
        let ignored =
            [(&self.varying, "as it varies"), (&self.differing, "as it differs between services")];
        ignored
            .iter()
            .filter(|(paths, _)| !paths.is_empty())
            .map(|(paths, why)| format!("; ignored, {why}: {}", listed(paths)))
            .collect()
    }

    /// Returns the lines of the workload that check the fields.
    fn check_lines(&self) -> String {
        let mut lines = String::new();
        let first = |path: &String| toml(self.all[0][path]);
        let written: Vec<String> = self
            .compared
            .iter()
            .take(FIELDS_MAX)
            .filter_map(|path| Some(format!("{} = {}", quoted(path), first(path)?)))
            .collect();
        if !written.is_empty() {
            lines += &format!("pointers = {{ {} }}\n", written.join(", "));
        }
        let also: Vec<String> = self
            .compared
            .iter()
            .filter(|path| first(path).is_none())
            .chain(&self.present)
            .take(FIELDS_MAX)
            .map(|path| quoted(path))
            .collect();
        if !also.is_empty() {
            lines += &format!("present = [{}]\n", also.join(", "));
        }
        lines
    }
}

/// Learns the check of JSON bodies; `first` is the body of the first response.
fn learn_json(
    sampled: &[Sampled],
    values: &[Value],
    (status, workload): (u16, &str),
    first: &[u8],
) -> Result<Learned, Error> {
    let fields = Fields::group(sampled, values);
    if fields.compared.is_empty() && fields.varying.is_empty() {
        return Err(unlike(sampled));
    }
    if fields.varying.is_empty() && fields.differing.is_empty() {
        let name = format!("{workload}.json");
        let lines = format!("json_file = {}\n", quoted(&name));
        let description = format!("status {status} and all of the JSON body");
        return Ok(Learned { status, file: Some((name, first.to_vec())), lines, description });
    }
    let what = if fields.compared.is_empty() {
        "the same JSON fields".to_owned()
    } else {
        format!("the JSON fields {}", listed(&fields.compared))
    };
    let description = format!("status {status} and {what}{}", fields.ignored());
    Ok(Learned { status, file: None, lines: fields.check_lines(), description })
}

/// `/a, /b and 12 more`
fn listed(paths: &[String]) -> String {
    let shown: Vec<&str> = paths
        .iter()
        .take(LISTED_MAX)
        .map(|path| if path.is_empty() { "the whole body" } else { path })
        .collect();
    match paths.len().saturating_sub(LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns a value in TOML syntax.
///
/// Returns `None` if TOML has no such value, or for a text that looks like a placeholder.
fn toml(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        Value::Number(number) => {
            let text = number.as_f64().filter(|n| n.is_finite())?.to_string();
            Some(if text.contains(['.', 'e']) { text } else { format!("{text}.0") })
                .filter(|_| !number.is_u64())
        }
        Value::String(text) if text.contains("${") => None,
        Value::String(text) => Some(quoted(text)),
        Value::Array(values) if values.is_empty() => Some("[]".into()),
        Value::Object(fields) if fields.is_empty() => Some("{}".into()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a value is a time of today, which will have changed by tomorrow or in a minute.
fn looks_like_now(value: &Value, now: jiff::Timestamp) -> bool {
    const DAY_S: f64 = 86_400.0;
    match value {
        Value::Number(number) => {
            let (n, now_s) = (number.as_f64().unwrap_or(0.0), now.as_second() as f64);
            [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (n / unit - now_s).abs() < DAY_S)
        }
        Value::String(text) => text
            .parse::<jiff::Timestamp>()
            .is_ok_and(|then| (then.as_second() as f64 - now.as_second() as f64).abs() < DAY_S),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
