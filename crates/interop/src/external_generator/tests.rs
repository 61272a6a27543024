//! Tests of plans for other generators: arguments, scripts and files, and what is refused.
//!
//! A plan for JMeter is imported again as the same load. No command line contains a secret.

use super::*;
use spec::data::{Data, Values};
use spec::experiment::{Load, Overflow, Pause, Spacing, Stage};
use spec::template::Template;
use spec::workload::{Answer, Body, Capture, Source, Statuses, Step, Workload};

const MS: Duration = Duration::from_millis(1);

fn get(path: &str) -> Step {
    Step {
        path: Template::fixed(path),
        headers: vec![("x-a".into(), Template::fixed("b\"\\\n"))],
        ..Step::default()
    }
}

fn post(path: &str) -> Step {
    Step { method: "POST".into(), body: Body::Text(Template::fixed("{\"n\": 1}")), ..get(path) }
}

fn of(steps: Vec<Step>) -> Workload {
    Workload { steps, ..Workload::default() }
}

fn task<'a>(workload: &'a Workload, load: &'a Load) -> Task<'a> {
    Task {
        server: "http://127.0.0.1:8080".into(),
        workload,
        load,
        duration: 20_000 * MS,
        timeout: 1_500 * MS,
        threads: 2,
        is_http2: false,
        closes: false,
        is_insecure: false,
    }
}

fn translated(driver: Driver, steps: Vec<Step>, load: &Load) -> Result<Translated, String> {
    let workload = of(steps);
    translate(driver, &task(&workload, load))
}

fn words(driver: Driver, steps: Vec<Step>, load: &Load) -> String {
    translated(driver, steps, load).unwrap_or_else(|why| panic!("{why}")).arguments.join(" ")
}

fn arrivals(rate_per_s: f64) -> Load {
    Load::arrivals(rate_per_s, 100)
}

#[test]
fn each_tool_is_called_with_the_same_load() {
    let closed = Load::closed(8);
    let plain = || vec![Step { path: Template::fixed("/a?b"), ..Step::default() }];
    assert_eq!(
        words(Driver::Wrk, plain(), &closed),
        "-t2 -c8 -d20s --timeout=2s --latency -s requests.lua http://127.0.0.1:8080/"
    );
    // With two threads, each would open three.
    assert!(words(Driver::Wrk, plain(), &Load::closed(7)).starts_with("-t1 -c7 "));
    assert_eq!(
        words(Driver::Wrk2, plain(), &arrivals(500.0)),
        "-t2 -c100 -d20s --timeout=2s --latency -s requests.lua -R500 http://127.0.0.1:8080/"
    );
    assert_eq!(
        words(Driver::H2load, plain(), &closed),
        "--h1 -t2 -c8 -m1 -D20 -N2s -H :method: GET http://127.0.0.1:8080/a?b"
    );
    let oha = "--no-tui --output-format json -z 20s -t 2s -r 0";
    assert_eq!(
        words(Driver::Oha, plain(), &closed),
        format!("{oha} -c 8 -m GET http://127.0.0.1:8080/a?b")
    );
    assert_eq!(
        words(Driver::Oha, vec![post("/a")], &arrivals(500.0)),
        format!(
            "{oha} -c 100 -q 500 --latency-correction -m POST -H x-a: b\"\\\n -D body http://127.0.0.1:8080/a"
        )
    );
    assert_eq!(words(Driver::K6, plain(), &closed), "run --quiet --no-usage-report load.js");
}

