//! Services behind an Ingress: one of a class that the cluster has, or where it has none an nginx of ours, in a pod before the service.

use super::cluster::Cluster;
use super::objects;
use super::pod::{Pod, Spot};
use super::{PORT, WITHIN};
use crate::engine::Body;
use crate::image;
use crate::place::{Asks, Inside, Order, ScaledOut, Started};
use crate::process::Stop;
use model::placeholder::Values;
use model::system::{Contender, Protocol, StopSignal, System};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Names where the cluster's controller of Ingresses is reached, where the cluster does not say: `address:port`.
const REACHED: &str = "FACEOFF_KUBE_INGRESS";
/// What is made of these two is the nginx of ours.
const FILES: [(&str, &str); 2] = [("system.toml", include_str!("ingress/system.toml")), ("nginx.conf", include_str!("ingress/nginx.conf"))];
/// Its name, and that of its folder.
const OURS: &str = "ingress-nginx";

/// The class that an Ingress is given: the cluster's default, or the first; `None` where there is none.
pub(super) fn class(cluster: &Cluster) -> Result<Option<String>, String> {
    let all = cluster.ask("GET", "/apis/networking.k8s.io/v1/ingressclasses", Body::Nothing)?;
    Ok(usual_class(all["items"].as_array().map_or(&[][..], Vec::as_slice)))
}

fn usual_class(classes: &[Value]) -> Option<String> {
    let is_default = |class: &&Value| class["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] == "true";
    let class = classes.iter().find(is_default).or_else(|| classes.first())?;
    class["metadata"]["name"].as_str().map(str::to_owned)
}

/// Why a contender cannot stand behind an Ingress; `None` where it may.
pub(super) fn cannot(contender: &Contender) -> Option<&'static str> {
    (contender.system.start.protocol != Protocol::Http1).then_some("it speaks TLS itself, and an Ingress speaks HTTP/1.1 to it")
}

