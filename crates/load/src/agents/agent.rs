//! An agent: accepts coordinators that know its token, and makes one part of a load at a time.
//!
//! [`Agent::serve`] accepts connections. [`Agent::serve_coordinator`] answers the messages of one
//! coordinator. [`Work`] is a part of a load that runs on its own threads.

use super::allowlist::Allowlist;
use super::link::{Link, Token, agent_tls};
use super::messages::{REQUEST_BYTES_MAX, Reply, Request, Task};
use crate::clock;
use crate::parts::{LOOPS_MAX, PartResult, Start};
use crate::run::run_part;
use rustls::ServerConfig;
use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// The largest number of connections at once. Further ones are closed.
const CONNECTIONS_MAX: usize = 16;
/// A coordinator that has sent nothing for this long is gone. Its load is stopped.
const SILENCE: Duration = Duration::from_secs(10);
/// How often the agent checks for new connections.
const LOOK: Duration = Duration::from_millis(20);
/// How long to wait after an error such as too few descriptors. It may be over then.
const RECOVERY: Duration = Duration::from_secs(1);
/// A start further away than this is rejected.
const BEGIN_WITHIN_NS: u64 = 60_000_000_000;

/// An agent that listens for coordinators.
pub struct Agent {
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    token: Token,
    loops: u32,
    allowlist: Allowlist,
    /// Whether a load is running.
    busy: AtomicBool,
}

/// A part of a load that is running.
struct Work {
    start: Arc<Start>,
    stop: Arc<AtomicBool>,
    connected: Arc<AtomicBool>,
    outcome: mpsc::Receiver<Result<PartResult, String>>,
}

impl Drop for Work {
    /// Stops the load when its coordinator is gone or has the result.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Agent {
    /// Listens on an address. Runs at most `loops` event loops of a load.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn new(address: SocketAddr, token: Token, loops: u32) -> Result<Agent, String> {
        let failed = |e: io::Error| {
            format!("cannot listen on {address}: {e}\nhint: choose another address with --listen")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Agent {
            listener,
            tls: agent_tls()?,
            token,
            loops: loops.clamp(1, LOOPS_MAX),
            allowlist: Allowlist::default(),
            busy: AtomicBool::new(false),
        })
    }

    /// Restricts the targets that the agent loads.
    pub fn only(self, allowlist: Allowlist) -> Agent {
        Agent { allowlist, ..self }
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// If the kernel does not provide it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is stopped, which ends all connections. Reports each connection that ends
    /// with an error.
    pub fn serve(&self, stop: &AtomicBool, report: &(dyn Fn(&str) + Sync)) {
        let connections: Mutex<HashMap<SocketAddr, TcpStream>> = Mutex::default();
        let there = || connections.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let accepted = self
                    .listener
                    .accept()
                    .and_then(|(tcp, from)| Ok((tcp.try_clone()?, tcp, from)));
                let (kept, tcp, from) = match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        if error.kind() != io::ErrorKind::WouldBlock {
                            report(&format!("no connection can be accepted: {error}"));
                            std::thread::sleep(RECOVERY);
                        }
                        std::thread::sleep(LOOK);
                        continue;
                    }
                };
                if there().len() >= CONNECTIONS_MAX {
                    report(&format!(
                        "{from} was refused: there are {CONNECTIONS_MAX} connections already"
                    ));
                    continue;
                }
                there().insert(from, kept);
                scope.spawn(move || {
                    let ended = self.serve_coordinator(tcp, stop);
                    there().remove(&from);
                    match ended {
                        Err(error) if !stop.load(Ordering::Relaxed) => {
                            report(&format!("{from}: {error}"))
                        }
                        _ => {}
                    }
                });
            }
            for connection in there().values() {
                // A coordinator that waits for a reply sees the end of the connection.
                let _ = connection.shutdown(Shutdown::Both);
            }
        });
    }

    fn serve_coordinator(&self, tcp: TcpStream, stop: &AtomicBool) -> io::Result<()> {
        tcp.set_nonblocking(false)?;
        let mut link = Link::from_coordinator(tcp, self.tls.clone(), &self.token)?;
        std::thread::scope(|scope| {
            let mut work: Option<Work> = None;
            while !stop.load(Ordering::Relaxed) {
                let request = match link.receive(REQUEST_BYTES_MAX, SILENCE) {
                    Ok(request) => request,
                    // A coordinator without further requests closes the connection.
                    Err(error)
                        if error.kind() == io::ErrorKind::UnexpectedEof && work.is_none() =>
                    {
                        return Ok(());
                    }
                    Err(error) if work.is_some() => {
                        return Err(io::Error::new(
                            error.kind(),
                            format!("{error}; its load was stopped"),
                        ));
                    }
                    Err(error) => return Err(error),
                };
                let reply = match request {
                    Request::Clock => Reply::Clock { now_ns: clock::now_ns(), loops: self.loops },
                    Request::Task(_) if work.is_some() => {
                        Reply::Refused("a task is already in progress".into())
                    }
                    Request::Task(task) => {
                        let begun = Work::begin(*task, self, scope);
                        match begun {
                            Ok(begun) => Reply::running(work.insert(begun)),
                            Err(why) => Reply::Refused(why),
                        }
                    }
                    Request::Begin { at_ns } => match &work {
                        Some(work)
                            if at_ns > 0 && at_ns.abs_diff(clock::now_ns()) < BEGIN_WITHIN_NS =>
                        {
                            work.start.tell(at_ns);
                            Reply::running(work)
                        }
                        _ => Reply::Refused("there is no load to start".into()),
                    },
                    Request::Watch => match work.as_ref().map(|work| work.outcome.try_recv()) {
                        None => Reply::Refused("there is no load in progress".into()),
                        Some(Err(mpsc::TryRecvError::Empty)) => {
                            Reply::running(work.as_ref().expect("checked before"))
                        }
                        Some(outcome) => {
                            work = None;
                            match outcome {
                                Ok(Ok(made)) => Reply::Done(Box::new(made)),
                                Ok(Err(why)) => Reply::Refused(why),
                                Err(_) => Reply::Refused("the generator has ended".into()),
                            }
                        }
                    },
                };
                link.send(&reply, SILENCE)?;
            }
            Ok(())
        })
    }
}

