//! What requests cost at a price: in the summary, the judgement and the report, and prices that
//! are wrong.

use crate::folder::{Folder, nothing_is_left};

/// Records two systems that burn 200 and 800 µs of CPU time per request, with a price.
fn recorded() -> Folder {
    let folder = Folder::new();
    folder.system("light", &["--cpu", "200us"]);
    folder.system("heavy", &["--cpu", "800us"]);
    folder.experiment(&["light", "heavy"], "");
    let price = ["--price", "3.6 EUR/cpu-hour"];
    let ran = folder.run(&[&["run", "x", "--blocks", "2", "--out", "r"], &price[..]].concat());
    assert!([0, 4].contains(&ran.code), "{ran:?}");
    assert!(ran.out.contains("Cost of a million requests at 3.6 EUR per CPU-hour"), "{}", ran.out);
    nothing_is_left(&folder);
    folder
}

fn read(folder: &Folder, file: &str) -> String {
    std::fs::read_to_string(folder.path().join(file)).unwrap()
}

#[test]
fn a_price_turns_cpu_time_into_costs_in_every_output() {
    let folder = recorded();
    let record = folder.record("r");
    let judgement: record::judgement::Judgement =
        serde_json::from_str(&read(&folder, "r/judgement.json")).unwrap();
    let costs = judgement.costs.expect("the run had a price");
    assert_eq!(costs.price.as_option(), "3.6 EUR/cpu-hour");
    let cells = &record.header.experiment.cells;
    assert_eq!(costs.lines.len(), 2 * cells.len(), "a line for each cell and contender");
    for cost in costs.lines.iter().filter(|cost| cost.total.is_some()) {
        // At 3.6 an hour, a CPU second costs 0.001: a million requests cost as much as one has µs.
        let row =
            judgement.rows.iter().find(|r| r.cell == cost.cell && r.contender == cost.contender);
        let us = row.unwrap().cpu_us_per_request.unwrap();
        let total = cost.total.unwrap();
        assert!((total * 1e3 / us - 1.0).abs() < 0.5, "{total} for {us} µs in {}", cost.cell);
    }
    assert!(read(&folder, "r/page.html").contains("3.6 EUR per CPU-hour"));
    crate::by_schema::is_by_schema(&folder, "r");
}

#[test]
fn a_record_is_judged_and_reported_at_another_price() {
    let folder = recorded();
    folder.write("price.toml", "cpu_hour = 1\ngib_hour = 0.5\ncurrency = \"USD\"\n");
    let judged = folder.run(&["judge", "r", "--price", "price.toml"]);
    let priced = "at 1 USD per CPU-hour and 0.5 USD per GiB-hour, with 95 % intervals";
    assert!(judged.out.contains(priced), "{}", judged.out);
    for line in ["open, light: ", "open, heavy: ", "closed, light: ", "closed, heavy: "] {
        assert!(judged.out.contains(line), "{line}: {}", judged.out);
    }
    folder.run(&["report", "r", "--price", "price.toml", "--out", "other.html"]).expect(0);
    let page = read(&folder, "other.html");
    assert!(page.contains("0.5 USD per GiB-hour"));
    assert!(page.contains("faceoff judge records/r --price '1 USD/cpu-hour,0.5 USD/gib-hour'"));
    folder.run(&["report", "r", "--out", "plain.html"]).expect(0);
    assert!(read(&folder, "plain.html").contains("\"costs\":null"));
}

#[test]
fn a_wrong_price_is_refused_before_anything_runs() {
    let folder = Folder::new();
    folder.write("bad.toml", "cpu_hours = 1\n");
    for (price, expected) in [
        ("1/gpu-hour", "`gpu-hour` is unknown; did you mean `cpu-hour`?"),
        ("1/cpu-hour,x/gib-hour", "`x` must be a number"),
        ("cheap", "write 0.034/cpu-hour, 0.004/gib-hour"),
        ("bad.toml", "cpu_hours"),
        ("none.toml", "cannot be read"),
    ] {
        for command in ["judge", "report", "run"] {
            let ran = folder.run(&[command, "r", "--price", price]);
            assert_eq!(ran.code, 2, "{command} {price}: {ran:?}");
            assert!(ran.err.contains(expected), "{command} {price}: {}", ran.err);
        }
    }
}
