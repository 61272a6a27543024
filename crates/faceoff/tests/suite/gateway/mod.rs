//! Tests what the gateway promises and no experiment can show: memory with idle clients, reloads
//! under load, servers that die under load, and `descriptor-limit` with the gateway in it.
//!
//! They are part of `make test-all`, and each prints its figures. Rates are part of the promise: a
//! machine that does not reach one is reported.

mod process;

use crate::machine::alone;
use crate::needs::{need, need_all};
use process::{
    Counts, Gateway, Load, Server, SlowClients, count, have, release, repository, say, until,
};
use record::Record;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const FAILURES: &str = "gateway_answers_total{class=\"5xx\"}";

/// Number of idle clients, and the megabytes that they may take in total.
const CLIENTS: u64 = 10_000;
const MEMORY_MB: u64 = 150;
/// Two thirds of them are for clients.
const DESCRIPTORS: u64 = 16_384;

#[test]
#[ignore = "long, needs go and 16384 descriptors: half a minute"]
fn ten_thousand_idle_clients_take_150_mb_at_most() {
    let _alone = alone();
    need_all(&["go", "16384 descriptors"]);
    let server = Server::start(&[]);
    let gateway = Gateway::start(&[server.port], "", Some(DESCRIPTORS));
    let empty = gateway.memory("VmRSS");
    // Each asks once, and then reads for longer than this takes.
    let clients = CLIENTS.to_string();
    let users = ["--users", &clients, "--ramp", "5s", "--pause", "50s", "--timeout", "30s"];
    let load = Load::start(&gateway.url(), &users, Some(DESCRIPTORS));
    until("everybody has asked and is connected", || {
        let now = gateway.counts();
        now.of("gateway_requests_total") >= CLIENTS && now.of("gateway_connections") >= CLIENTS
    });
    let mut most = 0;
    for _ in 0..50 {
        most = most.max(gateway.memory("VmRSS"));
        sleep(Duration::from_millis(100));
    }
    let connected = gateway.counts().of("gateway_connections");
    let ever = gateway.memory("VmHWM");
    let result = load.end();
    say(&format!(
        "FIGURES: {connected} idle clients: {} MB resident, {} MB at most since the start, {} MB without clients",
        most / 1_000_000,
        ever / 1_000_000,
        empty / 1_000_000
    ));
    assert!(connected >= CLIENTS, "{connected} are connected: {result}");
    assert!(count(&result, "correct") >= CLIENTS, "each was answered: {result}");
    assert!(most <= MEMORY_MB * 1_000_000, "{most} bytes");
}

#[test]
#[ignore = "long, needs go and 16384 descriptors: half a minute"]
fn ten_thousand_slow_clients_fail_no_request_of_others() {
    let _alone = alone();
    need_all(&["go", "16384 descriptors"]);
    have(DESCRIPTORS);
    let server = Server::start(&[]);
    let gateway = Gateway::start(&[server.port], "", Some(DESCRIPTORS));
    let honest = |seconds| {
        let load = Load::start(&gateway.url(), &["-R", "500", "--timeout", "5s"], None);
        sleep(Duration::from_secs(seconds));
        load.end()
    };
    let alone = honest(5);
    let slow = SlowClients::start(&gateway, CLIENTS as usize);
    until("the slow ones are connected", || gateway.counts().of("gateway_connections") >= CLIENTS);
    let with_slow = honest(10);
    let memory = gateway.memory("VmHWM");
    let served = slow.end();
    let latency = |result: &serde_json::Value, quantile: &str| {
        result["latency_us"][quantile].as_f64().unwrap()
    };
    say(&format!(
        "FIGURES: {CLIENTS} slow clients, of whom {served} were served for all of 10 s: {} requests of an honest one right, {} failed; median {:.0} µs \
         and p99 {:.0} µs, alone {:.0} and {:.0}; {} MB at most",
        count(&with_slow, "correct"),
        failed(&with_slow),
        latency(&with_slow, "p50"),
        latency(&with_slow, "p99"),
        latency(&alone, "p50"),
        latency(&alone, "p99"),
        memory / 1_000_000
    ));
    assert_eq!((failed(&alone), failed(&with_slow)), (0, 0), "{with_slow}");
    assert!(count(&with_slow, "correct") > 0, "{with_slow}");
    // All but the bodies beyond half of the places are served. Otherwise no client was slow.
    assert!(served as u64 >= CLIENTS * 9 / 10, "{served} were served");
    assert!(memory <= MEMORY_MB * 1_000_000, "{memory} bytes");
}

