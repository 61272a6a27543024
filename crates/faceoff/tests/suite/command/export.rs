use crate::folder::{Folder, Ran, nothing_is_left};
use crate::needs::{need, need_all};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A record of two systems that answer after 60 and 90 ms.
fn record(blocks: &str) -> Folder {
    let folder = Folder::new();
    folder.system("near", &["--delay", "60ms"]);
    folder.system("far", &["--delay", "90ms"]);
    folder.experiment(
        &["near", "far"],
        "[[claim]]\ntext = \"far takes longer\"\ncontender = \"far\"\nmetric = \"latency_p50\"\nexpects = \"higher\"\ncells = [\"open\"]\n",
    );
    let ran = folder.run(&["run", "x", "--blocks", blocks, "--out", "r"]);
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    folder
}

#[test]
fn a_record_goes_into_every_format() {
    let folder = record("1");
    let export = |more: &[&str]| -> Ran { folder.run(&[&["export", "r", "--to"], more].concat()) };
    assert!(export(&["csv"]).expect(0).out.starts_with("record,experiment,cell,contender,baseline,metric,"));
    let measurements = export(&["csv", "--table", "measurements", "--cell", "open"]).expect(0).out;
    assert_eq!(measurements.lines().count(), 3, "{measurements}");
    assert!(export(&["hdr"]).expect(0).out.contains("Tag=far/open/1/latency,"));
    assert!(export(&["junit"]).expect(0).out.contains("name=\"far takes longer\""));
    assert!(export(&["openmetrics"]).expect(0).out.ends_with("# EOF\n"));
    export(&["remote-write", "--out", "r.snappy"]).expect(0);
    assert!(export(&["svg", "--contender", "far"]).expect(0).out.starts_with("<svg "));
    let quantiles = export(&["svg", "--chart", "quantiles", "--cell", "open"]).expect(0).out;
    assert!(quantiles.contains("Latency by quantile: open") && !quantiles.contains("closed"), "{quantiles}");
    let rate = export(&["svg", "--chart", "rate"]).expect(0).out;
    assert!(rate.contains(">right answers, /s<") && rate.contains(">far<"), "{rate}");
    let ran = export(&["markdown", "--out", "summary.md"]).expect(0);
    assert_eq!(ran.out, "summary.md\n");
    assert!(std::fs::read_to_string(folder.path().join("summary.md")).unwrap().contains("far takes longer"));
    assert_eq!(export(&["hgrm", "--out", "hgrm"]).expect(0).out, "hgrm\n");
    let text = std::fs::read_to_string(folder.path().join("hgrm/open.far.block-1.latency.hgrm")).unwrap();
    assert!(text.contains("#[Mean "), "{text}");

    // What reads JMeter's samples finds nothing in them that cannot be.
    export(&["jtl", "--out", "jtl"]).expect(0).says("no line is a request that was seen");
    let samples = std::fs::read_to_string(folder.path().join("jtl/open.far.block-1.jtl")).unwrap();
    assert_eq!(samples.lines().count(), 61, "{samples}");
    folder.run(&["audit", "jtl/open.far.block-1.jtl"]).expect(0);
    nothing_is_left(&folder);
}

#[test]
#[cfg_attr(not(feature = "parquet"), ignore = "needs feature parquet")]
fn a_table_is_written_as_parquet() {
    let folder = record("1");
    let ran = folder.run(&["export", "r", "--to", "parquet", "--table", "starts", "--out", "starts.parquet"]).expect(0);
    assert_eq!(ran.out, "starts.parquet\n");
    assert!(std::fs::read(folder.path().join("starts.parquet")).unwrap().ends_with(b"PAR1"));
}

#[test]
#[cfg_attr(not(feature = "png"), ignore = "needs feature png")]
fn a_picture_is_drawn_as_pixels() {
    let folder = record("1");
    folder.run(&["export", "r", "--to", "png", "--out", "verdicts.png"]).expect(0);
    let picture = std::fs::read(folder.path().join("verdicts.png")).unwrap();
    assert_eq!((&picture[..8], &picture[12..20]), (b"\x89PNG\r\n\x1a\n".as_slice(), b"IHDR\0\0\x07\x80".as_slice()), "twice 960 wide");
}

