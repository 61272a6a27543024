//! `control`: an HTTP server with exactly known behaviour.
//!
//! It does exactly what its flags say, and counts it. A load generator that measures it must find
//! the same. README.md describes each flag and its precision. Start with `server.rs`, the loop, and
//! `truth.rs`, the decisions.

mod answer;
mod clock;
mod connection;
mod flags;
mod request;
mod server;
mod stats;
mod timers;
mod truth;
mod units;

use std::env;
use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use clap::{CommandFactory, Parser, error::ErrorKind};
use signal_hook::consts::SIGTERM;

use crate::clock::SECOND;
use crate::flags::Flags;
use crate::server::{Server, Shared};

/// How often `--background` uses its CPU time.
const BACKGROUND_PERIOD: u64 = SECOND / 100;

fn main() -> ExitCode {
    let start = clock::now();
    let flags = Flags::parse();
    if flags.idle {
        clock::sleep_until(start + 120 * SECOND);
        return ExitCode::SUCCESS;
    }
    match run(&flags, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &Flags, start: u64) -> Result<(), String> {
    on_term(flags.ignore_term).map_err(|error| format!("cannot handle SIGTERM: {error}"))?;
    // Exits with status 2, as for any other bad flag.
    let truth = flags.truth().unwrap_or_else(|message| {
        Flags::command().error(ErrorKind::ValueValidation, message).exit()
    });

    let mut memory = Vec::new();
    memory
        .try_reserve_exact(flags.memory as usize)
        .map_err(|error| format!("cannot allocate --memory: {error}"))?;
    // Touched, so that it is resident, and never given back.
    memory.resize(flags.memory as usize, 1_u8);
    std::mem::forget(std::hint::black_box(memory));
    start_own_threads(flags)?;
    let children = (0..flags.children)
        .map(|_| idle_child())
        .collect::<io::Result<Vec<u32>>>()
        .map_err(|error| format!("cannot start an idle process: {error}"))?;

    let threads = flags.threads.get();
    let (listeners, port) = server::bind(flags.listen, flags.port, threads).map_err(|error| {
        format!(
            "cannot bind {}:{}: {error}\n\nhint: choose another --port, or 0 for any free port",
            flags.listen, flags.port
        )
    })?;
    let shared = Arc::new(Shared::new(truth, listeners, children));
    if let Some(ready_after) = flags.ready_after {
        print(port);
        clock::sleep_until(start + ready_after);
    }
    shared
        .listen(flags.backlog)
        .map_err(|error| format!("cannot listen on {}:{port}: {error}", flags.listen))?;

    let serve = |thread| {
        let shared = Arc::clone(&shared);
        move || {
            Server::new(shared, thread)
                .and_then(Server::run)
                .map_err(|error| format!("cannot continue: {error}"))
        }
    };
    for number in 1..threads {
        let serve = serve(number);
        let or_exit = move || {
            if let Err(error) = serve() {
                eprintln!("error: {error}");
                std::process::exit(1);
            }
        };
        thread::Builder::new()
            .spawn(or_exit)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
    }
    if flags.ready_after.is_none() {
        print(port);
    }
    serve(0)()
}

/// Makes SIGTERM end the process at once with status 0, also during a stall; or ignores it.
fn on_term(ignore: bool) -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(!ignore));
    signal_hook::flag::register_conditional_shutdown(SIGTERM, 0, always).map(drop)
}

/// Starts the threads that serve no request.
fn start_own_threads(flags: &Flags) -> Result<(), String> {
    for _ in 0..flags.extra_threads {
        let idle = || loop {
            thread::park();
        };
        thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(idle)
            .map_err(|error| format!("cannot start an idle thread: {error}"))?;
    }
    if let Some(cpu) = flags.background {
        thread::Builder::new()
            .spawn(move || work(cpu))
            .map_err(|error| format!("cannot start the thread of --background: {error}"))?;
    }
    Ok(())
}

/// Uses this CPU time in every [`BACKGROUND_PERIOD`]. What was missed is not made up for.
fn work(cpu: u64) -> ! {
    loop {
        let began = clock::now();
        clock::burn(cpu);
        clock::sleep_until(began + BACKGROUND_PERIOD);
    }
}

/// Starts a process that does nothing and exits by itself. It holds none of this process's files
/// open.
fn idle_child() -> io::Result<u32> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("--idle").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?.id())
}

/// Prints the port. A closed stdout is not a reason to stop.
fn print(port: u16) {
    let mut out = io::stdout();
    let _ = writeln!(out, "{port}").and_then(|()| out.flush());
}
