use super::{VERSION, cache, contenders, lock};
use crate::exit::{Error, FAILED};
use crate::output::message;
use crate::progress::Show;
use clap::Args;
use lab::Place;
use model::catalog::Catalog;
use runner::needs::Tools;
use std::process::ExitCode;

/// What `faceoff build` is asked.
#[derive(Args)]
pub struct Options {
    /// Systems, with variants as `system:variant` or `system:one+another` [default: all]
    systems: Vec<String>,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let contenders = contenders(catalog, &options.systems, options.systems.is_empty())?;
    let _lock = lock(&stop)?;
    let cache = cache(catalog);
    let place = Place { catalog, cache: &cache, version: VERSION, stop: &stop };
    let tools = Tools::default();
    let mut show = Show::default();
    let (mut ready, mut skipped, mut failed) = (0, 0, 0);
    for contender in contenders {
        match lab::gather(&place, &tools, contender, "build", &mut |p| show.take(p))? {
            Ok(_) => ready += 1,
            Err(why) if why.failed => failed += 1,
            Err(_) => skipped += 1,
        }
    }
    show.done();
    message(&format!("{ready} ready, {skipped} skipped, {failed} failed"));
    Ok(if failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}
