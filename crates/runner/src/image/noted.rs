//! What an image came to, kept beside it: who starts as a process can be told by its size as well, as long as it is of the same files.

use model::image::{Image, reference};
use model::record::{Artifact, Participant};
use serde::{Deserialize, Serialize};
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

/// Keeps what the image of a contender came to. Without it, nothing is told of it later, nothing worse.
pub fn note(participant: &Participant, image: &Image, cache: &Path) {
    let Participant { name, artifacts, versions, .. } = participant;
    let note = Note { contender: name.to_string(), artifacts: artifacts.clone(), versions: versions.clone(), image: image.clone() };
    let path = place(participant, cache);
    let text = serde_json::to_vec(&note).expect("a note is plain data");
    let _ = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
}

/// The image that was made of a contender as it is now: of the same files, by the same versions of its tools.
pub fn noted(participant: &Participant, cache: &Path) -> Option<Image> {
    let text = std::fs::read(place(participant, cache)).ok()?;
    let Note { contender, artifacts, versions, image } = serde_json::from_slice(&text).ok()?;
    // Of whom neither is known, an image may be older than its files.
    let is_told = !artifacts.is_empty() || !versions.is_empty();
    let is_of_it = contender == participant.name.to_string() && artifacts == participant.artifacts && versions == participant.versions;
    (is_told && is_of_it).then_some(image)
}
