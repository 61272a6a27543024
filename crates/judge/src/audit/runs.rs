//! Rows compared with other rows: copied latencies, one run in two tables, and wrong quotients.

use super::figures::{NEAR, Range, finding};
use super::text::count;
use record::audit::{Check, Finding};
use spec::article::{Figure, Quotient, Row, Table};

/// Finds a row with the latencies of an earlier row, figure by figure, and a different throughput.
/// A row that is repeated as a whole is one run printed twice.
pub(super) fn repeated_latencies(row: &Row, earlier: &[Row]) -> Option<Finding> {
    let figures = distinctive(row);
    let other = earlier.iter().find(|other| {
        figures.len() >= 4
            && figures == distinctive(other)
            && row.throughput.is_some()
            && other.throughput.is_some()
            && row.throughput != other.throughput
    })?;
    let what = format!("all latencies are those of `{}`, with a different throughput", other.name);
    let why = vec!["a row that was copied and not completely changed".into()];
    Some(finding(row, Check::Repeated, what, None, None, why))
}

/// Returns the latencies that two runs would not share by chance: those of three digits and more.
fn distinctive(row: &Row) -> Vec<&str> {
    let latency = &row.latency;
    let figures = [&latency.mean, &latency.deviation, &latency.max]
        .into_iter()
        .flatten()
        .chain(latency.quantiles.iter().map(|(_, f)| f));
    let digits = |text: &str| {
        text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count()
    };
    figures.map(Figure::text).filter(|text| digits(text) >= 3).collect()
}

/// Finds one run that has different figures in two tables.
pub(super) fn differing_run(row: &Row, earlier: &Row, title: &str) -> Option<Finding> {
    fn figures(row: &Row) -> [(&'static str, &Option<Figure>); 8] {
        let latency = &row.latency;
        [
            ("throughput", &row.throughput),
            ("requests", &row.samples),
            ("duration", &row.duration),
            ("transfer", &row.transfer),
            ("bytes", &row.received),
            ("mean", &latency.mean),
            ("standard deviation", &latency.deviation),
            ("max", &latency.max),
        ]
    }
    let pairs = figures(row).into_iter().zip(figures(earlier));
    let (name, here, there, factor) = pairs
        .filter_map(|((name, here), (_, there))| Some((name, here.as_ref()?, there.as_ref()?)))
        .find_map(|(name, here, there)| {
            let factor = Range::of_figure(here).apart(Range::of_figure(there), 0.0)?;
            Some((name, here, there, factor))
        })?;
    let what = format!("{name} is {} here, and {} in `{title}`", here.text(), there.text());
    let power = factor.log10().round();
    let why = match power >= 1.0 && (factor / 10f64.powf(power) - 1.0).abs() < 0.05 {
        true => "a digit, or three zeros, lost in copying",
        false => "figures of two runs",
    };
    Some(finding(row, Check::Differs, what, Some(factor), None, vec![why.into()]))
}

/// Finds a printed quotient of two rows that is not their quotient.
pub(super) fn wrong_quotient(quotient: &Quotient, table: &Table) -> Option<Finding> {
    let find = |name: &str| table.rows.iter().find(|row| row.name == name);
    let (of, to) = (find(&quotient.of)?, find(&quotient.to)?);
    let columns = [
        ("throughput", &quotient.throughput, &of.throughput, &to.throughput),
        ("mean", &quotient.mean, &of.latency.mean, &to.latency.mean),
        ("transfer", &quotient.transfer, &of.transfer, &to.transfer),
    ];
    columns.into_iter().find_map(|(name, printed, of_figure, to_figure)| {
        let printed = printed.as_ref()?;
        let a = Range::of_figure(of_figure.as_ref()?);
        let b = Range::of_figure(to_figure.as_ref()?);
        let mut ratio = a.over(b);
        if name == "mean" && ratio.value < 1.0 {
            ratio = b.over(a);
        }
        let factor = ratio.apart(Range::of_figure(printed), NEAR)?;
        let what = format!(
            "{name} of `{}` and of `{}` differ by a factor of {}, not {}",
            of.name,
            to.name,
            count(ratio.value),
            printed.text()
        );
        let possible = format!("{} times", count(ratio.value));
        let why = vec!["a quotient of other runs".into()];
        Some(finding(of, Check::Differs, what, Some(factor), Some(possible), why))
    })
}
