//! Capacities of servers with known limits, alone and compared.

use super::load::Server;
use crate::folder::{Folder, nothing_is_left};
use record::capacity::{Ended, Probe, Recovered, Unfit};
use serde_json::Value;
use spec::metric::Metric;

/// Eight workers of 10 ms each: 40 users reach 50 ms.
#[test]
fn capacity_of_a_pool_is_found() {
    let server = Server::start(&["--delay", "10ms", "--pool", "8"]);
    let level = "p95<50ms and errors<1%";
    let asked =
        ["--capacity", level, "--users", "5", "-d", "500ms", "--probes", "6", "--wait", "asleep"];
    let found = server.load(&asked);
    assert_eq!(
        (&found["of"], &found["service_level"], &found["schema"]),
        (&"users".into(), &level.into(), &"faceoff.capacity.v1".into())
    );
    crate::by_schema::keeps_to("capacity", &found);
    let capacity = &found["capacity"];
    let (low, high) = (capacity["low"].as_f64().unwrap(), capacity["high"].as_f64().unwrap());
    // A busy machine has a lower capacity, never a higher one.
    let value = capacity["level"].as_f64().unwrap_or_else(|| panic!("{found}"));
    assert!(low <= value && value <= high && (5.0..=41.0).contains(&value), "{capacity}");
    let probes = found["probes"].as_array().unwrap();
    assert!(
        probes.iter().any(|p| p["kept"] == true) && probes.iter().any(|p| p["kept"] == false),
        "{found}"
    );
    let broken = probes.iter().filter(|p| p["kept"] == false);
    assert!(
        broken.clone().count() > 0 && broken.clone().all(|p| p["recovery"]["how"] == "by_itself"),
        "{found}"
    );
    let bounded =
        server.load(&["--capacity", level, "--users", "2", "-d", "300ms", "--at-most", "4"]);
    crate::by_schema::keeps_to("capacity", &bounded);
    assert_eq!(
        (&bounded["capacity"]["level"], &bounded["capacity"]["low"]),
        (&Value::Null, &4.0.into()),
        "{bounded}"
    );
}

#[test]
fn probes_are_kept_when_descriptors_run_out() {
    let server = Server::start(&[]);
    let searched = "--capacity 'p95<9s' --users 10 -d 200ms --format json";
    let script = format!(
        "ulimit -n 100 && exec {} load http://127.0.0.1:{}/ {searched}",
        env!("CARGO_BIN_EXE_faceoff"),
        server.1
    );
    let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&ran.stdout).unwrap();
    crate::by_schema::keeps_to("capacity", &found);
    assert!(
        found["capacity"]["low"].as_f64().is_some_and(|low| (10.0..=40.0).contains(&low)),
        "{found}"
    );
    assert!(found["warning"].as_str().is_some_and(|why| why.contains("descriptors")), "{found}");
}

#[test]
fn silent_server_has_no_capacity() {
    let server = Server::start(&["--status", "500"]);
    let url = format!("http://127.0.0.1:{}/", server.1);
    let folder = Folder::new();
    let ran = folder.run(&["load", &url, "--capacity", "p95<1ms"]).expect(1);
    ran.says("unknown: no probe was usable")
        .says("warning: it gave no correct response even without other load");
    let ran = folder.run(&["load", &url, "--capacity", "p95<1ms", "--format", "json"]).expect(1);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    crate::by_schema::keeps_to("capacity", &found);
    assert_eq!(found["capacity"], Value::Null, "{found}");
    folder
        .run(&["load", &url, "--capacity", "p95<1ms", "--format", "csv"])
        .expect(2)
        .says("--format csv has one line per second");
    folder
        .run(&["load", &url, "--capacity", "rate>5"])
        .expect(2)
        .says("is not allowed in a service level");
}

fn write_experiment(folder: &Folder, load: &str, more: &str) {
    folder.write(
        "experiments/x.toml",
        &format!(
            "name = \"x\"\nquestion = \"Which carries more?\"\nbaseline = \"four\"\ncontenders = [\"eight\"]\n[design]\nblocks = 2\nspare_blocks = 0\nwarmup = \"50ms\"\nmeasure = \"100ms\"\n[[cell]]\nname = \"most\"\nworkload = \"hello\"\nload = {{ kind = \"capacity\", {load} }}\n{more}"
        ),
    );
}

