//! Makes example values for schemas.
//!
//! A value is an example, a default or a listed value of the schema, or else the simplest one that
//! its keywords allow. `merge.rs` first combines the parts of a schema, `bounds.rs` finds numbers,
//! and `pattern.rs` finds texts. Start with [`Api::example`].

use super::bounds::Bounds;
use super::merge::BROKEN;
use super::{Api, DEEPEST, pattern};
use serde_json::{Map, Number, Value, json};

/// The most items of a list.
const MOST_ITEMS: u64 = 1_000;

/// The most fields that are added to an object to reach its minimum.
const MOST_FIELDS: usize = 1_000;

/// Keywords that are not supported. A value may violate them.
const NOT_FOLLOWED: [&str; 12] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "$dynamicRef",
];

/// An example of each format of strings.
const FORMATS: [(&str, &str); 30] = [
    ("date", "2020-01-01"),
    ("date-time", "2020-01-01T00:00:00Z"),
    ("time", "00:00:00Z"),
    ("duration", "P1D"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
    ("guid", "00000000-0000-4000-8000-000000000000"),
    ("email", "a@example.com"),
    ("idn-email", "a@example.com"),
    ("hostname", "example.com"),
    ("idn-hostname", "example.com"),
    ("ip", "192.0.2.1"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "http://example.com/"),
    ("url", "http://example.com/"),
    ("iri", "http://example.com/"),
    ("uri-reference", "/a"),
    ("iri-reference", "/a"),
    ("uri-template", "/a"),
    ("json-pointer", "/a"),
    ("relative-json-pointer", "0"),
    ("regex", "a"),
    ("byte", "YQ=="),
    ("base64", "YQ=="),
    ("base64url", "YQ=="),
    ("int32", "1"),
    ("int64", "1"),
    ("decimal", "1"),
    ("double", "1"),
    ("float", "1"),
];

/// Formats that any text satisfies.
const ANY_TEXT: [&str; 4] = ["binary", "password", "string", "char"];

/// Direction of a value: some fields are only in requests, some only in responses.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    Request,
    Response,
}

/// Writes a number without a fraction as an integer.
fn of_number(number: f64) -> Option<Value> {
    let whole = number.fract() == 0.0 && number.abs() < 9.0e15;
    if whole { Some(json!(number as i64)) } else { Number::from_f64(number).map(Value::Number) }
}

