//! Parses the request and the numbers that `faceoff load` and `faceoff wrk` take.

use spec::experiment::{RATE_MAX, RATE_MIN, Stage};
use spec::problem::Problems;
use spec::secret;
use spec::template::Template;
use spec::units::{parse_duration, parse_number};
use spec::workload::{
    Answer, Body, Statuses, Step, Workload, is_header_name, is_header_value, is_method,
    is_written_by_generator,
};
use std::path::Path;

/// Parses `100` or `10k`: a whole number from 1.
pub fn whole(text: &str) -> Result<u64, String> {
    let number = parse_number(text)?;
    match number.round() == number && (1.0..=1e15).contains(&number) {
        true => Ok(number as u64),
        false => Err(format!("`{text}` is not a whole number from 1")),
    }
}

/// Parses a number of connections or users.
pub fn count(text: &str) -> Result<u32, String> {
    u32::try_from(whole(text)?)
        .ok()
        .filter(|n| *n <= 1_000_000)
        .ok_or_else(|| format!("`{text}` is more than 1M"))
}

/// Parses a stage, such as `30s:100`.
pub fn stage(text: &str) -> Result<Stage, String> {
    let (over, rate) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` is not a stage: write it like 30s:100"))?;
    let to_per_s = parse_number(rate)?;
    match (0.0..=RATE_MAX).contains(&to_per_s) {
        true => Ok(Stage { over: parse_duration(over)?, to_per_s }),
        false => Err(format!("a rate of {rate}/s is out of range: give one from 0 to 10M")),
    }
}

/// Refuses a rate that is out of range.
pub fn rate_in_range(rate: f64) -> Result<f64, Problems> {
    match (RATE_MIN..=RATE_MAX).contains(&rate) {
        true => Ok(rate),
        false => Err(Problems::plain(
            format!("a rate of {rate}/s is out of range"),
            "give a rate from 0.001 to 10M",
        )),
    }
}

/// Returns a body, which `@FILE` reads from a file.
pub fn body_of(body: &str) -> Result<Vec<u8>, Problems> {
    match body.strip_prefix('@') {
        None => Ok(secret::filled(body)?.into()),
        Some(file) => std::fs::read(Path::new(file)).map_err(|e| {
            Problems::plain(
                format!("the body's file {file} cannot be read: {e}"),
                "check that it exists and that you may read it",
            )
        }),
    }
}

/// Returns a workload of one request. Its response is correct if it has the status.
///
/// # Errors
/// The method or a header cannot be sent.
pub fn one_request(
    summary: &str,
    method: &str,
    path: &str,
    headers: &[String],
    body: Option<Vec<u8>>,
    status: Statuses,
) -> Result<Workload, Problems> {
    if !is_method(method) {
        return Err(Problems::plain(format!("`{method}` is not a method"), "write GET, POST, ..."));
    }
    let step = Step {
        method: method.to_owned(),
        path: Template::fixed(path),
        headers: headers.iter().map(|header| parse_header(header)).collect::<Result<_, _>>()?,
        body: body.map_or(Body::None, Body::Bytes),
        answer: Answer { status, ..Answer::default() },
        ..Step::default()
    };
    secret::notice(&step.path, &step.headers);
    Ok(Workload {
        name: "load".into(),
        summary: summary.to_owned(),
        steps: vec![step],
        ..Workload::default()
    })
}

/// Parses a header, such as `Accept: text/html`.
fn parse_header(header: &str) -> Result<(String, Template), Problems> {
    // The value may be a secret, so errors show the name only.
    let shown = header.split([':', ' ']).next().unwrap_or_default();
    let wrong = || {
        Problems::plain(
            format!("`{shown}` does not begin a header"),
            "write it like -H 'Accept: text/html'",
        )
    };
    let (name, value) = header.split_once(':').ok_or_else(wrong)?;
    let value = secret::filled(value)?;
    let (name, value) = (name.trim(), value.trim());
    if !is_header_name(name) || !is_header_value(value) {
        return Err(wrong());
    }
    if is_written_by_generator(name) {
        return Err(Problems::plain(
            format!("the header `{name}` is written by the load generator itself"),
            "leave it out; --close closes the connection after each request",
        ));
    }
    Ok((name.to_owned(), Template::fixed(value)))
}
