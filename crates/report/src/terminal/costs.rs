//! The section of a run's summary on costs: a line for each cell and contender.

use record::judgement::{Costs, RequestCost, show_confidence};
use spec::name::ContenderName;
use spec::units::show_decimal;
use std::fmt::Write;

/// Writes what a million requests cost: `  closed-8, b: 0.0015 USD (0.00149 to 0.00151); 50 % more
/// than a (49 % to 51 %)`. Nothing without a price.
pub(super) fn costs_text(costs: Option<&Costs>, baseline: &ContenderName) -> String {
    let Some(costs) = costs else { return String::new() };
    let mut text = format!(
        "\nCost of a million requests at {}, with {} intervals\n",
        costs.price.describe(),
        show_confidence(costs.confidence)
    );
    for cost in &costs.lines {
        let compared = cost.phrase(baseline).map(|words| format!("; {words}"));
        let (cell, contender, amount) = (&cost.cell, &cost.contender, amount(costs, cost));
        let _ = writeln!(text, "  {cell}, {contender}: {amount}{}", compared.unwrap_or_default());
    }
    text
}

fn amount(Costs { price, .. }: &Costs, cost: &RequestCost) -> String {
    let Some(total) = cost.total else { return format!("not known: {}", cost.reason) };
    let interval = cost.interval.map_or_else(String::new, |interval| {
        format!(" ({} to {})", show_decimal(interval.low), show_decimal(interval.high))
    });
    let parts = cost.cpu.zip(cost.memory).map_or_else(String::new, |(cpu, memory)| {
        format!(", CPU {} and memory {}", show_decimal(cpu), show_decimal(memory))
    });
    format!("{}{interval}{parts}", price.show(total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::price::Price;
    use stats::Interval;

    #[test]
    fn costs_take_a_line_each() {
        let a = RequestCost {
            cell: "c".into(),
            contender: "a".parse().unwrap(),
            total: Some(0.001),
            interval: Some(Interval { low: 0.000_99, high: 0.001_01 }),
            cpu: Some(0.000_9),
            memory: Some(0.000_1),
            ratio: None,
            ratio_interval: None,
            blocks: 6,
            reason: String::new(),
        };
        let b = RequestCost {
            contender: "b".parse().unwrap(),
            ratio: Some(1.5),
            ratio_interval: Some(Interval { low: 1.49, high: 1.51 }),
            memory: None,
            ..a.clone()
        };
        let unknown = RequestCost {
            total: None,
            ratio: None,
            reason: "CPU is not known".into(),
            ..b.clone()
        };
        let price = Price { cpu_hour: Some(0.034), gib_hour: Some(0.004), currency: "EUR".into() };
        let costs = Costs { price, confidence: 0.95, lines: vec![a, b, unknown] };
        let expected = "\nCost of a million requests at 0.034 EUR per CPU-hour and 0.004 EUR per GiB-hour, with 95 % intervals\n  c, a: 0.00100 EUR (0.000990 to 0.00101), CPU 0.000900 and memory 0.000100\n  c, b: 0.00100 EUR (0.000990 to 0.00101); 1.5× more than a\n  c, b: not known: CPU is not known\n";
        assert_eq!(costs_text(Some(&costs), &"a".parse().unwrap()), expected);
        assert_eq!(costs_text(None, &"a".parse().unwrap()), "");
    }
}
