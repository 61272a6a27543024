//! From a contender to a process that answers rightly.

use crate::build::values;
use crate::needs::Tools;
use crate::place::{Inside, Limits, Order, Runner, Started};
use crate::ports;
use crate::process::Stop;
use crate::scrub::Scrub;
use crate::usage::trees_cpu_ns;
use load::tls::TlsOptions;
use load::url::{self, Access};
use load::{Address, Protocol as Framing, Target, WrongAnswer, ask};
use model::placeholder::Values;
use model::record::{Failure, Stopped};
use model::reset::ResetStep;
use model::secret;
use model::system::{Contender, Protocol, Reached};
use model::workload::Workload;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A system that is starting is asked again after this share of the time that
/// has passed, within bounds: its start-up time is then known to 1 %, and a slow
/// one is not disturbed.
const ASK_AGAIN_SHARE: f64 = 0.01;
const ASK_AGAIN: std::ops::RangeInclusive<Duration> = Duration::from_micros(200)..=Duration::from_millis(20);

/// How long one of several replicas may take to answer before the next is asked.
const ASK_REPLICA: Duration = Duration::from_millis(500);

/// How many lines of a log are kept with a failure.
const LOG_LINES: usize = 20;

/// What a start needs besides the contender.
pub struct Surroundings<'a> {
    /// The tools of this machine.
    pub tools: &'a Tools,
    /// Where it runs.
    pub runner: &'a dyn Runner,
    /// How much of the machine it may use.
    pub limits: Limits,
    /// Where a proxy finds its upstream.
    pub upstream: Option<Upstream>,
    /// Where it finds its database: what `{database.*}` stands for.
    pub database: Option<&'a BTreeMap<String, String>>,
    /// The CPUs it may use.
    pub cpus: &'a [usize],
    /// Most descriptors, where the experiment says so.
    pub descriptors: Option<u64>,
    /// A folder for what is rendered and for the log; made anew.
    pub work: &'a Path,
    /// The run's id.
    pub run: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

impl Surroundings<'_> {
    /// Whether something with a loopback of its own reaches what it is to ask.
    ///
    /// # Errors
    /// A database or an upstream that listens on this machine's loopback, and what to do `instead` of such an upstream.
    pub(crate) fn reached_from(&self, place: &str, instead: &str) -> Result<(), String> {
        let host = self.database.and_then(|database| database.get("database.host"));
        if let Some(host) = host.filter(|host| is_loopback(host)) {
            let instead = "FACEOFF_DATABASE may name one that listens elsewhere";
            return Err(format!("its database listens at {host}, where no {place} reaches it; {instead}"));
        }
        match self.upstream.map(|upstream| upstream.address).filter(|address| address.ip().is_loopback()) {
            Some(upstream) => Err(format!("its upstream listens at {upstream}, where no {place} reaches it; {instead}")),
            None => Ok(()),
        }
    }
}

/// Whether a host is this machine and nobody else's.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Where an upstream is reached by what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Where it is asked.
    pub address: SocketAddr,
    /// Its port `https`, where it has one that is known.
    pub https: Option<SocketAddr>,
}

/// A system that answers.
pub struct Running {
    /// What was started; `None` of a service that ran already.
    process: Option<Box<dyn Started>>,
    /// When it was started or, of a service that ran already, reached (CLOCK_MONOTONIC, ns).
    pub began_ns: u64,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its ports as it knows them, by name; none of a service that ran already.
    ports: Vec<(String, u16)>,
    /// Where requests go, and how they are spoken.
    pub target: Target,
    /// The command, as it was run.
    pub command: Vec<String>,
    /// From its start to the first right answer; `None` where nothing was started.
    pub ready_after_ns: Option<u64>,
    /// From when further replicas were asked for until all had answered rightly; `None` where there is one.
    pub scaled_out_after_ns: Option<u64>,
    /// How often it was asked before, and gave no right answer.
    pub asked_in_vain: u64,
    /// What resets it, where that is a command.
    pub(crate) reset: Command,
    /// Clears what it leaves; dropped after the process.
    _scrub: Option<Scrub>,
}

/// A command with its environment, ready to be run.
#[derive(Debug, Default)]
pub(crate) struct Command {
    pub words: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// The limit of descriptors that systems get where nothing else is written: the
/// one that faceoff itself was started with. Read it before anything raises it.
pub fn usual_descriptors() -> u64 {
    static USUAL: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *USUAL.get_or_init(|| rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 20))
}

