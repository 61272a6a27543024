//! Readings of each symptom from a real system that has it, next to a healthy one.
//!
//! Symptoms that do not depend on other programs are also judged here.
//! `crates/judge/tests/judge/symptoms.rs` checks that such readings show their symptom, and healthy
//! ones none.

use crate::folder::{Folder, code_of, measured, nothing_is_left};
use crate::machine::alone;
use crate::needs::need;
use record::judgement::{Judgement, Symptom};
use record::{Measurement, Record};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Measures `well` and `sick` in one cell.
fn study(folder: &Folder, load: &str, measure: &str, more: &str) -> (Record, Judgement) {
    folder.write(
        "experiments/x.toml",
        &format!(
            "name = \"x\"\nquestion = \"What ails it?\"\nbaseline = \"well\"\ncontenders = [\"sick\"]\n[design]\nblocks = 2\nalternate = \"trials\"\nspare_blocks = 0\n\
             warmup = \"100ms\"\nmeasure = \"{measure}\"\n{more}\n[[cell]]\nname = \"cell\"\nworkload = \"hello\"\nload = {{ {load} }}\ntimeout = \"5s\"\n"
        ),
    );
    // An earlier measurement may have left its record.
    let _ = std::fs::remove_dir_all(folder.path().join("r"));
    let ran = folder.run(&["run", "x", "--out", "r"]);
    let record = folder.record("r");
    let judgement = judge::judge(&record);
    assert_eq!(ran.code, code_of(&judgement, false), "{}\n{}", ran.out, ran.err);
    assert_eq!(record.trials.len(), 4);
    for symptom in &judgement.symptoms {
        assert!(ran.out.contains("Symptoms") && ran.out.contains(&symptom.sentence), "{}", ran.out);
        assert!(symptom.picture.series.iter().all(|(_, points)| !points.is_empty()), "{symptom:?}");
    }
    nothing_is_left(folder);
    (record, judgement)
}

/// Returns the symptom that `sick` must show.
#[track_caller]
fn shown(judgement: &Judgement, kind: &str) -> Symptom {
    let found = judgement.symptoms.iter().find(|s| s.contender.system == "sick" && s.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {:#?}", judgement.symptoms)).clone()
}

/// Checks that every measurement of `sick` has these readings.
#[track_caller]
fn every(record: &Record, cell: &str, has: impl Fn(&Measurement) -> bool) {
    let all: Vec<_> = measured(record, "sick").into_iter().filter(|m| m.cell == cell).collect();
    assert_eq!(all.len(), 2);
    for m in all {
        assert!(has(m), "{:?} {:?} {:?} {:?}", m.counts, m.service, m.usage.signs, m.generator);
    }
}

#[test]
fn two_small_writes_per_response_are_a_symptom() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &["--delay", "40ms"]);
    folder.system("sick", &["--split-writes"]);
    let (record, _) = study(&folder, "kind = \"closed\", connections = 4", "1s", "");
    // The kernel delays an acknowledgement by this time.
    every(&record, "cell", |m| {
        m.service.count_between(38_000_000, u64::MAX) > m.service.len() / 10
    });
}

#[test]
fn small_pool_is_a_symptom_with_its_size() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &["--delay", "20ms"]);
    folder.system("sick", &["--delay", "20ms", "--pool", "8"]);
    let alone = "[[cell]]\nname = \"alone\"\nworkload = \"hello\"\nload = { kind = \"closed\", connections = 1 }";
    let (record, _) = study(&folder, "kind = \"closed\", connections = 32", "1500ms", alone);
    // Of 32 requests, 24 wait until eight others have responses, three times.
    every(&record, "cell", |m| {
        m.generator.in_flight_max == 32 && m.service.quantile_ns(0.5) >= 70_000_000
    });
    every(&record, "alone", |m| m.generator.in_flight_max == 1 && m.service.min_ns() >= 20_000_000);
    let (record, _) =
        study(&folder, "kind = \"arrivals\", rate = 800, in_flight_max = 64", "1500ms", "");
    // 800 requests per second arrive, and 8 of 20 ms each are served: 64 are in flight, and the
    // rest wait to be sent.
    every(&record, "cell", |m| {
        m.generator.in_flight_max == 64 && m.service.quantile_ns(0.5) >= 100_000_000
    });
}

