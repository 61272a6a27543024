//! The contents of a run's report.

use crate::folder::Folder;
use record::Record;
use serde_json::Value;

pub const ARTICLE: &str = r#"
name = "tables"
title = "Which is faster?"
source = "a journal, 2026"
[[table]]
title = "JMeter"
tool = "jmeter"
row = [
  { name = "one", samples = "10000", ramp_up = "100s", throughput = "100.0", mean = "2ms", max = "20ms" },
  { name = "two", samples = "20000", duration = "100s", throughput = "100.0", mean = "2ms", max = "20ms" },
]
"#;

fn data(page: &str) -> Value {
    let start = page.find(r#"id="page-data">"#).unwrap() + r#"id="page-data">"#.len();
    serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap()
}

#[test]
fn report_contains_audited_tables_of_the_article() {
    let folder = Folder::new();
    folder.write("articles/tables.toml", ARTICLE);
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "[source]\ntitle = \"t\"\narticle = \"tabels\"");
    folder
        .run(&["run", "x"])
        .expect(2)
        .says("unknown article `tabels`")
        .says("did you mean `tables`?");

    let compared = |article: &str, row: &str, contender: &str, cell: &str| {
        let ours = format!(
            "[source.ours]\n\"{row}\" = {{ contender = \"{contender}\", cell = \"{cell}\" }}"
        );
        folder.experiment(&["a", "b"], &format!("[source]\ntitle = \"t\"\n{article}\n{ours}"));
    };
    let tables = "article = \"tables\"";
    compared(tables, "won", "a", "closed");
    folder
        .run(&["run", "x"])
        .expect(2)
        .says("the tables of tables have no row `won`")
        .says("did you mean `one`?");
    compared("", "one", "aa", "closd");
    let ran = folder.run(&["run", "x"]).expect(2);
    ran.says("is a row of no article")
        .says("speaks of contender `aa`")
        .says("speaks of cell `closd`")
        .says("did you mean `closed`?");

    compared(tables, "two", "a", "closed");
    folder.system("c", &[]);
    folder
        .run(&["run", "x", "--blocks", "1", "--seed", "7", "--add", "c", "--out", "r"])
        .says("1 of 2 rows flagged");
    assert_eq!(
        Record::read(&folder.path().join("r")).unwrap().header.article.unwrap().tables[0]
            .rows
            .len(),
        2
    );
    crate::by_schema::is_by_schema(&folder, "r");
    let page = data(&std::fs::read_to_string(folder.path().join("r/page.html")).unwrap());
    let table = &page["audit"]["tables"][0];
    assert_eq!(
        table["columns"],
        serde_json::json!(["ramp-up", "samples", "duration", "throughput /s", "mean", "max"])
    );
    assert_eq!(table["rows"][0]["findings"], serde_json::json!([]));
    assert_eq!(table["rows"][0]["ours"], Value::Null);
    assert_eq!(table["rows"][1]["ours"], serde_json::json!({"contender": "a", "cell": "closed"}));
    let finding = &table["rows"][1]["findings"][0];
    assert_eq!(finding["wording"], "contradicts-itself");
    assert!(finding["factor"].as_f64().is_some_and(|f| (1.9..2.1).contains(&f)), "{finding}");
    whether_to_believe(&page);
}

/// Checks what accompanies every answer: the checks, the noise, the self-test, and where each trial
/// is.
fn whether_to_believe(page: &Value) {
    let subjects: Vec<&str> = page["believe"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ground| ground["subject"].as_str().unwrap())
        .collect();
    assert_eq!(subjects, ["answers", "checks", "blocks", "trials", "noise", "instrument"]);
    let checks = page["checks"].as_array().unwrap();
    let check = |kind: &str| {
        checks
            .iter()
            .find(|check| check["kind"] == kind)
            .unwrap_or_else(|| panic!("no {kind}: {checks:#?}"))
    };
    assert_eq!(
        (check("counts")["standing"].as_str(), check("counts")["looked_at"].as_u64()),
        (Some("held"), Some(6))
    );
    assert_eq!(page["repeat"][0], "faceoff run x --add c --blocks 1 --seed 7");
    let trial = &page["trials"][0];
    let (ready, began) = (
        trial["ready_ms"].as_f64().unwrap(),
        trial["measurements"][0]["began_s"].as_f64().unwrap(),
    );
    assert!(
        began * 1e3 >= ready,
        "a cell begins after the first correct response: {ready} ms, {began} s"
    );
    assert!(
        trial["measurements"][0]["lasted_s"].as_f64().is_some_and(|lasted| lasted > 0.0),
        "{trial}"
    );
    assert_eq!(trial["facts"][0]["name"], "began");
}
