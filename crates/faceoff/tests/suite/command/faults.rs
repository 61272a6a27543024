//! Systems and disks that fail during a run: what is recorded, and what the run does next.
//!
//! A failure of a contender is its result, one of anything else is a fault. The other contenders
//! continue, and no process is left.

use crate::folder::{Folder, Ran, nothing_is_left};
use record::Record;
use record::judgement::{ClaimOutcome, Judgement, Outcome};

/// Runs `x` with two blocks and returns the record's judgement as well.
fn run(folder: &Folder) -> (Ran, Record, Judgement) {
    let ran = folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    (ran, record, judgement)
}

#[test]
fn failing_contender_is_excluded_and_others_continue() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("other", &[]);
    folder.system("silent", &["--never-answer"]);
    folder.system("liar", &["--wrong-every", "1"]);
    folder.system("nonsense", &["--no-such-flag"]);
    folder.write(
        "systems/absent/system.toml",
        "name = \"absent\"\nsummary = \"x\"\nkind = \"service\"\n[start]\nrun = [\"./no-such-program\"]\nports = [\"http\"]\n",
    );
    folder.experiment(&["good", "other", "silent", "liar", "nonsense", "absent"], "");
    let (ran, record, _) = run(&folder);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let out: Vec<(String, String)> = record
        .dropped()
        .map(|(n, f)| (n.to_string(), format!("{}: {}", f.stage, f.cause)))
        .collect();
    assert_eq!(out.len(), 4, "{out:?}");
    let why = |name: &str| out.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert!(why("silent").starts_with("ready: no correct response within 9"), "{out:?}");
    assert!(why("liar").contains("other bytes"), "{out:?}");
    assert!(why("nonsense").contains("exit 2"), "{out:?}");
    assert!(why("absent").contains("no-such-program cannot be started"), "{out:?}");
    assert_eq!(record.trials.len(), 4, "the two that answer were measured");
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
fn failed_build_shows_log_and_missing_tool_skips() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("other", &[]);
    for (name, extra) in [
        (
            "broken",
            "[build]\nrun = [[\"sh\", \"-c\", \"echo line one; echo the cause >&2; exit 7\"]]\ninputs = [\"system.toml\"]\noutputs = [\"x\"]\n",
        ),
        (
            "lazy",
            "[build]\nrun = [[\"true\"]]\ninputs = [\"system.toml\"]\noutputs = [\"never-made\"]\n",
        ),
        (
            "needy",
            "[[needs]]\ntool = \"unobtainium\"\nrun = [\"no-such-tool-here\"]\nhint = \"dig for it\"\n",
        ),
    ] {
        folder.system(name, &[]);
        let path = folder.path().join(format!("systems/{name}/system.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{text}{extra}")).unwrap();
    }
    folder.run(&["check", "needy"]).expect(0).says("skipped").says("dig for it");
    folder.run(&["build", "broken"]).expect(1).says("the cause").says("exit 7").says("log: ");
    folder.run(&["build", "lazy"]).expect(1).says("its output never-made is missing");
    folder.run(&["doctor"]).expect(0).says("MISSING").says("dig for it");
    let claim = |text: &str, who: &str| {
        format!(
            "[[claim]]\ntext = \"{text}\"\ncontender = \"{who}\"\nmetric = \"failed_share\"\nexpects = \"zero\"\n"
        )
    };
    folder.experiment(
        &["good", "other", "needy"],
        &format!("{}{}", claim("other answers", "other"), claim("needy answers", "needy")),
    );
    let (ran, record, _) = run(&folder);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert_eq!(record.header.skipped.len(), 1);
    assert!(ran.out.contains("skipped: needy: needs unobtainium"), "{}", ran.out);
    // A skipped contender is in no block and does not make the run incomplete. Its claim stays
    // undecided, with the reason.
    assert!(record.header.plan.iter().all(|block| block.len() == 2) && record.missing().is_empty());
    let judgement = judge::judge(&record);
    assert!(!judgement.incomplete && judgement.claims[0].cells.len() == 2);
    assert_eq!(judgement.claims[1].outcome, ClaimOutcome::Undecided);
    assert!(
        judgement.claims[1].reason.starts_with("needy did not take part: needs unobtainium"),
        "{}",
        judgement.claims[1].reason
    );
}

#[test]
fn unchanged_sources_are_not_rebuilt() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let path = folder.path().join("systems/a/system.toml");
    let build = "[build]\nrun = [[\"sh\", \"-c\", \"echo x >> made\"]]\ninputs = [\"src/**\"]\noutputs = [\"made\"]\n";
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + build).unwrap();
    folder.write("systems/a/src/deep/file", "1");
    let made =
        || std::fs::read_to_string(folder.path().join("systems/a/made")).unwrap().lines().count();
    folder.run(&["build"]).expect(0).says("built a");
    folder.run(&["build"]).expect(0);
    assert_eq!(made(), 1);
    folder.write("systems/a/src/deep/file", "2");
    folder.run(&["--dir", ".", "build"]).expect(0);
    assert_eq!(made(), 2);
    std::fs::write(folder.path().join("systems/a/made"), "tampered").unwrap();
    folder.run(&["build"]).expect(0).says("built a");
}

