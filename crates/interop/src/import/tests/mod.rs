//! Tests of imports: real plans in `crates/interop/samples/plans`, limits, and damaged files.
//!
//! Each format has a file here. What is written is read again as the same workload.

mod of_curl;
mod of_har;
mod of_jmx;
mod of_openapi;
mod of_wrk;

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json as value;
use spec::data::Values;
use spec::experiment::Pause;
use spec::template::{self, Template};
use spec::workload::{Body, BodyCheck, Wanted};
use std::path::PathBuf;

const BANK: &str = include_str!("../../../samples/plans/bank.jmx");
const MANY: &str = include_str!("../../../samples/plans/many.jmx");
const PIPELINE: &str = include_str!("../../../samples/plans/pipeline.lua");
const POST: &str = include_str!("../../../samples/plans/post.lua");
const RECORDING: &str = include_str!("../../../samples/plans/recording.har");
const CURL: &str = include_str!("../../../samples/plans/curl.txt");
const SHOP: &str = include_str!("../../../samples/plans/shop.yaml");

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/plans")
}

fn imported(path: &str, text: &str, defined: &[(&str, &str)]) -> Result<Imported, String> {
    let defined =
        defined.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    understand(path, text, &samples(), &defined).map_err(|problems| problems.to_string())
}

/// The result of an import, and what is read again from what it wrote.
struct Came {
    imported: Imported,
    workloads: Vec<Workload>,
    loads: Vec<String>,
    commands: Vec<String>,
}

fn all(path: &str, text: &str, defined: &[(&str, &str)]) -> Came {
    let imported = imported(path, text, defined).unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().unwrap();
    write::write_import(&imported, "it", path, folder.path(), false)
        .unwrap_or_else(|e| panic!("{e}"));
    let read = |part: &Part| {
        Workload::read(&folder.path().join(format!("it{}.toml", part.suffix)))
            .unwrap_or_else(|e| panic!("{e}"))
    };
    Came {
        workloads: imported.parts.iter().map(read).collect(),
        loads: imported.parts.iter().map(|part| write::load(&part.load)).collect(),
        commands: imported
            .parts
            .iter()
            .map(|part| write::command(part, Path::new("it.toml")))
            .collect(),
        imported,
    }
}

impl Notes {
    /// Returns whether a note is about a subject.
    fn speaks_of(&self, subject: &str) -> bool {
        self.0.iter().any(|note| note.what.contains(subject))
    }
}

fn body(step: &Step) -> String {
    match &step.body {
        Body::None => String::new(),
        Body::Text(text) => text.to_string(),
        Body::Bytes(_) => panic!("the body is no text"),
    }
}

/// Returns what an import names as lost.
fn lost(came: &Came) -> Vec<&str> {
    came.imported.lost.0.iter().map(|note| note.what.as_str()).collect()
}

fn requests_of(workload: &Workload) -> Vec<String> {
    workload
        .steps
        .iter()
        .map(|step| format!("{} {} {}", step.method, step.path, body(step)).trim_end().to_owned())
        .collect()
}

#[test]
fn the_plan_of_the_bank_article_is_imported_completely() {
    let came = all("bank.jmx", BANK, &[("NUM_USERS", "4000"), ("PORT", "9000")]);
    assert_eq!(came.imported.lost.0, [], "nothing may be lost");
    assert_eq!(
        requests_of(&came.workloads[0]),
        [
            "POST /client/new/100",
            "POST /transaction {\"from_client_id\": 1, \"to_client_id\": 2, \"amount\": 1}",
            "GET /client/1/balance"
        ]
    );
    for (step, field) in came.workloads[0].steps.iter().zip(["/id", "/id", "/balance"]) {
        assert_eq!(step.answer.pointers, [(field.to_owned(), Wanted::Present)]);
        let headers: Vec<_> =
            step.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(headers, ["accept: application/json", "content-type: application/json"]);
        assert_eq!(step.answer.status, Statuses { from: 200, to: 399 });
    }
    assert_eq!(came.loads, ["{ kind = \"users\", users = 4000, ramp = \"60s\", rounds = 1 }"]);
    assert_eq!(
        came.commands,
        [
            "faceoff load http://127.0.0.1:9000 --workload it.toml --users 4000 --ramp 60s --rounds 1 --timeout 300s"
        ]
    );
    // The default number of users is JMeter's, which is noted.
    let came = all("bank.jmx", BANK, &[]);
    assert!(
        came.loads[0].contains("users = 1,") && came.imported.taken.speaks_of("NUM_USERS"),
        "{:?}",
        came.loads
    );
}

