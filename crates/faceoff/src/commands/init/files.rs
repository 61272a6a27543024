//! The files that are written, and what stands in them.

use crate::commands::import::Requests;
pub use crate::commands::import::{quoted, time};
use crate::exit::Error;
use load::Heard;
use model::problem::Problems;
use model::secret;
use model::workload::Statuses;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A service of one's own.
pub struct Service {
    pub name: String,
    /// Where its commands run; absolute.
    pub folder: PathBuf,
    pub build: Option<Build>,
    pub start: Vec<String>,
    /// The environment variable that tells its port, where the command does not.
    pub port_in: String,
}

/// How a service is built.
pub struct Build {
    pub run: Vec<Vec<String>>,
    pub made_of: Vec<String>,
    pub makes: String,
}

/// How a command says where its port stands.
const PORT: &str = "{port}";

impl Service {
    /// Whether its command has a place for its port.
    pub fn names_port(&self) -> bool {
        self.start.iter().any(|word| word.contains(PORT))
    }

    /// Why it cannot be asked.
    pub fn failed(&self, what: &str, log: &[String]) -> Error {
        let log: String = log.iter().map(|line| format!("\n  | {line}")).collect();
        let told = if self.names_port() { String::new() } else { format!(" (its port is told in {})", self.port_in) };
        Error::Failed(format!("{} {what}{log}\nhint: mend its command{told}, or give another; no file was left behind", self.name))
    }

    /// Its `system.toml`, for a folder with `systems/`.
    pub fn manifest(&self, dir: &Path, workload: &str, ready: Duration) -> String {
        let Service { name, folder, start, port_in, .. } = self;
        let mut text =
            format!("name    = {}\nsummary = {}\nkind    = \"service\"\n", quoted(name), quoted(&format!("{name}, as it is started here")));
        text += &format!(
            "# Where its commands run and its files lie.\nfolder  = {}\nanswers = [{}]\n",
            quoted(&seen_from(&dir.join("systems").join(name), folder)),
            quoted(workload)
        );
        if let Some(Build { run, made_of, makes }) = &self.build {
            let run: Vec<String> = run.iter().map(|command| list(command)).collect();
            text += "\n# Built again when one of the inputs has changed; the outputs' digests stand in every record.\n";
            text += &format!("[build]\nrun     = [{}]\ninputs  = {}\noutputs = [{}]\n", run.join(", "), list(made_of), quoted(makes));
        }
        let with_port: Vec<String> = start.iter().map(|word| word.replace(PORT, "{port.http}")).collect();
        text += &format!("\n[start]\nrun   = {}\nports = [\"http\"]\n", list(&with_port));
        if !self.names_port() {
            text += &format!("env   = {{ {} = \"{{port.http}}\" }}\n", quoted(port_in));
        }
        text += &format!("\n# Ready is the first right answer; start-up time is a result.\n[ready]\nwithin = \"{}\"\n", time(ready));
        text + "\n[stop]\nsignal = \"TERM\"\nwithin = \"10s\"\n"
    }
}

fn list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
}

/// A folder as seen from another, both absolute: with `..` where they lie near each other, so that both can be moved together; elsewhere as it is.
fn seen_from(from: &Path, to: &Path) -> String {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    // The root and one name are shared by much that is not near.
    if from.components().take(shared).filter(|c| matches!(c, Component::Normal(_))).count() < 2 {
        return to.to_string_lossy().into_owned();
    }
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|c| c.as_os_str().to_string_lossy().into_owned());
    let path: Vec<String> = up.chain(down).collect();
    if path.is_empty() { ".".into() } else { path.join("/") }
}

/// What usually decides what a build makes.
const FILES: [&str; 24] = [
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "go.mod",
    "go.sum",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "tsconfig.json",
    "pyproject.toml",
    "requirements.txt",
    "uv.lock",
    "Gemfile",
    "Gemfile.lock",
    "mix.exs",
    "Makefile",
    "CMakeLists.txt",
];
const FOLDERS: [&str; 7] = ["src", "lib", "app", "cmd", "internal", "pkg", "crates"];
const KINDS: [&str; 17] = ["go", "rs", "py", "js", "mjs", "cjs", "ts", "java", "kt", "scala", "cs", "csproj", "c", "cc", "cpp", "h", "rb"];