#[test]
fn overflowing_accept_queue_is_a_symptom() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.system("sick", &["--backlog", "1", "--accept-every", "50ms"]);
    let (record, _) = study(&folder, "kind = \"closed\", connections = 12", "2500ms", "");
    // The kernel's timer for an unanswered first segment.
    every(&record, "cell", |m| {
        m.generator
            .connect
            .as_ref()
            .is_some_and(|times| times.count_between(900_000_000, u64::MAX) > 0)
    });
}

#[test]
fn connection_per_request_is_a_symptom() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.system("sick", &["--no-length"]);
    let (record, judgement) = study(&folder, "kind = \"arrivals\", rate = 300", "1s", "");
    every(&record, "cell", |m| m.generator.connections_opened >= m.counts.correct);
    shown(&judgement, "connection-churn");
}

#[test]
fn log_line_per_request_is_a_symptom() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.system("sick", &["--log"]);
    let (record, judgement) = study(&folder, "kind = \"arrivals\", rate = 300", "500ms", "");
    every(&record, "cell", |m| {
        m.usage.signs.output_bytes.is_some_and(|bytes| bytes > 20 * m.counts.correct)
    });
    let symptom = shown(&judgement, "log-on-hot-path");
    assert!(symptom.sentence.contains("its output"), "{symptom:?}");
}

#[test]
#[ignore = "needs two CPUs"]
fn one_thread_on_two_cpus_is_a_symptom() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    folder.system("well", &["--threads", "2", "--cpu", "2ms"]);
    folder.system("sick", &["--cpu", "2ms"]);
    let place = "[place]\ncpus = { contender = [0, 1], generator = [0], upstream = [0] }";
    let (record, _) = study(&folder, "kind = \"closed\", connections = 64", "1s", place);
    every(&record, "cell", |m| {
        let wanted = m.usage.signs.busiest_thread_ns.unwrap()
            + m.usage.signs.busiest_thread_waited_ns.unwrap();
        wanted > 5 * m.usage.signs.other_threads_wanted_ns.unwrap()
    });
}

