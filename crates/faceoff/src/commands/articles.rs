//! `faceoff articles`: shows which claims of articles the records here confirm or refute.
//!
//! For each experiment the newest full record counts. `report::results` writes the pages, and
//! `faceoff serve --export` writes the same as a site.

use crate::exit::Error;
use crate::output::{line, message, print};
use clap::Args;
use judge::audit::audit;
use lab::record_files::{create_folder, write_file};
use record::Record;
use record::judgement::Evidence;
use report::{Results, Study, Tried};
use spec::article::Article;
use spec::catalog::Catalog;
use spec::experiment::Experiment;
use spec::problem::Problems;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `faceoff articles`.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 written, 1 cannot be written, 2 usage or a problem in a file."
)]
pub struct Options {
    /// Folders of records, compressed records, or files of their judgements, also of other machines;
    /// the newest full run of each experiment counts [default: all records in records/]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write an index, a page for each article and charts into this folder, instead of pages
    /// without charts to standard output
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Also write the judgement of each experiment that was run into this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Also write the record of each experiment that was run into this folder, compressed
    #[arg(long, value_name = "FOLDER")]
    records: Option<PathBuf>,
}

/// A run: a record that is still to be judged, or a stored judgement.
pub(super) enum Run {
    Record(Box<Record>),
    Judged(Box<Evidence>),
}

impl Run {
    fn experiment(&self) -> &str {
        match self {
            Run::Record(record) => &record.header.experiment.name,
            Run::Judged(evidence) => &evidence.experiment,
        }
    }

    /// Ranks runs of one experiment: full runs above quick ones, then newer above older.
    fn rank(&self) -> (bool, &str) {
        match self {
            Run::Record(record) => (!record.header.quick, &record.header.recorded_at),
            Run::Judged(evidence) => (!evidence.quick, &evidence.recorded_at),
        }
    }

    fn evidence(self) -> Evidence {
        match self {
            Run::Record(record) => judge::judge(&record).into(),
            Run::Judged(evidence) => *evidence,
        }
    }
}

