//! Resets of a system between cells.

use crate::folder::{Folder, Ran, nothing_is_left};

/// Writes an experiment of `a` and `b`, two cells in two blocks, whose manifests end with a text.
fn run(reset: &str) -> (Folder, Ran) {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        folder.write(&manifest, &format!("{text}[reset]\n{reset}\n"));
    }
    folder.experiment(&["a", "b"], "");
    folder.replace("experiments/x.toml", "blocks = 6", "blocks = 2");
    let ran = folder.run(&["run", "x", "--out", "r"]);
    (folder, ran)
}

#[test]
fn reset_command_runs_before_each_cell_with_port() {
    let (folder, ran) = run(r#"run = ["sh", "-c", "echo $0 >> ../../resets", "{port.http}"]"#);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let resets = std::fs::read_to_string(folder.path().join("resets")).unwrap();
    let ports: std::collections::BTreeSet<u16> =
        resets.lines().map(|line| line.parse().unwrap()).collect();
    let record = folder.record("r");
    // A measurement that CPU steal invalidated is repeated, with its reset.
    let repeated = record.trials.iter().map(|t| t.stolen.len()).sum::<usize>();
    assert!(
        resets.lines().count() == 8 + repeated && ports.len() <= 4 && !ports.is_empty(),
        "{repeated} repeated: {resets}"
    );
    assert_eq!(record.trials.iter().map(|t| t.measurements.len()).collect::<Vec<_>>(), [2; 4]);
    assert!(record.header.contenders[0].facts["reset"].starts_with("before each cell: sh -c echo"));
    nothing_is_left(&folder);
}

/// The load that finds the length of slices changes the state, too.
#[test]
fn contenders_in_slices_are_reset_after_the_pilot() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        let reset = "run = [\"sh\", \"-c\", \"echo x >> ../../resets\"]";
        folder.write(&manifest, &format!("{text}[reset]\n{reset}\n"));
    }
    folder.experiment(&["a", "b"], "");
    let text = std::fs::read_to_string(folder.path().join("experiments/x.toml")).unwrap();
    let sliced = text.replace("blocks = 6", "blocks = 1").replace("\"trials\"", "\"slices\"");
    folder.write("experiments/x.toml", &sliced);
    folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    assert!(record.trials.iter().all(|t| t.failure.is_none() && t.measurements.len() == 2));
    let resets = std::fs::read_to_string(folder.path().join("resets")).unwrap().lines().count();
    // Two contenders and two cells: before each cell and after its pilot. A cell whose slices were
    // too short is measured again, after one more.
    assert!((8..=12).contains(&resets), "{resets}");
    nothing_is_left(&folder);
}

#[test]
fn reset_request_goes_to_the_system() {
    let (folder, ran) = run("request = \"POST /reset\"\nbody = \"all\"");
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert!(
        folder.record("r").trials.iter().all(|t| t.failure.is_none() && t.measurements.len() == 2)
    );
}

#[test]
fn failed_reset_is_failure_of_contender() {
    for (reset, said) in [
        ("run = [\"sh\", \"-c\", \"echo no room; exit 3\"]", "ended with exit 3"),
        ("request = \"GET /?status=503\"", "503"),
        ("run = [\"sleep\", \"5\"]\nwithin = \"50ms\"", "was not done within 50 ms"),
    ] {
        let (folder, ran) = run(reset);
        assert_eq!(ran.code, 1, "{reset}: {}\n{}", ran.out, ran.err);
        for trial in &folder.record("r").trials {
            let failure = trial.failure.as_ref().unwrap();
            assert!(
                failure.stage == "reset"
                    && failure.cause.contains(said)
                    && trial.measurements.is_empty(),
                "{failure:?}"
            );
        }
        nothing_is_left(&folder);
    }
}

/// Repetitions continue from the previous state; each probe of a capacity begins from the same
/// state.
#[test]
fn repetitions_reset_once_and_probes_each_time() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        folder.write(
            &manifest,
            &format!("{text}[reset]\nrun = [\"sh\", \"-c\", \"echo {name} >> ../../resets\"]\n"),
        );
    }
    let experiment = r#"
name = "x"
question = "Which?"
baseline = "a"
contenders = ["b"]
[design]
blocks = 2
spare_blocks = 0
warmup = "50ms"
measure = "100ms"
[[cell]]
name = "row"
workload = "hello"
repetitions = 3
load = { kind = "closed", connections = 2 }
[[cell]]
name = "most"
workload = "hello"
load = { kind = "capacity", of = "users", service_level = "p95<2s", from = 1, at_most = 2, probe = "200ms", probes = 6 }
"#;
    folder.write("experiments/x.toml", experiment);
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let record = folder.record("r");
    let mut expected = 0;
    for trial in &record.trials {
        let mut at: Vec<(u32, &str)> =
            trial.measurements.iter().map(|m| (m.position, m.cell.as_str())).collect();
        at.sort_unstable();
        let [
            (first, "row-repetition-1"),
            (second, "row-repetition-2"),
            (third, "row-repetition-3"),
        ] = at[..]
        else {
            panic!("{at:?}")
        };
        assert_eq!((second, third), (first + 1, first + 2));
        expected += 1 + trial.stolen.len() + 1 + trial.capacities[0].probes.len();
    }
    let resets = std::fs::read_to_string(folder.path().join("resets")).unwrap();
    assert_eq!(
        resets.lines().count(),
        expected,
        "one before the row, one before the search, one before each of its probes"
    );
    // Memory, because a busy generator invalidates the figures of the load.
    assert!(
        ran.out.contains("\nRepetitions\n  ")
            && ran.out.contains("\n  a, row: memory in repetition 3 is "),
        "{}",
        ran.out
    );
    nothing_is_left(&folder);
}

/// Earlier probes are kept; the contender is stopped and gets no more requests.
#[test]
fn failed_reset_in_search_is_failure_of_contender() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        // One reset before the search, and one before each of two probes.
        let thrice =
            format!("echo x >> ../../resets-{name}; test $(wc -l < ../../resets-{name}) -lt 4");
        folder.write(&manifest, &format!("{text}[reset]\nrun = [\"sh\", \"-c\", \"{thrice}\"]\n"));
    }
    let load = "kind = \"capacity\", of = \"users\", service_level = \"p95<9s\", from = 1, probe = \"200ms\", probes = 6";
    folder.write(
        "experiments/x.toml",
        &format!(
            "name = \"x\"\nquestion = \"Which?\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n[design]\nblocks = 1\nspare_blocks = 0\nwarmup = \"50ms\"\nmeasure = \"100ms\"\n[[cell]]\nname = \"most\"\nworkload = \"hello\"\nload = {{ {load} }}\n"
        ),
    );
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2, "{}\n{}", ran.out, ran.err);
    for trial in &record.trials {
        assert_eq!(trial.failure.as_ref().unwrap().stage, "reset", "{trial:?}");
        assert_eq!(trial.capacities[0].probes.len(), 2, "{trial:?}");
    }
    nothing_is_left(&folder);
}
