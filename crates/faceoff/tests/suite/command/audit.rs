use crate::folder::Folder;
use serde_json::Value;

const WRK: &str = "Running 1s test @ http://127.0.0.1:80/\n  1 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency    40.08us   59.86us   2.25ms   99.08%\n  165877 requests in 1.10s, 21.99MB read\nRequests/sec: 150845.54\nTransfer/sec:     20.00MB\n";

const TABLE: &str = "name = \"mine\"\ntitle = \"Mine\"\nsource = \"here\"\n[[table]]\ntitle = \"T\"\nevery = { connections = 8 }\nrow = [\n  { name = \"a\", throughput = \"1000\", mean = \"6.00ms\" },\n  { name = \"b\", throughput = \"1000\", mean = \"60.0ms\" },\n]\n";

#[test]
fn a_sound_output_passes_and_one_that_cannot_be_exits_with_3() {
    let folder = Folder::new();
    let audit = |arguments: &[&str], input: &str| {
        let output = folder.faceoff(arguments).write_stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, _) = audit(&["audit", "-"], WRK);
    assert_eq!(code, Some(0), "{out}");
    let (code, out, _) = audit(&["audit", "-", "--connections", "2"], WRK);
    assert!(code == Some(3) && out.contains("inconsistent as a service time"), "{out}");
    let (_, out, _) = audit(&["audit", "-", "--connections", "2", "--format", "json"], WRK);
    crate::by_schema::keeps_to("audit", &serde_json::from_str(&out).unwrap());
    let (code, _, err) = audit(&["audit", "-"], "nonsense");
    assert!(code == Some(2) && err.contains("hint: known are the summaries of wrk"), "{err}");
}

#[test]
fn tables_are_audited_by_file_and_as_articles() {
    let folder = Folder::new();
    folder.write("articles/mine.toml", TABLE);
    for input in ["articles/mine.toml", "articles"] {
        let ran = folder.run(&["audit", input, "--format", "json"]).expect(3);
        let audit: Value = serde_json::from_str(&ran.out).unwrap();
        crate::by_schema::keeps_to("audit", &audit);
        assert_eq!((&audit["schema"], &audit["rows"], &audit["flagged"]), (&"faceoff.audit.v1".into(), &2.into(), &1.into()));
        let finding = &audit["audits"][0]["tables"][0]["findings"][0];
        assert_eq!(
            (&finding["row"], &finding["check"], &finding["wording"]),
            (&"b".into(), &"little".into(), &"inconsistent-as-service-time".into())
        );
        assert!((finding["factor"].as_f64().unwrap() - 7.5).abs() < 1e-9);
    }
    folder.write("articles/mine.toml", &TABLE.replace("connections", "conections").replace("60.0ms", "60.0"));
    folder.run(&["audit", "articles"]).expect(2).says("conections").says("60.0");
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = Folder::new();
    folder.run(&["audit", "nowhere.txt"]).expect(2).says("nowhere.txt cannot be read");
    folder.run(&["audit", "articles"]).expect(2).says("holds no articles/");
    folder.run(&["audit"]).expect(2);
}

const H2LOAD: &str = "finished in 4.00s, 30240.25 req/s, 4.61MB/s
requests: 120961 total, 121153 started, 120961 done, 120961 succeeded, 0 failed, 0 errored, 0 timeout
traffic: 18.46MB (19353760) total, 3.46MB (3628830) headers (space savings 88.10%), 11.54MB (12096100) data
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :      180us     42.70ms      5.90ms     10.80ms     17.30ms      6.31ms      2.95ms    74.20%
TTFB        :     1.90ms     11.20ms      6.40ms     10.60ms     11.10ms      6.52ms      2.60ms    58.33%
";

#[test]
fn the_table_of_a_newer_h2load_is_audited() {
    let folder = Folder::new();
    let audit = |input: &str| {
        let arguments = ["audit", "-", "--connections", "24", "--streams", "8", "--format", "json"];
        let output = folder.faceoff(&arguments).write_stdin(input).output().unwrap();
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (code, report) = audit(H2LOAD);
    assert_eq!((code, &report["rows"], &report["audits"][0]["tables"][0]["title"]), (Some(0), &1.into(), &"h2load".into()), "{report}");
    let (code, report) = audit(&H2LOAD.replace(" 6.31ms", "16.31ms"));
    let findings = report["audits"][0]["tables"][0]["findings"].as_array().unwrap();
    let checks: Vec<&str> = findings.iter().filter_map(|finding| finding["check"].as_str()).collect();
    assert_eq!((code, checks), (Some(3), vec!["little", "moments"]), "{report}");
}
