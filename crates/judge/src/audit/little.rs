//! Little's law on a row: requests in flight = throughput x mean time.
//!
//! A closed load with 64 connections has at most 64 requests in flight. If a table's throughput
//! times its mean latency is more, that latency is not a service time.

use super::figures::{Range, finding, rate};
use super::moments::{bins, least_mean};
use super::text::{count, time};
use record::audit::{Check, Finding};
use spec::article::{Load, Row, Tool};

/// By how much the product may exceed the limit: a quiet run of wrk still corrects its mean by a
/// few percent.
const EXCESS: f64 = 0.05;

/// Returns the most requests that can be in flight, and what limits them.
fn limit(load: &Load) -> Option<(f64, String)> {
    let depth = load.depth.unwrap_or(1);
    let (places, name) = match (load.connections, load.users) {
        (Some(connections), _) => (connections, "connections"),
        (None, Some(users)) => (users, "users"),
        (None, None) => return None,
    };
    let at_once = if depth > 1 { format!(" with {depth} requests each") } else { String::new() };
    Some((places as f64 * depth as f64, format!("{} {name}{at_once}", count(places as f64))))
}

/// Returns the mean time of a row and how it was printed. Without one, returns the least mean that
/// the quantiles allow.
fn mean_time(row: &Row) -> Option<(Range, String)> {
    if let Some(mean) = &row.latency.mean {
        return Some((Range::of_figure(mean), mean.text().to_owned()));
    }
    let least = bins(row).map(|bins| least_mean(&bins)).filter(|mean| *mean > 0.0)?;
    Some((
        Range { low: least, value: least, high: f64::INFINITY },
        format!("the least mean of these quantiles, {},", time(least)),
    ))
}

/// Finds more requests in flight than the load allows.
pub(super) fn too_many_in_flight(row: &Row, tool: Option<Tool>) -> Option<Finding> {
    if row.load.scheduled {
        return None;
    }
    let (limit, places) = limit(&row.load)?;
    let (rate, rate_text) = rate(row)?;
    let (mean, mean_text) = mean_time(row)?;
    // A user's last pause may lie after the run.
    let pauses = row.load.loops.map_or(1.0, |loops| 1.0 - 1.0 / loops as f64);
    let pause = row.load.pause_mean.as_ref().map_or(0.0, |pause| pause.low() * pauses);
    if rate.low * (mean.low + pause) <= limit * (1.0 + EXCESS) {
        return None;
    }
    let needed = rate.value * (mean.value + pause);
    let paused =
        if pause > 0.0 { format!(" with {} of pause", time(pause)) } else { String::new() };
    let what = format!(
        "{rate_text} x {mean_text}{paused} = {} requests in flight, but {places} allow at most {}",
        count(needed),
        count(limit)
    );
    let largest = limit / rate.value - pause;
    let possible = match largest > 0.0 {
        true => format!("at this throughput the mean is at most {}", time(largest)),
        false => format!("with these pauses the throughput is at most {}/s", count(limit / pause)),
    };
    Some(finding(
        row,
        Check::Little,
        what,
        Some(needed / limit),
        Some(possible),
        explanations(row, tool),
    ))
}

/// Notes that far fewer requests were in flight than the connections allow.
pub(super) fn note_few_in_flight(row: &Row) -> Option<String> {
    let (limit, places) =
        limit(&row.load).filter(|_| row.load.users.is_none() && !row.load.scheduled)?;
    let (rate, rate_text) = rate(row)?;
    let mean = row.latency.mean.as_ref()?;
    let in_flight = rate.high * mean.high();
    (in_flight < limit / 2.0).then(|| {
        format!(
            "{rate_text} x {} = {} requests in flight, but {places} allow {}: the others waited in the generator, or it limited its rate",
            mean.text(),
            count(rate.value * mean.value()),
            count(limit)
        )
    })
}

fn explanations(row: &Row, tool: Option<Tool>) -> Vec<String> {
    let one_per_user =
        matches!(tool, Some(Tool::K6 | Tool::Jmeter | Tool::Gatling | Tool::Locust | Tool::Goose));
    let mut explanations: Vec<String> =
        explanations_of_tool(tool).iter().map(|why| (*why).to_owned()).collect();
    if row.load.depth.is_none() && !one_per_user {
        explanations.push("several requests at once on a connection (pipelining or streams), which the figures do not show".into());
    }
    explanations.push("an open load with more requests in flight than stated".into());
    explanations
}

/// Returns what explains too many requests in flight, by how a tool measures.
fn explanations_of_tool(tool: Option<Tool>) -> &'static [&'static str] {
    const WRK: &str = "wrk adds samples to its histogram after the run, for requests that it could not send while it waited; pipelining distorts that";
    match tool {
        Some(Tool::Wrk) => &[WRK],
        Some(Tool::HttpArena) => &[
            "HTTP/2 and gRPC, whose streams HttpArena does not print: state them with --pipeline N",
            WRK,
        ],
        Some(Tool::K6) => &[
            "users of k6 that have several requests in flight (http.batch, http.asyncRequest): state how many with --pipeline N",
        ],
        Some(Tool::Gatling) => &[
            "users of Gatling that fetch resources of a page at once: state how many with --pipeline N",
        ],
        Some(Tool::Jmeter) => &[
            "users of JMeter that fetch resources of a page in parallel: state how many with --pipeline N",
        ],
        Some(Tool::Locust) => &[
            "users of Locust that have several requests in flight (a pool of greenlets): state how many with --pipeline N",
        ],
        Some(Tool::Hey) => &[
            "hey divides the sum of all times by the million responses that it keeps, if there were more",
        ],
        Some(
            Tool::H2load | Tool::Ab | Tool::Goose | Tool::Fortio | Tool::Bombardier | Tool::Vegeta,
        ) => &[],
        Some(Tool::Wrk2 | Tool::Oha | Tool::Autocannon | Tool::Zrk) | None => {
            &["latency measured from a schedule includes the time that requests wait to be sent"]
        }
    }
}
