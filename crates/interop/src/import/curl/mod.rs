//! Reads command lines of curl: each URL is a step of a workload.
//!
//! `options.rs` lists the options of curl, `request.rs` collects those of one request, and
//! `glob.rs` expands URLs. Start with [`import`]. Options that a workload cannot keep are named as
//! lost.

mod glob;
mod options;
mod request;

use super::{
    Imported, MOST_STEPS, Notes, Part, Spoken, one_server, place, protocol, shortened, words,
};
use options::Known;
use request::{Data, Request};
use spec::experiment::Load;
use spec::problem::Problems;
use spec::units::parse_duration;
use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

/// What applies to all requests of a file.
#[derive(Default)]
struct Common {
    timeout: Option<Duration>,
    insecure: bool,
    /// Whether a request has no `-k`.
    secure: bool,
    notes: Notes,
    /// Options that change no request.
    left: Notes,
}

/// Reads one command line, without the word `curl`.
pub fn import(words: &[String], folder: &Path) -> Result<Imported, Problems> {
    let mut common = Common::default();
    let requests = Reader { folder, common: &mut common, place: String::new() }.read(words)?;
    finish(&requests, common)
}

/// Reads a file of command lines; each is a step.
pub fn import_lines(text: &str, folder: &Path) -> Result<Imported, Problems> {
    let (lines, notes) = words::command_lines(text)?;
    let mut common = Common { notes, ..Common::default() };
    let mut requests = Vec::new();
    let several = lines.iter().filter(|line| arguments(line).is_some()).count() > 1;
    let mut commands = 0;
    for line in &lines {
        let Some(rest) = arguments(line) else {
            common.notes.add(format!("`{}`", shortened(&line.join(" "))), "it is not curl");
            continue;
        };
        commands += 1;
        let place = if several { format!(" of command {commands}") } else { String::new() };
        requests.extend(Reader { folder, common: &mut common, place }.read(rest)?);
    }
    finish(&requests, common)
}

/// Returns the arguments of `curl` in a command line. It may begin with a prompt, variables or a
/// word such as `time`.
pub fn arguments(line: &[String]) -> Option<&[String]> {
    let is_before = |word: &String| {
        let is_variable =
            word.split_once('=').is_some_and(|(name, _)| spec::variable::is_variable(name));
        is_variable || ["$", "%", "time", "sudo", "command", "exec"].contains(&word.as_str())
    };
    let at = line.iter().position(|word| !is_before(word))?;
    let program = line[at].rsplit(['/', '\\']).next().unwrap_or_default();
    ["curl", "curl.exe"].contains(&program).then(|| &line[at + 1..])
}

fn finish(requests: &[Request], common: Common) -> Result<Imported, Problems> {
    let Common { timeout, insecure, secure, notes: mut lost, left: mut taken } = common;
    let mut steps = Vec::new();
    let mut spoken = Vec::new();
    for request in requests {
        for (position, url) in request.all_urls(MOST_STEPS + 1)? {
            // `one_server` names what exceeds the limit.
            if steps.len() > MOST_STEPS {
                break;
            }
            let (server, step) = request.step(position, &url, &mut lost)?;
            spoken.push(Spoken {
                server: server.clone(),
                place: place(&step),
                version: request.version.map(str::to_owned),
            });
            steps.push((server, step));
        }
    }
    let (server, steps) = one_server(steps, &mut lost);
    if steps.is_empty() {
        return Err(lost
            .nothing("the command line of curl names no URL", "write it as curl would accept it"));
    }
    let mut part = Part::new(steps, Load::closed(64));
    part.workload.summary = "requests of a curl command line".into();
    part.flags.extend(protocol(&spoken, server.as_ref(), &mut lost));
    part.flags.extend(insecure.then_some("--insecure"));
    if insecure && secure {
        taken.add("-k", "only some requests have it; the load accepts any certificate");
    }
    let is_tls = server.as_ref().is_some_and(|server| server.starts_with("https:"));
    if is_tls && part.flags.is_empty() && spoken.iter().all(|spoken| spoken.version.is_none()) {
        taken.add(
            "HTTP/1.1",
            "curl prefers HTTP/2 if a TLS server offers it; `faceoff load` does so with --http2",
        );
    }
    (part.server, part.timeout) = (server, timeout);
    let mut imported = Imported { lost, taken, ..Imported::default() };
    imported.push(part);
    imported.taken.add(
        "the load",
        "curl makes one request; the load sends as fast as responses arrive on 64 connections, the default of `faceoff load`",
    );
    imported
        .taken
        .add("curl's own headers", "`accept: */*` and `user-agent: curl/...` are not sent where the command line does not name them");
    Ok(imported)
}

