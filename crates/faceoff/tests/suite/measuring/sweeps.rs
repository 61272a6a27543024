use crate::folder::{Folder, nothing_is_left};
use crate::machine::alone;
use model::metric::Metric;

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

/// One takes 2 ms however long it works, the other four times what it is asked to: alike at 500 us.
#[test]
fn a_crossing_that_is_known_is_found() {
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
    let judgement = judge::judge(&folder.record("r"));
    // Only who takes the CPUs away excuses that nothing, or no crossing, is found; it moves the lines, and may leave nothing to judge.
    let taken: Vec<_> = judgement.faults.iter().filter(|f| ["steal", "start-steal", "other-cpu"].contains(&f.kind.as_str())).collect();
    let Some(curves) = judgement.sweeps.iter().find(|s| s.metric == Metric::LatencyMean) else {
        assert!(!taken.is_empty(), "no curves, and nobody took the CPUs: {:?}\n{}", judgement.faults, ran.out);
        return eprintln!("SKIPPED: nothing could be used of a run on CPUs that others took, {} times: {:?}", taken.len(), taken[0]);
    };
    let at = |line: usize| curves.lines[line].points.iter().map(|p| (p.level, p.value)).collect::<Vec<_>>();
    let (waiting, working) = (at(0), at(1));
    assert!(waiting[..3].iter().all(|(_, ms)| *ms >= 2.0) && working.iter().all(|(us, ms)| *ms >= 0.004 * us), "{waiting:?} {working:?}");
    if taken.is_empty() {
        let [crossing] = &curves.crossings[..] else { panic!("{curves:?}\n{}", ran.out) };
        assert_eq!(
            (crossing.below.to_string(), crossing.above.to_string(), crossing.between),
            ("working".into(), "waiting".into(), (300.0, 1000.0))
        );
        assert!((350.0..600.0).contains(&crossing.level), "{crossing:?}");
        ran.says("Crossings")
            .says("By mean latency, working is better up to about cpu ")
            .says("It is better by mean latency up to about cpu ");
    }
    for fault in taken {
        eprintln!("SKIPPED: the crossing cannot be told while {}: {}", fault.kind, fault.evidence);
    }
    nothing_is_left(&folder);
}
