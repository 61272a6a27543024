//! Finds and reads the systems, workloads, experiments and articles of a project.
//!
//! A project is a folder with `systems/`, `workloads/` and `experiments/` at its top. They may also
//! be in its `catalog/`, as in faceoff's repository. The files of the whole project, such as
//! `records/`, `.faceoff/` and its git repository, are then outside of the catalog. Experiments may
//! be grouped into folders of `experiments/`.
//!
//! Start with [`Catalog::open`].

use crate::article::Article;
use crate::experiment::external_generator::CanMake;
use crate::experiment::{Cell, Experiment};
use crate::name::{ContenderName, did_you_mean, is_name, is_reserved};
use crate::problem::Problems;
use crate::system::{Contender, System};
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folders that make a folder a project.
const PARTS: [&str; 3] = ["systems", "workloads", "experiments"];
/// The folder of a project that may hold these.
const CATALOG: &str = "catalog";
/// How deep folders of experiments may be nested.
const DEPTH_MAX: usize = 4;

/// The systems, workloads, experiments and articles of a project.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The project.
    dir: PathBuf,
    /// The folder with `systems/`: the project, or its `catalog/`.
    content: PathBuf,
    past: Option<Past>,
    can_make: CanMake,
}

/// The same project at another revision, checked out elsewhere.
#[derive(Clone, Debug)]
pub struct Past {
    /// Contenders with this variant are those of that revision.
    pub variant: String,
    /// The commit, in full.
    pub commit: String,
    /// The folder of its repository at that revision.
    pub tree: PathBuf,
    /// The project within it.
    pub dir: PathBuf,
    /// A description of that revision.
    pub then: String,
    /// A description of the present state.
    pub now: String,
}

impl Past {
    /// Reads a system at that revision.
    fn system(&self, name: &str) -> Result<System, Problems> {
        // The catalog may have moved since.
        let content = content_of(&self.dir).unwrap_or_else(|| self.dir.clone());
        let folder = content.join("systems").join(name);
        if !folder.join("system.toml").is_file() {
            let path = folder.strip_prefix(&self.tree).unwrap_or(&folder);
            let hint = "compare with a revision that has it";
            return Err(Problems::plain(
                format!("at {} there is no {}/system.toml", self.then, path.display()),
                hint,
            ));
        }
        let system = System::read(&folder)?;
        if system.reached.is_some() || !system.runs_in.starts_with(&self.tree) {
            let what = if system.reached.is_some() {
                "already runs ([reached] in its system.toml)"
            } else {
                "runs in a folder outside of its repository"
            };
            let hint = "compare systems that are built or started from the repository's own files";
            return Err(Problems::plain(
                format!("{name} {what}, so it is the same at every revision"),
                hint,
            ));
        }
        Ok(System { revision: Some(self.commit.clone()), ..system })
    }
}

impl Catalog {
    /// Opens a project.
    ///
    /// # Errors
    /// Neither the folder nor its `catalog/` has any of the three folders.
    pub fn open(dir: &Path) -> Result<Catalog, Problems> {
        // Builds and starts have working folders of their own.
        let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        match content_of(&absolute) {
            Some(content) => {
                Ok(Catalog { dir: absolute, content, past: None, can_make: |_, _| Ok(()) })
            }
            None => Err(Problems::plain(
                format!("{} holds no systems/, workloads/ or experiments/", dir.display()),
                "name the folder with --dir, or run faceoff inside it",
            )),
        }
    }

    /// Opens the nearest project among a folder and those above it.
    ///
    /// Within a `catalog/`, the project is the folder that has it: records and state have the same
    /// place wherever in the project faceoff runs.
    pub fn find(here: &Path) -> Option<Catalog> {
        let found = here.ancestors().find_map(|folder| Catalog::open(folder).ok())?;
        let above = found.dir.parent().filter(|_| found.dir.ends_with(CATALOG));
        let whole = above.and_then(|folder| Catalog::open(folder).ok());
        Some(whole.filter(|whole| whole.content == found.dir).unwrap_or(found))
    }

    /// Sets what decides whether another generator can make a load; without it, all can.
    pub fn with_generators(mut self, can_make: CanMake) -> Catalog {
        self.can_make = can_make;
        self
    }

    /// Adds the systems of another revision to the present ones.
    pub fn with_past(mut self, past: Past) -> Catalog {
        self.past = Some(past);
        self
    }

    /// Returns the project's folder, which has `records/` and `.faceoff/`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the folder with `systems/`, `workloads/` and `experiments/`: the project, or its
    /// `catalog/`.
    pub fn content_dir(&self) -> &Path {
        &self.content
    }

    /// Returns the names of the systems, sorted.
    pub fn system_names(&self) -> Vec<String> {
        self.entries("systems", |path| {
            path.join("system.toml").is_file().then(|| path.file_name()).flatten()
        })
    }