#[test]
fn a_script_for_wrk_sends_the_requests_of_the_workload() {
    let script = translated(
        Driver::Wrk,
        vec![get("/a"), post("/b")],
        &Load::Closed { connections: 1, depth: 3 },
    )
    .unwrap()
    .files
    .remove(0)
    .1;
    assert!(
        script.contains(r#"made[1] = wrk.format("GET", "/a", { ["x-a"] = "b\"\\\010" }, nil)"#),
        "{script}"
    );
    assert!(
        script.contains(
            r#"made[2] = wrk.format("POST", "/b", { ["x-a"] = "b\"\\\010" }, "{\"n\": 1}")"#
        ),
        "{script}"
    );
    assert!(
        script.contains("for j = 0, 2 do all[j + 1] = made[((i - 1) * 3 + j) % #made + 1] end"),
        "{script}"
    );
}

#[test]
fn a_script_for_k6_keeps_users_pauses_and_rounds() {
    let pause = Pause::Uniform { from: 1_000 * MS, to: 2_000 * MS };
    let users = Load::Users { users: 30, ramp: 6_000 * MS, pause, rounds: Some(4), pooled: None };
    let script =
        translated(Driver::K6, vec![get("/a"), post("/b")], &users).unwrap().files.remove(0).1;
    for part in [
        "\"executor\": \"per-vu-iterations\"",
        "\"iterations\": 4",
        "if (first) pause(6 * (exec.vu.idInTest - 1) / 30);",
        "if (!first) pause(1 + Math.random() * 1);",
        "http.request(\"GET\", \"http://127.0.0.1:8080/a\", null, ",
        "http.request(\"POST\", \"http://127.0.0.1:8080/b\", \"{\\\"n\\\": 1}\", ",
        "\"timeout\":\"1500ms\"",
        "http.expectedStatuses({ min: 200, max: 200 })",
        "\"gracefulStop\": \"0s\"",
    ] {
        assert!(script.contains(part), "{part}\n{script}");
    }
}

/// Arrivals that begin at 10/s and go through stages, each a rate with its seconds.
fn staged(stages: &[(f64, f64)]) -> Load {
    let stage = |(to_per_s, seconds): &(f64, f64)| Stage {
        to_per_s: *to_per_s,
        over: Duration::from_secs_f64(*seconds),
    };
    Load::Arrivals {
        rate_per_s: 10.0,
        stages: stages.iter().map(stage).collect(),
        spacing: Spacing::Even,
        in_flight_max: 500,
        overflow: Overflow::Shed,
    }
}

/// The stages in a script for k6: each target with its duration.
fn stages_of(script: &str) -> Vec<(u64, String)> {
    let options =
        &script[script.find("options = ").unwrap() + 10..script.find(";\n\nlet first").unwrap()];
    let options: serde_json::Value = serde_json::from_str(options).unwrap();
    let stages = options["scenarios"]["load"]["stages"].as_array().unwrap();
    let stage = |stage: &serde_json::Value| {
        (stage["target"].as_u64().unwrap(), stage["duration"].as_str().unwrap().to_owned())
    };
    stages.iter().map(stage).collect()
}

#[test]
fn a_script_for_k6_keeps_the_stages_of_arrivals() {
    let script = |load: &Load| {
        translated(Driver::K6, vec![get("/a")], load).map(|mut made| made.files.remove(0).1)
    };
    let expected = |stages: &[(u64, &str)]| {
        stages.iter().map(|(to, over)| (*to, (*over).to_owned())).collect::<Vec<_>>()
    };
    let short = script(&staged(&[(20.0, 1.5)])).unwrap();
    for part in [
        "\"ramping-arrival-rate\"",
        "\"startRate\": 10",
        "\"maxVUs\": 500",
        "\"gracefulStop\": \"1500ms\"",
    ] {
        assert!(short.contains(part), "{part}\n{short}");
    }
    assert_eq!(
        stages_of(&short),
        expected(&[(10, "0s"), (20, "1500ms"), (20, "0s"), (20, "18500ms")]),
        "the last rate lasts to the end"
    );
    let long = script(&staged(&[(20.0, 5.0), (80.0, 30.0), (5.0, 9.0)])).unwrap();
    assert_eq!(
        stages_of(&long),
        expected(&[(10, "0s"), (20, "5000ms"), (20, "0s"), (50, "15000ms")]),
        "the ramp to 80 is cut at the end"
    );
    let why = script(&staged(&[(20.0, 30.0)])).unwrap_err();
    assert!(why.contains("whole numbers of requests per second, and this comes to 16.6"), "{why}");
}

/// Two users, with a ramp and a pause of a millisecond.
fn two_users(pooled: Option<u32>) -> Load {
    Load::Users { users: 2, ramp: MS, pause: Pause::Constant(MS), rounds: None, pooled }
}

/// Five arrivals a second, with at most one in flight.
fn slow_arrivals(spacing: Spacing, overflow: Overflow) -> Load {
    Load::Arrivals { rate_per_s: 5.0, stages: vec![], spacing, in_flight_max: 1, overflow }
}

#[test]
fn every_tool_refuses_what_none_can_express() {
    let varying = Step { path: Template::parse("/${round}").unwrap(), ..Step::default() };
    let taken = Capture { name: "id".into(), from: Source::Body, regex: None };
    let capturing = Step { captures: vec![taken], ..Step::default() };
    let bytes = Step { body: Body::Bytes(vec![0xff]), ..post("/") };
    let pooled = two_users(Some(1));
    let poisson = slow_arrivals(Spacing::Poisson, Overflow::Queue);
    let closed = Load::closed(1);
    for driver in Driver::ALL {
        for step in [&varying, &capturing, &bytes] {
            assert!(
                translated(driver, vec![step.clone()], &closed).is_err(),
                "{driver:?} {}",
                step.path
            );
        }
        assert_eq!(
            translated(driver, vec![get("/")], &poisson).is_ok(),
            driver == Driver::Gatling,
            "{driver:?}"
        );
        assert!(translated(driver, vec![get("/")], &pooled).is_err(), "{driver:?}");
        let workload = of(vec![get("/")]);
        let odd = Task { duration: 1_500 * MS, ..task(&workload, &closed) };
        assert!(translate(driver, &odd).unwrap_err().contains("whole seconds"), "{driver:?}");
    }
}

#[test]
fn a_load_that_a_tool_cannot_make_is_refused_with_the_reason() {
    let users = two_users(None);
    let shed = slow_arrivals(Spacing::Even, Overflow::Shed);
    let deep = Load::Closed { connections: 1, depth: 2 };
    let closed = Load::closed(1);
    let fixed = |path: &str| Step { path: Template::fixed(path), ..Step::default() };
    let long = Step { body: Body::Text(Template::fixed("x".repeat(65_536))), ..post("/") };
    for (driver, steps, load, reason) in [
        (Driver::Wrk, vec![get("/")], &users, "closed load"),
        (Driver::Wrk, vec![get("/")], &arrivals(5.0), "closed load"),
        (Driver::Wrk2, vec![get("/")], &closed, "arrivals"),
        (Driver::Wrk2, vec![get("/")], &arrivals(0.5), "whole number"),
        (Driver::H2load, vec![get("/")], &arrivals(5.0), "bursts"),
        (Driver::H2load, vec![get("/"), post("/")], &closed, "paths alone"),
        (Driver::Oha, vec![get("/"), get("/")], &closed, "one request"),
        (Driver::Oha, vec![get("/")], &deep, "one request at a time"),
        (Driver::Oha, vec![get("/")], &users, "no users"),
        (Driver::Oha, vec![get("/")], &shed, "wait"),
        (Driver::K6, vec![get("/")], &deep, "one request in flight"),
        (Driver::Jmeter, vec![get("/")], &deep, "one request in flight"),
        (Driver::Jmeter, vec![get("/")], &arrivals(5.0), "closed load or users"),
        (Driver::Jmeter, vec![get("/")], &users, "whole seconds"),
        (Driver::Jmeter, vec![fixed("/${x}")], &closed, "variable"),
        (Driver::K6, vec![get("/"), get("/")], &arrivals(5.0), "one step"),
        (Driver::Gatling, vec![get("/"), get("/")], &arrivals(5.0), "one step"),
        (Driver::Gatling, vec![get("/")], &deep, "one request in flight"),
        (Driver::Gatling, vec![get("/")], &shed, "no limit in flight"),
        (Driver::Gatling, vec![fixed("/#{x}")], &closed, "variable"),
        (Driver::Gatling, vec![long], &closed, "65535 bytes"),
    ] {
        let why = translated(driver, steps, load).unwrap_err();
        assert!(why.contains(reason), "{driver:?}: {why}");
    }
}

#[test]
fn a_connection_that_a_tool_cannot_make_is_refused() {
    let closed = Load::closed(1);
    let workload = of(vec![get("/")]);
    let rate = arrivals(5.0);
    let short = Task { duration: 5_000 * MS, ..task(&workload, &rate) };
    assert!(translate(Driver::Wrk2, &short).unwrap_err().contains("calibrates"));
    let http2 = Task { is_http2: true, ..task(&workload, &closed) };
    assert!(
        translate(Driver::Wrk, &http2).is_err()
            && translate(Driver::K6, &http2).is_err()
            && translate(Driver::H2load, &http2).is_ok()
    );
    let closing = Task { closes: true, ..task(&workload, &closed) };
    assert!(translate(Driver::H2load, &closing).is_err());
    // Data that no text names changes nothing.
    let idle = Workload {
        data: vec![Data { name: "n".into(), values: Values::Text(1) }],
        ..of(vec![get("/")])
    };
    assert!(translate(Driver::Wrk, &task(&idle, &closed)).is_ok());
}

#[test]
fn two_headers_of_a_name_are_refused_for_tools_that_send_one() {
    let twice = Step {
        headers: vec![("x-tag".into(), "a".into()), ("X-Tag".into(), "b".into())],
        ..get("/")
    };
    let load = Load::closed(4);
    for driver in [Driver::Wrk, Driver::Oha, Driver::K6] {
        let refused = translated(driver, vec![twice.clone()], &load).unwrap_err();
        assert!(refused.contains("`X-Tag` has several"), "{refused}");
    }
    assert!(words(Driver::H2load, vec![twice], &load).contains("x-tag: a"));
}

#[test]
fn no_command_line_contains_a_secret() {
    let token = || Template::parse("Bearer ${env.FACEOFF_TEST_WITNESS_TOKEN}").unwrap();
    let known = "a-token-of-the-tests";
    secret::learn(known, "[authorization]");
    let in_header = |value: Template| Step {
        headers: vec![("authorization".into(), value)],
        ..Step::default()
    };
    let in_path = Step {
        path: Template::parse("/a?key=${env.FACEOFF_TEST_WITNESS_TOKEN}").unwrap(),
        ..Step::default()
    };
    for step in [
        in_header(token()),
        in_header(Template::fixed(known)),
        in_path,
        Step { path: Template::fixed(format!("/{known}")), ..Step::default() },
    ] {
        for driver in Driver::ALL {
            let load = if driver == Driver::Wrk2 { arrivals(5.0) } else { Load::closed(1) };
            let translated = translated(driver, vec![step.clone()], &load);
            match driver {
                Driver::H2load | Driver::Oha => assert!(
                    translated.unwrap_err().contains("reads the secret"),
                    "{driver:?} {step:?}"
                ),
                _ => assert!(
                    !translated.unwrap().arguments.concat().contains(known),
                    "{driver:?} {step:?}"
                ),
            }
        }
    }
    // A body is written to a file.
    let body = Body::Text(Template::fixed(known));
    let posting = Step { body, method: "POST".into(), ..Step::default() };
    assert!(!words(Driver::Oha, vec![posting], &Load::closed(1)).contains(known));
}

fn gatling(steps: Vec<Step>, load: &Load) -> String {
    let translated = translated(Driver::Gatling, steps, load).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        (&translated.prepare, &translated.sum_up),
        (&Some(vec!["compile".into()]), &Some(vec!["report".into()]))
    );
    translated.files.into_iter().next().unwrap().1
}

