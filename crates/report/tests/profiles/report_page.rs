//! The data of the report's section "Why".

use super::profiled::{CORRECT, PERIOD_NS, profile, profiled};
use serde_json::Value;

/// The data within a report, for `causes`.
fn causes(record: &record::Record) -> Value {
    let html = report::html(record, &judge::judge(record));
    let (_, after) = html.split_once(r#"id="page-data">"#).unwrap();
    let (data, _) = after.split_once("</script>").unwrap();
    serde_json::from_str::<Value>(data).unwrap()["causes"].clone()
}

#[test]
fn flame_graph_adds_up_and_leaves_out_thin_functions() {
    let a = [("tcp;write;main", 6_000), ("main.hash;main", 4_000), ("thin;main", 5)];
    let b = [("tcp;write;main", 6_000), ("main.hash;main", 8_000)];
    let record =
        profiled((1..=4).flat_map(|n| [profile("a", n, &a), profile("b", n, &b)]).collect());
    let causes = causes(&record);
    let flame = &causes[0]["flame"];
    let column = |name: &str| -> Vec<u64> {
        flame[name].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect()
    };
    let (parents, of) = (column("parents"), column("of"));
    let names: Vec<&str> =
        of.iter().map(|at| flame["frames"][*at as usize]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["all", "server", "main", "write", "tcp", "main.hash"]);
    assert_eq!(parents, [0, 0, 1, 2, 3, 2]);
    let us = |samples: u64| (samples * PERIOD_NS) as f64 / 1e3 / CORRECT as f64;
    let found = |contender: usize, node: usize| flame["us"][contender][node].as_f64().unwrap();
    for (contender, node, samples) in
        [(0, 0, 10_005), (0, 3, 6_000), (0, 5, 4_000), (1, 0, 14_000), (1, 5, 8_000)]
    {
        let (found, expected) = (found(contender, node), us(samples));
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
    let difference = &causes[0]["differences"][0];
    assert_eq!(difference["contender"], "b");
    assert!(difference["sentence"].as_str().unwrap().starts_with("b uses 79.9 µs more CPU"));
}

#[test]
fn deep_and_wide_stacks_leave_a_bounded_flame_graph() {
    let names: Vec<String> = (0..900)
        .map(|leaf| {
            let path = (0..60).map(|depth| format!("f{leaf}.{depth}")).collect::<Vec<_>>();
            path.join(";")
        })
        .collect();
    let stacks: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 10)).collect();
    let causes = causes(&profiled(vec![profile("a", 1, &stacks)]));
    let parents = causes[0]["flame"]["parents"].as_array().unwrap();
    assert_eq!(parents.len(), 3_000);
    let is_before = |(at, parent): (usize, &Value)| {
        let parent = parent.as_u64().unwrap() as usize;
        parent < at || at == 0
    };
    assert!(parents.iter().enumerate().all(is_before));
}

#[test]
fn report_without_profiles_has_no_causes() {
    assert_eq!(causes(&profiled(vec![])), serde_json::json!([]));
}
