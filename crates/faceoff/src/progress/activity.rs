//! Words the activity of the current trial: `starts`, `warms up, 7 s, 812/s, p50 2.10ms`.

use lab::Activity;
use record::WarmUpWindow;
use spec::units::{show_number, show_short};

/// Words an activity.
pub fn word_activity(activity: &Activity<'_>) -> String {
    match *activity {
        Activity::Starting => "starts".to_owned(),
        Activity::WarmingUp { elapsed, last } => {
            let rates = last.map(word_rates).unwrap_or_default();
            format!("warms up, {} s{rates}", elapsed.as_secs())
        }
        Activity::WarmingUpByAgents => "warms up, by agents".to_owned(),
        Activity::WarmingUpForCell { contender: None, cell } => format!("warms up for {cell}"),
        Activity::WarmingUpForCell { contender: Some(contender), cell } => {
            format!("{contender} warms up for {cell}")
        }
        Activity::Measuring { cell } => cell.to_owned(),
        Activity::Repeating { cell, attempt } => {
            format!("{cell}, repeated as it was disturbed ({attempt})")
        }
        Activity::Probed { cell, number, quantity, level, kept } => {
            let kept = if kept { "kept" } else { "not kept" };
            format!("{cell}, probe {number}: {} {kept}", quantity.show(level))
        }
    }
}

/// Words the last window of a warm-up, as far as it is known: `, 812/s, p50 2.10ms, 310us CPU a
/// request`.
fn word_rates(window: &WarmUpWindow) -> String {
    let seconds = window.load_ns.max(1) as f64 / 1e9;
    let mut text = format!(", {}/s", show_number(window.correct as f64 / seconds));
    if let Some(p50_ns) = window.p50_ns {
        text += &format!(", p50 {}", show_short(p50_ns as f64));
    }
    if window.correct > 0 && window.cpu_ns > 0 {
        let cpu_ns = window.cpu_ns as f64 / window.correct as f64;
        text += &format!(", {} CPU a request", show_short(cpu_ns));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn warm_up_reports_rate_latency_and_cpu_of_its_last_window() {
        let window = WarmUpWindow {
            at_ns: 0,
            load_ns: 500_000_000,
            connections: 4,
            correct: 406,
            cpu_ns: 406 * 310_000,
            pause_ns: 0,
            pause_cpu_ns: 0,
            p50_ns: Some(2_100_000),
            max_ns: None,
        };
        assert_eq!(word_rates(&window), ", 812/s, p50 2.10ms, 310us CPU a request");
        assert_eq!(
            word_rates(&WarmUpWindow { correct: 0, p50_ns: None, ..window }),
            ", 0/s",
            "no response arrived"
        );
        let activity = Activity::WarmingUp { elapsed: Duration::from_secs(7), last: None };
        assert_eq!(word_activity(&activity), "warms up, 7 s");
    }
}