fn has(plan: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(plan.contains(part), "{part}\n{plan}"))
}

#[test]
fn a_plan_for_gatling_keeps_users_pauses_and_rounds() {
    let pause = Pause::Uniform { from: 1_000 * MS, to: 2_000 * MS };
    let users = Load::Users { users: 30, ramp: 6_000 * MS, pause, rounds: Some(4), pooled: None };
    has(
        &gatling(vec![get("/a"), post("/b")], &users),
        &[
            "repeat(4).on(\n      exec(http(\"request\").httpRequest(\"GET\", \"/a\").header(\"x-a\", \"b\\\"\\\\\\012\")",
            ".pause(Duration.ofNanos(1000000000L), Duration.ofNanos(2000000000L))",
            ".body(StringBody(\"{\\\"n\\\": 1}\")).requestTimeout(Duration.ofNanos(1500000000L)).check(status().is(200))",
            "rampUsers(30).during(Duration.ofNanos(6000000000L))",
            "http.baseUrl(\"http://127.0.0.1:8080\")",
            ".maxDuration(Duration.ofNanos(20000000000L));",
        ],
    );
    let thinking = Load::Users {
        users: 3,
        ramp: Duration::ZERO,
        pause: Pause::Exponential(MS),
        rounds: None,
        pooled: None,
    };
    has(
        &gatling(vec![get("/a")], &thinking),
        &[
            "forever().on(",
            "atOnceUsers(3)",
            ".pause(Duration.ofNanos(1000000L))",
            ".exponentialPauses();",
        ],
    );
    let closed = gatling(vec![get("/a")], &Load::closed(8));
    has(&closed, &["forever().on(", "atOnceUsers(8)"]);
    assert!(!closed.contains("pause") && !closed.contains("shareConnections"), "{closed}");
}

