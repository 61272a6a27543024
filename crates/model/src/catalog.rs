//! The systems, workloads and experiments of a folder, found by being there.

use crate::article::Article;
use crate::experiment::{Cell, Experiment};
use crate::name::{ContenderName, did_you_mean, is_name, is_reserved};
use crate::problem::Problems;
use crate::system::{Contender, System};
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A folder with `systems/`, `workloads/` and `experiments/`.
#[derive(Clone, Debug)]
pub struct Catalog {
    dir: PathBuf,
    past: Option<Past>,
}

/// The same folder at another revision, checked out elsewhere.
#[derive(Clone, Debug)]
pub struct Past {
    /// Contenders with this variant are those of that revision.
    pub variant: String,
    /// The commit, in full.
    pub commit: String,
    /// Its repository, as it was.
    pub tree: PathBuf,
    /// The folder within it.
    pub dir: PathBuf,
    /// The revision in words.
    pub then: String,
    /// The revision of now in words.
    pub now: String,
}

impl Past {
    /// Reads a system as it was.
    fn system(&self, name: &str) -> Result<System, Problems> {
        let folder = self.dir.join("systems").join(name);
        if !folder.join("system.toml").is_file() {
            let hint = "compare with a revision that has it";
            return Err(Problems::plain(format!("at {} there is no systems/{name}/system.toml", self.then), hint));
        }
        let system = System::read(&folder)?;
        if system.reached.is_some() || !system.runs_in.starts_with(&self.tree) {
            let what = if system.reached.is_some() { "is only reached" } else { "runs in a folder outside of its repository" };
            let hint = "only what is built or started from the repository's own files has revisions";
            return Err(Problems::plain(format!("{name} {what}, so it is the same at every revision"), hint));
        }
        Ok(System { revision: Some(self.commit.clone()), ..system })
    }
}

