//! `faceoff articles`: one page per article, with the outcomes of its claims.

use super::report_page::ARTICLE;
use crate::folder::Folder;
use std::path::Path;

const HEAD: &str =
    "| claim | outcome here | ratio, with its interval | run | command |\n|---|---|---|---|---|\n";

/// Creates a folder with an article and the systems `a` and `b`.
fn with_article() -> Folder {
    let folder = Folder::new();
    folder.write("articles/tables.toml", ARTICLE);
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder
}

fn claim(text: &str) -> String {
    format!(
        "[[claim]]\ntext = \"{text}\"\ncontender = \"b\"\nmetric = \"failed_share\"\nexpects = \"zero\"\n"
    )
}

const SOURCE: &str = "[source]\ntitle = \"t\"\narticle = \"tables\"\n";

#[test]
fn article_page_lists_claims_with_outcomes() {
    let folder = with_article();
    folder.write(
        "articles/untried.toml",
        &ARTICLE.replace("\"tables\"", "\"untried\"").replace("Which is faster?", "Another"),
    );
    let slow = "[[claim]]\ntext = \"a seldom fails\"\ncontender = \"a\"\nmetric = \"failed_share\"\nexpects = \"at_most\"\nvalue = 50\n";
    let quick = "[quick]\nblocks = 6\nspare_blocks = 6\nwarmup = \"50ms\"\nmeasure = \"150ms\"\n";
    folder.experiment(&["a", "b"], &format!("{}{slow}{SOURCE}{quick}", claim("b never | fails")));
    let row = "| b never \\| fails | not tried yet |  |  | `faceoff run x` |\n";
    folder
        .run(&["articles"])
        .expect(0)
        .says(&format!("{HEAD}{row}"))
        .says("# Which is faster?\n\n<sub>Published: a journal, 2026.")
        .says("2 claims of the article have no result yet.")
        .says("## What has no result yet, and why\n\n- B never \\| fails; a seldom fails. Why: its experiment has not been run. ")
        .says("To try it: `faceoff run x`.\n")
        .says("\n\n# Another\n\n<sub>Published: a journal, 2026.")
        .says("\n\nNo experiment tests its claims.\n");
    folder
        .run(&["list"])
        .expect(0)
        .says("experiments:           x")
        .says("systems:               a, b");

    folder.run(&["run", "x", "--quick", "--out", "records/quick"]);
    folder.run(&["run", "x", "--blocks", "2", "--out", "elsewhere"]);
    let blocks = folder.record("records/quick").complete_blocks();
    assert!(
        (6..=12).contains(&blocks),
        "{blocks} blocks: six, and spare ones if the machine invalidated some"
    );
    let table = folder.run(&["articles"]).expect(0);
    assert!(!table.out.contains("pictures/"), "printed pages link no picture: {}", table.out);
    table
        .says("| b never \\| fails | confirmed | `b`, expected zero; failed requests in open: 0 % in ")
        .says(" | `a`, expected at most 50 %; failed requests in open: 0 % in ")
        .says(&format!(", {blocks} blocks, quick | `faceoff run x --quick` |"))
        .says("Of 2 claims of the article, 2 are confirmed.")
        .says("That is the quick form; for the whole one: `faceoff run x`.")
        .says("- **Confirmed:** B never \\| fails. `b`, failed requests: 0 % in ")
        .says("- **Confirmed:** A seldom fails. `a`, failed requests, expected at most 50 %: 0 % in ");
    folder
        .run(&["articles", "elsewhere"])
        .expect(0)
        .says(", 2 blocks | `faceoff run x` |")
        .says(", but a verdict needs 6; ");
    folder.run(&["articles", "nowhere"]).expect(2).says("is not a record");

    // Claims that were added since the run are listed as well.
    folder.experiment(
        &["a", "b"],
        &format!("{}{}{SOURCE}", claim("b never | fails"), claim("b never rests")),
    );
    folder
        .run(&["articles"])
        .expect(0)
        .says("| b never rests | not tried yet |")
        .says(
            "- B never rests. Why: only the quick form of its experiment has been run. To try it: ",
        )
        .says(" | `a`, expected at most 50 %; ");
}

