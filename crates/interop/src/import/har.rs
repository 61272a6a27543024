//! Reads recordings of browsers and proxies (HTTP Archive 1.2).
//!
//! Each request becomes a step, and its recorded status is the correct one. Headers that contain
//! secrets become environment variables, so that the workload can be shared. Start with [`import`].

use super::multipart::{self, Content, Field};
use super::{
    FORM, Imported, Notes, Part, Spoken, add_header, default_header, encoded, has_header,
    one_server, path, percent_decoded, place, protocol, shortened, split_url, userinfo,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;
use spec::experiment::{Load, Pause};
use spec::problem::Problems;
use spec::template::Template;
use spec::workload::{Body, Statuses, Step, is_method};
use std::time::Duration;

/// Headers of a recording that contain secrets.
const SECRETS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Reads a recording. Each request is a step, and its recorded status is the correct one.
pub fn import(document: &Value) -> Result<Imported, Problems> {
    let entries = document["log"]["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut imported = Imported::default();
    let mut steps = Vec::new();
    let mut spoken = Vec::new();
    for entry in in_order(entries, &mut imported) {
        if let Some((server, step)) = step(entry, &mut imported.lost, &mut imported.taken) {
            spoken.push(Spoken {
                server: server.clone(),
                place: place(&step),
                version: Some(version_of(entry)),
            });
            steps.push((server, step));
        }
    }
    let (server, steps) = one_server(steps, &mut imported.lost);
    if steps.is_empty() {
        let hint = "save it again, with its requests";
        return Err(imported.lost.nothing("the recording has no request that can be sent", hint));
    }
    let load = Load::Users {
        users: 1,
        ramp: Duration::ZERO,
        pause: Pause::Constant(Duration::ZERO),
        rounds: None,
        pooled: None,
    };
    let mut part = Part::new(steps, load);
    part.workload.summary = "what was recorded of one user".into();
    part.flags.extend(protocol(&spoken, server.as_ref(), &mut imported.lost));
    part.server = server;
    imported.push(part);
    imported.taken.add(
        "the load",
        "a recording is of one user: choose the number of users, and how long they pause",
    );
    imported
        .taken
        .add("the order", "requests that were in flight together are sent one after the other");
    Ok(imported)
}

/// Returns the entries in the order in which they began. Exporters may write them in another order.
fn in_order<'d>(entries: &'d [Value], imported: &mut Imported) -> Vec<&'d Value> {
    let mut last = Timestamp::MIN;
    let mut timed: Vec<(Timestamp, &Value)> = Vec::new();
    for entry in entries {
        let began = entry["startedDateTime"].as_str();
        match began.and_then(|began| began.parse().ok()) {
            Some(began) => last = began,
            None => {
                let url = shortened(entry["request"]["url"].as_str().unwrap_or("an entry"));
                let why = format!(
                    "`{}` is not a time; the entry keeps its place in the file",
                    shortened(began.unwrap_or_default())
                );
                imported.lost.add(format!("startedDateTime of {url}"), why);
            }
        }
        timed.push((last, entry));
    }
    if !timed.is_sorted_by_key(|(began, _)| *began) {
        imported.taken.add(
            "entries in another order than they began",
            "requests are made in the order of startedDateTime",
        );
        timed.sort_by_key(|(began, _)| *began);
    }
    timed.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the version: `1.1`, `2`, `3` or `1.0`; anything else as it is written.
fn version_of(entry: &Value) -> String {
    let written = |of: &str| {
        entry[of]["httpVersion"]
            .as_str()
            .filter(|version| !version.is_empty())
            .map(str::to_lowercase)
    };
    let version = written("request").or_else(|| written("response")).unwrap_or_default();
    let number = version.strip_prefix("http/").or(version.strip_prefix('h')).unwrap_or(&version);
    match number {
        "1.1" | "" | "unknown" => "1.1".into(),
        "2" | "2.0" => "2".into(),
        number if number == "3" || number.starts_with("3.") || number.starts_with("3-") => {
            "3".into()
        }
        other => other.to_owned(),
    }
}

fn step(entry: &Value, lost: &mut Notes, taken: &mut Notes) -> Option<(String, Step)> {
    let request = &entry["request"];
    let url = request["url"].as_str().unwrap_or_default();
    let method = request["method"].as_str().unwrap_or("GET");
    let Some((server, target)) = split_url(url).filter(|_| is_method(method)) else {
        lost.add(
            format!("{} {}", shortened(method), shortened(url)),
            "it is not a request over HTTP",
        );
        return None;
    };
    let status = entry["response"]["status"].as_u64().filter(|status| (200..=599).contains(status));
    let Some(status) = status else {
        lost.add(format!("{method} {}", shortened(url)), "it had no response");
        return None;
    };
    let target = with_query(target, request, lost);
    let mut step =
        Step { method: method.to_owned(), path: path(Template::fixed(target)), ..Step::default() };
    step.answer = super::answer(Statuses::one(status as u16));
    if status == 304 {
        step.answer = super::answer(Statuses { from: 200, to: 304 });
        taken.add("answers 304", "any from 200 to 304 is correct: nothing is cached");
    }
    if userinfo(url).is_some() {
        lost.add(
            format!("the user in the URL of {}", place(&step)),
            "a recording has it as the header `authorization`",
        );
    }
    headers(request, &server, &mut step, lost, taken);
    body(request, &mut step, lost);
    Some((server, step))
}

/// Returns a target with its query, even if only `queryString` has it.
fn with_query(target: String, request: &Value, lost: &mut Notes) -> String {
    let pairs = request["queryString"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |pair: &Value, field: &str| pair[field].as_str().unwrap_or_default().to_owned();
    let Some((_, query)) =
        target.split_once('#').map_or(target.as_str(), |(before, _)| before).split_once('?')
    else {
        let all: Vec<String> = pairs
            .iter()
            .map(|pair| {
                format!("{}={}", encoded(&text(pair, "name")), encoded(&text(pair, "value")))
            })
            .collect();
        return if all.is_empty() { target } else { format!("{target}?{}", all.join("&")) };
    };
    let names: Vec<String> =
        query.split('&').map(|pair| decoded(pair.split('=').next().unwrap_or_default())).collect();
    for pair in pairs {
        let name = text(pair, "name");
        if !names.iter().any(|known| *known == name || *known == decoded(&name)) {
            lost.add(
                format!("`{}` of the queryString of {}", shortened(&name), shortened(&target)),
                "the URL does not have it",
            );
        }
    }
    target
}

/// Decodes a percent-encoded name or value of a query.
fn decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

fn headers(request: &Value, server: &str, step: &mut Step, lost: &mut Notes, taken: &mut Notes) {
    let mut crumbs: Vec<String> = Vec::new();
    let mut authority = None;
    for header in request["headers"].as_array().into_iter().flatten() {
        let (Some(name), Some(value)) = (header["name"].as_str(), header["value"].as_str()) else {
            lost.add(
                format!("the header {} of {}", shortened(&header.to_string()), place(step)),
                "its name or value is not text",
            );
            continue;
        };
        if SECRETS.iter().any(|secret| secret.eq_ignore_ascii_case(name)) {
            taken.add(
                format!("the header `{name}`"),
                "the workload has it as it was recorded: take the secret out before you pass the file on",
            );
        }
        // Pseudo-headers of HTTP/2 repeat the method and the URL.
        match name {
            ":authority" => authority = Some(value),
            ":method" if value == step.method => {}
            ":scheme" if server.starts_with(&format!("{value}://")) => {}
            ":path" if path(Template::fixed(value)) == step.path => {}
            name if name.starts_with(':') => lost.add(
                format!("`{name}: {}` of {}", shortened(value), place(step)),
                "the URL differs",
            ),
            // HTTP/2 may send one cookie header in several pieces (RFC 9113, 8.2.3).
            name if name.eq_ignore_ascii_case("cookie") => crumbs.push(value.to_owned()),
            name => add_header(step, name, Template::fixed(value), lost),
        }
    }
    if let Some(authority) = authority {
        default_header(step, "host", authority, lost);
    }
    let recorded: Vec<String> =
        request["cookies"].as_array().into_iter().flatten().filter_map(pair).collect();
    if crumbs.is_empty() {
        crumbs = recorded;
    } else {
        let sent = crumbs.join("; ");
        for cookie in
            recorded.iter().filter(|cookie| !sent.split("; ").any(|sent| sent == **cookie))
        {
            let name = cookie.split('=').next().unwrap_or_default();
            // Some tools decode the values of this list. The header has what was sent.
            if !sent.split(';').any(|crumb| crumb.trim().split('=').next() == Some(name)) {
                lost.add(
                    format!("the cookie `{}` of {}", shortened(name), place(step)),
                    "the header `cookie` does not have it",
                );
            }
        }
    }
    if !crumbs.is_empty() {
        add_header(step, "cookie", Template::fixed(crumbs.join("; ")), lost);
    }
}

/// Writes a cookie as `name=value`.
fn pair(cookie: &Value) -> Option<String> {
    Some(format!("{}={}", cookie["name"].as_str()?, cookie["value"].as_str()?))
}

fn body(request: &Value, step: &mut Step, lost: &mut Notes) {
    let posted = &request["postData"];
    let what = format!("the body of {}", place(step));
    let kind = posted["mimeType"].as_str().unwrap_or_default();
    let of_header = step
        .headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .and_then(|(_, value)| value.as_fixed());
    let kind = of_header.unwrap_or(kind).to_owned();
    let text = posted["text"].as_str().filter(|text| !text.is_empty());
    let fields = posted["params"].as_array().map(Vec::as_slice).unwrap_or_default();
    let size = request["bodySize"].as_u64().unwrap_or(0);
    if let Some(text) = text {
        match posted["encoding"].as_str().map(|encoding| encoding.eq_ignore_ascii_case("base64")) {
            None => step.body = Body::Text(Template::fixed(text)),
            Some(true) => match STANDARD.decode(text) {
                Ok(bytes) => step.body = Content::of_bytes(bytes).into(),
                Err(e) => lost.add(what, format!("it is not base64: {e}")),
            },
            Some(false) => {
                lost.add(what, "its encoding is not known: write its bytes as `body_file`")
            }
        }
        if size > 0 && text.len() as u64 != size && posted["encoding"].is_null() {
            let why =
                format!("{size} bytes were sent, and the recording has a text of {}", text.len());
            lost.add(format!("some of the body of {}", place(step)), why);
        }
    } else if kind.to_ascii_lowercase().starts_with("multipart/") && !fields.is_empty() {
        form_of_parts(fields, &kind, step, lost);
    } else if !fields.is_empty() {
        let written = |field: &Value, name: &str| encoded(field[name].as_str().unwrap_or_default());
        let all: Vec<String> = fields
            .iter()
            .map(|field| format!("{}={}", written(field, "name"), written(field, "value")))
            .collect();
        step.body = Body::Text(Template::fixed(all.join("&")));
        for file in fields.iter().filter_map(|field| field["fileName"].as_str()) {
            lost.add(
                format!("the file {} of {}", shortened(file), place(step)),
                "a form that is urlencoded holds no file",
            );
        }
    } else if size > 0 {
        lost.add(what, format!("{size} bytes were sent, and the recording does not have them"));
    }
    let is_sent = !matches!(step.body, Body::None);
    if is_sent {
        let usual = if kind.is_empty() && !fields.is_empty() { FORM } else { kind.as_str() };
        if !usual.is_empty() {
            default_header(step, "content-type", usual, lost);
        }
    }
    if is_sent && has_header(step, "content-encoding") && matches!(step.body, Body::Text(_)) {
        lost.add(
            format!("the encoding of the body of {}", place(step)),
            "the recording has the body as text; that text is sent",
        );
    }
}

fn form_of_parts(fields: &[Value], kind: &str, step: &mut Step, lost: &mut Notes) {
    let mut parts = Vec::new();
    for field in fields {
        let text = |name: &str| field[name].as_str().map(str::to_owned);
        if let (Some(file), None) = (text("fileName"), text("value")) {
            let what = format!("the content of the file {} of {}", shortened(&file), place(step));
            lost.add(what, "a recording does not hold it: an empty file is sent");
        }
        parts.push(Field {
            name: text("name").unwrap_or_default(),
            file_name: text("fileName"),
            kind: text("contentType"),
            headers: Vec::new(),
            content: Content::Text(Template::fixed(text("value").unwrap_or_default())),
        });
    }
    let written = multipart::boundary_of(kind).map(str::to_owned);
    let boundary = written.clone().unwrap_or_else(|| multipart::new_boundary(&parts));
    // A recording has no variables, so its parts always make a body.
    step.body = multipart::body(&parts, &boundary).unwrap_or_default();
    if written.is_none() {
        step.headers.retain(|(name, _)| name != "content-type");
        default_header(step, "content-type", &format!("{kind}; boundary={boundary}"), lost);
    }
}
