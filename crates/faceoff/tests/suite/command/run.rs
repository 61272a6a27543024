//! `faceoff run` from outside: a whole run, its plan, its JSON, variants, proxies and shared
//! blocks.
//!
//! Start with the first test, which measures a known difference and judges the record again.

use crate::folder::{Folder, code_of, least_cpu_us, nothing_is_left};
use record::Event;
use record::judgement::Outcome;
use spec::metric::Metric;

#[test]
fn slower_system_costs_more_cpu_and_rejudges_identically() {
    let folder = Folder::new();
    folder.system("fast", &[]);
    folder.system("slow", &["--cpu", "300us"]);
    folder.experiment(
        &["fast", "slow"],
        "[[claim]]\ntext = \"slow needs more CPU\"\ncontender = \"slow\"\nmetric = \"cpu_per_request\"\nexpects = \"higher\"\ncells = [\"open\"]\n",
    );
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    // A busy machine may make it unsound; the counts must hold anyway.
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
            // On a busy machine it may get no CPU during a whole measurement.
            assert!(
                (m.usage.cpu_ns > 0 || m.counts.correct == 0) && m.usage.threads_max >= 1,
                "{:?} {:?}",
                m.counts,
                m.usage
            );
            match m.cell.as_str() {
                "open" => assert_eq!(
                    (m.counts.scheduled, m.latency.as_ref().unwrap().len()),
                    (60, m.counts.correct)
                ),
                _ => assert!(m.latency.is_none(), "a closed load has no schedule"),
            }
        }
    }
    let again = folder.run(&["judge", "r", "--format", "json"]);
    let written = std::fs::read_to_string(folder.path().join("r/judgement.json")).unwrap();
    assert_eq!(again.out, written, "judged again, to the byte");
    // `crates/judge/tests/judge/replayed.rs` judges such figures.
    let (fast, slow) =
        (least_cpu_us(&record, "fast", "open"), least_cpu_us(&record, "slow", "open"));
    assert!(slow >= 300.0 && slow > 1.5 * fast, "{fast} and {slow} us");
    let cpu = judge::judge(&record)
        .verdicts
        .into_iter()
        .find(|v| v.metric == Metric::CpuPerRequest && v.cell.as_deref() == Some("open"));
    assert!(
        cpu.is_some_and(|cpu| cpu.used + cpu.invalidated == 6),
        "each block was used, or is known to be invalid"
    );
    assert!(
        std::fs::read_to_string(folder.path().join("r/page.html"))
            .unwrap()
            .contains("faceoff.page.v1")
    );
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
fn plan_is_printed_before_anything_runs() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    let ran = folder
        .run(&["run", "x", "--plan"])
        .expect(0)
        .says("Which?")
        .says("baseline   a")
        .says("alternation: one contender after the other, as the experiment asks")
        .says("blocks: 6, each with every contender in random order")
        .says("about ");
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
    assert!(
        judgement.verdicts.iter().all(|v| v.outcome == Outcome::Undecided && !v.reason.is_empty()),
        "{}",
        ran.out
    );
}

#[test]
fn check_build_and_list_print_json() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let listed: serde_json::Value =
        serde_json::from_str(&folder.run(&["list", "--format", "json"]).expect(0).out).unwrap();
    assert_eq!(listed["systems"][0]["name"], "a");
    let checked: serde_json::Value =
        serde_json::from_str(&folder.run(&["check", "a", "--format", "json"]).expect(0).out)
            .unwrap();
    assert_eq!(checked[0]["outcome"], "correct");
    let doctor: serde_json::Value =
        serde_json::from_str(&folder.run(&["doctor", "--format", "json"]).expect(0).out).unwrap();
    assert!(doctor.as_array().unwrap().is_empty());
    nothing_is_left(&folder);
}

#[test]
fn variant_may_start_another_program() {
    let folder = Folder::new();
    folder.system("a", &["--no-such-flag"]);
    let path = folder.path().join("systems/a/system.toml");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("run = ")).unwrap();
    let works = line.replace(", \"--no-such-flag\"", "");
    std::fs::write(&path, format!("{manifest}[variants.other]\n{works}\n")).unwrap();
    folder.run(&["check", "a"]).expect(1);
    folder.run(&["check", "a:other"]).expect(0).says("1 correct");
    std::fs::write(&path, format!("{manifest}[variants.other]\nrun = [\"x\", \"{{port.htp}}\"]\n"))
        .unwrap();
    folder
        .run(&["check", "a"])
        .expect(2)
        .says("names a port that is not in `ports`")
        .says("did you mean `http`?");
}

#[test]
fn variant_may_have_own_workloads_and_protocol() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let path = folder.path().join("systems/a/system.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}[variants.missing]\nanswers = [\"missing\"]\n[variants.tls]\nprotocol = \"http1+tls\"\n"))
        .unwrap();
    let missing = |status: u16| {
        format!(
            "name = \"missing\"\nsummary = \"GET\"\n[[step]]\npath = \"/?status=404\"\n[step.answer]\nstatus = {status}\n"
        )
    };
    folder.write("workloads/missing.toml", &missing(404));
    folder.run(&["check", "a", "a:missing"]).expect(0).says("2 correct");
    folder.write("workloads/missing.toml", &missing(200));
    folder.run(&["check", "a", "a:missing"]).expect(1).says("1 correct");
    // It does not support TLS.
    folder.run(&["check", "a:tls"]).expect(1).says("no correct response");
    std::fs::write(&path, format!("{text}[variants.tls]\nprotocol = \"http1+tsl\"\n")).unwrap();
    folder.run(&["check", "a:tls"]).expect(2).says("did you mean `http1+tls`?");
    nothing_is_left(&folder);
}