#[test]
fn contender_dying_in_a_trial_is_its_result() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("mortal", &["--exit-after", "60"]);
    folder.experiment(&["good", "mortal"], "");
    let (ran, record, judgement) = run(&folder);
    assert_eq!(ran.code, 1);
    let fallen: Vec<_> = record.trials.iter().filter(|t| t.failure.is_some()).collect();
    assert_eq!(fallen.len(), 2, "{ran:?}");
    assert!(
        fallen.iter().all(|t| t.contender.system == "mortal"
            && t.failure.as_ref().unwrap().cause.contains("exit 3")),
        "{fallen:?}"
    );
    assert_eq!(judgement.excluded.len(), 2);
    assert!(record.trials.iter().all(|t| t.measurements.iter().all(|m| m.counts.add_up())));
    nothing_is_left(&folder);
}

#[test]
fn stubborn_and_leftover_processes_are_recorded_and_ended() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("stubborn", &["--ignore-term"]);
    folder.system("parent", &["--children", "2"]);
    folder.run(&["check", "stubborn"]).expect(1).says("did not end within 500 ms and was killed");
    folder.run(&["check", "parent"]).expect(1).says("left 2 processes behind");
    nothing_is_left(&folder);
}

/// A helper that ends when its parent does is not left behind.
#[test]
fn helper_that_ends_with_its_parent_is_no_leftover() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let path = folder.path().join("systems/a/system.toml");
    let manifest = std::fs::read_to_string(&path).unwrap();
    // The helper reads a pipe that only its parent writes to.
    let run = r#"run = ["bash", "-c", "exec 3> >(exec cat > /dev/null); exec \"$@\"", "bash", "#;
    std::fs::write(&path, manifest.replace("run = [", run)).unwrap();
    folder.run(&["check", "a"]).expect(0);
    nothing_is_left(&folder);
}

#[test]
fn aborted_requests_are_counted_and_win_nothing() {
    let folder = Folder::new();
    folder.system("slow", &["--cpu", "500us"]);
    folder.system("fast", &["--reset-every", "20"]);
    folder.experiment(&["slow", "fast"], "");
    folder.run(&["run", "x", "--out", "r"]);
    let judgement = judge::judge(&folder.record("r"));
    let won: Vec<_> = judgement
        .verdicts
        .iter()
        .filter(|v| v.cell.is_some() && v.outcome == Outcome::Better)
        .collect();
    assert!(won.is_empty(), "{won:#?}");
    // `crates/judge/tests/judge/replayed.rs` tests that it cannot win.
    let row = judgement.rows.iter().find(|r| r.contender.system == "fast").unwrap();
    assert!(row.errors.iter().any(|(kind, n)| kind == "broken" && *n > 0), "{row:?}");
}

#[test]
fn dying_upstream_is_a_fault_and_restarts() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("other", &[]);
    // After a warm-up with thousands of requests, it dies a little later.
    folder.write(
        "systems/mayfly/system.toml",
        &format!(
            "name = \"mayfly\"\nsummary = \"x\"\nkind = \"service\"\nanswers = [\"hello\"]\n[start]\nrun = [\"timeout\", \"2.6\", \"{}\", \"--port\", \"{{port.http}}\", \"--body-file\", \"../../workloads/hello.txt\", \"--delay\", \"1ms\"]\nports = [\"http\"]\n",
            crate::folder::control().display()
        ),
    );
    folder.experiment(&["good", "other"], "upstream = \"mayfly\"\n");
    let ran = folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let record = folder.record("r");
    assert!(ran.err.contains("the upstream ended with exit 124"), "{}", ran.err);
    assert!(record.upstreams.len() >= 2, "{:?}", record.upstreams);
    assert!(record.trials.iter().any(|t| t.faults.iter().any(|f| f.kind == "upstream-lost")));
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

/// A file size limit simulates a full disk: the write fails in the middle of a line.
#[test]
fn full_disk_ends_run_and_keeps_measurements() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    let script =
        format!("ulimit -f 64; trap '' XFSZ; exec {} run x --out r", env!("CARGO_BIN_EXE_faceoff"));
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let ran = Ran::from(output)
        .expect(1)
        .says("cannot be written")
        .says("hint: earlier measurements are kept");
    nothing_is_left(&folder);
    let record = folder.record("r");
    assert!(
        !record.trials.is_empty() && record.trials.len() < 12,
        "{} trials\n{}",
        record.trials.len(),
        ran.err
    );
    folder.run(&["judge", "r"]).expect(1).says("a crash cut short, which were ignored: 1");
    let resumed = folder.run(&["run", "--resume", "r"]);
    assert!([0, 4].contains(&resumed.code), "{}", resumed.err);
    assert_eq!(folder.record("r").trials.len(), 12);
}

#[test]
fn unwritable_folder_is_reported() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.write("file", "");
    folder.run(&["run", "x", "--out", "file/r"]).expect(1).says("cannot be written").says("--out");
    folder.run(&["run", "x", "--out", "/proc/nowhere"]).expect(1).says("cannot be written");
}
