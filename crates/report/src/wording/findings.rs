//! Phrases about one subject that several outputs share: the number of faults of each kind, the
//! resources of a database, and the noise of the machine.

use record::judgement::{DatabaseUse, FaultAt, Noise, Phrase};
use spec::units::show_number;

/// Returns how many faults there are of each kind, most frequent first.
pub(crate) fn fault_counts(faults: &[FaultAt]) -> Vec<(&str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for fault in faults {
        match counts.iter_mut().find(|(kind, _)| *kind == fault.kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((&fault.kind, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Describes what a database used: `412 µs of CPU a request, 31.0 % of a CPU, 96.1 MB, 14
/// processes`.
pub(crate) fn database_use(used: &DatabaseUse) -> String {
    let a_request = used
        .cpu_us_per_request
        .map_or(String::new(), |us| format!("{} µs of CPU a request, ", show_number(us)));
    let processes = if used.processes == 1 {
        "1 process".to_owned()
    } else {
        format!("{} processes", used.processes)
    };
    format!(
        "{a_request}{} % of a CPU, {} MB, {processes}",
        show_number(used.cpu_percent),
        show_number(used.memory_mb)
    )
}

/// Reports the largest difference of the baseline from itself: `The baseline differs from itself
/// most in memory in closed-64: 1.8 % more (1.0 % less to 5 % more).`
pub(crate) fn noise_sentence(noise: &[Noise]) -> Option<String> {
    let off = |n: &Noise| n.ratio.ln().abs();
    let most = noise.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    let cell = most.cell.as_deref().unwrap_or("start");
    let label = most.metric.describe().label;
    Some(format!(
        "The baseline differs from itself most in {label} in {cell}: {}.",
        noise_phrase(most)
    ))
}

/// Words the difference of the baseline from itself.
pub(super) fn noise_phrase(noise: &Noise) -> Phrase {
    Phrase::of_ratio(noise.ratio, Some(noise.interval), noise.metric.describe().words.short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counted_by_kind_most_frequent_first() {
        let fault = |kind: &str| FaultAt {
            place: String::new(),
            kind: kind.into(),
            evidence: String::new(),
            hint: String::new(),
        };
        assert_eq!(fault_counts(&["a", "b", "b"].map(fault)), [("b", 2), ("a", 1)]);
    }
}
