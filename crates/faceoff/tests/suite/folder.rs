//! A project folder whose systems are `control` with different flags, and runs of faceoff in it.

use crate::machine::{Shared, share};
use assert_cmd::Command;
use record::judgement::{ClaimOutcome, Judgement};
use record::{Frame, Measurement, Profile, Record};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

pub struct Folder {
    dir: tempfile::TempDir,
    _machine: Shared,
}

/// Returns the control server, which is built once.
pub fn control() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(built) = std::env::var_os("FACEOFF_CONTROL") {
            return built.into();
        }
        // Next to the tests' binaries, so that profile and lock file are the same.
        let target = Path::new(env!("CARGO_BIN_EXE_faceoff")).parent().unwrap();
        let mut build = std::process::Command::new(env!("CARGO"));
        // scripts/test sets it for libtest; here it would recompile the dependencies.
        build.env_remove("RUSTC_BOOTSTRAP");
        build
            .args(["build", "--locked", "-p", "control", "--target-dir"])
            .arg(target.parent().unwrap());
        if target.ends_with("release") {
            build.arg("--release");
        }
        assert!(
            build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success(),
            "control builds"
        );
        target.join("control")
    })
}

/// Returns Go's build cache, if the environment names it.
fn go_cache() -> Option<PathBuf> {
    let folder = |variable: &str, below: &str| {
        std::env::var_os(variable).map(|folder| Path::new(&folder).join(below))
    };
    let named = std::env::var_os("GOCACHE").map(PathBuf::from);
    named
        .or_else(|| folder("XDG_CACHE_HOME", "go-build"))
        .or_else(|| folder("HOME", ".cache/go-build"))
}

/// Asserts that a fifth of the samples of a `control` are in the function that burns CPU time.
#[track_caller]
pub fn assert_burns(profile: &Profile) {
    let burns =
        |frame: &Frame| frame.function.as_deref().is_some_and(|name| name.ends_with("clock::burn"));
    let burning = profile
        .stacks
        .iter()
        .filter(|stack| stack.frames.iter().any(|frame| burns(&profile.frames[*frame as usize])));
    let burning: u64 = burning.map(|stack| stack.samples).sum();
    let samples = profile.samples();
    assert!(5 * burning > samples, "{burning} of {samples}: {:?}", profile.notes);
}

impl Folder {
    /// Creates a folder with the workload `hello`, to which every `control` responds with 74 bytes.
    pub fn new() -> Folder {
        let folder = Folder { dir: tempfile::tempdir().unwrap(), _machine: share() };
        folder.write(
            "workloads/hello.toml",
            "name = \"hello\"\nsummary = \"GET /\"\n[[step]]\npath = \"/\"\ndeclined = 503\n[step.answer]\nstatus = 200\nbody_file = \"hello.txt\"\n",
        );
        folder.write("workloads/hello.txt", &"hello ".repeat(12));
        folder
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a system that is `control` with flags.
    pub fn system(&self, name: &str, flags: &[&str]) {
        // Time for a busy machine, except for a program that ignores the stop signal.
        let ends_within = if flags.contains(&"--ignore-term") { "500ms" } else { "10s" };
        let flags: String = flags.iter().map(|f| format!(", \"{f}\"")).collect();
        self.write(
            &format!("systems/{name}/system.toml"),
            &format!(
                "name = \"{name}\"\nsummary = \"control\"\nkind = \"service\"\nanswers = [\"hello\"]\n[start]\nrun = [\"{}\", \"--port\", \"{{port.http}}\", \"--body-file\", \"../../workloads/hello.txt\"{flags}]\nports = [\"http\"]\n[ready]\nwithin = \"9s\"\n[stop]\nwithin = \"{ends_within}\"\n",
                control().display()
            ),
        );
    }

    /// Writes a system that is `control` with variants, each with its flags.
    pub fn system_with_variants(&self, name: &str, variants: &[(&str, &[&str])]) {
        let own = format!("systems/{name}/system.toml");
        self.system(name, &["{variant.args}"]);
        let mut manifest = std::fs::read_to_string(self.path().join(&own)).unwrap();
        for (variant, flags) in variants {
            manifest += &format!("[variants.{variant}]\nargs = {flags:?}\n");
        }
        self.write(&own, &manifest);
    }

    /// Creates a git repository with a committed service `api`, which burns a CPU time per request,
    /// and its experiment `x`.
    pub fn repository(cpu: &str) -> Folder {
        let folder = Folder::new();
        folder.write(
            "systems/api/system.toml",
            "name = \"api\"\nsummary = \"s\"\nkind = \"service\"\nfolder = \"../../api\"\nanswers = [\"hello\"]\n[build]\nrun = [[\"cp\", \"serve.sh\", \"built.sh\"]]\ninputs = [\"serve.sh\"]\noutputs = [\"built.sh\"]\n[start]\nrun = [\"sh\", \"built.sh\", \"{port.http}\"]\nports = [\"http\"]\n[ready]\nwithin = \"5s\"\n[stop]\nwithin = \"2s\"\n",
        );
        folder.system("other", &[]);
        folder.experiment(&["api", "other"], "");
        folder.burn(cpu);
        folder.write(".gitignore", "built.sh\n.faceoff/\ncache/\nr/\n");
        folder.git(&["init", "-q"]);
        folder.commit("The | first");
        folder
    }

    /// Changes the CPU time that the repository's service burns per request.
    pub fn burn(&self, cpu: &str) {
        let script = format!(
            "exec {} --port $1 --body-file ../workloads/hello.txt --cpu {cpu}\n",
            control().display()
        );
        self.write("api/serve.sh", &script);
    }

    pub fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "-q",
            "-m",
            subject,
        ]);
    }

    fn git(&self, arguments: &[&str]) {
        let done = std::process::Command::new("git")
            .current_dir(self.path())
            .args(arguments)
            .status()
            .unwrap();
        assert!(done.success(), "git {arguments:?}");
    }

    /// Writes an experiment `x` of these contenders with 6 short blocks and two cells. The first
    /// contender is the baseline.
    pub fn experiment(&self, contenders: &[&str], more: &str) {
        let others: Vec<String> = contenders[1..].iter().map(|c| format!("\"{c}\"")).collect();
        self.write(
            "experiments/x.toml",
            &format!(
                "name = \"x\"\nquestion = \"Which?\"\nbaseline = \"{}\"\ncontenders = [{}]\n{more}\n[design]\nblocks = 6\nspare_blocks = 0\nalternate = \"trials\"\nwarmup = \"50ms\"\nmeasure = \"150ms\"\n[[cell]]\nname = \"open\"\nworkload = \"hello\"\nload = {{ kind = \"arrivals\", rate = 400 }}\n[[cell]]\nname = \"closed\"\nworkload = \"hello\"\nload = {{ kind = \"closed\", connections = 4 }}\ntimeout = \"500ms\"\n",
                contenders[0],
                others.join(", ")
            ),
        );
    }

    /// Replaces a text that a file contains.
    #[track_caller]
    pub fn replace(&self, name: &str, text: &str, by: &str) {
        let path = self.path().join(name);
        let before = std::fs::read_to_string(&path).unwrap();
        assert!(before.contains(text), "{text} is not in {before}");
        std::fs::write(&path, before.replace(text, by)).unwrap();
    }

    /// Returns the command in this folder, with its own lock.
    pub fn faceoff(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
        command
            .current_dir(self.path())
            .env("TMPDIR", self.path())
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .args(arguments);
        // Without it, Go would compile its standard library for every test.
        command.envs(go_cache().map(|cache| ("GOCACHE", cache)));
        command.env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.faceoff(arguments).output().unwrap())
    }

    /// Returns the notes on what remains to be removed.
    pub fn notes(&self) -> Vec<PathBuf> {
        let notes = std::fs::read_dir(self.path().join("state/faceoff/notes"))
            .into_iter()
            .flatten()
            .flatten();
        notes.map(|entry| entry.path()).collect()
    }

    pub fn record(&self, name: &str) -> Record {
        Record::read(&self.path().join(name)).unwrap()
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "\n{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(
            self.err.contains(text) || self.out.contains(text),
            "not said: {text}\n{}\n{}",
            self.out,
            self.err
        );
        self
    }
}

