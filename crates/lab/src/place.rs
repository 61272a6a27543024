//! Where a run finds its inputs and keeps its caches.

use spec::catalog::Catalog;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a run finds its inputs and keeps its caches.
pub struct Place<'a> {
    /// Systems, workloads, experiments.
    pub catalog: &'a Catalog,
    /// Folder of build logs and stamps.
    pub cache: &'a Path,
    /// The version of faceoff, for the record.
    pub version: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

impl Place<'_> {
    /// Whether everything must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
