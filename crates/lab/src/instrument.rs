//! Keeps the last self-test next to the build stamps, so that later records can refer to it.

use record::Machine;
use record::selftest::{FILE_NAME, SCHEMA, SelfTest};
use std::io;
use std::path::{Path, PathBuf};

/// Older self-tests are ignored, as kernels and neighbouring machines change.
const OLDEST_DAYS: f64 = 30.0;

/// Reads the last self-test from a folder, if it was made on this machine in the last 30 days.
pub fn read_recent(cache: &Path, machine: &Machine) -> Option<SelfTest> {
    let text = std::fs::read(cache.join(FILE_NAME)).ok()?;
    let found: SelfTest = serde_json::from_slice(&text).ok()?;
    let made: jiff::Timestamp = found.at.parse().ok()?;
    let days = jiff::Timestamp::now().duration_since(made).as_secs_f64() / 86_400.0;
    (found.schema == SCHEMA && found.is_of(machine) && (0.0..=OLDEST_DAYS).contains(&days))
        .then_some(found)
}

/// Replaces the last self-test by this one, and returns its file. A crash leaves one of them whole.
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
    use record::selftest::TruthOutcome;
    use spec::experiment::CpuSets;
    use std::time::Duration;

    fn made_hours_ago(hours: i64) -> SelfTest {
        SelfTest {
            schema: SCHEMA.into(),
            faceoff: "0".into(),
            at: (jiff::Timestamp::now() - hours.hours()).to_string(),
            machine: Machine {
                cpu: "c".into(),
                cores: 2,
                kernel: "k".into(),
                ..Machine::default()
            },
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
    fn only_a_recent_self_test_of_this_machine_is_read() {
        let cache = tempfile::tempdir().unwrap();
        let machine = made_hours_ago(0).machine;
        assert_eq!(read_recent(cache.path(), &machine), None);
        let recent = made_hours_ago(29 * 24);
        keep(cache.path(), &recent).unwrap();
        assert_eq!(read_recent(cache.path(), &machine), Some(recent.clone()));
        assert_eq!(
            read_recent(cache.path(), &Machine { kernel: "other".into(), ..machine.clone() }),
            None
        );
        assert_eq!(
            read_recent(cache.path(), &Machine { memory_bytes: 1, ..machine.clone() }),
            Some(recent)
        );
        for hours in [31 * 24, -2] {
            keep(cache.path(), &made_hours_ago(hours)).unwrap();
            assert_eq!(read_recent(cache.path(), &machine), None, "{hours} h ago");
        }
        std::fs::write(cache.path().join(FILE_NAME), "{\"schema\":").unwrap();
        assert_eq!(read_recent(cache.path(), &machine), None);
    }
}
