//! Checks the published schemas against the types, and against what real runs write.
//!
//! They are generated from the Rust types, and the committed files must not differ: `make reference`
//! writes them. `by_schema.rs` checks the runs of other tests.

use crate::by_schema::{breaches, docs, is_by_schema, published, schema};
use crate::documents::check_generated_file;
use crate::folder::Folder;
use interop::import::ImportReport;
use record::Line;
use record::audit::Audits;
use record::capacity::CapacityReport;
use record::judgement::Judgement;
use record::load_report::{ExternalLoadReport, LoadReport};
use record::run_status::RunStatus;
use record::selftest::SelfTest;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use std::collections::BTreeMap;

/// A schema that readers of older files can use: what those do not have is not required.
fn of_files<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// A schema of what is printed now.
fn of_output<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The property of a variant that is written as an object with one property, its name.
fn tagged(variant: &Value) -> Option<(String, Value)> {
    let properties = variant.get("properties")?.as_object().filter(|all| all.len() == 1)?;
    let (name, value) = properties.iter().next()?;
    let mut value = value.clone();
    if let (Some(about), Some(fields)) = (variant.get("description"), value.as_object_mut()) {
        fields.insert("description".into(), about.clone());
    }
    Some((name.clone(), value))
}

/// Puts the properties of a definition next to those that an object also has. Otherwise a closed
/// definition would not allow the latter: the tag of a variant, for example.
fn merge_reference(schema: &mut Schema, defs: &Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    let reference = fields.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|path| path.strip_prefix("#/$defs/")).map(str::to_owned);
    let Some(name) = name.filter(|_| fields.contains_key("properties")) else { return };
    fields.remove("$ref");
    for part in ["properties", "required"] {
        match (&mut fields[part], &defs[&name][part]) {
            (Value::Object(own), Value::Object(more)) => own.extend(more.clone()),
            (Value::Array(own), Value::Array(more)) => own.extend(more.clone()),
            _ => {}
        }
    }
}

/// Refuses any other field in an object that is described. An object that has one of several
/// properties is described as such: a validator then names what is wrong within it.
fn close(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    let variants = fields.get("oneOf").and_then(Value::as_array);
    let tagged: Option<serde_json::Map<String, Value>> =
        variants.and_then(|variants| variants.iter().map(tagged).collect());
    if let Some(properties) = tagged {
        fields.remove("oneOf");
        fields.insert("type".into(), "object".into());
        fields.insert("properties".into(), properties.into());
        fields.insert("minProperties".into(), 1.into());
        fields.insert("maxProperties".into(), 1.into());
    }
    if fields.contains_key("properties") {
        fields.entry("additionalProperties").or_insert(false.into());
    }
}

