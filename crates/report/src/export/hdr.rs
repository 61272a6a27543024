//! The formats of HdrHistogram: the interval log and the percentile distribution (`.hgrm`). Start
//! with [`hdr`] for a record, and [`hdr_log`] for any histograms.

use super::source::{File, Source};
use crate::escape::one_line;
use spec::name::percent_encoded;
use spec::problem::Problems;
use stats::Histogram;

/// One interval of a log.
pub struct LogInterval<'h> {
    /// Its name, without spaces, commas and line breaks.
    pub tag: String,
    /// Its beginning, from the start of the log.
    pub from_s: f64,
    /// Its length.
    pub length_s: f64,
    /// The times in it, in nanoseconds.
    pub times: &'h Histogram,
}

/// Writes an interval log, version 1.3. The maximum of each interval is in milliseconds, as the
/// format's own writers have it.
pub fn hdr_log(started_at_s: f64, comments: &[String], intervals: &[LogInterval<'_>]) -> String {
    let mut text = "#[Histogram log format version 1.3]\n".to_owned();
    for comment in comments {
        text += &format!("# {}\n", one_line(comment));
    }
    // With a base, it is clear that instants count from the start.
    text += &format!(
        "#[StartTime: {started_at_s:.3} (seconds since epoch)]\n#[BaseTime: {started_at_s:.3} (seconds since epoch)]\n"
    );
    text += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    for LogInterval { tag, from_s, length_s, times } in intervals {
        text += &format!(
            "Tag={tag},{from_s:.3},{length_s:.3},{:.3},{}\n",
            times.max_ns() as f64 / 1e6,
            times.to_hdr_base64()
        );
    }
    text
}

/// Writes the interval log of a record. Each measurement is an interval, with one line for each
/// kind of time, tagged `contender/cell/block/what`.
///
/// # Errors
/// There is no measurement, or the time of one cannot be read.
pub fn hdr(source: &Source<'_>) -> Result<String, Problems> {
    let made = source.measurements()?;
    let mut timed = made
        .iter()
        .map(|made| made.began_ms().map(|ms| (ms, made)))
        .collect::<Result<Vec<_>, Problems>>()?;
    timed.sort_by_key(|(began_ms, _)| *began_ms);
    let start_ms = timed.first().map_or(0, |(began_ms, _)| *began_ms);
    let intervals: Vec<LogInterval<'_>> = timed
        .iter()
        .flat_map(|(began_ms, made)| {
            let who = format!(
                "{}/{}/{}",
                made.trial.contender,
                percent_encoded(&made.measurement.cell),
                made.trial.block
            );
            made.distributions().map(move |(what, times)| LogInterval {
                tag: format!("{who}/{what}"),
                from_s: began_ms.saturating_sub(start_ms) as f64 / 1e3,
                length_s: made.measurement.duration_ns as f64 / 1e9,
                times,
            })
        })
        .collect();
    let header = &source.record.header;
    let comments = [
        format!(
            "faceoff {}, experiment {}, record {}",
            header.faceoff, header.experiment.name, header.id
        ),
        "values are nanoseconds; tags are contender/cell/block/what, the cell percent-encoded"
            .to_owned(),
    ];
    Ok(hdr_log(start_ms as f64 / 1e3, &comments, &intervals))
}

/// Writes the percentile distributions of a record, with one file for each kind of time in each
/// measurement. Values are milliseconds.
///
/// # Errors
/// There is no measurement.
pub fn hgrm<'a>(source: &Source<'a>) -> Result<impl Iterator<Item = File> + use<'a>, Problems> {
    let each = source.measurements()?.into_iter().flat_map(|made| {
        made.distributions().map(move |(what, times)| File {
            name: format!("{}.{what}.hgrm", made.stem()),
            text: spectrum(times, 5, 12),
        })
    });
    Ok(each)
}

/// Writes the percentile distribution as HdrHistogram prints it, in milliseconds. There are `steps`
/// lines for each halving of the remaining share, and percentiles have `digits` digits.
pub fn spectrum(times: &Histogram, steps: u32, digits: usize) -> String {
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for (ns, quantile, count) in times.spectrum(steps) {
        let inverse =
            if quantile < 1.0 { format!("{:.2}", 1.0 / (1.0 - quantile)) } else { "inf".into() };
        text += &format!(
            "{:>12.3} {quantile:>14.digits$} {count:>10} {inverse:>14}\n",
            ns as f64 / 1e6
        );
    }
    let ms = |ns: f64| ns / 1e6;
    text += &format!(
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n",
        ms(times.mean_ns()),
        ms(times.deviation_ns())
    );
    text += &format!(
        "#[Max     = {:>12.3}, Total count    = {:>12}]\n",
        ms(times.max_ns() as f64),
        times.len()
    );
    let (buckets, steps) = times.layout();
    text += &format!("#[Buckets = {buckets:>12}, SubBuckets     = {steps:>12}]\n");
    text
}
