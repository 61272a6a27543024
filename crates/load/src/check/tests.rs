//! Tests of the checks of responses: status, headers, JSON, captured values, patterns.
//!
//! Property tests compare with serde_json, and show that one wrong byte anywhere is found.

use super::pointer::Pointer;
use super::*;
use proptest::prelude::*;
use regex_lite::Regex;
use serde_json::{Value, json};
use spec::template::Template;
use spec::workload::{Answer, Capture, Wanted};

const JSON: [httparse::Header<'_>; 1] =
    [httparse::Header { name: "Content-Type", value: b"application/json" }];

fn answering(answer: Answer) -> Step {
    Step { answer, declined: Some(503), ..Step::default() }
}

fn expecting(body: BodyCheck) -> Step {
    answering(Answer {
        headers: vec![("content-type".into(), "application/json".into())],
        body,
        ..Answer::default()
    })
}

/// A user who sends one step repeatedly.
struct User {
    expected: Expected,
    vars: Vars,
    names: Names,
    checking: Checking,
}

impl User {
    fn asking(step: &Step) -> User {
        let names = Names::of_steps(std::slice::from_ref(step));
        let workload = spec::workload::Workload { steps: vec![step.clone()], ..Default::default() };
        let vars = crate::values::Draws::new(&workload, &names, 0, 0, 1).vars();
        User { expected: Expected::new(step, &names), vars, names, checking: Checking::default() }
    }

    fn knows(mut self, name: &str, value: &str) -> User {
        self.vars.set(self.names.place(name), value.as_bytes());
        self
    }

    fn value(&self, name: &str) -> String {
        let mut out = Vec::new();
        Text::new(&Template::parse(&format!("${{{name}}}")).unwrap(), &self.names)
            .write(&self.vars, &mut out);
        lossy(&out)
    }

    fn judge_head(&mut self, status: u16, headers: &[httparse::Header<'_>]) -> Judgement {
        ResponseCheck { expected: &mut self.expected, vars: &mut self.vars, is_head: false }
            .judge_head(status, headers)
    }

    fn judge(&mut self, body: &[u8], cut: usize) -> Judgement {
        let mut check =
            ResponseCheck { expected: &mut self.expected, vars: &mut self.vars, is_head: false };
        let cut = cut.min(body.len());
        check.head(&mut self.checking, 200, &JSON[..]);
        check.body(&mut self.checking, &body[..cut]);
        check.body(&mut self.checking, &body[cut..]);
        check.finish(&mut self.checking)
    }

    fn says(&mut self, body: &str) -> String {
        match self.judge(body.as_bytes(), 3) {
            Judgement::Correct => "right".into(),
            Judgement::Declined => "declined".into(),
            Judgement::Wrong(wrong) => wrong.to_string(),
        }
    }
}

#[test]
fn status_and_headers_are_checked() {
    let mut user = User::asking(&expecting(BodyCheck::Any));
    let text = [httparse::Header { name: "Content-Type", value: b"text/plain" }];
    assert_eq!(user.judge_head(200, &JSON), Judgement::Correct);
    assert_eq!(user.judge_head(503, &[]), Judgement::Declined);
    assert_eq!(
        user.judge_head(500, &JSON),
        Judgement::Wrong(Wrong::Status { found: 500, expected: Statuses::one(200) })
    );
    assert!(matches!(
        user.judge_head(200, &text),
        Judgement::Wrong(Wrong::Header { found: Some(_), .. })
    ));
    assert!(matches!(
        user.judge_head(200, &[]),
        Judgement::Wrong(Wrong::Header { found: None, .. })
    ));
}

#[test]
fn json_passes_in_any_formatting() {
    let mut user = User::asking(&expecting(BodyCheck::Json(json!({"a": 1, "b": [true]}))));
    for body in [
        r#"{"a":1,"b":[true]}"#,
        r#"{"b":[true],"a":1}"#,
        r#"{"a":1,"b":[true]}"#,
        "{ \"a\": 1, \"b\": [true] }",
    ] {
        for cut in 0..body.len() {
            assert_eq!(user.judge(body.as_bytes(), cut), Judgement::Correct, "{body} cut at {cut}");
        }
    }
    for body in
        ["", "{", r#"{"a":1,"b":[true]"#, r#"{"a":2,"b":[true]}"#, r#"{"a":1,"b":[true]} x"#]
    {
        assert!(
            matches!(user.judge(body.as_bytes(), 3), Judgement::Wrong(Wrong::Content(_))),
            "{body}"
        );
    }
}

#[test]
fn interleaved_responses_with_different_spelling_pass() {
    let step = expecting(BodyCheck::Json(json!({"a": 1, "b": 2})));
    let mut user = User::asking(&step);
    let (first, second) = (br#"{"a":1,"b":2}"#, br#"{"b":2,"a":1}"#);
    assert_eq!(user.judge(first, 0), Judgement::Correct);
    let (mut one, mut other) = (Checking::default(), Checking::default());
    let mut check =
        ResponseCheck { expected: &mut user.expected, vars: &mut user.vars, is_head: false };
    check.head(&mut one, 200, &JSON[..]);
    check.body(&mut one, &first[..9]);
    check.head(&mut other, 200, &JSON[..]);
    check.body(&mut other, second);
    assert_eq!(check.finish(&mut other), Judgement::Correct);
    check.body(&mut one, &first[9..]);
    assert_eq!(check.finish(&mut one), Judgement::Correct);
}

#[test]
fn values_are_captured_from_every_source() {
    let capture = |name: &str, from, regex: Option<&str>| Capture {
        name: name.into(),
        from,
        regex: regex.map(|regex| Regex::new(regex).unwrap()),
    };
    let step = Step {
        captures: vec![
            capture("id", Source::Json("/list/1/id".into()), None),
            capture("name", Source::Json("/name".into()), None),
            capture("type", Source::Header("content-type".into()), Some("/(.*)")),
            capture("any", Source::Body, Some("[0-9]+")),
        ],
        ..Step::default()
    };
    let mut user = User::asking(&step);
    for cut in 0..40 {
        assert_eq!(
            user.judge(br#"{"name": "a\"b", "list": [0, {"id": 42}]}"#, cut),
            Judgement::Correct
        );
        assert_eq!(
            ["id", "name", "type", "any"].map(|name| user.value(name)),
            ["42", "a\"b", "json", "0"]
        );
    }
    assert_eq!(
        user.says(r#"{"name": 1, "list": [{}]}"#),
        "there is nothing at `/list/1/id` to take `id` from"
    );
    assert_eq!(
        user.says("{"),
        "the body is not JSON: EOF while parsing an object at line 1 column 1"
    );
}

#[test]
fn pointers_and_patterns_are_checked() {
    let spelling = |text: &str| Wanted::Spelling(Template::parse(text).unwrap());
    let answer = Answer {
        pointers: vec![
            ("/n".into(), Wanted::Value(json!(5))),
            ("/who".into(), spelling("${who}")),
            ("/id".into(), spelling("${id}")),
        ],
        regex: Some(Regex::new("ok+").unwrap()),
        ..Answer::default()
    };
    let mut user = User::asking(&answering(answer)).knows("who", "Ann").knows("id", "7");
    assert_eq!(user.says(r#"{"n":5,"who":"Ann","id":7,"x":"okk"}"#), "right");
    assert_eq!(user.says(r#"{"n":5,"who":"Ann","id":"7","x":"ok"}"#), "right");
    assert_eq!(user.says(r#"{"n":6,"who":"Ann","id":7,"x":"ok"}"#), "`/n` is 6 instead of 5");
    assert_eq!(
        user.says(r#"{"n":5,"who":"Bob","id":7,"x":"ok"}"#),
        "`/who` is \"Bob\" instead of Ann"
    );
    assert_eq!(user.says(r#"{"n":5,"who":"Ann","x":"ok"}"#), "the body has nothing at `/id`");
    assert_eq!(
        user.says(r#"{"n":5,"who":"Ann","id":7,"x":"no"}"#),
        "nothing in the body matches `ok+`"
    );
    let present =
        Answer { pointers: vec![("/list/0".into(), Wanted::Present)], ..Answer::default() };
    let mut user = User::asking(&answering(present));
    assert_eq!(user.says(r#"{"list":[null]}"#), "right");
    assert_eq!(user.says(r#"{"list":[]}"#), "the body has nothing at `/list/0`");
}

#[test]
fn varying_response_is_compared_with_the_users_values() {
    let text = Template::parse("hello ${who}!").unwrap();
    let answer = Answer {
        body: BodyCheck::Text(text),
        headers: vec![("content-type".into(), Template::parse("${type}").unwrap())],
        ..Answer::default()
    };
    let mut user =
        User::asking(&answering(answer)).knows("who", "Ann").knows("type", "application/json");
    assert_eq!(user.says("hello Ann!"), "right");
    assert_eq!(user.says("hello Bob!"), "a body with other bytes");
    assert_eq!(user.says("hello Ann"), "a body of 9 bytes instead of 10");
    assert_eq!(
        user.knows("type", "text/plain").says("hello Ann!"),
        "header `content-type` is `application/json` instead of `text/plain`"
    );
}

#[test]
fn configured_share_of_contents_is_checked() {
    let answer = |sample| Answer { body: BodyCheck::Json(json!(1)), sample, ..Answer::default() };
    for (sample, from, to) in [(0.0, 0, 0), (0.1, 850, 1_150), (1.0, 10_000, 10_000)] {
        let mut user = User::asking(&answering(answer(sample)));
        let found = (0..10_000).filter(|_| user.judge(b"2", 1) != Judgement::Correct).count();
        assert!((from..=to).contains(&found), "{sample}: {found}");
    }
    let mut user = User::asking(&answering(Answer {
        body: BodyCheck::Text("ab".into()),
        sample: 0.0,
        ..Answer::default()
    }));
    assert_eq!(user.says("ac"), "a body with other bytes");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c\"\\\\/~é]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let key = "[ab/~\"\\\\01]{0,2}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|entries| entries.into_iter().collect::<serde_json::Map<_, _>>().into())
        ]
    })
}

proptest! {
    #[test]
    fn pointer_finds_what_serde_json_finds(json in any_json(), pointer in "(/(a|b|~0|~1|0|1|-|01|\"|\\\\){1,2}){0,3}", pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
        let found = Pointer::new(&pointer).find(text.as_bytes()).unwrap();
        let found = found.map(|raw| serde_json::from_str::<Value>(raw).unwrap());
        prop_assert_eq!(found.as_ref(), json.pointer(&pointer));
    }

    #[test]
    fn invalid_json_is_an_error(text in "[\\[\\]{}\":,a0-9.e \\\\-]{0,12}") {
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        prop_assert_eq!(Pointer::new("/a").find(text.as_bytes()).is_ok(), is_json);
    }

    #[test]
    fn text_body_is_correct_only_if_every_byte_is(text in "[a-c]{0,40}", other in "[a-c]{0,40}", cut in 0usize..50) {
        let mut user = User::asking(&expecting(BodyCheck::Text(text.as_str().into())));
        prop_assert_eq!(user.judge(other.as_bytes(), cut) == Judgement::Correct, text == other);
    }

    #[test]
    fn one_wrong_byte_is_found_anywhere(length in 1usize..300, at in 0usize..300, cut in 0usize..300, bit in 0u8..8) {
        let right = spec::data::filler(length);
        let mut user = User::asking(&expecting(BodyCheck::Bytes(right.clone())));
        prop_assert_eq!(user.judge(&right, cut), Judgement::Correct);
        let mut wrong = right.clone();
        wrong[at % length] ^= 1 << bit;
        prop_assert_eq!(user.judge(&wrong, cut), Judgement::Wrong(Wrong::Bytes));
        prop_assert_eq!(user.judge(&right, cut), Judgement::Correct);
    }
}
