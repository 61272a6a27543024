//! What the claims of articles came to, in one document.

use super::page::ARTICLE;
use crate::folder::Folder;
use std::path::Path;

const HEAD: &str = "| article | claim | outcome here | ratio, with its interval | run | command |\n|---|---|---|---|---|---|\n";

/// A folder with an article and the systems `a` and `b`.
fn with_article() -> Folder {
    let folder = Folder::new();
    folder.write("articles/tables.toml", ARTICLE);
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder
}

fn claim(text: &str) -> String {
    format!("[[claim]]\ntext = \"{text}\"\ncontender = \"b\"\nmetric = \"failed_share\"\nexpects = \"zero\"\n")
}

const SOURCE: &str = "[source]\ntitle = \"t\"\narticle = \"tables\"\n";

#[test]
fn the_claims_of_all_articles_stand_in_one_table_with_what_they_came_to() {
    let folder = with_article();
    folder.write("articles/untried.toml", &ARTICLE.replace("\"tables\"", "\"untried\"").replace("Which is faster?", "Another"));
    let slow = "[[claim]]\ntext = \"a seldom fails\"\ncontender = \"a\"\nmetric = \"failed_share\"\nexpects = \"at_most\"\nvalue = 50\n";
    let quick = "[quick]\nblocks = 6\nspare_blocks = 6\nwarmup = \"50ms\"\nmeasure = \"150ms\"\n";
    folder.experiment(&["a", "b"], &format!("{}{slow}{SOURCE}{quick}", claim("b never | fails")));
    let row = "| Which is faster? (a journal, 2026) | b never \\| fails | not tried yet |  |  | `faceoff run x` |\n";
    folder
        .run(&["articles"])
        .expect(0)
        .says(&format!("{HEAD}{row}"))
        .says("| Another (a journal, 2026) | no experiment tries its claims |");
    folder.run(&["list"]).expect(0).says("experiments:           x").says("systems:               a, b");

    folder.run(&["run", "x", "--quick", "--out", "records/quick"]);
    folder.run(&["run", "x", "--blocks", "2", "--out", "elsewhere"]);
    let blocks = folder.record("records/quick").complete_blocks();
    assert!((6..=12).contains(&blocks), "{blocks} blocks: six, and spare ones where the machine spoilt some");
    let table = folder.run(&["articles"]).expect(0);
    table
        .says("| Which is faster? (a journal, 2026) | b never \\| fails | confirmed | `b` against `a`; failed requests in open: ")
        .says(" | `a`, expected at most 50.0 %; failed requests in open: 0 to 0 % in ")
        .says(&format!(", {blocks} blocks, quick | `faceoff run x --quick` |"));
    folder.run(&["articles", "elsewhere"]).expect(0).says(", 2 blocks | `faceoff run x` |").says(", of which there must be 6; ");
    folder.run(&["articles", "nowhere"]).expect(2).says("is not a record");

    // What was claimed since the run is there as well.
    folder.experiment(&["a", "b"], &format!("{}{}{SOURCE}", claim("b never | fails"), claim("b never rests")));
    folder.run(&["articles"]).expect(0).says("| b never rests | not tried yet |").says(" | `a`, expected at most 50.0 %; ");
}

#[test]
fn the_document_can_be_made_again_from_what_is_kept() {
    let folder = with_article();
    folder.experiment(&["a", "b"], &format!("{}{SOURCE}", claim("b never fails")));
    folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let made = folder.run(&["articles", "r", "--keep", "docs/judgements"]).expect(0);
    assert!(made.out.contains(", 2 blocks | `faceoff run x` |"), "{}", made.out);
    let kept = folder.run(&["articles", "docs/judgements/x.json"]).expect(0);
    assert_eq!(kept.out, made.out);
    let whole = folder.run(&["articles", "r/judgement.json"]).expect(0);
    assert_eq!(whole.out, made.out, "a whole judgement will do");

    let text = std::fs::read_to_string(folder.path().join("docs/judgements/x.json")).unwrap();
    folder.write("old.json", &text.replace("\"recorded_at\"", "\"was_recorded_at\""));
    folder.run(&["articles", "old.json"]).expect(2).says("old.json is not a judgement: missing field `recorded_at`").says("hint: ");
    folder.write("other.json", &text.replace("faceoff.judgement.v1", "faceoff.judgement.v9"));
    folder.run(&["articles", "other.json"]).expect(2).says("its schema is faceoff.judgement.v9");
    folder.write("broken.json", "{");
    folder.run(&["articles", "broken.json"]).expect(2).says("broken.json is not a judgement");
}

