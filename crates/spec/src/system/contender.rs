//! A system with variants applied, and variants that cannot be combined.
//!
//! [`System::with_variants`] applies variants in order and refuses two that set the same thing
//! differently (`settings.rs`). The result, a [`Contender`], is all that a runner needs.

use super::settings;
use super::{Kind, System};
use crate::name::{ContenderName, did_you_mean};
use crate::placeholder;
use crate::problem::Problems;
use crate::runner_kind::{Network, RunnerKind};
use std::collections::BTreeMap;

/// A system with its variants applied: all that a runner needs to start it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// The system and its variants.
    pub name: ContenderName,
    /// The summaries of the system and of the variants.
    pub summary: String,
    /// The system with the needs, build, JDK, environment and limits of its variants.
    pub system: System,
    /// The value of `{variant.args}`.
    pub args: Vec<String>,
    /// The value of `{variant.jvm}`.
    pub jvm: Vec<String>,
}

impl Contender {
    /// Returns how it runs and in which network, given the usual setting of its experiment. An
    /// image that exists already runs in a container with its own network.
    ///
    /// # Errors
    /// Why it cannot run as its name demands.
    pub fn place(&self, usual: (RunnerKind, Network)) -> Result<(RunnerKind, Network), String> {
        match (self.name.place(), &self.system.image.ready_made) {
            (Some(place), Some(image)) if place.0 != RunnerKind::Docker => Err(format!(
                "{} starts from the image {image}, which runs in a Docker container",
                self.name
            )),
            (Some(place), _) => Ok(place),
            (None, Some(_)) => Ok((RunnerKind::Docker, Network::Bridge)),
            (None, None) => Ok(usual),
        }
    }

    /// Returns whether it can only start if there is a database.
    pub fn needs_database(&self) -> bool {
        let start = &self.system.start;
        self.system.kind != Kind::Database
            && start
                .run
                .iter()
                .chain(start.env.values())
                .chain(&self.args)
                .any(|t| placeholder::names_database(t))
    }
}

impl System {
    /// Applies the named variants to the system, in order. Arguments are appended, and the highest
    /// of the minimum JDK versions applies.
    ///
    /// # Errors
    /// - A variant that the manifest does not have, with the nearest name.
    /// - A variant that is named twice.
    /// - Two variants that set the same thing differently.
    /// - Arguments for which the start command has no place.
    pub fn with_variants(&self, variants: &[String]) -> Result<Contender, Problems> {
        let mut contender = Contender {
            name: ContenderName { system: self.name.clone(), variants: variants.to_vec() },
            summary: self.summary.clone(),
            system: self.clone(),
            args: Vec::new(),
            jvm: Vec::new(),
        };
        let mut wrong = Vec::new();
        let mut known: BTreeMap<String, (&str, Vec<String>)> = BTreeMap::new();
        for (at, name) in variants.iter().enumerate() {
            let Some(variant) = self.variants.get(name) else {
                wrong.push((
                    format!("system `{}` has no variant `{name}`", self.name),
                    did_you_mean(name, self.variants.keys().map(String::as_str)),
                ));
                continue;
            };
            if variants[..at].contains(name) {
                wrong.push((
                    format!("`{}` names the variant `{name}` twice", contender.name),
                    "name it once".into(),
                ));
                continue;
            }
            for (what, values) in settings::settings_of(variant) {
                match known.get(&what) {
                    Some((other, before)) if *before != values => wrong.push((
                        contradiction(&self.name, (*other, before), (name, &values), &what),
                        "keep one of the two, or write a variant that combines both".into(),
                    )),
                    _ => drop(known.insert(what, (name, values))),
                }
            }
            let system = &mut contender.system;
            if let Some(summary) = &variant.summary {
                contender.summary = format!("{}; {summary}", contender.summary);
            }
            contender.args.extend(variant.args.iter().cloned());
            contender.jvm.extend(variant.jvm.iter().cloned());
            if !variant.run.is_empty() {
                system.start.run.clone_from(&variant.run);
            }
            system.start.env.extend(variant.env.clone());
            system.jdk = system.jdk.max(variant.jdk);
            system.jdk_at_most = variant.jdk_at_most.or(system.jdk_at_most);
            system.needs.extend(variant.needs.iter().cloned());
            if let Some(build) = &variant.build {
                system.build = Some(build.clone());
            }
            system.start.descriptors = variant.descriptors.or(system.start.descriptors);
            system.start.protocol = variant.protocol.unwrap_or(system.start.protocol);
            if !variant.answers.is_empty() {
                system.answers.clone_from(&variant.answers);
            }
        }
        if wrong.is_empty() {
            wrong = contender.dropped();
        }
        if wrong.is_empty() { Ok(contender) } else { Err(Problems::several(wrong)) }
    }
}

