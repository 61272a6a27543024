//! `faceoff export` from outside: each format as the command names it, and refusals.
//!
//! `tests/suite/export` reads the content of the formats with other libraries.

use crate::folder::{Folder, Ran, nothing_is_left};
use crate::needs::need;

/// Records two systems that respond after 60 and 90 ms.
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
fn record_is_exported_in_every_format() {
    let folder = record("1");
    let export = |more: &[&str]| -> Ran { folder.run(&[&["export", "r", "--to"], more].concat()) };
    assert!(
        export(&["csv"])
            .expect(0)
            .out
            .starts_with("record,experiment,cell,contender,baseline,metric,")
    );
    let measurements = export(&["csv", "--table", "measurements", "--cell", "open"]).expect(0).out;
    assert_eq!(measurements.lines().count(), 3, "{measurements}");
    assert!(export(&["hdr"]).expect(0).out.contains("Tag=far/open/1/latency,"));
    assert!(export(&["junit"]).expect(0).out.contains("name=\"far takes longer\""));
    assert!(export(&["openmetrics"]).expect(0).out.ends_with("# EOF\n"));
    assert!(export(&["svg", "--contender", "far"]).expect(0).out.starts_with("<svg "));
    let quantiles = export(&["svg", "--chart", "quantiles", "--cell", "open"]).expect(0).out;
    assert!(
        quantiles.contains("Latency by quantile: open") && !quantiles.contains("closed"),
        "{quantiles}"
    );
    let rate = export(&["svg", "--chart", "rate"]).expect(0).out;
    assert!(rate.contains(">correct responses, /s<") && rate.contains(">far<"), "{rate}");
    let ran = export(&["markdown", "--out", "summary.md"]).expect(0);
    assert_eq!(ran.out, "summary.md\n");
    assert!(
        std::fs::read_to_string(folder.path().join("summary.md"))
            .unwrap()
            .contains("far takes longer")
    );
    assert_eq!(export(&["hgrm", "--out", "hgrm"]).expect(0).out, "hgrm\n");
    let text =
        std::fs::read_to_string(folder.path().join("hgrm/open.far.block-1.latency.hgrm")).unwrap();
    assert!(text.contains("#[Mean "), "{text}");
    nothing_is_left(&folder);
}

#[test]
#[cfg_attr(not(feature = "parquet"), ignore = "needs feature parquet")]
fn table_is_exported_as_parquet() {
    let folder = record("1");
    let ran = folder
        .run(&["export", "r", "--to", "parquet", "--table", "starts", "--out", "starts.parquet"])
        .expect(0);
    assert_eq!(ran.out, "starts.parquet\n");
    assert!(std::fs::read(folder.path().join("starts.parquet")).unwrap().ends_with(b"PAR1"));
}

#[test]
#[cfg_attr(not(feature = "png"), ignore = "needs feature png")]
fn chart_is_exported_as_png() {
    let folder = record("1");
    folder.run(&["export", "r", "--to", "png", "--out", "verdicts.png"]).expect(0);
    let picture = std::fs::read(folder.path().join("verdicts.png")).unwrap();
    assert_eq!(
        (&picture[..8], &picture[12..20]),
        (b"\x89PNG\r\n\x1a\n".as_slice(), b"IHDR\0\0\x07\x80".as_slice()),
        "twice 960 wide"
    );
}

#[test]
#[cfg_attr(feature = "png", ignore = "needs a build without png")]
fn build_without_png_names_the_feature() {
    need("a build without png");
    let folder = record("1");
    folder
        .run(&["export", "r", "--to", "png", "--out", "verdicts.png"])
        .expect(2)
        .says("--features png");
}

#[test]
fn refused_exports_say_why() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let export = |more: &[&str]| -> Ran { folder.run(&[&["export", "r", "--to"], more].concat()) };
    export(&["hgrm"]).expect(2).says("name a folder with --out");
    export(&["hdr", "--cell", "opne"])
        .expect(2)
        .says("the record has no cell `opne`")
        .says("did you mean `open`?");
    export(&["hdr", "--contender", "c"]).expect(2).says("the record has no contender `c`");
    export(&["svg", "--table", "seconds"]).expect(2).says("--table chooses");
    export(&["csv", "--chart", "rate"]).expect(2).says("--chart chooses a chart");
    export(&["svg", "--chart", "rate", "--metric", "memory"])
        .expect(2)
        .says("--metric chooses")
        .says("verdicts, sweeps, effects");
    export(&["svg", "--chart", "sweeps"])
        .expect(2)
        .says("there is nothing to draw: no sweeps")
        .says("your selection has verdicts, ");
    export(&["svg", "--chart", "sweep"]).expect(2).says("possible values");
    export(&["svg", "--metric", "memry"]).expect(2).says("did you mean `memory`?");
    export(&["junit", "--cell", "open"]).expect(2).says("covers the whole record");
    export(&["hdr", "--out", "no/such/folder.hlog"])
        .expect(1)
        .says("cannot be written")
        .says("hint: ");
    export(&["exel"]).expect(2).says("possible values");
    folder.run(&["export", "nothing", "--to", "csv"]).expect(2).says("is not a record");
}
