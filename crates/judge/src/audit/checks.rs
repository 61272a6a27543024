//! The checks of one row, and those of rows against each other.

use super::moments::{bins, least_mean};
use super::text::{bytes, count as number, time};
use super::{Check, Finding, Wording};
use model::article::{Figure, Load, Quotient, Row, Table, Tool};
use model::units::show_share;

/// Products of printed figures may be off by this share: tools take their times at slightly different instants.
const NEAR: f64 = 0.01;
/// As [`NEAR`], for requests at the edges of the time that is measured.
const EDGE: f64 = 0.02;
/// As [`NEAR`], for Little's law: a quiet run of wrk still corrects its mean by a few percent.
const UNDER_WAY: f64 = 0.05;
/// How late a generator's first request may leave, in seconds: a cold JVM loads its classes.
const LATE_START: f64 = 2.0;

/// What a quantity can be, from its figures.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: f64,
    value: f64,
    high: f64,
}

impl Range {
    fn of(figure: &Figure) -> Range {
        Range { low: figure.low(), value: figure.value(), high: figure.high() }
    }

    fn times(self, other: Range) -> Range {
        Range { low: self.low * other.low, value: self.value * other.value, high: self.high * other.high }
    }

    fn over(self, other: Range) -> Range {
        let floor = |value: f64| value.max(f64::MIN_POSITIVE);
        Range { low: self.low / floor(other.high), value: self.value / floor(other.value), high: self.high / floor(other.low) }
    }

    /// How many times the greater is the smaller, when no values of both are within `near` of each other.
    fn apart(self, other: Range, near: f64) -> Option<f64> {
        let (small, great) = if self.value < other.value { (self, other) } else { (other, self) };
        (small.high * (1.0 + near) < great.low).then(|| great.value / small.value)
    }
}

pub fn finding(row: &Row, check: Check, what: String, factor: Option<f64>, possible: Option<String>, explanations: Vec<String>) -> Finding {
    // JSON has no infinity.
    let factor = factor.filter(|f| f.is_finite());
    // Only of this one can each figure be what the tool printed.
    let wording = if check == Check::Little { Wording::InconsistentAsServiceTime } else { Wording::ContradictsItself };
    Finding { row: row.name.clone(), check, wording, what, factor, possible, explanations }
}

/// Requests per second, and how they were printed.
fn rate(row: &Row) -> Option<(Range, String)> {
    match (&row.throughput, &row.samples, &row.duration) {
        (Some(rate), _, _) => Some((Range::of(rate), format!("{}/s", rate.text()))),
        (None, Some(samples), Some(duration)) if duration.low() > 0.0 => {
            Some((Range::of(samples).over(Range::of(duration)), format!("{} / {}", samples.text(), duration.text())))
        }
        _ => None,
    }
}

/// The most requests that can be under way at once, and why.
fn holds(load: &Load) -> Option<(f64, String)> {
    let depth = load.depth.unwrap_or(1);
    let (places, name) = match (load.connections, load.users) {
        (Some(connections), _) => (connections, "connections"),
        (None, Some(users)) => (users, "users"),
        (None, None) => return None,
    };
    let at_once = if depth > 1 { format!(" with {depth} requests each") } else { String::new() };
    Some((places as f64 * depth as f64, format!("{} {name}{at_once}", number(places as f64))))
}

/// Little's law: requests under way = throughput x mean time.
pub fn little(row: &Row, tool: Option<Tool>) -> Option<Finding> {
    if row.load.scheduled {
        return None;
    }
    let (limit, places) = holds(&row.load)?;
    let (rate, rate_text) = rate(row)?;
    let from_quantiles = || {
        let least = bins(row).map(|bins| least_mean(&bins)).filter(|mean| *mean > 0.0)?;
        Some((Range { low: least, value: least, high: f64::INFINITY }, format!("the least mean of these quantiles, {},", time(least))))
    };
    let (mean, mean_text) = row.latency.mean.as_ref().map(|m| (Range::of(m), m.text().to_owned())).or_else(from_quantiles)?;
    // A user's last pause may lie after the run.
    let pauses = row.load.loops.map_or(1.0, |loops| 1.0 - 1.0 / loops as f64);
    let pause = row.load.pause_mean.as_ref().map_or(0.0, |pause| pause.low() * pauses);
    if rate.low * (mean.low + pause) <= limit * (1.0 + UNDER_WAY) {
        return None;
    }
    let needed = rate.value * (mean.value + pause);
    let paused = if pause > 0.0 { format!(" with {} of pause", time(pause)) } else { String::new() };
    let what =
        format!("{rate_text} x {mean_text}{paused} = {} requests under way at once, but {places} hold {}", number(needed), number(limit));
    let largest = limit / rate.value - pause;
    let possible = match largest > 0.0 {
        true => format!("at this throughput the mean is at most {}", time(largest)),
        false => format!("with these pauses the throughput is at most {}/s", number(limit / pause)),
    };
    let mut explanations = Vec::new();
    match tool {
        Some(Tool::Wrk) => explanations.push(
            "wrk adds samples to its histogram after the run, for requests that it could not send while it waited; pipelining distorts that".to_owned(),
        ),
        Some(Tool::H2load | Tool::Ab) => {}
        _ => explanations.push("latency that counts from a schedule holds what waits to be sent as well".into()),
    }
    if row.load.depth.is_none() {
        explanations.push("several requests at once on a connection (pipelining, streams), which the figures do not say".into());
    }
    explanations.push("an open loop with more under way than is said".into());
    Some(finding(row, Check::Little, what, Some(needed / limit), Some(possible), explanations))
}

