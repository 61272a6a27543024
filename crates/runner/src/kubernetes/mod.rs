//! Systems in pods of a Kubernetes cluster.
//!
//! Each start has a deployment and a service, in the one namespace of its run. What a pod uses is read of its processes, so it
//! must run on this machine, as on a cluster of one node.

mod agents;
mod cluster;
mod ingress;
mod leftovers;
mod objects;
mod pod;
mod replicas;
mod status;

pub use agents::AgentPods;
pub use leftovers::clear;
pub(crate) use leftovers::remove_namespace;

use crate::database::Means;
use crate::engine::Body;
use crate::image::{self, Store};
use crate::place::{AskedAgents, Inside, Order, Runner, Started};
use crate::process::{self, NotDone, Spec, last_lines};
use crate::start::Surroundings;
use cluster::{Cluster, node_address};
use ingress::{Before, Behind};
use model::experiment::Network;
use model::image::Image;
use model::name::ContenderName;
use model::record::Failure;
use model::reset::ResetStep;
use model::system::Contender;
use pod::{Pod, Spot};
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Where a pod listens first.
const PORT: u16 = 8080;
/// How long a cluster may take for what is quick.
const WITHIN: Duration = Duration::from_secs(30);
/// How long images may take to get there.
const LOAD_WITHIN: Duration = Duration::from_secs(600);
/// Names the command that brings an archive of an image to the cluster.
const LOADER: &str = "FACEOFF_KUBE_LOAD";

/// Starts systems in pods.
pub struct Kubernetes {
    cluster: Rc<Cluster>,
    network: Network,
    /// What the cluster calls the images of those who take part.
    images: RefCell<BTreeMap<ContenderName, String>>,
    /// Services that were made for a start that is yet to come, by where they are reached, with the nginx of ours before them.
    spots: RefCell<BTreeMap<SocketAddr, (Spot, Option<Before>)>>,
    starts: Cell<u32>,
    /// The class of Ingresses, once the cluster was asked for one.
    class: OnceCell<Option<String>>,
    /// The nginx of ours, and what the cluster calls its image.
    nginx: OnceCell<(Contender, String)>,
}

impl Kubernetes {
    /// Finds the cluster.
    ///
    /// # Errors
    /// In words, that there is none that can be used.
    pub fn open(network: Network) -> Result<Kubernetes, String> {
        let cluster = Cluster::open().map_err(|why| format!("no Kubernetes cluster: {why}"))?;
        let (images, spots) = (RefCell::default(), RefCell::default());
        let (starts, class, nginx) = (Cell::new(0), OnceCell::new(), OnceCell::new());
        Ok(Kubernetes { cluster: Rc::new(cluster), network, images, spots, starts, class, nginx })
    }

    /// The class of Ingresses that the cluster has, if it has one; not asked for where there will be none.
    fn class(&self) -> Result<Option<&str>, String> {
        if self.network == Network::Ingress && self.class.get().is_none() {
            let _ = self.class.set(ingress::class(&self.cluster)?);
        }
        Ok(self.class.get().and_then(|class| class.as_deref()))
    }

    /// Has the cluster have the nginx of ours, where something is to stand behind it.
    fn provide_ingress(&self, store: &Store, cache: &Path, means: Means<'_>) -> Result<(), Failure> {
        let failed = |cause: String| Failure { stage: "image".into(), cause, log: vec![] };
        if self.network != Network::Ingress || self.class().map_err(failed)?.is_some() {
            return Ok(());
        }
        let nginx = ingress::ours(cache).map_err(failed)?;
        let image = image::make(&nginx, store, cache, means)?;
        let name = self.load(&image, store, cache, means)?;
        let _ = self.nginx.set((nginx, name));
        Ok(())
    }

    /// Makes a service; as the cluster has it.
    fn serve(&self, namespace: &str, service: &Value) -> Result<Value, String> {
        self.cluster.ask("POST", &format!("/api/v1/namespaces/{namespace}/services"), Body::Json(service))
    }

