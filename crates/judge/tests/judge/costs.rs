//! What requests cost: known answers, parts, intervals, and why a cost is not known.

use crate::made_up::{MS, NOISE, SECOND, histogram, measurement, name, record, trial};
use record::judgement::{Judgement, RequestCost};
use record::{Fault, Record};
use spec::experiment::Load;
use spec::price::Price;

fn price(cpu_hour: Option<f64>, gib_hour: Option<f64>) -> Price {
    Price { cpu_hour, gib_hour, currency: "USD".into() }
}

/// A record of six blocks. In each, `a` uses 100 µs of CPU time per request and `b` 150 µs, both
/// with chance. Both give 1,000 responses in 10 s and have 1 GiB of memory.
fn six_blocks() -> Record {
    let trials = (1..).zip(NOISE).flat_map(|(block, noise)| {
        [("a", 100.0), ("b", 150.0)].map(|(contender, us)| {
            let mut measured = measurement(10, histogram((0..1_000).map(|i| 2 * MS + i)));
            measured.usage.cpu_ns = (us * noise * 1e6) as u64;
            measured.usage.rss_max_bytes = 1 << 30;
            trial(contender, block, measured)
        })
    });
    record(&["a", "b"], Load::closed(1), trials.collect())
}

fn costs(record: &Record, price: &Price) -> Vec<RequestCost> {
    judge::judge_with_price(record, Some(price)).costs.expect("there is a price").lines
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a value");
    assert!((found / expected - 1.0).abs() < 0.002, "{found} instead of {expected}");
}

#[test]
fn a_million_requests_cost_their_cpu_time() {
    let [a, b] = &costs(&six_blocks(), &price(Some(0.036), None))[..] else { panic!("two lines") };
    // 100 CPU seconds at 0.036 an hour.
    close(a.total, 0.001);
    close(b.total, 0.0015);
    assert_eq!((a.memory, a.ratio, a.ratio_interval), (None, None, None));
    close(b.ratio, 1.5);
    let (interval, ratio) = (a.interval.unwrap(), b.ratio_interval.unwrap());
    // t(5) = 2.5706, standard deviation of ln(NOISE) 0.00894: 0.94 % on either side.
    close(Some(interval.high / interval.low), 1.0190);
    assert!(ratio.high / ratio.low < 1.0001, "chance that both share cancels: {ratio:?}");
    assert_eq!((a.blocks, b.blocks), (6, 6));
}

#[test]
fn memory_costs_follow_from_time_per_request() {
    let [a, b] = &costs(&six_blocks(), &price(Some(0.036), Some(0.36)))[..] else {
        panic!("two lines")
    };
    // A million requests take 10,000 s at 100 requests per second, with 1 GiB.
    close(a.memory, 1.0);
    close(a.cpu, 0.001);
    close(a.total, 1.001);
    close(b.ratio, 1.0015 / 1.001);
    let only_memory = &costs(&six_blocks(), &price(None, Some(0.36)))[0];
    close(only_memory.total, 1.0);
    assert_eq!(only_memory.cpu, None);
}

#[test]
fn blocks_with_faults_are_not_used() {
    let mut faulty = six_blocks();
    let fault = || Fault { kind: "counts".into(), evidence: "e".into(), hint: "h".into() };
    faulty.trials.iter_mut().filter(|t| t.block == 1).for_each(|t| t.faults.push(fault()));
    assert_eq!(costs(&faulty, &price(Some(1.0), None))[0].blocks, 5);
    faulty.trials.iter_mut().for_each(|t| t.faults.push(fault()));
    let none = &costs(&faulty, &price(Some(1.0), None))[1];
    assert_eq!((none.total, none.interval, none.ratio), (None, None, None));
    assert!(!none.reason.is_empty());
}

#[test]
fn a_service_whose_process_is_unknown_has_no_cost() {
    let mut unknown = six_blocks();
    for measured in unknown.trials.iter_mut().flat_map(|t| &mut t.measurements) {
        (measured.usage.wall_ns, measured.usage.cpu_ns) = (0, 0);
    }
    for cost in costs(&unknown, &price(Some(1.0), Some(1.0))) {
        assert_eq!((cost.total, cost.blocks), (None, 0));
        assert_eq!(cost.reason, "CPU per request is not known");
    }
}

#[test]
fn a_price_of_zero_is_no_number_to_compare() {
    let free = costs(&six_blocks(), &price(Some(0.0), None));
    assert!(free.iter().all(|cost| cost.total.is_none() && cost.ratio.is_none()), "{free:?}");
    assert!(free[0].reason.contains("zero"));
}

#[test]
fn one_block_has_a_cost_without_an_interval() {
    let mut one = six_blocks();
    one.trials.truncate(2);
    one.header.plan.truncate(1);
    let lines = costs(&one, &price(Some(0.036), None));
    close(lines[1].ratio, 1.5);
    assert_eq!((lines[1].interval, lines[1].ratio_interval), (None, None));
    assert_eq!(lines[1].contender, name("b"));
}

#[test]
fn a_price_changes_no_verdict() {
    let record = six_blocks();
    let plain = judge::judge(&record);
    let priced = judge::judge_with_price(&record, Some(&price(Some(1.0), None)));
    let verdicts = |judgement: &Judgement| format!("{:?}", judgement.verdicts);
    assert_eq!(verdicts(&plain), verdicts(&priced));
    assert_eq!(plain.costs, None);
    assert_eq!(judge::judge_with_price(&record, None).costs, None);
    assert_eq!(record.trials[0].measurements[0].usage.wall_ns, 10 * SECOND);
}
