//! Removes secrets from logs and rendered files.
//!
//! Start with `Scrub`, which does so when it is dropped.

use spec::secret;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Removes secrets from a folder when it is dropped, after its writers have ended.
pub(crate) struct Scrub(pub PathBuf);

impl Drop for Scrub {
    fn drop(&mut self) {
        folder(&self.0);
    }
}

/// Removes secrets from all files of a folder. No process may write to it any more.
pub fn folder(path: &Path) {
    if !secret::is_any() {
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folder(&entry.path()),
            Ok(kind) if kind.is_file() => file(&entry.path()),
            _ => {}
        }
    }
}

/// Removes secrets from a file. If the file cannot be rewritten, it is deleted, as no log is better
/// than a secret.
pub(crate) fn file(path: &Path) {
    if secret::is_any() && (rewrite(path).is_err()) {
        let _ = std::fs::remove_file(path);
    }
}

/// Rewrites a file line by line into a new file that replaces it, unless it has no secrets.
fn rewrite(path: &Path) -> std::io::Result<()> {
    let Ok(file) = std::fs::File::open(path) else { return Ok(()) };
    let permissions = file.metadata()?.permissions();
    let mut name = path.as_os_str().to_owned();
    name.push(".cleared");
    let new = PathBuf::from(name);
    let (mut lines, mut cleared, mut line) = (BufReader::new(file), None, Vec::new());
    let mut copied = 0;
    while lines.read_until(b'\n', &mut line)? > 0 {
        let without = secret::hidden_bytes(&line);
        if without.is_some() && cleared.is_none() {
            let mut out = BufWriter::new(std::fs::File::create(&new)?);
            std::io::copy(&mut std::io::Read::take(std::fs::File::open(path)?, copied), &mut out)?;
            cleared = Some(out);
        }
        if let Some(out) = &mut cleared {
            out.write_all(without.as_deref().unwrap_or(&line))?;
        }
        copied += line.len() as u64;
        line.clear();
    }
    let Some(mut out) = cleared else { return Ok(()) };
    out.flush()?;
    std::fs::set_permissions(&new, permissions)?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_removed_from_a_folder_on_drop() {
        secret::learn("scrub-test-0123", "{env.T}");
        let place = std::env::temp_dir().join(format!("faceoff-scrub-{}", std::process::id()));
        std::fs::create_dir_all(place.join("inner")).unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(place.join(name), text).unwrap();
        let read = |name: &str| std::fs::read(place.join(name)).unwrap();
        write("inner/log", b"one\n\xff scrub-test-0123 two scrub-test-0123\nthree");
        write("clean", b"scrub-test-012\n3");
        drop(Scrub(place.clone()));
        assert_eq!(read("inner/log"), b"one\n\xff {env.T} two {env.T}\nthree");
        assert_eq!(read("clean"), b"scrub-test-012\n3");
        assert_eq!(
            std::fs::read_dir(place.join("inner")).unwrap().count(),
            1,
            "no other file remains"
        );
        std::fs::remove_dir_all(&place).unwrap();
    }
}
