//! `faceoff load`: sends one load to one URL and prints everything that was measured.
//!
//! `options` parses the command line into a `PlannedLoad`. Text, JSON and CSV are in `output` and
//! `text`. `capacity` searches for a maximum, `external_generator` runs another tool, and `wrk`
//! offers the interface of wrk. Start at [`run`].

mod capacity;
mod external_generator;
mod live_status;
mod options;
mod output;
mod planned_load;
mod request;
#[cfg(test)]
mod test_measurement;
mod text;
pub mod wrk;

pub use options::Options;

use crate::exit::{BREACHED, Error, FAILED};
use crate::output::{message, print};
use load::{Address, Measured, Target};
use options::Format;
use planned_load::{PlannedLoad, create, readings};
use spec::secret::hidden;
use spec::threshold::Outcome;
use spec::units::show_duration;
use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

/// Refuses a target without a listener, because a load of refused connections measures nothing.
fn must_listen(target: &Target) -> Result<(), Error> {
    let refused = |address: &Address| match address {
        Address::Tcp(address) => {
            let connected = TcpStream::connect_timeout(address, Duration::from_secs(1));
            connected.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
        }
        Address::Unix(_) => false,
    };
    if !target.addresses.iter().all(refused) {
        return Ok(());
    }
    let addresses: Vec<String> = target.addresses.iter().map(ToString::to_string).collect();
    Err(Error::Failed(format!(
        "nothing listens at {}\nhint: check that the service is running, and the port",
        addresses.join(", ")
    )))
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let run = options.planned_load()?;
    if let Some(capacity) = run.load.capacity() {
        let output = options.output.as_deref();
        return capacity::run(&run, capacity, options.format, output);
    }
    if let Some(driver) = options.driver {
        return external_generator::run(&run, driver, &options.task(&run)?, options.format);
    }
    if options.agents.is_empty() {
        must_listen(&run.target)?;
    }
    let mut hdr = options.hdr.as_deref().map(create).transpose()?;
    let mut out = options.output.as_deref().map(create).transpose()?;
    let started_at = jiff::Timestamp::now();
    message(&format!(
        "{} at {}, for {}",
        run.load.describe(),
        run.url,
        show_duration(run.duration)
    ));
    let (threads, planned) = (run.threads, run.duration);
    let (measured, in_flight) = match &options.agents[..] {
        [] => run.measure(move |messages| live_status::show(&messages, threads, planned))?,
        agents => (run.measure_by_agents(agents, options.insecure)?, Default::default()),
    };
    let outcomes: Vec<Outcome> =
        options.thresholds().map(|threshold| threshold.check(&readings(&measured))).collect();
    print_results(&run, &measured, &in_flight, &outcomes, options.format, out.as_mut());
    if let Some(file) = &mut hdr {
        let log = output::to_hdr_log(&measured, started_at.as_millisecond() as f64 / 1e3);
        file.write_all(log.as_bytes()).map_err(|e| {
            Error::Failed(format!(
                "the interval log cannot be written: {e}\nhint: check the free disk space"
            ))
        })?;
    }
    for outcome in &outcomes {
        message(&outcome.to_string());
    }
    if measured.interrupted {
        return Ok(ExitCode::from(crate::signals::code()));
    }
    Ok(match measured.counts.correct {
        0 => ExitCode::from(FAILED),
        _ if outcomes.iter().any(|outcome| !outcome.kept) => ExitCode::from(BREACHED),
        _ => ExitCode::SUCCESS,
    })
}

/// Prints the results in a format, or writes them into a file.
fn print_results(
    run: &PlannedLoad,
    measured: &Measured,
    in_flight: &[u64],
    outcomes: &[Outcome],
    format: Format,
    out: Option<&mut File>,
) {
    let checks = run.workload.checks();
    let text = match format {
        Format::Json => {
            let report = output::load_report(measured, &run.load, &checks, outcomes);
            serde_json::to_string_pretty(&report).expect("plain data") + "\n"
        }
        Format::Csv => output::to_csv(measured, in_flight),
        Format::Text => text::to_text(measured, &run.load, &checks),
    };
    write_or_print(&text, out);
}

/// Writes results into a file if there is one, or prints them. If the disk is full, they are
/// printed.
fn write_or_print(text: &str, out: Option<&mut File>) {
    // A wrong response may repeat a secret from its request.
    match out.map(|file| file.write_all(hidden(text).as_bytes())) {
        None => print(text),
        Some(Ok(())) => {}
        Some(Err(error)) => {
            print(text);
            message(&format!(
                "the file could not be written completely: {error}; the results are printed instead"
            ));
        }
    }
}
