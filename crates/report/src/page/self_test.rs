//! Results of the self-test of the machine, as names and values.

use super::fact::{Fact, fact};
use record::judgement::show_confidence;
use record::selftest::{SelfTest, Truth, TruthOutcome};
use spec::units::show_number;
use stats::Interval;

/// When the self-test ran, how each known value was measured, and the limit of the load generator.
pub(super) fn self_test_facts(test: &SelfTest) -> Vec<Fact> {
    let when = fact(
        "self-test",
        format!(
            "{}, faceoff {}, intervals at {}",
            test.at,
            test.faceoff,
            show_confidence(test.confidence)
        ),
    );
    let ceiling = test.ceiling.iter().map(|c| {
        fact(
            "ceiling of the load generator",
            format!(
                "{} correct responses per second, {} µs of CPU each",
                show_number(c.per_s),
                show_number(c.cpu_us)
            ),
        )
    });
    std::iter::once(when).chain(test.truths.iter().map(truth)).chain(ceiling).collect()
}

fn truth(t: &Truth) -> Fact {
    let name = [&t.what, &t.quantity, &t.cell]
        .into_iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let known = t.known.map_or("known to be equal".to_owned(), |k| format!("known {}", span(k)));
    let measured =
        t.measured.map_or("not measured".to_owned(), |m| format!("measured {}", show_number(m)));
    let interval = t.interval.map_or(String::new(), |i| format!(" ({})", span(i)));
    let unit = if t.unit.is_empty() { String::new() } else { format!(", in {}", t.unit) };
    let outcome = match t.outcome {
        TruthOutcome::Holds => "holds",
        TruthOutcome::Unsound => "not measurable",
        TruthOutcome::Missed => "MISSED",
    };
    fact(name, format!("{known}, {measured}{interval}{unit}: {outcome}"))
}

fn span(i: Interval) -> String {
    match i.low == i.high {
        true => show_number(i.low),
        false => format!("{} to {}", show_number(i.low), show_number(i.high)),
    }
}
