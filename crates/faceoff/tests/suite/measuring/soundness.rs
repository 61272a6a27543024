//! Provokes every fault that does no harm to the machine, with real processes; and a sound run shows none. Where another program that
//! uses the CPUs can hide a fault, the readings are checked here, and the fault is judged of such readings in
//! `crates/judge/tests/judge/soundness.rs`. So are those that need a power cut or a hypervisor: steal, frequency, memory, sleep.

use crate::folder::{Folder, Ran, code_of, control, least_cpu_us, measured};
use crate::machine::alone;
use crate::needs::{Unshare, need};
use model::judgement::{FaultAt, Judgement};
use model::record::Record;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const OPEN: &str = "load = { kind = \"arrivals\", rate = 400 }";
const CLOSED: &str = "load = { kind = \"closed\", connections = 4 }";

/// An experiment `x` of these contenders with one cell, measured for so long.
fn experiment(folder: &Folder, contenders: &[&str], blocks: u32, measure: &str, load: &str, more: &str) {
    let others: Vec<String> = contenders[1..].iter().map(|c| format!("\"{c}\"")).collect();
    let text = format!(
        "name = \"x\"\nquestion = \"Which?\"\nbaseline = \"{}\"\ncontenders = [{}]\n{more}\n[design]\nblocks = {blocks}\nspare_blocks = 0\nwarmup = \"50ms\"\nmeasure = \"{measure}\"\n[[cell]]\nname = \"c\"\nworkload = \"hello\"\n{load}\ntimeout = \"5s\"\n",
        contenders[0],
        others.join(", ")
    );
    folder.write("experiments/x.toml", &text);
}

/// A system that is `control` with flags, behind a few words of shell.
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

/// Runs `x` and returns what makes it unsound.
fn faults(folder: &Folder) -> Vec<FaultAt> {
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!(folder.path().join("r").exists(), "{ran:?}");
    read(folder).1.faults
}

/// Runs `x` with faceoff itself stopped again and again, for so long, and left alone in between; returns what makes it unsound.
#[track_caller]
fn faults_with_pauses(folder: &Folder, stopped: Duration, between: Duration) -> Vec<FaultAt> {
    let log = folder.path().join("run.err");
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command.current_dir(folder.path()).env("TMPDIR", folder.path()).args(["run", "x", "--out", "r"]).stdout(Stdio::null());
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
    assert_eq!(measured, record.header.plan.iter().flatten().count(), "{status}\n{}", std::fs::read_to_string(log).unwrap());
    judgement.faults
}

#[track_caller]
fn assert_shows(faults: &[FaultAt], kind: &str, evidence: &str) {
    let found = faults.iter().any(|f| f.kind == kind && f.evidence.contains(evidence) && !f.hint.is_empty());
    assert!(found, "no {kind} with `{evidence}` in {faults:#?}");
}

/// The command in a network namespace of its own, where counters are its own, too.
fn in_own_network(unshare: &Unshare, folder: &Folder, setup: &str) -> Ran {
    let shell = format!("ip link set lo up && {setup} exec \"$0\" run x --out r");
    let mut run = unshare.command();
    run.args(["sh", "-c", &shell, env!("CARGO_BIN_EXE_faceoff")]).current_dir(folder.path()).env("TMPDIR", folder.path());
    Ran::from(run.output().unwrap())
}

/// The same, in a test that needs it.
fn must_be_in_own_network(folder: &Folder, setup: &str) {
    need("network namespaces");
    in_own_network(&Unshare::find().unwrap(), folder, setup);
}

/// Ends with its drop.
struct Hog(Child);

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks at nothing, on one CPU, as fast as it can; for a minute at most, should nobody end it.
fn hog(cpu: usize) -> Hog {
    let mut busy = Command::new("taskset");
    Hog(busy.args(["-c", &cpu.to_string(), "sh", "-c", "ulimit -t 60; while :; do :; done"]).spawn().expect("taskset, of util-linux"))
}

#[test]
fn a_generator_that_is_stopped_now_and_then_lags_misses_its_rate_and_its_schedule() {
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
fn a_few_pauses_of_the_generator_are_not_the_contenders_tail() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "2s", OPEN, "");
    faults_with_pauses(&folder, Duration::from_millis(40), Duration::from_millis(560));
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        // What waited is counted from its schedule: of 600 ms, those that came in 40.
        let (lag, latency) = (m.generator.lag.as_ref().unwrap(), m.latency.as_ref().unwrap());
        let late = |times: &stats::Histogram| times.count_between(5_000_000, u64::MAX);
        assert!(100 * late(lag) >= lag.len() && late(latency) >= late(lag) / 2, "{lag:?} {latency:?}");
    }
}

