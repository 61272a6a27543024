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
    assert!(resets.lines().count() == 8 && ports.len() <= 4 && !ports.is_empty(), "{resets}");
    let record = folder.record("r");
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
