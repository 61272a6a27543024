//! Names what tests need and not every machine has, and checks whether it is there.
//!
//! A test that needs something says so in its attribute, as in `#[ignore = "needs go and two
//! CPUs"]`, and calls [`need`] with each of these names. So a run of the tests lists it as ignored
//! with its reason, and a run that asks for it fails where something is missing. No test returns
//! early. The reason is read by `scripts/test`:
//!
//! ```text
//! REASON = NEEDS | "long" [ ", " NEEDS ] [ ": " what it takes ]
//! NEEDS  = "needs " NAME { " and " NAME }
//! ```
//!
//! Every machine is expected to have Rust, a POSIX shell, bash, coreutils, util-linux, procps and
//! git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A need of tests that not every machine meets.
struct Need {
    name: &'static str,
    /// Returns what is missing here, if anything.
    missing: fn() -> Option<String>,
    hint: &'static str,
}

/// All needs. `scripts/test` reads what [`they_are_listed`] prints.
const NEEDS: &[Need] = &[
    Need {
        name: "docker",
        missing: docker,
        hint: "start Docker and have DOCKER_HOST name its socket: unix:///var/run/docker.sock",
    },
    Need {
        name: "kubernetes",
        missing: kubernetes,
        hint: "have KUBECONFIG name a cluster and FACEOFF_KUBE_LOAD a command that brings images to it",
    },
    Need {
        name: "kubernetes ingress",
        missing: ingress,
        hint: "install an ingress class in the cluster, or nginx on this machine",
    },
    Need {
        name: "kubernetes database",
        missing: || variables(&["FACEOFF_KUBE_DATABASE"]),
        hint: "name a PostgreSQL that pods reach: postgres://user:password@10.0.0.7:5432/name",
    },
    Need {
        name: "engine control",
        missing: || variables(&["FACEOFF_ENGINE_KILL", "FACEOFF_ENGINE_UP"]),
        hint: "have them hold shell commands that kill the engine and start it again",
    },
    Need {
        name: "two CPUs",
        missing: two_cpus,
        hint: "run it on a machine, or in a CPU set, with two CPUs",
    },
    Need {
        name: "network namespaces",
        missing: || {
            Unshare::find()
                .is_none()
                .then(|| "neither `unshare -n` nor `unshare -Urn` runs `ip link set lo up`".into())
        },
        hint: "install iproute2, and run as root or allow user namespaces",
    },
    Need {
        name: "user namespaces",
        missing: || fails("unshare", &["--user", "--map-root-user", "true"]),
        hint: "set kernel.unprivileged_userns_clone=1 or user.max_user_namespaces above 0",
    },
    Need {
        name: "CPU quotas",
        missing: || {
            crate::measuring::Quota::new()
                .is_none()
                .then(|| "no control group with a CPU quota can be made".into())
        },
        hint: "run as root, outside of a container or in one with a writable /sys/fs/cgroup",
    },
    Need {
        name: "sampling",
        missing: sampling,
        hint: "set kernel.perf_event_paranoid to 0, or run as root",
    },
    Need {
        name: "strace",
        missing: || fails("sh", &["-c", ATTACHES]),
        hint: "install strace, and set kernel.yama.ptrace_scope to 0, or run as root",
    },
    Need {
        name: "2000 descriptors",
        missing: || descriptors(2_000),
        hint: "raise the hard limit: ulimit -Hn",
    },
    Need {
        name: "16384 descriptors",
        missing: || descriptors(16_384),
        hint: "raise the hard limit: ulimit -Hn",
    },
    Need {
        name: "settable clock",
        missing: || variables(&["FACEOFF_TEST_CLOCK"]),
        hint: "as root, with FACEOFF_TEST_CLOCK=1, the test sets this machine's clock by 80 ms and back",
    },
    Need { name: "go", missing: || fails("go", &["version"]), hint: "install Go" },
    Need {
        name: "java",
        missing: || fails("java", &["-version"]),
        hint: "install a JDK, 17 or newer",
    },
    Need { name: "maven", missing: || fails("mvn", &["-v"]), hint: "install Maven" },
    Need { name: "node", missing: || fails("node", &["--version"]), hint: "install Node" },
    Need {
        name: "python3",
        missing: || fails("python3", &["--version"]),
        hint: "install Python 3",
    },
    Need {
        name: "python3.12",
        missing: || fails("python3.12", &["--version"]),
        hint: "install Python 3.12",
    },
    Need { name: "openssl", missing: || fails("openssl", &["version"]), hint: "install openssl" },
    Need { name: "nginx", missing: || fails("nginx", &["-v"]), hint: "install nginx" },
    Need { name: "haproxy", missing: || fails("haproxy", &["-v"]), hint: "install HAProxy" },
    Need { name: "wrk", missing: || on_path("wrk"), hint: "install wrk" },
    Need {
        name: "wrk2",
        missing: || on_path("wrk2"),
        hint: "build it: https://github.com/giltene/wrk2",
    },
    Need { name: "h2load", missing: || on_path("h2load"), hint: "install nghttp2-client" },
    Need { name: "oha", missing: || on_path("oha"), hint: "cargo install oha --locked" },
    Need { name: "k6", missing: || on_path("k6"), hint: "install k6" },
    Need {
        name: "IPv6",
        missing: || {
            std::net::TcpListener::bind("[::1]:0")
                .err()
                .map(|e| format!("[::1] cannot be listened on: {e}"))
        },
        hint: "have the loopback interface carry ::1",
    },
    Need { name: "feature agent", missing: || feature(cfg!(feature = "agent")), hint: FULL },
    Need {
        name: "feature openapi-yaml",
        missing: || feature(cfg!(feature = "openapi-yaml")),
        hint: FULL,
    },
    Need { name: "feature parquet", missing: || feature(cfg!(feature = "parquet")), hint: FULL },
    Need { name: "feature png", missing: || feature(cfg!(feature = "png")), hint: FULL },
    Need { name: "feature serve", missing: || feature(cfg!(feature = "serve")), hint: FULL },
    Need {
        name: "a build without agent",
        missing: || without(cfg!(feature = "agent")),
        hint: LEAN,
    },
    Need {
        name: "a build without generate",
        missing: || without(cfg!(feature = "generate")),
        hint: LEAN,
    },
    Need {
        name: "a build without openapi-yaml",
        missing: || without(cfg!(feature = "openapi-yaml")),
        hint: LEAN,
    },
    Need {
        name: "a build without parquet",
        missing: || without(cfg!(feature = "parquet")),
        hint: LEAN,
    },
    Need { name: "a build without png", missing: || without(cfg!(feature = "png")), hint: LEAN },
    Need {
        name: "a build without serve",
        missing: || without(cfg!(feature = "serve")),
        hint: LEAN,
    },
];

