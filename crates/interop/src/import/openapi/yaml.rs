//! Reads YAML 1.2 as JSON.
//!
//! The core schema (YAML 1.2.2, 10.3.2) decides the value of a plain word: `NO` and `on` are texts,
//! `007` is a number. Many libraries follow YAML 1.1, in which these differ.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};
use std::fmt;

/// Reads a document.
///
/// # Errors
/// Text that is not YAML.
pub fn read_yaml(text: &str) -> Result<Value, serde_saphyr::Error> {
    let node: Node = serde_saphyr::from_str_with_options(
        text,
        serde_saphyr::options! { strict_booleans: true },
    )?;
    Ok(node.resolved(text))
}

/// A value with its place.
struct Node {
    value: Kind,
    at: Location,
}

enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    Fields(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        let Spanned { value, defined, .. } = Spanned::deserialize(deserializer)?;
        Ok(Node { value, at: defined })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(OfKind)
    }
}

struct OfKind;

impl<'de> Visitor<'de> for OfKind {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Scalar(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Scalar(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Kind::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Kind, A::Error> {
        let mut all = Vec::new();
        while let Some(field) = fields.next_entry()? {
            all.push(field);
        }
        Ok(Kind::Fields(all))
    }
}

impl Node {
    fn resolved(self, text: &str) -> Value {
        match self.value {
            Kind::List(items) => items.into_iter().map(|item| item.resolved(text)).collect(),
            Kind::Fields(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(name, field)| (name, field.resolved(text)))
                    .collect::<Map<_, _>>(),
            ),
            Kind::Scalar(value) => {
                let span = self.at.span();
                let range = span
                    .byte_offset()
                    .zip(span.byte_len())
                    .map(|(at, length)| at as usize..(at + length) as usize);
                // A tag such as `!!str`, or the indicator of a block, decides the type.
                let before = |at: usize| {
                    text.get(..at)
                        .and_then(|before| before.split_whitespace().next_back())
                        .unwrap_or_default()
                };
                let range = range.filter(|range| !before(range.start).starts_with(['!', '|', '>']));
                let written =
                    range.and_then(|range| text.get(range)).map(str::trim).unwrap_or_default();
                plain(written).unwrap_or(value)
            }
        }
    }
}

/// Returns the value of a plain word; `None` if it is quoted or tagged.
fn plain(word: &str) -> Option<Value> {
    if word.is_empty()
        || word.starts_with(['"', '\'', '|', '>', '!', '&', '*'])
        || word.contains('\n')
    {
        return None;
    }
    match word {
        "null" | "Null" | "NULL" | "~" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(true.into()),
        "false" | "False" | "FALSE" => return Some(false.into()),
        _ => {}
    }
    let is_digits =
        |text: &str, radix: u32| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = word.strip_prefix(prefix).filter(|digits| is_digits(digits, radix)) {
            return u64::from_str_radix(digits, radix).ok().map(Value::from);
        }
    }
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    if is_digits(unsigned, 10) {
        let number = word.strip_prefix('+').unwrap_or(word);
        return number
            .parse::<i64>()
            .map(Value::from)
            .or(number.parse::<u64>().map(Value::from))
            .ok()
            .or_else(|| of_fraction(word));
    }
    let (mantissa, exponent) = unsigned
        .split_once(['e', 'E'])
        .map_or((unsigned, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = [whole, fraction].iter().all(|part| part.is_empty() || is_digits(part, 10))
        && !(whole.is_empty() && fraction.is_empty());
    let is_exponent = exponent.is_none_or(|exponent| {
        is_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent), 10)
    });
    if are_digits && is_exponent {
        return of_fraction(word);
    }
    Some(word.into())
}

fn of_fraction(word: &str) -> Option<Value> {
    word.parse().ok().and_then(Number::from_f64).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::read_yaml;
    use serde_json::json;

    #[test]
    fn plain_words_have_the_values_of_the_core_schema() {
        for (word, value) in [
            ("NO", json!("NO")),
            ("on", json!("on")),
            ("yes", json!("yes")),
            ("y", json!("y")),
            ("True", json!(true)),
            ("tRUE", json!("tRUE")),
            ("007", json!(7)),
            ("-007", json!(-7)),
            ("010", json!(10)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("0b11", json!("0b11")),
            ("1_000", json!("1_000")),
            ("1.50", json!(1.5)),
            ("7.0", json!(7.0)),
            ("1e3", json!(1000.0)),
            (".5", json!(0.5)),
            (".", json!(".")),
            ("~", json!(null)),
            ("2020-01-01", json!("2020-01-01")),
            ("12:30:45", json!("12:30:45")),
            ("\"007\"", json!("007")),
            ("'NO'", json!("NO")),
            ("!!str 007", json!("007")),
            ("a b # c", json!("a b")),
        ] {
            assert_eq!(
                read_yaml(&format!("é: {word}\n")).unwrap(),
                json!({ "é": value }),
                "{word}"
            );
            assert_eq!(read_yaml(&format!("[ {word}\n]")).unwrap(), json!([value]), "{word}");
        }
        assert_eq!(
            read_yaml("a: &x 007\nb: *x\nc: |\n  NO\n200: {NO: on}\n").unwrap(),
            json!({"a": 7, "b": 7, "c": "NO\n", "200": {"NO": "on"}})
        );
        assert!(read_yaml("a: [").is_err());
    }
}
