//! What a run shows: a live view that leaves the terminal unchanged, plain lines elsewhere, and the
//! status file next to the record.

use crate::by_schema::keeps_to;
use crate::folder::{Folder, nothing_is_left};
use regex_lite::Regex;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();
const ROWS: NonZero<u16> = NonZero::new(30).unwrap();

/// A terminal that runs the command.
struct Terminal {
    keyboard: File,
    /// Kept open, so that its settings can be read at the end.
    line: OwnedFd,
    child: Child,
    written: Receiver<Vec<u8>>,
    began: Instant,
    screen: vt100::Parser,
    /// Everything that was written to it.
    all: String,
}

/// Describes the settings of a terminal.
fn settings(line: &OwnedFd) -> String {
    format!("{:?}", rustix::termios::tcgetattr(line).unwrap())
}

impl Terminal {
    fn start(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Terminal {
        let (mut master, mut slave) = (-1, -1);
        let size =
            libc::winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the two numbers are written to, neither name nor settings are given, and the size
        // outlives the call.
        let opened = unsafe {
            libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size)
        };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: opened right above, and used nowhere else.
        let (keyboard, line) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let stream = || Stdio::from(line.try_clone().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
        command
            .current_dir(folder.path())
            .env("TMPDIR", folder.path())
            .env("XDG_CACHE_HOME", folder.path().join("cache"));
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(stream())
            .stdout(stream())
            .stderr(stream());
        // SAFETY: between fork and exec, two calls that take no memory and no lock.
        unsafe {
            command.pre_exec(|| {
                match libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) >= 0 {
                    true => Ok(()),
                    false => Err(std::io::Error::last_os_error()),
                }
            })
        };
        let child = command.spawn().unwrap();
        let (sender, written) = channel();
        let mut reader = keyboard.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(ROWS, COLUMNS, 0);
        Terminal {
            keyboard,
            line,
            child,
            written,
            began: Instant::now(),
            screen,
            all: String::new(),
        }
    }

    /// Processes the output of a time span, and returns the screen.
    fn look(&mut self, within: Duration) -> String {
        if let Ok(bytes) = self.written.recv_timeout(within) {
            self.screen.process(&bytes);
            self.all += &String::from_utf8_lossy(&bytes);
        }
        self.screen.screen().contents()
    }

    /// Waits until the screen matches a pattern.
    #[track_caller]
    fn wait_for(&mut self, pattern: &str) -> String {
        let expected = Regex::new(pattern).unwrap();
        while self.began.elapsed() < Duration::from_secs(120) {
            let screen = self.look(Duration::from_millis(100));
            if expected.is_match(&screen) {
                return screen;
            }
        }
        panic!("never on the screen: {pattern}\n{}", self.screen.screen().contents());
    }

    /// Waits until the command has ended, and returns its exit code and the screen.
    fn end(&mut self) -> (Option<i32>, String) {
        loop {
            self.look(Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().unwrap() {
                while let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(200)) {
                    self.screen.process(&bytes);
                    self.all += &String::from_utf8_lossy(&bytes);
                }
                return (status.code(), self.screen.screen().contents());
            }
            assert!(
                self.began.elapsed() < Duration::from_secs(300),
                "it does not end\n{}",
                self.screen.screen().contents()
            );
        }
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &["--cpu", "300us"]);
    folder.experiment(&["a", "b"], "");
    folder
}

/// As [`folder`], with measurements that last whole seconds.
fn folder_of_seconds() -> Folder {
    let folder = folder();
    let path = folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("measure = \"150ms\"", "measure = \"4s\"")).unwrap();
    folder
}

/// Waits until the status file of the record `r` has seconds of a measurement. Whenever it exists,
/// it must be complete and match its schema.
#[track_caller]
fn status_with_seconds(folder: &Folder) -> Value {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        if let Ok(text) = std::fs::read_to_string(folder.path().join("r/run-status.json")) {
            let status: Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            keeps_to("run-status", &status);
            if status["seconds"].as_array().is_some_and(|seconds| !seconds.is_empty()) {
                return status;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no second of a measurement is reported");
}

/// Returns the files of the record `r` that describe a running trial.
fn told_of(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path().join("r")).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.starts_with("run-status"))
        .collect()
}

fn in_colour(text: &str) -> bool {
    Regex::new("\u{1b}\\[[0-9;]+m").unwrap().is_match(text)
}

#[test]
fn run_is_drawn_and_terminal_is_restored() {
    let folder = folder();
    let mut terminal = Terminal::start(&folder, &["run", "x", "--out", "r"], &[]);
    let before = settings(&terminal.line);
    // A trial is shorter than the time between two drawings, so any trial of these blocks may be
    // drawn.
    let early = terminal
        .wait_for(r"block [23] of 6, trial [3-6] of 12(?s:.*)against a, after [12] of 6 blocks");
    for text in ["responds correctly: b", "▣"] {
        assert!(early.contains(text), "not there: {text}\n{early}");
    }
    let later = terminal.wait_for("after [3-5] of 6 blocks");
    for text in [" left", "CPU per request, open", "memory, closed"] {
        assert!(later.contains(text), "not there: {text}\n{later}");
    }
    let (code, last) = terminal.end();
    let took = terminal.began.elapsed();
    assert!([Some(0), Some(4)].contains(&code), "{code:?}\n{last}");
    assert!(!last.contains('▣') && last.contains("report: r/page.html"), "{last}");
    assert_eq!(terminal.screen.screen().cursor_position().1, 0, "the prompt has a line of its own");
    let drawn = terminal.all.matches("of 12").count();
    assert!(drawn as f64 <= 2.0 * took.as_secs_f64() + 2.0, "drawn {drawn} times in {took:?}");
    assert!(!terminal.all.contains("\u{1b}[?"), "no mode of the terminal is changed");
    assert_eq!(settings(&terminal.line), before);
    assert!(in_colour(&terminal.all));
    nothing_is_left(&folder);
}