/// Returns the exit code of a judgement. With `is_strict`, a refuted claim has its own code.
pub fn code_of(judgement: &Judgement, is_strict: bool) -> i32 {
    let is_refuted = judgement.claims.iter().any(|claim| claim.outcome == ClaimOutcome::Refuted);
    match () {
        () if judgement.incomplete => 1,
        () if judgement.unsound => 4,
        () if is_strict && is_refuted => 3,
        () => 0,
    }
}

/// Returns the measurements of a contender.
pub fn measured<'r>(record: &'r Record, contender: &str) -> Vec<&'r Measurement> {
    let trials = record.trials.iter().filter(|trial| trial.contender.to_string() == contender);
    trials.flat_map(|trial| &trial.measurements).collect()
}

/// Returns the lowest CPU time per correct response over all measurements of a contender in a cell,
/// in microseconds. Other programs on the CPUs can raise it, but never lower it.
#[track_caller]
pub fn least_cpu_us(record: &Record, contender: &str, cell: &str) -> f64 {
    let of_cell =
        measured(record, contender).into_iter().filter(|m| m.cell == cell && m.counts.correct > 0);
    let least = of_cell
        .map(|m| m.usage.cpu_ns as f64 / 1e3 / m.counts.correct as f64)
        .fold(f64::INFINITY, f64::min);
    let seen = || -> Vec<_> {
        record
            .trials
            .iter()
            .map(|t| {
                (
                    t.contender.to_string(),
                    &t.failure,
                    t.measurements.iter().map(|m| (&m.cell, &m.counts)).collect::<Vec<_>>(),
                )
            })
            .collect()
    };
    assert!(
        least.is_finite(),
        "no measurement of {contender} in {cell} has a correct response: {:?}",
        seen()
    );
    least
}

/// Returns the processes of runs in this folder: their arguments or environment contain its path.
pub fn alive_in(folder: &Folder) -> Vec<String> {
    let place = folder.path().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if (environment.contains("FACEOFF_RUN=")
            && environment.contains(&format!("TMPDIR={place}")))
            || cwd.starts_with(&place)
        {
            found.push(String::from_utf8_lossy(&read("cmdline")).replace('\0', " "));
        }
    }
    found.retain(|line| !line.is_empty());
    found
}

/// Waits until no process of the folder runs.
#[track_caller]
pub fn nothing_is_left(folder: &Folder) {
    for _ in 0..500 {
        if alive_in(folder).is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("still alive: {:#?}", alive_in(folder));
}
