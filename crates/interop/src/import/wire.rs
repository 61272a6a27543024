//! What all formats share about requests: headers, paths and servers.
//!
//! A source writes headers that the load generator writes itself, URLs with servers, and characters
//! that cannot be sent. Here they become what a workload has, or are named as lost. Start with
//! [`add_header`] and [`split_url`].

use super::{Imported, MOST_STEPS, Notes, Part, shortened};
use percent_encoding::percent_decode_str;
use spec::template::Template;
use spec::workload::{Body, Step, is_header_name, is_header_value};

/// The `Content-Type` of a URL-encoded form.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// Adds a header after the existing ones; one that cannot be sent is named.
///
/// [`settle`] later decides about headers that the load generator writes itself.
pub fn add_header(step: &mut Step, name: &str, value: Template, lost: &mut Notes) {
    let name = name.trim();
    if is_header_name(name) && value.texts().all(is_header_value) {
        step.headers.push((name.to_lowercase(), value));
    } else {
        lost.add(
            format!("the header `{}` of {}", shortened(name), place(step)),
            "its name or value cannot be sent",
        );
    }
}

/// Adds a header, unless there is one with its name.
pub fn default_header(step: &mut Step, name: &str, value: &str, lost: &mut Notes) {
    if !has_header(step, name) {
        add_header(step, name, Template::fixed(value), lost);
    }
}

/// Returns whether a request has a header with this name.
pub fn has_header(step: &Step, name: &str) -> bool {
    step.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
}

/// Returns how messages name a request: `POST /orders`.
pub fn place(step: &Step) -> String {
    format!("{} {}", step.method, shortened(&step.path.to_string()))
}

/// Removes the headers that the load generator writes itself, and names those that a workload
/// cannot keep.
pub fn settle(part: &mut Part, lost: &mut Notes, taken: &mut Notes) {
    let closing = part.workload.steps.iter().filter(|step| closes(step)).count();
    let all_close = closing > 0 && closing == part.workload.steps.len();
    if all_close && !part.flags.contains(&"--close") {
        part.flags.push("--close");
    }
    for (flag, what) in [("--close", "a connection for each request"), ("--http2", "HTTP/2")] {
        if part.flags.contains(&flag) {
            taken.add(what, format!("`faceoff load` takes {flag}; in an experiment it is set in the protocol of the system"));
        }
    }
    let is_http2 = part.flags.contains(&"--http2");
    let authority = part
        .server
        .as_deref()
        .and_then(|server| server.split_once("://"))
        .map(|(_, authority)| authority.to_owned());
    for step in &mut part.workload.steps {
        let at = place(step);
        let mut has_host = false;
        for (name, value) in std::mem::take(&mut step.headers) {
            let text = value.as_fixed().map(|text| text.trim().to_owned());
            let what = format!("the header `{name}: {}` of {at}", shortened(&value.to_string()));
            match name.as_str() {
                "host" if has_host => lost.add(what, "a request has one"),
                "host" => {
                    has_host = true;
                    let is_server =
                        text.as_deref().is_some_and(|host| authority.as_deref() == Some(host));
                    step.headers.extend((!is_server).then_some((name, value)));
                }
                "connection" => connection(text.as_deref(), what, all_close, lost, taken),
                "content-length"
                    if text.as_deref().is_some_and(|text| is_length(&step.body, text)) =>
                {
                    taken.add("the header `content-length`", "the load generator counts the body");
                }
                "content-length" => lost
                    .add(what, "the load generator counts the body, which comes to another length"),
                "transfer-encoding" => lost.add(what, "a body is sent whole, with its length"),
                "keep-alive" | "proxy-connection" | "upgrade" if is_http2 => {
                    lost.add(what, "HTTP/2 forbids it")
                }
                _ => step.headers.push((name, value)),
            }
        }
    }
}

fn closes(step: &Step) -> bool {
    let is_close = |value: &Template| {
        value.as_fixed().is_some_and(|text| text.trim().eq_ignore_ascii_case("close"))
    };
    step.headers.iter().any(|(name, value)| name == "connection" && is_close(value))
}

