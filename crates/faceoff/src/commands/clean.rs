//! `faceoff clean`: removes what faceoff keeps between runs, and what killed runs left behind.

use super::cache;
use crate::exit::Error;
use crate::output::line;
use clap::Args;
use runner::database::Forgotten;
use spec::catalog::Catalog;
use std::path::Path;
use std::process::ExitCode;

/// Options of `faceoff clean`.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 done, 1 something could not be removed, 2 usage.")]
pub struct Options {
    /// Also remove the records in records/
    #[arg(long)]
    records: bool,
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let _lock = super::take_lock(&stop)?;
    let is_cleared = super::remove_leftovers();
    for tree in runner::revision::forget(catalog.dir()) {
        line(&format!("removed {}", tree.display()));
    }
    let images = runner::docker::forget_images();
    for image in &images.removed {
        line(&format!("removed the image {image}"));
    }
    let failed = |folder: &Path, e: std::io::Error| {
        Error::Failed(format!(
            "{} cannot be removed: {e}\nhint: check who owns it",
            folder.display()
        ))
    };
    let (cache, databases) = (cache(catalog), runner::database::home(&cache(catalog)));
    let mut folders = vec![cache];
    if options.records {
        folders.push(catalog.dir().join("records"));
    }
    match runner::database::forget(&databases).map_err(|e| failed(&databases, e))? {
        Forgotten::Nothing => {}
        Forgotten::Removed => line(&format!("removed {}", databases.display())),
        Forgotten::InUse => {
            line(&format!("kept {}: another faceoff uses databases there", databases.display()));
            folders.retain(|folder| !databases.starts_with(folder));
        }
    }
    for folder in folders.into_iter().filter(|f| f.exists()) {
        std::fs::remove_dir_all(&folder).map_err(|e| failed(&folder, e))?;
        line(&format!("removed {}", folder.display()));
    }
    let mut left: Vec<String> = images
        .kept
        .iter()
        .map(|(image, why)| format!("the image {image} is kept: {why}"))
        .collect();
    if !left.is_empty() {
        left.push("hint: remove the containers that use them (`docker ps -a`), then run `faceoff clean` again".into());
    }
    if !is_cleared {
        left.push(
            "not everything that killed runs left behind could be removed; see above\nhint: run `faceoff clean` again when it can be reached".into(),
        );
    }
    if left.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Error::Failed(left.join("\n"))) }
}
