//! Provokes every harmless fault with real processes, and checks that a sound run shows none.
//!
//! Some faults can be hidden by another program on the CPUs. For these, the tests check the
//! readings here, and `crates/judge/tests/judge/soundness.rs` judges such readings. It also covers
//! faults that need a power cut or a hypervisor: steal, frequency, memory, sleep.

mod limits;

use crate::folder::{Folder, Ran, code_of, control, least_cpu_us, measured};
use crate::machine::alone;
use crate::needs::{Unshare, need};
use record::Record;
use record::judgement::{FaultAt, Judgement};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const OPEN: &str = "load = { kind = \"arrivals\", rate = 400 }";
const CLOSED: &str = "load = { kind = \"closed\", connections = 4 }";

/// Writes an experiment `x` of these contenders with one cell and a measuring time.
fn experiment(
    folder: &Folder,
    contenders: &[&str],
    blocks: u32,
    measure: &str,
    load: &str,
    more: &str,
) {
    let others: Vec<String> = contenders[1..].iter().map(|c| format!("\"{c}\"")).collect();
    let text = format!(
        "name = \"x\"\nquestion = \"Which?\"\nbaseline = \"{}\"\ncontenders = [{}]\n{more}\n[design]\nblocks = {blocks}\nalternate = \"trials\"\nspare_blocks = 0\nwarmup = \"50ms\"\nmeasure = \"{measure}\"\n[[cell]]\nname = \"c\"\nworkload = \"hello\"\n{load}\ntimeout = \"5s\"\n",
        contenders[0],
        others.join(", ")
    );
    folder.write("experiments/x.toml", &text);
}

/// Writes a system that starts `control` with flags after a shell snippet.
fn behind(folder: &Folder, name: &str, shell: &str, flags: &[&str]) {
    let flags: String = flags.iter().map(|f| format!(", \"{f}\"")).collect();
    folder.write(
        &format!("systems/{name}/system.toml"),
        &format!(
            "name = \"{name}\"\nsummary = \"control\"\nkind = \"service\"\nanswers = [\"hello\"]\n[start]\nrun = [\"sh\", \"-c\", '{shell} exec \"$0\" \"$@\"', \"{}\", \"--port\", \"{{port.http}}\", \"--body-file\", \"../../workloads/hello.txt\"{flags}]\nports = [\"http\"]\n[ready]\nwithin = \"5s\"\n[stop]\nwithin = \"500ms\"\n",
            control().display()
        ),
    );
}

fn two(folder: &Folder, flags: &[&str]) {
    folder.system("a", flags);
    folder.system("b", flags);
}

fn read(folder: &Folder) -> (Record, Judgement) {
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    (record, judgement)
}

/// Runs `x` and returns its faults.
fn faults(folder: &Folder) -> Vec<FaultAt> {
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!(folder.path().join("r").exists(), "{ran:?}");
    read(folder).1.faults
}

/// Runs `x` while faceoff itself is stopped and continued repeatedly, and returns its faults.
#[track_caller]
fn faults_with_pauses(folder: &Folder, stopped: Duration, between: Duration) -> Vec<FaultAt> {
    let log = folder.path().join("run.err");
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(["run", "x", "--out", "r"])
        .stdout(Stdio::null());
    let mut faceoff = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
    let pid = Pid::from_raw(faceoff.id() as i32).unwrap();
    let status = loop {
        if let Some(status) = faceoff.try_wait().unwrap() {
            break status;
        }
        let _ = kill_process(pid, Signal::STOP);
        std::thread::sleep(stopped);
        let _ = kill_process(pid, Signal::CONT);
        std::thread::sleep(between);
    };
    let (record, judgement) = read(folder);
    let measured = record.trials.iter().flat_map(|trial| &trial.measurements).count();
    assert_eq!(
        measured,
        record.header.plan.iter().flatten().count(),
        "{status}\n{}",
        std::fs::read_to_string(log).unwrap()
    );
    judgement.faults
}