/// A cgroup with half a CPU, removed when the test ends.
pub struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// Returns `None` if a cgroup cannot be created.
    pub fn new() -> Option<Quota> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("faceoff-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let make = |base: &str, files: &[(&str, &str)]| {
            let folder = PathBuf::from(base).join(&name);
            std::fs::create_dir(&folder).ok()?;
            let quota = Quota { folder };
            files
                .iter()
                .all(|(file, text)| std::fs::write(quota.folder.join(file), text).is_ok())
                .then_some(quota)
        };
        make("/sys/fs/cgroup/cpu", &[("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "4000")])
            .or_else(|| make("/sys/fs/cgroup", &[("cpu.max", "4000 20000")]))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes have ended, but the kernel may still be cleaning up.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
#[ignore = "needs CPU quotas"]
fn used_up_cpu_quota_is_a_symptom() {
    let _alone = alone();
    need("CPU quotas");
    let quota = Quota::new().unwrap();
    let folder = Folder::new();
    folder.system("well", &["--cpu", "200us"]);
    folder.write(
        "systems/sick/system.toml",
        &format!(
            "name = \"sick\"\nsummary = \"control\"\nkind = \"service\"\nanswers = [\"hello\"]\n[start]\nrun = [\"sh\", \"-c\", \
             \"echo $$ > {}/cgroup.procs && exec {} --port {{port.http}} --body-file ../../workloads/hello.txt --cpu 200us\"]\nports = [\"http\"]\n[ready]\nwithin = \"10s\"\n",
            quota.folder.display(),
            crate::folder::control().display()
        ),
    );
    let (record, _) = study(&folder, "kind = \"closed\", connections = 4", "1s", "");
    every(&record, "cell", |m| {
        m.usage
            .signs
            .quota
            .is_some_and(|quota| quota.throttled_periods > 0 && quota.throttled_ns > 0)
    });
}

/// Checks that each start of `sick` collected garbage while measured, in pauses of these kinds.
#[track_caller]
fn pauses(record: &Record, kinds: &[&str]) {
    for trial in record.trials.iter().filter(|trial| trial.contender.system == "sick") {
        let began_ns = trial.measurements[0].began_after_ns;
        let is_known = |kind: &str| kinds.iter().any(|known| kind.contains(known));
        let found = trial.pauses.iter().filter(|pause| {
            pause.at_ns >= began_ns && pause.duration_ns > 0 && is_known(&pause.kind)
        });
        assert!(found.count() > 0, "after {began_ns} ns: {:?}", trial.pauses);
    }
    let well = record.trials.iter().filter(|trial| trial.contender.system == "well");
    assert!(well.into_iter().all(|trial| trial.pauses.is_empty()), "control collects no garbage");
}

/// A heap that is nearly full of small objects, some of them replaced with each request.
#[test]
#[ignore = "needs java"]
fn jvm_garbage_collection_is_a_symptom() {
    let _alone = alone();
    need("java");
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.write(
        "systems/sick/Server.java",
        r#"
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.*;

public class Server {
    static final Object[] kept = new Object[1_500_000];
    static int next;

    static synchronized void allocate(int objects) {
        for (int i = 0; i < objects; i++) {
            kept[next] = new long[] {next};
            next = (next + 7919) % kept.length;
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] body = Files.readAllBytes(Path.of("../../workloads/hello.txt"));
        allocate(kept.length);
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        server.createContext("/", exchange -> {
            allocate(5_000);
            exchange.sendResponseHeaders(200, body.length);
            try (var out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.start();
    }
}
"#,
    );
    folder.write(
        "systems/sick/system.toml",
        "name = \"sick\"\nsummary = \"x\"\nkind = \"service\"\nanswers = [\"hello\"]\n[start]\nrun = [\"java\", \"-Xmx100m\", \"-Xms100m\", \"-XX:+UseSerialGC\", \
         \"-Dsun.net.httpserver.nodelay=true\", \"-Xlog:gc,safepoint:stdout:timenanos,tags\", \"Server.java\", \"{port.http}\"]\nports = [\"http\"]\n[ready]\nwithin = \"60s\"\n",
    );
    let (record, _) = study(&folder, "kind = \"arrivals\", rate = 100", "2s", "");
    pauses(&record, &["Pause", "safepoint"]);
}

/// A heap of many pointers on one processor, collected with the world stopped.
#[test]
#[ignore = "needs go"]
fn go_garbage_collection_is_a_symptom() {
    let _alone = alone();
    need("go");
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.write("systems/sick/go.mod", "module sick\n\ngo 1.21\n");
    folder.write(
        "systems/sick/main.go",
        r#"
package main

import (
	"net/http"
	"os"
	"sync"
)

type node struct {
	next *node
	more [6]*node
}

var kept = make([]*node, 300_000)
var at int
var lock sync.Mutex

func allocate(count int) {
	lock.Lock()
	defer lock.Unlock()
	for i := 0; i < count; i++ {
		kept[at] = &node{next: kept[(at+1)%len(kept)]}
		kept[at].next = nil
		at = (at + 7919) % len(kept)
	}
}

func main() {
	body, _ := os.ReadFile("../../workloads/hello.txt")
	allocate(len(kept))
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		allocate(1_000)
		w.Write(body)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"#,
    );
    folder.write(
        "systems/sick/system.toml",
        "name = \"sick\"\nsummary = \"x\"\nkind = \"service\"\nanswers = [\"hello\"]\n[build]\nrun = [[\"go\", \"build\", \"-o\", \"sick\", \".\"]]\n\
         env = { CGO_ENABLED = \"0\", GOFLAGS = \"-buildvcs=false\" }\ninputs = [\"*.go\", \"go.mod\"]\noutputs = [\"sick\"]\nwithin = \"10m\"\n\
         [start]\nrun = [\"./sick\", \"{port.http}\"]\nenv = { GODEBUG = \"gctrace=1,gcstoptheworld=1\", GOGC = \"20\", GOMAXPROCS = \"1\" }\nports = [\"http\"]\n[ready]\nwithin = \"60s\"\n",
    );
    let (record, _) = study(&folder, "kind = \"arrivals\", rate = 40", "3s", "");
    pauses(&record, &[""]);
}
