//! Starts services, samples their responses, and measures how fast the slowest one is.
//!
//! The samples show what a correct response is, and the speed gives a load that every service can
//! handle. Start at [`sample`].

use super::correct_response::{PAUSE, SAMPLES, Sampled};
use crate::commands::{VERSION, cache};
use crate::exit::Error;
use crate::progress::Show;
use crate::signals;
use interop::import::Requests;
use lab::{Place, Progress};
use load::{Plan, Wait, hear};
use runner::means::Means;
use runner::needs::Tools;
use runner::place::{Limits, Runner, Surroundings};
use runner::start::{Running, start};
use spec::catalog::Catalog;
use spec::experiment::{self, Load};
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::system::Contender;
use spec::workload::{Statuses, Workload};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The name of the workload that is written.
pub const WORKLOAD: &str = "request";
/// How long each service is loaded to measure its speed.
const PROBE: Duration = Duration::from_millis(300);
/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Connections of the load that measures the speed, and of a closed load that is written.
pub const CONNECTIONS: u32 = 8;
/// The rate of an open load that is written, as a share of the slowest service's speed: busy, and
/// far from its limit.
const RATE_SHARE: f64 = 1.0 / 3.0;
/// The name under which processes are started.
const RUN: &str = "init";

/// The responses of several services, and the speed of the slowest.
pub struct Samples {
    /// The responses of each service.
    pub responses: Vec<Sampled>,
    /// Requests per second of the slowest service, with [`CONNECTIONS`].
    slowest_per_s: f64,
}

impl Samples {
    /// Returns a rate that every service can handle.
    pub fn usual_rate(&self) -> f64 {
        rounded(self.slowest_per_s * RATE_SHARE)
    }
}

/// Describes a failure of a service: its name, what happened, and the last lines of its log.
pub type Failed<'f> = dyn Fn(&str, &str, &[String]) -> Error + 'f;

/// Returns a rate with one significant digit: not above the given one, and at least 1.
fn rounded(rate: f64) -> f64 {
    let step = 10f64.powf(rate.max(1.0).log10().floor());
    (rate / step).floor().max(1.0) * step
}

/// Names and describes the workload of a request, for [`sample`].
///
/// # Errors
/// An environment variable that the request needs is not set.
pub fn workload_to_sample(requests: &mut Requests, summary: String) -> Result<&Workload, Problems> {
    let workload = requests.workload();
    workload.name = WORKLOAD.into();
    workload.summary = summary;
    if let Some(last) = workload.steps.last_mut() {
        // A service is ready with its first response that it does not itself call a failure.
        last.answer.status = Statuses { from: 200, to: 399 };
    }
    workload.must_have_secrets()?;
    Ok(workload)
}

/// Builds and starts services, or reaches running ones, and samples their responses alternately.
///
/// # Errors
/// A service does not start or does not respond, as `failed` describes it.
pub fn sample(
    catalog: &Catalog,
    names: &[&str],
    workload: &Workload,
    stop: &AtomicBool,
    failed: &Failed<'_>,
) -> Result<Samples, Error> {
    let names: Vec<ContenderName> = names
        .iter()
        .map(|name| ContenderName { system: (*name).to_owned(), variants: vec![] })
        .collect();
    let session = Session {
        cache: cache(catalog),
        catalog,
        tools: Tools::default(),
        runner: runner::open::open_runner(&experiment::Place::default(), &names)?,
        cpus: runner::cpus::usable(),
        workload,
        stop,
        failed,
    };
    let contenders = session.build(&names)?;
    let works: Vec<PathBuf> = names.iter().map(|name| session.work(name)).collect();
    let mut running = Vec::new();
    let sampled = session.start_and_sample(&contenders, &works, &mut running);
    for (running, contender) in running.into_iter().zip(&contenders) {
        // The check that follows reports a service that does not stop in order.
        let _ = running.stop(contender);
    }
    works.iter().for_each(|work| drop(std::fs::remove_dir_all(work)));
    sampled.map_err(|error| match stop.load(Ordering::Relaxed) {
        true => Error::Interrupted(signals::code()),
        false => error,
    })
}

/// What all steps of the sampling need.
struct Session<'a> {
    cache: PathBuf,
    catalog: &'a Catalog,
    tools: Tools,
    runner: Box<dyn Runner>,
    cpus: Vec<usize>,
    workload: &'a Workload,
    stop: &'a AtomicBool,
    failed: &'a Failed<'a>,
}

