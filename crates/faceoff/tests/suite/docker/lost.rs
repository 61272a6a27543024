//! An engine behind a relay that can disappear for a while, like an engine that is restarted.

use super::{Engine, docker};
use crate::engines::kills::has_trial;
use record::Event;
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
    /// Begins to pass on connections to its socket.
    fn listen(&self) {
        let (listener, engine) = (UnixListener::bind(&self.socket).unwrap(), self.engine.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let engine = UnixStream::connect(&engine).unwrap();
                std::thread::spawn(move || pass_on(client, engine));
            }
        });
    }

    /// Removes the socket: open connections continue, new ones fail.
    fn go(&self) {
        std::fs::remove_file(&self.socket).unwrap();
    }
}

/// Passes on both directions until the engine has sent everything.
fn pass_on(mut client: UnixStream, mut engine: UnixStream) {
    let (mut from_client, mut to_engine) =
        (client.try_clone().unwrap(), engine.try_clone().unwrap());
    std::thread::spawn(move || io::copy(&mut from_client, &mut to_engine));
    let _ = io::copy(&mut engine, &mut client);
    for end in [client, engine] {
        let _ = end.shutdown(Shutdown::Both);
    }
}

#[test]
#[ignore = "needs docker"]
fn engine_lost_in_a_trial_excludes_no_contender() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.replace("experiments/x.toml", "measure = \"150ms\"", "measure = \"1s\"");
    let host = std::env::var("DOCKER_HOST").unwrap();
    let relay = Relay {
        socket: folder.path().join("engine.sock"),
        engine: host.strip_prefix("unix://").unwrap().into(),
    };
    relay.listen();
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .env("XDG_CACHE_HOME", folder.path().join("cache"));
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
    // Until the running trial has noticed the loss.
    let missed = || {
        std::fs::read_to_string(folder.path().join("r/record.jsonl"))
            .unwrap_or_default()
            .contains("engine_lost")
    };
    while !missed() {
        assert!(
            begun.elapsed() < Duration::from_secs(180),
            "the loss of the engine was not noticed"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Its containers are ended without it.
    while runs() {
        assert!(begun.elapsed() < Duration::from_secs(180), "the contender runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    relay.listen();
    let status = run.wait().unwrap();
    assert!(status.code().is_some_and(|code| [0, 4].contains(&code)), "{status}");
    let record = folder.record("r");
    assert!(
        record.missing().is_empty() && record.trials.len() == 4,
        "{} trials",
        record.trials.len()
    );
    let failures: Vec<_> =
        record.trials.iter().filter_map(|trial| trial.failure.as_ref()).collect();
    assert!(failures.is_empty() && record.dropped().count() == 0, "{failures:?}");
    let events: Vec<Event> = record.sessions.iter().map(|session| session.event).collect();
    assert_eq!(events[..2], [Event::EngineLost, Event::Resumed], "{events:?}");
    engine.is_clean();
}
