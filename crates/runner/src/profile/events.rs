//! Opens the perf events that take samples: a software clock of each CPU, so that it also works in
//! virtual machines.
//!
//! The first choice is one event per CPU for all programs of the machine. It sees every thread and
//! child, and its cost does not grow with their number. The kernel permits it to root, to
//! `CAP_PERFMON`, and to all with `perf_event_paranoid` below 1. The second choice is one event per
//! thread and CPU, inherited by new threads. Start with [`Events::open`].
//!
//! Samples show what runs. The clocks of processes differ from that: the kernel charges a thread
//! that preempts another one from the moment at which it is woken (`rq_clock_skip_update`), and the
//! thread runs when the interrupt has reached its CPU. In a virtual machine this takes some 4 µs
//! (Linux 6.18: `perf stat -e task-clock` counted 468 ms of two processes whose clocks counted
//! 658 ms, in 45,557 switches). So programs that are woken thousands of times a second have up to
//! 20 % fewer samples than CPU time by their clocks, and those that wake others on their own CPU
//! have more. All programs together have the right number. Events for single threads have the same
//! difference, and cost time at each switch.

use super::records::{REGISTERS, SAMPLE_TYPE};
use super::ring::Ring;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// CPU time from one sample to the next. 499 Hz is not a multiple of anything that programs do
/// regularly.
pub(super) const PERIOD_NS: u64 = 1_000_000_000 / 499;

/// How much of the stack is copied for each sample, for code without frame pointers. Copies take
/// most of the time that a sample costs.
const COPY_BYTES: u32 = 8 * 1024;
/// The same for code with frame pointers: enough for the caller of the innermost function.
const SMALL_COPY_BYTES: u32 = 512;

/// Maximum number of events for single threads.
const EVENTS_MAX: usize = 2048;
/// Descriptors that the rest of faceoff may need meanwhile.
const DESCRIPTORS_KEPT: usize = 256;

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_IDLE: u64 = 1 << 7;
const RECORD_NAMES: u64 = 1 << 9;
const RECORD_TASKS: u64 = 1 << 13;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// `PERF_EVENT_IOC_SET_OUTPUT`: write records into the ring of another event.
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// `struct perf_event_attr` of `linux/perf_event.h`, in its fifth version (Linux 4.1).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// What events record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub scope: Scope,
    /// The stacks of the programs can be walked by frame pointers.
    pub frame_pointers: bool,
}

/// Which programs the events see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of the machine.
    Machine,
    /// Single threads, and those that they start.
    Threads { with_kernel: bool },
}

/// Events that take samples until they are dropped.
pub(super) struct Events {
    pub rings: Vec<Ring>,
    /// Events that write into one of the rings.
    _others: Vec<OwnedFd>,
    /// What is missing from the samples, in sentences.
    pub notes: Vec<String>,
}

impl Events {
    /// Starts to sample on these CPUs, in the widest scope that the kernel permits.
    pub fn open(cpus: &[usize], threads: &[u32], frame_pointers: bool) -> Result<Events, String> {
        let scopes = [
            Scope::Machine,
            Scope::Threads { with_kernel: true },
            Scope::Threads { with_kernel: false },
        ];
        let mut refused = None;
        for scope in scopes {
            match Events::open_as(Request { scope, frame_pointers }, cpus, threads) {
                Ok(events) => return Ok(events),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.map_or_else(String::new, |error| reason(&error)))
    }

    /// Starts to sample exactly so.
    pub fn open_as(request: Request, cpus: &[usize], threads: &[u32]) -> io::Result<Events> {
        let mut events = Events { rings: Vec::new(), _others: Vec::new(), notes: Vec::new() };
        let threads: Vec<i32> = match request.scope {
            Scope::Machine => vec![-1],
            Scope::Threads { with_kernel } => {
                events.note_scope(with_kernel, cpus.len(), threads.len());
                let read = threads.iter().take(threads_max(cpus.len()));
                read.map(|thread| *thread as i32).collect()
            }
        };
        let mut refused = None;
        for cpu in cpus {
            refused = events.open_on(*cpu, cpus.len(), request, &threads)?.or(refused);
        }
        if events.rings.is_empty() {
            return Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ESRCH)));
        }
        if let Some(error) = refused {
            events.notes.push(format!(
                "Threads of other users were not sampled ({error}); run faceoff as root, or give \
                 it CAP_PERFMON."
            ));
        }
        Ok(events)
    }

    /// Opens an event for each thread on one CPU, all with one ring. Returns why the kernel refuses
    /// one of them, if it does.
    fn open_on(
        &mut self,
        cpu: usize,
        cpus: usize,
        request: Request,
        threads: &[i32],
    ) -> io::Result<Option<io::Error>> {
        let (mut ring, mut refused) = (None, None);
        for thread in threads {
            let event = match open_event(request, *thread, cpu) {
                Ok(event) => event,
                // The thread has ended, or the CPU is offline.
                Err(error) if is_gone(&error) => continue,
                Err(error) if is_refusal(&error) => {
                    refused = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match &ring {
                None => ring = Some(Ring::new(event, cpus)?),
                Some(ring) => {
                    set_output(&event, ring)?;
                    self._others.push(event);
                }
            }
        }
        self.rings.extend(ring);
        Ok(refused)
    }

    fn note_scope(&mut self, with_kernel: bool, cpus: usize, threads: usize) {
        let read = threads_max(cpus);
        if threads > read {
            self.notes.push(format!(
                "Only {read} of {threads} threads were sampled: without CAP_PERFMON each needs \
                 events of its own."
            ));
        }
        if !with_kernel {
            self.notes.push(format!(
                "Time in the kernel is missing from the samples, because \
                 kernel.perf_event_paranoid is {}; set it to 1, or give faceoff CAP_PERFMON.",
                paranoid().map_or("not readable".to_owned(), |value| value.to_string())
            ));
        }
    }
}

/// The number of threads that may get events of their own on each CPU.
fn threads_max(cpus: usize) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let free = limit.map_or(usize::MAX, |limit| limit as usize).saturating_sub(DESCRIPTORS_KEPT);
    (free.min(EVENTS_MAX) / cpus.max(1)).max(1)
}

