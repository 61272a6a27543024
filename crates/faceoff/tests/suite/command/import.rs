//! `faceoff import` from outside: what is written runs, and sends the requests of the source.
//!
//! The formats are tested in `crates/interop/src/import/tests`.

use crate::control_server::ControlServer;
use crate::folder::Folder;
use serde_json::Value;

const CURL: &str = "curl -X POST http://127.0.0.1:9/a -H 'X-A: b' -d c\n";

#[test]
fn curl_command_becomes_runnable_workload() {
    let server = ControlServer::start(&[]);
    let folder = Folder::new();
    let ran = folder.run(&[
        "import",
        "--name",
        "mine",
        "--format",
        "json",
        "curl",
        "-H",
        "X-A: b",
        &server.url,
    ]);
    let came: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    crate::by_schema::keeps_to("import", &came);
    assert_eq!(
        (came["schema"].as_str(), came["lost"].as_array().map(Vec::len)),
        (Some("faceoff.import.v1"), Some(0)),
        "{came}"
    );
    let line = came["workloads"][0]["command"].as_str().unwrap();
    let words: Vec<&str> =
        line.split(' ').skip(1).chain(["-n", "50", "--format", "json"]).collect();
    let ran = folder.run(&words);
    let measured: Value = serde_json::from_str(&ran.out)
        .unwrap_or_else(|e| panic!("{e}: {line}\n{}{}", ran.out, ran.err));
    assert_eq!(measured["counts"]["correct"], 50, "{line}\n{measured}");
}

#[test]
fn existing_files_are_kept_and_losses_reported() {
    let folder = Folder::new();
    let import = |arguments: &[&str], input: &str| {
        let output = folder.faceoff(arguments).write_stdin(input).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, err) = import(&["import", "-", "--name", "a"], CURL);
    assert!(
        code == Some(0)
            && out.contains("kind = \"closed\"")
            && out.contains("Everything was carried over"),
        "{out}{err}"
    );
    let written = std::fs::read_to_string(folder.path().join("a.toml")).unwrap();
    assert!(
        written.starts_with("# Imported from -.\n") && written.contains("body = \"c\""),
        "{written}"
    );
    let (code, _, err) = import(&["import", "-", "--name", "a"], CURL);
    assert!(code == Some(2) && err.contains("already exists") && err.contains("--force"), "{err}");
    let lossy = CURL.replace("-d c", "-d d -L");
    let (code, out, _) = import(&["import", "-", "--name", "a", "--force", "--strict"], &lossy);
    assert!(code == Some(3) && out.contains("Not carried over\n  -L: "), "{out}");
    assert!(
        std::fs::read_to_string(folder.path().join("a.toml")).unwrap().contains("body = \"d\"")
    );
    let (_, out, err) =
        import(&["import", "-", "--name", "a", "--force", "--format", "json"], &lossy);
    let came: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    crate::by_schema::keeps_to("import", &came);
    assert_eq!(came["lost"][0]["what"], "-L", "{came}");
    let (code, _, err) = import(&["import", "-"], "nonsense");
    assert!(code == Some(2) && err.contains("hint: known are JMeter's plans"), "{err}");
    let (code, _, err) = import(&["import", "/no/such/file"], "");
    assert!(code == Some(2) && err.contains("cannot be read"), "{err}");
}

#[test]
fn only_files_next_to_a_plan_are_copied_up_to_a_limit() {
    let folder = Folder::new();
    folder.write("private.csv", "name\nana\n");
    folder.write("plans/own.csv", "name\nbob\n");
    let plan = |table: &str| {
        format!(
            "<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup><stringProp name=\"ThreadGroup.num_threads\">1</stringProp></ThreadGroup>\
             <hashTree><CSVDataSet><stringProp name=\"filename\">{table}</stringProp><stringProp name=\"delimiter\">,</stringProp></CSVDataSet><hashTree/>\
             <HTTPSamplerProxy><stringProp name=\"HTTPSampler.domain\">127.0.0.1</stringProp><stringProp name=\"HTTPSampler.path\">/${{name}}</stringProp>\
             </HTTPSamplerProxy><hashTree/></hashTree></hashTree></hashTree></jmeterTestPlan>"
        )
    };
    let absolute = folder.path().join("private.csv").display().to_string();
    for elsewhere in ["../private.csv", &absolute, "/dev/zero"] {
        folder.write("plans/p.jmx", &plan(elsewhere));
        folder
            .run(&["import", "plans/p.jmx", "--name", "a"])
            .expect(2)
            .says("is not in the folder of the plan")
            .says("hint: put it into the folder of the plan");
    }
    folder.write("plans/p.jmx", &plan("own.csv"));
    folder.run(&["import", "plans/p.jmx", "--name", "a"]).expect(0);
    folder
        .run(&["import", "--name", "b", "curl", "-d", "@/dev/zero", "http://127.0.0.1:9/"])
        .expect(2)
        .says("it is not a regular file, or is larger");
}

/// A server that responds to every request with 200, and the requests that it gets, with head and
/// body.
fn recording_server() -> (String, std::sync::mpsc::Receiver<String>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut read = Vec::new();
                let mut piece = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut piece) {
                    read.extend_from_slice(&piece[..n]);
                    let text = String::from_utf8_lossy(&read).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let announced = head.lines().find_map(|line| {
                        line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned)
                    });
                    if body.len() >= announced.map_or(0, |length| length.parse().unwrap()) {
                        let _ = sender.send(text);
                        read.clear();
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    }
                }
            });
        }
    });
    (url, requests)
}

