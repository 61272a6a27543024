//! Compares a system with its other revision, in a repository of the test.

use crate::folder::{Folder, Ran, code_of, least_cpu_us, nothing_is_left};
use serde_json::{Value, json};
use spec::metric::Metric;
use std::collections::BTreeMap;
use std::process::Command;

fn run(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["run", "x"], more].concat())
}

#[test]
fn working_copy_is_compared_with_committed_revision() {
    let folder = Folder::repository("100us");
    folder.burn("400us");
    let arguments =
        ["--against", "HEAD", "--by", "cpu_per_request", "--out", "r", "--summary", "s.md"];
    let ran = run(&folder, &arguments);
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    assert_eq!(ran.code, code_of(&judgement, true), "{}\n{}", ran.out, ran.err);
    let [then, now] = &record.header.contenders[..] else {
        panic!("{:?}", record.header.contenders)
    };
    assert!(
        then.name.to_string().starts_with("api:at-") && now.name.to_string() == "api",
        "{} {}",
        then.name,
        now.name
    );
    assert_ne!(then.artifacts, now.artifacts, "each was built from its own sources");
    assert!(then.facts["revision"].ends_with(", The | first"), "{:?}", then.facts);
    assert!(
        now.facts["revision"].ends_with("with changes that are not committed"),
        "{:?}",
        now.facts
    );
    assert_eq!(record.header.experiment.claims.len(), 1);
    // `crates/judge/tests/judge/replayed.rs` judges such figures, and `export/text.rs` checks the
    // text.
    let cpu = |name: &str| least_cpu_us(&record, name, "open");
    assert!(
        cpu("api") >= 400.0 && cpu("api") > 1.5 * cpu(&then.name.to_string()),
        "each was measured"
    );
    let summary = std::fs::read_to_string(folder.path().join("s.md")).unwrap();
    assert!(
        summary.starts_with("### ")
            && summary.contains("| CPU per request | open |")
            && summary.contains("The \\| first"),
        "{summary}"
    );
    assert_eq!(summary, report::gate(&record, &judgement).unwrap().markdown);
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    let asked = record.header.experiment.against.as_ref().unwrap().short();
    assert!(
        page.contains(&format!(
            "\"faceoff run x --against {asked} --of api --by cpu_per_request\""
        )),
        "the page says how it is repeated"
    );
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
    // An interrupted run resumes even if the other revision's folder was removed.
    let path = folder.path().join("r/record.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.lines().take(5).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    folder.run(&["clean"]).expect(0).says("revisions/");
    let again = folder.run(&["run", "--resume", "r", "--summary", "s.md"]).says("10 are missing");
    assert_eq!(
        again.code,
        code_of(&judge::judge(&folder.record("r")), true),
        "{}\n{}",
        again.out,
        again.err
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("s.md")).unwrap().matches("### ").count(),
        2,
        "it is added to"
    );
}

#[test]
fn unchanged_sources_raise_no_alarm() {
    let folder = Folder::repository("200us");
    let ran = run(
        &folder,
        &["--against", "HEAD", "--out", "r", "--by", "cpu_per_request", "--by", "memory"],
    );
    let ran = ran
        .says("both revisions have the same committed files")
        .says("both revisions were built into identical files");
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let claims: Vec<Metric> =
        folder.record("r").header.experiment.claims.iter().map(|claim| claim.metric).collect();
    assert_eq!(claims, [Metric::CpuPerRequest, Metric::Memory]);
    nothing_is_left(&folder);
}

#[test]
fn incomparable_revision_is_refused() {
    let folder = Folder::repository("1us");
    let tries: [(&[&str], &str); 8] = [
        (&["--against", "no-such"], "there is no revision `no-such` here"),
        (&["--against=-x"], "there is no revision `-x` here"),
        (&["--against", "HEAD", "--of", "appi"], "did you mean `api`?"),
        (&["--against", "HEAD", "--by", "cpu"], "did you mean `cpu_per_request`?"),
        (
            &["--against", "HEAD", "--by", "capacity"],
            "no cell of the experiment has a metric to compare",
        ),
        (&["--against", "HEAD", "--add", "other"], "cannot be used with"),
        (&["--of", "api"], "--against"),
        (&["--summary", "s.md"], "--summary needs a comparison with another revision"),
    ];
    for (more, said) in tries {
        run(&folder, more).expect(2).says(said);
    }
    run(&folder, &["--blocks", "1", "--out", "r"]);
    folder
        .run(&["run", "--resume", "r", "--summary", "s.md"])
        .expect(2)
        .says("--summary needs a comparison with another revision");
    run(&folder, &["--against", "HEAD", "--plan"])
        .expect(0)
        .says("baseline   api:at-")
        .says("contender  api\n")
        .says("Is api worse than at HEAD");
    folder.system("new", &[]);
    folder.experiment(&["new", "other"], "");
    run(&folder, &["--against", "HEAD"]).expect(2).says("there is no systems/new/system.toml");
    let manifest = folder.path().join("systems/new/system.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, format!("folder = \"/\"\n{text}")).unwrap();
    folder.commit("new");
    run(&folder, &["--against", "HEAD"])
        .expect(2)
        .says("new runs in a folder outside of its repository");
    std::fs::remove_dir_all(folder.path().join(".git")).unwrap();
    run(&folder, &["--against", "HEAD"]).expect(2).says("has no revisions");
}