fn connection(
    text: Option<&str>,
    what: String,
    all_close: bool,
    lost: &mut Notes,
    taken: &mut Notes,
) {
    match text.map(str::to_lowercase).as_deref() {
        Some("keep-alive") => {
            taken.add("the header `connection: keep-alive`", "connections are kept open without it")
        }
        Some("close") if all_close => {}
        Some("close") => lost.add(
            what,
            "a load closes the connection after each request or after none: --close is for all",
        ),
        _ => lost.add(what, "the load generator writes the header itself"),
    }
}

fn is_length(body: &Body, text: &str) -> bool {
    let length = match body {
        Body::None => Some(0),
        // The length of a text with placeholders is determined when the request is sent.
        Body::Text(body) => body.as_fixed().map(str::len).or_else(|| text.parse().ok()),
        Body::Bytes(bytes) => Some(bytes.len()),
    };
    text.parse().ok() == length
}

/// Makes a path that can be sent. It begins with `/`, and spaces and control characters are
/// percent-encoded. Other characters stay, which the crate percent-encoding would encode as well.
pub fn path(template: Template) -> Template {
    use spec::template::{Part::Text, Part::Value};
    let mut parts = template.parts;
    for part in &mut parts {
        if let Text(text) = part {
            let cut = text.find('#').unwrap_or(text.len());
            *text = text[..cut]
                .chars()
                .map(|c| {
                    if c.is_ascii_control() || c == ' ' {
                        format!("%{:02X}", c as u32)
                    } else {
                        c.to_string()
                    }
                })
                .collect();
        }
    }
    parts.retain(|part| !matches!(part, Text(text) if text.is_empty()));
    match parts.first_mut() {
        Some(Text(text)) if text.starts_with('/') => {}
        Some(Text(text)) => text.insert(0, '/'),
        // A value captured from a response is usually a path that begins with a slash.
        Some(Value(_)) => {}
        None => parts.push(Text("/".into())),
    }
    Template { parts }
}

/// Splits an absolute URL into `scheme://authority` and the path with its query. The default port
/// of the scheme is left out.
pub fn split_url(url: &str) -> Option<(String, String)> {
    let (scheme, authority, path) = pieces(url)?;
    let host = authority.rsplit('@').next().unwrap_or(authority).to_lowercase();
    let implied = if scheme == "http" { ":80" } else { ":443" };
    let host = host.strip_suffix(implied).unwrap_or(&host);
    let sound =
        !host.is_empty() && host.chars().all(|c| c.is_ascii_graphic() && !"'\"`$\\{}".contains(c));
    sound.then(|| (format!("{scheme}://{host}"), path.to_owned()))
}

/// Returns `user:password` of a URL such as `http://user:password@host/`.
pub fn userinfo(url: &str) -> Option<&str> {
    pieces(url)?.1.rsplit_once('@').map(|(user, _)| user)
}

fn pieces(url: &str) -> Option<(&'static str, &str, &str)> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let scheme = ["http", "https"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    Some((scheme, authority, path))
}

/// Decodes a percent-encoded text. Unlike [`spec::name::percent_decoded`], it keeps a `%` without
/// two hexadecimal digits.
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Keeps the steps that go to the server of the first, and names the others.
pub fn one_server(steps: Vec<(String, Step)>, lost: &mut Notes) -> (Option<String>, Vec<Step>) {
    let server = steps.first().map(|(server, _)| server.clone());
    let mut kept = Vec::new();
    for (other, step) in steps {
        if Some(&other) != server.as_ref() {
            lost.add(
                format!("{} {other}{}", step.method, step.path),
                "it goes to another server than the first request: a workload has one",
            );
        } else if kept.len() == MOST_STEPS {
            lost.add(format!("what follows {MOST_STEPS} requests"), "a workload has no more steps");
        } else {
            kept.push(step);
        }
    }
    (server, kept)
}

/// The protocol that a source names for a request.
pub struct Spoken {
    pub server: String,
    /// How messages name the request.
    pub place: String,
    /// `1.1`, `2`, ...; `None` if the source names none.
    pub version: Option<String>,
}

