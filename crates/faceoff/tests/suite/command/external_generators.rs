//! Loads by other generators, in `faceoff load --driver` and in experiments.
//!
//! Most tests replace the tool by a script that prints stored output. Those with the real tools are
//! ignored where a tool is missing.

use crate::control_server::ControlServer;
use crate::folder::{Folder, Ran, nothing_is_left};
use crate::needs::need_all;
use record::Record;
use serde_json::Value;
use spec::experiment::external_generator::Driver;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Puts a program on the PATH that prints a stored output of a tool and burns some CPU.
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

const WRK: &str = include_str!("../../../../interop/samples/outputs/wrk-closed.txt");

#[test]
fn report_and_cost_of_another_generator_are_read() {
    let server = ControlServer::start(&[]);
    let url = format!("{}/", server.url);
    let folder = Folder::new();
    let path = pretend(&folder, "wrk", WRK, 0);
    let ran = folder
        .faceoff(&["load", &url, "-c", "8", "-d", "2s", "--driver", "wrk", "--format", "json"])
        .env("PATH", &path)
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!(ran.status.code(), Some(0), "{err}");
    let printed: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    crate::by_schema::keeps_to("external-generator", &printed);
    let asked = std::fs::read_to_string(folder.path().join("tools/wrk.arguments")).unwrap();
    assert_eq!(
        asked.trim(),
        format!("-t1 -c8 -d2s --timeout=10s --latency -s requests.lua {url}"),
        "{printed}"
    );
    assert!(
        printed["reported"]["requests"].as_f64().unwrap() > 100.0
            && printed["reported"]["errors"] == 0.0
            && printed["reported"]["latency_us"]["quantiles"]["p99"].is_number(),
        "{printed}"
    );
    assert!(
        printed["cost"]["cpu_s"].as_f64().unwrap() > 0.01
            && printed["cost"]["rss_max_bytes"].as_u64().unwrap() > 100_000,
        "{printed}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter_map(Result::ok)
            .filter(|f| f.file_name().to_string_lossy().starts_with("faceoff-generator"))
            .count(),
        0
    );
}

/// Runs the real tool, JMeter and Gatling through Maven. It accepts our input, we parse its output,
/// and it measures the known delay.
fn makes_the_load_that_is_written_for_it(driver: &str, needs: &[&str]) {
    need_all(needs);
    let external_generators = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("catalog/generators");
    if ["jmeter", "gatling"].contains(&driver) {
        let built = Command::new("mvn")
            .args(["-q", "-B", "package"])
            .current_dir(external_generators.join(driver))
            .status()
            .unwrap();
        assert!(built.success(), "{driver} is put together");
    }
    let path = format!(
        "{0}/jmeter:{0}/gatling:{1}",
        external_generators.display(),
        std::env::var("PATH").unwrap()
    );
    let folder = Folder::new();
    let server = ControlServer::start(&["--delay", "10ms"]);
    let url = format!("{}/", server.url);
    let load: &[&str] = if driver == "wrk2" {
        &["-R", "80", "-c", "64", "-d", "14s"]
    } else {
        &["-c", "8", "-d", "4s"]
    };
    let asked = [&["load", &url, "--driver", driver, "--format", "json"][..], load].concat();
    let ran = Ran::from(folder.faceoff(&asked).env("PATH", &path).output().unwrap());
    let printed: Value = serde_json::from_str(&ran.expect(0).out).unwrap();
    crate::by_schema::keeps_to("external-generator", &printed);
    let (reported, cost) = (&printed["reported"], &printed["cost"]);
    assert!(reported["requests"].as_f64().unwrap() > 100.0, "{printed}");
    assert_eq!(reported["errors"].as_f64().unwrap_or(0.0), 0.0, "{printed}");
    // It measures in whole milliseconds, maybe on a busy machine: not below the truth, and not far
    // above it.
    let mean = reported["latency_us"]["mean"].as_f64().unwrap();
    assert!((9_500.0..60_000.0).contains(&mean), "{driver}: {printed}");
    assert!(
        cost["cpu_s"].as_f64().unwrap() > 0.01
            && cost["rss_max_bytes"].as_u64().unwrap() > 1_000_000,
        "{printed}"
    );
    nothing_is_left(&folder);
}

macro_rules! tools {
    ($($test:ident: $driver:literal, $reason:literal, $needs:expr);* $(;)?) => {
        $(
            #[test]
            #[ignore = $reason]
            fn $test() {
                makes_the_load_that_is_written_for_it($driver, &$needs);
            }
        )*
    };
}

