//! `faceoff generate`: writes shell completions and manual pages from the definition of the command
//! line.

use crate::exit::Error;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `faceoff generate`.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 written, 1 cannot be written, 2 usage.")]
pub struct Options {
    /// The folder for completions/ and man/man1/; existing files are replaced
    folder: PathBuf,
}

/// Refuses, because this build lacks the feature.
#[cfg(not(feature = "generate"))]
pub fn run(options: &Options, _: &clap::Command) -> Result<ExitCode, Error> {
    use spec::problem::Problems;
    let ability = format!("write completions and manual pages into {}", options.folder.display());
    Err(Problems::missing_feature("generate", &ability).into())
}

/// Runs the subcommand; `faceoff` is the definition of the command line.
#[cfg(feature = "generate")]
pub fn run(options: &Options, faceoff: &clap::Command) -> Result<ExitCode, Error> {
    write_all(&options.folder, faceoff).map_err(|error| {
        Error::Failed(format!(
            "completions and manual pages cannot be written into {}: {error}\n\
             hint: name a folder that you may write to",
            options.folder.display()
        ))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the completions for each shell, and a manual page for each subcommand.
#[cfg(feature = "generate")]
pub fn write_all(folder: &std::path::Path, faceoff: &clap::Command) -> std::io::Result<()> {
    use clap_complete::{Shell, generate_to};
    let (completions, pages) = (folder.join("completions"), folder.join("man/man1"));
    for made in [&completions, &pages] {
        std::fs::create_dir_all(made)?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut faceoff.clone(), "faceoff", &completions)?;
    }
    // A page for `faceoff help` would only repeat the others.
    clap_mangen::generate_to(faceoff.clone().disable_help_subcommand(true), &pages)
}
