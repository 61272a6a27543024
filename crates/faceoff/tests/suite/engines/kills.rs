//! Kills faceoff, a contender, an agent or the engine with SIGKILL at random moments.
//!
//! Afterwards every finished trial can be judged, the end of an engine is no contender's failure,
//! and nothing remains after `faceoff clean`. An interrupted test continues where it stopped.

use crate::folder::{Folder, nothing_is_left};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time limit for a run, whatever was killed.
const ENDS_WITHIN: Duration = Duration::from_secs(400);
/// The latest moment of a kill.
const LATEST_MS: u64 = 15_000;
/// The variable with the shell command that kills the engine.
const KILL: &str = "FACEOFF_ENGINE_KILL";
/// The variable with the shell command that restarts the engine.
const UP: &str = "FACEOFF_ENGINE_UP";

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victim {
    Faceoff,
    Contender,
    Agent,
    Engine,
}

/// Kills the victims alternately in runs of the experiment `x`, FACEOFF_KILLS times.
///
/// Agents in pods may generate the loads. `is_clean` fails if something remains in the engine. An
/// interrupted test continues where it stopped.
pub fn at_random_moments(folder: &Folder, runner: &str, victims: &[Victim], is_clean: &dyn Fn()) {
    let rounds = std::env::var("FACEOFF_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let done =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kills-{runner}-{:?}.txt", victims[0]));
    let before = std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    println!("seed {seed}; {before} of {rounds} rounds are done, recorded in {}", done.display());
    let mut random = u64::from(seed);
    for round in before..rounds {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let after = Duration::from_millis((random >> 33) % LATEST_MS);
        let victim = victims[round % victims.len()];
        one(folder, runner, victim, after, &format!("r{round}"));
        folder.run(&["clean"]).expect(0);
        is_clean();
        nothing_is_left(folder);
        let mut file = File::options().append(true).create(true).open(&done).unwrap();
        writeln!(file, "{victim:?} after {after:?}").unwrap();
    }
    std::fs::remove_file(&done).unwrap();
}

fn one(folder: &Folder, runner: &str, victim: Victim, after: Duration, out: &str) {
    let case = format!("{victim:?} after {after:?}");
    let log = folder.path().join(format!("{out}.err"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .env("XDG_CACHE_HOME", folder.path().join("cache"));
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    command
        .args(["run", "x", "--runner", runner, "--out", out])
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap());
    let mut run = command.spawn().unwrap();
    std::thread::sleep(after);
    match victim {
        Victim::Faceoff => run.kill().unwrap(),
        Victim::Contender => kill_in_a_container(&mut run, "control"),
        Victim::Agent => kill_in_a_container(&mut run, "faceoff"),
        Victim::Engine => {
            shell(KILL);
            std::thread::sleep(Duration::from_secs(1));
            shell(UP);
        }
    }
    let begun = Instant::now();
    while run.try_wait().unwrap().is_none() {
        if begun.elapsed() > ENDS_WITHIN {
            let _ = run.kill();
            panic!(
                "{case}: it does not end\n{}",
                std::fs::read_to_string(&log).unwrap_or_default()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    if !folder.path().join(out).join("record.jsonl").exists() {
        println!("{case}: before there was a record");
        return;
    }
    is_judged(folder, victim, out, &case);
    if victim != Victim::Contender {
        let ran = folder.run(&["run", "--resume", out]);
        assert!([0, 1, 4].contains(&ran.code), "{case}: {}\n{}\n{}", ran.code, ran.out, ran.err);
        assert!(folder.record(out).missing().is_empty(), "{case}\n{}", ran.err);
        is_judged(folder, victim, out, &case);
    }
}

/// Checks that the record can be judged, and that losing an engine is no failure.
fn is_judged(folder: &Folder, victim: Victim, out: &str, case: &str) {
    let record = folder.record(out);
    let mut measured = record.trials.iter().flat_map(|trial| &trial.measurements);
    assert!(measured.all(|measured| measured.counts.add_up()), "{case}");
    let of_trials = record.trials.iter().filter_map(|trial| trial.failure.as_ref());
    let failures: Vec<_> = of_trials.chain(record.dropped().map(|(_, failure)| failure)).collect();
    assert!(victim == Victim::Contender || failures.is_empty(), "{case}: {failures:?}");
    let ran = folder.run(&["judge", out]);
    assert!([0, 1, 4].contains(&ran.code), "{case}: {}\n{}\n{}", ran.code, ran.out, ran.err);
    println!("{case}: {} trials, {} failures", record.trials.len(), failures.len());
}

/// Whether the record `r` has a trial.
pub fn has_trial(folder: &Folder) -> bool {
    std::fs::read_to_string(folder.path().join("r/record.jsonl"))
        .is_ok_and(|record| record.contains("{\"trial\""))
}

/// Waits until the record `r` has a trial. Returns `false` if its run ended before.
#[track_caller]
pub fn await_trial(folder: &Folder, within: Duration, mut has_ended: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !has_trial(folder) {
        if has_ended() {
            return false;
        }
        assert!(begun.elapsed() < within, "no trial");
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Kills a process of a program in its own control group, once there is one.
fn kill_in_a_container(run: &mut Child, program: &str) {
    let begun = Instant::now();
    while run.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(120) {
        if let Some(pid) = in_a_container(program) {
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process id of a program in a container.
fn in_a_container(program: &str) -> Option<String> {
    let read = |pid: &str, file: &str| {
        std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
    };
    let ours = read("self", "cgroup");
    let mut pids = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_it = |pid: &String| {
        let group = read(pid, "cgroup");
        pid.bytes().all(|b| b.is_ascii_digit())
            && read(pid, "comm").trim() == program
            && !group.is_empty()
            && group != ours
    };
    pids.find(is_it)
}

/// Runs what a variable names.
fn shell(name: &str) {
    let command = std::env::var(name).unwrap();
    let done = Command::new("sh").args(["-c", &command]).stdout(Stdio::null()).status().unwrap();
    assert!(done.success(), "{name}: `{command}` ended with {done}");
}
