//! Builds systems, and only what has changed.

use crate::jdk::Jdk;
use crate::needs::Tools;
use crate::process::{self, NotDone, Spec, last_lines};
use crate::scrub;
use crate::sha256::{Sha256, hex_digest};
use model::placeholder::Values;
use model::record::{Artifact, Failure};
use model::system::{Build, Contender};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a build came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// What it made.
    pub artifacts: Vec<Artifact>,
    /// Whether anything had to be done.
    pub was_built: bool,
}

/// What is remembered of a build, beside the system's name.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stamp {
    inputs: String,
    artifacts: Vec<Artifact>,
}

/// Builds a contender if its inputs, commands or artefacts have changed since
/// the last time; `cache` is where logs and stamps are kept.
///
/// # Errors
/// The failure, with the last lines of the log and its path.
pub fn build(contender: &Contender, tools: &Tools, cache: &Path, run: &str, stop: &AtomicBool) -> Result<Built, Failure> {
    let system = &contender.system;
    let Some(build) = &system.build else { return Ok(Built { artifacts: Vec::new(), was_built: false }) };
    let fail = |cause: String, log: Vec<String>| Failure { stage: "build".into(), cause, log };
    let values = values(contender, tools.jdk(system));
    let fingerprint = fingerprint(build, &values, &system.runs_in).map_err(|e| fail(e, vec![]))?;
    // A variant with a build of its own has a stamp of its own; the same commands share one.
    let revision = system.revision.as_ref().map(|commit| format!("-at-{commit}")).unwrap_or_default();
    let name = format!("{}{revision}-{}", system.name, &hex_digest(format!("{:?}{:?}{:?}", build.run, build.env, build.outputs))[..12]);
    let stamp_path = cache.join(format!("{name}.json"));
    let known: Option<Stamp> = std::fs::read(&stamp_path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(stamp) = known
        && stamp.inputs == fingerprint
        && artifacts(build, &system.runs_in).is_ok_and(|now| now == stamp.artifacts)
    {
        return Ok(Built { artifacts: stamp.artifacts, was_built: false });
    }
    std::fs::create_dir_all(cache).map_err(|e| fail(format!("{} cannot be made: {e}", cache.display()), vec![]))?;
    let log = cache.join(format!("{name}.log"));
    let _ = std::fs::remove_file(&log);
    let mut env = BTreeMap::new();
    for (key, template) in &build.env {
        env.insert(key.clone(), values.expand(template).map_err(|p| fail(format!("`{{{p}}}` has no value in a build"), vec![]))?);
    }
    let deadline = load::clock::now_ns() + build.within.as_nanos() as u64;
    for command in &build.run {
        let command = values.expand_command(command).map_err(|p| fail(format!("`{{{p}}}` has no value in a build"), vec![]))?;
        let spec = Spec { command: &command, folder: &system.runs_in, env: &env, cpus: &[], descriptors: None, log: &log, user: None, run };
        let shown = command.join(" ");
        let with_log = |what: String| fail(format!("`{shown}` {what} (log: {})", log.display()), last_lines(&log, 20));
        let ended = process::run(&spec, deadline, stop);
        scrub::file(&log);
        ended.map_err(|why| match why {
            NotDone::NotStarted(cause) => fail(cause, vec![]),
            NotDone::Ended(status) => with_log(format!("ended with {status}")),
            NotDone::Interrupted => fail("interrupted".into(), vec![]),
            NotDone::Late => with_log(format!("was not done within {}", model::units::show_duration(build.within))),
        })?;
    }
    let artifacts = artifacts(build, &system.runs_in)
        .map_err(|missing| fail(format!("the build made no {missing} (log: {})", log.display()), last_lines(&log, 20)))?;
    let stamp = Stamp { inputs: fingerprint, artifacts: artifacts.clone() };
    let text = serde_json::to_vec(&stamp).expect("a stamp is plain data");
    // Without its stamp it is built again next time, nothing worse.
    let _ = std::fs::write(&stamp_path, text);
    Ok(Built { artifacts, was_built: true })
}

/// What placeholders mean in a build or a start: the JDK, and what variants fill in.
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

/// The artefacts as they are now.
///
/// # Errors
/// The path of the first that is not there.
pub fn artifacts(build: &Build, folder: &Path) -> Result<Vec<Artifact>, String> {
    let mut all = Vec::new();
    for output in &build.outputs {
        let path = folder.join(output);
        let (sha256, bytes) = digest(&path).ok_or_else(|| output.clone())?;
        all.push(Artifact { path: output.clone(), sha256, bytes });
    }
    Ok(all)
}

/// SHA-256 in hex, and length, of a file, or of all that is in a folder.
fn digest(path: &Path) -> Option<(String, u64)> {
    if path.is_dir() {
        let inside: BTreeSet<PathBuf> = std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        for path in inside {
            let (sha256, length) = digest(&path)?;
            hash.update(format!("{:?} {sha256}\n", path.file_name()?));
            bytes += length;
        }
        return Some((hash.hex(), bytes));
    }
    let mut file = std::fs::File::open(path).ok()?;
    let state = file.metadata().ok().filter(|m| m.is_file())?;
    // Whoever writes to a file cannot leave these as they were.
    let version = (state.dev(), state.ino(), state.len(), state.ctime(), state.ctime_nsec());
    if let Some(known) = DIGESTS.lock().expect("nobody panics with it").get(&version) {
        return Some((known.clone(), state.len()));
    }
    let (mut hash, mut buffer, mut bytes) = (Sha256::new(), vec![0; 1 << 18], 0);
    loop {
        let length = file.read(&mut buffer).ok()?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
        bytes += length as u64;
    }
    let digest = hash.hex();
    // Its clock is coarse: what was written a moment ago may be written again without a trace.
    let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::new(version.3.try_into().ok()?, version.4.try_into().ok()?));
    if age.is_ok_and(|age| age > SETTLED) {
        DIGESTS.lock().expect("nobody panics with it").insert(version, digest.clone());
    }
    Some((digest, bytes))
}

