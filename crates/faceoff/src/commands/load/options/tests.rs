//! Tests of how the command line of `faceoff load` becomes a load.
//!
//! Each kind of load is parsed as a whole, with its duration. Contradictions are refused with a
//! hint.

use super::*;
use clap::Parser;
use spec::experiment::capacity::Quantity;
use spec::experiment::{Load, Overflow, Spacing};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: Options,
}

fn read(line: &str) -> Result<PlannedLoad, String> {
    let all = ["load"].into_iter().chain(line.split(' ')).chain(["http://127.0.0.1:8080/"]);
    let command = Command::try_parse_from(all).map_err(|e| e.to_string())?;
    command.options.planned_load().map_err(|problems| problems.to_string())
}

#[test]
fn every_kind_of_load_is_parsed() {
    let load = |line: &str| read(line).unwrap_or_else(|e| panic!("{line}: {e}")).load;
    assert_eq!(load("-c 8 --pipeline 16"), Load::Closed { connections: 8, depth: 16 });
    assert_eq!(load("-c 8 --http2 --streams 32"), Load::Closed { connections: 8, depth: 32 });
    assert_eq!(load("-R 1k"), Load::arrivals(1000.0, 1024));
    assert_eq!(load("-R 100k"), Load::arrivals(100_000.0, 10_000));
    assert_eq!(load("--arrivals 3k -d 2m"), Load::arrivals(25.0, 1024));
    let stages = vec![
        Stage { over: Duration::from_secs(30), to_per_s: 100.0 },
        Stage { over: Duration::ZERO, to_per_s: 200.0 },
    ];
    let (spacing, overflow) = (Spacing::Poisson, Overflow::Shed);
    let staged = Load::Arrivals { rate_per_s: 10.0, stages, spacing, in_flight_max: 5, overflow };
    assert_eq!(load("-R 10 --stages 30s:100,0s:200 --poisson --shed -c 5"), staged);
    let pause = Pause::Uniform { from: Duration::from_secs(1), to: Duration::from_secs(2) };
    let users = Load::Users {
        users: 10_000,
        ramp: Duration::from_secs(10),
        pause,
        rounds: Some(3),
        pooled: None,
    };
    assert_eq!(load("--users 10k --ramp 10s --pause 1s..2s --rounds 3"), users);
    let capacity = |line: &str| load(line).capacity().cloned().unwrap();
    let of_rate =
        capacity("--capacity p95<100ms,errors<0.1% -R 50 -d 2s --at-most 5k -c 200 --poisson");
    assert_eq!(of_rate.of, Quantity::Rate { spacing: Spacing::Poisson, in_flight_max: Some(200) });
    assert_eq!(
        (of_rate.from, of_rate.at_most, of_rate.probe, of_rate.probes),
        (50.0, 5_000.0, Duration::from_secs(2), 24)
    );
    let of_users = capacity("--capacity p95<100ms --users 5 --pause 1s --probes 12");
    assert_eq!(
        (of_users.of.is_whole(), of_users.from, of_users.at_most, of_users.probes),
        (true, 5.0, 1e6, 12)
    );
    assert_eq!(capacity("--capacity p95<100ms").from, 10.0);
}

#[test]
fn duration_follows_what_limits_the_load() {
    let lasts = |line: &str| read(line).unwrap().duration.as_secs();
    assert_eq!(
        (lasts("-c 1"), lasts("-d 30"), lasts("-z 2m"), lasts("-n 5"), lasts("-n 5 -d 7")),
        (10, 30, 120, 3600, 7)
    );
    assert_eq!(lasts("-R 10 --stages 30s:100,1m:200"), 90);
}

#[test]
fn contradictions_are_refused_with_hint() {
    for line in [
        "--users 5 -R 10",
        "--arrivals 5 -R 10",
        "--users 5 -c 10",
        "--ramp 1s",
        "--pause 1s",
        "--rounds 2",
        "--pooled 2",
        "--poisson",
        "--shed",
        "--http2 --pipeline 2",
        "--streams 2",
        "--http2 --close",
        "--close --pipeline 2",
        "-R 5 --pipeline 2",
        "--capacity p95<1ms --users 5 -R 10",
        "--capacity p95<1ms -R 10 --at-most 5",
        "--capacity p95<1ms --users 10 --at-most 20.5",
        "--capacity p95<1ms -d 100ms",
        "--capacity p95<1ms --pause 1s",
        "--users 5 --http2 --streams 2",
        "-R 0",
        "-R 99M",
        "-d 0",
        "--timeout 0",
        "-X G:T",
        "-H nothing",
        "-H Connection:close",
    ] {
        let why = read(line).err().unwrap_or_else(|| panic!("{line} was accepted"));
        assert!(why.starts_with("error: ") && why.contains("hint: "), "{line}: {why}");
    }
    for line in [
        "-c 0",
        "-c 2M",
        "-n 1.5",
        "-t 0",
        "-d soon",
        "--status 99",
        "--threshold p(99)",
        "--insecure --cacert x",
        "--cert x",
        "--at-most 5",
        "--capacity p95>1ms",
        "--capacity p95<1ms -n 5",
        "--capacity p95<1ms --probes 1",
    ] {
        assert!(read(line).is_err(), "{line}");
    }
}
