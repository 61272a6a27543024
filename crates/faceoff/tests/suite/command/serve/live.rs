//! The page of a run that is still running.

use super::*;

/// Starts a run into `records/r`.
fn start_run(folder: &Folder) -> Child {
    Command::new(env!("CARGO_BIN_EXE_faceoff"))
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(["run", "x", "--out", "records/r"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Sets how long the experiment measures.
fn measure_for(folder: &Folder, time: &str) {
    let experiment = std::fs::read_to_string(folder.path().join("experiments/x.toml")).unwrap();
    folder.write(
        "experiments/x.toml",
        &experiment.replace("measure = \"150ms\"", &format!("measure = \"{time}\"")),
    );
}

#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn running_run_is_shown_live() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("records")).unwrap();
    let site = Site::of(&folder, "records");
    site.get("/").ok().holds("There is no record in records yet");
    let mut running = start_run(&folder);
    let begun = Instant::now();
    let live = loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "no block was complete in a minute");
        let live = site.get("/records/r/live");
        if live.body.contains(", against near. A run that is looked at early") {
            break live;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let live = live
        .holds("http-equiv=\"refresh\" content=\"5\"")
        .holds("under way")
        .holds("The trial that ended last")
        .holds("CPU time");
    live.holds("<svg class=\"drawn\"").holds("Correct responses per second in").lacks("<script");
    site.get("/records/r/live?still=1")
        .ok()
        .lacks("http-equiv=\"refresh\"")
        .holds("Follow the run again");
    site.get("/").ok().holds("under way");
    assert!([0, 4].contains(&running.wait().unwrap().code().unwrap()));
    site.get("/records/r/live")
        .ok()
        .holds("The run has ended")
        .holds("6 of at most 6 blocks are complete")
        .lacks("http-equiv=\"refresh\"");
    site.get("/").ok().holds("finished").lacks("under way");
    nothing_is_left_but(&folder, site);
}

/// The heading of the part that shows the running trial.
const TITLE: &str = "<h2>The trial under way: ";

/// Anyone who can write next to a record may have written its status file.
#[test]
#[cfg_attr(not(feature = "serve"), ignore = "needs feature serve")]
fn running_trial_is_drawn_from_untrusted_status_file() {
    let folder = folder();
    measure_for(&folder, "4s");
    std::fs::create_dir(folder.path().join("records")).unwrap();
    let site = Site::of(&folder, "records");
    let mut running = start_run(&folder);
    check_running_trial(&site);
    running.kill().and_then(|()| running.wait()).unwrap();
    let begun = Instant::now();
    // Only the site remains.
    while alive_in(&folder).len() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "still alive: {:#?}", alive_in(&folder));
        std::thread::sleep(Duration::from_millis(10));
    }
    check_hostile_status(&site, &folder);
}

