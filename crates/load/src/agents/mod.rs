//! One load made by generators on several machines.
//!
//! A load is divided as it is among the threads of one generator ([`Share`]). `k` agents with `t`
//! event loops each make the same arrivals, users, connections and data as one generator with
//! `k·t` event loops. All of them start at one instant ([`Start`]). Each agent gets it on its own
//! clock ([`Offset`]). Their results are merged without loss ([`merge_parts`]).
//!
//! Start with `coordinator`: [`run`] connects to agents, gives each a part and collects the
//! results. An [`Agent`] waits for coordinators that know its token. `link` is the encrypted
//! connection between them, and `messages` is what they send over it.

mod agent;
mod allowlist;
mod coordinator;
mod link;
mod messages;
mod offset;
mod partition;

pub use crate::parts::{LOOPS_MAX, Part, PartResult, Start, merge_parts};
pub use agent::Agent;
pub use allowlist::Allowlist;
pub use coordinator::{AgentAddress, Seat, look, run, run_from};
pub use link::{TOKEN_SHORTEST, TOKEN_VARIABLE, Token};
pub use messages::TrustedTls;
pub use offset::{Exchange, Offset};
pub use partition::partition_load;
pub use record::AgentReport;

#[cfg(doc)]
use crate::schedule::Share;