impl Api<'_> {
    /// Makes a value for a schema. `at` names its place in messages.
    pub(super) fn example(&self, schema: &Value, way: Way, at: &str, depth: usize) -> Value {
        self.nth_example(schema, way, at, depth, 0)
    }

    fn nth_example(&self, schema: &Value, way: Way, at: &str, depth: usize, nth: u64) -> Value {
        let left = self.left.get();
        if depth > DEEPEST || left == 0 {
            self.missed(
                at,
                "schemas",
                &format!("they are nested deeper than {DEEPEST}, or too many: null is sent"),
            );
            return Value::Null;
        }
        self.left.set(left - 1);
        let schema = &*self.whole(schema, depth);
        for keyword in schema[BROKEN].as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.missed(
                at,
                &format!("`{keyword}`"),
                "combined schemas contradict each other: the last one is used",
            );
        }
        if let Some(value) = self.stated_value(schema, at, nth) {
            return value;
        }
        for keyword in NOT_FOLLOWED {
            if schema.get(keyword).is_some_and(|value| *value != Value::Bool(true)) {
                self.missed(
                    at,
                    &format!("`{keyword}`"),
                    "it is not supported: the value may violate it",
                );
            }
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let has = |names: &[&str]| names.iter().any(|name| schema.get(name).is_some());
        match kinds.iter().find(|kind| **kind != "null").or(kinds.first()) {
            Some(&"integer") => self.number(schema, true, at, nth),
            Some(&"number") => self.number(schema, false, at, nth),
            Some(&"boolean") => json!(nth == 0),
            Some(&"null") => Value::Null,
            Some(&"array") => self.array(schema, way, at, depth),
            Some(&"string" | &"file") => self.string(schema, at, nth),
            None if has(&["items", "prefixItems", "minItems"]) => {
                self.array(schema, way, at, depth)
            }
            None if has(&["pattern", "minLength", "maxLength", "format"]) => {
                self.string(schema, at, nth)
            }
            None if has(&[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
            ]) =>
            {
                self.number(schema, false, at, nth)
            }
            _ => self.object(schema, way, at, depth),
        }
    }

    /// Returns a value that the schema itself has: an example, a default, or a value of its list.
    fn stated_value(&self, schema: &Value, at: &str, nth: u64) -> Option<Value> {
        let one = ["example", "default"]
            .into_iter()
            .find_map(|name| schema.get(name).filter(|value| nth == 0 && self.fits(value)));
        let one =
            one.or_else(|| schema["examples"].get(nth as usize).filter(|value| self.fits(value)));
        if one.is_some() {
            return one.cloned();
        }
        if let Some(only) = schema.get("const").filter(|value| self.fits(value)) {
            if !self.holds(schema, only, 0) {
                self.missed(at, "`const`", "it violates other keywords of the schema");
            }
            return Some(only.clone());
        }
        let all = schema["enum"].as_array().filter(|all| !all.is_empty())?;
        let mut fitting = all.iter().filter(|value| self.holds(schema, value, 0));
        let found = fitting.nth(nth as usize).or_else(|| {
            self.missed(
                at,
                "`enum`",
                "none of its values satisfies the other keywords of the schema",
            );
            all.get(nth as usize).or(all.first())
        });
        found.filter(|value| self.fits(value)).cloned()
    }

    fn number(&self, schema: &Value, is_whole: bool, at: &str, nth: u64) -> Value {
        let bounds = Bounds::of_schema(schema, is_whole);
        let least = &schema["minimum"];
        let found = bounds.number(nth as f64).and_then(|number| {
            // The written number, because a float may not have all its digits.
            let is_least = nth == 0 && least.as_f64() == Some(number);
            if is_least && (least.is_i64() || least.is_u64()) {
                Some(least.clone())
            } else {
                of_number(number)
            }
        });
        found.unwrap_or_else(|| {
            self.missed(at, "the bounds", "no number that fits them is found: 1 is sent");
            json!(1)
        })
    }

    fn string(&self, schema: &Value, at: &str, nth: u64) -> Value {
        let (least, most) = (
            schema["minLength"].as_u64().unwrap_or(0) as usize,
            schema["maxLength"].as_u64().unwrap_or(u64::MAX) as usize,
        );
        let format = schema["format"].as_str();
        let known = format.and_then(|format| {
            FORMATS.iter().find(|(name, _)| *name == format).map(|(_, text)| (*text).to_owned())
        });
        let text = match (schema["pattern"].as_str(), format) {
            (Some(pattern), _) => {
                let fitting = known.filter(|text| {
                    regex_lite::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
                });
                if let Some(format) =
                    format.filter(|format| fitting.is_none() && !ANY_TEXT.contains(format))
                {
                    self.missed(
                        at,
                        "`format`",
                        &format!(
                            "the text matches the `pattern`, but may not be a valid `{}`",
                            super::shortened(format)
                        ),
                    );
                }
                let made = fitting.or_else(|| pattern::text(pattern, least, most));
                made.ok_or((
                    "`pattern`",
                    format!("no text that `{}` matches is found", super::shortened(pattern)),
                ))
            }
            (None, Some(format)) if known.is_none() && !ANY_TEXT.contains(&format) => {
                Err(("`format`", format!("`{}` is not known", super::shortened(format))))
            }
            (None, _) => Ok(known.unwrap_or_default()),
        };
        let text = text.unwrap_or_else(|(keyword, why)| {
            self.missed(at, keyword, &format!("{why}: another text is sent"));
            String::new()
        });
        let is_any = text.is_empty() && schema["pattern"].is_null();
        let text = if is_any {
            "a".repeat(least.max(usize::from(most > 0)).min(most).min(super::ROOM))
        } else {
            text
        };
        let text = if nth > 0 && is_any { numbered(&text, nth, most) } else { text };
        let length = text.chars().count();
        if !(least..=most).contains(&length) {
            self.missed(
                at,
                "`minLength` and `maxLength`",
                &format!("the text that is sent has {length} characters"),
            );
        }
        let value = json!(text);
        if self.fits(&value) { value } else { json!("a") }
    }

    fn array(&self, schema: &Value, way: Way, at: &str, depth: usize) -> Value {
        let first = schema["prefixItems"].as_array().map(Vec::as_slice).unwrap_or_default();
        let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
        let wanted =
            schema["minItems"].as_u64().unwrap_or(0).max(1).max(first.len() as u64).min(most);
        if wanted > MOST_ITEMS {
            self.missed(at, "`minItems`", &format!("a list gets at most {MOST_ITEMS} items"));
        }
        let is_unique = schema["uniqueItems"].as_bool() == Some(true);
        let mut all: Vec<Value> = Vec::new();
        for n in 0..wanted.min(MOST_ITEMS) {
            let item = first.get(n as usize).unwrap_or(&schema["items"]);
            let value = self.nth_example(
                item,
                way,
                &format!("{at}/{n}"),
                depth + 1,
                if is_unique { n } else { 0 },
            );
            if is_unique && all.contains(&value) {
                self.missed(at, "`uniqueItems`", "not enough different values are found");
                break;
            }
            all.push(value);
        }
        if (all.len() as u64) < schema["minItems"].as_u64().unwrap_or(0).min(MOST_ITEMS) {
            self.missed(at, "`minItems`", &format!("the list has {} items", all.len()));
        }
        Value::Array(all)
    }

    /// Makes an object of the fields that it must have, or of all fields if none is required.
    fn object(&self, schema: &Value, way: Way, at: &str, depth: usize) -> Value {
        let properties = schema["properties"].as_object();
        let required = required_fields(schema);
        let least = schema["minProperties"].as_u64().unwrap_or(0) as usize;
        let most = schema["maxProperties"].as_u64().unwrap_or(u64::MAX) as usize;
        let (mut fields, optional) = self.described_fields(schema, &required, way, at, depth);
        let is_closed = schema["additionalProperties"].as_bool() == Some(false);
        let add = |fields: &mut Map<String, Value>, name: String| {
            let place = format!("{at}/{name}");
            let value = self.example(&schema["additionalProperties"], way, &place, depth + 1);
            fields.insert(name, value);
        };
        let is_unknown = |name: &&&str| properties.is_none_or(|all| !all.contains_key(**name));
        for name in required.iter().filter(is_unknown) {
            if is_closed {
                self.missed(
                    at,
                    "`required`",
                    &format!("`{}` is both required and forbidden", super::shortened(name)),
                );
            }
            add(&mut fields, (*name).to_owned());
        }
        while fields.len() < least.min(MOST_FIELDS) && !is_closed {
            let name = format!("field-{}", fields.len() + 1);
            add(&mut fields, name);
        }
        if !(least..=most).contains(&fields.len()) {
            self.missed(
                at,
                "`minProperties` and `maxProperties`",
                &format!("the object has {} fields", fields.len()),
            );
        }
        if !optional.is_empty() && way == Way::Request {
            self.decided(format!("fields that may be left out of {at}"), &optional.join(", "));
        }
        // In the order of the description.
        let order =
            |name: &String| properties.into_iter().flatten().position(|(known, _)| known == name);
        let mut sorted: Vec<(String, Value)> = fields.into_iter().collect();
        sorted.sort_by_key(|(name, _)| order(name).unwrap_or(usize::MAX));
        Value::Object(sorted.into_iter().collect())
    }

    /// Makes the fields that a schema describes, and lists those that are left out.
    fn described_fields(
        &self,
        schema: &Value,
        required: &[&str],
        way: Way,
        at: &str,
        depth: usize,
    ) -> (Map<String, Value>, Vec<String>) {
        let known = || schema["properties"].as_object().into_iter().flatten();
        let none_must = schema["required"].as_array().is_none_or(Vec::is_empty);
        let least = schema["minProperties"].as_u64().unwrap_or(0) as usize;
        let most = schema["maxProperties"].as_u64().unwrap_or(u64::MAX) as usize;
        let (mut fields, mut optional) = (Map::new(), Vec::new());
        // Required fields come first, in case there is not enough room for all.
        let mut ordered: Vec<(&String, &Value)> =
            known().filter(|(name, _)| required.contains(&name.as_str())).collect();
        ordered.extend(known().filter(|(name, _)| !required.contains(&name.as_str())));
        for (name, field) in ordered {
            let is_required = required.contains(&name.as_str());
            if !self.goes(field, way) {
                self.decided(
                    format!("`readOnly` and `writeOnly` of {at}"),
                    "such fields are only in responses, or only in requests",
                );
                continue;
            }
            let is_taken = is_required || none_must || fields.len() < least;
            if is_taken
                && fields.len() < most.max(usize::from(is_required))
                && self.fits(&json!(name))
            {
                fields.insert(
                    name.clone(),
                    self.example(field, way, &format!("{at}/{name}"), depth + 1),
                );
            } else {
                optional.push(format!("`{name}`"));
            }
        }
        (fields, optional)
    }

    /// Returns whether a field occurs in this direction.
    pub(super) fn goes(&self, field: &Value, way: Way) -> bool {
        let schema = self.whole(field, 0);
        let other = if way == Way::Request { "readOnly" } else { "writeOnly" };
        schema[other].as_bool() != Some(true)
    }
}

/// The names of the fields that an object must have, with those that they require.
fn required_fields(schema: &Value) -> Vec<&str> {
    let mut required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, more) in schema["dependentRequired"].as_object().into_iter().flatten() {
        if required.contains(&name.as_str()) || required.is_empty() {
            required.extend(more.as_array().into_iter().flatten().filter_map(Value::as_str));
        }
    }
    required
}

/// Makes one of several different texts, of the same length if possible.
fn numbered(text: &str, nth: u64, most: usize) -> String {
    let digits = nth.to_string();
    let kept = text.len().min(most).saturating_sub(digits.len());
    format!("{}{digits}", &text[..kept])
}
