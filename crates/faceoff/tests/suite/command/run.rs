use crate::folder::{Folder, code_of, least_cpu_us, nothing_is_left};
use model::judgement::Outcome;
use model::metric::Metric;
use model::record::Event;

#[test]
fn a_slower_system_costs_more_cpu_and_the_record_judges_the_same_again() {
    let folder = Folder::new();
    folder.system("fast", &[]);
    folder.system("slow", &["--cpu", "300us"]);
    folder.experiment(
        &["fast", "slow"],
        "[[claim]]\ntext = \"slow needs more CPU\"\ncontender = \"slow\"\nmetric = \"cpu_per_request\"\nexpects = \"higher\"\ncells = [\"open\"]\n",
    );
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    // Faults of a busy machine may leave it unsound; what was counted must hold all the same.
    assert_eq!(ran.code, code_of(&judge::judge(&record), false), "{}\n{}", ran.out, ran.err);
    assert_eq!(record.trials.len(), 12);
    assert_eq!(record.sessions.last().unwrap().event, Event::Finished);
    for trial in &record.trials {
        assert!(trial.ready_after_ns.is_some() && trial.failure.is_none(), "{trial:?}");
        assert!(trial.stop.as_ref().unwrap().clean);
        assert_eq!(trial.measurements.len(), 2);
        for m in &trial.measurements {
            assert!(m.counts.add_up(), "{:?}", m.counts);
            assert_eq!(m.service.len(), m.counts.correct);
            // On a busy machine it may get no CPU for as long as a measurement takes.
            assert!((m.usage.cpu_ns > 0 || m.counts.correct == 0) && m.usage.threads_max >= 1, "{:?} {:?}", m.counts, m.usage);
            match m.cell.as_str() {
                "open" => assert_eq!((m.counts.scheduled, m.latency.as_ref().unwrap().len()), (60, m.counts.correct)),
                _ => assert!(m.latency.is_none(), "a closed load has no schedule"),
            }
        }
    }
    let again = folder.run(&["judge", "r", "--format", "json"]);
    let written = std::fs::read_to_string(folder.path().join("r/judgement.json")).unwrap();
    assert_eq!(again.out, written, "judged again, to the byte");
    // What is judged of such figures: `crates/judge/tests/judge/replayed.rs`.
    let (fast, slow) = (least_cpu_us(&record, "fast", "open"), least_cpu_us(&record, "slow", "open"));
    assert!(slow >= 300.0 && slow > 1.5 * fast, "{fast} and {slow} us");
    let cpu = judge::judge(&record).verdicts.into_iter().find(|v| v.metric == Metric::CpuPerRequest && v.cell.as_deref() == Some("open"));
    assert!(cpu.is_some_and(|cpu| cpu.used + cpu.spoilt == 6), "each block was used, or is known to be spoilt");
    assert!(std::fs::read_to_string(folder.path().join("r/page.html")).unwrap().contains("faceoff.page.v1"));
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
fn the_plan_is_said_before_anything_runs() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    let ran = folder.run(&["run", "x", "--plan"]).expect(0).says("Which?").says("baseline   a").says("blocks: 6").says("about ");
    assert!(ran.out.is_empty());
    assert!(!folder.path().join("records").exists());
}

#[test]
fn fewer_than_six_blocks_have_no_winner() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "500us"]);
    folder.experiment(&["a", "b"], "");
    let ran = folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let judgement = judge::judge(&folder.record("r"));
    assert!(judgement.verdicts.iter().all(|v| v.outcome == Outcome::Undecided && !v.reason.is_empty()), "{}", ran.out);
}

#[test]
fn check_build_and_list_speak_to_programs_too() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let listed: serde_json::Value = serde_json::from_str(&folder.run(&["list", "--format", "json"]).expect(0).out).unwrap();
    assert_eq!(listed["systems"][0]["name"], "a");
    let checked: serde_json::Value = serde_json::from_str(&folder.run(&["check", "a", "--format", "json"]).expect(0).out).unwrap();
    assert_eq!(checked[0]["outcome"], "right");
    let doctor: serde_json::Value = serde_json::from_str(&folder.run(&["doctor", "--format", "json"]).expect(0).out).unwrap();
    assert!(doctor.as_array().unwrap().is_empty());
    nothing_is_left(&folder);
}

