//! Checks the output of commands against the published schemas.

use crate::folder::Folder;
use jsonschema::Validator;
use serde_json::Value;
use std::path::PathBuf;

/// Returns the folder of the published schemas.
pub fn docs() -> PathBuf {
    crate::documents::root().join("docs")
}

/// `docs/NAME.schema.json`.
#[track_caller]
pub fn published(name: &str) -> Value {
    let path = docs().join(format!("{name}.schema.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[track_caller]
pub fn schema(name: &str) -> Validator {
    jsonschema::validator_for(&published(name))
        .unwrap_or_else(|e| panic!("docs/{name}.schema.json: {e}"))
}

/// Returns where a value breaks a schema.
pub fn breaches(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Checks what a command printed against its schema, which allows no other fields.
#[track_caller]
pub fn keeps_to(name: &str, value: &Value) {
    assert_eq!(breaches(&schema(name), value), Vec::<String>::new(), "docs/{name}.schema.json");
}

/// Checks a record and its judgement against their schemas.
#[track_caller]
pub fn is_by_schema(folder: &Folder, record: &str) {
    let lines = std::fs::read_to_string(folder.path().join(record).join("record.jsonl")).unwrap();
    let schema = schema("record");
    for (number, line) in lines.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            breaches(&schema, &line),
            Vec::<String>::new(),
            "line {}: docs/record.schema.json",
            number + 1
        );
    }
    let judgement: Value =
        serde_json::from_str(&folder.run(&["judge", record, "--format", "json"]).out).unwrap();
    keeps_to("judgement", &judgement);
}
