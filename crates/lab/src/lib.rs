//! Plans an experiment and runs its trials.
//!
//! A run alternates between contenders and writes every trial to a record on disk. [`Lab`] is the
//! run; `trial` measures one contender alone, `block` several in slices. Modules import only
//! modules that are listed before them:
//!
//! | modules | task |
//! |---|---|
//! | `error`, `progress`, `place`, `clock`, `writer`, `work_folder` | basics |
//! | `plan`, `instrument`, `record_files` | plan of a run, last self-test, files of a record |
//! | `pauses`, `steady` | parse a log, find a steady state |
//! | `profiling` | sample stacks while a cell is measured |
//! | `settle` | wait until contenders have done what they put off |
//! | `trial_database`, `warmup`, `agents`, `external_generator` | make and check load |
//! | `estimate` | how long a run takes |
//! | `participants`, `proof` | build contenders and prove their responses |
//! | `profiled_environment` | what contenders find in the starts of profiled blocks |
//! | `trial`, `block` | measure |
//! | `run` | the whole run |
//! | `stopping` | runs trials until there is a reason to stop |

mod agents;
mod block;
mod clock;
mod error;
pub mod estimate;
pub mod external_generator;
pub mod instrument;
mod participants;
mod pauses;
mod place;
pub mod plan;
mod profiled_environment;
mod profiling;
mod progress;
mod proof;
pub mod record_files;
mod run;
mod settle;
mod steady;
pub mod stopping;
mod trial;
mod trial_database;
mod warmup;
mod work_folder;
mod writer;

pub use block::alternation;
pub use error::LabError;
pub use participants::{Ready, gather, provide, provide_database};
pub use place::Place;
pub use progress::{Activity, Progress, Watcher};
pub use proof::prove;
pub use run::Lab;
pub use trial_database::DatabaseSource;
pub use warmup::upstream_warmup;
