//! Each symptom by a real system that has the disease, beside a healthy one that shows none.

use crate::folder::{Folder, nothing_is_left};
use crate::machine::alone;
use crate::needs::need;
use model::judgement::{Judgement, Symptom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether others took the CPUs.
fn is_disturbed(judgement: &Judgement) -> bool {
    judgement.faults.iter().any(|f| ["other-cpu", "steal"].contains(&f.kind.as_str()))
}

/// Measures `well` and `sick` in one cell and gives the judgement: again, a few times, where a busy machine came between.
fn study(folder: &Folder, load: &str, measure: &str, more: &str) -> Judgement {
    let mut judgement = study_once(folder, load, measure, more);
    for _ in 0..3 {
        if is_disturbed(&judgement) {
            judgement = study_once(folder, load, measure, more);
        }
    }
    judgement
}

fn study_once(folder: &Folder, load: &str, measure: &str, more: &str) -> Judgement {
    folder.write(
        "experiments/x.toml",
        &format!(
            "name = \"x\"\nquestion = \"What ails it?\"\nbaseline = \"well\"\ncontenders = [\"sick\"]\n[design]\nblocks = 2\nspare_blocks = 0\n\
             warmup = \"100ms\"\nmeasure = \"{measure}\"\n{more}\n[[cell]]\nname = \"cell\"\nworkload = \"hello\"\nload = {{ {load} }}\ntimeout = \"5s\"\n"
        ),
    );
    // A study before this one may have left its record.
    let _ = std::fs::remove_dir_all(folder.path().join("r"));
    let ran = folder.run(&["run", "x", "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let judgement = judge::judge(&folder.record("r"));
    for symptom in &judgement.symptoms {
        assert!(ran.out.contains("Symptoms") && ran.out.contains(&symptom.sentence), "{}", ran.out);
        assert!(symptom.picture.series.iter().all(|(_, points)| !points.is_empty()), "{symptom:?}");
    }
    nothing_is_left(folder);
    judgement
}

/// The symptom that `sick` must show, and `well` must not; `well` shows none at all. `None`, said aloud, where others took the CPUs each time.
#[track_caller]
fn only(folder: &Folder, judgement: &Judgement, kind: &str) -> Option<Symptom> {
    let of = |name: &str| judgement.symptoms.iter().filter(|s| s.contender.system == name).collect::<Vec<_>>();
    assert!(of("well").is_empty(), "{:#?}", of("well"));
    let found = of("sick").into_iter().find(|s| s.kind == kind).cloned();
    if found.is_none() && is_disturbed(judgement) {
        eprintln!("SKIPPED: {kind} cannot be seen while others take the CPUs");
        return None;
    }
    Some(found.unwrap_or_else(|| {
        let record = folder.record("r");
        let readings =
            record.trials.iter().flat_map(|t| t.measurements.iter().map(|m| (&m.counts, &m.service, &m.usage.signs, &m.generator)));
        panic!("no {kind} in {:#?}\nfaults {:#?}\n{:#?}", judgement.symptoms, judgement.faults, readings.collect::<Vec<_>>())
    }))
}

#[test]
fn two_small_writes_for_an_answer() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &["--delay", "40ms"]);
    folder.system("sick", &["--split-writes"]);
    let judgement = study(&folder, "kind = \"closed\", connections = 4", "1s", "");
    let Some(symptom) = only(&folder, &judgement, "delayed-ack") else { return };
    assert!(symptom.hint.contains("TCP_NODELAY"), "{symptom:?}");
}

#[test]
fn a_pool_that_is_too_small_is_named_by_its_size() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &["--delay", "20ms"]);
    folder.system("sick", &["--delay", "20ms", "--pool", "8"]);
    let alone = "[[cell]]\nname = \"alone\"\nworkload = \"hello\"\nload = { kind = \"closed\", connections = 1 }";
    let judgement = study(&folder, "kind = \"closed\", connections = 32", "1500ms", alone);
    let Some(symptom) = only(&folder, &judgement, "pool-exhausted") else { return };
    assert!(["about 7 ", "about 8 ", "about 9 "].iter().any(|size| symptom.sentence.contains(size)), "{symptom:?}");
    assert_eq!(judgement.symptoms.len(), 1, "alone, nobody waits: {:#?}", judgement.symptoms);
    let judgement = study(&folder, "kind = \"arrivals\", rate = 800, in_flight_max = 64", "1500ms", "");
    only(&folder, &judgement, "pool-exhausted");
}

#[test]
fn a_queue_of_connections_that_overflows() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.system("sick", &["--backlog", "1", "--accept-every", "50ms"]);
    let judgement = study(&folder, "kind = \"closed\", connections = 12", "2500ms", "");
    only(&folder, &judgement, "connect-steps");
}

#[test]
fn a_connection_for_each_request() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.system("sick", &["--no-length"]);
    let judgement = study(&folder, "kind = \"arrivals\", rate = 300", "1s", "");
    only(&folder, &judgement, "connection-churn");
}

#[test]
fn a_line_of_log_for_each_request() {
    let _alone = alone();
    let folder = Folder::new();
    folder.system("well", &[]);
    folder.system("sick", &["--log"]);
    let judgement = study(&folder, "kind = \"arrivals\", rate = 300", "500ms", "");
    assert!(only(&folder, &judgement, "log-on-hot-path").is_none_or(|symptom| symptom.sentence.contains("its output")));
}

#[test]
#[ignore = "needs two CPUs"]
fn one_thread_on_two_cpus() {
    let _alone = alone();
    need("two CPUs");
    let folder = Folder::new();
    folder.system("well", &["--threads", "2", "--cpu", "2ms"]);
    folder.system("sick", &["--cpu", "2ms"]);
    let place = "[place]\ncpus = { contender = [0, 1], generator = [0], upstream = [0] }";
    let judgement = study(&folder, "kind = \"closed\", connections = 64", "1s", place);
    only(&folder, &judgement, "one-core");
}

/// A cgroup with half a CPU, gone when the test ends.
pub struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// `None` where none can be made.
    pub fn new() -> Option<Quota> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("faceoff-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let make = |base: &str, files: &[(&str, &str)]| {
            let folder = PathBuf::from(base).join(&name);
            std::fs::create_dir(&folder).ok()?;
            let quota = Quota { folder };
            files.iter().all(|(file, text)| std::fs::write(quota.folder.join(file), text).is_ok()).then_some(quota)
        };
        make("/sys/fs/cgroup/cpu", &[("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "4000")])
            .or_else(|| make("/sys/fs/cgroup", &[("cpu.max", "4000 20000")]))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes have ended; the kernel may still be clearing up after them.
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
fn a_quota_that_is_used_up() {
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
    let judgement = study(&folder, "kind = \"closed\", connections = 4", "1s", "");
    only(&folder, &judgement, "cpu-throttled");
}

/// A heap that is nearly full of small objects, some of them replaced with each request.
#[test]
#[ignore = "needs java"]
fn a_jvm_that_collects_garbage_on_the_hot_path() {
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
    let judgement = study(&folder, "kind = \"arrivals\", rate = 100", "2s", "");
    let Some(symptom) = only(&folder, &judgement, "gc-pauses") else { return };
    assert!(symptom.sentence.contains("Pause") || symptom.sentence.contains("safepoint"), "{symptom:?}");
}

/// A heap of many pointers on one processor, collected with the world stopped.
#[test]
#[ignore = "needs go"]
fn a_go_program_that_collects_garbage_on_the_hot_path() {
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
    let judgement = study(&folder, "kind = \"arrivals\", rate = 40", "3s", "");
    only(&folder, &judgement, "gc-pauses");
}
