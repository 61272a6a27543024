//! Names: of systems with variants, and the nearest known one to a mistyped one.

use crate::experiment::{Network, RunnerKind};
use crate::units::parse_bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A system with the variants that make it a contender: `nginx`,
/// `proxy-spring-mvc:virtual-threads`, `strings:aot+quiet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ContenderName {
    /// The system's name.
    pub system: String,
    /// Its variants, applied in this order; empty for the system as it is.
    pub variants: Vec<String>,
}

/// The variant that makes the baseline a contender a second time; no system may define it.
pub const AA: &str = "aa";

/// Variants that say what a contender runs as, whatever the others of its experiment do; no system may define one.
pub const PLACES: [(&str, RunnerKind, Network); 6] = [
    ("as-process", RunnerKind::Process, Network::Host),
    ("in-docker", RunnerKind::Docker, Network::Host),
    ("in-docker-bridge", RunnerKind::Docker, Network::Bridge),
    ("in-kubernetes", RunnerKind::Kubernetes, Network::ClusterIp),
    ("in-kubernetes-node-port", RunnerKind::Kubernetes, Network::NodePort),
    ("in-kubernetes-ingress", RunnerKind::Kubernetes, Network::Ingress),
];

/// What a contender is given of the machine, where its name says so by variants such as `cpus-0.5`, `memory-256M` and `replicas-10`; no
/// system may define one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// CPU time a second, in seconds.
    pub cpus: Option<f64>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// In how many pods it runs.
    pub replicas: Option<u32>,
}

/// CPU time a second that can be a limit, in seconds.
pub(crate) const CPU_LIMITS: RangeInclusive<f64> = 0.01..=1024.0;
/// Memory that can be a limit, in bytes: an engine refuses less.
pub(crate) const MEMORY_LIMITS: RangeInclusive<u64> = 6 << 20..=1 << 50;
/// Most pods of a contender.
const MOST_REPLICAS: u32 = 1000;

impl Share {
    /// What a variant says of it; `None` of one that says something else.
    fn of(variant: &str) -> Option<Share> {
        let (what, amount) = variant.split_once('-')?;
        let none = Share::default();
        match what {
            "cpus" => amount.parse::<f64>().ok().filter(|cpus| CPU_LIMITS.contains(cpus)).map(|cpus| Share { cpus: Some(cpus), ..none }),
            "memory" => {
                let bytes = parse_bytes(amount).ok().filter(|bytes| MEMORY_LIMITS.contains(bytes));
                bytes.map(|bytes| Share { memory_bytes: Some(bytes), ..none })
            }
            "replicas" => {
                let replicas = amount.parse::<u32>().ok().filter(|replicas| (1..=MOST_REPLICAS).contains(replicas));
                replicas.map(|replicas| Share { replicas: Some(replicas), ..none })
            }
            _ => None,
        }
    }
}

/// Whether a variant is of no system's own.
pub fn is_reserved(variant: &str) -> bool {
    variant == AA || PLACES.iter().any(|(name, ..)| *name == variant) || Share::of(variant).is_some()
}

impl ContenderName {
    /// What it runs as, where its name says so.
    pub fn place(&self) -> Option<(RunnerKind, Network)> {
        let named = |variant: &String| PLACES.iter().find(|(name, ..)| name == variant).map(|(_, runner, network)| (*runner, *network));
        self.variants.iter().rev().find_map(named)
    }

    /// What it is given of the machine, where its name says so; of two that say the same, the last holds.
    pub fn share(&self) -> Share {
        let said = self.variants.iter().filter_map(|variant| Share::of(variant));
        said.fold(Share::default(), |all, one| Share {
            cpus: one.cpus.or(all.cpus),
            memory_bytes: one.memory_bytes.or(all.memory_bytes),
            replicas: one.replicas.or(all.replicas),
        })
    }

    /// The same without what it is given of the machine: what it starts from is the same.
    pub fn without_share(&self) -> ContenderName {
        let variants = self.variants.iter().filter(|variant| Share::of(variant).is_none()).cloned().collect();
        ContenderName { system: self.system.clone(), variants }
    }