#[test]
fn a_variant_may_start_another_program() {
    let folder = Folder::new();
    folder.system("a", &["--no-such-flag"]);
    let path = folder.path().join("systems/a/system.toml");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("run = ")).unwrap();
    let works = line.replace(", \"--no-such-flag\"", "");
    std::fs::write(&path, format!("{manifest}[variants.other]\n{works}\n")).unwrap();
    folder.run(&["check", "a"]).expect(1);
    folder.run(&["check", "a:other"]).expect(0).says("1 right");
    std::fs::write(&path, format!("{manifest}[variants.other]\nrun = [\"x\", \"{{port.htp}}\"]\n")).unwrap();
    folder.run(&["check", "a"]).expect(2).says("names a port that is not in `ports`").says("did you mean `http`?");
}

#[test]
fn a_variant_may_answer_workloads_of_its_own_and_be_spoken_to_otherwise() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let path = folder.path().join("systems/a/system.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}[variants.missing]\nanswers = [\"missing\"]\n[variants.tls]\nprotocol = \"http1+tls\"\n"))
        .unwrap();
    let missing = |status: u16| {
        format!("name = \"missing\"\nsummary = \"GET\"\n[[step]]\npath = \"/?status=404\"\n[step.answer]\nstatus = {status}\n")
    };
    folder.write("workloads/missing.toml", &missing(404));
    folder.run(&["check", "a", "a:missing"]).expect(0).says("2 right");
    folder.write("workloads/missing.toml", &missing(200));
    folder.run(&["check", "a", "a:missing"]).expect(1).says("1 right");
    // It speaks no TLS.
    folder.run(&["check", "a:tls"]).expect(1).says("no right answer");
    std::fs::write(&path, format!("{text}[variants.tls]\nprotocol = \"http1+tsl\"\n")).unwrap();
    folder.run(&["check", "a:tls"]).expect(2).says("did you mean `http1+tls`?");
    nothing_is_left(&folder);
}

#[test]
fn a_proxy_that_takes_part_nowhere_stands_before_the_upstream_of_who_answers_the_same() {
    let folder = Folder::new();
    folder.system("back", &[]);
    for name in ["known", "other", "new"] {
        folder.system(name, &[]);
        let path = folder.path().join(format!("systems/{name}/system.toml"));
        let text = std::fs::read_to_string(&path).unwrap().replace("\"service\"", "\"proxy\"");
        std::fs::write(path, text).unwrap();
    }
    folder
        .run(&["check", "new"])
        .expect(2)
        .says("no experiment here says what it could stand before")
        .says("hint: name it with --upstream");
    folder.experiment(&["known", "other"], "upstream = \"back\"");
    folder.run(&["check", "new"]).expect(0).says("1 right");
    nothing_is_left(&folder);
}

#[test]
fn a_proxy_is_told_where_its_upstream_speaks_tls_besides() {
    let folder = Folder::new();
    folder.system("plain", &[]);
    folder.system("both", &[]);
    folder.system("proxy", &[]);
    let change = |name: &str, from: &str, to: &str| {
        let path = folder.path().join(format!("systems/{name}/system.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    };
    change("both", "ports = [\"http\"]", "ports = [\"http\", \"https\"]");
    // Nobody listens there, and it asks nobody: it is told alone.
    change("proxy", "kind = \"service\"", "kind = \"proxy\"");
    change("proxy", "ports = [\"http\"]", "ports = [\"http\"]\nenv = { CLEAR = \"{upstream.http}\", TLS = \"{upstream.https}\" }");
    folder.run(&["check", "proxy", "--upstream", "both"]).expect(0).says("1 right");
    folder
        .run(&["check", "proxy", "--upstream", "plain"])
        .expect(1)
        .says("`{upstream.https}` has no value: the upstream has no port `https`");
    nothing_is_left(&folder);
}

#[test]
fn two_runs_at_once_take_turns() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    let arguments = |out| ["run", "x", "--blocks", "1", "--out", out];
    let first = std::process::Command::new(env!("CARGO_BIN_EXE_faceoff"))
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(arguments("r1"))
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path().join("r1/record.jsonl").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    folder.run(&arguments("r2")).says("waiting: another faceoff (process ");
    first.wait_with_output().unwrap();
    assert_eq!((folder.record("r1").trials.len(), folder.record("r2").trials.len()), (2, 2));
    assert!(folder.record("r2").trials[0].started_at >= folder.record("r1").trials[1].started_at);
}