#[test]
#[ignore = "needs two CPUs"]
fn a_generator_at_its_limit_uses_many_times_the_cpu_of_its_contender() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    two(&folder, &[]);
    // An answer is echoed at once; to look for this pattern in it takes many times as long.
    folder.write(
        "workloads/hello.toml",
        "name = \"hello\"\nsummary = \"GET /echo\"\n[[data]]\nname = \"text\"\ntext = { size = \"2K\" }\n[[step]]\npath = \"/echo?${text}\"\n[step.answer]\nregex = '(\\w{3,60}[0-9]){2,20}~|HTTP/1'\n",
    );
    experiment(&folder, &["a", "b"], 1, "400ms", "load = { kind = \"closed\", connections = 16 }", "");
    faults(&folder);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        // What is left of its CPU is what others take of it, and no idleness.
        assert!(m.counts.correct > 0 && m.generator.cpu_ns > 3 * m.usage.cpu_ns, "{:?} {:?}", m.generator, m.usage);
    }
}

#[test]
fn a_limit_of_requests_under_way_makes_the_load_no_longer_open() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &["--delay", "50ms"]);
    experiment(&folder, &["a", "b"], 2, "300ms", "load = { kind = \"arrivals\", rate = 400, in_flight_max = 4 }", "");
    let all = faults(&folder);
    assert_shows(&all, "in-flight-limit", "4 requests were under way");
    let not_the_generators = ["generator-lag", "generator-lag-tail", "arrivals", "rate-not-achieved"];
    assert!(!all.iter().any(|f| not_the_generators.contains(&f.kind.as_str())), "{all:#?}");
}

/// The `control`s of this folder that have run for so long; `born` is when each was first seen.
fn controls(folder: &Folder, long: Duration, born: &mut BTreeMap<i32, Instant>) -> Vec<Pid> {
    let is_ours = |id: &i32| {
        let link = |name: &str| std::fs::read_link(format!("/proc/{id}/{name}")).unwrap_or_default();
        link("exe") == control() && link("cwd").starts_with(folder.path())
    };
    let ids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let alive: Vec<i32> = ids.filter(is_ours).collect();
    born.retain(|id, _| alive.contains(id));
    let old = alive.into_iter().filter(|id| born.entry(*id).or_insert_with(Instant::now).elapsed() >= long);
    old.filter_map(Pid::from_raw).collect()
}

#[test]
fn a_contender_that_slows_down_half_way_is_not_stationary() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "4s", CLOSED, "");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut born = BTreeMap::new();
            while !done.load(Ordering::Relaxed) {
                // From its third second on, it stands still for all but a fortieth of its time.
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
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        let (first, second) = m.generator.correct_per_tenth.split_at(20);
        let (first, second) = (first.iter().sum::<u32>(), second.iter().sum::<u32>());
        assert!(second < first / 2, "{first} in the first half, {second} in the second");
    }
}

#[test]
#[ignore = "needs two CPUs"]
fn an_upstream_without_cpu_to_spare_is_what_was_measured() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    two(&folder, &[]);
    let busy = "(ulimit -t 60; while :; do :; done) &";
    behind(&folder, "behind", &busy.repeat(runner::cpus::automatic(&runner::cpus::usable()).upstream.len()), &[]);
    experiment(&folder, &["a", "b"], 1, "400ms", OPEN, "upstream = \"behind\"");
    faults(&folder);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2);
    for m in ["a", "b"].iter().flat_map(|name| measured(&record, name)) {
        assert!(m.upstream_cpu_ns.is_some_and(|ns| ns > 2 * m.usage.cpu_ns), "{:?} {:?}", m.upstream_cpu_ns, m.usage);
    }
}

#[test]
fn contenders_that_all_tie_are_not_what_was_measured() {
    let _alone = alone();
    let folder = Folder::new();
    // 200 rounds of 20 ms each: one round more or fewer in the window is half a percent, and no difference between them.
    ["a", "b", "c"].iter().for_each(|name| folder.system(name, &["--delay", "20ms"]));
    experiment(&folder, &["a", "b", "c"], 2, "4s", CLOSED, "");
    let all = faults(&folder);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 6);
    for m in ["a", "b", "c"].iter().flat_map(|name| measured(&record, name)) {
        assert!((1..=800).contains(&m.counts.correct) && m.service.min_ns() >= 20_000_000, "{:?}", m.counts);
    }
    assert!(all.iter().filter(|f| f.kind == "all-tie").count() <= 1, "said once: {all:#?}");
}

