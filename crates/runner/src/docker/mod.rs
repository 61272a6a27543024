//! Systems in containers of a Docker engine of this machine.
//!
//! Its containers' processes are processes of this machine: they are sampled as any other, and their control groups read, so the engine
//! must be here and not elsewhere. Everything made carries labels by which it is found again.

mod container;
mod leftovers;

pub(crate) use leftovers::remove_noted;
pub use leftovers::{ForgottenImages, clear, forget_images};

use crate::database::Means;
use crate::engine::{Body, Engine};
use crate::image::{self, Store};
use crate::notes::{Left, Note};
use crate::place::{Inside, Order, Runner, Started, pick_ports};
use crate::ports;
use crate::start::Surroundings;
use container::Container;
use model::experiment::Network;
use model::image::Image;
use model::name::ContenderName;
use model::record::Failure;
use model::system::Contender;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// The label of containers, with the run's id.
const RUN_LABEL: &str = "faceoff.run";
/// The label of containers, with the lock that whoever made them held.
const LOCK_LABEL: &str = "faceoff.lock";
/// The label of containers, with what the note of them is called.
const NOTE_LABEL: &str = "faceoff.note";
/// Where a container listens first, on a network of its own.
const PORT: u16 = 8080;
/// How long an engine may take for what is quick.
const WITHIN: Duration = Duration::from_secs(60);
/// How long it may take to read an image.
const LOAD_WITHIN: Duration = Duration::from_secs(600);

/// Starts systems in containers.
pub struct Docker {
    engine: Engine,
    network: Network,
    /// Of containers that may be in the engine.
    note: Note,
    /// What the engine calls the images of those who take part.
    images: RefCell<BTreeMap<ContenderName, Known>>,
}

/// An image in the engine.
#[derive(Clone)]
struct Known {
    id: String,
    /// Whether we know where things are in it.
    is_derived: bool,
}

impl Docker {
    /// Finds the engine.
    ///
    /// # Errors
    /// In words, that there is none that can be used.
    pub fn open(network: Network) -> Result<Docker, String> {
        let engine = Engine::named()?;
        let at = engine.socket().display().to_string();
        engine.ask("GET", "/version", Body::Nothing, WITHIN).map_err(|trouble| format!("no Docker engine at {at}: {trouble}"))?;
        let socket = std::path::absolute(engine.socket()).unwrap_or_else(|_| engine.socket().to_owned());
        let note = Note::write(&Left::Containers { engine: socket })?;
        Ok(Docker { engine, network, note, images: RefCell::default() })
    }

    fn id_of(&self, reference: &str) -> Option<String> {
        let told = self.engine.ask("GET", &format!("/images/{reference}/json"), Body::Nothing, WITHIN).ok()?;
        Some(told["Id"].as_str()?.to_owned())
    }

    /// Has the engine read an image of the store, unless it has it.
    fn load(&self, image: &Image, store: &Store, cache: &Path) -> Result<String, String> {
        // Engines call an image by its configuration, or by its manifest where they keep it as containerd does.
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
        let loaded =
            write().map_err(|e: std::io::Error| format!("{} cannot be written: {e}", archive.display())).and_then(|(mut file, length)| {
                let loaded = self.engine.ask("POST", "/images/load?quiet=1", Body::Archive(&mut file, length), LOAD_WITHIN);
                loaded.map_err(|trouble| format!("the image {} cannot be loaded: {trouble}", image.reference))
            });
        let _ = std::fs::remove_file(&archive);
        loaded?;
        self.id_of(&image.reference).filter(is_it).ok_or_else(|| format!("the engine has not kept {} as it was made", image.reference))
    }
}

impl Runner for Docker {
    fn provide(&self, contender: &Contender, cache: &Path, means: Means<'_>) -> Result<Option<Image>, Failure> {
        if contender.system.reached.is_some() {
            return Ok(None);
        }
        let failed = |cause: String| Failure { stage: "image".into(), cause, log: vec![] };
        if let Some(why) = image::has_none(contender) {
            return Err(failed(why.to_owned()));
        }
        let store = Store::open(&cache.join("images")).map_err(failed)?;
        let image = image::make(contender, &store, cache, means)?;
        store.sweep();
        let is_derived = image.config.is_some();
        let id = if is_derived { self.load(&image, &store, cache).map_err(failed)? } else { image.digest.clone() };
        self.images.borrow_mut().insert(contender.name.clone(), Known { id, is_derived });
        Ok(Some(image))
    }

    fn inside(&self, contender: &Contender, around: &Surroundings<'_>, _: &Path) -> Result<Inside, String> {
        let is_derived = self.images.borrow().get(&contender.name).is_some_and(|known| known.is_derived);
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
            return Ok(Inside { texts, address: SocketAddr::from((Ipv4Addr::LOCALHOST, first)), published: vec![] });
        }
        around.reached_from(
            "container of a network of its own",
            "have it run in Docker as well, or give the container the machine's network",
        )?;
        texts.insert("listen".into(), Ipv4Addr::UNSPECIFIED.to_string());
        let mut published = Vec::new();
        for (name, inside) in contender.system.start.ports.iter().zip(PORT..) {
            published.push((inside, ports::pick().ok_or("no port of 18000-29999 is free")?));
            texts.insert(format!("port.{name}"), inside.to_string());
        }
        let (_, first) = published.first().copied().ok_or("the system names no port")?;
        Ok(Inside { texts, address: SocketAddr::from((Ipv4Addr::LOCALHOST, first)), published })
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        let known = self.images.borrow().get(&order.contender.name).cloned();
        let known = known.ok_or_else(|| format!("no image of {} was made", order.contender.name))?;
        Ok(Box::new(Container::start(&self.engine, self.note.name(), &known.id, self.network, order)?))
    }

    fn lost(&self) -> Option<String> {
        self.engine.lost()
    }

    fn recover(&self) -> Result<(), String> {
        self.engine.ask("GET", "/version", Body::Nothing, WITHIN).map_err(|trouble| trouble.to_string())?;
        // What cannot be removed now is removed at the end, or by the next run.
        let _ = leftovers::remove(&self.engine, &[leftovers::of_note(self.note.name())]);
        Ok(())
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // What cannot be removed now stays noted, for the next that holds the lock.
        if leftovers::remove(&self.engine, &[leftovers::of_note(self.note.name())]).is_ok() {
            self.note.forget();
        }
    }
}