/// Bytes received against throughput x bytes an answer, and against transfer x time.
pub fn transfer(row: &Row, table: &Table) -> Option<Finding> {
    let by_answers =
        rate(row).zip(row.bytes_per_answer.as_ref()).zip(row.transfer.as_ref()).and_then(|(((rate, text), size), transfer)| {
            let product = rate.times(Range::of(size));
            let factor = product.apart(Range::of(transfer), NEAR)?;
            let what = format!("{text} x {} = {}/s, not {}/s", size.text(), bytes(product.value), transfer.text());
            Some((what, factor, format!("the transfer is {}/s", bytes(product.value)), transfer))
        });
    let by_time = || {
        let (transfer, duration, received) = (row.transfer.as_ref()?, row.duration.as_ref()?, row.received.as_ref()?);
        let product = Range::of(transfer).times(Range::of(duration));
        let factor = product.apart(Range::of(received), NEAR)?;
        let what = format!("{}/s x {} = {}, not {}", transfer.text(), duration.text(), bytes(product.value), received.text());
        Some((what, factor, format!("{} are received", bytes(product.value)), received))
    };
    let by_count = || {
        let (samples, size, received) = (row.samples.as_ref()?, row.bytes_per_answer.as_ref()?, row.received.as_ref()?);
        let product = Range::of(samples).times(Range::of(size));
        let factor = product.apart(Range::of(received), NEAR)?;
        let what = format!("{} x {} = {}, not {}", samples.text(), size.text(), bytes(product.value), received.text());
        Some((what, factor, format!("{} are received", bytes(product.value)), received))
    };
    let (what, factor, possible, wrong) = by_answers.or_else(by_time).or_else(by_count)?;
    let mut explanations = Vec::new();
    let has = |other: &&Row| other.name != row.name && [&other.transfer, &other.received].into_iter().flatten().any(|f| f == wrong);
    if let Some(other) = table.rows.iter().find(has) {
        explanations.push(format!("{} is the figure of `{}`: one that was copied from there", wrong.text(), other.name));
    }
    if factor < 1.085 {
        explanations.push("kilobytes of 1,000 bytes here and of 1,024 there".into());
    }
    explanations.push("whole answers counted in one figure, bodies in the other".into());
    Some(finding(row, Check::Transfer, what, Some(factor), Some(possible), explanations))
}

/// Requests against throughput x time.
pub fn count(row: &Row) -> Option<Finding> {
    let (samples, duration, rate) = (row.samples.as_ref()?, row.duration.as_ref()?, row.throughput.as_ref()?);
    let product = Range::of(rate).times(Range::of(duration));
    let factor = product.apart(Range::of(samples), EDGE)?;
    let what = format!("{}/s x {} = {} requests, not {}", rate.text(), duration.text(), number(product.value), samples.text());
    let possible = format!("{}/s", number(samples.value() / duration.value().max(f64::MIN_POSITIVE)));
    let why = vec!["a warm-up, or failed requests, counted in one figure and not in the other".into()];
    Some(finding(row, Check::Count, what, Some(factor), Some(format!("the throughput is {possible}")), why))
}

