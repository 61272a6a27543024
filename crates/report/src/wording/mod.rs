//! The sentences about a judgement. The report, the terminal, exports and the site all take their
//! words from here, so that they report the same in the same words.
//!
//! - `answer.rs`: the answer to the experiment's question. `leads.rs`: the verdicts it rests on.
//! - `strip.rs`: absolute values below the answer.
//! - `believe.rs` and `notes.rs`: what supports the answer, and what limits it.
//! - `effects.rs`, `generators.rs`, `findings.rs`: sentences about one subject each.

pub(crate) mod answer;
pub(crate) mod believe;
pub(crate) mod effects;
pub(crate) mod findings;
pub(crate) mod generators;
mod leads;
pub(crate) mod list;
pub(crate) mod notes;
pub(crate) mod strip;