    /// Why it cannot be given what its name says, and what to do; `usual` is what it runs as where its name says nothing of that.
    pub fn contradiction(&self, usual: RunnerKind) -> Option<(String, String)> {
        let (share, runner) = (self.share(), self.place().map_or(usual, |(runner, _)| runner));
        let is_limited = share.cpus.is_some() || share.memory_bytes.is_some();
        if share.replicas.is_some() && runner != RunnerKind::Kubernetes {
            let hint = format!("write `runner = \"kubernetes\"` in [place], or name `{self}+in-kubernetes`");
            return Some((format!("`{self}` has several pods, and runs outside of any cluster"), hint));
        }
        if is_limited && runner == RunnerKind::Process {
            let hint = format!("write `runner = \"docker\"` in [place], or name `{self}+in-docker`");
            return Some((format!("`{self}` is limited, which containers are, and runs as a process"), hint));
        }
        None
    }

    /// The same system under a second name.
    pub fn twin(&self) -> ContenderName {
        let mut twin = self.clone();
        twin.variants.push(AA.to_owned());
        twin
    }

    /// Whether this is somebody's [`ContenderName::twin`].
    pub fn is_twin(&self) -> bool {
        self.variants.iter().any(|v| v == AA)
    }
}

impl fmt::Display for ContenderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.system)?;
        if !self.variants.is_empty() {
            write!(f, ":{}", self.variants.join("+"))?;
        }
        Ok(())
    }
}

impl From<ContenderName> for String {
    fn from(name: ContenderName) -> String {
        name.to_string()
    }
}

impl TryFrom<String> for ContenderName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for ContenderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (system, variants) = match text.split_once(':') {
            Some((system, variants)) => (system, variants.split('+').map(str::to_owned).collect()),
            None => (text, Vec::new()),
        };
        let parts = std::iter::once(system).chain(variants.iter().map(String::as_str));
        for part in parts {
            if !is_name(part) {
                return Err(format!("`{text}` is not a contender: `{part}` is not a name"));
            }
        }
        Ok(ContenderName { system: system.to_owned(), variants })
    }
}

/// Whether a text can name a system, variant, workload, experiment or cell:
/// letters, digits, `-`, `_` and `.`, starting with a letter or digit. Names
/// become folders and file names, so nothing else is let in.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphanumeric())
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && text.len() <= 100
}

/// A text as one word of a shell's command line, quoted where it is more than letters, digits and what no shell reads.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// A text of which only letters, digits, `-`, `_`, `.` and `~` stand as they are, as the percent-encoding of forms has it: a name stays
/// what it is.
pub fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect()
}

/// What [`percent_encoded`] was made of.
///
/// # Errors
/// A `%` without its digits; what is no UTF-8, or holds a zero byte.
pub fn percent_decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        bytes.push(digits.and_then(|d| u8::from_str_radix(d, 16).ok()).ok_or("a `%` is followed by no two hexadecimal digits")?);
        rest = &rest[2..];
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is no UTF-8")?;
    if text.contains('\0') { Err("it holds a zero byte".into()) } else { Ok(text) }
}

