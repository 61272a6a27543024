//! Runs systems in containers of a Docker engine on this machine.
//!
//! The processes of its containers are processes of this machine, so they are sampled like all
//! others. The engine must therefore be local. Everything that is made carries labels, by which it
//! is found again. Start with [`Docker`].

mod container;
mod leftovers;
mod names;
mod ready_made;

pub(crate) use leftovers::remove_noted;
pub use leftovers::{ForgottenImages, clear, forget_images};

use crate::engine::{Body, Engine};
use crate::image::{self, PORT, Store};
use crate::means::Means;
use crate::notes::{Left, Note};
use crate::place::{Inside, Order, Runner, Started, Surroundings};
use crate::ports::{self, pick_ports};
use container::Container;
use names::{Known, LOAD_WITHIN, WITHIN};
use record::Failure;
use spec::experiment::Network;
use spec::image::Image;
use spec::name::ContenderName;
use spec::system::Contender;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

/// Starts systems in containers.
pub struct Docker {
    engine: Engine,
    network: Network,
    /// The note about its containers.
    note: Note,
    /// The engine's ids of the contenders' images.
    images: RefCell<BTreeMap<ContenderName, Known>>,
}

impl Docker {
    /// Connects to the engine.
    ///
    /// # Errors
    /// An engine that does not exist or cannot be used.
    pub fn open(network: Network) -> Result<Docker, String> {
        let engine = Engine::named()?;
        let at = engine.socket().display().to_string();
        engine
            .request("GET", "/version", Body::Nothing, WITHIN)
            .map_err(|error| format!("no Docker engine at {at}: {error}"))?;
        let socket =
            std::path::absolute(engine.socket()).unwrap_or_else(|_| engine.socket().to_owned());
        let note = Note::write(&Left::Containers { engine: socket })?;
        Ok(Docker { engine, network, note, images: RefCell::default() })
    }

    fn id_of(&self, reference: &str) -> Option<String> {
        let found = self
            .engine
            .request("GET", &format!("/images/{reference}/json"), Body::Nothing, WITHIN)
            .ok()?;
        Some(found["Id"].as_str()?.to_owned())
    }

    /// Has the engine load an image of the store, unless it has the image.
    fn load(&self, image: &Image, store: &Store, cache: &Path) -> Result<String, String> {
        // Engines identify an image by its configuration, or by its manifest if they keep it as
        // containerd does.
        let is_it = |id: &String| *id == image.digest || Some(id) == image.config.as_ref();
        if let Some(id) = self.id_of(&image.reference).filter(is_it) {
            return Ok(id);
        }
        let archive = cache.join("image.tar");
        let write = || {
            store.archive(image, std::io::BufWriter::new(std::fs::File::create(&archive)?))?;
            let file = std::fs::File::open(&archive)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        let loaded = write()
            .map_err(|e: std::io::Error| format!("{} cannot be written: {e}", archive.display()))
            .and_then(|(mut file, length)| {
                let loaded = self.engine.request(
                    "POST",
                    "/images/load?quiet=1",
                    Body::Archive(&mut file, length),
                    LOAD_WITHIN,
                );
                loaded.map_err(|error| {
                    format!("the image {} cannot be loaded: {error}", image.reference)
                })
            });
        let _ = std::fs::remove_file(&archive);
        loaded?;
        self.id_of(&image.reference)
            .filter(is_it)
            .ok_or_else(|| format!("the engine changed {} while it loaded it", image.reference))
    }
}

impl Runner for Docker {
    fn provide(
        &self,
        contender: &Contender,
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Option<Image>, Failure> {
        if contender.system.reached.is_some() {
            return Ok(None);
        }
        let failed = |cause: String| Failure { stage: "image".into(), cause, log: vec![] };
        if let Some(reference) = &contender.system.image.ready_made {
            if self.network != Network::Bridge {
                let cause = format!(
                    "an image listens at a port of its own, so it needs a network of its own: \
                     name `{}:in-docker-bridge`",
                    contender.name.system
                );
                return Err(failed(cause));
            }
            let (image, listens) =
                ready_made::provide(&self.engine, reference, &contender.system.start)
                    .map_err(failed)?;
            let known =
                Known { id: image.digest.clone(), is_derived: false, ready_made: Some(listens) };
            self.images.borrow_mut().insert(contender.name.clone(), known);
            return Ok(Some(image));
        }
        if let Some(why) = image::has_none(contender) {
            return Err(failed(why.to_owned()));
        }
        let store = Store::open(&cache.join("images")).map_err(failed)?;
        let image = image::make(contender, &store, cache, means)?;
        store.sweep();
        let is_derived = image.config.is_some();
        let id = if is_derived {
            self.load(&image, &store, cache).map_err(failed)?
        } else {
            image.digest.clone()
        };
        self.images
            .borrow_mut()
            .insert(contender.name.clone(), Known { id, is_derived, ready_made: None });
        Ok(Some(image))
    }

    fn inside(
        &self,
        contender: &Contender,
        around: &Surroundings<'_>,
        _: &Path,
    ) -> Result<Inside, String> {
        let known = self.images.borrow().get(&contender.name).cloned();
        let is_derived = known.as_ref().is_some_and(|known| known.is_derived);
        let first_port =
            known.and_then(|known| known.ready_made).map_or(PORT, |listens| listens.port);
        let mut texts = BTreeMap::new();
        if is_derived {
            texts.insert("java".into(), format!("{}/bin/java", image::JAVA));
            texts.insert("java.home".into(), image::JAVA.to_owned());
        } else {
            texts.insert("java".into(), "java".to_owned());
        }
        texts.insert("work".into(), image::WORK.to_owned());
        if self.network == Network::Host {
            texts.insert("listen".into(), Ipv4Addr::LOCALHOST.to_string());
            let first = pick_ports(contender, Ipv4Addr::LOCALHOST, &mut texts)?;
            return Ok(Inside {
                texts,
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, first)),
                published: vec![],
            });
        }
        around.reached_from(
            "container of a network of its own",
            "have it run in Docker as well, or give the container the machine's network",
        )?;
        texts.insert("listen".into(), Ipv4Addr::UNSPECIFIED.to_string());
        let mut published = Vec::new();
        for (name, inside) in contender.system.start.ports.iter().zip(first_port..) {
            published.push((inside, ports::pick().ok_or("no port of 18000-29999 is free")?));
            texts.insert(format!("port.{name}"), inside.to_string());
        }
        let (_, first) = published.first().copied().ok_or("the system names no port")?;
        Ok(Inside { texts, address: SocketAddr::from((Ipv4Addr::LOCALHOST, first)), published })
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        let known = self.images.borrow().get(&order.contender.name).cloned();
        let known =
            known.ok_or_else(|| format!("no image of {} was made", order.contender.name))?;
        Ok(Box::new(Container::start(&self.engine, self.note.name(), &known, self.network, order)?))
    }

    fn lost(&self) -> Option<String> {
        self.engine.lost()
    }

    fn recover(&self) -> Result<(), String> {
        self.engine
            .request("GET", "/version", Body::Nothing, WITHIN)
            .map_err(|error| error.to_string())?;
        // What cannot be removed now is removed at the end, or by a later run.
        let _ = leftovers::remove(&self.engine, &[leftovers::of_note(self.note.name())]);
        Ok(())
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // If this fails, the note remains for a later run.
        if leftovers::remove(&self.engine, &[leftovers::of_note(self.note.name())]).is_ok() {
            self.note.forget();
        }
    }
}
