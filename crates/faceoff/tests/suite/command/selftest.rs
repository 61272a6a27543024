//! `faceoff selftest` from outside, in a short form: its table, its file, and its place in records.
//!
//! The whole self-test takes minutes and is one of the longer tests.

use crate::folder::{Folder, nothing_is_left};
use record::Record;
use record::selftest::{SelfTest, TruthOutcome};
use std::process::{Command, Stdio};
use std::time::Duration;

fn kept(folder: &Folder) -> SelfTest {
    serde_json::from_str(
        &std::fs::read_to_string(folder.path().join(".faceoff/selftest.json")).unwrap(),
    )
    .unwrap()
}

#[test]
fn self_test_is_shown_kept_and_added_to_records() {
    let folder = Folder::new();
    folder.system("control", &[]);
    // One second per part is too short for an outcome, and the output says so.
    let ran = folder.run(&["selftest", "--seconds", "1", "--format", "json"]).expect(4);
    crate::by_schema::keeps_to("selftest", &serde_json::from_str(&ran.out).unwrap());
    let found: SelfTest = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(found.schema, "faceoff.selftest.v1");
    assert_eq!((found.outcome, found.truths.len()), (TruthOutcome::Unsound, 21));
    assert!(
        found.truths.iter().all(|t| t.outcome == TruthOutcome::Unsound && !t.note.is_empty()),
        "{:#?}",
        found.truths
    );
    for (what, cell) in [
        ("burns 5 % more", "closed"),
        ("burns 5 % more", "open"),
        ("delays 50 % more", "open"),
        ("has 16 threads more", "open"),
    ] {
        assert!(found.truths.iter().any(|t| t.what == what && t.cell == cell), "{what} {cell}");
    }
    let ceiling = found.ceiling.clone().unwrap();
    assert!(ceiling.per_s > 0.0 && ceiling.cpu_us > 0.0 && ceiling.lag_p50_us.is_some());
    assert_eq!(kept(&folder), found);
    // Its records are kept, and none of them contains a self-test yet.
    let held = Record::read(&folder.path().join(".faceoff/selftest/records/held")).unwrap();
    assert!(held.header.instrument.is_none() && held.missing().is_empty());

    folder.system("other", &[]);
    folder.experiment(&["control", "other"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r1"]);
    assert_eq!(folder.record("r1").header.instrument, Some(found.clone()));
    let elsewhere =
        SelfTest { machine: record::Machine { cores: 999, ..found.machine.clone() }, ..found };
    folder.write(".faceoff/selftest.json", &serde_json::to_string(&elsewhere).unwrap());
    folder.run(&["run", "x", "--blocks", "1", "--out", "r2"]);
    assert_eq!(folder.record("r2").header.instrument, None, "it was made on another machine");
    nothing_is_left(&folder);
}

#[test]
fn text_output_has_table_and_time_left() {
    let folder = Folder::new();
    folder.system("control", &[]);
    let ran = folder
        .run(&["selftest", "--seconds", "1"])
        .expect(4)
        .says("left")
        .says("21 of 21 truths could not be measured");
    for text in [
        "burns 2 % more",
        "1.0200",
        "stalls 100 ms in 500",
        "against itself",
        "1 of 6 blocks",
        "The generator on this machine: ",
    ] {
        assert!(ran.out.contains(text), "{text}\n{}", ran.out);
    }
}

#[test]
fn self_test_needs_the_control_server() {
    let folder = Folder::new();
    folder.system("other", &[]);
    folder
        .run(&["selftest"])
        .expect(2)
        .says("has no system `control`")
        .says("hint: run it in a clone of faceoff");
    folder.system("control", &[]);
    let manifest =
        std::fs::read_to_string(folder.path().join("systems/control/system.toml")).unwrap();
    folder.write(
        "systems/control/system.toml",
        &manifest.replace(&crate::folder::control().display().to_string(), "/bin/false"),
    );
    folder
        .run(&["selftest", "--seconds", "1"])
        .expect(1)
        .says("excluded: control:cpu-200us")
        .says("hint:");
}

#[test]
fn interrupted_self_test_keeps_the_last_one() {
    let folder = Folder::new();
    folder.system("control", &[]);
    folder.write(".faceoff/selftest.json", "the last one");
    let mut child = Command::new(env!("CARGO_BIN_EXE_faceoff"))
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .arg("selftest")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let record = folder.path().join(".faceoff/selftest/records/cpu/record.jsonl");
    for _ in 0..3_000 {
        if std::fs::read_to_string(&record).unwrap_or_default().contains("{\"trial\":") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(
        std::fs::read_to_string(folder.path().join(".faceoff/selftest.json")).unwrap(),
        "the last one"
    );
    nothing_is_left(&folder);
}

/// A server that deviates from its flags is detected.
#[test]
#[ignore = "long: three minutes"]
fn lying_server_is_a_missed_truth() {
    let folder = Folder::new();
    folder.system("control", &[]);
    let manifest =
        std::fs::read_to_string(folder.path().join("systems/control/system.toml")).unwrap();
    // It starts two more threads than requested.
    folder.write(
        "systems/control/lies",
        &format!(
            "#!/bin/sh\ncase \"$*\" in *--extra-threads*) set -- \"$@\" --threads 3;; esac\nexec {} \"$@\"\n",
            crate::folder::control().display()
        ),
    );
    let lies = folder.path().join("systems/control/lies");
    assert!(Command::new("chmod").arg("+x").arg(&lies).status().unwrap().success());
    folder.write(
        "systems/control/system.toml",
        &manifest.replace(&crate::folder::control().display().to_string(), "./lies"),
    );
    folder.run(&["selftest", "--seconds", "120"]).expect(3).says("MISSED");
    let threads =
        kept(&folder).truths.into_iter().find(|t| t.what == "has 16 threads more").unwrap();
    assert_eq!((threads.outcome, threads.measured), (TruthOutcome::Missed, Some(18.0)));
}
