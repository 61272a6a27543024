//! Waits for a container engine or cluster that was lost during a run, and repeats what was lost.

use super::Lab;
use crate::agents::Agents;
use crate::error::LabError;
use crate::progress::{Progress, Watcher};
use record::Event;
use std::time::{Duration, Instant};

/// How often an engine may be lost in one session.
const LOSSES_MAX: u32 = 3;
/// How long a lost engine may take to come back.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// Pause between two attempts to reach the engine.
const RETRY: Duration = Duration::from_millis(500);

impl Lab<'_> {
    /// Waits until a lost engine is back, then restores its images, the agents and the upstream.
    pub(super) fn await_engine(
        &mut self,
        why: &str,
        watch: &mut Watcher<'_>,
    ) -> Result<(), LabError> {
        watch(Progress::EngineLost(why));
        self.note(Event::EngineLost)?;
        self.engine_losses += 1;
        if self.engine_losses > LOSSES_MAX {
            return Err(LabError::Engine(format!(
                "{} times, the last time: {why}",
                self.engine_losses
            )));
        }
        let had_upstream = self.running_upstream.take().is_some();
        let begun = Instant::now();
        while let Err(still) = self.runner.recover() {
            if self.is_stopped() {
                return Err(LabError::Interrupted);
            }
            if begun.elapsed() > BACK_WITHIN {
                return Err(LabError::Engine(still));
            }
            std::thread::sleep(RETRY);
        }
        // Forget failures that happened before it was back.
        let _past = self.runner.lost();
        self.provide_again()?;
        self.start_agents_again()?;
        self.note(Event::Resumed)?;
        if had_upstream { self.start_upstream(watch) } else { Ok(()) }
    }

    /// Waits for the engine if it was lost since the last check. An engine that failed and is back
    /// is not lost, but may have forgotten its images.
    pub(super) fn check_engine(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        let Some(why) = self.runner.lost() else { return Ok(()) };
        match self.provide_again() {
            Err(LabError::Interrupted) => Err(LabError::Interrupted),
            Err(_) => self.await_engine(&why, watch),
            Ok(()) => Ok(()),
        }
    }

    /// Starts agents in pods again. They and their image are lost with the cluster.
    fn start_agents_again(&mut self) -> Result<(), LabError> {
        if self.experiment().place.agent_pods.is_some() {
            drop(self.agents.take());
            self.agents = Agents::or_start_pods(
                None,
                self.experiment(),
                &*self.runner,
                &self.cpus().generator,
                self.place.cache,
                self.means(),
            )?;
        }
        Ok(())
    }

    fn provide_again(&self) -> Result<(), LabError> {
        for ready in self.ready.iter().chain(&self.upstream) {
            let provided = self.runner.provide(&ready.contender, self.place.cache, self.means());
            provided.map_err(|failure| match self.is_stopped() {
                true => LabError::Interrupted,
                false => LabError::Engine(failure.cause),
            })?;
        }
        Ok(())
    }
}