/// Succeeds if strace may attach to a process that it has not started.
const ATTACHES: &str = "sleep 9 & timeout -s INT 1 strace -c -p $! 2>&1 | grep -q attached; \
                        found=$?; kill $!; exit $found";

const FULL: &str = "build with `--features full`";
const LEAN: &str = "build without features";

/// Fails the test if the named need is not met.
#[track_caller]
pub fn need(name: &str) {
    let need = NEEDS
        .iter()
        .find(|need| need.name == name)
        .unwrap_or_else(|| panic!("`{name}` is not in the list of needs"));
    if let Some(missing) = (need.missing)() {
        panic!("this test needs {name}: {missing}\nhint: {}", need.hint);
    }
}

/// Fails the test if any of these needs is not met.
#[track_caller]
pub fn need_all(names: &[&str]) {
    names.iter().for_each(|name| need(name));
}

fn variables(names: &[&str]) -> Option<String> {
    let unset: Vec<&str> =
        names.iter().copied().filter(|name| std::env::var_os(name).is_none()).collect();
    (!unset.is_empty()).then(|| format!("{} not set", unset.join(" and ")))
}

fn feature(is_there: bool) -> Option<String> {
    (!is_there).then(|| "this build is without it".into())
}

fn without(is_there: bool) -> Option<String> {
    is_there.then(|| "this build has the feature".into())
}

