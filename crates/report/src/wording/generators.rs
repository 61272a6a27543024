//! Several load generators under one load, in words.

use record::judgement::{GeneratorComparison, GeneratorLine, Judgement};
use record::{Record, STEAL_SHARE_MAX};
use spec::units::show_share;
use std::collections::BTreeSet;

/// The name of our own generator next to the others.
const OURS: &str = "faceoff";

/// Returns the name of the generator of a line.
pub(crate) fn generator_name(line: &GeneratorLine) -> &'static str {
    line.driver.map_or(OURS, |driver| driver.name())
}

/// Returns how many trials of a line were used, and of how many if CPU steal excluded some.
pub(crate) fn trials_of_generator(line: &GeneratorLine) -> String {
    match line.stolen {
        0 => line.used.to_string(),
        stolen => format!("{} of {}", line.used, line.used + stolen),
    }
}

/// Returns why trials of generators under one load were excluded, if any were.
pub(crate) fn why_excluded(of: &GeneratorComparison) -> Option<String> {
    of.lines.iter().any(|line| line.stolen > 0).then(|| {
        format!(
            "Trials in which the hypervisor took more than {} of the CPU time are excluded.",
            show_share(STEAL_SHARE_MAX)
        )
    })
}

/// Returns the title of the generators under one load.
pub(crate) fn title_of_generators(of: &GeneratorComparison) -> String {
    format!("Generators before {} ({}, workload {})", of.contender, of.load, of.workload)
}

/// Returns the answer of an experiment that compares generators.
pub(crate) fn generators_sentence(judgement: &Judgement) -> Option<String> {
    let lines =
        judgement.external_generators.iter().flat_map(|of| &of.lines).filter(|line| line.used > 0);
    let names: BTreeSet<&str> = lines.map(generator_name).collect();
    (!names.is_empty()).then(|| {
        let all: Vec<&str> = names.into_iter().collect();
        format!(
            "{} loaded {}. The tables show what each reached, reported and used; there is no ranking.",
            all.join(", "),
            judgement.baseline
        )
    })
}

/// Writes a paragraph for each cell that was not measured.
pub(crate) fn skipped_cells(record: &Record) -> String {
    record.header.skipped_cells.iter().fold(String::new(), |text, cell| {
        text + &format!("\nskipped: cell {}: {}\n", cell.cell, cell.reason)
    })
}
