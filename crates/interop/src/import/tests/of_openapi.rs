//! Checks that every value fits its schema, and that everything else is named as lost.

use super::*;
use serde_json::{Map, Value, json};

fn described(paths: Value) -> Value {
    json!({"openapi": "3.1.0", "servers": [{"url": "http://h:81/v1"}], "paths": paths})
}

fn of(document: &Value) -> Came {
    all("x.json", &document.to_string(), &[])
}

/// Returns the body that is sent for a schema.
fn sent(schema: &Value, more: Value) -> (Value, Came) {
    let content = json!({"application/json": {"schema": schema}});
    let mut document = described(
        json!({"/x": {"post": {"requestBody": {"content": content}, "responses": {"200": {}}}}}),
    );
    document.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let came = of(&document);
    (serde_json::from_str(&body(&came.workloads[0].steps[0])).unwrap(), came)
}

#[test]
fn operations_go_to_their_own_servers_or_are_named() {
    let answer = json!({"responses": {"200": {}}});
    let with = |servers: Value| json!({"servers": servers, "responses": {"200": {}}});
    let came = of(&described(json!({
        "/a": {"get": with(json!([{"url": "http://other/v2"}])), "post": answer},
        "/b": {"servers": [{"url": "http://h:81/v3/"}], "get": answer, "put": with(json!([{"url": "/v4"}]))},
        "/c": {"get": with(json!([{"url": "http://{name}/v5"}]))},
    })));
    assert_eq!(
        requests_of(&came.workloads[0]),
        ["POST /v1/a", "GET /v3/b", "PUT /v4/b", "GET /v5/c"]
    );
    assert_eq!(
        lost(&came),
        ["the server of a path or an operation `http://{name}/v5`", "GET http://other/v2/a"]
    );
    assert!(came.commands[0].starts_with("faceoff load http://h:81 "), "{}", came.commands[0]);
}

#[test]
fn values_keep_the_bounds_of_their_schemas() {
    for (schema, right) in [
        (json!({"type": "integer", "maximum": 0}), json!(0)),
        (json!({"type": "integer", "maximum": -5}), json!(-5)),
        (json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}), json!(4)),
        (json!({"type": "integer", "exclusiveMinimum": 3}), json!(4)),
        (json!({"type": "number", "exclusiveMaximum": 1, "minimum": 0}), json!(0)),
        (json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}), json!(0.5)),
        (json!({"type": "integer", "multipleOf": 7}), json!(7)),
        (json!({"type": "integer", "minimum": 9007199254740993_i64}), json!(9007199254740993_i64)),
        (json!({"type": "array", "items": {"type": "integer"}, "minItems": 3}), json!([1, 1, 1])),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": true}),
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": true}),
            json!(["a", "b"]),
        ),
        (json!({"type": "array", "maxItems": 0}), json!([])),
        (json!({"type": "string", "minLength": 4, "maxLength": 5}), json!("aaaa")),
        (json!({"type": "string", "maxLength": 0}), json!("")),
        (json!({"type": "string", "pattern": "^[A-Z]{2}\\d{3}$"}), json!("AA000")),
        (json!({"type": "string", "format": "ipv4"}), json!("192.0.2.1")),
        (json!({"type": ["null", "boolean"]}), json!(true)),
        (
            json!({"allOf": [{"type": "integer", "minimum": 2}, {"minimum": 5, "maximum": 9}]}),
            json!(5),
        ),
        (
            json!({"type": "object", "required": ["b"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "minProperties": 2}),
            json!({"a": 1, "b": 1}),
        ),
    ] {
        let (value, came) = sent(&schema, Value::Null);
        assert_eq!((value, lost(&came)), (right, vec![]), "{schema}");
    }
}

#[test]
fn a_schema_without_a_value_is_named_with_its_place() {
    for (schema, named) in [
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)y$"}}}),
            "`pattern` of the body of POST /x/a",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "format": "iban"}}}),
            "`format` of the body of POST /x/a",
        ),
        (
            json!({"type": "array", "items": {"not": {"type": "integer"}}}),
            "`not` of the body of POST /x/0",
        ),
        (
            json!({"type": "integer", "minimum": 2, "maximum": 1}),
            "the bounds of the body of POST /x",
        ),
        (
            json!({"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": true}),
            "`uniqueItems` of the body of POST /x",
        ),
        (
            json!({"type": "string", "format": "uuid", "maxLength": 4}),
            "`minLength` and `maxLength` of the body of POST /x",
        ),
        (json!({"$ref": "other.yaml#/X"}), "the reference `other.yaml#/X`"),
    ] {
        let (_, came) = sent(&schema, Value::Null);
        assert!(came.imported.lost.speaks_of(named), "{schema}: {:?}", lost(&came));
    }
}