#[test]
fn pages_are_rebuilt_from_kept_judgements() {
    let folder = with_article();
    folder.experiment(&["a", "b"], &format!("{}{SOURCE}", claim("b never fails")));
    folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let keep = ["articles", "r", "--keep", "kept/judgements", "--records", "kept/records"];
    let made = folder.run(&keep).expect(0);
    assert!(made.out.contains(", 2 blocks | `faceoff run x` |"), "{}", made.out);
    let kept = folder.run(&["articles", "kept/judgements/x.json"]).expect(0);
    assert_eq!(kept.out, made.out);
    let whole = folder.run(&["articles", "r/judgement.json"]).expect(0);
    assert_eq!(whole.out, made.out, "a whole judgement will do");
    let packed = "kept/records/x.record.zst";
    assert_eq!(folder.run(&["articles", packed]).expect(0).out, made.out, "its record as well");
    let [judged, again] = ["r", packed].map(|record| folder.run(&["judge", record]).expect(0).out);
    assert_eq!(judged, again);
    folder
        .run(&["run", "--resume", packed])
        .expect(2)
        .says("x.record.zst is a copy of a record, which cannot be continued");
    let machine = folder.record("r").header.machine_in_words();
    assert!(
        made.out.contains(&format!("2 blocks, on {machine}: `faceoff run x`.")),
        "{}",
        made.out
    );

    let text = std::fs::read_to_string(folder.path().join("kept/judgements/x.json")).unwrap();
    folder.write("old.json", &text.replace("\"recorded_at\"", "\"was_recorded_at\""));
    folder
        .run(&["articles", "old.json"])
        .expect(2)
        .says("old.json is not a judgement: missing field `recorded_at`")
        .says("hint: ");
    folder.write("other.json", &text.replace("faceoff.judgement.v1", "faceoff.judgement.v9"));
    folder.run(&["articles", "other.json"]).expect(2).says("its schema is faceoff.judgement.v9");
    folder.write("broken.json", "{");
    folder.run(&["articles", "broken.json"]).expect(2).says("broken.json is not a judgement");
}

/// The effect of one factor, which is undecided for latency.
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
fn experiment_without_claims_shows_cost_of_factors() {
    let folder = with_article();
    let factor = |name: &str| format!("[[factor]]\nname = \"{name}\"\noff = [\"no-{name}\"]\n");
    folder.experiment(
        &["a"],
        &format!("{}{}{}{SOURCE}", factor("audit"), factor("lines"), factor("security")),
    );
    let untried = "| What does `audit` cost? | not tried yet |  |  | `faceoff run x` |";
    folder.run(&["articles"]).expect(0).says(untried);
    folder.write("x.json", EFFECTS);
    let table = folder.run(&["articles", "x.json"]).expect(0);
    assert!(!table.out.contains("memory") && !table.out.contains("`audit` and"), "{}", table.out);
    table
        .says("| What does `audit` cost? | measured | CPU per request in closed: +4.10 µs (+3.90 to +4.40); 99th percentile of latency in closed: too few starts | 2026-11-22, 1 block | `faceoff run x` |")
        .says("| What does `lines` cost? | measured | CPU per request in closed: -0.500 µs (-1.50 to +0.500); ")
        .says("| What does `security` cost? | not tried yet |")
        .says("\n`audit` changes CPU per request most in closed: +4.10 µs (+3.90 to +4.40).\n")
        .says("- `lines`, CPU per request: -0.500 µs (-1.50 to +0.500) in closed.")
        .says("- `security`: not tried yet. To try it: `faceoff run x`.");
    let nothing = "{ \"cell\": null, \"metric\": \"cpu_per_request\", \"mean\": 0.0, \"confidence\": 0.95, \"effects\": [], \"reason\": \"the run is unsound: steal\", \"used\": 0, \"excluded\": 4 }";
    let (head, _) = EFFECTS.split_once("\"effects\": [").unwrap();
    folder.write("x.json", &format!("{head}\"effects\": [{nothing}] }}"));
    folder
        .run(&["articles", "x.json"])
        .expect(0)
        .says("| What does `security` cost? | undecided | CPU per request: the run is unsound: steal |")
        .says("\nNothing is settled yet.\n");
}

