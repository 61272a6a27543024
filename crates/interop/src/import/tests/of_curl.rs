//! Checks that everything on a command line of curl is sent, or named as lost.

use super::*;

fn of(text: &str) -> Came {
    all("x.txt", text, &[])
}

#[test]
fn headers_of_one_name_are_all_sent_in_order() {
    let came = of(
        "curl -H 'X-Tag: b' -H 'accept-language: de' -H 'x-tag: a' -H 'Accept-Language: fr' -H 'Cookie: a=1' -H 'Cookie: b=2' http://127.0.0.1:8080/",
    );
    assert_eq!(came.values("x-tag"), ["b", "a"]);
    assert_eq!(came.values("accept-language"), ["de", "fr"]);
    assert_eq!(came.values("cookie"), ["a=1", "b=2"]);
    assert_eq!(lost(&came), [""; 0]);
}

#[test]
fn host_and_connection_are_carried_over_or_named() {
    let came = of("curl -H 'Host: shop.example' -H 'Connection: close' http://127.0.0.1:8080/");
    assert_eq!((came.values("host"), lost(&came)), (vec!["shop.example".to_owned()], vec![]));
    assert!(came.commands[0].ends_with("-c 64 --close"), "{}", came.commands[0]);
    let came =
        of("curl -H 'Connection: Upgrade' -H 'Host: 127.0.0.1:8080' http://127.0.0.1:8080/a");
    assert_eq!(
        (came.values("host").len(), lost(&came)),
        (0, vec!["the header `connection: Upgrade` of GET /a"])
    );
}

#[test]
fn the_command_line_overrides_the_defaults_of_curl() {
    let came = of(
        "curl -A mine -e http://a/ -b a=1 -b b=2 -r 0-9 -d x=1 -H 'content-type: text/plain' -H 'User-Agent:' -H 'X-Empty;' http://u:p%40@h/",
    );
    let headers: Vec<String> = came.workloads[0].steps[0]
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let right = [
        "authorization: Basic dTpwQA==",
        "content-type: text/plain",
        "cookie: a=1;b=2",
        "range: bytes=0-9",
        "referer: http://a/",
        "x-empty: ",
    ];
    assert_eq!(headers, right);
    assert_eq!(
        of("curl --oauth2-bearer T --json '{\"a\":' --json '1}' http://h/").sent(),
        "POST /\naccept: application/json\nauthorization: Bearer T\ncontent-type: application/json\n\n{\"a\":1}\n"
    );
}

#[test]
fn globs_are_expanded_unless_globoff_is_set() {
    let requests = |text: &str| requests_of(&of(text).workloads[0]);
    assert_eq!(
        requests("curl 'http://h/{a,b}/[1-2]'"),
        ["GET /a/1", "GET /a/2", "GET /b/1", "GET /b/2"]
    );
    assert_eq!(requests("curl -g 'http://h/{a,b}/[1-2]'"), ["GET /{a,b}/[1-2]"]);
    assert_eq!(
        requests("curl 'http://h/[01-03:2]?x[]=1' --next -g 'http://h/[x]'"),
        ["GET /01?x[]=1", "GET /03?x[]=1", "GET /[x]"]
    );
    let many = of("curl 'http://h/[1-100000]'");
    assert_eq!(
        (many.workloads[0].steps.len(), lost(&many)),
        (2_000, vec!["what follows 2000 requests"])
    );
    assert!(
        imported("x", "curl 'http://h/[9-1]'", &[])
            .is_err_and(|e| e.contains("`[9-1]`") && e.contains("-g"))
    );
    assert_eq!(requests("curl http://h/a/../b/./c"), ["GET /b/c"]);
    assert_eq!(requests("curl --path-as-is http://h/a/../b"), ["GET /a/../b"]);
}