#[test]
fn a_plan_for_gatling_keeps_the_stages_of_arrivals() {
    let staged = Load::Arrivals {
        rate_per_s: 10.0,
        stages: vec![
            Stage { to_per_s: 20.0, over: 4_000 * MS },
            Stage { to_per_s: 40.0, over: Duration::ZERO },
        ],
        spacing: Spacing::Poisson,
        in_flight_max: 500,
        overflow: Overflow::Queue,
    };
    has(
        &gatling(vec![get("/a")], &staged),
        &[
            "rampUsersPerSec(10.0).to(20.0).during(Duration.ofNanos(4000000000L)).randomized(),",
            "constantUsersPerSec(40.0).during(Duration.ofNanos(16000000000L)).randomized())",
            ".shareConnections();",
            ".maxDuration(Duration.ofNanos(21500000000L));",
        ],
    );
    let outlasting = Load::Arrivals {
        rate_per_s: 10.0,
        stages: vec![
            Stage { to_per_s: 50.0, over: 40_000 * MS },
            Stage { to_per_s: 5.0, over: 9_000 * MS },
        ],
        spacing: Spacing::Even,
        in_flight_max: 500,
        overflow: Overflow::Queue,
    };
    let cut = gatling(vec![get("/a")], &outlasting);
    has(
        &cut,
        &[
            "injectOpen(\n      rampUsersPerSec(10.0).to(30.0).during(Duration.ofNanos(20000000000L)))",
        ],
    );
    let answered = Answer { status: Statuses { from: 200, to: 299 }, ..Answer::default() };
    let ranged = Step { answer: answered, ..get("/") };
    has(
        &gatling(vec![ranged], &Load::closed(1)),
        &["status().transform(s -> s >= 200 && s <= 299).is(true)"],
    );
}