/// Returns the file of a judgement with one settled claim, of a given contender and figures.
const SETTLED: &str = r#"{
  "schema": "faceoff.judgement.v1", "record": "r", "experiment": "x", "recorded_at": "2026-11-22T01:02:03Z", "blocks": 6, "quick": false,
  "baseline": "a", "effects": [], "claims": [ {
    "claim": { "text": "b answers sooner", "contender": "b", "metric": "latency_mean", "expects": "lower", "margin": null, "cells": [] },
    "outcome": "OUTCOME", "reason": "in open: it lies too near the margin", "p": null, "p_adjusted": null,
    "cells": [ { "cell": "open", "outcome": "OUTCOME", "verdict": {
      "cell": "open", "contender": "b", "baseline": "a", "metric": "latency_mean", "outcome": "VERDICT", "reason": "it lies too near the margin", "ratio": RATIO,
      "interval": { "low": LOW, "high": HIGH }, "interval_t": null, "interval_bootstrap": null, "confidence": 0.95, "sign_flip_p": null,
      "blocks_needed": null, "interval_equivalence": null, "difference": null, "value": 5.0, "baseline_value": 10.0, "margin": 0.05,
      "used": 6, "excluded": 0, "invalidated": 0 } } ] } ]
}"#;

pub fn settled(outcome: &str, verdict: &str, [low, ratio, high]: [&str; 3]) -> String {
    let words = [
        ("OUTCOME", outcome),
        ("VERDICT", verdict),
        ("RATIO", ratio),
        ("LOW", low),
        ("HIGH", high),
    ];
    words.iter().fold(SETTLED.to_owned(), |text, (word, by)| text.replace(word, by))
}

/// Creates an article with a mean of 1 ms for `b` and 20 ms for `a`, and an experiment that
/// measures both in `open`.
pub fn with_figures() -> Folder {
    let folder = with_article();
    let row = |name: &str, mean: &str| format!("{{ name = \"{name}\", mean = \"{mean}\" }}");
    let rows = format!("row = [{}, {}]", row("A", "20.0ms"), row("B", "1.0ms"));
    folder.write(
        "articles/tables.toml",
        &format!(
            "name = \"tables\"\ntitle = \"T\"\nsource = \"s\"\n[[table]]\ntitle = \"t\"\n{rows}\n"
        ),
    );
    let claim = "[[claim]]\ntext = \"b answers sooner\"\ncontender = \"b\"\nmetric = \"latency_mean\"\nexpects = \"lower\"\n";
    let ours = |name: &str, who: &str| {
        format!("\"{name}\" = {{ contender = \"{who}\", cell = \"open\" }}\n")
    };
    folder.experiment(
        &["a", "b"],
        &format!("{claim}{SOURCE}[source.ours]\n{}{}", ours("A", "a"), ours("B", "b")),
    );
    folder
}

#[test]
fn page_rates_direction_and_size_of_article() {
    let folder = with_figures();
    let page = |outcome: &str, verdict: &str, ratios: [&str; 3]| {
        folder.write("x.json", &settled(outcome, verdict, ratios));
        folder.run(&["articles", "x.json"]).expect(0)
    };
    page("confirmed", "better", ["0.45", "0.5", "0.55"])
        .says("`b` is 2.0× faster on average (1.8× to 2.2×) than `a` at 400 requests per second: 5.00 ms against 10.0 ms.")
        .says("1 of its comparisons can be checked against ours in direction: 1 agrees in direction only.")
        .says("It was right about the direction, not about the size: it overstates the difference.")
        .says("The article printed 1.0ms against 20.0ms: 20× faster on average.");
    page("confirmed", "better", ["0.04", "0.05", "0.06"])
        .says("It was right about the direction and the size.");
    page("refuted", "worse", ["1.8", "2.0", "2.2"])
        .says("It is the other way round.")
        .says("It was wrong about the direction.");
    page("undecided", "undecided", ["0.8", "1.0", "1.2"])
        .says("Here the direction is open, but the interval excludes this size.")
        .says("Why it is undecided: it lies too near the margin.");
    page("refuted", "equivalent", ["0.99", "1.0", "1.01"])
        .says(
            "`b` is as fast on average (within 5 %: no difference, 1.0 % faster to 1.0 % slower) as `a` at 400 requests per second: 5.00 ms against 10.0 ms.",
        )
        .says("Here the difference is within 5 %.");
}

