use super::run::write_file;
use crate::exit::Error;
use crate::output::{message, print};
use clap::Args;
use model::catalog::Catalog;
use model::judgement::Evidence;
use model::record::Record;
use report::Tried;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `faceoff articles` is asked.
#[derive(Args)]
pub struct Options {
    /// Folders of records, or files of their judgements [default: all records in records/]; of several of one experiment, the newest full one counts
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Also write what the document rests on into this folder, a file for each experiment that was run
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// A run, not yet judged where it is a record.
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

    /// A full one before a quick one, and of these the newest.
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

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let mut runs = newest(read(catalog, &options.paths)?);
    let mut experiments = Vec::new();
    for name in catalog.experiment_names() {
        experiments.push(catalog.experiment(&name)?);
    }
    let mut articles = Vec::new();
    for name in catalog.article_names() {
        let of_article = experiments.iter().filter(|e| e.article() == Some(&name));
        let tried = of_article
            .map(|experiment| Tried { experiment: experiment.clone(), run: runs.remove(&experiment.name).map(Run::evidence) })
            .collect::<Vec<_>>();
        if let Some(folder) = &options.keep {
            tried.iter().filter_map(|t| t.run.as_ref()).try_for_each(|evidence| keep(folder, evidence))?;
        }
        articles.push((catalog.article(&name)?, tried));
    }
    print(&report::articles(&articles));
    Ok(ExitCode::SUCCESS)
}

/// What was named; without anything, all records that can be read in `records/`.
fn read(catalog: &Catalog, named: &[PathBuf]) -> Result<Vec<Run>, Error> {
    let record = |folder: &Path| Record::read(folder).map(|record| Run::Record(Box::new(record)));
    if !named.is_empty() {
        let one = |path: &PathBuf| {
            if path.is_file() { Evidence::read(path).map(|evidence| Run::Judged(Box::new(evidence))) } else { record(path) }
        };
        return Ok(named.iter().map(one).collect::<Result<_, _>>()?);
    }
    let Ok(folder) = std::fs::read_dir(catalog.dir().join("records")) else { return Ok(Vec::new()) };
    let folders = folder.flatten().map(|entry| entry.path()).filter(|path| path.join(model::record::FILE_NAME).is_file());
    Ok(folders.filter_map(|path| record(&path).map_err(|e| message(&format!("left out: {e}"))).ok()).collect())
}

/// By experiment the run that speaks for it.
fn newest(runs: Vec<Run>) -> BTreeMap<String, Run> {
    let mut best: BTreeMap<String, Run> = BTreeMap::new();
    for run in runs {
        if best.get(run.experiment()).is_none_or(|before| before.rank() < run.rank()) {
            best.insert(run.experiment().to_owned(), run);
        }
    }
    best
}

fn keep(folder: &Path, evidence: &Evidence) -> Result<(), Error> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Failed(format!("{} cannot be made: {e}\nhint: name another folder with --keep", folder.display())))?;
    let text = serde_json::to_string_pretty(evidence).expect("plain data") + "\n";
    write_file(&folder.join(format!("{}.json", evidence.experiment)), &text)
}
