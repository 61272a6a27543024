//! Builds and checks several systems at a time.
//!
//! Builds that would overwrite each other's files belong to one group, whose members are handled
//! one after another. Groups run in parallel. Start at [`Groups::find`] and [`in_groups`].

use crate::exit::Error;
use spec::system::{Contender, System};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Groups of contenders that must be built one after another.
///
/// Variants of one system, and systems that build into the same folder, share a group.
#[derive(Debug, PartialEq, Eq)]
pub struct Groups {
    /// The contenders of each group, ascending; groups are ordered by their first contender.
    pub members: Vec<Vec<usize>>,
    /// The group of each contender.
    pub of: Vec<usize>,
}

impl Groups {
    /// Finds the groups of these contenders.
    pub fn find(contenders: &[Contender]) -> Groups {
        let writes: Vec<Option<Writes>> =
            contenders.iter().map(|contender| Writes::of_system(&contender.system)).collect();
        let share_group = |a: usize, b: usize| {
            let folders = writes[a].as_ref().zip(writes[b].as_ref());
            contenders[a].name.system == contenders[b].name.system
                || folders.is_some_and(|(a, b)| a.overlaps(b))
        };
        let mut members: Vec<Vec<usize>> = Vec::new();
        for next in 0..contenders.len() {
            let (touched, mut apart): (Vec<_>, Vec<_>) = members
                .into_iter()
                .partition(|group| group.iter().any(|one| share_group(*one, next)));
            let mut joined: Vec<usize> = touched.into_iter().flatten().chain([next]).collect();
            joined.sort_unstable();
            apart.push(joined);
            members = apart;
        }
        members.sort();
        let mut of = vec![0; contenders.len()];
        members
            .iter()
            .enumerate()
            .for_each(|(group, all)| all.iter().for_each(|one| of[*one] = group));
        Groups { members, of }
    }

    /// Returns the members of each group that are among the first `count` contenders.
    pub fn restricted_to(&self, count: usize) -> Vec<Vec<usize>> {
        let members = |group: &Vec<usize>| -> Vec<usize> {
            group.iter().copied().filter(|at| *at < count).collect()
        };
        self.members.iter().map(members).filter(|group| !group.is_empty()).collect()
    }
}

/// The folders that a build writes into.
struct Writes {
    /// The folder in which its commands run; they may write anywhere below it.
    runs_in: PathBuf,
    /// The parent folders of its outputs.
    outputs: Vec<PathBuf>,
}

impl Writes {
    /// Returns the folders of a system, or `None` for a system without a build.
    fn of_system(system: &System) -> Option<Writes> {
        let build = system.build.as_ref()?;
        let runs_in = system.runs_in.canonicalize().unwrap_or_else(|_| system.runs_in.clone());
        let outputs = build
            .outputs
            .iter()
            .filter_map(|output| Some(plain(&runs_in.join(output)).parent()?.to_owned()))
            .collect();
        Some(Writes { runs_in, outputs })
    }

    fn overlaps(&self, other: &Writes) -> bool {
        let below = |a: &Writes, b: &Writes| {
            a.runs_in.starts_with(&b.runs_in)
                || a.outputs.iter().any(|output| output.starts_with(&b.runs_in))
        };
        below(self, other)
            || below(other, self)
            || self.outputs.iter().any(|output| other.outputs.contains(output))
    }
}

/// Removes `..` from a path, which need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Works on `jobs` groups at a time, and on the contenders of a group one after another.
///
/// Each job has its own state, which `begin` creates and `end` takes. After an error, contenders
/// behind the failed one are not begun. Those before it are finished, so that the outcome does not
/// depend on the number of jobs.
///
/// # Errors
/// The first error in the order of the contenders. An interrupt takes precedence.
pub fn in_groups<S>(
    groups: &[Vec<usize>],
    jobs: usize,
    stop: &AtomicBool,
    begin: impl Fn(usize) -> Result<S, Error> + Sync,
    one: impl Fn(&mut S, usize) -> Result<(), Error> + Sync,
    end: impl Fn(S) + Sync,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let fail = |at: usize, error: Error| {
        let mut failed = lock_ignoring_panics(&failed);
        if failed.as_ref().is_none_or(|(before, _)| at < *before) {
            *failed = Some((at, error));
        }
    };
    let is_wanted = |at: usize| {
        !stop.load(Ordering::Relaxed)
            && lock_ignoring_panics(&failed).as_ref().is_none_or(|(before, _)| at < *before)
    };
    let work = |job: usize| {
        let mut state = match begin(job) {
            Ok(state) => state,
            Err(error) => return fail(0, error),
        };
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            for at in group.iter().copied().take_while(|at| is_wanted(*at)) {
                if let Err(error) = one(&mut state, at) {
                    fail(at, error);
                }
            }
        }
        end(state);
    };
    std::thread::scope(|scope| {
        (0..jobs.min(groups.len())).for_each(|job| drop(scope.spawn(move || work(job))))
    });
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted(crate::signals::code()));
    }
    failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), |(_, error)| Err(error))
}

