//! A project whose systems, workloads and experiments are in its `catalog/`.

use crate::folder::{Folder, Ran, control, nothing_is_left};

/// Moves what a folder has into its `catalog/`, and its experiment into a group.
fn into_catalog(folder: &Folder) {
    let catalog = folder.path().join("catalog");
    std::fs::create_dir(&catalog).unwrap();
    for part in ["systems", "workloads"] {
        std::fs::rename(folder.path().join(part), catalog.join(part)).unwrap();
    }
    std::fs::create_dir_all(catalog.join("experiments")).unwrap();
    let group = catalog.join("experiments/group");
    std::fs::rename(folder.path().join("experiments"), group).unwrap();
}

/// A project with its catalog, and the experiment `x` of two systems.
fn project() -> Folder {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    into_catalog(&folder);
    folder
}

fn run_in(folder: &Folder, below: &str, arguments: &[&str]) -> Ran {
    let mut command = folder.faceoff(arguments);
    Ran::from(command.current_dir(folder.path().join(below)).output().unwrap())
}

#[test]
fn records_and_state_are_in_the_project_wherever_it_runs() {
    let folder = project();
    for below in ["", "catalog", "catalog/systems/a"] {
        run_in(&folder, below, &["run", "x", "--blocks", "1"]);
        assert!(!folder.path().join("catalog/records").exists(), "{below}");
        assert!(!folder.path().join("catalog/.faceoff").exists(), "{below}");
    }
    let records = std::fs::read_dir(folder.path().join("records")).unwrap().count();
    assert!(records > 0, "the records are in the project");
    run_in(&folder, "catalog", &["list"]).expect(0).says("  x  ").says("  hello  ");
    nothing_is_left(&folder);
}

#[test]
fn problems_name_the_true_path_of_a_file() {
    let folder = project();
    let path = "catalog/experiments/group/x.toml";
    let text = std::fs::read_to_string(folder.path().join(path)).unwrap();
    folder.write(path, &text.replace("rate = 400", "rate = \"many\""));
    folder.run(&["run", "x", "--plan"]).expect(2).says(&format!("{path}:"));
    folder.write("catalog/experiments/x.toml", &text);
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("two experiments are called `x`")
        .says("catalog/experiments/x.toml")
        .says(path);
    folder.run(&["list"]).expect(2).says("two experiments are called `x`");
}

#[test]
fn init_writes_into_the_catalog_of_a_project() {
    let folder = project();
    let command = format!("{} --port {{port}}", control().display());
    let services = [format!("one={command}"), format!("two={command} --cpu 100us")];
    let arguments =
        ["init", "--service", &services[0], "--service", &services[1], "--request", "/a"];
    folder
        .run(&[&arguments[..], &["--ready", "5s"]].concat())
        .expect(0)
        .says("wrote catalog/systems/one/system.toml")
        .says("2 correct, 0 skipped, 0 failed");
    assert!(!folder.path().join("systems").exists());
    folder.run(&["run", "one-or-two", "--quick", "--plan"]).expect(0).says("baseline   one");
    nothing_is_left(&folder);
}

#[test]
fn a_revision_from_before_the_move_is_compared() {
    let folder = Folder::repository("100us");
    into_catalog(&folder);
    let manifest = "catalog/systems/api/system.toml";
    let text = std::fs::read_to_string(folder.path().join(manifest)).unwrap();
    folder.write(manifest, &text.replace("../../api", "../../../api"));
    let script = std::fs::read_to_string(folder.path().join("api/serve.sh")).unwrap();
    folder.write("api/serve.sh", &script.replace("../workloads", "../catalog/workloads"));
    folder.commit("Move into catalog/");
    let against = ["run", "x", "--against", "HEAD~1", "--by", "cpu_per_request"];
    folder.run(&[&against[..], &["--blocks", "1", "--out", "r"]].concat());
    let record = folder.record("r");
    let [then, now] = &record.header.contenders[..] else { panic!("two contenders") };
    assert!(then.facts["revision"].ends_with(", The | first"), "{:?}", then.facts);
    assert!(now.facts["revision"].ends_with(", Move into catalog/"), "{:?}", now.facts);
    assert!(record.trials.iter().all(|trial| trial.failure.is_none()), "both were measured");
    nothing_is_left(&folder);
}
