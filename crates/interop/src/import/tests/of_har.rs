//! Checks that everything that a browser recorded is sent, or named as lost.

use super::*;
use serde_json::{Value, json};

const SHOP: &str = "http://127.0.0.1:8080";

fn entry(
    at: &str,
    method: &str,
    url: &str,
    status: u16,
    headers: &[(&str, &str)],
    posted: Value,
) -> Value {
    let headers: Vec<Value> =
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let mut request = json!({"method": method, "url": url, "httpVersion": "h2", "cookies": [], "queryString": [], "headers": headers, "bodySize": -1});
    if !posted.is_null() {
        request["postData"] = posted;
    }
    json!({"startedDateTime": at, "request": request, "response": {"status": status}})
}

fn recording(entries: &[Value]) -> String {
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

#[test]
fn recorded_requests_are_sent_in_the_order_they_began() {
    let at = |second: u32, zone: &str| {
        format!("2026-03-02T{}:00:0{second}.500{zone}", if zone == "Z" { "09" } else { "10" })
    };
    let items = format!("{SHOP}/items/7");
    let picture = json!({"mimeType": "multipart/form-data; boundary=xx", "params": [
        {"name": "kind", "value": "front"}, {"name": "file", "fileName": "p.png", "contentType": "image/png"}]});
    let came = all(
        "x.har",
        &recording(&[
            entry(
                &at(5, "Z"),
                "GET",
                &items,
                200,
                &[(":method", "GET"), ("cookie", "a=1"), ("cookie", "b=2")],
                Value::Null,
            ),
            entry(
                &at(1, "Z"),
                "POST",
                &format!("{SHOP}/login"),
                200,
                &[("content-type", "application/json")],
                json!({"text": "{}"}),
            ),
            entry(&at(0, "+01:00"), "OPTIONS", &format!("{SHOP}/login"), 204, &[], Value::Null),
            entry(&at(3, "Z"), "GET", "ws://127.0.0.1:8080/live", 101, &[], Value::Null),
            entry(&at(4, "Z"), "GET", &format!("{SHOP}/slow"), 0, &[], Value::Null),
            entry(
                &at(6, "Z"),
                "POST",
                &format!("{items}/picture"),
                201,
                &[("content-type", "multipart/form-data; boundary=xx")],
                picture,
            ),
        ]),
        &[],
    );
    let requests: Vec<String> = came.workloads[0]
        .steps
        .iter()
        .map(|step| format!("{} {}", step.method, step.path))
        .collect();
    assert_eq!(
        requests,
        ["OPTIONS /login", "POST /login", "GET /items/7", "POST /items/7/picture"]
    );
    assert_eq!(came.values("cookie"), ["a=1; b=2"]);
    let form = body(&came.workloads[0].steps[3]);
    assert!(
        form.starts_with("--xx\r\n")
            && form.ends_with("--xx--\r\n")
            && form.contains("\r\n\r\nfront\r\n"),
        "{form}"
    );
    let named = [
        "GET ws://127.0.0.1:8080/live",
        "GET http://127.0.0.1:8080/slow",
        "the content of the file p.png of POST /items/7/picture",
    ];
    assert_eq!(lost(&came), named);
    assert!(came.imported.taken.speaks_of("entries in another order"));
    assert!(came.commands[0].ends_with(" --http2"), "{}", came.commands[0]);
}

#[test]
fn headers_and_bodies_of_a_recording_are_sent_or_named() {
    let mut first = entry(
        "2026-03-02T09:00:00Z",
        "POST",
        &format!("{SHOP}/a"),
        200,
        &[],
        json!({"mimeType": "text/plain", "text": "aGk=", "encoding": "base64"}),
    );
    first["request"]["queryString"] = json!([{"name": "x", "value": "1 2"}]);
    first["request"]["cookies"] = json!([{"name": "a", "value": "1"}]);
    let mut second = entry(
        "yesterday",
        "POST",
        &format!("{SHOP}/b?x=1"),
        200,
        &[(":path", "/c"), ("cookie", "a=1"), ("X-Tag", "1"), ("x-tag", "2")],
        Value::Null,
    );
    second["request"]["queryString"] = json!([{"name": "y", "value": "1"}]);
    second["request"]["cookies"] = json!([{"name": "b", "value": "1"}]);
    second["request"]["bodySize"] = json!(7);
    second["request"]["httpVersion"] = json!("http/1.1");
    let came = all("x.har", &recording(&[first, second]), &[]);
    assert!(
        came.sent().starts_with("POST /a?x=1%202\ncontent-type: text/plain\ncookie: a=1\n\nhi\n"),
        "{}",
        came.sent()
    );
    assert_eq!(came.values("x-tag"), ["1", "2"]);
    assert_eq!(
        lost(&came),
        [
            "startedDateTime of http://127.0.0.1:8080/b?x=1",
            "`y` of the queryString of /b?x=1",
            "`:path: /c` of POST /b?x=1",
            "the cookie `b` of POST /b?x=1",
            "the body of POST /b?x=1",
            "HTTP/1.1 of POST /b?x=1",
        ]
    );
    let none =
        imported("x.har", &recording(&[entry("x", "GET", "data:,a", 200, &[], Value::Null)]), &[])
            .err()
            .unwrap();
    assert!(none.contains("Not carried over") && none.contains("GET data:,a: "), "{none}");
}

/// A request with texts that occur nowhere else.
#[derive(Clone, Debug)]
struct Made {
    second: u8,
    method: &'static str,
    url: &'static str,
    status: u16,
    headers: Vec<&'static str>,
    body: u8,
    version: &'static str,
}

fn made() -> impl Strategy<Value = Made> {
    let names = vec![
        "X-Tag",
        "accept-language",
        "Cookie",
        "Host",
        "Connection",
        "Content-Length",
        "Upgrade",
        "Bad Name",
        ":authority",
    ];
    (
        0u8..9,
        prop::sample::select(vec!["GET", "POST", "PUT", "OPTIONS"]),
        prop::sample::select(vec![
            "http://h:81/",
            "http://h:81/",
            "http://h:81/",
            "https://other/",
            "ws://h:81/",
            "data:,",
        ]),
        prop::sample::select(vec![200u16, 200, 304, 0, 101]),
        prop::collection::vec(prop::sample::select(names), 0..5),
        0u8..6,
        prop::sample::select(vec!["HTTP/1.1", "h2", "http/2.0", "h3", ""]),
    )
        .prop_map(|(second, method, url, status, headers, body, version)| Made {
            second,
            method,
            url,
            status,
            headers,
            body,
            version,
        })
}

fn entry_of(n: usize, made: &Made) -> Value {
    let headers: Vec<(String, String)> = made
        .headers
        .iter()
        .enumerate()
        .map(|(at, name)| ((*name).to_owned(), format!("v{n}x{at}")))
        .collect();
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let field = json!({"name": format!("f{n}"), "value": format!("w{n}")});
    let posted = match made.body {
        0 => Value::Null,
        1 => json!({"mimeType": "text/plain", "text": format!("b{n}")}),
        2 => json!({"mimeType": "application/x-www-form-urlencoded", "params": [field]}),
        3 => {
            json!({"mimeType": "multipart/form-data; boundary=zz", "params": [field, {"name": "g", "fileName": format!("p{n}")}]})
        }
        4 => json!({"mimeType": "multipart/form-data", "params": [field]}),
        _ => json!({"mimeType": "text/plain", "text": format!("b{n}"), "encoding": "rot13"}),
    };
    let mut entry = entry(
        &format!("2026-03-02T09:00:0{}Z", made.second),
        made.method,
        &format!("{}e{n}", made.url),
        made.status,
        &headers,
        posted,
    );
    entry["request"]["httpVersion"] = json!(made.version);
    entry
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn everything_of_a_recording_is_sent_or_named(all_made in prop::collection::vec(made(), 1..6)) {
        let entries: Vec<Value> = all_made.iter().enumerate().map(|(n, made)| entry_of(n, made)).collect();
        let text = recording(&entries);
        let imported = match imported("x.har", &text, &[]) {
            Ok(imported) => imported,
            // No request can be made; then each one is named.
            Err(e) => {
                for (n, made) in all_made.iter().enumerate() {
                    prop_assert!(e.contains(&format!("{}e{n}: ", made.url)), "{e}\n{text}");
                }
                return Ok(());
            }
        };
        let came = all("x.har", &text, &[]);
        let notes = &imported.lost.0;
        let is_named = |texts: &[&str]| notes.iter().any(|note| texts.iter().all(|text| note.what.to_lowercase().contains(&text.to_lowercase())));
        let mut lost_any = false;
        for (n, made) in all_made.iter().enumerate() {
            let place = format!("e{n}");
            let Some(step) = came.workloads[0].steps.iter().find(|step| step.path.to_string() == format!("/{place}")) else {
                prop_assert!(is_named(&[&place]), "{made:?}\n{notes:?}");
                lost_any = true;
                continue;
            };
            let sent_text = text_of_step(step);
            for (at, name) in made.headers.iter().enumerate() {
                let value = format!("v{n}x{at}");
                let is_authority = *name == ":authority";
                let has_host = is_authority && (made.headers.contains(&"Host") || made.headers[at + 1..].contains(name));
                let name = if *name == ":authority" { "host".to_owned() } else { name.to_lowercase() };
                let is_sent = sent_text.contains(&value);
                let is_lost = is_named(&[&name, &place]);
                lost_any |= !is_sent && !has_host;
                prop_assert!(is_sent || is_lost || has_host, "{name}: {value}\n{sent_text}\n{notes:?}");
            }
            let (body, file) = (format!("b{n}"), format!("p{n}"));
            let is_kept = match made.body {
                1 => sent_text.ends_with(&format!("\n{body}\n")),
                2 => sent_text.ends_with(&format!("\nf{n}=w{n}\n")) && sent_text.contains("urlencoded"),
                3 => sent_text.contains(&format!("name=\"f{n}\"\r\n\r\nw{n}\r\n--zz")) && is_named(&[&file]),
                4 => sent_text.contains(&format!("name=\"f{n}\"\r\n\r\nw{n}\r\n")) && sent_text.contains("boundary=---"),
                5 => is_named(&["body", &place]),
                _ => true,
            };
            prop_assert!(is_kept, "{:?}\n{}\n{:?}", made, sent_text, notes);
            lost_any |= matches!(made.body, 3 | 5);
            let is_http2 = came.commands[0].contains("--http2");
            let is_kept = match made.version { "h2" | "http/2.0" => is_http2, "h3" => false, _ => !is_http2 };
            lost_any |= !is_kept;
            prop_assert!(is_kept || is_named(&["HTTP/", &place]), "{made:?}\n{notes:?}");
        }
        prop_assert_eq!(lost_any, !notes.is_empty(), "{}\n{:?}", text, notes);
        let order: Vec<u8> = came.workloads[0].steps.iter().map(|step| all_made[step.path.to_string()[2..].parse::<usize>().unwrap()].second).collect();
        prop_assert!(order.is_sorted(), "{order:?}");
    }
}
