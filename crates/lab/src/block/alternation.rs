//! Chooses how contenders alternate: whether they can run at the same time and share a block in
//! slices.

use load::slices::can_be_sliced;
use record::{Alternation, Machine};
use spec::experiment::{Cell, Experiment, RunnerKind};
use spec::metric::Metric;
use spec::name::ContenderName;

/// Memory assumed for one contender, as its real need is unknown: a JVM with a usual heap.
const MEMORY_OF_ONE: u64 = 1 << 30;

/// Chooses how this number of contenders alternates: in slices if the experiment asks for them and
/// nothing prevents it, else trial by trial. Agents may make the load.
pub fn alternation(
    experiment: &Experiment,
    is_by_agents: bool,
    contenders: usize,
    machine: &Machine,
) -> Alternation {
    let obstacle = || obstacle(experiment, is_by_agents, contenders, machine.memory_bytes);
    match experiment.design.slices {
        true => obstacle().map_or(Alternation::Slices, |reason| Alternation::Trials { reason }),
        false => Alternation::default(),
    }
}

/// The reason why an experiment's contenders cannot share a block; `None` if they can.
fn obstacle(
    experiment: &Experiment,
    is_by_agents: bool,
    contenders: usize,
    memory_bytes: u64,
) -> Option<String> {
    let of_cell = |cell: &Cell| match () {
        () if cell.load.capacity().is_some() => Some("a capacity is searched for"),
        () if cell.driver.is_some() => Some("another generator makes the load"),
        () if cell.after.is_some() => Some("its repetitions follow each other"),
        () if !can_be_sliced(&cell.load) => Some("its load changes over time"),
        () => None,
    };
    let is_in_pods = |name: &ContenderName| {
        name.place().map_or(experiment.place.runner, |(runner, _)| runner) == RunnerKind::Kubernetes
    };
    let of_starts = |metric: Metric| matches!(metric, Metric::StartUp | Metric::ScaleOut);
    match () {
        () if is_by_agents => Some("agents make the load".into()),
        () if experiment.database.is_some() => Some("each contender fills a database".into()),
        () if experiment.all_contenders().any(is_in_pods) => {
            Some("they run in pods, whose replicas share the load".into())
        }
        () if contenders as u64 * MEMORY_OF_ONE > memory_bytes => {
            Some(format!("memory may be too small for {contenders} contenders at once"))
        }
        () if experiment.place.descriptors.is_some() => {
            Some("the number of descriptors is limited".into())
        }
        () if experiment.claims.iter().any(|claim| of_starts(claim.metric)) => {
            Some("a claim is about start-up, which is measured alone".into())
        }
        () => experiment
            .cells
            .iter()
            .find_map(|cell| of_cell(cell).map(|why| format!("in {} {why}", cell.name))),
    }
}