#[test]
fn groups_tables_captures_and_timers_are_imported() {
    let came = all("many.jmx", MANY, &[]);
    let [buyers, lookers] = &came.workloads[..] else { panic!("two groups") };
    assert_eq!(
        requests_of(buyers),
        [
            "GET /v1/search?q=a%20b%20%26%20${guests.age}&n=${fn-random}",
            "GET /v1/search?q=a%20b%20%26%20${guests.age}&n=${fn-random-2}",
            "POST /orders/${token} a=1",
        ]
    );
    let [search, _, order] = &buyers.steps[..] else { panic!("three steps") };
    assert_eq!(
        (search.answer.status, search.captures[0].name.as_str()),
        (Statuses::one(201), "token")
    );
    assert_eq!(search.headers[0].1.to_string(), "${guests.who}");
    assert_eq!(
        order.answer.pointers,
        [("/state".to_owned(), Wanted::Spelling(Template::fixed("open")))]
    );
    assert_eq!(order.answer.regex.as_ref().map(|regex| regex.as_str()), Some("o.en"));
    let rows = buyers.data.iter().find(|data| data.name == "guests").unwrap();
    assert!(
        matches!(&rows.values, Values::Rows { rows, .. } if rows[0] == ["Ann", "7"] && rows.len() == 2)
    );
    assert_eq!(
        came.loads[0],
        "{ kind = \"users\", users = 8, ramp = \"2s\", pause = \"1s..1500ms\" }"
    );
    assert!(
        came.commands[0].ends_with("--pause 1s..1500ms -d 30s --timeout 2500ms"),
        "{}",
        came.commands[0]
    );
    assert_eq!(requests_of(lookers), ["GET /look?at=it"]);
    assert!(lookers.data.is_empty());
    assert!(
        came.commands[1].contains("https://127.0.0.1:8443")
            && came.commands[1].ends_with("--close"),
        "{}",
        came.commands[1]
    );
    let lost = lost(&came);
    assert_eq!(
        lost,
        [
            "cookies (CookieManager)",
            "script (JSR223PostProcessor)",
            "sometimes (IfController)",
            "never (HTTPSamplerProxy)",
            "that an error ends users of buyers (ThreadGroup)"
        ]
    );
}

#[test]
fn scripts_of_wrk_are_imported() {
    let came = all("pipeline.lua", PIPELINE, &[]);
    assert_eq!(
        (requests_of(&came.workloads[0]), came.loads[0].as_str()),
        (vec!["GET /pets".into()], "{ kind = \"closed\", connections = 10, depth = 16 }")
    );
    assert_eq!(came.workloads[0].steps[0].headers[0].0, "j-tenant-id");
    assert_eq!(came.imported.lost.0, []);
    let came = all("pipeline.lua", PIPELINE, &[("args[1]", "/x"), ("args[2]", "4")]);
    assert_eq!(
        (requests_of(&came.workloads[0]), came.loads[0].as_str()),
        (vec!["GET /x".into()], "{ kind = \"closed\", connections = 10, depth = 4 }")
    );
    let came = all("post.lua", POST, &[]);
    assert_eq!(
        requests_of(&came.workloads[0]),
        ["PUT /orders/${counter} {\"n\": ${random}, \"text\": \"$${x}\"}"]
    );
    assert_eq!(came.loads[0], "{ kind = \"users\", users = 10, pause = \"10ms..50ms\" }");
    assert!(came.imported.lost.speaks_of("response") && came.imported.lost.0.len() == 1);
    let fixed = "wrk.method = 'POST'\nwrk.body = [[\n{}]]\nwrk.path = 'http://127.0.0.1:81/a'\n";
    let came = all("x.lua", fixed, &[]);
    assert_eq!(requests_of(&came.workloads[0]), ["POST /a {}"]);
    assert!(came.commands[0].contains("http://127.0.0.1:81 "));
    assert!(
        imported("x.lua", "request = function() return wrk.format(f(x)) end", &[])
            .is_err_and(|e| e.contains("hint: "))
    );
}

