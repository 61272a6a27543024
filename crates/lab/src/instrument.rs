//! Keeps the last self-test beside the build stamps, for the records that follow.

use model::record::Machine;
use model::selftest::{FILE_NAME, SCHEMA, SelfTest};
use std::io;
use std::path::{Path, PathBuf};

/// What was found longer ago says little: kernels and neighbours change.
const OLDEST_DAYS: f64 = 30.0;

/// The last self-test that is kept in a folder, if it was made on this machine in the last 30 days.
pub fn read(cache: &Path, machine: &Machine) -> Option<SelfTest> {
    let text = std::fs::read(cache.join(FILE_NAME)).ok()?;
    let found: SelfTest = serde_json::from_slice(&text).ok()?;
    let made: jiff::Timestamp = found.at.parse().ok()?;
    let days = jiff::Timestamp::now().duration_since(made).as_secs_f64() / 86_400.0;
    (found.schema == SCHEMA && found.is_of(machine) && (0.0..=OLDEST_DAYS).contains(&days)).then_some(found)
}

/// Keeps a self-test in place of the last; returns its file. A crash leaves one or the other.
///
/// # Errors
/// A folder that cannot be written.
pub fn keep(cache: &Path, found: &SelfTest) -> io::Result<PathBuf> {
    std::fs::create_dir_all(cache)?;
    let (new, kept) = (cache.join(format!("{FILE_NAME}.new")), cache.join(FILE_NAME));
    std::fs::write(&new, serde_json::to_string_pretty(found)? + "\n")?;
    std::fs::rename(&new, &kept)?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan;
    use model::experiment::CpuSets;
    use model::selftest::TruthOutcome;
    use std::time::Duration;

    fn made_hours_ago(hours: i64) -> SelfTest {
        SelfTest {
            schema: SCHEMA.into(),
            faceoff: "0".into(),
            at: (jiff::Timestamp::now() - hours.hours()).to_string(),
            machine: Machine { cpu: "c".into(), cores: 2, kernel: "k".into(), ..Machine::default() },
            cpus: CpuSets { contender: vec![1], generator: vec![0], upstream: vec![0] },
            full: false,
            took: Duration::from_secs(1),
            confidence: 0.999,
            outcome: TruthOutcome::Holds,
            truths: vec![],
            ceiling: None,
        }
    }

    #[test]
    fn a_self_test_is_taken_from_the_same_machine_and_of_late() {
        let cache = tempfile::tempdir().unwrap();
        let machine = made_hours_ago(0).machine;
        assert_eq!(read(cache.path(), &machine), None);
        let recent = made_hours_ago(29 * 24);
        keep(cache.path(), &recent).unwrap();
        assert_eq!(read(cache.path(), &machine), Some(recent.clone()));
        assert_eq!(read(cache.path(), &Machine { kernel: "other".into(), ..machine.clone() }), None);
        assert_eq!(read(cache.path(), &Machine { memory_bytes: 1, ..machine.clone() }), Some(recent));
        for hours in [31 * 24, -2] {
            keep(cache.path(), &made_hours_ago(hours)).unwrap();
            assert_eq!(read(cache.path(), &machine), None, "{hours} h ago");
        }
        std::fs::write(cache.path().join(FILE_NAME), "{\"schema\":").unwrap();
        assert_eq!(read(cache.path(), &machine), None);
    }
}