#[track_caller]
fn assert_shows(faults: &[FaultAt], kind: &str, evidence: &str) {
    let found = faults
        .iter()
        .any(|f| f.kind == kind && f.evidence.contains(evidence) && !f.hint.is_empty());
    assert!(found, "no {kind} with `{evidence}` in {faults:#?}");
}

/// Runs the command in its own network namespace, which has its own counters.
fn in_own_network(unshare: &Unshare, folder: &Folder, setup: &str) -> Ran {
    let shell = format!("ip link set lo up && {setup} exec \"$0\" run x --out r");
    let mut run = unshare.command();
    run.args(["sh", "-c", &shell, env!("CARGO_BIN_EXE_faceoff")])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path());
    Ran::from(run.output().unwrap())
}

/// As [`in_own_network`], for a test that needs it.
fn must_be_in_own_network(folder: &Folder, setup: &str) {
    need("network namespaces");
    in_own_network(&Unshare::find().unwrap(), folder, setup);
}

/// A process that is killed when dropped.
struct Hog(Child);

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Keeps one CPU busy, for at most a minute.
fn hog(cpu: usize) -> Hog {
    let mut busy = Command::new("taskset");
    Hog(busy
        .args(["-c", &cpu.to_string(), "sh", "-c", "ulimit -t 60; while :; do :; done"])
        .spawn()
        .expect("taskset, of util-linux"))
}

#[test]
fn stopped_generator_lags_and_misses_rate_and_schedule() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 4, "700ms", OPEN, "");
    let faults = faults_with_pauses(&folder, Duration::from_millis(150), Duration::from_millis(50));
    assert_shows(&faults, "generator-lag", "late (median)");
    assert_shows(&faults, "rate-not-achieved", "were sent in time");
    assert_shows(&faults, "arrivals", "A²");
}

#[test]
fn generator_pauses_count_as_lag_and_latency() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "2s", OPEN, "");
    faults_with_pauses(&folder, Duration::from_millis(40), Duration::from_millis(560));
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        // Waiting counts from the schedule: requests of 40 of every 600 ms are late.
        let (lag, latency) = (m.generator.lag.as_ref().unwrap(), m.latency.as_ref().unwrap());
        let late = |times: &stats::Histogram| times.count_between(5_000_000, u64::MAX);
        assert!(
            100 * late(lag) >= lag.len() && late(latency) >= late(lag) / 2,
            "{lag:?} {latency:?}"
        );
    }
}

#[test]
#[ignore = "needs two CPUs"]
fn generator_at_its_limit_uses_most_of_the_cpu() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    two(&folder, &[]);
    // The response is an immediate echo. Searching it for this pattern takes much longer.
    folder.write(
        "workloads/hello.toml",
        "name = \"hello\"\nsummary = \"GET /echo\"\n[[data]]\nname = \"text\"\ntext = { size = \"2K\" }\n[[step]]\npath = \"/echo?${text}\"\n[step.answer]\nregex = '(\\w{3,60}[0-9]){2,20}~|HTTP/1'\n",
    );
    experiment(
        &folder,
        &["a", "b"],
        1,
        "400ms",
        "load = { kind = \"closed\", connections = 16 }",
        "",
    );
    faults(&folder);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        // The generator is never idle: it uses many times the contender's CPU time.
        assert!(
            m.counts.correct > 0 && m.generator.cpu_ns > 3 * m.usage.cpu_ns,
            "{:?} {:?}",
            m.generator,
            m.usage
        );
    }
}

#[test]
fn in_flight_limit_is_a_fault_of_an_open_load() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &["--delay", "50ms"]);
    experiment(
        &folder,
        &["a", "b"],
        2,
        "300ms",
        "load = { kind = \"arrivals\", rate = 400, in_flight_max = 4 }",
        "",
    );
    let all = faults(&folder);
    assert_shows(&all, "in-flight-limit", "4 requests were in flight");
    let not_the_generators =
        ["generator-lag", "generator-lag-tail", "arrivals", "rate-not-achieved"];
    assert!(!all.iter().any(|f| not_the_generators.contains(&f.kind.as_str())), "{all:#?}");
}

