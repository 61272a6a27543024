//! `faceoff agent`, `faceoff load --agents` and experiments with agents: the real command, in
//! several processes on this machine.

use super::load::Server;
use crate::folder::{Folder, Ran, nothing_is_left};
use record::{Measurement, Record, Trial};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const TOKEN: &str = "FACEOFF_AGENT_TOKEN";
const OURS: &str = "a token that no other test knows, at least here";

/// An agent that is killed with the test.
struct Agent(Child, String);

impl Agent {
    fn start(threads: &str) -> Agent {
        Agent::start_at("127.0.0.1:0", threads)
    }

    fn start_at(address: &str, threads: &str) -> Agent {
        Agent::start_with(&["--listen", address, "--threads", threads])
    }

    fn start_with(arguments: &[&str]) -> Agent {
        let mut agent = faceoff(&[&["agent"], arguments].concat(), OURS);
        let mut process = agent.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Agent(process, address.trim().to_owned())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn faceoff(arguments: &[&str], token: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command.args(arguments).env(TOKEN, token);
    command
}

fn load(server: &Server, agents: &[&Agent], token: &str, arguments: &[&str]) -> Output {
    let url = format!("http://127.0.0.1:{}/", server.1);
    let names: Vec<&str> = agents.iter().map(|agent| agent.1.as_str()).collect();
    let mut command =
        faceoff(&["load", &url, "--format", "json", "--agents", &names.join(",")], token);
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn load_of_agents_equals_load_of_one_generator() {
    let server = Server::start(&[]);
    let (one, other) = (Agent::start("1"), Agent::start("2"));
    let load_of = ["-R", "300", "--poisson", "-d", "2s", "-t", "2", "--seed", "5"];
    let together = load(&server, &[&one, &other], OURS, &load_of);
    let result: Value = serde_json::from_slice(&together.stdout)
        .unwrap_or_else(|e| panic!("{e}\n{}", said(&together)));
    let alone = server.load(&load_of);
    assert_eq!(result["counts"]["scheduled"], alone["counts"]["scheduled"], "{result}");
    assert_eq!(result["counts"]["correct"], result["counts"]["scheduled"], "{result}");
    assert!(said(&together).contains(&format!("agent {}: ", other.1)), "{}", said(&together));
    assert!(!said(&together).contains(OURS));
}

/// The loads are compared in pairs, because the machine changes from minute to minute. Responses
/// take 20 ms, so that the delay of a machine without free CPUs is a small part.
#[test]
#[cfg_attr(feature = "agent", ignore = "long: a minute, and measures")]
#[cfg_attr(not(feature = "agent"), ignore = "long, needs feature agent: a minute, and measures")]
fn four_agents_at_20000_per_s_measure_like_one_generator() {
    let server = Server::start(&["--delay", "20ms", "--no-exact"]);
    let agents: Vec<Agent> = (0..4).map(|_| Agent::start("1")).collect();
    let load_of = ["-R", "20000", "-d", "3s", "--wait", "asleep", "--seed", "5"];
    let allowed = [("p50", 0.05), ("p95", 0.05), ("p99", 0.10)];
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); allowed.len()];
    for _ in 0..7 {
        let alone = server.load(&load_of);
        let output = load(&server, &agents.iter().collect::<Vec<_>>(), OURS, &load_of);
        let together: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}", said(&output)));
        assert_eq!(together["counts"], alone["counts"], "{}", said(&output));
        assert_eq!(together["counts"]["correct"], 60_000, "{}", said(&output));
        for ((quantile, _), ratios) in allowed.iter().zip(&mut ratios) {
            let of = |result: &Value| result["latency_us"][quantile].as_f64().unwrap();
            ratios.push(of(&together) / of(&alone));
        }
    }
    for ((quantile, most), ratios) in allowed.iter().zip(&mut ratios) {
        ratios.sort_by(f64::total_cmp);
        assert!((ratios[3] - 1.0).abs() <= *most, "{quantile}: {ratios:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn client_without_token_gets_nothing() {
    let server = Server::start(&[]);
    let agent = Agent::start("1");
    let refused =
        load(&server, &[&agent], "another token, as long as the one that is right", &["-d", "1s"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    assert!(
        said(&refused).contains("have different tokens") && said(&refused).contains("hint: "),
        "{}",
        said(&refused)
    );
    let short = load(&server, &[&agent], "sixteen letters!", &["-d", "1s"]);
    assert_eq!(short.status.code(), Some(2), "{}", said(&short));
    assert!(said(&short).contains("can be guessed"), "{}", said(&short));
    let without =
        faceoff(&["agent", "--listen", "127.0.0.1:0"], OURS).env_remove(TOKEN).output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(said(&without).contains(TOKEN), "{}", said(&without));
    // It still serves clients with the token.
    assert!(load(&server, &[&agent], OURS, &["-c", "2", "-d", "500ms"]).status.success());
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn agent_loads_allowed_targets_only() {
    let (server, other) = (Server::start(&[]), Server::start(&[]));
    let own = format!("127.0.0.1:{}", server.1);
    for only in [own.as_str(), "127.0.0.0/8", &format!("10.0.0.0/8,{own}")] {
        let agent = Agent::start_with(&["--listen", "127.0.0.1:0", "--only", only]);
        let made = load(&server, &[&agent], OURS, &["-c", "2", "-d", "500ms"]);
        assert!(made.status.success(), "{only}: {}", said(&made));
    }
    let (bound, free) =
        (Agent::start_with(&["--listen", "127.0.0.1:0", "--only", &own]), Agent::start("1"));
    for agents in [&[&bound][..], &[&free, &bound]] {
        let refused = load(&other, agents, OURS, &["-c", "2", "-d", "500ms"]);
        assert_eq!(
            (refused.status.code(), refused.stdout.len()),
            (Some(1), 0),
            "{}",
            said(&refused)
        );
        let why = format!("the agent {} refused: it may not load 127.0.0.1:{}", bound.1, other.1);
        assert!(
            said(&refused).contains(&why) && said(&refused).contains("hint: "),
            "{}",
            said(&refused)
        );
    }
    // It still sends load to allowed targets.
    assert!(load(&server, &[&bound], OURS, &["-c", "2", "-d", "500ms"]).status.success());
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn killed_agent_ends_load_and_is_named() {
    let server = Server::start(&[]);
    let (staying, mut going) = (Agent::start("1"), Agent::start("1"));
    let name = going.1.clone();
    let output = std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let names = format!("{},{name}", staying.1);
            let url = format!("http://127.0.0.1:{}/", server.1);
            faceoff(&["load", &url, "-R", "100", "-d", "20s", "--agents", &names], OURS)
                .output()
                .unwrap()
        });
        std::thread::sleep(Duration::from_secs(4));
        going.kill();
        loading.join().unwrap()
    });
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("the agent {name} was lost")), "{}", said(&output));
}

