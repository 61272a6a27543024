//! Writes parameters into paths, queries, headers and cookies, in the styles of OpenAPI.
//!
//! A style says how a list or an object is written: `form`, `simple`, `label`, `matrix`,
//! `deepObject` and others. A value that its style does not define is refused by `is_defined`.
//! Start with `pairs`.

use super::{encoded, plain};
use serde_json::Value;

/// How lists and objects are written.
#[derive(Clone, Debug)]
pub struct Style {
    pub name: String,
    /// Whether each item is written separately.
    pub explodes: bool,
    /// Whether reserved characters of a URL are written literally.
    pub is_reserved: bool,
}

impl Style {
    /// Returns the style of a parameter, by OpenAPI 3 (`style`, `explode`) or 2
    /// (`collectionFormat`).
    pub fn of_parameter(parameter: &Value, place: &str) -> Style {
        let usual =
            if ["query", "cookie", "formData"].contains(&place) { "form" } else { "simple" };
        let (name, explodes) =
            match (parameter["collectionFormat"].as_str(), parameter["style"].as_str()) {
                (Some("multi"), _) => ("form", Some(true)),
                (Some("ssv"), _) => ("spaceDelimited", Some(false)),
                (Some("tsv"), _) => ("tabDelimited", Some(false)),
                (Some("pipes"), _) => ("pipeDelimited", Some(false)),
                (Some(_), _) => (usual, Some(false)),
                // Version 2 has the type in the parameter, and commas by default.
                (None, None) if parameter["schema"].is_null() && parameter["type"].is_string() => {
                    (usual, Some(false))
                }
                (None, style) => (style.unwrap_or(usual), None),
            };
        let explodes = explodes.or(parameter["explode"].as_bool()).unwrap_or(name == "form");
        Style {
            name: name.to_owned(),
            explodes,
            is_reserved: parameter["allowReserved"].as_bool() == Some(true),
        }
    }

    fn encoded(&self, text: &str) -> String {
        if !self.is_reserved {
            return encoded(text);
        }
        let keep = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}#%".contains(c);
        text.chars()
            .map(|c| if keep(c) { c.to_string() } else { encoded(&c.to_string()) })
            .collect()
    }

    fn separator(&self) -> &'static str {
        match self.name.as_str() {
            "spaceDelimited" => "%20",
            "tabDelimited" => "%09",
            "pipeDelimited" => "%7C",
            _ => ",",
        }
    }
}

/// Returns whether a style is defined for a value. None is for lists in lists, nor is `deepObject`
/// for anything but an object.
pub fn is_defined(style: &Style, value: &Value) -> bool {
    let is_flat = |value: &Value| !value.is_array() && !value.is_object();
    let known = [
        "form",
        "simple",
        "label",
        "matrix",
        "spaceDelimited",
        "tabDelimited",
        "pipeDelimited",
        "deepObject",
    ];
    known.contains(&style.name.as_str())
        && match value {
            Value::Array(all) => style.name != "deepObject" && all.iter().all(is_flat),
            Value::Object(fields) => fields.values().all(is_flat),
            _ => style.name != "deepObject",
        }
}

/// Writes the pairs of a query, a form or a cookie: `name=value`.
pub fn pairs(name: &str, value: &Value, style: &Style) -> Vec<String> {
    let of =
        |name: &str, value: &Value| format!("{}={}", encoded(name), style.encoded(&plain(value)));
    let joined =
        |texts: Vec<String>| format!("{}={}", encoded(name), texts.join(style.separator()));
    match value {
        Value::Array(all) if style.explodes => all.iter().map(|item| of(name, item)).collect(),
        Value::Array(all) => {
            vec![joined(all.iter().map(|item| style.encoded(&plain(item))).collect())]
        }
        Value::Object(fields) if style.name == "deepObject" => {
            fields.iter().map(|(key, value)| of(&format!("{name}[{key}]"), value)).collect()
        }
        Value::Object(fields) if style.explodes => {
            fields.iter().map(|(key, value)| of(key, value)).collect()
        }
        Value::Object(fields) => {
            vec![joined(
                fields
                    .iter()
                    .flat_map(|(key, value)| [encoded(key), style.encoded(&plain(value))])
                    .collect(),
            )]
        }
        value => vec![of(name, value)],
    }
}

