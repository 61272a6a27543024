use super::side_by_side::{Groups, held, in_groups};
use super::{VERSION, cache, contenders, lock};
use crate::Format;
use crate::exit::{Error, FAILED};
use crate::output::{json, line, message};
use crate::progress::Show;
use clap::Args;
use lab::{Place, Ready};
use model::catalog::Catalog;
use model::image::Image;
use model::name::ContenderName;
use model::units::show_bytes;
use runner::database::Means;
use runner::image::{self, Store};
use runner::needs::Tools;
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// What `faceoff build` is asked.
#[derive(Args)]
pub struct Options {
    /// Systems, with variants as `system:variant` or `system:one+another` [default: all]
    systems: Vec<String>,
    /// Build this many systems at a time. Variants of one system, and systems whose builds write into the same folder, are still built
    /// one after another
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Make an image of each as well, for containers to start from; where none is named, of each system without variants
    #[arg(long)]
    images: bool,
    /// Write each image into this folder, as an archive that `docker load` reads
    #[arg(long, value_name = "FOLDER", requires = "images")]
    save: Option<PathBuf>,
    /// How to print what images came out
    #[arg(long, value_enum, default_value = "text", requires = "images")]
    format: Format,
}

/// The result of a build, with the image if images are made.
enum Imaged {
    Built,
    Made(Box<Image>, Option<PathBuf>),
    Skipped(String),
    Failed(String),
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let all = options.systems.is_empty();
    let mut contenders = contenders(catalog, &options.systems, all)?;
    if options.images && all {
        contenders.retain(|contender| contender.name.variants.is_empty());
    }
    let _lock = lock(&stop)?;
    let cache = cache(catalog);
    let place = Place { catalog, cache: &cache, version: VERSION, stop: &stop };
    let store = if options.images { Some(Store::open(&cache.join("images")).map_err(unwritable)?) } else { None };
    if let Some(folder) = &options.save {
        std::fs::create_dir_all(folder).map_err(|e| unwritable(format!("{} cannot be made: {e}", folder.display())))?;
    }
    let groups = Groups::find(&contenders).members;
    let show = Mutex::new(Show::default());
    let outcomes: Mutex<BTreeMap<usize, Imaged>> = Mutex::default();
    // Layers are written to one temporary file of the store.
    let one_image = Mutex::new(());
    let one = |tools: &mut Tools, at: usize| -> Result<(), Error> {
        let contender = contenders[at].clone();
        let name = &contenders[at].name;
        let means = Means { tools, run: "build", stop: &stop };
        let outcome = match (lab::gather(&place, tools, contender, "build", &mut |p| held(&show).take(p))?, &store) {
            (Err(why), _) if why.failed => Imaged::Failed(why.reason),
            (Err(why), _) => Imaged::Skipped(why.reason),
            (Ok(_), None) => Imaged::Built,
            (Ok(gathered), Some(store)) => {
                let imaged = match image::has_none(&gathered.contender) {
                    Some(why) => Imaged::Skipped(why.to_owned()),
                    None => {
                        let _alone = held(&one_image);
                        make_image(&gathered, store, &cache, options.save.as_deref(), means)?
                    }
                };
                match &imaged {
                    Imaged::Skipped(why) => held(&show).say(&format!("skipped: {name}: {why}")),
                    Imaged::Failed(why) => held(&show).say(&format!("failed: {name}: {why}")),
                    Imaged::Made(..) | Imaged::Built => {}
                }
                imaged
            }
        };
        held(&outcomes).insert(at, outcome);
        Ok(())
    };
    in_groups(&groups, options.jobs.into(), &stop, |_| Ok(Tools::default()), one, drop)?;
    held(&show).done();
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    let images: Vec<(ContenderName, Imaged)> = outcomes.into_iter().map(|(at, imaged)| (contenders[at].name.clone(), imaged)).collect();
    let count = |pick: fn(&Imaged) -> bool| images.iter().filter(|(_, imaged)| pick(imaged)).count();
    let ready = count(|imaged| matches!(imaged, Imaged::Made(..) | Imaged::Built));
    let (skipped, failed) = (count(|imaged| matches!(imaged, Imaged::Skipped(_))), count(|imaged| matches!(imaged, Imaged::Failed(_))));
    if let Some(store) = &store {
        store.sweep();
        match options.format {
            Format::Json => json(&images.iter().map(|(name, imaged)| to_json(name, imaged)).collect::<Vec<_>>()),
            Format::Text => images.iter().for_each(|(_, imaged)| print(imaged)),
        }
        message(&format!("images are in {}", store.folder().display()));
    }
    message(&format!("{ready} ready, {skipped} skipped, {failed} failed"));
    Ok(if failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Makes the image of a built contender, and saves it into the folder that was given.
fn make_image(gathered: &Ready, store: &Store, cache: &Path, save: Option<&Path>, means: Means<'_>) -> Result<Imaged, Error> {
    match image::make(&gathered.contender, store, cache, means) {
        Err(_) if means.stop.load(Ordering::Relaxed) => Err(Error::Interrupted(crate::signals::code())),
        Err(failure) => Ok(Imaged::Failed(failure.log.iter().fold(failure.cause, |text, line| format!("{text}\n  | {line}")))),
        Ok(image) => {
            image::note(&gathered.participant, &image, cache);
            let saved = save.map(|folder| folder.join(format!("{}.tar", gathered.contender.name.to_string().replace(':', "_"))));
            if let Some(path) = &saved {
                image::save(&image, store, path, cache, means).map_err(unwritable)?;
            }
            Ok(Imaged::Made(Box::new(image), saved))
        }
    }
}

fn unwritable(cause: String) -> Error {
    Error::Failed(format!("{cause}\nhint: is there room, and is the folder yours?"))
}

fn print(imaged: &Imaged) {
    let Imaged::Made(image, saved) = imaged else { return };
    line(&format!("{}  {}  {}", image.reference, show_bytes(image.bytes), image.digest));
    for layer in &image.layers {
        line(&format!(
            "  {:>10}  {:<19}  {}",
            layer.bytes.map(show_bytes).unwrap_or_default(),
            layer.digest.get(..19).unwrap_or(&layer.digest),
            layer.what
        ));
    }
    for said in &image.said {
        line(&format!("  {said}"));
    }
    if let Some(path) = saved {
        line(&format!("  saved in {}", path.display()));
    }
}

fn to_json(name: &ContenderName, imaged: &Imaged) -> Value {
    match imaged {
        Imaged::Built => value!({"system": name, "outcome": "built"}),
        Imaged::Made(image, saved) => value!({"system": name, "outcome": "made", "image": image, "saved": saved}),
        Imaged::Skipped(reason) => value!({"system": name, "outcome": "skipped", "reason": reason}),
        Imaged::Failed(reason) => value!({"system": name, "outcome": "failed", "reason": reason}),
    }
}
