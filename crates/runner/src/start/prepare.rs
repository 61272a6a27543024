//! Prepares a start: chooses ports, fills placeholders, and renders files.
//!
//! The runner decides about ports and folders, as they differ in containers. Start with
//! [`prepare`].

use crate::build::values;
use crate::place::{Inside, Surroundings, Upstream};
use crate::scrub::Scrub;
use spec::placeholder::Values;
use spec::reset::ResetStep;
use spec::secret;
use spec::system::Contender;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A start with all placeholders filled in.
pub(super) struct Prepared {
    pub command: Vec<String>,
    /// Empty if no command resets the system.
    pub reset: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub inside: Inside,
    pub work: PathBuf,
    pub descriptors: u64,
    pub log: PathBuf,
    pub scrub: Scrub,
}

/// Chooses ports, fills placeholders, and renders files.
pub(super) fn prepare(
    contender: &Contender,
    around: &Surroundings<'_>,
) -> Result<Prepared, String> {
    let start = &contender.system.start;
    std::fs::create_dir_all(around.work)
        .map_err(|e| format!("{} cannot be made: {e}", around.work.display()))?;
    let work = around
        .work
        .canonicalize()
        .map_err(|e| format!("{} cannot be found: {e}", around.work.display()))?;
    let scrub = Scrub(work.clone());
    let descriptors = around.descriptors.or(start.descriptors).unwrap_or_else(usual_descriptors);
    let inside = around.runner.inside(contender, around, &work)?;
    let values = start_values(contender, around, &inside, descriptors);
    let no_value = |name: String| no_value(&name, around);
    for file in &start.render {
        let template = std::fs::read_to_string(contender.system.folder.join(file))
            .map_err(|e| format!("{file} cannot be read: {e}"))?;
        let text =
            values.expand(&template).map_err(|name| format!("{file}: {}", no_value(name)))?;
        std::fs::write(work.join(file), text)
            .map_err(|e| format!("{file} cannot be written: {e}"))?;
    }
    let mut env = BTreeMap::new();
    for (key, template) in &start.env {
        env.insert(key.clone(), values.expand(template).map_err(no_value)?);
    }
    let reset = match contender.system.reset.as_ref().map(|reset| &reset.step) {
        Some(ResetStep::Command(command)) => {
            outside_values(&values, contender, around, &inside, &work)
                .expand_command(command)
                .map_err(no_value)?
        }
        _ => Vec::new(),
    };
    Ok(Prepared {
        command: values.expand_command(&start.run).map_err(no_value)?,
        reset,
        env,
        inside,
        descriptors,
        log: work.join("output.log"),
        scrub,
        work,
    })
}

/// The values of placeholders where a contender starts.
fn start_values(
    contender: &Contender,
    around: &Surroundings<'_>,
    inside: &Inside,
    descriptors: u64,
) -> Values {
    let mut values = values(contender, None);
    values.texts.extend(inside.texts.clone());
    if let Some(Upstream { address, https }) = around.upstream {
        values.texts.insert("upstream.http".into(), format!("http://{address}"));
        values.texts.insert("upstream.address".into(), address.to_string());
        values.texts.insert("upstream.host".into(), address.ip().to_string());
        values.texts.insert("upstream.port".into(), address.port().to_string());
        values
            .texts
            .extend(https.map(|address| ("upstream.https".into(), format!("https://{address}"))));
    }
    values.texts.extend(
        around.database.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
    );
    values.texts.insert("cores".into(), around.cpus.len().to_string());
    values.texts.insert("descriptors".into(), descriptors.to_string());
    values
}

/// Words why a placeholder has no value.
fn no_value(name: &str, around: &Surroundings<'_>) -> String {
    if let Some(variable) = name.strip_prefix(spec::variable::PREFIX) {
        return secret::value(variable).map_or_else(
            |missing| format!("{} ({})", missing.message, missing.hint),
            |_| name.to_owned(),
        );
    }
    let why = match name {
        "upstream.https" if around.upstream.is_some() => {
            "has no value: the upstream's `ports` does not contain `https`, or its ports are mapped to other numbers"
        }
        name if name.starts_with("upstream") => "has no value: the experiment names no upstream",
        name if name.starts_with("database") => "has no value: the experiment names no database",
        _ => "has no value here",
    };
    format!("`{{{name}}}` {why}")
}

/// The values of placeholders for a command that resets a system. It runs on this machine, which
/// may not be where the system runs.
fn outside_values(
    values: &Values,
    contender: &Contender,
    around: &Surroundings<'_>,
    inside: &Inside,
    work: &Path,
) -> Values {
    let mut outside = values.clone();
    outside
        .texts
        .extend(crate::build::values(contender, around.tools.jvm(&contender.system)).texts);
    outside.texts.insert("work".into(), work.to_string_lossy().into_owned());
    for (name, (_, here)) in contender.system.start.ports.iter().zip(&inside.published) {
        outside.texts.insert(format!("port.{name}"), here.to_string());
    }
    outside
}

/// The default limit of descriptors for systems: the limit that faceoff itself was started with.
/// Call this once before anything raises the limit.
pub fn usual_descriptors() -> u64 {
    static USUAL: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *USUAL.get_or_init(|| {
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 20)
    })
}
