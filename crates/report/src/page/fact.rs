//! A name with its value, as lists of the report show them.

use serde::Serialize;

/// A name and a value, shown as written.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Fact {
    name: String,
    value: String,
}

/// Returns a name with its value.
pub(super) fn fact(name: impl Into<String>, value: impl Into<String>) -> Fact {
    Fact { name: name.into(), value: value.into() }
}
