//! Command lines of curl.

use super::{Imported, Notes, Part, add_header, encoded, one_server, path, shortened, split_url, words};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::experiment::Load;
use model::problem::Problems;
use model::template::Template;
use model::units::parse_duration;
use model::workload::{Body, Statuses, Step, is_method};
use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

/// Options without an argument that change nothing here.
const LEFT_ALONE: &[&str] = &[
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-f",
    "--fail",
    "--fail-with-body",
    "-N",
    "--no-buffer",
    "-#",
    "--progress-bar",
    "--globoff",
    "-g",
    "--http1.1",
    "--tcp-nodelay",
    "--no-progress-meter",
    "-4",
    "--ipv4",
    "-q",
    "--tr-encoding",
];

/// Options with an argument that say nothing about the request.
const SKIPPED: &[&str] =
    &["-o", "--output", "-w", "--write-out", "--retry", "--retry-delay", "--stderr", "-D", "--dump-header", "--trace", "--trace-ascii"];

/// What one request is asked to be.
#[derive(Default)]
struct Request {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<String>,
    data: Vec<String>,
    is_json: bool,
    in_query: bool,
    head: bool,
    user: Option<String>,
    compressed: bool,
}

/// What holds for all of a line's requests.
#[derive(Default)]
struct Common {
    timeout: Option<Duration>,
    flags: Vec<&'static str>,
}

/// Reads one command line, without the word `curl`.
pub fn import(words: &[String], folder: &Path) -> Result<Imported, Problems> {
    let mut lost = Notes::default();
    let mut common = Common::default();
    let requests = read(words, folder, &mut common, &mut lost)?;
    finish(requests, common, lost)
}

/// Reads a file of command lines; each is a step.
pub fn import_lines(text: &str, folder: &Path) -> Result<Imported, Problems> {
    let mut lost = Notes::default();
    let mut common = Common::default();
    let mut requests = Vec::new();
    for line in words::lines(text) {
        match line.split_first() {
            Some((first, rest)) if first == "curl" => requests.extend(read(rest, folder, &mut common, &mut lost)?),
            Some((first, _)) => lost.add(format!("`{}`", shortened(first)), "it is not curl"),
            None => {}
        }
    }
    finish(requests, common, lost)
}

fn finish(requests: Vec<Request>, common: Common, mut lost: Notes) -> Result<Imported, Problems> {
    let mut steps = Vec::new();
    for request in &requests {
        for url in &request.urls {
            steps.push(step(request, url, &mut lost)?);
        }
    }
    let (server, steps) = one_server(steps, &mut lost);
    if steps.is_empty() {
        return Err(Problems::plain("the command line of curl names no URL", "write it as curl would take it"));
    }
    let mut part = Part::new(steps, Load::closed(64));
    part.workload.summary = "what a command line of curl asks".into();
    (part.server, part.timeout, part.flags) = (server, common.timeout, common.flags);
    let mut imported = Imported { parts: vec![part], lost, ..Imported::default() };
    imported.taken.add("the load", "curl makes one request: as fast as answered on 64 connections is what `faceoff load` does by itself");
    Ok(imported)
}

/// The first option of a bundle such as `-sSL` or `-XPOST`, and what is left of it.
fn bundle(word: &str) -> Option<(String, String)> {
    let mut letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?.chars();
    let first = letters.next()?;
    let rest = letters.as_str();
    let takes_rest = "XHdAebuFTmowDxEKcrCPYyzZ".contains(first);
    (!rest.is_empty()).then(|| (format!("-{first}"), if takes_rest { rest.to_owned() } else { format!("-{rest}") }))
}

fn read(words: &[String], folder: &Path, common: &mut Common, lost: &mut Notes) -> Result<Vec<Request>, Problems> {
    let mut requests = vec![Request::default()];
    let mut words: VecDeque<String> = words.iter().cloned().collect();
    while let Some(word) = words.pop_front() {
        let Some(request) = requests.last_mut() else { break };
        let word = match bundle(&word) {
            Some((first, rest)) => {
                words.push_front(rest);
                first
            }
            None => word,
        };
        let mut argument = || {
            words
                .pop_front()
                .ok_or_else(|| Problems::plain(format!("`{word}` of curl lacks what follows it"), "copy the command line whole"))
        };
        match word.as_str() {
            "-X" | "--request" => request.method = Some(argument()?),
            "-H" | "--header" => request.headers.push(argument()?),
            "-A" | "--user-agent" => request.headers.push(format!("user-agent: {}", argument()?)),
            "-e" | "--referer" => request.headers.push(format!("referer: {}", argument()?)),
            "-b" | "--cookie" => match argument()? {
                cookie if cookie.contains('=') => request.headers.push(format!("cookie: {cookie}")),
                file => lost.add(format!("the cookies of {file}"), "a workload keeps none between requests"),
            },
            "-d" | "--data" | "--data-ascii" => request.data.push(content(&argument()?, folder, true)?),
            "--data-binary" => request.data.push(content(&argument()?, folder, false)?),
            "--data-raw" => request.data.push(argument()?),
            "--data-urlencode" => request.data.push(form_field(&argument()?, folder)?),
            "--json" => {
                request.data.push(content(&argument()?, folder, false)?);
                request.is_json = true;
            }
            "-u" | "--user" => request.user = Some(argument()?),
            "-G" | "--get" => request.in_query = true,
            "-I" | "--head" => request.head = true,
            "--url" => request.urls.push(argument()?),
            "--compressed" => request.compressed = true,
            "-k" | "--insecure" => common.flags.push("--insecure"),
            "--http2" | "--http2-prior-knowledge" => common.flags.push("--http2"),
            "-m" | "--max-time" => common.timeout = parse_duration(&argument()?).ok().filter(|t| !t.is_zero()).or(common.timeout),
            "--connect-timeout" => drop(argument()?),
            "-L" | "--location" => lost.add("-L", "redirects are not followed: ask for the last place itself"),
            "-F" | "--form" => {
                argument()?;
                lost.add("-F", "a form of several parts is not put together: write its bytes as `body_file`");
            }
            "-:" | "--next" => requests.push(Request::default()),
            left if LEFT_ALONE.contains(&left) => {}
            skipped if SKIPPED.contains(&skipped) => drop(argument()?),
            "-T" | "--upload-file" | "-x" | "--proxy" | "-E" | "--cert" | "--key" | "--cacert" | "--resolve" | "--unix-socket" | "-c"
            | "--cookie-jar" | "-r" | "--range" | "-K" | "--config" | "--interface" | "--limit-rate" | "--proxy-user" | "--aws-sigv4"
            | "--ciphers" | "--url-query" => {
                argument()?;
                lost.add(word.clone(), "it is not carried over; docs/load.md says what `faceoff load` can be told instead");
            }
            option if option.len() > 1 && option.starts_with('-') => lost.add(shortened(option), "it is not known"),
            url => request.urls.push(url.to_owned()),
        }
    }
    common.flags.sort_unstable();
    common.flags.dedup();
    Ok(requests)
}

