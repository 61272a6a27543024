//! Checks that imported requests are those that wrk sends, from the first on, or named as lost.

use super::*;

/// Returns the paths of the first passes over a workload of one request.
fn paths(came: &Came, passes: u64) -> Vec<String> {
    let [workload] = came.workloads.as_slice() else { panic!("one workload") };
    let [step] = workload.steps.as_slice() else {
        panic!("one request: {:?}", requests_of(workload))
    };
    let value = |name: &str, pass: u64| {
        let data = workload
            .data
            .iter()
            .find(|data| data.names().iter().any(|known| known == name))
            .unwrap();
        match &data.values {
            Values::Counter { from, step } => (from + step * pass).to_string(),
            Values::Rows { rows, at_random: false, .. } => {
                rows[pass as usize % rows.len()][0].clone()
            }
            other => panic!("{other:?} is drawn"),
        }
    };
    let text = |template: &Template, pass: u64| -> String {
        use spec::template::{Part::Text, Part::Value};
        let part = |part: &template::Part| match part {
            Text(text) => text.clone(),
            Value(name) => value(name, pass),
        };
        template.parts.iter().map(part).collect()
    };
    (0..passes).map(|pass| text(&step.path, pass)).collect()
}

fn of(script: &str) -> Came {
    all("x.lua", script, &[])
}

#[test]
fn counters_begin_at_the_value_of_the_first_request() {
    let before = "counter = 0\nrequest = function()\n counter = counter + 1\n return wrk.format('GET', '/users/' .. counter)\nend";
    assert_eq!(paths(&of(before), 3), ["/users/1", "/users/2", "/users/3"]);
    let behind = "local n = 5\nfunction request()\n local path = '/' .. n\n n = n + 2\n return wrk.format(nil, path)\nend";
    assert_eq!(paths(&of(behind), 2), ["/5", "/7"]);
    let both = "n = 0\nfunction request()\n local a = n\n n = n + 1\n return wrk.format('GET', '/' .. a .. '/' .. n * 10 - 3)\nend";
    assert_eq!(paths(&of(both), 2), ["/0/7", "/1/17"]);
    let formatted = "n = 9\nrequest = function() n = n + 1 return wrk.format('GET', string.format('/%d/%s%%', n, 'a')) end";
    assert_eq!(paths(&of(formatted), 2), ["/10/a%", "/11/a%"]);
    let init = "function init(args) n = 3 end\nfunction request() n = n + 1 return wrk.format('GET', '/' .. n) end";
    assert_eq!(paths(&of(init), 1), ["/4"]);
}

#[test]
fn numbers_that_repeat_do_so_from_the_first_request() {
    let round = "local at = 0\nrequest = function()\n local page = (at % 100) + 1\n at = at + 1\n return wrk.format('GET', '/pages/' .. page)\nend";
    let came = of(round);
    let first = paths(&came, 102);
    assert_eq!(
        [&first[0], &first[99], &first[100], &first[101]],
        ["/pages/1", "/pages/100", "/pages/1", "/pages/2"]
    );
    let list = "local ids = {'a7', 'b9', 'c2'}\nlocal n = 0\nfunction request()\n n = n + 1\n return wrk.format('GET', '/' .. ids[(n % #ids) + 1])\nend";
    assert_eq!(paths(&of(list), 4), ["/b9", "/c2", "/a7", "/b9"]);
}

#[test]
fn list_items_are_drawn_evenly_and_headers_are_kept() {
    let came = of(
        "local ids = { 'a7', 'b9', 'c2' }\nmath.randomseed(os.time())\nrequest = function()\n  \
                   return wrk.format('GET', '/items/' .. ids[math.random(#ids)], { ['Accept'] = 'application/json' })\nend",
    );
    assert_eq!(requests_of(&came.workloads[0]), ["GET /items/${ids}"]);
    assert_eq!(came.values("accept"), ["application/json"]);
    assert!(
        matches!(&came.workloads[0].data[0].values, Values::Choice(texts) if *texts == ["a7", "b9", "c2"])
    );
    assert_eq!(came.imported.lost.0, []);
    let came = of("function request() return wrk.format('GET', '/' .. math.random(5) - 1) end");
    assert!(matches!(&came.workloads[0].data[0].values, Values::Number { from: 0, to: 4 }));
}

#[test]
fn values_from_setup_are_those_of_the_first_thread() {
    let came = of(
        "local threads = 0\nfunction setup(thread)\n threads = threads + 1\n thread:set('id', threads)\nend\nfunction init(args)\n n = 0\nend\n\
                   function request()\n n = n + 1\n return wrk.format('PUT', '/t/' .. id .. '/' .. n, nil, '{\"n\":' .. n .. '}')\nend",
    );
    assert_eq!(requests_of(&came.workloads[0]), ["PUT /t/1/${n} {\"n\":${n}}"]);
    assert_eq!(paths(&came, 2), ["/t/1/1", "/t/1/2"]);
    assert!(
        came.imported.taken.speaks_of("`id`") && came.imported.lost.0.is_empty(),
        "{:?}",
        came.imported.lost.0
    );
}

