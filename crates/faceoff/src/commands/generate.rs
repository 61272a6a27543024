//! `faceoff generate`: shell completions and manual pages, from the command line itself.

use crate::exit::Error;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `faceoff generate`.
#[derive(Args)]
pub struct Options {
    /// The folder to write completions/ and man/man1/ into; what is there is replaced
    folder: PathBuf,
}

#[cfg(not(feature = "generate"))]
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let ability = format!("write completions and manual pages into {}", options.folder.display());
    Err(crate::features::missing("generate", &ability).into())
}

#[cfg(feature = "generate")]
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    write_all(&options.folder).map_err(|error| {
        Error::Failed(format!(
            "completions and manual pages cannot be written into {}: {error}\n\
             hint: name a folder that you may write to",
            options.folder.display()
        ))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the completions of each shell, and a manual page of each subcommand.
#[cfg(feature = "generate")]
fn write_all(folder: &std::path::Path) -> std::io::Result<()> {
    use clap::CommandFactory;
    use clap_complete::{Shell, generate_to};
    let (completions, pages) = (folder.join("completions"), folder.join("man/man1"));
    for made in [&completions, &pages] {
        std::fs::create_dir_all(made)?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut crate::Cli::command(), "faceoff", &completions)?;
    }
    // A page of `faceoff help` would only repeat the others.
    clap_mangen::generate_to(crate::Cli::command().disable_help_subcommand(true), &pages)
}

#[cfg(all(test, feature = "generate"))]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_subcommand_has_a_page_and_a_completion() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let shells = ["faceoff.bash", "_faceoff", "faceoff.fish"];
        let completions = shells.map(|shell| read(&format!("completions/{shell}")));
        assert!(read("man/man1/faceoff.1").contains("faceoff\\-vs(1)"));
        for command in crate::Cli::command().get_subcommands() {
            let name = command.get_name();
            let page = read(&format!("man/man1/faceoff-{name}.1"));
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
            for (shell, completion) in shells.iter().zip(&completions) {
                assert!(completion.contains(name), "{name} is not completed by {shell}");
            }
        }
    }
}
