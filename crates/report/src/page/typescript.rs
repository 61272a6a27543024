//! Generates the TypeScript type of the report's data, `web/src/page.d.ts`, from [`Page`], and the
//! ticks of axes for tests of the report.
//!
//! The tests fail if a committed file differs. To write the files again:
//! `FACEOFF_WRITE_REFERENCE=1 cargo test -p report typescript`.

use super::data::Page;
use super::verdicts::Estimate;
use crate::chart::scales::Ticks;
use record::WarmUpClass;
use record::audit::Wording;
use record::judgement::{ClaimOutcome, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use ts_rs::{Config, TS, TypeVisitor};

const HEAD: &str = "\
// Generated from `crates/report/src/page/` by `cargo test -p report typescript`; do not edit.
// To write it again: FACEOFF_WRITE_REFERENCE=1 cargo test -p report typescript

";

/// Declarations by the name of their type; the order in which `ts-rs` visits types may change.
#[derive(Default)]
struct Declarations(BTreeMap<String, String>);

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        let config = Config::new().with_large_int("number");
        let name = T::ident(&config);
        if T::output_path().is_none() || self.0.contains_key(&name) {
            return;
        }
        let docs = T::docs().unwrap_or_default();
        let text = broken_into_lines(&T::decl(&config));
        self.0.insert(name, short_comments(&format!("{docs}export {text}\n\n")));
        T::visit_dependencies(self);
    }
}

/// Puts each comment of one line of text on one line.
fn short_comments(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut short: Vec<String> = Vec::new();
    let mut rest = lines.as_slice();
    while let [first, after @ ..] = rest {
        rest = after;
        let comment = (first.trim() == "/**").then_some(after).and_then(|after| {
            let [text, end, ..] = after else { return None };
            (end.trim() == "*/")
                .then(|| format!("{first}{} */", text.trim().trim_start_matches('*')))
        });
        match comment {
            Some(comment) if comment.chars().count() <= 100 => {
                short.push(comment);
                rest = &rest[2..];
            }
            _ => short.push((*first).to_owned()),
        }
    }
    short.join("\n") + "\n"
}

/// Puts each field of a declaration on a line of its own.
fn broken_into_lines(declaration: &str) -> String {
    let mut lines = vec![String::new()];
    let mut depth = 0;
    for letter in declaration.chars() {
        let line = lines.last_mut().expect("there is a line");
        match letter {
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth -= 1,
            _ => {}
        }
        let is_in_comment = line.trim_start().starts_with(['/', '*']);
        match letter {
            '\n' => lines.push(String::new()),
            ',' if depth == 1 && !is_in_comment => {
                line.push(';');
                lines.push(String::new());
            }
            '{' if depth == 1 => {
                line.push('{');
                lines.push(String::new());
            }
            _ => line.push(letter),
        }
    }
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines
        .map(|line| match line.as_bytes()[0] {
            b'*' => format!("   {line}"),
            b'}' => line.to_owned(),
            _ if line.ends_with('{') => line.to_owned(),
            _ => format!("  {line}"),
        })
        .collect();
    lines.join("\n")
}

/// The values of an enum of the record as a union of strings.
fn union_of<T: Serialize>(name: &str, values: &[T]) -> String {
    let values: Vec<String> = values
        .iter()
        .map(|value| serde_json::to_string(value).expect("a value without fields"))
        .collect();
    format!("export type {name} = {};\n", values.join(" | "))
}

/// Enums of other crates, which derive no TypeScript type. Each match fails to compile if a value
/// is missing in the list next to it.
fn unions() -> String {
    let _ = |of: Outcome| match of {
        Outcome::Better | Outcome::Worse | Outcome::Equivalent | Outcome::Undecided => {}
    };
    let outcomes = [Outcome::Better, Outcome::Worse, Outcome::Equivalent, Outcome::Undecided];
    let _ = |of: ClaimOutcome| match of {
        ClaimOutcome::Confirmed | ClaimOutcome::Refuted | ClaimOutcome::Undecided => {}
    };
    let claims = [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Undecided];
    let _ = |of: WarmUpClass| match of {
        WarmUpClass::Flat
        | WarmUpClass::WarmUp
        | WarmUpClass::Slowdown
        | WarmUpClass::NeverSteady
        | WarmUpClass::TooShort => {}
    };
    let classes = [
        WarmUpClass::Flat,
        WarmUpClass::WarmUp,
        WarmUpClass::Slowdown,
        WarmUpClass::NeverSteady,
        WarmUpClass::TooShort,
    ];
    let _ = |of: Wording| match of {
        Wording::ContradictsItself | Wording::InconsistentAsServiceTime => {}
    };
    let wordings = [Wording::ContradictsItself, Wording::InconsistentAsServiceTime];
    [
        union_of("Outcome", &outcomes),
        union_of("ClaimOutcome", &claims),
        union_of("WarmUpClass", &classes),
        union_of("AuditWording", &wordings),
    ]
    .concat()
}

/// Compares a committed file of `web/` with its text, and writes it if that is asked for.
#[track_caller]
fn check_generated(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web").join(name);
    if std::env::var_os("FACEOFF_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "web/{name} is not generated from the code: run `make reference` and commit it"
    );
}

#[test]
fn typescript_type_is_the_one_of_the_data() {
    let mut declarations = Declarations::default();
    declarations.visit::<Page>();
    // It is flattened into others, so no field refers to it.
    declarations.visit::<Estimate>();
    let declarations: String = declarations.0.into_values().collect();
    let text = format!("{HEAD}{declarations}{}", unions());
    check_generated("src/page.d.ts", &text);
}

/// Tests of the report draw with the same ticks as the report.
#[test]
fn typescript_tests_have_the_ticks_of_the_data() {
    let ticks = serde_json::to_string_pretty(&Ticks::of_all_axes()).unwrap();
    check_generated("test/generated/ticks.json", &format!("{ticks}\n"));
}
