//! The answers to articles' questions: in the index, on the pages, and as a static site.

use super::articles::{settled, with_figures};
use crate::folder::Folder;

const SETTLED: [&str; 3] = ["0.45", "0.5", "0.55"];

/// Adds a question to the article of [`with_figures`], with more fields and more answers.
fn with_question(fields: &str, answers: &str) -> Folder {
    let folder = with_figures();
    let path = folder.path().join("articles/tables.toml");
    let tables = std::fs::read_to_string(path).unwrap();
    folder.write(
        "articles/tables.toml",
        &format!(
            "{tables}[summary]\nquestion = \"Is B faster?\"\nclaimed = \"Twenty times.\"\nmethod = \"\"\"\nOnce,\nby hand.\"\"\"\n\
             names = {{ b = \"the B service\", a = \"the <A> service\" }}\n{fields}\n\
             [[summary.answer]]\nexperiment = \"x\"\ncontender = \"b\"\nmetric = \"latency_mean\"\n{answers}"
        ),
    );
    folder
}

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn page_names_contenders_that_were_mostly_not_steady() {
    let folder = with_question("", "");
    let warmed = |name: &str, [steady, never]: [usize; 2]| {
        serde_json::json!({
            "contender": name, "classes": [["flat", steady], ["never_steady", never]],
            "steady_after_s": null, "cold_cpu_us": null, "steady_cpu_us": null, "cold_max_ms": null,
        })
    };
    let page = |a: [usize; 2], b: [usize; 2]| {
        let judgement = settled("confirmed", "better", SETTLED);
        let mut judgement: serde_json::Value = serde_json::from_str(&judgement).unwrap();
        judgement["warmups"] = serde_json::json!([warmed("a", a), warmed("b", b)]);
        folder.write("x.json", &judgement.to_string());
        folder.run(&["articles", "x.json", "--out", "made"]).expect(0);
        read(&folder, "made/tables.md")
    };
    let sentence = "Not steady within the warm-up in most starts, so perhaps faster when warm: ";
    let both = page([0, 6], [2, 4]);
    let names = "the &lt;A&gt; service and the B service.</sub>";
    assert!(both.contains(&format!("{sentence}{names}")), "{both}");
    let one = page([3, 3], [2, 4]);
    assert!(one.contains(&format!("{sentence}the B service.</sub>")), "half are not most: {one}");
    assert!(!page([6, 0], [4, 2]).contains(sentence));
}

