//! Descriptions of OpenAPI 3 and 2: a step for every operation, with the examples that stand there.

use super::{Imported, Notes, Part, add_header, answer, encoded, path, shortened, split_url};
use model::experiment::Load;
use model::problem::Problems;
use model::template::Template;
use model::workload::{Body, Statuses, Step, Wanted};
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// How deep schemas and references are followed.
const DEEPEST: usize = 12;
/// How many values are made up for one description.
const MOST_VALUES: usize = 10_000;
/// The most bytes of values that one operation is given: examples that refer to each other would be without end.
const ROOM: usize = 64 << 10;
/// How deep an example is nested at most.
const DEEPEST_EXAMPLE: usize = 32;
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// Reads a document in JSON or YAML; `None` for anything else.
///
/// # Errors
/// A description in YAML, where this build reads none.
pub fn document(text: &str) -> Result<Option<Value>, Problems> {
    let json = serde_json::from_str(text).ok();
    let read = json.map_or_else(|| yaml(text), |value| Ok(Some(value)))?;
    Ok(read.filter(Value::is_object))
}

#[cfg(feature = "openapi-yaml")]
fn yaml(text: &str) -> Result<Option<Value>, Problems> {
    Ok(serde_saphyr::from_str(text).ok())
}

#[cfg(not(feature = "openapi-yaml"))]
fn yaml(text: &str) -> Result<Option<Value>, Problems> {
    let is_description = |line: &str| line.starts_with("openapi:") || line.starts_with("swagger:");
    match text.lines().any(is_description) {
        true => Err(crate::features::missing("openapi-yaml", "read YAML; the same description in JSON is read without it")),
        false => Ok(None),
    }
}

/// Reads a description.
pub fn import(document: &Value) -> Result<Imported, Problems> {
    let mut imported = Imported::default();
    let api = Api { document, left: Cell::new(MOST_VALUES), room: Cell::new(0), is_short: Cell::new(false) };
    let (server, base) = api.server(&mut imported.taken);
    let mut steps = Vec::new();
    'all: for (name, item) in document["paths"].as_object().into_iter().flatten() {
        let item = api.followed(item);
        for method in METHODS {
            let operation = api.followed(&item[method]);
            if !operation.is_object() {
                continue;
            }
            if steps.len() == super::MOST_STEPS {
                imported.lost.add(format!("what follows {} operations", super::MOST_STEPS), "a workload is not given more steps");
                break 'all;
            }
            steps.extend(api.step(&base, name, method, item, operation, &mut imported));
        }
    }
    if steps.is_empty() {
        return Err(Problems::plain(
            "the description holds no operation that can be asked",
            "it needs `paths` with operations and their answers",
        ));
    }
    let mut part = Part::new(steps, Load::closed(64));
    part.workload.summary = format!("every operation of {}", document["info"]["title"].as_str().unwrap_or("the description"));
    part.server = server;
    imported.parts.push(part);
    imported.taken.add("the load", "a description says none: as fast as answered on 64 connections");
    imported.taken.add(
        "the order",
        "operations are asked in the order of the file: put them so that what is read has been made before, and take captures",
    );
    Ok(imported)
}

struct Api<'d> {
    document: &'d Value,
    /// How many values may still be made up: schemas that name themselves would be without end.
    left: Cell<usize>,
    /// How many bytes of values the operation may still be given.
    room: Cell<usize>,
    /// Whether something was left out of it for want of room.
    is_short: Cell<bool>,
}

