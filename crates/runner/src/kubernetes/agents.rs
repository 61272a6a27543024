//! Agents in pods, which make loads (docs/guide/several-machines.md).
//!
//! They are an indexed job. This machine reaches each through a `kubectl port-forward`. Start with
//! [`AgentPods::start`].

use super::cluster::{Cluster, machine, schedulable};
use super::objects::{self, AGENTS_LABEL};
use super::replica::root_of;
use super::status::{self, State};
use crate::cpus::keep_on;
use crate::engine::Body;
use crate::image::PORT;
use crate::place::{AgentPodsSpec, PodAgents};
use crate::process::Process;
use crate::procfs::trees;
use crate::sha256::hex;
use load::agents::{Seat, TOKEN_VARIABLE, Token, look};
use serde_json::Value;
use spec::name::percent_encoded;
use spec::secret;
use spec::system::{Contender, System};
use spec::units::show_duration;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long agents may take until all respond.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Pause between two requests for their state.
const POLL: Duration = Duration::from_millis(50);
/// How long the cluster may take to notice the end of a pod.
const NOTICES_WITHIN: Duration = Duration::from_secs(5);
/// The memory of an agent ...
const MEMORY_BYTES: u64 = 256 << 20;
/// ... and for each second that it measures: a histogram and its text.
const MEMORY_EACH_SECOND: u64 = 1 << 20;
/// CPU time of an agent per second, in milliseconds: that of its one event loop. All agents on this
/// machine together get no more than its generator would.
const CPU_MILLIS: u64 = 1_000;
const CPU_MILLIS_LEAST: u64 = 10;
/// The name of the system and folder of agents.
const NAME: &str = "faceoff-agent";

/// An agent as a system, of which an image is made. Its program is the running command.
pub(super) fn system(cache: &Path) -> Result<Contender, String> {
    let program = std::env::current_exe()
        .map_err(|e| format!("the file of this command is not known: {e}"))?;
    let program =
        program.to_str().ok_or_else(|| format!("the name {} is not UTF-8", program.display()))?;
    let folder = cache.join(NAME);
    let text = manifest(program);
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("system.toml"), text));
    written.map_err(|e| format!("{} cannot be written: {e}", folder.display()))?;
    System::read(&folder)
        .and_then(|system| system.with_variants(&[]))
        .map_err(|problems| problems.to_string())
}

fn manifest(program: &str) -> String {
    // A JSON string is also a TOML string.
    let program = Value::from(program);
    let run = format!(
        "[{program}, \"agent\", \"--listen\", \"{{listen}}:{{port.agent}}\", \"--threads\", \"1\"]"
    );
    format!(
        "name = \"{NAME}\"\nsummary = \"makes parts of loads\"\nkind = \"proxy\"\n[start]\nrun = \
         {run}\nports = [\"agent\"]\n"
    )
}

/// Draws a random token.
fn drawn() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// The CPU time of each agent if they share that of one generator.
fn shared_millis(cpus: usize, pods: u32) -> u64 {
    (cpus as u64 * CPU_MILLIS / u64::from(pods.max(1))).clamp(CPU_MILLIS_LEAST, CPU_MILLIS)
}

/// The number of an agent's pod within its job.
fn index(pod: &Value) -> u32 {
    let number =
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].as_str();
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// An agent in a pod.
struct AgentPod {
    seat: Seat,
    pod: String,
    /// Whether its processes are on this machine.
    is_here: bool,
    /// The port-forward to the agent, which ends when this is dropped.
    way: Process,
}

/// Agents in pods. Dropping them removes the pods.
pub struct AgentPods {
    cluster: Rc<Cluster>,
    image: String,
    run: String,
    pods: u32,
    memory_bytes: u64,
    cpu_millis: u64,
    cpus: Vec<usize>,
    token: Token,
    /// The token as it is in the secret.
    text: String,
    /// How often the pods were made.
    made: u32,
    namespace: String,
    /// The agents that run.
    all: Vec<AgentPod>,
}

