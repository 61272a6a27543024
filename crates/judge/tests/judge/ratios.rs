//! Records in which `b` needs a known multiple of what `a` needs. Tests of verdicts and claims
//! change them.

use crate::made_up::{self, claim, histogram, measurement, name};
use record::judgement::{Judgement, Verdict};
use record::{Participant, Record, Trial};
use spec::experiment::{Claim, Expectation, Load};
use spec::metric::Metric;

/// Makes a record of blocks in which contender `b` needs a multiple of the latency and CPU time of
/// `a`: `ratios[block]`.
pub fn record(ratios: &[f64]) -> Record {
    let trials = (1u32..)
        .zip(ratios)
        .flat_map(|(block, ratio)| {
            // Drift from block to block, common to both, must not matter.
            let base = 2.0 * f64::from(block);
            [trial("a", block, base), trial("b", block, base * ratio)]
        })
        .collect();
    let mut record = made_up::record(&["a", "b"], Load::arrivals(100.0, 10), trials);
    record.header.experiment.claims =
        [Expectation::Higher, Expectation::Same, Expectation::Lower].map(claim).to_vec();
    record
}

pub fn trial(contender: &str, block: u32, ms: f64) -> Trial {
    let mut measured = measurement(10, histogram((0..1_000).map(|i| (ms * 1e6) as u64 + i)));
    measured.latency = Some(measured.service.clone());
    measured.usage.cpu_ns = (ms * 1e8) as u64;
    made_up::trial(contender, block, measured)
}

pub fn verdict(judgement: &Judgement, metric: Metric) -> &Verdict {
    judgement.verdicts.iter().find(|v| v.metric == metric).unwrap()
}

pub fn cpu(record: &Record) -> Verdict {
    verdict(&judge::judge(record), Metric::CpuPerRequest).clone()
}

/// Returns six ratios whose logarithms have this mean and standard deviation.
pub fn spread(mean: f64, deviation: f64) -> Vec<f64> {
    // Sum 0, sum of squares 5.
    let unit = [-1.5, -0.5, 0.0, 0.0, 0.5, 1.5];
    unit.map(|u| (mean + u * deviation).exp()).to_vec()
}

/// Adds the baseline a second time, with these ratios to itself.
pub fn with_twin(ratios: &[f64], of_twin: &[f64]) -> Record {
    let mut record = record(ratios);
    record.header.experiment.aa = true;
    record.header.experiment.contenders.push(name("a:aa"));
    record
        .header
        .contenders
        .push(Participant { name: name("a:aa"), ..record.header.contenders[0].clone() });
    record.header.plan = vec![vec![name("a"), name("b"), name("a:aa")]; ratios.len()];
    for (block, ratio) in (1u32..).zip(of_twin) {
        record.trials.push(trial("a:aa", block, 2.0 * f64::from(block) * ratio));
    }
    record
}

/// Adds contender `c`, like `b`, with the same claim.
pub fn with_third(ratios: &[f64]) -> Record {
    let mut trials = record(ratios).trials;
    let thirds: Vec<Trial> = trials
        .iter()
        .filter(|t| t.contender == name("b"))
        .map(|t| Trial { contender: name("c"), ..t.clone() })
        .collect();
    trials.extend(thirds);
    let mut record = made_up::record(&["a", "b", "c"], Load::arrivals(100.0, 10), trials);
    let lower = Claim { metric: Metric::LatencyMean, ..claim(Expectation::Lower) };
    record.header.experiment.claims = vec![lower.clone(), Claim { contender: name("c"), ..lower }];
    record
}