/// Has the cluster make an Ingress of a class for a service, and waits until it is told where that is reached.
pub(super) fn of_class(cluster: &Cluster, spot: &Spot, class: &str, run: &str) -> Result<SocketAddr, String> {
    let ingresses = format!("/apis/networking.k8s.io/v1/namespaces/{}/ingresses", spot.namespace);
    cluster.ask("POST", &ingresses, Body::Json(&objects::ingress(&spot.name, run, class, PORT)))?;
    if let Ok(named) = std::env::var(REACHED) {
        return named.parse().map_err(|_| format!("{REACHED} is `{named}`, which is no address with a port, such as 127.0.0.1:80"));
    }
    let deadline = load::clock::now_ns() + WITHIN.as_nanos() as u64;
    loop {
        let made = cluster.ask("GET", &format!("{ingresses}/{}", spot.name), Body::Nothing)?;
        if let Some(address) = address(&made) {
            return Ok(SocketAddr::from((address, 80)));
        }
        if load::clock::now_ns() > deadline {
            return Err(format!("the class {class} gives its Ingress no address; {REACHED} may name one, such as 127.0.0.1:80"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Where an Ingress is reached, once its controller says so.
fn address(ingress: &Value) -> Option<IpAddr> {
    ingress["status"]["loadBalancer"]["ingress"].as_array()?.iter().find_map(|at| at["ip"].as_str()?.parse().ok())
}

/// The nginx of ours, as a system of which an image is made and a pod started.
pub(super) fn ours(cache: &Path) -> Result<Contender, String> {
    let folder = cache.join(OURS);
    let mut written = std::fs::create_dir_all(&folder);
    for (name, text) in FILES {
        written = written.and_then(|()| std::fs::write(folder.join(name), text));
    }
    written.map_err(|e| format!("{} cannot be written: {e}", folder.display()))?;
    System::read(&folder).and_then(|system| system.with_variants(&[])).map_err(|problems| problems.to_string())
}

/// Where the nginx of ours is, and where the service is that it stands before.
#[derive(Clone, Debug)]
pub(super) struct Before {
    pub spot: Spot,
    pub service: SocketAddr,
}

/// A pod behind an nginx of ours.
pub(super) struct Behind {
    pod: Pod,
    before: Pod,
    /// Where the service behind is reached.
    service: SocketAddr,
    nginx: Contender,
}

impl Behind {
    /// Starts nginx, as something that is there before, and then what stands behind it.
    pub fn start(
        cluster: &Rc<Cluster>,
        [image, of_image]: [&str; 2],
        spot: Spot,
        before: Before,
        nginx: &Contender,
        order: &Order<'_>,
    ) -> Result<Behind, String> {
        let of_nginx = |why: String| format!("the nginx before it: {why}");
        let work = order.work.join("ingress");
        let texts = [
            ("work", image::WORK.to_owned()),
            ("listen", Ipv4Addr::UNSPECIFIED.to_string()),
            ("port.http", PORT.to_string()),
            ("cores", order.around.cpus.len().max(1).to_string()),
            ("upstream.address", before.service.to_string()),
        ];
        let texts: BTreeMap<String, String> = texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        let inside = Inside { texts: texts.clone(), address: before.service, published: vec![] };
        let values = Values { texts, ..Values::default() };
        let no_value = |name: String| of_nginx(format!("`{{{name}}}` has no value"));
        std::fs::create_dir_all(&work).map_err(|e| format!("{} cannot be made: {e}", work.display()))?;
        for file in &nginx.system.start.render {
            let template = std::fs::read_to_string(nginx.system.folder.join(file)).map_err(|e| format!("{file} cannot be read: {e}"))?;
            let text = values.expand(&template).map_err(no_value)?;
            std::fs::write(work.join(file), text).map_err(|e| format!("{file} cannot be written: {e}"))?;
        }
        let command = values.expand_command(&nginx.system.start.run).map_err(no_value)?;
        let log = order.work.join("ingress.log");
        let (env, descriptors) = (BTreeMap::new(), order.descriptors);
        // Limits are those of the contender.
        let around = &crate::start::Surroundings { limits: crate::place::Limits::default(), ..*order.around };
        let of_ours =
            Order { contender: nginx, command: &command, env: &env, inside: &inside, work: &work, descriptors, log: &log, around };
        let service = before.service;
        let before = Pod::start(cluster, of_image, before.spot, &of_ours).map_err(of_nginx)?;
        let pod = Pod::start(cluster, image, spot, order)?;
        Ok(Behind { pod, before, service, nginx: nginx.clone() })
    }
}

impl Started for Behind {
    fn pid(&self) -> u32 {
        self.pod.pid()
    }

    fn started_ns(&self) -> u64 {
        self.pod.started_ns()
    }

    fn behind(&self) -> Option<SocketAddr> {
        Some(self.service)
    }

    fn others(&self) -> Vec<u32> {
        // What an Ingress costs is its contender's.
        self.pod.others().into_iter().chain([self.before.pid()]).collect()
    }

    fn scale_out(&mut self, asks: &Asks<'_>, within: Duration, stop: &AtomicBool) -> Result<Option<ScaledOut>, String> {
        self.pod.scale_out(asks, within, stop)
    }

    fn ended(&mut self) -> Option<String> {
        let of_nginx = |status: String| format!("{status}, of the nginx before it");
        Started::ended(&mut self.pod).or_else(|| Started::ended(&mut self.before).map(of_nginx))
    }

    fn log(&self) -> &Path {
        self.pod.log()
    }

    fn last_lines(&self, most: usize) -> Vec<String> {
        self.pod.last_lines(most)
    }

    fn stop(self: Box<Self>, signal: StopSignal, within: Duration) -> Stop {
        let Behind { pod, before, nginx, .. } = *self;
        let stopped = Box::new(pod).stop(signal, within);
        // Whatever it leaves goes with its pod.
        Box::new(before).stop(nginx.system.stop.signal, nginx.system.stop.within);
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_default_class_is_taken_or_the_first() {
        let class = |name: &str, default: &str| json!({"metadata": {"name": name, "annotations": {"ingressclass.kubernetes.io/is-default-class": default}}});
        assert_eq!(usual_class(&[class("a", "false"), class("b", "true")]).as_deref(), Some("b"));
        assert_eq!(usual_class(&[json!({"metadata": {"name": "a"}}), class("b", "false")]).as_deref(), Some("a"));
        assert_eq!(usual_class(&[]), None);
    }

    #[test]
    fn an_ingress_is_reached_where_its_controller_says() {
        let told = |ingress: Value| address(&json!({"status": {"loadBalancer": {"ingress": ingress}}}));
        assert_eq!(told(json!([{"hostname": "h"}, {"ip": "10.0.0.7"}])), Some(IpAddr::from([10, 0, 0, 7])));
        assert_eq!((told(json!([])), told(json!(null)), address(&json!(null))), (None, None, None));
    }

    #[test]
    fn the_nginx_of_ours_is_a_system_whose_placeholders_all_have_a_value() {
        let cache = tempfile::tempdir().unwrap();
        let nginx = ours(cache.path()).unwrap();
        assert_eq!((nginx.name.to_string().as_str(), cannot(&nginx)), (OURS, None));
        let names = ["work", "listen", "port.http", "cores", "upstream.address"];
        let values = Values { texts: names.map(|name| (name.to_owned(), format!("<{name}>"))).into(), ..Values::default() };
        let text = values.expand(FILES[1].1).unwrap();
        assert!(text.contains("server <upstream.address>;") && text.contains("listen <listen>:<port.http> backlog"), "{text}");
        assert!(values.expand_command(&nginx.system.start.run).is_ok());
    }
}