fn open_event(request: Request, thread: i32, cpu: usize) -> io::Result<OwnedFd> {
    let flags = match request.scope {
        Scope::Machine => 0,
        Scope::Threads { with_kernel: true } => INHERIT,
        Scope::Threads { with_kernel: false } => INHERIT | EXCLUDE_KERNEL,
    };
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: CPU_CLOCK,
        sample_period: PERIOD_NS,
        sample_type: SAMPLE_TYPE,
        flags: flags | EXCLUDE_IDLE | RECORD_NAMES | RECORD_TASKS,
        sample_regs_user: REGISTERS,
        sample_stack_user: match request.frame_pointers {
            true => SMALL_COPY_BYTES,
            false => COPY_BYTES,
        },
        ..Attributes::default()
    };
    // SAFETY: the kernel reads `attributes`, whose size is in it, and keeps no reference.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread,
            cpu as libc::c_int,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    match event {
        // SAFETY: a descriptor that the kernel has just returned, and nothing else owns.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(event as i32) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_output(event: &OwnedFd, ring: &Ring) -> io::Result<()> {
    use std::os::fd::AsFd;
    // SAFETY: both are descriptors of perf events, and the request takes the second as a number.
    match unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, ring.as_fd().as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV))
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

fn paranoid() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// Why the kernel refuses, and what to set.
fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => match paranoid() {
            Some(value @ 2..) => format!(
                "the kernel permits no sampling because kernel.perf_event_paranoid is {value}; set \
                 it to 1, or give faceoff CAP_PERFMON"
            ),
            _ => "the kernel permits no sampling, probably because seccomp forbids \
                  perf_event_open in this container; permit it, and give faceoff CAP_PERFMON"
                .to_owned(),
        },
        Some(libc::ENOSYS | libc::ENOENT) => {
            "this kernel cannot sample: it is built without perf events, or a container hides \
             them; run faceoff outside of it"
                .to_owned()
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "too many files are open for sampling; raise the limit with `ulimit -n`".to_owned()
        }
        Some(libc::ESRCH) => "the processes ended before they were sampled".to_owned(),
        _ => format!("the kernel refuses to sample: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_size_of_the_fifth_version() {
        assert_eq!(size_of::<Attributes>(), 112);
    }

    #[test]
    fn refusal_names_what_to_set() {
        let sentence = |code| reason(&io::Error::from_raw_os_error(code));
        assert!(sentence(libc::EACCES).contains("CAP_PERFMON"));
        assert!(sentence(libc::EMFILE).contains("ulimit -n"));
        assert!(sentence(libc::ENOSYS).contains("perf events"));
        assert!(sentence(libc::EINVAL).contains("refuses"));
    }

    #[test]
    fn threads_that_get_no_event_are_noted() {
        let mut events = Events { rings: Vec::new(), _others: Vec::new(), notes: Vec::new() };
        events.note_scope(true, 2, 10_000);
        assert!(events.notes[0].contains("of 10000 threads were sampled"), "{:?}", events.notes);
        assert!(threads_max(2) * 2 <= EVENTS_MAX);
    }

    #[test]
    fn process_that_has_ended_cannot_be_sampled_alone() {
        let scope = Scope::Threads { with_kernel: false };
        let request = Request { scope, frame_pointers: false };
        let Err(error) = Events::open_as(request, &[0], &[u32::MAX >> 4]) else { panic!() };
        assert!(is_gone(&error), "{error}");
    }
}
