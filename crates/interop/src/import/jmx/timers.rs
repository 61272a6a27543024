//! Reads timers of a plan: how long users wait between requests.
//!
//! All timers that apply to a request are waited for, one after the other, so their times add up.

use super::super::Imported;
use super::super::xml::Node;
use super::Plan;
use spec::experiment::Pause;
use std::time::Duration;

/// The sum of the timers that apply to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    least_ms: f64,
    most_ms: f64,
}

pub fn is_one(tag: &str) -> bool {
    tag.ends_with("Timer")
}

impl<'x> Plan<'x> {
    /// Adds up timers.
    pub fn timers(&mut self, nodes: &[&'x Node]) -> Sum {
        let mut sum = Sum::default();
        for node in nodes {
            let constant = self.ms(node, "ConstantTimer.delay");
            let range = self.ms(node, "RandomTimer.range");
            let (least, most) = match node.tag.as_str() {
                "ConstantTimer" => (constant, constant),
                "UniformRandomTimer" => (constant, constant + range),
                "PoissonRandomTimer" | "GaussianRandomTimer" => {
                    self.imported.lost.add(
                        format!("the spread of {}", node.title()),
                        "pauses are constant, uniform or exponential: their mean is kept",
                    );
                    let mean = if node.tag.starts_with('P') { constant + range } else { constant };
                    (mean, mean)
                }
                _ => {
                    let why =
                        "arrivals keep a rate: write `load = { kind = \"arrivals\", rate = ... }`";
                    self.imported.lost.add(
                        node.title(),
                        if node.tag.contains("Throughput") {
                            why
                        } else {
                            "only pauses of users are supported"
                        },
                    );
                    (0.0, 0.0)
                }
            };
            sum = Sum { least_ms: sum.least_ms + least, most_ms: sum.most_ms + most };
        }
        sum
    }

    fn ms(&mut self, node: &Node, property: &str) -> f64 {
        self.texts
            .number(node.value_of(property), property, 0.0..=3.6e6, &mut self.imported)
            .unwrap_or(0.0)
    }
}

/// Returns the pause of users, which a load has once for all requests.
pub fn pause(pauses: &[Sum], imported: &mut Imported) -> Pause {
    let first = pauses.first().copied().unwrap_or_default();
    let ms = |ms: f64| Duration::from_micros((ms * 1e3) as u64);
    if pauses.iter().any(|pause| *pause != first) {
        imported.lost.add(
            "timers that differ from request to request",
            "users have one pause: it keeps the mean",
        );
        let mean = pauses.iter().map(|pause| (pause.least_ms + pause.most_ms) / 2.0).sum::<f64>()
            / pauses.len() as f64;
        return Pause::Constant(ms(mean));
    }
    match first.least_ms == first.most_ms {
        true => Pause::Constant(ms(first.least_ms)),
        false => Pause::Uniform { from: ms(first.least_ms), to: ms(first.most_ms) },
    }
}