#[test]
fn read_only_and_write_only_fields_are_left_out() {
    let item = json!({"type": "object", "required": ["id", "name", "secret"], "properties": {
        "id": {"type": "integer", "readOnly": true}, "name": {"type": "string"}, "secret": {"type": "string", "writeOnly": true}}});
    let operation = json!({"requestBody": {"content": {"application/json": {"schema": item}}},
        "responses": {"201": {"content": {"application/json; charset=utf-8": {"schema": {"allOf": [item]}}}}}});
    let came = of(&described(json!({"/x": {"post": operation}})));
    let step = &came.workloads[0].steps[0];
    assert_eq!(body(step), "{\"name\":\"a\",\"secret\":\"a\"}");
    assert_eq!(
        step.answer.pointers,
        [("/id".to_owned(), Wanted::Present), ("/name".to_owned(), Wanted::Present)]
    );
}

#[test]
fn parameters_are_written_in_their_styles() {
    let list = json!({"type": "array", "items": {"type": "string"}, "example": ["a", "b"]});
    let object = json!({"type": "object", "example": {"k": 1, "l": 2}});
    let parameter = |name: &str, place: &str, schema: &Value, more: Value| {
        let mut all = json!({"name": name, "in": place, "required": true, "schema": schema});
        all.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        all
    };
    let came = of(&described(
        json!({"/p/{m}/{l}/{s}": {"get": {"responses": {"200": {}}, "parameters": [
            parameter("m", "path", &list, json!({"style": "matrix", "explode": true})),
            parameter("l", "path", &list, json!({"style": "label"})),
            parameter("s", "path", &list, json!({})),
            parameter("ids", "query", &list, json!({})),
            parameter("csv", "query", &list, json!({"explode": false})),
            parameter("pipes", "query", &list, json!({"style": "pipeDelimited", "explode": false})),
            parameter("deep", "query", &object, json!({"style": "deepObject", "explode": true})),
            {"name": "json", "in": "query", "required": true, "content": {"application/json": {"schema": object}}},
            parameter("X-Tag", "header", &list, json!({})),
            parameter("Accept", "header", &list, json!({})),
            parameter("a", "cookie", &json!({"const": "1"}), json!({})),
            parameter("b", "cookie", &json!({"const": "2"}), json!({})),
            {"name": "page", "in": "query", "schema": {"type": "integer"}},
        ]}}}),
    ));
    let path = "/v1/p/;m=a;m=b/.a,b/a,b?ids=a&ids=b&csv=a,b&pipes=a%7Cb&deep%5Bk%5D=1&deep%5Bl%5D=2&json=%7B%22k%22%3A1%2C%22l%22%3A2%7D";
    assert_eq!(requests_of(&came.workloads[0]), [format!("GET {path}")]);
    assert_eq!(
        (came.values("x-tag"), came.values("cookie")),
        (vec!["a,b".to_owned()], vec!["a=1; b=2".to_owned()])
    );
    assert_eq!(lost(&came), [""; 0]);
    for named in
        ["the query parameter `page` of GET /p/", "the header parameter `Accept` of GET /p/"]
    {
        assert!(came.imported.taken.speaks_of(named), "{named}: {:?}", came.imported.taken.0);
    }
    let old = json!({"swagger": "2.0", "host": "h", "paths": {"/x": {"post": {"responses": {"200": {}}, "consumes": ["multipart/form-data"], "parameters": [
        {"name": "ids", "in": "query", "required": true, "type": "array", "items": {"type": "integer"}, "minItems": 2, "collectionFormat": "multi"},
        {"name": "kind", "in": "formData", "required": true, "type": "string"}, {"name": "file", "in": "formData", "required": true, "type": "file"}]}}}});
    let text = of(&old).sent();
    assert!(
        text.starts_with("POST /x?ids=1&ids=1\ncontent-type: multipart/form-data; boundary=")
            && text.contains("name=\"file\"; filename=\"file\""),
        "{text}"
    );
}

