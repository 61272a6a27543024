//! HTTP samplers: what each sends.

use super::super::xml::Node;
use super::super::{add_header, answer, encoded, path, shortened, split_url};
use super::{Group, Plan, Scope, arguments};
use model::template::{Part, Template};
use model::workload::{Body, Statuses, Step, is_method};
use std::time::Duration;

impl<'x> Plan<'x> {
    /// Adds a step; false when it cannot be made.
    pub fn sampler(&mut self, node: &'x Node, scope: &Scope<'x>, group: &mut Group) -> bool {
        // What a sampler does not say, the defaults do.
        let said = |name: &str| {
            let own = node.said(name).trim();
            let nearest = scope.defaults.iter().map(|defaults| defaults.said(name).trim()).find(|text| !text.is_empty());
            if own.is_empty() { nearest.unwrap_or_default() } else { own }
        };
        let method = self.texts.fixed(said("HTTPSampler.method"), &mut self.imported).unwrap_or_default().to_uppercase();
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        if !is_method(&method) {
            self.imported.lost.add(node.title(), format!("`{}` is no method", shortened(&method)));
            return false;
        }
        let Some((server, target)) = self.place(&said) else {
            self.imported.lost.add(node.title(), "where it goes is not known beforehand");
            return false;
        };
        // JMeter takes any status up to 399.
        let mut step = Step { method, answer: answer(Statuses { from: 200, to: 399 }), ..Step::default() };
        for (name, value) in &scope.headers {
            let value = self.texts.template(value, &mut self.imported);
            add_header(&mut step, name, value, &mut self.imported.lost);
        }
        let fields = self.parameters(node, scope, &mut step);
        let mut target = target;
        if !fields.parts.is_empty() {
            let separator = if target.texts().any(|text| text.contains('?')) { "&" } else { "?" };
            target.parts.push(Part::Text(separator.into()));
            target.parts.extend(fields.parts);
        }
        step.path = path(joined(target));
        self.refuse(node, &said);
        group.closes |= said("HTTPSampler.use_keepalive") == "false";
        match self.texts.number(said("HTTPSampler.response_timeout"), "the response timeout", 1.0..=3.6e6, &mut self.imported) {
            Some(ms) => group.timeout = group.timeout.max(Some(Duration::from_millis(ms as u64))),
            None => group.unbounded = true,
        }
        self.checks(&scope.checks, &mut step, group);
        group.steps.push((server, step));
        true
    }

    /// The server, empty where the plan does not say, and the path.
    fn place(&mut self, said: &impl Fn(&'static str) -> &'x str) -> Option<(String, Template)> {
        let target = self.texts.template(said("HTTPSampler.path"), &mut self.imported);
        let first = target.parts.first().and_then(|part| if let Part::Text(text) = part { split_url(text) } else { None });
        if let Some((server, rest)) = first {
            let rest = std::iter::once(Part::Text(rest)).chain(target.parts.into_iter().skip(1));
            return Some((server, Template { parts: rest.collect() }));
        }
        let host = self.texts.fixed(said("HTTPSampler.domain"), &mut self.imported)?;
        let port = self.texts.fixed(said("HTTPSampler.port"), &mut self.imported)?;
        let scheme = self.texts.fixed(said("HTTPSampler.protocol"), &mut self.imported)?;
        let scheme = if scheme.is_empty() { "http" } else { &scheme };
        let port = if port.is_empty() { String::new() } else { format!(":{port}") };
        match host.is_empty() {
            true => Some((String::new(), target)),
            false => Some((split_url(&format!("{scheme}://{host}{port}"))?.0, target)),
        }
    }

    /// Puts parameters into the body, or gives them back for the query.
    fn parameters(&mut self, node: &'x Node, scope: &Scope<'x>, step: &mut Step) -> Template {
        let is_raw = node.flag("HTTPSampler.postBodyRaw");
        let of_defaults: Vec<&'x Node> =
            scope.defaults.iter().copied().flat_map(|defaults| arguments(defaults, "HTTPsampler.Arguments")).collect();
        let own: Vec<&'x Node> = arguments(node, "HTTPsampler.Arguments").collect();
        let mut all = Template::default();
        if is_raw {
            for argument in own {
                all.parts.extend(self.texts.template(argument.said("Argument.value"), &mut self.imported).parts);
            }
            step.body = if all.parts.is_empty() { Body::None } else { Body::Text(joined(all)) };
            return Template::default();
        }
        for argument in of_defaults.into_iter().chain(own) {
            let encodes = argument.said("HTTPArgument.always_encode").trim() != "false";
            for (place, property) in ["Argument.name", "Argument.value"].into_iter().enumerate() {
                let separator = if place == 1 { "=" } else { "&" };
                if place == 1 || !all.parts.is_empty() {
                    all.parts.push(Part::Text(separator.into()));
                }
                for part in self.texts.template(argument.said(property), &mut self.imported).parts {
                    all.parts.push(match part {
                        Part::Text(text) if encodes => Part::Text(encoded(&text)),
                        part => part,
                    });
                }
            }
        }
        if all.parts.is_empty() || !["POST", "PUT", "PATCH"].contains(&step.method.as_str()) {
            return all;
        }
        if !step.headers.iter().any(|(name, _)| name == "content-type") {
            add_header(step, "content-type", Template::fixed("application/x-www-form-urlencoded"), &mut self.imported.lost);
        }
        step.body = Body::Text(joined(all));
        Template::default()
    }

    /// Says what a sampler does beyond one request.
    fn refuse(&mut self, node: &Node, said: &impl Fn(&'static str) -> &'x str) {
        let lost = &mut self.imported.lost;
        if said("HTTPSampler.image_parser") == "true" {
            lost.add(format!("what {} embeds", node.title()), "each request is a step of its own");
        }
        if said("HTTPSampler.DO_MULTIPART_POST") == "true" {
            lost.add(
                format!("the parts of the body of {}", node.title()),
                "a form of several parts is not put together: write its bytes as `body_file`",
            );
        }
        if node.property("HTTPsampler.Files").is_some_and(|files| files.children.iter().any(|inner| !inner.children.is_empty())) {
            lost.add(format!("the files of {}", node.title()), "write their bytes as `body_file`");
        }
        if !said("HTTPSampler.proxyHost").is_empty() {
            lost.add(format!("the proxy of {}", node.title()), "requests go straight to the server");
        }
        if said("HTTPSampler.follow_redirects") == "true" || said("HTTPSampler.auto_redirects") == "true" {
            self.imported.taken.add("redirects", "they are not followed: an answer of 3xx is right, as any below 400 is for JMeter");
        }
    }
}

/// With neighbouring texts as one.
fn joined(template: Template) -> Template {
    let mut parts: Vec<Part> = Vec::new();
    for part in template.parts {
        match (part, parts.last_mut()) {
            (Part::Text(text), Some(Part::Text(before))) => before.push_str(&text),
            (part, _) => parts.push(part),
        }
    }
    Template { parts }
}