#[test]
fn proxy_without_experiment_gets_upstream_by_workload() {
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
        .says("no experiment here names an upstream for it")
        .says("hint: name one with --upstream");
    folder.experiment(&["known", "other"], "upstream = \"back\"");
    folder.run(&["check", "new"]).expect(0).says("1 correct");
    nothing_is_left(&folder);
}

#[test]
fn proxy_gets_tls_port_of_upstream() {
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
    // Nothing listens at that port: the proxy only gets the address.
    change("proxy", "kind = \"service\"", "kind = \"proxy\"");
    change(
        "proxy",
        "ports = [\"http\"]",
        "ports = [\"http\"]\nenv = { CLEAR = \"{upstream.http}\", TLS = \"{upstream.https}\" }",
    );
    folder.run(&["check", "proxy", "--upstream", "both"]).expect(0).says("1 correct");
    folder
        .run(&["check", "proxy", "--upstream", "plain"])
        .expect(1)
        .says("`{upstream.https}` has no value: the upstream's `ports` does not contain `https`");
    nothing_is_left(&folder);
}

#[test]
fn concurrent_runs_wait_for_each_other() {
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

/// Contenders that share a block all start in it, the load alternates between them, and each stops
/// at its end.
#[test]
fn contenders_share_a_block_in_slices() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "100us"]);
    folder.experiment(&["a", "b"], "");
    let path = folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("alternate = \"trials\"", "alternate = \"slices\"");
    std::fs::write(&path, text).unwrap();
    folder
        .run(&["run", "x", "--blocks", "2", "--out", "r"])
        .says("alternation: all are up, and the load of a cell alternates between them")
        .says("block 2 of 2");
    let record = folder.record("r");
    assert_eq!(record.header.alternation, record::Alternation::Slices);
    crate::by_schema::is_by_schema(&folder, "r");
    for block in record.trials.chunks(2) {
        let [one, other] = block else { panic!("{} trials", record.trials.len()) };
        assert_eq!(
            (one.block, one.failure.is_none(), other.failure.is_none()),
            (other.block, true, true)
        );
        assert!(
            one.ready_after_ns.is_some() && one.stop.as_ref().is_some_and(|stop| stop.clean),
            "each block is a fresh start"
        );
        for (mine, theirs) in one.measurements.iter().zip(&other.measurements) {
            let [mine, theirs] = [mine, theirs].map(|m| m.slices.as_ref().unwrap());
            assert_eq!(mine.at_ns.len(), theirs.at_ns.len());
            assert!(
                mine.at_ns[1] > theirs.at_ns[0] && theirs.at_ns[1] > mine.at_ns[0],
                "{mine:?} {theirs:?}"
            );
            assert!(mine.neighbours_cpu_ns > 0 && mine.cpu_ns.iter().sum::<u64>() > 0, "{mine:?}");
        }
        for m in one.measurements.iter().chain(&other.measurements) {
            assert!(
                m.counts.add_up() && m.counts.correct > 0 && m.usage.is_known(),
                "{:?}",
                m.counts
            );
        }
    }
    nothing_is_left(&folder);
    // Contenders that cannot share a block are measured one after another, with the reason.
    let text = std::fs::read_to_string(&path).unwrap()
        + "[[claim]]\ntext = \"t\"\ncontender = \"b\"\nmetric = \"start_up\"\nexpects = \"lower\"\n";
    std::fs::write(&path, text).unwrap();
    let reason = "a claim is about start-up, which is measured alone".to_owned();
    folder
        .run(&["run", "x", "--blocks", "1", "--out", "s"])
        .says(&format!("alternation: one contender after the other: {reason}"));
    let alternation = folder.record("s").header.alternation;
    assert_eq!(alternation, record::Alternation::Trials { reason });
    let page = std::fs::read_to_string(folder.path().join("s/page.html")).unwrap();
    assert!(page.contains("measured one after the other, and not in slices of the same moments: a claim is about start-up"));
}

/// If one dies while the load alternates, it fails, and the other is measured to the end.
#[test]
fn contender_dying_in_shared_block_spares_the_other() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--exit-after", "600"]);
    folder.experiment(&["a", "b"], "");
    let path = folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("alternate = \"trials\"", "alternate = \"slices\"");
    std::fs::write(&path, text).unwrap();
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]).expect(1);
    let record = folder.record("r");
    let of = |name: &str| record.trials.iter().find(|t| t.contender.to_string() == name).unwrap();
    assert!(
        of("b").failure.as_ref().is_some_and(|f| f.stage == "measure" || f.stage == "warm-up"),
        "{:?}",
        of("b").failure
    );
    assert!(of("a").failure.is_none() && of("a").measurements.len() == 2, "{:?}", of("a"));
    nothing_is_left(&folder);
}
