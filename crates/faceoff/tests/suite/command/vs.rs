//! `faceoff vs`: services that run already, commands and varying responses.

use crate::control_server::ControlServer;
use crate::folder::{Folder, code_of, control, measured, nothing_is_left};
use record::judgement::Judgement;
use record::{Alternation, Record};
use spec::metric::Metric;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};

/// Options of a short run with enough blocks for a verdict.
const SHORT: [&str; 8] = ["--blocks", "6", "-d", "300ms", "--warmup", "200ms", "--out", "r"];

#[test]
fn two_services_are_measured_and_unknowns_are_named() {
    let folder = Folder::new();
    let (mut quick, mut slow) =
        (ControlServer::start(&["--delay", "2ms"]), ControlServer::start(&["--delay", "6ms"]));
    let names = [format!("quick={}/a", quick.url), format!("slow={}/a", slow.url)];
    let ran = folder.run(&[&["vs", &names[0], &names[1], "-R", "100"], &SHORT[..]].concat());
    assert_eq!(
        ran.code,
        code_of(&judge::judge(&folder.record("r")), false),
        "{}\n{}",
        ran.out,
        ran.err
    );
    assert!(
        ran.out.contains("quick and slow were already running, so start-up time is not known"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("compared: status 200 and every byte of the body"), "{}", ran.err);
    for server in [&mut quick, &mut slow] {
        assert!(server.is_running(), "the server still runs");
    }
    crate::by_schema::is_by_schema(&folder, "r");
    let record = folder.record("r");
    assert_eq!(record.header.contenders[1].reached.as_deref(), Some(slow.url.as_str()));
    check_alternation(&record);
    check_verdicts(&record);
    // The files next to the record repeat the comparison.
    folder
        .run(&["--dir", "r", "run", "vs", "--plan"])
        .expect(0)
        .says("baseline   quick")
        .says("arrivals at 100/s");
    let listed = folder.run(&["--dir", "r", "check", "slow"]).expect(0);
    listed.says("correct  slow (it was already running)");
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    assert!(
        page.contains("\"reached\":true") && !page.contains("\"never started\""),
        "the page does not claim that they never started"
    );
    assert!(
        page.contains("\"faceoff --dir records/r run vs\""),
        "the page says how it is repeated"
    );
    folder
        .run(&[&["vs", &names[0], &names[1]], &SHORT[..]].concat())
        .expect(1)
        .says("already holds a record");
}

/// Checks that both services were measured in slices of the same blocks.
fn check_alternation(record: &Record) {
    // More if blocks were invalidated.
    assert!(
        record.missing().is_empty() && record.trials.len() >= 12,
        "{} trials",
        record.trials.len()
    );
    assert_eq!(record.header.alternation, Alternation::Slices);
    for trial in &record.trials {
        assert!(
            trial.failure.is_none() && trial.ready_after_ns.is_none() && trial.stop.is_none(),
            "{trial:?}"
        );
        let measured = &trial.measurements[0];
        assert!(
            measured.usage.is_known() && measured.usage.allowed_cpus.is_empty(),
            "its process is watched, wherever it runs"
        );
        let slices = measured.slices.as_ref().unwrap();
        assert!(
            slices.at_ns.len() >= 2
                && slices.correct.iter().sum::<f64>() == measured.counts.correct as f64,
            "{slices:?}"
        );
    }
    for block in record.trials.chunks(2) {
        let [a, b] = block else { panic!("a block has both") };
        let at = |trial: &record::Trial| trial.measurements[0].slices.clone().unwrap().at_ns;
        assert!(at(a)[1] > at(b)[0] && at(b)[1] > at(a)[0], "the load alternates within a block");
    }
}

/// Checks which metrics are judged, and the minimum latency of both services.
fn check_verdicts(record: &Record) {
    let judgement = judge::judge(record);
    assert!(
        judgement.verdicts.iter().any(|v| v.metric == Metric::CpuPerRequest && v.ratio.is_some()),
        "{:?}",
        judgement.verdicts
    );
    assert!(
        !judgement.verdicts.iter().any(|v| v.metric == Metric::StartUp),
        "{:?}",
        judgement.verdicts
    );
    // `crates/judge/tests/judge/replayed.rs` judges such figures.
    for (contender, delay_ms) in [("quick", 2), ("slow", 6)] {
        let least = measured(record, contender).iter().map(|m| m.service.min_ns()).min().unwrap();
        assert!(least >= delay_ms * 1_000_000, "{contender}: {least} ns");
    }
    assert!(
        judgement.verdicts.iter().any(|v| v.metric == Metric::LatencyP50),
        "{:?}",
        judgement.verdicts
    );
    assert!(!judgement.faults.iter().any(|f| f.kind == "other-cpu"), "{:?}", judgement.faults);
}

#[test]
fn interrupted_comparison_resumes() {
    let folder = Folder::new();
    let (one, other) = (ControlServer::start(&[]), ControlServer::start(&[]));
    let names = [format!("one={}/", one.url), format!("other={}/", other.url)];
    folder.run(&[&["vs", &names[0], &names[1], "-c", "2"], &SHORT[..]].concat());
    let path = folder.path().join("r/record.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    // The first lines: the header, two response checks and three trials.
    let lines: Vec<&str> = whole.lines().take(6).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    folder.run(&["--dir", "r", "run", "--resume", "r"]).says("9 are missing");
    let record = folder.record("r");
    assert!(
        record.missing().is_empty() && record.trials.len() >= 12,
        "{} trials",
        record.trials.len()
    );
    let done: std::collections::BTreeSet<_> =
        record.trials.iter().map(|t| (t.block, t.contender.clone())).collect();
    assert_eq!(
        done.len(),
        record.trials.len(),
        "no trial twice; more than planned only in blocks that replace invalidated ones"
    );
}

#[test]
fn incomparable_services_are_refused_without_leftovers() {
    let folder = Folder::new();
    let (one, other, alike) = (
        ControlServer::start(&[]),
        ControlServer::start(&["--body-size", "9"]),
        ControlServer::start(&[]),
    );
    let path = |server: &ControlServer, path: &str| format!("{}{path}", server.url);
    let (a, b) = (path(&one, "/"), path(&other, "/"));
    for (urls, said) in [
        ([a.clone(), a.clone()], "give them names"),
        ([a.clone(), "http://192.0.2.1/".into()], "192.0.2.1:80 is not a loopback address"),
        ([a.clone(), "127.0.0.1:80".into()], "is not an http:// or https:// URL"),
    ] {
        folder.run(&["vs", &urls[0], &urls[1], "--out", "r"]).expect(2).says(said);
        assert!(!folder.path().join("r").exists(), "{urls:?}");
    }
    folder
        .run(&["vs", &path(&one, "/a"), &path(&other, "/a"), "--request", "/b", "--out", "r"])
        .expect(2)
        .says("--request and a URL both give a path");
    folder
        .run(&["vs", "http://127.0.0.1:1/", &b, "--out", "r"])
        .expect(1)
        .says("127.0.0.1-1 does not respond correctly (reach)");
    assert!(!folder.path().join("r").exists());
    // Each may have its own path.
    let alike = path(&alike, "/another?a=b");
    folder
        .run(&["vs", &a, &alike, "--plan", "--out", "r"])
        .expect(0)
        .says("8 connections as fast as they are answered");
    assert!(!folder.path().join("r").exists(), "a plan leaves nothing");
    folder.run(&["vs", &a, &b, "--plan"]).expect(1);
    folder
        .run(&[&["vs", &a, &b], &SHORT[..]].concat())
        .expect(1)
        .says("do not respond alike")
        .says("a body of 74 bytes")
        .says("one of 9");
    assert!(!folder.path().join("r").exists());
}

#[test]
fn commands_are_started_once_and_ended() {
    let folder = Folder::new();
    let command =
        |name: &str, more: &str| format!("{name}={} --port {{port}}{more}", control().display());
    let services = [command("one", ""), command("two", " --cpu 100us"), command("three", "")];
    let ran = folder.run(
        &[&["vs", &services[0], &services[1], &services[2], "-c", "2", "--json"], &SHORT[..]]
            .concat(),
    );
    let judgement: Judgement =
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}", ran.out));
    assert_eq!(judgement.baseline.to_string(), "one");
    let record = folder.record("r");
    let started: Vec<u32> =
        record.trials.iter().filter(|t| t.ready_after_ns.is_some()).map(|t| t.block).collect();
    assert_eq!(started, [1, 1, 1], "nothing is started again");
    assert!(record.trials.len() >= 18 && record.trials.iter().all(|t| t.failure.is_none()));
    nothing_is_left(&folder);
}

/// Responds to every request with a JSON body, which `body` derives from its number.
fn json_service(body: impl Fn(u64) -> String + Send + 'static) -> String {
    service("", move |number| body(number).into_bytes())
}

/// Responds to every request with these headers and a body, which `body` derives from its number.
fn service(headers: &'static str, body: impl Fn(u64) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut number = 0;
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            while stream.read(&mut asked).is_ok_and(|n| n > 0) {
                number += 1;
                let body = body(number);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n"
                );
                if stream.write_all(&[head.into_bytes(), body].concat()).is_err() {
                    break;
                }
            }
        }
    });
    url
}

