//! What a run in containers or in pods must have recorded, whatever the engine.

use crate::folder::{Folder, assert_burns};
use record::{Measurement, Record};

/// Profiles a block of `a` and `b`, which both use CPU time for each request, and checks that the
/// samples name the function that does.
#[track_caller]
pub fn check_contained_profiles(folder: &Folder, runner: &str) {
    folder.experiment(&["a", "b"], "[profile]\nblocks = 1\nmeasure = \"400ms\"");
    folder.run(&["run", "x", "--profile", "--blocks", "1", "--runner", runner, "--out", "r"]);
    let record = folder.record("r");
    assert_eq!(record.profiles.len(), 2);
    record.profiles.iter().for_each(assert_burns);
}

/// Checks the record `r` of two blocks of `a` and `b`. `b` logs every request and uses 300 µs of
/// CPU for each.
#[track_caller]
pub fn check_contained_run(folder: &Folder, record: &Record) {
    for contender in &record.header.contenders {
        let digest = &contender.image.as_ref().unwrap().digest;
        assert!(digest.len() == 71 && digest.starts_with("sha256:"), "{digest}");
    }
    assert_eq!(record.trials.len(), 4);
    let logged = "b".parse().unwrap();
    for trial in &record.trials {
        assert!(trial.failure.is_none(), "{:?}", trial.failure);
        assert!(
            trial.ready_after_ns.is_some() && trial.stop.as_ref().is_some_and(|stop| stop.clean),
            "{:?}",
            trial.stop
        );
        for measured in &trial.measurements {
            assert_eq!(measured.usage.allowed_cpus, record.header.cpus.contender);
            check_usage(measured);
            if trial.contender == logged {
                let per_request = measured.usage.cpu_ns as f64 / measured.counts.correct as f64;
                assert!(per_request > 300_000.0, "{per_request} ns of CPU time per request");
            }
        }
    }
    let logs = std::fs::read_dir(folder.path().join("r/starts"))
        .unwrap()
        .flatten()
        .map(|start| start.path().join("output.log"));
    let is_written = |log: &std::path::PathBuf| log.metadata().is_ok_and(|log| log.len() > 0);
    assert!(logs.filter(is_written).count() >= 2, "what b wrote is kept");
    folder.run(&["judge", "r"]);
    crate::by_schema::is_by_schema(folder, "r");
}

fn check_usage(measured: &Measurement) {
    let usage = &measured.usage;
    assert!(
        measured.counts.correct > 0 && usage.cpu_ns > 0 && usage.rss_max_bytes > 0,
        "{usage:?}"
    );
    // Both count the same processes; the group's figure lags by at most one kernel tick at either
    // end.
    let group = usage.signs.group.as_ref().expect("a container has a group of its own");
    assert!(
        group.cpu_ns.abs_diff(usage.cpu_ns) < usage.cpu_ns / 4 + 40_000_000,
        "{group:?} {}",
        usage.cpu_ns
    );
}
