//! `faceoff why` on a run without profiles, and on the same run with some added to its record.

use crate::folder::{Folder, assert_burns};
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
        folder.experiment(&["near", "far"], "[profile]\nblocks = 2\nmeasure = \"1s\"");
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
            assert_burns(profile);
        }
        assert!(folder.run(&["why", "r"]).expect(0).out.contains("closed"));
        let again = folder.run(&["run", "--resume", "r"]);
        assert!([0, 4].contains(&again.code), "{again:?}");
        assert_eq!(folder.record("r").profiles.len(), 4, "nothing is profiled twice");
    }
}

/// A service on Node that spins for each request, and writes down its options at its start.
const NODE: &str = r#"
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
require("fs").writeFileSync("started-" + process.pid, process.env.NODE_OPTIONS || "");
require("http")
  .createServer((_, response) => { spin(200000); response.end("hello ".repeat(12)); })
  .listen(process.argv[2], "127.0.0.1");
"#;

#[test]
#[ignore = "needs node and sampling"]
fn options_of_runtimes_are_set_in_profiled_starts_only() {
    let folder = Folder::new();
    for name in ["near", "far"] {
        folder.write(&format!("systems/{name}/server.js"), NODE);
        folder.write(
            &format!("systems/{name}/system.toml"),
            &format!(
                "name = \"{name}\"\nsummary = \"s\"\nkind = \"service\"\n\
                 answers = [\"hello\"]\n[start]\n\
                 run = [\"node\", \"server.js\", \"{{port.http}}\"]\nports = [\"http\"]\n\
                 env = {{ NODE_OPTIONS = \"--no-warnings\" }}\n\
                 [ready]\nwithin = \"9s\"\n[stop]\nwithin = \"5s\"\n"
            ),
        );
    }
    folder.write("own.toml", "[[category]]\nname = \"spinning\"\ninnermost = [\"spin *\"]\n");
    let profile = "[profile]\nblocks = 1\nmeasure = \"500ms\"\nruntime_options = true\n\
                   categories = \"../own.toml\"\n";
    folder.experiment(&["near", "far"], profile);
    let ran = folder.run(&["run", "x", "--profile", "--blocks", "1", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    let record = folder.record("r");
    assert_eq!(record.profiles.len(), 2);
    for profile in &record.profiles {
        let notes = profile.notes.join(" ");
        assert!(notes.contains("started with NODE_OPTIONS=--perf-basic-prof."), "{notes}");
    }
    let (plain, with_option) = ("--no-warnings", "--no-warnings --perf-basic-prof");
    for name in ["near", "far"] {
        let mut options = Vec::new();
        for file in std::fs::read_dir(folder.path().join("systems").join(name)).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            assert!(!name.ends_with("v8.log"), "{name} is left");
            let Some(pid) = name.strip_prefix("started-") else { continue };
            options.push(std::fs::read_to_string(file.path()).unwrap());
            let map = format!("/tmp/perf-{pid}.map");
            assert!(!std::path::Path::new(&map).exists(), "{map} is left");
        }
        let profiled = options.iter().filter(|options| *options == with_option).count();
        let judged = options.iter().filter(|options| *options == plain).count();
        assert!(profiled == 1 && judged >= 1 && options.len() == profiled + judged, "{options:?}");
    }
    std::fs::remove_file(folder.path().join("own.toml")).unwrap();
    let text = folder.run(&["why", "r"]).expect(0).out;
    assert!(text.contains("spinning"), "{text}");
}
