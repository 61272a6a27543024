//! Finds JDKs in JAVA_HOME, on the PATH, and in the usual folders.
//!
//! A system names the versions that it can be built or started with, and gets the newest of them.
//! Start with [`Jdk::find_all`].

use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A JDK: a home folder with `java` and `javac`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// Its home.
    pub home: PathBuf,
    /// Its feature version: 17, 21, 25.
    pub feature: u32,
    /// Its whole version.
    pub version: String,
}

impl Jdk {
    /// The `java` command.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// Every JDK found: JAVA_HOME, PATH, the usual folders.
    pub fn find_all() -> Vec<Jdk> {
        let mut homes: Vec<PathBuf> =
            std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        for folder in std::env::var_os("PATH").iter().flat_map(std::env::split_paths) {
            if let Ok(java) = folder.join("java").canonicalize()
                && let Some(home) = java.parent().and_then(Path::parent)
            {
                homes.push(home.to_owned());
            }
        }
        let user = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let usual = [
            "/usr/lib/jvm",
            "/usr/java",
            "/opt",
            "/opt/java",
            "/usr/local",
            "/Library/Java/JavaVirtualMachines",
        ]
        .map(PathBuf::from);
        let of_user = [
            ".sdkman/candidates/java",
            ".jdks",
            ".asdf/installs/java",
            ".local/share/mise/installs/java",
        ]
        .map(|f| user.join(f));
        for folder in usual.iter().chain(&of_user) {
            let entries =
                std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
            homes.extend(entries.flat_map(|home| [home.join("Contents/Home"), home]));
        }
        let mut found: Vec<Jdk> = Vec::new();
        for home in homes.iter().filter_map(|h| h.canonicalize().ok()) {
            if !found.iter().any(|j| j.home == home) {
                found.extend(Jdk::read_home(&home));
            }
        }
        found
    }

    /// The newest of these JDKs within a range of versions.
    pub fn newest(all: &[Jdk], versions: impl RangeBounds<u32>) -> Option<&Jdk> {
        all.iter().filter(|j| versions.contains(&j.feature)).max_by_key(|j| j.feature)
    }

    fn read_home(home: &Path) -> Option<Jdk> {
        if !home.join("bin/javac").is_file() || !home.join("bin/java").is_file() {
            return None;
        }
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        let written = release
            .lines()
            .find_map(|l| l.strip_prefix("JAVA_VERSION="))
            .map(|v| v.trim_matches('"').to_owned());
        let version = written.or_else(|| {
            let output = Command::new(home.join("bin/java")).arg("-version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.split('"').nth(1).map(str::to_owned)
        })?;
        Some(Jdk { home: home.to_owned(), feature: feature_of(&version)?, version })
    }
}

/// The feature version: 8 of `1.8.0_402`, 17 of `17.0.15`, 25 of `25-ea`.
fn feature_of(version: &str) -> Option<u32> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    match parts.next()?.parse().ok()? {
        1 => parts.next()?.parse().ok(),
        feature => Some(feature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_version_is_read_from_old_and_new_forms() {
        let found = ["1.8.0_402", "17.0.15", "25-ea", "21"].map(feature_of);
        assert_eq!(found, [Some(8), Some(17), Some(25), Some(21)]);
        assert_eq!(feature_of("x"), None);
    }

    #[test]
    fn newest_jdk_in_the_range_is_chosen() {
        let jdk = |feature| Jdk {
            home: format!("/j{feature}").into(),
            feature,
            version: feature.to_string(),
        };
        let all = [jdk(17), jdk(25), jdk(21)];
        assert_eq!(Jdk::newest(&all, 17..).unwrap().feature, 25);
        assert_eq!(Jdk::newest(&all, 17..=17).unwrap().feature, 17);
        assert!(Jdk::newest(&all, 26..).is_none());
    }
}
