//! Follows docs/guide/tutorial.md literally: its shell blocks, one after another, in an empty
//! folder.

use crate::documents::root;
use crate::folder::{Folder, least_cpu_us, nothing_is_left};
use crate::needs::need_all;
use std::path::Path;
use std::process::Command;

/// Returns its shell blocks as one script.
fn script() -> String {
    let text = std::fs::read_to_string(root().join("docs/guide/tutorial.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.map(|block| format!("{block}\n")).collect()
}

/// Runs the script, and returns its exit code and output.
fn follow(folder: &Folder, script: &str) -> (Option<i32>, String) {
    need_all(&["node", "python3"]);
    let place = folder.path().join("tutorial");
    std::fs::create_dir(&place).unwrap();
    let commands = Path::new(env!("CARGO_BIN_EXE_faceoff")).parent().unwrap();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    let done = shell
        .args(["-ec", script])
        .current_dir(place)
        .env("PATH", path)
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let said = format!(
        "{}\n{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    (done.status.code(), said)
}

#[test]
#[ignore = "needs node and python3"]
fn tutorial_leads_to_a_plan() {
    let folder = Folder::new();
    let script = script();
    let (before, _) = script.split_once(" run node-or-python").expect("it measures");
    let (code, said) = follow(&folder, &format!("{before} run node-or-python --quick --plan\n"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("both respond alike") && said.contains("contender  python"), "{said}");
    nothing_is_left(&folder);
}

#[test]
#[ignore = "long, needs node and python3: five minutes"]
fn tutorial_ends_in_a_verdict() {
    let folder = Folder::new();
    // On a busy machine the run may end with 4, which is no error of the tutorial.
    let script =
        script().replace("--out bench/records/first", "--out bench/records/first || [ $? -eq 4 ]");
    let (code, said) = follow(&folder, &script);
    assert_eq!(code, Some(0), "{said}");
    let record = folder.record("tutorial/bench/records/first");
    assert!(record.missing().is_empty(), "{said}");
    for cell in &record.header.experiment.cells {
        let [node, python] = ["node", "python"].map(|name| least_cpu_us(&record, name, &cell.name));
        assert!(python > node, "{}: {python} and {node} us\n{said}", cell.name);
    }
    assert!(folder.path().join("tutorial/bench/records/first/page.html").exists());
    nothing_is_left(&folder);
}