tools! {
    wrk_makes_the_load_that_is_written_for_it: "wrk", "long, needs wrk", ["wrk"];
    wrk2_makes_the_load_that_is_written_for_it: "wrk2", "long, needs wrk2", ["wrk2"];
    h2load_makes_the_load_that_is_written_for_it: "h2load", "long, needs h2load", ["h2load"];
    oha_makes_the_load_that_is_written_for_it: "oha", "long, needs oha", ["oha"];
    k6_makes_the_load_that_is_written_for_it: "k6", "long, needs k6", ["k6"];
    jmeter_makes_the_load_that_is_written_for_it: "jmeter", "long, needs java and maven", ["java", "maven"];
    gatling_makes_the_load_that_is_written_for_it: "gatling", "long, needs java and maven", ["java", "maven"];
}

#[test]
fn failures_are_reported_with_hint() {
    let server = ControlServer::start(&[]);
    let url = format!("{}/", server.url);
    let folder = Folder::new();
    let run = |name: &str, path: &str, more: &[&str]| {
        let arguments: Vec<&str> = ["load", &url, "-d", "1s", "--driver", name]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        let ran = folder.faceoff(&arguments).env("PATH", path).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (code, err) = run("oha", "/nowhere", &[]);
    assert!(
        code == Some(1) && err.contains("oha is not on the PATH\nhint: cargo install oha"),
        "{err}"
    );
    let (code, err) = run("wrk", "/nowhere", &["-R", "5"]);
    assert!(
        code == Some(2) && err.contains("wrk cannot generate this load") && err.contains("hint: "),
        "{err}"
    );
    let (code, err) = run("wrk", "/nowhere", &["-n", "5"]);
    assert!(code == Some(2) && err.contains("--driver cannot be combined with -n"), "{err}");
    let path = pretend(&folder, "h2load", "no such option\n", 1);
    let (code, err) = run("h2load", &path, &[]);
    assert!(
        code == Some(1)
            && err.contains("h2load ended with exit 1")
            && err.contains("| no such option"),
        "{err}"
    );
    let path = pretend(&folder, "oha", "what?\n", 0);
    let (code, err) = run("oha", &path, &[]);
    assert!(code == Some(1) && err.contains("results of oha are not understood"), "{err}");
    let path = pretend(&folder, "wrk", WRK, 0);
    let (code, err) = run("wrk", &path, &["--status", "404"]);
    assert!(code == Some(1) && err.contains("does not respond correctly"), "{err}");
}

/// Writes an experiment whose cells have the given names and loads, for a second each.
fn of_cells(folder: &Folder, contenders: &str, cells: &[(&str, &str)], more: &str) {
    let cells: String = cells
        .iter()
        .map(|(name, load)| {
            format!(
                "[[cell]]\nname = \"{name}\"\nworkload = \"hello\"\nload = {{ {load} }}\n{}",
                if *name == "ours" { more } else { "" }
            )
        })
        .collect();
    folder.write(
        "experiments/x.toml",
        &format!(
            "name = \"x\"\nquestion = \"What do they say?\"\nbaseline = \"known\"\n{contenders}\n[design]\nblocks = 1\nspare_blocks = 0\nwarmup = \"50ms\"\nmeasure = \"1s\"\n{cells}"
        ),
    );
}

#[test]
fn experiment_compares_other_generators_with_ours() {
    let folder = Folder::new();
    folder.system("known", &["--delay", "2ms"]);
    pretend(&folder, "wrk", WRK, 0);
    let closed =
        |driver: &str| format!("kind = \"closed\", connections = 8, driver = \"{driver}\"");
    let cells = [
        ("ours", "kind = \"closed\", connections = 8"),
        ("wrk", &closed("wrk")),
        ("broken", &closed("oha")),
        ("none", &closed("gatling")),
    ];
    of_cells(&folder, "", &cells, "truth = { rate = 4000, p50 = \"2ms\" }\n");
    pretend(&folder, "oha", "no such option\n", 1);
    // Only the tools of the test are on the PATH.
    let path = format!("{}:/usr/bin:/bin", folder.path().join("tools").display());
    let run = |arguments: &[&str]| {
        Ran::from(folder.faceoff(arguments).env("PATH", &path).output().unwrap())
    };
    run(&["run", "x", "--plan"])
        .expect(0)
        .says("cell       wrk: closed loop, 8 connections, by wrk, workload hello");
    let ran = run(&["run", "x", "--out", "r"])
        .expect(0)
        .says(
            "skipped: cell none: needs gatling on the PATH (`mvn -q package` in catalog/generators/gatling",
        )
        .says("Generators before known (closed loop, 8 connections, workload hello)")
        .says("external-generator: cell broken, oha: oha ended with exit 1");
    let record = folder.record("r");
    ran.says(&format!("{} loaded known. The tables show what each reached", used(&record)));
    assert_eq!(
        record.header.skipped_cells.iter().map(|s| s.cell.as_str()).collect::<Vec<_>>(),
        ["none"]
    );
    let [trial] = record.trials.as_slice() else { panic!("{:?}", record.trials) };
    assert_eq!(trial.measurements.iter().map(|m| m.cell.as_str()).collect::<Vec<_>>(), ["ours"]);
    let [external_reports] = trial.external_reports.as_slice() else {
        panic!("{:?}", trial.external_reports)
    };
    assert!(
        external_reports.usage.cpu_ns > 10_000_000
            && external_reports.usage.rss_max_bytes > 100_000,
        "{external_reports:?}"
    );
    assert!(
        external_reports.arguments.contains(&"-c8".to_owned())
            && external_reports.circumstances.is_some(),
        "{external_reports:?}"
    );
    check_lines(&undisturbed(record));
    let page = std::fs::read_to_string(folder.path().join("r/page.html")).unwrap();
    assert!(page.contains(r#""generator":"wrk""#) && page.contains("cell none"));
    crate::by_schema::is_by_schema(&folder, "r");
    assert!(
        !folder.path().join("r/starts").exists()
            || !folder.path().join("r/starts/block-001-known/external-wrk").exists()
    );
    nothing_is_left(&folder);
}

/// Returns the names of the generators whose trial was used, which CPU steal may exclude.
fn used(record: &Record) -> String {
    let judgement = judge::judge(record);
    let lines = judgement.external_generators.iter().flat_map(|of| &of.lines);
    let names =
        lines.filter(|line| line.used > 0).map(|l| l.driver.map_or("faceoff", Driver::name));
    names.collect::<Vec<_>>().join(", ")
}

/// Removes what other programs and the hypervisor did on the CPUs, which may exclude any figure.
fn undisturbed(mut record: Record) -> Record {
    for trial in &mut record.trials {
        let reports = trial.external_reports.iter_mut().map(|r| &mut r.circumstances);
        let measurements = trial.measurements.iter_mut().map(|m| &mut m.circumstances);
        for circumstances in reports.chain(measurements).flatten() {
            circumstances.cpus.clear();
        }
    }
    record
}

/// Checks the lines of the judgement on our generator, wrk and a broken one.
fn check_lines(record: &Record) {
    let judgement = judge::judge(record);
    assert!(
        judgement.excluded.is_empty() && judgement.verdicts.is_empty() && !judgement.incomplete,
        "{judgement:?}"
    );
    let [external_generators] = judgement.external_generators.as_slice() else {
        panic!("{:?}", judgement.external_generators)
    };
    assert_eq!(
        external_generators.truth.map(|t| (t.rate_per_s, t.p50_ms, t.p99_ms)),
        Some((Some(4000.0), Some(2.0), None))
    );
    let [ours, wrk, broken] = external_generators.lines.as_slice() else {
        panic!("{:?}", external_generators.lines)
    };
    assert!(
        ours.driver.is_none()
            && ours.used == 1
            && ours.p50_ms.is_some_and(|ms| ms >= 2.0)
            && ours.memory_mb.is_some_and(|mb| mb > 1.0),
        "{ours:?}"
    );
    let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 1e-6);
    assert!(
        near(wrk.rate_per_s, 3281.64)
            && near(wrk.p50_ms, 2.09)
            && near(wrk.p99_ms, 7.54)
            && near(wrk.failed_percent.map(|f| f + 1.0), 1.0),
        "{wrk:?}"
    );
    assert!(
        wrk.cpu_us_per_request.is_some_and(|us| us > 1.0)
            && wrk.memory_mb.is_some()
            && !wrk.differs.is_empty(),
        "{wrk:?}"
    );
    assert_eq!((broken.used, broken.rate_per_s), (0, None));
}

#[test]
fn figures_of_other_generators_decide_nothing() {
    let folder = Folder::new();
    folder.system("known", &[]);
    folder.system("other", &[]);
    let path = pretend(&folder, "wrk", WRK, 0);
    let cells = [
        ("ours", "kind = \"closed\", connections = 2"),
        ("wrk", "kind = \"closed\", connections = 8, driver = \"wrk\""),
    ];
    of_cells(&folder, "contenders = [\"other\"]", &cells, "");
    let ran =
        Ran::from(folder.faceoff(&["run", "x", "--out", "r"]).env("PATH", &path).output().unwrap());
    // One block gives no ranking, and other programs may invalidate it.
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert!(!ran.out.contains("wrk (closed loop"), "{}", ran.out);
    let judgement = judge::judge(&folder.record("r"));
    assert!(
        judgement.verdicts.iter().all(|v| v.cell.as_deref() != Some("wrk"))
            && !judgement.verdicts.is_empty()
    );
    assert_eq!(
        judgement.external_generators.iter().map(|w| w.lines.len()).collect::<Vec<_>>(),
        [1, 1],
        "a load of its own, of each contender"
    );
}

#[test]
fn unsupported_driver_is_reported_with_line() {
    let folder = Folder::new();
    folder.system("known", &[]);
    folder.system("other", &[]);
    let says = |contenders: &str, load: &str, more: &str, what: &str| {
        of_cells(&folder, contenders, &[("ours", load)], more);
        folder.run(&["run", "x", "--plan"]).expect(2).says(what).says("experiments/x.toml:");
    };
    says(
        "",
        "kind = \"arrivals\", rate = 5, driver = \"wrk\"",
        "",
        "wrk cannot make the load of `ours`: it sends as fast",
    );
    says("", "kind = \"closed\", connections = 2, driver = \"wrkk\"", "", "cannot be `wrkk`");
    says(
        "",
        "kind = \"closed\", connections = [2, 4], driver = \"wrk\"",
        "",
        "the cell `ours` has a list of levels, which `driver = \"wrk\"` does not support",
    );
    says(
        "",
        "kind = \"capacity\", of = \"rate\", service_level = \"p95<1ms\", driver = \"k6\"",
        "",
        "k6 cannot make the load",
    );
    says(
        "contenders = [\"other\"]",
        "kind = \"closed\", connections = 2",
        "truth = { p50 = \"1ms\" }\n",
        "known results are about one system",
    );
    let claim = "[[claim]]\ntext = \"t\"\ncontender = \"other\"\nmetric = \"throughput\"\nexpects = \"higher\"\ncells = [\"ours\"]\n";
    says(
        "contenders = [\"other\"]",
        "kind = \"closed\", connections = 2, driver = \"wrk\"",
        claim,
        "cells with `driver` get no verdicts",
    );
    folder.write(
        "workloads/hello.toml",
        "name = \"hello\"\nsummary = \"s\"\n[[step]]\npath = \"/${round}\"\n[step.answer]\nstatus = 200\nbody = \"x\"\n",
    );
    says(
        "",
        "kind = \"closed\", connections = 2, driver = \"wrk\"",
        "",
        "values that differ from pass to pass are not carried over",
    );
}

/// Loads a server through a program that prints a stored output; the arguments choose the load.
fn as_driven(driver: &str, prints: &str, more: &[&str]) -> Value {
    let (server, folder) = (ControlServer::start(&[]), Folder::new());
    let url = format!("{}/", server.url);
    let path = pretend(&folder, driver, prints, 0);
    let arguments =
        [&["load", &url, "-d", "2s", "--driver", driver, "--format", "json"][..], more].concat();
    let ran = Ran::from(folder.faceoff(&arguments).env("PATH", &path).output().unwrap()).expect(0);
    serde_json::from_str::<Value>(&ran.out).unwrap()["reported"].clone()
}

#[test]
fn table_of_newer_h2load_is_read() {
    let reported = as_driven(
        "h2load",
        include_str!("../../../../interop/samples/outputs/h2load-1.70.txt"),
        &["-c", "24"],
    );
    let latency = &reported["latency_us"];
    let near = |found: &Value, known: f64| {
        found.as_f64().is_some_and(|found| (found / known - 1.0).abs() < 1e-6)
    };
    assert!(near(&reported["requests"], 120_961.0) && reported["errors"] == 0.0, "{reported}");
    assert!(
        near(&latency["mean"], 6_310.0) && near(&latency["quantiles"]["p50"], 5_900.0),
        "{reported}"
    );
    assert!(
        near(&latency["quantiles"]["p95"], 10_800.0)
            && near(&latency["quantiles"]["p99"], 17_300.0),
        "{reported}"
    );
}
