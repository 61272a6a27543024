//! Reads HTTP samplers: each becomes a step with its server.
//!
//! A sampler inherits defaults and headers from its [`Scope`]. Start with [`Plan::sampler`].

use super::super::multipart::{self, Content, Field, joined};
use super::super::xml::Node;
use super::super::{
    FORM, add_header, answer, bytes_of, default_header, encoded, path, place, shortened, split_url,
    userinfo,
};
use super::{Group, Plan, Scope, arguments};
use spec::template::{Part, Template};
use spec::workload::{Body, Statuses, Step, is_method};
use std::time::Duration;

impl<'x> Plan<'x> {
    /// Adds a step; returns false if the request cannot be made.
    pub fn sampler(&mut self, node: &'x Node, scope: &Scope<'x>, group: &mut Group) -> bool {
        // Defaults supply what a sampler lacks.
        let property = |name: &str| {
            let own = node.value_of(name).trim();
            let nearest = scope
                .defaults
                .iter()
                .map(|defaults| defaults.value_of(name).trim())
                .find(|text| !text.is_empty());
            if own.is_empty() { nearest.unwrap_or_default() } else { own }
        };
        let method = self
            .texts
            .fixed(property("HTTPSampler.method"), &mut self.imported)
            .unwrap_or_default()
            .to_uppercase();
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        if !is_method(&method) {
            self.imported
                .lost
                .add(node.title(), format!("`{}` is not an HTTP method", shortened(&method)));
            return false;
        }
        let Some((server, mut target)) = self.place(&property) else {
            self.imported.lost.add(node.title(), "its server is not known in advance");
            return false;
        };
        // JMeter accepts any status up to 399.
        let mut step =
            Step { method, answer: answer(Statuses { from: 200, to: 399 }), ..Step::default() };
        for (name, value) in &scope.headers {
            let value = self.texts.template(value, &mut self.imported);
            add_header(&mut step, name, value, &mut self.imported.lost);
        }
        step.path = path(joined(target.parts.clone()));
        let fields = self.parameters(node, scope, &property, &mut step);
        if !fields.parts.is_empty() {
            let separator = if target.texts().any(|text| text.contains('?')) { "&" } else { "?" };
            target.parts.push(Part::Text(separator.into()));
            target.parts.extend(fields.parts);
        }
        step.path = path(joined(target.parts));
        self.refuse(node, &property);
        group.closes |= property("HTTPSampler.use_keepalive") == "false";
        match self.texts.number(
            property("HTTPSampler.response_timeout"),
            "the response timeout",
            1.0..=3.6e6,
            &mut self.imported,
        ) {
            Some(ms) => group.timeout = group.timeout.max(Some(Duration::from_millis(ms as u64))),
            None => group.unbounded = true,
        }
        self.checks(&scope.checks, &mut step, group);
        group.steps.push((server, step));
        true
    }

