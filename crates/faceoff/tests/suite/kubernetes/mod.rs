//! Systems in pods of a real cluster, which KUBECONFIG names. FACEOFF_KUBE_LOAD loads images into
//! it.

use crate::contained::{check_contained_profiles, check_contained_run};
use crate::engines::kills::{self, Victim};
use crate::engines::limits;
use crate::folder::{Folder, Ran, nothing_is_left};
use crate::machine::{Alone, alone};
use crate::needs::{need, need_all};
use record::{Fault, Trial};
use spec::experiment::{Network, RunnerKind};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for the removal of a namespace.
const GONE_WITHIN: Duration = Duration::from_secs(90);
/// Time limit for the first trial of a run.
const FIRST_TRIAL_WITHIN: Duration = Duration::from_secs(240);

/// A folder whose systems run in a cluster that no other test uses.
struct Cluster {
    folder: Folder,
    _alone: Alone,
}

impl Cluster {
    fn named() -> Cluster {
        let alone = alone();
        need("kubernetes");
        Cluster { folder: Folder::new(), _alone: alone }
    }

    /// Writes a system with time limits for a cluster.
    fn system(&self, name: &str, flags: &[&str]) {
        self.folder.system(name, &[&["--listen", "{listen}"][..], flags].concat());
        self.change(name, "within = \"9s\"", "within = \"60s\"");
    }

    fn change(&self, system: &str, from: &str, to: &str) {
        self.folder.replace(&format!("systems/{system}/system.toml"), from, to);
    }

