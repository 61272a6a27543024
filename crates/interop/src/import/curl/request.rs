//! One request of a curl command line: its options, and the step that they make.
//!
//! curl derives much from its options: `-d` makes a POST, `-F` a multipart body, `--json` two
//! headers. [`Request::step`] applies these rules.

use super::super::multipart::{self, Content, Field};
use super::super::{
    FORM, Notes, add_header, answer, encoded, path, percent_decoded, place, shortened, split_url,
    userinfo,
};
use super::file_of;
use super::glob::expanded;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use spec::problem::Problems;
use spec::template::{Part, Template};
use spec::workload::{Body, Statuses, Step, is_method};
use std::path::Path;

/// The options of one request.
#[derive(Default)]
pub struct Request {
    pub urls: Vec<String>,
    pub method: Option<String>,
    pub headers: Vec<String>,
    pub data: Vec<Data>,
    pub is_json: bool,
    pub in_query: bool,
    pub query: Vec<String>,
    pub head: bool,
    pub form: Vec<Field>,
    /// Files with the URLs that they are sent to, by order. Further URLs get none.
    pub uploads: Vec<(String, Data)>,
    pub user: Option<String>,
    pub bearer: Option<String>,
    /// An option for authentication that a fixed header cannot do, such as `--digest`.
    pub other_auth: Option<String>,
    pub cookies: Vec<String>,
    pub agent: Option<String>,
    pub referer: Option<String>,
    pub range: Option<String>,
    pub target: Option<String>,
    pub compressed: bool,
    pub globoff: bool,
    pub path_as_is: bool,
    pub insecure: bool,
    pub version: Option<&'static str>,
    /// Whether another request follows in the same command line.
    pub ends: bool,
}

/// A piece of a body.
#[derive(Clone)]
pub struct Data {
    pub content: Content,
    /// Whether it follows the previous piece without `&`.
    pub joins: bool,
}

impl Data {
    pub fn of_text(text: String) -> Data {
        Data { content: Content::Text(Template::of_words(&text)), joins: false }
    }

    /// Reads what `-d` sends: the text, or a file after `@`.
    pub fn read(argument: &str, folder: &Path, without_lines: bool) -> Result<Data, Problems> {
        let Some(file) = argument.strip_prefix('@') else {
            return Ok(Data::of_text(argument.to_owned()));
        };
        let mut bytes = file_of(file, folder)?;
        if without_lines {
            bytes.retain(|byte| !b"\r\n\0".contains(byte));
        }
        Ok(Data { content: Content::of_bytes(bytes), joins: false })
    }
}

impl Request {
    /// Returns the URLs with their globs expanded, each with the position of its argument among the
    /// URLs of the command line.
    pub fn all_urls(&self, most: usize) -> Result<Vec<(usize, String)>, Problems> {
        let mut all = Vec::new();
        for (n, url) in self.urls.iter().enumerate() {
            let urls = if self.globoff {
                vec![url.clone()]
            } else {
                expanded(url, most.saturating_sub(all.len()))?
            };
            all.extend(urls.into_iter().map(|url| (n, url)));
        }
        Ok(all)
    }

    /// Adds a header, or those of a file after `@`.
    pub fn add_headers(&mut self, argument: String, folder: &Path) -> Result<(), Problems> {
        match argument.strip_prefix('@') {
            None => self.headers.push(argument),
            Some(file) => {
                let text = String::from_utf8_lossy(&file_of(file, folder)?).into_owned();
                self.headers.extend(
                    text.lines()
                        .map(str::trim_end)
                        .filter(|line| !line.is_empty())
                        .map(str::to_owned),
                );
            }
        }
        Ok(())
    }