#[test]
fn whoever_else_uses_the_cpus_is_seen() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "1s", OPEN, "");
    let sets = runner::cpus::automatic(&runner::cpus::usable());
    let _hogs: Vec<Hog> = sets.contender.iter().map(|cpu| hog(*cpu)).collect();
    assert_shows(&faults(&folder), "other-cpu", "of the CPUs of the contender");
}

#[test]
fn descriptors_of_a_contender_run_short() {
    let _alone = alone();
    let folder = Folder::new();
    behind(&folder, "a", "ulimit -n 40;", &[]);
    folder.system("b", &[]);
    experiment(&folder, &["b", "a"], 1, "1s", "load = { kind = \"closed\", connections = 60 }", "");
    let all = faults(&folder);
    assert_shows(&all, "descriptors", "of 40 descriptors");
    assert!(all.iter().all(|f| f.kind != "descriptors" || f.place.contains(", a, ")), "b has enough: {all:#?}");
}

#[test]
#[ignore = "needs 2000 descriptors"]
fn descriptors_of_the_generator_run_short() {
    let _alone = alone();
    need("2000 descriptors");
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "300ms", "load = { kind = \"closed\", connections = 1930 }", "");
    let shell = "ulimit -n 2000 && exec \"$0\" run x --out r";
    let mut short = Command::new("sh");
    short.args(["-c", shell, env!("CARGO_BIN_EXE_faceoff")]).current_dir(folder.path()).env("TMPDIR", folder.path());
    let ran = Ran::from(short.output().unwrap());
    assert!(!ran.err.contains("ulimit"), "{ran:?}");
    assert_shows(&read(&folder).1.faults, "descriptors", "the generator held");
}

#[test]
fn descriptors_that_run_short_where_their_limit_is_studied_are_no_fault() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "300ms", "load = { kind = \"closed\", connections = 60 }", "[place]\ndescriptors = 40");
    let all = faults(&folder);
    assert!(all.iter().all(|f| f.kind != "descriptors"), "{all:#?}");
}

#[test]
#[ignore = "needs network namespaces"]
fn ephemeral_ports_run_out() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(&folder, &["a", "b"], 1, "300ms", "load = { kind = \"closed\", connections = 60 }", "");
    let narrow = "echo 40000 40067 > /proc/sys/net/ipv4/ip_local_port_range &&";
    must_be_in_own_network(&folder, narrow);
    assert_shows(&read(&folder).1.faults, "ports", "of 68 ephemeral ports");
}

#[test]
#[ignore = "needs network namespaces"]
fn a_full_listen_queue_drops_connections_which_are_tried_again() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &["--backlog", "1", "--accept-every", "100ms", "--delay", "10ms"]);
    experiment(&folder, &["a", "b"], 1, "1500ms", "load = { kind = \"closed\", connections = 40 }", "");
    must_be_in_own_network(&folder, "");
    let all = read(&folder).1.faults;
    assert_shows(&all, "backlog", "a listener's queue was full");
    assert_shows(&all, "retransmits", "TCP segments were sent again");
}

#[test]
#[ignore = "needs two CPUs"]
fn a_contender_that_leaves_its_cpus_is_seen() {
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
    assert!(all.iter().all(|f| f.kind != "left-cpu-set" || f.place.contains(", a, ")), "b stays: {all:#?}");
}

