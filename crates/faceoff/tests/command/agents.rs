//! `faceoff agent` and `faceoff load --agents`: the real command, several processes of this machine.

use crate::folder::Folder;
use crate::load::Server;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

const TOKEN: &str = "FACEOFF_AGENT_TOKEN";
const OURS: &str = "a token that nobody else knows, at least here";

/// An agent, killed with the test.
struct Agent(Child, String);

impl Agent {
    fn start(threads: &str) -> Agent {
        let mut agent = faceoff(&["agent", "--listen", "127.0.0.1:0", "--threads", threads], OURS);
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
    let mut command = faceoff(&["load", &url, "--format", "json", "--agents", &names.join(",")], token);
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_load_of_agents_is_the_load_of_one_generator() {
    let server = Server::start(&[]);
    let (one, other) = (Agent::start("1"), Agent::start("2"));
    let load_of = ["-R", "300", "--poisson", "-d", "2s", "-t", "2", "--seed", "5"];
    let together = load(&server, &[&one, &other], OURS, &load_of);
    let result: Value = serde_json::from_slice(&together.stdout).unwrap_or_else(|e| panic!("{e}\n{}", said(&together)));
    let alone = server.load(&load_of);
    assert_eq!(result["counts"]["scheduled"], alone["counts"]["scheduled"], "{result}");
    assert_eq!(result["counts"]["correct"], result["counts"]["scheduled"], "{result}");
    assert!(said(&together).contains(&format!("agent {}: ", other.1)), "{}", said(&together));
    assert!(!said(&together).contains(OURS));
}

#[test]
fn who_does_not_know_the_token_gets_nothing() {
    let server = Server::start(&[]);
    let agent = Agent::start("1");
    let refused = load(&server, &[&agent], "another token, as long as the one that is right", &["-d", "1s"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    assert!(said(&refused).contains("do not have the same token") && said(&refused).contains("hint: "), "{}", said(&refused));
    let short = load(&server, &[&agent], "sixteen letters!", &["-d", "1s"]);
    assert_eq!(short.status.code(), Some(2), "{}", said(&short));
    assert!(said(&short).contains("could be guessed"), "{}", said(&short));
    let without = faceoff(&["agent", "--listen", "127.0.0.1:0"], OURS).env_remove(TOKEN).output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(said(&without).contains(TOKEN), "{}", said(&without));
    // It is still there for who does.
    assert!(load(&server, &[&agent], OURS, &["-c", "2", "-d", "500ms"]).status.success());
}

#[test]
fn an_agent_that_is_killed_ends_the_load_with_its_name() {
    let server = Server::start(&[]);
    let (staying, mut going) = (Agent::start("1"), Agent::start("1"));
    let name = going.1.clone();
    let output = std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let names = format!("{},{name}", staying.1);
            let url = format!("http://127.0.0.1:{}/", server.1);
            faceoff(&["load", &url, "-R", "100", "-d", "20s", "--agents", &names], OURS).output().unwrap()
        });
        std::thread::sleep(std::time::Duration::from_secs(4));
        going.kill();
        loading.join().unwrap()
    });
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("the agent {name} is gone")), "{}", said(&output));
}

#[test]
fn what_agents_cannot_do_is_said() {
    let folder = Folder::new();
    let all = ["load", "http://127.0.0.1:1/", "--agents", "127.0.0.1:2", "--capacity", "p95<100ms"];
    folder.run(&all).expect(2).says("--agents").says("--capacity");
    folder.run(&["load", "http://127.0.0.1:1/", "--agents", "127.0.0.1:2", "--unix", "/run/app.sock"]).expect(2).says("--unix");
    folder.run(&["agent", "--threads", "0"]).expect(2).says("--threads");
}
