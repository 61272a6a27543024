//! The energy that the processor packages of this machine use, from their RAPL counters.
//!
//! Linux shows one folder for each package below `/sys/class/powercap`, with a counter in
//! microjoules that wraps around. It counts for the whole machine: contender, load generator and
//! everything else. Parts of a package (cores, memory) and the whole board have folders too; they
//! would count twice and are skipped. Start with
//! [`Packages::open`] and [`Meter`].

use std::io;
use std::path::{Path, PathBuf};

/// No package uses more power for long. So a counter wraps around at most once in a measurement
/// that is shorter than its range at this power.
const WATTS_MAX: u64 = 500;

/// The counters of all packages.
#[derive(Debug)]
pub struct Packages {
    zones: Vec<Zone>,
}

/// The counter of one package.
#[derive(Debug)]
struct Zone {
    name: String,
    counter: PathBuf,
    /// After this value it continues with zero.
    range_uj: u64,
}

/// The counters at one instant.
#[derive(Clone, Debug)]
struct Reading {
    at_ns: u64,
    counters_uj: Vec<u64>,
}

impl Packages {
    /// Opens the counters below a root such as `/sys`.
    ///
    /// # Errors
    /// Which file is missing or cannot be read, and what to do. The energy of some packages alone
    /// would be wrong, so all must be readable.
    pub fn open(root: &Path) -> Result<Packages, String> {
        let folder = root.join("class/powercap");
        let entries = std::fs::read_dir(&folder)
            .map_err(|e| format!("{}: {e}: this machine shows no counters", folder.display()))?;
        let mut zones = Vec::new();
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            zones.extend(Zone::open(&path)?);
        }
        if zones.is_empty() {
            return Err(format!("{} has no counter of a package", folder.display()));
        }
        zones.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Packages { zones })
    }

    /// Lists the packages: `package-0, package-1`.
    pub fn names(&self) -> String {
        self.zones.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Reads all counters now; `None` if one cannot be read any more.
    fn read(&self) -> Option<Reading> {
        let counters_uj = self.zones.iter().map(|zone| read_number(&zone.counter).ok());
        let counters_uj = counters_uj.collect::<Option<_>>()?;
        Some(Reading { at_ns: load::clock::now_ns(), counters_uj })
    }

    /// Returns the energy between two readings, in microjoules. `None` if a counter may have
    /// wrapped around more than once.
    fn spent_uj(&self, before: &Reading, after: &Reading) -> Option<u64> {
        // 1 W is 1 µJ per 1,000 ns.
        let most_uj = after.at_ns.saturating_sub(before.at_ns) / 1_000 * WATTS_MAX;
        let counters = before.counters_uj.iter().zip(&after.counters_uj);
        let of_zone = |(zone, (before, after)): (&Zone, (&u64, &u64))| {
            if most_uj >= zone.range_uj {
                return None;
            }
            match after >= before {
                true => Some(after - before),
                false => zone.range_uj.checked_sub(*before)?.checked_add(*after),
            }
        };
        let mut parts = self.zones.iter().zip(counters).map(of_zone);
        parts.try_fold(0u64, |sum, part| sum.checked_add(part?))
    }

    /// Returns the energy from a reading until now, in microjoules.
    fn spent_since_uj(&self, before: &Reading) -> Option<u64> {
        self.spent_uj(before, &self.read()?)
    }
}

/// Adds up the energy of periods: one measurement, or the slices of a contender.
pub struct Meter<'a> {
    packages: Option<&'a Packages>,
    before: Option<Reading>,
    /// `None` without counters, and once one cannot be read.
    sum_uj: Option<u64>,
}

impl<'a> Meter<'a> {
    /// Makes a meter that has counted nothing.
    pub fn new(packages: Option<&'a Packages>) -> Meter<'a> {
        Meter { packages, before: None, sum_uj: packages.map(|_| 0) }
    }

    /// Begins a period.
    pub fn begin(&mut self) {
        self.before = self.packages.and_then(Packages::read);
    }

    /// Ends the period that has begun.
    pub fn end(&mut self) {
        let before = self.before.take();
        let spent = self.packages.zip(before).and_then(|(p, before)| p.spent_since_uj(&before));
        self.sum_uj = self.sum_uj.zip(spent).and_then(|(sum, uj)| sum.checked_add(uj));
    }

    /// Returns the energy of all periods, in microjoules; `None` if any could not be read.
    pub fn sum_uj(&self) -> Option<u64> {
        self.sum_uj
    }
}

impl Zone {
    /// Opens a folder, unless it is not that of a package.
    fn open(folder: &Path) -> Result<Option<Zone>, String> {
        let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
        // A part of a package is `intel-rapl:0:0`. The driver serves AMD as well.
        let number = folder_name.strip_prefix("intel-rapl:").unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(None);
        }
        let name_file = folder.join("name");
        let name = std::fs::read_to_string(&name_file).map_err(|e| unreadable(&name_file, &e))?;
        if !name.starts_with("package") {
            return Ok(None);
        }
        let [counter, range] = ["energy_uj", "max_energy_range_uj"].map(|file| folder.join(file));
        read_number(&counter).map_err(|e| unreadable(&counter, &e))?;
        let range_uj = read_number(&range).map_err(|e| unreadable(&range, &e))?;
        Ok(Some(Zone { name: name.trim().to_owned(), counter, range_uj }))
    }
}