impl Reply {
    fn running(work: &Work) -> Reply {
        Reply::Running { connected: work.connected.load(Ordering::Relaxed) }
    }
}

impl Work {
    /// Opens connections on other threads, which then wait for the start.
    fn begin<'scope>(
        task: Task,
        agent: &'scope Agent,
        scope: &'scope std::thread::Scope<'scope, '_>,
    ) -> Result<Work, String> {
        if let Some(address) = agent.allowlist.first_refused(&task.addresses) {
            let hint = "if the load is permitted there, add the address to the agent's --only";
            return Err(format!("it may not load {address}\nhint: {hint}"));
        }
        let target = task.target()?;
        if task.part.loops > agent.loops {
            return Err(format!(
                "{} event loops, but this agent has {}",
                task.part.loops, agent.loops
            ));
        }
        let (sender, outcome) = mpsc::sync_channel(1);
        let work = Work {
            start: Arc::default(),
            stop: Arc::default(),
            connected: Arc::default(),
            outcome,
        };
        let (start, stop, connected) =
            (work.start.clone(), work.stop.clone(), work.connected.clone());
        scope.spawn(move || {
            let made = match agent.busy.swap(true, Ordering::Acquire) {
                true => Err("it is busy with another coordinator".into()),
                false => {
                    let plan = task.plan(&target, &stop);
                    let make = || {
                        run_part(&plan, task.part, &start, || {
                            connected.store(true, Ordering::Relaxed)
                        })
                    };
                    // A panic would end the agent and leave it busy.
                    let made = catch_unwind(AssertUnwindSafe(make));
                    agent.busy.store(false, Ordering::Release);
                    made.map_or_else(
                        |_| Err("the generator panicked".into()),
                        |made| made.map_err(|e| e.to_string()),
                    )
                }
            };
            // The receiver is gone if the coordinator is.
            let _ = sender.send(made);
        });
        Ok(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Part;
    use crate::plan::{Protocol, Wait};
    use spec::experiment::Load;
    use spec::workload::{Step, Workload};
    use std::io::{Read, Write};

    const SECOND: Duration = Duration::from_secs(1);

    fn token() -> Token {
        Token::new(&"a".repeat(32)).unwrap()
    }

    fn task(load: Load, part: Part) -> Request {
        Request::Task(Box::new(Task {
            part,
            load,
            workload: Workload { steps: vec![Step::default()], ..Workload::default() },
            addresses: vec!["127.0.0.1:1".parse().unwrap()],
            host: "agent.test".into(),
            protocol: Protocol::Http1 { keep_alive: true },
            tls: None,
            duration: SECOND,
            requests: None,
            timeout: SECOND,
            seed: 1,
            wait: Wait::Asleep,
        }))
    }

    /// Runs an agent with one event loop while a test uses it.
    fn with_agent(does: impl FnOnce(SocketAddr)) {
        let agent = Agent::new("127.0.0.1:0".parse().unwrap(), token(), 1).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| agent.serve(&stop, &|_| {}));
            let done =
                std::panic::catch_unwind(AssertUnwindSafe(|| does(agent.address().unwrap())));
            stop.store(true, Ordering::Relaxed);
            serving.join().expect("no message makes an agent panic");
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }

    fn reply_to(link: &mut Link, ask: &Request) -> io::Result<Reply> {
        link.send(ask, SILENCE)?;
        link.receive(REQUEST_BYTES_MAX, SILENCE)
    }

    #[test]
    fn agent_survives_invalid_messages() {
        with_agent(|address| {
            let hello_cut_short: &[u8] = &[0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3, 0, 0];
            for bytes in
                [b"", b"GET / HTTP/1.1\r\n\r\n".as_slice(), hello_cut_short, &[0xff; 70_000]]
            {
                let mut tcp = TcpStream::connect(address).unwrap();
                let _ = tcp.write_all(bytes);
            }
            let mut link = Link::to_agent(address, &token()).unwrap();
            link.send(&"no question", SECOND).unwrap();
            let hung_up = link
                .receive::<Reply>(REQUEST_BYTES_MAX, SECOND * 5)
                .err()
                .map(|error| error.kind());
            assert!(hung_up.is_some_and(|kind| kind != io::ErrorKind::TimedOut), "{hung_up:?}");
            let mut link = Link::to_agent(address, &token()).unwrap();
            let whole = Part::whole(1);
            let cannot_be = [
                Request::Watch,
                Request::Begin { at_ns: clock::now_ns() },
                task(Load::closed(0), whole),
                task(Load::arrivals(f64::MAX, 64), whole),
                task(Load::closed(8), Part::whole(2)),
            ];
            for ask in cannot_be {
                assert!(matches!(reply_to(&mut link, &ask), Ok(Reply::Refused(_))));
            }
            let Ok(Reply::Clock { loops, .. }) = reply_to(&mut link, &Request::Clock) else {
                panic!("it still replies")
            };
            assert_eq!(loops, 1);
        });
    }

    #[test]
    fn invalid_part_is_refused_and_the_next_accepted() {
        with_agent(|address| {
            let mut link = Link::to_agent(address, &token()).unwrap();
            for part in [
                Part { first: 7, loops: 1, of: 2 },
                Part { first: 0, loops: 1, of: u32::MAX },
                Part { first: u32::MAX, loops: 1, of: 1 },
            ] {
                assert!(matches!(
                    reply_to(&mut link, &task(Load::closed(8), part)),
                    Ok(Reply::Running { .. })
                ));
                let reply =
                    std::iter::repeat_with(|| reply_to(&mut link, &Request::Watch).unwrap())
                        .find(|said| !matches!(said, Reply::Running { .. }));
                assert!(
                    matches!(reply, Some(Reply::Refused(why)) if why.contains("not part") || why.contains("need more connections")),
                    "{part:?}"
                );
            }
        });
    }

    #[test]
    fn stopped_agent_ends_despite_open_connections() {
        let begun = std::time::Instant::now();
        with_agent(|address| {
            let mut link = Link::to_agent(address, &token()).unwrap();
            assert!(matches!(reply_to(&mut link, &Request::Clock), Ok(Reply::Clock { .. })));
            // The agent is stopped while this connection is silent and open.
            std::mem::forget(link);
        });
        assert!(begun.elapsed() < SILENCE / 2, "{:?}", begun.elapsed());
    }

    #[test]
    fn connections_beyond_the_limit_are_closed() {
        with_agent(|address| {
            let connect = || TcpStream::connect(address).unwrap();
            let idle: Vec<TcpStream> =
                std::iter::repeat_with(connect).take(CONNECTIONS_MAX).collect();
            let mut further = connect();
            further.set_read_timeout(Some(SECOND * 4)).unwrap();
            assert!(
                matches!(further.read(&mut [0]), Ok(0)),
                "closed at once, as there are {} already",
                idle.len()
            );
        });
    }
}
