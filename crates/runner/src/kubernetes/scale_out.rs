//! The further replicas of a start.
//!
//! They are requested when the first pod responds, followed until each has given a correct
//! response, and ended with the first. Start with [`Pod::start_replicas`].

use super::objects;
use super::pod::Pod;
use super::replica::{Replica, root_of};
use super::status::{self, State};
use crate::engine::Body;
use crate::place::{ScaledOut, SendTo};
use load::WrongAnswer;
use serde_json::Value;
use spec::name::percent_encoded;
use spec::units::show_duration;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Additional time for each of them.
const FOR_EACH: Duration = Duration::from_secs(2);
/// The next request follows after this share of the time that has passed, within bounds. So the
/// time is known to 2 %, and the cluster is not kept busy.
const POLL_SHARE: f64 = 0.02;
const POLL: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_millis(500);

/// State of the pods while they start.
#[derive(Default)]
struct Coming {
    /// When each gave a correct response.
    answered: BTreeMap<String, u64>,
    failed_attempts: u64,
    /// What one of the others waits for.
    waits_for: String,
}

impl Coming {
    /// Sends a request to a pod that has not responded yet, if it runs.
    fn note_state(
        &mut self,
        pod: &Value,
        port: u16,
        send: &SendTo<'_>,
        memory_bytes: Option<u64>,
    ) -> Result<(), String> {
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
        match send(SocketAddr::from((address, port))) {
            Ok(at_ns) => drop(self.answered.insert(name.to_owned(), at_ns)),
            Err(wrong) => {
                self.failed_attempts += u64::from(!matches!(wrong, WrongAnswer::NotListening(_)));
                self.waits_for = wrong.to_string();
            }
        }
        Ok(())
    }
}

impl Pod {
    /// Requests all replicas, and waits until each has given a correct response at its own address.
    /// Then gives them their CPUs and descriptors.
    pub(super) fn start_replicas(
        &mut self,
        send: &SendTo<'_>,
        within: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<ScaledOut>, String> {
        if self.replicas < 2 {
            return Ok(None);
        }
        let scaled = self.await_all(send, within, stop);
        // Also if some are missing: those that run must end with the first.
        self.adopt();
        let scaled = scaled?;
        let missing = (self.replicas as usize).saturating_sub(self.others.len() + 1);
        if missing > 0 {
            return Err(format!(
                "{missing} of its replicas have no process on this machine, the only one whose \
                 processes faceoff can read"
            ));
        }
        let pids: Vec<u32> = self.others.iter().map(|replica| replica.pid).collect();
        self.confine(&pids)?;
        Ok(Some(scaled))
    }

    /// Adds the further pods that run.
    fn adopt(&mut self) {
        for pod in self.list_pods().unwrap_or_default() {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let State::Running(container) = status::state(&pod, self.memory_bytes)
                && name != self.pod
                && let Some(pid) = root_of(&container)
            {
                self.others.push(Replica { name, container, pid });
            }
        }
    }

    fn await_all(
        &self,
        send: &SendTo<'_>,
        within: Duration,
        stop: &AtomicBool,
    ) -> Result<ScaledOut, String> {
        let (within, wanted) = (within + FOR_EACH * self.replicas, self.replicas as usize);
        let port = self.spot.ports.first().copied().ok_or("the system names no port")?;
        let requested_ns = load::clock::now_ns();
        let path = format!("{}/scale", self.path("/apis/apps/v1", "deployments", &self.spot.name));
        let scale = objects::scale(&self.spot.namespace, &self.spot.name, self.replicas);
        self.cluster.request("PUT", &path, Body::Json(&scale))?;
        let mut coming =
            Coming { waits_for: "its pod is not made".to_owned(), ..Coming::default() };
        loop {
            for pod in self.list_pods()? {
                let noted = coming.note_state(&pod, port, send, self.memory_bytes);
                noted.map_err(|why| format!("{why}{}", self.warnings()))?;
            }
            let so_far = coming.answered.len();
            if so_far >= wanted {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return Err("interrupted".into());
            }
            let passed = Duration::from_nanos(load::clock::now_ns().saturating_sub(requested_ns));
            if passed > within {
                let (within, waits_for) = (show_duration(within), &coming.waits_for);
                return Err(format!(
                    "{so_far} of {wanted} replicas responded within {within}; another: \
                     {waits_for}{}",
                    self.warnings()
                ));
            }
            std::thread::sleep(passed.mul_f64(POLL_SHARE).clamp(*POLL.start(), *POLL.end()));
        }
        let last_ns = coming.answered.into_values().max().unwrap_or(requested_ns);
        Ok(ScaledOut {
            after_ns: last_ns.saturating_sub(requested_ns),
            failed_attempts: coming.failed_attempts,
        })
    }

    /// How one of the further pods ended, if one has.
    pub(super) fn ended_of_others(&self) -> Option<String> {
        let gone = self.others.iter().find(|replica| !replica.runs())?;
        Some(format!("{}, one of its {} replicas", self.learn_end(&gone.name), self.replicas))
    }

    /// Tells the cluster that the further pods end, so that it does not restart one whose process
    /// ends.
    pub(super) fn dismiss_others(&self, grace_seconds: u64) {
        if self.others.is_empty() {
            return;
        }
        let others =
            format!("fieldSelector={}", percent_encoded(&format!("metadata.name!={}", self.pod)));
        let path = format!(
            "{}?gracePeriodSeconds={grace_seconds}&{}&{others}",
            self.path("/api/v1", "pods", ""),
            self.of_start()
        );
        let _ = self.cluster.request("DELETE", &path, Body::Nothing);
    }
}
