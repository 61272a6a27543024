//! Writes the files of an experiment for services of your own: used by `faceoff init` and
//! `faceoff vs`.
//!
//! `requests` reads the request, `project` recognises how a service is built, `service` and
//! `experiment` write the files' text, `sampling` starts the services and collects responses, and
//! `correct_response` learns from these what a correct response is.

pub mod correct_response;
pub mod experiment;
pub mod project;
pub mod requests;
pub mod sampling;
pub mod service;
pub mod sources;
pub mod written_files;
