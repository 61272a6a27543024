//! An agent: lets coordinators in that know its token, and makes one part of a load at a time.

use super::link::{Link, Token, agent_tls};
use super::words::{ASK_LONGEST, Ask, Say, Task};
use super::{LOOPS_MAX, Made, Start};
use crate::{clock, run_part};
use rustls::ServerConfig;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Coordinators, or whoever would be one, at once; further connections are closed.
const VISITORS_MAX: usize = 16;
/// A coordinator that has said nothing for so long is gone, and what it asked for is ended.
const SILENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether anybody comes.
const LOOK: Duration = Duration::from_millis(20);
/// A beginning that is farther away is none.
const BEGIN_WITHIN_NS: u64 = 60_000_000_000;

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    token: Token,
    loops: u32,
    /// Whether a load is being made.
    busy: AtomicBool,
}

/// A part of a load that is being made.
struct Work {
    start: Arc<Start>,
    stop: Arc<AtomicBool>,
    connected: Arc<AtomicBool>,
    outcome: mpsc::Receiver<Result<Made, String>>,
}

impl Drop for Work {
    /// Who asked for it is gone, or has the answer.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Agent {
    /// Listens; runs so many event loops of a load at most.
    ///
    /// # Errors
    /// An address that cannot be had.
    pub fn new(address: SocketAddr, token: Token, loops: u32) -> Result<Agent, String> {
        let failed = |e: io::Error| format!("{address} cannot be listened on: {e}\nhint: choose another with --listen");
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Agent { listener, tls: agent_tls()?, token, loops: loops.clamp(1, LOOPS_MAX), busy: AtomicBool::new(false) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is stopped. Each visitor that ends otherwise than in order is told of.
    pub fn serve(&self, stop: &AtomicBool, told: &(dyn Fn(&str) + Sync)) {
        let visitors = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let Ok((tcp, from)) = self.listener.accept() else {
                    std::thread::sleep(LOOK);
                    continue;
                };
                if visitors.fetch_add(1, Ordering::Relaxed) >= VISITORS_MAX {
                    visitors.fetch_sub(1, Ordering::Relaxed);
                    told(&format!("{from} was not let in: {VISITORS_MAX} others are here"));
                    continue;
                }
                let visitors = &visitors;
                scope.spawn(move || {
                    if let Err(error) = self.receive(tcp, stop) {
                        told(&format!("{from}: {error}"));
                    }
                    visitors.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
    }

    fn receive(&self, tcp: TcpStream, stop: &AtomicBool) -> io::Result<()> {
        tcp.set_nonblocking(false)?;
        let mut link = Link::from_coordinator(tcp, self.tls.clone(), &self.token)?;
        std::thread::scope(|scope| {
            let mut work: Option<Work> = None;
            while !stop.load(Ordering::Relaxed) {
                let asked = match link.receive(ASK_LONGEST, SILENCE) {
                    Ok(asked) => asked,
                    // Who has nothing more to ask hangs up.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && work.is_none() => return Ok(()),
                    Err(error) => return Err(error),
                };
                let said = match asked {
                    Ask::Clock => Say::Clock { now_ns: clock::now_ns(), loops: self.loops },
                    Ask::Task(_) if work.is_some() => Say::Refused("one task after the other".into()),
                    Ask::Task(task) => {
                        let begun = Work::begin(*task, self, scope);
                        match begun {
                            Ok(begun) => Say::at_it(work.insert(begun)),
                            Err(why) => Say::Refused(why),
                        }
                    }
                    Ask::Begin { at_ns } => match &work {
                        Some(work) if at_ns > 0 && at_ns.abs_diff(clock::now_ns()) < BEGIN_WITHIN_NS => {
                            work.start.tell(at_ns);
                            Say::at_it(work)
                        }
                        _ => Say::Refused("there is nothing to begin".into()),
                    },
                    Ask::Watch => match work.as_ref().map(|work| work.outcome.try_recv()) {
                        None => Say::Refused("there is nothing to watch".into()),
                        Some(Err(mpsc::TryRecvError::Empty)) => Say::at_it(work.as_ref().expect("asked before")),
                        Some(outcome) => {
                            work = None;
                            match outcome {
                                Ok(Ok(made)) => Say::Done(Box::new(made)),
                                Ok(Err(why)) => Say::Refused(why),
                                Err(_) => Say::Refused("the generator panicked".into()),
                            }
                        }
                    },
                };
                link.send(&said, SILENCE)?;
            }
            Ok(())
        })
    }
}

impl Say {
    fn at_it(work: &Work) -> Say {
        Say::AtIt { connected: work.connected.load(Ordering::Relaxed) }
    }
}

impl Work {
    /// Opens connections on threads of its own, and waits there for the start.
    fn begin<'scope>(task: Task, agent: &'scope Agent, scope: &'scope std::thread::Scope<'scope, '_>) -> Result<Work, String> {
        let target = task.target()?;
        if task.part.loops > agent.loops {
            return Err(format!("{} event loops, of the {} of this agent", task.part.loops, agent.loops));
        }
        let (sender, outcome) = mpsc::sync_channel(1);
        let work = Work { start: Arc::default(), stop: Arc::default(), connected: Arc::default(), outcome };
        let (start, stop, connected) = (work.start.clone(), work.stop.clone(), work.connected.clone());
        scope.spawn(move || {
            let made = match agent.busy.swap(true, Ordering::Acquire) {
                true => Err("it makes a load for another coordinator".into()),
                false => {
                    let plan = task.plan(&target, &stop);
                    let made = run_part(&plan, task.part, &start, || connected.store(true, Ordering::Relaxed)).map_err(|e| e.to_string());
                    agent.busy.store(false, Ordering::Release);
                    made
                }
            };
            // Nobody waits for it where the coordinator is gone.
            let _ = sender.send(made);
        });
        Ok(work)
    }
}
