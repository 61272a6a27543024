//! Checks that every element of a JMeter plan is in a workload, or named as lost.

use super::*;

fn text(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

fn element(tag: &str, name: &str, inside: &str, below: &str) -> String {
    format!("<{tag} testname=\"{name}\">{inside}</{tag}><hashTree>{below}</hashTree>")
}

fn plan(below: &str) -> String {
    format!(
        "<jmeterTestPlan><hashTree>{}</hashTree></jmeterTestPlan>",
        element("TestPlan", "plan", "", below)
    )
}

fn arguments(all: &[(&str, &str)]) -> String {
    let each = all.iter().map(|(name, value)| {
        format!(
            "<elementProp name=\"{name}\">{}{}</elementProp>",
            text("Argument.name", name),
            text("Argument.value", value)
        )
    });
    format!(
        "<elementProp name=\"HTTPsampler.Arguments\"><collectionProp name=\"Arguments.arguments\">{}</collectionProp></elementProp>",
        each.collect::<String>()
    )
}

fn sampler(name: &str, method: &str, more: &str, below: &str) -> String {
    let inside = [
        text("HTTPSampler.domain", "127.0.0.1"),
        text("HTTPSampler.path", &format!("/{name}")),
        text("HTTPSampler.method", method),
        more.to_owned(),
    ];
    element("HTTPSamplerProxy", name, &inside.concat(), below)
}

fn headers(name: &str, all: &[(&str, &str)]) -> String {
    let each = all.iter().map(|(name, value)| {
        format!(
            "<elementProp name=\"\">{}{}</elementProp>",
            text("Header.name", name),
            text("Header.value", value)
        )
    });
    element(
        "HeaderManager",
        name,
        &format!(
            "<collectionProp name=\"HeaderManager.headers\">{}</collectionProp>",
            each.collect::<String>()
        ),
        "",
    )
}

fn group(tag: &str, inside: &str, below: &str) -> String {
    plan(&element(tag, "group", inside, below))
}

fn of(plan: &str) -> Came {
    all("x.jmx", plan, &[])
}

#[test]
fn headers_repeat_and_the_nearest_manager_wins() {
    let below = headers(
        "outer",
        &[
            ("X-Tag", "a"),
            ("X-Tag", "b"),
            ("X-Far", "c"),
            ("Host", "shop"),
            ("Connection", "close"),
        ],
    ) + &sampler("one", "GET", "", "")
        + &sampler("two", "GET", "", &headers("inner", &[("x-far", "d"), ("X-Far", "e")]));
    let came = of(&group("ThreadGroup", "", &below));
    let values = |n: usize, name: &str| {
        let headers = came.workloads[0].steps[n].headers.iter().filter(|(other, _)| other == name);
        headers.map(|(_, value)| value.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (values(0, "x-tag"), values(1, "x-tag")),
        (vec!["a".into(), "b".into()], vec!["a".into(), "b".to_owned()])
    );
    assert_eq!(
        (values(0, "x-far"), values(1, "x-far")),
        (vec!["c".to_owned()], vec!["d".into(), "e".to_owned()])
    );
    assert_eq!(values(0, "host"), ["shop"]);
    assert!(
        came.commands[0].contains(" --close") && came.imported.taken.speaks_of("X-Far: c"),
        "{:?}",
        came.commands
    );
    assert_eq!(lost(&came), [""; 0]);
}

fn row(cells: &[&str]) -> String {
    let cells: String = cells.iter().map(|cell| text("c", cell)).collect();
    format!("<collectionProp name=\"r\">{cells}</collectionProp>")
}

fn rows(name: &str, all: &[&[&str]]) -> String {
    let rows: String = all.iter().map(|cells| row(cells)).collect();
    format!("<collectionProp name=\"{name}\">{rows}</collectionProp>")
}

fn concurrency(unit: &str) -> String {
    [("TargetLevel", "300"), ("RampUp", "2"), ("Steps", ""), ("Hold", "5"), ("Unit", unit)]
        .map(|(name, value)| text(name, value))
        .concat()
}

/// Imports a plan with one thread group, and compares its load and what is named as lost.
fn becomes(tag: &str, inside: &str, load: &str, duration: &str, named: &[&str]) {
    let came = of(&group(tag, inside, &sampler("one", "GET", "", "")));
    assert_eq!(came.loads, [load], "{tag}");
    assert!(came.commands[0].contains(duration), "{tag}: {}", came.commands[0]);
    let found = lost(&came);
    assert!(
        found.len() == named.len()
            && named.iter().zip(&found).all(|(named, found)| found.starts_with(named)),
        "{tag}: {found:?}"
    );
}

#[test]
fn thread_groups_of_users_become_loads() {
    let ultimate = "kg.apc.jmeter.threads.UltimateThreadGroup";
    becomes(
        ultimate,
        &rows("ultimatethreadgroupdata", &[&["20", "0", "180", "60", "0"]]),
        "{ kind = \"users\", users = 20, ramp = \"180s\" }",
        "-d 240s",
        &[],
    );
    let several: &[&[&str]] = &[&["10", "5", "30", "60", "10"], &["20", "30", "30", "60", "10"]];
    becomes(
        ultimate,
        &rows("ultimatethreadgroupdata", several),
        "{ kind = \"users\", users = 30, ramp = \"55s\" }",
        "-d 115s",
        &["the 2 rows of group", "the start-up delay of group", "the shutdown time of group"],
    );
    for (unit, load, duration) in [
        ("M", "{ kind = \"users\", users = 300, ramp = \"120s\" }", "-d 420s"),
        ("S", "{ kind = \"users\", users = 300, ramp = \"2s\" }", "-d 7s"),
    ] {
        let tag = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup";
        becomes(tag, &concurrency(unit), load, duration, &[]);
    }
    let stepping = [
        ("ThreadGroup.num_threads", "50"),
        ("Threads initial delay", "0"),
        ("Start users count", "10"),
        ("Start users count burst", "0"),
        ("Start users period", "30"),
        ("Stop users count", "10"),
        ("Stop users period", "5"),
        ("flighttime", "120"),
        ("rampUp", "10"),
    ]
    .map(|(name, value)| text(name, value))
    .concat();
    becomes(
        "kg.apc.jmeter.threads.SteppingThreadGroup",
        &stepping,
        "{ kind = \"users\", users = 50, ramp = \"130s\" }",
        "-d 250s",
        &["the steps of group", "the shutdown time of group"],
    );
}

#[test]
fn thread_groups_of_arrivals_become_loads() {
    becomes(
        "com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup",
        &(concurrency("M") + &text("ConcurrencyLimit", "50")),
        "{ kind = \"arrivals\", rate = 0.001, stages = [{ to = 5, over = \"120s\" }, { to = 5, over = \"300s\" }], spacing = \"poisson\", in_flight_max = 50 }",
        "-d 420s",
        &[],
    );
    becomes(
        "com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup",
        &(rows("Schedule", &[&["1", "10", "60"], &["10", "10", "30"]]) + &text("Unit", "S")),
        "{ kind = \"arrivals\", rate = 1, stages = [{ to = 10, over = \"60s\" }, { to = 10, over = \"30s\" }], spacing = \"poisson\", in_flight_max = 1024 }",
        "-d 90s",
        &[],
    );
    for (schedule, load, duration) in [
        (
            "rate(60/min) random_arrivals(1 min) rate(5/sec) pause(2 s)",
            "{ kind = \"arrivals\", rate = 1, stages = [{ to = 5, over = \"60s\" }, { to = 0, over = \"0s\" }, { to = 0, over = \"2s\" }, { to = 5, over = \"0s\" }], spacing = \"poisson\", in_flight_max = 1024 }",
            "-d 62s",
        ),
        (
            "rate(4/s) even_arrivals(10 s)",
            "{ kind = \"arrivals\", rate = 4, in_flight_max = 1024 }",
            "-d 10s",
        ),
    ] {
        let schedule = text("OpenModelThreadGroup.schedule", schedule);
        becomes("OpenModelThreadGroup", &schedule, load, duration, &[]);
    }
    let two = of(&group(
        "OpenModelThreadGroup",
        &text("OpenModelThreadGroup.schedule", "rate(4/s) even_arrivals(10 s)"),
        &(sampler("one", "GET", "", "") + &sampler("two", "GET", "", "")),
    ));
    assert!(
        two.loads[0].contains("rate = 8") && two.imported.taken.speaks_of("the rates of group"),
        "{:?}",
        two.loads
    );
}

#[test]
fn a_thread_group_that_is_not_understood_is_named() {
    let named = &["the load of group"];
    let one_user = "{ kind = \"users\", users = 1 }";
    let schedule = text("OpenModelThreadGroup.schedule", "often");
    becomes("OpenModelThreadGroup", &schedule, one_user, "", named);
    becomes("com.example.FancyThreadGroup", "", one_user, "", named);
}

#[test]
fn a_plan_without_requests_is_refused_with_all_names() {
    let sampler = element("JavaSampler", "java", "", "");
    for (tag, named) in [
        ("com.example.FancyThreadGroup", "group (com.example.FancyThreadGroup)"),
        ("SetupThreadGroup", "group (SetupThreadGroup)"),
    ] {
        let refused = imported("x.jmx", &group(tag, "", &sampler), &[]).err().unwrap();
        assert!(
            refused.contains("Not carried over")
                && refused.contains(named)
                && refused.contains("java (JavaSampler)")
                && refused.contains("hint: "),
            "{refused}"
        );
    }
}

#[test]
fn multipart_forms_keep_their_parts_and_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.png"), [0x89, 0xff]).unwrap();
    std::fs::write(folder.path().join("t.txt"), "text").unwrap();
    let file = |path: &str, name: &str, kind: &str| {
        let inside =
            text("File.path", path) + &text("File.paramname", name) + &text("File.mimetype", kind);
        format!(
            "<elementProp name=\"HTTPsampler.Files\"><collectionProp name=\"HTTPFileArgs.files\"><elementProp name=\"\">{inside}</elementProp></collectionProp></elementProp>"
        )
    };
    let import = |more: &str| {
        understand(
            "x.jmx",
            &group(
                "ThreadGroup",
                "",
                &sampler(
                    "up",
                    "POST",
                    more,
                    &headers("h", &[("Content-Type", "multipart/form-data")]),
                ),
            ),
            folder.path(),
            &BTreeMap::new(),
        )
        .unwrap()
    };
    let sent_text = |imported: &Imported| text_of_step(&imported.parts[0].workload.steps[0]);
    let form = import(&(arguments(&[("kind", "front")]) + &file("t.txt", "file", "text/x")));
    let sent = sent_text(&form);
    assert!(
        sent.starts_with("POST /up\ncontent-type: multipart/form-data; boundary=---"),
        "{sent}"
    );
    for piece in [
        "name=\"kind\"\r\n\r\nfront\r\n",
        "name=\"file\"; filename=\"t.txt\"\r\nContent-Type: text/x\r\n\r\ntext\r\n",
    ] {
        assert!(sent.contains(piece), "{piece}: {sent}");
    }
    assert!(
        sent_text(&import(
            &(arguments(&[("a", "b")])
                + "<boolProp name=\"HTTPSampler.DO_MULTIPART_POST\">true</boolProp>")
        ))
        .contains("name=\"a\"\r\n\r\nb\r\n")
    );
    let bytes = import(&file("p.png", "file", ""));
    assert!(
        matches!(&bytes.parts[0].workload.steps[0].body, Body::Bytes(bytes) if bytes.windows(2).any(|window| window == [0x89, 0xff]))
    );
    assert!(sent_text(&import(&file("t.txt", "", ""))).ends_with("\n\ntext\n"));
    for (path, why) in
        [("none.png", "No such file"), ("/etc/hostname", "not in the folder of the plan")]
    {
        let imported = import(&(arguments(&[("a", "b")]) + &file(path, "file", "")));
        assert!(
            imported.lost.0.iter().any(|note| note.what.contains(path) && note.why.contains(why)),
            "{:?}",
            imported.lost.0
        );
    }
}

#[test]
fn properties_that_differ_from_their_default_are_named() {
    let inside = text("ThreadGroup.same_user_on_next_iteration", "false")
        + &text("ThreadGroup.num_threads", "2");
    let more = text("HTTPSampler.connect_timeout", "500")
        + &text("HTTPSampler.ipSource", "10.0.0.1")
        + &text("HTTPSampler.md5", "false");
    let came = of(&group("ThreadGroup", &inside, &sampler("one", "GET", &more, "")));
    let named = [
        "`HTTPSampler.connect_timeout` of one",
        "`HTTPSampler.ipSource` of one",
        "`ThreadGroup.same_user_on_next_iteration` of group",
    ];
    assert!(
        named.iter().all(|named| came.imported.lost.speaks_of(named))
            && came.imported.lost.0.len() == 3,
        "{:?}",
        lost(&came)
    );
}

#[test]
fn parameters_go_where_jmeter_puts_them() {
    let request = |method: &str| {
        let came = of(&group(
            "ThreadGroup",
            "",
            &sampler("x", method, &arguments(&[("a", "b c"), ("d", "")]), ""),
        ));
        (
            requests_of(&came.workloads[0]).remove(0),
            came.imported.taken.speaks_of("the parameters of x"),
        )
    };
    assert_eq!(request("DELETE"), ("DELETE /x?a=b%20c&d=".into(), false));
    assert_eq!(request("POST"), ("POST /x a=b%20c&d=".into(), false));
    assert_eq!(request("HEAD"), ("HEAD /x".into(), true));
}

/// An element of a thread group.
#[derive(Clone, Debug)]
enum Part {
    Sampler(&'static str, Vec<&'static str>, Option<&'static str>),
    Headers(Vec<&'static str>),
    Controller(&'static str, Vec<Part>),
    Element(&'static str),
    Disabled,
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let names = || {
        prop::collection::vec(
            prop::sample::select(vec![
                "X-Tag",
                "x-tag",
                "Cookie",
                "Host",
                "Connection",
                "Transfer-Encoding",
            ]),
            0..4,
        )
    };
    let odd = vec![
        "HTTPSampler.connect_timeout",
        "HTTPSampler.ipSource",
        "HTTPSampler.embedded_url_re",
        "HTTPSampler.contentEncoding",
        "HTTPSampler.unheard_of",
    ];
    let elements = vec![
        "JSR223PreProcessor",
        "CookieManager",
        "AuthManager",
        "XPathExtractor",
        "SizeAssertion",
        "JDBCSampler",
        "ResultCollector",
        "com.example.Thing",
        "SyncTimer",
        "KeystoreConfig",
    ];
    let leaf = prop_oneof![
        4 => (prop::sample::select(vec!["GET", "POST", "DELETE"]), names(), prop::option::of(prop::sample::select(odd))).prop_map(|(method, names, odd)| Part::Sampler(method, names, odd)),
        1 => names().prop_map(Part::Headers),
        2 => prop::sample::select(elements).prop_map(Part::Element),
        1 => Just(Part::Disabled),
    ];
    let controllers = vec![
        "GenericController",
        "TransactionController",
        "LoopController",
        "IfController",
        "WhileController",
        "RandomController",
        "com.example.OddController",
    ];
    let tree = leaf.prop_recursive(3, 16, 4, move |inner| {
        (prop::sample::select(controllers.clone()), prop::collection::vec(inner, 0..4))
            .prop_map(|(tag, inner)| Part::Controller(tag, inner))
    });
    prop::collection::vec(tree, 1..6)
}

/// What must be found of the parts: what is sent, what is named as lost, and what is noted as
/// decided.
struct Found {
    sent: Vec<String>,
    named: Vec<String>,
    decided: Vec<String>,
}

/// Headers with values that occur nowhere else, numbered if they are to differ.
fn header_values<'h>(
    prefix: char,
    name: &str,
    headers: &[&'h str],
    is_numbered: bool,
) -> Vec<(&'h str, String)> {
    let number = |n: usize| if is_numbered { n.to_string() } else { String::new() };
    let value = |(n, header): (usize, &&'h str)| (*header, format!("{prefix}{name}{}", number(n)));
    headers.iter().enumerate().map(value).collect()
}

fn borrowed<'h>(all: &'h [(&'h str, String)]) -> Vec<(&'h str, &'h str)> {
    all.iter().map(|(header, value)| (*header, value.as_str())).collect()
}

fn written_sampler(
    name: &str,
    method: &str,
    names: &[&str],
    odd: Option<&str>,
    is_made: bool,
    wanted: &mut Found,
) -> String {
    let odd_property = odd.map(|odd| text(odd, "odd")).unwrap_or_default();
    let all = header_values('v', name, names, true);
    let inner = headers(&format!("h{name}"), &borrowed(&all));
    let parameters = arguments(&[("q", &format!("a{name}"))]) + &odd_property;
    if is_made {
        wanted.sent.extend([format!("{method} /{name}"), format!("q=a{name}")]);
        wanted.named.extend(odd.map(|odd| format!("`{odd}` of {name}")));
        let mut has_host = false;
        for (header, value) in &all {
            match *header {
                "Host" if has_host => wanted.named.push(value.clone()),
                "Connection" | "Transfer-Encoding" => wanted.named.push(value.clone()),
                _ => wanted.sent.push(value.clone()),
            }
            has_host |= *header == "Host";
        }
    } else {
        wanted.named.push(name.to_owned());
    }
    sampler(name, method, &parameters, &inner)
}

fn written(parts: &[Part], is_made: bool, count: &mut usize, wanted: &mut Found) -> String {
    let mut out = String::new();
    for part in parts {
        *count += 1;
        let name = format!("e{count}x");
        match part {
            Part::Sampler(method, names, odd) => {
                out += &written_sampler(&name, method, names, *odd, is_made, wanted)
            }
            Part::Headers(names) => {
                let all = header_values('w', &name, names, false);
                // Which requests it applies to is tested elsewhere: here there are none.
                out += &element(
                    "GenericController",
                    &name,
                    "",
                    &headers(&format!("h{name}"), &borrowed(&all)),
                );
                if !is_made {
                    wanted.named.push(name);
                }
            }
            Part::Controller(tag, inner) => {
                let is_known =
                    ["GenericController", "TransactionController", "LoopController"].contains(tag);
                let inside = written(inner, is_made && is_known, count, wanted);
                out += &element(
                    tag,
                    &name,
                    &if *tag == "LoopController" {
                        text("LoopController.loops", "1")
                    } else {
                        String::new()
                    },
                    &inside,
                );
                if !(is_known && is_made) {
                    wanted.named.push(name);
                }
            }
            Part::Element(tag) => {
                out += &element(tag, &name, "", "");
                match *tag {
                    "ResultCollector" if is_made => wanted.decided.push(name),
                    "SyncTimer" if is_made => {}
                    _ => wanted.named.push(name),
                }
            }
            Part::Disabled => {
                out += &format!("<JavaSampler testname=\"{name}\" enabled=\"false\"/><hashTree/>");
                if is_made {
                    wanted.decided.push(name);
                }
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]

    #[test]
    fn every_element_of_a_plan_is_carried_over_or_named(
        parts in parts(),
        tag in prop::sample::select(vec!["ThreadGroup", "ThreadGroup", "com.example.FancyThreadGroup", "kg.apc.jmeter.threads.UltimateThreadGroup", "PostThreadGroup"]),
    ) {
        let mut wanted = Found { sent: vec![], named: vec![], decided: vec![] };
        let below = written(&parts, tag != "PostThreadGroup", &mut 0, &mut wanted);
        let rows = "<collectionProp name=\"ultimatethreadgroupdata\"><collectionProp name=\"r\"><stringProp name=\"1\">2</stringProp><stringProp name=\"2\">0</stringProp>\
                    <stringProp name=\"3\">0</stringProp><stringProp name=\"4\">9</stringProp><stringProp name=\"5\">0</stringProp></collectionProp></collectionProp>";
        let inside = if tag.contains("Ultimate") { rows } else { "" };
        let text = group(tag, inside, &below);
        let (sent, notes, taken) = match imported("x.jmx", &text, &[]) {
            Ok(_) => {
                let came = of(&text);
                (came.sent(), came.imported.lost.text(""), came.imported.taken.text(""))
            }
            Err(e) => {
                prop_assert!(wanted.sent.is_empty(), "{e}\n{text}");
                prop_assert!(e.contains("group"), "the thread group keeps its name: {e}");
                (String::new(), e, String::new())
            }
        };
        for marker in &wanted.sent {
            prop_assert!(sent.contains(marker.as_str()), "{marker} is not sent\n{text}\n{sent}\n{notes}");
        }
        for marker in &wanted.named {
            prop_assert!(notes.contains(marker.as_str()), "{marker} is not named\n{text}\n{sent}\n{notes}");
        }
        if !sent.is_empty() {
            for marker in &wanted.decided {
                prop_assert!(taken.contains(marker.as_str()), "{marker} is not decided\n{text}\n{taken}");
            }
            let has_timer = text.contains("SyncTimer");
            let whole = wanted.named.is_empty() && tag != "com.example.FancyThreadGroup";
            prop_assert!(notes.is_empty() == whole || has_timer, "everything was carried over: {whole}\n{text}\n{notes}");
        }
    }
}