#[test]
fn varying_field_is_not_compared() {
    let folder = Folder::new();
    let now = |ns_per_unit: u128| {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() / ns_per_unit
    };
    let seconds = move |_| format!("{{\"message\":\"hello\",\"at\":{}}}", now(1_000_000_000));
    let mixed = move |n: u64| {
        let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{{\"message\":\"hello\",\"at\":{},\"n\":{n},\"id\":\"{id:x}\"}}", now(1_000))
    };
    let (a, b) = (json_service(seconds), json_service(seconds));
    folder
        .run(&["vs", &format!("a={a}"), &format!("b={b}"), "--plan"])
        .expect(0)
        .says("the JSON fields /message; ignored, as it varies: /at");
    let (a, b) = (json_service(mixed), json_service(mixed));
    let plan = folder.run(&["vs", &format!("a={a}"), &format!("b={b}"), "--plan"]).expect(0);
    plan.says("the JSON fields /message; ignored, as it varies: /at, /id, /n");
}

#[test]
fn encoded_body_is_compared_after_decoding() {
    /// `{"message":"hello"}`, as gzip.
    const CODED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x4d\x2d\x2e\x4e\x4c\x4f\x55\xb2\x52\xca\x48\xcd\xc9\xc9\x57\xaa\x05\x00\x8c\x6b\xd8\x11\x13\x00\x00\x00";
    let folder = Folder::new();
    let plain = json_service(|_| "{\"message\":\"hello\"}".to_owned());
    let coded = service("Content-Encoding: gzip\r\n", |_| CODED.to_vec());
    let (a, b) = (format!("a={plain}"), format!("b={coded}"));
    let plan = folder.run(&["vs", &a, &b, "--plan"]).expect(0);
    plan.says("compared: status 200 and all of the JSON body; the bodies differ in their Content-Encoding or its level")
        .says("a sends 19 bytes (no coding), b sends 39 bytes (gzip)");
    // The same text at another compression level.
    let stored: Vec<u8> =
        [&CODED[..10], b"\x01\x13\x00\xec\xff{\"message\":\"hello\"}", &CODED[CODED.len() - 8..]]
            .concat();
    let stored = service("Content-Encoding: gzip\r\n", move |_| stored.clone());
    let plan = folder.run(&["vs", &format!("a={stored}"), &b, "--plan"]).expect(0);
    plan.says("all of the JSON body; the bodies differ")
        .says("a sends 42 bytes (gzip), b sends 39 bytes (gzip)");
    let alike = service("Content-Encoding: gzip\r\n", |_| CODED.to_vec());
    let plan = folder.run(&["vs", &format!("a={alike}"), &b, "--plan"]).expect(0);
    assert!(!plan.err.contains("Content-Encoding"), "{}", plan.err);
    let cookies =
        service("Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n", |_| b"{\"message\":\"hello\"}".to_vec());
    let plan = folder.run(&["vs", &a, &format!("c={cookies}"), "--plan"]).expect(0);
    plan.says("all of the JSON body; ignored, headers that services send in different numbers: set-cookie (a 0, c 2)");
    let unknown = service("Content-Encoding: x-made-up\r\n", |_| CODED.to_vec());
    folder
        .run(&["vs", &a, &format!("c={unknown}"), "--plan"])
        .expect(1)
        .says("c: the content coding `x-made-up` is not supported");
}

/// Returns a body as gzip without compression (RFC 1952, RFC 1951 3.2.4), with a timestamp.
fn gzip_stored(body: &[u8], mtime: u32) -> Vec<u8> {
    let mut crc = !0_u32;
    for byte in body {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 });
    }
    let length = body.len() as u16;
    let header = [&b"\x1f\x8b\x08\x00"[..], &mtime.to_le_bytes(), b"\x00\x03\x01"].concat();
    let block = [&length.to_le_bytes()[..], &(!length).to_le_bytes(), body].concat();
    [header, block, (!crc).to_le_bytes().to_vec(), (body.len() as u32).to_le_bytes().to_vec()]
        .concat()
}