#[test]
fn unsupported_options_of_agents_are_refused() {
    let folder = Folder::new();
    let all = ["load", "http://127.0.0.1:1/", "--agents", "127.0.0.1:2", "--capacity", "p95<100ms"];
    folder.run(&all).expect(2).says("--agents").says("--capacity");
    folder
        .run(&["load", "http://127.0.0.1:1/", "--agents", "127.0.0.1:2", "--unix", "/run/app.sock"])
        .expect(2)
        .says("--unix");
    folder.run(&["agent", "--threads", "0"]).expect(2).says("--threads");
    folder
        .run(&["agent", "--only", "10.0.0.20"])
        .expect(2)
        .says("`10.0.0.20` is not an address to load")
        .says("hint: write host:port");
}

/// Runs `x` in a folder with the token, and returns the result.
fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    let all: Vec<&str> = ["run"].into_iter().chain(arguments.iter().copied()).collect();
    Ran::from(folder.faceoff(&all).env(TOKEN, OURS).output().unwrap())
}

/// Writes the experiment `x` of two systems, with these agents.
fn made_by(agents: &[&Agent], measure: &str) -> Folder {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "50us"]);
    let names: Vec<String> = agents.iter().map(|agent| format!("{:?}", agent.1)).collect();
    folder.write(
        "experiments/x.toml",
        &format!(
            "name = \"x\"\nquestion = \"Which?\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n[place]\nagents = [{}]\n[design]\nblocks = 2\nspare_blocks = 0\nwarmup = \"200ms\"\nmeasure = \"{measure}\"\n[[cell]]\nname = \"open\"\nworkload = \"hello\"\nload = {{ kind = \"arrivals\", rate = 200 }}\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\nload = {{ kind = \"closed\", connections = 3 }}\n",
            names.join(", ")
        ),
    );
    folder
}

/// Returns the agents of each measurement of each trial, by name.
fn makers(record: &Record) -> Vec<Vec<Vec<&str>>> {
    fn of(measurement: &Measurement) -> Vec<&str> {
        measurement.generator.agents.iter().map(|agent| agent.name.as_str()).collect()
    }
    record.trials.iter().map(|trial| trial.measurements.iter().map(of).collect()).collect()
}

