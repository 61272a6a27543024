//! Runs systems in pods of a Kubernetes cluster.
//!
//! Each start has a deployment and a service, in the namespace of its run. The usage of a pod is
//! read from its processes, so it must run on this machine, as in a cluster of one node. Start with
//! [`Kubernetes`].

mod agents;
mod cluster;
mod ingress;
mod leftovers;
mod objects;
mod pod;
mod replica;
mod scale_out;
mod started;
mod status;

pub use leftovers::clear;
pub(crate) use leftovers::remove_namespace;

use crate::engine::Body;
use crate::image::{self, PORT, Store};
use crate::means::Means;
use crate::place::{AgentPodsSpec, Inside, Order, PodAgents, Runner, Started, Surroundings};
use crate::process::{self, NotDone, Spec, last_lines};
use agents::AgentPods;
use cluster::{Cluster, node_address};
use ingress::{Before, Behind};
use pod::{Pod, Spot};
use record::Failure;
use serde_json::Value;
use spec::experiment::Network;
use spec::image::Image;
use spec::name::ContenderName;
use spec::reset::ResetStep;
use spec::system::Contender;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// How long loading images into the cluster may take.
const LOAD_WITHIN: Duration = Duration::from_secs(600);
/// The environment variable of the command that loads an archive of an image into the cluster.
const LOADER: &str = "FACEOFF_KUBE_LOAD";

/// Starts systems in pods.
pub struct Kubernetes {
    cluster: Rc<Cluster>,
    network: Network,
    /// The cluster's names of the contenders' images.
    images: RefCell<BTreeMap<ContenderName, String>>,
    /// Services that were made before their start, by their address, with our nginx before them.
    spots: RefCell<BTreeMap<SocketAddr, (Spot, Option<Before>)>>,
    starts: Cell<u32>,
    /// The class of Ingresses, after the cluster was asked for one.
    class: OnceCell<Option<String>>,
    /// Our nginx, and the cluster's name of its image.
    nginx: OnceCell<(Contender, String)>,
}

impl Kubernetes {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// A cluster that does not exist or cannot be used.
    pub fn open(network: Network) -> Result<Kubernetes, String> {
        let cluster = Cluster::open().map_err(|why| format!("no Kubernetes cluster: {why}"))?;
        let (images, spots) = (RefCell::default(), RefCell::default());
        let (starts, class, nginx) = (Cell::new(0), OnceCell::new(), OnceCell::new());
        Ok(Kubernetes { cluster: Rc::new(cluster), network, images, spots, starts, class, nginx })
    }

    /// The cluster's class of Ingresses, if it has one and one is needed.
    fn class(&self) -> Result<Option<&str>, String> {
        if self.network == Network::Ingress && self.class.get().is_none() {
            let _ = self.class.set(ingress::class(&self.cluster)?);
        }
        Ok(self.class.get().and_then(|class| class.as_deref()))
    }

    /// Loads the image of our nginx into the cluster, if it is needed.
    fn provide_ingress(
        &self,
        store: &Store,
        cache: &Path,
        means: Means<'_>,
    ) -> Result<(), Failure> {
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

    /// Makes a service, and returns the cluster's description of it.
    fn serve(&self, namespace: &str, service: &Value) -> Result<Value, String> {
        self.cluster.request(
            "POST",
            &format!("/api/v1/namespaces/{namespace}/services"),
            Body::Json(service),
        )
    }

    /// Loads an image of the store into the cluster, unless it is there. Returns the cluster's name
    /// of it.
    fn load(
        &self,
        image: &Image,
        store: &Store,
        cache: &Path,
        means: Means<'_>,
    ) -> Result<String, Failure> {
        let failed = |cause: String, log| Failure { stage: "image".into(), cause, log };
        let name = name_of(image);
        if self.cluster.has_image(&name) {
            return Ok(name);
        }
        let words = std::env::var(LOADER).unwrap_or_default();
        let mut command: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if command.is_empty() {
            let instead = "names no command that loads it, such as `kind load image-archive`";
            return Err(failed(
                format!("the image {name} is not in the cluster, and {LOADER} {instead}"),
                vec![],
            ));
        }
        let cache = std::path::absolute(cache).unwrap_or_else(|_| cache.to_owned());
        let (archive, log) = (cache.join("image.tar"), cache.join("kubernetes.image.log"));
        let _ = std::fs::remove_file(&log);
        let written = std::fs::File::create(&archive)
            .and_then(|file| store.archive_as(image, &name, std::io::BufWriter::new(file)));
        written
            .map_err(|e| failed(format!("the archive of {name} cannot be written: {e}"), vec![]))?;
        command.push(archive.to_string_lossy().into_owned());
        let env = BTreeMap::new();
        // The command is named relative to the current folder.
        let here = std::env::current_dir().unwrap_or_else(|_| cache.clone());
        let (folder, run) = (here.as_path(), means.run);
        let spec = Spec {
            command: &command,
            folder,
            env: &env,
            cpus: &[],
            descriptors: None,
            log: &log,
            user: None,
            run,
        };
        let deadline = load::clock::now_ns() + LOAD_WITHIN.as_nanos() as u64;
        let loaded = process::run(&spec, deadline, means.stop);
        let _ = std::fs::remove_file(&archive);
        let with_log = |what: String| {
            failed(format!("`{words}` {what}; {LOADER} names it"), last_lines(&log, 20))
        };
        loaded.map_err(|why| match why {
            NotDone::NotStarted(cause) => failed(format!("{cause}; {LOADER} names it"), vec![]),
            NotDone::Ended(status) => with_log(format!("ended with {status}")),
            NotDone::Interrupted => failed("interrupted".into(), vec![]),
            NotDone::Late => {
                with_log(format!("was not done within {}", spec::units::show_duration(LOAD_WITHIN)))
            }
        })?;
        Ok(name)
    }
}

/// The name of an image in a cluster. It depends on the content, so an older image is not mistaken
/// for it.
fn name_of(image: &Image) -> String {
    let digest: String = image.digest.trim_start_matches("sha256:").chars().take(12).collect();
    // A tag may have 128 characters.
    let (repository, tag) =
        image.reference.rsplit_once(':').unwrap_or((image.reference.as_str(), "latest"));
    format!("{repository}:{}-{digest}", tag.chars().take(100).collect::<String>())
}

/// The address of a service within the cluster.
fn cluster_address(service: &Value) -> Result<SocketAddr, String> {
    let host = service["spec"]["clusterIP"].as_str().and_then(|text| text.parse::<IpAddr>().ok());
    Ok(SocketAddr::from((host.ok_or("the cluster gave the service no address")?, PORT)))
}

/// The reason why a contender cannot run in a pod; `None` if it can.
fn cannot(contender: &Contender) -> Option<&'static str> {
    if contender.system.image.dockerfile.is_some() {
        return Some(
            "its image is built from its own Dockerfile, and only derived images are loaded into \
             a cluster",
        );
    }
    let resets = contender.system.reset.as_ref().map(|reset| &reset.step);
    matches!(resets, Some(ResetStep::Command(_)))
        .then_some("a command resets it, which runs on this machine and not in the cluster")
}

