//! Other tools: what they are given to do, what they print, and how to run them.
//!
//! [`outputs`] reads the results that load generators print, as rows of an
//! [`Article`](spec::article::Article). [`external_generator`] writes a workload and a load as a
//! plan of another generator, so that it can make the load of a cell. [`import`] reads the plans of
//! other tools as a workload and a load.
//!
//! Each tool has a module of its own in all three. Nothing here starts a process.

pub mod external_generator;
pub mod import;
pub mod outputs;
