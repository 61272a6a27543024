//! Loads that agents on other machines make (docs/guide/several-machines.md).
//!
//! This file reads how agents are named, and lists what of an experiment agents cannot do. How well
//! each agent kept to its orders is in the crate `record`.

use super::{Cell, Experiment, Load, Pause, Place, RunnerKind};
use crate::units::show_duration;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The most agents of one load.
pub const AGENTS_MAX: usize = 1_000;
/// How many agents may run in pods. Each is reached by a command of its own on this machine.
pub const PODS: RangeInclusive<u32> = 1..=64;
/// The longest load of agents. Each second of it needs a quarter of a megabyte until the end.
pub const LONGEST: Duration = Duration::from_secs(15 * 60);
/// The most histograms of a second each that all agents may send. They are in memory together.
pub const SECONDS_MAX: u64 = 10_000;

/// Returns what is wrong with the names of agents, and what to do about it.
pub fn misnamed(names: &[String]) -> Option<(String, String)> {
    let is_name = |name: &&String| {
        let parts = name
            .rsplit_once(':')
            .filter(|(host, _)| !host.is_empty() && !name.contains(char::is_whitespace));
        parts.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Some((
            format!("`{name}` names no agent"),
            "write its host and its port, such as 10.0.0.11:7671".into(),
        ));
    }
    if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Some((
            format!("the agent {} is named twice", names[at]),
            "name each once: it makes one load at a time".into(),
        ));
    }
    let too_many = names.len() > AGENTS_MAX;
    too_many.then(|| {
        (format!("these are {} agents", names.len()), format!("name at most {AGENTS_MAX}"))
    })
}

impl Place {
    /// Returns how many agents make the loads; 0 if the generator of this machine does.
    pub fn agents_asked(&self) -> usize {
        self.agent_pods.map_or(self.agents.len(), |pods| pods as usize)
    }

    /// Sets the agents that make the loads, from the words of a command line: `host:port` names, or
    /// a number of pods.
    ///
    /// # Errors
    /// What is wrong with the words, and what to do about it.
    pub fn ask_agents(&mut self, words: &[String]) -> Result<(), (String, String)> {
        let (names, pods) = match words {
            [word] if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) => {
                let pods = word.parse::<u32>().ok().filter(|pods| PODS.contains(pods));
                let (least, most) = (*PODS.start(), *PODS.end());
                let none = || {
                    (
                        format!("there cannot be {word} agents in pods"),
                        format!("write how many, from {least} to {most}"),
                    )
                };
                (Vec::new(), Some(pods.ok_or_else(none)?))
            }
            names => match misnamed(names) {
                Some(wrong) => return Err(wrong),
                None => (names.to_vec(), None),
            },
        };
        if pods.is_some() {
            self.address = None;
        }
        (self.agents, self.agent_pods) = (names, pods);
        Ok(())
    }
}

/// A part of an experiment that agents cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The cell as it is written; `None` if it concerns the whole experiment.
    pub cell: Option<String>,
    /// What agents cannot do.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Experiment {
    /// Lists what of this experiment agents cannot do; empty if it names no agents.
    pub fn beyond_agents(&self) -> Vec<Beyond> {
        let agents = self.place.agents_asked();
        if agents == 0 {
            return Vec::new();
        }
        let of_all =
            |message: String, hint: &str| Beyond { cell: None, message, hint: hint.into() };
        let mut found = Vec::new();
        let (load, run, others, hint) = if self.place.agent_pods.is_some() {
            let hint = "have them run in pods with `runner = \"kubernetes\"`, or name agents by host and port";
            (
                RunnerKind::Kubernetes,
                "agents in pods load pods",
                "as processes or in containers",
                hint,
            )
        } else {
            let hint = "run them as processes, or leave `agents` of [place] out";
            (RunnerKind::Process, "agents load processes", "in containers or pods", hint)
        };
        if self.place.runner != load {
            found.push(of_all(format!("{run}, and contenders run {others}"), hint));
        }
        let elsewhere = self
            .all_contenders()
            .filter(|name| name.place().is_some_and(|(runner, _)| runner != load));
        found.extend(
            elsewhere.map(|name| of_all(format!("{run}, and {name} does not run as one"), hint)),
        );
        if self.design.measure > LONGEST {
            let (most, measured) = (show_duration(LONGEST), show_duration(self.design.measure));
            found.push(of_all(
                format!(
                    "agents make loads of at most {most}, and cells are measured for {measured}"
                ),
                "measure for less",
            ));
        }
        let seconds = self.design.measure.as_secs().saturating_mul(agents as u64);
        if seconds > SECONDS_MAX {
            let message = format!(
                "{agents} agents for {} would send {seconds} histograms; the limit is {SECONDS_MAX}",
                show_duration(self.design.measure)
            );
            found.push(of_all(message, "measure for less, or with fewer agents"));
        }
        // All cells of a sweep have one name in the file, so the problem is reported once.
        for beyond in self.cells.iter().filter_map(|cell| beyond_in(cell, agents)) {
            if !found.iter().any(|other| other.cell == beyond.cell) {
                found.push(beyond);
            }
        }
        found
    }
}