#[test]
fn recordings_of_browsers_are_imported() {
    let came = all("recording.har", RECORDING, &[]);
    assert_eq!(requests_of(&came.workloads[0]), ["GET /a%20b?x=1", "POST /form a%20b=c%26d"]);
    let names: Vec<_> =
        came.workloads[0].steps[0].headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accept", "cookie", "host"], "the host is another than the URL says");
    assert_eq!(came.workloads[0].steps[1].answer.status, Statuses::one(303));
    assert!(
        came.imported.lost.speaks_of("elsewhere.example")
            && came.imported.lost.speaks_of("/broken")
    );
    assert!(came.imported.taken.speaks_of("`Cookie`"), "a secret is noted");
}

#[test]
fn command_lines_of_curl_are_imported() {
    let came = all("curl.txt", CURL, &[]);
    let [order, _] = &came.workloads[0].steps[..] else { panic!("two steps") };
    assert_eq!(
        requests_of(&came.workloads[0]),
        ["POST /orders?x=1 {\"n\": 1, \"it's\": \"A\"}", "GET /orders/1"]
    );
    let headers: Vec<_> =
        order.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        headers,
        [
            "accept-encoding: gzip, deflate",
            "authorization: Basic bWU6c2VjcmV0",
            "content-type: application/json",
            "x-token: $a"
        ]
    );
    assert_eq!(
        came.commands,
        ["faceoff load http://127.0.0.1:8080 --workload it.toml -c 64 --timeout 2500ms --insecure"]
    );
    for lost in ["-L of command 1", "POST https://elsewhere.example/"] {
        assert!(came.imported.lost.speaks_of(lost), "{lost}: {:?}", came.imported.lost.0);
    }
    let words = |line: &str| words::lines(line).remove(0);
    let of_line = |line: &str| {
        curl::import(&words(line), Path::new("."))
            .map(|imported| requests_of(&imported.parts[0].workload))
    };
    assert_eq!(
        of_line("-G -d a=1 --data-urlencode 'b=c d' 127.0.0.1/x").unwrap(),
        ["GET /x?a=1&b=c+d"]
    );
    assert_eq!(
        of_line("--json '{}' -I http://h/ http://h/2").unwrap(),
        ["HEAD / {}", "HEAD /2 {}"]
    );
    for wrong in ["", "-H", "ftp://h/", "-X 'a b' http://h/", "-d @/no/such/file http://h/"] {
        assert!(
            curl::import(&words(&format!("x {wrong}"))[1..], Path::new("."))
                .is_err_and(|e| e.to_string().contains("hint: ")),
            "{wrong}"
        );
    }
}