    /// Returns the server, which is empty if the plan has none, and the path.
    fn place(&mut self, property: &impl Fn(&'static str) -> &'x str) -> Option<(String, Template)> {
        let target = self.texts.template(property("HTTPSampler.path"), &mut self.imported);
        let first = target
            .parts
            .first()
            .and_then(|part| if let Part::Text(text) = part { split_url(text) } else { None });
        if let Some((server, rest)) = first {
            if let Some(Part::Text(url)) = target.parts.first()
                && userinfo(url).is_some()
            {
                self.imported.lost.add(
                    format!("the user in {}", shortened(url)),
                    "add the header `authorization`",
                );
            }
            let rest = std::iter::once(Part::Text(rest)).chain(target.parts.into_iter().skip(1));
            return Some((server, Template { parts: rest.collect() }));
        }
        let host = self.texts.fixed(property("HTTPSampler.domain"), &mut self.imported)?;
        let port = self.texts.fixed(property("HTTPSampler.port"), &mut self.imported)?;
        let scheme = self.texts.fixed(property("HTTPSampler.protocol"), &mut self.imported)?;
        let scheme = if scheme.is_empty() { "http" } else { &scheme };
        let port = if port.is_empty() { String::new() } else { format!(":{port}") };
        match host.is_empty() {
            true => Some((String::new(), target)),
            false => Some((split_url(&format!("{scheme}://{host}{port}"))?.0, target)),
        }
    }

    /// Adds parameters and files to the body, or returns parameters for the query.
    fn parameters(
        &mut self,
        node: &'x Node,
        scope: &Scope<'x>,
        property: &impl Fn(&'static str) -> &'x str,
        step: &mut Step,
    ) -> Template {
        let own: Vec<&'x Node> = arguments(node, "HTTPsampler.Arguments").collect();
        let files: Vec<&'x Node> =
            node.property("HTTPsampler.Files").into_iter().flat_map(files_of).collect();
        if node.flag("HTTPSampler.postBodyRaw") {
            let texts = own.iter().map(|argument| {
                self.texts.template(argument.value_of("Argument.value"), &mut self.imported)
            });
            let all = joined(texts.collect::<Vec<_>>().into_iter().flat_map(|text| text.parts));
            step.body = if all.parts.is_empty() { Body::None } else { Body::Text(all) };
            return Template::default();
        }
        let of_defaults = scope
            .defaults
            .iter()
            .copied()
            .flat_map(|defaults| arguments(defaults, "HTTPsampler.Arguments"));
        let all: Vec<&'x Node> = of_defaults.chain(own).collect();
        // As in JMeter, these methods have parameters in the query, HEAD and TRACE have none, and
        // all others have a body.
        match step.method.as_str() {
            "GET" | "DELETE" | "OPTIONS" => {
                self.no_files(&files, node);
                return self.fields(&all);
            }
            "HEAD" | "TRACE" => {
                self.no_files(&files, node);
                if !all.is_empty() {
                    let why = format!("JMeter sends none with {}", step.method);
                    self.imported.taken.add(format!("the parameters of {}", node.title()), why);
                }
                return Template::default();
            }
            _ => {}
        }
        let only_file = matches!(files.as_slice(), [only] if all.is_empty() && only.value_of("File.paramname").trim().is_empty());
        if property("HTTPSampler.DO_MULTIPART_POST") == "true" || !(files.is_empty() || only_file) {
            self.form_of_parts(&all, &files, node, step);
        } else if let [only] = files.as_slice() {
            if let Some((_, content)) = self.file(only, node) {
                step.body = content.into();
                let kind = only.value_of("File.mimetype").trim();
                if !kind.is_empty() {
                    default_header(step, "content-type", kind, &mut self.imported.lost);
                }
            }
        } else if !all.is_empty() {
            step.body = Body::Text(self.fields(&all));
            default_header(step, "content-type", FORM, &mut self.imported.lost);
        }
        Template::default()
    }

    fn no_files(&mut self, files: &[&Node], node: &Node) {
        for file in files {
            let what =
                format!("the file {} of {}", shortened(file.value_of("File.path")), node.title());
            self.imported.lost.add(what, "JMeter sends none with this method");
        }
    }

    /// Writes fields as a form: `a=1&b=2`.
    fn fields(&mut self, all: &[&'x Node]) -> Template {
        let mut parts = Vec::new();
        for argument in all {
            let encodes = argument.value_of("HTTPArgument.always_encode").trim() != "false";
            let (name, value) =
                (argument.value_of("Argument.name"), argument.value_of("Argument.value"));
            // Without a value, the `=` may be left out.
            let has_sign =
                !value.is_empty() || argument.value_of("HTTPArgument.use_equals").trim() != "false";
            for (separator, text) in [
                (if parts.is_empty() { "" } else { "&" }, name),
                (if has_sign { "=" } else { "" }, value),
            ] {
                parts.push(Part::Text(separator.into()));
                for part in self.texts.template(text, &mut self.imported).parts {
                    parts.push(match part {
                        Part::Text(text) if encodes => Part::Text(encoded(&text)),
                        part => part,
                    });
                }
            }
        }
        joined(parts)
    }

    fn form_of_parts(
        &mut self,
        all: &[&'x Node],
        files: &[&'x Node],
        node: &'x Node,
        step: &mut Step,
    ) {
        let mut parts = Vec::new();
        for argument in all {
            let kind = argument.value_of("HTTPArgument.content_type").trim();
            let name = self
                .texts
                .fixed(argument.value_of("Argument.name"), &mut self.imported)
                .unwrap_or_default();
            parts.push(Field {
                name,
                kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
                content: Content::Text(
                    self.texts.template(argument.value_of("Argument.value"), &mut self.imported),
                ),
                ..Field::default()
            });
        }
        for file in files {
            let Some((name, content)) = self.file(file, node) else { continue };
            let kind = file.value_of("File.mimetype").trim();
            parts.push(Field {
                name: file.value_of("File.paramname").trim().to_owned(),
                kind: Some(
                    if kind.is_empty() { "application/octet-stream" } else { kind }.to_owned(),
                ),
                file_name: Some(name),
                content,
                ..Field::default()
            });
        }
        let boundary = multipart::new_boundary(&parts);
        match multipart::body(&parts, &boundary) {
            Some(body) => step.body = body,
            None => self.imported.lost.add(
                format!("the body of {}", place(step)),
                "it has both variables and a file that is not text",
            ),
        }
        // JMeter itself sets the type of such a form, even if a header manager sets another.
        step.headers.retain(|(name, _)| name != "content-type");
        default_header(
            step,
            "content-type",
            &format!("multipart/form-data; boundary={boundary}"),
            &mut self.imported.lost,
        );
    }

    /// Reads the name and the content of a file. If it cannot be read, it is named and `None` is
    /// returned.
    fn file(&mut self, file: &Node, node: &Node) -> Option<(String, Content)> {
        let path =
            self.texts.fixed(file.value_of("File.path"), &mut self.imported).unwrap_or_default();
        let bytes =
            self.in_folder(&path).and_then(|path| bytes_of(&path).map_err(|e| e.to_string()));
        match bytes {
            Ok(bytes) => Some((
                path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
                Content::of_bytes(bytes),
            )),
            Err(why) => {
                self.imported.lost.add(
                    format!("the file {} of {}", shortened(&path), node.title()),
                    format!("{why}: put it into the folder of the plan"),
                );
                None
            }
        }
    }

    /// Names what a sampler does beyond one request.
    fn refuse(&mut self, node: &Node, property: &impl Fn(&'static str) -> &'x str) {
        let lost = &mut self.imported.lost;
        if property("HTTPSampler.image_parser") == "true" {
            lost.add(format!("what {} embeds", node.title()), "each request is a step of its own");
        }
        if !property("HTTPSampler.proxyHost").is_empty() {
            lost.add(
                format!("the proxy of {}", node.title()),
                "requests go straight to the server",
            );
        }
        if property("HTTPSampler.follow_redirects") == "true"
            || property("HTTPSampler.auto_redirects") == "true"
        {
            self.imported.taken.add(
                "redirects",
                "they are not followed: a 3xx response is correct, as is any below 400 in JMeter",
            );
        }
    }
}

/// Returns the files of a sampler.
fn files_of(files: &Node) -> impl Iterator<Item = &Node> {
    files
        .children
        .iter()
        .flat_map(|inner| &inner.children)
        .filter(|file| file.property("File.path").is_some())
}
