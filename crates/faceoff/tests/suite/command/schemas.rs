//! The published schemas, held to what real runs write.

use crate::by_schema::{breaches, docs, is_by_schema, published, schema};
use crate::folder::Folder;
use serde_json::Value;
use std::collections::BTreeMap;

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
    let found = breaches(&schema("record"), &trial);
    assert_eq!(found.len(), 3, "{found:?}");
    let mut judgement: Value = serde_json::from_str(&folder.run(&["judge", "r", "--format", "json"]).out).unwrap();
    judgement["verdicts"][0]["outcome"] = "splendid".into();
    assert_eq!(breaches(&schema("judgement"), &judgement).len(), 1);
}

/// Where a schema describes an object, and lets anything else stand in it as well.
fn open_objects(schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) && fields.get("additionalProperties") != Some(&Value::Bool(false)) {
                found.push(at.to_owned());
            }
            fields.iter().for_each(|(name, value)| open_objects(value, &format!("{at}/{name}"), found));
        }
        Value::Array(parts) => parts.iter().enumerate().for_each(|(i, part)| open_objects(part, &format!("{at}/{i}"), found)),
        _ => {}
    }
}

/// They are kept by hand, so what several of them describe could come apart.
#[test]
fn the_schemas_are_closed_and_say_the_same_of_the_same() {
    let files = std::fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = files.filter_map(|file| file.strip_suffix(".schema.json").map(str::to_owned)).collect();
    assert!(names.len() >= 8, "{names:?}");
    let mut said: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for name in names {
        let described = published(&name);
        assert_eq!(described["$id"], format!("faceoff.{name}.v1"));
        let mut open = Vec::new();
        open_objects(&described, &name, &mut open);
        assert!(open.is_empty(), "{open:?}");
        assert!(!schema(&name).is_valid(&Value::Null), "{name} takes anything");
        for (part, is) in described["$defs"].as_object().into_iter().flatten() {
            let (first, there) = said.entry(part.clone()).or_insert_with(|| (name.clone(), is.clone()));
            assert!(there == is, "docs/{name}.schema.json and docs/{first}.schema.json describe {part} differently");
        }
    }
    assert!(said.contains_key("Probe") && said.contains_key("Finding"), "{:?}", said.keys());
}