/// Requests against throughput and ramp-up, for each row. With users that ask once, a run takes the ramp-up and the last answer; that this is how a table
/// was made is taken from the table itself: when most of its rows keep to it. With stated users and loops, the run takes at least the ramp-up.
pub fn ramp_up(table: &Table) -> Vec<Option<Finding>> {
    let known: Vec<Option<(f64, bool)>> = table.rows.iter().map(asks_once).collect();
    let rows = known.iter().flatten().count();
    let keeping = known.iter().flatten().filter(|(_, keeps)| *keeps).count();
    let rule = rows >= 3 && keeping * 2 > rows;
    let departs = |row: &Row, known: Option<(f64, bool)>| {
        let (expected, keeps) = known?;
        let (samples, ramp_up, rate) = (row.samples.as_ref()?, row.load.ramp_up.as_ref()?, row.throughput.as_ref()?);
        if keeps || !rule {
            return None;
        }
        let factor = if expected > rate.value() { expected / rate.value() } else { rate.value() / expected };
        let what = format!(
            "{} requests in a ramp-up of {} are {}/s, not {}/s; {keeping} of the {rows} rows with a ramp-up keep to that",
            samples.text(),
            ramp_up.text(),
            number(expected),
            rate.text()
        );
        let why = vec![
            format!("a ramp-up of about {}", time((samples.value() / rate.value()).round())),
            "users that asked several times with pauses, in this row alone".into(),
        ];
        Some(finding(row, Check::RampUp, what, Some(factor), Some(format!("the throughput is {}/s", number(expected))), why))
    };
    let bounded = |row: &Row| {
        let (most, ramp_up) = ramp_bound(row)?;
        let rate = row.throughput.as_ref()?;
        let all = row.load.users? as f64 * row.load.loops? as f64;
        // The first request may leave late, which shortens the run that is seen.
        let latest = all / (all / most - LATE_START).max(f64::MIN_POSITIVE);
        if rate.low() <= latest {
            return None;
        }
        let what =
            format!("{} requests by users that start over {} are at most {}/s, not {}/s", number(all), ramp_up, number(most), rate.text());
        let why = vec!["throughput taken over the time after the ramp-up".into()];
        Some(finding(
            row,
            Check::RampUp,
            what,
            Some(rate.value() / most),
            Some(format!("the throughput is at most {}/s", number(most))),
            why,
        ))
    };
    table.rows.iter().zip(known).map(|(row, known)| departs(row, known).or_else(|| bounded(row))).collect()
}

/// The throughput of users that each ask once over the ramp-up, and whether the row keeps to it. `None` when the row does not say.
fn asks_once(row: &Row) -> Option<(f64, bool)> {
    if row.load.users.is_some() || row.load.loops.is_some() {
        return None;
    }
    let (samples, ramp_up, rate) = (row.samples.as_ref()?, row.load.ramp_up.as_ref()?, row.throughput.as_ref()?);
    if samples.low() <= 1.0 || ramp_up.value() <= 0.0 || rate.low() <= 0.0 {
        return None;
    }
    let lasted = Range::of(samples).over(Range::of(rate));
    let last_answer = row.latency.max.as_ref()?.high();
    let starts_end = ramp_up.value() * (1.0 - 1.0 / samples.low()) - LATE_START;
    let keeps = lasted.high * (1.0 + EDGE) >= starts_end && lasted.low * (1.0 - EDGE) <= ramp_up.value() + last_answer;
    Some((samples.value() / ramp_up.value(), keeps))
}

/// The throughput that users starting over a ramp-up cannot pass, however fast the answers, and the ramp-up's text. A ramp-up is
/// set, not measured, so its digits leave nothing open.
fn ramp_bound(row: &Row) -> Option<(f64, String)> {
    let (users, loops, ramp_up) = (row.load.users? as f64, row.load.loops? as f64, row.load.ramp_up.as_ref()?);
    let last_start = ramp_up.value() * (1.0 - 1.0 / users);
    (last_start > 0.0).then(|| (users * loops / last_start, ramp_up.text().to_owned()))
}

