//! Builds and checks of several systems at a time.

use crate::folder::{Folder, alive_in, control, nothing_is_left};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Replaces a text in the manifest of a system.
fn change(folder: &Folder, name: &str, of: &str, to: &str) {
    let path = format!("systems/{name}/system.toml");
    let manifest = std::fs::read_to_string(folder.path().join(&path)).unwrap();
    assert!(manifest.contains(of), "{manifest}");
    folder.write(&path, &manifest.replacen(of, to, 1));
}

/// Gives a system a build that is a shell script. It runs in the system's folder, or in `runs_in`
/// next to `systems`.
fn build(folder: &Folder, name: &str, runs_in: Option<&str>, script: &str, output: &str) {
    let input = if runs_in.is_some() { "input" } else { "system.toml" };
    let shell = format!(
        "[build]\nrun = [[\"sh\", \"-c\", {script:?}]]\ninputs = [\"{input}\"]\noutputs = [\"{output}\"]\nwithin = \"20s\"\n[start]"
    );
    change(folder, name, "[start]", &shell);
    if let Some(runs_in) = runs_in {
        folder.write(&format!("{runs_in}/input"), "");
        change(folder, name, "answers =", &format!("folder = \"../../{runs_in}\"\nanswers ="));
    }
}

/// Reads outcomes, and removes the times, which differ from run to run.
fn outcomes(text: &str) -> Vec<Value> {
    let mut outcomes: Vec<Value> =
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    outcomes
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .for_each(|outcome| drop(outcome.remove("ready_after_ns")));
    outcomes
}