fn read_number(file: &Path) -> io::Result<u64> {
    let text = std::fs::read_to_string(file)?;
    let number = text.trim().parse::<u64>();
    number.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("no number: {e}")))
}

fn unreadable(file: &Path, error: &io::Error) -> String {
    let file = file.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{file}: {error}; `sudo chmod a+r {file}` allows it until the next boot")
        }
        _ => format!("{file}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const RANGE_UJ: u64 = 262_143_328_850;

    /// Makes a folder of a zone.
    fn zone(root: &Path, folder: &str, name: &str, counter: &str) -> PathBuf {
        let folder = root.join("class/powercap").join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("name"), format!("{name}\n")).unwrap();
        fs::write(folder.join("max_energy_range_uj"), format!("{RANGE_UJ}\n")).unwrap();
        fs::write(folder.join("energy_uj"), counter).unwrap();
        folder.join("energy_uj")
    }

    fn at(seconds: u64, counters_uj: &[u64]) -> Reading {
        Reading { at_ns: seconds * 1_000_000_000, counters_uj: counters_uj.to_vec() }
    }

    #[test]
    fn energy_of_all_packages_is_added_and_nothing_counts_twice() {
        let root = tempfile::tempdir().unwrap();
        let first = zone(root.path(), "intel-rapl:0", "package-0", "1000\n");
        let second = zone(root.path(), "intel-rapl:1", "package-1", "50");
        zone(root.path(), "intel-rapl:0:0", "core", "7");
        zone(root.path(), "intel-rapl:2", "psys", "7");
        zone(root.path(), "intel-rapl-mmio:0", "package-0", "7");
        fs::create_dir(root.path().join("class/powercap/intel-rapl")).unwrap();
        let packages = Packages::open(root.path()).unwrap();
        assert_eq!(packages.names(), "package-0, package-1");
        let before = packages.read().unwrap();
        fs::write(first, "1500\n").unwrap();
        fs::write(&second, "52\n").unwrap();
        assert_eq!(packages.spent_since_uj(&before), Some(502));
        fs::write(second, "x").unwrap();
        assert_eq!(packages.spent_since_uj(&before), None, "a counter became unreadable");
    }

    #[test]
    fn a_counter_that_wrapped_around_continues_at_its_range() {
        let root = tempfile::tempdir().unwrap();
        zone(root.path(), "intel-rapl:0", "package-0", "0");
        let packages = Packages::open(root.path()).unwrap();
        let before = at(0, &[RANGE_UJ - 100]);
        assert_eq!(packages.spent_uj(&before, &at(10, &[400])), Some(500));
        assert_eq!(packages.spent_uj(&before, &at(10, &[RANGE_UJ])), Some(100));
        assert_eq!(packages.spent_uj(&at(0, &[RANGE_UJ + 1]), &at(10, &[400])), None);
        // 262 kJ last 524 s at 500 W.
        assert_eq!(packages.spent_uj(&before, &at(520, &[400])), Some(500));
        assert_eq!(packages.spent_uj(&before, &at(525, &[400])), None, "perhaps wrapped twice");
    }

    #[test]
    fn a_meter_counts_its_periods_only() {
        let root = tempfile::tempdir().unwrap();
        let counter = zone(root.path(), "intel-rapl:0", "package-0", "100");
        let packages = Packages::open(root.path()).unwrap();
        let mut meter = Meter::new(Some(&packages));
        let period = |meter: &mut Meter<'_>, until: &str| {
            meter.begin();
            fs::write(&counter, until).unwrap();
            meter.end();
        };
        assert_eq!(meter.sum_uj(), Some(0));
        period(&mut meter, "130");
        // Another contender has the load.
        fs::write(root.path().join("class/powercap/intel-rapl:0/energy_uj"), "1130").unwrap();
        period(&mut meter, "1132");
        assert_eq!(meter.sum_uj(), Some(32));
        period(&mut meter, "");
        fs::write(root.path().join("class/powercap/intel-rapl:0/energy_uj"), "2000").unwrap();
        period(&mut meter, "2001");
        assert_eq!(meter.sum_uj(), None, "a part of the sum is no sum");
        let mut none = Meter::new(None);
        period(&mut none, "3000");
        assert_eq!(none.sum_uj(), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let root = tempfile::tempdir().unwrap();
        let refused = |root: &Path| Packages::open(root).unwrap_err();
        assert!(refused(root.path()).contains("class/powercap: No such file"), "no folder");
        fs::create_dir_all(root.path().join("class/powercap/intel-rapl")).unwrap();
        assert!(refused(root.path()).ends_with("class/powercap has no counter of a package"));
        let counter = zone(root.path(), "intel-rapl:0", "package-0", "many");
        let text = refused(root.path());
        assert!(text.contains("intel-rapl:0/energy_uj: no number"), "{text}");
        fs::remove_file(counter).unwrap();
        assert!(refused(root.path()).contains("intel-rapl:0/energy_uj: No such file"));
    }

    #[test]
    fn missing_permission_is_explained() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(
            unreadable(Path::new("/sys/x/energy_uj"), &denied),
            "/sys/x/energy_uj: permission denied; `sudo chmod a+r /sys/x/energy_uj` allows it until the next boot"
        );
    }
}