impl Runner for Kubernetes {
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
        let cannot_behind =
            || if self.network == Network::Ingress { ingress::cannot(contender) } else { None };
        if let Some(why) =
            image::has_none(contender).or_else(|| cannot(contender)).or_else(cannot_behind)
        {
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

    fn inside(
        &self,
        contender: &Contender,
        around: &Surroundings<'_>,
        _: &Path,
    ) -> Result<Inside, String> {
        around.reached_from("pod", "have it run in the cluster as well")?;
        let namespace = self.cluster.namespace(around.run)?;
        let ports: Vec<(String, u16)> =
            contender.system.start.ports.iter().cloned().zip(PORT..).collect();
        if ports.is_empty() {
            return Err("the system names no port".into());
        }
        self.starts.set(self.starts.get() + 1);
        let name = format!("start-{}", self.starts.get());
        let service = objects::service(&name, around.run, &ports, self.network);
        let made = self.serve(&namespace, &service)?;
        let address = if self.network == Network::NodePort {
            let host = node_address(&self.cluster.nodes()?)
                .ok_or("no node of the cluster has an address within it")?;
            let port = made["spec"]["ports"][0]["nodePort"]
                .as_u64()
                .and_then(|port| u16::try_from(port).ok());
            SocketAddr::from((
                host,
                port.ok_or("the cluster gave the service no port of its nodes")?,
            ))
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
                let before = Spot {
                    name: format!("{}-ingress", spot.name),
                    ports: vec![PORT],
                    ..spot.clone()
                };
                let service = objects::service(
                    &before.name,
                    around.run,
                    &[("http".to_owned(), PORT)],
                    self.network,
                );
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
        let image =
            image.ok_or_else(|| format!("no image of {} was made", order.contender.name))?;
        let spot = self.spots.borrow_mut().remove(&order.inside.address);
        let (spot, before) =
            spot.ok_or_else(|| format!("no service was made at {}", order.inside.address))?;
        let Some(before) = before else {
            return Ok(Box::new(Pod::start(&self.cluster, &image, spot, order)?));
        };
        let (nginx, of_nginx) =
            self.nginx.get().ok_or("no image of the nginx before it was made")?;
        Ok(Box::new(Behind::start(&self.cluster, [&image, of_nginx], spot, before, nginx, order)?))
    }

    fn agents(&self, spec: &AgentPodsSpec<'_>) -> Result<Box<dyn PodAgents>, String> {
        let (cache, means) = (spec.cache, spec.means);
        let store = Store::open(&cache.join("images"))?;
        let made = image::make(&agents::system(cache)?, &store, cache, means);
        store.sweep();
        let loaded = made.and_then(|image| self.load(&image, &store, cache, means));
        let image = loaded.map_err(|failure| failure.cause)?;
        Ok(Box::new(AgentPods::start(&self.cluster, image, spec)?))
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
    fn name_of_an_image_depends_on_its_content() {
        let image = |reference: &str| Image {
            reference: reference.into(),
            digest: format!("sha256:{}", "0123456789abcdef".repeat(4)),
            config: None,
            bytes: 0,
            layers: vec![],
            sources: vec![],
        };
        assert_eq!(name_of(&image("faceoff/a:latest")), "faceoff/a:latest-0123456789ab");
        let long = name_of(&image(&format!("faceoff/a:{}", "x".repeat(128))));
        assert!(
            long.len() <= "faceoff/a:".len() + 128 && long.ends_with("-0123456789ab"),
            "{long}"
        );
    }
}
