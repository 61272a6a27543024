//! A record as JUnit XML, which CI systems show as tests. There is one test for each claim, and two
//! for the measurement itself.

use crate::escape::xml;
use crate::wording::answer::answer;
use crate::wording::findings::fault_counts;
use record::Record;
use record::judgement::{ClaimOutcome, ClaimVerdict, Judgement};

/// The result of a test.
enum Ended {
    Passed,
    /// `failure`, `error` or `skipped`, with a word, a sentence and the full text.
    Otherwise(&'static str, &'static str, String, String),
}

/// Writes a record as tests. A refuted claim is a failure, an undecided one is skipped, and an
/// unsound or incomplete measurement is an error.
pub fn junit(record: &Record, judgement: &Judgement) -> String {
    let experiment = &record.header.experiment.name;
    let mut cases = vec![
        ("the measurement is sound".to_owned(), sound(judgement)),
        ("the run is complete".to_owned(), complete(record, judgement)),
    ];
    let whole = cases.len();
    cases.extend(judgement.claims.iter().map(|claim| (claim.claim.text.clone(), of_claim(claim))));
    let (run, claims) = cases.split_at(whole);
    let suites = [("run", run), ("claims", claims)];
    let answer = answer(record, judgement);
    let properties = [
        ("record", record.header.id.as_str()),
        ("faceoff", record.header.faceoff.as_str()),
        ("processor", record.header.machine.cpu.as_str()),
        ("kernel", record.header.machine.kernel.as_str()),
        ("answer", answer.sentence.as_str()),
    ];
    let properties: String = properties
        .iter()
        .map(|(name, value)| {
            format!("      <property name=\"{name}\" value=\"{}\"/>\n", xml(value))
        })
        .collect();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"faceoff {}\" {}>\n",
        xml(experiment),
        counts(cases.iter().map(|(_, ended)| ended))
    );
    for (suite, cases) in suites.iter().filter(|(_, cases)| !cases.is_empty()) {
        text += &format!(
            "  <testsuite name=\"{}: {suite}\" timestamp=\"{}\" {}>\n    <properties>\n{properties}    </properties>\n",
            xml(experiment),
            // The format has no time zone; records are in UTC.
            xml(record.header.recorded_at.trim_end_matches('Z')),
            counts(cases.iter().map(|(_, ended)| ended))
        );
        for (name, ended) in *cases {
            let head = format!(
                "    <testcase classname=\"{}.{suite}\" name=\"{}\"",
                xml(experiment),
                xml(name)
            );
            text += &match ended {
                Ended::Passed => format!("{head}/>\n"),
                Ended::Otherwise(kind, word, sentence, all) => {
                    let lines: Vec<String> = all.lines().map(xml).collect();
                    // A skipped test has no type.
                    let of = if *kind == "skipped" {
                        String::new()
                    } else {
                        format!(" type=\"{word}\"")
                    };
                    format!(
                        "{head}>\n      <{kind} message=\"{}\"{of}>{}</{kind}>\n    </testcase>\n",
                        xml(sentence),
                        lines.join("\n")
                    )
                }
            };
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn counts<'e>(all: impl Iterator<Item = &'e Ended> + Clone) -> String {
    let count = |kind: &str| {
        all.clone().filter(|ended| matches!(ended, Ended::Otherwise(of, ..) if *of == kind)).count()
    };
    let tests = all.clone().count();
    format!(
        "tests=\"{tests}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        count("failure"),
        count("error"),
        count("skipped")
    )
}

fn sound(judgement: &Judgement) -> Ended {
    if !judgement.unsound {
        return Ended::Passed;
    }
    let kinds: Vec<String> =
        fault_counts(&judgement.faults).iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    let faults = judgement
        .faults
        .iter()
        .map(|f| format!("{}: {}: {}\nhint: {}", f.place, f.kind, f.evidence, f.hint));
    let sentence =
        format!("there is no ranking, as the measurement is unsound ({})", kinds.join(", "));
    Ended::Otherwise("error", "unsound", sentence, faults.collect::<Vec<_>>().join("\n"))
}

fn complete(record: &Record, judgement: &Judgement) -> Ended {
    if !judgement.incomplete {
        return Ended::Passed;
    }
    let disqualified = judgement
        .disqualified
        .iter()
        .map(|d| format!("{} is disqualified: {}", d.contender, d.reason));
    let skipped = record
        .header
        .skipped
        .iter()
        .filter(|s| s.failed)
        .map(|s| format!("{}: {}", s.contender, s.reason));
    let dropped = record
        .dropped()
        .map(|(name, failure)| format!("{name} ({}): {}", failure.stage, failure.cause));
    let failed = record.trials.iter().filter_map(|t| Some((t, t.failure.as_ref()?)));
    let failed = failed.map(|(t, failure)| {
        format!("block {}, {} ({}): {}", t.block, t.contender, failure.stage, failure.cause)
    });
    let missing = record.missing().len();
    let missing = (missing > 0).then(|| format!("{missing} planned trials are missing"));
    let all: Vec<String> =
        disqualified.chain(skipped).chain(dropped).chain(failed).chain(missing).collect();
    let sentence = all.first().cloned().unwrap_or_default();
    Ended::Otherwise("error", "incomplete", sentence, all.join("\n"))
}

fn of_claim(claim: &ClaimVerdict) -> Ended {
    let kind = match claim.outcome {
        ClaimOutcome::Confirmed => return Ended::Passed,
        ClaimOutcome::Refuted => "failure",
        ClaimOutcome::Undecided => "skipped",
    };
    let cells = claim
        .cells
        .iter()
        .map(|c| format!("{}: {}: {}", c.cell, c.outcome.name(), c.verdict.phrase()));
    let word = claim.outcome.name();
    Ended::Otherwise(
        kind,
        word,
        format!("{word}: {}", claim.reason),
        cells.collect::<Vec<_>>().join("\n"),
    )
}