/// Least, quantiles and greatest ascend, and the mean lies between.
pub fn order(row: &Row, tool: Option<Tool>) -> Vec<Finding> {
    let latency = &row.latency;
    let mut findings = Vec::new();
    let mut sequence: Vec<(String, &Figure)> = latency.min.iter().map(|f| ("min".to_owned(), f)).collect();
    sequence.extend(latency.quantiles.iter().map(|(percent, f)| (format!("{percent} %"), f)));
    sequence.extend(latency.max.iter().map(|f| ("max".to_owned(), f)));
    let is_zero = |at: usize| {
        let figure = sequence[at].1;
        figure.value() == 0.0 && sequence[..at].iter().any(|(_, before)| before.low() > figure.high())
    };
    let zeros: Vec<usize> = (0..sequence.len()).filter(|at| is_zero(*at)).collect();
    if let Some(first) = zeros.first() {
        let names: Vec<&str> = zeros.iter().map(|at| sequence[*at].0.as_str()).collect();
        let (name, before) = sequence[..*first].iter().rfind(|(_, f)| f.value() > 0.0).unwrap_or(&sequence[0]);
        let verb = if names.len() > 1 { "are" } else { "is" };
        let what = format!("{} {verb} {}, but {name} is {}", names.join(" and "), sequence[*first].1.text(), before.text());
        let why = match tool {
            Some(Tool::Wrk) => {
                "wrk adds samples to its histogram after the run; with pipelining some lie below the least that it measured: it counts them, but never reaches them, and prints 0"
            }
            _ => "a tool that had too few samples for these quantiles",
        };
        findings.push(finding(row, Check::Zero, what, None, Some(format!("at least {}", before.text())), vec![why.into()]));
    }
    let sound: Vec<&(String, &Figure)> = (0..sequence.len()).filter(|at| !zeros.contains(at)).map(|at| &sequence[at]).collect();
    let mut said = |low: (&str, &Figure), high: (&str, &Figure)| {
        if low.1.low() > high.1.high() {
            let what = format!("{} is {}, above {}, which is {}", low.0, low.1.text(), high.0, high.1.text());
            let factor = low.1.value() / high.1.value();
            let why = vec!["columns or rows that were exchanged".into()];
            findings.push(finding(row, Check::Order, what, Some(factor), None, why));
        }
    };
    for pair in sound.windows(2) {
        said((&pair[0].0, pair[0].1), (&pair[1].0, pair[1].1));
    }
    if let Some(mean) = &latency.mean {
        latency.min.iter().for_each(|min| said(("min", min), ("mean", mean)));
        latency.max.iter().for_each(|max| said(("mean", mean), ("max", max)));
    }
    findings
}

/// Errors against requests.
pub fn errors(row: &Row) -> Option<Finding> {
    let samples = row.samples.as_ref().map(Range::of);
    let found = |what: String, factor, possible| {
        Some(finding(row, Check::Errors, what, factor, possible, vec!["errors of connections counted as requests".into()]))
    };
    if let Some(share) = row.error_share.as_ref().filter(|share| share.low() > 1.0) {
        return found(format!("{} of the requests failed", share.text()), Some(share.value()), Some("at most 100 %".into()));
    }
    let samples = samples?;
    if let Some(errors) = &row.errors {
        if errors.low() > samples.high {
            let what = format!("{} errors in {} requests", errors.text(), number(samples.value));
            return found(what, Some(errors.value() / samples.value), Some(format!("at most {}", number(samples.value))));
        }
        let share = row.error_share.as_ref()?;
        let ratio = Range::of(errors).over(samples);
        if ratio.low * (1.0 - NEAR) > share.high() || ratio.high * (1.0 + NEAR) < share.low() {
            let what = format!(
                "{} errors in {} requests are {}, not {}",
                errors.text(),
                number(samples.value),
                show_share(ratio.value),
                share.text()
            );
            let (small, great) = if ratio.value < share.value() { (ratio.value, share.value()) } else { (share.value(), ratio.value) };
            return found(what, Some(great / small), Some(show_share(ratio.value)));
        }
        return None;
    }
    // Errors come whole: few requests leave few shares.
    let share = row.error_share.as_ref()?;
    let exact = row.samples.as_ref().is_some_and(|s| s.unit() <= 1.0);
    if exact && (share.high() * samples.value).floor() < (share.low() * samples.value).ceil() {
        let what = format!("no whole number of errors in {} requests is {}", number(samples.value), share.text());
        let nearest = (share.value() * samples.value).round() / samples.value;
        return found(what, None, Some(format!("the nearest is {}", show_share(nearest))));
    }
    None
}

/// Latencies that are those of an earlier row, figure by figure, beside another throughput. A row that is repeated whole is one run printed twice.
pub fn repeated(row: &Row, earlier: &[Row]) -> Option<Finding> {
    let other = earlier.iter().find(|other| {
        let (own, theirs) = (telling(row), telling(other));
        own.len() >= 4 && own == theirs && row.throughput.is_some() && other.throughput.is_some() && row.throughput != other.throughput
    })?;
    let what = format!("all latencies are those of `{}`, beside another throughput", other.name);
    Some(finding(row, Check::Repeated, what, None, None, vec!["a row that was copied, and not wholly changed".into()]))
}

