//! Checks that comparing a revision with itself raises no alarm.

use crate::folder::Folder;
use crate::machine::alone;
use std::path::Path;

const RUNS: u32 = 30;
/// Minimum number of runs that could be judged.
const SOUND_FEWEST: u32 = 20;

/// Finished runs are kept next to the build, so that the test continues after an interrupt.
#[test]
#[ignore = "long: an hour"]
fn thirty_self_comparisons_raise_at_most_one_alarm() {
    let _alone = alone();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("false-alarms");
    std::fs::create_dir_all(&kept).unwrap();
    let folder = Folder::repository("300us");
    let usual = std::fs::read_to_string(folder.path().join("experiments/x.toml")).unwrap();
    let longer = usual
        .replace("blocks = 6", "blocks = 12")
        .replace("warmup = \"50ms\"", "warmup = \"1s\"")
        .replace("measure = \"150ms\"", "measure = \"2s\"");
    assert!(
        longer.contains("blocks = 12")
            && longer.contains("warmup = \"1s\"")
            && longer.contains("measure = \"2s\""),
        "{longer}"
    );
    folder.write("experiments/x.toml", &longer);
    let (mut alarms, mut sound) = (Vec::new(), 0);
    for seed in 1..=RUNS {
        let (seed, ended) = (seed.to_string(), kept.join(format!("{seed}.code")));
        if !ended.exists() {
            let record = kept.join(&seed);
            let _ = std::fs::remove_dir_all(&record);
            let ran = folder.run(&[
                "run",
                "x",
                "--against",
                "HEAD",
                "--seed",
                &seed,
                "--out",
                record.to_str().unwrap(),
            ]);
            assert!([0, 3, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
            std::fs::write(&ended, ran.code.to_string()).unwrap();
        }
        match std::fs::read_to_string(&ended).unwrap().as_str() {
            "0" => sound += 1,
            "3" => {
                sound += 1;
                alarms.push(seed);
            }
            _ => {}
        }
        eprintln!(
            "{} of {RUNS} runs: {sound} sound, alarms in {alarms:?}",
            ended.file_stem().unwrap().to_string_lossy()
        );
    }
    assert!(alarms.len() <= 1, "alarms in {alarms:?}: their records are in {}", kept.display());
    assert!(sound >= SOUND_FEWEST, "only {sound} of {RUNS} runs were sound");
}
