//! Variants together, and experiments that sweep.

use crate::folder::{Folder, nothing_is_left};

#[test]
fn variants_combine_and_those_that_contradict_each_other_do_not() {
    let folder = Folder::new();
    folder.system_with_variants("a", &[("slow", &["--delay", "30ms"]), ("slower", &["--delay", "40ms"]), ("log", &["--log"])]);
    let ran = folder.run(&["check", "a", "a:log+slow", "--format", "json"]).expect(0);
    let checked: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(checked[1]["system"], "a:log+slow");
    assert!(checked[1]["ready_after_ns"].as_u64().unwrap() >= 30_000_000, "{checked}");
    let said = "the variants `slow` and `slower` of `a` both set --delay: to `30ms` and to `40ms`";
    folder.run(&["check", "a:slow+slower"]).expect(2).says(said).says("hint: keep one of the two");
    folder.experiment(&["a:slow+log", "a:slow+log+slower"], "");
    folder.run(&["run", "x"]).expect(2).says(said);
    folder.experiment(&["a:slow+log", "a"], "aa = true\n");
    folder.run(&["run", "x", "--plan"]).expect(0).says("baseline   a:slow+log").says("a:slow+log+aa, the baseline again");
    nothing_is_left(&folder);
}