#[test]
fn interrupt_restores_terminal_of_live_view() {
    let folder = folder_of_seconds();
    let mut terminal = Terminal::start(&folder, &["run", "x", "--out", "r"], &[("NO_COLOR", "1")]);
    let before = settings(&terminal.line);
    let screen = terminal.wait_for(r"\d/s ok, \d+ failed, p50 \d");
    assert!(screen.contains("of 4.0 s"), "{screen}");
    status_with_seconds(&folder);
    terminal.keyboard.write_all(b"\x03").unwrap();
    let (code, last) = terminal.end();
    assert_eq!(code, Some(130), "{last}");
    assert!(last.contains("`faceoff run --resume r` continues") && !last.contains('▣'), "{last}");
    assert_eq!(
        (settings(&terminal.line), terminal.screen.screen().cursor_position().1),
        (before, 0)
    );
    assert!(!terminal.all.contains("\u{1b}[?") && !in_colour(&terminal.all), "{:?}", terminal.all);
    assert_eq!(told_of(&folder), Vec::<String>::new());
    nothing_is_left(&folder);
}

#[test]
fn status_file_exists_until_run_ends_without_terminal() {
    let folder = folder_of_seconds();
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
        command.current_dir(folder.path()).env("TMPDIR", folder.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut killed = start(&["run", "x", "--out", "r", "--progress", "none"]);
    let status = status_with_seconds(&folder);
    assert_eq!(
        (&status["process"]["id"], &status["run"]),
        (&killed.id().into(), &folder.record("r").header.id.into())
    );
    assert!(
        ["a", "b"].contains(&status["contender"].as_str().unwrap()) && status["block"] == 1,
        "{status}"
    );
    assert!(["open", "closed"].contains(&status["cell"].as_str().unwrap()), "{status}");
    assert!(
        status["seconds"][0]["correct"].as_u64().unwrap() > 0
            && status["seconds"][0]["p50_ns"].as_u64().unwrap() > 0,
        "{status}"
    );
    killed.kill().and_then(|()| killed.wait()).unwrap();
    assert!(
        told_of(&folder).contains(&"run-status.json".into()),
        "it cannot be removed after SIGKILL"
    );
    nothing_is_left(&folder);

    let mut again = start(&["run", "--resume", "r"]);
    let begun = Instant::now();
    while status_with_seconds(&folder)["process"]["id"] != again.id() {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "the file is still that of the run that was killed"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(
        Command::new("kill").args(["-INT", &again.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(again.wait().unwrap().code(), Some(130));
    assert_eq!(told_of(&folder), Vec::<String>::new());
    nothing_is_left(&folder);
}

/// Removes what depends on times and on other programs.
fn lines(text: &str) -> Vec<String> {
    let ended = Regex::new(r"^(trial \S+ · block \d+ · \S+) · .*$").unwrap();
    let time = Regex::new(r"\d+(\.\d+)? (µs|ms|s|min)( \d+ s)?").unwrap();
    text.lines()
        .map(|line| time.replace_all(&ended.replace(line, "$1 ended"), "TIME").into_owned())
        .collect()
}

#[test]
fn plain_lines_are_printed_without_terminal() {
    let folder = folder();
    let plain = folder.run(&["run", "x", "--blocks", "2", "--out", "plain"]);
    let said = lines(&plain.err);
    let of = |from: &str| said.iter().filter(|line| line.starts_with(from)).count();
    assert_eq!(
        (of("trial "), of("responds correctly: "), of("record: plain")),
        (4, 2, 1),
        "{}",
        plain.err
    );
    assert!(
        said.contains(&"trial 4/4 · block 2 · a ended".into())
            || said.contains(&"trial 4/4 · block 2 · b ended".into())
    );
    assert!(!plain.err.contains('\u{1b}') && !plain.err.contains('\r'), "{:?}", plain.err);
    let mut terminal = Terminal::start(
        &folder,
        &["run", "x", "--blocks", "2", "--out", "plain2", "--progress", "plain"],
        &[],
    );
    terminal.end();
    // A terminal uses its own line ends, and the result follows.
    let on_terminal = lines(&terminal.all.replace("\r\n", "\n").replace("plain2", "plain"));
    assert_eq!(on_terminal[..said.len()], said, "\n{}", terminal.all);
    let quiet = folder.run(&["run", "x", "--blocks", "1", "--out", "quiet", "--progress", "none"]);
    assert!(
        !quiet.err.contains("responds correctly") && !quiet.err.contains(" · done"),
        "{}",
        quiet.err
    );
    let refused = folder.run(&["run", "x", "--progress", "live"]).expect(2);
    refused
        .says("the live view needs a terminal")
        .says("hint: leave out --progress, or use --progress plain");
    nothing_is_left(&folder);
}