/// Runs the subcommand.
pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let runs = newest(match options.paths.as_slice() {
        [] => runs_in(&catalog.dir().join("records")),
        named => named.iter().map(|path| read_run(path)).collect::<Result<_, _>>()?,
    });
    if let Some(folder) = &options.records {
        create_folder(folder, "--records")?;
        runs.values().try_for_each(|run| keep_record(folder, run))?;
    }
    let studies = studies(catalog, runs)?;
    if let Some(folder) = &options.keep {
        let of_runs = studies.iter().flat_map(|study| &study.tried);
        of_runs
            .filter_map(|tried| tried.run.as_ref())
            .try_for_each(|evidence| keep(folder, evidence))?;
    }
    let results = report::results(&studies, options.out.is_some());
    match &options.out {
        Some(folder) => write(folder, &results, "--out")?,
        None => print(
            &results.pages.iter().map(|page| page.text.as_str()).collect::<Vec<_>>().join("\n"),
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads every article with its audit, its experiments and the runs that count, by experiment.
pub(super) fn studies(
    catalog: &Catalog,
    mut runs: BTreeMap<String, Run>,
) -> Result<Vec<Study>, Error> {
    let mut experiments = Vec::new();
    for name in catalog.experiment_names() {
        experiments.push(catalog.experiment(&name)?);
    }
    let mut studies = Vec::new();
    for name in catalog.article_names() {
        let article = catalog.article(&name)?;
        let of_article: Vec<Experiment> =
            experiments.iter().filter(|e| e.article() == Some(&name)).cloned().collect();
        check_answers(&article, &of_article)?;
        let tried = of_article.into_iter().map(|experiment| Tried {
            run: runs.remove(&experiment.name).map(Run::evidence),
            experiment,
        });
        studies.push(Study { audit: audit(&article), tried: tried.collect(), article });
    }
    Ok(studies)
}

/// Checks that an article's experiments have the claims that answer its question.
fn check_answers(article: &Article, experiments: &[Experiment]) -> Result<(), Problems> {
    let answers = article.summary.iter().flat_map(|summary| &summary.answers);
    for answer in answers {
        let mut named = experiments.iter().filter(|of| of.name == answer.experiment);
        if !named.any(|of| of.claims.iter().any(|claim| answer.is(claim))) {
            let (name, metric) = (&article.name, answer.metric.describe().name);
            let (experiment, contender) = (&answer.experiment, &answer.contender);
            return Err(Problems::plain(
                format!(
                    "[summary] of the article {name}: no claim of {experiment} is about {metric} \
                     of {contender} as the answer has it"
                ),
                format!(
                    "name a claim of an experiment with `article = \"{name}\"`, with its cell, \
                     margin and value"
                ),
            ));
        }
    }
    Ok(())
}

/// Writes pages, pictures and the index, and prints the path of the index. `option` is the
/// command-line option that names the folder.
pub(super) fn write(folder: &Path, results: &Results, option: &str) -> Result<(), Error> {
    let pictures = folder.join(report::PICTURES);
    create_folder(&pictures, option)?;
    for file in &results.pictures {
        write_file(&pictures.join(&file.name), &file.text)?;
    }
    for file in results.pages.iter().chain([&results.index]) {
        write_file(&folder.join(&file.name), &file.text)?;
    }
    line(&folder.join(&results.index.name).display().to_string());
    Ok(())
}

/// Reads a run: a judgement from a `.json` file, else a record from its folder or file.
fn read_run(path: &Path) -> Result<Run, Problems> {
    if path.extension().is_some_and(|extension| extension == "json") {
        Evidence::read(path).map(|evidence| Run::Judged(Box::new(evidence)))
    } else {
        Record::read(path).map(|record| Run::Record(Box::new(record)))
    }
}

/// Reads the readable runs of a folder: records, and files of judgements. The folder may be a
/// record itself.
pub(super) fn runs_in(folder: &Path) -> Vec<Run> {
    let is_record = |path: &Path| path.join(record::FILE_NAME).is_file();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = match is_record(folder) {
        true => vec![folder.to_owned()],
        false => entries.map(|entry| entry.path()).collect(),
    };
    let is_judgement =
        |path: &Path| path.is_file() && path.extension().is_some_and(|e| e == "json");
    let runs = paths.iter().filter(|path| is_record(path) || is_judgement(path));
    runs.filter_map(|path| read_run(path).map_err(|e| message(&format!("ignored: {e}"))).ok())
        .collect()
}

/// Returns the run that counts for each experiment, by the experiment's name.
pub(super) fn newest(runs: Vec<Run>) -> BTreeMap<String, Run> {
    let mut best: BTreeMap<String, Run> = BTreeMap::new();
    for run in runs {
        if best.get(run.experiment()).is_none_or(|before| before.rank() < run.rank()) {
            best.insert(run.experiment().to_owned(), run);
        }
    }
    best
}

/// Writes the judgement of a run into a folder.
fn keep(folder: &Path, evidence: &Evidence) -> Result<(), Error> {
    create_folder(folder, "--keep")?;
    let text = serde_json::to_string_pretty(evidence).expect("plain data") + "\n";
    Ok(write_file(&folder.join(format!("{}.json", evidence.experiment)), text)?)
}

/// Writes the record of a run into a folder, compressed. A stored judgement has none.
fn keep_record(folder: &Path, run: &Run) -> Result<(), Error> {
    let Run::Record(record) = run else { return Ok(()) };
    let file = record.folder.join(record::FILE_NAME);
    let text = std::fs::read(&file).map_err(|e| {
        Problems::plain(
            format!("{} cannot be read: {e}", file.display()),
            "name the folder of a run",
        )
    })?;
    let name = format!("{}.record.zst", run.experiment());
    Ok(write_file(&folder.join(name), record::compress_record(&text))?)
}
