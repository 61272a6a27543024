//! Measures how much more CPU time a request takes while its process is sampled.
//!
//! A steady closed load runs all the time. Short slices of it alternate: in one of each pair the
//! service is sampled, in random order. So neither warm-up nor drift counts as a slow-down. Start
//! with [`measure`].

use crate::plan::Language;
use crate::services::{Services, Started};
use runner::cpus::{pin_this_thread, usable};
use runner::profile::{Profiler, Target};
use runner::usage::tree_cpu_ns;
use stats::Random;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Connections of the load, as in the comparisons.
const CONNECTIONS: usize = 8;
/// Until a JVM has compiled what it will compile.
const WARM_UP: Duration = Duration::from_secs(60);
const SLICE: Duration = Duration::from_millis(500);
const PAIRS: usize = 60;

/// The load's state, shared by its connections.
#[derive(Default)]
struct Load {
    responses: AtomicU64,
    ends: AtomicBool,
}

/// Returns CPU time per request with sampling over that without, for each pair of slices. A result
/// in the folder is used again.
pub fn measure(services: &Services, language: Language, folder: &Path) -> Result<Vec<f64>, String> {
    let file = folder.join(format!("slow-down-{}.json", language.name()));
    if let Ok(text) = std::fs::read_to_string(&file) {
        return serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()));
    }
    let started = services.start(language, None)?;
    let address = started.address();
    let request = client::request(address, "/");
    let length = client::learn_length(address, &request)?;
    let load = Load::default();
    let ratios = std::thread::scope(|threads| {
        let senders: Vec<_> = (0..CONNECTIONS)
            .map(|_| threads.spawn(|| send(address, &request, length, &load)))
            .collect();
        std::thread::sleep(WARM_UP);
        let ratios = pairs(&started, &load);
        load.ends.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.join().map_err(|_| "a connection of the load panicked".to_owned())??;
        }
        ratios
    })?;
    let text = serde_json::to_string(&ratios).map_err(|e| e.to_string())?;
    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(ratios)
}

/// The CPU of the load and of the profiler: the first one, as the services have the last.
fn first_cpu() -> [usize; 1] {
    [usable().first().copied().unwrap_or(0)]
}

/// Sends one request after the other over a connection until the load ends.
fn send(address: SocketAddr, request: &[u8], length: usize, load: &Load) -> Result<(), String> {
    pin_this_thread(&first_cpu()).map_err(|e| format!("the load has no CPU of its own: {e}"))?;
    let failed = |e: std::io::Error| format!("{address}: {e}");
    let mut connection = client::connect(address).map_err(failed)?;
    let mut response = vec![0; length];
    while !load.ends.load(Ordering::Relaxed) {
        connection.write_all(request).map_err(failed)?;
        connection.read_exact(&mut response).map_err(failed)?;
        load.responses.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn pairs(started: &Started, load: &Load) -> Result<Vec<f64>, String> {
    let pid = started.id();
    let plain = || slice(pid, load);
    let sampled = || {
        let target = Target { roots: vec![pid], others: Vec::new() };
        let profiler = Profiler::start(&[target], &first_cpu())?;
        let per_request = slice(pid, load)?;
        let samples: u64 =
            profiler.stop().iter().flat_map(|of| &of.stacks).map(|s| s.samples).sum();
        (samples > 0).then_some(per_request).ok_or_else(|| "nothing was sampled".to_owned())
    };
    let mut random = Random::new(48, 0);
    let pair = |_| match random.uniform() < 0.5 {
        true => plain().and_then(|without| Ok(sampled()? / without)),
        false => sampled().and_then(|with| Ok(with / plain()?)),
    };
    (0..PAIRS).map(pair).collect()
}

/// CPU time per request over a slice, in ns.
fn slice(pid: u32, load: &Load) -> Result<f64, String> {
    let counts = || (tree_cpu_ns(pid), load.responses.load(Ordering::Relaxed));
    let (first_ns, first) = counts();
    std::thread::sleep(SLICE);
    let (last_ns, last) = counts();
    if last == first {
        return Err(format!("no request was answered within {} ms", SLICE.as_millis()));
    }
    Ok(last_ns.saturating_sub(first_ns) as f64 / (last - first) as f64)
}
