//! The table of faults: one row for each kind, with everything that code and documents use of it.
//!
//! To add a fault, add a row here. Its check (`find`) may be written in the row, or as a function
//! in the file of its topic. The rest follows from the row: the metrics that the fault invalidates,
//! how a verdict names it, and the list of checks. The tables in `docs/method/faults.md` and
//! `docs/reference/faults.md` are generated from it (`make reference`).

use super::look::{
    Look, OfSearch, always, around, arrives, by_agents, by_us, has_arrivals, has_in_flight,
    has_lag, has_steal, has_tcp, has_tenths, is_alone, is_sliced, m, measurement, only, trials,
};
use super::metrics::{
    everything, latency, nothing, speed, speed_and_cost, speed_and_energy, speed_and_failures,
    starts, tail,
};
use super::surroundings::READINGS_FEWEST;
use super::{agents, binding, capacity, generator, reach, surroundings};
use spec::metric::Metric;

/// Everything about a kind of fault.
pub struct Row {
    /// The kind as records have it.
    pub name: &'static str,
    /// The statement that holds if the fault is absent.
    pub holds: &'static str,
    /// When the fault is found.
    pub threshold: &'static str,
    /// Why the threshold is where it is.
    pub reason: &'static str,
    /// Returns whether the fault invalidates a metric.
    pub invalidates: fn(Metric) -> bool,
    /// What happened, in a few words that end a sentence such as "not confirmed: ...".
    pub summary: &'static str,
    /// Whether a contender's own slowness causes it, so that its worst measurements are excluded.
    pub self_caused: bool,
    /// What was exhausted, where the fault shows that something other than the contender was the
    /// limit.
    pub limit: Option<&'static str>,
    /// Where the fault can be found.
    pub(super) look: Look,
}

/// Makes the enum, the list of all kinds and the row of each from the same lines.
macro_rules! table {
    ($($kind:ident {
        name: $name:literal,
        holds: $holds:literal,
        $($field:ident: $value:expr,)*
    })*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultKind {
            $(#[doc = concat!("`", $name, "`. Without it, ", $holds, ".")] $kind,)*
        }

        impl FaultKind {
            /// All kinds, in reading order.
            pub const ALL: &[FaultKind] = &[$(FaultKind::$kind),*];

            /// The row of the kind.
            pub fn row(self) -> &'static Row {
                match self {
                    $(FaultKind::$kind => {
                        static ROW: Row = Row { name: $name, holds: $holds, $($field: $value,)* };
                        &ROW
                    })*
                }
            }
        }
    };
}

impl FaultKind {
    /// The kind that records call by this name. Returns `None` for a kind that this version does
    /// not know.
    pub fn named(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.iter().copied().find(|kind| kind.row().name == name)
    }
}

