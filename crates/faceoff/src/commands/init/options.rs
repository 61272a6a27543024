//! The options of `faceoff init`.

use clap::Args;
use spec::name::{NAME_HINT, is_name};
use spec::units::parse_duration;
use std::time::Duration;

/// A service's name, and a value for that service.
pub type ForService = (String, String);

/// Options of `faceoff init`.
#[derive(Args)]
#[command(
    after_help = "You are asked for anything not given as an option. Commands run without a shell, and must stop on SIGTERM.\n\nExit codes: 0 both respond correctly, 1 one does not, 2 usage, 130 and 143 interrupted."
)]
pub struct Options {
    /// A service: its name, and the command that starts it, with {port} for its port; give it twice
    #[arg(long = "service", value_name = "NAME=COMMAND", value_parser = for_service)]
    pub services: Vec<ForService>,
    /// The environment variable for a service's port, if its command has no {port} [default: PORT]
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = for_service)]
    pub port_in: Vec<ForService>,
    /// The folder in which a service's commands run [default: this folder]
    #[arg(long = "in", value_name = "NAME=FOLDER", value_parser = for_service)]
    pub folders: Vec<ForService>,
    /// The command that builds a service; separate several with `;` [default: the usual command for
    /// the project in its folder, if the program is missing]
    #[arg(long, value_name = "NAME=COMMAND", value_parser = for_service)]
    pub build: Vec<ForService>,
    /// The file that a service's build produces, relative to its folder [default: the usual file
    /// for the project in its folder]
    #[arg(long, value_name = "NAME=FILE", value_parser = for_service)]
    pub makes: Vec<ForService>,
    /// The files that decide what the build produces, such as `src/**` [default: the usual source
    /// files in its folder]
    #[arg(long, value_name = "NAME=FILES", value_parser = for_service)]
    pub made_of: Vec<ForService>,
    /// The request to send to both: `/path`, `POST /path BODY`, or a curl command line
    #[arg(long, value_name = "REQUEST")]
    pub request: Option<String>,
    /// Time limit from a service's start to its first correct response
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub ready: Option<Duration>,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

/// Parses `NAME=VALUE`.
fn for_service(text: &str) -> Result<ForService, String> {
    match text.split_once('=') {
        Some((name, value)) if is_name(name) && !value.trim().is_empty() => {
            Ok((name.to_owned(), value.trim().to_owned()))
        }
        Some((name, value)) if !value.trim().is_empty() => {
            Err(format!("`{name}` cannot name a service: {NAME_HINT}"))
        }
        _ => Err("write the service's name, `=` and the value".to_owned()),
    }
}
