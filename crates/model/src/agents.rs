//! Loads that agents make (docs/agents.md): how they are named, what an experiment cannot ask of them, and how well each kept to what it
//! was told.

use crate::experiment::{Cell, Experiment, Load, Pause, Place, RunnerKind};
use crate::record::Counts;
use crate::units::{show_duration, show_share, show_short};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Most agents of one load.
pub const AGENTS_MAX: usize = 1_000;
/// How many agents may run in pods: each is reached by a command of its own on this machine.
pub const PODS: RangeInclusive<u32> = 1..=64;
/// Longest load: each second of it is kept, at a quarter of a megabyte, until the end.
pub const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Histograms of a second each that all agents may bring: they stand in memory together.
pub const SECONDS_MAX: u64 = 10_000;

/// Clocks may be as uncertain, and beginnings as late: that is what is allowed to the tail of the lag as well.
const APART_MAX_NS: u64 = 1_000_000;
/// A median lag below this is never the agent's fault: the clock and a wake-up cost that much.
const LAG_FLOOR_NS: u64 = 50_000;
/// The event loops of an agent may use this share of their CPUs.
const BUSY_MAX: f64 = 0.90;

/// What one agent did of a load, and how well it kept to what it was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfAgent {
    /// As it was named: `host:port`; of one in a pod its number and its node.
    pub name: String,
    /// The number of its first event loop, from 0.
    pub first_loop: u32,
    /// How many event loops it had.
    pub loops: u32,
    /// How many all agents had: each made an equal share of the load.
    pub loops_of_all: u32,
    /// How far its clock was ahead of the coordinator's, before the load.
    pub offset_ns: i64,
    /// That is not farther from the truth than this.
    pub offset_error_ns: u64,
    /// By how much the clocks went apart during the load, as far as that is certain.
    pub drift_ns: u64,
    /// By how much it missed the start.
    pub late_ns: u64,
    /// What became of its requests.
    pub counts: Counts,
    /// CPU time that its event loops needed, as a share of that of their CPUs.
    pub busy_share: f64,
    /// The median of how late its requests were taken up.
    pub lag_p50_ns: u64,
    /// The median of its latencies.
    pub latency_p50_ns: u64,
    /// Whether all of its places were taken at times: then requests waited for the server, not for the agent.
    pub was_full: bool,
}

/// In what an agent did not keep to what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It began at another instant than the others, or nobody knows whether it did.
    Start,
    /// Its requests left late.
    Lag,
    /// It had no CPU time to spare.
    Busy,
}

impl OfAgent {
    /// Why what it measured may be its own, each in words that begin with its name.
    pub fn doubts(&self) -> Vec<(Doubt, String)> {
        let show = |ns: u64| show_short(ns as f64);
        let lags = self.lag_p50_ns > LAG_FLOOR_NS && self.lag_p50_ns.saturating_mul(10) > self.latency_p50_ns && !self.was_full;
        let doubts = [
            (Doubt::Start, self.offset_error_ns > APART_MAX_NS, format!("its clock is known to {} only", show(self.offset_error_ns))),
            (Doubt::Start, self.drift_ns > APART_MAX_NS, format!("its clock went {} apart from ours", show(self.drift_ns))),
            (Doubt::Start, self.late_ns > APART_MAX_NS, format!("it began {} late", show(self.late_ns))),
            (Doubt::Lag, lags, "half of its requests left late by a tenth of their latency or more".into()),
            (Doubt::Busy, self.busy_share > BUSY_MAX, format!("it was busy for {} of the time", show_share(self.busy_share))),
        ];
        let told = doubts.into_iter().filter(|(_, is_so, _)| *is_so);
        told.map(|(doubt, _, what)| (doubt, format!("agent {}: {what}", self.name))).collect()
    }
}

/// What is wrong with the names of agents, and what to do about it.
pub fn misnamed(names: &[String]) -> Option<(String, String)> {
    let is_name = |name: &&String| {
        let parts = name.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !name.contains(char::is_whitespace));
        parts.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Some((format!("`{name}` names no agent"), "write its host and its port, such as 10.0.0.11:7671".into()));
    }
    if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Some((format!("the agent {} is named twice", names[at]), "name each once: it makes one load at a time".into()));
    }
    let too_many = names.len() > AGENTS_MAX;
    too_many.then(|| (format!("these are {} agents", names.len()), format!("name at most {AGENTS_MAX}")))
}