/// Returns the option for the protocol of most requests to the server. The others are named.
pub fn protocol(
    spoken: &[Spoken],
    server: Option<&String>,
    lost: &mut Notes,
) -> Option<&'static str> {
    let of_server = || spoken.iter().filter(|spoken| Some(&spoken.server) == server);
    let versions = || of_server().filter_map(|spoken| Some((spoken, spoken.version.as_deref()?)));
    let http2 = versions().filter(|(_, version)| *version == "2").count();
    let is_http2 = http2 > 0 && http2 * 2 >= versions().count();
    let kept = if is_http2 { "2" } else { "1.1" };
    for (spoken, version) in versions().filter(|(_, version)| *version != kept) {
        lost.add(
            format!("HTTP/{version} of {}", spoken.place),
            format!("a load has one protocol: this request is sent over HTTP/{kept}"),
        );
    }
    is_http2.then_some("--http2")
}

impl Imported {
    /// Adds a workload when its requests, its server and its options are known.
    pub(super) fn push(&mut self, mut part: Part) {
        settle(&mut part, &mut self.lost, &mut self.taken);
        self.parts.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::experiment::Load;

    fn settled(headers: &[&[(&str, &str)]], body: &str) -> (Part, Imported) {
        let steps = headers.iter().map(|headers| {
            let mut step = Step { body: Body::Text(Template::fixed(body)), ..Step::default() };
            headers.iter().for_each(|(name, value)| {
                add_header(&mut step, name, Template::fixed(*value), &mut Notes::default())
            });
            step
        });
        let mut part = Part::new(steps.collect(), Load::closed(1));
        part.server = Some("http://a:81".into());
        let mut imported = Imported::default();
        settle(&mut part, &mut imported.lost, &mut imported.taken);
        (part, imported)
    }

    #[test]
    fn a_header_that_the_generator_writes_is_kept_or_named() {
        for (header, stays, is_lost, flag) in [
            (("Host", "a:81"), false, false, false),
            (("Host", "shop.example"), true, false, false),
            (("Connection", "Keep-Alive"), false, false, false),
            (("Connection", "close"), false, false, true),
            (("Connection", "Upgrade"), false, true, false),
            (("Content-Length", "2"), false, false, false),
            (("Content-Length", "3"), false, true, false),
            (("Transfer-Encoding", "chunked"), false, true, false),
            (("X-Tag", "a"), true, false, false),
        ] {
            let (part, imported) = settled(&[&[header]], "ab");
            let came = (
                !part.workload.steps[0].headers.is_empty(),
                !imported.lost.0.is_empty(),
                part.flags.contains(&"--close"),
            );
            assert_eq!(came, (stays, is_lost, flag), "{header:?}: {:?}", imported.lost.0);
        }
        let (part, imported) = settled(&[&[("Connection", "close")], &[]], "");
        assert!(
            part.flags.is_empty()
                && imported.lost.0[0].what.contains("connection: close` of GET /"),
            "{:?}",
            imported.lost.0
        );
        let (part, imported) =
            settled(&[&[("host", "b"), ("host", "c"), ("x", "1"), ("X", "2")]], "");
        let headers: Vec<String> = part.workload.steps[0]
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        assert_eq!(headers, ["host: b", "x: 1", "x: 2"]);
        assert!(imported.lost.0[0].what.contains("`host: c`"), "{:?}", imported.lost.0);
    }

    #[test]
    fn urls_are_split_where_clients_split_them() {
        let split = |url: &str| split_url(url).map(|(server, path)| format!("{server} {path}"));
        assert_eq!(
            split("HTTP://u:p@Shop.example:80/a?b#c").as_deref(),
            Some("http://shop.example /a?b#c")
        );
        assert_eq!(split("https://h:80").as_deref(), Some("https://h:80 "));
        assert_eq!((split("ftp://h/"), split("/a"), split("http://$x/")), (None, None, None));
        assert_eq!(
            (userinfo("http://u:p@q@h/x@y"), userinfo("http://h/x@y")),
            (Some("u:p@q"), None)
        );
    }
}
