//! Profiles of made-up records as files for other tools and as data of the report, read back.
//!
//! The records are those of the tests of `judge`. Start with [`stacks_of`], which is what every
//! format must contain.

#[allow(dead_code)]
#[path = "../../../judge/tests/judge/made_up.rs"]
mod made_up;
mod pprof;
#[allow(dead_code)]
#[path = "../../../judge/tests/judge/profiled.rs"]
mod profiled;
mod report_page;

use made_up::name;
use profiled::{PERIOD_NS, profile, profiled};
use record::Record;
use report::export::{self, Source};
use serde_json::Value;
use std::collections::BTreeMap;

/// Two blocks of `a` and one of `b`, with names that must not be taken for separators.
fn record() -> Record {
    let a = [
        ("worker|k:tcp_sendmsg;write;main.handler;main", 30),
        ("worker|main.handler;main", 20),
        ("GC Thread#|?libjvm.so", 5),
        ("odd;name|", 2),
    ];
    profiled(vec![
        profile("a", 1, &a),
        profile("a", 2, &a[..2]),
        profile("b", 1, &[("worker|semi:colon<script>;main", 7)]),
    ])
}

type Stacks = BTreeMap<String, u64>;

/// The samples of each stack, from the outermost function inwards.
fn stacks_of(contender: &str) -> Stacks {
    let all: &[(&str, u64)] = match contender {
        "a" => &[
            ("worker;main;main.handler;write;tcp_sendmsg", 60),
            ("worker;main;main.handler", 40),
            ("GC Thread#;[libjvm.so]", 5),
            ("odd;name", 2),
        ],
        _ => &[("worker;main;semi:colon<script>", 7)],
    };
    all.iter().map(|(stack, samples)| ((*stack).to_owned(), *samples)).collect()
}

/// Exports contender `a` or all.
fn exported<T>(only: Option<&str>, format: impl Fn(&Source<'_>) -> T) -> T {
    let record = record();
    let judgement = judge::judge(&record);
    let contenders: Vec<_> = only.into_iter().map(name).collect();
    format(&Source { contenders: &contenders, ..Source::whole(&record, &judgement) })
}

#[test]
fn folded_stacks_have_every_sample() {
    let text = exported(Some("a"), |source| export::folded(source).unwrap());
    let read: Stacks = text
        .lines()
        .map(|line| {
            let (stack, samples) = line.rsplit_once(' ').unwrap();
            (stack.replace("_[k]", ""), samples.parse().unwrap())
        })
        .collect();
    let expected =
        stacks_of("a").into_iter().map(|(stack, n)| (stack.replace("odd;name", "odd:name"), n));
    assert_eq!(read, expected.collect());
    assert!(text.contains("write;tcp_sendmsg_[k] 60\n"), "{text}");
    let all = exported(None, |source| export::folded(source).unwrap());
    assert!(all.contains("b;c;worker;main;semi:colon<script> 7\n"), "{all}");
    assert_eq!(all.lines().count(), 5, "{all}");
}

#[test]
fn speedscope_has_a_profile_for_each_contender() {
    let text = exported(None, |source| export::speedscope(source).unwrap());
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = file["shared"]["frames"].as_array().unwrap();
    for (profile, contender) in file["profiles"].as_array().unwrap().iter().zip(["a", "b"]) {
        assert_eq!(profile["type"], "sampled");
        assert_eq!(profile["name"], format!("{contender} in c"));
        let weights = profile["weights"].as_array().unwrap();
        let samples = profile["samples"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        let read: Stacks = samples
            .iter()
            .zip(weights)
            .map(|(stack, weight)| {
                let names = stack
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|at| frames[at.as_u64().unwrap() as usize]["name"].as_str().unwrap());
                (names.collect::<Vec<_>>().join(";"), weight.as_u64().unwrap() / PERIOD_NS)
            })
            .collect();
        assert_eq!(read, stacks_of(contender));
        let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(profile["endValue"], sum);
    }
}

#[test]
fn firefox_has_tables_of_equal_length_and_every_sample() {
    let text = exported(None, |source| export::firefox(source).unwrap());
    let file: Value = serde_json::from_str(&text).unwrap();
    let mut read: BTreeMap<String, Stacks> = BTreeMap::new();
    for thread in file["threads"].as_array().unwrap() {
        for table in ["samples", "stackTable", "frameTable", "funcTable"] {
            let table = thread[table].as_object().unwrap();
            let columns = table.iter().filter_map(|(_, column)| column.as_array());
            let lengths: Vec<u64> = columns.map(|column| column.len() as u64).collect();
            assert!(lengths.iter().all(|length| table["length"] == *length), "{table:?}");
        }
        let at = |table: &str, column: &str, row: &Value| -> Value {
            thread[table][column][row.as_u64().unwrap() as usize].clone()
        };
        let samples = thread["samples"]["stack"].as_array().unwrap();
        let weights = thread["samples"]["weight"].as_array().unwrap();
        for (stack, weight) in samples.iter().zip(weights) {
            let (mut names, mut stack) = (Vec::new(), stack.clone());
            while !stack.is_null() {
                let function = at("frameTable", "func", &at("stackTable", "frame", &stack));
                let name = at("funcTable", "name", &function).as_u64().unwrap() as usize;
                names.push(thread["stringArray"][name].as_str().unwrap().to_owned());
                stack = at("stackTable", "prefix", &stack);
            }
            names.push(thread["name"].as_str().unwrap().to_owned());
            names.reverse();
            let process = thread["processName"].as_str().unwrap().to_owned();
            let all = read.entry(process).or_default();
            all.insert(names.join(";"), weight.as_u64().unwrap());
        }
    }
    let expected = [("a in c", stacks_of("a")), ("b in c", stacks_of("b"))];
    assert_eq!(read, expected.map(|(name, stacks)| (name.to_owned(), stacks)).into());
}

#[test]
fn a_record_without_profiles_is_refused_with_what_to_do() {
    let record = profiled(vec![]);
    let judgement = judge::judge(&record);
    let source = Source::whole(&record, &judgement);
    for refused in [export::folded(&source), export::speedscope(&source), export::firefox(&source)]
    {
        assert!(refused.unwrap_err().to_string().contains("--profile"));
    }
    assert!(export::pprof(&source).unwrap_err().to_string().contains("--profile"));
    let cells = ["other".to_owned()];
    let record = self::record();
    let chosen = Source { cells: &cells, ..Source::whole(&record, &judgement) };
    assert!(export::folded(&chosen).unwrap_err().to_string().contains("leave out --cell"));
}

#[test]
fn impossible_profiles_are_exported_without_a_panic() {
    let mut odd = profile("a", 1, &[("main;a", 3)]);
    odd.frames.truncate(1);
    odd.period_ns = u64::MAX;
    let mut huge = profile("b", 1, &[("main", 1)]);
    huge.stacks[0].samples = u64::MAX;
    let record = profiled(vec![odd, huge]);
    let judgement = judge::judge(&record);
    let source = Source::whole(&record, &judgement);
    assert!(export::folded(&source).unwrap().contains("[unknown]"));
    assert!(export::speedscope(&source).is_ok() && export::firefox(&source).is_ok());
    assert!(export::pprof(&source).is_ok());
    assert!(report::html(&record, &judgement).contains("[unknown]"));
}
