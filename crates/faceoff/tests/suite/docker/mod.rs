//! Systems in containers of a real engine, which DOCKER_HOST names.

mod lost;
mod ready_made;

use crate::contained::{check_contained_profiles, check_contained_run};
use crate::engines::kills::{self, Victim};
use crate::engines::limits;
use crate::folder::{Folder, Ran, nothing_is_left};
use crate::machine::{Alone, alone};
use crate::needs::need;
use spec::experiment::RunnerKind;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A folder whose systems run in an engine that no other test uses.
struct Engine {
    folder: Folder,
    _alone: Alone,
}

impl Engine {
    fn named() -> Engine {
        let alone = alone();
        need("docker");
        Engine { folder: Folder::new(), _alone: alone }
    }

    /// Checks that only images of ours remain, and none of them after `faceoff clean`.
    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(
            docker(&["ps", "--all", "--quiet", "--filter", "label=faceoff.run"]).unwrap(),
            ""
        );
        self.folder.run(&["clean"]).expect(0);
        assert_eq!(docker(&["images", "--quiet", "--filter", "label=faceoff.system"]).unwrap(), "");
        assert_eq!(self.folder.notes(), Vec::<std::path::PathBuf>::new());
        nothing_is_left(&self.folder);
    }
}

fn docker(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("docker").args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
#[ignore = "needs docker"]
fn system_responds_in_container_and_leaves_nothing() {
    let engine = Engine::named();
    engine.folder.system("a", &["--children", "1"]);
    engine.folder.run(&["check", "a", "--runner", "docker"]).expect(0).says("1 correct");
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn container_that_does_not_start_says_why() {
    let engine = Engine::named();
    engine.folder.system("b", &["--no-such-flag"]);
    engine
        .folder
        .run(&["check", "b", "--runner", "docker"])
        .expect(1)
        .says("exit 2")
        .says("--no-such-flag");
    engine.folder.system("c", &["--ignore-term"]);
    engine
        .folder
        .run(&["check", "c", "--runner", "docker"])
        .expect(1)
        .says("did not end within 500 ms and was killed");
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn run_in_containers_is_judged_and_described() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "300us", "--log"]);
    folder.experiment(&["a", "b"], "");
    let ran = folder.run(&["run", "x", "--blocks", "2", "--runner", "docker", "--out", "r"]);
    ran.says("in Docker containers on the machine's own network");
    let record = folder.record("r");
    assert_eq!(record.header.experiment.place.runner, RunnerKind::Docker);
    check_contained_run(folder, &record);
    let images: Vec<_> =
        record.header.contenders.iter().map(|c| c.image.as_ref().unwrap()).collect();
    assert_ne!(images[0].digest, images[1].digest);
    for measured in record.trials.iter().flat_map(|trial| &trial.measurements) {
        let group = measured.usage.signs.group.unwrap();
        assert!(
            group.memory_max_bytes.is_some_and(|most| most > 0) && group.memory_kills == 0,
            "{group:?}"
        );
    }
    engine.is_clean();
}

