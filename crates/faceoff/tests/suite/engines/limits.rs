//! Limits of CPU time and memory, which both engines set and say alike.

use crate::folder::Folder;

pub fn hold(folder: &Folder, runner: &str, system: impl Fn(&str, &[&str])) {
    system("a", &["--cpu", "2ms"]);
    system("b", &[]);
    folder.experiment(
        &["a", "b"],
        &format!("[place]\nrunner = \"{runner}\"\ncpu_limit = 0.2\nmemory_limit = \"64M\"\n"),
    );
    folder.replace("experiments/x.toml", "measure = \"150ms\"", "measure = \"1s\"");
    folder
        .run(&["run", "x", "--blocks", "1", "--out", "r"])
        .says("at most 0.200 s of CPU time a second and 64.0 MiB of memory");
    let record = folder.record("r");
    let trial = record.trials.iter().find(|trial| trial.contender == "a".parse().unwrap()).unwrap();
    let closed = trial.measurements.iter().find(|measured| measured.cell == "closed").unwrap();
    let quota = closed.usage.signs.quota.unwrap();
    assert!(quota.throttled_periods > 0 && quota.throttled_ns > 0, "{quota:?}");
    let used = closed.usage.cpu_ns as f64 / closed.usage.wall_ns as f64;
    assert!(used < 0.3, "a fifth of a CPU was allowed, {used} was used");

    // With all CPU time: on a fifth of it, a program that fills its memory next to others is
    // late before it is full.
    folder.replace("experiments/x.toml", "cpu_limit = 0.2\n", "");
    system("c", &["--memory", "200M"]);
    folder.run(&["run", "x", "--blocks", "1", "--add", "c", "--out", "m"]);
    let record = folder.record("m");
    let (_, failure) = record.dropped().next().expect("c cannot start");
    assert!(failure.cause.contains("out of its memory of 64.0 MiB"), "{}", failure.cause);
}
