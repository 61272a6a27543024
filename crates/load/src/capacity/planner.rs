//! Which level is probed next: numbers in, numbers out.

use model::capacity::{Capacity, Of, Unfit};
use stats::{Held, Random, shuffle};

/// Levels of a round around the edge.
const ROUND: u32 = 6;
/// The search ends when the edge lies between two levels that are no further apart.
const NEAR: f64 = 1.3;
/// A round reaches so much further than the edge's interval, on either side; ...
const WIDENED: f64 = 1.3;
/// ... so many widths of the curve, so that it sees most of what it holds and most of what it does not; ...
const CURVE_WIDTHS: f64 = 2.5;
/// ... at least so far, as a logarithm; ...
const REACH_MIN: f64 = 0.004;
/// ... and at most.
const REACH_MAX: f64 = std::f64::consts::LN_2;
const CONFIDENCE: f64 = 0.95;

/// What is to be probed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// So many users, or requests per second.
    pub level: f64,
    /// Whether it is one around the edge; else it is of the search.
    pub at_edge: bool,
}

/// Finds the edge by doubling and halving, then spreads its probes around it.
///
/// A round of these has a random level in each of six equal stretches (on a logarithmic axis) around the edge as a logistic curve through all
/// probes has it so far, in random order, so that neither drift nor the probe before can pass for the level. Rounds narrow as far as the answers let them.
/// One whose probes all came out alike, against a level of the search, says that the system is not what it was then (a JVM that got warm): doubling or
/// halving goes on from there, and no later round is spread by what it contradicts.
pub struct Planner<'c> {
    capacity: &'c Capacity,
    seed: u64,
    /// What rounds are spread by.
    held: Vec<Held>,
    /// The highest level of the search that was kept, the lowest that was not.
    kept: Option<f64>,
    broken: Option<f64>,
    /// The lowest level that the generator cannot make, and why.
    out_of_reach: Option<(f64, Unfit)>,
    /// Of a round, the next last.
    queue: Vec<f64>,
    /// What the round's probes said so far.
    said: Vec<Held>,
    left: u32,
    rounds: u64,
}

impl<'c> Planner<'c> {
    /// Begins at the level that the search begins with.
    pub fn new(capacity: &'c Capacity, seed: u64) -> Planner<'c> {
        Planner {
            capacity,
            seed,
            held: Vec::new(),
            kept: None,
            broken: None,
            out_of_reach: None,
            queue: Vec::new(),
            said: Vec::new(),
            left: capacity.probes,
            rounds: 0,
        }
    }

    /// The next level; the same one again until it is told of. `None` when enough is known, or the bounds are reached.
    pub fn next_level(&mut self) -> Option<Next> {
        let search = |level| Some(Next { level, at_edge: false });
        let (least, most) = (self.capacity.of.least(), self.capacity.at_most);
        // A level that cannot be made is no edge, but the edge may lie below it.
        let above = self.broken.into_iter().chain(self.out_of_reach.map(|(level, _)| level)).reduce(f64::min);
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
            if self.has_moved() {
                return self.next_level();
            }
            self.queue = self.round();
        }
        self.queue.last().map(|level| Next { level: *level, at_edge: true })
    }

    /// How the level came out that was next; `None` where the probe said nothing: it is not made again.
    pub fn tell(&mut self, next: Next, held: Option<bool>) {
        if next.at_edge {
            self.queue.pop();
        }
        let Some(held) = held else { return };
        self.held.push(Held { level: next.level, held });
        if next.at_edge {
            self.said.push(Held { level: next.level, held });
            return;
        }
        match held {
            true => self.kept = Some(self.kept.map_or(next.level, |kept| kept.max(next.level))),
            false => self.broken = Some(self.broken.map_or(next.level, |broken| broken.min(next.level))),
        }
    }

    /// That the generator cannot make the level that was next, and why.
    pub fn out_of_reach(&mut self, next: Next, why: Unfit) {
        if next.at_edge {
            self.tell(next, None);
        } else if self.out_of_reach.is_none_or(|(level, _)| next.level < level) {
            self.out_of_reach = Some((next.level, why));
        }
    }

