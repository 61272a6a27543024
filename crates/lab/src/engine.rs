//! Engines that are lost while a run goes on: what was under way in one is no trial, and is repeated.

use crate::agents::Agents;
use crate::{Lab, LabError, Progress, Watcher};
use model::record::Event;
use std::time::{Duration, Instant};

/// How often an engine may be lost in one session ...
const LOSSES: u32 = 3;
/// ... and how long it may take to be there again.
const WITHIN: Duration = Duration::from_secs(60);

impl Lab<'_> {
    /// Waits until an engine that was lost is there again, and has it have what it had: whatever ran in it is gone, or ended here.
    pub(crate) fn await_engine(&mut self, why: &str, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        watch(Progress::EngineLost(why));
        self.note(Event::EngineLost)?;
        self.engine_losses += 1;
        if self.engine_losses > LOSSES {
            return Err(LabError::Engine(format!("{} times, the last time: {why}", self.engine_losses)));
        }
        let had_upstream = self.running_upstream.take().is_some();
        let begun = Instant::now();
        while let Err(still) = self.runner.recover() {
            if self.is_stopped() {
                return Err(LabError::Interrupted);
            }
            if begun.elapsed() > WITHIN {
                return Err(LabError::Engine(still));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        // What it was in between is over.
        let _past = self.runner.lost();
        self.provide_again()?;
        self.make_agents_again()?;
        self.note(Event::Resumed)?;
        if had_upstream { self.start_upstream(watch) } else { Ok(()) }
    }

    /// An engine that was out of order and in nobody's way is no loss; one that was started anew may have forgotten its images.
    pub(crate) fn look_at_engine(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        match self.runner.lost() {
            Some(why) if self.provide_again().is_err() => self.await_engine(&why, watch),
            _ => Ok(()),
        }
    }

    /// Agents in pods went with the engine, and it may have forgotten their image as it may those of contenders.
    fn make_agents_again(&mut self) -> Result<(), LabError> {
        if self.experiment().place.agent_pods.is_some() {
            drop(self.agents.take());
            let cpus = &self.cpus().generator;
            self.agents = Agents::or_in_pods(None, self.experiment(), &*self.runner, cpus, self.place.cache, self.means())?;
        }
        Ok(())
    }

    fn provide_again(&self) -> Result<(), LabError> {
        for ready in self.ready.iter().chain(&self.upstream) {
            let provided = self.runner.provide(&ready.contender, self.place.cache, self.means());
            provided.map_err(|failure| if self.is_stopped() { LabError::Interrupted } else { LabError::Engine(failure.cause) })?;
        }
        Ok(())
    }
}