    /// Makes the request to one URL, with its server. `position` is that of the URL on the command
    /// line.
    pub fn step(
        &self,
        position: usize,
        url: &str,
        lost: &mut Notes,
    ) -> Result<(String, Step), Problems> {
        let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let (server, target) = split_url(&full).ok_or_else(|| {
            Problems::plain(
                format!("`{}` is not an http:// or https:// URL", shortened(url)),
                "write it as curl would accept it",
            )
        })?;
        let upload = self.uploads.get(position);
        let (body, kind) = self.body(upload)?;
        let mut step = Step { answer: answer(Statuses { from: 200, to: 299 }), ..Step::default() };
        let has_body = body.is_some() && !self.in_query;
        step.method = match (&self.method, self.head, upload.is_none()) {
            (Some(method), ..) => method.clone(),
            (None, true, _) => "HEAD".into(),
            (None, false, false) => "PUT".into(),
            (None, false, true) if has_body => "POST".into(),
            (None, false, true) => "GET".into(),
        };
        if !is_method(&step.method) {
            return Err(Problems::plain(
                format!("`{}` is not a method", shortened(&step.method)),
                "write GET, POST, ...",
            ));
        }
        step.path = self.path(url, &target, upload, body.as_ref())?;
        let (named, removed) = self.named(&step, lost);
        let boundary = kind
            .as_deref()
            .and_then(multipart::boundary_of)
            .map(|boundary| format!("; boundary={boundary}"));
        for (name, value) in &named {
            // A `Content-Type` for multipart bodies gets its boundary.
            let more = boundary
                .as_deref()
                .filter(|_| name.trim().eq_ignore_ascii_case("content-type"))
                .unwrap_or_default();
            add_header(&mut step, name, Template::of_words(&format!("{value}{more}")), lost);
        }
        for (name, value) in self.defaults(&full, kind.filter(|_| has_body), &step, lost)? {
            if !removed.iter().any(|removed| removed.eq_ignore_ascii_case(name)) {
                let is_new = !step.headers.iter().any(|(other, _)| other == name);
                if is_new {
                    add_header(&mut step, name, value, lost);
                }
            }
        }
        for name in removed.iter().filter(|name| name.eq_ignore_ascii_case("host")) {
            lost.add(format!("`{name}:` of {}", place(&step)), "a request has a host");
        }
        if has_body {
            step.body = body.unwrap_or_default();
        }
        Ok((server, step))
    }

    /// Returns the body, and the type that curl gives it.
    fn body(
        &self,
        upload: Option<&(String, Data)>,
    ) -> Result<(Option<Body>, Option<String>), Problems> {
        let kinds = [!self.data.is_empty(), !self.form.is_empty(), !self.uploads.is_empty()];
        if kinds.iter().filter(|is_set| **is_set).count() > 1 {
            return Err(Problems::plain(
                "a request of curl has one body, and the command line several",
                "keep one of -d, -F and -T",
            ));
        }
        let mixed = || {
            let hint = "name a file of text, or write the request as a workload with `body_file`";
            Problems::plain(
                "a body has both bytes that are not text and an environment variable",
                hint,
            )
        };
        if !self.form.is_empty() {
            let boundary = multipart::new_boundary(&self.form);
            let body = multipart::body(&self.form, &boundary).ok_or_else(mixed)?;
            return Ok((Some(body), Some(format!("multipart/form-data; boundary={boundary}"))));
        }
        if let Some((_, data)) = upload {
            return Ok((Some(data.content.clone().into()), None));
        }
        if self.data.is_empty() {
            return Ok((None, None));
        }
        let mut contents = Vec::new();
        for (n, data) in self.data.iter().enumerate() {
            if n > 0 && !data.joins {
                contents.push(Content::Text(Template::fixed("&")));
            }
            contents.push(data.content.clone());
        }
        let kind = if self.is_json { "application/json" } else { FORM };
        Ok((Some(multipart::whole(contents).ok_or_else(mixed)?), Some(kind.to_owned())))
    }

