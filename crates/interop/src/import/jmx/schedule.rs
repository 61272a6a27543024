//! Reads schedules of JMeter's open model:
//! `rate(10/sec) random_arrivals(1 min) rate(20/sec) pause(5 s)`.
//!
//! A schedule is a list of rates, periods of arrivals and pauses. They become the stages of a load.
//! Start with [`Arrivals`].

/// The arrivals that a schedule describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// The rate at the start, per second.
    pub first: f64,
    /// For each stage the rate at its end, per second, and its duration in seconds.
    pub stages: Vec<(f64, f64)>,
    pub is_random: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(f64),
    Sign(char),
}

/// A step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Rate(f64),
    Arrivals { over: f64, is_random: bool },
}

/// Reads a schedule.
///
/// # Errors
/// The first thing that JMeter would not read, or that a load cannot have.
pub fn read_schedule(text: &str) -> Result<Arrivals, String> {
    let steps = Reader { tokens: tokens(text)?, at: 0 }.steps()?;
    let mut stages: Vec<(f64, f64)> = Vec::new();
    let mut first = None;
    let mut rate = 0.0;
    let mut kinds = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        match *step {
            Step::Rate(new) => {
                // A rate that differs from the last is a jump, unless arrivals have led to it.
                if first.is_some() && new != rate {
                    stages.push((new, 0.0));
                }
                rate = new;
            }
            Step::Arrivals { over, is_random } => {
                first.get_or_insert(rate);
                if let Some(Step::Rate(to)) = steps.get(n + 1) {
                    rate = *to;
                }
                stages.push((rate, over));
                kinds.push((
                    is_random,
                    over > 0.0
                        && (rate > 0.0
                            || steps[..n]
                                .iter()
                                .any(|step| matches!(step, Step::Rate(rate) if *rate > 0.0))),
                ));
            }
        }
    }
    let of_weight = || kinds.iter().filter(|(_, counts)| *counts);
    let is_random = of_weight().any(|(is_random, _)| *is_random);
    if is_random && of_weight().any(|(is_random, _)| !*is_random) && !only_pauses_are_even(&steps) {
        return Err("it mixes random and even arrivals, and a load has one kind".into());
    }
    first
        .map(|first| Arrivals { first, stages, is_random })
        .ok_or_else(|| "it has no arrivals".into())
}

