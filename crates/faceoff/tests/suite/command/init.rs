//! `faceoff init`: two services, from an empty folder to a verdict.

use crate::folder::{Folder, Ran, control, nothing_is_left};
use std::path::Path;

/// Returns an empty folder, and another one with the control server as a user's program.
fn place() -> (Folder, tempfile::TempDir) {
    let program = tempfile::tempdir().unwrap();
    std::fs::write(
        program.path().join("server.sh"),
        format!("exec {} \"$@\"\n", control().display()),
    )
    .unwrap();
    let folder = Folder::new();
    std::fs::remove_dir_all(folder.path().join("workloads")).unwrap();
    (folder, program)
}

fn init(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["--dir", "mine", "init"], more].concat())
}

fn is_empty(folder: &Path) -> bool {
    ["systems", "workloads", "experiments"]
        .iter()
        .all(|sub| !folder.join("mine").join(sub).exists())
}

#[test]
fn options_create_files_that_check_and_run() {
    let (folder, program) = place();
    let place = program.path().to_str().unwrap();
    let flags = [
        "--service",
        "plain=sh server.sh --port {port}",
        "--service",
        "slow=sh server.sh --port {port} --cpu 300us",
        "--in",
        &format!("plain={place}"),
        "--in",
        &format!("slow={place}"),
        "--request",
        "/a?size=20",
        "--ready",
        "5s",
    ];
    init(&folder, &flags)
        .expect(0)
        .says("wrote systems/plain/system.toml")
        .says("2 correct, 0 skipped, 0 failed")
        .says("run plain-or-slow --quick");
    let body = std::fs::read(folder.path().join("mine/workloads/request.body")).unwrap();
    assert_eq!(body, b"abcdefghijklmnopqrst", "the answer as it came");
    init(&folder, &flags)
        .expect(2)
        .says("mine/systems/plain/system.toml already exists")
        .says("--force");
    init(&folder, &[&flags[..], &["--force"]].concat()).expect(0);
    let plan =
        folder.run(&["--dir", "mine", "run", "plain-or-slow", "--quick", "--plan"]).expect(0);
    plan.says("baseline   plain").says("contender  slow").says("closed loop, 8 connections");
    nothing_is_left(&folder);
}

#[test]
fn missing_options_are_asked_for() {
    let (folder, program) = place();
    let place = program.path().to_str().unwrap();
    std::fs::write(program.path().join("build.sh"), "cp server.sh built.sh\n").unwrap();
    std::fs::write(program.path().join("Makefile"), "all:\n").unwrap();
    let answers = format!(
        "one\nsh built.sh --port {{port}}\n{place}\nsh build.sh\nbuilt.sh\n\
         two\nsh -c 'exec sh server.sh --port $LISTEN'\n{place}\n\nLISTEN\n\
         POST /echo {{\"a\":1}}\n5s\n"
    );
    let output = folder.faceoff(&["--dir", "mine", "init"]).write_stdin(answers).output().unwrap();
    let ran = Ran::from(output);
    // The echo contains the port, which changes with each start.
    let ran = ran.says("any body: it contains the service's own address").expect(0);
    assert!(ran.err.contains("built one"), "{}", ran.err);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("mine").join(name)).unwrap();
    let (one, two) = (read("systems/one/system.toml"), read("systems/two/system.toml"));
    assert!(one.contains("inputs  = [\"Makefile\"]\noutputs = [\"built.sh\"]"), "{one}");
    assert!(
        two.contains("env   = { \"LISTEN\" = \"{port.http}\" }") && !two.contains("[build]"),
        "{two}"
    );
    assert!(read("workloads/request.toml").contains("method = \"POST\""));
    nothing_is_left(&folder);
}

#[test]
fn different_responses_are_reported_and_files_stay() {
    let (folder, program) = place();
    let place = program.path().to_str().unwrap();
    let service = |name: &str, more: &str| format!("{name}=sh server.sh --port {{port}}{more}");
    let flags = [
        "--service",
        &service("a", ""),
        "--service",
        &service("b", " --body-size 9"),
        "--in",
        &format!("a={place}"),
        "--in",
        &format!("b={place}"),
        "--ready",
        "2s",
    ];
    init(&folder, &flags)
        .expect(1)
        .says("a body of 9 bytes instead of 74")
        .says("Keep there what matters");
    assert!(folder.path().join("mine/workloads/request.toml").exists());
    nothing_is_left(&folder);
}

