//! A record as OpenMetrics text.

use super::metrics::{Type, families};
use super::source::Source;

/// Writes a record as OpenMetrics text, each value with the time of its measurement.
pub fn openmetrics(source: &Source<'_>) -> String {
    let mut text = String::new();
    for family in families(source) {
        let of = match family.of {
            Type::Gauge => "gauge",
            Type::Info => "info",
            Type::StateSet => "stateset",
            Type::Histogram => "histogram",
        };
        let name = family.name;
        text += &format!("# TYPE {name} {of}\n");
        if !family.unit.is_empty() {
            text += &format!("# UNIT {name} {}\n", family.unit);
        }
        text += &format!("# HELP {name} {}\n", family.help);
        for point in &family.points {
            let labels: Vec<String> = point
                .labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
                .collect();
            text += &format!("{name}{}{{{}}} {}", point.suffix, labels.join(","), point.value);
            if let Some(ms) = point.at_ms {
                text += &format!(" {}", ms as f64 / 1e3);
            }
            text.push('\n');
        }
    }
    text + "# EOF\n"
}

/// Escapes a label's value for use between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
