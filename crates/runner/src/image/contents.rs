//! Derives the contents of an image from a system's manifest: the outputs of its build, the files
//! that its start names, and the libraries that these need.
//!
//! Files of the system keep their relative places below `/app`, so that its commands mean the same
//! in the image as here. Start with [`derive()`].

use super::elf::{self, Kind};
use super::layout::{self, JAVA};
use super::runtime;
use super::tree::{Tree, normal};
use crate::means::Means;
use record::Failure;
use spec::system::Contender;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A layer with its description.
pub(super) type Named = (String, Tree);

/// The contents of an image.
#[derive(Debug)]
pub(super) struct Contents {
    /// The lowest layer, which changes least, comes first.
    pub layers: Vec<Named>,
    /// The folder in which commands run.
    pub folder: String,
    /// Folders with programs or libraries in unusual places.
    pub programs: BTreeSet<String>,
    pub libraries: BTreeSet<String>,
    /// Whether it contains a Java runtime.
    pub has_java: bool,
    pub sources: Vec<String>,
}

/// Libraries of a JVM that need a screen or a sound card.
const HEADFUL: [&str; 4] = ["libawt_xawt.so", "libjawt.so", "libjsound.so", "libsplashscreen.so"];

/// The base of every image: a folder for temporary files, one for rendered files, and names for the
/// users 0 and 65534.
fn base() -> Tree {
    let mut tree = Tree::default();
    tree.folder("tmp", 0o1777);
    tree.folder("run/faceoff", 0o1777);
    tree.text(
        "etc/passwd",
        "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
    );
    tree.text("etc/group", "root:x:0:\nnogroup:x:65534:\nnobody:x:65534:\n");
    tree
}

/// The program at the beginning of a start command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    Java,
    /// A file of the system, relative to the folder of its commands.
    Own(PathBuf),
    /// A program of this machine, at the same path in the image.
    OfMachine(PathBuf),
}

fn program(contender: &Contender) -> Result<Program, String> {
    let word = contender.system.start.run.first().map(String::as_str).unwrap_or_default();
    if word == "{java}" {
        return Ok(Program::Java);
    }
    if word.is_empty() || word.contains('{') {
        return Err(format!("its program cannot be derived from `{word}`"));
    }
    let path = Path::new(word);
    if path.is_absolute() {
        return Ok(Program::OfMachine(path.to_owned()));
    }
    if word.contains('/') {
        return Ok(Program::Own(path.to_owned()));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(word))
        .find(|file| file.is_absolute() && file.is_file());
    found.map(Program::OfMachine).ok_or_else(|| format!("its program `{word}` is not on the PATH"))
}

/// Derives the contents of a contender's image.
pub(super) fn derive(
    contender: &Contender,
    cache: &Path,
    means: Means<'_>,
) -> Result<Contents, Failure> {
    let failed = |cause: String| layout::failed(cause, vec![]);
    let program = program(contender).map_err(failed)?;
    if let Some(word) = fits_nowhere_else(contender) {
        return Err(failed(format!(
            "`{word}` (a JVM archive) works only with the JDK and files that created it; create it \
             in a Dockerfile (docs/guide/containers.md)"
        )));
    }
    let system = &contender.system;
    let (own, folder) = own_tree(contender, &program).map_err(failed)?;
    let mut parts = Parts { own, ..Parts::default() };
    let started = parts.add_program(contender, &program, cache, means)?;
    let started = started
        .canonicalize()
        .map_err(|e| failed(format!("{} cannot be read: {e}", started.display())))?;
    let loader = match elf::kind(&started) {
        Kind::Other => {
            return Err(failed(format!(
                "{} is no program of 64 bits that an image could start alone; write a Dockerfile",
                started.display()
            )));
        }
        Kind::Alone => None,
        Kind::LoadedBy(loader) => Some(loader),
    };
    if let Some(loader) = loader.or_else(|| parts.own.files().find_map(|(_, file)| loader_of(file)))
    {
        parts.add_libraries(&loader, &started).map_err(failed)?;
    }
    let program_name =
        started.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let layers = [
        ("a folder for temporary files, names of users".to_owned(), base()),
        ("C libraries".to_owned(), parts.of_c),
        (program_name, parts.machine),
        ("a Java runtime".to_owned(), parts.java),
        (format!("files of {}", system.name), parts.own),
    ];
    let layers = layers.into_iter().filter(|(_, tree)| !tree.is_empty()).collect();
    Ok(Contents {
        layers,
        folder: format!("/{folder}"),
        programs: parts.programs,
        libraries: parts.libraries,
        has_java: program == Program::Java,
        sources: parts.sources,
    })
}

/// The system's own files, and the folder that its program starts in.
fn own_tree(contender: &Contender, program: &Program) -> Result<(Tree, String), String> {
    let system = &contender.system;
    let files = own_files(contender, program)?;
    let base_folder = shared(&system.runs_in, &files);
    let place = |path: &Path| place_of(path, &base_folder);
    let mut own = Tree::default();
    let folder = place(&system.runs_in)?;
    own.folder(&folder, 0o755);
    for file in &files {
        own.add(file, &place(file)?)?;
    }
    Ok((own, folder))
}

/// The parts of an image while it is derived.
#[derive(Default)]
struct Parts {
    /// Files of the system.
    own: Tree,
    /// Programs of this machine.
    machine: Tree,
    java: Tree,
    /// C libraries.
    of_c: Tree,
    programs: BTreeSet<String>,
    libraries: BTreeSet<String>,
    sources: Vec<String>,
}

