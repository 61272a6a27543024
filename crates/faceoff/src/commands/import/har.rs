//! Recordings of browsers and proxies (HTTP Archive 1.2).

use super::{Imported, Notes, Part, add_header, encoded, one_server, path, shortened, split_url};
use model::experiment::{Load, Pause};
use model::problem::Problems;
use model::template::Template;
use model::workload::{Body, Statuses, Step, is_method};
use serde_json::Value;
use std::time::Duration;

/// Headers of a recording that hold secrets.
const SECRETS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Reads a recording: each request is a step, and right is the status that it had.
pub fn import(document: &Value) -> Result<Imported, Problems> {
    let entries = document["log"]["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut imported = Imported::default();
    let mut steps = Vec::new();
    for entry in entries {
        steps.extend(step(entry, &mut imported.lost, &mut imported.taken));
    }
    let (server, steps) = one_server(steps, &mut imported.lost);
    if steps.is_empty() {
        return Err(Problems::plain("the recording holds no request that can be made", "save it again, with its requests"));
    }
    let load = Load::Users { users: 1, ramp: Duration::ZERO, pause: Pause::Constant(Duration::ZERO), rounds: None, pooled: None };
    let mut part = Part::new(steps, load);
    part.workload.summary = "what was recorded of one user".into();
    part.server = server;
    imported.parts.push(part);
    imported.taken.add("the load", "a recording is of one user: say how many, and how long they pause");
    imported.taken.add("the order", "requests that were under way together are made one after the other");
    Ok(imported)
}

fn step(entry: &Value, lost: &mut Notes, taken: &mut Notes) -> Option<(String, Step)> {
    let request = &entry["request"];
    let url = request["url"].as_str().unwrap_or_default();
    let method = request["method"].as_str().unwrap_or("GET");
    let Some((server, target)) = split_url(url).filter(|_| is_method(method)) else {
        lost.add(shortened(url), "it is no request over HTTP");
        return None;
    };
    let status = entry["response"]["status"].as_u64().filter(|status| (200..=599).contains(status));
    let Some(status) = status else {
        lost.add(format!("{method} {}", shortened(url)), "it had no answer");
        return None;
    };
    let mut step = Step { method: method.to_owned(), path: path(Template::fixed(target)), ..Step::default() };
    step.answer = super::answer(Statuses::one(status as u16));
    if status == 304 {
        step.answer = super::answer(Statuses { from: 200, to: 304 });
        taken.add("answers 304", "any from 200 to 304 is right: nothing is cached");
    }
    for header in request["headers"].as_array().into_iter().flatten() {
        let (Some(name), Some(value)) = (header["name"].as_str(), header["value"].as_str()) else { continue };
        // HTTP/2 has such for what is not a header in HTTP/1.1.
        if name.starts_with(':') {
            continue;
        }
        if SECRETS.iter().any(|secret| secret.eq_ignore_ascii_case(name)) {
            taken.add(
                format!("the header `{name}`"),
                "it stands in the workload as it was recorded: take the secret out before you pass the file on",
            );
        }
        add_header(&mut step, name, Template::fixed(value), lost);
    }
    let body = &request["postData"];
    let text = body["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let fields = body["params"].as_array().filter(|fields| !fields.is_empty());
    if body["encoding"].as_str() == Some("base64") {
        lost.add(format!("the body of {method} {}", step.path), "it is bytes: write them as `body_file`");
    } else if let Some(text) = text {
        step.body = Body::Text(Template::fixed(text));
    } else if let Some(fields) = fields {
        let field = |field: &Value| {
            format!("{}={}", encoded(field["name"].as_str().unwrap_or_default()), encoded(field["value"].as_str().unwrap_or_default()))
        };
        step.body = Body::Text(Template::fixed(fields.iter().map(field).collect::<Vec<_>>().join("&")));
    }
    Some((server, step))
}