#[test]
fn bodies_of_several_kinds_are_sent_or_named() {
    let schema = json!({"type": "object", "required": ["tags", "file", "meta"], "properties": {
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2}, "file": {"type": "string", "format": "binary"}, "meta": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    let operation = |kind: &str| json!({"requestBody": {"content": {kind: {"schema": schema}}}, "responses": {"200": {}}});
    let came = of(&described(json!({
        "/parts": {"post": operation("multipart/form-data")},
        "/form": {"post": operation("application/x-www-form-urlencoded")},
        "/xml": {"post": operation("application/xml")},
        "/text": {"post": {"requestBody": {"content": {"text/plain": {"example": "hello"}}}, "responses": {"200": {}}, "callbacks": {"a": {}}}, "query": {}},
    })));
    let [parts, form, xml, text] = &came.workloads[0].steps[..] else { panic!("four steps") };
    for piece in [
        "name=\"tags\"\r\n\r\na\r\n",
        "name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n",
        "Content-Type: application/json\r\n\r\n{\"a\":1}\r\n",
    ] {
        assert!(body(parts).contains(piece), "{piece}: {}", body(parts));
    }
    assert_eq!(
        (body(form), body(xml), body(text)),
        ("tags=a&tags=a&file=a&a=1".to_owned(), String::new(), "hello".to_owned())
    );
    assert_eq!(
        lost(&came),
        ["the body of POST /xml", "`query` of /text", "the callbacks of POST /text"]
    );
}

#[test]
#[cfg_attr(not(feature = "openapi-yaml"), ignore = "needs feature openapi-yaml")]
fn yaml_is_read_by_the_rules_of_version_1_2() {
    let text = "openapi: 3.0.3\npaths:\n  /x:\n    get:\n      parameters:\n\
                \x20       - { name: country, in: query, required: true, schema: { type: string, enum: [NO, SE] } }\n\
                \x20       - { name: on, in: query, required: true, example: on, schema: { type: string } }\n\
                \x20       - { name: n, in: query, required: true, example: 007, schema: { type: integer } }\n\
                \x20       - { name: o, in: query, required: true, example: 0o17, schema: { type: integer } }\n\
                \x20       - { name: d, in: query, required: true, example: 2020-01-01, schema: { type: string } }\n\
                \x20       - { name: t, in: query, required: true, example: true, schema: { type: boolean } }\n\
                \x20       - { name: y, in: query, required: true, example: yes, schema: { type: string } }\n\
                \x20     responses: { 200: { description: a } }\n";
    assert_eq!(
        requests_of(&all("x.yaml", text, &[]).workloads[0]),
        ["GET /x?country=NO&on=on&n=7&o=15&d=2020-01-01&t=true&y=yes"]
    );
    assert!(
        imported("x.yaml", "openapi: 3.0.0\npaths: [\n", &[])
            .is_err_and(|e| e.contains("not YAML") && e.contains("hint: "))
    );
}

fn optional(
    name: &'static str,
    values: Vec<Value>,
) -> impl Strategy<Value = (&'static str, Option<Value>)> {
    prop::option::of(prop::sample::select(values)).prop_map(move |value| (name, value))
}

fn with(kind: &'static str, all: Vec<(&'static str, Option<Value>)>) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), json!(kind))]);
    schema.extend(all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(schema)
}

/// The schema of a number, text or other value without parts.
fn simple_schema() -> impl Strategy<Value = Value> {
    let numbers = || [-9, -1, 0, 1, 3, 10].map(|n| json!(n)).to_vec();
    let number = (
        prop::sample::select(vec!["integer", "number"]),
        optional("minimum", numbers()),
        optional("maximum", numbers()),
        optional("exclusiveMinimum", numbers()),
        optional("exclusiveMaximum", numbers()),
        optional("multipleOf", vec![json!(2), json!(0.5), json!(7)]),
    )
        .prop_map(move |(kind, a, b, c, d, e)| with(kind, vec![a, b, c, d, e]));
    let patterns =
        ["^[a-f]{2,4}$", "\\d+", "^(ab|cd)+$", "^(?!a)b$", "[^a]$", "^\\w+@\\w+\\.org$", "^.{3}$"]
            .map(|pattern| json!(pattern))
            .to_vec();
    let formats = [
        "date",
        "date-time",
        "uuid",
        "email",
        "ipv4",
        "ipv6",
        "hostname",
        "uri",
        "time",
        "duration",
        "iban",
    ]
    .map(|format| json!(format))
    .to_vec();
    let string = (
        optional("minLength", vec![json!(0), json!(2), json!(7)]),
        optional("maxLength", vec![json!(0), json!(3), json!(40)]),
        optional("pattern", patterns),
        optional("format", formats),
    )
        .prop_map(move |(a, b, c, d)| with("string", vec![a, b, c, d]));
    prop_oneof![
        3 => number,
        3 => string,
        1 => Just(json!({"type": "boolean"})),
        1 => Just(json!({"enum": ["x", 2, null]})),
        1 => Just(json!({"const": {"a": [1]}})),
    ]
}

