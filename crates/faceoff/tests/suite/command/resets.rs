//! What prepares or cleans a system between cells.

use crate::folder::{Folder, Ran, nothing_is_left};

/// An experiment of `a` and `b`, two cells in two blocks, whose manifests end with this.
fn run(reset: &str) -> (Folder, Ran) {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        folder.write(&manifest, &format!("{text}[reset]\n{reset}\n"));
    }
    folder.experiment(&["a", "b"], "");
    let text = std::fs::read_to_string(folder.path().join("experiments/x.toml")).unwrap();
    folder.write("experiments/x.toml", &text.replace("blocks = 6", "blocks = 2"));
    let ran = folder.run(&["run", "x", "--out", "r"]);
    (folder, ran)
}

#[test]
fn a_command_is_run_before_each_cell_and_knows_the_port() {
    let (folder, ran) = run(r#"run = ["sh", "-c", "echo $0 >> ../../resets", "{port.http}"]"#);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let resets = std::fs::read_to_string(folder.path().join("resets")).unwrap();
    let ports: std::collections::BTreeSet<u16> = resets.lines().map(|line| line.parse().unwrap()).collect();
    let record = folder.record("r");
    // What the hypervisor spoilt is measured again, from where it began.
    let robbed = record.trials.iter().map(|t| t.robbed.len()).sum::<usize>();
    assert!(resets.lines().count() == 8 + robbed && ports.len() <= 4 && !ports.is_empty(), "{robbed} robbed: {resets}");
    assert_eq!(record.trials.iter().map(|t| t.measurements.len()).collect::<Vec<_>>(), [2; 4]);
    assert!(record.header.contenders[0].facts["reset"].starts_with("before each cell: sh -c echo"));
    nothing_is_left(&folder);
}

#[test]
fn a_request_is_made_to_the_system_itself() {
    let (folder, ran) = run("request = \"POST /reset\"\nbody = \"all\"");
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert!(folder.record("r").trials.iter().all(|t| t.failure.is_none() && t.measurements.len() == 2));
}

#[test]
fn a_reset_that_fails_is_the_contenders_failure() {
    for (reset, said) in [
        ("run = [\"sh\", \"-c\", \"echo no room; exit 3\"]", "ended with exit 3"),
        ("request = \"GET /?status=503\"", "503"),
        ("run = [\"sleep\", \"5\"]\nwithin = \"50ms\"", "was not done within 50 ms"),
    ] {
        let (folder, ran) = run(reset);
        assert_eq!(ran.code, 1, "{reset}: {}\n{}", ran.out, ran.err);
        for trial in &folder.record("r").trials {
            let failure = trial.failure.as_ref().unwrap();
            assert!(failure.stage == "reset" && failure.cause.contains(said) && trial.measurements.is_empty(), "{failure:?}");
        }
        nothing_is_left(&folder);
    }
}

/// A row of turns is measured on what the turn before left; each probe of a capacity finds the same.
#[test]
fn turns_are_reset_once_and_a_capacity_before_each_probe() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        folder.write(&manifest, &format!("{text}[reset]\nrun = [\"sh\", \"-c\", \"echo {name} >> ../../resets\"]\n"));
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
turns = 3
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
        let mut at: Vec<(u32, &str)> = trial.measurements.iter().map(|m| (m.position, m.cell.as_str())).collect();
        at.sort_unstable();
        let [(first, "row-turn-1"), (second, "row-turn-2"), (third, "row-turn-3")] = at[..] else { panic!("{at:?}") };
        assert_eq!((second, third), (first + 1, first + 2));
        expected += 1 + trial.robbed.len() + 1 + trial.capacities[0].probes.len();
    }
    let resets = std::fs::read_to_string(folder.path().join("resets")).unwrap();
    assert_eq!(resets.lines().count(), expected, "one before the row, one before the search, one before each of its probes");
    // Memory: of the load's own figures, none is left where the generator's CPU was short.
    assert!(ran.out.contains("\nIn turn\n  ") && ran.out.contains("\n  a, row: memory in turn 3 is "), "{}", ran.out);
    nothing_is_left(&folder);
}

/// What was probed until then is kept; the contender is stopped and not asked again.
#[test]
fn a_reset_that_fails_in_a_search_is_the_contenders_failure() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let manifest = format!("systems/{name}/system.toml");
        folder.system(name, &[]);
        let text = std::fs::read_to_string(folder.path().join(&manifest)).unwrap();
        // One before the search, one before each of two probes, and no more.
        let thrice = format!("echo x >> ../../resets-{name}; test $(wc -l < ../../resets-{name}) -lt 4");
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