#[test]
fn pages_index_and_pictures_go_into_folder() {
    let folder = with_figures();
    folder.write("x.json", &settled("confirmed", "better", ["0.45", "0.5", "0.55"]));
    let made = folder.run(&["articles", "x.json", "--out", "new/results"]).expect(0);
    assert_eq!(made.out, "new/results/README.md\n");
    let read =
        |name: &str| std::fs::read_to_string(folder.path().join("new/results").join(name)).unwrap();
    assert!(
        read("README.md").contains(
            "## [T](tables.md)\n\n<sub>T (s). The one claim of the article is confirmed. "
        )
    );
    folder.write(
        "ours.json",
        &settled("confirmed", "better", ["0.45", "0.5", "0.55"])
            .replace("b answers sooner", "Not in the article: b answers sooner"),
    );
    folder.run(&["articles", "ours.json", "--out", "new/ours"]).expect(0);
    let ours = read("../ours/README.md");
    let counts = "The one claim not in the article is confirmed. \
                  1 claim of the article has no result yet. ";
    assert!(ours.contains(&format!("T (s). {counts}")), "{ours}");
    assert!(read("tables.md").contains("](pictures/x.svg)\n"), "{}", read("tables.md"));
    let picture = read("pictures/x.svg");
    for part in [
        "viewBox=\"0 0 420 ",
        "prefers-color-scheme: dark",
        "2.0× faster (1.8× to 2.2×)",
        "Diamond: the",
        ">1×<",
    ] {
        assert!(picture.contains(part), "{part}\n{picture}");
    }
    // Markup in the record is escaped.
    folder.write(
        "y.json",
        &settled("confirmed", "better", ["0.45", "0.5", "0.55"]).replace("sooner", "<script>&"),
    );
    folder.run(&["articles", "y.json", "--out", "new/results"]).expect(0);
    assert!(!(read("pictures/x.svg") + &read("tables.md")).contains("<script"));
    folder.write("full", "");
    folder
        .run(&["articles", "x.json", "--out", "full"])
        .expect(1)
        .says("cannot be created")
        .says("name another folder with --out");
}

/// Checks that results/ has exactly the pages and pictures of its judgements.
#[test]
fn committed_results_match_committed_judgements() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let names = |folder: &Path| -> Vec<String> {
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file());
        let mut names: Vec<String> =
            files.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let (results, judgements) = (root.join("results"), root.join("results/judgements"));
    let files: Vec<String> = names(&judgements)
        .iter()
        .map(|name| judgements.join(name).to_str().unwrap().to_owned())
        .collect();
    let folder = Folder::new();
    let made = folder.path().join("made");
    let mut arguments =
        vec!["--dir", root.to_str().unwrap(), "articles", "--out", made.to_str().unwrap()];
    arguments.extend(files.iter().map(String::as_str));
    folder.run(&arguments).expect(0);
    const AGAIN: &str = "make it again: faceoff articles results/judgements/*.json --out results";
    for part in ["", "pictures"] {
        let (here, there) = (results.join(part), made.join(part));
        assert!(names(&there).len() > 5, "{part}");
        assert_eq!(names(&here), names(&there), "{AGAIN}; what is too many must be removed");
        for name in names(&there) {
            let [here, there] =
                [&here, &there].map(|folder| std::fs::read_to_string(folder.join(&name)).unwrap());
            assert!(here == there, "{name} differs; {AGAIN}");
        }
    }
}
