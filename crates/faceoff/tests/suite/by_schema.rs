//! Holds what runs write to the published schemas.

use crate::folder::Folder;
use jsonschema::Validator;
use serde_json::Value;
use std::path::PathBuf;

pub fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
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
    jsonschema::validator_for(&published(name)).unwrap_or_else(|e| panic!("docs/{name}.schema.json: {e}"))
}

/// Where a value is not what a schema says.
pub fn breaches(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Holds what a command printed to its schema: to what is required, and to nothing else standing there.
#[track_caller]
pub fn keeps_to(name: &str, value: &Value) {
    assert_eq!(breaches(&schema(name), value), Vec::<String>::new(), "a new field is written into docs/{name}.schema.json");
}

/// Holds a record and its judgement to their schemas.
#[track_caller]
pub fn is_by_schema(folder: &Folder, record: &str) {
    let lines = std::fs::read_to_string(folder.path().join(record).join("record.jsonl")).unwrap();
    let schema = schema("record");
    for (number, line) in lines.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            breaches(&schema, &line),
            Vec::<String>::new(),
            "line {}; a new field is written into docs/record.schema.json",
            number + 1
        );
    }
    let judgement: Value = serde_json::from_str(&folder.run(&["judge", record, "--format", "json"]).out).unwrap();
    keeps_to("judgement", &judgement);
}
