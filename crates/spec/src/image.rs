//! Container images of systems.
//!
//! A manifest either names an image that exists, or adds to the image that faceoff makes of the
//! system ([`Recipe`]). An [`Image`] describes the result. The crate `runner` builds it.

use crate::reader::Table;
use serde::{Deserialize, Serialize};

/// What a manifest defines about the image: the one it starts from, or what `[image]` adds to the
/// one that is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recipe {
    /// An image that exists already, such as `shop/orders:1.2`. Nothing is built, and the system
    /// runs in a container.
    pub ready_made: Option<String>,
    /// A file of the system's folder from which an engine builds the image. Nothing is derived
    /// then.
    pub dockerfile: Option<String>,
    /// Globs of further files in the image, relative to where the system's commands run.
    pub files: Vec<String>,
    /// Modules of the Java runtime, instead of the usual ones for a server.
    pub modules: Vec<String>,
}

/// An image that was made from a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Image {
    /// Its name: `faceoff/strings-go:gc-log`.
    pub reference: String,
    /// `sha256:` of its manifest. If an engine built the image, the engine's identifier of it.
    pub digest: String,
    /// `sha256:` of its configuration, by which an engine may identify it; `None` if an engine
    /// built the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The size of all layers together, unpacked.
    pub bytes: u64,
    /// Its layers, the lowest first.
    pub layers: Vec<Layer>,
    /// Where its parts come from that no file of the system names.
    #[serde(default, alias = "said", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// A layer of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layer {
    /// `sha256:` of its uncompressed archive.
    pub digest: String,
    /// Its size; `None` if the engine does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its content; empty if an engine built it.
    pub what: String,
}

/// Reads [image] of a system.
pub(crate) fn parse_recipe(table: &Table<'_>) -> Recipe {
    let recipe = Recipe {
        ready_made: None,
        dockerfile: table.string("dockerfile"),
        files: table.strings("files"),
        modules: table.strings("modules"),
    };
    if recipe.dockerfile.is_some()
        && let Some((key, _)) = [("files", &recipe.files), ("modules", &recipe.modules)]
            .into_iter()
            .find(|(_, list)| !list.is_empty())
    {
        table.problem(
            key,
            format!("`{key}` has no effect with a Dockerfile"),
            "write it in the Dockerfile, or leave `dockerfile` out",
        );
    }
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'))
    };
    if let Some(module) = recipe.modules.iter().find(|module| !is_name(module)) {
        table.problem(
            "modules",
            format!("`{module}` cannot name a module"),
            "write names such as \"java.base\"; `java --list-modules` shows all",
        );
    }
    recipe
}

/// Splits the name of an image into its repository and its tag or digest: `shop/orders:1.2`.
/// Without either, the tag is `latest`.
///
/// # Errors
/// What is wrong with the name.
pub fn split_reference(reference: &str) -> Result<(&str, &str), String> {
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        !part.is_empty()
            && part.chars().all(is_plain)
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    let after_host = reference.rfind('/').map_or(0, |at| at + 1);
    let split = match reference.split_once('@') {
        Some((name, digest)) => (name, digest),
        None => match reference[after_host..].find(':') {
            Some(at) => (&reference[..after_host + at], &reference[after_host + at + 1..]),
            None => (reference, "latest"),
        },
    };
    match split.0.split('/').all(is_part) && is_part(split.1) {
        true => Ok(split),
        false => Err(format!("`{reference}` cannot name an image: write it like shop/orders:1.2")),
    }
}

/// Returns the name of a contender's image. Names of repositories are in lower case, and a tag has
/// no `+`.
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
    fn a_reference_is_a_repository_and_a_tag_or_a_digest() {
        assert_eq!(split_reference("nginx"), Ok(("nginx", "latest")));
        assert_eq!(split_reference("shop/orders:1.2"), Ok(("shop/orders", "1.2")));
        assert_eq!(
            split_reference("h.example:5000/orders"),
            Ok(("h.example:5000/orders", "latest"))
        );
        assert_eq!(split_reference("h:5000/orders@sha256:0a"), Ok(("h:5000/orders", "sha256:0a")));
        for wrong in ["", ":1", "a b", "a:", "a/../b", "a//b", "-a", "a?b", "a@", "http://h/x"] {
            assert!(split_reference(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sources_are_read_by_their_earlier_name() {
        for name in ["sources", "said"] {
            let text = format!(
                r#"{{"reference": "a", "digest": "sha256:0", "bytes": 1, "layers": [], "{name}": ["b"]}}"#
            );
            let image: Image = serde_json::from_str(&text).unwrap();
            assert_eq!(image.sources, ["b"]);
            assert!(serde_json::to_string(&image).unwrap().contains(r#""sources":["b"]"#));
        }
    }

    #[test]
    fn references_of_contenders_are_valid_for_an_engine() {
        let of = |system: &str, variants: &[&str]| {
            reference(system, &variants.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>(), None)
        };
        assert_eq!(of("strings-go", &[]), "faceoff/strings-go:latest");
        assert_eq!(of("Mine_2", &["gc-log", "quiet"]), "faceoff/mine-2:gc-log_and_quiet");
        assert_eq!(of("s", &["-x"]), "faceoff/s:_-x");
        assert_eq!(
            reference("s", &[], Some("0123456789abcdef")),
            "faceoff/s:latest_at_0123456789ab"
        );
        assert!(of("s", &[&"v".repeat(300)]).len() < 150);
    }
}
