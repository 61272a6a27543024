//! The services that `faceoff vs` compares: URLs, commands and images.
//!
//! Start at [`parse_services`].

use crate::commands::authoring::requests::split_one_command;
use crate::commands::authoring::sampling::WORKLOAD;
use crate::commands::authoring::{self, project};
use crate::exit::Error;
use interop::import::{quoted, time};
use load::Protocol;
use load::tls::TlsOptions;
use load::url::{self, Access, Url};
use record::log_lines;
use spec::image::split_reference;
use spec::name::is_name;
use spec::problem::Problems;
use spec::secret;
use std::path::Path;
use std::time::Duration;

/// How long a service that is started may take to be ready.
const READY: Duration = Duration::from_secs(60);

/// One of the compared services.
pub struct Service<'t> {
    /// Its name.
    pub name: String,
    /// How it is reached or started.
    origin: Origin<'t>,
}

/// How a service is reached or started.
enum Origin<'t> {
    /// It runs already, at this URL.
    Url(Url<'t>),
    /// A command starts it.
    Command(authoring::service::Service),
    /// It starts from an image.
    Image(Image<'t>),
}

/// An existing image.
struct Image<'t> {
    /// Its reference, such as `shop/orders:1.2`.
    reference: &'t str,
    /// The port at which it listens, if one is given.
    port: Option<u16>,
}

/// The prefix of an image: `image=shop/orders:1.2`.
const IMAGE: &str = "image=";

impl<'t> Image<'t> {
    /// Parses `shop/orders:1.2` or `shop/orders:1.2#8080`, and derives a name: `orders-1.2`.
    fn parse(text: &'t str) -> Result<(String, Image<'t>), Error> {
        let (reference, port) =
            text.split_once('#').map_or((text, None), |(reference, port)| (reference, Some(port)));
        let (repository, tag) = split_reference(reference)
            .map_err(|why| Problems::plain(why, "write image=shop/orders:1.2"))?;
        let port = port
            .map(|port| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or(port))
            .transpose();
        let port = port.map_err(|port| {
            Problems::plain(format!("`{port}` is not a port"), "write image=shop/orders:1.2#8080")
        })?;
        let last = repository.rsplit('/').next().unwrap_or(repository);
        let tag: String = tag.trim_start_matches("sha256:").chars().take(20).collect();
        Ok((format!("{last}-{tag}"), Image { reference, port }))
    }

    fn manifest(&self, name: &str) -> String {
        let start = self
            .port
            .map(|port| format!("\n[start]\ncontainer_port = {port}\n"))
            .unwrap_or_default();
        format!(
            "name    = {}\nsummary = {}\nkind    = \"service\"\nimage   = {}\nanswers = [\"{WORKLOAD}\"]\n{start}\n[ready]\nwithin = \"{}\"\n",
            quoted(name),
            quoted(&format!("the image {}", self.reference)),
            quoted(self.reference),
            time(READY),
        )
    }
}