#[test]
fn a_multipart_form_keeps_its_parts_and_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.png"), [0x89, b'P', 0xff]).unwrap();
    std::fs::write(folder.path().join("t.txt"), "text").unwrap();
    let import = |text: &str| understand("x", text, folder.path(), &BTreeMap::new());
    let imported =
        import("curl -F kind=front -F 'file=@t.txt' -F 'note=<t.txt;type=text/x' http://h/up")
            .unwrap();
    let step = &imported.parts[0].workload.steps[0];
    let text = text_of_step(step);
    assert!(text.starts_with("POST /up\ncontent-type: multipart/form-data; boundary="), "{text}");
    for piece in [
        "name=\"kind\"\r\n\r\nfront\r\n",
        "name=\"file\"; filename=\"t.txt\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n",
        "name=\"note\"\r\nContent-Type: text/x\r\n\r\ntext\r\n",
    ] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    let imported =
        import("curl -F 'file=@p.png' http://h/up ; curl -T p.png http://h/files/ ; curl --data-binary @p.png http://h/raw").unwrap();
    let written = tempfile::tempdir().unwrap();
    write::write_import(&imported, "it", "x", written.path(), false).unwrap();
    let read = Workload::read(&written.path().join("it.toml")).unwrap();
    let bytes = |n: usize| {
        if let Body::Bytes(bytes) = &read.steps[n].body { bytes.clone() } else { panic!("bytes") }
    };
    assert!(bytes(0).windows(3).any(|window| window == [0x89, b'P', 0xff]));
    assert_eq!((bytes(1), bytes(2)), (vec![0x89, b'P', 0xff], vec![0x89, b'P', 0xff]));
    assert_eq!(
        (read.steps[1].method.as_str(), read.steps[1].path.to_string().as_str()),
        ("PUT", "/files/p.png")
    );
    let imported =
        import("curl -T p.png http://h/x/ -T t.txt 'http://h/[1-2]/' http://h/last").unwrap();
    let steps: Vec<String> = imported.parts[0]
        .workload
        .steps
        .iter()
        .map(|step| text_of_step(step).replace('\n', " ").trim_end().to_owned())
        .collect();
    assert_eq!(steps[1..], ["PUT /1/t.txt  text", "PUT /2/t.txt  text", "GET /last"]);
    assert!(steps[0].starts_with("PUT /x/p.png "), "{}", steps[0]);
    for refused in [
        "curl -F a=b -d c http://h/",
        "curl -F 'a=@none.png' http://h/",
        "curl -d @- http://h/",
        "curl --nothing http://h/",
        "curl -K c http://h/",
    ] {
        assert!(import(refused).is_err_and(|e| e.to_string().contains("hint: ")), "{refused}");
    }
}

#[test]
fn a_post_copied_for_cmd_is_a_post() {
    let cmd = "curl \"http://127.0.0.1:8080/orders\" ^\r\n  -X \"POST\" ^\r\n  -H \"Content-Type: application/json\" ^\r\n  --data-raw \"{\\\"n\\\": 1}\"\r\n";
    let caret = "curl ^\"http://127.0.0.1:8080/orders^\" ^\n  -H ^\"content-type: application/json^\" ^\n  --data-raw ^\"^{^\\^\"n^\\^\": 1^}^\"\n";
    for text in [cmd, caret] {
        let came = of(text);
        assert_eq!(
            (requests_of(&came.workloads[0]), lost(&came)),
            (vec!["POST /orders {\"n\": 1}".to_owned()], vec![]),
            "{text}"
        );
    }
    for powershell in
        ["curl.exe http://h/ `\n -d a", "Invoke-WebRequest -Uri http://h/ -Method POST"]
    {
        assert!(
            imported("x.txt", powershell, &[])
                .is_err_and(|e| e.contains("PowerShell") && e.contains("hint: ")),
            "{powershell}"
        );
    }
}

