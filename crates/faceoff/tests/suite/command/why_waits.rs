//! Waits of profiled blocks: system calls, and pauses of the garbage collectors of Go and Java.
//!
//! Each test runs an experiment with profiled blocks and reads its record. No test depends on how
//! long a call or a pause takes. Start with [`profiled`].

use crate::folder::Folder;
use crate::needs::need_all;
use record::{Profile, Record};

/// Runs `near` and a contender, first in a judged block and then in profiled ones.
fn profiled(folder: &Folder, contender: &str, blocks: u32, path: Option<&str>) -> Record {
    folder.system("near", &[]);
    let profile = format!("[profile]\nblocks = {blocks}\nmeasure = \"600ms\"");
    folder.experiment(&["near", contender], &profile);
    let mut command = folder.faceoff(&["run", "x", "--profile", "--blocks", "1", "--out", "r"]);
    command.envs(path.map(|path| ("PATH", path)));
    let ran = command.output().unwrap();
    assert!([Some(0), Some(4)].contains(&ran.status.code()), "{ran:?}");
    folder.record("r")
}

fn of_contender<'r>(record: &'r Record, name: &str) -> Vec<&'r Profile> {
    let found: Vec<&Profile> =
        record.profiles.iter().filter(|profile| profile.contender.to_string() == name).collect();
    assert!(!found.is_empty(), "{name} was not profiled");
    found
}

/// Checks that pauses were logged in profiled starts, and only in these.
fn assert_pauses(record: &Record) {
    for profile in of_contender(record, "garbage") {
        let pauses = profile.waits.pauses.expect("its collector logs");
        assert!(pauses.count > 0 && pauses.total_ns >= pauses.longest_ns, "{pauses:?}");
        assert!(pauses.longest_ns > 0, "{pauses:?}");
    }
    for profile in of_contender(record, "near") {
        assert_eq!(profile.waits.pauses, None, "it has no collector");
    }
    assert!(record.trials.iter().all(|trial| trial.pauses.is_empty()), "judged starts log nothing");
}

#[test]
#[ignore = "needs go and strace and sampling"]
fn calls_and_pauses_of_a_go_service_are_counted() {
    need_all(&["go", "strace", "sampling"]);
    let folder = Folder::new();
    folder.write("systems/garbage/go.mod", "module garbage\n\ngo 1.21\n");
    folder.write(
        "systems/garbage/main.go",
        r#"
package main

import (
	"net/http"
	"os"
)

var sink []byte

func main() {
	body, _ := os.ReadFile("../../workloads/hello.txt")
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sink = make([]byte, 256<<10)
		w.Write(body)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"#,
    );
    folder.write(
        "systems/garbage/system.toml",
        "name = \"garbage\"\nsummary = \"x\"\nkind = \"service\"\nanswers = [\"hello\"]\n\
         [build]\nrun = [[\"go\", \"build\", \"-o\", \"garbage\", \".\"]]\n\
         env = { CGO_ENABLED = \"0\", GOFLAGS = \"-buildvcs=false\" }\n\
         inputs = [\"*.go\", \"go.mod\"]\noutputs = [\"garbage\"]\nwithin = \"10m\"\n\
         [start]\nrun = [\"./garbage\", \"{port.http}\"]\nports = [\"http\"]\n\
         env = { GODEBUG = \"madvdontneed=1\", GOGC = \"50\" }\n[ready]\nwithin = \"60s\"\n",
    );
    let record = profiled(&folder, "garbage", 1, None);
    assert_pauses(&record);
    for profile in &record.profiles {
        let traced = profile.waits.traced.expect("strace counts");
        let load = profile.load.unwrap();
        assert!(traced.correct > 0 && traced.duration_ns > 0 && load.response_ns > 0);
        let calls = |name: &str| {
            let of_name = profile.waits.system_calls.iter().filter(|call| call.name == name);
            of_name.map(|call| call.calls).sum::<u64>()
        };
        // Each response is written at least once.
        let written = calls("write") + calls("writev") + calls("sendto") + calls("sendmsg");
        assert!(written >= traced.correct, "{:?}", profile.waits);
    }
    let text = folder.run(&["why", "r"]).expect(0).out;
    assert!(text.contains("collector paused, % of time"), "{text}");
    assert!(text.contains(" calls, ") && text.contains("Counting its system calls"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
#[ignore = "needs java and sampling"]
fn pauses_of_a_java_service_are_added_up() {
    need_all(&["java", "sampling"]);
    let folder = Folder::new();
    folder.write(
        "systems/garbage/Server.java",
        r#"
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.*;

public class Server {
    static volatile byte[] sink;

    public static void main(String[] arguments) throws Exception {
        byte[] body = Files.readAllBytes(Path.of("../../workloads/hello.txt"));
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
        var server = HttpServer.create(address, 0);
        server.createContext("/", exchange -> {
            sink = new byte[1 << 20];
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
        "systems/garbage/system.toml",
        "name = \"garbage\"\nsummary = \"x\"\nkind = \"service\"\nanswers = [\"hello\"]\n\
         [start]\nrun = [\"java\", \"-Xmx64m\", \"Server.java\", \"{port.http}\"]\n\
         env = { JDK_JAVA_OPTIONS = \"-XX:+UseSerialGC -Dsun.net.httpserver.nodelay=true\" }\n\
         ports = [\"http\"]\n[ready]\nwithin = \"60s\"\n",
    );
    assert_pauses(&profiled(&folder, "garbage", 1, None));
}

#[test]
#[ignore = "needs sampling"]
fn missing_strace_is_noted_once_and_the_run_goes_on() {
    need_all(&["sampling"]);
    let folder = Folder::new();
    folder.system("far", &[]);
    let record = profiled(&folder, "far", 2, Some("/nonexistent"));
    assert_eq!(record.profiles.len(), 4);
    let notes = record.profiles.iter().flat_map(|profile| &profile.notes);
    assert_eq!(notes.filter(|note| note.contains("strace is not installed")).count(), 1);
    assert!(record.profiles.iter().all(|profile| profile.waits.traced.is_none()));
    folder.run(&["why", "r"]).expect(0).says("strace is not installed. Install");
}