impl Contender {
    /// Returns what its variants set but its start command has no place for. The start command may
    /// be a variant's.
    fn dropped(&self) -> Vec<(String, String)> {
        [("variant.args", &self.args), ("variant.jvm", &self.jvm)]
            .into_iter()
            .filter(|(list, values)| {
                !values.is_empty() && !self.system.start.run.contains(&format!("{{{list}}}"))
            })
            .map(|(list, values)| {
                (
                    format!(
                        "the start command of `{}` drops `{}`, as it has no `{{{list}}}`",
                        self.name,
                        values.join(" ")
                    ),
                    format!("add \"{{{list}}}\" to its `run` in system.toml"),
                )
            })
            .collect()
    }
}

/// Describes two variants that set the same thing:
/// `the variants `a` and `b` of `x` both set `env.GOGC`: to `100` and to `off``.
fn contradiction(
    system: &str,
    first: (&str, &[String]),
    second: (&str, &[String]),
    what: &str,
) -> String {
    let both = format!("the variants `{}` and `{}` of `{system}` both set", first.0, second.0);
    match what {
        "build" => format!("{both} how it is built"),
        _ => format!("{both} {what}: to `{}` and to `{}`", first.1.join(" "), second.1.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
name = "strings"
summary = "s"
kind = "service"
jdk = 17
[start]
run = ["{java}", "{variant.jvm}", "{variant.args}"]
ports = ["http"]
[variants.quiet]
summary = "no log"
args = ["--log", "off"]
env = { LOG = "0" }
[variants.logged]
args = ["--log", "on"]
env = { LOG = "1" }
[variants.aot]
jdk = 25
jvm = ["-XX:AOTCache=app.aot"]
[variants.young]
jdk = 21
jvm = ["-Xmn8m"]
env = { LOG = "0" }
[variants.native]
run = ["target/app", "{variant.args}"]
"#;

    fn with(variants: &[&str]) -> Result<Contender, String> {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("strings");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("system.toml"), MANIFEST).unwrap();
        let variants: Vec<String> = variants.iter().map(|v| (*v).to_owned()).collect();
        System::read(&own)
            .unwrap()
            .with_variants(&variants)
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn variants_combine_in_order() {
        let both = with(&["aot", "quiet", "young"]).unwrap();
        assert_eq!(both.name.to_string(), "strings:aot+quiet+young");
        assert_eq!(both.jvm, ["-XX:AOTCache=app.aot", "-Xmn8m"]);
        assert_eq!(
            (both.args, both.system.jdk),
            (vec!["--log".to_owned(), "off".to_owned()], Some(25))
        );
        assert_eq!(both.system.start.env, BTreeMap::from([("LOG".to_owned(), "0".to_owned())]));
        assert_eq!(both.summary, "s; no log");
    }

    #[test]
    fn arguments_without_a_place_in_the_command_are_reported() {
        assert_eq!(with(&["native", "quiet"]).unwrap().args, ["--log", "off"]);
        for variants in [["native", "aot"], ["aot", "native"]] {
            let message = with(&variants).unwrap_err();
            let name = variants.join("+");
            assert!(
                message.contains(&format!(
                    "the start command of `strings:{name}` drops `-XX:AOTCache=app.aot`"
                )),
                "{message}"
            );
            assert!(message.contains("hint: add \"{variant.jvm}\" to its `run`"), "{message}");
        }
    }

    #[test]
    fn every_contradiction_of_variants_is_reported() {
        let message = with(&["quiet", "logged", "quiet", "qiet"]).unwrap_err();
        for part in [
            "the variants `quiet` and `logged` of `strings` both set --log: to `off` and to `on`",
            "both set env.LOG: to `0` and to `1`",
            "`strings:quiet+logged+quiet+qiet` names the variant `quiet` twice",
            "has no variant `qiet`",
            "did you mean `quiet`?",
            "hint: keep one of the two",
        ] {
            assert!(message.contains(part), "{part}\n{message}");
        }
    }
}