const RELOADS: usize = 100;
const RELOAD_RATE: f64 = 5_000.0;

#[test]
#[ignore = "long, needs go: half a minute"]
fn a_hundred_reloads_under_load_fail_no_request() {
    let _alone = alone();
    need("go");
    let server = Server::start(&[]);
    // For the gateway, each reload names a different upstream.
    let settings = |n: usize| format!("    queue: {}", 1_000 + n);
    let gateway = Gateway::start(&[server.port], &settings(0), None);
    let rate = RELOAD_RATE.to_string();
    let load = Load::start(&gateway.url(), &["-R", &rate, "--timeout", "5s"], None);
    until("the load begins", || gateway.counts().of("gateway_requests_total") > 1_000);
    let before = gateway.counts();
    for n in 1..=RELOADS {
        gateway.reload(&[server.port], &settings(n));
        until("a new file is in force", || gateway.has_said("the configuration is in force") == n);
        if n % 10 == 0 {
            gateway.reload(&[server.port], "    queue: nonsense");
            until("a wrong file is refused", || {
                gateway.has_said("the configuration stays as it was") == n / 10
            });
        }
        sleep(Duration::from_millis(150));
    }
    let meanwhile = gateway.counts().since(&before, "gateway_requests_total");
    // By then, requests that a reload left hanging have timed out.
    sleep(Duration::from_secs(6));
    let after = gateway.counts();
    let result = load.end();
    let rate = result["rate_per_s"]["achieved"].as_f64().unwrap();
    say(&format!(
        "FIGURES: {RELOADS} reloads under {rate:.0} requests/s: {meanwhile} requests meanwhile, {} right in all, {} failed",
        count(&result, "correct"),
        failed(&result)
    ));
    if rate < 0.99 * RELOAD_RATE {
        say(&format!(
            "FIGURES: this machine offers {rate:.0} of the {RELOAD_RATE} requests/s, of which none may fail either"
        ));
    }
    assert_eq!(failed(&result), 0, "{result}");
    assert_eq!(after.of(FAILURES), 0, "the gateway answered for itself");
    assert!(meanwhile > 0 && count(&result, "correct") > 0, "{result}");
}

/// Returns the requests without a correct response, except those in flight when the load ended.
fn failed(result: &serde_json::Value) -> u64 {
    ["wrong", "declined", "refused", "broken", "timed_out"]
        .map(|kind| count(result, kind))
        .iter()
        .sum()
}

/// Kills as many servers as promised, with both kinds of requests.
const KILLS: usize = 10;

#[test]
#[ignore = "long, needs go: half a minute"]
fn only_requests_in_flight_fail_when_a_server_is_killed() {
    let _alone = alone();
    need("go");
    // GET may be retried, POST may not.
    kill_servers("GET", &[]);
    kill_servers("POST", &["-X", "POST", "--body", "order"]);
}

/// Kills the two servers of an upstream alternately under load, and counts failures.
fn kill_servers(method: &str, arguments: &[&str]) {
    // Requests are in flight long enough for a kill to hit some.
    let flags = ["--delay", "20ms", "--no-exact"];
    let mut servers = [Server::start(&flags), Server::start(&flags)];
    let ports = [servers[0].port, servers[1].port];
    // Every second request meets the dead server until it is back, and must not fail.
    let gateway = Gateway::start(&ports, "    retries: 100%\n    eject: {after: 0}", None);
    let load = Load::start(
        &gateway.url(),
        &[&["-R", "500", "--timeout", "5s"][..], arguments].concat(),
        None,
    );
    until("the load begins", || gateway.counts().of("gateway_requests_total") > 500);
    let (mut met, mut away) = (0, 0);
    for n in 0..KILLS {
        let before = gateway.counts();
        servers[n % 2].kill();
        sleep(Duration::from_millis(100));
        let dead = gateway.counts();
        // Requests in flight, and those that arrived before the gateway could notice.
        let most = before.of("gateway_upstream_requests{upstream=\"hello\"}")
            + dead.since(&before, "gateway_requests_total");
        sleep(Duration::from_millis(700));
        servers[n % 2] = Server::start_at(ports[n % 2], &flags);
        sleep(Duration::from_millis(300));
        let back = gateway.counts();
        let failed = back.since(&before, FAILURES);
        assert!(
            failed <= most,
            "{method}, kill {}: {failed} failed, and {most} at most were in flight",
            n + 1
        );
        met += failed;
        away += back.since(&dead, "gateway_requests_total");
    }
    sleep(Duration::from_secs(1));
    let after = gateway.counts();
    let result = load.end();
    let causes = ["unreachable", "broke_off"]
        .map(|cause| after.of(&format!("gateway_upstream_failures_total{{cause=\"{cause}\"}}")));
    say(&format!(
        "FIGURES: {KILLS} servers killed under {:.0} {method}/s: {met} requests failed, all in flight; {away} came while one was away; \
         {} retried, {} connections could not be opened, {} requests aborted",
        result["rate_per_s"]["achieved"].as_f64().unwrap(),
        after.of("gateway_repeated_total"),
        causes[0],
        causes[1]
    ));
    is_accounted_for(&after, &result);
    assert!(
        away > 0 && after.of("gateway_repeated_total") > 0 && causes[1] + causes[0] > 0,
        "a server was missed"
    );
}

