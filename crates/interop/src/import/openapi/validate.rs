//! Decides whether a value of `enum` or `const` also fits the other keywords of its schema.

use super::bounds::Bounds;
use super::{Api, DEEPEST};
use serde_json::Value;

impl Api<'_> {
    /// Returns whether a listed value also fits the other keywords of its schema.
    pub(super) fn holds(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        if depth > DEEPEST {
            return true;
        }
        let schema = &*self.whole(schema, depth);
        let inside = |schema: &Value, value: &Value| {
            schema.is_null() || self.holds(schema, value, depth + 1)
        };
        let kinds: Vec<&str> = schema["type"]
            .as_str()
            .into_iter()
            .chain(schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str))
            .collect();
        let is_of = |kind: &&str| match *kind {
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            "number" => value.is_number(),
            "string" | "file" => value.is_string(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => value.is_null(),
        };
        let within = |least: &str, most: &str, size: usize| {
            let bound = |name: &str| schema[name].as_u64().map(|bound| bound as usize);
            bound(least).is_none_or(|least| size >= least)
                && bound(most).is_none_or(|most| size <= most)
        };
        let fits = match value {
            Value::Number(number) => {
                let bounds = Bounds::of_schema(schema, false);
                let number = number.as_f64().unwrap_or(f64::NAN);
                bounds.holds(number)
                    && bounds.step.is_none_or(|step| (number / step).fract() == 0.0)
            }
            Value::String(text) => {
                let pattern = schema["pattern"].as_str().is_none_or(|pattern| {
                    regex_lite::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
                });
                within("minLength", "maxLength", text.chars().count()) && pattern
            }
            Value::Array(all) => {
                within("minItems", "maxItems", all.len())
                    && all.iter().all(|item| inside(&schema["items"], item))
            }
            Value::Object(fields) => {
                let required =
                    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let is_open = schema["additionalProperties"].as_bool() != Some(false);
                let keeps = |(name, value): (&String, &Value)| match schema["properties"].get(name)
                {
                    Some(field) => inside(field, value),
                    None => {
                        is_open
                            && (!schema["additionalProperties"].is_object()
                                || inside(&schema["additionalProperties"], value))
                    }
                };
                within("minProperties", "maxProperties", fields.len())
                    && required.into_iter().all(|name| fields.contains_key(name))
                    && fields.iter().all(keeps)
            }
            Value::Null | Value::Bool(_) => true,
        };
        let is_listed = schema["enum"].as_array().is_none_or(|all| all.contains(value))
            && schema.get("const").is_none_or(|one| one == value);
        (kinds.is_empty() || kinds.iter().any(is_of)) && fits && is_listed
    }
}
