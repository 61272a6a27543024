//! The code of a process by address, and the walk of its stacks.
//!
//! [`Space::read`] takes the executable mappings of a process. [`Space::walk`] turns a sample into
//! code addresses. Code of files with unwind data is walked by that data, since most native code
//! keeps no frame pointers. Other code (Go, compiled code of virtual machines) is walked by frame
//! pointers: by the kernel if the innermost function is such code in a file, otherwise here.
//! A walk ends where an address is no code, so a wrong frame pointer adds no wrong functions.

use super::modules::{Code, Module, Modules, UNKNOWN, bias, mappings};
use super::records::Sample;
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind,
    UnwindRegsNative, Unwinder, UnwinderNative,
};
use std::sync::Arc;

/// Most functions of a stack. The kernel has the same limit by default.
pub(super) const DEPTH_MAX: usize = 127;

/// No usual stack is larger, in bytes.
const STACK_MAX: u64 = 8 << 20;

/// What framehop keeps between walks of any process.
pub(super) type Cache = CacheNative<MayAllocateDuringUnwind>;

/// Code at an address: a module's number, and the address within the module.
pub(super) type Place = (u32, u64);

/// The executable memory of a process.
pub(super) struct Space {
    ranges: Vec<Range>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    /// The module of code that the process has generated.
    compiled: u32,
}

struct Range {
    start: u64,
    end: u64,
    module: u32,
    bias: u64,
    how: How,
}

/// How code is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// By unwind data of a file.
    UnwindData,
    /// By frame pointers; the code is in a file.
    FramePointers,
    /// By frame pointers; the code was generated.
    Generated,
}

/// A stack of a program, and whether functions at its outer end are missing.
pub(super) struct Walked {
    pub places: Vec<Place>,
    pub is_cut: bool,
    /// The innermost function is in memory that [`Space::read`] has not seen.
    pub is_new_code: bool,
}

impl Space {
    /// Reads the mappings of a process; `None` if it has ended.
    pub fn read(pid: u32, modules: &mut Modules) -> Option<Space> {
        let mappings = mappings(pid);
        let mut unwinder = UnwinderNative::new();
        let mut ranges = Vec::new();
        for mapping in &mappings {
            let number = modules.of_mapping(pid, mapping);
            let module = modules.get(number);
            let bias = bias(module, mapping);
            let (start, end) = (mapping.start, mapping.end);
            let how = match &module.code {
                Code::Compiled { .. } => How::Generated,
                _ => match unwinding_module(module, start..end, bias) {
                    Some(module) => {
                        unwinder.add_module(module);
                        How::UnwindData
                    }
                    None => How::FramePointers,
                },
            };
            ranges.push(Range { start, end, module: number, bias, how });
        }
        ranges.sort_by_key(|range| range.start);
        let compiled = modules.compiled_by(pid);
        (!ranges.is_empty()).then_some(Space { ranges, unwinder, compiled })
    }

    /// Whether the program is in Go or on a Java virtual machine.
    pub fn keeps_frame_pointers(&self, modules: &Modules) -> bool {
        self.ranges.iter().map(|range| modules.get(range.module)).any(|module| {
            module.name == "libjvm.so" || matches!(module.code, Code::File { go: Some(_), .. })
        })
    }

    /// The stack of a sample, innermost function first.
    pub fn walk(&self, sample: &Sample, modules: &Modules, cache: &mut Cache) -> Walked {
        let by_kernel = sample.user.get(..DEPTH_MAX.min(sample.user.len())).unwrap_or_default();
        let innermost = by_kernel.first().and_then(|address| self.range(*address));
        let registers = sample.registers.and_then(registers);
        let walks_here = innermost.is_none_or(|range| range.how != How::FramePointers);
        let (places, is_cut) = match registers.filter(|_| walks_here) {
            Some((address, registers)) => {
                let (mut addresses, mut is_cut) = self.walk_copy(address, registers, sample, cache);
                if is_cut {
                    // The innermost frame pointer of code with unwind data is of no use.
                    let first = usize::from(innermost.is_some_and(|r| r.how == How::UnwindData));
                    is_cut = !continue_by(&mut addresses, by_kernel, first);
                }
                (self.places(&addresses), is_cut)
            }
            None => {
                let is_deep = sample.user.len() + sample.kernel.len() >= DEPTH_MAX;
                match self.caller_in_go(sample, modules).filter(|c| by_kernel.get(1) != Some(c)) {
                    Some(caller) => {
                        let all = [&by_kernel[..1], &[caller], &by_kernel[1..]].concat();
                        (self.places(&all), is_deep)
                    }
                    None => (self.places(by_kernel), is_deep),
                }
            }
        };
        Walked { places, is_cut, is_new_code: innermost.is_none() && !sample.user.is_empty() }
    }