/// Waits until the record has a number of trials, and half a second longer, so that the next one
/// has begun.
fn in_the_trial_behind(folder: &Folder, trials: usize) {
    let path = folder.path().join("r/record.jsonl");
    for _ in 0..3_000 {
        let lines = std::fs::read_to_string(&path).unwrap_or_default();
        if lines.lines().filter(|line| line.starts_with("{\"trial\"")).count() >= trials {
            return std::thread::sleep(Duration::from_millis(500));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{trials} trials do not come");
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn agents_generate_loads_of_an_experiment() {
    let (one, other) = (Agent::start("1"), Agent::start("2"));
    let folder = made_by(&[&one, &other], "500ms");
    folder
        .run(&["run", "x", "--plan"])
        .expect(0)
        .says(&format!("load by: the agents {}, {}", one.1, other.1));
    let ran = run(&folder, &["x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    let record = folder.record("r");
    assert_eq!(
        record.header.experiment.place.address,
        Some(std::net::Ipv4Addr::LOCALHOST),
        "found on the way to the agents"
    );
    assert_eq!(
        makers(&record),
        vec![vec![vec![one.1.as_str(), other.1.as_str()]; 2]; 4],
        "{ran:?}"
    );
    for trial in &record.trials {
        assert!(trial.warmed_with > 0 && trial.faults.is_empty(), "{:?}", trial.faults);
        for m in &trial.measurements {
            let agents = &m.generator.agents;
            assert_eq!(
                agents.iter().map(|agent| agent.counts.scheduled).sum::<u64>(),
                m.counts.scheduled
            );
            assert!(m.counts.add_up() && m.counts.correct > 0, "{:?}", m.counts);
            // All share one clock here.
            assert!(
                agents.iter().all(|agent| agent.offset_ns.unsigned_abs() <= agent.offset_error_ns),
                "{agents:?}"
            );
            let has_schedule = m.cell == "open";
            assert_eq!(
                (m.latency.is_some(), m.generator.lag.is_some()),
                (has_schedule, has_schedule)
            );
            if has_schedule {
                assert_eq!(
                    (m.counts.scheduled, agents[1].loops, agents[1].loops_of_all),
                    (100, 2, 3)
                );
            }
            // Readings count from the start of the load, not from the first contact with agents.
            assert!(m.usage.wall_ns > 0 && m.usage.cpu_ns > 0, "{:?}", m.usage);
        }
    }
    let checks = judge::judge(&record).checks;
    let reach = |kind: &str| {
        checks.iter().find(|check| check.kind == kind).map(|check| (check.looked_at, check.all))
    };
    assert_eq!(
        (reach("agent-cpu"), reach("agent-lost"), reach("generator-cpu")),
        (Some((8, 8)), Some((4, 4)), None)
    );
    crate::by_schema::is_by_schema(&folder, "r");
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    assert!(!lines.contains(OURS) && !ran.err.contains(OURS));
    nothing_is_left(&folder);
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn killed_agent_is_a_fault_and_the_others_continue() {
    let (staying, mut going) = (Agent::start("1"), Agent::start("1"));
    let folder = made_by(&[&staying, &going], "1s");
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&folder, &["x", "--out", "r"]));
        in_the_trial_behind(&folder, 1);
        going.kill();
        running.join().unwrap()
    });
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    assert!(
        ran.err.contains(&format!("the agent {} ", going.1))
            && ran.err.contains("the other agents generate the load"),
        "{}",
        ran.err
    );
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 4, "{}", ran.err);
    let lost = |trial: &Trial| {
        trial.faults.iter().any(|f| f.kind == "agent-lost" && f.evidence.contains(&going.1))
    };
    let invalid: Vec<bool> = record.trials.iter().map(lost).collect();
    assert_eq!(
        invalid,
        [false, true, false, false],
        "{:?}",
        record.trials.iter().map(|trial| &trial.faults).collect::<Vec<_>>()
    );
    assert!(
        makers(&record)[2..].iter().flatten().all(|makers| *makers == [staying.1.as_str()]),
        "{:?}",
        makers(&record)
    );
    assert!(record.trials[2..].iter().all(|trial| trial.measurements.len() == 2));
    assert!(judge::judge(&record).excluded.iter().any(|out| out.reason.contains("agent-lost")));
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
#[cfg_attr(not(feature = "agent"), ignore = "needs feature agent")]
fn run_ends_without_agents_and_resumes_with_one() {
    let mut only = Agent::start("1");
    let folder = made_by(&[&only], "1s");
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&folder, &["x", "--out", "r"]));
        in_the_trial_behind(&folder, 1);
        only.kill();
        running.join().unwrap()
    });
    let ran = ran
        .expect(1)
        .says(&format!("error: the agent {} cannot be reached", only.1))
        .says("hint: check that `faceoff agent` listens there");
    let before = folder.record("r").trials.len();
    assert!(before < 4, "{}", ran.err);
    run(&folder, &["--resume", "r"]).expect(1).says("cannot be reached");
    let _back = Agent::start_at(&only.1, "1");
    let ran = run(&folder, &["--resume", "r"]);
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    assert_eq!(folder.record("r").trials.len(), 4);
    nothing_is_left(&folder);
}