#[test]
#[cfg_attr(not(feature = "openapi-yaml"), ignore = "needs feature openapi-yaml")]
fn descriptions_of_openapi_are_imported() {
    let came = all("shop.yaml", SHOP, &[]);
    assert_eq!(
        requests_of(&came.workloads[0]),
        [
            "GET /api/items/7?fields=all",
            "DELETE /api/items/7",
            "POST /api/items {\"id\":1,\"name\":\"aaa\"}"
        ]
    );
    let [read, gone, made] = &came.workloads[0].steps[..] else { panic!("three steps") };
    assert_eq!(
        read.answer.pointers,
        [("/id".to_owned(), Wanted::Present), ("/name".to_owned(), Wanted::Present)]
    );
    assert_eq!(
        (read.answer.status, gone.answer.status),
        (Statuses::one(200), Statuses { from: 200, to: 299 })
    );
    assert_eq!(
        (read.headers[0].0.as_str(), made.headers[0].1.to_string()),
        ("x-trace", "application/json".to_owned())
    );
    assert!(
        came.commands[0].starts_with("faceoff load http://127.0.0.1:8081 "),
        "{}",
        came.commands[0]
    );
    let lost = lost(&came);
    assert_eq!(lost, ["the security of DELETE /items/{id}", "PUT /items"]);
}

#[test]
fn schemas_that_contain_themselves_are_cut() {
    let of_itself = value!({"$ref": "#/s"});
    let fields: serde_json::Map<String, serde_json::Value> =
        ('a'..='h').map(|name| (name.to_string(), of_itself.clone())).collect();
    let body = value!({"content": {"application/json": {"schema": of_itself}}});
    let text = value!({
        "openapi": "3.0.0",
        "s": {"type": "object", "properties": fields, "allOf": [{"$ref": "#/r"}]},
        "r": {"$ref": "#/r"},
        "paths": {"/x": {"post": {"requestBody": body, "responses": {"200": {}}}}},
    })
    .to_string();
    assert_eq!(all("x.json", &text, &[]).workloads[0].steps[0].method, "POST");
}

#[test]
fn examples_are_limited_in_size_and_depth() {
    let text_of = |length: usize| value!("x".repeat(length));
    let deep = (0..40).fold(value!(1), |inner, _| value!([inner]));
    let body = |media: serde_json::Value| value!({"requestBody": {"content": {"application/json": media}}, "responses": {"200": {}}});
    let of = |default: serde_json::Value| value!({"type": "object", "properties": {"a": {"type": "string", "default": default}}});
    let many: serde_json::Map<_, _> =
        (0..9).map(|n| (format!("f{n}"), value!({"$ref": "#/large"}))).collect();
    let came = all(
        "x.json",
        &value!({
            "openapi": "3.0.0",
            "large": {"type": "string", "default": text_of(10_000)},
            "paths": {
                "/example": {"post": body(value!({"example": text_of(70_000), "schema": {"type": "integer"}}))},
                "/default": {"post": body(value!({"schema": of(text_of(70_000))}))},
                "/deep": {"post": body(value!({"example": deep, "schema": {"type": "integer"}}))},
                "/many": {"post": body(value!({"schema": {"type": "object", "properties": many}}))},
                "/small": {"post": body(value!({"schema": of(text_of(60_000))}))},
            },
        })
        .to_string(),
        &[],
    );
    let bodies: Vec<String> = came.workloads[0]
        .steps
        .iter()
        .map(
            |step| if let Body::Text(text) = &step.body { text.to_string() } else { String::new() },
        )
        .collect();
    let lost = lost(&came);
    let note = |path: &str| format!("examples and defaults of POST {path}");
    assert_eq!(lost, ["/example", "/default", "/deep", "/many"].map(note));
    let at = |path: &str| {
        &bodies
            [came.workloads[0].steps.iter().position(|step| step.path.to_string() == path).unwrap()]
    };
    assert_eq!(
        (at("/example").as_str(), at("/default").as_str(), at("/deep").as_str()),
        ("1", "{\"a\":\"a\"}", "1")
    );
    assert!(
        at("/small").len() > 60_000 && (60_000..64 << 10).contains(&at("/many").len()),
        "{}",
        at("/many").len()
    );
}

#[test]
fn a_description_with_too_many_operations_is_cut_and_noted() {
    let paths: serde_json::Map<_, _> = (0..2_001)
        .map(|n| (format!("/{n}"), value!({"get": {"responses": {"200": {}}}})))
        .collect();
    let came = all("x.json", &value!({"openapi": "3.0.0", "paths": paths}).to_string(), &[]);
    assert_eq!(came.workloads[0].steps.len(), 2_000);
    assert_eq!(came.imported.lost.0[0].what, "what follows 2000 operations");
}

