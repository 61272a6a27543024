//! Loads made by agents over real sockets, compared with one generator, and with an agent that is
//! lost.

use load::agents::{self, Agent, AgentReport, Token, TrustedTls};
use load::{Measured, Plan, Target, Wait};
use spec::experiment::{Load, Overflow, Spacing};
use spec::workload::{Answer, BodyCheck, Step, Workload};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// An address at which no agent listens.
const UNUSED: &str = "127.0.0.1:1";

/// Starts a server that answers every request, with a thread for each connection.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(tcp));
        }
    });
    address
}

fn answer(mut tcp: TcpStream) {
    let mut asked = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = tcp.read(&mut piece) {
        asked.extend_from_slice(&piece[..length]);
        while let Some(end) = asked.windows(4).position(|w| w == b"\r\n\r\n") {
            asked.drain(..end + 4);
            if tcp.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
}

fn token(letter: &str) -> Token {
    Token::new(&letter.repeat(40)).unwrap()
}

/// Agents in this process. Dropping them stops them.
struct Agents {
    names: Vec<String>,
    stop: Arc<AtomicBool>,
}

impl Agents {
    fn new(loops: &[u32]) -> Agents {
        let stop = Arc::new(AtomicBool::new(false));
        let names = loops.iter().map(|loops| {
            let agent = Agent::new("127.0.0.1:0".parse().unwrap(), token("a"), *loops).unwrap();
            let (name, stop) = (agent.address().unwrap().to_string(), stop.clone());
            std::thread::spawn(move || agent.serve(&stop, &|_| {}));
            name
        });
        Agents { names: names.collect(), stop }
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn workload() -> Workload {
    let answer = Answer { body: BodyCheck::Text("hello".into()), ..Answer::default() };
    Workload {
        name: "hello".into(),
        steps: vec![Step { answer, ..Step::default() }],
        ..Workload::default()
    }
}

fn planned<T>(load: &Load, duration: Duration, does: impl FnOnce(&Plan<'_>) -> T) -> T {
    let (target, workload, stop) = (Target::plain(serve()), workload(), AtomicBool::new(false));
    does(&Plan {
        target: &target,
        workload: &workload,
        load,
        duration,
        requests: None,
        timeout: Duration::from_secs(5),
        seed: 7,
        threads: 4,
        wait: Wait::Asleep,
        stop: &stop,
        progress: None,
    })
}

fn made(load: &Load, names: &[String]) -> Result<(Measured, Vec<AgentReport>), String> {
    planned(load, Duration::from_secs(2), |plan| agents::run(plan, None, names, &token("a")))
}

#[test]
fn agents_send_the_schedule_of_one_generator() {
    let (spacing, overflow) = (Spacing::Poisson, Overflow::Queue);
    let poisson =
        Load::Arrivals { rate_per_s: 500.0, stages: vec![], spacing, in_flight_max: 64, overflow };
    let agents = Agents::new(&[1, 2, 1]);
    let (together, apart) = made(&poisson, &agents.names).unwrap();
    let alone = planned(&poisson, Duration::from_secs(2), load::run).unwrap();
    assert_eq!(together.counts.scheduled, alone.counts.scheduled);
    assert_eq!(
        (together.counts.correct, together.threads),
        (together.counts.scheduled, 4),
        "{:?}",
        together.examples
    );
    assert_eq!(together.lag.len(), together.counts.scheduled);
    let parts: Vec<_> =
        apart.iter().map(|agent| (agent.first_loop, agent.loops, agent.loops_of_all)).collect();
    assert_eq!(parts, [(0, 1, 4), (1, 2, 4), (3, 1, 4)]);
    assert_eq!(
        apart.iter().map(|agent| agent.counts.scheduled).sum::<u64>(),
        together.counts.scheduled
    );
    // All share one clock, so the true offset is zero. It must be within the error.
    assert!(
        apart.iter().all(|agent| agent.offset_ns.unsigned_abs() <= agent.offset_error_ns),
        "{apart:?}"
    );
}

#[test]
fn agents_divide_connections_and_serve_successive_loads() {
    let agents = Agents::new(&[1, 1]);
    for _ in 0..2 {
        let (together, apart) = made(&Load::closed(5), &agents.names).unwrap();
        assert_eq!((together.connections_opened, together.in_flight_max, apart.len()), (5, 5, 2));
        assert!(together.counts.correct > 100 && together.counts.add_up(), "{:?}", together.counts);
    }
}

#[test]
fn start_and_reachable_agents_are_reported() {
    let agents = Agents::new(&[1, 1]);
    let mut told_ns = None;
    let made = planned(&Load::closed(2), Duration::from_millis(300), |plan| {
        agents::run_from(plan, None, &agents.names, &token("a"), |at_ns| told_ns = Some(at_ns))
    });
    assert_eq!(Some(made.unwrap().0.began_ns), told_ns);
    let unused = UNUSED.to_owned();
    let found = agents::look(&[agents.names[0].clone(), unused.clone()], &token("a"));
    assert!(
        matches!(&found[..], [Ok(()), Err(why)] if why.contains(&unused) && why.contains("\nhint: ")),
        "{found:?}"
    );
    let called = [
        agents::Seat { name: "0 on a".into(), at: agents.names[0].clone() },
        agents::Seat { name: "1 on b".into(), at: unused },
    ];
    let found = agents::look(&called, &token("a"));
    assert!(
        matches!(&found[..], [Ok(()), Err(why)] if why.starts_with("the agent 1 on b cannot be reached")),
        "{found:?}"
    );
    assert!(
        agents::look(&agents.names, &token("b")).iter().all(Result::is_err),
        "agents with another token are not found"
    );
}

#[test]
fn impossible_load_is_an_error() {
    let agents = Agents::new(&[1, 1]);
    assert!(made(&Load::closed(1), &agents.names).unwrap_err().starts_with("2 agents"));
    let refused = planned(&Load::closed(2), Duration::from_secs(1), |plan| {
        agents::run(plan, None, &agents.names, &token("b"))
    });
    assert!(refused.unwrap_err().contains("different tokens"));
    assert!(
        made(&Load::closed(2), &[UNUSED.to_owned()]).unwrap_err().contains("cannot be reached")
    );
    let files = TrustedTls { host: "localhost".into(), insecure: true };
    let not_contacted = [UNUSED.to_owned(), "127.0.0.1:2".to_owned()];
    let refused = planned(&Load::closed(2), Duration::from_secs(5_001), |plan| {
        agents::run(plan, None, &not_contacted, &token("a"))
    });
    assert!(refused.unwrap_err().contains("send 10002 histograms"));
    let refused = planned(&Load::closed(2), Duration::from_secs(1), |plan| {
        agents::run(plan, Some(&files), &agents.names, &token("a"))
    });
    assert!(refused.unwrap_err().contains("TLS"), "a target without TLS has no settings");
}

#[test]
fn lost_agent_is_an_error() {
    let (staying, going) = (Agents::new(&[1]), Agents::new(&[1]));
    let names = [staying.names[0].clone(), going.names[0].clone()];
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(3_000));
        drop(going);
    });
    let load = Load::arrivals(100.0, 16);
    let error =
        planned(&load, Duration::from_secs(8), |plan| agents::run(plan, None, &names, &token("a")))
            .unwrap_err();
    ends.join().unwrap();
    assert!(error.contains(&format!("the agent {} was lost", names[1])), "{error}");
    // The other was stopped and can make the next load.
    std::thread::sleep(Duration::from_millis(500));
    assert!(made(&Load::closed(2), &staying.names).is_ok());
}