/// Runs a step of the action as its runner would, with `given` in place of the inputs' defaults.
fn step_of_the_action(
    action: &Value,
    id: &str,
    given: &Value,
    folder: &Folder,
    more: &[(&str, &str)],
) -> Ran {
    let root = crate::documents::root();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["id"] == id || step["name"] == id).unwrap();
    let commands = std::path::Path::new(env!("CARGO_BIN_EXE_faceoff")).parent().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", step["run"].as_str().unwrap()]).current_dir(folder.path());
    for (name, value) in step["env"].as_object().unwrap() {
        let input = value
            .as_str()
            .unwrap()
            .strip_prefix("${{ inputs.")
            .and_then(|input| input.strip_suffix(" }}"));
        if let Some(input) = input {
            let value = given.get(input).or(action["inputs"][input].get("default"));
            shell.env(name, value.and_then(Value::as_str).unwrap());
        }
    }
    shell
        .env("PATH", format!("{}:{}", commands.display(), std::env::var("PATH").unwrap()))
        .envs(
            [
                ("TMPDIR", "."),
                ("RUNNER_TEMP", "."),
                ("GITHUB_OUTPUT", "out.txt"),
                ("GITHUB_STEP_SUMMARY", "s.md"),
            ]
            .map(|(name, file)| (name, folder.path().join(file))),
        )
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .env("GITHUB_ACTION_PATH", root)
        .envs(more.iter().copied());
    Ran::from(shell.output().unwrap())
}

/// Runs the action's steps as the documented workflow does, on a branch that makes the service
/// worse.
#[test]
fn documented_ci_workflow_works() {
    let yaml = |file: &str| -> Value {
        let text = std::fs::read_to_string(crate::documents::root().join(file)).unwrap();
        serde_saphyr::from_str(&text).unwrap()
    };
    let (workflow, action) = (yaml("docs/guide/ci-workflow.yml"), yaml("action.yml"));
    let steps = workflow["jobs"]["faceoff"]["steps"].as_array().unwrap();
    let uses = |name: &str| {
        steps
            .iter()
            .find(|step| step["uses"].as_str().is_some_and(|uses| uses.contains(name)))
            .unwrap()
    };
    assert_eq!(uses("actions/checkout@")["with"]["fetch-depth"], 0, "the base revision is there");
    let with = uses("/faceoff@")["with"].as_object().unwrap();
    let inputs = action["inputs"].as_object().unwrap();
    assert!(with.keys().all(|input| inputs.contains_key(input)), "{with:?}");
    let required = inputs.iter().filter(|(_, input)| input["required"] == true);
    assert!(
        required.clone().count() > 0 && required.clone().all(|(input, _)| with.contains_key(input)),
        "{with:?}"
    );
    assert_eq!(workflow["permissions"]["pull-requests"], "write", "the comment");

    let folder = Folder::repository("100us");
    folder.burn("400us");
    folder.commit("worse");
    // Replaces folder, experiment and event by those of this test.
    let mut given = json!({ "dir": ".", "experiment": "x", "against": "HEAD~1" });
    with.iter()
        .filter(|(input, _)| !["dir", "experiment"].contains(&input.as_str()))
        .for_each(|(input, value)| given[input] = value.clone());
    let ran = step_of_the_action(&action, "run", &given, &folder, &[]).expect(0);
    let text = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    let outputs: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('=')).collect();
    // A busy machine may have made the run unsound; the record decides.
    let outcome = match code_of(&judge::judge(&folder.record(outputs["record"])), true) {
        0 => ("0", "not-worse"),
        3 => ("3", "worse"),
        _ => ("4", "unsound"),
    };
    assert_eq!((outputs["code"], outputs["outcome"]), outcome, "{text}\n{}\n{}", ran.out, ran.err);
    let summary = std::fs::read_to_string(outputs["summary"]).unwrap();
    assert!(
        summary.starts_with("### ")
            && summary == std::fs::read_to_string(folder.path().join("s.md")).unwrap(),
        "{summary}"
    );
    assert!(std::path::Path::new(outputs["record"]).join("page.html").exists(), "what is uploaded");

    check_failures(&action, given, &folder);
}

/// Checks which outcomes fail the job, and that the record is kept before that.
fn check_failures(action: &Value, mut given: Value, folder: &Folder) {
    let mut verdict = |fail: &str, code: &str| {
        given["fail-on-unsound"] = fail.into();
        step_of_the_action(action, "Verdict", &given, folder, &[("CODE", code)])
    };
    for (fail, code, ends, prints) in [
        ("false", "0", 0, ""),
        ("false", "3", 3, "::error"),
        ("false", "1", 1, "::error"),
        ("false", "4", 0, "::warning"),
        ("true", "4", 4, "::error"),
    ] {
        verdict(fail, code).expect(ends).says(prints);
    }
    given["against"] = "0000000000000000000000000000000000000000".into();
    step_of_the_action(action, "run", &given, folder, &[])
        .expect(2)
        .says("there is no revision to compare with")
        .says("hint: ");

    let steps = action["runs"]["steps"].as_array().unwrap();
    let at = |begins: &str| {
        steps
            .iter()
            .position(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with(begins)))
            .unwrap()
    };
    let kept = &steps[at("actions/upload-artifact@")];
    assert_eq!(kept["with"]["path"], "${{ steps.run.outputs.record }}");
    assert!(kept["if"].as_str().unwrap().starts_with("always()"), "also where the run failed");
    assert_eq!(steps.last().unwrap()["name"], "Verdict", "what fails the job comes last");
}
