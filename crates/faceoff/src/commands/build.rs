//! `faceoff build`: builds systems whose sources have changed, and their images on request.

use super::build_groups::{Groups, in_groups, lock_ignoring_panics};
use super::{VERSION, cache, contenders, lock};
use crate::exit::{Error, FAILED};
use crate::output::{Format, json, line, message};
use crate::progress::Show;
use clap::Args;
use lab::{Place, Ready};
use record::log_lines;
use runner::image::{self, Store};
use runner::means::Means;
use runner::needs::Tools;
use serde_json::{Value, json as value};
use spec::catalog::Catalog;
use spec::image::Image;
use spec::name::ContenderName;
use spec::system::Contender;
use spec::units::show_bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Options of `faceoff build`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 built (anything skipped is listed), 1 a build failed, 2 usage or \
                  a problem in a file, 130 and 143 interrupted."
)]
pub struct Options {
    /// Systems to build; variants as `system:variant` or `system:one+another` [default: all]
    systems: Vec<String>,
    /// Number of systems to build at a time. Variants of one system, and systems that build into
    /// the same folder, are still built one after another
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Also create an image of each, for containers to start from [default: each system without
    /// variants]
    #[arg(long)]
    images: bool,
    /// Write each image into this folder, as an archive for `docker load`
    #[arg(long, value_name = "FOLDER", requires = "images")]
    save: Option<PathBuf>,
    /// How to print the images
    #[arg(long, value_enum, default_value = "text", requires = "images")]
    format: Format,
}

/// The result of a build, with the image if images are created.
enum Outcome {
    Built,
    Imaged(Box<Image>, Option<PathBuf>),
    Skipped(String),
    Failed(String),
}

/// What all jobs share.
struct Job<'a> {
    place: Place<'a>,
    store: Option<&'a Store>,
    save: Option<&'a Path>,
    show: Mutex<Show>,
    /// Locked while an image is created: its layers go through one temporary file.
    one_image: Mutex<()>,
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let all = options.systems.is_empty();
    let mut contenders = contenders(catalog, &options.systems, all)?;
    if options.images && all {
        contenders.retain(|contender| contender.name.variants.is_empty());
    }
    let _lock = lock(&stop)?;
    let cache = cache(catalog);
    let store = if options.images {
        Some(Store::open(&cache.join("images")).map_err(unwritable)?)
    } else {
        None
    };
    if let Some(folder) = &options.save {
        std::fs::create_dir_all(folder)
            .map_err(|e| unwritable(format!("{} cannot be created: {e}", folder.display())))?;
    }
    let job = Job {
        place: Place { catalog, cache: &cache, version: VERSION, stop: &stop },
        store: store.as_ref(),
        save: options.save.as_deref(),
        show: Mutex::new(Show::default()),
        one_image: Mutex::new(()),
    };
    let outcomes = build_all(&job, &contenders, options.jobs.into(), &stop)?;
    if let Some(store) = &store {
        store.sweep();
        match options.format {
            Format::Json => json(
                &outcomes.iter().map(|(name, outcome)| to_json(name, outcome)).collect::<Vec<_>>(),
            ),
            Format::Text => outcomes.iter().for_each(|(_, outcome)| print(outcome)),
        }
        message(&format!("images are in {}", store.folder().display()));
    }
    let count = |pick: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| pick(o)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    message(&format!(
        "{} ready, {} skipped, {failed} failed",
        count(|outcome| matches!(outcome, Outcome::Imaged(..) | Outcome::Built)),
        count(|outcome| matches!(outcome, Outcome::Skipped(_)))
    ));
    Ok(if failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Builds all contenders, and returns the outcomes in their order.
fn build_all(
    job: &Job<'_>,
    contenders: &[Contender],
    jobs: usize,
    stop: &AtomicBool,
) -> Result<Vec<(ContenderName, Outcome)>, Error> {
    let groups = Groups::find(contenders).members;
    let outcomes: Mutex<BTreeMap<usize, Outcome>> = Mutex::default();
    let one = |tools: &mut Tools, at: usize| -> Result<(), Error> {
        let outcome = job.build(tools, contenders[at].clone())?;
        lock_ignoring_panics(&outcomes).insert(at, outcome);
        Ok(())
    };
    in_groups(&groups, jobs, stop, |_| Ok(Tools::default()), one, drop)?;
    lock_ignoring_panics(&job.show).done();
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(outcomes.into_iter().map(|(at, outcome)| (contenders[at].name.clone(), outcome)).collect())
}

impl Job<'_> {
    /// Builds a contender, and creates its image if images are wanted.
    fn build(&self, tools: &Tools, contender: Contender) -> Result<Outcome, Error> {
        let name = contender.name.clone();
        let gathered = lab::gather(&self.place, tools, contender, "build", &mut |p| {
            lock_ignoring_panics(&self.show).take(p)
        })?;
        let ready = match (gathered, self.store) {
            (Err(why), _) if why.failed => return Ok(Outcome::Failed(why.reason)),
            (Err(why), _) => return Ok(Outcome::Skipped(why.reason)),
            (Ok(_), None) => return Ok(Outcome::Built),
            (Ok(ready), Some(store)) => (ready, store),
        };
        let outcome = self.create_image(&ready.0, ready.1, tools)?;
        let say = |text: String| lock_ignoring_panics(&self.show).say(&text);
        match &outcome {
            Outcome::Skipped(why) => say(format!("skipped: {name}: {why}")),
            Outcome::Failed(why) => say(format!("failed: {name}: {why}")),
            Outcome::Imaged(..) | Outcome::Built => {}
        }
        Ok(outcome)
    }

    /// Creates the image of a built contender, and saves it if a folder was given.
    fn create_image(&self, built: &Ready, store: &Store, tools: &Tools) -> Result<Outcome, Error> {
        let Place { cache, stop, .. } = self.place;
        let means = Means { tools, run: "build", stop };
        if let Some(why) = image::has_none(&built.contender) {
            return Ok(Outcome::Skipped(why.to_owned()));
        }
        let _alone = lock_ignoring_panics(&self.one_image);
        let image = match image::make(&built.contender, store, cache, means) {
            Ok(image) => image,
            Err(_) if stop.load(Ordering::Relaxed) => {
                return Err(Error::Interrupted(crate::signals::code()));
            }
            Err(failure) => return Ok(Outcome::Failed(failure.cause + &log_lines(&failure.log))),
        };
        image::note(&built.participant, &image, cache);
        let file = format!("{}.tar", built.contender.name.folder_name());
        let saved = self.save.map(|folder| folder.join(file));
        if let Some(path) = &saved {
            image::save(&image, store, path, cache, means).map_err(unwritable)?;
        }
        Ok(Outcome::Imaged(Box::new(image), saved))
    }
}

fn unwritable(cause: String) -> Error {
    Error::Failed(format!("{cause}\nhint: check the free disk space and who owns the folder"))
}

/// Prints an image with its layers.
fn print(outcome: &Outcome) {
    let Outcome::Imaged(image, saved) = outcome else { return };
    line(&format!("{}  {}  {}", image.reference, show_bytes(image.bytes), image.digest));
    for layer in &image.layers {
        line(&format!(
            "  {:>10}  {:<19}  {}",
            layer.bytes.map(show_bytes).unwrap_or_default(),
            layer.digest.get(..19).unwrap_or(&layer.digest),
            layer.what
        ));
    }
    for source in &image.sources {
        line(&format!("  {source}"));
    }
    if let Some(path) = saved {
        line(&format!("  saved in {}", path.display()));
    }
}

fn to_json(name: &ContenderName, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Built => value!({"system": name, "outcome": "built"}),
        Outcome::Imaged(image, saved) => {
            value!({"system": name, "outcome": "made", "image": image, "saved": saved})
        }
        Outcome::Skipped(reason) => {
            value!({"system": name, "outcome": "skipped", "reason": reason})
        }
        Outcome::Failed(reason) => value!({"system": name, "outcome": "failed", "reason": reason}),
    }
}
