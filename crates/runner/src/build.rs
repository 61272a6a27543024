//! Builds systems, and only what has changed.
//!
//! A build runs the commands of a manifest, and its outputs are the artefacts. A stamp keeps a
//! digest of the inputs. If inputs, commands and artefacts match it, nothing is built. Start with
//! [`build`].

use crate::jdk::Jdk;
use crate::needs::Tools;
use crate::process::{self, LOG_LINES, NotDone, Spec, last_lines};
use crate::scrub;
use crate::sha256::{Sha256, hex_digest};
use record::{Artifact, Failure};
use spec::placeholder::Values;
use spec::system::{Build, Contender};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The files that it made.
    pub artifacts: Vec<Artifact>,
    /// Whether any command had to run.
    pub was_built: bool,
}

/// What is kept about a build, in a file named after the system and its commands.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stamp {
    inputs: String,
    artifacts: Vec<Artifact>,
}

/// Builds a contender if its inputs, commands or artefacts have changed since the last build.
/// `cache` is the folder of logs and stamps.
///
/// # Errors
/// The failure, with the last lines of the log and its path.
pub fn build(
    contender: &Contender,
    tools: &Tools,
    cache: &Path,
    run: &str,
    stop: &AtomicBool,
) -> Result<Built, Failure> {
    let system = &contender.system;
    let Some(build) = &system.build else {
        return Ok(Built { artifacts: Vec::new(), was_built: false });
    };
    let values = values(contender, tools.jdk(system));
    let inputs =
        fingerprint(build, &values, &system.runs_in).map_err(|cause| fail(cause, vec![]))?;
    let name = stamp_name(contender, build);
    let stamp_path = cache.join(format!("{name}.json"));
    let known: Option<Stamp> =
        std::fs::read(&stamp_path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(stamp) = known
        && stamp.inputs == inputs
        && artifacts(build, &system.runs_in).is_ok_and(|now| now == stamp.artifacts)
    {
        return Ok(Built { artifacts: stamp.artifacts, was_built: false });
    }
    std::fs::create_dir_all(cache)
        .map_err(|e| fail(format!("{} cannot be made: {e}", cache.display()), vec![]))?;
    let log = cache.join(format!("{name}.log"));
    let _ = std::fs::remove_file(&log);
    run_commands(build, &values, (&system.runs_in, &log), run, stop)?;
    let artifacts = artifacts(build, &system.runs_in).map_err(|why| {
        let cause = format!("its commands succeeded, but {why} (log: {})", log.display());
        fail(cause, last_lines(&log, LOG_LINES))
    })?;
    let stamp = Stamp { inputs, artifacts: artifacts.clone() };
    let text = serde_json::to_vec(&stamp).expect("a stamp is plain data");
    // Without a stamp, the next run builds again.
    let _ = std::fs::write(&stamp_path, text);
    Ok(Built { artifacts, was_built: true })
}

fn fail(cause: String, log: Vec<String>) -> Failure {
    Failure { stage: "build".into(), cause, log }
}

/// The name of a build's stamp and log. Builds with the same commands at the same revision share
/// one.
fn stamp_name(contender: &Contender, build: &Build) -> String {
    let system = &contender.system;
    let revision =
        system.revision.as_ref().map(|commit| format!("-at-{commit}")).unwrap_or_default();
    let commands = hex_digest(format!("{:?}{:?}{:?}", build.run, build.env, build.outputs));
    format!("{}{revision}-{}", system.name, &commands[..12])
}

/// Runs the commands of a build one after the other.
fn run_commands(
    build: &Build,
    values: &Values,
    (folder, log): (&Path, &Path),
    run: &str,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let no_value = |name: String| fail(format!("`{{{name}}}` has no value in a build"), vec![]);
    let mut env = BTreeMap::new();
    for (key, template) in &build.env {
        env.insert(key.clone(), values.expand(template).map_err(no_value)?);
    }
    let deadline = load::clock::now_ns() + build.within.as_nanos() as u64;
    for command in &build.run {
        let command = values.expand_command(command).map_err(no_value)?;
        let spec = Spec {
            command: &command,
            folder,
            env: &env,
            cpus: &[],
            descriptors: None,
            log,
            user: None,
            run,
        };
        let ended = process::run(&spec, deadline, stop);
        scrub::file(log);
        let command = command.join(" ");
        ended.map_err(|why| match why {
            NotDone::NotStarted(cause) => fail(cause, vec![]),
            NotDone::Ended(status) => with_log(&command, &format!("ended with {status}"), log),
            NotDone::Interrupted => fail("interrupted".into(), vec![]),
            NotDone::Late => {
                let within = spec::units::show_duration(build.within);
                with_log(&command, &format!("was not done within {within}"), log)
            }
        })?;
    }
    Ok(())
}

/// The failure of a command, with the line of its log that explains it.
fn with_log(command: &str, what: &str, log: &Path) -> Failure {
    let mut lines = last_lines(log, usize::MAX);
    let why = lines
        .iter()
        .find(|line| is_decisive(line))
        .map(|line| format!(": {}", line.trim()))
        .unwrap_or_default();
    let cause = format!("`{command}` {what}{why} (log: {})", log.display());
    fail(cause, lines.split_off(lines.len().saturating_sub(LOG_LINES)))
}

/// Whether a line of a build's log explains the failure, in the form that compilers and build tools
/// use.
fn is_decisive(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let words = ["error:", "error[", "[error]", "error ts", "error cs", "fatal:", "panic:"];
    words.iter().any(|word| lower.contains(word)) || names_a_place(line)
}

/// Whether a line begins with a place: `./main.go:12:3: undefined: x`.
fn names_a_place(line: &str) -> bool {
    let Some((file, rest)) = line.trim_start().split_once(':') else { return false };
    let number = rest.split(':').next().unwrap_or_default();
    let is_file = file.contains('.') && !file.contains(char::is_whitespace);
    is_file
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && rest.len() > number.len()
}

/// The values of placeholders in a build or a start: the JDK, and what variants add.
pub(crate) fn values(contender: &Contender, jdk: Option<&Jdk>) -> Values {
    let mut values = Values::default();
    if let Some(jdk) = jdk {
        values.texts.insert("java".into(), jdk.java().to_string_lossy().into_owned());
        values.texts.insert("java.home".into(), jdk.home.to_string_lossy().into_owned());
    }
    values.lists.insert("variant.args".into(), contender.args.clone());
    values.lists.insert("variant.jvm".into(), contender.jvm.clone());
    values
}

/// Reads the artefacts as they are now.
///
/// # Errors
/// The first file that is missing or cannot be read, with the cause.
pub fn artifacts(build: &Build, folder: &Path) -> Result<Vec<Artifact>, String> {
    let mut all = Vec::new();
    for output in &build.outputs {
        let path = folder.join(output);
        if !path.exists() && !path.is_symlink() {
            return Err(format!("its output {output} is missing"));
        }
        let (sha256, bytes) = digest(&path, &[])?;
        all.push(Artifact { path: output.clone(), sha256, bytes });
    }
    Ok(all)
}

/// SHA-256 in hex, and the length, of a file or of everything in a folder. `above` are device and
/// inode of the folders that it is in.
///
/// # Errors
/// The path that cannot be read, with the cause.
fn digest(path: &Path, above: &[(u64, u64)]) -> Result<(String, u64), String> {
    let unread = |cause: std::io::Error| format!("{} cannot be read: {cause}", path.display());
    let state = std::fs::metadata(path).map_err(unread)?;
    if state.is_file() {
        return digest_of_file(path).map_err(unread);
    }
    if !state.is_dir() {
        return Err(unread(std::io::Error::other("it is neither a file nor a folder")));
    }
    let me = (state.dev(), state.ino());
    if above.contains(&me) {
        let cause = "it is a symbolic link to a folder that it is in";
        return Err(unread(std::io::Error::other(cause)));
    }
    let entries = std::fs::read_dir(path).map_err(unread)?;
    let inside: BTreeSet<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unread)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    for path in inside {
        let (sha256, length) = digest(&path, &[above, &[me]].concat())?;
        hash.update(format!("{:?} {sha256}\n", path.file_name().unwrap_or_default()));
        bytes += length;
    }
    Ok((hash.hex(), bytes))
}