    /// Why the generator could make no more, where the search ended at that and not at what was probed.
    pub fn bound_by(&self) -> Option<Unfit> {
        self.out_of_reach.filter(|_| self.broken.is_none()).map(|(_, why)| why)
    }

    /// Whether the round that is over says that the edge lies elsewhere now, which the search is told then.
    fn has_moved(&mut self) -> bool {
        let said = std::mem::take(&mut self.said);
        let (Some(kept), Some(broken), true) = (self.kept, self.broken, said.len() == ROUND as usize) else { return false };
        let low = said.iter().map(|held| held.level).fold(f64::INFINITY, f64::min);
        let high = said.iter().map(|held| held.level).fold(0.0, f64::max);
        if high > broken && said.iter().all(|held| held.held) {
            (self.kept, self.broken) = (Some(high), None);
            self.held.retain(|held| held.held || held.level > high);
        } else if low < kept && said.iter().all(|held| !held.held) {
            (self.kept, self.broken) = (None, Some(low));
            self.held.retain(|held| !held.held || held.level < low);
        } else {
            return false;
        }
        true
    }

    fn whole(&self, level: f64) -> f64 {
        if self.capacity.of.is_whole() { level.round().max(1.0) } else { level }
    }

    /// The levels of the next round, in random order.
    fn round(&mut self) -> Vec<f64> {
        let (middle, reach) = match stats::logistic(&self.held, CONFIDENCE) {
            Some(curve) => {
                let (low, high) = (curve.interval.low.ln(), curve.interval.high.ln());
                // Without a width nothing is known but where it is not.
                let middle = if curve.width == 0.0 { (low + high) / 2.0 } else { curve.level.ln() };
                (middle, (WIDENED * (high - low) / 2.0).max(CURVE_WIDTHS * curve.width))
            }
            None => (self.capacity.from.ln(), REACH_MAX),
        };
        let step = match self.capacity.of {
            Of::Users { .. } => middle.exp().recip().ln_1p(),
            Of::Rate { .. } => REACH_MIN,
        };
        let reach = reach.clamp(step.min(REACH_MAX), REACH_MAX);
        let (low, high) = (middle - reach, middle + reach);
        let many = ROUND.min(self.left);
        self.left -= many;
        self.rounds += 1;
        let mut random = Random::new(self.seed, 2 * self.rounds);
        let stretch = (high - low) / f64::from(many.max(1));
        let (least, most) =
            (self.capacity.of.least(), self.out_of_reach.map_or(f64::INFINITY, |(level, _)| level).min(self.capacity.at_most));
        let level = |n: u32| self.whole((low + stretch * (f64::from(n) + random.uniform())).exp().clamp(least, most));
        let mut levels: Vec<f64> = (0..many).map(level).collect();
        shuffle(&mut levels, self.seed, 2 * self.rounds + 1);
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::experiment::{Pause, Spacing};
    use model::threshold::ServiceLevel;
    use proptest::prelude::*;
    use std::time::Duration;

    fn capacity(of: Of, from: f64, at_most: f64) -> Capacity {
        let service_level = ServiceLevel::parse("p95<100ms").unwrap();
        Capacity { of, service_level, from, at_most, probe: Duration::from_secs(3), probes: 24 }
    }

    fn users() -> Of {
        Of::Users { pause: Pause::Constant(Duration::ZERO), pooled: None }
    }

    fn rate() -> Of {
        Of::Rate { spacing: Spacing::Even, in_flight_max: None }
    }

    /// Probes of something that holds with this chance at each level.
    fn probed(capacity: &Capacity, seed: u64, mut chance: impl FnMut(f64) -> f64) -> Vec<(Next, bool)> {
        let mut planner = Planner::new(capacity, seed);
        let mut random = Random::new(seed, 1);
        let mut all = Vec::new();
        while let Some(next) = planner.next_level() {
            let held = random.uniform() < chance(next.level);
            planner.tell(next, Some(held));
            all.push((next, held));
            assert!(all.len() < 200, "it never ends: {all:?}");
        }
        all
    }

    fn edge(all: &[(Next, bool)], seed: u64) -> Option<stats::Edge> {
        let held: Vec<Held> = all.iter().map(|(next, held)| Held { level: next.level, held: *held }).collect();
        stats::edge(&held, 0.95, 500, seed)
    }

    #[test]
    fn a_sharp_edge_is_found_within_one_user() {
        let all = probed(&capacity(users(), 10.0, 1e6), 1, |level| f64::from(u8::from(level < 80.0)));
        let found = edge(&all, 1).unwrap();
        assert!((79.0..=80.0).contains(&found.level) && found.interval.low >= 78.0 && found.interval.high <= 81.0, "{found:?}");
        assert_eq!(all.iter().filter(|(next, _)| next.at_edge).count(), 24);
        let levels: Vec<f64> = all.iter().take(4).map(|(next, _)| next.level).collect();
        assert_eq!(levels, [10.0, 20.0, 40.0, 80.0]);
    }

    /// A JVM that gets warm while it is searched, and whoever tires.
    #[test]
    fn an_edge_that_moves_is_followed() {
        for (before, after) in [(150.0, 400.0), (400.0, 150.0)] {
            for seed in 0..20 {
                let mut asked = 0;
                let all = probed(&capacity(users(), 10.0, 1e6), seed, |level| {
                    asked += 1;
                    f64::from(u8::from(level < if asked <= 8 { before } else { after }))
                });
                let found = edge(&all, seed).unwrap_or_else(|| panic!("{before} to {after}, seed {seed}: {all:?}"));
                // What the search was told before is answered by nobody now, and widens what is found.
                let holds = found.interval.low <= after && after <= found.interval.high;
                assert!(holds && (found.level / after).ln().abs() < 0.5, "{before} to {after}, seed {seed}: {found:?}, {all:?}");
            }
        }
    }

    #[test]
    fn an_edge_below_what_the_generator_can_make_is_found_and_one_above_is_not() {
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
        assert!(bound_by.is_none() && levels.iter().filter(|next| next.at_edge).count() == 24, "{levels:?}");
        let (bound_by, levels) = run(150.0, 120.0);
        assert!(bound_by == Some(Unfit::Generator) && levels.iter().all(|next| !next.at_edge), "{levels:?}");
        assert!(levels.iter().any(|next| (100.0..120.0).contains(&next.level)), "{levels:?}");
    }

    #[test]
    fn the_bounds_end_the_search() {
        let all = probed(&capacity(users(), 10.0, 30.0), 1, |_| 1.0);
        assert_eq!(all.iter().map(|(next, _)| next.level).collect::<Vec<_>>(), [10.0, 20.0, 30.0]);
        let all = probed(&capacity(users(), 10.0, 30.0), 1, |_| 0.0);
        assert_eq!(all.iter().map(|(next, _)| next.level).collect::<Vec<_>>(), [10.0, 5.0, 3.0, 2.0, 1.0]);
    }

    /// However steep the edge: 19 of 20 intervals are meant to hold it. Levels that follow what was answered, and so few of them, cost a part of that.
    #[test]
    fn what_is_found_holds_the_truth_as_often_as_it_says() {
        for width in [0.0, 0.01, 0.05, 0.15] {
            let (mut hits, mut narrow) = (0, 0);
            for seed in 0..200 {
                let truth = 50.0 * 1.013f64.powi(seed as i32);
                let chance = |level: f64| match width {
                    0.0 => f64::from(u8::from(level < truth)),
                    _ => 1.0 / (1.0 + ((level / truth).ln() / width).exp()),
                };
                let Some(found) = edge(&probed(&capacity(rate(), 10.0, 1e6), seed, chance), seed) else { continue };
                hits += u32::from(found.interval.low <= truth && truth <= found.interval.high);
                narrow += u32::from((found.interval.high / found.interval.low).ln() < 0.02 + 6.0 * width);
            }
            assert!(hits >= 170 && narrow >= 150, "{width}: {hits} hold it, {narrow} are narrow");
        }
    }

    proptest! {
        #[test]
        fn it_ends_stays_within_its_bounds_and_repeats(
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
