//! Finds a value in a JSON body by its pointer (RFC 6901), without building the document.

use super::judgement::Wrong;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A pointer to a place in a JSON document (RFC 6901).
#[derive(Clone)]
pub(super) struct Pointer {
    pub text: String,
    tokens: Vec<String>,
}

impl Pointer {
    pub fn new(text: &str) -> Pointer {
        let tokens = text
            .split('/')
            .skip(1)
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect();
        Pointer { text: text.to_owned(), tokens }
    }

    /// Returns the text of the value at this place, if there is one.
    pub fn find<'t>(&self, text: &'t [u8]) -> Result<Option<&'t str>, Wrong> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let found = AtPath(&self.tokens)
            .deserialize(&mut json)
            .and_then(|found| json.end().map(|()| found));
        found
            .map(|raw| raw.map(RawValue::get))
            .map_err(|error| Wrong::Content(format!("the body is not JSON: {error}")))
    }
}

/// Deserializes the value at the end of a path of tokens.
#[derive(Clone, Copy)]
struct AtPath<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for AtPath<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => <&RawValue as de::Deserialize>::deserialize(json).map(Some),
            _ => json.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for AtPath<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(&self.0[0]))? {
            match is_it {
                true => found = map.next_value_seed(AtPath(&self.0[1..]))?,
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let token = &self.0[0];
        let is_index = token == "0" || !token.starts_with(['0', '+']);
        let wanted = token.parse::<usize>().ok().filter(|_| is_index);
        let mut found = None;
        for index in 0.. {
            if Some(index) == wanted {
                match items.next_element_seed(AtPath(&self.0[1..]))? {
                    Some(there) => found = there,
                    None => break,
                }
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Compares a key with a token.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<bool, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}
