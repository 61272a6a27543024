//! Chooses which level a capacity search probes next. It does no I/O and reads no clock.
//!
//! It first doubles or halves the level until the edge lies between two near levels. Then it probes
//! around the edge in rounds, in random order, so that neither drift nor the probe before can be
//! mistaken for an effect of the level. Start with `Planner::next_level` and `Planner::tell`.

use record::capacity::{ROUND, Unfit, agreed, contradicts};
use spec::experiment::capacity::{Capacity, Quantity};
use stats::{Held, Random, shuffle};

/// The most rounds that follow, in addition to the planned probes, because the edge has moved or is
/// still unknown.
const MORE_ROUNDS: u32 = 4;
/// The search ends once the edge is between two levels within this factor.
const NEAR: f64 = 1.3;
/// How much wider a round is than the edge's interval.
const WIDENED: f64 = 1.3;
/// The half width of a round, in widths of the fitted curve. Wide enough to see levels that are
/// nearly always kept, and nearly never.
const CURVE_WIDTHS: f64 = 2.5;
/// The smallest half width, as a logarithm.
const REACH_MIN: f64 = 0.004;
/// The largest half width, as a logarithm.
const REACH_MAX: f64 = std::f64::consts::LN_2;
const CONFIDENCE: f64 = 0.95;

/// The next probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// Users, or requests per second.
    pub level: f64,
    /// Whether the probe is part of a round around the edge. Otherwise it belongs to the search for
    /// the edge.
    pub at_edge: bool,
}

/// Finds the edge by doubling and halving, then spreads probes around it.
///
/// A logistic curve through all probes so far estimates the edge. A round divides the range around
/// it into six equal parts on a logarithmic axis. It probes a random level in each, in random
/// order. Neither drift nor the probe before can then be mistaken for an effect of the level.
/// Rounds become as narrow as the results permit.
///
/// If all probes of a round agree, there is no edge among them: it was at a bound, or the system has
/// changed (a JVM that warmed up). Doubling or halving then continues from there, what is
/// contradicted is ignored, and another round follows that is not counted. The same holds if there
/// is no edge after the planned probes.
pub struct Planner<'c> {
    capacity: &'c Capacity,
    seed: u64,
    /// The results that determine the next round.
    held: Vec<Held>,
    /// The highest level of the search that was kept, and the lowest that was not.
    kept: Option<f64>,
    broken: Option<f64>,
    /// The lowest level that the generator cannot make, and why.
    out_of_reach: Option<(f64, Unfit)>,
    /// The levels of the current round. The next one is last.
    queue: Vec<f64>,
    /// The results of the current round so far.
    results: Vec<Held>,
    left: u32,
    more_rounds: u32,
    rounds: u64,
}

