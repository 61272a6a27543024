//! Reads descriptions of OpenAPI 3 and 2: a step for each operation, with example values.
//!
//! A request needs values for parameters and bodies. They come from the examples and defaults of
//! the description, or `schema.rs` makes the simplest value that its schema allows. What a value
//! violates, and what is omitted, is noted. Start with [`import`].

mod body;
mod bounds;
mod merge;
mod parameters;
mod pattern;
mod schema;
mod validate;
#[cfg(feature = "openapi-yaml")]
mod yaml;

use super::{
    FORM, Imported, Part, add_header, answer, default_header, encoded, one_server, path,
    percent_decoded, shortened, split_url, userinfo,
};
use parameters::{Style, in_header, in_path, is_defined, pairs};
use schema::Way;
use serde_json::{Map, Value};
use spec::experiment::Load;
use spec::problem::Problems;
use spec::template::Template;
use spec::workload::pointer_token;
use spec::workload::{Body, Statuses, Step, Wanted};
use std::cell::{Cell, RefCell};

/// The maximum depth at which schemas and references are followed.
const DEEPEST: usize = 12;
/// The most values that are made for one description.
const MOST_VALUES: usize = 10_000;
/// The most bytes of values in one operation. Examples that refer to each other would otherwise be
/// endless.
const ROOM: usize = 64 << 10;
/// The maximum depth of an example.
const DEEPEST_EXAMPLE: usize = 32;
const METHODS: [&str; 8] = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];
/// Fields of a path that are not operations.
const OF_PATHS: [&str; 5] = ["parameters", "servers", "summary", "description", "$ref"];

/// Reads a document in JSON or YAML; `None` for anything else.
///
/// # Errors
/// A description that is not valid YAML, or any YAML in a build without the feature `openapi-yaml`.
pub fn document(text: &str) -> Result<Option<Value>, Problems> {
    let json = serde_json::from_str(text).ok();
    let read = json.map_or_else(|| yaml(text), |value| Ok(Some(value)))?;
    Ok(read.filter(Value::is_object))
}

fn is_description(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("openapi:") || line.starts_with("swagger:"))
}

#[cfg(feature = "openapi-yaml")]
fn yaml(text: &str) -> Result<Option<Value>, Problems> {
    match yaml::read_yaml(text) {
        Ok(value) => Ok(Some(value)),
        Err(e) if is_description(text) => Err(Problems::plain(
            format!("the description is not YAML: {e}"),
            "check it with the tool that made it",
        )),
        Err(_) => Ok(None),
    }
}

#[cfg(not(feature = "openapi-yaml"))]
fn yaml(text: &str) -> Result<Option<Value>, Problems> {
    match is_description(text) {
        true => Err(Problems::missing_feature(
            "openapi-yaml",
            "read YAML; the same description in JSON is read without it",
        )),
        false => Ok(None),
    }
}

/// Reads a description.
pub fn import(document: &Value) -> Result<Imported, Problems> {
    let api = Api {
        document,
        left: Cell::new(MOST_VALUES),
        room: Cell::new(0),
        is_short: Cell::new(false),
        what: RefCell::default(),
        notes: RefCell::default(),
    };
    let (server, base) = api.server();
    let mut steps = api.steps(server.as_ref(), &base);
    if document["webhooks"].as_object().is_some_and(|all| !all.is_empty()) {
        api.lost("webhooks", "the server makes these requests");
    }
    let mut imported = api.notes.into_inner();
    // The server of the description comes first, because a workload has the server of its first
    // step.
    steps.sort_by_key(|(other, _)| server.as_ref().is_some_and(|server| server != other));
    let (server, steps) = one_server(steps, &mut imported.lost);
    if steps.is_empty() {
        let hint = "it needs `paths` with operations and their responses";
        return Err(imported
            .lost
            .nothing("the description has no operation that can be requested", hint));
    }
    let mut part = Part::new(steps, Load::closed(64));
    part.workload.summary = format!(
        "every operation of {}",
        document["info"]["title"].as_str().unwrap_or("the description")
    );
    part.server = server.filter(|server| !server.is_empty());
    imported.push(part);
    imported.taken.add(
        "the load",
        "a description has none; the load sends as fast as responses arrive on 64 connections",
    );
    imported.taken.add(
        "the responses",
        "for each operation only its lowest status from 200 to 399 is correct",
    );
    imported.taken.add(
        "the order",
        "operations are requested in the order of the file: move those that create something before those that read it, and add captures",
    );
    Ok(imported)
}

