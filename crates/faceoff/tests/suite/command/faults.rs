use crate::folder::{Folder, nothing_is_left};
use model::judgement::Outcome;

/// Runs `x` with two blocks and returns the record's judgement as well.
fn run(folder: &Folder) -> (crate::folder::Ran, model::record::Record, model::judgement::Judgement) {
    let ran = folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    (ran, record, judgement)
}

#[test]
fn whoever_never_gets_ready_answers_wrongly_or_exits_is_out_and_the_others_go_on() {
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
    let out: Vec<(String, String)> = record.dropped().map(|(n, f)| (n.to_string(), format!("{}: {}", f.stage, f.cause))).collect();
    assert_eq!(out.len(), 4, "{out:?}");
    let why = |name: &str| out.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert!(why("silent").starts_with("ready: no right answer within 9"), "{out:?}");
    assert!(why("liar").contains("other bytes"), "{out:?}");
    assert!(why("nonsense").contains("exit 2"), "{out:?}");
    assert!(why("absent").contains("no-such-program cannot be started"), "{out:?}");
    assert_eq!(record.trials.len(), 4, "the two that answer were measured");
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
fn a_build_that_fails_shows_its_last_lines_and_a_missing_tool_is_only_a_skip() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("other", &[]);
    for (name, extra) in [
        (
            "broken",
            "[build]\nrun = [[\"sh\", \"-c\", \"echo line one; echo the cause >&2; exit 7\"]]\ninputs = [\"system.toml\"]\noutputs = [\"x\"]\n",
        ),
        ("lazy", "[build]\nrun = [[\"true\"]]\ninputs = [\"system.toml\"]\noutputs = [\"never-made\"]\n"),
        ("needy", "[[needs]]\ntool = \"unobtainium\"\nrun = [\"no-such-tool-here\"]\nhint = \"dig for it\"\n"),
    ] {
        folder.system(name, &[]);
        let path = folder.path().join(format!("systems/{name}/system.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{text}{extra}")).unwrap();
    }
    folder.run(&["check", "needy"]).expect(0).says("skipped").says("dig for it");
    folder.run(&["build", "broken"]).expect(1).says("the cause").says("exit 7").says("log: ");
    folder.run(&["build", "lazy"]).expect(1).says("made no never-made");
    folder.run(&["doctor"]).expect(0).says("MISSING").says("dig for it");
    let claim = |text: &str, who: &str| {
        format!("[[claim]]\ntext = \"{text}\"\ncontender = \"{who}\"\nmetric = \"failed_share\"\nexpects = \"zero\"\n")
    };
    folder.experiment(&["good", "other", "needy"], &format!("{}{}", claim("other answers", "other"), claim("needy answers", "needy")));
    let (ran, record, _) = run(&folder);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert_eq!(record.header.skipped.len(), 1);
    assert!(ran.out.contains("skipped: needy: needs unobtainium"), "{}", ran.out);
    // Who is skipped is in no block and makes no run incomplete; what is claimed of it stays open, with the reason.
    assert!(record.header.plan.iter().all(|block| block.len() == 2) && record.missing().is_empty());
    let judgement = judge::judge(&record);
    assert!(!judgement.incomplete && judgement.claims[0].cells.len() == 2);
    assert_eq!(judgement.claims[1].outcome, model::judgement::ClaimOutcome::Undecided);
    assert!(judgement.claims[1].reason.starts_with("needy took no part: needs unobtainium"), "{}", judgement.claims[1].reason);
}

#[test]
fn what_has_not_changed_is_not_built_again() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let path = folder.path().join("systems/a/system.toml");
    let build = "[build]\nrun = [[\"sh\", \"-c\", \"echo x >> made\"]]\ninputs = [\"src/**\"]\noutputs = [\"made\"]\n";
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + build).unwrap();
    folder.write("systems/a/src/deep/file", "1");
    let made = || std::fs::read_to_string(folder.path().join("systems/a/made")).unwrap().lines().count();
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
fn dying_in_the_middle_of_a_trial_is_that_contenders_result() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("mortal", &["--exit-after", "60"]);
    folder.experiment(&["good", "mortal"], "");
    let (ran, record, judgement) = run(&folder);
    assert_eq!(ran.code, 1);
    let fallen: Vec<_> = record.trials.iter().filter(|t| t.failure.is_some()).collect();
    assert_eq!(fallen.len(), 2, "{ran:?}");
    assert!(fallen.iter().all(|t| t.contender.system == "mortal" && t.failure.as_ref().unwrap().cause.contains("exit 3")), "{fallen:?}");
    assert_eq!(judgement.excluded.len(), 2);
    assert!(record.trials.iter().all(|t| t.measurements.iter().all(|m| m.counts.add_up())));
    nothing_is_left(&folder);
}

#[test]
fn ignoring_the_stop_signal_and_leaving_processes_behind_are_recorded_and_cleared() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("stubborn", &["--ignore-term"]);
    folder.system("parent", &["--children", "2"]);
    folder.run(&["check", "stubborn"]).expect(1).says("did not end within 500 ms and was killed");
    folder.run(&["check", "parent"]).expect(1).says("left 2 processes behind");
    nothing_is_left(&folder);
}

#[test]
fn whoever_breaks_off_requests_wins_nothing_and_they_are_counted() {
    let folder = Folder::new();
    folder.system("slow", &["--cpu", "500us"]);
    folder.system("fast", &["--reset-every", "20"]);
    folder.experiment(&["slow", "fast"], "");
    folder.run(&["run", "x", "--out", "r"]);
    let judgement = judge::judge(&folder.record("r"));
    let won: Vec<_> = judgement.verdicts.iter().filter(|v| v.cell.is_some() && v.outcome == Outcome::Better).collect();
    assert!(won.is_empty(), "{won:#?}");
    // That it is barred from winning: `crates/judge/tests/judge/replayed.rs`.
    let row = judgement.rows.iter().find(|r| r.contender.system == "fast").unwrap();
    assert!(row.errors.iter().any(|(kind, n)| kind == "broken" && *n > 0), "{row:?}");
}

#[test]
fn an_upstream_that_dies_is_a_fault_and_is_started_again() {
    let folder = Folder::new();
    folder.system("good", &[]);
    folder.system("other", &[]);
    // Warmed with thousands of requests, it dies on its own a little later.
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

/// A limit of file size stands for the full disk: the write fails in the middle of a line.
#[test]
fn a_full_disk_ends_the_run_with_what_was_measured() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    let script = format!("ulimit -f 64; trap '' XFSZ; exec {} run x --out r", env!("CARGO_BIN_EXE_faceoff"));
    let output =
        std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).env("TMPDIR", folder.path()).output().unwrap();
    let ran = crate::folder::Ran::from(output).expect(1).says("cannot be written").says("hint: what was measured before is there");
    nothing_is_left(&folder);
    let record = folder.record("r");
    assert!(!record.trials.is_empty() && record.trials.len() < 12, "{} trials\n{}", record.trials.len(), ran.err);
    folder.run(&["judge", "r"]).expect(1).says("a crash cut short, and that are left out: 1");
    let resumed = folder.run(&["run", "--resume", "r"]);
    assert!([0, 4].contains(&resumed.code), "{}", resumed.err);
    assert_eq!(folder.record("r").trials.len(), 12);
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.write("file", "");
    folder.run(&["run", "x", "--out", "file/r"]).expect(1).says("cannot be written").says("--out");
    folder.run(&["run", "x", "--out", "/proc/nowhere"]).expect(1).says("cannot be written");
}