    fn path(
        &self,
        url: &str,
        target: &str,
        upload: Option<&(String, Data)>,
        body: Option<&Body>,
    ) -> Result<Template, Problems> {
        let target = target.split_once('#').map_or(target, |(before, _)| before);
        let (place, query) =
            target.split_once('?').map_or((target, None), |(place, query)| (place, Some(query)));
        let mut place =
            if self.path_as_is { beyond_ascii(place) } else { beyond_ascii(&without_dots(place)) };
        if let Some((file, _)) = upload.filter(|_| place.is_empty() || place.ends_with('/')) {
            let name = file.rsplit('/').next().unwrap_or_default();
            place = format!("{}/{}", place.trim_end_matches('/'), encoded(name));
        }
        let in_query = match body {
            Some(Body::Text(text)) if self.in_query => Some(text.clone()),
            Some(Body::Bytes(_)) if self.in_query => {
                return Err(Problems::plain(
                    format!("-G puts bytes that are not UTF-8 text into `{}`", shortened(url)),
                    "name a UTF-8 text file",
                ));
            }
            _ => None,
        };
        let mut template = Template::of_words(&self.target.clone().unwrap_or(place));
        let mut queries: Vec<Template> = query
            .into_iter()
            .chain(self.query.iter().map(String::as_str))
            .map(Template::of_words)
            .collect();
        queries.extend(in_query.filter(|text| !text.parts.is_empty()));
        if self.target.is_none() {
            for (n, query) in queries.into_iter().enumerate() {
                template.parts.push(Part::Text(if n == 0 { "?" } else { "&" }.into()));
                template.parts.extend(query.parts);
            }
        }
        Ok(path(multipart::joined(template.parts)))
    }

    /// Returns the headers that the command line sets, and the names of those that it removes.
    fn named(&self, step: &Step, lost: &mut Notes) -> (Vec<(String, String)>, Vec<String>) {
        let (mut named, mut removed) = (Vec::new(), Vec::new());
        for header in &self.headers {
            match header.split_once(':') {
                Some((name, value)) if value.trim().is_empty() => {
                    removed.push(name.trim().to_owned())
                }
                Some((name, value)) => named.push((name.to_owned(), value.trim().to_owned())),
                // With a semicolon instead of the colon, the header is sent empty.
                None => match header.trim_end().strip_suffix(';') {
                    Some(name) => named.push((name.to_owned(), String::new())),
                    None => lost.add(
                        format!("the header `{}` of {}", shortened(header), place(step)),
                        "it has no value",
                    ),
                },
            }
        }
        (named, removed)
    }

    /// Adds the headers that curl itself writes because of the request's options.
    fn defaults(
        &self,
        url: &str,
        kind: Option<String>,
        step: &Step,
        lost: &mut Notes,
    ) -> Result<Vec<(&'static str, Template)>, Problems> {
        let mut all = Vec::new();
        all.extend(kind.map(|kind| ("content-type", Template::fixed(kind))));
        if self.is_json {
            all.push(("accept", Template::fixed("application/json")));
        }
        let of_url = userinfo(url).map(percent_decoded);
        if let Some(user) = self.user.as_ref().or(of_url.as_ref()) {
            if Template::of_words(user).variables().next().is_some() {
                let hint = "send the whole header from it: -H 'Authorization: Basic {env.CREDENTIALS}', the base64 of user:password";
                return Err(Problems::plain(
                    "-u has an environment variable, which would be encoded before it has a value",
                    hint,
                ));
            }
            match &self.other_auth {
                Some(option) => lost.add(
                    format!("{option} for {}", place(step)),
                    "a workload sends only headers that are known beforehand",
                ),
                None => {
                    if !user.contains(':') {
                        lost.add(
                            format!("the password of -u for {}", place(step)),
                            "curl prompts for it; an empty one is sent",
                        );
                    }
                    let whole = if user.contains(':') { user.clone() } else { format!("{user}:") };
                    all.push((
                        "authorization",
                        Template::fixed(format!("Basic {}", STANDARD.encode(whole))),
                    ));
                }
            }
        } else if let Some(option) = &self.other_auth {
            lost.add(
                format!("{option} for {}", place(step)),
                "a workload sends only headers that are known beforehand",
            );
        }
        let values = [
            ("authorization", self.bearer.as_ref().map(|token| format!("Bearer {token}"))),
            ("range", self.range.as_ref().map(|range| format!("bytes={range}"))),
            ("user-agent", self.agent.clone().filter(|agent| !agent.is_empty())),
            (
                "referer",
                self.referer
                    .clone()
                    .map(|referer| self.referer_of(referer, step, lost))
                    .filter(|referer| !referer.is_empty()),
            ),
            ("cookie", (!self.cookies.is_empty()).then(|| self.cookies.join(";"))),
        ];
        all.extend(
            values
                .into_iter()
                .filter_map(|(name, value)| Some((name, Template::of_words(&value?)))),
        );
        if self.compressed {
            all.push(("accept-encoding", Template::fixed("gzip, deflate")));
        }
        Ok(all)
    }

