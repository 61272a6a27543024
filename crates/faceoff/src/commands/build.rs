use super::{VERSION, cache, contenders, lock};
use crate::Format;
use crate::exit::{Error, FAILED};
use crate::output::{json, line, message};
use crate::progress::Show;
use clap::Args;
use lab::Place;
use model::catalog::Catalog;
use model::image::Image;
use model::name::ContenderName;
use model::units::show_bytes;
use runner::database::Means;
use runner::image::{self, Store};
use runner::needs::Tools;
use serde_json::{Value, json as value};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// What `faceoff build` is asked.
#[derive(Args)]
pub struct Options {
    /// Systems, with variants as `system:variant` or `system:one+another` [default: all]
    systems: Vec<String>,
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

/// What came of one image.
enum Imaged {
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
    let tools = Tools::default();
    let means = Means { tools: &tools, run: "build", stop: &stop };
    let store = if options.images { Some(Store::open(&cache.join("images")).map_err(unwritable)?) } else { None };
    if let Some(folder) = &options.save {
        std::fs::create_dir_all(folder).map_err(|e| unwritable(format!("{} cannot be made: {e}", folder.display())))?;
    }
    let mut show = Show::default();
    let (mut ready, mut skipped, mut failed) = (0, 0, 0);
    let mut images = Vec::new();
    for contender in contenders {
        let name = contender.name.clone();
        let gathered = match lab::gather(&place, &tools, contender, "build", &mut |p| show.take(p))? {
            Ok(gathered) => gathered,
            Err(why) => {
                if why.failed {
                    failed += 1
                } else {
                    skipped += 1
                }
                let reason = why.reason;
                images.push((name, if why.failed { Imaged::Failed(reason) } else { Imaged::Skipped(reason) }));
                continue;
            }
        };
        let Some(store) = &store else {
            ready += 1;
            continue;
        };
        let imaged = match image::has_none(&gathered.contender) {
            Some(why) => Imaged::Skipped(why.to_owned()),
            None => match image::make(&gathered.contender, store, &cache, means) {
                Err(_) if stop.load(Ordering::Relaxed) => return Err(Error::Interrupted(crate::signals::code())),
                Err(failure) => Imaged::Failed(failure.log.iter().fold(failure.cause, |text, line| format!("{text}\n  | {line}"))),
                Ok(image) => {
                    image::note(&gathered.participant, &image, &cache);
                    let saved = options.save.as_ref().map(|folder| folder.join(format!("{}.tar", name.to_string().replace(':', "_"))));
                    if let Some(path) = &saved {
                        image::save(&image, store, path, &cache, means).map_err(unwritable)?;
                    }
                    Imaged::Made(Box::new(image), saved)
                }
            },
        };
        match &imaged {
            Imaged::Made(..) => ready += 1,
            Imaged::Skipped(why) => {
                skipped += 1;
                show.say(&format!("skipped: {name}: {why}"));
            }
            Imaged::Failed(why) => {
                failed += 1;
                show.say(&format!("failed: {name}: {why}"));
            }
        }
        images.push((name, imaged));
    }
    show.done();
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
        Imaged::Made(image, saved) => value!({"system": name, "outcome": "made", "image": image, "saved": saved}),
        Imaged::Skipped(reason) => value!({"system": name, "outcome": "skipped", "reason": reason}),
        Imaged::Failed(reason) => value!({"system": name, "outcome": "failed", "reason": reason}),
    }
}
