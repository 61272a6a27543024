//! Combined variants, and experiments with sweeps.

use crate::folder::{Folder, least_cpu_us, nothing_is_left};
use spec::metric::Metric;

#[test]
fn variants_combine_unless_they_contradict() {
    let folder = Folder::new();
    folder.system_with_variants(
        "a",
        &[("slow", &["--delay", "30ms"]), ("slower", &["--delay", "40ms"]), ("log", &["--log"])],
    );
    let ran = folder.run(&["check", "a", "a:log+slow", "--format", "json"]).expect(0);
    let checked: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(checked[1]["system"], "a:log+slow");
    assert!(checked[1]["ready_after_ns"].as_u64().unwrap() >= 30_000_000, "{checked}");
    let said = "the variants `slow` and `slower` of `a` both set --delay: to `30ms` and to `40ms`";
    folder.run(&["check", "a:slow+slower"]).expect(2).says(said).says("hint: keep one of the two");
    folder.experiment(&["a:slow+log", "a:slow+log+slower"], "");
    folder.run(&["run", "x"]).expect(2).says(said);
    folder.experiment(&["a:slow+log", "a"], "aa = true\n");
    folder
        .run(&["run", "x", "--plan"])
        .expect(0)
        .says("baseline   a:slow+log")
        .says("a:slow+log+aa, the baseline a second time");
    nothing_is_left(&folder);
}

const SIZED: &str = r#"
name = "sized"
summary = "as many bytes as asked for"
parameters = { size = 8 }
[[step]]
path = "/?size=${size}"
[step.answer]
length = "${size}"
"#;

/// Writes an experiment `x` of `fast` and `slow`, with two body sizes and two numbers of
/// connections.
fn sweeping(folder: &Folder, with: &str) {
    folder.system("fast", &[]);
    folder.system("slow", &["--cpu", "300us"]);
    folder.write("workloads/sized.toml", SIZED);
    folder.write(
        "experiments/x.toml",
        &format!(
            r#"
name = "x"
question = "Which?"
baseline = "fast"
contenders = ["slow"]
[design]
blocks = 2
spare_blocks = 0
warmup = "50ms"
measure = "100ms"
[[cell]]
name = "sized"
workload = "sized"
with = {with}
load = {{ kind = "closed", connections = [1, 4] }}
[[claim]]
text = "slow needs more CPU"
contender = "slow"
metric = "cpu_per_request"
expects = "higher"
cells = ["sized"]
"#
        ),
    );
}

