use crate::folder::{Folder, control};
use serde_json::Value;
use std::io::BufRead;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

/// A control server of the test's own, which ends with it.
struct Server(Child, String);

impl Server {
    fn start() -> Server {
        let mut child = Command::new(control()).args(["--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Server(child, format!("http://127.0.0.1:{}/", line.trim()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Puts a program on the PATH that prints what a tool once printed, and burns some CPU.
fn pretend(folder: &Folder, name: &str, prints: &str, ends_with: u8) -> String {
    let tools = folder.path().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    folder.write(&format!("tools/{name}.txt"), prints);
    folder.write(
        &format!("tools/{name}"),
        &format!(
            "#!/bin/sh\necho \"$@\" > \"{0}/{name}.arguments\"\ni=0; while [ $i -lt 200000 ]; do i=$((i+1)); done\nsleep 0.2\ncat \"{0}/{name}.txt\"\nexit {ends_with}\n",
            tools.display()
        ),
    );
    std::fs::set_permissions(tools.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap())
}

const WRK: &str = include_str!("../../src/commands/audit/samples/wrk-closed.txt");

#[test]
fn what_another_generator_reports_is_read_and_its_cost_sampled() {
    let server = Server::start();
    let folder = Folder::new();
    let path = pretend(&folder, "wrk", WRK, 0);
    let ran = folder
        .faceoff(&["load", &server.1, "-c", "8", "-d", "2s", "--driver", "wrk", "--format", "json"])
        .env("PATH", &path)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!(ran.status.code(), Some(0), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    let asked = std::fs::read_to_string(folder.path().join("tools/wrk.arguments")).unwrap();
    assert_eq!(asked.trim(), format!("-t1 -c8 -d2s --timeout=10s --latency -s requests.lua {}", server.1), "{told}");
    assert!(
        told["reported"]["requests"].as_f64().unwrap() > 100.0
            && told["reported"]["errors"] == 0.0
            && told["reported"]["latency_us"]["quantiles"]["p99"].is_number(),
        "{told}"
    );
    assert!(told["cost"]["cpu_s"].as_f64().unwrap() > 0.01 && told["cost"]["rss_max_bytes"].as_u64().unwrap() > 100_000, "{told}");
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter_map(Result::ok)
            .filter(|f| f.file_name().to_string_lossy().starts_with("faceoff-witness"))
            .count(),
        0
    );
}

#[test]
fn what_fails_is_said_with_what_to_do() {
    let server = Server::start();
    let folder = Folder::new();
    let run = |name: &str, path: &str, more: &[&str]| {
        let arguments: Vec<&str> = ["load", &server.1, "-d", "1s", "--driver", name].into_iter().chain(more.iter().copied()).collect();
        let ran = folder.faceoff(&arguments).env("PATH", path).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (code, err) = run("oha", "/nowhere", &[]);
    assert!(code == Some(1) && err.contains("oha is not on the PATH\nhint: cargo install oha"), "{err}");
    let (code, err) = run("wrk", "/nowhere", &["-R", "5"]);
    assert!(code == Some(2) && err.contains("wrk cannot make this load") && err.contains("hint: "), "{err}");
    let (code, err) = run("wrk", "/nowhere", &["-n", "5"]);
    assert!(code == Some(2) && err.contains("--driver with -n"), "{err}");
    let path = pretend(&folder, "h2load", "no such option\n", 1);
    let (code, err) = run("h2load", &path, &[]);
    assert!(code == Some(1) && err.contains("h2load ended with exit 1") && err.contains("| no such option"), "{err}");
    let path = pretend(&folder, "oha", "what?\n", 0);
    let (code, err) = run("oha", &path, &[]);
    assert!(code == Some(1) && err.contains("results of oha are not understood"), "{err}");
    let path = pretend(&folder, "wrk", WRK, 0);
    let (code, err) = run("wrk", &path, &["--status", "404"]);
    assert!(code == Some(1) && err.contains("does not answer rightly"), "{err}");
}
