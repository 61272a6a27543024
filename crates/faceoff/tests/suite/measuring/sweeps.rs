//! A sweep over the work of a request, with two systems whose times are known at every level.
//!
//! The measured curve is compared with them.

use crate::folder::{Folder, code_of, measured, nothing_is_left};
use crate::machine::alone;

const EXPERIMENT: &str = r#"
name = "x"
question = "Which?"
baseline = "waiting"
contenders = ["working"]
[design]
blocks = 6
spare_blocks = 0
warmup = "50ms"
measure = "300ms"
[[cell]]
name = "burn"
workload = "burn"
with = { cpu = [100, 300, 1000, 3000] }
load = { kind = "closed", connections = 1 }
"#;

/// One system always takes 2 ms, the other four times the requested time. The tests of `judge`
/// check that such curves cross (`sweeps.rs`), and `export/text.rs` checks the sentence.
#[test]
fn sweep_measures_known_times() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("waiting", &["--delay", "2ms"]);
    folder.system("working", &["--scale-cpu", "4"]);
    folder.write(
        "workloads/burn.toml",
        "name = \"burn\"\nsummary = \"work\"\nparameters = { cpu = 100 }\n[[step]]\npath = \"/?cpu=${cpu}us\"\n[step.answer]\nbody_file = \"hello.txt\"\n",
    );
    folder.write("experiments/x.toml", EXPERIMENT);
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    assert_eq!(ran.code, code_of(&judgement, false), "{}\n{}", ran.out, ran.err);
    assert_eq!(record.trials.len(), 12);
    for (contender, least_us) in
        [("waiting", [2_000, 2_000, 2_000, 3_000]), ("working", [400, 1_200, 4_000, 12_000])]
    {
        let all = measured(&record, contender);
        assert_eq!(all.len(), 24);
        for (cell, least_us) in
            ["burn-cpu-100", "burn-cpu-300", "burn-cpu-1000", "burn-cpu-3000"].iter().zip(least_us)
        {
            let of_cell: Vec<_> =
                all.iter().filter(|m| m.cell == *cell && m.counts.correct > 0).collect();
            assert!(!of_cell.is_empty(), "{contender} answered nothing in {cell}");
            let least_ns = of_cell.iter().map(|m| m.service.min_ns()).min().unwrap();
            assert!(least_ns >= least_us * 1_000, "{contender}, {cell}: {least_ns} ns");
        }
    }
    nothing_is_left(&folder);
}