/// A published schema: its name, the type, its title and its description.
type Published = (&'static str, Schema, &'static str, &'static str);

/// The schemas of files that commands write.
fn schemas_of_files() -> [Published; 4] {
    [
        (
            "record",
            of_files::<Line>(),
            "A line of a record",
            "record.jsonl holds one such object a line; the first is the header. Durations are \
             nanoseconds. Older records of this version lack what is not required. Fields may be \
             added; none changes its meaning.",
        ),
        (
            "judgement",
            of_output::<Judgement>(),
            "What a record comes to",
            "`faceoff judge --format json` prints it, and judgement.json holds it. Fields may be \
             added; none changes its meaning.",
        ),
        (
            "selftest",
            of_files::<SelfTest>(),
            "The result of a self-test",
            "`faceoff selftest --format json` prints it, and .faceoff/selftest.json holds it.",
        ),
        (
            "run-status",
            of_files::<RunStatus>(),
            "The status of a run",
            "A file next to a record holds it while the run goes on.",
        ),
    ]
}

/// The schemas of what commands only print.
fn schemas_of_output() -> [Published; 5] {
    [
        (
            "audit",
            of_output::<Audits>(),
            "The result of an audit",
            "`faceoff audit --format json` prints it.",
        ),
        (
            "capacity",
            of_output::<CapacityReport<'_>>(),
            "The result of a search for a capacity",
            "`faceoff load --capacity --format json` prints it.",
        ),
        (
            "load",
            of_output::<LoadReport<'_>>(),
            "The result of a load",
            "`faceoff load --format json` prints it. Fields may be added; none changes its meaning.",
        ),
        (
            "external-generator",
            of_output::<ExternalLoadReport<'_>>(),
            "The result of a load of another generator",
            "`faceoff load --driver NAME --format json` prints it.",
        ),
        (
            "import",
            of_output::<ImportReport<'_>>(),
            "The result of an import",
            "`faceoff import --format json` prints it.",
        ),
    ]
}

/// The schemas that the types give, by name.
fn generated() -> Vec<(&'static str, String)> {
    let all = schemas_of_files().into_iter().chain(schemas_of_output());
    all.map(|(name, mut schema, title, description)| {
        let defs = schema.get("$defs").cloned().unwrap_or_default();
        RecursiveTransform(|part: &mut Schema| merge_reference(part, &defs)).transform(&mut schema);
        RecursiveTransform(close).transform(&mut schema);
        let mut schema = schema.to_value();
        let id = format!("faceoff.{name}.v1");
        if let Some(named) = schema.pointer_mut("/properties/schema") {
            *named = serde_json::json!({ "const": id });
        }
        schema["$id"] = id.into();
        schema["title"] = title.into();
        schema["description"] = description.into();
        (name, serde_json::to_string_pretty(&schema).unwrap() + "\n")
    })
    .collect()
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    for (name, text) in generated() {
        check_generated_file(&format!("{name}.schema.json"), &text);
    }
}

#[test]
fn schemas_reject_invalid_documents() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    is_by_schema(&folder, "r");
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    let mut trial: Value =
        serde_json::from_str(lines.lines().find(|line| line.starts_with("{\"trial\"")).unwrap())
            .unwrap();
    trial["trial"]["measurements"][0]["counts"]["lost"] = 1.into();
    trial["trial"]["block"] = "first".into();
    trial["trial"].as_object_mut().unwrap().remove("contender");
    let found = breaches(&schema("record"), &trial);
    assert_eq!(found.len(), 3, "{found:?}");
    let mut judgement: Value =
        serde_json::from_str(&folder.run(&["judge", "r", "--format", "json"]).out).unwrap();
    judgement["verdicts"][0]["outcome"] = "splendid".into();
    assert_eq!(breaches(&schema("judgement"), &judgement).len(), 1);
}

/// Returns where a schema describes an object that allows unknown fields.
fn open_objects(schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object)
                && fields.get("additionalProperties") != Some(&Value::Bool(false))
            {
                found.push(at.to_owned());
            }
            fields
                .iter()
                .for_each(|(name, value)| open_objects(value, &format!("{at}/{name}"), found));
        }
        Value::Array(parts) => parts
            .iter()
            .enumerate()
            .for_each(|(i, part)| open_objects(part, &format!("{at}/{i}"), found)),
        _ => {}
    }
}

/// A schema without what it requires: files of older versions may lack what is printed now.
fn without_required(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "required");
            kept.map(|(name, value)| (name.clone(), without_required(value))).collect()
        }
        Value::Array(parts) => parts.iter().map(without_required).collect(),
        other => other.clone(),
    }
}

/// Types of one name in different modules could diverge.
#[test]
fn schemas_are_closed_and_consistent() {
    let files = std::fs::read_dir(docs())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> =
        files.filter_map(|file| file.strip_suffix(".schema.json").map(str::to_owned)).collect();
    assert_eq!(names.len(), generated().len(), "{names:?}");
    let mut said: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for name in names {
        let described = published(&name);
        assert_eq!(described["$id"], format!("faceoff.{name}.v1"));
        let mut open = Vec::new();
        open_objects(&described, &name, &mut open);
        assert!(open.is_empty(), "{open:?}");
        assert!(!schema(&name).is_valid(&Value::Null), "{name} takes anything");
        for (part, is) in described["$defs"].as_object().into_iter().flatten() {
            let is = &without_required(is);
            let (first, there) =
                said.entry(part.clone()).or_insert_with(|| (name.clone(), is.clone()));
            assert!(
                there == is,
                "docs/{name}.schema.json and docs/{first}.schema.json describe {part} differently"
            );
        }
    }
    assert!(said.contains_key("Probe") && said.contains_key("Finding"), "{:?}", said.keys());
}