impl Session<'_> {
    /// Returns the folder for the files of a service.
    fn work(&self, name: &ContenderName) -> PathBuf {
        self.cache.join(RUN).join(format!("{}-{name}", std::process::id()))
    }

    /// Builds all services.
    fn build(&self, names: &[ContenderName]) -> Result<Vec<Contender>, Error> {
        let (catalog, cache, stop) = (self.catalog, &self.cache, self.stop);
        let place = Place { catalog, cache, version: VERSION, stop };
        let means = Means { tools: &self.tools, run: RUN, stop };
        let mut show = Show::default();
        // The caller reports why a service cannot start, so it is not shown here as well.
        let mut watch = |progress: Progress<'_>| {
            if !matches!(progress, Progress::Skipped(_)) {
                show.take(progress)
            }
        };
        let mut contenders = Vec::new();
        for name in names {
            let contender = catalog.contender(name)?;
            let ready = match lab::gather(&place, &self.tools, contender, RUN, &mut watch)? {
                Ok(ready) => lab::provide(ready, &*self.runner, cache, means, &mut watch)?,
                skipped => skipped,
            };
            let ready = ready.map_err(|skipped| {
                let what = format!("cannot start: {}", skipped.reason);
                (self.failed)(&name.to_string(), &what, &[])
            })?;
            contenders.push(ready.contender);
        }
        show.done();
        Ok(contenders)
    }

    /// Starts all services, collects responses, and measures their speed.
    ///
    /// Services that were started are in `running`, even after an error.
    fn start_and_sample(
        &self,
        contenders: &[Contender],
        works: &[PathBuf],
        running: &mut Vec<Running>,
    ) -> Result<Samples, Error> {
        for (contender, work) in contenders.iter().zip(works) {
            let started = start(contender, self.workload, &self.surroundings(work));
            running.push(started.map_err(|(failure, _)| {
                let what =
                    format!("does not respond correctly ({}): {}", failure.stage, failure.cause);
                (self.failed)(&contender.name.to_string(), &what, &failure.log)
            })?);
        }
        let responses = self.responses(contenders, running)?;
        let slowest_per_s =
            running.iter().map(|running| self.speed(running)).fold(f64::INFINITY, f64::min);
        Ok(Samples { responses, slowest_per_s })
    }

    fn surroundings<'s>(&'s self, work: &'s Path) -> Surroundings<'s> {
        Surroundings {
            tools: &self.tools,
            runner: &*self.runner,
            limits: Limits::default(),
            upstream: None,
            database: None,
            cpus: &self.cpus,
            descriptors: None,
            work,
            run: RUN,
            stop: self.stop,
        }
    }

    /// Requests several responses from each service, alternately.
    fn responses(
        &self,
        contenders: &[Contender],
        running: &[Running],
    ) -> Result<Vec<Sampled>, Error> {
        let of_service = |(contender, running): (&Contender, &Running)| Sampled {
            service: contender.name.to_string(),
            address: running.address.to_string(),
            responses: Vec::new(),
        };
        let mut all: Vec<Sampled> = contenders.iter().zip(running).map(of_service).collect();
        for round in 0..SAMPLES {
            if round > 0 {
                std::thread::sleep(PAUSE);
            }
            for (sampled, running) in all.iter_mut().zip(running) {
                let heard = hear(running.address, &running.target, self.workload, TIMEOUT);
                let heard = heard.map_err(|wrong| {
                    let what = format!("responded once and not again: {wrong}");
                    (self.failed)(&sampled.service, &what, &[])
                })?;
                sampled.responses.push(heard);
            }
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(all)
    }

    /// Measures how many requests per second a service answers with [`CONNECTIONS`].
    fn speed(&self, running: &Running) -> f64 {
        let plan = Plan {
            target: &running.target,
            workload: self.workload,
            load: &Load::closed(CONNECTIONS),
            duration: PROBE,
            requests: None,
            timeout: TIMEOUT,
            seed: 0,
            threads: 1,
            wait: Wait::Asleep,
            stop: self.stop,
            progress: None,
        };
        load::run(&plan).map_or(0.0, |measured| {
            measured.counts.correct as f64 / (measured.duration_ns as f64 / 1e9)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_down_to_one_digit() {
        assert_eq!([12_345.0, 999.0, 0.2].map(rounded), [10_000.0, 900.0, 1.0]);
    }
}
