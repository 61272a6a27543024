//! Services behind an Ingress.
//!
//! The Ingress is one of a class that the cluster has. Without a class, it is an nginx of ours, in
//! a pod before the service. Start with [`Behind`].

use super::cluster::{Cluster, WITHIN};
use super::objects;
use super::pod::{Pod, Spot};
use crate::engine::Body;
use crate::image::{self, PORT};
use crate::place::{Inside, Limits, Order, ScaledOut, SendTo, Started, Surroundings};
use crate::process::Stop;
use serde_json::Value;
use spec::placeholder::Values;
use spec::system::{Contender, Protocol, StopSignal, System};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The environment variable with the address of the Ingress controller, `address:port`, if the
/// cluster does not report it.
const REACHED: &str = "FACEOFF_KUBE_INGRESS";
/// The files of our nginx.
const FILES: [(&str, &str); 2] = [
    ("system.toml", include_str!("ingress/system.toml")),
    ("nginx.conf", include_str!("ingress/nginx.conf")),
];
/// The name of our nginx and of its folder.
const OURS: &str = "ingress-nginx";

/// The class for an Ingress: the cluster's default, or the first; `None` without one.
pub(super) fn class(cluster: &Cluster) -> Result<Option<String>, String> {
    let all = cluster.request("GET", "/apis/networking.k8s.io/v1/ingressclasses", Body::Nothing)?;
    Ok(usual_class(all["items"].as_array().map_or(&[][..], Vec::as_slice)))
}

fn usual_class(classes: &[Value]) -> Option<String> {
    let is_default = |class: &&Value| {
        class["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] == "true"
    };
    let class = classes.iter().find(is_default).or_else(|| classes.first())?;
    class["metadata"]["name"].as_str().map(str::to_owned)
}

/// The reason why a contender cannot run behind an Ingress; `None` if it can.
pub(super) fn cannot(contender: &Contender) -> Option<&'static str> {
    (contender.system.start.protocol != Protocol::Http1)
        .then_some("it speaks TLS itself, and an Ingress speaks HTTP/1.1 to it")
}