/// The latencies that two runs would not share by chance: those of three digits and more.
fn telling(row: &Row) -> Vec<&str> {
    let latency = &row.latency;
    let figures = [&latency.mean, &latency.deviation, &latency.max].into_iter().flatten().chain(latency.quantiles.iter().map(|(_, f)| f));
    let digits = |text: &str| text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
    figures.map(Figure::text).filter(|text| digits(text) >= 3).collect()
}

/// One run, printed in two tables.
pub fn differs(row: &Row, earlier: &Row, title: &str) -> Option<Finding> {
    let figures = |row: &Row| {
        let latency = &row.latency;
        let all =
            [&row.throughput, &row.samples, &row.duration, &row.transfer, &row.received, &latency.mean, &latency.deviation, &latency.max];
        all.map(Clone::clone)
    };
    let names = ["throughput", "requests", "duration", "transfer", "bytes", "mean", "deviation", "max"];
    let pairs = figures(row).into_iter().zip(figures(earlier)).zip(names);
    let (name, here, there, factor) = pairs
        .filter_map(|((here, there), name)| Some((name, here?, there?)))
        .find_map(|(name, here, there)| Range::of(&here).apart(Range::of(&there), 0.0).map(|factor| (name, here, there, factor)))?;
    let what = format!("{name} is {} here, and {} in `{title}`", here.text(), there.text());
    let power = factor.log10().round();
    let why = match power >= 1.0 && (factor / 10f64.powf(power) - 1.0).abs() < 0.05 {
        true => "a digit, or a thousand, that was lost on the way",
        false => "figures of two runs",
    };
    Some(finding(row, Check::Differs, what, Some(factor), None, vec![why.into()]))
}

/// A row that divides one row by another.
pub fn quotient(quotient: &Quotient, table: &Table) -> Option<Finding> {
    let find = |name: &str| table.rows.iter().find(|row| row.name == name);
    let (of, to) = (find(&quotient.of)?, find(&quotient.to)?);
    let columns = [
        ("throughput", &quotient.throughput, &of.throughput, &to.throughput),
        ("mean", &quotient.mean, &of.latency.mean, &to.latency.mean),
        ("transfer", &quotient.transfer, &of.transfer, &to.transfer),
    ];
    columns.into_iter().find_map(|(name, printed, of_figure, to_figure)| {
        let (printed, a, b) = (printed.as_ref()?, Range::of(of_figure.as_ref()?), Range::of(to_figure.as_ref()?));
        let mut ratio = a.over(b);
        if name == "mean" && ratio.value < 1.0 {
            ratio = b.over(a);
        }
        let factor = ratio.apart(Range::of(printed), NEAR)?;
        let what = format!("{name} of `{}` and of `{}` are {} times apart, not {}", of.name, to.name, number(ratio.value), printed.text());
        let possible = Some(format!("{} times", number(ratio.value)));
        Some(finding(of, Check::Differs, what, Some(factor), possible, vec!["a quotient of other runs".into()]))
    })
}

/// What is no contradiction, but binds what the figures can say.
pub fn note(row: &Row) -> Option<String> {
    if let Some((most, ramp_up)) = ramp_bound(row)
        && let Some(rate) = row.throughput.as_ref().filter(|rate| rate.value() >= 0.75 * most)
    {
        let mut what = format!(
            "users that start over {ramp_up} make at most {}/s however fast the answers; {}/s is {} of that",
            number(most),
            rate.text(),
            show_share(rate.value() / most)
        );
        if let Some(((users, loops), mean)) = row.load.users.zip(row.load.loops).zip(row.latency.mean.as_ref()) {
            let lasts = users as f64 * loops as f64 / most + loops as f64 * mean.value();
            what += &format!(", and ramp-up and mean together give {}/s", number(users as f64 * loops as f64 / lasts));
        }
        return Some(what);
    }
    let (limit, places) = holds(&row.load).filter(|_| row.load.users.is_none() && !row.load.scheduled)?;
    let (rate, rate_text) = rate(row)?;
    let mean = row.latency.mean.as_ref()?;
    let under_way = rate.high * mean.high();
    (under_way < limit / 2.0).then(|| {
        format!(
            "{rate_text} x {} = {} requests under way, where {places} hold {}: the others waited in the generator, or at its rate",
            mean.text(),
            number(rate.value * mean.value()),
            number(limit)
        )
    })
}