impl AgentPods {
    /// Makes the pods, and waits until each agent accepts the token.
    pub(super) fn start(
        cluster: &Rc<Cluster>,
        image: String,
        spec: &AgentPodsSpec<'_>,
    ) -> Result<AgentPods, String> {
        let text = drawn().map_err(|e| format!("no token can be drawn: {e}"))?;
        secret::learn(&text, &format!("{{env.{TOKEN_VARIABLE}}}"));
        let mut agents = AgentPods {
            cluster: Rc::clone(cluster),
            image,
            run: spec.means.run.to_owned(),
            pods: spec.pods,
            memory_bytes: MEMORY_BYTES + MEMORY_EACH_SECOND * spec.longest.as_secs(),
            cpu_millis: CPU_MILLIS,
            cpus: spec.cpus.to_vec(),
            token: Token::new(&text)?,
            text,
            made: 0,
            namespace: String::new(),
            all: vec![],
        };
        agents.make(spec.means.stop)?;
        Ok(agents)
    }

    /// Makes all pods, after removing earlier ones.
    fn make(&mut self, stop: &AtomicBool) -> Result<(), String> {
        self.remove();
        self.made += 1;
        self.namespace = self.cluster.namespace(&self.run)?;
        let machine = machine();
        let has_several = schedulable(&self.cluster.nodes()?) > 1;
        self.cpu_millis =
            if has_several { CPU_MILLIS } else { shared_millis(self.cpus.len(), self.pods) };
        let name = self.name();
        let agents = objects::Agents {
            name: &name,
            image: &self.image,
            pods: self.pods,
            port: PORT,
            cpu_millis: self.cpu_millis,
            memory_bytes: self.memory_bytes,
            apart_from: has_several.then_some(machine.as_str()),
        };
        let (secret, job) = (
            objects::agents_secret(&name, &self.run, &self.text),
            objects::agents_job(&agents, &self.run),
        );
        self.cluster.request("POST", &self.path("/api/v1", "secrets"), Body::Json(&secret))?;
        self.cluster.request("POST", &self.path("/apis/batch/v1", "jobs"), Body::Json(&job))?;
        let deadline_ns = load::clock::now_ns() + READY_WITHIN.as_nanos() as u64;
        let mut running = self.await_running(deadline_ns, stop)?;
        running.sort_by_key(index);
        for pod in &running {
            // On a busy machine, a port-forward may need several attempts.
            let agent = loop {
                match self.reach(pod) {
                    Ok(agent) => break agent,
                    Err(why) => go_on(deadline_ns, stop, || why)?,
                }
            };
            self.all.push(agent);
        }
        self.await_answers(deadline_ns, stop)
    }

    fn name(&self) -> String {
        format!("agents-{}", self.made)
    }

    fn path(&self, group: &str, kind: &str) -> String {
        format!("{group}/namespaces/{}/{kind}", self.namespace)
    }

    /// The selector of their pods.
    fn of_job(&self) -> String {
        format!("labelSelector={}", percent_encoded(&format!("{AGENTS_LABEL}={}", self.name())))
    }

    /// Their pods, as the cluster has them now.
    fn listed(&self) -> Result<Vec<Value>, String> {
        let all = self.cluster.request(
            "GET",
            &format!("{}?{}", self.path("/api/v1", "pods"), self.of_job()),
            Body::Nothing,
        )?;
        Ok(all["items"].as_array().cloned().unwrap_or_default())
    }

    /// The warnings of the cluster.
    fn warnings(&self) -> String {
        let path = format!("{}?fieldSelector=type%3DWarning", self.path("/api/v1", "events"));
        let events = self.cluster.request("GET", &path, Body::Nothing).unwrap_or_default();
        status::warnings(&events, &self.name())
            .iter()
            .map(|warning| format!("; {warning}"))
            .collect()
    }