/// Returns the `control` processes of this folder that have run for a time. `born` records when
/// each was first seen.
fn controls(folder: &Folder, long: Duration, born: &mut BTreeMap<i32, Instant>) -> Vec<Pid> {
    let is_ours = |id: &i32| {
        let link =
            |name: &str| std::fs::read_link(format!("/proc/{id}/{name}")).unwrap_or_default();
        link("exe") == control() && link("cwd").starts_with(folder.path())
    };
    let ids = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let alive: Vec<i32> = ids.filter(is_ours).collect();
    born.retain(|id, _| alive.contains(id));
    let old = alive
        .into_iter()
        .filter(|id| born.entry(*id).or_insert_with(Instant::now).elapsed() >= long);
    old.filter_map(Pid::from_raw).collect()
}

#[test]
fn contender_slowing_down_shows_in_its_tenths() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "4s", CLOSED, "");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut born = BTreeMap::new();
            while !done.load(Ordering::Relaxed) {
                // From its third second on, it runs for a fortieth of the time only.
                let slowed = controls(&folder, Duration::from_millis(2200), &mut born);
                let send = |signal| {
                    for pid in &slowed {
                        let _ = kill_process(*pid, signal);
                    }
                };
                send(Signal::STOP);
                std::thread::sleep(Duration::from_millis(390));
                send(Signal::CONT);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        folder.run(&["run", "x", "--out", "r"]);
        done.store(true, Ordering::Relaxed);
    });
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for trial in &record.trials {
        // A measurement that other programs disturbed is repeated, when the process is slow already.
        let m = trial.stolen.iter().chain(&trial.measurements).next().expect("a measurement");
        let (first, second) = m.generator.correct_per_tenth.split_at(20);
        let (first, second) = (first.iter().sum::<u32>(), second.iter().sum::<u32>());
        assert!(second < first / 2, "{first} in the first half, {second} in the second");
    }
}

#[test]
#[ignore = "needs two CPUs"]
fn saturated_upstream_cpu_is_measured() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    two(&folder, &[]);
    let busy = "(ulimit -t 60; while :; do :; done) &";
    behind(
        &folder,
        "behind",
        &busy.repeat(runner::cpus::automatic(&runner::cpus::usable()).upstream.len()),
        &[],
    );
    experiment(&folder, &["a", "b"], 1, "400ms", OPEN, "upstream = \"behind\"");
    faults(&folder);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        assert!(
            m.upstream_cpu_ns.is_some_and(|ns| ns > 2 * m.usage.cpu_ns),
            "{:?} {:?}",
            m.upstream_cpu_ns,
            m.usage
        );
    }
}

#[test]
fn tied_contenders_are_reported_once() {
    let _alone = alone();
    let folder = Folder::new();
    // 200 rounds of 20 ms each: one round more or fewer in the window is half a percent.
    ["a", "b", "c"].iter().for_each(|name| folder.system(name, &["--delay", "20ms"]));
    experiment(&folder, &["a", "b", "c"], 2, "4s", CLOSED, "");
    let all = faults(&folder);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 6);
    for m in ["a", "b", "c"].iter().flat_map(|name| measured(&record, name)) {
        assert!(
            (1..=800).contains(&m.counts.correct) && m.service.min_ns() >= 20_000_000,
            "{:?}",
            m.counts
        );
    }
    assert!(all.iter().filter(|f| f.kind == "all-tie").count() <= 1, "said once: {all:#?}");
}

#[test]
fn other_program_on_the_cpus_is_a_fault() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "1s", OPEN, "");
    let sets = runner::cpus::automatic(&runner::cpus::usable());
    let _hogs: Vec<Hog> = sets.contender.iter().map(|cpu| hog(*cpu)).collect();
    assert_shows(&faults(&folder), "other-cpu", "of the CPUs of the contender");
}

