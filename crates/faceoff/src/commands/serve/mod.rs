//! `faceoff serve`: serves the records of a folder as a local web site (docs/guide/serve.md).
//!
//! `http_server` accepts requests, `page_cache` reads records and renders pages. `export` writes
//! the pages about articles into a folder instead.

mod export;
#[cfg(feature = "serve")]
mod http_server;
#[cfg(feature = "serve")]
mod page_cache;

use crate::exit::Error;
use crate::output::{line, message};
use clap::Args;
use spec::catalog::Catalog;
use spec::problem::Problems;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `faceoff serve`.
#[derive(Args)]
#[command(after_help = "Exit codes: 1 cannot listen, 2 usage. It runs until a signal ends it.")]
pub struct Options {
    /// The folder with records, or one record [default: records/]
    folder: Option<PathBuf>,
    /// The address to listen on. Others can read the records unless it is a loopback address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7670")]
    listen: SocketAddr,
    /// A further host name of the site, in addition to its address and `localhost`; repeatable
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Serve nothing, but write the answers to the articles' questions as a static site into this
    /// folder. FOLDER may then also have files of judgements
    #[arg(long, value_name = "SITE", conflicts_with_all = ["listen", "name"])]
    export: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(catalog: Option<&Catalog>, options: &Options) -> Result<ExitCode, Error> {
    if cfg!(not(feature = "serve")) && options.export.is_none() {
        let ability = "serve records; `faceoff report RECORD` writes the report of one without it";
        return Err(Problems::missing_feature("serve", ability).into());
    }
    // `faceoff vs` writes its records into this folder.
    let here = || Some(PathBuf::from("records")).filter(|folder| folder.is_dir());
    let of_catalog = || Some(catalog?.dir().join("records"));
    let folder = options.folder.clone().or_else(of_catalog).or_else(here).ok_or_else(|| {
        Problems::plain(
            "no folder with records is named",
            "name one, or run faceoff inside a folder with systems/, workloads/ or experiments/",
        )
    })?;
    if !folder.is_dir() {
        return Err(Problems::plain(
            format!("{} is not a folder", folder.display()),
            "name the folder that `faceoff run` writes records into",
        )
        .into());
    }
    if let Some(site) = &options.export {
        return export::write_site(catalog, &folder, site);
    }
    let failed = |e: std::io::Error| {
        Error::Failed(format!(
            "cannot listen on {}: {e}\nhint: name another address with --listen, such as 127.0.0.1:0",
            options.listen
        ))
    };
    let listener = TcpListener::bind(options.listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if !address.ip().is_loopback() {
        message(
            "warning: everyone who can reach this address can read the records, without encryption or password",
        );
    }
    // An unspecified address cannot be opened in a browser, so loopback is printed.
    let shown = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::from((Ipv6Addr::LOCALHOST, address.port()))
        }
        _ => address,
    };
    line(&format!("http://{shown}/"));
    answer(listener, folder, options).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers requests until the process ends.
#[cfg(feature = "serve")]
fn answer(listener: TcpListener, folder: PathBuf, options: &Options) -> std::io::Result<()> {
    http_server::HttpServer::new(page_cache::PageCache::open(folder), options.name.clone())
        .serve(listener)
}

#[cfg(not(feature = "serve"))]
fn answer(_: TcpListener, _: PathBuf, _: &Options) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
