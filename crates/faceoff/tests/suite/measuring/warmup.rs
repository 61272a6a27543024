//! Warm-up with a control server whose service time changes with its age.
//!
//! The end of the warm-up and its class are known, and the record must have them.

use crate::folder::{Folder, nothing_is_left};
use crate::machine::alone;
use record::{Trial, Warmup};
use record::{
    WarmUpClass, WarmUpClass::NeverSteady, WarmUpClass::Slowdown, WarmUpClass::TooShort,
    WarmUpClass::WarmUp,
};

/// Runs one block of two systems with a warm-up limit.
fn run(
    folder: &Folder,
    systems: [(&str, &[&str]); 2],
    at_most: &str,
) -> (crate::folder::Ran, Vec<Trial>) {
    systems.iter().for_each(|(name, flags)| folder.system(name, flags));
    folder.experiment(&systems.map(|(name, _)| name), "");
    folder.replace("experiments/x.toml", "\"50ms\"", &format!("\"{at_most}\""));
    let ran = folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    (ran, folder.record("r").trials)
}

fn warmup<'t>(trials: &'t [Trial], name: &str) -> &'t Warmup {
    trials.iter().find(|t| t.contender.system == name).and_then(|t| t.warmup.as_ref()).unwrap()
}

/// Returns the CPU time per response in microseconds, window by window.
fn cpu_us(warmup: &Warmup) -> Vec<f64> {
    warmup.windows.iter().map(|w| w.cpu_ns as f64 / 1e3 / w.correct as f64).collect()
}

#[test]
fn warm_up_ends_with_the_steady_state() {
    let _alone = alone();
    let folder = Folder::new();
    let warming: &[&str] = &["--cpu", "200us", "--warm-over", "3s", "--warm-factor", "8"];
    let (ran, trials) = run(&folder, [("even", &["--cpu", "200us"]), ("warming", warming)], "20s");
    let (even, warming) = (warmup(&trials, "even"), warmup(&trials, "warming"));
    // A busy machine may disturb an even start, but it is soon found steady.
    assert!(even.steady_after_ns.is_some() && even.windows.len() < 20, "{even:?}");
    assert!(
        even.windows
            .iter()
            .all(|w| w.correct > 0 && w.load_ns >= 700_000_000 && w.max_ns >= w.p50_ns),
        "{even:?}"
    );
    assert_eq!(warming.class, WarmUp, "{:?}", cpu_us(warming));
    let costs = cpu_us(warming);
    assert!(costs[0] > 4.0 * costs[costs.len() - 1], "{costs:?}");
    assert!(
        warming.steady_after_ns.is_some_and(|ns| ns >= 2_000_000_000),
        "{:?}",
        warming.steady_after_ns
    );
    // It was measured only after it had reached 200 us, plus the usual cost of a request.
    for measurement in
        trials.iter().filter(|t| t.contender.system == "warming").flat_map(|t| &t.measurements)
    {
        let us = measurement.usage.cpu_ns as f64 / 1e3 / measurement.counts.correct as f64;
        assert!((200.0..400.0).contains(&us), "{us} us in {}", measurement.cell);
    }
    assert!(trials.iter().all(|t| t.warmed_with
        == t.warmup.as_ref().unwrap().windows.iter().map(|w| w.correct).sum::<u64>()));
    ran.says("even: ").says("warming: warm_up in 1 of 1 start; steady after");
    nothing_is_left(&folder);
}

#[test]
fn slowing_down_and_never_steady_are_recorded() {
    let _alone = alone();
    let folder = Folder::new();
    let slowing: &[&str] = &["--cpu", "400us", "--warm-over", "3s", "--warm-factor", "0.125"];
    let changing: &[&str] = &["--cpu", "20us", "--warm-over", "24s", "--warm-factor", "50"];
    let (ran, trials) = run(&folder, [("slowing", slowing), ("changing", changing)], "12s");
    let (slowing, changing) = (warmup(&trials, "slowing"), warmup(&trials, "changing"));
    assert_eq!(slowing.class, Slowdown, "{:?}", cpu_us(slowing));
    assert_eq!(
        (changing.class, changing.steady_after_ns, changing.windows.len()),
        (NeverSteady, None, 12),
        "{:?}",
        cpu_us(changing)
    );
    assert!(trials.iter().all(|t| t.failure.is_none() && t.measurements.len() == 2), "{}", ran.err);
    ran.says("changing: never_steady in 1 of 1 start");
    let judgement = judge::judge(&folder.record("r"));
    let classes: Vec<_> = judgement
        .warmups
        .iter()
        .map(|w| (w.contender.system.as_str(), w.classes.clone()))
        .collect();
    assert_eq!(classes, [("slowing", vec![(Slowdown, 1)]), ("changing", vec![(NeverSteady, 1)])]);
    assert!(
        judgement.warmups[1].steady_cpu_us.is_none() && judgement.warmups[1].cold_cpu_us.is_some()
    );
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    assert!(
        page.contains("changing was still changing after 12 s of warm-up in 1 of 1 starts"),
        "the note"
    );
    nothing_is_left(&folder);
}