/// Device, inode, length, and when it was last changed.
type Version = (u64, u64, u64, i64, i64);

/// Digests of files that were read before: variants of a system share most of theirs.
static DIGESTS: Mutex<BTreeMap<Version, String>> = Mutex::new(BTreeMap::new());

/// How long a file must have been left alone before its digest is kept.
const SETTLED: Duration = Duration::from_secs(1);

/// A digest of the commands, the environment and every input file.
fn fingerprint(build: &Build, values: &Values, folder: &Path) -> Result<String, String> {
    let mut hash = Sha256::new();
    hash.update(format!("{:?}{:?}{:?}{:?}", build.run, build.env, build.outputs, values.texts));
    for path in input_files(build, folder)? {
        let (sha256, _) = digest(&path).ok_or_else(|| format!("the input {} cannot be read", path.display()))?;
        hash.update(format!("{}\0{sha256}\n", path.strip_prefix(folder).unwrap_or(&path).display()));
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

/// The files that a pattern means, counted from a folder.
///
/// # Errors
/// That it is no pattern, or matches none.
pub(crate) fn matching(given: &str, folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    // `src/**` means every file below, as people read it.
    let pattern = if given.ends_with("/**") || given == "**" { format!("{given}/*") } else { given.to_owned() };
    let absolute = format!("{}/{pattern}", glob::Pattern::escape(&folder.to_string_lossy()));
    let found = glob::glob(&absolute).map_err(|e| format!("`{given}` is no pattern: {e}"))?;
    let files: BTreeSet<PathBuf> = found.flatten().filter(|p| p.is_file()).collect();
    if files.is_empty() { Err(format!("`{given}` matches no file")) } else { Ok(files) }
}