#[test]
#[ignore = "needs two CPUs"]
fn contender_leaving_its_cpus_is_a_fault() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    let all = runner::cpus::usable();
    let list: Vec<String> = all.iter().map(usize::to_string).collect();
    behind(&folder, "a", &format!("exec taskset -c {} \"$0\" \"$@\";", list.join(",")), &[]);
    folder.system("b", &[]);
    experiment(&folder, &["b", "a"], 1, "200ms", OPEN, "");
    let all = faults(&folder);
    assert_shows(&all, "left-cpu-set", "which is not its own");
    assert!(
        all.iter().all(|f| f.kind != "left-cpu-set" || f.place.contains(", a, ")),
        "b stays: {all:#?}"
    );
}

/// Moves this machine's clock by 80 ms for a moment, so it runs on request only. The tests of
/// `judge` replay it.
#[test]
#[ignore = "needs settable clock"]
fn clock_step_is_a_fault() {
    let _alone = alone();
    need("settable clock");
    let move_by = |ns: i64| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let moved = now.tv_sec * 1_000_000_000 + now.tv_nsec + ns;
        let moved = rustix::time::Timespec {
            tv_sec: moved.div_euclid(1_000_000_000),
            tv_nsec: moved.rem_euclid(1_000_000_000),
        };
        rustix::time::clock_settime(rustix::time::ClockId::Realtime, moved)
    };
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "1500ms", OPEN, "");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            let mut forward = true;
            while !done.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(1700));
                move_by(if forward { 80_000_000 } else { -80_000_000 })
                    .expect("the right to set the clock");
                forward = !forward;
            }
            if !forward {
                move_by(-80_000_000).expect("the right to set the clock");
            }
        });
        folder.run(&["run", "x", "--out", "r"]);
        done.store(true, Ordering::Relaxed);
    });
    assert_shows(&read(&folder).1.faults, "clock-step", "the wall clock was set");
}

#[test]
fn baseline_differing_from_its_twin_is_measured() {
    let _alone = alone();
    let folder = Folder::new();
    // Its n-th start reads further flags from the n-th line.
    behind(
        &folder,
        "a",
        r#"echo >> starts; set -- "$@" $(sed -n "$(wc -l < starts)p" flags);"#,
        &["--cpu", "100us"],
    );
    let system = folder.path().join("systems/a");
    folder.write("systems/a/flags", "");
    experiment(&folder, &["a"], 6, "300ms", OPEN, "aa = true");
    folder.run(&["run", "x", "--out", "same"]);
    let same = folder.record("same");
    assert_eq!(same.trials.len(), 12);
    assert!(
        judge::judge(&same).faults.iter().all(|f| f.kind != "aa-differs"),
        "the same program is itself"
    );
    // The same seed gives the same order.
    let starts = std::fs::read_to_string(system.join("starts")).unwrap().lines().count();
    let of_trials =
        same.trials.iter().map(|t| if t.contender.is_twin() { "--scale-cpu 3\n" } else { "\n" });
    folder.write("systems/a/flags", &("\n".repeat(starts - 12) + &of_trials.collect::<String>()));
    std::fs::remove_file(system.join("starts")).unwrap();
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let (record, judgement) = read(&folder);
    assert_eq!(ran.code, code_of(&judgement, false), "{}\n{}", ran.out, ran.err);
    let [baseline, twin] = ["a", "a:aa"].map(|name| least_cpu_us(&record, name, "c"));
    assert!(twin >= 300.0 && twin > baseline + 100.0, "{baseline} and {twin} us");
}

/// Faults that a busy machine causes in a sound run, and that a test cannot exclude.
const OF_A_BUSY_MACHINE: [&str; 10] = [
    "retransmits",
    "generator-lag",
    "generator-lag-tail",
    "generator-cpu",
    "rate-not-achieved",
    "arrivals",
    "other-cpu",
    "steal",
    "not-stationary",
    "frequency",
];

