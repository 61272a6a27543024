//! Names of contenders, and hints for mistyped names.
//!
//! A contender is a system with variants: `proxy-gin:quiet+cpus-0.5`. Some variants are reserved,
//! because they say how and with which share of the machine the contender runs. Start with
//! [`ContenderName`].
//!
//! Names become parts of paths, URLs and command lines, so quoting and percent-encoding are here
//! too.

use crate::runner_kind::{Network, RunnerKind};
use crate::units::parse_bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A system with the variants that make it a contender: `nginx`,
/// `proxy-spring-mvc:virtual-threads`, `strings:aot+quiet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct ContenderName {
    /// The system's name.
    pub system: String,
    /// Its variants, applied in this order; empty for the system as it is.
    pub variants: Vec<String>,
}

/// The variant that makes the baseline a contender a second time. No system may define it.
pub const AA: &str = "aa";

/// Variants that set how a contender runs, independent of the rest of the experiment. No system may
/// define one.
pub const PLACES: [(&str, RunnerKind, Network); 6] = [
    ("as-process", RunnerKind::Process, Network::Host),
    ("in-docker", RunnerKind::Docker, Network::Host),
    ("in-docker-bridge", RunnerKind::Docker, Network::Bridge),
    ("in-kubernetes", RunnerKind::Kubernetes, Network::ClusterIp),
    ("in-kubernetes-node-port", RunnerKind::Kubernetes, Network::NodePort),
    ("in-kubernetes-ingress", RunnerKind::Kubernetes, Network::Ingress),
];

/// The share of the machine that a contender gets. Variants such as `cpus-0.5`, `memory-256M` and
/// `replicas-10` set it; no system may define one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// CPU seconds per second.
    pub cpus: Option<f64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// The number of pods.
    pub replicas: Option<u32>,
}

/// Allowed CPU limits, in CPU seconds per second.
pub(crate) const CPU_LIMITS: RangeInclusive<f64> = 0.01..=1024.0;
/// Allowed memory limits, in bytes. An engine refuses less.
pub(crate) const MEMORY_LIMITS: RangeInclusive<u64> = 6 << 20..=1 << 50;
/// The most pods of a contender.
const MOST_REPLICAS: u32 = 1000;

impl Share {
    /// Reads the share that a variant sets; `None` for other variants.
    fn of_variant(variant: &str) -> Option<Share> {
        let (what, amount) = variant.split_once('-')?;
        let none = Share::default();
        match what {
            "cpus" => amount
                .parse::<f64>()
                .ok()
                .filter(|cpus| CPU_LIMITS.contains(cpus))
                .map(|cpus| Share { cpus: Some(cpus), ..none }),
            "memory" => {
                let bytes = parse_bytes(amount).ok().filter(|bytes| MEMORY_LIMITS.contains(bytes));
                bytes.map(|bytes| Share { memory_bytes: Some(bytes), ..none })
            }
            "replicas" => {
                let replicas = amount
                    .parse::<u32>()
                    .ok()
                    .filter(|replicas| (1..=MOST_REPLICAS).contains(replicas));
                replicas.map(|replicas| Share { replicas: Some(replicas), ..none })
            }
            _ => None,
        }
    }
}

/// Returns whether a variant is reserved, so that no system may define it.
pub fn is_reserved(variant: &str) -> bool {
    variant == AA
        || PLACES.iter().any(|(name, ..)| *name == variant)
        || Share::of_variant(variant).is_some()
}

impl ContenderName {
    /// Returns how it runs, if its name sets that.
    pub fn place(&self) -> Option<(RunnerKind, Network)> {
        let named = |variant: &String| {
            PLACES
                .iter()
                .find(|(name, ..)| name == variant)
                .map(|(_, runner, network)| (*runner, *network))
        };
        self.variants.iter().rev().find_map(named)
    }

    /// Returns the share of the machine that its name sets. If two variants set the same, the last
    /// applies.
    pub fn share(&self) -> Share {
        let shares = self.variants.iter().filter_map(|variant| Share::of_variant(variant));
        shares.fold(Share::default(), |all, one| Share {
            cpus: one.cpus.or(all.cpus),
            memory_bytes: one.memory_bytes.or(all.memory_bytes),
            replicas: one.replicas.or(all.replicas),
        })
    }

    /// Returns the name without its share of the machine. Both start from the same build.
    pub fn without_share(&self) -> ContenderName {
        let variants = self
            .variants
            .iter()
            .filter(|variant| Share::of_variant(variant).is_none())
            .cloned()
            .collect();
        ContenderName { system: self.system.clone(), variants }
    }

