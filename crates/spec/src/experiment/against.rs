//! Compares a contender with itself at another revision of its sources.
//!
//! `faceoff run --against REVISION` asks whether a change made a contender worse.
//! [`Experiment::against`] turns an experiment into that question: the old revision becomes the
//! baseline, and a claim for each metric says that the new one is not worse.

use super::{Cell, Claim, Expectation, Experiment, default_looks};
use crate::metric::Metric;
use crate::name::ContenderName;
use serde::{Deserialize, Serialize};

/// The revision that a contender is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// The revision as it was requested: a branch, a tag or a commit.
    pub asked: String,
    /// The commit, in full.
    pub commit: String,
}

/// This number of digits distinguishes a commit from others.
const DIGITS: usize = 12;

impl Against {
    /// Returns the commit as people write it.
    pub fn short(&self) -> &str {
        self.commit.get(..DIGITS).unwrap_or(&self.commit)
    }

    /// Returns the variant that names the contender of that revision: `at-1a2b3c4d5e6f`.
    pub fn variant(&self) -> String {
        format!("at-{}", self.short())
    }
}

/// The metrics that are checked by default.
const USUAL: [Metric; 8] = [
    Metric::Throughput,
    Metric::Capacity,
    Metric::LatencyP50,
    Metric::LatencyP99,
    Metric::CpuPerRequest,
    Metric::Memory,
    Metric::StartUp,
    Metric::FailedShare,
];

/// Failed requests may increase by at most this share of all requests. The usual margin would be a
/// twentieth of the failed ones.
const FAILED_MARGIN: f64 = 0.01;

impl Experiment {
    /// Turns an experiment into the question whether a contender is worse than at another revision.
    ///
    /// Cells and design stay. The contender as it is now is compared with itself at that revision,
    /// and a claim for each metric says that it is not worse. An empty `metrics` means the usual
    /// ones.
    pub fn against(
        mut self,
        of: &ContenderName,
        against: Against,
        metrics: &[Metric],
    ) -> Experiment {
        let mut then = of.clone();
        then.variants.push(against.variant());
        self.question = format!("Is {of} worse than at {} ({})?", against.asked, against.short());
        (self.source, self.published, self.analysis, self.quick) = (None, None, None, None);
        self.factors.clear();
        self.claims.clear();
        self.contenders = vec![of.clone()];
        self.contenders.extend(self.aa.then(|| then.twin()));
        self.baseline = then;
        let chosen = if metrics.is_empty() { &USUAL[..] } else { metrics };
        for metric in chosen {
            let is_meant = |cell: &&Cell| {
                metric.is_of(cell) && (!metrics.is_empty() || !metric.follows_from(cell))
            };
            let cells: Vec<String> =
                self.cells.iter().filter(is_meant).map(|cell| cell.name.clone()).collect();
            if cells.is_empty() && !metric.is_of_trial() {
                continue;
            }
            let is_share = metric.describe().by_difference;
            self.claims.push(Claim {
                text: format!(
                    "{of} is not worse than at {} by {}",
                    against.short(),
                    metric.describe().label
                ),
                contender: of.clone(),
                metric: *metric,
                expects: Expectation::NotWorse,
                margin: is_share.then(|| self.design.margin.min(FAILED_MARGIN)),
                value: None,
                cells,
                contender_cpus: None,
                compared_with: None,
            });
        }
        self.design.looks = default_looks(self.design.blocks, !self.claims.is_empty());
        self.against = Some(against);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let cell = |name: &str, load: &str| {
            format!("[[cell]]\nname = \"{name}\"\nworkload = \"w\"\nload = {{ {load} }}\n")
        };
        let text = format!(
            "name = \"x\"\nquestion = \"Which?\"\nbaseline = \"a\"\ncontenders = [\"b\", \"c:d\"]\naa = true\n{}{}[quick]\nblocks = 6\n[[claim]]\ntext = \"t\"\ncontender = \"b\"\nmetric = \"memory\"\nexpects = \"lower\"\n",
            cell("open", "kind = \"arrivals\", rate = 9"),
            cell("closed", "kind = \"closed\", connections = 2")
        );
        std::fs::write(&file, text).unwrap();
        Experiment::read(&file).unwrap()
    }

    fn against() -> Against {
        Against { asked: "main".into(), commit: "0123456789abcdef0123456789abcdef01234567".into() }
    }

    #[test]
    fn a_contender_is_compared_with_its_old_revision() {
        let changed = experiment().against(&"c:d".parse().unwrap(), against(), &[]);
        assert_eq!(
            changed.all_contenders().map(ToString::to_string).collect::<Vec<_>>(),
            ["c:d+at-0123456789ab", "c:d", "c:d+at-0123456789ab+aa"]
        );
        assert_eq!(changed.design.looks, [6, 9, 12]);
        assert!(
            changed.quick.is_none()
                && changed.claims.iter().all(|claim| claim.expects == Expectation::NotWorse)
        );
        let claimed: Vec<(Metric, Vec<&str>)> = changed
            .claims
            .iter()
            .map(|claim| (claim.metric, claim.cells.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(
            claimed,
            [
                (Metric::Throughput, vec!["closed"]),
                (Metric::LatencyP50, vec!["open"]),
                (Metric::LatencyP99, vec!["open"]),
                (Metric::CpuPerRequest, vec!["open", "closed"]),
                (Metric::Memory, vec!["open", "closed"]),
                (Metric::StartUp, vec![]),
                (Metric::FailedShare, vec!["open", "closed"]),
            ]
        );
        assert_eq!(changed.claims.last().unwrap().margin, Some(FAILED_MARGIN));
    }

    #[test]
    fn only_the_named_metrics_are_claimed() {
        let changed = experiment().against(
            &"a".parse().unwrap(),
            against(),
            &[Metric::LatencyP99, Metric::Capacity],
        );
        let claimed: Vec<(Metric, usize)> =
            changed.claims.iter().map(|claim| (claim.metric, claim.cells.len())).collect();
        assert_eq!(claimed, [(Metric::LatencyP99, 2)], "no cell has a capacity");
    }
}