#[test]
fn protocols_variables_and_pipes_are_kept_or_named() {
    let came =
        of("curl --http2 -H \"Authorization: Bearer $TOKEN\" https://h/a | jq .x > out.json");
    assert!(came.commands[0].ends_with("-c 64 --http2"), "{}", came.commands[0]);
    assert_eq!(came.values("authorization"), ["Bearer ${env.TOKEN}"]);
    assert_eq!(lost(&came), ["`> out.json`", "`jq .x`"]);
    let came = of("curl --http3 https://h/a\ncurl --http1.0 https://h/b\n");
    assert_eq!(lost(&came), ["HTTP/3 of GET /a", "HTTP/1.0 of GET /b"]);
}

/// One thing on a command line, with a text that occurs nowhere else.
#[derive(Clone, Debug)]
enum Thing {
    Header(&'static str),
    Data,
    Part,
    Cookie,
    Option(&'static str),
    OptionWith(&'static str),
    Query,
}

fn things() -> impl Strategy<Value = Vec<Thing>> {
    let header = prop::sample::select(vec![
        "X-Tag",
        "Accept-Language",
        "Cookie",
        "Host",
        "Connection",
        "Content-Length",
        "Transfer-Encoding",
        "TE",
    ]);
    let alone = vec![
        "-L",
        "-4",
        "--digest",
        "--proxytunnel",
        "-j",
        "--haproxy-protocol",
        "--no-keepalive",
        "--tlsv1.2",
        "-s",
        "-i",
        "-k",
        "--compressed",
    ];
    let with = vec![
        "-x",
        "--resolve",
        "--retry",
        "--max-redirs",
        "-c",
        "--cacert",
        "--limit-rate",
        "-z",
        "-U",
        "-o",
        "-w",
        "-A",
        "-e",
    ];
    let thing = prop_oneof![
        4 => header.prop_map(Thing::Header),
        2 => Just(Thing::Data),
        1 => Just(Thing::Part),
        1 => Just(Thing::Cookie),
        2 => prop::sample::select(alone).prop_map(Thing::Option),
        2 => prop::sample::select(with).prop_map(Thing::OptionWith),
        1 => Just(Thing::Query),
    ];
    prop::collection::vec(thing, 0..9)
}

/// Returns the words of a command line, each thing with its number.
fn words_of(things: &[Thing]) -> Vec<String> {
    let mut words = vec!["curl".to_owned()];
    let mut url = "http://h:81/at".to_owned();
    for (n, thing) in things.iter().enumerate() {
        match thing {
            Thing::Header(name) => words.extend(["-H".into(), format!("{name}: v{n} 'q' \"{n}\"")]),
            Thing::Data => words.extend(["-d".into(), format!("d{n}=\"é{n}")]),
            Thing::Part => words.extend(["-F".into(), format!("f{n}=w{n}")]),
            Thing::Cookie => words.extend(["-b".into(), format!("c{n}=k{n}")]),
            Thing::Option(option) => words.push((*option).into()),
            Thing::OptionWith(option) => words.extend([(*option).into(), format!("o{n}")]),
            Thing::Query => {
                url += &format!("{}q{n}={n}", if url.contains('?') { "&" } else { "?" })
            }
        }
    }
    words.push(url);
    words
}

/// Quotes words for a shell: 0 is bash, 1 bash with `$'...'`, 2 bash with `"`, others cmd.
fn quoted_for(shell: usize, words: &[String]) -> String {
    let each = words.iter().enumerate().map(|(n, word)| match shell {
        _ if n == 0 => word.clone(),
        0 => format!("'{}'", word.replace('\'', "'\\''")),
        1 => format!("$'{}'", word.bytes().map(|b| format!("\\x{b:02x}")).collect::<String>()),
        2 => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$")),
        _ => format!(
            "^\"{}^\"",
            word.replace('"', "\\\"")
                .chars()
                .map(|c| if c.is_alphanumeric() || c == ' ' {
                    c.to_string()
                } else {
                    format!("^{c}")
                })
                .collect::<String>()
        ),
    });
    each.collect::<Vec<_>>().join(if shell == 3 { " ^\n  " } else { " \\\n " })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn everything_on_a_command_line_is_sent_or_named(things in things(), shell in 0usize..4) {
        let text = quoted_for(shell, &words_of(&things));
        let bodies = [Thing::Data, Thing::Part].iter().filter(|body| things.iter().any(|thing| std::mem::discriminant(thing) == std::mem::discriminant(body)));
        if bodies.count() > 1 {
            prop_assert!(imported("x", &text, &[]).is_err_and(|e| e.contains("keep one of -d, -F")));
            return Ok(());
        }
        let came = of(&text);
        let (sent, notes) = (came.sent(), &came.imported.lost.0);
        let names = |note: &Note, what: &str| if what.starts_with('-') { note.what.split(' ').next() == Some(what) } else { note.what.contains(what) };
        let is_named = |what: &str| notes.iter().any(|note| names(note, what));
        let has_cookie = things.iter().any(|thing| matches!(thing, Thing::Header("Cookie")));
        let mut all_sent = true;
        for (n, thing) in things.iter().enumerate() {
            // A later -A or -e replaces an earlier one, and a header Cookie that of -b. curl sends
            // no more either.
            let is_last = |option: &str| !things[n + 1..].iter().any(|later| matches!(later, Thing::OptionWith(other) if *other == option));
            let (is_sent, name) = match thing {
                Thing::Header(name) => (sent.contains(&format!("\n{}: v{n} 'q' \"{n}\"\n", name.to_lowercase())), format!("{}: v{n}", name.to_lowercase())),
                Thing::Data => (sent.contains(&format!("d{n}=\"é{n}")), String::new()),
                Thing::Part => (sent.contains(&format!("name=\"f{n}\"\r\n\r\nw{n}\r\n")), String::new()),
                Thing::Cookie => (has_cookie || sent.contains(&format!("c{n}=k{n}")), String::new()),
                Thing::Query => (sent.contains(&format!("q{n}={n}")), String::new()),
                Thing::Option("-k") => (came.commands[0].contains("--insecure"), "-k".into()),
                Thing::Option("--compressed") => (sent.contains("accept-encoding"), String::new()),
                Thing::OptionWith(option @ ("-A" | "-e")) => (sent.contains(&format!(": o{n}\n")) || !is_last(option), String::new()),
                Thing::Option(option @ ("-s" | "-i")) | Thing::OptionWith(option @ ("-o" | "-w")) => {
                    (came.imported.taken.speaks_of(option), String::new())
                }
                Thing::Option(option) | Thing::OptionWith(option) => (false, (*option).to_owned()),
            };
            all_sent &= is_sent;
            prop_assert!(is_sent != (!name.is_empty() && is_named(&name)), "{thing:?} {n}: {text}\n{sent}\n{notes:?}");
        }
        prop_assert_eq!(notes.is_empty(), all_sent, "everything was carried over where nothing was lost: {}\n{:?}", text, notes);
        let method = if things.iter().any(|thing| matches!(thing, Thing::Data | Thing::Part)) { "POST" } else { "GET" };
        prop_assert!(sent.starts_with(method), "{text}\n{sent}");
        let tags = |name: &str| things.iter().enumerate().filter(|(_, thing)| matches!(thing, Thing::Header(other) if *other == name)).map(|(n, _)| format!("v{n} 'q' \"{n}\"")).collect::<Vec<_>>();
        prop_assert_eq!(came.values("x-tag"), tags("X-Tag"));
        prop_assert_eq!(came.values("accept-language"), tags("Accept-Language"));
    }

    #[test]
    fn no_command_line_makes_an_import_panic(words in prop::collection::vec("-{0,2}[a-zA-Z#:0-9]{1,3}|[ -~]{0,9}|http://h/[{}a-z,\\[\\]0-9-]{0,9}", 0..6)) {
        let line: Vec<String> = std::iter::once("curl".into()).chain(words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")))).collect();
        bears("x", &line.join(" "));
    }
}