/// Starts a contender and waits for its first right answer to `ready`.
///
/// # Errors
/// The failure: what could not be started, ended early, or answered wrongly until the deadline.
pub fn start(contender: &Contender, ready: &Workload, around: &Surroundings<'_>) -> Result<Running, (Failure, Vec<String>)> {
    if let Some(reached) = &contender.system.reached {
        return reach(contender, reached, ready, around).map_err(|failure| (failure, vec![reached.url.clone()]));
    }
    // A port can be taken by somebody else between the choice and the start.
    for _ in 0..2 {
        match start_once(contender, ready, around) {
            Err(Attempt::PortTaken) => {}
            Err(Attempt::Failed(failure, command)) => return Err((failure, command)),
            Ok(running) => return Ok(running),
        }
    }
    let cause = "the ports that were picked were taken by others, twice".to_owned();
    Err((Failure { stage: "start".into(), cause, log: vec![] }, vec![]))
}

enum Attempt {
    PortTaken,
    Failed(Failure, Vec<String>),
}

fn start_once(contender: &Contender, ready: &Workload, around: &Surroundings<'_>) -> Result<Running, Attempt> {
    let system = &contender.system;
    let fail = |stage: &str, cause: String, log| Failure { stage: stage.into(), cause, log };
    let prepared = prepare(contender, around).map_err(|cause| Attempt::Failed(fail("start", cause, vec![]), vec![]))?;
    let order = Order {
        contender,
        command: &prepared.command,
        env: &prepared.env,
        inside: &prepared.inside,
        work: &prepared.work,
        descriptors: prepared.descriptors,
        log: &prepared.log,
        around,
    };
    let failed = |failure| Attempt::Failed(failure, prepared.command.clone());
    let address = prepared.inside.address;
    let target = target(address, system.start.protocol).map_err(|cause| failed(fail("start", cause, vec![])))?;
    let mut process = around.runner.start(&order).map_err(|cause| failed(fail("start", cause, vec![])))?;
    let deadline = process.started_ns() + system.ready_within.as_nanos() as u64;
    // What it answered tells more than a last try that the deadline cut short.
    let mut answered = None;
    let mut asked_in_vain = 0;
    let mut behind = process.behind();
    loop {
        let left = deadline.saturating_sub(load::clock::now_ns());
        let within = Duration::from_nanos(left.clamp(1_000_000, 2_000_000_000));
        // What stands before a service and finds nobody there yet would answer, or hold its tongue, in the service's place.
        let stands = behind.map_or(Ok(()), |service| ask(service, &Target::plain(service), ready, within).map(drop));
        let asked = stands.and_then(|()| {
            behind = None;
            ask(address, &target, ready, within)
        });
        let cause = match asked {
            Ok(at_ns) => {
                let (began_ns, ready_after_ns) = (process.started_ns(), Some(at_ns - process.started_ns()));
                let asks = |replica: SocketAddr| ask_replica(replica, system.start.protocol, ready);
                let scaled = process.scale_out(&asks, system.ready_within, around.stop);
                let scaled = scaled.map_err(|cause| failed(fail("scale-out", cause, process.last_lines(LOG_LINES))))?;
                asked_in_vain += scaled.map_or(0, |scaled| scaled.asked_in_vain);
                let scaled_out_after_ns = scaled.map(|scaled| scaled.after_ns);
                let reset = Command { words: prepared.reset, env: prepared.env };
                let process = Some(process);
                let (command, _scrub) = (prepared.command, Some(prepared.scrub));
                let ports = prepared.inside.ports(&system.start.ports);
                return Ok(Running {
                    process,
                    began_ns,
                    address,
                    ports,
                    target,
                    command,
                    ready_after_ns,
                    scaled_out_after_ns,
                    asked_in_vain,
                    reset,
                    _scrub,
                });
            }
            Err(WrongAnswer::NobodyThere(cause)) if address.ip().is_loopback() => cause,
            // Whoever listens on loopback alone is not found at another address.
            Err(WrongAnswer::NobodyThere(cause)) => format!("{cause}; it must listen where `{{listen}}` says"),
            Err(WrongAnswer::NoAnswer(cause)) => {
                asked_in_vain += 1;
                cause
            }
            Err(WrongAnswer::Wrong(cause)) => {
                asked_in_vain += 1;
                answered.insert(format!("a wrong answer: {cause}")).clone()
            }
        };
        let log = |process: &dyn Started| process.last_lines(LOG_LINES);
        if let Some(status) = process.ended() {
            // Elsewhere nobody else can have taken it.
            if address.ip().is_loopback() && !ports::is_free(address.port()) {
                return Err(Attempt::PortTaken);
            }
            return Err(failed(fail("start", format!("it ended with {status} before it was ready"), log(&*process))));
        }
        if around.stop.load(Ordering::Relaxed) {
            return Err(failed(fail("ready", "interrupted".into(), vec![])));
        }
        if load::clock::now_ns() >= deadline {
            let within = model::units::show_duration(system.ready_within);
            let cause = answered.unwrap_or(cause);
            return Err(failed(fail("ready", format!("no right answer within {within}; the last was: {cause}"), log(&*process))));
        }
        let passed = Duration::from_nanos(load::clock::now_ns() - process.started_ns());
        std::thread::sleep(passed.mul_f64(ASK_AGAIN_SHARE).clamp(*ASK_AGAIN.start(), *ASK_AGAIN.end()));
    }
}

