//! Finds numbers within the bounds that a schema sets.
//!
//! `minimum`, `maximum`, their exclusive forms and `multipleOf` become [`Bounds`], of which
//! [`Bounds::number`] gives the numbers one after the other.

use serde_json::Value;

/// The bounds of a number.
pub struct Bounds {
    least: Option<f64>,
    is_above: bool,
    most: Option<f64>,
    is_below: bool,
    /// Numbers are multiples of this.
    pub step: Option<f64>,
}

impl Bounds {
    /// Reads the bounds of a schema.
    pub fn of_schema(schema: &Value, is_whole: bool) -> Bounds {
        let number = |name: &str| schema[name].as_f64();
        // The exclusive forms are flags in OpenAPI 3.0, and numbers since 3.1.
        let mut bounds = Bounds {
            least: number("minimum"),
            is_above: schema["exclusiveMinimum"].as_bool() == Some(true),
            most: number("maximum"),
            is_below: schema["exclusiveMaximum"].as_bool() == Some(true),
            step: number("multipleOf"),
        };
        if let Some(above) = number("exclusiveMinimum")
            .filter(|above| bounds.least.is_none_or(|least| *above >= least))
        {
            (bounds.least, bounds.is_above) = (Some(above), true);
        }
        if let Some(below) =
            number("exclusiveMaximum").filter(|below| bounds.most.is_none_or(|most| *below <= most))
        {
            (bounds.most, bounds.is_below) = (Some(below), true);
        }
        bounds.step = match bounds.step.filter(|step| *step > 0.0) {
            // A whole number that is a multiple of a fraction.
            Some(step) if is_whole && step.fract() != 0.0 => Some(
                (1..=1_000).map(|n| f64::from(n) * step).find(|n| n.fract() == 0.0).unwrap_or(step),
            ),
            Some(step) => Some(step),
            None => is_whole.then_some(1.0),
        };
        bounds
    }

    /// Returns whether a number is within the bounds. It need not be a multiple of the step.
    pub fn holds(&self, number: f64) -> bool {
        let above = self
            .least
            .is_none_or(|least| if self.is_above { number > least } else { number >= least });
        above
            && self
                .most
                .is_none_or(|most| if self.is_below { number < most } else { number <= most })
    }

    /// Returns the `nth` number from the lowest, or else from 1, or else from the highest
    /// downwards.
    pub fn number(&self, nth: f64) -> Option<f64> {
        let candidates = match self.step {
            Some(step) => {
                let from = |start: f64| (start / step).ceil() * step + nth * step;
                let least = self.least.map(|least| [from(least), from(least) + step]);
                let most = self
                    .most
                    .map(|most| (most / step).floor() * step - nth * step)
                    .map(|most| [most, most - step]);
                let usual = self.least.is_none().then_some([from(1.0), from(0.0)]);
                [usual, least, most].into_iter().flatten().flatten().collect::<Vec<_>>()
            }
            None => {
                let middle = self
                    .least
                    .zip(self.most)
                    .map(|(least, most)| least + (most - least) / (nth + 2.0));
                let usual = self.least.is_none().then_some(1.0 + nth);
                let ends = [
                    self.least.map(|least| least + nth),
                    self.least.map(|least| least + nth + 1.0),
                    middle,
                ];
                let below =
                    [self.most.map(|most| most - nth), self.most.map(|most| most - nth - 1.0)];
                [usual].into_iter().chain(ends).chain(below).flatten().collect()
            }
        };
        candidates.into_iter().find(|number| self.holds(*number))
    }
}