#[test]
fn variables_that_contain_each_other_are_cut() {
    let many: String = (0..60).map(|n| format!("${{v{}}}", n % 8)).collect();
    let defined: String = (0..8)
        .map(|n| format!("<elementProp><stringProp name=\"Argument.name\">v{n}</stringProp><stringProp name=\"Argument.value\">{many}</stringProp></elementProp>"))
        .collect();
    let plan = BANK.replacen(
        "<collectionProp name=\"Arguments.arguments\"/>",
        &format!("<collectionProp name=\"Arguments.arguments\">{defined}</collectionProp>"),
        1,
    );
    let plan = plan.replace("/client/new/100", "/client/${v0}");
    assert!(all("bank.jmx", &plan, &[]).imported.lost.speaks_of("${v0}"));
}

#[test]
fn a_dollar_before_a_value_stays_literal() {
    let plan = BANK.replace("/client/new/100", "/cost/$${__threadNum}$/$$${__threadNum}");
    let came = all("bank.jmx", &plan, &[]);
    let parts = |text: &str| template::Part::Text(text.into());
    let user = || template::Part::Value("user".into());
    assert_eq!(
        came.workloads[0].steps[0].path.parts,
        [parts("/cost/$"), user(), parts("$/$$"), user()]
    );
}

#[test]
fn loads_and_pauses_are_written_as_they_are_read() {
    use spec::experiment::{Overflow, Spacing, Stage};
    let seconds = Duration::from_secs;
    let arrivals = Load::Arrivals {
        rate_per_s: 0.5,
        stages: vec![Stage { to_per_s: 100.0, over: seconds(90) }],
        spacing: Spacing::Poisson,
        in_flight_max: 7,
        overflow: Overflow::Shed,
    };
    let users = Load::Users {
        users: 3,
        ramp: seconds(1),
        pause: Pause::Exponential(Duration::from_micros(1_500)),
        rounds: Some(2),
        pooled: Some(2),
    };
    for (load, cell, command) in [
        (
            arrivals,
            "{ kind = \"arrivals\", rate = 0.5, stages = [{ to = 100, over = \"90s\" }], spacing = \"poisson\", overflow = \"shed\", in_flight_max = 7 }",
            "-R 0.5 -c 7 --stages 90s:100 --poisson --shed",
        ),
        (
            Load::Closed { connections: 4, depth: 2 },
            "{ kind = \"closed\", connections = 4, depth = 2 }",
            "-c 4 --pipeline 2",
        ),
        (
            users,
            "{ kind = \"users\", users = 3, ramp = \"1s\", pause = \"~1500us\", rounds = 2, pooled = 2 }",
            "--users 3 --ramp 1s --pause '~1500us' --rounds 2 --pooled 2",
        ),
    ] {
        let part = Part::new(Vec::new(), load);
        assert_eq!(write::load(&part.load), cell);
        assert_eq!(
            write::command(&part, Path::new("x.toml")),
            format!("faceoff load http://127.0.0.1:8080 --workload x.toml {command}")
        );
    }
}

#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    for (path, text) in [
        ("x", ""),
        ("x", "hello"),
        ("x.jmx", "<a/>"),
        ("x.har", "{\"log\": {}}"),
        ("x.yaml", "openapi: 3.0.0\n"),
        ("x", "[1]"),
        ("x.lua", "f()"),
    ] {
        let message = imported(path, text, &[]).err();
        assert!(
            path == "x.lua"
                || message.as_ref().is_some_and(
                    |message| message.starts_with("error: ") && message.contains("hint: ")
                ),
            "{path}: {message:?}"
        );
    }
}

