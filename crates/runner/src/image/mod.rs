//! Images of systems, from which containers start.
//!
//! An image is derived from the manifest without any engine, or built by an engine from the
//! system's own Dockerfile. A derived image contains only what its program needs. The same files
//! always give the same bytes. Start with [`make`].

mod contents;
mod dockerfile;
mod elf;
mod layout;
mod noted;
mod runtime;
mod store;
mod tree;

pub(crate) use layout::{JAVA, PORT, SYSTEM_LABEL, WORK, describe};
pub use noted::{note, noted};
pub use store::Store;

use crate::build::values;
use crate::means::Means;
use contents::Contents;
use layout::{PROGRAMS, failed};
use record::Failure;
use spec::image::{Image, reference};
use spec::system::{Contender, Kind};
use std::collections::BTreeMap;
use std::path::Path;
use store::Described;

/// The reason why a system has no image; `None` if it can have one.
pub fn has_none(contender: &Contender) -> Option<&'static str> {
    if contender.system.reached.is_some() {
        return Some("it already runs ([reached] in its system.toml)");
    }
    if contender.system.image.ready_made.is_some() {
        return Some("it starts from an existing image");
    }
    (contender.system.kind == Kind::Database)
        .then_some("it is a database, which starts as a process")
}

/// Makes the image of a built contender. `cache` is the folder for logs and runtimes.
///
/// # Errors
/// A part that is missing or cannot be derived, or a build that failed.
pub fn make(
    contender: &Contender,
    store: &Store,
    cache: &Path,
    means: Means<'_>,
) -> Result<Image, Failure> {
    let system = &contender.system;
    // The share of the machine that it gets does not change its image.
    let name = contender.name.without_share();
    let reference = reference(&system.name, &name.variants, system.revision.as_deref());
    if let Some(file) = &system.image.dockerfile {
        return dockerfile::build(contender, file, &reference, cache, means);
    }
    let found = contents::derive(contender, cache, means)?;
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
        sources: found.sources,
    };
    store.keep_image(described, layers).map_err(|cause| failed(cause, vec![]))
}

/// Writes an image as an archive that `docker load` reads.
///
/// # Errors
/// What failed, for a message.
pub fn save(
    image: &Image,
    store: &Store,
    to: &Path,
    cache: &Path,
    means: Means<'_>,
) -> Result<(), String> {
    // An image that an engine built is saved by that engine.
    if image.config.is_none() {
        return dockerfile::save(image, to, cache, means).map_err(|failure| failure.cause);
    }
    let written = std::fs::File::create(to)
        .and_then(|file| store.archive(image, std::io::BufWriter::new(file)));
    written.map_err(|e| format!("{} cannot be written: {e}", to.display()))
}

fn environment(found: &Contents) -> BTreeMap<String, String> {
    let joined = |folders: &std::collections::BTreeSet<String>| {
        folders.iter().cloned().collect::<Vec<_>>().join(":")
    };
    let mut env = BTreeMap::new();
    if !found.programs.is_empty() {
        env.insert("PATH".into(), format!("{}:{PROGRAMS}", joined(&found.programs)));
    }
    if !found.libraries.is_empty() {
        env.insert("LD_LIBRARY_PATH".into(), joined(&found.libraries));
    }
    if found.has_java {
        env.insert("JAVA_HOME".into(), JAVA.into());
        // Older JVMs read files in the encoding of the locale. The C library has this locale built
        // in.
        env.insert("LANG".into(), "C.UTF-8".into());
    }
    env
}

/// The command and environment of a container that a user starts, listening from [`PORT`] on;
/// `None` if it needs more, such as an upstream, or a secret, which must not be in an image.
fn usual_start(contender: &Contender) -> Option<(Vec<String>, BTreeMap<String, String>)> {
    let start = &contender.system.start;
    let mut values = values(contender, None);
    let texts = [
        ("java", format!("{JAVA}/bin/java")),
        ("java.home", JAVA.to_owned()),
        ("work", WORK.to_owned()),
        ("listen", "0.0.0.0".to_owned()),
    ];
    values.texts.extend(texts.map(|(name, value)| (name.to_owned(), value)));
    values.texts.extend(
        start
            .ports
            .iter()
            .zip(PORT..)
            .map(|(name, port)| (format!("port.{name}"), port.to_string())),
    );
    if !start.render.is_empty() || start.has_secrets() {
        return None;
    }
    let command = values.expand_command(&start.run).ok()?;
    let env = start
        .env
        .iter()
        .map(|(name, template)| Some((name.clone(), values.expand(template).ok()?)));
    Some((command, env.collect::<Option<_>>()?))
}
