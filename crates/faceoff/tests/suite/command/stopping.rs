//! Interim analyses, stopping, and the baseline compared with itself.

use crate::folder::{Folder, least_cpu_us, nothing_is_left};
use record::Event;
use record::judgement::{ClaimOutcome, Outcome};

const CLAIM: &str = "[[claim]]\ntext = \"half as much CPU again\"\ncontender = \"more\"\nmetric = \"cpu_per_request\"\nexpects = \"higher\"\ncells = [\"open\"]\n";

#[test]
fn run_ends_at_first_look_that_settles_claim() {
    let folder = Folder::new();
    folder.system("base", &["--cpu", "600us"]);
    folder.system("more", &["--cpu", "900us"]);
    folder.experiment(&["base", "more"], CLAIM);
    let ran = folder
        .run(&["run", "x", "--blocks", "12", "--out", "r"])
        .says("after 6, 9 and 12 blocks")
        .says("at most about");
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    assert_eq!(judgement.looks.iter().map(|l| l.blocks).collect::<Vec<_>>(), [6, 9, 12]);
    let (base, more) =
        (least_cpu_us(&record, "base", "open"), least_cpu_us(&record, "more", "open"));
    assert!(base >= 600.0 && more >= 900.0, "{base} and {more} us");
    // It ends at the first look that settles the claim, which depends on how busy the machine is.
    // That such figures settle it at the first look is tested in
    // `crates/judge/tests/judge/replayed.rs`.
    let settles = |blocks: u32| {
        let mut until_then = record.clone();
        until_then.trials.retain(|trial| trial.block <= blocks);
        judge::judge(&until_then).claims[0].outcome != ClaimOutcome::Undecided
    };
    let settled_after =
        [6, 9].into_iter().find(|blocks| record.complete_blocks() >= *blocks && settles(*blocks));
    assert_eq!(record.ended() == Some(Event::Settled), settled_after.is_some(), "{}", ran.out);
    if let Some(blocks) = settled_after {
        assert_eq!(record.complete_blocks(), blocks, "{}", ran.out);
        assert_eq!(record.trials.len(), 2 * record.complete_blocks() as usize);
        assert!(record.missing().is_empty() && !judgement.incomplete);
        let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
        assert!(
            page.contains("a planned interim analysis found every claim settled")
                && !page.contains("trials are missing")
        );
        let resumed = folder.run(&["run", "--resume", "r"]).says("every claim is settled");
        assert_eq!(
            (resumed.code, folder.record("r").trials.len()),
            (ran.code, record.trials.len())
        );
    } else {
        assert_eq!(record.trials.len(), 24, "{}", ran.err);
    }
    nothing_is_left(&folder);
}

#[test]
fn baseline_takes_part_twice_with_aa() {
    let folder = Folder::new();
    folder.system("base", &["--cpu", "300us"]);
    folder.experiment(&["base"], "aa = true\n");
    folder.run(&["run", "x", "--plan"]).expect(0).says("base:aa, the baseline a second time");
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let record = folder.record("r");
    assert_eq!(record.trials.iter().filter(|t| t.contender.is_twin()).count(), 6);
    let judgement = judge::judge(&record);
    let differs = judgement.faults.iter().any(|f| f.kind == "aa-differs");
    assert!(
        judgement
            .verdicts
            .iter()
            .all(|v| matches!(v.outcome, Outcome::Equivalent | Outcome::Undecided))
    );
    assert_eq!(judgement.unsound, ran.code == 4);
    assert!(judgement.unsound || !differs);
    assert!(
        judgement.noise.iter().any(|n| n.cell.as_deref() == Some("open") && n.log_deviation > 0.0),
        "{:?}",
        judgement.noise
    );
    nothing_is_left(&folder);
}

#[test]
fn invalid_looks_and_twins_are_refused() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let with_looks = |looks: &str| {
        folder.experiment(&["a", "b"], CLAIM.replace("more", "b").as_str());
        let path = folder.path().join("experiments/x.toml");
        let text = std::fs::read_to_string(&path)
            .unwrap()
            .replace("blocks = 6\n", &format!("blocks = 12\nlooks = {looks}\n"));
        std::fs::write(path, text).unwrap();
        folder.run(&["run", "x", "--plan"])
    };
    with_looks("[8, 10]").expect(0).says("after 8, 10 and 12 blocks");
    with_looks("[]").expect(0).says("interim analyses: one, after the last block");
    with_looks("[9, 6]").expect(2).says("looks must rise");
    with_looks("[6, 13]")
        .expect(2)
        .says("an interim analysis after 13 blocks comes after the last of 12");
    with_looks("[3, 6]").expect(2).says("an interim analysis after 3 blocks can settle nothing");
    with_looks("6").expect(2).says("a list of whole numbers");
    folder.experiment(&["a", "b", "a:aa"], "");
    folder.run(&["run", "x", "--plan"]).expect(2).says("write `aa = true`");
    folder.experiment(&["a", "b"], "aa = \"yes\"\n");
    folder.run(&["run", "x", "--plan"]).expect(2).says("true or false");
    let path = folder.path().join("systems/b/system.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}[variants.aa]\nargs = []\n")).unwrap();
    folder.experiment(&["a", "b"], "");
    folder.run(&["run", "x", "--plan"]).expect(2).says("give this variant another name");
}