#[test]
fn warm_up_may_be_short_or_absent() {
    let _alone = alone();
    let classes = |at_most: &str| -> Vec<Option<(WarmUpClass, usize)>> {
        let (_, trials) = run(&Folder::new(), [("a", &[]), ("b", &[])], at_most);
        trials.iter().map(|t| t.warmup.as_ref().map(|w| (w.class, w.windows.len()))).collect()
    };
    assert_eq!(classes("0s"), [None, None]);
    assert_eq!(classes("300ms"), [Some((TooShort, 1)); 2]);
    // A short warm-up uses windows of a tenth of its length.
    assert!(
        classes("2500ms")
            .into_iter()
            .all(|class| class.is_some_and(|(_, windows)| (5..=10).contains(&windows)))
    );
}

#[test]
fn warm_up_has_minimum_time_and_chosen_workloads() {
    let _alone = alone();
    let folder = Folder::new();
    ["a", "b"].iter().for_each(|name| folder.system(name, &["--cpu", "200us"]));
    let slow = "name = \"slow\"\nsummary = \"s\"\n[[step]]\npath = \"/?delay=30ms\"\n[step.answer]\nbody_file = \"hello.txt\"\n";
    folder.write("workloads/slow.toml", slow);
    folder.experiment(&["a", "b"], "");
    let path = folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("name = \"open\"\nworkload = \"hello\"", "name = \"open\"\nworkload = \"slow\"");
    let with = |warmup: &str| {
        std::fs::write(&path, text.replace("warmup = \"50ms\"", warmup)).unwrap();
        folder.run(&["run", "x", "--plan"])
    };
    with("warmup = \"9s..8s\"")
        .expect(2)
        .says("x.toml:10")
        .says("at least 9.0 s and at most 8.0 s is impossible");
    with("warmup_workloads = [\"slo\"]")
        .expect(2)
        .says("no cell has the workload `slo`")
        .says("slow");
    let line = "warm-up: per trial until the steady state is found, 8.0 s at least and 20 s at most, by hello";
    with("warmup = \"8s..20s\"\nwarmup_workloads = [\"hello\"]").expect(0).says(line);
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]).expect(0);
    for trial in folder.record("r").trials {
        let windows = trial.warmup.unwrap().windows;
        assert!((8..=20).contains(&windows.len()), "{windows:?}");
        // With both workloads, half of each window would have waited.
        assert!(windows.iter().all(|w| w.p50_ns.is_some_and(|ns| ns < 30_000_000)), "{windows:?}");
        let (first, last) = (&windows[0], &windows[windows.len() - 1]);
        // Connections are added until its CPU is used up; see `crates/lab/src/warmup.rs`.
        assert!(first.connections == 2 && last.connections >= 8 && last.correct > 500, "{last:?}");
    }
    nothing_is_left(&folder);
}

#[test]
fn cell_is_measured_after_warm_up_with_its_load() {
    let _alone = alone();
    let folder = Folder::new();
    for name in ["a", "b"] {
        folder.system(name, &["--cpu", "200us", "--warm-over", "1s", "--warm-factor", "40"]);
    }
    folder.experiment(&["a", "b"], "");
    folder.replace("experiments/x.toml", "warmup = \"50ms\"", "warmup = \"0s\"");
    folder.replace("experiments/x.toml", "\"closed\"\n", "\"closed\"\nwarmup = \"1500ms\"\n");
    folder.run(&["run", "x", "--plan"]).says(
        "cell       closed: closed loop, 4 connections, workload hello, after 1.5 s of the same",
    );
    let ran = folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let trials = folder.record("r").trials;
    assert_eq!(trials.len(), 2, "{}", ran.err);
    for trial in trials {
        assert!(
            trial.warmup.is_none() && trial.warmed_with > 100 && trial.measurements.len() == 2,
            "{trial:?}"
        );
        let closed = trial.measurements.iter().find(|m| m.cell == "closed").unwrap();
        assert!(
            closed.began_after_ns >= trial.ready_after_ns.unwrap() + 1_500_000_000,
            "{closed:?}"
        );
        // Its first responses took 8 ms. The measurement begins at 200 us, plus the usual cost.
        let us = closed.usage.cpu_ns as f64 / 1e3 / closed.counts.correct as f64;
        assert!(
            (200.0..500.0).contains(&us) && closed.duration_ns < 1_000_000_000,
            "{us} us in {closed:?}"
        );
    }
    nothing_is_left(&folder);
}

#[test]
fn contender_does_what_it_put_off_between_rounds_of_the_load() {
    let folder = Folder::new();
    folder.system("quiet", &[]);
    folder.system("busy", &["--background", "8ms"]);
    folder.experiment(&["quiet", "busy"], "");
    folder.replace("experiments/x.toml", "\"open\"\n", "\"open\"\nwarmup = \"4s\"\n");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let record = folder.record("r");
    let trial = |name| record.trials.iter().find(|t| t.contender.to_string() == name).unwrap();
    let began_ns = |name| {
        let open = trial(name).measurements.iter().find(|m| m.cell == "open").unwrap();
        open.began_after_ns - trial(name).ready_after_ns.unwrap()
    };
    // After each 2 s of load, the one that always works has the longest pause: 2 s within the
    // warm-up, and 2 s before the measurement.
    let warmed_for_cell = |name| {
        let trial: &record::Trial = trial(name);
        let before: u64 = trial.warmup.iter().flat_map(|w| &w.windows).map(|w| w.correct).sum();
        trial.warmed_with - before
    };
    let (quiet, busy) = (warmed_for_cell("quiet"), warmed_for_cell("busy"));
    assert!(quiet * 2 > busy * 3, "{quiet} against {busy}");
    assert!(began_ns("busy") >= 6_000_000_000 && began_ns("quiet") >= 4_000_000_000);
    nothing_is_left(&folder);
}