/// Waits until the page shows seconds of the running trial, and checks how.
fn check_running_trial(site: &Site) {
    let begun = Instant::now();
    let live = loop {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "no second of a measurement was shown in two minutes"
        );
        let live = site.get("/records/r/live");
        if live.body.contains(TITLE) && live.body.contains(" of this measurement: ") {
            break live;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let (_, trial) = live.body.split_once(TITLE).unwrap();
    let (trial, _) = trial.split_once("<h2>Verdicts so far</h2>").unwrap();
    for text in [
        ", block ",
        "<title>Correct responses per second in ",
        "<title>Latency in ",
        " correct responses, ",
        "<svg class=\"drawn\"",
    ] {
        assert!(trial.contains(text), "not there: {text}\n{trial}");
    }
}

/// Checks that a hostile status file is escaped, and an invalid one is ignored.
fn check_hostile_status(site: &Site, folder: &Folder) {
    let file = folder.path().join("records/r/run-status.json");
    let left = std::fs::read_to_string(&file).expect("what a run leaves that is killed");
    site.get("/records/r/live").ok().lacks(TITLE);

    // A status of an existing process, and otherwise hostile.
    let mut status: Value = serde_json::from_str(&left).unwrap();
    let own = std::process::id();
    let (block, _, contender) = folder.record("records/r").missing().swap_remove(0);
    status["block"] = block.into();
    status["contender"] = contender.to_string().into();
    status["process"] =
        serde_json::json!({ "id": own, "began_ticks": runner::running_since_ticks(own) });
    status["left_out"] = u32::MAX.into();
    status["doing"] = "</h2><script>alert(1)</script>".into();
    status["cell"] = "</title><img src=x onerror=alert(2)>\" onload=\"alert(3)".into();
    let most = serde_json::json!({ "correct": u64::MAX, "not_correct": u64::MAX, "p50_ns": u64::MAX, "p99_ns": 0, "max_ns": u64::MAX });
    status["seconds"] = vec![most; 300].into();
    let show = |text: &str| {
        std::fs::write(&file, text).unwrap();
        site.get("/records/r/live")
            .ok()
            .lacks("<script")
            .lacks("<img")
            .lacks("\" onload")
            .lacks("NaN")
    };
    show(&status.to_string()).holds(TITLE).holds("&lt;script&gt;alert(1)").holds("&lt;img src=x");

    let with = |field: &str, value: Value| {
        let mut other = status.clone();
        other[field] = value;
        other.to_string()
    };
    let mut longer = status["seconds"].as_array().unwrap().clone();
    longer.push(longer[0].clone());
    for text in [
        String::new(),
        "{".into(),
        "[]".into(),
        "[".repeat(100_000),
        status.to_string() + &" ".repeat(200_000),
        with("schema", "faceoff.run-status.v2".into()),
        with("run", "another".into()),
        with("process", serde_json::json!({ "id": own, "began_ticks": 0 })),
        with("process", serde_json::json!({ "id": u32::MAX, "began_ticks": 1 })),
        with("contender", "nobody".into()),
        with("contender", "no/name".into()),
        with("block", 0.into()),
        with("block", u32::MAX.into()),
        with("doing", "x".repeat(10_000).into()),
        with("cell", "x".repeat(10_000).into()),
        with("seconds", longer.into()),
        with("seconds", serde_json::json!([{ "correct": -1, "not_correct": 0 }])),
    ] {
        show(&text).lacks(TITLE);
    }
    let elsewhere = folder.path().join("elsewhere.json");
    std::fs::write(&elsewhere, status.to_string()).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    site.get("/records/r/live").ok().lacks(TITLE);
    std::fs::remove_file(&file).unwrap();
    // Opening a FIFO would block forever.
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    site.get("/records/r/live").ok().lacks(TITLE);
}

/// Measures the cost of watching a run with long trials. `--nocapture` shows it.
#[test]
#[cfg_attr(feature = "serve", ignore = "long: a minute, and measures")]
#[cfg_attr(not(feature = "serve"), ignore = "long, needs feature serve: a minute, and measures")]
fn watching_costs_little_cpu() {
    let folder = folder();
    measure_for(&folder, "2s");
    std::fs::create_dir(folder.path().join("records")).unwrap();
    let site = Site::of(&folder, "records");
    let mut running = start_run(&folder);
    let (begun, before, mut telling) = (Instant::now(), site.cpu(), Duration::ZERO);
    let mut drawn = 0;
    while running.try_wait().unwrap().is_none() {
        drawn += usize::from(site.get("/records/r/live").body.contains("The trial under way"));
        // The run's thread that writes the status file; it ends before the run.
        let threads = std::fs::read_dir(format!("/proc/{}/task", running.id()))
            .into_iter()
            .flatten()
            .flatten();
        let named = threads.filter(|thread| {
            std::fs::read_to_string(thread.path().join("comm"))
                .is_ok_and(|name| name == "progress\n")
        });
        telling = named
            .filter_map(|thread| on_cpu(&thread.path()))
            .max()
            .unwrap_or_default()
            .max(telling);
        std::thread::sleep(Duration::from_secs(5));
    }
    assert!(drawn > 0, "no running trial was watched");
    assert!(telling > Duration::ZERO, "no thread wrote the status file");
    let of_a_cpu = |used: Duration| used.as_secs_f64() / begun.elapsed().as_secs_f64();
    let (share, telling) = (of_a_cpu(site.cpu() - before), of_a_cpu(telling));
    let judgement = judge::judge(&folder.record("records/r"));
    let noticed = judgement.faults.iter().filter(|fault| fault.kind == "other-cpu").count();
    println!(
        "serve used {:.2} % of a CPU over {:.0} s, the run's status thread {:.3} %; other programs were noticed in {noticed} measurements",
        100.0 * share,
        begun.elapsed().as_secs_f64(),
        100.0 * telling
    );
    // A run reports other programs from 5 % of a set of CPUs on.
    assert!(share < 0.02 && telling < 0.01, "{share}, {telling}");
}
