//! What an image holds, derived from a system's manifest: what its build makes, what its start names, and what that needs to run.
//!
//! Files of the system keep their places to each other, below `/app`, so that its commands mean in the image what they mean here.

use super::elf::{self, Kind};
use super::tree::{Tree, normal};
use super::{JAVA, runtime};
use crate::database::Means;
use model::record::Failure;
use model::system::Contender;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A layer with what it is called.
pub(super) type Named = (String, Tree);

/// What was found to go in.
#[derive(Debug)]
pub(super) struct Contents {
    /// The lowest, which changes least, first.
    pub layers: Vec<Named>,
    /// Where commands run in it.
    pub folder: String,
    /// Folders with programs or libraries at places where nobody looks of itself.
    pub programs: BTreeSet<String>,
    pub libraries: BTreeSet<String>,
    /// Whether a Java runtime is in it.
    pub has_java: bool,
    pub said: Vec<String>,
}

/// Libraries of a JVM that need a screen or a sound card.
const HEADFUL: [&str; 4] = ["libawt_xawt.so", "libjawt.so", "libjsound.so", "libsplashscreen.so"];

/// What every image has: a folder for temporary files, one for what is rendered, and names for the users 0 and 65534.
fn base() -> Tree {
    let mut tree = Tree::default();
    tree.folder("tmp", 0o1777);
    tree.folder("run/faceoff", 0o1777);
    tree.text("etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n");
    tree.text("etc/group", "root:x:0:\nnogroup:x:65534:\nnobody:x:65534:\n");
    tree
}

/// The program that a start command begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    Java,
    /// A file of the system, counted from where its commands run.
    Own(PathBuf),
    /// One of this machine, at the same place in the image.
    OfMachine(PathBuf),
}

fn program(contender: &Contender) -> Result<Program, String> {
    let word = contender.system.start.run.first().map(String::as_str).unwrap_or_default();
    if word == "{java}" {
        return Ok(Program::Java);
    }
    if word.is_empty() || word.contains('{') {
        return Err(format!("its program cannot be told from `{word}`"));
    }
    let path = Path::new(word);
    if path.is_absolute() {
        return Ok(Program::OfMachine(path.to_owned()));
    }
    if word.contains('/') {
        return Ok(Program::Own(path.to_owned()));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(word)).find(|file| file.is_absolute() && file.is_file());
    found.map(Program::OfMachine).ok_or_else(|| format!("its program `{word}` is not on the PATH"))
}

/// Derives it.
pub(super) fn of(contender: &Contender, cache: &Path, means: Means<'_>) -> Result<Contents, Failure> {
    let failed = |cause: String| super::failed(cause, vec![]);
    let program = program(contender).map_err(failed)?;
    if let Some(word) = fits_nowhere_else(contender) {
        let cause = format!("`{word}` fits only the runtime and the files that it was made beside; a Dockerfile can make it in the image");
        return Err(failed(cause));
    }
    let system = &contender.system;
    let files = own_files(contender, &program).map_err(failed)?;
    let base_folder = shared(&system.runs_in, &files);
    let place = |path: &Path| place_of(path, &base_folder);
    let mut own = Tree::default();
    let folder = place(&system.runs_in).map_err(failed)?;
    own.folder(&folder, 0o755);
    for file in &files {
        own.add(file, &place(file).map_err(failed)?).map_err(failed)?;
    }
    let (mut machine, mut java, mut said) = (Tree::default(), Tree::default(), Vec::new());
    let (mut programs, mut libraries) = (BTreeSet::new(), BTreeSet::new());
    let started = match &program {
        Program::Java => {
            let jdk = means.tools.jvm(system).ok_or_else(|| failed("no JDK that fits was found".into()))?;
            let linked = runtime::of(jdk, &system.image.modules, cache, means)?;
            java.add(&linked, JAVA.trim_start_matches('/')).map_err(failed)?;
            said.push(format!("a Java runtime linked of JDK {}", jdk.version));
            linked.join("bin/java")
        }
        Program::Own(word) => system.runs_in.join(word),
        Program::OfMachine(path) => {
            let folder = path.parent().unwrap_or(path).to_string_lossy().into_owned();
            if !["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"].contains(&folder.as_str()) {
                programs.insert(folder);
            }
            machine.add(path, &in_root(path)).map_err(failed)?;
            said.push(format!("{} of this machine", path.display()));
            path.clone()
        }
    };
    let started = started.canonicalize().map_err(|e| failed(format!("{} cannot be read: {e}", started.display())))?;
    let loader = match elf::kind(&started) {
        Kind::Other => {
            let cause = format!("{} is no program of 64 bits that an image could start alone; write a Dockerfile", started.display());
            return Err(failed(cause));
        }
        Kind::Alone => None,
        Kind::LoadedBy(loader) => Some(loader),
    };
    let mut of_c = Tree::default();
    if let Some(loader) = loader.or_else(|| own.files().find_map(|(_, file)| loader_of(file))) {
        let needed = libraries_of(&loader, &started, [&machine, &java, &own]).map_err(failed)?;
        for library in &needed.found {
            of_c.add(library, &in_root(library)).map_err(failed)?;
            let folder = library.parent().unwrap_or(library);
            if !["/lib", "/lib64", "/usr/lib", "/usr/lib64"].iter().any(|usual| folder.starts_with(usual)) {
                libraries.insert(folder.to_string_lossy().into_owned());
            }
        }
        let names: Vec<&str> = needed.found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        said.push(format!("C libraries of this machine ({}): {}", crate::machine::describe().os, names.join(", ")));
        if !needed.missing.is_empty() {
            said.push(format!("not on this machine, and so not in the image: {}", needed.missing.join(", ")));
        }
    }
    let layers = [
        ("a folder for temporary files, names of users".to_owned(), base()),
        ("C libraries".to_owned(), of_c),
        (started.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()), machine),
        ("a Java runtime".to_owned(), java),
        (format!("files of {}", system.name), own),
    ];
    let layers = layers.into_iter().filter(|(_, tree)| !tree.is_empty()).collect();
    Ok(Contents { layers, folder: format!("/{folder}"), programs, libraries, has_java: program == Program::Java, said })
}

