//! The engine itself behind a relay that can be gone for a while, as an engine that ends and is started again.

use super::{Engine, docker};
use crate::engines::kills::has_trial;
use model::record::Event;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Relay {
    socket: PathBuf,
    engine: PathBuf,
}

impl Relay {
    /// Passes on whatever comes to its socket from now on.
    fn listen(&self) {
        let (listener, engine) = (UnixListener::bind(&self.socket).unwrap(), self.engine.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let engine = UnixStream::connect(&engine).unwrap();
                std::thread::spawn(move || pass_on(client, engine));
            }
        });
    }

    /// Nobody finds it any more; what is under way goes on.
    fn go(&self) {
        std::fs::remove_file(&self.socket).unwrap();
    }
}

/// Passes on both ways until the engine has said all.
fn pass_on(mut client: UnixStream, mut engine: UnixStream) {
    let (mut from_client, mut to_engine) = (client.try_clone().unwrap(), engine.try_clone().unwrap());
    std::thread::spawn(move || io::copy(&mut from_client, &mut to_engine));
    let _ = io::copy(&mut engine, &mut client);
    for end in [client, engine] {
        let _ = end.shutdown(Shutdown::Both);
    }
}

#[test]
#[ignore = "needs docker"]
fn an_engine_that_is_lost_in_a_trial_takes_no_contender_with_it() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    let written = std::fs::read_to_string(folder.path().join("experiments/x.toml")).unwrap();
    folder.write("experiments/x.toml", &written.replace("measure = \"150ms\"", "measure = \"1s\""));
    let host = std::env::var("DOCKER_HOST").unwrap();
    let relay = Relay { socket: folder.path().join("engine.sock"), engine: host.strip_prefix("unix://").unwrap().into() };
    relay.listen();
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command.current_dir(folder.path()).env("TMPDIR", folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache"));
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    command.env("DOCKER_HOST", format!("unix://{}", relay.socket.display()));
    command.args(["run", "x", "--runner", "docker", "--blocks", "2", "--out", "r"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let runs = || !docker(&["ps", "--quiet", "--filter", "label=faceoff.run"]).unwrap().is_empty();
    while !has_trial(folder) || !runs() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no second trial");
        std::thread::sleep(Duration::from_millis(20));
    }
    relay.go();
    // Until the trial that is under way has missed it.
    let missed = || std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap_or_default().contains("engine_lost");
    while !missed() {
        assert!(begun.elapsed() < Duration::from_secs(180), "nobody missed the engine");
        std::thread::sleep(Duration::from_millis(20));
    }
    // What it still runs is ended without it.
    while runs() {
        assert!(begun.elapsed() < Duration::from_secs(180), "the contender runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    relay.listen();
    let status = run.wait().unwrap();
    assert!(status.code().is_some_and(|code| [0, 4].contains(&code)), "{status}");
    let record = folder.record("r");
    assert!(record.missing().is_empty() && record.trials.len() == 4, "{} trials", record.trials.len());
    let failures: Vec<_> = record.trials.iter().filter_map(|trial| trial.failure.as_ref()).collect();
    assert!(failures.is_empty() && record.dropped().count() == 0, "{failures:?}");
    let events: Vec<Event> = record.sessions.iter().map(|session| session.event).collect();
    assert_eq!(events[..2], [Event::EngineLost, Event::Resumed], "{events:?}");
    engine.is_clean();
}
