//! Runs that end early: Ctrl-C, a spent budget, SIGKILL, a line that was cut short.
//!
//! The record stays valid, no process is left, and `--resume` measures only what is missing.

use crate::folder::{Folder, alive_in, nothing_is_left};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts faceoff in a folder without waiting for its end.
pub(super) fn start(folder: &Folder, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_faceoff"))
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(
        Command::new("kill")
            .args([&format!("-{name}"), &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.system("a", &["--children", "1"]);
    folder.system("b", &[]);
    folder.system("behind", &[]);
    // `a` leaves a process behind on purpose, `b` does not. No process may remain.
    folder.experiment(&["b", "c"], "upstream = \"behind\"\n[place]\nkeep_awake = true\n");
    folder.system("c", &[]);
    folder
}

fn wait_for_trials(folder: &Folder, count: usize) {
    for _ in 0..3_000 {
        let text =
            std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap_or_default();
        if text.lines().filter(|l| l.starts_with("{\"trial\":")).count() >= count {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no {count} trials within 30 s");
}

#[test]
fn interrupted_run_is_judged_and_resumes() {
    let folder = folder();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let before = if name == "INT" { 0 } else { folder.record("r").trials.len() };
        let arguments: &[&str] =
            if name == "INT" { &["run", "x", "--out", "r"] } else { &["run", "--resume", "r"] };
        let mut child = start(&folder, arguments);
        wait_for_trials(&folder, before + 2);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        nothing_is_left(&folder);
        folder.run(&["judge", "r"]).expect(1).says("a value for this metric; a verdict needs 6");
    }
    let ran = folder.run(&["run", "--resume", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 12);
    assert!(record.missing().is_empty());
    let mut done: Vec<_> = record.trials.iter().map(|t| (t.block, t.contender.clone())).collect();
    done.dedup();
    assert_eq!(done.len(), 12, "no trial twice");
}

#[test]
fn run_with_spent_budget_says_so_and_resumes() {
    let folder = folder();
    let path = folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("[design]\n", "[design]\nbudget = \"1s\"\n");
    std::fs::write(&path, text).unwrap();
    let ran = folder.run(&["run", "x", "--out", "r"]).expect(1);
    let done = folder.record("r").complete_blocks();
    assert!((1..6).contains(&done), "{done} blocks");
    let ran = ran
        .says(&format!("the time budget of 1.0 s is spent after {done} of 6 blocks"))
        .says("hint: `faceoff run --resume r` continues");
    assert!(ran.out.contains("a value for this metric; a verdict needs 6"), "{}", ran.out);
    folder.run(&["run", "--resume", "r"]);
    assert!(folder.record("r").complete_blocks() > done);
}

#[test]
fn budget_spent_before_spare_blocks_is_said() {
    let folder = folder();
    // A claim that only CPU steal during starts can leave open, and more spare blocks than it needs.
    folder.replace("experiments/x.toml", "spare_blocks = 0", "spare_blocks = 100");
    folder.replace(
        "experiments/x.toml",
        "[design]\n",
        "[[claim]]\ntext = \"c starts at all\"\ncontender = \"c\"\nmetric = \"start_up\"\nexpects = \"at_most\"\nvalue = 1000000\n[design]\n",
    );
    folder.run(&["run", "x", "--out", "r"]);
    // As if CPU time had been taken during all starts, and the budget were over.
    let path = folder.path().join("r/record.jsonl");
    let mut lines = Vec::new();
    for line in std::fs::read_to_string(&path).unwrap().lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(design) = line.pointer_mut("/header/experiment/design") {
            design["budget"] = 1.into();
        }
        if let Some(host) = line.pointer_mut("/trial/host") {
            host["start_steal_share"] = 0.06.into();
        }
        lines.push(format!("{line}\n"));
    }
    std::fs::write(&path, lines.concat()).unwrap();
    let before = folder.record("r").trials.len();
    folder
        .run(&["run", "--resume", "r"])
        .says(
            "is spent after all planned blocks, before a spare one for those without a valid value",
        )
        .says("hint: `faceoff run --resume r` continues with the spare block");
    assert_eq!(folder.record("r").trials.len(), before + 2, "one spare block");
}

#[test]
fn cpus_are_kept_awake_only_while_measuring() {
    for (asked, are_kept) in [("true", true), ("false", false)] {
        let folder = Folder::new();
        folder.system("a", &[]);
        folder.system("b", &[]);
        folder.experiment(&["a", "b"], &format!("[place]\nkeep_awake = {asked}\n"));
        let mut child = start(&folder, &["run", "x", "--out", "r"]);
        wait_for_trials(&folder, 1);
        let all: Vec<String> =
            alive_in(&folder).into_iter().filter(|line| line.contains("__awake")).collect();
        let header = folder.record("r").header;
        assert_eq!(header.kept_awake, are_kept);
        assert_eq!(all.len(), if are_kept { header.cpus.all_cpus().len() } else { 0 }, "{all:?}");
        assert!([0, 4].contains(&child.wait().unwrap().code().unwrap()));
        nothing_is_left(&folder);
    }
}

#[test]
fn killed_run_leaves_no_process_and_a_valid_record() {
    let folder = folder();
    for (round, wait_ms) in [150, 700, 2_300, 3_100].into_iter().enumerate() {
        let out = format!("r{round}");
        let mut child = start(&folder, &["run", "x", "--out", &out]);
        std::thread::sleep(Duration::from_millis(wait_ms));
        signal(&child, "KILL");
        child.wait().unwrap();
        nothing_is_left(&folder);
        if folder.path().join(&out).join("record.jsonl").exists() {
            let ran = folder.run(&["judge", &out]);
            assert!([0, 1].contains(&ran.code), "{}\n{}", ran.out, ran.err);
        }
    }
}

#[test]
fn truncated_line_is_ignored_and_run_resumes() {
    let folder = folder();
    let mut child = start(&folder, &["run", "x", "--out", "r"]);
    wait_for_trials(&folder, 3);
    signal(&child, "KILL");
    child.wait().unwrap();
    nothing_is_left(&folder);
    let path = folder.path().join("r/record.jsonl");
    let text = std::fs::read(&path).unwrap();
    let end = text.iter().rposition(|b| *b != b'\n').unwrap();
    std::fs::write(&path, &text[..end - 40]).unwrap();
    let record = folder.record("r");
    assert_eq!(record.torn_lines, 1);
    let ran = folder.run(&["run", "--resume", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let record = folder.record("r");
    assert_eq!((record.trials.len(), record.torn_lines), (12, 1));
}

/// The longer test: ten random moments, three signals.
#[test]
#[ignore = "long"]
fn killed_run_at_ten_random_moments() {
    let folder = folder();
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    println!("seed {seed}");
    let mut random = u64::from(seed);
    for round in 0..10 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wait = Duration::from_millis((random >> 33) % 8_000);
        let name = ["INT", "TERM", "KILL"][round % 3];
        let out = format!("r{round}");
        let mut child = start(&folder, &["run", "x", "--out", &out]);
        std::thread::sleep(wait);
        let _ = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
        child.wait().unwrap();
        nothing_is_left(&folder);
        if folder.path().join(&out).join("record.jsonl").exists() {
            let ran = folder.run(&["judge", &out]);
            assert!(
                [0, 1, 4].contains(&ran.code),
                "{name} after {wait:?}: {}\n{}",
                ran.out,
                ran.err
            );
        }
    }
}

#[test]
fn record_of_another_machine_is_not_continued() {
    let folder = folder();
    let mut child = start(&folder, &["run", "x", "--out", "r"]);
    wait_for_trials(&folder, 3);
    signal(&child, "INT");
    child.wait().unwrap();
    let path = folder.path().join("r/record.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let kernel = format!("\"kernel\":\"{}\"", folder.record("r").header.machine.kernel);
    std::fs::write(&path, text.replace(&kernel, "\"kernel\":\"5.4.0-other\"")).unwrap();
    folder
        .run(&["run", "--resume", "r"])
        .expect(2)
        .says("its kernel was 5.4.0-other, and is ")
        .says("hint: continue it with the same faceoff, machine and kernel");
    nothing_is_left(&folder);
}
