//! Labels, timeouts and descriptions of images that the Docker runner shares.

use std::time::Duration;

/// The label of containers with the run's id.
pub(super) const RUN_LABEL: &str = "faceoff.run";
/// The label of containers with the lock that their run holds.
pub(super) const LOCK_LABEL: &str = "faceoff.lock";
/// The label of containers with the name of their note.
pub(super) const NOTE_LABEL: &str = "faceoff.note";
/// How long an engine may take for a quick request.
pub(super) const WITHIN: Duration = Duration::from_secs(60);
/// How long an engine may take to read an image.
pub(super) const LOAD_WITHIN: Duration = Duration::from_secs(600);

/// An image in the engine.
#[derive(Clone)]
pub(super) struct Known {
    pub id: String,
    /// Whether faceoff derived it, and so knows its folders.
    pub is_derived: bool,
    /// The port of the program, if the image already existed.
    pub ready_made: Option<Listens>,
}

/// Port of the program of an existing image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listens {
    pub port: u16,
    /// Whether the variable `PORT` gives the program its port, as nothing else names one.
    pub by_environment: bool,
}