/// Writes a value in a path: `simple`, `.label` or `;matrix`.
pub fn in_path(name: &str, value: &Value, style: &Style) -> String {
    let (before, between) = match (style.name.as_str(), style.explodes) {
        ("label", true) => (".", "."),
        ("label", false) => (".", ","),
        ("matrix", true) => (";", ";"),
        _ => ("", ","),
    };
    let is_matrix = style.name == "matrix";
    let own = |text: String| {
        if is_matrix { format!(";{}={text}", encoded(name)) } else { format!("{before}{text}") }
    };
    match value {
        Value::Array(all) if is_matrix && style.explodes => {
            all.iter().map(|item| format!(";{}={}", encoded(name), encoded(&plain(item)))).collect()
        }
        Value::Array(all) => {
            own(all.iter().map(|item| encoded(&plain(item))).collect::<Vec<_>>().join(between))
        }
        Value::Object(fields) if style.explodes => {
            let all: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}={}", encoded(key), encoded(&plain(value))))
                .collect();
            format!("{before}{}", all.join(between))
        }
        Value::Object(fields) => own(fields
            .iter()
            .flat_map(|(key, value)| [encoded(key), encoded(&plain(value))])
            .collect::<Vec<_>>()
            .join(",")),
        value => own(encoded(&plain(value))),
    }
}

/// Writes a value in a header, with commas between items.
pub fn in_header(value: &Value, style: &Style) -> String {
    match value {
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Object(fields) if style.explodes => fields
            .iter()
            .map(|(key, value)| format!("{key}={}", plain(value)))
            .collect::<Vec<_>>()
            .join(","),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| [key.clone(), plain(value)])
            .collect::<Vec<_>>()
            .join(","),
        value => plain(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_in_the_specification() {
        let (list, object) = (json!(["blue", "black"]), json!({"G": 200, "R": 100}));
        let style =
            |name: &str, explodes: bool| Style { name: name.into(), explodes, is_reserved: false };
        for (name, explodes, of_list, of_object) in [
            ("matrix", false, ";color=blue,black", ";color=G,200,R,100"),
            ("matrix", true, ";color=blue;color=black", ";G=200;R=100"),
            ("label", false, ".blue,black", ".G,200,R,100"),
            ("label", true, ".blue.black", ".G=200.R=100"),
            ("simple", false, "blue,black", "G,200,R,100"),
            ("simple", true, "blue,black", "G=200,R=100"),
        ] {
            let style = style(name, explodes);
            assert_eq!(
                (
                    in_path("color", &list, &style).as_str(),
                    in_path("color", &object, &style).as_str()
                ),
                (of_list, of_object),
                "{name} {explodes}"
            );
        }
        assert_eq!(in_path("color", &json!("a/b"), &style("matrix", false)), ";color=a%2Fb");
        for (name, explodes, of_list, of_object) in [
            ("form", false, "color=blue,black", "color=G,200,R,100"),
            ("form", true, "color=blue&color=black", "G=200&R=100"),
            ("spaceDelimited", false, "color=blue%20black", "color=G%20200%20R%20100"),
            ("pipeDelimited", false, "color=blue%7Cblack", "color=G%7C200%7CR%7C100"),
        ] {
            let style = style(name, explodes);
            assert_eq!(
                (
                    pairs("color", &list, &style).join("&").as_str(),
                    pairs("color", &object, &style).join("&").as_str()
                ),
                (of_list, of_object)
            );
        }
        assert_eq!(
            pairs("color", &object, &style("deepObject", true)).join("&"),
            "color%5BG%5D=200&color%5BR%5D=100"
        );
        assert_eq!(
            pairs("q", &json!("a/b?c d"), &Style { is_reserved: true, ..style("form", true) }),
            ["q=a/b?c%20d"]
        );
        assert!(
            !is_defined(&style("deepObject", true), &list)
                && !is_defined(&style("form", true), &json!([[1]]))
                && !is_defined(&style("odd", true), &json!(1))
        );
        let of = |parameter: serde_json::Value| Style::of_parameter(&parameter, "query");
        assert!(
            of(json!({"schema": {}})).explodes
                && !of(json!({"type": "array"})).explodes
                && of(json!({"collectionFormat": "multi"})).explodes
        );
        assert!(!Style::of_parameter(&json!({"schema": {}}), "path").explodes);
    }
}