#[test]
fn capacity_is_searched_in_each_trial_and_shown() {
    let folder = Folder::new();
    folder.system("four", &["--delay", "10ms", "--pool", "4"]);
    folder.system("eight", &["--delay", "10ms", "--pool", "8"]);
    let load = "of = \"users\", service_level = \"p95<50ms and errors<1%\", from = 10, probe = \"400ms\", probes = 6";
    let claim = "[[claim]]\ntext = \"eight carries more\"\ncontender = \"eight\"\nmetric = \"capacity\"\nexpects = \"higher\"\ncells = [\"most\"]\n";
    write_experiment(&folder, load, claim);
    folder
        .run(&["run", "x", "--plan"])
        .expect(0)
        .says("cell       most: most users, no pause, with p95<50ms and errors<1%, workload hello");
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 4);
    for trial in &record.trials {
        assert!(trial.measurements.is_empty() && trial.failure.is_none(), "{trial:?}");
        let [searched] = trial.capacities.as_slice() else { panic!("{trial:?}") };
        assert!(searched.cell == "most" && searched.probes.iter().all(|p| p.steal_share.is_some()));
        if searched.ended == Ended::Done {
            let most = if trial.contender.to_string() == "four" { 21.0 } else { 41.0 };
            assert!(searched.level().is_none_or(|level| level <= most), "{searched:?}");
        }
    }
    let judgement = judge::judge(&record);
    assert!(judgement.verdicts.iter().all(|v| v.cell.is_none() || v.metric == Metric::Capacity));
    assert_eq!(judgement.capacities[0].lines.len(), 2);
    let ran = ran
        .says("Capacity of most: users at which p95<50ms and errors<1% holds")
        .says("most (most users, no pause, with p95<50ms");
    assert!(ran.out.contains("capacity"), "{}", ran.out);
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    assert!(page.contains(r#""service_level":"p95\u003c50ms and errors\u003c1%""#));
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

/// It uses hardly any CPU, so that only its end breaks a level.
#[test]
fn contender_killed_by_load_restarts_and_limit_is_found() {
    let folder = Folder::new();
    folder.system("four", &["--delay", "10ms", "--exit-above", "25"]);
    folder.system("eight", &["--delay", "10ms"]);
    let load = "of = \"users\", service_level = \"p95<5s and errors<1%\", from = 40, at_most = 60, probe = \"300ms\", probes = 6";
    write_experiment(&folder, load, "");
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 4, "{}\n{}", ran.out, ran.err);
    for trial in &record.trials {
        assert!(trial.failure.is_none(), "{:?}", trial.failure);
        let [searched] = trial.capacities.as_slice() else { panic!("{trial:?}") };
        let died: Vec<&Probe> = searched.probes.iter().filter(|p| p.ended.is_some()).collect();
        if trial.contender.to_string() == "eight" {
            assert!(died.is_empty(), "{searched:?}");
            continue;
        }
        assert!(
            searched.probes[0].level == 40.0 && searched.probes[0].ended.is_some(),
            "{searched:?}"
        );
        for probe in died {
            assert!(
                probe.level > 25.0 && probe.kept == Some(false) && probe.others_share.is_none(),
                "{probe:?}"
            );
            assert_eq!(probe.ended.as_deref(), Some("exit 3"));
            let recovery = probe.recovery.as_ref().unwrap();
            assert!(
                recovery.how == Recovered::Restarted
                    && recovery.failure.as_ref().unwrap().contains("exit 3"),
                "{recovery:?}"
            );
            assert!(
                recovery.after_ns < 10_000_000_000,
                "a dead contender is restarted at once: {recovery:?}"
            );
        }
        if searched.ended == Ended::Done {
            let is_stolen = searched.probes.iter().any(|p| p.unfit() == Some(Unfit::Stolen));
            assert!(
                is_stolen || searched.level().is_some_and(|level| (20.0..=26.5).contains(&level)),
                "{searched:?}"
            );
        }
    }
    let ran = ran.says("it had ended with exit 3 before it was stopped");
    assert!(ran.out.contains("; started again "), "{}", ran.out);
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
fn invalid_capacity_is_refused() {
    let folder = Folder::new();
    folder.system("four", &[]);
    folder.system("eight", &[]);
    for (load, said) in [
        ("service_level = \"p95<1ms\"", "a capacity of what?"),
        ("of = \"rate\"", "a capacity needs the level that must hold"),
        ("of = \"rate\", service_level = \"count<5\"", "is not allowed in a service level"),
        (
            "of = \"rate\", service_level = \"p95<1ms\", pause = \"1s\"",
            "`pause` does not apply here",
        ),
        (
            "of = \"users\", service_level = \"p95<1ms\", from = 5, at_most = 4",
            "the search begins at 5 and ends at 4",
        ),
        ("of = \"users\", service_level = \"p95<1ms\", probe = \"1ms\"", "are too short"),
        ("of = \"users\", service_level = \"p95<1ms\", servce = 5", "unknown field `servce`"),
    ] {
        write_experiment(&folder, load, "");
        folder.run(&["run", "x", "--plan"]).expect(2).says(said);
    }
    let claim = "[[claim]]\ntext = \"t\"\ncontender = \"eight\"\nmetric = \"latency_p50\"\nexpects = \"lower\"\n";
    write_experiment(&folder, "of = \"rate\", service_level = \"p95<1ms\"", claim);
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("uses median latency, which its cells do not measure");
}
