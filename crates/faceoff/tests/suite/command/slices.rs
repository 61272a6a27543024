//! Slices of loads whose last responses take far longer than a slice, and of contenders that work
//! while another has the load.

use super::interrupted::start;
use crate::control_server::ControlServer;
use crate::folder::{Folder, measured, nothing_is_left};
use std::time::Duration;

/// 40 requests that take no time, then one that takes 600 ms.
fn seldom_slow(folder: &Folder) {
    let step = |delay: &str| {
        format!("[[step]]\npath = \"/?delay={delay}\"\n[step.answer]\nbody_file = \"hello.txt\"\n")
    };
    let steps = step("0ms").repeat(40) + &step("600ms");
    folder.write(
        "workloads/seldom.toml",
        &format!("name = \"seldom\"\nsummary = \"GET /\"\n{steps}"),
    );
}

/// The median response asks for slices of 40 ms, and then each of the 25 would wait 600 ms for its
/// last responses.
#[test]
fn slices_lengthen_where_their_drains_take_longer() {
    let folder = Folder::new();
    seldom_slow(&folder);
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.write(
        "experiments/x.toml",
        r#"
name = "x"
question = "Which?"
baseline = "a"
contenders = ["b"]
[design]
blocks = 1
alternate = "slices"
warmup = "50ms"
measure = "1s"
[[cell]]
name = "closed"
workload = "seldom"
load = { kind = "closed", connections = 4 }
"#,
    );
    folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    for contender in ["a", "b"] {
        let all = measured(&record, contender);
        let [measurement] = &all[..] else { panic!("{contender}: {} measurements", all.len()) };
        let slices = measurement.slices.as_ref().unwrap();
        assert!(slices.length_ns >= 400_000_000, "{contender}: {slices:?}");
        assert!(measurement.counts.correct > 100 && measurement.counts.failed() == 0);
    }
    nothing_is_left(&folder);
}

/// Writes an experiment in slices of `a` and of `b`, which always has work in the background.
fn one_works_in_the_background(measure: &str) -> Folder {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--background", "8ms"]);
    folder.write(
        "experiments/x.toml",
        &format!(
            r#"
name = "x"
question = "Which?"
baseline = "a"
contenders = ["b"]
[design]
blocks = 2
spare_blocks = 0
alternate = "slices"
warmup = "50ms"
measure = "{measure}"
[[cell]]
name = "open"
workload = "hello"
load = {{ kind = "arrivals", rate = 400 }}
[[cell]]
name = "closed"
workload = "hello"
load = {{ kind = "closed", connections = 4 }}
"#
        ),
    );
    folder
}

#[test]
fn contender_without_the_load_does_nothing() {
    let folder = one_works_in_the_background("1s");
    folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    for name in ["a", "b"] {
        let all = measured(&record, name);
        assert_eq!(all.len(), 4, "{name}");
        for m in all {
            assert!(m.counts.correct > 100 && m.counts.failed() == 0, "{:?}", m.counts);
            let slices = m.slices.as_ref().unwrap();
            assert!(slices.paused);
            assert!(m.began_after_ns >= 2_000_000_000, "there was time for what b always does");
            let within = slices.neighbours_within_ns.unwrap() as f64 / slices.whole_ns as f64;
            assert!(within < 0.02, "{name}: others used {within} of its slices");
            assert!(slices.idle_cpu_ns.iter().all(|ns| *ns == 0), "{name}: {slices:?}");
        }
    }
    // Its own load meets that work.
    for m in measured(&record, "b") {
        let slices = m.slices.as_ref().unwrap();
        assert!(slices.cpu_ns.iter().sum::<u64>() > slices.whole_ns / 4, "{slices:?}");
    }
    nothing_is_left(&folder);
}

/// faceoff pauses no service that it did not start, and shows what it does meanwhile. The machine's
/// CPUs are far busier with it than the threshold allows, if it has no more than four.
#[test]
fn work_of_services_that_ran_already_is_seen() {
    let folder = Folder::new();
    let (mut plain, mut busy) =
        (ControlServer::start(&[]), ControlServer::start(&["--background", "9ms"]));
    let names = [format!("plain={}", plain.url), format!("busy={}", busy.url)];
    let limits = ["--blocks", "1", "-d", "1s", "-c", "2", "--out", "r"];
    folder.run(&[&["vs", &names[0], &names[1]], &limits[..]].concat());
    let record = folder.record("r");
    let of = |name: &str| measured(&record, name)[0].slices.clone().unwrap();
    let (plain_slices, busy_slices) = (of("plain"), of("busy"));
    assert!(!plain_slices.paused && !busy_slices.paused);
    assert!(plain_slices.neighbours_within_ns.unwrap() > plain_slices.whole_ns / 5);
    assert!(busy_slices.idle_cpu_ns.iter().sum::<u64>() > busy_slices.whole_ns / 5);
    if std::thread::available_parallelism().unwrap().get() <= 4 {
        let faults = judge::judge(&record).faults;
        assert!(faults.iter().any(|fault| fault.kind == "spill-over"), "{faults:#?}");
    }
    assert!(plain.is_running() && busy.is_running());
}

#[test]
fn nothing_is_left_paused_if_faceoff_is_killed() {
    let folder = one_works_in_the_background("60s");
    let mut run = start(&folder, &["run", "x", "--out", "r"]);
    while !is_any_paused(&folder) {
        assert!(run.try_wait().unwrap().is_none(), "it ended before anything was paused");
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    nothing_is_left(&folder);
}

/// Whether a process of the folder is stopped by a signal.
fn is_any_paused(folder: &Folder) -> bool {
    let place = folder.path().to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        cwd.starts_with(&place)
    });
    let mut states = processes.map(|entry| {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:\tT"))
    });
    states.any(|is_stopped| is_stopped)
}
