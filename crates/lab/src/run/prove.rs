//! Begins the measurements of a run: warms the upstream up and proves every contender.

use super::Lab;
use crate::error::LabError;
use crate::progress::{Progress, Watcher};
use crate::proof::prove;
use crate::trial::setup::cell_workloads;
use record::{Answers, Line};
use runner::start::Running;
use spec::name::ContenderName;

impl Lab<'_> {
    /// Starts and warms up the upstream, then proves every contender that has not been proved yet:
    /// starts it, sends every workload, checks the responses, and stops it.
    ///
    /// # Errors
    /// An upstream that fails; nothing left to compare.
    pub fn begin(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        self.start_upstream(watch)?;
        for at in 0..self.ready.len() {
            let name = self.ready[at].contender.name.clone();
            if self.record.answers.iter().any(|a| a.contender == name) {
                continue;
            }
            let answers = self.prove_contender(at, &name, watch)?;
            self.write_line(&Line::Answers(answers.clone()))?;
            watch(Progress::Proved(&answers));
            self.record.answers.push(answers);
        }
        self.can_compare_proved()
    }

    /// Proves a contender, again if the engine was lost meanwhile.
    fn prove_contender(
        &mut self,
        at: usize,
        name: &ContenderName,
        watch: &mut Watcher<'_>,
    ) -> Result<Answers, LabError> {
        loop {
            watch(Progress::Proving(name));
            self.check_engine(watch)?;
            let answers = {
                let workloads = cell_workloads(self.experiment(), &self.workloads);
                let work = self.work_folder(&format!("proof-{}", name.folder_name()));
                let around = self.around(&work, &self.cpus().contender);
                let contender = &self.ready[at].contender;
                let cpus = &self.cpus().upstream;
                prove(contender, &workloads, &around, self.database.as_ref(), cpus)?
            };
            if self.is_stopped() {
                return Err(LabError::Interrupted);
            }
            // A proxy whose upstream was lost with the engine has not failed.
            let _upstream = self.running_upstream.as_mut().and_then(Running::ended);
            match answers.failure.as_ref().and_then(|_| self.runner.lost()) {
                None => return Ok(answers),
                Some(why) => self.await_engine(&why, watch)?,
            }
        }
    }

    /// Fails unless the baseline and another contender gave correct responses.
    fn can_compare_proved(&self) -> Result<(), LabError> {
        let out: Vec<&ContenderName> = self.record.dropped().map(|(name, _)| name).collect();
        let baseline = &self.experiment().baseline;
        if out.contains(&baseline) {
            return Err(LabError::NothingToCompare(format!(
                "the baseline {baseline} fails its checks, so there is nothing to compare with"
            )));
        }
        let is_in = |name: &ContenderName| {
            !out.contains(&name) && self.ready.iter().any(|r| r.contender.name == *name)
        };
        // An experiment that compares generators may have a single contender.
        let header = &self.record.header;
        let is_of_generators = !header.skipped_cells.is_empty()
            || header.experiment.cells.iter().any(|cell| cell.driver.is_some());
        let may_be_alone = is_of_generators && header.experiment.contenders.is_empty();
        if !may_be_alone && !self.experiment().compared().any(is_in) {
            return Err(LabError::NothingToCompare(
                "every contender but the baseline fails its checks".into(),
            ));
        }
        Ok(())
    }
}
