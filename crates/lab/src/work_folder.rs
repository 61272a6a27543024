//! The folder of one start: rendered files, logs, and results of other generators.

use std::path::Path;

/// Removes everything but logs from the folder of a start, and empty logs of a clean trial. A log
/// of a failed trial always stays.
pub(crate) fn tidy(work: &Path, is_clean: bool) {
    let is_log = |path: &Path| path.extension().is_some_and(|extension| extension == "log");
    for entry in std::fs::read_dir(work).into_iter().flatten().flatten() {
        let path = entry.path();
        let keep = is_log(&path) && (!is_clean || entry.metadata().is_ok_and(|m| m.len() > 0));
        if !keep {
            let _ = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
        }
    }
    let _ = std::fs::remove_dir(work);
}
