//! Finds the files that usually decide what a build produces.

use std::path::{Path, PathBuf};

/// Files that usually decide what a build produces.
const FILES: [&str; 24] = [
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "go.mod",
    "go.sum",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "tsconfig.json",
    "pyproject.toml",
    "requirements.txt",
    "uv.lock",
    "Gemfile",
    "Gemfile.lock",
    "mix.exs",
    "Makefile",
    "CMakeLists.txt",
];
/// Folders that usually hold sources.
const FOLDERS: [&str; 7] = ["src", "lib", "app", "cmd", "internal", "pkg", "crates"];
/// Extensions of source files.
const KINDS: [&str; 17] = [
    "go", "rs", "py", "js", "mjs", "cjs", "ts", "java", "kt", "scala", "cs", "csproj", "c", "cc",
    "cpp", "h", "rb",
];

/// Returns the usual sources that a folder has, as patterns for `inputs` of a build.
pub fn sources(folder: &Path) -> Vec<String> {
    let inside: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let has_kind = |kind: &str| {
        inside.iter().any(|path| path.is_file() && path.extension().is_some_and(|e| e == kind))
    };
    let has_any = |sub: &str| {
        std::fs::read_dir(folder.join(sub)).is_ok_and(|mut entries| entries.next().is_some())
    };
    let files =
        FILES.iter().filter(|file| folder.join(file).is_file()).map(|file| (*file).to_owned());
    let kinds = KINDS.iter().filter(|kind| has_kind(kind)).map(|kind| format!("*.{kind}"));
    let folders = FOLDERS.iter().filter(|sub| has_any(sub)).map(|sub| format!("{sub}/**"));
    files.chain(kinds).chain(folders).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_sources_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for (file, sub) in
            [("go.mod", ""), ("main.go", ""), ("a.go", "internal"), ("notes.txt", "docs")]
        {
            std::fs::create_dir_all(folder.path().join(sub)).unwrap();
            std::fs::write(folder.path().join(sub).join(file), "x").unwrap();
        }
        assert_eq!(sources(folder.path()), ["go.mod", "*.go", "internal/**"]);
    }
}
