//! Where the CPU time of contenders went, and what explains the difference between them.
//!
//! The judge fills these in from the profiles of a record. They explain verdicts and never decide
//! one. Start with [`Causes`]: one for each cell that was profiled.

use serde::{Deserialize, Serialize};
use spec::name::ContenderName;
use stats::Interval;

/// The CPU time of one cell, by cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Causes {
    /// The cell.
    pub cell: String,
    /// The contenders that were profiled, the baseline first.
    pub contenders: Vec<CpuCauses>,
    /// Each contender compared with the baseline; empty if the baseline was not profiled.
    pub differences: Vec<CpuDifference>,
}

/// The CPU time that a request cost one contender, by cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCauses {
    /// The contender.
    pub contender: ContenderName,
    /// The number of profiled blocks with a correct response.
    pub blocks: u32,
    /// The number of samples.
    pub samples: u64,
    /// Samples that the kernel dropped.
    pub lost: u64,
    /// The CPU time by the clocks of the processes; without a clock, the sum of all samples.
    pub total: Cost,
    /// The share of that time that samples stand for. It may exceed 1; then the samples are scaled
    /// down to the clock. `None` if no clock was read.
    #[serde(default)]
    pub sampled_share: Option<f64>,
    /// Whether that share is between 70 % and 130 %, which is as far as samples and clocks can
    /// agree for threads that are woken often. Beyond that, samples are missing.
    pub agrees: Option<bool>,
    /// Every category, in the order of the table, with those that no sample belongs to. They sum to
    /// the total. The last is the time that no sample stands for.
    pub categories: Vec<NamedCost>,
    /// The innermost functions, most expensive first. Small ones are left out.
    pub functions: Vec<FunctionCost>,
    /// The executables and libraries, most expensive first. Small ones are left out.
    pub modules: Vec<NamedCost>,
    /// What the processes did besides using a CPU.
    pub waits: WaitsPerRequest,
    /// What could not be read, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// CPU time per correct response: the mean over blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// The mean, in microseconds.
    pub us: f64,
    /// Its interval at 95 %; `None` with one block.
    pub interval: Option<Interval>,
}

/// The cost of something with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedCost {
    /// Its name.
    pub name: String,
    /// Its cost.
    pub cost: Cost,
}

/// The cost of a function in one category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionCost {
    /// Its name; `None` for code without a symbol.
    pub function: Option<String>,
    /// Its executable or library, or `kernel` or `jit`.
    pub module: String,
    /// The category.
    pub category: String,
    /// Its cost.
    pub cost: Cost,
}

/// What processes did besides using a CPU, per correct response over all blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsPerRequest {
    /// Time for which threads were ready and waited for a CPU.
    pub run_queue_us: Option<f64>,
    /// Context switches of threads that waited for something.
    pub voluntary_switches: f64,
    /// Context switches of threads that lost their CPU.
    pub involuntary_switches: f64,
    /// Page faults without a read from disk.
    pub minor_faults: f64,
    /// Page faults with a read from disk.
    pub major_faults: f64,
    /// System calls, most frequent first; empty where they could not be counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system_calls: Vec<SystemCallsPerRequest>,
    /// By which factor the contender was slower, in correct responses per second, while its system
    /// calls were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_down: Option<f64>,
    /// Pauses of the garbage collector; `None` unless every block has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PausesPerBlock>,
}

impl WaitsPerRequest {
    /// Returns the calls with a name, if they were made and counted.
    pub fn call(&self, name: &str) -> Option<&SystemCallsPerRequest> {
        self.system_calls.iter().find(|call| call.name == name)
    }
}

/// Returns the names of the system calls of all contenders: those in which any of them spends the
/// most time first, then the most frequent.
pub fn slowest_calls<'a>(contenders: impl Iterator<Item = &'a CpuCauses>) -> Vec<&'a str> {
    let mut calls: Vec<&SystemCallsPerRequest> =
        contenders.flat_map(|of| &of.waits.system_calls).collect();
    let spent = |call: &SystemCallsPerRequest| call.spent_us.unwrap_or(0.0);
    calls.sort_by(|a, b| spent(b).total_cmp(&spent(a)).then(b.calls.total_cmp(&a.calls)));
    let mut names: Vec<&str> = Vec::new();
    for call in calls {
        if !names.contains(&call.name.as_str()) {
            names.push(&call.name);
        }
    }
    names
}

/// Pauses in which the garbage collector stopped all threads of the program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PausesPerBlock {
    /// Their number in a block, in the mean.
    pub count: f64,
    /// The share of the time with load that they take.
    pub share: f64,
    /// The longest one of all blocks, in microseconds.
    pub longest_us: f64,
}

/// How often a system call was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemCallsPerRequest {
    /// Its name.
    pub name: String,
    /// Calls per correct response.
    pub calls: f64,
    /// Time within them per correct response, if it was measured.
    pub spent_us: Option<f64>,
}

/// What explains the difference between a contender and the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuDifference {
    /// The contender.
    pub contender: ContenderName,
    /// The contender that it is compared with.
    pub baseline: ContenderName,
    /// The number of profiled blocks that both have.
    pub blocks: u32,
    /// The whole difference. It is tested by itself, so it has no `q`.
    pub total: CauseLine,
    /// Each category with a sample, the largest difference first.
    pub categories: Vec<CauseLine>,
    /// Each function with enough samples for a test, the largest difference first. Empty if the
    /// contenders share too few functions to be compared by them.
    pub functions: Vec<CauseLine>,
    /// Whether functions were compared.
    pub functions_compared: bool,
    /// How much later responses arrive, and which waits differ. `None` if no block of both has
    /// what is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitsDifference>,
    /// The result in plain English.
    pub sentence: String,
}

/// How the time to a response differs, and what the processes wait for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsDifference {
    /// The mean time to a response. It is tested by itself, so it has no `q`.
    pub response: CauseLine,
    /// Whether responses take longer or shorter by so much that CPU time does not explain it.
    pub beyond_cpu: bool,
    /// Each wait that both have, the largest difference first.
    pub lines: Vec<CauseLine>,
}

/// The difference in one category, function or wait. Positive: the contender uses more than the
/// baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseLine {
    /// The category, function or wait; empty for the whole difference.
    pub name: String,
    /// The category of a function; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// The mean difference over blocks, in microseconds per correct response: of CPU time, or of
    /// the time that was waited.
    pub us: f64,
    /// Its interval at 95 %, by itself; `None` with one block.
    pub interval: Option<Interval>,
    /// The probability of such a difference, or a larger one, if there were none.
    pub p: Option<f64>,
    /// The same, corrected for all categories and functions of the pair, or for all its waits
    /// (Benjamini-Hochberg).
    pub q: Option<f64>,
    /// Whether it may be named: enough blocks, and no chance by the corrected probability.
    pub holds: bool,
}