impl Place {
    /// How many agents make the loads; none where the generator of this machine does.
    pub fn agents_asked(&self) -> usize {
        self.agent_pods.map_or(self.agents.len(), |pods| pods as usize)
    }

    /// Has agents make the loads that are named as on a command line: by host and port, or by how many there shall be in pods.
    ///
    /// # Errors
    /// What is wrong with the words, and what to do about it.
    pub fn ask_agents(&mut self, words: &[String]) -> Result<(), (String, String)> {
        let (names, pods) = match words {
            [word] if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) => {
                let pods = word.parse::<u32>().ok().filter(|pods| PODS.contains(pods));
                let (least, most) = (*PODS.start(), *PODS.end());
                let none = || (format!("there cannot be {word} agents in pods"), format!("write how many, from {least} to {most}"));
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

/// Something of an experiment that agents cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The cell, as it is written; `None` of the experiment as a whole.
    pub cell: Option<String>,
    /// What.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Experiment {
    /// What of it agents cannot do; nothing where it names none.
    pub fn beyond_agents(&self) -> Vec<Beyond> {
        let agents = self.place.agents_asked();
        if agents == 0 {
            return Vec::new();
        }
        let of_all = |message: String, hint: &str| Beyond { cell: None, message, hint: hint.into() };
        let mut found = Vec::new();
        let (load, run, others, hint) = if self.place.agent_pods.is_some() {
            let hint = "have them run in pods with `runner = \"kubernetes\"`, or name agents by host and port";
            (RunnerKind::Kubernetes, "agents in pods load pods", "as processes or in containers", hint)
        } else {
            let hint = "run them as processes, or leave `agents` of [place] out";
            (RunnerKind::Process, "agents load processes", "in containers or pods", hint)
        };
        if self.place.runner != load {
            found.push(of_all(format!("{run}, and contenders run {others}"), hint));
        }
        let elsewhere = self.everybody().filter(|name| name.place().is_some_and(|(runner, _)| runner != load));
        found.extend(elsewhere.map(|name| of_all(format!("{run}, and {name} does not run as one"), hint)));
        if self.design.measure > LONGEST {
            let (most, asked) = (show_duration(LONGEST), show_duration(self.design.measure));
            found.push(of_all(format!("agents make loads of at most {most}, and cells are measured for {asked}"), "measure for less"));
        }
        let seconds = self.design.measure.as_secs().saturating_mul(agents as u64);
        if seconds > SECONDS_MAX {
            let message = format!("{agents} agents bring {seconds} histograms, one for each second, and at most {SECONDS_MAX} are taken");
            found.push(of_all(message, "measure for less, or with fewer agents"));
        }
        // All cells of a sweep have one name in the file, which is told of once.
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
        ((places as usize) < agents).then_some((message, "each agent needs one at least: raise it, or name fewer agents"))
    };
    let by_load = match &cell.load {
        _ if cell.driver.is_some() => {
            Some((format!("another generator makes the load of `{name}`, and not agents"), "leave out `driver`, or `agents` of [place]"))
        }
        Load::Capacity(_) => Some((
            format!("agents make one load, and the capacity of `{name}` is looked for with many"),
            "give the cell another load, or leave `agents` of [place] out",
        )),
        Load::Closed { connections, .. } => is_few(*connections, "connections"),
        Load::Arrivals { in_flight_max, .. } => is_few(*in_flight_max, "places (`in_flight_max`)"),
        Load::Users { users, pooled, .. } => {
            is_few(*users, "users").or_else(|| pooled.and_then(|connections| is_few(connections, "connections (`pooled`)")))
        }
    };
    let too_long = || {
        let message = format!("agents wait for at most {}, and something of `{name}` takes longer", show_duration(LONGEST));
        (longest(cell) > LONGEST).then_some((message, "give it a shorter timeout, ramp, pause or stage"))
    };
    let (message, hint) = by_load.or_else(too_long)?;
    Some(Beyond { cell: Some(cell.written_name().to_owned()), message, hint: hint.into() })
}

/// The longest time that is written of a cell.
fn longest(cell: &Cell) -> Duration {
    let of_load = match &cell.load {
        Load::Arrivals { stages, .. } => stages.iter().map(|stage| stage.over).max().unwrap_or_default(),
        Load::Users { ramp, pause: Pause::Constant(pause) | Pause::Uniform { to: pause, .. } | Pause::Exponential(pause), .. } => {
            *ramp.max(pause)
        }
        Load::Closed { .. } | Load::Capacity(_) => Duration::ZERO,
    };
    of_load.max(cell.timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn kept() -> OfAgent {
        OfAgent {
            name: "there:1".into(),
            first_loop: 0,
            loops: 1,
            loops_of_all: 1,
            offset_ns: -5,
            offset_error_ns: MS / 10,
            drift_ns: 0,
            late_ns: MS / 10,
            counts: Counts::default(),
            busy_share: 0.5,
            lag_p50_ns: MS / 100,
            latency_p50_ns: MS,
            was_full: false,
        }
    }

    #[test]
    fn who_kept_to_it_is_not_doubted_and_who_did_not_is() {
        assert!(kept().doubts().is_empty());
        let doubted = |agent: OfAgent, doubt: Doubt, why: &str| {
            let doubts = agent.doubts();
            let is_it = |(of, text): &(Doubt, String)| *of == doubt && text.starts_with("agent there:1: ") && text.contains(why);
            assert!(matches!(&doubts[..], [only] if is_it(only)), "{why}: {doubts:?}");
        };
        doubted(OfAgent { offset_error_ns: 2 * MS, ..kept() }, Doubt::Start, "known to");
        doubted(OfAgent { drift_ns: 2 * MS, ..kept() }, Doubt::Start, "apart");
        doubted(OfAgent { late_ns: 2 * MS, ..kept() }, Doubt::Start, "late");
        doubted(OfAgent { busy_share: 0.95, ..kept() }, Doubt::Busy, "95.0 %");
        let lagging = OfAgent { lag_p50_ns: MS / 5, ..kept() };
        doubted(lagging.clone(), Doubt::Lag, "half of its requests");
        assert!(OfAgent { was_full: true, ..lagging.clone() }.doubts().is_empty(), "they waited for the server");
        assert!(OfAgent { latency_p50_ns: 100 * MS, ..lagging }.doubts().is_empty(), "it hardly shows");
    }

    #[test]
    fn agents_are_named_by_host_and_port_each_once() {
        let misnamed = |names: &[&str]| misnamed(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).map(|(what, _)| what);
        assert_eq!(misnamed(&["a:1", "b:1", "[::1]:7671", "10.0.0.11:65535"]), None);
        for name in ["", "a", "a:", ":1", "a:0", "a:65536", "a b:1", " a:1", "http://a"] {
            assert_eq!(misnamed(&["a:1", name]), Some(format!("`{name}` names no agent")));
        }
        assert_eq!(misnamed(&["a:1", "b:1", "a:1"]), Some("the agent a:1 is named twice".into()));
        let many: Vec<String> = (1..=1_001).map(|port| format!("a:{port}")).collect();
        assert!(super::misnamed(&many).is_some() && super::misnamed(&many[1..]).is_none());
    }

    #[test]
    fn a_command_line_names_agents_or_says_how_many_in_pods() {
        let asked = |words: &[&str]| {
            let mut place = Place { agents: vec!["before:1".into()], address: Some([10, 0, 0, 1].into()), ..Place::default() };
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            place.ask_agents(&words).map(|()| place)
        };
        let place = asked(&["4"]).unwrap();
        assert_eq!((place.agents_asked(), place.agents.len(), place.agent_pods, place.address), (4, 0, Some(4), None));
        let place = asked(&["a:1", "b:1"]).unwrap();
        assert_eq!((place.agents_asked(), place.agent_pods), (2, None));
        assert!(place.address.is_some(), "where named agents reach contenders is still said");
        for odd in ["0", "65", "99999999999999999999"] {
            assert_eq!(asked(&[odd]).unwrap_err().0, format!("there cannot be {odd} agents in pods"));
        }
        assert_eq!(asked(&["2", "a:1"]).unwrap_err().0, "`2` names no agent");
        assert_eq!(asked(&[""]).unwrap_err().0, "`` names no agent");
        assert_eq!(Place::default().agents_asked(), 0);
    }
}
