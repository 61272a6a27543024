//! Slices of loads whose last responses take far longer than a slice.

use crate::folder::{Folder, measured, nothing_is_left};

/// 40 requests that take no time, then one that takes 600 ms.
fn seldom_slow(folder: &Folder) {
    let step = |delay: &str| {
        format!("[[step]]\npath = \"/?delay={delay}\"\n[step.answer]\nbody_file = \"hello.txt\"\n")
    };
    let steps = step("0ms").repeat(40) + &step("600ms");
    folder.write(
        "workloads/seldom.toml",
        &format!("name = \"seldom\"\nsummary = \"GET /\"\n{steps}"),
    );
}

/// The median response asks for slices of 40 ms, and then each of the 25 would wait 600 ms for its
/// last responses.
#[test]
fn slices_lengthen_where_their_drains_take_longer() {
    let folder = Folder::new();
    seldom_slow(&folder);
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.write(
        "experiments/x.toml",
        r#"
name = "x"
question = "Which?"
baseline = "a"
contenders = ["b"]
[design]
blocks = 1
alternate = "slices"
warmup = "50ms"
measure = "1s"
[[cell]]
name = "closed"
workload = "seldom"
load = { kind = "closed", connections = 4 }
"#,
    );
    folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    for contender in ["a", "b"] {
        let all = measured(&record, contender);
        let [measurement] = &all[..] else { panic!("{contender}: {} measurements", all.len()) };
        let slices = measurement.slices.as_ref().unwrap();
        assert!(slices.length_ns >= 400_000_000, "{contender}: {slices:?}");
        assert!(measurement.counts.correct > 100 && measurement.counts.failed() == 0);
    }
    nothing_is_left(&folder);
}
