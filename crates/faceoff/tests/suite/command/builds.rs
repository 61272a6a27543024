//! From a clean clone and empty caches to every system built.

use crate::machine::share;
use crate::needs::need_all;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A clone of the committed files, with its own caches.
struct CleanClone {
    faceoff: PathBuf,
    place: tempfile::TempDir,
}

impl CleanClone {
    fn new() -> CleanClone {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let target = Path::new(env!("CARGO_BIN_EXE_faceoff")).ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.env_remove("RUSTC_BOOTSTRAP");
        build
            .args(["build", "--release", "--locked", "-p", "faceoff", "--target-dir"])
            .arg(target)
            .current_dir(root);
        assert!(build.status().unwrap().success(), "the command that people have is built");
        let clone = CleanClone {
            faceoff: target.join("release/faceoff"),
            place: tempfile::tempdir().unwrap(),
        };
        let cloned = Command::new("git")
            .args(["clone", "-q"])
            .arg(root)
            .arg(clone.at("clone"))
            .status()
            .unwrap();
        assert!(cloned.success(), "the repository is cloned");
        // The registries' addresses are settings, not caches.
        let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cargo = home("CARGO_HOME").or_else(|| Some(home("HOME")?.join(".cargo"))).unwrap();
        std::fs::create_dir(clone.at("cargo")).unwrap();
        let _ = std::fs::copy(cargo.join("config.toml"), clone.at("cargo/config.toml"));
        clone
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn build(&self) -> (Output, Duration) {
        let with = |name: &str, more: String| {
            format!("{} {more}", std::env::var(name).unwrap_or_default())
        };
        let begun = Instant::now();
        let built = Command::new(&self.faceoff)
            .arg("build")
            .current_dir(self.at("clone"))
            .env("TMPDIR", self.place.path())
            .env("XDG_CACHE_HOME", self.at("cache"))
            .env("CARGO_HOME", self.at("cargo"))
            .env(
                "MAVEN_OPTS",
                with("MAVEN_OPTS", format!("-Dmaven.repo.local={}", self.at("maven").display())),
            )
            .env("GOMODCACHE", self.at("modules"))
            .env("GOCACHE", self.at("go"))
            // Go's module cache is read-only without this, and could not be removed.
            .env("GOFLAGS", with("GOFLAGS", "-modcacherw".to_owned()))
            .output()
            .unwrap();
        (built, begun.elapsed())
    }
}

/// The limit is for two CPUs; downloads add to it.
#[test]
#[ignore = "long, needs go and java and maven: builds every system from empty caches"]
fn all_systems_build_in_15_minutes_and_only_once() {
    let _machine = share();
    need_all(&["go", "java", "maven"]);
    let clone = CleanClone::new();
    let (first, took) = clone.build();
    let said = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success(), "{said}");
    assert!(said.lines().filter(|line| line.starts_with("built ")).count() >= 20, "{said}");
    assert!(took < Duration::from_secs(15 * 60), "{took:?}\n{said}");
    let (second, again) = clone.build();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        second.status.success() && !said.lines().any(|line| line.starts_with("built ")),
        "{said}"
    );
    assert!(again < Duration::from_secs(5), "{again:?}\n{said}");
    eprintln!("built within {took:?}, and looked at again within {again:?}");
}
