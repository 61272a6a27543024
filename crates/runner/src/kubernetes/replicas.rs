//! The further pods of a start: asked for once the first answers, followed until each has answered, ended with it.

use super::objects;
use super::pod::{Pod, root_of};
use super::status::{self, State};
use crate::cgroup;
use crate::engine::{Body, escaped};
use crate::place::{Asks, ScaledOut};
use load::WrongAnswer;
use model::units::show_duration;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How much longer they may take for each of them.
const FOR_EACH: Duration = Duration::from_secs(2);
/// They are looked for again after this share of the time that has passed, within bounds: it is known to 2 %, and the cluster is not kept
/// busy.
const LOOK_AGAIN_SHARE: f64 = 0.02;
const LOOK_AGAIN: std::ops::RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_millis(500);

/// A further pod.
pub(super) struct Replica {
    name: String,
    /// What its container is called.
    container: String,
    pub pid: u32,
}

impl Replica {
    /// Whether its first process runs.
    pub fn runs(&self) -> bool {
        cgroup::runs_in(self.pid, &self.container)
    }

    /// What the cluster calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What is known of pods while they come.
#[derive(Default)]
struct Coming {
    /// When each answered.
    answered: BTreeMap<String, u64>,
    asked_in_vain: u64,
    /// What one of the others waits for.
    waits_for: String,
}

impl Coming {
    /// Asks a pod that has not answered, if it can be asked.
    fn look(&mut self, pod: &Value, port: u16, asks: &Asks<'_>, memory_bytes: Option<u64>) -> Result<(), String> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        if self.answered.contains_key(name) {
            return Ok(());
        }
        match status::state(pod, memory_bytes) {
            State::Running(_) => {}
            State::Waiting(what) => {
                self.waits_for = what;
                return Ok(());
            }
            State::Ended(how) => return Err(format!("a replica ended with {how}")),
            State::Broken(why) => return Err(format!("a replica cannot run: {why}")),
        }
        let Some(address) = status::address(pod) else {
            self.waits_for = "its pod has no address".to_owned();
            return Ok(());
        };
        match asks(SocketAddr::from((address, port))) {
            Ok(at_ns) => drop(self.answered.insert(name.to_owned(), at_ns)),
            Err(wrong) => {
                self.asked_in_vain += u64::from(!matches!(wrong, WrongAnswer::NobodyThere(_)));
                self.waits_for = wrong.to_string();
            }
        }
        Ok(())
    }
}

impl Pod {
    /// Asks for all replicas, and waits until each has answered rightly at its own address; then they have their CPUs and descriptors.
    pub(super) fn ask_for_all(&mut self, asks: &Asks<'_>, within: Duration, stop: &AtomicBool) -> Result<Option<ScaledOut>, String> {
        if self.replicas < 2 {
            return Ok(None);
        }
        let scaled = self.await_all(asks, within, stop);
        // Also where not all came: those that did end with the first.
        self.adopt();
        let scaled = scaled?;
        let missing = (self.replicas as usize).saturating_sub(self.others.len() + 1);
        if missing > 0 {
            return Err(format!("{missing} of its replicas have no process on this machine: what they use is read here"));
        }
        let pids: Vec<u32> = self.others.iter().map(|replica| replica.pid).collect();
        self.confine(&pids)?;
        Ok(Some(scaled))
    }

    /// Takes up the further pods that run.
    fn adopt(&mut self) {
        for pod in self.all().unwrap_or_default() {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let State::Running(container) = status::state(&pod, self.memory_bytes)
                && name != self.pod
                && let Some(pid) = root_of(&container)
            {
                self.others.push(Replica { name, container, pid });
            }
        }
    }

    fn await_all(&self, asks: &Asks<'_>, within: Duration, stop: &AtomicBool) -> Result<ScaledOut, String> {
        let (within, wanted) = (within + FOR_EACH * self.replicas, self.replicas as usize);
        let port = self.spot.ports.first().copied().ok_or("the system names no port")?;
        let asked_ns = load::clock::now_ns();
        let path = format!("{}/scale", self.path("/apis/apps/v1", "deployments", &self.spot.name));
        let scale = objects::scale(&self.spot.namespace, &self.spot.name, self.replicas);
        self.cluster.ask("PUT", &path, Body::Json(&scale))?;
        let mut coming = Coming { waits_for: "its pod is not made".to_owned(), ..Coming::default() };
        loop {
            for pod in self.all()? {
                let looked = coming.look(&pod, port, asks, self.memory_bytes);
                looked.map_err(|why| format!("{why}{}", self.warnings()))?;
            }
            let so_far = coming.answered.len();
            if so_far >= wanted {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return Err("interrupted".into());
            }
            let passed = Duration::from_nanos(load::clock::now_ns().saturating_sub(asked_ns));
            if passed > within {
                let (within, waits_for) = (show_duration(within), &coming.waits_for);
                return Err(format!("{so_far} of {wanted} replicas answered within {within}; another: {waits_for}{}", self.warnings()));
            }
            std::thread::sleep(passed.mul_f64(LOOK_AGAIN_SHARE).clamp(*LOOK_AGAIN.start(), *LOOK_AGAIN.end()));
        }
        let last_ns = coming.answered.into_values().max().unwrap_or(asked_ns);
        Ok(ScaledOut { after_ns: last_ns.saturating_sub(asked_ns), asked_in_vain: coming.asked_in_vain })
    }

    /// How one of the further pods ended, if one has.
    pub(super) fn ended_of_others(&self) -> Option<String> {
        let gone = self.others.iter().find(|replica| !replica.runs())?;
        Some(format!("{}, one of its {} replicas", self.learn_end(gone.name()), self.replicas))
    }

    /// Tells the cluster that the further pods are over, so that it starts none of them again when its process ends.
    pub(super) fn dismiss_others(&self, grace_seconds: u64) {
        if self.others.is_empty() {
            return;
        }
        let others = format!("fieldSelector={}", escaped(&format!("metadata.name!={}", self.pod)));
        let path = format!("{}?gracePeriodSeconds={grace_seconds}&{}&{others}", self.path("/api/v1", "pods", ""), self.of_start());
        let _ = self.cluster.ask("DELETE", &path, Body::Nothing);
    }
}