/// Locks a mutex, even if another job panicked while it held the lock.
pub fn lock_ignoring_panics<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::catalog::Catalog;
    use std::time::Duration;

    /// Finds the groups of systems, which are given by name and the middle of their manifest.
    fn groups(systems: &[(&str, &str)], names: &[&str]) -> Vec<Vec<usize>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, more) in systems {
            let own = folder.path().join("systems").join(name);
            std::fs::create_dir_all(&own).unwrap();
            let text = format!(
                "name = \"{name}\"\nsummary = \"s\"\nkind = \"service\"\nanswers = [\"a\"]\n{more}\n[start]\nrun = [\"a\", \"{{variant.args}}\"]\nports = [\"http\"]\n"
            );
            std::fs::write(own.join("system.toml"), text).unwrap();
        }
        for name in ["shared", "shared/below"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let catalog = Catalog::open(folder.path()).unwrap();
        let contenders: Vec<Contender> =
            names.iter().map(|name| catalog.contender(&name.parse().unwrap()).unwrap()).collect();
        let groups = Groups::find(&contenders);
        for (group, members) in groups.members.iter().enumerate() {
            members.iter().for_each(|member| assert_eq!(groups.of[*member], group));
        }
        groups.members
    }

    fn build(outputs: &str) -> String {
        format!("[build]\nrun = [[\"true\"]]\ninputs = [\"*.toml\"]\noutputs = [\"{outputs}\"]\n")
    }

    #[test]
    fn builds_into_one_folder_share_a_group() {
        let built = |outputs: &str| ("", outputs.to_owned());
        type Case<'a> = (&'a str, [(&'a str, String); 3], Vec<Vec<usize>>);
        let cases: [Case<'_>; 6] = [
            (
                "each in its own folder",
                [built("x"), built("bin/x"), built("target/x")],
                vec![vec![0], vec![1], vec![2]],
            ),
            (
                "one target folder",
                [built("../../target/x"), built("x"), built("../../target/y")],
                vec![vec![0, 2], vec![1]],
            ),
            (
                "into another's folder",
                [built("../c/target/x"), built("x"), built("x")],
                vec![vec![0, 2], vec![1]],
            ),
            (
                "next to the folders of others",
                [built("../x"), built("x"), built("x")],
                vec![vec![0], vec![1], vec![2]],
            ),
            (
                "one folder",
                [("../../shared", "x".into()), built("x"), ("../../shared", "y/y".into())],
                vec![vec![0, 2], vec![1]],
            ),
            (
                "a chain",
                [
                    ("../../shared", "x".into()),
                    ("../../shared/below", "x".into()),
                    built("../../shared/below/y"),
                ],
                vec![vec![0, 1, 2]],
            ),
        ];
        for (what, systems, known) in cases {
            let manifest = |(folder, outputs): &(&str, String)| {
                let folder = if folder.is_empty() {
                    String::new()
                } else {
                    format!("folder = \"{folder}\"\n")
                };
                folder + &build(outputs)
            };
            let texts: Vec<String> = systems.iter().map(manifest).collect();
            let named: Vec<(&str, &str)> =
                ["a", "b", "c"].into_iter().zip(texts.iter().map(String::as_str)).collect();
            assert_eq!(groups(&named, &["a", "b", "c"]), known, "{what}");
        }
    }

    #[test]
    fn variants_share_a_group_even_without_a_build() {
        let variants = "[variants.x]\nargs = [\"x\"]\n[variants.y]\nargs = [\"y\"]\n";
        assert_eq!(
            groups(&[("a", variants), ("b", variants)], &["a", "b:x", "a:y", "b"]),
            [vec![0, 2], vec![1, 3]]
        );
    }

    #[test]
    fn first_error_counts_for_any_number_of_jobs() {
        let groups = [vec![0, 4], vec![1], vec![2], vec![3], vec![5]];
        let stop = AtomicBool::new(false);
        for jobs in [1, 2, 5] {
            let done = Mutex::new(Vec::new());
            let ended = AtomicUsize::new(0);
            let one = |_: &mut (), at: usize| {
                // Later contenders finish first.
                std::thread::sleep(Duration::from_millis(60 - 10 * at as u64));
                lock_ignoring_panics(&done).push(at);
                if [2, 3].contains(&at) { Err(Error::Failed(format!("{at}"))) } else { Ok(()) }
            };
            let end = |()| {
                ended.fetch_add(1, Ordering::Relaxed);
            };
            let came = in_groups(&groups, jobs, &stop, |_| Ok(()), one, end);
            assert!(matches!(&came, Err(Error::Failed(text)) if text == "2"), "{jobs}: {came:?}");
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!((&done[..3], ended.into_inner()), (&[0, 1, 2][..], jobs), "{jobs}");
        }
    }

    #[test]
    fn nothing_begins_after_an_interrupt() {
        let stop = AtomicBool::new(true);
        let one = |_: &mut (), at: usize| panic!("{at} was begun");
        let came = in_groups(&[vec![0], vec![1]], 2, &stop, |_| Ok(()), one, |()| ());
        assert!(matches!(came, Err(Error::Interrupted(_))), "{came:?}");
    }
}
