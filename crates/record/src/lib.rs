//! What a run leaves on disk, and the judgement that follows from it.
//!
//! `record.jsonl` has one JSON line for each thing that happened, and lines are never changed. The
//! first is the [`Header`] with the experiment and the machine; then each [`Trial`] has its
//! [`Measurement`]s. The judge reads a [`Record`] and returns a [`judgement::Judgement`].
//!
//! Start with `lines.rs`, which reads the file; then `header.rs`, `trial.rs` and `measurement.rs`
//! for its parts. `judgement/` has the verdicts. `lab` writes records, `judge` and `report` read
//! them; they meet only here.

mod agents;
pub mod audit;
pub mod capacity;
mod circumstances;
mod compression;
pub mod database;
mod external_generator;
mod fault;
mod header;
pub mod history;
pub mod judgement;
mod lines;
pub mod load_report;
mod measurement;
mod profile;
pub mod record_index;
pub mod run_status;
pub mod selftest;
pub mod soundness;
mod trial;
mod usage;

pub use agents::{AgentReport, Doubt};
pub use circumstances::{Circumstances, CpuTime, Memory, Ports, STEAL_SHARE_MAX, TICK_NS, Tcp};
pub use compression::compress_record;
pub use external_generator::ExternalReport;
pub use fault::{CellFault, Fault};
pub use header::{
    Alternation, Artifact, Header, Machine, Participant, SCHEMA, Skipped, SkippedCell,
};
pub use lines::{Event, FILE_NAME, Line, Record, Session};
pub use measurement::{Counts, Generator, Measurement, Second, Slices};
pub use profile::{
    Frame, FrameKind, Pauses, Profile, SampledLoad, Stack, SystemCall, TracedLoad, Waits,
};
pub use trial::{
    Answers, Failure, Host, Pause, Stopped, Trial, Upstream, WarmUpClass, WarmUpWindow, Warmup,
    log_lines,
};
pub use usage::{Descriptors, GroupUsage, Quota, Signs, Usage};