    /// Waits until the container of each agent runs.
    fn await_running(&self, deadline_ns: u64, stop: &AtomicBool) -> Result<Vec<Value>, String> {
        loop {
            let (pods, mut running) = (self.listed()?, 0);
            let mut waits_for = "no pod was made of it".to_owned();
            for pod in &pods {
                match status::state(pod, Some(self.memory_bytes)) {
                    State::Running(_) => running += 1,
                    State::Waiting(what) => waits_for = what,
                    State::Ended(how) => {
                        return Err(format!(
                            "the pod of an agent ended with {how}{}",
                            self.warnings()
                        ));
                    }
                    State::Broken(why) => {
                        return Err(format!(
                            "the pod of an agent cannot run: {why}{}",
                            self.warnings()
                        ));
                    }
                }
            }
            if running >= self.pods as usize {
                return Ok(pods);
            }
            let so_far = || {
                format!(
                    "{running} of {} agents run; another: {waits_for}{}",
                    self.pods,
                    self.warnings()
                )
            };
            go_on(deadline_ns, stop, so_far)?;
        }
    }

    /// Waits until each agent accepts the token.
    fn await_answers(&mut self, deadline_ns: u64, stop: &AtomicBool) -> Result<(), String> {
        loop {
            let found = look(&self.seats(), &self.token);
            let Some(why) = found.into_iter().find_map(Result::err) else { return Ok(()) };
            let why = self.reopen_ways().err().unwrap_or(why);
            go_on(deadline_ns, stop, || why.lines().next().unwrap_or_default().to_owned())?;
        }
    }

    /// Opens a port-forward to an agent whose container runs. An agent on this machine gets the
    /// CPUs of the generator.
    fn reach(&self, pod: &Value) -> Result<AgentPod, String> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("an unknown node");
        let here = match status::state(pod, Some(self.memory_bytes)) {
            State::Running(container) => root_of(&container),
            _ => None,
        };
        if let Some(pid) = here {
            keep_on(&self.cpus, &trees(&[pid]));
        }
        let (way, at) = self.cluster.forward(&self.namespace, name, PORT, &self.cpus)?;
        let seat = Seat { name: format!("{} on {node}", index(pod)), at: at.to_string() };
        Ok(AgentPod { seat, pod: name.to_owned(), is_here: here.is_some(), way })
    }

    /// Opens port-forwards again that have ended, as one does after a refused connection.
    fn reopen_ways(&mut self) -> Result<(), String> {
        for agent in &mut self.all {
            if agent.way.ended().is_some() {
                let (way, at) =
                    self.cluster.forward(&self.namespace, &agent.pod, PORT, &self.cpus)?;
                (agent.way, agent.seat.at) = (way, at.to_string());
            }
        }
        Ok(())
    }

    fn remove(&mut self) {
        self.all.clear();
        if self.made == 0 {
            return;
        }
        // If this fails, they are removed with the namespace.
        let job = format!(
            "{}/{}?propagationPolicy=Background",
            self.path("/apis/batch/v1", "jobs"),
            self.name()
        );
        let _ = self.cluster.request("DELETE", &job, Body::Nothing);
        let pods =
            format!("{}?gracePeriodSeconds=0&{}", self.path("/api/v1", "pods"), self.of_job());
        let _ = self.cluster.request("DELETE", &pods, Body::Nothing);
    }
}