fn fails(program: &str, arguments: &[&str]) -> Option<String> {
    let ended = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match ended {
        Err(e) => Some(format!("{program} cannot be started: {e}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
            Some(format!(
                "`{program} {}` ended with {}: {said}",
                arguments.join(" "),
                output.status
            ))
        }
    }
}

/// For programs that exit with an error even for a harmless option.
fn on_path(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    (!is_there).then(|| format!("{program} is not on the PATH"))
}

fn docker() -> Option<String> {
    variables(&["DOCKER_HOST"]).or_else(|| fails("docker", &["version"]))
}

fn kubernetes() -> Option<String> {
    variables(&["KUBECONFIG", "FACEOFF_KUBE_LOAD"]).or_else(|| fails("kubectl", &["version"]))
}

fn ingress() -> Option<String> {
    let classes = Command::new("kubectl").args(["get", "ingressclasses", "--output=name"]).output();
    let has_class =
        classes.is_ok_and(|output| output.status.success() && !output.stdout.is_empty());
    if has_class {
        None
    } else {
        fails("nginx", &["-v"])
            .map(|missing| format!("the cluster has no ingress class, and {missing}"))
    }
}

fn two_cpus() -> Option<String> {
    let usable = runner::cpus::usable();
    (usable.len() < 2).then(|| format!("usable here: {usable:?}"))
}

fn sampling() -> Option<String> {
    let own = runner::profile::Target { roots: vec![std::process::id()], others: Vec::new() };
    runner::profile::Profiler::start(&[own], &runner::cpus::usable()).err()
}

fn descriptors(count: u64) -> Option<String> {
    fails("sh", &["-c", &format!("ulimit -n {count}")])
}

/// How a process gets its own network.
pub struct Unshare {
    flags: &'static str,
}

impl Unshare {
    pub fn find() -> Option<Unshare> {
        let works =
            |flags: &&str| fails("unshare", &[flags, "ip", "link", "set", "lo", "up"]).is_none();
        ["-n", "-Urn"].into_iter().find(works).map(|flags| Unshare { flags })
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new("unshare");
        command.arg(self.flags);
        command
    }
}

/// Prints for each need whether it is met; `scripts/test` reads the lines.
#[test]
fn they_are_listed() {
    let _machine = crate::machine::share();
    for need in NEEDS {
        match (need.missing)() {
            None => println!("need {}: met", need.name),
            Some(missing) => println!(
                "need {}: missing: {}; hint: {}",
                need.name,
                missing.replace('\n', "; "),
                need.hint
            ),
        }
    }
    let mut names: Vec<&str> = NEEDS.iter().map(|need| need.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), NEEDS.len());
    assert!(
        names.iter().all(|name| !name.contains([',', ':', '"']) && !name.contains(" and ")),
        "{names:?}"
    );
}

/// Returns the needs that a reason names; `None` if it has another form.
fn needs_of(reason: &str) -> Option<Vec<&str>> {
    let (needs, takes) = reason.split_once(": ").unwrap_or((reason, "-"));
    let needs = match needs.strip_prefix("long") {
        Some("") => return (!takes.is_empty()).then(Vec::new),
        Some(rest) => rest.strip_prefix(", ")?,
        None => needs,
    };
    let names: Vec<&str> = needs.strip_prefix("needs ")?.split(" and ").collect();
    names.iter().all(|name| !name.is_empty() && !name.contains(',')).then_some(names)
}

#[test]
fn ignore_reason_names_the_need() {
    assert_eq!(needs_of("needs go and two CPUs"), Some(vec!["go", "two CPUs"]));
    assert_eq!(needs_of("long"), Some(vec![]));
    assert_eq!(needs_of("long: half an hour"), Some(vec![]));
    assert_eq!(needs_of("long, needs docker: twenty rounds"), Some(vec!["docker"]));
    for other in [
        "takes half an hour",
        "longer",
        "long needs docker",
        "need go",
        "needs ",
        "needs go, java",
        "long, half an hour",
    ] {
        assert_eq!(needs_of(other), None, "{other}");
    }
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

/// Covers every crate, so that `scripts/test` can parse every reason.
#[test]
fn every_ignored_test_names_its_need() {
    let mut all = Vec::new();
    for folder in ["crates", "catalog/systems/control", "bench", "fuzz"] {
        sources(&crate::documents::root().join(folder), &mut all);
    }
    let mut reasons = 0;
    let begins = format!("{} = \"", "ignore");
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            !text.contains(&format!("#[{}]", "ignore")),
            "{}: a test is ignored without a reason",
            path.display()
        );
        for rest in text.split(&begins).skip(1).filter(|_| !path.ends_with("needs.rs")) {
            let reason = rest.split('"').next().unwrap();
            let names = needs_of(reason).unwrap_or_else(|| {
                panic!("{}: `{reason}` is no reason as needs.rs has it", path.display())
            });
            let unknown: Vec<&str> = names
                .into_iter()
                .filter(|name| NEEDS.iter().all(|need| need.name != *name))
                .collect();
            assert!(
                unknown.is_empty(),
                "{}: `{reason}` names {unknown:?}, which needs.rs does not know",
                path.display()
            );
            reasons += 1;
        }
    }
    assert!(reasons > 60, "{reasons} reasons were read");
}
