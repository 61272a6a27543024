//! Finds before each trial which agents respond.

use super::Lab;
use crate::error::LabError;
use crate::progress::{Progress, Watcher};

impl Lab<'_> {
    /// Finds the agents that respond. Returns `false` if the cluster that they run in was lost and
    /// is back, in which case the trial must be chosen anew.
    pub(super) fn find_present_agents(
        &mut self,
        watch: &mut Watcher<'_>,
    ) -> Result<bool, LabError> {
        let Some(agents) = &mut self.agents else { return Ok(true) };
        let absent = agents.find_present(self.place.stop);
        let (are_gone, made_anew) = (agents.are_gone(), agents.are_in_pods());
        let Some(first) = absent.first() else { return Ok(true) };
        if self.is_stopped() {
            return Err(LabError::Interrupted);
        }
        if !are_gone {
            absent.iter().for_each(|why| watch(Progress::AgentAbsent { why, made_anew }));
            return Ok(true);
        }
        match self.runner.lost().filter(|_| made_anew) {
            Some(why) => self.await_engine(&why, watch).map(|()| false),
            None => Err(LabError::Agents(first.clone())),
        }
    }
}