    /// Has an image of the store brought to the cluster, unless it is there; what it is called there.
    fn load(&self, image: &Image, store: &Store, cache: &Path, means: Means<'_>) -> Result<String, Failure> {
        let failed = |cause: String, log| Failure { stage: "image".into(), cause, log };
        let name = name_of(image);
        if self.cluster.has_image(&name) {
            return Ok(name);
        }
        let words = std::env::var(LOADER).unwrap_or_default();
        let mut command: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if command.is_empty() {
            let instead = "names no command that brings it there, such as `kind load image-archive`";
            return Err(failed(format!("the image {name} is not in the cluster, and {LOADER} {instead}"), vec![]));
        }
        let cache = std::path::absolute(cache).unwrap_or_else(|_| cache.to_owned());
        let (archive, log) = (cache.join("image.tar"), cache.join("kubernetes.image.log"));
        let _ = std::fs::remove_file(&log);
        let written = std::fs::File::create(&archive).and_then(|file| store.archive_as(image, &name, std::io::BufWriter::new(file)));
        written.map_err(|e| failed(format!("the archive of {name} cannot be written: {e}"), vec![]))?;
        command.push(archive.to_string_lossy().into_owned());
        let env = BTreeMap::new();
        // Where the command is named as seen from here.
        let here = std::env::current_dir().unwrap_or_else(|_| cache.clone());
        let (folder, run) = (here.as_path(), means.run);
        let spec = Spec { command: &command, folder, env: &env, cpus: &[], descriptors: None, log: &log, user: None, run };
        let deadline = load::clock::now_ns() + LOAD_WITHIN.as_nanos() as u64;
        let loaded = process::run(&spec, deadline, means.stop);
        let _ = std::fs::remove_file(&archive);
        let with_log = |what: String| failed(format!("`{words}` {what}; {LOADER} names it"), last_lines(&log, 20));
        loaded.map_err(|why| match why {
            NotDone::NotStarted(cause) => failed(format!("{cause}; {LOADER} names it"), vec![]),
            NotDone::Ended(status) => with_log(format!("ended with {status}")),
            NotDone::Interrupted => failed("interrupted".into(), vec![]),
            NotDone::Late => with_log(format!("was not done within {}", model::units::show_duration(LOAD_WITHIN))),
        })?;
        Ok(name)
    }
}

/// What an image is called in a cluster: by what is in it, so that none that was loaded before is taken for it.
fn name_of(image: &Image) -> String {
    let digest: String = image.digest.trim_start_matches("sha256:").chars().take(12).collect();
    // A tag has 128 characters at most.
    let (repository, tag) = image.reference.rsplit_once(':').unwrap_or((image.reference.as_str(), "latest"));
    format!("{repository}:{}-{digest}", tag.chars().take(100).collect::<String>())
}

/// Where a service is reached within the cluster.
fn cluster_address(service: &Value) -> Result<SocketAddr, String> {
    let host = service["spec"]["clusterIP"].as_str().and_then(|text| text.parse::<IpAddr>().ok());
    Ok(SocketAddr::from((host.ok_or("the cluster gave the service no address")?, PORT)))
}

/// Why a contender cannot run in a pod; `None` where it may.
fn cannot(contender: &Contender) -> Option<&'static str> {
    if contender.system.image.dockerfile.is_some() {
        return Some("its image is of its own Dockerfile, and only derived ones are brought to a cluster");
    }
    let resets = contender.system.reset.as_ref().map(|reset| &reset.step);
    matches!(resets, Some(ResetStep::Command(_))).then_some("a command resets it, which would look for it on this machine")
}

impl Runner for Kubernetes {
    fn provide(&self, contender: &Contender, cache: &Path, means: Means<'_>) -> Result<Option<Image>, Failure> {
        if contender.system.reached.is_some() {
            return Ok(None);
        }
        let failed = |cause: String| Failure { stage: "image".into(), cause, log: vec![] };
        let cannot_behind = || if self.network == Network::Ingress { ingress::cannot(contender) } else { None };
        if let Some(why) = image::has_none(contender).or_else(|| cannot(contender)).or_else(cannot_behind) {
            return Err(failed(why.to_owned()));
        }
        let store = Store::open(&cache.join("images")).map_err(failed)?;
        let image = image::make(contender, &store, cache, means)?;
        store.sweep();
        let name = self.load(&image, &store, cache, means)?;
        self.provide_ingress(&store, cache, means)?;
        self.images.borrow_mut().insert(contender.name.clone(), name);
        Ok(Some(image))
    }