impl PodAgents for AgentPods {
    fn seats(&self) -> Vec<Seat> {
        self.all.iter().map(|agent| agent.seat.clone()).collect()
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn are_here(&self) -> bool {
        self.all.iter().all(|agent| agent.is_here)
    }

    fn cpus(&self) -> f64 {
        let most =
            if self.are_here() { shared_millis(self.cpus.len(), self.pods) } else { CPU_MILLIS };
        self.cpu_millis.min(most) as f64 / CPU_MILLIS as f64
    }

    fn replace_lost(&mut self, stop: &AtomicBool) -> Result<Option<String>, String> {
        let lost = match self.reopen_ways() {
            Err(why) => Some(why),
            Ok(()) if self.all.is_empty() => Some("no agent runs".to_owned()),
            Ok(()) => look(&self.seats(), &self.token).into_iter().find_map(Result::err),
        };
        let Some(lost) = lost else { return Ok(None) };
        let cause = lost.lines().next().unwrap_or_default();
        let lost =
            self.end_of_one().map_or_else(|| cause.to_owned(), |end| format!("{cause}; {end}"));
        self.make(stop).map(|()| Some(lost))
    }

    fn end_of_one(&self) -> Option<String> {
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        loop {
            let listed = self.listed().ok()?;
            for agent in &self.all {
                let pod = listed.iter().find(|pod| pod["metadata"]["name"] == agent.pod.as_str());
                let how = match pod.map(|pod| status::state(pod, Some(self.memory_bytes))) {
                    None => "is gone".to_owned(),
                    Some(State::Ended(how)) => format!("ended with {how}"),
                    Some(State::Broken(why)) => format!("cannot run: {why}"),
                    Some(State::Running(_) | State::Waiting(_)) => continue,
                };
                return Some(format!(
                    "the pod of the agent {} {how}{}",
                    agent.seat.name,
                    self.warnings()
                ));
            }
            if self.all.is_empty() || load::clock::now_ns() > deadline {
                return None;
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for AgentPods {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Waits a little. Fails when the time is over or the run was stopped.
fn go_on(
    deadline_ns: u64,
    stop: &AtomicBool,
    so_far: impl FnOnce() -> String,
) -> Result<(), String> {
    if stop.load(Ordering::Relaxed) {
        return Err("interrupted".into());
    }
    if load::clock::now_ns() > deadline_ns {
        return Err(format!("not ready within {}: {}", show_duration(READY_WITHIN), so_far()));
    }
    std::thread::sleep(POLL);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image;
    use serde_json::json;

    #[test]
    fn program_of_the_agent_system_is_this_one() {
        let cache = tempfile::tempdir().unwrap();
        let agent = system(cache.path()).unwrap();
        assert_eq!((agent.name.to_string().as_str(), image::has_none(&agent)), (NAME, None));
        let me = std::env::current_exe().unwrap();
        assert_eq!(agent.system.start.run[..2], [me.to_str().unwrap(), "agent"]);
        let folder = cache.path().join("odd").join(NAME);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("system.toml"), manifest("/a \"b\"\\c")).unwrap();
        assert_eq!(System::read(&folder).unwrap().start.run[0], "/a \"b\"\\c");
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (drawn().unwrap(), drawn().unwrap());
        assert!(one != other && one.len() == 64 && Token::new(&one).is_ok());
    }

    #[test]
    fn agents_on_one_machine_share_the_cpu_time_of_a_generator() {
        assert_eq!(
            [shared_millis(1, 2), shared_millis(4, 2), shared_millis(2, 3), shared_millis(1, 1000)],
            [500, 1000, 666, 10]
        );
        assert_eq!((shared_millis(0, 2), shared_millis(1, 0)), (10, 1000));
    }

    #[test]
    fn number_of_an_agent_is_that_of_its_job() {
        let pod = |index: &str| json!({"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": index}}});
        assert_eq!((index(&pod("10")), index(&pod("x")), index(&json!(null))), (10, 0, 0));
    }

    #[test]
    fn waiting_ends_with_its_time_or_a_stop() {
        let (going, stopped) = (AtomicBool::new(false), AtomicBool::new(true));
        assert_eq!(go_on(u64::MAX, &going, String::new), Ok(()));
        assert_eq!(go_on(u64::MAX, &stopped, String::new), Err("interrupted".into()));
        let late = go_on(0, &going, || "1 of 2 agents run".into()).unwrap_err();
        assert!(
            late.starts_with("not ready within ") && late.ends_with(": 1 of 2 agents run"),
            "{late}"
        );
    }
}