/// Those of the usual sources that are in a folder, as `inputs` of a build name them.
pub fn sources(folder: &Path) -> Vec<String> {
    let inside: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let has_kind = |kind: &str| inside.iter().any(|path| path.is_file() && path.extension().is_some_and(|e| e == kind));
    let has_any = |sub: &str| std::fs::read_dir(folder.join(sub)).is_ok_and(|mut entries| entries.next().is_some());
    let files = FILES.iter().filter(|file| folder.join(file).is_file()).map(|file| (*file).to_owned());
    let kinds = KINDS.iter().filter(|kind| has_kind(kind)).map(|kind| format!("*.{kind}"));
    let folders = FOLDERS.iter().filter(|sub| has_any(sub)).map(|sub| format!("{sub}/**"));
    files.chain(kinds).chain(folders).collect()
}

/// What a right answer is, from two that were heard.
pub struct Right {
    /// A file beside the workload.
    pub file: Option<(String, Vec<u8>)>,
    /// What follows the status in the workload.
    pub lines: String,
    /// In words.
    pub said: String,
}

/// All of the body where it is the same twice; of a changing one what its fields are called.
pub fn right(heard: &[Heard; 2], workload: &str) -> Right {
    let [first, second] = heard;
    let json = |heard: &Heard| serde_json::from_slice::<Value>(&heard.kept.body).ok().filter(|value| value.is_object() || value.is_array());
    let status = first.status;
    let with_file = |extension: &str, field: &str, said: &str| {
        let name = format!("{workload}.{extension}");
        let lines = format!("{field} = {}\n", quoted(&name));
        Right { file: Some((name, first.kept.body.clone())), lines, said: format!("status {status} and {said}, in workloads/") }
    };
    let tells = |heard: &Heard| secret::hidden_bytes(&heard.kept.body).is_some();
    match (json(first), json(second)) {
        _ if tells(first) || tells(second) => Right {
            file: None,
            lines: String::new(),
            said: format!("status {status}, whatever the body: it repeats a secret, which stands in no file"),
        },
        (Some(one), Some(two)) if one == two => with_file("json", "json_file", "this JSON, however it is spelt"),
        (Some(Value::Object(one)), Some(Value::Object(two))) => {
            let both = one.keys().filter(|key| two.contains_key(*key));
            let pointers: Vec<String> = both.map(|key| quoted(&format!("/{}", key.replace('~', "~0").replace('/', "~1")))).collect();
            let lines = format!("present = [{}]\n", pointers.join(", "));
            let lines = if pointers.is_empty() { String::new() } else { lines };
            Right {
                file: None,
                lines,
                said: format!("status {status} and a JSON object with the same fields: their values changed from one answer to the next"),
            }
        }
        _ if first.kept.body.is_empty() && second.kept.body.is_empty() => {
            Right { file: None, lines: "length = 0\n".into(), said: format!("status {status} and no body") }
        }
        _ if first.kept.body == second.kept.body => with_file("body", "body_file", "every byte of this body"),
        _ => Right {
            file: None,
            lines: String::new(),
            said: format!("status {status}, whatever the body: it changed from one answer to the next"),
        },
    }
}

/// What an experiment measures and how often: the text of its cells and its design.
pub struct Means {
    /// Arrivals a second, where there shall be any.
    pub rate: Option<f64>,
    /// Connections of a closed load, where there shall be one.
    pub connections: Option<u32>,
    /// What follows the cells.
    pub design: String,
}

/// The experiment that compares two, the first of them the baseline.
pub fn experiment(name: &str, [one, other]: [&str; 2], workload: &str, means: &Means) -> String {
    let mut text = format!(
        "name       = {}\nquestion   = {}\nbaseline   = {}\ncontenders = [{}]\n",
        quoted(name),
        quoted(&format!("Which is better, {one} or {other}?")),
        quoted(one),
        quoted(other)
    );
    let mut cell = |why: &str, name: String, load: String| {
        text += &format!("\n# {why}\n[[cell]]\nname     = {}\nworkload = {}\nload     = {{ {load} }}\n", quoted(&name), quoted(workload));
    };
    if let Some(rate) = means.rate {
        cell(
            "As much as is asked for, whatever the answers do.",
            format!("arrivals-{rate}"),
            format!("kind = \"arrivals\", rate = {rate}"),
        );
    }
    if let Some(connections) = means.connections {
        cell("As fast as answered.", format!("closed-{connections}"), format!("kind = \"closed\", connections = {connections}"));
    }
    format!("{text}\n{}", means.design)
}

