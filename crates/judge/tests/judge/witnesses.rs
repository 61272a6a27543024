//! What other generators report: shown as medians, judged by nobody.

use crate::made_up::{MS, histogram, measurement, record, trial};
use model::article::{Figure, Latency, Row};
use model::experiment::{Cell, Load};
use model::record::{Circumstances, CpuTime, Trial, Usage};
use model::witness::{Driver, Truth, Witnessed};

fn told(rate: f64, p50_ms: Option<f64>, stolen_ticks: u64) -> Witnessed {
    let quantiles = p50_ms.map(|ms| (50.0, Figure::exact(ms / 1e3, "")));
    let row = Row {
        samples: Some(Figure::exact(1_000.0, "1000")),
        errors: Some(Figure::exact(5.0, "5")),
        throughput: Some(Figure::exact(rate, "")),
        latency: Latency { quantiles: quantiles.into_iter().collect(), ..Latency::default() },
        ..Row::default()
    };
    let cpus = vec![CpuTime { cpu: 0, busy_ticks: 10, ticks: 100, stolen_ticks: Some(stolen_ticks) }];
    Witnessed {
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
fn medians_over_trials_stand_beside_ours_and_those_that_were_robbed_are_left_out() {
    let blocks = [told(100.0, None, 0), told(300.0, None, 0), told(200.0, None, 5), told(9_000.0, None, 6)];
    let trials = (1..).zip(blocks).map(|(block, told)| {
        let ours = measurement(10, histogram((0..600).map(|_| 10 * MS)));
        Trial { witnessed: vec![told], ..trial("a", block, ours) }
    });
    let mut record = record(&["a"], Load::closed(8), trials.collect());
    record.trials[0].faults.push(model::record::Fault { kind: "witness".into(), evidence: "e".into(), hint: "h".into() });
    let truth = Truth { rate_per_s: None, p50_ms: Some(10.0), p99_ms: None };
    record.header.experiment.cells[0].truth = Some(truth);
    let ours = record.header.experiment.cells[0].clone();
    let other = Cell { name: "another".into(), load: Load::closed(9), truth: None, ..ours.clone() };
    record.header.experiment.cells.extend([Cell { name: "wrk".into(), driver: Some(Driver::Wrk), truth: None, ..ours }, other]);
    let judgement = judge::judge(&record);
    assert!(judgement.verdicts.is_empty() && judgement.excluded.is_empty() && !judgement.unsound, "{judgement:?}");
    assert!(judgement.faults.iter().any(|fault| fault.kind == "witness"));
    let [of] = judgement.witnesses.as_slice() else { panic!("{:?}", judgement.witnesses) };
    assert_eq!((of.truth, of.lines.len()), (Some(truth), 2), "the third is a load that nobody else makes");
    let [ours, wrk] = of.lines.as_slice() else { panic!() };
    assert_eq!((ours.driver, ours.used, ours.rate_per_s, ours.memory_mb), (None, 4, Some(60.0), None));
    assert!(ours.p50_ms.is_some_and(|ms| (9.9..10.1).contains(&ms)) && ours.p99_ms.is_some(), "{ours:?}");
    assert_eq!((wrk.driver, wrk.used, wrk.robbed, wrk.rate_per_s), (Some(Driver::Wrk), 3, 1, Some(200.0)));
    assert_eq!((wrk.p50_ms, wrk.failed_percent, wrk.cpu_us_per_request, wrk.memory_mb), (None, Some(0.5), Some(20.0), Some(5.0)));
    assert_eq!(wrk.differs, ["otherwise"]);
}

#[test]
fn a_quantile_is_theirs_where_they_print_it() {
    let ours = measurement(10, histogram([MS; 3]));
    let mut record = record(&["a"], Load::closed(8), vec![Trial { witnessed: vec![told(1.0, Some(12.5), 0)], ..trial("a", 1, ours) }]);
    let cell = &mut record.header.experiment.cells[0];
    (cell.name, cell.driver) = ("wrk".into(), Some(Driver::Wrk));
    let judgement = judge::judge(&record);
    assert_eq!(judgement.witnesses[0].lines.iter().map(|line| line.p50_ms).collect::<Vec<_>>(), [Some(12.5)]);
}