#[test]
fn question_is_answered_with_factor_and_interval() {
    let folder = with_question("", "");
    let index = |judgement: &str| {
        folder.write("x.json", judgement);
        folder.run(&["articles", "x.json", "--out", "made"]).expect(0);
        read(&folder, "made/README.md")
    };
    let answer = "the B service is 2.0× faster on average (1.8× to 2.2×) than the &lt;A&gt; service \
                  at 400 requests per second: 5.00 ms against 10.0 ms.";
    let yes = index(&settled("confirmed", "better", SETTLED));
    assert!(yes.contains("## [Is B faster?](tables.md)\n"), "{yes}");
    assert!(yes.contains(&format!("\n**Yes:** {answer} The article printed 1.0ms")), "{yes}");
    assert!(yes.contains("\n![Is B faster?](pictures/answer-tables.svg)\n"), "{yes}");
    assert!(yes.contains("Measured 2026-11-22, 6 blocks: `faceoff run x`."), "{yes}");
    let page = read(&folder, "made/tables.md");
    for part in [
        &format!("**Is B faster?**\n\n**Yes:** {answer}"),
        "## What the article claims\n\nTwenty times.\n\n**How it measured:** Once, by hand.\n",
        "## Impossible or inconsistent figures\n",
        "- **Confirmed:** B answers sooner. The B service is 2.0× faster",
        "<details><summary>All claims in a table</summary>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let no = index(&settled("refuted", "worse", ["1.8", "2.0", "2.2"]));
    assert!(no.contains("\n**No:** the B service is 2.0× slower on average"), "{no}");
    let open = index(&settled("undecided", "undecided", ["0.8", "1.1", "1.4"]));
    assert!(open.contains("\n**Undecided:** the B service looks 10 % slower"), "{open}");

    let refuted = with_question("yes_if = \"refuted\"", "");
    refuted.write("x.json", &settled("confirmed", "better", SETTLED));
    refuted.run(&["articles", "x.json", "--out", "made"]).expect(0);
    assert!(read(&refuted, "made/README.md").contains("\n**No:** the B service"));
    refuted.run(&["articles"]).expect(0).says("\n**Not tested yet.**\n");
}

#[test]
fn further_results_are_in_the_second_sentence() {
    let second = "[[summary.answer]]\nexperiment = \"x\"\ncontender = \"b\"\nmetric = \"memory\"\n";
    let folder = with_question("", second);
    let path = folder.path().join("experiments/x.toml");
    let claim = "[[claim]]\ntext = \"b is small\"\ncontender = \"b\"\nmetric = \"memory\"\nexpects = \"lower\"\n";
    folder.write("experiments/x.toml", &(std::fs::read_to_string(path).unwrap() + claim));
    folder.write("x.json", &settled("confirmed", "better", SETTLED));
    folder
        .run(&["articles", "x.json"])
        .expect(0)
        .says("at 400 requests per second: 5.00 ms against 10.0 ms. Not tested here: \"B is small\"")
        .says(
            "- B is small. Why: it was added after the experiment was run. To try it: `faceoff run x`.",
        );
}

#[test]
fn answer_without_a_claim_is_an_error() {
    let folder = with_question("", "");
    let path = folder.path().join("articles/tables.toml");
    let text = std::fs::read_to_string(path).unwrap();
    folder.write("articles/tables.toml", &text.replace("\"latency_mean\"", "\"memory\""));
    folder
        .run(&["articles"])
        .expect(2)
        .says("no claim of x is about memory of b")
        .says("hint: name a claim of an experiment with `article = \"tables\"`");
}

#[test]
fn claim_of_several_experiments_counts_once() {
    let folder = with_figures();
    let x = read(&folder, "experiments/x.toml");
    folder.write("experiments/y.toml", &x.replace("name = \"x\"", "name = \"y\""));
    let full = settled("confirmed", "better", SETTLED);
    folder.write("x.json", &full);
    let of_y = full.replace("\"experiment\": \"x\"", "\"experiment\": \"y\"");
    let quick = of_y.replace("\"quick\": false", "\"quick\": true");
    // The newest full run counts.
    let newer = |text: &str| text.replace("2026-11-22", "2026-11-23");
    for (y, counts, other) in [
        (newer(&quick), "x", "y --quick"),
        (newer(&of_y), "y", "x"),
        (of_y.replace("2026-11-22", "2026-11-21"), "x", "y"),
    ] {
        folder.write("y.json", &y);
        let page = folder.run(&["articles", "x.json", "y.json"]).expect(0);
        let page = page.says("The one claim of the article is confirmed.").says(&format!(
            "Also tested with `faceoff run {other}`: confirmed, 2.0× faster (1.8× to 2.2×) at 400 requests per second."
        ));
        assert_eq!(page.out.matches("- **Confirmed:**").count(), 1, "{}", page.out);
        let (_, found) = page.out.split_once("- **Confirmed:**").unwrap();
        assert!(
            found
                .split("\n## ")
                .next()
                .unwrap()
                .contains(&format!("blocks: `faceoff run {counts}`."))
        );
    }
}

#[test]
fn answers_are_exported_as_a_site() {
    let folder = with_question("", "");
    let hostile = settled("confirmed", "better", SETTLED).replace("sooner", "<script>&");
    folder.write("judgements/x.json", &hostile);
    folder.write("judgements/broken.json", "{");
    let made = folder.run(&["serve", "judgements", "--export", "new/site"]).expect(0);
    assert_eq!(made.out, "new/site/index.html\n");
    made.says("ignored: error: judgements/broken.json is not a judgement");
    let index = read(&folder, "new/site/index.html");
    let page = read(&folder, "new/site/tables.html");
    for part in [
        "<a href=\"tables.html\">Is B faster?</a>",
        "<p class=\"sentence\"><strong>Yes:</strong> the B service is 2.0× faster",
        "<img src=\"pictures/answer-tables.svg\" alt=\"Is B faster?\">",
    ] {
        assert!(index.contains(part), "{part}\n{index}");
    }
    for text in [&index, &page] {
        assert!(!text.contains("<script") && !text.contains("<A>"), "{text}");
        assert!(!text.contains("http"), "it loads nothing from elsewhere: {text}");
        for address in ["href=\"", "src=\""].iter().flat_map(|begin| text.split(begin).skip(1)) {
            let address = address.split('"').next().unwrap();
            let path = folder.path().join("new/site").join(address);
            assert!(path.is_file(), "{address} is not in the folder");
        }
    }
    assert!(read(&folder, "new/site/style.css").contains("prefers-color-scheme: dark"));
    folder
        .run(&["serve", "judgements", "--export", "s", "--listen", "127.0.0.1:0"])
        .expect(2)
        .says("--export");
    let elsewhere = Folder::new();
    elsewhere.write("r/x.json", "{}");
    elsewhere
        .run(&["serve", "r", "--export", "s"])
        .expect(2)
        .says("there is no article to write a page about")
        .says("hint: ");
}