/// Finds a service that runs already, and asks it until its first right answer.
fn reach(contender: &Contender, reached: &Reached, ready: &Workload, around: &Surroundings<'_>) -> Result<Running, Failure> {
    let fail = |cause: String| Failure { stage: "reach".into(), cause, log: vec![] };
    let began_ns = load::clock::now_ns();
    let deadline = began_ns + contender.system.ready_within.as_nanos() as u64;
    let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
    let access = Access { tls, protocol: Framing::Http1 { keep_alive: true }, unix: None, allow_remote: reached.remote };
    let found = url::parse(&reached.url).and_then(|url| url::resolve(&url, &access));
    // One line: what to do about it stands in the manifest.
    let found = found.map_err(|problems| fail(problems.list().iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")))?;
    let addresses: Vec<SocketAddr> =
        found.addresses.iter().filter_map(|a| if let Address::Tcp(address) = a { Some(*address) } else { None }).collect();
    let (mut asked_in_vain, mut cause) = (0, "its name has no address".to_owned());
    loop {
        // A name may have addresses at which nobody listens.
        for address in &addresses {
            let left = Duration::from_nanos(deadline.saturating_sub(load::clock::now_ns()).clamp(1_000_000, 2_000_000_000));
            cause = match ask(*address, &found, ready, left) {
                Ok(_) => {
                    let target = Target { addresses: vec![Address::Tcp(*address)], ..found };
                    let (command, reset) = (vec![reached.url.clone()], Command::default());
                    // Nothing is started, but what other generators say of it is kept there.
                    let (process, ready_after_ns, scaled_out_after_ns, _scrub) = (None, None, None, Some(Scrub(around.work.to_owned())));
                    let (address, ports) = (*address, vec![]);
                    return Ok(Running {
                        process,
                        began_ns,
                        address,
                        ports,
                        target,
                        command,
                        ready_after_ns,
                        scaled_out_after_ns,
                        asked_in_vain,
                        reset,
                        _scrub,
                    });
                }
                Err(WrongAnswer::NobodyThere(cause)) => cause,
                Err(WrongAnswer::NoAnswer(cause) | WrongAnswer::Wrong(cause)) => {
                    asked_in_vain += 1;
                    cause
                }
            };
        }
        if around.stop.load(Ordering::Relaxed) {
            return Err(fail("interrupted".into()));
        }
        if load::clock::now_ns() >= deadline {
            let within = model::units::show_duration(contender.system.ready_within);
            return Err(fail(format!("no right answer from {} within {within}; the last was: {cause}", reached.url)));
        }
        std::thread::sleep(*ASK_AGAIN.end());
    }
}

/// How a system is spoken to. Its certificate is its own, and trusted as it stands: what verifying it costs is paid all the same.
fn target(address: SocketAddr, protocol: Protocol) -> Result<Target, String> {
    let plain = Target::plain(address);
    let http2 = match protocol {
        Protocol::Http1 => return Ok(plain),
        Protocol::Http1Tls => false,
        Protocol::Http2Tls => true,
    };
    let tls = TlsOptions { insecure: true, http2, ..TlsOptions::default() }.client(&address.ip().to_string())?;
    Ok(Target { protocol: if http2 { Framing::Http2 } else { plain.protocol }, tls: Some(tls), ..plain })
}

/// Asks one of several replicas for a right answer.
fn ask_replica(address: SocketAddr, protocol: Protocol, ready: &Workload) -> Result<u64, WrongAnswer> {
    let target = target(address, protocol).map_err(WrongAnswer::NobodyThere)?;
    ask(address, &target, ready, ASK_REPLICA)
}

struct Prepared {
    command: Vec<String>,
    /// Empty where nothing is run to reset it.
    reset: Vec<String>,
    env: BTreeMap<String, String>,
    inside: Inside,
    work: PathBuf,
    descriptors: u64,
    log: PathBuf,
    scrub: Scrub,
}

/// Picks ports, fills placeholders, renders files.
fn prepare(contender: &Contender, around: &Surroundings<'_>) -> Result<Prepared, String> {
    let start = &contender.system.start;
    std::fs::create_dir_all(around.work).map_err(|e| format!("{} cannot be made: {e}", around.work.display()))?;
    let work = around.work.canonicalize().map_err(|e| format!("{} cannot be found: {e}", around.work.display()))?;
    let scrub = Scrub(work.clone());
    let descriptors = around.descriptors.or(start.descriptors).unwrap_or_else(usual_descriptors);
    let inside = around.runner.inside(contender, around, &work)?;
    let mut values = values(contender, None);
    values.texts.extend(inside.texts.clone());
    if let Some(Upstream { address, https }) = around.upstream {
        values.texts.insert("upstream.http".into(), format!("http://{address}"));
        values.texts.insert("upstream.address".into(), address.to_string());
        values.texts.insert("upstream.port".into(), address.port().to_string());
        values.texts.extend(https.map(|address| ("upstream.https".into(), format!("https://{address}"))));
    }
    values.texts.extend(around.database.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    values.texts.insert("cores".into(), around.cpus.len().to_string());
    values.texts.insert("descriptors".into(), descriptors.to_string());
    let no_value = |name: String| match name.as_str() {
        name if name.starts_with(secret::PREFIX) => secret::value(&name[secret::PREFIX.len()..])
            .map_or_else(|missing| format!("{} ({})", missing.message, missing.hint), |_| name.to_owned()),
        "upstream.https" if around.upstream.is_some() => {
            "`{upstream.https}` has no value: the upstream has no port `https`, or none that is reached by its number".to_owned()
        }
        name if name.starts_with("upstream") => format!("`{{{name}}}` has no value: the experiment names no upstream"),
        name if name.starts_with("database") => format!("`{{{name}}}` has no value: the experiment names no database"),
        name => format!("`{{{name}}}` has no value here"),
    };
    for file in &start.render {
        let template = std::fs::read_to_string(contender.system.folder.join(file)).map_err(|e| format!("{file} cannot be read: {e}"))?;
        let text = values.expand(&template).map_err(|name| format!("{file}: {}", no_value(name)))?;
        std::fs::write(work.join(file), text).map_err(|e| format!("{file} cannot be written: {e}"))?;
    }
    let mut env = BTreeMap::new();
    for (key, template) in &start.env {
        env.insert(key.clone(), values.expand(template).map_err(no_value)?);
    }
    let reset = match contender.system.reset.as_ref().map(|reset| &reset.step) {
        Some(ResetStep::Command(command)) => {
            outside(&values, contender, around, &inside, &work).expand_command(command).map_err(no_value)?
        }
        _ => Vec::new(),
    };
    Ok(Prepared {
        command: values.expand_command(&start.run).map_err(no_value)?,
        reset,
        env,
        inside,
        descriptors,
        log: work.join("output.log"),
        scrub,
        work,
    })
}

/// What placeholders stand for here, where a command that resets a system runs, and not where the system does.
fn outside(values: &Values, contender: &Contender, around: &Surroundings<'_>, inside: &Inside, work: &Path) -> Values {
    let mut outside = values.clone();
    outside.texts.extend(crate::build::values(contender, around.tools.jvm(&contender.system)).texts);
    outside.texts.insert("work".into(), work.to_string_lossy().into_owned());
    for (name, (_, here)) in contender.system.start.ports.iter().zip(&inside.published) {
        outside.texts.insert(format!("port.{name}"), here.to_string());
    }
    outside
}

/// The port `https` of a system, where others reach its first port at an address; known where they do so by the number that it listens at.
fn https_beside(address: SocketAddr, ports: &[(String, u16)]) -> Option<SocketAddr> {
    let is_as_it_listens = ports.first().is_some_and(|(_, first)| *first == address.port());
    let https = ports.iter().find(|(name, _)| is_as_it_listens && name == "https");
    https.map(|(_, port)| SocketAddr::new(address.ip(), *port))
}

impl Running {
    /// Its process id, where it was started.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.pid())
    }

    /// The process ids of all its replicas.
    pub fn pids(&self) -> Vec<u32> {
        self.process.iter().flat_map(|process| std::iter::once(process.pid()).chain(process.others())).collect()
    }

    /// The process ids of what the engine runs to pass its packets on, for it alone.
    pub fn forwarders(&self) -> Vec<u32> {
        self.process.iter().flat_map(|process| process.forwarders()).collect()
    }

    /// Where other systems of the run reach it.
    pub fn seen_by_others(&self) -> Upstream {
        let address = self.process.as_ref().and_then(|process| process.seen_by_others()).unwrap_or(self.address);
        Upstream { address, https: https_beside(address, &self.ports) }
    }

    /// CPU time of its processes so far; nothing where they are not ours.
    pub fn cpu_ns(&self) -> u64 {
        trees_cpu_ns(&[self.pids(), self.forwarders()].concat())
    }

    /// How its process ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.process.as_mut()?.ended()
    }

    /// Where its output goes.
    pub fn log(&self) -> Option<&Path> {
        self.process.as_ref().map(|process| process.log())
    }

    /// The last lines it wrote.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        self.process.as_ref().map(|process| process.last_lines(most)).unwrap_or_default()
    }

    /// Stops it in order; a service that ran already goes on. The failure, if any, is that it had to be killed, or had ended before.
    pub fn stop(self, contender: &Contender) -> (Option<Stopped>, Option<Failure>) {
        let rule = &contender.system.stop;
        let Some(mut process) = self.process else { return (None, None) };
        let ended_before = process.ended();
        let log = process.last_lines(LOG_LINES);
        let Stop { ended, took_ns: after_ns, killed, orphans, memory_kills } = process.stop(rule.signal, rule.within);
        // A JVM exits with 128 + signal when it ends by one; others with 0, or by the signal itself.
        let orderly = ["exit 0", "exit 143", "exit 130", "exit 131", "signal 15", "signal 2", "signal 3", "signal 10"]
            .contains(&ended.status.as_str());
        let failure = match (&ended_before, killed) {
            (Some(status), _) => Some(format!("it had ended with {status} before it was stopped")),
            (None, true) => Some(format!("it did not end within {} and was killed", model::units::show_duration(rule.within))),
            (None, false) if !orderly => Some(format!("it ended with {} when it was stopped", ended.status)),
            (None, false) if memory_kills > 0 => Some(format!("{memory_kills} of its processes were killed for want of memory")),
            (None, false) if orphans > 0 => Some(format!("it left {orphans} processes behind, which were killed")),
            _ => None,
        };
        let stopped = Stopped { after_ns, clean: failure.is_none(), status: ended.status };
        (Some(stopped), failure.map(|cause| Failure { stage: "stop".into(), cause, log }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_this_machine_and_nobody_elses() {
        assert!(["localhost", "127.0.0.1", "127.1.2.3", "::1"].into_iter().all(is_loopback));
        assert!(!["10.0.0.7", "db.example", ""].into_iter().any(is_loopback));
    }

    #[test]
    fn a_second_port_is_beside_the_first_where_that_is_reached_by_its_number() {
        let ports = [("http".to_owned(), 8080), ("admin".to_owned(), 8081), ("https".to_owned(), 8082)];
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(https_beside(at("10.0.0.7:8080"), &ports), Some(at("10.0.0.7:8082")));
        assert_eq!(https_beside(at("10.0.0.7:31080"), &ports), None, "a port of a node says nothing of the others");
        assert_eq!(https_beside(at("127.0.0.1:8080"), &ports[..2]), None);
        assert_eq!(https_beside(at("127.0.0.1:8080"), &[]), None);
    }
}
