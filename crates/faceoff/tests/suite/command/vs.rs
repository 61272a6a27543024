//! Two services that run already.

use crate::folder::{Folder, code_of, control, measured};
use model::metric::Metric;
use std::io::BufRead;
use std::process::{Child, Command, Stdio};

/// The control server, run by somebody else than faceoff.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(flags: &[&str]) -> Server {
        let mut process = Command::new(control()).args(["--port", "0"]).args(flags).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        std::io::BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Server { process, url: format!("http://127.0.0.1:{}", port.trim()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Short, and yet as many blocks as a verdict needs.
const SHORT: [&str; 8] = ["--blocks", "6", "-d", "300ms", "--warmup", "100ms", "--out", "r"];

#[test]
fn two_services_are_measured_and_what_cannot_be_known_is_said() {
    let folder = Folder::new();
    let (mut quick, mut slow) = (Server::start(&["--delay", "2ms"]), Server::start(&["--delay", "6ms"]));
    let names = [format!("quick={}/a", quick.url), format!("slow={}/a", slow.url)];
    let ran = folder.run(&[&["vs", &names[0], &names[1], "-R", "100"], &SHORT[..]].concat());
    assert_eq!(ran.code, code_of(&judge::judge(&folder.record("r")), false), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains("quick and slow ran already and were only reached: start-up, CPU time, memory and threads are not known"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("the right answer is what quick gave: status 200 and every byte of this body"), "{}", ran.err);
    for server in [&mut quick, &mut slow] {
        assert!(server.process.try_wait().unwrap().is_none(), "it goes on");
    }
    crate::by_schema::is_by_schema(&folder, "r");
    let record = folder.record("r");
    // More where blocks were spoilt.
    assert!(record.missing().is_empty() && record.trials.len() >= 12, "{} trials", record.trials.len());
    assert_eq!(record.header.contenders[1].reached.as_deref(), Some(slow.url.as_str()));
    for trial in &record.trials {
        assert!(trial.failure.is_none() && trial.ready_after_ns.is_none() && trial.stop.is_none(), "{trial:?}");
        assert!(!trial.measurements[0].usage.is_known() && trial.measurements[0].counts.correct > 0);
    }
    let judgement = judge::judge(&record);
    assert!(judgement.verdicts.iter().all(|v| !v.metric.is_of_process()), "{:?}", judgement.verdicts);
    // What is judged of such figures: `crates/judge/tests/judge/replayed.rs`.
    for (contender, delay_ms) in [("quick", 2), ("slow", 6)] {
        let least = measured(&record, contender).iter().map(|m| m.service.min_ns()).min().unwrap();
        assert!(least >= delay_ms * 1_000_000, "{contender}: {least} ns");
    }
    assert!(judgement.verdicts.iter().any(|v| v.metric == Metric::LatencyP50), "{:?}", judgement.verdicts);
    assert!(!judgement.faults.iter().any(|f| f.kind == "other-cpu"), "{:?}", judgement.faults);
    // What was done stands beside it, to be done again.
    folder.run(&["--dir", "r", "run", "vs", "--plan"]).expect(0).says("baseline   quick").says("arrivals at 100/s");
    let listed = folder.run(&["--dir", "r", "check", "slow"]).expect(0);
    listed.says("right    slow (it ran already)");
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    assert!(page.contains("\"memory_mb\":null"), "what is not known is not shown as nothing");
    assert!(page.contains("\"reached\":true") && !page.contains("\"never started\""), "nor that nobody was ever started");
    assert!(page.contains("\"faceoff --dir records/r run vs\""), "the page says how it is repeated");
    folder.run(&[&["vs", &names[0], &names[1]], &SHORT[..]].concat()).expect(2).says("is there already");
}

#[test]
fn an_interrupted_comparison_goes_on() {
    let folder = Folder::new();
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let names = [format!("one={}/", one.url), format!("other={}/", other.url)];
    folder.run(&[&["vs", &names[0], &names[1], "-c", "2"], &SHORT[..]].concat());
    let path = folder.path().join("r/record.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    // The first lines: the header, two proofs and three trials.
    let lines: Vec<&str> = whole.lines().take(6).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    folder.run(&["--dir", "r", "run", "--resume", "r"]).says("9 are missing");
    let record = folder.record("r");
    assert!(record.missing().is_empty() && record.trials.len() >= 12, "{} trials", record.trials.len());
    let done: std::collections::BTreeSet<_> = record.trials.iter().map(|t| (t.block, t.contender.clone())).collect();
    assert_eq!(done.len(), record.trials.len(), "no trial twice; more than planned only in blocks that stand in for spoilt ones");
}

#[test]
fn what_cannot_be_compared_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let (one, other) = (Server::start(&[]), Server::start(&["--body-size", "9"]));
    let path = |server: &Server, path: &str| format!("{}{path}", server.url);
    let (a, b) = (path(&one, "/"), path(&other, "/"));
    for (urls, said) in [
        ([a.clone(), path(&other, "/b")], "the two URLs ask for different things, `/` and `/b`"),
        ([a.clone(), a.clone()], "give them names"),
        ([a.clone(), "http://192.0.2.1/".into()], "192.0.2.1:80 is not a loopback address"),
        ([a.clone(), "127.0.0.1:80".into()], "is not an http:// or https:// URL"),
    ] {
        folder.run(&["vs", &urls[0], &urls[1], "--out", "r"]).expect(2).says(said);
        assert!(!folder.path().join("r").exists(), "{urls:?}");
    }
    folder.run(&["vs", &path(&one, "/a"), &path(&other, "/a"), "--request", "/b", "--out", "r"]).expect(2).says("both say what is asked");
    folder.run(&["vs", "http://127.0.0.1:1/", &b, "--out", "r"]).expect(1).says("127.0.0.1-1 does not answer (reach)");
    assert!(!folder.path().join("r").exists());
    folder.run(&["vs", &a, &b, "--plan", "--out", "r"]).expect(0).says("closed loop, 8 connections");
    assert!(!folder.path().join("r").exists(), "a plan leaves nothing");
    folder.run(&[&["vs", &a, &b], &SHORT[..]].concat()).expect(1).says("a body of 9 bytes instead of 74");
}