/// The known name most like `asked`, if one is near enough to be what was meant.
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(asked, name), name))
        .filter(|(distance, name)| {
            *distance <= 2.max(name.len() / 3) || name.starts_with(asked) || (name.contains(asked) && asked.len() > 2)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// A hint for an unknown name: the nearest known one, or all of them.
pub fn did_you_mean<'a>(asked: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(asked, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let all: Vec<String> = known.into_iter().map(|n| format!("`{n}`")).collect();
            if all.is_empty() { "there is none here".into() } else { format!("known: {}", all.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Place;

    #[test]
    fn contenders_are_read_and_written_alike() {
        for text in ["nginx", "proxy-spring-mvc:virtual-threads", "strings:aot+quiet"] {
            assert_eq!(text.parse::<ContenderName>().unwrap().to_string(), text);
        }
        for bad in ["", ":", "a:", "a:b+", "../x", "a b", "a:b:c", "-x"] {
            assert!(bad.parse::<ContenderName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_word_of_a_shell_stays_one() {
        for plain in ["a-b_c.d", "http://h:1/a%20b", "50+open", "a=b,c@d"] {
            assert_eq!(shell_word(plain), plain);
        }
        for (text, word) in [("", "''"), ("a b", "'a b'"), ("x; y", "'x; y'"), ("$(a)`b`", "'$(a)`b`'"), ("it's", "'it'\\''s'")] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn what_a_name_says_it_runs_as_is_something_that_there_is() {
        for (variant, runner, network) in PLACES {
            let place = Place { runner, network, ..Place::default() };
            assert_eq!(place.contradiction(), None, "{variant}");
            let name: ContenderName = format!("a:{variant}").parse().unwrap();
            assert_eq!(name.place(), Some((runner, network)));
        }
        let odd = |runner, network| Place { runner, network, ..Place::default() }.contradiction().map(|(message, _)| message);
        assert_eq!(odd(RunnerKind::Kubernetes, Network::Bridge).as_deref(), Some("a cluster has no network `bridge`"));
        assert_eq!(odd(RunnerKind::Docker, Network::NodePort).as_deref(), Some("Docker has no network `node_port`"));
        assert!(odd(RunnerKind::Process, Network::NodePort).is_some());
    }

    #[test]
    fn a_name_says_what_a_contender_is_given() {
        let share = |text: &str| text.parse::<ContenderName>().unwrap().share();
        let all = Share { cpus: Some(0.5), memory_bytes: Some(64 << 20), replicas: Some(10) };
        assert_eq!(share("a:quiet+cpus-0.5+in-kubernetes+memory-64M+replicas-10"), all);
        assert_eq!(share("a:cpus-1+cpus-2").cpus, Some(2.0));
        let name: ContenderName = "a:quiet+cpus-0.5+in-docker".parse().unwrap();
        assert_eq!(name.without_share().to_string(), "a:quiet+in-docker");
        for own in ["cpus-all", "cpus-0", "cpus-inf", "cpus-NaN", "memory-1K", "memory-lots", "replicas-0", "replicas-1e3"] {
            assert_eq!((share(&format!("a:{own}")), is_reserved(own)), (Share::default(), false), "{own}");
        }
        assert!(["cpus-0.25", "memory-256M", "replicas-1000", AA, "in-docker"].into_iter().all(is_reserved));
    }

    #[test]
    fn what_is_given_needs_something_that_can_give_it() {
        let said = |text: &str, usual| text.parse::<ContenderName>().unwrap().contradiction(usual).map(|(message, _)| message);
        assert_eq!(said("a:cpus-1", RunnerKind::Docker), None);
        assert_eq!(said("a:in-docker+memory-64M", RunnerKind::Process), None);
        assert_eq!(said("a:replicas-2+in-kubernetes-node-port", RunnerKind::Process), None);
        assert!(said("a:cpus-1", RunnerKind::Process).is_some_and(|said| said.contains("runs as a process")));
        assert!(said("a:cpus-1+as-process", RunnerKind::Kubernetes).is_some());
        assert!(said("a:replicas-2", RunnerKind::Docker).is_some_and(|said| said.contains("outside of any cluster")));
    }

    #[test]
    fn an_experiment_moves_to_another_runner_by_one_word() {
        let moved = |runner, network, to| {
            let mut place = Place { runner, network, ..Place::default() };
            place.run_as(to);
            (place.network, place.contradiction().is_some())
        };
        assert_eq!(moved(RunnerKind::Process, Network::Host, RunnerKind::Kubernetes), (Network::ClusterIp, false));
        assert_eq!(moved(RunnerKind::Kubernetes, Network::ClusterIp, RunnerKind::Docker), (Network::Host, false));
        // What somebody chose is not chosen anew.
        assert_eq!(moved(RunnerKind::Kubernetes, Network::NodePort, RunnerKind::Kubernetes), (Network::NodePort, false));
        assert_eq!(moved(RunnerKind::Docker, Network::Bridge, RunnerKind::Kubernetes), (Network::Bridge, true));
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbour() {
        let known = ["proxy-gin", "proxy-spring-mvc", "nginx"];
        assert_eq!(nearest("proxy-jin", known), Some("proxy-gin"));
        assert_eq!(nearest("ngnix", known), Some("nginx"));
        assert_eq!(nearest("zzzzzzzzzz", known), None);
        assert_eq!(did_you_mean("zzzzzzzzzz", known), "known: `proxy-gin`, `proxy-spring-mvc`, `nginx`");
    }
}