/// SHA-256 in hex, and the length, of a file.
fn digest_of_file(path: &Path) -> std::io::Result<(String, u64)> {
    let mut file = std::fs::File::open(path)?;
    let state = file.metadata()?;
    // A program that writes to a file cannot keep all of these as they were.
    let version = (state.dev(), state.ino(), state.len(), state.ctime(), state.ctime_nsec());
    if let Some(known) =
        DIGESTS.lock().expect("no thread panics while it holds the lock").get(&version)
    {
        return Ok((known.clone(), state.len()));
    }
    let (mut hash, mut buffer, mut bytes) = (Sha256::new(), vec![0; 1 << 18], 0);
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
        bytes += length as u64;
    }
    let digest = hash.hex();
    // File times are coarse: a file that was just written may change again without a new time.
    let changed_at = || Some(Duration::new(version.3.try_into().ok()?, version.4.try_into().ok()?));
    let age = changed_at().and_then(|at| SystemTime::now().duration_since(UNIX_EPOCH + at).ok());
    if age.is_some_and(|age| age > SETTLED) {
        DIGESTS
            .lock()
            .expect("no thread panics while it holds the lock")
            .insert(version, digest.clone());
    }
    Ok((digest, bytes))
}

/// Device, inode, length, and when it was last changed.
type Version = (u64, u64, u64, i64, i64);

