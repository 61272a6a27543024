//! Files that are written together, and removed again if a later step fails.

use super::correct_response::{Sampled, learn};
use crate::exit::Error;
use interop::import::Requests;
use spec::catalog::Catalog;
use spec::problem::Problems;
use spec::workload::Statuses;
use std::path::{Path, PathBuf};

/// Files that were written below a folder.
pub struct WrittenFiles {
    dir: PathBuf,
    /// The path of the folder below the project, with a slash at its end.
    prefix: String,
    force: bool,
    written: Vec<String>,
    /// The ones that did not exist before.
    new: Vec<PathBuf>,
}

impl WrittenFiles {
    /// Prepares to write below a folder. `force` allows existing files to be replaced.
    pub fn new(dir: PathBuf, force: bool) -> WrittenFiles {
        WrittenFiles { dir, prefix: String::new(), force, written: Vec::new(), new: Vec::new() }
    }

    /// Prepares to write into a project: into its `catalog/` if its other files are there.
    pub fn of_project(project: &Path, force: bool) -> WrittenFiles {
        let catalog = Catalog::open(project).ok();
        let dir = catalog.as_ref().map_or(project, Catalog::content_dir).to_owned();
        let below = dir.strip_prefix(project).unwrap_or(&dir).display().to_string();
        let prefix = if below.is_empty() { below } else { below + "/" };
        WrittenFiles { prefix, ..WrittenFiles::new(dir, force) }
    }

    /// Returns the path of a file as seen from the project.
    pub fn shown(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Lists the files that were written.
    pub fn list(&self) -> String {
        self.written.join(", ")
    }

    /// Refuses existing files, unless they may be replaced.
    pub fn must_be_new<'p>(
        &self,
        paths: impl Iterator<Item = &'p String>,
        hint: &str,
    ) -> Result<(), Error> {
        let mut there = paths.filter(|path| !self.force && self.dir.join(path).exists());
        match there.next() {
            Some(path) => Err(Problems::plain(
                format!("{} already exists", self.dir.join(path).display()),
                hint,
            )
            .into()),
            None => Ok(()),
        }
    }

    /// Writes a file and creates its folders.
    pub fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let to = self.dir.join(path);
        let is_new = !to.exists();
        let made = to
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&to, bytes));
        made.map_err(|e| {
            Error::Failed(format!(
                "{} cannot be written: {e}\nhint: check that you may write to the folder",
                to.display()
            ))
        })?;
        self.written.push(self.shown(path));
        self.new.extend(is_new.then_some(to));
        Ok(())
    }

    /// Writes the workload with the correct response that was learned, and describes it.
    pub fn write_workload(
        &mut self,
        requests: &mut Requests,
        name: &str,
        sampled: &[Sampled],
    ) -> Result<String, Error> {
        let learned = learn(sampled, name)?;
        if let Some(last) = requests.workload().steps.last_mut() {
            last.answer.status = Statuses::one(learned.status);
        }
        if let Some((body, bytes)) = &learned.file {
            self.write(&format!("workloads/{body}"), bytes)?;
        }
        for (file, bytes) in requests.bodies(name) {
            self.write(&format!("workloads/{file}"), &bytes)?;
        }
        self.write(
            &format!("workloads/{name}.toml"),
            (requests.text(name) + &learned.lines).as_bytes(),
        )?;
        Ok(learned.description)
    }

    /// Removes the files that did not exist before, and the folders that are empty then.
    pub fn remove_new(&mut self) {
        for file in self.new.drain(..) {
            let _ = std::fs::remove_file(&file);
            for folder in file.ancestors().skip(1).take_while(|folder| **folder != self.dir) {
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
}
