//! The machine of a run as names and values, for the report and for the comparison of two records.

use record::Header;
use spec::units::show_bytes;

/// Describes where a run happened: processor, memory, system, and which CPUs had which role.
pub(crate) fn machine_facts(header: &Header) -> Vec<(&'static str, String)> {
    let (m, cpus) = (&header.machine, &header.cpus);
    let show = |set: &[usize]| set.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let by_agents = header.experiment.place.agents_asked() > 0;
    let ran_elsewhere = header.contenders.iter().all(|p| p.reached.is_some());
    let mut facts = vec![
        ("processor", format!("{}{}", m.cpu, if m.is_virtual { " (virtual machine)" } else { "" })),
        ("CPUs", m.cores.to_string()),
        ("memory", show_bytes(m.memory_bytes)),
        ("system", format!("{}, kernel {}", m.os, m.kernel)),
        ("frequency governor", m.governor.clone().unwrap_or_else(|| "not visible here".into())),
        (
            "CPUs of the contender",
            if ran_elsewhere {
                "not set by faceoff: it was already running".into()
            } else {
                show(&cpus.contender)
            },
        ),
        (
            if by_agents { "CPUs of warm-up and readings" } else { "CPUs of the load generator" },
            show(&cpus.generator),
        ),
    ];
    if !header.energy.is_empty() {
        facts.push(("energy counters", header.energy.clone()));
    }
    if header.kept_awake {
        facts.push(("kept awake", "yes: a virtual CPU that sleeps comes back late".into()));
    }
    if let Some(upstream) = &header.upstream {
        facts.push(("CPUs of the upstream", show(&cpus.upstream)));
        facts.push(("upstream", format!("{}: {}", upstream.name, upstream.summary)));
    }
    facts
}
