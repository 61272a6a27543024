//! Wrong names and files, as a person types them: what the command prints, and its exit code.
//!
//! Every problem of a file is reported with its line, and no record is overwritten.

use crate::folder::Folder;

#[test]
fn unknown_name_suggests_the_nearest() {
    let folder = Folder::new();
    folder.system("alpha", &[]);
    folder.experiment(&["alpha", "alfa"], "");
    folder.run(&["run", "y"]).expect(2).says("unknown experiment `y`");
    folder.run(&["run", "x"]).expect(2).says("unknown system `alfa`").says("did you mean `alpha`?");
    folder.run(&["check", "alpha:fast"]).expect(2).says("has no variant `fast`");
    folder.run(&["check", "a b"]).expect(2).says("is not a name");
    folder.run(&["judge", "nowhere"]).expect(2).says("is not a record");
    folder.run(&["--dir", "nowhere", "list"]).expect(2).says("--dir");
    folder.run(&["rum"]).expect(2).says("run");
}

#[test]
fn all_problems_of_a_file_are_reported_with_lines() {
    let folder = Folder::new();
    folder.write(
        "systems/bad/system.toml",
        "name = \"other\"\nsumary = \"x\"\nkind = \"servce\"\n[start]\nrun = [\"x\", \"{port.htp}\", \"{varint.args}\"]\nports = [\"http\"]\n[stop]\nsignal = \"KILL\"\nwithin = \"soon\"\n",
    );
    let ran = folder.run(&["check", "bad"]).expect(2);
    insta::assert_snapshot!(ran.err.replace(&*folder.path().to_string_lossy(), "."));
}

#[test]
fn contradictory_experiment_is_refused() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(
        &["a", "b", "b"],
        "[[claim]]\ntext = \"t\"\ncontender = \"c\"\nmetric = \"latency_p98\"\nexpects = \"less\"\ncells = [\"opn\"]\n[quick]\ncells = [\"clsed\"]\n",
    );
    let ran = folder.run(&["run", "x"]).expect(2);
    for said in [
        "takes part twice",
        "latency_p9",
        "unknown expectation `less`",
        "speaks of cell `opn`",
        "did you mean `open`?",
        "did you mean `closed`?",
        "about `c`",
    ] {
        assert!(ran.err.contains(said), "{said}\n{}", ran.err);
    }
}

#[test]
fn claim_on_a_value_needs_bound_and_nothing_else() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let plan = |more: &str| {
        let claim = format!(
            "[[claim]]\ntext = \"t\"\ncontender = \"a\"\nmetric = \"latency_p95\"\n{more}\n"
        );
        folder.experiment(&["a", "b"], &claim);
        folder.run(&["run", "x", "--plan"])
    };
    plan("expects = \"at_most\"\nvalue = 360").expect(0);
    plan("expects = \"at_most\"")
        .expect(2)
        .says("expects `at_most` does not say how much")
        .says("hint: write `value = 360`");
    plan("expects = \"at_most\"\nvalue = 360\nmargin = 0.1").expect(2).says("so it has no margin");
    plan("expects = \"at_most\"\nvalue = -1").expect(2).says("value");
    plan("expects = \"lower\"\nvalue = 360")
        .expect(2)
        .says("a claim that expects `lower` has no value")
        .says("compares the baseline with itself");
    plan("expects = \"at_mots\"\nvalue = 360").expect(2).says("did you mean `at_most`?");
    plan("expects = \"at_most\"\nvalu = 360").expect(2).says("did you mean `value`?");
    plan("expects = \"lower\"\nmargin = 1001").expect(2).says("margin");
}

#[test]
fn broken_toml_is_reported_with_position() {
    let folder = Folder::new();
    folder.write("experiments/x.toml", "name = \"x\nquestion = 3\n[[cell]\n");
    folder.run(&["run", "x"]).expect(2).says("x.toml:1");
}

#[test]
fn invalid_record_is_refused_and_none_is_overwritten() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.write("r/record.jsonl", "{\"header\":{}}\n");
    folder.run(&["judge", "r"]).expect(2).says("not a header");
    folder.run(&["run", "x", "--out", "r"]).expect(1).says("already holds a record");
    folder.run(&["run", "x", "--out", "odd"]);
    let file = folder.path().join("odd/record.jsonl");
    let sound = std::fs::read_to_string(&file).unwrap();
    let odd = [
        ("\"confidence\":0.95", "\"confidence\":1.5", "confidence 1.5"),
        ("\"margin\":0.05", "\"margin\":-1", "margin -1"),
    ];
    for (usual, odd, said) in odd {
        std::fs::write(&file, sound.replacen(usual, odd, 1)).unwrap();
        folder.run(&["judge", "odd"]).expect(2).says("is not a record").says(said);
    }
}
