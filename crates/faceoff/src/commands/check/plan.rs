//! Finds what the checks need before the first build: workloads, upstreams and databases.

use crate::exit::Error;
use runner::needs::Tools;
use spec::catalog::Catalog;
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::system::{Contender, Kind};
use spec::workload::Workload;

/// The contenders to check, and what each of them needs.
pub struct Plan {
    /// The contenders to check, followed by further upstreams and databases that these need.
    pub contenders: Vec<Contender>,
    /// The needs of each contender to check.
    pub needs: Vec<Needs>,
}

/// What the check of a contender needs in addition to the contender.
#[derive(Default)]
pub struct Needs {
    /// The workloads whose requests are sent.
    pub workloads: Vec<Workload>,
    /// The index of its upstream in the plan.
    pub upstream: Option<usize>,
    /// The name of its database.
    pub database: Option<ContenderName>,
}

impl Plan {
    /// Finds workloads, upstreams and databases.
    ///
    /// # Errors
    /// A file has problems, or an upstream or database cannot be found.
    pub fn for_contenders(
        catalog: &Catalog,
        contenders: Vec<Contender>,
        upstream: Option<&ContenderName>,
    ) -> Result<Plan, Error> {
        let tools = Tools::default();
        let (checked, mut contenders, mut needs) = (contenders.len(), contenders, Vec::new());
        for at in 0..checked {
            let contender = contenders[at].clone();
            let mut needed = Needs::default();
            if contender.system.kind != Kind::Database && !contender.system.answers.is_empty() {
                needed.workloads = read_workloads(catalog, &contender, &contender.system.answers)?;
                // A contender that cannot be built needs no upstream and no database.
                if tools.check(&contender).iter().all(|tool| tool.version.is_some()) {
                    if contender.system.kind == Kind::Proxy {
                        let wanted = upstream.map_or_else(
                            || upstream_of(catalog, &contender),
                            |name| Ok(name.clone()),
                        )?;
                        needed.upstream = Some(Plan::index_of(&mut contenders, catalog, &wanted)?);
                    }
                    if contender.needs_database() {
                        let wanted = database_of(catalog, &contender)?;
                        Plan::index_of(&mut contenders, catalog, &wanted)?;
                        needed.database = Some(wanted);
                    }
                }
            }
            needs.push(needed);
        }
        Ok(Plan { contenders, needs })
    }

    /// Returns the index of a contender, and adds the contender if it is missing.
    fn index_of(
        contenders: &mut Vec<Contender>,
        catalog: &Catalog,
        name: &ContenderName,
    ) -> Result<usize, Error> {
        if let Some(at) = contenders.iter().position(|contender| contender.name == *name) {
            return Ok(at);
        }
        contenders.push(catalog.contender(name)?);
        Ok(contenders.len() - 1)
    }
}

/// Reads workloads, and checks that all their secrets and those of the contender are set.
pub fn read_workloads(
    catalog: &Catalog,
    contender: &Contender,
    names: &[String],
) -> Result<Vec<Workload>, Error> {
    let workloads =
        names.iter().map(|name| catalog.workload(name)).collect::<Result<Vec<_>, _>>()?;
    workloads.iter().try_for_each(Workload::must_have_secrets)?;
    contender.system.must_have_secrets()?;
    Ok(workloads)
}

/// Returns the database of an experiment with this contender, else the first database here.
fn database_of(catalog: &Catalog, contender: &Contender) -> Result<ContenderName, Error> {
    for name in catalog.experiment_names() {
        let experiment = catalog.experiment(&name)?;
        let takes_part = experiment.all_contenders().any(|c| c.system == contender.name.system);
        if let Some(database) = experiment.database.filter(|_| takes_part) {
            return Ok(database);
        }
    }
    for name in catalog.system_names() {
        if catalog.system(&name)?.kind == Kind::Database {
            return Ok(ContenderName { system: name, variants: Vec::new() });
        }
    }
    let hint = "add a system of kind \"database\"";
    Err(Problems::plain(
        format!("{} needs a database, and there is none here", contender.name),
        hint,
    )
    .into())
}

/// Returns the upstream of an experiment with this proxy, or with a workload that it serves.
///
/// The best experiment has the proxy, a workload that it serves, the proxy's exact variants and an
/// upstream without variants, in this order of importance. Among equals the first one counts.
fn upstream_of(catalog: &Catalog, proxy: &Contender) -> Result<ContenderName, Error> {
    let mut found: Option<([bool; 4], ContenderName)> = None;
    for name in catalog.experiment_names() {
        let experiment = catalog.experiment(&name)?;
        let has_proxy = experiment.all_contenders().any(|c| c.system == proxy.name.system);
        let is_served =
            experiment.cells.iter().any(|cell| proxy.system.answers.contains(&cell.workload));
        let Some(upstream) = experiment.upstream.as_ref().filter(|_| has_proxy || is_served) else {
            continue;
        };
        let rank = [
            has_proxy,
            is_served,
            experiment.all_contenders().any(|c| *c == proxy.name),
            upstream.variants.is_empty(),
        ];
        if found.as_ref().is_none_or(|(best, _)| rank > *best) {
            found = Some((rank, upstream.clone()));
        }
    }
    if let Some((_, upstream)) = found {
        return Ok(upstream);
    }
    let proxy = &proxy.name;
    Err(Problems::plain(
        format!("{proxy} is a proxy, and no experiment here names an upstream for it"),
        "name one with --upstream",
    )
    .into())
}
