//! `faceoff serve --export`: the answers to the articles' questions as a static site.
//!
//! The site is a folder: an index, a page for each article, charts and one style sheet. It needs no
//! server and loads nothing from elsewhere. `report::article_site` writes its pages.

use crate::commands::articles::{newest, runs_in, studies, write};
use crate::exit::Error;
use lab::record_files::{create_folder, write_file};
use spec::catalog::Catalog;
use spec::problem::Problems;
use std::path::Path;
use std::process::ExitCode;

/// Writes the site of the runs in a folder, and prints the path of its index.
pub fn write_site(catalog: Option<&Catalog>, runs: &Path, site: &Path) -> Result<ExitCode, Error> {
    let catalog = catalog.filter(|catalog| !catalog.article_names().is_empty());
    let catalog = catalog.ok_or_else(|| {
        Problems::plain(
            "there is no article to write a page about",
            "run faceoff inside a project with articles/, or name it with --dir",
        )
    })?;
    let pages = report::article_site(&studies(catalog, newest(runs_in(runs)))?);
    create_folder(site, "--export")?;
    write_file(&site.join("style.css"), report::site::style())?;
    write(site, &pages, "--export")?;
    Ok(ExitCode::SUCCESS)
}
