//! Capacities against known truth, on this machine.
//!
//! It searches the capacity of `control` with a worker that takes an exact time, many times with
//! different seeds. It exits with 1 if the truth is missed too often. Results that exist are kept,
//! so an interrupted proof continues where it stopped.

use clap::Parser;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// How long the server's one worker takes for a request. With several workers, users would wait for
/// whole rounds.
const TAKES_MS: f64 = 2.0;
/// The level that must hold: half a request more than a whole number of users waits.
const BOUND_MS: f64 = 101.0;
/// Longest search.
const LONGEST_S: f64 = 180.0;

/// Capacities against known truth: searches of a server whose limit is exact
#[derive(Parser)]
#[command(name = "limits", max_term_width = 100)]
struct Options {
    /// How many searches
    #[arg(long, default_value_t = 20)]
    runs: u32,
    /// The folder of the results
    #[arg(long, default_value = "records/limits")]
    out: PathBuf,
    /// The command
    #[arg(long, default_value = "target/release/faceoff")]
    faceoff: PathBuf,
    /// The server
    #[arg(long, default_value = "target/release/control")]
    control: PathBuf,
}

/// A kind of search. Runs alternate between rate and users.
struct Case {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The truth lies between these.
    truth: (f64, f64),
}

/// A worker that is always busy answers 1/D requests per second. A growing queue breaks the level
/// within the minute that the search allows, from (L − D)/60 s above that rate. Each of u users
/// waits u·D: the level holds for 50 users and breaks for 51.
const CASES: [Case; 2] = [
    Case {
        name: "rate",
        arguments: &["-R", "50"],
        truth: (1e3 / TAKES_MS, 1e3 / TAKES_MS * (1.0 + (BOUND_MS - TAKES_MS) / 60e3)),
    },
    Case { name: "users", arguments: &["--users", "10"], truth: (50.0, 51.0) },
];

/// The server. It is ended on drop.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> ExitCode {
    match prove(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("limits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn prove(options: &Options) -> Result<bool, String> {
    std::fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;
    let (mut hits, mut slow) = (0, 0);
    for seed in 1..=options.runs {
        let case = &CASES[(seed as usize - 1) % CASES.len()];
        let file = options.out.join(format!("{}-{seed}.json", case.name));
        if !file.exists() {
            search(options, case, seed, &file)?;
        }
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let found: Value = serde_json::from_str(&text)
            .map_err(|e| format!("{}: {e}\nhint: delete it", file.display()))?;
        let of = |name: &str| found["capacity"][name].as_f64();
        let took_s = found["took_s"].as_f64().unwrap_or(f64::INFINITY);
        let is_hit = of("low").zip(of("high")).is_some_and(|found| holds(found, case));
        hits += u32::from(is_hit);
        slow += u32::from(took_s > LONGEST_S);
        let show = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.1}"));
        println!(
            "{seed:>3} {:<6} known {:>6.1}, found {:>6} ({} to {}) in {took_s:.0} s: {}",
            case.name,
            case.truth.0,
            show(of("level")),
            show(of("low")),
            show(of("high")),
            if is_hit { "holds" } else { "MISSED" }
        );
    }
    println!(
        "{hits} of {} intervals contain the truth (17 of 20 are required); {slow} searches took more than {LONGEST_S} s",
        options.runs
    );
    Ok(20 * hits >= 17 * options.runs && slow == 0)
}

/// Returns whether an interval contains the truth.
fn holds((low, high): (f64, f64), case: &Case) -> bool {
    low <= case.truth.1 && case.truth.0 <= high
}

fn search(options: &Options, case: &Case, seed: u32, file: &Path) -> Result<(), String> {
    let mut control = Command::new(&options.control);
    control
        .args(["--port", "0", "--delay", &format!("{TAKES_MS}ms"), "--pool", "1"])
        .stdout(Stdio::piped());
    let mut server = Server(
        control
            .spawn()
            .map_err(|e| format!("{}: {e}\nhint: make build", options.control.display()))?,
    );
    let mut port = String::new();
    let output = server.0.stdout.take().ok_or("the server has no output")?;
    BufReader::new(output).read_line(&mut port).map_err(|e| format!("the server's port: {e}"))?;
    let level = format!("p95<{BOUND_MS}ms and errors<0.1%");
    let url = format!("http://127.0.0.1:{}/", port.trim());
    // Under another name first, so that an interrupted search leaves no result.
    let part = file.with_extension("part");
    let mut command = Command::new(&options.faceoff);
    command
        .args([
            "load",
            &url,
            "--capacity",
            &level,
            "--seed",
            &seed.to_string(),
            "--format",
            "json",
            "--output",
        ])
        .arg(&part);
    let status = command
        .args(case.arguments)
        .stderr(Stdio::null())
        .status()
        .map_err(|e| format!("{}: {e}", options.faceoff.display()))?;
    if !status.success() {
        return Err(format!("search {seed} ended with {status}"));
    }
    std::fs::rename(&part, file).map_err(|e| format!("{}: {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_contains_the_truth_if_the_ranges_overlap() {
        let [rate, users] = &CASES;
        assert!(
            (rate.truth.0 - 500.0).abs() < 1e-9 && (rate.truth.1 - 500.825).abs() < 1e-9,
            "{:?}",
            rate.truth
        );
        assert!(
            holds((499.0, 503.0), rate)
                && holds((500.5, 503.0), rate)
                && !holds((501.0, 510.0), rate)
                && !holds((490.0, 499.9), rate)
        );
        assert!(
            holds((50.0, 51.0), users)
                && holds((48.0, 50.2), users)
                && !holds((51.5, 53.0), users)
                && !holds((45.0, 49.0), users)
        );
    }
}
