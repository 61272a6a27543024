//! A system with variants applied, and what cannot be applied together.

use super::{Kind, System};
use crate::name::{ContenderName, did_you_mean};
use crate::placeholder;
use crate::problem::Problems;
use crate::settings;
use std::collections::BTreeMap;

/// A system with its variants applied: all that a runner needs to start it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// System and variants.
    pub name: ContenderName,
    /// The system's summary, and the variants'.
    pub summary: String,
    /// The system, with needs, build, jdk, environment and limits of the variants.
    pub system: System,
    /// What `{variant.args}` stands for.
    pub args: Vec<String>,
    /// What `{variant.jvm}` stands for.
    pub jvm: Vec<String>,
}

impl Contender {
    /// Whether it can only be started where there is a database.
    pub fn needs_database(&self) -> bool {
        let start = &self.system.start;
        self.system.kind != Kind::Database
            && start.run.iter().chain(start.env.values()).chain(&self.args).any(|t| placeholder::names_database(t))
    }
}

impl System {
    /// The system with the named variants, applied in order: arguments follow each other, and of least JDK versions the highest holds.
    ///
    /// # Errors
    /// A variant that the manifest does not have, with the nearest; one named twice; two that set the same thing differently; arguments that
    /// the start command has no place for.
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
                wrong.push((format!("`{}` names the variant `{name}` twice", contender.name), "name it once".into()));
                continue;
            }
            for (what, values) in settings::of(variant) {
                match known.get(&what) {
                    Some((other, before)) if *before != values => wrong.push((
                        contradiction(&self.name, (*other, before), (name, &values), &what),
                        "keep one of the two, or write a variant that is what both shall be together".into(),
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
    /// What its variants set and its start command, which may be one variant's own, has no place for.
    fn dropped(&self) -> Vec<(String, String)> {
        [("variant.args", &self.args), ("variant.jvm", &self.jvm)]
            .into_iter()
            .filter(|(list, values)| !values.is_empty() && !self.system.start.run.contains(&format!("{{{list}}}")))
            .map(|(list, values)| {
                (
                    format!("the start command of `{}` drops `{}`, as it has no `{{{list}}}`", self.name, values.join(" ")),
                    format!("add \"{{{list}}}\" to its `run` in system.toml"),
                )
            })
            .collect()
    }
}

/// `the variants `a` and `b` of `x` both set `env.GOGC`: to `100` and to `off``
fn contradiction(system: &str, first: (&str, &[String]), second: (&str, &[String]), what: &str) -> String {
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
        System::read(&own).unwrap().with_variants(&variants).map_err(|problems| problems.to_string())
    }

    #[test]
    fn variants_combine_in_order() {
        let both = with(&["aot", "quiet", "young"]).unwrap();
        assert_eq!(both.name.to_string(), "strings:aot+quiet+young");
        assert_eq!(both.jvm, ["-XX:AOTCache=app.aot", "-Xmn8m"]);
        assert_eq!((both.args, both.system.jdk), (vec!["--log".to_owned(), "off".to_owned()], Some(25)));
        assert_eq!(both.system.start.env, BTreeMap::from([("LOG".to_owned(), "0".to_owned())]));
        assert_eq!(both.summary, "s; no log");
    }

    #[test]
    fn what_a_command_has_no_place_for_is_said() {
        assert_eq!(with(&["native", "quiet"]).unwrap().args, ["--log", "off"]);
        for variants in [["native", "aot"], ["aot", "native"]] {
            let said = with(&variants).unwrap_err();
            let name = variants.join("+");
            assert!(said.contains(&format!("the start command of `strings:{name}` drops `-XX:AOTCache=app.aot`")), "{said}");
            assert!(said.contains("hint: add \"{variant.jvm}\" to its `run`"), "{said}");
        }
    }

    #[test]
    fn every_contradiction_of_variants_is_said() {
        let said = with(&["quiet", "logged", "quiet", "qiet"]).unwrap_err();
        for part in [
            "the variants `quiet` and `logged` of `strings` both set --log: to `off` and to `on`",
            "both set env.LOG: to `0` and to `1`",
            "`strings:quiet+logged+quiet+qiet` names the variant `quiet` twice",
            "has no variant `qiet`",
            "did you mean `quiet`?",
            "hint: keep one of the two",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }
}
