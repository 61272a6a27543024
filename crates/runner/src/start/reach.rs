//! Finds a service that already runs, which is reached and not started.

use super::running::{Command, Running};
use super::target::{Deadline, RETRY};
use crate::listener::listeners;
use crate::place::Surroundings;
use crate::scrub::Scrub;
use load::tls::TlsOptions;
use load::url::{self, Access};
use load::{Address, Protocol as Framing, Target, WrongAnswer, ask};
use record::Failure;
use spec::system::{Contender, Reached};
use spec::workload::Workload;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

/// Finds a service that already runs, and sends it requests until its first correct response.
pub(super) fn reach(
    contender: &Contender,
    reached: &Reached,
    ready: &Workload,
    around: &Surroundings<'_>,
) -> Result<Running, Failure> {
    let fail = |cause: String| Failure { stage: "reach".into(), cause, log: vec![] };
    let began_ns = load::clock::now_ns();
    let deadline = Deadline::after(began_ns, contender.system.ready_within);
    let found = resolve(reached).map_err(fail)?;
    let addresses: Vec<SocketAddr> = found
        .addresses
        .iter()
        .filter_map(|a| if let Address::Tcp(address) = a { Some(*address) } else { None })
        .collect();
    let (mut failed_attempts, mut cause) = (0, "its name has no address".to_owned());
    loop {
        // A name may have addresses on which nothing listens.
        for address in &addresses {
            cause = match ask(*address, &found, ready, deadline.request_timeout()) {
                Ok(_) => {
                    let target = Target { addresses: vec![Address::Tcp(*address)], ..found };
                    return Ok(Running {
                        process: None,
                        watched: listeners(*address),
                        began_ns,
                        address: *address,
                        ports: vec![],
                        target,
                        command: vec![reached.url.clone()],
                        ready_after_ns: None,
                        scaled_out_after_ns: None,
                        failed_attempts,
                        reset: Command::default(),
                        // Other generators write their results there.
                        _scrub: Some(Scrub(around.work.to_owned())),
                    });
                }
                Err(WrongAnswer::NotListening(cause)) => cause,
                Err(WrongAnswer::NoAnswer(cause) | WrongAnswer::Wrong(cause)) => {
                    failed_attempts += 1;
                    cause
                }
            };
        }
        if around.stop.load(Ordering::Relaxed) {
            return Err(fail("interrupted".into()));
        }
        if deadline.has_passed() {
            return Err(fail(deadline.missed(Some(&reached.url), &cause)));
        }
        std::thread::sleep(*RETRY.end());
    }
}

/// Resolves the URL of a service. An error is one line, as hints for URLs do not apply to
/// manifests.
fn resolve(reached: &Reached) -> Result<Target, String> {
    let access = Access {
        tls: TlsOptions { insecure: true, ..TlsOptions::default() },
        protocol: Framing::Http1 { keep_alive: true },
        unix: None,
        allow_remote: reached.remote,
    };
    let found = url::parse(&reached.url).and_then(|url| url::resolve(&url, &access));
    let found = found.map_err(|problems| {
        problems.list().iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")
    })?;
    Ok(Target { path: reached.path.clone(), ..found })
}