impl Catalog {
    /// Opens a folder.
    ///
    /// # Errors
    /// When it holds none of the three.
    pub fn open(dir: &Path) -> Result<Catalog, Problems> {
        if !["systems", "workloads", "experiments"].iter().any(|sub| dir.join(sub).is_dir()) {
            return Err(Problems::plain(
                format!("{} holds no systems/, workloads/ or experiments/", dir.display()),
                "name the folder with --dir, or run faceoff inside it",
            ));
        }
        // Builds and starts have working folders of their own.
        Ok(Catalog { dir: std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()), past: None })
    }

    /// With systems as they were at another revision beside those of now.
    pub fn with_past(mut self, past: Past) -> Catalog {
        self.past = Some(past);
        self
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Names of the systems, sorted.
    pub fn system_names(&self) -> Vec<String> {
        self.entries("systems", |path| path.join("system.toml").is_file().then(|| path.file_name()).flatten())
    }

    /// Names of the workloads, sorted.
    pub fn workload_names(&self) -> Vec<String> {
        self.entries("workloads", toml_stem)
    }

    /// Names of the experiments, sorted.
    pub fn experiment_names(&self) -> Vec<String> {
        self.entries("experiments", toml_stem)
    }

    /// Names of the articles, sorted.
    pub fn article_names(&self) -> Vec<String> {
        self.entries("articles", toml_stem)
    }

    fn entries(&self, sub: &str, name_of: impl for<'p> Fn(&'p Path) -> Option<&'p std::ffi::OsStr>) -> Vec<String> {
        let Ok(folder) = std::fs::read_dir(self.dir.join(sub)) else { return Vec::new() };
        let paths = folder.flatten().map(|entry| entry.path());
        let mut names: Vec<String> =
            paths.filter_map(|path| name_of(&path).map(|n| n.to_string_lossy().into_owned())).filter(|n| is_name(n)).collect();
        names.sort();
        names
    }

    /// Reads a system.
    ///
    /// # Errors
    /// An unknown name, with the nearest; or every problem of its manifest.
    pub fn system(&self, name: &str) -> Result<System, Problems> {
        known("system", name, &self.system_names())?;
        System::read(&self.dir.join("systems").join(name))
    }

    /// Reads a system and applies variants; a twin is the same under its second name, so is one that runs elsewhere, and one of another revision is read there.
    ///
    /// # Errors
    /// As [`Catalog::system`], and for an unknown variant.
    pub fn contender(&self, name: &ContenderName) -> Result<Contender, Problems> {
        let past = self.past.as_ref().filter(|past| name.variants.contains(&past.variant));
        let is_own = |variant: &&String| !is_reserved(variant) && past.is_none_or(|past| **variant != past.variant);
        let variants: Vec<String> = name.variants.iter().filter(is_own).cloned().collect();
        let system = past.map_or_else(|| self.system(&name.system), |past| past.system(&name.system))?;
        let mut contender = system.with_variants(&variants)?;
        contender.name = name.clone();
        if let Some(known) = &self.past {
            let which = if past.is_some() { &known.then } else { &known.now };
            contender.system.facts.insert("revision".into(), which.clone());
        }
        Ok(contender)
    }

    /// Reads a workload.
    ///
    /// # Errors
    /// An unknown name, with the nearest; or every problem of the file.
    pub fn workload(&self, name: &str) -> Result<Workload, Problems> {
        self.workload_with(name, &BTreeMap::new())
    }

    fn workload_with(&self, name: &str, parameters: &BTreeMap<String, String>) -> Result<Workload, Problems> {
        known("workload", name, &self.workload_names())?;
        Workload::read_with(&self.dir.join("workloads").join(format!("{name}.toml")), parameters)
    }

    /// Reads the workload of a cell, with the parameters that the cell sets.
    ///
    /// # Errors
    /// As [`Catalog::workload`], and for a parameter that the workload does not have.
    pub fn workload_of(&self, cell: &Cell) -> Result<Workload, Problems> {
        self.workload_with(&cell.workload, &cell.with)
    }

    /// Reads an experiment.
    ///
    /// # Errors
    /// An unknown name, also of the article it comes from and of that one's rows, with the nearest; or every problem of the file, also where a
    /// cell sets what its workload does not have, and where a driver cannot make its load.
    pub fn experiment(&self, name: &str) -> Result<Experiment, Problems> {
        known("experiment", name, &self.experiment_names())?;
        let path = self.dir.join("experiments").join(format!("{name}.toml"));
        let experiment = Experiment::read_with(&path, &|cell| self.workload_of(cell).ok())?;
        if let Some(article) = experiment.article() {
            known("article", article, &self.article_names())?;
        }
        self.check_ours(&experiment)?;
        for cell in experiment.cells.iter().filter(|cell| !cell.with.is_empty()) {
            self.workload_of(cell)?;
        }
        Ok(experiment)
    }

    /// That what stands beside rows of an article stands beside rows that there are.
    fn check_ours(&self, experiment: &Experiment) -> Result<(), Problems> {
        let Some((source, article)) = experiment.source.as_ref().filter(|source| !source.ours.is_empty()).zip(experiment.article()) else {
            return Ok(());
        };
        let article = self.article(article)?;
        let rows: Vec<&str> = article.tables.iter().flat_map(|table| &table.rows).map(|row| row.name.as_str()).collect();
        match source.ours.keys().find(|row| !rows.contains(&row.as_str())) {
            None => Ok(()),
            Some(row) => {
                let (of, name) = (&article.name, &experiment.name);
                let nearest = did_you_mean(row, rows);
                Err(Problems::plain(format!("[source.ours] of {name}: the tables of {of} have no row `{row}`"), nearest))
            }
        }
    }

    /// Reads an article's tables.
    ///
    /// # Errors
    /// An unknown name, with the nearest; or every problem of the file.
    pub fn article(&self, name: &str) -> Result<Article, Problems> {
        known("article", name, &self.article_names())?;
        Article::read(&self.dir.join("articles").join(format!("{name}.toml")))
    }
}

fn toml_stem(path: &Path) -> Option<&std::ffi::OsStr> {
    (path.extension()? == "toml").then(|| path.file_stem()).flatten()
}

fn known(what: &str, name: &str, all: &[String]) -> Result<(), Problems> {
    if all.iter().any(|n| n == name) {
        return Ok(());
    }
    let hint = format!("{} (`faceoff list` shows all)", did_you_mean(name, all.iter().map(String::as_str)));
    Err(Problems::plain(format!("unknown {what} `{name}`"), hint))
}
