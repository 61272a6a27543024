//! A service of yours, and the `system.toml` that starts it.

use crate::exit::Error;
use interop::import::{quoted, time};
use record::log_lines;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A service of yours.
pub struct Service {
    pub name: String,
    /// The folder in which its commands run; absolute.
    pub folder: PathBuf,
    pub build: Option<Build>,
    pub start: Vec<String>,
    /// The environment variable for its port, if the command has no place for it.
    pub port_in: String,
    /// The oldest JDK that it needs, if the project names one.
    pub jdk: Option<u32>,
}

/// How a service is built.
pub struct Build {
    /// The commands, one after another.
    pub run: Vec<Vec<String>>,
    /// The files that decide what the build produces.
    pub made_of: Vec<String>,
    /// The file that the build produces.
    pub makes: String,
}

/// The placeholder for the port in a command.
const PORT: &str = "{port}";

impl Service {
    /// Whether its command has a placeholder for the port.
    pub fn names_port(&self) -> bool {
        self.start.iter().any(|word| word.contains(PORT))
    }

    /// Returns the error for a service that does not respond; `what` completes "the service …".
    pub fn failed(&self, what: &str, log: &[String]) -> Error {
        let log = log_lines(log);
        let port = if self.names_port() {
            String::new()
        } else {
            format!(" (its port is in the variable {})", self.port_in)
        };
        Error::Failed(format!(
            "{} {what}{log}\nhint: fix its command{port}, or give another; no files were kept",
            self.name
        ))
    }

    /// Returns the text of its `system.toml`, for a folder with `systems/`.
    pub fn manifest(&self, dir: &Path, workload: &str, ready: Duration) -> String {
        let Service { name, folder, start, port_in, .. } = self;
        let mut text = format!(
            "name    = {}\nsummary = {}\nkind    = \"service\"\n",
            quoted(name),
            quoted(&format!("{name}, started on this machine"))
        );
        text += &format!(
            "# The folder of its files, in which its commands run.\nfolder  = {}\nanswers = [{}]\n",
            quoted(&relative_path(&dir.join("systems").join(name), folder)),
            quoted(workload)
        );
        if let Some(jdk) = self.jdk {
            text += &format!("jdk     = {jdk}\n");
        }
        let java_home = self.jdk.map(|_| "JAVA_HOME = \"{java.home}\"".to_owned());
        if let Some(Build { run, made_of, makes }) = &self.build {
            let run: Vec<String> = run.iter().map(|command| list(command)).collect();
            text += "\n# Built again when an input has changed. Every record contains the digests of the outputs.\n";
            text += &format!(
                "[build]\nrun     = [{}]\ninputs  = {}\noutputs = [{}]\n",
                run.join(", "),
                list(made_of),
                quoted(makes)
            );
            if let Some(java_home) = &java_home {
                text += &format!("env     = {{ {java_home} }}\n");
            }
        }
        let mut with_port: Vec<String> =
            start.iter().map(|word| word.replace(PORT, "{port.http}")).collect();
        if let Some(program) =
            with_port.first_mut().filter(|program| self.jdk.is_some() && *program == "java")
        {
            *program = "{java}".into();
        }
        text += &format!("\n[start]\nrun   = {}\nports = [\"http\"]\n", list(&with_port));
        let port = (!self.names_port()).then(|| format!("{} = \"{{port.http}}\"", quoted(port_in)));
        let env: Vec<String> = port.into_iter().chain(java_home).collect();
        if !env.is_empty() {
            text += &format!("env   = {{ {} }}\n", env.join(", "));
        }
        text += &format!(
            "\n# It is ready with the first correct response; start-up time is a result.\n[ready]\nwithin = \"{}\"\n",
            time(ready)
        );
        text + "\n[stop]\nsignal = \"TERM\"\nwithin = \"10s\"\n"
    }
}

fn list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
}

/// Returns the path of a folder as seen from another; both are absolute.
///
/// Folders near each other are connected by `..`, so that both can be moved together. Others keep
/// their absolute path.
fn relative_path(from: &Path, to: &Path) -> String {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    // Folders that share only the root and one name are not near each other.
    if from.components().take(shared).filter(|c| matches!(c, Component::Normal(_))).count() < 2 {
        return to.to_string_lossy().into_owned();
    }
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|c| c.as_os_str().to_string_lossy().into_owned());
    let path: Vec<String> = up.chain(down).collect();
    if path.is_empty() { ".".into() } else { path.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_folders_have_relative_paths() {
        let seen = |from: &str, to: &str| relative_path(Path::new(from), Path::new(to));
        assert_eq!(seen("/home/me/bench/systems/a", "/home/me/a"), "../../../a");
        assert_eq!(seen("/home/me/systems/a", "/home/me"), "../..");
        assert_eq!(seen("/home/me/systems/a", "/srv/a"), "/srv/a");
        assert_eq!(seen("/home/me/a", "/home/me/a"), ".");
    }
}