    /// Returns the names of the workloads, sorted.
    pub fn workload_names(&self) -> Vec<String> {
        self.entries("workloads", toml_stem)
    }

    /// Returns the names of the experiments, sorted, each once.
    pub fn experiment_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.experiment_files().into_iter().map(|(name, _)| name).collect();
        names.dedup();
        names
    }

    /// Returns the names of the articles, sorted.
    pub fn article_names(&self) -> Vec<String> {
        self.entries("articles", toml_stem)
    }

    fn entries(
        &self,
        sub: &str,
        name_of: impl for<'p> Fn(&'p Path) -> Option<&'p std::ffi::OsStr>,
    ) -> Vec<String> {
        let paths = paths_in(&self.content.join(sub));
        let mut names: Vec<String> = paths
            .iter()
            .filter_map(|path| name_of(path).map(|n| n.to_string_lossy().into_owned()))
            .filter(|n| is_name(n))
            .collect();
        names.sort();
        names
    }

    /// Finds the experiments in `experiments/` and its folders, sorted by name, then by path.
    fn experiment_files(&self) -> Vec<(String, PathBuf)> {
        let mut folders = vec![self.content.join("experiments")];
        let mut files = Vec::new();
        for _ in 0..DEPTH_MAX {
            let paths: Vec<PathBuf> = folders.iter().flat_map(|folder| paths_in(folder)).collect();
            for path in paths.iter().filter(|path| !path.is_dir()) {
                let name = toml_stem(path).map(|name| name.to_string_lossy().into_owned());
                files.extend(name.filter(|n| is_name(n)).map(|name| (name, path.clone())));
            }
            folders = paths.into_iter().filter(|path| path.is_dir()).collect();
        }
        files.sort();
        files
    }

    /// Returns the file of an experiment.
    fn experiment_file(&self, name: &str) -> Result<PathBuf, Problems> {
        let files = self.experiment_files();
        let mut named = files.iter().filter(|(known, _)| known == name).map(|(_, path)| path);
        match (named.next(), named.next()) {
            (Some(file), None) => Ok(file.clone()),
            (Some(first), Some(second)) => Err(Problems::plain(
                format!(
                    "two experiments are called `{name}`: {} and {}",
                    first.display(),
                    second.display()
                ),
                "rename one of them: the file, and `name` in it",
            )),
            (None, _) => {
                let known = files.iter().map(|(known, _)| known.as_str());
                Err(unknown("experiment", name, known))
            }
        }
    }

    /// Reads a system.
    ///
    /// # Errors
    /// An unknown name, with the nearest; or every problem of its manifest.
    pub fn system(&self, name: &str) -> Result<System, Problems> {
        known("system", name, &self.system_names())?;
        System::read(&self.content.join("systems").join(name))
    }

    /// Reads a system and applies variants.
    ///
    /// A twin, and one that runs elsewhere, is the same system under its second name. A system of
    /// another revision is read there.
    ///
    /// # Errors
    /// As [`Catalog::system`], and for an unknown variant.
    pub fn contender(&self, name: &ContenderName) -> Result<Contender, Problems> {
        let past = self.past.as_ref().filter(|past| name.variants.contains(&past.variant));
        let is_own = |variant: &&String| {
            !is_reserved(variant) && past.is_none_or(|past| **variant != past.variant)
        };
        let variants: Vec<String> = name.variants.iter().filter(is_own).cloned().collect();
        let system =
            past.map_or_else(|| self.system(&name.system), |past| past.system(&name.system))?;
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

    fn workload_with(
        &self,
        name: &str,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Workload, Problems> {
        known("workload", name, &self.workload_names())?;
        let path = self.content.join("workloads").join(format!("{name}.toml"));
        Workload::read_with(&path, parameters)
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
    /// An unknown name, also of its article and of its rows, with the nearest; two files of this
    /// name; or every problem of the file. These include a cell that sets an unknown parameter of
    /// its workload, and a load that its driver cannot make.
    pub fn experiment(&self, name: &str) -> Result<Experiment, Problems> {
        let path = self.experiment_file(name)?;
        let workload_of = |cell: &Cell| self.workload_of(cell).ok();
        let experiment = Experiment::read_with(&path, &workload_of, self.can_make)?;
        if let Some(article) = experiment.article() {
            known("article", article, &self.article_names())?;
        }
        self.check_ours(&experiment)?;
        for cell in experiment.cells.iter().filter(|cell| !cell.with.is_empty()) {
            self.workload_of(cell)?;
        }
        Ok(experiment)
    }

    /// Checks that the article has the rows that the experiment lists measurements for.
    fn check_ours(&self, experiment: &Experiment) -> Result<(), Problems> {
        let Some((source, article)) = experiment
            .source
            .as_ref()
            .filter(|source| !source.ours.is_empty())
            .zip(experiment.article())
        else {
            return Ok(());
        };
        let article = self.article(article)?;
        let rows: Vec<&str> = article
            .tables
            .iter()
            .flat_map(|table| &table.rows)
            .map(|row| row.name.as_str())
            .collect();
        match source.ours.keys().find(|row| !rows.contains(&row.as_str())) {
            None => Ok(()),
            Some(row) => {
                let (of, name) = (&article.name, &experiment.name);
                let nearest = did_you_mean(row, rows);
                Err(Problems::plain(
                    format!("[source.ours] of {name}: the tables of {of} have no row `{row}`"),
                    nearest,
                ))
            }
        }
    }

    /// Reads an article's tables.
    ///
    /// # Errors
    /// An unknown name, with the nearest; or every problem of the file.
    pub fn article(&self, name: &str) -> Result<Article, Problems> {
        known("article", name, &self.article_names())?;
        Article::read(&self.content.join("articles").join(format!("{name}.toml")))
    }
}

fn toml_stem(path: &Path) -> Option<&std::ffi::OsStr> {
    (path.extension()? == "toml").then(|| path.file_stem()).flatten()
}

fn known(what: &str, name: &str, all: &[String]) -> Result<(), Problems> {
    if all.iter().any(|n| n == name) {
        return Ok(());
    }
    Err(unknown(what, name, all.iter().map(String::as_str)))
}

fn unknown<'n>(what: &str, name: &str, all: impl IntoIterator<Item = &'n str> + Clone) -> Problems {
    let hint = format!("{} (`faceoff list` shows all)", did_you_mean(name, all));
    Problems::plain(format!("unknown {what} `{name}`"), hint)
}

/// Returns the folder of a project that has `systems/`, `workloads/` and `experiments/`.
///
/// If the project and its `catalog/` have some of them, it is the one with more: builds of systems
/// that have since moved leave a `systems/` behind.
fn content_of(dir: &Path) -> Option<PathBuf> {
    let parts = |folder: &Path| PARTS.iter().filter(|part| folder.join(part).is_dir()).count();
    let (top, below) = (dir.to_owned(), dir.join(CATALOG));
    match (parts(&top), parts(&below)) {
        (0, 0) => None,
        (above, within) => Some(if above >= within { top } else { below }),
    }
}

/// Lists what is in a folder; nothing if it cannot be read.
fn paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these empty files.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn a_project_is_found_at_its_top_and_in_its_catalog() {
        let top = folder(&["a/systems/s/system.toml", "b/catalog/systems/s/system.toml", "c/x"]);
        let opened = |name: &str| {
            Catalog::open(&top.path().join(name)).map(|c| c.content_dir().to_owned()).ok()
        };
        assert_eq!(opened("a"), Some(top.path().join("a")));
        assert_eq!(opened("b"), Some(top.path().join("b/catalog")));
        assert_eq!(opened("b/catalog"), Some(top.path().join("b/catalog")));
        assert_eq!(opened("c"), None);
    }

    #[test]
    fn the_project_is_the_same_from_every_folder_in_it() {
        let top = folder(&["b/catalog/systems/s/src/x", "b/src/x"]);
        let project = |name: &str| Catalog::find(&top.path().join(name)).map(|c| c.dir);
        for below in ["b", "b/src", "b/catalog", "b/catalog/systems/s/src"] {
            assert_eq!(project(below), Some(top.path().join("b")), "{below}");
        }
        // A folder whose name happens to be that, in a project of its own.
        let other = folder(&["systems/s/x", "workloads/x", "catalog/systems/s/x"]);
        let found = Catalog::find(&other.path().join("catalog")).unwrap();
        assert_eq!(found.dir(), other.path().join("catalog"));
    }

    #[test]
    fn what_builds_left_behind_does_not_hide_the_catalog() {
        let top = folder(&["systems/s/target/x", "catalog/systems/s/x", "catalog/workloads/x"]);
        assert_eq!(Catalog::open(top.path()).unwrap().content_dir(), top.path().join("catalog"));
    }

    #[test]
    fn experiments_are_found_in_folders_and_have_one_file_each() {
        let top = folder(&["experiments/a.toml", "experiments/g/b.toml", "experiments/g/c.txt"]);
        let catalog = Catalog::open(top.path()).unwrap();
        assert_eq!(catalog.experiment_names(), ["a", "b"]);
        let file = catalog.experiment_file("b").unwrap();
        assert_eq!(file, top.path().join("experiments/g/b.toml"));
        let message = |name: &str| catalog.experiment(name).unwrap_err().to_string();
        assert!(message("ab").contains("unknown experiment `ab`"), "{}", message("ab"));
        std::fs::write(top.path().join("experiments/g/a.toml"), "").unwrap();
        assert_eq!(catalog.experiment_names(), ["a", "b"]);
        for path in ["experiments/a.toml", "experiments/g/a.toml"] {
            let path = top.path().join(path).display().to_string();
            assert!(message("a").contains(&path), "{}", message("a"));
        }
    }
}
