//! Faults that come from limits: descriptors, ports, listen queues.

use super::*;

#[test]
fn contender_short_of_descriptors_is_a_fault() {
    let _alone = alone();
    let folder = Folder::new();
    behind(&folder, "a", "ulimit -n 40;", &[]);
    folder.system("b", &[]);
    experiment(&folder, &["b", "a"], 1, "1s", "load = { kind = \"closed\", connections = 60 }", "");
    let all = faults(&folder);
    assert_shows(&all, "descriptors", "of 40 descriptors");
    assert!(
        all.iter().all(|f| f.kind != "descriptors" || f.place.contains(", a, ")),
        "b has enough: {all:#?}"
    );
}

#[test]
#[ignore = "needs 2000 descriptors"]
fn generator_short_of_descriptors_is_a_fault() {
    let _alone = alone();
    need("2000 descriptors");
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(
        &folder,
        &["a", "b"],
        1,
        "300ms",
        "load = { kind = \"closed\", connections = 1930 }",
        "",
    );
    let shell = "ulimit -n 2000 && exec \"$0\" run x --out r";
    let mut short = Command::new("sh");
    short
        .args(["-c", shell, env!("CARGO_BIN_EXE_faceoff")])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path());
    let ran = Ran::from(short.output().unwrap());
    assert!(!ran.err.contains("ulimit"), "{ran:?}");
    assert_shows(&read(&folder).1.faults, "descriptors", "the generator held");
}

#[test]
fn intended_descriptor_limit_is_no_fault() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(
        &folder,
        &["a", "b"],
        1,
        "300ms",
        "load = { kind = \"closed\", connections = 60 }",
        "[place]\ndescriptors = 40",
    );
    let all = faults(&folder);
    assert!(all.iter().all(|f| f.kind != "descriptors"), "{all:#?}");
}

#[test]
#[ignore = "needs network namespaces"]
fn exhausted_ephemeral_ports_are_a_fault() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &[]);
    experiment(
        &folder,
        &["a", "b"],
        1,
        "300ms",
        "load = { kind = \"closed\", connections = 60 }",
        "",
    );
    let narrow = "echo 40000 40067 > /proc/sys/net/ipv4/ip_local_port_range &&";
    must_be_in_own_network(&folder, narrow);
    assert_shows(&read(&folder).1.faults, "ports", "of 68 ephemeral ports");
}

#[test]
#[ignore = "needs network namespaces"]
fn full_listen_queue_and_retransmissions_are_faults() {
    let _alone = alone();
    let folder = Folder::new();
    two(&folder, &["--backlog", "1", "--accept-every", "100ms", "--delay", "10ms"]);
    experiment(
        &folder,
        &["a", "b"],
        1,
        "1500ms",
        "load = { kind = \"closed\", connections = 40 }",
        "",
    );
    must_be_in_own_network(&folder, "");
    let all = read(&folder).1.faults;
    assert_shows(&all, "backlog", "a listener's queue was full");
    assert_shows(&all, "retransmits", "TCP segments were retransmitted");
}