table! {
    Counts {
        name: "counts",
        holds: "every request is accounted for",
        threshold: "counts do not add up",
        reason: "a defect of faceoff",
        invalidates: everything,
        summary: "counts did not add up",
        self_caused: false,
        limit: None,
        look: measurement(always, generator::counts),
    }
    GeneratorCpu {
        name: "generator-cpu",
        holds: "the load generator had CPU time to spare",
        threshold: "the generator's thread used more than 90 % of a CPU, without its own active \
            waiting (`spun_ns`)",
        reason: "above 90 %, queues form in the generator",
        invalidates: speed,
        summary: "the load generator had too little CPU",
        self_caused: false,
        limit: Some("the load generator was at the limit of its CPU"),
        look: Look::MeasurementOrSearch(
            only(by_us, by_us, generator::cpu),
            OfSearch { can: |_| true, find: |searched, _| capacity::generator(searched) },
        ),
    }
    GeneratorLag {
        name: "generator-lag",
        holds: "requests left when they were due (median)",
        threshold: "median lag above 50 µs and above 10 % of the median latency; in-flight limit \
            not reached",
        reason: "the schedule was not kept. Below 50 µs, the lag is the clock and a wake-up",
        invalidates: latency,
        summary: "requests were sent late",
        self_caused: false,
        limit: None,
        look: measurement(has_lag, generator::lag),
    }
    GeneratorLagTail {
        name: "generator-lag-tail",
        holds: "requests left when they were due (99th percentile)",
        threshold: "99th percentile of the lag above 1 ms and above half of that of the latency; \
            at least 563 requests; in-flight limit not reached",
        reason: "the tail then shows pauses of the generator. A wake-up on a busy CPU may cost up \
            to 1 ms. All contenders have that in common",
        invalidates: tail,
        summary: "requests were sent late",
        self_caused: false,
        limit: None,
        look: measurement(has_lag, generator::lag_of_tail),
    }
    AgentCpu {
        name: "agent-cpu",
        holds: "each agent had CPU time to spare",
        threshold: "an agent's event loops used more than 90 % of their CPUs, without their own \
            active waiting",
        reason: "as for `generator-cpu`, which this check replaces where agents make the load",
        invalidates: speed,
        summary: "the load generator had too little CPU",
        self_caused: false,
        limit: Some("agents were at the limit of their CPUs"),
        look: Look::Measurement(only(by_agents, by_agents, agents::cpu)),
    }
    AgentLag {
        name: "agent-lag",
        holds: "the requests of each agent left when they were due (median)",
        threshold: "an agent's median lag above 50 µs and above 10 % of its median latency; not \
            all of its slots in use",
        reason: "as for `generator-lag`. One late agent of many does not show in the lag of all",
        invalidates: latency,
        summary: "requests were sent late",
        self_caused: false,
        limit: None,
        look: Look::Measurement(only(by_agents, by_agents, agents::lag)),
    }
    AgentStart {
        name: "agent-start",
        holds: "all agents began at one instant",
        threshold: "an agent began more than 1 ms late; its clock is known only to more than 1 ms; \
            or its clock drifted by more than 1 ms from the coordinator's during the load",
        reason: "the arrivals of all agents are one schedule only if they share one start. The \
            tail of the lag may be 1 ms as well",
        invalidates: latency,
        summary: "agents did not begin at one instant",
        self_caused: false,
        limit: None,
        look: Look::Measurement(only(by_agents, by_agents, agents::start)),
    }
    RateNotAchieved {
        name: "rate-not-achieved",
        holds: "the requested rate was offered",
        threshold: "arrivals: fewer than 99 % of the scheduled requests, and at least two too few, \
            were sent within the planned time; in-flight limit not reached",
        reason: "the load was not the requested one",
        invalidates: speed,
        summary: "not all requests were sent in time",
        self_caused: false,
        limit: Some("fewer requests were sent than were due"),
        look: measurement(|s| arrives(s) && m(s).generator.sent_in_time.is_some(), generator::rate),
    }
    InFlightLimit {
        name: "in-flight-limit",
        holds: "arrivals never had to wait for responses",
        threshold: "arrivals: as many requests in flight as the cell allows",
        reason: "from there on, responses set the pace, and the load is no longer open. Responses \
            and failures still count",
        invalidates: latency,
        summary: "arrivals had to wait for responses",
        self_caused: true,
        limit: Some("as many requests were in flight as the cell allows"),
        look: measurement(arrives, generator::in_flight_limit),
    }
    Arrivals {
        name: "arrivals",
        holds: "arrivals follow their schedule (Anderson and Darling)",
        threshold: "A² of Anderson and Darling above 13, over 20 to 1,000 instants of sending on \
            the scale of expected arrivals; in-flight limit not reached",
        reason: "about one in a million schedules that were kept (the tail is √3·erfc(√A²)). The \
            sample is drawn by number before the run. Evenly spaced arrivals are more regular than \
            chance, and stay far below 13",
        invalidates: latency,
        summary: "requests did not follow their schedule",
        self_caused: false,
        limit: None,
        look: measurement(has_arrivals, generator::arrivals),
    }
    LittlesLaw {
        name: "littles-law",
        holds: "requests in flight are rate times time (Little's law)",
        threshold: "mean of requests in flight, integrated at each sending and response, more than \
            5 % from rate × mean service time; at least 200 correct responses, fewer than 0.1 % \
            failed, none unfinished. Closed load: more than 5 % from connections × depth, where \
            connections persist",
        reason: "both sides are exact. They differ only by a defect of the instrument, or by idle \
            connections of a closed load. The cut-off ends of a measurement make less than 5 %",
        invalidates: everything,
        summary: "the requests in flight do not match rate times time",
        self_caused: false,
        limit: None,
        look: measurement(has_in_flight, generator::littles_law),
    }
    NotStationary {
        name: "not-stationary",
        holds: "the second half is like the first",
        threshold: "throughput (closed load) or CPU per request (other loads), in tenths of a \
            second, from 2.8 s on. Its second half differs from its first by more than 10 % and by \
            more than 4 standard errors, with KPSS p ≤ 0.01. Over all the contender's measurements \
            of the cell, the geometric mean of second over first also differs by more than 10 %, \
            in the same direction, and its 95 % t interval excludes 1. A single measurement \
            suffices for throughput, never for CPU per request. With crossed factors, all \
            combinations are pooled. Stages and ramps are not checked",
        reason: "10 % is twice the usual margin. The errors of the halves ignore that neighbouring \
            tenths are alike; KPSS does not, and needs 28 tenths to reach 0.01. A single change is \
            often the machine's caches and belongs to the spread between blocks. A contender that \
            is not warm yet changes in the same direction at every start",
        invalidates: speed_and_cost,
        summary: "it was still changing",
        self_caused: true,
        limit: None,
        // All measurements of a contender together decide this (`series::not_stationary`).
        look: measurement(has_tenths, |_| None),
    }
    UpstreamBinds {
        name: "upstream-binds",
        holds: "the contender was the limit, not its upstream or database",
        threshold: "upstream or database used more than 95 % of its CPUs, with the generator where \
            they share CPUs, and at least 5 % by itself; the contender used less than 95 % of its \
            own",
        reason: "the contender was not what limited the result",
        invalidates: speed,
        summary: "the upstream was the bottleneck",
        self_caused: false,
        limit: Some("the upstream or database, with the generator, had no CPU time left"),
        look: Look::MeasurementOrSearch(
            only(always, |s| m(s).upstream_cpu_ns.is_some(), binding::upstream),
            OfSearch { can: capacity::knows_both, find: binding::upstream_of_search },
        ),
    }
    Steal {
        name: "steal",
        holds: "the hypervisor took next to no CPU time",
        threshold: "CPU steal above 5 % of the CPUs in use, in this measurement (in older records: \
            in the whole trial)",
        reason: "it lengthens times by the usual margin. CPU steal is not charged as CPU time, but \
            the neighbour empties the caches",
        invalidates: |metric| speed_and_cost(metric) || metric == Metric::StartUp,
        summary: "the hypervisor took CPU time",
        self_caused: false,
        limit: None,
        look: Look::MeasurementOrSearch(
            only(is_alone, |s| is_alone(s) && has_steal(s), surroundings::steal),
            OfSearch { can: |_| true, find: |searched, _| capacity::steal(searched) },
        ),
    }
    OtherCpu {
        name: "other-cpu",
        holds: "no other program used these CPUs",
        threshold: "other programs used more than 5 % of the CPUs of the contender or the \
            generator, and more than 2√n + 2 of its n ticks",
        reason: "5 % is the usual margin. Other programs have the busy ticks of the CPUs less \
            those of contender, upstream and faceoff. Agents in pods on the generator's CPUs count \
            as faceoff. Busy is the smaller of busy ticks and time that was not idle, because the \
            kernel samples busy ticks every 10 ms. The second bound is four standard deviations of \
            that sampling. Processes of a contender that live less than a second count as other \
            programs",
        invalidates: speed_and_energy,
        summary: "other processes used the CPU",
        self_caused: false,
        limit: None,
        look: Look::MeasurementOrSearch(
            only(is_alone, |s| is_alone(s) && around(s).is_some(), surroundings::other_cpu),
            OfSearch { can: |_| true, find: |searched, _| capacity::other_cpu(searched) },
        ),
    }
    SharedCpu {
        name: "shared-cpu",
        holds: "no other program used these CPUs while contenders alternated",
        threshold: "the finding of `other-cpu` or `steal`, in a measurement in slices",
        reason: "contenders that alternate in slices meet other programs alike, so ratios of \
            throughput and CPU time hold. A latency includes the wait for a CPU, which brings \
            contenders closer together",
        invalidates: |metric| latency(metric) || metric == Metric::EnergyPerRequest,
        summary: "other processes used the CPU",
        self_caused: false,
        limit: None,
        look: Look::Measurement(only(
            is_sliced,
            |s| is_sliced(s) && around(s).is_some(),
            surroundings::shared_cpu,
        )),
    }
    SpillOver {
        name: "spill-over",
        holds: "no contender worked while another had the load",
        threshold: "in slices: other contenders used more than 5 % of the contender's CPUs within \
            its slices, or it used more than 5 % of the time of its slices outside them",
        reason: "5 % is the usual margin. Compilers and garbage collectors put work off. It then \
            slows down the contender that has the load instead of the one that causes it. CPU per \
            request counts it either way. faceoff pauses the processes that it starts, so this \
            concerns containers, services that already ran, processes that faceoff may not signal, \
            and older records, which do not show what others did within slices. What processes do \
            that began within the measurement is not seen",
        invalidates: speed,
        summary: "a contender worked while another had the load",
        self_caused: false,
        limit: None,
        look: Look::Measurement(only(
            is_sliced,
            |s| is_sliced(s) && m(s).usage.is_known(),
            surroundings::spill_over,
        )),
    }
    Frequency {
        name: "frequency",
        holds: "the clock rate did not change",
        threshold: "mean clock rates of the contender's CPUs under load differ by more than 10 % \
            between the halves; at least two readings in each",
        reason: "every time changes with the clock rate. Most virtual machines do not report it",
        invalidates: speed_and_cost,
        summary: "the clock rate changed",
        self_caused: false,
        limit: None,
        look: measurement(
            |s| m(s).usage.mhz_at.len() >= 2 * READINGS_FEWEST,
            surroundings::frequency,
        ),
    }
    Descriptors {
        name: "descriptors",
        holds: "there were descriptors left",
        threshold: "the generator or a process of the contender held 95 % of its limit (the \
            contender's own limit counts only if `[place]` sets no `descriptors`), or a connection \
            failed for lack of one",
        reason: "beyond it, the limit refuses connections, not the program",
        invalidates: speed_and_failures,
        summary: "descriptors ran out",
        self_caused: false,
        limit: Some("descriptors ran out"),
        look: Look::MeasurementOrSearch(
            only(always, |s| m(s).usage.generator_descriptors.is_some(), surroundings::descriptors),
            OfSearch { can: |_| true, find: |searched, _| capacity::descriptors(searched) },
        ),
    }
    Ports {
        name: "ports",
        holds: "there were ports left",
        threshold: "TCP sockets in use or in TIME_WAIT reach 90 % of the ephemeral ports \
            (afterwards; or before, together with the generator's descriptors), or a connection \
            failed for lack of a port",
        reason: "the search for a free port becomes slow before it fails",
        invalidates: speed_and_failures,
        summary: "ports ran out",
        self_caused: false,
        limit: Some("ports ran out"),
        look: Look::MeasurementOrSearch(
            only(always, |s| around(s).is_some_and(|c| c.ports.is_some()), surroundings::ports),
            OfSearch { can: |_| true, find: |searched, _| capacity::ports(searched) },
        ),
    }
    Backlog {
        name: "backlog",
        holds: "no listener's queue was full",
        threshold: "`ListenOverflows` or `ListenDrops` grew",
        reason: "the client retries such a connection after 1 s, so a constant of the kernel is \
            measured",
        invalidates: speed,
        summary: "a listen queue was full",
        self_caused: true,
        limit: None,
        look: measurement(has_tcp, surroundings::backlog),
    }
    Retransmits {
        name: "retransmits",
        holds: "next to no TCP segment was retransmitted",
        threshold: "more than 0.1 % of the TCP segments, and more than 10, were retransmitted, \
            without tail loss probes (RFC 8985)",
        reason: "each costs 200 ms or more. On one machine only full queues cause them. A probe \
            requests a late acknowledgement, and nothing waits for it",
        invalidates: speed,
        summary: "TCP segments were lost",
        self_caused: true,
        limit: None,
        look: measurement(has_tcp, surroundings::retransmits),
    }
    Memory {
        name: "memory",
        holds: "memory was left, and nothing was swapped",
        threshold: "less than 5 % of the machine's memory available, or any page swapped (a \
            cgroup's own limit does not count)",
        reason: "reclaiming memory stalls any program that allocates",
        invalidates: everything,
        summary: "memory was short",
        self_caused: false,
        limit: Some("memory ran out"),
        look: measurement(|s| around(s).is_some_and(|c| c.memory.is_some()), surroundings::memory),
    }
    ClockStep {
        name: "clock-step",
        holds: "the wall clock was not set",
        threshold: "the wall clock moved by more than 50 ms against the monotonic clock",
        reason: "faceoff's times are monotonic, a contender's timers may not be. The fastest \
            slewing (500 ppm) takes 100 s for 50 ms",
        invalidates: speed,
        summary: "the wall clock was set",
        self_caused: false,
        limit: None,
        look: measurement(|s| around(s).is_some(), surroundings::clock_step),
    }
    Suspended {
        name: "suspended",
        holds: "the machine did not sleep",
        threshold: "the boot clock moved by more than 50 ms against the monotonic clock",
        reason: "the machine slept",
        invalidates: everything,
        summary: "the machine slept",
        self_caused: false,
        limit: None,
        look: measurement(|s| around(s).is_some(), surroundings::suspended),
    }
    LeftCpuSet {
        name: "left-cpu-set",
        holds: "the contender kept to its CPUs",
        threshold: "a process, or one of its first 128 threads, may run on a CPU outside the \
            contender's set. Checked at the beginning, every second and at the end; Docker's own \
            `docker-proxy` does not count",
        reason: "it had more CPUs than the others, or took CPU time from the generator",
        invalidates: everything,
        summary: "the contender left its CPUs",
        self_caused: false,
        limit: None,
        look: measurement(|s| !m(s).usage.allowed_cpus.is_empty(), surroundings::left_cpu_set),
    }
    StartSteal {
        name: "start-steal",
        holds: "the hypervisor took next to no CPU time while systems started",
        threshold: "CPU steal above 5 %, from the start to the first correct response",
        reason: "a start happens once, so only a spare block replaces it",
        invalidates: starts,
        summary: "the hypervisor took CPU time",
        self_caused: false,
        limit: None,
        look: Look::Elsewhere { of: "starts", reach: reach::starts },
    }
    Generator {
        name: "generator",
        holds: "every load could be made",
        threshold: "the load of a cell could not be made (too few descriptors, unreadable data)",
        reason: "nothing was measured in this cell of the trial. Other cells are valid. The \
            evidence names the cause",
        invalidates: everything,
        summary: "a load could not be made",
        self_caused: false,
        limit: None,
        look: trials(reach::all_trials),
    }
    AgentLost {
        name: "agent-lost",
        holds: "every agent stayed, and reached the contender",
        threshold: "an agent was gone, refused, or could not connect to a contender that answered \
            requests from this machine",
        reason: "the other agents did not make the requested load. Before the next trial faceoff \
            looks which agents are there, and creates agents in pods again",
        invalidates: everything,
        summary: "an agent was lost",
        self_caused: false,
        limit: None,
        look: trials(reach::with_agents),
    }
    UpstreamLost {
        name: "upstream-lost",
        holds: "the upstream stayed up",
        threshold: "the upstream ended during the trial",
        reason: "faceoff starts it again for the next trial, at most three times",
        invalidates: everything,
        summary: "the upstream ended",
        self_caused: false,
        limit: None,
        look: trials(reach::with_upstream),
    }
    DatabaseLost {
        name: "database-lost",
        holds: "the database stayed up",
        threshold: "the database ended during the trial, or could not be queried",
        reason: "acknowledged writes cannot be compared with the rows that exist",
        invalidates: everything,
        summary: "the database ended",
        self_caused: false,
        limit: None,
        look: trials(reach::with_database),
    }
    LostWrite {
        name: "lost-write",
        holds: "every acknowledged write is there",
        threshold: "fewer rows than acknowledged writes",
        reason: "a lost write is no write, however fast. The contender is disqualified and gets no \
            verdict",
        invalidates: everything,
        summary: "acknowledged writes were lost",
        self_caused: false,
        limit: None,
        look: trials(reach::with_data_checked),
    }
    DoubledWrite {
        name: "doubled-write",
        holds: "no acknowledged write is there twice",
        threshold: "more rows than writes that were acknowledged or are in doubt",
        reason: "as for `lost-write`",
        invalidates: everything,
        summary: "writes were made twice",
        self_caused: false,
        limit: None,
        look: trials(reach::with_data_checked),
    }
    BrokenData {
        name: "broken-data",
        holds: "the data meet the workload's conditions",
        threshold: "a statement of the workload that must give zero does not, or a row does not \
            meet the workload's condition",
        reason: "as for `lost-write`",
        invalidates: everything,
        summary: "the data were wrong",
        self_caused: false,
        limit: None,
        look: trials(reach::with_data_checked),
    }
    AllTie {
        name: "all-tie",
        holds: "contenders differ, so they were measured and not something that they share",
        threshold: "closed load: mean throughputs of three or more contenders within 1 %, none at \
            90 % of its CPUs; the baseline's second self does not count",
        reason: "different programs agree that closely only by what they share: generator, \
            upstream, a delay",
        invalidates: |metric| metric == Metric::Throughput,
        summary: "all contenders tied",
        self_caused: false,
        limit: None,
        look: Look::Elsewhere { of: "cells", reach: reach::closed_cells },
    }
    AaDiffers {
        name: "aa-differs",
        holds: "the baseline does not differ from itself",
        threshold: "the baseline is better or worse than itself",
        reason: "something other than the contender makes a difference. Only verdicts of that \
            metric in that cell are undecided",
        invalidates: everything,
        summary: "the baseline differed from itself",
        self_caused: false,
        limit: None,
        look: Look::Elsewhere { of: "comparisons", reach: |_, compared| (compared, compared) },
    }
    ExternalGenerator {
        name: "external-generator",
        holds: "every external generator made its load",
        threshold: "an external generator failed, or its output is not understood",
        reason: "its cell takes part in no verdict",
        invalidates: nothing,
        summary: "an external generator failed",
        self_caused: false,
        limit: None,
        look: Look::Apart,
    }
}
