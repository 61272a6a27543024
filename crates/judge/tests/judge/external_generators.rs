//! Figures of external generators: shown as medians, and used in no verdict.

use crate::made_up::{MS, histogram, measurement, record, trial};
use record::ExternalReport;
use record::{Circumstances, CpuTime, Trial, Usage};
use spec::article::{Figure, Latency, Row};
use spec::experiment::external_generator::{Driver, Truth};
use spec::experiment::{Cell, Load};

fn reported(rate: f64, p50_ms: Option<f64>, stolen_ticks: u64) -> ExternalReport {
    let quantiles = p50_ms.map(|ms| (50.0, Figure::exact(ms / 1e3, "")));
    let row = Row {
        samples: Some(Figure::exact(1_000.0, "1000")),
        errors: Some(Figure::exact(5.0, "5")),
        throughput: Some(Figure::exact(rate, "")),
        latency: Latency { quantiles: quantiles.into_iter().collect(), ..Latency::default() },
        ..Row::default()
    };
    let cpus =
        vec![CpuTime { cpu: 0, busy_ticks: 10, ticks: 100, stolen_ticks: Some(stolen_ticks) }];
    ExternalReport {
        cell: "wrk".into(),
        position: 2,
        driver: Driver::Wrk,
        arguments: vec![],
        differs: vec!["otherwise".into()],
        reported: row,
        usage: Usage { cpu_ns: 20 * MS, rss_max_bytes: 5_000_000, ..Usage::default() },
        circumstances: Some(Circumstances { cpus, ..Circumstances::default() }),
    }
}

#[test]
fn medians_exclude_trials_with_cpu_steal() {
    let blocks = [
        reported(100.0, None, 0),
        reported(300.0, None, 0),
        reported(200.0, None, 5),
        reported(9_000.0, None, 6),
    ];
    let trials = (1..).zip(blocks).map(|(block, reported)| {
        let ours = measurement(10, histogram((0..600).map(|_| 10 * MS)));
        Trial { external_reports: vec![reported], ..trial("a", block, ours) }
    });
    let mut record = record(&["a"], Load::closed(8), trials.collect());
    record.trials[0].faults.push(record::Fault {
        kind: "external-generator".into(),
        evidence: "e".into(),
        hint: "h".into(),
    });
    let truth = Truth { rate_per_s: None, p50_ms: Some(10.0), p99_ms: None };
    record.header.experiment.cells[0].truth = Some(truth);
    let ours = record.header.experiment.cells[0].clone();
    let other = Cell { name: "another".into(), load: Load::closed(9), truth: None, ..ours.clone() };
    record.header.experiment.cells.extend([
        Cell { name: "wrk".into(), driver: Some(Driver::Wrk), truth: None, ..ours },
        other,
    ]);
    let judgement = judge::judge(&record);
    assert!(
        judgement.verdicts.is_empty() && judgement.excluded.is_empty() && !judgement.unsound,
        "{judgement:?}"
    );
    assert!(judgement.faults.iter().any(|fault| fault.kind == "external-generator"));
    let [of] = judgement.external_generators.as_slice() else {
        panic!("{:?}", judgement.external_generators)
    };
    assert_eq!(
        (of.truth, of.lines.len()),
        (Some(truth), 2),
        "no other generator makes the third load"
    );
    let [ours, wrk] = of.lines.as_slice() else { panic!() };
    assert_eq!(
        (ours.driver, ours.used, ours.rate_per_s, ours.memory_mb),
        (None, 4, Some(60.0), None)
    );
    assert!(
        ours.p50_ms.is_some_and(|ms| (9.9..10.1).contains(&ms)) && ours.p99_ms.is_some(),
        "{ours:?}"
    );
    assert_eq!(
        (wrk.driver, wrk.used, wrk.stolen, wrk.rate_per_s),
        (Some(Driver::Wrk), 3, 1, Some(200.0))
    );
    assert_eq!(
        (wrk.p50_ms, wrk.failed_percent, wrk.cpu_us_per_request, wrk.memory_mb),
        (None, Some(0.5), Some(20.0), Some(5.0))
    );
    assert_eq!(wrk.differs, ["otherwise"]);
}

#[test]
fn printed_quantile_is_used() {
    let ours = measurement(10, histogram([MS; 3]));
    let mut record = record(
        &["a"],
        Load::closed(8),
        vec![Trial { external_reports: vec![reported(1.0, Some(12.5), 0)], ..trial("a", 1, ours) }],
    );
    let cell = &mut record.header.experiment.cells[0];
    (cell.name, cell.driver) = ("wrk".into(), Some(Driver::Wrk));
    let judgement = judge::judge(&record);
    assert_eq!(
        judgement.external_generators[0].lines.iter().map(|line| line.p50_ms).collect::<Vec<_>>(),
        [Some(12.5)]
    );
}