#[test]
#[ignore = "long: a hundred plans of two seconds each"]
fn varying_field_is_found_in_100_of_100_plans() {
    let folder = Folder::new();
    let now = |ns_per_unit: u128| {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() / ns_per_unit
    };
    let random = move |n: u64| n.wrapping_add(now(1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seconds = move |_: u64| format!("{{\"message\":\"hello\",\"at\":{}}}", now(1_000_000_000));
    let counter = move |n: u64| {
        format!("{{\"message\":\"hello\",\"served\":{n},\"list\":[1,{{\"n\":{n}}}]}}")
    };
    let id = move |n: u64| {
        format!(
            "{{\"id\":\"{:016x}\",\"message\":\"hello\",\"trace\":{{\"span\":{}}}}}",
            random(n),
            random(n) >> 11
        )
    };
    let packed = move |n: u64| gzip_stored(seconds(n).as_bytes(), now(1_000_000_000) as u32);
    for round in 0..25 {
        let compressed = || service("Content-Encoding: gzip\r\n", packed);
        let kinds = [
            (json_service(seconds), json_service(seconds), "/message; ignored, as it varies: /at"),
            (
                json_service(counter),
                json_service(counter),
                "/list/0, /message; ignored, as it varies: /list/1/n, /served",
            ),
            (
                json_service(id),
                json_service(id),
                "/message; ignored, as it varies: /id, /trace/span",
            ),
            (compressed(), compressed(), "/message; ignored, as it varies: /at"),
        ];
        for (kind, (a, b, learned)) in kinds.iter().enumerate() {
            let plan = folder.run(&["vs", &format!("a={a}"), &format!("b={b}"), "--plan"]);
            assert_eq!(plan.code, 0, "round {round}, kind {kind}: {}", plan.err);
            assert!(plan.err.contains(learned), "round {round}, kind {kind}: {}", plan.err);
        }
    }
}