/// What was found of one factor, and could not be told of latency.
const EFFECTS: &str = r#"{
  "schema": "faceoff.judgement.v1", "record": "r", "experiment": "x", "recorded_at": "2026-11-22T01:02:03Z", "blocks": 1, "quick": false,
  "baseline": "a", "claims": [],
  "effects": [
    { "cell": "closed", "metric": "cpu_per_request", "mean": 100.0, "confidence": 0.95, "reason": "", "used": 4, "excluded": 0, "effects": [
      { "factors": ["audit"], "value": 4.1, "interval": { "low": 3.9, "high": 4.4 }, "p_adjusted": null },
      { "factors": ["lines"], "value": -0.5, "interval": { "low": -1.5, "high": 0.5 }, "p_adjusted": null },
      { "factors": ["audit", "lines"], "value": 9.0, "interval": { "low": 8.0, "high": 9.5 }, "p_adjusted": 0.01 } ] },
    { "cell": "closed", "metric": "memory", "mean": 50.0, "confidence": 0.95, "reason": "", "used": 4, "excluded": 0, "effects": [
      { "factors": ["audit"], "value": 7.0, "interval": { "low": 6.0, "high": 8.0 }, "p_adjusted": null } ] },
    { "cell": "closed", "metric": "latency_p99", "mean": 1.0, "confidence": 0.95, "reason": "too few starts", "used": 1, "excluded": 3, "effects": [] }
  ]
}"#;

#[test]
fn an_experiment_without_claims_tells_what_each_factor_costs() {
    let folder = with_article();
    let factor = |name: &str| format!("[[factor]]\nname = \"{name}\"\noff = [\"no-{name}\"]\n");
    folder.experiment(&["a"], &format!("{}{}{}{SOURCE}", factor("audit"), factor("lines"), factor("security")));
    let untried = "| What does `audit` cost? | not tried yet |  |  | `faceoff run x` |";
    folder.run(&["articles"]).expect(0).says(untried);
    folder.write("x.json", EFFECTS);
    let table = folder.run(&["articles", "x.json"]).expect(0);
    assert!(!table.out.contains("memory") && !table.out.contains("`audit` and"), "{}", table.out);
    table
        .says("| What does `audit` cost? | measured | CPU per request in closed: +4.10 µs (+3.90 to +4.40); 99th percentile of latency in closed: too few starts | 2026-11-22, 1 block | `faceoff run x` |")
        .says("| What does `lines` cost? | measured | CPU per request in closed: -0.500 µs (-1.50 to +0.500); ")
        .says("| What does `security` cost? | not tried yet |");
    let nothing = "{ \"cell\": null, \"metric\": \"cpu_per_request\", \"mean\": 0.0, \"confidence\": 0.95, \"effects\": [], \"reason\": \"the run is unsound: steal\", \"used\": 0, \"excluded\": 4 }";
    let (head, _) = EFFECTS.split_once("\"effects\": [").unwrap();
    folder.write("x.json", &format!("{head}\"effects\": [{nothing}] }}"));
    folder
        .run(&["articles", "x.json"])
        .expect(0)
        .says("| What does `security` cost? | undecided | CPU per request: the run is unsound: steal |");
}

/// The document that stands in docs/ is what the command makes of the judgements beside it.
#[test]
fn the_document_here_is_made_from_the_judgements_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let (document, judgements) = (root.join("docs/articles.md"), root.join("docs/judgements"));
    let mut files: Vec<String> =
        std::fs::read_dir(judgements).unwrap().map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect();
    files.sort();
    let mut arguments = vec!["--dir", root.to_str().unwrap(), "articles"];
    arguments.extend(files.iter().map(String::as_str));
    let made = Folder::new().run(&arguments).expect(0);
    assert_eq!(made.out, std::fs::read_to_string(document).unwrap(), "make it again: faceoff articles docs/judgements/*.json");
}