impl Parts {
    /// Adds the program that the system starts, unless it is one of its own files. Returns its path
    /// on this machine.
    fn add_program(
        &mut self,
        contender: &Contender,
        program: &Program,
        cache: &Path,
        means: Means<'_>,
    ) -> Result<PathBuf, Failure> {
        let failed = |cause: String| layout::failed(cause, vec![]);
        let system = &contender.system;
        Ok(match program {
            Program::Java => {
                let jdk = means
                    .tools
                    .jvm(system)
                    .ok_or_else(|| failed("no JDK that fits was found".into()))?;
                let linked = runtime::link_runtime(jdk, &system.image.modules, cache, means)?;
                self.java.add(&linked, JAVA.trim_start_matches('/')).map_err(failed)?;
                self.sources.push(format!("a Java runtime linked of JDK {}", jdk.version));
                linked.join("bin/java")
            }
            Program::Own(word) => system.runs_in.join(word),
            Program::OfMachine(path) => {
                let folder = path.parent().unwrap_or(path).to_string_lossy().into_owned();
                if !USUAL_PROGRAMS.contains(&folder.as_str()) {
                    self.programs.insert(folder);
                }
                self.machine.add(path, &in_root(path)).map_err(failed)?;
                self.sources.push(format!("{} of this machine", path.display()));
                path.clone()
            }
        })
    }

    /// Adds the C libraries of this machine that all programs of the image need.
    fn add_libraries(&mut self, loader: &Path, started: &Path) -> Result<(), String> {
        let trees = [&self.machine, &self.java, &self.own];
        let needed = libraries_of(loader, started, trees)?;
        for library in &needed.found {
            self.of_c.add(library, &in_root(library))?;
            let folder = library.parent().unwrap_or(library);
            if !USUAL_LIBRARIES.iter().any(|usual| folder.starts_with(usual)) {
                self.libraries.insert(folder.to_string_lossy().into_owned());
            }
        }
        let names: Vec<&str> =
            needed.found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        self.sources.push(format!(
            "C libraries of this machine ({}): {}",
            crate::machine::describe().os,
            names.join(", ")
        ));
        if !needed.missing.is_empty() {
            self.sources.push(format!(
                "not on this machine, and so not in the image: {}",
                needed.missing.join(", ")
            ));
        }
        Ok(())
    }
}

/// Folders in which every image searches for programs.
const USUAL_PROGRAMS: [&str; 6] =
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];
/// Folders in which every loader searches for libraries.
const USUAL_LIBRARIES: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// Finds an argument that names a class cache. It depends on the times of the files that it was
/// made of, and images have no times.
fn fits_nowhere_else(contender: &Contender) -> Option<&str> {
    let words = contender.system.start.run.iter().chain(&contender.jvm).chain(&contender.args);
    words.map(String::as_str).find(|word| {
        word.starts_with("-XX:AOTCache=") || word.starts_with("-XX:SharedArchiveFile=")
    })
}

/// The files of the system: the outputs of its build, the files that its start names, and those
/// that `[image]` adds.
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
    let words = start
        .run
        .iter()
        .skip(1)
        .chain(start.env.values())
        .chain(&contender.args)
        .chain(&contender.jvm);
    // `-Dkey=place`, `one:another`, `@place`, `libs/*`
    let pieces = words.flat_map(|word| word.split(['=', ':', ',', ';', ' ', '@']));
    for piece in pieces
        .map(|piece| piece.trim_end_matches("/*"))
        .filter(|piece| !piece.is_empty() && !piece.contains('{'))
    {
        let path = normal(&system.runs_in.join(piece));
        // A folder that contains the whole system is not meant.
        if Path::new(piece).is_relative() && path.exists() && !system.runs_in.starts_with(&path) {
            files.insert(path);
        }
    }
    for pattern in &system.image.files {
        files.extend(crate::build::matching(pattern, &system.runs_in)?);
    }
    Ok(files)
}

/// The nearest folder above the folder of commands that contains all files.
fn shared<'p>(runs_in: &'p Path, files: &BTreeSet<PathBuf>) -> PathBuf {
    let holds_all = |folder: &&'p Path| files.iter().all(|file| file.starts_with(folder));
    runs_in.ancestors().find(holds_all).unwrap_or(Path::new("/")).to_owned()
}

fn place_of(path: &Path, base: &Path) -> Result<String, String> {
    let below = path.strip_prefix(base).unwrap_or(path);
    let below =
        below.to_str().ok_or_else(|| format!("the name {} is not UTF-8", below.display()))?;
    Ok(if below.is_empty() {
        "app".to_owned()
    } else {
        format!("app/{}", below.trim_start_matches('/'))
    })
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

/// The libraries that programs and libraries in these trees need and that are not in them.
fn libraries_of(loader: &Path, started: &Path, trees: [&Tree; 3]) -> Result<elf::Needed, String> {
    let inside: Vec<&Path> =
        trees.iter().flat_map(|tree| tree.files().map(|(_, file)| file)).collect();
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
                found.extend(
                    needed
                        .found
                        .into_iter()
                        .map(|path| normal(&path))
                        .filter(|path| !inside.contains(&path.as_path())),
                );
                missing.extend(needed.missing.into_iter().filter(|name| !has(OsStr::new(name))));
            }
            None if *file == started => {
                return Err(format!(
                    "{} does not list what {} needs",
                    loader.display(),
                    started.display()
                ));
            }
            None => {}
        }
    }
    // A thread that ends loads this library by name.
    let unwinder = found
        .iter()
        .find(|path| path.file_name() == Some(OsStr::new("libc.so.6")))
        .map(|libc| libc.with_file_name("libgcc_s.so.1"));
    found.extend(unwinder.filter(|path| path.is_file()));
    Ok(elf::Needed { found: found.into_iter().collect(), missing: missing.into_iter().collect() })
}