    /// Checks that nothing of ours remains.
    #[track_caller]
    fn is_clean(&self) {
        self.folder.run(&["clean"]).expect(0);
        nothing_is_left(&self.folder);
        let begun = Instant::now();
        while begun.elapsed() < GONE_WITHIN {
            if ours("namespaces").is_empty() {
                let sockets = std::fs::read_dir(self.folder.path())
                    .unwrap()
                    .flatten()
                    .map(|entry| entry.file_name());
                let sockets: Vec<_> = sockets
                    .filter(|name| name.to_string_lossy().starts_with("faceoff-kubernetes"))
                    .collect();
                assert!(
                    sockets.is_empty() && self.folder.notes().is_empty(),
                    "{sockets:?} {:?}",
                    self.folder.notes()
                );
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("still there: {}", ours("namespaces"));
    }
}

fn kubectl(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("kubectl").args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Returns the objects with our label, in all namespaces.
fn ours(kind: &str) -> String {
    kubectl(&["get", kind, "--all-namespaces", "--selector=faceoff.run", "--output=name"]).unwrap()
}

#[test]
#[ignore = "needs kubernetes"]
fn system_responds_in_pod_and_leaves_nothing() {
    let cluster = Cluster::named();
    cluster.system("a", &["--children", "1"]);
    cluster.folder.run(&["check", "a", "--runner", "kubernetes"]).expect(0).says("1 correct");
    // As a process it would leave a child behind.
    cluster.system("b", &[]);
    cluster
        .folder
        .run(&["check", "a:in-kubernetes", "a:in-kubernetes-node-port", "b"])
        .expect(0)
        .says("3 correct");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes and sampling"]
fn contenders_in_pods_are_profiled() {
    let cluster = Cluster::named();
    need("sampling");
    cluster.system("a", &["--cpu", "100us"]);
    cluster.system("b", &["--cpu", "300us"]);
    check_contained_profiles(&cluster.folder, "kubernetes");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn rendered_files_are_in_the_pod() {
    let cluster = Cluster::named();
    cluster.system("a", &[]);
    let body = std::fs::read_to_string(cluster.folder.path().join("workloads/hello.txt")).unwrap();
    cluster.folder.write("systems/a/body.txt", &body);
    cluster.change("a", "\"../../workloads/hello.txt\"", "\"{work}/body.txt\"");
    cluster.change("a", "ports = [\"http\"]", "ports = [\"http\"]\nrender = [\"body.txt\"]");
    cluster.folder.run(&["check", "a", "--runner", "kubernetes"]).expect(0).says("1 correct");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn pod_that_does_not_start_says_why() {
    let cluster = Cluster::named();
    cluster.system("b", &["--no-such-flag"]);
    cluster
        .folder
        .run(&["check", "b", "--runner", "kubernetes"])
        .expect(1)
        .says("exit 2")
        .says("--no-such-flag");
    cluster.system("c", &["--ignore-term"]);
    cluster
        .folder
        .run(&["check", "c", "--runner", "kubernetes"])
        .expect(1)
        .says("did not end within 500 ms and was killed");
    cluster.system("d", &[]);
    cluster.change("d", "within = \"60s\"", "within = \"3s\"");
    cluster.change("c", "within = \"60s\"", "within = \"3s\"");
    cluster.folder.experiment(&["d", "c"], "[place]\nrunner = \"kubernetes\"\ncpu_limit = 1000\n");
    cluster
        .folder
        .run(&["run", "x", "--blocks", "1", "--out", "r"])
        .says("its pod did not run within 3.0 s")
        .says("Insufficient cpu");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn unavailable_image_is_reported() {
    let cluster = Cluster::named();
    // Not in the cluster yet: an image has its summary as a label.
    cluster.system("a", &[]);
    cluster.change(
        "a",
        "summary = \"control\"",
        &format!("summary = \"{}\"", cluster.folder.path().display()),
    );
    let with = |loader: &str| {
        let mut command = cluster.folder.faceoff(&["check", "a", "--runner", "kubernetes"]);
        Ran::from(command.env("FACEOFF_KUBE_LOAD", loader).output().unwrap())
    };
    with("").expect(1).says("is not in the cluster, and FACEOFF_KUBE_LOAD names no command");
    with("false").expect(1).says("`false` ended with exit 1");
    with("/no/such/loader").expect(1).says("cannot be started");
    // The command reports success without loading it.
    with("true").expect(1).says("ErrImageNeverPull");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn run_in_pods_is_judged_and_described() {
    let cluster = Cluster::named();
    let folder = &cluster.folder;
    cluster.system("a", &[]);
    cluster.system("b", &["--cpu", "300us", "--log"]);
    folder.experiment(&["a", "b"], "");
    let ran = folder.run(&["run", "x", "--blocks", "2", "--runner", "kubernetes", "--out", "r"]);
    ran.says("in Kubernetes pods behind services with an address within the cluster");
    let record = folder.record("r");
    let place = &record.header.experiment.place;
    assert_eq!((place.runner, place.network), (RunnerKind::Kubernetes, Network::ClusterIp));
    check_contained_run(folder, &record);
    cluster.is_clean();
}

/// Writes the experiment `x` of `a` and `b`, whose load two agents in pods generate.
fn by_agents(cluster: &Cluster, measure: &str) {
    cluster.system("a", &[]);
    cluster.system("b", &["--cpu", "50us"]);
    cluster.folder.experiment(&["a", "b"], "[place]\nrunner = \"kubernetes\"\nagents = 2\n");
    let path = cluster.folder.path().join("experiments/x.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("blocks = 6", "blocks = 2").replace("\"150ms\"", &format!("\"{measure}\"")),
    )
    .unwrap();
}

#[test]
#[cfg_attr(feature = "agent", ignore = "needs kubernetes")]
#[cfg_attr(not(feature = "agent"), ignore = "needs kubernetes and feature agent")]
fn agents_in_pods_generate_loads_of_a_run() {
    let cluster = Cluster::named();
    let folder = &cluster.folder;
    by_agents(&cluster, "500ms");
    let ran =
        folder.run(&["run", "x", "--out", "r"]).says("load by: 2 agents in pods of the cluster");
    let record = folder.record("r");
    assert_eq!(
        (record.trials.len(), record.header.experiment.place.agent_pods),
        (4, Some(2)),
        "{}",
        ran.err
    );
    for trial in &record.trials {
        assert!(
            trial.failure.is_none() && trial.faults.is_empty(),
            "{:?} {:?}",
            trial.failure,
            trial.faults
        );
        for measured in &trial.measurements {
            let agents = &measured.generator.agents;
            assert!(
                matches!(&agents[..], [one, two] if one.name.starts_with("0 on ") && two.name.starts_with("1 on ")),
                "{agents:?}"
            );
            assert_eq!(
                agents.iter().map(|agent| agent.counts.scheduled).sum::<u64>(),
                measured.counts.scheduled
            );
            assert!(
                measured.counts.add_up() && measured.counts.correct > 0,
                "{:?} {:?}",
                measured.counts,
                measured.examples
            );
            // They share this machine's clock.
            assert!(
                agents.iter().all(|agent| agent.offset_ns.unsigned_abs() <= agent.offset_error_ns),
                "{agents:?}"
            );
        }
    }
    let checks = judge::judge(&record).checks;
    assert!(
        checks.iter().any(|check| check.kind == "agent-lost" && (check.all, check.found) == (4, 0)),
        "{checks:?}"
    );
    crate::by_schema::is_by_schema(folder, "r");
    cluster.is_clean();
}

#[test]
#[cfg_attr(feature = "agent", ignore = "needs kubernetes")]
#[cfg_attr(not(feature = "agent"), ignore = "needs kubernetes and feature agent")]
fn killed_agent_pod_invalidates_trial_and_all_restart() {
    let cluster = Cluster::named();
    let folder = &cluster.folder;
    by_agents(&cluster, "3s");
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| folder.run(&["run", "x", "--out", "r"]));
        if !kills::await_trial(folder, FIRST_TRIAL_WITHIN, || running.is_finished()) {
            let ran = running.join().unwrap();
            panic!("it ended before any pod could be killed: {}\n{}", ran.out, ran.err);
        }
        // The next trial has begun with all agents.
        std::thread::sleep(Duration::from_millis(1_500));
        let (selector, namespace) =
            ("--selector=faceoff.agents", ours("namespaces").replace("namespace/", "--namespace="));
        let pods = kubectl(&["get", "pods", &namespace, selector, "--output=name"]).unwrap();
        assert_eq!(pods.lines().count(), 2, "{pods}");
        kubectl(&[
            "delete",
            &namespace,
            pods.lines().next().unwrap(),
            "--grace-period=0",
            "--force",
        ])
        .unwrap();
        running.join().unwrap()
    });
    assert!(ran.err.contains("all agents were started again"), "{}", ran.err);
    let record = folder.record("r");
    let lost = |fault: &Fault| {
        fault.kind == "agent-lost" && fault.evidence.contains("the pod of the agent ")
    };
    let invalid: Vec<bool> =
        record.trials.iter().map(|trial| trial.faults.iter().any(lost)).collect();
    let faults: Vec<_> = record.trials.iter().map(|trial| &trial.faults).collect();
    assert_eq!(invalid, [false, true, false, false], "{faults:?}");
    assert!(
        record.trials[2..]
            .iter()
            .all(|trial| trial.measurements.len() == 2 && trial.failure.is_none()),
        "{}",
        ran.err
    );
    assert!(judge::judge(&record).excluded.iter().any(|out| out.reason.contains("agent-lost")));
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn limits_hold_and_their_cost_is_measured() {
    let cluster = Cluster::named();
    limits::hold(&cluster.folder, "kubernetes", |name, flags| cluster.system(name, flags));
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn replicas_are_followed_until_all_respond() {
    let cluster = Cluster::named();
    let folder = &cluster.folder;
    cluster.system("a", &["--cpu", "300us"]);
    folder.experiment(
        &["a:replicas-3", "a:replicas-2+cpus-0.5"],
        "[place]\nrunner = \"kubernetes\"\n",
    );
    folder.run(&["run", "x", "--blocks", "2", "--out", "r"]);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 4, "{:?}", record.dropped().collect::<Vec<_>>());
    for trial in &record.trials {
        assert!(trial.failure.is_none(), "{:?}", trial.failure);
        assert!(trial.stop.as_ref().is_some_and(|stop| stop.clean), "{:?}", trial.stop);
        let took = Duration::from_nanos(trial.scaled_out_after_ns.expect("it was scaled out"));
        assert!(took > Duration::from_millis(50) && took < Duration::from_secs(60), "{took:?}");
        let replicas = u64::from(trial.contender.share().replicas.unwrap());
        for measured in &trial.measurements {
            let usage = &measured.usage;
            assert!(
                measured.counts.correct > 0
                    && usage.threads_max >= replicas
                    && usage.descriptors_max >= 3 * replicas,
                "{usage:?}"
            );
            assert_eq!(
                usage.allowed_cpus, record.header.cpus.contender,
                "each replica has its CPUs"
            );
            // All replicas are counted, by process and by group.
            let group = usage.signs.group.expect("each has a group of its own");
            assert!(
                group.cpu_ns.abs_diff(usage.cpu_ns) < usage.cpu_ns / 4 + 40_000_000 * replicas,
                "{group:?} {}",
                usage.cpu_ns
            );
            let per_request = usage.cpu_ns as f64 / measured.counts.correct as f64;
            assert!(per_request > 300_000.0, "{per_request} ns of CPU time a request");
        }
    }
    let judged = folder.run(&["judge", "r", "--format", "json"]);
    assert!(judged.out.contains("\"scale_out\""), "{}", judged.out);
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes and kubernetes database and go"]
fn database_is_reached_by_its_url() {
    let cluster = Cluster::named();
    need_all(&["kubernetes database", "go"]);
    let url = std::env::var("FACEOFF_KUBE_DATABASE").unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let check = |url: &str| {
        let mut command = cluster.folder.faceoff(&[
            "--dir",
            root.to_str().unwrap(),
            "check",
            "bank-go",
            "--runner",
            "kubernetes",
        ]);
        Ran::from(command.env("FACEOFF_DATABASE", url).output().unwrap())
    };
    check(&url).expect(0).says("1 correct");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes and kubernetes ingress"]
fn ingress_of_a_service_counts_as_contender() {
    let cluster = Cluster::named();
    need("kubernetes ingress");
    let folder = &cluster.folder;
    cluster.system("a", &["--cpu", "300us"]);
    folder.experiment(&["a:in-kubernetes", "a:in-kubernetes-ingress"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let record = folder.record("r");
    assert_eq!(record.trials.len(), 2, "{:?}", record.dropped().collect::<Vec<_>>());
    let of = |name: &str| {
        let trial =
            record.trials.iter().find(|trial| trial.contender == name.parse().unwrap()).unwrap();
        assert!(trial.failure.is_none(), "{:?}", trial.failure);
        let closed = trial.measurements.iter().find(|measured| measured.cell == "closed").unwrap();
        assert!(
            closed.counts.correct > 0 && closed.counts.failed() == 0,
            "{:?} {:?}",
            closed.counts,
            closed.examples
        );
        (closed.usage.threads_max, closed.usage.rss_max_bytes)
    };
    let (plain, behind) = (of("a:in-kubernetes"), of("a:in-kubernetes-ingress"));
    let has_class = kubectl(&["get", "ingressclasses", "--output=name"])
        .is_ok_and(|classes| !classes.is_empty());
    assert!(has_class || (behind.0 > plain.0 && behind.1 > plain.1), "{plain:?} {behind:?}");
    cluster.is_clean();
}

#[test]
#[ignore = "needs kubernetes"]
fn pods_of_killed_run_are_removed() {
    let cluster = Cluster::named();
    let folder = &cluster.folder;
    cluster.system("a", &[]);
    cluster.system("b", &[]);
    folder.experiment(&["a", "b"], "[place]\nrunner = \"kubernetes\"\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_faceoff"));
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(["run", "x", "--out", "r"]);
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let has_trial =
        kills::await_trial(folder, FIRST_TRIAL_WITHIN, || running.try_wait().unwrap().is_some());
    assert!(has_trial, "it ended before it could be killed");
    running.kill().unwrap();
    running.wait().unwrap();
    let left = ours("namespaces");
    assert_eq!(left.lines().count(), 1, "it was not removed: {left}");
    folder.run(&["build", "a"]).expect(0).says("removed the namespace faceoff-r-");
    let ran = folder.run(&["run", "--resume", "r"]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    assert!(folder.record("r").missing().is_empty());
    cluster.is_clean();
}

#[test]
#[cfg_attr(
    feature = "agent",
    ignore = "long, needs kubernetes: twenty rounds of a minute; FACEOFF_KILLS sets how many"
)]
#[cfg_attr(not(feature = "agent"), ignore = "long, needs kubernetes and feature agent")]
fn kills_at_any_time_leave_nothing_and_a_valid_record() {
    let cluster = Cluster::named();
    by_agents(&cluster, "150ms");
    let victims = [Victim::Faceoff, Victim::Contender, Victim::Agent];
    kills::at_random_moments(&cluster.folder, "kubernetes", &victims, &|| cluster.is_clean());
}

#[test]
#[cfg_attr(
    feature = "agent",
    ignore = "long, needs kubernetes and engine control: twenty rounds of a minute; FACEOFF_KILLS sets how many"
)]
#[cfg_attr(
    not(feature = "agent"),
    ignore = "long, needs kubernetes and engine control and feature agent"
)]
fn a_cluster_killed_at_any_moment_costs_no_contender() {
    let cluster = Cluster::named();
    need("engine control");
    by_agents(&cluster, "150ms");
    kills::at_random_moments(&cluster.folder, "kubernetes", &[Victim::Engine], &|| {
        cluster.is_clean()
    });
}

#[test]
#[cfg_attr(feature = "agent", ignore = "needs kubernetes and kubernetes ingress")]
#[cfg_attr(
    not(feature = "agent"),
    ignore = "needs kubernetes and kubernetes ingress and feature agent"
)]
fn the_rights_of_the_manifest_are_enough() {
    let cluster = Cluster::named();
    need("kubernetes ingress");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/kubernetes-rbac.yaml");
    kubectl(&["apply", "--filename", manifest]).unwrap();
    let token = kubectl(&["create", "token", "faceoff", "--namespace=faceoff-rights"]).unwrap();
    // The same cluster, with the account of the manifest only.
    let flat =
        kubectl(&["config", "view", "--raw", "--flatten", "--minify", "--output=json"]).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&flat).unwrap();
    config["users"][0]["user"] = serde_json::json!({"token": token});
    let own = cluster.folder.path().join("own.kubeconfig");
    std::fs::write(&own, config.to_string()).unwrap();
    cluster.system("a", &[]);
    let names = [
        "a:in-kubernetes",
        "a:in-kubernetes-node-port",
        "a:in-kubernetes+replicas-2",
        "a:in-kubernetes-ingress",
    ];
    let mut command = cluster.folder.faceoff(&[&["check"][..], &names].concat());
    let ran = Ran::from(command.env("KUBECONFIG", &own).output().unwrap());
    by_agents(&cluster, "150ms");
    let mut command = cluster.folder.faceoff(&["run", "x", "--blocks", "1", "--out", "r"]);
    let ran_by_agents = Ran::from(command.env("KUBECONFIG", &own).output().unwrap());
    let answer = |verb: &str, what: &str| {
        let asked = kubectl(&[
            "auth",
            "can-i",
            verb,
            what,
            "--all-namespaces",
            "--as=system:serviceaccount:faceoff-rights:faceoff",
        ]);
        asked.unwrap_or_else(|refused| refused)
    };
    let asked = [
        ("get", "secrets"),
        ("list", "secrets"),
        ("create", "nodes/proxy"),
        ("create", "pods/exec"),
        ("get", "jobs"),
    ];
    let more: Vec<_> =
        asked.into_iter().filter(|&(verb, what)| answer(verb, what) == "yes").collect();
    kubectl(&["delete", "--filename", manifest, "--wait=false"]).unwrap();
    ran.expect(0).says("4 correct");
    assert!(cluster.folder.path().join("r/record.jsonl").exists(), "{}", ran_by_agents.err);
    let record = cluster.folder.record("r");
    let made = |trial: &Trial| trial.measurements.len() == 2 && trial.faults.is_empty();
    assert!(record.trials.len() == 2 && record.trials.iter().all(made), "{}", ran_by_agents.err);
    assert!(more.is_empty(), "{more:?}");
    cluster.is_clean();
}

#[test]
fn missing_cluster_gives_a_hint() {
    let folder = Folder::new();
    folder.system("a", &[]);
    let mut command = folder.faceoff(&["check", "a", "--runner", "kubernetes"]);
    let ran = Ran::from(command.env("KUBECONFIG", "/no/such/file").output().unwrap());
    ran.expect(2).says("no Kubernetes cluster: ").says("hint: have KUBECONFIG name a cluster");
    folder
        .run(&["check", "a", "--runner", "kubernets"])
        .expect(2)
        .says("did you mean `kubernetes`?");
    folder.experiment(&["a", "b"], "[place]\nrunner = \"kubernetes\"\nnetwork = \"bridge\"\n");
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("a cluster has no network `bridge`")
        .says("cluster_ip");
    nothing_is_left(&folder);
}
