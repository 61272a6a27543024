//! Checks that every figure of an input is read, kept or noted, or that the input is refused.

use super::*;
use proptest::prelude::*;

const SAMPLES: [&str; 30] = [
    include_str!("../../../../../bench/samples/wrk.txt"),
    include_str!("../../../../../bench/samples/wrk-errors.txt"),
    include_str!("../../../../../bench/samples/wrk2.txt"),
    include_str!("../../../../../bench/samples/k6.json"),
    include_str!("../../../samples/outputs/faceoff-wrk2.txt"),
    include_str!("../../../samples/outputs/ab.txt"),
    include_str!("../../../samples/outputs/hey.txt"),
    include_str!("../../../samples/outputs/oha.txt"),
    include_str!("../../../samples/outputs/oha.json"),
    include_str!("../../../samples/outputs/h2load-http1.txt"),
    include_str!("../../../samples/outputs/h2load-http2.txt"),
    include_str!("../../../samples/outputs/h2load-1.69.txt"),
    include_str!("../../../samples/outputs/h2load-1.70.txt"),
    include_str!("../../../samples/outputs/h2load-1.70.json"),
    include_str!("../../../samples/outputs/k6.txt"),
    include_str!("../../../samples/outputs/k6.json"),
    include_str!("../../../samples/outputs/gatling.txt"),
    include_str!("../../../samples/outputs/vegeta.txt"),
    include_str!("../../../samples/outputs/vegeta.json"),
    include_str!("../../../samples/outputs/bombardier.txt"),
    include_str!("../../../samples/outputs/bombardier.json"),
    include_str!("../../../samples/outputs/autocannon.txt"),
    include_str!("../../../samples/outputs/autocannon.json"),
    include_str!("../../../samples/outputs/zrk.txt"),
    include_str!("../../../samples/outputs/zrk.json"),
    include_str!("../../../samples/outputs/fortio.txt"),
    include_str!("../../../samples/outputs/fortio.json"),
    include_str!("../../../samples/outputs/locust.csv"),
    include_str!("../../../samples/outputs/goose.txt"),
    include_str!("../../../samples/outputs/gatling-stats.json"),
];

/// Returns where the figures of a text begin and end, without timestamps.
fn figures(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut figures = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let mut from = None;
        for (at, c) in line.char_indices().chain([(line.len(), '\n')]) {
            match from {
                None if c.is_ascii_digit() => from = Some(at),
                Some(begin) if !c.is_ascii_digit() => {
                    figures.extend(
                        (!is_date(line, begin)).then(|| line_start + begin..line_start + at),
                    );
                    from = None;
                }
                _ => {}
            }
        }
        line_start += line.len();
    }
    figures
}

/// Returns whether a digit belongs to a timestamp.
fn is_date(line: &str, at: usize) -> bool {
    let bytes = line.as_bytes();
    let begin = (0..at)
        .rev()
        .find(|i| !(bytes[*i].is_ascii_digit() || b":-.T+Z".contains(&bytes[*i])))
        .map_or(0, |i| i + 1);
    let end = (at..bytes.len())
        .find(|i| !(bytes[*i].is_ascii_digit() || b":-.T+Z".contains(&bytes[*i])))
        .unwrap_or(bytes.len());
    let word = &line[begin..end];
    word.matches(':').count() >= 2
}

fn debug(text: &str) -> String {
    format!("{:?}", read_outputs("run", text.as_bytes()).map_err(|e| e.to_string()))
}

/// Changes the first digit of a figure.
fn changed(text: &str, figure: &std::ops::Range<usize>) -> String {
    let digit = &text[figure.start..figure.start + 1];
    format!(
        "{}{}{}",
        &text[..figure.start],
        if digit == "7" { "8" } else { "7" },
        &text[figure.start + 1..]
    )
}

#[test]
fn a_changed_figure_changes_the_result() {
    let mut lost = Vec::new();
    for text in SAMPLES.into_iter().chain([K6]) {
        let before = debug(text);
        assert!(before.starts_with("Ok"), "{before}\n{text}");
        for figure in figures(text) {
            if debug(&changed(text, &figure)) == before {
                let line = text[..figure.start].matches('\n').count();
                lost.push(format!(
                    "{} in `{:.120}`",
                    &text[figure.clone()],
                    text.lines().nth(line).unwrap_or_default().trim()
                ));
            }
        }
    }
    assert!(lost.is_empty(), "{} figures are silently unused:\n{}", lost.len(), lost.join("\n"));
}

#[test]
fn valid_samples_have_no_unknown_line() {
    for text in SAMPLES {
        let notes: Vec<String> = read_outputs("run", text.as_bytes())
            .unwrap()
            .into_iter()
            .flat_map(|o| o.notes)
            .map(|note| note.what)
            .collect();
        let unknown: Vec<&String> =
            notes.iter().filter(|note| note.contains("not known")).collect();
        assert!(
            unknown.len()
                <= usize::from(
                    text.contains("[INFO]")
                        || text.contains("errs=0")
                        || text.contains("Measured by faceoff")
                ),
            "{unknown:?}\n{text}"
        );
    }
}

proptest! {
    /// A figure that is damaged is noticed.
    #[test]
    fn a_damaged_figure_is_noticed(sample in 0usize..SAMPLES.len(), at in any::<prop::sample::Index>(), junk in "[a-z]{2,6}|NaN|-|1,5|2 parsecs|[0-9]{1,3}[a-z]{4}") {
        let text = SAMPLES[sample];
        let all = figures(text);
        let figure = &all[at.index(all.len())];
        let damaged = format!("{}{junk}{}", &text[..figure.start], &text[figure.end..]);
        prop_assume!(damaged != text);
        prop_assert_ne!(debug(&damaged), debug(text), "{}", &damaged[figure.start.saturating_sub(60).min(figure.start)..]);
    }

    /// A line that is added is read, kept or noted.
    #[test]
    fn an_added_line_is_noticed(sample in 0usize..SAMPLES.len(), at in any::<prop::sample::Index>(), line in "[A-Za-z][A-Za-z /%:]{0,20}[0-9]{1,6}(\\.[0-9]{1,3})?(ms|%| secs|/s|MB)?") {
        let text = SAMPLES[sample];
        prop_assume!(!text.starts_with(['{', '[']));
        let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        let at = starts[at.index(starts.len())];
        let added = format!("{}{line}\n{}", &text[..at], &text[at..]);
        prop_assert_ne!(debug(&added), debug(text));
    }
}