/// Makes an Ingress of a class for a service, and waits for its address.
pub(super) fn of_class(
    cluster: &Cluster,
    spot: &Spot,
    class: &str,
    run: &str,
) -> Result<SocketAddr, String> {
    let ingresses = format!("/apis/networking.k8s.io/v1/namespaces/{}/ingresses", spot.namespace);
    cluster.request(
        "POST",
        &ingresses,
        Body::Json(&objects::ingress(&spot.name, run, class, PORT)),
    )?;
    if let Ok(named) = std::env::var(REACHED) {
        return named.parse().map_err(|_| {
            format!("{REACHED} is `{named}`, which is no address with a port, such as 127.0.0.1:80")
        });
    }
    let deadline = load::clock::now_ns() + WITHIN.as_nanos() as u64;
    loop {
        let made = cluster.request("GET", &format!("{ingresses}/{}", spot.name), Body::Nothing)?;
        if let Some(address) = address(&made) {
            return Ok(SocketAddr::from((address, 80)));
        }
        if load::clock::now_ns() > deadline {
            return Err(format!(
                "the class {class} gives its Ingress no address; {REACHED} may name one, such as \
                 127.0.0.1:80"
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The address of an Ingress, once its controller reports it.
fn address(ingress: &Value) -> Option<IpAddr> {
    ingress["status"]["loadBalancer"]["ingress"]
        .as_array()?
        .iter()
        .find_map(|at| at["ip"].as_str()?.parse().ok())
}

/// Our nginx as a system, of which an image is made and a pod started.
pub(super) fn ours(cache: &Path) -> Result<Contender, String> {
    let folder = cache.join(OURS);
    let mut written = std::fs::create_dir_all(&folder);
    for (name, text) in FILES {
        written = written.and_then(|()| std::fs::write(folder.join(name), text));
    }
    written.map_err(|e| format!("{} cannot be written: {e}", folder.display()))?;
    System::read(&folder)
        .and_then(|system| system.with_variants(&[]))
        .map_err(|problems| problems.to_string())
}

/// The objects of our nginx, and the address of the service behind it.
#[derive(Clone, Debug)]
pub(super) struct Before {
    pub spot: Spot,
    pub service: SocketAddr,
}

/// A pod behind an nginx of ours.
pub(super) struct Behind {
    pod: Pod,
    before: Pod,
    /// The address of the service.
    service: SocketAddr,
    nginx: Contender,
}

impl Behind {
    /// Starts nginx, and then the service behind it.
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
        let texts: BTreeMap<String, String> =
            texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        let inside = Inside { texts: texts.clone(), address: before.service, published: vec![] };
        let values = Values { texts, ..Values::default() };
        let no_value = |name: String| of_nginx(format!("`{{{name}}}` has no value"));
        std::fs::create_dir_all(&work)
            .map_err(|e| format!("{} cannot be made: {e}", work.display()))?;
        for file in &nginx.system.start.render {
            let template = std::fs::read_to_string(nginx.system.folder.join(file))
                .map_err(|e| format!("{file} cannot be read: {e}"))?;
            let text = values.expand(&template).map_err(no_value)?;
            std::fs::write(work.join(file), text)
                .map_err(|e| format!("{file} cannot be written: {e}"))?;
        }
        let command = values.expand_command(&nginx.system.start.run).map_err(no_value)?;
        let log = order.work.join("ingress.log");
        let (env, descriptors) = (BTreeMap::new(), order.descriptors);
        // The limits apply to the contender only.
        let around = &Surroundings { limits: Limits::default(), ..*order.around };
        let of_ours = Order {
            contender: nginx,
            command: &command,
            env: &env,
            inside: &inside,
            work: &work,
            descriptors,
            log: &log,
            around,
        };
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
        // The cost of an Ingress is its contender's.
        self.pod.others().into_iter().chain([self.before.pid()]).collect()
    }

    fn scale_out(
        &mut self,
        send: &SendTo<'_>,
        within: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<ScaledOut>, String> {
        self.pod.scale_out(send, within, stop)
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
        // Everything that it leaves is removed with its pod.
        Box::new(before).stop(nginx.system.stop.signal, nginx.system.stop.within);
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn default_class_is_chosen_or_the_first() {
        let class = |name: &str, default: &str| json!({"metadata": {"name": name, "annotations": {"ingressclass.kubernetes.io/is-default-class": default}}});
        assert_eq!(usual_class(&[class("a", "false"), class("b", "true")]).as_deref(), Some("b"));
        assert_eq!(
            usual_class(&[json!({"metadata": {"name": "a"}}), class("b", "false")]).as_deref(),
            Some("a")
        );
        assert_eq!(usual_class(&[]), None);
    }

    #[test]
    fn address_of_an_ingress_is_that_of_its_controller() {
        let found =
            |ingress: Value| address(&json!({"status": {"loadBalancer": {"ingress": ingress}}}));
        assert_eq!(
            found(json!([{"hostname": "h"}, {"ip": "10.0.0.7"}])),
            Some(IpAddr::from([10, 0, 0, 7]))
        );
        assert_eq!(
            (found(json!([])), found(json!(null)), address(&json!(null))),
            (None, None, None)
        );
    }

    #[test]
    fn our_nginx_has_a_value_for_every_placeholder() {
        let cache = tempfile::tempdir().unwrap();
        let nginx = ours(cache.path()).unwrap();
        assert_eq!((nginx.name.to_string().as_str(), cannot(&nginx)), (OURS, None));
        let names = ["work", "listen", "port.http", "cores", "upstream.address"];
        let values = Values {
            texts: names.map(|name| (name.to_owned(), format!("<{name}>"))).into(),
            ..Values::default()
        };
        let text = values.expand(FILES[1].1).unwrap();
        assert!(
            text.contains("server <upstream.address>;")
                && text.contains("listen <listen>:<port.http> backlog"),
            "{text}"
        );
        assert!(values.expand_command(&nginx.system.start.run).is_ok());
    }
}
