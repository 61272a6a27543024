//! Notes about images, kept next to them.
//!
//! A contender that runs as a process can be described by the size of its image as well, if the
//! image was made of the same files.

use record::{Artifact, Participant};
use serde::{Deserialize, Serialize};
use spec::image::{Image, reference};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Serialize, Deserialize)]
struct Note {
    contender: String,
    artifacts: Vec<Artifact>,
    versions: BTreeMap<String, String>,
    image: Image,
}

fn place(participant: &Participant, cache: &Path) -> PathBuf {
    let name = &participant.name;
    let file = reference(&name.system, &name.variants, None).replace(['/', ':'], "_");
    cache.join("images/made").join(format!("{file}.json"))
}

/// Keeps a note about the image of a contender. Errors are ignored, as the note is optional.
pub fn note(participant: &Participant, image: &Image, cache: &Path) {
    let Participant { name, artifacts, versions, .. } = participant;
    let note = Note {
        contender: name.to_string(),
        artifacts: artifacts.clone(),
        versions: versions.clone(),
        image: image.clone(),
    };
    let path = place(participant, cache);
    let text = serde_json::to_vec(&note).expect("a note is plain data");
    let _ = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&path, text));
}

/// Reads the note about a contender's image, if the image was made of the same files by the same
/// versions of its tools.
pub fn noted(participant: &Participant, cache: &Path) -> Option<Image> {
    let text = std::fs::read(place(participant, cache)).ok()?;
    let Note { contender, artifacts, versions, image } = serde_json::from_slice(&text).ok()?;
    // Without either, the image may be older than its files.
    let is_identified = !artifacts.is_empty() || !versions.is_empty();
    let is_of_it = contender == participant.name.to_string()
        && artifacts == participant.artifacts
        && versions == participant.versions;
    (is_identified && is_of_it).then_some(image)
}