#[test]
#[cfg_attr(feature = "png", ignore = "needs a build without png")]
fn a_build_that_draws_no_pixels_names_the_feature() {
    need("a build without png");
    let folder = record("1");
    folder.run(&["export", "r", "--to", "png", "--out", "verdicts.png"]).expect(2).says("--features png");
}

#[test]
fn what_cannot_be_written_says_why() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let export = |more: &[&str]| -> Ran { folder.run(&[&["export", "r", "--to"], more].concat()) };
    // As if a request of each measurement had been shed, however quick this machine is.
    let lines = std::fs::read_to_string(folder.path().join("r/record.jsonl")).unwrap();
    folder.write("r/record.jsonl", &lines.replace("\"declined\":0", "\"declined\":1"));
    export(&["jtl", "--out", "jtl"]).expect(1).says("1 requests were not answered rightly").says("hint: ");
    export(&["jtl"]).expect(2).says("name a folder for them with --out");
    export(&["hdr", "--cell", "opne"]).expect(2).says("the record has no cell `opne`").says("did you mean `open`?");
    export(&["hdr", "--contender", "c"]).expect(2).says("the record has no contender `c`");
    export(&["svg", "--table", "seconds"]).expect(2).says("--table chooses");
    export(&["csv", "--chart", "rate"]).expect(2).says("--chart chooses a picture");
    export(&["svg", "--chart", "rate", "--metric", "memory"]).expect(2).says("--metric chooses").says("verdicts, sweeps, effects");
    export(&["svg", "--chart", "sweeps"]).expect(2).says("there is nothing to draw: no sweeps").says("there is verdicts, ");
    export(&["svg", "--chart", "sweep"]).expect(2).says("possible values");
    export(&["svg", "--metric", "memry"]).expect(2).says("did you mean `memory`?");
    export(&["junit", "--cell", "open"]).expect(2).says("tells of the whole record");
    export(&["hdr", "--out", "no/such/folder.hlog"]).expect(1).says("cannot be written").says("hint: ");
    export(&["exel"]).expect(2).says("possible values");
    folder.run(&["export", "nothing", "--to", "csv"]).expect(2).says("is not a record");
}

/// JMeter's own report of our samples, made by JMeter.
#[test]
#[ignore = "long, needs java and maven"]
fn jmeter_makes_its_report_of_samples() {
    need_all(&["java", "maven"]);
    let witness = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("witnesses/jmeter");
    let built = Command::new("mvn").args(["-q", "-B", "package"]).current_dir(&witness).status().unwrap();
    assert!(built.success(), "JMeter is put together");
    let folder = record("1");
    folder.run(&["export", "r", "--to", "jtl", "--out", "jtl"]).expect(0);
    let table = folder.run(&["export", "r", "--to", "csv", "--table", "measurements", "--cell", "open", "--contender", "far"]).expect(0);
    let mut rows = csv::Reader::from_reader(table.out.as_bytes());
    let measured: std::collections::HashMap<String, String> = rows.deserialize().next().unwrap().unwrap();
    let made = Command::new(witness.join("jmeter"))
        .args(["-g", "jtl/open.far.block-1.jtl", "-o", "report", "-j", "jmeter.log"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let log = std::fs::read_to_string(folder.path().join("jmeter.log")).unwrap_or_default();
    assert!(made.status.success() && folder.path().join("report/index.html").is_file(), "{made:?}\n{log}");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("report/statistics.json")).unwrap()).unwrap();
    let of = &told["far open"];
    let number = |value: &Value| value.as_f64().unwrap();
    let measured = |column: &str| measured[column].parse::<f64>().unwrap();
    assert_eq!((number(&of["sampleCount"]), number(&of["errorCount"])), (measured("correct"), 0.0), "{of}");
    for (theirs, ours) in [("meanResTime", "latency_mean_ms"), ("medianResTime", "latency_p50_ms"), ("maxResTime", "latency_max_ms")] {
        assert!((number(&of[theirs]) - measured(ours)).abs() <= 1.0, "{theirs}: {of}");
    }
    // Answers a second, over the time from the first sending to the last answer.
    let rate = measured("correct") / measured("duration_s");
    assert!((number(&of["throughput"]) / rate - 1.0).abs() < 0.1, "{of} {rate}");
}
