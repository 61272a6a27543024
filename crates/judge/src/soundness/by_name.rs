//! What follows from the name of a fault, as records have it.
//!
//! A record may come from another version, so a name may be unknown. An unknown fault counts as the
//! worst: it invalidates everything, and people see that it is unknown.

use super::kinds::FaultKind;
use spec::metric::Metric;
use std::borrow::Cow;

/// Returns whether a fault of this kind invalidates a metric. Memory and threads are the
/// contender's own, whatever else was busy. A kind that this version does not know may have
/// distorted anything, so it invalidates every metric.
pub fn invalidates(kind: &str, metric: Metric) -> bool {
    FaultKind::named(kind).is_none_or(|known| (known.row().invalidates)(metric))
}

/// Returns whether a fault of this kind invalidates every metric.
pub(super) fn invalidates_all(kind: &str) -> bool {
    Metric::ALL.into_iter().all(|metric| invalidates(kind, metric))
}

/// Names a kind of fault for people. One that this version does not know is named as unknown.
pub(super) fn title(kind: &str) -> Cow<'_, str> {
    match FaultKind::named(kind) {
        Some(_) => Cow::Borrowed(kind),
        None => Cow::Owned(format!("{kind} (a fault unknown to this version of faceoff)")),
    }
}

/// Says what a fault of this kind did, in a few words that end a sentence such as "not confirmed:
/// ...".
pub(crate) fn summary(kind: &str) -> Cow<'_, str> {
    FaultKind::named(kind).map_or_else(|| title(kind), |known| Cow::Borrowed(known.row().summary))
}

/// Returns whether a contender's own slowness causes a fault of this kind. A kind that this version
/// does not know counts as caused by something else.
pub(crate) fn is_self_caused(kind: &str) -> bool {
    FaultKind::named(kind).is_some_and(|known| known.row().self_caused)
}
