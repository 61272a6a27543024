//! The exact latencies of a server that stalls on a schedule, as a formula.

/// A server that answers each request after `delay` and stalls for the first `lasts` of each
/// `period`. Requests arrive evenly in every phase. All times have one unit, and `2 delay < lasts`
/// and `lasts + delay < period`.
#[derive(Clone, Copy, Debug)]
pub struct Stalling {
    /// Time from a request to its response, outside a stall.
    pub delay: f64,
    /// Length of a stall.
    pub lasts: f64,
    /// Time from one stall to the next.
    pub period: f64,
}

impl Stalling {
    /// Returns the latency at a quantile, 0 to 1.
    ///
    /// Let D be the delay, S the length of a stall and P the period. A request that arrives at
    /// phase t
    /// - in the stall, 0 <= t < S, is read when the stall ends and answered D later: its latency is
    ///   S - t + D;
    /// - outside it, S <= t < P - D, is answered D later;
    /// - just before it, P - D <= t < P, has been read, but its response is due within the next
    ///   stall and leaves when that ends, at P + S: its latency is P + S - t, which is above S and
    ///   at most S + D.
    ///
    /// The share of arrivals whose latency exceeds x is therefore, by the lengths of those phases,
    /// - 1 for x < D;
    /// - ((S + D - x) + D) / P for D <= x < S: the phases of the stall before S + D - x, and all
    ///   just before the stall;
    /// - 2 (S + D - x) / P for S <= x <= S + D: the same length of both.
    ///
    /// With u = (1 - q) P, the quantile is D if u >= S + D, else S + 2 D - u if u >= 2 D, else S +
    /// D - u / 2.
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

    /// The latency that `control` causes for a request at an instant: during a stall it neither
    /// reads nor answers.
    fn latency(arrives: u64, delay: u64, lasts: u64, period: u64) -> u64 {
        let after_stall = |instant: u64| {
            if instant % period < lasts { instant - instant % period + lasts } else { instant }
        };
        after_stall(after_stall(arrives) + delay) - arrives
    }

    #[test]
    fn formula_matches_simulated_arrivals() {
        let (delay, lasts, period) = (10_000, 1_000_000, 8_000_000);
        let mut all: Vec<u64> =
            (0..period / 100).map(|arrival| latency(arrival * 100, delay, lasts, period)).collect();
        all.sort_unstable();
        let stalling = Stalling { delay: delay as f64, lasts: lasts as f64, period: period as f64 };
        for quantile in [0.0, 0.5, 0.8, 0.87, 0.88, 0.9, 0.95, 0.99, 0.997, 0.998, 0.999, 1.0] {
            let rank = ((quantile * all.len() as f64).ceil() as usize).clamp(1, all.len());
            let found = all[rank - 1] as f64;
            assert!(
                (found - stalling.quantile(quantile)).abs() <= 200.0,
                "{quantile}: {found} {}",
                stalling.quantile(quantile)
            );
        }
    }

    #[test]
    fn quantiles_of_one_second_in_eight_are_known() {
        let stalling = Stalling { delay: 10.0, lasts: 1000.0, period: 8000.0 };
        let expected = [(0.5, 10.0), (0.8, 10.0), (0.95, 620.0), (0.99, 940.0), (1.0, 1010.0)];
        for (quantile, ms) in expected {
            assert!((stalling.quantile(quantile) - ms).abs() < 1e-6, "{quantile}");
        }
    }
}