/// Imports a file, runs its workload, and gives back the first requests that a server gets.
fn sent(folder: &Folder, file: &str, text: &str, count: usize) -> Vec<String> {
    let (url, requests) = recording_server();
    folder.write(file, &text.replace("SERVER", &url));
    folder.run(&["import", file, "--name", "it", "--force"]).expect(0);
    let ran =
        folder.run(&["load", &url, "--workload", "it.toml", "-c", "1", "-n", &count.to_string()]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    (0..count).map(|_| requests.recv_timeout(std::time::Duration::from_secs(60)).unwrap()).collect()
}

#[test]
fn imported_requests_equal_those_of_the_source() {
    let folder = Folder::new();
    let line = "curl SERVER/a -H 'X-Tag: b' -H 'X-Tag: a' -H 'Host: shop.example' -H 'Cookie: a=1' -H 'Cookie: b=2' -F kind=front\n";
    let request = sent(&folder, "one.txt", line, 1).remove(0);
    let lines: Vec<&str> = request.split("\r\n").collect();
    assert_eq!((lines[0], lines[1]), ("POST /a HTTP/1.1", "Host: shop.example"), "{request}");
    let headers = |name: &str| {
        lines.iter().filter(|line| line.starts_with(name)).copied().collect::<Vec<_>>()
    };
    assert_eq!(headers("x-tag"), ["x-tag: b", "x-tag: a"], "{request}");
    assert_eq!(headers("cookie"), ["cookie: a=1", "cookie: b=2"], "{request}");
    assert!(
        request.contains("content-type: multipart/form-data; boundary=")
            && request.contains("name=\"kind\"\r\n\r\nfront\r\n"),
        "{request}"
    );

    let script = "counter = 0\nrequest = function()\n  counter = counter + 1\n  return wrk.format(\"GET\", \"/users/\" .. counter)\nend\n";
    let paths = |requests: Vec<String>| {
        requests
            .iter()
            .map(|request| request.split(' ').nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        paths(sent(&folder, "counter.lua", script, 3)),
        ["/users/1", "/users/2", "/users/3"]
    );
    let round = "local at = 0\nrequest = function()\n  local page = (at % 3) + 1\n  at = at + 1\n  return wrk.format(\"GET\", \"/pages/\" .. page)\nend\n";
    assert_eq!(
        paths(sent(&folder, "round.lua", round, 4)),
        ["/pages/1", "/pages/2", "/pages/3", "/pages/1"]
    );

    let entry = |at: &str, path: &str| {
        format!(
            "{{\"startedDateTime\": \"2026-03-02T09:00:0{at}Z\", \"response\": {{\"status\": 200}}, \"request\": {{\"method\": \"GET\", \
             \"url\": \"SERVER{path}\", \"headers\": [{{\"name\": \"Cookie\", \"value\": \"a=1\"}}, {{\"name\": \"cookie\", \"value\": \"b=2\"}}]}}}}"
        )
    };
    let recording = format!(
        "{{\"log\": {{\"entries\": [{}, {}, {}]}}}}",
        entry("7", "/last"),
        entry("1", "/first"),
        entry("3", "/second")
    );
    let requests = sent(&folder, "recording.har", &recording, 3);
    assert!(
        requests.iter().all(|request| request.contains("cookie: a=1; b=2\r\n")),
        "{requests:?}"
    );
    assert_eq!(paths(requests), ["/first", "/second", "/last"]);
}

#[test]
fn binary_body_is_written_next_to_workload() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("p.png"), [0x89, b'P', 0xff, 0]).unwrap();
    folder.write("up.txt", "curl http://127.0.0.1:9/up --data-binary @p.png\n");
    folder.run(&["import", "up.txt", "--strict"]).expect(0);
    assert_eq!(std::fs::read(folder.path().join("up-body-1.bin")).unwrap(), [0x89, b'P', 0xff, 0]);
    assert!(
        std::fs::read_to_string(folder.path().join("up.toml"))
            .unwrap()
            .contains("body_file = \"up-body-1.bin\"")
    );
}

#[test]
fn unreadable_source_is_refused_by_name() {
    let folder = Folder::new();
    let group = "<jmeterTestPlan><hashTree><TestPlan/><hashTree><com.example.FancyThreadGroup testname=\"fancy\"/><hashTree/></hashTree></hashTree></jmeterTestPlan>";
    for (file, text, named) in [
        ("p.jmx", group, "fancy (com.example.FancyThreadGroup)"),
        (
            "w.lua",
            "function request() return wrk.format('GET', f()) end",
            "a request whose path is computed",
        ),
        (
            "r.har",
            "{\"log\": {\"entries\": [{\"request\": {\"url\": \"data:,x\"}}]}}",
            "GET data:,x",
        ),
        (
            "o.json",
            "{\"openapi\": \"3.0.0\", \"paths\": {\"/a\": {\"get\": {\"responses\": {\"404\": {}}}}}}",
            "GET /a",
        ),
        ("c.txt", "curl http://127.0.0.1:9/[9-1]", "`[9-1]`"),
        ("s.txt", "curl --unheard-of http://127.0.0.1:9/", "`--unheard-of`"),
        ("p.ps1", "Invoke-WebRequest -Uri http://127.0.0.1:9/", "PowerShell"),
    ] {
        folder.write(file, text);
        folder.run(&["import", file]).expect(2).says(named).says("hint: ");
    }
}