/// Returns whether all even arrivals come from pauses, at a rate of 0.
fn only_pauses_are_even(steps: &[Step]) -> bool {
    let mut rate = 0.0;
    steps.iter().all(|step| match *step {
        Step::Rate(new) => {
            rate = new;
            true
        }
        Step::Arrivals { is_random, .. } => is_random || rate == 0.0,
    })
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = |is_one: fn(char) -> bool| rest.find(|c| !is_one(c)).unwrap_or(rest.len());
        rest = if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").ok_or("a comment does not end")?.1
        } else if rest.starts_with("//") {
            rest.find('\n').map_or("", |at| &rest[at..])
        } else if c.is_whitespace() {
            &rest[c.len_utf8()..]
        } else if "()/".contains(c) {
            all.push(Token::Sign(c));
            &rest[1..]
        } else if c.is_ascii_digit() || c == '.' {
            let end = length(|c| c.is_ascii_digit() || c == '.');
            let number = rest[..end].parse::<f64>().ok().filter(|number| number.is_finite());
            all.push(Token::Number(
                number.ok_or_else(|| format!("`{}` is not a number", &rest[..end]))?,
            ));
            &rest[end..]
        } else if c.is_alphabetic() {
            let end = length(|c| c.is_alphanumeric() || c == '_');
            all.push(Token::Word(rest[..end].to_lowercase()));
            &rest[end..]
        } else {
            return Err(format!("`{c}` is not expected there"));
        };
    }
    Ok(all)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    fn sign(&mut self, sign: char) -> Result<(), String> {
        (self.next() == Some(Token::Sign(sign)))
            .then_some(())
            .ok_or_else(|| format!("a `{sign}` is missing"))
    }

    fn closes(&self) -> bool {
        self.tokens.get(self.at) == Some(&Token::Sign(')'))
    }

    fn steps(mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        let mut rate = 0.0;
        while let Some(token) = self.next() {
            let Token::Word(word) = token else { return Err("a step begins with its name".into()) };
            self.sign('(')?;
            match word.as_str() {
                "rate" => {
                    rate = self.rate()?;
                    steps.push(Step::Rate(rate));
                }
                "random_arrivals" => {
                    steps.push(Step::Arrivals { over: self.duration()?, is_random: true })
                }
                "even_arrivals" => {
                    steps.push(Step::Arrivals { over: self.duration()?, is_random: false })
                }
                "pause" => {
                    let over = self.duration()?;
                    steps.extend([
                        Step::Rate(rate),
                        Step::Rate(0.0),
                        Step::Arrivals { over, is_random: false },
                        Step::Rate(0.0),
                        Step::Rate(rate),
                    ]);
                }
                other => return Err(format!("`{other}` is not a known step")),
            }
            self.sign(')')?;
        }
        Ok(steps)
    }

    fn rate(&mut self) -> Result<f64, String> {
        let Some(Token::Number(number)) = self.next() else {
            return Err("a rate is a number".into());
        };
        if number == 0.0 && self.closes() {
            return Ok(0.0);
        }
        match self.next() {
            Some(Token::Sign('/')) => Ok(number / self.unit()?),
            Some(Token::Word(word)) if word == "per" => Ok(number / self.unit()?),
            _ => Err("a rate has a unit, as in `rate(10/sec)`".into()),
        }
    }

    fn duration(&mut self) -> Result<f64, String> {
        let mut seconds = 0.0;
        loop {
            let Some(Token::Number(number)) = self.next() else {
                return Err("a duration is a number with its unit".into());
            };
            if number == 0.0 && self.closes() {
                return Ok(seconds);
            }
            seconds += number * self.unit()?;
            if self.closes() {
                return Ok(seconds);
            }
        }
    }

    /// Returns how many seconds a unit has.
    fn unit(&mut self) -> Result<f64, String> {
        let Some(Token::Word(word)) = self.next() else { return Err("a unit is missing".into()) };
        match word.as_str() {
            "ms" => Ok(0.001),
            "s" => Ok(1.0),
            "m" => Ok(60.0),
            "h" => Ok(3_600.0),
            "d" => Ok(86_400.0),
            word if word.starts_with("sec") => Ok(1.0),
            word if word.starts_with("min") => Ok(60.0),
            word if word.starts_with("hour") => Ok(3_600.0),
            word if word.starts_with("day") => Ok(86_400.0),
            other => Err(format!("`{other}` is not a unit of time")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, read_schedule};

    #[test]
    fn schedules_are_read_as_jmeter_reads_them() {
        let of = |text: &str| read_schedule(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let random = |first: f64, stages: &[(f64, f64)]| Arrivals {
            first,
            stages: stages.to_vec(),
            is_random: true,
        };
        assert_eq!(of("rate(10/sec) random_arrivals(1 min)"), random(10.0, &[(10.0, 60.0)]));
        assert_eq!(
            of(
                "rate(0) random_arrivals(1 min) rate(120/min) random_arrivals(1 min 30 sec) rate(2 per s)"
            ),
            random(0.0, &[(2.0, 60.0), (2.0, 90.0)])
        );
        assert_eq!(
            of("RATE(1/s) random_arrivals(10s) rate(3/s) rate(5/s) random_arrivals(.5 h)"),
            random(1.0, &[(3.0, 10.0), (5.0, 0.0), (5.0, 1800.0)])
        );
        assert_eq!(
            of(
                "rate(2/s) /* so */ random_arrivals(10 s) pause(5 s) // and\n random_arrivals(10 s)"
            ),
            random(2.0, &[(2.0, 10.0), (0.0, 0.0), (0.0, 5.0), (2.0, 0.0), (2.0, 10.0)])
        );
        assert_eq!(
            of("rate(4/s) even_arrivals(500 ms)"),
            Arrivals { first: 4.0, stages: vec![(4.0, 0.5)], is_random: false }
        );
        for bad in [
            "",
            "rate(1/s)",
            "rate(1)",
            "rate(x/s)",
            "arrivals(1 s)",
            "rate(1/year) random_arrivals(1 s)",
            "rate(1/s random_arrivals(1 s)",
            "rate(1/s) random_arrivals(1)",
            "/* ",
            "rate(1/s) random_arrivals(1 s) even_arrivals(1 s)",
            "concurrency(3) rate(1/s)",
        ] {
            assert!(read_schedule(bad).is_err(), "{bad}: {:?}", read_schedule(bad));
        }
    }
}
