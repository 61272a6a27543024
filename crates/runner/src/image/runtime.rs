//! Links a Java runtime for an image from a JDK's modules, with the JDK's own `jlink`.
//!
//! A runtime is made once per JDK and list of modules, and kept in the cache. Start with
//! [`link_runtime`].

use super::layout::failed;
use crate::jdk::Jdk;
use crate::means::Means;
use crate::needs::output_of;
use crate::process::{self, NotDone, Spec, last_lines};
use crate::sha256::hex_digest;
use record::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The modules that a server may need: all of Java SE, and those of the JDK that are no tools.
/// Modules that a JDK does not have are left out.
const USUAL: [&str; 14] = [
    "java.se",
    "jdk.charsets",
    "jdk.crypto.cryptoki",
    "jdk.crypto.ec",
    "jdk.httpserver",
    "jdk.jfr",
    "jdk.management",
    "jdk.management.agent",
    "jdk.naming.dns",
    "jdk.net",
    "jdk.security.auth",
    "jdk.unsupported",
    "jdk.xml.dom",
    "jdk.zipfs",
];

/// How long linking may take.
const WITHIN_NS: u64 = 300_000_000_000;

/// Makes a runtime of these modules, or of the usual ones, unless it exists. Returns its folder.
pub(super) fn link_runtime(
    jdk: &Jdk,
    modules: &[String],
    cache: &Path,
    means: Means<'_>,
) -> Result<PathBuf, Failure> {
    let modules = if modules.is_empty() {
        usual(jdk).map_err(|cause| failed(cause, vec![]))?
    } else {
        modules.to_vec()
    };
    let modules = modules.join(",");
    let key = hex_digest(format!("{}\0{}\0{modules}", jdk.home.display(), jdk.version));
    let folder = cache.join("runtimes").join(format!("{}-{}", jdk.feature, &key[..12]));
    if folder.is_dir() {
        return Ok(folder);
    }
    let (begun, log) = (folder.with_extension("partial"), folder.with_extension("log"));
    let prepared =
        std::fs::create_dir_all(cache.join("runtimes")).and_then(
            |()| match std::fs::remove_dir_all(&begun) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        );
    prepared.map_err(|e| failed(format!("{} cannot be written: {e}", cache.display()), vec![]))?;
    let _ = std::fs::remove_file(&log);
    let words =
        |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let link = [
        text(&jdk.home.join("bin/jlink")),
        "--output".into(),
        text(&begun),
        "--add-modules".into(),
        modules,
    ];
    let commands = [
        [&link[..], &words(&["--no-header-files", "--no-man-pages"])].concat(),
        // A JDK has its own classes parsed already. Without that, the runtime would start more
        // slowly.
        vec![text(&begun.join("bin/java")), "-Xshare:dump".into()],
    ];
    let deadline = load::clock::now_ns() + WITHIN_NS;
    for command in &commands {
        let spec = Spec {
            command,
            folder: cache,
            env: &BTreeMap::new(),
            cpus: &[],
            descriptors: None,
            log: &log,
            user: None,
            run: means.run,
        };
        let with_log =
            |what: &str| failed(format!("`{}` {what}", command.join(" ")), last_lines(&log, 20));
        process::run(&spec, deadline, means.stop).map_err(|why| match why {
            NotDone::NotStarted(cause) => failed(cause, vec![]),
            NotDone::Ended(status) => with_log(&format!("ended with {status}")),
            NotDone::Interrupted => failed("interrupted".into(), vec![]),
            NotDone::Late => with_log("took too long"),
        })?;
    }
    std::fs::rename(&begun, &folder)
        .map_err(|e| failed(format!("{} cannot be written: {e}", folder.display()), vec![]))?;
    Ok(folder)
}

fn usual(jdk: &Jdk) -> Result<Vec<String>, String> {
    let command = [jdk.java().to_string_lossy().into_owned(), "--list-modules".to_owned()];
    let listed = output_of(&command).ok_or_else(|| {
        format!("`{}` fails; a JDK of 11 or newer is needed for an image", command.join(" "))
    })?;
    // `java.base@25.0.1`
    let has = |module: &&str| listed.lines().any(|line| line.split('@').next() == Some(module));
    Ok(USUAL.iter().filter(|module| has(module)).map(|module| (*module).to_owned()).collect())
}
