//! Merges the parts of a schema into one: references, `allOf`, `oneOf` and `anyOf`.
//!
//! Where parts contradict each other, the later one wins, and the merged schema lists the keyword
//! in [`BROKEN`]. Start with [`Api::whole`].

use super::{Api, DEEPEST};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Keywords for readers of a description, which do not restrict a value.
const OF_PEOPLE: [&str; 14] = [
    "title",
    "description",
    "example",
    "examples",
    "default",
    "deprecated",
    "externalDocs",
    "xml",
    "discriminator",
    "nullable",
    "$comment",
    "$id",
    "$defs",
    "$schema",
];

/// The key of a merged schema that lists the keywords on which its parts contradict each other.
pub const BROKEN: &str = "x-faceoff-broken";

/// Combines what two schemas demand by a keyword. Returns false if no value can satisfy both.
fn both(name: &str, known: &mut Value, value: &Value) -> bool {
    let order =
        value.as_f64().zip(known.as_f64()).and_then(|(value, known)| value.partial_cmp(&known));
    let wanted = match name {
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            Some(Ordering::Greater)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            Some(Ordering::Less)
        }
        _ => None,
    };
    match (name, &mut *known, value) {
        (_, known, value) if wanted.is_some() && order.is_some() => {
            if order == wanted {
                known.clone_from(value);
            }
        }
        ("properties", Value::Object(known), Value::Object(more)) => {
            for (name, field) in more {
                let field = known
                    .get(name)
                    .filter(|known| *known != field)
                    .map_or(field.clone(), |known| json!({ "allOf": [known, field] }));
                known.insert(name.clone(), field);
            }
        }
        ("required", Value::Array(known), Value::Array(more)) => {
            let new: Vec<Value> =
                more.iter().filter(|name| !known.contains(name)).cloned().collect();
            known.extend(new);
        }
        ("items", known @ Value::Object(_), Value::Object(_)) => {
            *known = json!({ "allOf": [known, value] })
        }
        (
            "uniqueItems" | "readOnly" | "writeOnly" | "exclusiveMinimum" | "exclusiveMaximum",
            Value::Bool(known),
            Value::Bool(value),
        ) => *known |= value,
        ("type", Value::String(known), Value::String(value))
            if [known.as_str(), value] == ["number", "integer"] =>
        {
            known.clone_from(value)
        }
        ("type", Value::String(known), Value::String(value))
            if [known.as_str(), value] == ["integer", "number"] => {}
        ("enum", Value::Array(known), Value::Array(value)) => {
            known.retain(|one| value.contains(one));
            return !known.is_empty();
        }
        (name, ..) if OF_PEOPLE.contains(&name) || name.starts_with("x-") => {
            known.clone_from(value)
        }
        _ => return false,
    }
    true
}

impl<'d> Api<'d> {
    /// Returns a schema with everything that it refers to and is composed of.
    pub(super) fn whole<'s>(&self, schema: &'s Value, depth: usize) -> Cow<'s, Value>
    where
        'd: 's,
    {
        let is_plain = |schema: &Value| {
            ["$ref", "allOf", "oneOf", "anyOf"].iter().all(|name| schema.get(name).is_none())
        };
        let followed = self.followed(schema);
        if is_plain(schema) || depth > DEEPEST || self.left.get() == 0 {
            return Cow::Borrowed(followed);
        }
        self.left.set(self.left.get() - 1);
        let mut merged = Map::new();
        if !std::ptr::eq(followed, schema) {
            self.merge(&mut merged, &self.whole(followed, depth + 1));
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.merge(&mut merged, &self.whole(part, depth + 1));
        }
        let choice = ["oneOf", "anyOf"]
            .into_iter()
            .find_map(|name| schema[name].as_array().map(|all| (name, all)));
        if let Some((name, all)) = choice {
            let first = all.iter().find(|one| one["type"] != "null").or(all.first());
            if all.len() > 1 {
                self.decided(format!("`{name}` of schemas"), "the first schema is taken");
            }
            if let Some(first) = first {
                self.merge(&mut merged, &self.whole(first, depth + 1));
                self.discriminate(&mut merged, &schema["discriminator"], first);
            }
        }
        let own = schema
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !["$ref", "allOf", "oneOf", "anyOf"].contains(&name.as_str()));
        let own: Map<String, Value> =
            own.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.merge(&mut merged, &Value::Object(own));
        Cow::Owned(Value::Object(merged))
    }

    /// Adds the field that tells which of several schemas a value has.
    fn discriminate(&self, merged: &mut Map<String, Value>, discriminator: &Value, chosen: &Value) {
        let (Some(field), Some(reference)) =
            (discriminator["propertyName"].as_str(), chosen["$ref"].as_str())
        else {
            return;
        };
        let mapped = discriminator["mapping"]
            .as_object()
            .into_iter()
            .flatten()
            .find(|(_, to)| to.as_str() == Some(reference));
        let name = mapped.map_or_else(
            || reference.rsplit('/').next().unwrap_or_default(),
            |(name, _)| name.as_str(),
        );
        let tag = json!({ "properties": { field: { "const": name } }, "required": [field] });
        self.merge(merged, &tag);
    }

    /// Merges another schema for the same value. Keywords that contradict each other are collected
    /// in [`BROKEN`].
    fn merge(&self, merged: &mut Map<String, Value>, more: &Value) {
        let mut broken = Vec::new();
        let fields = |of: &Value| {
            of["properties"]
                .as_object()
                .map(|all| all.keys().cloned().collect::<Vec<_>>())
                .unwrap_or_default()
        };
        let known = Value::Object(merged.clone());
        // `additionalProperties` of one schema applies to fields that only the other describes.
        let limits = |one: &Value, other: &Value| {
            let says =
                one.get("additionalProperties").is_some_and(|value| *value != Value::Bool(true));
            says && fields(other).iter().any(|name| !fields(one).contains(name))
        };
        if limits(&known, more) || limits(more, &known) {
            broken.push(json!("additionalProperties"));
        }
        for (name, value) in more.as_object().into_iter().flatten() {
            match merged.get_mut(name) {
                None => drop(merged.insert(name.clone(), value.clone())),
                Some(known) if known == value => {}
                Some(known) => {
                    if !both(name, known, value) {
                        broken.push(json!(name));
                        known.clone_from(value);
                    }
                }
            }
        }
        if !broken.is_empty()
            && let Some(all) = merged.entry(BROKEN).or_insert_with(|| json!([])).as_array_mut()
        {
            all.extend(broken);
        }
    }
}