/// An argument that names a cache of classes: it holds when the files were written that it was made of, and images have no times.
fn fits_nowhere_else(contender: &Contender) -> Option<&str> {
    let words = contender.system.start.run.iter().chain(&contender.jvm).chain(&contender.args);
    words.map(String::as_str).find(|word| word.starts_with("-XX:AOTCache=") || word.starts_with("-XX:SharedArchiveFile="))
}

/// The files of the system that go in: what its build makes, what its start names, and what its `[image]` adds.
fn own_files(contender: &Contender, program: &Program) -> Result<BTreeSet<PathBuf>, String> {
    let system = &contender.system;
    let start = &system.start;
    let mut files = BTreeSet::new();
    if let Program::Own(word) = program {
        files.insert(normal(&system.runs_in.join(word)));
    }
    for output in system.build.iter().flat_map(|build| &build.outputs) {
        files.insert(normal(&system.runs_in.join(output)));
    }
    let words = start.run.iter().skip(1).chain(start.env.values()).chain(&contender.args).chain(&contender.jvm);
    // `-Dkey=place`, `one:another`, `@place`, `libs/*`
    let pieces = words.flat_map(|word| word.split(['=', ':', ',', ';', ' ', '@']));
    for piece in pieces.map(|piece| piece.trim_end_matches("/*")).filter(|piece| !piece.is_empty() && !piece.contains('{')) {
        let path = normal(&system.runs_in.join(piece));
        // A folder that all lies in is not meant.
        if Path::new(piece).is_relative() && path.exists() && !system.runs_in.starts_with(&path) {
            files.insert(path);
        }
    }
    for pattern in &system.image.files {
        files.extend(crate::build::matching(pattern, &system.runs_in)?);
    }
    Ok(files)
}

/// The nearest folder above where commands run that holds all files.
fn shared<'p>(runs_in: &'p Path, files: &BTreeSet<PathBuf>) -> PathBuf {
    let holds_all = |folder: &&'p Path| files.iter().all(|file| file.starts_with(folder));
    runs_in.ancestors().find(holds_all).unwrap_or(Path::new("/")).to_owned()
}

fn place_of(path: &Path, base: &Path) -> Result<String, String> {
    let below = path.strip_prefix(base).unwrap_or(path);
    let below = below.to_str().ok_or_else(|| format!("the name {} is not UTF-8", below.display()))?;
    Ok(if below.is_empty() { "app".to_owned() } else { format!("app/{}", below.trim_start_matches('/')) })
}

fn in_root(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

fn loader_of(file: &Path) -> Option<PathBuf> {
    match elf::kind(file) {
        Kind::LoadedBy(loader) => Some(loader),
        _ => None,
    }
}

/// What programs and libraries in these trees need that is not in them.
fn libraries_of(loader: &Path, started: &Path, trees: [&Tree; 3]) -> Result<elf::Needed, String> {
    let inside: Vec<&Path> = trees.iter().flat_map(|tree| tree.files().map(|(_, file)| file)).collect();
    let has = |name: &OsStr| inside.iter().any(|file| file.file_name() == Some(name));
    let (mut found, mut missing) = (BTreeSet::from([loader.to_owned()]), BTreeSet::new());
    for file in &inside {
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        let is_one = match elf::kind(file) {
            Kind::LoadedBy(_) => true,
            Kind::Alone => is_library,
            Kind::Other => false,
        };
        if !is_one || HEADFUL.contains(&name) {
            continue;
        }
        match elf::needed(loader, file) {
            Some(needed) => {
                found.extend(needed.found.into_iter().map(|path| normal(&path)).filter(|path| !inside.contains(&path.as_path())));
                missing.extend(needed.missing.into_iter().filter(|name| !has(OsStr::new(name))));
            }
            None if *file == started => return Err(format!("{} does not list what {} needs", loader.display(), started.display())),
            None => {}
        }
    }
    // Threads that end look for it by themselves.
    let beside =
        found.iter().find(|path| path.file_name() == Some(OsStr::new("libc.so.6"))).map(|libc| libc.with_file_name("libgcc_s.so.1"));
    found.extend(beside.filter(|path| path.is_file()));
    Ok(elf::Needed { found: found.into_iter().collect(), missing: missing.into_iter().collect() })
}
