//! An agent: lets coordinators in that know its token, and makes one part of a load at a time.

use super::link::{Link, Token, agent_tls};
use super::only::Only;
use super::words::{ASK_LONGEST, Ask, Say, Task};
use super::{LOOPS_MAX, Made, Start};
use crate::{clock, run_part};
use rustls::ServerConfig;
use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Coordinators, or whoever would be one, at once; further connections are closed.
const VISITORS_MAX: usize = 16;
/// A coordinator that has said nothing for so long is gone, and what it asked for is ended.
const SILENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether anybody comes.
const LOOK: Duration = Duration::from_millis(20);
/// What keeps everybody out, such as too few descriptors, may be over after so long.
const RECOVERY: Duration = Duration::from_secs(1);
/// A beginning that is farther away is none.
const BEGIN_WITHIN_NS: u64 = 60_000_000_000;

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    token: Token,
    loops: u32,
    only: Only,
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
        let (loops, only, busy) = (loops.clamp(1, LOOPS_MAX), Only::default(), AtomicBool::new(false));
        Ok(Agent { listener, tls: agent_tls()?, token, loops, only, busy })
    }

    /// The same, which loads nobody else.
    pub fn only(self, only: Only) -> Agent {
        Agent { only, ..self }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is stopped, which ends every visit. Each visitor that ends otherwise than in order is told of.
    pub fn serve(&self, stop: &AtomicBool, told: &(dyn Fn(&str) + Sync)) {
        let visitors: Mutex<HashMap<SocketAddr, TcpStream>> = Mutex::default();
        let there = || visitors.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let accepted = self.listener.accept().and_then(|(tcp, from)| Ok((tcp.try_clone()?, tcp, from)));
                let (kept, tcp, from) = match accepted {
                    Ok(visitor) => visitor,
                    Err(error) => {
                        if error.kind() != io::ErrorKind::WouldBlock {
                            told(&format!("nobody can be let in: {error}"));
                            std::thread::sleep(RECOVERY);
                        }
                        std::thread::sleep(LOOK);
                        continue;
                    }
                };
                if there().len() >= VISITORS_MAX {
                    told(&format!("{from} was not let in: {VISITORS_MAX} others are here"));
                    continue;
                }
                there().insert(from, kept);
                scope.spawn(move || {
                    let ended = self.receive(tcp, stop);
                    there().remove(&from);
                    match ended {
                        Err(error) if !stop.load(Ordering::Relaxed) => told(&format!("{from}: {error}")),
                        _ => {}
                    }
                });
            }
            for visitor in there().values() {
                // Whoever waits for its next word hears that there will be none.
                let _ = visitor.shutdown(Shutdown::Both);
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
                    Err(error) if work.is_some() => {
                        return Err(io::Error::new(error.kind(), format!("{error}; the load that it had asked for was ended")));
                    }
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
                                Err(_) => Say::Refused("its generator is gone".into()),
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
        if let Some(address) = agent.only.beyond(&task.addresses) {
            let hint = "where that load is welcome, have its --only name it";
            return Err(format!("{address} is not among those that it may load\nhint: {hint}"));
        }
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
                    let make = || run_part(&plan, task.part, &start, || connected.store(true, Ordering::Relaxed));
                    // It would end the agent with whatever else it does, and leave it busy for ever.
                    let made = catch_unwind(AssertUnwindSafe(make));
                    agent.busy.store(false, Ordering::Release);
                    made.map_or_else(|_| Err("the generator panicked".into()), |made| made.map_err(|e| e.to_string()))
                }
            };
            // Nobody waits for it where the coordinator is gone.
            let _ = sender.send(made);
        });
        Ok(work)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::*;
    use crate::plan::{Protocol, Wait};
    use model::experiment::Load;
    use model::workload::{Step, Workload};
    use std::io::{Read, Write};

    const SECOND: Duration = Duration::from_secs(1);

    fn token() -> Token {
        Token::new(&"a".repeat(32)).unwrap()
    }

    fn task(load: Load, part: Part) -> Ask {
        Ask::Task(Box::new(Task {
            part,
            load,
            workload: Workload { steps: vec![Step::default()], ..Workload::default() },
            addresses: vec!["127.0.0.1:1".parse().unwrap()],
            host: "nobody".into(),
            protocol: Protocol::Http1 { keep_alive: true },
            tls: None,
            duration: SECOND,
            requests: None,
            timeout: SECOND,
            seed: 1,
            wait: Wait::Asleep,
        }))
    }

    /// An agent of one event loop that serves while something is done with it.
    fn with_agent(does: impl FnOnce(SocketAddr)) {
        let agent = Agent::new("127.0.0.1:0".parse().unwrap(), token(), 1).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| agent.serve(&stop, &|_| {}));
            let done = std::panic::catch_unwind(AssertUnwindSafe(|| does(agent.address().unwrap())));
            stop.store(true, Ordering::Relaxed);
            serving.join().expect("nothing that comes makes an agent panic");
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }

    fn asked(link: &mut Link, ask: &Ask) -> io::Result<Say> {
        link.send(ask, SILENCE)?;
        link.receive(ASK_LONGEST, SILENCE)
    }

    #[test]
    fn whatever_comes_an_agent_goes_on() {
        with_agent(|address| {
            let hello_cut_short: &[u8] = &[0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3, 0, 0];
            for bytes in [b"", b"GET / HTTP/1.1\r\n\r\n".as_slice(), hello_cut_short, &[0xff; 70_000]] {
                let mut tcp = TcpStream::connect(address).unwrap();
                let _ = tcp.write_all(bytes);
            }
            let mut link = Link::to_agent(address, &token()).unwrap();
            link.send(&"no question", SECOND).unwrap();
            let hung_up = link.receive::<Say>(ASK_LONGEST, SECOND * 5).err().map(|error| error.kind());
            assert!(hung_up.is_some_and(|kind| kind != io::ErrorKind::TimedOut), "{hung_up:?}");
            let mut link = Link::to_agent(address, &token()).unwrap();
            let whole = Part::whole(1);
            let cannot_be = [
                Ask::Watch,
                Ask::Begin { at_ns: clock::now_ns() },
                task(Load::closed(0), whole),
                task(Load::arrivals(f64::MAX, 64), whole),
                task(Load::closed(8), Part::whole(2)),
            ];
            for ask in cannot_be {
                assert!(matches!(asked(&mut link, &ask), Ok(Say::Refused(_))));
            }
            let Ok(Say::Clock { loops, .. }) = asked(&mut link, &Ask::Clock) else { panic!("it is still there") };
            assert_eq!(loops, 1);
        });
    }

    #[test]
    fn a_part_that_is_none_is_told_of_and_the_next_can_be_made() {
        with_agent(|address| {
            let mut link = Link::to_agent(address, &token()).unwrap();
            for part in
                [Part { first: 7, loops: 1, of: 2 }, Part { first: 0, loops: 1, of: u32::MAX }, Part { first: u32::MAX, loops: 1, of: 1 }]
            {
                assert!(matches!(asked(&mut link, &task(Load::closed(8), part)), Ok(Say::AtIt { .. })));
                let told = std::iter::repeat_with(|| asked(&mut link, &Ask::Watch).unwrap()).find(|said| !matches!(said, Say::AtIt { .. }));
                assert!(
                    matches!(told, Some(Say::Refused(why)) if why.contains("no part") || why.contains("have no connection")),
                    "{part:?}"
                );
            }
        });
    }

    #[test]
    fn an_agent_that_is_stopped_waits_for_nobody() {
        let begun = std::time::Instant::now();
        with_agent(|address| {
            let mut link = Link::to_agent(address, &token()).unwrap();
            assert!(matches!(asked(&mut link, &Ask::Clock), Ok(Say::Clock { .. })));
            // It is stopped while this one says nothing and does not hang up.
            std::mem::forget(link);
        });
        assert!(begun.elapsed() < SILENCE / 2, "{:?}", begun.elapsed());
    }

    #[test]
    fn more_than_so_many_are_not_let_in_at_once() {
        with_agent(|address| {
            let connect = || TcpStream::connect(address).unwrap();
            let idle: Vec<TcpStream> = std::iter::repeat_with(connect).take(VISITORS_MAX).collect();
            let mut further = connect();
            further.set_read_timeout(Some(SECOND * 4)).unwrap();
            assert!(matches!(further.read(&mut [0]), Ok(0)), "closed at once, as there are {} already", idle.len());
        });
    }
}
