//! Images of systems: what containers start from.
//!
//! One is derived from the manifest without any engine, or built by an engine from the system's own Dockerfile. A derived
//! image has nothing but what its program needs, and the same bytes whenever it is made of the same files.

mod contents;
mod dockerfile;
mod elf;
mod noted;
mod runtime;
mod store;
mod tree;

pub use noted::{note, noted};
pub use store::Store;

use crate::build::values;
use crate::database::Means;
use contents::Contents;
use model::image::{Image, reference};
use model::record::Failure;
use model::system::{Contender, Kind};
use std::collections::BTreeMap;
use std::path::Path;
use store::Described;

/// Where a Java runtime stands in an image.
pub(crate) const JAVA: &str = "/java";
/// Where rendered files are, and what a system writes: mounted, so no place that a program of the machine may have.
pub(crate) const WORK: &str = "/run/faceoff";
/// The first of the ports that a container listens on where nobody says another.
const PORT: u16 = 8080;
/// The label by which an engine knows images of ours.
pub(crate) const SYSTEM_LABEL: &str = "faceoff.system";

/// Where programs are looked for, unless an image says otherwise.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Why a system has no image; `None` where it may have one.
pub fn has_none(contender: &Contender) -> Option<&'static str> {
    if contender.system.reached.is_some() {
        return Some("it runs already and is only reached");
    }
    (contender.system.kind == Kind::Database).then_some("it is a database, which starts as a process")
}

/// Makes the image of a contender that is built. `cache` is where logs and runtimes are kept.
///
/// # Errors
/// The failure: what is missing, cannot be derived, or failed.
pub fn make(contender: &Contender, store: &Store, cache: &Path, means: Means<'_>) -> Result<Image, Failure> {
    let system = &contender.system;
    // However much of the machine it is given, it starts from the same.
    let name = contender.name.without_share();
    let reference = reference(&system.name, &name.variants, system.revision.as_deref());
    if let Some(file) = &system.image.dockerfile {
        return dockerfile::build(contender, file, &reference, cache, means);
    }
    let found = contents::of(contender, cache, means)?;
    let layers = found.layers.iter().map(|(what, tree)| store.keep_layer(what, tree));
    let layers = layers.collect::<Result<Vec<_>, _>>().map_err(|cause| failed(cause, vec![]))?;
    let labels = [
        (SYSTEM_LABEL, name.to_string()),
        ("org.opencontainers.image.title", name.to_string()),
        ("org.opencontainers.image.description", contender.summary.clone()),
    ];
    let mut env = environment(&found);
    let (command, ports) = match usual_start(contender) {
        Some((command, more)) => {
            env.extend(more);
            (Some(command), (PORT..).take(system.start.ports.len()).collect())
        }
        None => (None, vec![]),
    };
    let described = Described {
        reference,
        labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
        env,
        folder: found.folder,
        command,
        ports,
        said: found.said,
    };
    store.keep_image(described, layers).map_err(|cause| failed(cause, vec![]))
}

/// Writes an image as an archive that `docker load` reads.
///
/// # Errors
/// In words, what failed.
pub fn save(image: &Image, store: &Store, to: &Path, cache: &Path, means: Means<'_>) -> Result<(), String> {
    // An engine keeps those that it built.
    if image.config.is_none() {
        return dockerfile::save(image, to, cache, means).map_err(|failure| failure.cause);
    }
    let written = std::fs::File::create(to).and_then(|file| store.archive(image, std::io::BufWriter::new(file)));
    written.map_err(|e| format!("{} cannot be written: {e}", to.display()))
}

fn environment(found: &Contents) -> BTreeMap<String, String> {
    let joined = |folders: &std::collections::BTreeSet<String>| folders.iter().cloned().collect::<Vec<_>>().join(":");
    let mut env = BTreeMap::new();
    if !found.programs.is_empty() {
        env.insert("PATH".into(), format!("{}:{PROGRAMS}", joined(&found.programs)));
    }
    if !found.libraries.is_empty() {
        env.insert("LD_LIBRARY_PATH".into(), joined(&found.libraries));
    }
    if found.has_java {
        env.insert("JAVA_HOME".into(), JAVA.into());
        // Older JVMs read files in the encoding of the locale, and the C library has this one without files.
        env.insert("LANG".into(), "C.UTF-8".into());
    }
    env
}

/// The command and environment of a container that is started by itself, listening from [`PORT`] on; `None` where it needs to be told more,
/// such as its upstream, or a secret, which stands in no image.
fn usual_start(contender: &Contender) -> Option<(Vec<String>, BTreeMap<String, String>)> {
    let start = &contender.system.start;
    let mut values = values(contender, None);
    let texts =
        [("java", format!("{JAVA}/bin/java")), ("java.home", JAVA.to_owned()), ("work", WORK.to_owned()), ("listen", "0.0.0.0".to_owned())];
    values.texts.extend(texts.map(|(name, value)| (name.to_owned(), value)));
    values.texts.extend(start.ports.iter().zip(PORT..).map(|(name, port)| (format!("port.{name}"), port.to_string())));
    if !start.render.is_empty() || start.has_secrets() {
        return None;
    }
    let command = values.expand_command(&start.run).ok()?;
    let env = start.env.iter().map(|(name, template)| Some((name.clone(), values.expand(template).ok()?)));
    Some((command, env.collect::<Option<_>>()?))
}

fn failed(cause: String, log: Vec<String>) -> Failure {
    Failure { stage: "image".into(), cause, log }
}