    /// Returns a referer without `;auto`, which is about redirects.
    fn referer_of(&self, referer: String, step: &Step, lost: &mut Notes) -> String {
        match referer.strip_suffix(";auto") {
            Some(plain) => {
                lost.add(
                    format!("`;auto` of -e for {}", place(step)),
                    "redirects are not followed",
                );
                plain.to_owned()
            }
            None => referer,
        }
    }
}

/// Percent-encodes the characters of a path that are not ASCII, in lower case as curl does.
fn beyond_ascii(path: &str) -> String {
    let encode = |c: char| {
        if c.is_ascii() {
            c.to_string()
        } else {
            c.to_string().bytes().map(|b| format!("%{b:02x}")).collect()
        }
    };
    path.chars().map(encode).collect()
}

/// Removes `.` and `..` from a path (RFC 3986, 5.2.4), as curl does.
fn without_dots(path: &str) -> String {
    let segments: Vec<&str> = path.split('/').collect();
    let last = segments.len() - 1;
    let mut kept: Vec<&str> = Vec::new();
    for (n, segment) in segments.iter().enumerate() {
        match *segment {
            "." | ".." => {
                if *segment == ".." && kept.len() > 1 {
                    kept.pop();
                }
                if n == last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept.join("/")
}

/// Reads a field of `--data-urlencode`: `name=value`, `=value`, `value`, `name@file`.
pub fn form_field(argument: &str, folder: &Path) -> Result<String, Problems> {
    let (name, value) = match (argument.find('='), argument.find('@')) {
        (Some(at), file) if file.is_none_or(|file| at < file) => {
            (&argument[..at], argument[at + 1..].to_owned())
        }
        (_, Some(at)) => {
            let bytes = file_of(&argument[at + 1..], folder)?;
            let text = String::from_utf8(bytes).map_err(|_| {
                Problems::plain(
                    format!(
                        "the file of --data-urlencode `{}` is not UTF-8 text",
                        shortened(argument)
                    ),
                    "name a UTF-8 text file",
                )
            })?;
            (&argument[..at], text)
        }
        _ => ("", argument.to_owned()),
    };
    if Template::of_words(&value).variables().next().is_some() {
        let hint = "use --data, with the value encoded in the variable";
        return Err(Problems::plain(
            "an environment variable in --data-urlencode or --url-query would be encoded before it has a value",
            hint,
        ));
    }
    // curl writes a space as `+`.
    let value = encoded(&value).replace("%20", "+");
    Ok(if name.is_empty() { value } else { format!("{name}={value}") })
}

/// Reads what `--url-query` adds: like `--data-urlencode`, or literal after `+`.
pub fn query_field(argument: &str, folder: &Path) -> Result<String, Problems> {
    argument
        .strip_prefix('+')
        .map_or_else(|| form_field(argument, folder), |plain| Ok(plain.to_owned()))
}

/// Reads a part of a form: `name=value`, `name=@file;type=...;filename=...`, `name=<file`.
pub fn form_part(argument: &str, is_plain: bool, folder: &Path) -> Result<Field, Problems> {
    let wrong = |what: &str, hint: &str| {
        Err(Problems::plain(format!("{what} in -F `{}`", shortened(argument)), hint))
    };
    let Some((name, value)) = argument.split_once('=') else {
        return wrong("there is no `=`", "write it as -F name=value");
    };
    let mut field = Field { name: name.to_owned(), ..Field::default() };
    if is_plain {
        field.content = Content::Text(Template::of_words(value));
        return Ok(field);
    }
    if value.starts_with('(') || (name.is_empty() && value.starts_with(')')) {
        return wrong(
            "there are parts within parts",
            "write the bytes of the body to a file, and name it with --data-binary @FILE",
        );
    }
    let (content, parameters) = form_words(value);
    for parameter in parameters {
        match parameter.split_once('=') {
            Some(("type", kind)) => field.kind = Some(kind.trim().to_owned()),
            Some(("filename", file)) => field.file_name = Some(file.to_owned()),
            Some(("headers", header)) if !header.starts_with(['@', '<']) => {
                field.headers.push(header.to_owned())
            }
            // curl treats what follows a type as a part of it.
            _ if field.kind.is_some()
                && !parameter.starts_with("encoder")
                && !parameter.starts_with("headers") =>
            {
                field.kind = field.kind.map(|kind| format!("{kind};{parameter}"));
            }
            _ => {
                return wrong(&format!("`;{}` is not read", shortened(&parameter)), "leave it out");
            }
        }
    }
    match (content.strip_prefix('@'), content.strip_prefix('<')) {
        (Some(file), _) if file.contains(',') => {
            return wrong("there are several files", "write one -F for each");
        }
        (Some(file), _) => {
            field.content = Content::of_bytes(file_of(file, folder)?);
            field
                .file_name
                .get_or_insert_with(|| file.rsplit('/').next().unwrap_or_default().to_owned());
            field.kind.get_or_insert_with(|| multipart::kind_of(file).to_owned());
        }
        (_, Some(file)) => field.content = Content::of_bytes(file_of(file, folder)?),
        _ => field.content = Content::Text(Template::of_words(&content)),
    }
    Ok(field)
}

/// Splits a part into its content and its parameters at semicolons outside quotes.
fn form_words(text: &str) -> (String, Vec<String>) {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    let mut begins = true;
    while let Some(c) = chars.next() {
        let word = words.last_mut();
        match c {
            '"' if begins || is_quoted => is_quoted = !is_quoted,
            '\\' if is_quoted => word.into_iter().for_each(|word| word.extend(chars.next())),
            ';' if !is_quoted => {
                while chars.next_if_eq(&' ').is_some() {}
                words.push(String::new());
            }
            c => word.into_iter().for_each(|word| word.push(c)),
        }
        begins = matches!(c, '@' | '<' | '=' | ';') && !is_quoted;
    }
    let content = words.remove(0);
    (content, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_a_path_are_removed_as_curl_does() {
        for (path, right) in [
            ("/a/../b", "/b"),
            ("/a/./b/", "/a/b/"),
            ("/../../c", "/c"),
            ("/a/b/..", "/a/"),
            ("/a/...", "/a/..."),
            ("", ""),
        ] {
            assert_eq!(without_dots(path), right, "{path}");
        }
    }

    #[test]
    fn parts_of_a_form_are_read_as_curl_reads_them() {
        let of = |argument: &str| form_part(argument, false, Path::new("/nowhere"));
        let field = of("a=\"b;c\";type=text/plain; charset=utf-8;filename=\"x.txt\"").unwrap();
        let Content::Text(text) = &field.content else { panic!("a text") };
        assert_eq!(
            (text.to_string().as_str(), field.kind.as_deref()),
            ("b;c", Some("text/plain;charset=utf-8"))
        );
        assert_eq!(field.file_name.as_deref(), Some("x.txt"));
        for bad in
            ["a", "a=@no-such-file", "=(;type=multipart/mixed", "a=@b,c", "a=b;encoder=base64"]
        {
            assert!(of(bad).is_err_and(|e| e.to_string().contains("hint: ")), "{bad}");
        }
        assert!(form_part("a=@b;c", true, Path::new(".")).is_ok());
    }
}