#[test]
fn sound_run_has_no_fault() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "50us"]);
    folder.system("c", &["--cpu", "100us"]);
    let cells = format!("{OPEN}\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\n{CLOSED}");
    experiment(&folder, &["a", "b", "c"], 2, "600ms", &cells, "upstream = \"a\"");
    // In its own network if possible, because other programs share the machine's counters.
    match Unshare::find() {
        Some(unshare) => in_own_network(&unshare, &folder, ""),
        None => folder.run(&["run", "x", "--out", "r"]),
    };
    let (record, judgement) = read(&folder);
    assert_eq!(record.trials.len(), 6);
    let (busy, others): (Vec<&FaultAt>, _) =
        judgement.faults.iter().partition(|f| OF_A_BUSY_MACHINE.contains(&f.kind.as_str()));
    assert!(others.is_empty(), "{others:#?}");
    busy.iter().for_each(|f| eprintln!("a busy machine: {} {}", f.kind, f.evidence));
    for measurement in record.trials.iter().flat_map(|t| &t.measurements) {
        let around = measurement.circumstances.as_ref().unwrap();
        assert!(
            around.wall_ns >= 600_000_000 && !around.cpus.is_empty() && around.tcp.is_some(),
            "{around:?}"
        );
        let generator = &measurement.generator;
        assert!(
            generator.in_flight_mean.is_some_and(|mean| mean > 0.0)
                && generator.correct_per_tenth.len() >= 5,
            "{generator:?}"
        );
        assert_eq!(generator.sent_at_us.len(), if measurement.cell == "c" { 240 } else { 0 });
    }
}

/// Faults that describe the machine itself, and so are no false alarms.
const OF_THE_MACHINE: [&str; 3] = ["steal", "other-cpu", "frequency"];

#[test]
#[ignore = "long: half an hour"]
fn at_most_one_of_fifty_sound_runs_raises_a_false_alarm() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("a", &["--cpu", "100us"]);
    folder.system("b", &["--cpu", "150us"]);
    let cells = format!("{OPEN}\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\n{CLOSED}");
    // Two blocks, because some checks ask whether a finding repeats.
    experiment(&folder, &["a", "b"], 2, "3s", &cells, "");
    let mut alarms = Vec::new();
    let (mut sound, mut disturbed) = (0, 0);
    // A run that the machine disturbed does not count as one of the fifty.
    for run in 1..=100 {
        let out = format!("r{run}");
        folder.run(&["run", "x", "--out", &out]);
        let judgement = judge::judge(&folder.record(&out));
        let kinds = judgement
            .faults
            .iter()
            .map(|f| f.kind.as_str())
            .chain(judgement.symptoms.iter().map(|s| s.kind.as_str()));
        let (of_machine, others): (Vec<String>, Vec<String>) =
            kinds.map(str::to_owned).partition(|kind| OF_THE_MACHINE.contains(&kind.as_str()));
        if of_machine.is_empty() {
            sound += 1;
            if !others.is_empty() {
                let said: Vec<&str> = judgement
                    .faults
                    .iter()
                    .map(|f| f.evidence.as_str())
                    .chain(judgement.symptoms.iter().map(|s| s.sentence.as_str()))
                    .collect();
                eprintln!("run {run}: {others:?}: {said:?}");
                alarms.push((run, others));
            }
        } else {
            disturbed += 1;
        }
        if sound == 50 {
            break;
        }
    }
    eprintln!(
        "{sound} sound runs, {disturbed} disturbed by the machine; alarms (run, kinds): {alarms:#?}"
    );
    assert_eq!(
        sound, 50,
        "{disturbed} of 100 runs were disturbed: this machine cannot show it now"
    );
    assert!(alarms.len() <= 1, "{alarms:#?}");
}