/// Reads the words of a command line.
struct Reader<'c> {
    folder: &'c Path,
    common: &'c mut Common,
    /// Text after the name of an option in messages: ` of command 2`, if there are several
    /// commands.
    place: String,
}

impl Reader<'_> {
    fn read(&mut self, words: &[String]) -> Result<Vec<Request>, Problems> {
        let mut requests = vec![Request::default()];
        let mut words: VecDeque<String> = words.iter().cloned().collect();
        let mut only_urls = false;
        while let Some(word) = words.pop_front() {
            let Some(request) = requests.last_mut() else { break };
            if only_urls || word == "-" || !word.starts_with('-') {
                request.urls.push(word);
            } else if word == "--" {
                only_urls = true;
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, inside) = long
                    .split_once('=')
                    .map_or((long, None), |(name, value)| (name, Some(value.to_owned())));
                let known = self.known(options::of_name(name), &word)?;
                if inside.is_some() && !known.takes_argument {
                    return Err(self.unknown(&word));
                }
                let argument = match (known.takes_argument, inside) {
                    (true, None) => self.following(&mut words, &word)?,
                    (_, inside) => inside.unwrap_or_default(),
                };
                self.option(known, &word, argument, request)?;
            } else {
                self.letters(&word, &mut words, request)?;
            }
            if requests.last().is_some_and(|request| request.ends) {
                requests.push(Request::default());
            }
        }
        for request in &requests {
            self.common.secure |= !request.insecure && !request.urls.is_empty();
        }
        Ok(requests)
    }

    /// Reads a bundle of options, such as `-sSL` or `-XPOST`.
    fn letters(
        &mut self,
        word: &str,
        words: &mut VecDeque<String>,
        request: &mut Request,
    ) -> Result<(), Problems> {
        let mut letters = word[1..].chars();
        while let Some(letter) = letters.next() {
            let option = format!("-{letter}");
            let known = self.known(options::of_letter(letter), &option)?;
            let rest = letters.as_str().to_owned();
            let argument = match known.takes_argument {
                true if rest.is_empty() => self.following(words, &option)?,
                true => {
                    letters = "".chars();
                    rest
                }
                false => String::new(),
            };
            self.option(known, &option, argument, request)?;
        }
        Ok(())
    }

    fn known(&self, known: Option<Known>, word: &str) -> Result<Known, Problems> {
        known.ok_or_else(|| self.unknown(word))
    }

    fn unknown(&self, word: &str) -> Problems {
        Problems::plain(
            format!("the curl option `{}`{} is not known", shortened(word), self.place),
            "copy the command line whole, or leave the option out",
        )
    }

    fn following(&self, words: &mut VecDeque<String>, word: &str) -> Result<String, Problems> {
        let lacks = || {
            Problems::plain(
                format!("the curl option `{word}`{} lacks its argument", self.place),
                "copy the command line whole",
            )
        };
        words.pop_front().ok_or_else(lacks)
    }

    /// Applies an option, or names it as not carried over.
    fn option(
        &mut self,
        known: Known,
        word: &str,
        argument: String,
        request: &mut Request,
    ) -> Result<(), Problems> {
        let what = format!("{word}{}", self.place);
        if known.is_negated {
            self.negated(known, what, request);
            return Ok(());
        }
        match known.name {
            "request" => request.method = Some(argument),
            "header" => request.add_headers(argument, self.folder)?,
            "user-agent" => request.agent = Some(argument),
            "referer" => request.referer = Some(argument),
            "cookie" if argument.contains('=') => request.cookies.push(argument),
            "cookie" => self.common.notes.add(
                format!("the cookies of {argument}{}", self.place),
                "a workload keeps none between requests",
            ),
            "data" | "data-ascii" | "data-binary" | "data-raw" | "data-urlencode" | "json"
            | "form" | "form-string" | "upload-file" => {
                self.body_option(known.name, argument, request)?
            }
            "url-query" => request.query.push(request::query_field(&argument, self.folder)?),
            "user" => request.user = Some(argument),
            "oauth2-bearer" => request.bearer = Some(argument),
            "range" => request.range = Some(argument),
            "get" => request.in_query = true,
            "head" => request.head = true,
            "url" => request.urls.push(argument),
            "compressed" => request.compressed = true,
            "globoff" => request.globoff = true,
            "path-as-is" => request.path_as_is = true,
            "request-target" => request.target = Some(argument),
            "insecure" => {
                self.common.insecure = true;
                request.insecure = true;
            }
            "http2" | "http2-prior-knowledge" => request.version = Some("2"),
            "http1.1" => request.version = Some("1.1"),
            "http1.0" => request.version = Some("1.0"),
            "http3" | "http3-only" => request.version = Some("3"),
            "max-time" => self.max_time(&argument, what),
            "next" => request.ends = true,
            "basic" => request.other_auth = None,
            "digest" | "ntlm" | "negotiate" | "anyauth" | "aws-sigv4" => {
                request.other_auth = Some(what)
            }
            "config" | "variable" => {
                return Err(Problems::plain(
                    format!("the curl option {what} is not supported"),
                    "put its content into the command line",
                ));
            }
            _ => self.left_out(known, what),
        }
        Ok(())
    }

    /// Applies an option that adds to the body.
    fn body_option(
        &self,
        name: &str,
        argument: String,
        request: &mut Request,
    ) -> Result<(), Problems> {
        match name {
            "data" | "data-ascii" => request.data.push(Data::read(&argument, self.folder, true)?),
            "data-binary" => request.data.push(Data::read(&argument, self.folder, false)?),
            "data-raw" => request.data.push(Data::of_text(argument)),
            "data-urlencode" => {
                request.data.push(Data::of_text(request::form_field(&argument, self.folder)?))
            }
            "json" => {
                request
                    .data
                    .push(Data { joins: true, ..Data::read(&argument, self.folder, false)? });
                request.is_json = true;
            }
            "upload-file" => {
                let data = Data::read(&format!("@{argument}"), self.folder, false)?;
                request.uploads.push((argument, data));
            }
            _ => request.form.push(request::form_part(
                &argument,
                name == "form-string",
                self.folder,
            )?),
        }
        Ok(())
    }

    /// Names an option that changes nothing of the workload.
    fn left_out(&mut self, known: Known, what: String) {
        match known.name {
            "tcp-nodelay" | "parallel" | "parallel-immediate" => {
                self.common.left.add(what, "it changes no request")
            }
            _ if known.is_of_output() => {
                self.common.left.add(what, "it only affects what curl prints and stores")
            }
            "location" | "location-trusted" | "follow" => {
                self.common
                    .notes
                    .add(what, "redirects are not followed; request the final URL directly");
            }
            _ => self.common.notes.add(
                what,
                "it is not carried over; docs/guide/load.md lists the options of `faceoff load`",
            ),
        }
    }

    fn negated(&mut self, known: Known, what: String, request: &mut Request) {
        match known.name {
            "compressed" => request.compressed = false,
            "globoff" => request.globoff = false,
            "get" => request.in_query = false,
            "path-as-is" => request.path_as_is = false,
            "location" => {}
            _ if known.is_of_output() => {
                self.common.left.add(what, "it only affects what curl prints and stores")
            }
            _ => self.common.notes.add(what, "it is not carried over"),
        }
    }

    fn max_time(&mut self, argument: &str, what: String) {
        let common = &mut *self.common;
        match parse_duration(argument).ok().filter(|time| !time.is_zero()) {
            Some(time) => {
                if common.timeout.is_some_and(|other| other != time) {
                    common.notes.add(
                        format!("{what} {}", shortened(argument)),
                        "a load has one timeout; the longest is used",
                    );
                }
                common.timeout = common.timeout.max(Some(time));
            }
            None => common
                .notes
                .add(format!("{what} {}", shortened(argument)), "it is not a time above 0"),
        }
    }
}

/// Reads a file that a command line names.
fn file_of(name: &str, folder: &Path) -> Result<Vec<u8>, Problems> {
    let failed = |e: &dyn std::fmt::Display| {
        let hint = if name == "-" {
            "write what curl reads from standard input to a file, and name that file"
        } else {
            "does it exist, and may you read it?"
        };
        Problems::plain(format!("the body's file {name} cannot be read: {e}"), hint)
    };
    if name == "-" {
        return Err(failed(&"it is the standard input of curl"));
    }
    super::bytes_of(&folder.join(name)).map_err(|e| failed(&e))
}
