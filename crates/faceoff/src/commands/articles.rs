//! `faceoff articles`: shows which claims of articles the records here confirm or refute.
//!
//! For each experiment the newest full record counts. `report::articles` writes the pages.

use crate::exit::Error;
use crate::output::{line, message, print};
use clap::Args;
use lab::record_files::{create_folder, write_file};
use record::Record;
use record::judgement::Evidence;
use report::{Results, Tried};
use spec::catalog::Catalog;
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
enum Run {
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
    let mut runs = newest(read_runs(catalog, &options.paths)?);
    if let Some(folder) = &options.records {
        create_folder(folder, "--records")?;
        runs.values().try_for_each(|run| keep_record(folder, run))?;
    }
    let mut experiments = Vec::new();
    for name in catalog.experiment_names() {
        experiments.push(catalog.experiment(&name)?);
    }
    let mut articles = Vec::new();
    for name in catalog.article_names() {
        let of_article = experiments.iter().filter(|e| e.article() == Some(&name));
        let tried = of_article
            .map(|experiment| Tried {
                experiment: experiment.clone(),
                run: runs.remove(&experiment.name).map(Run::evidence),
            })
            .collect::<Vec<_>>();
        if let Some(folder) = &options.keep {
            tried
                .iter()
                .filter_map(|t| t.run.as_ref())
                .try_for_each(|evidence| keep(folder, evidence))?;
        }
        articles.push((catalog.article(&name)?, tried));
    }
    let results = report::articles(&articles, options.out.is_some());
    match &options.out {
        Some(folder) => write(folder, &results)?,
        None => print(
            &results.pages.iter().map(|page| page.text.as_str()).collect::<Vec<_>>().join("\n"),
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes pages, pictures and the index, and prints the path of the index.
fn write(folder: &Path, results: &Results) -> Result<(), Error> {
    let pictures = folder.join(report::PICTURES);
    create_folder(&pictures, "--out")?;
    for file in &results.pictures {
        write_file(&pictures.join(&file.name), &file.text)?;
    }
    for file in results.pages.iter().chain([&results.index]) {
        write_file(&folder.join(&file.name), &file.text)?;
    }
    line(&folder.join(&results.index.name).display().to_string());
    Ok(())
}

/// Reads the named runs. Without names, all readable records in `records/`.
fn read_runs(catalog: &Catalog, named: &[PathBuf]) -> Result<Vec<Run>, Error> {
    let record = |folder: &Path| Record::read(folder).map(|record| Run::Record(Box::new(record)));
    if !named.is_empty() {
        let one = |path: &PathBuf| {
            if path.extension().is_some_and(|extension| extension == "json") {
                Evidence::read(path).map(|evidence| Run::Judged(Box::new(evidence)))
            } else {
                record(path)
            }
        };
        return Ok(named.iter().map(one).collect::<Result<_, _>>()?);
    }
    let Ok(folder) = std::fs::read_dir(catalog.dir().join("records")) else {
        return Ok(Vec::new());
    };
    let folders = folder
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join(record::FILE_NAME).is_file());
    Ok(folders
        .filter_map(|path| record(&path).map_err(|e| message(&format!("ignored: {e}"))).ok())
        .collect())
}

/// Returns the run that counts for each experiment, by the experiment's name.
fn newest(runs: Vec<Run>) -> BTreeMap<String, Run> {
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
