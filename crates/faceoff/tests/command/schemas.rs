//! The published schemas, held to what real runs write.

use crate::folder::Folder;
use jsonschema::Validator;
use serde_json::Value;

fn schema(text: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn of_record() -> Validator {
    schema(include_str!("../../../../docs/record.schema.json"))
}

fn of_judgement() -> Validator {
    schema(include_str!("../../../../docs/judgement.schema.json"))
}

/// Where a value is not what a schema says.
fn breaches(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Holds a record and its judgement to their schemas: to what is required, and to nothing else standing there.
#[track_caller]
pub fn is_by_schema(folder: &Folder, record: &str) {
    let lines = std::fs::read_to_string(folder.path().join(record).join("record.jsonl")).unwrap();
    let schema = of_record();
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
    assert_eq!(breaches(&of_judgement(), &judgement), Vec::<String>::new(), "a new field is written into docs/judgement.schema.json");
}

#[test]
fn the_schemas_tell_what_is_not_by_them() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    is_by_schema(&folder, "r");
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    let mut trial: Value = serde_json::from_str(lines.lines().find(|line| line.starts_with("{\"trial\"")).unwrap()).unwrap();
    trial["trial"]["measurements"][0]["counts"]["lost"] = 1.into();
    trial["trial"]["block"] = "first".into();
    trial["trial"].as_object_mut().unwrap().remove("contender");
    assert_eq!(breaches(&of_record(), &trial).len(), 3, "{:?}", breaches(&of_record(), &trial));
    let mut judgement: Value = serde_json::from_str(&folder.run(&["judge", "r", "--format", "json"]).out).unwrap();
    judgement["verdicts"][0]["outcome"] = "splendid".into();
    assert_eq!(breaches(&of_judgement(), &judgement).len(), 1);
}
