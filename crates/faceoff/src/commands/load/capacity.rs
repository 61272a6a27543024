//! `faceoff load --capacity`: searches for the most users, or the highest rate, at which a service
//! level holds.

use super::options::Format;
use super::planned_load::{PlannedLoad, create};
use super::write_or_print;
use crate::exit::{Error, FAILED};
use crate::output::message;
use load::Plan;
use load::capacity::{UnmanagedTarget, search};
use record::capacity::{
    CapacityReport, Counted, Ended, Estimate, Probe, Recovered, SCHEMA, Unfit, estimate, results,
    told,
};
use spec::experiment::capacity::Capacity;
use spec::problem::Problems;
use spec::units::{show_duration, show_number, show_short};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// The result of a search.
struct Found<'r> {
    capacity: &'r Capacity,
    probes: Vec<Probe>,
    ended: Ended,
    estimate: Estimate,
    took: Duration,
}

/// Runs the search and prints its result, or writes it into a file.
pub fn run(
    run: &PlannedLoad,
    capacity: &Capacity,
    format: Format,
    output: Option<&Path>,
) -> Result<ExitCode, Error> {
    if format == Format::Csv {
        let problem = Problems::plain(
            "--format csv has one line per second, and a search has none".to_owned(),
            "use --format json, which lists the probes",
        );
        return Err(problem.into());
    }
    let mut out = output.map(create).transpose()?;
    let stop = crate::signals::stop_flag();
    message(&format!(
        "{} at {}, for about {}",
        capacity.describe(),
        run.url,
        show_duration(capacity.estimate())
    ));
    let plan = run.plan(&stop, None);
    let mut subject =
        UnmanagedTarget { plan: Plan { duration: capacity.probe, requests: None, ..plan } };
    let began_ns = load::clock::now_ns();
    let mut probes = Vec::new();
    let ended = search(&mut subject, capacity, run.timeout, run.seed, &mut |probe| {
        probes.push(probe.clone());
        message(&probe_text(capacity, probes.len(), probe));
    })
    .map_err(|e| Error::Failed(e.to_string()))?;
    let took = Duration::from_nanos(load::clock::now_ns() - began_ns);
    let estimate = estimate(&probes, CONFIDENCE, run.seed);
    let found = Found { capacity, probes, ended, estimate, took };
    let text = match format {
        Format::Json => serde_json::to_string_pretty(&report(&found)).expect("plain data") + "\n",
        _ => to_text(&found),
    };
    write_or_print(&text, out.as_mut());
    if ended == Ended::Stopped {
        return Ok(ExitCode::from(crate::signals::code()));
    }
    let is_answered = match found.estimate {
        Estimate::Edge { .. } => true,
        Estimate::AtLeast(_) | Estimate::Below(_) => ended == Ended::Done,
        Estimate::Unknown => false,
    };
    Ok(if is_answered { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn outcome(probe: &Probe) -> &'static str {
    match (probe.unfit(), probe.kept) {
        (Some(Unfit::TooFew), _) => "too few requests to decide",
        (Some(Unfit::Stolen), _) => "excluded: too much CPU steal",
        (Some(Unfit::Disturbed), _) => "excluded: other programs used the CPUs",
        (Some(Unfit::Generator), _) => "excluded: the generator was at its limit",
        (Some(Unfit::Descriptors), _) => "excluded: the generator was out of descriptors",
        (Some(Unfit::Ports), _) => "excluded: no free port to connect from",
        (None, Some(true)) => "kept",
        (None, _) => "broken",
    }
}

/// Describes a probe in one line.
fn probe_text(capacity: &Capacity, number: usize, probe: &Probe) -> String {
    let mut text = format!(
        "probe {number:<3} {:<14} {:<7} {}",
        capacity.of.show(probe.level),
        outcome(probe),
        probe.found
    );
    if let Some(recovery) = &probe.recovery {
        let took = show_duration(Duration::from_nanos(recovery.after_ns));
        match recovery.how {
            // It had recovered at the first check.
            Recovered::ByItself if recovery.after_ns < 500_000_000 => {}
            Recovered::ByItself => text += &format!("; recovered after {took}"),
            Recovered::Restarted => text += &format!("; restarted after {took}"),
            Recovered::Not => text += &format!("; did not recover within {took}"),
        }
    }
    text
}

fn to_text(found: &Found<'_>) -> String {
    let Found { capacity, probes, ended, estimate, took } = found;
    let mut text = format!("\ncapacity   {}\n", estimate.describe(capacity.of, CONFIDENCE));
    text += &format!("at which   {} holds in half of the probes\n", capacity.service_level);
    let at_edge = probes.iter().filter(|p| p.at_edge).count();
    let told = told(probes);
    let searched = probes.len() - at_edge;
    text += &format!(
        "probes     {searched} to find the limit, {at_edge} around it in random order, in {}",
        show_duration(*took)
    );
    if told.len() < probes.len() {
        text += &format!("; {} could not be used", probes.len() - told.len());
    }
    text.push('\n');
    if let Some(why) = ended.warning() {
        text += &format!("warning: {why}\n");
    }
    let mut by_level: Vec<&Probe> = probes.iter().collect();
    by_level.sort_by(|a, b| a.level.total_cmp(&b.level));
    text += &format!("\n{:>14}{:>9}{:>9}{:>9}{:>12}\n", "level", "p50", "p95", "p99", "correct/s");
    for probe in by_level {
        let time = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| show_short(ns as f64));
        let (level, rate) = (capacity.of.show(probe.level), show_number(probe.rate_per_s));
        let times =
            format!("{:>9}{:>9}{:>9}", time(probe.p50_ns), time(probe.p95_ns), time(probe.p99_ns));
        let is_told = told.iter().any(|(one, _)| std::ptr::eq(*one, probe));
        let outcome = match probe.unfit() {
            None if !is_told => "excluded: later probes contradict it",
            _ => outcome(probe),
        };
        text += &format!("{level:>14}{times}{rate:>12}  {outcome}\n");
    }
    text
}

/// Returns the result as JSON, as docs/guide/capacity.md describes it.
fn report<'a>(found: &'a Found<'_>) -> CapacityReport<'a> {
    let Found { capacity, probes, ended, estimate, took } = found;
    CapacityReport {
        schema: SCHEMA,
        load: capacity.describe(),
        of: if capacity.of.is_whole() { Counted::Users } else { Counted::Rate },
        service_level: capacity.service_level.to_string(),
        capacity: estimate.found(),
        confidence: CONFIDENCE,
        warning: ended.warning(),
        took_s: took.as_secs_f64(),
        curve: stats::held_shares(&results(probes)),
        probes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Counts;
    use record::capacity::Recovery;
    use spec::experiment::Spacing;
    use spec::experiment::capacity::Quantity;
    use spec::threshold::ServiceLevel;

    fn probe(level: f64, kept: bool) -> Probe {
        Probe {
            level,
            at_edge: level > 100.0,
            kept: Some(kept),
            found: "p95=10ms".into(),
            duration_ns: 3_000_000_000,
            counts: Counts { scheduled: 300, correct: 300, ..Counts::default() },
            rate_per_s: 100.0,
            p50_ns: Some(9_000_000),
            p95_ns: Some(10_000_000),
            generator_busy: 0.1,
            recovery: (!kept).then_some(Recovery {
                after_ns: 1_200_000_000,
                how: Recovered::ByItself,
                failure: None,
            }),
            ..Probe::default()
        }
    }

    #[test]
    fn text_and_json_of_a_search() {
        let capacity = Capacity {
            of: Quantity::Rate { spacing: Spacing::Even, in_flight_max: None },
            service_level: ServiceLevel::parse("p95<100ms").unwrap(),
            from: 100.0,
            at_most: 1e6,
            probe: Duration::from_secs(3),
            probes: 24,
        };
        let stolen = Probe { steal_share: Some(0.5), ..probe(120.0, false) };
        let probes = vec![probe(100.0, true), probe(400.0, false), probe(200.0, true), stolen];
        let estimate = estimate(&probes, CONFIDENCE, 1);
        let found = Found {
            capacity: &capacity,
            probes,
            ended: Ended::Done,
            estimate,
            took: Duration::from_secs(100),
        };
        let text = to_text(&found);
        let head = "\ncapacity   283/s (95 % interval 100/s to 400/s)\nat which   p95<100ms holds in half of the probes\n";
        let probes = "probes     1 to find the limit, 3 around it in random order, in 1 min 40 s; 1 could not be used\n";
        assert!(text.starts_with(&format!("{head}{probes}\n         level")), "{text}");
        let rows: Vec<Vec<&str>> =
            text.lines().skip(6).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["100/s", "9.00ms", "10.0ms", "-", "100", "kept"]);
        assert_eq!(
            rows.iter().map(|row| row[0]).collect::<Vec<_>>(),
            ["100/s", "120/s", "200/s", "400/s"]
        );
        assert!(
            text.contains("  excluded: too much CPU steal\n") && text.ends_with("  broken\n"),
            "{text}"
        );
        let value = serde_json::to_value(report(&found)).unwrap();
        let shares: Vec<f64> = value["curve"]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| point[1].as_f64().unwrap())
            .collect();
        assert_eq!(shares, [1.0, 1.0, 0.0]);
        assert!(
            (value["capacity"]["level"].as_f64().unwrap() - 282.84).abs() < 0.01
                && value["probes"].as_array().unwrap().len() == 4
        );
        let said = probe_text(&capacity, 2, &found.probes[1]);
        assert!(
            said.starts_with("probe 2   400/s  ")
                && said.ends_with(" broken  p95=10ms; recovered after 1.2 s"),
            "{said}"
        );
    }
}