#[test]
fn an_uncertain_request_is_refused_by_name() {
    for script in [
        // Counted in a branch, in a loop, elsewhere, or downwards.
        "n = 0\nfunction request() if n < 9 then n = n + 1 end return wrk.format('GET', '/' .. n) end",
        "n = 0\nfunction request() n = n + 1 if n > 9 then n = 1 end return wrk.format('GET', '/' .. n) end",
        "n = 0\nfunction response() n = n + 1 end\nfunction request() return wrk.format('GET', '/' .. n) end",
        "n = 0\nfunction request() n = n - 1 return wrk.format('GET', '/' .. n) end",
        "function request() n = n + 1 return wrk.format('GET', '/' .. n) end",
        "n = 1\nfunction request() n = n + 1 return wrk.format('GET', '/' .. n / 2) end",
        "n = 1\nfunction request() n = n + 1 return wrk.format('GET', '/' .. n * n) end",
        "ids = {'a'}\nn = 0\nfunction request() n = n + 1 return wrk.format('GET', '/' .. ids[n]) end",
        "function init() for i = 1, 3 do r = wrk.format('GET', '/' .. i) end end",
        "function request() return wrk.format('GET', string.format('/%05d', 7)) end",
        "function request() return wrk.format('GET', '/\\xff') end",
    ] {
        let refused = imported("x.lua", script, &[]).err().unwrap_or_else(|| panic!("{script}"));
        assert!(
            refused.contains("a request whose path is computed") && refused.contains("hint: "),
            "{script}: {refused}"
        );
    }
    let came = of(
        "wrk.host = 'h'\nwrk.headers['Connection'] = 'close'\nwrk.headers['Host'] = 'shop'\nwrk.path = '/a'",
    );
    assert!(
        came.imported.lost.speaks_of("wrk.host") && came.commands[0].ends_with("--close"),
        "{:?}",
        came.commands
    );
    assert_eq!(came.values("host"), ["shop"]);
    let several = of(
        "n = 0\nfunction request() n = n + 1 if n then return wrk.format('GET', '/a' .. n) end return wrk.format('GET', '/b') end",
    );
    assert!(several.imported.lost.speaks_of("`n`") && several.imported.lost.speaks_of("`if`"));
}

/// A statement that counts, and the text that a request is made of.
#[derive(Clone, Debug)]
struct Made {
    first: u32,
    step: u32,
    before: bool,
    times: u32,
    plus: u32,
    modulus: Option<u32>,
    method: &'static str,
    headers: Vec<&'static str>,
    body: bool,
    more: Vec<&'static str>,
}

fn made() -> impl Strategy<Value = Made> {
    let more = vec!["response", "setup", "helper", "wrk.port", "wrk.scheme"];
    (
        (0u32..50, 1u32..5, any::<bool>(), 1u32..4, 0u32..9, prop::option::of(1u32..40)),
        prop::sample::select(vec!["GET", "POST", "PUT"]),
        prop::collection::vec(
            prop::sample::select(vec!["X-A", "Cookie", "Host", "Connection", "Transfer-Encoding"]),
            0..4,
        ),
        any::<bool>(),
        prop::collection::btree_set(prop::sample::select(more), 0..4),
    )
        .prop_map(
            |((first, step, before, times, plus, modulus), method, mut headers, body, more)| {
                headers.sort_unstable();
                headers.dedup();
                Made {
                    first,
                    step,
                    before,
                    times,
                    plus,
                    modulus,
                    method,
                    headers,
                    body,
                    more: more.into_iter().collect(),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_request_of_a_script_is_sent_or_named(made in made()) {
        let number = made.modulus.map_or_else(|| format!("(n * {} + {})", made.times, made.plus), |m| format!("(n * {} % {m} + {})", made.times, made.plus));
        let count = format!(" n = n + {}\n", made.step);
        let (before, behind) = if made.before { (count.as_str(), "") } else { ("", count.as_str()) };
        let headers: String = made.headers.iter().map(|name| format!("wrk.headers[\"{name}\"] = \"v{name}\"\n")).collect();
        let body = if made.body { "nil, 'b' .. x" } else { "nil" };
        let more: String = made.more.iter().map(|more| if more.contains('.') { format!("{more} = 'm'\n") } else { format!("function {more}(a) print(a) end\n") }).collect();
        let script = format!("local n = {}\n{headers}{more}function request()\n{before} local x = {number}\n{behind} return wrk.format('{}', '/p/' .. x, {body})\nend\n", made.first, made.method);
        let came = of(&script);
        let value = |pass: u32| {
            let n = made.first + made.step * (pass + u32::from(made.before));
            made.modulus.map_or(n * made.times, |m| n * made.times % m) + made.plus
        };
        let right: Vec<String> = (0..45).map(|pass| format!("/p/{}", value(pass))).collect();
        prop_assert_eq!(paths(&came, 45), right, "{}", script);
        let sent = came.sent();
        prop_assert!(sent.starts_with(made.method), "{script}\n{sent}");
        prop_assert!(!made.body || sent.ends_with('\n') && sent.contains("\n\nb"), "{script}\n{sent}");
        let mut lost = 0;
        for name in &made.headers {
            let is_sent = sent.contains(&format!("{}: v{name}", name.to_lowercase()));
            let is_named = came.imported.lost.speaks_of(&format!("{}: v{name}", name.to_lowercase()));
            prop_assert!(is_sent != is_named, "{name}: {script}\n{:?}", came.imported.lost.0);
            lost += usize::from(is_named);
        }
        for more in &made.more {
            prop_assert!(came.imported.lost.speaks_of(more), "{more}: {script}\n{:?}", came.imported.lost.0);
        }
        prop_assert_eq!(came.imported.lost.0.len(), lost + made.more.len(), "{}\n{:?}", script, came.imported.lost.0);
    }
}