    /// The caller of the innermost function of a Go program. Frame pointers miss it if the function
    /// has set up none.
    fn caller_in_go(&self, sample: &Sample, modules: &Modules) -> Option<u64> {
        let address = sample.user.first()?;
        let range = self.range(*address)?;
        let Code::File { go: Some(go), .. } = &modules.get(range.module).code else { return None };
        let caller = return_address(sample, go.frame_size(address.wrapping_sub(range.bias))?)?;
        self.range(caller.wrapping_sub(1)).map(|_| caller)
    }

    /// The places of an innermost address and of return addresses.
    fn places(&self, addresses: &[u64]) -> Vec<Place> {
        let mut places = Vec::with_capacity(addresses.len());
        for address in addresses {
            let is_innermost = places.is_empty();
            // A return address may be the first of the next function; the call is before it.
            let address = address.wrapping_sub(u64::from(!is_innermost));
            match self.range(address) {
                Some(range) => places.push((range.module, address.wrapping_sub(range.bias))),
                // Most likely code that was generated after the mappings were read.
                None if is_innermost => places.push((self.compiled, address)),
                None => break,
            }
        }
        places
    }

    /// Walks the copy of the stack. Also returns whether the walk has left the copy.
    fn walk_copy(
        &self,
        address: u64,
        (registers, pointer): (UnwindRegsNative, u64),
        sample: &Sample,
        cache: &mut Cache,
    ) -> (Vec<u64>, bool) {
        let mut left_copy = false;
        let mut read_stack = |address: u64| {
            let offset = address.checked_sub(pointer).filter(|o| o.is_multiple_of(8)).ok_or(())?;
            let word = sample.stack.get(usize::try_from(offset / 8).map_err(drop)?);
            // A pointer that leads far away is no part of the stack.
            left_copy |= word.is_none() && offset < STACK_MAX;
            word.copied().ok_or(())
        };
        let mut addresses = Vec::new();
        let mut frames = self.unwinder.iter_frames(address, registers, cache, &mut read_stack);
        while addresses.len() < DEPTH_MAX
            && let Ok(Some(frame)) = frames.next()
        {
            let known = match frame {
                FrameAddress::InstructionPointer(_) => true,
                FrameAddress::ReturnAddress(_) => self.range(frame.address_for_lookup()).is_some(),
            };
            if !known {
                break;
            }
            addresses.push(frame.address());
        }
        let is_deep = addresses.len() == DEPTH_MAX;
        (addresses, left_copy || is_deep)
    }

    fn range(&self, address: u64) -> Option<&Range> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        self.ranges.get(after.checked_sub(1)?).filter(|range| address < range.end)
    }
}

/// Continues a walk that has left its copy by a walk by frame pointers, from the outermost address
/// that both have and that is not before `first`. Returns whether there is one.
fn continue_by(addresses: &mut Vec<u64>, by_frame_pointers: &[u64], first: usize) -> bool {
    for at in (first..addresses.len()).rev() {
        if let Some(same) = by_frame_pointers.iter().position(|other| *other == addresses[at]) {
            addresses.truncate(at + 1);
            addresses.extend(&by_frame_pointers[same + 1..]);
            addresses.truncate(DEPTH_MAX);
            return addresses.len() < DEPTH_MAX;
        }
    }
    false
}

/// The innermost place of a sample whose process cannot be read.
pub(super) fn unknown_place(sample: &Sample) -> Option<Place> {
    sample.user.first().map(|address| (UNKNOWN, *address))
}