/// Files below a folder, which can be taken back.
pub struct Files {
    dir: PathBuf,
    force: bool,
    written: Vec<String>,
    /// Those that were not there before.
    new: Vec<PathBuf>,
}

impl Files {
    pub fn new(dir: PathBuf, force: bool) -> Files {
        Files { dir, force, written: Vec::new(), new: Vec::new() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What was written, for people.
    pub fn list(&self) -> String {
        self.written.join(", ")
    }

    /// Refuses where one of them is there, unless it may be written over.
    pub fn must_be_new<'p>(&self, paths: impl Iterator<Item = &'p String>, hint: &str) -> Result<(), Error> {
        let mut there = paths.filter(|path| !self.force && self.dir.join(path).exists());
        match there.next() {
            Some(path) => Err(Problems::plain(format!("{} is there already", self.dir.join(path).display()), hint).into()),
            None => Ok(()),
        }
    }

    pub fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let to = self.dir.join(path);
        let is_new = !to.exists();
        let made = to.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&to, bytes));
        made.map_err(|e| Error::Failed(format!("{} cannot be written: {e}\nhint: is the folder yours to write?", to.display())))?;
        self.written.push(path.to_owned());
        self.new.extend(is_new.then_some(to));
        Ok(())
    }

    /// Writes what is asked, with what was heard as its right answer; says in words what that is.
    pub fn write_workload(&mut self, requests: &mut Requests, name: &str, heard: &[Heard; 2]) -> Result<String, Error> {
        if let Some(last) = requests.workload().steps.last_mut() {
            last.answer.status = Statuses::one(heard[0].status);
        }
        let right = right(heard, name);
        if let Some((beside, bytes)) = &right.file {
            self.write(&format!("workloads/{beside}"), bytes)?;
        }
        self.write(&format!("workloads/{name}.toml"), (requests.text(name) + &right.lines).as_bytes())?;
        Ok(right.said)
    }

    /// Removes what was not there before, and folders that are empty then.
    pub fn take_back(&mut self) {
        for file in self.new.drain(..) {
            let _ = std::fs::remove_file(&file);
            for folder in file.ancestors().skip(1).take_while(|folder| **folder != self.dir) {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::http1::Kept;

    fn heard(bodies: [&str; 2]) -> [Heard; 2] {
        bodies.map(|body| Heard { status: 200, kept: Kept { content_type: None, body: body.into() } })
    }

    #[test]
    fn of_an_answer_is_asked_what_it_says_twice() {
        let of = |bodies| {
            let Right { file, lines, .. } = right(&heard(bodies), "r");
            (file.map(|(name, _)| name), lines)
        };
        assert_eq!(of([r#"{"a": 1}"#, r#"{"a":1}"#]), (Some("r.json".into()), "json_file = \"r.json\"\n".into()));
        assert_eq!(of([r#"{"a/b": 1, "c": 2}"#, r#"{"a/b": 2}"#]), (None, "present = [\"/a~1b\"]\n".into()));
        assert_eq!(of(["hello", "hello"]), (Some("r.body".into()), "body_file = \"r.body\"\n".into()));
        assert_eq!(of(["at 1", "at 2"]), (None, String::new()));
        assert_eq!(of(["", ""]), (None, "length = 0\n".into()));
        assert_eq!(of(["7", "7"]).0.as_deref(), Some("r.body"), "a number alone is no document");
    }

    #[test]
    fn folders_near_each_other_are_seen_from_each_other() {
        let seen = |from: &str, to: &str| seen_from(Path::new(from), Path::new(to));
        assert_eq!(seen("/home/me/bench/systems/a", "/home/me/a"), "../../../a");
        assert_eq!(seen("/home/me/systems/a", "/home/me"), "../..");
        assert_eq!(seen("/home/me/systems/a", "/srv/a"), "/srv/a");
        assert_eq!(seen("/home/me/a", "/home/me/a"), ".");
    }

    #[test]
    fn sources_are_those_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        for (file, sub) in [("go.mod", ""), ("main.go", ""), ("a.go", "internal"), ("notes.txt", "docs")] {
            std::fs::create_dir_all(folder.path().join(sub)).unwrap();
            std::fs::write(folder.path().join(sub).join(file), "x").unwrap();
        }
        assert_eq!(sources(folder.path()), ["go.mod", "*.go", "internal/**"]);
    }
}