/// Checks that the failures that clients saw equal those that the gateway counted.
fn is_accounted_for(counts: &Counts, result: &serde_json::Value) {
    let own = counts.of(FAILURES);
    assert_eq!(
        result["statuses"]["502"].as_u64().unwrap_or(0)
            + result["statuses"]["503"].as_u64().unwrap_or(0),
        own,
        "{result}"
    );
    assert_eq!(count(result, "wrong"), own, "{result}");
    // A truncated response does not count as one.
    let broke_off = counts.of("gateway_upstream_failures_total{cause=\"broke_off\"}");
    assert!(count(result, "broken") <= broke_off, "{broke_off} broke off: {result}");
    assert_eq!(count(result, "refused") + count(result, "timed_out"), 0, "{result}");
}

#[test]
#[ignore = "long, needs go: two minutes"]
fn short_of_descriptors_every_request_is_answered_or_shed() {
    let _alone = alone();
    need("go");
    let temporary = tempfile::tempdir().unwrap();
    let out = temporary.path().join("r");
    let mut run = Command::new(release().join("faceoff"));
    run.current_dir(repository()).env("TMPDIR", temporary.path());
    run.args(["run", "descriptor-limit", "--quick", "--blocks", "1", "--add", "gateway", "--out"])
        .arg(&out);
    let ran = run.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let record = Record::read(&out).unwrap_or_else(|e| panic!("{e:?}\n{said}"));
    let counts = |name: &str| {
        let trial = record.trials.iter().find(|trial| trial.contender == name.parse().unwrap());
        let trial = trial.unwrap_or_else(|| panic!("{name}: {said}"));
        assert!(trial.failure.is_none(), "{name}: {:?}", trial.failure);
        trial.measurements[0].counts
    };
    let (own, unbounded) = (counts("gateway"), counts("proxy-gin:unbounded"));
    say(&format!(
        "FIGURES: 256 descriptors, 2,000 clients, 500 ms upstream: {} right, {} shed, {} waited at the end, {} failed; \
         proxy-gin:unbounded: {} right, {} failed",
        own.correct,
        own.declined,
        own.unfinished + own.unsent,
        own.wrong + own.refused + own.broken + own.timed_out,
        unbounded.correct,
        unbounded.wrong + unbounded.refused + unbounded.broken + unbounded.timed_out
    ));
    assert_eq!((own.wrong, own.refused, own.broken, own.timed_out), (0, 0, 0, 0), "{own:?}");
    // One request of each client that waits when the time is over.
    assert!(own.correct > 0 && own.unfinished + own.unsent <= 2_000, "{own:?}");
    // Otherwise nothing was tested.
    assert!(unbounded.wrong > 0, "{unbounded:?}");
    let log = |name: &str| {
        std::fs::read_to_string(out.join(format!("starts/block-001-{name}/output.log")))
            .unwrap_or_default()
    };
    assert!(
        log("proxy-gin_unbounded").contains("too many open files"),
        "{}",
        log("proxy-gin_unbounded")
    );
    assert!(!log("gateway").contains("too many open files"), "{}", log("gateway"));
}
