//! Samples as JMeter saves them (JTL, as CSV): one for each right answer of a measurement.
//!
//! A record has histograms, and by second how many were answered, the median, the 99th percentile and the longest. A sample is made for each
//! answer of the histogram and given to a second so that all of these hold there as well: what JMeter sums up is then what was measured,
//! though no single line is a request that was seen.

use super::{File, Made, Source};
use model::problem::Problems;
use model::record::{Measurement, Second};
use model::units::show_number;
use stats::{Histogram, smallest_sample, supported_quantiles};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const COLUMNS: [&str; 11] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "success",
    "bytes",
    "grpThreads",
    "allThreads",
    "Latency",
];

/// So many samples are some gigabytes.
const MOST: u64 = 50_000_000;
const SECOND_NS: u64 = 1_000_000_000;
const MS_NS: u64 = 1_000_000;

/// A file for each measurement, so that JMeter, which knows no blocks, finds in each one label and one stretch of time; in place of a file the
/// place and the reason, where what JMeter made of it would not be true.
///
/// # Errors
/// There is no measurement.
pub fn jtl<'a>(source: &Source<'a>) -> Result<impl Iterator<Item = Result<File, String>> + use<'a>, Problems> {
    let record = source.record;
    let each = source.measurements()?.into_iter().map(move |made| {
        let cell = record.header.experiment.cell(&made.measurement.cell);
        let threads = cell.map_or(made.measurement.generator.in_flight_max, |cell| match cell.load.has_schedule() {
            true => made.measurement.generator.in_flight_max,
            false => cell.load.in_flight_max(),
        });
        let text = samples(&made, threads, record.header.experiment.design.margin);
        text.map(|text| File { name: format!("{}.jtl", made.stem()), text }).map_err(|why| format!("{}: {why}", made.place()))
    });
    Ok(each)
}

