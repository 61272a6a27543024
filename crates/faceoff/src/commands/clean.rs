use super::cache;
use crate::exit::Error;
use crate::output::line;
use clap::Args;
use model::catalog::Catalog;
use runner::database::Forgotten;
use std::path::Path;
use std::process::ExitCode;

/// What `faceoff clean` is asked.
#[derive(Args)]
pub struct Options {
    /// Remove the records in records/ as well
    #[arg(long)]
    records: bool,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let _lock = super::take_lock(&stop)?;
    let is_cleared = super::clear_left();
    for tree in runner::revision::forget(catalog.dir()) {
        line(&format!("removed {}", tree.display()));
    }
    let images = runner::docker::forget_images();
    for image in &images.removed {
        line(&format!("removed the image {image}"));
    }
    let failed =
        |folder: &Path, e: std::io::Error| Error::Failed(format!("{} cannot be removed: {e}\nhint: is it yours?", folder.display()));
    let (cache, databases) = (cache(catalog), runner::database::home(&cache(catalog)));
    let mut folders = vec![cache];
    if options.records {
        folders.push(catalog.dir().join("records"));
    }
    match runner::database::forget(&databases).map_err(|e| failed(&databases, e))? {
        Forgotten::Nothing => {}
        Forgotten::Removed => line(&format!("removed {}", databases.display())),
        Forgotten::InUse => {
            line(&format!("kept {}: another faceoff has databases there", databases.display()));
            folders.retain(|folder| !databases.starts_with(folder));
        }
    }
    for folder in folders.into_iter().filter(|f| f.exists()) {
        std::fs::remove_dir_all(&folder).map_err(|e| failed(&folder, e))?;
        line(&format!("removed {}", folder.display()));
    }
    let mut left: Vec<String> = images.kept.iter().map(|(image, why)| format!("the image {image} is kept: {why}")).collect();
    if !left.is_empty() {
        left.push("hint: remove the containers that use them (`docker ps -a`), then call `faceoff clean` again".into());
    }
    if !is_cleared {
        left.push(
            "what killed runs left is not all removed, as is said above\nhint: call `faceoff clean` again where it can be reached".into(),
        );
    }
    if left.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Error::Failed(left.join("\n"))) }
}
