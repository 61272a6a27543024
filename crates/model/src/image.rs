//! Images of systems: what a manifest says of its own, and what comes out.

use crate::reader::Table;
use serde::{Deserialize, Serialize};

/// What a manifest's `[image]` adds to what follows from its build and its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// A file of the system's folder that an engine builds the image by; nothing is derived then.
    pub dockerfile: Option<String>,
    /// Globs of files that go in as well, counted from where its commands run.
    pub files: Vec<String>,
    /// Modules of the Java runtime, instead of those that a server usually needs.
    pub modules: Vec<String>,
}

/// An image that was made of a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is called: `faceoff/strings-go:gc-log`.
    pub reference: String,
    /// `sha256:` of its manifest; of one that an engine built, what the engine calls it.
    pub digest: String,
    /// `sha256:` of its configuration, by which an engine may know it; `None` of one that an engine built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// All its layers together, as they are unpacked.
    pub bytes: u64,
    /// Its layers, the lowest first.
    pub layers: Vec<Layer>,
    /// What went in that no file of the system says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

/// A layer of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// `sha256:` of its archive, not compressed.
    pub digest: String,
    /// Its size; `None` where an engine does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What is in it; empty where an engine built it.
    pub what: String,
}

pub(crate) fn walk(table: &Table<'_>) -> Recipe {
    let recipe = Recipe { dockerfile: table.string("dockerfile"), files: table.strings("files"), modules: table.strings("modules") };
    if recipe.dockerfile.is_some()
        && let Some((key, _)) = [("files", &recipe.files), ("modules", &recipe.modules)].into_iter().find(|(_, list)| !list.is_empty())
    {
        table.problem(key, format!("`{key}` is of no use beside a Dockerfile"), "say it in the Dockerfile, or leave `dockerfile` out");
    }
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    if let Some(module) = recipe.modules.iter().find(|module| !is_name(module)) {
        table.problem(
            "modules",
            format!("`{module}` cannot name a module"),
            "write names such as \"java.base\"; `java --list-modules` shows all",
        );
    }
    recipe
}

/// What an image of a contender is called. Names of repositories are in small letters, and a tag has no `+`.
pub fn reference(system: &str, variants: &[String], revision: Option<&str>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = system.chars().map(plain).collect();
    let mut tag = if variants.is_empty() { "latest".to_owned() } else { variants.join("_and_") };
    if let Some(commit) = revision {
        tag += &format!("_at_{}", &commit[..commit.len().min(12)]);
    }
    // A tag begins with a letter, a digit or `_`, and has 128 characters at most.
    if tag.starts_with(['-', '.']) {
        tag.insert(0, '_');
    }
    format!("faceoff/{}:{}", name.trim_matches('-'), tag.chars().take(128).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_what_an_engine_takes() {
        let of = |system: &str, variants: &[&str]| reference(system, &variants.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>(), None);
        assert_eq!(of("strings-go", &[]), "faceoff/strings-go:latest");
        assert_eq!(of("Mine_2", &["gc-log", "quiet"]), "faceoff/mine-2:gc-log_and_quiet");
        assert_eq!(of("s", &["-x"]), "faceoff/s:_-x");
        assert_eq!(reference("s", &[], Some("0123456789abcdef")), "faceoff/s:latest_at_0123456789ab");
        assert!(of("s", &[&"v".repeat(300)]).len() < 150);
    }
}