/// A schema that some value fits, or sometimes one that no value is found for.
fn schema() -> impl Strategy<Value = Value> {
    simple_schema().prop_recursive(3, 24, 4, move |inner| {
        let list = (
            inner.clone(),
            optional("minItems", vec![json!(0), json!(2), json!(3)]),
            optional("maxItems", vec![json!(0), json!(1), json!(4)]),
            optional("uniqueItems", vec![json!(true)]),
        )
            .prop_map(move |(items, a, b, c)| with("array", vec![("items", Some(items)), a, b, c]));
        let object = (
            prop::collection::btree_map("[a-d]", inner.clone(), 0..4),
            prop::collection::btree_set("[a-e]", 0..3),
            optional("minProperties", vec![json!(1), json!(3)]),
            optional("maxProperties", vec![json!(0), json!(2)]),
            optional("additionalProperties", vec![json!(false), json!({"type": "integer"})]),
        )
            .prop_map(move |(properties, required, a, b, c)| {
                with(
                    "object",
                    vec![
                        ("properties", Some(json!(properties))),
                        ("required", Some(json!(required))),
                        a,
                        b,
                        c,
                    ],
                )
            });
        let both = (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"allOf": [a, b]}));
        let one = (inner.clone(), inner).prop_map(|(a, b)| json!({"anyOf": [a, b]}));
        prop_oneof![2 => list, 3 => object, 1 => both, 1 => one]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_value_fits_its_schema_or_the_rest_is_named(schema in schema()) {
        let (value, came) = sent(&schema, Value::Null);
        // A value that a schema lists is assumed to have its format.
        let lists = ["\"enum\"", "\"const\""].iter().any(|keyword| schema.to_string().contains(keyword));
        let validator = jsonschema::options().should_validate_formats(!lists).build(&schema).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        let named = lost(&came);
        prop_assert!(wrong.is_empty() || named.iter().any(|what| what.contains("the body of POST /x")), "{schema}\n{value}\n{wrong:?}\n{named:?}");
    }

    #[test]
    fn every_parameter_is_sent_or_named(
        all in prop::collection::vec((prop::sample::select(vec!["query", "header", "cookie", "path", "nowhere"]), any::<bool>(), any::<bool>()), 0..7),
        own_server in any::<bool>(),
    ) {
        let named = |n: usize| format!("p{n}x");
        let parameters: Vec<Value> = all.iter().enumerate().map(|(n, (place, required, listed))| {
            let schema = if *listed { json!({"type": "array", "items": {"const": format!("v{n}x")}}) } else { json!({"const": format!("v{n}x")}) };
            json!({"name": named(n), "in": place, "required": required, "schema": schema})
        }).collect();
        let path: String = all.iter().enumerate().filter(|(_, (place, ..))| *place == "path").map(|(n, _)| format!("/{{{}}}", named(n))).collect();
        let (around, inside) = parameters.split_at(parameters.len() / 2);
        let mut operation = json!({"parameters": inside, "responses": {"200": {}}});
        if own_server {
            operation["servers"] = json!([{"url": "http://h:81/own"}]);
        }
        let came = of(&described(json!({ format!("/at{path}"): {"parameters": around, "get": operation} })));
        let sent = came.sent();
        prop_assert!(sent.starts_with(if own_server { "GET /own/at" } else { "GET /v1/at" }), "{sent}");
        for (n, (place, required, _)) in all.iter().enumerate() {
            let is_sent = sent.contains(&format!("v{n}x"));
            let name = format!("`{}`", named(n));
            let wanted = *place == "path" || *required && *place != "nowhere";
            prop_assert_eq!(is_sent, wanted, "{} {}", place, sent);
            prop_assert!(is_sent || came.imported.taken.speaks_of(&name) || came.imported.lost.speaks_of(&name), "{name}");
            prop_assert_eq!(*place == "nowhere", came.imported.lost.speaks_of(&name));
        }
        prop_assert_eq!(came.imported.lost.0.is_empty(), all.iter().all(|(place, ..)| *place != "nowhere"));
    }
}
