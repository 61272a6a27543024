//! Derives the load and its duration from the options of `faceoff load`.

use super::Options;
use crate::commands::load::request::rate_in_range;
use spec::experiment::capacity::{Capacity, Quantity, USUAL_FROM, USUAL_PROBE};
use spec::experiment::{Load, Overflow, Pause, Spacing, in_flight_for};
use spec::problem::Problems;
use spec::threshold::ServiceLevel;
use std::time::Duration;

/// Maximum duration of a load that a number of requests or rounds limits.
const LONGEST: Duration = Duration::from_secs(3600);
/// The default duration.
const USUAL: Duration = Duration::from_secs(10);

impl Options {
    /// Returns the duration, which other options can determine.
    pub(super) fn duration(&self) -> Result<Duration, Problems> {
        let staged: Duration = self.stages.iter().map(|stage| stage.over).sum();
        let duration = match self.duration {
            Some(duration) => duration,
            None if self.capacity.is_some() => USUAL_PROBE,
            None if !self.stages.is_empty() => staged,
            None if self.requests.is_some() || self.rounds.is_some() => LONGEST,
            None => USUAL,
        };
        match duration.is_zero() {
            true => Err(Problems::plain("the duration is zero", "give one such as -d 10s")),
            false => Ok(duration),
        }
    }

    /// Returns the search for a maximum number of users if there are users, else for a rate.
    fn capacity_search(&self, service_level: &ServiceLevel) -> Result<Capacity, Problems> {
        let spacing = if self.poisson { Spacing::Poisson } else { Spacing::Even };
        let of = match self.users {
            Some(_) => Quantity::Users {
                pause: self.pause.unwrap_or(Pause::Constant(Duration::ZERO)),
                pooled: self.pooled,
            },
            None => Quantity::Rate { spacing, in_flight_max: self.connections },
        };
        let capacity = Capacity {
            of,
            service_level: service_level.clone(),
            from: self.users.map(f64::from).or(self.rate).unwrap_or(USUAL_FROM),
            at_most: self.at_most.unwrap_or(of.most()),
            probe: self.duration()?,
            probes: self.probes,
        };
        match capacity.contradiction() {
            Some((what, hint)) => Err(Problems::plain(what, hint)),
            None => Ok(capacity),
        }
    }

    /// Returns how requests arrive.
    pub(super) fn load(&self) -> Result<Load, Problems> {
        if let Some(service_level) = &self.capacity {
            return self.capacity_search(service_level).map(Load::Capacity);
        }
        if let Some(users) = self.users {
            let pause = self.pause.unwrap_or(Pause::Constant(Duration::ZERO));
            return Ok(Load::Users {
                users,
                ramp: self.ramp.unwrap_or_default(),
                pause,
                rounds: self.rounds,
                pooled: self.pooled,
            });
        }
        let spread = self
            .arrivals
            .map(|n| self.duration().map(|over| n as f64 / over.as_secs_f64()))
            .transpose()?;
        let Some(rate_per_s) =
            self.rate.or(spread).or(self.stages.first().map(|first| first.to_per_s))
        else {
            let depth = self.pipeline.or(self.streams).unwrap_or(1);
            return Ok(Load::Closed { connections: self.connections.unwrap_or(64), depth });
        };
        if let Some(rate) = self.rate.or(spread) {
            rate_in_range(rate)?;
        }
        let peak = self.stages.iter().map(|stage| stage.to_per_s).fold(rate_per_s, f64::max);
        Ok(Load::Arrivals {
            rate_per_s,
            stages: self.stages.clone(),
            spacing: if self.poisson { Spacing::Poisson } else { Spacing::Even },
            in_flight_max: self.connections.unwrap_or_else(|| in_flight_for(peak)),
            overflow: if self.shed { Overflow::Shed } else { Overflow::Queue },
        })
    }
}