#[test]
fn checks_that_a_tool_does_not_make_are_listed() {
    let checked = Step {
        answer: Answer {
            status: Statuses::one(200),
            body: BodyCheck::Length(5),
            ..Answer::default()
        },
        ..get("/")
    };
    let says = |step: Step| {
        translated(Driver::K6, vec![step], &Load::closed(1))
            .unwrap()
            .differs
            .join("\n")
            .contains("checks only statuses")
    };
    assert!(says(checked) && !says(get("/")));
}

#[test]
fn a_plan_for_jmeter_is_imported_as_the_same_load() {
    let get = |path: &str| Step { path: Template::fixed(path), ..Step::default() };
    let header = vec![("x-a".to_owned(), Template::fixed("<b> & \"c\""))];
    let steps = vec![
        Step { headers: header.clone(), ..get("/a?b=1&c") },
        Step {
            method: "POST".into(),
            headers: header,
            body: Body::Text(Template::fixed("{\"n\": 1}")),
            ..get("/b")
        },
        get("/c"),
    ];
    let pause = Pause::Uniform { from: 1_000 * MS, to: 1_500 * MS };
    let users = Load::Users { users: 7, ramp: 3_000 * MS, pause, rounds: Some(2), pooled: None };
    let workload = Workload { steps: steps.clone(), ..Workload::default() };
    let plan = translate(Driver::Jmeter, &task(&workload, &users)).unwrap().files.remove(0).1;
    let (again, line) = crate::import::of_plan(&plan).unwrap();
    let requests = |steps: &[Step]| {
        steps
            .iter()
            .map(|step| format!("{} {} {:?} {:?}", step.method, step.path, step.headers, step.body))
            .collect::<Vec<_>>()
    };
    assert_eq!(requests(&again.steps), requests(&steps), "{plan}");
    assert_eq!(
        line,
        "faceoff load http://127.0.0.1:8080 --workload it.toml --users 7 --ramp 3s --pause 1s..1500ms --rounds 2 -d 20s --timeout 1500ms"
    );
}