impl<'d> Api<'d> {
    /// What a reference within the document leads to.
    fn followed(&self, value: &'d Value) -> &'d Value {
        let mut value = value;
        for _ in 0..DEEPEST {
            let Some(reference) = value["$ref"].as_str() else { return value };
            value = reference.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer)).unwrap_or(&Value::Null);
        }
        &Value::Null
    }

    /// The server, and what every path begins with.
    fn server(&self, taken: &mut Notes) -> (Option<String>, String) {
        let servers = self.document["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
        if servers.len() > 1 {
            taken.add("the server", "the first of several");
        }
        let Some(first) = servers.first() else {
            let scheme = self.document["schemes"][0].as_str().unwrap_or("http");
            let server = self.document["host"].as_str().and_then(|host| split_url(&format!("{scheme}://{host}")));
            return (
                server.map(|(server, _)| server),
                self.document["basePath"].as_str().unwrap_or_default().trim_end_matches('/').to_owned(),
            );
        };
        let mut url = first["url"].as_str().unwrap_or_default().to_owned();
        for (name, variable) in first["variables"].as_object().into_iter().flatten() {
            url = url.replace(&format!("{{{name}}}"), variable["default"].as_str().unwrap_or_default());
        }
        let (server, base) = split_url(&url).map_or((None, url.clone()), |(server, base)| (Some(server), base));
        (server, base.trim_end_matches('/').to_owned())
    }

    fn step(&self, base: &str, name: &str, method: &str, item: &'d Value, operation: &'d Value, imported: &mut Imported) -> Option<Step> {
        let what = format!("{} {name}", method.to_uppercase());
        let Imported { lost, taken, .. } = imported;
        let Some((status, response)) = self.right_answer(operation) else {
            lost.add(what, "no answer from 200 to 399 is described");
            return None;
        };
        self.room.set(ROOM);
        self.is_short.set(false);
        if base.len() + name.len() > ROOM {
            lost.add(format!("{} {}", method.to_uppercase(), shortened(name)), "its path is longer than 64 KiB");
            return None;
        }
        let mut step = Step { method: method.to_uppercase(), answer: answer(status), ..Step::default() };
        let (mut target, mut query, mut form) = (format!("{base}{name}"), Vec::new(), Vec::new());
        // Those of the operation come last, and count.
        for parameter in [item, operation].into_iter().flat_map(|of| of["parameters"].as_array().into_iter().flatten()) {
            let parameter = self.followed(parameter);
            let named = parameter["name"].as_str().unwrap_or_default();
            let place = parameter["in"].as_str().unwrap_or_default();
            if place == "body" {
                step.body = Body::Text(Template::fixed(self.example(&parameter["schema"], 0).to_string()));
                add_header(&mut step, "content-type", Template::fixed("application/json"), lost);
                continue;
            }
            if parameter["required"].as_bool() != Some(true) && place != "path" {
                continue;
            }
            let value = self.parameter(parameter);
            match place {
                "path" => target = target.replace(&format!("{{{named}}}"), &encoded(&value)),
                "query" => query.push(format!("{}={}", encoded(named), encoded(&value))),
                "formData" => form.push(format!("{}={}", encoded(named), encoded(&value))),
                "header" => add_header(&mut step, named, Template::fixed(value), lost),
                "cookie" => add_header(&mut step, "cookie", Template::fixed(format!("{named}={value}")), lost),
                _ => {}
            }
        }
        if target.contains('{') {
            lost.add(what, "its path holds a parameter that is not described");
            return None;
        }
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        step.path = path(Template::fixed(target));
        if !form.is_empty() {
            step.body = Body::Text(Template::fixed(form.join("&")));
            add_header(&mut step, "content-type", Template::fixed("application/x-www-form-urlencoded"), lost);
        }
        self.body(operation, &what, &mut step, lost);
        if self.is_short.get() {
            let why =
                "they are nested deeper than 32, or come to more than 64 KiB in all: the simplest that its schemas allow stands there";
            lost.add(format!("examples and defaults of {what}"), why);
        }
        let secured = operation.get("security").or(self.document.get("security")).and_then(Value::as_array);
        if secured.is_some_and(|all| !all.is_empty() && !all.iter().any(|one| one.as_object().is_some_and(Map::is_empty))) {
            lost.add(format!("the security of {what}"), "a description holds no secret: add the header it asks for");
        }
        let schema = self.followed(&response["content"]["application/json"]["schema"]);
        let schema = if schema.is_null() { self.followed(&response["schema"]) } else { schema };
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if method != "head" {
            step.answer.pointers =
                required.map(|field| (format!("/{}", field.replace('~', "~0").replace('/', "~1")), Wanted::Present)).collect();
        }
        taken.add("values", "examples and defaults of the description, or the simplest that its schemas allow");
        Some(step)
    }

    /// The least status that is right, and its description.
    fn right_answer(&self, operation: &'d Value) -> Option<(Statuses, &'d Value)> {
        let responses = operation["responses"].as_object()?;
        let mut all: Vec<_> =
            responses.iter().filter_map(|(status, response)| Some((Statuses::parse(&status.to_lowercase()).ok()?, response))).collect();
        all.sort_by_key(|(status, _)| status.from);
        let right = all.into_iter().find(|(status, _)| status.to < 400);
        let right = right.or_else(|| responses.get("default").map(|response| (Statuses { from: 200, to: 299 }, response)));
        right.map(|(status, response)| (status, self.followed(response)))
    }

    fn body(&self, operation: &'d Value, what: &str, step: &mut Step, lost: &mut Notes) {
        let body = self.followed(&operation["requestBody"]);
        let Some(kinds) = body["content"].as_object() else { return };
        let json = kinds.iter().find(|(kind, _)| kind.contains("json"));
        let form = kinds.iter().find(|(kind, _)| kind.as_str() == "application/x-www-form-urlencoded");
        let Some((kind, media)) = json.or(form) else {
            lost.add(format!("the body of {what}"), "neither JSON nor a form is described");
            return;
        };
        let named = media["examples"].as_object().and_then(|all| all.values().next()).map(|example| &self.followed(example)["value"]);
        let example = media
            .get("example")
            .or(named)
            .filter(|example| !example.is_null() && self.fits(example))
            .cloned()
            .unwrap_or_else(|| self.example(&media["schema"], 0));
        let text = match (&example, json.is_some()) {
            (Value::Object(fields), false) => {
                fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(&plain(value)))).collect::<Vec<_>>().join("&")
            }
            (example, _) => example.to_string(),
        };
        step.body = Body::Text(Template::fixed(text));
        add_header(step, "content-type", Template::fixed(kind.as_str()), lost);
    }

    fn parameter(&self, parameter: &'d Value) -> String {
        let named = parameter["examples"].as_object().and_then(|all| all.values().next()).map(|example| &self.followed(example)["value"]);
        let said =
            parameter.get("example").or(parameter.get("x-example")).or(named).filter(|example| !example.is_null() && self.fits(example));
        let schema = parameter.get("schema").unwrap_or(parameter);
        said.map_or_else(|| plain(&self.example(schema, 0)), plain)
    }

    /// Whether there is room for a value, which then takes it.
    fn fits(&self, value: &Value) -> bool {
        let after = room_after(value, self.room.get(), DEEPEST_EXAMPLE);
        after.map_or_else(|| self.is_short.set(true), |room| self.room.set(room));
        after.is_some()
    }

    /// A value as a schema describes it.
    fn example(&self, schema: &'d Value, depth: usize) -> Value {
        let schema = self.followed(schema);
        let left = self.left.get();
        if depth > DEEPEST || left == 0 {
            return Value::Null;
        }
        self.left.set(left - 1);
        for said in ["example", "default", "const"] {
            if let Some(value) = schema.get(said).filter(|value| self.fits(value)) {
                return value.clone();
            }
        }
        if let Some(value) = schema["enum"].get(0).or(schema["examples"].get(0)).filter(|value| self.fits(value)) {
            return value.clone();
        }
        if let Some(first) = schema["oneOf"].get(0).or(schema["anyOf"].get(0)) {
            return self.example(first, depth + 1);
        }
        let kind = schema["type"].as_str().or(schema["type"][0].as_str());
        match kind {
            Some("integer" | "number") => {
                let least = &schema["minimum"];
                if least.is_number() { least.clone() } else { json!(1) }
            }
            Some("boolean") => json!(true),
            Some("array") => json!([self.example(&schema["items"], depth + 1)]),
            Some("string") => json!(match schema["format"].as_str() {
                Some("date") => "2020-01-01",
                Some("date-time") => "2020-01-01T00:00:00Z",
                Some("uuid") => "00000000-0000-4000-8000-000000000000",
                Some("email") => "a@example.com",
                _ => {
                    let text = json!("a".repeat(schema["minLength"].as_u64().unwrap_or(1).clamp(1, 1_000) as usize));
                    return if self.fits(&text) { text } else { json!("a") };
                }
            }),
            _ if schema["properties"].is_object() || schema["allOf"].is_array() => self.object(schema, depth),
            _ => json!({}),
        }
    }

    /// The fields that an object must have; all of them, where none must be there.
    fn object(&self, schema: &'d Value, depth: usize) -> Value {
        let mut fields = Map::new();
        for part in schema["allOf"].as_array().into_iter().flatten() {
            if let Value::Object(more) = self.example(part, depth + 1) {
                fields.extend(more);
            }
        }
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if (required.is_empty() || required.contains(&name.as_str())) && self.fits(&json!(name)) {
                fields.insert(name.clone(), self.example(field, depth + 1));
            }
        }
        Value::Object(fields)
    }
}

/// How much of a room is left with a value in it, as JSON; `None` where it does not fit, or is too deep.
fn room_after(value: &Value, room: usize, deepest: usize) -> Option<usize> {
    let deepest = deepest.checked_sub(1)?;
    match value {
        Value::String(text) => room.checked_sub(text.len() + 2),
        Value::Array(values) => {
            values.iter().try_fold(room.checked_sub(2)?, |room, value| room_after(value, room.checked_sub(1)?, deepest))
        }
        Value::Object(fields) => {
            let after = |room: usize, (name, value): (&String, &Value)| room_after(value, room.checked_sub(name.len() + 4)?, deepest);
            fields.iter().try_fold(room.checked_sub(2)?, after)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => room.checked_sub(value.to_string().len()),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