/// The instruction pointer, and the registers that unwinding begins with, with the stack pointer.
#[cfg(target_arch = "x86_64")]
fn registers(values: &[u64]) -> Option<(u64, (UnwindRegsNative, u64))> {
    let [frame, stack, instruction] = values[..] else { return None };
    Some((instruction, (UnwindRegsNative::new(instruction, stack, frame), stack)))
}

/// The return address of the innermost function, which has a frame of this size.
#[cfg(target_arch = "x86_64")]
fn return_address(sample: &Sample, frame: u64) -> Option<u64> {
    sample.stack.get(usize::try_from(frame / 8).ok()?).copied()
}

#[cfg(target_arch = "aarch64")]
fn return_address(sample: &Sample, frame: u64) -> Option<u64> {
    sample.registers.filter(|_| frame == 0)?.get(1).copied()
}

#[cfg(target_arch = "aarch64")]
fn registers(values: &[u64]) -> Option<(u64, (UnwindRegsNative, u64))> {
    let [frame, link, stack, instruction] = values[..] else { return None };
    Some((instruction, (UnwindRegsNative::new(link, stack, frame), stack)))
}

/// What framehop needs of a module that is mapped with this bias; `None` without unwind data.
fn unwinding_module(
    module: &Module,
    memory: std::ops::Range<u64>,
    bias: u64,
) -> Option<framehop::Module<Arc<[u8]>>> {
    let Code::File { elf, unwind: Some(unwind), .. } = &module.code else { return None };
    let range = |contents: &super::elf::Contents| {
        let end = contents.address.checked_add(contents.bytes.len() as u64)?;
        Some(contents.address..end)
    };
    let base = elf.lowest_address();
    let sections = ExplicitModuleSectionInfo {
        base_svma: base,
        eh_frame_svma: Some(range(&unwind.frames)?),
        eh_frame: Some(unwind.frames.bytes.clone()),
        eh_frame_hdr_svma: unwind.index.as_ref().and_then(range),
        eh_frame_hdr: unwind.index.as_ref().map(|index| index.bytes.clone()),
        ..ExplicitModuleSectionInfo::default()
    };
    let base_in_memory = base.wrapping_add(bias);
    Some(framehop::Module::new(module.name.clone(), memory, base_in_memory, sections))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::records::REGISTERS;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// The code of this process.
    static OWN: LazyLock<(Space, Modules)> = LazyLock::new(|| {
        let mut modules = Modules::new();
        let space = Space::read(std::process::id(), &mut modules).unwrap();
        (space, modules)
    });

    /// An address in code, on the stack of a sample, or anywhere.
    fn address() -> impl Strategy<Value = u64> {
        let code = (any::<prop::sample::Index>(), 0f64..1.0).prop_map(|(at, part)| {
            let range = &OWN.0.ranges[at.index(OWN.0.ranges.len())];
            range.start + (part * (range.end - range.start) as f64) as u64
        });
        prop_oneof![3 => code, 2 => (0u64..64).prop_map(|at| STACK + 8 * at), 1 => any::<u64>()]
    }

    const STACK: u64 = 0x7ffd_0000_0000;

    #[test]
    fn cut_walk_continues_where_frame_pointers_agree() {
        let mut addresses = vec![10, 20, 30];
        assert!(continue_by(&mut addresses, &[10, 30, 40, 50], 1));
        assert_eq!(addresses, [10, 20, 30, 40, 50]);
        let mut only_innermost = vec![10, 20];
        assert!(!continue_by(&mut only_innermost, &[10, 99], 1));
        assert_eq!(only_innermost, [10, 20]);
    }

    proptest! {
        #[test]
        fn any_registers_and_stack_are_walked_within_bounds(
            instruction in address(), frame in address(), link in address(),
            stack in prop::collection::vec(address(), 0..200),
            user in prop::collection::vec(address(), 0..200),
        ) {
            let registers = match REGISTERS.count_ones() {
                3 => vec![frame, STACK, instruction],
                _ => vec![frame, link, STACK, instruction],
            };
            let sample = Sample {
                pid: 1,
                thread: 1,
                kernel: &[],
                user: &user,
                registers: Some(&registers),
                stack: &stack,
            };
            let walked = OWN.0.walk(&sample, &OWN.1, &mut Cache::new());
            prop_assert!(walked.places.len() <= DEPTH_MAX + 1);
        }
    }
}
