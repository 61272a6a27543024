//! The upstream that proxies forward to: started once per run, warmed up, and replaced if it is
//! lost.

use super::Lab;
use crate::error::LabError;
use crate::progress::{Progress, Watcher};
use crate::steady;
use crate::trial_database::TrialDatabase;
use crate::warmup::{self, upstream_warmup};
use record::{Event, Failure, Fault, Line, Upstream};
use runner::place::Limits;
use runner::start::start;

/// How often a lost upstream is started again in one session.
const RESTARTS_MAX: u32 = 3;

/// The fault of a trial during which the upstream ended with this status.
pub(super) fn upstream_lost(status: &str) -> Fault {
    Fault {
        kind: "upstream-lost".into(),
        evidence: format!("the upstream ended with {status} during the trial"),
        hint: "see its log in the record's folder under starts/".into(),
    }
}

impl Lab<'_> {
    /// Starts the upstream, if the experiment has one, and warms it up.
    pub(super) fn start_upstream(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        let Some(upstream) = &self.upstream else { return Ok(()) };
        let name = upstream.contender.name.clone();
        watch(Progress::Warming(&name));
        let workload = &self.workloads[&upstream.contender.system.answers[0]];
        let work = self.work_folder(&format!("upstream-{}", self.record.upstreams.len() + 1));
        let mut around = self.around(&work, &self.cpus().upstream);
        // The limits of [place] apply to contenders only.
        (around.upstream, around.descriptors, around.limits) = (None, None, Limits::default());
        let failed = |failure| match self.runner.lost() {
            Some(why) => LabError::Engine(why),
            None => LabError::Upstream(name.clone(), failure),
        };
        let started = start(&upstream.contender, workload, &around);
        let mut running = started.map_err(|(failure, _)| {
            if self.is_stopped() { LabError::Interrupted } else { failed(failure) }
        })?;
        let parameters = warmup::Parameters {
            workloads: &[workload],
            at_least: self.experiment().design.warmup_least,
            at_most: upstream_warmup(self.experiment()),
            window: warmup::WINDOW,
            enough: None,
            cpus: &self.cpus().generator,
            stop: self.place.stop,
        };
        let (mut database, decides) = (TrialDatabase::none(), steady::Decides::Cpu);
        let warmup = warmup::run(&mut running, &parameters, decides, &mut database, &mut |_, _| ());
        let warmed_with = warmup.iter().flat_map(|w| &w.windows).map(|w| w.correct).sum();
        let line = Upstream {
            name,
            ready_after_ns: running.ready_after_ns.unwrap_or(0),
            warmed_with,
            warmup,
        };
        self.running_upstream = Some(running);
        self.write_line(&Line::Upstream(line.clone()))?;
        self.record.upstreams.push(line);
        if self.is_stopped() { Err(LabError::Interrupted) } else { Ok(()) }
    }

    /// Starts the upstream again if it was lost with this status, unless that happens too often.
    pub(super) fn replace_lost_upstream(
        &mut self,
        lost: Option<String>,
        watch: &mut Watcher<'_>,
    ) -> Result<(), LabError> {
        let Some(status) = lost else { return Ok(()) };
        watch(Progress::UpstreamLost(&status));
        self.running_upstream = None;
        // Those that keep running forward to a port that the next upstream does not have.
        self.stop_kept();
        self.upstream_restarts += 1;
        if self.upstream_restarts > RESTARTS_MAX {
            self.note(Event::UpstreamLost)?;
            let name = self.upstream.as_ref().expect("it was lost").contender.name.clone();
            let cause =
                format!("lost {} times, the last time with {status}", self.upstream_restarts);
            return Err(LabError::Upstream(
                name,
                Failure { stage: "measure".into(), cause, log: vec![] },
            ));
        }
        self.start_upstream(watch)
    }
}
