//! Where a contender's CPU time went: samples of its stacks in one cell of one profiled block.
//!
//! Profiled blocks follow the judged ones and are never judged themselves, because sampling costs
//! time. A [`Profile`] explains a verdict. Start with its fields: a stack refers to its frames by
//! number, so that each name is stored once.

use serde::{Deserialize, Serialize};
use spec::name::ContenderName;

/// The samples of one contender in one cell of one profiled block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// The contender.
    pub contender: ContenderName,
    /// The profiled block, from 1. Blocks of trials are counted separately.
    pub block: u32,
    /// The cell.
    pub cell: String,
    /// The CPU time after which the kernel takes the next sample.
    pub period_ns: u64,
    /// CPU time of the contender's processes while they were sampled, by their clocks.
    pub cpu_ns: u64,
    /// Correct responses meanwhile.
    pub correct: u64,
    /// The load meanwhile; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<SampledLoad>,
    /// Samples that the kernel dropped.
    pub lost: u64,
    /// Every frame that a stack has, each once.
    pub frames: Vec<Frame>,
    /// Every stack that was seen, each once.
    pub stacks: Vec<Stack>,
    /// What the processes did besides using a CPU.
    pub waits: Waits,
    /// What could not be read, in sentences: a stripped executable, a missing permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Profile {
    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().fold(0, |sum, stack| sum.saturating_add(stack.samples))
    }

    /// Returns the CPU time that each sample counts as, in whole nanoseconds: the period, or less
    /// if all samples together would exceed the CPU time by the clocks.
    pub fn sample_ns(&self) -> u64 {
        match (self.samples(), self.cpu_ns) {
            (0, _) | (_, 0) => self.period_ns,
            (samples, cpu_ns) => self.period_ns.min((cpu_ns / samples).max(1)),
        }
    }

    /// Returns the CPU time by the clocks that no sample stands for. The kernel charges a thread
    /// from the moment at which it is woken, and samples it from when it runs.
    pub fn unsampled_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.samples().saturating_mul(self.period_ns))
    }
}

/// The load during which stacks were sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampledLoad {
    /// How long it lasted. In slices, only their measured parts count.
    pub duration_ns: u64,
    /// The mean time to a response: the latency of a load with a schedule, else the service time.
    pub response_ns: u64,
}

/// A function that was on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    /// Its name for people, demangled; `None` if it has no symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The file name of its executable or library; `kernel`, or `jit` for compiled code of a
    /// virtual machine.
    pub module: String,
    /// What kind of code it is.
    pub kind: FrameKind,
}

/// What kind of code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// The kernel.
    Kernel,
    /// Machine code of an executable or a library.
    Native,
    /// Machine code that a virtual machine has compiled.
    Compiled,
    /// The interpreter of a virtual machine.
    Interpreted,
}

/// A stack, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stack {
    /// The thread's name, without a number at its end, so that workers of one pool are one.
    pub thread: String,
    /// Indices into [`Profile::frames`], from the innermost function outwards.
    pub frames: Vec<u32>,
    /// The number of samples.
    pub samples: u64,
}

/// What processes did besides using a CPU, while they were sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Waits {
    /// Time for which threads were ready and waited for a CPU.
    pub run_queue_ns: Option<u64>,
    /// Context switches of threads that waited for something.
    pub voluntary_switches: u64,
    /// Context switches of threads that lost their CPU.
    pub involuntary_switches: u64,
    /// Page faults without a read from disk.
    pub minor_faults: u64,
    /// Page faults with a read from disk.
    pub major_faults: u64,
    /// System calls by name, most frequent first; empty where they could not be counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system_calls: Vec<SystemCall>,
    /// The load during which system calls were counted; `None` where they could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracedLoad>,
    /// Pauses of the garbage collector; `None` if no collector logged any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
}

/// A short load of the same kind, after the sampled one. Tracing slows the contender down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedLoad {
    /// Its correct responses.
    pub correct: u64,
    /// How long it lasted.
    pub duration_ns: u64,
}

/// Pauses in which the garbage collector stopped all threads of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pauses {
    /// The number of pauses.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The longest one.
    pub longest_ns: u64,
}

/// How often a system call was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemCall {
    /// Its name, such as `epoll_wait`.
    pub name: String,
    /// The number of calls while they were traced.
    pub calls: u64,
    /// Time from their begin to their end, if it was measured. It includes what tracing takes.
    pub spent_ns: Option<u64>,
}
