use crate::exit::Error;
use crate::output::{message, print};
use clap::Args;
use model::catalog::Catalog;
use model::record::Record;
use report::Tried;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `faceoff articles` is asked.
#[derive(Args)]
pub struct Options {
    /// Folders of records [default: all in records/]; of several of one experiment, the newest full one counts
    #[arg(value_name = "RECORD")]
    records: Vec<PathBuf>,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let mut runs = newest(read(catalog, &options.records)?);
    let mut experiments = Vec::new();
    for name in catalog.experiment_names() {
        experiments.push(catalog.experiment(&name)?);
    }
    let mut articles = Vec::new();
    for name in catalog.article_names() {
        let of_article = experiments.iter().filter(|e| e.article() == Some(&name) && !e.claims.is_empty());
        let tried = of_article.map(|experiment| Tried {
            experiment: experiment.clone(),
            run: runs.remove(&experiment.name).map(|record| {
                let judgement = judge::judge(&record);
                (record, judgement)
            }),
        });
        articles.push((catalog.article(&name)?, tried.collect()));
    }
    print(&report::articles(&articles));
    Ok(ExitCode::SUCCESS)
}

/// The named records; without any, all that can be read in `records/`.
fn read(catalog: &Catalog, named: &[PathBuf]) -> Result<Vec<Record>, Error> {
    if !named.is_empty() {
        return Ok(named.iter().map(|folder| Record::read(folder)).collect::<Result<_, _>>()?);
    }
    let Ok(folder) = std::fs::read_dir(catalog.dir().join("records")) else { return Ok(Vec::new()) };
    let folders = folder.flatten().map(|entry| entry.path()).filter(|path| path.join(model::record::FILE_NAME).is_file());
    Ok(folders.filter_map(|path| Record::read(&path).map_err(|e| message(&format!("left out: {e}"))).ok()).collect())
}

/// By experiment the record that speaks for it: a full one before a quick one, and of these the newest.
fn newest(records: Vec<Record>) -> BTreeMap<String, Record> {
    let mut best: BTreeMap<String, Record> = BTreeMap::new();
    let rank = |record: &Record| (!record.header.quick, record.header.recorded_at.clone());
    for record in records {
        let name = record.header.experiment.name.clone();
        if best.get(&name).is_none_or(|before| rank(before) < rank(&record)) {
            best.insert(name, record);
        }
    }
    best
}