fn beyond_in(cell: &Cell, agents: usize) -> Option<Beyond> {
    let name = &cell.name;
    let is_few = |places: u32, what: &str| {
        let message = format!("`{name}` has {places} {what} for {agents} agents");
        ((places as usize) < agents)
            .then_some((message, "each agent needs one at least: raise it, or name fewer agents"))
    };
    let by_load = match &cell.load {
        _ if cell.driver.is_some() => Some((
            format!("`{name}` uses an external generator (`driver`), which agents cannot replace"),
            "leave out `driver`, or `agents` of [place]",
        )),
        Load::Capacity(_) => Some((
            format!("agents make one load, and the capacity of `{name}` is looked for with many"),
            "give the cell another load, or leave `agents` of [place] out",
        )),
        Load::Closed { connections, .. } => is_few(*connections, "connections"),
        Load::Arrivals { in_flight_max, .. } => is_few(*in_flight_max, "places (`in_flight_max`)"),
        Load::Users { users, pooled, .. } => is_few(*users, "users").or_else(|| {
            pooled.and_then(|connections| is_few(connections, "connections (`pooled`)"))
        }),
    };
    let too_long = || {
        let message = format!(
            "agents wait for at most {}, and something of `{name}` takes longer",
            show_duration(LONGEST)
        );
        (longest(cell) > LONGEST)
            .then_some((message, "give it a shorter timeout, ramp, pause or stage"))
    };
    let (message, hint) = by_load.or_else(too_long)?;
    Some(Beyond { cell: Some(cell.written_name().to_owned()), message, hint: hint.into() })
}

/// Returns the longest time that a cell can take.
fn longest(cell: &Cell) -> Duration {
    let of_load = match &cell.load {
        Load::Arrivals { stages, .. } => {
            stages.iter().map(|stage| stage.over).max().unwrap_or_default()
        }
        Load::Users {
            ramp,
            pause:
                Pause::Constant(pause) | Pause::Uniform { to: pause, .. } | Pause::Exponential(pause),
            ..
        } => *ramp.max(pause),
        Load::Closed { .. } | Load::Capacity(_) => Duration::ZERO,
    };
    of_load.max(cell.timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_by_host_and_port_each_once() {
        let misnamed = |names: &[&str]| {
            misnamed(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
                .map(|(what, _)| what)
        };
        assert_eq!(misnamed(&["a:1", "b:1", "[::1]:7671", "10.0.0.11:65535"]), None);
        for name in ["", "a", "a:", ":1", "a:0", "a:65536", "a b:1", " a:1", "http://a"] {
            assert_eq!(misnamed(&["a:1", name]), Some(format!("`{name}` names no agent")));
        }
        assert_eq!(misnamed(&["a:1", "b:1", "a:1"]), Some("the agent a:1 is named twice".into()));
        let many: Vec<String> = (1..=1_001).map(|port| format!("a:{port}")).collect();
        assert!(super::misnamed(&many).is_some() && super::misnamed(&many[1..]).is_none());
    }

    #[test]
    fn a_command_line_names_agents_or_a_number_of_pods() {
        let placed = |words: &[&str]| {
            let mut place = Place {
                agents: vec!["before:1".into()],
                address: Some([10, 0, 0, 1].into()),
                ..Place::default()
            };
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            place.ask_agents(&words).map(|()| place)
        };
        let place = placed(&["4"]).unwrap();
        assert_eq!(
            (place.agents_asked(), place.agents.len(), place.agent_pods, place.address),
            (4, 0, Some(4), None)
        );
        let place = placed(&["a:1", "b:1"]).unwrap();
        assert_eq!((place.agents_asked(), place.agent_pods), (2, None));
        assert!(place.address.is_some(), "the address at which agents reach contenders stays");
        for odd in ["0", "65", "99999999999999999999"] {
            assert_eq!(
                placed(&[odd]).unwrap_err().0,
                format!("there cannot be {odd} agents in pods")
            );
        }
        assert_eq!(placed(&["2", "a:1"]).unwrap_err().0, "`2` names no agent");
        assert_eq!(placed(&[""]).unwrap_err().0, "`` names no agent");
        assert_eq!(Place::default().agents_asked(), 0);
    }
}
