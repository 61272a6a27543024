//! The nouns of faceoff, read from files and checked.
//!
//! What people write: [`system`], [`workload`], [`experiment`], found through a
//! [`catalog::Catalog`]. What a run leaves: [`record`], and what it comes to: [`judgement`]. What is compared: [`metric`]. What is looked for: [`capacity`]. Claims of one contender alone: [`beside`].
//! What requests leave in a database: [`database`]. What others published: [`article`], what their tools print: [`outputs`], and what that comes to: [`audit`]. Other load generators: [`witness`]. Loads from several machines: [`agents`]. What containers start from: [`image`].
//! The records of a folder, without reading them whole: [`shelf`]; a metric over several of them: [`history`]; the trial under way: [`under_way`]. What must not be written down: [`secret`].
//! What was looked at before believing: [`soundness`]. What the instrument found of what is known: [`selftest`].

pub mod against;
pub mod agents;
pub mod article;
pub mod audit;
pub mod beside;
pub mod capacity;
pub mod catalog;
mod circumstances;
pub mod data;
pub mod database;
pub mod experiment;
pub mod factorial;
pub mod history;
pub mod image;
pub mod judgement;
pub mod metric;
pub mod name;
pub mod outputs;
pub mod placeholder;
pub mod problem;
mod reader;
pub mod record;
pub mod reset;
pub mod secret;
pub mod selftest;
mod sent;
mod settings;
pub mod shelf;
pub mod soundness;
pub mod sweep;
pub mod system;
pub mod template;
pub mod threshold;
pub mod under_way;
pub mod units;
pub mod witness;
pub mod workload;