/// Writes a request as one text.
fn text_of_step(step: &Step) -> String {
    let headers: String =
        step.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let body = if let Body::Bytes(bytes) = &step.body {
        String::from_utf8_lossy(bytes).into_owned()
    } else {
        body(step)
    };
    format!("{} {}\n{headers}\n{body}\n", step.method, step.path)
}

impl Came {
    /// Returns what the requests of all workloads contain.
    fn sent(&self) -> String {
        self.workloads.iter().flat_map(|workload| &workload.steps).map(text_of_step).collect()
    }

    /// Returns the values of a header, in the order in which the requests send them.
    fn values(&self, name: &str) -> Vec<String> {
        let steps = self.workloads.iter().flat_map(|workload| &workload.steps);
        steps
            .flat_map(|step| &step.headers)
            .filter(|(other, _)| other == name)
            .map(|(_, value)| value.to_string())
            .collect()
    }
}

/// Checks that any text is an error, or a workload that is read again.
fn bears(path: &str, text: &str) {
    let Ok(imported) = imported(path, text, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    write::write_import(&imported, "it", path, folder.path(), false)
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
}

/// Removes, doubles or replaces a piece of a text.
fn damaged(text: &str, from: Index, to: Index, with: &str) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (a, b) = (places[from.index(places.len())], places[to.index(places.len())]);
    let (a, b) = (a.min(b), a.max(b).min(a.min(b) + 200));
    let b = *places.iter().rev().find(|place| **place <= b).unwrap_or(&text.len());
    format!("{}{with}{}", &text[..a], &text[b..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_input_makes_an_import_panic(text in "\\PC{0,200}", path in prop::sample::select(vec!["x", "x.lua", "x.jmx", "x.har", "x.yaml"])) {
        bears(path, &text);
    }

    #[test]
    fn damaged_files_make_no_import_panic(
        which in 0usize..7,
        from in any::<Index>(),
        to in any::<Index>(),
        with in prop::sample::select(vec!["", "${", "}", "\"", "'", "\\", "<", "$.a[", "\u{0}", "é", "9999999999999999999999", "${__P(", "[[", "\n", ": ", "-"]),
    ) {
        let (path, text) = [
            ("x.jmx", BANK), ("x.jmx", MANY), ("x.lua", PIPELINE), ("x.lua", POST), ("x.har", RECORDING), ("x", CURL), ("x.yaml", SHOP),
        ][which];
        bears(path, &damaged(text, from, to, with));
    }

    #[test]
    fn a_written_workload_is_read_as_the_same(
        texts in prop::collection::vec("\\PC{0,20}|[ -~\\n\\t\"'\\\\$\\{\\}]{0,20}", 4),
        names in prop::collection::vec("\\PC{0,12}", 2),
    ) {
        let mut lost = Notes::default();
        let mut step = Step { path: path(Template::fixed(texts[0].as_str())), body: Body::Text(Template::fixed(texts[1].as_str())), ..Step::default() };
        add_header(&mut step, &names[0], Template::fixed(texts[2].replace(['\r', '\n', '\0'], "")), &mut lost);
        step.answer.body = BodyCheck::Text(Template::fixed(texts[3].as_str()));
        step.answer.pointers = vec![(format!("/{}", names[1]), Wanted::Value(value!(texts[2]))), ("/x".into(), Wanted::Present)];
        let mut part = Part::new(vec![step], Load::closed(1));
        part.workload.summary = texts[3].clone();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it.toml");
        std::fs::write(&file, write::workload(&part, "it")).unwrap();
        let read = Workload::read(&file).unwrap_or_else(|e| panic!("{e}"));
        part.workload.name = "it".into();
        // A text with `${` is compared as it is written, with or without values in it.
        if let (_, wanted @ Wanted::Value(_)) = &mut part.workload.steps[0].answer.pointers[0]
            && texts[2].contains("${")
        {
            *wanted = Wanted::Spelling(Template::fixed(texts[2].as_str()));
        }
        // An empty body text is the same as no body.
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", part.workload));
    }
}
