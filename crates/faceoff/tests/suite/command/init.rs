//! Two services of one's own, from an empty folder to a verdict.

use crate::folder::{Folder, Ran, control, nothing_is_left};
use std::path::Path;

/// An empty folder, and the control server in a folder of its own, as somebody's program.
fn place() -> (Folder, tempfile::TempDir) {
    let program = tempfile::tempdir().unwrap();
    std::fs::write(program.path().join("server.sh"), format!("exec {} \"$@\"\n", control().display())).unwrap();
    let folder = Folder::new();
    std::fs::remove_dir_all(folder.path().join("workloads")).unwrap();
    (folder, program)
}

fn init(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["--dir", "mine", "init"], more].concat())
}

fn is_empty(folder: &Path) -> bool {
    ["systems", "workloads", "experiments"].iter().all(|sub| !folder.join("mine").join(sub).exists())
}

#[test]
fn flags_make_files_that_check_and_run_at_once() {
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
        .says("2 right, 0 skipped, 0 failed")
        .says("run plain-or-slow --quick");
    let body = std::fs::read(folder.path().join("mine/workloads/request.body")).unwrap();
    assert_eq!(body, b"abcdefghijklmnopqrst", "the answer as it came");
    init(&folder, &flags).expect(2).says("mine/systems/plain/system.toml is there already").says("--force");
    init(&folder, &[&flags[..], &["--force"]].concat()).expect(0);
    let plan = folder.run(&["--dir", "mine", "run", "plain-or-slow", "--quick", "--plan"]).expect(0);
    plan.says("baseline   plain").says("contender  slow").says("closed loop, 8 connections");
    nothing_is_left(&folder);
}

#[test]
fn what_no_flag_says_is_asked() {
    let (folder, program) = place();
    let place = program.path().to_str().unwrap();
    std::fs::write(program.path().join("build.sh"), "cp server.sh built.sh\n").unwrap();
    std::fs::write(program.path().join("Makefile"), "all:\n").unwrap();
    let answers = format!(
        "one\n{place}\nsh build.sh\nbuilt.sh\nsh built.sh --port {{port}}\n\
         two\n{place}\n\nsh -c 'exec sh server.sh --port $LISTEN'\nLISTEN\n\
         POST /echo {{\"a\":1}}\n5s\n"
    );
    let output = folder.faceoff(&["--dir", "mine", "init"]).write_stdin(answers).output().unwrap();
    let ran = Ran::from(output);
    // What is echoed names the port, which is another in each start.
    let ran = ran.says("whatever the body: it changed").expect(0);
    assert!(ran.err.contains("built one"), "{}", ran.err);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("mine").join(name)).unwrap();
    let (one, two) = (read("systems/one/system.toml"), read("systems/two/system.toml"));
    assert!(one.contains("inputs  = [\"Makefile\"]\noutputs = [\"built.sh\"]"), "{one}");
    assert!(two.contains("env   = { \"LISTEN\" = \"{port.http}\" }") && !two.contains("[build]"), "{two}");
    assert!(read("workloads/request.toml").contains("method = \"POST\""));
    nothing_is_left(&folder);
}

#[test]
fn services_that_answer_otherwise_are_told_and_the_files_stay() {
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
    init(&folder, &flags).expect(1).says("a body of 9 bytes instead of 74").says("say there what of it matters");
    assert!(folder.path().join("mine/workloads/request.toml").exists());
    nothing_is_left(&folder);
}

#[test]
fn a_try_that_fails_leaves_nothing_behind() {
    let (folder, _program) = place();
    let two = ["--service", "a=no-such-program {port}", "--service", "b=sleep 9", "--ready", "1s"];
    init(&folder, &two).expect(1).says("a does not answer (start): no-such-program cannot be started");
    assert!(is_empty(folder.path()));
    init(&folder, &["--service", "b=sleep 9", "--service", "a=x {port}", "--ready", "300ms"]).expect(1).says("its port is told in PORT");
    assert!(is_empty(folder.path()));
    for (flags, said) in [
        (vec!["--service", "a=x && y"], "`&&` is a shell's"),
        (vec!["--service", "a"], "write the service's name, `=` and the value"),
        (vec!["--service", "a/b=x"], "cannot name a service"),
        (vec!["--service", "a=x", "--service", "a=y"], "both services are named `a`"),
        (vec!["--service", "a=x", "--service", "b=y", "--in", "bb=."], "did you mean `b`?"),
        (vec!["--service", "a=x", "--service", "b=y", "--in", "b=/no/such"], "/no/such is no folder"),
        (vec!["--service", "a=x", "--service", "b=y", "--build", "b=make"], "nothing says what the build of b makes"),
        (vec!["--service", "a=x", "--service", "b=y", "--request", "orders"], "`orders` is no request"),
        (vec![], "nobody answers: The command that starts one"),
    ] {
        init(&folder, &flags).expect(2).says(said);
        assert!(is_empty(folder.path()), "{flags:?}");
    }
    nothing_is_left(&folder);
}
