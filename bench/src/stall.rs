//! The analytic answer for a server that stands still on a schedule.

/// A server that answers each request after `delay` and stands still for the first `lasts` of each `period`; requests
/// arrive evenly at every phase of it. All in one unit, whichever; `2 delay < lasts` and `lasts + delay < period`.
#[derive(Clone, Copy, Debug)]
pub struct Stalling {
    /// From a request to its answer, otherwise.
    pub delay: f64,
    /// How long it stands still.
    pub lasts: f64,
    /// From one such start to the next.
    pub period: f64,
}

impl Stalling {
    /// The latency at a quantile, 0 to 1.
    ///
    /// Let D be the delay, S how long it stands still and P the period. A request that arrives at phase t
    /// - in the stall, 0 <= t < S, is read when that ends and answered D later: its latency is S - t + D;
    /// - clear of it, S <= t < P - D, is answered D later;
    /// - just before it, P - D <= t < P, has been read but falls due within the next stall, and is answered when that
    ///   ends, at P + S: its latency is P + S - t, which is above S and at most S + D.
    ///
    /// The share of arrivals whose latency exceeds x is therefore, by the lengths of those phases,
    /// - 1 for x < D;
    /// - ((S + D - x) + D) / P for D <= x < S: of the stall the phases before S + D - x, and all just before it;
    /// - 2 (S + D - x) / P for S <= x <= S + D: of either the like.
    ///
    /// With u = (1 - q) P the quantile is D where u >= S + D, S + 2 D - u where u >= 2 D, and S + D - u / 2 beyond.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let Stalling { delay, lasts, period } = *self;
        match (1.0 - quantile) * period {
            beyond if beyond >= lasts + delay => delay,
            beyond if beyond >= 2.0 * delay => lasts + 2.0 * delay - beyond,
            beyond => lasts + delay - beyond / 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `control` does to a request that arrives at an instant: it reads none and answers none while it stands still.
    fn latency(arrives: u64, delay: u64, lasts: u64, period: u64) -> u64 {
        let after_stall = |instant: u64| if instant % period < lasts { instant - instant % period + lasts } else { instant };
        after_stall(after_stall(arrives) + delay) - arrives
    }

    #[test]
    fn the_formula_is_what_arrivals_find() {
        let (delay, lasts, period) = (10_000, 1_000_000, 8_000_000);
        let mut all: Vec<u64> = (0..period / 100).map(|arrival| latency(arrival * 100, delay, lasts, period)).collect();
        all.sort_unstable();
        let stalling = Stalling { delay: delay as f64, lasts: lasts as f64, period: period as f64 };
        for quantile in [0.0, 0.5, 0.8, 0.87, 0.88, 0.9, 0.95, 0.99, 0.997, 0.998, 0.999, 1.0] {
            let rank = ((quantile * all.len() as f64).ceil() as usize).clamp(1, all.len());
            let found = all[rank - 1] as f64;
            assert!((found - stalling.quantile(quantile)).abs() <= 200.0, "{quantile}: {found} {}", stalling.quantile(quantile));
        }
    }

    #[test]
    fn one_second_in_eight() {
        let stalling = Stalling { delay: 10.0, lasts: 1000.0, period: 8000.0 };
        let expected = [(0.5, 10.0), (0.8, 10.0), (0.95, 620.0), (0.99, 940.0), (1.0, 1010.0)];
        for (quantile, ms) in expected {
            assert!((stalling.quantile(quantile) - ms).abs() < 1e-6, "{quantile}");
        }
    }
}