#[test]
fn unsupported_experiment_with_agents_is_refused_by_line() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let cell = |load: &str| {
        format!(
            "[place]\nagents = [\"a:1\"]\n[[cell]]\nname = \"c\"\nworkload = \"hello\"\nload = {{ {load} }}\n"
        )
    };
    for (more, line, said) in [
        ("[place]\nagents = [\"nowhere\"]\n", 6, "`nowhere` names no agent"),
        ("[place]\nagents = [\"a:1\", \"a:1\"]\n", 6, "the agent a:1 is named twice"),
        ("[place]\naddress = \"10.0.0.1\"\n", 6, "no agents are named"),
        (
            "[place]\nagents = [\"a:1\"]\naddress = \"0.0.0.0\"\n",
            7,
            "`0.0.0.0` is not an IPv4 address of a machine",
        ),
        (
            "[place]\nagents = [\"a:1\", \"b:1\", \"c:1\", \"d:1\", \"e:1\"]\n",
            21,
            "`closed` has 4 connections for 5 agents",
        ),
        (
            cell("kind = \"closed\", connections = 4, driver = \"wrk\"").as_str(),
            10,
            "`c` uses an external generator (`driver`), which agents cannot replace",
        ),
        (
            cell("kind = \"capacity\", of = \"rate\", service_level = \"p95<1ms\"").as_str(),
            10,
            "the capacity of `c` is looked for",
        ),
        (
            cell("kind = \"users\", users = 4, ramp = \"16m\"").as_str(),
            10,
            "something of `c` takes longer",
        ),
    ] {
        folder.experiment(&["a", "b"], more);
        folder
            .run(&["run", "x", "--plan"])
            .expect(2)
            .says(said)
            .says(&format!("x.toml:{line}:"))
            .says("hint");
    }
}

#[test]
fn unsupported_agents_in_pods_are_refused() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let in_pods = |agents: &str| {
        folder.experiment(
            &["a", "b"],
            &format!("[place]\nrunner = \"kubernetes\"\nagents = {agents}\n"),
        )
    };
    for (agents, said) in [
        ("0", "x.toml:7:"),
        ("0", "`place.agents` must be from 1 to 64, not 0"),
        ("65", "`place.agents` must be from 1 to 64, not 65"),
        ("1.5", "`place.agents` must be a whole number or a list of texts"),
        ("5", "`closed` has 4 connections for 5 agents"),
        ("[\"a:1\"]", "agents load processes, and contenders run in containers or pods"),
    ] {
        in_pods(agents);
        folder.run(&["run", "x", "--plan"]).expect(2).says(said);
    }
    in_pods("0\nmemory_limit = \"x\"");
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("x.toml:7:")
        .says("x.toml:8:")
        .says("`x` is not a memory limit");
    in_pods("12");
    let written = std::fs::read_to_string(folder.path().join("experiments/x.toml")).unwrap();
    folder.write("experiments/x.toml", &written.replace("\"150ms\"", "\"15m\""));
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("12 agents for 15 min would send 10800 histograms");
    in_pods("2");
    folder.run(&["run", "x", "--plan"]).expect(0).says("load by: 2 agents in pods of the cluster");
    folder
        .run(&["run", "x", "--plan", "--agents", "1"])
        .expect(0)
        .says("load by: an agent in a pod of the cluster");
    folder
        .run(&["run", "x", "--plan", "--agents", "0"])
        .expect(2)
        .says("there cannot be 0 agents in pods")
        .says("hint: write how many");
    folder
        .run(&["run", "x", "--plan", "--runner", "process"])
        .expect(2)
        .says("agents in pods load pods, and contenders run as processes");
    folder.experiment(&["a", "b:as-process"], "[place]\nrunner = \"kubernetes\"\nagents = 2\n");
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("agents in pods load pods, and b:as-process does not run as one");
}

#[test]
fn unsupported_agents_on_the_command_line_are_refused() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "[place]\nagents = [\"a:1\"]\nrunner = \"docker\"\n");
    folder.run(&["run", "x", "--plan"]).expect(2).says("contenders run in containers or pods");
    folder.experiment(&["a", "b"], "");
    folder
        .run(&["run", "x", "--plan", "--agents", "a:1,b:0"])
        .expect(2)
        .says("`b:0` names no agent");
    folder
        .run(&["run", "x", "--plan", "--agents", "a:1", "--runner", "docker"])
        .expect(2)
        .says("containers or pods");
    run(&folder, &["x", "--agents", "127.0.0.1:1", "--out", "r"])
        .expect(1)
        .says("the agent 127.0.0.1:1 cannot be reached");
    let without = Ran::from(
        folder
            .faceoff(&["run", "x", "--agents", "127.0.0.1:1"])
            .env_remove(TOKEN)
            .output()
            .unwrap(),
    );
    without.expect(2).says(TOKEN);
    assert!(!folder.path().join("r").exists(), "nothing was begun");
}
