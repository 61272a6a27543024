//! Reads every kind of response of real servers: `make conformance`, see conformance/README.md.

mod cases;
mod servers;

use crate::machine::alone;
use crate::needs::need_all;
use cases::{CASES, Case, Endpoint, MODES, Mode, UNSUPPORTED};
use servers::{Place, Server};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const REQUESTS: u64 = 200;
const CONNECTIONS: u64 = 4;

/// Whether CONFORMANCE_MODES names a mode, or is not set.
fn is_asked_for(mode: &str) -> bool {
    std::env::var("CONFORMANCE_MODES")
        .ok()
        .is_none_or(|list| list.split(',').any(|one| one.trim() == mode))
}

/// Runs every case in every mode, and reports all failures.
fn prove(name: &str, needs: &[&str]) {
    // Alone, so that no connection of another test uses a port of this one.
    let _alone = alone();
    need_all(needs);
    let place = Place::new();
    let server = Server::start(name, &place);
    let mut failures = Vec::new();
    let mut runs = 0;
    for case in CASES {
        case.write(place.path());
        if is_supported(name, case.name, cases::WIRE)
            && let Err(why) = case.check_wire(server.port(Endpoint::Clear))
        {
            failures.push(format!("{}, as it is sent: {why}", case.name));
        }
        for mode in MODES
            .iter()
            .filter(|mode| is_asked_for(mode.name))
            .filter(|mode| is_supported(name, case.name, mode.name))
        {
            runs += 1;
            if let Err(why) = load(&server, case, mode, place.path()) {
                failures.push(format!("{}, {}: {why}", case.name, mode.name));
            }
        }
    }
    assert!(runs > 0, "no mode was run\nhint: does CONFORMANCE_MODES name modes of cases.rs?");
    eprintln!("{name}: {runs} runs, {} failures", failures.len());
    assert!(
        failures.is_empty(),
        "{name}:\n{}\nits last words:\n{}",
        failures.join("\n"),
        server.last_words()
    );
}

fn is_supported(server: &str, case: &str, mode: &str) -> bool {
    !UNSUPPORTED.iter().any(|row| row.fits(server, case, mode))
}

/// Loads one case in one mode; every response must be correct.
fn load(server: &Server, case: &Case, mode: &Mode, place: &Path) -> Result<(), String> {
    let scheme = if mode.endpoint == Endpoint::Tls { "https" } else { "http" };
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command
        .args([
            "load",
            &format!("{scheme}://127.0.0.1:{}/", server.port(mode.endpoint)),
            "--format",
            "json",
            "-d",
            "20s",
        ])
        .args([
            "-n",
            &REQUESTS.to_string(),
            "-c",
            &CONNECTIONS.to_string(),
            "--timeout",
            "5s",
            "--cacert",
        ])
        .arg(place.join("ca.pem"))
        .arg("--workload")
        .arg(place.join(format!("{}.toml", case.name)))
        .args(mode.arguments);
    let output = command.timeout(Duration::from_secs(60)).output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no JSON, {}: {said}", output.status))?;
    let counts = result["counts"].as_object().ok_or("no counts")?;
    let is_right = |(kind, count): (&String, &serde_json::Value)| {
        *count == if ["correct", "scheduled"].contains(&kind.as_str()) { REQUESTS } else { 0 }
    };
    if !output.status.success() || !counts.iter().all(is_right) {
        let not_zero: Vec<_> = counts
            .iter()
            .filter(|(_, n)| **n != 0)
            .map(|(kind, n)| format!("{n} {kind}"))
            .collect();
        return Err(format!(
            "{}, {}, e.g. {}",
            output.status,
            not_zero.join(", "),
            result["examples"]
        ));
    }
    let opened =
        result["generator"]["connections_opened"].as_u64().ok_or("no connections_opened")?;
    // Connections opened before the first request may or may not be counted.
    if mode.keeps && case.keeps && opened > CONNECTIONS {
        return Err(format!("{opened} connections opened instead of {CONNECTIONS} kept"));
    }
    if mode.arguments.contains(&"--close") && opened < REQUESTS - CONNECTIONS {
        return Err(format!(
            "{opened} connections opened for {REQUESTS} requests, each on its own"
        ));
    }
    Ok(())
}

#[test]
fn every_unsupported_entry_matches_a_case() {
    let modes: Vec<&str> = MODES.iter().map(|mode| mode.name).chain([cases::WIRE]).collect();
    for row in UNSUPPORTED {
        let of_case =
            |case: &Case, server: &str| modes.iter().any(|mode| row.fits(server, case.name, mode));
        let of_server = |server: &&str| CASES.iter().any(|case| of_case(case, server));
        assert!(servers::NAMES.iter().any(of_server), "{}, {}, {}", row.server, row.case, row.mode);
        assert!(!row.reason.is_empty());
    }
}

/// Runs a tool until it ends.
fn tool(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| {
        panic!("{:?} cannot be started: {e}\nhint: install it, or leave out the servers that need it with --skip", command.get_program())
    });
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&said)
    );
}

macro_rules! servers {
    ($($test:ident: $reason:literal, $needs:expr);* $(;)?) => {
        $(
            #[test]
            #[ignore = $reason]
            fn $test() {
                prove(stringify!($test), &$needs);
            }
        )*
    };
}

// The Go program is behind each proxy.
servers! {
    nginx: "long, needs openssl and go and nginx", ["openssl", "go", "nginx"];
    haproxy: "long, needs openssl and go and haproxy", ["openssl", "go", "haproxy"];
    caddy: "long, needs openssl and go: builds Caddy once, for minutes", ["openssl", "go"];
    go: "long, needs openssl and go", ["openssl", "go"];
    tomcat: "long, needs openssl and java and maven", ["openssl", "java", "maven"];
    netty: "long, needs openssl and java and maven", ["openssl", "java", "maven"];
    undertow: "long, needs openssl and java and maven", ["openssl", "java", "maven"];
    node: "long, needs openssl and node", ["openssl", "node"];
}
