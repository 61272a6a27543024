//! `faceoff serve`: the records of a folder as a site (docs/serve.md).

#[cfg(feature = "serve")]
mod desk;
#[cfg(feature = "serve")]
mod door;

use crate::exit::Error;
use crate::output::{line, message};
use clap::Args;
use model::catalog::Catalog;
use model::problem::Problems;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `faceoff serve` is asked.
#[derive(Args)]
pub struct Options {
    /// The folder with records, or one record [default: records/]
    folder: Option<PathBuf>,
    /// Where it listens; anything but a loopback address lets others read the records
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7670")]
    listen: SocketAddr,
    /// A name by which it is reached, beside the address itself and `localhost`; may be given several times
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
}

pub fn run(catalog: Option<&Catalog>, options: &Options) -> Result<ExitCode, Error> {
    if cfg!(not(feature = "serve")) {
        let ability = "serve records; `faceoff report RECORD` makes the page of one without it";
        return Err(crate::features::missing("serve", ability).into());
    }
    let folder = options.folder.clone().or_else(|| Some(catalog?.dir().join("records"))).ok_or_else(|| {
        Problems::plain(
            "no folder with records is named",
            "name it, or run faceoff inside a folder with systems/, workloads/ or experiments/",
        )
    })?;
    if !folder.is_dir() {
        return Err(Problems::plain(
            format!("{} is not a folder", folder.display()),
            "name the folder that `faceoff run` leaves records in",
        )
        .into());
    }
    let failed = |e: std::io::Error| {
        Error::Failed(format!(
            "{} cannot be listened on: {e}\nhint: name another address with --listen, such as 127.0.0.1:0",
            options.listen
        ))
    };
    let listener = TcpListener::bind(options.listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if !address.ip().is_loopback() {
        message("warning: whoever reaches this address can read the records; nothing is encrypted and nobody is asked who they are");
    }
    // Nobody is reached at "any address".
    let shown = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::from((Ipv6Addr::LOCALHOST, address.port())),
        _ => address,
    };
    line(&format!("http://{shown}/"));
    answer(listener, folder, options).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "serve")]
fn answer(listener: TcpListener, folder: PathBuf, options: &Options) -> std::io::Result<()> {
    door::Door::new(desk::Desk::open(folder), options.name.clone()).serve(listener)
}

#[cfg(not(feature = "serve"))]
fn answer(_: TcpListener, _: PathBuf, _: &Options) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
