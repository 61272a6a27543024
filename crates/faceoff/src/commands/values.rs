//! Values that several commands take on the command line.

use clap::Args;
use spec::experiment::RunnerKind;
use spec::metric::Metric;
use spec::name::did_you_mean;
use spec::price::Price;

/// The option that asks for the cost of requests.
#[derive(Args)]
pub struct PriceOption {
    /// The price of a CPU and of memory, for the cost of a million requests: 0.034/cpu-hour,
    /// 0.004/gib-hour, both with a comma, or a TOML file with cpu_hour, gib_hour and currency
    #[arg(long, value_name = "PRICE", value_parser = Price::parse)]
    price: Option<Price>,
}

impl PriceOption {
    /// The price, if one was given.
    pub fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }
}

/// Parses the name of a metric.
pub fn metric(text: &str) -> Result<Metric, String> {
    Metric::named(text).ok_or_else(|| did_you_mean(text, Metric::ALL.map(|m| m.describe().name)))
}

/// Parses `process`, `docker` or `kubernetes`.
pub fn runner_kind(text: &str) -> Result<RunnerKind, String> {
    let known = RunnerKind::WORDS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind);
    known.ok_or_else(|| did_you_mean(text, RunnerKind::WORDS.map(|(word, _)| word)))
}