fn samples(made: &Made<'_>, threads: u64, margin: f64) -> Result<String, String> {
    let m = made.measurement;
    is_told_truly(m, margin)?;
    let began_ms = made.began_ms().map_err(|e| e.list().iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; "))?;
    let mut answers = answers(m);
    answers.sort_by_key(|answer| answer.whole_at_ns);
    let label = format!("{} {}", made.trial.contender, m.cell);
    let mut statuses = Shares::new(m.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect());
    let (n, bytes, threads) = (answers.len() as u128, u128::from(m.received_bytes), threads.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: [&str; 11]| writer.write_record(fields).expect("memory takes all that is written");
    write(COLUMNS);
    for (at, answer) in (0u128..).zip(&answers) {
        let elapsed_ms = whole_ms(answer.took_ns);
        let whole_at_ms = began_ms.saturating_add((answer.whole_at_ns / MS_NS) as i64);
        // Nothing was sent before it began.
        let began = whole_at_ms.saturating_sub(i64::try_from(elapsed_ms).unwrap_or(i64::MAX)).max(began_ms).to_string();
        // Answers are as long as they are on average, and all together as long as they were.
        let long = (bytes * (at + 1) / n - bytes * at / n).to_string();
        let (elapsed, status) = (elapsed_ms.to_string(), statuses.next(at as u64 + 1, n as u64));
        write([&began, &elapsed, &label, status, "", "faceoff", "true", &long, &threads, &threads, "0"]);
    }
    let bytes = writer.into_inner().expect("memory takes all that is written");
    Ok(String::from_utf8(bytes).expect("text is written"))
}

/// Whether what JMeter makes of samples is what was measured.
fn is_told_truly(m: &Measurement, margin: f64) -> Result<(), String> {
    let (counts, times) = (&m.counts, m.times());
    let not_right = counts.failed().saturating_add(counts.declined);
    if not_right > 0 {
        return Err(format!(
            "{not_right} requests were not answered rightly: JMeter's averages and quantiles are of these as well, and a record has the times of right answers alone"
        ));
    }
    if m.unanswered() > 0 {
        return Err(format!(
            "{} requests had no answer when waiting ended: they took longest of all, and JMeter's quantiles would be without them",
            m.unanswered()
        ));
    }
    if times.is_empty() {
        return Err("nothing was answered".into());
    }
    if times.len() > MOST {
        return Err(format!("{} samples are more than the {MOST} that a file is given", times.len()));
    }
    let in_seconds = m.seconds.iter().fold(0u64, |sum, second| sum.saturating_add(second.correct));
    if times.len() != counts.correct || in_seconds != counts.correct {
        return Err(format!("of {} right answers, {} have a time and {in_seconds} a second", counts.correct, times.len()));
    }
    let rounded: f64 = times.recorded().map(|(ns, count)| whole_ms(ns) as f64 * count as f64).sum();
    let mut told = vec![("mean".to_owned(), rounded / times.len() as f64, times.mean_ns() / 1e6)];
    told.extend(supported_quantiles(times.len(), &[0.5, 0.9, 0.95, 0.99]).map(|q| {
        let ns = times.quantile_ns(q);
        (format!("{} % quantile", show_number(q * 100.0)), whole_ms(ns) as f64, ns as f64 / 1e6)
    }));
    let off = |(_, told, true_ms): &&(String, f64, f64)| (told - true_ms).abs() > margin * true_ms;
    match told.iter().find(off) {
        Some((what, told, true_ms)) => Err(format!(
            "JMeter counts whole milliseconds: it would show a {what} of {} ms that is {} ms",
            show_number(*told),
            show_number(*true_ms)
        )),
        None => Ok(()),
    }
}

fn whole_ms(ns: u64) -> u64 {
    ns / MS_NS + u64::from(ns % MS_NS >= MS_NS / 2)
}

/// An answer: between which times it lies, as far as its second tells, when it was whole, and which time it was given.
struct Answer {
    least_ns: u64,
    most_ns: u64,
    whole_at_ns: u64,
    took_ns: u64,
}

/// An answer for each sample of the histogram, with the counts, medians, 99th percentiles and longest of the seconds, as far as the
/// histogram allows.
fn answers(m: &Measurement) -> Vec<Answer> {
    let mut all: Vec<Answer> = (0u64..).zip(&m.seconds).flat_map(|(number, second)| of_second(number, second, m.duration_ns)).collect();
    all.sort_by_key(|answer| answer.least_ns);
    give(&mut all, m.times());
    all
}

/// The answers of a second, evenly over it.
fn of_second(number: u64, second: &Second, duration_ns: u64) -> impl Iterator<Item = Answer> + use<> {
    let begins_ns = number.saturating_mul(SECOND_NS);
    let long_ns = duration_ns.saturating_sub(begins_ns).clamp(1, SECOND_NS);
    let n = second.correct;
    let near = |ns: u64| (ns - ns / 1000, ns.saturating_add(ns / 1000 + 1));
    let known = |q: f64, ns: Option<u64>| ns.filter(|_| n >= smallest_sample(q)).map(|ns| ((q * n as f64).ceil() as u64, near(ns)));
    let marks = [known(0.5, second.p50_ns), known(0.99, second.p99_ns), second.max_ns.map(|ns| (n, near(ns)))];
    (1..=n).map(move |rank| {
        // At a mark it is known; between two it lies between them.
        let below = marks.iter().flatten().filter(|(at, _)| *at <= rank).map(|(_, (least, _))| *least).max();
        let above = marks.iter().flatten().filter(|(at, _)| *at >= rank).map(|(_, (_, most))| *most).min();
        let within = (u128::from(long_ns) * (2 * u128::from(rank) - 1) / (2 * u128::from(n))) as u64;
        let whole_at_ns = begins_ns.saturating_add(within);
        Answer { least_ns: below.unwrap_or(0), most_ns: above.unwrap_or(u64::MAX), whole_at_ns, took_ns: 0 }
    })
}

/// Gives each time of the histogram to an answer that it fits, the one whose most is nearest first: where every time can be given to one that
/// it fits, this does so. What fits none, as seconds of a closed load count from when a request was due, goes to the nearest.
fn give(answers: &mut [Answer], times: &Histogram) {
    let (mut open, mut next) = (BinaryHeap::new(), 0);
    for (ns, count) in times.recorded() {
        for _ in 0..count {
            while answers.get(next).is_some_and(|answer| answer.least_ns <= ns) {
                open.push(Reverse((answers[next].most_ns, next)));
                next += 1;
            }
            let at = open.pop().map(|Reverse((_, at))| at).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            if let Some(answer) = answers.get_mut(at) {
                answer.took_ns = ns;
            }
        }
    }
}

/// Words, each so often, evenly mixed.
struct Shares {
    words: Vec<(String, u64)>,
    given: Vec<u64>,
}

impl Shares {
    fn new(words: Vec<(String, u64)>) -> Shares {
        Shares { given: vec![0; words.len()], words }
    }

    /// The word that is furthest behind its share after so many of all; an empty one where there is none.
    fn next(&mut self, after: u64, all: u64) -> &str {
        let behind = |at: usize| {
            let due = self.words[at].1 as f64 * after as f64 / all as f64;
            due - self.given[at] as f64
        };
        let Some(at) = (0..self.words.len()).max_by(|a, b| behind(*a).total_cmp(&behind(*b))) else { return "" };
        self.given[at] += 1;
        &self.words[at].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(of: &[u64]) -> Second {
        let mut times = Histogram::new();
        of.iter().for_each(|ns| times.record(*ns));
        let quantile = |q| (times.len() >= smallest_sample(q)).then(|| times.quantile_ns(q));
        let max_ns = of.iter().copied().max();
        Second { correct: times.len(), not_correct: 0, p50_ns: quantile(0.5), p99_ns: quantile(0.99), max_ns, max_at_ns: None }
    }

    #[test]
    fn every_second_has_its_own_median_tail_and_longest() {
        // Two seconds of ten milliseconds, then one of a hundred, with a tail of its own each.
        let typical = [10, 10, 100].map(|ms| ms * MS_NS);
        let seconds: Vec<Vec<u64>> = typical
            .iter()
            .zip(1u64..)
            .map(|(ns, at)| (0..700).map(|i| ns + i * 1_000 + if i > 690 { at * ns } else { 0 }).collect())
            .collect();
        let mut times = Histogram::new();
        seconds.iter().flatten().for_each(|ns| times.record(*ns));
        let told: Vec<Second> = seconds.iter().map(|of| second(of)).collect();
        let mut all: Vec<Answer> = (0u64..).zip(&told).flat_map(|(number, of)| of_second(number, of, 3 * SECOND_NS)).collect();
        all.sort_by_key(|answer| answer.least_ns);
        give(&mut all, &times);
        let mut again = Histogram::new();
        all.iter().for_each(|answer| again.record(answer.took_ns));
        assert!(times.recorded().eq(again.recorded()), "every time once");
        for (number, of) in (0u64..).zip(&told) {
            let here = all.iter().filter(|a| a.whole_at_ns / SECOND_NS == number).map(|a| a.took_ns).collect::<Vec<_>>();
            let found = second(&here);
            let near = |a: Option<u64>, b: Option<u64>| a.unwrap().abs_diff(b.unwrap()) <= b.unwrap() / 400;
            assert_eq!(found.correct, of.correct);
            assert!(near(found.p50_ns, of.p50_ns) && near(found.p99_ns, of.p99_ns) && near(found.max_ns, of.max_ns), "{found:?} {of:?}");
        }
    }

    #[test]
    fn words_are_mixed_by_their_shares() {
        let mut shares = Shares::new(vec![("200".into(), 6), ("201".into(), 3)]);
        let all: Vec<String> = (1..=9).map(|after| shares.next(after, 9).to_owned()).collect();
        assert_eq!(all.iter().filter(|word| *word == "201").count(), 3);
        assert!(all[..3].contains(&"201".into()) && all[6..].contains(&"201".into()), "{all:?}");
        assert_eq!(Shares::new(vec![]).next(1, 1), "");
    }

    #[test]
    fn milliseconds_are_rounded_to_the_nearest() {
        assert_eq!([0, 499_999, 500_000, 1_499_999, 1_500_000].map(whole_ms), [0, 0, 1, 1, 2]);
    }
}