    /// Returns why it cannot run as its name says, and what to do. `usual` is the runner if its
    /// name sets none.
    pub fn contradiction(&self, usual: RunnerKind) -> Option<(String, String)> {
        let (share, runner) = (self.share(), self.place().map_or(usual, |(runner, _)| runner));
        let is_limited = share.cpus.is_some() || share.memory_bytes.is_some();
        if share.replicas.is_some() && runner != RunnerKind::Kubernetes {
            let hint = format!(
                "write `runner = \"kubernetes\"` in [place], or name `{self}+in-kubernetes`"
            );
            return Some((
                format!("`{self}` has several pods, and runs outside of any cluster"),
                hint,
            ));
        }
        if is_limited && runner == RunnerKind::Process {
            let hint =
                format!("write `runner = \"docker\"` in [place], or name `{self}+in-docker`");
            return Some((
                format!("`{self}` has limits, which need a container, and runs as a process"),
                hint,
            ));
        }
        None
    }

    /// Returns a file name for the contender: `svc+quiet+cpus-1`. No other contender has the same.
    pub fn folder_name(&self) -> String {
        // Names cannot contain a `+`, so it separates what `:` and `+` separate in the full name.
        self.to_string().replace(':', "+")
    }

    /// Returns the same system under a second name.
    pub fn twin(&self) -> ContenderName {
        let mut twin = self.clone();
        twin.variants.push(AA.to_owned());
        twin
    }

    /// Returns whether this is a [`ContenderName::twin`].
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

/// What to do about a text that [`is_name`] refuses.
pub const NAME_HINT: &str = "use letters, digits, `-`, `_` and `.`";

/// Returns whether a text can name a system, variant, workload, experiment or cell.
///
/// Allowed are letters, digits, `-`, `_` and `.`, starting with a letter or digit. Names become
/// folders and file names, so nothing else is accepted.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphanumeric())
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && text.len() <= 100
}

/// Writes a text as one word of a POSIX shell. It is quoted unless a shell gives no meaning to any
/// of its characters.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The characters that [`percent_encoded`] replaces.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Percent-encodes a text. Letters, digits, `-`, `_`, `.` and `~` remain, so most names stay
/// readable.
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Decodes a percent-encoded text.
///
/// # Errors
/// A `%` without two hexadecimal digits; a result that is not UTF-8, or has a zero byte.
pub fn percent_decoded(text: &str) -> Result<String, String> {
    let is_escape = |rest: &str| {
        rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return Err("a `%` is not followed by two hexadecimal digits".into());
    }
    let text = percent_decode_str(text).decode_utf8().map_err(|_| "it is not UTF-8")?;
    if text.contains('\0') { Err("it has a zero byte".into()) } else { Ok(text.into_owned()) }
}

