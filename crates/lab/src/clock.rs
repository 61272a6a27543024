//! The wall clock, for the dates in a record. Nothing is measured with it.

/// Now, RFC 3339, UTC, whole seconds.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
