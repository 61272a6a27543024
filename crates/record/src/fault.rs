//! A fault: a reason not to use a measurement. The lab saw it, or the judge found it in the
//! readings.

use serde::{Deserialize, Serialize};

/// A reason why the instrument or its surroundings make a measurement unfit to judge from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    /// The kind, one of a fixed set of words.
    pub kind: String,
    /// The evidence.
    pub evidence: String,
    /// What to do.
    pub hint: String,
}

/// A fault of a cell that has no measurement because of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellFault {
    /// The cell.
    pub cell: String,
    /// The fault.
    pub fault: Fault,
}
