//! The order of latencies: minimum, quantiles and maximum ascend, and the mean lies between.

use super::figures::finding;
use record::audit::{Check, Finding};
use spec::article::{Figure, Row, Tool};

/// A latency with its name.
type Named<'f> = (String, &'f Figure);

/// Finds latencies that are out of order.
pub(super) fn out_of_order(row: &Row, tool: Option<Tool>) -> Vec<Finding> {
    let latency = &row.latency;
    let mut sequence: Vec<Named<'_>> = latency.min.iter().map(|f| ("min".to_owned(), f)).collect();
    sequence.extend(latency.quantiles.iter().map(|(percent, f)| (format!("{percent} %"), f)));
    sequence.extend(latency.max.iter().map(|f| ("max".to_owned(), f)));
    let is_zero = |at: usize| {
        let figure = sequence[at].1;
        figure.value() == 0.0
            && sequence[..at].iter().any(|(_, before)| before.low() > figure.high())
    };
    let (zeros, others): (Vec<usize>, Vec<usize>) =
        (0..sequence.len()).partition(|at| is_zero(*at));
    let mut findings: Vec<Finding> =
        zeros_above(row, tool, &sequence, &zeros).into_iter().collect();
    let sound: Vec<(&str, &Figure)> =
        others.iter().map(|at| (sequence[*at].0.as_str(), sequence[*at].1)).collect();
    let pairs = sound.windows(2).map(|pair| (pair[0], pair[1]));
    findings.extend(pairs.filter_map(|(low, high)| exchanged(row, low, high)));
    if let Some(mean) = &latency.mean {
        let below_min =
            latency.min.iter().filter_map(|min| exchanged(row, ("min", min), ("mean", mean)));
        let above_max =
            latency.max.iter().filter_map(|max| exchanged(row, ("mean", mean), ("max", max)));
        findings.extend(below_min.chain(above_max));
    }
    findings
}

/// Reports quantiles of zero above one that is not.
fn zeros_above(
    row: &Row,
    tool: Option<Tool>,
    sequence: &[Named<'_>],
    zeros: &[usize],
) -> Option<Finding> {
    let first = *zeros.first()?;
    let names: Vec<&str> = zeros.iter().map(|at| sequence[*at].0.as_str()).collect();
    let (name, before) =
        sequence[..first].iter().rfind(|(_, f)| f.value() > 0.0).unwrap_or(&sequence[0]);
    let verb = if names.len() > 1 { "are" } else { "is" };
    let what = format!(
        "{} {verb} {}, but {name} is {}",
        names.join(" and "),
        sequence[first].1.text(),
        before.text()
    );
    let why = match tool {
        Some(Tool::Wrk) => {
            "wrk adds samples to its histogram after the run; with pipelining some are below its minimum: it counts them, but never reaches them, and prints 0"
        }
        _ => "a tool that had too few samples for these quantiles",
    };
    let possible = format!("at least {}", before.text());
    Some(finding(row, Check::Zero, what, None, Some(possible), vec![why.into()]))
}

/// Reports two latencies if the first, which should not be higher, is higher.
fn exchanged(row: &Row, low: (&str, &Figure), high: (&str, &Figure)) -> Option<Finding> {
    if low.1.low() <= high.1.high() {
        return None;
    }
    let what =
        format!("{} is {}, above {}, which is {}", low.0, low.1.text(), high.0, high.1.text());
    let factor = low.1.value() / high.1.value();
    let why = vec!["columns or rows that were exchanged".into()];
    Some(finding(row, Check::Order, what, Some(factor), None, why))
}