#[test]
fn sweep_is_measured_in_one_start_and_drawn() {
    let folder = Folder::new();
    sweeping(&folder, "{ size = [7, 2048] }");
    let plan = "cell       sized-connections-4-size-2048: closed loop, 4 connections, workload sized, size 2048";
    folder.run(&["run", "x", "--plan"]).expect(0).says(plan);
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let ran = ran
        .says("sized, size 7 over connections, against fast")
        .says("sized, size 2048 over connections, against fast");
    assert!(
        !ran.out.contains("sized-connections-1-size-7 ("),
        "no table a cell where there are curves: {}",
        ran.out
    );
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 4);
    for trial in &record.trials {
        assert_eq!(trial.measurements.len(), 4, "one start serves all cells");
        for m in &trial.measurements {
            assert_eq!(
                m.generator.in_flight_max,
                if m.cell.contains("connections-4") { 4 } else { 1 }
            );
        }
    }
    for (size, is_long) in [("size-7", false), ("size-2048", true)] {
        let of_size: Vec<_> = record
            .trials
            .iter()
            .flat_map(|t| &t.measurements)
            .filter(|m| m.cell.ends_with(size))
            .collect();
        let (bytes, correct) = of_size
            .iter()
            .fold((0, 0), |sum, m| (sum.0 + m.received_bytes, sum.1 + m.counts.correct));
        assert!(
            of_size.len() == 8 && correct > 0 && (bytes > 2_048 * correct) == is_long,
            "{size}: {bytes} bytes of {correct}"
        );
    }
    let judgement = judge::judge(&record);
    let over: std::collections::BTreeSet<(&str, &str)> =
        judgement.sweeps.iter().map(|s| (s.of.as_str(), s.parameter.as_str())).collect();
    let along_connections = [("sized, size 2048", "connections"), ("sized, size 7", "connections")];
    let along_size = [("sized, 1 connection", "size"), ("sized, 4 connections", "size")];
    assert_eq!(over, along_connections.into_iter().chain(along_size).collect());
    assert!(judgement.sweeps.iter().all(|s| s.lines.len() == 2 && s.crossings.is_empty()));
    assert_eq!(judgement.claims[0].cells.len(), 4);
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    assert!(page.contains(r#""of":"sized, size 7""#));
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}

#[test]
fn unknown_sweep_parameter_is_refused_before_the_run() {
    let folder = Folder::new();
    sweeping(&folder, "{ sise = [7, 2048] }");
    let ran = folder.run(&["run", "x", "--plan"]).expect(2);
    ran.says("workloads/sized.toml")
        .says("a cell sets `sise`, which is not a parameter of this workload")
        .says("did you mean `size`?");
}

#[test]
fn crossed_factors_are_separated() {
    let folder = Folder::new();
    folder.system_with_variants(
        "a",
        &[("work", &["--cpu", "300us"]), ("log", &["--log"]), ("wait", &["--delay", "1ms"])],
    );
    let factors = "[[factor]]\nname = \"work\"\non = [\"work\"]\n[[factor]]\nname = \"lines\"\non = [\"log\"]\n";
    let write = |factors: &str| {
        folder.write(
            "experiments/x.toml",
            &format!(
                "name = \"x\"\nquestion = \"What costs what?\"\nbaseline = \"a\"\n{factors}[design]\nblocks = 3\nspare_blocks = 0\nwarmup = \"50ms\"\nmeasure = \"200ms\"\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\nload = {{ kind = \"closed\", connections = 2 }}\n"
            ),
        );
    };
    write("[[factor]]\nname = \"work\"\n");
    folder
        .run(&["run", "x"])
        .expect(2)
        .says("the factor `work` needs either `off` or `on`")
        .says("1 factors cannot be crossed");
    write(&factors.replace("[\"log\"]", "[\"lag\"]"));
    folder.run(&["run", "x"]).expect(2).says("has no variant `lag`").says("did you mean `log`?");
    write(&format!(
        "{factors}[[factor]]\nname = \"wait\"\non = [\"wait\"]\n[quick]\nfactors = [\"lines\", \"work\"]\n"
    ));
    let quick =
        folder.run(&["run", "x", "--plan", "--quick"]).expect(0).says("contender  a:work+log\n");
    assert_eq!(
        quick.says("the quick form leaves out the factor wait\n").err.matches("wait").count(),
        1,
        "nothing else is of it"
    );
    write(factors);
    folder
        .run(&["run", "x", "--plan", "--quick"])
        .expect(0)
        .says("x has no quick form: running all of it\n")
        .says("contender  a:work+log\n");
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let judgement = judge::judge(&folder.record("r"));
    assert!(judgement.verdicts.is_empty());
    let cpu = judgement.effects.iter().find(|e| e.metric == Metric::CpuPerRequest).unwrap();
    assert_eq!(
        cpu.used + cpu.excluded,
        12,
        "each start was used, or is known to be invalid: {cpu:#?}"
    );
    // `crates/judge/tests/judge/effects.rs` judges such figures, and `export/text.rs` checks the
    // text.
    let record = folder.record("r");
    for (with, without) in [("a:work", "a"), ("a:work+log", "a:log")] {
        let (with, without) =
            (least_cpu_us(&record, with, "closed"), least_cpu_us(&record, without, "closed"));
        assert!(with >= 300.0 && with > without + 150.0, "{with} and {without} us");
    }
    ran.says("What each adds to CPU per request in closed (");
    crate::by_schema::is_by_schema(&folder, "r");
    nothing_is_left(&folder);
}
