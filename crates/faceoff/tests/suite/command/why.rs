//! `faceoff why` on a run without profiles, and on the same run with some added to its record.

use crate::folder::Folder;
use serde_json::{Value, json};
use std::io::Write as _;

/// Four profiled blocks of two contenders: `far` spends 300 more of 1,000 samples in `hash`.
fn profiles() -> String {
    let mut text = String::new();
    for block in 1..=4u64 {
        for (contender, hash) in [("near", 400u64), ("far", 700)] {
            let profile = json!({ "profile": {
                "contender": contender, "block": block, "cell": "closed", "period_ns": 2_000_000,
                "cpu_ns": (600 + hash + block) * 2_000_000, "correct": 10_000, "lost": 0,
                "frames": [
                    { "function": "tcp_sendmsg", "module": "kernel", "kind": "kernel" },
                    { "function": "main", "module": "server", "kind": "native" },
                    { "function": "hash", "module": "server", "kind": "native" },
                ],
                "stacks": [
                    { "thread": "server", "frames": [0, 1], "samples": 600 + block },
                    { "thread": "server", "frames": [2, 1], "samples": hash },
                ],
                "waits": { "voluntary_switches": 20_000 },
            }});
            text += &format!("{profile}\n");
        }
    }
    text
}

#[test]
fn profiled_run_is_explained_and_exported() {
    let folder = Folder::new();
    folder.system("near", &["--delay", "1ms"]);
    folder.system("far", &["--delay", "2ms"]);
    folder.experiment(&["near", "far"], "");
    let ran = folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    folder.run(&["why", "r"]).expect(1).says("has no profiles").says("--profile");
    folder.run(&["why", "missing"]).expect(2).says("not a record");
    folder.run(&["export", "r", "--to", "folded"]).expect(2).says("--profile");
    let before = folder.run(&["judge", "r", "--format", "json"]).out;

    let path = folder.path().join("r/record.jsonl");
    let mut record = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    record.write_all(profiles().as_bytes()).unwrap();
    let text = folder.run(&["why", "r"]).expect(0).out;
    assert!(text.contains("far uses 60.0 µs more CPU per request than near"), "{text}");
    assert!(text.contains("in application (hash)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let causes: Value =
        serde_json::from_str(&folder.run(&["why", "r", "--json"]).expect(0).out).unwrap();
    assert_eq!(causes[0]["differences"][0]["functions"][0]["name"], "hash");
    folder.write("own.toml", "[[category]]\nname = \"digest\"\ninnermost = [\"hash\"]\n");
    let own = folder.run(&["why", "r", "--categories", "own.toml"]).expect(0).out;
    assert!(own.contains("in digest (hash)"), "{own}");
    folder.write("bad.toml", "[[category]]\nname = \"digest\"\ninermost = [\"hash\"]\n");
    folder.run(&["why", "r", "--categories", "bad.toml"]).expect(2).says("innermost");
    let folded = folder.run(&["export", "r", "--to", "folded", "--contender", "far"]);
    assert!(folded.expect(0).out.contains("server;main;hash 2800\n"));

    let after = folder.run(&["judge", "r", "--format", "json"]).out;
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (before, mut after) = (read(&before), read(&after));
    assert_eq!(after["causes"], causes);
    after.as_object_mut().unwrap().remove("causes");
    assert_eq!(before, after);
}

#[test]
#[ignore = "needs sampling"]
fn profiled_blocks_are_recorded_once_and_not_judged() {
    for alternate in ["trials", "slices"] {
        let folder = Folder::new();
        folder.system("near", &["--cpu", "100us"]);
        folder.system("far", &["--cpu", "300us"]);
        folder.experiment(&["near", "far"], "[profile]\nblocks = 2\nmeasure = \"400ms\"");
        let file = folder.path().join("experiments/x.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let alternating = format!("alternate = \"{alternate}\"");
        std::fs::write(&file, text.replace("alternate = \"trials\"", &alternating)).unwrap();
        // In CI only the option asks for a profile.
        let ran = folder.run(&["run", "x", "--profile", "--blocks", "1", "--out", "r"]);
        assert!([0, 4].contains(&ran.code), "{ran:?}");
        let record = folder.record("r");
        assert_eq!((record.trials.len(), record.profiles.len()), (2, 4), "{alternate}");
        for profile in &record.profiles {
            assert_eq!(profile.cell, "closed", "the load in which a contender is busy");
            assert!(profile.correct > 0 && profile.cpu_ns > 0, "{profile:?}");
            let burns = |frame: &record::Frame| {
                frame.function.as_deref().is_some_and(|name| name.ends_with("clock::burn"))
            };
            let burning = profile.stacks.iter().filter(|stack| {
                stack.frames.iter().any(|frame| burns(&profile.frames[*frame as usize]))
            });
            let samples: u64 = profile.stacks.iter().map(|stack| stack.samples).sum();
            let burning: u64 = burning.map(|stack| stack.samples).sum();
            assert!(5 * burning > samples, "{burning} of {samples}: {:?}", profile.notes);
        }
        assert!(folder.run(&["why", "r"]).expect(0).out.contains("closed"));
        let again = folder.run(&["run", "--resume", "r"]);
        assert!([0, 4].contains(&again.code), "{again:?}");
        assert_eq!(folder.record("r").profiles.len(), 4, "nothing is profiled twice");
    }
}