    fn inside(&self, contender: &Contender, around: &Surroundings<'_>, _: &Path) -> Result<Inside, String> {
        around.reached_from("pod", "have it run in the cluster as well")?;
        let namespace = self.cluster.namespace(around.run)?;
        let ports: Vec<(String, u16)> = contender.system.start.ports.iter().cloned().zip(PORT..).collect();
        if ports.is_empty() {
            return Err("the system names no port".into());
        }
        self.starts.set(self.starts.get() + 1);
        let name = format!("start-{}", self.starts.get());
        let service = objects::service(&name, around.run, &ports, self.network);
        let made = self.serve(&namespace, &service)?;
        let address = if self.network == Network::NodePort {
            let host = node_address(&self.cluster.nodes()?).ok_or("no node of the cluster has an address within it")?;
            let port = made["spec"]["ports"][0]["nodePort"].as_u64().and_then(|port| u16::try_from(port).ok());
            SocketAddr::from((host, port.ok_or("the cluster gave the service no port of its nodes")?))
        } else {
            cluster_address(&made)?
        };
        let mut texts = BTreeMap::new();
        texts.insert("java".into(), format!("{}/bin/java", image::JAVA));
        texts.insert("java.home".into(), image::JAVA.to_owned());
        texts.insert("work".into(), image::WORK.to_owned());
        texts.insert("listen".into(), Ipv4Addr::UNSPECIFIED.to_string());
        texts.extend(ports.iter().map(|(name, port)| (format!("port.{name}"), port.to_string())));
        let ports = ports.into_iter().map(|(_, port)| port).collect();
        let mut spot = Spot { namespace, name, ports, has_ingress: false };
        let (address, before) = match (self.network, self.class()?) {
            (Network::Ingress, Some(class)) => {
                spot.has_ingress = true;
                (ingress::of_class(&self.cluster, &spot, class, around.run)?, None)
            }
            (Network::Ingress, None) => {
                let before = Spot { name: format!("{}-ingress", spot.name), ports: vec![PORT], ..spot.clone() };
                let service = objects::service(&before.name, around.run, &[("http".to_owned(), PORT)], self.network);
                let made = self.serve(&before.namespace, &service)?;
                (cluster_address(&made)?, Some(Before { spot: before, service: address }))
            }
            _ => (address, None),
        };
        self.spots.borrow_mut().insert(address, (spot, before));
        Ok(Inside { texts, address, published: vec![] })
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        let image = self.images.borrow().get(&order.contender.name).cloned();
        let image = image.ok_or_else(|| format!("no image of {} was made", order.contender.name))?;
        let spot = self.spots.borrow_mut().remove(&order.inside.address);
        let (spot, before) = spot.ok_or_else(|| format!("no service was made at {}", order.inside.address))?;
        let Some(before) = before else { return Ok(Box::new(Pod::start(&self.cluster, &image, spot, order)?)) };
        let (nginx, of_nginx) = self.nginx.get().ok_or("no image of the nginx before it was made")?;
        Ok(Box::new(Behind::start(&self.cluster, [&image, of_nginx], spot, before, nginx, order)?))
    }

    fn agents(&self, asked: &AskedAgents<'_>) -> Result<AgentPods, String> {
        let (cache, means) = (asked.cache, asked.means);
        let store = Store::open(&cache.join("images"))?;
        let made = image::make(&agents::system(cache)?, &store, cache, means);
        store.sweep();
        let loaded = made.and_then(|image| self.load(&image, &store, cache, means));
        AgentPods::start(&self.cluster, loaded.map_err(|failure| failure.cause)?, asked)
    }

    fn lost(&self) -> Option<String> {
        self.cluster.lost()
    }

    fn recover(&self) -> Result<(), String> {
        self.spots.borrow_mut().clear();
        self.cluster.renew()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_called_by_what_is_in_them() {
        let image = |reference: &str| Image {
            reference: reference.into(),
            digest: format!("sha256:{}", "0123456789abcdef".repeat(4)),
            config: None,
            bytes: 0,
            layers: vec![],
            said: vec![],
        };
        assert_eq!(name_of(&image("faceoff/a:latest")), "faceoff/a:latest-0123456789ab");
        let long = name_of(&image(&format!("faceoff/a:{}", "x".repeat(128))));
        assert!(long.len() <= "faceoff/a:".len() + 128 && long.ends_with("-0123456789ab"), "{long}");
    }
}
