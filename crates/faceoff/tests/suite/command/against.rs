//! A system beside itself at another revision, in a repository of the test's own.

use crate::folder::{Folder, Ran, nothing_is_left};
use model::metric::Metric;
use std::process::Command;

fn run(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["run", "x"], more].concat())
}

#[test]
fn what_has_become_worse_is_told_from_what_is_committed() {
    let folder = Folder::repository("100us");
    folder.burn("400us");
    let arguments = ["--against", "HEAD", "--by", "cpu_per_request", "--out", "r", "--summary", "s.md"];
    let ran = run(&folder, &arguments);
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    // Faults of a busy machine may leave it unsound, which is said and is no alarm.
    assert_eq!(ran.code, if judgement.unsound { 4 } else { 3 }, "{}\n{}", ran.out, ran.err);
    let [then, now] = &record.header.contenders[..] else { panic!("{:?}", record.header.contenders) };
    assert!(then.name.to_string().starts_with("api:at-") && now.name.to_string() == "api", "{} {}", then.name, now.name);
    assert_ne!(then.artifacts, now.artifacts, "each was built from its own sources");
    assert!(then.facts["revision"].ends_with(", The | first"), "{:?}", then.facts);
    assert!(now.facts["revision"].ends_with("with changes that are not committed"), "{:?}", now.facts);
    assert_eq!(record.header.experiment.claims.len(), 1);
    let cpu = |name: &str| -> f64 {
        let of = record.trials.iter().filter(|t| t.contender.to_string() == name).flat_map(|t| &t.measurements);
        of.map(|m| m.usage.cpu_ns as f64 / m.counts.correct as f64).fold(f64::INFINITY, f64::min)
    };
    assert!(cpu("api") > 1.5 * cpu(&then.name.to_string()), "each was measured");
    let summary = std::fs::read_to_string(folder.path().join("s.md")).unwrap();
    assert!(
        summary.starts_with("### ") && summary.contains("| CPU per request | open |") && summary.contains("The \\| first"),
        "{summary}"
    );
    if !judgement.unsound {
        assert!(summary.contains("### api is worse than at") && summary.contains("**worse**"), "{summary}");
    }
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    let asked = record.header.experiment.against.as_ref().unwrap().short();
    assert!(
        page.contains(&format!("\"faceoff run x --against {asked} --of api --by cpu_per_request\"")),
        "the page says how it is repeated"
    );
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
    // Interrupted, it goes on, though the tree of then was removed.
    let path = folder.path().join("r/record.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.lines().take(5).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    folder.run(&["clean"]).expect(0).says("revisions/");
    let again = folder.run(&["run", "--resume", "r", "--summary", "s.md"]).says("10 are missing");
    assert!([3, 4].contains(&again.code), "{}\n{}", again.out, again.err);
    assert_eq!(std::fs::read_to_string(folder.path().join("s.md")).unwrap().matches("### ").count(), 2, "it is added to");
}

#[test]
fn what_has_not_changed_is_no_alarm() {
    let folder = Folder::repository("200us");
    let ran = run(&folder, &["--against", "HEAD", "--out", "r", "--by", "cpu_per_request", "--by", "memory"]);
    let ran = ran.says("what git keeps is the same now as then").says("both revisions were built into the very same files");
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let claims: Vec<Metric> = folder.record("r").header.experiment.claims.iter().map(|claim| claim.metric).collect();
    assert_eq!(claims, [Metric::CpuPerRequest, Metric::Memory]);
    nothing_is_left(&folder);
}

#[test]
fn a_revision_that_cannot_be_compared_is_refused() {
    let folder = Folder::repository("1us");
    let tries: [(&[&str], &str); 8] = [
        (&["--against", "no-such"], "there is no revision `no-such` here"),
        (&["--against=-x"], "there is no revision `-x` here"),
        (&["--against", "HEAD", "--of", "appi"], "did you mean `api`?"),
        (&["--against", "HEAD", "--by", "cpu"], "did you mean `cpu_per_request`?"),
        (&["--against", "HEAD", "--by", "capacity"], "no cell of the experiment has what is compared"),
        (&["--against", "HEAD", "--add", "other"], "cannot be used with"),
        (&["--of", "api"], "--against"),
        (&["--summary", "s.md"], "--summary is of a run against another revision"),
    ];
    for (more, said) in tries {
        run(&folder, more).expect(2).says(said);
    }
    run(&folder, &["--blocks", "1", "--out", "r"]);
    folder.run(&["run", "--resume", "r", "--summary", "s.md"]).expect(2).says("--summary is of a run against another revision");
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
    run(&folder, &["--against", "HEAD"]).expect(2).says("new runs in a folder outside of its repository");
    std::fs::remove_dir_all(folder.path().join(".git")).unwrap();
    run(&folder, &["--against", "HEAD"]).expect(2).says("has no revisions");
}

/// The workflow's own steps, on a branch that makes it worse.
#[test]
fn the_workflow_of_the_docs_does_what_it_says() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = std::fs::read_to_string(root.join("docs/ci-workflow.yml")).unwrap();
    let workflow: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    let steps = workflow["jobs"]["faceoff"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["id"] == "compare").unwrap();
    let folder = Folder::repository("100us");
    folder.burn("400us");
    folder.commit("worse");
    let commands = std::path::Path::new(env!("CARGO_BIN_EXE_faceoff")).parent().unwrap();
    let ran = Command::new("bash")
        .args(["-e", "-c", step["run"].as_str().unwrap()])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{}", commands.display(), std::env::var("PATH").unwrap()))
        .env("TMPDIR", folder.path())
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .envs([("FOLDER", "."), ("EXPERIMENT", "x"), ("BASE", "HEAD~1"), ("GITHUB_STEP_SUMMARY", "s.md")])
        .output()
        .unwrap();
    let ran = Ran::from(ran);
    let unsound = ran.out.contains("::warning");
    assert_eq!(ran.code, if unsound { 0 } else { 3 }, "{}\n{}", ran.out, ran.err);
    assert!(std::fs::read_to_string(folder.path().join("s.md")).unwrap().starts_with("### "));
    assert!(folder.path().join("record/page.html").exists(), "what the next step keeps");
    let kept = steps.iter().find(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/upload-artifact"))).unwrap();
    assert_eq!((kept["with"]["path"].as_str(), kept["if"].as_str()), (Some("record"), Some("always()")));
}