impl Service<'_> {
    /// Parses a service: a URL, `NAME=URL`, `NAME=COMMAND` or `image=NAME:TAG`.
    fn parse(text: &str) -> Result<Service<'_>, Error> {
        let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
        let named = text.split_once('=').filter(|(name, _)| is_name(name));
        let image = text.strip_prefix(IMAGE).filter(|rest| !is_url(rest)).map(|rest| (None, rest));
        let image = image.or_else(|| {
            named.and_then(|(name, value)| Some((Some(name), value.strip_prefix(IMAGE)?)))
        });
        if let Some((name, image)) = image {
            let (usual, image) = Image::parse(image)?;
            return Ok(Service {
                name: name.map_or(usual, str::to_owned),
                origin: Origin::Image(image),
            });
        }
        if let Some((name, command)) = named.filter(|(_, value)| !is_url(value)) {
            return Service::started_by(name, command);
        }
        secret::notice_query(text);
        let url = url::parse(named.map_or(text, |(_, url)| url))?;
        let server = url.server();
        let authority = server.split("://").nth(1).unwrap_or_default();
        let usual =
            || authority.replace(['[', ']'], "").replace(':', "-").trim_matches('-').to_owned();
        Ok(Service {
            name: named.map_or_else(usual, |(name, _)| name.to_owned()),
            origin: Origin::Url(url),
        })
    }

    /// Describes a service that a command starts in this folder.
    fn started_by<'n>(name: &'n str, command: &str) -> Result<Service<'n>, Error> {
        let start = split_one_command(name, command, "use one command")?;
        let folder = std::env::current_dir()
            .map_err(|e| Error::Failed(format!("this folder cannot be found: {e}")))?;
        let jdk = project::recognise(&folder, &start).and_then(|project| project.jdk);
        let command = authoring::service::Service {
            name: name.into(),
            folder,
            build: None,
            start,
            port_in: "PORT".into(),
            jdk,
        };
        Ok(Service { name: name.into(), origin: Origin::Command(command) })
    }

    /// Returns its URL if it runs already.
    pub fn url(&self) -> Option<&Url<'_>> {
        match &self.origin {
            Origin::Url(url) => Some(url),
            Origin::Command(_) | Origin::Image(_) => None,
        }
    }

    /// Returns its `system.toml`. `has_path` adds its path, for services with different ones.
    pub fn manifest(&self, dir: &Path, remote: bool, has_path: bool) -> String {
        let url = match &self.origin {
            Origin::Command(service) => return service.manifest(dir, WORKLOAD, READY),
            Origin::Image(image) => return image.manifest(&self.name),
            Origin::Url(url) => url,
        };
        let server = quoted(&url.server());
        let remote = if remote { "remote = true\n" } else { "" };
        let path = if has_path { format!("path = {}\n", quoted(&url.path)) } else { String::new() };
        format!(
            "name    = {name}\nsummary = {summary}\nkind    = \"service\"\nanswers = [\"{WORKLOAD}\"]\n\n# It runs already, so faceoff does not start it.\n[reached]\nurl = {server}\n{remote}{path}",
            name = quoted(&self.name),
            summary = quoted(&format!("the service at {}", url.server())),
        )
    }

    /// Returns the error for a service that does not respond; `what` completes "the service …".
    pub fn failed(&self, what: &str, log: &[String]) -> Error {
        let name = &self.name;
        match &self.origin {
            Origin::Command(service) => service.failed(what, log),
            Origin::Image(image) => {
                let (log, reference) = (log_lines(log), image.reference);
                Error::Failed(format!(
                    "{name} {what}{log}\nhint: check that `docker run --rm {reference}` starts it, and its port; name another port as image={reference}#8080"
                ))
            }
            Origin::Url(_) => Error::Failed(format!(
                "{name} {what}\nhint: check that it is running and that the request is correct; `curl -i` shows its response"
            )),
        }
    }
}

/// Parses all services, and refuses those that cannot be compared.
///
/// # Errors
/// A service is malformed, has no usable name or an address that is not allowed, or two have the
/// same name.
pub fn parse_services(texts: &[String], allow_remote: bool) -> Result<Vec<Service<'_>>, Error> {
    let services = texts.iter().map(|text| Service::parse(text)).collect::<Result<Vec<_>, _>>()?;
    for (at, service) in services.iter().enumerate() {
        if services[..at].iter().any(|other| other.name == service.name) {
            let hint = "give them names: old=http://127.0.0.1:8080/ new=http://127.0.0.1:8081/";
            return Err(Problems::plain(
                format!("two services are named `{}`", service.name),
                hint,
            )
            .into());
        }
        let Some(url) = service.url() else { continue };
        if !is_name(&service.name) {
            let hint = format!("give it a name: mine={}", url.server());
            return Err(
                Problems::plain(format!("`{}` cannot name a service", service.name), hint).into()
            );
        }
        let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
        let access = Access {
            tls,
            protocol: Protocol::Http1 { keep_alive: true },
            unix: None,
            allow_remote,
        };
        url::resolve(url, &access)?;
    }
    Ok(services)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_get_given_or_derived_names() {
        let read = |text: &str| {
            let service = Service::parse(text).map_err(|e| e.to_string())?;
            let place = service.url().map(|url| (url.server(), url.path.to_owned()));
            Ok::<_, String>((service.name, place))
        };
        let whole = |name: &str, server: &str, path: &str| {
            Ok((name.to_owned(), Some((server.to_owned(), path.to_owned()))))
        };
        assert_eq!(
            read("http://localhost:8080/a?b=c"),
            whole("localhost-8080", "http://localhost:8080", "/a?b=c")
        );
        assert_eq!(read("old=https://h/x=y"), whole("old", "https://h", "/x=y"));
        assert_eq!(read("http://[::1]:81"), whole("1-81", "http://[::1]:81", "/"));
        assert_eq!(read("go=./server --port {port}"), Ok(("go".into(), None)));
        assert_eq!(read("image=shop/orders:1.2"), Ok(("orders-1.2".into(), None)));
        assert_eq!(read("old=image=shop/orders:1.2#80"), Ok(("old".into(), None)));
        assert_eq!(read("image=http://h:1/"), whole("image", "http://h:1", "/"));
        assert!(read("image=shop/orders:1.2#x").unwrap_err().contains("`x` is not a port"));
        assert!(read("image=a b").unwrap_err().contains("cannot name an image"));
        assert!(read("ftp://h").unwrap_err().contains("is not an http:// or https:// URL"));
        assert!(read("go=a && b").unwrap_err().contains("`&&` needs a shell"));
    }
}
