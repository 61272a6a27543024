//! The files of a layer, and its archive.
//!
//! The same files give the same bytes, at any time and for any user. Start with [`Tree`].

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// A file, folder or link in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder {
        mode: u32,
    },
    /// A file of this machine.
    File {
        from: PathBuf,
        is_program: bool,
    },
    Text(String),
    Link(PathBuf),
}

/// Files and folders by their path, without the leading `/`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
}

impl Tree {
    fn put(&mut self, path: &str, node: Node) {
        for (at, _) in path.match_indices('/') {
            self.nodes.entry(path[..at].to_owned()).or_insert(Node::Folder { mode: 0o755 });
        }
        self.nodes.insert(path.to_owned(), node);
    }

    /// Adds an empty folder.
    pub fn folder(&mut self, path: &str, mode: u32) {
        self.put(path, Node::Folder { mode });
    }

    /// Adds a file with this text.
    pub fn text(&mut self, path: &str, text: impl Into<String>) {
        self.put(path, Node::Text(text.into()));
    }

    /// Adds a file of this machine, or a folder with its content. A link that leads out of the
    /// folder is replaced by its target.
    ///
    /// # Errors
    /// A path that cannot be read, or is no file, folder or link.
    pub fn add(&mut self, from: &Path, to: &str) -> Result<(), String> {
        let real = from.canonicalize().map_err(|e| unreadable(from, &e))?;
        self.add_below(&real, &real, to)
    }

    fn add_below(&mut self, from: &Path, top: &Path, to: &str) -> Result<(), String> {
        let state = fs::symlink_metadata(from).map_err(|e| unreadable(from, &e))?;
        if state.is_symlink() {
            let target = fs::read_link(from).map_err(|e| unreadable(from, &e))?;
            let leads_to = normal(&from.parent().unwrap_or(top).join(&target));
            if target.is_relative() && leads_to.starts_with(top) && from != top {
                self.put(to, Node::Link(target));
                return Ok(());
            }
            let real = from.canonicalize().map_err(|e| unreadable(from, &e))?;
            if from.starts_with(&real) {
                return Err(format!(
                    "the link {} leads to a folder that contains it",
                    from.display()
                ));
            }
            return self.add_below(&real, &real, to);
        }
        if state.is_dir() {
            self.put(to, Node::Folder { mode: 0o755 });
            let entries = fs::read_dir(from).map_err(|e| unreadable(from, &e))?;
            for entry in entries {
                let entry = entry.map_err(|e| unreadable(from, &e))?;
                let name = entry
                    .file_name()
                    .into_string()
                    .map_err(|name| format!("the name {name:?} is not UTF-8"))?;
                self.add_below(&entry.path(), top, &format!("{to}/{name}"))?;
            }
            return Ok(());
        }
        if !state.is_file() {
            return Err(format!("{} is neither file nor folder", from.display()));
        }
        let is_program = state.permissions().mode() & 0o111 != 0;
        self.put(to, Node::File { from: from.to_owned(), is_program });
        Ok(())
    }

    /// Its files of this machine, with their paths in the layer.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.nodes.iter().filter_map(|(path, node)| match node {
            Node::File { from, .. } => Some((path.as_str(), from.as_path())),
            _ => None,
        })
    }

    /// Whether the tree is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Writes the archive: sorted, without owner and time, with mode 755 for programs and 644 for
    /// other files.
    ///
    /// # Errors
    /// A read or write error; a file that changed meanwhile.
    pub fn write_archive(&self, out: impl Write) -> io::Result<()> {
        let mut archive = Builder::new(out);
        for (path, node) in &self.nodes {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            match node {
                Node::Folder { mode } => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(*mode);
                    archive.append_data(&mut header, format!("{path}/"), io::empty())?;
                }
                Node::Link(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    archive.append_link(&mut header, path, target)?;
                }
                Node::Text(text) => {
                    header.set_mode(0o644);
                    header.set_size(text.len() as u64);
                    archive.append_data(&mut header, path, text.as_bytes())?;
                }
                Node::File { from, is_program } => {
                    let file = fs::File::open(from)?;
                    let size = file.metadata()?.len();
                    header.set_mode(if *is_program { 0o755 } else { 0o644 });
                    header.set_size(size);
                    let mut bytes = Counted { of: file.take(size), count: 0 };
                    archive.append_data(&mut header, path, &mut bytes)?;
                    if bytes.count != size {
                        return Err(io::Error::other(format!(
                            "{} changed while it was read",
                            from.display()
                        )));
                    }
                }
            }
        }
        archive.into_inner()?.flush()
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    of: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.of.read(buffer)?;
        self.count += length as u64;
        Ok(length)
    }
}

/// A path without `.` and `..`. Links are not resolved.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn archive(tree: &Tree) -> Vec<u8> {
        let mut bytes = Vec::new();
        tree.write_archive(&mut bytes).unwrap();
        bytes
    }

    fn made(order: &[&str]) -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir(&top).unwrap();
        for name in order {
            fs::write(top.join(name), *name).unwrap();
        }
        fs::set_permissions(top.join("b"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("b", top.join("inside")).unwrap();
        fs::write(folder.path().join("outside"), "outside").unwrap();
        symlink("../outside", top.join("z")).unwrap();
        let mut tree = Tree::default();
        tree.add(&top, "app/top").unwrap();
        tree.folder("tmp", 0o1777);
        tree.text("etc/passwd", "root");
        let bytes = archive(&tree);
        (folder, bytes)
    }

    #[test]
    fn same_files_give_the_same_archive() {
        let long = "n".repeat(150);
        let (_a, first) = made(&["a", "b", &long]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (_b, second) = made(&[&long, "b", "a"]);
        assert!(first == second);
        let (_c, other) = made(&["a", "b"]);
        assert!(first != other);
        let mut seen = BTreeMap::new();
        for entry in tar::Archive::new(&first[..]).entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            let (mode, kind) = (entry.header().mode().unwrap(), entry.header().entry_type());
            assert_eq!(
                (
                    entry.header().mtime().unwrap(),
                    entry.header().uid().unwrap(),
                    entry.header().gid().unwrap()
                ),
                (0, 0, 0)
            );
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            seen.insert(path, (mode, kind, text));
        }
        let of =
            |path: &str| seen.get(path).cloned().unwrap_or_else(|| panic!("{path} of {seen:?}"));
        assert_eq!(of("app/top/a"), (0o644, EntryType::Regular, "a".into()));
        assert_eq!(of("app/top/b"), (0o755, EntryType::Regular, "b".into()));
        assert_eq!(
            of("app/top/z"),
            (0o644, EntryType::Regular, "outside".into()),
            "what leads out is copied"
        );
        assert_eq!(of("app/top/inside").1, EntryType::Symlink);
        assert_eq!(of(&format!("app/top/{long}")).2, long);
        assert_eq!(of("tmp/").0, 0o1777);
        assert!(
            seen.contains_key("app/") && seen.contains_key("app/top/") && seen.contains_key("etc/")
        );
    }

    #[test]
    fn file_that_cannot_be_in_a_layer_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut tree = Tree::default();
        assert!(tree.add(&top.join("nothing"), "x").unwrap_err().contains("cannot be read"));
        symlink(folder.path(), top.join("up")).unwrap();
        assert!(tree.add(&top, "x").unwrap_err().contains("leads to a folder that contains it"));
        fs::remove_file(top.join("up")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap();
        assert!(tree.add(&top, "x").unwrap_err().contains("neither file nor folder"));
    }
}