#[test]
#[ignore = "needs docker and sampling"]
fn contenders_in_containers_are_profiled() {
    let engine = Engine::named();
    need("sampling");
    let folder = &engine.folder;
    folder.system("a", &["--cpu", "100us"]);
    folder.system("b", &["--cpu", "300us"]);
    check_contained_profiles(folder, "docker");
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn system_is_compared_as_process_and_container() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &["--listen", "{listen}"]);
    folder.system("b", &[]);
    folder.run(&["check", "a:in-docker", "a:in-docker-bridge", "a"]).expect(0).says("3 correct");
    folder.run(&["check", "b:in-docker-bridge"]).expect(1).says("no correct response within 9.0 s");
    folder.experiment(&["a", "a:in-docker", "a:in-docker-bridge"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let record = folder.record("r");
    let has_image: Vec<bool> =
        record.header.contenders.iter().map(|contender| contender.image.is_some()).collect();
    assert_eq!(has_image, [false, true, true]);
    assert_eq!(record.trials.len(), 3);
    for trial in &record.trials {
        assert!(trial.failure.is_none(), "{}: {:?}", trial.contender, trial.failure);
        let words = trial.command.join(" ");
        assert_eq!(
            words.contains("--listen 0.0.0.0"),
            trial.contender.to_string() == "a:in-docker-bridge",
            "{words}"
        );
        let is_in_container = trial.contender.place().is_some();
        assert!(
            trial
                .measurements
                .iter()
                .all(|measured| measured.usage.signs.group.is_some() == is_in_container
                    && measured.counts.correct > 0)
        );
        // The proxy of a published port is not in the container's group, but counts for the
        // contender.
        let closed = trial.measurements.iter().find(|measured| measured.cell == "closed").unwrap();
        if let Some(group) = closed.usage.signs.group {
            let share = closed.usage.cpu_ns as f64 / group.cpu_ns as f64;
            assert_eq!(
                share > 1.3,
                words.contains("--listen 0.0.0.0"),
                "{}: {share}",
                trial.contender
            );
        }
    }
    crate::by_schema::is_by_schema(folder, "r");
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn limits_hold_and_their_cost_is_measured() {
    let engine = Engine::named();
    limits::hold(&engine.folder, "docker", |name, flags| engine.folder.system(name, flags));
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn each_contender_has_the_limits_in_its_name() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &["--cpu", "2ms"]);
    folder.experiment(&["a:cpus-0.4", "a:cpus-0.2+memory-64M"], "[place]\nrunner = \"docker\"\n");
    folder.replace("experiments/x.toml", "measure = \"150ms\"", "measure = \"1s\"");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let record = folder.record("r");
    let used = |name: &str| {
        let trial =
            record.trials.iter().find(|trial| trial.contender == name.parse().unwrap()).unwrap();
        let closed = trial.measurements.iter().find(|measured| measured.cell == "closed").unwrap();
        assert!(
            closed.usage.signs.quota.is_some_and(|quota| quota.throttled_periods > 0),
            "{:?}",
            closed.usage.signs.quota
        );
        closed.usage.cpu_ns as f64 / closed.usage.wall_ns as f64
    };
    let (more, less) = (used("a:cpus-0.4"), used("a:cpus-0.2+memory-64M"));
    assert!(
        (0.3..0.5).contains(&more) && (0.1..0.3).contains(&less),
        "{more} and {less} were used"
    );
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn containers_of_killed_run_are_removed() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "[place]\nrunner = \"docker\"\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(["run", "x", "--out", "r"]);
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let has_trial = kills::await_trial(folder, Duration::from_secs(120), || {
        running.try_wait().unwrap().is_some()
    });
    assert!(has_trial, "it ended before it could be killed");
    // Stopped, so that it cannot remove the container.
    let signal = |name: &str| {
        assert!(
            Command::new("kill")
                .args([name, &running.id().to_string()])
                .status()
                .unwrap()
                .success()
        )
    };
    loop {
        signal("-STOP");
        if !docker(&["ps", "--quiet", "--filter", "label=faceoff.run"]).unwrap().is_empty() {
            break;
        }
        signal("-CONT");
        assert!(begun.elapsed() < Duration::from_secs(120), "no container");
        std::thread::sleep(Duration::from_millis(100));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    assert_ne!(
        docker(&["ps", "--all", "--quiet", "--filter", "label=faceoff.run"]).unwrap(),
        "",
        "it was not removed"
    );
    // Also if the environment names another engine.
    let built = folder
        .faceoff(&["build", "a"])
        .env("DOCKER_HOST", "unix:///nowhere/engine.sock")
        .output()
        .unwrap();
    Ran::from(built).expect(0).says("removed 1 containers that a killed run left behind");
    let ran = folder.run(&["run", "--resume", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert!(folder.record("r").missing().is_empty());
    engine.is_clean();
}

fn killed(victims: &[Victim]) {
    let engine = Engine::named();
    engine.folder.system("a", &[]);
    engine.folder.system("b", &[]);
    engine.folder.experiment(&["a", "b"], "");
    kills::at_random_moments(&engine.folder, "docker", victims, &|| engine.is_clean());
}

#[test]
#[ignore = "long, needs docker: twenty rounds of half a minute; FACEOFF_KILLS sets how many"]
fn kills_at_any_time_leave_nothing_and_a_valid_record() {
    killed(&[Victim::Faceoff, Victim::Contender]);
}

#[test]
#[ignore = "long, needs docker and engine control: twenty rounds of half a minute; FACEOFF_KILLS sets how many"]
fn engine_killed_at_any_time_excludes_no_contender() {
    need("engine control");
    killed(&[Victim::Engine]);
}

#[test]
#[ignore = "needs docker"]
fn archive_is_loaded_and_dockerfile_is_built() {
    let engine = Engine::named();
    let folder = &engine.folder;
    folder.system("a", &[]);
    folder.run(&["build", "a", "--images", "--save", "saved"]).expect(0);
    let archive = folder.path().join("saved/a.tar");
    assert!(
        docker(&["load", "--input", &archive.to_string_lossy()])
            .unwrap()
            .contains("faceoff/a:latest")
    );

    // Its own Dockerfile on the derived image, so that no base image is fetched.
    let own = folder.path().join("systems/a/system.toml");
    let text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(&own, format!("{text}[image]\ndockerfile = \"Dockerfile\"\n")).unwrap();
    folder.write(
        "systems/a/Dockerfile",
        "FROM faceoff/a:latest\nLABEL mine=1\nENTRYPOINT [\"/nothing\"]\n",
    );
    let ran =
        folder.run(&["build", "a", "--images", "--save", "saved", "--format", "json"]).expect(0);
    let made: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let (image, known) = (
        &made[0]["image"],
        docker(&[
            "image",
            "inspect",
            "--format",
            "{{.Id}} {{.Config.Labels.mine}}",
            "faceoff/a:latest",
        ])
        .unwrap(),
    );
    assert_eq!(known, format!("{} 1", image["digest"].as_str().unwrap()));
    assert!(
        archive.is_file() && image["layers"].as_array().is_some_and(|layers| !layers.is_empty())
    );
    folder.run(&["check", "a", "--runner", "docker"]).expect(0).says("1 correct");
    folder.write("systems/a/Dockerfile", "FROM scratch\nCOPY nothing /\n");
    folder.run(&["build", "a", "--images"]).expect(1).says("`docker build` ended with exit 1");
    engine.is_clean();
}

#[test]
fn missing_engine_gives_a_hint() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let at = |host: &str| {
        let mut command = folder.faceoff(&["check", "a", "--runner", "docker"]);
        Ran::from(command.env("DOCKER_HOST", host).output().unwrap())
    };
    at("unix:///no/such/socket")
        .expect(2)
        .says("no Docker engine at /no/such/socket")
        .says("hint: start Docker");
    let mut named = folder.faceoff(&["check", "a:in-docker"]);
    let ran = Ran::from(named.env("DOCKER_HOST", "unix:///no/such/socket").output().unwrap());
    ran.expect(1).says("no container can be made of it: no Docker engine at /no/such/socket");
    let mut images = folder.faceoff(&["vs", "image=a:1", "image=b:1", "--out", "v"]);
    let ran = Ran::from(images.env("DOCKER_HOST", "unix:///no/such/socket").output().unwrap());
    ran.expect(1).says("a-1 cannot start").says("no Docker engine at /no/such/socket");
    assert!(!folder.path().join("v").exists(), "a record was left behind");
    folder
        .run(&["check", "a:cpus-0.5"])
        .expect(2)
        .says("`a:cpus-0.5` has limits")
        .says("in-docker");
    folder.run(&["check", "a:in-docker+replicas-2"]).expect(2).says("runs outside of any cluster");
    at("tcp://elsewhere:2375").expect(2).says("the engine must be on this machine");
    folder.run(&["check", "a", "--runner", "dockre"]).expect(2).says("did you mean `docker`?");
    folder.experiment(&["a", "b"], "[place]\ncpu_limit = 0.5\n");
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("`cpu_limit` of [place] is for containers")
        .says("runner = \"docker\"");
    nothing_is_left(&folder);
}