/// Returns the known name most like `mistyped`, if one is near enough to be meant.
pub fn nearest<'a>(mistyped: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(mistyped, name), name))
        .filter(|(distance, name)| {
            *distance <= 2.max(name.len() / 3)
                || name.starts_with(mistyped)
                || (name.contains(mistyped) && mistyped.len() > 2)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns a hint for an unknown name: the nearest known one, or all of them.
pub fn did_you_mean<'a>(
    mistyped: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(mistyped, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let all: Vec<String> = known.into_iter().map(|n| format!("`{n}`")).collect();
            if all.is_empty() {
                "there is none here".into()
            } else {
                format!("known: {}", all.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Place;

    #[test]
    fn contender_names_are_read_as_they_are_written() {
        for text in ["nginx", "proxy-spring-mvc:virtual-threads", "strings:aot+quiet"] {
            assert_eq!(text.parse::<ContenderName>().unwrap().to_string(), text);
        }
        for bad in ["", ":", "a:", "a:b+", "../x", "a b", "a:b:c", "-x"] {
            assert!(bad.parse::<ContenderName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn contenders_have_different_folder_names() {
        let names = ["svc", "svc:quiet", "svc_quiet", "svc:quiet+aa", "svc:quiet_aa", "svc-quiet"];
        let folders: std::collections::BTreeSet<String> =
            names.iter().map(|name| name.parse::<ContenderName>().unwrap().folder_name()).collect();
        assert_eq!(folders.len(), names.len());
        assert!(folders.iter().all(|folder| !folder.contains([':', '/'])), "{folders:?}");
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_one() {
        for plain in ["a-b_c.d", "http://h:1/a%20b", "50+open", "a=b,c@d"] {
            assert_eq!(shell_word(plain), plain);
        }
        for (text, word) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("x; y", "'x; y'"),
            ("$(a)`b`", "'$(a)`b`'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn percent_encoding_is_undone_by_decoding() {
        let (text, encoded) = ("a/b:c {\"x\"} é", "a%2Fb%3Ac%20%7B%22x%22%7D%20%C3%A9");
        assert_eq!(percent_encoded(text), encoded);
        assert_eq!(percent_decoded(encoded).as_deref(), Ok(text));
        for bad in ["%", "%2", "%g0", "%FF", "%00"] {
            assert!(percent_decoded(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_runner_variant_names_an_existing_network() {
        for (variant, runner, network) in PLACES {
            let place = Place { runner, network, ..Place::default() };
            assert_eq!(place.contradiction(), None, "{variant}");
            let name: ContenderName = format!("a:{variant}").parse().unwrap();
            assert_eq!(name.place(), Some((runner, network)));
        }
        let odd = |runner, network| {
            Place { runner, network, ..Place::default() }
                .contradiction()
                .map(|(message, _)| message)
        };
        assert_eq!(
            odd(RunnerKind::Kubernetes, Network::Bridge).as_deref(),
            Some("a cluster has no network `bridge`")
        );
        assert_eq!(
            odd(RunnerKind::Docker, Network::NodePort).as_deref(),
            Some("Docker has no network `node_port`")
        );
        assert!(odd(RunnerKind::Process, Network::NodePort).is_some());
    }

    #[test]
    fn a_name_sets_the_share_of_the_machine() {
        let share = |text: &str| text.parse::<ContenderName>().unwrap().share();
        let all = Share { cpus: Some(0.5), memory_bytes: Some(64 << 20), replicas: Some(10) };
        assert_eq!(share("a:quiet+cpus-0.5+in-kubernetes+memory-64M+replicas-10"), all);
        assert_eq!(share("a:cpus-1+cpus-2").cpus, Some(2.0));
        let name: ContenderName = "a:quiet+cpus-0.5+in-docker".parse().unwrap();
        assert_eq!(name.without_share().to_string(), "a:quiet+in-docker");
        for own in [
            "cpus-all",
            "cpus-0",
            "cpus-inf",
            "cpus-NaN",
            "memory-1K",
            "memory-lots",
            "replicas-0",
            "replicas-1e3",
        ] {
            assert_eq!(
                (share(&format!("a:{own}")), is_reserved(own)),
                (Share::default(), false),
                "{own}"
            );
        }
        assert!(
            ["cpus-0.25", "memory-256M", "replicas-1000", AA, "in-docker"]
                .into_iter()
                .all(is_reserved)
        );
    }

    #[test]
    fn a_share_needs_a_runner_that_can_enforce_it() {
        let message = |text: &str, usual| {
            text.parse::<ContenderName>().unwrap().contradiction(usual).map(|(message, _)| message)
        };
        assert_eq!(message("a:cpus-1", RunnerKind::Docker), None);
        assert_eq!(message("a:in-docker+memory-64M", RunnerKind::Process), None);
        assert_eq!(message("a:replicas-2+in-kubernetes-node-port", RunnerKind::Process), None);
        assert!(
            message("a:cpus-1", RunnerKind::Process)
                .is_some_and(|message| message.contains("runs as a process"))
        );
        assert!(message("a:cpus-1+as-process", RunnerKind::Kubernetes).is_some());
        assert!(
            message("a:replicas-2", RunnerKind::Docker)
                .is_some_and(|message| message.contains("outside of any cluster"))
        );
    }

    #[test]
    fn one_word_moves_an_experiment_to_another_runner() {
        let moved = |runner, network, to| {
            let mut place = Place { runner, network, ..Place::default() };
            place.run_as(to);
            (place.network, place.contradiction().is_some())
        };
        assert_eq!(
            moved(RunnerKind::Process, Network::Host, RunnerKind::Kubernetes),
            (Network::ClusterIp, false)
        );
        assert_eq!(
            moved(RunnerKind::Kubernetes, Network::ClusterIp, RunnerKind::Docker),
            (Network::Host, false)
        );
        // A network that was chosen explicitly stays.
        assert_eq!(
            moved(RunnerKind::Kubernetes, Network::NodePort, RunnerKind::Kubernetes),
            (Network::NodePort, false)
        );
        assert_eq!(
            moved(RunnerKind::Docker, Network::Bridge, RunnerKind::Kubernetes),
            (Network::Bridge, true)
        );
    }

    #[test]
    fn a_mistyped_name_finds_the_nearest_one() {
        let known = ["proxy-gin", "proxy-spring-mvc", "nginx"];
        assert_eq!(nearest("proxy-jin", known), Some("proxy-gin"));
        assert_eq!(nearest("ngnix", known), Some("nginx"));
        assert_eq!(nearest("zzzzzzzzzz", known), None);
        assert_eq!(
            did_you_mean("zzzzzzzzzz", known),
            "known: `proxy-gin`, `proxy-spring-mvc`, `nginx`"
        );
    }
}