/// Digests of files that were read before. Variants of a system share most of theirs.
static DIGESTS: Mutex<BTreeMap<Version, String>> = Mutex::new(BTreeMap::new());

/// How long a file must be unchanged before its digest is kept.
const SETTLED: Duration = Duration::from_secs(1);

/// A digest of the commands, the environment and every input file.
fn fingerprint(build: &Build, values: &Values, folder: &Path) -> Result<String, String> {
    let mut hash = Sha256::new();
    hash.update(format!("{:?}{:?}{:?}{:?}", build.run, build.env, build.outputs, values.texts));
    for path in input_files(build, folder)? {
        let (sha256, _) = digest(&path, &[]).map_err(|why| format!("the input {why}"))?;
        hash.update(format!(
            "{}\0{sha256}\n",
            path.strip_prefix(folder).unwrap_or(&path).display()
        ));
    }
    Ok(hash.hex())
}

fn input_files(build: &Build, folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut files = BTreeSet::new();
    for input in &build.inputs {
        files.extend(matching(input, folder).map_err(|why| format!("the input {why}"))?);
    }
    Ok(files)
}

/// Finds the files that match a pattern, relative to a folder.
///
/// # Errors
/// An invalid pattern, or one that matches nothing.
pub(crate) fn matching(given: &str, folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    // People write `src/**` for every file below.
    let pattern = if given.ends_with("/**") || given == "**" {
        format!("{given}/*")
    } else {
        given.to_owned()
    };
    let absolute = format!("{}/{pattern}", glob::Pattern::escape(&folder.to_string_lossy()));
    let found = glob::glob(&absolute).map_err(|e| format!("`{given}` is no pattern: {e}"))?;
    let files: BTreeSet<PathBuf> = found.flatten().filter(|p| p.is_file()).collect();
    if files.is_empty() { Err(format!("`{given}` matches no file")) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_artifact_is_named_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir_all(folder.join("out/deep")).unwrap();
        std::fs::write(folder.join("out/deep/file"), "1").unwrap();
        let build = Build {
            run: vec![],
            env: BTreeMap::new(),
            inputs: vec![],
            outputs: vec!["out".into()],
            within: Duration::from_secs(1),
        };
        assert_eq!(artifacts(&build, folder).unwrap()[0].bytes, 1);
        let link = folder.join("out/deep/link");
        let why = |target: &str| {
            std::os::unix::fs::symlink(target, &link).unwrap();
            let why = artifacts(&build, folder).unwrap_err();
            std::fs::remove_file(&link).unwrap();
            why
        };
        let at = format!("{} cannot be read: ", link.display());
        assert_eq!(why(".."), format!("{at}it is a symbolic link to a folder that it is in"));
        assert!(why("gone").starts_with(&format!("{at}No such file")), "{}", why("gone"));
        std::fs::remove_dir_all(folder.join("out")).unwrap();
        assert_eq!(artifacts(&build, folder).unwrap_err(), "its output out is missing");
    }

    #[test]
    fn decisive_line_of_a_build_log_is_found() {
        for line in [
            "./main.go:12:3: undefined: x",
            "error[E0425]: cannot find value `x` in this scope",
            "[ERROR] Failed to execute goal compile: Fatal error compiling: error: release version 99 not supported",
            "src/app.ts(3,5): error TS2304: Cannot find name 'x'.",
            "make: *** No rule to make target 'x'.  Stop.\nfatal: not a repository",
            "npm error: missing script",
        ] {
            assert!(is_decisive(line), "{line}");
        }
        for line in [
            "# example.org/served",
            "   Compiling shop v1.0.0",
            "[INFO] BUILD in 10:23",
            "at 12:30: began",
            "0 errors",
        ] {
            assert!(!is_decisive(line), "{line}");
        }
    }
}