#[test]
fn failed_init_leaves_nothing_behind() {
    let (folder, _program) = place();
    let two = ["--service", "a=no-such-program {port}", "--service", "b=sleep 9", "--ready", "1s"];
    init(&folder, &two)
        .expect(1)
        .says("a does not respond correctly (start): no-such-program cannot be started");
    assert!(is_empty(folder.path()));
    init(&folder, &["--service", "b=sleep 9", "--service", "a=x {port}", "--ready", "300ms"])
        .expect(1)
        .says("its port is in the variable PORT");
    assert!(is_empty(folder.path()));
    for (flags, said) in [
        (vec!["--service", "a=x && y"], "`&&` needs a shell"),
        (vec!["--service", "a"], "write the service's name, `=` and the value"),
        (vec!["--service", "a/b=x"], "cannot name a service"),
        (vec!["--service", "a=x", "--service", "a=y"], "both services are named `a`"),
        (vec!["--service", "a=x", "--service", "b=y", "--in", "bb=."], "did you mean `b`?"),
        (
            vec!["--service", "a=x", "--service", "b=y", "--in", "b=/no/such"],
            "/no/such is not a folder",
        ),
        (
            vec!["--service", "a=x", "--service", "b=y", "--build", "b=make"],
            "the file that the build of b produces is not known",
        ),
        (
            vec!["--service", "a=x", "--service", "b=y", "--request", "orders"],
            "`orders` is not a request",
        ),
        (vec![], "no answer to: The command that starts one"),
    ] {
        init(&folder, &flags).expect(2).says(said);
        assert!(is_empty(folder.path()), "{flags:?}");
    }
    nothing_is_left(&folder);
}

#[test]
fn project_is_recognised_and_missing_program_is_built() {
    let (folder, program) = place();
    let place = program.path().to_str().unwrap();
    std::fs::write(program.path().join("go.mod"), "module example.org/served\n\ngo 1.20\n")
        .unwrap();
    std::fs::write(
        program.path().join("main.go"),
        "package main\n\nfunc main() { no such thing }\n",
    )
    .unwrap();
    let in_place = [format!("a={place}"), format!("b={place}")];
    let flags = [
        "--service",
        "a=./served {port}",
        "--service",
        "b=./served {port}",
        "--in",
        &in_place[0],
        "--in",
        &in_place[1],
    ];
    // The sources are invalid, so the build fails, with or without Go.
    init(&folder, &flags)
        .expect(1)
        .says("a has go.mod and no served: faceoff builds it with `go build -o served .`")
        .says("a cannot start:");
    assert!(is_empty(folder.path()));
    let twice = init(&folder, &flags).err.matches("its build failed").count();
    assert_eq!(twice, 1, "it is printed once");
    std::fs::write(
        program.path().join("served"),
        format!("#!/bin/sh\nexec {} --port \"$1\"\n", control().display()),
    )
    .unwrap();
    std::fs::set_permissions(
        program.path().join("served"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    init(&folder, &flags)
        .expect(0)
        .says("a runs as it is; faceoff does not build it")
        .says("--build 'a=go build -o served .' --makes a=served");
    let manifest =
        std::fs::read_to_string(folder.path().join("mine/systems/a/system.toml")).unwrap();
    assert!(!manifest.contains("[build]") && !manifest.contains("jdk"), "{manifest}");
    nothing_is_left(&folder);
}

#[test]
fn maven_project_gets_its_jdk() {
    let (folder, program) = place();
    let place = program.path().to_str().unwrap();
    let pom = "<project><artifactId>a</artifactId><version>1</version><properties>\
        <maven.compiler.release>99</maven.compiler.release></properties></project>";
    std::fs::write(program.path().join("pom.xml"), pom).unwrap();
    let flags = [
        "--service",
        "a=java -jar target/a-1.jar {port}",
        "--service",
        "b=sleep 9",
        "--in",
        &format!("a={place}"),
    ];
    init(&folder, &flags).expect(1).says("JDK 99").says("a has pom.xml and no target/a-1.jar");
    assert!(is_empty(folder.path()));
}
