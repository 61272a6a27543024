//! Writes bodies of requests: JSON, URL-encoded forms, multipart forms and texts.
//!
//! An operation may list several types of body. JSON is taken first, then forms, then text. Version
//! 2 describes a body as a parameter, version 3 as content by type. What cannot be written is
//! noted. Start with `Api::body`.

use super::super::multipart::{self, Content, Field};
use super::{
    Api, Body, FORM, Step, Style, Template, Value, Way, default_header, is_defined, pairs, plain,
};
use serde_json::json;

impl Api<'_> {
    /// Adds the body of an operation of OpenAPI 3.
    pub(super) fn body(&self, operation: &Value, step: &mut Step) {
        let body = self.followed(&operation["requestBody"]);
        let Some(kinds) = body["content"].as_object().filter(|kinds| !kinds.is_empty()) else {
            return;
        };
        let at = format!("the body of {}", self.what.borrow());
        let plain_kind =
            |kind: &str| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_text = |kind: &str| kind.starts_with("text/") && kind != "text/xml";
        let choices: [&dyn Fn(&str) -> bool; 6] = [
            &|kind| kind == "application/json",
            &|kind| kind.contains("json") || kind == "*/*" || kind == "application/*",
            &|kind| kind == FORM,
            &|kind| kind == "multipart/form-data",
            &is_text,
            &|kind| kind == "application/octet-stream",
        ];
        let found = choices
            .iter()
            .find_map(|is_one| kinds.iter().find(|(kind, _)| is_one(&plain_kind(kind))));
        let Some((kind, media)) = found else {
            let described: Vec<&str> = kinds.keys().map(String::as_str).collect();
            self.lost(
                at,
                format!(
                    "it is none of JSON, forms and texts, but {}",
                    super::shortened(&described.join(", "))
                ),
            );
            return;
        };
        if kinds.len() > 1 {
            self.decided(
                at.clone(),
                &format!("of several types that are described, `{}`", super::shortened(kind)),
            );
        }
        let value = self
            .example_of_media(media)
            .unwrap_or_else(|| self.example(&media["schema"], Way::Request, &at, 0));
        match plain_kind(kind).as_str() {
            FORM => {
                self.form(&value, &media["encoding"], kind, &at, step);
            }
            "multipart/form-data" => {
                let fields = value.as_object().into_iter().flatten();
                let schema = self.whole(&media["schema"], 0);
                let parts = fields.flat_map(|(name, value)| {
                    let property = self.whole(&schema["properties"][name], 0);
                    self.parts(name, value, &property, &media["encoding"][name], &at)
                });
                self.form_of_parts(&parts.collect::<Vec<_>>(), step);
            }
            other => {
                let is_json = other.contains("json") || other.ends_with("/*");
                let kind = if other.ends_with("/*") { "application/json" } else { kind };
                step.body = Body::Text(Template::fixed(if is_json {
                    value.to_string()
                } else {
                    plain(&value)
                }));
                self.typed(kind, step);
            }
        }
    }

    fn typed(&self, kind: &str, step: &mut Step) {
        default_header(step, "content-type", kind, &mut self.notes.borrow_mut().lost);
    }

    /// Writes a URL-encoded form.
    fn form(&self, value: &Value, encoding: &Value, kind: &str, at: &str, step: &mut Step) {
        let Some(fields) = value.as_object() else {
            self.lost(at.to_owned(), "a form has fields, and its example has none");
            return;
        };
        let pairs = fields.iter().flat_map(|(name, value)| {
            let style =
                Style::of_parameter(&json!({ "schema": {}, "style": encoding[name]["style"], "explode": encoding[name]["explode"] }), "query");
            let is_json = encoding[name]["contentType"].as_str().is_some_and(|kind| kind.contains("json"));
            let value = if is_json { Value::String(value.to_string()) } else { value.clone() };
            if !is_defined(&style, &value) {
                self.lost(
                    format!("the style of `{}` of {at}", super::shortened(name)),
                    "forms have no rule for such a value: it is sent as JSON",
                );
            }
            pairs(name, &value, &style)
        });
        step.body = Body::Text(Template::fixed(pairs.collect::<Vec<_>>().join("&")));
        self.typed(kind, step);
    }

    /// Returns the parts of a field: one for each item of a list.
    fn parts(
        &self,
        name: &str,
        value: &Value,
        schema: &Value,
        encoding: &Value,
        at: &str,
    ) -> Vec<Field> {
        if let Value::Array(all) = value {
            let items = self.whole(&schema["items"], 0);
            return all
                .iter()
                .flat_map(|item| self.parts(name, item, &items, encoding, at))
                .collect();
        }
        for header in
            encoding["headers"].as_object().into_iter().flatten().map(|(header, _)| header)
        {
            self.lost(
                format!(
                    "the header `{}` of `{}` of {at}",
                    super::shortened(header),
                    super::shortened(name)
                ),
                "parts have a type, and no other header",
            );
        }
        let is_file = schema["format"] == "binary"
            || schema["type"] == "file"
            || schema.get("contentMediaType").is_some();
        let declared = encoding["contentType"]
            .as_str()
            .or(schema["contentMediaType"].as_str())
            .map(|kind| kind.split(',').next().unwrap_or(kind).trim());
        let kind = match (declared, value) {
            (Some(kind), _) => Some(kind.to_owned()),
            (None, Value::Object(_)) => Some("application/json".to_owned()),
            (None, _) => is_file.then(|| "application/octet-stream".to_owned()),
        };
        vec![Field {
            name: name.to_owned(),
            file_name: is_file.then(|| name.to_owned()),
            kind,
            headers: Vec::new(),
            content: Content::Text(Template::fixed(plain(value))),
        }]
    }

    fn form_of_parts(&self, parts: &[Field], step: &mut Step) {
        let boundary = multipart::new_boundary(parts);
        // A description has no variables, so its parts always make a body.
        step.body = multipart::body(parts, &boundary).unwrap_or_default();
        self.typed(&format!("multipart/form-data; boundary={boundary}"), step);
    }

    /// Returns the types of body that an operation of version 2 accepts.
    fn consumed<'s>(&'s self, operation: &'s Value) -> &'s [Value] {
        operation["consumes"]
            .as_array()
            .or(self.document["consumes"].as_array())
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Adds the body of an operation of version 2, which is a parameter with a schema.
    pub(super) fn body_of_version_2(&self, parameter: &Value, operation: &Value, step: &mut Step) {
        let at = format!("the body of {}", self.what.borrow());
        let kinds = self.consumed(operation);
        let json = kinds.iter().filter_map(Value::as_str).find(|kind| kind.contains("json"));
        if let (None, [first, ..]) = (json, kinds) {
            self.lost(
                at.clone(),
                format!("it is sent as JSON, and described as {}", super::shortened(&plain(first))),
            );
        }
        let value = self.example(&parameter["schema"], Way::Request, &at, 0);
        step.body = Body::Text(Template::fixed(value.to_string()));
        self.typed(json.unwrap_or("application/json"), step);
    }

    /// Adds the fields of a form of version 2.
    pub(super) fn form_of_version_2(
        &self,
        parameters: &[&Value],
        operation: &Value,
        step: &mut Step,
    ) {
        if parameters.is_empty() {
            return;
        }
        let at = format!("the body of {}", self.what.borrow());
        let kinds = self.consumed(operation);
        let has_file = parameters.iter().any(|parameter| parameter["type"] == "file");
        let name = |parameter: &Value| parameter["name"].as_str().unwrap_or_default().to_owned();
        let value = |parameter: &Value| {
            self.parameter(parameter, &format!("`{}` of {at}", super::shortened(&name(parameter))))
        };
        let is_urlencoded = kinds.iter().any(|kind| kind == FORM)
            || !kinds.iter().any(|kind| kind == "multipart/form-data");
        if is_urlencoded && !has_file {
            let pairs = parameters.iter().flat_map(|parameter| {
                pairs(
                    &name(parameter),
                    &value(parameter),
                    &Style::of_parameter(parameter, "formData"),
                )
            });
            step.body = Body::Text(Template::fixed(pairs.collect::<Vec<_>>().join("&")));
            return self.typed(FORM, step);
        }
        let parts = parameters.iter().flat_map(|parameter| {
            self.parts(&name(parameter), &value(parameter), parameter, &Value::Null, &at)
        });
        let parts: Vec<Field> = parts.collect();
        self.form_of_parts(&parts, step);
    }
}