impl<'c> Planner<'c> {
    /// Starts at the first level of the search.
    pub fn new(capacity: &'c Capacity, seed: u64) -> Planner<'c> {
        Planner {
            capacity,
            seed,
            held: Vec::new(),
            kept: None,
            broken: None,
            out_of_reach: None,
            queue: Vec::new(),
            results: Vec::new(),
            left: capacity.probes,
            more_rounds: MORE_ROUNDS,
            rounds: 0,
        }
    }

    /// Returns the next level, and the same one again until its result is given. `None` if enough
    /// is known or a bound is reached.
    pub fn next_level(&mut self) -> Option<Next> {
        let search = |level| Some(Next { level, at_edge: false });
        let (least, most) = (self.capacity.of.least(), self.capacity.at_most);
        // A level that cannot be made is no edge, but the edge may be below it.
        let above = self
            .broken
            .into_iter()
            .chain(self.out_of_reach.map(|(level, _)| level))
            .reduce(f64::min);
        match (self.kept, above) {
            (None, None) => return search(self.capacity.from),
            (Some(kept), None) if kept >= most => return None,
            (Some(kept), None) => return search((kept * 2.0).min(most)),
            (None, Some(above)) if above <= least => return None,
            (None, Some(above)) => return search(self.whole((above / 2.0).max(least))),
            (Some(kept), Some(above)) => {
                let between = self.whole((kept * above).sqrt());
                if above / kept > NEAR && between > kept && between < above {
                    return search(between);
                }
                self.broken?;
            }
        }
        if self.queue.is_empty() {
            if self.ends_round() {
                return self.next_level();
            }
            self.queue = self.round();
        }
        self.queue.last().map(|level| Next { level: *level, at_edge: true })
    }

    /// Records the result of the next level. `None` means that the probe was inconclusive. It is
    /// not repeated.
    pub fn tell(&mut self, next: Next, held: Option<bool>) {
        if next.at_edge {
            self.queue.pop();
        }
        let Some(held) = held else { return };
        let result = Held { level: next.level, held };
        if next.at_edge {
            self.held.push(result);
            self.results.push(result);
            return;
        }
        self.held.retain(|earlier| !contradicts(result, *earlier));
        self.held.push(result);
        match held {
            true => self.kept = Some(self.kept.map_or(next.level, |kept| kept.max(next.level))),
            false => {
                self.broken = Some(self.broken.map_or(next.level, |broken| broken.min(next.level)))
            }
        }
    }

    /// Records that the generator cannot make the next level, and why.
    pub fn out_of_reach(&mut self, next: Next, why: Unfit) {
        if next.at_edge {
            self.tell(next, None);
        } else if self.out_of_reach.is_none_or(|(level, _)| next.level < level) {
            self.out_of_reach = Some((next.level, why));
        }
    }

    /// Returns the generator's limit, if the search ended there and not at a probed level.
    pub fn bound_by(&self) -> Option<Unfit> {
        self.out_of_reach.filter(|_| self.broken.is_none()).map(|(_, why)| why)
    }

    /// Ends a round, if there was one. Plans another one if it shows no edge. Returns whether the
    /// search for the edge begins anew, because all probes of the round agree.
    fn ends_round(&mut self) -> bool {
        let results = std::mem::take(&mut self.results);
        if self.rounds == 0 {
            return false;
        }
        let agreed = agreed(&results);
        let has_edge = || stats::edge(&self.held, CONFIDENCE, 1, 0).is_some();
        if self.more_rounds > 0 && (agreed.is_some() || (self.left == 0 && !has_edge())) {
            self.more_rounds -= 1;
            self.left += (ROUND as u32).min(self.capacity.probes);
        }
        let Some(last) = agreed.filter(|_| self.left > 0) else { return false };
        self.held.retain(|earlier| !contradicts(last, *earlier));
        (self.kept, self.broken) =
            if last.held { (Some(last.level), None) } else { (None, Some(last.level)) };
        true
    }

    fn whole(&self, level: f64) -> f64 {
        if self.capacity.of.is_whole() { level.round().max(1.0) } else { level }
    }

    /// Returns the levels of the next round, in random order.
    fn round(&mut self) -> Vec<f64> {
        let (middle, reach) = match stats::logistic(&self.held, CONFIDENCE) {
            Some(curve) => {
                let (low, high) = (curve.interval.low.ln(), curve.interval.high.ln());
                // Without a width, only the bounds are known.
                let middle = if curve.width == 0.0 { (low + high) / 2.0 } else { curve.level.ln() };
                (middle, (WIDENED * (high - low) / 2.0).max(CURVE_WIDTHS * curve.width))
            }
            None => (self.capacity.from.ln(), REACH_MAX),
        };
        let step = match self.capacity.of {
            Quantity::Users { .. } => middle.exp().recip().ln_1p(),
            Quantity::Rate { .. } => REACH_MIN,
        };
        let reach = reach.clamp(step.min(REACH_MAX), REACH_MAX);
        let (low, high) = (middle - reach, middle + reach);
        let many = (ROUND as u32).min(self.left);
        self.left -= many;
        self.rounds += 1;
        let mut random = Random::new(self.seed, 2 * self.rounds);
        let stretch = (high - low) / f64::from(many.max(1));
        let (least, most) = (
            self.capacity.of.least(),
            self.out_of_reach.map_or(f64::INFINITY, |(level, _)| level).min(self.capacity.at_most),
        );
        let level = |n: u32| {
            self.whole((low + stretch * (f64::from(n) + random.uniform())).exp().clamp(least, most))
        };
        let mut levels: Vec<f64> = (0..many).map(level).collect();
        shuffle(&mut levels, self.seed, 2 * self.rounds + 1);
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::capacity::{Probe, results};
    use spec::experiment::{Pause, Spacing};
    use spec::threshold::ServiceLevel;
    use std::time::Duration;

    fn capacity(of: Quantity, from: f64, at_most: f64) -> Capacity {
        let service_level = ServiceLevel::parse("p95<100ms").unwrap();
        Capacity { of, service_level, from, at_most, probe: Duration::from_secs(3), probes: 24 }
    }

    fn users() -> Quantity {
        Quantity::Users { pause: Pause::Constant(Duration::ZERO), pooled: None }
    }

    fn rate() -> Quantity {
        Quantity::Rate { spacing: Spacing::Even, in_flight_max: None }
    }

    /// Probes a system that keeps each level with a given probability, which may depend on the
    /// number of the probe, from 1.
    fn probed(
        capacity: &Capacity,
        seed: u64,
        chance: impl Fn(u32, f64) -> f64,
    ) -> Vec<(Next, bool)> {
        let mut planner = Planner::new(capacity, seed);
        let mut random = Random::new(seed, 1);
        let mut all = Vec::new();
        for number in 1.. {
            let Some(next) = planner.next_level() else { break };
            let held = random.uniform() < chance(number, next.level);
            planner.tell(next, Some(held));
            all.push((next, held));
            assert!(all.len() < 200, "it never ends: {all:?}");
        }
        all
    }

    fn edge(all: &[(Next, bool)], seed: u64) -> Option<stats::Edge> {
        let probe = |(next, held): &(Next, bool)| Probe {
            level: next.level,
            at_edge: next.at_edge,
            kept: Some(*held),
            ..Probe::default()
        };
        let probes: Vec<Probe> = all.iter().map(probe).collect();
        stats::edge(&results(&probes), 0.95, 500, seed)
    }

    #[test]
    fn sharp_edge_is_found_within_one_user() {
        let all =
            probed(&capacity(users(), 10.0, 1e6), 1, |_, level| f64::from(u8::from(level < 80.0)));
        let found = edge(&all, 1).unwrap();
        assert!(
            (79.0..=80.0).contains(&found.level)
                && found.interval.low >= 78.0
                && found.interval.high <= 81.0,
            "{found:?}"
        );
        assert_eq!(all.iter().filter(|(next, _)| next.at_edge).count(), 24);
        let levels: Vec<f64> = all.iter().take(4).map(|(next, _)| next.level).collect();
        assert_eq!(levels, [10.0, 20.0, 40.0, 80.0]);
    }

    /// A JVM that warms up during the search, and a system that slows down.
    #[test]
    fn moving_edge_is_followed() {
        for (before, after) in [(150.0, 400.0), (400.0, 150.0)] {
            for seed in 0..20 {
                let all = probed(&capacity(users(), 10.0, 1e6), seed, |number, level| {
                    f64::from(u8::from(level < if number <= 8 { before } else { after }))
                });
                let found = edge(&all, seed)
                    .unwrap_or_else(|| panic!("{before} to {after}, seed {seed}: {all:?}"));
                let holds = found.interval.low <= after && after <= found.interval.high + 1e-9;
                assert!(
                    holds && (found.level / after).ln().abs() < 0.1,
                    "{before} to {after}, seed {seed}: {found:?}, {all:?}"
                );
            }
        }
    }

    /// A JVM whose limit rises from 300 to 1,500 users within twenty probes. Six probes around the
    /// edge are planned, as in the experiments with a bank.
    #[test]
    fn rising_edge_is_followed_with_few_probes() {
        let capacity = Capacity { probes: 6, ..capacity(users(), 400.0, 10_000.0) };
        for seed in 0..100 {
            let all = probed(&capacity, seed, |number, level| {
                let warm = (f64::from(number) / 20.0).min(1.0);
                f64::from(u8::from(level < 300.0 * 5.0f64.powf(warm)))
            });
            let found = edge(&all, seed).unwrap_or_else(|| panic!("seed {seed}: {all:?}"));
            assert!((found.level / 1_500.0).ln().abs() < 0.1, "seed {seed}: {found:?}, {all:?}");
            assert!(all.last().unwrap().0.at_edge, "a round examines the last edge: {all:?}");
        }
    }

    /// A round leaves no edge if levels above it are kept by luck.
    #[test]
    fn more_probes_follow_until_there_is_an_edge() {
        let capacity = Capacity { probes: 6, ..capacity(users(), 400.0, 10_000.0) };
        for seed in 0..100 {
            let all = probed(&capacity, seed, |number, level| {
                let is_lucky = (4..=9).contains(&number);
                f64::from(u8::from(level < 1_500.0 || is_lucky))
            });
            assert!(edge(&all, seed).is_some(), "seed {seed}: {all:?}");
        }
    }

    #[test]
    fn edge_is_found_only_within_the_generators_reach() {
        let capacity = capacity(rate(), 10.0, 1e6);
        let run = |edge: f64, reach: f64| {
            let mut planner = Planner::new(&capacity, 1);
            let mut levels = Vec::new();
            while let Some(next) = planner.next_level() {
                match next.level < reach {
                    true => planner.tell(next, Some(next.level < edge)),
                    false => planner.out_of_reach(next, Unfit::Generator),
                }
                levels.push(next);
                assert!(levels.len() < 200, "it never ends: {levels:?}");
            }
            (planner.bound_by(), levels)
        };
        let (bound_by, levels) = run(100.0, 120.0);
        assert!(
            bound_by.is_none() && levels.iter().filter(|next| next.at_edge).count() == 24,
            "{levels:?}"
        );
        let (bound_by, levels) = run(150.0, 120.0);
        assert!(
            bound_by == Some(Unfit::Generator) && levels.iter().all(|next| !next.at_edge),
            "{levels:?}"
        );
        assert!(levels.iter().any(|next| (100.0..120.0).contains(&next.level)), "{levels:?}");
    }

    #[test]
    fn search_ends_at_its_bounds() {
        let all = probed(&capacity(users(), 10.0, 30.0), 1, |_, _| 1.0);
        assert_eq!(all.iter().map(|(next, _)| next.level).collect::<Vec<_>>(), [10.0, 20.0, 30.0]);
        let all = probed(&capacity(users(), 10.0, 30.0), 1, |_, _| 0.0);
        assert_eq!(
            all.iter().map(|(next, _)| next.level).collect::<Vec<_>>(),
            [10.0, 5.0, 3.0, 2.0, 1.0]
        );
    }

    /// However steep the edge is, 19 of 20 intervals should contain it. Levels that follow results,
    /// and few of them, cost some of that coverage.
    #[test]
    fn interval_covers_the_true_edge() {
        for width in [0.0, 0.01, 0.05, 0.15] {
            let (mut hits, mut narrow) = (0, 0);
            for seed in 0..200 {
                let truth = 50.0 * 1.013f64.powi(seed as i32);
                let chance = |_: u32, level: f64| match width {
                    0.0 => f64::from(u8::from(level < truth)),
                    _ => 1.0 / (1.0 + ((level / truth).ln() / width).exp()),
                };
                let Some(found) = edge(&probed(&capacity(rate(), 10.0, 1e6), seed, chance), seed)
                else {
                    continue;
                };
                hits += u32::from(found.interval.low <= truth && truth <= found.interval.high);
                narrow +=
                    u32::from((found.interval.high / found.interval.low).ln() < 0.02 + 6.0 * width);
            }
            assert!(hits >= 170 && narrow >= 150, "{width}: {hits} hold it, {narrow} are narrow");
        }
    }

    proptest! {
        #[test]
        fn any_search_ends_within_bounds_and_is_reproducible(
            seed in any::<u64>(), from in 1u32..500, more in 0u32..5000, whole in any::<bool>(), answers in prop::collection::vec(0u8..4, 0..200),
        ) {
            let capacity = capacity(if whole { users() } else { rate() }, f64::from(from), f64::from(from + more));
            let levels = || {
                let mut planner = Planner::new(&capacity, seed);
                let mut levels = Vec::new();
                for answer in &answers {
                    let Some(next) = planner.next_level() else { break };
                    assert_eq!(planner.next_level(), Some(next), "it changes its mind");
                    match answer {
                        3 => planner.out_of_reach(next, Unfit::Generator),
                        2 => planner.tell(next, None),
                        answer => planner.tell(next, Some(*answer == 1)),
                    }
                    levels.push(next.level);
                }
                levels
            };
            let found = levels();
            prop_assert!(found.iter().all(|level| (capacity.of.least()..=capacity.at_most).contains(level)));
            prop_assert!(!whole || found.iter().all(|level| level.fract() == 0.0));
            prop_assert_eq!(found, levels());
        }
    }
}