#[test]
fn several_jobs_give_the_results_of_one() {
    let check = |jobs: &str| {
        let folder = Folder::new();
        folder.system_with_variants(
            "a",
            &[("slow", &["--delay", "20ms"]), ("wrong", &["--no-such-flag"])],
        );
        folder.system("b", &["--no-such-flag"]);
        for (name, script) in
            [("c", "echo cannot; exit 3"), ("d", "echo d > made"), ("behind", "echo built >> made")]
        {
            folder.system(name, &[]);
            build(&folder, name, None, script, "made");
        }
        for proxy in ["front", "gate"] {
            folder.system(proxy, &[]);
            change(&folder, proxy, "kind = \"service\"", "kind = \"proxy\"");
        }
        let json = folder
            .run(&["check", "--all", "--upstream", "behind", "--jobs", jobs, "--format", "json"])
            .expect(1);
        let text = folder
            .run(&["check", "--all", "--upstream", "behind", "--jobs", jobs])
            .expect(1)
            .says("6 correct, 0 skipped, 3 failed");
        let is_outcome = |line: &&str| {
            ["correct ", "skipped ", "FAILED "].iter().any(|word| line.starts_with(word))
        };
        let lines: Vec<String> = text
            .err
            .lines()
            .filter(is_outcome)
            .map(|line| {
                line.split([',', ' '])
                    .filter(|w| !w.is_empty())
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let built = std::fs::read_to_string(folder.path().join("systems/behind/made")).unwrap();
        assert_eq!(built, "built\n", "by one job, and not again");
        assert_eq!(
            std::fs::read_dir(folder.path().join(".faceoff/check")).into_iter().flatten().count(),
            0
        );
        nothing_is_left(&folder);
        let root = folder.path().display().to_string();
        (outcomes(&json.out.replace(&root, "")), lines)
    };
    let (one, lines) = check("1");
    let names = ["a", "a:slow", "a:wrong", "b", "behind", "c", "d", "front", "gate"];
    assert_eq!(
        one.iter().map(|outcome| outcome["system"].as_str().unwrap()).collect::<Vec<_>>(),
        names
    );
    assert_eq!(one.iter().filter(|outcome| outcome["outcome"] == "failed").count(), 3, "{one:#?}");
    assert_eq!(lines.iter().filter_map(|line| line.split(' ').nth(1)).collect::<Vec<_>>(), names);
    let (four, lines_of_four) = check("4");
    assert_eq!((four, lines_of_four), (one, lines));
}

#[test]
fn builds_run_in_parallel_except_in_one_folder() {
    let folder = Folder::new();
    // Each waits for the other, so a sequential build would fail.
    let meets = |own: &str, other: &str| {
        format!(
            "touch ../../{own}.here; for i in $(seq 200); do test -e ../../{other}.here && break; sleep 0.05; done; test -e ../../{other}.here && touch made"
        )
    };
    // Each fails while the other runs.
    let alone = |made: &str| format!("mkdir busy || exit 7; sleep 0.3; rmdir busy; touch {made}");
    for (name, other) in [("p", "q"), ("q", "p")] {
        folder.system(name, &[]);
        build(&folder, name, None, &meets(name, other), "made");
    }
    for name in ["s", "t"] {
        folder.system(name, &[]);
        build(&folder, name, Some("shared"), &alone(name), name);
        change(&folder, name, "../../workloads", "../workloads");
    }
    folder.system("v", &[]);
    build(&folder, "v", None, &alone("v"), "v");
    let own = format!(
        "[variants.w.build]\nrun = [[\"sh\", \"-c\", {:?}]]\ninputs = [\"system.toml\"]\noutputs = [\"w\"]\n",
        alone("w")
    );
    change(&folder, "v", "[start]", &format!("{own}[start]"));
    folder.run(&["build", "--jobs", "5"]).expect(0).says("6 ready, 0 skipped, 0 failed");
    for name in ["p", "q"] {
        std::fs::remove_file(folder.path().join(format!("{name}.here"))).unwrap();
        std::fs::remove_file(folder.path().join(format!("systems/{name}/made"))).unwrap();
    }
    folder.run(&["check", "--all", "--jobs", "2"]).expect(0).says("6 correct, 0 skipped, 0 failed");
    nothing_is_left(&folder);
}

#[test]
fn interrupt_ends_everything_that_jobs_started() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let folder = Folder::new();
        // A build that does not end, a start that is never ready, and a proxy whose upstream is
        // never ready.
        for system in ["a", "b", "behind", "front"] {
            folder.system(system, &[]);
        }
        build(&folder, "a", None, "touch begun; sleep 60", "made");
        for (system, body) in [("b", "hello.txt"), ("front", "hello.txt")] {
            change(&folder, system, body, "other.txt");
            change(&folder, system, "within = \"9s\"", "within = \"60s\"");
        }
        folder.write("workloads/other.txt", "something else");
        change(&folder, "front", "kind = \"service\"", "kind = \"proxy\"");
        let mut child = Command::new(env!("CARGO_BIN_EXE_faceoff"))
            .current_dir(folder.path())
            .env("TMPDIR", folder.path())
            .args(["check", "a", "b", "front", "--upstream", "behind", "--jobs", "3"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = || {
            alive_in(&folder)
                .iter()
                .filter(|line| line.starts_with(control().to_str().unwrap()))
                .count()
        };
        let begun = folder.path().join("systems/a/begun");
        let all_run = (0..1_500).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            begun.exists() && running() == 3
        });
        assert!(all_run, "{:#?}", alive_in(&folder));
        assert!(
            Command::new("kill")
                .args([&format!("-{name}"), &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(code));
        nothing_is_left(&folder);
        assert_eq!(
            std::fs::read_dir(folder.path().join(".faceoff/check")).into_iter().flatten().count(),
            0
        );
    }
}

#[test]
fn file_problems_are_reported_before_first_build() {
    let folder = Folder::new();
    folder.system("a", &[]);
    build(&folder, "a", None, "touch made", "made");
    folder.system("front", &[]);
    change(&folder, "front", "kind = \"service\"", "kind = \"proxy\"");
    for jobs in ["1", "4"] {
        folder
            .run(&["check", "--all", "--jobs", jobs])
            .expect(2)
            .says("front is a proxy, and no experiment here names");
    }
    assert!(!folder.path().join("systems/a/made").exists());
    folder
        .run(&["check", "a", "--jobs", "2", "--runner", "docker"])
        .expect(2)
        .says("one at a time")
        .says("leave out --jobs");
    folder.run(&["check", "a", "a:in-docker", "--jobs", "2"]).expect(2).says("one at a time");
    folder.run(&["check", "a", "--jobs", "0"]).expect(2).says("0 is not in 1..=64");
}