/// What `-d` sends: the text, or a file behind `@`.
fn content(argument: &str, folder: &Path, without_lines: bool) -> Result<String, Problems> {
    let Some(file) = argument.strip_prefix('@') else { return Ok(argument.to_owned()) };
    let text = super::text_of(&folder.join(file)).map_err(|e| {
        Problems::plain(
            format!("the body's file {file} cannot be read: {e}"),
            "is it there, and text? Bytes stand in a workload as `body_file`",
        )
    })?;
    Ok(if without_lines { text.replace(['\r', '\n'], "") } else { text })
}

/// `name=value`, `=value`, `value`, `name@file`.
fn form_field(argument: &str, folder: &Path) -> Result<String, Problems> {
    let (name, value) = match (argument.split_once('='), argument.split_once('@')) {
        (Some((name, value)), _) => (name, value.to_owned()),
        (None, Some((name, file))) => (name, content(&format!("@{file}"), folder, false)?),
        (None, None) => ("", argument.to_owned()),
    };
    let value = encoded(&value);
    Ok(if name.is_empty() { value } else { format!("{name}={value}") })
}

/// One request, and the server that it goes to.
fn step(request: &Request, url: &str, lost: &mut Notes) -> Result<(String, Step), Problems> {
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let (server, mut target) = split_url(&full).ok_or_else(|| {
        Problems::plain(format!("`{}` is not an http:// or https:// URL", shortened(url)), "write it as curl would take it")
    })?;
    let body = (!request.data.is_empty()).then(|| request.data.join(if request.is_json { "" } else { "&" }));
    let mut step = Step { answer: super::answer(Statuses { from: 200, to: 299 }), ..Step::default() };
    if let (true, Some(query)) = (request.in_query, &body) {
        target = format!("{target}{}{query}", if target.contains('?') { "&" } else { "?" });
    }
    step.path = path(Template::of_words(&target));
    let has_body = body.is_some() && !request.in_query;
    step.method = match (&request.method, request.head, has_body) {
        (Some(method), ..) => method.clone(),
        (None, true, _) => "HEAD".into(),
        (None, false, true) => "POST".into(),
        (None, false, false) => "GET".into(),
    };
    if !is_method(&step.method) {
        return Err(Problems::plain(format!("`{}` is not a method", shortened(&step.method)), "write GET, POST, ..."));
    }
    if has_body {
        let kind = if request.is_json { "application/json" } else { "application/x-www-form-urlencoded" };
        add_header(&mut step, "content-type", Template::fixed(kind), lost);
        if request.is_json {
            add_header(&mut step, "accept", Template::fixed("application/json"), lost);
        }
        step.body = Body::Text(Template::of_words(&body.unwrap_or_default()));
    }
    if let Some(user) = &request.user {
        if Template::of_words(user).variables().next().is_some() {
            let hint = "send the whole header from it: -H 'Authorization: Basic {env.CREDENTIALS}', the base64 of user:password";
            return Err(Problems::plain("a variable of the environment stands in -u, which is encoded before it has a value", hint));
        }
        add_header(&mut step, "authorization", Template::fixed(format!("Basic {}", STANDARD.encode(user))), lost);
    }
    if request.compressed {
        add_header(&mut step, "accept-encoding", Template::fixed("gzip, deflate"), lost);
    }
    for header in &request.headers {
        match header.split_once(':') {
            // Without a value curl leaves out a header that it would send.
            Some((name, "")) => step.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name.trim())),
            Some((name, value)) => add_header(&mut step, name, Template::of_words(value.trim()), lost),
            None => lost.add(format!("the header `{}`", shortened(header)), "it has no value"),
        }
    }
    Ok((server, step))
}