struct Api<'d> {
    document: &'d Value,
    /// How many values may still be made. Schemas that contain themselves would otherwise be
    /// endless.
    left: Cell<usize>,
    /// How many bytes of values the operation may still have.
    room: Cell<usize>,
    /// Whether something was left out because of that limit.
    is_short: Cell<bool>,
    /// The operation that is being read: `POST /orders`.
    what: RefCell<String>,
    notes: RefCell<Imported>,
}

impl<'d> Api<'d> {
    fn lost(&self, what: impl Into<String>, why: impl Into<String>) {
        self.notes.borrow_mut().lost.add(what, why);
    }

    fn decided(&self, what: impl Into<String>, why: &str) {
        self.notes.borrow_mut().taken.add(what, why);
    }

    /// Notes which keyword a value violates, with its place.
    fn missed(&self, at: &str, keyword: &str, why: &str) {
        self.lost(format!("{keyword} of {at}"), why);
    }

    /// Follows a reference within the document.
    fn followed<'s>(&self, value: &'s Value) -> &'s Value
    where
        'd: 's,
    {
        let mut value = value;
        for _ in 0..DEEPEST {
            let Some(reference) = value["$ref"].as_str() else { return value };
            let found = reference
                .strip_prefix('#')
                .and_then(|pointer| self.document.pointer(&percent_decoded(pointer)));
            if found.is_none() {
                self.lost(
                    format!("the reference `{}`", shortened(reference)),
                    "it points to nothing in this file",
                );
            }
            value = found.unwrap_or(&Value::Null);
        }
        self.lost(
            "references that point to each other",
            format!("they are followed {DEEPEST} times"),
        );
        &Value::Null
    }

    /// Reads every operation, with its server, which is empty without an address.
    fn steps(&self, server: Option<&String>, base: &str) -> Vec<(String, Step)> {
        let mut steps = Vec::new();
        let paths = self.document["paths"].as_object().into_iter().flatten();
        for (name, item) in paths.filter(|(name, _)| !name.starts_with("x-")) {
            let item = self.followed(item);
            self.unknown_operations(name, item);
            for method in METHODS {
                let operation = self.followed(&item[method]);
                if !operation.is_object() {
                    continue;
                }
                if steps.len() == super::MOST_STEPS {
                    self.lost(
                        format!("what follows {} operations", super::MOST_STEPS),
                        "a workload has no more steps",
                    );
                    return steps;
                }
                let (other, base) = self
                    .server_of(item, operation)
                    .unwrap_or_else(|| (server.cloned(), base.to_owned()));
                let step = self.step(&base, name, method, item, operation);
                steps.extend(step.map(|step| (other.unwrap_or_default(), step)));
            }
        }
        steps
    }

    fn unknown_operations(&self, name: &str, item: &Value) {
        for key in item.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
            if !METHODS.contains(&key) && !OF_PATHS.contains(&key) && !key.starts_with("x-") {
                self.lost(
                    format!("`{}` of {}", shortened(key), shortened(name)),
                    "it is not a known operation",
                );
            }
        }
    }

    /// Returns the server, and the beginning of every path.
    fn server(&self) -> (Option<String>, String) {
        if let Some(server) = self.first_server(&self.document["servers"], "the server") {
            return server;
        }
        let schemes = self.document["schemes"].as_array().map(Vec::as_slice).unwrap_or_default();
        if schemes.len() > 1 {
            self.decided("the scheme", "the first of several");
        }
        let scheme = schemes.first().and_then(Value::as_str).unwrap_or("http");
        let url = self.document["host"].as_str().map(|host| format!("{scheme}://{host}"));
        let server = url.as_ref().and_then(|url| split_url(url));
        if let (Some(url), None) = (&url, &server) {
            self.lost(format!("the server `{}`", shortened(url)), "it is not an HTTP address");
        }
        (
            server.map(|(server, _)| server),
            self.document["basePath"].as_str().unwrap_or_default().trim_end_matches('/').to_owned(),
        )
    }

    /// Returns the server of an operation or a path that has its own.
    fn server_of(&self, item: &Value, operation: &Value) -> Option<(Option<String>, String)> {
        let of =
            |of: &Value| self.first_server(&of["servers"], "the server of a path or an operation");
        let (server, base) = of(operation).or_else(|| of(item))?;
        // A server without an address means that of the description.
        Some((server.or_else(|| self.server().0), base))
    }

    fn first_server(&self, servers: &Value, what: &str) -> Option<(Option<String>, String)> {
        let servers = servers.as_array().map(Vec::as_slice).unwrap_or_default();
        let first = servers.first()?;
        if servers.len() > 1 {
            self.decided(what, "the first of several");
        }
        let mut url = first["url"].as_str().unwrap_or_default().to_owned();
        for (name, variable) in first["variables"].as_object().into_iter().flatten() {
            let usual = plain(&variable["default"]);
            if !variable["default"].is_null() {
                self.decided(
                    format!("`{}` of {what}", shortened(name)),
                    &format!("its default, `{}`", shortened(&usual)),
                );
                url = url.replace(&format!("{{{name}}}"), &usual);
            }
        }
        if userinfo(&url).is_some() {
            self.lost(format!("the user in {what}"), "add the header `authorization`");
        }
        let found = split_url(&url);
        if found.is_none() && url.contains("://") {
            self.lost(
                format!("{what} `{}`", shortened(&url)),
                "it is not an HTTP address, or holds a variable without a default",
            );
            let rest = url.split_once("://").map_or("", |(_, rest)| rest);
            let base = rest.find('/').map_or("", |at| &rest[at..]);
            return Some((None, base.trim_end_matches('/').to_owned()));
        }
        let (server, base) = found.map_or((None, url), |(server, base)| (Some(server), base));
        Some((server, base.trim_end_matches('/').to_owned()))
    }

    fn step(
        &self,
        base: &str,
        name: &str,
        method: &str,
        item: &Value,
        operation: &Value,
    ) -> Option<Step> {
        let what = format!("{} {}", method.to_uppercase(), shortened(name));
        self.what.replace(what.clone());
        let Some((status, response)) = self.correct_response(operation) else {
            self.lost(what, "no response from 200 to 399 is described");
            return None;
        };
        self.room.set(ROOM);
        self.is_short.set(false);
        if base.len() + name.len() > ROOM {
            self.lost(what, format!("its path is longer than {} KiB", ROOM >> 10));
            return None;
        }
        let mut step =
            Step { method: method.to_uppercase(), answer: answer(status), ..Step::default() };
        step.path = path(Template::fixed(format!("{base}{name}")));
        let target = self.parameters(item, operation, format!("{base}{name}"), &mut step)?;
        step.path = path(Template::fixed(target));
        self.body(operation, &mut step);
        if self.is_short.get() {
            let why = format!(
                "they are nested deeper than {DEEPEST_EXAMPLE}, or exceed {} KiB in all: the simplest that its schemas allow is sent",
                ROOM >> 10
            );
            self.lost(format!("examples and defaults of {what}"), why);
        }
        self.beyond_requests(operation, &what);
        self.checks(response, &what, &mut step);
        self.decided(
            "values",
            "examples and defaults of the description, or the simplest that its schemas allow",
        );
        Some(step)
    }

    /// Notes what an operation has that is not part of a request.
    fn beyond_requests(&self, operation: &Value, what: &str) {
        let secured =
            operation.get("security").or(self.document.get("security")).and_then(Value::as_array);
        if secured.is_some_and(|all| {
            !all.is_empty() && !all.iter().any(|one| one.as_object().is_some_and(Map::is_empty))
        }) {
            self.lost(
                format!("the security of {what}"),
                "a description contains no secret: add the header that it requires",
            );
        }
        if operation["callbacks"].as_object().is_some_and(|all| !all.is_empty()) {
            self.lost(format!("the callbacks of {what}"), "the server makes these requests");
        }
    }

    /// Adds a check for the fields that the response must have.
    fn checks(&self, response: &Value, what: &str, step: &mut Step) {
        let json = response["content"]
            .as_object()
            .into_iter()
            .flatten()
            .find(|(kind, _)| kind.contains("json"));
        let schema = json.map_or(&response["schema"], |(_, media)| &media["schema"]);
        let schema = self.whole(schema, 0);
        let required =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if step.method != "HEAD" && (schema["type"].is_null() || schema["type"] == "object") {
            let present =
                required.filter(|field| self.goes(&schema["properties"][*field], Way::Response));
            step.answer.pointers = present
                .map(|field| (format!("/{}", pointer_token(field)), Wanted::Present))
                .collect();
        }
        for (name, _) in response["headers"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, header)| header["required"].as_bool() == Some(true))
        {
            self.lost(
                format!("the header `{}` of the response to {what}", shortened(name)),
                "whether a header is present is not checked",
            );
        }
    }

    /// Returns the lowest correct status, with its response.
    fn correct_response<'s>(&self, operation: &'s Value) -> Option<(Statuses, &'s Value)>
    where
        'd: 's,
    {
        let responses = operation["responses"].as_object()?;
        let mut all: Vec<_> = responses
            .iter()
            .filter_map(|(status, response)| {
                Some((Statuses::parse(&status.to_lowercase()).ok()?, response))
            })
            .collect();
        all.sort_by_key(|(status, _)| status.from);
        let right = all.into_iter().find(|(status, _)| status.to < 400);
        let right = right.or_else(|| {
            responses.get("default").map(|response| (Statuses { from: 200, to: 299 }, response))
        });
        right.map(|(status, response)| (status, self.followed(response)))
    }

    /// Puts parameters into the headers and the body of a step. Returns the target with the
    /// parameters of the path and the query.
    fn parameters(
        &self,
        item: &Value,
        operation: &Value,
        mut target: String,
        step: &mut Step,
    ) -> Option<String> {
        let what = self.what.borrow().clone();
        let (mut query, mut cookies, mut form) = (Vec::new(), Vec::new(), Vec::new());
        let all = self.all_parameters(item, operation);
        for parameter in &all {
            let name = parameter["name"].as_str().unwrap_or_default();
            let place = parameter["in"].as_str().unwrap_or_default();
            let at = format!("`{}` of {what}", shortened(name));
            if place == "body" {
                self.body_of_version_2(parameter, operation, step);
                continue;
            }
            if !self.is_sent(parameter, &at) {
                continue;
            }
            if place == "formData" {
                form.push(parameter);
                continue;
            }
            let (value, style) = self.styled(parameter, place, &at);
            match place {
                "path" => {
                    target = target.replace(&format!("{{{name}}}"), &in_path(name, &value, &style))
                }
                "query" => query.extend(pairs(name, &value, &style)),
                "cookie" => cookies.extend(pairs(name, &value, &style)),
                _ => self.header(step, name, in_header(&value, &style)),
            }
        }
        if !cookies.is_empty() {
            self.header(step, "cookie", cookies.join("; "));
        }
        self.form_of_version_2(&form, operation, step);
        if target.contains('{') {
            self.lost(what, "its path holds a parameter that is not described");
            return None;
        }
        let separator = if target.contains('?') { "&" } else { "?" };
        Some(if query.is_empty() {
            target
        } else {
            format!("{target}{separator}{}", query.join("&"))
        })
    }

    fn header(&self, step: &mut Step, name: &str, value: String) {
        add_header(step, name, Template::fixed(value), &mut self.notes.borrow_mut().lost);
    }

    /// The parameters of the path and of the operation; those of the operation replace others of
    /// the same name and place.
    fn all_parameters(&self, item: &Value, operation: &Value) -> Vec<Value> {
        let of = |of: &Value| {
            of["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| self.followed(one).clone())
                .collect::<Vec<_>>()
        };
        let (around, own) = (of(item), of(operation));
        let is_same = |a: &Value, b: &Value| a["name"] == b["name"] && a["in"] == b["in"];
        around
            .into_iter()
            .filter(|outer| !own.iter().any(|inner| is_same(outer, inner)))
            .chain(own.iter().cloned())
            .collect()
    }

    /// Decides whether a parameter is sent, and notes why if it is not.
    fn is_sent(&self, parameter: &Value, at: &str) -> bool {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        if !["path", "query", "header", "cookie", "formData"].contains(&place) {
            self.lost(at, format!("`{}` is not a place for parameters", shortened(place)));
            return false;
        }
        if parameter["required"].as_bool() != Some(true) && place != "path" {
            self.decided(format!("the {place} parameter {at}"), "it is optional, and left out");
            return false;
        }
        if place == "header" && self.is_described_elsewhere(name) {
            self.decided(
                format!("the header parameter {at}"),
                "OpenAPI 3 ignores this parameter: bodies, responses and security describe it",
            );
            return false;
        }
        true
    }

    /// The value of a parameter, and how it is serialized.
    fn styled(&self, parameter: &Value, place: &str, at: &str) -> (Value, Style) {
        let value = self.parameter(parameter, at);
        let style = Style::of_parameter(parameter, place);
        // A parameter with `content` is sent as JSON.
        let value =
            if parameter["content"].is_object() { Value::String(value.to_string()) } else { value };
        if !is_defined(&style, &value) {
            let why = format!(
                "`{}` has no rule for such a value: it is sent as JSON",
                shortened(&style.name)
            );
            self.lost(format!("the style of {at}"), why);
        }
        (value, style)
    }

    fn is_described_elsewhere(&self, header: &str) -> bool {
        let is_version_3 = self.document.get("openapi").is_some();
        is_version_3
            && ["accept", "content-type", "authorization"]
                .iter()
                .any(|name| header.eq_ignore_ascii_case(name))
    }

    fn parameter(&self, parameter: &Value, at: &str) -> Value {
        let of_content = parameter["content"].as_object().and_then(|all| all.values().next());
        let holder = of_content.unwrap_or(parameter);
        let example = self
            .example_of_media(holder)
            .or_else(|| parameter.get("x-example").filter(|example| self.fits(example)).cloned());
        let schema = holder.get("schema").unwrap_or(parameter);
        example.unwrap_or_else(|| self.example(schema, Way::Request, at, 0))
    }

    /// Returns the example of a parameter or a body.
    fn example_of_media(&self, media: &Value) -> Option<Value> {
        let named = media["examples"]
            .as_object()
            .and_then(|all| all.values().next())
            .map(|example| self.followed(example));
        if named.is_some_and(|named| {
            named.get("value").is_none() && named.get("externalValue").is_some()
        }) {
            self.lost(
                format!("`externalValue` of {}", self.what.borrow()),
                "examples of other files are not read",
            );
        }
        let example = media.get("example").or(named.map(|named| &named["value"]));
        example.filter(|example| !example.is_null() && self.fits(example)).cloned()
    }

    /// Reserves the room that a value needs, and returns whether there was enough.
    fn fits(&self, value: &Value) -> bool {
        let after = room_after(value, self.room.get(), DEEPEST_EXAMPLE);
        after.map_or_else(|| self.is_short.set(true), |room| self.room.set(room));
        after.is_some()
    }
}

/// Returns how much of a room is left after a value, as JSON; `None` if it does not fit or is
/// nested too deeply.
fn room_after(value: &Value, room: usize, deepest: usize) -> Option<usize> {
    let deepest = deepest.checked_sub(1)?;
    match value {
        Value::String(text) => room.checked_sub(text.len() + 2),
        Value::Array(values) => values.iter().try_fold(room.checked_sub(2)?, |room, value| {
            room_after(value, room.checked_sub(1)?, deepest)
        }),
        Value::Object(fields) => {
            let after = |room: usize, (name, value): (&String, &Value)| {
                room_after(value, room.checked_sub(name.len() + 4)?, deepest)
            };
            fields.iter().try_fold(room.checked_sub(2)?, after)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            room.checked_sub(value.to_string().len())
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
