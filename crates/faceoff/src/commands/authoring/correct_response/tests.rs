//! Tests of what `faceoff init` takes as the correct response of services.
//!
//! Several responses of each service show which parts are constant. Parts that vary are ignored and
//! named, and services with different responses are refused.

use super::*;

fn sampled(bodies: &[(&str, &[&str])]) -> Vec<Sampled> {
    let heard = |body: &&str| Heard {
        status: 200,
        kept: Kept { body: body.as_bytes().to_vec(), ..Kept::default() },
    };
    bodies
        .iter()
        .map(|(name, all)| Sampled {
            service: (*name).into(),
            address: format!("127.0.0.1:808{}", name.len()),
            responses: all.iter().map(heard).collect(),
        })
        .collect()
}

fn lines(bodies: &[(&str, &[&str])]) -> (String, String) {
    learn(&sampled(bodies), "r")
        .map(|learned| (learned.lines, learned.description))
        .unwrap_or_else(|error| (String::new(), error.to_string()))
}

#[test]
fn constant_body_is_compared_as_a_whole() {
    let (text, said) = lines(&[("a", &["{\"n\": 1}", "{\"n\":1}"]), ("b", &["{\"n\":1}"])]);
    assert_eq!(
        (text.as_str(), said.as_str()),
        ("json_file = \"r.json\"\n", "status 200 and all of the JSON body")
    );
    assert_eq!(
        lines(&[("a", &["hello", "hello"]), ("b", &["hello"])]).0,
        "body_file = \"r.body\"\n"
    );
    assert_eq!(lines(&[("a", &["", ""])]).0, "length = 0\n");
    let (text, said) = lines(&[("a", &["at 127.0.0.1:8081"]), ("bb", &["at 127.0.0.1:8082"])]);
    assert_eq!(
        (text.as_str(), said.as_str()),
        ("", "status 200 and any body: it contains the service's own address")
    );
}

#[test]
fn varying_fields_are_ignored_and_named() {
    let (text, said) = lines(&[
        (
            "a",
            &[
                r#"{"message":"hello","at":1,"ids":[7,8]}"#,
                r#"{"message":"hello","at":2,"ids":[7,9]}"#,
            ],
        ),
        ("b", &[r#"{"message":"hello","at":3,"ids":[7,1]}"#]),
    ]);
    assert_eq!(
        text,
        "pointers = { \"/ids/0\" = 7, \"/message\" = \"hello\" }\npresent = [\"/at\", \"/ids/1\"]\n"
    );
    assert_eq!(
        said,
        "status 200 and the JSON fields /ids/0, /message; ignored, as it varies: /at, /ids/1"
    );
}

#[test]
fn fields_differing_between_services_are_named() {
    let (text, said) = lines(&[
        ("a", &[r#"{"m":1,"by":"go"}"#, r#"{"m":1,"by":"go"}"#]),
        ("b", &[r#"{"m":1,"by":"node"}"#]),
    ]);
    assert_eq!(text, "pointers = { \"/m\" = 1 }\npresent = [\"/by\"]\n");
    assert!(said.ends_with("ignored, as it differs between services: /by"), "{said}");
}

#[test]
fn current_time_is_never_a_constant() {
    let now = jiff::Timestamp::now();
    let body = format!(
        r#"{{"m":1,"s":{},"ms":{},"iso":"{now}","born":"1999-01-01T00:00:00Z"}}"#,
        now.as_second(),
        now.as_millisecond()
    );
    let (text, _) = lines(&[("a", &[&body, &body]), ("b", &[&body])]);
    assert_eq!(
        text,
        "pointers = { \"/born\" = \"1999-01-01T00:00:00Z\", \"/m\" = 1 }\npresent = [\"/iso\", \"/ms\", \"/s\"]\n"
    );
}

#[test]
fn different_encodings_of_one_body_are_accepted_and_named() {
    /// `hello` as gzip, once with a time and once without.
    const CODED: [&[u8]; 2] = [
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00",
        b"\x1f\x8b\x08\x00\x01\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00",
    ];
    let coded = |name: &str, bodies: &[&[u8]]| {
        let mut of = sampled(&[(name, &vec![""; bodies.len()])]).remove(0);
        for (heard, body) in of.responses.iter_mut().zip(bodies) {
            (heard.kept.content_encoding, heard.kept.body) = (Some("gzip".into()), body.to_vec());
        }
        of
    };
    let plain = |body: &str| sampled(&[("b", &[body, body])]).remove(0);
    let varying = learn(&[coded("a", &CODED), coded("b", &CODED)], "r").unwrap();
    assert_eq!(varying.description, "status 200 and all of the text, without its Content-Encoding");
    let apart = learn(&[coded("a", &CODED), plain("hello")], "r").unwrap().description;
    assert!(
        apart.ends_with("or its level: a sends 25 bytes (gzip), b sends 5 bytes (no coding)"),
        "{apart}"
    );
    let unlike = learn(&[coded("a", &CODED), plain("other")], "r").unwrap_err().to_string();
    assert!(unlike.contains("a sends a different body than b: byte 1 of 5 differs"), "{unlike}");
}

#[test]
fn headers_sent_in_different_numbers_are_named() {
    let mut both = sampled(&[("a", &["x", "x"]), ("b", &["x"])]);
    both[0].responses[0].kept.headers =
        ["date", "set-cookie", "set-cookie", "vary"].map(str::to_owned).into();
    both[1].responses[0].kept.headers = ["vary", "content-length"].map(str::to_owned).into();
    let said = learn(&both, "r").unwrap().description;
    assert_eq!(
        said,
        "status 200 and every byte of the body; ignored, headers that services send in different numbers: set-cookie (a 2, b 0)"
    );
}

#[test]
fn services_with_different_responses_are_refused() {
    let (_, said) = lines(&[("a", &["hello", "hello"]), ("b", &["bye", "bye"])]);
    assert!(
        said.contains("a and b do not respond alike: a sends a body of 5 bytes and b one of 3"),
        "{said}"
    );
    let (_, said) = lines(&[("a", &[r#"{"x":1}"#, r#"{"x":1}"#]), ("b", &[r#"{"y":1}"#])]);
    assert!(said.contains("do not respond alike"), "{said}");
    let mut other = sampled(&[("a", &["x"]), ("b", &["x"])]);
    other[1].responses[0].status = 404;
    let said = learn(&other, "r").unwrap_err().to_string();
    assert!(said.contains("a responds with status 200 and b with 404"), "{said}");
}