/// Sets this machine's clock by 80 ms for a moment, and so runs only when asked to; judge's tests replay it.
#[test]
#[ignore = "needs settable clock"]
fn a_wall_clock_that_is_set_is_seen() {
    let _alone = alone();
    need("settable clock");
    let move_by = |ns: i64| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let moved = now.tv_sec * 1_000_000_000 + now.tv_nsec + ns;
        let moved = rustix::time::Timespec { tv_sec: moved.div_euclid(1_000_000_000), tv_nsec: moved.rem_euclid(1_000_000_000) };
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
                move_by(if forward { 80_000_000 } else { -80_000_000 }).expect("the right to set the clock");
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
fn a_baseline_that_is_not_itself_is_seen() {
    let _alone = alone();
    let folder = Folder::new();
    // Its n-th start takes the n-th line as further flags.
    behind(&folder, "a", r#"echo >> starts; set -- "$@" $(sed -n "$(wc -l < starts)p" flags);"#, &["--cpu", "100us"]);
    let system = folder.path().join("systems/a");
    folder.write("systems/a/flags", "");
    experiment(&folder, &["a"], 6, "300ms", OPEN, "aa = true");
    folder.run(&["run", "x", "--out", "same"]);
    let same = folder.record("same");
    assert_eq!(same.trials.len(), 12);
    assert!(judge::judge(&same).faults.iter().all(|f| f.kind != "aa-differs"), "the same program is itself");
    // The same seed gives the same order.
    let starts = std::fs::read_to_string(system.join("starts")).unwrap().lines().count();
    let of_trials = same.trials.iter().map(|t| if t.contender.is_twin() { "--scale-cpu 3\n" } else { "\n" });
    folder.write("systems/a/flags", &("\n".repeat(starts - 12) + &of_trials.collect::<String>()));
    std::fs::remove_file(system.join("starts")).unwrap();
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let (record, judgement) = read(&folder);
    assert_eq!(ran.code, code_of(&judgement, false), "{}\n{}", ran.out, ran.err);
    let [baseline, twin] = ["a", "a:aa"].map(|name| least_cpu_us(&record, name, "c"));
    assert!(twin >= 300.0 && twin > baseline + 100.0, "{baseline} and {twin} us");
}

/// What a busy machine does to a sound run, and what a test can therefore not exclude.
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
fn a_sound_run_shows_no_fault() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "50us"]);
    folder.system("c", &["--cpu", "100us"]);
    let cells = format!("{OPEN}\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\n{CLOSED}");
    experiment(&folder, &["a", "b", "c"], 2, "600ms", &cells, "upstream = \"a\"");
    // Where it can be: the counters of the machine's own network are those of others, too.
    match Unshare::find() {
        Some(unshare) => in_own_network(&unshare, &folder, ""),
        None => folder.run(&["run", "x", "--out", "r"]),
    };
    let (record, judgement) = read(&folder);
    assert_eq!(record.trials.len(), 6);
    let (busy, others): (Vec<&FaultAt>, _) = judgement.faults.iter().partition(|f| OF_A_BUSY_MACHINE.contains(&f.kind.as_str()));
    assert!(others.is_empty(), "{others:#?}");
    busy.iter().for_each(|f| eprintln!("a busy machine: {} {}", f.kind, f.evidence));
    for measurement in record.trials.iter().flat_map(|t| &t.measurements) {
        let around = measurement.circumstances.as_ref().unwrap();
        assert!(around.wall_ns >= 600_000_000 && !around.cpus.is_empty() && around.tcp.is_some(), "{around:?}");
        let generator = &measurement.generator;
        assert!(generator.in_flight_mean.is_some_and(|mean| mean > 0.0) && generator.correct_per_tenth.len() >= 5, "{generator:?}");
        assert_eq!(generator.sent_at_us.len(), if measurement.cell == "c" { 240 } else { 0 });
    }
}

/// What the readings show of the machine itself is no false alarm.
const OF_THE_MACHINE: [&str; 3] = ["steal", "other-cpu", "frequency"];

#[test]
#[ignore = "long: half an hour"]
fn of_fifty_sound_runs_at_most_one_raises_a_false_alarm() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("a", &["--cpu", "100us"]);
    folder.system("b", &["--cpu", "150us"]);
    let cells = format!("{OPEN}\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\n{CLOSED}");
    // Two blocks, as some checks ask whether what they see comes again.
    experiment(&folder, &["a", "b"], 2, "3s", &cells, "");
    let mut alarms = Vec::new();
    let (mut sound, mut disturbed) = (0, 0);
    // A run that the machine disturbed is none of the fifty.
    for run in 1..=100 {
        let out = format!("r{run}");
        folder.run(&["run", "x", "--out", &out]);
        let judgement = judge::judge(&folder.record(&out));
        let kinds = judgement.faults.iter().map(|f| f.kind.as_str()).chain(judgement.symptoms.iter().map(|s| s.kind.as_str()));
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
    eprintln!("{sound} sound runs, {disturbed} disturbed by the machine; alarms (run, kinds): {alarms:#?}");
    assert_eq!(sound, 50, "{disturbed} of 100 runs were disturbed: this machine cannot show it now");
    assert!(alarms.len() <= 1, "{alarms:#?}");
}
