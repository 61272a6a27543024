//! What a run says on a terminal, on one that is drawn on without being changed, elsewhere, and in the file beside the record.

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

/// A terminal with the command on it.
struct Terminal {
    keyboard: File,
    /// Kept, so that its settings can be asked for in the end.
    line: OwnedFd,
    child: Child,
    written: Receiver<Vec<u8>>,
    began: Instant,
    screen: vt100::Parser,
    /// Everything that was written to it.
    all: String,
}

/// What settings a terminal has, in words.
fn settings(line: &OwnedFd) -> String {
    format!("{:?}", rustix::termios::tcgetattr(line).unwrap())
}

impl Terminal {
    fn start(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Terminal {
        let (mut master, mut slave) = (-1, -1);
        let size = libc::winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the two numbers are written to, neither name nor settings are given, and the size outlives the call.
        let opened = unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: opened right above, and nobody else has them.
        let (keyboard, line) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let stream = || Stdio::from(line.try_clone().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
        command.current_dir(folder.path()).env("TMPDIR", folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache"));
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        command.args(arguments).envs(environment.iter().copied()).stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: between fork and exec, two calls that take no memory and no lock.
        unsafe {
            command.pre_exec(|| match libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) >= 0 {
                true => Ok(()),
                false => Err(std::io::Error::last_os_error()),
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
        Terminal { keyboard, line, child, written, began: Instant::now(), screen, all: String::new() }
    }

    /// Takes what is written within so long; gives what stands on the screen then.
    fn look(&mut self, within: Duration) -> String {
        if let Ok(bytes) = self.written.recv_timeout(within) {
            self.screen.process(&bytes);
            self.all += &String::from_utf8_lossy(&bytes);
        }
        self.screen.screen().contents()
    }

    /// Until what stands on the screen matches.
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

    /// Until the command has ended; its exit code and what stands there then.
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
            assert!(self.began.elapsed() < Duration::from_secs(300), "it does not end\n{}", self.screen.screen().contents());
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

/// The same, with measurements of which whole seconds are told.
fn folder_of_seconds() -> Folder {
    let folder = folder();
    let path = folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("measure = \"150ms\"", "measure = \"4s\"")).unwrap();
    folder
}

/// Waits until the file beside the record `r` tells seconds of a measurement; whenever it is there it is whole and by its schema.
#[track_caller]
fn under_way(folder: &Folder) -> Value {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        if let Ok(text) = std::fs::read_to_string(folder.path().join("r/under-way.json")) {
            let told: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            keeps_to("under-way", &told);
            if told["seconds"].as_array().is_some_and(|seconds| !seconds.is_empty()) {
                return told;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no second of a measurement is told");
}

/// What stands in the record `r` that tells of a trial under way.
fn told_of(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path().join("r")).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name.starts_with("under-way")).collect()
}

fn in_colour(text: &str) -> bool {
    Regex::new("\u{1b}\\[[0-9;]+m").unwrap().is_match(text)
}

#[test]
fn a_run_on_a_terminal_is_drawn_and_the_terminal_is_as_before() {
    let folder = folder();
    let mut terminal = Terminal::start(&folder, &["run", "x", "--out", "r"], &[]);
    let before = settings(&terminal.line);
    let early = terminal.wait_for("block 2 of 6, trial 3 of 12");
    for text in ["answers rightly: b", "▣", "against a, after 1 of 6 blocks"] {
        assert!(early.contains(text), "not there: {text}\n{early}");
    }
    let later = terminal.wait_for("after [3-5] of 6 blocks");
    for text in [" left", "CPU per request, open", "memory, closed"] {
        assert!(later.contains(text), "not there: {text}\n{later}");
    }
    let (code, last) = terminal.end();
    let took = terminal.began.elapsed();
    assert!([Some(0), Some(4)].contains(&code), "{code:?}\n{last}");
    assert!(!last.contains('▣') && last.contains("page: r/page.html"), "{last}");
    assert_eq!(terminal.screen.screen().cursor_position().1, 0, "the prompt has a line of its own");
    let drawn = terminal.all.matches("of 12").count();
    assert!(drawn as f64 <= 2.0 * took.as_secs_f64() + 2.0, "drawn {drawn} times in {took:?}");
    assert!(!terminal.all.contains("\u{1b}[?"), "no mode of the terminal is changed");
    assert_eq!(settings(&terminal.line), before);
    assert!(in_colour(&terminal.all));
    nothing_is_left(&folder);
}

#[test]
fn rate_and_latency_are_shown_and_an_interrupt_leaves_the_terminal_as_it_was() {
    let folder = folder_of_seconds();
    let mut terminal = Terminal::start(&folder, &["run", "x", "--out", "r"], &[("NO_COLOR", "1")]);
    let before = settings(&terminal.line);
    let screen = terminal.wait_for(r"\d/s right, \d+ not, p50 \d");
    assert!(screen.contains("of 4.0 s"), "{screen}");
    under_way(&folder);
    terminal.keyboard.write_all(b"\x03").unwrap();
    let (code, last) = terminal.end();
    assert_eq!(code, Some(130), "{last}");
    assert!(last.contains("`faceoff run --resume r` goes on") && !last.contains('▣'), "{last}");
    assert_eq!((settings(&terminal.line), terminal.screen.screen().cursor_position().1), (before, 0));
    assert!(!terminal.all.contains("\u{1b}[?") && !in_colour(&terminal.all), "{:?}", terminal.all);
    assert_eq!(told_of(&folder), Vec::<String>::new());
    nothing_is_left(&folder);
}

#[test]
fn without_a_terminal_too_what_is_under_way_stands_beside_the_record_until_the_run_ends() {
    let folder = folder_of_seconds();
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
        command.current_dir(folder.path()).env("TMPDIR", folder.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut killed = start(&["run", "x", "--out", "r", "--progress", "none"]);
    let told = under_way(&folder);
    assert_eq!((&told["process"]["id"], &told["run"]), (&killed.id().into(), &folder.record("r").header.id.into()));
    assert!(["a", "b"].contains(&told["contender"].as_str().unwrap()) && told["block"] == 1, "{told}");
    assert!(["open", "closed"].contains(&told["cell"].as_str().unwrap()), "{told}");
    assert!(told["seconds"][0]["correct"].as_u64().unwrap() > 0 && told["seconds"][0]["p50_ns"].as_u64().unwrap() > 0, "{told}");
    killed.kill().and_then(|()| killed.wait()).unwrap();
    assert!(told_of(&folder).contains(&"under-way.json".into()), "nobody could take it away");
    nothing_is_left(&folder);

    let mut again = start(&["run", "--resume", "r"]);
    let begun = Instant::now();
    while under_way(&folder)["process"]["id"] != again.id() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the file is still that of the run that was killed");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &again.id().to_string()]).status().unwrap().success());
    assert_eq!(again.wait().unwrap().code(), Some(130));
    assert_eq!(told_of(&folder), Vec::<String>::new());
    nothing_is_left(&folder);
}

/// What does not depend on how long anything took, or on who else used the CPUs.
fn lines(text: &str) -> Vec<String> {
    let ended = Regex::new(r"^(trial \S+ · block \d+ · \S+) · .*$").unwrap();
    let time = Regex::new(r"\d+(\.\d+)? (µs|ms|s|min)( \d+ s)?").unwrap();
    text.lines().map(|line| time.replace_all(&ended.replace(line, "$1 ended"), "TIME").into_owned()).collect()
}

#[test]
fn without_a_terminal_and_where_it_is_asked_plain_lines_are_said() {
    let folder = folder();
    let plain = folder.run(&["run", "x", "--blocks", "2", "--out", "plain"]);
    let said = lines(&plain.err);
    let of = |from: &str| said.iter().filter(|line| line.starts_with(from)).count();
    assert_eq!((of("trial "), of("answers rightly: "), of("record: plain")), (4, 2, 1), "{}", plain.err);
    assert!(said.contains(&"trial 4/4 · block 2 · a ended".into()) || said.contains(&"trial 4/4 · block 2 · b ended".into()));
    assert!(!plain.err.contains('\u{1b}') && !plain.err.contains('\r'), "{:?}", plain.err);
    let mut terminal = Terminal::start(&folder, &["run", "x", "--blocks", "2", "--out", "plain2", "--progress", "plain"], &[]);
    terminal.end();
    // A terminal ends lines in its own way, and what comes after them is the result.
    let on_terminal = lines(&terminal.all.replace("\r\n", "\n").replace("plain2", "plain"));
    assert_eq!(on_terminal[..said.len()], said, "\n{}", terminal.all);
    let quiet = folder.run(&["run", "x", "--blocks", "1", "--out", "quiet", "--progress", "none"]);
    assert!(!quiet.err.contains("answers rightly") && !quiet.err.contains(" · done"), "{}", quiet.err);
    let refused = folder.run(&["run", "x", "--progress", "live"]).expect(2);
    refused.says("the live view needs a terminal").says("hint: leave --progress out, or write plain");
    nothing_is_left(&folder);
}
